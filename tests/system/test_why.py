# SPDX-License-Identifier: GPL-3.0-or-later
"""sluice why: each cause that it prints is true, and each proposal has the promised effect: X-08, X-10, X-13."""
import getpass
import json
import pathlib
import re
import shlex
import time

import pytest

from harness import Cluster, eventually, many

GUIDE = pathlib.Path(__file__).parents[2] / "docs/scheduling.md"
CONF = """GresTypes=gpu
Licenses=lic:2
MaxArraySize=100
"""
GRES = "NodeName=n[1-2] Name=gpu Type=a Count=2\nNodeName=n3 Name=gpu Type=b Count=2\n"
PARTITIONS = ["PartitionName=main Nodes=n[1-3] Default=YES MaxTime=UNLIMITED", "PartitionName=spare Nodes=n4 MaxTime=UNLIMITED",
              "PartitionName=short Nodes=n[1-3] MaxTime=10 MaxNodes=1", "PartitionName=secret Nodes=n4 AllowGroups=no_such_group"]
LONG = "sleep 1000"


@pytest.fixture(scope="module")
def shared():
    with many(Cluster) as make:
        c = make(nodes=4, memory=4000, conf=CONF, partitions=PARTITIONS, start=False)
        text = c.conf_file.read_text()
        for name, more in [("n1", "Gres=gpu:a:2 Feature=fast"), ("n2", "Gres=gpu:a:2 Feature=slow"), ("n3", "Gres=gpu:b:2 Feature=slow")]:
            text = re.sub(rf"(?m)^(NodeName={name} .*)$", rf"\1 {more}", text)
        c.conf_file.write_text(text)
        (c.dir / "gres.conf").write_text(GRES)
        c.start()
        yield c


@pytest.fixture
def c(shared):
    yield shared
    shared.run("scancel -t PD,R,S --me").ok()
    eventually(lambda: not shared.run("squeue -h").ok(), "all jobs are gone")


def run(c, *options):
    """A job that runs."""
    job = c.sbatch("-o", "/dev/null", *options, wrap=LONG)
    eventually(lambda: c.state(job) == "RUNNING", f"{options} runs")
    return job


def wait(c, *options, **more):
    """One that waits."""
    return c.sbatch("-o", "/dev/null", *options, wrap=LONG, **more)


def why(c, job, user=None):
    said = json.loads(c.run(["sluice", "why", "--json", str(job)], user=user).ok())["why"][0]
    text = c.run(["sluice", "why", str(job)], user=user).ok()
    assert said["sentence"] is None or said["sentence"] in text
    for change in said["changes"]:
        assert change["command"] in text and change["what"] in text
    return said


def change_of(said, kind, text=""):
    found = [change for change in said["changes"] if change["kind"] == kind and text in change["command"]]
    assert len(found) == 1, (kind, said)
    return found[0]


def apply(c, change):
    c.run(shlex.split(change["command"])).ok()


def fill(c, *nodes):
    for node in nodes:
        run(c, "-w", node, "--exclusive", "-t60")


