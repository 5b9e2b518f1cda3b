# SPDX-License-Identifier: GPL-3.0-or-later
"""What srun says of a step: --wait-for-children, --whole, --network (CORE-034)."""
import re

import pytest

from harness import Cluster, eventually, fields_of

ORPHAN = "(setsid sh -c 'while [ ! -e {0}/go ]; do sleep 0.05; done; touch {0}/orphan; echo late' &) ; echo task"


def test_step_waits_for_children_if_requested(make_cluster):
    c = make_cluster(nodes=1)
    srun = c.popen(["srun", "-n1", "--wait-for-children", "sh", "-c", ORPHAN.format(c.work)])
    assert srun.stdout.readline() == "task\n"
    job = c.run("squeue -h -o %A").ok()
    eventually(lambda: "task 0" not in c.run(f"scontrol listpids {job}").stdout, "the task has ended")
    (c.work / "go").touch()
    assert srun.communicate(timeout=60)[0] == "late\n" and srun.returncode == 0
    assert (c.work / "orphan").exists()


def test_step_ends_with_its_tasks_by_default(make_cluster):
    c = make_cluster(nodes=1)
    assert c.run(["srun", "-n1", "sh", "-c", ORPHAN.format(c.work)]).ok() == "task"
    c.settle()
    (c.work / "go").touch()
    assert not (c.work / "orphan").exists()


def test_a_step_that_waits_for_others_is_cancelled(make_cluster):
    c = make_cluster(nodes=1)
    srun = c.popen(["srun", "-n1", "--wait-for-children", "sh", "-c", ORPHAN.format(c.work)])
    assert srun.stdout.readline() == "task\n"
    job = c.run("squeue -h -o %A").ok()
    c.run(f"scancel {job}.0").ok()
    srun.communicate(timeout=60)
    c.settle()
    assert not (c.work / "orphan").exists()


