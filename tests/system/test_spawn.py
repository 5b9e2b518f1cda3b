# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that MPI programs spawn (docs/adr/0028), by PMI-1 and PMI-2: X-16."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import ROOT, eventually

HERE = pathlib.Path(__file__).parent
PROGRAM = str(HERE / "pmi1.py")
PORT = "<tag#0$description#x y$>"


@pytest.fixture(scope="module")
def pmi2(cluster):
    program = cluster.dir / "pmi2"
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", program, HERE / "pmi2.c"], check=True)
    return str(program)


def inside(cluster, options, *argv, job=("-N4", "-n16"), **rest):
    """In an allocation of all CPUs; its command is srun."""
    return cluster.run(["salloc", "-Q", *job, "srun", *options, *argv], **rest)


def lines(done):
    return sorted(done.ok().splitlines())


def where(line):
    """Without the directory, which is not the same on all machines."""
    return re.sub(r" in [^:]*:", ":", line)


def test_children_are_spawned_on_several_nodes(cluster):
    """Two parents and four children, these on free CPUs; the parent's values exist before the children read them."""
    out = lines(inside(cluster, ["--exact", "-N2", "-n2"], PROGRAM, "spawn", "4"))
    assert [re.sub(r", on n\d in [^:]*", "", line) for line in out] == [
        *(f"child {i} of 4, command 0: {PORT}" for i in range(4)), "parent 0", "parent 1"]
    assert len({re.search(r" on (n\d)", line).group(1) for line in out[:4]}) > 1


def test_several_commands_are_spawned(cluster):
    """Each with its operands, whatever is in them, and its number (MPI_APPNUM)."""
    out = lines(inside(cluster, ["--exact", "-w", "n1", "-n1"], PROGRAM, "two", job=("-w", "n1", "-n4")))
    assert [where(line) for line in out] == [
        f"child 0 of 3, command 0, on n1: {PORT} <a b>", f"child 1 of 3, command 0, on n1: {PORT} <a b>",
        f"child 2 of 3, command 1, on n1: {PORT} <it's; $HOME> <>", "parent: 0"]


def test_steps_are_spawned_one_after_the_other(cluster):
    """The CPUs of one that has ended are the next one's: all three would not have room."""
    out = lines(inside(cluster, ["--exact", "-n1"], PROGRAM, "again", "3", job=("-N1", "-n2")))
    assert [where(line) for line in out] == [f"child 0 of 1, command 0, on n1: {PORT}"] * 3


def test_children_outside_an_allocation_share_the_job(cluster):
    """Outside an allocation the job is the parent's, and the children share its CPUs if requested."""
    out = lines(cluster.run(["srun", "--overlap", "-n1", PROGRAM, "spawn", "1"]))
    assert [where(line) for line in out] == [f"child 0 of 1, command 0, on n1: {PORT}", "parent 0"]
    eventually(lambda: not cluster.run("squeue -h").ok(), "the job's end")


def test_info_keys_of_spawn_are_applied(cluster):
    out = lines(inside(cluster, ["--exact", "-N1", "-n1"], PROGRAM, "info", "host", "n3"))
    assert [line.split(" in ")[0] for line in out[:2]] == [f"child {i} of 2, command 0, on n3" for i in range(2)]
    out = lines(inside(cluster, ["--exact", "-n1"], PROGRAM, "info", "wdir", "/usr"))
    assert " in /usr:" in out[0] and " in /usr:" in out[1]
    assert "parent: 0" in lines(inside(cluster, ["--exact", "-n1"], PROGRAM, "info", "path", str(HERE)))
    assert "parent: 0" in lines(inside(cluster, ["--exact", "-n1"], PROGRAM, "info", "of-another", "x"))
    for key, value, text in (("host", "n9", "n9"), ("host", "n[", "info key host"), ("host", ",", "info key host: no host in it"),
                             ("wdir", "/nonexistent", "/nonexistent"), ("path", "/nonexistent", "pmi1.py")):
        done = inside(cluster, ["--exact", "-n1"], PROGRAM, "info", key, value)
        assert lines(done) == ["parent: -1"] and text in done.stderr, done.stderr


