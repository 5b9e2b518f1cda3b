# SPDX-License-Identifier: GPL-3.0-or-later
"""What scontrol does besides showing: short names of things, requeuing into a hold, the detail of the log."""
import pathlib
import re
import signal

import pytest

from harness import ROOT, alive, eventually


def test_entities_may_be_abbreviated(cluster):
    cluster.run("scontrol update node=n4 state=drain reason=test").ok()
    assert "DRAIN" in cluster.node("n4")["State"]
    cluster.run("scontrol update node=n4 state=resume").ok()
    assert cluster.node("n4")["State"] == "IDLE"
    cluster.run("scontrol update node=n99 state=resume").fails("Invalid node name specified")
    cluster.run("scontrol update no=n4 state=resume").fails("No valid entity in update command")


def test_requeue_and_hold(cluster):
    job = cluster.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(job) == "RUNNING", "the job runs")
    cluster.run(f"scontrol requeuehold State=Other {job}").fails("only requeuehold takes a state, and that is SpecialExit")
    cluster.run(f"scontrol requeue State=SpecialExit {job}").fails("only requeuehold takes a state")
    cluster.run(f"scontrol requeuehold {job}").ok()
    eventually(lambda: cluster.state(job) == "PENDING", "the job is back in the queue")
    fields = cluster.job(job)
    assert fields["Restarts"] == "1" and fields["Reason"] == "job_requeued_in_held_state" and fields["Priority"] == "0"
    cluster.run(f"scontrol requeuehold {job}").fails("Job is pending execution for job")
    cluster.run(f"scontrol requeue Incomplete {job}").ok()
    cluster.run("scontrol requeuehold 999999").fails("Invalid job id specified for job 999999")
    cluster.run(f"scancel {job}").ok()


def test_special_exit_holds_the_job(cluster):
    job = cluster.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(job) == "RUNNING", "the job runs")
    cluster.run(f"scontrol requeuehold State=SpecialExit {job}").ok()
    eventually(lambda: cluster.state(job) == "SPECIAL_EXIT", "the job is back in the queue")
    fields = cluster.job(job)
    assert fields["Reason"] == "job_requeued_in_held_state"
    assert cluster.run(["squeue", "-h", "-t", "SE", "-o", "%i %t %T"]).ok().strip() == f"{job} SE SPECIAL_EXIT"
    assert cluster.run(f"squeue -h -t R -j {job}").ok() == ""
    cluster.run(f"scontrol release {job}").ok()
    eventually(lambda: cluster.state(job) == "RUNNING", "it runs again")
    cluster.run(f"scontrol hold {job}").ok()
    assert cluster.job(job)["Priority"] == "0" and cluster.state(job) == "RUNNING"
    cluster.run(f"scontrol requeue {job}").ok()
    eventually(lambda: cluster.state(job) == "PENDING", "it is held in the queue")
    assert cluster.job(job)["Restarts"] == "2"
    cluster.run(f"scancel {job}").ok()


def test_requeue_exit_codes_requeue_the_job(make_cluster):
    """X-11."""
    c = make_cluster(nodes=1, conf="RequeueExit=3-5,9\nRequeueExitHold=7\n")
    code = c.work / "code"
    code.write_text("4")
    job = c.sbatch("-o", "codes.txt", "--open-mode=append", wrap=f"echo run ${{SLURM_RESTART_COUNT:-0}}; x=$(cat {code}); echo 7 >{code}; exit $x")
    never = c.sbatch("--no-requeue", "-o", "/dev/null", wrap="exit 4")
    assert c.wait(never)["JobState"] == "FAILED"
    eventually(lambda: c.state(job) == "SPECIAL_EXIT", "it is held after its second run")
    assert (c.work / "codes.txt").read_text() == "run 0\nrun 1\n"
    assert c.job(job)["Restarts"] == "2" and c.job(job)["Priority"] == "0"
    code.write_text("0")
    c.run(f"scontrol release {job}").ok()
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert (c.work / "codes.txt").read_text().endswith("run 2\n")
    c.stop()


