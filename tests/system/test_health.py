# SPDX-License-Identifier: GPL-3.0-or-later
"""HealthCheckProgram: it drains its node with scontrol, and sees nothing of the daemon's environment."""
import os
import pathlib
import signal

from harness import eventually


def cluster_with(make_cluster, script, conf="HealthCheckInterval=1", **more):
    c = make_cluster(conf=conf, start=False, **more)
    path = c.dir / "health"
    path.write_text("#!/bin/sh\nd=$(dirname $0)\n" + script)
    path.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"HealthCheckProgram={path}\n")
    return c


DRAIN = """env >$d/env.$SLURMD_NODENAME
[ ! -e $d/sick.$SLURMD_NODENAME ] || scontrol update NodeName=$SLURMD_NODENAME State=DRAIN Reason="disk is full"
echo >>$d/runs.$SLURMD_NODENAME
"""


def runs(c, node):
    path = c.dir / f"runs.{node}"
    return len(path.read_text()) if path.exists() else 0


def test_health_check_runs_at_start_and_drains_the_node(make_cluster):
    os.environ["SLURM_EVIL"] = os.environ["LD_BIND_NOW"] = "1"
    try:
        c = cluster_with(make_cluster, DRAIN, nodes=2)
        (c.dir / "sick.n1").touch()
        c.start_controller()
        for n in c.names:
            c.start_node(n)
    finally:
        del os.environ["SLURM_EVIL"], os.environ["LD_BIND_NOW"]
    eventually(lambda: c.node("n1")["State"] == "IDLE+DRAIN", "n1 drained")
    assert c.node("n1")["Reason"].startswith("disk is full")
    eventually(lambda: c.node("n2")["State"] == "IDLE", "n2 in service")
    env = dict(line.split("=", 1) for line in (c.dir / "env.n1").read_text().splitlines())
    assert {k for k in env if not k.startswith("SLURM")} <= {"PATH", "PWD", "SHLVL", "_"} and "SLURM_EVIL" not in env
    assert env["PATH"].startswith("/usr/sbin:/usr/bin:/sbin:/bin:") and env["SLURMD_NODENAME"] == "n1"
    (c.dir / "sick.n2").touch()  # and while it is up
    eventually(lambda: c.node("n2")["State"] == "IDLE+DRAIN", "n2 drained")


def test_health_check_precedes_the_registration(make_cluster):
    """A node that the program drains gets no job before that; a takeover of the controller, which contacts the node meanwhile, changes nothing."""
    c = cluster_with(make_cluster, "while [ ! -e $d/go ]; do sleep 0.01; done\n",
                     conf="SlurmctldHost=backup(127.0.0.2)\nSlurmctldTimeout=2", nodes=1)
    c.start_node("n1")
    eventually(lambda: "version" in c.tail("n1"), "the daemon is up")
    c.start_controller(wait=False)
    eventually(lambda: c.running("n1") and "this node has not registered with any yet" in c.tail("n1"), "it is called")
    assert c.run("scontrol show node n1").ok().find("SlurmdStartTime=None") > 0
    c.daemons["n1"].send_signal(signal.SIGHUP)  # a configuration read meanwhile does not matter
    (c.dir / "go").touch()
    c.wait_ready()


def test_health_check_runs_in_configured_node_states(make_cluster):
    c = cluster_with(make_cluster, DRAIN, conf="HealthCheckInterval=1\nHealthCheckNodeState=ALLOC,CYCLE", nodes=2)
    c.start()
    before = runs(c, "n1"), runs(c, "n2")
    assert before == (1, 1)  # at start, in whatever state
    job = c.sbatch("-w", "n1", "-n4", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: runs(c, "n1") >= 3, "it runs on the full node")
    assert runs(c, "n2") == 1
    c.run(f"scancel {job}")
    c.wait(job)


def test_health_check_without_interval_runs_once(make_cluster):
    c = cluster_with(make_cluster, DRAIN, conf="", nodes=1)
    c.start()
    assert runs(c, "n1") == 1
    with c.conf_file.open("a") as f:
        f.write("HealthCheckInterval=1\n")
    c.run("scontrol reconfigure").ok()
    eventually(lambda: runs(c, "n1") >= 2, "it runs again")


def test_failure_is_logged_and_changes_nothing(make_cluster):
    c = cluster_with(make_cluster, "exit 3\n", conf="", nodes=1)
    c.start()
    assert "HealthCheckProgram " in c.tail("n1") and "exited with status 3" in c.tail("n1")
    assert c.node("n1")["State"] == "IDLE"
    assert pathlib.Path(f"/proc/{c.daemons['n1'].pid}").exists()
