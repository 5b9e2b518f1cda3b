# SPDX-License-Identifier: GPL-3.0-or-later
"""X11 forwarding, with a display and programs that speak the beginning of the protocol: X-33."""
import os
import pathlib
import pwd
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest

from harness import DEADLINE, PREFIX, ROOT, child_named, eventually

REAL = bytes(range(16))

CLIENT = r"""
import os, socket, struct, sys
host, _, rest = os.environ["DISPLAY"].rpartition(":")
number, _, screen = rest.partition(".")
entry = open(os.environ["XAUTHORITY"], "rb").read()
cookie = bytes.fromhex(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else entry[-16:]
family = int(sys.argv[2]) if len(sys.argv) > 2 else socket.AF_INET
s = socket.socket(family)
s.connect(("::1" if family == socket.AF_INET6 else "127.0.0.1", 6000 + int(number)))
name = b"MIT-MAGIC-COOKIE-1"
got = bytearray()
try:
    s.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(name), len(cookie)) + name + b"\0\0" + cookie)
    s.sendall(b"request of " + os.environ["SLURM_PROCID"].encode())
    while not got.endswith(b"."):
        more = s.recv(65536)
        if not more:
            break
        got += more
except OSError: # closed, with bytes of ours that nobody has read
    pass
print(host, screen, len(got), got[:40].decode())
"""


class Display:
    """Takes connections on a socket of this host; answers each when it has shown the right cookie and asked something."""

    def __init__(self, path, answer=b"windows."):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        path.chmod(0o777)
        self.listener.listen(50)
        self.answer, self.path = answer, path
        self.cookies, self.asked = [], []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                s = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        with s:
            got = b""
            while b"request of " not in got or len(got) < 60:
                more = s.recv(4096)
                if not more:
                    return
                got += more
            name, data = struct.unpack("<HH", got[6:10])
            self.cookies.append(got[12 + name + -name % 4:][:data])
            self.asked.append(got[got.index(b"request of "):].decode())
            if self.cookies[-1] == REAL:
                s.sendall(self.answer)


def authority(path):
    host = socket.gethostname().encode()
    name = b"MIT-MAGIC-COOKIE-1"
    path.write_bytes(struct.pack(">H", 256) + b"".join(struct.pack(">H", len(x)) + x for x in (host, b"0", name, REAL)))
    path.chmod(0o644)
    return path


@pytest.fixture(scope="module")
def display(cluster):
    d = Display(cluster.dir / "X")
    d.env = {"DISPLAY": f"{d.path}:0", "XAUTHORITY": str(authority(cluster.dir / "authority"))}
    (cluster.work / "client.py").write_text(CLIENT)
    yield d
    d.listener.close()


def flood(port):
    """Connections of a stranger's, each with more than it is asked for; as many as are taken."""
    for _ in range(400):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=0.5) as s:
                s.settimeout(0.5)
                s.sendall(bytes(1 << 18))
        except OSError:
            return


def client(*args):
    return [sys.executable, "client.py", *args]


def test_unaccepted_x11_connections_use_no_memory(cluster, display):
    """Connections that srun does not accept use no memory of the step daemon, nor do closed ones; all work when srun continues."""
    step = cluster.popen(["srun", "--x11", "-w", "n1", "-n1", "sh", "-c", 'echo $DISPLAY; read x; exec "$@"', "sh", *client()],
                         env=display.env, stdin=subprocess.PIPE)
    port = 6000 + int(re.fullmatch(r"localhost:(\d+)\.0\n", step.stdout.readline())[1])
    step.send_signal(signal.SIGSTOP)
    try:
        flood(port)
        shepherd = child_named(cluster.daemons["n1"].pid, "slurmstepd")
        status = pathlib.Path(f"/proc/{shepherd}/status").read_text()
    finally:
        step.send_signal(signal.SIGCONT)
    assert int(re.search(r"VmRSS:\s*(\d+) kB", status)[1]) < 8192 or b"__asan_init" in (PREFIX / "sbin/slurmstepd").read_bytes()
    out, err = step.communicate("go\n", timeout=60)
    assert out == "localhost 0 8 windows.\n", err


