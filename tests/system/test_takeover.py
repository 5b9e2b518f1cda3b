# SPDX-License-Identifier: GPL-3.0-or-later
"""Two controllers on one machine, 127.0.0.1 and 127.0.0.2: CORE-006, 044, 163-169, 232; RELIABILITY K1, K2, K4.

With SQLite the lock of StateSaveLocation is the fence: a hanging controller keeps it, and no other one takes over. With PostgreSQL it is
the epoch in the database: a hanging controller loses the lead as soon as another one takes it, and must detect this before it sends anything."""
import contextlib
import http.client
import os
import pathlib
import pwd
import random
import re
import signal
import socket
import struct
import threading
import time

import pytest

import figures
import test_ctldprolog
from harness import DEADLINE, PREFIX, ROOT, SANITIZED, alive, check_ledger, eventually, ledger_wrap

TIMEOUT = 2  # SlurmctldTimeout
SWITCHES = int(os.environ.get("SLUICE_SWITCHES", "5"))  # tools/soak asks for more
LOADED = 10 if SANITIZED else 4  # seconds a machine under load may add


class Pair:
    """A cluster with a backup controller."""

    def __init__(self, make_cluster, conf="", timeout=TIMEOUT, user=None, script=None, **options):
        self.c = make_cluster(conf=f"SlurmctldHost=backup(127.0.0.2)\nSlurmctldTimeout={timeout}\n{conf}", start=False,
                              **options)
        if user:
            text = re.sub("^SlurmUser=.*$", f"SlurmUser={user}", self.c.conf_file.read_text(), flags=re.M)
            self.c.conf_file.write_text(text)
            os.chown(self.c.dir / "slurm.key", pwd.getpwnam(user).pw_uid, 0)
        if script:
            path = self.c.dir / "script.py"
            path.write_text(script)
            path.chmod(0o755)
            with self.c.conf_file.open("a") as f:
                f.write(f"PrologSlurmctld={path}\nEpilogSlurmctld={path}\n")
        self.backup = "backup"
        self.c.start_controller(wait=False)
        self.start_backup()
        for node in self.c.names:
            self.c.start_node(node)
        self.c.wait_ready()
        self.leads("localhost")

    def start_primary(self):
        self.begins("slurmctld", lambda: self.c.start_controller(wait=False))

    def start_backup(self):
        self.begins(self.backup, lambda: self.c.spawn(
            self.backup, [PREFIX / "sbin/slurmctld", "-D", "--as", self.backup, "-L", self.c.dir / f"{self.backup}.log"]))

    def begins(self, name, start):
        before = self.log(name).count("begins in standby")
        start()
        eventually(lambda: self.log(name).count("begins in standby") > before, f"{name} begins\n" + self.c.tail(name))

    def primary_alone(self):
        """The environment of commands that know of no other controller."""
        conf = self.c.dir / "alone.conf"
        conf.write_text(self.c.conf_file.read_text().replace("SlurmctldHost=backup(127.0.0.2)\n", "MessageTimeout=3\n"))
        return {"SLURM_CONF": str(conf)}

    def log(self, name):
        file = self.c.dir / f"{name}.log"
        return file.read_text() if file.exists() else ""

    def last_words(self):
        """Of each controller that runs: "leads", "waits", or "yields"."""
        words = {"leads: took over": "leads", "begins in standby": "waits", "going back to standby": "yields"}
        said = {}
        for daemon, name in (("slurmctld", "localhost"), (self.backup, self.backup)):
            if daemon in self.c.daemons:
                lines = re.findall("|".join(words), self.log(daemon))
                said[name] = words[lines[-1]] if lines else ""
        return said

    def leads(self, name):
        """Until that controller leads, and the other one, if it runs, is in standby."""
        try:
            eventually(lambda: all(word == ("leads" if who == name else "waits") for who, word in self.last_words().items())
                       and self.last_words(), f"{name} leads")
            eventually(lambda: self.c.run("scontrol ping").stdout.count("UP") == len(self.last_words()), "all of them answer")
        except AssertionError as late:
            raise AssertionError(f"{late}\n" + self.c.tail("slurmctld") + self.c.tail(self.backup)) from None


