# SPDX-License-Identifier: GPL-3.0-or-later
"""Columns, filters and variables of squeue and sinfo, and the output of scontrol about daemons."""
import datetime
import json
import re
import socket

import pytest

from harness import eventually

JOB_NAMES = """Account AccrueTime admin_comment AllocNodes AllocSID ArrayJobID ArrayTaskID AssocID BatchFlag BatchHost BoardsPerNode BurstBuffer
BurstBufferState Cluster ClusterFeature Command Comment Contiguous Container ContainerID ContainerType Cores CoreSpec cpus-per-task cpus-per-tres
CronJob Deadline DelayBoot Dependency DerivedEC EligibleTime EndTime Exclusive ExcNodes exit_code Feature GroupID GroupName HetJobID HetJobIDSet
HetJobOffset JobArrayID JobID LastSchedEval Licenses LicensesAlloc MaxCPUs MaxNodes MCSLabel mem-per-tres MinCpus MinMemory MinTime MinTmpDisk Name
Network Nice NodeList NTPerBoard NTPerCore NTPerNode NTPerSocket NumCPUs NumNodes NumTasks Origin OriginRaw OverSubscribe Partition PendingTime
PreemptTime Prefer Priority PriorityLong Profile QOS Reason ReasonList Reboot ReqNodes ReqSwitch Requeue Reservation ResizeTime RestartCnt
SchedNodes SCT SegmentSize SiblingsActive SiblingsActiveRaw SiblingsViable SiblingsViableRaw Sluid Sockets SPerBoard StartTime State StateCompact
STDERR STDIN STDOUT SubmitTime system_comment Threads TimeLeft TimeLimit TimeUsed tres-alloc tres-bind tres-freq tres-per-job tres-per-node
tres-per-socket tres-per-task UserID UserName Wait4Switch WCKey WorkDir""".split()
STEP_NAMES = "ArrayJobID ArrayTaskID Cluster Container cpus-per-tres CPUFreq JobID mem-per-tres Name Network Nodes NumCPUs NumTasks Partition " \
    "ResvPort StartTime STDERR STDIN STDOUT StepID StepName StepState TimeLimit TimeUsed tres-alloc tres-bind tres-freq tres-per-node " \
    "tres-per-socket tres-per-step tres-per-task UserID UserName".split()
NODE_NAMES = """AllocMem AllocNodes Available Cluster Comment Cores CPUs CPUsLoad CPUsState DefaultTime Disk Extra Features features_act FreeMem Gres
GresUsed Groups MaxCPUsPerNode Memory NodeAddr NodeAI NodeAIOT NodeHost NodeList Nodes OverSubscribe Partition PartitionName Port PreemptMode
PriorityJobFactor PriorityTier Priority Reason Root Size SocketCoreThread Sockets StateCompact StateLong StateComplete Threads Time TimeStamp User
UserLong Version Weight""".split()
LETTERS = {"squeue": "aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ", "squeue -s": "AbijlMNPSuU",
           "sinfo": "aAbBcCdDeEfFgGhHiIlLmMnNoOpPrRsStTuUvVwXYZz"}
ALSO = {"priority", "admin_comment", "system_comment"}  # further names of columns that are listed
NAMES = {"squeue": JOB_NAMES, "squeue -s": STEP_NAMES, "sinfo": NODE_NAMES}


@pytest.mark.parametrize("command", NAMES)
def test_columns_of_the_manual_are_known_and_listed(cluster, command):
    for names in (NAMES[command][i:i + 40] for i in range(0, len(NAMES[command]), 40)):
        said = cluster.run(f"{command} -O {','.join(n + ':25' for n in names)}").ok(), cluster.look(f"{command} -O {','.join(names)}")
        assert said[0].splitlines()[0]
        assert "nvalid" not in cluster.run(f"{command} -O {','.join(names)}").stderr
    assert cluster.run([*command.split(), "-o", " ".join("%" + x for x in LETTERS[command])]).stderr == ""
    listed = cluster.run(f"{command} --helpformat").ok()
    for letter in LETTERS[command]:
        assert re.search(rf" %{letter} ", listed), letter
    assert {n.lower() for n in NAMES[command]} - ALSO <= {line.split()[0].lower() for line in listed.splitlines()}


