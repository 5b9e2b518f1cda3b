# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that the planner does not know are refused or spoken of, never dropped in silence; the rest of srun's own."""
import re

import pytest

from harness import DEADLINE, eventually

UNSAFE = {
    "--container": ("/x", "SRUN_CONTAINER", "SBATCH_CONTAINER"),
}


def is_refused(cluster, done, option):
    done.fails(f"error: option {option}", "not available in this version")
    assert cluster.run("squeue -h -t all -n refused").ok() == ""


@pytest.mark.parametrize("option", UNSAFE)
def test_unsupported_critical_options_are_refused(cluster, option):
    value, variable, batch_variable = UNSAFE[option]
    whole = f"{option}={value}"
    is_refused(cluster, cluster.run(["sbatch", "-J", "refused", whole, "--wrap", "true"]), option)
    script = f"#!/bin/sh\n#SBATCH -J refused\n#SBATCH {whole}\ntrue\n"
    done = cluster.run("sbatch", stdin=script)
    is_refused(cluster, done, option)
    assert "line 3" in done.stderr
    is_refused(cluster, cluster.run(["srun", "-J", "refused", whole, "true"]), option)
    is_refused(cluster, cluster.run(["salloc", "-J", "refused", whole, "true"]), option)
    if variable:
        done = cluster.run("srun -J refused true", env={variable: value})
        is_refused(cluster, done, option)
        assert variable in done.stderr
    if batch_variable:
        done = cluster.run(["sbatch", "-J", "refused", "--wrap", "true"], env={batch_variable: value})
        is_refused(cluster, done, option)
        assert batch_variable in done.stderr


def test_ineffective_options_are_reported_once(cluster):
    for line in (["sbatch", "-o", "/dev/null", "--qos=high", "--wrap", "true"], ["srun", "--qos=high", "true"],
                 ["salloc", "-Q", "--qos=high", "true"]):
        done = cluster.run(line)
        assert done.returncode == 0, done.stderr
        told = done.stderr.count(f"{line[0]}: warning: option --qos is accepted and has no effect\n")
        assert told == (0 if "-Q" in line else 1) and done.stderr.count("warning") == told
    done = cluster.run("sbatch -o /dev/null", stdin="#!/bin/sh\n#SBATCH --gres=none --delay-boot=5\ntrue\n")
    assert done.returncode == 0 and "--delay-boot is accepted and has no effect" in done.stderr and "gres" not in done.stderr
    done = cluster.run("srun true", env={"SLURM_CPU_BIND": "cores"})
    assert done.stderr == "srun: warning: --cpu-bind has no effect: TaskPlugin=task/none does not bind tasks, task/affinity does\n"


def test_preserve_env_keeps_variables(cluster):
    show = ["sh", "-c", "echo $SLURM_NNODES $SLURM_NTASKS $SLURM_STEP_NUM_NODES $SLURM_STEP_NUM_TASKS"]
    script = ["sh", "-c", 'srun -n2 -N2 sh -c "$0" | sort -u; srun -E -n2 -N2 sh -c "$0" | sort -u', show[2]]
    assert cluster.run(["salloc", "-Q", "-N3", "-n3", *script]).ok() == "2 2 2 2\n3 3 2 2"
    given = {"SLURM_NNODES": "17", "SLURM_NTASKS": "31"}
    assert cluster.run(["srun", "--preserve-env", "-N1", "-n1", *show], env=given).ok() == "17 31 1 1"
    assert cluster.run(["srun", "-E", "-N1", "-n2", *show]).ok() == "1 2 1 2\n1 2 1 2"


def test_other_clusters_are_refused(cluster):
    for line in (["srun", "true"], ["salloc", "true"], ["sbatch", "--wrap", "true"]):
        cluster.run([line[0], "-M", "elsewhere", *line[1:]]).fails("No cluster 'elsewhere'")
        cluster.run(line, env={"SLURM_CLUSTERS": "elsewhere"}).fails("No cluster 'elsewhere'")
    assert cluster.run("srun -M test echo x").ok() == "x"


def where(cluster, *options, **more):
    """The nodes that a run has used, one name per task."""
    done = cluster.run(["srun", *options, "printenv", "SLURMD_NODENAME"], **more)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split()), done.stderr


def test_node_lists_are_read_from_files(cluster):
    (cluster.work / "hosts").write_text("# those\nn3\nn2,n3\n")
    assert where(cluster, "-F", "hosts") == (["n2", "n3"], "")
    for tool in (["srun", "true"], ["salloc", "true"], ["sbatch", "--wrap", "true"]):
        cluster.run([tool[0], "-F", "/nonexistent", *tool[1:]]).fails("error: Invalid --nodefile node file: ")
        cluster.run([tool[0], "-F", "/tmp", *tool[1:]]).fails("error: Invalid --nodefile node file: ")
    (cluster.work / "hosts").write_text("n99\n")
    cluster.run("srun -F hosts true").fails("Invalid node name specified")


