# SPDX-License-Identifier: GPL-3.0-or-later
"""scontrol update, show and top: each key and each spelling that scripts written for Slurm use."""
import re

import pytest

from harness import ROOT, Cluster, eventually

ROWS = [  # what is changed of a pending job, and fields of it afterwards
    ("NumCPUs=4", "NumCPUs=4 NumTasks=1"),
    ("NumCPUs=2-3", "NumCPUs=2-3 NumTasks=1"),
    ("NumCPUs=2 NumTasks=3", "NumCPUs=3 NumTasks=3"),
    ("ReqProcs=2", "NumCPUs=2 NumTasks=2"),
    ("numtasks=3", "NumTasks=3"),
    ("NumNodes=2-3", "NumNodes=2-3"),
    ("ReqNodes=2", "NumNodes=2-2"),
    ("CPUsPerTask=2", "CPUs/Task=2 NumCPUs=2"),
    ("TasksPerNode=2", "NtasksPerN:B:S:C=2:0:*:*"),
    ("ReqSockets=1", "Socks/Node=1"),
    ("CoreSpec=1", "CoreSpec=1"),
    ("ThreadSpec=1", "ThreadSpec=1"),
    ("AdminComment=hello", "AdminComment=hello"),
    ("Comment=hello", "Comment=hello"),
    ("Contiguous=yes", "Contiguous=1"),
    ("TimeLimit=30 Deadline=2099-01-02T03:04:05", "Deadline=2099-01-02T03:04:05 TimeLimit=00:30:00"),
    ("TimeLimit=+10", "TimeLimit=01:10:00"),
    ("TimeLimit+=10", "TimeLimit=01:10:00"),
    ("TimeLimit-=10", "TimeLimit=00:50:00"),
    ("timelimit 7", "TimeLimit=00:07:00"),
    ("TimeMin=5", "TimeMin=00:05:00"),
    ("StartTime=2099-01-02T03:04:05", ""),
    ("EligibleTime=2099-01-02T03:04:05", ""),
    ("Nice", "Nice=100"),
    ("Nice=", "Nice=100"),
    ("Nice=-5", "Nice=-5"),
    ("Priority=0", "Priority=0"),
    ("ResetAccrueTime", ""),
    ("Switches=1@5", "Switches=1@00:05:00"),
    ("Switches=1 wait-for-switch=60", "Switches=1@00:01:00"),
    ("Requeue=0", "Requeue=0"),
    ("WCKey=abc", "WCKey=abc"),
    ("Licenses=lic:2", "Licenses=lic:2"),
    ("MinMemoryNode=100", "MinMemoryNode=100M"),
    ("MinMemoryCPU=50", "MinMemoryCPU=50M"),
    ("MinCPUsNode=2", "MinCPUsNode=2"),
    ("MinTmpDiskNode=0", "MinTmpDiskNode=0"),
    ("ReqNodeList=n2 ExcNodeList=n1", "ReqNodeList=n2 ExcNodeList=n1"),
    ("ReqNodeList=n2 ReqNodeList=", "ReqNodeList=(null)"),
    ("JobName=other", "JobName=other"),
    ("Name=other", "JobName=other"),
    ("Partition=second", "Partition=second"),
    ("StdOut=/tmp/out StdErr=/tmp/err StdIn=/tmp/in", "StdOut=/tmp/out StdErr=/tmp/err StdIn=/tmp/in"),
    ("StdIn=/tmp/in StdIn=", "StdIn=/dev/null"),
    ("WorkDir=/", "WorkDir=/"),
    ("MailType=END MailUser=me", "MailUser=me"),
    ("TimeLimit=9 TimeMin=0", "TimeMin=N/A"),
    ("wait-for-switch=9 Switches=2", "Switches=2@00:00:09"),
    ("Account=a QOS=q", "Account=a QOS=q"),
    ("OverSubscribe=yes", "OverSubscribe=YES"),
    ("Shared=0", ""),
    ("DelayBoot=10", ""),
    ("Reboot=no", ""),
    ("BurstBuffer=", ""),
]
REFUSED = [
    ("Reboot=yes", "RebootProgram is not set in slurm.conf"),
    ("NumCPUs=6-2", "Invalid value: NumCPUs=6-2"),
    ("NumCPUs=x", "Invalid value: NumCPUs=x"),
    ("NumCPUs=99", "CPU count per node can not be satisfied"),
    ("Deadline=2001-01-01", "is in the past"),
    ("Nice=x", "Invalid value: Nice=x"),
    ("Nice+=5", "Update of this parameter is not supported: Nice+=5"),
    ("Priority=77", "Job is in held state; pending scheduler release"),
    ("EndTime=now+1hour", "Job is not running: EndTime"),
    ("EndTime=soon", "Invalid value: EndTime=soon"),
    ("BurstBuffer=1", "BurstBufferType is not set"),
    ("Clusters=x", "Clusters=x: federations are not available"),
    ("ClusterFeatures=x", "ClusterFeatures=x: federations are not available"),
    ("MCSLabel=x", "MCSLabel=x: MCS plugins are not available"),
    ("ArrayTaskThrottle=2", "ArrayTaskThrottle of a job that is in no array"),
    ("Frob=1", "Update of this parameter is not supported: Frob=1"),
    ("", "No changes specified"),
]


