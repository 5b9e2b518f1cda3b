# SPDX-License-Identifier: GPL-3.0-or-later
"""CORE-076: a node daemon starts nothing without a credential of the controller for this user, node and step."""
import hashlib
import hmac
import pathlib
import random
import re
import socket
import struct

import pytest

from bulk import field
from harness import ROOT, eventually
from netproxy import DOWN, HEADER, UP, Proxy, fields
from test_wire import ask, header

STEP_CREATE, LAUNCH_TASKS, MINT, TOKEN, ERROR = 5, 60, 61, 256, 2
# Asks the local daemon for a token: it knows the caller by the kernel, so that this has to be a process of his.
ASK = """import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
s.connect(sys.argv[1])
s.sendall(bytes.fromhex(sys.argv[2]))
got = s.makefile("rb")
head = got.read(24)
print(got.read(int.from_bytes(head[12:16], "little")).hex())"""


def token(c, user, digest, audience):
    body = field(1, digest) + field(2, audience)
    frame = header(rpc=MINT, body=len(body)) + body
    out = c.run(["/usr/bin/python3", "-c", ASK, str(c.dir / "run/slurmd-n1"), frame.hex()], user=user).ok()
    return fields(bytes.fromhex(out))[1][0]


class Sender:
    """Sends launches of a program that leaves a file, as a user, with the credential it is given."""

    def __init__(self, c):
        self.c, self.made = c, c.work / "made"
        self.ports = {name: int(re.search(rf"NodeName={name} .*Port=(\d+)", c.conf_file.read_text()).group(1)) for name in c.names}

    def frame(self, user, credential, signature, node="n1"):
        """A whole request, with a token for it and for this node."""
        secret = token(self.c, user, bytes(32), "srun")
        body = (field(1, credential) + field(2, signature) + b"".join(field(3, word) for word in ("touch", str(self.made))) +
                field(5, "/") + field(8, "127.0.0.1") + field(9, 9) + field(10, secret))
        head = header(rpc=LAUNCH_TASKS, token=TOKEN, body=len(body))
        return head + token(self.c, user, hashlib.sha256(head + body).digest(), node) + body

    def refused(self, frame, node="n1"):
        """What the node says; it has to be a refusal."""
        got = ask(("127.0.0.1", self.ports[node]), frame)
        assert len(got) >= HEADER and struct.unpack("<H", got[8:10])[0] & ERROR, got
        return got.decode(errors="replace")


@pytest.fixture
def caught(make_cluster):
    """A job of user nobody with a step on n1, and the credential that its srun has received."""
    c = make_cluster(nodes=2, conf="TLSType=none")  # what is sent is looked into
    c.work.chmod(0o777)
    replies = []
    proxy = Proxy(("127.0.0.1", c.port), lambda frame: replies.append(frame.data) if frame.kind == (DOWN, STEP_CREATE) else None)
    conf = c.dir / "through"
    conf.mkdir()
    (conf / "slurm.conf").write_text(re.sub(r"SlurmctldPort=\d+", f"SlurmctldPort={proxy.port}", c.conf_file.read_text()))
    job = c.sbatch("-N2", "-D", "/", "-o", "/dev/null", wrap="sleep 100000", user="nobody")
    eventually(lambda: c.state(job) == "RUNNING", "a start")
    step = c.popen(["srun", f"--jobid={job}", "-N1", "-n1", "-w", "n1", "sh", "-c", "echo up; exec sleep 100000"], user="nobody",
                   env={"SLURM_CONF": str(conf / "slurm.conf"), "SLUICE_NO_LOCAL_SOCKET": "1"}, cwd="/")
    try:
        assert step.stdout.readline() == "up\n", step.communicate()
        data = replies[-1]
        reply = fields(data[HEADER + struct.unpack("<H", data[10:12])[0]:])
        yield c, Sender(c), job, reply[4][0], reply[5][0]
        c.run(f"scancel {job}")
        step.communicate(timeout=60)
    finally:
        proxy.close()
        c.stop()
    assert not (c.work / "made").exists()  # nobody's launch was ever begun


