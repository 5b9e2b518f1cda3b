# SPDX-License-Identifier: GPL-3.0-or-later
"""What the configuration says of heterogeneous jobs, with real daemons: limits at submission, magnetic reservations, steps over several components,
placement on shared nodes, the modes of passes."""
import json
import re

import pytest

from harness import Cluster, eventually, fields_of, many

PARTITIONS = ["PartitionName=p1 Nodes=ALL Default=YES MaxTime=60", "PartitionName=p2 Nodes=n[3-4] MaxTime=60",
              "PartitionName=small Nodes=ALL MaxNodes=1"]
CONF = "SelectTypeParameters=CR_Core\nMinJobAge=300\nEnforcePartLimits=ALL\n"


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


@pytest.mark.parametrize("line, said", [
    ("-n1 : -p small -N2", "(component 1)"),
    ("-p small -N2 : -n1", "(component 0)"),
    ("-n1 : -n1 -t 99", "(component 1)"),
    ("-n1 : -n5 -N5", "(component 1)"),
])
def test_limits_refuse_at_once(het, line, said):
    """HET-20, HET-21: a job that cannot start under the limits of its partition is refused at submission, and nothing is queued."""
    before = rows(het, "-t", "all")
    het.run(f"sbatch {line} --wrap=true").fails(said)
    assert rows(het, "-t", "all") == before


def test_each_component_counts_as_a_job():
    """HET-23: against MaxJobCount."""
    with many(Cluster) as make:
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


@pytest.mark.parametrize("limits, drawn", [("HetLimits=none", "kept"), ("HetLimits=magnetic", "")])
def test_magnetic_reservations(het, limits, drawn):
    """HET-98: with HetLimits=magnetic, as Slurm documents it, a heterogeneous job is in a magnetic reservation only if it asks for it; else it is drawn."""
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


def test_a_reason_comes_after_a_look(het):
    """HET-116: the components have no reason before the planner has looked at them, and then all have one."""
    blocker = submit(het, "-N4", "--exclusive", "--wrap=sleep 1000")
    eventually(lambda: states(het, blocker) == ["RUNNING"], "the nodes are in use")
    job = submit(het, "-n1", ":", "-n1", "--wrap=true")
    seen = []

    def look():
        seen.append(rows(het, "-j", str(job), format="%r"))
        return seen[-1] == ["Resources"] * 2
    eventually(look, lambda: str(seen))
    assert all(reasons == ["None"] * 2 for reasons in seen[:-1])
    over(het, job)
    over(het, blocker)


def test_modes_alternate(het):
    """HET-117: the log says which mode each pass had, and when components are expected to start; with bf_hetjob_immediate too."""
    pattern = re.compile(r"a pass over 1 heterogeneous jobs in mode (\d) is over")
    for words in "hetjob_two_mode,bf_interval=1", "hetjob_two_mode,bf_interval=1,bf_hetjob_immediate":
        configure(het, f"SchedulerParameters={words}", "DebugFlags=Hetjob")
        blocker = submit(het, "-N4", "-t5", "--exclusive", "--wrap=sleep 1000")
        eventually(lambda: states(het, blocker) == ["RUNNING"], "the nodes are in use")
        said = len(het.tail("slurmctld", 1000000))
        job = submit(het, "-n1", ":", "-N4", "--exclusive", "--wrap=sleep 1000")
        modes = eventually(lambda: len(found := pattern.findall(het.tail("slurmctld", 1000000)[said:])) >= 4 and found, "four passes")
        assert set(zip(modes, modes[1:])) == {("1", "2"), ("2", "1")}
        over(het, blocker)
        over(het, job)
    configure(het)


@pytest.mark.parametrize("immediate", [False, True])
def test_place_of_a_start_in_the_pass(het, immediate):
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
