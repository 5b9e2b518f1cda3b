# SPDX-License-Identifier: GPL-3.0-or-later
"""Advance reservations with real daemons: output of scontrol, sinfo and squeue, and which jobs run where. X-04, CORE-072."""
import json
import re
import time

import pytest

from harness import ROOT, eventually

LATER = "StartTime=now+2hours"


def submit(c, *options):
    return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")


def runs(c, job):
    eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")


def reason(c, job):
    return c.run(["squeue", "-h", "-j", str(job), "-o", "%R"]).ok().strip()


def waits(c, job, why):
    eventually(lambda: reason(c, job) == f"({why})", f"job {job} waits for {why}")


def show(c, name):
    return c.run(["scontrol", "show", "reservation", name]).ok()


def test_create_show_update_delete(make_cluster):
    c = make_cluster(nodes=4, cpus=2)
    assert c.run("scontrol show reservation").ok() == "No reservations in the system"
    assert c.run("sinfo -T").ok() == "No reservations in the system"
    made = c.run("scontrol create reservation StartTime=2037-02-06T16:00:00 Duration=120 User=root "
                 "flags=maint,ignore_jobs Nodes=ALL").ok()
    assert made == "Reservation created: root_1"
    assert show(c, "root_1") == """\
ReservationName=root_1 StartTime=2037-02-06T16:00:00 EndTime=2037-02-06T18:00:00 Duration=02:00:00
   Nodes=n[1-4] NodeCnt=4 CoreCnt=8 Features=(null) PartitionName=(null) Flags=MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES
   TRES=cpu=8
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)"""
    line = c.run("scontrol -o show res root_1").ok()
    assert "\n" not in line and " TRES=cpu=8 Users=root Groups=(null) " in line
    c.run("scontrol create reservationname=some start=2037-02-06T10:00 end=2037-02-06T11:30 user=-root "
          "tres=cpu=3,node=2 flags=daily,PURGE_COMP=10 MaxStartDelay=5").ok()
    text = show(c, "some")
    assert "   Nodes=n[1-2] NodeCnt=2 CoreCnt=3 Features=(null) PartitionName=main Flags=DAILY,PURGE_COMP=00:10:00\n" in text
    assert "     NodeName=n1 CoreIDs=0-1\n     NodeName=n2 CoreIDs=0\n   TRES=cpu=3\n" in text
    assert "Users=-root " in text and "MaxStartDelay=00:05:00" in text
    table = c.run("sinfo -T").ok().splitlines()
    assert table == ["RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST",
                     "root_1     INACTIVE  2037-02-06T16:00:00  2037-02-06T18:00:00     02:00:00  n[1-4]",
                     "some       INACTIVE  2037-02-06T10:00:00  2037-02-06T11:30:00     01:30:00  n[1-2]"]
    listed = json.loads(c.run("scontrol show reservation --json").ok())["reservations"]
    assert [r["name"] for r in listed] == ["root_1", "some"]
    assert listed[0]["flags"] == ["MAINT", "IGNORE_JOBS", "SPEC_NODES", "ALL_NODES"] and listed[1]["core_count"] == 3
    assert json.loads(c.run("sinfo -T --json").ok())["reservations"] == listed
    assert c.run("scontrol update ReservationName=root_1 Duration=150 Users+=nobody Flags-=MAINT").ok() == "Reservation updated."
    text = show(c, "root_1")
    assert "Duration=02:30:00" in text and "Users=root,nobody " in text and "Flags=IGNORE_JOBS,SPEC_NODES,ALL_NODES\n" in text
    c.run("scontrol update ReservationName=root_1 Duration+=30").ok()
    assert "EndTime=2037-02-06T19:00:00 Duration=03:00:00" in show(c, "root_1")
    c.run("scontrol update ReservationName=root_1 Duration-=60").ok()
    assert "EndTime=2037-02-06T18:00:00 Duration=02:00:00" in show(c, "root_1")
    c.run("scontrol update ReservationName=root_1 Duration-=120").fails("takes all of its time")
    c.run("scontrol update ReservationName=root_1 EndTime=2037-02-06T18:30:00").ok()
    assert show(c, "root_1") == text
    c.kill("slurmctld")
    c.start_controller()
    assert show(c, "root_1") == text
    for change, nodes in (("Nodes-=n[2,4]", "n[1,3]"), ("Nodes+=n2", "n[1-3]"), ("nodes=+n4,-n[1-2]", "n[3-4]"), ("nodes=-n3", "n4"), ("Nodes-=n4 Nodes+=n1 Nodes=+n[2-3],-n3", "n[1-2]")):
        c.run(f"scontrol update ReservationName=root_1 {change}").ok()
        assert f"   Nodes={nodes} " in show(c, "root_1")
    text = show(c, "root_1")
    for changes, said in {"Nodes=n3 Nodes+=n4": "Nodes=+n4: it is given together with another Nodes key", "Nodes-=n1 Nodes=n4": "Nodes=n4: it is given",
                          "Users+=nobody Users-=root": "Users-=root: this parameter is given more than once",
                          "Duration+=5 Duration=10": "Duration=10: this parameter is given more than once"}.items():
        c.run(f"scontrol update ReservationName=root_1 {changes}").fails(said)
    assert show(c, "root_1") == text
    assert c.run("scontrol delete ReservationName=root_1").ok() == ""
    c.run("scontrol show reservation root_1").finds_none("Reservation root_1 not found")
    c.run("scontrol delete reservation some").ok()
    assert c.run("sinfo -T").ok() == "No reservations in the system"


