# SPDX-License-Identifier: GPL-3.0-or-later
"""Random attacks of ordinary users: values of options, links in paths that root opens, and the inheritance of tasks. RELIABILITY F4, G6, G9."""
import os
import pwd
import random
import re
import signal
import stat
import subprocess
import sys

import pytest

from harness import ROOT, SEED, SOAK, amount, eventually

# With these a command would run for ever, wait for somebody, or read what is not the test's.
LEFT_OUT = {"iterate", "wait", "wait-for-switch", "interactive", "bcast", "multi-prog", "pty", "x11", "export-file", "attach", "debugger-test", "wait-all-nodes",
            "reboot", "slurmd-debug"}
COMMANDS = {"sbatch": ["--test-only", "--wrap=true"], "srun": ["--test-only", "true"], "squeue": [], "sinfo": [], "sprio": [], "sstat": [],
            "scancel": ["--ctld", "1000000"], "strigger": ["--get"], "sdiag": [], "sattach": ["1000000.0"]}
BOUNDARIES = ["", "0", "-1", "1", "2147483648", "4294967295", "4294967296", "18446744073709551616", "1e9", "0x10", "1-", "-", ",", "n[", "n[1-", "n[1-99999999]", "n1,,n2",
              "1:2:3:4:5", "1-1:00", "now+", "now-99999999999999", "2026-02-30", "99:99", "%", "%j%", "a" * 5000, "\u202e", "\xff", "a=b=c", "1&", "[a|b", "a*", "*2",
              "after:", "afterok:1:2:x", "gpu:", "gpu:x:y:z", "cpu=", "UNLIMITED", "INFINITE", "NONE", "all", "help", "../..", "/dev/null", "\t", "\\", "'", "1.5", "-0"]


def options_of(cluster, command):
    text = cluster.run(f"{command} --help").ok()
    return sorted(set(re.findall(r"--([a-z][a-z0-9-]+)=", text)) - LEFT_OUT)


def draw_value(pick):
    if pick.random() < 0.6:
        return pick.choice(BOUNDARIES)
    if pick.random() < 0.5:
        return "".join(pick.choices("0123456789:-,.+*/%[]()=&|!@ abcnKMGT", k=pick.randrange(1, 30)))
    return "".join(chr(pick.randrange(1, 0x300)) for _ in range(pick.randrange(1, 20)))


@pytest.mark.parametrize("part", range(4 if SOAK else 1))
def test_random_option_values(cluster, part):
    """F4: the command ends by itself with status 0 or an error that names the fault; the daemons survive."""
    pick, options = random.Random(f"{SEED} {part}"), {}
    for command in COMMANDS:
        options[command] = options_of(cluster, command)
        assert options[command] or command in ("sdiag", "sattach"), command
    for _ in range(amount(400, 25000)):
        command = pick.choice([c for c in COMMANDS if options[c]])
        words = [f"--{pick.choice(options[command])}={draw_value(pick)}" for _ in range(pick.randrange(1, 4))]
        line = [command, *words, *COMMANDS[command]]
        done = cluster.run(line, user="nobody" if ROOT else None, timeout=60)
        assert 0 <= done.returncode < 126 or done.returncode == 255, (line, done)  # srun of a bad node count
        assert done.returncode == 0 or done.stderr.strip(), (line, done)
        assert not re.search("Sanitizer|runtime error: ", done.stderr), (line, done)
    assert cluster.running("slurmctld") and cluster.running("n1")
    assert cluster.run("squeue -h").ok() == ""


FLIPS = """
import os, sys
place, secret, own = sys.argv[1:]
while True:
    for target in (secret, own):
        try:
            os.symlink(target, place + ".new")
            os.rename(place + ".new", place)
        except OSError:
            pass
    try:
        os.unlink(place)
        os.mkdir(place, 0o777)
        os.rmdir(place)
        open(place, "w").close()
    except OSError:
        pass
"""


def state_of(directory):
    """Everything below it: names, owners, modes and contents."""
    found = []
    for path in sorted([directory, *directory.rglob("*")]):
        s = path.lstat()
        found.append((str(path), s.st_uid, s.st_gid, s.st_mode, path.read_bytes() if stat.S_ISREG(s.st_mode) else b""))
    return found


