# SPDX-License-Identifier: GPL-3.0-or-later
"""What the configuration says of heterogeneous jobs, with real daemons: limits at submission, magnetic reservations, steps over several components,
placement on shared nodes, the modes of passes."""
import json
import re

import pytest

from harness import ROOT, Cluster, eventually, fields_of, many

PARTITIONS = ["PartitionName=p1 Nodes=ALL Default=YES MaxTime=60", "PartitionName=p2 Nodes=n[3-4] MaxTime=60",
              "PartitionName=small Nodes=ALL MaxNodes=1", "PartitionName=large Nodes=ALL MinNodes=2", "PartitionName=cpus Nodes=ALL MaxCPUsPerNode=2",
              "PartitionName=memory Nodes=ALL MaxMemPerNode=300", "PartitionName=good Nodes=ALL AllowAccounts=good",
              "PartitionName=bad Nodes=ALL DenyAccounts=bad", "PartitionName=group Nodes=ALL AllowGroups=daemon",
              "PartitionName=root Nodes=ALL RootOnly=YES", "PartitionName=drained Nodes=ALL State=DRAIN"]
CONF = "SelectTypeParameters=CR_Core_Memory\nMinJobAge=300\nEnforcePartLimits=ALL\n"


@pytest.fixture(scope="module")
def het():
    with many(Cluster) as make:
        yield make(nodes=4, cpus=4, conf=CONF, partitions=PARTITIONS)


def configure(c, *lines):
    """Replaces the configuration lines of the previous call by these."""
    text = "".join(line for line in c.conf_file.read_text().splitlines(True) if not line.endswith("# rule\n"))
    c.conf_file.write_text(text + "".join(f"{line} # rule\n" for line in lines))
    c.run("scontrol reconfigure").ok()


def rows(c, *options, format="%i %T"):
    return c.run(["squeue", "-h", "-S", "i", "-o", format, *options]).ok().splitlines()


def submit(c, *words):
    return int(c.run(["sbatch", "--parsable", "-o", "/dev/null", *words]).ok())


def over(c, job):
    c.run(f"scancel {job}").ok()
    eventually(lambda: rows(c, "-j", str(job)) == [], f"job {job} is over")


def states(c, job):
    return [line.split()[1] for line in rows(c, "-j", str(job))]


UNFIT = "Requested node configuration is not available: "
ACCOUNT = "Invalid account or account/partition combination specified: "
LIMITS = [  # what a component cannot have in its partition
    ("-p small -N2", "Node count specification invalid: small"),
    ("-p large -N1", "Node count specification invalid: large"),
    ("-n5 -N5", "Node count specification invalid: 5 nodes asked, 4 in partition p1"),
    ("-t 99", "Requested time limit is invalid (missing or exceeds some limit): p1"),
    ("-n99", "More processors requested than permitted: 99 CPUs asked, 16 in partition p1"),
    ("-p cpus -c3", UNFIT + "CPU count per node can not be satisfied: 3 asked, at most 2 on a node of partition cpus"),
    ("-p cpus -N1 -n3", UNFIT + "it would fit with 2 tasks"),
    ("-p memory --mem=999", "Memory specification can not be satisfied: memory"),
    ("--mem=9G", UNFIT + "Memory specification can not be satisfied: 9216M asked, at most 4000M on a node of partition p1"),
    ("-p p2 -w n1", UNFIT + "a node of the list is not in partition p2"),
    ("-x n[1-4]", UNFIT + "--exclude leaves no node of partition p1, which has 4"),
    ("-C none", "Invalid feature specification: none: no node has this feature"),
    ("--gres=gpu:1", "Invalid generic resource (gres) specification: gres:gpu:1: no node has this resource"),
    ("-p good", ACCOUNT + "partition good takes jobs of some accounts only: --account"),
    ("-p bad -A bad", ACCOUNT + "partition bad takes no jobs of account bad (DenyAccounts)"),
    ("-p drained", "Required partition not available (inactive or drain): drained"),
    ("-p none", "Invalid partition name specified: none"),
    ("--reservation=none", "Requested reservation is invalid: none"),
    ("--deadline=2020-01-02", "Requested deadline can not be met: 2020-01-02T00:00:00 is in the past"),
]
OF_USERS = [("-p group", "User's group not permitted to use this partition: group"),
            ("-p root", "Access/permission denied: partition root is for root only")]


def test_limits_refuse_the_set_at_once(het):
    """HET-20, HET-21: a job that cannot start under the limits of a partition is refused at submission, whichever component it is, and nothing is
    queued. Limits of associations and QOS, such as MaxTRES, wait for accounting."""
    before = rows(het, "-t", "all")
    wrong = []
    for user, limits in ((None, LIMITS), *[("nobody", OF_USERS)] * ROOT):
        for line, said in limits:
            for offset, words in enumerate((f"{line} : -n1 -p p1", f"-n1 : {line} : -n1", f"-n1 : -n1 : {line}")):
                done = het.run(f"sbatch -o /dev/null {words} --wrap=true", user=user)
                if (done.returncode, done.stderr) != (1, f"sbatch: error: Batch job submission failed: {said} (component {offset})\n"):
                    wrong.append((words, done))
    assert wrong == [] and rows(het, "-t", "all") == before


