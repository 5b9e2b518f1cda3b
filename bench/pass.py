#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a controller takes to answer while it plans: a full cluster, many different jobs that wait, and passes over them.

usage: pass.py --prefix PREFIX --crowd PATH [--quick] [--nodes N] [--pending N] [--widest N] [--seconds N]
The node daemons are played (bench/crowd.c), the controller and its store are real. One client asks all the time whether the
controller is there and, beside it, another one submits jobs; meanwhile running jobs are ended one after the other, so that the
queue is looked at all the time. Then the other one asks when a job would start (--test-only), once and again. Milliseconds, as the clients see them, which has the load of the machine in it; and how long the
thread that answers was on a CPU in that time, which has not.
"""
import argparse
import multiprocessing
import os
import pathlib
import random
import resource
import socket
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
PING = 1
CPUS, MEMORY = 32, 128000
AIM_MS = 5


def spec_of(bulk, rng, name, work, most_nodes):
    """A drawn request, as in bench/world.c: small ones, and one in ten of several nodes."""
    tasks, nodes = rng.randint(1, 24), 1
    if rng.random() < 0.1:
        nodes = rng.randint(2, most_nodes)
        tasks = nodes * rng.randint(1, 16)
    wide = bulk.field(11, nodes) + bulk.field(12, nodes) if nodes > 1 else b""
    return b"".join([bulk.field(1, name), bulk.field(5, work), bulk.field(6, f"{work}/{name}"), bulk.field(8, "/dev/null"), wide,
                     bulk.field(13, tasks), bulk.field(18, rng.randint(100, 3000)), bulk.field(27, 60 * rng.randint(10, 3000)),
                     bulk.field(33, 1), bulk.field(51, os.urandom(16))])


class Client:
    """One connection to the controller's local socket, one request at a time."""
    def __init__(self, cluster):
        self.socket, self.id = socket.socket(socket.AF_UNIX), 0
        self.socket.connect(str(cluster.dir / "run/slurmctld"))
        self.file = self.socket.makefile("rb")

    def ask(self, rpc, body):
        self.id += 1
        begin = time.perf_counter()
        self.socket.sendall(struct.pack("<4sHHHHIQ", b"SLUI", 1, rpc, 0, 0, len(body), self.id) + body)
        head = self.file.read(24)
        flags, _, length = struct.unpack("<HHI", head[8:16])
        answer = self.file.read(length)
        if flags != 1:
            sys.exit(f"pass: refused: {answer}")
        return (time.perf_counter() - begin) * 1000


def percentiles(what, took, aim=None):
    took = sorted(took)
    at = lambda share: took[min(len(took) - 1, int(len(took) * share))]  # noqa: E731
    kept = "" if aim is None else f"   aim: 99% < {aim} ms: {'kept' if at(.99) < aim else 'MISSED'}"
    print(f"  {what:46} median {at(.5):7.2f} ms, 99% {at(.99):7.2f} ms, 99.9% {at(.999):7.2f} ms, most {took[-1]:7.2f} ms "
          f"of {len(took)}{kept}", flush=True)


def show(what, pings, aim):
    percentiles(what, [wall for wall, _ in pings], aim)
    percentiles("   of it, the controller's own time", [own for _, own in pings], aim)


