# SPDX-License-Identifier: GPL-3.0-or-later
"""A damaged saved state: which parts are used, which are refused, and that nothing is lost or done twice. RELIABILITY P6, A4."""
import random
import re
import shutil
import signal

import pytest

from harness import DEADLINE, ROOT, SEED, amount, eventually, fields_of
from statefile import JOB, MADE, META, NODE, PART, State, checksum, field


class ServerState:
    """The same as State, of a store on PostgreSQL."""

    def __init__(self, server):
        self.server = server

    def where(self, kind, key):
        named = isinstance(key, str)
        return ("named" if named else "numbered"), (f"kind = {kind} AND name = '{key}'" if named else f"kind = {kind} AND number = {key}")

    def get(self, kind, key):
        table, row = self.where(kind, key)
        return bytes.fromhex(self.server.sql(f"SELECT encode(data, 'hex') FROM sluice_test.{table} WHERE {row}"))

    def put(self, kind, key, data, good=True):
        table, row = self.where(kind, key)
        total = checksum(kind, key, data) ^ (not good)
        self.server.sql(f"UPDATE sluice_test.{table} SET sum = {total}, data = '\\x{data.hex()}' WHERE {row}")

    def add(self, kind, key, more):
        self.put(kind, key, self.get(kind, key) + more)

    def spoil(self, kind, key):
        self.put(kind, key, self.get(kind, key), good=False)

    def drop(self, kind, key):
        self.server.sql("DELETE FROM sluice_test.{} WHERE {}".format(*self.where(kind, key)))

    def aside(self):
        rows = self.server.sql("SELECT kind, coalesce(convert_from(name, 'UTF8'), number::text), why FROM sluice_test.damaged "
                               "ORDER BY found_at").splitlines()
        return [(int(kind), int(key) if key.isdigit() else key, why) for kind, key, why in (row.split("|") for row in rows)]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request):
    """(lines of slurm.conf, a function that opens its records from outside)"""
    if request.param == "sqlite":
        return "", State
    server = request.getfixturevalue("server")
    return f"StateSaveStore={server.url}\n", lambda c: ServerState(server)


def stop(c):
    c.kill("slurmctld", signal.SIGTERM)


def refused(c, *options):
    """What a controller says that does not start."""
    c.start_controller(*options, wait=False)
    assert c.daemons.pop("slurmctld").wait(DEADLINE) == 1
    return c.tail("slurmctld", 3)


def hold(c, count, **more):
    return [c.sbatch("-H", "-o", "/dev/null", "-J", f"job{i}", wrap="true", **more) for i in range(1, count + 1)]


def shown(c):
    return dict(line.split("|") for line in c.run("squeue -a -h -t all -o %i|%j").ok().splitlines())


def contents(c):
    """Everything that is shown of each job, by its id."""
    lines = c.run("scontrol show job -o").ok().splitlines()
    return {re.match(r"JobId=(\d+) ", line)[1]: re.sub(r" (LastSchedEval|Scheduler)=\S*", "", line) for line in lines if line.startswith("JobId=")}


def script(c, job):
    return c.run(f"scontrol write batch_script {job} -")


