# SPDX-License-Identifier: GPL-3.0-or-later
"""Generic resources with real daemons: GPUs made of plain files."""
import json
import os
import re

import pytest

from harness import eventually


@pytest.fixture
def gpus(make_cluster):
    """Two nodes of two kinds of cards, the first kind near cores 0 and 1."""
    c = make_cluster(nodes=2, start=False, conf="GresTypes=gpu,nic", node_conf="Gres=gpu:a100:2,gpu:v100:1,nic:4")
    devices = c.dir / "dev"
    devices.mkdir()
    for number in (0, 1, 7):
        (devices / f"nvidia{number}").touch()
    (c.dir / "gres.conf").write_text(
        f"Name=gpu Type=a100 File={devices}/nvidia[0-1] Cores=0-1\nName=gpu Type=v100 File={devices}/nvidia7\n")
    c.devices = devices
    c.start()
    return c


SHOW = "echo $CUDA_VISIBLE_DEVICES/$ROCR_VISIBLE_DEVICES/$SLURM_JOB_GPUS/$SLURM_STEP_GPUS/$SLURM_GPUS_ON_NODE"


def test_job_gets_its_own_gpus(gpus):
    c = gpus
    first = c.run(["srun", "--gres=gpu:a100:1", "sh", "-c", SHOW]).ok()
    assert first == "0/0/0/0/1"
    assert c.run(["srun", "--gpus-per-node=v100:1", "sh", "-c", SHOW]).ok() == "7/7/7/7/1"
    assert c.run(["srun", "-N1", "-G3", "sh", "-c", SHOW]).ok() == "0,1,7/0,1,7/0,1,7/0,1,7/3"
    # none asked for, none seen
    assert c.run(["srun", "sh", "-c", SHOW], env={"CUDA_VISIBLE_DEVICES": "5"}).ok().startswith("5///")
    holder = c.sbatch("--gres=gpu:a100:2", "-w", "n1", wrap="sleep 100")
    eventually(lambda: c.state(holder) == "RUNNING", "it")
    late = c.sbatch("--gres=gpu:a100:1", "-w", "n1", wrap=SHOW)
    eventually(lambda: c.job(late)["Reason"] == "Resources", "it")
    assert c.run(["srun", "--gres=gpu:a100:1", "sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"]).ok() == "n2 0"
    c.run(f"scancel {holder}").ok()
    assert c.wait(late)["JobState"] == "COMPLETED"


def test_gres_are_shown(gpus):
    c = gpus
    job = c.sbatch("--gres=gpu:a100:1,nic:2", "-N2", wrap="sleep 100")
    eventually(lambda: c.state(job) == "RUNNING", "it")
    shown = c.job(job)
    assert shown["AllocTRES"].endswith(",gres/gpu=2,gres/nic=4") and shown["TresPerNode"] == "gres:gpu:a100:1,gres:nic:2"
    assert "JOB_GRES=gpu:a100:2,nic:4\n" in c.run(f"scontrol show job -d {job}").ok()
    assert "GRES=gpu:a100:1(IDX:0),nic:2(IDX:0-1)\n" in c.run(f"scontrol show job -d {job}").ok()
    node = c.run("scontrol show node n1").ok()
    assert "Gres=gpu:a100:2,gpu:v100:1,nic:4\n" in node
    assert ",gres/gpu=3,gres/nic=4\n" in node and ",gres/gpu=1,gres/nic=2" in node
    assert c.run("sinfo -h -O Gres:40,GresUsed:60").ok().split() == [
        "gpu:a100:2,gpu:v100:1,nic:4", "gpu:a100:1(IDX:0),gpu:v100:0(IDX:N/A),nic:2(IDX:0-1)"]
    assert c.run(f"squeue -h -o %b -j {job}").ok() == "gres:gpu:a100:1,gres:nic:2"
    records = json.loads(c.run(f"squeue --json -j {job}").ok())["jobs"]
    assert records[0]["tres_per_node"] == "gres:gpu:a100:1,gres:nic:2"
    c.run(f"scancel {job}").ok()

    # Of steps, what each of them asked for.
    job = c.sbatch("--gres=gpu:a100:2,nic:2", "-n4", "-N1",
                   wrap="srun -n1 --exact --gres=gpu:1,nic:1 sleep 100 & srun -n1 --exact --tres-per-task=gres/gpu:1 sleep 100 & "
                        "srun -n1 --exact sleep 100 & srun -n1 --exact --gres=none sleep 100")
    columns = "StepID:20,tres-per-step:40,tres-per-node:40,tres-per-task:40"

    def steps():
        return [line.split() for line in c.run(["squeue", "-h", "-s", f"-j{job}", "-O", columns]).ok().splitlines()]
    eventually(lambda: len(steps()) == 5, "four steps and the script run")
    shown = sorted(tuple(row[1:]) for row in steps())
    inherited = "gres:gpu:a100:2,gres:nic:2"
    assert shown == sorted([("(null)", "(null)", "(null)"), ("gres:gpu:1,gres:nic:1", "gres:gpu:1,gres:nic:1", "(null)"), ("(null)", "(null)", "gres:gpu:1"),
                            (inherited, inherited, "(null)"), ("(null)", "(null)", "(null)")])
    assert c.run(["squeue", "-h", "-s", f"-j{job}", "-o", "%b"]).ok().split().count(inherited) == 1
    c.run(f"scancel {job}").ok()


def test_steps_share_what_the_job_has(gpus):
    c = gpus
    script = (c.work / "steps.sh")
    script.write_text("""#!/bin/sh
echo "job $CUDA_VISIBLE_DEVICES $SLURM_GPUS_ON_NODE"
srun -n1 sh -c 'echo "all $CUDA_VISIBLE_DEVICES"'
srun -n1 --gres=none sh -c 'echo "none [$SLURM_STEP_GPUS]"'
srun -n1 --gres=gpu:0 sh -c 'echo "none [$SLURM_STEP_GPUS$CUDA_VISIBLE_DEVICES]"'
srun -n1 --exact --gres=gpu:1 sh -c 'echo "one $CUDA_VISIBLE_DEVICES"; touch one; while ! test -e two; do sleep 0.05; done' &
while ! test -e one; do sleep 0.05; done
srun -n1 --exact --gres=gpu:1 sh -c 'echo "two $CUDA_VISIBLE_DEVICES"; touch two'
wait
srun -n1 --gres=gpu:3 true 2>&1
""")
    job = c.sbatch("-n2", "--gres=gpu:a100:2", "-o", "steps.out", str(script))
    c.wait(job)
    lines = (c.work / "steps.out").read_text().splitlines()
    assert lines[0] == "job 0,1 2" and lines[1] == "all 0,1" and lines[2] == lines[3] == "none []"
    assert sorted(line.split()[1] for line in lines[4:6]) == ["0", "1"]
    assert "Requested step configuration is not available" in lines[6]


