# SPDX-License-Identifier: GPL-3.0-or-later
"""Ending jobs: CORE-189 to 194, 158, 186."""
import re
import subprocess

import pytest

from harness import eventually
from terminal import Terminal


def running(cluster, *options, wrap="sleep 100"):
    job = cluster.sbatch("-o", f"slurm-%j.out", *options, wrap=wrap)
    eventually(lambda: cluster.state(job) == "RUNNING", "the job runs")
    eventually((cluster.work / f"slurm-{job}.out").exists, "its script has begun")
    return job


def test_pending_and_running(cluster):
    """CORE-189, 193."""
    job = running(cluster)
    waiting = cluster.sbatch("-N4", "--exclusive", wrap="true")
    assert cluster.state(waiting) == "PENDING"
    cluster.run(f"scancel {waiting}").ok()
    assert cluster.state(waiting) == "CANCELLED"
    cluster.run(f"scancel {job}").ok()
    fields = cluster.wait(job)
    assert fields["JobState"] == "CANCELLED"
    assert f"*** JOB {job} ON n1 CANCELLED AT" in cluster.output(job)


def test_stubborn_job_is_killed(cluster):
    """CORE-186."""
    job = running(cluster, wrap="trap '' TERM; while :; do sleep 0.1; done")
    cluster.run(f"scancel {job}").ok()
    assert cluster.wait(job)["JobState"] == "CANCELLED"


def test_job_ends_at_its_time_limit(cluster):
    """CORE-158."""
    job = running(cluster, "-t", "1")
    cluster.run(f"scontrol update JobId={job} TimeLimit=0:01").ok()
    fields = cluster.wait(job)
    assert fields["JobState"] == "TIMEOUT" and "DUE TO TIME LIMIT" in cluster.output(job)


def shorten(cluster, job):
    cluster.run(f"scontrol update JobId={job} TimeLimit=0:01").ok()


def test_every_step_reports_the_time_limit(make_cluster):
    """By the script and by steps, of whose tasks the first has ended; also when the node was away as the limit passed."""
    c = make_cluster(nodes=2, conf="KillWait=30")  # time for each srun to write, also on a busy machine
    step = "[ $SLURM_PROCID = 0 ] && exit; echo up; exec sleep 100"
    for away in (False, True):
        job = c.sbatch("-N2", "-n4", "-t", "1", "-o", c.work / "out", script="#!/bin/sh\n" + "".join(
            f"srun -N2 -n4 --overlap --wait={wait} -o s{wait}.out -e s{wait}.err sh -c '{step}' &\n" for wait in (0, 600)) + "wait\nsleep 100\n")
        for wait in (0, 600):
            out = c.work / f"s{wait}.out"
            eventually(lambda: out.exists() and out.read_text().count("up\n") == 3, "the tasks run")
        if away:
            c.kill("n1")
        shorten(c, job)
        eventually(lambda: c.state(job) in ("COMPLETING", "TIMEOUT"), "the limit has passed")
        if away:
            c.start_node("n1")
        c.wait(job)
        assert (c.work / "out").read_text().count(f"*** JOB {job} ON n1 CANCELLED AT ") == 1
        assert "DUE TO TIME LIMIT ***" in (c.work / "out").read_text()
        for wait in (0, 600):
            told = rf"STEP {job}\.\d ON n1 CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*"
            eventually(lambda: re.search(told, (c.work / f"s{wait}.err").read_text()),
                       lambda: f"the srun that waits {wait} s has told: " + (c.work / f"s{wait}.err").read_text())
            (c.work / f"s{wait}.out").unlink()


