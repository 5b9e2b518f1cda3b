# SPDX-License-Identifier: GPL-3.0-or-later
"""Distribution of tasks over nodes, sockets and cores, and what they are bound to (CORE-160, CORE-161, CORE-208, X-13).

The nodes are made by hwloc: two sockets of four cores of two threads, the kernel's numbers in that order, on any machine. Where that
has fewer CPUs the kernel refuses the binding itself, which is told on standard error and is not what is looked at.
"""
import os
import re
import subprocess

import pytest

from harness import PREFIX, Cluster, eventually

TOPOLOGY = "pack:2 numa:1 core:4 pu:2"
NODE = "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"
LIST = "echo $SLURM_PROCID $SLURM_CPU_BIND_LIST"


def synthetic():
    """Whether slurmd sees machines that hwloc makes up."""
    done = subprocess.run([PREFIX / "sbin/slurmd", "-C"], env={**os.environ, "HWLOC_SYNTHETIC": TOPOLOGY}, capture_output=True, text=True)
    return "SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2" in done.stdout


pytestmark = pytest.mark.skipif(not synthetic(), reason="no libhwloc here")


def make(**more):
    options = {"nodes": 2, "cpus": 16, "node_conf": NODE, "conf": "TaskPlugin=task/affinity", **more}
    os.environ["HWLOC_SYNTHETIC"] = TOPOLOGY
    try:
        return Cluster(**options)
    finally:
        del os.environ["HWLOC_SYNTHETIC"]


@pytest.fixture(scope="module")
def threaded():
    c = make()
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


@pytest.fixture
def layout_cluster(monkeypatch, make_cluster):
    monkeypatch.setenv("HWLOC_SYNTHETIC", TOPOLOGY)
    return lambda **more: make_cluster(**{"nodes": 1, "cpus": 16, "node_conf": NODE, "conf": "TaskPlugin=task/affinity", **more})


@pytest.mark.parametrize("option, cpus, mem", [("--threads-per-core=1", 6, 300), ("--hint=nomultithread", 6, 300), ("--threads-per-core=2", 4, 400)])
def test_memory_counts_the_used_cpus(threaded, option, cpus, mem):
    """The example of sbatch(1): of three tasks on cores of two threads."""
    job = threaded.sbatch("-n3", "-N1", "--mem-per-cpu=100", option, wrap="srun --mem-per-cpu=50 sh -c 'scontrol show step $SLURM_JOB_ID.0'")
    assert f"cpu={cpus},mem={mem}M,node=1" in threaded.wait(job)["AllocTRES"]
    assert f"mem={mem // 2}M" in threaded.output(job)


@pytest.mark.parametrize("options, cpus, tasks", [
    ("-n3 --threads-per-core=1", "3", "3"), ("-n3 --hint=nomultithread", "3", "3"), ("-n3 --threads-per-core=2", "4", "3"), ("-n3", "4", "3"),
    ("-N2 --exclusive --threads-per-core=1", "8(x2)", "8(x2)"), ("-N2 --exclusive", "16(x2)", "16(x2)"),
])
def test_environment_names_the_usable_cpus(threaded, options, cpus, tasks):
    """With one thread of a core a script that starts a thread for each of its CPUs has a core for each."""
    show = "echo $SLURM_JOB_CPUS_PER_NODE $SLURM_TASKS_PER_NODE $SLURM_CPUS_ON_NODE"
    options = options if "-N" in options else f"-N1 {options}"
    job = threaded.sbatch(*options.split(), wrap=f"{show}; srun -N1 -n1 printenv SLURM_JOB_CPUS_PER_NODE")
    threaded.wait(job)
    assert threaded.output(job) == f"{cpus} {tasks} {cpus.partition('(')[0]}\n{cpus}\n"
    assert threaded.run(["salloc", "-Q", *options.split(), "sh", "-c", show]).ok() == f"{cpus} {tasks}"
    assert set(threaded.run(["srun", *options.split(), "printenv", "SLURM_JOB_CPUS_PER_NODE"]).ok().split()) == {cpus}


def cpus_of(mask):
    return [i for i in range(64) if int(mask, 16) >> i & 1]


def bound(c, *line, **more):
    """The kernel's numbers of the CPUs of each task of the first node."""
    c.settle()  # what a job before had is free
    done = c.run(["srun", "-N1", *line, "sh", "-c", LIST], **more)
    assert done.returncode == 0, done.stderr
    masks = {row.partition(" ")[2] for row in done.stdout.splitlines()}
    assert len(masks) == 1, done.stdout
    return [cpus_of(mask) for mask in masks.pop().split(",")]


def ones(*numbers):
    return [[n] for n in numbers]