@pytest.fixture(scope="module")
def cluster():
    c = Cluster(nodes=3, conf="Licenses=lic:4", partitions=["PartitionName=main Nodes=ALL Default=YES State=UP",
                                                           "PartitionName=second Nodes=n1 State=UP"])
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def shown(cluster, job):
    return cluster.look(f"scontrol -o show job {job}").ok().split("\n")[0]


def test_every_key_of_a_pending_job(cluster):
    wrong = []
    for change, expected in ROWS:
        job = cluster.sbatch("-H", "-t60", wrap="true")
        done = cluster.run(f"scontrol update JobId={job} {change}")
        fields = shown(cluster, job)
        missing = [e for e in expected.split() if not re.search(rf"(^|\s){re.escape(e)}(\s|$)", fields)]
        if done.returncode or missing:
            wrong.append((change, done.stderr, missing))
    for change, text in REFUSED:
        job = cluster.sbatch("-H", "-t60", wrap="true")
        done = cluster.run(f"scontrol update JobId={job} {change}")
        if done.returncode == 0 or text not in done.stderr:
            wrong.append((change, done.stderr))
    cluster.run("scancel -t PENDING --me").ok()
    assert not wrong


def test_a_key_without_effect_is_reported(cluster):
    job = cluster.sbatch("-H", wrap="true")
    done = cluster.run(f"scontrol update JobId={job} DelayBoot=10")
    assert done.ok() == "" and done.stderr == "scontrol: warning: DelayBoot is accepted and has no effect: nodes are not rebooted for features\n"
    cluster.run(f"scancel {job}").ok()


@pytest.mark.parametrize("spelling", ["jobid {} timelimit 7", "job={} timelimit=7", "JobID={} TimeLimit 7", "TimeLimit=7 JobId={}", "Job {} time=7"])
def test_spellings_of_an_update(cluster, spelling):
    job = cluster.sbatch("-H", wrap="true")
    cluster.run("scontrol update " + spelling.format(job)).ok()
    assert cluster.job(job)["TimeLimit"] == "00:07:00"
    cluster.run(f"scancel {job}").ok()


def test_time_limit_of_a_running_step(cluster):
    """A longer limit also applies to the srun that waits with the old one; every spelling is accepted or refused."""
    rows = [("TimeLimit=9", "00:09:00"), ("TimeLimit=+3", "00:12:00"), ("TimeLimit-=2", "00:10:00"), ("timelimit 0:61", "00:02:00"),
            ("TimeLimit=UNLIMITED", "UNLIMITED"), ("TimeLimit=+1", "the step has no limit to change"), ("TimeLimit=x", "Invalid value: TimeLimit=x"),
            ("Comment=x", "Update of this parameter is not supported: Comment=x"), ("", "No changes specified"), ("TimeLimit=20", "00:20:00")]
    script = "for change; do scontrol update StepId=$SLURM_JOB_ID.$SLURM_STEP_ID $change 2>&1; echo; " \
             "scontrol -o show step $SLURM_JOB_ID.$SLURM_STEP_ID; done; sleep 8; echo on"
    done = cluster.run(["salloc", "-Q", "-n1", "srun", "-t", "0:08", "sh", "-c", script, "sh", *[change for change, _ in rows]])
    *said, last = done.stdout.strip().split("\n")
    assert last == "on" and done.returncode == 0, done.stdout + done.stderr
    answers = re.split(r"^StepId=.*TimeLimit=(\S+).*$", "\n".join(said), flags=re.M)
    for (change, expected), text, limit in zip(rows, answers[::2], answers[1::2]):
        assert expected in text or expected == limit, (change, text, limit)
    for wrong in ("1.x", "99999.0", "99999"):
        cluster.run(f"scontrol update StepId={wrong} TimeLimit=5").fails(f"for step {wrong}")


