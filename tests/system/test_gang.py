# SPDX-License-Identifier: GPL-3.0-or-later
"""Gang scheduling with real daemons at the shortest slice: the states of the guide's examples in the guide's order, and no others."""
import datetime
import itertools
import pathlib
import re
import subprocess

import pytest

from harness import eventually
from test_simulation import ENV

TOP = pathlib.Path(__file__).parents[2]
SLICE = 5
GANG = f"PreemptMode=GANG\nSchedulerTimeSlice={SLICE}\n"
DISABLED = [f"srun: Job step {said}" for said in ("creation temporarily disabled, retrying", "creation still disabled, retrying", "created")]
LINEAR = f"SelectType=select/linear\nSelectTypeParameters=CR_Memory\nSchedulerType=sched/builtin\n{GANG}"


def shared(name, nodes, more="FORCE"):
    return f"PartitionName={name} Nodes={nodes} OverSubscribe={more} DefMemPerNode=100"


class Watch:
    """Each combination of states that squeue has shown of a partition, once, in the order in which they came: "R 3, S 4"."""

    def __init__(self, cluster, *parts):
        self.cluster, self.seen = cluster, {part: [] for part in parts}

    def look(self):
        lines = self.cluster.look("squeue -h -o %P|%t|%i").ok().splitlines()
        for part, seen in self.seen.items():
            states = [line.split("|")[1:] for line in lines if line.startswith(f"{part}|")]
            text = ", ".join(f"{state} " + " ".join(sorted((job for s, job in states if s == state), key=int))
                             for state in dict.fromkeys(s for s, _ in states))
            if not seen or seen[-1] != text:
                seen.append(text)

    def after(self, part, first):
        seen = self.seen[part]
        return seen[seen.index(first):] if first in seen else []

    def has(self, states):
        self.look()
        return all(len(self.after(part, wanted[0])) >= len(wanted) for part, wanted in states.items())

    def expect(self, **states):
        """From the first ones on, these are all."""
        eventually(lambda: self.has(states), f"{states}")
        assert {part: self.after(part, wanted[0])[:len(wanted)] for part, wanted in states.items()} == states


def submit(c, part, *options, wrap="sleep 1000"):
    return c.sbatch("-p", part, "-o", f"{c.work}/out-%j", *options, wrap=wrap)


def seconds(c):
    """TIME of squeue by job, all of the same moment."""
    lines = (line.split("|") for line in c.look("squeue -h -o %i|%M").ok().splitlines())
    return {int(job): sum(int(n) * 60 ** i for i, n in enumerate(reversed(time.split(":")))) for job, time in lines}


