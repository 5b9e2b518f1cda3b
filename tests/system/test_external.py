# SPDX-License-Identifier: GPL-3.0-or-later
"""External schedulers by the public API: the order of the queue, holds, placements, keys: CORE-013, 014, 049 to 052, 080, 125, 213."""
import os
import pathlib
import platform
import pwd
import subprocess
import sys

import pytest

from harness import ROOT, eventually
from test_api import LIB, SANITIZED, build

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
PARTITIONS = ["PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED", "PartitionName=ext Nodes=ALL Key=YES MaxTime=60"]
CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sluice/sluice.h>
int main(int argc, char **argv)
{
    struct sluice_error e = {0};
    struct sluice *s = sluice_open(NULL, &e);
    uint32_t id = (uint32_t)atoi(argv[2]);
    int rc = -1;
    if (!strcmp(argv[1], "hold"))
        rc = sluice_hold(s, id, &e);
    else if (!strcmp(argv[1], "release"))
        rc = sluice_release(s, id, &e);
    else if (!strcmp(argv[1], "terminate"))
        rc = sluice_signal(s, id, SLUICE_WHOLE_JOB, 0, &e);
    else if (!strcmp(argv[1], "start"))
        rc = sluice_start(s, id, argv[3], &e);
    else if (!strcmp(argv[1], "submit")) {
        char key[SLUICE_KEY_SIZE];
        struct sluice_submit r = {.script = "#!/bin/sh\nid -u\n", .output = "/dev/null", .partition = "ext"};
        r.as_user = 1;
        r.uid = id;
        r.gid = (uint32_t)atoi(argv[3]);
        r.partition_key = key;
        rc = sluice_partition_key(s, "ext", key, &e);
        if (!rc && (rc = sluice_submit(s, &r, &id, &e)) == 0)
            printf("%u\n", id);
    }
    if (rc)
        fprintf(stderr, "%d: %s\n", rc, e.text);
    sluice_close(s);
    return rc != 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    place = tmp_path_factory.mktemp("external")
    place.chmod(0o755)
    place.parent.chmod(0o755)
    (place / "calls.c").write_text(CALLS)
    return {"scheduler": build(EXAMPLES / "scheduler.c", place / "scheduler"),
            "calls": build(place / "calls.c", place / "calls")}


def run(c, *line, **more):
    return c.run([str(word) for word in line], env={"LD_LIBRARY_PATH": str(LIB)}, **more)


def run_python(c, *line):
    """A library with the sanitizer in it needs an interpreter that has its runtime, and whose own leaks are not ours."""
    env = {"LD_LIBRARY_PATH": str(LIB)}
    if SANITIZED:
        runtime = subprocess.run(["clang", f"-print-file-name=libclang_rt.asan-{platform.machine()}.so"],
                                 text=True, capture_output=True, check=True)
        env |= {"LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    return c.run([sys.executable, *map(str, line)], env=env)


def test_the_queue_is_reordered_held_placed(make_cluster, programs):
    """CORE-013, 014, 049 to 052, 125."""
    c = make_cluster(nodes=2, cpus=1, partitions=PARTITIONS)
    scheduler, calls = programs["scheduler"], programs["calls"]
    full = [c.sbatch("-n1", "-o", "/dev/null", wrap="sleep 1000") for _ in range(2)]
    for job in full:
        eventually(lambda: c.state(job) == "RUNNING", "the nodes are full")
    long = c.sbatch("-t60", "-o", "order", "--open-mode=append", wrap="echo $SLURM_JOB_ID")
    short = c.sbatch("-t5", "-o", "order", "--open-mode=append", wrap="echo $SLURM_JOB_ID")
    assert int(c.job(long)["Priority"]) >= int(c.job(short)["Priority"])
    assert run(c, scheduler).ok() == f"1. job {short}\n2. job {long}"
    assert (c.job(short)["Priority"], c.job(long)["Priority"]) == ("1000000", "999999")
    run(c, calls, "start", short, "n1").fails("2025: Requested nodes are busy")
    run(c, calls, "start", short, "n9").fails("2018: Invalid node name specified")
    run(c, calls, "start", 9999, "n1").fails("2017: Invalid job id specified")
    run(c, calls, "hold", short).ok()
    assert (c.job(short)["Reason"], c.job(short)["Priority"]) == ("JobHeldAdmin", "0")
    c.kill("slurmctld")
    c.start_controller()
    if ROOT:
        said = run(c, scheduler, user="nobody").fails()
        assert "Access/permission denied" in said
    run(c, calls, "release", short).ok()
    held = c.sbatch("-H", "-o", "/dev/null", wrap="true")
    assert run(c, scheduler, "-p", "main").ok() == f"1. job {short}\n2. job {long}"
    run(c, calls, "terminate", held).ok()
    run(c, calls, "terminate", full[0]).ok()
    for job in (short, long):
        c.wait(job)
    assert (c.work / "order").read_text().split() == [str(short), str(long)]
    # One that others are before is started where the program wants it.
    node = c.job(full[1])["NodeList"]
    other = "n1" if node == "n2" else "n2"
    eventually(lambda: c.node(other)["State"] == "IDLE", "a node is free")
    c.run(f"scontrol update NodeName={other} State=DRAIN Reason=test").ok()
    waiting = c.sbatch("-t5", "-o", "/dev/null", wrap="sleep 1000")
    run(c, scheduler, "-n", other).fails("Required node not available")
    c.run(f"scontrol update NodeName={other} State=RESUME").ok()
    eventually(lambda: c.state(waiting) == "RUNNING", "it starts by itself")


def test_two_jobs_from_python(make_cluster):
    c = make_cluster(nodes=1, cpus=1)
    full = c.sbatch("-n1", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(full) == "RUNNING", "the node is full")
    ids = [c.sbatch("-o", "order", "--open-mode=append", wrap="echo $SLURM_JOB_ID") for _ in range(2)]
    run_python(c, EXAMPLES / "reorder.py", ids[1], ids[0]).ok()
    run_python(c, EXAMPLES / "reorder.py", full).fails(f"job {full}: ")
    c.run(f"scancel {full}").ok()
    for job in ids:
        c.wait(job)
    assert (c.work / "order").read_text().split() == [str(ids[1]), str(ids[0])]


def test_partition_key_restricts_users(make_cluster, programs, nobody):
    """CORE-080, 213."""
    c = make_cluster(nodes=1, partitions=PARTITIONS)
    user = pwd.getpwnam("nobody")
    job = int(run(c, programs["calls"], "submit", user.pw_uid, user.pw_gid).ok())
    done = c.wait(job)
    assert done["UserId"] == f"nobody({user.pw_uid})" and done["Partition"] == "ext" and done["ExitCode"] == "0:0"
    run(c, programs["calls"], "submit", user.pw_uid, user.pw_gid, user="nobody").fails("1008: ")
