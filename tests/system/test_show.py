# SPDX-License-Identifier: GPL-3.0-or-later
"""What scripts parse: COMPATIBILITY, CORE-063, 112, 127 to 129, 190, 197 to 200, X-03."""
import json
import re

import pytest

from harness import ROOT, eventually

JOB_FIELDS = """JobId JobName UserId GroupId MCS_label Priority Nice Account QOS JobState Reason Dependency Requeue Restarts
BatchFlag Reboot ExitCode RunTime TimeLimit TimeMin SubmitTime EligibleTime AccrueTime StartTime EndTime Deadline
SuspendTime SecsPreSuspend LastSchedEval Scheduler Partition AllocNode:Sid ReqNodeList ExcNodeList NodeList BatchHost
NumNodes NumCPUs NumTasks CPUs/Task ReqB:S:C:T Socks/Node NtasksPerN:B:S:C CoreSpec MinCPUsNode MinMemoryNode
MinTmpDiskNode Features DelayBoot OverSubscribe Exclusive Contiguous Licenses Network Command WorkDir StdErr StdIn StdOut""".split()


@pytest.fixture(scope="module")
def sleeper(cluster):
    job = cluster.sbatch("-J", "sleeper", "-N2", "-t", "10", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(job) == "RUNNING", "running")
    yield job
    cluster.run(f"scancel {job}")
    cluster.wait(job)


def test_job_record_has_every_field(cluster, sleeper):
    text = cluster.run(f"scontrol show job -d {sleeper}").ok()
    fields = cluster.job(sleeper)
    for name in JOB_FIELDS:
        wanted = name if name != "MinMemoryNode" else None
        assert wanted is None or f"{wanted}=" in text, f"{name}= is missing from\n{text}"
    assert re.search(r"MinMemory(Node|CPU)=", text)
    assert text.startswith(f"JobId={sleeper} JobName=sleeper\n   UserId=")
    assert re.search(r"\n   JobState=RUNNING Reason=None Dependency=\(null\)\n", text)
    assert fields["TimeLimit"] == "00:10:00" and fields["NodeList"] == "n[1-2]" and fields["BatchHost"] == "n1"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", fields["StartTime"])
    assert fields["ExitCode"] == "0:0" and fields["WorkDir"] == str(cluster.work)
    assert "\n" not in cluster.run(f"scontrol show job -o {sleeper}").ok()


def test_job_is_shown_as_json(cluster, sleeper):
    jobs = json.loads(cluster.run(f"scontrol show job {sleeper} --json").ok())["jobs"]
    assert jobs[0]["job_id"] == sleeper and jobs[0]["job_state"] == ["RUNNING"] and jobs[0]["name"] == "sleeper"
    assert any(j["job_id"] == sleeper for j in cluster.json("squeue")["jobs"])
    nodes = cluster.json("scontrol show nodes")["nodes"]
    assert [n["name"] for n in nodes] == cluster.names
    for key in ("state", "cpus", "alloc_cpus", "real_memory", "alloc_memory", "sockets", "cores", "threads", "weight",
                "features", "active_features", "gres", "reason"):
        assert key in nodes[0]
    assert nodes[3]["state"] == ["IDLE"] and nodes[0]["alloc_cpus"] == 1
    assert "nodes" in cluster.run("scontrol show nodes --yaml").ok()


def test_sinfo_and_steps_as_json(cluster, sleeper):
    said = cluster.json("sinfo")
    assert [n["name"] for n in said["nodes"]] == cluster.names
    groups = {g["node"]["state"][0]: g for g in said["sinfo"]}
    assert groups["MIXED"]["nodes"]["nodes"] == ["n1", "n2"] and groups["IDLE"]["nodes"]["total"] == 2
    assert groups["MIXED"]["cpus"]["allocated"] == 2 and groups["MIXED"]["memory"]["allocated"] == 200
    assert groups["IDLE"]["partition"]["name"] == "main"
    assert [n["name"] for n in cluster.json("sinfo -t idle -p main")["nodes"]] == ["n3", "n4"]
    assert cluster.json("sinfo -p nosuch")["nodes"] == [] and "sinfo:" in cluster.run("sinfo --yaml").ok()
    steps = cluster.json("squeue -s")["steps"]
    ids = [(s["step"]["id"]["job_id"]["number"], s["step"]["id"]["step_id"]) for s in steps]
    assert (sleeper, "batch") in ids and all(s["state"] == ["RUNNING"] for s in steps)


