# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of single processes and of the resources that they need: RELIABILITY B2, B3, D5."""
import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest

from harness import DEADLINE, ROOT, SANITIZED, alive, eventually, processes_of

STUBBORN = "trap '' TERM INT; setsid sh -c 'trap \"\" TERM; echo deep >>{work}/up; sleep 1000' & echo up >>{work}/up; sleep 1000"


def shepherds(c):
    """Process numbers, by job and step as the title says them."""
    return {args.partition("[")[2].partition("]")[0]: pid for pid, args in processes_of(c.dir).items() if args.startswith("slurmstepd: [")}


SOON = 20 if SANITIZED else 5  # seconds until a killed process is known and cleaned up after
MOMENT = 0.2  # seconds: up to so much later than it could


def nothing_left(c):
    return not [args for args in processes_of(c.dir).values() if "sleep 1000" in args]


def spread(c, count):
    """Waits until this number of processes have reported that they run."""
    eventually(lambda: (c.work / "up").exists() and len((c.work / "up").read_text().split()) == count, f"{count} processes")


@pytest.mark.trials(50)
@pytest.mark.parametrize("also_the_daemon", [False, True])
def test_killed_step_daemon_ends_its_job(make_cluster, pick, also_the_daemon):
    """RELIABILITY B2: the job ends with a message and leaves nothing behind, not even a process that had left its session."""
    c = make_cluster(nodes=1)
    job = c.sbatch("-o", "/dev/null", wrap=STUBBORN.format(work=c.work))
    spread(c, 2)
    found = shepherds(c)
    assert len(found) == 1
    time.sleep(pick.uniform(0, MOMENT))
    began = time.monotonic()
    if also_the_daemon:
        c.kill("n1")
    for pid in found.values():
        os.kill(pid, signal.SIGKILL)
    if also_the_daemon:
        c.start_node("n1")
    assert c.wait(job)["JobState"] == "FAILED"
    eventually(lambda: nothing_left(c), lambda: f"what is left: {processes_of(c.dir)}")
    assert time.monotonic() - began < SOON
    assert c.node("n1")["State"] == "IDLE"
    c.run("srun true").ok()


@pytest.mark.trials(50)
def test_srun_reports_a_killed_step_daemon(make_cluster, pick):
    """RELIABILITY B2: one of two step daemons is killed; srun names its node and ends the rest of the step; the job continues."""
    c = make_cluster(nodes=2)
    task = f"echo up >>{c.work}/up; sleep 1000"
    job = c.sbatch("-N2", "-n2", "-o", "out.txt", wrap=f"srun -K sh -c '{task}'; echo srun $?; srun echo after")
    spread(c, 2)
    time.sleep(pick.uniform(0, MOMENT))
    os.kill(next(pid for step, pid in shepherds(c).items() if step == f"{job}.0"), signal.SIGKILL)
    assert c.wait(job)["JobState"] == "COMPLETED"
    said = (c.work / "out.txt").read_text()
    assert re.search(r"(Node failure on|failed on node) n[12]: ", said) and "srun 143" in said and said.count("after") == 2, said
    assert nothing_left(c)


@pytest.mark.trials(50)
def test_srun_reports_one_killed_task_of_many(make_cluster, pick):
    """RELIABILITY B2: srun says which one; the others end as they would have, or are ended with it."""
    c, which = make_cluster(nodes=2), pick.randrange(8)
    for option in ("--kill-on-bad-exit=0", "--kill-on-bad-exit=1"):
        task = f"echo $$ >{c.work}/task.$SLURM_PROCID; trap '' TERM; while [ ! -e {c.work}/go ]; do sleep 0.05; done; exit 0"
        p = c.popen(["srun", "-N2", "-n8", option, "sh", "-c", task])
        pids = [int(eventually(lambda: (file := c.work / f"task.{n}").exists() and file.read_text(), f"task {n}")) for n in range(8)]
        time.sleep(pick.uniform(0, MOMENT))
        os.kill(pids[which], signal.SIGKILL)
        if option.endswith("0"):
            eventually(lambda: not alive(pids[which]), "killed")
            (c.work / "go").touch()
        _, said = p.communicate(timeout=DEADLINE)
        assert p.returncode == 137 and re.search(rf"error: n[12]: task {which}: Killed", said), said
        assert not any(map(alive, pids))
        for file in (*c.work.glob("task.*"), *c.work.glob("go")):
            file.unlink()
    c.run("srun -N2 true").ok()


