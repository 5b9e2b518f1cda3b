# SPDX-License-Identifier: GPL-3.0-or-later
"""scontrol shutdown: immediate, of only the controller, and announced: CORE-158."""
import json
import re
import signal

import pytest

from harness import ROOT, eventually


def ended(c, *names):
    """These daemons have stopped by themselves, with status 0."""
    for name in names:
        assert c.daemons.pop(name).wait(60) == 0, c.tail(name)


@pytest.mark.parametrize("word", ["slurmctld", "controller"])
def test_shutdown_of_the_controller_only(make_cluster, word):
    """Node daemons and jobs continue; ends of jobs are reported afterwards."""
    c = make_cluster(nodes=2)
    job = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {c.work}/go ]; do sleep 0.1; done; exit 3")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    assert c.run(f"scontrol shutdown {word}").ok() == ""
    ended(c, "slurmctld")
    (c.work / "go").touch()
    assert all(c.daemons[name].poll() is None for name in ("n1", "n2"))
    c.start_controller()
    assert c.wait(job)["ExitCode"] == "3:0"


def test_abort_ends_the_controller_only(make_cluster):
    """Only the controller, by SIGABRT; jobs and node daemons continue. The core file is not tested: its hard limit is 0 here."""
    c = make_cluster(nodes=1)
    job = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {c.work}/go ]; do sleep 0.1; done; exit 3")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    c.run("prlimit --core=0 --pid " + str(c.daemons["slurmctld"].pid)).ok()
    if ROOT:
        c.run("scontrol abort", user="nobody").fails()
        assert c.daemons["slurmctld"].poll() is None
    assert c.run("scontrol abort").ok() == ""
    assert c.daemons.pop("slurmctld").wait(60) == -signal.SIGABRT and c.daemons["n1"].poll() is None
    (c.work / "go").touch()
    c.start_controller()
    assert c.wait(job)["ExitCode"] == "3:0"


def test_shutdown_ends_all_daemons(make_cluster):
    """Steps run on without them."""
    c = make_cluster(nodes=2)
    job = c.sbatch("-N2", "-o", "/dev/null", wrap=f"while [ ! -e {c.work}/go ]; do sleep 0.1; done; exit 3")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    assert c.run("scontrol shutdown").ok() == ""
    ended(c, "slurmctld", "n1", "n2")
    c.start()
    assert c.state(job) == "RUNNING"
    (c.work / "go").touch()
    assert c.wait(job)["ExitCode"] == "3:0"


def test_all_daemons_shortly_after_a_restart(make_cluster):
    """Nodes that the new controller has no session with yet are waited for: they missed the order, and ran on."""
    c = make_cluster(nodes=2)
    for node in ("n1", "n2"):
        c.daemons[node].send_signal(signal.SIGSTOP)
    c.kill("slurmctld")
    c.start_controller()
    assert c.run("scontrol shutdown").ok() == ""
    for node in ("n1", "n2"):
        c.daemons[node].send_signal(signal.SIGCONT)
    ended(c, "slurmctld", "n1", "n2")


