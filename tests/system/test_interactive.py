# SPDX-License-Identifier: GPL-3.0-or-later
"""Interactive work: salloc's shell as a step on the job's first node, and programs that are looked for before a launch. X-33."""
import os
import re

import pytest

from harness import eventually
from terminal import Terminal


@pytest.fixture(scope="module")
def cluster(request):
    from harness import Cluster
    c = Cluster(nodes=2, conf="LaunchParameters=use_interactive_step,test_exec")
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def test_salloc_shell_is_a_step_on_the_first_node(cluster):
    """X-33: with a terminal, resources left for other steps, and the shell's status as salloc's."""
    t = Terminal(cluster, "salloc -N2 -n2 --exclusive", env={"SHELL": "/bin/sh", "PS1": "> "})
    t.until("> ")
    t.type("echo on $SLURMD_NODENAME of $SLURM_JOB_NUM_NODES, step $SLURM_STEP_ID; tty\n")
    t.until("on n1 of 2, step 4294967290")
    t.until("/dev/pts/")
    job = cluster.run("squeue -h -o %i").ok().strip()
    assert cluster.run("squeue -h -s -o %i").ok() == f"{job}.interactive"
    t.type("srun -n2 --mem=100 sh -c 'echo $SLURM_PROCID of $SLURM_NNODES at work'\n")
    t.until("of 2 at work")
    t.until("of 2 at work")
    t.until("> ")  # the inner srun has read what was typed before
    t.type("exit 3\n")
    assert t.close() == 3
    eventually(lambda: not cluster.run("squeue -h").ok(), "the job ends with its shell")


def test_steps_in_the_shell_see_the_whole_job(cluster):
    """The shell is one task; srun or mpirun in it see the whole allocation."""
    names = "SLURM_NNODES SLURM_NODELIST SLURM_TASKS_PER_NODE SLURM_NTASKS"
    show = "; ".join(f"echo {name}=${{{name}-none}}" for name in names.split())
    here = cluster.run(["salloc", "-N2", "sh", "-c", show]).ok().splitlines()
    assert "SLURM_NNODES=2" in here and "SLURM_NTASKS=none" in here
    t = Terminal(cluster, "salloc -N2", env={"SHELL": "/bin/sh", "PS1": "> "})
    t.until("> ")
    t.type(f"stty -echo; {show}\n")
    shown = t.until("> ")
    assert [line for line in shown.replace("\r", "").splitlines() if re.match(r"SLURM_\w+=", line)] == here, shown
    t.type("srun -l sh -c 'echo ran'\n")
    t.until(": ran")
    t.until(": ran")
    t.until("> ")
    t.type("exit\n")
    assert t.close() == 0


def test_salloc_runs_its_command_locally(cluster):
    assert cluster.run(["salloc", "sh", "-c", "echo ${SLURMD_NODENAME:-here}"]).ok() == "here"


@pytest.mark.parametrize("line", ["salloc --no-shell -J unread", "salloc -J unread touch ran", "salloc -J unread /no/such/program",
                                  "salloc -vv -J unread touch ran", "salloc -v --no-shell --qos=q -J unread"])
def test_unread_messages_do_not_block_salloc(cluster, line):
    """Standard error is a full pipe: the command runs, the allocation is released, and salloc ends. What was in the pipe before is intact."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    full = 0
    try:
        while True:
            full += os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    ran = cluster.work / "ran"
    ran.unlink(missing_ok=True)
    try:
        done = cluster.popen(line, stderr=writer)
        os.close(writer)
        assert done.wait(60) == ("/no/such" in line)
        assert ran.exists() == ("ran" in line)
        if "--no-shell" in line:
            cluster.run("scancel -n unread").ok()
        eventually(lambda: cluster.run("squeue -h -n unread").ok() == "", "the allocation is released")
        assert len(os.read(reader, 2 * full)) == full
    finally:
        os.close(reader)


def test_options_of_the_interactive_step(make_cluster):
    """Words as the shell has them."""
    c = make_cluster(nodes=1, conf="LaunchParameters=use_interactive_step\n"
                     "InteractiveStepOptions=\"--interactive -l --export=ALL,A='one two' $SHELL -c 'echo it is $A; exit 4'\"")
    done = c.run("salloc", env={"SHELL": "/bin/sh"})  # the outer shell does not know $A
    assert done.returncode == 4 and done.stdout == "0: it is one two\n"


def test_missing_program_is_not_launched(cluster):
    """LaunchParameters=test_exec."""
    (cluster.work / "plain").write_text("")
    before = cluster.run("squeue -h -t all").ok()
    for name in ("no-such-program", "./plain", "/"):
        cluster.run(["srun", name]).fails(f"srun: error: {name}: no such program here, or it may not be executed")
    assert cluster.run("squeue -h -t all").ok() == before  # nothing was asked for
    assert cluster.run("srun true").ok() == ""


def test_job_has_one_interactive_step_and_steps_from_0(cluster):
    """Slurm's number of the interactive step; whatever asks to be one as well is an ordinary step."""
    job = re.search(r"job allocation (\d+)", cluster.run("salloc --no-shell -N2").stderr)[1]
    assert cluster.run(["squeue", "-h", "-j", job, "-o", "%j"]).ok() == "no-shell"
    show = [f"--jobid={job}", "printenv", "SLURM_STEP_ID"]
    assert cluster.run(["srun", "--interactive", *show]).ok() == "4294967290"
    assert set(cluster.run(["srun", *show]).ok().split()) == {"0"}
    assert cluster.run(["srun", "--interactive", *show]).ok() == "1"  # its nodes have seen the other
    cluster.run(["scancel", job]).ok()
    assert cluster.run("srun --interactive printenv SLURM_STEP_ID").ok() == "0"  # it ends with its job
    shell = cluster.popen(["salloc", "-N1"], env={"SHELL": "/bin/cat"}, stdin=-1)
    eventually(lambda: ".interactive" in cluster.run("squeue -h -s").ok(), "the shell runs")
    step = cluster.run("squeue -h -s -o %i").ok().strip()
    assert f"StepId={step} " in cluster.run(["scontrol", "show", "step", step]).ok()
    cluster.run(["scancel", step]).ok()
    assert shell.wait(30) != 0
