# SPDX-License-Identifier: GPL-3.0-or-later
"""scontrol notify: a message to users who watch a running job."""
import pytest

from harness import DEADLINE, ROOT, eventually
from terminal import Terminal, read_until

NASTY = "now\x1b[2J\nthis"


def running(cluster, name):
    return int(eventually(lambda: cluster.run(f"squeue -h -t R -n {name} -o %i").ok(), "the job runs"))


def test_batch_script_gets_notices(cluster):
    job = cluster.sbatch("-J", "script", "-o", "script.out", "-e", "script.err", wrap="echo on; exec sleep 1000")
    eventually(lambda: (cluster.work / "script.out").exists() and (cluster.work / "script.out").read_text(), "it runs")
    cluster.run(["scontrol", "notify", str(job), "save", "your", "work"]).ok()
    cluster.run(["scontrol", "notify", f"{job}.batch", NASTY]).ok()
    want = "slurmstepd: error: save your work\nslurmstepd: error: now [2J this\n"
    err = cluster.work / "script.err"
    eventually(lambda: err.read_text() == want, lambda: err.read_text())
    cluster.run(f"scancel {job}").ok()
    cluster.wait(job)
    assert err.read_text().startswith(want) and err.read_text().count("save your work") == 1


def test_srun_gets_notices(cluster):
    """Its own job by the job's number; a step of an allocation by its own."""
    p = cluster.popen("srun -J own --label --error=/dev/null sleep 1000")
    job = running(cluster, "own")
    cluster.run(["scontrol", "notify", str(job), "one"]).ok()
    cluster.run(["scontrol", "notify", f"{job}.0", NASTY]).ok()
    seen = ""
    while "this\n" not in seen:
        seen += read_until(p.stderr, "\n")
    assert seen == "srun: one\nsrun: now [2J this\n"
    cluster.run(["scontrol", "notify", f"{job}.1", "x"]).fails(f"Invalid job step id specified for job {job}.1")
    cluster.run(f"scancel {job}").ok()
    p.communicate(timeout=DEADLINE)


def test_salloc_and_its_steps_get_notices(cluster):
    t = Terminal(cluster, ["salloc", "-J", "both", "bash", "--norc", "--noediting", "-i"], env={"PS1": "prompt> "})
    t.until("prompt> ")
    job = running(cluster, "both")
    cluster.run(["scontrol", "notify", str(job), "to", "salloc"]).ok()
    t.until("salloc: to salloc\r\n")
    t.type("srun sh -c 'echo on $((40+2)); exec sleep 1000'\n")
    t.until("on 42\r\n")
    cluster.run(["scontrol", "notify", f"{job}.0", "to", "srun"]).ok()
    assert "salloc:" not in t.until("srun: to srun\r\n")
    cluster.run(["scontrol", "notify", str(job), "again"]).ok()
    assert "srun:" not in t.until("salloc: again\r\n")
    cluster.run(f"scancel {job}").ok()
    if "prompt> " not in t.until("has been revoked"):
        t.until("prompt> ")  # before that what is typed is srun's
    t.type("exit\n")
    t.close()


def test_notice_does_not_disturb_wait_for_the_end(cluster):
    """sbatch --wait only gets the end of the job."""
    p = cluster.popen(["sbatch", "--wait", "-J", "waits", "-o", "/dev/null", "--wrap", "sleep 1000"])
    job = running(cluster, "waits")
    cluster.run(["scontrol", "notify", str(job), "x"]).ok()
    assert p.poll() is None
    cluster.run(f"scancel {job}").ok()
    p.communicate(timeout=DEADLINE)


def test_notices_work_after_a_restart(make_cluster):
    c = make_cluster(nodes=1)
    p = c.popen("srun -J own sleep 1000")
    job = running(c, "own")
    c.run(["scontrol", "notify", str(job), "before"]).ok()
    read_until(p.stderr, "srun: before\n")
    c.kill("slurmctld")
    c.start_controller()
    eventually(lambda: c.run(["scontrol", "notify", str(job), "after"]).returncode == 0, "it is told")
    assert read_until(p.stderr, "srun: after\n").count("before") == 0
    c.run(f"scancel {job}").ok()
    p.communicate(timeout=DEADLINE)


def test_invalid_notifications_are_refused(cluster):
    cluster.run("scontrol notify 4711 x").fails("Invalid job id specified for job 4711")
    cluster.run("scontrol notify x y").fails("Invalid job id x")
    waits = cluster.sbatch("-H", wrap="true")
    cluster.run(f"scontrol notify {waits} x").fails("Job is pending execution")
    cluster.run(["scontrol", "notify", str(waits), "x" * 1025]).fails("a message has 1 to 1024 bytes")
    cluster.run(f"scancel {waits}").ok()
    cluster.run(f"scontrol notify {waits} x").fails("Job/step already completing or completed")


@pytest.mark.skipif(not ROOT, reason="needs root to be two other users")
def test_only_the_owner_notifies_a_job(cluster):
    job = cluster.sbatch("-o", "/dev/null", wrap="sleep 1000", user="nobody")
    eventually(lambda: cluster.state(job) == "RUNNING", "it runs")
    cluster.run(f"scontrol notify {job} x", user="daemon").fails("Access/permission denied")
    eventually(lambda: cluster.run(f"scontrol notify {job} x", user="nobody").returncode == 0, "its owner may")
    cluster.run(f"scancel {job}").ok()


def test_notice_before_the_start_reaches_the_script(cluster):
    """For the controller the job runs before its script starts: messages in this period are written as soon as there is an output."""
    for _ in range(20):
        job = cluster.sbatch("-o", "early-%j", wrap="sleep 1000")
        eventually(lambda: cluster.run(["scontrol", "notify", str(job), "early"]).returncode == 0, "the job runs")
        eventually(lambda: "error: early" in cluster.output(job, "early-{}"), "the script's output has it")
        cluster.run(f"scancel {job}").ok()
