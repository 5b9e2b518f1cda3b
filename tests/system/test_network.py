# SPDX-License-Identifier: GPL-3.0-or-later
"""A network that breaks: every message cut at its bytes, frames dropped, delayed, reordered and repeated; RELIABILITY C3, C4.

Here at some offsets of each kind of message; ./run soak takes every one.
"""
import collections
import concurrent.futures
import contextlib
import random
import re
import socket
import time

import pytest

from harness import SEED, Cluster, amount, eventually, free_ports
from netproxy import DOWN, REPEAT, SWAP, UP, Cut, Later, Lose, Mischief, Once, Proxy

NODES = 24
SESSION_KINDS = [(UP, 0), (DOWN, 0), (UP, 40), (DOWN, 42), (DOWN, 43), (UP, 41), (DOWN, 44)]
OPENING = SESSION_KINDS[:4]  # kinds that only a new session has


class Net:
    """A cluster whose every connection goes through a proxy; place i has a node and its own route for commands."""

    def __init__(self, nodes=NODES, conf=""):
        self.c = c = Cluster(nodes=nodes, start=False, conf="TLSType=none\nMessageTimeout=5\nMaxJobCount=1000000\nMinJobAge=86400\n" + conf)
        text = c.conf_file.read_text()
        real = free_ports(nodes)
        self.to_controller, self.to_node, self.road = [], [], []
        for i, name in enumerate(c.names):
            self.to_node.append(Proxy(("127.0.0.1", real[i])))
            self.to_controller.append(Proxy(("127.0.0.1", c.port)))
            self.road.append(Proxy(("127.0.0.1", c.port)))
            text = re.sub(rf"(NodeName={name} .*Port=)\d+", rf"\g<1>{self.to_node[i].port}", text)
        c.conf_file.write_text(text)
        for i, name in enumerate(c.names):
            own = re.sub(r"SlurmctldPort=\d+", f"SlurmctldPort={self.to_controller[i].port}", text)
            own = re.sub(rf"(NodeName={name} .*Port=)\d+", rf"\g<1>{real[i]}", own)
            (c.dir / f"{name}.conf").write_text(own)
            (c.dir / f"road{i}.conf").write_text(
                re.sub(r"SlurmctldPort=\d+", f"SlurmctldPort={self.road[i].port}", text))
        (c.work / "ledger").touch()
        self.acknowledged = []

    def start(self):
        self.c.start_controller(wait=False)
        for name in self.c.names:
            self.c.start_node(name, "-f", self.c.dir / f"{name}.conf")
        self.c.wait_ready()

    def by_road(self, i):
        return {"SLURM_CONF": str(self.c.dir / f"road{i}.conf"), "SLUICE_NO_LOCAL_SOCKET": "1"}

    def heal(self):
        for proxy in (*self.to_controller, *self.to_node, *self.road):
            proxy.set_fault(None)

    def close(self):
        every = (*self.to_controller, *self.to_node, *self.road)
        for proxy in every:
            proxy.closed = True
        for proxy in every:
            proxy.close()

    def ledger(self, tag=""):
        """What a job writes that says when it ran; a line is written whole or not at all."""
        return f"echo ${{SLURM_JOB_ID}} ${{SLURM_RESTART_COUNT:-0}} {tag} >>{self.c.work}/ledger"

    def ran(self):
        return (self.c.work / "ledger").read_text().split("\n")[:-1]

    def check(self):
        """No acknowledged job is lost, runs twice, or is left behind; the daemons run and the nodes are free."""
        c = self.c
        self.heal()
        try:
            eventually(lambda: not c.run("squeue -h").ok(), "an empty queue", 90)
        except AssertionError:
            raise AssertionError("left behind:\n" + c.run("squeue").ok() + c.tail("slurmctld")) from None
        c.wait_ready(("idle",))
        ids = [line.split()[0] for line in self.ran()]
        twice = sorted(i for i, times in collections.Counter(ids).items() if times > 1)
        assert not twice, f"ran twice: {twice}"
        lost = sorted(set(map(str, self.acknowledged)) - set(ids))
        assert not lost, f"acknowledged and never run: {lost}"


@pytest.fixture(scope="module")
def net():
    n = Net()
    try:
        n.start()
        yield n
        n.check()
        n.c.stop()
    finally:
        n.close()
        n.c.destroy()