def test_invalid_reservation_requests_are_refused(make_cluster):
    c = make_cluster(nodes=2)
    for words, said in {
        "Nodes=n1 Duration=10 Users=root": "Error creating the reservation: Requested reservation is invalid: it needs StartTime",
        "Nodes=n1 StartTime=soon Duration=10 Users=root": "Invalid value: StartTime=soon",
        "Nodes=n9 StartTime=now Duration=10 Users=root": "Error creating the reservation: Invalid node name specified: n9",
        "Nodes=n1 StartTime=now Duration=10 Users=nosuch": "Invalid user id: nosuch",
        "Nodes=n1 StartTime=now Duration=10 Users=root Flags=WHAT": "unknown flag WHAT",
        "NodeCnt=0 StartTime=now Duration=10 Users=root": "not a number of nodes",
        "Nodes=n1 StartTime=now Duration=10 Users=root TRES=bb/cray=4": "bb/cray=4: a reservation cannot hold space of burst buffers",
        "Nodes=n1 StartTime=now Duration=10 Users=root BurstBuffer=4G": "BurstBuffer=4G: a reservation cannot hold space of burst buffers",
        "Nodes=n1 StartTime=now Duration=10 Users=root Colour=red": "Update of this parameter is not supported",
        "Nodes=n1 StartTime=now Duration+=10 Users=root": "Duration+= and Duration-= are for one that is there",
        "Nodes=n1 StartTime=now EndTime+=10 Users=root": "only lists, Nodes and Duration can be added to or taken from",
    }.items():
        c.run(f"scontrol create reservation {words}").fails(said)
    c.run("scontrol update reservation").fails("which? ReservationName=NAME")
    c.run("scontrol update ReservationName=ghost Duration=5").fails("Error updating the reservation: Requested reservation is invalid: ghost")
    c.run("scontrol delete ReservationName=ghost").fails("Requested reservation is invalid: ghost")
    c.run("sbatch --reservation=ghost --wrap true").fails("Requested reservation is invalid: ghost")
    c.run(f"scontrol create reservation ReservationName=x {LATER} Duration=10 Users=nobody Nodes=n1").ok()
    c.run(f"scontrol create reservation ReservationName=x {LATER} Duration=10 Users=root Nodes=n2").fails("Duplicate reservation name: x")
    c.run(f"scontrol create reservation {LATER} Duration=10 Users=root Nodes=n[1-2]").fails("overlaps with another one: x")
    c.run("srun --reservation=x true", user="daemon").fails("Access denied to requested reservation: x")
    submit(c, "-w", "n2")
    c.run("scontrol create reservation StartTime=now Duration=10 Users=root Nodes=n2").fails("Requested nodes are busy")
    assert [r["name"] for r in json.loads(c.run("scontrol show res --json").ok())["reservations"]] == ["x"]


