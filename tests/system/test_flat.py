# SPDX-License-Identifier: GPL-3.0-or-later
"""A mixed load leaves nothing behind: memory, descriptors and state stay constant after a warm-up. RELIABILITY J1."""
import pathlib
import re
import time

import pytest

import bulk
import figures
from harness import SOAK, amount, eventually

WARM, ROUNDS, JOBS = amount(3, 20), amount(4, 404), 210 if SOAK else 30
ENOUGH = 400  # questions: the latest ones of fewer are chance
OTHERS = 13  # jobs of a round that are not of bulk.submit()
RATE = 50  # jobs a second: a round of the soak begins when those of the rounds before have had their time, whether they have ended or not
QUESTIONS = "squeue", "sinfo -N -l", "scontrol show job", "scontrol show node", "squeue --json", "sprio", "scontrol ping"
CALLS = amount(10, 200)
SLACK_KIB = 1024  # of a heap that is used in another order

pytestmark = pytest.mark.allocator  # measures memory


def held(pid):
    """(KiB of its own memory, descriptors)"""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]), len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def load(c, round_):
    """Jobs that end, fail, wait for others, are cancelled, held, requeued; arrays, steps, questions and a restart of a node daemon.
    Returns how long each question took. The jobs may still be there."""
    took = []
    bulk.submit(c, JOBS)
    array = c.sbatch("--array=1-10%3", "-o", "/dev/null", wrap="exit $((SLURM_ARRAY_TASK_ID % 3))")
    c.sbatch("-d", f"afterany:{array}", "-o", "/dev/null", wrap="srun -n2 true")
    held_one = c.sbatch("-H", "-o", "/dev/null", wrap="true")
    again = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    c.run(f"scontrol update JobId={held_one} Comment=round{round_} TimeLimit=5").ok()
    for line in QUESTIONS:
        began = time.monotonic()
        c.run(line).ok()
        took.append(time.monotonic() - began)
    assert c.run("srun -n2 echo here").ok() == "here\nhere"
    eventually(lambda: c.state(again) == "RUNNING", "running")
    c.run(f"scontrol requeue {again}").ok()
    c.run(f"scancel {again} {held_one}").ok()
    if round_ % 5 == 2:
        c.kill("n1")
        c.start_node("n1")
        c.wait_ready()
    return took


def cost_of_call(c, line):
    """CPU seconds of the controller."""
    pid = c.daemons["slurmctld"].pid
    before = figures.cpu_of_threads(pid)
    c.run(line).ok()
    return figures.cpu_of_threads(pid) - before


def cost_of_questions(c):
    """The same for each question once, when there are no jobs: the least of many calls is hardly more on a busy machine."""
    return sum(min(cost_of_call(c, line) for _ in range(CALLS)) for line in QUESTIONS)


def end(c):
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue", 120)
    eventually(lambda: not c.run("squeue -h -t all").ok(), "all is purged", 120)


def rounds(c, first, count):
    """Returns the results of load() of each round. In the soak jobs arrive all the time; otherwise each round ends before the next one begins."""
    took, began = [], time.monotonic()
    for round_ in range(count):
        took.append(load(c, first + round_))
        if SOAK:
            time.sleep(max(0.0, (round_ + 1) * (JOBS + OTHERS) / RATE - (time.monotonic() - began)))
        else:
            end(c)
    rate = count * (JOBS + OTHERS) / (time.monotonic() - began)
    end(c)
    return took, rate


@figures.figure
def test_memory_and_descriptors_stay_flat(make_cluster):
    """J1."""
    c = make_cluster(nodes=2, conf="MinJobAge=2\nMaxJobCount=100000\nSlurmctldDebug=error\nSlurmdDebug=error")
    rounds(c, 0, WARM)
    names = ("slurmctld", "n2")
    warm = {name: held(c.daemons[name].pid) for name in names}
    size, cost = sum(f.stat().st_size for f in (c.dir / "state").iterdir()), cost_of_questions(c)
    took, rate = rounds(c, WARM, ROUNDS)
    early, later = (figures.percentile([one for round_ in half for one in round_]) for half in (took[:ROUNDS // 2], took[ROUNDS // 2:]))
    print(f"of the questions of the first half 99 in 100 took {early * 1000:.0f} ms, of the second {later * 1000:.0f} ms")
    if SOAK:  # otherwise rounds wait for their jobs
        figures.report("J1", f"jobs a second in {ROUNDS} rounds", rate, 0.98 * RATE, "jobs/s", at_least=True)
    if sum(map(len, took)) >= ENOUGH:
        figures.report("J1", "99 in 100 questions, the second half beside the first", later / early * 100, 110, "%")
    assert later < early * 1.1 + 2  # a machine that is shared is busier at times
    figures.report("J1", f"CPU time of the controller for each kind of question after {ROUNDS} rounds beside before",
                   cost_of_questions(c) / cost * 100, 110, "%", cpu=True)
    for name in names:
        (before, had), (after, has) = warm[name], held(c.daemons[name].pid)
        print(f"{name}: {before} KiB, {had} descriptors; after {ROUNDS} rounds {after} KiB, {has} descriptors")
        assert after <= before * 1.05 + SLACK_KIB, (name, before, after)
        assert has <= had + 2, (name, had, has)
    grown = sum(f.stat().st_size for f in (c.dir / "state").iterdir())
    assert grown <= size + (24 << 20), (size, grown)  # the log goes home when it has 16 MiB