def test_requested_values_are_in_their_columns(cluster):
    job = int(cluster.run("sbatch --parsable -H -n2 --ntasks-per-node=2 -c1 --sockets-per-node=1 --cores-per-socket=1 --exclusive=user -o /dev/null "
                          "--wrap true").ok())
    columns = "MinCpus,Sockets,Cores,Threads,SCT,CoreSpec,Exclusive,CronJob,SegmentSize"
    found = cluster.run(f"squeue -h -j {job} -O {columns}").ok().split()
    assert found == ["2", "1", "1", "*", "1:1:*", "N/A", "USER", "No", "0"]
    assert "MinCPUsNode=2 " in cluster.run(f"scontrol show job {job}").ok()
    cluster.run(f"scancel {job}")


def test_filters_select_jobs_by_run_time(cluster):
    job = cluster.sbatch("-t", "10", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(job) == "RUNNING", "running")
    assert cluster.run("squeue -h -o %i --running-under=5").ok() == str(job)
    assert cluster.run("squeue -h -o %i --running-over=5").ok() == ""
    eventually(lambda: cluster.run("squeue -h -o %i --running-over=0:01").ok() == str(job), "two seconds of run time")
    cluster.run("squeue --running-over=soon").fails("invalid --running-over 'soon'")
    cluster.run(f"scancel {job}")
    cluster.wait(job)


def test_start_knows_what_why_knows(cluster):
    first = cluster.sbatch("-N4", "--exclusive", "-t", "10", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(first) == "RUNNING", "running")
    jobs = [cluster.sbatch("-N4", "--exclusive", "-t", "10", "-o", "/dev/null", wrap="true") for _ in range(20)]
    eventually(lambda: cluster.job(jobs[-1])["Reason"] == "Priority", "looked at")
    rows = dict(line.split("|") for line in cluster.run(["squeue", "--start", "-h", "-o", "%i|%S"]).ok().splitlines())
    for job in jobs:
        why = json.loads(cluster.run(f"sluice why {job} --json").ok())["why"][0]
        assert (rows[str(job)] != "N/A") == (why["start_time"]["number"] > 0 if isinstance(why.get("start_time"), dict) else True), (job, rows, why)
    assert "N/A" not in rows.values()
    nodes = {line for line in cluster.run(["squeue", "--start", "-h", "-o", "%Y"]).ok().splitlines()}
    assert nodes == {"n[1-4]"}
    assert {j["scheduled_nodes"] for j in cluster.json("squeue --start")["jobs"]} == {"n[1-4]"}
    cluster.run(f"scontrol update JobId={first} TimeLimit=UNLIMITED").ok()
    eventually(lambda: "not foreseeable" in cluster.run(f"sluice why {jobs[0]}").ok(), "the new limit")
    rows = cluster.run(["squeue", "--start", "-h", "-o", "%S %Y"]).ok().splitlines()
    assert len(rows) == 20 and set(rows) == {"N/A (null)"}
    cluster.run(f"scancel {' '.join(map(str, [first, *jobs]))}")
    cluster.wait(first)


def test_file_columns_show_patterns_of_pending_jobs(cluster):
    job = int(cluster.run("sbatch --parsable -H -a 3-5 -o out.%A.%a -e /tmp/err.%x -J name --wrap true").ok())
    column = ["squeue", "-h", "-j", str(job), "-O", "STDOUT:.50,STDERR:.20,STDIN:.12"]
    assert cluster.run(column).ok().split() == [f"{cluster.work}/out.%A.%a", "/tmp/err.%x", "/dev/null"]
    assert cluster.run([*column, "--expand-patterns"]).ok().split() == [f"{cluster.work}/out.{job}.3", "/tmp/err.name", "/dev/null"]
    record = cluster.json(f"squeue -j {job}")["jobs"][0]
    assert (record["standard_output"], record["stdout_expanded"]) == (f"{cluster.work}/out.%A.%a", f"{cluster.work}/out.{job}.3")
    cluster.run(f"scancel {job}")


