# SPDX-License-Identifier: GPL-3.0-or-later
"""sluice events: each transition once and in order, across crashes, restarts and readers that come back."""
import datetime
import json
import re

import pytest

from harness import ROOT, eventually, fields_of

pytestmark = pytest.mark.skipif(not ROOT, reason="other users' commands need root")


def events(cluster, *options, user=None):
    return [json.loads(line) for line in cluster.run(f"sluice events --json {' '.join(options)}", user=user).ok().splitlines()]


def history(listed, job):
    return [(e["job"]["attempt"], e["job"]["from"], e["job"]["to"]) for e in listed if e.get("job", {}).get("job_id") == job]


def test_events_are_printed_as_lines_and_json(make_cluster):
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
        f"5 job {array}_2({array + 1}) PENDING -> CANCELLED cause=cancellation user=root partition=main exit=0:0 reason=JobHeldUser",
        '6 node n2 UP -> DRAIN reason="bad disk"',
        "7 node n2 DRAIN -> UP",
    ]
    assert cluster.run("sluice events").ok() == ""  # acknowledged
    cluster.run(f"scancel {array}").ok()
    cancelled, = events(cluster)
    assert cancelled["number"] == 8 and cancelled["job"] == {
        "job_id": array, "array_job_id": {"set": True, "infinite": False, "number": array}, "array_task_id": {"set": False, "infinite": False, "number": 0},
        "array_tasks": "1,3", "het_job_id": {"set": False, "infinite": False, "number": 0},
        "het_job_offset": {"set": False, "infinite": False, "number": 0},
        "user_id": 0, "user_name": "root", "attempt": 0, "event": "withdrawn", "from": "PENDING", "to": "CANCELLED",
        "cause": "cancellation", "partition": "main", "nodes": None, "reason": cancelled["job"]["reason"], "detail": None,
        "exit_code": {"status": ["SUCCESS"], "return_code": {"set": True, "infinite": False, "number": 0},
                      "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""}}}
    late = cluster.run("sluice events --since 2")
    assert late.returncode == 1 and "events 3 to 8 no longer exist" in late.stderr
    cluster.run("sluice events --forget").ok()
    cluster.run("sluice events --forget").fails("no consumer 'default' of yours")


def test_components_have_the_ids_that_squeue_prints(make_cluster):
    """HET-62: components of jobs and of elements of arrays, in lines and in objects."""
    cluster = make_cluster(nodes=2)
    for consumer in "text", "json":
        cluster.run(f"sluice events --consumer={consumer}").ok()
    job, array = (cluster.sbatch("-H", *options, "-n1", ":", "-n1", wrap="true") for options in ((), ("-a", "1,3")))
    named = [f"{job}+0", f"{job}+1", f"{array}_1+0", f"{array}_1+1", f"{array}_3+0", f"{array}_3+1"]
    assert cluster.run("squeue -h -r -S i -o %i").ok().split() == named
    cluster.run(f"scancel {job} {array}").ok()
    ids = [job, job + 1, *range(array, array + 4)]
    lines = cluster.run("sluice events --consumer=text").ok()
    for state in "PENDING cause=submission", "PENDING -> CANCELLED cause=cancellation":
        assert sorted(re.findall(rf" job (\S+) {state}", lines)) == [f"{name}({own})" for name, own in zip(named, ids)], state
    objects = {tuple((e["job"][name]["set"], e["job"][name]["number"]) for name in ("array_job_id", "array_task_id", "het_job_id", "het_job_offset"))
               + (e["job"]["job_id"],) for e in events(cluster, "--consumer=json")}
    none = (False, 0)
    assert objects == {*((none, none, (True, job), (True, i), job + i) for i in (0, 1)),
                       *(((True, array), (True, task), (True, leader), (True, i), leader + i)
                         for task, leader in ((1, array), (3, array + 2)) for i in (0, 1))}


def test_events_continue_after_the_acknowledged_one(make_cluster):
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


def test_invalid_options_are_refused(cluster):
    cluster.run("sluice events --since -1").fails("--since '-1' is not the number of an event")
    cluster.run("sluice events --consumer a/b").fails("invalid consumer name")
    cluster.run("sluice events 5").fails("unexpected argument '5'")
    for i in range(4):
        cluster.run(f"sluice events --consumer=c{i}", user="nobody").ok()
    cluster.run("sluice events --consumer=c4", user="nobody").fails("you have 4 consumers")
    for i in range(4):
        cluster.run(f"sluice events --consumer=c{i} --forget", user="nobody").ok()


def test_the_archive_has_each_ended_attempt(make_cluster):
    """HET-61: the data that sacct will need of heterogeneous jobs, steps and attempts is stored with each attempt: across requeues, kill -9 and the
    purge."""
    cluster = make_cluster(nodes=2, conf="MinJobAge=2\nSchedulerParameters=requeue_delay=0\n")
    script = ("#!/bin/sh\n#SBATCH --requeue -A acct -n1\n#SBATCH hetjob\n#SBATCH -n2\n"
              "srun --het-group=0,1 true\n[ $SLURM_RESTART_COUNT ] && exit 3\ntouch ready; sleep 1000\n")
    job = cluster.sbatch("-o", "/dev/null", script=script)
    eventually(lambda: (cluster.work / "ready").exists(), "the first attempt has run a step")
    cluster.run(f"scontrol suspend {job}").ok()
    since = datetime.datetime.fromisoformat(cluster.job(job)["SuspendTime"])
    eventually(lambda: datetime.datetime.now() - since >= datetime.timedelta(seconds=1), "it has stood for a second")
    cluster.run(f"scontrol resume {job}").ok()
    cluster.run(f"scontrol requeue {job}").ok()
    cluster.wait(job)
    cluster.kill("slurmctld")
    cluster.start_controller()
    eventually(lambda: not cluster.run(f"scontrol show job {job}").stdout, "it is purged")
    rows = events(cluster, "--attempts")
    attempts = [row["attempt"] for row in rows if "attempt" in row]
    assert sorted((a["restart_cnt"], a["het_job_id"]["number"], a["het_job_offset"]["number"], a["job_state"][0], a["requeued"]) for a in attempts) == [
        (0, job, 0, "CANCELLED", True), (0, job, 1, "CANCELLED", True), (1, job, 0, "FAILED", False), (1, job, 1, "FAILED", False)]
    last = next(a for a in attempts if a["restart_cnt"] == 1 and a["job_id"] == job)
    assert (last["exit_code"]["return_code"]["number"], last["derived_exit_code"]["return_code"]["number"], last["account"]) == (3, 0, "acct")
    assert last["state_reason"] == "NonZeroExitCode" and last["nodes"] == "n1" and last["partition"] == "main" and last["cpus"]["number"] == 1
    assert "cpu=1" in last["tres_alloc_str"] and "node=1" in last["tres_alloc_str"]
    assert all(0 < a["submit_time"]["number"] <= a["start_time"]["number"] <= a["end_time"]["number"] for a in attempts)
    assert all((a["suspended_sec"] >= 1) == (a["restart_cnt"] == 0) and a["suspended_sec"] <= a["end_time"]["number"] - a["start_time"]["number"] for a in attempts)
    steps = [row["step"] for row in rows if "step" in row]
    assert sorted((s["restart_cnt"], s["het_job_id"]["number"], s["het_job_offset"]["number"], s["step"]["id"]["step_id"], s["tasks"]["count"]) for s in steps) == [
        (0, job, 0, "0", 1), (0, job, 1, "0", 2), (1, job, 0, "0", 1), (1, job, 1, "0", 2)]
    assert all(s["state"] == ["COMPLETED"] and s["time"]["end"]["number"] >= s["time"]["start"]["number"] > 0 for s in steps)
    cluster.run("sluice events --attempts --since 0").fails(f"events 1 to {len(rows)} no longer exist: acknowledged")
    assert cluster.run("sluice events --attempts").ok() == ""
    single = cluster.sbatch("-H", "-o", "/dev/null", wrap="true")
    cluster.run(f"scancel {single}").ok()
    line, = cluster.run("sluice events --attempts").ok().splitlines()
    assert re.match(rf"{len(rows) + 1} \S+ attempt {single} CANCELLED user=root partition=main start=\S+ end=\S+ exit=0:0 derived=0:0 reason=JobHeldUser$", line), line
    cluster.run("sluice events --attempts --forget").ok()


# What sacct prints by default: JobID, JobName, Partition, Account, AllocCPUS, State, ExitCode.
LISTED = "%i|%j|%P|%a|%C|%T"


def code(value):
    return f"{value['return_code']['number']}:{value['signal']['id']['number']}"


def listed(cluster, asked):
    lines = cluster.run(["squeue", "-h", "-S", "i", "-t", "all", "-j", asked, "-o", LISTED]).ok().splitlines()
    return [tuple(line.split("|")) for line in lines]


def chosen(cluster, asked):
    """The jobs that the id means, from squeue, and their exit codes, from scontrol show job."""
    rows = listed(cluster, asked)
    codes = [fields_of(line)["ExitCode"] for line in cluster.run(f"scontrol show job -o {asked}").ok().splitlines()]
    assert len(rows) == len(codes)
    return [(*row, exit_code) for row, exit_code in zip(rows, codes)]


def archived(cluster):
    """The same of all attempts in the archive, and of their steps, as its lines of text show them; the text has no names of jobs."""
    lines, names = cluster.run("sluice events --attempts --consumer=text").ok().splitlines(), {}
    for row in events(cluster, "--attempts", "--consumer=json"):
        for kind, name in (("attempt", lambda a: a["name"]), ("step", lambda s: s["step"]["name"])):
            if kind in row:
                names[row["number"]] = name(row[kind])
    attempts, steps = [], []
    for line in lines:
        number, _, kind, name, *words = line.split()
        values = dict(word.split("=", 1) for word in words if "=" in word)
        if kind == "attempt":
            attempts.append((name, names[int(number)], values["partition"], values["account"], values["cpus"], words[0], values["exit"]))
        else:
            steps.append((name, values["name"], values["tasks"], values["exit"]))
            assert values["name"] == names[int(number)]
    return sorted(attempts), steps


def test_ended_components_are_listed_as_the_guide_lists_them(make_cluster):
    """HET-62 to HET-64, 67: the listings of the guide, with the job's id and with that of a component: squeue, scontrol show job, the archive and
    jobcomp agree on ids, columns and exit codes. HET-65, 66: --whole-hetjob, the heading and the line below it wait for sacct: the archive has the
    values."""
    cluster = make_cluster(nodes=2, conf="MinJobAge=300\nJobCompType=jobcomp/filetxt\nJobCompLoc=/nowhere\n",
                           partitions=["PartitionName=debug Nodes=ALL Default=YES"])
    record = cluster.dir / "jobs.log"
    cluster.conf_file.write_text(cluster.conf_file.read_text().replace("/nowhere", str(record)))
    cluster.run("scontrol reconfigure").ok()
    for consumer in "text", "json":
        cluster.run(f"sluice events --attempts --consumer={consumer}").ok()
    job = int(cluster.run("sbatch --parsable -W -J foo -A test -o /dev/null -n2 : -n4 --component=io --wrap=true").ok())
    cluster.wait(job + 1)
    both = [(f"{job}+0", "foo", "debug", "test", "2", "COMPLETED", "0:0"), (f"{job}+1", "foo", "debug", "test", "4", "COMPLETED", "0:0")]
    for asked, rows in (job, both), (f"{job}+0", both[:1]), (f"{job}+1", both[1:]), (f"{job}+io", both[1:]), (job + 1, both[1:]):
        assert chosen(cluster, str(asked)) == rows, asked
    assert listed(cluster, f"{job}+1,{job}+0") == [row[:-1] for row in both]
    cluster.run(f"squeue -t all -j {job}+2").fails(f"job {job} has components 0 to 1")
    cluster.kill("slurmctld")
    cluster.start_controller()
    assert chosen(cluster, str(job)) == both
    assert archived(cluster) == (both, [])
    eventually(lambda: record.read_text().count("\n") == 2, "both have a record")
    lines = [fields_of(line) for line in record.read_text().splitlines()]
    assert sorted(tuple(one[name] for name in ("JobId", "Name", "Partition", "Account", "ProcCnt", "JobState", "ExitCode")) for one in lines) == [
        (str(job + i), *row[1:]) for i, row in enumerate(both)]


def test_the_archive_has_what_sacct_prints_of_components(make_cluster):
    """HET-62 to HET-67: components that differ, one with a step, one cancelled: the archive has what squeue and scontrol show job print of them, and
    the request of each."""
    cluster = make_cluster(nodes=2, conf="MinJobAge=300\nLicenses=net:4\n")
    for consumer in "text", "json", "default":
        cluster.run(f"sluice events --attempts --consumer={consumer}").ok()
    script = ("#!/bin/sh\n#SBATCH -A acct -J first -n1 -o /dev/null --comment=both\n"
              "#SBATCH hetjob name=io\n#SBATCH -n2 -A other -t7 --mem-per-cpu=30\n#SBATCH hetjob\n#SBATCH -n1 -L net:2 --qos=low\n"
              "srun --het-group=1 -J step sh -c 'exit 5'\nscancel $SLURM_JOB_ID+2\nexit 4\n")
    job = cluster.sbatch(script=script)
    for i in range(3):
        cluster.wait(job + i)
    expected = [(f"{job}+0", "first", "main", "acct", "1", "FAILED", "4:0"), (f"{job}+1", "first", "main", "other", "2", "FAILED", "4:0"),
                (f"{job}+2", "first", "main", "other", "1", "CANCELLED", "0:15")]
    assert chosen(cluster, str(job)) == expected
    assert [chosen(cluster, f"{job}+{i}") for i in range(3)] == [[row] for row in expected]
    cluster.kill("slurmctld")
    cluster.start_controller()
    assert archived(cluster) == (expected, [(f"{job}+1.0", "step", "2", "5:0")])
    rows = events(cluster, "--attempts")  # of the store
    requests = {row["attempt"]["job_id"] - job: row["attempt"] for row in rows if "attempt" in row}
    assert [code(a["exit_code"]) for _, a in sorted(requests.items())] == [row[-1] for row in expected]
    assert [(a["het_job_id"]["number"], a["het_job_offset"]["number"]) for _, a in sorted(requests.items())] == [(job, i) for i in range(3)]
    assert [(a["het_job_id_set"], a["het_component"], a["tasks"]["number"], a["memory_per_cpu"]["number"], a["licenses"], a["qos"], a["comment"])
            for _, a in sorted(requests.items())] == [
        (f"{job}-{job + 2}", "", 1, 100, "", "", "both"), (f"{job}-{job + 2}", "io", 2, 30, "", "", "both"), (f"{job}-{job + 2}", "", 1, 100, "net:2", "low", "both")]
    assert [a["time_limit"]["number"] for _, a in sorted(requests.items())][1:] == [7, 7]
    assert ["cpu=1" in a["tres_req_str"] for _, a in sorted(requests.items())] == [True, False, True] and "cpu=2" in requests[1]["tres_req_str"]
    cancelled = next(row["attempt"] for row in rows if row.get("attempt", {}).get("job_id") == job + 2)
    step = next(row["step"] for row in rows if "step" in row)
    assert cancelled["cancelled_by"]["number"] == 0 and cancelled["end_time"]["number"] >= cancelled["start_time"]["number"] > 0
    assert step["time"]["end"]["number"] >= step["time"]["start"]["number"] > 0 and step["ended_with_job"] is None
