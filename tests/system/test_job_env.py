# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of a job's environment about its request, equal in sbatch, salloc and srun, and its options in scontrol."""
import pytest

from harness import eventually, many, Cluster

NAMES = ["GPUS", "GPUS_PER_NODE", "GPUS_PER_SOCKET", "GPUS_PER_TASK", "GPU_BIND", "GPU_FREQ", "CPUS_PER_GPU", "MEM_PER_GPU",
         "NTASKS_PER_GPU", "TRES_PER_TASK", "TRES_BIND", "JOB_LICENSES", "NTASKS", "NTASKS_PER_CORE", "NTASKS_PER_NODE", "NTASKS_PER_SOCKET", "CPUS_PER_TASK",
         "THREADS_PER_CORE", "OVERCOMMIT", "MEM_PER_CPU", "MEM_PER_NODE", "DISTRIBUTION"]
# Options, what all three say, and what more there is of it for the tasks of srun, whose step has them too.
CASES = [
    ("--gpus=2", "GPUS=2"),
    ("--gpus=a:1,b:1", "GPUS=a:1,b:1"),
    ("--gpus-per-node=a:2", "GPUS_PER_NODE=a:2"),
    ("--gpus-per-task=1 -n2", "GPUS_PER_TASK=1 NTASKS=2 TRES_PER_TASK=gres/gpu=1"),
    ("-n2 --tres-per-task=cpu=2,gres/gpu:a=1", "CPUS_PER_TASK=2 GPUS_PER_TASK=a:1 NTASKS=2 TRES_PER_TASK=cpu=2,gres/gpu:a=1"),
    ("--gpus-per-socket=1 --sockets-per-node=1", "GPUS_PER_SOCKET=1"),
    ("--gpus=2 --cpus-per-gpu=1", "CPUS_PER_GPU=1 GPUS=2"),
    ("--gpus=2 --mem-per-gpu=50", "GPUS=2 MEM_PER_GPU=50"),
    ("--gpus=2 --ntasks-per-gpu=1", "GPUS=2 NTASKS=2 NTASKS_PER_GPU=1"),
    ("--gpus=1 --gpu-bind=closest --gpu-freq=low", "GPUS=1 GPU_BIND=closest GPU_FREQ=low TRES_BIND=gres/gpu:closest"),
    ("-L foo:2", "JOB_LICENSES=foo:2"),
    ("-n2 --ntasks-per-core=1 --ntasks-per-node=2 --ntasks-per-socket=2",
     "NTASKS=2 NTASKS_PER_CORE=1 NTASKS_PER_NODE=2 NTASKS_PER_SOCKET=2"),
    ("-n1 -c2 --threads-per-core=1 -O", "CPUS_PER_TASK=2 NTASKS=1 OVERCOMMIT=1 THREADS_PER_CORE=1 TRES_PER_TASK=cpu=2"),
    ("-n1 --mem=120", "MEM_PER_NODE=120 NTASKS=1"),
    ("-n1 --mem-per-cpu=120 -m cyclic", "DISTRIBUTION=cyclic MEM_PER_CPU=120 NTASKS=1"),
]


@pytest.fixture(scope="module")
def wishes():
    with many(Cluster) as make:
        c = make(nodes=1, conf="GresTypes=gpu\nLicenses=foo:4", start=False,
                 node_conf="Gres=gpu:a:2,gpu:b:1 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 Feature=fast,slow")
        c.start()
        yield c


def said(text):
    """Of the names above, by their order."""
    found = sorted(line for line in text.split("\n") if line.startswith("SLURM_"))
    return " ".join(line[6:] for line in found if line[6:].partition("=")[0] in NAMES)


@pytest.mark.parametrize("options,wanted", CASES)
def test_job_environment_contains_the_request(wishes, options, wanted):
    c = wishes
    job = c.sbatch(*options.split(), "-o", c.work / "%j.env", wrap="env")
    assert c.wait(job)["JobState"] == "COMPLETED"
    default = "" if "MEM_PER" in wanted else " MEM_PER_CPU=100"  # of the partition: it is the job's
    wanted = " ".join(sorted((wanted + default).split()))
    assert said((c.work / f"{job}.env").read_text()) == wanted
    assert said(c.run(["salloc", "-Q", *options.split(), "env"]).ok()) == wanted
    tasks = dict(pair.split("=", 1) for pair in said(c.run(["srun", *options.split(), "env"]).ok().split("\nSLURM_GTIDS")[0]).split())
    for pair in wanted.split():
        name, _, value = pair.partition("=")
        assert tasks[name] == value, name


