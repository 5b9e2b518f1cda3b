# SPDX-License-Identifier: GPL-3.0-or-later
"""PrivateData: the data that ordinary users see of others, and that all their own commands still work. CORE-071, X-43."""
import json

import pytest

from harness import ROOT, eventually

pytestmark = pytest.mark.skipif(not ROOT, reason="becomes other users")


def submit(c, *options, user=None):
    return c.sbatch("-D", "/", "-o", "/dev/null", *options, wrap="sleep 1000", user=user)


def runs(c, job):
    eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")


def lines(c, command, user="nobody"):
    return c.run(command, user=user).ok().split()


def test_private_jobs_are_hidden(make_cluster):
    """CORE-071."""
    c = make_cluster(nodes=1, cpus=2, conf="PrivateData=jobs\nPriorityType=priority/multifactor\n")
    ours, theirs = submit(c, "-n1"), submit(c, "-n1", user="nobody")
    runs(c, ours)
    runs(c, theirs)
    ours_waits, theirs_waits = submit(c, "-n1"), submit(c, "-n1", user="nobody")
    eventually(lambda: c.job(theirs_waits).get("Reason") in ("Resources", "Priority"), "it waits")
    everybodys = {str(ours), str(theirs), str(ours_waits), str(theirs_waits)}
    nobodys = {str(theirs), str(theirs_waits)}
    assert set(lines(c, "squeue -h -o %i", user=None)) == everybodys
    assert set(lines(c, "squeue -h -o %i")) == nobodys
    assert lines(c, "squeue -h -s -o %i") == [f"{theirs}.batch"]
    assert {j["job_id"] for j in json.loads(c.run("squeue --json", user="nobody").ok())["jobs"]} == {theirs, theirs_waits}
    assert lines(c, "sprio -h -o %i") == [str(theirs_waits)]
    c.run(f"scontrol show job {ours}", user="nobody").fails("Invalid job id specified")
    c.run(f"squeue -j {ours}", user="nobody").fails("Invalid job id specified")
    assert f"JobId={theirs}" in c.run(f"scontrol show job {theirs}", user="nobody").ok()
    assert "not found running" in c.run(f"sstat -j {ours}.batch", user="nobody").stderr
    # Why it waits, without saying who else has what.
    c.run(f"sluice why {ours_waits}", user="nobody").fails("Invalid job id specified")
    why = json.loads(c.run(f"sluice why {theirs_waits} --json", user="nobody").ok())["why"][0]
    named = {h["job_id"] for g in why["nodes"] for h in g["jobs"]} | {a["job_id"] for a in why["ahead"]}
    assert named <= {theirs}
    told = json.loads(c.run(f"sluice why {theirs_waits} --json").ok())["why"][0]
    assert ours in {h["job_id"] for g in told["nodes"] for h in g["jobs"]}
    # Nor which processes are whose.
    def listed(user):
        return {line.split()[1] for line in c.run("scontrol listpids", user=user).stdout.splitlines()[1:]}

    eventually(lambda: listed(None) == {str(ours), str(theirs)}, "processes of both")  # RUNNING is a little earlier
    assert listed("nobody") == {str(theirs)}
    c.run(f"scontrol listpids {ours}", user="nobody").fails(f"There are no steps for job {ours} on ")
    pid = next(line.split()[0] for line in c.run("scontrol listpids").ok().splitlines() if line.split()[1] == str(ours))
    c.run(f"scontrol pidinfo {pid}", user="nobody").fails("Failed to locate job for requested pid")
    assert f"JobId={ours}" in c.run(f"scontrol pidinfo {pid}").ok()
    # Lines of jobs on a node: everybody's processes are there, the jobs of others are not.
    eventually(lambda: str(ours) in c.run("sluice usage").ok().split(), "its line")
    jobs = {line.split()[2] for line in c.run("sluice usage", user="nobody").ok().splitlines()[1:-1]}
    assert str(ours) not in jobs and {"-"} < jobs
    # What he does with his own is as ever.
    c.run(f"scancel {theirs} {theirs_waits}", user="nobody").ok()
    assert "Invalid job id specified" in c.run(f"scancel {ours}", user="nobody").stderr
    assert c.state(ours) == "RUNNING"
    # Nothing tells a job of others from one that does not exist.
    for line in ("scontrol update JobId={} Name=x", "scontrol hold {}", "scontrol requeue {}", "sbatch -d afterany:{} -D / --wrap true",
                 "srun --jobid={} -D / true", "scontrol write batch_script {} -", "scontrol notify {} x", "scancel {}"):
        one, none = (c.run(line.format(job), user="nobody") for job in (ours, 999))
        assert one.stderr and (one.returncode, one.stderr.replace(str(ours), "N")) == (none.returncode, none.stderr.replace("999", "N")), line
    # Each refusal has one line of the log.
    before = (c.dir / "slurmctld.log").read_text().count(f" job {ours} of uid ")
    c.run(f"scancel {ours}", user="nobody")
    assert (c.dir / "slurmctld.log").read_text().count(f" job {ours} of uid ") == before + 1