@pytest.mark.parametrize("line, said", [
    ("-w n1 --exclusive : -n1 : -w n1", "component 2 never fits beside component 0"),
    ("-N3 --exclusive : -p p2 -N2", "component 1 never fits beside component 0"),
    ("-n8 : -n5 : -n4", "component 2 never fits beside those before it"),
])
def test_components_that_never_fit_together_are_refused(het, line, said):
    """HET-22: a job whose components never fit together is refused at submission, and nothing is queued."""
    before = rows(het, "-t", "all")
    het.run(f"sbatch {line} --wrap=true").fails(said)
    assert rows(het, "-t", "all") == before


def test_each_component_counts_as_a_job():
    """HET-23: against MaxJobCount; MaxSubmitJobs and MaxJobs are limits of associations, which wait for accounting."""
    with many(Cluster) as make:  # test_het.py has the messages
        c = make(nodes=1, cpus=4, conf="MaxJobCount=4\nMinJobAge=300\n")
        c.run("sbatch -H -n1 : -n1 : -n1 : -n1 : -n1 --wrap=true").fails("MaxJobCount")
        first = submit(c, "-H", "-n1", ":", "-n1", ":", "-n1", "--wrap=true")
        c.run("sbatch -H -n1 : -n1 --wrap=true").fails("MaxJobCount")
        submit(c, "-H", "-n1", "--wrap=true")
        c.run("sbatch -H -n1 --wrap=true").fails("MaxJobCount")
        assert len(rows(c)) == 4 and len(states(c, first)) == 3


def test_steps_over_several_components_may_be_disabled(het):
    """HET-70: disable_hetjob_steps forbids a step in several components; one in each is allowed."""
    step = ["salloc", "-Q", "-n1", ":", "-n1", "sh", "-c",
            "srun --het-group=0 true && srun --het-group=1 true && srun --het-group=0,1 printenv SLURM_PROCID"]
    configure(het, "SchedulerParameters=disable_hetjob_steps")
    het.run(step).fails("disable_hetjob_steps")
    for words in "SchedulerParameters=enable_hetjob_steps", "":
        configure(het, *filter(None, [words]))
        assert sorted(het.run(step).ok().split()) == ["0", "1"]


def test_components_share_nodes_and_partitions(het):
    """HET-95, HET-97: two components have half of a node each; one that may have all nodes leaves the others those that only they may have."""
    job = submit(het, "-w", "n1", "-n2", ":", "-w", "n1", "-n2", "--wrap=sleep 1000")
    eventually(lambda: rows(het, "-j", str(job), format="%T %N %C") == ["RUNNING n1 2"] * 2, "both run on n1")
    over(het, job)
    for line, nodes in (("-p p1 -N2 : -p p2 -N2", ["n[1-2]", "n[3-4]"]), ("-p p2 -N2 : -p p1 -N2", ["n[3-4]", "n[1-2]"])):
        job = submit(het, *f"--exclusive {line} --exclusive".split(), "--wrap=sleep 1000")
        eventually(lambda: rows(het, "-j", str(job), format="%T %N") == [f"RUNNING {where}" for where in nodes], "both run")
        over(het, job)


@pytest.mark.parametrize("limits, drawn", [("HetLimits=none", "kept"), ("HetLimits=magnetic", ""), ("HetLimits=documented", "")])
def test_magnetic_reservations_follow_het_limits(het, limits, drawn):
    """HET-98: with HetLimits=magnetic or documented, as in Slurm, a heterogeneous job is in a magnetic reservation only if it asks for it; else it is
    drawn."""
    configure(het, limits)
    het.run("scontrol create reservation=kept starttime=now duration=60 nodes=n[1-2] users=root flags=MAGNETIC").ok()
    try:
        for words, reservation in (["-t5"], drawn), (["-t5", "--reservation=kept"], "kept"):
            job = submit(het, *words, "-n1", ":", "-n1", "--wrap=sleep 1000")
            eventually(lambda: states(het, job) == ["RUNNING"] * 2, "both run")
            shown = [fields_of(line) for line in het.run(f"scontrol show job -o {job}").ok().splitlines()]
            assert [fields.get("Reservation", "") for fields in shown] == [reservation] * 2
            assert all((fields["NodeList"] in ("n1", "n2")) == bool(reservation) for fields in shown)
            over(het, job)
    finally:
        het.run("scontrol delete reservation=kept").ok()
        configure(het)