def test_examples_with_whole_nodes(make_cluster):
    """GANG-01, GANG-04 to GANG-06, GANG-09, GANG-17, GANG-21, GANG-28, GANG-29, GANG-30, GANG-37, GANG-39, GANG-41, GANG-43, GANG-44, GANG-47,
    GANG-48: the three simple examples at the same time, each in its own partition; the processes of a suspended job are stopped."""
    c = make_cluster(nodes=12, conf=LINEAR + "DebugFlags=Gang\n", partitions=[
        shared("local", "n[1-5]"), shared("busy", "n[6-10]").replace("OverSubscribe", "Shared"), shared("simple", "n[11-12]")])
    config = c.run("scontrol show config").ok()
    for key, value in ("PreemptMode", "GANG"), ("SchedulerTimeSlice", f"{SLICE} sec"), ("SchedulerType", "sched/builtin"):
        assert re.search(rf"^{key}\s+= {value}$", config, re.M), key
    watch, count = Watch(c, "local", "busy", "simple"), "i=0; while :; do i=$((i+1)); echo $i > %s; sleep 0.05; done"
    files = {job: c.work / f"count-{job}" for job in (7, 8)}
    for part, sizes in ("local", (3, 5, 2)), ("busy", (3, 2, 3)):
        for nodes in sizes:
            submit(c, part, f"-N{nodes}")
    submit(c, "simple", "-N2", wrap=count % files[7])
    submit(c, "simple", "-N2", wrap=count % files[8])
    assert seconds(c)[8] == 0 and not files[8].exists()
    watch.expect(local=["R 1 3, S 2", "R 2, S 1 3", "R 1 3, S 2"], busy=["R 4 5, S 6", "R 5 6, S 4", "R 4 5, S 6"],
                 simple=["R 7, S 8", "R 8, S 7", "R 7, S 8"])
    sets = re.findall(r"active set:([\d ]+); waiting:([\d ]+)", (c.dir / "slurmctld.log").read_text())[:2]
    assert [[set(map(int, jobs.split())) for jobs in pair] for pair in sets] == [[{2, 5, 6, 8}, {1, 3, 4, 7}], [{1, 3, 4, 5, 7}, {2, 6, 8}]]
    ran = seconds(c)
    assert abs(ran[5] - ran[4] - ran[6]) <= 2  # GANG-47: always running
    assert abs(ran[7] - ran[8]) <= SLICE + 2
    steps = dict(line.split("|") for line in c.look("squeue -s -h -p simple -o %i|%M").ok().splitlines())
    assert max(int(time.split(":")[1]) for time in steps.values()) <= max(seconds(c)[job] for job in (7, 8))

    shown = c.run("scontrol show gang simple").ok()
    assert re.match(r"Partition=simple SchedulerTimeSlice=5 NextSwitch=[0-5]\n   Slot=0 \(now\) Jobs=[78]\n   Slot=1 Jobs=[78]\n", shown), shown
    assert re.search(r"^   JobId=8 JobState=\w+ RunTime=\S+ SuspendedTime=\S+ Share=\d+% NodeList=n\[11-12\]$", shown, re.M), shown
    assert c.run("sluice gang local").ok().startswith("Partition=local ")
    c.run("scontrol show gang nosuch").finds_none("Partition nosuch not found")
    c.run("scontrol --json show gang nosuch").fails("Partition nosuch not found")
    for option in "", " --json":
        c.run(f"sluice gang nosuch{option}").fails("sluice: error: gang: partition nosuch not found")
    told = c.json("scontrol show gang")["gang"][0]
    assert told["enabled"] and {job["job_id"] for job in told["jobs"]} == set(range(1, 9)) and 5 in told["slots"][0]
    watching = c.popen("sluice gang -i 1 busy")
    heads = [watching.stdout.readline() for _ in range(20)]
    assert sum(head.startswith("Partition=busy") for head in heads) >= 2
    watching.terminate()

    def one_stands():
        """While one of them counts, the other one is stopped."""
        before = {job: path.read_text() for job, path in files.items()}
        runs = [job for job in files if c.look(f"squeue -h -j {job} -o %t").ok() == "R"][0]
        eventually(lambda: files[runs].read_text() not in ("", before[runs]), "it counts")
        return files[15 - runs].read_text() == before[15 - runs]
    eventually(one_stands, "one stands")
    c.run("scancel 8").ok()
    eventually(lambda: c.state(7) == "RUNNING", "the other one runs")
    done = c.run("salloc -p simple -N2 srun -N1 echo done")  # GANG-46
    assert done.ok() == "done" and re.search(f"{DISABLED[0]}\n(.*\n)*{DISABLED[2]}\n", done.stderr), done.stderr


def test_srun_in_a_suspended_batch_job_reports_the_suspension(make_cluster):
    """GANG-45, GANG-46: the first srun of a batch job starts after the turn of the job has ended. It prints the guide's message, waits, and runs in
    the job's next turn."""
    sec = 8
    c = make_cluster(nodes=1, conf=LINEAR.replace(f"Slice={SLICE}", f"Slice={sec}") + f"PreemptParameters=suspend_grace_time={sec - 1}\n",
                     partitions=[shared("active", "ALL") + " Default=YES"])
    job = c.sbatch(script="#!/bin/sh\ntrap 'srun echo done' TSTP\nwhile :; do sleep 0.05; done\n")
    other = submit(c, "active")

    def said():
        """Since the last turn of the job has ended, each message once."""
        return [line for line, _ in itertools.groupby("".join(c.output(job).rpartition(DISABLED[0])[1:]).splitlines())]
    eventually(lambda: DISABLED[1] in said() and "done" not in said() and c.state(job) == "SUSPENDED", "srun has said it twice in a suspended job")
    c.run(f"scancel {other}").ok()
    eventually(lambda: "done" in said(), "the step has run")
    assert said() == [*DISABLED, "done"]


