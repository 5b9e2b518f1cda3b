# SPDX-License-Identifier: GPL-3.0-or-later
"""sluice events: each transition once and in order, across crashes, restarts and readers that come back."""
import json
import re

import pytest

from harness import ROOT, eventually

pytestmark = pytest.mark.skipif(not ROOT, reason="other users' commands need root")


def events(cluster, *options, user=None):
    return [json.loads(line) for line in cluster.run(f"sluice events --json {' '.join(options)}", user=user).ok().splitlines()]


def history(listed, job):
    return [(e["job"]["attempt"], e["job"]["from"], e["job"]["to"]) for e in listed if e.get("job", {}).get("job_id") == job]


def test_lines_and_objects(make_cluster):
    cluster = make_cluster(nodes=2)
    begun = cluster.run("sluice events")
    assert begun.ok() == "" and "events are recorded from now on" in begun.stderr
    job = cluster.sbatch("-o", "/dev/null", wrap="exit 3", user="nobody")
    cluster.wait(job)
    array = cluster.sbatch("-H", "--array=1-3", "-o", "/dev/null", wrap="true")
    cluster.run(f"scancel {array}_2").ok()
    cluster.run(["scontrol", "update", "nodename=n2", "state=drain", "reason=bad disk"]).ok()
    cluster.run("scontrol update nodename=n2 state=resume").ok()
    listed = [re.sub(r"^(\d+) \S+T\S+ ", r"\1 ", line) for line in cluster.run("sluice events").ok().splitlines()]
    assert listed == [
        f"1 job {job} PENDING cause=submission user=nobody partition=main",
        f"2 job {job} PENDING -> RUNNING cause=scheduler user=nobody partition=main nodes=n1",
        f"3 job {job} RUNNING -> FAILED cause=exit user=nobody partition=main nodes=n1 exit=3:0 reason=NonZeroExitCode",
        f"4 job {array}_[1-3] PENDING cause=submission user=root partition=main",
        f"5 job {array}_2({array + 1}) PENDING -> CANCELLED cause=cancellation user=root partition=main exit=0:0",
        '6 node n2 UP -> DRAIN reason="bad disk"',
        "7 node n2 DRAIN -> UP",
    ]
    assert cluster.run("sluice events").ok() == ""  # acknowledged
    cluster.run(f"scancel {array}").ok()
    cancelled, = events(cluster)
    assert cancelled["number"] == 8 and cancelled["job"] == {
        "job_id": array, "array_job_id": {"set": True, "infinite": False, "number": array}, "array_task_id": {"set": False, "infinite": False, "number": 0},
        "array_tasks": "1,3", "user_id": 0, "user_name": "root", "attempt": 0, "event": "withdrawn", "from": "PENDING", "to": "CANCELLED",
        "cause": "cancellation", "partition": "main", "nodes": None, "reason": cancelled["job"]["reason"], "detail": None,
        "exit_code": {"status": ["SUCCESS"], "return_code": {"set": True, "infinite": False, "number": 0},
                      "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""}}}
    late = cluster.run("sluice events --since 2")
    assert late.returncode == 1 and "events 3 to 8 are not there any more" in late.stderr
    cluster.run("sluice events --forget").ok()
    cluster.run("sluice events --forget").fails("no consumer 'default' of yours")


def test_goes_on_where_it_was(make_cluster):
    cluster = make_cluster(nodes=2, conf="PrivateData=jobs,nodes\n")
    cluster.run("sluice events --consumer=log").ok()
    cluster.run("sluice events", user="nobody").ok()
    cluster.run("sluice events", user="daemon").ok()
    cluster.run("sluice events --consumer=live").ok()  # what comes now is for it, however late it starts to follow
    with cluster.popen("sluice events --follow --json --consumer=live") as live:
        lines = []
        jobs = []
        for i in range(3):
            jobs.append(cluster.sbatch("--requeue", "-o", "/dev/null", wrap="sleep 0.2", user="nobody"))
            cluster.kill("slurmctld")
            cluster.start_controller()
        requeued = cluster.sbatch("--requeue", "-o", "/dev/null", wrap="[ $SLURM_RESTART_COUNT ] || sleep 1000", user="nobody")
        eventually(lambda: cluster.state(requeued) == "RUNNING", "the job runs")
        cluster.run(f"scontrol requeue {requeued}").ok()
        for job in [*jobs, requeued]:
            cluster.wait(job)
        kept = events(cluster, "--consumer=log")
        while not lines or json.loads(lines[-1])["number"] < kept[-1]["number"]:
            lines.append(live.stdout.readline())
        live.terminate()
    # What was not yet acknowledged when the controller was killed may have come twice, and then again in order.
    followed = {e["number"]: e for e in map(json.loads, lines)}
    assert [followed[n] for n in sorted(followed)] == kept and [e["number"] for e in kept] == list(range(kept[0]["number"], kept[-1]["number"] + 1))
    for job in jobs:
        assert history(kept, job) == [(0, "PENDING", "PENDING"), (0, "PENDING", "RUNNING"), (0, "RUNNING", "COMPLETED")]
    first, last = history(kept, requeued)[:2], history(kept, requeued)[-3:]
    assert first == [(0, "PENDING", "PENDING"), (0, "PENDING", "RUNNING")]
    assert [(a, to) for a, _, to in last] == [(1, "PENDING"), (1, "RUNNING"), (1, "COMPLETED")]
    assert history(events(cluster, user="nobody"), requeued) == history(kept, requeued)
    assert events(cluster, user="daemon") == []  # jobs of others and nodes are private


def test_bad_input(cluster):
    cluster.run("sluice events --since -1").fails("--since '-1' is not the number of an event")
    cluster.run("sluice events --consumer a/b").fails("invalid consumer name")
    cluster.run("sluice events 5").fails("unexpected argument '5'")
    for i in range(4):
        cluster.run(f"sluice events --consumer=c{i}", user="nobody").ok()
    cluster.run("sluice events --consumer=c4", user="nobody").fails("you have 4 consumers")
    for i in range(4):
        cluster.run(f"sluice events --consumer=c{i} --forget", user="nobody").ok()