def test_waiting_commands_report_the_time_limit(cluster):
    for command in (["sbatch", "--wait", "-o", "waited.out", "--wrap", "sleep 100"],
                    ["srun", "-n2", "sh", "-c", "[ $SLURM_PROCID = 0 ] && exit; exec sleep 100"],
                    ["srun", "-n2", "--wait=30", "sleep", "100"]):
        name = f"waits{len(command)}"
        waiter = cluster.popen(command[:1] + ["-J", name, "-t", "1"] + command[1:], stderr=subprocess.PIPE)
        eventually(lambda: cluster.run(f"squeue -h -n {name} -t R -o %i").stdout, "the job runs")
        job = cluster.run(f"squeue -h -n {name} -o %i").stdout.strip()
        if command[0] == "srun":
            eventually(lambda: f"{job}.0" in cluster.run(f"squeue -h -s -j {job} -o %i").stdout, "its step runs")
        else:
            eventually((cluster.work / "waited.out").exists, "its script runs")
        shorten(cluster, job)
        said = waiter.communicate()[1]
        assert waiter.returncode
        text = said if command[0] == "srun" else (cluster.work / "waited.out").read_text()
        assert re.search(r"CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*", text), (command, text)
        assert cluster.wait(job)["JobState"] == "TIMEOUT"


def test_filters_select_by_user_name_state_and_partition(cluster):
    """CORE-190, 192."""
    user = cluster.run("id -un").ok()
    jobs = [cluster.sbatch("-J", f"job{i}", "-o", "/dev/null", wrap="sleep 100") for i in range(3)]
    cluster.run("scancel -n job1").ok()
    cluster.wait(jobs[1])
    assert cluster.state(jobs[0]) != "CANCELLED"
    cluster.run(f"scancel -u {user} -p main").ok()
    for job in jobs:
        assert cluster.wait(job)["JobState"] == "CANCELLED"


def test_signal_for_a_disconnected_node_is_reported(make_cluster):
    """The signal is not kept, and scancel reports an error; the order to end a job or its script is kept."""
    c = make_cluster(nodes=2)
    script = c.sbatch("-w", "n2", wrap="sleep 300000")
    job = c.sbatch("-w", "n2", script="#!/bin/sh\nsrun sleep 300000\n")
    eventually(lambda: f"{job}.0" in c.run(f"squeue -h -s -j {job} -o %i").stdout, "the step runs")
    c.kill("n2")
    for target in (job, f"{job}.0", f"{job}.batch", f"-f {job}"):
        eventually(lambda: c.run(f"scancel -s CONT {target}").returncode, "the controller sees it go")
        c.run(f"scancel -s CONT {target}").fails("Required node not available (down, drained or reserved)")
    c.start_node("n2")
    eventually(lambda: c.run(f"scancel -s CONT {job}").returncode == 0, "it is back")
    c.kill("n2")
    c.run(f"scancel {job} {script}.batch").ok()
    c.start_node("n2")
    assert c.wait(job)["JobState"] == "CANCELLED"
    ended = c.wait(script)
    assert (ended["JobState"], ended["ExitCode"]) == ("FAILED", "0:15")


def test_a_signal_that_reaches_some_nodes(make_cluster):
    """The others are named; when they are back, the next one reaches all."""
    c = make_cluster(nodes=3)
    say = "trap 'echo $SLURMD_NODENAME has it' USR1; echo up; while :; do sleep 0.05; done"
    job = c.sbatch("-N3", "-o", c.work / "out", script=f'#!/bin/sh\ntrap : USR1\nsrun sh -c "{say.replace("$", chr(92) + "$")}" &\n'
                                                       "while :; do wait; sleep 0.05; done\n")
    out = c.work / "out"
    eventually(lambda: out.exists() and out.read_text().count("up\n") == 3, "all tasks are ready")
    c.kill("n2")
    c.kill("n3")

    def away():
        sent = c.run(f"scancel -s CONT {job}.0")
        return "did not reach n[2-3]" in sent.stderr and sent
    sent = eventually(away, "the controller sees them go")
    assert sent.returncode == 1 and "it is not kept for them; the other nodes have it" in sent.stderr
    sent = c.run(f"scancel -s USR1 {job}.0").fails(f"Signal 10 of step {job}.0 did not reach n[2-3]")
    eventually(lambda: "n1 has it" in out.read_text(), "the node that is there")
    c.run(f"scancel -s CONT {job}").fails(f"Signal 18 of job {job} did not reach n[2-3]")
    c.run(f"scancel -s CONT -u {c.run('id -un').ok()}").fails(f"Signal 18 of job {job} did not reach n[2-3]")
    c.start_node("n2")
    c.start_node("n3")
    eventually(lambda: c.run(f"scancel -s CONT {job}.0").returncode == 0, "they are back")
    c.run(f"scancel -s USR1 {job}.0").ok()
    eventually(lambda: all(f"n{i} has it" in out.read_text() for i in (2, 3)), "the others")
    c.run(f"scancel {job}").ok()
    c.wait(job)


