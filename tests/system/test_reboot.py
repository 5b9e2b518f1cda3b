# SPDX-License-Identifier: GPL-3.0-or-later
"""scontrol reboot and cancel_reboot, --reboot, RebootProgram, ResumeTimeout (the manuals of scontrol, slurm.conf, sinfo, srun and slurmd)."""
import pathlib
import signal

import pytest

from harness import PREFIX, eventually


def shown(c, node):
    return c.run(f"sinfo -h -N -n {node} -o %T").ok()


@pytest.fixture
def site(make_cluster):
    """The RebootProgram creates a file instead of rebooting."""
    c = make_cluster(nodes=2, start=False)
    program = c.dir / "reboot"
    program.write_text(f"#!/bin/sh\necho $SLURMD_NODENAME >>{c.dir}/rebooted\n")
    program.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"RebootProgram={program}\nResumeTimeout=600\n")
    c.start()
    return c


def come_back(c, node):
    """Starts the daemon as after a reboot of its machine."""
    c.kill(node, signal.SIGTERM)
    c.spawn(node, [PREFIX / "sbin/slurmd", "-D", "-b", "-N", node])


def test_a_node_reboots_when_its_job_has_ended(site):
    c = site
    go = c.work / "go"
    job = c.sbatch("-w", "n1", "-o", "/dev/null", wrap=f"while [ ! -e {go} ]; do sleep 0.02; done")
    c.wait_script(job)
    c.run("scontrol reboot ASAP nextstate=RESUME reason=kernel n1").ok()
    node = c.node("n1")
    assert node["State"].split("+")[1:] == ["DRAIN", "REBOOT_REQUESTED"] and node["NextState"] == "RESUME" and node["Reason"].startswith("kernel [root@")
    assert shown(c, "n1") == "draining@" and c.run("sinfo -h -t reboot_requested -o %N").ok() == "n1"
    waits = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="true")
    assert not (c.dir / "rebooted").exists()
    go.touch()
    eventually(lambda: (c.dir / "rebooted").exists() and (c.dir / "rebooted").read_text() == "n1\n", "RebootProgram runs on n1")
    assert c.state(waits) == "PENDING"
    assert shown(c, "n1") == "drained^" and "kernel : reboot issued" in c.node("n1")["Reason"]
    node = next(n for n in c.json("scontrol show node n1")["nodes"] if n["name"] == "n1")
    assert {"REBOOT_ISSUED", "DRAIN"} <= set(node["state"]) and node["next_state_after_reboot"] == ["RESUME"]
    c.kill("slurmctld")  # a controller that starts anew knows of it
    c.start_controller()
    assert "^" in shown(c, "n1")
    come_back(c, "n1")
    eventually(lambda: "DRAIN" not in c.node("n1")["State"], "n1 is back")
    assert "Reason" not in c.node("n1") and "NextState" not in c.node("n1")
    assert c.wait(waits)["JobState"] == "COMPLETED"


def test_a_daemon_that_reports_a_reboot_loses_its_jobs(site):
    """slurmd -b: a job from before is ended, and queued again."""
    c = site
    job = c.sbatch("-w", "n2", "--requeue", "-o", "/dev/null", wrap=f"touch {c.work}/up; exec sleep 1000")
    eventually((c.work / "up").exists, "the script runs")
    come_back(c, "n2")
    eventually(lambda: c.job(job)["Restarts"] == "1", "the job is queued again")
    c.run(f"scancel {job}").ok()


def test_requests_are_cancelled_and_refused(site):
    c = site
    job = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="exec sleep 1000")
    c.wait_script(job)
    c.run("scontrol reboot ASAP n1").ok()
    assert c.node("n1")["Reason"].startswith("Reboot ASAP [")
    c.run("scontrol cancel_reboot n1").ok()
    assert c.node("n1")["State"] == "MIXED" and "Reason" not in c.node("n1")
    c.run("scontrol reboot n1").ok()
    assert shown(c, "n1") == "mixed@" and c.node("n1")["Reason"].startswith("reboot requested [")
    c.run("scontrol update NodeName=n1 State=CANCEL_REBOOT").ok()
    assert shown(c, "n1") == "mixed"
    c.run("scontrol cancel_reboot n1").fails("no reboot of n1 is pending")
    for words, text in {"n9": "Invalid node name", "ASAP": "Missing node list", "nextstate=UP n1": "it is RESUME or DOWN",
                        "action=x n1": "PowerAction", "SOON n1": "Invalid option for reboot: SOON"}.items():
        c.run(f"scontrol reboot {words}").fails(text)
    c.run("scontrol reboot n1", user="nobody").fails("Access/permission denied") if pathlib.Path("/proc/self").owner() == "root" else None
    assert not (c.dir / "rebooted").exists()
    c.run(f"scancel {job}").ok()


