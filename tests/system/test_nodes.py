# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes and their daemons, configuration errors at start: CORE-015, 023, 025, 042, 114, 115, 117 to 121, 133, 147, 173."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import PREFIX, eventually


OLD_PLACES = """
set -e
mkdir -p "$1/up" "$1/work"
mount -t overlay overlay -o lowerdir=/etc,upperdir="$1/up",workdir="$1/work" /etc
rm -rf /etc/slurm
printf 'ClusterName=old\nSlurmctldHost=h\nNodeName=n1\nPartitionName=%s Nodes=ALL\n' of_slurmctld >/etc/slurmctld.conf
slurmctld --check
sed s/of_slurmctld/of_all/ /etc/slurmctld.conf >/etc/slurm.conf
slurmctld --check
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace")
def test_configuration_files_of_2002_are_found(tmp_path):
    """CORE-025, 042, 059: /etc/slurmctld.conf, and before it /etc/slurm.conf."""
    env = {"PATH": f"{PREFIX}/sbin:" + os.environ["PATH"]}
    (tmp_path / "t").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", tmp_path / "t"], check=True)
    try:
        done = subprocess.run(["unshare", "-m", "/bin/sh", "-c", OLD_PLACES, "sh", tmp_path / "t"], text=True,
                              capture_output=True, env=env, timeout=30)
    finally:
        subprocess.run(["umount", tmp_path / "t"], check=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "/etc/slurmctld.conf" in done.stdout + done.stderr and "/etc/slurm.conf" in done.stdout + done.stderr


def test_stop_and_start_of_a_node_daemon_is_noticed(make_cluster):
    """CORE-023, 045: without waiting for a poll."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=3")
    c.kill("n2", signal.SIGTERM)
    eventually(lambda: c.node("n2")["State"].endswith("*") or "NOT_RESPONDING" in c.node("n2")["State"], "n2 silent")
    eventually(lambda: c.node("n2")["State"].startswith("DOWN"), "n2 down after SlurmdTimeout")
    assert c.run("srun -N1 hostname").returncode == 0
    c.start_node("n2")
    eventually(lambda: c.node("n2")["State"] == "IDLE", "n2 back")


def test_less_than_configured_is_down(make_cluster):
    """CORE-046, 115, 118: with the reason, logged."""
    c = make_cluster(nodes=1, cpus=1, memory=99999999, conf="SlurmdParameters=none", start=False)
    c.start_controller()
    c.start_node("n1")
    eventually(lambda: c.node("n1")["State"].startswith("DOWN"), "n1 down")
    assert re.search(r"Low RealMemory \(reported:\d+ < configured:\d+\)", c.node("n1")["Reason"])
    assert "Low RealMemory" in c.run("sinfo -R").ok()
    assert "Low RealMemory" in (c.dir / "slurmctld.log").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_changed_hardware_is_noticed(make_cluster):
    """CORE-117, 173: a file system that shrinks and grows under the daemon is noticed with a heartbeat, unasked."""
    c = make_cluster(nodes=1, cpus=1, memory=200, conf="SlurmdParameters=none\nSlurmdTimeout=3", node_conf="TmpDisk=20",
                     start=False)
    tmp = c.dir / "tmp"
    tmp.mkdir()
    c.conf_file.write_text(c.conf_file.read_text() + f"TmpFS={tmp}\n")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", tmp], check=True)
    try:
        c.start()
        c.run("srun --tmp=20 true").ok()
        subprocess.run(["mount", "-o", "remount,size=8m", tmp], check=True)
        eventually(lambda: c.node("n1")["State"].startswith("DOWN"), "n1 down")
        assert c.node("n1")["Reason"].startswith("Low TmpDisk (reported:8 < configured:20)")
        assert "Low TmpDisk" in (c.dir / "slurmctld.log").read_text()
        subprocess.run(["mount", "-o", "remount,size=64m", tmp], check=True)
        eventually(lambda: c.node("n1")["State"] == "IDLE", "n1 back in service")
        c.run("srun --tmp=20 true").ok()
        c.stop()
    finally:
        subprocess.run(["umount", tmp], check=True)


def machine():
    """Processors and MiB of memory, as a node daemon finds them."""
    line = subprocess.run([PREFIX / "sbin/slurmd", "-C"], text=True, capture_output=True, timeout=60).stdout
    return int(re.search(r"CPUs=(\d+)", line).group(1)), int(re.search(r"RealMemory=(\d+)", line).group(1))