def test_one_step_is_cancelled_alone(cluster):
    """CORE-194: also with a filter, and with a confirmation: scancel never cancels the job of the step."""
    job = cluster.sbatch("-n2", "-J", "steps", script="#!/bin/sh\nfor i in 0 1 2 3; do srun -n1 sleep 100; done\necho step ended $?\n")
    user = cluster.run("id -un").ok()

    def running_step(step):
        eventually(lambda: f"{job}.{step}" in cluster.run(f"squeue -h -s -j {job} -o %i").stdout, f"step {step} runs")
    running_step(0)
    cluster.run(f"scancel -n other {job}.0").ok()
    assert cluster.run(f"scancel -i {job}.0", stdin="n\n").ok().startswith(f"Cancel step_id={job}.0 name=steps")
    assert f"{job}.0" in cluster.run(f"squeue -h -s -j {job} -o %i").stdout
    cluster.run(f"scancel -n steps -u {user} --state=RUNNING {job}.0").ok()
    running_step(1)
    cluster.run(f"scancel -i {job}.1", stdin="y\n").ok()
    running_step(2)
    cluster.run(f"scancel {job}.2", env={"SCANCEL_USER": user}).ok()
    running_step(3)
    cluster.run(f"scancel {job}.3").ok()
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    assert "step ended" in cluster.output(job)


def test_scancel_without_selection_is_refused(cluster):
    """CORE-191: an error, but a question on a terminal."""
    cluster.run("scancel").fails("scancel: error: No job identification provided")
    job = running(cluster)
    asked = Terminal(cluster, ["scancel"])
    asked.until("Job id(s) to cancel")
    asked.type(f"{job}\n")
    assert asked.close() == 0
    cluster.wait(job)


def test_interactive_cancel_asks_for_elements(cluster):
    """CORE-191: a typed answer may contain commas in the brackets of an id, and between ids."""
    array, other, left = (cluster.sbatch("-H", *more, wrap="true") for more in (["-a", "1-4"], [], []))
    asked = Terminal(cluster, ["scancel"])
    asked.until("Job id(s) to cancel")
    asked.type(f" {array}_[1,3], {other},,{array}_4\n")
    assert asked.close() == 0
    assert cluster.run(f"squeue -h -r -o %i -j {array},{other},{left}").ok().split() == [f"{array}_2", str(left)]
    cluster.run(f"scancel {array} {left}").ok()


def test_batch_signal_only(cluster):
    job = running(cluster, wrap="trap 'echo usr1; exit 0' USR1; echo up; while :; do sleep 0.05; done")
    eventually(lambda: (cluster.work / f"slurm-{job}.out").exists() and "up" in cluster.output(job), "trap is set")
    cluster.run(f"scancel -b -s USR1 {job}").ok()
    cluster.wait(job)
    assert "usr1" in cluster.output(job)


def test_cancelling_a_finished_job_is_reported(cluster):
    job = cluster.sbatch("-o", "/dev/null", wrap="true")
    cluster.wait(job)
    over = f"scancel: error: Kill job error on job id {job}: Job/step already completing or completed\n"
    for line in (f"scancel {job}", f"scancel -s KILL {job}"):
        done = cluster.run(line)
        assert (done.ok(), done.stderr) == ("", "")
    done = cluster.run(f"scancel -v {job}")
    assert (done.ok(), done.stderr) == ("", f"scancel: Terminating job {job}\n" + over)
    cluster.run(f"scancel -s USR1 {job}").fails(over)


