# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of slurm.conf and of scontrol for administrators: alternate and exclusive partitions, node sets, and actions that are forbidden to users."""
import pytest

from harness import ROOT, Cluster, eventually

CONF = """NodeSet=left Nodes=n[1-2]
NodeSet=fast Feature=fast
SchedulerParameters=disable_job_shrink
SlurmctldParameters=user_resv_delete,disable_triggers,node_reg_mem_percent=95.5
OverTimeLimit=7
"""
PARTITIONS = ["PartitionName=main Nodes=ALL Default=YES", "PartitionName=second Nodes=left Alternate=third OverTimeLimit=5",
              "PartitionName=third Nodes=n[3-4] Alternate=main OverTimeLimit=UNLIMITED"]


@pytest.fixture(scope="module")
def admin():
    c = Cluster(nodes=4, conf=CONF, partitions=PARTITIONS, start=False)
    try:
        text = c.conf_file.read_text().replace("NodeName=n3 ", "NodeName=n3 Feature=fast ")
        c.conf_file.write_text(text)
        c.start()
        yield c
        c.stop()
    finally:
        c.destroy()


def part(c, name):
    return dict(word.split("=", 1) for word in c.run(f"scontrol -o show partition {name}").ok().split())


def states(c):
    return {n: c.node(n)["State"] for n in c.names}


def test_over_time_limit_is_cleared_by_unlimited(admin):
    assert [part(admin, name)["OverTimeLimit"] for name in ("main", "second", "third")] == ["NONE", "5", "NONE"]
    admin.run("scontrol update PartitionName=second OverTimeLimit=9").ok()
    assert part(admin, "second")["OverTimeLimit"] == "9"
    admin.run("scontrol update PartitionName=second OverTimeLimit=65534").fails("OverTimeLimit is at most 65533 minutes")
    admin.run("scontrol update PartitionName=second OverTimeLimit=UNLIMITED").ok()
    assert part(admin, "second")["OverTimeLimit"] == "NONE"


def test_exclusivity_and_load_of_a_partition_are_changed(admin):
    for value, exclusive, share in (("user", "USER", "NO"), ("NODE", "NODE", "EXCLUSIVE"), ("topo", "TOPO", "NO"), ("none", "NO", "NO")):
        admin.run(f"scontrol update PartitionName=second Exclusive={value}").ok()
        shown = part(admin, "second")
        assert (shown["Exclusive"], shown["OverSubscribe"]) == (exclusive, share)
    admin.run("scontrol update PartitionName=second Exclusive=core").fails("NO, NONE, NODE, USER or TOPO")
    admin.run("scontrol update PartitionName=second ExclusiveUser=yes LLN=yes").ok()
    assert part(admin, "second")["Exclusive"] == "USER" and part(admin, "second")["LLN"] == "YES"
    if ROOT:  # a node serves one user at a time from then on
        first = admin.sbatch("-p", "second", "-w", "n1", wrap="sleep 1000")
        admin.wait_state(first, "RUNNING")
        other = admin.sbatch("-p", "second", "-w", "n1", wrap="true", user="nobody")
        eventually(lambda: admin.run(f"squeue -h -o %r -j {other}").ok().strip() == "Resources", "a job of another user that waits")
        admin.run(f"scancel {first}").ok()
        admin.wait(other)
    # The least loaded node is first: n1 has a job.
    admin.run("scontrol update PartitionName=second ExclusiveUser=no").ok()
    admin.wait(admin.sbatch("-p", "main", "-w", "n1", wrap="true"))
    busy = admin.sbatch("-p", "main", "-w", "n1", wrap="sleep 1000")
    admin.wait_state(busy, "RUNNING")
    least = admin.sbatch("-p", "second", wrap="sleep 1000")
    admin.wait_state(least, "RUNNING")
    assert admin.job(least)["NodeList"] == "n2"
    admin.run(f"scancel {busy} {least}").ok()
    admin.run("scontrol update PartitionName=second LLN=no").ok()


def test_jobs_go_to_the_alternate_of_a_drained_partition(admin):
    """slurm.conf(5), Alternate: in the state DRAIN or INACTIVE."""
    c = admin

    def lands(*options):
        job = c.sbatch("-H", *options, wrap="true")
        partition = c.job(job)["Partition"]
        c.run(f"scancel {job}").ok()
        return partition
    assert lands("-p", "second") == "second"
    c.run("scontrol update PartitionName=second State=DRAIN").ok()
    assert lands("-p", "second") == "third" and lands("-p", "second,main") == "third,main" and lands("-p", "second,third") == "third"
    c.run("scontrol update PartitionName=third State=INACTIVE").ok()
    assert lands("-p", "second") == "main"
    c.run("scontrol update PartitionName=third State=DOWN").ok()
    assert lands("-p", "second") == "third"
    c.run("scontrol update PartitionName=second Alternate=none").ok()
    c.run("sbatch -p second --wrap true").fails("second")
    c.run("scontrol update PartitionName=second Alternate=main").ok()
    assert part(c, "second")["Alternate"] == "main" and lands("-p", "second") == "main"
    c.run("scontrol update PartitionName=second Alternate=other").fails("Invalid partition name specified: Alternate=other")
    c.run("scontrol update PartitionName=second Alternate=second").fails("is the partition itself")
    # Two that name each other take no jobs.
    c.run("scontrol update PartitionName=third Alternate=second State=DRAIN").ok()
    c.run("scontrol update PartitionName=second Alternate=third").ok()
    c.run("sbatch -p second --wrap true").fails("Required partition not available")
    for name in ("second", "third"):
        c.run(f"scontrol update PartitionName={name} State=UP").ok()


