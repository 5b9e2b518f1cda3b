# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes a job gets of many: their order, runs of neighbours, all conditions together: CORE-128, 134, 136 to 142, 150, 211, HET-18."""
import concurrent.futures
import datetime
import re

import pytest

from harness import eventually


@pytest.fixture(scope="module")
def twelve(request):
    import harness
    c = harness.Cluster(nodes=12, cpus=2, memory=2000, node_conf="TmpDisk=1",
                        partitions=["PartitionName=main Nodes=ALL Default=YES", "PartitionName=few Nodes=n[1-8] MaxNodes=4 MaxTime=60"])
    yield c
    c.destroy()


def submit(c, *options):
    return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")


def runs_on(c, job):
    eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")
    return c.job(job)["NodeList"]


def fill(c, nodes):
    """Other jobs fill these nodes; the remaining ones are holes."""
    for node in nodes:
        runs_on(c, submit(c, "-w", f"n{node}", "--exclusive"))


@pytest.fixture(autouse=True)
def empty(twelve):
    yield
    twelve.run("scancel --me").ok()
    eventually(lambda: twelve.run("squeue -h").stdout == "", "nothing runs")


@pytest.mark.parametrize("busy, options, expected", [
    ((3, 6), ["-N3"], "n[7-9]"),                         # CORE-139: a run of three: 1-2, 4-5, 7-12
    ((1, 6), ["-N3"], "n[2-4]"),                         # CORE-142: the hole of four, not that of six
    ((3, 7, 9, 10, 11, 12), ["-N5"], "n[1-2,4-6]"),      # CORE-141: holes of 2, 3 and 1: two of them
    ((2, 4, 6, 8, 10), ["-N2"], "n[11-12]"),
    ((2, 4, 6, 8, 10, 12), ["-N3"], "n[1,3,5]"),         # position, when there is nothing else
])
def test_neighbouring_nodes_are_chosen(twelve, busy, options, expected):
    """CORE-137, 139, 141, 142."""
    fill(twelve, busy)
    assert runs_on(twelve, submit(twelve, "--exclusive", *options)) == expected


def test_contiguous_job_gets_adjacent_nodes(twelve):
    """CORE-140, X-31: it waits although there are nodes enough."""
    fill(twelve, (3, 6, 9, 11, 12))
    job = submit(twelve, "-N3", "--contiguous", "--exclusive")
    assert twelve.job(job)["Reason"] == "Resources"
    scattered = submit(twelve, "-N3", "--exclusive", "-t1")
    assert twelve.state(job) == "PENDING" and twelve.job(scattered)["Reason"] in ("Priority", "None")
    blocker = twelve.run("squeue -h -w n6 -o %i").ok()
    twelve.run(f"scancel {blocker}").ok()
    assert runs_on(twelve, job) in ("n[4-6]", "n[5-7]", "n[6-8]")


def test_planned_nodes_are_shown(twelve):
    """scontrol show job: SchedNodeList and StartTime of each pending job that the planner has a place for; EligibleTime of a held one that begins later."""
    runs_on(twelve, submit(twelve, "-N12", "--exclusive", "-t5"))
    first, second = submit(twelve, "-N11", "--exclusive", "-t5"), submit(twelve, "-N1", "--exclusive", "-t5")
    held = submit(twelve, "--hold", "--begin=2035-01-02T03:04:05")
    eventually(lambda: twelve.job(first).get("SchedNodeList") == "n[1-11]", "a place for the first one")
    shown = twelve.job(second)
    assert shown["SchedNodeList"] == "n12" and shown["StartTime"] == twelve.job(first)["StartTime"] != "Unknown"
    assert twelve.run("scontrol show jobs").ok().count("SchedNodeList=") >= 1
    assert twelve.json(f"scontrol show job {second} --json")["jobs"][0]["scheduled_nodes"] == "n12"
    shown = twelve.job(held)
    assert shown["EligibleTime"] == "2035-01-02T03:04:05" and "SchedNodeList" not in shown
    assert twelve.job(submit(twelve, "--hold"))["EligibleTime"] == "Unknown"