def test_jobs_inside_and_outside_use_their_nodes(make_cluster):
    """Jobs outside end before it, jobs inside have its nodes and no others, and the nodes say whose they are."""
    c = make_cluster(nodes=3, cpus=2)
    c.run("scontrol create reservation ReservationName=r StartTime=now Duration=60 Users=root Nodes=n1").ok()
    c.run("scontrol create reservation ReservationName=m StartTime=now+30minutes Duration=60 Users=root Nodes=n2 Flags=MAINT").ok()
    assert c.run("sinfo -h -n n1 -o %t").ok() == "resv"
    assert c.run("sinfo -h -n n1 -o %T").ok() == "reserved"
    assert c.run("sinfo -h -t resv -o %N").ok() == "n1"
    assert "State=IDLE+RESERVED " in c.run("scontrol show node n1").ok()
    assert "ReservationName=r" in c.run("scontrol show node n1").ok()
    inside = submit(c, "--reservation=r", "-t30", "-n2")
    second = submit(c, "--reservation=r", "-t30", "-n1")
    outside = submit(c, "-w", "n1", "-t1")
    long_one, short = submit(c, "-w", "n2", "-t40"), submit(c, "-w", "n2", "-t20")
    runs(c, inside)
    runs(c, short)
    waits(c, outside, "ReqNodeNotAvail, May be reserved for other job")
    waits(c, second, "Resources")
    assert reason(c, long_one) in ("(Priority)", "(ReqNodeNotAvail, Reserved for maintenance)")
    assert c.run(["squeue", "-h", "-j", str(inside), "-o", "%N %v"]).ok() == "n1 r"
    assert "Reservation=r\n" in c.run(f"scontrol show job {inside}").ok()
    assert {int(i) for i in c.run("squeue -h -R r -o %i").ok().split()} == {inside, second}
    c.run("scontrol delete ReservationName=r").fails("Requested reservation is in use")
    begin = c.run(f"squeue -h --start -j {long_one} -o %S").ok().strip()
    end = re.search(r"EndTime=(\S+)", show(c, "m")).group(1)
    assert begin >= end
    c.run(f"scancel {outside}").ok()
    waits(c, long_one, "ReqNodeNotAvail, Reserved for maintenance")
    c.run(f"scancel {long_one}").ok()
    # The environment of a job knows; srun and its variable ask as sbatch does.
    c.run(f"scancel {inside} {second}").ok()
    eventually(lambda: c.state(second) == "CANCELLED", "it is gone")
    assert c.run("srun -t1 --reservation=r printenv SLURM_JOB_RESERVATION").ok() == "r"
    assert c.run("srun -t1 printenv SLURMD_NODENAME", env={"SLURM_RESERVATION": "r"}).ok() == "n1"
    # One that is no more holds those that wait for it.
    c.run(f"scontrol create reservation ReservationName=s {LATER} Duration=60 Users=root Nodes=n3").ok()
    held = submit(c, "--reservation=s", "-t1")
    waits(c, held, "Reservation")
    c.run("scontrol delete ReservationName=s").ok()
    waits(c, held, "ReservationDeleted")
    c.run(f"scontrol release {held}").ok()
    runs(c, held)
    moved = submit(c, "-w", "n1", "-t1")
    waits(c, moved, "ReqNodeNotAvail, May be reserved for other job")
    c.run(f"scontrol update JobId={moved} ReservationName=r").ok()
    runs(c, moved)