def shown_level(cluster):
    return cluster.run("scontrol show config SlurmctldDebug").ok().split("=")[1].strip()


def test_log_level_can_be_changed(make_cluster):
    cluster = make_cluster(nodes=1)
    before = shown_level(cluster)
    cluster.run("scontrol setdebug error").ok()
    assert shown_level(cluster) == "error"
    if ROOT:
        cluster.run("scontrol setdebug debug", user="nobody").fails("Access/permission denied")
    cluster.run("scontrol setdebug 44").fails("invalid debug level: 44")
    assert shown_level(cluster) == "error"
    cluster.run("scontrol reconfigure").ok()
    assert shown_level(cluster) == before != "error"


@pytest.mark.parametrize("line", ["power up n1", "fsdampeningfactor 3"])
def test_unavailable_commands_are_refused(cluster, line):
    cluster.run(f"scontrol {line}").fails(f"{line.split()[0]} is not available in this version")


@pytest.mark.skipif(not ROOT, reason="a prolog runs as root")
def test_updates_without_effect_are_refused(cluster):
    job = cluster.sbatch("-H", "-t", "0", "-o", "/dev/null", wrap="true")
    for key, said in ("TimeLimit=-100", "the job has no limit to change; set one, as in TimeLimit=60"), \
            ("TimeLimit=+5", "the job has no limit to change"), ("Partition=", "Partition= names none; give those that it may run in"):
        cluster.run(f"scontrol update JobId={job} {key}").fails(said)
    assert cluster.job(job)["TimeLimit"] == "UNLIMITED"


def test_refusal_shortens_long_lists(cluster):
    job = cluster.sbatch("-H", "--array=0-3", "-o", "/dev/null", wrap="true")
    elements = ",".join(str(i) for i in range(100, 6000))
    r = cluster.run(f"scontrol update JobId={job}_[{elements}] Nice=5")
    r.fails("[...]")
    assert r.stderr.startswith("Invalid job id specified") and len(r.stderr) < 1100


def test_reconfigure_reaches_the_nodes(make_cluster):
    """CORE-127, CORE-029: a prolog that the file names now runs before the next job."""
    c = make_cluster(nodes=2)
    script = c.dir / "prolog.sh"
    script.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID $SLURMD_NODENAME >>{c.dir}/prolog.$SLURMD_NODENAME\n")
    script.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={script}\n")
    assert "Prolog" in c.run("scontrol reconfigure").ok()
    for node in c.names:
        eventually(lambda n=node: "again" in (c.dir / f"slurmd-{n}.log").read_text(), f"{node} reads the file")
    c.run("srun -N2 true").ok()
    for node in c.names:
        assert node in (c.dir / f"prolog.{node}").read_text()


def test_reason_names_unavailable_nodes(make_cluster):
    """CORE-137: Slurm's words, and which nodes."""
    c = make_cluster(nodes=3)
    c.run("scontrol update node=n[2-3] state=drain reason=disk").ok()
    named = c.sbatch("-w", "n[1-2]", "-N2", wrap="true")
    assert c.run(f"squeue -h -j {named} -o %R").ok().strip() == "(ReqNodeNotAvail, UnavailableNodes:n2)"
    assert c.run(["squeue", "-h", "-j", str(named), "-o", "%r"]).ok() == "ReqNodeNotAvail, UnavailableNodes:n2"
    assert c.run(f"squeue -h -j {named} -O Reason:40").ok().strip() == "ReqNodeNotAvail, UnavailableNodes:n2"
    assert "Reason=ReqNodeNotAvail,_UnavailableNodes:n2 " in c.run(f"scontrol -o show job {named}").ok()
    c.run(f"scancel {named}").ok()
    wide = c.sbatch("-N2", wrap="true")
    assert "DOWN, DRAINED or reserved" in c.run(f"squeue -h -j {wide} -o %R").ok()
    c.run("scontrol update node=n[2-3] state=resume").ok()
    c.wait(wide)
    assert c.state(wide) == "COMPLETED"