def test_list_of_node_counts(twelve):
    """-N 1,3 and -N 1-15:4: the largest available number in the list; a step gets the smallest number that holds its tasks."""
    fill(twelve, range(6, 13))
    job = submit(twelve, "-N1,3,8", "--exclusive", "-t1")
    assert runs_on(twelve, job) == "n[1-3]"
    waits = submit(twelve, "--nodes=3-11:4", "--exclusive", "-t1")
    assert twelve.job(waits)["NumNodes"] == "3-11" and twelve.state(waits) == "PENDING"
    assert twelve.json(f"squeue -j {waits} --json")["jobs"][0]["job_size_str"] == ["3-11:4"]
    twelve.run(f"scontrol update JobId={waits} NumNodes=2").ok()
    assert runs_on(twelve, waits) == "n[4-5]"
    twelve.run(f"scancel {job} {waits}").ok()
    twelve.settle()
    step = "srun -n4 -N1,3 -l sh -c 'echo $SLURM_STEP_NUM_NODES'"
    assert "3: 3" in twelve.run(["salloc", "-Q", "-N2-8:3", "-t1", "--exclusive", "sh", "-c", f"echo $SLURM_JOB_NUM_NODES; {step}"]).ok()


def test_all_conditions_at_once(twelve):
    """CORE-134, CORE-136, CORE-211: partition, numbers of nodes, tasks and CPUs, neighbours, named nodes, and requirements on each node."""
    job = submit(twelve, "-pfew", "-N3", "-n6", "-c1", "--contiguous", "-w", "n5", "-x", "n4", "--mincpus=2", "--mem=500", "--tmp=1")
    assert runs_on(twelve, job) == "n[5-7]"
    shown = twelve.job(job)
    assert (shown["Partition"], shown["NumNodes"], shown["NumCPUs"], shown["NumTasks"]) == ("few", "3", "6", "6")
    assert shown["MinCPUsNode"] == "2" and shown["MinTmpDiskNode"] == "1M" and shown["Contiguous"] == "1"


@pytest.mark.parametrize("options, why", [
    (["-pfew", "-w", "n9"], "Requested node configuration is not available"),
    (["-c3"], "Requested node configuration is not available"),
    (["--mincpus=3"], "Requested node configuration is not available"),
    (["-w", "n1", "-x", "n1"], "Invalid node name specified: n1 required and excluded, too"),
    (["-pfew", "-N3", "-x", "n[1-6]"], "--exclude leaves 2 of the 8 nodes of partition few"),
    (["-N2", "-n6"], "it would fit with 4 tasks"),
    (["-N7", "--contiguous", "-x", "n7"], "it would fit with nodes that need not be in a row"),
    (["-N2", "-n5", "-x", "n[1-11]"], "several options together exceed what partition main has; no single change makes the job fit"),
    (["--mem=3000"], "Memory specification can not be satisfied"),
])
def test_impossible_requests_are_refused(twelve, options, why):
    """CORE-134, CORE-138: all conditions together; --test-only prints the same (CORE-150)."""
    for more in ([], ["--test-only"]):
        done = twelve.run(["sbatch", *more, *options, "--wrap=true"])
        assert done.returncode == 1 and why in done.stderr and done.stdout == "", (options, more, done.stderr)


@pytest.mark.parametrize("option, reason", [("-N5", "PartitionNodeLimit"), ("-t61", "PartitionTimeLimit")])
def test_job_beyond_partition_limits_waits(twelve, option, reason):
    """CORE-128: which may be changed."""
    job = submit(twelve, "-pfew", option, "-n5")
    assert (twelve.state(job), twelve.job(job)["Reason"]) == ("PENDING", reason)


def test_test_only_tells_when_and_where(twelve):
    """CORE-150: nothing is queued."""
    done = twelve.run(["sbatch", "--test-only", "-N2", "--wrap=true"])
    assert done.returncode == 0
    assert "using 2 processors on nodes n[1-2] in partition main" in done.stderr
    assert twelve.run("squeue -h").ok() == ""
    done = twelve.run(["sbatch", "--test-only", "-N2", "--begin=2035-01-02T03:04:05", "--wrap=true"])
    assert "to start at 2035-01-02T03:04:05 using 2 processors on nodes n[1-2]" in done.stderr


def starts(done):
    """Of the line that scripts know: when, and where."""
    found = re.search(r"Job \d+ to start at (\S+) using \d+ processors on nodes (\S+) in partition (\S+)", done.stderr)
    assert done.returncode == 0 and found, done.stderr
    return datetime.datetime.fromisoformat(found[1]), found[2], found[3]