@pytest.mark.parametrize("options, expected", [
    # CPUs 0 to 7 are of the first socket, 0 and 1 of its first core
    ("-n4 --cpu-bind=threads --exclusive=allocation", ones(0, 8, 2, 10)),
    ("-n4 --cpu-bind=threads -m block:cyclic:cyclic", ones(0, 8, 1, 9)),  # of two cores
    ("-n4 --cpu-bind=threads -m block:cyclic:cyclic --exclusive=allocation", ones(0, 8, 2, 10)),
    ("-n4 --cpu-bind=threads -m *:cyclic:block", ones(0, 8, 1, 9)),
    ("-n4 --cpu-bind=threads -m block:block:block", ones(0, 1, 2, 3)),
    ("-n4 --cpu-bind=threads -m block:block:cyclic", ones(0, 2, 1, 3)),
    ("-n2 -c2 --cpu-bind=threads -m block:fcyclic", [[0, 8], [1, 9]]),
    ("-n4 -c2 --cpu-bind=threads -m block:cyclic:fcyclic", [[0, 2], [8, 10], [1, 3], [9, 11]]),
    ("-n16", ones(0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15)),
    ("-n16 -m block:block", ones(*range(16))),
    ("-n8 -m block:block:cyclic --exclusive=allocation", [[n, n + 1] for n in range(0, 16, 2)]),
    ("-n8 --exclusive=allocation", [[0, 1], [8, 9], [2, 3], [10, 11], [4, 5], [12, 13], [6, 7], [14, 15]]),
    ("-n2 --exclusive=allocation", [list(range(8)), list(range(8, 16))]),
    ("-n2 --exclusive=allocation --cpu-bind=ldoms", [list(range(8)), list(range(8, 16))]),
    ("-n2 --exclusive=allocation --cpu-bind=rank", ones(0, 1)),
    ("-n2 --exclusive=allocation --cpu-bind=rank_ldom", [list(range(8)), list(range(8, 16))]),
    ("-n2 --exclusive=allocation --cpu-bind=map_ldom:1,0", [list(range(8, 16)), list(range(8))]),
    ("-n2 --exclusive=allocation --cpu-bind=mask_ldom:0x3", [list(range(16))] * 2),
    ("-n3 --exclusive=allocation --cpu-bind=map_cpu:0x0f,2", ones(15, 2, 15)),
    ("-n3 --exclusive=allocation --cpu-bind=mask_cpu:f0,1*2", [[4, 5, 6, 7], [0], [0]]),
])
def test_distribution_binds_tasks_on_one_node(threaded, options, expected):
    """CORE-161, 208."""
    assert bound(threaded, *options.split()) == expected


def test_distribution_may_come_from_the_environment(threaded):
    """SLURM_DISTRIBUTION equals -m; in a job it is the distribution for its srun; SBATCH_DISTRIBUTION equals sbatch -m."""
    block = ones(0, 1, 2, 3)
    assert bound(threaded, "-n4", "--cpu-bind=threads", env={"SLURM_DISTRIBUTION": "block:block"}) == block
    assert bound(threaded, "-n4", "--cpu-bind=threads", "-mblock:block", env={"SLURM_DISTRIBUTION": "cyclic"}) == block
    told = 'echo $SLURM_DISTRIBUTION ${SLURM_DIST_PLANESIZE-no}'
    for options, env, expected in (
            (["-m", "Cyclic:Block:*,NoPack"], {}, "cyclic:block,nopack no"), ([], {"SBATCH_DISTRIBUTION": "block:fcyclic"}, "block:fcyclic no"),
            (["-m", "plane=3"], {}, "plane 3"), (["-m", "plane"], {"SLURM_DIST_PLANESIZE": "5"}, "plane 5"), (["-m", "*"], {}, "no")):
        eventually(lambda: not threaded.run("squeue -h").ok(), "the CPUs of the last job are free: tasks bind to those that exist")
        job = threaded.sbatch("-n4", "-N1", *options, wrap=f"{told}; srun --mem=0 -n1 sh -c '{told}'", env=env)
        assert threaded.wait(job)["JobState"] == "COMPLETED"
        assert threaded.output(job).splitlines() == [expected, expected if expected != "no" else "cyclic no"]
        if not env or "SLURM_DIST_PLANESIZE" in env:
            assert threaded.run(["salloc", "-Q", "-n4", "-N1", *options, "sh", "-c", told], env=env).ok() == expected
    threaded.settle()
    out = threaded.run(["salloc", "-Q", "-n4", "-N1", "-m", "block:block", "srun", "--cpu-bind=threads", "sh", "-c", LIST]).ok()
    assert out.splitlines()[0].endswith(" 0x1,0x2,0x4,0x8")


def test_step_shows_its_distribution(threaded):
    out = threaded.run(["srun", "-N1", "-m", "cyclic:block", "sh", "-c", "scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID"]).ok()
    assert re.search(r" Dist=Cyclic:block\n", out), out


