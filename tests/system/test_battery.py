# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the controller that no other file has: RELIABILITY A5, A6, C2, D4, D5, E1."""
import contextlib
import os
import random
import resource
import shutil
import signal
import socket
import subprocess

import pytest

from harness import DEADLINE, PREFIX, SEED, SOAK, amount, eventually
from hosts import wrong_clock
from netproxy import Proxy
from preload import Switch, library


def gated(c, name):
    return f"touch {c.work}/up-{name}; while [ ! -e {c.work}/{name} ]; do sleep 0.05; done; exit 3"


def begin(c, name, *options):
    job = c.sbatch("-o", "/dev/null", *options, wrap=gated(c, name))
    eventually((c.work / f"up-{name}").exists, "a job")
    return job


def finish(c, job, name):
    (c.work / name).touch()
    assert c.wait(job)["ExitCode"] == "3:0"


def test_controller_killed_during_its_recovery_loses_nothing(make_cluster):
    """A5: the controller is killed at any time of its start; acknowledged changes survive, and running jobs continue."""
    c, pick = make_cluster(nodes=1), random.Random(SEED)
    runs = begin(c, "go")
    held = [c.sbatch("-H", "-o", "/dev/null", wrap="true") for _ in range(20)]
    for _ in range(amount(6, 50)):
        c.kill("slurmctld")
        for _ in range(pick.randrange(1, 4)):
            c.start_controller(wait=False)
            steps = pick.randrange(1, 60)  # so many looks at it, which take their time
            while steps and c.daemons["slurmctld"].poll() is None:
                (c.dir / "slurmctld.log").exists()
                os.stat(f"/proc/{c.daemons['slurmctld'].pid}")
                os.sched_yield()
                steps -= 1
            c.kill("slurmctld")
        c.start_controller()
        held.append(c.sbatch("-H", "-o", "/dev/null", wrap="true"))
        assert len(set(held)) == len(held)
        assert sorted(map(int, c.run("squeue -h -t PENDING -o %A").ok().split())) == sorted(held)
    c.wait_ready()
    assert c.state(runs) == "RUNNING"
    finish(c, runs, "go")


def test_nodes_refuse_orders_from_an_old_copy_of_the_state(make_cluster):
    """A6: nodes that have heard of a later epoch take no orders of an earlier one: nothing is run twice under one number."""
    c = make_cluster(nodes=1)
    c.kill("slurmctld")
    shutil.copytree(c.dir / "state", c.dir / "old")
    for _ in range(3):
        c.start_controller()
        c.wait_ready()
        c.kill("slurmctld")
    c.start_controller()
    runs = begin(c, "go")
    c.kill("slurmctld")
    (c.dir / "state").rename(c.dir / "new")
    (c.dir / "old").rename(c.dir / "state")
    c.start_controller()
    again = c.sbatch("-o", "/dev/null", wrap=f"echo ran >>{c.work}/again")
    eventually(lambda: "epoch" in c.tail("n1", 20), "the node has told why it does not follow")
    assert c.state(again) == "PENDING" and not (c.work / "again").exists()
    c.kill("slurmctld")
    shutil.rmtree(c.dir / "state")
    (c.dir / "new").rename(c.dir / "state")
    c.start_controller()
    c.wait_ready()
    assert c.state(runs) == "RUNNING"
    finish(c, runs, "go")


@pytest.mark.trials(50)
def test_cluster_survives_loss_of_new_connections(make_cluster):
    """C2: existing connections continue; a request that was lost meanwhile reports an error, and all works again at once afterwards."""
    c = make_cluster(nodes=1)
    proxy = Proxy(("127.0.0.1", c.port))
    try:
        conf = c.dir / "through.conf"
        conf.write_text(c.conf_file.read_text().replace(f"SlurmctldPort={c.port}", f"SlurmctldPort={proxy.port}") + "MessageTimeout=2\n")
        there = {"SLURM_CONF": str(conf), "SLUICE_NO_LOCAL_SOCKET": "1"}
        p = c.popen(["srun", "sh", "-c", "echo up; read x; exit 3"], env=there, stdin=subprocess.PIPE)
        assert p.stdout.readline() == "up\n"
        held, proxy.target = proxy.target, ("127.0.0.1", 1)
        runs = begin(c, "go")
        c.run("squeue -h", env=there).fails("Unable to contact slurm controller")
        finish(c, runs, "go")
        proxy.target = held
        assert c.run("squeue -h -o %A", env=there).ok()
        p.communicate("x\n", timeout=DEADLINE)
        assert p.returncode == 3
    finally:
        proxy.close()


