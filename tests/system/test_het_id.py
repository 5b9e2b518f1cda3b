# SPDX-License-Identifier: GPL-3.0-or-later
"""How components of heterogeneous jobs are named, shown, signalled and changed: HET-30 to 46, 48 to 56, 61, 77, 101, 129."""
import json
import re
import signal

import pytest

from harness import ROOT, Cluster, eventually, fields_of, many
from statefile import JOB, State, fields_in
from test_completions import offered

CONF = """SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
MinJobAge=300
PriorityType=priority/multifactor
PriorityWeightAge=1000
SlurmctldParameters=allow_user_triggers
"""
WAIT = "sleep 1000"


@pytest.fixture(scope="module")
def make():
    with many(Cluster) as new:
        yield new


@pytest.fixture(scope="module")
def het(make):
    return make(nodes=4, cpus=4, conf=CONF)


@pytest.fixture(scope="module")
def whole(make):
    return make(nodes=4, cpus=4, conf=CONF + "SchedulerParameters=whole_hetjob\n")


@pytest.fixture
def old(whole):
    """The same with the name of the parameter before 20.02."""
    text = whole.conf_file.read_text()
    whole.conf_file.write_text(text.replace("whole_hetjob", "whole_pack"))
    whole.run("scontrol reconfigure").ok()
    yield whole
    whole.conf_file.write_text(text)
    whole.run("scontrol reconfigure").ok()


def rows(c, *options, format="%i %t"):
    return c.run(["squeue", "-h", "-S", "i", "-o", format, *options]).ok().splitlines()


def submit(c, *options, wrap=WAIT, name="bash", dependency=None):
    """Three components, a node each."""
    line = ["sbatch", "--parsable", "-J", name, *(["-d", dependency] if dependency else []), *options, "--mem=100", "-N1", "--exclusive",
            ":", "-N1", "--exclusive", ":", "-N1", "--exclusive", "--wrap", wrap]
    out = c.run(line).ok()
    assert re.fullmatch(r"\d+", out), out
    return int(out)


def all_are(c, leader, state, offsets=(0, 1, 2)):
    eventually(lambda: rows(c, "-j", str(leader)) == [f"{leader}+{i} {state}" for i in offsets], f"components of {leader} are {state}")


def over(c, leader):
    c.run(f"scancel {leader}").ok()
    eventually(lambda: rows(c, "-j", str(leader), "-t", "PD,R,S,CG,CF") == [], f"job {leader} is over")


@pytest.fixture
def running(het):
    leader = submit(het)
    all_are(het, leader, "R")
    yield leader
    over(het, leader)


@pytest.fixture
def held(het):
    leader = submit(het, "-H")
    yield leader
    over(het, leader)


def fields(c, job, *names):
    shown = [fields_of(line) for line in c.run(f"scontrol show job -o {job}").ok().splitlines()]
    return [tuple(one[name] for name in names) for one in shown]


def which(c, leader, field, value):
    """The offsets of the components of which this is so."""
    return [int(one[0]) for one in fields(c, leader, "HetJobOffset", field) if one[1] == value]


def test_the_transcript_of_the_guide(het):
    """HET-36, 39, 41 to 43: three rows; one is cancelled; two rows; all are."""
    leader = submit(het)
    all_are(het, leader, "R")
    lines = het.run(f"squeue --job={leader}").ok().splitlines()
    assert lines[0].split() == ["JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"]
    user = het.run("id -un").ok()
    for i, line in enumerate(lines[1:]):
        assert re.fullmatch(rf" *{leader}\+{i} +main +bash +{user} +R +\d:\d\d +1 n{i + 1}", line), line
    assert len(lines) == 4
    het.run(f"scancel {leader}+1").ok()
    assert rows(het, "-j", str(leader)) == [f"{leader}+0 R", f"{leader}+2 R"]
    het.run(f"scancel {leader}").ok()
    assert rows(het, "-j", str(leader), "-t", "PD,R,S") == []
    over(het, leader)
    assert het.run(f"squeue --job={leader}").ok().splitlines() == lines[:1]


def test_listings_show_the_ids_of_components(het, held):
    """HET-31 to 35, 38, 40."""
    ids = [held, held + 1, held + 2]
    table = het.run(["squeue", "-h", "-S", "i", "-j", str(held), "-O", "JobID:.8,HetJobID:.8,HetJobOffset:.4,HetJobIDSet:.20,JobArrayID:.12"])
    assert [line.split() for line in table.ok().splitlines()] == [
        [str(job), str(held), str(i), f"{held}-{held + 2}", f"{held}+{i}"] for i, job in enumerate(ids)]
    for asked, want in ((held, ids), (f"{held}+0", ids[:1]), (f"{held}+2", ids[2:]), (held + 1, ids[1:2])):
        assert rows(het, "-j", str(asked), format="%A") == [str(job) for job in want]
        assert fields(het, asked, "JobId", "HetJobId", "HetJobOffset", "HetJobIdSet") == [
            (str(job), str(held), str(job - held), f"{held}-{held + 2}") for job in want]
        shown = het.json(f"squeue -j {asked}")["jobs"]
        assert [(job["job_id"], job["het_job_id"]["number"], job["het_job_offset"]["number"], job["het_job_id_set"]) for job in shown] == [
            (job, held, job - held, f"{held}-{held + 2}") for job in want]
    text = het.run(f"scontrol show job {held}+1").ok()
    assert text.startswith(f"JobId={held + 1} HetJobId={held} HetJobOffset=1 JobName=bash\n")
    assert f"\n   HetJobIdSet={held}-{held + 2}\n" in text
    het.kill("slurmctld")
    het.start_controller()
    assert het.run(["squeue", "-h", "-j", str(held), "-O", "HetJobIDSet"]).ok().split() == [f"{held}-{held + 2}"] * 3
    # Several are named at a time, and each is listed once.
    assert rows(het, "-j", f"{held}+2,{held}+1,{held + 1}", format="%i") == [f"{held}+1", f"{held}+2"]
    assert rows(het, "-j", f"{held}+1", "-S", "-i", format="%i") == [f"{held}+1"]


