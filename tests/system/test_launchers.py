# SPDX-License-Identifier: GPL-3.0-or-later
"""MPICH's mpiexec and Open MPI's mpirun inside an allocation, which start their daemons by srun: X-16."""
import pathlib
import shutil
import subprocess

import pytest

from harness import ROOT, eventually

HERE = pathlib.Path(__file__).parent
# The nodes share a host, which the job's environment tells Open MPI; few CPUs wait for many tasks.
ENV = {"OMPI_MCA_mpi_yield_when_idle": "1"}
AS_ROOT = " --allow-run-as-root" if ROOT else ""
MPIRUN = f"mpirun.openmpi{AS_ROOT}"

needs_open_mpi = pytest.mark.skipif(not shutil.which("mpirun.openmpi"), reason="needs Open MPI")
KINDS = [pytest.param("mpich", "mpiexec.mpich"), pytest.param("openmpi", MPIRUN, marks=needs_open_mpi)]


@pytest.fixture(scope="module")
def programs(cluster):
    """One for each of the compilers that there are."""
    for kind in ("mpich", "openmpi"):
        if shutil.which(f"mpicc.{kind}"):
            subprocess.run([f"mpicc.{kind}", "-o", cluster.dir / kind, HERE / "mpi.c"], check=True, capture_output=True)
    where = cluster.dir / "where"  # the node of the daemon: mpiexec's own variables may hide those of its daemons
    where.write_text("#!/bin/sh\ntr '\\0' '\\n' </proc/$PPID/environ | sed -n 's/^SLURMD_NODENAME=//p'\n")
    where.chmod(0o755)
    return cluster.dir


@pytest.mark.parametrize("kind, launcher", KINDS)
def test_launcher_uses_the_whole_allocation(cluster, programs, kind, launcher):
    """As many tasks as the job has, on its four nodes, without an option."""
    out = cluster.run(["salloc", "-Q", "-N4", "-n8", "sh", "-c", f"{launcher} {programs}/{kind} sum"], env=ENV).ok().splitlines()
    assert sorted(out) == [f"{rank} of 8: sum 28 ring 28" for rank in range(8)]
    nodes = cluster.run(["salloc", "-Q", "-N4", "-n4", "sh", "-c", f"{launcher} {programs}/where"]).ok().split()
    assert sorted(nodes) == ["n1", "n2", "n3", "n4"]


@pytest.mark.parametrize("kind, launcher", KINDS)
def test_launcher_runs_in_a_batch_script(cluster, programs, kind, launcher):
    """On the whole allocation, and again on a part of it; the exit code of a failing task is that of the job."""
    some = "-H n2:1,n4:1 -np 2" if kind == "openmpi" else "-hosts n2,n4 -n 2"
    script = f"{launcher} {programs}/{kind} sum && {launcher} {some} {programs}/where && {launcher} -n 2 sh -c 'exit 3'"
    job = cluster.sbatch("-N4", "-n4", wrap=script, env=ENV)
    ended = cluster.wait(job)
    out = cluster.output(job).splitlines()
    assert ended["ExitCode"] == "3:0", out
    assert sorted(out[:4]) == [f"{rank} of 4: sum 6 ring 6" for rank in range(4)] and sorted(out[4:6]) == ["n2", "n4"]


@pytest.mark.parametrize("kind, launcher", KINDS)
def test_launcher_ends_with_its_job(cluster, programs, kind, launcher):
    """Daemons and tasks on every node end with the job."""
    job = cluster.sbatch("-N4", "-n4", wrap=f"{launcher} sh -c 'touch {cluster.work}/{kind}-$PPID; sleep 1000'", env=ENV)
    eventually(lambda: len(list(cluster.work.glob(f"{kind}-*"))) == 4, "the tasks run")
    cluster.run(f"scancel {job}").ok()
    assert cluster.wait(job)["JobState"] == "CANCELLED"


def test_step_for_an_external_launcher(cluster):
    """The request of newer launchers: a step beside all others, on CPUs that another step holds."""
    script = "srun -N2 -n2 --exact sh -c 'touch held; while [ ! -e free ]; do sleep 0.02; done' & " \
             "while [ ! -e held ]; do sleep 0.02; done; " \
             "srun --immediate=1 --external-launcher --ntasks-per-node=1 --kill-on-bad-exit --mpi=none --nodes=2 --ntasks=2 " \
             "printenv SLURMD_NODENAME; code=$?; touch free; wait; exit $code"
    assert cluster.run(["salloc", "-Q", "-N2", "-n2", "sh", "-c", script]).ok().split() in (["n1", "n2"], ["n2", "n1"])
