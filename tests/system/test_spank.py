# SPDX-License-Identifier: GPL-3.0-or-later
"""SPANK plugins: X-32, HET-114; callbacks, contexts, options and failures as in the manual page; RELIABILITY 2017-15566."""
import os
import pathlib
import pwd
import shutil
import subprocess

import pytest

from harness import PREFIX, ROOT, eventually, forget_number

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
USER = "nobody" if ROOT else pwd.getpwuid(os.geteuid()).pw_name
UID = pwd.getpwnam(USER).pw_uid

# Writes a line for each callback: context, callback, what it can ask. MODE of plugstack.conf makes one fail.
PROBE = r"""
#include <slurm/spank.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
SPANK_PLUGIN(probe, 1)
static char level[64];
static int with_cb(int val, const char *arg, int remote)
{
    snprintf(level, sizeof level, "%d/%s/%d", val, arg ? arg : "-", remote);
    if (arg && strcmp(arg, "bad") == 0)
        return -1;
    return 0;
}
static struct spank_option by_callback = {"probe-level", "level", "how deep it looks", 1, 7, with_cb};
static struct spank_option by_question = {"probe-flag", NULL, "a flag", 0, 0, NULL};
static struct spank_option optional_arg = {"probe-may", "what", "may have an argument", 2, 0, NULL};
struct spank_option spank_options[] = {{"probe-table", "x", "of the table", 1, 3, NULL}, SPANK_OPTIONS_TABLE_END};
static const char *const contexts[] = {"error", "local", "remote", "allocator", "slurmd", "job_script"};
static int note(spank_t sp, const char *name, int ac, char **av)
{
    char path[300], line[2000];
    uid_t uid = 12345678;
    uint32_t job = 0, step = 0, total = 99, rank = 99, nodes = 99, node = 99, here = 99;
    int local = -1, status = -1, len, fd, has_status;
    pid_t pid = 0;
    char *value = NULL, env[100] = "unset";
    const char *mode = ac > 1 ? av[1] : "";
    spank_get_item(sp, S_JOB_UID, &uid);
    spank_get_item(sp, S_JOB_ID, &job);
    spank_get_item(sp, S_JOB_STEPID, &step);
    spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &total);
    spank_get_item(sp, S_JOB_NNODES, &nodes);
    spank_get_item(sp, S_JOB_NODEID, &node);
    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &here);
    spank_get_item(sp, S_TASK_ID, &local);
    spank_get_item(sp, S_TASK_GLOBAL_ID, &rank);
    spank_get_item(sp, S_TASK_PID, &pid);
    has_status = spank_get_item(sp, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS;
    spank_getenv(sp, "FROM_USER", env, sizeof env);
    int flag = spank_option_getopt(sp, &by_question, NULL);
    int may = spank_option_getopt(sp, &optional_arg, &value);
    snprintf(path, sizeof path, "%s/%s.%s.%u", av[0], contexts[spank_context()], name, (unsigned)getpid());
    len = snprintf(line, sizeof line, "context=%s callback=%s remote=%d euid=%u uid=%u job=%u step=%u tasks=%u local=%d rank=%u "
                   "nodes=%u node=%u here=%u haspid=%d status=%d level=%s flag=%d may=%d:%s env=%s\n", contexts[spank_context()], name, spank_remote(sp), (unsigned)geteuid(),
                   (unsigned)uid, job, step, total, local, rank, nodes, node, here, pid > 0, has_status ? status : -1, level, flag, may, value ? value : "", env);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd >= 0 && write(fd, line, len) == len)
        close(fd);
    snprintf(path, sizeof path, "%s/hold.%s", av[0], name);
    while (access(path, F_OK) == 0)
        usleep(10000);
    if (strncmp(mode, "fail=", 5) == 0 && strcmp(mode + 5, name) == 0)
        return 42;
    return 0;
}
#define CB(name) int slurm_spank_##name(spank_t sp, int ac, char *av[]) { return note(sp, #name, ac, av); }
int slurm_spank_init(spank_t sp, int ac, char *av[])
{
    if (spank_context() != S_CTX_SLURMD) {
        if (spank_option_register(sp, &by_callback) || spank_option_register(sp, &by_question) || spank_option_register(sp, &optional_arg))
            return -1;
        struct spank_option taken = {"nodes", NULL, "the program's own", 0, 0, NULL};
        if (ac > 1 && strcmp(av[1], "taken") == 0)
            spank_option_register(sp, &taken);
    }
    if (spank_context() == S_CTX_LOCAL || spank_context() == S_CTX_ALLOCATOR) {
        char buf[4];
        if (spank_job_control_setenv(sp, "SITE", "one", 1) || spank_job_control_setenv(sp, "SITE", "two", 0) != ESPANK_ENV_EXISTS ||
            spank_job_control_getenv(sp, "SITE", buf, 4) || strcmp(buf, "one") || spank_job_control_getenv(sp, "SITE", buf, 3) != ESPANK_NOSPACE ||
            spank_job_control_setenv(sp, "A=B", "x", 1) != ESPANK_BAD_ARG || spank_setenv(sp, "X", "1", 1) != ESPANK_NOT_REMOTE)
            return -2;
    }
    return note(sp, "init", ac, av);
}
CB(init_post_opt) CB(local_user_init) CB(user_init) CB(task_init_privileged) CB(task_post_fork) CB(task_exit) CB(job_prolog) CB(job_epilog)
CB(slurmd_exit) CB(exit)
int slurm_spank_task_init(spank_t sp, int ac, char *av[])
{
    static const char *more[] = {"/usr/bin/env", "PREPENDED=yes"};
    uint32_t rank = 0, back = 99;
    int local = 0;
    char text[20], **argv;
    int argc;
    spank_get_item(sp, S_TASK_GLOBAL_ID, &rank);
    spank_get_item(sp, S_TASK_ID, &local);
    if (spank_get_item(sp, S_JOB_GLOBAL_TO_LOCAL_ID, rank, &back) || back != (uint32_t)local || spank_get_item(sp, S_JOB_ARGV, &argc, &argv) || argc < 1)
        return -3;
    snprintf(text, sizeof text, "r%u", rank);
    spank_setenv(sp, "FROM_PLUGIN", text, 1);
    spank_unsetenv(sp, "TO_GO");
    if (ac > 1 && strcmp(av[1], "prepend") == 0 && spank_prepend_task_argv(sp, 2, more))
        return -4;
    slurm_spank_log("probe: task %u says hello", rank);
    slurm_info("probe: nobody hears this");
    return note(sp, "task_init", ac, av);
}
"""


