# SPDX-License-Identifier: GPL-3.0-or-later
"""A job that begins when all of its nodes are ready: --wait-all-nodes, sbatch_wait_nodes, salloc_wait_nodes."""
import pytest

from harness import eventually


@pytest.fixture
def gated(make_cluster):
    """Two nodes; the prolog of n2 creates c.dir/waits, and ends when c.dir/gate exists."""
    def make(parameters="", body="while [ ! -e {0}/gate ]; do sleep 0.05; done", nodes=2):
        c = make_cluster(nodes=nodes, start=False)
        prolog = c.dir / "prolog"
        prolog.write_text(f"#!/bin/sh\n[ $SLURMD_NODENAME = n2 ] || exit 0\n: >{c.dir}/waits\n" + body.format(c.dir) + "\n")
        prolog.chmod(0o755)
        c.conf_file.write_text(f"Prolog={prolog}\n{parameters}\n" + c.conf_file.read_text())
        c.start()
        return c
    return make


def is_configuring(c, job):
    eventually((c.dir / "waits").exists, "the prolog of n2")
    assert c.state(job) == "CONFIGURING" and c.run(f"squeue -h -j {job} -o %t").ok() == "CF"


def test_wait_all_nodes_delays_the_script(gated):
    c = gated()
    begun = c.work / "begun"
    job = c.sbatch("-N2", "--wait-all-nodes=1", "-o", "/dev/null", wrap=f"touch {begun}")
    is_configuring(c, job)
    assert not begun.exists()
    c.kill("slurmctld")  # who has said that he is ready says it again
    c.start_controller()
    c.wait_ready(("mix",))
    c.kill("n2")
    c.start_node("n2")
    assert c.state(job) == "CONFIGURING" and not begun.exists()
    (c.dir / "gate").touch()
    assert c.wait(job)["JobState"] == "COMPLETED" and begun.exists()


def test_script_begins_when_its_first_node_is_ready(gated):
    c = gated()
    for option in ([], ["--wait-all-nodes=0"]):
        assert c.wait(c.sbatch("-N2", *option, wrap="true"))["JobState"] == "COMPLETED"
    assert not (c.dir / "waits").exists()  # nothing was launched there
    c.run("sbatch -N2 --wait-all-nodes=2 --wrap true").fails("Invalid --wait-all-nodes specification: 2")


def test_batch_wait_all_nodes_is_the_default_of_a_site(gated):
    c = gated("SchedulerParameters=sbatch_wait_nodes,salloc_wait_nodes")
    job = c.sbatch("-N2", "-o", "/dev/null", wrap="true")
    is_configuring(c, job)
    c.run(f"scancel {job}").ok()
    (c.dir / "gate").touch()
    assert c.wait(job)["JobState"] == "CANCELLED"
    (c.dir / "gate").unlink()
    (c.dir / "waits").unlink()
    assert c.wait(c.sbatch("-N2", wrap="true", env={"SBATCH_WAIT_ALL_NODES": "0"}))["JobState"] == "COMPLETED"
    c.settle()
    shell = c.popen("salloc -N2 echo in it")
    said = shell.stderr.readline() + shell.stderr.readline()
    assert "Granted job allocation" in said and "Waiting for resource configuration" in said
    eventually((c.dir / "waits").exists, "the prolog of n2")
    (c.dir / "gate").touch()
    out, err = shell.communicate(timeout=60)
    assert out == "in it\n" and "Nodes n[1-2] are ready for job" in err


def test_failing_prolog_requeues_a_job_that_waits_for_nodes(gated):
    """It is drained, and the job is queued again and held; its script has not begun."""
    c = gated(body="exit 1")
    begun = c.work / "begun"
    job = c.sbatch("-N2", "--wait-all-nodes=1", "-o", "/dev/null", wrap=f"touch {begun}")
    eventually(lambda: c.job(job)["Reason"].startswith("launch") or "Held" in c.job(job)["Reason"], lambda: c.job(job)["Reason"])
    assert "DRAIN" in c.node("n2")["State"] and not begun.exists()
    c.run(f"scancel {job}").ok()