def test_resources_beyond_the_configuration_follow_fast_schedule(make_cluster):
    """CORE-119: by the file, or with FastSchedule=0 by the nodes' reports, also before they register again after a restart."""
    memory = machine()[1]
    c = make_cluster(nodes=1, cpus=1, memory=100, conf="SlurmdParameters=none\nFastSchedule=1")
    text = c.conf_file.read_text()
    c.run("srun --mem=200 true").fails("Memory specification can not be satisfied")
    assert c.node("n1")["RealMemory"] == "100"
    c.conf_file.write_text(text.replace("FastSchedule=1", "FastSchedule=0"))
    assert "FastSchedule: 1 -> 0" in c.run("scontrol reconfigure").ok()
    eventually(lambda: c.node("n1")["RealMemory"] == str(memory), "what the node reports")
    c.run("srun --mem=200 true").ok()
    assert c.wait(c.sbatch(f"--mem={memory}", wrap="true"))["JobState"] == "COMPLETED"
    c.run(f"srun --mem={memory + 1} true").fails("Memory specification can not be satisfied")
    c.kill("n1", signal.SIGTERM)
    c.kill("slurmctld")
    c.start_controller()
    job = c.sbatch("--mem=200", wrap="true")
    assert c.state(job) == "PENDING" and c.node("n1")["RealMemory"] == str(memory)
    c.start_node("n1")
    assert c.wait(job)["JobState"] == "COMPLETED"
    c.conf_file.write_text(text)
    c.run("scontrol reconfigure").ok()
    c.run("srun --mem=200 true").fails("Memory specification can not be satisfied")


def test_whole_nodes_may_use_detected_processors(make_cluster):
    """CORE-119: with select/linear; single processors are handed out as configured."""
    cpus = machine()[0]
    c = make_cluster(nodes=1, cpus=1, memory=100,
                     conf="SlurmdParameters=none\nFastSchedule=0\nSelectType=select/linear\nSelectTypeParameters=CR_Memory")
    eventually(lambda: c.node("n1")["CPUTot"] == str(cpus), "processors that the node reports")
    assert len(c.run(f"srun -n {cpus} hostname").ok().splitlines()) == cpus
    c.kill("slurmctld")
    c.start_controller()
    c.run(f"srun -n {cpus} hostname").ok()


def test_configuration_may_override_the_node(make_cluster):
    """CORE-119: config_overrides, and its name of 2002."""
    c = make_cluster(nodes=1, cpus=64, memory=99999999, conf="SlurmdParameters=none\nFastSchedule=2")
    assert c.node("n1")["RealMemory"] == "99999999" and c.node("n1")["State"] == "IDLE"
    c.run("srun -c 60 --mem=99999998 true").ok()


def test_light_nodes_come_first(make_cluster):
    """CORE-121: those of the lowest weight that satisfy the request; a weight may be changed."""
    c = make_cluster(nodes=3, start=False)
    text = c.conf_file.read_text()
    for name, more in (("n1", "Weight=30 Feature=big"), ("n2", "Weight=10"), ("n3", "Weight=20 Feature=big")):
        text = text.replace(f"NodeName={name} ", f"NodeName={name} {more} ")
    c.conf_file.write_text(text)
    c.start()

    def places(*options):
        jobs = [c.sbatch("--exclusive", "-o", "/dev/null", *options, wrap="sleep 1000") for _ in range(3)]
        found = []
        for job in jobs:
            eventually(lambda: c.state(job) == "RUNNING" or c.job(job)["Reason"] == "Resources", f"a decision on {job}")
            found.append(c.job(job)["NodeList"])
        c.run(["scancel", *map(str, jobs)])
        for job in jobs:
            c.wait(job)
        eventually(lambda: set(c.run("sinfo -h -N -o %t").ok().split()) == {"idle"}, "all free")
        return found
    assert places() == ["n2", "n3", "n1"]
    assert places("-C", "big")[:2] == ["n3", "n1"]
    c.run("scontrol update NodeName=n1 Weight=5").ok()
    assert places() == ["n1", "n2", "n3"]


