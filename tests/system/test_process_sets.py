# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report of 2002 promises of sets of processes and is not in the other files: CORE-028, 032, 034, 035, 143, 145, GANG-60."""
import os
import pathlib
import re

import pytest

from harness import ROOT, eventually


def test_started_watched_and_cleaned_up(cluster):
    """CORE-028: on request of the controller, of srun and of scancel."""
    mark = cluster.work / "pid"
    script = f"sleep 1000 & echo $! >{mark}; wait"
    for run in (lambda: cluster.sbatch("-o", "/dev/null", wrap=script), lambda: cluster.popen(["srun", "-n1", "sh", "-c", script])):
        mark.unlink(missing_ok=True)
        run()
        eventually(lambda: mark.exists() and mark.read_text().strip(), "it runs")
        child = pathlib.Path("/proc", mark.read_text().strip())
        assert child.exists() and "RUNNING" in cluster.run("squeue -h -o %T").ok()
        cluster.run(["scancel", *cluster.run("squeue -h -o %i").ok().split()]).ok()
        eventually(lambda: not child.exists() and not cluster.run("squeue -h").ok(), "nothing is left")


def test_environment_is_that_of_the_submitter(cluster):
    """CORE-032: the environment of the submitter, and in addition only Sluice's variables of the job."""
    mine = {"A": "one two", "B": "", "C": "x=y", "D": "two\nlines", "SLURM_OF_THE_USER": "kept", "SHELL": "/bin/dash"}
    ours = re.compile(r"(SLURM|SLUICE|PMI)_?\w*|SRUN_DEBUG|HOSTNAME|TMPDIR|PWD|OLDPWD|SHLVL|_|ENVIRONMENT|USER|LOGNAME")
    has = dict(item.split("=", 1) for item in cluster.run(["srun", "-n1", "env", "-0"], env=mine).stdout.split("\0") if item)
    want = dict(item.split("=", 1) for item in cluster.run(["env", "-0"], env=mine).stdout.split("\0") if item)
    assert {k: v for k, v in has.items() if not ours.fullmatch(k)} == {k: v for k, v in want.items() if not ours.fullmatch(k)}
    assert has["SLURM_OF_THE_USER"] == "kept" and has["SLURM_JOB_ID"].isdigit()
    job = cluster.sbatch("-o", "env.txt", script="#!/bin/sh\nenv -0\n", env=mine)
    cluster.wait(job)
    has = dict(item.split("=", 1) for item in (cluster.work / "env.txt").read_text().split("\0") if item)
    assert all(has[name] == value for name, value in mine.items())


@pytest.mark.allocator  # sanitizers keep their programs from writing cores, and so those they start
@pytest.mark.skipif(pathlib.Path("/proc/sys/kernel/core_pattern").read_text()[0] in "|/", reason="cores of this machine go elsewhere")
def test_core_file_belongs_to_the_user(cluster):
    """CORE-035: of a crash, where the task runs, as large as the submitter's limit allows, and its owner's."""
    there = cluster.work / "crash"
    there.mkdir()
    crash = f"srun -D {there} sh -c 'kill -SEGV $$'"
    assert cluster.run(["sh", "-c", f"ulimit -c 0; {crash}"]).fails("task 0: Segmentation fault") is not None
    assert not list(there.iterdir())
    cluster.run(["sh", "-c", f"ulimit -c unlimited; {crash}"]).fails("task 0: Segmentation fault (core dumped)")
    core, = there.iterdir()
    assert core.name.startswith("core") and core.stat().st_uid == os.geteuid() and core.stat().st_mode & 0o077 == 0
    core.unlink()  # none is to be left at the end


def test_a_step_shows_its_network(cluster):
    """CORE-034: plain IP needs no resources of an interconnect, and the record says so."""
    assert " Network=(null)" in cluster.run("srun -n1 scontrol show step").ok()


@pytest.mark.parametrize("options", (["--no-kill"], []))
def test_no_kill_job_continues_when_a_node_fails(make_cluster, options):
    """CORE-145: if it asks to; else it ends, and is queued again."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=3")
    job = c.sbatch("-N2", "-w", "n[1-2]", "-o", "out.txt", *options, wrap="echo up; sleep 1000")
    eventually(lambda: (c.work / "out.txt").exists() and "up" in (c.work / "out.txt").read_text(), "it runs")
    c.kill("n2")
    eventually(lambda: c.node("n2")["State"].startswith("DOWN"), "the node is given up")
    if options:
        assert c.state(job) == "RUNNING"
        assert c.run(["srun", f"--jobid={job}", "--overlap", "-N1", "-n1", "printenv", "SLURMD_NODENAME"]).ok() == "n1"
    else:
        eventually(lambda: c.state(job) != "RUNNING", "it has ended")
    c.run(f"scancel {job}").ok()
    c.start_node("n2")
    c.wait_ready()
    eventually(lambda: not c.run("squeue -h").ok(), "the job is over on both")


@pytest.mark.skipif(not ROOT, reason="a name service of its own needs a namespace")
def test_a_launch_needs_no_name_service(make_cluster):
    """CORE-143: srun gets the addresses; this host cannot resolve the names of the nodes."""
    c = make_cluster(nodes=2)
    assert c.run(["getent", "hosts", "n1"]).returncode != 0
    assert sorted(c.run(["srun", "-N2", "printenv", "SLURMD_NODENAME"]).ok().split()) == ["n1", "n2"]


def test_a_stopped_job_keeps_its_cpus(make_cluster):
    """GANG-60: scancel -s STOP stops processes and frees nothing; CONT continues them."""
    c = make_cluster(nodes=1)
    cpus = c.node("n1")["CPUTot"]
    pid = c.work / "pid"
    job = c.sbatch("-n", cpus, "-o", "/dev/null", wrap=f"echo $$ >{pid}; exec sleep 1000")
    eventually(lambda: pid.exists() and _state_of(pid) == "S", "it runs")
    c.run(f"scancel -f -s STOP {job}").ok()
    eventually(lambda: _state_of(pid) == "T", "it stands")
    after = c.sbatch("-n1", "-o", "/dev/null", wrap="true")
    assert (c.state(job), c.state(after)) == ("STOPPED", "PENDING")
    c.run(f"scancel -f -s CONT {job}").ok()
    eventually(lambda: _state_of(pid) == "S", "it goes on")
    assert (c.state(job), c.state(after)) == ("RUNNING", "PENDING")
    c.run(f"scancel {job}").ok()
    assert c.wait(after)["JobState"] == "COMPLETED"


def _state_of(file):
    """Of the process whose number is in the file, as /proc has it; empty while it is not written."""
    number = file.read_text().strip()
    return pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] if number else ""


def test_login_mark_is_not_passed_to_tasks(cluster):
    """The mark lets a node find the processes of a login when nothing else does: a job that is started in a login does not inherit it."""
    login = {"SLUICE_STEP": "extern"}
    assert cluster.run(["srun", "-n1", "printenv", "SLUICE_STEP"], env=login).returncode == 1
    job = cluster.sbatch("-o", "login.txt", wrap="printenv SLUICE_STEP || echo none", env=login)
    cluster.wait(job)
    assert (cluster.work / "login.txt").read_text() == "none\n"
