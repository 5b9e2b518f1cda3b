# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets, cores and threads with real daemons."""
import re

import pytest

from harness import eventually


@pytest.fixture
def sockets(make_cluster):
    c = make_cluster(nodes=2, start=False, conf="AllowSpecResourcesUsage=yes")
    c.conf_file.write_text(c.conf_file.read_text().replace("CPUs=4", "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"))
    c.start()
    return c


def held(c, job):
    """"NumCPUs CPU_IDs" of a running job."""
    shown = c.run(f"scontrol show job -d {job}").ok()
    return shown.split("NumCPUs=")[1].split()[0] + " " + shown.split("CPU_IDs=")[1].split()[0]


@pytest.mark.parametrize("options, expected", [
    (["-n4"], "4 0-1,8-9"),
    (["-n4", "-m", "block:block"], "4 0-3"),
    (["-n4", "--threads-per-core=1"], "8 0-3,8-11"),
    (["-n4", "--threads-per-core=1", "-m*:block"], "8 0-7"),
    (["-n4", "--hint=nomultithread"], "8 0-3,8-11"),
    (["-n4", "--hint=compute_bound"], "8 0-3,8-11"),
    (["-n2", "--hint=memory_bound", "-N1"], "4 0-1,8-9"),
    (["-n4", "--hint=multithread"], "4 0-1,8-9"),
    (["-n4", "--ntasks-per-core=1"], "8 0-3,8-11"),
    (["-n2", "--ntasks-per-socket=1", "-N1"], "4 0-1,8-9"),
    (["-n4", "--ntasks-per-socket=2", "-N1"], "4 0-1,8-9"),
    (["--ntasks-per-socket=1", "--mincpus=11"], "12 0-11"),
    (["--ntasks-per-socket=1", "--mincpus=11", "-m*:block"], "12 0-3,8-15"),
    (["-B2:4:2", "-n1"], "2 0-1"),
    (["--sockets-per-node=2", "-n1"], "2 0-1"),
    (["--core-spec=2", "-n12"], "16 0-15"),
    (["--thread-spec=3", "-n13"], "16 0-15"),
])
def test_job_gets_the_expected_cores(sockets, options, expected):
    job = sockets.sbatch(*options, wrap="sleep 100")
    eventually(lambda: sockets.state(job) == "RUNNING", "a start")
    assert held(sockets, job) == expected
    sockets.run(f"scancel {job}").ok()


def test_one_task_per_core_gets_whole_cores(make_cluster):
    """CR_ONE_TASK_PER_CORE, for jobs that do not say."""
    c = make_cluster(nodes=1, start=False, conf="SelectTypeParameters=CR_Core,CR_ONE_TASK_PER_CORE")
    c.conf_file.write_text(c.conf_file.read_text().replace("CPUs=4", "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"))
    c.start()
    for options, expected in ((["-n4"], 8), (["-n4", "--ntasks-per-core=2"], 4), (["-n2", "-c3"], 6)):
        job = c.sbatch(*options, wrap="sleep 100")
        eventually(lambda: c.state(job) == "RUNNING", "a start")
        assert c.job(job)["NumCPUs"] == str(expected)
        c.run(f"scancel {job}").ok()


@pytest.mark.parametrize("options, words", [
    (["-B3"], "Socket count per node can not be satisfied: 3 asked, at most 2 on a node of partition main"),
    (["--cores-per-socket=5"], "Core count per socket can not be satisfied: 5 asked, at most 4 on a node of partition main"),
    (["--threads-per-core=4"], "Thread count per core can not be satisfied: 4 asked, at most 2 on a node of partition main"),
    (["-n3", "--ntasks-per-socket=1", "-N1"], "it would fit with 2 tasks"),
    (["--core-spec=2", "-n13", "-N1"], "it would fit with 12 tasks"),
    (["--core-spec=9"], "it would fit with --core-spec=7"),
    (["--thread-spec=20"], "it would fit with --thread-spec=15"),
    (["--thread-spec=3", "-n14", "-N1"], "it would fit with 13 tasks"),
    (["--thread-spec=3", "--core-spec=2"], "--core-spec and --thread-spec are mutually exclusive."),
    (["-B2:x"], 'Invalid numeric value "x" for second arg of -B.'),
    (["--sockets-per-node=0"], 'Invalid numeric value "0" for --sockets-per-node.'),
    (["--hint=fast"], 'unrecognized --hint argument "fast", see --hint=help'),
])
def test_impossible_core_requests_are_refused(sockets, options, words):
    sockets.run(["sbatch", *options, "--wrap", "true"]).fails(words)