def build(directory, source, name):
    out = directory / name
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I", PREFIX / "include"]
    done = subprocess.run(["cc", *map(str, flags), "-o", str(out), str(source)], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    out.chmod(0o755)
    return out


class Site:
    """A cluster with the probe in its plugstack.conf."""

    def __init__(self, cluster):
        self.c = cluster
        self.notes = cluster.dir / "notes"
        self.notes.mkdir()
        self.notes.chmod(0o1777)
        source = cluster.dir / "probe.c"
        source.write_text(PROBE)
        self.so = build(cluster.dir, source, "probe.so")
        self.conf = cluster.dir / "plugstack.conf"

    def write(self, *lines):
        """The lines of plugstack.conf from now on. A node that still ends a job reads the former ones: with bad ones it is drained."""
        if self.c.daemons:
            self.c.settle()
        text = "# the site's plugins\n" + "".join(line + "\n" for line in lines)
        new = self.conf.with_suffix(".new")
        new.write_text(text)
        new.rename(self.conf)

    def probe(self, mode="", how="required"):
        for note in self.notes.iterdir():
            note.unlink()
        self.write(f"{how} {self.so} {self.notes} {mode}")

    def said(self, context, callback):
        """Returns what each call of the plugin could see."""
        lines = [line for path in sorted(self.notes.glob(f"{context}.{callback}.*")) for line in path.read_text().splitlines()]
        return [dict(word.partition("=")[::2] for word in line.split(" ")) for line in lines]


@pytest.fixture(scope="module")
def site():
    from harness import Cluster
    c = Cluster(nodes=2, start=False)
    try:
        s = Site(c)
        s.probe()
        c.start()
        yield s
        c.stop()
        assert len(s.said("slurmd", "slurmd_exit")) == 2
    finally:
        c.destroy()


@pytest.fixture(autouse=True)
def whole(request):
    """Each test that shares the cluster begins with only the probe plugin."""
    if "site" in request.fixturenames:
        request.getfixturevalue("site").probe()


def test_every_callback_of_a_step(site):
    """X-32: contexts, order of ids, options from srun to the tasks and to the site's scripts."""
    c = site.c
    out = c.run(["srun", "-N2", "-n4", "--probe-level=3", "--probe-flag", "--probe-may", "--probe-table=t", "sh", "-c",
                 "echo $FROM_PLUGIN ${TO_GO-gone} $FROM_USER"], user=USER, env={"FROM_USER": "u", "TO_GO": "here"})
    assert sorted(out.ok().splitlines()) == [f"r{i} gone u" for i in range(4)]
    assert sorted(line for line in out.stderr.splitlines() if "hello" in line) == [f"probe: task {i} says hello" for i in range(4)]
    assert "nobody hears" not in out.stderr
    for context, callback, count in (("local", "init", 1), ("local", "init_post_opt", 1), ("local", "local_user_init", 1), ("local", "exit", 1),
                                     ("remote", "init", 2), ("remote", "init_post_opt", 2), ("remote", "user_init", 2),
                                     ("remote", "task_init_privileged", 4), ("remote", "task_init", 4), ("remote", "task_post_fork", 4),
                                     ("remote", "task_exit", 4), ("remote", "exit", 2), ("job_script", "job_prolog", 2)):
        eventually(lambda: len(site.said(context, callback)) == count, lambda: f"{context} {callback}: {site.said(context, callback)}")
    for callback in ("user_init", "task_init", "task_init_privileged", "task_post_fork", "task_exit", "exit"):
        for seen in site.said("remote", callback):
            as_user = callback in ("user_init", "task_init")
            assert (seen["euid"], seen["uid"], seen["tasks"], seen["remote"]) == (str(UID if as_user else os.geteuid()), str(UID), "4", "1"), seen
            assert (seen["level"], seen["flag"], seen["may"], seen["env"]) == ("7/3/1", "0", "0:", "u"), seen
            assert (seen["rank"] != "99") == (seen["haspid"] == "1") == callback.startswith("task"), seen
            assert (seen["status"] == "0") == (callback == "task_exit"), seen
    assert {seen["rank"] for seen in site.said("remote", "task_exit")} == {"0", "1", "2", "3"}
    local = site.said("local", "local_user_init")[0]
    assert local["level"] == "7/3/0" and local["flag"] == "0" and int(local["job"]) > 0 and local["tasks"] == "4"
    for callback in ("job_prolog", "job_epilog"):
        eventually(lambda: len(site.said("job_script", callback)) == 2, callback)
        for seen in site.said("job_script", callback):
            assert (seen["euid"], seen["uid"], seen["job"], seen["flag"], seen["may"]) == (str(os.geteuid()), str(UID), local["job"], "0", "0:")
    assert not site.said("allocator", "init")


def test_sbatch_passes_options_to_steps(site):
    """To the script, to steps within it, from #SBATCH lines; the command line wins; one call a command."""
    c = site.c
    script = "#!/bin/sh\n#SBATCH --probe-level=1\n#SBATCH --probe-may=script\n#SBATCH -o out.%j\nenv | grep -c _SLURM_SPANK_OPTION_\n" \
             "srun -n1 true\nsrun -n1 --probe-level=9 true\nsrun -n1 sh -c 'exit 3'\ntrue\n"
    job = c.sbatch("--probe-level=2", script=script, user=USER)
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert c.output(job, "out.{}").splitlines()[:2] == ["probe: task 0 says hello", "2"]
    assert [s["level"] for s in site.said("allocator", "init_post_opt")] == ["7/2/0"] and len(site.said("allocator", "exit")) == 1
    seen = {s["step"]: s for s in site.said("remote", "task_init")}
    assert {s["level"] for s in seen.values()} == {"7/2/1", "7/9/1"} and len(seen) == 4, seen
    assert {s["may"] for s in seen.values()} == {"0:script"}
    eventually(lambda: len(site.said("remote", "task_exit")) == 4, "all tasks have ended")
    assert sorted(s["status"] for s in site.said("remote", "task_exit")) == ["0", "0", "0", "768"]
    levels = [s["level"] for s in site.said("local", "init_post_opt")]
    assert sorted(levels) == ["7/2/0", "7/2/0", "7/9/0"]
    eventually(lambda: site.said("job_script", "job_epilog"), "the epilog")
    assert site.said("job_script", "job_epilog")[0]["may"] == "0:script"


def test_salloc_passes_options_to_steps(site):
    c = site.c
    out = c.run(["salloc", "-N1", "--probe-level=4", "srun", "printenv", "FROM_PLUGIN"], user=USER)
    assert out.ok() == "r0"
    assert site.said("allocator", "init_post_opt")[0]["level"] == "7/4/0"
    assert site.said("remote", "task_init")[0]["level"] == "7/4/1"


def test_each_component_has_its_options(site):
    """HET-114: init_post_opt of each component, with only its own options: in sbatch, in steps of the script in each component, and in the site's
    scripts."""
    c = site.c
    script = "#!/bin/sh\n#SBATCH --probe-may=a -n1 -o het.%j\n#SBATCH hetjob\n#SBATCH --probe-flag --probe-level=1 -n1\n#SBATCH hetjob\n#SBATCH -n1\n" \
             "srun --het-group=0,1,2 true\nsrun --het-group=1 --probe-may=own true\nsrun --probe-flag true : --probe-may=b true\n"
    job = c.sbatch("--probe-may=first", ":", "--probe-level=2", script=script, user=USER)
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert [s["may"].split(":")[1] for s in site.said("allocator", "init_post_opt")] == ["first", "", ""]
    assert [s["flag"] == "0" for s in site.said("allocator", "init_post_opt")] == [False, True, False]
    assert [s["level"] for s in site.said("allocator", "init_post_opt")][1] == "7/2/0"
    tasks = site.said("remote", "task_init")
    of_step = {n: sorted((int(s["rank"]), s["flag"] == "0", s["may"].split(":")[1], s["level"]) for s in tasks if s["step"] == n) for n in "012"}
    assert of_step["0"] == [(0, False, "first", ""), (1, True, "", "7/2/1"), (2, False, "", "")]
    assert of_step["1"] == [(0, True, "own", "7/2/1")]
    assert of_step["2"] == [(0, True, "first", ""), (1, True, "b", "7/2/1")]
    assert len(site.said("local", "init_post_opt")) == len(site.said("local", "local_user_init")) == 6
    eventually(lambda: len({s["job"] for s in site.said("job_script", "job_epilog")}) == 3, "the epilogs")
    assert {int(s["job"]) - job: (s["flag"] == "0", s["may"].split(":")[1]) for s in site.said("job_script", "job_epilog")} == \
        {0: (False, "first"), 1: (True, ""), 2: (False, "")}


def test_a_node_of_several_components_is_one_node(site):
    """spank_get_item() counts and numbers the nodes of a step as SLURM_NNODES and SLURM_NODEID do, and counts the tasks of all components on a node."""
    site.c.run(["salloc", "-n1", "-w", "n1", ":", "-n1", "-w", "n2", ":", "-n2", "-w", "n1", "srun", "--het-group=0-2", "true"], user=USER).ok()
    seen = sorted((s["rank"], s["nodes"], s["node"], s["here"]) for s in site.said("remote", "task_init"))
    assert seen == [("0", "2", "0", "3"), ("1", "2", "1", "1"), ("2", "2", "0", "3"), ("3", "2", "0", "3")]
    assert {s["nodes"] for s in site.said("local", "local_user_init")} == {"2"}


def test_each_part_of_an_srun_set_has_its_options(site):
    """HET-114: srun without an allocation, whose tasks have the variables of their part; salloc; a refused value names its component."""
    c = site.c
    out = c.run(["srun", "-l", "--probe-may=a", "sh", "-c", "env | grep -c OPTION_", ":", "--probe-flag", "--probe-may=b", "sh", "-c",
                 "env | grep -c OPTION_"], user=USER)
    assert sorted(out.ok().splitlines()) == ["0: 1", "1: 2"]
    assert sorted((s["flag"] == "0", s["may"].split(":")[1]) for s in site.said("remote", "task_init")) == [(False, "a"), (True, "b")]
    site.probe()
    out = c.run(["salloc", "-n1", ":", "-n1", "--probe-may=c", "srun", "--het-group=0,1", "true"], user=USER)
    out.ok()
    assert [s["may"].split(":")[1] for s in site.said("allocator", "init_post_opt")] == ["", "c"]
    assert sorted(s["may"].split(":")[1] for s in site.said("remote", "task_init")) == ["", "c"]
    c.run(["sbatch", "-n1", ":", "--probe-level=bad", "--wrap=true"]).fails("Invalid --probe-level argument: bad (plugin probe, rc=-1) (component 1)")
    site.probe("fail=init_post_opt")
    c.run(["sbatch", "-n1", ":", "-n1", "--wrap=true"]).fails("init_post_opt() failed with rc=42")


@pytest.mark.parametrize("command", ("srun", "sbatch", "salloc"))
def test_help_and_bad_options(site, command):
    c = site.c
    text = c.run([command, "--help"]).ok()
    assert "Options provided by plugins:\n" in text
    assert "--probe-level=level" in text and "[probe] how deep it looks" in text and "--probe-may[=what]" in text
    assert ("--probe-table" in text) == (command == "srun")  # tables are not for the allocators
    run = [command, *(["--wrap=true"] if command == "sbatch" else [])]
    c.run([*run, "--probe-level=bad", *([] if command == "sbatch" else ["true"])]).fails("error: Invalid --probe-level argument: bad")
    c.run([*run, "--probe-level", *([] if command == "sbatch" else [])]).fails("option '--probe-level' requires an argument")
    c.run([*run, "--probe-flag=x", "true"]).fails("option '--probe-flag' doesn't allow an argument")
    c.run([*run, "--probe-nothing", "true"]).fails("unrecognized option '--probe-nothing'")
    site.probe("taken")
    assert "--nodes is an option of this command already" in c.run([command, "--version"]).stderr


def test_job_control_environment(make_cluster):
    """RELIABILITY 2017-15566: scripts of root get these names with the prefix SPANK_, whatever a user sends; so do those of the controller."""
    c = make_cluster(nodes=1, start=False)
    s = Site(c)
    for name in ("Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld"):
        script = c.dir / name
        script.write_text(f"#!/bin/sh\nenv >{c.dir}/{name}.new && mv {c.dir}/{name}.new {c.dir}/{name}.out\n")
        script.chmod(0o755)
        with c.conf_file.open("a") as f:
            f.write(f"{name}={script}\n")
    s.probe()
    c.start()
    c.run(["srun", "--probe-level=/bin/x y", "true"], user=USER, env={"SPANK_EVIL": "1", "LD_PRELOAD": ""}).ok()
    for name in ("Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld"):
        eventually((c.dir / f"{name}.out").exists, name)
        lines = (c.dir / f"{name}.out").read_text().splitlines()
        mine = sorted(line for line in lines if "SITE" in line or "probe" in line and "OPTION" in line or "EVIL" in line)
        assert mine == ["SPANK_SITE=one", "SPANK__SLURM_SPANK_OPTION_probe_probe_level=/bin/x y"], lines


@pytest.mark.parametrize("callback,status,texts", (
    ("init", 1, ("srun: error: spank: required plugin probe", "init() failed with rc=42")),
    ("init_post_opt", 1, ("init_post_opt() failed with rc=42",)),
    ("local_user_init", 1, ("local_user_init() failed with rc=42",)),
))
def test_a_required_plugin_that_fails_stops_the_command(site, callback, status, texts):
    site.probe(f"fail={callback}")
    done = site.c.run(["srun", "touch", f"{site.c.work}/ran-{callback}"], user=USER)
    done.fails(*texts)
    assert done.returncode == status and not (site.c.work / f"ran-{callback}").exists()
    site.probe(f"fail={callback}", "optional")
    done = site.c.run(["srun", "true"], user=USER)
    done.ok()
    assert done.stderr.count(f"optional plugin probe ({site.so}): {callback}() failed with rc=42") in (1, 2)  # srun, and the shepherd


@pytest.mark.parametrize("callback", ("user_init", "task_init_privileged", "task_init", "task_post_fork"))
def test_a_required_plugin_that_fails_on_the_node_stops_the_tasks(site, callback):
    c = site.c
    site.probe(f"fail={callback}")
    done = c.run(["srun", "-n2", "touch", f"{c.work}/ran-{callback}"], user=USER)
    done.fails(f"{callback}() failed with rc=42")
    assert not (c.work / f"ran-{callback}").exists()
    job = c.sbatch("-o", f"{c.work}/o-{callback}", wrap=f"touch {c.work}/ran-{callback}", user=USER)
    eventually(lambda: c.state(job) in ("FAILED", "PENDING", "COMPLETED"), lambda: c.job(job))
    assert c.state(job) != "COMPLETED" and not (c.work / f"ran-{callback}").exists()
    c.run(f"scancel {job}")
    site.probe(f"fail={callback}", "optional")
    done = c.run(["srun", "-n2", "true"], user=USER)
    done.ok()
    assert f"optional plugin probe ({site.so}): {callback}() failed with rc=42" in done.stderr


def test_failures_after_the_tasks_are_reported(site):
    """Failures of task_exit and exit can stop nothing and are logged."""
    site.probe("fail=task_exit")
    done = site.c.run(["srun", "true"], user=USER)
    done.ok()
    assert "task_exit() failed with rc=42" in done.stderr
    said = site.c.run(["srun", "-n2", "true"], user=USER).stderr.splitlines()
    assert [line.count("task_exit() failed") for line in said if "task_exit()" in line] == [1, 1]
    site.probe("fail=exit")
    assert "exit() failed with rc=42" in site.c.run(["srun", "true"], user=USER).stderr


def test_a_plugin_that_ignores_the_ends_of_children(site):
    """Old ones do so in a callback: the shepherd hears of its tasks' ends nevertheless."""
    source = site.c.dir / "deaf.c"
    source.write_text("#include <slurm/spank.h>\n#include <signal.h>\nSPANK_PLUGIN(deaf, 1)\n"
                      "int slurm_spank_user_init(spank_t sp, int ac, char **av) { (void)sp; (void)ac; (void)av; "
                      "signal(SIGCHLD, SIG_IGN); return 0; }\n")
    site.write(f"required {build(site.c.dir, source, 'deaf.so')}")
    assert site.c.run(["srun", "-n2", "sh", "-c", "exit 3"], user=USER).returncode == 3


def test_descriptors_of_a_plugin_are_not_inherited_by_tasks(site):
    """A plugin may keep a file open without O_CLOEXEC; programs get only the three streams."""
    source = site.c.dir / "open.c"
    source.write_text("#include <slurm/spank.h>\n#include <fcntl.h>\nSPANK_PLUGIN(open, 1)\n"
                      "int slurm_spank_init(spank_t sp, int ac, char **av) { (void)sp; (void)ac; (void)av; "
                      "return open(\"/etc/hostname\", O_RDONLY) < 0; }\n")
    site.write(f"required {build(site.c.dir, source, 'open.so')}")
    names = site.c.run(["srun", "find", "/proc/self/fd", "-type", "l", "-printf", "%l\\n"], user=USER).ok()
    assert "/etc/hostname" not in names and len(names) > 0


@pytest.mark.parametrize("callback", ("job_prolog", "job_epilog"))
def test_a_script_callback_that_fails_drains_the_node(make_cluster, callback):
    c = make_cluster(nodes=1, start=False)
    s = Site(c)
    epilog = c.dir / "epilog"
    epilog.write_text(f"#!/bin/sh\ntouch {c.dir}/cleaned\n")
    epilog.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"Epilog={epilog}\n")
    s.probe(f"fail={callback}")
    c.start()
    job = c.sbatch("-o", "/dev/null", wrap="true")
    eventually(lambda: "DRAIN" in c.node("n1")["State"], lambda: c.node("n1"))
    eventually(lambda: c.state(job) == ("PENDING" if callback == "job_prolog" else "COMPLETED"), lambda: c.job(job))
    assert ("Prolog error" if callback == "job_prolog" else "Epilog error") in c.node("n1")["Reason"]
    assert f"{callback}() failed with rc=42" in c.tail("n1", 200)
    eventually((c.dir / "cleaned").exists, "the epilog runs all the same")


