# SPDX-License-Identifier: GPL-3.0-or-later
"""scontrol suspend and resume: GANG-39, 46, 59, 61; CORE-151, X-11."""
import datetime
import re
import signal

import pytest

from harness import eventually, processes_of

COUNT = "i=0; while :; do i=$((i+1)); echo $i > {}; sleep 0.05; done"


@pytest.fixture(autouse=True)
def clean(cluster):
    """Each test has all nodes."""
    yield
    cluster.run(f"scancel -u {cluster.run('id -un').ok()}").ok()
    eventually(lambda: not cluster.run("squeue -h").ok(), "all jobs are over")


class Counter:
    """A job that counts in a file for as long as it runs."""

    def __init__(self, cluster, *options, wrap=COUNT):
        self.cluster = cluster
        self.file = cluster.work / f"count-{len(list(cluster.work.glob('count-*')))}"
        self.file.write_text("0")
        self.job = cluster.sbatch("-o", "slurm-%j.out", *options, wrap=wrap.format(self.file))
        eventually(self.moves, "the job counts")

    def value(self):
        return int(self.file.read_text().strip() or 0)

    def moves(self):
        return self.value() > 0

    def stands(self):
        """The processes of the job are stopped: the node has reported this, and its cores are free."""
        host = self.cluster.job(self.job)["NodeList"]
        return self.cluster.node(host)["CPUAlloc"] == "0"

    def goes_on(self):
        last = self.value()
        eventually(lambda: self.value() > last + 2, "it counts on")


def suspended(cluster, *options, **more):
    counter = Counter(cluster, *options, **more)
    cluster.run(f"scontrol suspend {counter.job}").ok()
    assert cluster.state(counter.job) == "SUSPENDED"
    eventually(counter.stands, "it stands")
    return counter


def test_suspended_job_stops_and_resumes(cluster):
    """CORE-151, GANG-39."""
    c = Counter(cluster, "-w", "n1", "-t5")
    eventually(lambda: cluster.run(f"squeue -h -j {c.job} -o %M").ok() != "0:00", "it has run for a second")
    cluster.run(f"scontrol suspend {c.job}").ok()
    eventually(c.stands, "it stands")
    value = c.value()
    line = cluster.run(f"squeue -h -j {c.job} -o %t|%T|%M|%R|%N").ok()
    assert re.fullmatch(r"S\|SUSPENDED\|0:0[1-9]\|n1\|n1", line), line
    fields = cluster.job(c.job)
    assert fields["SuspendTime"].startswith("20")
    ends = [datetime.datetime.fromisoformat(fields[key]) for key in ("StartTime", "EndTime")]
    assert ends[1] - ends[0] == datetime.timedelta(minutes=5)
    assert cluster.run(f"squeue -h -j {c.job} -o %e").ok().strip() == fields["EndTime"]
    assert fields["SecsPreSuspend"] == str(int(fields["RunTime"].split(":")[-1]))
    assert c.value() == value
    cluster.run(f"scontrol resume {c.job}").ok()
    assert cluster.state(c.job) == "RUNNING"
    c.goes_on()
    assert cluster.job(c.job)["EndTime"].startswith("20")
    cluster.run(f"scancel {c.job}").ok()
    assert cluster.wait(c.job)["JobState"] == "CANCELLED"


def test_cores_are_for_others_and_memory_is_not(make_cluster):
    """GANG-59."""
    c = make_cluster(nodes=1, cpus=4, memory=1000)
    first = suspended(c, "-n4", "--mem=600")
    assert "State=IDLE" in c.run("scontrol show node n1").ok() and c.node("n1")["AllocMem"] == "600"
    greedy = c.sbatch("-n1", "--mem=500", wrap="true")
    other = c.sbatch("-n2", "--mem=300", wrap="sleep 300")
    eventually(lambda: c.state(other) == "RUNNING", "the other runs on its cores")
    assert c.state(greedy) == "PENDING"
    c.run(f"scontrol resume {first.job}").fails(
        f"Requested nodes are busy: n1: job {other} has its CPUs for job {first.job}\n")
    assert c.state(first.job) == "SUSPENDED"
    c.run(f"scancel {other} {greedy}").ok()
    c.wait(other)
    c.run(f"scontrol resume {first.job}").ok()
    first.goes_on()
    assert c.node("n1")["CPUAlloc"] == "4"