def test_exclusive_user_shares_with_own_jobs_only(make_cluster, nobody):
    c = make_cluster(nodes=1)
    first = c.sbatch("--exclusive=user", "-n1", wrap="sleep 100")
    eventually(lambda: c.state(first) == "RUNNING", "a start")
    same = c.sbatch("-n1", wrap="sleep 100")
    eventually(lambda: c.state(same) == "RUNNING", "a start beside it")
    other = c.sbatch("-n1", "-D", "/", "-o", "/dev/null", wrap="true", user="nobody")
    eventually(lambda: c.job(other)["Reason"] == "Resources", "the other user's wait")
    c.run(f"scancel {first}").ok()
    assert c.wait(other)["JobState"] == "COMPLETED" and c.state(same) == "RUNNING"
    assert "OverSubscribe=OK Exclusive=USER " in c.run(f"scontrol show job {first}").ok()
    c.run(f"scancel {same}").ok()


def test_cores_reserved_for_the_system_are_not_allocated(make_cluster):
    c = make_cluster(nodes=1, node_conf="CoreSpecCount=1 MemSpecLimit=1000")
    shown = c.run("scontrol show node n1").ok()
    assert "CPUEfctv=3 CPUTot=4" in shown and "CoreSpecCount=1 CPUSpecList=3 MemSpecLimit=1000" in shown
    assert "RealMemory=4000 " in shown and "CfgTRES=cpu=4,mem=3000M," in shown
    node = c.json("scontrol show node n1")["nodes"][0]
    assert [node[k] for k in ("specialized_cores", "specialized_cpus", "specialized_memory", "real_memory")] == [1, "3", 1000, 4000]
    assert c.run(["sinfo", "-h", "-o", "%m"]).ok() == "4000"
    written = c.run(f"scontrol write config {c.dir}/written").ok().split()[-1]
    assert " RealMemory=4000 CpuSpecList=3 MemSpecLimit=1000" in open(written).read()
    c.run("sbatch --test-only -n4 -N1 --wrap true").fails("More processors requested than permitted")
    c.run("sbatch -n1 --mem=3001 --wrap true").fails("Memory specification can not be satisfied")
    assert c.run("srun -n3 --mem=3000 hostname").ok()


@pytest.mark.parametrize("conf, kept, first, others", [
    ("CoreSpecCount=2", "6-7,14-15", "0-1", "0-5,8-13"),
    ("CpuSpecList=0,9", "0-1,8-9", "2-3", "2-7,10-15"),
    ("CpuSpecList=12-15", "12-15", "0-1", "0-11"),
])
def test_system_cores_follow_core_spec_and_cpu_spec(make_cluster, conf, kept, first, others):
    """CoreSpecCount: the last ones of the sockets in turn; CpuSpecList: these, with their cores. Also after a restart."""
    c = make_cluster(nodes=1, start=False)
    c.conf_file.write_text(c.conf_file.read_text().replace("CPUs=4", f"Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 {conf}"))
    c.start()
    assert "CPUEfctv=12 CPUTot=16" in c.run("scontrol show node n1").ok()
    assert f" CoreSpecCount=2 CPUSpecList={kept}" in c.run("scontrol show node n1").ok().replace("\n  ", "")
    assert c.json("scontrol show node n1")["nodes"][0]["specialized_cpus"] == kept
    written = c.run(f"scontrol write config {c.dir}/written").ok().split()[-1]
    assert f" CpuSpecList={kept}" in open(written).read()
    one, all_of_it = (c.sbatch(*options, wrap="sleep 100") for options in (["-n1"], ["--exclusive", "-n12"]))
    eventually(lambda: c.state(one) == "RUNNING", "a start")
    assert held(c, one) == f"2 {first}"
    c.kill("slurmctld")
    c.start_controller()
    assert held(c, one) == f"2 {first}"
    c.run(f"scancel {one}").ok()
    eventually(lambda: c.state(all_of_it) == "RUNNING", "the other one's start")
    assert held(c, all_of_it) == f"12 {others}"
    c.run(f"scancel {all_of_it}").ok()


