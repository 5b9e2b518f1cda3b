# SPDX-License-Identifier: GPL-3.0-or-later
"""A parallel debugger finds the tasks of a step in srun: CORE-236."""
import pathlib
import shutil
import subprocess

import pytest

from harness import PREFIX, ROOT, eventually

SCRIPT = pathlib.Path(__file__).with_name("mpir_gdb.py")
GDB = ["gdb", "-nx", "-batch"]
pytestmark = pytest.mark.skipif(not shutil.which("gdb"), reason="needs gdb")


@pytest.fixture(scope="module")
def program(cluster):
    source = cluster.dir / "says.c"
    source.write_text('#include <stdio.h>\n#include <stdlib.h>\n'
                      'int main(void) { printf("task %s has run\\n", getenv("SLURM_PROCID")); return 0; }\n')
    subprocess.run(["gcc", "-o", cluster.dir / "says", source], check=True)
    return cluster.dir / "says"


@pytest.mark.parametrize("user", ([], pytest.param(["nobody"], marks=pytest.mark.skipif(not ROOT, reason="needs root"))))
@pytest.mark.parametrize("tasks", (["-N2", "-n3"], ["-n1"]))
def test_tasks_stop_before_main(cluster, program, tasks, user):
    """CORE-236: the table is complete when the debugger is notified, and no task runs before; afterwards all tasks run."""
    out = cluster.run([*GDB, "-x", SCRIPT, "--args", PREFIX / "bin/srun", *tasks, "./says"], user=user[0] if user else None,
                      cwd=program.parent).ok().splitlines()
    count = int(tasks[-1][2:])
    told = out.index(f"DEBUG state 1 size {count}")
    nodes = ["n1", "n1", "n2"]
    assert out[told + 1:told + 1 + count] == [f"TASK {i} {nodes[i]} {program} T {program}" for i in range(count)]
    assert sorted(line for line in out[told:] if line.startswith("task ")) == [f"task {i} has run" for i in range(count)]
    assert not any(line.startswith("task ") for line in out[:told])


def test_debugger_attaches_later(cluster):
    """CORE-236: the table also exists without a debugger."""
    srun = cluster.popen(["srun", "-N2", "-n2", "sh", "-c", f"echo $$ >{cluster.work}/pid.$SLURM_PROCID; sleep 1000"])
    pids = [cluster.work / f"pid.{i}" for i in range(2)]
    eventually(lambda: all(p.exists() and p.read_text() for p in pids), "the tasks run")
    show = ["-ex", "printf \"%d %d %s %d %s\\n\", MPIR_proctable_size, MPIR_proctable[0].pid, MPIR_proctable[0].host_name, "
            "MPIR_proctable[1].pid, MPIR_proctable[1].host_name"]
    wanted = f"2 {pids[0].read_text().strip()} n1 {pids[1].read_text().strip()} n2"
    eventually(lambda: wanted in cluster.run([*GDB, "-p", srun.pid, *show]).stdout, "the table is whole")
    srun.kill()
    srun.communicate()


def test_missing_program_leaves_no_stopped_task(cluster):
    """A missing program, under a debugger: no task stays stopped forever."""
    argv = [*GDB, "-ex", "break main", "-ex", "run", "-ex", "set var MPIR_being_debugged = 1", "-ex", "continue", "--args",
            PREFIX / "bin/srun", "-n2", "/nonexistent/program"]
    done = cluster.run(argv)
    assert "No such file or directory" in done.stderr + done.stdout and "exited with code" in done.stdout
