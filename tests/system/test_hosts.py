# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that lose each other, and clocks that differ: RELIABILITY C1, C2, E2. Each host is a network namespace."""
import collections
import random
import re
import time

import pytest

from harness import SOAK, amount, eventually, many, processes_of
from hosts import ADDRESS, CONTROLLER, HOOK, PROXY, PROXY_NUMBER, Hosts, wrong_clock
from netproxy import DOWN, UP, Cut, Once, Proxy, number_in


@pytest.fixture
def make_hosts():
    def new(**options):
        hosts = Hosts(**options)
        (hosts.work / "ledger").touch()
        return hosts

    with many(new) as make:
        yield make


def gated(c, name, status=0):
    """A script that notes its start, waits for a file, and notes its end."""
    return f"echo $SLURM_JOB_ID.${{SLURM_RESTART_COUNT:-0}} start >>{c.work}/ledger; " \
           f"while [ ! -e {c.work}/{name} ]; do sleep 0.05; done; " \
           f"echo $SLURM_JOB_ID.${{SLURM_RESTART_COUNT:-0}} end >>{c.work}/ledger; exit {status}"


def ledger(c, word):
    lines = (c.work / "ledger").read_text().splitlines()
    return sorted(line.split()[0] for line in lines if line.endswith(word))


def test_disconnected_node_returns(make_hosts):
    """C1: a cut shorter than SlurmdTimeout loses nothing: jobs run on, and their ends are reported afterwards."""
    c = make_hosts(conf="SlurmdTimeout=60")
    c.start()
    stays = c.sbatch("-w", "n1", "-o", "/dev/null", wrap=gated(c, "late", 4))
    ends = c.sbatch("-w", "n1", "-o", "/dev/null", wrap=gated(c, "early", 3))
    eventually(lambda: len(ledger(c, "start")) == 2, "two jobs")
    c.pull("n1")
    (c.work / "early").touch()
    eventually(lambda: ledger(c, "end") == [f"{ends}.0"], "the end of one")
    waits = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="true")
    other = c.sbatch("-w", "n2", "-o", "/dev/null", wrap="true")
    assert c.wait(other)["JobState"] == "COMPLETED"
    assert c.state(ends) == c.state(stays) == "RUNNING"
    c.plug("n1")
    assert c.wait(ends)["ExitCode"] == "3:0"
    assert c.wait(waits)["JobState"] == "COMPLETED"
    assert c.state(stays) == "RUNNING"
    (c.work / "late").touch()
    assert c.wait(stays)["ExitCode"] == "4:0"
    assert ledger(c, "start") == ledger(c, "end") == sorted([f"{stays}.0", f"{ends}.0"])


CUT = (1, 600) if SOAK else (0.5, 2)  # seconds, at least and at the most
TIMEOUT = 60 if SOAK else 10  # SlurmdTimeout
HEALED = 20 if SOAK else 10  # seconds until a node works again
MARGIN = 15 if SOAK else 5  # seconds around it in which a cut may count as either
KEPT = 1200  # MinJobAge, seconds: a job that a long cut has ended is still listed when its node is back


def cut_and_healed(c, pick, node):
    """One cut: waits as often as it yields; contains the checks before, during and after the cut."""
    name = f"go-{node}-{time.monotonic_ns()}"
    job = c.sbatch("-w", node, "--no-requeue", "-o", "/dev/null", wrap=gated(c, name, 7))
    while f"{job}.0" not in ledger(c, "start"):
        yield
    seconds = CUT[0] * (CUT[1] / CUT[0]) ** pick.random()
    c.pull(node)
    began = time.monotonic()
    ends = pick.random() < 0.5  # while nobody hears of it
    if ends:
        (c.work / name).touch()
    while time.monotonic() - began < seconds:
        yield
    c.plug(node)
    healed = time.monotonic()
    after = c.sbatch("-w", node, "-o", "/dev/null", wrap="true")
    while c.state(after) != "COMPLETED":
        assert time.monotonic() - healed < 60, f"{node}, cut for {seconds:.1f} s: {c.node(node)}"
        yield
    took = time.monotonic() - healed
    if seconds > TIMEOUT + MARGIN:
        assert c.state(job) == "NODE_FAIL", seconds
        (c.work / name).touch()
    elif seconds < TIMEOUT - MARGIN:
        if not ends:
            assert c.state(job) == "RUNNING", seconds
            (c.work / name).touch()
        while c.state(job) == "RUNNING" or c.state(job) == "COMPLETING":
            yield
        assert c.job(job)["ExitCode"] == "7:0" and ledger(c, "end").count(f"{job}.0") == 1, seconds
    assert ledger(c, "start").count(f"{job}.0") == 1
    c.cuts.append((seconds, took))