def test_columns_of_a_step_show_its_files(cluster):
    """As given to srun: relative names are in its directory, and output to srun itself has no file."""
    job = cluster.sbatch("-n1", "-o", "/dev/null", wrap="srun -J one -o out.%j.%s.%t -e /tmp/err.%x -i none sleep 1000 & srun --overlap -J two -o 0 sleep 1000")
    eventually(lambda: len(cluster.run(f"squeue -h -s -j {job} -o %j").ok().split()) >= 3, "its steps run")
    column = ["squeue", "-h", "-s", "-j", str(job), "-O", "StepName:.10,STDOUT:.200,STDERR:.60,STDIN:.60"]
    rows = {row.split()[0]: row.split()[1:] for row in cluster.run(column).ok().splitlines()}
    assert rows["one"] == [f"{cluster.work}/out.%j.%s.%t", "/tmp/err.%x", "/dev/null"]
    assert rows["two"] == ["(null)"] * 3
    first = next(row.split() for row in cluster.run([*column, "--expand-patterns"]).ok().splitlines() if row.split()[0] == "one")
    number = next(step.split()[0].split(".")[1] for step in cluster.run(["squeue", "-h", "-s", "-j", str(job), "-o", "%i %j"]).ok().splitlines() if step.split()[1] == "one")
    assert first[1:] == [f"{cluster.work}/out.{job}.{number}.0", "/tmp/err.%x", "/dev/null"]
    cluster.run(f"scancel {job}").ok()
    cluster.wait(job)


def test_exit_codes_are_a_code_and_a_signal(cluster):
    job = cluster.sbatch("-o", "/dev/null", wrap="srun sh -c 'exit 5'; kill -9 $$")
    cluster.wait(job)
    assert cluster.run(f"squeue -h -t all -j {job} -O exit_code,DerivedEC").ok().split() == ["0:9", "5:0"]


def test_step_has_its_resources(cluster):
    job = cluster.sbatch("-n2", "--mem=100", "-o", "/dev/null", wrap="srun -J inner sleep 1000")
    eventually(lambda: cluster.run(f"squeue -h -s{job}.0 -O Name,tres-alloc:40").ok().split() == ["inner", "cpu=2,mem=100M,node=1"], "step")
    eventually(lambda: cluster.run(f"sstat -a -n -P -o JobID,AllocTRES -j {job}").ok().splitlines() == [
        f"{job}.batch|cpu=2,mem=100M,node=1", f"{job}.0|cpu=2,mem=100M,node=1"], "both steps on their node")
    cluster.run(f"scancel {job}")
    cluster.wait(job)


@pytest.mark.parametrize("command", ["squeue --federation", "squeue --local", "squeue --sibling", "sinfo --federation", "sinfo --local",
                                     "sprio --federation", "scontrol --sibling show node"])
def test_federation_options_show_this_cluster(cluster, command):
    plain = [word for word in command.split() if word not in ("--federation", "--local", "--sibling")]
    said = cluster.run(command)
    assert said.stderr == "" and [line.split()[:2] for line in said.ok().splitlines()] == [
        line.split()[:2] for line in cluster.run(plain).ok().splitlines()]


def test_dates_have_the_format_that_is_asked_for(cluster):
    job = int(cluster.run("sbatch --parsable -H -o /dev/null --wrap true").ok())

    def submitted(form):
        return cluster.run(["squeue", "-h", "-j", str(job), "-o", "%V"], env={"SLURM_TIME_FORMAT": form}).ok()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", submitted("standard"))
    assert re.fullmatch(r"[A-Z][a-z]{2} \d\d:\d\d:\d\d", submitted("%a %T"))
    assert re.fullmatch(r"\d\d:\d\d:\d\d|Ystday \d\d:\d\d", submitted("relative"))
    cluster.run(f"scancel {job}")


