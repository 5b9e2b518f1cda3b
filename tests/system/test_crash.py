# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing acknowledged is lost, nothing runs twice: CORE-006, 016, 043, 077, 111, 183; RELIABILITY A1, B1, B4, D1."""
import fcntl
import os
import random
import re
import select
import signal
import struct
import subprocess

import pytest

from harness import ROOT, SEED, SOAK, amount, check_ledger, eventually, ledger_wrap


def test_kill_right_after_acknowledgement(make_cluster):
    """CORE-111."""
    c = make_cluster(nodes=2)
    blocker = c.sbatch("-N2", "--exclusive", "-o", "/dev/null", wrap="sleep 1000")
    held = [c.sbatch("-o", "/dev/null", "-J", f"kept{i}", wrap=ledger_wrap(c)) for i in range(5)]
    c.kill("slurmctld")
    c.start_controller()
    for i, job in enumerate(held):
        assert c.job(job)["JobName"] == f"kept{i}" and c.state(job) == "PENDING"
    assert c.state(blocker) == "RUNNING"
    after = c.sbatch("-o", "/dev/null", wrap="true")
    assert after > max(held)
    c.run(f"scancel {blocker}").ok()
    for job in [*held, after]:
        assert c.wait(job)["JobState"] == "COMPLETED"
    check_ledger(c, held)


def test_start_right_after_kill(make_cluster):
    """A killed controller holds the state until it has died; the next start needs no delay."""
    c = make_cluster(nodes=1)
    for _ in range(5):
        job = c.sbatch("-o", "/dev/null", "--hold", wrap="true")
        old = c.daemons.pop("slurmctld")
        old.kill()
        c.start_controller()
        assert old.wait() == -signal.SIGKILL and c.state(job) == "PENDING"
        assert int((c.dir / "slurmctld.pid").read_text()) == c.daemons["slurmctld"].pid


def test_controller_starts_while_the_last_one_dies(make_cluster):
    """As long as dying may take, and no longer."""
    c = make_cluster(nodes=1)
    c.kill("slurmctld")
    with open(c.dir / "state/lock", "r+") as dying:
        fcntl.fcntl(dying, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
        c.start_controller(wait=False)
        said = c.dir / "slurmctld.stderr"
        eventually(lambda: "waiting 5 s for it to end" in said.read_text(), "it waits")
        assert "ready" not in said.read_text().split("waiting 5 s")[1]
    eventually(lambda: c.running("slurmctld") and c.run("scontrol ping").returncode == 0, "it leads")
    second = c.run(f"slurmctld -D -f {c.conf_file}")
    assert second.returncode == 1 and second.stderr.count("in use by another controller") == 2
    assert "stop it first" in second.stderr


def test_running_jobs_outlive_the_controller(make_cluster):
    """CORE-006: A job that ends while the controller is away is accounted for."""
    c = make_cluster(nodes=2)
    gate = c.work / "gate"
    job = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {gate} ]; do sleep 0.02; done; exit 5")
    c.wait_script(job)
    c.kill("slurmctld")
    gate.touch()
    spool = c.dir / "spool"
    eventually(lambda: not any("slurmstepd: [" in line for line in _processes(c)), "the job has ended")
    c.start_controller()
    fields = c.wait(job)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "5:0"), spool


