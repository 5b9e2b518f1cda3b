# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemons and the processes that they start, under valgrind, only in the soak: no error, and nothing definitely lost. RELIABILITY I3."""
import re
import shlex
import shutil
import subprocess

import test_burst
import test_job_submit_plugin
from harness import PREFIX, eventually
from openmpi import needs_pmix
from preload import library
from test_pmix import HERE, ONE_HOST, PMIX, build
from test_spank import Site

VALGRIND = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite", "--error-exitcode=97",
            "--num-callers=30"]
SLOW = "MessageTimeout=60\nSlurmdTimeout=300\n"

# /proc/self/exe is valgrind there, which runs nothing that it is not told to: a helper is started as the program of its name in HELPERS.
SELF = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr, char *const argv[],
                char *const env[])
{
    int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *, char *const *) =
        dlsym(RTLD_NEXT, "posix_spawn");
    char helper[PATH_MAX];

    snprintf(helper, sizeof(helper), HELPERS "/%s", argv[0]);
    return real(pid, strcmp(path, "/proc/self/exe") ? path : helper, actions, attr, argv, env);
}
"""

# valgrind answers the calls of handles of processes, which it does not know, with ENOSYS: nothing would be killed. A directory of /proc is
# such a handle, too; a signal goes to the process by its number.
CALLS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static long open_handle(int pid)
{
    char path[32];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d", pid);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        errno = ESRCH;
    return fd;
}

static long send_signal(int fd, int signo)
{
    char path[32], target[64] = "";
    int pid = 0;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (readlink(path, target, sizeof(target) - 1) < 0 || sscanf(target, "/proc/%d", &pid) != 1) {
        errno = EBADF;
        return -1;
    }
    return kill(pid, signo);
}

long syscall(long number, ...)
{
    long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall"), arg[6];
    va_list rest;

    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        arg[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_pidfd_open)
        return open_handle((int)arg[0]);
    if (number == SYS_pidfd_send_signal)
        return send_signal((int)arg[0], (int)arg[1]);
    return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
"""

# The environment is moved once, to make room for titles, and lives as long as the process.
EXPECTED = "{\n moved\n Memcheck:Leak\n fun:calloc\n fun:mem_alloc_array\n ...\n fun:nursery_serve\n}\n"
SHEPHERDS = {name: name for name in ("slurmstepd", "slurmstepd-cast", "slurmstepd-spank", "slurmstepd-pmix")}
HELPERS = {"slurmscriptd": "slurmctld", "slurmsubmitd": "slurmctld", "slurmd": "slurmd"}


class Wrapped:
    """Programs of a cluster by their names as scripts that run them under valgrind; reports go to files."""

    def __init__(self, c):
        self.dir = c.dir / "wrapped"
        self.dir.mkdir()
        (self.dir / "expected").write_text(EXPECTED)
        self.calls = library(self.dir / "calls", CALLS)

    def put(self, where, programs):
        """Beside a directory 'bin' of the programs themselves, so that both are of one prefix."""
        for each in (real := self.dir / where / "bin", sbin := self.dir / where / "sbin"):
            each.mkdir(parents=True)
        for name, program in programs.items():
            shutil.copy(PREFIX / "sbin" / program, real / name)
            line = shlex.join([*VALGRIND, f"--log-file={self.dir}/{name}.%p.log", f"--suppressions={self.dir}/expected", name])
            (sbin / name).write_text(f'#!/bin/sh\nPATH={real}:$PATH LD_PRELOAD={self.calls} exec /usr/bin/{line} "$@"\n')
            (sbin / name).chmod(0o755)
        return sbin

    def check(self, names):
        """Each of them ran, and none had reports."""
        ran = {name: len(list(self.dir.glob(f"{name}.*.log"))) for name in names}
        assert all(ran.values()), ran
        said = [line for path in self.dir.glob("*.log") for line in reports_in(path)]
        assert not said, "\n".join(said[:60])


def self_library(c, helpers, more=""):
    return library(c.dir / "self", f'#define HELPERS "{helpers}"\n{SELF}{more}')


def native_helpers(c):
    """Without valgrind."""
    where = c.dir / "helpers"
    where.mkdir()
    for name, program in HELPERS.items():
        (where / name).symlink_to(PREFIX / "sbin" / program)
    return where


def reports_in(path):
    """What valgrind says has its process's number in front; of system calls that it does not know it says so in another way."""
    return re.findall(r"^==\d+== .*$", path.read_text(errors="replace"), re.M)


def reports(c, name):
    return reports_in(c.dir / f"{name}.stderr")


