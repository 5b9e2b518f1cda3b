# SPDX-License-Identifier: GPL-3.0-or-later
"""One job for each reason for which a job can be pending: squeue shows it at once, with Slurm's word, and its remedy ends it."""
import getpass
import pathlib
import re

import pytest

from harness import Cluster, eventually, many

GUIDE = pathlib.Path(__file__).parents[2] / "docs/scheduling.md"
CONF = "Licenses=lic:1\nMaxMemPerNode=3000\n"
PARTITIONS = ["PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED",
              "PartitionName=short Nodes=ALL MaxTime=10 MaxNodes=1", "PartitionName=closed Nodes=ALL State=UP"]
LONG = "sleep 1000"


@pytest.fixture(scope="module")
def shared():
    with many(Cluster) as make:
        c = make(nodes=3, memory=4000, conf=CONF, partitions=PARTITIONS, node_conf="Feature=f")
        yield c


@pytest.fixture
def c(shared):
    yield shared
    shared.run("scancel -t PD,R,S").ok()
    eventually(lambda: not shared.run("squeue -h").ok(), "all jobs are gone")


def reason(c, job):
    """Its first word: of unavailable nodes the column names the nodes, too."""
    return c.run(["squeue", "-h", "-j", str(job), "-o", "%r"]).ok().split(",")[0]


def submit(c, *options, wrap=LONG):
    return c.sbatch("-o", "/dev/null", *options, wrap=wrap)


def runs(c, job):
    eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")
    return job


def full(c):
    """Two nodes of three."""
    return runs(c, submit(c, "-w", "n[1-2]", "-N2", "--exclusive", "-t100"))


# Each: what is so before, the options of the job, and what makes it start.

def resources(c):
    blocker = full(c)
    return submit(c, "-N3", "-t10"), lambda job: c.run(f"scancel {blocker}").ok()


def priority(c):
    full(c)
    head = submit(c, "-N3", "--exclusive", "-t10")
    return submit(c, "-n1", "-t200"), lambda job: c.run(f"scancel {head}").ok()


def dependency(c):
    other = full(c)
    return submit(c, "-d", f"afterany:{other}", "-n1"), lambda job: c.run(f"scancel {other}").ok()


def never(c):
    other = submit(c, wrap="exit 1")
    c.wait(other)
    return submit(c, "-d", f"afterok:{other}", "-n1"), lambda job: c.run(f"scontrol update JobId={job} Dependency=").ok()


def licences(c):
    other = runs(c, submit(c, "-L", "lic", "-n1", "-t5"))
    return submit(c, "-L", "lic", "-n1", "-t5"), lambda job: c.run(f"scancel {other}").ok()


def begin(c):
    return submit(c, "-b", "now+1hour", "-n1"), lambda job: c.run(f"scontrol update JobId={job} StartTime=now").ok()


def held(c):
    return submit(c, "-H", "-n1"), lambda job: c.run(f"scontrol release {job}").ok()


def held_by_operator(c):
    blocker = full(c)
    job = submit(c, "-N3", "-t10")
    c.run(f"scontrol hold {job}").ok()

    def end(job):
        c.run(f"scontrol release {job}").ok()
        c.run(f"scancel {blocker}").ok()
    return job, end


def not_available(c):
    c.run(["scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=test"]).ok()
    return submit(c, "-w", "n3", "-n1"), lambda job: c.run("scontrol update NodeName=n3 State=RESUME").ok()


def not_available_behind(c):
    """Not first in the queue."""
    c.run(["scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=test"]).ok()
    full(c)
    submit(c, "-w", "n[1-2]", "-N2", "--exclusive", "-t5")
    return submit(c, "-w", "n3", "-n1"), lambda job: c.run("scontrol update NodeName=n3 State=RESUME").ok()


def partition_down(c):
    c.run("scontrol update PartitionName=closed State=DOWN").ok()
    return submit(c, "-pclosed", "-n1"), lambda job: c.run("scontrol update PartitionName=closed State=UP").ok()


