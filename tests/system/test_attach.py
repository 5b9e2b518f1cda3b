# SPDX-License-Identifier: GPL-3.0-or-later
"""sattach and srun --attach: a step seen by others than its srun. CORE-201, 204, 205, 210, 236, X-18."""
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess

import pytest

from harness import DEADLINE, ROOT, eventually, random_name
from terminal import Terminal, read_until

GATE = "mkfifo last.$SLURM_PROCID gate.$SLURM_PROCID; echo ready; read x <gate.$SLURM_PROCID; "
WAIT = "read x <last.$SLURM_PROCID"  # a second one: the writer of the first may still have it open


class Step:
    """An srun whose tasks wait at a fifo each, in a directory of their own."""

    def __init__(self, cluster, body, *options, tasks=1, user=None, **more):
        self.cluster, self.tasks = cluster, tasks
        self.dir = cluster.work / random_name("step.")
        cluster.run(["mkdir", "-m", "700", str(self.dir)], user=user).ok()
        self.srun = cluster.popen(["srun", f"-n{tasks}", *options, "sh", "-c", GATE + body], user=user, cwd=self.dir, **more)
        eventually(lambda: len(list(self.dir.glob("gate.*"))) == tasks, "the tasks wait")
        self.id = eventually(lambda: self.find(user), "the step is listed")

    def find(self, user):
        me = user or "root"
        steps = self.cluster.run(["squeue", "-s", "-h", "-u", me if ROOT else str(os.getuid()), "-o", "%i %j"]).ok().splitlines()
        numbers = [line.split()[0] for line in steps if line.endswith(" sh")]
        return max(numbers, key=lambda i: int(i.split(".")[0])) if numbers else None

    def go(self, gate="gate"):
        for i in range(self.tasks):
            (self.dir / f"{gate}.{i}").write_text("\n")

    def end(self):
        out, err = self.srun.communicate(timeout=DEADLINE)
        return self.srun.returncode, out, err


def watch(step, *options, user=None, program=("sattach",), **more):
    """Attaches a watcher and waits until it has received the earlier output."""
    w = step.cluster.popen([*program, *options, step.id] if program[0] == "sattach" else [*program, *options], user=user, **more)
    return w


@pytest.fixture
def early(cluster):
    """A step that the controller lists but no node has, because its srun runs --prolog. Returns srun, the step's id, and a function that ends the
    prolog."""
    gate, prolog = cluster.work / "prolog.gate", cluster.work / "prolog.sh"
    os.mkfifo(gate)
    prolog.write_text(f"#!/bin/sh\nread x < {gate}\n")
    prolog.chmod(0o755)
    srun = cluster.popen(["srun", "-n1", f"--prolog={prolog}", "-J", "early", "sh", "-c", "echo here; exec sleep 1000"])
    step = eventually(lambda: re.search(r"(\S+) early", cluster.run(["squeue", "-s", "-h", "-o", "%i %j"]).ok()), "the step is listed")[1]
    yield srun, step, gate
    gate.unlink()


def test_sattach_waits_for_a_step_that_is_not_launched_yet(cluster, early):
    srun, step, gate = early
    watcher = cluster.popen(["sattach", "-vv", step])
    read_until(watcher.stderr, "is asked again")
    gate.write_text("\n")
    assert read_until(watcher.stdout, "here\n") == "here\n"
    cluster.run(["scancel", step]).ok()
    assert srun.wait(DEADLINE) == watcher.wait(DEADLINE) != 0


def test_sattach_ends_with_a_step_that_was_never_launched(cluster, early):
    srun, step, gate = early
    watcher = cluster.popen(["sattach", "-vv", step])
    read_until(watcher.stderr, "is asked again")
    cluster.run(["scancel", step.partition(".")[0]]).ok()
    assert read_until(watcher.stderr, "has ended\n").splitlines()[-1] == f"sattach: error: step {step} has ended"
    gate.write_text("\n")
    assert watcher.wait(DEADLINE) == 1 and srun.wait(DEADLINE) != 0


def test_two_watchers_see_what_srun_sees(cluster):
    """CORE-204: watchers also get the output from before they attached, and the exit status."""
    step = Step(cluster, "echo out; echo err >&2; exit 3")
    watchers = [watch(step) for _ in range(2)]
    for w in watchers:
        assert read_until(w.stdout, "ready\n") == "ready\n"
    step.go()
    status, out, err = step.end()
    assert (status, out) == (3, "ready\nout\n") and err.startswith("err\n")
    for w in watchers:
        out, err = w.communicate(timeout=DEADLINE)
        assert (w.returncode, out, err) == (3, "out\n", "err\n")


