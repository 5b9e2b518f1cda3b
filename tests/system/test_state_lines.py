# SPDX-License-Identifier: GPL-3.0-or-later
"""sluice state export and import."""
import json
import os
import signal

import pytest

from harness import ROOT, fields_of
from statefile import JOB, NODE, PART, State


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def listings(c):
    """Returns the output of the commands without values that change with the clock."""
    said = []
    for line in ("squeue -a -h -t all -o %i|%j|%T|%u|%N|%r", "scontrol show job -o", "scontrol show partition -o",
                 "scontrol show node -o", "sinfo -h -R"):
        for record in c.run(line).ok().splitlines():
            fields = fields_of(record) or record
            if isinstance(fields, dict):
                for moving in ("RunTime", "SlurmdStartTime", "LastBusyTime", "BootTime", "CPULoad", "FreeMem", "LastSchedEval",
                               "EndTime", "StartTime", "State", "Scheduler", "OS", "Version", "Arch"):
                    fields.pop(moving, None)
            said.append(fields)
    return said


@pytest.fixture
def filled(make_cluster):
    """A controller with all that a state can hold, stopped in order."""
    c = make_cluster(nodes=2, conf="MaxNodeCount=9", start=False)
    c.start_controller()
    c.run("scontrol create NodeName=d1 State=CLOUD CPUs=2").ok()
    c.run("scontrol create PartitionName=extra Nodes=n1 MaxTime=5").ok()
    c.run("scontrol update PartitionName=main MaxNodes=1").ok()
    c.run("scontrol update NodeName=n2 State=DRAIN Reason=br\u00f6ken").ok()
    for i in range(3):
        c.sbatch("-H", "-o", "/dev/null", "-J", f"job{i}", wrap=f"echo {i}; # \u00e9")
    c.run(["sbatch", "-H", "-o", "/dev/null", "--wrap", "true", "--comment", os.fsdecode(b"\xff")]).ok()
    c.run("scancel 3").ok()
    c.said = listings(c)
    c.scripts = [c.run(f"scontrol write batch_script {job} -").ok() for job in (1, 2, 4)]
    c.kill("slurmctld", signal.SIGTERM)
    return c


def same_after(c):
    c.start_controller()
    assert listings(c) == c.said
    assert [c.run(f"scontrol write batch_script {job} -").ok() for job in (1, 2, 4)] == c.scripts
    assert c.sbatch("-H", "-o", "/dev/null", wrap="true") == 5
    c.kill("slurmctld", signal.SIGTERM)


def test_exported_and_imported_state_is_identical(filled):
    """A second export has the same bytes, and a controller shows the same."""
    c, one, two = filled, filled.dir / "one", filled.dir / "two"
    c.run(f"sluice state export {one}").ok()
    assert one.stat().st_mode & 0o777 == 0o600
    assert {line["kind"] for line in lines(one)[1:-1]} == {"meta", "job", "attempt", "payload", "node", "partition", "made"}
    assert c.run("sluice state export").ok() + "\n" == one.read_text() == c.run("sluice state export -").ok() + "\n"
    (c.dir / "state").rename(c.dir / "was")
    c.run(f"sluice state import {one}").ok()
    c.run(f"sluice state export {two}").ok()
    assert one.read_bytes() == two.read_bytes()
    same_after(c)


def test_state_moves_from_files_to_a_server_and_back(server, filled):
    c, one, two, three = filled, *(filled.dir / name for name in ("one", "two", "three"))
    c.run(f"sluice state export {one}").ok()
    text = c.conf_file.read_text()
    c.conf_file.write_text(text + f"StateSaveStore={server.url}\n")
    c.run("sluice state export").fails("no saved state")
    c.run("sluice state import -", stdin=one.read_text()).ok()
    c.run(f"sluice state export {two}").ok()
    assert one.read_bytes() == two.read_bytes()
    c.run(f"sluice state import {one}").fails("not empty", "postgresql://", "move what is there away")
    c.start_controller()
    assert listings(c) == c.said
    assert c.run("sluice state export").ok()  # a reader does not disturb who leads
    c.run(f"sluice state import {one}").fails("not empty")
    assert c.run("squeue -h").returncode == 0
    c.kill("slurmctld", signal.SIGTERM)
    c.run(f"sluice state export {three}").ok()
    c.conf_file.write_text(text)
    (c.dir / "state").rename(c.dir / "was")
    c.run(f"sluice state import {three}").ok()
    same_after(c)