@pytest.mark.parametrize("user", (None, pytest.param("nobody", marks=pytest.mark.skipif(not ROOT, reason="needs root"))))
def test_every_task_opens_windows(cluster, display, user):
    """X-33: through each node's own display, with a cookie that is not the real one; the display sees the real one."""
    display.cookies.clear(), display.asked.clear()
    out = cluster.run(["srun", "-N2", "-n4", "--x11", *client()], env=display.env, user=user).ok()
    assert out.splitlines() == ["localhost 0 8 windows."] * 4
    assert sorted(display.asked) == [f"request of {i}" for i in range(4)]
    assert display.cookies == [REAL] * 4
    look = "echo $DISPLAY; ls -l $XAUTHORITY; cat $XAUTHORITY | od -An -tx1; echo looked; read go"
    with cluster.popen(["srun", "-N2", "-n2", "--x11", "sh", "-c", look], env=display.env, user=user, stdin=subprocess.PIPE) as step:
        seen = ""
        while seen.count("looked\n") < 2:  # a node whose tasks have ended lends its display's number to the other
            line = step.stdout.readline()
            assert line, seen
            seen += line
        step.communicate("go\n")
    assert REAL.hex(" ", 1)[:23] not in seen
    assert seen.count("-rw------- 1 " + (user or "root" if ROOT else "")) == 2
    assert len({line for line in seen.splitlines() if line.startswith("localhost:")}) == 2  # of nodes of one host: two displays
    eventually(lambda: not list(cluster.dir.glob("spool/*/x11.*")), "the files of the cookies go with the steps")


def test_the_cookie_of_a_step_stays_in_its_file(cluster, display):
    """RELIABILITY G10: it is in no log, command line, environment or other file, while the step runs and later."""
    with cluster.popen(["srun", "-N1", "-n1", "--x11", "sh", "-c", "echo $XAUTHORITY; exec sleep 1000"], env=display.env) as step:
        path = pathlib.Path(step.stdout.readline().strip())
        cookie = path.read_bytes()[-16:]
        assert path.stat().st_mode & 0o077 == 0 and cookie != REAL
        cluster.check_secrets(cookie=cookie)
        step.terminate()
        step.communicate()
    cluster.check_secrets(cookie=cookie)


def test_x11_works_over_ipv6(cluster, display):
    """Programs try both addresses of localhost, so both are ours."""
    if not pathlib.Path("/proc/net/if_inet6").exists():
        pytest.skip("this host has no IPv6")
    out = cluster.run(["srun", "-n1", "--x11", *client("", str(int(socket.AF_INET6)))], env=display.env).ok()
    assert out == "localhost 0 8 windows."


def test_a_wrong_cookie_is_refused(cluster, display):
    """Other users of the node reach the port; srun accepts only connections with the cookie."""
    display.cookies.clear()
    done = cluster.run(["srun", "-n1", "--x11", *client("ff" * 16)], env=display.env)
    assert done.stdout == "localhost 0 0 \n"
    assert "srun: error: X11: refused a program on node n1: it does not know the cookie of this step" in done.stderr
    done = cluster.run(["srun", "-n1", "--x11", *client(REAL.hex())], env=display.env)
    assert done.stdout == "localhost 0 0 \n" and not display.cookies


@pytest.mark.parametrize("where, nodes", (("first", ["n1"]), ("last", ["n3"]), ("all", ["n1", "n2", "n3"])))
def test_x11_is_forwarded_to_the_chosen_nodes(cluster, display, where, nodes):
    out = cluster.run(["srun", "-N3", "-n3", f"--x11={where}", "sh", "-c", "echo $SLURMD_NODENAME $DISPLAY"], env=display.env).ok()
    assert sorted(line.split()[0] for line in out.splitlines() if " localhost:" in line) == nodes
    assert out.count(str(display.path)) == 3 - len(nodes)