def test_keys_of_nodes_and_what_is_refused(cluster):
    """A new address applies to the next connection; a key that cannot be changed names the alternative."""
    node = "scontrol update NodeName=n1 "
    cluster.run(node + "NodeAddr=nowhere.invalid NodeHostname=h1").ok()
    shown_node = cluster.run("scontrol -o show node n1").ok()
    assert "NodeAddr=nowhere.invalid" in shown_node and "NodeHostName=h1" in shown_node
    assert "nowhere.invalid" in cluster.run("srun -w n1 true").stderr
    cluster.run(node + "NodeAddr= NodeHostname=").ok()
    cluster.run("srun -w n1 true").ok()
    cluster.run(node + "State=DRAIN Reason=x ResumeAfter=1").ok()
    eventually(lambda: "DRAIN" not in cluster.look("sinfo -h -N -n n1 -o %T").ok().upper(), "the node is resumed")
    assert "ResumeAfterTime=None" in cluster.run("scontrol show node n1").ok()
    for change, text in (
            ("Gres=gpu:1", "Gres=gpu:1: set Gres of the node in slurm.conf"), ("Gres=", "set Gres of the node in slurm.conf"),
            ("State=NoResp", "State=NoResp: a node that does not answer gets this flag by itself"),
            ("InstanceId=i-1", "cloud instances are not available"), ("InstanceType=m5", "cloud instances are not available"),
            ("CertToken=x", "certificate managers are not available"), ("ResumeAfter=x", "Invalid value: ResumeAfter=x"),
            ("ResumeAfter=60", "ResumeAfter is for nodes that are DOWN or DRAIN"), ("NodeAddr=a[1-2]", "2 addresses for 1 nodes")):
        cluster.run(node + change).fails(text)
    for change, text in (("Topology=x", "unknown topology 'x'"), ("PowerDownOnIdle=yes", "power saving is not available")):
        cluster.run(f"scontrol update PartitionName=main {change}").fails(text)
    cluster.run("scontrol create reservation StartTime=now Duration=1 Users=root Nodes=n1 QOS=x").fails("QOS=x")


def test_an_array_has_a_throttle_in_every_spelling(cluster):
    job = cluster.sbatch("-H", "-a", "0-9", wrap="true")
    for spelling, most in (("JobId={} ArrayTaskThrottle=3", "3"), ("arraytaskthr=4 JobId={}", "4"), ("job {}_2 ArrayTaskThrottle 5", "5")):
        cluster.run("scontrol update " + spelling.format(job)).ok()
        assert cluster.job(job)["ArrayTaskThrottle"] == most
    cluster.run(f"scontrol update JobId={job} ArrayTaskThrottle=0").ok()
    assert "ArrayTaskThrottle" not in cluster.job(job)
    cluster.run(f"scancel {job}").ok()


def test_running_jobs_accept_few_keys(cluster):
    job = cluster.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(job) == "RUNNING", "the job runs")
    for key in ("NumCPUs=1", "NumTasks=1", "Features=a", "Partition=second", "MinMemoryNode=10", "StdOut=x", "ResetAccrueTime"):
        cluster.run(f"scontrol update JobId={job} {key}").fails("Job is no longer pending execution: ", f" for job {job}\n")
    cluster.run(f"scontrol update JobId={job} EndTime=now+90minutes").ok()
    assert cluster.job(job)["TimeLimit"] in ("01:30:00", "01:31:00")
    cluster.run(f"scontrol update JobId={job} Deadline=now+60minutes").ok()
    assert cluster.job(job)["TimeLimit"] in ("01:00:00", "01:01:00")
    cluster.run(f"scancel {job}").ok()
    cluster.wait(job)
    cluster.run(f"scontrol update JobId={job} TimeLimit=5").fails(f"Job has already finished for job {job}\n")