def test_surplus_named_nodes_are_cut(cluster):
    nodes, said = where(cluster, "-w", "n2,n3", "-N1")
    assert nodes == ["n2"] and said == ("srun: error: Required nodelist includes more nodes than permitted by max-node "
                                        "count (2 > 1). Eliminating nodes from the nodelist.\n")
    cluster.settle()
    assert where(cluster, "-w", "n2,n3", "-n1") == (
        ["n2"], "srun: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n")
    cluster.run(["sbatch", "-w", "n2,n3", "-N1", "--wrap", "true"]).fails("invalid number of nodes (-N 2-1)")


def test_more_nodes_than_named_are_added(cluster):
    nodes, said = where(cluster, "-w", "n2", "-N3")
    assert len(set(nodes)) == 3 and "n2" in nodes and said == ""


def ranks(done):
    return [row.split()[1] for row in sorted(done.ok().splitlines(), key=lambda row: int(row.split()[0]))]


SAY = ["sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME"]


def test_arbitrary_distribution_follows_the_list(cluster):
    """A task for each name in turn, in a new job and in an existing one, from the option and from a file."""
    for tool in (["srun", "true"], ["salloc", "true"], ["sbatch", "--wrap", "true"]):
        cluster.run([tool[0], "-m", "arbitrary", *tool[1:]]).fails(
            "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option")
        cluster.run(tool, env={"SLURM_HOSTFILE": "/no/such"}).fails("Invalid SLURM_HOSTFILE: ", "/no/such")
    line = ["n3", "n1", "n3", "n3", "n2", "n3", "n3"]
    listed = ["-m", "arbitrary", "-w", ",".join(line)]
    (cluster.work / "order").write_text("n3 # the first\nn1\nn3,n3\n\nn2\nn[3]\nn3\n")
    file = {"SLURM_HOSTFILE": str(cluster.work / "order")}
    assert ranks(cluster.run(["srun", *listed, *SAY])) == line
    assert ranks(cluster.run(["srun", *SAY], env=file)) == line
    assert ranks(cluster.run(["srun", "-n3", *SAY], env=file)) == line[:3]
    assert ranks(cluster.run(["salloc", "-Q", "-N4", "-n4", "srun", *listed, *SAY])) == line
    assert ranks(cluster.run(["salloc", "-Q", "-w", "n[1-3]", "-N3", "srun", "-n2", *listed, *SAY])) == line[:2]
    nodes = cluster.run(["salloc", "-Q", *listed, "sh", "-c", "echo $SLURM_JOB_NODELIST $SLURM_NTASKS $SLURM_DISTRIBUTION $SLURM_TASKS_PER_NODE"]).ok()
    assert nodes == "n[1-3] 7 arbitrary 1(x2),5"


def test_steps_of_a_job_with_an_arbitrary_distribution_follow_its_list(cluster):
    """Of salloc and of sbatch, by -m and by SLURM_HOSTFILE; an srun that chooses its nodes or its distribution does not."""
    line = ["n2", "n1", "n2"]
    listed = ["-m", "arbitrary", "-w", ",".join(line)]
    alloc = ["salloc", "-Q", *listed, "srun"]
    assert ranks(cluster.run([*alloc, *SAY])) == line
    assert ranks(cluster.run([*alloc, "-n2", *SAY])) == line[:2]
    assert ranks(cluster.run([*alloc, "-m", "arbitrary", *SAY])) == line
    assert ranks(cluster.run([*alloc, "-m", "block", *SAY])) == ["n1", "n1", "n2"]
    assert ranks(cluster.run([*alloc, "-N1", "-n2", "-w", "n1", *SAY])) == ["n1", "n1"]
    assert set(ranks(cluster.run([*alloc, "-x", "n2", "-n1", *SAY]))) == {"n1"}
    assert len(ranks(cluster.run([*alloc, "-n4", "-O", *SAY]))) == 4
    job = cluster.sbatch(*listed, "-o", str(cluster.work / "out"), wrap="srun sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'; echo $SLURM_TASKS_PER_NODE $SLURM_ARBITRARY_NODELIST")
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    *tasks, told = (cluster.work / "out").read_text().splitlines()
    assert [row.split()[1] for row in sorted(tasks)] == line and told == "1,2 n2,n1,n2"
    (cluster.work / "list").write_text("\n".join(line))
    assert ranks(cluster.run(["salloc", "-Q", "srun", *SAY], env={"SLURM_HOSTFILE": str(cluster.work / "list")})) == line
    nested = ["salloc", "-Q", *listed, "salloc", "-Q", "-n1", "-w", "n3", "sh", "-c", "srun printenv SLURMD_NODENAME; echo x$SLURM_ARBITRARY_NODELIST"]
    assert cluster.run(nested).ok().split() == ["n3", "x"]


