# SPDX-License-Identifier: GPL-3.0-or-later
"""A private PostgreSQL server for a test."""
import atexit
import functools
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess

from harness import DEADLINE, ROOT, eventually, make_directory

SERVERS = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))


def account():
    """Of the server: it does not run as root."""
    if not ROOT:
        return {}
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def new_directory():
    path = make_directory("sluice-pg.")
    if ROOT:
        os.chown(path, account()["user"], account()["group"])
    return path


@functools.cache
def new_database(programs):
    """Returns the directory of a database that no server has used. initdb takes longer than most tests with a server: it runs once, and each server
    begins with a copy."""
    path = new_directory()
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    subprocess.run([programs / "initdb", "-D", path / "data", "-U", "admin", "-A", "trust", "-E", "UTF8", "--wal-segsize=1",
                    "--no-locale", "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=path, **account())
    return path / "data"


class Server:
    """A private server on a UNIX socket in a directory of its own, run by an ordinary user. 'inside': words before the command
    that bring it to a host, where it listens to all of 'network' as well."""

    def __init__(self, inside=(), network=None):
        if not SERVERS and not os.environ.get("CI"):
            import pytest  # the benchmarks do without
            pytest.skip("there is no PostgreSQL server here (Debian: package postgresql-15)")
        self.bin = pathlib.Path(SERVERS[-1]).parent
        self.dir = new_directory()
        self.user = account()
        subprocess.run(["cp", "-a", new_database(self.bin), self.dir], check=True, cwd="/", **self.user)
        self.inside, self.listen = [*inside], "*" if network else ""
        if network:
            with open(self.dir / "data/pg_hba.conf", "a") as hba:
                hba.write(f"host all all {network} trust\n")
        self.process = None
        self.start()

    @property
    def url(self):
        return f"postgresql://admin:do-not-show@/postgres?host={self.dir}"

    def start(self):
        with open(self.dir / "log", "ab") as log:
            become = ["setpriv", f"--reuid={self.user['user']}", f"--regid={self.user['group']}", "--clear-groups"] if self.inside else []
            self.process = subprocess.Popen(
                [*self.inside, *become, self.bin / "postgres", "-D", self.dir / "data", "-k", self.dir,
                 "-c", f"listen_addresses={self.listen}", "-c", "shared_buffers=32MB"],
                stdout=log, stderr=log, cwd=self.dir, **({} if self.inside else self.user))
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
