# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of steps, their owners, and their resources: CORE-022, CORE-133, CORE-171, CORE-180."""
import os
import pwd

import pytest

from harness import ROOT, Cluster, eventually


@pytest.fixture(scope="module")
def share():
    c = Cluster(nodes=1)
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def test_step_beyond_its_job_is_refused(make_cluster):
    c = make_cluster(nodes=1)
    job = c.sbatch("-n3", "--mem-per-cpu=100", wrap="srun -n1 --mem=301 true; echo $?; srun -n1 --mem-per-cpu=400 true; echo $?; "
                   "srun -n1 --mem=300 true; echo $?; srun -n3 true; echo $?")
    c.wait(job)
    out = c.output(job)
    assert out.count("Memory required by task is not available") == 2
    assert [l for l in out.splitlines() if l.isdigit()] == ["1", "1", "0", "0"]


def test_tasks_that_share_cpus_share_their_memory(make_cluster):
    """With --overcommit a job has memory for its CPUs, and its step of more tasks has no less."""
    c = make_cluster(nodes=2)
    for line in ("-N1 -n4", "-N1 -n2 -c2", "-N2 -n8"):
        assert c.run(f"srun -O {line} --mem-per-cpu=100 echo x").ok().count("x") == int(line.split("-n")[1][0])
    c.run("salloc -Q -N1 -n2 --mem-per-cpu=100 srun -O -n8 --mem-per-cpu=200 true").fails("Memory required by task")


def test_steps_that_state_their_memory_wait_for_it(make_cluster):
    """CORE-133: two steps of 60 in a job of 100 run one after the other; steps without a memory request share all memory of the job."""
    c = make_cluster(nodes=1)
    line = "srun -n1 --exact --mem=60 sh -c 'mkdir {0}/only || echo both; sleep 0.3; rmdir {0}/only'".format(c.work)
    job = c.sbatch("-n4", "--mem=100", wrap=f"{line} & {line} & wait; echo done")
    c.wait(job)
    assert [l for l in c.output(job).splitlines() if "srun:" not in l] == ["done"]
    gate = c.work / "gate"
    meet = f"srun -n1 --exact sh -c 'touch {gate}.$0; while [ ! -e {gate}.a -o ! -e {gate}.b ]; do sleep 0.02; done' "
    job = c.sbatch("-n4", "--mem=100", wrap=f"{meet} a & {meet} b & wait; echo met")
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert "met" in c.output(job)


@pytest.mark.parametrize("options, mem", [
    ("-n1", "300M"), ("-n2", "300M"), ("-n1 --exact", "100M"), ("-n1 -c1", "100M"), ("-n2 --exact", "200M"), ("-n1 --mem-per-cpu=50", "150M"),
    ("-n1 --mem-per-cpu=150", "300M"), ("-n1 --mem-per-cpu=50 --exact", "50M"), ("-n1 --mem=70", "70M"), ("-n1 --overlap", "300M"),
])
def test_step_memory_is_limited(share, options, mem):
    """A step with all CPUs of its job has the memory of all of them; an exact one that of its own."""
    line = f"srun {options} sh -c 'test $SLURM_PROCID != 0 || scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID -o'"
    out = share.run(["salloc", "-Q", "-n3", "--mem-per-cpu=100", "sh", "-c", line]).ok()
    assert f",mem={mem}," in out


def test_ended_attempt_creates_no_steps(make_cluster):
    """Its srun, on a node that was cut off, says which attempt it is of."""
    c = make_cluster(nodes=1)
    job = c.sbatch("--requeue", "-n1", wrap="srun sh -c 'echo $SLUICE_ATTEMPT'; sleep 1000")
    eventually(lambda: (c.work / f"slurm-{job}.out").exists() and c.output(job) == f"{job}.0\n", "the first attempt's step")
    c.run(f"scontrol requeue {job}").ok()
    eventually(lambda: f"{job}.1\n" in c.output(job), "the second attempt's step")
    step = f"srun --overlap --jobid={job} echo here"
    c.run(step, env={"SLUICE_ATTEMPT": f"{job}.0"}).fails("Unable to create step", "already completing or completed")
    assert c.run(step, env={"SLUICE_ATTEMPT": f"{job}.1"}).ok() == "here"
    for other in ({}, {"SLUICE_ATTEMPT": f"{job + 1}.0"}, {"SLUICE_ATTEMPT": "nonsense"}):
        assert c.run(step, env=other).ok() == "here"
    c.run(f"scancel {job}").ok()
    c.wait(job)


