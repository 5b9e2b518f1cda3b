# SPDX-License-Identifier: GPL-3.0-or-later
"""Many requests and many connections of one user: the others are served."""
import os
import pathlib
import pwd
import re
import subprocess
import sys
import time

import pytest

import figures
from harness import PREFIX, ROOT, amount, eventually

ME = pwd.getpwuid(os.geteuid()).pw_name
FLOODER, OTHER = ("nobody", "daemon") if ROOT else (ME, ME)
REFUSED = "Too many requests of this user in a short time: waiting, then asking again"
LIMIT = "SlurmctldParameters=rl_enable,rl_bucket_size=5,rl_refill_rate=5,rl_refill_period=1"
CONNECTIONS = amount(1000, 10000)

needs_users = pytest.mark.skipif(not ROOT, reason="needs several users, and one who is not limited")


def flood(c, command, count, user=FLOODER):
    """So many times one after the other, as one process."""
    loop = f"for i in $(seq {count}); do {command} || exit 1; done"
    return c.popen(["sh", "-c", loop], user=user)


@pytest.mark.slow
@needs_users
def test_flood_of_one_user_does_not_affect_others(make_cluster):
    c = make_cluster(nodes=1, conf=LIMIT)
    floods = [flood(c, "squeue -v", 10) for _ in range(4)]
    said = c.run(["sh", "-c", "squeue -v && squeue -v && squeue -v"], user=OTHER)
    assert said.returncode == 0 and REFUSED not in said.stderr
    for _ in range(12):  # root is not counted
        assert REFUSED not in c.run("squeue -v").stderr
    refused = 0
    for p in floods:
        _, err = p.communicate(timeout=120)
        assert p.returncode == 0, err
        refused += err.count(REFUSED)
    assert refused > 0
    assert "Too many requests of this user" in (c.dir / "slurmctld.log").read_text()


def test_many_listings_do_not_delay_submissions(make_cluster):
    """CORE-110: a hundred concurrent listings are complete, and submissions continue at the same time."""
    c = make_cluster(nodes=1)
    held = [c.sbatch("-H", "-o", "/dev/null", wrap="true") for _ in range(20)]
    asking = [c.popen("squeue -h -o %i") for _ in range(100)]
    ids = [c.sbatch("-o", "/dev/null", wrap="true") for _ in range(20)]
    for p in asking:
        out, err = p.communicate(timeout=120)
        assert (p.returncode, err) == (0, "")
        assert set(held) <= set(map(int, out.split()))
    for job in ids:
        assert c.wait(job)["JobState"] == "COMPLETED"


@needs_users
def test_rate_limited_commands_wait_and_act_once(make_cluster):
    c = make_cluster(nodes=1, cpus=40, conf=LIMIT)
    floods = [flood(c, "sbatch --parsable -o /dev/null --wrap true", 6) for _ in range(3)]
    runs = [flood(c, "srun -Q true", 3) for _ in range(2)]
    ids = []
    for p in floods + runs:
        out, err = p.communicate(timeout=120)
        assert (p.returncode, err) == (0, ""), err
        ids += [int(line) for line in out.split()]
    assert len(ids) == 18 and len(set(ids)) == 18
    for job in ids:
        assert c.wait(job)["JobState"] == "COMPLETED"
    assert "Too many requests of this user" in (c.dir / "slurmctld.log").read_text()


@needs_users
def test_verbose_srun_and_salloc_report_rate_limits(make_cluster):
    c = make_cluster(nodes=1, conf=LIMIT.replace("size=5", "size=1"))
    for name in ("srun", "salloc"):
        said = c.run([name, "-v", "true"], user=FLOODER)
        assert said.returncode == 0 and f"{name}: {REFUSED}" in said.stderr, said.stderr


@needs_users
def test_rate_limit_is_changed_by_reconfiguration(make_cluster):
    limit = LIMIT.replace("rate=5", "rate=1")
    c = make_cluster(nodes=1, conf=limit)
    text = c.conf_file.read_text()
    p = flood(c, "squeue -v", 8)
    _, err = p.communicate(timeout=120)
    assert p.returncode == 0 and REFUSED in err
    c.conf_file.write_text(text.replace("rl_enable", "rl_bucket_size=none"))
    failed = c.run("scontrol reconfigure")
    assert failed.returncode != 0 and "rl_bucket_size=none" in failed.stderr, failed.stderr
    c.conf_file.write_text(text.replace(limit, ""))
    c.run("scontrol reconfigure").ok()
    p = flood(c, "squeue -v", 20)
    _, err = p.communicate(timeout=120)
    assert p.returncode == 0 and REFUSED not in err


HOLDER = """
import resource, socket, sys, time
count, local, port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
for i in range(count):
    s = socket.socket(socket.AF_UNIX if i % 2 else socket.AF_INET)
    try:
        s.connect(local if i % 2 else ("127.0.0.1", port))
        if i % 3 == 0:
            s.send(b"SL")  # the beginning of something
    except OSError:  # refused, or closed again: those are too many
        s.close()
        continue
    held.append(s)
print(len(held), flush=True)
sys.stdin.read()
"""


IDLE = """
import socket, sys
held = []
for i in range(int(sys.argv[1])):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[2])
    held.append(s)
print(len(held), flush=True)
sys.stdin.read()
s = held[0]
s.setblocking(False)
print("closed" if s.recv(1) == b"" else "open", flush=True)
"""


