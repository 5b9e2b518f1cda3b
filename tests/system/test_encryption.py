# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections between hosts are encrypted, and a client sends nothing before the server has proved its identity: docs/adr/0032."""
import ctypes
import fcntl
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading

import pytest

from harness import PREFIX, ROOT, eventually
from netproxy import RECORD, REPEAT, SWAP, UP, Cut, Mischief, Proxy
from test_x11 import CLIENT, Display, authority

HELLO = 104  # bytes: a header, the name of a key, and the first message of the handshake
OVER_TCP = {"SLUICE_NO_LOCAL_SOCKET": "1"}
ETH_P_ALL, PACKET_OUTGOING = 3, 4


class Sniffer:
    """Reads everything on the loopback device, and notes each word it finds with the TCP ports of the packet."""

    def __init__(self, words):
        self.words, self.seen, self.packets = [w.encode() for w in words], set(), 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.bind(("lo", 0))
        self.socket.settimeout(0.5)
        self.closing = False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while True:
            try:
                data, address = self.socket.recvfrom(1 << 17)
            except TimeoutError:
                if self.closing:
                    return
                continue
            if address[2] == PACKET_OUTGOING:
                self.packets += 1
                ip = data[14:]
                tcp = ip[40:] if ip[0] >> 4 == 6 else ip[(ip[0] & 15) * 4:]
                self.seen.update((w.decode(), struct.unpack("!HH", tcp[:4])) for w in self.words if w in data)

    def words_outside(self, ports):
        return {word for word, of_packet in self.seen if not ports & set(of_packet)}

    def close(self):
        """What has come is read to its end, however busy the machine and its loopback device are: nothing more is let in."""
        nothing = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # BPF_RET: 0 bytes of each packet
        self.socket.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HL", 1, ctypes.addressof(nothing)))  # SO_ATTACH_FILTER
        self.closing = True
        self.thread.join(120)
        assert not self.thread.is_alive()
        self.socket.close()


class Listener:
    """A process that listens in place of a daemon: keeps the data of each connection, and answers its first bytes with the given reply, or closes
    the connection if it is None."""

    def __init__(self, port, answer):
        self.answer, self.got = answer, []
        self.socket = socket.create_server(("127.0.0.1", port))
        self.socket.settimeout(0.2)
        self.closed = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.closed:
            try:
                s, _ = self.socket.accept()
            except TimeoutError:
                continue
            with s:
                s.settimeout(20)
                got = s.recv(1 << 16)
                try:
                    if self.answer is not None:
                        s.sendall(self.answer)
                        while more := s.recv(1 << 16):
                            got += more
                except OSError:
                    pass
                self.got.append(got)

    def close(self):
        self.closed = True
        self.thread.join()
        self.socket.close()


PING = b"\x0a\x02me\x10\x01"  # of a controller that leads
ANSWERS = {
    "it hangs up": None,
    "no message of ours": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a second message without the key": struct.pack("<4sHHHHIQ", b"SLUI", 1, 0, 33, 0, 48, 0) + bytes(range(48)),
    "an answer in clear": struct.pack("<4sHHHHIQ", b"SLUI", 1, 1, 1, 0, len(PING), 1) + PING,
    "send it to another": struct.pack("<4sHHHHIQ", b"SLUI", 1, 0, 3, 0, 6, 0) + b"\x08\xf9\x07\x12\x01x",
}
SAID = ["another program listens there, or slurm.key differs", "closed"]
COMMANDS = [
    ["sbatch", "--export=ALL", "--wrap", "echo script-SECRET"],
    ["srun", "--export=ALL", "echo", "script-SECRET"],
    ["scontrol", "update", "JobId=1", "Comment=script-SECRET"],
]


def test_listener_on_a_dead_controllers_port_gets_no_request(make_cluster):
    c = make_cluster(nodes=1)
    c.kill("slurmctld")
    for name, answer in ANSWERS.items():
        listener = Listener(c.port, answer)
        try:
            for command in COMMANDS:
                before = len(listener.got)
                p = c.popen(command, env={"MY_PASSWORD": "environment-SECRET"})
                # srun asks again and again where the connection was lost.
                eventually(lambda: p.poll() is not None or len(listener.got) > before + 2, f"{command} has asked")
                if p.poll() is None:
                    assert answer is None
                    p.kill()
                else:
                    assert p.returncode and re.search(SAID[answer is None], p.stderr.read())
                p.communicate()
        finally:
            listener.close()
        assert listener.got
        for got in listener.got:
            assert len(got) <= HELLO and b"SECRET" not in got, (name, got)
    c.start_controller()
    c.wait_ready()
    c.stop()


