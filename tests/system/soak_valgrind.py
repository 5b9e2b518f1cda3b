# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller and a node daemon under valgrind, only in the soak: no error, and nothing definitely lost. RELIABILITY I3."""
import re
import shlex
import shutil

from harness import PREFIX, eventually
from preload import library

VALGRIND = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite", "--error-exitcode=97",
            "--num-callers=30"]


def reports_in(path):
    """What valgrind says has its process's number in front; of system calls that it does not know it says so in another way."""
    return re.findall(r"^==\d+== .*$", path.read_text(errors="replace"), re.M)


def reports(c, name):
    return reports_in(c.dir / f"{name}.stderr")


def test_controller_under_valgrind(make_cluster):
    """I3."""
    c = make_cluster(nodes=2, start=False, conf="MessageTimeout=60\nSlurmdTimeout=300")
    c.spawn("slurmctld", [*VALGRIND, PREFIX / "sbin/slurmctld", "-D"])
    for node in c.names:
        c.start_node(node)
    c.wait_ready()
    jobs = [c.sbatch("-o", "/dev/null", wrap=f"exit {i % 3}") for i in range(200)]
    array = c.sbatch("--array=1-20", "-o", "/dev/null", wrap="srun true")
    held = c.sbatch("-H", "-o", "/dev/null", wrap="true")
    for line in ("scontrol update JobId={} Comment=x", "scontrol show job {}", "scancel {}", "squeue --json", "sinfo", "sdiag",
                 "scontrol reconfigure", "scontrol show config"):
        c.run(line.format(held), timeout=300).ok()
    assert c.run("srun -N2 -n4 echo here", timeout=300).ok().count("here") == 4
    for job in (*jobs, array):
        eventually(lambda: not c.run(f"squeue -h -j {job}").stdout, f"the end of {job}", 600)
    c.stop()
    assert not reports(c, "slurmctld"), "\n".join(reports(c, "slurmctld")[:60])


# /proc/self/exe is valgrind there, which runs nothing that it is not told to: helpers are started as the program that they are.
SELF = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <string.h>

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr, char *const argv[],
                char *const env[])
{
    int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *, char *const *) =
        dlsym(RTLD_NEXT, "posix_spawn");
    return real(pid, strcmp(path, "/proc/self/exe") ? path : EXE, actions, attr, argv, env);
}
"""


def test_node_daemon_under_valgrind(make_cluster):
    """I3: slurmd itself; its helpers and shepherds run as ever."""
    c = make_cluster(nodes=1, start=False, conf="MessageTimeout=60\nSlurmdTimeout=300")
    program = PREFIX / "sbin/slurmd"
    c.preload["n1"] = library(c.dir, f'#define EXE "{program}"\n{SELF}')
    c.start_controller(wait=False)
    c.spawn("n1", [*VALGRIND, "--trace-children=no", program, "-D", "-N", "n1"])
    c.wait_ready()
    jobs = [c.sbatch("-n1", "-o", "/dev/null", wrap=f"srun true; exit {i % 3}") for i in range(200)]
    assert c.run("srun -n3 echo here", timeout=300).ok().count("here") == 3
    waits = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(waits) == "RUNNING", "a start", 600)
    for line in ("scontrol listpids", "sstat -j {}", "sbcast -j {} /etc/passwd {}/copy", "scancel -s USR1 {}", "scontrol suspend {}",
                 "scontrol resume {}", "scancel {}", "scontrol reconfigure"):
        c.run(line.format(waits, c.work), timeout=300).ok()
    for job in (*jobs, waits):
        eventually(lambda: not c.run(f"squeue -h -j {job}").stdout, f"the end of {job}", 600)
    for i, job in enumerate(jobs):
        assert f"ExitCode={i % 3}:0" in c.run(f"scontrol show job {job}").ok(), job
    c.stop()
    assert not reports(c, "n1"), "\n".join(reports(c, "n1")[:60])


PROGRAMS = ["slurmstepd", "slurmstepd-cast"]
# The environment is moved once, to make room for titles, and lives as long as the process.
EXPECTED = "{\n moved\n Memcheck:Leak\n fun:calloc\n fun:mem_alloc_array\n ...\n fun:nursery_serve\n}\n"


def wrapped_programs(c):
    """A directory with slurmd, and its helpers as scripts that start them under valgrind; reports go to files beside them."""
    where = c.dir / "programs"
    where.mkdir()
    shutil.copy(PREFIX / "sbin/slurmd", where)
    (where / "expected").write_text(EXPECTED)
    for name in PROGRAMS:
        line = shlex.join([*VALGRIND, f"--log-file={where}/{name}.%p.log", f"--suppressions={where}/expected", str(PREFIX / "sbin" / name)])
        (where / name).write_text(f'#!/bin/sh\nexec /usr/bin/{line} "$@"\n')
        (where / name).chmod(0o755)
    return where


def test_shepherds_under_valgrind(make_cluster):
    """I3: of batch jobs, of steps with input, output, labels, several tasks, a signal, of PMI-2, and of a file that is sent."""
    c = make_cluster(nodes=2, start=False, conf="MessageTimeout=60\nSlurmdTimeout=300")
    where = wrapped_programs(c)
    c.start_controller(wait=False)
    for node in c.names:
        c.spawn(node, [where / "slurmd", "-D", "-N", node, "-d", where / "slurmstepd"])
    c.wait_ready()

    def run(line, **more):
        return c.run(line, timeout=300, **more)
    jobs = [c.sbatch("-N2", "-n3", "-o", f"{c.work}/out.{i}", wrap=f"srun -l sh -c 'echo here'; exit {i}") for i in range(3)]
    for i, job in enumerate(jobs):
        assert c.wait(job, 300)["ExitCode"] == f"{i}:0"
        assert sorted((c.work / f"out.{i}").read_text().splitlines()) == [f"{rank}: here" for rank in range(3)]
    assert run("srun -n1 cat", stdin="some input\n").ok() == "some input"
    assert len(run("srun -N2 -n2 head -c 1000000 /dev/zero").ok()) == 2000000
    assert run("srun -n1 --pty true").returncode == 0
    assert run("srun -N2 -n2 --mpi=pmi2 true").returncode == 0
    assert run(["srun", "-n1", "sh", "-c", "kill -ABRT $$"]).returncode == 134
    waits = c.sbatch("-o", "/dev/null", wrap="trap : USR1; srun sleep 1000")
    eventually(lambda: run(f"squeue -h -s -j {waits} -o %i").stdout.split().count(f"{waits}.0"), "the step", 300)
    for line in ("scontrol listpids", "sstat -j {}", "sbcast -j {} /etc/passwd {}/copy", "scancel -s USR1 {}", "scontrol suspend {}",
                 "scontrol resume {}", "scancel {}"):
        run(line.format(waits, c.work)).ok()
    assert c.wait(waits, 300)["JobState"] == "CANCELLED"
    c.stop()
    ran = {name: len(list(where.glob(f"{name}.*.log"))) for name in PROGRAMS}
    assert all(ran.values()), ran
    said = [line for path in where.glob("*.log") for line in reports_in(path)]
    assert not said, "\n".join(said[:60])