class Load:
    def __init__(self, options):
        import bulk
        import harness
        self.bulk, self.options, self.rng = bulk, options, random.Random(7)
        self.cluster = harness.Cluster(nodes=0, start=False, partitions=[
            f"NodeName=n[1-{options.nodes}] CPUs={CPUS} RealMemory={MEMORY}",
            "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP"],
            conf="MaxJobCount=1000000\nSlurmctldDebug=info\nSlurmdTimeout=600\nMessageTimeout=100\n"
                 "SchedulerParameters=bf_max_job_part=1000000,default_queue_depth=1000000")
        self.cluster.start_controller()
        self.crowd = subprocess.Popen(
            [options.crowd, self.cluster.dir / "slurm.key", "127.0.0.1", str(self.cluster.port), f"n[1-{options.nodes}]",
             str(CPUS), str(MEMORY)], stdout=subprocess.PIPE)
        if self.crowd.stdout.readline() != b"ready\n":
            sys.exit("pass: the nodes do not register")
        self.jobs = []

    def submit(self, count):
        """Kept in flight as in bulk.submit()."""
        b, sent, ids = self.bulk, 0, []
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(self.cluster.dir / "run/slurmctld"))
            with s.makefile("rb") as connection:
                while len(ids) < count:
                    while sent < count and sent - len(ids) < b.WINDOW:
                        spec = spec_of(b, self.rng, f"job{sent}", str(self.cluster.work), self.options.widest)
                        body = b.field(1, spec) + b.field(2, b.field(1, "#!/bin/sh\n"))
                        s.sendall(struct.pack("<4sHHHHIQ", b"SLUI", 1, b.SUBMIT, 0, 0, len(body), sent + 1) + body)
                        sent += 1
                    ids.append(b.answer(connection))
        self.jobs += ids

    def count(self, state):
        return len(self.cluster.run(f"squeue -h -t {state} -o %i").ok().split())

    def fill(self):
        """Nothing else starts, and so many wait."""
        while self.count("PD") < self.options.pending:
            self.submit(1000)
            before = -1
            while before != (before := self.count("R")):
                time.sleep(0.2)
        return self.count("R"), self.count("PD")

    def running(self):
        ids = self.cluster.run("squeue -h -t R -o %i").ok().split()
        self.rng.shuffle(ids)
        return [int(i) for i in ids]

    def measure(self, seconds, disturb, other):
        """Clients are processes of their own: threads of this one would wait for each other."""
        stop, results = time.monotonic() + seconds, multiprocessing.Queue()
        clients = [multiprocessing.Process(target=one, args=(self, stop, results)) for one in (ping, other)]
        for client in clients:
            client.start()
        victims, ended = self.running() if disturb else [], 0
        while time.monotonic() < stop:
            if victims:
                ended += self.end(victims)
            time.sleep(0.05)
        took = dict(results.get() for _ in clients)
        for client in clients:
            client.join()
        return took["ping"], took["other"], ended

    def end(self, victims):
        some = [victims.pop() for _ in range(min(5, len(victims)))]
        self.cluster.run(["scancel", *map(str, some)]).ok()
        return len(some)

    def destroy(self):
        self.crowd.terminate()
        self.crowd.wait()
        self.cluster.destroy()


def ping(load, stop, results):
    client, took = Client(load.cluster), []
    pid = load.cluster.daemons["slurmctld"].pid
    with open(f"/proc/{pid}/task/{pid}/schedstat", "rb", buffering=0) as clock:
        def on_cpu():
            clock.seek(0)
            return int(clock.read(100).split()[0]) / 1e6
        while time.monotonic() < stop:
            before = on_cpu()
            took.append((client.ask(PING, b""), on_cpu() - before))
            time.sleep(0.001)
    results.put(("ping", took))


def submit(load, stop, results):
    client, b, took = Client(load.cluster), load.bulk, []
    while time.monotonic() < stop:
        spec = spec_of(b, load.rng, "one-more", str(load.cluster.work), load.options.widest)
        took.append(client.ask(b.SUBMIT, b.field(1, spec) + b.field(2, b.field(1, "#!/bin/sh\n"))))
        time.sleep(0.02)
    results.put(("other", took))


def estimate(load, stop, results):
    client, b, took = Client(load.cluster), load.bulk, []
    while time.monotonic() < stop:
        spec = spec_of(b, load.rng, "perhaps", str(load.cluster.work), load.options.widest)
        took.append(client.ask(b.SUBMIT, b.field(1, spec) + b.field(3, 1)))
    results.put(("other", took))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--crowd", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pending", type=int, default=10000)
    parser.add_argument("--widest", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    if options.quick:
        options.nodes, options.pending, options.seconds = 500, 2000, 5
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.environ["SLUICE_PREFIX"] = options.prefix
    sys.path.insert(0, str(HERE.parent / "tests/system"))
    load = Load(options)
    try:
        running, pending = load.fill()
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}: {options.nodes} nodes, {running} jobs run, {pending} wait", flush=True)
        show("a ping, when little ends", load.measure(options.seconds / 4, False, submit)[0], None)
        pings, submits, ended = load.measure(options.seconds, True, submit)
        show(f"a ping during passes ({ended} jobs are ended)", pings, AIM_MS)
        percentiles("a submission during passes", submits)
        pings, estimates, _ = load.measure(options.seconds / 2, False, estimate)
        show("a ping during --test-only", pings, AIM_MS)
        percentiles("--test-only, behind all", estimates)
    finally:
        load.destroy()


main()
