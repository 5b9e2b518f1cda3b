# SPDX-License-Identifier: GPL-3.0-or-later
"""What a job leaves behind on the controller's host: lines of slurmctld.log, a record of jobcomp/filetxt, and DebugFlags."""
import os
import pwd
import re

import pytest

from harness import ROOT, eventually

OTHER = "nobody" if ROOT else pwd.getpwuid(os.geteuid()).pw_name
UID = pwd.getpwnam(OTHER).pw_uid


def log(c):
    return (c.dir / "slurmctld.log").read_text()


def said(c, text):
    eventually(lambda: text in log(c), lambda: f"{text}\n{c.tail('slurmctld', 60)}")


def at_info(make_cluster, conf="", **options):
    c = make_cluster(nodes=2, start=False, conf=conf, **options)
    c.conf_file.write_text(c.conf_file.read_text().replace("SlurmctldDebug=debug", "SlurmctldDebug=info"))
    c.start()
    return c


def test_log_names_user_nodes_and_reason_of_every_event(make_cluster):
    c = at_info(make_cluster)
    who = f"user={OTHER}({UID})"
    ended = c.sbatch("-N2", "-J", "two nodes", wrap="exit 3", user=OTHER)
    c.wait(ended)
    said(c, f"job {ended} submitted: {who} partition=main name=two nodes")
    said(c, f"job {ended} started: {who} partition=main nodes=n[1-2] cpus=2")
    said(c, f"job {ended} ended: {who} state=FAILED exit=3:0 nodes=n[1-2] reason=NonZeroExitCode")
    killed = c.sbatch(wrap="sleep 600", user=OTHER)
    eventually(lambda: c.state(killed) == "RUNNING", "it runs")
    c.run(f"scontrol suspend {killed}").ok()
    said(c, f"job {killed} suspended: {who} nodes=n1")
    c.run(f"scontrol resume {killed}").ok()
    said(c, f"job {killed} resumed: {who} nodes=n1")
    c.run(f"scontrol requeue {killed}").ok()
    root = f"{pwd.getpwuid(os.geteuid()).pw_name}({os.geteuid()})"
    said(c, f"job {killed} requeue requested: {who} by={root}")
    said(c, f"job {killed} requeued: {who} restarts=1 (after REQUEUE on n1)")
    c.run(f"scancel {killed}", user=OTHER).ok()
    said(c, f"job {killed} cancelled: {who} by={OTHER}({UID})")
    lost = c.sbatch("-w", "n2", wrap="sleep 600", user=OTHER)
    eventually(lambda: c.state(lost) == "RUNNING", "it runs")
    c.run("scontrol update nodename=n2 state=down reason=test").ok()
    said(c, f"job {lost} requeued: {who} restarts=1 (after NodeDown on n2)")
    c.run("scontrol update nodename=n2 state=resume").ok()
    c.run(f"scancel {lost}", user=OTHER).ok()
    assert "reason=Cleaning" not in log(c)
    array = c.sbatch("--array=3", wrap="true", user=OTHER)
    c.wait(f"{array}_3")
    assert re.search(rf"job {array}_3\(\d+\) ended: {re.escape(who)} state=COMPLETED", log(c))
    hostile = c.sbatch("-J", "a\nerror: b", wrap="true", user=OTHER)
    c.wait(hostile)
    said(c, f"job {hostile} submitted: {who} partition=main name=a?error: b")