def test_unknown_jobs_do_not_spare_the_others(cluster):
    ended, held = cluster.sbatch("-o", "/dev/null", wrap="true"), cluster.sbatch("-H", wrap="true")
    cluster.wait(ended)
    unknown = "scancel: error: Kill job error on job id {}: Invalid job id specified\n"
    done = cluster.run(f"scancel 999998 {ended} {held} 999999")
    assert done.ok() == "" and done.stderr == unknown.format(999998) + unknown.format(999999)
    assert cluster.state(held) == "CANCELLED"


@pytest.mark.parametrize("options, status", [
    ("-t RUNNING 999999", 1), ("-u root 999999", 1), ("-n nosuch 999999", 1), ("-i 999999", 1), ("-t PENDING 999999.0", 1), ("-n nosuch 999999_3", 1),
    ("-t PENDING -Q 999999", 1), ("-s USR1 -Q 999999", 1), ("-Q 999999", 0),
])
def test_status_of_an_unknown_job(cluster, options, status):
    done = cluster.run(f"scancel {options}")
    name = options.rpartition(" ")[2]
    kind = "step id" if "." in name else "id"
    said = f"scancel: error: Kill job error on job {kind} {name}: Invalid job id specified\n"
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "" if "-Q" in options else said)


def test_filters_apply_to_the_named_jobs(cluster):
    held, array = cluster.sbatch("-H", "-J", "held", wrap="true"), cluster.sbatch("-H", "-a", "1-3", wrap="true")
    done = cluster.run(f"scancel -t RUNNING {held} {array}_1 {array}_2")
    assert (done.ok(), done.stderr) == ("", "")
    assert cluster.state(held) == "PENDING"
    done = cluster.run(f"scancel -n held {held} 999999 {array}")
    assert done.returncode == 1 and done.stderr == "scancel: error: Kill job error on job id 999999: Invalid job id specified\n"
    assert cluster.state(held) == "CANCELLED"
    done = cluster.run(f"scancel -t PENDING {held} {array}")
    assert done.returncode == 1 and done.stderr == f"scancel: error: Kill job error on job id {held}: Invalid job id specified\n"
    eventually(lambda: not cluster.run("squeue -h").ok(), "all are cancelled")


def test_hold_release_requeue(cluster):
    """X-11: and how often it was started again is counted."""
    job = cluster.sbatch("-H", "-o", "/dev/null", wrap="true")
    assert (cluster.job(job)["JobState"], cluster.job(job)["Reason"]) == ("PENDING", "JobHeldUser")
    cluster.run(f"scontrol release {job}").ok()
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    gate = cluster.work / "gate"
    job = cluster.sbatch("-o", "again.txt", "--open-mode=append",
                         wrap=f"echo run $SLURM_RESTART_COUNT; while [ ! -e {gate} ]; do sleep 0.05; done")
    eventually(lambda: (cluster.work / "again.txt").exists() and "run" in (cluster.work / "again.txt").read_text(), "run")
    cluster.run(f"scontrol requeue {job}").ok()
    eventually(lambda: (cluster.work / "again.txt").read_text().count("run") == 2, "the second run")
    gate.touch()
    fields = cluster.wait(job)
    assert (fields["JobState"], fields["Restarts"]) == ("COMPLETED", "1")


def test_commands_whose_job_is_cancelled_while_pending(cluster):
    """They say so, not that the job has completed."""
    for command, says in (("srun", "srun: error: Unable to allocate resources: "), ("salloc", "salloc: error: Job submit/allocate failed: ")):
        with cluster.popen([command, "--begin=now+1000", "true"]) as p:
            job = eventually(lambda: cluster.look("squeue -h -t pending -o %i").ok(), "it waits")
            cluster.run(f"scancel {job}").ok()
            assert says + f"job {job} was cancelled while pending\n" in p.communicate()[1]
            assert p.returncode == 1