@pytest.mark.parametrize("options, cores", [([], [0, 4]), (["-m", "block:block"], [0, 1]), (["-m", "*:fcyclic"], [0, 4])])
def test_cores_of_a_job(threaded, options, cores):
    """CORE-160: Of all sockets in turn, unless it asks for one after the other; scontrol counts CPUs as they are configured."""
    out = threaded.run(["salloc", "-Q", "-N1", "-n4", *options, "sh", "-c", "scontrol show job -d $SLURM_JOB_ID"]).ok()
    given = re.search(r"CPU_IDs=(\S+)", out).group(1)
    assert given == {(0, 4): "0-1,8-9", (0, 1): "0-3"}[tuple(cores)]


def test_default_distribution_of_cores(layout_cluster):
    c = layout_cluster(conf="TaskPlugin=task/affinity\nSelectTypeParameters=CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK")
    show = ["sh", "-c", "scontrol show job -d $SLURM_JOB_ID | grep -o 'CPU_IDs=[^ ]*'"]
    assert c.run(["salloc", "-Q", "-n4", *show]).ok() == "CPU_IDs=0-3"
    eventually(lambda: not c.run("squeue -h").ok(), "the CPUs are free again")
    assert c.run(["salloc", "-Q", "-n4", "-mblock:cyclic", *show]).ok() == "CPU_IDs=0-1,8-9"


@pytest.mark.parametrize("options, expected", [
    ("-n4 --hint=compute_bound", ones(0, 8, 2, 10)), ("-n4 --hint=nomultithread", ones(0, 8, 2, 10)),
    ("-n2 --hint=memory_bound", ones(0, 8)), ("-n4 --threads-per-core=1", ones(0, 8, 2, 10)),
    ("-n4 --hint=multithread", ones(0, 8, 1, 9)), ("-n4 --threads-per-core=2 -mblock:block", ones(0, 1, 2, 3)),
    ("-n2 -B 2:2:1", ones(0, 8)), ("-n2 -B 2:4 --exclusive=allocation", [[0, 1], [8, 9]]),
    ("-n3 -B 2 --exclusive=allocation", [list(range(8)), list(range(8, 16)), list(range(8))]),
    ("-n2 --ntasks-per-core=1 --exclusive=allocation", [[0, 1], [8, 9]]),
    ("-n2 --ntasks-per-socket=1 --exclusive=allocation", [list(range(8)), list(range(8, 16))]),
    ("-n2 --ntasks-per-socket=1 --exclusive=allocation --cpu-bind=threads", ones(0, 8)),
])
def test_options_imply_a_distribution(threaded, options, expected):
    if "multithread" in options and "no" not in options:  # two cores are the job's, with all their threads
        expected = sorted(expected)
        assert sorted(bound(threaded, *options.split())) == expected
    else:
        assert bound(threaded, *options.split()) == expected


def test_one_thread_per_core_uses_whole_cores(threaded):
    """A step that uses a thread of each core has as many cores as tasks, and its job no more of them."""
    show = f"srun -n4 --hint=nomultithread --mem=0 sh -c '{LIST}'; srun -n9 --threads-per-core=1 --mem=0 true"
    done = threaded.run(["salloc", "-Q", "-N1", "--exclusive", "sh", "-c", show])
    assert {row.partition(" ")[2] for row in done.stdout.splitlines()} == {"0x1,0x100,0x4,0x400"}
    assert done.returncode != 0 and "More processors requested than permitted" in done.stderr