PMI = """import os, socket
s = socket.socket(fileno=int(os.environ["PMI_FD"])); f = s.makefile("r")
def ask(line): s.sendall(line.encode() + b"\\n"); return f.readline()
ask("cmd=init pmi_version=1 pmi_subversion=1")
name = dict(w.split("=", 1) for w in ask("cmd=get_my_kvsname").split())["kvsname"]
rank = os.environ["PMI_RANK"]
ask(f"cmd=put kvsname={name} key=k{rank} value=key-SECRET")
ask("cmd=barrier_in")
assert "key-SECRET" in ask(f"cmd=get kvsname={name} key=k{1 - int(rank)}")
ask("cmd=finalize")
"""


PMIX = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pmix.h>
int main(int argc, char **argv)
{
    pmix_proc_t me, other;
    pmix_value_t mine = {.type = PMIX_STRING, .data.string = argv[1]}, *got;
    if (PMIx_Init(&me, NULL, 0) || PMIx_Put(PMIX_GLOBAL, "k", &mine) || PMIx_Commit() || PMIx_Fence(NULL, 0, NULL, 0))
        return 1;
    PMIX_LOAD_PROCID(&other, me.nspace, 1 - me.rank);
    if (PMIx_Get(&other, "k", NULL, 0, &got))
        return 2;
    printf("%s %s\\n", got->data.string, getenv("PMIX_SERVER_URI41") ? getenv("PMIX_SERVER_URI41") : getenv("PMIX_SERVER_URI4"));
    PMIx_Fence(NULL, 0, NULL, 0); /* the other may still ask */
    return PMIx_Finalize(NULL, 0);
}
"""


def exchange_by_pmix(c, word, env):
    """Each task gets the other's key. Returns the ports on which libpmix connects tasks to the server of their own node."""
    if not (PREFIX / "sbin/slurmstepd-pmix").exists() or not shutil.which("pkg-config"):
        return set()
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], check=True, capture_output=True, text=True).stdout.split()
    (c.work / "p.c").write_text(PMIX)
    subprocess.run(["cc", "-o", c.work / "p", c.work / "p.c", *flags], check=True)
    out = c.run(["srun", "-N2", "-n2", "--mpi=pmix", c.work / "p", word], env=env).ok()
    assert out.count(word) == 2
    return {int(port) for port in re.findall(r"tcp[46]://\S*?:(\d+)", out)}


def open_windows(c, word, env):
    """What the display answers reaches tasks on both nodes. Returns the ports of the nodes' own displays, which X11 programs use in clear."""
    display = Display(c.dir / "X", word.encode() + b".")
    (c.work / "client.py").write_text("import os; print(os.environ['DISPLAY'], flush=True)\n" + CLIENT)
    env = {**env, "DISPLAY": f"{display.path}:0", "XAUTHORITY": str(authority(c.dir / "authority"))}
    try:
        out = c.run(["srun", "-N2", "-n2", "--x11", "python3", "client.py"], env=env).ok()
    finally:
        display.listener.close()
    assert out.count(word) == 2
    return {6000 + int(number) for number in re.findall(r"localhost:(\d+)\.0", out)}


@pytest.fixture
def own_network():
    """A loopback device without the traffic of other tests."""
    libc, new_net = ctypes.CDLL(None, use_errno=True), 0x40000000  # CLONE_NEWNET
    with open("/proc/thread-self/ns/net", "rb") as before:
        if libc.unshare(new_net):
            raise OSError(ctypes.get_errno(), "unshare: no network namespace for this test")
        try:
            with socket.socket() as s:
                fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running
            yield
        finally:
            assert libc.setns(before.fileno(), new_net) == 0