def test_step_waits_for_the_controller(make_cluster):
    """A controller that is away is called so; "busy" is for nodes that are."""
    c = make_cluster(nodes=1)
    c.run("salloc -n1 --no-shell").ok()
    job = int(c.run("squeue -h -o %i").ok())

    def wait_for(text, command):
        """Starts srun in the job; returns it once it has said this, with all it has said."""
        p, said = c.popen(["srun", f"--jobid={job}", *command.split()]), ""
        while text not in said:
            line = p.stderr.readline()
            assert line, said
            said += line
        return p, said

    c.daemons["slurmctld"].send_signal(signal.SIGSTOP)
    stopped, said = wait_for("The controller is away", "echo one")
    c.daemons["slurmctld"].send_signal(signal.SIGCONT)
    assert stopped.wait(60) == 0 and stopped.stdout.read() == "one\n" and "busy" not in said + stopped.stderr.read()

    c.kill("slurmctld")
    killed, said = wait_for("The controller is away", "echo two")
    c.run(f"srun --jobid={job} -I2 true").fails("Unable to contact slurm controller")
    c.start_controller()
    assert killed.wait(60) == 0 and killed.stdout.read() == "two\n" and "busy" not in said + killed.stderr.read()

    first = c.popen(f"srun --jobid={job} sleep 100")
    eventually(lambda: c.run("squeue -h -s -o %j").stdout.split().count("sleep") == 1, "the first step")
    second, said = wait_for("busy", "echo three")
    assert re.fullmatch(rf"srun: Job {job} step creation temporarily disabled, retrying \(Requested nodes are busy: n1: \d of \d CPUs "
                        rf"are held by StepId={job}.\d+; --overlap shares them; [^)]*\)\n", said), said
    first.send_signal(signal.SIGTERM)
    assert second.wait(60) == 0 and second.stdout.read() == "three\n"
    first.wait(60)
    c.run(f"scancel {job}").ok()
    c.wait(job)


def test_nodes_launch_without_asking_the_controller(make_cluster):
    """CORE-077: the credential is enough. The controller dies between the grant of a step and its launch."""
    c = make_cluster(nodes=2)
    pid = c.daemons["slurmctld"].pid
    stopper = c.work / "stop"
    stopper.write_text(f"#!/bin/sh\nkill -STOP {pid}\n")
    stopper.chmod(0o755)
    p = c.popen(["srun", f"--prolog={stopper}", "-N2", "-n2", "--label", "echo", "launched"])
    try:
        assert sorted([p.stdout.readline(), p.stdout.readline()]) == ["0: launched\n", "1: launched\n"]
        assert c.stopped("slurmctld")
    finally:
        c.daemons["slurmctld"].send_signal(signal.SIGCONT)
    assert p.wait(60) == 0, p.stderr.read()


def _processes(c):
    from harness import processes_of
    return processes_of(c.dir).values()


def test_running_jobs_outlive_the_node_daemon(make_cluster):
    """CORE-016, 183."""
    c = make_cluster(nodes=1)
    gate = c.work / "gate"
    keep = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {gate} ]; do sleep 0.02; done; exit 6")
    cancel = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    for job in (keep, cancel):
        c.wait_script(job)
    c.kill("n1")
    c.start_node("n1")
    c.wait_ready()
    assert c.state(keep) == "RUNNING"
    c.run(f"scancel {cancel}").ok()
    assert c.wait(cancel)["JobState"] == "CANCELLED"
    c.kill("n1")
    gate.touch()
    eventually(lambda: not any("slurmstepd: [" in line for line in _processes(c)), "the job has ended")
    c.start_node("n1")
    fields = c.wait(keep)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "6:0")