def test_daemons_of_this_host(cluster):
    assert cluster.run("scontrol show daemons").ok() in ("slurmctld slurmd", "slurmctld")
    cluster.run("squeue -w localhost").fails(f"Invalid node name {socket.gethostname().split('.')[0]}")


def test_reservation_of_a_node(cluster):
    cluster.run("scontrol create reservation ReservationName=mine StartTime=now Duration=60 Users=root Nodes=n4").ok()
    assert cluster.run(["sinfo", "-h", "-n", "n4", "-o", "%i"]).ok() == "mine"
    assert "RESERVATION NODELIST" in cluster.run("sinfo -l").ok()
    cluster.run("scontrol delete reservation mine").ok()


def test_reasons_are_of_nodes_out_of_service(cluster):
    for change in ("NodeName=n1 Reason=watch", "NodeName=n2 State=DRAIN Reason=disk", "NodeName=n3 State=DOWN Reason=fan",
                   "NodeName=n4 State=FAIL Reason=old"):
        cluster.run(f"scontrol update {change}").ok()
    try:
        assert [line.split()[-1] for line in cluster.run("sinfo -h -R").ok().splitlines()] == ["n4", "n2", "n3"]
        assert cluster.run("sinfo -h -R -t idle -o %N").ok() == "n[1-2,4]"  # the base state, as everywhere
    finally:
        cluster.run("scontrol update NodeName=n[1-4] State=RESUME").ok()
        cluster.run("scontrol update NodeName=n1 Reason=").ok()


def test_states_of_nodes_in_a_reservation_for_maintenance(cluster):
    """The suffix is for all states but "maint", and the node is reserved, too."""
    cluster.run("scontrol create reservation ReservationName=mine StartTime=now Duration=60 Users=root Nodes=n[3-4] Flags=MAINT,IGNORE_JOBS").ok()
    cluster.run("scontrol update NodeName=n4 State=DRAIN Reason=test").ok()
    try:
        assert cluster.run(["sinfo", "-h", "-N", "-n", "n[3-4]", "-o", "%N %t %T"]).ok().splitlines() == ["n3 maint maint", "n4 drain$ drained$"]
        assert cluster.run("sinfo -h -N -t resv -o %N").ok().split() == ["n3", "n4"]
        assert (cluster.node("n3")["State"], cluster.node("n4")["State"]) == ("IDLE+MAINTENANCE+RESERVED", "IDLE+DRAIN+MAINTENANCE+RESERVED")
    finally:
        cluster.run("scontrol update NodeName=n4 State=RESUME").ok()
        cluster.run("scontrol delete reservation mine").ok()


@pytest.mark.parametrize("options, shown", (("", "2G 1G"), ("--noconvert", "2048M 1024M")))
def test_sizes_keep_their_unit_with_noconvert(cluster, options, shown):
    job = cluster.run("sbatch --parsable -H --mem=2048 --tmp=1024 --wrap true -o /dev/null").ok().strip()
    try:
        assert cluster.run(["squeue", "-h", "-j", job, *options.split(), "-o", "%m %d"]).ok().strip() == shown
    finally:
        cluster.run(f"scancel {job}").ok()


def test_two_formats_are_an_error(cluster):
    """As in Slurm: of two variables SQUEUE_FORMAT counts, and an option before both."""
    job = cluster.run("sbatch --parsable -H -J name -o /dev/null --wrap true").ok()
    for line in (["-o", "%i", "-O", "JobID"], ["-O", "JobID", "-o", "%i"]):
        cluster.run(["squeue", "-h", *line]).fails("squeue: error: -O (--Format) is incompatible with -o (--format)")
    both = {"SQUEUE_FORMAT": "%i", "SQUEUE_FORMAT2": "Name:"}
    for line, env, shown in (("", both, job), ("-O Name:", both, "name"), ("-o %j", both, "name"), ("-O JobID: -O Name:", {}, "name"),
                             ("", {"SQUEUE_FORMAT2": "Name:"}, "name"), ("-o %i", {"SQUEUE_FORMAT2": "Name:"}, job)):
        assert cluster.run(f"squeue -h -j {job} {line}", env=env).ok() == shown, (line, env)
    cluster.run(f"scancel {job}")


