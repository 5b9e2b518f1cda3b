# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs that share nodes, and features that all nodes of a job have in common: CORE-018, 122, 123, 130, 131, 132."""
import pytest

from harness import eventually

PARTITIONS = ["PartitionName=no Nodes=ALL Default=YES", "PartitionName=yes Nodes=ALL OverSubscribe=YES:2",
              "PartitionName=force Nodes=ALL Shared=FORCE:2"]


def states(c, *jobs):
    return [c.state(job) for job in jobs]


def submit(c, *options):
    return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")


def runs(c, job):
    eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")


def clear(c):
    c.run("scancel --me").ok()
    eventually(lambda: c.run("squeue -h").stdout == "", "nothing runs")


@pytest.mark.parametrize("select", ["cons_tres", "linear"])
def test_oversubscribe_no_yes_and_force(make_cluster, select):
    """CORE-018: The report's node of two CPUs, with whole nodes as in 2002 and with CPUs.

    CORE-130, CORE-131, CORE-132, GANG-09, GANG-24: NO, YES for those that ask, FORCE for all, FORCE:1 for none."""
    c = make_cluster(nodes=1, cpus=2, conf=f"SelectType=select/{select}\n", partitions=PARTITIONS)
    n = ["-n1"] if select == "linear" else ["-n2"]  # what fills the node
    first, second = submit(c, *n), submit(c, *n)
    runs(c, first)
    assert states(c, first, second) == ["RUNNING", "PENDING"]
    clear(c)
    shares = [submit(c, "-pyes", *n, option) for option in ("-s", "--oversubscribe", "--share")]
    runs(c, shares[1])
    assert states(c, *shares) == ["RUNNING", "RUNNING", "PENDING"]  # two at a time
    alone = submit(c, "-pyes", *n)
    c.run(["scancel", str(shares[0])]).ok()
    runs(c, shares[2])
    assert c.state(alone) == "PENDING"
    clear(c)
    forced = [submit(c, "-pforce", *n, "--exclusive") for _ in range(3)]
    runs(c, forced[1])
    assert states(c, *forced) == ["RUNNING", "RUNNING", "PENDING"]
    other = submit(c, "-pno", *n)
    c.kill("slurmctld")
    c.start_controller()
    assert states(c, *forced, other) == ["RUNNING", "RUNNING", "PENDING", "PENDING"]
    c.run(f"scancel {other}").ok()  # which would be delayed by one more
    c.run("scontrol update PartitionName=force OverSubscribe=FORCE:3").ok()
    runs(c, forced[2])
    c.run("scontrol update PartitionName=force OverSubscribe=FORCE:0").fails("the number of jobs is 1 to 65533")
    assert "OverSubscribe=FORCE:3" in c.run("scontrol show partition force").ok()
    clear(c)
    c.run("scontrol update PartitionName=force OverSubscribe=FORCE:1").ok()
    forced = [submit(c, "-pforce", *n, "-s") for _ in range(2)]
    runs(c, forced[0])
    assert states(c, *forced) == ["RUNNING", "PENDING"]
    clear(c)


def test_exclusive_of_a_job_follows_its_request_and_its_partition(make_cluster):
    """scontrol(1), squeue(1): TOPO, NODE, USER and NO, of pending and of running jobs; OverSubscribe leaves USER to Exclusive."""
    c = make_cluster(nodes=2, cpus=2, partitions=PARTITIONS + [
        "PartitionName=node Nodes=ALL OverSubscribe=EXCLUSIVE", "PartitionName=user Nodes=ALL ExclusiveUser=YES",
        "PartitionName=topo Nodes=ALL Exclusive=TOPO"])

    def check(job, exclusive, oversubscribe, shared):
        shown = c.job(job)
        assert (shown["Exclusive"], shown["OverSubscribe"]) == (exclusive, oversubscribe)
        assert c.run(f"squeue -h -t all -j {job} -O Exclusive:.8,OverSubscribe:.8").ok().split() == [exclusive, oversubscribe]
        assert c.json(f"scontrol show job {job}")["jobs"][0]["shared"] == shared

    cases = [(["-pno"], "NO", "OK", []), (["-pno", "--exclusive"], "NODE", "NO", ["none"]), (["-pno", "--exclusive=user"], "USER", "OK", ["user"]),
             (["-pno", "-s"], "NO", "YES", ["oversubscribe"]), (["-pforce", "--exclusive"], "NODE", "OK", []),
             (["-pnode"], "NODE", "NO", ["none"]), (["-pnode", "--exclusive=user"], "NODE", "NO", ["none"]),
             (["-puser"], "USER", "OK", ["user"]), (["-puser", "--exclusive"], "NODE", "NO", ["none"]), (["-ptopo"], "TOPO", "NO", ["topo"])]
    for options, *wanted in cases:
        held = submit(c, "-H", *options)
        check(held, *wanted)
        job = submit(c, *options)
        runs(c, job)
        check(job, *wanted)
        clear(c)
        check(job, *wanted)

    # A pending job follows its partition; a job that runs keeps what it has, also across a restart.
    job, held = submit(c, "-puser"), submit(c, "-H", "-puser")
    runs(c, job)
    c.run("scontrol update PartitionName=user Exclusive=NO").ok()
    for _ in range(2):
        check(job, "USER", "OK", ["user"])
        check(held, "NO", "OK", [])
        c.kill("slurmctld")
        c.start_controller()
    clear(c)


def test_nodes_of_a_job_share_a_feature(make_cluster):
    """CORE-122, CORE-123: a feature may hold a number; in brackets it is the same on all nodes, without on each."""
    c = make_cluster(nodes=4, conf="NodeName=DEFAULT Feature=x\n")
    for node, features in {"n1": "1200MHz,fs1", "n2": "fs2,16GB_Swap", "n3": "fs1,fs2", "n4": "fs1,fs2"}.items():
        c.run(f"scontrol update NodeName={node} AvailableFeatures={features} ActiveFeatures={features}").ok()

    def nodes(*options):
        return c.run(["srun", *options, "sh", "-c", "echo $SLURMD_NODENAME"]).ok().split()

    assert nodes("-C", "1200MHz") == ["n1"]
    assert nodes("-C", "16GB_Swap&fs2") == ["n2"]
    assert sorted(nodes("-N3", "-C", "fs1|fs2")) == ["n1", "n2", "n3"]
    assert sorted(nodes("-N3", "-C", "[fs1|fs2]")) == ["n1", "n3", "n4"]
    c.run("srun -N4 -C [fs1|fs2] true").fails("Requested node configuration is not available")
    c.run("srun -C [fs1|none] true").fails("Invalid feature specification: none")
    c.run("srun -C [fs1 true").fails("Invalid feature specification: [fs1: [ is not closed")