def test_refused_id_lists_the_existing_components(het, held):
    """HET-37."""
    have = f"Invalid job id specified: job {held} has components 0 to 2"
    for line in (f"squeue -j {held}+3", f"scontrol show job {held}+3", f"scontrol hold {held}+3", f"scontrol update jobid={held}+3 nice=1",
                 f"scontrol update jobid={held}+3 timelimit=+1", f"scontrol suspend {held}+3", f"scontrol top {held}+3",
                 f"scontrol notify {held}+3 hello", f"scontrol write batch_script {held}+3 -", f"scontrol wait_job {held}+3",
                 f"scontrol listpids {held}+3", f"sluice why {held}+3", f"sstat {held}+3", f"sstat {held}+3.0",
                 f"sattach {held}+3.0", f"scontrol show step {held}+3", f"scontrol show step {held}+3.0", f"squeue -s -j {held}+3.0",
                 f"sprio -j {held}+3", f"strigger --set --fini --jobid={held}+3 --program=/bin/true",
                 f"scancel -s USR1 {held}+3", f"sbatch -d afterok:{held}+3 --wrap=true"):
        done = het.run(line)
        assert done.returncode != 0 and have in done.stdout + done.stderr, f"{line}: {done}"
    assert have in het.run(f"scancel {held}+3").stderr
    het.run(f"sbcast -j {held}+3 /etc/hostname copied").fails(f"Can't get the credential for job {held}+3: {have}")
    het.run(f"scontrol hold {held + 1}+0").fails(f"job {held + 1} is component 1 of heterogeneous job {held}")
    for line in ("sstat 9999+1", "sstat 9999+1.0", "sattach 9999+1.0", "scontrol show step 9999+1.0", "scontrol show job 9999+1", "scontrol show job 9999+io"):
        done = het.run(line)
        said = [line for line in (done.stdout + done.stderr).splitlines() if "MaxVMSize" not in line and not line.startswith("---")]
        assert (done.returncode, len(said)) == (1, 1) and "Invalid job id specified" in said[0] and "step" not in said[0].split(":")[-1], done
    single = het.sbatch("-H", wrap="true")
    for line in f"sstat {single}+1", f"sattach {single}+1.0", f"scontrol show step {single}+1.0":
        het.run(line).fails(f"Invalid job id specified: job {single} is not a heterogeneous job")
    het.run(f"scontrol hold {single}+0").fails(f"job {single} is not a heterogeneous job")
    het.run(f"squeue -j {single}+0").fails(f"job {single} is not a heterogeneous job")
    het.run(f"scancel {single}").ok()
    for line in ("squeue -j 1+x", "scancel 1++1", "scontrol show job 1+", "sprio -j 1+1_2", "sstat 1_2+1", "sattach 1+1+1.0", "strigger --get --jobid=1+1.0"):
        assert het.run(line).returncode != 0, line


def test_a_pending_job_is_cancelled_as_a_whole(het, held):
    """HET-44, 45."""
    for asked in (f"{held}+0", f"{held}+1", held + 2):
        het.run(f"scancel {asked}").fails(f"Kill job error on job id {asked}: Operation is only possible for a whole heterogeneous job")
        assert len(rows(het, "-j", str(held))) == 3
    for asked in (held, f"{held}+0", f"{held}+1"):  # there is nothing to signal
        het.run(f"scancel -s USR1 {asked}").fails(f"Kill job error on job id {asked}: Job is pending execution")
    het.run(f"scancel {held}").ok()
    assert rows(het, "-j", str(held), "-t", "PD") == []


def test_end_of_component_0_ends_the_set(het):
    """HET-46."""
    leader = submit(het)
    all_are(het, leader, "R")
    het.run(f"scancel {leader}+0").ok()
    assert rows(het, "-j", str(leader), "-t", "PD,R,S") == []
    over(het, leader)


def test_interactive_cancel_asks_for_the_whole_set_first(het, running):
    done = het.run(f"scancel -i {running}", stdin="n\nn\ny\n")
    assert re.findall(r"job_id=(\S+) ", done.stdout) == [str(running), f"{running}+1", f"{running}+2"]
    assert rows(het, "-j", str(running), "-t", "PD,R,S") == [f"{running}+0 R", f"{running}+1 R"]
    done = het.run(f"scancel -i -n bash {running}", stdin="y\n")
    assert re.findall(r"job_id=(\S+) ", done.stdout) == [str(running)]
    assert rows(het, "-j", str(running), "-t", "PD,R,S") == []


def test_interactive_cancels_one_element_of_an_array_of_sets(het):
    """HET-37, 99: the leader of the first element has the id of the array."""
    array = het.sbatch("-H", "-a", "1-2", "-n1", ":", "-n1", wrap=WAIT)
    done = het.run(f"scancel -i {array}", stdin="y\nn\nn\n")
    assert re.findall(r"job_id=(\S+) ", done.stdout) == [f"{array}_1", f"{array}_2", f"{array}_2+1"]
    assert rows(het, "-j", str(array)) == [f"{array}_2+0 PD", f"{array}_2+1 PD"]
    het.run(f"scancel {array}").ok()


def test_a_component_of_several_elements(het):
    """HET-37, 99: "7_[1-2]+1" is one component of each of these elements, by its number or name, wherever several jobs may be named."""
    blocker = het.sbatch("-N4", "--exclusive", wrap=WAIT)
    array = het.sbatch("-a", "1-3", "-n1", ":", "-n1", "--component=io", wrap=WAIT)

    def held():
        return [line.split()[0] for line in rows(het, "-r", "-j", str(array), format="%i %r") if line.endswith(" JobHeldAdmin")]

    for name in "1", "io":
        several, changed = f"{array}_[1-2]+{name}", f"by-{name}"
        assert rows(het, "-r", "-j", several) == [f"{array}_1+1 PD", f"{array}_2+1 PD"]
        assert [(one["ArrayTaskId"], one["HetJobOffset"]) for one in
                map(fields_of, het.run(f"scontrol show job -o {several}").ok().splitlines())] == [("1", "1"), ("2", "1")]
        assert [line.split()[0] for line in het.run(f"sprio -h -j {several}").ok().splitlines()] == [str(array + 1), str(array + 3)]
        het.run(f"scontrol update jobid={several} comment={changed}").ok()
        commented = [(one["ArrayTaskId"], one["HetJobOffset"]) for one in
                     map(fields_of, het.run(f"scontrol show job -o {array}").ok().splitlines()) if one.get("Comment") == changed]
        assert commented == [("1", "1"), ("2", "1")]
        for command in f"strigger --set --fini --program=/bin/true --jobid={several}", f"sluice why {several}", f"sattach {several}.0":
            het.run(command).fails(f"{several}", "name one element of the job array")
    het.run(f"scontrol hold {array}_[1,3]+1").ok()
    het.run(f"scancel {blocker}").ok()
    eventually(lambda: held() == [f"{array}_1+1", f"{array}_3+1"], held)
    eventually(lambda: rows(het, "-j", f"{array}_2") == [f"{array}_2+0 R", f"{array}_2+1 R"], "the element between them runs")
    het.run(f"scontrol suspend {array}_[1-2]+1").fails(f"for job {array}_1+1", f"for job {array}_2+1")
    het.run(f"scancel {array}_[1,3]+1").fails("whole heterogeneous job")
    het.run(f"scontrol release {array}_[1-9]+io").ok()
    eventually(lambda: [row.split()[1] for row in rows(het, "-j", str(array))] == ["R"] * 6, "all run")
    het.run(f"scontrol wait_job {array}_[1-3]+1").ok()
    steps = [f"{array}_{i}+0.batch" for i in (2, 3)]

    def batch_steps():
        return [fields_of(line)["StepId"] for line in het.run(f"scontrol -o show step {array}_[2-3]+0.batch").ok().splitlines()]

    eventually(lambda: batch_steps() == steps, batch_steps)
    eventually(lambda: het.run(f"sstat -n -P -o jobid -j {array}_[2-3]+0.batch").ok().splitlines() == steps, "both have figures of use")
    het.run(f"scancel {array}_[2-3]+1").ok()
    eventually(lambda: rows(het, "-j", str(array)) == [f"{array}_1+0 R", f"{array}_1+1 R", f"{array}_2+0 R", f"{array}_3+0 R"], "two are cancelled")
    het.run(f"squeue -j {array}_[7-8]+1").fails("Invalid job id")
    het.run(f"scancel {array}_[1-2]+disk").fails(f"job {array}_[1-2] has no component named 'disk': its components are 0, 1 (io)")
    het.run(f"scancel {array}").ok()