def test_launch_without_its_own_credential_is_refused(caught):
    """CORE-076: no credential, a forged one, that of another user, of another node, of a step that was launched before, of an ended job; a request
    without a token, and a replayed one. Each is refused and logged, with its sender."""
    c, sender, job, credential, signature = caught
    log = c.dir / "slurmd-n1.log"
    # what is right but for one thing comes as far as that: the builder of these frames is no reason for any refusal
    valid = sender.frame("nobody", credential, signature)
    assert "the step was launched before" in sender.refused(valid)
    assert "replay" in sender.refused(valid).lower()
    bare = header(rpc=LAUNCH_TASKS, body=len(valid) - HEADER - TOKEN) + valid[HEADER + TOKEN:]
    assert "token" in sender.refused(bare)

    noise = random.Random(76)
    for bad, signed in ((b"", b""), (credential, b""), (b"", signature), (credential, bytes(64)), (credential, noise.randbytes(64)),
                        (credential[:-1] + bytes([credential[-1] ^ 1]), signature), (credential + b"\x08\x01", signature),
                        (credential[:-1], signature)):
        said = sender.refused(sender.frame("nobody", bad, signed))
        assert re.search("credential.*" + ("has 64 bytes, not" if len(signed) != 64 else "was not signed by"), said), (bad, signed, said)
    assert "not signed by" in sender.refused(sender.frame(None, credential, noise.randbytes(64)))  # root is not above it

    def uid_of(user):
        return c.run(["id", "-u"], user=user).ok()
    other = sender.refused(sender.frame("daemon", credential, signature))
    assert f"it is of user {uid_of('nobody')}, the caller is user {uid_of('daemon')}" in other
    assert "does not cover node n2" in sender.refused(sender.frame("nobody", credential, signature, "n2"), "n2")
    assert 'the token is for "n1", this is "n2"' in sender.refused(sender.frame("nobody", credential, signature), "n2")

    lines = [line for line in log.read_text().splitlines() if "refused a launch by user" in line]
    assert sum(f"by user {uid_of('nobody')} from 127.0.0.1" in line for line in lines) == 8, lines
    assert "replayed" in log.read_text()  # and the one whose token was seen before
    assert any(f"by user {uid_of('daemon')} from 127.0.0.1" in line for line in lines), lines
    assert "does not cover node n2" in (c.dir / "slurmd-n2.log").read_text()

    c.run(f"scancel {job}").ok()
    c.wait(job)
    assert "Job credential revoked" in sender.refused(sender.frame("nobody", credential, signature))
    c.kill("n1")  # it is on disk
    c.start_node("n1")
    c.wait_ready()
    assert "Job credential revoked" in sender.refused(sender.frame("nobody", credential, signature))


def memory_of(pid):
    """Returns the memory of a process that is not mapped from a file, without regions above 64 MiB, such as the shadow memory of a sanitizer."""
    held = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for row in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, mode, *_, name = f"{row} -".split()[:6]
            start, end = (int(at, 16) for at in place.split("-"))
            if mode.startswith("rw") and name in ("-", "[heap]") and end - start <= 64 << 20:
                mem.seek(start)
                held.append(mem.read(end - start))
    return b"".join(held)


@pytest.mark.skipif(not ROOT, reason="reads the memory of processes")
def test_step_key_stays_in_process_memory(make_cluster):
    """RELIABILITY G10: the key of a step's streams is derived from the token that srun sends and the cluster key; no command line, environment, log
    or file contains it."""
    c = make_cluster(nodes=1, start=False, conf="TLSType=none")  # what is sent is looked into
    launches, text, line = [], c.conf_file.read_text(), r"(NodeName=n1 .*Port=)(\d+)"
    proxy = Proxy(("127.0.0.1", int(re.search(line, text).group(2))),
                  lambda frame: launches.append(frame.data) if frame.kind == (UP, LAUNCH_TASKS) else None)
    (c.dir / "n1.conf").write_text(text)
    c.conf_file.write_text(re.sub(line, rf"\g<1>{proxy.port}", text))
    try:
        c.start_controller(wait=False)
        c.start_node("n1", "-f", c.dir / "n1.conf")
        c.wait_ready()
        with c.popen(["srun", "-n1", "sh", "-c", "echo up; exec sleep 1000"], env={"SLUICE_NO_LOCAL_SOCKET": "1"}) as step:
            assert step.stdout.readline() == "up\n"
            data = launches[-1]
            sent = fields(data[HEADER + struct.unpack("<H", data[10:12])[0]:])[10][0]
            key = hashlib.sha256(b"sluice mac key 1\0" + (c.dir / "slurm.key").read_bytes()).digest()
            secret = hmac.new(key, b"sluice answers to a token\0" + sent, hashlib.sha256).digest()
            seals = hashlib.sha256(b"sluice mac key 1\0" + secret).digest()
            held = memory_of(step.pid)
            assert secret in held or seals in held  # it is the key
            c.check_secrets(secret=secret, seals=seals)
            step.terminate()
            step.communicate()
        c.check_secrets(secret=secret, seals=seals)
    finally:
        proxy.close()