def rebooted(c):
    return sorted((c.dir / "rebooted").read_text().split()) if (c.dir / "rebooted").exists() else []


def test_a_job_with_reboot_begins_when_its_nodes_are_back(site):
    c = site
    job = c.sbatch("-N2", "--reboot", "-o", "/dev/null", wrap=f"touch {c.work}/begun")
    eventually(lambda: rebooted(c) == ["n1", "n2"], "RebootProgram runs on both nodes")
    shown_job = c.job(job)
    assert (shown_job["JobState"], shown_job["Reboot"]) == ("CONFIGURING", "1")
    assert c.run(f"squeue -h -j {job} -o %t").ok() == "CF" and c.run(f"squeue -h -j {job} -O Reboot").ok().strip() == "1"
    assert c.json(f"scontrol show job {job}")["jobs"][0]["reboot"] is True
    assert shown(c, "n1") == "allocated^"
    come_back(c, "n1")
    eventually(lambda: shown(c, "n1") == "allocated", "n1 is back")
    assert c.state(job) == "CONFIGURING" and not (c.work / "begun").exists()
    come_back(c, "n2")
    done = c.wait(job)
    assert (done["JobState"], done["Restarts"]) == ("COMPLETED", "0") and (c.work / "begun").exists()
    assert rebooted(c) == ["n1", "n2"] and "Reason" not in c.node("n1")


@pytest.mark.parametrize("command", ["srun", "salloc -Q"])
def test_a_command_with_reboot_waits_for_its_node(site, command):
    c = site
    process = c.popen([*command.split(), "-w", "n1", "--reboot", "printenv", "SLURM_JOB_NODELIST"])
    eventually(lambda: rebooted(c) == ["n1"], "RebootProgram runs")
    assert process.poll() is None
    come_back(c, "n1")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and out.strip() == "n1", err


def test_a_node_that_does_not_come_back_requeues_the_job(site):
    c = site
    c.conf_file.write_text(c.conf_file.read_text().replace("ResumeTimeout=600", "ResumeTimeout=1"))
    c.run("scontrol reconfigure").ok()
    job = c.sbatch("-w", "n1", "--reboot", "--requeue", "-o", "/dev/null", wrap="true")
    once = c.sbatch("-w", "n2", "--reboot", "--no-requeue", "-o", "/dev/null", wrap="true")
    eventually(lambda: c.job(job)["Restarts"] == "1", "the job is queued again")
    assert "node n1" in c.tail("slurmctld") and "reboot timed out" in (c.dir / "slurmctld.log").read_text()
    assert c.wait(once)["JobState"] == "BOOT_FAIL"
    c.run(f"scancel {job}").ok()


def test_reboot_is_refused_without_a_program_and_to_users(site):
    c = site
    for command in ("sbatch --reboot --wrap true", "srun --reboot true", "salloc --reboot true"):
        if pathlib.Path("/proc/self").owner() == "root":
            c.run(command, user="nobody").fails("only administrators may reboot the nodes of a job")
    held = c.sbatch("-H", "-o", "/dev/null", wrap="true")
    c.run(f"scontrol update JobId={held} Reboot=yes").ok()
    assert c.job(held)["Reboot"] == "1"
    c.run(f"scontrol update JobId={held} Reboot=no").ok()
    assert c.job(held)["Reboot"] == "0"
    c.conf_file.write_text("".join(line for line in c.conf_file.read_text().splitlines(True) if "RebootProgram" not in line))
    c.run("scontrol reconfigure").ok()
    for command in ("sbatch --reboot --wrap true", "srun --reboot true", f"scontrol update JobId={held} Reboot=yes"):
        c.run(command).fails("RebootProgram is not set in slurm.conf")
    c.run(f"scancel {held}").ok()