def test_script_callbacks_are_waited_for_by_the_next_daemon(make_cluster):
    """Without scripts of the site; the daemon was killed before it had stored the process id of the epilog's callbacks."""
    c = make_cluster(nodes=1, start=False)
    s = Site(c)
    s.probe()
    c.start()
    for what in "prolog", "epilog":
        (s.notes / f"hold.job_{what}").touch()
    job = c.sbatch("-o", "/dev/null", wrap="true")
    log = c.dir / "slurmd-n1.log"
    for what in "prolog", "epilog":
        eventually(lambda: s.said("job_script", f"job_{what}"), f"{what} runs")
        before = len(log.read_text())
        c.kill("n1")
        if what == "epilog":
            forget_number(c, b"E")
        c.start_node("n1")
        eventually(lambda: "registered with the controller" in log.read_text()[before:], "registered")
        ended = f"the {what} that was running when this daemon started has ended"
        assert ended not in log.read_text()
        (s.notes / f"hold.job_{what}").unlink()
        eventually(lambda: ended in log.read_text(), "its end is seen")
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert len(s.said("job_script", "job_prolog")) == 2 and len(s.said("job_script", "job_epilog")) == 1  # how a prolog went is not known


def test_prepended_environment_is_applied(site):
    site.probe("prepend")
    c = site.c
    assert c.run(["srun", "printenv", "PREPENDED"], user=USER).ok() == "yes"
    job = c.sbatch("-o", f"{c.work}/prepended", wrap="printenv PREPENDED", user=USER)
    c.wait(job)
    assert (c.work / "prepended").read_text().splitlines()[-1:] == ["yes"]


