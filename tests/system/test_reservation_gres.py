# SPDX-License-Identifier: GPL-3.0-or-later
"""Reservations of generic resources with real daemons: nodes are shared with jobs outside of the reservation, reserved devices are not."""
import json
import re

import pytest

from harness import eventually

SOON = "StartTime=now Duration=60"
WHICH = 'echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"; sleep 1000'


@pytest.fixture
def gpus(make_cluster):
    """Three nodes of four cores; the first two have four cards of two types, the third one only a network device."""
    c = make_cluster(nodes=3, cpus=4, start=False, conf="GresTypes=gpu,nic", node_conf="Gres=gpu:a:2,gpu:b:2,nic:2")
    c.conf_file.write_text(re.sub(r"(NodeName=n3 .*)Gres=\S*", r"\1Gres=nic:4", c.conf_file.read_text()))
    devices = c.dir / "dev"
    devices.mkdir()
    for number in range(4):
        (devices / f"nvidia{number}").touch()
    (c.dir / "gres.conf").write_text("".join(
        f"NodeName=n[1-2] Name=gpu Type={kind} File={devices}/nvidia[{cards}]\n" for kind, cards in (("a", "0-1"), ("b", "2-3"))))
    c.start()
    return c


def show(c, name):
    return c.run(["scontrol", "show", "reservation", name]).ok()


def create(c, name, words, when=SOON):
    return c.run(f"scontrol create reservation ReservationName={name} {when} Users=root {words}")


def submit(c, *options):
    return c.sbatch("-o", "/dev/null", "-t", "30", *options, wrap="sleep 1000")


def runs(c, job):
    eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")


def waits(c, job):
    eventually(lambda: c.job(job)["Reason"] in ("Resources", "Priority", "Reservation"), f"job {job} waits")


def devices_of(c, job):
    return re.search(r"GRES=(\S*)", c.run(f"scontrol show job -d {job}").ok())[1]


def test_reserved_devices_are_shown_and_survive_a_restart(gpus):
    c = gpus
    create(c, "each", "NodeCnt=2 TRESPerNode=gres/gpu:a=1,cpu=1").ok()
    assert show(c, "each").splitlines()[1:6] == [
        "   Nodes=n[1-2] NodeCnt=2 CoreCnt=2 Features=(null) PartitionName=main Flags=",
        "     NodeName=n1 CoreIDs=0 Gres=gpu:a:1",
        "     NodeName=n2 CoreIDs=0 Gres=gpu:a:1",
        "   TRES=cpu=2,gres/gpu:a=2 TRESPerNode=cpu=1,gres/gpu:a=1",
        "   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a"]
    create(c, "all", "TRES=node=2,gres/nic=3").ok()
    text = show(c, "all")
    assert "NodeCnt=2 CoreCnt=0 " in text and "TRES=gres/nic=3\n" in text
    assert sum(map(int, re.findall(r"NodeName=\S+ Gres=nic:(\d)", text))) == 3
    create(c, "some", "TRES=gres/gpu:b=3 PartitionName=main").ok()
    assert "NodeName=n1 Gres=gpu:b:2\n     NodeName=n2 Gres=gpu:b:1\n   TRES=gres/gpu:b=3\n" in show(c, "some")
    listed = {r["name"]: r for r in json.loads(c.run("scontrol show reservation --json").ok())["reservations"]}
    assert listed["each"]["tres"] == "cpu=2,gres/gpu:a=2" and listed["some"]["tres"] == "gres/gpu:b=3" and listed["some"]["core_count"] == 0
    before = [show(c, name) for name in ("each", "all", "some")]
    c.kill("slurmctld")
    c.start_controller()
    assert [show(c, name) for name in ("each", "all", "some")] == before
    c.run("scontrol reconfigure").ok()
    assert [show(c, name) for name in ("each", "all", "some")] == before
    c.run("srun -N3 true").ok()  # the nodes have registered again
    # an update of its time keeps what it has; another wish is dealt out anew
    c.run("scontrol update ReservationName=some Duration=90").ok()
    assert "NodeName=n1 Gres=gpu:b:2\n     NodeName=n2 Gres=gpu:b:1\n" in show(c, "some")
    c.run("scontrol update ReservationName=each TRESPerNode=gres/gpu:a=2").ok()
    assert "CoreCnt=0 " in show(c, "each") and "TRES=gres/gpu:a=4 TRESPerNode=gres/gpu:a=2\n" in show(c, "each")
    c.run("scontrol update ReservationName=each NodeCnt=1").ok()
    assert "   Nodes=n1 NodeCnt=1 " in show(c, "each") and "TRES=gres/gpu:a=2 TRESPerNode=gres/gpu:a=2\n" in show(c, "each")
    for name in ("each", "all", "some"):
        c.run(f"scontrol delete ReservationName={name}").ok()
    # without them it is of whole nodes
    create(c, "whole", "Nodes=n1 TRESPerNode=gres/gpu=1,cpu=1").ok()
    c.run("scontrol update ReservationName=whole TRESPerNode=").ok()
    assert "NodeCnt=1 CoreCnt=4 " in show(c, "whole") and "   TRES=cpu=4\n" in show(c, "whole")
    c.run("scontrol delete ReservationName=whole").ok()
    runs(c, submit(c, "-w", "n1", "--gres=gpu:4"))


