# SPDX-License-Identifier: GPL-3.0-or-later
"""When heterogeneous jobs start, over hours of virtual time: slurmsim runs plans, and the starts of all jobs are compared."""
import re
import subprocess

import pytest

from test_simulation import ENV

LINE = re.compile(r"^ *(\d+) ms control: job (\S+) (submitted|started|ended): .*?(?:name=(\S+)|state=(\S+)|$)", re.MULTILINE)
MINUTE, HOUR = 60, 3600


def line(word, **pairs):
    return " ".join([word, *(f"{key.replace('_', '-')}={value}" for key, value in pairs.items())])


def job(number, at, limit, run=0, **pairs):
    """A line of a plan for a job that takes a node of four cores; times in seconds. Without 'run' the job runs to its limit."""
    return line("job", at=at * 1000 + number, kind="batch", id=number, limit=limit, run=(run or limit + 99) * 1000, **{"tasks": 4, **pairs})


def number_of(text):
    return int(re.search(r"(?:id|job)=(\d+)", text)[1])


def run_plan(tmp_path, sched, parts, jobs, nodes=3):
    """Runs the plan. Returns {number of the job: seconds of its start}, without jobs that do not start."""
    plan = tmp_path / "plan"
    lines = [line("run", seed=1), line("conf", set=f"SchedulerParameters=bf_interval=30{sched}"), line("node", id=1, count=nodes, cores=4, mem=2000)]
    lines += [line("part", part=name, nodes=where, options="MaxTime=INFINITE" + more) for name, where, more in parts]
    plan.write_text("\n".join([*lines, *sorted(jobs, key=number_of)]) + "\n")
    done = subprocess.run(["slurmsim", f"--plan={plan}", "--verbose"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    names, began = {}, {}
    for at, number, what, name, _ in LINE.findall(done.stdout):
        if what == "submitted":
            names[number] = int(name.removeprefix("j"))
        elif what == "started":
            began[names[number]] = int(at) // 1000
    return began


# Alone, the components would start now, in 2 hours and in 1 hour.
PARTS = [("a", "n1", ""), ("b", "n2", ""), ("c", "n3", "")]
BUSY = [job(1, 0, 2 * HOUR, part="b"), job(2, 0, HOUR, part="c")]
SET = [job(3, 60, HOUR, MINUTE, part="a"), job(4, 60, HOUR, MINUTE, part="b", component_of=3), job(5, 60, HOUR, MINUTE, part="c", component_of=3)]
# The first pass that sees the set has mode 1, that of the next submission mode 2, and so on; without events a pass follows after 30 s.
TWO_MODES = ",hetjob_two_mode"


def test_mode_1_keeps_what_component_0_could_have(tmp_path):
    """HET-121: in a pass of mode 1 component 0 could start but does not, and no other job gets its node; component 2 is not considered before the
    start of component 1, and jobs that end until then run on its node."""
    jobs = [*BUSY, *SET,
            job(6, 61, HOUR, part="b"),                    # mode 2
            job(7, 62, 90 * MINUTE, part="a"),             # mode 1: the node is kept, until the pass of mode 2 in 30 s
            job(8, 200, HOUR + 10 * MINUTE, part="c"),     # would not be over when component 1 starts
            job(9, 200, 50 * MINUTE, part="c")]            # would be
    began = run_plan(tmp_path, TWO_MODES, PARTS, jobs)
    assert began[3] == began[4] == began[5] == 2 * HOUR
    assert 62 + 29 <= began[7] <= 62 + 31
    assert began[9] == HOUR
    assert began[8] == 2 * HOUR + MINUTE


def test_mode_2_leaves_what_component_0_could_have(tmp_path):
    """HET-122: in a pass of mode 2 all components are considered from the start of component 1 on. A job that ends until then gets the node of
    component 0 at once; a longer one does not."""
    jobs = [*BUSY, *SET,
            job(6, 61, 90 * MINUTE, part="a"),                             # mode 2
            job(7, 61 + 91 * MINUTE, HOUR, part="a"),                      # would not be over when component 1 starts
            job(8, 61 + 91 * MINUTE, 20 * MINUTE, part="a")]
    began = run_plan(tmp_path, TWO_MODES, PARTS, jobs)
    assert began[6] == 61
    assert began[3] == began[4] == began[5] == 2 * HOUR
    assert 61 + 91 * MINUTE <= began[8] <= 61 + 91 * MINUTE + 31
    assert began[7] == 2 * HOUR + MINUTE


def test_a_joint_placement_keeps_no_node_before_the_start(tmp_path):
    """The same without two modes: no node is kept until the set starts, so job 7 starts at once."""
    jobs = [*BUSY, *SET, job(6, 61, HOUR, part="b"), job(7, 62, 90 * MINUTE, part="a"), job(9, 200, 50 * MINUTE, part="c")]
    began = run_plan(tmp_path, "", PARTS, jobs)
    assert began[3] == began[4] == began[5] == 2 * HOUR and began[7] == 62 and began[9] == HOUR


def test_the_starts_of_mode_2_are_dropped(tmp_path):
    """HET-118 to 120: the node of component 1 is free after 10 minutes, not after 2 hours: the set starts in the next pass of mode 1."""
    busy = [job(1, 0, 2 * HOUR, 10 * MINUTE, part="b"), job(2, 0, HOUR, 5 * MINUTE, part="c")]
    began = run_plan(tmp_path, TWO_MODES, PARTS, [*busy, *SET])
    assert began[3] == began[4] == began[5] and 10 * MINUTE <= began[3] <= 10 * MINUTE + 31


@pytest.mark.parametrize("sched", ["", TWO_MODES, ",hetjob_two_mode,bf_hetjob_immediate", ",bf_hetjob_prio=avg"])
def test_ordinary_jobs_do_not_depend_on_a_set(tmp_path, sched):
    """HET-123: a job for another node than those of the set starts as without the set."""
    parts = [("a", "n1", ""), ("b", "n2", ""), ("c", "n3", "")]
    others = [job(1, 0, 2 * HOUR, part="b"), job(2, 0, HOUR, part="c"), job(8, 70, HOUR, 600, part="c"), job(9, 71, 50 * MINUTE, part="c")]
    pair = [job(3, 60, HOUR, MINUTE, part="a"), job(4, 60, HOUR, MINUTE, part="b", component_of=3)]
    with_set, without = (run_plan(tmp_path, sched, parts, jobs) for jobs in ([*others, *pair], others))
    assert (with_set[8], with_set[9]) == (without[8], without[9]) == (HOUR, HOUR + 600)
    assert with_set[3] == with_set[4] == 2 * HOUR


# Two sets with a component in each partition: the pass walks 'a' and then 'b'.
# Job 99 runs on, for the simulator cancels what waits when nothing else is to come.
OVERLAPPING = [("a", "n[1-2]", ""), ("b", "n[1-2]", ""), ("last", "n3", "")]
LAST = job(99, 0, 4 * HOUR, part="last")
TWO_SETS = [LAST, job(1, 0, 10 * MINUTE, part="a"), job(2, 0, 10 * MINUTE, part="a"),
            job(3, 60, HOUR, MINUTE, part="a"), job(4, 60, HOUR, MINUTE, part="b", component_of=3),
            job(5, 60, HOUR, MINUTE, part="a"), job(6, 60, HOUR, MINUTE, part="b", component_of=5)]


def test_sets_of_different_partitions_may_block_each_other(tmp_path):
    """HET-126: each of the two sets keeps a node that the other one needs, until one of them is cancelled."""
    began = run_plan(tmp_path, TWO_MODES, OVERLAPPING, [*TWO_SETS, line("do", at=2 * HOUR * 1000, what="cancel", job=5, root=1)])
    assert began[3] == began[4] and began[3] >= 2 * HOUR and 5 not in began and 6 not in began


@pytest.mark.parametrize("rule", ["bf_hetjob_prio=min", "bf_hetjob_prio=avg", "bf_hetjob_prio=max", "bf_hetjob_immediate"])
@pytest.mark.parametrize("tiers", ["", ";PriorityTier=5"])
def test_components_of_different_partitions_are_planned_one_after_the_other(tmp_path, rule, tiers):
    """HET-126, HET-127: with a common place the sets start one after the other, also where the partitions have different tiers, and before a job of 'a' that
    was submitted after them."""
    parts = [("a", "n[1-2]", ""), ("b", "n[1-2]", tiers), ("last", "n3", "")]
    began = run_plan(tmp_path, f"{TWO_MODES},{rule}", parts, [*TWO_SETS, job(7, 70, HOUR, MINUTE, part="a")])
    assert began[3] == began[4] and 10 * MINUTE <= began[3] <= 10 * MINUTE + 31
    assert began[5] == began[6] and began[3] + MINUTE <= began[5] <= began[3] + MINUTE + 61


@pytest.mark.parametrize("rule, first", [("min", "job"), ("max", "set")])
def test_bf_hetjob_prio_chooses_the_tier(tmp_path, rule, first):
    """HET-126: one component has a partition of a higher tier than the job that competes with the other one, which has the lower tier."""
    parts = [("high", "n[1-2]", ";PriorityTier=5"), ("mid", "n[1-2]", ";PriorityTier=3"), ("low", "n[1-2]", ""), ("last", "n3", "")]
    jobs = [LAST, job(1, 0, 10 * MINUTE, part="high"), job(2, 0, 10 * MINUTE, part="high"),
            job(3, 60, HOUR, MINUTE, part="low"), job(4, 60, HOUR, MINUTE, part="high", component_of=3), job(5, 61, HOUR, MINUTE, part="mid")]
    began = run_plan(tmp_path, f",bf_hetjob_prio={rule}", parts, jobs)
    assert (began[3] < began[5]) == (first == "set") and began[3] == began[4]


@pytest.mark.parametrize("swapped", [False, True])
def test_overlapping_partitions_do_not_starve(tmp_path, swapped):
    """HET-97: components with five of the ten nodes in p1, and with the five of p2, start at once, in any order."""
    parts = [("p1", "n[1-10]", ""), ("p2", "n[1-5]", "")]
    names = ("p2", "p1") if swapped else ("p1", "p2")
    jobs = [job(number, 60, HOUR, MINUTE, part=name, tasks=20, **more) for number, name, more in zip((1, 2), names, ({}, {"component_of": 1}))]
    assert run_plan(tmp_path, "", parts, jobs, nodes=10) == {1: 60, 2: 60}


def test_components_share_a_node(tmp_path):
    """HET-95: as often as two components have room on a node, now and in a planned start."""
    parts = [("all", "n1", "")]
    jobs = [job(number, 60, HOUR, 10 * MINUTE, part="all", tasks=2, **({"component_of": number - 1} if number % 2 == 0 else {})) for number in range(1, 7)]
    assert run_plan(tmp_path, "", parts, jobs) == {number: 60 + (number - 1) // 2 * 10 * MINUTE for number in range(1, 7)}
