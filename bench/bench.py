#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures Sluice, and Debian's Slurm beside it in the same run, pair by pair: medians, CPU per operation and memory.

usage: bench.py --prefix PREFIX [--quick] [--alone] [--nodes N] [--pending N] [--jobs N]
--alone leaves Slurm out; it is left out, with the reason, where its packages can not be fetched or started.
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent


class Ours:
    name = "sluice"

    def __init__(self, nodes, cpus, memory):
        import harness
        self.cluster = harness.Cluster(nodes=nodes, cpus=cpus, memory=memory,
                                       conf="MaxJobCount=1000000\nSlurmctldDebug=info\nSlurmdDebug=info")
        self.work, self.nodes = self.cluster.work, nodes

    def environment(self):
        return self.cluster.environment()

    def run(self, line):
        return self.cluster.run(line, timeout=600)

    def pid(self, daemon):
        return self.cluster.daemons[daemon].pid

    def stop(self):
        self.cluster.destroy()


def cpu_of(pid):
    """Seconds of CPU of one process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_machine():
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def rss_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])


def timed(system, line):
    """Wall and CPU milliseconds of one command as a process."""
    env = system.environment()
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(line, env=env, cwd=system.work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"bench: {system.name}: {line}: {done.stderr.decode()}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, cpu * 1000


class Table:
    def __init__(self, systems):
        self.systems = systems
        print(f"{'':46} {systems[0].name:>12}" + (f" {systems[1].name:>12} {'ratio':>8}" if len(systems) > 1 else ""))

    def row(self, what, values, unit, lower_is_better=True):
        text = f"{what:46} {values[0]:>9.2f} {unit:<2}"
        if len(values) > 1:
            over, under = (values[1], values[0]) if lower_is_better else (values[0], values[1])
            ratio = over / under if under else None
            text += f" {values[1]:>9.2f} {unit:<2} " + (f"{ratio:>7.1f}x" if ratio is not None else "       -")
        print(text, flush=True)


def commands(table, what, line, rounds):
    """Pairs A B A B ...: medians of wall time and of the command's own CPU."""
    wall, cpu = [[] for _ in table.systems], [[] for _ in table.systems]
    for i in range(rounds + 1):
        for k, system in enumerate(table.systems):
            w, c = timed(system, line)
            if i > 0:  # the first is a warm-up
                wall[k].append(w)
                cpu[k].append(c)
    table.row(f"{what}, wall (median of {rounds})", [statistics.median(w) for w in wall], "ms")
    table.row(f"{what}, CPU of the command", [statistics.mean(c) for c in cpu], "ms")


def drain(system):
    while system.run(["squeue", "-h", "-t", "PD,R,CG", "-o", "%i"]).stdout.strip():
        time.sleep(0.05)


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
    shepherds = []
    for system in table.systems:
        job = system.run(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", "exec sleep 1000"]).stdout.strip()
        found = None
        while found is None:
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    if entry.name.isdigit() and b"slurmstepd" in (entry / "cmdline").read_bytes():
                        environment = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                        exe = os.readlink(entry / "exe")
                        if str(system.environment()["PATH"].split(":")[0]).rsplit("/", 1)[0] in exe or \
                                str(system.work.parent).encode() in environment or system.name == "slurm" and "wlm" in exe:
                            found = rss_kib(entry.name)
                except OSError:
                    continue
        shepherds.append(found / 1024)
        system.run(["scancel", job])
        drain(system)
    table.row("step shepherd memory", shepherds, "MB")


def idle(table, seconds):
    """CPU that sixteen idle node daemons and the controller use."""
    def total(system):
        return sum(cpu_of(system.pid(d)) for d in ["slurmctld", *(f"n{i}" for i in range(1, system.nodes + 1))])
    before = [total(s) for s in table.systems]
    time.sleep(seconds)
    table.row(f"CPU of all idle daemons in {seconds} s", [(total(s) - b) * 1000 for s, b in zip(table.systems, before)], "ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--pending", type=int, default=10000)
    parser.add_argument("--jobs", type=int, default=1000)
    options = parser.parse_args()
    os.environ["SLUICE_PREFIX"] = options.prefix
    sys.path.insert(0, str(HERE.parent / "tests/system"))
    import peer
    if options.quick:
        options.pending, options.jobs = min(options.pending, 1000), min(options.jobs, 200)
    with tempfile.TemporaryDirectory(prefix="sluice-bench.", ignore_cleanup_errors=True) as place:
        systems = []
        try:
            systems.append(Ours(options.nodes, 4, 4000))
            if not options.alone:
                try:
                    systems.append(peer.Slurm(pathlib.Path(place), options.nodes, 4, 4000))
                except (peer.Unavailable, OSError, subprocess.CalledProcessError) as reason:
                    print(f"bench: without Slurm: {reason}", file=sys.stderr)
            rounds = 5 if options.quick else 25
            print(f"{os.cpu_count()} CPUs, {options.nodes} node daemons each, load {os.getloadavg()[0]:.2f}; "
                  "ratio: how many times better than Slurm")
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
        finally:
            for s in systems:
                s.stop()


main()
