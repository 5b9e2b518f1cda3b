# SPDX-License-Identifier: GPL-3.0-or-later
"""scontrol reboot and cancel_reboot, RebootProgram, ResumeTimeout (the manuals of scontrol, slurm.conf, sinfo and slurmd)."""
import pathlib
import signal

import pytest

from harness import PREFIX, eventually


def shown(c, node):
    return c.run(f"sinfo -h -N -n {node} -o %T").ok()


@pytest.fixture
def site(make_cluster):
    """Its RebootProgram leaves a file in place of the reboot."""
    c = make_cluster(nodes=2, start=False)
    program = c.dir / "reboot"
    program.write_text(f"#!/bin/sh\necho $SLURMD_NODENAME >>{c.dir}/rebooted\n")
    program.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"RebootProgram={program}\nResumeTimeout=600\n")
    c.start()
    return c


def come_back(c, node):
    """As the daemon of a machine that has started anew."""
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