@pytest.fixture
def make_pair(make_cluster):
    return lambda **options: Pair(make_cluster, **options)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    """Lines of slurm.conf. To be asked for before make_pair: the server ends last."""
    return "" if request.param == "sqlite" else f"StateSaveStore={request.getfixturevalue('server').url}\n"


def socket_queue(path):
    """How many connections to a local socket have not been accepted. It was bound as PATH~, and renamed."""
    lines = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()]
    return sum(line[-1] == f"{path}~" and line[5] == "02" for line in lines)  # 02: connecting


class Impostor:
    """Any user may listen where a controller is down. This one sends each caller the reply that the caller expects."""

    def __init__(self, address):
        self.heard = []
        self.socket = socket.create_server(address)
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        """A PING is answered with 'I am the primary', a SUBMIT with a job id."""
        answers = {1: b"\x0a\x09localhost\x10\x01", 2: b"\x08\x92\x9d\x1a"}
        with contextlib.suppress(OSError, struct.error), connection, connection.makefile("rb") as stream:
            while True:
                _, _, rpc, flags, token, length, number = struct.unpack("<4sHHHHIQ", stream.read(24))
                stream.read(token + length)
                self.heard.append(rpc)
                body = os.urandom(length) if flags else answers.get(rpc, b"")
                connection.sendall(struct.pack("<4sHHHHIQ", b"SLUI", 1, rpc, flags | 1, 0, len(body), number) + body)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Load:
    """Submits without pause until it is stopped; records the acknowledged jobs and the duration of each submission."""

    def __init__(self, cluster, loops=2):
        self.c, self.over = cluster, threading.Event()
        self.acknowledged, self.failures, self.slowest = [], [], 0.0
        self.threads = [threading.Thread(target=self.loop) for _ in range(loops)]
        for t in self.threads:
            t.start()

    def loop(self):
        while not self.over.is_set():
            began = time.monotonic()
            done = self.c.run(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", ledger_wrap(self.c)])
            self.slowest = max(self.slowest, time.monotonic() - began)
            if done.returncode:
                self.failures.append(done.stderr)
            else:
                self.acknowledged.append(int(done.stdout))

    def more(self, count=5):
        want = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= want, f"{count} more submissions: {self.failures[-3:]}")

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join(DEADLINE)
        return self.acknowledged


def finish(pair, load):
    """Everything acknowledged has run once."""
    c = pair.c
    acknowledged = load.stop()
    assert not load.failures, load.failures
    assert len(set(acknowledged)) == len(acknowledged)
    c.wait_ready()
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue", 120)
    check_ledger(c, acknowledged)


def test_standby_answers_and_leaves_the_lead(make_pair):
    """CORE-044, 163: both answer, one leads; the backup's own files."""
    p = make_pair(nodes=1, conf="MetricsType=metrics/openmetrics\n")
    c = p.c
    assert c.run("scontrol ping").ok().splitlines() == ["Slurmctld(primary) at localhost is UP",
                                                       "Slurmctld(backup) at backup is UP", "Leader: localhost"]
    assert {"slurmctld", "slurmctld-1"} <= set(os.listdir(c.dir / "run"))
    assert int((c.dir / "slurmctld-backup.pid").read_text()) == c.daemons["backup"].pid
    assert int((c.dir / "slurmctld.pid").read_text()) == c.daemons["slurmctld"].pid
    # Metrics are the leader's; a monitoring system is sent to the first controller.
    connection = http.client.HTTPConnection("127.0.0.2", c.port, timeout=30)
    connection.request("GET", "/metrics/jobs?x=1")
    answer = connection.getresponse()
    assert answer.status == 303 and answer.headers["Location"] == f"http://127.0.0.1:{c.port}/metrics/jobs?x=1" and answer.read() == b"See Other\n"
    connection.request("GET", "/readyz")
    answer = connection.getresponse()
    assert answer.status == 503 and answer.read() == b"slurmctld is not ready: it is in standby\n"
    # An order that makes no sense, or comes from a user.
    c.run("scontrol takeover 2").fails("invalid backup controller index:2")
    c.run("scontrol takeover x").fails("invalid backup controller index:x")
    if ROOT:
        c.run("scontrol takeover", user="nobody").fails("Access/permission denied")
    c.run("scontrol takeover 0").ok()  # it leads already
    # The last one stops all.
    c.run("scontrol shutdown slurmctld").ok()
    for name in ("slurmctld", "backup"):
        assert c.daemons.pop(name).wait(DEADLINE) == 0