def test_tres_of_the_tasks_of_a_step(wishes):
    c = wishes
    job = c.sbatch("-n2", "-c2", "--gpus-per-task=1", "-o", c.work / "step", wrap="echo $SLURM_JOB_NODES\n"
                   "srun -n1 --tres-per-task=cpu=3,gres/gpu:2 sh -c 'echo $SLURM_TRES_PER_TASK $SLURM_CPUS_PER_TASK $SLURM_GPUS_ON_NODE'\n"
                   "srun -n1 -c1 --gpus-per-task=2 sh -c 'echo $SLURM_TRES_PER_TASK $SLURM_CPUS_PER_TASK $SLURM_GPUS_ON_NODE'\n"
                   "srun -n1 sh -c 'echo $SLURM_TRES_PER_TASK $SLURM_CPUS_PER_TASK $SLURM_GPUS_ON_NODE'\n")
    assert c.wait(job)["JobState"] == "COMPLETED", (c.work / "step").read_text()
    assert (c.work / "step").read_text() == "1\ncpu=3,gres/gpu=2 3 2\ncpu=1,gres/gpu=2 1 2\ncpu=2,gres/gpu=1 2 1\n"


def test_variables_of_the_outer_job_are_removed(wishes):
    c = wishes
    outer = c.sbatch("--gpus=2", "-L", "foo:1", "--gpu-bind=none", "-n2", "-O", "-o", c.work / "outer",
                     wrap=f"sbatch -o {c.work}/inner -W --wrap env")
    assert c.wait(outer)["JobState"] == "COMPLETED"
    assert said((c.work / "inner").read_text()) == "MEM_PER_CPU=100"


def test_gpus_on_the_node(wishes):
    c = wishes
    job = c.sbatch("--gpus=a:2", "-o", c.work / "on", wrap="echo $SLURM_JOB_GPUS $SLURM_GPUS_ON_NODE; srun sh -c "
                   "'echo $SLURM_STEP_GPUS $SLURM_GPUS_ON_NODE'")
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert (c.work / "on").read_text() == "0,1 2\n0,1 2\n"


def test_binding_of_memory(wishes):
    """What --mem-bind says, in parts; of a batch script by names of its own, too."""
    c = wishes
    parts = "=verbose,map_mem:0,1 _LIST=0,1 _PREFER= _SORT= _TYPE=map_mem: _VERBOSE=verbose".split()
    ours = sorted(f"SLURM_MEM_BIND{part}" for part in parts)
    job = c.sbatch("--mem-bind=verbose,map_mem:0,1", "-o", c.work / "memory", wrap="env | grep MEM_BIND")
    assert c.wait(job)["JobState"] == "COMPLETED"
    own = sorted(f"SBATCH_MEM_BIND{part}" for part in parts if "SORT" not in part)
    assert sorted((c.work / "memory").read_text().split()) == own + ours
    got = c.run(["salloc", "-Q", "--mem-bind=verbose,map_mem:0,1", "env"]).ok().split()
    assert sorted(line for line in got if "MEM_BIND" in line) == ours
    got = c.run(["srun", "--mem-bind=verbose,map_mem:0,1", "env"]).ok().split()
    assert sorted(line for line in got if "MEM_BIND_" in line) == ours[1:]  # also where TaskPlugin does not bind


def test_shards_on_the_node(make_cluster):
    c = make_cluster(nodes=1, conf="GresTypes=gpu,shard", node_conf="Gres=shard:4")
    show = "sh -c 'echo $SLURM_SHARDS_ON_NODE'"
    job = c.sbatch("--gres=shard:3", "-o", c.work / "shards", wrap=f"echo $SLURM_SHARDS_ON_NODE; srun --gres=shard:2 {show}; srun --gres=none {show}")
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert (c.work / "shards").read_text() == "3\n2\n\n"


def test_requests_are_shown(wishes):
    """As the 22.05 command does: lines of their own, and only where there is something to say."""
    c = wishes
    for given, shown in (("1", "1@00:05:00"), ("1@10", "1@00:05:00"), ("2@2", "2@00:02:00"), ("1@0:30", "1@00:00:30")):
        job = c.sbatch("-H", f"--switches={given}", wrap="true")
        lines = c.run(f"scontrol show job {job}").ok().split("\n")
        assert f"   Switches={shown}" in lines and not any("Prefer" in line for line in lines)
        assert lines[lines.index(f"   Switches={shown}") - 1].startswith("   StdOut=")
    c.run(f"scontrol update JobId={job} Switches=3@20").ok()
    assert c.job(job)["Switches"] == "3@00:05:00"
    c.run(f"scontrol update JobId={job} Switches=2").ok()
    assert c.job(job)["Switches"] == "2@00:05:00"
    c.run(f"scontrol update JobId={job} Switches=0").ok()
    assert "Switches" not in c.job(job)
    for bad in ("x", "1@", "1@x", "-1"):
        c.run(f"scontrol update JobId={job} Switches={bad}").fails(f"Invalid value: Switches={bad}")
    job = c.sbatch("-H", "--prefer=fast&slow", wrap="true")
    lines = c.run(f"scontrol show job {job}").ok().split("\n")
    assert lines[lines.index("   Prefer=fast&slow") - 1] == "   Features=(null) DelayBoot=00:00:00"
    assert not any("Switches" in line for line in lines)
    c.run("scancel -u root" if c.run("id -un").ok() == "root" else "scancel --me")
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue")