@pytest.mark.trials(100)
def test_fifty_jobs_outlive_the_node_daemon(make_cluster, pick):
    """B1: jobs that end while their node daemon is dead and jobs that go on: all are adopted, with their exit statuses and time limits."""
    c = make_cluster(nodes=1, cpus=50)
    began, gates = c.work / "began", {kind: c.work / kind for kind in ("while", "after")}
    for gate in gates.values():
        os.mkfifo(gate, 0o666)
    began.touch(0o666)
    began.chmod(0o666)
    kinds, codes = {}, {}
    for _ in range(50):
        kind, code = pick.choice(["while", "after"]), pick.randrange(1, 100)
        job = c.sbatch("-n1", "--mem=1", f"-t{pick.randrange(10, 1000)}", "-o", "/dev/null", wrap=f"echo >>{began}; : <{gates[kind]}; exit {code}")
        kinds[job], codes[job] = kind, code
    eventually(lambda: began.read_text().count("\n") == 50, "all scripts run")

    def rows(state):
        return {int(line.split("|")[0]): line for line in c.run(f"squeue -h -t {state} -o %i|%S|%e|%l|%N").ok().splitlines()}

    before = rows("R")
    assert before.keys() == kinds.keys()
    c.kill("n1")
    ended = [job for job, kind in kinds.items() if kind == "while"]
    holds = os.open(gates["while"], os.O_RDWR)  # whoever opens it for reading goes on
    eventually(lambda: not any(f"slurmstepd: [{job}.batch]" in line for line in _processes(c) for job in ended), "these jobs have ended")
    os.close(holds)
    assert rows("R") == before
    c.start_node("n1")
    c.wait_ready()
    for job in ended:
        fields = c.wait(job)
        assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", f"{codes[job]}:0")
    assert rows("R") == {job: line for job, line in before.items() if kinds[job] == "after"}
    assert began.read_text().count("\n") == 50
    holds = os.open(gates["after"], os.O_RDWR)
    for job in kinds.keys() - set(ended):
        fields = c.wait(job)
        assert (fields["JobState"], fields["ExitCode"], fields["Restarts"]) == ("FAILED", f"{codes[job]}:0", "0")
    os.close(holds)


@pytest.mark.parametrize("killed", [True, False])
def test_step_ends_while_the_node_daemon_is_down(make_cluster, killed):
    """CORE-016: its shepherd ends when the daemon has confirmed the end, or when it has written it down itself."""
    c = make_cluster(nodes=1)
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    steps = c.dir / "spool/n1/steps"
    gate = c.work / "gate"
    p = c.popen(["srun", f"--jobid={job}", "--overlap", "sh", "-c", f"echo up; while [ ! -e {gate} ]; do sleep 0.02; done; exit 3"])
    assert p.stdout.readline() == "up\n"
    eventually(lambda: list(steps.glob(f"{job}.0.0.sock")), "its socket")
    c.daemons["n1"].send_signal(signal.SIGSTOP)
    gate.touch()
    eventually(lambda: p.poll() is not None, "srun has ended")
    assert p.returncode == 3
    if killed:
        c.kill("n1")
        eventually(lambda: list(steps.glob(f"{job}.0.0.exit")), "the shepherd has written it down")
        eventually(lambda: not any(f"slurmstepd: [{job}.0]" in line for line in _processes(c)), "and has ended")
        c.start_node("n1")
    else:
        c.daemons["n1"].send_signal(signal.SIGCONT)
    eventually(lambda: not list(steps.glob(f"{job}.0.0.*")), "its end was reported, and that is on disk")
    eventually(lambda: f"{job}.0" not in c.run("squeue -h -s -o %i").ok().split(), "the controller knows")
    assert c.state(job) == "RUNNING"
    c.run(f"scancel {job}").ok()
    c.wait(job)
    p.communicate()


def test_interactive_step_outlives_the_controller(make_cluster):
    c = make_cluster(nodes=2)
    gate = c.work / "gate"
    p = c.popen(["srun", "-N2", "sh", "-c", f"echo up; while [ ! -e {gate} ]; do sleep 0.02; done; echo over"])
    assert p.stdout.readline() == "up\n"
    c.kill("slurmctld")
    gate.touch()
    c.start_controller()
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0 and out.count("over") == 2, err
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue")


def kill_and_start(c, victims):
    for name in victims:
        c.kill(name)
    for name in victims:
        if name == "slurmctld":
            c.start_controller(wait=False)
        else:
            c.start_node(name)


def stop_for_a_while(c, victims, seconds):
    for name in victims:
        c.daemons[name].send_signal(signal.SIGSTOP)
    select.select([], [], [], seconds)
    for name in victims:
        c.daemons[name].send_signal(signal.SIGCONT)