def test_completion_records_are_written_as_slurm_writes_them(make_cluster):
    """One line of KEY=VALUE pairs for each job, in Slurm's order; SIGUSR2 opens the file again, and a restart appends to it."""
    c = at_info(make_cluster, conf="JobCompType=jobcomp/filetxt\nJobCompLoc=@/jobs.log\n".replace("@", "/nowhere"))
    file = c.dir / "jobs.log"
    c.wait(c.sbatch(wrap="true"))
    said(c, "cannot open JobCompLoc '/nowhere/jobs.log': No such file or directory")
    c.conf_file.write_text(c.conf_file.read_text().replace("/nowhere", str(c.dir)))
    c.run("scontrol reconfigure").ok()
    job = c.sbatch("-J", "a b\u202e\x1b\udcff\u00e9", "-t", "90", wrap="srun sh -c 'exit 3'; exit 2", user=OTHER)
    c.wait(job)
    eventually(file.exists, "the file")
    line, = file.read_text().splitlines(True)
    assert line.endswith(" \n")
    pairs = [pair.split("=", 1) for pair in line.split()]
    assert [key for key, _ in pairs] == (
        "JobId UserId GroupId Name JobState Partition TimeLimit StartTime EndTime NodeList NodeCnt ProcCnt WorkDir ReservationName Tres "
        "Account QOS WcKey Cluster SubmitTime EligibleTime DerivedExitCode ExitCode").split()
    fields = dict(pairs)
    shown = c.job(job)
    assert (fields["JobId"], fields["UserId"], fields["Name"], fields["JobState"]) == (str(job), f"{OTHER}({UID})", "a_b___\u00e9", "FAILED")
    assert fields["DerivedExitCode"] == "3:0"
    assert (fields["TimeLimit"], fields["NodeList"], fields["NodeCnt"], fields["ExitCode"]) == ("90", "n1", "1", "2:0")
    assert all(fields[key] == shown[key] for key in ("StartTime", "EndTime", "SubmitTime", "EligibleTime", "Partition", "WorkDir"))
    file.rename(c.dir / "jobs.log.1")
    os.kill(c.daemons["slurmctld"].pid, 12)
    said(c, "the log was opened again")
    c.wait(c.sbatch(wrap="true"))
    eventually(file.exists, "a new file")
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready()
    c.wait(c.sbatch(wrap="true"))
    eventually(lambda: file.read_text().count("JobState=COMPLETED") == 2, "it goes on")


def test_a_cancelled_requeue_leaves_a_record_of_the_end(make_cluster):
    """The job ends to be requeued, and is cancelled while its epilog runs: CANCELLED is the last record, and the log names the user who cancelled
    it."""
    c = make_cluster(nodes=2, start=False)
    epilog, go, file = (c.dir / name for name in ("epilog", "go", "jobs.log"))
    epilog.write_text(f"#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.05; done\n")
    epilog.chmod(0o755)
    c.conf_file.write_text(c.conf_file.read_text() + f"JobCompType=jobcomp/filetxt\nJobCompLoc={file}\nEpilog={epilog}\n")
    c.start()
    job = c.sbatch(wrap="sleep 600", user=OTHER)
    c.wait_state(job, "RUNNING")
    c.run(f"scontrol requeue {job}").ok()
    eventually(lambda: file.exists() and "JobState=REQUEUED" in file.read_text(), "the first run has ended")
    c.run(f"scancel {job}", user=OTHER).ok()
    said(c, f"job {job} cancelled: user={OTHER}({UID}) by={OTHER}({UID}) nodes=n1")
    go.touch()
    assert c.wait(job)["JobState"] == "CANCELLED"
    eventually(lambda: re.findall("JobState=([A-Z]+)", file.read_text()) == ["REQUEUED", "CANCELLED"], lambda: file.read_text())