def test_reservation_begins_at_its_time(make_cluster):
    c = make_cluster(nodes=1, cpus=2)
    c.run("scontrol create reservation ReservationName=r StartTime=now+4seconds Duration=60 Users=root Nodes=n1").ok()
    job, other = submit(c, "--reservation=r", "-t5"), submit(c, "-t5")
    waits(c, job, "Reservation")
    c.kill("slurmctld")
    c.start_controller()
    assert c.state(other) == "PENDING"
    runs(c, job)
    assert c.run("sinfo -h -o %T").ok().rstrip("-") == "mixed"  # '-': planned for the other job
    c.run("scontrol update ReservationName=r EndTime=now+2seconds").ok()
    eventually(lambda: c.state(job) == "TIMEOUT", "it ends with its reservation")
    runs(c, other)
    assert c.run("scontrol show reservation").ok() == "No reservations in the system"


def test_signs_move_users_one_step(make_cluster):
    """Users=-bin and Users-=bin take bin from the allowed users; others stay out."""
    c = make_cluster(nodes=1)
    c.run("scontrol create reservation ReservationName=a StartTime=now Duration=60 Users=daemon,bin Nodes=n1").ok()
    for change, users in (("Users=-bin", "daemon"), ("Users=+bin", "daemon,bin"), ("Users-=bin", "daemon"), ("Users=+sys,-daemon", "sys")):
        assert c.run(f"scontrol update ReservationName=a {change}").ok() == "Reservation updated."
        assert f" Users={users} " in show(c, "a")
    for change in ("Users-=bin", "Users=-bin"):
        c.run(f"scontrol update ReservationName=a {change}").fails("Users=sys,-bin allows some and denies others")
    c.run("scontrol update ReservationName=a Users=+nosuch").fails("Invalid user id: nosuch")
    c.run("srun --reservation=a true", user="bin").fails("Access denied to requested reservation: a")


def test_only_operators_change_reservations(make_cluster):
    """CORE-072: and only its users, and root, may use one."""
    c = make_cluster(nodes=1)
    user = "nobody"
    c.run("scontrol create reservation StartTime=now Duration=60 Users=root Nodes=n1", user=user).fails("Access/permission denied")
    c.run(f"scontrol create reservation StartTime=now Duration=60 Users={user} Nodes=n1 ReservationName=r").ok()
    c.run("scontrol update ReservationName=r Duration=61", user=user).fails("Access/permission denied")
    c.run("scontrol delete ReservationName=r", user=user).fails("Access/permission denied")
    assert "Users=" in c.run("scontrol show reservation r", user=user).ok()
    c.run("srun --reservation=r true", user="daemon").fails("Access denied to requested reservation: r")
    c.run("srun -t1 --reservation=r true").ok()  # root may use all
    c.run("srun --reservation=r true", user=user).ok()  # of any length: it would be ended with the reservation
    c.run("srun -t1 --reservation=r true", user=user).ok()