def test_drain_and_resume(cluster):
    cluster.run("scontrol update NodeName=n4 State=DRAIN").fails("eason")
    cluster.run(["scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=test it"]).ok()
    assert cluster.node("n4")["State"] == "IDLE+DRAIN"
    assert cluster.run("sinfo -h -n n4 -o %t").ok() == "drain"
    cluster.run("srun -w n4 -I true").fails()
    assert "test it" in cluster.run("sinfo -h -R").ok()
    assert cluster.run("sinfo -R -N").ok().split() == "NODELIST NODES PARTITION STATE n4 1 main* drain".split()
    cluster.run("scontrol update NodeName=n4 State=RESUME").ok()
    assert cluster.node("n4")["State"] == "IDLE"
    assert cluster.run("srun -w n4 -n1 echo ok").ok() == "ok"


def test_cores_and_memory_are_consumed(cluster):
    """CORE-133, 021: three jobs of two CPUs on a node of four: the third waits."""
    jobs = [cluster.sbatch("-w", "n1", "-n2", "-o", "/dev/null", wrap="sleep 1000") for _ in range(3)]
    for job in jobs[:2]:
        eventually(lambda: cluster.state(job) == "RUNNING", "running")
    assert cluster.node("n1")["CPUAlloc"] == "4"
    assert cluster.state(jobs[2]) == "PENDING" and cluster.job(jobs[2])["Reason"] in ("Resources", "Priority")
    big = cluster.sbatch("-w", "n2", "--mem=3900", "-n1", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(big) == "RUNNING", "running")
    small = cluster.sbatch("-w", "n2", "--mem=200", "-n1", "-o", "/dev/null", wrap="true")
    assert cluster.state(small) == "PENDING"
    cluster.run(["scancel", *map(str, [*jobs, big])])
    for job in [*jobs, big, small]:
        cluster.wait(job)


def test_partitions_progress_independently(make_cluster):
    """CORE-054, 055: a blocked head stops only its own partition (builtin)."""
    c = make_cluster(nodes=2, conf="SchedulerType=sched/builtin",
                     partitions=["PartitionName=a Nodes=n1 Default=YES", "PartitionName=b Nodes=n2"])
    running = c.sbatch("-p", "a", "-n1", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(running) == "RUNNING", "running")
    head = c.sbatch("-p", "a", "-n4", "-o", "/dev/null", wrap="true")
    behind = c.sbatch("-p", "a", "-n1", "-o", "/dev/null", wrap="true")
    other = c.sbatch("-p", "b", "-n4", "-o", "/dev/null", wrap="true")
    assert c.wait(other)["JobState"] == "COMPLETED"
    assert c.state(head) == "PENDING" and c.state(behind) == "PENDING"
    assert (c.job(head)["Reason"], c.job(behind)["Reason"]) == ("Resources", "Priority")
    c.run(f"scancel {running}")
    for job in (head, behind):
        c.wait(job)


def test_backfill_fills_a_hole_without_delaying_the_head(make_cluster):
    """CORE-017."""
    c = make_cluster(nodes=1)
    running = c.sbatch("-n2", "-t", "5", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(running) == "RUNNING", "running")
    head = c.sbatch("-n4", "-t", "5", "-o", "/dev/null", wrap="sleep 1000")
    too_long = c.sbatch("-n1", "-t", "60", "-o", "/dev/null", wrap="true")
    fits = c.sbatch("-n1", "-t", "1", "-o", "/dev/null", wrap="true")
    assert c.wait(fits)["JobState"] == "COMPLETED"
    assert c.state(head) == "PENDING" and c.state(too_long) == "PENDING"
    c.run(f"scancel {running}")
    eventually(lambda: c.state(head) == "RUNNING", "the head runs")
    c.run(f"scancel {head}")
    c.wait(too_long)