def test_damaged_records_are_set_aside(place, make_cluster):
    """A4, P6: each record separately, with -R and without, logged with its place; all others are used, and ids are not assigned again."""
    c = make_cluster(nodes=2, conf=place[0], start=False)
    state = place[1](c)
    c.start_controller()
    assert hold(c, 5) == [1, 2, 3, 4, 5]
    c.run("scontrol update NodeName=n1 State=DRAIN Reason=fan").ok()
    c.run("scontrol update NodeName=n2 Comment=note").ok()
    c.run("scontrol update PartitionName=main MaxNodes=1").ok()
    whole, text = contents(c), script(c, 5).ok()
    assert len(whole) == 5 and "true" in text
    stop(c)
    state.spoil(JOB, 2)
    state.put(JOB, 3, b"\xff\xff")
    state.add(JOB, 4, field(2, field(1, 77) + field(2, 0)))  # says that it is job 77
    state.spoil(NODE, "n1")
    state.put(PART, "main", b"")
    for option in (), ("-R",):
        c.start_controller(*option)
        assert shown(c) == {"1": "job1", "5": "job5"}
        assert contents(c) == {job: whole[job] for job in ("1", "5")} and script(c, 5).ok() == text
        assert "DRAIN" in c.node("n1")["State"]
        assert "record was damaged and set aside" in c.node("n1")["Reason"] and c.node("n2")["Comment"] == "note"
        assert "State=DOWN" in c.run("scontrol show partition main").ok()
        assert len(state.aside()) == 5 and {row[:2] for row in state.aside()} == {(JOB, 2), (JOB, 3), (JOB, 4), (NODE, "n1"), (PART, "main")}
        stop(c)
    said = c.tail("slurmctld", 10000)
    for text in ("job 2 was set aside: its checksum", "job 3 was set aside: job 3: its record does not decode",
                 "job 4 was set aside: job 4: its record is that of job 77", "node n1 was set aside", "partition main was set aside",
                 "5 records were set aside, in the table 'damaged' of ", "see SAVED STATE in slurmctld(8)",
                 "5 records were set aside by earlier starts"):
        assert text in said, text
    c.start_controller()
    c.run("scontrol update NodeName=n1 State=RESUME").ok()
    c.run("scontrol update PartitionName=main State=UP").ok()
    assert c.sbatch("-H", "-o", "/dev/null", wrap="true") == 6
    c.kill("slurmctld")
    c.start_controller()
    assert "DRAIN" not in c.node("n1")["State"] and "State=UP" in c.run("scontrol show partition main").ok()


def test_component_with_a_damaged_record_ends(place, make_cluster):
    """The other components say which record is missing, whatever is asked of them; they are not released, and are cancelled."""
    c = make_cluster(nodes=2, conf=place[0], start=False)
    state = place[1](c)
    c.start_controller()
    jobs = [c.sbatch("-H", "-n1", ":", "-n1", wrap="true") for _ in range(2)]
    assert jobs == [1, 3]
    stop(c)
    state.spoil(JOB, 2)
    state.spoil(JOB, 3)
    for left, leader, missing in ("1+0", 1, 1), ("3+1", 3, 0):
        why = f"the record of component {missing} of the heterogeneous job {leader} is missing: cancel the job, and submit it again"
        c.start_controller()
        for order in f"release {left}", f"release {leader if missing else left}", f"hold {left}", f"update jobid={left} nice=3", f"release {left}":
            done = c.run(f"scontrol {order}")
            assert (why in done.stderr) == (done.returncode != 0) == order.startswith("release"), done.stderr
            assert c.run(f"squeue -h -j {left} -o %r").ok() == why
            assert "Reason=" + why.replace(" ", "_") in c.run(f"scontrol show job {left}").ok().replace(" ", "_")
            said = c.run(f"sluice why {left}").ok()
            assert "SystemFailure" in said and why in said and "The record of another component" in said and "records of components" in said, said
            assert "scontrol release" not in said
        stop(c)
    c.start_controller()
    c.run("scancel 1 3+1").ok()
    assert c.run("squeue -h -t pending,running").ok() == ""


def test_a_leader_whose_record_is_damaged(place, make_cluster):
    """What is asked of its id is done for the other components, or refused with what is wrong; a user who cancels it cancels all."""
    c = make_cluster(nodes=2, conf=place[0], start=False)
    state = place[1](c)
    c.start_controller()
    user = "nobody" if ROOT else None
    held = [c.sbatch("-H", "-o", "/dev/null", "-n1", ":", "-n1", ":", "-n1", wrap="true", user=user) for _ in range(2)]
    stop(c)
    for job in held:
        state.spoil(JOB, job)
    c.start_controller()
    job, other = held
    lost = f"the record of component 0 of job {job} is missing"
    damaged = f"the record of component 0 of the heterogeneous job {job} is missing: cancel the job, and submit it again"

    def shown(field):
        return [fields_of(line)[field] for line in c.run(f"scontrol show job -o {job}").ok().splitlines()]

    assert shown("HetJobOffset") == ["1", "2"]
    c.run(f"scontrol update jobid={job} nice=3", user=user).ok()
    assert shown("Nice") == ["3", "3"]
    c.run(f"scontrol hold {job}").ok()
    c.run(f"scontrol notify {job} hello").fails("Job is pending execution")
    for line in f"release {job}", f"requeue {job}", f"requeuehold {job}", f"suspend {job}", f"resume {job}":
        c.run(f"scontrol {line}").fails(damaged)
    for line in (f"scontrol show job {job}+0", f"squeue -j {job}+0", f"scontrol hold {job}+0", f"scontrol update jobid={job}+0 nice=1", f"scontrol top {job}",
                 f"scontrol write batch_script {job} -", f"sluice why {job}+0", f"scancel {job}+0", f"srun --jobid={job} true", f"sattach {job}+0.0"):
        done = c.run(line)
        assert done.returncode != 0 and lost in done.stdout + done.stderr, f"{line}: {done}"
    assert damaged in c.run(f"sluice why {job}").ok()
    done = c.run(f"scancel {job}", user=user)
    assert (done.ok(), done.stderr) == ("", "")
    assert c.run(f"squeue -h -t pending,running -j {job}").ok() == ""
    c.run(f"scancel -i {other}", stdin="y\ny\n").ok()
    assert c.run("squeue -h -t pending,running").ok() == ""
    stop(c)