def offsets(length, want, pick):
    """Returns offsets in a message of this size: all, or a sample with those where a part begins or ends."""
    every = range(length + 1)
    want = amount(want, len(every))
    if want >= len(every):
        return list(every)
    fixed = [0, 24, length - 1, length]
    return sorted(set(fixed) | set(pick.sample(every, max(0, want - len(fixed)))))


def share_out(todo, work):
    """Each place takes the next item until none is left; calls work(place, item)."""
    todo = list(todo)

    def run(place):
        while todo:
            try:
                item = todo.pop()
            except IndexError:
                return
            work(place, item)

    with concurrent.futures.ThreadPoolExecutor(NODES) as pool:
        for done in [pool.submit(run, place) for place in range(NODES)]:
            done.result()


def seen(proxies):
    """The kinds of frames that went through these, with the largest length of each."""
    kinds = {}
    for proxy in proxies:
        for kind, length in proxy.kinds.items():
            kinds[kind] = max(kinds.get(kind, 0), length)
    return kinds


def test_cut_session_of_a_node_loses_nothing(net):
    """C3: the session is cut while a job starts and ends: it is opened again, and messages are repeated and processed once."""
    c, pick = net.c, random.Random(1)

    def run_job(place):
        done = c.run(["sbatch", "--parsable", "--wait", "-w", c.names[place], "-o", "/dev/null", "--wrap", net.ledger()])
        net.acknowledged.append(int(done.ok()))

    for proxy in net.to_controller:  # what an undisturbed session says
        proxy.break_connections()
    share_out(range(NODES), lambda place, _: run_job(place))
    kinds = seen(net.to_controller)
    assert set(SESSION_KINDS) <= set(kinds), kinds
    todo = [(kind, at) for kind in SESSION_KINDS for at in offsets(kinds[kind], 12, pick)]
    pick.shuffle(todo)

    def work(place, item):
        kind, at = item
        proxy = net.to_controller[place]
        if kind in OPENING:
            proxy.break_connections()
        proxy.set_fault(Once(kind, Cut(at, reset=pick.random() < 0.7)))
        run_job(place)

    share_out(todo, work)
    cuts = sum(p.cuts for p in net.to_controller)
    assert cuts > 0.8 * len(todo), f"only {cuts} of {len(todo)} cuts came to be"
    net.check()


COMMANDS = (  # what it is, the request it makes
    ("squeue -h -t all -j 1 -o %i|%j|%T", 10), ("sinfo -h -o %P|%D", 12), ("scontrol show partition", 13),
    ("scontrol show config", 14), ("scontrol ping", 1), ("scontrol show job 1", 10), ("scontrol write batch_script 1 -", 20),
    ("scontrol update JobId={held} Comment={tag}", 9), ("scontrol hold {held}", 9), ("scancel {cancelled}", 8),
    ("scontrol update NodeName={node} Comment={tag}", 15), ("scontrol reconfigure", 17),
    ("sbatch --parsable -J {tag} -o /dev/null -w {node} --wrap {wrap}", 2),
)
READS = (1, 10, 12, 13, 14, 20)


@pytest.mark.parametrize("line,rpc", COMMANDS, ids=[line.split(" -")[0].replace(" ", "_") for line, _ in COMMANDS])
def test_cut_command_never_takes_a_partial_reply(net, line, rpc):
    """C3: a command whose request or reply is cut reports an error or retries; it never takes a part of a reply for the whole."""
    c, pick = net.c, random.Random(rpc)
    if c.run("squeue -h -t all -j 1").returncode:  # no test before has made it
        c.wait(c.sbatch("-o", "/dev/null", wrap=net.ledger()))

    def run_one(place, tag):
        held = cancelled = None
        if "{held}" in line or "{cancelled}" in line:
            held = cancelled = c.sbatch("-H", "-o", "/dev/null", "-w", c.names[place], wrap="false")
        argv = [word.format(held=held, cancelled=cancelled, tag=tag, node=c.names[place], wrap=net.ledger(tag))
                for word in line.split()]
        done = c.run(argv, env=net.by_road(place))
        if line.startswith("sbatch") and done.returncode == 0:
            net.acknowledged.append(int(done.stdout))
        if "Comment" in line and done.returncode == 0:
            shown = c.job(held) if held else c.node(c.names[place])
            assert shown["Comment"] == tag
        if held:
            may = {"PENDING", "CANCELLED"} if "scancel" in line else {"PENDING"}  # what was cut off may have been done
            assert c.job(held)["JobState"] in (may if done.returncode else may & {"CANCELLED"} or may), (line, done)
            c.run(f"scancel {held}").ok()
        return done

    for proxy in net.road:
        proxy.kinds.clear()
    whole = run_one(0, f"whole{rpc}").ok()
    kinds = seen(net.road)
    todo = [(kind, at) for kind in ((UP, rpc), (DOWN, rpc)) for at in offsets(kinds[kind], 10, pick)]

    def work(place, item):
        kind, at = item
        fault = Once(kind, Cut(at, reset=pick.random() < 0.7))
        net.road[place].set_fault(fault)
        for trial in range(5):  # a busy machine may not come as far as the answer
            done = run_one(place, f"x{kind[0]}{at}.{trial}")
            if fault.done:
                break
        net.road[place].set_fault(None)
        assert fault.done, (line, item)
        if done.returncode == 0:
            assert rpc not in READS or done.stdout.rstrip("\n") == whole, (item, done.stdout)
        else:
            assert re.search("controller|timed out|is DOWN", done.stderr + done.stdout), (item, done)
            assert rpc not in READS or not done.stdout or "is DOWN" in done.stdout, (item, done)

    share_out(todo, work)
    if line.startswith("sbatch"):
        net.check()
        tags = [text.split()[2] for text in net.ran() if len(text.split()) == 3]
        assert len(tags) == len(set(tags)), "one request, two jobs"