def test_nodes_partitions_jobs_and_steps(make_cluster):
    """CORE-020, CORE-021, CORE-162: each has its record, jobs of a partition start until its nodes are used up, steps have their facts."""
    c = make_cluster(nodes=3, partitions=["PartitionName=a Nodes=n[1-2] Default=YES", "PartitionName=b Nodes=n[2-3]"])
    first = c.sbatch("-N1", "-n4", "-o", "/dev/null", wrap="srun -n4 -m cyclic -J wide sleep 1000 & srun --overlap -n1 sleep 1001 & wait")
    others = [c.sbatch("-N1", "--exclusive", "-o", "/dev/null", wrap="sleep 1000") for _ in range(2)]
    eventually(lambda: c.state(others[0]) == "RUNNING" and c.job(others[1])["Reason"] == "Resources", "two run, the third waits")
    assert c.run("srun -p b -w n3 hostname").ok()  # the other partition has a node of its own
    assert c.node("n1")["Partitions"] == "a" and c.node("n2")["Partitions"] == "a,b"
    assert "Nodes=n[2-3]" in c.run("scontrol show partition b").ok()
    eventually(lambda: len(c.run(f"squeue -h -s -j {first} -o %i").ok().split()) == 3, "its steps")
    listed = c.run(["squeue", "-h", "-s", "-j", str(first), "-o", "%j %i"]).ok()
    names = dict(line.split() for line in listed.splitlines())
    wide = c.run(f"scontrol show step {names['wide']}").ok()
    for fact in (f"StepId={names['wide']} ", "State=RUNNING Partition=a NodeList=n1", "Nodes=1 CPUs=4 Tasks=4 Name=wide", "Dist=Cyclic"):
        assert fact in wide, wide
    c.run(f"scancel {names['wide']}").ok()
    eventually(lambda: c.run(f"scontrol show step {names['wide']}").returncode != 0, "one step is signalled")
    assert c.state(first) == "RUNNING" and names["sleep"] in c.run("squeue -h -s -o %i").ok()
    c.run(f"scancel {first}").ok()
    eventually(lambda: c.state(others[1]) == "RUNNING", "the third has its node")


def test_a_drained_node_is_idle_too(cluster):
    """sinfo -t idle asks for the base state, as Slurm's does."""
    cluster.run("scontrol update NodeName=n4 State=DRAIN Reason=test").ok()
    try:
        assert "n4" in cluster.run("sinfo -h -N -o %N -t idle").ok().split()
        assert cluster.run("sinfo -h -N -o %N -t idle&drain").ok() == "n4"
        assert cluster.run("sinfo -h -N -o %N -t mix&drain").ok() == ""
    finally:
        cluster.run("scontrol update NodeName=n4 State=RESUME").ok()


def test_squeue_default_columns(cluster, sleeper):
    head, row = cluster.run(f"squeue -j {sleeper}").ok().split("\n")
    assert head == "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
    assert re.fullmatch(rf" +{sleeper} +main  sleeper +\S+ +R +\d+:\d\d +2 n\[1-2\]", row)