def test_a_running_leader_whose_record_is_gone(place, make_cluster):
    """Its user ends what is left of it, with the other components."""
    c = make_cluster(nodes=2, conf=place[0])
    state = place[1](c)
    user = "nobody" if ROOT else None
    began = c.work / "began"
    job = c.sbatch("-o", "/dev/null", "-w", "n1", ":", "-w", "n2", wrap=f"trap '' TERM; touch {began}; exec sleep 1000", user=user)
    eventually(began.exists, "its script runs")
    c.kill("slurmctld")
    state.spoil(JOB, job)
    c.start_controller()
    eventually(lambda: f"Job {job} runs here and its record was set aside" in c.node("n1").get("Reason", ""), "a drained node")
    assert c.run("squeue -h -o %i,%T").ok() == f"{job}+1,RUNNING"
    done = c.run(f"scancel {job}", user=user)
    assert (done.ok(), done.stderr) == ("", "")
    eventually(lambda: "DRAIN" not in c.node("n1")["State"] and c.run("squeue -h -t R,CG").ok() == "", "all of it is over")
    c.wait_ready(("idle",))
    stop(c)


def test_running_job_with_a_missing_record_is_handled(place, make_cluster):
    """The job runs on; its node gets no new job; the job ends by itself or by order of an operator, and then the node is free again."""
    c = make_cluster(nodes=2, conf=place[0], partitions=["PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED"])
    state = place[1](c)
    gate = c.work / "gate"
    first = c.sbatch("-w", "n1", "-o", "/dev/null", wrap=f"mkfifo {gate}; cat {gate} >/dev/null; touch {c.work}/through")
    second = c.sbatch("-w", "n2", "-o", "/dev/null", wrap=f"touch {c.work}/began; exec sleep 1000")
    eventually(lambda: gate.exists() and (c.work / "began").exists(), "two running jobs")
    c.kill("slurmctld")
    state.spoil(JOB, first)
    state.put(JOB, second, b"\xff")
    c.start_controller()
    for node, job in (("n1", first), ("n2", second)):
        eventually(lambda: f"Job {job} runs here and its record was set aside" in c.node(node).get("Reason", ""), "a drained node")
    assert shown(c) == {}
    waits = c.sbatch("-o", "/dev/null", wrap="true")
    c.run(f"scontrol show job {first}").fails("Invalid job id specified")
    c.kill("slurmctld")  # this is remembered
    c.start_controller()
    eventually(lambda: "*" not in c.run("sinfo -h -N -o %T").stdout, "registered nodes")
    assert c.state(waits) == "PENDING" and not (c.work / "through").exists()
    gate.write_text("")
    eventually(lambda: (c.work / "through").exists(), "the end of the first job")
    eventually(lambda: "DRAIN" not in c.node("n1")["State"], "a node that is free again")
    assert c.wait(waits)["JobState"] == "COMPLETED"
    c.run(f"scancel {second}").ok()
    eventually(lambda: "DRAIN" not in c.node("n2")["State"], "a node that is free again")
    assert "Invalid job id specified" in c.run(f"scancel {second}").stderr
    assert c.sbatch("-H", "-o", "/dev/null", wrap="true") > waits
    said = c.tail("slurmctld", 10000)
    assert f"job {first}, whose record was set aside, has ended on its own with wait status 0" in said
    assert f"job {second}, whose record was set aside, is ended by uid" in said


