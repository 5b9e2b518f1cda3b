# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that are accepted although they cannot run now; jobs that are stopped; elements that are cancelled."""
import pytest

from harness import eventually


def reason(c, job):
    return c.run(["squeue", "-h", "-j", str(job), "-o", "%r"]).ok()


ACCEPTED = [  # EnforcePartLimits=NO: options, reason
    (["-N5"], "PartitionNodeLimit"), (["-N100"], "PartitionNodeLimit"), (["-n17"], "PartitionConfig"), (["-c17"], "PartitionConfig"),
    (["-t61", "-pshort"], "PartitionTimeLimit"), (["-pdown"], "PartitionDown"),
]
HELD = [["-N100"], ["-n100"], ["--mem=100G"], ["-x", "n[1-4]"], ["--mincpus=100"]]


@pytest.fixture(scope="module")
def cluster():
    from harness import Cluster
    c = Cluster(nodes=4, partitions=["PartitionName=main Nodes=ALL Default=YES", "PartitionName=short Nodes=ALL MaxTime=60",
                                     "PartitionName=down Nodes=ALL State=DOWN"])
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def test_job_beyond_partition_limits_waits_with_a_reason(cluster):
    for options, expected in ACCEPTED:
        done = cluster.run(["sbatch", "--parsable", *options, "--wrap", "true"])
        job = int(done.ok())
        assert reason(cluster, job) == expected, options
        if expected in ("PartitionNodeLimit", "PartitionConfig"):
            assert done.stderr.startswith("sbatch: Requested partition configuration not available now: ")
            cluster.run(["sbatch", "--test-only", *options, "--wrap", "true"]).fails("allocation failure: ")
            cluster.run(["srun", "-I", *options, "true"]).fails("srun: error: Unable to allocate resources: ")
        other = cluster.sbatch("-o", "/dev/null", wrap="true")  # it is in nobody's way
        cluster.wait(other)
        cluster.run(f"scancel {job}").ok()


def test_impossible_held_job_is_accepted_until_its_release(make_cluster):
    c = make_cluster(nodes=4)
    jobs = [c.sbatch("-H", *options, wrap="true") for options in HELD]
    assert [reason(c, job) for job in jobs] == ["JobHeldUser"] * len(jobs)
    c.run(["sbatch", "-H", "-C", "golden", "--wrap", "true"]).fails("Invalid feature specification")
    c.run(["sbatch", "-H", "-w", "ghost", "--wrap", "true"]).fails("Invalid node name specified")
    c.run(["sbatch", "--mem=100G", "--wrap", "true"]).fails("Memory specification can not be satisfied")
    c.kill("slurmctld")
    c.start_controller()
    for job in jobs:
        c.run(f"scontrol update JobId={job} Comment=x").ok()
        c.run(f"scontrol release {job}").ok()
    assert [reason(c, job) for job in jobs] == ["PartitionNodeLimit", "PartitionConfig"] + ["BadConstraints"] * 3
    c.wait_ready()
    c.run(f"scontrol update JobId={jobs[2]} MinMemoryNode=10").ok()
    c.wait(jobs[2])
    c.run("scancel -t PENDING --me").ok()


def test_enforced_limits_refuse_at_submission(make_cluster):
    c = make_cluster(nodes=2, conf="EnforcePartLimits=ALL\n")
    for options in (["-N3"], ["-n100"], ["-H", "-N3"], ["-H", "--mem=100G"]):
        c.run(["sbatch", *options, "--wrap", "true"]).fails("Batch job submission failed: ")
    assert c.run("squeue -h").ok() == ""


def test_stopped_job_is_shown_as_stopped(cluster):
    job = cluster.sbatch("-o", "/dev/null", wrap="srun sleep 1000")
    eventually(lambda: cluster.run(["squeue", "-h", "-s", "-j", str(job), "-o", "%i"]).ok().count(".0"), "its step runs")
    cluster.run(f"scancel -s STOP {job}").ok()
    assert cluster.state(job) == "STOPPED" and cluster.run(["squeue", "-h", "-j", str(job), "-o", "%t"]).ok() == "ST"
    assert cluster.run("squeue -h -t STOPPED -o %i").ok() == str(job) and cluster.run("squeue -h -t ST -o %i").ok() == str(job)
    cluster.run(f"scancel -s CONT {job}").ok()
    assert cluster.state(job) == "RUNNING" and cluster.run("squeue -h -t ST -o %i").ok() == ""
    cluster.run(f"scancel -s STOP {job}").ok()
    cluster.run(f"scancel {job}").ok()
    assert cluster.wait(job)["JobState"] == "CANCELLED"


def test_a_cancelled_pending_element_leaves_no_record(cluster):
    job = cluster.sbatch("-H", "-a", "1-4", wrap="true")
    cluster.run(f"scancel {job}_2").ok()
    eventually(lambda: cluster.run(f"scontrol show job {job}_2").returncode, "the element has no record")
    records = cluster.run(f"scontrol -o show job {job}").ok().split("\n")
    assert len(records) == 1 and "ArrayTaskId=1,3-4 " in records[0]
    cluster.run(f"scancel {job}").ok()
    assert cluster.state(job) == "CANCELLED"  # the array has one


def test_a_job_may_be_longer_than_its_reservation(make_cluster):
    c = make_cluster(nodes=2, conf="ResvOverRun=UNLIMITED\n")
    c.run("scontrol create reservation ReservationName=r StartTime=now Duration=5 Users=root Nodes=n1").ok()
    c.run("scontrol create reservation ReservationName=s StartTime=now+60 Duration=5 Users=root Nodes=n2").ok()
    job = c.sbatch("--reservation=r,s", "-t60", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "the job runs in the reservation")
    assert c.run(["squeue", "-h", "-j", str(job), "-o", "%N %v"]).ok() == "n1 r,s"
    for reservation, jobs in (("r", [str(job)]), ("s", [str(job)]), ("t", [])):
        assert c.run(f"squeue -h --reservation={reservation} -o %i").ok().split() == jobs
    assert c.job(job)["Reservation"] == "r,s" and c.json(f"scontrol show job {job}")["jobs"][0]["resv_name"] == "r,s"
    c.run(f"scancel {job}").ok()


def test_core_counts_are_totals_of_free_cores(make_cluster):
    c = make_cluster(nodes=3, cpus=4, node_conf="Sockets=1 CoresPerSocket=2 ThreadsPerCore=2")
    blocker = c.sbatch("-w", "n3", "-n1", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(blocker) == "RUNNING", "the job has a core of n3")
    create = "scontrol create reservation StartTime=now Duration=5 Users=root"
    c.run(f"{create} ReservationName=r Nodes=n[1-2] CoreCnt=3").ok()
    assert "Nodes=n[1-2] NodeCnt=2 CoreCnt=3 " in c.run("scontrol -o show reservation r").ok()
    c.run(f"{create} ReservationName=s Nodes=n3 CoreCnt=2").fails("Requested nodes are busy: jobs run on n3")
    c.run(f"{create} ReservationName=s Nodes=n3 CoreCnt=5").fails("Requested nodes are busy: 5 cores of n3, which has 2")
    c.run(f"{create} ReservationName=s Nodes=n3 CoreCnt=1").ok()
    c.run(f"{create} ReservationName=t Nodes=n3 CoreCnt=1 Flags=OVERLAP,IGNORE_JOBS").ok()
    c.run(f"scancel {blocker}").ok()