@pytest.mark.parametrize("filters", ["-n told", "-n told -A physics"])
def test_messages_of_scancel_have_the_ids_of_listings(het, filters):
    """HET-37: with filters of the controller and of scancel; the id of a whole set has no offset."""
    sets, array = (het.sbatch("-J", "told", "-Aphysics", "-a", "1-2", "--mem=10", "-n1", *more, wrap=WAIT) for more in ((":", "-n1"), ()))
    single = het.sbatch("-J", "told", "-Aphysics", "--mem=10", "-n1", ":", "-n1", wrap=WAIT)
    held = het.sbatch("-H", "-J", "told", "-Aphysics", "-a", "1-2", "--mem=10", "-n1", wrap=WAIT)
    eventually(lambda: [row.split()[1] for row in rows(het, "-n", "told")].count("R") == 8, "all but the held array run")
    components = [f"{sets}_{i}+{k}" for i in (1, 2) for k in (0, 1)] + [f"{single}+{k}" for k in (0, 1)]
    listed = sorted(row.split()[0] for row in rows(het, "-n", "told", "-t", "R"))
    assert listed == sorted([*components, f"{array}_1", f"{array}_2"])

    def told(options):
        return sorted(re.findall(r" job (\S+)$", het.run(f"scancel -v {filters} {options}").stderr, re.M))

    assert told("-t RUNNING -s CONT") == listed
    assert told("") == sorted([f"{sets}_1", f"{sets}_2", f"{array}_1", f"{array}_2", f"{held}_[1-2]", str(single)])
    for job in sets, array, single:
        over(het, job)


@pytest.mark.parametrize("filters", ["-n chosen", "-n chosen -A physics"])
def test_filters_cancel_a_pending_set_as_a_whole(het, filters):
    """The controller applies the first filter, scancel the second."""
    leader = submit(het, "-H", "-Aphysics", name="chosen")
    het.run(f"scancel {filters}").ok()
    assert rows(het, "-j", str(leader), "-t", "PD") == []


def catcher(c, job):
    """A step with a task in each of three components that notes each signal."""
    step = c.popen(["srun", f"--jobid={job}", "--het-group=0-2", "-n1", "sh", "-c",
                    f"mark=caught-{job}-$SLURM_PROCID; trap 'echo got >>$mark' USR1; trap 'exit 0' TERM; echo ready >>$mark; while :; do sleep 0.1; done"])
    marks = [c.work / f"caught-{job}-{i}" for i in range(3)]
    eventually(lambda: all(mark.exists() and "ready" in mark.read_text() for mark in marks), f"step of {job}")
    return step


def test_signals_reach_all_components_or_one(het, running):
    """HET-41, 77, 101."""
    step = catcher(het, running)

    def caught():
        return [(het.work / f"caught-{running}-{i}").read_text().count("got") for i in range(3)]

    het.run(f"scancel -s USR1 {running}+1.0").ok()
    eventually(lambda: caught() == [0, 1, 0], "the step of one component")
    het.run(f"scancel -s USR1 {running}.0").ok()
    eventually(lambda: caught() == [1, 2, 1], "the steps of all components")
    het.run(f"scancel -s USR1 {running}").ok()
    eventually(lambda: caught() == [2, 3, 2], "all components")
    assert rows(het, "-s", "-j", str(running), format="%i") == [f"{running}+0.0", f"{running}+0.batch", f"{running}+1.0", f"{running}+2.0"]
    assert rows(het, "-s", "-j", f"{running}+1", format="%i") == [f"{running}+1.0"]
    assert rows(het, "-s", "-j", f"{running}+2.0", format="%i") == [f"{running}+2.0"]
    shown = het.run(f"scontrol show step {running}+1.0").ok()
    assert shown.startswith(f"StepId={running}+1.0 ")
    assert het.run(f"scontrol show step {running}.0").ok().count("StepId=") == 3
    ids = [step["step"]["id"] for step in json.loads(het.run(f"squeue -s --json -j {running}").ok())["steps"]]
    assert {(i["job_id"]["number"], i["step_het_component"]["number"], i["step_id"]) for i in ids} == {
        (running, 0, "0"), (running, 0, "batch"), (running + 1, 1, "0"), (running + 2, 2, "0")}
    # sstat and sattach
    usage = het.run(f"sstat -n -P -o jobid -j {running}").ok().splitlines()
    assert usage == [f"{running}+{i}.0" for i in range(3)]
    assert het.run(f"sstat -n -P -o jobid -j {running}+2").ok() == f"{running}+2.0"
    assert "Node 0 (n2), 1 task(s)" in het.run(f"sattach --layout {running}+1.0").ok()
    assert "Node 0 (n1), 1 task(s)" in het.run(f"sattach --layout {running}.0").ok()
    het.run(f"scontrol update StepId={running}+1.0 TimeLimit=30").ok()
    assert [fields_of(het.run(f"scontrol -o show step {running}+{i}.0").ok())["TimeLimit"] for i in (0, 1)] == ["UNLIMITED", "00:30:00"]
    listed = het.run(f"scontrol listpids {running}+1").ok()
    assert set(re.findall(r"^\d+ +(\d+) +0 ", listed, re.M)) == {str(running + 1)}
    het.run(f"scancel {running}+1.0").ok()
    eventually(lambda: rows(het, "-s", "-j", f"{running}+1", format="%i") == [], "the step has ended in one component")
    assert step.poll() is None and len(rows(het, "-s", "-j", str(running), format="%i")) == 3
    het.run(f"scancel -s TERM {running}.0").ok()
    step.wait()