@pytest.mark.parametrize("pending", ["-N3 --exclusive", "-N2 --exclusive : -N1 --exclusive", "-N3 --exclusive -L lic:2"])
def test_idle_and_mixed_nodes_of_a_planned_start_are_planned(make_cluster, pending):
    """sinfo(1), NODE STATE CODES: PLANNED of an idle node, and "-" after the state of a mixed one, while a pending job has a planned start there."""
    c = make_cluster(nodes=4, conf="Licenses=lic:2")

    def states():
        return dict(line.split() for line in c.run(["sinfo", "-h", "-N", "-o", "%N %t"]).ok().splitlines())

    def become(*wanted):
        eventually(lambda: [states()[f"n{i}"] for i in range(1, 5)] == list(wanted), lambda: f"{wanted}: {states()}")

    def submit(*options):
        return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")

    c.run("scontrol update NodeName=n4 State=DRAIN Reason=test").ok()
    first = submit("-n1", "-w", "n1", "-t60")
    become("mix", "idle", "idle", "drain")
    waiting = submit("-t60", *pending.split())
    become("mix-", "plnd", "plnd", "drain")
    assert c.run("sinfo -h -N -t planned -o %N:%T").ok().split() == ["n1:mixed-", "n2:planned", "n3:planned"]
    assert sorted(c.run("sinfo -h -t plnd -o %D:%t").ok().split()) == ["1:mix-", "2:plnd"]
    assert c.run("sinfo -h -t mix -o %D:%t").ok().split() == ["1:mix-"]
    assert c.run("sinfo -h -t idle -o %D:%t").ok().split() == ["2:plnd", "1:drain"]  # by the base state
    assert "State=IDLE+PLANNED " in c.run("scontrol show node n2").ok() and "State=MIXED+PLANNED " in c.run("scontrol show node n1").ok()
    assert "PLANNED" not in c.run("scontrol show node n4").ok()
    assert sorted(c.json("scontrol show node n3")["nodes"][0]["state"]) == ["IDLE", "PLANNED"]
    assert c.run("sinfo -h -N -n n2 -O StateComplete").ok().strip() == "idle+planned"

    # A job that ends before the planned start may use such a node, which then is not idle.
    short = submit("-n1", "-w", "n2", "-t1")
    become("mix-", "mix-", "plnd", "drain")
    c.run(f"scancel {short}").ok()
    become("mix-", "plnd", "plnd", "drain")
    c.kill("slurmctld")
    c.start_controller()
    become("mix-", "plnd", "plnd", "drain")
    c.run(f"scontrol hold {waiting}").ok()
    become("mix", "idle", "idle", "drain")
    c.run(f"scontrol release {waiting}").ok()
    become("mix-", "plnd", "plnd", "drain")
    c.run(f"scancel {first}").ok()
    become("alloc", "alloc", "alloc", "drain")


def test_idle_daemons_use_no_cpu(cluster):
    """CORE-015: reads the kernel's tick counters before and after a period in which other work runs."""
    def ticks(name):
        stat = pathlib.Path(f"/proc/{cluster.daemons[name].pid}/stat").read_text().rpartition(")")[2].split()
        return int(stat[11]) + int(stat[12])
    before = {n: ticks(n) for n in cluster.names}
    subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"], check=True)
    assert all(ticks(n) - before[n] <= 1 for n in cluster.names)


@pytest.mark.allocator  # measures memory
def test_memory_of_an_idle_node_daemon(make_cluster):
    """Before its first job, and after the first of each kind: it has checked credentials and looked up a user then."""
    c = make_cluster(nodes=1)

    def held(most_kib):
        status = pathlib.Path(f"/proc/{c.daemons['n1'].pid}/status").read_text()
        own, shared = (int(re.search(name + r":\s+(\d+)", status).group(1)) for name in ("RssAnon", "RssFile"))
        assert own < most_kib and shared < 6000, status  # the latter is the program itself, as much as the kernel maps
    held(1000)
    c.run("srun true").ok()
    c.wait(c.sbatch(wrap="true"))
    held(1200)


def check(conf, *more):
    return subprocess.run([PREFIX / "sbin/slurmctld", "--check", "-f", conf, *more], text=True, capture_output=True,
                          timeout=60)


def test_check_reads_everything_and_starts_nothing(make_cluster, tmp_path):
    good = tmp_path / "good.conf"
    good.write_text("ClusterName=x\nSlurmctldHost=localhost\nNodeName=n[1-3] CPUs=2\nPartitionName=p Nodes=ALL\n")
    assert check(good).returncode == 0
    for text, line, named in (("NodeName=n1 CPUs=two\n", 3, "CPUs"), ("KillWait=never\n", 3, "KillWait"),
                              ("PartitionName=p Nodes=ghost\n", 3, "ghost"), ("NodeName=n[1-\n", 3, "n[1-"),
                              ("Include missing.conf\n", 3, "missing.conf")):
        bad = tmp_path / "bad.conf"
        bad.write_text("ClusterName=x\nSlurmctldHost=localhost\n" + text)
        done = check(bad)
        assert done.returncode != 0 and f"bad.conf:{line}" in done.stderr and named in done.stderr, done.stderr
    odd = tmp_path / "odd.conf"
    odd.write_text(good.read_text() + "KilWait=5\n")
    done = check(odd)
    assert done.returncode == 0 and "odd.conf:5" in done.stderr and "KillWait" in done.stderr
    assert not list(tmp_path.glob("state*"))