def test_a_configuration_with_fewer_devices_is_reported(gpus):
    c = gpus
    create(c, "kept", "Nodes=n[1-2] TRESPerNode=gres/nic=2").ok()
    c.conf_file.write_text(re.sub(r"(NodeName=n2 .*)nic:2", r"\1nic:1", c.conf_file.read_text()))
    said = c.run("scontrol reconfigure")
    assert "reservation kept keeps less: node n2 does not have gres/nic=2" in said.stdout + said.stderr
    assert "NodeName=n2 Gres=nic:2\n" in show(c, "kept")
    runs(c, submit(c, "-w", "n1", "-n2"))


def test_a_node_with_fewer_devices_than_its_reservations_keep(gpus):
    c = gpus
    names = [f"r{number}" for number in range(4)]
    for name in names:
        create(c, name, "Nodes=n3 TRESPerNode=gres/nic=1").ok()
    create(c, "over", "Nodes=n3 TRESPerNode=gres/nic=1 Flags=OVERLAP").ok()  # counts with none
    create(c, "early", "Nodes=n3 TRESPerNode=gres/nic=1", "StartTime=now+2hours Duration=60").ok()
    text = c.conf_file.read_text()
    c.conf_file.write_text(re.sub(r"(NodeName=n3 .*)nic:4", r"\1nic:2", text))
    said = c.run("scontrol reconfigure")
    lines = [f"reservation {name} keeps less: node n3 has gres/nic=2, of which reservations keep 4 at one time" for name in names]
    found = said.stdout + said.stderr
    assert [line in found for line in lines] == [True] * 4 and found.count("keeps less") == 4
    log = (c.dir / "slurmctld.log").read_text()
    assert [line in log for line in lines] == [True] * 4
    said = c.run("scontrol reconfigure")  # it is no news
    assert "keeps less" not in said.stdout + said.stderr
    c.run("scontrol delete ReservationName=over").ok()
    # nobody outside has any, and of those that keep them the first ones have what there is
    outside = submit(c, "-w", "n3", "--gres=nic:1")
    waits(c, outside)
    for name in names[2:]:
        runs(c, submit(c, f"--reservation={name}", "--gres=nic:1"))
    waits(c, submit(c, "--reservation=r0", "--gres=nic:1"))
    c.conf_file.write_text(text)
    c.run("scontrol reconfigure").ok()
    runs(c, submit(c, "--reservation=r1", "--gres=nic:1"))