@pytest.mark.parametrize("command", [["sbatch", "--wrap=true"], ["srun", "true"]])
def test_test_only_knows_the_queue(twelve, command):
    """CORE-150: jobs before it have their turn, wherever there is room for it otherwise."""
    ask = lambda *options: twelve.run([command[0], "--test-only", *options, *command[1:]])  # noqa: E731
    runs_on(twelve, submit(twelve, "-N12", "--exclusive", "-t10"))
    ends = datetime.datetime.fromisoformat(twelve.job(twelve.run("squeue -h -o %i").ok())["EndTime"])
    hour = datetime.timedelta(hours=1)
    assert starts(ask("-N2", "-t10")) == (ends, "n[1-2]", "main")
    before = submit(twelve, "-N12", "--exclusive", "-t60")
    assert starts(ask("-N2", "-t10")) == (ends + hour, "n[1-2]", "main")
    assert starts(ask("-N2", "-t10", "-pfew,main")) == (ends + hour, "n[1-2]", "main")
    assert starts(ask("-N2", "-t10", f"--begin={ends:%Y-%m-%dT%H:%M:%S}")) == (ends + hour, "n[1-2]", "main")
    assert starts(ask("-N2", "-t10", f"--deadline={ends + hour:%Y-%m-%dT%H:%M:%S}"))[0] == ends + hour
    assert "too late for its deadline" in ask("-N2", "-t10", f"--deadline={ends + hour:%Y-%m-%dT%H:%M:%S}").stderr
    last = submit(twelve, "-N2", "-t10")
    eventually(lambda: twelve.job(before)["StartTime"] == ends.isoformat(), "it has its place")
    assert twelve.state(last) == "PENDING"


@pytest.mark.parametrize("command", [["sbatch", "--wrap=true"], ["srun", "true"]])
def test_test_only_of_waiting_jobs_prints_the_reason(twelve, command):
    """Held, or behind other jobs: the reason is printed instead."""
    first = runs = submit(twelve, "-n1")
    runs_on(twelve, runs)
    for option, why in (("--hold", "held until it is released"), (f"-dafterok:{first}", f"wait for other jobs (afterok:{first})")):
        done = twelve.run([command[0], "--test-only", option, *command[1:]])
        assert done.returncode == 0 and "no start can be foreseen" in done.stderr and why in done.stderr, done.stderr
        assert "to start at" not in done.stderr
    assert twelve.run("squeue -h -o %i").ok().split() == [str(first)]


def test_test_only_names_unavailable_nodes(twelve):
    """As things are it could never start: which nodes are missing is said."""
    twelve.run("scontrol update NodeName=n[1-8] State=DRAIN Reason=test").ok()
    for command in (["sbatch", "--test-only", "-pfew", "--wrap=true"], ["srun", "--test-only", "-pfew", "true"]):
        twelve.run(command).fails("allocation failure: Required node not available (down, drained or reserved): n[1-8]")
    assert starts(twelve.run("srun --test-only -pfew,main true"))[1:] == ("n9", "main")
    twelve.run("scontrol update NodeName=n[1-8] State=RESUME").ok()


def test_test_only_of_many_at_a_time(twelve):
    """A user can have two queries in the queue; further ones wait for these."""
    for _ in range(30):
        submit(twelve, "-N12", "--exclusive", "-t10")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        told = [starts(done) for done in pool.map(lambda _: twelve.run("sbatch --test-only -N12 -t10 --wrap=true"), range(16))]
    assert len({nodes for _, nodes, _ in told}) == 1 and max(told)[0] - min(told)[0] < datetime.timedelta(minutes=1)


def test_test_only_takes_no_number(twelve):
    """It names the number that the next job has; nor does a job that is refused take one."""
    before = submit(twelve, "-n1")
    for command in ("sbatch --test-only --wrap=true", "sbatch --test-only --array=1-3 --wrap=true", "srun --test-only true"):
        assert f"Job {before + 1} to start at" in twelve.run(command).stderr
    twelve.run("sbatch -n1 --mem=3000 --wrap=true").fails("Memory")
    twelve.run("sbatch --test-only -pfew -t61 --wrap=true").fails("few")
    assert submit(twelve, "-n1") == before + 1