def test_core_spec_of_jobs_must_be_allowed(cluster):
    """AllowSpecResourcesUsage=no: --core-spec and --thread-spec only have the effect of --exclusive, and the user gets a message."""
    for option in ("core", "thread"):
        done = cluster.run(f"sbatch --parsable --{option}-spec=9 --wrap true")
        assert done.returncode == 0 and f"--{option}-spec means --exclusive and no more: slurm.conf has no AllowSpecResourcesUsage=yes" in done.stderr
        assert cluster.job(int(done.stdout))["CoreSpec"] == "*"
        for command in (["salloc"], ["srun"]):
            done = cluster.run([*command, f"--{option}-spec=9", "true"])
            assert done.returncode == 0 and f"--{option}-spec means --exclusive and no more" in done.stderr, done


@pytest.mark.parametrize("command", ["salloc", "srun"])
def test_submission_warnings_are_shown_once(cluster, command):
    """Once, with the first answer."""
    blocker = cluster.sbatch("-N4", "--exclusive", wrap="sleep 1000")
    cluster.wait_state(blocker, "RUNNING")
    waiting = cluster.popen([command, "--core-spec=1", "true"])
    said = [waiting.stderr.readline()]
    while "queued and waiting" not in said[-1]:
        said.append(waiting.stderr.readline())
    assert any("--core-spec means --exclusive and no more" in line for line in said), said
    cluster.run(f"scancel {blocker}").ok()
    assert waiting.wait() == 0 and "--core-spec" not in waiting.stderr.read()
    for stream in waiting.stdout, waiting.stderr:
        stream.close()


@pytest.mark.parametrize("conf, words", [
    ("CpuSpecList=0,4", "CpuSpecList=0,4: the node has CPUs 0 to 3"),
    ("CpuSpecList=0-3", "CoreSpecCount or CpuSpecList leaves no core for jobs"),
    ("CpuSpecList=1 CoreSpecCount=1", "CoreSpecCount and CpuSpecList are both given: remove one of them"),
    ("CpuSpecList=a", 'CpuSpecList=a: expected numbers and ranges, "0-3,8"'),
])
def test_impossible_core_specs_are_refused(make_cluster, conf, words):
    c = make_cluster(nodes=1, node_conf=conf, start=False)
    c.run(["slurmctld", "--check", "-f", c.conf_file]).fails(words)


@pytest.fixture
def capped(make_cluster):
    """A node of two sockets of four cores; jobs of one partition have two CPUs of each at most."""
    return make_cluster(nodes=1, cpus=8, node_conf="Sockets=2 CoresPerSocket=4", partitions=[
        "PartitionName=main Nodes=ALL Default=YES", "PartitionName=few Nodes=ALL MaxCPUsPerSocket=2"])


def test_partition_limits_cpus_of_each_socket(capped):
    """MaxCPUsPerSocket: of all its jobs together, and changed live."""
    c = capped

    def submit(*options):
        return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")

    def runs(job, where):
        eventually(lambda: c.state(job) == "RUNNING", "a start")
        assert held(c, job) == where

    first = submit("-pfew", "-n3")
    runs(first, "3 0-1,4")
    waits = submit("-pfew", "-n2")
    eventually(lambda: c.job(waits)["Reason"] == "Resources", "one CPU is left to its partition")
    last = submit("-pfew", "-n1", "-t1")
    c.run(f"scontrol hold {waits}").ok()
    runs(last, "1 5")
    c.kill("slurmctld")
    c.start_controller()
    main = submit("-n4")
    runs(main, "4 2-3,6-7")
    c.run(f"scancel {main}").ok()
    c.run("sbatch --test-only -pfew -n5 --wrap=true").fails("More processors requested than permitted")
    c.run("sbatch --test-only -pfew -c5 --wrap=true").fails("More processors requested than permitted")
    c.run("sbatch -pfew --exclusive --wrap=true").fails("Requested node configuration is not available")
    assert "MaxCPUsPerSocket=2" in c.run("scontrol show partition few").ok()
    assert "MaxCPUsPerSocket=UNLIMITED" in c.run("scontrol show partition main").ok()
    c.run("scontrol update PartitionName=few MaxCPUsPerSocket=x").fails("MaxCPUsPerSocket")
    c.run(f"scontrol release {waits}").ok()
    c.run("scontrol update PartitionName=few MaxCPUsPerSocket=3").ok()
    runs(waits, "2 2,6")
    c.run("scontrol update PartitionName=few MaxCPUsPerSocket=UNLIMITED").ok()
    whole = submit("-pfew", "-n2")
    runs(whole, "2 3,7")