def test_labels_and_filters(cluster):
    step = Step(cluster, "echo out; echo err >&2", "-N2", tasks=4)
    label = watch(step, "--label")
    second = watch(step, "-l", "--output-filter=2", "--error-filter", "3")  # of one node
    seen = ""
    while seen.count("ready\n") < 4:  # both nodes show it
        seen += read_until(label.stdout, "\n")
    assert read_until(second.stdout, "ready\n") == "2: ready\n"
    step.go()
    assert step.end()[0] == 0
    out, err = label.communicate(timeout=DEADLINE)
    assert sorted(line for line in out.splitlines() if "out" in line) == [f"{i}: out" for i in range(4)]
    assert sorted(err.splitlines()) == [f"{i}: err" for i in range(4)]
    assert second.communicate(timeout=DEADLINE) == ("2: out\n", "3: err\n")


def test_layout_is_printed(cluster):
    step = Step(cluster, "", "-N2", tasks=3)
    want = "Job step layout:\n\t3 tasks, 2 nodes (n[1-2])\n\n\tNode 0 (n1), 2 task(s): 0 1 \n\tNode 1 (n2), 1 task(s): 2 \n"
    assert cluster.run(["sattach", "--layout", step.id]).stdout == want
    batch = cluster.sbatch(wrap="sleep 1000")
    eventually(lambda: cluster.state(batch) == "RUNNING", "the script runs")
    assert "1 tasks, 1 nodes" in cluster.run(["sattach", "--layout", f"{batch}.batch"]).ok()
    cluster.run(["sattach", f"{batch}.batch"]).fails("the batch script of job", "writes to files")
    cluster.run(f"scancel {batch}").ok()
    step.go()
    assert step.end()[0] == 0


def test_input_goes_to_the_tasks(cluster):
    """And its end is not theirs: srun has that."""
    step = Step(cluster, "while read line; do echo got $line; done", "-N2", tasks=2, stdin=subprocess.PIPE)
    step.go()
    one = watch(step, "-l", "--input-filter=1", stdin=subprocess.PIPE)
    read_until(one.stdout, "1: ready\n")
    one.stdin.write("for one\n")
    one.stdin.close()
    assert "1: got for one\n" in read_until(one.stdout, "got for one\n")
    both = watch(step, "-l", stdin=subprocess.PIPE)
    read_until(both.stdout, "ready\n")
    both.stdin.write("for both\n")
    both.stdin.flush()
    seen = ""
    while not ("0: got for both\n" in seen and "1: got for both\n" in seen):
        seen += read_until(both.stdout, "\n")
    step.srun.stdin.write("of srun\n")
    step.srun.stdin.close()
    step.srun.stdin = None
    status, out, _ = step.end()
    assert status == 0 and out.count("got of srun\n") == 2 and out.count("got for both\n") == 2
    assert out.count("got for one\n") == 1
    for w in (one, both):
        w.stdin = None
        assert "got of srun\n" in w.communicate(timeout=DEADLINE)[0] and w.returncode == 0


TAKES = """exec python3 -c '
import os, signal, threading
def hear():
    while signal.sigwait([signal.SIGUSR1]):
        os.write(1, b"heard\\n")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
threading.Thread(target=hear, daemon=True).start()
os.write(1, b"takes\\n")
left = %d
while left:
    left -= len(os.read(0, min(left, 65536)))
print("all of it")'"""


def test_input_continues_without_a_killed_node(cluster):
    """The step daemon of one node is stopped, so the other node's task gets no more input either, until the stopped one is killed."""
    size = 64 << 20
    step = Step(cluster, f"[ $SLURM_PROCID = 1 ] || {TAKES % size}; trap '' USR1; echo takes; {WAIT}", "-N2", "--no-kill",
                tasks=2, stdin=subprocess.PIPE)
    step.go()
    w = watch(step, stdin=subprocess.PIPE)
    seen = ""
    while seen.count("takes\n") < 2:
        seen += read_until(w.stdout, "\n")
    shepherd = shepherd_of(cluster, step.id, ("n2",))
    os.kill(shepherd, signal.SIGSTOP)
    os.set_blocking(w.stdin.fileno(), False)
    while select.select([], [w.stdin], [], 0)[1]:  # it takes none between a signal and its answer
        try:
            while size:
                size -= os.write(w.stdin.fileno(), bytes(min(size, 65536)))
        except BlockingIOError:
            pass
        w.send_signal(signal.SIGUSR1)
        read_until(w.stdout, "heard\n")
    os.kill(shepherd, signal.SIGKILL)
    out, err = w.communicate("\0" * size, timeout=DEADLINE)
    assert out == "all of it\n" and "Node n2: " in err
    step.end()


