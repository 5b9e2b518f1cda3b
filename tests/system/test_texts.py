# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about the usual mistakes of a new administrator name the object and the remedy."""
import os
import pwd
import re
import shutil

import pytest

from harness import DEADLINE, PREFIX, ROOT, eventually

AS_NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def said(c, name, argv):
    """What a daemon that does not start says."""
    c.spawn(name, argv)
    assert c.daemons.pop(name).wait(DEADLINE) == 1
    return (c.dir / f"{name}.stderr").read_text()


def test_key_of_a_node_is_missing_or_differs(make_cluster):
    c = make_cluster(nodes=1, start=False)
    c.start_controller()
    other = c.dir / "other"
    other.mkdir()
    shutil.copy(c.conf_file, other / "slurm.conf")
    slurmd = [PREFIX / "sbin/slurmd", "-D", "-N", "n1", "-f", other / "slurm.conf"]
    assert f"slurmd: error: cluster key '{other}/slurm.key' is missing: copy it from the controller\n" in said(c, "n1", slurmd)
    (other / "slurm.key").write_bytes(os.urandom(64))
    (other / "slurm.key").chmod(0o600)
    c.spawn("n1", slurmd)
    eventually(lambda: re.search(r"refused: 127.0.0.1:\d+: .*does not know the key that is used here; slurm.key must be the same on every host",
                                 (c.dir / "slurmctld.log").read_text()), lambda: c.tail("slurmctld"))
    eventually(lambda: f"session with 127.0.0.1:{c.port}: refused: the caller does not know the key" in (c.dir / "n1.stderr").read_text(), lambda: c.tail("n1"))


@pytest.mark.skipif(not ROOT, reason="needs root: a directory of another user")
@pytest.mark.parametrize("key, there, text", [
    ("StateSaveLocation", False, "cannot create StateSaveLocation '{dir}/closed/x' (Permission denied): create the directory and run 'chown nobody"),
    ("StateSaveLocation", True, "StateSaveLocation '{dir}/closed/x' is not writable for SlurmUser nobody: run 'chown nobody {dir}/closed/x'"),
    ("SlurmdSpoolDir", False, "cannot create SlurmdSpoolDir '{dir}/closed/x' (Permission denied): create the directory and run 'chown nobody"),
])
def test_directory_that_cannot_be_written(make_cluster, key, there, text):
    c = make_cluster(nodes=1, start=False)
    (c.dir / "closed").mkdir()
    if there:
        (c.dir / "closed/x").mkdir()
    conf = re.sub("^(SlurmUser|SlurmdUser)=.*$", r"\1=nobody", c.conf_file.read_text(), flags=re.M)
    conf = re.sub(f"^{key}=.*$", f"{key}={c.dir}/closed/x", conf, flags=re.M)
    c.conf_file.write_text(re.sub("^(Slurm.*LogFile|AuthInfo)=.*\n", "", conf, flags=re.M))
    os.chown(c.dir / "slurm.key", pwd.getpwnam("nobody").pw_uid, 0)
    daemon = "slurmctld" if key == "StateSaveLocation" else "n1"
    argv = [PREFIX / "sbin/slurmctld", "-D"] if daemon == "slurmctld" else [PREFIX / "sbin/slurmd", "-D", "-N", "n1"]
    out = said(c, daemon, [*AS_NOBODY, *argv])
    assert text.format(dir=c.dir) in out, out


@pytest.mark.skipif(not ROOT, reason="needs root: files of another user")
def test_files_that_cannot_be_opened(make_cluster):
    """Keys, logs, process ids and the spool directory: the message contains the file, the reason and the remedy."""
    c = make_cluster(nodes=2, start=False)
    plain = c.conf_file.read_text()
    slurmd, slurmctld = [PREFIX / "sbin/slurmd", "-D", "-N", "n1"], [PREFIX / "sbin/slurmctld", "-D"]

    def configure(**keys):
        text = plain
        for key, value in keys.items():
            text = re.sub(f"^{key}=.*\n", "", text, flags=re.M) + f"\n{key}={value}\n"
        c.conf_file.write_text(text)

    configure(SlurmUser="nobody", SlurmdUser="nobody")
    key = c.dir / "slurm.key"
    uid = pwd.getpwnam("nobody").pw_uid
    text = f"uid {uid} cannot read '{key}': run 'chown {uid} {key}' and 'chmod 0600 {key}', or start the daemon as root"
    assert text in said(c, "slurmctld", [*AS_NOBODY, *slurmctld])
    assert text in said(c, "n1", [*AS_NOBODY, *slurmd])
    key.rename(c.dir / "away")
    out = said(c, "slurmctld", [*AS_NOBODY, *slurmctld])
    assert f"cluster key '{key}' is missing and cannot be created (Permission denied): run 'dd if=/dev/urandom of={key}" in out
    (c.dir / "away").rename(key)
    configure(SlurmdLogFile=c.dir / "none/log")
    assert f"cannot open SlurmdLogFile '{c.dir}/none/log': No such file or directory: create its directory" in said(c, "n1", slurmd)
    configure(SlurmdPidFile=c.dir / "none/pid")
    out = said(c, "n1", slurmd)
    assert f"SlurmdPidFile '{c.dir}/none/pid': cannot open directory {c.dir}/none: No such file or directory: create its directory" in out
    configure(SlurmctldLogFile=c.dir / "none/log", SlurmdSpoolDir=c.dir / "one")
    c.start_controller()
    text = f"cannot open SlurmctldLogFile '{c.dir}/none/log': No such file or directory: logging to standard error; create its directory"
    assert text in (c.dir / "slurmctld.stderr").read_text()
    c.start_node("n2")
    eventually(lambda: (c.dir / "one/id").exists(), lambda: c.tail("n2"))
    assert f"SlurmdSpoolDir '{c.dir}/one' is in use by another slurmd: stop that one, or put %n into" in said(c, "n1", slurmd)


@pytest.mark.parametrize("line, text", [
    ("sbatch -d after_ok:1 --wrap true", "unknown dependency type 'after_ok'"),
    ("sbatch -d ok --wrap true", "invalid dependency 'ok': use TYPE:JOB[:JOB...]"),
    ("sbatch -N1 -x n[1-2] --wrap true", "--exclude leaves no node"),
])
def test_refusals_say_what_to_do(make_cluster, line, text):
    c = make_cluster(nodes=2)
    c.run(line).fails(text)


@pytest.mark.skipif(not ROOT, reason="needs root: an ordinary user")
def test_ordinary_user_may_not_set_a_priority(make_cluster):
    make_cluster(nodes=1).run("sbatch --priority=5 --wrap true", user="nobody").fails("only operators may set a priority")
