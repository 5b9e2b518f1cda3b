# SPDX-License-Identifier: GPL-3.0-or-later
"""--time-min: a job may get a shorter limit if it can then start before a pending job: CORE-055."""
import pytest

from harness import Cluster, eventually, many


@pytest.fixture(scope="module")
def full():
    """A job that runs on one node of two, and one that waits for both."""
    with many(Cluster) as make:
        c = make(nodes=2)
        job = submit(c, "-t5", "--exclusive")
        eventually(lambda: c.state(job) == "RUNNING", "a node is in use")
        wide = submit(c, "-N2", "-t30", "--exclusive")
        eventually(lambda: c.job(wide)["Reason"] == "Resources", "both nodes are waited for")
        yield c


def submit(c, *options):
    return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")


def minutes(text):
    h, m, s = text.split(":")
    return int(h) * 60 + int(m) + int(s) / 60


def test_job_gets_the_available_time(full):
    """CORE-055."""
    c = full
    job = submit(c, "-t60", "--time-min=2")
    eventually(lambda: c.state(job) == "RUNNING", "it may be shorter")
    fields = c.job(job)
    assert 2 <= minutes(fields["TimeLimit"]) <= 5 and fields["TimeMin"] == "00:02:00"
    assert minutes(fields["TimeLimit"]) > 4
    assert c.run(f"squeue -h -j {job} -O MinTime:.10").ok().strip() == "2:00"
    assert "(--time-min)" in (c.dir / "slurmctld.log").read_text()
    c.run(f"scontrol requeuehold {job}").ok()
    eventually(lambda: c.state(job) == "PENDING", "it is queued again")
    assert c.job(job)["TimeLimit"] == "01:00:00"
    c.run(f"scancel {job}").ok()


def test_job_gets_at_least_time_min(full):
    c = full
    job = submit(c, "-t60", "--time-min=10")
    eventually(lambda: c.job(job)["Reason"] == "Priority", "there is not so much")
    assert c.job(job)["TimeLimit"] == "01:00:00"
    c.run(f"scontrol update JobId={job} TimeMin=1").ok()
    eventually(lambda: c.state(job) == "RUNNING", "now there is")
    c.run(f"scancel {job}").ok()


def test_job_is_not_shortened_without_need(full):
    c = full
    job = submit(c, "-t1", "--time-min=0:30")
    eventually(lambda: c.state(job) == "RUNNING", "it is over before")
    assert c.job(job)["TimeLimit"] == "00:01:00"
    c.run(f"scancel {job}").ok()


@pytest.mark.parametrize("options", [["-t1", "--time-min=2"], ["--time-min=x"]])
def test_invalid_time_minimums_are_refused(full, options):
    full.run(["sbatch", *options, "--wrap=true"]).fails("time")