def test_connected_gpus_are_allocated_together(make_cluster):
    """Links of gres.conf: 0 and 3 are connected, and 1 and 2."""
    c = make_cluster(nodes=1, start=False, conf="GresTypes=gpu", node_conf="Gres=gpu:4")
    links = ["-1,0,1,4", "0,-1,4,1", "1,4,-1,0", "4,1,0,-1"]
    for number in range(4):
        (c.dir / f"nvidia{number}").touch()
    (c.dir / "gres.conf").write_text("".join(f"Name=gpu File={c.dir}/nvidia{i} Links={links[i]}\n" for i in range(4)))
    c.start()
    show = "echo $CUDA_VISIBLE_DEVICES"
    assert c.run(["srun", "-N1", "--gpus=2", "sh", "-c", show]).ok() == "0,3"
    c.settle()  # the first card is free
    first = c.sbatch("--gpus=1", "-w", "n1", wrap="sleep 100")
    eventually(lambda: c.state(first) == "RUNNING", "it")
    assert "gpu:1(IDX:0)" in c.run(f"scontrol show job -d {first}").ok()
    assert c.run(["srun", "-N1", "--gpus=2", "sh", "-c", show]).ok() == "1,2"
    c.run(f"scancel {first}").ok()
    # Steps choose of what their job has.
    script = c.work / "pairs.sh"
    script.write_text(f"#!/bin/sh\nsrun -n1 --exact --gres=gpu:2 sh -c '{show}'\nsrun -n1 --exact --gres=gpu:3 sh -c '{show}'\n")
    c.wait(c.sbatch("-n2", "-N1", "--gpus=4", "-o", "pairs.out", str(script)))
    assert (c.work / "pairs.out").read_text() == "0,3\n0,1,2\n"
    # What the lines say of each other is checked.
    text = (c.dir / "gres.conf").read_text()
    (c.dir / "gres.conf").write_text(text.replace("Links=4,1,0,-1", "Links=3,1,0,-1"))
    done = c.run("slurmctld --check")
    assert done.returncode != 0 and "Links= of devices 0 and 3 of node n1: the numbers of connections of the two differ" in done.stdout + done.stderr


def test_tres_of_steps_and_of_their_job(gpus):
    """As the resources are counted: a step has those of its job unless it asks for some, or for none."""
    c = gpus
    rows = [("-N2", "gpu=4,nic=4"), ("-N1 -n1 --gres=gpu:1", "gpu=1"), ("-N2 --gres=gpu:1,nic:2", "gpu=2,nic=4"), ("--gres=none", ""),
            ("-N1 -n1", "gpu=2,nic=2")]
    script = c.work / "tres.sh"
    show = "scontrol -o show step $SLURM_JOB_ID.$SLURM_STEP_ID"
    script.write_text("#!/bin/sh\nscontrol -o show job $SLURM_JOB_ID\n" + "".join(
        f"srun {options} sh -c '[ $SLURM_PROCID != 0 ] || {show}'\n" for options, _ in rows))
    c.wait(c.sbatch("-N2", "--gres=gpu:a100:2,nic:2", "-o", "tres.out", str(script)))
    job, *steps = (c.work / "tres.out").read_text().splitlines()
    assert re.search(r" ReqTRES=cpu=\S+,gres/gpu=4,gres/nic=4 ", job) and re.search(r" AllocTRES=cpu=\S+,gres/gpu=4,gres/nic=4 ", job), job
    assert len(steps) == len(rows), steps
    for line, (options, expected) in zip(steps, rows):
        tres = re.search(r" TRES=(\S+)", line)[1]
        assert ",".join(re.findall(r"gres/(\w+=\d+)", tres)) == expected, (options, tres)


def test_cpus_and_memory_per_gpu_are_allocated(gpus):
    c = gpus
    done = c.run(["sbatch", "--parsable", "-H", "--gpus=2", "--cpus-per-gpu=2", "--mem-per-gpu=300", "--wrap", "true"]).ok()
    job = done.strip()
    shown = c.run(f"scontrol show job {job}").ok()
    for text in ("TresPerJob=gres:gpu:2", "CpusPerTres=gres:gpu:2", "MemPerTres=gres:gpu:300"):
        assert text in shown
    c.run(f"scontrol release {job}").ok()
    c.wait(job)
    shown = c.job(job)
    assert shown["NumCPUs"] == "4" and ",mem=600M," in shown["AllocTRES"] and shown["AllocTRES"].endswith("gres/gpu=2")
    out = c.run(["srun", "--gpus-per-task=1", "-n4", "sh", "-c", "echo $SLURMD_NODENAME $SLURM_GPUS_ON_NODE"]).ok()
    assert sorted(set(out.splitlines())) == ["n1 3", "n2 1"]


@pytest.mark.parametrize("options, expected", [
    (["--gpus-per-node=2", "--gpus-per-task=1"], ["n1 2", "n1 2"]),
    (["--gpus-per-node=2", "--gpus-per-task=1", "-n2"], ["n1 2", "n1 2"]),
    (["--gpus-per-node=3", "--gpus-per-task=1", "-N2"], ["n1 3"] * 3 + ["n2 3"] * 3),
    (["--gres=gpu:2", "--gpus-per-node=2"], ["n1 2"]),
])
def test_shards_and_gpus_share_devices(gpus, options, expected):
    """--gres, --gpus-per-node and --gpus-per-task are not added to each other."""
    out = gpus.run(["srun", *options, "sh", "-c", "echo $SLURMD_NODENAME $SLURM_GPUS_ON_NODE"]).ok()
    assert sorted(out.splitlines()) == expected