def test_devices_are_kept_and_nodes_are_shared(gpus):
    c = gpus
    create(c, "kept", "Nodes=n1 TRESPerNode=gres/gpu=3").ok()
    outside = submit(c, "-w", "n1", "-n3", "--gres=gpu:1,nic:2")  # the rest of the node is everybody's
    runs(c, outside)
    late = submit(c, "-w", "n1", "--gres=gpu:1")
    whole = submit(c, "-w", "n1", "--exclusive")
    for job in late, whole:
        waits(c, job)
    found = c.run("sbatch --test-only -w n1 --gres=gpu:1 -t 5 --wrap true")
    assert found.ok() == "" and re.search(r"to start at (\S+)", found.stderr)[1] >= c.job(outside)["EndTime"]
    assert re.search(r"\n  Reservation kept: gres/gpu:a=2,gres/gpu:b=1 of node n1, from ", c.run(f"sluice why {late}").ok())
    inside = submit(c, "--reservation=kept", "--gres=gpu:3")
    runs(c, inside)
    assert sum(map(int, re.findall(r":(\d)\b", devices_of(c, inside)))) == 3
    second = submit(c, "--reservation=kept", "--gres=gpu:1")
    waits(c, second)
    assert "\n  Reservation kept, which the job is confined to: gres/gpu:a=2,gres/gpu:b=1 of node n1, from " in c.run(f"sluice why {second}").ok()
    told = json.loads(c.run(f"sluice why --json {second}").ok())["why"][0]["reservations"]
    assert [(r["name"], r["keeps"], r["own"]) for r in told] == [("kept", "gres/gpu:a=2,gres/gpu:b=1", True)]
    c.run(f"scancel {outside} {whole}").ok()
    runs(c, late)  # and not the job of the reservation, whose devices are in use
    assert c.state(second) == "PENDING"
    c.run(f"scancel {inside}").ok()
    runs(c, second)
    # a job that would reach into the time of the reservation leaves its devices alone, a shorter one has them
    create(c, "later", "Nodes=n2 TRESPerNode=gres/gpu:a=2", "StartTime=now+20minutes Duration=60").ok()
    long = submit(c, "-w", "n2", "--gres=gpu:a:1")
    waits(c, long)
    eventually(lambda: c.job(long)["StartTime"] != "Unknown", "a start of the job is planned")
    assert c.job(long)["StartTime"] >= re.search(r"EndTime=(\S+)", show(c, "later"))[1]
    runs(c, submit(c, "-w", "n2", "--gres=gpu:b:2"))
    runs(c, c.sbatch("-o", "/dev/null", "-t", "10", "-w", "n2", "--gres=gpu:a:1", wrap="sleep 1000"))


def test_flags_hold_for_reservations_of_devices(gpus):
    c = gpus
    create(c, "flex", "Nodes=n1 TRES=gres/gpu=2 Flags=FLEX").ok()
    runs(c, submit(c, "--reservation=flex", "--gres=gpu:4", "-w", "n2"))  # beside its devices, too
    create(c, "again", "NodeCnt=1 TRESPerNode=gres/nic=2 Flags=REPLACE").ok()
    first = re.search(r" Nodes=(\S+)", show(c, "again"))[1]
    runs(c, submit(c, "--reservation=again", "--gres=nic:1"))
    eventually(lambda: re.search(r" Nodes=(\S+)", show(c, "again"))[1] != first, "another node's devices are reserved")
    create(c, "over", "Nodes=n1 TRES=gres/gpu=4").fails("overlaps with another one: flex")
    create(c, "over", "Nodes=n1 TRES=gres/gpu=4 Flags=OVERLAP").ok()
    create(c, "beside", "Nodes=n1 TRES=gres/nic=1 Flags=IGNORE_JOBS").ok()


@pytest.mark.parametrize("options, need", [("--gpus=2 -N1", "gpu:2 in all"), ("-n1 --gpus-per-task=2", "gpu:2 for each task"),
                                           ("--gpus-per-node=1", "gpu:1 on each node"),
                                           ("--gpus-per-socket=1 --sockets-per-node=1", "gpu:1 on each socket")])