def test_as_option_selects_the_controller(make_cluster):
    c = make_cluster(nodes=1, conf="SlurmctldHost=backup(127.0.0.2)", start=False)
    slurmctld = str(PREFIX / "sbin/slurmctld")
    c.run([slurmctld, "--check", "--as", "backup"]).ok()
    c.run([slurmctld, "-D", "--as", "third"]).fails("no such SlurmctldHost", "localhost, backup")
    c.run([slurmctld, "-D", "-c", "--as", "backup"]).fails("-c: a backup", "start localhost")


def test_signals_during_a_restart_are_kept(make_pair):
    """No signal ends a controller that gives back the lead, and none is lost."""
    p = make_pair(nodes=1)
    c, primary, over = p.c, p.c.daemons["slurmctld"], threading.Event()

    def storm():
        while not over.wait(0.0005):
            primary.send_signal(signal.SIGUSR2)
    thread = threading.Thread(target=storm)
    thread.start()
    try:
        c.run("scontrol takeover 1").ok()
        p.leads("backup")
    finally:
        over.set()
        thread.join()
    c.run("scontrol takeover 0").ok()
    p.leads("localhost")
    c.run("scontrol takeover 1").ok()
    primary.send_signal(signal.SIGTERM)
    assert primary.wait() == 0
    del c.daemons["slurmctld"]


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_controller_restarts_as_slurmuser(make_pair):
    """A controller that gives back the lead restarts as SlurmUser, who cannot do all that root did at the first start."""
    p = make_pair(nodes=1, user="daemon")
    c = p.c
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    for index, leader in ((1, "backup"), (0, "localhost"), (1, "backup")):
        c.run(f"scontrol takeover {index}").ok()
        p.leads(leader)
    assert c.state(job) == "RUNNING"
    text = c.conf_file.read_text()
    c.conf_file.write_text(text.replace("KillWait=1", "KillWait=2"))
    c.run("scontrol reconfigure").ok()
    eventually(lambda: p.log("slurmctld").count("begins in standby") == 4, "the primary has read it too")
    p.leads("backup")
    c.conf_file.chmod(0o600)
    c.kill("slurmctld")
    c.run([PREFIX / "sbin/slurmctld", "-D"]).fails("slurm.conf", "SlurmUser must be able to read")
    c.conf_file.chmod(0o644)
    c.kill("backup", signal.SIGTERM)
    p.start_primary()
    p.leads("localhost")


