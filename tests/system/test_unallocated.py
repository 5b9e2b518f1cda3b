# SPDX-License-Identifier: GPL-3.0-or-later
"""srun --no-allocate, sbcast --no-allocation: tasks and files on named nodes without a job (P27)."""
import pathlib
import signal

import pytest

from harness import ROOT, eventually

TELL = "echo $SLURM_PROCID $SLURMD_NODENAME"


def nothing_left(c):
    """No shepherd, no note of a job on any node, and every node's epilog has run."""
    notes = [p for node in c.names for p in (c.dir / "spool" / node).rglob("*") if p.is_file() and "6710" in p.name]
    return not notes and not any("slurmstepd: [" in row for row in c.run("ps -eo args").stdout.splitlines() if str(c.dir) in row)


def test_tasks_run_beside_jobs(cluster):
    """On nodes that a job has wholly, and on drained ones; nothing is queued, and no job id is taken."""
    blocker = cluster.sbatch("-N1", "-wn1", "--exclusive", wrap="sleep 1000")
    eventually(lambda: cluster.state(blocker) == "RUNNING", "a start")
    cluster.run("scontrol update nodename=n2 state=drain reason=test").ok()
    out = cluster.run(["srun", "-Z", "-w", "n[1-2]", "-n4", "sh", "-c", TELL]).ok()
    assert sorted(out.splitlines()) == ["0 n1", "1 n1", "2 n2", "3 n2"]
    assert sorted(cluster.run(["srun", "-Z", "-wn1,n2", "sh", "-c", TELL]).ok().splitlines()) == ["0 n1", "1 n2"]
    cyclic = cluster.run(["srun", "--no-allocate", "-wn[1-2]", "-n3", "-mcyclic", "sh", "-c", TELL]).ok()
    assert sorted(cyclic.splitlines()) == ["0 n1", "1 n2", "2 n1"]
    assert cluster.run("srun -Z -wn1 -n9 true").returncode == 0  # more than it has CPUs
    assert cluster.run(["srun", "-Z", "-wn1", "printenv", "SLURM_RESTART_COUNT"]).stdout == ""
    assert cluster.run("squeue -h -o %i").ok() == str(blocker)
    cluster.run("scontrol update nodename=n2 state=resume").ok()
    assert cluster.sbatch("--hold", wrap="true") == blocker + 1


def test_status_signals_and_streams(cluster):
    done = cluster.run(["srun", "-Z", "-wn1", "sh", "-c", "cat; echo err >&2; exit 7"], stdin="typed\n")
    assert (done.returncode, done.stdout) == (7, "typed\n") and "err\n" in done.stderr
    step = cluster.popen(["srun", "-Z", "-wn1", "sh", "-c", "trap 'echo told; exit 3' TERM; echo ready; sleep 300000 & wait"])
    assert step.stdout.readline() == "ready\n"
    step.send_signal(signal.SIGTERM)
    assert "told" in step.communicate(timeout=60)[0]


def test_unallocated_step_ignores_the_surrounding_job(cluster):
    out = cluster.run(["salloc", "-Q", "-N1", "-wn3", "-n3", "srun", "-Z", "-wn1", "sh", "-c", TELL]).ok()
    assert out == "0 n1"


@pytest.mark.parametrize("line, text", [
    ("srun -Z true", "must specify a node list with -Z, --no-allocate."),
    ("srun -Z -wn1 --jobid=1 true", "--no-allocate: a step is of an allocation, or of none"),
    ("srun -Z -wnx true", "Invalid node name"),
    ("srun -Z -wn1 --gres=gpu:1 true", "generic resources need an allocation")])
def test_invalid_unallocated_steps_are_refused(cluster, line, text):
    cluster.run(line).fails(text)


@pytest.mark.skipif(not ROOT, reason="needs another user")
def test_users_cannot_run_unallocated_steps(cluster):
    """Default is deny, at the controller; there is no credential that a node would take."""
    cluster.run("srun -Z -wn1 true", user="nobody").fails("Access/permission denied")


