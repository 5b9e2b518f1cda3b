# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a job's nodes lie in the network: topology.conf, topology.yaml, blocks, --switches, the least loaded nodes: X-31."""
import re

import pytest

from harness import Cluster, eventually
from test_takeover import Pair

TREE = """# three leaves below one switch
SwitchName=s0 Nodes=n[1-2]
SwitchName=s1 Nodes=n[3-5] LinkSpeed=900
SwitchName=s2 Nodes=n6
SwitchName=top Switches=s[0-2]
"""
YAML = """---
- topology: default
  cluster_default: true
  block:
    block_sizes: [2, 4]
    blocks:
      - block: b1
        nodes: n[1-2]
      - block: b2
        nodes: n[3-4]
      - block: b3
        nodes: n[5-6]
"""


RINGS = """RingName=r1 Nodes=n[1-4]
RingName=r2 Nodes=n[6,5]
"""


TORUSES = """- topology: cubes
  cluster_default: true
  torus3d:
    toruses:
      - name: pod1
        dims: {x: 2, y: 2, z: 1}
        nodes: n[1-4]
        placements:
          - dims: {x: 2, y: 1, z: 1}
          - dims: {x: 2, y: 2, z: 1}
      - name: pod2
        dims: {x: 2, y: 1, z: 1}
        regions:
          - anchor: {x: 1, y: 0, z: 0}
            dims: {x: 1, y: 1, z: 1}
            nodes: n5
          - anchor: {x: 0, y: 0, z: 0}
            dims: {x: 1, y: 1, z: 1}
            nodes: n6
        placements:
          - dims: {x: 1, y: 1, z: 1}
            anchor_spacing: {x: 2, y: 1, z: 1}
          - dims: {x: 2, y: 1, z: 1}
            anchor_seed: {x: 1, y: 0, z: 0}
"""


def start(file, text, plugin, more="", **options):
    c = Cluster(nodes=6, conf=f"TopologyPlugin={plugin}\n{more}\n", start=False, **options)
    try:
        (c.dir / file).write_text(text)
        c.start()
    except BaseException:
        c.destroy()
        raise
    return c


@pytest.fixture(scope="module")
def tree():
    c = start("topology.conf", TREE, "topology/tree", "SchedulerParameters=max_switch_wait=600")
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def nodes(c, *options):
    return c.run(["salloc", "-Q", *options, "sh", "-c", "scontrol show hostnames"]).ok().split()


def test_job_uses_few_leaf_switches(tree):
    assert nodes(tree, "-N1") == ["n6"]
    assert nodes(tree, "-N2") == ["n1", "n2"]
    assert nodes(tree, "-N3") == ["n3", "n4", "n5"]
    assert nodes(tree, "-N4") == ["n3", "n4", "n5", "n6"]
    assert nodes(tree, "-N2", "-w", "n4") == ["n3", "n4"]
    assert nodes(tree, "-n3", "--spread-job") == ["n1", "n2", "n3"]


def test_topology_is_shown(tree):
    lines = ["SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]", "SwitchName=s1 Level=0 LinkSpeed=900 Nodes=n[3-5]",
             "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n6",
             "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-6] Switches=s[0-2]"]
    assert tree.run("scontrol show topology").ok().split("\n") == lines
    assert tree.run("scontrol show topology s1").ok() == lines[1]
    assert tree.run("scontrol show topology n6").ok().split("\n") == lines[2:]
    assert tree.run("scontrol show topology n[1,6]").ok() == lines[3]
    for unit in ("unit=s1", "switch=s1", "default unit=s1", "SWITCH=s1 default"):
        assert tree.run(f"scontrol show topology {unit}").ok() == lines[1]
    assert tree.run("scontrol show topology default node=n6").ok().split("\n") == lines[2:]
    assert tree.run("scontrol show topology", env={"SLURM_TOPO_LEN": "12"}).ok().split("\n") == [line[:12] for line in lines]
    tree.run("scontrol show partition a b").fails("too many arguments for keyword:show")
    tree.run("scontrol show topology nowhere").fails("contains no switch or node named nowhere")


def test_environment_names_the_switches(tree):
    show = ["sh", "-c", "echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN"]
    assert tree.run(["srun", "-w", "n4", *show]).ok() == "top.s1.n4 switch.switch.node"