def test_spawned_steps_are_listed(cluster):
    """Another step of the same job, while it runs."""
    with cluster.popen(["salloc", "-Q", "-n4", "srun", "--exact", "-n1", PROGRAM, "leave"], cwd=cluster.work) as p:
        assert p.stdout.readline() == "parent leaves\n"
        job = cluster.run("squeue -h -o %A").ok()
        seen = eventually(lambda: [s for s in cluster.run(f"squeue -h -s -o %i --steps={job}.1").ok().split() if s == f"{job}.1"],
                          "the spawned step is listed")
        assert seen == [f"{job}.1"]
        (cluster.work / "go").touch()
        assert p.stdout.readline() == "child leaves\n"
        assert p.wait() == 0
    (cluster.work / "go").unlink()


def test_children_outlive_their_parent(cluster):
    """Also in a job of srun, which continues for them, and across a restart of the controller."""
    with cluster.popen(["srun", "--overlap", "-n1", PROGRAM, "leave"], cwd=cluster.work) as p:
        assert p.stdout.readline() == "parent leaves\n"
        job = cluster.run("squeue -h -o %A").ok()
        eventually(lambda: f"{job}.0" not in cluster.run("squeue -h -s -o %i").ok().split(), "the first step's end is known")
        cluster.kill("slurmctld")
        cluster.start_controller()
        assert cluster.run("squeue -h -o %T").ok() == "RUNNING"
        (cluster.work / "go").touch()
        assert p.stdout.readline() == "child leaves\n"
        assert p.wait() == 0
    (cluster.work / "go").unlink()
    eventually(lambda: not cluster.run("squeue -h").ok(), "the job's end")


def test_parent_and_child_exchange_names(cluster):
    """Each finds the names that the other publishes, and cannot withdraw them, although both are task 0."""
    assert lines(inside(cluster, ["--exact", "-n1"], PROGRAM, "names")) == ["parent found here"]


def test_child_spawns_a_grandchild(cluster):
    out = lines(inside(cluster, ["--exact", "-n1"], PROGRAM, "deep"))
    assert [line.split(", on ")[0] for line in out] == ["child 0 of 1, command 0"]


def test_spawn_without_free_cpus_returns_an_error(cluster):
    """The program gets an error, and srun names the holders of the CPUs: no process waits forever."""
    done = inside(cluster, ["--exact", "-n1", "-c4"], PROGRAM, "much", "1", job=("-N1", "-n4"))
    assert lines(done) == ["parent: -1"]
    assert "step creation temporarily disabled" in done.stderr
    for count in ("17", "1000000", "2147483647", "99999999999999999999", "0", "-1", "x"):
        done = inside(cluster, ["--exact", "-n1"], PROGRAM, "much", count)
        assert lines(done) == ["parent: -1"]
    assert lines(inside(cluster, ["--exact", "-n1"], PROGRAM, "endless")) == ["parent: -1"]


def test_missing_programs_return_an_error(cluster):
    """Missing, not an MPI program, crashed at its start: the spawn fails, and its program continues."""
    done = inside(cluster, ["--exact", "-n1"], PROGRAM, "other", "/nonexistent/program")
    assert lines(done) == ["parent: -1"]
    assert "/nonexistent/program: No such file" in done.stderr and "has ended before MPI_Init" in done.stderr
    for program in ("/bin/true", "/bin/false"):
        done = inside(cluster, ["--exact", "-n1"], PROGRAM, "other", program)
        assert lines(done) == ["parent: -1"]
        assert "has ended before MPI_Init" in done.stderr


def test_exit_status_of_a_child_is_returned(cluster):
    assert inside(cluster, ["--exact", "-n1"], PROGRAM, "code").returncode == 3


def test_failing_step_ends_the_other_one(cluster):
    """A child that aborts or is killed, a parent that is killed: processes that wait for it do not wait forever."""
    done = inside(cluster, ["--exact", "-n1"], PROGRAM, "child-abort")
    assert "MPI_Abort with code 9" in done.fails("has spawned a step that ends") and done.returncode != 0
    inside(cluster, ["--exact", "-n1"], PROGRAM, "child-kill").fails("it has ended without MPI_Finalize", "has spawned a step that ends")
    inside(cluster, ["--exact", "-n1"], PROGRAM, "parent-kill").fails("it has ended without MPI_Finalize")
    eventually(lambda: not cluster.run("squeue -h").ok(), "nothing is left")


@contextlib.contextmanager
def waiting(cluster):
    """A parent and a child that wait: their srun, and the number of the child's shepherd."""
    with cluster.popen(["srun", "--overlap", "-n1", PROGRAM, "wait"]) as p:
        said = sorted([p.stdout.readline(), p.stdout.readline()])
        assert re.fullmatch(r"child waits \d+\n", said[0]) and said[1] == "parent waits\n"
        yield p, int(said[0].split()[2])


