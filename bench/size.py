#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the controller of a large cluster, and its start with a long queue.

usage: size.py --prefix PREFIX [--quick] [--nodes N] [--jobs N,N...] [--rounds N] [--postgresql]
"""
import argparse
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent


def row(what, values, unit, aim=None):
    kept = "" if aim is None else f"   aim: < {aim} {unit}: {'kept' if max(values) < aim else 'MISSED'}"
    print(f"{what:56} {statistics.median(values):>9.2f} {unit} ({max(values):.2f}){kept}", flush=True)


def resident_kib(cluster):
    status = pathlib.Path(f"/proc/{cluster.daemons['slurmctld'].pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


def timed(cluster, line):
    """Wall milliseconds of a command; its output is read."""
    start = time.perf_counter()
    done = subprocess.run(line.split(), env=cluster.environment(), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"size: {line}: {done.stderr}")
    return (time.perf_counter() - start) * 1000


def started(cluster, line):
    """Starts the controller; milliseconds from the start of its process to the end of the first command."""
    start = time.perf_counter()
    cluster.start_controller(wait=False)
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(str(cluster.dir / "run/slurmctld"))
            break
        except OSError:
            cluster.running("slurmctld")
            time.sleep(0.001)
    cluster.run(line).ok()
    return (time.perf_counter() - start) * 1000


def cluster_of(nodes, more=""):
    """No node daemons: what is measured is the controller, and jobs stay in the queue."""
    import harness
    last = nodes // 2
    halves = [f"NodeName=n[1-{last}] CPUs=16 RealMemory=64000 Features=old",
              f"NodeName=n[{last + 1}-{nodes}] CPUs=32 RealMemory=128000 Features=new",
              "PartitionName=main Nodes=ALL Default=YES", f"PartitionName=old Nodes=n[1-{last}]",
              f"PartitionName=new Nodes=n[{last + 1}-{nodes}]"]
    return harness.Cluster(nodes=0, start=False, partitions=halves,
                           conf=f"MaxJobCount=1000000\nSlurmctldDebug=info\n{more}")


def many_nodes(nodes, rounds):
    cluster = cluster_of(nodes)
    try:
        starts = []
        for _ in range(rounds):
            starts.append(started(cluster, "sinfo"))
            memory = resident_kib(cluster)
            cluster.kill("slurmctld")
        row(f"{nodes} nodes: controller started to the first answer", starts, "ms")
        row("   controller memory", [memory / 1024], "MB")
        started(cluster, "sinfo")
        for line in ("sinfo", "sinfo -N", "sinfo -o %n", "scontrol show nodes", "scontrol show node n7", "squeue", "scontrol ping"):
            timed(cluster, line)
            row(f"   {line}", [timed(cluster, line) for _ in range(max(rounds, 5))], "ms")
        row("   controller memory after that", [resident_kib(cluster) / 1024], "MB")
        import bulk
        begin = time.perf_counter()
        bulk.submit(cluster, 5000)
        row("   jobs acknowledged", [5000 / (time.perf_counter() - begin)], "/s")
    finally:
        cluster.destroy()


def many_jobs(jobs, rounds, store):
    import bulk
    cluster = cluster_of(16, store)
    try:
        started(cluster, "squeue")
        before, begin = resident_kib(cluster), time.perf_counter()
        ids = bulk.submit(cluster, jobs)
        row(f"{jobs} jobs: acknowledged", [jobs / (time.perf_counter() - begin)], "/s")
        cluster.run("scontrol ping").ok()
        row("   controller memory per pending job", [(resident_kib(cluster) - before) / jobs], "KiB", 1.4)
        lists, submits, queued = [], [], len(ids)
        for _ in range(rounds):
            for values, line in ((lists, f"squeue -h -o %i -j {ids[-1]}"), (submits, "sbatch -Q -o /dev/null --wrap=true")):
                cluster.kill("slurmctld")
                values.append(started(cluster, line))
            queued += 1
            here = len(cluster.run("squeue -h -o %i").ok().split())
            if here != queued:
                sys.exit(f"size: {here} jobs are queued, {queued} were acknowledged")
        row("   controller started to the first answer of squeue", lists, "ms")
        row("   controller started to the first job acknowledged", submits, "ms")
        row("   controller memory per pending job after a restart", [(resident_kib(cluster) - before) / jobs], "KiB")
        for line in ("squeue", "squeue -h -o %i"):
            row(f"   {line}", [timed(cluster, line) for _ in range(max(rounds, 5))], "ms")
        log = (cluster.dir / "slurmctld.log").read_text()
        row("   of the start: reading the records", [int(t) for t in re.findall(r"records of state read .* in (\d+) ms", log)[1:]], "ms")
    finally:
        cluster.destroy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--nodes", type=int, default=16384)
    parser.add_argument("--jobs", default="50000,100000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.jobs, options.rounds = "10000", 3
    os.environ["SLUICE_PREFIX"] = options.prefix
    sys.path.insert(0, str(HERE.parent / "tests/system"))
    server = None
    try:
        store = ""
        if options.postgresql:
            import postgres
            server = postgres.Server()
            store = f"StateSaveStore={server.url}"
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}; {'PostgreSQL' if server else 'SQLite'}; "
              f"median (worst) of {options.rounds}", flush=True)
        if options.nodes:
            many_nodes(options.nodes, options.rounds)
        for jobs in filter(None, options.jobs.split(",")):
            many_jobs(int(jobs), options.rounds, store)
    finally:
        if server:
            server.destroy()


main()