def test_exclusive_step_gets_whole_nodes(make_cluster):
    """And begins when no other step has a part of them."""
    c = make_cluster(nodes=2)
    show = ["srun", "-n1", "-N1", "--whole", "sh", "-c", "echo $SLURM_CPUS_ON_NODE"]
    job = c.sbatch("-n8", "-N2", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a start")
    inside = {"SLURM_JOB_ID": str(job)}
    assert c.run(show, env=inside).ok() == "4"
    c.settle()
    part = c.popen(f"srun --jobid={job} -n1 -N1 --exact sleep 1000")
    eventually(lambda: "sleep" in c.run("squeue -h -s -o %j").stdout.split(), "a step on n1")
    c.run(["srun", f"--jobid={job}", "-I", "-N2", "-n2", "--whole", "true"]).fails("n1: 1 of 4 CPUs are held by StepId=")
    whole = c.popen(["srun", f"--jobid={job}", "-N1", "-n1", "--whole", "sh", "-c", f"touch {c.work}/up; sleep 1000"])  # n2 is idle
    eventually((c.work / "up").exists, "the other node")
    shown = [fields_of(line) for line in c.run("scontrol show step -o").ok().splitlines()]
    assert {(s["NodeList"], s["CPUs"]) for s in shown if s["Name"] in ("sleep", "sh")} == {("n1", "1"), ("n2", "4")}
    for process in (part, whole):
        process.terminate()
        process.wait(60)
    c.run(f"scancel {job}").ok()


def test_network_option_is_kept_and_shown(make_cluster):
    """CORE-034: the field for the interconnect, of a job and of a step; nothing of IP is allocated."""
    c = make_cluster(nodes=1)
    note = "option --network={} is for an interconnect that is not here: it is kept and shown, and nothing is allocated"
    done = c.run(["sbatch", "--parsable", "--network=sn_all", "--wrap", "srun -n1 sh -c 'echo $SLURM_NETWORK'; sleep 1000"])
    job = done.ok()
    assert done.stderr.count(note.format("sn_all")) == 1
    eventually(lambda: (c.work / f"slurm-{job}.out").exists() and c.output(job), "its step")
    assert c.output(job) == "sn_all\n"  # told at the submission, and not again
    assert c.job(job)["Network"] == "sn_all"
    step = c.popen(f"srun --jobid={job} --overlap --network=ip sleep 1000")
    shown = eventually(lambda: (said := c.run(f"scontrol show step -o {job}.1")).returncode == 0 and said.stdout, "its step")
    assert fields_of(shown)["Network"] == "ip"
    c.run(f"scancel {job}").ok()
    assert note.format("ip") not in step.communicate(timeout=60)[1]
    assert c.run(["srun", "-n1", "sh", "-c", "echo =$SLURM_NETWORK"], env={"SLURM_NETWORK": "IP"}).ok() == "=IP"
    c.run(["srun", "-n1", f"--network={'x' * 1025}", "true"]).fails("Invalid --network specification")


def test_slurmd_debug_prints_messages_of_nodes(make_cluster):
    """HET-10, P46: --slurmd-debug, also as SLURMD_DEBUG; without it only errors."""
    c = make_cluster(nodes=1)
    told = c.run("srun -n2 --slurmd-debug=verbose true")
    assert told.returncode == 0
    assert re.search(r"^slurmstepd: n1: slurmstepd \d+ begins 2 tasks in (no )?control group", told.stderr, re.M), told.stderr
    assert re.search(r"^slurmstepd: n1: tasks 0,1 of step 1\.0 are processes \d+,\d+$", told.stderr, re.M), told.stderr
    for line, env in (("--slurmd-debug=info", {}), ("--slurmd-debug=3", {}), ("", {"SLURMD_DEBUG": "info"})):
        told = c.run(f"srun {line} true", env=env).stderr
        assert "are processes" in told and "begins" not in told
    for line in ("", "--slurmd-debug=error", "--slurmd-debug=quiet"):
        assert "slurmstepd" not in c.run(f"srun {line} true").stderr
    told = c.run("srun --slurmd-debug=debug true").stderr
    assert "slurmstepd: debug: n1: of user " in told
    c.run("srun --slurmd-debug=loud true").fails("Invalid --slurmd-debug specification: loud: it is quiet, fatal, error, info, verbose")


def test_signals_are_reported(make_cluster):
    c = make_cluster(nodes=1)
    trap = "trap 'exit 0' USR1; echo up; while :; do sleep 0.05; done"
    srun = c.popen(["srun", "--slurmd-debug=info", "bash", "-c", trap])
    assert srun.stdout.readline() == "up\n"
    step = c.run("squeue -h -s -o %i").ok()
    c.run(f"scancel -s USR1 {step}").ok()
    assert "slurmstepd: n1: signal SIGUSR1 for its tasks\n" in srun.communicate(timeout=60)[1]


@pytest.fixture(scope="module")
def threaded():
    """One node of four cores with two threads each, where jobs get whole cores."""
    c = Cluster(nodes=1, cpus=8, node_conf="Sockets=1 CoresPerSocket=4 ThreadsPerCore=2",
                conf="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core")
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


@pytest.mark.parametrize("job, step, tasks, cpus", [  # the numbers of Slurm 22.05
    ("", "srun -n1", 1, 2),
    ("", "srun -n3", 3, 4),
    ("", "srun -c1", 2, 2),
    ("", "srun -c2", 1, 2),
    ("", "srun -N1 --exclusive -c2", 4, 8),
    ("", "srun --exclusive", 1, 8),
    ("", "srun -N1 --exclusive --ntasks-per-node=2", 2, 2),
    ("", "srun -n2 --exclusive", 2, 2),
    ("", "srun -n2 --exclusive=allocation", 2, 8),
    ("", "srun -n2 --ntasks-per-core=1", 2, 4),
    ("", "srun -n2 --hint=nomultithread", 2, 4),
    ("-N1 --exclusive", "srun", 1, 8),
    ("-N1 --exclusive", "srun -n2", 2, 8),
    ("-N1 --exclusive", "srun -n2 --exact", 2, 2),
    ("-N1 --exclusive", "srun -c2", 4, 8),
    ("-N1 --exclusive", "srun -c2 --overlap", 4, 8),
    ("-N1 --exclusive", "srun -c2 --ntasks-per-node=2", 2, 4),
    ("-N1 --exclusive -n3", "srun -c2", 3, 6),
    ("-N1 -c8", "srun -c2", 4, 8),
    ("-N1 -n1 -c8", "srun -c2", 1, 2),
    ("-n4", "srun -n2", 2, 4),
    ("-n4", "srun -n2 --exact", 2, 2),
    ("-n4", "srun -O -n6", 6, 4),
    ("-n4 --threads-per-core=1", "srun -n2", 2, 8),
])
def test_step_gets_the_requested_cpus(threaded, job, step, tasks, cpus):
    """All of its job's on its nodes unless it is exact, which --exclusive is with a number of tasks; -c without -n fills them. Variables and records tell the same."""
    line = [*step.split(), "sh", "-c", "echo $SLURM_CPUS_ON_NODE; test $SLURM_PROCID != 0 || "
            "scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID | grep -o 'CPUs=[0-9]* Tasks=[0-9]*\\|TRES=cpu=[0-9]*'"]
    out = threaded.run([*(["salloc", "-Q", *job.split()] if job else []), *line]).ok().splitlines()
    assert sorted(out) == sorted([str(cpus)] * tasks + [f"CPUs={cpus} Tasks={tasks}", f"TRES=cpu={cpus}"])


@pytest.mark.parametrize("first, second, starts", [
    ("-n1", "-n1", False), ("-n1", "-n1 --exact", False), ("-n1 --exact", "-n1", False), ("-n1 --exact", "-n1 --exact", True),
    ("-n1", "-n1 --overlap", True), ("-n1 --overlap", "-n1", True), ("-n1", "-n6 -O", True)])
def test_concurrent_steps_have_different_cpus(threaded, first, second, starts):
    line = f"srun {first} sh -c 'echo on; exec sleep 1000' | (read on; srun -I {second} echo second; scancel $SLURM_JOB_ID.0)"
    done = threaded.run(["salloc", "-Q", "-n4", "sh", "-c", line])
    assert ("second" in done.stdout) == starts, done
    assert ("Requested nodes are busy" in done.stderr) != starts, done


def test_srun_exclusive_allocation(make_cluster):
    """LaunchParameters: the meaning of --exclusive for an srun that creates a job."""
    c = make_cluster(nodes=1, conf="LaunchParameters=srun_exclusive_allocation")
    assert c.run(["srun", "-n1", "--exclusive", "printenv", "SLURM_CPUS_ON_NODE"]).ok() == "4"