@pytest.mark.trials(25)
@pytest.mark.parametrize("option", ["--requeue", "--no-requeue"])
def test_reinstalled_node_runs_its_job_again(make_cluster, pick, option):
    """RELIABILITY B3: as if it had been reinstalled; its job runs once more, or has failed."""
    c = make_cluster(nodes=2)
    job = c.sbatch("-w", "n1", option, "-o", "/dev/null", wrap=f"echo up >>{c.work}/up; exec sleep 1000")
    beside = c.sbatch("-w", "n2", "-o", "/dev/null", wrap=f"while [ ! -e {c.work}/gate ]; do sleep 0.05; done")
    spread(c, 1)
    time.sleep(pick.uniform(0, MOMENT))
    c.kill("n1")
    for pid in [shepherds(c)[f"{job}.batch"], *(pid for pid, args in processes_of(c.dir).items() if args.startswith("sleep 1000"))]:
        with contextlib.suppress(ProcessLookupError):  # with its shepherd
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(c.dir / "spool/n1")
    c.start_node("n1")
    if option == "--requeue":
        spread(c, 2)
        assert c.job(job)["Restarts"] == "1"
        c.run(f"scancel {job}").ok()
    assert c.wait(job)["JobState"] == ("CANCELLED" if option == "--requeue" else "NODE_FAIL")
    assert (c.work / "up").read_text().count("up") == (2 if option == "--requeue" else 1)
    (c.work / "gate").touch()
    assert c.wait(beside)["JobState"] == "COMPLETED"


@pytest.fixture
def small(make_cluster):
    """Makes small file systems, which go at the end."""
    made = []

    def mount(path, size="1m"):
        path.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", path], check=True)
        made.append(path)
        return path
    yield mount
    for path in made:
        subprocess.run(["umount", "-l", path], check=True)


def fill(path):
    """To the last byte; returns the file."""
    with subprocess.Popen(["cat", "/dev/zero"], stdout=(path / "filler").open("wb"), stderr=subprocess.DEVNULL):
        pass
    return path / "filler"


@pytest.mark.trials(10)
@pytest.mark.skipif(not ROOT, reason="needs root to mount a small file system")
def test_full_log_is_survived(make_cluster, small):
    """RELIABILITY D5: daemons whose log can not be written go on, and go on writing when it can."""
    c = make_cluster(nodes=1, start=False)
    logs = small(c.dir / "logs")
    text = c.conf_file.read_text()
    c.conf_file.write_text(re.sub(r"(Slurmctld|Slurmd)LogFile=.*", rf"\g<1>LogFile={logs}/\g<1>.log", text))
    c.start()
    filler = fill(logs)
    for _ in range(3):
        c.run("srun true").ok()
    sizes = [path.stat().st_size for path in logs.glob("Slurm*.log")]
    filler.unlink()
    c.run("srun true").ok()
    assert len(sizes) == 2
    eventually(lambda: sum(path.stat().st_size for path in logs.glob("Slurm*.log")) > sum(sizes), "a line of the last run")


@pytest.mark.trials(10)
def test_full_output_file_system_is_survived(make_cluster):
    """RELIABILITY D5: the job sees it, srun says it, and nothing hangs."""
    c = make_cluster(nodes=1)
    script = f"(srun head -c 3000000 /dev/zero) 2>{c.work}/said; echo status $? >{c.work}/status; exit 7"
    job = c.sbatch("-o", "/dev/full", wrap=script)
    assert c.wait(job)["ExitCode"] == "7:0"
    assert "No space left on device" in (c.work / "said").read_text()
    assert (c.work / "status").read_text() != "status 0\n"


