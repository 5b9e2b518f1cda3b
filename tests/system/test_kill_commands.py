# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed during every command that changes something, with a long queue. RELIABILITY A1.

A command that says that it is done has done it, once, and the change is there after the restart. One that reports an error has changed
everything that it was asked to, or nothing. The jobs in the queue stay as they are.
"""
import itertools
import random
import select
import time

import pytest

import bulk
from harness import DEADLINE, SEED, Cluster, amount, eventually, fields_of

JOBS, KILLS = amount(1000, 10000), amount(2, 20)
NUMBERS = itertools.count(1)
PARTITIONS = ["PartitionName=queue Nodes=n1 Default=YES State=DOWN", "PartitionName=work Nodes=n1 MaxTime=UNLIMITED OverSubscribe=FORCE:64"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def queue():
    """A cluster, and the output of squeue for its queue."""
    c = Cluster(nodes=1, conf="MaxJobCount=100000\nMinJobAge=86400\nSlurmctldDebug=info\nMaxNodeCount=2000", partitions=PARTITIONS)
    try:
        bulk.submit(c, JOBS)
        c.listing = ["squeue", "-h", "-p", "queue", "-o", "%i %j %T %r %Q %u %l %V"]
        c.before = c.run(c.listing).ok()
        assert c.before.count("\n") == JOBS - 1
        yield c
        c.stop()
    finally:
        c.destroy()


def held(c):
    return c.sbatch("-H", "-p", "work", "-o", "/dev/null", wrap="true")


def waits(c):
    return c.sbatch("-o", "/dev/null", wrap="true")  # in the partition that is down


def runs(c):
    job = c.sbatch("-p", "work", "--mem=1", "-o", "/dev/null", wrap="exec sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    return job


def suspended(c):
    job = runs(c)
    c.run(f"scontrol suspend {job}").ok()
    return job


def nothing(c):
    return f"new{next(NUMBERS)}"


def made(line):
    def make(c):
        name = nothing(c)
        c.run(line.format(name)).ok()
        return name
    return make


def of_job(*fields):
    return lambda c, job: tuple(c.job(job).get(f, "") for f in fields)


def of_node(*fields):
    return lambda c, _: tuple(c.node("n1").get(f, "") for f in fields)


def node_exists(c, name):
    return c.run(f"scontrol show node {name}").returncode == 0


def count_of(line):
    """How often the name is in a listing."""
    return lambda c, name: c.run(line).stdout.replace(",", " ").split().count(str(name))


def shown(line, *fields):
    return lambda c, name: tuple(fields_of(c.run(f"{line} {name} -o").ok())[f] for f in fields)


RESERVE = "scontrol create reservation ReservationName={} StartTime=now+10hours Duration=10 Nodes=n1 Users=root Flags=overlap"
PARTITION = "scontrol create PartitionName={} Nodes=n1"
NODE = "scontrol create NodeName={} State=CLOUD CPUs=1"
# what it is, what it is for, the command, what is looked at, what this is once it is done
COMMANDS = [
    ("submit", nothing, "sbatch -J {} -o /dev/null --wrap true", count_of("squeue -h -o %j"), 1),
    ("submit_array", nothing, "sbatch -J {} --array=1-50 -o /dev/null --wrap true", count_of("squeue -h -r -o %j"), 50),
    ("update", held, "scontrol update JobId={} TimeLimit=17 Comment=changed", of_job("TimeLimit", "Comment"), ("00:17:00", "changed")),
    ("hold", waits, "scontrol hold {}", of_job("Priority", "Reason"), ("0", "JobHeldAdmin")),
    ("release", lambda c: c.sbatch("-H", "-o", "/dev/null", wrap="true"), "scontrol release {}", of_job("Reason"), ("PartitionDown",)),
    ("cancel", held, "scancel {}", of_job("JobState"), ("CANCELLED",)),
    ("cancel_running", runs, "scancel {}", of_job("JobState"), ("CANCELLED",)),
    ("requeue", runs, "scontrol requeue {}", of_job("Restarts"), ("1",)),
    ("requeuehold", runs, "scontrol requeuehold {}", of_job("Restarts", "Priority"), ("1", "0")),
    ("suspend", runs, "scontrol suspend {}", of_job("JobState"), ("SUSPENDED",)),
    ("resume", suspended, "scontrol resume {}", of_job("JobState"), ("RUNNING",)),
    ("create_reservation", nothing, RESERVE, count_of("sinfo -h -T -o %i"), 1),
    ("update_reservation", made(RESERVE), "scontrol update ReservationName={} Duration=33",
     shown("scontrol show reservation", "Duration"), ("00:33:00",)),
    ("delete_reservation", made(RESERVE), "scontrol delete ReservationName={}", count_of("sinfo -h -T -o %i"), 0),
    ("create_partition", nothing, PARTITION, count_of("sinfo -h -o %R"), 1),
    ("update_partition", made(PARTITION), "scontrol update PartitionName={} MaxTime=44 PriorityTier=7",
     shown("scontrol show partition", "MaxTime", "PriorityTier"), ("00:44:00", "7")),
    ("delete_partition", made(PARTITION), "scontrol delete PartitionName={}", count_of("sinfo -h -o %R"), 0),
    ("create_node", nothing, NODE, node_exists, True),
    ("delete_node", made(NODE), "scontrol delete NodeName={}", node_exists, False),
    ("update_node", nothing, "scontrol update NodeName=n1 Comment={} Weight=5", lambda c, name: c.node("n1").get("Comment") == name, True),
    ("drain", nothing, "scontrol update NodeName=n1 State=DRAIN Reason={}", lambda c, name: name in c.node("n1").get("Reason", ""), True),
    ("resume_node", lambda c: c.run("scontrol update NodeName=n1 State=DRAIN Reason=fan").ok(), "scontrol update NodeName=n1 State=RESUME",
     of_node("Reason"), ("",)),
    ("trigger", nothing, "strigger --set --node --down --program=/bin/{}",
     lambda c, name: c.run("strigger --get").stdout.count(f"/bin/{name}"), 1),
]


def kill_during(c, line, wait):
    """Returns the status of the command; the controller is killed this number of seconds after its start."""
    with c.popen(line.split()) as command:
        select.select([], [], [], wait)
        c.kill("slurmctld")
        c.start_controller()
        said = command.communicate(timeout=DEADLINE)
        return command.returncode, said


@pytest.mark.parametrize("make, line, look, done", [row[1:] for row in COMMANDS], ids=[row[0] for row in COMMANDS])
def test_controller_killed_during_a_command_loses_nothing(queue, make, line, look, done):
    """A1."""
    c, pick, lasts = queue, random.Random(SEED), None
    for kill in range(KILLS + 1):
        thing = make(c)
        before = look(c, thing)
        assert before != done
        began = time.monotonic()
        if kill == 0:  # how long it takes, and that it is done without a kill
            c.run(line.format(thing)).ok()
            lasts = time.monotonic() - began
            eventually(lambda: look(c, thing) == done, lambda: f"{look(c, thing)}")
        else:
            status, said = kill_during(c, line.format(thing), pick.random() * lasts)
            c.wait_ready(("idle", "alloc", "mix", "drain", "drng", "idle~", "drain*"))
            after = look(c, thing)
            if status == 0:
                eventually(lambda: look(c, thing) == done, lambda: f"{said}: {look(c, thing)}")
            else:
                assert after in (before, done), (said, after)
        c.run("scontrol update NodeName=n1 State=RESUME")
        if make in (runs, suspended):
            c.run(f"scontrol resume {thing}")
            c.run(f"scancel {thing}").ok()
    assert set(c.before.splitlines()) <= set(c.run(c.listing).ok().splitlines())