@pytest.mark.skipif(not ROOT, reason="needs several users")
def test_a_name_and_a_user_select_jobs(cluster):
    own = [cluster.sbatch("-H", "-J", "alike", wrap="true") for _ in range(2)]
    other = cluster.sbatch("-H", "-J", "alike", wrap="true", user="nobody")
    last = cluster.sbatch("-H", "-J", "different", wrap="true")
    cluster.run("scontrol update JobName=alike UserID=root TimeLimit=5").ok()
    assert [cluster.job(j)["TimeLimit"] for j in (*own, other, last)] == ["00:05:00"] * 2 + ["UNLIMITED"] * 2
    cluster.run("scontrol update jobname=alike TimeLimit=6").ok()
    assert [cluster.job(j)["TimeLimit"] for j in (*own, other, last)] == ["00:06:00"] * 3 + ["UNLIMITED"]
    cluster.run("scontrol update JobName=alike UserID=daemon TimeLimit=5").fails("scontrol: error: No jobs with user ID 1 and name 'alike'\n")
    cluster.run("scontrol update JobName=nothing TimeLimit=5").fails("scontrol: error: No jobs with name 'nothing'\n")
    cluster.run("scontrol update JobName=alike UserID=nosuch TimeLimit=5").fails("invalid UserID 'nosuch'")
    cluster.run("scontrol update JobName=alike TimeLimit=9", user="nobody").fails("Access/permission denied for job")
    for key in ("AdminComment=x", "Deadline=2099-01-01", "CoreSpec=1", "Contiguous=yes", "OverSubscribe=no", "TasksPerNode=2"):
        cluster.run(f"scontrol update JobId={other} {key}", user="nobody").fails(f"Access/permission denied: {key.partition('=')[0]}")
    cluster.run("scancel -t PENDING -n alike").ok()
    cluster.run(f"scancel {last}").ok()


def test_words_of_show(cluster):
    job = cluster.sbatch("-H", wrap="true")
    for line in (f"jobid {job}", f"jobid={job}", f"JobId={job}", f"jobs {job}", "job 0", f"j {job}"):
        assert f"JobId={job} " in cluster.run(f"scontrol show {line}").ok()
    for line in ("partitionname=main", "PartitionName main", "part main", "p main"):
        assert cluster.run(f"scontrol show {line}").ok().startswith("PartitionName=main\n")
    assert cluster.run("scontrol show nodename=n1").ok().startswith("NodeName=n1 ")
    cluster.run("scontrol show reservationname=x").finds_none("Reservation x not found")
    cluster.run("scontrol show stepid 999.0").finds_none("Job step 999.0 not found")
    cluster.run(f"scancel {job}").ok()


def test_commands_are_abbreviated_as_far_as_they_are_unique(cluster):
    job = cluster.sbatch("--begin=now+1hour", wrap="true")
    cluster.run(f"scontrol up job={job} comment=x").ok()
    assert cluster.job(job)["Comment"] == "x"
    assert cluster.run("scontrol er 2017").ok() == "Invalid job id specified"
    cluster.run(f"scontrol holdu {job}").ok()
    assert cluster.job(job)["Reason"] == "JobHeldUser"
    for word in ("re", "s", "h"):
        cluster.run(f"scontrol {word} {job}").fails(f"invalid keyword: {word}")
    cluster.run(f"scancel {job}").ok()


def test_brackets_are_expanded_in_slurms_order(cluster):
    for expression, names in (
            ("a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"),
            ("a[1-2]b[3-4]c[5-6]", "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6"),
            ("a[1-2]b[3-4]c[5-6]x", "a1b3c5x a1b3c6x a2b3c5x a2b3c6x a1b4c5x a1b4c6x a2b4c5x a2b4c6x"),
            ("a[1-2]b[3-4]c[5-6]d[7-8]", "a1b3c5d7 a1b3c5d8 a2b3c5d7 a2b3c5d8 a1b4c5d7 a1b4c5d8 a2b4c5d7 a2b4c5d8 "
                                         "a1b3c6d7 a1b3c6d8 a2b3c6d7 a2b3c6d8 a1b4c6d7 a1b4c6d8 a2b4c6d7 a2b4c6d8")):
        assert cluster.run(["scontrol", "show", "hostnames", expression]).ok().split() == names.split()