@pytest.mark.skipif(not ROOT, reason="only root may read what goes over a device")
@pytest.mark.parametrize("kind", ["", "none"])
def test_encrypted_connections_hide_all_words(own_network, make_cluster, kind):
    """Script, environment, output, input, files, windows and keys of MPI can be read on the wire with TLSType=none only."""
    kinds = ["script", "environment", "output", "input", "file", "key", "listing", "window", "pmix"]
    words = {kind: f"{kind}-{os.urandom(8).hex()}" for kind in kinds}
    c = make_cluster(nodes=2, conf=f"TLSType={kind}" if kind else "")
    env = {**OVER_TCP, "MY_PASSWORD": words["environment"]}
    sniffer = Sniffer(words.values())
    try:
        job = c.sbatch("--export=ALL", "-o", "/dev/null", "--comment", words["listing"], env=env,
                       script=f"#!/bin/sh\n# {words['script']}\ncat {c.work}/hold 2>/dev/null\n")
        assert words["listing"] in c.run(f"scontrol show job {job}", env=env).ok()
        c.wait(job)
        half = len(words["output"]) // 2  # the whole is in no command line
        text = f"printf %s%s {words['output'][:half]} {words['output'][half:]}; cat"
        done = c.run(["srun", "-N2", "sh", "-c", text], env=OVER_TCP, stdin=words["input"]).ok()
        assert done.count(words["output"]) == 2 and words["input"] in done
        (c.work / "program").write_text(PMI.replace("key-SECRET", words["key"]))
        c.run(["srun", "-N2", "-n2", "--mpi=pmi1", "python3", c.work / "program"], env=OVER_TCP).ok()
        (c.work / "file").write_text(words["file"] * 10)
        c.run(["salloc", "-N2", "sbcast", "-f", c.work / "file", c.work / "copy"], env=OVER_TCP).ok()
        assert (c.work / "copy").read_text() == words["file"] * 10
        of_pmix = exchange_by_pmix(c, words["pmix"], OVER_TCP)
        of_programs = of_pmix | open_windows(c, words["window"], OVER_TCP)
    finally:
        sniffer.close()
    expected = set(words.values()) - (set() if of_pmix else {words["pmix"]})
    assert sniffer.packets
    assert sniffer.words_outside(of_programs) == (expected if kind else set())


def test_hostile_bytes_before_encryption(make_cluster):
    """Refused with a reason, in clear; the log has it, and the daemons serve others."""
    c = make_cluster(nodes=1)
    node = int(re.search(r"NodeName=n1 .*Port=(\d+)", c.conf_file.read_text()).group(1))
    pick = random.Random(5)

    def frame(flags, body, rpc=0, version=1, length=None):
        return struct.pack("<4sHHHHIQ", b"SLUI", version, rpc, flags, 0, len(body) if length is None else length, 1) + body
    bad = {
        "a request in clear": (frame(0, b"", rpc=1), b"must be encrypted"),
        "a session in clear": (frame(8, bytes(96)), b"must be encrypted"),
        "an older version": (frame(32, bytes(80), version=0), b"version"),
        "no hello": (b"BREW / HTTP/1.1\r\nHost: slurmctld\r\n\r\n", b"not a message of this protocol"),
        "a hello that is too short": (frame(32, bytes(79)), b"malformed"),
        "a hello with a token": (frame(32, bytes(81)), b"set AuthAltTypes=auth/jwt"),
        "an endless hello": (frame(32, b"", length=1 << 31), b"at most"),
        "the second message": (frame(33, bytes(48)), b"malformed"),
        "a hello without the key": (frame(32, pick.randbytes(80)), b"does not know the key"),
        "a hello of zeros": (frame(32, bytes(80)), b"does not know the key"),
    }
    for port in (c.port, node):
        for name, (data, why) in bad.items():
            with socket.create_connection(("127.0.0.1", port), 20) as s:
                s.sendall(data)
                got = s.makefile("rb").read()
                assert got[:4] == b"SLUI" and got[8] == 3 and why in got, (name, got)
    log = (c.dir / "slurmctld.log").read_text()
    assert "connections must be encrypted here" in log and "does not know the key" in log
    assert c.run("srun echo hello", env=OVER_TCP).ok() == "hello"