def test_nodes_and_tasks_follow_from_a_total(gpus):
    """--gpus is divided by --gpus-per-node, or --gres, into nodes, and by --gpus-per-task into tasks."""
    c = gpus
    for options, nodes, tasks in ("--gpus=4 --gpus-per-node=2", 2, 2), ("--gpus=4 --gres=gpu:2", 2, 2), ("--gpus=4 --gpus-per-task=2", 2, 2), (
            "--gpus=4 --gpus-per-node=2 --gpus-per-task=1", 2, 4), ("--gpus=4 --gpus-per-node=2 -n1", 2, 1):
        shown = c.job(c.sbatch("-H", *options.split(), wrap="true"))
        assert (shown["NumNodes"], shown["NumTasks"]) == (str(nodes), str(tasks)), (options, shown)
    for options, said in (("--gpus=4 --gpus-per-node=2", ["n1 2", "n2 2"]), ("--gpus=4 --gpus-per-node=2 --gpus-per-task=1", ["n1 2"] * 2 + ["n2 2"] * 2)):
        out = c.run(["srun", *options.split(), "sh", "-c", "echo $SLURMD_NODENAME $SLURM_GPUS_ON_NODE"]).ok()
        assert sorted(out.splitlines()) == said, options
    # What the commands do not see, the controller refuses.
    job = c.run(["sbatch", "-H", "--parsable", "--gpus=4", "--gpus-per-node=2", "--wrap", "true"]).ok()
    c.run(f"scontrol update JobId={job} NumNodes=3").fails("this makes 2 nodes, the job has at least 3")
    # A node has its GPUs though no task is on it.
    job = c.sbatch("--gpus=4", "--gpus-per-node=2", "-n1", wrap="sleep 100")
    eventually(lambda: c.state(job) == "RUNNING", "it")
    assert c.job(job)["NumNodes"] == "2" and c.job(job)["AllocTRES"].endswith("gres/gpu=4")


def test_gres_allocations_survive_a_restart(gpus):
    c = gpus
    holder = c.sbatch("--gres=gpu:a100:1", "-w", "n1", wrap="sleep 100")
    eventually(lambda: c.state(holder) == "RUNNING", "it")
    waits = c.sbatch("--gres=gpu:a100:2", "-w", "n1", wrap=SHOW)
    c.kill("slurmctld")
    c.start_controller()
    assert c.run("sinfo -h -n n1 -O GresUsed:60").ok().startswith("gpu:a100:1(IDX:0)")
    eventually(lambda: c.job(waits)["Reason"] == "Resources", "it")
    c.run(f"scancel {holder}").ok()
    assert c.wait(waits)["JobState"] == "COMPLETED"


@pytest.mark.parametrize("option, words", [
    ("--gres=fpga:1", "Invalid generic resource (gres) specification: gres:fpga:1: no node has this resource"),
    ("--gres=gpu:h100:1", "no node has this type"),
    ("--gres=gpu:1:2:3:4", "expected name[:type][:count]"),
    ("--gpus=many", "Invalid --gpus specification: many"),
    ("--gpus-per-node=", "accepted"),
    ("--cpus-per-gpu=2", "need a number of GPUs"),
    ("--gpus-per-socket=1", "need --sockets-per-node"),
    ("--gpus-per-node=1 --gpus-per-task=2", "Failed to ensure --gpus >= --gpus-per-task"),
    ("--gres=gpu:2 --gpus-per-node=3", "--gres=gpu:2 and --gpus-per-node=3 contradict each other"),
    ("--gres=gpu:4", "it would fit with --gres=gpu:3"),
    ("--gres=gpu:1K", "it would fit with --gres=gpu:3"),
    ("--gres=gpu:4294967296", "it would fit with --gres=gpu:3"),
    ("--gpus-per-node=a100:9", "it would fit with --gpus-per-node=a100:2"),
    ("--gres=gpu --gpus-per-node=4", "--gres=gpu and --gpus-per-node=4 contradict each other: they are about the same GPUs"),
    ("--gpus=7", "it would fit with --gpus=6"),
    ("-N2 --gpus=8", "it would fit with --gpus=6"),
    ("--gpus=1 -N2", "--gpus < -N: each node of a job has at least one GPU"),
    ("-n1 --gpus-per-task=4", "it would fit with --gpus-per-task=3"),
    ("--gpus=1 --cpus-per-gpu=9", "it would fit with --cpus-per-gpu=4"),
    ("--mem-per-gpu=lots", "Invalid --mem-per-gpu specification"),
])
def test_impossible_gres_are_refused(gpus, option, words):
    done = gpus.run(["sbatch", *option.split(), "--wrap", "true"])
    if words == "accepted":
        done.ok()
    else:
        done.fails(words)


def test_a_missing_file_takes_the_node_down(make_cluster):
    c = make_cluster(nodes=1, start=False, conf="GresTypes=gpu", node_conf="Gres=gpu:2")
    text = c.conf_file.read_text().replace("SlurmdParameters=config_overrides\n", "").replace("RealMemory=4000", "RealMemory=100").replace("CPUs=4", "CPUs=1")
    c.conf_file.write_text(text)
    (c.dir / "g0").touch()
    (c.dir / "gres.conf").write_text(f"Name=gpu File={c.dir}/g[0-1]\n")
    c.start_controller()
    c.start_node("n1")
    eventually(lambda: "Low gres/gpu (reported:1 < configured:2)" in c.run("scontrol show node n1").stdout, "it")
    (c.dir / "g1").touch()
    c.kill("n1")
    c.start_node("n1")
    eventually(lambda: "State=IDLE" in c.run("scontrol show node n1").stdout, "it")


def test_wrong_files_are_named(make_cluster):
    c = make_cluster(nodes=1, start=False, conf="GresTypes=gpu", node_conf="Gres=gpu:2")
    (c.dir / "gres.conf").write_text("Name=gpu File=/dev/null\nName=disk Count=3\n")
    done = c.run("slurmctld --check")
    assert done.returncode != 0 and "gres.conf:2: Name=disk is not in GresTypes" in done.stderr + done.stdout