def test_a_program_is_run_for_each_completion_record(make_cluster):
    """JobCompType=jobcomp/script: Slurm's variables, as SlurmUser; a program that fails is logged."""
    c = make_cluster(nodes=1, start=False)
    program, out = c.dir / "record", c.dir / "records"
    program.write_text(f"#!/bin/sh\nenv -0 | sort -z | tr '\\0\\n' '\\n?' > {out}.$JOBID.new\nmv {out}.$JOBID.new {out}.$JOBID\n"
                       'test "$JOBNAME" != bad || exit 7\n')
    program.chmod(0o755)
    conf = c.conf_file.read_text()
    c.conf_file.write_text(f"{conf}JobCompType=jobcomp/script\n")
    c.run("slurmctld --check").fails("JobCompType=jobcomp/script: JobCompLoc= names no program")
    c.conf_file.write_text(f"{conf}JobCompType=jobcomp/script\nJobCompLoc={c.dir}/none\n")
    c.run("slurmctld --check").fails(f"JobCompLoc={c.dir}/none: no such file")
    c.conf_file.write_text(f"{conf}JobCompType=jobcomp/script\nJobCompLoc={program}\n")
    c.start()

    def record(job):
        file = c.dir / f"records.{job}"
        eventually(file.exists, f"the record of job {job}")
        return dict(line.split("=", 1) for line in file.read_text().splitlines())

    job = c.sbatch("-J", "a b\nc", "-t", "90", wrap="srun sh -c 'exit 3'; exit 2", user=OTHER)
    c.wait(job)
    got = record(job)
    assert {"JOBID", "JOBNAME", "JOBSTATE", "PARTITION", "LIMIT", "SUBMIT", "START", "END", "NODES", "NODECNT", "PROCS", "WORK_DIR", "CONSTRAINTS",
            "RESERVATION", "ACCOUNT", "QOS", "CLUSTER", "DERIVED_EC", "EXITCODE", "UID", "GID", "USERNAME", "GROUPNAME", "ARRAYJOBID",
            "ARRAYTASKID", "PATH"} == got.keys() - {"PWD", "OLDPWD", "SHLVL", "_"}
    assert (got["JOBID"], got["USERNAME"], got["UID"], got["JOBNAME"], got["JOBSTATE"]) == (str(job), OTHER, str(UID), "a b?c", "FAILED")
    assert (got["DERIVED_EC"], got["EXITCODE"], got["LIMIT"], got["NODES"], got["ARRAYTASKID"]) == ("3:0", "2:0", "01:30:00", "n1", "4294967294")
    assert int(got["SUBMIT"]) <= int(got["START"]) <= int(got["END"])
    pending = c.sbatch("-H", "-J", "bad", "-a", "7", wrap="true")
    c.run(f"scancel {pending}").ok()
    got = record(pending)
    assert (got["ARRAYJOBID"], got["JOBSTATE"], got["EXITCODE"], got["NODES"]) == (str(pending), "CANCELLED", "0:0", "")
    said(c, f"job {pending}: JobCompLoc {program}")


FLAGS = {  # what is logged of a job that needs a reservation, a license, a GRES, a dependency
    "SelectType": "SelectType: job {job}: node n1, 1 CPUs", "Steps": "Steps: step {job}.0 is created", "Agent": "Agent: 1 orders for node n1",
    "License": "License: job {job} takes 2 licenses", "Gres": "Gres: job {job}: node n1, 1 of GRES", "Dependency": "Dependency: job {job} has changed",
    "AuditRPCs": "AuditRPCs: SUBMIT of uid", "Network": "Network: call", "Script": "Script: run /bin/true for job {job}",
    "Priority": "Priority: job {job}: priority", "Triggers": "Triggers: trigger 1 is hit", "Reservation": "Reservation: reservation r has changed",
}