def test_why_says_how_many_devices_a_job_needs(gpus, options, need):
    job = submit(gpus, "-H", *options.split())
    assert re.search(rf"  It needs 1 node, .*, (gres[:/])?{need}, for 30:00\.\n", gpus.run(f"sluice why {job}").ok())


def test_invalid_requests_for_devices_are_refused(gpus):
    c = gpus
    for words, said in {
        "Nodes=n1 TRES=gres/gpu": "gres/gpu: expected NAME=COUNT",
        "Nodes=n1 TRES=gres/gpu=some": "TRES=gres/gpu=some: expected a count, as 2 or 1k",
        "Nodes=n1 TRES=node=1,gres/gpu=-1": "TRES=gres/gpu=-1: expected a count",
        "Nodes=n1 TRESPerNode=gres/gpu:a=-1": "TRESPerNode=gres/gpu:a=-1: expected a count",
        "Nodes=n1 TRESPerNode=cpu=0": "TRESPerNode=cpu=0: expected a number of cores, from 1 on",
        "TRES=node=0,gres/gpu=1": "TRES=node=0: not a number of nodes",
        "Nodes=n1 TRES=gres/gpu=0": "TRES=gres/gpu:0: expected a count above 0",
        "Nodes=n1 TRESPerNode=gres/nic=0": "TRESPerNode=gres/nic:0: expected a count above 0",
        "Nodes=n1 TRES=gres/tpu=1": "tpu:1: no node has this resource",
        "Nodes=n1 TRES=gres/gpu:c=1": "gpu:c:1: no node has this type of it",
        "Nodes=n1 TRES=gres/gpu=5": "TRES=gres/gpu:5: node n1 has too little that can be reserved",
        "Nodes=n3 TRESPerNode=gres/gpu=1": "TRESPerNode=gres/gpu:1: node n3 has too little that can be reserved",
        "NodeCnt=3 TRESPerNode=gres/gpu=1": "Requested nodes are busy: 3 nodes of partition main with TRESPerNode=gres/gpu:1 needed, 2 free at the start",
        "Nodes=n[1-2] TRES=gres/gpu=1": "TRES=gres/gpu:1: less than one for each of 2 nodes",
        "Nodes=n1 TRES=gres/gpu=1 TRESPerNode=gres/gpu=1": "TRES=gres/... and TRESPerNode=gres/... exclude each other",
        "Nodes=n1 CoreCnt=1 TRESPerNode=cpu=1": "CoreCnt (TRES=cpu=...) and TRESPerNode=cpu=... exclude each other",
        "TRESPerNode=gres/gpu=1": "TRESPerNode needs NodeCnt, Nodes or PartitionName",
        "TRES=gres/gpu=1,cpu=2": "cpu= and gres/... together need NodeCnt or Nodes",
        "Nodes=n1 TRESPerNode=license/x=1": "license/x=1: of a node a reservation has cpu and gres/NAME: use TRES=",
        "Nodes=n1 TRESPerNode=node=1": "node=1: of a node a reservation has cpu and gres/NAME: use TRES=",
        "Nodes=n1 TRES=mem=4": "mem=4: TRES of a reservation are cpu, node, gres/NAME and license/NAME",
        "Nodes=n1 TRES=bb/cray=4": "bb/cray=4: a reservation cannot hold space of burst buffers",
        "Flags=ANY_NODES TRES=gres/gpu=1": "ANY_NODES is for licenses alone, without nodes",
    }.items():
        create(c, "bad", words).fails(said)
    holder = submit(c, "-w", "n1", "--gres=gpu:3")
    runs(c, holder)
    create(c, "bad", "Nodes=n1 TRES=gres/gpu=2").fails("Requested nodes are busy: jobs run on n1")
    create(c, "good", "Nodes=n1 TRES=gres/gpu=1").ok()
    create(c, "bad", "Nodes=n1 TRES=cpu=4").fails("Requested nodes are busy: jobs run on n1")
    create(c, "bad", "Nodes=n1").fails("overlaps with another one: good")
    create(c, "ignores", "Nodes=n1 TRES=gres/gpu=3 Flags=IGNORE_JOBS").ok()
    create(c, "bad", "Nodes=n1 TRES=gres/gpu=1 Flags=IGNORE_JOBS").fails("overlaps with another one: ")


