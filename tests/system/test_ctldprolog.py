# SPDX-License-Identifier: GPL-3.0-or-later
"""PrologSlurmctld and EpilogSlurmctld, and the helper process that runs them: CORE-029, 181, 188, X-20."""
import fcntl
import json
import os
import pathlib
import pwd
import signal

import pytest

from harness import ROOT, Cluster, alive, child_named, eventually, is_connected

USER = "nobody" if ROOT else pwd.getpwuid(os.geteuid()).pw_name

# Writes down what it sees and that it runs, then does as the files beside it say: while 'gate.CONTEXT' is locked
# it waits, and it fails when there is a file 'fail.CONTEXT'. A second one of a job while the first lives is
# an 'overlap'.
SCRIPT = """#!/usr/bin/python3
import fcntl, json, os, pathlib, sys
here = pathlib.Path(os.path.abspath(__file__)).parent
env = dict(os.environ)
context, job = env["SLURM_SCRIPT_CONTEXT"].split("_")[0], env["SLURM_JOB_ID"]
facts = {"env": env, "uid": os.getuid(), "cwd": os.getcwd(), "sid": os.getsid(0) == os.getpid(),
         "fds": sorted(int(n) for n in os.listdir("/proc/self/fd"))}
runs = here / f"runs.{job}"
def lives(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
before = [int(line.split()[2]) for line in runs.read_text().splitlines()] if runs.exists() else []
with runs.open("a") as f:
    overlap = any(lives(p) for p in before)
    f.write(f"{context} {env['SLURM_JOB_RESTART_COUNT']} {os.getpid()} {'overlap' if overlap else 'alone'}\\n")
(here / f"tmp.{os.getpid()}").write_text(json.dumps(facts))
os.rename(here / f"tmp.{os.getpid()}", here / f"{context}.{job}")
gate = here / f"gate.{context}"
if gate.exists():
    fcntl.flock(gate.open(), fcntl.LOCK_SH)
sys.exit(3 if (here / f"fail.{context}").exists() else 0)
"""


def make(conf="", **options):
    c = Cluster(start=False, **options)
    c.gates = []  # locked files: what waits for them goes on when they are closed
    path = c.dir / "script.py"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"PrologSlurmctld={path}\nEpilogSlurmctld={path}\n{conf}")
    c.start()
    return c


@pytest.fixture
def new():
    made = []

    def new_cluster(conf="", **options):
        made.append(make(conf, **options))
        return made[-1]

    try:
        yield new_cluster
        for c in made:
            go(c)
            c.stop()
    finally:
        for c in made:
            c.destroy()


def gate(c, context):
    c.gates.append((c.dir / f"gate.{context}").open("a"))
    fcntl.flock(c.gates[-1], fcntl.LOCK_EX)


def go(c):
    while c.gates:
        c.gates.pop().close()


def runs(c, job):
    """What ran for a job, each as (context, restart count); none at the same time as another."""
    path = c.dir / f"runs.{job}"
    lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    assert all(line[3] == "alone" for line in lines), lines
    return [(line[0], int(line[1])) for line in lines]


def pid_of_last(c, job):
    return int((c.dir / f"runs.{job}").read_text().split()[-2])


def running(c, job, *contexts):
    eventually(lambda: [r[0] for r in runs(c, job)] == list(contexts), f"{contexts} of job {job}")


def helper(c):
    return child_named(c.daemons["slurmctld"].pid, "slurmscriptd")