def test_the_step_of_a_component_has_its_name(het, running):
    """HET-36, 77: in what srun, the step's daemon and the controller say; a step of several components has the id of all."""
    ends = "scancel $SLURM_JOB_ID+1.$SLURM_STEP_ID; sleep 100"
    one = het.run(["srun", "-v", f"--jobid={running}+1", "-n1", "sh", "-c", ends]).stderr
    assert re.search(rf"^srun: launching StepId={running}\+1\.\d+ on host n2, 1 tasks: 0$", one, re.M), one
    assert re.search(rf"^slurmstepd: error: \*\*\* STEP {running}\+1\.\d+ ON n2 CANCELLED", one, re.M), one
    all_of_it = het.run(f"srun -v --jobid={running} --het-group=0,1 -n1 true").stderr
    assert len(re.findall(rf"^srun: launching StepId={running}\.\d+ on host", all_of_it, re.M)) == 2, all_of_it
    holder = het.popen(["srun", f"--jobid={running}+2", "sleep", "1000"])
    step, = eventually(lambda: rows(het, "-s", "-j", f"{running}+2", format="%i"), "the step runs")
    het.run(["srun", f"--jobid={running}+2", "-I", "-n4", "true"]).fails(f"are held by StepId={step};")
    het.run(f"scancel {step}").ok()
    holder.wait()


def test_jobid_and_het_group_name_the_same_component(het, running):
    """HET-68: what the two say must agree."""
    where = ["printenv", "SLURMD_NODENAME"]
    for line in (["--het-group=0", f"--jobid={running}+1"], [f"--jobid={running}+1", "--het-group=0"], [f"--jobid={running}+1", "--het-group=0,1"]):
        het.run(["srun", *line, *where]).fails(f"srun: error: --jobid={running}+1 names component 1, and --het-group=0")
    for line in (["--het-group=1", f"--jobid={running}+1"], [f"--jobid={running}+1", "--het-group=1"], [f"--jobid={running}+1"],
                 [f"--jobid={running}+2", f"--jobid={running}+1"], [f"--jobid={running}+2", f"--jobid={running}", "--het-group=1"]):
        assert het.run(["srun", *line, "-n1", *where]).ok() == "n2", line


def test_the_script_is_the_leaders(het, running):
    """HET-41: scancel --batch signals a script, or says that there is none."""
    over(het, running)
    job = submit(het, wrap="trap 'echo got >>batch-signals' USR1; : >batch-signals; while :; do sleep 0.1; done")
    mark = het.work / "batch-signals"
    eventually(mark.exists, "the script runs")
    for asked in f"{job}+1", job + 2:
        het.run(f"scancel -s USR1 --batch {asked}").fails(
            f"Kill job error on job id {asked}: Invalid job step id specified: job {job}+{str(asked)[-1] if '+' in str(asked) else 2} has no script: "
            f"that of heterogeneous job {job} is its leader's")
    for count, asked in enumerate((job, f"{job}+0", "-u root" if ROOT else f"-t R {job}"), 1):
        done = het.run(f"scancel -s USR1 --batch {asked}")
        assert (done.ok(), done.stderr) == ("", "")
        eventually(lambda: mark.read_text().count("got") == count, f"the script has signal {count}")
    over(het, job)
    het.run("salloc -Q --no-shell -n1").ok()
    plain, = rows(het, "-t", "R", format="%i")
    het.run(f"scancel -s USR1 --batch {plain}").fails(f"Invalid job step id specified: job {plain} has no script")
    over(het, plain)


def test_update_applies_to_all_components_or_one(het, held):
    """HET-48, 49."""
    het.run(f"scontrol update jobid={held}+2 account=abc").ok()
    assert which(het, held, "Account", "abc") == [2]
    het.run(f"scontrol update jobid={held} timelimit=60").ok()
    assert which(het, held, "TimeLimit", "01:00:00") == [0, 1, 2]
    het.run(f"scontrol update jobid={held}+1 timelimit=30").ok()
    het.run(f"scontrol update jobid={held} timelimit=+5").ok()
    assert fields(het, held, "TimeLimit") == [("01:05:00",), ("00:35:00",), ("01:05:00",)]
    het.run(f"scontrol update jobid={held + 1} comment=one").ok()
    assert rows(het, "-j", str(held), format="%i %k") == [f"{held}+0 (null)", f"{held}+1 one", f"{held}+2 (null)"]
    for asked, begins, offsets in ((f"{held}+1", "2035-01-02T03:04:05", [1]), (held, "2036-01-02T03:04:05", [0, 1, 2])):
        het.run(f"scontrol update jobid={asked} starttime={begins}").ok()
        assert which(het, held, "EligibleTime", begins) == which(het, held, "StartTime", begins) == offsets
    het.run("scontrol update JobName=bash timelimit=9").ok()
    assert which(het, held, "TimeLimit", "00:09:00") == [0, 1, 2]
    het.run(f"scontrol update jobid={held}+1 JobName=other").ok()
    for name, limit, offsets in (("bash", "7", [0, 2]), ("other", "8", [1])):  # each component has a name of its own
        het.run(f"scontrol update JobName={name} timelimit={limit}").ok()
        assert which(het, held, "TimeLimit", f"00:0{limit}:00") == offsets
    het.run("scontrol update JobName=bash timelimit=+1").ok()
    assert fields(het, held, "TimeLimit") == [("00:08:00",), ("00:08:00",), ("00:08:00",)]
    done = het.run("scontrol update JobName=bash Partition=nosuch")
    assert re.findall(r"for job (\S+)", done.stdout + done.stderr) == [f"{held}+0", f"{held}+2"], done


@pytest.mark.parametrize("verb", ["hold", "uhold"])
def test_hold_and_release(het, whole, verb):
    """HET-53 to 56."""
    for c in (het, whole):
        blocker = c.sbatch("-N4", "--exclusive", wrap=WAIT)
        leader = submit(c)
        is_whole = c is whole

        def held():
            return which(c, leader, "Reason", "JobHeldAdmin" if verb == "hold" else "JobHeldUser")

        for asked, alone in ((leader, [0, 1, 2]), (f"{leader}+1", [1]), (leader + 2, [0, 1, 2] if is_whole else [2])):
            c.run(f"scontrol {verb} {asked}").ok()
            assert held() == alone, asked
            c.run(f"scontrol release {leader}").ok()
            assert held() == []
        c.run(f"scontrol {verb} {leader}").ok()
        c.run(f"scontrol release {leader}+1").ok()
        assert held() == [0, 2]
        c.run(f"scontrol release {leader + 2}").ok()
        assert held() == ([] if is_whole else [0])
        c.run(f"scancel {blocker}").ok()
        over(c, leader)
        eventually(lambda: rows(c) == [], "all is over")


def test_whole_pack_is_whole_hetjob(old):
    """HET-16."""
    leader = submit(old)
    all_are(old, leader, "R")
    old.run(f"scancel {leader + 1}").ok()
    over(old, leader)


