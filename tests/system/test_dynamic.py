# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that are in no file: scontrol create and delete node, slurmd -Z (X-30)."""
import re
import shutil
import signal
import subprocess

from harness import PREFIX, eventually, free_ports

PARTS = ["NodeSet=ns1 Feature=f1", "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP",
         "PartitionName=dyn Nodes=ns1", "PartitionName=old Nodes=n1"]
SHAPE = "CPUs=4 RealMemory=4000"


def made(make_cluster, room=8, conf="", **more):
    port = free_ports(1)[0]
    return make_cluster(nodes=1, partitions=PARTS, conf=f"MaxNodeCount={room}\nSlurmdPort={port}\n{conf}", **more)


def start(c, node, *options):
    c.spawn(node, [PREFIX / "sbin/slurmd", "-D", "-N", node, "-Z", "--conf", " ".join([SHAPE, *options])])


def idle(c, node):
    def look():
        out = c.run(f"sinfo -h -n {node} -o %t").stdout.split()
        return bool(out) and set(out) == {"idle"}
    return look


def names(c, part="main"):
    return c.run(f"sinfo -h -p {part} -o %N").ok()


def restart(c):
    c.kill("slurmctld", signal.SIGKILL)
    c.start_controller()


def test_invalid_dynamic_nodes_are_refused(make_cluster):
    c = made(make_cluster, room=3)
    for line, text in (
            ("NodeName=d1 CPUs=4", "State=CLOUD or State=FUTURE"),
            ("NodeName=d1 CPUs=4 State=IDLE", "State=IDLE"),
            ("NodeName=n1 CPUs=4 State=CLOUD", "Node name already exists"),
            ("NodeName=d[1-3] CPUs=4 State=CLOUD", "MaxNodeCount=3"),
            ("NodeName=d[1-2 CPUs=4 State=CLOUD", "d[1-2"),
            ("NodeName=d1 CPUs=x State=CLOUD", "CPUs=x"),
            ("NodeName=d1 Sockets=2 CPUs=3 State=CLOUD", "CPUs"),
            ("NodeName=d1,d1 CPUs=4 State=CLOUD", "already exists"),
            ("NodeName=ALL CPUs=4 State=CLOUD", "reserved"),
            ("NodeName=a/b CPUs=4 State=CLOUD", "a/b"),
            ("NodeName=d[1-2] NodeAddr=a[1-3] State=CLOUD", "3 entries for 2 nodes"),
            ("CPUs=4", "No valid entity"),
    ):
        c.run(f"scontrol create {line}").fails(text)
    c.run(["scontrol", "create", "NodeName=d1", "State=CLOUD", "Reason=a\nNodeName=evil"]).fails("control characters")
    c.run(["scontrol", "create", "NodeName=d1", "State=CLOUD", "Feature=a # b"]).fails("#")
    c.run("scontrol create NodeName=d1 State=CLOUD", user="nobody").fails("ermission")
    c.run("scontrol delete NodeName=n1", user="nobody").fails("ermission")
    c.run("scontrol delete NodeName=n1").fails("n1 is defined in slurm.conf")
    c.run("scontrol delete NodeName=d9").fails("Invalid node name")
    c.run("scontrol delete").fails()
    assert names(c) == "n1"
    restart(c)
    assert names(c) == "n1"


def test_dynamic_nodes_need_max_node_count(make_cluster):
    c = make_cluster(nodes=1)
    c.run("scontrol create NodeName=d1 State=CLOUD").fails("MaxNodeCount")