def test_reserved_licences_are_kept(make_cluster):
    c = make_cluster(nodes=2, cpus=2, conf="Licenses=disk:3,matlab\n")
    for words, said in {"Licenses=other": "Invalid license specification", "Licenses=disk:4": "Invalid license specification",
                        "Licenses=disk:1": "of licenses alone, it needs Flags=LICENSE_ONLY",
                        "Flags=LICENSE_ONLY": "ANY_NODES needs Licenses",
                        "Flags=LICENSE_ONLY NodeCnt=1 Licenses=disk": "ANY_NODES is for licenses alone"}.items():
        c.run(f"scontrol create reservation StartTime=now Duration=60 Users=root {words}").fails(said)
    c.run("scontrol create reservation ReservationName=r StartTime=now Duration=60 Users=root Flags=LICENSE_ONLY TRES=license/disk=2").ok()
    assert "Nodes=(null) NodeCnt=0 CoreCnt=0 " in show(c, "r") and " Licenses=disk:2 " in show(c, "r") and "Flags=ANY_NODES" in show(c, "r")
    assert c.run("scontrol -o show lic disk").ok().strip() == "LicenseName=disk Total=3 Used=0 Free=3 Reserved=2 Remote=no"
    c.run(f"scontrol create reservation {LATER} Duration=60 Users=root Flags=LICENSE_ONLY Licenses=disk:3 ReservationName=later").ok()
    outside, inside = submit(c, "-t5", "-L", "disk:2"), submit(c, "-t5", "--reservation=r", "-N2", "-L", "disk:3")
    runs(c, inside)
    waits(c, outside, "Licenses")
    c.run(f"scancel {inside}").ok()
    eventually(lambda: c.state(inside) == "CANCELLED", "it is gone")
    waits(c, outside, "Licenses")
    c.run("scontrol update ReservationName=r Licenses=disk:1").ok()
    runs(c, outside)
    c.run("scontrol delete ReservationName=later").ok()


@pytest.mark.skipif(not ROOT, reason="becomes other users")
def test_users_delete_their_own(make_cluster):
    c = make_cluster(nodes=2)
    c.run("scontrol create reservation ReservationName=kept StartTime=now Duration=60 Users=nobody Nodes=n1").ok()
    c.run("scontrol create reservation ReservationName=own StartTime=now Duration=60 Users=nobody Nodes=n2 Flags=USER_DELETE").ok()
    assert "Flags=SPEC_NODES,USER_DELETE\n" in show(c, "own")
    c.run("scontrol delete ReservationName=kept", user="nobody").fails("Access/permission denied")
    c.run("scontrol update ReservationName=own Duration=90", user="nobody").fails("Access/permission denied")
    c.run("scontrol delete ReservationName=own", user="daemon").fails("Access/permission denied")
    assert c.run("scontrol delete ReservationName=own", user="nobody").ok() == ""
    c.run("scontrol delete ReservationName=own", user="nobody").fails("Requested reservation is invalid: own")
    assert [r["name"] for r in json.loads(c.run("scontrol show res --json").ok())["reservations"]] == ["kept"]


def test_partition_may_require_a_reservation(make_cluster):
    c = make_cluster(nodes=2, partitions=["PartitionName=main Nodes=ALL Default=YES", "PartitionName=kept Nodes=ALL ReqResv=YES"])
    assert " ReqResv=YES " in c.run("scontrol show partition kept").ok()
    c.run("srun -p kept true").fails("partition kept takes jobs of reservations only: --reservation")
    c.run("scontrol create reservation ReservationName=r StartTime=now Duration=60 Users=root Nodes=n1 PartitionName=kept").ok()
    assert c.run("srun -p kept -t1 --reservation=r printenv SLURMD_NODENAME").ok() == "n1"
    c.run("scontrol update PartitionName=kept ReqResv=NO").ok()
    assert c.run("srun -p kept -t1 printenv SLURM_JOB_PARTITION").ok() == "kept"


