# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of programs to a PMIx server besides MPI_Init: groups, events, queries, control. X-16."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from harness import PREFIX

HERE = pathlib.Path(__file__).parent
pytestmark = pytest.mark.skipif(not (PREFIX / "sbin/slurmstepd-pmix").exists() or not shutil.which("pkg-config"),
                                reason="needs a build with libpmix-dev")


@pytest.fixture(scope="module")
def ask(cluster):
    program = cluster.dir / "pmix_more"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-o", program, HERE / "pmix_more.c", *flags], check=True)

    def run(what, *options):
        return cluster.run(["srun", "--mpi=pmix", *options, program, what])
    return run


@pytest.mark.parametrize("options", (["-N3", "-n5", "-mcyclic"], ["-N1", "-n4"]))
def test_pmix_groups_have_unique_numbers(ask, options):
    """A group of all tasks, and one of the tasks with even numbers: all members get one number, which differs between the groups."""
    out = sorted(ask("group", *options).ok().splitlines())
    ids = [re.fullmatch(r"(\d): ids (\d+) (\d+)", line).groups() for line in out]
    assert len({first for _, first, _ in ids}) == 1
    even = {second for rank, _, second in ids if int(rank) % 2 == 0}
    assert len(even) == 1 and even != {ids[0][1]} and even != {"0"}


def test_an_event_reaches_all_nodes(ask):
    out = ask("event", "-N4", "-n6").ok().splitlines()
    assert {f"{rank}: event -3999 of 0: hello" for rank in range(1, 6)} <= set(out)


def test_too_large_published_value_is_refused(ask):
    """The value is refused at once."""
    assert ask("publish", "-N1", "-n1").ok() == "0: OUT-OF-RESOURCE"


def server_of(shepherd):
    for process in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            number, _, rest = process.read_text().partition(" (slurmstepd-pmix) ")
            if rest and int(rest.split()[1]) == shepherd:
                return int(number)
    raise AssertionError(f"shepherd {shepherd} has no PMIx server")


def test_unresponsive_pmix_server_is_survived(cluster, ask):
    """The user's server is stopped: the step ends before its step daemon holds more than 64 MiB for it."""
    with cluster.popen(["srun", "--mpi=pmix", "-N2", "-n2", "-i0", cluster.dir / "pmix_more", "flood"], stdin=subprocess.PIPE) as p:
        shepherds = dict(map(int, p.stdout.readline().split(" of ")) for _ in range(2))
        os.kill(server_of(shepherds[1]), signal.SIGSTOP)
        _, said = p.communicate("\n")
    assert "the PMIx server of this node does not read what it is told" in said, said


def test_pmix_queries_are_answered(ask):
    out = ask("query", "-N2", "-n2").ok().splitlines()
    assert len(out) == 8
    assert re.fullmatch(r"pmix.qry.ns=slurm\.pmix\.\d+\.0", next(line for line in out if line.startswith("pmix.qry.ns")))
    assert "pmix.qry.spawn=pmix.host,pmix.wdir" in out
    assert "pmix.job.size=2" in out
    assert any(re.fullmatch(r"pmix.nobody.knows: \S*(NOT.FOUND|NOT.SUPPORTED)", line) for line in out)


def test_pmix_signal_reaches_all_tasks(ask):
    out = sorted(ask("signal", "-N3", "-n3").ok().splitlines())
    assert out == [f"{rank}: signal USR1" for rank in range(3)]


def test_pmix_abort_ends_all_tasks(ask):
    ask("kill", "-N3", "-n3").fails("task 0: it has asked for the end of all (PMIx_Job_control)")


def test_unsupported_pmix_calls_return_an_error(ask):
    """Has an answer."""
    out = ask("none", "-n1").ok().splitlines()
    assert [line.split(": ")[0] for line in out] == ["pause", "allocation"]
    assert all("NOT" in line for line in out), out
