# SPDX-License-Identifier: GPL-3.0-or-later
"""StateSaveStore: the state on a PostgreSQL server. RELIABILITY P1, P5, P7; A1 and D2 with a server in the disk's place."""
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import pytest

from harness import DEADLINE, ROOT, eventually

SERVERS = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
if not SERVERS and not os.environ.get("CI"):
    pytest.skip("there is no PostgreSQL server here (Debian: package postgresql-15)", allow_module_level=True)


class Server:
    """A private server on a UNIX socket in a directory of its own, run by an ordinary user."""

    def __init__(self):
        self.bin = pathlib.Path(SERVERS[-1]).parent
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-pg."))
        self.dir.chmod(0o755)
        self.user = {}
        if ROOT:
            entry = pwd.getpwnam("postgres")
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            os.chown(self.dir, entry.pw_uid, entry.pw_gid)
        subprocess.run([self.bin / "initdb", "-D", self.dir / "data", "-U", "admin", "-A", "trust", "-E", "UTF8",
                        "--no-locale", "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=self.dir, **self.user)
        self.process = None
        self.start()

    @property
    def url(self):
        return f"postgresql://admin:do-not-show@/postgres?host={self.dir}"

    def start(self):
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.dir / "data", "-k", self.dir, "-c", "listen_addresses=",
                 "-c", "shared_buffers=32MB"], stdout=log, stderr=log, cwd=self.dir, **self.user)
        eventually(lambda: self.sql("SELECT 1") == "1", "a server that answers\n" + (self.dir / "log").read_text())

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(DEADLINE)

    def sql(self, text):
        done = subprocess.run([self.bin / "psql", "-X", "-A", "-t", "-h", self.dir, "-U", "admin", "-d", "postgres", "-c", text],
                              text=True, capture_output=True, cwd="/")
        return done.stdout.strip()

    def destroy(self):
        if self.process.poll() is None:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self.dir, ignore_errors=True)


@pytest.fixture
def server():
    s = Server()
    try:
        yield s
    finally:
        s.destroy()


def test_state_is_on_the_server(make_cluster, server):
    """Killed and started again, a controller knows what it acknowledged; nobody sees the password."""
    c = make_cluster(nodes=2, conf=f"StateSaveStore={server.url}")
    held = [c.sbatch("-H", "-o", "/dev/null", "-J", f"kept{i}", wrap="true") for i in range(5)]
    c.kill("slurmctld")
    c.start_controller()
    for i, job in enumerate(held):
        assert c.job(job)["JobName"] == f"kept{i}"
        c.run(f"scontrol release {job}").ok()
    assert all(c.wait(job)["JobState"] == "COMPLETED" for job in held)
    assert not (c.dir / "state" / "state.db").exists()
    assert int(server.sql("SELECT epoch FROM sluice_test.lead")) == 2
    shown = c.run("scontrol show config").ok()
    assert "admin:****@" in shown and "do-not-show" not in shown
    assert "do-not-show" not in c.tail("slurmctld", 10000)


def test_server_that_is_away(make_cluster, server):
    """Nothing is acknowledged while the server is away, and everything goes on when it is back."""
    c = make_cluster(nodes=1, conf=f"StateSaveStore={server.url}")
    before = c.sbatch("-H", "-o", "/dev/null", wrap="true")
    server.stop()
    waiting = c.popen(["sbatch", "--parsable", "-H", "-o", "/dev/null", "--wrap=true"])
    eventually(lambda: "nothing is answered until the state can be saved" in c.tail("slurmctld", 100), "a report")
    assert waiting.poll() is None
    server.start()
    out, err = waiting.communicate(timeout=DEADLINE)
    assert waiting.returncode == 0, err
    c.kill("slurmctld")
    c.start_controller()
    assert {c.state(before), c.state(int(out))} == {"PENDING"}
    assert "is saved to postgresql://" in c.tail("slurmctld", 10000)


def test_second_controller_ends_the_first(make_cluster, server):
    """Two controllers on one store: the later one leads, the earlier one ends at its next change."""
    c = make_cluster(nodes=1, conf=f"StateSaveStore={server.url}")
    server.sql("SET search_path = sluice_test; SELECT lead_take('somebody else', false)")
    asking = c.popen(["sbatch", "-H", "-o", "/dev/null", "--wrap=true"])
    eventually(lambda: c.daemons["slurmctld"].poll() is not None, "the end of the first controller")
    assert c.daemons.pop("slurmctld").returncode != 0
    assert "somebody else leads since" in c.tail("slurmctld", 100)
    c.start_controller()
    asking.communicate(timeout=DEADLINE)
    c.wait_ready()
