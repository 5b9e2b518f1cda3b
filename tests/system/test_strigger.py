# SPDX-License-Identifier: GPL-3.0-or-later
"""strigger (X-19): programs receive events, as their users, once; kill -9 and a takeover lose no trigger."""
import os
import re

import pytest

from harness import ROOT, eventually
from test_takeover import Pair

as_root = pytest.mark.skipif(not ROOT, reason="becomes other users")


def program(c, name, more=""):
    """Creates a script that stores its user and its arguments; returns its path."""
    path = c.work / name
    path.write_text(f"#!/bin/sh\n{more}\necho \"{name} $(id -un) $*\" >>{c.work}/told\n")
    path.chmod(0o755)
    if not (c.work / "told").exists():
        (c.work / "told").touch()
        (c.work / "told").chmod(0o666)
    return path


def told(c, name):
    """Returns the arguments that the programs of that name received, in order."""
    lines = (c.work / "told").read_text().splitlines()
    return [line.split(" ", 2)[2] for line in lines if line.startswith(name + " ")]


def hears(c, name, *expected):
    eventually(lambda: told(c, name) == list(expected), lambda: f"{expected}, not {told(c, name)}\n{c.tail('slurmctld')}")


def strigger(c, line, **more):
    return c.run(f"strigger {line}", **more)


def listed(c, line="", **more):
    return [row.replace(" PERM ", " ", 1).split(None, 6) for row in strigger(c, f"--get -N {line}", **more).ok().splitlines()]


def gone(c):
    eventually(lambda: listed(c) == [], lambda: f"no trigger left: {listed(c)}")


def test_the_list_has_the_columns_of_the_page(cluster):
    c = cluster
    for line in ("--node=n[1-2] --down -o 30 -p /bin/true", "--set --up"):
        strigger(c, line).fails("strigger: error: ")
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    strigger(c, f"--set --jobid={job} --time --offset=-600 --program=/home/clean_up").ok()
    strigger(c, "--set -nn[1-2] -d -u -p /bin/true -o 30").ok()
    said = c.run(["strigger", "--set", "-v", "--reconfig", "--flags=PERM", "-p", "/bin/true -x y"])
    assert re.search("trigger [0-9]+ set", said.stderr) and said.stdout == ""
    user = c.run("id -un").ok()
    lines = strigger(c, "--get").ok().splitlines()
    assert lines[0].split() == "TRIG_ID RES_TYPE RES_ID TYPE OFFSET USER FLAGS PROGRAM".split()
    ids = [line.split()[0] for line in lines[1:]]
    assert [line[78:83] for line in lines] == ["FLAGS", " " * 5, " " * 5, "PERM "]
    assert [line.replace(" PERM ", " ").split(None, 6)[1:] for line in lines[1:]] == [
        ["job", str(job), "time", "-600", user, "/home/clean_up"],
        ["node", "n[1-2]", "up,down", "30", user, "/bin/true"],
        ["node", "*", "reconfig", "0", user, "/bin/true -x y"]]
    assert lines[0] == "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM"
    assert [row[0] for row in listed(c, f"--jobid={job}")] == ids[:1]
    assert [row[0] for row in listed(c, f"--id={ids[1]}")] == ids[1:2]
    assert [row[0] for row in listed(c, "--down")] == ids[1:2]
    assert [row[0] for row in listed(c, "-nn3")] == ids[2:]
    assert [row[0] for row in listed(c, "--node")] == [row[0] for row in listed(c, "-n")] == ids[1:]
    assert listed(c, f"--user={user} --id=999999") == []
    strigger(c, "--set -nn[1-2] -d -u -p /bin/true -o 30").fails("Duplicate event trigger")
    strigger(c, "--set -nn[1-2] -d -u -p /bin/true -o 30 -Q").ok()
    strigger(c, "--set --fini --jobid=999999 -p /bin/true").fails("Invalid job id specified")
    strigger(c, "--set --down -nn9 -p /bin/true").fails("n9")
    strigger(c, f"--clear --jobid={job}").ok()
    strigger(c, f"--clear --jobid={job}").fails("No such event trigger")
    strigger(c, f"--clear --jobid={job} --quiet").ok()
    strigger(c, f"--clear --user={user}").ok()
    assert listed(c) == []
    assert strigger(c, "--get").ok().split() == "TRIG_ID RES_TYPE RES_ID TYPE OFFSET USER FLAGS PROGRAM".split()
    c.run(f"scancel {job}").ok()
    c.wait(job)