def test_defaults_per_gpu_apply(make_cluster):
    """DefCpuPerGPU and DefMemPerGPU, of the cluster or the partition, for jobs that do not say."""
    c = make_cluster(nodes=1, start=False, node_conf="Gres=gpu:2 CPUs=8 RealMemory=4000",
                     conf="GresTypes=gpu\nSelectTypeParameters=CR_Core_Memory\nJobDefaults=DefCpuPerGPU=3,DefMemPerGPU=700",
                     partitions=["PartitionName=main Nodes=ALL Default=YES",
                                 "PartitionName=other Nodes=ALL JobDefaults=DefCpuPerGPU=2"])
    (c.dir / "gres.conf").write_text("Name=gpu Count=2\n")
    c.start()

    for options, cpus, mem in ((("--gpus=2",), 6, "1400M"), (("--gpus-per-node=1", "-c4"), 4, "700M"),
                               (("--gpus=1", "--mem=900"), 3, "900M"), (("--gpus=2", "-pother"), 4, "1400M"),
                               (("--gpus=1", "--cpus-per-gpu=1"), 1, "700M"), (("-c2", "--mem=10"), 2, "10M")):
        job = c.sbatch(*options, wrap="sleep 100")
        eventually(lambda: c.state(job) == "RUNNING", "it")
        assert c.job(job)["AllocTRES"].startswith(f"cpu={cpus},mem={mem},"), options
        c.run(f"scancel {job}").ok()
    assert "JobDefaults=DefCpuPerGPU=2\n" in c.run("scontrol show part other").ok()
    assert "JobDefaults=(null)\n" in c.run("scontrol show part main").ok()
    c.run("scontrol update PartitionName=other DefCpuPerGPU=1 DefMemPerGPU=100").ok()
    assert "JobDefaults=DefCpuPerGPU=1,DefMemPerGPU=100\n" in c.run("scontrol show part other").ok()
    job = c.sbatch("--gpus=2", "-pother", wrap="sleep 100")
    eventually(lambda: c.state(job) == "RUNNING", "it")
    assert c.job(job)["AllocTRES"].startswith("cpu=2,mem=200M,")


def test_gres_of_a_pending_job_are_changed(gpus):
    """scontrol update Gres=: as sbatch --gres has it, whatever prefix is written; none clears it."""
    c = gpus
    for options, change, shown in (("--gres=gpu:a100:1", "gpu:v100:1,gres/nic:2", "gres:gpu:v100:1,gres:nic:2"), ("--gres=gpu:1", "none", None),
                                   ("--gpus-per-node=1", "", None), ("-n1", "gres:nic", "gres:nic")):
        job = c.sbatch("-H", options, wrap="true")
        c.run(["scontrol", "update", f"JobId={job}", f"Gres={change}"]).ok()
        assert c.job(job).get("TresPerNode") == shown, change
    c.run(["scontrol", "update", f"JobId={job}", "Gres=gpu :1"]).fails("Invalid value: Gres=gpu :1")
    c.run(["scontrol", "update", f"JobId={job}", "Gres=foo:1"]).fails("gres:foo:1: no node has this resource")
    assert c.job(job)["TresPerNode"] == "gres:nic"


@pytest.mark.parametrize("asked", ["-n5 --gpus-per-task=1", "-n5 --gpus=5 --ntasks-per-gpu=1", "-n10 --gpus=5 --ntasks-per-gpu=2"])
def test_tasks_per_node_follow_the_gpus(make_cluster, asked):
    """SLURM_TASKS_PER_NODE of jobs that have more CPUs than GPUs: as their steps have it."""
    c = make_cluster(nodes=2, cpus=8, start=False, conf="GresTypes=gpu", node_conf="Gres=gpu:4")
    c.conf_file.write_text(re.sub(r"(NodeName=n2 .*)gpu:4", r"\1gpu:1", c.conf_file.read_text()))
    (c.dir / "gres.conf").write_text("NodeName=n1 Name=gpu Count=4\nNodeName=n2 Name=gpu Count=1\n")
    c.start()
    options = [*asked.split(), "-N2", "--exclusive"]
    show = "echo $SLURM_TASKS_PER_NODE; srun sh -c 'echo $SLURM_STEP_TASKS_PER_NODE' | uniq"
    expected = ["8,2"] * 2 if "-n10" in asked else ["4,1"] * 2
    job = c.sbatch(*options, wrap=show)
    c.wait(job)
    assert c.output(job).split() == expected
    assert c.run(["salloc", "-Q", *options, "sh", "-c", show]).ok().split() == expected


def test_cpus_of_a_job_follow_its_gpus(make_cluster):
    """--ntasks-per-gpu of a job that shares its nodes: CPUs of each node for the tasks of its GPUs, and these tasks. Lines of each node."""
    c = make_cluster(nodes=2, cpus=8, start=False, conf="GresTypes=gpu\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory",
                     node_conf="Gres=gpu:2")
    (c.dir / "gres.conf").write_text("Name=gpu Count=2\n")
    c.start()
    for options, tasks in (("-n4 --gpus=4 --ntasks-per-gpu=1", 2), ("--gpus=4 --ntasks-per-gpu=1", 2), ("--gpus=4 --ntasks-per-gpu=2", 4)):
        nodes = c.run(["srun", *options.split(), "printenv", "SLURMD_NODENAME"]).ok().split()
        assert sorted(nodes) == ["n1"] * tasks + ["n2"] * tasks, options
        told = "echo $SLURM_TASKS_PER_NODE $SLURM_JOB_CPUS_PER_NODE; srun sh -c 'echo $SLURM_STEP_TASKS_PER_NODE' | uniq"
        assert c.run(["salloc", "-Q", *options.split(), "sh", "-c", told]).ok().split() == [f"{tasks}(x2)"] * 3, options


def test_cpus_of_a_step_follow_its_gpus(make_cluster):
    """--cpus-per-gpu, of the job or of srun: steps that share the GPUs of a job run at the same time."""
    c = make_cluster(nodes=1, cpus=8, start=False, conf="GresTypes=gpu", node_conf="Gres=gpu:4")
    (c.dir / "gres.conf").write_text("Name=gpu Count=4\n")
    c.start()
    told = "echo $SLURM_CPUS_ON_NODE $SLURM_GPUS_ON_NODE"
    for options, step, expected in (("--gpus=4 --cpus-per-gpu=2", "", "8 4"), ("--gpus=4 --cpus-per-gpu=2", "--gpus=1", "2 1"),
                                    ("--gres=gpu:4 --cpus-per-gpu=2", "", "8 4"), ("--gpus=4 --cpus-per-gpu=2", "--gpus=2 -n3", "4 2"),
                                    ("--gpus=4 --cpus-per-gpu=2", "--gpus=1 -n3", "3 1"), ("--gpus=4 --cpus-per-gpu=2", "--gpus=1 -c5", "5 1"),
                                    ("--gres=gpu:4 -n8", "--gpus-per-task=1 -n2 --cpus-per-gpu=3", "6 2"), ("--gpus=4 --cpus-per-gpu=2", "--gres=none", "1"),
                                    ("-n8 --gres=gpu:2 --cpus-per-gpu=3", "-n1", "6 2")):
        out = c.run(["salloc", "-Q", *options.split(), "srun", *step.split(), "sh", "-c", told]).ok()
        assert set(out.splitlines()) == {expected}, (options, step, out)
    assert c.run(["srun", "--gpus=2", "--cpus-per-gpu=3", "sh", "-c", told]).ok() == "6 2"
    script = "srun --gpus=3 sh -c 'echo on; exec sleep 1000' | (read on; srun -I --gpus=1 sh -c '%s'; scancel $SLURM_JOB_ID.0)" % told
    assert c.run(["salloc", "-Q", "--gpus=4", "--cpus-per-gpu=2", "sh", "-c", script]).stdout == "2 1\n"