def test_job_waits_for_fewer_switches(tree):
    c = tree
    holder = c.sbatch("--exclusive", "-w", "n4", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(holder) == "RUNNING", "n4 is taken")
    job = c.sbatch("-N3", "--switches=1@30", "-o", "/dev/null", wrap="true")
    eventually(lambda: c.job(job)["Reason"] == "Resources", "it waits for one switch")
    assert c.run(f"squeue -h -j {job} -O reqswitch:10,wait4switch:10").ok().split() == ["1", "10:00"]  # max_switch_wait
    # Others need not wait, and it needs not when it is to wait no longer.
    assert nodes(c, "-N3") == ["n1", "n2", "n6"]
    assert nodes(c, "-N3", "--switches=2") == ["n1", "n2", "n6"]
    soon = c.sbatch("-N3", "--switches=1@0:01", "-o", "/dev/null", wrap="true")
    assert c.wait(soon)["NodeList"] == "n[1-2,6]"
    assert c.state(job) == "PENDING"
    c.run(f"scancel {holder}").ok()
    assert c.wait(job)["NodeList"] == "n[3-5]"
    for bad in ("x", "1@", "1@x", "-1"):
        c.run(["sbatch", f"--switches={bad}", "--wrap", "true"]).fails(f'Invalid numeric value "{bad}" for --switches.' if "@" not in bad else f"Invalid --switches specification: {bad}")


@pytest.mark.parametrize("file, text, plugin", [
    ("topology.conf", TREE, "topology/tree"), ("topology.conf", RINGS, "topology/ring"), ("topology.yaml", YAML, "topology/block"), ("topology.yaml", TORUSES, "topology/torus3d"),
    ("topology.yaml", "- topology: x\n  flat: true\n", "topology/flat")])
def test_topoconf_is_a_topology_yaml(file, text, plugin):
    c = start(file, text, plugin)
    try:
        written = c.run("scontrol show topoconf").ok() + "\n"
        shown = c.run("scontrol show topology").stdout.replace("LinkSpeed=900", "LinkSpeed=1")
        c.stop()
        (c.dir / file).unlink()
        (c.dir / "topology.yaml").write_text(written)
        c.start()
        assert c.run("scontrol show topology").stdout == shown
        c.stop()
    finally:
        c.destroy()