def test_controller_under_valgrind(make_cluster):
    """I3: slurmctld itself; its helper runs as ever."""
    c = make_cluster(nodes=2, start=False, conf=f"{SLOW}PrologSlurmctld=/bin/true\n")
    c.preload["slurmctld"] = self_library(c, native_helpers(c), CALLS)
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


def await_plugins(c):
    """Waits for the helper. It may start later than slurmctld waits for it; then a reconfiguration starts it again."""
    def asked():
        done = c.run(["sbatch", "-H", "-o", "/dev/null", "--wrap=true"], timeout=300)
        if done.returncode != 0:
            c.run("scontrol reconfigure", timeout=300)
        return done.returncode == 0
    eventually(asked, "plugins are asked", 300)


def test_helpers_of_the_controller_under_valgrind(make_cluster):
    """I3: the process that runs scripts, mail and the functions of burst_buffer.lua, and the one that asks job_submit plugins in C and Lua."""
    c = make_cluster(nodes=2, start=False, conf=SLOW)
    wrapped = Wrapped(c)
    c.preload["slurmctld"] = self_library(c, wrapped.put("helpers", HELPERS))
    test_job_submit_plugin.probe(c)
    test_job_submit_plugin.configure(c, "lua,probe")
    for name, text in {"job_submit.lua": test_job_submit_plugin.LUA, "burst_buffer.lua": test_burst.SCRIPT,
                       "burst_buffer.conf": "PollInterval=1\n", "script": f"#!/bin/sh\necho $SLURM_SCRIPT_CONTEXT >>{c.dir}/scripts\n",
                       "fails": "#!/bin/sh\nexit 3\n", "mail": f"#!/bin/sh\necho mail >>{c.dir}/scripts\n"}.items():
        (c.dir / name).write_text(text)
        (c.dir / name).chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"BurstBufferType=burst_buffer/lua\nPrologSlurmctld={c.dir}/script\nEpilogSlurmctld={c.dir}/script\nMailProg={c.dir}/mail\n")
    c.start()
    await_plugins(c)
    jobs = [c.sbatch("-N2", "-o", "/dev/null", "--mail-type=END", wrap=f"srun true; exit {i % 3}") for i in range(10)]
    buffered = c.sbatch("-o", "/dev/null", "-t1", script="#!/bin/sh\n#BB_LUA pool=p capacity=3 %j\necho $BB_NODES\n")
    c.run(["sbatch", "-J", "denied", "-o", "/dev/null", "--wrap=true"], timeout=300).fails("lua was asked")
    fields = c.sbatch("-H", "-J", "fields", "-o", "/dev/null", wrap="true")
    c.run(f"scontrol update JobId={fields} Comment=changed", timeout=300).ok()
    c.run(f"scancel {fields}").ok()
    for i, job in enumerate(jobs):
        assert c.wait(job, 300)["ExitCode"] == f"{i % 3}:0"
        assert c.job(job)["Comment"] == "luaprobe1"
    eventually(lambda: test_burst.calls(c, buffered) == test_burst.WHOLE, lambda: test_burst.calls(c, buffered), 300)
    eventually(lambda: c.state(buffered) == "COMPLETED", lambda: c.job(buffered), 300)
    eventually(lambda: (c.dir / "scripts").read_text().count("mail") == len(jobs), "the mail", 300)
    eventually(lambda: [(c.dir / "scripts").read_text().count(f"{name}_slurmctld") for name in ("prolog", "epilog")] == [11, 11], "the scripts", 300)
    c.conf_file.write_text(c.conf_file.read_text().replace(f"EpilogSlurmctld={c.dir}/script", f"EpilogSlurmctld={c.dir}/fails"))
    c.run("scontrol reconfigure", timeout=300)
    await_plugins(c)
    c.wait(c.sbatch("-o", "/dev/null", wrap="true"), 300)
    c.stop()
    wrapped.check(["slurmscriptd", "slurmsubmitd"])


