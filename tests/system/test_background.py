# SPDX-License-Identifier: GPL-3.0-or-later
"""~& sends an interactive srun to the background: CORE-202, CORE-203."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import DEADLINE, ROOT, alive, eventually
from terminal import Terminal, read_until

SHELL = ["bash", "--norc", "--noediting", "-i"]


@pytest.fixture
def place(cluster, request):
    where = cluster.work / re.sub(r"\W", "_", request.node.name)
    where.mkdir()
    where.chmod(0o1777)
    return where


def shell(cluster, place, **more):
    t = Terminal(cluster, SHELL, cwd=place, env={"PS1": "prompt> ", **more.pop("env", {})}, **more)
    t.until("prompt> ")
    return t


def gate(place, name="gate"):
    os.mkfifo(place / name, 0o666)
    (place / name).chmod(0o666)
    return f"read x <{place}/{name}"


def opened(place, name="gate"):
    (place / name).write_text("\n")


def sent(t):
    """What the srun that ends says: job, process, its files."""
    said = t.until("prompt> ")
    found = re.search(r"srun: step (\d+)\.0 goes on in the background, by process (\d+)"
                      r"(?:; its output goes to (\S+)(?: and (\S+))?)?\r\n", said)
    assert found, said
    return int(found[1]), int(found[2]), found[3], found[4]


def test_srun_goes_to_the_background(cluster, place):
    """CORE-202, 203: The prompt is back, the status 0; the step outlives the terminal, its output is whole and its status on record."""
    wait = gate(place)
    t = shell(cluster, place)
    t.type(f"srun -J away sh -c 'seq 1 300; {wait}; seq 301 200000; echo last >&2; cat; exit 7'\n")
    shown = t.until("300\r\n")
    t.type("~&\n")
    job, process, out, err = sent(t)
    assert (out, err) == (f"slurm-{job}.0.out", f"slurm-{job}.0.err")
    t.type("echo status $?\n")
    t.until("status 0\r\n")
    assert cluster.state(job) == "RUNNING" and alive(process)
    assert os.getsid(process) == process  # none of the terminal's
    for fd in pathlib.Path(f"/proc/{process}/fd").iterdir():
        assert not os.readlink(fd).startswith("/dev/pts/"), os.readlink(fd)
    t.hang_up()
    t.process.wait(DEADLINE)
    watcher = cluster.popen(["sattach", f"{job}.0"])
    read_until(watcher.stdout, "300\n")
    opened(place)
    ended = cluster.wait(job)
    assert ended["JobState"] == "FAILED" and ended["ExitCode"] == "7:0"
    lines = shown.replace("\r", "").split("'\n")[-1] + (place / out).read_text()
    assert lines == "".join(f"{i}\n" for i in range(1, 200001))
    said = (place / err).read_text()
    assert said.startswith("last\n") and "srun: error: n1: task 0: Exited with exit code 7\n" in said
    assert watcher.communicate(timeout=DEADLINE)[0].endswith("200000\n") and watcher.returncode == 7
    eventually(lambda: not alive(process), "the other srun has ended")


def test_input_ends_when_srun_goes_to_the_background(cluster, place):
    t = shell(cluster, place)
    t.type("srun cat\n")
    t.until("srun cat\r\n")
    t.type("before\n")
    t.until("before\r\nbefore\r\n")
    t.type("~&\n")
    job, _, out, _ = sent(t)
    assert cluster.wait(job)["ExitCode"] == "0:0" and (place / out).read_text() == ""
    t.type("exit\n")
    t.close()


def test_terminal_of_tasks_stays_open_in_the_background(cluster, place):
    """With --pty the tasks' terminal stays open without output until an srun attaches again."""
    t = shell(cluster, place)
    t.type("stty -a | md5sum; srun --pty sh -c 'stty -echo; echo on $((40+2)); while read x; do echo got $x; done; echo over'\n")
    before = re.search(r"([0-9a-f]{32})", t.until("on 42\r\n"))[1]
    t.type("one\r")
    t.until("got one\r\n")
    t.type("~&")
    job, process, out, _ = sent(t)
    t.type("stty -a | md5sum\n")
    t.until(before)  # as it was
    assert cluster.state(job) == "RUNNING"
    again = Terminal(cluster, ["sattach", "--pty", f"{job}.0"], cwd=place)
    again.until("got one\r\n")
    again.type("two\r")
    again.until("got two\r\n")
    again.type("~~.\r")
    again.until("got ~.\r\n")
    again.type("\x04")
    again.until("over\r\n")
    assert again.close() == 0
    assert cluster.wait(job)["ExitCode"] == "0:0"
    assert (place / out).read_bytes() == b"got two\r\ngot ~.\r\nover\r\n"
    t.type("exit\n")
    t.close()