def test_reserved_devices_follow_the_nodes_of_the_partition(gpus):
    c = gpus
    c.run("scontrol create PartitionName=some Nodes=n[1-2]").ok()
    create(c, "bad", "PartitionName=some Nodes=ALL Flags=PART_NODES TRES=gres/nic=2").fails("PART_NODES with TRES=gres/...")
    create(c, "part", "PartitionName=some Nodes=ALL Flags=PART_NODES TRESPerNode=gres/nic=1,gres/gpu:a=1").ok()
    for nodes, shown in (
        ("", []),
        ("n2", ["n2 Gres=gpu:a:1,nic:1"]),
        ("n[1-3]", ["n1 Gres=gpu:a:1,nic:1", "n2 Gres=gpu:a:1,nic:1", "n3 Gres=gpu:a:1,nic:1"]),
        ("n1", ["n1 Gres=gpu:a:1,nic:1"]),
    ):
        c.run(f"scontrol update PartitionName=some Nodes={nodes}").ok()
        assert re.findall(r"NodeName=(.*)", show(c, "part")) == shown
    assert "reservation part keeps less: node n3 does not have gres/gpu:a=1" in (c.dir / "slurmctld.log").read_text()
    before = show(c, "part")
    c.kill("slurmctld")
    c.start_controller()
    assert show(c, "part") == before


def test_shares_of_gpus_cannot_be_reserved(make_cluster):
    c = make_cluster(nodes=1, start=False, conf="GresTypes=gpu,shard,nic", node_conf="Gres=gpu:2,shard:8,nic:2")
    (c.dir / "dev0").touch()
    (c.dir / "dev1").touch()
    (c.dir / "gres.conf").write_text(f"Name=gpu File={c.dir}/dev[0-1]\nName=shard Count=8\n")
    c.start()
    create(c, "bad", "Nodes=n1 TRES=gres/shard=2").fails("gres/shard: parts of GPUs cannot be reserved: reserve nodes")
    create(c, "bad", "Nodes=n1 TRES=gres/gpu=1").fails("TRES=gres/gpu:1: node n1 has too little that can be reserved")
    create(c, "good", "Nodes=n1 TRES=gres/nic=1").ok()
    runs(c, submit(c, "--gres=shard:3,nic:1"))


def test_job_beyond_its_reservation_is_refused_or_explained(gpus):
    """The rest of the node is free, and the job is confined to its reservation."""
    c = gpus
    create(c, "part", "Nodes=n2 TRESPerNode=gres/gpu:a=2").ok()
    job = submit(c, "-H", "--reservation=part", "--gres=gpu:a:2")
    c.run("scontrol update ReservationName=part TRESPerNode=gres/gpu:a=1").ok()
    c.run("sbatch --reservation=part --gres=gpu:a:2 --wrap true").fails("reservation part has gres/gpu:a=1 of node n2")
    c.run(f"scontrol release {job}").ok()
    waits(c, job)
    said = json.loads(c.run(f"sluice why --json {job}").ok())["why"][0]
    assert said["resource"] == "nodes with enough gres" and (said["have"], said["need"]) == (0, 1)
    assert [(r["name"], r["keeps"], r["own"]) for r in said["reservations"]] == [("part", "gres/gpu:a=1", True)]
    c.run(f"scancel {job}").ok()
    c.run("scontrol delete ReservationName=part").ok()