CASES = {  # kind: nodes that are full, further jobs that run, jobs that wait before it, the job, what its command says
    "time_limit": (["n1", "n2"], [], ["-N3 --exclusive -t60"], "-n1 -t300", "TimeLimit="),
    "partition": (["n1", "n2", "n3"], [], [], "-n1 -t10", "Partition=spare"),
    "contiguous": (["n2"], [], [], "-N2 --contiguous -t10", "Contiguous=no"),
    "nodelist": (["n1"], [], [], "-w n1 -n1 -t10", "ReqNodeList="),
    "exclude": (["n1"], [], [], "-x n2,n3 -n1 -t10", "ExcNodeList="),
    "gres_type": ([], ["--gres=gpu:a:2 -w n1", "--gres=gpu:a:2 -w n2"], [], "--gres=gpu:a:1 -n1 -t10", "Gres=gpu:1"),
    "exclusive": ([], ["-n1 -w n1", "-n1 -w n2", "-n1 -w n3"], [], "--exclusive -n1 -t10", "OverSubscribe=YES"),
    "features": (["n1"], [], [], "-C fast -n1 -t10", "Features="),
    "licenses": ([], ["-L lic:2 -n1"], [], "-L lic -n1 -t10", "Licenses="),
    "memory": ([], ["-n1 --mem=3000 -w n1", "-n1 --mem=3000 -w n2", "-n1 --mem=3000 -w n3"], [], "-n1 --mem=2000 -t10", "MinMemoryNode=1000"),
    "cpus_per_task": ([], ["-n2 -w n1", "-n2 -w n2", "-n2 -w n3"], [], "-n1 -c4 -t10", "CPUsPerTask=2"),
    "tasks": (["n1"], [], [], "-n12 -t10", "NumTasks=8"),
    "nodes": (["n1"], [], [], "-N3 -t10", "NumNodes=2"),
    "gres": ([], ["--gres=gpu:1 -w n1", "--gres=gpu:1 -w n2", "--gres=gpu:1 -w n3"], [], "--gres=gpu:2 -n1 -t10", "Gres=gpu:1"),
    "priority": (["n1", "n2"], [], ["-N3 --exclusive -t60"], "-n1 -t300", "Priority="),
    "hold": ([], [], [], "-H -n1", "scontrol release"),
    "begin": ([], [], [], "-b now+1hour -n1", "StartTime=now"),
    "dependency": (["n1"], [], [], "-d afterok:{} -n1", "Dependency="),
}


@pytest.mark.parametrize("kind", CASES)
def test_proposed_change_starts_the_job(c, kind):
    full, others, before, options, text = CASES[kind]
    fill(c, *full)
    last = 0
    for line in others:
        last = run(c, *line.split())
    for line in before:
        wait(c, *line.split())
    last = last or int(c.run("squeue -h -t R -o %i").ok().split()[0]) if "{}" in options else 0
    job = wait(c, *options.format(last).split())
    said = why(c, job)
    assert said["state"] == "PENDING" and said["reason"] == c.job(job)["Reason"] and not said["starts_now"]
    change = change_of(said, kind, text)
    assert change["now"], said
    assert change["by_operator"] == (kind == "priority")
    apply(c, change)
    eventually(lambda: c.state(job) == "RUNNING", f"{kind}: {change}")


def test_elements_with_one_answer_are_grouped(c):
    """X-08: for elements of an array each answer is printed once, with the elements for which it is valid."""
    array = c.sbatch("-H", "-a", "1-5", "-n1", "-o", "/dev/null", wrap=LONG)
    c.run(f"scontrol release {array}_2").ok()
    eventually(lambda: c.state(f"{array}_2") == "RUNNING", "one element runs")
    c.run(f"scontrol update job {array}_4 StartTime=now+1hour").ok()
    c.run(f"scontrol release {array}_4").ok()

    def titles(*asked):
        said = c.run(["sluice", "why", *asked]).ok()
        return [line.split(" (")[0] + line.split("):")[1] for line in said.splitlines() if line.startswith("Job ")]

    held, timed, runs = "PENDING, JobHeldUser", "PENDING, BeginTime", "RUNNING"
    assert titles(f"{array}_[1-5]") == [f"Job {array}_[1,3,5] {held}", f"Job {array}_2 {runs}", f"Job {array}_4 {timed}"]
    assert titles(f"{array}_[3,5]") == [f"Job {array}_[3,5] {held}"] and titles(f"{array}_[1,3]") == [f"Job {array}_[1,3] {held}"]
    assert titles(f"{array}_[2]", f"{array}_3") == [f"Job {array}_2 {runs}", f"Job {array}_3 {held}"]
    assert sorted(titles(str(array))) == [f"Job {array}_4 {timed}", f"Job {array}_[1,3,5] {held}"]  # those that wait
    told = c.json(f"sluice why --json {array}_[1-5]")["why"]
    assert [one["rule"] for one in told] == ["held", None, "begin"]
    c.run(f"sluice why {array}_[7-9]").fails(f"why {array}_[7-9]: Invalid job id specified")
    some = c.run(f"sluice why {array}_[2-4,7,9]")
    assert some.stdout.count("Job ") == 3 and some.fails(f"why {array}_[7,9]: Invalid job id specified")
    beside = wait(c, "-N3", "--exclusive", "-t10", "-w", "n1")
    said = c.run(f"sluice why {beside}").ok()
    assert f"job {array}_2\n" in said, said
    assert "on node n1, for 10:00" in said and ", 3 tasks with 1 CPU each" in said, said
    c.run(f"scancel {beside}").ok()
    c.run(f"scancel {array}").ok()


