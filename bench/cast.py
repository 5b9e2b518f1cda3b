#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures a file of 100 MB to 16 node daemons of this host by sbcast, against as many runs of cp, and Debian's Slurm beside it.

usage: cast.py --prefix PREFIX [--quick] [--alone] [--place DIRECTORY] [--width N ...]
--place   where the file and its copies are: a file system in memory says most about what is sent and how (/dev/shm)
--width   fan-outs of ours that are measured too (1, 4, 16)
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

from systems import Pair, Table, cpu_of_machine, timed

NODES = 16


class Copies:
    """The same amount by cp, one after another."""
    name = "cp"

    def __init__(self, place):
        self.work = place

    def environment(self):
        return None

    def line(self, source):
        return ["sh", "-c", f"for i in $(seq {NODES}); do cp {source} {self.work}/cp.$i || exit 1; done"]

    def clear(self):
        for path in self.work.glob("cp.*"):
            path.unlink()


def hold(system):
    """A job on all nodes that does nothing; its number."""
    out = system.run(["sbatch", "--parsable", f"-N{NODES}", "-o", "/dev/null", "--wrap", "sleep 3600"]).stdout.strip()
    while system.run(["squeue", "-h", "-j", out, "-o", "%T"]).stdout.strip() != "RUNNING":
        pass
    return out


def median_of(system, line, rounds, clear):
    """Seconds, and seconds of all CPUs."""
    wall, cpu = [], []
    for i in range(rounds + 1):
        before = cpu_of_machine()
        took = timed(system, line)[0] / 1000
        if i > 0:  # the first is a warm-up
            wall.append(took)
            cpu.append(cpu_of_machine() - before)
        clear()
    return statistics.median(wall), statistics.median(cpu)


def measure(table, what, source, place, options, jobs, rounds):
    """What there is of it in turn: of each system a row's column, and cp's time for the same."""
    cp = Copies(place)
    times = [[] for _ in table.systems]
    copies = []
    for _ in range(rounds):
        for k, system in enumerate(table.systems):
            dest = place / f"{system.name}.copy"
            line = ["sbcast", "-f", "-j", jobs[k], *options, str(source), str(dest)]
            times[k].append(median_of(system, line, 1, lambda: dest.unlink(missing_ok=True)))
        copies.append(median_of(cp, cp.line(source), 1, cp.clear))
    size = source.stat().st_size * NODES / 1e6
    for k, name in enumerate(("wall", "CPU of the machine")):
        table.row(f"{what}: {name}", [statistics.median(t[k] for t in of) for of in times], "s")
    took = statistics.median(t[0] for t in times[0])
    by_cp = statistics.median(t[0] for t in copies)
    print(f"   {size / took:.0f} MB/s to all nodes together; {NODES} times cp: {by_cp:.2f} s, {size / by_cp:.0f} MB/s, "
          f"CPU {statistics.median(t[1] for t in copies):.2f} s; sbcast takes {took / by_cp:.2f} of that", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--place", default="/dev/shm")
    parser.add_argument("--width", type=int, nargs="*", default=[1, 4, 16])
    options = parser.parse_args()
    rounds, megabytes = (3, 100) if options.quick else (9, 100)
    with tempfile.TemporaryDirectory(prefix="sluice-cast.", dir=options.place) as name:
        place = pathlib.Path(name)
        place.chmod(0o1777)
        source = place / "source"
        subprocess.run(["dd", "if=/dev/urandom", f"of={source}", "bs=1000000", f"count={megabytes}", "status=none"], check=True)
        with Pair(options.prefix, NODES, 1, 500, options.alone) as systems:
            jobs = [hold(system) for system in systems]
            table = Table(systems)
            measure(table, f"sbcast, {megabytes} MB to {NODES} daemons", source, place, [], jobs, rounds)
            ours = Table(systems[:1])
            for width in options.width:
                measure(ours, f"   --fanout={width}", source, place, [f"-F{width}"], jobs, rounds)
            small = place / "small"
            small.write_bytes(b"x")
            measure(ours, "   a byte", small, place, [], jobs, rounds)
            for system, job in zip(systems, jobs):
                system.run(["scancel", job])


if __name__ == "__main__":
    sys.exit(main())
