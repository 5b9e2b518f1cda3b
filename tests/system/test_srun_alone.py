# SPDX-License-Identifier: GPL-3.0-or-later
"""srun is linked statically, and becomes srun-dynamic before it does anything when it needs shared libraries (docs/adr/0054)."""
import os
import re
import subprocess

import pytest

from harness import PREFIX, ROOT
from preload import NAMES, Switch, library

DYNAMIC = PREFIX / "sbin/srun-dynamic"  # where srun is not static, there is none
NAME = "controller.invalid"
UID = 1  # daemon
PLUGIN = """
const char plugin_name[] = "nothing", plugin_type[] = "spank";
const unsigned int plugin_version = 1;
"""


def environment_of(c, what):
    """Of an srun that is to need that."""
    text, more = c.conf_file.read_text(), {}
    if what == "user of passwd":
        text = re.sub("(?m)^SlurmUser=.*$", "SlurmUser=daemon", text)
    if what == "host without socket":
        text, more = text.replace("localhost(127.0.0.1)", "localhost(localhost)"), {"SLUICE_NO_LOCAL_SOCKET": "1"}
    if what == "name of a host":
        text, more = text.replace("localhost(127.0.0.1)", f"localhost({NAME})"), {"SLUICE_NO_LOCAL_SOCKET": "1"}
    if what in ("preloaded library", "name of a host"):
        more["LD_PRELOAD"] = str(library(c.dir / "names", NAMES))
        Switch(c.dir / "names").on("hosts", f"{NAME} 127.0.0.1\n")
    if what == "plugin":
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", c.dir / "plugin.so"], input=PLUGIN, text=True, check=True)
        (c.dir / "one.conf").write_text(f"required {c.dir}/plugin.so\n")
        text += f"PlugStackConfig={c.dir}/one.conf\n"
    if what == "filter":
        text += "CliFilterPlugins=cli_filter/user_defaults\n"
    path = c.dir / f"{what.replace(' ', '-')}.conf"
    path.write_text(text)
    return {"SLURM_CONF": str(path), **more}


@pytest.mark.parametrize("what, stays", [("nothing", True), ("user of passwd", True), ("host without socket", True),
                                         ("preloaded library", False), ("name of a host", False),
                                         ("plugin", False), ("filter", False)])
def test_static_srun_changes_to_dynamic_only_if_needed(cluster, what, stays):
    """Whichever it is, the step runs, and the process is called srun."""
    task = cluster.popen(["srun", "-n1", "sh", "-c", "echo $0 here; read x", "a b"], env=environment_of(cluster, what), stdin=subprocess.PIPE)
    assert task.stdout.readline() == "a b here\n", task.communicate("\n")
    program = os.readlink(f"/proc/{task.pid}/exe")
    assert open(f"/proc/{task.pid}/comm", encoding="ascii").read() == "srun\n"
    task.communicate("\n")
    assert task.returncode == 0
    assert program == str(PREFIX / "bin/srun" if stays or not DYNAMIC.exists() else DYNAMIC)


@pytest.mark.parametrize("option, name, least, some", [("d", "RLIMIT_DATA", 1024, 500), ("v", "RLIMIT_AS", 4096, 3500)])
def test_a_limit_below_what_srun_needs_is_named(cluster, option, name, least, some):
    """It crashed in the C library, which allocates before main() is called. A kernel refuses programs below even smaller limits by itself."""
    for kib in some, least - 1, least:
        done = cluster.run(["sh", "-c", f"ulimit -c 0; ulimit -S -{option} {kib} && exec {PREFIX}/bin/srun --version"])
        if DYNAMIC.exists() and kib < least:
            done.fails(f"srun: error: {name} is below {least // 1024} MiB, which srun needs: raise it with 'ulimit -{option}'")
        elif DYNAMIC.exists():
            done.ok()


@pytest.mark.parametrize("change, why", [
    (("SlurmUser=root", "SlurmUser=no-such-user"), "SlurmUser=no-such-user: no such user on this host"),
    (("localhost(127.0.0.1)", f"localhost({NAME})"), NAME)])
def test_unknown_names_are_reported(cluster, change, why):
    """srun-dynamic looks up names that no file contains, and reports the error."""
    path = cluster.dir / "unknown.conf"
    path.write_text(re.sub("(?m)^SlurmUser=.*$", "SlurmUser=root", cluster.conf_file.read_text()).replace(*change))
    cluster.run(["srun", "-n1", "true"], env={"SLURM_CONF": str(path), "SLUICE_NO_LOCAL_SOCKET": "1"}).fails(why)


@pytest.mark.parametrize("file", ["out.%u", "out.u"])
def test_a_user_that_is_in_no_file_gets_one_job(cluster, file):
    """The name of the user is looked up before the job is requested."""
    def run(*options):
        return cluster.run([*hidden, "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', str(passwd), *other, "srun", "-n1", *options,
                            "printenv", "SLURM_JOB_ID"]).ok()

    uid, hidden, other = os.getuid(), ["unshare", "-Um", "--map-current-user", "--keep-caps"], []
    if ROOT:  # whose name SlurmUser is, and stays known
        uid, hidden, other = UID, ["unshare", "-m"], ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
    passwd = cluster.dir / "passwd"
    passwd.write_text("root:x:0:0::/root:/bin/sh\n")
    before, shown = int(run()), run("-o", file)
    assert shown == "" and int((cluster.work / file.replace("%u", str(uid))).read_text()) == before + 1
    assert int(run()) == before + 2
