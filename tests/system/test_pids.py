# SPDX-License-Identifier: GPL-3.0-or-later
"""From a process to its job and back: CORE-172. Lines and texts are Slurm's."""
import os
import pwd
import re
import time

import pytest

from harness import ROOT, eventually, processes_of

HEAD = "PID      JOBID    STEPID   LOCALID GLOBALID"
SCRIPT = """#!/bin/sh
(setsid sleep 1001 &)
srun --overlap -n2 sleep 1002 &
exec sleep 1003
"""


@pytest.fixture(scope="module")
def busy():
    """A job of two tasks and an orphan on n1, another job on n2, n3 idle."""
    from harness import Cluster
    c = Cluster(nodes=3)
    try:
        c.one = c.sbatch("-w", "n1", "-n2", "-t", "10", "-o", "/dev/null", script=SCRIPT)
        c.two = c.sbatch("-w", "n2", "-o", "/dev/null", wrap="exec sleep 1004")
        eventually(lambda: len(lines(c, f"{c.one} n1")) == 5 and len(lines(c, "* n2")) == 1, "all processes")
        beside = c.dir / "run/slurmd-n1.pid"  # where "sluice up" has SlurmdPidFile
        beside.touch()
        yield c
        beside.unlink()
        c.stop()
    finally:
        c.destroy()


def lines(c, words):
    """The lines under the head, as they are."""
    out = c.run(["scontrol", "listpids", *words.split()]).stdout.splitlines()
    assert out[:1] in ([HEAD], []), out
    return out[1:]


def pid_of(c, command):
    return eventually(lambda: [pid for pid, line in processes_of(c.dir).items() if line.strip() == command], command)[0]


def test_processes_of_steps(busy):
    """CORE-172."""
    c = busy
    assert c.run("scontrol listpids").stderr == ""
    found = lines(c, f"{c.one}.0 n1")
    assert [line[9:] for line in found] == [f"{c.one:<8} 0        {i:<7} {i:<8}" for i in (0, 1)]
    assert all(open(f"/proc/{int(line.split()[0])}/comm").read() == "sleep\n" for line in found)
    script = lines(c, f"{c.one}.batch n1")
    assert [line[9:] for line in script] == [f"{c.one:<8} batch    0       0       ", *2 * [f"{c.one:<8} batch    -       -       "]]
    assert int(script[0].split()[0]) == pid_of(c, "sleep 1003")  # beside it the orphan and srun
    assert pid_of(c, "sleep 1001") in [int(line.split()[0]) for line in script[1:]]
    assert lines(c, f"{c.one} n1") == found + script == lines(c, "* n1") == lines(c, f"{c.one}")
    assert lines(c, "") == lines(c, "* n1") + lines(c, "* n2") == lines(c, "*")
    if ROOT:
        out = c.run("scontrol listpids", user="nobody").ok().splitlines()
        assert out[0] == HEAD and len(out) == 7
    inside = c.run(["srun", "--overlap", f"--jobid={c.two}", "scontrol", "listpids", str(c.two)]).ok()
    assert f"{c.two:<8} batch    0       0" in inside


def test_jobs_and_steps_of_this_host(busy):
    c = busy
    jobs, steps = [str(c.one), str(c.two)], [f"{c.one:<8} 0", f"{c.one:<8} batch", f"{c.two:<8} batch"]
    assert c.run("scontrol listjobs").ok().splitlines() == ["JOBID", *jobs]
    assert c.run("scontrol listjobs n2").ok().splitlines() == ["JOBID", jobs[1]]
    assert c.run("scontrol liststeps").ok().splitlines() == ["JOBID    STEPID", *steps]
    assert c.run("scontrol liststeps n1").ok().splitlines() == ["JOBID    STEPID", *steps[:2]]
    for command in ("listjobs", "liststeps", "getent"):
        c.run(f"scontrol {command} n3").fails("No job steps exist on this node.")


def test_entities_of_steps(busy):
    c = busy
    user = pwd.getpwuid(os.getuid())
    said = c.run("scontrol getent n2").ok().splitlines()
    assert said[:4] == [f"JobId={c.two}.batch:", "User:", ":".join(map(str, user)), "Groups:"]
    groups = {int(line.split(":")[2]) for line in said[4:] if line}
    assert groups == set(os.getgrouplist(user.pw_name, user.pw_gid))
    assert [line for line in c.run("scontrol getent").ok().splitlines() if line.startswith("JobId=")] == [
        f"JobId={c.one}.0:", f"JobId={c.one}.batch:", f"JobId={c.two}.batch:"]