def test_node_sets_name_nodes(admin):
    """scontrol(1), NodeName=: node sets alone and together with node names."""
    c = admin
    c.run("scontrol update NodeName=left,n4 State=DRAIN Reason=x").ok()
    assert {n for n, s in states(c).items() if "DRAIN" in s} == {"n1", "n2", "n4"}
    c.run("scontrol update NodeName=left,n4 State=RESUME").ok()
    c.run("scontrol update NodeName=fast Weight=9").ok()
    assert [c.node(n)["Weight"] for n in c.names] == ["1", "1", "9", "1"]
    c.run("scontrol update NodeName=right State=RESUME").fails("Invalid node name specified: right")
    c.run("scontrol create PartitionName=fourth Nodes=fast,n4").ok()
    assert part(c, "fourth")["Nodes"] == "n[3-4]"
    c.run("scontrol update PartitionName=fourth Nodes+=left").ok()
    assert part(c, "fourth")["Nodes"] == "n[1-4]"
    c.run("scontrol delete PartitionName=fourth").ok()


def test_permissions_of_users_follow_the_configuration(admin):
    c = admin
    job = c.sbatch("-N2", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run(f"scontrol update JobId={job} NumNodes=1").fails("disable_job_shrink")
    c.run(f"scontrol update JobId={job} NodeList=n1").fails("disable_job_shrink")
    assert c.job(job)["NumNodes"] == "2"
    c.run("strigger --set --down --program=/bin/true").fails("SlurmctldParameters=disable_triggers is set")
    c.run("scontrol create reservation ReservationName=daily StartTime=00:00 Duration=1 Users=root Nodes=n4 Flags=FORCE_START").fails(
        "FORCE_START is for one that repeats")
    c.run("scontrol create reservation ReservationName=daily StartTime=now Duration=1 Users=nobody Nodes=n4 Flags=FORCE_START,DAILY").ok()
    assert set(c.run("scontrol -o show reservation daily").ok().split("Flags=")[1].split()[0].split(",")) >= {"DAILY", "FORCE_START"}
    if ROOT:
        c.run("scontrol delete ReservationName=daily", user="daemon").fails("Access/permission denied")
        c.run("scontrol delete ReservationName=daily", user="nobody").ok()
    else:
        c.run("scontrol delete ReservationName=daily").ok()


def test_tolerated_lack_of_memory_keeps_a_node_up(make_cluster):
    c = make_cluster(nodes=1, conf=CONF.replace("Nodes=n[1-2]", "Nodes=n1"))
    mib = int(c.json("scontrol show nodes --json")["nodes"][0]["real_memory"])
    actual = int(c.run("slurmd -C").ok().split("RealMemory=")[1].split()[0])
    text = c.conf_file.read_text().replace("SlurmdParameters=config_overrides\n", "").replace("CPUs=4", "CPUs=1")

    def configure(memory):
        c.conf_file.write_text(text.replace(f"RealMemory={mib}", f"RealMemory={memory}"))
        c.run("scontrol reconfigure").ok()
        return c.node("n1")
    eventually(lambda: configure(int(actual * 1.02))["State"] == "IDLE", "a node that lacks 2 % of its memory in service")
    c.run("scontrol update NodeName=n1 State=DOWN Reason=test").ok()
    c.run("scontrol update NodeName=n1 State=RESUME").ok()
    node = eventually(lambda: (n := configure(int(actual * 1.1))) and "Reason" in n and n, "a node that lacks 9 %")
    assert "Low RealMemory" in node["Reason"]
    c.conf_file.write_text(text.replace("node_reg_mem_percent=95.5", "node_reg_mem_percent=101"))
    assert "node_reg_mem_percent=101: it is more than 0, and at most 100" in c.run("slurmctld --check").stderr


DAEMON, WORSE = 3, 6  # above the nice value of the test


@pytest.mark.parametrize("propagate, same_root, same_user, worse", [
    (0, DAEMON, DAEMON, DAEMON), (1, 0, DAEMON, WORSE), (2, DAEMON + 1, DAEMON + 1, WORSE)])
def test_priority_of_processes_is_propagated(make_cluster, propagate, same_root, same_user, worse):
    """slurm.conf(5), PropagatePrioProcess: submissions with a better and with a worse nice value than that of slurmd."""
    c = make_cluster(nodes=1, conf=f"PropagatePrioProcess={propagate}\n", start=False)
    own = int(c.run("nice").ok())
    c.start_controller()
    c.start_node("n1", "-n", str(own + DAEMON))
    c.wait_ready()
    same = same_root if ROOT else same_user
    assert int(c.run("srun nice").ok()) == own + same
    assert c.run(["nice", "-n", str(WORSE), "srun", "sh", "-c", "nice; echo $SLURM_PRIO_PROCESS"]).ok().split() == [str(own + worse), str(own + WORSE)]
    if ROOT:
        assert int(c.run("srun nice", user="nobody").ok()) == own + same_user
    job = int(c.run(["nice", "-n", str(WORSE), "sbatch", "--parsable", "--wrap", "nice; srun nice"]).ok())
    c.wait(job)
    # srun in the script has the nice value of the script, which is what it submits its tasks at.
    assert c.output(job).split() == [str(own + worse), str(own + worse)]