def test_a_batch_job_is_configuring_while_the_prolog_runs(new):
    """CORE-029, 181, 188."""
    c = new()
    gate(c, "prolog")
    hold = c.work / "hold"
    os.mkfifo(hold)
    hold.chmod(0o666)
    job = c.sbatch("-o", "out", "-J", "na me", "-n2", "--comment", "hi", wrap="echo ran; read _ <hold; exit 3", user=USER,
                   env={"LD_PRELOAD": "", "SLURM_EVIL": "1"})
    running(c, job, "prolog")
    assert c.state(job) == "CONFIGURING"
    assert c.run(f"squeue -h -j {job} -o %t/%T").ok() == "CF/CONFIGURING"
    assert c.run("squeue -h -t CF -o %i").ok() == str(job)
    assert c.run("squeue -h -t PD,configuring -o %i").ok() == str(job)
    assert c.run("squeue -h -t PD -o %i").ok() == ""
    assert not (c.work / "out").exists()
    waits = c.popen(f"scontrol wait_job {job}")
    eventually(lambda: is_connected(waits.pid) or waits.poll() is not None, "it asks for the job")
    assert c.state(job) == "CONFIGURING" and waits.poll() is None
    go(c)
    assert waits.communicate()[1] == f"scontrol: Nodes are ready for job {job}\n"
    hold.write_text("go\n")
    fields = c.wait(job)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "3:0")
    assert c.output(job, "out") == "ran\n"
    assert runs(c, job) == [("prolog", 0), ("epilog", 0)]
    owner = pwd.getpwnam(USER)
    for context in ("prolog", "epilog"):
        seen = json.loads((c.dir / f"{context}.{job}").read_text())
        e = seen["env"]
        assert (seen["uid"], seen["cwd"], seen["sid"], seen["fds"]) == (os.geteuid(), "/", True, [0, 1, 2, 3])
        want = {"SLURM_SCRIPT_CONTEXT": f"{context}_slurmctld", "SLURM_JOB_ID": str(job), "SLURM_JOBID": str(job),
                "SLURM_CLUSTER_NAME": "test", "SLURM_JOB_UID": str(owner.pw_uid), "SLURM_JOB_GID": str(owner.pw_gid),
                "SLURM_JOB_USER": USER, "SLURM_JOB_NAME": "na me", "SLURM_JOB_COMMENT": "hi",
                "SLURM_JOB_NODELIST": fields["NodeList"], "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_PARTITION": "main",
                "SLURM_JOB_CPUS_PER_NODE": "2", "SLURM_JOB_RESTART_COUNT": "0", "SLURM_JOB_WORK_DIR": str(c.work),
                "SLURM_JOB_STDOUT": str(c.work / "out"), "SLURM_JOB_STDIN": "/dev/null", "SLURM_CONF": str(c.conf_file)}
        if context == "epilog":
            want.update({"SLURM_JOB_EXIT_CODE": "768", "SLURM_JOB_EXIT_CODE2": "3:0", "SLURM_JOB_DERIVED_EC": "0"})
        assert {k: e.get(k) for k in want} == want
        assert not {k for k in e if not k.startswith("SLURM_") and k not in ("PATH", "LC_CTYPE")}, e
        assert "SLURM_EVIL" not in e


def test_salloc_and_srun_report_that_they_wait(new):
    c = new()
    for line in (["salloc", "sh", "-c", "echo $SLURM_JOB_ID; srun echo in"], ["srun", "sh", "-c", "echo $SLURM_JOB_ID"]):
        gate(c, "prolog")
        p = c.popen(line, user=USER)
        job = int(eventually(lambda: c.run("squeue -h -t CF -o %i").ok(), "CF"))
        running(c, job, "prolog")
        go(c)
        out, err = p.communicate(timeout=60)
        name = line[0]
        assert p.returncode == 0, err
        assert out.split()[0] == str(job)
        assert (out.split()[1:] == ["in"]) == (name == "salloc")
        said = err.splitlines()
        assert f"{name}: Waiting for resource configuration" in said, err
        ready = said.index("%s: Nodes %s are ready for job" % (name, c.job(job)["NodeList"]))
        assert said.index(f"{name}: Waiting for resource configuration") < ready
        if name == "salloc":
            assert said.index(f"salloc: Granted job allocation {job}") < ready
        c.wait(job)


def test_failing_prolog_requeues_or_ends_the_job(new):
    c = new()
    (c.dir / "fail.prolog").touch()
    job = c.sbatch("-o", "out", wrap="echo $SLURM_RESTART_COUNT", user=USER)
    eventually(lambda: c.run(f"squeue -h -j {job} -o %T/%r").ok() == "PENDING/BeginTime", "back in the queue")
    assert "exited with status 3" in (c.dir / "slurmctld.log").read_text()
    assert all(c.node(n)["State"] == "IDLE" for n in c.names)
    for line in ("salloc true", "srun true"):
        failed = c.run(line, user=USER)
        assert failed.returncode != 0
        assert "PrologSlurmctld" in failed.stderr and "exited with status 3" in failed.stderr, failed.stderr
        last = c.run("squeue -h -t all -o %i").ok().split()
        eventually(lambda: c.state(max(map(int, last))) == "CANCELLED", "its end")
    never = c.sbatch("--no-requeue", wrap="true", user=USER)
    assert c.wait(never)["JobState"] == "CANCELLED"
    (c.dir / "fail.prolog").unlink()
    c.run(f"scontrol update JobId={job} StartTime=now").ok()
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert c.output(job, "out") == "1\n"
    assert runs(c, job) == [("prolog", 0), ("epilog", 0), ("prolog", 1), ("epilog", 1)]


def test_prolog_beyond_its_timeout_is_ended(new):
    c = new("PrologEpilogTimeout=1\n")
    gate(c, "prolog")
    job = c.sbatch("--no-requeue", wrap="true", user=USER)
    assert c.wait(job)["JobState"] == "CANCELLED"
    assert "did not end within 1 s" in (c.dir / "slurmctld.log").read_text()
    go(c)
    gate(c, "epilog")
    job = c.sbatch(wrap="true", user=USER)
    assert c.wait(job)["JobState"] == "COMPLETED"