@pytest.mark.skipif(not ROOT, reason="needs root to become an ordinary user")
@pytest.mark.parametrize("place", ["output", "directory", "cast"])
def test_exchanged_links_redirect_no_file(cluster, place):
    """G6: a process of the user exchanges a link while daemons of root open its target: no file of root is touched."""
    nobody = pwd.getpwnam("nobody")
    secret, own = cluster.dir / f"secret-{place}", cluster.dir / f"own-{place}"
    secret.mkdir()
    (secret / "file").write_text("root's\n")
    (secret / "file").chmod(0o600)
    secret.chmod(0o700)
    own.mkdir()
    os.chown(own, nobody.pw_uid, nobody.pw_gid)
    cluster.work.chmod(0o777)
    cluster.dir.chmod(0o755)
    before, at = state_of(secret), own / "place"
    target = {"output": (secret / "file", own / "mine"), "directory": (secret, own), "cast": (secret / "file", own / "mine")}[place]
    made = own / ("made" if place == "directory" else "mine")

    def use():
        """Makes daemons of root open the path for the user."""
        if place == "output":
            return [run("sbatch", "-W", "-o", at, "-e", at, "-i", "/dev/null", "--wrap", "echo out; echo err >&2"), run("srun", "-o", at, "echo", "out")]
        if place == "directory":
            return [run("sbatch", "-W", "-D", at, "-o", "out", "--wrap", "touch made"), run("srun", "-D", at, "touch", "made")]
        return [run("salloc", "-Q", "sbcast", "-f", "/etc/hostname", at)]

    def run(*argv):
        return cluster.run(list(argv), user="nobody", cwd="/").returncode
    at.symlink_to(target[1])
    assert set(use()) == {0} and (at if place == "cast" else made).stat().st_uid == nobody.pw_uid  # where the user may, it works
    flipper = subprocess.Popen(cluster.argv([sys.executable, "-c", FLIPS, str(at), str(target[0]), str(target[1])], "nobody"), cwd="/")
    try:
        for _ in range(amount(25, 1000)):
            use()
        assert flipper.poll() is None
    finally:
        flipper.send_signal(signal.SIGKILL)
        flipper.wait()
    eventually(lambda: not cluster.run("squeue -h").ok(), "all is over")
    assert state_of(secret) == before


LOOK = r"""
import os, resource
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
fds = sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}"))
print("TASK", *[status[k].split()[0] for k in ("Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapAmb", "SigBlk", "Umask")],
      "SigIgn=" + status["SigIgn"].strip(), "core=" + str(resource.getrlimit(resource.RLIMIT_CORE)[0]),
      "fds=" + ",".join(str(n) for n in fds if n != int(os.environ.get("PMI_FD", -1))), flush=True)
"""


@pytest.mark.skipif(not ROOT, reason="needs root to become an ordinary user")
@pytest.mark.parametrize("how", ["sbatch", "srun", "srun in sbatch", "srun in salloc", "salloc", "srun --mpi=none", "srun --overlap"])
def test_task_starts_in_a_clean_state(cluster, how):
    """G9: the ids of the user, no capability, no signal blocked or ignored, the descriptors 0, 1 and 2 (and that of PMI, which PMI_FD names)."""
    nobody = pwd.getpwnam("nobody")
    cluster.work.chmod(0o777)
    look = cluster.work / "look.py"
    look.write_text(LOOK)
    task = f"/usr/bin/python3 -S -I {look}"
    if how in ("sbatch", "srun in sbatch"):
        job = cluster.sbatch("-o", str(cluster.work / "seen-%j"), wrap=("srun " if how != "sbatch" else "exec ") + task, user="nobody")
        cluster.wait(job)
        said = (cluster.work / f"seen-{job}").read_text()
    else:
        words = {"salloc": ["salloc", "-Q"], "srun in salloc": ["salloc", "-Q", "srun"]}.get(how, how.split())
        said = cluster.run([*words, *task.split()], user="nobody").ok()
    nothing, core = "0" * 16, re.search(r"core=(-?\d+)", said).group(1)
    python_ignores = f"{1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1:016x}"  # done by the interpreter itself
    assert said.strip() == " ".join(["TASK", str(nobody.pw_uid), str(nobody.pw_gid), *[nothing] * 5, "0022", f"SigIgn={python_ignores}", f"core={core}",
                                     "fds=0,1,2"]), said