@figures.figure
@pytest.mark.trials(25)
def test_backup_leads_after_a_killed_primary(store, make_pair, pick):
    """CORE-006, 164, 165, 168, K1: submissions and an srun go on."""
    p = make_pair(nodes=2, conf=store)
    c = p.c
    gate = c.work / "gate"
    srun = c.popen(["srun", "-N2", "sh", "-c", f"echo up; while [ ! -e {gate} ]; do sleep 0.02; done; echo over"])
    assert srun.stdout.readline() == "up\n"
    batch = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {gate} ]; do sleep 0.02; done; exit 5")
    eventually(lambda: c.state(batch) == "RUNNING", "running")
    load = Load(c)
    load.more(pick.randrange(1, 20))
    c.kill("slurmctld")
    began = time.monotonic()
    p.leads("backup")
    load.more(1)
    took = time.monotonic() - began
    figures.report("K1", f"submissions after a leader was killed, SlurmctldTimeout {TIMEOUT} s", took, TIMEOUT + 0.5)
    assert took < TIMEOUT + 0.5 + LOADED
    load.more()
    assert c.state(batch) == "RUNNING"
    assert c.run("scontrol ping").ok().splitlines() == ["Slurmctld(primary) at localhost is DOWN",
                                                        "Slurmctld(backup) at backup is UP", "Leader: backup"]
    gate.touch()  # jobs end under the other controller
    out, err = srun.communicate(timeout=DEADLINE)
    assert srun.returncode == 0 and out.count("over") == 2, err
    fields = c.wait(batch)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "5:0")
    finish(p, load)
    # CORE-166, 167: it returns, and the backup yields.
    p.start_primary()
    p.leads("localhost")
    assert c.daemons["backup"].poll() is None
    after = c.sbatch("-o", "/dev/null", wrap="true")
    assert after > max(load.acknowledged) and c.wait(after)["JobState"] == "COMPLETED"


def test_ends_of_jobs_without_a_leader_are_recorded(make_pair):
    """CORE-165: the ends of jobs while no controller leads are recorded."""
    p = make_pair(nodes=2)
    c = p.c
    gate = c.work / "gate"
    job = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {gate} ]; do sleep 0.02; done; exit 6")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    c.kill("slurmctld")
    gate.touch()
    p.leads("backup")
    fields = c.wait(job)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", "6:0")
    p.start_primary()
    p.leads("localhost")


def test_an_announced_shutdown_stays_announced(make_pair):
    """CORE-158: the primary acknowledged it, and the backup carries it out; then both have completed it."""
    p = make_pair(nodes=1, conf="KillWait=1", timeout=1)
    c = p.c
    job = c.sbatch("-o", "/dev/null", "--requeue", wrap=f"while [ ! -e {c.work}/go ]; do sleep 0.1; done")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    c.run("scontrol shutdown announce 0:04").ok()
    c.kill("slurmctld")
    p.leads("backup")
    for name in ("backup", "n1"):
        assert c.daemons.pop(name).wait(60) == 0, c.tail(name)
    (c.work / "go").touch()
    p.start_primary()
    p.start_backup()
    c.start_node("n1")
    p.leads("localhost")
    fields = c.wait(job)
    assert (fields["JobState"], fields["Restarts"]) == ("COMPLETED", "1")


@figures.figure
@pytest.mark.slow
def test_switches_under_load(store, make_pair):
    """CORE-167, K4: the lead changes again and again, by death, return and order; no submission fails."""
    p = make_pair(nodes=3, timeout=1, conf=f"MaxJobCount=100000\n{store}")
    c = p.c
    pick = random.Random(int(os.environ.get("SLUICE_SEED", "11")))
    load = Load(c)
    leader = "localhost"
    for _ in range(SWITCHES):
        load.more(pick.randrange(1, 8))
        ways = ["kill", "order"] if leader == "localhost" else ["kill", "order", "return"]
        way = pick.choice(ways)
        daemon = "slurmctld" if leader == "localhost" else "backup"
        other = "backup" if leader == "localhost" else "localhost"
        if way == "kill":
            c.kill(daemon)
        elif way == "order":
            c.run(f"scontrol takeover {1 if other == 'backup' else 0}").ok()
        else:
            c.kill("slurmctld", signal.SIGTERM)
            p.start_primary()
        p.leads(other)
        leader = other
        load.more(1)
        if way == "kill":
            p.start_primary() if daemon == "slurmctld" else p.start_backup()
            leader = "localhost" if daemon == "slurmctld" else leader
            p.leads(leader)
    finish(p, load)
    figures.report("K4", f"the slowest of {len(load.acknowledged)} submissions while the lead changes", load.slowest, 5)
    assert load.slowest < 5 + LOADED


