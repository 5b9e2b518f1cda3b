#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures a takeover: the primary controller is killed with jobs queued, until the backup answers, and back.

usage: takeover.py --prefix PREFIX [--jobs N] [--rounds N] [--timeout SECONDS] [--postgresql]
"""
import argparse
import datetime
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent


class Pair:
    def __init__(self, options, store):
        import harness
        self.eventually, self.prefix = harness.eventually, harness.PREFIX
        self.cluster = c = harness.Cluster(nodes=4, start=False, conf=f"""SlurmctldHost=backup(127.0.0.2)
SlurmctldTimeout={options.timeout}
MaxJobCount=1000000
SlurmctldDebug=info
{store}""")
        c.start_controller(wait=False)
        c.spawn("backup", [self.prefix / "sbin/slurmctld", "-D", "--as", "backup", "-L", c.dir / "backup.log"])
        for node in c.names:
            c.start_node(node)
        c.wait_ready()
        self.wait_both()

    def wait_both(self):
        self.eventually(lambda: self.cluster.run("scontrol ping").stdout.count("UP") == 2, "both answer")

    def fill(self, jobs):
        """Every node is taken by the first jobs; the others wait."""
        c = self.cluster
        for _ in c.names:
            c.sbatch("-N1", "--exclusive", "-o", "/dev/null", wrap="exec sleep 100000")
        self.eventually(lambda: len(c.run("squeue -h -t R").stdout.split("\n")) > len(c.names), "running jobs")
        loop = f"i=0; while [ $i -lt {jobs // 4} ]; do sbatch -Q -N1 -o /dev/null --wrap=true >/dev/null || exit 1; i=$((i+1)); done"
        loops = [subprocess.Popen(["/bin/sh", "-c", loop], env=c.environment(), cwd=c.work) for _ in range(4)]
        if any(p.wait() for p in loops):
            sys.exit("takeover: a submission failed")
        self.queued = self.count()

    def count(self):
        return len(self.cluster.run("squeue -h -t PD -o %i").ok().split())

    def leads(self, daemon, times):
        """When it began to take the lead, and for how long, by the times-th such line of its log."""
        file = self.cluster.dir / f"{daemon}.log"
        pattern = re.compile(r"^\[([^]]+)\] .*leads, after (\d+) ms of work", re.M)
        found = self.eventually(lambda: (lambda m: m[times - 1] if len(m) >= times else None)(pattern.findall(file.read_text())),
                                f"{daemon} leads")
        ended, took = datetime.datetime.fromisoformat(found[0]).replace(tzinfo=datetime.timezone.utc), int(found[1]) / 1000
        return ended.timestamp() - took, took

    def answer(self, line):
        """When a command that was begun now has its answer."""
        self.cluster.run(line).ok()
        return time.time()


def one_round(pair, number):
    c = pair.cluster
    killed = time.time()
    c.kill("slurmctld")
    listed = pair.answer("squeue -h -t R -o %i")
    saved = pair.answer(["sbatch", "-Q", "-H", "-o", "/dev/null", "--wrap=true"])
    detected, took = pair.leads("backup", number)
    pair.queued += 1
    if pair.count() != pair.queued:
        sys.exit(f"takeover: {pair.count()} jobs are queued, {pair.queued} were acknowledged")
    pair.eventually(lambda: c.run("sinfo -h -N -o %t").stdout.split() == ["alloc"] * len(c.names), "all nodes are back")
    started = time.time()
    c.start_controller(wait=False)
    pair.leads("slurmctld", number + 1)
    back = pair.answer("squeue -h -t R -o %i")
    pair.wait_both()
    return detected - killed, took, listed - detected, saved - detected, back - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--jobs", type=int, default=50000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=int, default=2)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    os.environ["SLUICE_PREFIX"] = options.prefix
    os.environ["TZ"] = "UTC"
    sys.path.insert(0, str(HERE.parent / "tests/system"))
    server = pair = None
    try:
        store = ""
        if options.postgresql:
            import postgres
            server = postgres.Server()
            store = f"StateSaveStore={server.url}"
        pair = Pair(options, store)
        pair.fill(options.jobs)
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}; {pair.queued} jobs queued, SlurmctldTimeout {options.timeout} s, "
              f"{'PostgreSQL' if server else 'SQLite'}; median (worst) of {options.rounds}", flush=True)
        rounds = [one_round(pair, i + 1) for i in range(options.rounds)]
        rows = ["primary killed to detected", "   detected to leading, the state read",
                "   detected to the first answer of squeue", "   detected to the first job acknowledged",
                "primary started to its first answer"]
        for what, values in zip(rows, zip(*rounds)):
            print(f"{what:46} {statistics.median(values):>9.3f} s ({max(values):.3f})")
    finally:
        if pair:
            pair.cluster.destroy()
        if server:
            server.destroy()


main()
