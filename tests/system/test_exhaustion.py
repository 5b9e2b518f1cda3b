# SPDX-License-Identifier: GPL-3.0-or-later
"""One user takes as much as possible: submissions, output, input, processes, time. Others are served. RELIABILITY H4, H5, H6."""
import contextlib
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

from harness import DEADLINE, ROOT, SANITIZED, amount, eventually, processes_of

pytestmark = pytest.mark.skipif(not ROOT, reason="needs several users")
SLOW = 5 if SANITIZED else 1
SUBMIT = (pathlib.Path(__file__).parent / "bulk.py").read_text() + """
import sys, types
c = types.SimpleNamespace(dir=sys.argv[1], work=sys.argv[2])
c.dir = __import__("pathlib").Path(c.dir)
print(len(set(submit(c, int(sys.argv[3])))))
"""


def memory_mib(pid):
    """Returns the memory of a process without memory that it shares with others."""
    return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


class Others:
    """Commands of another user during a load, and the duration of each."""

    def __init__(self, c, *line):
        self.c, self.line, self.over, self.took, self.failed = c, [str(word) for word in line], threading.Event(), [], []
        self.thread = threading.Thread(target=self.loop)

    def loop(self):
        while not self.over.is_set():
            began = time.monotonic()
            done = self.c.run(self.line, user="daemon")
            self.took.append(time.monotonic() - began)
            if done.returncode:
                self.failed.append(done.stderr)
            self.over.wait(0.02)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def slow(self):
        """Seconds that 99 in 100 did not exceed."""
        assert not self.failed, self.failed[:3]
        return sorted(self.took)[len(self.took) * 99 // 100]


HOLD = "sbatch", "-H", "-o", "/dev/null", "--wrap=true"


def flood(c, count):
    """As one user, as fast as one connection can; then all of them are cancelled and purged. What others saw meanwhile, in seconds."""
    with Others(c, *HOLD) as others:
        p = c.popen([sys.executable, "-", c.dir, c.work, count], user="nobody", stdin=subprocess.PIPE)
        out, err = p.communicate(SUBMIT, timeout=1200)
        assert (out, err) == (f"{count}\n", ""), err
        c.run(["scancel", "-u", "nobody"], user="nobody", timeout=300).ok()
        eventually(lambda: not c.run("squeue -h -u nobody").ok(), "all of them are cancelled", 600)
    c.run(["scancel", "-u", "daemon"]).ok()
    eventually(lambda: not c.run("squeue -h -t all").ok(), "all of them are purged", 600)
    return others


@pytest.mark.allocator
@pytest.mark.slow
def test_submission_flood_of_one_user_is_survived(make_cluster):
    """H4: others submit meanwhile, and the memory is given back."""
    c, count = make_cluster(nodes=1, conf="MaxJobCount=200000\nMinJobAge=2\nSlurmctldDebug=error\nSlurmdDebug=error"), amount(3000, 100000)
    pid = c.daemons["slurmctld"].pid
    with Others(c, *HOLD) as quiet:  # the same, when nobody floods
        eventually(lambda: len(quiet.took) >= (30 if count < 10000 else 200), "submissions")
    flood(c, min(count, 5000))  # what the allocator keeps after as many is no loss
    before = memory_mib(pid)
    others = flood(c, count)
    most = max(before * 1.1, before + 1)  # the last 100 rows of the archive may lie on as many pages
    eventually(lambda: memory_mib(pid) <= most,  # once it is on disk that the records are gone
               lambda: f"memory of {memory_mib(pid):.1f} MiB, {before:.1f} before")
    print(f"{count} jobs; {len(others.took)} submissions of another user, 99 in 100 within {others.slow() * 1000:.0f} ms "
          f"({quiet.slow() * 1000:.0f} ms when nobody floods); "
          f"memory {before:.1f} MiB, afterwards {memory_mib(pid):.1f} MiB")
    assert others.slow() < quiet.slow() + (0.2 if count >= 10000 else 1)  # of so few one is the slowest
    assert c.wait(c.sbatch("-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"


MUCH = amount(32, 1000)  # MB
FLOODS = {
    "output": (["srun", "-n1", "head", "-c", f"{MUCH}000000", "/dev/zero"], None, MUCH * 1000000),
    "unread": (["srun", "-n1", "sh", "-c", "exec >&- 2>&-; sleep 1"], f"head -c {MUCH}000000 /dev/zero", 0),
    "input": (["srun", "-n1", "cat"], f"head -c {MUCH}000000 /dev/zero", MUCH * 1000000),
    "tasks": (["srun", "-N2", f"-n{amount(64, 1000)}", "-O", "--mem=0", "seq", "1000"], None, amount(64, 1000) * 3893),
}


@pytest.mark.allocator
@pytest.mark.trials(5)
@pytest.mark.parametrize("what", FLOODS)
def test_floods_of_input_and_output(make_cluster, what):
    """H5: all data arrives, the daemons stay small, and other steps run at the same time."""
    c = make_cluster(nodes=2, cpus=4)
    line, source, expected = FLOODS[what]
    feed = subprocess.Popen(source.split(), stdout=subprocess.PIPE) if source else None
    largest = {}
    with Others(c, "srun", "-n1", "true") as others:
        p = c.popen(line, user="nobody", stdin=feed.stdout if feed else subprocess.DEVNULL, stdout=(c.dir / "out").open("wb"))
        if feed:
            feed.stdout.close()
        while p.poll() is None:
            helpers = {pid: "slurmstepd" for pid, args in processes_of(c.dir).items() if args.startswith("slurmstepd: [")}
            for pid, name in {c.daemons["slurmctld"].pid: "slurmctld", c.daemons["n1"].pid: "slurmd", **helpers}.items():
                with contextlib.suppress(OSError, TypeError):  # it has ended
                    largest[name] = max(largest.get(name, 0), memory_mib(pid))
            time.sleep(0.05)
        assert p.wait(DEADLINE) == 0, p.stderr.read()
    if feed:
        feed.kill()
        feed.wait()
    assert (c.dir / "out").stat().st_size == expected
    print(what, {name: f"{size:.1f} MiB" for name, size in largest.items()}, f"steps beside it within {others.slow():.2f} s")
    assert largest["slurmd"] <= 32 and largest["slurmctld"] <= 32 and largest.get("slurmstepd", 0) <= 64


@pytest.mark.trials(20)
@pytest.mark.parametrize("trap", ["", "trap '' TERM INT HUP; "], ids=["ends", "ignores"])
def test_job_beyond_its_time_is_ended(make_cluster, trap):
    """H6: it is ended at its limit, or KillWait after it; so the books say."""
    c = make_cluster(nodes=1)
    job = c.sbatch("-o", "/dev/null", wrap=f"{trap}touch up; setsid sleep 1000 & while :; do sleep 0.05; done")
    eventually((c.work / "up").exists, "running")
    c.run(f"scontrol update JobId={job} TimeLimit=0:01").ok()
    began = time.monotonic()
    fields = c.wait(job)
    assert fields["JobState"] == "TIMEOUT" and fields["Reason"] == "TimeLimit", fields
    assert time.monotonic() - began < 4 * SLOW
    eventually(lambda: not [args for args in processes_of(c.dir).values() if "sleep 1000" in args], "nothing is left")


@pytest.mark.trials(20)
def test_job_beyond_its_processes_is_limited(make_cluster):
    """H6: the limit from the submission applies on the node; the script sees it, and all processes that it could start end with it."""
    c = make_cluster(nodes=1)
    script = "python3 -c 'import os, time\nn = 0\ntry:\n while n < 1000:\n  n += 1\n  if os.fork() == 0: time.sleep(1000)\nexcept BlockingIOError: print(n)'; exit 5"
    done = c.run(["prlimit", "--nproc=60:60", "sbatch", "--parsable", "--propagate=NPROC", "-o", "out", "--wrap", script], user="games")
    job = int(done.ok())
    fields = c.wait(job)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "5:0")
    assert 10 < int((c.work / "out").read_text()) <= 60
    eventually(lambda: not [args for args in processes_of(c.dir).values() if "time.sleep" in args], "nothing is left")
    assert c.node("n1")["State"] == "IDLE"