def test_block_topology_chooses_nodes():
    c = start("topology.yaml", YAML, "topology/block")
    try:
        assert c.run("scontrol show topology").ok().split("\n") == [
            f"BlockName=b{i + 1} BlockIndex={i} Nodes=n[{2 * i + 1}-{2 * i + 2}] BlockSize=2" for i in range(3)]
        assert nodes(c, "-N2") == ["n1", "n2"]
        assert nodes(c, "-N2", "-w", "n4") == ["n3", "n4"]
        assert c.run(["srun", "-w", "n4", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN"]).ok() == (
            "b2.n4 block.node")
        assert nodes(c, "-N3", "--segment=1", "--spread-segments") == ["n1", "n3", "n5"]
        c.run("srun -N6 --segment=2 --consolidate-segments true").fails("Requested node configuration is not available")
        c.run("srun -N3 --segment=2 true").fails("3 nodes are not a whole number of segments of 2 (--segment)")
        job = c.sbatch("-N4", "--segment=2", "-w", "n2,n6", "-o", "segments.out", wrap="echo $SLURM_JOB_SEGMENT_SIZE")
        fields = c.wait(job)
        assert (fields["NodeList"], fields["SegmentSize"]) == ("n[1-2,5-6]", "2")
        assert (c.work / "segments.out").read_text() == "2\n"
        assert c.run(f"squeue -h -t all -j {job} -O SegmentSize").ok().split() == ["2"]
        assert c.json(f"squeue -t all -j {job}")["jobs"][0]["segment_size"] == 2
        c.stop()
    finally:
        c.destroy()


def test_exclusive_topo_job_has_its_blocks_alone():
    """X-31: --exclusive=topo and Exclusive=TOPO: no other job starts in the blocks of such a job, and the job does not start where others run."""
    main = "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED"
    c = start("topology.yaml", YAML, "topology/block", partitions=[main, "PartitionName=alone Nodes=ALL ExclusiveTopo=YES"])
    try:
        def submit(*options):
            return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")

        def runs(job):
            eventually(lambda: c.state(job) == "RUNNING", f"{job} runs")
            return c.job(job)["NodeList"]

        def waits(job, cause, other):
            eventually(lambda: c.job(job)["Reason"] == "Resources", f"{job} waits")
            said = c.run(f"sluice why {job}").ok()
            assert cause in said and str(other) in said

        c.run("sbatch --exclusive=topology --wrap true").fails("Invalid --exclusive specification: topology")
        first = submit("-N1", "-n1", "--exclusive=topo", "-w", "n1")
        assert runs(first) == "n1"
        assert c.run(f"squeue -h -j {first} -O Exclusive:8,OverSubscribe:8").ok().split() == ["TOPO", "NO"]
        assert c.json(f"scontrol show job {first}")["jobs"][0]["shared"] == ["topo"]
        assert c.run("sinfo -h -N -p main -o %N:%t:%T").ok().split()[:3] == ["n1:alloc:allocated", "n2:block:blocked", "n3:idle:idle"]
        assert "State=IDLE+BLOCKED " in c.run("scontrol show node n2").ok()
        assert sorted(c.json("scontrol show node n2")["nodes"][0]["state"]) == ["BLOCKED", "IDLE"]
        assert c.run("sinfo -h -N -p main -t blocked -o %N").ok().split() == ["n2"]
        other = submit("-N1", "-w", "n2")
        waits(other, "in blocks or switches that other jobs use", first)

        # A job that takes its block alone waits until the block is empty; a job that may use another block starts there.
        small = submit("-N1", "-n1", "-w", "n3")
        assert runs(small) == "n3"
        second = submit("-N1", "-n1", "-p", "alone", "-w", "n4")
        waits(second, "in blocks or switches that other jobs use", small)
        third = submit("-N2", "-p", "alone", "-x", "n[1-2]")
        assert runs(third) == "n[5-6]"
        assert "Exclusive=TOPO" in c.run("scontrol show partition alone").ok()
        c.run(f"scancel {small}").ok()
        assert runs(second) == "n4"

        # It is so after a restart; and the end of the job frees its block.
        c.kill("slurmctld")
        c.start_controller()
        eventually(lambda: c.run("sinfo -h -N -p main -o %N:%t").ok().split()[1] == "n2:block", "n2 is blocked")
        assert c.state(other) == "PENDING"
        c.run(f"scancel {first}").ok()
        assert runs(other) == "n2"
        kept = c.run(f"scontrol write config {c.dir}/kept").ok().split()[-1].strip(".")
        with open(kept, encoding="utf-8") as file:
            assert any("PartitionName=alone" in line and "ExclusiveTopo=YES" in line for line in file)
        c.run("scontrol update PartitionName=main Exclusive=topo").ok()
        assert "Exclusive=TOPO" in c.run("scontrol show partition main").ok()
        fourth = submit("-N1", "-w", "n1")
        waits(fourth, "in blocks or switches that other jobs use", other)
        c.run("scontrol update PartitionName=main Exclusive=no").ok()
        assert "Exclusive=NO" in c.run("scontrol show partition main").ok()
        assert runs(fourth) == "n1"
        c.run("scontrol update PartitionName=main Exclusive=few").fails("use NO, NONE, NODE, USER or TOPO")
        c.stop()
    finally:
        c.destroy()


def test_ring_topology_chooses_nodes():
    """X-31: nodes that follow one another in a ring, also over its end; segments may be in several rings."""
    c = start("topology.conf", RINGS, "topology/ring")
    try:
        assert c.run("scontrol show topology").ok().split("\n") == [
            "RingName=r1 RingIndex=0 Nodes=n[1-4] RingSize=4", "RingName=r2 RingIndex=1 Nodes=n[6,5] RingSize=2"]
        assert c.run("scontrol show topology node=n5").ok() == "RingName=r2 RingIndex=1 Nodes=n[6,5] RingSize=2"
        assert re.search(r"(?m)^TopologyPlugin +=? *(\S+)", c.run("scontrol show config").ok())[1] == "topology/ring"
        assert nodes(c, "-N2", "-w", "n5") == ["n5", "n6"]
        assert nodes(c, "-N3", "-w", "n1,n4", "-x", "n2") == ["n1", "n3", "n4"]
        assert nodes(c, "-N2", "-w", "ringwith{n6}") == ["n5", "n6"]
        assert nodes(c, "-N4", "-w", "ring{r1}") == ["n1", "n2", "n3", "n4"]
        assert c.run(["srun", "-w", "n5", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN"]).ok() == "r2.n5 ring.node"
        holder = c.sbatch("--exclusive", "-w", "n2", "-o", "/dev/null", wrap="sleep 1000")
        eventually(lambda: c.state(holder) == "RUNNING", "n2 is taken")
        assert nodes(c, "-N3") == ["n1", "n3", "n4"]
        assert nodes(c, "-N4", "--segment=2")[-2:] == ["n5", "n6"]
        c.run("srun -N5 true").fails("Requested node configuration is not available")
        c.run("srun -N3 --segment=2 true").fails("3 nodes are not a whole number of segments of 2 (--segment)")
        waits = c.sbatch("-N4", "-o", "/dev/null", wrap="true")
        eventually(lambda: c.job(waits)["Reason"] == "Resources", "a ring is not free")
        c.run("scontrol update NodeName=n6 Topology=default:r1").fails("a position from 0 to 15 is expected behind ring 'r1'")
        c.run(f"scancel {holder}").ok()
        assert c.wait(waits)["NodeList"] == "n[1-4]"
        c.run("scontrol update NodeName=n6 Topology=default:r1:2").ok()
        c.run("scontrol update NodeName=n5 Topology=default:r3:1").fails("ring 'r3' is new: its first position is 0")
        c.run("scontrol update NodeName=n5 Topology=default:r3:0").ok()
        moved = ["RingName=r1 RingIndex=0 Nodes=n[1-2,6,3-4] RingSize=5", "RingName=r2 RingIndex=1 Nodes= RingSize=0",
                 "RingName=r3 RingIndex=2 Nodes=n5 RingSize=1"]
        assert c.run("scontrol show topology").ok().split("\n") == moved
        assert nodes(c, "-N5") == ["n1", "n2", "n3", "n4", "n6"] and nodes(c, "-N2", "-w", "n6", "-x", "n2") == ["n3", "n6"]
        c.kill("slurmctld")
        c.start_controller()
        c.wait_ready()
        assert c.run("scontrol show topology").ok().split("\n") == moved
        c.stop()
    finally:
        c.destroy()


@pytest.fixture(name="cubes", scope="module")
def make_cubes():
    c = start("topology.yaml", TORUSES, "topology/torus3d")
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def test_jobs_get_placements_of_toruses(cubes):
    """X-31: the nodes of a job, or of each of its segments, are a placement of one torus."""
    c = cubes
    lines = ["TorusName=pod1 TorusIndex=0 Nodes=n[1-4] TorusSize=4 Dims=2x2x1 Placements=2x1x1,2x2x1",
             "TorusName=pod2 TorusIndex=1 Nodes=n[6,5] TorusSize=2 Dims=2x1x1 Placements=1x1x1,2x1x1"]
    assert c.run("scontrol show topology").ok().split("\n") == lines
    assert c.run("scontrol show topology torus=pod2").ok() == c.run("scontrol show topology node=n5").ok() == lines[1]
    assert re.search(r"(?m)^TopologyPlugin +=? *(\S+)", c.run("scontrol show config").ok())[1] == "topology/torus3d"
    assert nodes(c, "-N1") == ["n6"]
    assert nodes(c, "-N2", "-w", "n3") == ["n3", "n4"]
    assert nodes(c, "-N4") == ["n1", "n2", "n3", "n4"]
    assert nodes(c, "-N3-4") == ["n1", "n2", "n3", "n4"]
    assert nodes(c, "-N2", "-w", "toruswith{n6}") == ["n5", "n6"]
    assert nodes(c, "-N4", "-w", "torus{pod1}") == ["n1", "n2", "n3", "n4"]
    assert nodes(c, "-N4", "--segment=2") == ["n1", "n2", "n5", "n6"]
    assert nodes(c, "-N6", "--segment=2") == ["n1", "n2", "n3", "n4", "n5", "n6"]
    for options, says in (("-N3", "3 nodes match no placement of topology cubes: placements have 1,2,4"),
                          ("-N5-6", "5 to 6 nodes match no placement of topology cubes: placements have 1,2,4"),
                          ("-N6 --segment=3", "segments of 3 nodes match no placement of topology cubes"),
                          ("-N5 --segment=2", "5 nodes are not a whole number of segments of 2"),
                          ("-N2 -w n1,n3", "no placement of 2 nodes of topology cubes in partition main has the required nodes n[1,3]"),
                          ("-N2-3 -w n1,n5", "no placement of 2 to 3 nodes of topology cubes in partition main has the required nodes n[1,5]"),
                          ("-N4 -x n3", "--exclude leaves 5 of the 6 nodes of partition main, in no placement of topology cubes"),
                          ("-N1 -w n5", "no placement of 1 node of topology cubes in partition main has the required nodes n5")):
        c.run(f"sbatch {options} --wrap true").fails("Requested node configuration is not available", says)
    assert c.run(["srun", "-N2", "-n2", "-w", "n5", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN"]).ok().split("\n") in (
        ["pod2.n5 torus.node", "pod2.n6 torus.node"], ["pod2.n6 torus.node", "pod2.n5 torus.node"])


def test_placements_are_waited_for(cubes):
    """X-31: jobs start at once, by backfill, in reservations; sluice why prints what is missing."""
    c = cubes

    def submit(*options):
        return c.sbatch("--exclusive", "-o", "/dev/null", *options, wrap="sleep 1000")

    def runs(job):
        eventually(lambda: c.state(job) == "RUNNING", f"{job} runs")
        return c.job(job)["NodeList"]

    pod2 = submit("-N2", "-w", "n5", "-t", "10")
    assert runs(pod2) == "n[5-6]"
    pair = submit("-N2", "-w", "n1", "-t", "10")
    assert runs(pair) == "n[1-2]"
    whole = submit("-N4", "-t", "10")
    eventually(lambda: c.job(whole)["Reason"] == "Resources" and c.job(whole)["StartTime"] != "Unknown", "a start of the job is planned")
    late = submit("-N2", "-t", "60")  # would delay it
    soon = submit("-N2", "-t", "1")
    assert runs(soon) == "n[3-4]"
    assert c.state(late) == "PENDING"
    c.run(f"scancel {pair} {soon}").ok()
    assert runs(whole) == "n[1-4]"
    c.run(f"scancel {whole} {late} {pod2}").ok()
    eventually(lambda: set(c.run("sinfo -h -o %t").ok().split()) == {"idle"}, "idle nodes")

    # Three nodes are free: n1 and n4 are no neighbours, and n6 is alone in the other torus.
    c.run("scontrol update NodeName=n[2,3,5] State=DRAIN Reason=test").ok()
    waits = submit("-N2", "-t", "10")
    eventually(lambda: c.job(waits)["Reason"] != "None", "it waits")
    assert c.state(waits) == "PENDING"
    said = c.run(f"sluice why {waits}").ok()
    for text in ("It needs nodes that are down or drained.\n", "3  free: n[1,4,6]\n", "3  drained: n[2-3,5] (test)\n",
                 "now                  with 1 node\n"):
        assert text in said, said
    c.run("scontrol update NodeName=n[2,3,5] State=RESUME").ok()
    assert runs(waits) in ("n[1-2]", "n[3-4]", "n[5-6]")
    c.run(f"scancel {waits}").ok()

    c.run("scontrol create reservation ReservationName=two Nodes=n[1-2] StartTime=now Duration=60 Users=root").ok()
    assert nodes(c, "-N2", "--reservation=two") == ["n1", "n2"]
    assert nodes(c, "-N2", "-x", "n[5-6]") == ["n3", "n4"]
    four = submit("-N4", "-t", "10")
    eventually(lambda: c.job(four)["Reason"] != "None", "the reservation is in its way")
    assert c.state(four) == "PENDING" and "reserv" in c.run(f"sluice why {four}").ok()
    c.run("scontrol delete ReservationName=two").ok()
    assert runs(four) == "n[1-4]"
    c.run(f"scancel {four}").ok()
    eventually(lambda: set(c.run("sinfo -h -o %t").ok().split()) == {"idle"}, "idle nodes")


def test_why_reports_free_nodes_without_a_placement():
    c = Cluster(nodes=4, start=False)
    try:
        (c.dir / "topology.yaml").write_text(TORUSES[:TORUSES.index("      - name: pod2")].replace("{x: 2, y: 1, z: 1}", "{x: 1, y: 1, z: 1}\n          - dims: {x: 2, y: 1, z: 1}"))
        c.start()
        holders = [c.sbatch("--exclusive", "-w", name, "-o", "/dev/null", wrap="sleep 1000") for name in ("n2", "n3")]
        eventually(lambda: all(c.state(job) == "RUNNING" for job in holders), "n2 and n3 are taken")
        job = c.sbatch("-N2", "-o", "/dev/null", wrap="true")
        eventually(lambda: c.job(job)["Reason"] == "Resources", "it waits")
        assert "Enough nodes are free for it, but none of them that its topology places a job on together." in c.run(f"sluice why {job}").ok()
        assert c.json(f"sluice why {job}")["why"][0]["rule"] == "topology"
        c.run(f"scancel {holders[0]}").ok()
        assert c.wait(job)["NodeList"] == "n[1-2]"
        c.stop()
    finally:
        c.destroy()


def test_nodes_move_between_cells(make_cluster):
    """X-31: at once, through restarts and reconfigurations; dynamic nodes get cells that the file leaves empty."""
    c = make_cluster(nodes=6, start=False, conf="MaxNodeCount=10\n")
    (c.dir / "topology.yaml").write_text(TORUSES)
    c.start()

    def cells():
        return re.findall(r"Nodes=(\S*)", c.run("scontrol show topology").ok())

    for topology, says in (("cubes:pod1:0:0:0", "node n1 is in that cell"), ("cubes:pod1:2:0:0", "X is 2, expected at most 1"),
                           ("cubes:pod1", "expected cubes:pod1:X:Y:Z"), ("cubes:pod3:0:0:0", "topology cubes has no torus 'pod3'")):
        c.run(f"scontrol update NodeName=n6 Topology={topology}").fails(f"Topology={topology}: {says}")
    assert cells() == ["n[1-4]", "n[6,5]"]
    c.run("scontrol update NodeName=n4 Topology=").ok()
    c.run("scontrol update NodeName=n[5-6] Topology=cubes:pod1:1:1:0").fails("2 nodes, a cell of a torus has one")
    c.run("scontrol update NodeName=n6 Topology=cubes:pod1:1:1:0").ok()
    assert cells() == ["n[1-3,6]", "n5"]
    assert nodes(c, "-N4") == ["n1", "n2", "n3", "n6"]
    for address in c.run(["srun", "-N2", "-n2", "-w", "n6", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR"]).ok().splitlines():
        assert address.startswith("pod1."), address
    c.run("srun -w n4 true").fails("Requested node configuration is not available")
    c.kill("slurmctld")
    c.start_controller()
    assert cells() == ["n[1-3,6]", "n5"]
    c.run("scontrol create NodeName=d[1-2] State=FUTURE Topology=cubes:pod2:0:0:0").fails("2 nodes, a cell of a torus has one")
    c.run("scontrol create NodeName=d1 State=FUTURE Topology=cubes:pod2:0:0:0").ok()
    assert cells() == ["n[1-3,6]", "d1,n5"]
    written = c.run("scontrol show topoconf").ok()
    assert 'nodes: "n[1-3,6]"' in written and 'nodes: "d1,n5"' in written
    # Another file: other placements at once, nodes stay where they were put.
    (c.dir / "topology.yaml").write_text(TORUSES.replace("{x: 2, y: 2, z: 1}\n      - name", "{x: 1, y: 2, z: 1}\n      - name"))
    c.run("scontrol reconfigure").ok()
    assert cells() == ["n[1-3,6]", "d1,n5"]
    c.run("srun -N4 true").fails("4 nodes match no placement of topology cubes: placements have 1,2")
    assert nodes(c, "-N2", "-w", "n1,n3") == ["n1", "n3"]


def test_flat_topology_and_least_loaded_nodes():
    c = Cluster(nodes=3, conf="TopologyPlugin=topology/none\n",
                partitions=["PartitionName=main Nodes=ALL Default=YES LLN=YES MaxTime=UNLIMITED"])
    try:
        assert "No topology information available" in c.run("scontrol show topology").stderr
        holder = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="sleep 1000")
        eventually(lambda: c.state(holder) == "RUNNING", "a CPU of n1 is taken")
        assert nodes(c, "-n1") == ["n2"]
        assert c.run(["srun", "-w", "n2", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR_PATTERN"]).ok() == "node"
        c.stop()
    finally:
        c.destroy()


@pytest.mark.parametrize("text,place,why", [
    ("SwitchName=a Switches=b\n", "topology.conf:1", "there is no switch b"),
    ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "topology.conf:2", "twice"),
    ("BlockName=a Nodes=n1\n", "topology.conf:1", "takes lines of SwitchName="),
    ("TorusName=a Dims=1x1x2 Nodes=n[1-2]\n", "topology.conf:1", "takes lines of SwitchName="),
])
def test_invalid_topology_files_are_refused(tmp_path, text, place, why):
    c = Cluster(nodes=2, conf="TopologyPlugin=topology/tree\n", start=False)
    try:
        (c.dir / "topology.conf").write_text(text)
        c.run(["slurmctld", "--check", "-f", str(c.conf_file)]).fails(place, why)
    finally:
        c.destroy()


SEVERAL = """- topology: pairs
  block:
    block_sizes: [2]
    blocks:
      - block: b1
        nodes: n[1-2]
      - block: b2
        nodes: n[3-4]
      - block: b3
        nodes: n[5-6]
- topology: halves
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: s[1-2]
      - switch: s1
        nodes: n[1-3]
      - switch: s2
        nodes: n[4-6]
- topology: none
  flat: true
"""
PARTITIONS = ["PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED", "PartitionName=pairs Nodes=ALL Topology=pairs",
              "PartitionName=row Nodes=ALL Topology=none"]


def test_partitions_choose_a_topology():
    """X-31: only topology.yaml decides, TopologyPlugin is not set."""
    c = Cluster(nodes=6, start=False, partitions=PARTITIONS)
    try:
        (c.dir / "topology.yaml").write_text(SEVERAL)
        c.start()

        def chosen(*options):
            eventually(lambda: set(c.run("sinfo -h -o %t").ok().split()) == {"idle"}, "idle nodes")
            return nodes(c, *options)

        taken = ["-w", "n3"]
        assert chosen("-N2", *taken) == ["n2", "n3"]
        assert chosen("-N2", *taken, "-p", "pairs") == ["n3", "n4"]
        assert chosen("-N2", "-x", "n[1-2]") == ["n4", "n5"]
        assert chosen("-N2", "-x", "n[1-2]", "-p", "row") == ["n3", "n4"]
        c.run("srun -p pairs -N3 --segment=2 true").fails("3 nodes are not a whole number of segments of 2 (--segment)")
        assert c.run("srun -N3 --segment=2 hostname").returncode == 0
        assert c.run("scontrol show topology").ok().startswith("SwitchName=top ")
        assert c.run("scontrol show topology pairs unit=b2").ok() == "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2"
        assert c.run("scontrol show topology pairs node=n6").ok() == "BlockName=b3 BlockIndex=2 Nodes=n[5-6] BlockSize=2"
        c.run("scontrol show topology absent node=n6").fails("unknown topology 'absent'")
        assert "No topology information available" in c.run("scontrol show topology none").stderr
        written = c.run("scontrol show topoconf").ok()
        assert [line for line in written.split("\n") if "topology:" in line or "default" in line] == [
            "- topology: pairs", "  cluster_default: false", "- topology: halves", "  cluster_default: true", "- topology: none",
            "  cluster_default: false"]
        show = ["-w", "n4", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN"]
        assert c.run(["srun", *show]).ok() == "top.s2.n4 switch.switch.node"
        assert c.run(["srun", "-p", "pairs", *show]).ok() == "b2.n4 block.node"
        assert c.run(["srun", "-p", "row", *show]).ok() == "n4 node"

        shown = re.search(r"(?m)^TopologyPlugin +=? *(\S+)", c.run("scontrol show config").ok())
        assert shown[1] == "topology/tree"
        assert " Topology=pairs" in c.run("scontrol -o show partition pairs").ok()
        assert "Topology=" not in c.run("scontrol show partition main").ok()
        assert c.json("scontrol show partition pairs")["partitions"][0]["topology"] == "pairs"
        c.run("scontrol update PartitionName=main Topology=pairs").ok()
        assert chosen("-N2", *taken) == ["n3", "n4"]
        c.kill("slurmctld")
        c.start_controller()
        assert chosen("-N2", *taken) == ["n3", "n4"]
        kept = c.run(f"scontrol write config {c.dir}/kept").ok().split()[-1].strip(".")
        with open(kept, encoding="utf-8") as file:
            assert [line.split()[0] for line in file if "Topology=pairs" in line] == ["PartitionName=main", "PartitionName=pairs"]
        c.run("scontrol update PartitionName=main Topology=").ok()
        assert chosen("-N2", *taken) == ["n2", "n3"]
        c.run("scontrol update PartitionName=main Topology=absent").fails("unknown topology 'absent': see 'scontrol show topoconf'")
        c.stop()
    finally:
        c.destroy()


def test_nodes_move_between_units(make_cluster):
    """X-31: at once, for jobs, listings and the environment of tasks; a takeover and a reconfiguration change nothing of it."""
    def make(**options):
        c = make_cluster(nodes=6, partitions=PARTITIONS, **options)
        (c.dir / "topology.yaml").write_text(SEVERAL)
        return c

    pair = Pair(make)
    c = pair.c

    def units():
        text = c.run("scontrol show topology").ok() + "\n" + c.run("scontrol show topology pairs").ok()
        return {name: names for name, names in re.findall(r"(?:Switch|Block)Name=(\S+).*? Nodes=(\S*)", text)}

    def address(node, *options):
        return c.run(["srun", "-w", node, *options, "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR"]).ok()

    assert address("n2") == "top.s1.n2"
    c.run("scontrol update NodeName=n[1-2] Topology=halves:s2,pairs:b3").ok()
    moved = {"top": "n[1-6]", "s1": "n3", "s2": "n[1-2,4-6]", "b1": "", "b2": "n[3-4]", "b3": "n[1-2,5-6]"}
    assert units() == moved
    assert nodes(c, "-N5") == ["n1", "n2", "n4", "n5", "n6"]
    assert (address("n2"), address("n2", "-p", "pairs")) == ("top.s2.n2", "b3.n2")
    assert " Topology=halves:s2,pairs:b3" in c.run("scontrol -o show node n2").ok()
    assert c.json("scontrol show node n1")["nodes"][0]["topology"] == "halves:s2,pairs:b3"
    for topology, why in (("s2", "expected TOPOLOGY:UNIT"), ("absent:s2", "unknown topology 'absent'"), ("none:x", "topology none is flat"),
                          ("halves:top", "'top' is not a leaf switch of topology halves")):
        c.run(f"scontrol update NodeName=n3 Topology={topology}").fails(why)
    assert units() == moved
    c.kill("slurmctld")
    pair.leads("backup")
    assert units() == moved and address("n2") == "top.s2.n2"
    pair.start_primary()
    c.run("scontrol reconfigure").ok()
    assert units() == moved
    c.run("scontrol update NodeName=n6 Topology=").ok()
    assert units() == {**moved, "top": "n[1-5]", "s2": "n[1-2,4-5]", "b3": "n[1-2,5]"}
    assert address("n6") == "n6"
    kept = c.run(f"scontrol write config {c.dir}/kept").ok().split()[-1].strip(".")
    assert "Topology=halves:s2,pairs:b3" in open(kept, encoding="utf-8").read()


def test_host_lists_have_functions(make_cluster):
    """X-31: units and features in the place of names, by the networks and features of now."""
    c = make_cluster(nodes=6, start=False, partitions=[*PARTITIONS, "PartitionName=third Nodes=block{b3},n1"])
    (c.dir / "topology.yaml").write_text(SEVERAL)
    c.start()

    def listed(command):
        return c.run(["sh", "-c", f"scontrol show hostnames $({command}) | tr '\\n' ' '"]).ok().split()

    assert listed("sinfo -h -o %N -p third") == ["n1", "n5", "n6"]
    assert listed("sinfo -h -o %N -p main -n 'block{b[1,3]}'") == ["n1", "n2", "n5", "n6"]
    c.run("scontrol update node=n[2,5] AvailableFeatures=fast").ok()
    shown = c.run("scontrol -o show node feature{fast},n1").ok()
    assert re.findall(r"(?m)^NodeName=(\S+)", shown) == ["n1", "n2", "n5"]
    assert nodes(c, "-w", "switchwith{n5}", "-N3") == ["n4", "n5", "n6"]
    assert nodes(c, "-x", "switch{s1},block{b3}") == ["n4"]
    held = c.sbatch("-H", "-w", "blockwith{n4}", "-N2", "-p", "pairs", wrap="true")
    c.run("scontrol update node=block{b2} state=drain reason=unit").ok()
    assert listed("sinfo -h -o %N -p main -t drain") == ["n3", "n4"]
    c.run("scontrol update node=block{b2} state=resume").ok()
    c.run(f"scontrol release {held}").ok()
    assert c.wait(held)["NodeList"] == "n[3-4]"
    assert c.run("squeue -h -o %i -t all -w block{b2}").ok().split()[-1] == str(held)
    c.run("scontrol update NodeName=n6 Topology=halves:s1,pairs:b2").ok()
    assert nodes(c, "-w", "block{b2}", "-N3") == ["n3", "n4", "n6"]
    c.run("srun -w block{b9} true").fails("block{b9}: no topology has a block of this name")
    c.run("scontrol update node=switchwith{n9} state=resume").fails("switchwith{n9}: no switch has a node of this name")
    assert c.run("scontrol show node ring{r1}").stdout == "Node ring{r1} not found\n"


def test_reconfigured_topology_reaches_the_nodes():
    """X-31: SLURM_TOPOLOGY_ADDR follows topology.conf."""
    c = start("topology.conf", TREE, "topology/tree")
    try:
        show = ["srun", "-w", "n4", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR"]
        assert c.run(show).ok() == "top.s1.n4"
        (c.dir / "topology.conf").write_text(TREE.replace("s1", "t1").replace("s[0-2]", "s0,t1,s2"))
        c.run("scontrol reconfigure").ok()
        assert c.run(show).ok() == "top.t1.n4"
        c.stop()
    finally:
        c.destroy()


@pytest.mark.parametrize("yaml, part, says", [
    (SEVERAL, "Topology=absent", ("partition second: unknown topology 'absent': see topology.yaml",)),
    (SEVERAL.replace("  cluster_default: true\n", ""), "", ("topology.yaml:1:3: warning: no topology has cluster_default: true: the first one, pairs",)),
    (SEVERAL.replace("n[3-4]", "n[2-4]"), "", ("topology.yaml:7:9: warning: b2: 1 of its nodes are on another one before it, the first is n2",)),
    (TORUSES.replace("y: 2, z: 1}\n        nodes", "y: 1, z: 1}\n        nodes"), "", ("topology.yaml:5:9: ", "torus pod1: 4 nodes for 2 cells")),
    (TORUSES.replace("dims: {x: 2, y: 1, z: 1}\n            anchor_seed", "dims: {x: 3, y: 1, z: 1}\n            anchor_seed"), "",
     ("topology.yaml:23:13: ", "torus pod2: a placement of x: 3, expected at most 2")),
    (TORUSES.replace("{x: 1, y: 0, z: 0}\n            dims", "{x: 1, y: 0, z: no}\n            dims"), "",
     ("topology.yaml:14:37: ", "z: 'no' of anchor: expected a number from 0 to 200000")),
    (SEVERAL.replace("none", "pairs"), "", ("topology.yaml:21:3: ", "topology pairs is defined twice")),
])
def test_check_names_the_place_in_topology_yaml(yaml, part, says):
    c = Cluster(nodes=6, start=False, partitions=["PartitionName=main Nodes=ALL Default=YES", f"PartitionName=second Nodes=ALL {part}"])
    try:
        (c.dir / "topology.yaml").write_text(yaml)
        said = c.run(["slurmctld", "--check", "-f", str(c.conf_file)]).stderr
        assert all(text in said for text in says), said
    finally:
        c.destroy()