def test_private_nodes_and_partitions_are_hidden(make_cluster):
    c = make_cluster(nodes=2, conf="PrivateData=nodes,partitions\n")
    denied = "Access/permission denied"
    for command in ("sinfo", "scontrol show node", "scontrol show node n1", "scontrol show partition", "sluice usage"):
        c.run(command, user="nobody").fails(denied)
    c.run("sinfo").ok()
    job = submit(c, "-w", "n2", user="nobody")
    runs(c, job)
    assert c.run("srun -D / hostname", user="nobody").ok()
    c.settle()
    assert lines(c, "squeue -h -o %N") == ["n2"]
    assert lines(c, "squeue -h -w n2 -o %i") == [str(job)]
    assert lines(c, "squeue -h -P -o %i") == [str(job)]
    c.run(f"scancel {job}", user="nobody").ok()
    # And back, while all of it runs.
    conf = c.dir / "slurm.conf"
    conf.write_text(conf.read_text().replace("PrivateData=nodes,partitions", "PrivateData=usage"))
    c.run("scontrol reconfigure").ok()
    assert lines(c, "sinfo -h -N -o %N") == ["n1", "n2"]


def test_private_reservations_are_hidden(make_cluster):
    c = make_cluster(nodes=4, conf="PrivateData=reservations\n")
    when = "StartTime=now Duration=60"
    for name, node, whose in (("mine", 1, "Users=nobody"), ("others", 2, "Users=daemon"), ("not", 3, "Users=-nobody"),
                              ("group", 4, "Groups=nogroup")):
        c.run(f"scontrol create reservation ReservationName={name} {when} Nodes=n{node} {whose}").ok()
    assert lines(c, "sinfo -h -T", user=None)[::6] == ["mine", "others", "not", "group"]
    assert lines(c, "sinfo -h -T")[::6] == ["mine", "group"]
    c.run("scontrol show reservation others", user="nobody").finds_none("Reservation others not found")
    assert "ReservationName=mine " in c.run("scontrol show reservation mine", user="nobody").ok()
    assert "ReservationName" not in c.run("scontrol show node n2", user="nobody").ok()
    assert "ReservationName=others" in c.run("scontrol show node n2").ok()
    job = submit(c, "--reservation=mine", "-t1", user="nobody")
    runs(c, job)
    c.run(f"scancel {job}", user="nobody").ok()
    for name in ("others", "absent"):  # without a hint that one of them exists
        c.run(["sbatch", f"--reservation={name}", "--wrap", "true"], user="nobody").fails(f"failed: Requested reservation is invalid: {name}\n")
        c.run(["sbatch", "--test-only", f"--reservation={name}", "--wrap", "true"], user="nobody").fails(f"Requested reservation is invalid: {name}\n")
    c.run(["sbatch", "--reservation=not", "--uid=nobody", "--wrap", "true"]).fails("Access denied to requested reservation: not\n")
    waits = submit(c, "-w", "n2", "-t1", user="nobody")
    c.run(f"scontrol update jobid={waits} reservation=others", user="nobody").fails("Requested reservation is invalid: others")
    c.run(f"scontrol update jobid={waits} reservation=others").fails("Access denied to requested reservation: others")
    eventually(lambda: c.job(waits)["Reason"] != "None", "it waits")
    assert "Reservation others: node n2" in c.run(f"sluice why {waits}").ok()
    assert "Reservation" not in c.run(f"sluice why {waits}", user="nobody").ok()
    c.run(f"scancel {waits}").ok()