def run_srun(net, place, tag):
    """Runs a step of one task with a small request and a small environment."""
    env = {**net.by_road(place), "PATH": net.c.environment()["PATH"]}
    return net.c.run(["env", "-i", *(f"{k}={v}" for k, v in env.items()), "srun", "-n1", "-w", net.c.names[place],
                      "sh", "-c", f"{net.ledger(tag)}; echo {tag}"])


def test_cut_srun_runs_its_task_once(net):
    """C3: Cut between srun and the controller, and between srun and the node: the task runs once, or srun says why it did not."""
    pick = random.Random(5)
    roads = [*net.road, *net.to_node]
    for trial in range(10):  # the end may come before the answer to the launch
        for proxy in roads:
            proxy.kinds.clear()
        run_srun(net, 0, f"first{trial}").ok()
        kinds = seen(roads)
        if (DOWN, 60) in kinds:
            break
    assert {(UP, 3), (DOWN, 3), (UP, 7), (DOWN, 7), (UP, 60), (DOWN, 60)} <= set(kinds), kinds
    assert (UP, 5) not in kinds, "CORE-104: one request obtains the allocation and its step"
    todo = [(kind, at) for kind in sorted(kinds) for at in offsets(kinds[kind], 12, pick)]
    pick.shuffle(todo)
    ran = []

    def work(place, item):
        kind, at = item
        proxy = (net.to_node if kind[1] == 60 else net.road)[place]
        fault = Once(kind, Cut(at, reset=pick.random() < 0.7))
        proxy.set_fault(fault)
        for trial in range(5):  # the end may come before the answer to the launch
            tag = f"s{kind[0]}{kind[1]}.{at}.{trial}"
            done = run_srun(net, place, tag)
            if fault.done:
                break
        proxy.set_fault(None)
        assert fault.done or kind == (DOWN, 60), item
        assert done.stdout == (tag + "\n" if done.returncode == 0 else ""), (item, done)
        assert done.returncode == 0 or "srun: error: " in done.stderr, (item, done)
        if done.returncode == 0:
            ran.append(tag)

    share_out(todo, work)
    net.check()
    tags = [text.split()[2] for text in net.ran() if len(text.split()) == 3]
    assert len(tags) == len(set(tags)), "one step, run twice"
    assert set(ran) <= set(tags)
    assert len(ran) > 0.9 * len(todo), f"{len(ran)} of {len(todo)} were right after one cut"