@pytest.mark.parametrize("how", (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL))
def test_detaching_ends_no_step(cluster, how):
    """CORE-205."""
    step = Step(cluster, "echo end")
    leaver, other = watch(step), watch(step)
    read_until(leaver.stdout, "ready\n")
    read_until(other.stdout, "ready\n")
    leaver.send_signal(how)
    assert leaver.wait(DEADLINE) == (-9 if how == signal.SIGKILL else 0)
    leaver.communicate()
    step.go()
    assert step.end()[:2] == (0, "ready\nend\n")
    assert other.communicate(timeout=DEADLINE)[0] == "end\n"


@pytest.mark.parametrize("frozen", (True, False))
def test_slow_watcher_does_not_delay_srun(cluster, frozen):
    """50 MB are written while one watcher is stopped and another one is killed: srun receives all of it, in order."""
    lines = 6_400_000
    step = Step(cluster, f"seq {lines}; {WAIT}", stdout=open(cluster.work / "whole", "wb"))
    slow = watch(step, stdout=open(cluster.work / "slow", "wb"))
    quick = watch(step, stdout=open(cluster.work / "seen", "wb"))
    for seen in ("slow", "seen"):
        eventually(lambda: (cluster.work / seen).read_text() == "ready\n", "both watch")
    slow.send_signal(signal.SIGSTOP if frozen else signal.SIGKILL)
    step.go()
    whole = cluster.work / "whole"
    size = 6 + sum(len(str(10 ** k)) * min(9 * 10 ** k, lines - 10 ** k + 1) + min(9 * 10 ** k, lines - 10 ** k + 1)
                   for k in range(7))
    eventually(lambda: whole.stat().st_size == size, lambda: f"all {size} bytes: {whole.stat().st_size}")
    slow.send_signal(signal.SIGCONT)
    check = subprocess.run(f"(echo ready; seq {lines}) | cmp - {whole}", shell=True, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout
    step.go("last")
    assert step.end()[0] == 0
    err = slow.communicate(timeout=DEADLINE)[1]
    if frozen:  # what it has is in order; what it has not it is told
        lost = [int(n) for n in re.findall(r"sattach: (\d+) bytes of standard output of task 0 are left out here", err)]
        got = (cluster.work / "slow").read_bytes()
        assert lost and len(got) + sum(lost) == size, (len(got), lost, size)
    assert quick.wait(DEADLINE) == 0
    quick.communicate()


@pytest.mark.allocator
def test_stopped_watchers_use_bounded_memory(cluster):
    """The step daemon takes less than 5 MiB with the maximum number of watchers, all of them stopped."""
    step = Step(cluster, f"seq 1000000; {WAIT}", stdout=open(cluster.work / "whole", "wb"))
    watchers = [watch(step) for _ in range(8)]
    for w in watchers:
        read_until(w.stdout, "ready\n")
        w.send_signal(signal.SIGSTOP)
    shepherd = shepherd_of(cluster, step.id)
    step.go()
    eventually(lambda: (cluster.work / "whole").stat().st_size == 6888902, "all of it")
    assert int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{shepherd}/status").read_text())[1]) < 5120
    step.go("last")
    assert step.end()[0] == 0
    for w in watchers:
        w.send_signal(signal.SIGCONT)
        w.communicate(timeout=DEADLINE)


def shepherd_of(cluster, step, nodes=None):
    """By its title; it is a child of the node's daemon."""
    return next(pid for name in nodes or cluster.names for pid in
                map(int, pathlib.Path(f"/proc/{cluster.daemons[name].pid}/task/{cluster.daemons[name].pid}/children").read_text().split())
                if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"slurmstepd: [" + step.encode() + b"]"))


def test_a_late_watcher_sees_the_last_lines(cluster):
    """Whole ones, of 64 KiB at most."""
    step = Step(cluster, f"seq 100000; {WAIT}")
    step.go()
    read_until(step.srun.stdout, "100000\n")
    late = watch(step)
    seen = read_until(late.stdout, "100000\n").splitlines()
    first = int(seen[0])
    assert seen == [str(i) for i in range(first, 100001)] and 60000 < sum(len(s) + 1 for s in seen) <= 65536
    step.go("last")
    step.end()
    late.communicate(timeout=DEADLINE)