MEMORY = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Once the file 'armed' is there, the allocation of the number in it fails; with a name behind it, only in a program of that name. */
static int fails(void)
{
    static atomic_int left = -1, busy;
    char text[64] = "", program[256] = "";
    const char *name;
    FILE *f;

    if (left > 0)
        return atomic_fetch_sub(&left, 1) == 1;
    if (left == 0 || atomic_exchange(&busy, 1))
        return 0;
    if (access(DIR "/armed", F_OK) == 0 && (f = fopen(DIR "/armed", "re"))) {
        if (readlink("/proc/self/exe", program, sizeof(program) - 1) > 0 && fgets(text, sizeof(text), f) &&
            (!(name = strchr(text, ' ')) || !strcmp(name + 1, strrchr(program, '/') + 1)))
            left = atoi(text);
        fclose(f);
    }
    busy = 0;
    return 0;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size)
{
    return fails() ? no_memory() : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? no_memory() : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? no_memory() : __libc_realloc(old, size);
}
"""


@pytest.mark.allocator
def test_controller_survives_a_failed_memory_allocation(make_cluster):
    """D4: the controller replies with an error or ends; acknowledged changes survive."""
    c, pick = make_cluster(nodes=1, start=False), random.Random(SEED)
    where = c.dir / "first"
    c.preload["slurmctld"] = library(where, MEMORY)
    memory = Switch(where)
    c.start()
    acknowledged, ends = [], 0
    # A request makes more than 20 allocations: one of the first surely fails; how many more are made depends on the time.
    numbers = sorted({pick.randrange(1, 20), *pick.sample(range(1, 400 if SOAK else 200), amount(5, 399))})
    for number in numbers:
        memory.on("armed.new", str(number))
        os.rename(where / "armed.new", where / "armed")
        with c.popen(["sbatch", "--parsable", "-H", "-o", "/dev/null", "--wrap=true"]) as p:
            c.run("squeue -h", env={"SLURM_CONF": str(c.conf_file)}, timeout=DEADLINE)
            memory.off("armed")
            if c.daemons["slurmctld"].poll() is not None:
                ends += 1
                assert "memory" in c.tail("slurmctld", 20)
            else:
                c.kill("slurmctld")
            c.daemons.pop("slurmctld", None)
            c.start_controller()
            out, err = p.communicate(timeout=DEADLINE)
        if p.returncode == 0:
            acknowledged.append(int(out))
    known = set(map(int, c.run("squeue -h -t PENDING -o %A").ok().split()))
    assert len(acknowledged) == len(set(acknowledged)) and set(acknowledged) <= known
    assert ends > 0
    c.wait_ready()


@pytest.mark.allocator
@pytest.mark.parametrize("program", ["slurmd", "slurmstepd-spank"])
def test_node_daemon_survives_a_failed_memory_allocation(make_cluster, program):
    """D4: a daemon of a node ends, or refuses: the job has run or says that it has not, its node is well, and nothing is left there."""
    c, pick = make_cluster(nodes=1, start=False, conf="MessageTimeout=2"), random.Random(SEED)
    where, sbin = c.dir / "first", c.dir / "sbin"
    first = library(where, MEMORY)
    if program == "slurmd":
        c.preload["n1"] = first
        start = lambda: c.start_node("n1")
    else:  # the one for plugins: the other one has no libraries; slurmd starts it from its own directory, without LD_PRELOAD
        plugin = where / "empty.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", plugin], check=True, text=True,
                       input='const char plugin_name[] = "empty", plugin_type[] = "spank"; const unsigned int plugin_version = 0x1a0500;')
        (c.dir / "plugstack.conf").write_text(f"optional {plugin}\n")
        shutil.copytree(PREFIX / "sbin", sbin)
        (sbin / program).write_text(f"#!/bin/bash\nLD_PRELOAD={first} exec -a \"$0\" {PREFIX}/sbin/{program} \"$@\"\n")
        start = lambda: c.spawn("n1", [sbin / "slurmd", "-D", "-N", "n1"])
    memory = Switch(where)

    def restart_slurmd():
        """Restarts slurmd; returns whether it had ended, which is permitted only for lack of memory."""
        status = c.daemons["n1"].poll()
        assert status is None or status == -signal.SIGABRT and "out of memory" in c.tail("n1", 20), (status, c.tail("n1", 20))
        if status is None:
            c.kill("n1")
        c.daemons.pop("n1", None)
        start()
        return status is not None

    c.start_controller(wait=False)
    start()
    c.wait_ready()
    ends = 0
    numbers = sorted({pick.randrange(1, 10), *pick.sample(range(1, 400 if SOAK else 100), amount(2, 200))})
    for number in numbers:
        memory.on("armed.new", f"{number} {program}")
        os.rename(where / "armed.new", where / "armed")
        p = c.popen(["srun", "-n1", "sh", "-c", f"echo ran >>{c.work}/ran-{number}"])
        eventually(lambda: p.poll() is not None or c.daemons["n1"].poll() is not None and c.run("squeue -h -t PENDING").ok(),
                   "an end of srun, or of a slurmd that its job waits for")
        memory.off("armed")
        ended = p.poll() is None and restart_slurmd()
        out, err = p.communicate(timeout=DEADLINE)
        ran = (c.work / f"ran-{number}").read_text().count("ran") if (c.work / f"ran-{number}").exists() else 0
        assert ran == 1 if p.returncode == 0 else ran <= 1 and err.strip(), (number, ran, err)
        ends += restart_slurmd() or ended if program == "slurmd" else p.returncode != 0
        eventually(lambda: not c.run("squeue -h").ok(), "an empty queue")
        eventually(lambda: c.node("n1")["State"].startswith("IDLE"), lambda: c.node("n1"))
        if c.node("n1")["State"] != "IDLE":
            c.run("scontrol update NodeName=n1 State=RESUME").ok()
            c.wait_ready()
        assert c.run("srun -n1 echo well").ok() == "well", number
        eventually(lambda: not c.run("squeue -h").ok(), "an empty queue: the epilog of that job is not to meet the next failure")
    assert ends > 0


SHORT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* While the file of that name is there, directories of jobs, or the notes in them, cannot be opened for a lack of something. */
static int is_short(const char *name, const char *path, const char *what, int error)
{
    if (!strstr(path, what) || access(name, F_OK) < 0)
        return 0;
    errno = error;
    return 1;
}

void *opendir(const char *path)
{
    void *(*real)(const char *) = dlsym(RTLD_NEXT, "opendir");

    return is_short(DIR "/directory", path, "/spool/n1/jobs", ENOMEM) ? NULL : real(path);
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
    va_end(ap);
    return is_short(DIR "/note", path, "/spool/n1/jobs/", EMFILE) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
"""


