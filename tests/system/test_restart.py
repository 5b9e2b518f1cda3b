# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that is killed with very many jobs in its queue."""
import os
import pathlib
import time

import pytest

import bulk
import figures
from harness import amount

JOBS = amount(10000, 100000)
SERVES_SEC = 0.3 if JOBS <= 10000 else 1.0  # after a kill: A1


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    return "" if request.param == "sqlite" else f"StateSaveStore={request.getfixturevalue('server').url}\n"


def cpu_seconds(pid):
    """That all of its threads have used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@figures.figure
@pytest.mark.slow
def test_restart_with_many_pending_jobs_is_fast(store, make_cluster):
    """A1: no job is lost or changed, and the controller replies; the jobs run in their order when a node registers."""
    c = make_cluster(nodes=1, start=False, conf=f"{store}MaxJobCount=1000000\nSlurmctldDebug=info\nMessageTimeout=60")
    c.start_controller()
    ids = bulk.submit(c, JOBS)
    assert ids == list(range(1, JOBS + 1))
    line = ["squeue", "-h", "-o", "%i %j %T %P %Q %u %V %Z"]
    before = c.run(line).ok()
    assert before.count("\n") == JOBS - 1
    for _ in range(2):
        c.kill("slurmctld")
        began = time.monotonic()
        c.start_controller()
        took, kind = time.monotonic() - began, "PostgreSQL" if store else "SQLite"
        figures.report("A1", f"CPU time of a controller with {JOBS} jobs until it serves again, {kind}",
                       cpu_seconds(c.daemons["slurmctld"].pid), SERVES_SEC, cpu=True)
        figures.report("A1", f"a controller with {JOBS} jobs serves again, {kind}", took, SERVES_SEC)
        assert c.run(line).ok() == before
    assert c.sbatch("-o", "/dev/null", wrap="true") > JOBS
    c.start_node("n1")
    c.wait_ready()
    assert c.wait(1)["JobState"] == c.wait(2)["JobState"] == "COMPLETED"
    assert c.state(JOBS) == "PENDING"
    c.run(["scancel", "-Q", "-t", "PENDING"]).ok()
    left = c.run("squeue -h -t PD -o %i").ok()
    assert not left