@pytest.mark.parametrize("lines,text", (
    (["requird x.so"], ':2: "requird" is neither required, optional nor include'),
    (["", "required"], ":3: required: the plugin is missing"),
    (["required nowhere.so"], ":2: the required plugin nowhere.so is not in"),
    (["required /nowhere.so"], ":2: the required plugin /nowhere.so is not in its place"),
    (["required ./x.so"], ":2: ./x.so is neither an absolute path nor a name in PluginDir"),
    (["optional x.so 'open"], ":2: a quote is not closed"),
    (["include"], ":2: include takes one pattern"),
    (["include plugstack.conf"], "includes are nested more than 8 deep"),
    (["include pipe"], "/pipe is not a regular file"),
))
def test_invalid_configuration_is_reported(site, lines, text):
    """Said with the file and the line, by commands and by the node."""
    c = site.c
    if not (c.dir / "pipe").exists():
        os.mkfifo(c.dir / "pipe", 0o644)
    site.write(*lines)
    c.run(["srun", "true"]).fails(f"{site.conf}", text)
    c.run(["sbatch", "--wrap=true"]).fails(text)


def test_files_that_are_no_plugins_are_named(site):
    """A file that is not a plugin is named; an optional plugin that is missing or invalid affects no job."""
    c = site.c
    junk = c.dir / "junk.so"
    junk.write_text("not a library\n")
    junk.chmod(0o644)
    site.write("optional nowhere.so", f"optional {junk}")
    done = c.run(["srun", "echo", "fine"])
    assert done.ok() == "fine" and f"{site.conf}:3: {junk}" in done.stderr
    site.write(f"required {junk}")
    c.run(["srun", "true"]).fails(f"required plugin: {site.conf}:2: {junk}")
    empty = c.dir / "empty.c"
    empty.write_text("int nothing;\n")
    site.write(f"required {build(c.dir, empty, 'empty.so')}")
    c.run(["srun", "true"]).fails("is not a SPANK plugin")
    unresolved = c.dir / "unresolved.c"
    unresolved.write_text('#include <slurm/spank.h>\nSPANK_PLUGIN(un, 1)\nvoid no_such_function(void);\n'
                          'int slurm_spank_init(spank_t s, int a, char *v[]) { (void)s; (void)a; (void)v; no_such_function(); return 0; }\n')
    site.write(f"required {build(c.dir, unresolved, 'unresolved.so')}")
    c.run(["srun", "true"]).fails("undefined symbol: no_such_function")


