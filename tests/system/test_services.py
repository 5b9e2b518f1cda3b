# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of the machine that answer late or never: RELIABILITY C5 (the name service), D3 (the disk)."""
import contextlib
import itertools
import os
import random
import re
import signal
import threading
import time

import pytest

import figures
from harness import DEADLINE, PREFIX, SEED, SOAK, amount, check_ledger, eventually, ledger_wrap, many
from hosts import ADDRESS, Hosts
from preload import NAMES, SYNC, Switch, library


def prepare(c, source, *daemons):
    """What these daemons load first, and the files that it looks at."""
    where = c.dir / "first"
    built = library(where, source)
    for name in daemons:
        c.preload[name] = built
    return Switch(where)


def answers(c, job):
    """All queries are answered."""
    assert c.run("squeue -h -o %A").ok().split().count(str(job)) == 1
    assert c.run("sinfo -h -o %D").ok()
    assert c.state(job) == "RUNNING"


def gated(c, name):
    return f"while [ ! -e {c.work}/{name} ]; do sleep 0.05; done; exit 3"


def named(c):
    """Nodes by names that only the library knows."""
    text = c.conf_file.read_text()
    for name in c.names:
        text = text.replace(f"NodeName={name} NodeAddr=127.0.0.1", f"NodeName={name} NodeAddr={name}.test")
    c.conf_file.write_text(text)
    return "".join(f"{name}.test 127.0.0.1\n" for name in c.names)


# --- names of users and groups --------------------------------------------------------------------------------------

def test_hanging_user_lookup_delays_its_submission_only(make_cluster):
    """C5: a submission waits until its user is looked up; other requests do not wait."""
    c = make_cluster(nodes=1, start=False, partitions=["PartitionName=main Nodes=ALL Default=YES AllowGroups=root,sys"])
    service = prepare(c, NAMES, "slurmctld")
    c.start()
    for round_ in range(amount(2, 20)):
        runs = c.sbatch("-o", "/dev/null", wrap=gated(c, f"go{round_}"))
        eventually(lambda: c.state(runs) == "RUNNING", "a job")
        c.run("scontrol reconfigure").ok()  # names are looked up again
        service.on("hang-users")
        with contextlib.ExitStack() as processes:
            waiting = [processes.enter_context(c.popen(["sbatch", "--parsable", "-o", "/dev/null", "--wrap=true"])) for _ in range(3)]
            eventually(lambda: service.is_on("asked"), "a question")
            answers(c, runs)
            c.run(f"scontrol show job {runs}").ok()
            (c.work / f"go{round_}").touch()
            assert c.wait(runs)["ExitCode"] == "3:0"
            gone = waiting.pop()
            gone.kill()
            gone.wait()
            assert all(p.poll() is None for p in waiting)
            service.off("hang-users")
            for p in waiting:
                out, err = p.communicate(timeout=DEADLINE)
                assert p.returncode == 0, err
                assert c.wait(int(out))["JobState"] == "COMPLETED"
        service.off("asked")


@pytest.mark.parametrize("count, limit, script", [(65, 64, "#!/bin/sh"), (10, 8, "#!/bin/sh\n" + "#" * 4_000_000)], ids=["many", "large"])
def test_requests_of_a_user_that_wait_for_names_are_limited(make_cluster, count, limit, script):
    """C5: while the name service hangs, a user has 64 requests and 32 MiB in the controller; further ones wait in the commands."""
    c = make_cluster(nodes=1, start=False, partitions=["PartitionName=main Nodes=ALL Default=YES AllowGroups=root,sys"])
    service = prepare(c, NAMES, "slurmctld")
    c.start()
    c.run("scontrol reconfigure").ok()  # names are looked up again
    (c.work / "job.sh").write_text(script + "\n")
    service.on("hang-users")
    submit = f"for i in $(seq {count}); do sbatch -v --parsable -H job.sh >>out 2>>err & done; wait"
    with c.popen(["bash", "-c", f"cd {c.work}; {submit}"]) as commands:
        eventually(lambda: re.search(rf"\b{limit} requests of uid \d+ wait for the name service", (c.work / "err").read_text()), "a refusal")
        assert c.run("squeue -h").ok() == ""
        service.off("hang-users")
        assert commands.wait(timeout=DEADLINE) == 0
    jobs = (c.work / "out").read_text().split()
    assert len(set(jobs)) == count
    assert sorted(c.run("squeue -h -o %A").ok().split()) == sorted(jobs)


def test_remembered_names_are_looked_up_again_after_group_update_time(make_cluster):
    """slurm.conf(5), GroupUpdateTime: entries in slurmctld's cache are looked up again; until then the old one is used."""
    c = make_cluster(nodes=1, start=False, conf="GroupUpdateTime=1", partitions=["PartitionName=main Nodes=ALL Default=YES AllowGroups=root,sys"])
    service = prepare(c, NAMES, "slurmctld")
    c.start()
    c.sbatch("-H", wrap="true")
    service.on("hang-users")

    def is_asked():
        c.sbatch("-H", wrap="true")
        return service.is_on("asked")

    eventually(is_asked, "the name service is asked again")
    service.off("hang-users")