def test_squeue_formats_and_filters(cluster, sleeper):
    """CORE-190, 200."""
    user = cluster.run("id -un").ok()
    assert cluster.run(f"squeue -h -j {sleeper} -o %i|%j|%u|%T|%t|%D|%N|%P|%C|%l").ok() == \
        f"{sleeper}|sleeper|{user}|RUNNING|R|2|n[1-2]|main|2|10:00"
    assert cluster.run(f"squeue -h -o %i -u {user} -t R -p main -n sleeper").ok() == str(sleeper)
    blank = cluster.sbatch("-H", "-J", "two [1,2] words", wrap="true")
    assert cluster.run(["squeue", "-h", "-o%i", "-n", "other,two [1"]).ok() == ""
    cluster.run(["scontrol", "update", f"JobId={blank}", "JobName=two [1] words"]).ok()
    assert cluster.run(["squeue", "-h", "-o%i", "-n", "other,two [1] words"]).ok() == str(blank)
    cluster.run(f"scancel {blank}").ok()
    assert cluster.run("squeue -h -o %i -t RUN --name sleeper").ok() == str(sleeper)  # the word of 2002
    assert cluster.run("squeue -h -o %i -t PD").ok() == ""
    assert cluster.run(f"squeue -h -j {sleeper} -O JobID:10,Name:8,StateCompact").ok().split() == \
        [str(sleeper), "sleeper", "R"]
    assert f"{sleeper}.batch" in cluster.run(f"squeue -h -s -j {sleeper}").ok()


def test_times_of_pending_jobs_are_shown(cluster):
    held = cluster.sbatch("-H", wrap="true")
    later = cluster.sbatch("--begin=now+1hour", "-t", "10", wrap="true")
    fields = cluster.job(held)
    assert fields["EligibleTime"] == fields["AccrueTime"] == fields["StartTime"] == "Unknown"
    fields = cluster.job(later)
    assert fields["StartTime"] == fields["EligibleTime"] != "Unknown" and fields["EndTime"] > fields["StartTime"]
    assert cluster.run(f"squeue -h -j {held},{later} -S S -o %i").ok().split() == [str(later), str(held)]
    assert cluster.run("squeue --start").ok().split("\n")[0] == (
        "             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES           NODELIST(REASON)")
    cluster.run(f"scancel {held} {later}").ok()


def test_held_job_has_its_submit_time_as_evaluation_time(cluster):
    held = cluster.sbatch("-H", wrap="true")
    fields = cluster.job(held)
    assert fields["LastSchedEval"] == fields["SubmitTime"]
    cluster.run(f"scancel {held}").ok()


def test_interactive_job_is_shown_as_text(cluster):
    done = cluster.run(["salloc", "-Q", "-J", "inter", "sh", "-c",
                        "scontrol show job $SLURM_JOB_ID; squeue -h -j $SLURM_JOB_ID -o %B,%e,%o"]).ok()
    assert "StdOut=" not in done and "Command=(null)" in done and "Requeue=1" in done
    assert done.split("\n")[-1] == cluster.run("hostname -s").ok() + ",NONE,(null)"


def test_squeue_sorts_by_columns(cluster):
    jobs = [cluster.sbatch("-H", "-J", name, wrap="true") for name in ("bb", "aa", "cc")]
    assert cluster.run("squeue -h -t PD -S j -o %j").ok().split() == ["aa", "bb", "cc"]
    assert cluster.run("squeue -h -t PD -S -i -o %i").ok().split() == [str(j) for j in reversed(jobs)]
    assert cluster.run(f"squeue -h -j {jobs[0]} -o %r,%R").ok() == "JobHeldUser,(JobHeldUser)"
    cluster.run(["scancel", *map(str, jobs)])


def test_sinfo_lists_partitions_and_states(cluster, sleeper):
    """CORE-063."""
    head, *rows = cluster.run("sinfo").ok().split("\n")
    assert head == "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST"
    assert rows == ["main*        up   infinite      2    mix n[1-2]", "main*        up   infinite      2   idle n[3-4]"]
    assert cluster.run("sinfo -h -N -p main -o %N -e -t idle").ok().split() == ["n3", "n4"]
    assert cluster.run("sinfo -h -o %P|%a|%D|%t -t idle").ok() == "main*|up|2|idle"
    assert cluster.run("sinfo -N -l").ok().split("\n")[1].split()[:6] == \
        ["NODELIST", "NODES", "PARTITION", "STATE", "CPUS", "S:C:T"]