def test_nodes_disconnected_for_random_times_return(make_hosts, pick):
    """C1: 1 s to 10 min, many nodes at a time: within SlurmdTimeout jobs go on, beyond it they have failed; none starts twice."""
    count = amount(3, 100)
    c = make_hosts(nodes=min(count, 20), conf=f"SlurmdTimeout={TIMEOUT}\nMinJobAge={KEPT}\nMaxJobCount=100000")
    c.start()
    c.cuts = []
    todo = [list(range(i, count, len(c.names))) for i in range(len(c.names))]
    running = {}
    while running or any(todo):
        for node, left in zip(c.names, todo):
            if node not in running and left:
                left.pop()
                running[node] = cut_and_healed(c, pick, node)
            if node in running and next(running[node], "over") == "over":
                del running[node]
        time.sleep(0.1)
    print("cuts of", ", ".join(f"{seconds:.1f} s: {took:.1f} s" for seconds, took in sorted(c.cuts)), "until the next job had run there")
    assert len(c.cuts) == count and max(took for _, took in c.cuts) < HEALED
    assert all(n == 1 for n in collections.Counter(ledger(c, "start")).values())


@pytest.mark.slow
def test_a_node_returns_after_it_was_set_down(make_hosts):
    """C1: Beyond SlurmdTimeout its jobs run elsewhere or fail; when it is back nothing of them is left on it, and nothing counts."""
    c = make_hosts(conf="SlurmdTimeout=4")
    c.start()
    again = c.sbatch("-N1", "--requeue", "-o", "/dev/null", wrap=gated(c, "go"))
    eventually(lambda: c.job(again)["NodeList"] == "n1", "started on n1")
    fails = c.sbatch("-w", "n1", "--no-requeue", "-o", "/dev/null", wrap=gated(c, "go"))
    stays = c.sbatch("-w", "n2", "-o", "/dev/null", wrap=gated(c, "go"))
    eventually(lambda: len(ledger(c, "start")) == 3, "three jobs")
    c.pull("n1")
    eventually(lambda: c.node("n1")["State"].startswith("DOWN"), "n1 given up")
    assert c.state(fails) == "NODE_FAIL"
    assert c.state(stays) == "RUNNING"
    c.plug("n1")
    eventually(lambda: c.node("n1")["State"] in ("IDLE", "MIXED"), "n1 back")
    eventually(lambda: not any(f"[{fails}.batch]" in args for args in processes_of(c.dir).values()), "nothing left of it")
    eventually(lambda: c.state(again) == "RUNNING", "the second attempt", 180)
    (c.work / "go").touch()
    assert c.wait(again)["JobState"] == "COMPLETED" and c.wait(stays)["JobState"] == "COMPLETED"
    assert ledger(c, "end") == sorted([f"{again}.1", f"{stays}.0"])
    assert len(ledger(c, "start")) == len(set(ledger(c, "start"))) == 4