def test_elements_of_job_arrays(cluster):
    """Messages name an element as the request does, also an element whose job id is that of the array."""
    c = cluster
    array = c.sbatch("-H", "-o", "/dev/null", "-a", "1-2", wrap="true")
    sets = c.sbatch("-H", "-o", "/dev/null", "-a", "4", "-n1", ":", "-n1", wrap="true")
    for asked, shown in ((f"{array}_1", f"{array}_1"), (f"{array}_2", f"{array}_2"), (array, str(array)),
                         (f"{sets}_4", f"{sets}_4"), (f"{sets}_4+0", f"{sets}_4+0"), (f"{sets}_4+1", str(sets + 1))):
        end = program(c, f"end{asked}")
        strigger(c, f"--set --fini --jobid={asked} -p {end}").ok()
        assert [row[2] for row in listed(c, f"--jobid={asked}")] == [shown]
        assert end.name in listed(c, f"--jobid={asked}")[0][-1]
    strigger(c, f"--set --fini --jobid={sets}_4+0 -p {c.work}/end{sets}_4+0").fails("Duplicate event trigger")
    for asked in f"{sets}_4", f"{sets}_4+0", f"{sets}_4+1":
        strigger(c, f"--clear --jobid={asked}").ok()
    strigger(c, f"--set --fini --jobid={array}_3 -p /bin/true").fails(f"Invalid job id specified: {array}_3")
    strigger(c, f"--set --fini --jobid={array}_[1-2] -p /bin/true").fails(f"name one element of the job array, or all of it: {array}")
    c.run(f"scontrol release {array}_2").ok()
    hears(c, f"end{array}_2", f"{array}_2")
    assert told(c, f"end{array}_1") == told(c, f"end{array}") == []
    c.run(f"scancel {array} {sets}").ok()
    strigger(c, f"--set --fini --jobid={sets}_4+1 -p /bin/true").fails(f"Job/step already completing or completed: {sets}_4+1")
    hears(c, f"end{array}_1", f"{array}_1")
    hears(c, f"end{array}", str(array))
    gone(c)


def test_events_that_cannot_occur_cause_a_warning(cluster):
    c = cluster
    for option, what in (("-g", "slurmdbd"), ("-G", "slurmdbd"), ("-h", "database"), ("-H", "database"),
                         ("-e", "accounting storage"), ("--burst_buffer", "burst_buffer"), ("--front_end --down", "front_end")):
        said = strigger(c, f"--set {option} -p /bin/true")
        assert said.ok() == "" and f"nothing will ever raise it: there is no {what} here" in said.stderr, said.stderr
    assert {row[1] for row in listed(c)} == {"slurmdbd", "database", "slurmctld", "burst_buffer", "front_end"}
    for row in listed(c):
        strigger(c, f"--clear --id={row[0]}").ok()


def test_node_triggers_run_their_program(cluster):
    c = cluster
    down, up = program(c, "down"), program(c, "up")
    strigger(c, f"--set --down --program={down}").ok()
    c.run(["strigger", "--set", "--up", "--node=n2", "-p", f"{up} a b"]).ok()
    c.run("scontrol update NodeName=n[1-2] State=DOWN Reason=x").ok()
    hears(c, "down", "n[1-2]")
    c.run("scontrol update NodeName=n[1-2] State=RESUME").ok()
    hears(c, "up", "a b n2")
    gone(c)
    job = c.sbatch("-o", "/dev/null", "-w", "n3", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "it runs")
    drained, idle = program(c, "drained"), program(c, "idle")
    strigger(c, f"--set --drained -nn3 -p {drained}").ok()
    draining, resume = program(c, "draining"), program(c, "resume")
    strigger(c, f"--set --draining -nn3 -p {draining}").ok()
    strigger(c, f"--set --resume -nn3 -p {resume}").ok()
    strigger(c, f"--set --idle --offset=1 -nn3 -p {idle}").ok()
    c.run("scontrol update NodeName=n3 State=DRAIN Reason=x").ok()
    hears(c, "draining", "n3")
    assert told(c, "resume") == []
    c.run(f"scancel {job}").ok()
    hears(c, "drained", "n3")  # and not before: the job was there
    assert told(c, "idle") == []
    c.run("scontrol update NodeName=n3 State=RESUME").ok()
    hears(c, "idle", "n3")
    hears(c, "resume", "n3")
    fail = program(c, "fail")
    strigger(c, f"--set --fail -p {fail}").ok()
    c.run("scontrol update NodeName=n4 State=FAIL Reason=x").ok()
    hears(c, "fail", "n4")
    c.run("scontrol update NodeName=n4 State=RESUME").ok()
    reconfig = program(c, "reconfig")
    strigger(c, f"--set --reconfig -p {reconfig}").ok()
    c.run("scontrol reconfigure").ok()
    hears(c, "reconfig", "reconfig")
    gone(c)