def test_suspended_job_resumes_within_the_socket_limit(capped, nobody):
    c = capped
    first = c.sbatch("-o", "/dev/null", "-pfew", "-n4", wrap="sleep 1000")
    eventually(lambda: c.state(first) == "RUNNING", "a start")
    c.run(f"scontrol suspend {first}").ok()
    second = c.sbatch("-o", "/dev/null", "-pfew", "-n4", wrap="sleep 1000")
    eventually(lambda: c.state(second) == "RUNNING", "its CPUs are for others")
    c.run(f"scontrol resume {first}").fails("")
    c.run(f"scancel {second}").ok()
    eventually(lambda: c.run(f"scontrol resume {first}").returncode == 0, "they are free")
    assert held(c, first) == "4 0-1,4-5"


def test_partition_allocates_whole_sockets(make_cluster):
    """SelectTypeParameters=CR_Socket of a partition, on a cluster that gives cores, also over a reconfiguration."""
    c = make_cluster(nodes=1, start=False, conf="SelectTypeParameters=CR_Core")
    conf = c.conf_file.read_text().replace("CPUs=4", "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2")
    c.conf_file.write_text(conf + "PartitionName=whole Nodes=ALL SelectTypeParameters=CR_Socket\n")
    c.start()
    core = c.sbatch("-n1", wrap="sleep 100")
    eventually(lambda: c.state(core) == "RUNNING", "a start")
    assert held(c, core) == "2 0-1"
    first, second = (c.sbatch("-p", "whole", "-n1", wrap="sleep 100") for _ in range(2))
    eventually(lambda: c.state(first) == "RUNNING", "a start")
    assert held(c, first) == "8 8-15"
    eventually(lambda: c.job(second)["Reason"] == "Resources", "it waits for a socket")
    c.run(f"scancel {core}").ok()
    eventually(lambda: c.state(second) == "RUNNING", "a start")
    assert held(c, second) == "8 0-7"
    c.run(f"scancel {second}").ok()
    eventually(lambda: c.run("sinfo -h -o %C").ok() == "8/8/0/16", "a free socket")
    c.conf_file.write_text(c.conf_file.read_text().replace(" SelectTypeParameters=CR_Socket", ""))
    c.run("scontrol reconfigure").ok()
    assert held(c, first) == "8 8-15"
    third = c.sbatch("-p", "whole", "-n1", wrap="sleep 100")
    eventually(lambda: c.state(third) == "RUNNING", "a start")
    assert held(c, third) == "2 0-1"


def test_running_jobs_keep_cpus_after_a_change_of_units(make_cluster):
    """Cores, CPUs or sockets are allocated: running jobs keep their CPUs when the unit changes, also across a restart."""
    c = make_cluster(nodes=1, start=False, conf="SelectTypeParameters=CR_Socket")
    c.conf_file.write_text(c.conf_file.read_text().replace("CPUs=4", "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"))
    c.start()
    jobs = [c.sbatch("-n8", wrap="sleep 100") for _ in range(2)]
    for job in jobs:
        eventually(lambda: c.state(job) == "RUNNING", "a start")
    for way in ("CR_CPU", "CR_Core", "CR_CPU"):
        c.conf_file.write_text(re.sub("CR_(Socket|Core|CPU)", way, c.conf_file.read_text()))
        c.run("scontrol reconfigure").ok()
        assert c.run("sinfo -h -o %C").ok() == "16/0/0/16"
    c.kill("slurmctld")
    c.start_controller()
    assert c.run("sinfo -h -o %C").ok() == "16/0/0/16"
    waits = c.sbatch("-n14", wrap="true")
    eventually(lambda: c.job(waits)["Reason"] == "Resources", "it waits")
    for job in jobs:
        c.run(f"scancel {job}").ok()
    assert c.wait(waits)["JobState"] == "COMPLETED"