@pytest.mark.trials(25)
@pytest.mark.slow
@pytest.mark.parametrize("way", [("n1", "ctl"), ("ctl", "n1")])
def test_packets_lost_in_one_direction(make_hosts, way):
    """RELIABILITY C2: the same effect as a loss in both directions; afterwards nothing hangs."""
    c = make_hosts(conf="SlurmdTimeout=4")
    c.start()
    lost = c.sbatch("-w", "n1", "--no-requeue", "-o", "/dev/null", wrap=gated(c, "never"))
    kept = c.sbatch("-w", "n2", "-o", "/dev/null", wrap=gated(c, "go"))
    eventually(lambda: len(ledger(c, "start")) == 2, "two jobs")
    c.lose(*way)
    waits = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="true")
    assert c.wait(c.sbatch("-w", "n2", "-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"
    eventually(lambda: c.node("n1")["State"].startswith("DOWN"), "n1 given up")
    assert c.state(lost) == "NODE_FAIL"
    c.deliver(*way)
    assert c.wait(waits)["JobState"] == "COMPLETED"
    eventually(lambda: not any(f"[{lost}.batch]" in args for args in processes_of(c.dir).values()), "nothing left of it")
    (c.work / "go").touch()
    assert c.wait(kept)["JobState"] == "COMPLETED"
    assert ledger(c, "end") == [f"{kept}.0"]


@pytest.mark.trials(50)
@pytest.mark.slow
def test_large_packets_lost(make_hosts):
    """RELIABILITY C2: small messages pass; large ones wait, or fail with their node, and arrive later exactly once."""
    c = make_hosts(conf="SlurmdTimeout=6")
    c.start()
    c.run("srun -w n1 true").ok()
    c.narrow("n1", 600)
    large = c.sbatch("-w", "n1", "--requeue", "-o", "large.txt",
                     script="#!/bin/sh\necho once $SLURM_JOB_ID >>ledger.txt\n" + "# much\n" * 20000)
    assert c.wait(c.sbatch("-w", "n2", "-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"
    eventually(lambda: c.state(large) != "PENDING", "its launch")
    assert not (c.work / "ledger.txt").exists()
    c.narrow("n1", 1500)
    assert c.wait(large, 180)["JobState"] == "COMPLETED"
    assert (c.work / "ledger.txt").read_text() == f"once {large}\n"
    assert c.run("srun -w n1 head -c 200000 /dev/zero").returncode == 0


@pytest.mark.parametrize("percent", (1, 10) if SOAK else (1,))
def test_packets_lost_by_chance(make_hosts, percent):
    """CORE-069, RELIABILITY C2: all data arrives, once and in order; no node is set down."""
    c = make_hosts(nodes=3)
    c.drop(percent)
    c.start()
    jobs = [c.sbatch("-n1", "-o", "/dev/null", wrap=f"echo $SLURM_JOB_ID end >>{c.work}/ledger") for _ in range(20)]
    numbers = "".join(f"{n}\n" for n in range(1, 100001))
    assert c.run("srun -N3 -n3 -l seq 20000", timeout=180).ok().count("\n") == 60000 - 1
    assert c.run("srun -w n2 seq 100000", timeout=180).stdout == numbers
    (c.work / "numbers").write_text(numbers)
    cast = f"sbcast {c.work}/numbers {c.work}/numbers.$SLURM_JOB_ID && srun -N3 -n3 true"
    assert c.wait(c.sbatch("-N3", "-o", "/dev/null", wrap=cast), 180)["JobState"] == "COMPLETED"
    assert [f.read_text() == numbers for f in c.work.glob("numbers.*")] == [True]
    for job in jobs:
        assert c.wait(job, 180)["JobState"] == "COMPLETED"
    assert ledger(c, "end") == sorted(map(str, jobs))
    assert c.dropped() > 0 and not c.run("sinfo -h -R").ok()


@pytest.mark.slow
def test_half_of_the_nodes_cut_off(make_hosts):
    """The controller serves the other half; a job across the cut ends because of its lost node, and so does its part there."""
    c = make_hosts(nodes=4, conf="SlurmdTimeout=4")
    c.start()
    across = c.popen(["srun", "-N4", "-n4", "--no-kill=off", "-K", "sh", "-c", "echo up; sleep 1000"], host="n1")
    for _ in range(4):
        assert across.stdout.readline() == "up\n"
    lost = [c.sbatch("-w", n, "--no-requeue", "-o", "/dev/null", wrap=gated(c, "go")) for n in ("n3", "n4")]
    kept = [c.sbatch("-w", n, "--no-requeue", "-o", "/dev/null", wrap=gated(c, "go")) for n in ("n1", "n2")]
    eventually(lambda: len(ledger(c, "start")) == 4, "four jobs")
    for node in ("n3", "n4"):
        c.pull(node)
    for node in ("n1", "n2"):
        assert c.wait(c.sbatch("-w", node, "-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"
    assert c.run("srun -N2 hostname", host="n1").returncode == 0
    for node in ("n3", "n4"):
        eventually(lambda: c.node(node)["State"].startswith("DOWN"), f"{node} given up")
    assert {c.state(job) for job in lost} == {"NODE_FAIL"} and {c.state(job) for job in kept} == {"RUNNING"}
    assert across.wait(60) != 0
    for node in ("n3", "n4"):
        c.plug(node)
    c.wait_ready()
    eventually(lambda: not any(f"[{job}." in args for job in lost for args in processes_of(c.dir).values()), "nothing left")
    (c.work / "go").touch()
    for job in kept:
        assert c.wait(job)["JobState"] == "COMPLETED"
    assert ledger(c, "end") == sorted(f"{job}.0" for job in kept)
    assert c.run("srun -N4 echo all", host="n4").ok() == "all\n" * 3 + "all"


@pytest.mark.slow
def test_srun_cut_off_from_its_task(make_hosts):
    """srun ends with a word when the node of its task is given up, and nothing of the step stays."""
    c = make_hosts(nodes=2, conf="SlurmdTimeout=4")
    c.start()
    p = c.popen(["srun", "-w", "n2", "-N1", "sh", "-c", "echo up; sleep 1000"], host="n1")
    assert p.stdout.readline() == "up\n"
    c.pull("n2")
    assert p.wait(60) != 0
    assert "aborted" in p.stderr.read()
    c.plug("n2")
    c.wait_ready(("idle",))
    eventually(lambda: not any("slurmstepd: [" in args for args in processes_of(c.dir).values()), "nothing left")


def test_clock_skew_of_ten_minutes_is_reported(make_hosts, tmp_path):
    """E2: operations that need equal clocks report the difference; nothing is lost, and correcting the clock is sufficient."""
    c = make_hosts(nodes=2)
    library, skew = wrong_clock(tmp_path)
    skew.write_text("0")
    c.preload["n2"] = library
    c.start()
    runs = c.sbatch("-w", "n2", "-t", "1", "-o", "/dev/null", wrap=gated(c, "go"))
    eventually(lambda: len(ledger(c, "start")) == 1, "a job")
    for seconds, word in ((600, "expired"), (-600, "issued")):
        skew.write_text(str(seconds))
        c.run("squeue -h", host="n2").fails("it is 20", "synchronise the clocks")
        c.run("srun -w n2 echo hello", host="n1").fails("it is 20", "synchronise the clocks")
        job = c.sbatch("-w", "n2", "-o", "/dev/null", wrap=f"echo $SLURM_JOB_ID.$SLURM_RESTART_COUNT end >>{c.work}/ledger")
        eventually(lambda: c.node("n2")["State"] == "MIXED+DRAIN", "n2 drained")
        reason = c.node("n2")["Reason"]
        assert reason.startswith("Clock skew: ") and word in reason and "it is 20" in reason
        assert c.state(job) == "PENDING" and not ledger(c, "end")
        skew.write_text("0")
        c.run("scontrol update NodeName=n2 State=RESUME").ok()
        assert c.wait(job)["JobState"] == "COMPLETED"
        assert ledger(c, "end") == [f"{job}.1"]
        (c.work / "ledger").write_text("")
    assert c.state(runs) == "RUNNING"
    (c.work / "go").touch()
    assert c.wait(runs)["JobState"] == "COMPLETED"
    assert c.run("srun -w n2 echo hello", host="n1").ok() == "hello"


LAUNCH, FIELD_IO_PORT = 60, 9
EXITED = "srun: error: n2: task 0: Exited with exit code 3\n"


class Between:
    """The host between srun and the node of its task: launches go through it, and the shepherd's way back to srun."""

    def __init__(self, c):
        self.c, self.back, self.fault = c, [], None
        here = f"{ADDRESS}{PROXY_NUMBER}"
        self.launches = Proxy((f"{ADDRESS}{9 + c.count}", 6818), self.on_launch, (here, 6818), lambda: c.enter(PROXY))

    def on_launch(self, frame):
        """The step daemon connects back to the sender of the launch, at the port that srun has given."""
        port = number_in(frame, FIELD_IO_PORT) if frame.kind == (UP, LAUNCH) else None
        if port and all(proxy.port != port for proxy in self.back):  # a launch may be repeated
            self.back.append(Proxy((f"{ADDRESS}10", port), self.fault, (f"{ADDRESS}{PROXY_NUMBER}", port), lambda: self.c.enter(PROXY)))

    def take_back(self):
        """Closes the connections back; returns the data that they carried."""
        kinds = {}
        for proxy in self.back:
            proxy.close()
            kinds.update(proxy.kinds)
        self.back.clear()
        return kinds

    def close(self):
        self.take_back()
        self.launches.close()


def test_connection_of_input_and_output_is_cut(make_hosts):
    """C3: cut within each message between srun and the shepherd: the task ran once or not at all, and srun never claims more."""
    c, pick = make_hosts(nodes=2, proxied=True, conf="TLSType=none\nKillWait=1"), random.Random(4)
    c.start()
    between = Between(c)
    count = 0

    def step():
        nonlocal count
        count += 1
        return c.run(["srun", "-w", "n2", "-N1", "sh", "-c", f"echo {count}.0 start >>{c.work}/ledger; read x; echo {count} $x; exit 3"],
                     host="n1", stdin="input\n", timeout=60)

    try:
        done = step()
        assert (done.returncode, done.stdout, done.stderr) == (3, "1 input\n", EXITED), done
        kinds = between.take_back()
        assert {(UP, 0), (DOWN, 0), (UP, 81), (DOWN, 81), (UP, 80), (DOWN, 80), (UP, 82), (UP, 84), (UP, 85)} <= set(kinds), kinds
        todo = []
        for kind, frame in sorted(kinds.items()):
            todo += [(kind, at) for at in sorted(pick.sample(range(frame + 1), amount(1, frame + 1)))]
        for kind, at in todo:
            between.fault = Once(kind, Cut(at, pick.random() < 0.7))
            done = step()
            between.take_back()
            assert between.fault.done, (kind, at)
            if kind[1] in (0, 80) and (kind, at) != ((DOWN, 80), kinds[kind]):  # nothing runs before srun's word is there
                assert (done.returncode, done.stdout, done.stderr) == (3, f"{count} input\n", EXITED), (kind, at, done)
            elif done.returncode == 3:
                assert done.stdout == f"{count} input\n", (kind, at, done)
            else:
                assert done.returncode and "srun: error: " in done.stderr, (kind, at, done)
        starts = ledger(c, "start")
        assert len(starts) == len(set(starts)), "one task, started twice"
        eventually(lambda: not c.run("squeue -h").ok(), "an empty queue")
        c.wait_ready(("idle",))
        eventually(lambda: not any("slurmstepd: [" in args for args in processes_of(c.dir).values()), "nothing left")
    finally:
        between.close()


@pytest.mark.parametrize("verdict, why", (("reject with tcp reset", "Connection refused"), ("drop", "timed out")))
def test_firewall_before_srun_is_reported(make_hosts, verdict, why):
    """CORE-215: the node connects back before the program runs; where it may not, srun says from where to which host and port."""
    c = make_hosts(nodes=1, conf="MessageTimeout=5")
    c.start()
    c.nft(CONTROLLER, "add table ip wall")
    c.nft(CONTROLLER, f"add chain ip wall input {HOOK}")
    c.nft(CONTROLLER, f'add rule ip wall input iifname "eth0" tcp dport != {c.port} tcp flags & (syn | ack) == syn {verdict}')
    said = c.run(f"srun -w n1 touch {c.work}/ran").fails()
    print(said)
    assert re.search(rf"n1\b.*{re.escape(ADDRESS)}1:\d+.*{why}", said), said
    assert not (c.work / "ran").exists()
    c.nft(CONTROLLER, "delete table ip wall")
    assert c.run(f"srun -w n1 touch {c.work}/ran").ok() == ""