def test_sample_of_2002_is_accepted(tmp_path):
    """CORE-114, 120, 147."""
    sample = tmp_path / "slurm.conf"
    sample.write_text("""#
# Sample /etc/SLURM.conf
# Author: John Doe
# Date: 11/06/2001
#
ControlMachine=lx0001
BackupController=lx0002
#
# Node Configurations
#
NodeName=DEFAULT TmpDisk=16384
NodeName=lx[0001-0002] State=DRAINED
NodeName=lx[0003-8000] CPUs=16 RealMemory=2048 Weight=16
NodeName=lx[8001-9999] CPUs=32 RealMemory=4096 Weight=40 Feature=1200MHz
#
# Partition Configurations
#
PartitionName=DEFAULT MaxTime=30 MaxNodes=2
PartitionName=login Nodes=lx[0001-0002] State=DOWN # Don't schedule work here
PartitionName=debug Nodes=lx[0003-0030] State=UP Default=YES
PartitionName=class Nodes=lx[0031-0040] AllowGroups=students,teachers
PartitionName=batch Nodes=lx[0041-9999] MaxTime=UNLIMITED MaxNodes=4096 Key=YES
""")
    done = check(sample)
    assert done.returncode == 0, done.stderr


def test_errors_at_start_reach_the_terminal(tmp_path):
    bad = tmp_path / "slurm.conf"
    bad.write_text("ClusterName=x\nSlurmctldHost=localhost\nSlurmctldPort=99999\n")
    for daemon in (["slurmctld"], ["slurmd", "-N", "n1"]):
        done = subprocess.run([PREFIX / "sbin" / daemon[0], *daemon[1:], "-f", bad], text=True, capture_output=True,
                              timeout=60)
        assert done.returncode != 0 and "slurm.conf:3" in done.stderr, done.stderr


@pytest.mark.slow
def test_daemons_without_foreground_option(make_cluster):
    """COMPATIBILITY: returns 0 when it is up; /proc/PID/exe is the program itself."""
    c = make_cluster(nodes=1, start=False)
    for line in ("slurmctld", "slurmd -N n1"):
        assert c.run(line).returncode == 0
    c.count = 1
    c.wait_ready()
    pids = {name: int((c.dir / f"{name}.pid").read_text()) for name in ("slurmctld", "slurmd-n1")}
    assert pathlib.Path(f"/proc/{pids['slurmctld']}/exe").resolve() == PREFIX / "sbin/slurmctld"
    assert pathlib.Path(f"/proc/{pids['slurmd-n1']}/exe").resolve() == PREFIX / "sbin/slurmd"
    second = c.run("slurmctld")
    assert second.returncode != 0 and second.stderr
    assert c.run("scontrol shutdown").returncode == 0
    from harness import alive
    for pid in pids.values():
        eventually(lambda: not alive(pid), f"end of {pid}")


def test_slurmd_prints_its_node_line():
    out = subprocess.run([PREFIX / "sbin/slurmd", "-C"], text=True, capture_output=True, timeout=60).stdout
    assert re.match(r"NodeName=\S+ CPUs=\d+ Boards=1 SocketsPerBoard=\d+ CoresPerSocket=\d+ ThreadsPerCore=\d+ "
                    r"RealMemory=\d+", out)
    assert re.search(r"^UpTime=\d+-\d\d:\d\d:\d\d$", out, re.M)


def test_ten_thousand_nodes_in_four_lines(tmp_path):
    """CORE-124."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=x\nSlurmctldHost=localhost\nNodeName=a[0001-5000] CPUs=4\n"
                    "NodeName=b[0001-5000] CPUs=8\nPartitionName=p Nodes=ALL\n")
    assert check(conf).returncode == 0
