# SPDX-License-Identifier: GPL-3.0-or-later
"""System calls that fail, by strace: RELIABILITY D2 (the controller's files and connections), G8 (calls that drop rights)."""
import contextlib
import os
import pathlib
import pwd
import random
import shutil
import signal
import subprocess

import pytest

from harness import DEADLINE, PREFIX, ROOT, SEED, amount, eventually

pytestmark = [pytest.mark.skipif(not ROOT, reason="needs root to become another user"),
              pytest.mark.skipif(not shutil.which("strace"), reason="needs strace"), pytest.mark.slow]
NOBODY = pwd.getpwnam("nobody").pw_uid
RIGHTS = ("setuid", "setgid", "setresuid", "setresgid", "setgroups", "capset", "unshare", "prctl", "setpriority", "setrlimit", "prlimit64")
CALLS = ["pwrite64", "write", "writev", "fdatasync", "fsync", "openat", "ftruncate", "sendmsg", "recvmsg", "read", "pread64",
         "accept4", "epoll_ctl", "timerfd_settime"]
if b"__asan_init" not in (PREFIX / "sbin/slurmctld").read_bytes():  # the sanitizer's own calls must not fail
    CALLS.append("mmap")
ERRORS = ("EIO", "ENOSPC", "EINTR", "ENOMEM", "EMFILE", "EAGAIN")


def family(pid):
    """The process and all below it that have not ended: slurmd has shepherds ready before there is a job."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [p for child in children for p in family(int(child))] + ([] if state in "ZX" else [pid])


def is_traced(pid, tracer):
    """An ended process counts, too: the shepherd of the test before may end while strace attaches."""
    return pid not in family(pid) or f"TracerPid:\t{tracer}\n" in pathlib.Path(f"/proc/{pid}/status").read_text()


@contextlib.contextmanager
def injected(pid, calls, how):
    """These calls of the process and of all its children fail while the block runs."""
    pids = family(pid)
    with subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:{how}",
                           *(word for p in pids for word in ("-p", str(p)))], stderr=subprocess.PIPE, text=True) as strace:
        def traces():
            assert strace.poll() is None, strace.stderr.read()
            return all(is_traced(p, strace.pid) for p in pids)
        try:
            eventually(traces, "strace has attached")
            yield
        finally:
            strace.send_signal(signal.SIGINT)
            try:
                strace.wait(DEADLINE)
            except subprocess.TimeoutExpired: # the kernel detaches what it traces
                strace.kill()


@pytest.mark.parametrize("call", RIGHTS)
def test_failure_to_drop_rights_prevents_the_start(cluster, call):
    """G8: a task that cannot become its user does not run; none runs as root, or with a group of root's."""
    pid = cluster.daemons["n1"].pid
    with injected(pid, call, "error=EPERM"):
        job = cluster.sbatch("-w", "n1", "--no-requeue", "-o", "out-%j", wrap="echo $(id -u) $(id -G) $(grep CapEff /proc/self/status)",
                             user="nobody")
        eventually(lambda: cluster.state(job) not in ("RUNNING", "CONFIGURING", "COMPLETING") and
                   (cluster.state(job) != "PENDING" or "requeue" in cluster.job(job)["Reason"].lower() or
                    cluster.job(job)["Reason"] in ("JobHeldAdmin", "JobHoldMaxRequeue", "ReqNodeNotAvail")) or
                   "DRAIN" in cluster.node("n1")["State"], lambda: cluster.job(job))
    out = cluster.work / f"out-{job}"
    ran = out.read_text().strip() if out.exists() else ""
    cluster.run(f"scancel {job}")
    if "DRAIN" in cluster.node("n1")["State"]:
        cluster.run("scontrol update NodeName=n1 State=RESUME").ok()
    if ran:
        uid, *groups, _, capabilities = ran.split()
        assert int(uid) == NOBODY and "0" not in groups and int(capabilities, 16) == 0, (call, ran)
        assert os.stat(out).st_uid == NOBODY
    after = cluster.sbatch("-w", "n1", "-o", "/dev/null", wrap="true", user="nobody")
    assert cluster.wait(after)["JobState"] == "COMPLETED"


def test_failing_system_calls_of_the_controller_are_survived(make_cluster):
    """D2: any call may fail at any time: the controller continues or ends, and acknowledged changes survive."""
    c, pick, acknowledged = make_cluster(nodes=1), random.Random(SEED), {}
    for round_ in range(amount(8, 150)):
        call, error, when = pick.choice(CALLS), pick.choice(ERRORS), pick.randrange(1, 40)
        what = f"{call}: {error} at {when}"
        with injected(c.daemons["slurmctld"].pid, call, f"error={error}:when={when}"):
            for i in range(5):
                name = f"r{round_}.{i}"
                done = c.run(["sbatch", "--parsable", "-H", "-J", name, "-o", "/dev/null", "--wrap=true"])
                if done.returncode == 0:
                    acknowledged[done.stdout.strip()] = name
                c.run("squeue -h")
                if c.daemons["slurmctld"].poll() is not None:
                    break
        process = c.daemons["slurmctld"]
        if process.poll() is None and round_ % 2:
            c.kill("slurmctld")
        if process.poll() is not None:
            assert process.returncode in (1, -signal.SIGKILL), (what, process.returncode, c.tail("slurmctld"))
            c.daemons.pop("slurmctld", None)
            c.start_controller()
        listed = dict(line.split() for line in c.run(["squeue", "-h", "-o", "%i %j"]).ok().splitlines())
        assert acknowledged.items() <= listed.items(), (what, acknowledged.items() - listed.items())
    assert len(acknowledged) > 4
    c.wait_ready()


def start_without_descriptors(c, file):
    """A node daemon that finds no descriptor for this file."""
    leaks = f"ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"  # which does not work beside strace
    c.spawn("n1", ["strace", "-f", "-qq", "-o", "/dev/null", "-E", leaks, "-P", c.dir / "spool/n1" / file, "-e", "trace=openat",
                   "-e", "inject=openat:error=EMFILE", PREFIX / "sbin/slurmd", "-D", "-N", "n1"])
    assert c.daemons.pop("n1").wait(DEADLINE) != 0
    assert f"{file}: Too many open files" in c.tail("n1")


def test_a_file_that_cannot_be_opened_is_not_a_missing_one(make_cluster):
    """D2: without a descriptor for it a node daemon does not start, forgets no job, and finds how its step ended."""
    c = make_cluster(nodes=1)
    gate = c.work / "gate"
    os.mkfifo(gate)
    job = c.sbatch("-o", "/dev/null", wrap=f"read go <{gate}; exit 3")
    running = gate.open("w")  # returns when the script reads: RUNNING says only that the node was asked
    c.kill("n1", signal.SIGTERM)
    before = {name: (c.dir / "spool/n1" / name).read_bytes() for name in ("boot", "id", "usage")}
    for name in before:
        start_without_descriptors(c, name)
    assert before == {name: (c.dir / "spool/n1" / name).read_bytes() for name in before}
    running.close()
    end = eventually(lambda: next((c.dir / "spool/n1/steps").glob("*.exit"), None), "the end of the step is on disk")
    start_without_descriptors(c, f"steps/{end.name}")
    c.start_node("n1")
    assert (c.wait(job)["JobState"], c.job(job)["ExitCode"]) == ("FAILED", "3:0")