def test_life_of_created_nodes(make_cluster):
    """Partitions take them in; they survive the controller; a daemon makes one usable; those without jobs go."""
    c = made(make_cluster, conf="SlurmdTimeout=5")
    running = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(running) == "RUNNING", "a job runs")
    c.run("scontrol create NodeName=d[1-3] CPUs=4 RealMemory=4000 Feature=f1,f2 State=CLOUD NodeAddr=127.0.0.[1-3]").ok()
    assert (names(c), names(c, "dyn"), names(c, "old")) == ("d[1-3],n1", "d[1-3]", "n1") or names(c) == "n1,d[1-3]"
    assert c.node("d2")["NodeAddr"] == "127.0.0.2" and c.node("d2")["State"] == "UNKNOWN+CLOUD+NOT_RESPONDING"
    assert c.state(running) == "RUNNING"
    c.run("scontrol update NodeName=d2 State=DRAIN Reason=later").ok()
    waiting = c.sbatch("-p", "dyn", "-C", "f2", "-w", "d1", "-o", "where", wrap="echo $SLURMD_NODENAME")
    restart(c)
    assert "d[1-3]" in names(c) and "DRAIN" in c.node("d2")["State"] and c.node("d2")["Reason"].startswith("later")
    c.run("scontrol reconfigure").ok()
    assert "d[1-3]" in names(c) and c.state(running) == "RUNNING" and c.state(waiting) == "PENDING"
    start(c, "d1", "Feature=f1,f2")
    assert c.wait(waiting)["JobState"] == "COMPLETED" and (c.work / "where").read_text() == "d1\n"
    assert c.run("srun -w d1,n1 -N2 -l hostname").ok()
    job = c.sbatch("-w", "d1", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a job on d1")
    c.run("scontrol delete NodeName=d[1-2]").fails("Requested nodes are busy", "d1")
    assert "d[1-3]" in names(c)
    c.run(f"scancel {job}").ok()
    c.wait(job)
    c.run("scontrol create reservation ReservationName=held Nodes=d2 StartTime=now+60 Duration=10 Users=root").ok()
    c.run("scontrol delete NodeName=d[1-2]").fails("Requested nodes are busy: d2 is in reservation held")
    c.run("scontrol delete ReservationName=held").ok()
    c.run("scontrol update PartitionName=old Nodes=n1,d3").ok()
    c.run("scontrol delete NodeName=d3").fails("partition old names node d3")
    c.run("scontrol update PartitionName=old Nodes=n1").ok()
    c.run("scontrol delete NodeName=d[1-3]").ok()
    assert names(c) == "n1" and names(c, "dyn") == ""
    restart(c)
    assert (c.job(waiting)["NodeList"], c.job(waiting)["BatchHost"], c.job(waiting)["NumNodes"]) == ("d1", "d1", "1")
    assert names(c) == "n1" and c.state(running) == "RUNNING"
    c.run("scontrol create NodeName=d2 CPUs=4 State=FUTURE").ok()
    assert c.node("d2")["State"] == "FUTURE" and "Reason" not in c.node("d2"), "nothing of its former life"


def test_node_registers_itself(make_cluster):
    """By its address; the node survives a restart of the controller; a deleted node stays deleted until its daemon is restarted."""
    c = made(make_cluster)
    start(c, "z1", "Feature=f1")
    eventually(idle(c, "z1"), "z1 is there")
    node = c.node("z1")
    assert node["State"] == "IDLE+DYNAMIC_NORM" and node["NodeAddr"] == "127.0.0.1" and names(c, "dyn") == "z1"
    assert c.run(["srun", "-p", "dyn", "sh", "-c", "echo $SLURMD_NODENAME"]).ok() == "z1"
    c.run("srun -N2 true").ok()
    job = c.sbatch("-w", "z1", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a job")
    restart(c)
    eventually(lambda: c.node("z1")["State"] == "MIXED+DYNAMIC_NORM", "z1 is back with its job")
    c.run("scontrol reconfigure").ok()
    c.kill("z1")
    start(c, "z1", "Feature=f1")
    eventually(lambda: c.node("z1")["State"] == "MIXED+DYNAMIC_NORM" and c.state(job) == "RUNNING", "and a new daemon")
    c.run(f"scancel {job}").ok()
    c.wait(job)
    c.run("scontrol delete NodeName=z1").ok()
    eventually(lambda: "no node of this name" in c.tail("z1"), "it is told")
    assert names(c) == "n1"
    c.kill("z1", signal.SIGTERM)
    start(c, "z1")
    eventually(idle(c, "z1"), "z1 again")


def test_registering_nodes_are_checked(make_cluster):
    c = made(make_cluster, room=1)
    start(c, "z1")
    eventually(lambda: "refused" in c.tail("slurmctld") and "z1" in c.tail("slurmctld"), "no room")
    with c.conf_file.open("a") as f:
        f.write("MaxNodeCount=2\n")
    c.run("scontrol reconfigure").ok()
    eventually(idle(c, "z1"), "now there is room")
    bad = c.run([PREFIX / "sbin/slurmd", "-D", "-N", "z2", "-Z", "--conf", "NodeName=x"])
    bad.fails("--conf")
    c.run([PREFIX / "sbin/slurmd", "-D", "-N", "z2", "-Z", "--conf", "CPUs=x"]).fails("CPUs=x")
    c.run([PREFIX / "sbin/slurmd", "-D", "-N", "z2", "--conf", "CPUs=2"]).fails("--conf is for -Z")


def test_dynamic_node_becomes_a_node_of_the_file(make_cluster):
    """The file defines the node from then on, and its job is not disturbed."""
    c = made(make_cluster)
    start(c, "z1")
    eventually(idle(c, "z1"), "z1 is there")
    job = c.sbatch("-w", "z1", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a job")
    with c.conf_file.open("a") as f:
        f.write("NodeName=z1 NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000\n")
    assert "node z1: now as in slurm.conf" in c.run("scontrol reconfigure --dry-run").ok()
    assert "node z1: now as in slurm.conf" in c.run("scontrol reconfigure").ok()
    assert c.state(job) == "RUNNING" and c.node("z1")["State"] == "MIXED"
    c.run("scontrol delete NodeName=z1").fails("defined in slurm.conf")
    restart(c)
    eventually(lambda: c.node("z1")["State"] == "MIXED" and c.state(job) == "RUNNING", "after a restart, too")


def test_node_starts_without_any_file(make_cluster):
    """-Z on a configless host; the documented statements also hold without dynamic nodes."""
    c = made(make_cluster, conf="SlurmctldParameters=enable_configless")
    host = c.dir / "host"
    host.mkdir()
    shutil.copy(c.dir / "slurm.key", host / "slurm.key")
    c.spawn("z1", ["env", f"SLURM_CONF={host}/slurm.conf", PREFIX / "sbin/slurmd", "-D", "-N", "z1", "-Z", "--conf", SHAPE,
                   "--conf-server", f"127.0.0.1:{c.port}"])
    eventually(idle(c, "z1"), "z1 is there")
    assert c.run("srun -w z1 squeue -h -o %N").ok() == "z1"
    with c.conf_file.open("a") as f:
        f.write("KillWait=7\n")
    c.run("scontrol reconfigure").ok()
    eventually(lambda: "KillWait=7\n" in (c.dir / "spool/z1/conf-cache/slurm.conf").read_text(), "it follows")
    eventually(idle(c, "z1"), "it is free again")
    out = c.dir / "out.conf"
    assert str(out) in c.run("scontrol write config", env={"SLURM_CONF_OUT": str(out)}).ok()
    assert "NodeName=z1 " in out.read_text()


def test_many_nodes_are_created_at_a_time(make_cluster):
    c = made(make_cluster, room=300)
    calls = [c.popen(f"scontrol create NodeName=m{i} CPUs=2 State=CLOUD") for i in range(12)]
    for call in calls:
        assert call.wait(60) == 0, call.stderr.read()
    c.run("scontrol create NodeName=k[1-250] CPUs=2 State=CLOUD").ok()
    assert re.search(r"m\[0-11\]", names(c)) and "k[1-250]" in names(c)
    restart(c)
    assert c.run("sinfo -h -o %D -p main").ok().split() and "k[1-250]" in names(c)
    c.run("scontrol delete NodeName=k[1-250]").ok()
    assert "k" not in names(c)


def test_nodes_name_their_units_of_topologies(make_cluster):
    """X-30, X-31: created nodes and one that registers itself, with a switch that topology.yaml does not have."""
    c = made(make_cluster, start=False)
    (c.dir / "topology.yaml").write_text("- topology: net\n  tree:\n    switches:\n    - switch: s1\n      nodes: n1\n")
    c.start()
    for topology, said in (("nosuch:s1", "unknown topology 'nosuch'"), ("net", "expected TOPOLOGY:UNIT"), ("net:s1:s2", "'s1' is not a switch above others of topology net"),
                           ("net:s1,net:top:s2", "a node has one place in topology 'net'")):
        c.run(["scontrol", "create", "NodeName=k9", "CPUs=2", "State=CLOUD", f'Topology="{topology}"']).fails(f"Topology={topology}: {said}")
    assert "k9" not in names(c)
    c.run("scontrol create NodeName=k[1-2] CPUs=2 State=CLOUD Topology=net:top:s2").ok()
    start(c, "z1", "Topology=net:s1")
    eventually(idle(c, "z1"), "z1 is there")
    expected = ["SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n1,z1", "SwitchName=top Level=1 LinkSpeed=1 Nodes=k[1-2] Switches=s2",
                "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=k[1-2]"]
    assert c.run("scontrol show topology").ok().split("\n") == expected
    assert c.run("srun -N2 hostname").returncode == 0
    restart(c)
    assert c.run("scontrol show topology").ok().split("\n") == expected
    c.run("scontrol delete NodeName=k[1-2]").ok()
    assert c.run("scontrol show topology").ok() == expected[0]