@pytest.mark.skipif(not ROOT, reason="needs root to be two other users")
def test_only_the_owner_may_attach(cluster):
    """And administrators: the daemon of the node decides."""
    step = Step(cluster, "echo secret", user="nobody")
    refused = cluster.run(["sattach", step.id], user="daemon")
    assert refused.returncode == 1 and "Access/permission denied" in refused.stderr and refused.stdout == ""
    assert "refused to show step" in cluster.tail("n1")
    owner, root = watch(step, user="nobody"), watch(step)
    for w in (owner, root):
        read_until(w.stdout, "ready\n")
    step.go()
    step.end()
    for w in (owner, root):
        assert w.communicate(timeout=DEADLINE)[0] == "secret\n"


def test_invalid_and_unknown_steps_are_refused(cluster):
    cluster.run("sattach").fails("too few parameters")
    cluster.run("sattach 1.0 2.0").fails('"2.0" is one too many')
    for bad in ("x", "1.x", "1.0.0", "7_1-3.0"):
        cluster.run(["sattach", bad]).fails(f"Failed to parse stepid '{bad}'")
    cluster.run("sattach 4711.0").fails("Could not get job step info: Invalid job id specified: step 4711.0 is not running")
    cluster.run("sattach 4711").fails("job 4711 has no running step")
    for words in ("4711.0", "--none 1.0", "--output-filter=x 1.0", "", "--output-filter 1.0"):
        assert cluster.run(f"sattach {words}", env={"SLURM_EXIT_ERROR": "77"}).returncode == 77, words
    cluster.run("sattach --pty --output-filter=1 1.0").fails("don't specify both --pty and I/O filtering")
    cluster.run("sattach --output-filter=x 1.0").fails('Invalid numeric value "x" for output-filter.')
    step = Step(cluster, "")
    cluster.run(["sattach", "-o", "1", step.id]).fails("There is no task 1", "has 1")
    job, number = step.id.split(".")
    cluster.run(["sattach", f"{job}.{int(number) + 1}"]).fails("is not running")
    step.go()
    step.end()
    eventually(lambda: cluster.run(["sattach", step.id]).returncode == 1, "it has ended")


def test_number_of_watchers_is_limited(cluster):
    """The limit bounds the memory of a step daemon; another watcher can attach when one has left."""
    step = Step(cluster, "")
    watchers = [watch(step) for _ in range(8)]
    for w in watchers:
        read_until(w.stdout, "ready\n")
    cluster.run(["sattach", step.id]).fails(f"step {step.id} has 8 watchers on node n1, and may have no more")
    watchers[0].terminate()
    watchers[0].communicate()

    def another():
        w = watch(step)
        if select.select([w.stdout], [], [], 5)[0] and w.stdout.read(1):
            return w
        w.communicate()
    watchers[0] = eventually(another, "there is room again")
    step.go()
    assert step.end()[0] == 0
    for w in watchers:
        w.communicate(timeout=DEADLINE)
        assert w.returncode == 0


def test_steps_can_be_attached_after_a_daemon_restart(make_cluster):
    """Rule 8: the shepherd and its watchers outlive slurmd."""
    c = make_cluster(nodes=1)
    step = Step(c, "echo end")
    before = watch(step)
    read_until(before.stdout, "ready\n")
    c.kill("n1")
    c.start_node("n1")
    after = eventually(lambda: attached(step), "the new daemon has found the step")
    step.go()
    assert step.end()[0] == 0
    assert before.communicate(timeout=DEADLINE)[0] == "end\n"
    assert after.communicate(timeout=DEADLINE)[0].endswith("end\n")


def attached(step):
    """Returns a watcher that has received earlier output, or none."""
    w = watch(step)
    if w.stdout.read(1) == "r":
        return w
    w.communicate()


def test_files_with_output_are_named(cluster):
    """What never passes the shepherd cannot be shown, and that is said."""
    step = Step(cluster, f"echo err >&2; {WAIT}", "-o", "out.%t")
    step.go()
    w = watch(step)
    seen = read_until(w.stderr, "standard error of the tasks goes to a file on their nodes, and is not shown: out.%t\n")
    assert seen.startswith("sattach: standard output of the tasks goes to a file on their nodes, and is not shown: out.%t\n")
    step.go("last")
    step.end()
    w.communicate(timeout=DEADLINE)


