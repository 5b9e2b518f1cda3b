# SPDX-License-Identifier: GPL-3.0-or-later
"""Unmodified Open MPI programs under srun --mpi=pmix: X-16, CORE-109."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import ROOT, alive, eventually, many
from hosts import Hosts
from openmpi import SERVER, needs_pmix

HERE = pathlib.Path(__file__).parent
TOP = HERE.parents[1]
pytestmark = needs_pmix

ONE_HOST = {"OMPI_MCA_mpi_yield_when_idle": "1"}  # few CPUs wait for many tasks
PMIX = ["srun", "--mpi=pmix"]


ROOT_RUNS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # mpirun


def build(cluster, source):
    program = cluster.dir / source.stem
    subprocess.run(["mpicc.openmpi", "-O2", "-o", program, source], check=True, capture_output=True)
    return program


@pytest.fixture(scope="module")
def mping(cluster):
    return build(cluster, TOP / "examples/mping.c")


@pytest.fixture(scope="module")
def mpi(cluster):
    return build(cluster, HERE / "mpi.c")


def no_files_left(cluster):
    return not [name for kind in ("pmix", "litter") for name in (cluster.dir / "spool").glob(f"*/{kind}.*")]


def test_mpi_list_names_pmix(cluster):
    version = subprocess.run([SERVER, "--libpmix"], check=True, capture_output=True, text=True).stdout
    assert f"\tpmix\nspecific pmix plugin versions available: pmix_v{version[0]}" in cluster.run("srun --mpi=list").ok()
    other = {"4": "5", "5": "4"}[version[0]]
    cluster.run([*PMIX[:1], f"--mpi=pmix_v{other}", "true"]).fails(
        "failed on node n1", f"--mpi=pmix_v{other}: the libpmix here is version {version.strip()}")


def test_pmix_program_runs_on_four_nodes(cluster, mpi):
    """CORE-109: A sum over all, and a ring through all, of two tasks on each node."""
    out = cluster.run([*PMIX, "-N4", "-n8", mpi, "sum"], env=ONE_HOST).ok().splitlines()
    assert sorted(out) == [f"{rank} of 8: sum 28 ring 28" for rank in range(8)]
    eventually(lambda: no_files_left(cluster), "the server's files are removed")


def test_pmix_program_runs_on_one_node(cluster, mpi):
    out = cluster.run([*PMIX, "-N1", "-n3", mpi, "sum"], env={"OMPI_MCA_mpi_yield_when_idle": "1"}).ok().splitlines()
    assert sorted(out) == [f"{rank} of 3: sum 3 ring 3" for rank in range(3)]


def test_pmix_layout_follows_the_distribution(cluster, mpi):
    out = cluster.run([*PMIX, "-N3", "-n5", "--ntasks-per-node=2", "-mcyclic", mpi, "sum"], env=ONE_HOST).ok().splitlines()
    assert sorted(out) == [f"{rank} of 5: sum 10 ring 10" for rank in range(5)]


def test_pmix_get_waits_for_another_node(cluster):
    """Without a fence, and before the value exists: the reply waits. (Open MPI asks so with async_modex, for more than its first commit.)"""
    program = cluster.dir / "pmix_get"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-o", program, HERE / "pmix_get.c", *flags], check=True)
    out = cluster.run([*PMIX, "-N3", "-n5", "--ntasks-per-node=2", "-mcyclic", program]).ok().splitlines()
    assert sorted(out) == [f"{rank} got {100 + (rank + 1) % 5}" for rank in range(5)]


def test_pmix_messages_pass_between_nodes(cluster, mping):
    out = cluster.run([*PMIX, "-N4", "-n4", mping, "1", "64"], env=ONE_HOST).ok().splitlines()
    assert len(out) == 21
    assert all(re.fullmatch(r"[123] pinged 0: +\d+ bytes +[\d.]+ uSec +[\d.]+ MB/s", line) for line in out)


def test_pmix_names_are_published(cluster, mpi):
    out = cluster.run([*PMIX, "-N2", "-n3", mpi, "names"], env=ONE_HOST).ok().splitlines()
    assert sorted(out) == ["0 found port 4711, then nothing", "1 found port 4711, then nothing", "2 found port 4711, then nothing"]


def test_task_without_finalize_ends_the_step(cluster, mpi):
    """A task that exits without MPI_Finalize ends the step: no task waits forever."""
    for how, text in (("kill", "task 1: it has ended without MPI_Finalize"), ("exit", "task 1: it has ended without MPI_Finalize"),
                      ("abort", "MPI_Abort with code 9")):
        for size in ("-n3", "-n2"):  # the one that goes is the only one of its node
            cluster.run([*PMIX, "-N2", size, mpi, how], env=ONE_HOST).fails(text)
        eventually(lambda: no_files_left(cluster), "the server's files are removed")


def test_missing_libpmix_is_reported(cluster):
    """The message names the node, the file and the package; steps without PMIx are not affected."""
    place = cluster.dir / "without"
    place.mkdir()
    (place / "libpmix.so.2").write_text("")
    env = {"LD_LIBRARY_PATH": str(place)}
    cluster.run([*PMIX, "-w", "n2", "true"], env=env).fails(
        "failed on node n2", "PMIx needs the library libpmix.so.2 (Debian: package libpmix2)", str(place / "libpmix.so.2"))
    assert "pmix" not in cluster.run("srun --mpi=list", env=env).ok()
    cluster.run("srun true", env=env).ok()


def test_killed_pmix_server_ends_the_step(cluster):
    """Its shepherd lives, and ends the step with a word."""
    script = "for p in $(cat /proc/$PPID/task/$PPID/children); do " \
             "grep -qx slurmstepd-pmix /proc/$p/comm && kill -9 $p; done; sleep 60"
    cluster.run([*PMIX, "-N2", "-n2", "sh", "-c", script]).fails("mpi: the PMIx server of this node was ended by signal 9")
    eventually(lambda: no_files_left(cluster), "the server's files are removed")


@pytest.mark.allocator  # measures memory
def test_step_daemon_does_not_map_libpmix(cluster):
    """libpmix is in a separate process of the user; the step daemon stays small and maps no part of it."""
    out = cluster.run([*PMIX, "sh", "-c", "grep VmRSS /proc/$PPID/status; cat /proc/$PPID/task/$PPID/children"]).ok().split()
    assert int(out[1]) < 4096
    assert any(not alive(int(pid)) for pid in out[3:])


@pytest.mark.skipif(not ROOT, reason="needs root to become an ordinary user")
def test_pmix_server_runs_as_the_user(cluster, mpi, nobody):
    script = "for p in $(cat /proc/$PPID/task/$PPID/children); do grep -qx slurmstepd-pmix /proc/$p/comm && " \
             "stat -c %U /proc/$p; done; stat -c '%U %a' $PMIX_SERVER_TMPDIR"
    assert cluster.run([*nobody, *PMIX, "sh", "-c", script]).ok().split() == ["nobody", "nobody", "700"]
    out = cluster.run([*nobody, *PMIX, "-N2", "-n2", mpi, "sum"], env=ONE_HOST).ok().splitlines()
    assert sorted(out) == ["0 of 2: sum 1 ring 1", "1 of 2: sum 1 ring 1"]
    eventually(lambda: no_files_left(cluster), "the server's files are removed")


def test_a_step_within_a_step(cluster, mpi):
    """Variables that the outer server has set do not reach the inner task."""
    out = cluster.run([*PMIX, "-n1", "srun", "--overlap", "-O", "-N1", "-n2", "--mpi=pmix", mpi, "sum"], env=ONE_HOST).ok().splitlines()
    assert sorted(out) == ["0 of 2: sum 1 ring 1", "1 of 2: sum 1 ring 1"]


def test_output_of_the_pmix_guide_is_current(cluster):
    version = subprocess.run([SERVER, "--libpmix"], check=True, capture_output=True, text=True).stdout.strip()
    if version != "4.2.2":
        pytest.skip(f"the guide is of libpmix 4.2.2, this is {version}")
    argv = [TOP / "tools/transcript", TOP / "docs/mpi.md", TOP / "examples/mpi"]
    cluster.run(argv, env={**ROOT_RUNS, **ONE_HOST, "TMPDIR": str(cluster.work)}).ok()


class Named(Hosts):
    """Hosts with names of their own."""

    def hold(self, host):
        self.holders[host] = p = subprocess.Popen(
            ["unshare", "--net", "--uts", "sh", "-c", f"hostname {host}; echo; exec cat"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, cwd="/")
        p.stdout.readline()

    def inside(self, host):
        return ["nsenter", "-t", str(self.holders[host].pid), "-n", "-u"]


def test_pmix_works_on_separate_hosts():
    """Four of them, over their network, as they come."""
    with many(Named) as make:
        c = make(nodes=4)
        c.start()
        program = build(c, HERE / "mpi.c")
        out = c.run([*PMIX, "-N4", "--ntasks-per-node=2", program, "where"], env={"OMPI_MCA_mpi_yield_when_idle": "1"}).ok().splitlines()
        assert sorted(out) == [f"{rank} on n{1 + rank // 2}: sum 28" for rank in range(8)]


def test_pmix_leaves_no_files_of_the_user(cluster, nobody):
    """In the spool directory, whatever is created in the directory of the step's server."""
    deep = "cd $PMIX_SERVER_TMPDIR; for i in $(seq 100); do mkdir d; cd d; done; echo x >big"
    cluster.run([*nobody, *PMIX, "-n1", "sh", "-c", deep]).ok()
    eventually(lambda: no_files_left(cluster), "the server's files are removed")