def test_altered_records_end_the_connection(make_cluster):
    """Whatever a network does to records, no job is lost or doubled by it, and nothing altered is read."""
    c = make_cluster(nodes=1, conf="MessageTimeout=5")
    pick = random.Random(6)
    faults = Mischief(pick, 0.05, [REPEAT, SWAP, Cut])
    proxy = Proxy(("127.0.0.1", c.port), faults)
    try:
        through = other_conf(c, "through.conf", SlurmctldPort=proxy.port)
        c.kill("n1", signal.SIGTERM)
        c.start_node("n1", "-f", through["SLURM_CONF"])
        c.wait_ready()
        jobs = [c.sbatch("-o", "/dev/null", wrap=f"echo $SLURM_JOB_ID >>{c.work}/ledger") for _ in range(30)]
        for job in jobs:
            assert c.wait(job)["JobState"] == "COMPLETED"
        for _ in range(20):
            c.run("squeue", env=through)
        assert (c.work / "ledger").read_text().split() and sorted(map(int, (c.work / "ledger").read_text().split())) == jobs
        assert {kind for kind in proxy.kinds if kind[1] not in (0, RECORD)} == set()
        assert proxy.kinds[(UP, RECORD)] > 0 and proxy.cuts
    finally:
        proxy.set_fault(None)
        c.stop()
        proxy.close()


def other_conf(c, name, **values):
    text = c.conf_file.read_text()
    for key, value in values.items():
        text = re.sub(f"(?m)^{key}=.*\n", "", text) + f"{key}={value}\n"
    path = c.dir / name
    path.write_text(text)
    return {"SLURM_CONF": str(path), **OVER_TCP}


def test_refused_handshakes_name_their_cause(make_cluster):
    """Another key, encryption on one side only: each refusal names its cause, and no request is executed."""
    c, other = make_cluster(nodes=1), make_cluster(nodes=1)
    elsewhere = other_conf(c, "elsewhere.conf", SlurmctldPort=other.port)
    for command in ("sbatch --wrap true", "srun true", "squeue"):
        c.run(command.split(" ", 2), env=elsewhere).fails("does not know the key", "slurm.key must be the same on every host")
    plain = other_conf(c, "plain.conf", TLSType="none")
    for command in ("sbatch --wrap true", "srun true", "squeue"):
        c.run(command.split(" ", 2), env=plain).fails("connections must be encrypted here", "TLSType=none")
    assert not other.run("squeue -h").ok() and not c.run("squeue -h").ok()


def test_server_without_encryption_takes_both(make_cluster):
    """So a cluster can be changed one host after the other; and a configless node asks before it knows."""
    c = make_cluster(nodes=1, conf="TLSType=none")
    assert "TLSType                 = tls/none" in c.run("scontrol show config").ok()
    encrypts = other_conf(c, "encrypts.conf", TLSType="noise")
    assert c.run("srun echo hello", env=OVER_TCP).ok() == "hello"
    job = c.sbatch("-o", "/dev/null", wrap="true", env=encrypts)
    c.wait(job)


@pytest.mark.parametrize("daemon", ["slurmctld", "n1"])
def test_port_in_use_is_waited_for(make_cluster, daemon):
    """The log names the uid that holds the port; when the port is free, the daemon starts. A stop request before that ends the daemon."""
    c = make_cluster(nodes=1, start=False)
    port = c.port if daemon == "slurmctld" else int(re.search(r"NodeName=n1 .*Port=(\d+)", c.conf_file.read_text()).group(1))
    uid = 65534 if ROOT else os.geteuid()
    held = socket.socket()
    if ROOT:
        os.fchown(held.fileno(), uid, -1)  # what the kernel shows as the owner of the socket
    held.bind(("127.0.0.1", port))
    held.listen()
    says = f"port {port} is in use: uid {uid} listens there; trying again for 60 s"
    if daemon == "slurmctld":
        c.start_node("n1")
        c.start_controller(wait=False)
    else:
        c.start_controller()
        c.start_node("n1")
    eventually(lambda: says in c.tail(daemon), "the log names the holder")
    assert c.daemons[daemon].poll() is None
    c.daemons[daemon].terminate()
    assert c.daemons[daemon].wait(20)
    assert f"told to stop while port {port} was in use" in c.tail(daemon)
    (c.start_node("n1") if daemon == "n1" else c.start_controller(wait=False))
    eventually(lambda: c.tail(daemon, 1000).count(says) >= 2, "the log names the holder again")
    held.close()
    c.wait_ready()
    assert c.run("srun echo hello").ok() == "hello"