@pytest.mark.parametrize("what", (REPEAT, SWAP, Later(0.3), Lose(0.2)), ids=("repeated", "overtaken", "late", "lost"))
def test_disturbed_messages_act_once(net, what):
    """Each message that changes something, repeated, overtaken by the next, late, or lost with its connection."""
    c, tag = net.c, str(what).split(".")[-1][:6]
    cases = [(net.to_controller, kind, "sbatch") for kind in SESSION_KINDS]
    cases += [(net.road, (way, rpc), "srun") for rpc in (3, 7) for way in (UP, DOWN)]
    cases += [(net.road, (way, 2), "sbatch") for way in (UP, DOWN)]
    cases += [(net.to_node, (way, 60), "srun") for way in (UP, DOWN)]

    def work(place, case):
        proxies, kind, how = case
        fault = Once(kind, what)
        if proxies is net.to_controller and kind in OPENING:
            proxies[place].break_connections()
        proxies[place].set_fault(fault)
        own = f"o{tag}{how}{kind[0]}{kind[1]}"
        if how == "srun":
            assert run_srun(net, place, own).ok() == own, case
            fault.done |= kind == (DOWN, 60)  # the end may come before the answer to the launch
        else:
            net.acknowledged.append(int(c.run(["sbatch", "--parsable", "--wait", "-w", c.names[place], "-o", "/dev/null",
                                               "--wrap", net.ledger(own)], env=net.by_road(place)).ok()))
        eventually(lambda: fault.done, case)  # of a job's end the answer may come before the acknowledgement
        proxies[place].set_fault(None)

    share_out(cases, work)
    net.check()
    tags = [text.split()[2] for text in net.ran() if len(text.split()) == 3]
    assert len(tags) == len(set(tags)), "one request, run twice"


def test_frames_are_repeated_reordered_delayed_and_lost(net):
    """RELIABILITY C4: on every connection frames are lost, delayed, repeated and reordered, and connections break; for an hour in the soak."""
    c, pick = net.c, random.Random(SEED)
    end = time.monotonic() + amount(5, 3600)
    for proxy in (*net.to_controller, *net.to_node, *net.road):
        proxy.set_fault(Mischief(random.Random(pick.random()), 0.1, (Lose, REPEAT, SWAP, Later, Cut)))
    sure = []

    def load(place, _):
        own, count = random.Random(place), 0
        while time.monotonic() < end:
            count += 1
            tag = f"m{place}.{count}"
            what = own.choice(("sbatch", "sbatch", "srun", "scancel"))
            if what == "srun":
                if run_srun(net, place, tag).returncode == 0:
                    sure.append(tag)
                continue
            done = c.run(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", net.ledger(tag)], env=net.by_road(place))
            if done.returncode == 0 and what == "sbatch":
                net.acknowledged.append(int(done.stdout))
                sure.append(tag)
            elif done.returncode == 0:
                c.run(f"scancel {done.stdout}", env=net.by_road(place))

    share_out(range(NODES), load)
    net.check()
    tags = [text.split()[2] for text in net.ran() if len(text.split()) == 3]
    assert len(tags) == len(set(tags)), "one request, run twice"
    assert set(sure) <= set(tags) and len(sure) > NODES


def test_running_jobs_cause_no_polling():
    """CORE-224: while a job runs its node sends heartbeats by itself; the controller sends it nothing and opens no connection to it."""
    net = Net(nodes=1, conf="SlurmdTimeout=3")  # a beat each second
    try:
        net.start()
        c, session = net.c, net.to_controller[0]
        job = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {c.work}/go ]; do sleep 0.05; done; {net.ledger()}")
        net.acknowledged.append(job)
        eventually(lambda: c.state(job) == "RUNNING" and c.run("scontrol listpids").stdout.count(f" {job} "), "the job")
        beats = []
        down = []

        def watch(frame):
            (beats if frame.direction == UP else down).append(frame.kind)

        eventually(lambda: (DOWN, 44) in session.kinds, "its start was reported, and that is on disk")
        session.set_fault(watch)
        eventually(lambda: len(beats) >= 4, "beats")
        seen, asked = list(down), net.to_node[0].accepted
        assert set(beats) == {(UP, 41)} and set(seen) <= {(DOWN, 44)} and asked == 0, (seen, asked)
        (c.work / "go").touch()
        net.check()
        c.stop()
    finally:
        net.close()
        net.c.destroy()


@pytest.mark.parametrize("who", ["a command", "slurmd"])
def test_a_silent_host_is_given_up_after_tcptimeout(make_cluster, who):
    """TCPTimeout: a connection that is not established is given up long before MessageTimeout."""
    c = make_cluster(nodes=1, conf="TCPTimeout=1\nMessageTimeout=100", start=False)
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.socket())
        silent.bind(("127.0.0.1", c.port))
        silent.listen(0)
        for _ in range(4):  # its queue is full: what comes now has no answer
            s = stack.enter_context(socket.socket())
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", c.port))
        if who == "slurmd":
            c.start_node("n1")
            eventually(lambda: f"127.0.0.1:{c.port}: Connection timed out" in (c.dir / "slurmd-n1.log").read_text(), "the end of its patience")
        else:
            c.run("squeue").fails(f"127.0.0.1:{c.port}: Connection timed out")