def partition_inactive(c):
    blocker = full(c)
    job = submit(c, "-pclosed", "-N3", "-t5")
    c.run("scontrol update PartitionName=closed State=INACTIVE").ok()

    def end(job):
        c.run(f"scancel {blocker}").ok()
        c.run("scontrol update PartitionName=closed State=UP").ok()
    return job, end


def partition_time(c):
    return submit(c, "-pshort", "-t20", "-n1"), lambda job: c.run(f"scontrol update JobId={job} TimeLimit=5").ok()


def partition_nodes(c):
    return submit(c, "-pshort", "-t5", "-N2"), lambda job: c.run(f"scontrol update PartitionName=short MaxNodes=2").ok()


def memory(c):
    return submit(c, "-n1", "--mem=3500"), lambda job: c.run(f"scontrol update JobId={job} MinMemoryNode=100").ok()


def constraints(c):
    blocker = full(c)
    job = submit(c, "-N3", "-t10", "-C", "f")
    c.run("scontrol update NodeName=n3 Features=").ok()
    eventually(lambda: reason(c, job) == "BadConstraints", "too few nodes have the feature")
    behind = submit(c, "-n1", "-t200")
    runs(c, behind)

    def end(job):
        c.run("scontrol update NodeName=n3 Features=f").ok()
        c.run(f"scancel {blocker} {behind}").ok()
    return job, end


def announced(c):
    full(c)  # else it would not wait for the time
    c.run("scontrol shutdown announce 60").ok()
    return submit(c, "-n1", "-t5"), lambda job: c.run("scontrol shutdown cancel").ok()


def reserve(c):
    c.run("scontrol create reservation ReservationName=later StartTime=now+60minutes Duration=60 "
          f"Users={getpass.getuser()} Nodes=n3").ok()
    return submit(c, "--reservation=later", "-n1", "-t5")


def reservation(c):
    job = reserve(c)

    def end(job):
        c.run("scontrol update ReservationName=later StartTime=now").ok()
        runs(c, job)
        c.run(f"scancel {job}").ok()
        eventually(lambda: not c.run("squeue -h").ok(), "its node is free")
        c.run("scontrol delete ReservationName=later").ok()
        return "over"
    return job, end


def reservation_deleted(c):
    job = reserve(c)
    c.run("scontrol delete ReservationName=later").ok()
    return job, lambda job: c.run(f"scontrol release {job}").ok()


def too_many_cpus(c):
    job = submit(c, "-n100")
    return job, lambda job: c.run(f"scontrol update JobId={job} NumTasks=1").ok()


CASES = {
    "PartitionConfig": too_many_cpus,
    "Resources": resources, "Priority": priority, "Dependency": dependency, "DependencyNeverSatisfied": never, "Licenses": licences,
    "BeginTime": begin, "JobHeldUser": held, "JobHeldAdmin": held_by_operator, "ReqNodeNotAvail": not_available,
    "ReqNodeNotAvail ": not_available_behind, "PartitionDown": partition_down, "PartitionInactive": partition_inactive,
    "PartitionTimeLimit": partition_time, "PartitionNodeLimit": partition_nodes, "MaxMemPerLimit": memory,
    "Reservation": reservation, "ReservationDeleted": reservation_deleted, "BadConstraints": constraints, "ReqNodeNotAvail  ": announced,
}


@pytest.mark.parametrize("word", CASES)
def test_reason_is_shown_at_once(c, word):
    job, end = CASES[word](c)
    assert reason(c, job) == word.strip()
    assert c.run(["squeue", "-h", "-j", str(job), "-O", "Reason:40"]).ok().strip().split(",")[0] == word.strip()
    assert word.strip() in c.run(["squeue", "-h", "-j", str(job), "-O", "ReasonList:400"]).ok()
    assert word.strip() in c.run(["squeue", "-h", "-j", str(job), "-o", "%R"]).ok()
    assert c.job(job)["Reason"].startswith(word.strip()) and c.state(job) == "PENDING"
    if end(job) != "over":
        runs(c, job)