def test_killed_step_daemon_leaves_no_pmix_files(make_cluster):
    """The node daemon removes the user's files; if it does not finish, the next daemon does."""
    c = make_cluster(nodes=1)
    for daemon_too in (False, True):
        with c.popen([*PMIX, "-n1", "sh", "-c", "echo $PPID; cd $PMIX_SERVER_TMPDIR; mkdir -p a/b; exec sleep 1000"]) as p:
            shepherd = int(p.stdout.readline())
            assert not no_files_left(c)
            if daemon_too:
                c.kill("n1")
            os.kill(shepherd, signal.SIGKILL)
            if daemon_too:
                c.start_node("n1")
            p.communicate()
        eventually(lambda: no_files_left(c), "the server's files are removed")


def test_pmix_server_checks_its_callers(cluster, mpi):
    """libpmix believes the user id that a caller sends: the kernel is asked for the caller instead, and later tasks find a working server."""
    gate = cluster.work / "gate"
    os.mkfifo(gate)
    gate.chmod(0o666)
    line = f"echo $PMIX_SERVER_URI41; read go <{gate}; exec {mpi} sum"
    step = cluster.popen(["srun", "--mpi=pmix", "-n1", "sh", "-c", line], env=ONE_HOST, user="nobody", stdout=-1, stderr=-1)
    host, port = re.search(r"tcp4://([\d.]+):(\d+)", step.stdout.readline()).groups()
    call = f"import socket; s = socket.create_connection(('{host}', {port})); s.settimeout(20); print(s.recv(1))"
    for _ in range(3):
        done = subprocess.run(["setpriv", "--reuid=1", "--regid=1", "--clear-groups", "/usr/bin/python3", "-c", call],
                              capture_output=True, text=True, timeout=60)
        assert done.stdout == "b''\n" or "ConnectionResetError" in done.stderr, done
    with gate.open("w") as f:
        f.write("go\n")
    out, err = step.communicate(timeout=60)
    assert (step.returncode, out) == (0, "0 of 1: sum 0 ring 0\n"), out + err