def test_partition_and_node_records(cluster):
    """CORE-112, 128."""
    text = cluster.run("scontrol show partition main").ok()
    assert text.startswith("PartitionName=main\n   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n")
    assert "Nodes=n[1-4]" in text and "State=UP" in text and "TotalCPUs=16" in text and "TotalNodes=4" in text
    node = cluster.node("n3")
    assert node["CPUTot"] == "4" and node["RealMemory"] == "4000" and node["State"] == "IDLE"
    assert len(cluster.run("scontrol show node n[1-2] -o").ok().split("\n")) == 2  # CORE-198
    assert len(cluster.run("scontrol show nodes -o").ok().split("\n")) == 4


def test_configuration_is_shown(cluster):
    """CORE-197."""
    text = cluster.run("scontrol show config").ok()
    assert text.startswith("Configuration data as of 2") and text.count("Configuration data") == 1
    assert re.search(r"^SlurmctldHost\[0\] +(= localhost.*)$", text, re.M)
    assert re.search(r"^SlurmUser +(= \w+\(\d+\))$", text, re.M)
    assert f"SLURM_CONF              = {cluster.conf_file}" in text
    assert "SLURM_VERSION           = 26.05.0" in text
    assert cluster.run("scontrol show config KillWait").ok().strip() == "KillWait                = 1 sec"
    assert re.search(r"^MaxNodeCount +(= 4)$", text, re.M)


def test_json_of_empty_listings(cluster):
    config = cluster.json("scontrol show config")["config"]
    assert config["ClusterName"] == "test" and config["TaskEpilog"] is None and config["MaxNodeCount"] == "4"
    assert cluster.json("scontrol show reservation")["reservations"] == []
    assert cluster.json("scontrol show license")["licenses"] == []
    assert "reservations: []" in cluster.run("scontrol show reservation --yaml").ok()


def test_host_lists_without_controller(cluster):
    env = {"SLURM_CONF": "/nonexistent"}
    run = lambda line: cluster.run(line, env=env).ok()
    assert run("scontrol show hostnames n[01-03],x") == "n01\nn02\nn03\nx"
    assert run("scontrol show hostnames [6820]") == "6820"
    assert run("scontrol show hostlist 1,2,3") == "[1-3]"
    assert run("scontrol show hostlistsorted n3,n1,n2") == "n[1-3]"
    assert cluster.run("scontrol show hostlist -", env=env, stdin="n3\nn1 n2\n").ok() == "n[3,1-2]"


def test_ping_names_the_controllers(cluster):
    assert cluster.run("scontrol ping").ok() == "Slurmctld(primary) at localhost is UP"


def test_partition_changes_keep_running_jobs(cluster):
    """CORE-047, 048, 129, 199: changing a partition does not affect running jobs; fields that cannot be changed are refused with a message."""
    cluster.run("scontrol update PartitionName=main MaxTime=2:00:00").ok()
    runs = cluster.sbatch("-t", "1:00:00", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(runs) == "RUNNING", "running")
    before = cluster.job(runs)
    cluster.run("scontrol update PartitionName=main MaxTime=30").ok()
    assert "MaxTime=00:30:00" in cluster.run("scontrol show partition main").ok()
    cluster.run("scontrol update PartitionName=main State=DOWN").ok()
    same = ("JobState", "TimeLimit", "EndTime", "StartTime", "NodeList", "Restarts", "Partition")
    assert [cluster.job(runs)[f] for f in same] == [before[f] for f in same]
    cluster.run(f"scancel {runs}").ok()
    job = cluster.sbatch("-o", "/dev/null", wrap="true")
    assert cluster.job(job)["Reason"] == "PartitionDown"
    cluster.run("scontrol update PartitionName=main State=UP MaxTime=UNLIMITED").ok()
    assert cluster.wait(job)["JobState"] == "COMPLETED"  # CORE-053: at once, by the event
    cluster.run("scontrol update NodeName=n1 RealMemory=5").fails("RealMemory")