def test_no_time_limit_is_proposed_without_a_known_end(c):
    """X-13: a shorter time limit does not help a job that waits for licences of a job without a time limit."""
    holder = run(c, "-L", "lic:2", "-n1")
    waiting = wait(c, "-L", "lic", "-n1")
    eventually(lambda: c.job(waiting)["Reason"] == "Licenses", "it waits for a licence")
    said = why(c, waiting)
    assert said["without_limit"] == [holder] and [change["kind"] for change in said["changes"]] == ["licenses"], said


COMPONENTS = {  # jobs that run, the components, which of them it is, the rule, the change that lets all of them start
    "one": (["-w n1 --exclusive -t60"], "-n1 -t10 : -n2 -t10 -C fast : -n1 -t10", 1, "resources", "features"),
    "leader": (["-w n1 --exclusive -t60"], "-n2 -t10 -C fast : -n1 -t10", 0, "resources", "features"),
    "together": (["-w n1 --exclusive -t60"], "-N2 -n2 --exclusive -t10 : -n1 -t10 : -n1 -t10 -p spare", 1, "together", "partition"),
    "held": ([], "-n1 -t10 : -H -n1 -t10", 1, "held", "hold"),
}


@pytest.mark.parametrize("case", COMPONENTS)
def test_blocking_component_is_named(c, case):
    """For a heterogeneous job, sluice why names the component for which the others wait, whichever is requested, and what starts all of them."""
    running, line, offset, rule, kind = COMPONENTS[case]
    for options in running:
        run(c, *options.split())
    leader = int(c.run(["sbatch", "--parsable", "-o", "/dev/null", *line.split(), f"--wrap={LONG}"]).ok())
    count = line.count(":") + 1
    for asked in (leader, leader + count - 1):
        said = why(c, asked)
        assert said["component"] == {"het_job_id": leader, "offset": offset, "job_id": leader + offset, "count": count, "beside": None}
        assert said["rule"] == rule and not said["starts_now"], said
        assert f"Component {offset} of job {leader} (job {leader + offset}, " in c.run(f"sluice why {asked}").ok()
    change = change_of(said, kind, "Partition=spare" if kind == "partition" else "")
    assert change["now"] and f"{leader}+{offset}" in change["command"], said
    apply(c, change)
    eventually(lambda: {c.state(leader + i) for i in range(count)} == {"RUNNING"}, f"all start by {change}")


def test_shorter_limits_fill_the_gap(c):
    """The longest limit with which it starts now: a minute more and it waits."""
    fill(c, "n1", "n2")
    head = wait(c, "-N3", "--exclusive", "-t60")
    job = wait(c, "-n1", "-t300")
    said = why(c, job)
    assert said["rule"] == "kept" and [a["job_id"] for a in said["ahead"]] == [head]
    limit = re.fullmatch(r"a time limit of (\d+):00", change_of(said, "time_limit")["what"])
    minutes = int(limit[1])
    assert 50 <= minutes < 60
    c.run(f"scontrol update JobId={job} TimeLimit={minutes + 2}").ok()
    assert c.state(job) == "PENDING" and why(c, job)["rule"] == "kept"
    c.run(f"scontrol update JobId={job} TimeLimit={minutes}").ok()
    eventually(lambda: c.state(job) == "RUNNING", "it fills the gap")