def test_node_daemon_under_valgrind(make_cluster):
    """I3: slurmd itself, and its look-ups of users; its shepherds run as ever."""
    c = make_cluster(nodes=1, start=False, conf=SLOW)
    wrapped = Wrapped(c)
    c.preload["n1"] = self_library(c, wrapped.put("helpers", HELPERS), CALLS)
    c.start_controller(wait=False)
    c.spawn("n1", [*VALGRIND, "--trace-children=no", PREFIX / "sbin/slurmd", "-D", "-N", "n1"])
    c.wait_ready()
    jobs = [c.sbatch("-n1", "-o", "/dev/null", wrap=f"srun true; exit {i % 3}") for i in range(200)]
    assert c.run("srun -n3 echo here", timeout=300).ok().count("here") == 3
    waits = c.sbatch("-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(waits) == "RUNNING", "a start", 600)
    node = c.job(waits)["NodeList"]
    for line in (f"scontrol listpids {waits} {node}", "sstat -j {}", "sbcast -j {} /etc/passwd {}/copy", "scancel -s USR1 {}", "scontrol suspend {}",
                 "scontrol resume {}", "scancel {}", "scontrol reconfigure"):
        c.run(line.format(waits, c.work), timeout=300).ok()
    for job in (*jobs, waits):
        eventually(lambda: not c.run(f"squeue -h -j {job}").stdout, f"the end of {job}", 600)
    for i, job in enumerate(jobs):
        assert f"ExitCode={i % 3}:0" in c.run(f"scontrol show job {job}").ok(), job
    c.stop()
    assert not reports(c, "n1"), "\n".join(reports(c, "n1")[:60])
    wrapped.check(["slurmd"])


def start_with_wrapped_shepherds(c):
    wrapped = Wrapped(c)
    sbin = wrapped.put("shepherds", SHEPHERDS)
    shutil.copy(PREFIX / "sbin/slurmd", sbin)
    c.start_controller(wait=False)
    for node in c.names:
        c.spawn(node, [sbin / "slurmd", "-D", "-N", node])
    c.wait_ready()
    return wrapped


def test_shepherds_under_valgrind(make_cluster):
    """I3: of batch jobs, of steps with input, output, labels, several tasks, a signal, of PMI-2, and of a file that is sent."""
    c = make_cluster(nodes=2, start=False, conf=SLOW)
    wrapped = start_with_wrapped_shepherds(c)

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
    assert run(["srun", "-n1", "sh", "-c", "setsid sleep 1000 & echo $!"]).returncode == 0  # is killed at the end of the step
    waits = c.sbatch("-o", "/dev/null", wrap="trap : USR1; srun sleep 1000")
    eventually(lambda: run(f"squeue -h -s -j {waits} -o %i").stdout.split().count(f"{waits}.0"), "the step", 300)
    node = c.job(waits)["NodeList"]
    for line in (f"scontrol listpids {waits} {node}", "sstat -j {}", "sbcast -j {} /etc/passwd {}/copy", "scancel -s USR1 {}", "scontrol suspend {}",
                 "scontrol resume {}", "scancel {}"):
        run(line.format(waits, c.work)).ok()
    assert c.wait(waits, 300)["JobState"] == "CANCELLED"
    c.stop()
    wrapped.check(["slurmstepd", "slurmstepd-cast"])


def test_shepherds_with_plugins_under_valgrind(make_cluster):
    """I3: with a SPANK plugin that has every callback, around steps, batch scripts and the site's prolog and epilog."""
    c = make_cluster(nodes=2, start=False, conf=SLOW)
    site = Site(c)
    site.probe()
    wrapped = start_with_wrapped_shepherds(c)
    done = c.run(["srun", "-N2", "-n4", "--probe-level=3", "--probe-flag", "sh", "-c", "echo $FROM_PLUGIN"], timeout=300)
    assert sorted(done.ok().splitlines()) == [f"r{i}" for i in range(4)]
    job = c.sbatch("--probe-may=first", "-o", "/dev/null", wrap="srun true; exit 3")
    assert c.wait(job, 300)["ExitCode"] == "3:0"
    for context, callback in (("remote", "exit"), ("remote", "task_exit"), ("job_script", "job_prolog"), ("job_script", "job_epilog")):
        assert site.said(context, callback), callback
    site.probe("fail=task_init")
    c.run("srun true", timeout=300).fails("task_init() failed with rc=42")
    c.stop()
    wrapped.check(["slurmstepd-spank"])


@needs_pmix
def test_servers_of_pmix_under_valgrind(make_cluster):
    """I3: of Open MPI's programs, of a name that waits, and of one that aborts."""
    c = make_cluster(nodes=2, start=False, conf=SLOW)
    wrapped = start_with_wrapped_shepherds(c)
    mpi = build(c, HERE / "mpi.c")
    program = c.dir / "pmix_get"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-o", program, HERE / "pmix_get.c", *flags], check=True)

    def run(*words):
        return c.run([*PMIX, "-N2", "-n3", *words], env=ONE_HOST, timeout=300)
    assert sorted(run(mpi, "sum").ok().splitlines()) == [f"{rank} of 3: sum 3 ring 3" for rank in range(3)]
    assert sorted(run(program).ok().splitlines()) == [f"{rank} got {100 + (rank + 1) % 3}" for rank in range(3)]
    assert sorted(run(mpi, "names").ok().splitlines()) == [f"{rank} found port 4711, then nothing" for rank in range(3)]
    run(mpi, "abort").fails("MPI_Abort with code 9")
    c.stop()
    wrapped.check(["slurmstepd", "slurmstepd-pmix"])