@pytest.mark.slow
def test_jobs_survive_both_controllers_down(make_pair):
    """CORE-168."""
    p = make_pair(nodes=1, conf="MessageTimeout=4", timeout=60)  # nobody takes over by himself
    c = p.c
    c.kill("backup")
    assert c.run("squeue -h").ok() == ""
    c.kill("slurmctld")
    began = time.monotonic()
    said = c.run("squeue").fails("Unable to contact slurm controller", f"127.0.0.1:{c.port}", f"127.0.0.2:{c.port}")
    assert time.monotonic() - began < 2 + LOADED, said
    assert c.run("scontrol ping").stdout.splitlines() == ["Slurmctld(primary) at localhost is DOWN",
                                                         "Slurmctld(backup) at backup is DOWN"]
    # With the backup alone in standby, until it leads, as long as MessageTimeout.
    p.start_backup()
    c.run("squeue").fails(f"127.0.0.2:{c.port}: Slurm backup controller in standby mode")
    c.run("scontrol takeover").ok()
    p.leads("backup")
    c.run("squeue").ok()
    p.start_primary()
    p.leads("localhost")


@pytest.mark.trials(20)
@pytest.mark.slow
def test_primary_hangs_with_the_lock(make_pair):
    """CORE-169 with a store that only its holder can let go: no takeover, and it is said why."""
    p = make_pair(nodes=1, conf="MessageTimeout=2")
    c = p.c
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    primary = c.daemons["slurmctld"]
    eventually(lambda: "controller localhost leads" in p.log("backup"), "the backup knows who leads")
    primary.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: "cannot take over" in p.log("backup"), "a word from the backup")
        why = next(line for line in p.log("backup").splitlines() if "cannot take over" in line)
        assert str(c.dir / "state") in why and f"process {primary.pid}" in why, why
        began = time.monotonic()
        c.run("squeue").fails("timed out", f"127.0.0.2:{c.port}")
        assert c.run("scontrol ping").stdout.splitlines() == ["Slurmctld(primary) at localhost is DOWN",
                                                             "Slurmctld(backup) at backup is UP"], p.log("backup")[-3000:]
        assert time.monotonic() - began < 4 + LOADED
        c.run("scontrol takeover", timeout=120).fails("cannot take over", f"process {primary.pid}")
    finally:
        primary.send_signal(signal.SIGCONT)
    eventually(lambda: c.run(f"squeue -h -j {job} -o %T").stdout == "RUNNING\n", "the primary goes on")
    assert "controller backup leads" not in p.log("backup")
    assert c.sbatch("-o", "/dev/null", wrap="true") == job + 1