def test_missing_record_of_assigned_ids_needs_an_option(place, make_cluster):
    """The assigned ids are not guessed: the start needs -i, and then continues far above."""
    c = make_cluster(nodes=1, conf=place[0], start=False)
    state = place[1](c)
    c.start_controller()
    hold(c, 2)
    stop(c)
    state.spoil(META, 0)
    for _ in range(2):
        said = refused(c)
        assert "what job ids were given, is damaged or missing" in said and "slurmctld -i" in said
    c.start_controller("-i")
    assert shown(c) == {"1": "job1", "2": "job2"} and c.sbatch("-H", "-o", "/dev/null", wrap="true") > 100000
    assert "the last job id is no longer known" in c.tail("slurmctld", 1000)
    stop(c)
    c.start_controller()
    assert len(shown(c)) == 3


def test_missing_record_of_dynamic_nodes_needs_an_option(place, make_cluster):
    """The jobs on these nodes would be lost with them: a start needs -i."""
    c = make_cluster(nodes=1, conf=place[0] + "MaxNodeCount=3", start=False)
    state = place[1](c)
    c.start_controller()
    c.run("scontrol create NodeName=d1 State=CLOUD CPUs=2").ok()
    hold(c, 1)
    stop(c)
    state.put(MADE, 0, b"\xff")
    said = refused(c)
    assert "nodes" in said and "in no file does not decode" in said
    c.start_controller("-i")
    assert shown(c) == {"1": "job1"} and c.run("sinfo -h -N -o %N").ok() == "n1"
    assert [row[:2] for row in state.aside()] == [(MADE, 0)]
    stop(c)


def test_records_of_a_newer_version_are_refused(make_cluster):
    """What could not be kept is not touched: the version that wrote it is to be started, or -i given."""
    c = make_cluster(nodes=1, start=False)
    state = State(c)
    c.start_controller()
    hold(c, 2)
    stop(c)
    state.put(99, "thing", b"?")
    before = state.path.read_bytes()
    assert "kind 99 thing: a record of the kind 99, which this version does not know: start the version that wrote it" in refused(c)
    assert state.path.read_bytes() == before
    c.start_controller("-i")
    assert len(shown(c)) == 2 and [row[:2] for row in state.aside()] == [(99, "thing")]
    stop(c)


def test_state_file_damaged_anywhere_is_survived(make_cluster):
    """A4, P6: bytes and pages overwritten, the end cut off: the start prints the remedy, or uses the saved state; with -i it always starts."""
    draw = random.Random(SEED)
    c = make_cluster(nodes=1, start=False)
    state = State(c)
    c.start_controller()
    hold(c, 60)
    all_jobs, text = contents(c), script(c, 1).ok()
    assert len(all_jobs) == 60
    stop(c)
    good = state.path.read_bytes()
    served = refusals = 0
    for _ in range(amount(8, 200)):
        data = bytearray(good)
        how = draw.choice(["bytes", "page", "cut"])
        if how == "bytes":
            for at in draw.sample(range(4096, len(data)), draw.randrange(1, 30)):
                data[at] ^= 1 << draw.randrange(8)
        elif how == "page":
            at = draw.randrange(len(data) // 4096) * 4096
            data[at:at + 4096] = draw.randbytes(4096)
        else:
            del data[draw.randrange(len(data)):]
        for option in (), ("-i",):
            shutil.rmtree(state.path.parent)
            state.path.parent.mkdir(mode=0o700)
            state.path.write_bytes(data)
            c.start_controller(*option, wait=False)
            process = c.daemons["slurmctld"]
            eventually(lambda: process.poll() is not None or c.run("scontrol ping").returncode == 0, "a start or a refusal")
            if process.poll() is None:
                now = contents(c)
                assert now.items() <= all_jobs.items()
                assert not now or (script(c, draw.choice(sorted(now))).stdout.strip() in (text, ""))
                if not option and now != all_jobs:
                    assert "was set aside" in c.tail("slurmctld", 200)
                assert c.sbatch("-H", "-o", "/dev/null", wrap="true") > 60
                stop(c)
                served += 1
            else:
                assert not option and process.returncode == 1, c.tail("slurmctld", 5)
                said = c.tail("slurmctld", 3)
                assert str(state.path) in said and "-i" in said or "put a copy back" in said, said
                c.daemons.pop("slurmctld")
                refusals += 1
    assert served and refusals