@pytest.mark.parametrize("signals", ([signal.SIGTERM], [signal.SIGINT, signal.SIGINT], [signal.SIGKILL]))
def test_signal_to_srun_ends_both_steps(cluster, signals):
    """What ends the parent's srun ends both steps."""
    with waiting(cluster) as (p, _):
        for number in signals:
            p.send_signal(number)
            if len(signals) > 1 and number is signals[0]:
                eventually(lambda: "interrupt" in p.stderr.readline(), "the first one is noticed")
                signals = signals[1:]
        p.communicate()
    assert p.returncode != 0
    eventually(lambda: not cluster.run("squeue -h").ok(), "nothing is left")


def test_scancel_ends_both(cluster):
    with waiting(cluster) as (p, _):
        cluster.run(["scancel", cluster.run("squeue -h -o %A").ok()]).ok()
        p.communicate()
    assert p.returncode != 0


def test_lost_node_ends_the_spawned_step(cluster):
    """The child's shepherd is killed, as if its node were: the parent does not wait for ever."""
    with waiting(cluster) as (p, shepherd):
        os.kill(shepherd, signal.SIGKILL)
        _, said = p.communicate()
    assert p.returncode != 0 and "Node failure on n1" in said and "has spawned a step that ends: Node failure on n1" in said
    eventually(lambda: not cluster.run("squeue -h").ok(), "nothing is left")


def test_output_of_a_stopped_srun_is_not_buffered(cluster):
    """Of a stopped srun: the shepherd, which is root's, does not pile it up."""
    file = cluster.work / "taken"
    with cluster.popen(["srun", "-n1", PROGRAM, "press", file]) as p:
        task = int(p.stdout.readline().removeprefix("presses "))
        p.send_signal(signal.SIGSTOP)
        os.kill(task, signal.SIGUSR1)
        taken = int(eventually(lambda: file.exists() and file.read_text(), "the program has asked for what it could"))
        p.send_signal(signal.SIGCONT)
        p.terminate()
    assert taken < 32 << 20


def test_kill_on_bad_exit_applies_to_children(cluster):
    """With -K a child's ends the parent, too; the status is the highest of all."""
    assert inside(cluster, ["--exact", "-n1", "-K"], PROGRAM, "child-code").returncode != 0


def test_output_of_children_goes_to_the_file(cluster):
    """Both steps write to it, and neither over the other."""
    cluster.run(["srun", "--overlap", "-o", "both.txt", "-n1", PROGRAM, "spawn", "1"]).ok()
    out = sorted((cluster.work / "both.txt").read_text().splitlines())
    assert [line.split(", on ")[0] for line in out] == ["child 0 of 1, command 0", "parent 0"]


def test_pmi2_program_spawns_children(cluster, pmi2):
    """The same with the other protocol: preput pairs, the children's numbers, and the identity of their parent."""
    out = lines(inside(cluster, ["--exact", "-n1", "--mpi=pmi2"], pmi2, "parent"))
    job = re.fullmatch(r"parent: 0 kvs_(\d+)_1", out[-1]).group(1)
    assert out[:-1] == [f"child {i} of 3, command {i // 2}, of kvs_{job}_0: <x;y> <{'ab'[i // 2]}>" for i in range(3)]


def test_pmi2_refuses_invalid_spawns(cluster, pmi2):
    assert cluster.run(["srun", "-n1", pmi2, "spawn"]).ok() == "14 command 1 has no number of processes"
    done = cluster.run(["srun", "-n1", pmi2, "crowd"])
    assert re.match(r"14 Unable to create step for job \d+: ", done.ok())


@pytest.mark.skipif(not ROOT, reason="only root runs without an allocation")
def test_spawn_without_a_job_is_refused(cluster):
    done = cluster.run(["srun", "--no-allocate", "-w", "n1", "-n1", PROGRAM, "much", "1"])
    assert lines(done) == ["parent: -1"] and "Unable to spawn: a step of no job has no further ones" in done.stderr


@pytest.mark.skipif(not ROOT, reason="needs root to become an ordinary user")
def test_ordinary_user_spawns_children(cluster, nobody):
    out = lines(cluster.run([*nobody, "srun", "--overlap", "-n1", "python3", "-c", (HERE / "pmi1.py").read_text().replace("__file__", "'/bin/true'"), "other", "/bin/true"]))
    assert out == ["parent: -1"]