# The program prints its pid and its GPU, and then a line at each tick of a timer: the time in ticks and the signals that came since the line before.
TICK = 0.05
SIGNALS = f"""exec python3 -uc '
import os, signal, time
seen = []
for name in ("TSTP", "CONT", "USR1"):
    signal.signal(getattr(signal, "SIG" + name), lambda number, frame, name=name: seen.append(name))
print(os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES"))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, {TICK}, {TICK})
while True:
    signal.sigwait([signal.SIGALRM])
    print(int(time.monotonic() / {TICK}), *seen)
    seen.clear()
'"""


def test_job_gets_the_signals_of_its_turns(make_cluster):
    """GANG-61: a job gets a signal when its turn ends, runs on for the grace time, stops and keeps its devices, and continues with SIGCONT. A signal
    of its user meanwhile is kept for it; sluice why prints when its turn begins."""
    c = make_cluster(nodes=1, start=False, conf=GANG + "GangDevices=yes\nGresTypes=gpu\n", node_conf="Gres=gpu:2", partitions=[shared("main", "ALL") + " Default=YES"])
    (c.dir / "dev").mkdir()
    for number in range(2):
        (c.dir / f"dev/nvidia{number}").touch()
    (c.dir / "gres.conf").write_text(f"Name=gpu File={c.dir}/dev/nvidia[0-1]\n")
    c.start()
    one, two = (submit(c, "main", "-n4", "--gres=gpu:1", wrap=SIGNALS) for _ in range(2))
    third = submit(c, "main", "-n4", "--gres=gpu:1")
    why = c.run(f"sluice why {two}").ok()
    assert "It waits for its turn in gang scheduling" in why and re.search(r"Its turn comes in 0:0[0-5], in slot 1 of the rotation", why), why
    eventually(lambda: all(len(c.output(job, "out-{}").split()) >= 2 for job in (one, two)), "both have had a turn")
    c.wait_state(one, "SUSPENDED")
    pid = c.output(one, "out-{}").split()[0]
    eventually(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it stands")
    assert c.state(third) == "PENDING"
    c.run(f"scancel -s STOP {one}").fails("The record is in a state that does not allow this")
    c.run(f"scancel --full -s USR1 {one}").ok()
    c.wait_state(one, "RUNNING")
    eventually(lambda: "USR1" in c.output(one, "out-{}"), "it gets the signal")
    said = c.output(one, "out-{}").splitlines()
    stop = next(i for i, line in enumerate(said) if "TSTP" in line)
    assert len(said[stop + 1].split()) == 1  # a tick without a signal
    last = next(i for i, line in enumerate(said) if i > stop and "CONT" in line) - 1
    ran = int(said[last].split()[0]) - int(said[stop].split()[0])
    assert ran * TICK >= 1, ran  # of the two seconds that it has: it may not have had a CPU at their end
    assert any("CONT" in line for line in said[stop + 2:]) and not any("USR1" in line for line in said[:stop])
    devices = [c.output(job, "out-{}").split()[1] for job in (one, two)]
    assert sorted(devices) == ["0", "1"], devices


def test_jobs_with_devices_do_not_take_turns_by_default(make_cluster):
    """GANG-62: without GangDevices a job with a GPU waits for the CPUs of another one, and sluice why prints the cause."""
    c = make_cluster(nodes=1, start=False, conf=GANG + "GresTypes=gpu\n", node_conf="Gres=gpu:2", partitions=[shared("main", "ALL") + " Default=YES"])
    (c.dir / "gres.conf").write_text("Name=gpu Count=2\n")
    c.start()
    one, two = (submit(c, "main", "-n4", "--gres=gpu:1") for _ in range(2))
    c.wait_state(one, "RUNNING")
    assert c.state(two) == "PENDING"
    assert "the job has generic resources, and GangDevices=no" in c.run(f"sluice why {two}").ok()
    c.run(f"scancel {one}").ok()
    c.wait_state(two, "RUNNING")


def test_resumed_job_takes_turns(make_cluster):
    """GANG-59: a job starts on the CPUs of a job that is suspended with scontrol, and both take turns once that one is resumed."""
    c = make_cluster(nodes=1, conf=GANG + "PreemptParameters=suspend_grace_time=0\n", partitions=[shared("main", "ALL") + " Default=YES"])
    one = submit(c, "main", "-n4")
    c.wait_state(one, "RUNNING")
    c.run(f"scontrol suspend {one}").ok()
    two = submit(c, "main", "-n4")
    c.wait_state(two, "RUNNING")
    assert c.state(one) == "SUSPENDED"
    c.run(f"scontrol resume {one}").ok()
    watch, turns = Watch(c, "main"), [f"R {one}, S {two}", f"R {two}, S {one}"]

    def alternate():
        watch.look()
        return all(watch.seen["main"].count(turn) >= 2 for turn in turns)
    eventually(alternate, lambda: f"both take turns: {watch.seen}")
    assert set(watch.seen["main"]) == set(turns)


@pytest.mark.slow
def test_transcripts_of_the_guide(make_cluster):
    """GANG-59: docs/gang-scheduling.md."""
    c = make_cluster(nodes=5, conf=LINEAR + "PreemptParameters=suspend_grace_time=0\n", partitions=[shared("active", "ALL") + " Default=YES"])
    c.run([TOP / "tools/transcript", TOP / "docs/gang-scheduling.md", TOP / "examples/jobs"], env={"TMPDIR": str(c.work)}).ok()


def test_squeue_is_repeated(make_cluster):
    """GANG-38: squeue -i prints the time and the listing again and again."""
    c = make_cluster(nodes=1)
    job = c.sbatch(wrap="sleep 1000")
    watching = c.popen("squeue -i 1 -o %i")
    said = [watching.stdout.readline().strip() for _ in range(8)]
    watching.terminate()
    times = [datetime.datetime.strptime(line, "%a %b %d %H:%M:%S %Y") for line in said if ":" in line]
    assert len(times) == 2 and times[0] < times[1], said
    assert said.count("JOBID") == 2 and said.count(str(job)) == 2, said


def test_configuration_is_checked(make_cluster):
    """GANG-17, GANG-18, GANG-19, GANG-25: invalid configurations are refused with file and line; overlapping partitions, and settings without
    effect, are named."""
    c = make_cluster(nodes=2, start=False, conf=GANG, partitions=[shared("one", "n[1-2]"), shared("two", "n2")])
    good, line = c.conf_file.read_text(), lambda text, key: text[:text.index(key)].count("\n") + 1
    checked = c.run("slurmctld --check")
    said = f"{c.conf_file}:{line(good, 'PartitionName=two')}: warning: partitions one and two have nodes in common: their jobs take turns in one rotation"
    assert checked.returncode == 0 and said in checked.stdout + checked.stderr and "is not counted" not in checked.stdout + checked.stderr
    for old, new, place, text in [("DefMemPer", "MaxMemPer", "PartitionName=two", "partition two: the memory of jobs without --mem is not counted"),
                                  ("PreemptMode=GANG", "PreemptMode=SUSPEND,GANG", "PreemptMode", "PreemptMode=SUSPEND,GANG displaces no job"),
                                  ("SelectType=select/cons_tres", "SelectType=select/linear", "SelectTypeParameters",
                                   "SelectTypeParameters=CR_Core_Memory: select/linear allocates whole nodes: use CR_Memory")]:
        c.conf_file.write_text(warned := good.replace(old, new))
        checked = c.run("slurmctld --check")
        assert checked.returncode == 0 and f"{c.conf_file}:{line(warned, place)}: warning: {text}" in checked.stdout + checked.stderr, text
    for old in "PartitionName=two Nodes=n2 OverSubscribe=FORCE", "FORCE":  # FORCE:1 lets none share
        c.conf_file.write_text(good.replace(old, f"{old}:1"))
        checked = c.run("slurmctld --check").stderr
        assert "have nodes in common" not in checked and ("has no effect" in checked) == (old == "FORCE"), checked
    for sec in (5, 60, 65533):
        c.conf_file.write_text(good.replace(f"SchedulerTimeSlice={SLICE}", f"SchedulerTimeSlice={sec}"))
        assert c.run("slurmctld --check").returncode == 0, sec
    for old, new, text in [(f"SchedulerTimeSlice={SLICE}", "SchedulerTimeSlice=4", "SchedulerTimeSlice=4"),
                           (f"SchedulerTimeSlice={SLICE}", "SchedulerTimeSlice=65534", "SchedulerTimeSlice=65534"),
                           ("PreemptMode=GANG", "PreemptMode=SUSPEND", "SUSPEND needs GANG"),
                           ("PreemptMode=GANG", "PreemptMode=GANG,OFF", "PreemptMode=GANG,OFF: OFF with another word"),
                           ("PreemptMode=GANG", "PreemptMode=GANG\nGangHet=maybe", "GangHet=maybe"),
                           ("PreemptMode=GANG", "PreemptMode=GANG\nGangOverlap=no\nGangHet=yes", "GangHet=yes: components in several partitions"),
                           ("PreemptMode=GANG", "PreemptMode=GANG\nPreemptParameters=suspend_grace_time=5", "suspend_grace_time=5 is not shorter than"),
                           ("PartitionName=two", "PartitionName=two PreemptMode=GANG", "GANG is of the whole cluster only")]:
        bad = good.replace(old, new)
        c.conf_file.write_text(bad)
        refused = c.run("slurmctld --check")
        place = f"{c.conf_file}:{line(bad, text if text in bad else new.splitlines()[-1])}:"
        assert refused.returncode and place in refused.stderr + refused.stdout and text in refused.stderr + refused.stdout, (text, refused.stderr)
    for mode, shown in ("GANG", "GANG"), ("SUSPEND,GANG", "GANG,SUSPEND"):
        c.conf_file.write_text(good.replace("PreemptMode=GANG", f"PreemptMode={mode}").replace(f"SchedulerTimeSlice={SLICE}\n", ""))
        c.start()
        config = c.run("scontrol show config").ok()
        assert re.search(rf"^PreemptMode\s+= {shown}$", config, re.M) and re.search(r"^SchedulerTimeSlice\s+= 30 sec$", config, re.M)
        c.stop()


def test_examples_with_cores_and_cpus(make_cluster):
    """GANG-40, GANG-42, GANG-52 to GANG-57: six jobs with two CPUs of each node, first with cores, and then with CPUs that are counted."""
    part = [shared("active", "ALL") + " Default=YES"]
    clusters = {word: make_cluster(nodes=2, cpus=8, node_conf="Sockets=2 CoresPerSocket=4 ThreadsPerCore=1", partitions=part,
                                   conf=f"SelectType=select/cons_res\nSelectTypeParameters={word}\nTaskPlugin=task/none\n{GANG}")
                for word in ("CR_Core_Memory", "CR_CPU_Memory")}
    expected = {"CR_Core_Memory": ["R 1 2 3 4, S 5 6", "R 3 4 5 6, S 1 2", "R 1 2 3 4, S 5 6"],
                "CR_CPU_Memory": ["R 1 2 3 4, S 5 6", "R 1 2 5 6, S 3 4", "R 3 4 5 6, S 1 2", "R 1 2 3 4, S 5 6"]}
    watches = {word: Watch(c, "active") for word, c in clusters.items()}
    for word, c in clusters.items():
        assert "PreemptMode             = GANG" in c.run("scontrol show config").ok()
        assert re.search(rf"^SelectTypeParameters\s+= {word}$", c.run("scontrol show config").ok(), re.M | re.I)
        assert c.run("sinfo").ok().split() == "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST active* up infinite 2 idle n[1-2]".split()
        assert c.run(["sinfo", "-o", "%20N %5D %5c %5z"]).ok().split() == "NODELIST NODES CPUS S:C:T n[1-2] 2 8 2:4:1".split()
        assert c.run(["sbatch", "-pactive", "-o/dev/null", "-n4", "-N2", "--wrap=sleep 1000"]).ok() == "Submitted batch job 1"
        for _ in range(5):
            submit(c, "active", "-n4", "-N2")
    eventually(lambda: all([watch.has({"active": expected[word]}) for word, watch in watches.items()]), "all switches")
    for word, watch in watches.items():
        watch.expect(active=expected[word])
    cores, cpus = clusters.values()
    ran = seconds(cores)
    assert abs(ran[3] - ran[1] - ran[5]) <= 2 and abs(ran[4] - ran[2] - ran[6]) <= 2
    ran = seconds(cpus).values()
    assert max(ran) - min(ran) <= SLICE + 1


@pytest.mark.parametrize("word, turns", [
    ("CR_Core_Memory", {0: ("56", ""), 30: ("12", "56"), 60: ("56", "12"), 90: ("12", "56")}),
    ("CR_CPU_Memory", {0: ("56", ""), 30: ("34", "56"), 60: ("12", "34"), 90: ("56", "12")})])
def test_slices_of_the_guide_in_virtual_time(tmp_path, word, turns):
    """GANG-54 to GANG-57: the guide's cluster, jobs and slices of 30 seconds: which jobs stop, and which go on."""
    plan = tmp_path / "plan"
    conf = ("SelectType=select/cons_res", f"SelectTypeParameters={word}", "PreemptMode=GANG", "PreemptParameters=suspend_grace_time=0")
    jobs = (f"job at={n} kind=batch id={n} limit=3600 run=300000 tasks=10 min-nodes=5 part=active mem=10" for n in range(1, 7))
    plan.write_text("\n".join(["run seed=1", *(f"conf set={line}" for line in conf), "node id=1 count=5 sockets=2 cores=4 mem=2000",
                               "part part=active nodes=n[1-5] options=OverSubscribe=FORCE:4", *jobs]) + "\n")
    done = subprocess.run(["slurmsim", f"--plan={plan}", "--verbose"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    seen = {at: ["", ""] for at in turns}
    for ms, job, what in re.findall(r"^ *(\d+) ms control: job (\d) (suspended|resumed):", done.stdout, re.M):
        if int(ms) // 1000 in seen:
            seen[int(ms) // 1000][what == "resumed"] += job
    assert {at: tuple("".join(sorted(jobs)) for jobs in pair) for at, pair in seen.items()} == turns


def test_exclusive_job_takes_turns_with_all_cpus(make_cluster):
    """With FORCE no job can exclude others: an exclusive job has all CPUs and takes turns; in a partition with YES it is alone."""
    c = make_cluster(nodes=1, cpus=4, conf=f"SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n{GANG}",
                     partitions=[shared("force", "ALL") + " Default=YES", shared("yes", "ALL", "YES")])
    watch = Watch(c, "force")
    submit(c, "force", "--exclusive")
    submit(c, "force", "-n1")
    watch.expect(force=["R 1, S 2", "R 2, S 1", "R 1, S 2"])
    assert c.run("squeue -h -O JobID:.2,NumCPUs:.3,OverSubscribe:.4,Exclusive:.6 -S i").ok().splitlines() == [
        " 1  4  OK  NODE", " 2  1  OK    NO"]
    assert "OverSubscribe=OK" in c.run("scontrol show job 1").ok()
    c.run("scontrol update PartitionName=force OverSubscribe=FORCE:2").ok()
    third = submit(c, "force", "--exclusive")
    assert c.run(["squeue", "-h", "-o", "%t %h", "-j", str(third)]).ok().strip() == "PD OK"
    assert "OverSubscribe=OK" in c.run(f"scontrol show job {third}").ok()
    c.run("scontrol update PartitionName=force OverSubscribe=YES:2").ok()  # of jobs that hold nodes nothing changes
    assert c.run(["squeue", "-h", "-o", "%i %t %h", "-S", "i"]).ok().splitlines() == ["1 R OK", "2 S OK", f"{third} PD NO"]
    c.run("scancel --me").ok()
    eventually(lambda: c.run("squeue -h").stdout == "", "the node is free")
    assert "OverSubscribe=OK" in c.run("scontrol show job 1").ok()
    alone, other = submit(c, "yes", "--exclusive"), submit(c, "yes", "-s")
    eventually(lambda: c.state(alone) == "RUNNING", "the job runs")
    assert c.run(["squeue", "-h", "-o", "%C %h %t", "-j", f"{alone},{other}"]).ok().splitlines() == ["1 YES PD", "4 NO R"]


def test_why_names_the_missing_resource(make_cluster):
    """Memory, or the limit of sharing jobs: not "not idle"; HET-104: components without GangHet do not start beside jobs that take turns."""
    c = make_cluster(nodes=1, cpus=2, memory=1000, conf=LINEAR.replace("sched/builtin", "sched/backfill"), partitions=[shared("active", "ALL", "FORCE:3")])

    def why(job):
        return c.run(f"sluice why {job}").ok()

    first, second, large = submit(c, "active"), submit(c, "active"), submit(c, "active", "--mem=900")
    eventually(lambda: c.state(large) == "PENDING" and c.state(second) == "SUSPENDED", "two jobs share the node")
    assert f"1  too little memory free: n1; jobs {first}, {second}\n" in why(large)
    assert "Short of: nodes with enough memory (0 of 1)" in why(large)
    c.run(f"scancel {large}").ok()
    third = submit(c, "active")
    eventually(lambda: c.state(third) == "SUSPENDED", "three jobs share the node")
    fourth = submit(c, "active")
    assert f"1  shared by as many jobs as OverSubscribe allows: n1; jobs {first}, {second}, {third}\n" in why(fourth)
    assert "Short of: nodes that more jobs may share (0 of 1)" in why(fourth)
    alone = make_cluster(nodes=1, cpus=2, partitions=[shared("active", "ALL", "FORCE:3")],
                         conf=f"SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n{GANG}")
    turns = submit(alone, "active", "-n2")
    components = alone.sbatch("-pactive", "-n1", ":", "-pactive", "-n1", wrap="sleep 1000")
    said = alone.run(f"sluice why {components}").ok()
    assert "what it needs is in use" in said and "It would fit now" not in said
    assert "Resources, not shared with others: the job is heterogeneous, and GangHet=no" in said
    assert "1  too few CPUs free: n1; job 1" in said
    alone.run(f"scancel {turns}").ok()  # HET-104: no job is placed beside the components, for which they would be suspended
    eventually(lambda: alone.state(components) == "RUNNING", "it runs")
    beside = submit(alone, "active", "-n2")
    eventually(lambda: alone.job(beside)["Reason"].startswith("Resources"), "it waits")
    assert alone.run(f"squeue -h -S i -j {components},{beside} -o %t").ok().split() == ["R", "R", "PD"]


def test_messages_name_elements_of_arrays(make_cluster):
    """An element of a job array is named by its array and index, never by the id of its record."""
    c = make_cluster(nodes=1, cpus=2, conf=LINEAR, partitions=[shared("active", "ALL", "FORCE:3")])
    submit(c, "active")
    array = submit(c, "active", "-a", "7-8")
    eventually(lambda: "PENDING" not in c.run(["squeue", "-h", "-o", "%T"]).ok(), "three jobs take turns")
    element = f"{array}_7"
    said = f"Job is not suspended: gang scheduling resumes it in its turn for job {element}"
    eventually(lambda: said in str(c.run(f"scontrol resume {element}")), said)
    record = c.run(["squeue", "-h", "-j", element, "-O", "JobID"]).ok().strip()
    assert record != str(array)
    eventually(lambda: f" {record} " in c.run(f"scontrol listpids {element}").stdout, "its processes are listed")
    c.run(f"scontrol listpids {array}_[7-8]").fails("does not look like a jobid")
    c.run("scontrol delete PartitionName=active").fails("active has job 1")
    c.run("scancel 1").ok()
    eventually(lambda: f"active has job {array}_" in str(c.run("scontrol delete PartitionName=active")), "the element is named")