@pytest.mark.trials(20)
@pytest.mark.slow
def test_returning_hung_primary_has_lost_the_lead(server, make_pair, pick):
    """CORE-169, K2: it has lost the lead, and neither writes nor answers before it has noticed."""
    p = make_pair(nodes=2, conf=f"StateSaveStore={server.url}")
    c = p.c
    primary = c.daemons["slurmctld"]
    lone = p.primary_alone()
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "running")
    assert c.run("squeue -h -o %T", env=lone).ok() == "RUNNING"
    load = Load(c)
    load.more(pick.randrange(1, 20))
    primary.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: "leads: took over" in p.log("backup"), "the backup leads")
        load.more(2)
        acknowledged = load.stop()
        assert c.run("scontrol ping").stdout.splitlines() == ["Slurmctld(primary) at localhost is DOWN",
                                                             "Slurmctld(backup) at backup is UP", "Leader: backup"]
        c.run(f"scancel {job}").ok()
        waiting = socket_queue(c.dir / "run" / "slurmctld")
        # These wait in the primary's sockets: what it says to them it says after it was continued.
        asking = [c.popen(["squeue", "-h", "-o", "%T"], env=lone),
                  c.popen(["scontrol", "show", "job", job], env=lone),
                  c.popen(["sbatch", "--parsable", "-H", "-J", "lost", "-o", "/dev/null", "--wrap=true"], env=lone),
                  c.popen(["scontrol", "update", f"JobId={job}", "JobName=lost"], env=lone)]
        eventually(lambda: socket_queue(c.dir / "run" / "slurmctld") >= waiting + len(asking), "all of them wait")
        epoch = server.sql("SELECT epoch FROM sluice_test.lead")
    finally:
        primary.send_signal(signal.SIGCONT)
    p.leads("backup")
    for command in asking:
        if command.args[0] == "sbatch":
            command.terminate()  # it would be patient
        out, err = command.communicate(timeout=DEADLINE)
        assert command.returncode != 0 and not out, (command.args, out, err)
    assert primary.poll() is None and "going back to standby, without having changed anything since" in p.log("slurmctld")
    assert server.sql("SELECT epoch FROM sluice_test.lead") == epoch
    acknowledged.append(c.sbatch("-o", "/dev/null", wrap=ledger_wrap(c)))
    assert not load.failures and len(set(acknowledged)) == len(acknowledged)
    assert "lost" not in c.run("squeue -h -t all -o %j").ok()
    assert c.wait(job)["JobState"] == "CANCELLED"
    eventually(lambda: not c.run("squeue -h").ok(), "an empty queue", 120)
    check_ledger(c, acknowledged)
    # It does not come back by itself: an order, or a new start of it.
    c.run("scontrol takeover 0").ok()
    p.leads("localhost")


@pytest.mark.slow
def test_scripts_of_a_controller_that_hangs_are_fenced(server, make_pair):
    """The PrologSlurmctld of the old leader ends before that of the new one starts; scripts in the old leader's queue never start."""
    p = make_pair(nodes=1, conf=f"StateSaveStore={server.url}", script=test_ctldprolog.SCRIPT)
    c = p.c
    c.gates = []
    test_ctldprolog.gate(c, "prolog")
    try:
        job = c.sbatch("-o", "/dev/null", wrap="true")
        test_ctldprolog.running(c, job, "prolog")
        first = test_ctldprolog.pid_of_last(c, job)
        primary = c.daemons["slurmctld"]
        primary.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: "leads: took over" in p.log("backup"), "the backup leads")
            test_ctldprolog.running(c, job, "prolog", "prolog")
            assert not alive(first)
        finally:
            primary.send_signal(signal.SIGCONT)
        p.leads("backup")
    finally:
        test_ctldprolog.go(c)
    assert c.wait(job)["JobState"] == "COMPLETED"
    eventually(lambda: [context for context, _ in test_ctldprolog.runs(c, job)] == ["prolog", "prolog", "epilog"], "the epilog ran")
    held = "scripts begin in 13 s"
    assert held in p.log("backup")
    before = p.log("slurmctld").count(held)
    c.run("scontrol takeover 0").ok()  # the other one yields: nothing is waited for
    p.leads("localhost")
    ended = c.daemons.pop("slurmctld")
    ended.send_signal(signal.SIGTERM)  # it gives the lead back: nothing is waited for either
    assert ended.wait(DEADLINE) == 0, c.tail("slurmctld")
    p.leads("backup")
    assert p.log("slurmctld").count(held) == before and p.log("backup").count(held) == 1