@pytest.mark.parametrize("option", ["--hint=nomultithread", "--threads-per-core=1"])
def test_one_thread_per_core_with_cpu_allocation(layout_cluster, option):
    """CR_CPU: cores as a whole, whose other threads no job gets; jobs without the option get single CPUs."""
    c = layout_cluster(conf="TaskPlugin=task/affinity\nSelectTypeParameters=CR_CPU")
    show = f"echo $SLURM_JOB_CPUS_PER_NODE $SLURM_TASKS_PER_NODE; srun sh -c '{LIST}' | cut -d' ' -f2 | uniq; srun -n1 sh -c '{LIST}'"
    single = c.sbatch("-n1", "-o", "/dev/null", wrap="sleep 1000")
    c.wait_state(single, "RUNNING")
    job = c.sbatch("-n3", "-e", "/dev/null", option, wrap=f"{show}; sleep 1000")
    c.wait_state(job, "RUNNING")
    assert "cpu=6," in c.job(job)["AllocTRES"] and "cpu=1," in c.job(single)["AllocTRES"]
    eventually(lambda: len(c.output(job).splitlines()) == 3, "the tasks have told")
    told, masks, first = c.output(job).splitlines()
    assert told == "3 3" and first.startswith("0 0x")
    cores = [cpus_of(mask)[0] // 2 for mask in masks.split(",")]
    assert [len(cpus_of(mask)) for mask in masks.split(",")] == [1, 1, 1] and len(set(cores)) == 3 and 0 not in cores
    c.run(["srun", "-n5", option, "--immediate=1", "true"]).fails("Unable to allocate resources")
    assert len(c.run(["srun", "-n4", option, "sh", "-c", LIST]).ok().splitlines()) == 4
    assert c.run("srun -n9 true").ok() == ""  # the CPUs that are left, one of them of the first job's core
    c.run(["srun", "-n9", option, "true"]).fails("Requested node configuration is not available")


def settled(c, *line):
    """Returns the default binding of two tasks on an exclusive node."""
    out = c.run(["srun", "-N1", "-n2", "--exclusive=allocation", *line, "sh", "-c", "echo $SLURM_CPU_BIND_TYPE $SLURM_CPU_BIND_LIST"]).ok()
    return set(out.splitlines()).pop()


SOCKETS, CORES, THREADS = ("mask_cpu: 0xff,0xff00", "mask_cpu: 0x3,0x300", "mask_cpu: 0x1,0x100")


@pytest.mark.parametrize("param, line, expected", [
    ("", [], SOCKETS), ("Cores", [], CORES), ("None", [], "none"), ("threads", [], THREADS), ("Autobind=Threads", [], SOCKETS),
    ("Autobind=Threads", ["-n3"], "mask_cpu: 0x1,0x100,0x4"), ("", ["-n3"], "mask_cpu: 0xffff,0xffff,0xffff"),
    ("Cores", ["--cpu-bind=none"], "none"), ("None", ["--hint=nomultithread"], THREADS)])
def test_default_binding_of_the_cluster_applies(layout_cluster, param, line, expected):
    """TaskPluginParam."""
    c = layout_cluster(conf=f"TaskPlugin=task/affinity\nTaskPluginParam={param}" if param else "TaskPlugin=task/affinity")
    assert settled(c, *line) == expected


def test_configured_binding_is_printed_by_default(layout_cluster):
    c = layout_cluster(conf="TaskPlugin=task/affinity\nTaskPluginParam=Cores,Verbose")
    assert "cpu-bind=MASK - n1, task  0  0" in c.run("srun -n1 true").stderr
    assert "cpu-bind=MASK" not in c.run("srun -n1 --cpu-bind=quiet true").stderr


def test_cpu_bind_of_nodes_and_partitions(layout_cluster):
    """The nodes' where all of the job's say the same, else the partition's, else TaskPluginParam; changed while the cluster runs, and
    kept over a restart."""
    c = layout_cluster(nodes=2, node_conf=f"{NODE} CpuBind=core", conf="TaskPlugin=task/affinity\nTaskPluginParam=None",
                       partitions=["PartitionName=main Nodes=ALL Default=YES CpuBind=thread State=UP"])
    assert settled(c) == CORES
    assert c.run("scontrol show node n1").ok().endswith("\n   CpuBind=core")
    c.run("scontrol update nodename=n2 cpubind=socket").ok()
    assert settled(c, "-wn1") == CORES and settled(c, "-wn2") == SOCKETS
    assert settled(c, "-N2", "-n4") == THREADS
    c.run("scontrol update nodename=n[1-2] cpubind=off").ok()
    assert settled(c) == THREADS and "CpuBind" not in c.run("scontrol show node n1").ok()
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready()
    c.run("scontrol update partitionname=main cpubind=off").ok()
    assert settled(c) == "none"
    c.run("scontrol update partitionname=main cpubind=ldom").ok()
    assert settled(c) == SOCKETS and "   CpuBind=ldom\n" in c.run("scontrol show partition").ok()
    for what in ("nodename=n1", "partitionname=main"):
        c.run(f"scontrol update {what} cpubind=nought").fails("CpuBind=nought: it is none, socket, ldom, core, thread or off")


@pytest.mark.parametrize("line, text", [
    ("TaskPluginParam=Cores,Threads", "TaskPluginParam=Cores,Threads: Cores, None, Sockets and Threads exclude each other"),
    ("TaskPluginParam=boards", "'boards' is not one of:"),
    ("NodeName=x CPUs=1 CpuBind=cpu", "x: CpuBind=cpu: it is none, socket, ldom, core or thread"),
    ("PartitionName=x Nodes=ALL CpuBind=rank", "x: CpuBind=rank: it is none, socket, ldom, core or thread")])
def test_invalid_bindings_are_refused(layout_cluster, line, text):
    c = layout_cluster(start=False)
    c.conf_file.write_text(c.conf_file.read_text() + line + "\n")
    c.run("slurmctld --check").fails(text)
