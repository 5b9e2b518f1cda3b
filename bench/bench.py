#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures Sluice, and Debian's Slurm beside it in the same run, pair by pair: medians, CPU per operation and memory.

usage: bench.py --prefix PREFIX [--quick] [--alone | --before PREFIX] [--nodes N] [--pending N] [--jobs N]
Slurm is left out, with the reason, where its packages cannot be fetched or started, and with --alone. With --before an
earlier version that is installed under another prefix is measured beside this one.
"""
import argparse
import statistics
import subprocess
import sys
import time

from systems import Pair, Table, add_options, commands, cpu_of, cpu_of_machine, drain, rss_kib, shepherds


def throughput(table, jobs):
    """Four loops of sbatch --wrap=true, to the last completion."""
    rows = []
    for system in table.systems:
        if hasattr(system, "tune"):
            system.tune()
        before = len(system.run(["squeue", "-h", "-t", "all", "-o", "%i"]).stdout.split())
        loop = f"i=0; while [ $i -lt {jobs // 4} ]; do sbatch -Q -o /dev/null --wrap=true >/dev/null || exit 1; i=$((i+1)); done"
        machine, control = cpu_of_machine(), cpu_of(system.pid("slurmctld"))
        start = time.perf_counter()
        loops = [subprocess.Popen(["/bin/sh", "-c", loop], env=system.environment(), cwd=system.work) for _ in range(4)]
        if any(p.wait() for p in loops):
            sys.exit(f"bench: {system.name}: a submission failed")
        submitted = time.perf_counter() - start
        drain(system)
        wall = time.perf_counter() - start
        rows.append((jobs / wall, jobs / submitted, (cpu_of_machine() - machine) * 1000 / jobs,
                     (cpu_of(system.pid("slurmctld")) - control) * 1000 / jobs))
        states = system.run(["squeue", "-h", "-t", "all", "-o", "%T"]).stdout.split()
        bad = [s for s in states if s not in ("COMPLETED", "CANCELLED")]
        if bad or len(states) < before + jobs:
            sys.exit(f"bench: {system.name}: {len(states)} jobs listed, {len(bad)} not completed: {set(bad)}")
    for i, (what, unit, lower) in enumerate([(f"{jobs} batch jobs, 4 loops: run to the end per second", "/s", False),
                                             ("   accepted per second meanwhile", "/s", False),
                                             ("   machine CPU per job", "ms", True),
                                             ("   controller CPU per job", "ms", True)]):
        table.row(what, [r[i] for r in rows], unit, lower)


def first_instruction(table, rounds):
    delays = [[] for _ in table.systems]
    for i in range(rounds + 1):
        for k, system in enumerate(table.systems):
            stamp = system.work / f"stamp{i}"
            start = time.time_ns()
            subprocess.run(["sbatch", "-Q", "-o", "/dev/null", "--wrap", f"date +%s%N >{stamp}.new; mv {stamp}.new {stamp}"],
                           env=system.environment(), cwd=system.work, stdout=subprocess.DEVNULL, check=True)
            while not stamp.exists():
                time.sleep(0.001)
            if i > 0:
                delays[k].append((int(stamp.read_text()) - start) / 1e6)
            drain(system)
    table.row(f"sbatch started to first instruction (of {rounds})", [statistics.median(d) for d in delays], "ms")


def listing(table, pending, rounds):
    before = [rss_kib(s.pid("slurmctld")) for s in table.systems]
    for system in table.systems:
        loop = f"i=0; while [ $i -lt {pending // 4} ]; do sbatch -Q -H -o /dev/null --wrap=true >/dev/null; i=$((i+1)); done"
        loops = [subprocess.Popen(["/bin/sh", "-c", loop], env=system.environment(), cwd=system.work) for _ in range(4)]
        for p in loops:
            p.wait()
    after = [rss_kib(s.pid("slurmctld")) for s in table.systems]
    commands(table, f"squeue, {pending} pending", ["squeue"], rounds)
    commands(table, f"squeue -h -o %i, {pending} pending", ["squeue", "-h", "-o", "%i"], rounds)
    commands(table, f"scontrol show jobs, {pending} pending", ["scontrol", "show", "jobs"], max(3, rounds // 2))
    table.row("controller memory per pending job", [(a - b) / pending for a, b in zip(after, before)], "KB")


def memory(table):
    table.row("controller memory, idle", [rss_kib(s.pid("slurmctld")) / 1024 for s in table.systems], "MB")
    table.row("node daemon memory, idle", [rss_kib(s.pid("n1")) / 1024 for s in table.systems], "MB")
    sizes = []
    for system in table.systems:
        before = shepherds()
        job = system.run(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", "exec sleep 1000"]).stdout.strip()
        while not (new := [size for pid, size in shepherds().items() if pid not in before and size]):
            time.sleep(0.01)
        sizes.append(max(new) / 1024)
        system.run(["scancel", job])
        drain(system)
    table.row("step shepherd memory", sizes, "MB")


def idle(table, seconds):
    """CPU that sixteen idle node daemons and the controller use."""
    def total(system):
        return sum(cpu_of(system.pid(d)) for d in ["slurmctld", *(f"n{i}" for i in range(1, system.nodes + 1))])
    before = [total(s) for s in table.systems]
    time.sleep(seconds)
    table.row(f"CPU of all idle daemons in {seconds} s", [(total(s) - b) * 1000 for s, b in zip(table.systems, before)], "ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--pending", type=int, default=10000)
    parser.add_argument("--jobs", type=int, default=1000)
    options = parser.parse_args()
    if options.quick:
        options.pending, options.jobs = min(options.pending, 1000), min(options.jobs, 200)
    with Pair(options.prefix, options.nodes, 4, 4000, options.alone, options.before) as systems:
        rounds = 5 if options.quick else 25
        table = Table(systems)
        memory(table)
        commands(table, "one sbatch", ["sbatch", "-o", "/dev/null", "--wrap=true"], rounds)
        for s in systems:
            drain(s)
        commands(table, "srun -N1 true", ["srun", "-N1", "true"], rounds)
        commands(table, "srun -N8 -n8 true", ["srun", "-N8", "-n8", "true"], rounds)
        first_instruction(table, rounds)
        throughput(table, options.jobs)
        idle(table, 5 if options.quick else 20)
        listing(table, options.pending, 5 if options.quick else 11)


main()