def test_why_counts_gpus_of_all_nodes_and_tasks(make_cluster):
    """--gpus-per-node with --ntasks-per-gpu determines the number of nodes for the tasks; sluice why prints the total and the free GPUs."""
    c = make_cluster(nodes=3, cpus=4, start=False, conf="GresTypes=gpu", node_conf="Gres=gpu:2")
    (c.dir / "gres.conf").write_text("Name=gpu Count=2\n")
    c.start()
    whole = ["-n6", "--gpus-per-node=2", "--ntasks-per-gpu=1"]
    job = c.sbatch("-H", *whole, wrap="true")
    assert c.job(job)["NumNodes"] == "3" and re.search(r",node=3,.*gres/gpu=6$", c.job(job)["ReqTRES"])
    assert re.search(r"It needs 3 nodes, 6 tasks .*, gres:gpu:2 on each node, 6 GPUs in all, for ", c.run(f"sluice why {job}").ok())
    c.run(f"scancel {job}").ok()
    told = "echo $SLURM_JOB_NUM_NODES $SLURM_TASKS_PER_NODE; srun sh -c 'echo $SLURM_STEP_NUM_NODES $SLURM_STEP_TASKS_PER_NODE' | uniq"
    assert c.run(["salloc", "-Q", *whole, "sh", "-c", told]).ok().split() == ["3", "2(x3)"] * 2
    holder = c.sbatch("-N2", "--gpus-per-node=2", wrap="sleep 1000")
    c.wait_state(holder, "RUNNING")
    for options, need, short in (("-n4 --ntasks-per-gpu=1", ", 4 GPUs in all, ", "gres/gpu (2 of 4)"), ("-G6", ", gres:gpu:6 in all, ", "gres/gpu (2 of 6)"),
                                 ("-n4 --gpus-per-task=1", ", gres:gpu:1 for each task, 4 GPUs in all, ", "places for tasks (2 of 4)")):
        said = c.run(f"sluice why {c.sbatch(*options.split(), wrap='true')}").ok()
        assert need in said and f"Short of: {short}.\n" in said, said


def test_memory_is_counted_as_the_partition_says(make_cluster):
    """SelectTypeParameters of a partition: its jobs get no memory, or only its jobs do."""
    c = make_cluster(nodes=1, start=False, node_conf="CPUs=8 RealMemory=1000", conf="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory",
                     partitions=["PartitionName=main Nodes=ALL Default=YES", "PartitionName=free Nodes=ALL SelectTypeParameters=CR_Core"])
    c.start()
    assert "SelectTypeParameters=CR_CORE\n" in c.run("scontrol show part free").ok()
    assert "SelectTypeParameters=NONE\n" in c.run("scontrol show part main").ok()
    parts = {p["name"]: p["select_type"] for p in json.loads(c.run("scontrol --json show part").ok())["partitions"]}
    assert parts == {"main": [], "free": ["CORE"]}
    # Together they ask for more memory than the node has; what does not count it starts.
    jobs = [c.sbatch("--mem=800", f"-p{part}", wrap="sleep 100") for part in ("main", "free", "free")]
    for job in jobs:
        eventually(lambda: c.state(job) == "RUNNING", "it")
    assert " AllocMem=800 " in c.run("scontrol show node n1").ok()
    last = c.sbatch("--mem=800", "-pmain", wrap="true")
    eventually(lambda: c.job(last)["Reason"] == "Resources", "it")
    assert "memory" in c.run(f"sluice why {last}").ok()
    c.run(f"scontrol update JobId={last} Partition=free").ok()
    assert c.wait(last)["JobState"] == "COMPLETED"


def test_a_total_of_several_types(gpus):
    """Each type in its number, and so from one node."""
    c = gpus
    show = ["sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"]
    assert c.run(["srun", "--gpus=a100:1,v100:1", *show]).ok() == "n1 0,7"
    c.settle()
    assert c.run(["srun", "--gpus=v100:1,a100:2", *show]).ok() == "n1 0,1,7"
    c.run(["sbatch", "--gpus=a100:1,v100:2", "--wrap", "true"]).fails("Requested node configuration is not available")
    c.run(["sbatch", "-N2", "--gpus=a100:1,v100:1", "--wrap", "true"]).fails(
        "a total of several types is had from one node: --nodes=1")


@pytest.fixture
def sockets(make_cluster):
    """A node of two sockets of two cores, each with a card."""
    c = make_cluster(nodes=1, start=False, conf="GresTypes=gpu", node_conf="Sockets=2 CoresPerSocket=2 Gres=gpu:2")
    for number in (0, 1):
        (c.dir / f"nvidia{number}").touch()
    (c.dir / "gres.conf").write_text("".join(
        f"Name=gpu File={c.dir}/nvidia{i} Cores={2 * i}-{2 * i + 1}\n" for i in (0, 1)))
    c.start()
    return c


def placed(c, job):
    """Which CPUs and cards it has."""
    eventually(lambda: c.state(job) == "RUNNING", "it runs")
    shown = c.run(f"scontrol show job -d {job}").ok()
    cards = re.search(r"IDX:([0-9,-]+)", shown)
    return re.search(r"CPU_IDs=(\S+)", shown)[1], cards and cards[1]


def test_enforced_binding_uses_nearby_cpus_only(sockets):
    """Only CPUs close to the cards: the job waits for them, and is refused if no node has enough of them."""
    c = sockets

    def submit(*options):
        return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")

    bound = ["--gres-flags=enforce-binding", "-N1"]
    blocker = submit("-n2", "-m*:block")
    assert placed(c, blocker) == ("0-1", None)
    plain = submit("-n1", "--gres=gpu:2")
    assert placed(c, plain) == ("2", "0-1")
    c.run(f"scancel {plain}").ok()
    both = submit("-n2", "--gres=gpu:2", *bound)
    eventually(lambda: c.job(both)["Reason"] == "Resources", "no CPU near the first card is free")
    assert "GresEnforceBind=Yes" in c.run(f"scontrol show job {both}").ok()
    one = submit("-n1", "--gres=gpu:1", "-t1", *bound)
    c.kill("slurmctld")
    c.start_controller()
    c.run(f"scontrol hold {both}").ok()
    assert placed(c, one) == ("2", "1")
    c.run(f"scancel {one} {blocker}").ok()
    c.run(f"scontrol release {both}").ok()
    assert placed(c, both) == ("0,2", "0-1")
    c.run(f"scancel {both}").ok()
    for options in (["-c3", "--gres=gpu:1"], ["-n1", "--gres=gpu:2"], ["-n1", "--gpus=2"]):
        c.sbatch("--hold", "-N1", *options, wrap="true")
        c.run(["sbatch", *bound, *options, "--wrap=true"]).fails("Requested node configuration is not available")