@pytest.mark.trials(5)
def test_a_spool_directory_that_users_fill(make_cluster, small, nobody):
    """RELIABILITY D5: by scripts, large and small: jobs wait, and no node is drained for it, as any user could have that."""
    c = make_cluster(nodes=1, cpus=64, memory=64000, start=False)
    small(c.dir / "spool/n1", "6m")
    c.start()
    large, medium = (c.work / name for name in ("large", "medium"))
    for script, size in ((large, 3 << 20), (medium, 60 << 10)):
        script.write_text("#!/bin/sh\nexec sleep 1000\n#" + "x" * size)
    two = [int(c.run([*nobody, "sbatch", "--parsable", "-o", "/dev/null", large]).ok()) for _ in range(2)]
    eventually(lambda: sorted((c.state(job), c.job(job)["Reason"]) for job in two) == [("PENDING", "BeginTime"), ("RUNNING", "None")],
               "one of them runs, and the other one has no room")  # they are written at the same time
    others = [int(c.run([*nobody, "sbatch", "--parsable", "-o", "/dev/null", medium]).ok()) for _ in range(50)]
    eventually(lambda: all(c.state(job) == "RUNNING" or c.job(job)["Reason"] == "BeginTime" for job in others), "the directory is full")
    assert any(c.state(job) == "PENDING" for job in others)
    assert "DRAIN" not in c.node("n1")["State"]
    c.run([*nobody, "scancel", "-u", "nobody"]).ok()
    assert c.wait(c.sbatch("-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"


@pytest.mark.trials(5)
def test_a_state_directory_that_a_user_fills(make_cluster, small, nobody):
    """RELIABILITY D1: with large scripts: accepted jobs end and are purged in the remaining space, and other users can work."""
    c = make_cluster(nodes=1, start=False)
    text = c.conf_file.read_text()
    state = small(pathlib.Path(re.search(r"StateSaveLocation=(\S+)", text)[1]), "64m")
    if "MinJobAge" in text:
        c.conf_file.write_text(re.sub(r"MinJobAge=.*", "MinJobAge=2", text))
    else:
        c.conf_file.write_text(text + "MinJobAge=2\n")
    c.start()
    script = c.work / "large"
    script.write_text("#!/bin/sh\nsleep 20\n" + "#" * ((4 << 20) - 100))
    jobs = []
    while (said := c.run([*nobody, "sbatch", "--parsable", "--hold", "-o", "/dev/null", script])).returncode == 0:
        jobs.append(int(said.stdout))
        assert len(jobs) < 30
    assert len(jobs) > 4
    c.run([*nobody, "scancel", "-u", "nobody"]).ok()
    eventually(lambda: not c.run("squeue -h -t all -o %i").ok().split(), "the jobs are purged")
    assert c.wait(c.sbatch("-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"
    log = state / "state.db-wal"
    assert log.stat().st_size < 4 << 20
    c.run([*nobody, "sbatch", "--hold", "-o", "/dev/null", script]).ok()


@pytest.mark.trials(10)
@pytest.mark.parametrize("cause", [
    pytest.param("No space left on device", marks=pytest.mark.skipif(not ROOT, reason="needs root to mount a small file system")),
    "No such file or directory"])
def test_a_spool_directory_that_takes_nothing(make_cluster, small, cause):
    """RELIABILITY D5: its node is drained with the cause; jobs are not to blame, and run elsewhere or later."""
    c = make_cluster(nodes=2, start=False)
    spool = c.dir / "spool/n1"
    if "space" in cause:
        small(spool, "2m")
    c.start()
    c.run("srun -w n1 true").ok()
    c.wait(1)
    if "space" in cause:
        filler = fill(spool)
    else:
        (spool / "jobs").rename(spool / "away")
    jobs = [c.sbatch("-o", "/dev/null", wrap="true") for _ in range(4)]
    bound = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="true")
    for job in jobs:
        assert c.wait(job)["JobState"] == "COMPLETED"
    reason = eventually(lambda: c.node("n1").get("Reason"), "n1 drained")
    assert reason.startswith("Launch failure: ") and cause in reason, reason
    eventually(lambda: c.node("n1")["State"] == "IDLE+DRAIN", "n1 free of jobs")
    assert c.state(bound) == "PENDING"
    if "space" in cause:
        filler.unlink()
    else:
        (spool / "away").rename(spool / "jobs")
    c.run("scontrol update NodeName=n1 State=RESUME").ok()
    assert c.wait(bound)["JobState"] == "COMPLETED"
    c.run("srun -w n1 true").ok()
