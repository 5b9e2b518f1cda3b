# SPDX-License-Identifier: GPL-3.0-or-later
"""What users may not do with the processes of root and the files of a node."""
import os
import pathlib
import pwd
import re
import resource
import signal
import subprocess
import time

import pytest

from harness import PREFIX, ROOT, eventually, processes_of

pytestmark = pytest.mark.skipif(not ROOT, reason="needs root to become another user")
NOBODY = pwd.getpwnam("nobody").pw_uid


def core_limit(pid):
    soft = re.search(r"^Max core file size +(\S+)", pathlib.Path(f"/proc/{pid}/limits").read_text(), re.M)[1]
    return resource.RLIM_INFINITY if soft == "unlimited" else int(soft)


@pytest.fixture
def own_limit(monkeypatch):
    """The limit of core files that everything has which a test starts; sanitizers would set it to 0 in each program."""
    monkeypatch.setenv("ASAN_OPTIONS", f"{os.environ.get('ASAN_OPTIONS', '')}:disable_coredump=0".lstrip(":"))
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    given = 1 << 20 if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_CORE, (given, hard))
    yield given
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def test_daemons_leave_no_core_and_tasks_may(own_limit, make_cluster):
    """slurmd and slurmstepd hold keys; the limit of tasks is the one that srun or slurmd was given."""
    c = make_cluster(nodes=1)
    with c.popen(["srun", "--propagate=NONE", "-n1", "sh", "-c", "echo $PPID; echo $$; exec sleep 1000"], user="nobody",
                 stdout=subprocess.PIPE) as p:
        shepherd, task = int(p.stdout.readline()), int(p.stdout.readline())
        assert [core_limit(pid) for pid in (c.daemons["n1"].pid, shepherd, task)] == [0, 0, own_limit]
        p.terminate()
        p.communicate()


# CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE, IPC_LOCK, SYS_CHROOT, SYS_PTRACE,
# SYS_ADMIN, SYS_NICE, SYS_RESOURCE
NODE_CAPABILITIES = [0, 1, 2, 3, 4, 5, 6, 7, 10, 14, 18, 19, 21, 23, 24]


def rights(pid):
    """(the ids, the effective and permitted capabilities, whether setuid programs have no effect)"""
    fields = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    return set(fields["Uid"].split()), {int(fields["CapEff"], 16), int(fields["CapPrm"], 16)}, fields["NoNewPrivs"]


def test_capabilities_of_every_process(make_cluster):
    """RELIABILITY G15: of SlurmUser and users none at all; only slurmd and step daemons are root's, and no installed program gives any."""
    c = make_cluster(nodes=1, start=False)
    daemon = pwd.getpwnam("daemon").pw_uid
    c.conf_file.write_text(re.sub("^SlurmUser=.*$", "SlurmUser=daemon", c.conf_file.read_text(), flags=re.M))
    os.chown(c.dir / "slurm.key", daemon, 0)
    c.start()
    with c.popen(["srun", "-n1", "sh", "-c", "echo $PPID $$; exec sleep 1000"], user="nobody") as p:
        shepherd, task = map(int, p.stdout.readline().split())
        found = {args.split()[0].rpartition("/")[2]: pid for pid, args in processes_of(c.dir).items()}
        users = {"slurmctld": daemon, "slurmscriptd": daemon, "srun": NOBODY, "sleep": NOBODY}
        for name, uid in users.items():
            assert rights(found[name])[:2] == ({str(uid)}, {0}), name
        assert rights(task)[:2] == ({str(NOBODY)}, {0})
        others = {args.split()[0].rpartition("/")[2].rstrip(":") for pid, args in processes_of(c.dir).items() if rights(pid)[1] != {0}}
        few = sum(1 << bit for bit in NODE_CAPABILITIES)
        assert rights(found["slurmd"])[1] == rights(shepherd)[1] == {few & rights("self")[1].pop()}
        assert others <= {"slurmd", "slurmstepd"} and {rights(pid)[0] == {"0"} for pid in (found["slurmd"], shepherd)} == {True}
        p.terminate()
        p.communicate()
    for path in PREFIX.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert not path.stat().st_mode & 0o6000, path
            assert "security.capability" not in os.listxattr(path), path


