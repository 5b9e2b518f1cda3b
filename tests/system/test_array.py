# SPDX-License-Identifier: GPL-3.0-or-later
"""Job arrays with real daemons: X-09."""
import json
import re

import pytest

import harness
from harness import Cluster, many

CONF = "MaxArraySize=2000\nMaxJobCount=5000\nMinJobAge=300"


@pytest.fixture(scope="module")
def arrays():
    with many(Cluster) as make:
        yield make(nodes=2, cpus=4, conf=CONF)


def eventually(check):
    harness.eventually(check, check)


def submit(cluster, *options, wrap="true", **more):
    return int(cluster.run(["sbatch", "--parsable", *options, "--wrap", wrap], **more).ok())


def lines(cluster, *options):
    return cluster.run(["squeue", "-h", "-S", "i", *options]).ok().splitlines()


def ended(cluster, job, count):
    def look():
        states = lines(cluster, "-t", "all", "-r", "-j", str(job), "-o", "%T")
        return len(states) == count and all(s not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING") for s in states)
    eventually(look)


@pytest.mark.parametrize("indexes, text", [
    ("", '"": a number, FIRST-LAST or FIRST-LAST:STEP, of numbers from 0 to 1999 (MaxArraySize=2000)'),
    ("1-", '"1-": a number'), ("0-2000", '"0-2000": a number'), ("5-3", '"5-3"'), ("1-4:0", '"1-4:0"'), ("x", '"x"'),
    ("1%-1", '"%-1": behind % belongs how many may run at a time, 0 for all'), ("1%", '"%": behind'),
])
def test_invalid_indexes_are_refused(arrays, indexes, text):
    answer = arrays.run(["sbatch", f"--array={indexes}", "--wrap=true"])
    answer.fails("sbatch: error: Batch job submission failed: Invalid job array specification: --array: ", text)


def test_environment_and_output_names(arrays):
    job = submit(arrays, "--array=2-8:3%2", wrap='env | grep ^SLURM_ARRAY | sort; echo $SLURM_JOB_ID')
    ended(arrays, job, 3)
    ids = set()
    for task in (2, 5, 8):
        text = arrays.output(job, f"slurm-{job}_{task}.out").split("\n")
        assert text[:-2] == [f"SLURM_ARRAY_JOB_ID={job}", "SLURM_ARRAY_TASK_COUNT=3", f"SLURM_ARRAY_TASK_ID={task}",
                             "SLURM_ARRAY_TASK_MAX=8", "SLURM_ARRAY_TASK_MIN=2", "SLURM_ARRAY_TASK_STEP=3"]
        ids.add(int(text[-2]))
    assert len(ids) == 3 and max(ids) == job + 2 and job in ids  # the last one has the array's own


def test_script_environment_and_patterns(arrays):
    job = int(arrays.run(["sbatch", "--parsable"], stdin="#!/bin/sh\n#SBATCH -a 7,9 -o o-%A-%4a-%x.txt -J name\necho $SLURM_ARRAY_TASK_ID\n"
                         "srun -o s-%A-%a.txt echo step $SLURM_ARRAY_TASK_ID\nsbatch --parsable -o inner-%A-%a.txt "
                         "--wrap 'env | grep -c ^SLURM_ARRAY_'\n").ok())
    ended(arrays, job, 2)
    inner = int(arrays.output(job, "o-{}-0007-name.txt").split("\n")[1])
    assert arrays.output(job, "o-{}-0009-name.txt").startswith("9\n")
    assert arrays.output(job, "s-{}-7.txt") == "step 7\n"
    arrays.wait(inner)
    assert arrays.output(inner, "inner-{}-4294967294.txt") == "0\n"
    job = submit(arrays, "-o", "/dev/null", env={"SBATCH_ARRAY_INX": "1-2"})
    ended(arrays, job, 2)


def test_squeue_shows_groups_and_elements(arrays):
    job = submit(arrays, "--array=0-15:4,20%3", "-H", "-o", "/dev/null", wrap="sleep 100")
    assert lines(arrays, "-j", str(job), "-o", "%i|%A|%F|%K|%r") == [f"{job}_[0,4,8,12,20%3]|{job}|{job}|0,4,8,12,20%3|JobHeldUser"]
    assert lines(arrays, "-r", "-j", str(job), "-o", "%i|%K") == [f"{job}_{i}|{i}" for i in (0, 4, 8, 12, 20)]
    assert lines(arrays, "-j", f"{job}_[4-12]", "-o", "%i") == [f"{job}_[4,8,12%3]"]
    assert lines(arrays, "-j", f"{job}_8", "-o", "%i") == [f"{job}_8"]
    assert arrays.run(["squeue", "-h", "-j", f"{job}_9"]).ok() == ""  # as of an element that is purged before the others
    arrays.run(["squeue", "-h", "-j", f"{job + 1000}_9"]).fails("Invalid job id specified")
    every = submit(arrays, "--array=1-3%0", "-H", "-o", "/dev/null", wrap="true")  # as without %
    assert lines(arrays, "-j", str(every), "-o", "%i") == [f"{every}_[1-3]"]
    arrays.run(["scancel", str(every)]).ok()
    arrays.run(["scontrol", "release", str(job)]).ok()
    eventually(lambda: len(lines(arrays, "-j", str(job), "-t", "R", "-o", "%i")) == 3)
    rows = lines(arrays, "-j", str(job), "-o", "%i|%A|%T|%r")
    assert rows[3] == f"{job}_[12,20%3]|{job}|PENDING|JobArrayTaskLimit"
    ids = [int(r.split("|")[1]) for r in rows[:3]]
    assert [r.split("|")[0] for r in rows[:3]] == [f"{job}_0", f"{job}_4", f"{job}_8"] and len({*ids, job}) == 4
    assert lines(arrays, "-j", str(ids[1]), "-O", "ArrayJobID:8,ArrayTaskID:4,JobID:8") == [f"{job:<8}{4:<4}{ids[1]:<8}"]
    found = json.loads(arrays.run(["squeue", "--json", "-j", str(job)]).ok())["jobs"]
    by_id = {j["job_id"]: j for j in found}

    def number(value):
        return {"set": value is not None, "infinite": False, "number": value or 0}
    assert by_id[ids[0]]["array_job_id"] == number(job) and by_id[ids[0]]["array_task_id"] == number(0)
    assert by_id[ids[0]]["array_task_string"] == "" and by_id[job]["array_task_string"] == "12,20%3"
    assert by_id[job]["array_task_id"] == number(None) and by_id[job]["array_max_tasks"] == number(3)
    show = arrays.run(["scontrol", "show", "job", str(job)]).ok()
    assert show.count("JobId=") == 4 + show.count("ArrayJobId=")
    assert f"JobId={job} ArrayJobId={job} ArrayTaskId=12,20%3 ArrayTaskThrottle=3 JobName=" in show
    assert arrays.run(["scontrol", "show", "job", f"{job}_4"]).ok().startswith(f"JobId={ids[1]} ArrayJobId={job} ArrayTaskId=4 ")
    arrays.run(["scontrol", "update", f"JobId={job}", "ArrayTaskThrottle=4"]).ok()
    eventually(lambda: len(lines(arrays, "-j", str(job), "-t", "R", "-o", "%i")) == 4)
    arrays.run(["scontrol", "update", f"JobId={job}", "ArrayTaskThrottle=x"]).fails("Invalid value: ArrayTaskThrottle=x")
    arrays.run(["scancel", str(job)]).ok()
    ended(arrays, job, 5)


def test_scancel_hold_and_update_of_elements(arrays):
    job = submit(arrays, "--array=1-9", "-H", "-o", "/dev/null", wrap="sleep 100")
    arrays.run(["scancel", f"{job}_[1-3,7]", f"{job}_9"]).ok()
    assert lines(arrays, "-j", str(job), "-o", "%i") == [f"{job}_[4-6,8]"]
    unknown = arrays.run(["scancel", f"{job}_44"])
    assert unknown.ok() == "" and unknown.stderr == f"scancel: error: Kill job error on job id {job}_44: Invalid job id specified\n"
    arrays.run(["scancel", f"{job}_[1-x]"]).fails(f"Invalid job id {job}_[1-x]")
    arrays.run(["scancel", "-s", "USR1", f"{job}_[4,5]"]).fails(f"job id {job}_[4,5]: Job is pending execution")
    arrays.run(["scontrol", "update", f"JobId={job}_[5-6]", "JobName=other"]).ok()
    assert sorted(lines(arrays, "-j", str(job), "-o", "%i %j")) == [f"{job}_[4,8] wrap", f"{job}_[5-6] other"]
    arrays.run(["scontrol", "release", f"{job}_[4-5]"]).ok()
    eventually(lambda: lines(arrays, "-j", str(job), "-t", "R", "-o", "%i") == [f"{job}_4", f"{job}_5"])
    arrays.run(["scontrol", "hold", f"{job}_[1,7]"]).fails(f"for job {job}_[1,7]")
    arrays.run(["scontrol", "requeuehold", f"{job}_4"]).ok()
    eventually(lambda: lines(arrays, "-j", f"{job}_4", "-o", "%T %r") == ["PENDING job requeued in held state"])
    arrays.run(["scancel", "-t", "PENDING", f"{job}_4", f"{job}_5"]).ok()
    assert lines(arrays, "-j", str(job), "-t", "R", "-o", "%i") == [f"{job}_5"]
    arrays.run(["scancel", f"{job}_5"]).ok()
    arrays.run(["scancel", str(job)]).ok()
    ended(arrays, job, 4)  # elements that were cancelled by name have no record
    assert f"job id {job}: Job/step already completing or completed" in arrays.run(["scancel", "-v", str(job)]).stderr


def test_elements_of_other_users_cannot_be_changed(arrays):
    job = submit(arrays, "--array=1-3", "-H", "-o", "/dev/null")
    arrays.run(["scancel", f"{job}_2"], user="nobody").fails(f"job id {job}_2: Access/permission denied")
    arrays.run(["scontrol", "update", f"JobId={job}_2", "JobName=x"], user="nobody").fails("Access/permission denied for job " + f"{job}_2")
    assert lines(arrays, "-j", str(job), "-o", "%i") == [f"{job}_[1-3]"]
    arrays.run(["scancel", str(job)]).ok()


def test_wait_returns_the_highest_exit_code(arrays):
    answer = arrays.run(["sbatch", "--wait", "-o", "/dev/null", "--array=1-5%2", "--wrap", "exit $SLURM_ARRAY_TASK_ID"])
    assert answer.returncode == 5 and answer.stdout.startswith("Submitted batch job ")


def test_crash_loses_no_element_and_runs_none_twice(arrays):
    log = arrays.work / "ran"
    job = submit(arrays, "--array=0-59", "-o", "/dev/null", wrap=f'echo $SLURM_ARRAY_TASK_ID >> {log}')
    for _ in range(3):
        eventually(lambda: lines(arrays, "-t", "all", "-j", str(job), "-o", "%i"))
        arrays.kill("slurmctld")
        arrays.start_controller()
    ended(arrays, job, 60)
    assert sorted(int(n) for n in log.read_text().split()) == list(range(60))
    text = arrays.run(["scontrol", "write", "batch_script", str(job), "-"]).ok()
    assert "SLURM_ARRAY_TASK_ID" in text


def test_steps_are_named_by_elements(arrays):
    job = submit(arrays, "--array=3,4", "-o", "/dev/null", wrap="srun sleep 100")
    eventually(lambda: len(lines(arrays, "-s", f"{job}_3.0", "-o", "%i")) == 1)
    arrays.run(["scancel", f"{job}_3.0"]).ok()
    eventually(lambda: lines(arrays, "-j", str(job), "-o", "%i") == [f"{job}_4"])
    arrays.run(["scancel", str(job)]).ok()
    ended(arrays, job, 2)


def test_dependents_wait_for_the_whole_array(arrays):
    job = submit(arrays, "--array=0-2%1", "-o", "/dev/null", wrap="test $SLURM_ARRAY_TASK_ID != 1")
    well = submit(arrays, "-d", f"afterok:{job}", "-o", "/dev/null")
    badly = submit(arrays, "-d", f"afternotok:{job}", "-o", "/dev/null")
    ended(arrays, job, 3)
    arrays.wait(badly)
    eventually(lambda: lines(arrays, "-j", str(well), "-o", "%r") == ["DependencyNeverSatisfied"])
    arrays.run(["scancel", str(well)]).ok()
    arrays.run(["sbatch", "-d", f"expand:{job}", "--wrap=true"]).fails("cannot be expanded")