def test_dialogue_repeats_the_last_command(cluster):
    said = cluster.run("scontrol", stdin="show hostnames n[1-2]\n!!\n").ok()
    assert said.split() == ["n1", "n2", "n1", "n2"]
    cluster.run("scontrol", stdin="!!\n").fails("no previous command to repeat")
    said = cluster.run("scontrol", stdin="oneliner\nall\nhide\ndetails\nverbose\nquiet\ncluster test\nshow part second\n").ok()
    assert re.fullmatch(r"PartitionName=second .* Nodes=n1 .*", said)
    cluster.run("scontrol", stdin="cluster other\n").fails("No cluster 'other' known")
    cluster.run("scontrol oneliner").fails("invalid keyword: oneliner")


def test_top_moves_jobs_that_wait_for_their_time(cluster):
    jobs = [cluster.sbatch("--begin=now+1hour", wrap="true") for _ in range(3)]

    def order():
        lines = cluster.run(["squeue", "-h", "-S", "-p,i", "-o", "%i %Q"]).ok().split("\n")
        return [int(line.split()[0]) for line in lines if int(line.split()[0]) in jobs]

    assert order() == jobs
    cluster.run(f"scontrol top {jobs[2]}").ok()
    assert order() == [jobs[2], jobs[0], jobs[1]]
    cluster.run(f"scancel {','.join(map(str, jobs))}").ok()


def test_squeue_takes_plural_names_of_filters(cluster):
    job = cluster.sbatch("-H", wrap="true")
    for option in ("partitions=main", "partition=main", "users=root", "user=root", "states=PD", "state=PD", "nodes=n1", "accounts=x", f"job={job}"):
        if ROOT or "root" not in option:
            shown_jobs = cluster.run(f"squeue -h -o %i --{option}").ok()
            assert (str(job) in shown_jobs.split()) == (option[0] not in "na"), option
    cluster.run(f"scancel {job}").ok()


def test_scancel_names_what_it_does_not_find(cluster):
    job = cluster.sbatch("-H", wrap="true")
    done = cluster.run("scancel 999999")
    assert done.ok() == "" and done.stderr == "scancel: error: Kill job error on job id 999999: Invalid job id specified\n"
    quiet = cluster.run("scancel -Q 999999")
    assert (quiet.ok(), quiet.stderr) == ("", "")
    leader = cluster.sbatch("-H", "-N1", ":", "-N1", wrap="true")
    for text, says in ((f"{job}+x", f"job {job} is not a heterogeneous job"), (f"{job}+1", f"job {job} is not a heterogeneous job"),
                       (f"{leader + 1}+x", f"job {leader + 1} is a component of heterogeneous job {leader}"),
                       (f"{leader}+x", f"job {leader} has no component named 'x': its components are 0, 1")):
        cluster.run(f"scancel {text}").fails(says)
    cluster.run(f"scancel {leader}").ok()
    assert "Usage: scancel [OPTIONS] [job_id[_array_id|+component][.step_id]...]\n" in cluster.run("scancel --help").stdout
    for line in ("-w ghost", f"-w ghost {job}", "-i -w n[1-2],ghost"):
        assert cluster.run(f"scancel {line}").fails() == "scancel: error: Invalid node name ghost\n"
    assert cluster.state(job) == "PENDING"
    cluster.run(f"scancel {job}").ok()


PARTITION_ROWS = [  # (change, what is shown then; None: refused, with a message that names the key)
    ("TRESBillingWeights=CPU=1.0,Mem=0.25G,Node=2", "TRESBillingWeights=CPU=1.0,Mem=0.25G,Node=2"),
    ("TRESBillingWeights=CPU=-1", None), ("TRESBillingWeights=CPU", None), ("TRESBillingWeights=CPU=x", None), ("TRESBillingWeights=CPU=1,=2", None),
    ("TRESBillingWeights=CPU=1,Meme=2", None), ("TRESBillingWeights=energy=1", None), ("TRESBillingWeights=gres/none=1", None),
    ("TRESBillingWeights=license/none=1", None),
    ("JobDefaults=DefCpuPerGPU=2,DefMemPerGPU=300", "JobDefaults=DefCpuPerGPU=2,DefMemPerGPU=300"),
    ("JobDefaults=", "JobDefaults=(null)"), ("JobDefaults=DefFoo=2", None),
    ("Nodes+=n2", " Nodes=n[1-2] "), ("Nodes-=n1", " Nodes=n2 "), ("Nodes=+n[1,3],-n2", " Nodes=n[1,3] "),
    ("Nodes-=n3 Nodes+=n2", " Nodes=n[1-2] "), ("Nodes=n3 Nodes+=n2", None), ("Nodes=n[1,3]", " Nodes=n[1,3] "),
    ("Nodes+=n9", None), ("Nodes=n1", " Nodes=n1 "),
    ("Exclusive=NODE", "OverSubscribe=EXCLUSIVE"), ("Exclusive=NO", "OverSubscribe=NO"), ("Exclusive=TOPO", " Exclusive=TOPO "),
    ("DefMemPerCPU=50", "DefMemPerCPU=50"), ("DefMemPerNode=60", "DefMemPerNode=60"), ("DefMemPerCPU=70", "DefMemPerCPU=70"),
    ("MaxMemPerNode=800", "MaxMemPerNode=800"), ("MaxMemPerCPU=90", "MaxMemPerCPU=90"), ("MaxMemPerNode=700", "MaxMemPerNode=700"),
    ("DefMemPerNode=UNLIMITED DefMemPerCPU=0", "DefMemPerNode=UNLIMITED"), ("MaxMemPerNode=UNLIMITED", "MaxMemPerNode=UNLIMITED"),
    ("PowerDownOnIdle=YES", None), ("Topology=t", None), ("Foo=1", None),
]