def test_a_failing_epilog_is_only_logged(new):
    c = new()
    (c.dir / "fail.epilog").touch()
    job = c.sbatch(wrap="true", user=USER)
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert f"job {job}: EpilogSlurmctld {c.dir}/script.py exited with status 3" in (c.dir / "slurmctld.log").read_text()
    assert all(c.node(n)["State"] == "IDLE" for n in c.names)


def test_scancel_ends_the_prolog(new):
    c = new()
    gate(c, "prolog")
    job = c.sbatch("-o", "out", wrap="echo ran", user=USER)
    running(c, job, "prolog")
    pid = pid_of_last(c, job)
    c.run(f"scancel {job}", user=USER).ok()
    assert c.wait(job)["JobState"] == "CANCELLED"
    assert not alive(pid)
    assert [r[0] for r in runs(c, job)] == ["prolog", "epilog"]
    assert not (c.work / "out").exists()


@pytest.mark.parametrize("context", ("prolog", "epilog"))
def test_prolog_runs_again_after_a_killed_controller(new, context):
    """Neither lost nor at the same time as the one before; the payload runs once."""
    c = new()
    gate(c, context)
    job = c.sbatch("-o", "out", wrap="echo ran >> ran", user=USER)
    done = ["prolog"] if context == "prolog" else ["prolog", "epilog"]
    running(c, job, *done)
    pid = pid_of_last(c, job)
    c.kill("slurmctld")
    c.start_controller()
    running(c, job, *done, context)
    assert not alive(pid)
    assert c.state(job) == ("CONFIGURING" if context == "prolog" else "COMPLETING")
    go(c)
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert (c.work / "ran").read_text() == "ran\n"
    assert sorted(runs(c, job)) == sorted([(context, 0), ("prolog", 0), ("epilog", 0)])


def test_srun_waits_through_a_restart(new):
    c = new()
    gate(c, "prolog")
    p = c.popen(["srun", "sh", "-c", "echo $SLURM_JOB_ID.$SLURM_STEP_ID"], user=USER)
    job = int(eventually(lambda: c.run("squeue -h -t CF -o %i").ok(), "CF"))
    running(c, job, "prolog")
    c.kill("slurmctld")
    c.start_controller()
    running(c, job, "prolog", "prolog")
    go(c)
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out) == (0, f"{job}.0\n"), err


def test_a_killed_helper_is_replaced(new):
    c = new()
    first = helper(c)
    assert first
    gate(c, "prolog")
    job = c.sbatch(wrap="true", user=USER)
    running(c, job, "prolog")
    pid = pid_of_last(c, job)
    os.kill(first, signal.SIGKILL)
    running(c, job, "prolog", "prolog")
    assert not alive(pid)
    assert helper(c) not in (None, first)
    assert "the helper that runs scripts was ended by signal 9" in (c.dir / "slurmctld.log").read_text()
    go(c)
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert pathlib.Path(f"/proc/{helper(c)}/status").read_text().count("Threads:\t1\n") == 1


@pytest.mark.slow
def test_prologs_beyond_the_limit_wait(new):
    """More prologs than run at a time."""
    c = new(nodes=2, cpus=100)
    jobs = [c.sbatch("-o", "/dev/null", wrap="true", user=USER) for _ in range(5)]
    gate(c, "prolog")
    jobs += [c.sbatch("-o", "/dev/null", wrap="true", user=USER) for _ in range(90)]
    eventually(lambda: len(list(c.dir.glob("prolog.*"))) >= 64, "as many as may run")
    go(c)
    for job in jobs:
        assert c.wait(job)["JobState"] == "COMPLETED"
        assert runs(c, job) == [("prolog", 0), ("epilog", 0)]


def test_prolog_that_cannot_run_is_reported(new):
    c = new()
    (c.dir / "script.py").chmod(0o644)
    job = c.sbatch("--no-requeue", wrap="true", user=USER)
    assert c.wait(job)["JobState"] == "CANCELLED"
    assert f"PrologSlurmctld {c.dir}/script.py cannot be run: Permission denied" in (c.dir / "slurmctld.log").read_text()
    (c.dir / "script.py").unlink()
    job = c.sbatch("--no-requeue", wrap="true", user=USER)
    assert c.wait(job)["JobState"] == "CANCELLED"
    assert "cannot be run: No such file or directory" in (c.dir / "slurmctld.log").read_text()


def test_script_helper_is_not_a_command(new):
    c = new()
    said = c.run(["bash", "-c", "exec -a slurmscriptd slurmctld 3<&-"])
    assert said.returncode == 1 and "slurmctld, which starts it" in said.stderr