def test_partitions_are_created_and_deleted(make_cluster):
    """CORE-129: scontrol create and delete partition; both outlive the controller."""
    c = make_cluster(nodes=3)
    c.run("scontrol create partition=main nodes=n1").fails("slurm_create_partition error: Partition name already exists")
    c.run("scontrol create partition=new nodes=n7").fails("Invalid node name specified", "n7")
    c.run("scontrol create nodes=n1").fails("PartitionName")
    c.run("scontrol delete partition=ghost").fails("slurm_delete_partition error: Invalid partition name", "ghost")
    c.run("scontrol create partition=new nodes=n[2-3] maxtime=10").ok()
    if ROOT:
        c.run("scontrol delete partition=new", user="nobody").fails("denied")
        c.run("scontrol create partition=mine nodes=n1", user="nobody").fails("denied")
    job = c.sbatch("-p", "new", wrap="sleep 100")
    eventually(lambda: c.state(job) == "RUNNING", "the job runs")
    c.run("scontrol delete partition=new").fails("Partition is in use", str(job))
    c.kill("slurmctld")
    c.start_controller()
    assert "MaxTime=00:10:00" in c.run("scontrol show partition new").ok()
    c.run(f"scancel {job}").ok()
    eventually(lambda: c.run("scontrol delete partition=new").returncode == 0, "the partition goes")
    assert "new" not in c.run("sinfo -h -o %P").ok()


def test_reconfigure_reports_its_effects(make_cluster):
    """CORE-127: --dry-run says it and changes nothing; a wrong file says where; running jobs are not disturbed."""
    c = make_cluster(nodes=3)
    stays = c.sbatch("-w", "n1", "--exclusive", wrap="sleep 100")
    other = c.sbatch("-w", "n2", "-c3", wrap="sleep 100")
    job = c.sbatch("--requeue", "--mem=2000", "-c2", wrap=f"echo $$ >>{c.dir}/pids; exec sleep 100")
    assert other and c.job(job)["NodeList"] == "n3"
    eventually((c.dir / "pids").exists, "it has begun")
    before = c.conf_file.read_text()
    c.conf_file.write_text("".join(l + "\n" for l in before.splitlines() if not l.startswith("NodeName=n3")))
    said = c.run("scontrol reconfigure --dry-run").ok()
    assert "node n3: removed" in said and f"JobId={job}: runs on node n3, which is removed: it is queued again" in said
    assert c.state(job) == "RUNNING" and c.run("sinfo -h -o %N").ok() == "n[1-3]"
    assert c.run("scontrol reconfigure").ok() == said
    assert c.job(job)["Restarts"] == "1" and c.state(job) == "PENDING"
    first = int((c.dir / "pids").read_text())
    eventually(lambda: not alive(first), "what ran on the removed node ends")
    c.run(f"scancel {other}").ok()
    eventually(lambda: c.state(job) == "RUNNING", "it runs elsewhere")
    assert c.state(stays) == "RUNNING" and c.job(stays)["Restarts"] == "0"
    c.conf_file.write_text(before + "MaxJobCount=lots\n")
    line = len(before.splitlines()) + 1
    c.run("scontrol reconfigure").fails(f"slurm.conf:{line}")
    c.run("scontrol reconfigure --dry-run").fails(f"slurm.conf:{line}")
    c.conf_file.write_text(before + "MailPrg=/bin/mail\n")
    for line_too in ("scontrol reconfigure --dry-run", "scontrol reconfigure"):
        assert f"slurm.conf:{line}: unknown key MailPrg is ignored; did you mean MailProg?" in c.run(line_too).ok()
    log = (c.dir / "slurmctld.log").read_text().count("unknown key MailPrg")
    assert log and c.run("scontrol reconfigure").ok() == ""  # a warning is not repeated, and a new one comes alone
    c.conf_file.write_text(before + "MailPrg=/bin/mail\nPrologs=/bin/true\n")
    said = c.run("scontrol reconfigure").ok()
    assert "unknown key Prologs" in said and "MailPrg" not in said
    assert (c.dir / "slurmctld.log").read_text().count("unknown key MailPrg") == log
    c.conf_file.write_text(before)
    assert c.run("scontrol reconfigure").ok() == ""
    assert c.state(stays) == "RUNNING"


