# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that runs as SlurmUser on a host where nothing was prepared for it."""
import os
import pathlib
import pwd
import re
import shutil

import pytest

from harness import PREFIX, ROOT, eventually

USER, OTHER = "nobody", "daemon"


class Unprepared:
    """slurmctld of an ordinary user; slurmd of root; no AuthInfo."""

    def __init__(self, make_cluster):
        self.c = c = make_cluster(nodes=1, start=False, name="unprepared")
        self.home = c.dir / "home"
        self.home.mkdir()
        text = re.sub("^AuthInfo=.*\n", "", c.conf_file.read_text(), flags=re.M)
        text = re.sub("^SlurmUser=.*$", f"SlurmUser={USER}", text, flags=re.M)
        text = re.sub("^SlurmctldLogFile=.*$", f"SlurmctldLogFile={self.home}/ctld.log", text, flags=re.M)
        text = re.sub("^StateSaveLocation=.*$", f"StateSaveLocation={self.home}/new/deep/state", text, flags=re.M)
        c.conf_file.write_text(text)
        self.uid = pwd.getpwnam(USER).pw_uid
        os.chown(c.dir / "slurm.key", self.uid, 0)
        self.usual = pathlib.Path(f"/run/sluice/unprepared-{c.port}")

    def log(self):
        return (self.home / "ctld.log").read_text()

    def start_as_user(self):
        self.c.spawn("slurmctld", ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", PREFIX / "sbin/slurmctld", "-D"])
        eventually(lambda: self.c.running("slurmctld") and self.c.run("scontrol ping").returncode == 0, lambda: self.c.tail("slurmctld"))


@pytest.fixture
def unprepared(make_cluster):
    if not ROOT:
        pytest.skip("needs root: several users")
    u = Unprepared(make_cluster)
    yield u
    u.c.stop()
    shutil.rmtree(u.usual, ignore_errors=True)


@pytest.mark.parametrize("node_first", [False, True])
def test_controller_of_an_ordinary_user_is_found_by_commands(unprepared, node_first):
    """The sockets are beside the state, since this user cannot write to /run; a node daemon of root still has its own there."""
    u = unprepared
    c = u.c
    os.chown(u.home, u.uid, 0)
    if node_first:
        c.start_node("n1")
        eventually((u.usual / "slurmd-n1").exists, lambda: c.tail("n1"))
    u.start_as_user()
    assert re.search(f"the local socket is in {u.home}/new/deep/sluice-unprepared-{c.port}: SlurmUser {USER} cannot write to {u.usual}", u.log())
    if not node_first:  # before any node daemon can vouch for a user over TCP
        c.run("scontrol show nodes", user=OTHER).ok()
        c.start_node("n1")
    c.wait_ready()
    job = c.sbatch(wrap="true", user=OTHER)
    assert c.wait(job)["JobState"] == "COMPLETED"


def test_state_below_directories_that_root_creates(unprepared):
    """Started as root, it creates the directories above the state so that SlurmUser can pass them."""
    u = unprepared
    u.c.start_controller()
    assert oct((u.home / "new/deep").stat().st_mode & 0o777) == "0o755"
    state = (u.home / "new/deep/state").stat()
    assert (oct(state.st_mode & 0o777), state.st_uid) == ("0o700", u.uid)
    assert (u.usual / "slurmctld").exists()


def test_chosen_socket_directory_is_not_replaced(unprepared):
    u = unprepared
    c = u.c
    os.chown(u.home, u.uid, 0)
    c.conf_file.write_text(c.conf_file.read_text() + f"AuthInfo=socketdir={c.dir}/closed\n")
    c.spawn("slurmctld", ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", PREFIX / "sbin/slurmctld", "-D"])
    assert c.daemons.pop("slurmctld").wait() == 1
    said = (c.dir / "slurmctld.stderr").read_text()
    assert f"cannot create a socket in the socket directory '{c.dir}/closed'" in said
    assert "start the daemon as root, create the directory for the daemon's user, or set AuthInfo=socketdir=DIR" in said