def test_allowed_partitions(make_cluster):
    """A job needs a partition of the list, or one that the list does not deny; all of its partitions count; root and SlurmUser may always.
    Started as an ordinary user, all commands are those of SlurmUser."""
    c = make_cluster(nodes=3, partitions=[f"PartitionName={name} Nodes=ALL{more}" for name, more in (("main", " Default=YES"), ("low", ""), ("debug", ""))])
    create = "scontrol create reservation StartTime=now Duration=60 "

    def taken(partition, resv):
        return c.run(["srun", *(["-p", partition] if partition else []), "-t1", f"--reservation={resv}", "printenv", "SLURM_JOB_PARTITION"],
                     user="nobody" if ROOT else None)

    def check(partition, resv, allowed):
        done = taken(partition, resv)
        assert (done.returncode == 0) == (allowed or not ROOT), (partition, resv, done.stderr)
        shown = (partition or "low").split(",")[0] + "\n"
        assert done.stdout == shown if done.returncode == 0 else f"Access denied to requested reservation: {resv}" in done.stderr

    c.run(create + "Nodes=n1 AllowedPartitions=nosuch").fails("nvalid partition name specified: AllowedPartitions=nosuch")
    c.run(create + "Nodes=n1 AllowedPartitions=low,-debug").fails("AllowedPartitions=low,-debug allows some and denies others")
    assert c.run(create + "Nodes=n1 AllowedPartitions=low,debug").ok() == "Reservation created: low_1"
    c.run(create + "ReservationName=deny Nodes=n2 Users=nobody AllowedPartitions-=low").ok()
    shown = c.run("scontrol -o show reservation low_1").ok()
    assert " PartitionName=low " in shown and " AllowedPartitions=low,debug " in shown
    assert c.json("scontrol show reservation low_1 --json")["reservations"][0]["allowed_partitions"] == "low,debug"
    for case in (("debug", "low_1", True), (None, "low_1", True), ("main", "low_1", False), ("low,main", "low_1", False),
                 ("low,debug", "low_1", True), ("main", "deny", True), ("low", "deny", False)):
        check(*case)
    assert c.run("srun -p main -t1 --reservation=low_1 printenv SLURMD_NODENAME").ok() == "n1"
    c.run("scontrol update ReservationName=low_1 AllowedPartitions+=main").ok()
    c.run("scontrol update ReservationName=low_1 AllowedPartitions-=low").ok()
    check("low", "low_1", False)
    check("main", "low_1", True)
    c.kill("slurmctld")
    c.start_controller()
    assert " AllowedPartitions=debug,main " in c.run("scontrol -o show reservation low_1").ok()
    check("low", "low_1", False)
    check("main", "low_1", True)
    c.run("scontrol update ReservationName=low_1 AllowedPartitions=").fails("it needs Users, Groups, Accounts or AllowedPartitions")


def test_programs_run_at_begin_and_end_of_a_reservation(make_cluster, tmp_path):
    """ResvProlog and ResvEpilog: as it begins and ends, with its name; they may use the commands, and survive the controller."""
    c = make_cluster(nodes=1, start=False, conf=f"ResvProlog={tmp_path}/begin\nResvEpilog={tmp_path}/end\n")
    tmp_path.chmod(0o755)
    log, gate = c.work / "programs", c.work / "gate"
    for name in ("begin", "end"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} \"$@\" $SLURM_CLUSTER_NAME $(id -u) >>{log}\n"
                                     f"while [ -e {gate} ]; do sleep 0.05; done\necho {name} done >>{log}\n")
        (tmp_path / name).chmod(0o755)
    c.start()
    uid = c.run("id -u").ok()

    def said():
        return log.read_text().splitlines() if log.exists() else []

    c.run("scontrol create reservation ReservationName=late StartTime=now+1hour Duration=60 Nodes=n1 Users=root").ok()
    c.run("scontrol delete ReservationName=late").ok()
    gate.touch()
    c.run("scontrol create reservation ReservationName=one StartTime=now Duration=60 Nodes=n1 Users=root").ok()
    eventually(lambda: said() == [f"begin one test {uid}"], "it begins")
    c.kill("slurmctld")  # which ends what it runs
    gate.unlink()
    c.start_controller()
    eventually(lambda: said()[1:] == [f"begin one test {uid}", "begin done"], lambda: f"it is run again: {said()}")
    c.run("scontrol delete ReservationName=one").ok()
    eventually(lambda: said()[3:] == [f"end one test {uid}", "end done"], lambda: f"it ends: {said()}")
    (tmp_path / "begin").write_text("#!/bin/sh\nexit 3\n")
    c.run("scontrol create reservation ReservationName=two StartTime=now Duration=60 Nodes=n1 Users=root").ok()
    eventually(lambda: f"reservation two: ResvProlog {tmp_path}/begin exited with status 3" in c.tail("slurmctld", 200), "it is told")