def test_prompt_returns_for_srun_in_a_pipe(cluster, place):
    wait = gate(place)
    t = shell(cluster, place)
    t.type(f"srun sh -c 'echo one; {wait}; echo two' | cat\n")
    t.until("\none\r\n")
    t.type("~&\n")
    job, _, out, _ = sent(t)
    t.type("srun -n1 --overlap true; echo free $?\n")
    t.until("free 0")
    opened(place)
    assert cluster.wait(job)["ExitCode"] == "0:0" and (place / out).read_text() == "two\n"
    t.type("exit\n")
    t.close()


def test_redirected_output_stays_in_its_file(cluster, place):
    wait = gate(place)
    t = shell(cluster, place)
    t.type(f"srun -l sh -c 'echo one; echo err >&2; {wait}; echo two' >mine\n")
    t.until("err\r\n")
    t.type("~&\n")
    job, _, only, none = sent(t)
    assert (only, none) == (f"slurm-{job}.0.err", None)
    opened(place)
    assert cluster.wait(job)["ExitCode"] == "0:0"
    assert (place / "mine").read_text() == "0: one\n0: two\n"
    t.type("exit\n")
    t.close()


def test_signals_end_srun_in_the_background(cluster, place):
    """The srun in the background is one like others."""
    for how in ("scancel", "kill"):
        t = shell(cluster, place)
        t.type("srun sh -c 'echo on; exec sleep 1000'\n")
        t.until("\non\r\n")
        t.type("~&\n")
        job, process, _, err = sent(t)
        if how == "scancel":
            cluster.run(f"scancel {job}").ok()
        else:
            os.kill(process, signal.SIGTERM)
        assert cluster.wait(job)["JobState"] == ("CANCELLED" if how == "scancel" else "FAILED")
        eventually(lambda: not alive(process), "it has ended")
        assert ("CANCELLED" if how == "scancel" else "forcing job termination") in (place / err).read_text()
        t.type("exit\n")
        t.close()


def test_escapes_elsewhere_are_no_commands(cluster, place):
    """In the middle of a line, twice, another character, and without a terminal as input."""
    t = shell(cluster, place)
    t.type("srun cat\n")
    t.until("srun cat\r\n")
    for typed, got in (("a~&", "a~&"), ("~~&", "~&"), ("~/bin", "~/bin"), ("~&&", "~&&")):
        t.type(typed + "\n")
        t.until(f"{typed}\r\n{got}\r\n")
    t.type("\x04")
    t.until("prompt> ")
    t.type("SLUICE_ESCAPE_CHAR=none srun cat\n")
    t.until("srun cat\r\n")
    t.type("~&\n\x04")
    t.until("~&\r\n~&\r\n")
    t.until("prompt> ")
    t.type("exit\n")
    t.close()
    assert cluster.run(["srun", "cat"], stdin="~&\n~.\n").ok() == "~&\n~."


def test_srun_stays_if_its_output_file_cannot_be_created(cluster, place):
    place.chmod(0o555)
    t = shell(cluster, place, user="nobody" if ROOT else None)  # what root may not write to is hard to find
    t.type("srun cat\n")
    t.until("srun cat\r\n")
    t.type("~&\n")
    t.until("Permission denied; staying here\r\n")
    t.type("still\n\x04")
    t.until("still\r\nstill\r\n")
    t.until("prompt> ")
    t.type("exit\n")
    t.close()


@pytest.mark.parametrize("trap", ("link", "pipe", pytest.param("foreign", marks=pytest.mark.skipif(not ROOT, reason="needs root"))))
def test_output_is_not_written_to_files_of_others(cluster, place, trap):
    """Names are easy to guess: a link, a pipe that blocks, a file of another user."""
    t = shell(cluster, place)
    t.type("srun sh -c 'echo on $((40+2)) of $SLURM_JOB_ID.; sleep 100'\n")
    t.until("on 42 of ")
    job = t.until(".")[:-1]
    out, target = place / f"slurm-{job}.0.out", place / "target"
    target.write_text("mine")
    if trap == "link":
        out.symlink_to(target)
    elif trap == "pipe":
        os.mkfifo(out, 0o666)
    else:
        out.touch()
        out.chmod(0o666)
        os.chown(out, 65534, 65534)
    t.until("\r\n")
    t.type("~&\n")
    t.until(f"srun: error: Could not open slurm-{job}.0.out: ")
    t.until("staying here\r\n")
    assert target.read_text() == "mine"
    cluster.run(f"scancel {job}").ok()
    t.until("prompt> ")
    t.hang_up()
    t.process.wait(DEADLINE)


def test_command_of_salloc_stays_in_the_foreground(cluster, place):
    """Its allocation would end with it."""
    t = Terminal(cluster, ["salloc", "srun", "--pty", "sh", "-c", "stty -echo; echo on $((40+2)); read x; echo got $x"], cwd=place)
    t.until("on 42\r\n")
    t.type("~&")
    t.until("srun: error: this srun is the command of salloc, whose allocation ends with it; staying here\r\n")
    t.type("it\r")
    t.until("got it\r\n")
    assert t.close() == 0
