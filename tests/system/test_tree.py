# SPDX-License-Identifier: GPL-3.0-or-later
"""The fan-out tree: a launch goes to some nodes, which forward it: CORE-225 to 229."""
import re
import signal

import pytest

from harness import ROOT, eventually, many
from hosts import ADDRESS, Hosts

NODES = 14  # with a width of 2: 7 below each of the first two, and three levels below the origin


@pytest.fixture
def wide(make_cluster):
    return make_cluster(nodes=NODES, cpus=2, conf="TreeWidth=2\nMessageTimeout=3")


def heads(said):
    return re.findall(r"node (n\d+) passes the request on to (\d+) other", said)


def passed_on(c):
    """Who was asked by which node, as the nodes' logs say."""
    return {child: node for node in c.names
            for child in re.findall(r"tree: a request of user \d+ goes to node (n\d+)", (c.dir / f"slurmd-{node}.log").read_text())}


def depth(parents, node):
    return 1 + depth(parents, parents[node]) if node in parents else 1


def test_launch_goes_down_the_tree(wide):
    """CORE-225, CORE-226: srun asks as many nodes as the tree is wide; the others are asked by those, in a depth that is a logarithm."""
    c = wide
    assert re.search(r"^TreeWidth +=? ?2$", c.run("scontrol show config").ok(), re.M)
    done = c.run(["srun", "-vv", f"-N{NODES}", "--ntasks-per-node=1", "-l", "sh", "-c", "echo $SLURMD_NODENAME"])
    assert sorted(done.ok().splitlines()) == sorted(f"{i}: n{i + 1}" if NODES <= 10 else f"{i:2}: n{i + 1}" for i in range(NODES))
    assert sorted(heads(done.stderr)) == sorted([("n1", "6"), ("n8", "6")])
    parents = passed_on(c)
    assert set(c.names) - set(parents) == {"n1", "n8"}
    assert max(depth(parents, node) for node in c.names) == 3
    assert all(list(parents.values()).count(node) <= 2 for node in c.names)


def test_width_of_one_launch(wide):
    """--treewidth: wider than the step, or off, each is asked by srun; a word that is none is refused."""
    for width, want in (("off", 0), (str(NODES), 0), ("0", 0), ("4", 4), ("1", 2)):
        said = wide.run(["srun", "-vv", f"--treewidth={width}", f"-N{NODES}", "true"])
        said.ok()
        assert len(heads(said.stderr)) == want, width
    wide.run("srun --treewidth=some true").fails("--treewidth")
    wide.run("srun --treewidth=65534 true").fails("--treewidth")


def begun(c):
    ledger = c.work / "ledger"
    return sorted(ledger.read_text().split()) if ledger.exists() else []


def note(c):
    return ["sh", "-c", f"echo $SLURMD_NODENAME >>{c.work}/ledger"]


def prepared(c):
    """Nodes that have accepted a step and wait for the word that all have."""
    return {n for n in c.names if re.search(r"step \S+ is prepared", (c.dir / f"slurmd-{n}.log").read_text())}


def forgotten(c):
    """Those of them that have given it up: their caller has, or the job has ended before they heard of that."""
    return {n for n in c.names if re.search(r"is no longer wanted|error: launch of ", (c.dir / f"slurmd-{n}.log").read_text())}


def test_dead_node_is_named(wide):
    """CORE-227, CORE-229: the first node below srun is dead: the launch fails only for it, and no task has begun elsewhere."""
    c = wide
    job = c.sbatch(f"-N{NODES}", "--no-kill", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "an allocation")
    c.kill("n8")
    failed = c.run(["srun", "-vv", f"--jobid={job}", "--overlap", f"-N{NODES}", *note(c)]).fails("n8")
    assert set(re.findall(r"Task launch for \S+ failed on node (n\d+)", failed)) == {"n8"}, failed
    assert begun(c) == []
    c.start_node("n8")
    c.run(f"scancel {job}").ok()
    c.wait(job)


@pytest.mark.parametrize("stopped", ["n1", "n8"])
def test_hanging_inner_node_fails_alone(wide, stopped):
    """CORE-229: a node daemon hangs after it received a launch: the nodes below it get the launch by another way; when it continues, all begin,
    once."""
    c = wide
    c.daemons[stopped].send_signal(signal.SIGSTOP)
    eventually(lambda: c.stopped(stopped), "stopped")
    step = c.popen(["srun", "-vv", f"-N{NODES}", *note(c)])
    eventually(lambda: prepared(c) == set(c.names) - {stopped}, lambda: prepared(c))
    assert begun(c) == []
    c.daemons[stopped].send_signal(signal.SIGCONT)
    out, err = step.communicate(timeout=60)
    assert step.returncode == 0, err
    assert f"node {stopped} is lost on the way to 6 others: it says nothing" in err
    assert re.search(rf"srun: StepId=\S+ waits to be accepted by {stopped}\b", err)
    assert begun(c) == sorted(c.names)