@pytest.mark.parametrize("line, counts", (
    ("squeue", True), ("squeue -l", False), ("squeue -s", False), ("squeue --start", False), ("squeue -l -O JobID", False),
    ("sinfo", True), ("sinfo -l", True), ("sinfo -s", False), ("sinfo -N", False), ("sinfo -R", False), ("sinfo -s -o %D", False)))
def test_columns_of_an_option_come_before_those_of_a_variable(cluster, line, counts):
    """As in Slurm, where only sinfo --long keeps the columns of SINFO_FORMAT."""
    for env in ({"SQUEUE_FORMAT": "%A=", "SINFO_FORMAT": "%R="}, {"SQUEUE_FORMAT2": "JobID:=", "SINFO_FORMAT": "%R="}):
        said = cluster.run(line, env=env).ok().splitlines()
        title = said[1] if "-l" in line.split() else said[0]
        assert (title in ("JOBID=", "PARTITION=")) == counts, said


def test_flag_states_exclude_the_base_state(cluster):
    stopped = cluster.sbatch("-o", "/dev/null", wrap="sleep 1000")
    special = cluster.sbatch("-o", "/dev/null", wrap="sleep 1000")
    for job in (stopped, special):
        cluster.wait_script(job)
    cluster.run(f"scancel -s STOP {stopped}").ok()
    cluster.run(f"scontrol requeuehold State=SpecialExit {special}").ok()
    eventually(lambda: cluster.run("squeue -h -o %T -S i").ok().split() == ["STOPPED", "SPECIAL_EXIT"], "both states")
    for states, jobs in (("R", []), ("PD", []), ("ST", [stopped]), ("SE", [special]), ("R,SE", [special]), ("PD,ST", [stopped]),
                         ("all", [stopped, special])):
        found = cluster.run(f"squeue -h -S i -o %i -t {states} -j {stopped},{special}").ok().split()
        assert found == [str(job) for job in jobs], states
    assert cluster.run(f"squeue -h -j {special} -O Reason:40").ok().strip() == "job requeued in held state"
    cluster.run(f"scancel {stopped} {special}")
    cluster.wait(stopped)


def test_preemption_columns_need_a_preempt_mode(make_cluster):
    c = make_cluster(nodes=1, conf="PreemptMode=REQUEUE\nPreemptType=preempt/partition_prio\nPreemptExemptTime=2")
    held, runs = c.sbatch("-H", wrap="true"), c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(runs) == "RUNNING", "running")
    fields = c.job(runs)
    start, free = (datetime.datetime.fromisoformat(fields[name]) for name in ("StartTime", "PreemptEligibleTime"))
    assert free - start == datetime.timedelta(minutes=2) and fields["PreemptTime"] == "None"
    assert "Preempt" not in c.run(f"scontrol show job {held}").ok()
    c.run(f"scancel {held} {runs}")
    c.wait(runs)


ASSOC = {"users": "No users currently cached in Slurm.", "assoc": "No associations currently cached in Slurm.",
         "qos": "No QOS currently cached in Slurm."}


@pytest.mark.parametrize("words, shown", (("", "users assoc qos"), ("users=root", "users assoc qos"), ("flags=users", "users"),
                                          ("flags=QOS,Assoc", "assoc qos"), ("qos=x flags=qos", "qos")))
def test_association_manager_shows_the_types_that_are_asked_for(cluster, words, shown):
    said = cluster.run(f"scontrol show assoc_mgr {words}").ok()
    assert [line for line in said.splitlines() if line] == ["Current Association Manager state", *(ASSOC[word] for word in shown.split())]
    cluster.run(f"scontrol show assoc_mgr {words} flags=bad").fails("invalid flag 'bad', valid options are 'Assoc, QOS, and/or Users'")
    cluster.run(f"scontrol show assoc_mgr {words} bad=1").fails("invalid entity: bad=1 for keyword:show assoc_mgr")