def test_task_gets_all_settings_of_srun(make_cluster):
    """CORE-180: a task has ids, environment, directory, numbers, limits, mask, job and command line as srun gave them."""
    c = make_cluster(nodes=1)
    there = c.work / "a place"
    there.mkdir(mode=0o755)
    say = "; ".join(["umask", "ulimit -n", "ulimit -t", "pwd", 'echo "$GIVEN"', 'echo "$SLURM_JOB_ID.$SLURM_STEP_ID"',
                     'echo "$SLURM_PROCID of $SLURM_NTASKS, $SLURM_LOCALID on $SLURM_NODEID"', 'echo "$0|$1|$2"',
                     "sed -n 's/^[UG]id:\\t//p' /proc/self/status"])
    before = "umask 027; ulimit -n 123; ulimit -t 777; exec srun -n2 --label sh -c \"$@\""
    user = "daemon" if ROOT else None
    done = c.run(["sh", "-c", before, "sh", say, "a name", "with blank", "*"], user=user, cwd=there, env={"GIVEN": "some thing"}).ok()
    uid, gid = (pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid) if user else (os.getuid(), os.getgid())
    job = c.run("squeue -h -t all -o %A").ok()
    for task in range(2):
        lines = [line[3:] for line in done.splitlines() if line.startswith(f"{task}: ")]
        assert lines == ["0027", "123", "777", str(there), "some thing", f"{job}.0", f"{task} of 2, {task} on 0",
                         "a name|with blank|*", "\t".join([str(uid)] * 4), "\t".join([str(gid)] * 4)]


def test_node_daemon_reports_state_and_usage(make_cluster):
    """CORE-171: the state of its system, the usage of jobs, the start, state and end of jobs."""
    c = make_cluster(nodes=1)
    shown = c.node("n1")
    assert int(shown["FreeMem"]) > 0 and float(shown["CPULoad"]) >= 0 and shown["BootTime"].startswith("20")
    job = c.sbatch("-o", "/dev/null", wrap=f"echo $$ >{c.work}/pid.new; mv {c.work}/pid.new {c.work}/pid; "
                                           f"while [ ! -e {c.work}/go ]; do sleep 0.05; done; exit 5")
    eventually((c.work / "pid").exists, "the start")
    pid = (c.work / "pid").read_text().strip()
    assert f"{pid} " in c.run("scontrol listpids").ok()  # the state of a job, from its node
    assert str(job) in c.run(f"scontrol pidinfo {pid}").ok()
    assert f"{job}.batch" in c.run(f"sstat -a -n -P -o JobID,AveRSS -j {job}").ok()  # what it uses
    (c.work / "go").touch()
    assert c.wait(job)["ExitCode"] == "5:0"
    assert c.run(f"scontrol pidinfo {pid}").returncode != 0


@pytest.mark.parametrize("holds, wants, why", [
    ("-n1 --mem=0", "-n1",
     "n1: 4 of 4 CPUs are held by StepId={job}.0; --overlap shares them; steps with --exact hold only the CPUs that they ask for"),
    ("-n1 --mem=0 --exact", "-n1", "n1: 1 of 4 CPUs are held by StepId={job}.0; --exact is enough with the idle ones, --overlap shares all"),
    ("-n1 --exact --mem=300", "-n2 --exact --mem=200", "n1: 300 of 400 MiB of memory are held by StepId={job}.0; --mem leaves each step a part"),
    ("-n1 --exact --mem=0 --gres=tape:2", "-n1 --exact --mem=0 --gres=tape:1",
     "n1: generic resources are held by StepId={job}.0; --overlap shares them"),
])
def test_reason_of_a_waiting_step_is_named(make_cluster, holds, wants, why):
    """CORE-022: the holders of the resources, and the remedy; Slurm's words come first."""
    c = make_cluster(nodes=1, conf="GresTypes=tape", node_conf="Gres=tape:2")
    job = c.sbatch("-n4", "--mem=400", "--gres=tape:2", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a start")
    first = c.popen(f"srun --jobid={job} {holds} sleep 1000")
    eventually(lambda: c.run("squeue -h -s -o %j").stdout.split().count("sleep") == 1, "the first step")
    why = f"Requested nodes are busy: {why.format(job=job)}"
    c.run(f"srun -I --jobid={job} {wants} true").fails(f"Unable to create step for job {job}: {why}")
    second = c.popen(f"srun --jobid={job} {wants} echo on")
    assert second.stderr.readline() == f"srun: Job {job} step creation temporarily disabled, retrying ({why})\n"
    first.terminate()
    assert "on" in second.communicate(timeout=60)[0] and second.returncode == 0
    first.wait(60)
    c.run(f"scancel {job}").ok()


def test_a_batch_script_has_the_memory_and_the_limit_of_its_job(share):
    job = share.sbatch("-n1", "--mem=123", wrap="sleep 600")
    eventually(lambda: share.state(job) == "RUNNING", "it runs")
    assert ",mem=123M," in share.run(f"scontrol show step {job}.batch -o").ok()
    share.run(f"scontrol update StepId={job} TimeLimit=5").fails("the job has only its batch script, whose limit is that of the job")
    share.run(f"scancel {job}").ok()