@pytest.mark.parametrize("option", ["-N5", "-t61"])
def test_test_only_tells_of_limits(twelve, option):
    """What waits for other limits of its partition is not promised a start; of several partitions those do that let it run."""
    twelve.run(["sbatch", "--test-only", "-pfew", option, "-n5", "--wrap=true"]).fails("allocation failure", "few")
    done = twelve.run(["sbatch", "--test-only", "-pfew,main", option, "-n5", "--wrap=true"])
    assert done.returncode == 0 and "in partition main" in done.stderr


MIXED = """NodeName=a[0001-4000] NodeAddr=127.0.0.1 CPUs=4 RealMemory=1024 Weight=4 Feature=Linux
NodeName=b[0001-3000] NodeAddr=127.0.0.1 CPUs=16 RealMemory=4096 Weight=8 Feature=Linux,1200MHz
NodeName=c[0001-2000] NodeAddr=127.0.0.1 CPUs=32 RealMemory=9000 Weight=40 Feature=16GB_Swap
NodeName=d[0001-1000] NodeAddr=127.0.0.1 CPUs=64 RealMemory=16000 Weight=50 Feature=16GB_Swap,1200MHz
"""


def test_a_large_mixed_cluster_in_four_lines(make_cluster):
    """CORE-120, CORE-138: the nodes that could serve a job are those of its partition and of its configuration together."""
    c = make_cluster(nodes=0, start=False, conf=MIXED, partitions=["PartitionName=all Nodes=ALL Default=YES",
                                                                   "PartitionName=some Nodes=b[1000-2000],c0001,d[0001-0100]"])
    assert "10000 nodes, 2 partitions" in c.run("slurmctld --check").stderr
    c.start_controller()
    kinds = c.run(["sinfo", "-h", "-p", "all", "-o", "%D %c %m %f"]).ok().splitlines()
    assert sorted(line.rstrip() for line in kinds) == [
        "1000 64 16000 16GB_Swap,1200MHz", "2000 32 9000 16GB_Swap", "3000 16 4096 Linux,1200MHz", "4000 4 1024 Linux"]
    for options, count in ((["-p", "some", "-C", "1200MHz"], 1101), (["-p", "some", "-C", "1200MHz", "-c17"], 100),
                           (["-C", "16GB_Swap", "--mem=9000"], 3000), (["-C", "1200MHz", "-x", "b[0001-2999],d0001"], 1000)):
        job = submit(c, *options)
        assert f"Of {count} nodes that could ever serve" in c.run(f"sluice why {job}").ok(), options
    c.run("sbatch -N101 -p some -C 1200MHz -c17 --wrap=true").fails("Requested node configuration is not available")


def test_memory_per_cpu_is_multiplied_by_the_cpus(twelve):
    """HET-18: one task of two CPUs with 300 MB each has 600 MB."""
    job = submit(twelve, "-n1", "-c2", "--mem-per-cpu=300")
    runs_on(twelve, job)
    assert ",mem=600M," in twelve.job(job)["AllocTRES"] and twelve.job(job)["MinMemoryCPU"] == "300M"


def test_number_of_tasks_follows_from_nodes(twelve):
    """A range of nodes has as many tasks as the nodes that the job gets; -B has a task for each thread that it names, on each node."""
    for options, tasks in ((["-N2-3"], "3"), (["-N2-3", "--ntasks-per-node=2"], "6"), (["-N2-3", "-n2"], "2"), (["-B", "2:1"], "2"),
                           (["-N2", "-B", "2:1:1"], "4"), (["-N1-2", "-B", "2:1"], "2"), (["-n3", "-B", "2:1"], "3"), (["-B", "2:1", "--ntasks-per-node=1"], "1")):
        job = submit(twelve, *options)
        runs_on(twelve, job)
        assert twelve.job(job)["NumTasks"] == tasks, options
        twelve.run(f"scancel {job}").ok()
        twelve.settle()
    told = twelve.run(["salloc", "-Q", "-N2", "-B", "2:1", "sh", "-c", "echo $SLURM_NTASKS $SLURM_TASKS_PER_NODE; srun true | wc -l; srun hostname | wc -l"]).ok()
    assert told.split() == ["4", "2(x2)", "0", "4"]


def test_partition_record_shows_its_settings(twelve):
    """CORE-128."""
    shown = twelve.run("scontrol show partition few").ok()
    for text in ("PartitionName=few", "AllowGroups=ALL", "Default=NO", "MaxNodes=4 MaxTime=01:00:00", "Nodes=n[1-8]",
                 "OverSubscribe=NO", "State=UP"):
        assert text in shown