@pytest.mark.slow
def test_much_data_arrives_before_the_end_of_a_stream(cluster, display):
    """A reply of several windows arrives completely, and so do data that a program sent before it closed."""
    big = Display(cluster.dir / "X-big", b"x" * 20_000_000 + b".")
    env = {**display.env, "DISPLAY": f"{big.path}:0"}
    out = cluster.run(["srun", "-N2", "-n4", "--x11", *client()], env=env).ok()
    assert out.splitlines() == [f"localhost 0 20000001 {'x' * 40}"] * 4
    big.listener.close()


def test_steps_of_an_x11_allocation_forward_x11(cluster, display):
    """salloc --x11: its steps forward X11 without an option."""
    out = cluster.run(["salloc", "-N1", "--x11=first", "srun", *client()], env=display.env).ok()
    assert out == "localhost 0 8 windows."


def test_invalid_x11_requests_are_refused(cluster, display):
    none = {"XAUTHORITY": display.env["XAUTHORITY"]}
    unset = ["env", "-u", "DISPLAY"]
    for command in ("srun", "salloc"):
        cluster.run([*unset, command, "--x11", "true"], env=none).fails(
            f"{command}: error: No DISPLAY variable set, cannot setup x11 forwarding.")
        cluster.run([command, "--x11=some", "true"], env=display.env).fails("Invalid --x11 specification: some")
    cluster.run("srun --x11 true", env={**none, "DISPLAY": "nonsense"}).fails(
        "srun: error: DISPLAY=nonsense is not of the form HOST:NUMBER.SCREEN")
    done = cluster.run(["srun", "--x11", *client()], env={**none, "DISPLAY": f"{cluster.dir}/gone:0"})
    assert done.stdout == "localhost 0 0 \n"
    assert f"srun: error: X11: display {cluster.dir}/gone:0 cannot be reached: No such file or directory" in done.stderr
    done = cluster.run("srun --x11 true", env={**display.env, "XAUTHORITY": str(cluster.dir / "none")})
    assert "/none: No such file or directory: display 0 may refuse windows" in done.stderr and done.returncode == 0


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_display_of_another_user_does_not_get_the_cookie(cluster, display):
    """Any user can listen under the abstract name of a display that does not exist."""
    number = 7000 + cluster.port % 1000
    listen = (f"import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0/tmp/.X11-unix/X{number}'); s.listen(5); "
              "print('on', flush=True); c = s.accept()[0]; print('got', c.recv(4096), flush=True)")
    thief = cluster.popen([sys.executable, "-c", listen], user="nobody")
    assert thief.stdout.readline() == "on\n"
    other = cluster.dir / "authority2"
    other.write_bytes(pathlib.Path(display.env["XAUTHORITY"]).read_bytes().replace(
        b"\0\x010", struct.pack(">H", len(str(number))) + str(number).encode()))
    done = cluster.run(["srun", "-n1", "--x11", *client()], env={"DISPLAY": f":{number}", "XAUTHORITY": str(other)})
    assert done.stdout == "localhost 0 0 \n" and "cannot be reached: Operation not permitted" in done.stderr
    assert "has no cookie" not in done.stderr
    thief.kill()
    assert REAL.hex() not in thief.communicate()[0].encode().hex()


def test_programs_that_stay_open_end_with_the_step(cluster, display):
    """A program that is killed leaves no listener, no file and no connection."""
    slow = Display(cluster.dir / "X-slow", b"never whole")
    env = cluster.environment(**{**display.env, "DISPLAY": f"{slow.path}:0"})
    srun = subprocess.Popen([PREFIX / "bin/srun", "--x11", *client()], env=env, cwd=cluster.work, stderr=subprocess.DEVNULL)
    eventually(lambda: slow.cookies, "the program is connected")
    srun.kill()
    srun.wait()
    eventually(lambda: not list(cluster.dir.glob("spool/*/x11.*")), "the step has ended")
    eventually(lambda: not cluster.run("squeue -h").ok(), "and its job")
    slow.listener.close()