@pytest.mark.parametrize("what, why", [("directory", "Cannot allocate memory"), ("note", "Too many open files")])
def test_slurmd_that_cannot_read_its_jobs_does_not_start(make_cluster, what, why):
    """D4, D5: a job that slurmd did not find would count as lost while it runs; once there is enough of everything, it is found."""
    c = make_cluster(nodes=1)
    runs = begin(c, "go")
    c.kill("n1")
    where = c.dir / "first"
    c.preload["n1"] = library(where, SHORT)
    short = Switch(where)
    short.on(what)
    c.start_node("n1")
    assert c.daemons.pop("n1").wait(DEADLINE) == 1
    assert why in c.tail("n1", 3)
    short.off(what)
    c.start_node("n1")
    c.wait_ready()
    assert c.state(runs) == "RUNNING"
    finish(c, runs, "go")


@pytest.mark.trials(10)
def test_controller_without_free_descriptors_closes_idle_connections(make_cluster):
    """D5: the controller has no descriptor for another connection: it closes an idle one instead, and logs this."""
    c = make_cluster(nodes=1)
    runs = begin(c, "go")
    pid = c.daemons["slurmctld"].pid
    limit = len(os.listdir(f"/proc/{pid}/fd")) + 8
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    with contextlib.ExitStack() as held:
        for _ in range(40):
            s = held.enter_context(socket.socket(socket.AF_INET))
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                s.connect(("127.0.0.1", c.port))
        eventually(lambda: "closed for newer connections" in c.tail("slurmctld", 50), "room is made for newer ones")
        assert c.run("squeue -h -o %A").ok() == str(runs)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert c.run("squeue -h -o %A").ok() == str(runs)
    assert c.wait(c.sbatch("-o", "/dev/null", wrap="true"))["JobState"] == "COMPLETED"
    finish(c, runs, "go")


def test_cluster_survives_a_clock_change(make_cluster, tmp_path):
    """E1: by an hour, by ten years, to 1970, 2038 and 2106 and back: no job ends early, and everything continues."""
    c = make_cluster(nodes=1, start=False)
    built, skew = wrong_clock(tmp_path)
    skew.write_text("0")
    c.preload["slurmctld"] = c.preload["n1"] = built
    c.start()
    runs = begin(c, "go", "-t", "10")
    year = 365 * 86400
    for seconds in (3600, -3600, 10 * year, -56 * year, 12 * year, 80 * year, 0):
        skew.write_text(str(seconds))
        assert c.wait(c.sbatch("-o", "/dev/null", "-t", "5", wrap="true"))["JobState"] == "COMPLETED", seconds
        assert c.state(runs) == "RUNNING", seconds
    finish(c, runs, "go")