def test_partition_without_nodes(make_cluster):
    c = make_cluster(nodes=1, partitions=["PartitionName=main Nodes=ALL Default=YES", "PartitionName=none State=INACTIVE"])
    record = c.run("scontrol show partition none").ok()
    assert "   Nodes=(null)\n" in record and "   TRES=(null)" in record
    assert c.run("sinfo -h -p none -o %P|%a|%.5a|%f|%b|%G|%N|").ok() == "none|inactive|inact|(null)|(null)|(null)||"
    assert c.run("sinfo -h -p none -O Available").ok() == ""  # no column names the partition
    assert c.run("sinfo -h -p none -O PartitionName:6,Available:").ok() == "none  inactive"


def test_power_and_drained_resources_of_a_node(cluster):
    assert "\n   CurrentWatts=0 AveWatts=0" in cluster.run("scontrol show node n1").ok()
    assert "\n   GresDrain=N/A\n   GresUsed=" in cluster.run("scontrol show -d node n1").ok()
    assert "GresDrain" not in cluster.run("scontrol show node n1").ok()


def test_columns_of_unrequested_resources_are_empty(cluster):
    job = cluster.sbatch("-N2", "-n2", "-o", "/dev/null", wrap="srun sleep 1000")
    eventually(lambda: cluster.run(f"squeue -h -s -j {job}.0 -o %i").ok(), "its step")
    names = "tres-per-step,tres-per-node,tres-per-task,tres-per-socket,tres-bind,tres-freq,cpus-per-tres,mem-per-tres".split(",")
    assert cluster.run(f"squeue -h -s{job}.0 -O {','.join(names)}").ok().split() == ["(null)"] * len(names)
    assert cluster.run(f"squeue -h -s{job}.0 -O ArrayJobID,ArrayTaskID").ok().split() == ["0", "N/A"]
    assert " Dist=Cyclic\n" in cluster.run(f"scontrol show step {job}.0").ok()
    cluster.run(f"scancel {job}")
    cluster.wait(job)


def test_statistics_name_requests_as_slurm_does(cluster):
    for line in ("sprio", "scontrol show burstbuffer", "scontrol schedloglevel 0", "scontrol show licenses", "scontrol ping", "scontrol show bbstat"):
        cluster.run(line)
    said = dict(re.findall(r"^\t([A-Z_]+) +\( *(\d+)\) count:\d", cluster.run("sdiag").ok(), re.M))
    expected = {"REQUEST_PRIORITY_FACTORS": "2026", "REQUEST_BURST_BUFFER_INFO": "2037", "REQUEST_SET_SCHEDLOG_LEVEL": "1013",
                "REQUEST_LICENSE_INFO": "1021", "REQUEST_PING": "1008",
                "REQUEST_BURST_BUFFER_STATUS": "2055"}
    assert expected.items() <= said.items(), said


def test_empty_filter_lists_show_nothing(cluster):
    job = cluster.sbatch("-H", wrap="true")
    header = "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)".split()
    for option in ("-j", "-u", "-n", "-p", "-t", "-w", "-A"):
        for value in ("", ","):
            assert cluster.run(["squeue", option, value]).ok().split() == header, (option, value)
    assert cluster.run(["squeue", "-h", "-s", ""]).ok() == ""
    for option in ("-n", "-t"):
        assert cluster.run(["sinfo", "-h", "-o", "%D%P", option, ""]).ok() == "0main*", option
        assert cluster.run(["sinfo", "-h", "-N", option, ""]).ok() == ""
    for option in ("-u", "-p"):
        assert cluster.run(["sprio", "-h", option, ""]).ok() == ""
    assert cluster.run("squeue -h -o %i", env={"SQUEUE_USERS": ""}).ok() == str(job)  # as if it were not set
    cluster.run(f"scancel {job}").ok()