def test_proposal_moves_the_start_as_printed(c):
    """A proposal that does not start the job now moves its start to the printed time."""
    first = run(c, "-w", "n1", "--exclusive", "-t30")
    run(c, "-w", "n2,n3", "--exclusive", "-t60")
    job = wait(c, "-N2", "-t5")
    said = why(c, job)
    end = {j["job_id"]: j["end_at"] for group in said["nodes"] for j in group["jobs"]}
    assert said["rule"] == "resources" and (said["have"], said["need"]) == (0, 2) and said["resource"] == "nodes with enough CPUs"
    assert said["start_at"] == max(end.values())
    change = change_of(said, "nodes")
    assert not change["now"] and change["start_at"] == end[first] < said["start_at"]
    apply(c, change)
    told = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(change["start_at"]))
    eventually(lambda: c.job(job)["StartTime"] == told, "its start has moved")
    again = why(c, job)
    assert again["start_at"] == change["start_at"]
    c.run(f"scancel {first}").ok()
    eventually(lambda: c.state(job) == "RUNNING", "it starts")


def test_why_explains_array_elements(c):
    job = wait(c, "--array=0-5%1", "-n1")
    eventually(lambda: c.run(["squeue", "-h", "-t", "R", "-o", "%F_%K"]).ok() == f"{job}_0", "the first one runs")
    said = why(c, f"{job}_3")
    assert (said["rule"], said["resource"], said["have"], said["need"]) == ("array_throttle", "elements of the array", 0, 1)
    assert said["job"] == f"{job}_3" and said["reason"] == "JobArrayTaskLimit"
    apply(c, change_of(said, "array_throttle"))
    eventually(lambda: c.run("squeue -h -t R -o %K").ok().split() == ["0", "1"] or
               sorted(c.run("squeue -h -t R -o %K").ok().split()) == ["0", "1"], "another one runs")
    running = why(c, f"{job}_0")
    assert running["state"] == "RUNNING" and running["rule"] is None and running["changes"] == []
    c.run(f"scontrol uhold {job}_4").ok()
    held = why(c, f"{job}_4")
    assert held["rule"] == "held" and change_of(held, "hold")["command"] == f"scontrol release {job}_4"
    c.run(f"sluice why {job}_77").fails("Invalid job id specified")


def test_jobs_that_are_not_pending_are_reported(c):
    job = run(c, "-t30")
    assert "It does not wait: it began" in c.run(f"sluice why {job}").ok()
    done = c.sbatch("-o", "/dev/null", wrap="exit 3")
    c.wait(done)
    assert "It has ended" in c.run(f"sluice why {done}").ok() and "exit code 3:0" in c.run(f"sluice why {done}").ok()
    assert why(c, done)["state"] == "FAILED"


def test_step_of_several_elements_is_explained(c):
    """Each element that runs has the step; elements that wait share an answer, and those that do not exist are named."""
    array = c.sbatch("-H", "-a", "1-4", "-n1", "-o", "/dev/null", wrap="srun sleep 1000")
    for task in 1, 3:
        c.run(f"scontrol release {array}_{task}").ok()
        eventually(lambda: c.run(["squeue", "-h", "-s", "-j", f"{array}_{task}.0", "-o", "%i"]).ok() == f"{array}_{task}.0", "its step runs")
    said = c.run(f"sluice why {array}_[1,3].0").ok()
    assert [line.split(" (")[0] for line in said.splitlines() if line.startswith("Step")] == [f"Step {array}_1.0", f"Step {array}_3.0"]
    some = c.run(f"sluice why {array}_[2-4,8].0")
    assert f"Step {array}_[2,4].0 does not run: its job does not.\nJob {array}_[2,4] " in some.stdout and f"Step {array}_3.0 " in some.stdout, some.stdout
    some.fails(f"why {array}_8.0: Invalid job id specified")
    assert [len(one["steps"]) for one in c.json(f"sluice why --json {array}_[1-3].0")["why"]] == [1, 0, 1]
    c.run(f"scancel {array}").ok()


