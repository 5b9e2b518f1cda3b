# SPDX-License-Identifier: GPL-3.0-or-later
"""What scontrol does besides showing: short names of things, requeuing into a hold, the detail of the log."""
from harness import ROOT, eventually

import pytest


def test_short_names_of_things(cluster):
    cluster.run("scontrol update node=n4 state=drain reason=test").ok()
    assert "DRAIN" in cluster.node("n4")["State"]
    cluster.run("scontrol update node=n4 state=resume").ok()
    assert cluster.node("n4")["State"] == "IDLE"
    cluster.run("scontrol update node=n99 state=resume").fails("Invalid node name specified")
    cluster.run("scontrol update no=n4 state=resume").fails("No valid entity in update command")


def test_requeue_and_hold(cluster):
    job = cluster.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(job) == "RUNNING", "the job runs")
    cluster.run(f"scontrol requeuehold State=SpecialExit {job}").fails("State=SpecialExit is not available")
    cluster.run(f"scontrol requeuehold {job}").ok()
    eventually(lambda: cluster.state(job) == "PENDING", "the job is back in the queue")
    fields = cluster.job(job)
    assert fields["Restarts"] == "1" and fields["Reason"].startswith("JobHeld") and fields["Priority"] == "0"
    cluster.run(f"scontrol requeuehold {job}").fails("Job is pending execution for job")
    cluster.run(f"scontrol requeue Incomplete {job}").ok()
    cluster.run("scontrol requeuehold 999999").fails("Invalid job id specified for job 999999")
    cluster.run(f"scancel {job}").ok()


def shown_level(cluster):
    return cluster.run("scontrol show config SlurmctldDebug").ok().split("=")[1].strip()


def test_detail_of_the_log(make_cluster):
    cluster = make_cluster(nodes=1)
    before = shown_level(cluster)
    cluster.run("scontrol setdebug error").ok()
    assert shown_level(cluster) == "error"
    if ROOT:
        cluster.run("scontrol setdebug debug", user="nobody").fails("Access/permission denied")
    cluster.run("scontrol setdebug 44").fails("invalid debug level: 44")
    assert shown_level(cluster) == "error"
    cluster.run("scontrol reconfigure").ok()
    assert shown_level(cluster) == before != "error"


@pytest.mark.parametrize("line", ["notify 1 hello", "setdebugflags +backfill"])
def test_what_is_not_there_is_refused(cluster, line):
    cluster.run(f"scontrol {line}").fails(f"{line.split()[0]} is not available in this version")
