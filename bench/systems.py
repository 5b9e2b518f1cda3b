# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benchmarks share: the two systems, what a command costs, and a table of pairs."""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time


class Ours:
    def __init__(self, nodes, cpus, memory, debug="info", prefix=None, name="sluice"):
        import harness
        self.name = name
        self.cluster = harness.Cluster(nodes=nodes, cpus=cpus, memory=memory, prefix=prefix,
                                       conf=f"MaxJobCount=1000000\nSlurmctldDebug={debug}\nSlurmdDebug={debug}")
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


def shepherds():
    """Of every slurmstepd: its number and what is resident of it."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"slurmstepd: [" in (entry / "cmdline").read_bytes().split(b"\0", 1)[0]:
                found[int(entry.name)] = rss_kib(entry.name)
        except OSError:
            continue
    return found


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


def add_options(parser):
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true", help="without Slurm")
    parser.add_argument("--before", type=pathlib.Path, metavar="PREFIX", help="an earlier version in Slurm's place")


class Pair:
    """Ours, and beside it an earlier version, or Slurm unless it is to be left out or cannot be had, which is said."""

    def __init__(self, prefix, nodes, cpus, memory, alone=False, before=None):
        os.environ["SLUICE_PREFIX"] = str(prefix)
        os.environ["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"  # a program is looked for in each folder, for every step
        sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests/system"))
        self.place = tempfile.TemporaryDirectory(prefix="sluice-bench.", ignore_cleanup_errors=True)
        self.systems = []
        self.shape = (nodes, cpus, memory)
        self.alone, self.before = alone, before and before.resolve()

    def __enter__(self):
        import peer
        self.systems.append(Ours(*self.shape))
        if self.before:
            self.systems.append(Ours(*self.shape, prefix=self.before, name="before"))
        elif not self.alone:
            try:
                self.systems.append(peer.Slurm(pathlib.Path(self.place.name), *self.shape))
            except (peer.Unavailable, OSError, subprocess.CalledProcessError) as reason:
                print(f"bench: without Slurm: {reason}", file=sys.stderr)
        print(f"{os.cpu_count()} CPUs, {self.shape[0]} node daemons each, load {os.getloadavg()[0]:.2f}; "
              f"ratio: how many times better than {self.systems[-1].name}")
        return self.systems

    def __exit__(self, *_):
        for system in self.systems:
            system.stop()
        self.place.cleanup()