def test_debug_flags(make_cluster):
    """Set by scontrol, each flag makes only its subsystem log more; a reconfiguration restores the flags of the file."""
    c = at_info(make_cluster, conf="Licenses=l:4\nGresTypes=g\nPrologSlurmctld=/bin/true\nPriorityType=priority/multifactor\n"
                "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nJobCompType=jobcomp/filetxt\nJobCompLoc=/dev/null\n"
                "PartitionName=high Nodes=n1 PriorityTier=9",
                node_conf="Gres=g:2")

    def work():
        c.run("scontrol create reservation reservationname=r starttime=now+1hour duration=1 nodes=n2 users=root").ok()
        c.run(["strigger", "--set", "--node=n2", "--drained", "--program=/bin/true"]).ok()
        c.run("scontrol update nodename=n2 state=drain reason=x").ok()
        job = c.sbatch("-L", "l:2", "--gres=g:1", wrap="srun true")
        c.wait(job)
        c.run("scontrol update nodename=n2 state=resume").ok()
        c.run("scontrol delete reservationname=r").ok()
        return job

    def lines(job):
        return {flag for flag, text in FLAGS.items() if text.format(job=job) in log(c)}

    assert lines(work()) == set()
    c.run("scontrol setdebugflags " + " ".join(f"+{flag.lower()}" for flag in FLAGS) + " +Backfill").ok()
    shown = c.run("scontrol show config").stdout
    assert set(re.search("^DebugFlags += (.*)$", shown, re.M)[1].split(",")) == {*FLAGS, "Backfill"}
    job = work()
    eventually(lambda: lines(job) == set(FLAGS), lambda: set(FLAGS) - lines(job))
    blocker, waits = c.sbatch("-N2", "--exclusive", "-t", "5", wrap="sleep 600"), c.sbatch("-N2", "--exclusive", wrap="true")
    said(c, f"Backfill: job {waits} waits: Resources")
    c.run(f"scancel {blocker} {waits}").ok()
    c.run("scontrol setdebugflags -network").ok()
    before = len(log(c))
    c.run("scontrol setdebugflags +protocol +gang +jobcomp").ok()
    c.run("scontrol update partitionname=high nodes=n[1-2] prioritytier=9").ok()
    victim = c.sbatch("-N2", "--exclusive", wrap="sleep 600")
    eventually(lambda: c.state(victim) == "RUNNING", "it runs")
    preemptor = c.sbatch("-N2", "--exclusive", "-p", "high", wrap="true")
    c.wait(preemptor)
    said(c, f"Gang: job {victim} is suspended for a preemptor")
    said(c, f"JobComp: job {preemptor}: the completion record is queued")
    assert "Network: call" in log(c)[before:]
    c.run(f"scancel {victim}").ok()
    c.run("scontrol setdebugflags -backfill -network -protocol -gang -jobcomp").ok()
    assert "Backfill" not in re.search("^DebugFlags += (.*)$", c.run("scontrol show config").stdout, re.M)[1]
    c.run("scontrol reconfigure").ok()
    assert re.search(r"^DebugFlags +=.*\(null\)$", c.run("scontrol show config").stdout, re.M)
    c.run("scontrol setdebugflags +magic").fails("invalid debug flag: +magic")
    if ROOT:
        c.run("scontrol setdebugflags +Gang", user=OTHER).fails("Access/permission denied")


def test_scheduler_logging_has_a_file_of_its_own(make_cluster, tmp_path):
    """SlurmSchedLogFile, SlurmSchedLogLevel and 'scontrol schedloglevel': starts, why jobs wait, and preemption, not in the log of the controller."""
    c = make_cluster(nodes=2, conf=f"PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nSlurmSchedLogFile={tmp_path}/sched.log\nSlurmSchedLogLevel=1",
                     partitions=["PartitionName=main Nodes=ALL Default=YES", "PartitionName=high Nodes=ALL PriorityTier=9"])
    sched = tmp_path / "sched.log"

    def level():
        return re.search("^SlurmSchedLogLevel += (.*)$", c.run("scontrol show config").stdout, re.M)[1]

    def runs(job):
        eventually(lambda: c.state(job) == "RUNNING", "it runs")

    long = c.sbatch("-n1", "-t60", wrap="sleep 600")
    runs(long)
    whole = c.sbatch("-N2", "--exclusive", "-t60", wrap="sleep 600")
    eventually(lambda: c.job(whole)["Reason"] == "Resources", "it waits")
    short = c.sbatch("-n1", "-t1", wrap="sleep 600")
    runs(short)
    c.run(f"scancel {whole}").ok()
    first = c.sbatch("-N2", "--exclusive", "-p", "high", wrap="sleep 600")
    runs(first)
    lines = sched.read_text().splitlines()
    assert all(re.match(r"\[[-0-9T:.]+\] (sched|backfill): ", line) for line in lines), lines
    text = [line.split("] ", 1)[1] for line in lines]
    assert text[0] == f"sched: Allocate JobId={long} NodeList=n1 #CPUs=1 Partition=main"
    waits = [line for line in text if line.startswith(f"sched: JobId={whole} waits: Resources")]
    assert waits and "planned start in " in waits[0]
    assert re.search(f"^backfill: Started JobId={short} in main on n[12]$", "\n".join(text), re.M)
    assert f"sched: JobId={long} is preempted for JobId={first}" in text
    assert f"sched: Allocate JobId={first} NodeList=n[1-2] #CPUs=8 Partition=high" in text
    assert "Allocate JobId" not in log(c) and level() == "1"

    # It can be turned off and on, until the configuration is read again.
    for word, value in ("disable", "0"), ("enable", "1"), ("0", "0"):
        c.run(f"scontrol schedloglevel {word}").ok()
        assert level() == value
    before = sched.read_text()
    c.run(f"scancel {first}").ok()
    runs(long)
    assert sched.read_text() == before
    c.run("scontrol reconfigure").ok()
    assert level() == "1"
    again = c.sbatch("-n1", wrap="true")
    eventually(lambda: f"Allocate JobId={again} " in sched.read_text() or f"Started JobId={again} " in sched.read_text(), "the decision is written")
    if ROOT:
        c.run("scontrol schedloglevel 1", user=OTHER).fails("Access/permission denied")