@pytest.mark.parametrize("how", ["killed", "stopped"])
@pytest.mark.parametrize("victims", [["slurmctld"], ["n1"], ["slurmctld", "n1"]], ids="+".join)
def test_random_kills_under_load(make_cluster, victims, how):
    """RELIABILITY A1, B1, B4: 200 kills in ./run soak, a few here; and daemons that stand still for a while."""
    c = make_cluster(nodes=3, conf="MaxJobCount=1000000\nMinJobAge=86400")
    acknowledged = []
    pick = random.Random(SEED)
    rounds, each = amount(6 if how == "killed" else 2, 200), 40 if SOAK else 15
    for _ in range(rounds):
        loops = [subprocess.Popen(
            ["sh", "-c", f"for i in $(seq {each}); do sbatch --parsable -o /dev/null --wrap '%s'; done" %
             ledger_wrap(c, pick.choice(["0", "0.05"]))],
            env=c.environment(), cwd=c.work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for _ in range(4 if SOAK else 2)]
        count = pick.randrange(1, 25)
        for _ in range(count):
            line = loops[0].stdout.readline().strip()
            if line:
                acknowledged.append(int(line))
            if loops[0].poll() is not None:
                break
        if how == "killed":
            kill_and_start(c, victims)
        else:
            stop_for_a_while(c, victims, pick.random())
        for loop in loops:
            out, _ = loop.communicate(timeout=120)
            acknowledged += [int(line) for line in out.split()]
    c.wait_ready()
    assert len(acknowledged) >= (100 * rounds if SOAK else 20) and len(set(acknowledged)) == len(acknowledged)
    print(f"{rounds} times {how}: {len(acknowledged)} jobs acknowledged")
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue", 120)
    states = dict(line.split() for line in c.run(["squeue", "-h", "-t", "all", "-o", "%i %T"]).ok().splitlines())
    assert all(states[str(job)] == "COMPLETED" for job in acknowledged), states
    check_ledger(c, acknowledged)
    assert all("alloc" not in s and "mix" not in s for s in c.run("sinfo -h -N -o %t").ok().split())


def test_jobs_of_a_stopped_node_daemon_run_until_its_timeout(make_cluster):
    """The daemon answers no request: its jobs run on until SlurmdTimeout; then they are requeued or fail, and the daemon ends them when it
    continues."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=4")
    gate = c.work / "gate"

    def gated(job):
        return f"echo {job} $SLURM_RESTART_COUNT start >>{c.work}/ledger; while [ ! -e {gate} ]; do sleep 0.02; done; " \
               f"echo {job} $SLURM_RESTART_COUNT end >>{c.work}/ledger"

    lost = c.sbatch("-w", "n1", "--no-requeue", "-o", "/dev/null", wrap=gated("lost"))
    again = c.sbatch("-w", "n1", "--requeue", "-o", "/dev/null", wrap=gated("again"))
    for job in (lost, again):
        eventually(lambda: c.state(job) == "RUNNING", "running")
    eventually(lambda: (c.work / "ledger").exists() and len((c.work / "ledger").read_text().splitlines()) == 2, "two starts")
    c.daemons["n1"].send_signal(signal.SIGSTOP)
    assert c.wait(c.sbatch("-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"  # n2 is there
    c.run("srun -w n1 -I1 true").fails()
    eventually(lambda: c.node("n1")["State"].startswith("DOWN"), "n1 given up")
    assert c.state(lost) == "NODE_FAIL" and c.state(again) == "PENDING"
    c.daemons["n1"].send_signal(signal.SIGCONT)
    c.wait_ready()
    eventually(lambda: not any(f"[{lost}.batch]" in args for args in _processes(c)), "nothing left of it")
    gate.touch()
    assert c.wait(again, 180)["JobState"] == "COMPLETED"
    assert (c.work / "ledger").read_text().splitlines()[2:] == ["again 1 start", "again 1 end"]


def test_orderly_restart_keeps_admin_state(make_cluster):
    """CORE-043."""
    c = make_cluster(nodes=3)
    c.run(["scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=loose cable"]).ok()
    c.kill("slurmctld", signal.SIGTERM)
    c.start_controller()
    eventually(lambda: c.node("n2")["State"] == "IDLE+DRAIN", "n2 drained: " + c.node("n2")["State"])
    assert "loose cable" in c.node("n2")["Reason"]
    c.run("scontrol update NodeName=n2 State=RESUME").ok()
    eventually(lambda: c.node("n2")["State"] == "IDLE", "n2 idle")


@pytest.mark.trials(20)
@pytest.mark.skipif(not ROOT, reason="needs root to mount a small file system")
def test_full_disk_refuses_submissions_only(make_cluster):
    """RELIABILITY D1: submission refused, running jobs go on and end, all is well when space is back."""
    c = make_cluster(nodes=1, start=False)
    state = c.dir / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", state], check=True)
    try:
        c.start()
        gate = c.work / "gate"
        job = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {gate} ]; do sleep 0.02; done")
        eventually(lambda: c.state(job) == "RUNNING", "running")
        filler = state / "filler"
        descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
        try:
            while os.write(descriptor, bytes(4096)):
                pass
        except OSError:
            pass
        os.close(descriptor)
        accepted = [job]  # what the reserve still holds is acknowledged, and kept

        def refused():
            done = c.run("sbatch --parsable -H -o /dev/null --wrap=true")
            if done.returncode == 0:
                accepted.append(int(done.stdout))
            return done.stderr

        said = eventually(refused, "a refusal")
        assert "No space left on StateSaveLocation" in said
        assert sorted(map(int, c.run("squeue -h -o %i").ok().split())) == accepted
        gate.touch()
        assert c.wait(job)["JobState"] == "COMPLETED"
        filler.unlink()
        eventually(lambda: c.run("sbatch -o /dev/null --wrap=true").returncode == 0, "submission works again")
        c.stop()
    finally:
        for daemon in c.daemons.values():
            daemon.kill()
            daemon.wait()
        subprocess.run(["umount", "-l", state], check=True)


def test_controller_starts_with_an_empty_state(make_cluster):
    """slurmctld -c: job ids and epochs start again, and no node mistakes the new jobs for the old ones."""
    c = make_cluster(nodes=2)
    for _ in range(3):
        c.run("srun -N2 true").ok()
        c.kill("slurmctld")
        c.start_controller()
    c.settle()  # a node whose epilog of a former job 1 runs would refuse the new job 1
    c.kill("slurmctld")
    c.start_controller("-c")
    c.wait_ready()
    assert c.run("squeue -h -t all").ok() == ""
    first = c.sbatch(wrap="srun -N1 true")
    assert int(first) == 1
    c.wait(first)
    assert c.state(first) == "COMPLETED"
    assert c.run(["srun", "-N2", "sh", "-c", "echo $SLURM_JOB_ID"]).ok().split() == ["2", "2"]


def test_stopped_node_starts_no_job_that_was_given_up(make_cluster):
    """The node is declared unresponsive while a launch is in transit: the job is requeued, and the old attempt never starts."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=5")
    c.daemons["n1"].send_signal(signal.SIGSTOP)
    job = c.sbatch("-w", "n1", "--requeue", "-o", "/dev/null",
                   wrap=f"echo attempt ${{SLURM_RESTART_COUNT:-0}} >>{c.work}/ledger")
    assert c.state(job) == "RUNNING"
    eventually(lambda: c.job(job)["Restarts"] == "1" and c.node("n1")["State"].startswith("DOWN"), "n1 is given up")
    c.daemons["n1"].send_signal(signal.SIGCONT)
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert (c.work / "ledger").read_text() == "attempt 1\n"
    assert "the controller has closed the session" in (c.dir / "slurmd-n1.log").read_text()
