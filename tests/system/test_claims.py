# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims in a request about its sender and the owner of its objects: RELIABILITY G5, G12, G14. The requests and their fields come from rpc.def and
the .proto files, so a new field with an identity is tested automatically."""
import collections
import os
import pathlib
import pwd
import re
import socket
import struct
import subprocess
import sys

import pytest

import bulk
from harness import ROOT, Cluster, amount, eventually

pytestmark = pytest.mark.skipif(not ROOT, reason="needs root to become another user")
TOP = pathlib.Path(__file__).parents[2]
NOBODY = pwd.getpwnam("nobody").pw_uid
SECRET = "secret-of-root"
CLAIMS = re.compile(r"uid|gid|user|group|owner|account|job_id|node|host|restarts|epoch|admin|operator")
# Their names say something else: counts, switches, and who is to get mail.
NO_CLAIMS = re.compile(r"usec|mail_user|exclusive_user|user_hold|user_env|node_count|_nodes_min|_nodes_max|group_min|nodes_min|nodes_max|nodelist")
VARINTS = {"uint32", "uint64", "int32", "int64", "bool", "sint32", "sint64"}


def read_messages():
    """{message: [(label, type, name, number)]}"""
    text = "\n".join(file.read_text() for file in sorted((TOP / "proto").glob("*.proto")))
    found = {}
    for name, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.M | re.S):
        found[name] = [(label, kind, field, int(number)) for label, kind, field, number in
                       re.findall(r"^\s*(optional|required|repeated) ([\w.]+) (\w+) = (\d+)", body, re.M)]
    return found


def read_rpcs():
    """[(number, name, message of the request, permitted callers, lane)]"""
    rows = re.findall(r"^RPC\((\d+), (\w+), pb__(\w+), pb__\w+, ([A-Z| ]+), (\w+),", (TOP / "src/rpc/rpc.def").read_text(), re.M)
    return [(int(number), name, "".join(word.capitalize() for word in request.split("_")), who, lane) for number, name, request, who, lane in rows]


MESSAGES, RPCS = read_messages(), read_rpcs()


def claims_of(message, above=()):
    """Returns the paths of all fields, at any depth, that contain the identity of a caller or an owner."""
    for _, kind, name, _ in MESSAGES.get(message, []):
        if kind in MESSAGES and kind not in above:
            yield from ((name, *path) for path in claims_of(kind, (*above, message)))
        elif kind not in MESSAGES and CLAIMS.search(name) and not NO_CLAIMS.search(name):
            yield (name,)


def value_of(kind, name, job):
    """What would be root's."""
    if kind in VARINTS:
        return job if "job_id" in name else 0 if re.search("uid|gid", name) else 1
    if kind in ("string", "bytes"):
        return "root" if re.search("user|group|owner|account", name) else "n1"
    return 0


def message_of(message, paths, job):
    """Returns the bytes of a message with the fields of these paths and the required fields."""
    out = b""
    for label, kind, name, number in MESSAGES.get(message, []):
        below = [path[1:] for path in paths if path[0] == name]
        if not below and label != "required":
            continue
        if kind in MESSAGES:
            out += bulk.field(number, message_of(kind, [path for path in below if path], job))
        elif kind in ("double", "fixed64"):
            out += bulk.varint(number << 3 | 1) + bytes(8)
        else:
            out += bulk.field(number, value_of(kind, name, job))
    return out


# Sends each line "PATH NUMBER BODY" over a connection of its own, and says what came back, as far as it came soon.
SENDER = """
import socket, struct, sys
for line in sys.stdin:
    path, number, body = line.split(",")
    body = bytes.fromhex(body)
    got = b""
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(struct.pack("<4sHHHHIQ", b"SLUI", 1, int(number), 0, 0, len(body), 1) + body)
            s.settimeout(0.3)
            while chunk := s.recv(1 << 16):
                got += chunk
                if len(got) >= 24 and len(got) >= 24 + struct.unpack("<I", got[12:16])[0]:
                    s.settimeout(0.02)
    except OSError:
        pass
    print(got.hex(), flush=True)
"""


