# SPDX-License-Identifier: GPL-3.0-or-later
"""MPI_Comm_spawn of Open MPI's programs under srun --mpi=pmix (docs/adr/0028), over PMIx: X-16."""
import pathlib
import re
import signal
import subprocess

import pytest

from harness import ROOT, eventually
from openmpi import needs_pmix

HERE = pathlib.Path(__file__).parent
pytestmark = needs_pmix

# The nodes share a host, and the shared memory of Open MPI is the host's, which may have no network; few CPUs wait for many tasks.
ONE_HOST = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_mpi_yield_when_idle": "1"}


@pytest.fixture(scope="module")
def spawn(cluster):
    program = cluster.dir / "spawn"
    subprocess.run(["mpicc.openmpi", "-O2", "-Wall", "-o", program, HERE / "spawn.c"], check=True, capture_output=True)
    return str(program)


def inside(cluster, options, *argv, job=("-N4", "-n16")):
    """In an allocation of all CPUs; its command is srun."""
    return cluster.run(["salloc", "-Q", *job, "srun", "--mpi=pmix", *options, *argv], env=ONE_HOST)


def lines(done):
    return sorted(done.ok().splitlines())


def test_children_are_spawned_on_several_nodes(cluster, spawn):
    """Two parents and four children: sums over each side, from the other."""
    out = lines(inside(cluster, ["--exact", "-N2", "-n2"], spawn, "spawn", "4"))
    assert out[4:] == [f"parent {i} of 2: 4 children, sum 10" for i in range(2)]
    assert [re.sub(r" on n\d in [^:]*", "", line) for line in out[:4]] == [f"child {i} of 4: sum 201" for i in range(4)]


def test_several_commands_are_spawned(cluster, spawn):
    out = lines(inside(cluster, ["--exact", "-n1"], spawn, "two"))
    assert out == ["child 0 of 3, command 0: <a b> sum 1", "child 1 of 3, command 0: <a b> sum 1",
                   "child 2 of 3, command 1: <it's; $HOME> <> sum 1", "parent: sum 30"]


def test_steps_are_spawned_one_after_the_other(cluster, spawn):
    out = lines(inside(cluster, ["--exact", "-n1"], spawn, "again", "2", job=("-N1", "-n2")))
    assert out[2:] == ["parent 0 of 1: 1 children, sum 1"] * 2 and len(out) == 4


def test_info_keys_of_spawn_are_applied(cluster, spawn):
    out = lines(inside(cluster, ["--exact", "-N1", "-n1"], spawn, "host", "n3"))
    assert [line.split(" in ")[0] for line in out[:2]] == ["child 0 of 2 on n3", "child 1 of 2 on n3"]
    assert " in /usr:" in lines(inside(cluster, ["--exact", "-n1"], spawn, "wdir", "/usr"))[0]


def test_parent_and_child_exchange_names(cluster, spawn):
    """MPI_Publish_name by a child, MPI_Lookup_name and MPI_Comm_connect by the parent."""
    assert lines(inside(cluster, ["--exact", "-n1"], spawn, "names")) == ["parent got 4711"]


def test_child_spawns_a_grandchild(cluster, spawn):
    out = lines(inside(cluster, ["--exact", "-n1"], spawn, "deep"))
    assert [line.split(" on ")[0] for line in out] == ["child 0 of 1", "parent 0 of 1: 1 children, sum 1"]


def test_failed_spawn_returns_an_error(cluster, spawn):
    """Not enough CPUs, a missing program, one without MPI: the spawning program gets an error and continues."""
    for what, text in ((["much", "17"], "Unable to create step"), (["missing"], "/nonexistent/program"),
                       (["other", "/bin/true"], "it has ended before MPI_Init")):
        done = inside(cluster, ["--exact", "-n1"], spawn, *what)
        assert lines(done) in (["error class spawn"], ["error class another"]) and text in done.stderr, done.stderr


def test_child_does_not_see_the_server_of_its_parent(cluster, spawn):
    """Its directory is on the parent's node, and is removed with its step."""
    program = cluster.dir / "tell"
    program.write_text("#!/bin/sh\nexec env >&2\n")
    program.chmod(0o755)
    said = inside(cluster, ["--exact", "-n1"], spawn, "other", program).stderr
    assert re.search(r"/pmix\.\d+\.1", said) and not re.search(r"/pmix\.\d+\.0", said), said


def test_exit_status_of_a_child_is_returned(cluster, spawn):
    assert inside(cluster, ["--exact", "-n1"], spawn, "code").returncode == 3


def test_failing_step_ends_the_other_one(cluster, spawn):
    done = inside(cluster, ["--exact", "-n1"], spawn, "child-abort")
    assert "MPI_Abort with code 9" in done.fails("has spawned a step that ends")
    inside(cluster, ["--exact", "-n1"], spawn, "child-kill").fails("it has ended without MPI_Finalize", "has spawned a step that ends")
    inside(cluster, ["--exact", "-n1"], spawn, "parent-kill").fails("it has ended without MPI_Finalize")
    eventually(lambda: not cluster.run("squeue -h").ok(), "nothing is left")


def test_signal_to_srun_ends_both_steps(cluster, spawn):
    """What ends the parent's srun ends both steps."""
    p = cluster.popen(["srun", "--overlap", "--mpi=pmix", "-n1", spawn, "wait"], env=ONE_HOST)
    assert sorted([p.stdout.readline(), p.stdout.readline()]) == ["child waits\n", "parent waits\n"]
    p.send_signal(signal.SIGTERM)
    p.communicate()
    assert p.returncode != 0
    eventually(lambda: not cluster.run("squeue -h").ok(), "nothing is left")


def test_children_outlive_their_parent(cluster, spawn):
    p = cluster.popen(["srun", "--overlap", "--mpi=pmix", "-n1", spawn, "leave"], env=ONE_HOST)
    assert p.stdout.readline() == "parent leaves\n"
    (cluster.work / "go").touch()
    assert p.communicate()[0] == "child leaves\n"
    assert p.returncode == 0
    (cluster.work / "go").unlink()


@pytest.mark.skipif(not ROOT, reason="needs root to become an ordinary user")
def test_ordinary_user_spawns_children(cluster, spawn, nobody):
    out = lines(cluster.run([*nobody, "srun", "--overlap", "--mpi=pmix", "-n1", spawn, "spawn", "1"], env=ONE_HOST))
    assert out[1] == "parent 0 of 1: 1 children, sum 1"