def test_job_triggers_run_their_program(cluster):
    c = cluster
    fini, time, soon = program(c, "fini"), program(c, "time"), program(c, "soon")
    job = c.sbatch("-o", "/dev/null", "-t", "10", wrap="sleep 1000")
    strigger(c, f"--set --jobid={job} --fini -p {fini}").ok()
    strigger(c, f"--set --jobid={job} --time --offset=-599 -p {soon}").ok()
    strigger(c, f"--set --jobid={job} --time -p {time}").ok()
    hears(c, "soon", str(job))
    assert told(c, "fini") == told(c, "time") == []
    c.run(f"scancel {job}").ok()
    hears(c, "fini", str(job))
    gone(c)  # its limit is reached no more
    strigger(c, f"--set --jobid={job} --fini -p {fini}").fails("Job/step already completing or completed")
    late = c.sbatch("-o", "/dev/null", "-t", "0:01", wrap="sleep 1000")
    strigger(c, f"--set --jobid={late} --time -p {time}").ok()
    hears(c, "time", str(late))
    c.wait(late)


def test_a_killed_controller_loses_no_trigger(make_cluster):
    c = make_cluster(nodes=2)
    os.mkfifo(c.work / "never")
    down = program(c, "down", f"[ -e {c.work}/go ] || {{ : >{c.work}/begun; read x <{c.work}/never; }}")
    fini, start = program(c, "fini"), program(c, "start")
    job = c.sbatch("-o", "/dev/null", "-w", "n2", wrap="sleep 1000")
    strigger(c, f"--set --down -p {down}").ok()
    strigger(c, f"--set --fini --jobid={job} -p {fini}").ok()
    strigger(c, f"--set --primary_slurmctld_resumed_operation -p {start}").ok()
    rows = listed(c)
    assert len(rows) == 3
    c.kill("slurmctld")
    c.start_controller()
    hears(c, "start", "primary_slurmctld_resumed_operation")
    assert listed(c) == rows[:2]
    c.run("scontrol update NodeName=n1 State=DOWN Reason=x").ok()
    eventually((c.work / "begun").exists, "it runs, and has seen that it has to wait")
    c.kill("slurmctld")  # while it runs
    assert told(c, "down") == []
    (c.work / "go").touch()
    c.start_controller()
    hears(c, "down", "n1")
    c.run(f"scancel {job}").ok()
    hears(c, "fini", str(job))
    gone(c)
    for row in rows[:2]:  # else its program is rightly run again
        eventually(lambda: f"trigger {row[0]}: its program has ended" in (c.dir / "slurmctld.log").read_text(), "its end is known")
    c.run("scontrol update NodeName=n1 Reason=y").ok()  # and on disk, before this
    c.kill("slurmctld")
    c.start_controller()
    c.run(f"strigger --set --down -p {down}").ok()
    assert int(listed(c)[0][0]) > int(rows[-1][0])
    assert told(c, "down") == ["n1"] and told(c, "fini") == [str(job)]


