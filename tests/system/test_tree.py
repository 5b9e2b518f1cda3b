# SPDX-License-Identifier: GPL-3.0-or-later
"""The fan-out tree: a launch goes to some nodes, which pass it on: CORE-225 to 229."""
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


def test_a_dead_inner_node_costs_itself(wide):
    """CORE-229: the first node below srun is gone: it alone is what the launch fails for, and the others had it."""
    c = wide
    job = c.sbatch(f"-N{NODES}", "--no-kill", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "an allocation")
    c.kill("n8")
    said = c.run(["srun", "-vv", f"--jobid={job}", "--overlap", f"-N{NODES}", "sh", "-c", "echo $SLURMD_NODENAME; sleep 1000"])
    failed = said.fails("n8")
    assert re.search(r"node n8 is lost on the way to 6 others|n8 .*127.0.0.1", failed), failed
    launched = set(re.findall(r"launched StepId=\S+ on host (n\d+)", failed))
    assert launched == set(c.names) - {"n8"}, failed
    c.start_node("n8")
    c.run(f"scancel {job}").ok()
    c.wait(job)


@pytest.mark.parametrize("stopped", ["n1", "n8"])
def test_a_silent_inner_node_costs_itself(wide, stopped):
    """CORE-229: a node daemon that hangs with a launch in its hands: the others start; and it does when it goes on, once."""
    c = wide
    c.daemons[stopped].send_signal(signal.SIGSTOP)
    eventually(lambda: c.stopped(stopped), "stopped")
    step = c.popen(["srun", "-vv", f"-N{NODES}", "sh", "-c", f"echo $SLURMD_NODENAME >>{c.work}/ledger"])
    started = lambda: sorted((c.work / "ledger").read_text().split()) if (c.work / "ledger").exists() else []
    eventually(lambda: started() == sorted(set(c.names) - {stopped}), started)
    c.daemons[stopped].send_signal(signal.SIGCONT)
    out, err = step.communicate(timeout=60)
    assert step.returncode == 0, err
    assert f"node {stopped} is lost on the way to" in err
    assert started() == sorted(c.names)


def test_a_node_dies_while_others_wait_below_it(make_cluster):
    """CORE-228, CORE-229: killed with a prolog still running below it: the repeat finds the launch that is there, and nothing runs twice."""
    c = make_cluster(nodes=NODES, cpus=2, conf="TreeWidth=2\nMessageTimeout=3\nProlog=/bin/true", start=False)
    gate = c.dir / "gate"
    prolog = c.dir / "prolog"
    prolog.write_text(f"#!/bin/sh\n[ $SLURMD_NODENAME = n3 ] || exit 0\nwhile [ ! -e {gate} ]; do sleep 0.05; done\n")
    prolog.chmod(0o755)
    c.conf_file.write_text(c.conf_file.read_text().replace("/bin/true", str(prolog)))
    c.start()
    step = c.popen(["srun", "-vv", "--no-kill", f"-N{NODES}", "sh", "-c", f"echo $SLURMD_NODENAME >>{c.work}/ledger"])
    started = lambda: (c.work / "ledger").read_text().split() if (c.work / "ledger").exists() else []
    eventually(lambda: sorted(started()) == sorted(set(c.names) - {"n3"}), started)
    parent = passed_on(c)["n3"]
    c.kill(parent)  # it passes on the answer of n3, and has given its own
    c.start_node(parent)
    gate.touch()
    out, err = step.communicate(timeout=60)
    assert sorted(started()) == sorted(c.names), err
    above = passed_on(c)[parent]
    assert f"tree: node {parent} is lost with 1 below it" in (c.dir / f"slurmd-{above}.log").read_text()
    assert step.returncode == 0, err


@pytest.mark.skipif(not ROOT, reason="needs root to become an ordinary user")
def test_a_users_launch(wide):
    """Each node does it for the user who asks, and the output finds the way back to srun."""
    out = wide.run(["srun", f"-N{NODES}", "sh", "-c", "id -un"], user="nobody").ok()
    assert out.split() == ["nobody"] * NODES


@pytest.fixture
def make_hosts():
    with many(Hosts) as make:
        yield make


def test_output_goes_back_to_the_origin(make_hosts):
    """docs/adr/0017: hosts with addresses of their own: shepherds connect to the host that srun runs on, not to who passed it on."""
    c = make_hosts(nodes=7, cpus=2, conf="TreeWidth=2")
    c.start()
    for host in ("n1", "n7"):  # one that is in the step itself, and a head
        said = c.run(["srun", "-vv", "-N7", "sh", "-c", "echo $SLURMD_NODENAME $SLURM_LAUNCH_NODE_IPADDR"], host=host)
        number = 9 + int(host[1:])
        assert sorted(said.ok().splitlines()) == [f"n{i} {ADDRESS}{number}" for i in range(1, 8)]
        assert len(heads(said.stderr)) == 2
