#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures what encryption costs: two clusters, TLSType=none and the default, in turn.

usage: encryption.py --prefix PREFIX [--rounds N]
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

from systems import Ours, Pair, cpu_of_machine, drain, timed

TCP = {"SLUICE_NO_LOCAL_SOCKET": "1"}


class Side(Ours):
    """A cluster of 4 nodes with this TLSType; its commands reach daemons by TCP when asked to."""

    def __init__(self, kind):
        import harness
        self.name, self.over = kind or "default", {}
        self.cluster = harness.Cluster(nodes=4, cpus=4, memory=4000, conf=f"TLSType={kind}" if kind else "")
        self.work, self.nodes = self.cluster.work, 4

    def environment(self):
        return {**super().environment(), **self.over}


def submit(side):
    return timed(side, ["sbatch", "-Q", "-H", "-o", "/dev/null", "--wrap=true"])


def stream(side, size=1 << 30):
    cpu, start = cpu_of_machine(), time.perf_counter()
    with subprocess.Popen(["srun", "-n1", "head", "-c", str(size), "/dev/zero"], env=side.environment(), cwd=side.work,
                          stdout=subprocess.PIPE) as child:
        count = int(subprocess.run(["wc", "-c"], stdin=child.stdout, capture_output=True, check=True).stdout)
    if count != size:
        sys.exit(f"encryption: {side.name}: {count} of {size} bytes")
    return size / 1e6 / (time.perf_counter() - start), (cpu_of_machine() - cpu) / (size / 1e9)


def batch(side, jobs=200):
    cpu, start = cpu_of_machine(), time.perf_counter()
    loop = f"i=0; while [ $i -lt {jobs // 4} ]; do sbatch -Q -o /dev/null --wrap=true || exit 1; i=$((i+1)); done"
    loops = [subprocess.Popen(["/bin/sh", "-c", loop], env=side.environment(), cwd=side.work, stdout=subprocess.DEVNULL) for _ in range(4)]
    if any(p.wait() for p in loops):
        sys.exit(f"encryption: {side.name}: a submission failed")
    drain(side)
    return jobs / (time.perf_counter() - start), (cpu_of_machine() - cpu) * 1000 / jobs


def compare(what, sides, measure, rounds, over, units):
    got = [[], []]
    for i in range(rounds + 1):
        for side, rows in zip(sides, got):
            side.over = over
            row = measure(side)
            if i:  # the first is a warm-up
                rows.append(row)
    for column, unit in enumerate(units):
        none, default = ([row[column] for row in rows] for rows in got)
        ratio = statistics.median(d / n for n, d in zip(none, default) if n)
        print(f"{what}, {unit}: none {statistics.median(none):.2f}, default {statistics.median(default):.2f}, ratio of pairs {ratio:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    Pair(options.prefix, 4, 4, 4000)  # makes the tests' clusters available
    sides = [Side("none"), Side("")]
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}")
    try:
        for name, over in (("local socket", {}), ("TCP", TCP)):
            compare(f"sbatch over {name}", sides, submit, options.rounds * 10, over, ["ms", "ms of CPU of the command"])
        compare("stream", sides, stream, options.rounds, TCP, ["MB/s", "s of CPU of the machine per GB"])
        for side in sides:
            side.run(["scancel", "--user=root"])  # the jobs that submit() held
        compare("batch jobs", sides, batch, options.rounds, {}, ["jobs/s", "ms of CPU of the machine per job"])
    finally:
        for side in sides:
            side.stop()


main()
