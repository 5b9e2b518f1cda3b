# SPDX-License-Identifier: GPL-3.0-or-later
"""TaskProlog and TaskEpilog, srun --task-prolog and --task-epilog, through the commands."""
import pytest

from harness import Cluster


def program(c, name, *lines):
    path = c.work / name
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def cluster():
    c = Cluster(nodes=2, start=False)
    try:
        prolog = program(c, "prolog", "echo export PLACE=$SLURMD_NODENAME/$SLURM_PROCID", "echo unset SECRET",
                         "echo print prolog of $SLURM_PROCID", 'test -z "$FAIL"')
        epilog = program(c, "epilog", "echo $SLURM_JOB_ID.${SLURM_STEP_ID-batch}.$SLURM_PROCID >>epilogs")
        with c.conf_file.open("a") as f:
            f.write(f"TaskProlog={prolog}\nTaskEpilog={epilog}\n")
        c.start()
        yield c
        c.stop()
    finally:
        c.destroy()


def test_relative_paths_begin_beside_slurm_conf(cluster, tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(cluster.conf_file.read_text() + "TaskProlog=prolog\nTaskEpilog=epilog\nProlog=d/*\nEpilog=e\n")
    done = cluster.run(f"slurmctld --check -f {conf}")
    for key, path in (("TaskProlog", "prolog"), ("TaskEpilog", "epilog"), ("Prolog", "d/*"), ("Epilog", "e")):
        assert f"{key}={tmp_path}/{path}: no such file" in done.stdout + done.stderr


def test_task_hook_keys_have_effect(cluster):
    done = cluster.run(f"slurmctld --check -f {cluster.conf_file}")
    assert "TaskProlog" not in done.stdout + done.stderr and "TaskEpilog" not in done.stdout + done.stderr


def test_failing_task_prolog_prevents_its_task(cluster):
    done = cluster.run(["srun", "-n2", "sh", "-c", "echo ran"], env={"FAIL": "yes"})
    assert done.returncode == 1 and "ran" not in done.stdout
    assert done.stderr.count("exited with status 1: the task is not started") == 2
    done = cluster.run("srun --task-prolog=/no/such echo ran")
    assert done.returncode == 1 and "ran" not in done.stdout
    assert "--task-prolog /no/such cannot be run: No such file or directory" in done.stderr


def test_task_prolog_sets_variables_and_prints(cluster):
    done = cluster.run(["srun", "-N2", "--ntasks-per-node=2", "-l", "sh", "-c", "echo $PLACE ${SECRET-none} $MORE"],
                       env={"SECRET": "x", "MORE": "y"}).ok().split("\n")
    places = ["n1/0", "n1/1", "n2/2", "n2/3"]
    assert sorted(done) == sorted([f"{i}: prolog of {i}" for i in range(4)] +
                                  [f"{i}: {places[i]} none y" for i in range(4)])


@pytest.mark.parametrize("by_variable", [False, True])
def test_programs_of_the_user_run_as_hooks(cluster, by_variable):
    first = program(cluster, "first", "echo export PLACE=again:$PLACE")
    last = program(cluster, "last", "echo last $PLACE $SLURM_PROCID")
    line, env = ["srun", "-n1", "-w", "n2"], {}
    if by_variable:
        env = {"SLURM_TASK_PROLOG": str(first), "SLURM_TASK_EPILOG": str(last)}
    else:
        line += ["--task-prolog", first, "--task-epilog", last]
    # An epilog has the environment that the task was launched with.
    assert cluster.run([*line, "sh", "-c", "echo $PLACE"], env=env).ok() == "prolog of 0\nagain:n2/0\nlast 0"


def test_task_epilogs_run_for_script_and_steps(cluster):
    (cluster.work / "epilogs").unlink(missing_ok=True)
    job = cluster.sbatch("-n2", wrap="echo $PLACE; srun true; srun -n1 false")
    cluster.wait(job)
    assert cluster.output(job).startswith("prolog of 0\nn1/0\n")
    assert sorted((cluster.work / "epilogs").read_text().split()) == \
        sorted([f"{job}.0.0", f"{job}.0.1", f"{job}.1.0", f"{job}.batch.0"])