def test_backup_runs_the_triggers(make_cluster):
    p = Pair(make_cluster, nodes=1)
    c = p.c
    for option in ("primary_slurmctld_failure", "backup_slurmctld_assumed_control", "primary_slurmctld_resumed_control",
                   "primary_slurmctld_resumed_operation", "backup_slurmctld_failure", "backup_slurmctld_resumed_operation"):
        strigger(c, f"--set --{option} -p {program(c, option)}").ok()
    strigger(c, f"--set --down -p {program(c, 'down')}").ok()
    c.kill("slurmctld")
    p.leads("backup")
    for option in ("primary_slurmctld_failure", "backup_slurmctld_assumed_control"):
        hears(c, option, option)
    c.run("scontrol update NodeName=n1 State=DOWN Reason=x").ok()
    hears(c, "down", "n1")
    p.start_primary()
    p.leads("localhost")
    for option in ("primary_slurmctld_resumed_control", "primary_slurmctld_resumed_operation"):
        hears(c, option, option)
    c.kill(p.backup)
    hears(c, "backup_slurmctld_failure", "backup_slurmctld_failure")
    p.start_backup()
    hears(c, "backup_slurmctld_resumed_operation", "backup_slurmctld_resumed_operation")
    gone(c)
    c.run("scontrol update NodeName=n1 State=RESUME").ok()


@as_root
def test_users_set_triggers_for_own_jobs(make_cluster):
    c = make_cluster(nodes=1)
    fini = program(c, "fini", "id -G >>" + str(c.work / "groups") + "; env >" + str(c.work / "env"))
    ours = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    theirs = c.sbatch("-o", "/dev/null", wrap="sleep 1000", user="nobody")
    mine = f"--set --fini --jobid={theirs} -p {fini}"
    strigger(c, mine, user="nobody").fails("Access/permission denied")
    with c.conf_file.open("a") as f:
        f.write("SlurmctldParameters=allow_user_triggers\n")
    c.run("scontrol reconfigure").ok()
    strigger(c, mine, user="nobody").ok()
    strigger(c, f"--set --fini --jobid={ours} -p {fini}", user="nobody").fails("Access/permission denied")
    strigger(c, f"--set --down -p {fini}").ok()
    rows = {row[5]: row[0] for row in listed(c, user="nobody")}
    assert set(rows) == {"nobody", "root"}
    strigger(c, f"--clear --id={rows['root']}", user="nobody").fails("Access/permission denied")
    strigger(c, "--clear --user=root", user="nobody").fails("Access/permission denied")
    strigger(c, f"--clear --id={rows['nobody']}", user="daemon").fails("Access/permission denied")
    (c.work / "groups").touch()
    (c.work / "groups").chmod(0o666)
    c.run(f"scancel {theirs}").ok()
    hears(c, "fini", str(theirs))
    assert f"fini nobody {theirs}\n" in (c.work / "told").read_text()
    assert (c.work / "groups").read_text().split() == c.run("id -G", user="nobody").ok().split()  # none of root's
    env = dict(line.split("=", 1) for line in (c.work / "env").read_text().splitlines())
    assert env["USER"] == "nobody" and env["SLURM_CONF"] == str(c.conf_file) and "SLURM_JOB_ID" not in env
    strigger(c, f"--clear --id={rows['root']}").ok()

    hidden = c.work / "hidden"  # root could reach it, its user can not
    hidden.mkdir(mode=0o700)
    (hidden / "x").symlink_to("/bin/true")
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000", user="nobody")
    strigger(c, f"--set --fini --jobid={job} -p {hidden}/x", user="nobody").ok()
    c.run(f"scancel {job}").ok()
    eventually(lambda: f"{hidden}/x cannot be run: Permission denied" in (c.dir / "slurmctld.log").read_text(), "it is told")
    c.run(f"scancel {ours}").ok()


@as_root
def test_unprivileged_controller_runs_triggers_as_itself(make_cluster):
    p = Pair(make_cluster, nodes=1, user="daemon")
    c = p.c
    strigger(c, "--set --down -p /bin/true").fails("triggers are for SlurmUser alone")
    strigger(c, f"--set --down -p {program(c, 'down')}", user="daemon").ok()
    c.run("scontrol update NodeName=n1 State=DOWN Reason=x").ok()
    hears(c, "down", "n1")
    assert (c.work / "told").read_text() == "down daemon n1\n"
    c.run("scontrol update NodeName=n1 State=RESUME").ok()
