# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of heterogeneous jobs that are lifted, and that HetLimits restores: HET-99, 101 to 103, 106, 110, 111."""
import pytest

from harness import Cluster, eventually, many


@pytest.fixture(scope="module")
def het():
    with many(Cluster) as make:
        yield make(nodes=4, cpus=4, conf="SchedulerType=sched/builtin\nLicenses=a:4\n")


def keep(c, words):
    """Sets HetLimits."""
    text = "".join(line for line in c.conf_file.read_text().splitlines(True) if not line.startswith("HetLimits="))
    c.conf_file.write_text(text + f"HetLimits={words}\n")
    c.run("scontrol reconfigure").ok()


def salloc(components, commands):
    return ["salloc", "-Q", *components.split(), "sh", "-c", commands]


@pytest.mark.parametrize("word, line, said", [
    ("arrays", ["sbatch", "-W", "-a", "0-1", "-n1", ":", "-n1", "--wrap=true"],
     "Invalid job array specification: the elements of a job array are ordinary jobs (HetLimits=arrays)"),
    ("builtin", ["sbatch", "-W", "-n1", ":", "-n1", "--wrap=true"], "SchedulerType=sched/builtin refuses heterogeneous jobs (HetLimits=builtin)"),
    ("het_steps", salloc("-n1 : -N2", "srun --jobid=$SLURM_JOB_ID+1 -N1 true : -N1 true"),
     "Allocation failure: a step has one part in each component of a heterogeneous job (HetLimits=het_steps)"),
    ("licenses", ["sbatch", "-W", "-L", "a:1", "-n1", ":", "-n1", "-L", "a:2", "--wrap=true"],
     "Invalid license specification: only component 0 may request licenses (HetLimits=licenses) (component 1)"),
    ("multi_prog", salloc("-n1 : -n1", "echo '* true' >programs; srun --het-group=0,1 --multi-prog programs"),
     "--multi-prog cannot span several components of a heterogeneous job: srun --multi-prog runs in one component of a heterogeneous job (HetLimits=multi_prog)"),
    ("one_node", salloc("-N1 --exclusive -w n1", "srun -w n1 true : -w n1 true"),
     "required node n1 overlaps with excluded n1: the parts of a step in one job have different nodes (HetLimits=one_node)"),
])
def test_het_limits_refuse_the_documented_combinations(het, word, line, said):
    """HET-99, 102, 103, 106, 110, 111: combinations that Slurm refuses work, unless HetLimits names the limit."""
    keep(het, word)
    het.run(line).fails(said)
    keep(het, "none")
    het.run(line).ok()


def test_licenses_of_all_components_are_used_together(het):
    """HET-99, 102: with HetLimits=none, the licenses of each component are in use while the job runs, and are free after it."""
    keep(het, "none")
    for line in "-L a:1 -n1 : -n1 -L a:2", "-n1 : -n1 -L a:3":
        shown = het.run(["salloc", "-Q", *line.split(), "scontrol", "-o", "show", "license", "a"]).ok()
        assert "Used=3 " in shown and "Free=1 " in shown, shown
    eventually(lambda: "Used=0 " in het.run("scontrol -o show license a").ok(), "the licenses are free")


NODES = "srun -w n1 true : -w n1 true"
DOCUMENTED = [  # the word of the limit, and a request that it refuses
    ("arrays", ["sbatch", "-W", "-a", "0-1", "-n1", ":", "-n1", "--wrap=true"]),
    ("arrays", ["sbatch", "-a", "0-1", "--test-only", "-n1", ":", "-n1", "--wrap=true"]),
    ("licenses", ["sbatch", "-W", "-n1", ":", "-L", "a:2", "-n1", "--wrap=true"]),
    ("licenses", ["sbatch", "--test-only", "-n1", ":", "-L", "a:2", "-n1", "--wrap=true"]),
    ("licenses", ["salloc", "-Q", "-L", "a:1", "-n1", ":", "-n1", "-L", "a:1", "true"]),
    ("licenses", ["srun", "-n1", ":", "-n1", "-L", "a:1", "true"]),
    ("het_steps", salloc("-n1 : -N2", "srun --jobid=$SLURM_JOB_ID+1 -N1 true : -N1 true")),
    ("multi_prog", salloc("-n1 : -n1", "echo '* true' >programs; srun --het-group=0,1 --multi-prog programs")),
    ("multi_prog", salloc("-n1 : -n1", "echo '* true' >programs; srun --multi-prog programs : --multi-prog programs")),
    ("one_node", salloc("-N1 --exclusive -w n1", NODES)),
    ("one_node", salloc("-N2 --exclusive", "srun -r0 -N1 true : -r0 -N1 true")),
    ("one_node", salloc("-N1 -n3", "srun -n1 true : -n2 true")),
    ("one_node", salloc("-N2 -n4", "srun -N2 -n2 true : -N1 -n1 true")),
    ("one_node", salloc("-N2 -n4", "srun -N1 -n1 true : -N2 -n2 true")),
    ("builtin", ["sbatch", "-W", "-n1", ":", "-n1", "--wrap=true"]),
    ("builtin", ["sbatch", "--test-only", "-n1", ":", "-n1", "--wrap=true"]),
    ("builtin", ["salloc", "-Q", "-n1", ":", "-n1", "true"]),
    ("builtin", ["srun", "-n1", ":", "-n1", "true"]),
]