def test_whole_hetjob_is_about_cancelling_too(whole):
    """HET-54, 55."""
    leader = submit(whole)
    all_are(whole, leader, "R")
    whole.run(f"scancel {leader}+2").ok()
    assert rows(whole, "-j", str(leader)) == [f"{leader}+0 R", f"{leader}+1 R"]
    whole.run(f"scancel {leader + 1}").ok()
    assert rows(whole, "-j", str(leader), "-t", "PD,R,S") == []
    over(whole, leader)
    waits = submit(whole, "-H")
    whole.run(f"scancel {waits}+1").fails("whole heterogeneous job")
    whole.run(f"scancel {waits + 1}").ok()
    assert rows(whole, "-j", str(waits), "-t", "PD") == []


def test_component_is_cancelled_alone_by_its_own_id(het, running):
    """HET-53."""
    het.run(f"scancel {running + 1}").ok()
    assert rows(het, "-j", str(running)) == [f"{running}+0 R", f"{running}+2 R"]


def test_suspend_resume_and_requeue_apply_to_the_whole_set(het):
    """HET-50 to 52."""
    leader = submit(het, "--requeue")
    all_are(het, leader, "R")
    for verb in ("suspend", "resume", "requeue", "requeuehold"):
        for asked in (f"{leader}+0", f"{leader}+1", leader + 1):
            done = het.run(f"scontrol {verb} {asked}")
            assert done.returncode == 1, verb
            assert done.stderr + done.stdout == "Operation is only possible for a whole heterogeneous job: " \
                                                f"use the job id {leader} for job {asked}\n"
    all_are(het, leader, "R")
    het.run(f"scontrol suspend {leader}").ok()
    all_are(het, leader, "S")
    for asked in (f"{leader}+0", f"{leader}+1", leader + 1):
        het.run(f"scontrol resume {asked}").fails("whole heterogeneous job", f"use the job id {leader} for job {asked}")
    all_are(het, leader, "S")
    het.run(f"scontrol resume {leader}").ok()
    all_are(het, leader, "R")
    het.run(f"scontrol requeuehold {leader}").ok()
    all_are(het, leader, "PD")
    assert which(het, leader, "Priority", "0") == [0, 1, 2]
    het.run(f"scontrol release {leader}+1").ok()
    assert which(het, leader, "Priority", "0") == [0, 2]
    over(het, leader)


def test_the_other_commands_take_components(het):
    """HET-30, 37."""
    blocker = het.sbatch("-N4", "--exclusive", wrap=WAIT)
    leader = submit(het)
    assert [line.split()[0] for line in het.run(f"sprio -h -j {leader}").ok().splitlines()] == [str(leader + i) for i in range(3)]
    assert het.run(f"sprio -h -j {leader}+2").ok().split()[0] == str(leader + 2)
    assert f"{leader}+1" in het.run(f"sluice why {leader}+1").ok()
    het.run(f"scontrol top {leader}+1").ok()
    assert het.run(f"scontrol write batch_script {leader} -").ok().startswith("#!/bin/sh")
    assert het.run(f"scontrol write batch_script {leader}+0 -").ok().startswith("#!/bin/sh")
    done = het.run(f"scontrol write batch_script {leader}+1 -")
    assert done.returncode == 1 and f"job {leader}+1 has no script" in done.stdout + done.stderr
    het.run(f"strigger --set --fini --jobid={leader}+1 --program=/bin/true").ok()
    assert het.run(f"strigger --get --jobid={leader}+1").ok().split("\n")[1].split()[2] == str(leader + 1)
    het.run(f"strigger --clear --jobid={leader}+1").ok()
    het.run(f"strigger --set --fini --jobid={leader}+0 --program=/bin/true").ok()
    assert het.run(f"strigger --get --jobid={leader}+0").ok().split("\n")[1].split()[2] == f"{leader}+0"
    assert len(het.run(f"strigger --get --jobid={leader}").ok().splitlines()) == 1
    het.run(f"strigger --clear --jobid={leader}+0").ok()
    assert len(het.run("strigger --get").ok().splitlines()) == 1
    wait = het.popen(f"scontrol wait_job {leader}+2")
    het.run(f"scancel {blocker}").ok()
    assert wait.wait() == 0
    het.run(f"scontrol notify {leader} all of it").ok()
    eventually(lambda: "all of it" in het.output(leader), "the script was told")
    over(het, leader)


def test_a_dependency_on_a_component_or_on_all(het):
    """HET-129."""
    leader = submit(het)
    all_are(het, leader, "R")
    after = {spec: het.sbatch("-d", spec.format(leader), "-N1", wrap="true")
             for spec in ("afterok:{}", "afternotok:{}+1", "afterany:{}+2")}
    assert rows(het, "-j", str(after["afterany:{}+2"]), format="%E") == [f"afterany:{leader}+2(unfulfilled)"]
    het.run(f"scancel {leader}+1").ok()
    het.wait(after["afternotok:{}+1"])
    assert het.state(after["afterok:{}"]) == het.state(after["afterany:{}+2"]) == "PENDING"
    over(het, leader)
    het.wait(after["afterany:{}+2"])
    eventually(lambda: rows(het, "-j", str(after["afterok:{}"]), format="%r") == ["DependencyNeverSatisfied"], "the job did not end well")
    het.run(f"scancel {after['afterok:{}']}").ok()


def test_singletons_run_one_after_the_other(het):
    """HET-129."""
    first, second = (submit(het, "--exclusive", name="one", dependency="singleton") for _ in range(2))
    all_are(het, first, "R")
    assert rows(het, "-j", str(second), format="%i %r") == [f"{second}+{i} Dependency" for i in range(3)]
    over(het, first)
    all_are(het, second, "R")
    over(het, second)


def test_completion_offers_the_whole_and_components(het, held):
    """HET-37."""
    words = offered(f"scontrol show job {held}", het)
    assert sorted(words) == [str(held), *(f"{held}+{i}" for i in range(3))]


def test_missing_component_of_a_known_job(het, held):
    """HET-37: scancel says that the component does not exist, and fails as for a step, whatever is asked of the component."""
    said = f"Invalid job id specified: job {held} has components 0 to 2"
    for options in "", "-s USR1", "-u root", "-t PENDING", "--ctld", "-i":
        het.run(f"scancel {options} {held}+9").fails(f"scancel: error: Kill job error on job id {held}+9: {said}")
        het.run(f"scancel -Q {options} {held}+9").fails()
    het.run(f"scancel {held}+9.0").fails(f"Kill job error on job step id {held}+9.0: {said}")
    het.run("scancel 999999").ok()
    assert rows(het, "-j", str(held)) == [f"{held}+{i} PD" for i in range(3)]