def test_wait_job_waits_for_ready_nodes(cluster):
    job = cluster.sbatch("-H", "-o", "/dev/null", wrap="sleep 100")
    waiting = cluster.popen(f"scontrol wait_job {job}")
    cluster.run(f"scontrol release {job}").ok()
    assert waiting.communicate(timeout=60) == ("", f"scontrol: Nodes are ready for job {job}\n") and waiting.returncode == 0
    assert cluster.run(f"scontrol -Q wait_job {job}").stderr == ""
    assert cluster.state(job) == "RUNNING"
    held = cluster.sbatch("-H", wrap="true")
    waiting = cluster.popen(f"scontrol wait_job {held}")
    cluster.run(f"scancel {job} {held}").ok()
    assert waiting.communicate(timeout=60)[1] == f"scontrol: Job {held} no longer running\n" and waiting.returncode == 1
    array = cluster.sbatch("-H", "--array=1-3", "-o", "/dev/null", wrap="sleep 100")
    cluster.run(f"scancel {array}_1 {array}_3").ok()
    waiting = cluster.popen(f"scontrol wait_job {array}")  # one element waits still
    cluster.run(f"scontrol release {array}").ok()
    assert waiting.communicate(timeout=60) == ("", f"scontrol: Nodes are ready for job {array}\n") and waiting.returncode == 0
    cluster.run(f"scancel {array}").ok()
    cluster.run("scontrol wait_job 999999").fails("scontrol: Problem running job 999999")
    cluster.wait(job)


def test_completing_jobs_are_listed(make_cluster, tmp_path):
    epilog, gate = tmp_path / "epilog", tmp_path / "gate"
    epilog.write_text(f"#!/bin/sh\n[ $SLURMD_NODENAME = n1 ] || while [ ! -e {gate} ]; do sleep 0.05; done\n")
    epilog.chmod(0o755)
    c = make_cluster(nodes=3, conf=f"Epilog={epilog}")

    def completing():
        return c.run("scontrol completing").ok()

    try:
        assert completing() == ""
        job = c.sbatch("-N3", "-o", "/dev/null", wrap="true")
        eventually(lambda: completing().endswith("=n[2-3] "), "the first node is done")
        assert re.fullmatch(rf"JobId={job} EndTime=\d{{4}}-\S+ CompletingTime=00:00:\d\d Nodes\(COMPLETING\)=n\[2-3\] ",
                            completing())
    finally:
        gate.touch()
    eventually(lambda: completing() == "", "every node is done")


def test_written_configuration_is_equivalent(make_cluster):
    """The written file is equivalent to the current configuration, including changes of records."""
    c = make_cluster(nodes=3, conf="KillOnBadExit=1\nEpilogMsgTime=5\n", node_conf="Feature=a,b Weight=3")
    c.run("scontrol update PartitionName=main MaxTime=50 MaxNodes=2 State=DRAIN").ok()
    said = c.run("scontrol write config").ok()
    written = pathlib.Path(said.removeprefix("Slurm config saved to "))
    assert re.fullmatch(re.escape(str(c.conf_file)) + r"\.\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", str(written))
    check = c.run(f"scontrol check {written}")
    assert check.ok().endswith("3 nodes, 1 partition, 1 warning") and "EpilogMsgTime" in check.stderr
    assert "MaxTime=00:50:00" in written.read_text() and "Features=a,b" in written.read_text()

    def shown():
        volatile = r"^(Configuration data as of|BOOT_TIME).*$|(CPULoad|FreeMem|LastBusyTime|BootTime)=\S+"
        return [re.sub(volatile, "", c.run(f"scontrol show {what}").ok(), flags=re.M)
                for what in ("config", "node", "partition")]

    before = shown()
    c.conf_file.write_text(written.read_text())
    c.kill("slurmctld", signal.SIGTERM)
    c.start_controller()
    c.wait_ready()
    assert [s.splitlines() for s in shown()] == [s.splitlines() for s in before]
    assert c.run("scontrol write config copy").ok().startswith("Slurm config saved to copy.")
    assert len(list(c.work.glob("copy.*"))) == 1
    c.run("scontrol write config /nonexistent/x").fails("/nonexistent")