def test_throttled_array_has_its_reason(c):
    job = submit(c, "--array=0-3%1", "-n1")
    eventually(lambda: c.run("squeue -h -t R -o %K").ok() == "0", "the first one runs")
    assert c.run(["squeue", "-h", "-t", "PD", "-j", str(job), "-o", "%r"]).ok() == "JobArrayTaskLimit"
    c.run(f"scancel {job}_0").ok()
    eventually(lambda: c.run("squeue -h -t R -o %K").ok() == "1", "the next one runs")


def test_deadline_sets_the_reason(c):
    full(c)
    job = submit(c, "-N3", "-t1", "--deadline=now+61seconds")
    assert reason(c, job) == "Resources"
    done = c.wait(job)
    assert (done["JobState"], done["Reason"]) == ("DEADLINE", "DeadLine")


def test_reasons_before_and_after_the_job_runs(make_cluster):
    """PrologSlurmctld runs, and is waited for; nodes are cleaned up before it is queued again."""
    c = make_cluster(nodes=1, start=False)
    go, clean = c.dir / "go", c.dir / "clean"
    for name, gate in [("prolog", go), ("epilog", clean)]:
        script = c.dir / name
        script.write_text(f"#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.05; done\n")
        script.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"PrologSlurmctld={c.dir}/prolog\nEpilogSlurmctld={c.dir}/epilog\n")
    c.start()
    job = submit(c)
    eventually(lambda: c.run(["squeue", "-h", "-o", "%t %r"]).ok() == "CF Prolog", "its prolog runs")
    go.touch()
    eventually(lambda: c.run(["squeue", "-h", "-o", "%t %r"]).ok() == "R None", "it runs")
    c.run(f"scontrol requeue {job}").ok()
    eventually(lambda: c.run(["squeue", "-h", "-o", "%t %r"]).ok() == "CG Cleaning", "it is being cleaned up")
    clean.touch()
    eventually(lambda: c.run(["squeue", "-h", "-o", "%t"]).ok() == "R", "it runs again")


def test_each_row_of_the_guide_has_a_job():
    rows = GUIDE.read_text().partition("## Why a job waits")[2].partition("\n## ")[0].partition("|---|---|")[2]
    named = set(re.findall(r"`([A-Z]\w+)`", "\n".join(line.split("|")[1] for line in rows.splitlines() if line.startswith("|"))))
    elsewhere = {"JobArrayTaskLimit", "Constraints", "DeadLine", "Prolog", "Cleaning"} | {"JobHoldMaxRequeue"}  # above; test_sched_params.py; control/requeue
    elsewhere |= {"BurstBufferResources", "BurstBufferStageIn", "BurstBufferOperation"}  # control/burst, test_burst.py
    elsewhere |= {"AccountNotAllowed"}  # test_parts.py
    assert named - elsewhere - {word.strip() for word in CASES} == set()


def test_a_start_on_a_node_that_is_drained_is_no_longer_expected(make_cluster):
    c = make_cluster(nodes=2, cpus=2)
    busy = [c.sbatch("-t10", "-n2", "-w", node, wrap="sleep 1000") for node in ("n1", "n2")]
    for job in busy:
        eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")
    one_set = c.run("sbatch --parsable -t10 -w n1 : -t10 -w n2 --wrap true").ok()

    def starts():
        return set(re.findall(r"\bStartTime=(\S+)", c.run(f"scontrol show job {one_set}").ok()))
    foreseen = eventually(lambda: "Unknown" not in starts() and starts(), "a start is foreseen")
    c.run("scontrol update NodeName=n1 State=DRAIN Reason=disk").ok()
    eventually(lambda: starts() == {"Unknown"}, "no start is foreseen")
    assert set(c.run(f"squeue -h --start -j {one_set} -o %S").ok().split()) == {"N/A"}
    assert "Expected start: not foreseeable" in c.run(f"sluice why {one_set}").ok()
    c.run("scontrol update NodeName=n1 State=RESUME").ok()
    eventually(lambda: starts() == foreseen, "the start is foreseen again")