class Sender:
    """Frames of a user to the local socket of a daemon."""

    def __init__(self, c, uid=NOBODY):
        self.c = c
        self.p = c.popen(["setpriv", f"--reuid={uid}", "--regid=65534", "--clear-groups", sys.executable, "-c", SENDER], stdin=subprocess.PIPE)

    def ask(self, daemon, number, body):
        self.p.stdin.write(f"{self.c.dir}/run/{daemon},{number},{body.hex()}\n")
        self.p.stdin.flush()
        return bytes.fromhex(self.p.stdout.readline())

    def close(self):
        self.p.communicate("")


def is_error(answer):
    return len(answer) < 24 or bool(struct.unpack("<H", answer[8:10])[0] & 2)


TIMES = re.compile(r"\b(RunTime|LastSchedEval|CPULoad|FreeMem|LastBusyTime|CurrentWatts|SlurmdStartTime|BootTime|AveWatts|SecsPreSuspend)=\S+")


def state(c):
    """Returns the state of all objects of root, without values that change with time."""
    lines = [c.run(line).ok() for line in ("scontrol -o show job", "scontrol -o show node", "scontrol -o show partition", "scontrol -o show reservation",
                                           "squeue -h -s -o %i_%u", "strigger --get")]
    jobs = [line for line in lines[0].splitlines() if "UserId=root(" in line]
    return [TIMES.sub("", text) for text in ("\n".join(jobs), *lines[1:])]


@pytest.fixture(scope="module")
def private():
    """Everything that may be is private; root has a job, with a secret in all it can have, a reservation and a trigger."""
    c = Cluster(nodes=1, cpus=16, memory=16000, conf="PrivateData=jobs,reservations,usage,users\nMessageTimeout=5")
    try:
        c.sender = Sender(c)
        c.root_job = c.sbatch("-t", "20", "-J", SECRET, "--comment", SECRET, "-o", f"{c.work}/{SECRET}", script=f"#!/bin/sh\n# {SECRET}\nsrun sleep 1000\n",
                              env={"SECRET": SECRET})
        eventually(lambda: c.run("squeue -h -s").ok().count("\n") >= 0 and f"{c.root_job}.0" in c.run("squeue -h -s -o %i").ok(), "its step runs")
        c.run(f"scontrol create reservation ReservationName={SECRET} StartTime=now+1hour Duration=10 Users=root NodeCnt=1").ok()
        c.run(f"strigger --set --node --down --program=/bin/program-of-root").ok()
        yield c
        c.sender.close()
        c.run("strigger --clear --user=root").ok()
        c.run(f"scontrol delete ReservationName={SECRET}").ok()
        c.stop()
    finally:
        c.destroy()


def of_users(daemon):
    """The requests that users may send, and those that they may not but can, to this daemon."""
    ours = [row for row in RPCS if "SESSION" not in row[4] and row[3] != "LOCAL"]
    return [row for row in ours if (60 <= row[0] < 80 or 120 <= row[0] < 145) == (daemon == "slurmd-n1")]


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmd-n1"])
def test_claims_of_a_request_are_ignored_or_refused(private, daemon):
    """G5: each field that claims an identity, one by one and all together: nothing of root is shown or changed, and no object is created for another
    user."""
    c = private
    before, tried, log = state(c), collections.Counter(), c.dir / "slurmctld.log"
    for number, name, request, who, _ in of_users(daemon):
        paths = sorted(set(claims_of(request)))
        bodies = [message_of(request, [path], c.root_job) for path in paths] + [message_of(request, paths, c.root_job)]
        if name == "SUBMIT":  # a whole one, with the claim behind it: the last value of a field counts
            bodies = [bulk.request("claims", str(c.work)) + body for body in bodies]
        for path, body in zip([*paths, "all"], bodies):
            answer = c.sender.ask(daemon, number, body)
            assert SECRET.encode() not in answer, (name, path, answer)
            assert is_error(answer) or "USER" in who, (name, path, answer)
            tried[name] += 1
    assert c.running("slurmctld") and c.running("n1")
    assert sum(tried.values()) > (150 if daemon == "slurmctld" else 15), tried
    made = [line for line in c.run("scontrol -o show job").ok().splitlines() if f"JobId={c.root_job} " not in line]
    assert all(re.search(rf"UserId=nobody\({NOBODY}\) GroupId=nogroup", line) for line in made), made
    c.run("scancel -u nobody").ok()
    assert state(c) == before
    assert daemon != "slurmctld" or made, log.read_text()[-2000:]


