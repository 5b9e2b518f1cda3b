# SPDX-License-Identifier: GPL-3.0-or-later
"""A mixed load, and at drawn moments faults of every kind, several of them at a time: RELIABILITY J2. Each host is a network namespace."""
import collections
import contextlib
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from harness import DEADLINE, ROOT, SOAK, eventually, many, processes_of
from hosts import CONTROLLER, Hosts, wrong_clock
from preload import SYNC, Switch, library

SECONDS = 1800 * SOAK // 100 if SOAK else 6  # of faults
PAUSE = (0, 10) if SOAK else (0, 1)  # seconds between the beginnings of two faults
LONG = (0.2, 15) if SOAK else (0.2, 1.5)  # seconds that one lasts, where it lasts
KINDS = 4  # of faults, at least, however few a busy machine fits into the time


class Storm:
    """Faults begin at random times and end by themselves; a stopped process may be hit again by other faults."""

    def __init__(self, c, pick, clock, disk):
        self.c, self.pick, self.clock, self.disk = c, pick, clock, disk
        self.ends = []  # (when, what to do then)
        self.busy = set()  # what a fault that lasts has hit
        self.count = collections.Counter()

    def lasts(self, what, end):
        """Until it ends nothing else hits the same thing."""
        self.busy.add(what)
        self.ends.append((time.monotonic() + self.pick.uniform(*LONG), what, end))

    def restart(self, *names):
        for name in names:
            self.c.kill(name)
        for name in names:
            self.c.start_controller(wait=False) if name == "slurmctld" else self.c.start_node(name)

    def controller(self):
        self.restart("slurmctld")

    def node(self):
        self.restart(self.pick.choice(self.c.names))

    def both(self):
        self.restart("slurmctld", self.pick.choice(self.c.names))

    def hang(self):
        process = self.process("slurmctld")
        os.kill(process, signal.SIGSTOP)
        self.lasts("slurmctld", lambda: os.kill(process, signal.SIGCONT))

    def hang_of_a_node(self):
        name = self.pick.choice(self.c.names)
        if name not in self.busy:
            process = self.process(name)
            os.kill(process, signal.SIGSTOP)
            self.lasts(name, lambda: os.kill(process, signal.SIGCONT))

    def process(self, name):
        return self.c.daemons[name].pid

    def cable(self):
        name = self.pick.choice(self.c.names)
        if f"net-{name}" not in self.busy:
            self.c.pull(name)
            self.lasts(f"net-{name}", lambda: self.c.plug(name))

    def one_way(self):
        name = self.pick.choice(self.c.names)
        if f"way-{name}" not in self.busy:
            way = (name, CONTROLLER) if self.pick.random() < 0.5 else (CONTROLLER, name)
            self.c.lose(*way)
            self.lasts(f"way-{name}", lambda: self.c.deliver(*way))

    def slow_disk(self):
        if "disk" not in self.busy:
            self.disk.on("slow", "50 500")
            self.lasts("disk", lambda: self.disk.off("slow"))

    def full_disk(self):
        state = self.c.dir / "state"
        if "space" not in self.busy:
            with subprocess.Popen(["cat", "/dev/zero"], stdout=(state / "filler").open("wb"), stderr=subprocess.DEVNULL):
                pass
            self.lasts("space", lambda: (state / "filler").unlink())

    def set_clock(self):
        """All clocks, one after the other: a node that saw another time than the controller is drained, as an administrator wants it."""
        self.clock.write_text(str(self.pick.choice((-60, -5, 5, 60, 0))))
        self.resume()

    def resume(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            for line in self.c.run("sinfo -h -R -o %n_%E", timeout=5).stdout.splitlines():
                if "Clock_skew" in line or "Clock skew" in line:
                    self.c.run(f"scontrol update NodeName={line.partition('_')[0]} State=RESUME", timeout=5)

    def run(self, seconds):
        faults = [self.controller, self.node, self.both, self.hang, self.hang_of_a_node, self.cable, self.one_way, self.slow_disk, self.full_disk, self.set_clock]
        over = time.monotonic() + seconds
        following, left = 0.0, []
        while time.monotonic() < over or len(self.count) < KINDS:
            now = time.monotonic()
            if now >= following:
                left = left or self.pick.sample(faults, len(faults))  # each kind before one comes again
                fault = left.pop()
                if fault not in (self.controller, self.both, self.hang) or "slurmctld" not in self.busy:
                    if fault not in (self.node, self.both) or not self.busy & set(self.c.names):
                        fault()
                        self.count[fault.__name__] += 1
                following = now + self.pick.uniform(*PAUSE)
            self.end_those_before(now)
            time.sleep(0.02)
        self.end_those_before(float("inf"))
        self.clock.write_text("0")

    def end_those_before(self, when):
        for one in [one for one in self.ends if one[0] <= when]:
            self.ends.remove(one)
            self.busy.discard(one[1])
            one[2]()


class Load:
    """Submits, cancels, asks and runs steps without a pause."""

    def __init__(self, c):
        self.c, self.over, self.acknowledged, self.cancelled, self.asked = c, threading.Event(), [], set(), 0
        self.threads = [threading.Thread(target=loop) for loop in (self.submit, self.submit, self.ask)]
        for thread in self.threads:
            thread.start()

    def submit(self):
        while not self.over.is_set():
            script = (f"echo $SLURM_JOB_ID.${{SLURM_RESTART_COUNT:-0}} start >>{self.c.work}/ledger; "
                      f"echo $SLURM_JOB_ID.${{SLURM_RESTART_COUNT:-0}} end >>{self.c.work}/ledger")
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = self.c.run(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", script], timeout=120)
                if done.returncode == 0:
                    self.acknowledged.append(int(done.stdout))
                    if len(self.acknowledged) % 10 == 0 and self.c.run(["scancel", done.stdout.strip()], timeout=120).returncode == 0:
                        self.cancelled.add(int(done.stdout))

    def ask(self):
        while not self.over.is_set():
            for line in ("squeue -h", "sinfo -h", "scontrol show node", "srun -t1 -n2 true"):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.c.run(line, timeout=120)
                    self.asked += 1

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(300)


@pytest.fixture
def make_hosts():
    with many(Hosts) as make:
        yield make


@pytest.mark.slow
@pytest.mark.allocator  # libraries that daemons load first
@pytest.mark.skipif(not ROOT, reason="needs network namespaces")
def test_simultaneous_faults_lose_nothing(make_hosts, pick):
    """J2: each acknowledged job has run once in each attempt, or was cancelled; after the storm all recovers by itself."""
    c = make_hosts(nodes=3, conf="SlurmdTimeout=300\nMaxJobCount=200000\nMinJobAge=36000\nMessageTimeout=10")
    (c.work / "ledger").touch()
    clock_dir, disk_dir = c.dir / "clock", c.dir / "first"
    clock_dir.mkdir()
    clock_library, clock = wrong_clock(clock_dir)
    clock.write_text("0")
    c.preload[CONTROLLER] = f"{library(disk_dir, SYNC)} {clock_library}"
    for name in c.names:
        c.preload[name] = clock_library
    state = c.dir / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m,mode=700", "tmpfs", state], check=True)
    try:
        c.start()
        load, storm = Load(c), Storm(c, pick, clock, Switch(disk_dir))
        storm.run(SECONDS)
        load.stop()
        c.wait_ready(("idle", "alloc", "mix", "drain", "drng"))
        storm.resume()
        c.wait_ready()
        eventually(lambda: not c.run("squeue -h").ok(), lambda: c.run("squeue").stdout, 5 * DEADLINE)
        lines = (c.work / "ledger").read_text().splitlines()
        starts, ends = ([line.split()[0] for line in lines if line.endswith(word)] for word in ("start", "end"))
        known = set(map(int, c.run("squeue -h -t all -o %A", timeout=300).ok().split()))
        print(f"{len(load.acknowledged)} submissions, {load.asked} questions, {sum(storm.count.values())} faults: {dict(storm.count)}")
        assert len(set(load.acknowledged)) == len(load.acknowledged) and set(load.acknowledged) <= known
        twice = [attempt for attempt, count in collections.Counter(starts).items() if count > 1]
        assert not twice, twice
        ended = {int(attempt.split(".")[0]) for attempt in ends}
        missing = set(load.acknowledged) - ended - load.cancelled
        assert not missing, [c.job(job) for job in sorted(missing)[:3]]
        assert not [args for args in processes_of(c.dir).values() if re.match(r"slurmstepd: \[", args)]
        assert load.acknowledged
        c.stop()
    finally:
        for daemon in c.daemons.values():
            daemon.kill()
            daemon.wait()
        subprocess.run(["umount", "-l", state], check=True)
