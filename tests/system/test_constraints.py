# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes a job gets by their features: --constraint in all its forms, --prefer, features that change."""
import pytest

from harness import Cluster, eventually

FEATURES = {"n1": "red,rack1", "n2": "red,rack1", "n3": "blue,rack2", "n4": "blue,rack2,fast"}


@pytest.fixture(scope="module")
def painted():
    c = Cluster(nodes=4, conf="NodeName=DEFAULT Feature=x\n")
    try:
        for node, features in FEATURES.items():
            c.run(f"scontrol update NodeName={node} AvailableFeatures={features},x ActiveFeatures={features},x").ok()
        yield c
        c.stop()
    finally:
        c.destroy()


def nodes(c, *options):
    return c.run(["salloc", "-Q", *options, "sh", "-c", "scontrol show hostnames"]).ok().split()


@pytest.mark.parametrize("options,expected", [
    (["-C", "fast"], ["n4"]),
    (["-C", "(fast|rack1)&red"], ["n1"]),
    (["-C", "red&(rack2|rack1)"], ["n1"]),
    (["-N2", "-C", "[rack1|rack2]"], ["n1", "n2"]),
    (["-N2", "-C", "[(rack1&fast)|rack2]"], ["n3", "n4"]),
    (["-N3", "-C", "fast*1"], ["n1", "n2", "n4"]),
    (["-N2", "-C", "blue*1&x"], ["n1", "n3"]),
    (["-C", "[rack1*2&rack2*1]"], ["n1", "n2", "n3"]),
    (["-C", "[rack1*1&rack2*2]"], ["n1", "n3", "n4"]),
    (["-C", "[(rack1|fast)*1&(blue)*2]"], ["n1", "n3", "n4"]),
    (["-C", "red*1&fast*1", "-N2-3"], ["n1", "n2", "n4"]),
    (["-C", "[red*1&fast*1]"], ["n1", "n4"]),
    (["-C", "red*1&rack1*1"], ["n1"]),
    (["-N2", "-C", "red*1&fast*1"], ["n1", "n4"]),
    (["--prefer", "blue"], ["n3"]),
    (["--prefer", "blue", "-C", "red"], ["n3"]),
    (["-N2", "--prefer", "fast", "-C", "red"], ["n1", "n2"]),
    (["-n2", "-N1-4", "--use-min-nodes"], ["n1"]),
    (["-n3", "--spread-job"], ["n1", "n2", "n3"]),
])
def test_nodes_by_features(painted, options, expected):
    assert nodes(painted, *options) == expected


@pytest.mark.parametrize("options,why", [
    (["-C", "[red"], "[ is not closed"),
    (["-C", "(red"], "a parenthesis is not closed"),
    (["-C", "red)"], "closing bracket"),
    (["-C", "[red&blue]"], "[a*1&b*2]"),
    (["-C", "red*0"], "a number of nodes"),
    (["-C", "red|blue*2"], "joined by &"),
    (["-C", "green"], "green: no node has this feature"),
    (["--prefer", "green"], "green: no node has this feature"),
    (["--prefer", "red&"], "--prefer=red&: a name is missing"),
    (["-N2", "-C", "[red*1&blue*2]"], "asks for 3 nodes, the job has 2 at most"),
    (["-C", "[red*1&fast*2]"], "count 2 of the constraint asks for 2 nodes, partition main has 1 of them"),
    (["-C", "(" * 17 + "red" + ")" * 17], "16 levels"),
    (["-C", "&".join(["red"] * 65)], "64 names"),
])
def test_invalid_constraints_are_refused(painted, options, why):
    painted.run(["srun", *options, "true"]).fails(why)
    painted.run(["sbatch", *options, "--wrap", "true"]).fails(why)


def test_inactive_feature_does_not_match(painted):
    c = painted
    c.run("scontrol update NodeName=n2 ActiveFeatures=rack1,x").ok()
    assert "   AvailableFeatures=red,rack1,x\n   ActiveFeatures=rack1,x\n" in c.run("scontrol show node n2").ok()
    assert c.run(["sinfo", "-h", "-n", "n2", "-o", "%f %b"]).ok().split() == ["red,rack1,x", "rack1,x"]
    c.run("srun -N2 -C red true").fails("Requested node configuration is not available")
    c.run("scontrol update NodeName=n1 ActiveFeatures=").ok()
    assert c.run(["sinfo", "-h", "-n", "n1", "-o", "%f %b"]).ok().split() == ["red,rack1,x", "(null)"]
    c.run("srun -C red true").fails("red: no node has this feature active")
    c.run("scontrol update NodeName=n1 ActiveFeatures=green").fails("green is active and must be one of")
    c.run("scontrol update NodeName=n2 AvailableFeatures=red").fails("rack1 is active and must be one of")
    c.kill("slurmctld")
    c.start_controller()
    assert c.run(["sinfo", "-h", "-n", "n2", "-o", "%f %b"]).ok().split() == ["red,rack1,x", "rack1,x"]
    # A job that waits is looked at again when features change.
    job = c.sbatch("--hold", "-N2", "-C", "x", "-o", "/dev/null", wrap="true")
    c.run("scontrol update NodeName=n1 ActiveFeatures=rack1,x").ok()
    c.run(["scontrol", "update", f"JobId={job}", "Features=x&rack1&(x|blue)"]).ok()
    c.run("scontrol update NodeName=n2 ActiveFeatures=x").ok()
    c.run(f"scontrol release {job}").ok()
    eventually(lambda: c.run(f"squeue -h -j {job} -o %R").ok() == "(BadConstraints)", "no nodes have the feature now")
    for node in ("n1", "n2"):
        c.run(f"scontrol update NodeName={node} ActiveFeatures={FEATURES[node]},x").ok()
    assert c.wait(job)["NodeList"] == "n[1-2]"
    assert nodes(c, "-N2", "-C", "red") == ["n1", "n2"]


def test_job_does_not_wait_for_preferred_nodes(painted):
    c = painted
    holder = c.sbatch("--exclusive", "-w", "n4", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(holder) == "RUNNING", "n4 is taken")
    assert nodes(c, "--prefer", "fast") == ["n1"]
    job = c.sbatch("--hold", "--prefer=fast", "-C", "red", "-o", "/dev/null", wrap="true")
    assert c.run(f"squeue -h -j {job} -O prefer:20,feature:20").ok().split() == ["fast", "red"]
    c.run(f"scontrol update JobId={job} Prefer=blue Features=x").ok()
    assert c.run(f"squeue -h -j {job} -O prefer:20,feature:20").ok().split() == ["blue", "x"]
    c.run(f"scancel {job} {holder}").ok()
    assert c.wait(holder)
