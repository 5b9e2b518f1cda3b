# SPDX-License-Identifier: GPL-3.0-or-later
"""One command starts a cluster, one stops it; several run side by side; as root and as an ordinary user."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from harness import PREFIX, alive, eventually, is_connected, make_directory, processes_of

TOP = pathlib.Path(__file__).parents[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
ENV["PATH"] = f"{PREFIX}/bin:{PREFIX}/sbin:" + ENV["PATH"]


def run(line, **more):
    return subprocess.run(line, shell=isinstance(line, str), text=True, capture_output=True,
                          env={**ENV, **more.pop("env", {})}, timeout=60, **more)


@pytest.fixture
def place():
    path = make_directory("sluice-up.", mode=0o1777)
    yield path
    left = processes_of(path)
    shutil.rmtree(path, ignore_errors=True)
    assert not left, f"left behind: {left}"


def test_sluice_up_starts_and_down_stops_a_cluster(place):
    up = run(["sluice", "up", "--nodes", "3", "--dir", place / "a"])
    assert up.returncode == 0, up.stderr
    work = run(f'eval "$(sluice env --dir {place}/a)" && cd {place} && sinfo -h -o %D && srun -N3 hostname | wc -l && '
               "sbatch --wait --wrap 'echo hi' && cat slurm-*.out && scontrol show config | grep ^ClusterName")
    assert work.returncode == 0, work.stderr
    assert work.stdout.split()[:2] == ["3", "3"] and "hi" in work.stdout
    assert run(["sluice", "status", "--dir", place / "a"]).returncode == 0
    down = run(["sluice", "down", "--dir", place / "a"])
    assert down.returncode == 0, down.stderr
    assert not processes_of(place)
    assert run(["sluice", "status", "--dir", place / "a"]).returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("guide", ["gang-scheduling", "hierarchical-resources"])
def test_guides_set_up_a_cluster(place, guide):
    """The commands that a guide indents, in an empty home directory, lead to a cluster on which its transcripts are so."""
    text = (TOP / f"docs/{guide}.md").read_text()
    commands = re.findall(r"^    (\S(?:.*\\\n)*.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    assert commands[0].startswith("sluice up ") and 'eval "$(sluice env)"' in commands
    resources = re.search(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    if resources:
        (place / "resources.yaml").write_text(resources[1])
    settled = "while sinfo -h -o %t | grep -q comp; do sleep 0.02; done"
    transcript = f"{TOP}/tools/transcript --before '{settled}' {TOP}/docs/{guide}.md {TOP}/examples/jobs"
    script = "\n".join(["set -e", "trap 'sluice down -q' EXIT", *commands, transcript])
    done = run(script, cwd=place, env={"HOME": str(place), "TMPDIR": str(place), "XDG_STATE_HOME": ""})
    assert done.returncode == 0, done.stdout + done.stderr


def test_directory_belongs_to_one_cluster(place):
    """However it is spelled: a cluster that runs is not missed, and not started twice."""
    (place / "w").mkdir()
    (place / "link").symlink_to(place)
    assert run(["sluice", "up", "--nodes", "1", "--dir", place / "a"]).returncode == 0
    for spelled in ("../a", f"{place}/w/../a/", f"{place}/link/a"):
        status = run(["sluice", "status", "--dir", spelled], cwd=place / "w")
        assert status.returncode == 0 and "1 of 1" in status.stdout, status.stdout + status.stderr
    assert run(["sluice", "down", "--dir", "../a"], cwd=place / "w").returncode == 0
    assert not processes_of(place)


def test_two_side_by_side_and_jobs_survive_a_restart(place):
    for name in "ab":
        assert run(["sluice", "up", "--nodes", "2", "--dir", place / name]).returncode == 0
    ids = [run(f'eval "$(sluice env --dir {place}/{n})" && cd {place} && sbatch --parsable -H --wrap=true').stdout
           for n in "ab"]
    assert ids[0].strip().isdigit() and ids[1].strip().isdigit()
    assert run(["sluice", "down", "--dir", place / "a"]).returncode == 0
    assert run(f'eval "$(sluice env --dir {place}/b)" && squeue -h -o %i').stdout == ids[1]
    assert run(["sluice", "up", "--nodes", "2", "--dir", place / "a"]).returncode == 0
    assert run(f'eval "$(sluice env --dir {place}/a)" && squeue -h -o %i').stdout == ids[0]
    for name in "ab":
        assert run(["sluice", "down", "--dir", place / name]).returncode == 0


def test_up_while_the_controller_ends(place):
    """A controller that ends while it is contacted does not count: another one is started, and has the jobs."""
    up = ["sluice", "up", "--nodes", "2", "--dir", str(place / "a")]
    assert run(up).returncode == 0
    job = run(f'eval "$(sluice env --dir {place}/a)" && cd {place} && sbatch --parsable -H --wrap=true').stdout
    pid = int((place / "a" / "run" / "slurmctld.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    with subprocess.Popen(up, env=ENV, stderr=subprocess.PIPE, text=True) as again:
        eventually(lambda: is_connected(again.pid), "sluice up asks the controller")
        os.kill(pid, signal.SIGKILL)
        said = again.communicate(timeout=60)[1]
    assert again.returncode == 0 and "2 nodes" in said, said
    assert int((place / "a" / "run" / "slurmctld.pid").read_text()) != pid
    assert run(f'eval "$(sluice env --dir {place}/a)" && squeue -h -o %i').stdout == job
    assert run(["sluice", "down", "--dir", place / "a"]).returncode == 0


def test_down_without_a_controller_says_what_becomes_of_jobs(place):
    """Their processes end, or go on with --keep-jobs, and both are said."""
    def kill_controller():
        os.kill(int((place / "a/run/slurmctld.pid").read_text()), signal.SIGKILL)
        eventually(lambda: run(["sluice", "status", "--dir", place / "a"]).returncode != 0, "the controller is gone")

    up = ["sluice", "up", "--nodes", "1", "--dir", str(place / "a")]
    down = ["sluice", "down", "--dir", str(place / "a")]
    assert run(up).returncode == 0
    queued = run(f'eval "$(sluice env --dir {place}/a)" && cd {place} && sbatch --parsable -n1 --no-requeue --wrap "echo \\$\\$ >pid; exec sleep 600"')
    assert queued.returncode == 0, queued.stderr
    eventually(lambda: (place / "pid").exists() and (place / "pid").read_text().strip(), "the job runs")
    pid = int((place / "pid").read_text())
    kill_controller()
    said = run([*down, "--keep-jobs"])
    assert said.returncode == 0 and "(it does not run); ending the daemons: running jobs go on" in said.stderr, said.stderr
    assert alive(pid)
    assert run(up).returncode == 0
    assert run(f'eval "$(sluice env --dir {place}/a)" && squeue -h -o %T').stdout == "RUNNING\n"
    kill_controller()
    said = run(down)
    assert said.returncode == 0 and "(it does not run); ending the daemons and the steps of running jobs" in said.stderr, said.stderr
    assert not alive(pid) and not processes_of(place)


def test_invalid_arguments_leave_no_files(place):
    for line in (["sluice", "up", "--nodes", "0"], ["sluice", "up", "--nodes", "x"], ["sluice", "frob"],
                 ["sluice", "up", "--no-such"], ["sluice", "up", "--dir", "/proc/nope"]):
        done = run(line, cwd=place, env={"HOME": str(place)})
        assert done.returncode != 0 and done.stderr.startswith("sluice: "), line
    assert not list(place.iterdir())


def test_set_options_replace_lines_of_the_file(place):
    given = ["killwait=9", "KillWait=8", "DefMemPerNode=64", "MaxJobCount=77", "PartitionName=main Nodes=n1",
             "PartitionName=more Nodes=n[1-2] State=UP", "Waittime = 3"]
    options = [word for line in given for word in ("--set", line)]
    assert run(["sluice", "up", "--nodes", "2", "--dir", place / "a", *options]).returncode == 0
    text = (place / "a/slurm.conf").read_text()
    try:
        for line in given[1:]:
            assert text.splitlines().count(line) == 1, text
        assert "killwait=9" not in text and "DefMemPerCPU" not in text and "PartitionName=main Nodes=ALL" not in text
        assert text.endswith("\n# Given with --set\nMaxJobCount=77\nPartitionName=more Nodes=n[1-2] State=UP\n"
                             "Waittime = 3\n")
        check = run(["slurmctld", "--check", "-f", place / "a/slurm.conf"])
        assert check.returncode == 0 and "2 partitions, 0 warnings" in check.stdout + check.stderr
    finally:
        assert run(["sluice", "down", "--dir", place / "a"]).returncode == 0


def test_sluice_up_creates_the_jwt_key(place):
    """Created like slurm.key; an existing key is kept."""
    key = place / "a/state/jwt_hs256.key"
    up = run(["sluice", "up", "--dir", place / "a", "--set", "AuthAltTypes=auth/jwt"])
    assert up.returncode == 0, up.stderr
    try:
        assert key.stat().st_size == 64 and key.stat().st_mode & 0o7777 == 0o600 and key.stat().st_uid == os.geteuid()
        made = key.read_bytes()
        work = run(f'eval "$(sluice env --dir {place}/a)" && export $(scontrol token) && squeue -h')
        assert work.returncode == 0, work.stderr
    finally:
        assert run(["sluice", "down", "--dir", place / "a"]).returncode == 0
    assert run(["sluice", "up", "--dir", place / "a"]).returncode == 0
    assert run(["sluice", "down", "--dir", place / "a"]).returncode == 0
    assert key.read_bytes() == made
    elsewhere = run(["sluice", "up", "--dir", place / "b", "--set", "AuthAltTypes=auth/jwt", "--set", f"AuthAltParameters=jwt_key={place}/key"])
    assert elsewhere.returncode != 0 and f"key file '{place}/key' is missing" in elsewhere.stderr, elsewhere.stderr
    assert not (place / "key").exists() and not (place / "b").exists()


def test_options_that_contradict_the_file_are_reported(place):
    """Options that only a new slurm.conf could follow, unknown keys, and names that it cannot hold."""
    shape = ["--nodes", "2", "--cpus", "3", "--memory", "200", "--name", "cluster1", "--set", "Foo=1", "--set", "MailProg=/x",
             "--set", "RoutePlugin=route/topology"]
    up = ["sluice", "up", "--dir", place / "a"]
    first = run([*up, *shape])
    assert first.returncode == 0, first.stderr
    try:
        warned = [line for line in first.stderr.splitlines() if "warning" in line]
        assert any(line.startswith("sluice: warning: ") and line.endswith(": unknown key Foo is ignored") for line in warned)
        assert run([*up, *shape]).returncode == 0
        for given, told in ((["--nodes", "3"], "2 nodes, not 3"), (["--cpus", "4"], "nodes of 3 CPUs, not 4"),
                            (["--memory", "201"], "200 MiB, not 201"), (["--name", "b"], "ClusterName=cluster1, not b"),
                            (["--port-base", "1"], "not 1"), (["--set", "Foo=2"], "has no line 'Foo=2'")):
            done = run([*up, *given])
            assert done.returncode == 1 and told in done.stderr and "--renew" in done.stderr, done.stderr
        assert run(["sluice", "status", "--dir", place / "a"]).returncode == 0
    finally:
        assert run(["sluice", "down", "--dir", place / "a"]).returncode == 0
    for name in ("sp ace", "has#hash", "per%cent", "quo'te", "com,ma", "li\nne"):
        done = run(["sluice", "up", "--dir", place / name])
        assert done.returncode == 1 and "give a --dir without" in done.stderr, done.stderr
    assert [p.name for p in place.iterdir()] == ["a"]


def test_ordinary_user_runs_a_cluster(place, nobody):
    """An ordinary user needs no help of root."""
    script = (f"sluice up --nodes 2 --dir {place}/mine && eval \"$(sluice env --dir {place}/mine)\" && cd {place} && "
              f"srun -N2 id -un && sbatch --wait -o out.txt --wrap 'id -u' && cat out.txt; s=$?; "
              f"sluice down --dir {place}/mine || s=1; exit $s")
    done = run([*nobody, "sh", "-c", script],
               env={"HOME": str(place)})
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.splitlines().count("nobody") == 2, done.stdout


def test_cluster_of_another_user_is_left_alone(place, nobody):
    """A user who cannot see the daemons gets a message, and cannot prevent their owner from starting and stopping them."""
    assert run(["sluice", "up", "--dir", place / "a"]).returncode == 0
    for verb in ("down", "status"):
        done = run([*nobody, "sluice", verb, "--dir", place / "a"], env={"HOME": "/"})
        assert done.returncode == 1 and "only that user and root see its daemons" in done.stderr, done.stdout + done.stderr
    with subprocess.Popen([*nobody, "flock", place / "a", "sh", "-c", "echo; read x"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        assert run(["sluice", "status", "--dir", place / "a"]).returncode == 0
        assert run(["sluice", "down", "--dir", place / "a"]).returncode == 0
        holder.stdin.close()
    with subprocess.Popen(["flock", place / "a" / "lock", "sh", "-c", "echo; read x"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        assert "another sluice command is at work" in run(["sluice", "up", "--dir", place / "a"]).stderr
        holder.stdin.close()
    assert run(["sluice", "up", "--dir", place / "a"]).returncode == run(["sluice", "down", "--dir", place / "a"]).returncode == 0


def test_version_is_printed():
    assert run(["sluice", "version"]).stdout.startswith("sluice ")


def test_moved_installation_runs(place):
    shutil.copytree(PREFIX, place / "moved", symlinks=True)
    env = {"PATH": f"{place}/moved/bin:{place}/moved/sbin:/usr/bin:/bin"}
    assert run(["sluice", "up", "--nodes", "1", "--dir", place / "c"], env=env).returncode == 0
    exe = run(f"readlink /proc/$(cat {place}/c/slurmctld.pid {place}/c/*/slurmctld.pid 2>/dev/null | head -1)/exe", env=env)
    assert exe.stdout.strip() == f"{place}/moved/sbin/slurmctld"
    assert run(["sluice", "down", "--dir", place / "c"], env=env).returncode == 0
