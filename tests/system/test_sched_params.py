# SPDX-License-Identifier: GPL-3.0-or-later
"""SchedulerParameters, as far as users see their effect: CORE-055."""
import pytest

from harness import Cluster, eventually, many


@pytest.fixture()
def cluster():
    with many(Cluster) as make:
        def new(parameters, **options):
            return make(nodes=1, conf=f"SchedulerParameters={parameters}\n" + options.pop("conf", ""), **options)
        yield new


def submit(c, *options):
    return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")


def waiting_head(c):
    """A running job that leaves room, and one that waits for all of the node."""
    job = submit(c, "-t5")
    eventually(lambda: c.state(job) == "RUNNING", "it runs")
    head = submit(c, "-t5", "--exclusive")
    eventually(lambda: c.job(head)["Reason"] == "Resources", "it waits")
    return head


def starts(c, job):
    eventually(lambda: c.state(job) == "RUNNING" or c.job(job)["Reason"] == "Priority", "it was looked at")
    return c.state(job) == "RUNNING"


@pytest.mark.parametrize("parameters,short,long", [
    ("defer", True, False),                    # as without
    ("bf_interval=-1", False, False),          # nothing overtakes
    ("bf_min_age_reserve=1000", True, True),   # who is too young keeps nothing
    ("bf_min_prio_reserve=4294967295", True, True),
    ("bf_window=1", True, True)])
def test_parameters_decide_which_jobs_overtake(cluster, parameters, short, long):
    """CORE-055."""
    c = cluster(parameters)
    waiting_head(c)
    assert starts(c, submit(c, "-t1")) == short
    assert starts(c, submit(c, "-t60")) == long


def test_bf_max_job_user_limits_examined_jobs(cluster):
    c = cluster("bf_max_job_user=1,bf_max_job_test=10")
    waiting_head(c)
    assert not starts(c, submit(c, "-t60"))
    assert not starts(c, submit(c, "-t1"))


def test_submission_limits_are_enforced(cluster):
    c = cluster("max_array_tasks=3,max_script_size=100,allow_zero_lic", conf="Licenses=a:1\n")
    c.run(["sbatch", "--array=0-3", "--wrap=true"]).fails("Invalid job array specification", "max_array_tasks")
    c.run(["sbatch", "--array=0-2", "-o", "/dev/null", "--wrap=true"]).ok()
    c.run(["sbatch", "--wrap", "x" * 200]).fails("max_script_size")
    job = submit(c, "-La:2")
    eventually(lambda: c.job(job)["Reason"] == "Licenses", "it waits for licences that there may be")


def test_a_constraint_may_name_features_that_no_node_has_yet(cluster):
    c = cluster("ignore_constraint_validation")
    job = submit(c, "-Cfast")
    eventually(lambda: c.run(["squeue", "-h", "-j", str(job), "-o", "%T %r"]).ok() == "PENDING Constraints", "no node has the feature")
    assert c.job(job)["Reason"] == "Constraints"
    assert "Gate=constraint State=CLOSED Reason=Constraints\n" in c.run(f"scontrol show gates {job}").ok()
    why = c.run(f"sluice why {job}").ok()
    assert "No nodes that are configured satisfy its constraint now." in why and f"scontrol update JobId={job} Features=" in why
    assert starts(c, submit(c)), "jobs behind it start"
    c.run("sbatch --test-only -Cfast --wrap=true").ok()
    c.run("scontrol update NodeName=n1 Features=fast").ok()
    eventually(lambda: c.state(job) == "RUNNING", "a node has the feature")
    c.run(["sbatch", "-Cfast", "--tmp=1T", "--wrap=true"]).fails("Requested node configuration is not available")


def test_kill_invalid_depend(cluster):
    c = cluster("kill_invalid_depend")
    first = c.sbatch("-o", "/dev/null", wrap="exit 1")
    job = submit(c, f"-dafterok:{first}")
    eventually(lambda: c.state(job) == "CANCELLED", "it can never start")


def test_unknown_scheduler_parameters_are_reported(cluster):
    c = cluster("defer,bf_resolution=60,bf_max_jobs_test=3")
    done = c.run("scontrol check")
    assert done.returncode == 1
    assert "'defer' has no effect: a pass begins at once" in done.stderr
    assert "'bf_resolution' has no effect: the timeline has a resolution of one second" in done.stderr
    line = next(x for x in done.stderr.splitlines() if "bf_max_jobs_test" in x)
    assert "error" in line and "slurm.conf:" in line and "unknown parameter" in line
    log = (c.dir / "slurmctld.log").read_text()
    assert "bf_max_jobs_test" in log and "'defer' has no effect" in log
    (c.dir / "bad.conf").write_text((c.dir / "slurm.conf").read_text().replace("bf_max_jobs_test=3", "bf_window=x"))
    c.run(f"scontrol check {c.dir}/bad.conf").fails("bf_window=x: expected a number from 0 to 43200")