def test_invalid_arbitrary_distributions_are_refused(cluster):
    cluster.run("srun -n4 -m arbitrary -w n1,n2 true").fails("4 tasks, and the list names 2 nodes for them")
    cluster.run("srun -m arbitrary -w [0-1] true").fails("need to specify a nodelist")
    cluster.run("srun -m arbitrary -w n1,n99 true").fails("n99")
    cluster.run("salloc -Q -N1 -w n1 srun -m arbitrary -w n1,n2 true").fails("n2")
    cluster.run("salloc -Q -w n1,n2 -N2 -n2 --mem=100 srun -m arbitrary -w n1,n1,n2 --mem=101 true").fails("Memory required by task")


@pytest.mark.parametrize("tool", ["srun", "salloc", "sbatch"])
def test_verbose_commands_list_their_defined_options(cluster, tool):
    done = cluster.run([tool, "-v", "-N1", "-t5", "-o", "/dev/null", *(["--wrap"] if tool == "sbatch" else []), "true"])
    assert done.returncode == 0, done.stderr
    start = done.stderr.split("\n")[:6]
    assert start == [f"{tool}: defined options", f"{tool}: -------------------- --------------------",
                     f"{tool}: nodes               : 1", f"{tool}: output              : /dev/null",
                     f"{tool}: time                : 00:05:00", f"{tool}: verbose             : 1"]
    assert f"{tool}: end of defined options\n" in done.stderr
    assert "defined options" not in cluster.run([tool, "-Q", "--version"]).stderr


def test_time_limit_of_a_step(cluster):
    """In a job, --time is the step's own; the job and its other steps go on."""
    done = cluster.run(["salloc", "-Q", "-n2", "sh", "-c",
                        "srun -n2 -t 0:01 sleep 300; echo status $?; srun -n1 -t 5 echo on"])
    said, after = done.stdout.split("\n")[:2]
    assert said.startswith("status ") and said != "status 0" and after == "on", done.stdout + done.stderr
    assert re.search(r"srun: error: \*\*\* STEP \d+\.0 ON n\d CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*", done.stderr)
    assert "Job step aborted" in done.stderr


def test_least_time_above_the_limit(cluster):
    refusal = "Invalid time-min specification (exceeds job's time or other limits)\n"
    for line, said in (("sbatch --wrap=true", "sbatch: error: Batch job submission failed: "),
                       ("srun true", "srun: error: Unable to allocate resources: "),
                       ("salloc true", "salloc: error: Job submit/allocate failed: ")):
        command, *rest = line.split()
        done = cluster.run([command, "-t10", "--time-min=11", *rest])
        assert (done.returncode, done.stdout) == (1, "") and done.stderr.endswith(said + refusal)
    job = cluster.sbatch("-H", "-t10", "--time-min=10", wrap="true")
    cluster.run(f"scontrol update JobId={job} TimeLimit=9").fails(refusal.rstrip())
    cluster.run(f"scancel {job}").ok()


def test_commands_report_held_jobs(cluster):
    for command, first in (("srun", "srun: Job is in held state, pending scheduler release\nsrun: job "),
                           ("salloc", "salloc: Job is in held state, pending scheduler release\nsalloc: Pending job ")):
        waiting = cluster.popen([command, "-H", "-J", "heldhere", "true"])
        job = eventually(lambda: cluster.run("squeue -h -n heldhere -t PD -o %i").ok(), "the job waits")
        cluster.run(f"scontrol release {job}").ok()
        out, err = waiting.communicate(timeout=60)
        assert waiting.returncode == 0 and err.startswith(first), err
        cluster.wait(int(job))


def test_variables_decide_how_often_ends_are_reported(cluster):
    """Variables of srun: one line for ends that are alike, and one node's word for all that a step was cancelled."""
    three = ["srun", "-N4", "-n4", "sh", "-c", "exit 3"]
    many = cluster.run(three).stderr
    assert sorted(re.findall(r"n\d: task \d: Exited with exit code 3", many)) == [f"n{i + 1}: task {i}: Exited with exit code 3" for i in range(4)], many
    once = cluster.run(three, env={"SLURM_SRUN_REDUCE_TASK_EXIT_MSG": "1"}).stderr
    assert len(re.findall("Exited with exit code 3", once)) == 1
    for env, nodes in (({}, {"n1", "n2", "n3", "n4"}), ({"SLURM_STEP_KILLED_MSG_NODE_ID": "2"}, {"n3"})):
        step = cluster.popen(["srun", "-N4", "-n4", "sh", "-c", "echo up; exec sleep 1000"], env=env, stdout=-1, stderr=-1)
        assert [step.stdout.readline() for _ in range(4)] == ["up\n"] * 4
        cluster.run(["scancel", *cluster.run("squeue -h -t R -o %i").ok().split()]).ok()
        said = step.communicate(timeout=DEADLINE)[1]
        assert set(re.findall(r"\*\*\* STEP \d+\.0 ON (n\d) CANCELLED AT", said)) == nodes, said