def test_test_parser_reads_every_request_field():
    """The parser of this test reads the same rows as the compiler."""
    assert len(RPCS) > 100 and all(request in MESSAGES for _, _, request, _, _ in RPCS)
    assert {("spec", "uid"), ("spec", "gid"), ("spec", "user_name")} <= set(claims_of("SubmitRequest"))


# What must be refused: the daemon, and the RPC with root's job in its request.
FORGED = [("slurmctld", name) for name in (
    "NODE_REGISTER", "NODE_REPORT", "NODE_WELCOME", "NODE_ORDERS", "NODE_ACK", "NODE_CONFIG_ASK", "NODE_CONFIG", "IO_HELLO", "TASK_EXITED", "STEP_DONE", "STEP_COMPLETE",
    "JOB_COMPLETE", "JOB_SUSPEND", "JOB_SCRIPT", "ALLOC_INFO", "CAST_ASK", "CTLD_YIELD", "CTLD_TAKEOVER", "CTLD_BEAT", "NODE_UPDATE", "PART_UPDATE", "RECONFIGURE",
    "SHUTDOWN", "STEP_UNALLOCATED", "CAST_UNALLOCATED")] + [("slurmd-n1", name) for name in (
        "NODE_CALL", "ORIGIN", "STEP_ATTACH", "STEP_USAGE", "STEPD_START", "STEPD_SIGNAL", "STEPD_ENDED", "IO_HELLO")]


def log_of(c, daemon):
    return (c.dir / ("slurmctld.log" if daemon == "slurmctld" else "slurmd-n1.log")).read_text(errors="replace")


def test_forged_requests_are_refused_and_logged(private):
    """G12, G14: requests that only a node, a step daemon, a controller or the owner may send: the log has one line for each, with the caller and the
    request."""
    c, rows, count, before = private, {row[1]: (row[0], row[2]) for row in RPCS}, amount(1, 50), state(private)
    for uid, (daemon, name) in enumerate(FORGED, 61000):  # lines about a user are limited: each time it is another one
        number, request = rows[name]
        at, sender = len(log_of(c, daemon)), Sender(c, uid)
        for _ in range(count):
            answer = sender.ask(daemon, number, message_of(request, sorted(set(claims_of(request))), c.root_job))
            assert is_error(answer) and SECRET.encode() not in answer, (name, answer)
        sender.close()
        lines = [line for line in log_of(c, daemon)[at:].splitlines() if "refused" in line]
        assert len(lines) == count, (name, lines)
        assert all(f"uid {uid}" in line and (name in line or f"job {c.root_job} of uid 0" in line) for line in lines), (name, lines)
    assert state(c) == before


def test_refusals_do_not_fill_the_log(private):
    """G14: 60 lines a minute about one user."""
    c, uid = private, 62000
    at, sender = len(log_of(c, "slurmctld")), Sender(c, uid)
    for _ in range(150):
        assert is_error(sender.ask("slurmctld", 18, b""))
    sender.close()
    lines = [line for line in log_of(c, "slurmctld")[at:].splitlines() if f"uid {uid}" in line]
    assert 0 < len(lines) <= 120, lines  # a minute of the limit may end meanwhile


def listening_port(pid):
    """Of a process, on TCP."""
    inodes = {os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir() if os.path.lexists(link)}
    for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
            return int(words[1].partition(":")[2], 16)
    return None


def test_forged_connections_of_output(private, pick):
    """G12: a process that finds the port on which srun waits for its nodes sends frames to it, with and without a key: the step is not affected."""
    c = private
    p = c.popen(["srun", "-t5", "-n1", "sh", "-c", "echo up; read x; echo $x; exit 3"], stdin=subprocess.PIPE)
    assert p.stdout.readline() == "up\n"
    port = eventually(lambda: listening_port(p.pid), "its port")
    for i in range(amount(30, 300)):
        with socket.create_connection(("127.0.0.1", port), 10) as s:
            body, rpc = pick.randbytes(pick.randrange(100)), pick.choice([0, 41, 80, 81, 82, 84, 85])
            s.sendall(struct.pack("<4sHHHHIQ", b"SLUI", 1, rpc, pick.choice([0, 8, 16]), pick.choice([0, 32, 256]), len(body), i) + pick.randbytes(32) + body)
            if pick.random() < 0.5:
                s.settimeout(0.05)
                try:
                    s.recv(1000)
                except OSError:
                    pass
    out, err = p.communicate("said\n")
    assert (p.returncode, sorted(out.split())) == (3, ["said"]), (out, err)
