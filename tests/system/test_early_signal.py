# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals that arrive before their target has started: CORE-184, CORE-185."""
import pytest

from harness import eventually


def with_prolog(make_cluster, conf=""):
    """Its prologs wait until go() is called."""
    c = make_cluster(nodes=1, start=False, conf=conf)
    prolog = c.dir / "prolog"
    prolog.write_text(f"#!/bin/sh\ntouch {c.dir}/begun\nwhile [ ! -e {c.dir}/go ]; do sleep 0.02; done\n")
    prolog.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={prolog}\n")
    c.start()
    return c


def in_prolog(c):
    eventually((c.dir / "begun").exists, "the prolog runs")


@pytest.mark.parametrize("how", ["-b", "-f", "JOB.batch", "-b restarted", "-b Alloc", "-b Alloc restarted"])
def test_early_signal_reaches_the_script(make_cluster, how):
    """CORE-185."""
    c = with_prolog(make_cluster, "PrologFlags=Alloc" if "Alloc" in how else "")
    job = c.sbatch("-o", "/dev/null", wrap="exec sleep 300000")
    in_prolog(c)
    target = f"{job}.batch" if how == "JOB.batch" else f"{how.split()[0]} {job}"
    c.run(f"scancel -s USR1 {target}").ok()
    if "restarted" in how:
        eventually(lambda: "is kept until it runs" in (c.dir / "slurmd-n1.log").read_text(), "it is kept")
        c.kill("n1")
        c.start_node("n1")
    (c.dir / "go").touch()
    fields = c.wait(job)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "0:10")


def test_early_message_reaches_the_script(make_cluster):
    """It is written when the script has an output."""
    c = with_prolog(make_cluster)
    job = c.sbatch("-o", "said.out", wrap="echo on")
    in_prolog(c)
    c.run(["scontrol", "notify", str(job), "early"]).ok()
    (c.dir / "go").touch()
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert sorted((c.work / "said.out").read_text().splitlines()) == ["on", "slurmstepd: error: early"]


def test_kept_signal_is_delivered_once(make_cluster):
    """The step daemon remembers a few deliveries; a daemon that restarts after more of them repeats no signal that it had kept."""
    c = with_prolog(make_cluster)
    told = c.work / "told"
    job = c.sbatch("-o", "/dev/null", wrap=f"trap 'echo kept >>{told}' WINCH; trap 'echo 2 >>{told}' USR2; : >{told}; while :; do sleep 0.01; done")
    in_prolog(c)
    c.run(f"scancel -b -s WINCH {job}").ok()
    eventually(lambda: "is kept until it runs" in (c.dir / "slurmd-n1.log").read_text(), "it is kept")
    (c.dir / "go").touch()
    eventually(told.exists, "the script runs")

    def tell(count):
        c.run(f"scancel -b -s USR2 {job}").ok()
        eventually(lambda: told.read_text().count("2") == count, told.read_text)

    for count in range(1, 34):
        tell(count)
    before = told.read_text().count("kept")  # none, if it came before the trap
    c.kill("n1")
    c.start_node("n1")
    # One that comes behind whatever the daemon has to say; none comes to a node that is away.
    eventually(lambda: c.run(f"scancel -b -s USR2 {job}").returncode == 0 and told.read_text().count("2") > 33, told.read_text)
    assert told.read_text().count("kept") == before


def test_warning_as_long_as_the_limit_is_sent_at_once(make_cluster):
    """CORE-184."""
    c = with_prolog(make_cluster)
    job = c.sbatch("-o", "/dev/null", "-t", "5", "--signal=B:USR1@300", wrap="exec sleep 300000")
    in_prolog(c)
    eventually(lambda: "is kept until it runs" in (c.dir / "slurmd-n1.log").read_text(), "it is kept")
    (c.dir / "go").touch()
    assert c.wait(job)["ExitCode"] == "0:10"


def test_early_kill_of_the_shell_only(make_cluster):
    """SIGKILL before its start is no failure of the launch: the node is as good as before."""
    c = with_prolog(make_cluster)
    job = c.sbatch("-o", "/dev/null", wrap="exec sleep 300000")
    in_prolog(c)
    c.run(f"scancel -b -s KILL {job}").ok()
    (c.dir / "go").touch()
    assert c.wait(job)["ExitCode"] == "0:9"
    assert c.node("n1")["State"] == "IDLE"


def test_early_signal_reaches_a_step(make_cluster):
    c = with_prolog(make_cluster)
    step = c.popen("srun sleep 300000")
    in_prolog(c)
    job = c.run("squeue -h -o %i").ok()
    c.run(f"scancel -s USR1 {job}").ok()
    eventually(lambda: "is kept until it runs" in (c.dir / "slurmd-n1.log").read_text(), "it is kept")
    (c.dir / "go").touch()
    _, said = step.communicate(timeout=60)
    assert step.returncode == 128 + 10 and "User defined signal 1" in said, said


def test_cancelled_launch_frees_its_early_signals(make_cluster):
    """So many are kept of a job; those of a launch that was cancelled are none of them."""
    c = with_prolog(make_cluster)
    alloc = c.popen(["salloc", "-Q", "-K", "-n1", "sh", "-c", "echo $SLURM_JOB_ID; exec sleep 300000"])
    job = int(alloc.stdout.readline())
    step = c.popen(["srun", f"--jobid={job}", "-n1", "true"])
    in_prolog(c)
    log = c.dir / "slurmd-n1.log"

    def kept(name):
        return log.read_text().count(f"step {job}.{name}: signal 10 is kept until it runs")
    for count in range(1, 65):
        c.run(f"scancel -s USR1 {job}.0").ok()
    eventually(lambda: kept(0) == 64, lambda: str(kept(0)))
    c.run(f"scancel {job}.0").ok()
    assert step.wait(60) != 0
    step.communicate()
    step = c.popen(["srun", f"--jobid={job}", "-n1", "sleep", "300000"])
    eventually(lambda: f"{job}.1" in c.run(f"squeue -h -s -j {job} -o %i").stdout, "the next step")

    def sent():
        c.run(f"scancel -s USR1 {job}.1")
        return kept(1)
    eventually(sent, "a signal for it is kept")
    (c.dir / "go").touch()
    assert "User defined signal 1" in step.communicate(timeout=60)[1]
    c.run(f"scancel {job}").ok()
    alloc.communicate(timeout=60)