def test_components_get_a_reason_from_the_planner():
    """HET-116: the components have no reason before the planner has looked at them, in any listing, and then all have one. With sched/builtin a pass
    ends at the first job that waits."""
    with many(Cluster) as make:
        c = make(nodes=2, cpus=4, conf="SchedulerType=sched/builtin\nMinJobAge=300\n")
        blocker = submit(c, "-N2", "--exclusive", "--wrap=sleep 1000")
        eventually(lambda: states(c, blocker) == ["RUNNING"], "the nodes are in use")
        first = submit(c, "-N2", "--exclusive", "--wrap=true")
        job = submit(c, "-n1", ":", "-n1", ":", "-N2", "--wrap=true")

        def reasons(asked):
            listed = [line.split() for line in rows(c, "-j", str(asked), format="%r %R")]
            shown = [fields_of(line)["Reason"] for line in c.run(f"scontrol show job -o {asked}").ok().splitlines()]
            told = [one["state_reason"] for one in c.json(f"squeue -S i -j {asked}")["jobs"]]
            assert len(listed) == len(shown) == len(told)
            return [{a, b.strip("()"), more, last} for (a, b), more, last in zip(listed, shown, told)]

        eventually(lambda: reasons(first) == [{"Resources"}], lambda: reasons(first))
        assert reasons(job) == [{"None"}] * 3
        c.run(f"scancel {first}").ok()
        eventually(lambda: reasons(job) == [{"Resources"}] * 3, lambda: reasons(job))
        over(c, job)
        over(c, blocker)


def test_log_names_the_alternating_modes(het):
    """HET-117: the log says which mode each pass had, and when components are expected to start; with bf_hetjob_immediate too."""
    pattern = re.compile(r"a pass over 1 heterogeneous jobs in mode (\d) is over")
    for words in "hetjob_two_mode,bf_interval=1", "hetjob_two_mode,bf_interval=1,bf_hetjob_immediate":
        configure(het, f"SchedulerParameters={words}", "DebugFlags=Hetjob")
        blocker = submit(het, "-N4", "-t5", "--exclusive", "--wrap=sleep 1000")
        eventually(lambda: states(het, blocker) == ["RUNNING"], "the nodes are in use")
        said = len(het.tail("slurmctld", 1000000))
        job = submit(het, "-n1", ":", "-N3", "--exclusive", "--wrap=sleep 1000")
        modes = eventually(lambda: len(found := pattern.findall(het.tail("slurmctld", 1000000)[said:])) >= 4 and found, "four passes")
        assert set(zip(modes, modes[1:])) == {("1", "2"), ("2", "1")}
        over(het, blocker)
        over(het, job)
    configure(het)


@pytest.mark.parametrize("immediate", [False, True])
def test_bf_hetjob_immediate_starts_the_set_within_the_pass(het, immediate):
    """HET-127: in a pass over a set and a later job, the set starts before the job with bf_hetjob_immediate, otherwise after it."""
    configure(het, "SchedulerParameters=hetjob_two_mode" + ",bf_hetjob_immediate" * immediate)
    het.run("scontrol update partitionname=p1 state=down").ok()
    job = submit(het, "-N1", "--exclusive", ":", "-N1", "--exclusive", "--wrap=sleep 1000")
    other = submit(het, "-N1", "--exclusive", "--wrap=sleep 1000")
    assert rows(het, format="%r") == ["PartitionDown"] * 3
    het.run("sluice events").ok()  # those that come are recorded
    het.run("scontrol update partitionname=p1 state=up").ok()
    eventually(lambda: states(het, job) == ["RUNNING"] * 2 and states(het, other) == ["RUNNING"], "all run")
    began = [e["job"]["job_id"] for e in map(json.loads, het.run("sluice events --json").ok().splitlines()) if e.get("job", {}).get("to") == "RUNNING"]
    assert began == ([job + 1, job, other] if immediate else [other, job + 1, job])
    het.run("sluice events --forget").ok()
    over(het, job)
    over(het, other)
    configure(het)


@pytest.mark.parametrize("rule", ["", "bf_hetjob_prio=min", "bf_hetjob_prio=avg", "bf_hetjob_prio=max"])
def test_sprio_shows_the_priority_of_each_component(het, rule):
    """HET-126: the rule chooses the place of a set in the plan, and changes no priority that is shown. The later job has a priority between those of the
    components: by the lower or the mean priority it starts first, by the higher one the set does."""
    configure(het, *([f"SchedulerParameters={rule}"] if rule else []))
    blocker = submit(het, "-N4", "--exclusive", "--wrap=sleep 1000")
    eventually(lambda: states(het, blocker) == ["RUNNING"], "the nodes are in use")
    job = submit(het, "-w", "n1", "-N1", "--exclusive", "--priority=9000", ":", "-w", "n2", "-N1", "--exclusive", "--priority=3000", "--wrap=sleep 1000")
    other = submit(het, "-w", "n[1-2]", "-N2", "--exclusive", "--priority=7000", "--wrap=sleep 1000")
    shown = {int(line.split()[0]): int(line.split()[1]) for line in het.run(["sprio", "-h", "-o", "%i %Y"]).ok().splitlines()}
    assert shown == {job: 9000, job + 1: 3000, other: 7000}
    assert rows(het, "-j", str(job), format="%Q") == ["9000", "3000"]
    over(het, blocker)
    first, last = (other, job) if rule[-3:] in ("min", "avg") else (job, other)
    eventually(lambda: set(states(het, first)) == {"RUNNING"}, "it starts first")
    assert set(states(het, last)) == {"PENDING"}
    over(het, first)
    over(het, last)
    configure(het)