def test_only_configured_nodes_are_shown(make_cluster):
    """A node that leaves slurm.conf is kept for its return, and meanwhile neither named nor counted."""
    c = make_cluster(nodes=3)
    for name, more in ("whole", ""), ("cores", "CoreCnt=1,2"):
        c.run(f"scontrol create reservation ReservationName={name} {LATER} Duration=60 Users=root Flags=OVERLAP Nodes=n[2-3] {more}").ok()
        all_nodes = show(c, name)
        assert "Nodes=n[2-3] NodeCnt=2" in all_nodes and ("NodeName=n3" in all_nodes) == bool(more)
    text = c.conf_file.read_text()
    for gone, shown in ("3", "Nodes=n2 NodeCnt=1"), ("23", "Nodes=(null) NodeCnt=0"):
        c.conf_file.write_text(re.sub(rf"(?m)^NodeName=n[{gone}] .*\n", "", text))
        c.run("scontrol reconfigure").ok()
        for name in "whole", "cores":
            assert shown in show(c, name) and "n3" not in show(c, name), show(c, name)
    c.conf_file.write_text(text)
    c.run("scontrol reconfigure").ok()
    assert show(c, "cores") == all_nodes


def test_features_with_counts(make_cluster):
    """So many nodes of each sort, as with --constraint; how many in all follows when it is not said."""
    c = make_cluster(nodes=5)
    for node, features in {"n1": "a", "n2": "a,b", "n3": "b", "n4": "b", "n5": "d"}.items():
        c.run(f"scontrol update NodeName={node} AvailableFeatures={features} ActiveFeatures={features}").ok()

    def create(features, *more):
        return c.run(["scontrol", "create", "reservation", "ReservationName=r", "StartTime=now+1hour", "Duration=60", "Users=root",
                      f"Features={features}", *more])

    for features, more, nodes in (
            ("[a*1&b*2]", [], {"n1,n3,n4", "n[1,3-4]", "n[1-3]", "n[2-4]"}), ("[a*2&b*1]", [], {"n[1-3]"}),
            ("[a*1&b*1&d*1]", ["NodeCnt=4"], {"n[1-3,5]", "n[2-5]", "n[1,3-5]"}), ("[a|b]", ["NodeCnt=3"], {"n[2-4]"}),
            ("a*1", ["NodeCnt=3"], {"n[1-3]"}), ("[(a&b)*1&d*1]", [], {"n[2,5]"}), ("a|d", ["NodeCnt=3"], {"n[1-2,5]"}),
            ("[a*1&b*2]", ["CoreCnt=3"], {"n[1-3]", "n[2-4]", "n[1,3-4]"})):
        create(features, *more).ok()
        shown = c.run("scontrol show reservation r").ok()
        assert f"Features={features} " in shown and any(f"Nodes={n} " in shown for n in nodes), (features, shown)
        assert ("CoreIDs=0" in shown) == bool(more and "CoreCnt" in more[0])
        c.run("scontrol delete ReservationName=r").ok()
    create("[a*1&b*2]", "NodeCnt=2").fails("Node count specification invalid", "NodeCnt=2, and Features=[a*1&b*2] asks for 3")
    create("[a*3&b*1]").fails("count 1 of the constraint asks for 3 nodes, partition main has 2 of them")
    create("[a*2").fails("Invalid feature specification")
    create("z*2").fails("Invalid feature specification", "z")
    create("[a|b]", "NodeCnt=4").fails("Requested nodes are busy")
    create("[a*1&b*2]").ok()
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready()
    before = c.run("scontrol show reservation r").ok()
    c.run("scontrol update ReservationName=r Features=d NodeCnt=1").ok()
    after = c.run("scontrol show reservation r").ok()
    assert "NodeCnt=3" in before and "Nodes=n5 NodeCnt=1" in after and "Features=d " in after