def test_each_refusal_names_its_limit(make_cluster):
    """HET-99, 102, 103, 106, 110, 111: with HetLimits=documented each refusal has the word that lifts it, and the request is accepted without it."""
    c = make_cluster(nodes=4, cpus=4, conf="Licenses=a:4\n")
    for limits in "documented", "none":
        for scheduler in "backfill", "builtin":
            c.conf_file.write_text(c.conf_file.read_text() + f"SchedulerType=sched/{scheduler}\n")
            keep(c, limits)
            c.kill("slurmctld")
            c.start_controller()
            c.wait_ready()
            for word, line in DOCUMENTED:
                if (word == "builtin") != (scheduler == "builtin"):
                    continue
                done = c.run(line)
                said = [text for text in done.stderr.splitlines() if f"HetLimits={word}" in text and "warning" not in text]
                if limits == "none":
                    assert (done.returncode, said) == (0, []), f"{line}: {done}"
                else:
                    assert done.returncode != 0 and len(said) == 1, f"{line}: {done}"
            assert c.run("squeue -h -t PD,R").ok() == ""


def test_set_may_have_128_components(make_cluster):
    """128 components, and one step over all of them."""
    c = make_cluster(nodes=2, cpus=64)
    request = " : ".join(["-n1 --mem=10"] * 128)
    done = c.run(["salloc", "-Q", *request.split(), "srun", "--het-group=0-127", "sh", "-c", "echo $SLURM_HET_SIZE $SLURM_PROCID"], timeout=300)
    assert sorted(map(int, (line.split()[1] for line in done.ok().splitlines()))) == list(range(128))
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"128"}
    c.run(["salloc", "-Q", *request.split(), ":", "-n1", "true"]).fails("128")


def test_sattach_watches_components_as_het_limits_says(het):
    """HET-101: all components are watched, or, as Slurm documents it, the first one; or one by its offset. Components may share a node."""
    wait = "read go <fifo$SLURM_PROCID; echo $go on $SLURMD_NODENAME"
    held = het.popen(salloc("-n1 -w n1 : -n2 -w n2 : -n1 -w n1", f"for i in 0 1 2 3; do mkfifo fifo$i; done; srun sh -c '{wait}' : sh -c '{wait}' : sh -c '{wait}'"))
    job = eventually(lambda: het.run("squeue -h -s -o %i").stdout.split(), "the step runs")[0].split("+")[0]
    first = ["1 tasks, 1 nodes (n1)", "Node 0 (n1), 1 task(s): 0"]
    for word, nodes in (("sattach", first), ("documented", first),
                        ("none", ["4 tasks, 2 nodes (n[1-2])", "Node 0 (n1), 2 task(s): 0 3", "Node 1 (n2), 2 task(s): 1 2"])):
        keep(het, word)
        assert [line.strip() for line in het.run(f"sattach --layout {job}.0").ok().splitlines()[1:] if line] == nodes
    watchers = {}
    for name, count in (f"{job}.0", 3), (f"{job}+1.0", 1), (f"{job}+2.0", 1):
        told = het.work / f"told{name}"
        watchers[name] = het.popen(["sattach", "-lvv", name], stderr=told.open("w"))
        eventually(lambda: told.read_text().count("is connected") == count, f"{name} is watched on {count} nodes")
    for i in range(4):
        (het.work / f"fifo{i}").write_text(f"go{i}\n")
    shown = {name.removeprefix(str(job)): sorted(w.communicate()[0].splitlines()) for name, w in watchers.items()}
    both = ["1: go1 on n2", "2: go2 on n2"]
    assert shown == {".0": ["0: go0 on n1", *both, "3: go3 on n1"], "+1.0": both, "+2.0": ["3: go3 on n1"]}
    assert held.wait() == 0
    assert all(w.returncode == 0 for w in watchers.values())