def test_failing_user_names_are_reported(make_cluster):
    """C5: the name service reports an error: the caller gets it, and nothing else is affected."""
    c = make_cluster(nodes=1, start=False, partitions=["PartitionName=main Nodes=ALL Default=YES AllowGroups=root,sys"])
    service = prepare(c, NAMES, "slurmctld")
    c.start()
    service.on("gone")
    job = c.sbatch("-o", "/dev/null", wrap="true")  # root is let in by what it is, not by its name
    assert c.wait(job)["JobState"] == "COMPLETED"
    service.off("gone")
    c.run("scontrol reconfigure").ok()
    assert c.job(c.sbatch("-o", "/dev/null", wrap="true"))["UserId"].startswith(("root(0)", f"{os.environ.get('USER', '')}("))


# --- names of hosts -------------------------------------------------------------------------------------------------

def test_hanging_host_names_do_not_delay_a_takeover(make_cluster):
    """C5: a backup that takes over contacts its nodes while their names cannot be resolved: it serves requests nevertheless."""
    c = make_cluster(nodes=4, start=False, conf="SlurmctldHost=backup(127.0.0.2)\nSlurmctldTimeout=2")
    service = prepare(c, NAMES, "slurmctld", "backup")
    service.on("hosts", named(c))
    c.start_controller(wait=False)
    eventually(lambda: "leads: took over" in c.tail("slurmctld", 1000), "the primary leads")
    c.spawn("backup", [PREFIX / "sbin/slurmctld", "-D", "--as", "backup", "-L", c.dir / "backup.log"])
    for node in c.names:
        c.start_node(node)
    c.wait_ready()
    runs = c.sbatch("-o", "/dev/null", wrap=gated(c, "go"))
    eventually(lambda: c.state(runs) == "RUNNING", "a job")
    service.on("hang-hosts")
    c.kill("slurmctld")
    eventually(lambda: c.run("squeue -h").returncode == 0, "the backup leads")
    eventually(lambda: service.is_on("asked"), "a question")
    answers(c, runs)
    c.wait_ready(("idle", "mix"))  # the nodes have found it by themselves
    kept = c.sbatch("-H", "-o", "/dev/null", wrap="true")  # what is acknowledged is on disk
    assert c.wait(c.sbatch("-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"
    (c.work / "go").touch()
    assert c.wait(runs)["ExitCode"] == "3:0"
    service.off("hang-hosts")
    c.kill("backup", signal.SIGTERM)
    c.start_controller(wait=False)
    eventually(lambda: c.run("squeue -h").returncode == 0, "the primary leads")
    assert c.state(kept) == "PENDING"


def test_hanging_controller_name_delays_the_registration_only(make_cluster):
    """C5: a node daemon that cannot resolve its controller serves commands on its host; it registers later."""
    c = make_cluster(nodes=2, start=False)
    c.conf_file.write_text(c.conf_file.read_text().replace("SlurmctldHost=localhost(127.0.0.1)", "SlurmctldHost=localhost(ctl.test)"))
    service = prepare(c, NAMES, "slurmctld", *c.names)
    service.on("hosts", "ctl.test 127.0.0.1\n")
    c.start()
    runs = c.sbatch("-w", "n1", "-o", "/dev/null", wrap=f"touch {c.work}/up; " + gated(c, "go"))
    eventually((c.work / "up").exists, "a job")
    for fault in ("hang-hosts", "gone"):
        c.kill("n1")
        c.kill("n2")
        service.on(fault)
        c.start_node("n1")
        if fault == "hang-hosts":
            eventually(lambda: service.is_on("asked"), "a question")
        # It knows what runs here, and tells those of its host.
        eventually(lambda: c.run("scontrol listpids").stdout.count(f" {runs} "), "the job's processes")
        service.off(fault)
        c.start_node("n2")
        c.wait_ready(("idle", "mix"))
        assert c.state(runs) == "RUNNING"
    (c.work / "go").touch()
    assert c.wait(runs)["ExitCode"] == "3:0"


@pytest.mark.slow
def test_address_of_a_node_changes():
    """C5: a node gets another address, and the name service says so a little later: its job runs on, and all find it."""
    with many(Hosts) as make:
        c = make(nodes=2, conf="SlurmdTimeout=60")
        where = c.dir / "first"
        for host in ("ctl", "n1", "n2"):
            c.preload[host] = library(where, NAMES)
            file = c.dir / f"{host}.conf"
            file.write_text(file.read_text().replace(f"NodeAddr={ADDRESS}10 ", "NodeAddr=n1.test "))
        service = Switch(where)
        service.on("hosts", f"n1.test {ADDRESS}10\n")
        c.start()
        runs = c.sbatch("-w", "n1", "-o", "/dev/null", wrap=gated(c, "go"))
        eventually(lambda: c.state(runs) == "RUNNING", "a job")
        assert c.run("srun -w n1 echo here").ok() == "here"
        for number in range(100, 100 + amount(1, 20)):
            now = number - 1 if number > 100 else 10
            c.ip("n1", f"addr del {ADDRESS}{now}/24 dev eth0")
            c.ip("n1", f"addr add {ADDRESS}{number}/24 dev eth0")
            service.on("hosts", f"n1.test {ADDRESS}{number}\n")
            assert c.wait(c.sbatch("-w", "n1", "-o", "/dev/null", wrap="true"), 120)["JobState"] == "COMPLETED"
            assert c.run("srun -w n1 echo here", timeout=120).ok() == "here"
            assert c.run("srun -w n1 echo there", host="n2", timeout=120).ok() == "there"
        assert c.state(runs) == "RUNNING"
        (c.work / "go").touch()
        assert c.wait(runs)["ExitCode"] == "3:0"


# --- the disk -------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_long_sync_delays_no_query(make_cluster):
    """D3: while a sync is under way questions are answered, and nothing is acknowledged; none is lost, whatever happens then."""
    c = make_cluster(nodes=2, start=False)
    disk = prepare(c, SYNC, "slurmctld")
    c.start()
    for killed in (False, True) * amount(1, 10):
        done = c.work / f"go{killed}"
        done.unlink(missing_ok=True)
        runs = c.sbatch("-o", "/dev/null", wrap=gated(c, done.name))
        eventually(lambda: c.state(runs) == "RUNNING", "a job")
        disk.on("hang")
        with contextlib.ExitStack() as processes:
            submit = ["sbatch", "--parsable", "-H", "-o", "/dev/null", "--wrap=true"]
            waiting = [processes.enter_context(c.popen(submit)) for _ in range(4)]
            eventually(lambda: disk.is_on("syncing"), "a sync")
            for _ in range(20):
                answers(c, runs)
            assert disk.is_on("syncing") and all(p.poll() is None for p in waiting)
            if killed:
                c.kill("slurmctld")
            disk.off("hang")
            if killed:
                c.start_controller()
            out = [p.communicate(timeout=DEADLINE) for p in waiting]  # who was not answered asks again
        assert [p.returncode for p in waiting] == [0] * 4, out
        jobs = [int(text) for text, _ in out]
        assert len(set(jobs)) == 4
        assert sorted(map(int, c.run("squeue -h -t PENDING -o %A").ok().split())) == sorted(jobs)
        done.touch()
        assert c.wait(runs)["ExitCode"] == "3:0"
        c.run(["scancel", *map(str, jobs)]).ok()


def query(c):
    """How long it took, in seconds."""
    began = time.monotonic()
    c.run("squeue -h").ok()
    return time.monotonic() - began


def submit(c, over, acknowledged, failures):
    """Until it is over, or until four were acknowledged and it is not the soak."""
    pick = random.Random(SEED)
    for number in itertools.count():
        if over.is_set() or (number == 4 and not SOAK):
            return
        done = c.run(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", ledger_wrap(c, pick.choice(["0", "1"]))])
        (acknowledged if done.returncode == 0 else failures).append(done.stdout.strip() or done.stderr)


@figures.figure
@pytest.mark.slow
def test_slow_syncs_delay_no_query(make_cluster):
    """D3: each sync takes 0.2 to 0.5 s, longer where commands are slow (in the soak ten minutes of 1 to 5 s): submissions wait and none is lost, and
    queries are answered during the syncs."""
    c = make_cluster(nodes=4, start=False)
    disk = prepare(c, SYNC, "slurmctld")
    c.start()
    (c.work / "ledger").touch()
    least = max(200, int(3000 * max(query(c) for _ in range(3))))  # ms
    disk.on("slow", "1000 5000" if SOAK else f"{least} {2 * least + 100}")
    over, acknowledged, failures, times, within = threading.Event(), [], [], [], 0
    loops = [threading.Thread(target=submit, args=(c, over, acknowledged, failures)) for _ in range(4)]
    for loop in loops:
        loop.start()
    end = time.monotonic() + amount(60, 600)
    while any(loop.is_alive() for loop in loops) and time.monotonic() < end:
        before = disk.made("syncing")
        times.append(query(c))
        within += before is not None and before == disk.made("syncing")  # the same sync before and after
    over.set()
    for loop in loops:
        loop.join()
    disk.off("slow")
    assert not failures
    assert len(acknowledged) == len(set(acknowledged)) and within > 0
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue", 600)
    check_ledger(c, [int(job) for job in acknowledged])
    print(f"{len(acknowledged)} submissions, {len(times)} queries")
    figures.report("D3", "99 in 100 queries during syncs of seconds", figures.percentile(times), 0.1)
