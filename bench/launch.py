#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures starts of parallel tasks and what they write, and Debian's Slurm beside it in the same run, pair by pair.

usage: launch.py --prefix PREFIX [--quick] [--alone | --before PREFIX] [--wide N]
--wide N   node daemons for the wide step (64), which is measured without Slurm; 0: none
The status is 1 when a step over four components takes more than 1.3 times as long as a plain one on the same nodes.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time

from systems import Ours, Pair, Table, add_options, commands, cpu_of_machine, drain, shepherds, timed

AT_A_TIME = {8: ("-N4", "-n16"), 64: ("-N16", "-n64")}  # loops of srun, and the allocation that they share
COMPONENTS_AIM = 1.3  # times the duration of a plain step on as many nodes
WIDTHS = ("off", "64", "16", "8", "2")  # of the tree


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


def shape(system, nodes):
    """How many nodes srun itself asked in its last launch, and in how many levels it came to the last, by the nodes' logs."""
    above = {}
    for node in system.cluster.names:
        log = (system.cluster.dir / f"slurmd-{node}.log").read_text()
        above.update((child, node) for child in re.findall(r"tree: a request of user \d+ goes to node (n\d+)", log))

    def level(node):
        return 1 + level(above[node]) if node in above else 1

    return nodes - len(above), max(level(node) for node in system.cluster.names)


def tree(table, nodes, rounds):
    """The same step by trees of several widths, in turn; their shapes by logs, which the timed ones do without."""
    took = {width: [] for width in WIDTHS}
    line = {width: ["srun", f"--treewidth={width}", f"-N{nodes}", f"-n{nodes}", "true"] for width in WIDTHS}
    for _ in range(rounds + 1):
        for width in WIDTHS:
            took[width].append(timed(table.systems[0], line[width]))
    told = Ours(nodes, 1, 500, debug="debug")
    for width in WIDTHS:
        for node in told.cluster.names:
            os.truncate(told.cluster.dir / f"slurmd-{node}.log", 0)
        timed(told, line[width])
        asked, levels = shape(told, nodes)
        table.row(f"--treewidth={width}: srun asks {asked}, levels: {levels}, wall", [statistics.median(w for w, _ in took[width][1:])], "ms")
        table.row("   CPU of srun", [statistics.mean(c for _, c in took[width][1:])], "ms")
    told.stop()


def wide(prefix, nodes, rounds):
    """A step on many node daemons, and on 8 of them."""
    with Pair(prefix, nodes, 1, 500, alone=True) as systems:
        table = Table(systems)
        for n in (8, nodes):
            commands(table, f"srun -N{n} -n{n} true, of {nodes} nodes", ["srun", f"-N{n}", f"-n{n}", "true"], rounds)
        tree(table, nodes, rounds)


def components(system, rounds):
    """A step over 4 components of 4 nodes, in turn with a plain step on the same 16 nodes; both jobs are held for them. Returns whether
    the aim is missed."""
    requests = {"plain": ["-N16", "-n16"], "parts": [*["-N4", "-n4", ":"] * 3, "-N4", "-n4"]}
    jobs = {}
    for what, request in requests.items():
        said = system.run(["salloc", "--no-shell", *request]).stderr
        jobs[what] = re.search(r"Granted job allocation (\d+)", said).group(1)
    lines = {"plain": ["srun", f"--jobid={jobs['plain']}", "-N16", "-n16", "true"],
             "parts": ["srun", f"--jobid={jobs['parts']}", "--het-group=0-3", "true"]}
    took = {what: [] for what in lines}
    for _ in range(rounds + 1):
        for what, line in lines.items():
            took[what].append(timed(system, line)[0])
    for job in jobs.values():
        system.run(["scancel", job])
    drain(system)
    plain, parts = (statistics.median(took[what][1:]) for what in ("plain", "parts"))
    missed = parts / plain > COMPONENTS_AIM
    print(f"a step on 16 nodes (median of {rounds}): plain {plain:.1f} ms, over 4 components {parts:.1f} ms, "
          f"{parts / plain:.2f} times as long   aim: <= {COMPONENTS_AIM}: {'MISSED' if missed else 'kept'}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--wide", type=int, default=64)
    options = parser.parse_args()
    rounds, few, many, megabytes = (5, 20, 400, 10) if options.quick else (21, 100, 10000, 100)
    with Pair(options.prefix, 16, 4, 4000, options.alone, options.before) as systems:
        table = Table(systems)
        commands(table, "srun -N16 -n64 true, fresh", ["srun", "-N16", "-n64", "true"], rounds)
        commands(table, "srun -N1 -n1 true, fresh", ["srun", "-N1", "-n1", "true"], rounds)
        missed = components(systems[0], rounds)
        one = f"i=0; while [ $i -lt {few} ]; do srun -N4 -n16 true || exit 1; i=$((i+1)); done"
        steps(table, f"{few} steps of 16 tasks, one after another", few, one, ("-N4", "-n16"))
        for system in systems:
            drain(system)
        for loops, allocation in AT_A_TIME.items():
            each = (many if len(systems) == 1 else min(many, 1000)) // loops
            loop = f"(i=0; while [ $i -lt {each} ]; do srun -N1 -n1 --exact --mem=0 true || exit 1; i=$((i+1)); done) &"
            steps(table, f"{each * loops} steps of a task, {loops} at a time", each * loops, f"{loop * loops} wait", allocation)
            for system in systems:
                drain(system)
        size = int(subprocess.run(f"seq {megabytes * 130000} | wc -c", shell=True, capture_output=True, text=True).stdout)
        line = ["srun", "-N1", "-n1", "seq", str(megabytes * 130000)]
        output(table, f"seq, {size / 1e6:.0f} MB through srun", line, size, 3)
        output(table, "   with --label", [*line[:1], "--label", *line[1:]], size + 3 * megabytes * 130000, 3)
        memory(table)
    if options.wide:
        wide(options.prefix, options.wide, rounds)
    return missed


sys.exit(main())