def test_why_explains_steps(c):
    """A step runs, is suspended with its job, waits with its job, or is not known."""
    job = c.sbatch("-n1", ":", "-n1", wrap="srun --het-group=0,1 -J pair sleep 1000")
    eventually(lambda: c.run(["squeue", "-h", "-s", "-j", f"{job}.0", "-o", "%i"]).ok().split() == [f"{job}+0.0", f"{job}+1.0"], "its step runs")
    for asked, ids in ((f"{job}.0", [f"{job}+0.0", f"{job}+1.0"]), (f"{job}+1.0", [f"{job}+1.0"]), (f"{job}.batch", [f"{job}+0.batch"])):
        lines = c.run(f"sluice why {asked}").ok().splitlines()
        assert [line.split(" (")[0] for line in lines[::2]] == [f"Step {one}" for one in ids]
        assert all("It does not wait: it began" in line for line in lines[1::2])
        assert [(step["step"], step["state"]) for step in why(c, asked)["steps"]] == [(one, "RUNNING") for one in ids]
    c.run(f"sluice why {job}.7").fails(f"why {job}.7: no such step runs: \"squeue -s -j {job}\" lists those that do")
    c.run(f"sluice why {job}+1.7").fails(f"\"squeue -s -j {job}+1\"")
    c.run(f"scontrol suspend {job}").ok()
    said = c.run(f"sluice why {job}+1.0").ok()
    assert f"Step {job}+1.0 (pair): SUSPENDED" in said and f"It is suspended until: scontrol resume {job}" in said
    c.run(f"scontrol resume {job}").ok()
    waits = wait(c, "-H")
    said = c.run(f"sluice why {waits}.0").ok()
    assert said.startswith(f"Step {waits}.0 does not run: its job does not.\nJob {waits} ") and "JobHeldUser" in said
    assert why(c, f"{waits}.0")["steps"] == [] and why(c, waits)["steps"] is None
    c.run(f"scancel {job}").ok()
    c.wait(job)
    assert "It has ended" in c.run(f"sluice why {job}.0").ok()


def test_invalid_ids_are_refused(c):
    c.run("sluice why").fails("sluice: error: why: a job id is needed")
    c.run("sluice why x").fails("sluice: error: why: Invalid job id: x")
    c.run("sluice why 99999").fails("sluice: error: why 99999: Invalid job id specified")
    c.run("sluice why 7.x").fails("Invalid job id: 7.x")
    c.run("sluice why 1 x 7.x").fails("Invalid job id: x\n", "Invalid job id: 7.x\n")


def test_several_jobs_are_explained_in_order(c):
    """A block for each, in the order in which they are named; one that is unknown does not spare the others."""
    held, late = wait(c, "-H"), wait(c, "--begin=now+1hour")
    alone = [c.run(f"sluice why {job}").ok() for job in (late, held)]
    assert c.run(f"sluice why {late} {held}").ok() == "\n\n".join(alone)
    assert [said["job_id"] for said in json.loads(c.run(f"sluice why --json {late} {held}").ok())["why"]] == [late, held]
    some = c.run(f"sluice why {late} 99999 {held}")
    assert some.fails("sluice: error: why 99999: Invalid job id specified") and some.stdout.rstrip("\n") == "\n\n".join(alone)