def test_announced_shutdown_warns_and_ends_jobs(make_cluster):
    """CORE-158: jobs are warned, signalled, and killed after KillWait; then all daemons stop. Jobs that may be requeued are."""
    c = make_cluster(nodes=2, conf="KillWait=2")
    told = c.sbatch("-o", "told.out", "--no-requeue", "--signal=B:USR1@60",
                    script="#!/bin/sh\ntrap 'echo usr1' USR1\ntrap 'echo term; exit 0' TERM\nwhile :; do sleep 0.1; done\n")
    deaf = c.sbatch("-o", "deaf.out", "--requeue", "--open-mode=append",
                    script=f"#!/bin/sh\necho start\n[ -e {c.work}/go ] && exit 0\ntrap '' TERM\nwhile :; do sleep 0.1; done\n")
    for job, file, word in ((told, "told.out", ""), (deaf, "deaf.out", "start")):
        eventually(lambda: c.state(job) == "RUNNING", "running")
        eventually(lambda: (c.work / file).exists() and word in (c.work / file).read_text(), file)
    c.run("scontrol shutdown announce 0:01").ok()
    late = c.sbatch("-o", "/dev/null", wrap="true")
    assert c.state(late) == "PENDING"
    ended(c, "slurmctld", "n1", "n2")
    text = (c.work / "told.out").read_text()
    assert "term" in text and text.index("usr1") < text.index("term")
    assert re.search(rf"\*\*\* JOB {told} ON n\d CANCELLED AT \S+ DUE TO SYSTEM SHUTDOWN \*\*\*", text), text
    (c.work / "go").touch()
    c.start()
    for job in (deaf, late):
        assert c.wait(job)["JobState"] == "COMPLETED"
    assert c.job(deaf)["Restarts"] == "1" and c.job(told)["JobState"] == "CANCELLED"
    assert (c.work / "deaf.out").read_text().splitlines()[-1] == "start"


def test_announced_shutdown_survives_a_killed_controller(make_cluster):
    """The announcement survives the controller, is part of an exported state, happens once, and can be withdrawn for good."""
    c = make_cluster(nodes=1, conf="KillWait=2")
    job = c.sbatch("-o", "/dev/null", "--requeue", wrap=f"while [ ! -e {c.work}/go ]; do sleep 0.1; done")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    c.run("scontrol shutdown announce 60").ok()
    c.kill("slurmctld", signal.SIGKILL)
    c.start_controller()
    late = c.sbatch("-o", "/dev/null", wrap="true")
    eventually(lambda: "shutdown" in c.tail("slurmctld"), "what is announced")
    c.wait_ready()
    assert c.state(late) == "PENDING" and c.state(job) == "RUNNING"
    c.kill("slurmctld", signal.SIGTERM)
    c.run(f"sluice state export {c.dir}/lines").ok()
    kinds = [json.loads(line).get("kind") for line in (c.dir / "lines").read_text().splitlines()]
    assert kinds.count("shutdown") == 1
    c.start_controller()
    c.run("scontrol shutdown cancel").ok()
    c.kill("slurmctld", signal.SIGKILL)
    c.start_controller()
    assert c.wait(late)["JobState"] == "COMPLETED" and c.state(job) == "RUNNING"
    c.run("scontrol shutdown announce 0:01").ok()
    c.kill("slurmctld", signal.SIGKILL)
    c.start_controller()
    ended(c, "slurmctld", "n1")
    (c.work / "go").touch()
    c.start()
    assert c.wait(job)["Restarts"] == "1"


def test_announced_shutdown_can_be_cancelled(make_cluster):
    c = make_cluster(nodes=1)
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    assert "no shutdown is announced" in c.run("scontrol shutdown cancel").fails()
    c.run("scontrol shutdown announce 60").ok()
    late = c.sbatch("-o", "/dev/null", wrap="true")
    assert c.state(late) == "PENDING"
    c.run("srun -I true").fails()
    c.run("scontrol shutdown cancel").ok()
    assert c.wait(late)["JobState"] == "COMPLETED" and c.state(job) == "RUNNING"
    for words, text in (("foo", "invalid shutdown argument:foo"), ("announce soon", "invalid shutdown argument:soon"),
                        ("announce -1", "invalid shutdown argument:-1"),
                        ("announce UNLIMITED", "invalid shutdown argument:UNLIMITED"),
                        ("slurmctld 5", "too many arguments for keyword:shutdown"),
                        ("announce 5 6", "too many arguments for keyword:shutdown")):
        assert c.run(["scontrol", "--", "shutdown", *words.split()]).fails() == text + "\n"
    assert "a year" in c.run("scontrol shutdown announce 999-0").fails()
    if ROOT:
        for words in ("", "slurmctld", "announce 1", "cancel"):
            assert "slurm_shutdown error: Access" in c.run(f"scontrol shutdown {words}", user="nobody").fails()
    assert c.state(job) == "RUNNING"