def test_unallocated_step_ends_with_its_srun_and_survives_daemons(make_cluster, tmp_path):
    """Node daemon and controller may restart meanwhile; prolog and epilog run; when srun is killed, the step ends."""
    log = tmp_path / "scripts"
    for name in ("prolog", "epilog"):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\necho {name} $SLURM_JOB_ID >>{log}\n")
        script.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"Prolog={tmp_path}/prolog\nEpilog={tmp_path}/epilog")
    pid = c.work / "pid"
    step = c.popen(["srun", "-Z", "-wn1", "sh", "-c", f"echo $$ >{pid}; echo up; exec sleep 1000"])
    assert step.stdout.readline() == "up\n"
    c.kill("n1")
    c.kill("slurmctld")
    c.start_controller()
    c.start_node("n1")
    c.wait_ready()
    assert pathlib.Path(f"/proc/{pid.read_text().strip()}").exists()
    assert [row.split()[0] for row in log.read_text().splitlines()] == ["prolog"]
    step.kill()
    step.wait()
    eventually(lambda: not pathlib.Path(f"/proc/{pid.read_text().strip()}").exists(), "its end")
    eventually(lambda: [row.split()[0] for row in log.read_text().splitlines()] == ["prolog", "epilog"], "the epilog")
    assert len({row.split()[1] for row in log.read_text().splitlines()}) == 1
    eventually(lambda: not list((c.dir / "spool/n1").glob("jobs/*")), lambda: str(list((c.dir / "spool/n1").rglob("*"))))


def test_failed_prolog_ends_an_unallocated_step_once(make_cluster, tmp_path):
    """Each of several launches that wait for the prolog gets the error; the epilog runs once, and nothing is left."""
    log, go = tmp_path / "scripts", tmp_path / "go"
    prolog, epilog = tmp_path / "prolog", tmp_path / "epilog"
    prolog.write_text(f"#!/bin/sh\necho prolog >>{log}\nwhile [ ! -e {go} ]; do sleep 0.05; done\nexit 1\n")
    epilog.write_text(f"#!/bin/sh\necho epilog >>{log}\n")
    for script in (prolog, epilog):
        script.chmod(0o755)
    c = make_cluster(nodes=2, conf=f"Prolog={prolog}\nEpilog={epilog}")
    step = c.popen(["srun", "-Z", "-wn[1-2]", "true"])
    eventually(lambda: log.exists() and log.read_text().split() == ["prolog", "prolog"], "both prologs")
    go.touch()
    assert "Prolog" in step.communicate(timeout=60)[1] and step.returncode == 1
    for node in c.names:
        eventually(lambda: not list((c.dir / "spool" / node).glob("jobs/*")), "nothing is left")
    assert sorted(log.read_text().split()) == ["epilog", "epilog", "prolog", "prolog"]


def test_files_are_sent_to_nodes_without_a_job(make_cluster, tmp_path):
    """sbcast -Z: beside jobs, to drained nodes, with prolog and epilog; the caller needs no job, and nothing is left behind."""
    log = tmp_path / "scripts"
    for name in ("prolog", "epilog"):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\necho $SLURMD_NODENAME {name} >>{log}\n")
        script.chmod(0o755)
    c = make_cluster(nodes=2, conf=f"Prolog={tmp_path}/prolog\nEpilog={tmp_path}/epilog")
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("what all nodes are to have")
    c.run("scontrol update nodename=n2 state=drain reason=test").ok()
    for width in ("1", "2"):
        c.run(["sbcast", "--no-allocation", "-f", "-F", width, "--nodelist=n1,n2", source, target], env={"SLURM_JOB_ID": "4711"}).ok()
        assert target.read_text() == source.read_text()
    for node in c.names:
        eventually(lambda: not list((c.dir / "spool" / node).glob("jobs/*")), "nothing is left")
    assert not c.run("squeue -h -o %i").ok()
    c.run(["sbcast", "-Z", "-w", "n1", source, target]).fails("File exists")
    c.run(["sbcast", "-Z", "-w", "nx", source, target]).fails("Can't get the credential for nodes nx: Invalid node name specified")


@pytest.mark.skipif(not ROOT, reason="needs another user")
def test_users_cannot_send_files_to_any_node(cluster):
    """The controller refuses it by its table of RPCs."""
    cluster.run("sbcast -Z -w n1 /etc/passwd /tmp/of-nobody", user="nobody").fails("Access/permission denied")
    assert not pathlib.Path("/tmp/of-nobody").exists()
