#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of a switch of gang scheduling: two jobs of many processes take turns on one node.

usage: SLUICE_PREFIX=PREFIX gang.py [--tasks N] [--switches N] [--cgroup 1|2]
Prints the time from the first process that stops to the last one that goes on, in samples of the processes' states, and its share of the slice.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--switches", type=int, default=4)
    parser.add_argument("--cgroup", type=int, choices=(1, 2))
    o = parser.parse_args()
    conf = f"PreemptMode=GANG\nSchedulerTimeSlice={SLICE}\nPreemptParameters=suspend_grace_time=0\n"
    part = "PartitionName=a Nodes=ALL Default=YES OverSubscribe=FORCE:2 DefMemPerNode=100"
    with cluster(conf, o.cgroup, nodes=1, cpus=2, partitions=[part]) as c:
        c.wait_ready()
        files = [c.work / f"pids-{i}" for i in range(2)]
        for path in files:
            c.sbatch("-n2", "-o", "/dev/null", wrap=f"for i in $(seq {o.tasks}); do sleep 1000 & echo $!; done > {path}.new; mv {path}.new {path}; wait")
        eventually(lambda: all(path.exists() for path in files), "both jobs have all their processes")
        cost = [measure(files) * 1000 for _ in range(o.switches)]
        c.run("scancel --me").ok()
    middle = statistics.median(cost)
    print(f"switch of {o.tasks} tasks on one node: {middle:.1f} ms (of {o.switches}, {min(cost):.1f} to {max(cost):.1f}), "
          f"{middle / SLICE / 10:.2f} % of a slice of {SLICE} s")


main()