def test_disabled_binding_uses_any_cpus(sockets):
    """CPUs wherever they are fewest, whatever cards there are."""
    c = sockets
    blocker = c.sbatch("-o", "/dev/null", "-n1", wrap="sleep 1000")
    assert placed(c, blocker)[0] == "0"
    near = c.sbatch("-o", "/dev/null", "-n1", "--gres=gpu:1", wrap="sleep 1000")
    assert placed(c, near) == ("2", "1")
    c.run(f"scancel {near}").ok()
    any_ = c.sbatch("-o", "/dev/null", "-n1", "--gres=gpu:1", wrap="sleep 1000", env={"SBATCH_GRES_FLAGS": "disable-binding"})
    assert placed(c, any_)[0] == "1" and "GresEnforceBind=No" in c.run(f"scontrol show job {any_}").ok()
    c.run("sbatch --gres-flags=enforce --wrap=true").fails("Invalid --gres-flags specification: enforce")
    c.run("sbatch --gres-flags=disable-binding,x --wrap=true").fails("Invalid --gres-flags specification: disable-binding,x")
    for word in ("allow-task-sharing", "multiple-tasks-per-sharing", "one-task-per-sharing"):
        done = c.run(["sbatch", "--hold", f"--gres-flags={word},{word}", "--gres=gpu:1", "--wrap=true"])
        done.ok()
        assert not done.stderr


