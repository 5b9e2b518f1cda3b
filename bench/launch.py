#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures starts of parallel tasks and what they write, and Debian's Slurm beside it in the same run, pair by pair.

usage: launch.py --prefix PREFIX [--quick] [--alone] [--wide N]
--wide N   node daemons for the wide step (64), which is measured without Slurm; 0: none
"""
import argparse
import statistics
import subprocess
import sys
import time

from systems import Pair, Table, commands, cpu_of_machine, drain, shepherds

MANY_LOOPS = 8  # sruns at a time


def in_allocation(system, script, options=("-N4", "-n16")):
    """Seconds, and seconds of all CPUs, that a script in an allocation takes, without the allocation."""
    stamp = system.work / "took"
    timer = (f"from=$(date +%s%N); {script}\nrc=$?; echo $(( $(date +%s%N) - from )) >{stamp}; exit $rc")
    before = cpu_of_machine()
    done = subprocess.run(["salloc", "-Q", *options, "/bin/sh", "-c", timer], env=system.environment(), cwd=system.work,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"launch: {system.name}: {script}: {done.stderr}")
    return int(stamp.read_text()) / 1e9, cpu_of_machine() - before


def steps(table, what, count, script, options):
    took = [in_allocation(system, script, options) for system in table.systems]
    table.row(f"{what}: steps per second", [count / wall for wall, _ in took], "/s", False)
    table.row("   machine CPU per step", [cpu * 1000 / count for _, cpu in took], "ms")


def output(table, what, line, size, rounds):
    """MB per second of what a task writes; ours is counted to the last byte."""
    speeds = [[] for _ in table.systems]
    for _ in range(rounds):
        for k, system in enumerate(table.systems):
            start = time.perf_counter()
            with subprocess.Popen(line, env=system.environment(), cwd=system.work, stdout=subprocess.PIPE) as child:
                count = int(subprocess.run(["wc", "-c"], stdin=child.stdout, capture_output=True, check=True).stdout)
            speeds[k].append(size / 1e6 / (time.perf_counter() - start))
            if child.returncode or (count != size and k == 0):
                sys.exit(f"launch: {system.name}: {line}: exit {child.returncode}, {count} of {size} bytes")
    table.row(f"{what} (median of {rounds})", [statistics.median(s) for s in speeds], "MB/s", False)


def memory(table):
    """The largest slurmstepd of a step with 16 tasks on 4 nodes that has written 10 MB."""
    sizes = []
    for system in table.systems:
        before = shepherds()
        mark = system.work / "mark"
        mark.unlink(missing_ok=True)
        script = f"seq 1500000; [ $SLURM_PROCID != 0 ] || : >{mark}; exec sleep 1000"
        with subprocess.Popen(["srun", "-N4", "-n16", "sh", "-c", script], env=system.environment(), cwd=system.work,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            while not mark.exists():
                time.sleep(0.01)
            sizes.append(max(size for pid, size in shepherds().items() if pid not in before and size) / 1024)
            child.terminate()
        drain(system)
    table.row("slurmstepd, 4 tasks that wrote 10 MB each", sizes, "MB")


def wide(prefix, nodes, rounds):
    """A step on many node daemons, and on 8 of them."""
    with Pair(prefix, nodes, 1, 500, alone=True) as systems:
        table = Table(systems)
        for n in (8, nodes):
            commands(table, f"srun -N{n} -n{n} true, of {nodes} nodes", ["srun", f"-N{n}", f"-n{n}", "true"], rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--wide", type=int, default=64)
    options = parser.parse_args()
    rounds, few, many, megabytes = (5, 20, 400, 10) if options.quick else (21, 100, 10000, 100)
    with Pair(options.prefix, 16, 4, 4000, options.alone) as systems:
        table = Table(systems)
        commands(table, "srun -N16 -n64 true, fresh", ["srun", "-N16", "-n64", "true"], rounds)
        commands(table, "srun -N1 -n1 true, fresh", ["srun", "-N1", "-n1", "true"], rounds)
        one = f"i=0; while [ $i -lt {few} ]; do srun -N4 -n16 true || exit 1; i=$((i+1)); done"
        steps(table, f"{few} steps of 16 tasks, one after another", few, one, ("-N4", "-n16"))
        for system in systems:
            drain(system)
        each = many // MANY_LOOPS if len(systems) == 1 else min(many, 1000) // MANY_LOOPS
        loop = f"(i=0; while [ $i -lt {each} ]; do srun -N1 -n1 --exact --mem=0 true || exit 1; i=$((i+1)); done) &"
        steps(table, f"{each * MANY_LOOPS} steps of a task, {MANY_LOOPS} at a time", each * MANY_LOOPS,
              f"{loop * MANY_LOOPS} wait", ("-N4", "-n16"))
        size = int(subprocess.run(f"seq {megabytes * 130000} | wc -c", shell=True, capture_output=True, text=True).stdout)
        line = ["srun", "-N1", "-n1", "seq", str(megabytes * 130000)]
        output(table, f"seq, {size / 1e6:.0f} MB through srun", line, size, 3)
        output(table, "   with --label", [*line[:1], "--label", *line[1:]], size + 3 * megabytes * 130000, 3)
        memory(table)
    if options.wide:
        wide(options.prefix, options.wide, rounds)


main()
