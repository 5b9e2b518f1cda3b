#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of a switch of gang scheduling, and how evenly the time is divided.

usage: SLUICE_PREFIX=PREFIX gang.py [--tasks N] [--switches N] [--jobs N] [--slices N] [--cgroup 1|2]
Two jobs of many processes take turns on one node: prints the time from the first process that stops to the last one that goes on, in samples
of the processes' states, and its share of the slice. Then several jobs take turns for some slices: prints the difference between the
longest and the shortest time that one of them has run. The status is 1 when an aim is missed; a figure is held against its aim by its median.
With --cgroup jobs are stopped by the freezer of this version of control groups, else by SIGSTOP.
"""
import argparse
import contextlib
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/system"))
import cgroups  # noqa: E402
from harness import Cluster, eventually  # noqa: E402

SLICE = 5
SAMPLED = 100  # processes of each job
SWITCH_AIM_MS = 50  # of 1,000 tasks
SHARE_AIM = 1  # percent of a slice
SPREAD_AIM = SLICE  # seconds among eight jobs over twenty slices


def stopped(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] in "TtD"  # D: a frozen process of control groups, version 1
    except OSError:
        return False


@contextlib.contextmanager
def cluster(conf, version, **more):
    if version:
        with cgroups.cluster(version, conf=f"{conf}ProctrackType=proctrack/cgroup\n", **more) as c:
            yield c
        return
    c = Cluster(conf=conf, **more)
    try:
        yield c
    finally:
        c.destroy()


def measure(files):
    """Seconds from the last look at which nobody had stopped to the first one at which all of the other job went on."""
    sample = [random.sample(path.read_text().split(), SAMPLED) for path in files]
    runs = 0 if not stopped(sample[0][0]) else 1
    old, new = sample[runs], sample[1 - runs]
    begun = time.perf_counter()
    while not any(stopped(pid) for pid in old):
        begun = time.perf_counter()
    while any(stopped(pid) for pid in new):
        pass
    return time.perf_counter() - begun


def check(what, value, unit, aim):
    """Prints a figure with its aim; whether the aim is missed."""
    missed = value > aim
    print(f"{what}: {value:.2f} {unit}   aim: <= {aim} {unit}: {'MISSED' if missed else 'kept'}")
    return missed


def measure_switches(o, conf, part):
    """Milliseconds of each switch."""
    with cluster(conf, o.cgroup, nodes=1, cpus=2, partitions=[f"{part}:2"]) as c:
        c.wait_ready()
        files = [c.work / f"pids-{i}" for i in range(2)]
        for path in files:
            c.sbatch("-n2", "-o", "/dev/null", wrap=f"for i in $(seq {o.tasks}); do sleep 1000 & echo $!; done > {path}.new; mv {path}.new {path}; wait")
        eventually(lambda: all(path.exists() for path in files), "both jobs have all their processes")
        cost = [measure(files) * 1000 for _ in range(o.switches)]
        c.run("scancel --me").ok()
    return cost


def ran(c):
    """Seconds that each job has run, by its id."""
    rows = (line.split() for line in c.run(["squeue", "-h", "-o", "%i %M"]).ok().splitlines())
    return {job: sum(int(n) * 60 ** i for i, n in enumerate(reversed(time.split(":")))) for job, time in rows}


def measure_spread(o, conf, part):
    """Seconds between the jobs that have run longest and shortest. squeue shows full seconds: one of them is left out."""
    with cluster(conf, o.cgroup, nodes=1, cpus=2, partitions=[f"{part}:{o.jobs}"]) as c:
        c.wait_ready()
        for _ in range(o.jobs):
            c.sbatch("-n2", "-o", "/dev/null", wrap="sleep 100000")

        def running():
            return c.run(["squeue", "-h", "-t", "R", "-o", "%i"]).ok()

        eventually(lambda: len(ran(c)) == o.jobs and running(), "all jobs take turns")
        runs = running()
        runs = eventually(lambda: next((now for now in [running()] if now and now != runs), None), "a slice begins")
        begun = ran(c)
        for _ in range(o.slices):
            last = runs
            runs = eventually(lambda: next((now for now in [running()] if now and now != last), None), "the next slice begins")
        done = ran(c)
        c.run("scancel --me").ok()
    times = [done[job] - begun[job] for job in done]
    return max(0, max(times) - min(times) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--switches", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--slices", type=int, default=20)
    parser.add_argument("--cgroup", type=int, choices=(1, 2))
    o = parser.parse_args()
    conf = f"PreemptMode=GANG\nSchedulerTimeSlice={SLICE}\nPreemptParameters=suspend_grace_time=0\n"
    part = "PartitionName=a Nodes=ALL Default=YES DefMemPerNode=10 OverSubscribe=FORCE"
    cost = measure_switches(o, conf, part)
    middle = statistics.median(cost)
    print(f"{o.switches} switches of {o.tasks} tasks on one node: {min(cost):.1f} to {max(cost):.1f} ms")
    missed = [check("median of a switch", middle, "ms", SWITCH_AIM_MS), check(f"share of a slice of {SLICE} s", middle / SLICE / 10, "%", SHARE_AIM)]
    spread = measure_spread(o, conf, part)
    missed.append(check(f"spread of {o.jobs} jobs over {o.slices} slices", spread, "s", SPREAD_AIM))
    return any(missed)


sys.exit(main())
