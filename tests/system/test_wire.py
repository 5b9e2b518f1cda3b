# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile bytes on every open port and socket: CORE-007, 074, RELIABILITY F3, G1, G2, H3."""
import os
import pathlib
import random
import re
import socket
import stat
import struct
import subprocess
import time

import pytest

from harness import PREFIX, ROOT, SEED, Cluster, amount, eventually

MAGIC = b"SLUI"


@pytest.fixture(scope="module")
def cluster():
    """Its frames are not encrypted, so that faults in them reach the code that checks them; test_encryption.py tests the encryption before that."""
    c = Cluster(conf="TLSType=none")
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def header(rpc=1, version=1, flags=0, token=0, body=0, number=1):
    return struct.pack("<4sHHHHIQ", MAGIC, version, rpc, flags, token, body, number)


def talk(address, data, finish=True):
    """Sends; returns the reply until the other side closes."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(30)
        s.connect(address)
        got = b""
        try:
            s.sendall(data)
            if finish:
                s.shutdown(socket.SHUT_WR)
            while chunk := s.recv(65536):
                got += chunk
        except (ConnectionError, BrokenPipeError):
            pass
        return got


def ask(address, data):
    """Sends one request and receives its one reply, as a client does."""
    with socket.create_connection(address, 30) as s:
        s.sendall(data)
        got = b""
        while len(got) < 24 or len(got) < 24 + sum(struct.unpack("<HI", got[10:16])):
            chunk = s.recv(65536)
            if not chunk:
                break
            got += chunk
        return got


def memory_kib(pid):
    """Returns the memory of a process without shared memory."""
    return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def ask_squeue(cluster):
    """Seconds."""
    began = time.monotonic()
    cluster.run("squeue -h").ok()
    return time.monotonic() - began


def ports(cluster):
    node = int(re.search(r"NodeName=n1 .*Port=(\d+)", cluster.conf_file.read_text()).group(1))
    return [("127.0.0.1", cluster.port), ("127.0.0.1", node)]


BAD = {
    "nothing": b"",
    "half a header": header()[:11],
    "wrong magic": b"HTTP" + header()[4:],
    "wrong version": header(version=99),
    "unknown rpc": header(rpc=9999),
    "unknown flags": header(flags=0x8000),
    "no token": header(rpc=2, body=2) + b"\n\0",
    "short token": header(rpc=2, token=10) + bytes(10),
    "zero token": header(rpc=1, token=256) + bytes(256),
    "random token": header(rpc=1, token=256) + random.Random(1).randbytes(256),
    "giant body": header(rpc=2, token=256, body=0xffffffff),
    "body without end": header(rpc=1, token=256, body=1000) + bytes(300),
    "session without proof": header(rpc=41, flags=8, token=32) + bytes(32),
    "node message without session": header(rpc=40, token=256, body=4) + bytes(260),
}


def test_half_closed_connection_gets_its_reply(cluster):
    """A caller may close its own direction at once; a completely read request is answered, and then the connection ends."""
    ping = [header(rpc=1, number=i) for i in (1, 2)]
    for more in (b"", header(rpc=1, number=3)[:11]):
        answers = talk(str(cluster.dir / "run" / "slurmctld"), b"".join(ping) + more)
        got = []
        while answers:
            magic, _, _, flags, _, length, number = struct.unpack("<4sHHHHIQ", answers[:24])
            assert magic == MAGIC and flags == 1
            got.append(number)
            answers = answers[24 + length:]
        assert got == [1, 2]


@pytest.mark.parametrize("name", BAD)
def test_refused_frames_leave_the_daemon_running(cluster, name):
    """CORE-007, H3."""
    for address in ports(cluster):
        answer = talk(address, BAD[name])
        assert b"slurm.key" not in answer
        if name not in ("nothing", "half a header", "body without end"):
            assert answer[:4] == MAGIC and struct.unpack("<H", answer[8:10])[0] & 2, f"no error reply: {answer[:60]}"
    assert cluster.run("scontrol ping").returncode == 0
    assert cluster.run("squeue").returncode == 0


def test_random_frames_leave_the_daemons_running(cluster):
    """F3: the daemons stay, serve others meanwhile, and have no more memory than before."""
    took, quiet = [], max(ask_squeue(cluster) for _ in range(20))
    chance, before = random.Random(SEED), {}
    for i in range(amount(600, 100000)):
        if i == 200:  # warm
            before = {name: memory_kib(cluster.daemons[name].pid) for name in ("slurmctld", "n1")}
        if i % 200 == 199:
            took.append(ask_squeue(cluster))
        body = chance.randbytes(chance.randrange(200))
        data = header(rpc=chance.choice([1, 2, 3, 5, 8, 10, 40, 41, 60, 61, 80, 100, chance.randrange(65536)]),
                      flags=chance.choice([0, 0, 0, 8, chance.randrange(65536)]),
                      token=chance.choice([0, 32, 256]), body=len(body)) + chance.randbytes(256) + body
        talk(chance.choice(ports(cluster)), data)
    for name in ("slurmctld", "n1"):
        assert cluster.running(name)
        assert memory_kib(cluster.daemons[name].pid) - before[name] < 8 * 1024, name
    late = sorted(took)[len(took) * 99 // 100]
    print(f"99 in 100 questions answered within {late * 1000:.0f} ms ({quiet * 1000:.0f} ms before)")
    assert late < quiet + (0.1 if len(took) > 100 else 1)
    assert cluster.run("srun -n1 echo ok").ok() == "ok"


def test_local_socket_refuses_random_frames(cluster):
    chance = random.Random(SEED)
    for name in ("slurmctld", "slurmd-n1"):
        path = str(cluster.dir / "run" / name)
        for i in range(amount(200, 100000)):
            body = chance.randbytes(chance.randrange(100))
            talk(path, header(rpc=chance.choice([1, 2, 3, 8, 9, 10, 12, 61, 100, 101]), body=len(body)) + body)
    assert cluster.run("srun -n1 echo ok").ok() == "ok"


def test_over_tcp_with_minted_tokens(cluster):
    """The path of a host without a controller: every request carries a token of the local node daemon."""
    env = {"SLUICE_NO_LOCAL_SOCKET": "1"}
    assert cluster.run("squeue -h", env=env).returncode == 0
    job = cluster.sbatch("-o", "/dev/null", wrap="true", env=env)
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    assert cluster.run("srun -N2 echo x", env=env).ok() == "x\nx"


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_identity_over_tcp_is_that_of_the_caller(cluster):
    job = cluster.sbatch("-o", "/dev/null", user="nobody", wrap="id -u", env={"SLUICE_NO_LOCAL_SOCKET": "1"})
    assert cluster.wait(job)["UserId"].startswith("nobody(")


def test_replayed_frame_is_refused(cluster, tmp_path):
    """G1: a captured request that another process sends again."""
    seen = []
    listener = socket.create_server(("127.0.0.1", 0))
    conf = tmp_path / "slurm.conf"
    conf.write_text(re.sub(r"SlurmctldPort=\d+", f"SlurmctldPort={listener.getsockname()[1]}",
                           cluster.conf_file.read_text()))
    p = cluster.popen("squeue", env={"SLURM_CONF": str(conf), "SLUICE_NO_LOCAL_SOCKET": "1"})
    taken, _ = listener.accept()
    with taken:
        seen = b""
        while len(seen) < 24 or len(seen) < 24 + sum(struct.unpack("<HI", seen[10:16])):
            seen += taken.recv(65536)
    p.communicate(timeout=60)
    listener.close()
    first = ask(("127.0.0.1", cluster.port), seen)
    assert not struct.unpack("<H", first[8:10])[0] & 2, first
    again = ask(("127.0.0.1", cluster.port), seen)
    assert struct.unpack("<H", again[8:10])[0] & 2 and b"replay" in again.lower(), again
    flipped = bytearray(seen)
    flipped[-1 if len(seen) > 280 else 30] ^= 1
    refused = ask(("127.0.0.1", cluster.port), bytes(flipped))
    assert struct.unpack("<H", refused[8:10])[0] & 2
    other = ask(ports(cluster)[1], seen)  # another daemon is another audience
    assert struct.unpack("<H", other[8:10])[0] & 2
    log = (cluster.dir / "slurmctld.log").read_text()
    assert "127.0.0.1" in log and "refused" in log.lower()


def test_wrong_key_cannot_take_part(make_cluster):
    """CORE-074, G2: a node daemon with another key is refused and logged with its address."""
    c = make_cluster(nodes=1, start=False)
    c.start_controller()
    other = c.dir / "other"
    other.mkdir()
    (other / "slurm.conf").write_text(c.conf_file.read_text().replace(f"socketdir={c.dir}/run", f"socketdir={other}/run"))
    (other / "slurm.key").write_bytes(os.urandom(64))
    (other / "slurm.key").chmod(0o600)
    c.daemons["n1"] = subprocess.Popen([PREFIX / "sbin/slurmd", "-D", "-N", "n1", "-f", other / "slurm.conf"],
                                       env=c.environment(SLURM_CONF=str(other / "slurm.conf")),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    eventually(lambda: "127.0.0.1" in (c.dir / "slurmctld.log").read_text() and
               "refused" in (c.dir / "slurmctld.log").read_text().lower(), "the refusal in the log")
    assert c.run("sinfo -h -o %t").ok() not in ("idle",)


@pytest.mark.parametrize("also_the_controller", [True, False])
def test_a_key_is_rotated(make_cluster, also_the_controller):
    """G2: holders of the old key and of the new key refuse each other; running jobs continue, and work when all daemons have the new key."""
    c = make_cluster(nodes=1)
    job = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {c.work}/go ]; do sleep 0.05; done; exit 3")
    c.wait_script(job)
    (c.dir / "new.key").write_bytes(os.urandom(64))
    (c.dir / "new.key").chmod(0o600)
    (c.dir / "new.key").rename(c.dir / "slurm.key")
    changed, other = ("slurmctld", "n1") if also_the_controller else ("n1", "slurmctld")
    at = (c.dir / "slurmctld.log").stat().st_size
    c.kill(changed)
    start = c.start_controller if changed == "slurmctld" else lambda: c.start_node("n1")
    start()
    eventually(lambda: "refused" in (c.dir / "slurmctld.log").read_text()[at:], "the refusal in the log")
    assert "idle" not in c.run("sinfo -h -o %t").ok().replace("idle*", "")
    c.run("squeue -h", env={"SLUICE_NO_LOCAL_SOCKET": "1"}).fails("slurm.key")  # a token of the old key, or for it
    c.kill(other)
    c.start_node("n1") if other == "n1" else c.start_controller()
    c.wait_ready()
    assert c.run("srun -n1 echo well", env={"SLUICE_NO_LOCAL_SOCKET": "1"}).ok() == "well"
    assert c.state(job) == "RUNNING"
    (c.work / "go").touch()
    assert c.wait(job)["ExitCode"] == "3:0"


@pytest.mark.parametrize("spoil", ["mode", "empty", "missing", "link"])
def test_bad_key_file_stops_the_daemon(make_cluster, spoil):
    c = make_cluster(nodes=1, start=False)
    key = c.dir / "slurm.key"
    if spoil == "mode":
        key.chmod(0o644)
    elif spoil == "empty":
        key.write_bytes(b"")
    elif spoil == "missing":
        key.unlink()
    else:
        key.rename(c.dir / "elsewhere")
        key.symlink_to(c.dir / "elsewhere")
    daemon = "slurmd" if spoil == "missing" else "slurmctld"
    done = c.run([PREFIX / "sbin" / daemon, "-D", *(["-N", "n1"] if daemon == "slurmd" else [])])
    assert done.returncode != 0 and "slurm.key" in done.stderr


def test_files_are_private(cluster):
    """RELIABILITY G10."""
    for path in [cluster.dir / "state", *(cluster.dir / "spool").iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o022 == 0, path
    for path in (cluster.dir / "state").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.allocator  # measures memory
@pytest.mark.slow
def test_slow_senders_are_closed(make_cluster):
    """H2: a request byte by byte: all are closed, without much memory, and others are served. rpc/server has the time, by a clock of its own."""
    c, count = make_cluster(nodes=1, conf="TLSType=none"), amount(100, 1000)
    pid = c.daemons["slurmctld"].pid
    c.run("squeue -h", env={"SLUICE_NO_LOCAL_SOCKET": "1"}).ok()
    before, data = memory_kib(pid), header(rpc=2, token=256, body=2) + bytes(250)
    held, sent, most = [], 0, 0
    for _ in range(count):
        s = socket.create_connection(("127.0.0.1", c.port))
        s.setblocking(False)
        held.append(s)

    def all_closed():
        nonlocal sent, most
        for s in list(held):
            try:
                s.send(data[sent // 8:sent // 8 + 1] if sent % 8 == 0 else b"")
                if s.recv(100) == b"":
                    held.remove(s)
            except BlockingIOError:
                continue
            except OSError:
                held.remove(s)
        sent += 1
        most = max(most, memory_kib(pid) - before)
        c.run("squeue -h").ok()
        return not held
    eventually(all_closed, "the end of all slow senders")
    assert most < 16 * count


def test_slow_sender_does_not_hold_others(cluster):
    held = [socket.create_connection(("127.0.0.1", cluster.port)) for _ in range(200)]
    for s in held:
        s.sendall(header()[:5])
    assert cluster.run("squeue", env={"SLUICE_NO_LOCAL_SOCKET": "1"}).returncode == 0
    for s in held:
        s.close()