def test_rules_outside_of_the_queue(c):
    """Each rule is named, and its remedy is proposed if one exists."""
    long = wait(c, "-pshort", "-t60", "-n1")
    said = why(c, long)
    assert (said["rule"], said["reason"]) == ("partition_time", "PartitionTimeLimit")
    assert change_of(said, "time_limit")["command"].endswith("TimeLimit=10:00") and \
        change_of(said, "partition", "=main")["now"]
    apply(c, change_of(said, "time_limit"))
    eventually(lambda: c.state(long) == "RUNNING", "it is short enough")
    wide = wait(c, "-pshort", "-t5", "-N2")
    said = why(c, wide)
    assert said["rule"] == "partition_nodes" and change_of(said, "nodes")["command"].endswith("NumNodes=1")
    apply(c, change_of(said, "nodes"))
    eventually(lambda: c.state(wide) == "RUNNING", "it is small enough")
    c.run("scontrol update PartitionName=spare State=DOWN").ok()
    stuck = wait(c, "-pspare", "-n1")
    said = why(c, stuck)
    assert said["rule"] == "partition_down" and change_of(said, "partition", "=main")["now"]
    apply(c, change_of(said, "partition", "=main"))
    eventually(lambda: c.state(stuck) == "RUNNING", "in another partition")
    c.run("scontrol update PartitionName=spare State=UP").ok()
    never = wait(c, "-d", f"afternotok:{c.sbatch('-o', '/dev/null', wrap='true')}", "-n1")
    eventually(lambda: c.job(never)["Reason"] == "DependencyNeverSatisfied", "it can never start")
    assert why(c, never)["rule"] == "dependency_never"


def test_unavailable_nodes_are_named(c):
    c.run(["scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=bad disk"]).ok()
    job = wait(c, "-N3", "-t10")
    said = why(c, job)
    drained = [g for g in said["nodes"] if g["cause"] == "drained"]
    assert said["rule"] == "unusable" and [(g["nodes"], g["reason"]) for g in drained] == [("n2", "bad disk")]
    assert change_of(said, "nodes")["command"].endswith("NumNodes=2")
    named = wait(c, "-w", "n2", "-n1", "-t10")
    said = why(c, named)
    assert (said["rule"], said["reason"]) in [("required_nodes", "ReqNodeNotAvail"), ("required_nodes", "Priority")]
    c.run("scontrol update NodeName=n2 State=RESUME").ok()
    eventually(lambda: c.state(job) == "RUNNING", "the node is back")


def test_missing_licences_are_named(c):
    holder = run(c, "-L", "lic:2", "-n1", "-t20")
    job = wait(c, "-L", "lic:1", "-n1")
    said = why(c, job)
    assert [(h["job_id"], h["count"]) for h in said["holders"]] == [(int(holder), 2)]
    assert re.search(rf"^    job {holder} of {getpass.getuser()} has 2, until 20\d\d-\S+ at the latest$", c.run(f"sluice why {job}").ok(), re.M)
    assert (said["rule"], said["resource"], said["have"], said["need"]) == ("licenses", "license:lic", 0, 1)


def test_reservations_are_named(c):
    """Reservations of nodes, and of licences with the remaining number. test_private.py tests users from whom PrivateData hides them."""
    c.run("scontrol create reservation ReservationName=keep StartTime=now+20minutes Duration=60 Users=root Nodes=n[1-3] Licenses=lic:1").ok()
    job = wait(c, "-n1", "-t30")
    said = why(c, job)
    assert said["rule"] == "reserved" and [(r["name"], r["nodes"]) for r in said["reservations"]] == [("keep", "n[1-3]")]
    assert "  Reservation keep: nodes n[1-3], from " in c.run(f"sluice why {job}").ok()
    assert change_of(said, "time_limit")["now"]
    c.run(f"scancel {job}").ok()
    needs = wait(c, "-n1", "-t30", "-L", "lic:2", "-p", "spare")
    said = why(c, needs)
    assert (said["rule"], said["resource"], said["have"], said["need"]) == ("licenses", "license:lic", 1, 2)
    c.run(f"scancel {needs}").ok()
    c.run("scontrol delete ReservationName=keep").ok()