def test_invalid_suspends_are_refused(cluster):
    running, held = Counter(cluster, "-w", "n1"), cluster.sbatch("-H", wrap="true")
    done = cluster.sbatch("-o", "/dev/null", wrap="true")
    cluster.wait(done)
    for verb in "suspend", "resume":
        cluster.run(f"scontrol {verb}").fails(f"too few arguments for keyword:{verb}")
        cluster.run(f"scontrol {verb} {held}").fails(f"Job is pending execution for job {held}\n")
        cluster.run(f"scontrol {verb} {done}").fails(
            f"Job/step already completing or completed for job {done}\n")
        cluster.run(f"scontrol {verb} 99999").fails("Invalid job id specified for job 99999\n")
        cluster.run(f"scontrol {verb} 93+1").fails("Invalid job id specified for job 93+1\n")
        cluster.run(f"scontrol {verb} {running.job}.0").fails("Invalid job id specified")
    cluster.run(f"scontrol resume {running.job}").fails(
        f"Job is not suspended for job {running.job}\n")
    # One that fails does not spare the others.
    cluster.run(f"scontrol suspend {held},{running.job}").fails(f"for job {held}\n")
    assert cluster.state(running.job) == "SUSPENDED"
    cluster.run(f"scontrol suspend {running.job}").fails(
        f"Job is not running for job {running.job}\n")


def test_users_cannot_suspend_jobs(cluster, nobody):
    c = Counter(cluster, "-w", "n1")
    for verb in "suspend", "resume":
        cluster.run([*nobody, "scontrol", verb, c.job]).fails(
            f"Access/permission denied for job {c.job}\n")
    assert cluster.state(c.job) == "RUNNING"


def test_suspended_time_does_not_count_for_the_limit(cluster):
    c = suspended(cluster, "-w", "n1", "-t5")
    cluster.run(f"scontrol update JobId={c.job} TimeLimit=0:01").ok()
    other = cluster.sbatch("-w", "n2", "-o", "/dev/null", "-t1", wrap="sleep 300")
    eventually(lambda: cluster.state(other) == "RUNNING", "the other runs")
    cluster.run(f"scontrol update JobId={other} TimeLimit=0:03").ok()
    assert cluster.wait(other)["JobState"] == "TIMEOUT"
    assert cluster.state(c.job) == "SUSPENDED"
    cluster.run(f"scontrol resume {c.job}").ok()
    fields = cluster.wait(c.job)
    assert fields["JobState"] == "TIMEOUT" and int(fields["SecsPreSuspend"]) < 60


def test_cancelled_while_suspended(cluster):
    c = suspended(cluster, "-w", "n1",
                  wrap="trap 'echo terminated; exit 3' TERM; i=0; while :; do i=$((i+1)); echo $i > {}; sleep 0.05; done")
    cluster.run(f"scancel -s USR1 {c.job}").fails(
        f"scancel: error: Kill job error on job id {c.job}: The record is in a state that does not allow this\n")
    cluster.run(f"scancel {c.job}").ok()
    assert cluster.wait(c.job)["JobState"] == "CANCELLED"
    assert "terminated" in cluster.output(c.job)


def test_stubborn_suspended_job_is_killed(cluster):
    wrap = "trap '' TERM TSTP; i=0; while :; do i=$((i+1)); echo $i > {}; sleep 0.05; done"
    c = suspended(cluster, "-w", "n1", wrap=wrap)
    cluster.run(f"scancel {c.job}").ok()
    assert cluster.wait(c.job)["JobState"] == "CANCELLED"


def test_sigtstp_precedes_sigstop(cluster):
    """GANG-61."""
    wrap = "trap 'echo will stop' TSTP; i=0; while :; do i=$((i+1)); echo $i > {}; sleep 0.05; done"
    c = suspended(cluster, "-w", "n1", wrap=wrap)
    assert "will stop" in cluster.output(c.job)
    cluster.run(f"scancel {c.job}").ok()


def test_steps_on_all_nodes_stop_and_new_ones_wait(cluster):
    """GANG-46."""
    work, gate = cluster.work, cluster.work / "gate"
    inner = f"i=0; while :; do i=$((i+1)); echo $i > {work}/step-$SLURMD_NODENAME; sleep 0.05; done"
    (work / "inner.sh").write_text(f"#!/bin/sh\n{inner}\n")
    job = cluster.sbatch("-N2", "-n2", script=f"#!/bin/sh\nsrun sh {work}/inner.sh\n")
    eventually(lambda: len(list(work.glob("step-n*"))) == 2, "the step runs on both nodes")
    cluster.run(f"scontrol suspend {job}").ok()
    nodes = [path.name.partition("-")[2] for path in work.glob("step-n*")]
    eventually(lambda: all(cluster.node(n)["CPUAlloc"] == "0" for n in nodes), "both stand")
    values = [path.read_text() for path in sorted(work.glob("step-n*"))]
    late = cluster.popen(f"srun --jobid={job} --overlap -N1 -n1 touch {gate}")
    said = late.stderr.readline()
    assert said == "srun: Job step creation temporarily disabled, retrying\n"
    assert not gate.exists() and [path.read_text() for path in sorted(work.glob("step-n*"))] == values
    cluster.run(f"scontrol resume {job}").ok()
    assert late.wait(60) == 0 and gate.exists()
    eventually(lambda: all(p.read_text() != v for p, v in zip(sorted(work.glob("step-n*")), values)), "both go on")
    cluster.run(f"scancel {job}").ok()