def test_scheduler_logging_needs_a_file(cluster):
    cluster.run("scontrol schedloglevel 1").fails("slurm.conf has no SlurmSchedLogFile")


NODE_FLAGS = {
    "AuditRPCs": "AuditRPCs: LAUNCH_TASKS of uid", "CPU_Bind": "CPU_Bind: step {job}.0: 1 CPUs, 1 tasks", "Gres": "Gres: step {job}.0: g:1",
    "Script": "Script: job {job}: Prolog /bin/true has ended: exit code 0", "Steps": "Steps: step {job}.0 of uid",
}


def test_debug_flags_of_nodes(make_cluster):
    """setdebugflags nodes= affects these node daemons, DebugFlags all of them; a reconfiguration restores the flags of the file."""
    c = at_info(make_cluster, conf="GresTypes=g\nProlog=/bin/true", node_conf="Gres=g:2")

    def lines(node):
        begin = len((c.dir / f"slurmd-{node}.log").read_text())
        job = c.sbatch("-w", node, "--gres=g:1", wrap="srun true")
        c.wait(job)
        text = (c.dir / f"slurmd-{node}.log").read_text()[begin:]
        return {flag for flag, line in NODE_FLAGS.items() if line.format(job=job) in text}

    assert lines("n1") == lines("n2") == set()
    c.run("scontrol setdebugflags " + " ".join(f"+{flag.lower()}" for flag in NODE_FLAGS) + " nodes=n[1]").ok()
    assert lines("n1") == set(NODE_FLAGS) and lines("n2") == set()
    c.run("scontrol setdebugflags nodes=n1 -steps -gres").ok()
    assert lines("n1") == {"AuditRPCs", "CPU_Bind", "Script"}
    c.conf_file.write_text(c.conf_file.read_text() + "DebugFlags=Steps\n")
    c.run("scontrol reconfigure").ok()
    eventually(lambda: lines("n1") == lines("n2") == {"Steps"}, "the flags of the file")
    c.run("scontrol setdebugflags nodes=n1").fails("too few arguments for keyword:setdebugflags")
    c.run("scontrol setdebugflags +Steps nodes=n9").fails("slurm_set_slurmd_debug_flags error: ")
    if ROOT:
        c.run("scontrol setdebugflags +Steps nodes=n1", user=OTHER).fails("Access/permission denied")


STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


@pytest.mark.parametrize("word, form", [
    ("iso8601", STAMP), ("iso8601_ms", STAMP + r"\.\d{3}"), ("rfc5424", STAMP + r"[+-]\d\d:\d\d"),
    ("rfc5424_ms", STAMP + r"\.\d{3}[+-]\d\d:\d\d"), ("rfc3339", STAMP + r"[+-]\d\d:\d\d"), ("clock", r"\d+"),
    ("short", r"[A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d"),
    ("thread_id,format_stderr", r"[A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d\.\d{6}\] \d+ slurmctld\(\d+"),
])
def test_log_time_format(make_cluster, word, form):
    c = make_cluster(nodes=1, start=False, conf=f"LogTimeFormat={word}")
    c.start_controller()
    lines = log(c).splitlines()
    assert lines and all(re.match(rf"\[{form}[\])]", line) for line in lines), lines
