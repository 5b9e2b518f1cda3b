# SPDX-License-Identifier: GPL-3.0-or-later
"""Two controllers that lose each other, while both reach the nodes and one reaches the store: RELIABILITY K3. The store is
PostgreSQL on a host of its own; each host is a network namespace."""
import random
import subprocess
import threading
import time

import pytest

from harness import DEADLINE, PREFIX, SEED, amount, check_ledger, eventually, ledger_wrap, many
from hosts import ADDRESS, CONTROLLER, Hosts
from postgres import Server

BACKUP, STORE = "backup", "store"
NUMBERS = {BACKUP: 2, STORE: 3}
ROUNDS = amount(3, 20)
PATIENCE = 1  # of a command, in seconds; then the next one tries


class Side:
    """Submits without pause on the host of one controller; its commands know only this controller."""

    def __init__(self, c, host):
        self.c, self.host, self.over = c, host, threading.Event()
        text = (c.dir / f"{host}.conf").read_text().splitlines()
        alone = [line for line in text if not line.startswith("SlurmctldHost=") or f"={host}(" in line]
        (c.dir / f"alone-{host}.conf").write_text("\n".join([*alone, "MessageTimeout=2", ""]))
        self.env = {"SLURM_CONF": str(c.dir / f"alone-{host}.conf")}
        self.acknowledged = []  # (when it was asked, when it was answered, job id)
        self.gave_up = 0.0  # when what was not answered last was asked
        self.thread = threading.Thread(target=self.loop)
        self.thread.start()

    def loop(self):
        while not self.over.is_set():
            began = time.monotonic()
            command = self.c.popen(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", ledger_wrap(self.c)], host=self.host, env=self.env)
            try:
                said = command.communicate(timeout=PATIENCE)[0]
            except subprocess.TimeoutExpired:  # its controller is in standby
                command.kill()
                said = command.communicate()[0]
            if said:
                self.acknowledged.append((began, time.monotonic(), int(said)))
            else:
                self.gave_up = began

    def more(self):
        want = len(self.acknowledged) + 3
        eventually(lambda: len(self.acknowledged) >= want, f"submissions at {self.host}\n" + self.c.tail(self.host))

    def stop(self):
        self.over.set()
        self.thread.join(DEADLINE)


@pytest.fixture
def split():
    """A cluster of two controllers, two nodes and a server, ready."""
    with many(lambda: Hosts(conf=f"SlurmctldHost={BACKUP}({ADDRESS}2)\nSlurmctldTimeout=1\nMaxJobCount=100000\nMinJobAge=3600\n"
                                 f"StateSaveStore=postgresql://admin@{ADDRESS}3/postgres\n", others=NUMBERS)) as make:
        c = make()
        server = Server(inside=c.inside(STORE), network=f"{ADDRESS}0/24")
        try:
            (c.work / "ledger").touch()
            c.start_controller("--as", CONTROLLER, wait=False)
            c.spawn(BACKUP, [PREFIX / "sbin/slurmctld", "-D", "--as", BACKUP, "-L", c.dir / f"{BACKUP}.log"])
            for node in c.names:
                c.start_node(node)
            c.wait_ready()
            yield c
            c.stop()
        finally:
            server.destroy()


@pytest.mark.slow
def test_disconnected_controllers_never_both_lead(split):
    """The one that reaches the store leads; the other one answers nothing, and once they are joined follows. Nothing is twice."""
    c, pick = split, random.Random(SEED)
    sides = {host: Side(c, host) for host in (CONTROLLER, BACKUP)}
    leads = []  # (from when another one led, until they were joined, who had lost the store)
    try:
        sides[CONTROLLER].more()
        for number in range(ROUNDS):
            keeps, loses = sides if number % 2 else reversed(sides)  # first the one that leads loses
            if number >= 2:
                keeps, loses = pick.sample(list(sides), 2)
            c.part(CONTROLLER, BACKUP)
            c.part(loses, STORE)
            sides[keeps].more()
            since = sides[keeps].acknowledged[-1][1]
            eventually(lambda: sides[loses].gave_up > since or any(asked > since for asked, _, _ in sides[loses].acknowledged),
                       f"a command at {loses}")
            leads.append((since, time.monotonic(), loses))
            c.join(loses, STORE)
            c.join(CONTROLLER, BACKUP)
            eventually(lambda: c.run("scontrol ping").stdout.count("UP") == 2, "both answer")
            so_far = {host: len(side.acknowledged) for host, side in sides.items()}
            eventually(lambda: any(len(side.acknowledged) > so_far[host] + 2 for host, side in sides.items()), "one of them leads")
    finally:
        for side in sides.values():
            side.stop()
    every = [job for side in sides.values() for _, _, job in side.acknowledged]
    assert len(every) == len(set(every)), "an id was given twice"
    for since, until, loses in leads:
        late = [job for asked, answered, job in sides[loses].acknowledged if since < asked and answered < until]
        assert not late, f"{loses} acknowledged {late} without the store"
    c.wait_ready()
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue", 120)
    check_ledger(c, every)


@pytest.mark.slow
def test_disconnected_controllers_with_the_store_never_both_lead(split):
    """K3: the backup takes the lead once, and the old leader leaves it there as long as the store shows that the new leader works."""
    c, sides = split, {}

    def changes():
        return sum((c.dir / f"{name}.log").read_text().count("leads: took over") for name in ("slurmctld", BACKUP))
    before = changes()
    c.part(CONTROLLER, BACKUP)
    eventually(lambda: changes() > before, "the backup takes the lead")
    try:
        sides[BACKUP] = Side(c, BACKUP)
        since = time.monotonic()
        while time.monotonic() - since < 6:  # six times SlurmctldTimeout
            sides[BACKUP].more()
        assert changes() == before + 1, c.tail("slurmctld") + c.tail(BACKUP)
    finally:
        for side in sides.values():
            side.stop()
        c.join(CONTROLLER, BACKUP)
    eventually(lambda: c.run("scontrol ping").stdout.count("UP") == 2, "both answer")
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue")
    check_ledger(c, [job for _, _, job in sides[BACKUP].acknowledged])
