# SPDX-License-Identifier: GPL-3.0-or-later
"""InactiveLimit: an allocation whose srun or salloc has ended is ended; one whose command runs, or was never to stay, continues."""
import subprocess

import pytest

from harness import eventually


def job_of(c, name):
    return eventually(lambda: c.run(f"squeue -h -n {name} -t running -o %i").ok(), f"job {name} runs")


def command(c, line):
    """Runs in the background; its children end with its standard input."""
    return c.popen(line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(process):
    process.kill()
    process.stdin.close()
    process.wait(60)


def ends(c, job):
    fields = c.wait(job)
    assert (fields["JobState"], fields["Reason"]) == ("TIMEOUT", "InactiveLimit"), fields


@pytest.mark.slow
def test_inactive_limit_ends_allocations_without_a_command(make_cluster):
    c = make_cluster(nodes=2, conf="InactiveLimit=1\n")
    there = [command(c, "salloc -J there cat"), command(c, "srun -J here sleep 1000")]
    gone = command(c, "salloc -J gone cat")  # of a srun the shepherds see the end
    c.run("salloc -J bare --no-shell").ok()
    jobs = {name: job_of(c, name) for name in ("there", "here", "gone", "bare")}
    end(gone)
    ends(c, jobs["gone"])
    c.kill("slurmctld")  # those who stay ask the next one
    c.start_controller()
    left = command(c, "salloc -J left cat")
    job = job_of(c, "left")
    end(left)
    ends(c, job)
    for name in ("there", "here", "bare"):
        assert c.state(jobs[name]) == "RUNNING", name
    c.run(["scancel", *(jobs[name] for name in ("there", "here", "bare"))]).ok()
    for process in there:
        process.stdin.close()
        process.wait(60)