def test_a_written_configuration_is_complete(make_cluster):
    """If it replaces the original file, the controller itself reports no change."""
    c = make_cluster(
        nodes=3, start=False, node_conf='Feature=f1 Weight=3 TmpDisk=7 Gres=gpu:2 Comment="a b"',
        conf='NodeSet=ns1 Feature=f1\nOverTimeLimit=7\nMaxNodeCount=99\nSchedulerParameters=nohold_on_prolog_fail\n'
             'DownNodes=n2 State=DRAIN Reason="not yet"',
        partitions=[
            "PartitionName=main Nodes=ALL Default=YES MaxCPUsPerSocket=3 SelectTypeParameters=CR_Core ExclusiveTopo=YES "
            "TRESBillingWeights=CPU=1.0 JobDefaults=DefMemPerGPU=3 PowerDownOnIdle=YES",
            "PartitionName=p2 Nodes=ns1 MaxTime=3 DefaultTime=2 OverSubscribe=FORCE:3 AllowGroups=root,x Key=YES GraceTime=5",
            "PartitionName=p3 Nodes=n[1,3] Hidden=YES RootOnly=YES LLN=YES OverTimeLimit=0 DefMemPerCPU=20 Priority=4 "
            "Alternate=p2 AllocNodes=n1 MinNodes=2 MaxNodes=2"])
    c.start_controller()
    c.run("scontrol create NodeName=d1 CPUs=2 State=CLOUD").ok()
    out = c.dir / "out.conf"
    assert c.run("scontrol write config", env={"SLURM_CONF_OUT": str(out)}).ok() == f"Slurm config saved to {out}"
    assert c.run(f"slurmctld --check -f {out}").returncode == 0
    c.conf_file.write_text(out.read_text())
    changes = c.run("scontrol reconfigure --dry-run").ok().splitlines()
    assert [line for line in changes if not line.startswith("warning: ")] == [
        "SelectTypeParameters: CR_Core_Memory -> (null)", "partition p2: Nodes: ns1 -> n[1-3]",
        "node d1: now as in slurm.conf"]


def test_help_lists_unavailable_commands(cluster):
    listed = cluster.run("scontrol help").ok().rpartition("not available in this version:")[2].split()
    assert {"power", "fsdampeningfactor"} <= set(listed) and not {"abort", "notify", "top", "listpids", "pidinfo"} & set(listed)
    for word in listed:
        done = cluster.run(f"scontrol {word} 1")
        assert done.returncode == 1 and re.fullmatch(f"scontrol: error: {word} is not available in this version(; see .*)?\n", done.stderr)


def test_shorter_slurmd_timeout_loses_no_node(make_cluster):
    """CORE-127: nodes beat as often as the new SlurmdTimeout wants."""
    c = make_cluster(nodes=2)
    with c.conf_file.open("a") as f:
        f.write("SlurmdTimeout=3\n")
    c.run("scontrol reconfigure").ok()
    c.run("srun -N2 sleep 5").ok()
    assert set(c.run("sinfo -h -o %t").ok().split()) <= {"idle", "comp"}


def test_next_job_id_is_shown(make_cluster):
    """Test suites read it."""
    c = make_cluster(nodes=1)
    assert "NEXT_JOB_ID             = 1" in c.run("scontrol show config").ok().splitlines()
    job = c.sbatch(wrap="true")
    assert f"NEXT_JOB_ID             = {int(job) + 1}" in c.run("scontrol show config").ok().splitlines()