def test_scripts_of_the_site_have_all_rights_of_root(make_cluster, tmp_path):
    """slurmd drops capabilities only for itself: a prolog and a task of root have those with which slurmd was started."""
    prolog, seen = tmp_path / "prolog", tmp_path / "seen"
    prolog.write_text(f"#!/bin/sh\ngrep CapEff /proc/self/status >{seen}\n")
    prolog.chmod(0o755)
    c = make_cluster(nodes=1, conf=f"Prolog={prolog}\n")
    mine = f"{rights('self')[1].pop():016x}"
    assert c.run(["srun", "-n1", "grep", "CapEff", "/proc/self/status"]).ok().split()[1] == mine
    assert seen.read_text().split()[1] == mine


def test_a_job_cannot_change_its_script(cluster):
    """The file and its directory are root's; only the job's user may read the script."""
    line = ("f=$0; cat $f | head -1; id -u; stat -c '%U' $f $(dirname $f); "
            "for x in 'chmod 700' 'rm -f' 'cp /dev/null' 'touch'; do $x $f 2>/dev/null && echo did $x; done; "
            "mv $f $f.1 2>/dev/null && echo moved; echo x 2>/dev/null >>$f && echo wrote; read gate <gate; echo end")
    gate = cluster.work / "gate"
    os.mkfifo(gate, 0o666)
    gate.chmod(0o666)
    job = cluster.sbatch("-o", "out-%j", script=f"#!/bin/sh\n{line}\n", user="nobody")
    out = eventually(lambda: "root" in (f := cluster.work / f"out-{job}").read_text() and f.read_text() if
                     (cluster.work / f"out-{job}").exists() else None, "the script's output")
    script, = cluster.dir.glob(f"**/job{int(job):05}/slurm_script")
    reads = ["setpriv", "--reuid=1", "--regid=65534", "--clear-groups", "cat", str(script)]
    assert subprocess.run(reads, capture_output=True).returncode != 0  # another user, of the same group
    gate.write_text("go\n")
    cluster.wait(job)
    assert cluster.output(job, "out-{}").split("\n") == ["#!/bin/sh", str(NOBODY), "root", "root", "end", ""], out


def established(pid):
    """The owners that the kernel names for the connections of a process, by its table."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        if m := re.match(r"socket:\[(\d+)\]", os.readlink(fd)):
            inodes.add(m[1])
    lines = [line.split() for name in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    return [int(f[7]) for f in lines if f[9] in inodes and f[3] == "01"]


def test_connections_for_a_user_are_not_of_root(cluster):
    """The user chooses the port to which a step daemon connects: the kernel names this user as the owner of the connection."""
    by_tcp = {"SLUICE_NO_LOCAL_SOCKET": "1"}
    with cluster.popen(["srun", "-n1", "sh", "-c", "echo $PPID; exec sleep 1000"], user="nobody", stdout=subprocess.PIPE, env=by_tcp) as p:
        shepherd = int(p.stdout.readline())
        assert established(shepherd) == [NOBODY]
        p.terminate()
        p.communicate()


def lines_since(begin):
    """As many as one user may have had written: 60 in each minute that was touched."""
    return 60 * (2 + int((time.monotonic() - begin) / 60))


def test_failed_launches_do_not_fill_the_log(make_cluster):
    """A user who repeats launches that fail gets a limited number of lines per minute; lines about other users still appear."""
    c = make_cluster(nodes=1)
    begin = time.monotonic()
    line = "i=0; while [ $i -lt 200 ]; do srun --overlap -o /no/such/file-%t true; i=$((i+1)); done 2>&1 | grep -c 'Could not open'"
    assert int(c.run(["srun", "-n1", "sh", "-c", line], user="nobody", timeout=300).ok()) >= 200
    said = (c.dir / "slurmd-n1.log").read_text().count("Could not open")
    assert 0 < said <= lines_since(begin), said
    c.run(["srun", "-n1", "--overlap", "-o", "/no/such/other-%t", "true"]).fails("Could not open")
    assert "/no/such/other-0" in (c.dir / "slurmd-n1.log").read_text()


def test_refusals_of_one_user_do_not_hide_those_of_another(cluster):
    """The controller's log names the second user, after the first one has had all lines of the minute."""
    job = cluster.sbatch("-H", wrap="true")
    begin = time.monotonic()
    line = f"i=0; while [ $i -lt 100 ]; do scancel {job}; i=$((i+1)); done 2>&1 | grep -c denied"
    assert cluster.run(["sh", "-c", line], user="nobody", timeout=300).ok() == "100"
    cluster.run(["scancel", job], user="daemon").fails("denied")
    cluster.run(["scancel", job]).ok()
    log = (cluster.dir / "slurmctld.log").read_text()
    assert f"refused: uid {pwd.getpwnam('daemon').pw_uid} may not end or signal job {job}" in log
    assert log.count(f"refused: uid {NOBODY} may not") <= lines_since(begin)