@pytest.mark.slow
def test_hanging_primary_obeys_an_order_to_stop(server, make_pair):
    """The primary gets the order to stop before it can notice that it lost the lead: it ends, and does not restart in standby."""
    p = make_pair(nodes=1, conf=f"StateSaveStore={server.url}", timeout=1)
    primary = p.c.daemons["slurmctld"]
    primary.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: "leads: took over" in p.log("backup"), "the backup leads")
        primary.send_signal(signal.SIGTERM)
    finally:
        primary.send_signal(signal.SIGCONT)
    assert p.c.daemons.pop("slurmctld").wait(DEADLINE) == 0, p.c.tail("slurmctld")
    assert "SIGTERM: stopping" in p.log("slurmctld") and p.log("slurmctld").count("begins in standby") == 1
    p.leads("backup")


@pytest.mark.slow
def test_hanging_primary_notices_a_takeover_without_requests(server, make_pair):
    """It notices all the same; and an order does not wait for one that hangs."""
    p = make_pair(nodes=1, conf=f"StateSaveStore={server.url}", timeout=300)
    c = p.c
    primary = c.daemons["slurmctld"]
    primary.send_signal(signal.SIGSTOP)
    try:
        c.run("scontrol takeover").ok()
        assert "leads: took over" in p.log("backup")
    finally:
        primary.send_signal(signal.SIGCONT)
    p.leads("backup")


@pytest.mark.slow
def test_hanging_primary_notices_a_takeover_at_a_query(server, make_pair):
    """Only with a query, without a change that would have to be stored."""
    p = make_pair(nodes=1, conf=f"StateSaveStore={server.url}", timeout=300)
    c = p.c
    lone = p.primary_alone()
    primary = c.daemons["slurmctld"]
    assert c.run("squeue -h", env=lone).ok() == ""
    primary.send_signal(signal.SIGSTOP)
    try:
        c.run("scontrol takeover").ok()
        waiting = socket_queue(c.dir / "run" / "slurmctld")
        asking = c.popen("squeue -h", env=lone)
        eventually(lambda: socket_queue(c.dir / "run" / "slurmctld") > waiting, "it waits")
    finally:
        primary.send_signal(signal.SIGCONT)
    asking.communicate(timeout=DEADLINE)
    assert asking.returncode != 0
    p.leads("backup")


@pytest.mark.slow
def test_unavailable_store_server_stops_replies_and_takeovers(server, make_pair):
    """No controller can know which one leads: no reply is better than an old one, and no controller takes over."""
    p = make_pair(nodes=1, conf=f"StateSaveStore={server.url}\nMessageTimeout=3")
    c = p.c
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    server.stop()
    eventually(lambda: "nothing is answered until the state can be saved" in p.log("slurmctld"), "it is noticed")
    c.run("squeue").fails("cannot save its state")
    c.run(["sbatch", "-H", "--wrap=true"]).fails("cannot save its state")
    assert c.run("scontrol ping").stdout.count("UP") == 2
    server.start()
    eventually(lambda: c.run(f"squeue -h -j {job} -o %T").stdout == "RUNNING\n", "all goes on")
    p.leads("localhost")
    assert "leads: took over" not in p.log("backup")


@pytest.mark.slow
def test_unshared_state_directory_is_detected(make_pair):
    """A backup with a directory of its own would begin with nothing: it does not."""
    p = make_pair(nodes=1)
    c = p.c
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    c.kill("backup")
    other = c.dir / "other.conf"
    other.write_text(c.conf_file.read_text().replace(f"StateSaveLocation={c.dir}/state",
                                                     f"StateSaveLocation={c.dir}/elsewhere"))
    c.spawn("backup", [PREFIX / "sbin/slurmctld", "-D", "--as", "backup", "-f", other, "-L", c.dir / "backup.log"])
    eventually(lambda: "this backup could not take over: localhost leads" in p.log("backup"), "the backup finds out")
    c.run("scontrol takeover", timeout=120).fails("localhost leads, but", "elsewhere")
    c.kill("slurmctld")
    eventually(lambda: p.log("backup").count("cannot take over"), "it does not take over")
    # Not even one that has never seen the leader.
    c.kill("backup")
    (c.dir / "backup.log").unlink()
    c.spawn("backup", [PREFIX / "sbin/slurmctld", "-D", "--as", "backup", "-f", other, "-L", c.dir / "backup.log"])
    eventually(lambda: "holds no state of cluster test" in p.log("backup"), "it does not take over")
    p.start_primary()
    p.leads("localhost")
    assert c.state(job) == "RUNNING"