def test_reconfigure_keeps_running_jobs(make_cluster):
    """CORE-127, 196: re-read under running jobs; a broken file changes nothing and is named with its line."""
    c = make_cluster(nodes=2)
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    text = c.conf_file.read_text()
    c.conf_file.write_text(text + "MaxJobCount=77\n")
    said = c.run("scontrol reconfigure").ok()
    assert "MaxJobCount" in said and "77" in said
    assert "77" in c.run("scontrol show config MaxJobCount").ok()
    c.conf_file.write_text(text + "MaxJobCount=many\n")
    line = len(text.splitlines()) + 1
    c.run("scontrol reconfigure").fails(f"slurm.conf:{line}", "MaxJobCount")
    c.conf_file.write_text(text)
    assert "77" in c.run("scontrol show config MaxJobCount").ok()
    assert c.state(job) == "RUNNING"
    c.run(f"scancel {job}")


def test_pending_job_is_updated(cluster):
    job = cluster.sbatch("-H", "-J", "before", wrap="true")
    cluster.run(f"scontrol update JobId={job} JobName=after TimeLimit=5 Nice=10").ok()
    fields = cluster.job(job)
    assert (fields["JobName"], fields["TimeLimit"], fields["Nice"]) == ("after", "00:05:00", "10")
    cluster.run(f"scontrol update JobId={job} BatchHost=n1").fails("BatchHost")
    cluster.run(f"scontrol update JobId={job} Frob=1").fails("Frob")
    cluster.run(f"scancel {job}")


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_owner_may_not_raise_the_limit_of_a_running_job(cluster):
    job = cluster.sbatch("-t", "5", "-o", "/dev/null", user="nobody", wrap="sleep 1000")
    eventually(lambda: cluster.state(job) == "RUNNING", "running")
    for limit in ("10", "0", "UNLIMITED"):
        cluster.run(f"scontrol update JobId={job} TimeLimit={limit}", user="nobody").fails("ccess")
    assert cluster.job(job)["TimeLimit"] == "00:05:00"
    cluster.run(f"scontrol update JobId={job} TimeLimit=4", user="nobody").ok()
    cluster.run(f"scancel {job}")
    cluster.wait(job)


def test_batch_script_is_kept(cluster):
    job = cluster.sbatch("-H", script="#!/bin/sh\necho kept\n")
    assert cluster.run(f"scontrol write batch_script {job} -").ok() == "#!/bin/sh\necho kept"
    cluster.run(f"scancel {job}")


def test_control_characters_do_not_reach_the_terminal(cluster):
    """RELIABILITY G11."""
    job = cluster.sbatch("-H", "-J", "evil\x1b[31mname", wrap="true")
    for line in (f"squeue -h -j {job} -o %j", f"scontrol show job {job}"):
        assert "\x1b" not in cluster.run(line).ok()
    cluster.run(f"scancel {job}")


def test_a_pending_job_needs_the_nodes_that_its_cpus_fill(cluster):
    for options, nodes, asked in (("-n9", "3", "1"), ("-n4", "1", "1"), ("-n3 -c2", "2", "1"), ("-n9 -N1-3", "3-3", "1"), ("-N2 -n2", "2-2", "2"),
                                  ("-n2 -w n1,n3", "2", "2"), ("-n9 -O", "1", "1"), ("-n8 --ntasks-per-node=2", "4", "1")):
        job = cluster.sbatch("-H", *options.split(), wrap="true")
        fields = cluster.job(job)
        assert fields["NumNodes"] == nodes and f",node={asked}," in fields["ReqTRES"], options
        assert cluster.run(f"squeue -h -j {job} -o %D").ok() == nodes[0], options
        cluster.run(f"scancel {job}").ok()