@needs_users
def test_new_connections_of_a_user_replace_idle_ones(make_cluster):
    """A user at the connection limit: each further connection closes the oldest one of this user, and none of another user."""
    c = make_cluster(nodes=1, start=False)
    c.spawn("slurmctld", ["prlimit", "--nofile=1000:1000", PREFIX / "sbin/slurmctld", "-D"])
    c.start_node("n1")
    c.wait_ready()
    many, one = [c.popen([sys.executable, "-c", IDLE, count, c.dir / "run/slurmctld"], user=user, stdin=subprocess.PIPE)
                 for count, user in ((300, FLOODER), (1, OTHER))]
    for p in (many, one):
        assert p.stdout.readline().strip() in ("300", "1")
    for _ in range(3):
        done = c.run("squeue", user=FLOODER)
        assert (done.returncode, done.stderr) == (0, "")
    assert "it was idle longest" in (c.dir / "slurmctld.log").read_text()
    out, err = many.communicate("", timeout=60)
    assert "closed" in out, err
    out, err = one.communicate("", timeout=60)
    assert "BlockingIOError" in err and "closed" not in out  # still open


def memory_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


@figures.figure
def test_thousands_of_connections_do_no_harm(make_cluster):
    """H1: 1,000 connections here, 10,000 for ten minutes in the soak, half of them over TCP, idle or with an incomplete frame."""
    c = make_cluster(nodes=1)
    pid = c.daemons["slurmctld"].pid
    descriptors = pathlib.Path(f"/proc/{pid}/fd")
    before, before_kib = len(list(descriptors.iterdir())), memory_kib(pid)
    holders = [c.popen([sys.executable, "-c", HOLDER, CONNECTIONS // 4, c.dir / "run/slurmctld", c.port], user=FLOODER,
                       stdin=subprocess.PIPE) for _ in range(4)]
    for h in holders:
        assert int(h.stdout.readline()) > 0
    assert len(list(descriptors.iterdir())) > before
    assert memory_kib(pid) - before_kib < 64 * 1024
    took, end = [], time.monotonic() + amount(0, 600)
    while not took or time.monotonic() < end:
        began = time.monotonic()
        c.run("squeue", user=OTHER).ok()
        took.append(time.monotonic() - began)
    print(f"{len(took)} queries; {len(list(descriptors.iterdir())) - before} connections are open")
    figures.report("H1", f"99 in 100 queries beside {CONNECTIONS} idle connections", figures.percentile(took), 0.25)
    assert memory_kib(pid) - before_kib < 64 * 1024
    job = c.sbatch("-o", "/dev/null", wrap="true", user=OTHER)
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert c.run("srun true", user=OTHER).returncode == 0
    for h in holders:
        h.communicate("", timeout=60)
        assert h.returncode == 0
    eventually(lambda: len(list(descriptors.iterdir())) <= before + 8, "all of them closed")


UNREAD = """
import resource, socket, struct, sys
path, kind, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

def frame(rpc, body, k):
    return struct.pack("<4sHHHHIQ", b"SLUI", 1, rpc, 0, 0, len(body), k) + body

body, rpc, count = {"script": (bytes([8]) + varint(number), 20, 8), "list": (b"\\x30\\x01", 10, 64),
                    "mint": (b"\\x0a\\x20" + bytes(32) + b"\\x12\\x01a" * 10000, 61, 4)}[kind]
held = []
for i in range(300):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.setblocking(False)
    try:
        s.sendall(b"".join(frame(rpc, body, k) for k in range(1, count + 1)))
    except OSError:  # it is not asked for more
        pass
    held.append(s)
print(len(held), flush=True)
sys.stdin.read()
"""


@pytest.mark.allocator  # measures memory
@needs_users
@pytest.mark.parametrize("kind, daemon", [("script", "slurmctld"), ("list", "slurmctld"), ("mint", "slurmctld"), ("mint", "slurmd-n1")])
def test_unread_replies_use_bounded_memory(make_cluster, kind, daemon):
    """Security 4 and 5: a user who requests large replies and reads none costs the daemon a bounded amount of memory and time."""
    c = make_cluster(nodes=1)
    script = c.work / "large"
    script.write_text("#!/bin/sh\n#" + "x" * 4000000)
    job = c.sbatch("-H", "-o", "/dev/null", script, user=FLOODER) if kind == "script" else 0
    for _ in range(60 if kind == "list" else 0):
        c.sbatch("-H", "-o", "/dev/null", "--comment", "c" * 30000, "--extra", "e" * 30000, wrap="true", user=FLOODER)
    pid = c.daemons["n1" if daemon == "slurmd-n1" else "slurmctld"].pid
    before_kib = memory_kib(pid)
    p = c.popen([sys.executable, "-c", UNREAD, c.dir / "run" / daemon, kind, job], user=FLOODER, stdin=subprocess.PIPE)
    assert int(p.stdout.readline()) == 300
    for user in (OTHER, None):
        assert c.run("srun true" if daemon == "slurmd-n1" else "squeue", user=user).returncode == 0
    assert memory_kib(pid) - before_kib < 256 * 1024
    p.communicate("", timeout=60)