def test_reconfigure_reaches_the_backup(make_pair):
    """CORE-196, 232: the backup is moved by a change of the configuration."""
    p = make_pair(nodes=1)
    c = p.c
    text = c.conf_file.read_text()
    c.conf_file.write_text(text.replace("SlurmctldHost=backup(127.0.0.2)", "SlurmctldHost=third(127.0.0.3)"))
    job = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    c.run("scontrol reconfigure").ok()
    c.kill("backup", signal.SIGTERM)
    p.backup = "third"
    p.start_backup()
    eventually(lambda: "DOWN" not in c.run("scontrol ping").ok(), "both answer")
    c.conf_file.write_text(c.conf_file.read_text().replace("KillWait=1", "KillWait=2"))
    c.run("scontrol reconfigure").ok()
    log = c.dir / "third.log"
    eventually(lambda: "restarting with the current configuration" in log.read_text(), "third reads it too")
    eventually(lambda: "DOWN" not in c.run("scontrol ping").ok(), "both answer")
    c.kill("slurmctld")
    eventually(lambda: "controller third leads" in log.read_text(), "third leads")
    eventually(lambda: c.node("n1")["State"] in ("MIXED", "ALLOCATED"), "the node has found it")
    assert c.state(job) == "RUNNING" and "KillWait                = 2 sec" in c.run("scontrol show config").ok()
    p.start_primary()
    p.leads("localhost")


@pytest.mark.parametrize("way", ["local socket", "TCP"])
def test_changes_during_a_controller_restart_are_kept(make_pair, way):
    """CORE-232: a change that arrives while the backup ends goes to the leader. Each reconfiguration restarts the backup, and the commands contact
    it first."""
    p = make_pair(nodes=1)
    c = p.c
    first, second = "SlurmctldHost=localhost(127.0.0.1)\n", "SlurmctldHost=backup(127.0.0.2)\n"
    text = c.conf_file.read_text()
    assert first in text and second in text
    (c.dir / "backup_first.conf").write_text(second + text.replace(second, ""))
    env = {"SLURM_CONF": str(c.dir / "backup_first.conf"), "SLUICE_NO_LOCAL_SOCKET": str(int(way == "TCP"))}
    loops = [c.popen(["sh", "-c", "for i in $(seq 100); do scontrol reconfigure || exit 1; done"], env=env) for _ in range(4)]
    assert [loop.communicate()[1] for loop in loops] == [""] * 4
    assert not any(loop.returncode for loop in loops)
    assert p.log("backup").count("begins in standby") > 1
    p.leads("localhost")


def test_impostor_cannot_act_as_controller(make_pair):
    """CORE-007: a process that listens at a dead controller's port cannot prevent a takeover, and acknowledges nothing."""
    p = make_pair()
    tcp = {"SLUICE_NO_LOCAL_SOCKET": "1"}
    p.c.kill("slurmctld")
    fake = Impostor(("127.0.0.1", p.c.port))
    try:
        p.leads("backup")
        job = int(p.c.run("sbatch --parsable -o /dev/null --wrap true", env=tcp).ok())
        assert fake.heard and not any(fake.heard)  # handshakes, no request
        assert p.c.wait(job)["JobState"] == "COMPLETED"
        assert "is DOWN" in p.c.run("scontrol ping", env=tcp).stdout
        p.c.run("sbatch --wrap true", env={**tcp, **p.primary_alone()}).fails("another program listens there, or slurm.key differs")
    finally:
        fake.close()
    p.start_primary()
    p.leads("localhost")