@pytest.fixture
def gated(make_cluster):
    """A prolog on n3 that waits for a file and exits with the status in it."""
    c = make_cluster(nodes=NODES, cpus=2, conf="TreeWidth=2\nMessageTimeout=3\nProlog=/bin/true", start=False)
    c.gate = c.dir / "gate"
    prolog = c.dir / "prolog"
    prolog.write_text(f"#!/bin/sh\n[ $SLURMD_NODENAME = n3 ] || exit 0\nwhile [ ! -s {c.gate} ]; do sleep 0.05; done\n"
                      f"exit $(cat {c.gate})\n")
    prolog.chmod(0o755)
    c.conf_file.write_text(c.conf_file.read_text().replace("/bin/true", str(prolog)))
    c.start()
    return c


def test_node_dying_above_others_is_bypassed(gated):
    """CORE-228, CORE-229: killed while a prolog runs below it: the repeated request finds the existing launch, and nothing runs twice."""
    c = gated
    step = c.popen(["srun", "-vv", f"-N{NODES}", *note(c)])
    eventually(lambda: prepared(c) == set(c.names) - {"n3"}, lambda: prepared(c))
    parent = passed_on(c)["n3"]
    c.kill(parent)  # it has said that it is prepared, and would pass on the word of n3
    c.start_node(parent)
    eventually(lambda: f"tree: node {parent} is lost with 2 below it" in (c.dir / f"slurmd-{passed_on(c)[parent]}.log").read_text(),
               "its loss is seen")
    c.gate.write_text("0")
    out, err = step.communicate(timeout=60)
    assert step.returncode == 0, err
    assert begun(c) == sorted(c.names)


def test_no_task_begins_when_one_node_refuses(gated):
    """CORE-227: all nodes but one have prepared, and the prolog of this one fails: no task has begun anywhere, and prepared launches are discarded.
    """
    c = gated
    step = c.popen(["srun", "-vv", f"-N{NODES}", *note(c)])
    eventually(lambda: prepared(c) == set(c.names) - {"n3"}, lambda: prepared(c))
    assert begun(c) == []
    c.gate.write_text("1")
    out, err = step.communicate(timeout=60)
    assert step.returncode != 0
    assert set(re.findall(r"Task launch for \S+ failed on node (n\d+)", err)) <= {"n3"}, err
    assert begun(c) == []
    eventually(lambda: forgotten(c) >= set(c.names) - {"n3"}, lambda: forgotten(c))


def test_interrupt_before_the_decision_starts_no_task(gated):
    """CORE-227: srun ends while nodes wait for its decision: they discard the step."""
    c = gated
    step = c.popen(["srun", "-vv", f"-N{NODES}", *note(c)])
    eventually(lambda: prepared(c) == set(c.names) - {"n3"}, lambda: prepared(c))
    step.kill()
    step.communicate()
    c.gate.write_text("0")
    eventually(lambda: forgotten(c) >= set(c.names) - {"n3"}, lambda: forgotten(c))
    assert begun(c) == []
    c.run("scancel --me" if ROOT else "scancel -t RUNNING")


@pytest.mark.skipif(not ROOT, reason="needs root to become an ordinary user")
def test_launch_of_an_ordinary_user_uses_the_tree(wide):
    """Each node runs the launch for the calling user, and the output reaches srun."""
    out = wide.run(["srun", f"-N{NODES}", "sh", "-c", "id -un"], user="nobody").ok()
    assert out.split() == ["nobody"] * NODES


@pytest.fixture
def make_hosts():
    with many(Hosts) as make:
        yield make


def test_output_goes_back_to_the_origin(make_hosts):
    """docs/adr/0017: hosts with separate addresses: step daemons connect to the host of srun, not to the node that forwarded the launch."""
    c = make_hosts(nodes=7, cpus=2, conf="TreeWidth=2")
    c.start()
    for host in ("n1", "n7"):  # one that is in the step itself, and a head
        said = c.run(["srun", "-vv", "-N7", "sh", "-c", "echo $SLURMD_NODENAME $SLURM_LAUNCH_NODE_IPADDR"], host=host)
        number = 9 + int(host[1:])
        assert sorted(said.ok().splitlines()) == [f"n{i} {ADDRESS}{number}" for i in range(1, 8)]
        assert len(heads(said.stderr)) == 2
