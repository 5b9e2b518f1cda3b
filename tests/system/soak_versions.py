# SPDX-License-Identifier: GPL-3.0-or-later
"""Daemons and commands of this version together with those of an earlier one, only in the soak: RELIABILITY L1, P4.

SLUICE_OLDER names the prefix of the earlier one; tools/soak builds it from the history."""
import os
import pathlib
import signal

import pytest

from harness import DEADLINE, PREFIX, eventually, fields_of

OLDER = pathlib.Path(os.environ["SLUICE_OLDER"]).resolve()
PARTS = "commands", "slurmctld", "slurmd"


def path_of(prefix):
    return {"PATH": f"{prefix}/bin:{os.environ['PATH']}"}


def start_controller(c, prefix):
    c.spawn("slurmctld", [prefix / "sbin/slurmctld", "-D"])


def start_nodes(c, prefix):
    for name in c.names:
        c.spawn(name, [prefix / "sbin/slurmd", "-D", "-N", name])


def use_cluster(c, prefix):
    """What users do in a day, with the commands of that version."""
    def run(line, **more):
        return c.run(line, env=path_of(prefix), **more).ok()
    ends = {"exit 0": ("COMPLETED", "0:0"), "exit 3": ("FAILED", "3:0"), "srun -n2 sh -c 'exit 2'": ("FAILED", "2:0")}
    jobs = {int(run(["sbatch", "--parsable", "-N2", "-o", "/dev/null", "--wrap", script])): end for script, end in ends.items()}
    array = int(run(["sbatch", "--parsable", "--array=1-4%2", "-o", f"{c.work}/out.%a", "--wrap", "echo element $SLURM_ARRAY_TASK_ID"]))
    held = int(run(["sbatch", "--parsable", "-H", "-o", "/dev/null", "--wrap", "true"]))
    run(f"scontrol update JobId={held} TimeLimit=7 Nice=5")
    assert "TimeLimit=00:07:00" in run(f"scontrol show job {held}")
    assert run(f"squeue -h -j {held} -o %i,%T,%l").strip() == f"{held},PENDING,7:00"
    assert [job["time_limit"]["number"] for job in c.json(f"squeue -j {held}")["jobs"]] == [7]
    assert sorted(run("srun -N2 -n4 -l echo here").splitlines()) == [f"{rank}: here" for rank in range(4)]
    assert run("srun -n1 cat", stdin="some input\n") == "some input"
    copy = c.work / "copy"
    assert run(["salloc", "-Q", "-N1", "sh", "-c", f"sbcast {c.conf_file} {copy} && srun cat {copy}"]) == c.conf_file.read_text().rstrip("\n")
    copy.unlink()
    for line in ("sinfo", "scontrol show node", "scontrol show config", "scontrol ping", "sdiag", "scontrol reconfigure"):
        assert run(line) or "reconfigure" in line
    run(f"scancel {held}")
    for job, end in {**jobs, held: ("CANCELLED", "0:0")}.items():
        fields = c.wait(job)
        assert (fields["JobState"], fields["ExitCode"]) == end, fields
    eventually(lambda: not run(f"squeue -h -j {array}"), f"the end of {array}")
    assert [(c.work / f"out.{i}").read_text() for i in range(1, 5)] == [f"element {i}\n" for i in range(1, 5)]
    asleep = int(run(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 1000"]))
    c.wait_script(asleep)
    run(f"scancel {asleep}")
    assert c.wait(asleep)["JobState"] == "CANCELLED"


@pytest.mark.parametrize("older", PARTS)
@pytest.mark.parametrize("others", ["newer", "older"])
def test_one_program_of_another_version(make_cluster, older, others):
    """L1: only the commands, only the controller, or only the node daemons have the other version."""
    odd, rest = (OLDER, PREFIX) if others == "newer" else (PREFIX, OLDER)
    of = {part: odd if part == older else rest for part in PARTS}
    c = make_cluster(nodes=2, start=False)
    start_controller(c, of["slurmctld"])
    start_nodes(c, of["slurmd"])
    c.wait_ready()
    use_cluster(c, of["commands"])


@pytest.mark.parametrize("first", ["slurmctld", "slurmd"])
def test_upgrade_under_a_running_job(make_cluster, first):
    """L1, P4: every daemon is replaced while a job and its step run: both go on, and their ends are known."""
    c = make_cluster(nodes=2, start=False)
    gate = c.work / "gate"
    os.mkfifo(gate)
    start_controller(c, OLDER)
    start_nodes(c, OLDER)
    c.wait_ready()
    script = f"srun -N2 -n2 sh -c 'echo began $SLURM_PROCID; [ $SLURM_PROCID = 0 ] || exit 0; read word < {gate}; echo $word'; exit 7"
    job = int(c.run(["sbatch", "--parsable", "-N2", "-o", f"{c.work}/out", "--wrap", script], env=path_of(OLDER)).ok())
    held = int(c.run(["sbatch", "--parsable", "-H", "-J", "kept", "-o", "/dev/null", "--wrap", "true"], env=path_of(OLDER)).ok())
    eventually(lambda: (c.work / "out").exists() and (c.work / "out").read_text().count("began") == 2, "the step runs")

    def change(what):
        names = ["slurmctld"] if what == "slurmctld" else c.names
        for name in names:
            c.kill(name, signal.SIGTERM)
        start_controller(c, PREFIX) if what == "slurmctld" else start_nodes(c, PREFIX)
        eventually(lambda: c.run("scontrol ping").returncode == 0, "the controller answers")
        c.wait_ready()
    for what in sorted(["slurmctld", "slurmd"], key=lambda name: name != first):
        change(what)
    assert c.state(job) == "RUNNING"
    with gate.open("w") as f:
        f.write("goes on\n")
    fields = c.wait(job, DEADLINE)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "7:0"), fields
    assert "goes on" in (c.work / "out").read_text()
    assert fields_of(c.run(f"scontrol show job -o {held}").ok())["JobName"] == "kept"
    use_cluster(c, PREFIX)


def test_a_return_to_the_older_version(make_cluster):
    """L1: the older controller continues with the state, or refuses a newer format and changes nothing."""
    c = make_cluster(nodes=1, start=False)
    start_controller(c, PREFIX)
    start_nodes(c, PREFIX)
    c.wait_ready()
    held = c.sbatch("-H", "-J", "kept", "-o", "/dev/null", wrap="true")
    c.kill("slurmctld", signal.SIGTERM)
    start_controller(c, OLDER)

    def serves():
        return c.daemons["slurmctld"].poll() is None and c.run("scontrol ping", env=path_of(OLDER)).returncode == 0
    eventually(lambda: c.daemons["slurmctld"].poll() is not None or serves(), "it serves or refuses")
    if serves():
        assert c.run(f"squeue -h -j {held} -o %j", env=path_of(OLDER)).ok() == "kept"
        c.kill("slurmctld", signal.SIGTERM)
    else:
        assert c.daemons.pop("slurmctld").returncode == 1 and "newer version" in c.tail("slurmctld")
    start_controller(c, PREFIX)
    c.wait_ready()
    assert c.job(held)["JobName"] == "kept"
    c.run(f"scontrol release {held}").ok()
    assert c.wait(held)["JobState"] == "COMPLETED"