def test_invalid_state_texts_are_refused(filled):
    c, one = filled, filled.dir / "one"
    c.run(f"sluice state export {one}").ok()
    c.run(f"sluice state export {one}").fails("File exists", "not overwritten")
    empty = c.dir / "empty"  # as an export leaves it that fails after root has become SlurmUser
    empty.touch(0o644)
    (c.dir / "link").symlink_to(empty)
    c.run(f"sluice state export {c.dir}/link").fails("File exists", "not overwritten")
    c.run(f"sluice state export {empty}").ok()
    assert empty.read_bytes() == one.read_bytes() and empty.stat().st_mode & 0o777 == 0o600
    c.run(f"sluice state import {one}").fails("not empty")
    c.run("sluice state").fails("export or import")
    c.run("sluice state import").fails("which file?")
    c.run("sluice state import /nonexistent").fails("/nonexistent")
    c.run("sluice state export a b").fails("unexpected argument 'b'")
    c.run("sluice state export /nonexistent/x").fails("/nonexistent/x")
    full = c.run(["sh", "-c", "sluice state export >/dev/full"])
    assert full.returncode == 1 and "No space left" in full.stderr
    (c.dir / "state").rename(c.dir / "was")
    c.run("sluice state export").fails("there is no saved state")
    c.run(f"sluice state export {c.dir}/none").fails("there is no saved state")
    assert not (c.dir / "none").exists() and not (c.dir / "state").exists()
    whole = one.read_text()
    for text, says in [(whole[:-20], "cut short"), ("".join(whole.splitlines(True)[:-1]), "end is missing"),
                       (whole.replace('"cluster":"test"', '"cluster":"other"', 1), "of cluster other, but ClusterName is test"),
                       (whole.replace("job1", "job9"), "--edited"), ("x\n" + whole, "line 1"), ("", "it is empty")]:
        c.run("sluice state import -", stdin=text).fails(says, "nothing was imported")
        assert not (c.dir / "state").exists()
    for endless in ("/dev/zero", "/dev/urandom"):
        c.run(f"sluice state import {endless}").fails(f"{endless}: nothing was imported: line 1: a saved state begins with")
    c.run("sluice state import --edited -", stdin=whole.replace("job1", "job9")).ok()
    c.start_controller()
    assert c.job(2)["JobName"] == "job9"
    c.run(f"sluice state export {c.dir}/while").fails("in use by another controller", "stop it first")
    c.run(f"sluice state import {one}").fails("stop it first")
    assert not (c.dir / "while").exists()
    c.kill("slurmctld", signal.SIGTERM)


@pytest.mark.skipif(not ROOT, reason="needs two users")
def test_state_commands_are_for_slurmuser_only(filled):
    c = filled
    c.run("sluice state export", user="nobody").fails("for SlurmUser (root) and root only")
    c.run("sluice state import /dev/null", user="nobody").fails("for SlurmUser (root) and root only")
    wide = c.run(["sh", "-c", f"umask 022; sluice state export >{c.dir}/wide"])
    assert wide.returncode == 0 and "others may read this file" in wide.stderr


@pytest.mark.skipif(not ROOT, reason="needs two users")
def test_root_leaves_the_state_to_slurmuser(make_cluster):
    """After an import by root all files belong to the controller's user."""
    c = make_cluster(nodes=1, start=False)
    c.conf_file.write_text(c.conf_file.read_text().replace("SlurmUser=root", "SlurmUser=daemon"))
    for name in ("slurm.key",):
        os.chown(c.dir / name, 1, 1)
    for name in ("", "spool"):
        (c.dir / name).mkdir(exist_ok=True)
        os.chown(c.dir / name, 1, 1)
    c.start_controller()
    c.sbatch("-H", "-o", "/dev/null", wrap="true")
    c.kill("slurmctld", signal.SIGTERM)
    c.run(f"sluice state export {c.dir}/one").ok()
    assert {p.stat().st_uid for p in (c.dir / "state").iterdir()} == {1}
    (c.dir / "state").rename(c.dir / "was")
    c.run(f"sluice state import {c.dir}/one").ok()
    assert {p.stat().st_uid for p in [c.dir / "state", *(c.dir / "state").iterdir()]} == {1}
    c.start_controller()
    assert c.state(1) == "PENDING"
    c.kill("slurmctld", signal.SIGTERM)


def test_damaged_records_are_exported(filled):
    c, state, one, two = filled, State(filled), filled.dir / "one", filled.dir / "two"
    state.spoil(JOB, 2)
    c.run(f"sluice state export {one}").fails("1 records are damaged", "job 2", "start slurmctld once")
    assert not one.exists()
    c.start_controller()
    c.kill("slurmctld", signal.SIGTERM)
    c.run(f"sluice state export {one}").ok()
    assert [line["aside"]["number"] for line in lines(one) if "aside" in line] == [2]
    (c.dir / "state").rename(c.dir / "was")
    c.run(f"sluice state import {one}").ok()
    c.run(f"sluice state export {two}").ok()
    assert one.read_bytes() == two.read_bytes()
    assert [row[:2] for row in state.aside()] == [(JOB, 2)]
    assert state.get(NODE, "n2") and state.get(PART, "main")
