# SPDX-License-Identifier: GPL-3.0-or-later
"""A running job gives nodes back (CORE-151): scontrol update NumNodes and NodeList."""
import re

import pytest

from harness import eventually

LONG = "srun -l -K0 sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME; exec sleep 1000'"


def held(c, job):
    fields = c.job(job)
    return fields["NodeList"], fields["NumNodes"], fields["NumCPUs"]


def running(c, *options, wrap="sleep 1000"):
    job = c.sbatch("-w", "n1,n2,n3", "--exclusive", *options, wrap=wrap)
    eventually(lambda: c.state(job) == "RUNNING", "it runs")
    return job


def tasks(c, job):
    """Each of its three tasks has said where it is."""
    out = c.work / f"slurm-{job}.out"
    eventually(lambda: out.exists() and len(out.read_text().splitlines()) == 3, "its tasks")


@pytest.mark.parametrize("change, left", [("NumNodes=2", "n[1-2]"), ("NodeList=n1,n3", "n[1,3]"), ("nodelist=n1", "n1"),
                                          ("ReqNodes=1", "n1")])
def test_nodes_are_given_back(cluster, change, left):
    """CORE-151."""
    c = cluster
    job = running(c)
    waits = c.sbatch("-w", "n2", "-o", "/dev/null", wrap="true")
    out = c.run(f"scontrol update JobId={job} {change}").ok()
    assert out == ("To reset Slurm environment variables, execute\n"
                   f"  For bash or sh shells:  . ./slurm_job_{job}_resize.sh\n"
                   f"  For csh shells:         source ./slurm_job_{job}_resize.csh")
    count = len(c.run(f"scontrol show hostnames {left}").ok().split())
    assert held(c, job) == (left, str(count), str(4 * count))
    said = c.run(["sh", "-c", f"SLURM_NTASKS=12; . ./slurm_job_{job}_resize.sh; "
                  "echo $SLURM_JOB_NODELIST $SLURM_NNODES $SLURM_JOB_CPUS_PER_NODE ${SLURM_NTASKS-none}"]).ok()
    assert said == f"{left} {count} {'4' if count == 1 else f'4(x{count})'} none"
    if "2" not in left or left == "n[1,3]":
        assert c.wait(waits)["JobState"] == "COMPLETED"
    assert c.state(job) == "RUNNING"
    c.run(f"scancel {job}").ok()
    c.wait(job)
    c.wait(waits)
    assert held(c, job)[0] == left


def test_tasks_on_released_nodes_end(cluster):
    """The tasks on a node that is given back end; those on other nodes continue, and new steps use the remaining nodes."""
    c = cluster
    job = running(c, "-n3", "--ntasks-per-node=1", wrap=f"{LONG}; echo status $?; "
                  f". {c.work}/slurm_job_$SLURM_JOB_ID'_resize.sh'; srun -n1 -N1 hostname >/dev/null; srun -N2 printenv SLURMD_NODENAME")
    tasks(c, job)
    c.run(f"scontrol update JobId={job} NumNodes=2").ok()
    eventually(lambda: "n3: task 2: " in c.output(job), "srun is told")
    assert c.node("n3")["State"].startswith("IDLE")
    c.run(f"scancel {job}.0").ok()
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert sorted(c.output(job).splitlines()[-2:]) == ["n1", "n2"]


def test_released_nodes_stay_released_after_a_crash(make_cluster):
    c = make_cluster(nodes=3)
    job = running(c, "-n3", "--ntasks-per-node=1", wrap=LONG)
    tasks(c, job)
    c.kill("n2")
    c.run(f"scontrol update JobId={job} NodeList=n1,n3").ok()
    c.kill("slurmctld")
    c.start_controller()
    assert held(c, job) == ("n[1,3]", "2", "8")
    # n2 does not know yet: nobody gets it before it has ended its part
    waits = c.sbatch("-w", "n2", "-o", "/dev/null", wrap="true")
    c.start_node("n2")
    assert c.wait(waits)["JobState"] == "COMPLETED"
    eventually(lambda: "n2: task 1: " in c.output(job), "its task there has ended")
    assert c.state(job) == "RUNNING"


def test_requeued_job_has_its_original_request(cluster):
    c = cluster
    job = running(c, "--requeue")
    c.run(f"scontrol update JobId={job} NumNodes=1").ok()
    c.run(f"scontrol requeue {job}").ok()
    eventually(lambda: held(c, job)[0] == "n[1-3]" and c.state(job) == "RUNNING", "it runs again")
    c.run(f"scancel {job}").ok()


@pytest.mark.parametrize("change, why", [
    ("NumNodes=4", "Node count specification invalid: a running job can have fewer nodes"),
    ("NumNodes=0", "Node count specification invalid: a running job can have fewer nodes"),
    ("NodeList=n2,n3", "the node that runs the job's script is kept"),
    ("NodeList=n1,n4", "Invalid node name specified: n4 is not a node of the running job"),
    ("NodeList=ghost", "Invalid node name specified: ghost is not a node of the running job"),
    ("NodeList=n[1-1000]", "Node count specification invalid: more nodes than the running job has"),
    ("NodeList=n[1-100000]", "Invalid node name specified: NodeList=n[1-100000]: host list: too many names"),
    ("NodeList=n[1-", "NodeList=n[1-: host list: bracket is not closed"), ("NodeList=", "Node count specification invalid: a running job keeps at least one node"),
])
def test_invalid_shrink_requests_are_refused(cluster, change, why):
    c = cluster
    job = running(c)
    try:
        c.run(f"scontrol update JobId={job} {change}").fails(why, f"for job {job}")
        assert held(c, job) == ("n[1-3]", "3", "12")
    finally:
        c.run(f"scancel {job}").ok()


def test_only_running_jobs_release_nodes(cluster, nobody):
    c = cluster
    job = c.sbatch("--hold", "-N1", "-o", "/dev/null", wrap="true")
    c.run(f"scontrol update JobId={job} NodeList=n1").fails("only a running job gives nodes back")
    assert c.run(f"scontrol update JobId={job} NumNodes=2").ok() == ""
    assert c.job(job)["NumNodes"] == "2-2"
    c.run(f"scancel {job}").ok()
    c.wait(job)
    c.run(f"scontrol update JobId={job} NodeList=n1").fails(f"for job {job}")
    other = running(c)
    c.run([*nobody, "scontrol", "update", f"JobId={other}", "NumNodes=1"]).fails("Access/permission denied")
    c.run(f"scancel {other}").ok()
    allocation = c.run(["salloc", "-Q", "-w", "n1,n2", "sh", "-c",
                        "scontrol update JobId=$SLURM_JOB_ID NodeList=n2 >/dev/null; . ./slurm_job_${SLURM_JOB_ID}_resize.sh; "
                        "srun printenv SLURMD_NODENAME"]).ok()
    assert re.fullmatch("n2", allocation)