def test_included_files_in_order(site):
    c = site.c
    parts = c.dir / "plugstack.conf.d"
    parts.mkdir()
    build(c.dir, EXAMPLES / "spank_ports.c", "ports.so")
    (parts / "10-ports.conf").write_text(f'required {c.dir}/ports.so "first=30000" # a comment\n')
    (parts / "20-none.conf").write_text("\n")
    site.write("include plugstack.conf.d/*.conf", "include nothing.d/*")
    assert sorted(c.run(["srun", "-N1", "-n2", "printenv", "TASK_PORTS"], user=USER).ok().splitlines()) == ["30000-30009", "30010-30019"]
    c.settle()
    shutil.rmtree(parts)


def test_example_plugins_work(site):
    """The plugins of examples/ work as described."""
    c = site.c
    build(c.dir, EXAMPLES / "spank_renice.c", "renice.so")
    build(c.dir, EXAMPLES / "spank_ports.c", "ports.so")
    site.write(f"required {c.dir}/renice.so default=3", f"required {c.dir}/ports.so first=20000 each=5")
    show = ["sh", "-c", "nice; echo $TASK_PORTS"]
    assert c.run(["srun", *show], user=USER).ok().split() == ["3", "20000-20004"]
    assert c.run(["srun", "--renice=7", *show], user=USER).ok().split() == ["7", "20000-20004"]
    c.run(["srun", "--renice=99", *show], user=USER).fails("renice: 99 is no priority", "Invalid --renice argument: 99")
    site.write(f"required {c.dir}/ports.so first=x")
    c.run(["srun", *show], user=USER).fails("ports: bad argument in plugstack.conf: first=x")


@pytest.mark.skipif(not ROOT, reason="needs root")
def test_root_loads_nothing_that_others_can_change(site):
    c = site.c
    for path in (site.so, site.conf):
        path.chmod(0o666)
        job = c.run(["srun", "true"], user=USER)  # root's part refuses it
        job.fails("others")
        c.run("scontrol update NodeName=n[1-2] State=RESUME")
        c.run(["srun", "true"]).fails(f"chmod go-w {path}")  # and so does root's own command
        path.chmod(0o755 if path is site.so else 0o644)
    eventually(lambda: c.run(["srun", "-N2", "true"], user=USER).returncode == 0 or c.run("scontrol update NodeName=n[1-2] State=RESUME") is None,
               "all is well again")


def test_plain_step_daemon_runs_without_plugins(site):
    """And with them the other one."""
    c = site.c
    show = ["srun", "sh", "-c", "tr -d '\\0' </proc/$PPID/comm"]
    assert c.run(show).ok() == "slurmstepd-span"
    site.conf.unlink()
    assert c.run(show).ok() == "slurmstepd"
    site.write("# nothing")
    assert c.run(show).ok() == "slurmstepd"