def test_ids_of_array_elements_of_sets(het):
    """HET-99: each element of a job array is a set, with ids as 123_4+1."""
    job = int(het.run(["sbatch", "--parsable", "-a", "1,3", "-o", "out_%A_%a", "-N1", "--exclusive", ":", "-N1", "--exclusive", "--component=io", "--wrap",
                       "srun --het-group=0,io true; echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_HET_SIZE $SLURM_JOB_ID; sleep 1000"]).ok())
    eventually(lambda: rows(het, "-j", str(job)) == [f"{job}_1+0 R", f"{job}_1+1 R", f"{job}_3+0 R", f"{job}_3+1 R"], "both elements run")
    for task, leader in (1, job), (3, job + 2):
        out = het.work / f"out_{job}_{task}"
        eventually(lambda: out.read_text() if out.exists() else "", "its step is over")
        assert out.read_text() == f"{job} {task} 2 {leader}\n"
    assert rows(het, "-j", f"{job}_3") == [f"{job}_3+0 R", f"{job}_3+1 R"]
    assert rows(het, "-j", f"{job}_3+1") == rows(het, "-j", f"{job}_3+io") == rows(het, "-j", f"{job + 2}+1") == [f"{job}_3+1 R"]
    shown = fields_of(het.run(f"scontrol show job {job}_3+1").ok())
    assert [shown[key] for key in ("ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset")] == [str(job), "3", str(job + 2), "1"]
    steps = [f"{job}_1+0.batch", f"{job}_3+0.batch"]
    assert sorted(fields_of(line)["StepId"] for line in het.run(f"scontrol -o show step {job}").ok().splitlines()) == steps
    for asked, shown in ((job, steps), (f"{job}_3", steps[1:]), (f"{job}_3+0", steps[1:]), (f"{job}_3+0.batch", steps[1:])):
        assert sorted(het.run(f"sstat -n -P -a -o jobid -j {asked}").ok().splitlines()) == shown
    het.run(f"squeue -j {job}_4+0").fails("Invalid job id")
    het.run(f"scancel {job}_3+1").ok()
    eventually(lambda: rows(het, "-j", str(job)) == [f"{job}_1+0 R", f"{job}_1+1 R", f"{job}_3+0 R"], "one component is cancelled")
    het.run(f"scancel {job}_1").ok()
    eventually(lambda: rows(het, "-j", str(job)) == [f"{job}_3+0 R"], "one element is cancelled")
    het.run(f"scancel {job}").ok()
    eventually(lambda: rows(het, "-j", str(job), "-t", "PD,R,S,CG,CF") == [], "the array is over")


TAKES = {  # command: what it says with the id in it
    "squeue -h -j {} -o %i": "{}",
    "scontrol show job {}": "",
    "scontrol show step {}": "",
    "scontrol update jobid={} comment=x": "",
    "scontrol wait_job {}": "",
    "scontrol listpids {}.7 n1": "StepId={}.7 does not exist on node n1.",
    "scontrol notify {} hello": "",
    "scontrol write batch_script {} -": "",
    "scontrol top {}": "for job {}",
    "scancel {}.7": "job step id {}.7",
    "sbcast -v -f -j {} /etc/hostname copied": "jobid      = {}",
    "srun --jobid={} -n1 --overlap true": "",
    "srun --jobid={} -n99 --overlap true": "Unable to create step for job {}",
    "sattach {}.7": "step {}.7 is not running",
    "sstat -j {}.7": "StepId={}.7 not found running",
    "sprio -j {}": "",
    "sluice why {}": "Job {}",
    "sbatch -H -d afterok:{} --wrap=true": "Submitted batch job",
    "strigger --quiet --set --fini --jobid={} --program=/bin/true": "",
    "strigger --get --jobid={}": "",
}

SUCCEEDS = ("squeue", "scontrol show job", "scontrol update", "scontrol wait_job", "scontrol notify", "sbcast", "srun --jobid={} -n1 ", "sprio",
            "sluice why", "sbatch", "strigger")


@pytest.fixture(scope="module")
def named(make):
    """A cluster, and ids of its running jobs: one of each kind."""
    c = make(nodes=4, cpus=4, conf=CONF)
    array = c.sbatch("-a", "2,3", "-n1", "--mem=10", wrap=WAIT)
    pair = c.sbatch("-n1", "--mem=10", ":", "-n1", "--mem=10", wrap=WAIT)
    sets = c.sbatch("-a", "2,3", "-n1", "--mem=10", ":", "-n1", "--mem=10", wrap=WAIT)
    eventually(lambda: [line.split()[1] for line in rows(c)] == ["R"] * 8, "all run")
    return c, {"JOB": str(array), "JOB_ELEMENT": f"{array}_2", "LAST_ELEMENT": f"{array}_3", "SET": str(pair), "SET+OFFSET": f"{pair}+1",
               "SETS": str(sets), "SETS_ELEMENT": f"{sets}_3", "FIRST_SETS_ELEMENT": f"{sets}_2", "SETS_ELEMENT+OFFSET": f"{sets}_3+1",
               "FIRST_SETS_ELEMENT+0": f"{sets}_2+0"}


@pytest.mark.parametrize("command", TAKES)
def test_each_command_takes_and_prints_each_kind_of_id(named, command):
    """HET-37."""
    c, ids = named
    wrong = []
    for kind, job in ids.items():
        done = c.run(command.format(job))
        said, text = done.stdout + done.stderr, TAKES[command]
        refused = re.search(r"[Ii]nvalid (job.?id|numeric|jobid)|not a job id|does not look like", said)
        told = bool(text) and text.format(job) in said
        if (text and not told) or (refused and not told and "has no script" not in said) or (command.startswith(SUCCEEDS) and done.returncode):
            wrong.append(f"{kind}: {done}")
    assert not wrong, "\n".join(wrong)


FIFTH = [  # a command with the id of a component; what it tells of jobs and nodes, and that of the fifth one, number {job} on n4
    ("squeue -h -j {id} -o %A", r"\d+", "{job}"),
    ("squeue -hs -s {id}.0 -o %i", r"\S+", "{id}.0"),
    ("squeue -hs -j {id} -o %N", r"\S+", "n4"),
    ("scontrol show job -o {id}", r"^JobId=(\d+)", "{job}"),
    ("scontrol show step {id}", r"StepId=(\S+)", "{id}.0"),
    ("scontrol show step {id}.0", r"NodeList=(\S+)", "n4"),
    ("scontrol listpids {id} n4", r"^\d+ +(\d+) ", "{job}"),
    ("scontrol wait_job {id}", r"job (\S+)", "{id}"),
    ("sstat -n -P -o jobid -j {id}", r"\S+", "{id}.0"),
    ("sluice why {id}", r"^Job (\S+) .*", "{id}"),
    ("sluice why {id}", r"began \S+ on (\S+)\.", "n4"),
    ("sattach --layout {id}.0", r"Node 0 \((\S+)\)", "n4"),
    ("srun --overlap --jobid={id} printenv SLURMD_NODENAME", r"\S+", "n4"),
    ("srun --overlap --jobid={id} printenv SLURM_JOB_NODELIST", r"\S+", "n4"),
    ("sbcast -v -f -w n4 -j {id} /etc/hostname copied", r" is on (\S+ of \S+)", "n4 of {id}"),
    ("strigger --get --jobid={id}", r" job +(\d+) ", "{job}"),
]