def test_daemons_of_this_host_and_their_log(busy):
    c = busy
    def said():
        shown = [dict(re.split(" += ", line) for line in part.splitlines()) for part in c.run("scontrol show slurmd").ok().split("\n\n") if part]
        return {d["NodeName"]: d for d in shown}
    before = said()
    assert sorted(before) == ["n1", "n2", "n3"]
    assert before["n1"]["Active Steps"] == f"{c.one}.0,{c.one}.batch" and before["n3"]["Active Steps"] == "NONE"
    assert before["n2"]["Version"] == "26.05.0" and before["n2"]["Slurmd PID"] == str(c.daemons["n2"].pid)
    assert int(before["n2"]["Actual CPUs"]) > 0 and int(before["n2"]["Actual real memory"].split()[0]) > 0
    assert c.run("scontrol show slurmd n3").ok().count("NodeName") == 1
    level = int(before["n1"]["Slurmd Debug"])
    c.run("scontrol setdebug error nodes=n[1-2]").ok()
    assert [said()[n]["Slurmd Debug"] for n in sorted(before)] == ["2", "2", str(level)]
    if ROOT:
        c.run("scontrol setdebug debug3 nodes=n1", user="nobody").fails("slurm_set_slurmd_debug_level error:")
        assert said()["n1"]["Slurmd Debug"] == "2"
    c.run("scontrol reconfigure").ok()
    eventually(lambda: {d["Slurmd Debug"] for d in said().values()} == {str(level)}, "the configuration's level")
    c.run("scontrol setdebug debug nodes=ghost").fails("Invalid node name ghost")
    c.run("scontrol setdebug debug n1").fails("too many arguments for keyword:setdebug")


def test_addresses_of_nodes(busy):
    assert busy.run("scontrol getaddrs n[1-2],n3").ok().splitlines() == [f"n{i}: 127.0.0.1" for i in (1, 2, 3)]
    busy.run("scontrol getaddrs ghost").fails("Invalid node name ghost")


@pytest.mark.parametrize("words, text", [
    ("999 n1", "There are no steps for job 999 on node n1."), ("999.0 n1", "StepId=999.0 does not exist on node n1."),
    ("* n3", "No job steps exist on this node."), ("TWO n1", "There are no steps for job TWO on node n1."),
    ("999", "There are no steps for job 999 on this host."), ("ONE.7 n1", "StepId=ONE.7 does not exist on node n1."),
    ("* ghost", "No job steps exist on this node."), ("* ../run", "No job steps exist on this node."),
])
def test_unknown_steps_print_no_process(busy, words, text):
    one, two = str(busy.one), str(busy.two)
    done = busy.run(["scontrol", "listpids", *words.replace("ONE", one).replace("TWO", two).split()])
    assert done.returncode == 1 and done.stdout == HEAD + "\n"
    assert done.stderr.splitlines()[-1] == text.replace("ONE", one).replace("TWO", two)


@pytest.mark.parametrize("words, text", [
    ("abc", '"abc" does not look like a jobid'), ("-5.1", '"-5.1" does not look like a jobid'),
    ("7.x", '"7.x" does not look like a stepid'), ("99999999999", '"99999999999" does not look like a jobid'),
    ("1 n1 x", "too many arguments for keyword:listpids"),
])
def test_invalid_arguments_are_refused(busy, words, text):
    done = busy.run(["scontrol", "--", "listpids", *words.split()])
    assert (done.returncode, done.stdout, done.stderr) == (1, "", text + "\n")


def test_job_of_a_process(busy):
    """CORE-172."""
    c = busy

    def info(pid, **env):
        return c.run(f"scontrol pidinfo {pid}", env=env)
    out = info(pid_of(c, "sleep 1001")).ok()  # an orphan with a session of its own
    end = c.run(f"squeue -h -j {c.one} -o %e").ok()
    found = re.fullmatch(r"Slurm JobId=(\d+) ends at (\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4})\n"
                         r"Job remaining time is (\d+) seconds", out)
    assert found and int(found[1]) == c.one and 0 < int(found[3]) <= 600
    assert time.strftime("%Y-%m-%dT%H:%M:%S", time.strptime(found[2], "%a %b %d %H:%M:%S %Y")) == end
    assert info(pid_of(c, "sleep 1004")).ok().startswith(f"Slurm JobId={c.two} ends at ")  # no limit: in a year
    assert int(info(pid_of(c, "sleep 1004")).ok().split()[-2]) > 360 * 86400
    assert info(pid_of(c, "sleep 1004"), SLURMD_NODENAME="n2").returncode == 0
    for pid in (1, 0, 999999999, "abc", "1x", c.daemons["n1"].pid):
        assert info(pid).fails() == "Failed to locate job for requested pid\n"
    assert info(pid_of(c, "sleep 1004"), SLURMD_NODENAME="n1").fails() == "Failed to locate job for requested pid\n"
    assert c.run("scontrol pidinfo").fails() == "missing argument for keyword:pidinfo\n"
    assert c.run("scontrol pidinfo 1 2").fails() == "too many arguments for keyword:pidinfo\n"


def test_processes_are_listed_after_a_daemon_restart(make_cluster):
    """CORE-182: the processes of the step are known again; without a daemon the command names the node that does not answer."""
    import signal
    c = make_cluster(nodes=1)
    job = c.sbatch("-o", "/dev/null", wrap="exec sleep 1005")
    eventually(lambda: len(lines(c, str(job))) == 1, "its process")
    pid = pid_of(c, "sleep 1005")
    c.kill("n1", signal.SIGKILL)
    assert "n1 does not answer on this host" in c.run(f"scontrol pidinfo {pid}").fails("Failed to locate job")
    c.start_node("n1")
    eventually(lambda: c.run(f"scontrol pidinfo {pid}").returncode == 0, "the job, after a restart")
    assert lines(c, f"{job} n1") == [f"{pid:<8} {job:<8} batch    0       0       "]