def test_steps_of_array_elements_can_be_attached(cluster):
    job = cluster.sbatch("--array=3", wrap="srun sh -c 'echo hello; sleep 1000'")
    eventually(lambda: "hello" in (cluster.work / f"slurm-{job}_3.out").read_text()
               if (cluster.work / f"slurm-{job}_3.out").exists() else False, "its step runs")
    w = cluster.popen(["sattach", f"{job}_3.0"])
    read_until(w.stdout, "hello\n")
    cluster.run(f"scancel {job}").ok()
    w.communicate(timeout=DEADLINE)
    assert w.returncode != 0


def test_srun_attach_works_as_sattach(cluster):
    """CORE-201, 204, 210: the name of 2002, by job; signals go on as srun sends them."""
    step = Step(cluster, "trap 'echo int' INT; trap 'echo usr1' USR1; while :; do read x <last.0; done")
    job = step.id.split(".")[0]
    step.go()
    for form in (["--attach", job], [f"--attach={step.id}"], ["-a", job]):
        w = cluster.popen(["srun", *form])
        read_until(w.stdout, "ready\n")
        w.send_signal(signal.SIGTERM)
        assert w.wait(DEADLINE) == 0
        w.communicate()
    w = cluster.popen(["srun", "-l", "--attach", job])
    read_until(w.stdout, "0: ready\n")
    w.send_signal(signal.SIGUSR1)
    read_until(w.stdout, "0: usr1\n")
    w.send_signal(signal.SIGINT)
    read_until(w.stderr, "srun: interrupt (one more within 1 sec to send it to the tasks)\n")
    w.send_signal(signal.SIGINT)
    read_until(w.stdout, "0: int\n")
    cluster.run(["srun", "--attach", job, "true"]).fails("--attach takes no command")
    cluster.run(f"scancel {job}").ok()
    w.communicate(timeout=DEADLINE)
    step.end()


def test_job_with_several_steps_needs_a_step_id(cluster):
    script = "for i in 1 2; do srun -n1 --exact --mem=10 sh -c 'echo $SLURM_STEP_ID >>steps; exec sleep 1000' & done; wait"
    job = cluster.sbatch("-n2", wrap=script)
    eventually(lambda: (cluster.work / "steps").exists() and len((cluster.work / "steps").read_text().split()) == 2, "both run")
    cluster.run(f"sattach {job}").fails(f"Job {job} runs several steps; name one of: {job}.0 {job}.1")
    cluster.run(f"scancel {job}").ok()


def test_terminal_is_shared_with_watchers(cluster):
    """--pty of a step with --pty: both see it, both type, and ~. leaves."""
    first = Terminal(cluster, ["srun", "--pty", "--job-name=shared", "sh", "-c", "stty -echo; echo on $((40+2)); "
                               "while read line; do echo got $line; stty size; done"])
    first.until("on 42")
    job = eventually(lambda: cluster.run("squeue -h -n shared -t R -o %i").ok(), "the job runs")
    second = Terminal(cluster, ["sattach", "--pty", f"{job}.0"])
    second.until("on 42")
    second.type("second\r")
    first.until("got second")
    second.until("got second")
    first.type("first\r")
    second.until("got first")
    second.type("~.")
    assert second.close() == 0
    first.type("still\r")
    first.until("got still")
    first.type("\x04")
    assert first.close() == 0


@pytest.mark.skipif(not shutil.which("gdb"), reason="needs gdb")
def test_debuggers_read_the_table(cluster):
    """CORE-236, of a step that has been running for long."""
    step = Step(cluster, "", "-N2", tasks=2)
    w = watch(step)
    read_until(w.stdout, "ready\n")
    show = ["-ex", "printf \"%d %d %s %s\\n\", MPIR_proctable_size, MPIR_proctable[1].pid, MPIR_proctable[1].host_name, "
            "MPIR_proctable[1].executable_name"]

    def table():
        out = cluster.run(["gdb", "-nx", "-batch", "-p", w.pid, *show]).stdout
        found = re.search(r"^2 (\d+) n2 sh$", out, re.M)
        return found and int(found.group(1))
    pid = eventually(table, "the table is whole")
    assert pathlib.Path(f"/proc/{pid}/cwd").resolve() == step.dir
    step.go()
    step.end()
    w.communicate(timeout=DEADLINE)
