# SPDX-License-Identifier: GPL-3.0-or-later
"""Shepherds that do not answer: the node daemon ends their steps all the same. CORE-152, RELIABILITY B5."""
import os
import signal

import pytest

import cgroups
from harness import alive, eventually

SOON = "MessageTimeout=3"


def numbers(c, *names):
    """Of processes, which the job has left in files."""
    return [int(eventually(lambda: (c.work / name).exists() and (c.work / name).read_text().strip(), name)) for name in names]


def begins(c, *options, extra=""):
    """A job that writes, has a process in its own session without its environment, and continues. Its step daemon is stopped."""
    script = (f"{extra} echo written; env -i setsid sleep 300001 & echo $! >{c.work}/away; "
              f"sleep 300002 & echo $! >{c.work}/child; echo $PPID >{c.work}/shepherd; wait")
    job = c.sbatch("-o", "out", *options, wrap=script)
    pid, *inside = numbers(c, "shepherd", "away", "child")
    os.kill(pid, signal.SIGSTOP)
    return job, pid, inside


def is_over(c, job, state, pid, inside):
    eventually(lambda: not any(alive(p) for p in (pid, *inside)), lambda: [p for p in (pid, *inside) if alive(p)], 100)
    fields = c.wait(job)
    assert fields["JobState"] == state, fields
    assert "written\n" in (c.work / "out").read_text()
    assert c.node("n1")["State"] == "IDLE", c.node("n1")


@pytest.mark.parametrize("restarted", [False, True])
def test_job_with_a_hanging_step_daemon_is_cancelled(make_cluster, restarted):
    """CORE-152."""
    c = make_cluster(nodes=1, conf=SOON)
    job, pid, inside = begins(c)
    if restarted:  # it is known by its socket alone
        c.kill("n1")
        c.start_node("n1")
        c.wait_ready()
    c.run(f"scancel {job}").ok()
    is_over(c, job, "CANCELLED", pid, inside)
    log = (c.dir / "slurmd-n1.log").read_text()
    assert f"step {job}.batch: its slurmstepd, process {pid}, was to end it and has not answered" in log


@pytest.mark.parametrize("version", [1, 2])
def test_hanging_step_daemon_in_control_groups_is_killed(version):
    if why := cgroups.lacks(version, *(("freezer",) if version == 1 else ())):
        pytest.skip(why)
    with cgroups.cluster(version, conf=f"ProctrackType=proctrack/cgroup\n{SOON}") as c:
        job, pid, inside = begins(c)
        c.run(f"scancel {job}").ok()
        is_over(c, job, "CANCELLED", pid, inside)


@pytest.mark.trials(20)
def test_unkillable_step_daemon_drains_its_node(make_cluster):
    """B5: it is not stopped, so it may only be busy; then SIGKILL has no effect: the node gets no more work."""
    if why := cgroups.lacks(1, "freezer"):
        pytest.skip(why)
    c = make_cluster(nodes=1, conf=f"{SOON}\nUnkillableStepTimeout=1")
    job, pid, inside = begins(c)
    os.kill(pid, signal.SIGCONT)
    ice = cgroups.TOP / "freezer" / f"{c.dir.name}-ice"
    ice.mkdir()
    try:
        (ice / "cgroup.procs").write_text(str(pid))
        (ice / "freezer.state").write_text("FROZEN")
        c.run(f"scancel {job}").ok()
        eventually(lambda: not any(alive(p) for p in inside), "its processes have ended")
        assert c.wait(job)["JobState"] == "CANCELLED"
        eventually(lambda: c.node("n1")["State"] == "IDLE+DRAIN", "drained")
        assert c.node("n1")["Reason"].startswith(f"Kill task failed: step {job}.batch: pid {pid} (slurmstepd) state D")
    finally:
        (ice / "freezer.state").write_text("THAWED")
        eventually(lambda: not alive(pid), "thawed")
        eventually(lambda: not (ice / "cgroup.procs").read_text(), "empty")
        ice.rmdir()


def test_job_with_a_hanging_step_daemon_is_requeued(make_cluster):
    c = make_cluster(nodes=1, conf=SOON)
    job, pid, inside = begins(c, "--open-mode=append", extra='[ "$SLURM_RESTART_COUNT" ] && exit 0;')
    c.run(f"scontrol requeue {job}").ok()
    is_over(c, job, "COMPLETED", pid, inside)


@pytest.mark.trials(20)
def test_hanging_step_daemon_ends_at_the_time_limit(make_cluster):
    """RELIABILITY H6: the step daemon of the job hangs, too."""
    c = make_cluster(nodes=1, conf=SOON)
    job, pid, inside = begins(c)
    c.run(f"scontrol update JobId={job} TimeLimit=0:01").ok()
    is_over(c, job, "TIMEOUT", pid, inside)


def test_hanging_step_daemon_ends_its_step_only(make_cluster):
    c = make_cluster(nodes=1, conf=SOON)
    job = c.sbatch("-o", "out", wrap=f"echo written; srun sh -c 'echo $PPID >{c.work}/shepherd; echo $$ >{c.work}/task; exec sleep 300003'; "
                                     f"echo status $?; srun echo the next one")
    pid, task = numbers(c, "shepherd", "task")
    os.kill(pid, signal.SIGSTOP)
    c.run(f"scancel {job}.0").ok()
    eventually(lambda: not alive(pid) and not alive(task), "ended")
    assert c.wait(job)["JobState"] == "COMPLETED"
    text = (c.work / "out").read_text()
    assert "written\n" in text and "the next one\n" in text and "status 0" not in text


def test_hanging_step_daemon_at_the_end_of_a_job_is_killed(make_cluster):
    """Its script has ended; one of its steps hangs."""
    c = make_cluster(nodes=1, conf=SOON)
    job = c.sbatch("-o", "out", wrap=f"srun sh -c 'echo $PPID >{c.work}/shepherd; echo $$ >{c.work}/task; exec sleep 300004' & "
                                     f"until [ -e {c.work}/go ]; do sleep 0.02; done; echo written")
    pid, task = numbers(c, "shepherd", "task")
    os.kill(pid, signal.SIGSTOP)
    (c.work / "go").touch()
    is_over(c, job, "COMPLETED", pid, [task])


def test_responding_step_daemon_is_not_killed(make_cluster):
    """What is asked again and again until its tasks have ended: KillWait is longer than the patience."""
    c = make_cluster(nodes=1, conf="MessageTimeout=3\nKillWait=5")
    job = c.sbatch("-o", "out", wrap="trap 'echo told; sleep 4; echo done; exit' TERM; touch up; while :; do sleep 0.02; done")
    eventually(lambda: (c.work / "up").exists(), "it runs")
    c.run(f"scancel -b -s TERM {job}").ok()
    c.run(f"scancel {job}").ok()
    assert c.wait(job)["JobState"] == "CANCELLED"
    assert "told\n" in (c.work / "out").read_text()
    assert "has not answered" not in (c.dir / "slurmd-n1.log").read_text()