def test_the_fifth_component(het):
    """HET-35, 37: the table of the guide, and that 123+4 is the fifth component and no other one, wherever a job id is accepted; sacct waits for
    accounting."""
    where = " : ".join(f"-n1 -w n{i}" for i in (1, 2, 3, 1, 4))
    job = int(het.run(["sbatch", "--parsable", "-o", "/dev/null", "--mem=10", *where.split(), "--wrap",
                       "srun --het-group=0-4 sh -c 'touch fifth-$SLURM_PROCID; exec sleep 1000'"]).ok())
    eventually(lambda: all((het.work / f"fifth-{i}").exists() for i in range(5)), "all tasks run")
    assert rows(het, "-s", "-j", str(job), format="%i") == [f"{job}+0.0", f"{job}+0.batch", *(f"{job}+{i}.0" for i in range(1, 5))]
    table = [(str(job + i), str(job), str(i), f"{job}-{job + 4}") for i in range(5)]
    assert fields(het, job, "JobId", "HetJobId", "HetJobOffset", "HetJobIdSet") == table
    listed = het.run(["squeue", "-h", "-S", "i", "-j", str(job), "-O", "JobID:.8,HetJobID:.8,HetJobOffset:.4,HetJobIDSet:.20"]).ok()
    assert [tuple(line.split()) for line in listed.splitlines()] == table
    assert [(str(one["job_id"]), str(one["het_job_id"]["number"]), str(one["het_job_offset"]["number"]), one["het_job_id_set"])
            for one in het.json(f"squeue -S i -j {job}")["jobs"]] == table
    for i in range(5):
        assert fields(het, f"{job}+{i}", "JobId", "HetJobId", "HetJobOffset", "HetJobIdSet") == [table[i]]
    ids = {"id": f"{job}+4", "job": job + 4}
    het.run("strigger --set --fini --jobid={id} --program=/bin/true".format(**ids)).ok()
    het.run(f"strigger --set --fini --jobid={job}+3 --program=/bin/true").ok()
    told = []
    for command, pattern, _ in FIFTH:
        done = het.run(command.format(**ids))
        told.append((command, re.findall(pattern, done.stdout + done.stderr, re.M)))
    assert told == [(command, [said.format(**ids)]) for command, _, said in FIFTH]
    het.run("scontrol update jobid={id} comment=x".format(**ids)).ok()
    assert rows(het, "-j", str(job), format="%i %k") == [f"{job}+{i} {'x' if i == 4 else '(null)'}" for i in range(5)]
    for command in "suspend", "resume", "requeue":
        het.run(f"scontrol {command} {job}+4").fails("whole heterogeneous job", f"{job}+4")
    assert het.run(f"scontrol write batch_script {job}+4 -").stderr == (
        f"job script retrieval failed: Invalid job id specified: job {job}+4 has no script: that of heterogeneous job {job} is its leader's\n")
    het.run(f"scancel {job}+4").ok()
    assert rows(het, "-j", str(job), "-t", "R", format="%i") == [f"{job}+{i}" for i in range(4)]
    over(het, job)


def test_jobs_selected_by_name_are_printed_as_components(het):
    """HET-37: scontrol, given the name of jobs, names them as squeue does."""
    array = het.sbatch("-J", "byname", "-a", "1-2", "-n1", ":", "-n1", wrap=WAIT)
    single = het.sbatch("-H", "-J", "byname", "-n1", ":", "-n1", "-J", "other", wrap=WAIT)
    eventually(lambda: rows(het, "-j", str(array)) == [f"{array}_{i}+{k} R" for i in (1, 2) for k in (0, 1)], "the array runs")
    done = het.run("scontrol resume JobName=byname")
    assert re.findall(r"for job (\S+)", done.stdout + done.stderr) == [f"{array}_1", f"{array}_2", f"{single}"], done
    done = het.run("scontrol suspend JobName=other")
    assert re.findall(r"for job (\S+)", done.stdout + done.stderr) == [f"{single}+1"], done
    het.run("scancel -n byname,other").ok()
    for job in array, array + 2, single:
        over(het, job)


def test_dependency_on_a_component_of_an_element(het):
    """HET-37, 129: the offset of an element of a job array; component 0 means the element, not the array."""
    array = het.sbatch("-H", "-a", "1-2", "-n1", ":", "-n1", "--component=io", wrap=WAIT)
    for asked, shown in ((f"afterok:{array}_2+1", f"{array}_2+1"), (f"afterok:{array}_1+0", f"{array}_1"), (f"afterok:{array}_2+io", f"{array}_2+1"),
                         (f"afterok:{array}+1", f"{array}_1+1"), (f"afterok:{array + 2}", f"{array + 2}"), (f"afterok:{array}", f"{array}_*")):
        late = het.sbatch("-H", "-d", asked, wrap="true")
        assert het.job(late)["Dependency"] == f"afterok:{shown}(unfulfilled)", asked
        het.run(f"scancel {late}").ok()
    for job, asked, why in ((array, f"{array}_3+1", f"{array}_3+1 does not exist"), (array, f"{array}_2+2", f"job {array}_2 has components 0 to 1"),
                            (f"{array}_2+0", f"{array}_2+1", f"{array}_2+1 cannot wait for itself"), (array, f"{array}_1", "cannot wait for itself"),
                            (array, f"{array}_*+1", "not a job id")):
        het.run(f"scontrol update jobid={job} dependency=afterok:{asked}").fails(why)
    het.run(f"scancel {array}").ok()
    runs = het.sbatch("-a", "1-2", "-n1", ":", "-n1", wrap=WAIT)
    eventually(lambda: rows(het, "-j", str(runs)) == [f"{runs}_{i}+{k} R" for i in (1, 2) for k in (0, 1)], "all run")
    late = het.sbatch("-d", f"afternotok:{runs}_2+1", "-n1", wrap="true")
    other = het.sbatch("-d", f"afternotok:{runs}_1+1", "-n1", wrap="true")
    het.run(f"scancel {runs}_2+1").ok()
    het.wait(late)
    assert het.state(other) == "PENDING"
    het.run(f"scancel {other}").ok()
    over(het, runs)