def gated_prolog(c):
    """A prolog that says on which node it runs, and waits."""
    script = c.dir / "prolog.sh"
    script.write_text(f"#!/bin/sh\ntouch {c.work}/in.$SLURMD_NODENAME\nwhile [ ! -e {c.work}/go ]; do sleep 0.02; done\n")
    script.chmod(0o755)


@pytest.mark.parametrize("nodes, says", [
    (1, "srun did not answer slurmstepd on node n1 within 3 s"),
    (2, "the launch was prepared on node n1, and not committed within 23 s"),
])
def test_launch_ends_if_its_srun_is_silent(make_cluster, nodes, says):
    """An srun runs but sends nothing: neither its step daemon nor its prepared launches wait forever."""
    c = make_cluster(nodes=nodes, start=False)
    gated_prolog(c)
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={c.dir}/prolog.sh\nPrologTimeout=20\nMessageTimeout=1\n")
    c.start()
    with c.popen(["srun", f"-N{nodes}", "true"], stderr=subprocess.PIPE) as p:
        eventually(lambda: len(list(c.work.glob("in.*"))) == nodes, "prologs")
        p.send_signal(signal.SIGSTOP)
        (c.work / "go").touch()
        eventually(lambda: says in (c.dir / "slurmd-n1.log").read_text(), "the end of the launch")
        p.send_signal(signal.SIGCONT)
        assert p.communicate(timeout=60)[1] and p.returncode != 0


def test_environment_of_batch_jobs_is_limited(cluster):
    """The refusal names the size and the limit; a smaller environment is passed completely."""
    def sbatch(count):
        script = ("import os, resource\nresource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY,) * 2)\n"
                  f"os.environ.update({{f'V{{i}}': 'x' * 100_000 for i in range({count})}})\n"
                  "os.execvp('sbatch', ['sbatch', '--parsable', '-o', 'out', '--wrap', 'ulimit -s unlimited; env | grep -c ^V'])")
        return cluster.run(["python3", "-c", script])

    sbatch(30).fails("the environment and the arguments have 3", "at most 2097152 are accepted", "--export")
    job = int(sbatch(15).ok())
    cluster.wait(job)
    assert cluster.output(job, "out") == "15\n"


def test_steps_of_a_job_are_limited(make_cluster):
    c = make_cluster(nodes=1, conf="MaxStepCount=3")
    done = c.run(["salloc", "-Q", "-n1", "sh", "-c", "for i in 1 2 3 4; do srun echo on; done"])
    assert done.stdout == "on\n" * 3
    assert "Step limit reached for this job: the job has started 3 steps (MaxStepCount)" in done.stderr
