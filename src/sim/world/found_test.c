/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smallest plans that once broke a promise: each is run again for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sim/world/sim.h"

static const struct {
    const char *what, *plan;
} found[] = {
    {"an acknowledgement that comes after its job was purged, by a clock that was set",
     "run seed=53272\n"
     "conf set=ReturnToService=2\n"
     "conf set=SlurmdTimeout=2\n"
     "node id=1 count=11 cores=2 mem=1\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "part part=p2 options=Default=NO;PriorityTier=1;OverTimeLimit=0 nodes=n11\n"
     "job at=247 kind=alloc id=1 part=p1 steps=1 step-run=4850 nodelist=n9 signal=USR2 "
     "licenses=b,a:1\n"
     "job at=1983 kind=batch id=2 part=p1 min-nodes=6 run=1867\n"
     "job at=1487 kind=srun id=3 constraint=blue\n"
     "job at=1983 kind=srun id=4 mem=3 again=1\n"
     "job at=2478 kind=batch id=5 licenses=a:3\n"
     "job at=2974 kind=batch id=6 again=1 deadline=1\n"
     "job at=3470 kind=batch id=7 part=p2 licenses=a:3\n"
     "job at=7932 kind=alloc id=8 part=p2 begin=1\n"
     "job at=2230 kind=batch id=9 licenses=a:3\n"
     "job at=22805 kind=alloc id=23 part=p1\n"
     "job at=12889 kind=alloc id=26 part=p2 min-nodes=2\n"
     "job at=26771 kind=batch id=27 min-nodes=5 run=29900 steps=1\n"
     "job at=29745 kind=alloc id=30 steps=1 step-run=11738\n"
     "job at=32720 kind=alloc id=33 begin=24\n"
     "job at=33711 kind=batch id=34 part=p2 steps=1\n"
     "job at=34703 kind=srun id=35 licenses=a:3\n"
     "job at=35694 kind=batch id=36 wait=1\n"
     "job at=36686 kind=batch id=37 part=p2 nodelist=n[2-10] licenses=a:1\n"
     "job at=37677 kind=batch id=38 part=p2 steps=1 again=1\n"
     "job at=38669 kind=alloc id=39 part=p1 steps=1\n"
     "job at=39661 kind=alloc id=40 part=p1 constraint=red licenses=a:1\n"
     "job at=40652 kind=batch id=41 part=p2 min-nodes=2\n"
     "job at=41644 kind=alloc id=42 part=p2 licenses=a:4\n"
     "job at=42635 kind=batch id=43 part=p2 begin=17\n"
     "job at=43627 kind=batch id=44 steps=1 wait=1\n"
     "job at=44618 kind=batch id=45 run=4 steps=1 signal=USR1@10\n"
     "job at=45610 kind=batch id=46 part=p1 licenses=a:1\n"
     "job at=46601 kind=batch id=47 part=p1 licenses=a:3\n"
     "job at=47593 kind=batch id=48 part=p1 min-nodes=4 run=468\n"
     "job at=48584 kind=batch id=49 part=p1\n"
     "job at=49576 kind=batch id=50 min-nodes=3 steps=3 step-run=810\n"
     "job at=50567 kind=batch id=51 run=5388 steps=1 step-tasks=3\n"
     "job at=51559 kind=batch id=52 min-nodes=2 licenses=b,a:1\n"
     "job at=26275 kind=batch id=53 part=p2 nodelist=n[8-10] licenses=a:1\n"
     "job at=53542 kind=batch id=54 part=p1 min-nodes=2 steps=1\n"
     "job at=54533 kind=alloc id=55 part=p1 again=1\n"
     "job at=55525 kind=alloc id=56 part=p1 licenses=a:4\n"
     "job at=56516 kind=batch id=57 signal=USR2\n"
     "do at=2748 what=nice job=2\n"
     "do at=16860 what=reconfigure\n"
     "do at=8504 what=cancel job=8\n"
     "do at=17528 what=requeue job=8\n"
     "fault at=55110 what=clock value=16764637500\n"
     "fault at=15135 what=crash for=21559 point=input then=sending\n"
     "fault at=49778 what=break node=6\n"
     "fault at=44822 what=net value=2554 for=8851 keep=35\n"
     "fault at=33241 what=break node=1 for=5214 keep=2745\n"
     "fault at=34919 what=kill node=3\n"
     "fault at=52024 what=net value=1141 for=8457 keep=13\n"
     "fault at=53631 what=break node=2 for=1974\n"
     "fault at=39 what=stop node=3 for=8285\n"
     "conf set=Prolog=/bin/true\n"
     "conf set=PrologFlags=Alloc\n"
     "conf set=EpilogSlurmctld=/bin/true\n"
     "do at=8915 what=announce\n"
     "ctl count=2 timeout=1000\n"
     "fault at=859 what=cut for=236 keep=3\n"
     "fault at=56808 what=pause for=1204\n"
     "conf set=Licenses=a:1,b:1\n"},
    {"an array repeated after its first record was purged",
     "run seed=7097470\n"
     "conf set=SlurmdTimeout=2\n"
     "node id=1\n"
     "node id=2 features=red,blue files=13 count=3\n"
     "node id=5 files=12\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=11 kind=alloc id=6\n"
     "job at=17678 kind=batch id=18 constraint=red|blue prefer=blue\n"
     "job at=20625 kind=alloc id=21\n"
     "job at=23571 kind=srun id=24 exclude=n5\n"
     "job at=24553 kind=batch id=25 constraint=[red*2&blue*1] prefer=blue\n"
     "job at=25535 kind=batch id=26 constraint=red|blue nodelist=n[1-3]\n"
     "job at=31428 kind=batch id=32 wait=1 signal=USR2\n"
     "job at=43214 kind=batch id=44 array=3\n"
     "job at=44196 kind=batch id=45 steps=1 depend=afterok\n"
     "do at=45766 what=reconfigure\n"
     "do at=7136 what=reconfigure value=1\n"
     "fault at=20830 what=net for=6174\n"
     "fault at=48319 what=break node=3\n"
     "fault at=45201 what=crash for=565 point=sending\n"
     "fault at=5230 what=reboot node=1\n"
     "fault at=43082 what=crash for=797 point=kept\n"
     "fault at=23774 what=reboot node=3\n"
     "fault at=37433 what=disk value=1153 for=14251\n"
     "fault at=6742 what=reboot node=3 for=6499\n"
     "fault at=52057 what=clock value=16764637500\n"
     "fault at=17782 what=reboot node=4 for=6306\n"
     "ctl count=3\n"
     "fault at=27565 what=pause for=1210\n"},
    {"a released job that is held by the controller after five requeues",
     "run seed=749117881 share=401\n"
     "conf set=ReturnToService=2\n"
     "conf set=SlurmdTimeout=5\n"
     "node id=1\n"
     "node id=2\n"
     "part part=p1 options=Default=YES;MaxCPUsPerNode=4;PriorityTier=2;PreemptMode=CANCEL "
     "nodes=ALL\n"
     "job at=1 kind=alloc id=12 depend=afterany\n"
     "job at=1 kind=batch id=17 limit=150 run=122576\n"
     "do at=15 what=release job=17\n"
     "fault at=176220 what=stop node=2 for=5626\n"
     "fault at=84135 what=reboot node=1\n"
     "fault at=352252 what=break node=2 for=4699\n"
     "fault at=104 what=kill node=2 for=7733\n"
     "fault at=243730 what=break node=1 for=4222\n"},
    {"a launch slower than the patience with its node",
     "run seed=203008\n"
     "conf set=ReturnToService=1\n"
     "conf set=SlurmdTimeout=5\n"
     "node id=4\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=16666 kind=batch id=2 part=p1 run=4325\n"
     "fault at=99 what=slow node=4 value=8068 for=22955\n"},
    {"a daemon stopped twice, with launches in its socket",
     "run seed=711002\n"
     "conf set=ReturnToService=2\n"
     "conf set=SlurmdTimeout=10\n"
     "node id=1 features=red cores=3\n"
     "part part=p1 options=Default=YES;OverTimeLimit=0;DefMemPerNode=100 nodes=ALL\n"
     "job at=1 kind=batch id=2 limit=300 run=80398\n"
     "job at=1 kind=srun id=5 exclusive=1\n"
     "job at=1559 kind=batch id=17 tasks=2 limit=300 run=6664\n"
     "job at=52826 kind=batch id=18\n"
     "fault at=50957 what=stop node=1 for=16498\n"
     "fault at=56704 what=stop node=1 for=3330\n"},
    {"a srun that was answered after its node was given up while away",
     "run seed=615527\n"
     "conf set=SchedulerType=sched/builtin\n"
     "node id=1 features=red,blue cores=2 threads=2\n"
     "node id=2 features=red,blue\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1 kind=batch id=2\n"
     "job at=1 kind=batch id=8 tasks=5 run=1669\n"
     "job at=1 kind=srun id=10 nodelist=n2\n"
     "job at=9 kind=batch id=32\n"
     "job at=1 kind=srun id=33 constraint=blue nodelist=n[1-2]\n"
     "job at=2 kind=batch id=34\n"
     "do at=1 what=part-time part=p1 nodes=n[1-2]\n"
     "do at=7 what=fail nodes=n1\n"
     "do at=9774 what=resume nodes=n1\n"
     "do at=11588 what=down nodes=n2\n"
     "do at=9022 what=resume nodes=n1\n"
     "fault at=11250 what=break node=2\n"
     "fault at=10686 what=disk value=1864 for=680\n"
     "fault at=5 what=disk for=60\n"},
    {"a srun of an attempt that is over, on a node that was removed",
     "run seed=609481\n"
     "node id=12 features=red,blue files=5\n"
     "node id=13 features=red,blue\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1 kind=batch id=1 run=1635 steps=2 step-run=1096 constraint=blue\n"
     "do at=201 what=reconfigure value=1\n"
     "fault at=131 what=crash point=turn\n"},
    {"a node that was removed under a job that was ending, and came back",
     "run seed=2029828\n"
     "node id=1 features=red,blue count=3\n"
     "node id=7 features=red,blue files=1 sockets=2\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1888 kind=batch id=4 tasks=4 steps=1 step-run=5454 stubborn=1 constraint=red\n"
     "job at=3305 kind=batch id=7 tasks=2 signal=USR1@10\n"
     "do at=5480 what=reconfigure value=1\n"
     "do at=5630 what=reconfigure\n"},
    {"an epilog of what a restart ends, since its node was removed",
     "run seed=1655\n"
     "node id=10 files=6\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=6904 kind=batch id=7 run=11307\n"
     "do at=1 what=reconfigure value=1\n"
     "do at=15979 what=edit\n"
     "fault at=13057 what=crash point=lost\n"
     "conf set=EpilogSlurmctld=/bin/true\n"},
    {"jobs that share a core in a partition that was removed",
     "run seed=614\n"
     "node id=1 features=red\n"
     "part part=p1 "
     "options=Default=YES;MaxNodes=2;PriorityTier=5;OverTimeLimit=1;OverSubscribe=FORCE:2 "
     "nodes=ALL files=14\n"
     "job at=118974 kind=batch id=40 run=14494\n"
     "job at=121948 kind=batch id=41 run=20353 nodelist=n1\n"
     "do at=1 what=reconfigure value=1\n"
     "do at=133408 what=reconfigure\n"},
    {"jobs that share a core in a partition that shared on request, and was removed",
     "run seed=1190\n"
     "node id=3\n"
     "part part=p1 options=Default=YES;MaxTime=10 nodes=ALL files=1\n"
     "job at=53307 kind=srun id=54 step-run=8963 signal=USR2\n"
     "job at=55282 kind=batch id=56 run=4406\n"
     "do at=1 what=part-share part=p1 to=FORCE:3 nodes=n1\n"
     "do at=58185 what=reconfigure value=1\n"},
    {"a limit by a clock that was set, after another controller took over",
     "run seed=1362\n"
     "node id=2 features=red,blue count=3\n"
     "node id=6 features=red,blue count=3\n"
     "part part=p1 options=Default=YES;PriorityTier=3;OverSubscribe=FORCE:1 nodes=ALL\n"
     "job at=1 kind=batch id=1 run=1\n"
     "job at=37142 kind=batch id=4 run=29474\n"
     "do at=29569 what=announce\n"
     "fault at=53698 what=clock value=31976\n"
     "fault at=60712 what=crash point=lost\n"
     "ctl count=3\n"
     "fault at=27561 what=down\n"},
    {"a job that was released before its reservation was over",
     "run seed=1403 share=501\n"
     "node id=4 count=4\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=3 kind=batch id=3 uid=1002 reservation=r1\n"
     "do at=3 what=part-state part=p1 to=INACTIVE nodes=n[5-7]\n"
     "do at=16 what=release job=3\n"
     "do at=1 what=resv part=r1 to=,IGNORE_JOBS nodes=n[6-7] uid=1002 for=88750\n"},
    {"jobs that make room for ever, because each that has left comes back before the last has",
     "run seed=24443 share=501\n"
     "conf set=SchedulerType=sched/builtin\n"
     "conf set=PreemptType=preempt/partition_prio\n"
     "conf set=PreemptMode=REQUEUE\n"
     "node id=1 sockets=2 cores=3\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "part part=p2 options=Default=NO;PriorityTier=3 nodes=ALL\n"
     "job at=6488 kind=batch id=22 tasks=3 run=44239\n"
     "job at=7962 kind=batch id=27 part=p1 tasks=3 limit=120 run=18395\n"
     "job at=12386 kind=batch id=42 part=p2 tasks=4 limit=30 run=7\n"},
    {"a suspended allocation whose node was removed while no controller ran",
     "run seed=18246\n"
     "node id=10 features=red,blue files=8\n"
     "part part=p1 options=Default=YES;MaxNodes=6;MaxCPUsPerNode=2;PriorityTier=2 nodes=ALL\n"
     "job at=1 kind=batch id=1 exclude=n8\n"
     "job at=20432 kind=alloc id=21 steps=1 step-run=6609\n"
     "do at=30630 what=suspend job=21 root=1\n"
     "do at=1 what=reconfigure value=3\n"
     "do at=15737 what=reconfigure\n"
     "fault at=15100 what=net value=394 for=11783 keep=28\n"
     "ctl count=2\n"
     "fault at=31294 what=down\n"},
    {"a repeated request for a step, answered after a node of it was given back",
     "run seed=201896\n"
     "conf set=SlurmdTimeout=3\n"
     "node id=1 count=7\n"
     "part part=p2 options=Default=NO;PriorityTier=1;GraceTime=1;DefMemPerNode=400 nodes=n[3-8]\n"
     "job at=1 kind=batch id=1 part=p1,p2\n"
     "job at=1 kind=alloc id=3 part=p2,p2 constraint=blue\n"
     "job at=3857 kind=batch id=4 part=p2 min-nodes=2 run=9502 steps=1 again=1\n"
     "fault at=9400 what=crash point=turn\n"
     "fault at=11492 what=crash for=1428 point=input\n"
     "fault at=1 what=disk for=4878\n"
     "fault at=1954 what=stop node=5 for=4143\n"
     "fault at=3736 what=net value=4789 for=6231\n"
     "do at=13456 what=shrink job=4 value=1\n"},
    {"tasks of sockets on nodes with as many free cores, in other sockets",
     "run seed=306816\n"
     "node id=1 features=red count=2 sockets=2 cores=2 gres=gpu:1,nic:4\n"
     "part part=p1 options=Default=YES;PriorityTier=3 nodes=ALL\n"
     "job at=3232 kind=batch id=11 limit=1\n"
     "job at=1 kind=alloc id=12\n"
     "job at=5583 kind=srun id=38 constraint=red\n"
     "job at=11461 kind=alloc id=39 nodelist=n2\n"
     "job at=1 kind=alloc id=42 tasks=4 tasks-per-socket=1\n"
     "job at=1 kind=batch id=43 tasks=4 cpus-per-task=2\n"
     "job at=3379 kind=batch id=46 gres=gpu:1\n"
     "job at=7053 kind=batch id=48 signal=USR1@10\n"
     "fault at=15 what=crash for=41114 point=kept then=input\n"
     "do at=1 what=resv part=r1 to=MAINT,IGNORE_JOBS nodes=n[1-2] value=4 for=60250\n"
     "conf set=GresTypes=gpu,nic\n"},
    {"a step requested for a job that was suspended before its srun was back",
     "run seed=5060078\n"
     "conf set=PreemptType=preempt/partition_prio\n"
     "conf set=PreemptMode=SUSPEND,GANG\n"
     "node id=1 features=red count=2 sockets=2 cores=3\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "part part=p2 options=Default=NO;PriorityTier=3;PreemptMode=REQUEUE;OverTimeLimit=0 nodes=n2\n"
     "job at=1 kind=srun id=1 begin=4\n"
     "job at=5625 kind=batch id=6 part=p2,p1 tasks=6 again=1 signal=B:USR1@2\n"
     "fault at=2160 what=crash for=164 point=input\n"
     "ctl count=3\n"
     "fault at=430 what=order value=3\n"},
    {"a job placed by a timeline made before a suspended job was resumed",
     "run seed=5032458\n"
     "conf set=PreemptType=preempt/partition_prio\n"
     "conf set=PreemptMode=SUSPEND,GANG\n"
     "node id=1 features=red,blue count=2 cores=6\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "part part=p3 options=Default=NO;PriorityTier=4;PreemptMode=SUSPEND;OverSubscribe=YES:2 "
     "nodes=n[1-2]\n"
     "job at=1 kind=batch id=1 uid=1001 tasks=5 run=42280 user-alone=1\n"
     "job at=1 kind=batch id=19 part=p3 min-nodes=2 depend=aftercorr\n"
     "job at=6501 kind=batch id=22 tasks=4\n"
     "job at=7388 kind=batch id=25 uid=1001 min-nodes=2 mem=395 run=5787\n"
     "job at=8274 kind=batch id=28 part=p3 uid=1001 tasks=3 mem-per-cpu=247 constraint=blue\n"
     "job at=9752 kind=batch id=33 part=p3 uid=1001 limit=75 run=65402 oversubscribe=1 "
     "signal=USR1@10 user-alone=1\n"
     "job at=10343 kind=batch id=35 uid=1001 tasks=3 run=34976\n"
     "job at=14185 kind=batch id=48 part=p1 run=4337\n"
     "job at=15662 kind=batch id=53 uid=1001 tasks=8\n"},
    {"a node lost between an allocation and the end of its PrologSlurmctld",
     "run seed=5252334\n"
     "node id=7 count=4 gres=gpu:a:2,gpu:b:2\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1 kind=srun id=1 part=p2\n"
     "job at=1 kind=batch id=4 part=p1 nodelist=n9 gpus=gpu:3\n"
     "fault at=2141 what=crash for=66992 point=lost\n"
     "fault at=1 what=disk for=2747\n"
     "fault at=2451 what=reboot node=9\n"
     "fault at=9 what=crash point=lost\n"
     "conf set=PrologSlurmctld=/bin/true\n"
     "conf set=EpilogSlurmctld=/bin/true\n"
     "conf set=GresTypes=gpu,nic\n"},
    {"a preemptor that ended in the turn that started it",
     "run seed=5160854\n"
     "conf set=PreemptType=preempt/partition_prio\n"
     "conf set=PreemptMode=CANCEL,GANG\n"
     "node id=1 count=6 sockets=2 gres=gpu:1,nic:4\n"
     "part part=p1 options=Default=YES;MaxTime=10;OverSubscribe=YES:4 nodes=ALL\n"
     "part part=p2 options=Default=NO;MaxCPUsPerNode=1;PriorityTier=2 nodes=n4\n"
     "job at=1 kind=batch id=5 part=p1 min-nodes=5 cpus-per-task=2\n"
     "job at=83 kind=srun id=9 part=p2,p2,p1 step-tasks=3\n"},
    {"a job that lost a node while it was suspended, resumed, and the controller restarted",
     "run seed=7062874\n"
     "conf set=SlurmdTimeout=2\n"
     "conf set=PreemptType=preempt/partition_prio\n"
     "conf set=PreemptMode=SUSPEND,GANG\n"
     "node id=1 features=red gres=gpu:2\n"
     "node id=5 count=2 gres=gpu:a:2,gpu:b:2\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "part part=p2 options=Default=NO;MaxCPUsPerNode=3;PriorityTier=5;OverSubscribe=EXCLUSIVE "
     "nodes=n6\n"
     "job at=6925 kind=batch id=7 part=p1 min-nodes=3 run=25383 no-kill=1 signal=B:USR1@2 "
     "prefer=red\n"
     "job at=12861 kind=batch id=13 part=p2 run=1882 gres-per-task=gpu:a:1\n"
     "fault at=14465 what=break node=6 for=329\n"
     "fault at=32033 what=crash point=input\n"
     "conf set=GresTypes=gpu,nic\n"},
    {"a node of a suspended job that is completing, for a user who wants it alone",
     "run seed=7017716\n"
     "conf set=SlurmdTimeout=10\n"
     "node id=4 count=4 gres=gpu:2\n"
     "part part=p1 options=Default=YES;MaxTime=10;PriorityTier=4;OverTimeLimit=0 nodes=ALL\n"
     "part part=p2 options=Default=NO;PriorityTier=5;PreemptMode=REQUEUE;OverSubscribe=YES:2 "
     "nodes=n5\n"
     "job at=148235 kind=batch id=15 min-nodes=3 begin=384 user-alone=1\n"
     "job at=1 kind=batch id=17 part=p1,p2 nodelist=n[6-7]\n"
     "job at=484235 kind=batch id=49 part=p1,p2 uid=1 min-nodes=3 run=34653\n"
     "job at=543529 kind=batch id=55 part=p2,p1,p1 user-alone=1\n"
     "do at=811962 what=cancel job=73\n"
     "do at=507334 what=suspend job=49 root=1\n"
     "fault at=732775 what=kill node=5 for=35924\n"
     "fault at=1 what=reboot node=4 for=13242\n"
     "fault at=603771 what=crash point=lost\n"},
    {"a component that missed its deadline while the others waited on",
     "run seed=36\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1 kind=batch id=51\n"
     "job at=1 kind=batch id=52 component-of=51 signal=USR1@10 deadline=86\n"},
    {"a component that was still ending when its leader was queued again, which its record did not "
     "say",
     "run seed=42\n"
     "node id=8 cores=3\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1 kind=srun id=58 begin=36\n"
     "job at=1 kind=alloc id=59 min-nodes=3 depend=afterok\n"
     "job at=1 kind=alloc id=69 exclude=n5\n"
     "job at=21037 kind=batch id=71 run=31 steps=1 step-run=21\n"
     "job at=1 kind=batch id=72 component-of=71\n"
     "do at=1 what=node-create nodes=n20\n"
     "conf set=EpilogSlurmctld=/bin/true\n"
     "do at=21292 what=requeuehold job=71\n"},
    {"a job of which one component was suspended while its other one was configuring",
     "run seed=78\n"
     "conf set=SlurmdTimeout=5\n"
     "node id=1 features=blue count=2\n"
     "part part=p1 options=Default=YES;MaxCPUsPerNode=8;PriorityTier=1;GraceTime=1 "
     "nodes=ALL\n"
     "job at=91 kind=batch id=4\n"
     "job at=8790 kind=batch id=6\n"
     "job at=1 kind=batch id=7 component-of=6\n"
     "do at=27951 what=suspend job=6 root=1\n"
     "fault at=8098 what=crash for=8937 point=input then=turn\n"
     "conf set=PrologSlurmctld=/bin/true\n"},
    {"components that an announced shutdown ended twice",
     "run seed=92\n"
     "node id=1 features=blue count=6\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1 kind=batch id=1\n"
     "job at=1 kind=batch id=7 component-of=1\n"
     "do at=5 what=announce\n"},
    {"a core that two components shared with another job, as one",
     "run seed=366\n"
     "node id=1 features=red,blue count=3 gres=gpu:a:2,gpu:b:2\n"
     "part part=p1 options=Default=YES;PriorityTier=3;OverSubscribe=FORCE:2 nodes=ALL\n"
     "job at=1 kind=batch id=1\n"
     "job at=1 kind=batch id=25 min-nodes=3 depend=afterany\n"
     "job at=1 kind=batch id=26 component-of=25\n"
     "job at=62 kind=batch id=27\n"
     "job at=1 kind=batch id=28 component-of=27\n"},
    {"tasks of sockets beside a component that had taken a core of them",
     "run seed=894\n"
     "node id=1 features=red,blue sockets=2 cores=2 gres=gpu:a:2,gpu:b:2\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1 kind=batch id=5 depend=afterany\n"
     "job at=1 kind=batch id=14 tasks=2 constraint=red depend=afterany "
     "tasks-per-socket=1\n"
     "job at=1 kind=batch id=15 component-of=14\n"},
    {"components that had no room together any more when they were to go on",
     "run seed=1151 share=701\n"
     "node id=1 cores=2\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=1 kind=batch id=1 run=1201\n"
     "job at=1 kind=batch id=2 component-of=1\n"
     "do at=114 what=suspend job=1 root=1\n"
     "do at=118 what=part-socket part=p1 value=1\n"},
    {"a change of components that were back in the queue before their leader",
     "run seed=1336\n"
     "node id=1 features=red,blue cores=3\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=13839 kind=batch id=14\n"
     "job at=1 kind=batch id=15 component-of=14\n"
     "do at=13955 what=comment job=14 value=1\n"
     "do at=13934 what=requeuehold job=14\n"},
    {"a component that was queued twice while its leader's node was silent",
     "run seed=1439 share=701\n"
     "node id=1 features=red,blue count=2 cores=6\n"
     "part part=p1 options=Default=YES nodes=ALL\n"
     "job at=240940 kind=alloc id=81 tasks=7 steps=1 step-run=6864\n"
     "job at=246889 kind=batch id=83\n"
     "job at=1 kind=batch id=84 component-of=83\n"
     "do at=268626 what=cancel job=83\n"
     "do at=269447 what=requeue job=83\n"
     "fault at=245484 what=stop node=2 for=25845\n"
     "do at=247885 what=requeue job=83\n"},
    {"a component that waits for one that a shutdown ended shows the reason of that end",
     "run seed=13448\n"
     "conf set=SlurmdTimeout=2\n"
     "node id=1 features=red,blue count=12\n"
     "part part=p1 options=Default=YES;OverTimeLimit=1 nodes=ALL\n"
     "part part=p2 options=Default=NO;MaxTime=10;OverTimeLimit=0 nodes=n[7-18]\n"
     "job at=1 kind=alloc id=1 part=p1,p1 licenses=a:3\n"
     "job at=1 kind=batch id=2 licenses=a:2\n"
     "job at=8785 kind=batch id=9 part=p1,p2\n"
     "job at=1 kind=batch id=10 component-of=9\n"
     "job at=14642 kind=srun id=15 part=p1,p1 constraint=red licenses=a:3\n"
     "job at=1 kind=batch id=19 component-of=9\n"
     "job at=21476 kind=srun id=22 part=p2\n"
     "job at=12690 kind=batch id=26 part=p1 run=1 steps=1 depend=aftercorr licenses=b,a:1\n"
     "fault at=11562 what=crash for=1490 point=kept\n"
     "fault at=5047 what=crash point=input\n"
     "fault at=2554 what=net value=103 for=9318\n"
     "fault at=8147 what=crash for=14120 point=turn\n"
     "fault at=11074 what=disk value=1646 for=19551\n"
     "conf set=EpilogSlurmctld=/bin/true\n"
     "do at=28045 what=announce\n"
     "do at=30337 what=call-off\n"
     "do at=12558 what=announce\n"
     "conf set=Licenses=a:1,b:3\n"
     "do at=33744 what=part-socket part=p2\n"},
};

static void what_was_found_stays_mended(void **state)
{
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        static const struct sim_options options;
        struct sim_plan plan = {0};
        struct sim_result result;
        struct err err = {0};
        if (sim_plan_parse(&plan, found[i].plan, &err) != 0 ||
            sim_run(&plan, &options, &result, &err) != 0)
            fail_msg("%s: %s", found[i].what, err.text);
        sim_plan_done(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_found_stays_mended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