def test_components_are_addressed_by_name(het):
    """Components by their names: in scripts, as ids and groups, in listings and variables. HET-37, 69, 83."""
    script = ("#!/bin/sh\n#SBATCH -n1 --component=main\n#SBATCH hetjob name=io\n#SBATCH -n2\n#SBATCH hetjob\n#SBATCH -n1\n"
              "env >named\nsrun -l --het-group=2,IO printenv SLURM_NTASKS_HET_GROUP_IO >groups; sleep 1000\n")
    job = het.sbatch(script=script)
    groups, named = het.work / "groups", het.work / "named"
    eventually(lambda: groups.exists() and sorted(groups.read_text().split("\n"))[1:] == ["0: 2", "1: 2", "2: 2"], "a step in two components")
    env = dict(line.partition("=")[::2] for line in named.read_text().splitlines())
    ours = {name.removesuffix("_HET_GROUP_1"): value for name, value in env.items() if name.endswith("_HET_GROUP_1")}
    assert ours == {name.removesuffix("_HET_GROUP_IO"): value for name, value in env.items() if name.endswith("_HET_GROUP_IO")}
    assert ours["SLURM_NTASKS"] == "2" and env["SLURM_JOB_ID_HET_GROUP_MAIN"] == str(job)
    assert het.run(f"squeue -h -j {job} -O HetComponent").ok().split() == ["main", "io", "N/A"]
    assert rows(het, "-j", f"{job}+io") == [f"{job}+1 R"]
    assert fields_of(het.run(f"scontrol show job {job}+IO").ok())["HetComponent"] == "io"
    assert [j["het_component"] for j in het.json(f"squeue -j {job}")["jobs"]] == ["main", "io", ""]
    het.run(f"srun --jobid={job}+io --overlap true").ok()
    late = het.sbatch("-d", f"afterok:{job}+io,afterany:{job}+main:{job}+2", wrap="true")
    assert het.job(late)["Dependency"].split(",")[:2] == [f"afterok:{job}+1(unfulfilled)", f"afterany:{job}(unfulfilled)"]
    het.run(f"scontrol update jobid={late} dependency=afterany:{job}+io").ok()
    assert het.job(late)["Dependency"] == f"afterany:{job}+1(unfulfilled)"
    het.run(f"scontrol update jobid={late} dependency=afterok:{job}+disk").fails(f"Dependency=afterok:{job}+disk: ", "disk")
    het.run(f"scancel {late}").ok()
    het.run(f"srun --jobid={job} --het-group=main,2 --overlap true").ok()
    known = f"job {job} has no component named 'disk': its components are 0 (main), 1 (io), 2"
    for line in (f"squeue -j {job}+disk", f"scancel {job}+disk", f"scontrol show job {job}+disk", f"srun --jobid={job}+disk true",
                 f"srun --jobid={job} --het-group=disk true", f"sattach {job}+disk.0", f"sbatch -d afterok:{job}+disk --wrap=true"):
        het.run(line).fails(known)
    het.run("srun --het-group=io true").fails("--het-group=io names a component of a heterogeneous job")
    het.run(f"squeue -j 1{job}00+io").fails("Invalid job id specified")
    het.run(f"scancel {job}+io").ok()
    all_are(het, job, "R", (0, 2))
    over(het, job)
    for bad in ("3", "a-b", "_a", "a" * 33, ""):
        het.run(["sbatch", f"--component={bad}", "-n1", ":", "-n1", "--wrap=true"]).fails(f"Invalid component name '{bad}'")
    het.run(["sbatch", "--component=a", "-n1", ":", "--component=A", "-n1", "--wrap=true"]).fails("Duplicate component name 'A': components 0 and 1 have it")
    het.run("sbatch", stdin="#!/bin/sh\n#SBATCH hetjob name=0\ntrue\n").fails("Invalid component name '0'", "(component 1)")


def test_a_component_gives_nodes_back(het):
    """HET-48: the script for the shell sets the variables of that component, under each of their names, so that steps have its size."""
    said = het.run(["salloc", "-Q", "-n1", "-w", "n1", ":", "-n2", "-N2", "-w", "n[2-3]", "--component=io", "sh", "-c",
                    "scontrol update jobid=$SLURM_JOB_ID+1 numnodes=1 >/dev/null; . ./slurm_job_$((SLURM_JOB_ID + 1))_resize.sh; "
                    "env | grep -E '^SLURM_(NNODES|JOB_NODELIST|NTASKS)' | sort; srun -l --het-group=0,1 printenv SLURMD_NODENAME | sort; "
                    "scontrol update jobid=$SLURM_JOB_ID numnodes=1 >/dev/null; . ./slurm_job_${SLURM_JOB_ID}_resize.sh; "
                    "echo $SLURM_NNODES $SLURM_JOB_NODELIST_HET_GROUP_0 ${SLURM_NTASKS-none} ${SLURM_NTASKS_HET_GROUP_0-none}"]).ok()
    assert said.splitlines() == [
        "SLURM_JOB_NODELIST=n1", "SLURM_JOB_NODELIST_HET_GROUP_0=n1", "SLURM_JOB_NODELIST_HET_GROUP_1=n2", "SLURM_JOB_NODELIST_HET_GROUP_IO=n2",
        "SLURM_JOB_NODELIST_PACK_GROUP_0=n1", "SLURM_JOB_NODELIST_PACK_GROUP_1=n2", "SLURM_NNODES=1", "SLURM_NNODES_HET_GROUP_0=1",
        "SLURM_NNODES_HET_GROUP_1=1", "SLURM_NNODES_HET_GROUP_IO=1", "SLURM_NNODES_PACK_GROUP_0=1", "SLURM_NNODES_PACK_GROUP_1=1",
        "SLURM_NTASKS=1", "SLURM_NTASKS_HET_GROUP_0=1", "SLURM_NTASKS_PACK_GROUP_0=1", "0: n1", "1: n2", "1 n1 none none"]


def test_stored_record_of_an_ended_component(make):
    """HET-61: leader and offset, start, end and wait status of each component are in the store once the job is over."""
    c = make(nodes=2, cpus=2, conf=CONF)
    job = c.sbatch("-n1", ":", "-n1", wrap="srun --het-group=1 true; exit 3")
    c.wait(job)
    c.wait(job + 1)
    c.kill("slurmctld", signal.SIGTERM)
    leader_id, offset, count, start, end, status = 117, 118, 119, 12, 13, 22  # of JobLive, which is field 2 of a record
    stored = [fields_in(fields_in(State(c).get(JOB, job + i))[2]) for i in range(2)]
    assert [(live.get(leader_id), live.get(offset, 0), live.get(count)) for live in stored] == [(job, 0, 2), (job, 1, 2)]
    assert all(0 < live[start] <= live[end] for live in stored)
    assert stored[0][status] == 3 << 8
    c.start_controller()