def test_requeued_when_suspended_is_held(cluster):
    c = suspended(cluster, "-w", "n1")
    cluster.run(f"scontrol requeue {c.job}").ok()
    eventually(lambda: cluster.state(c.job) == "PENDING", "it waits")
    fields = cluster.job(c.job)
    assert fields["Priority"] == "0" and fields["Restarts"] == "1" and fields["SecsPreSuspend"] == "0"


def test_elements_of_an_array(cluster):
    job = cluster.sbatch("-a0-3%2", "-o", "/dev/null", wrap="sleep 300")
    states = lambda: dict(line.split(".") for line in cluster.run(f"squeue -h -r -j {job} -o %K.%t").ok().splitlines())
    eventually(lambda: sorted(states().values()) == ["PD", "PD", "R", "R"], "two run")
    cluster.run(f"scontrol suspend {job}_0").ok()
    assert states() == {"0": "S", "1": "R", "2": "PD", "3": "PD"}
    cluster.run(f"scontrol suspend {job}_[2-3]").fails(f"Job is pending execution for job {job}_[2-3]")
    cluster.run(f"scontrol suspend {job}").ok()  # those that it goes with
    assert states() == {"0": "S", "1": "S", "2": "PD", "3": "PD"}
    cluster.run(f"scontrol resume {job}").ok()
    assert states() == {"0": "R", "1": "R", "2": "PD", "3": "PD"}


@pytest.mark.parametrize("daemon", ["slurmctld", "n1"])
def test_restart_while_suspended(cluster, daemon):
    c = suspended(cluster, "-w", "n1", "-t5")
    value = c.value()
    cluster.kill(daemon)
    cluster.start_controller() if daemon == "slurmctld" else cluster.start_node("n1")
    cluster.wait_ready()
    assert cluster.state(c.job) == "SUSPENDED" and c.value() == value and c.stands()
    cluster.run(f"scontrol resume {c.job}").ok()
    c.goes_on()


def test_returning_node_suspends_the_job(cluster):
    c = Counter(cluster, "-w", "n1")
    cluster.kill("n1")
    cluster.run(f"scontrol suspend {c.job}").ok()
    assert cluster.state(c.job) == "SUSPENDED" and not c.stands()  # nobody has stopped it yet
    c.goes_on()
    cluster.start_node("n1")
    eventually(c.stands, "it stands")
    cluster.kill("n1")
    cluster.run(f"scontrol resume {c.job}").ok()
    cluster.start_node("n1")
    c.goes_on()


def test_srun_of_a_job_suspended_before_its_step(cluster):
    """The controller restarts, and the job starts and is suspended before its srun is back: its CPUs are for others."""
    gate = cluster.work / "started"
    srun = cluster.popen(f"srun -H -w n1 -J late touch {gate}")
    jobs = lambda: cluster.run("squeue -h -n late -o %A").ok().split()
    eventually(jobs, "the job is queued")
    job = jobs()[0]
    cluster.kill("slurmctld")
    srun.send_signal(signal.SIGSTOP)
    cluster.start_controller()
    cluster.wait_ready()
    cluster.run(f"scontrol release {job}").ok()
    eventually(lambda: cluster.state(job) == "RUNNING", "it runs, without a step")
    cluster.run(f"scontrol suspend {job}").ok()
    srun.send_signal(signal.SIGCONT)
    eventually(lambda: "Job step creation temporarily disabled, retrying" in srun.stderr.readline(), "srun waits")
    assert cluster.state(job) == "SUSPENDED" and not gate.exists()
    cluster.run(f"scontrol resume {job}").ok()
    assert srun.wait(60) == 0 and gate.exists()


def test_forking_job_is_suspended_completely(cluster):
    wrap = "i=0; while :; do i=$((i+1)); echo $i > {}; (sleep 0.01 &) ; /bin/true; done"
    c = suspended(cluster, "-w", "n1", wrap=wrap)
    value = c.value()
    cluster.run("squeue").ok()
    assert c.value() == value
    cluster.run(f"scancel {c.job}").ok()


@pytest.mark.parametrize("stopped", [True, False])
def test_node_removed_while_no_controller_runs_ends_its_jobs(make_cluster, stopped):
    """P4, GANG-59: the node gets the order when it registers, whether its job was suspended or not."""
    c = make_cluster(nodes=2)
    job = (suspended if stopped else Counter)(c, "-w", "n2", "--no-requeue").job
    c.kill("slurmctld")
    c.conf_file.write_text(re.sub("^NodeName=n2 .*\n", "", c.conf_file.read_text(), flags=re.M))
    c.start_controller()
    c.wait(job)
    assert c.state(job) == "NODE_FAIL"
    eventually(lambda: not processes_of(c.work), "its processes are gone")
    assert "no node of this name is in" in c.tail("n2")
