# SPDX-License-Identifier: GPL-3.0-or-later
"""Root believes and runs nothing that others can change: configuration, programs, directories."""
import os
import pathlib
import pwd
import re
import shutil
import subprocess

import pytest

from harness import PREFIX, ROOT, eventually, make_directory, processes_of

pytestmark = pytest.mark.skipif(not ROOT, reason="needs root")
NOBODY = pwd.getpwnam("nobody").pw_uid
ENV = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
ENV["PATH"] = f"{PREFIX}/bin:{PREFIX}/sbin:" + ENV["PATH"]


def daemon_says(c, *argv):
    """What a daemon that does not start says."""
    done = subprocess.run([str(a) for a in argv], env=c.environment(), cwd=c.dir, text=True, capture_output=True, timeout=60)
    assert done.returncode != 0, done
    return done.stderr


def say_all(c):
    return [daemon_says(c, PREFIX / "sbin/slurmctld", "-D"), daemon_says(c, PREFIX / "sbin/slurmd", "-D", "-N", "n1"),
            daemon_says(c, PREFIX / "sbin/slurmctld", "--check")]


def test_directory_of_another_user_is_not_used(make_cluster):
    """The state directory is created under a temporary name, given to SlurmUser and renamed: an existing directory with that name is not used."""
    c = make_cluster(nodes=1, start=False)
    shared = c.dir / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    text = c.conf_file.read_text().replace(f"StateSaveLocation={c.dir}/state", f"StateSaveLocation={shared}/state")
    c.conf_file.write_text(re.sub("^SlurmUser=.*$", "SlurmUser=daemon", text, flags=re.M))
    os.chown(c.dir / "slurm.key", pwd.getpwnam("daemon").pw_uid, 0)
    plant = f'd={shared}/state.$$; mkdir -m 777 $d && touch $d/theirs && chown {NOBODY} $d && exec {PREFIX}/sbin/slurmctld -D'
    said = daemon_says(c, "sh", "-c", plant)
    assert re.search(rf"{shared}/state: cannot make it: {shared}/state\.\d+ is another user's", said), said
    assert not (shared / "state").exists()
    planted, = shared.iterdir()
    assert planted.stat().st_uid == NOBODY


@pytest.mark.parametrize("which", ("slurm.conf", "more.conf", "."))
def test_untrusted_configuration_is_refused(make_cluster, which):
    """The file itself, one that it includes, and the directory of both."""
    c = make_cluster(nodes=1, start=False)
    (c.dir / "more.conf").write_text("MinJobAge=100\n")
    with c.conf_file.open("a") as f:
        f.write("Include more.conf\n")
    path = c.dir / which
    mode = path.stat().st_mode
    path.chmod(0o666 if path.is_file() else 0o777)
    for text in say_all(c):
        assert "others" in text and f"chmod go-w {path.resolve()}" in text, text
    path.chmod(mode)
    os.chown(path, NOBODY, -1)
    for text in say_all(c):
        assert f"belongs to uid {NOBODY}" in text and f"chown root {path.resolve()}" in text, text
    os.chown(path, 0, -1)
    c.start()
    assert c.run("srun hostname").returncode == 0


def test_untrusted_configuration_is_refused_at_reconfigure(make_cluster):
    """A running daemon keeps its files."""
    c = make_cluster(nodes=1)
    c.conf_file.chmod(0o666)
    c.run("scontrol reconfigure").fails("others may write to it", "chmod go-w")
    c.daemons["n1"].send_signal(1)
    eventually(lambda: "the configuration in force stays" in c.tail("n1"), "slurmd refuses it")
    c.conf_file.chmod(0o644)
    c.run("scontrol reconfigure").ok()


def test_untrusted_programs_are_refused(make_cluster):
    c = make_cluster(nodes=1, start=False)
    program = c.dir / "program"
    program.write_text("#!/bin/sh\n")
    conf = c.conf_file.read_text()
    for key in ("Prolog", "Epilog", "TaskProlog", "TaskEpilog"):
        c.conf_file.write_text(f"{conf}{key}={program}\n")
        program.chmod(0o757)
        text = daemon_says(c, PREFIX / "sbin/slurmd", "-D", "-N", "n1")
        assert f"{key}: {program} has mode 0757: others may write to it" in text, text
        program.chmod(0o755)
        os.chown(program, NOBODY, -1)
        text = daemon_says(c, PREFIX / "sbin/slurmd", "-D", "-N", "n1")
        assert f"{key}: {program} belongs to uid {NOBODY}" in text, text
        os.chown(program, 0, -1)
    c.conf_file.write_text(f"{conf}Prolog={program}\n")
    c.start()
    assert c.run("srun hostname").returncode == 0
    program.write_text(f"#!/bin/sh\ntouch {c.dir}/ran\n")
    program.chmod(0o757)  # while the daemon runs
    assert c.run("srun hostname").returncode != 0
    assert "others may write to it" in c.node("n1")["Reason"]
    assert not (c.dir / "ran").exists()


# --- sluice up ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def place():
    path = make_directory("sluice-trust.")
    yield path
    left = processes_of(path)
    shutil.rmtree(path, ignore_errors=True)
    assert not left, f"left behind: {left}"


def up(directory, user=None):
    argv = ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups"] if user else []
    return subprocess.run([*argv, "sluice", "up", "--nodes", "1", "--dir", str(directory)], env=ENV, text=True,
                          capture_output=True, timeout=60)


def test_daemons_leave_no_core_files(make_cluster):
    """They hold keys; processes that they start for users have the limit with which the daemons were started."""
    c = make_cluster(nodes=1)
    for name, daemon in c.daemons.items():
        limits = pathlib.Path(f"/proc/{daemon.pid}/limits").read_text()
        assert re.search(r"Max core file size +0 ", limits), name
        assert pathlib.Path(f"/proc/{daemon.pid}/environ").stat().st_uid == 0, name



@pytest.mark.parametrize("owner,mode,advice", ((NOBODY, 0o755, "give another --dir, or run: chown 0"),
                                               (0, 0o777, "give another --dir, or run: chmod go-w"),
                                               (0, 0o1777, "give another --dir, or run: chmod go-w")))
def test_sluice_up_refuses_a_directory_of_others(place, owner, mode, advice):
    prepared = place / "prepared"
    prepared.mkdir()
    prepared.chmod(mode)
    os.chown(prepared, owner, -1)
    done = up(prepared)
    assert done.returncode == 1 and advice in done.stderr, done.stderr
    assert not list(prepared.iterdir())


def test_sluice_up_refuses_a_parent_of_others(place):
    os.chown(place, NOBODY, -1)
    done = up(place / "new/one")
    assert done.returncode == 1 and f"{place} belongs to uid {NOBODY}" in done.stderr, done.stderr
    (place / "roots").mkdir()
    done = up(place / "roots")
    assert done.returncode == 1 and f"{place} belongs to uid {NOBODY}" in done.stderr, done.stderr
    assert [p.name for p in place.iterdir()] == ["roots"]


def test_sluice_up_of_an_ordinary_user_works(place):
    """In a directory of root, or of all."""
    roots = place / "roots"
    roots.mkdir()
    done = up(roots, "nobody")
    assert done.returncode == 1 and "belongs to uid 0, not to you" in done.stderr, done.stderr
    mine = place / "mine"
    mine.mkdir()
    os.chown(mine, NOBODY, -1)
    mine.chmod(0o777)
    done = up(mine, "nobody")
    assert done.returncode == 1 and "chmod go-w" in done.stderr, done.stderr