def start_with_home(make_cluster):
    """X11Parameters=home_xauthority: root's home is a directory of the cluster, and user nobody has none. Only the node daemon sees other homes than
    those of this machine."""
    c = make_cluster(nodes=1, conf="X11Parameters=home_xauthority", start=False)
    nobody, users, home = pwd.getpwnam("nobody"), c.dir / "passwd", c.dir / "home/.Xauthority"
    home.parent.mkdir(mode=0o700)
    users.write_text(f"root:x:0:0::{home.parent}:/bin/sh\nnobody:x:{nobody.pw_uid}:{nobody.pw_gid}::{c.dir}/none:/bin/sh\n")
    c.start_controller()
    c.spawn("n1", ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', users,
                   PREFIX / "sbin/slurmd", "-D", "-N", "n1"])
    c.wait_ready()
    d = Display(c.dir / "X")
    env = {"DISPLAY": f"{d.path}:0", "XAUTHORITY": str(authority(c.dir / "authority"))}
    (c.work / "client.py").write_text(CLIENT)
    return c, d, home, env


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_a_step_that_waits_for_the_home_directory_can_be_cancelled(make_cluster):
    """X11Parameters=home_xauthority: another program's lock is waited for, and orders are obeyed meanwhile."""
    c, d, home, env = start_with_home(make_cluster)
    locks = [home.with_name(f".Xauthority-{x}") for x in "cl"]
    try:
        for lock in locks:
            lock.touch()
        with c.popen(["srun", "--x11", "-n1", "true"], env=env) as step:
            eventually(lambda: c.run("squeue -h -s").ok(), "the step")
            c.run(f"scancel {c.run('squeue -h -o %A').ok()}").ok()
            _, errors = step.communicate(timeout=DEADLINE)
            assert step.returncode != 0 and "CANCELLED" in errors and "took longer" not in errors, errors
        eventually(lambda: not c.run("squeue -h").ok(), "the job's end")
        assert all(lock.exists() for lock in locks) and not home.exists()
        for lock in locks:
            lock.unlink()
        assert c.run(["srun", "--x11", "-n1", "sh", "-c", "echo $XAUTHORITY"], env=env).ok() == str(home)
        eventually(lambda: not home.exists(), "the entry's end")
    finally:
        d.listener.close()


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_cookie_in_the_home_directory(make_cluster):
    """X11Parameters=home_xauthority: an entry for the step's display beside the user's others, until the step ends; no command waits for its
    removal."""
    c, d, home, env = start_with_home(make_cluster)
    locks = [home.with_name(f".Xauthority-{x}") for x in "cl"]
    mine = struct.pack(">H", 256) + b"".join(struct.pack(">H", len(x)) + x for x in (b"elsewhere", b"0", b"MIT-MAGIC-COOKIE-1", bytes(16)))
    try:
        home.write_bytes(mine)
        step = c.popen(["srun", "--x11", "-n1", "sh", "-c", 'echo $XAUTHORITY $DISPLAY; exec "$@"', "sh", *client()], env=env)
        out, errors = step.communicate()
        path, display = out.splitlines()[0].split()
        assert step.returncode == 0 and path == str(home) and re.fullmatch(r"localhost:\d+\.0", display), errors
        assert out.splitlines()[1].endswith("windows.") and d.cookies == [REAL]
        eventually(lambda: home.read_bytes() == mine, "the entry's end")
        eventually(lambda: list(home.parent.iterdir()) == [home], "neither a lock nor a new file is left")
        c.run(["srun", "--x11", "-n1", "sh", "-c", "touch $XAUTHORITY-c $XAUTHORITY-l"], env=env).ok()  # as a program that changes the file
        eventually(lambda: not c.run("squeue -h").ok(), "the job's end, with the entry there")
        assert home.read_bytes().startswith(mine) and home.read_bytes() != mine
        locks[0].unlink(), locks[1].unlink()
        eventually(lambda: home.read_bytes() == mine, "the entry's end")
        eventually(lambda: list(home.parent.iterdir()) == [home], "the lock's end")
        home.unlink()
        os.mkfifo(home)
        c.run(["srun", "--x11", "-n1", "true"], env=env).fails(f"cannot change '{home}' for X11 forwarding: it is not a regular file; remove it")
        c.run(["srun", "--x11", "-n1", "true"], user="nobody", env=env).fails(  # the only node is not drained: users' files are no fault of it
            f"cannot change '{c.dir}/none/.Xauthority' for X11 forwarding: No such file or directory")
    finally:
        d.listener.close()