ASK = ["-l", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES of $SLURM_STEP_GPUS"]


def told(c, *options, env=None):
    """Returns the variables of each task, in order."""
    out = c.run(["srun", "-N1", *options, *ASK], env=env).ok()
    return [line.split(": ")[1] for line in sorted(out.splitlines())]


def test_each_task_gets_its_own_gpus(gpus):
    """--gpus-per-task gives each task its own GPUs, --ntasks-per-gpu lets tasks share one; a single task has all GPUs of its step. X-14."""
    c = gpus
    assert told(c, "-n2", "--gpus-per-task=1") == ["0 of 0,1", "1 of 0,1"]
    assert told(c, "-n3", "--gpus-per-task=1") == ["0 of 0,1,7", "1 of 0,1,7", "7 of 0,1,7"]
    assert told(c, "-n2", "--gpus-per-task=1", "--gpu-bind=none") == ["0,1 of 0,1"] * 2
    assert told(c, "-n1", "--gpus-per-task=2") == ["0,1 of 0,1"]
    assert told(c, "-n4", "-G2", "--ntasks-per-gpu=2") == ["0 of 0,1", "0 of 0,1", "1 of 0,1", "1 of 0,1"]
    job = c.sbatch("-N1", "-n2", "--gpus-per-task=1", wrap="srun -l sh -c 'echo $CUDA_VISIBLE_DEVICES' | sort")
    assert c.wait(job)["JobState"] == "COMPLETED" and c.output(job) == "0: 0\n1: 1\n"


def test_gpu_bind_assigns_gpus_to_tasks(gpus):
    c = gpus
    all_of = ["-n3", "--gres=gpu:3"]
    assert told(c, *all_of) == ["0,1,7 of 0,1,7"] * 3
    for how, got in (("per_task:1", ["0", "1", "7"]), ("single:2", ["0", "0", "1"]), ("map_gpu:7,0", ["7", "0", "7"]),
                     ("mask_gpu:0x81,2*2", ["0,7", "1", "1"]), ("none", ["0,1,7"] * 3)):
        assert told(c, *all_of, f"--gpu-bind={how}") == [f"{mine} of 0,1,7" for mine in got], how
    assert told(c, *all_of, env={"SLURM_GPU_BIND": "single:1"}) == ["0 of 0,1,7", "1 of 0,1,7", "7 of 0,1,7"]
    done = c.run(["srun", "-N1", *all_of, "--gpu-bind=verbose,per_task:1", "true"])
    told_so = sorted(line for line in done.stderr.splitlines() if not line.startswith("srun: job"))  # it may have waited
    assert [line.split(", ")[1] for line in told_so] == [f"task  {i}  {i}: GPUs {gpu}" for i, gpu in enumerate("017")]
    done = c.run(["srun", "-N1", *all_of, "--gpu-bind=map_gpu:3", *ASK])
    assert "0,1,7 of 0,1,7" in done.stdout
    assert "slurmstepd: error: --gpu-bind: 3: not all of it are GPUs of this step; the task may use all of the step's" in done.stderr
    c.run(["srun", "--gpu-bind=nearest", "true"]).fails("srun: error: Invalid --gpu-bind argument: nearest: not a type")


def test_tres_bind_assigns_gpus_to_tasks(gpus):
    """The general form, also for the steps of a job; of two forms the one nearer to the user counts."""
    c = gpus
    all_of = ["-n3", "--gres=gpu:3"]
    for how, got in (("per_task:1", ["0", "1", "7"]), ("map:7,0", ["7", "0", "7"]), ("mask:0x81,2*2", ["0,7", "1", "1"]),
                     ("none+gres/nic:closest", ["0,1,7"] * 3)):
        assert told(c, *all_of, f"--tres-bind=gres/gpu:{how}") == [f"{mine} of 0,1,7" for mine in got], how
    assert told(c, *all_of, "--tres-bind=gres/gpu:none", env={"SLURM_GPU_BIND": "single:1"}) == ["0,1,7 of 0,1,7"] * 3
    assert told(c, *all_of, "--gpu-bind=none", env={"SLURM_TRES_BIND": "gres/gpu:single:1"}) == ["0,1,7 of 0,1,7"] * 3
    job = c.sbatch("-N1", *all_of, "--tres-bind=gres/gpu:single:1", wrap="echo $SLURM_TRES_BIND; srun -l sh -c 'echo $CUDA_VISIBLE_DEVICES' | sort")
    assert c.wait(job)["JobState"] == "COMPLETED" and c.output(job) == "gres/gpu:single:1\n0: 0\n1: 1\n2: 7\n"
    done = c.run("srun --tres-bind=gres/nic:closest true")
    assert "option --tres-bind=gres/nic:closest has no effect: tasks can have GPUs of their own, and nothing else" in done.stderr
    for command in ("srun", "sbatch --wrap=x", "salloc"):
        c.run([*command.split(), "--tres-bind=gpu:closest", "true"]).fails("Invalid --tres-bind specification: gpu:closest: it is gres/NAME:")
        c.run([*command.split(), "--gpu-freq=fast", "true"]).fails("Invalid --gpu-freq specification: fast: it is VALUE[,memory=VALUE][,verbose]")


def test_gpus_near_to_a_tasks_cpus(make_cluster):
    """closest and single go by the Cores of gres.conf and the CPUs that the task is bound to."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    c = make_cluster(nodes=1, cpus=2, start=False, conf="GresTypes=gpu\nTaskPlugin=task/affinity", node_conf="Gres=gpu:4")
    for number in range(4):
        (c.dir / f"card{number}").touch()
    (c.dir / "gres.conf").write_text(f"Name=gpu File={c.dir}/card[0-1] Cores=0\nName=gpu File={c.dir}/card[2-3] Cores=1\n")
    c.start()
    assert told(c, "-n2", "--gres=gpu:4", "--cpu-bind=cores", "--gpu-bind=closest") == ["0,1 of 0,1,2,3", "2,3 of 0,1,2,3"]
    assert told(c, "-n2", "--gres=gpu:4", "--cpu-bind=cores", "--accel-bind=g") == ["0,1 of 0,1,2,3", "2,3 of 0,1,2,3"]
    c.run("srun --accel-bind=x true").fails("Invalid --accel-bind specification: it is made of the letters g, n and v")
    assert told(c, "-n2", "--gres=gpu:4", "--cpu-bind=cores", "--gpu-bind=single:1") == ["0 of 0,1,2,3", "3 of 0,1,2,3"]
    assert told(c, "-n2", "--gres=gpu:4", "--cpu-bind=none", "--gpu-bind=closest") == ["0,1,2,3 of 0,1,2,3"] * 2


@pytest.fixture
def shared(make_cluster):
    """One node of three cards: jobs have parts of them."""
    c = make_cluster(nodes=1, cpus=8, start=False, conf="GresTypes=gpu,mps,shard", node_conf="Gres=gpu:a100:2,gpu:v100:1,shard:9,mps:600")
    for number in (0, 1, 7):
        (c.dir / f"nvidia{number}").touch()
    (c.dir / "gres.conf").write_text(
        f"Name=gpu Type=a100 File={c.dir}/nvidia[0-1]\nName=gpu Type=v100 File={c.dir}/nvidia7\nName=shard Count=9\n"
        f"Name=mps Count=200 File={c.dir}/nvidia0\nName=mps Count=400 File={c.dir}/nvidia7\n")
    c.start()
    return c


PARTS = "echo $CUDA_VISIBLE_DEVICES/$ROCR_VISIBLE_DEVICES/$SLURM_JOB_GPUS/$SLURM_SHARDS_ON_NODE/$CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"


def used(c):
    return c.run("sinfo -h -O GresUsed:90").ok().strip()


def hold(c, *options):
    job = c.sbatch("-n1", *options, wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "it")
    return job


def test_jobs_share_a_gpu(shared):
    c = shared
    first, second = hold(c, "--gres=shard:1"), hold(c, "--gres=shard:2")
    assert used(c) == "gpu:a100:0(IDX:N/A),gpu:v100:0(IDX:N/A),shard:3(3/3,0/3,0/3),mps:0(0/200,0/0,0/400)"
    third = hold(c, "--gres=gpu:a100:1")
    assert "GRES=gpu:a100:1(IDX:1)" in c.run(f"scontrol show job -d {third}").ok()
    assert "GRES=shard:2(IDX:0)" in c.run(f"scontrol show job -d {second}").ok()
    assert c.run(["srun", "-n1", "--gres=shard:2", "sh", "-c", PARTS]).ok() == "7/7/7/2/"
    waits = c.sbatch("--gres=gpu:a100:1", wrap=SHOW)
    eventually(lambda: c.job(waits)["Reason"] == "Resources" and "shard:3(" in used(c), "it waits, and srun's job has left")
    c.kill("slurmctld")
    c.start_controller()
    assert used(c) == "gpu:a100:1(IDX:1),gpu:v100:0(IDX:N/A),shard:3(3/3,-/3,0/3),mps:0(0/200,-/0,0/400)"
    assert "GresUsed=gpu:a100:1(IDX:1),gpu:v100:0(IDX:N/A),shard:3(3/3,-/3,0/3)" in c.run("scontrol show node -d").ok()
    c.run(f"scancel {first}").ok()
    eventually(lambda: "shard:2(2/3,-/3,0/3)" in used(c), "it")
    assert c.run(["srun", "-n1", "-t1", "--gres=shard:1", "sh", "-c", PARTS]).ok() == "0/0/0/1/"  # it delays no job that waits for this GPU
    assert c.job(waits)["JobState"] == "PENDING"
    c.run(f"scancel {second}").ok()
    assert c.wait(waits)["JobState"] == "COMPLETED" and c.output(waits) == "0/0/0//1\n"
    c.run(f"scancel {third}").ok()


def test_mps_are_percentages_of_a_gpu(shared):
    c = shared
    assert c.run(["srun", "-n1", "--gres=mps:50", "sh", "-c", PARTS + "; echo $CUDA_DEVICE_ORDER"]).ok().split() == ["0/0/0//25", "PCI_BUS_ID"]
    assert c.run(["srun", "-n1", "--gres=mps:300", "sh", "-c", PARTS]).ok() == "0/0/7//75"
    eventually(lambda: "mps:0(" in used(c), "it")
    job = c.sbatch("-n1", "--gres=mps:100", wrap=f"{PARTS}; srun -n1 --gres=mps:20 sh -c '{PARTS}'; srun -n1 sh -c '{PARTS}'; sleep 1000")
    eventually(lambda: c.output(job).split() == ["0/0/0//50", "0/0/0//10", "0/0/0//50"], "it")
    assert used(c).endswith("shard:0(0/3,0/3,0/3),mps:100(100/200,0/0,0/400)")
    late = c.sbatch("-n1", "--gres=mps:150", wrap=PARTS)  # the other GPU could, and MPS is on one at a time
    eventually(lambda: c.job(late)["Reason"] == "Resources", "it")
    c.run(f"scancel {job}").ok()
    assert c.wait(late)["JobState"] == "COMPLETED" and c.output(late) == "0/0/0//75\n"


def test_tasks_have_parts_of_gpus_of_their_own(shared):
    """--gres-flags=one-task-per-sharing with MULTIPLE_SHARING_GRES_PJ: each task on another GPU, and no more tasks than GPUs."""
    c = shared
    with c.conf_file.open("a") as f:
        f.write("SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory,MULTIPLE_SHARING_GRES_PJ\n")
    c.run("scontrol reconfigure").ok()
    asked, apart = "--tres-per-task=gres/shard:1", "--gres-flags=one-task-per-sharing"
    for options, parts in ([asked], "3/3,0/3,0/3"), ([asked, apart], "1/3,1/3,1/3"), ([asked, f"{apart},multiple-tasks-per-sharing"], "3/3,0/3,0/3"):
        job = c.sbatch("-n3", *options, wrap="sleep 1000")
        eventually(lambda: f"shard:3({parts})" in used(c), lambda: (options, used(c)))
        c.run(f"scancel {job}").ok()
        c.wait(job)
    c.run(["sbatch", "-n4", asked, "--wrap=true"]).ok()
    c.run(["sbatch", "-n4", asked, apart, "--wrap=true"]).fails("it would fit with 3 tasks")


@pytest.mark.parametrize("option, words", [
    ("--gres=shard:4", "it would fit with --gres=shard:3"),
    ("--gres=shard:1,gpu:1", "gpu, mps and shard exclude each other in a request"),
    ("--gres=shard:1 --gpus=1", "gpu, mps and shard exclude each other in a request"),
])
def test_impossible_gpu_shares_are_refused(shared, option, words):
    shared.run(["sbatch", *option.split(), "--wrap", "true"]).fails(words)


def test_restricted_cores_are_for_jobs_with_gpus(make_cluster):
    """RestrictedCoresPerGPU: shown, kept from other jobs, planned for, and explained."""
    c = make_cluster(nodes=1, cpus=8, start=False, conf="GresTypes=gpu", node_conf="Gres=gpu:2 RestrictedCoresPerGPU=2")
    (c.dir / "gres.conf").write_text("Name=gpu File=/dev/null Cores=0-3\nName=gpu File=/dev/zero Cores=4-7\n")
    c.start()
    assert "RestrictedCoresPerGPU=2(0-1,4-5)" in c.run("scontrol show node n1").ok()
    shown = c.json("scontrol show node n1")["nodes"][0]
    assert (shown["res_cores_per_gpu"], shown["gpu_spec"]) == (2, "0-1,4-5")
    assert "RestrictedCoresPerGPU=2" in c.run(f"cat {c.run(f'scontrol write config {c.dir}/kept').ok().split()[-1].strip('.')}").ok()
    c.run(["sbatch", "-n5", "--wrap=true"]).fails("it would fit with")
    first = c.sbatch("-n4", "-t60", wrap="sleep 1000")
    eventually(lambda: c.state(first) == "RUNNING", "it has the other cores")
    waits = c.sbatch("-n1", "-t60", wrap="sleep 1000")
    gpu = c.sbatch("-n2", "--gpus=1", "-t600", wrap="sleep 1000")
    eventually(lambda: c.state(gpu) == "RUNNING", "it has restricted cores")
    assert (c.job(waits)["JobState"], c.job(waits)["Reason"]) == ("PENDING", "Resources")
    eventually(lambda: c.job(waits)["StartTime"] == c.job(first)["EndTime"], "it is planned for when the other cores are free")
    assert "too few CPUs free" in c.run(f"sluice why {waits}").ok()
    cpus = {job: re.search(r"CPU_IDs=(\S+)", c.run(f"scontrol show job -d {job}").ok())[1] for job in (first, gpu)}
    assert cpus == {first: "2-3,6-7", gpu: "0-1"}
    c.run(f"scancel {first}").ok()
    eventually(lambda: c.state(waits) == "RUNNING", "the cores are free")


def test_a_pending_job_needs_the_nodes_of_its_gpus(make_cluster):
    """NumNodes of --gpus and --gpus-per-task; ReqTRES is the same before and after the start, and counts each GPU once."""
    c = make_cluster(nodes=3, cpus=4, start=False, conf="GresTypes=gpu\nDefCpuPerGPU=2", node_conf="Gres=gpu:2")
    (c.dir / "gres.conf").write_text("Name=gpu Count=2\n")
    c.start()
    for options, nodes, asked in (("--gpus=5", "3", "cpu=10,mem=1000M,node=1,billing=10,gres/gpu=5"), ("-n3 --gpus-per-task=1", "2", None),
                                  ("--gres=gpu:2 --gpus-per-task=1 -n4", "2", None)):
        job = c.sbatch("-H", *options.split(), wrap="sleep 1000")
        before = c.job(job)
        assert before["NumNodes"] == nodes and asked in (None, before["ReqTRES"]), before
        c.run(f"scontrol release {job}").ok()
        eventually(lambda: c.state(job) == "RUNNING", "it runs")
        after = c.job(job)
        assert re.sub(r"node=\d+", "", after["ReqTRES"]) == re.sub(r"node=\d+", "", before["ReqTRES"]), (before["ReqTRES"], after)
        assert after["ReqTRES"].rpartition(",")[2] == after["AllocTRES"].rpartition(",")[2], after
        c.run(f"scancel {job}").ok()
        c.wait(job)


@pytest.mark.parametrize("options, pending", [
    ("-G4 --cpus-per-gpu=2", "cpu=8,mem=800M,node=1,billing=8,gres/gpu=4"), ("-G4 --gpus-per-task=1", "cpu=4,mem=400M,node=1,billing=4,gres/gpu=4")])
def test_requested_tres_count_a_total_of_gpus(make_cluster, options, pending):
    """The requested resources of a job are the same before and after its start, except for nodes that it did not request."""
    c = make_cluster(nodes=2, conf="GresTypes=gpu", node_conf="Gres=gpu:2")
    job = c.sbatch("-H", *options.split(), wrap="exit 0")
    shown = c.job(job)
    assert shown["ReqTRES"] == pending
    assert "cpu=" + shown["NumCPUs"] == pending.split(",")[0]
    c.run(f"scontrol release {job}").ok()
    ended = c.wait(job)
    assert ended["JobState"] == "COMPLETED" and ended["AllocTRES"] == pending.replace("node=1", "node=2") == ended["ReqTRES"]