def test_partitions_of_others_are_not_proposed(c, nobody):
    fill(c, "n1", "n2", "n3")
    (c.work / "n").mkdir(exist_ok=True)
    job = wait(c, "-n1", "-t10", user="nobody")
    kinds = [(change["kind"], change["command"]) for change in why(c, job, user="nobody")["changes"]]
    assert ("partition", f"scontrol update JobId={job} Partition=spare") in kinds
    assert not any("secret" in command for _, command in kinds)
    assert why(c, job)["rule"] == "resources"
    c.run(f"scancel {job}").ok()


def test_many_why_requests_are_answered(c):
    """Each is answered, though a user has few questions in the line, and others are not kept."""
    fill(c, "n1", "n2", "n3")
    job = wait(c, "-N2", "-t10")
    asked = [c.popen(["sluice", "why", str(job)]) for _ in range(12)]
    for process in asked:
        out, said = process.communicate(timeout=60)
        assert process.returncode == 0 and "It is the first of its partition" in out, said


def same_times(text):
    """Moments of two runs differ, and limits of running jobs by the second."""
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "TIME", text)


def test_output_of_the_scheduling_guide_is_current(make_cluster):
    """What docs/scheduling.md shows is so."""
    c = make_cluster(nodes=3)
    block = re.search(r"^```console\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)[1].replace("(root,", f"({getpass.getuser()},")
    said = ""
    for command in re.findall(r"^\$ (.*)$", block, re.M):
        if command.startswith("squeue"):
            eventually(lambda: c.state(3) == "RUNNING", "it has started")
        done = c.run(["sh", "-c", command])
        said += f"$ {command}\n{done.stdout}{done.stderr}"
    assert same_times(said) == same_times(block)


def test_a_start_behind_a_job_without_a_limit_is_not_predicted(make_cluster):
    """The planner assumes an end after a year, which is no useful prediction."""
    c = make_cluster(nodes=1)
    endless = c.sbatch("--exclusive", wrap="sleep 600")
    waits = c.sbatch("--exclusive", "-t", "5", wrap="true")
    eventually(lambda: c.job(waits)["Reason"] == "Resources", "it waits")
    said = c.run(f"sluice why {waits}").ok()
    assert f"Expected start: not foreseeable, no end is known: job {endless} has no time limit" in said, said
    c.run(f"scontrol update jobid={endless} timelimit=10").ok()
    eventually(lambda: re.search(r"Expected start: 20\d\d-", c.run(f"sluice why {waits}").ok()), "a limit makes it foreseeable")


def test_jobs_behind_pending_jobs_without_a_limit(make_cluster):
    """No dates years away: neither of a job, nor of those before it; the jobs without a limit are named."""
    c = make_cluster(nodes=2, partitions=["PartitionName=main Nodes=n1 Default=YES", "PartitionName=other Nodes=n2"])
    first = c.sbatch("--exclusive", "-t", "10", wrap="sleep 600")
    elsewhere = c.sbatch("-p", "other", "--exclusive", wrap="sleep 600")
    for job in first, elsewhere:
        c.wait_state(job, "RUNNING")
    endless = c.sbatch("--exclusive", wrap="true")
    waits, last = (c.sbatch("--exclusive", "-t", "5", wrap="true") for _ in range(2))
    eventually(lambda: c.job(last)["Reason"] == "Priority", "all are looked at")
    assert why(c, endless)["without_limit"] == [] and why(c, endless)["start_at"] > 0
    said = why(c, last)
    assert said["without_limit"] == [endless] and said["start_at"] is None
    assert [(job["job_id"], job["start_at"] is None) for job in said["ahead"]] == [(endless, False), (waits, True)]
    assert f"Expected start: not foreseeable, no end is known: job {endless} has no time limit" in c.run(f"sluice why {last}").ok()
    c.run(f"scontrol update jobid={first} timelimit=UNLIMITED").ok()
    eventually(lambda: why(c, waits)["without_limit"] == [first, endless], "the new limit")
    assert f"no end is known: jobs {first}, {endless} have no time limit" in c.run(f"sluice why {waits}").ok()


def test_an_array_without_a_limit_is_named_once(make_cluster):
    """Each of its elements has a place before the job that is asked about."""
    c = make_cluster(nodes=1)
    c.wait_state(c.sbatch("--exclusive", "-t", "10", wrap="sleep 600"), "RUNNING")
    array = c.sbatch("-a", "1-3", "--exclusive", wrap="true")
    waits = c.sbatch("--exclusive", "-t", "5", wrap="true")
    eventually(lambda: c.job(waits)["Reason"] == "Priority", "all are looked at")
    assert why(c, waits)["without_limit"] == [array]


def test_removed_licences_are_reported(make_cluster):
    """A request above the number of a licence, and a removed licence: the answer does not say that others use it."""
    c = make_cluster(nodes=1, conf="Licenses=lic:3\n")
    job = wait(c, "-H", "-L", "lic:2")
    text = c.conf_file.read_text()
    c.conf_file.write_text(text.replace("lic:3", "lic:1"))
    c.run("scontrol reconfigure").ok()
    c.run(f"scontrol release {job}").ok()
    eventually(lambda: c.job(job)["Reason"] == "Licenses", "it is looked at")
    said = why(c, job)
    assert (said["rule"], said["resource"], said["have"], said["need"]) == ("too_few", "license:lic", 1, 2)
    c.conf_file.write_text(text.replace("Licenses=lic:3\n", ""))
    c.run("scontrol reconfigure").ok()
    eventually(lambda: c.job(job)["Reason"] == "Licenses", "it is looked at")
    said = why(c, job)
    assert (said["rule"], said["resource"], said["need"]) == ("license_gone", "license:lic", None)
    assert said["lack"].startswith("The cluster has none of lic: define it in Licenses=")
    apply(c, change_of(said, "licenses"))
    c.wait_state(job, "RUNNING")


def test_hold_after_a_failed_prolog(make_cluster):
    """The answer does not say that the user holds the job."""
    c = make_cluster(nodes=1, conf="Prolog=/bin/false")
    job = c.sbatch(wrap="true")
    eventually(lambda: "launch failed requeued held" in c.run(f"squeue -h -j {job} -o %R").stdout, "held")
    said = c.run(f"sluice why {job}").ok()
    assert "It is held since it could not be started" in said and "Prolog /bin/false exited with status 1" in said, said
    assert "Its user holds it" not in said and "Expected start: not foreseeable\n" in said, said


def test_scontrol_show_gates_tells_each_closed_gate(c):
    job = wait(c, "--hold", "--begin=now+1hour", "-p", "main,short", "-t", "60")
    closed = [("hold", "", "JobHeldUser"), ("begin_time", "", "BeginTime"), ("partition_limits", "short", "PartitionTimeLimit")]
    text = c.run(f"scontrol show gates {job}").ok()
    assert text.startswith(f"JobId={job}\n   Gate=")
    assert re.findall(r"^   Gate=(\w+)(?: Partition=(\w+))? State=CLOSED Reason=(\w+)$", text, re.M) == closed
    assert re.search(r"^   Gate=licenses State=OPEN$", text, re.M)
    told = c.json(f"scontrol show gates {job}")["gates"][0]
    assert told["job_id"] == job
    assert [(g["name"], g["partition"] or "", g["reason"]) for g in told["gates"] if not g["open"]] == closed
    assert len(c.run(f"scontrol -o show gates {job}").ok().splitlines()) == 1
    c.run(f"scontrol release {job}").ok()
    assert "Gate=hold State=OPEN" in c.run(f"scontrol show gates {job}").ok()
    running = run(c)
    c.run(f"scontrol show gates {running}").fails("not pending")
    c.run("scontrol show gates").fails("a job id is needed")