def test_keys_of_a_partition(cluster):
    """Each works, over a restart, or is refused with its name."""
    wrong = []
    for change, expected in PARTITION_ROWS:
        done = cluster.run(f"scontrol update PartitionName=second {change}")
        if expected is None:
            said = done.stdout + done.stderr
            names = change.partition("=")[0].rstrip("+-s").lower() in said.lower()
            wrong += [] if done.returncode and names else [f"{change}: {said!r}"]
        elif done.returncode or expected not in cluster.look("scontrol -o show partition second").ok() + " ":
            wrong.append(f"{change}: {done.stderr}{cluster.look('scontrol -o show partition second').stdout}")
    assert wrong == []
    cluster.kill("slurmctld")
    cluster.start_controller()
    assert "TRESBillingWeights=CPU=1.0,Mem=0.25G,Node=2" in cluster.look("scontrol show partition second").ok()
    assert cluster.run("scontrol update PartitionName=second TRESBillingWeights=CPU=2").ok() == ""
    written = cluster.run(f"scontrol write config {cluster.dir}/kept").ok().split()[-1].strip(".")
    assert "TRESBillingWeights=CPU=2" in open(written, encoding="utf-8").read()


@pytest.mark.parametrize("change", ["NodeName=n1 Gres=gpu:1", "NodeName=n1 ResumeAfter=60", "NodeName=n1 State=NoResp", "NodeName=n1 CertToken=x",
                                    "NodeName=n1 InstanceId=x", "NodeName=n1 InstanceType=x", "NodeName=n1 Topology=x",
                                    "ReservationName=r QOS=x",
                                    "ReservationName=r BurstBuffer=x",
                                    "SuspendExcNodes=n1", "SuspendExcParts=main", "SuspendExcStates=DOWN"])
def test_unsupported_keys_are_refused_by_name(cluster, change):
    """Never accepted silently: the message names the key, and nothing changes."""
    before = cluster.look("scontrol show node n1").ok()
    done = cluster.run(f"scontrol update {change}")
    said = (done.stdout + done.stderr).lower()
    assert done.returncode and change.split()[-1].partition("=")[0].lower() in said, said
    same = [line for line in before.splitlines() if "NodeAddr" in line or "Gres" in line]
    assert all(line in cluster.look("scontrol show node n1").ok() for line in same)


def test_aliases_of_a_host(cluster):
    """All nodes of the host that slurm.conf names, or of this one."""
    host = cluster.look("scontrol -o show node n1").ok().partition("NodeHostName=")[2].split()[0]
    names = cluster.run(f"scontrol show aliases {host}")
    assert names.ok().split() == (["n1", "n2", "n3"] if host != "n1" else ["n1"])
    assert cluster.run("scontrol show aliases=nowhere").fails("no node has NodeHostname=nowhere")


def test_options_of_scancel_are_answered(cluster):
    job = cluster.sbatch("--hold", wrap="true")
    cluster.run(f"scancel --sibling=other {job}").fails("--sibling=other is not supported")
    assert cluster.state(job) == "PENDING"
    done = cluster.run(["scancel", "--admin-comment=x", "--cron", str(job)])
    assert done.returncode == 0 and "--admin-comment is accepted and has no effect" in done.stderr and "--cron is accepted" in done.stderr
    assert cluster.state(job) == "CANCELLED"
