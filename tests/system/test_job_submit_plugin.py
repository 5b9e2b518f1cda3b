# SPDX-License-Identifier: GPL-3.0-or-later
"""job_submit plugins in C: their decisions, together with Lua and in order, and their isolation: CORE-051, CORE-154, X-20."""
import os
import pathlib
import re
import subprocess

import pytest

from harness import PREFIX, alive, child_named, eventually
from test_api import EXAMPLE, flags

GUIDE = pathlib.Path(__file__).parents[2] / "docs/job_submit.md"
PROBE = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sluice/job_submit.h>
static char *volatile nowhere;
static int loaded;
static void await(void)
{
    FILE *f = fopen("DIR/inside", "w");
    if (f)
        fclose(f);
    int gate = open("DIR/go", O_RDONLY); /* a pipe: until somebody opens its other end */
    if (gate >= 0)
        close(gate);
}
static int begin(char *why, size_t room)
{
    if (access("DIR/nobegin", F_OK) == 0) {
        snprintf(why, room, "today is no day");
        return 1;
    }
    while (access("DIR/nevers", F_OK) == 0)
        pause();
    loaded++;
    return 0;
}
static int ask(struct sluice_job *job)
{
    const char *name = sluice_job_text(job, "name"), *comment = sluice_job_text(job, "comment");
    char text[200];
    size_t length;
    int64_t n = -77;
    if (!name)
        return SLUICE_JOB_PASS;
    if (strcmp(name, "crash") == 0)
        *nowhere = 'x';
    if (strcmp(name, "exit") == 0)
        _exit(3);
    if (strcmp(name, "hang") == 0)
        await();
    if (strcmp(name, "denied") == 0)
        return 1008;
    if (strcmp(name, "fields") == 0) {
        const char *script = sluice_job_script(job, &length), *home = sluice_job_env(job, "PROBE");
        snprintf(text, sizeof text, "%d %d %d %d %d %d %.2s %s %u %u %d", sluice_job_number(job, "min_nodes", &n),
                 sluice_job_number(job, "name", &n), sluice_job_number(job, "nothing", &n),
                 sluice_job_set_number(job, "min_nodes", -1), sluice_job_set_text(job, "user_name", "root"),
                 sluice_job_set_number(job, "num_tasks", 4294967294), script ? script : "no", home ? home : "none",
                 sluice_job_id(job), sluice_job_caller(job), (int)n);
        sluice_job_tell(job, text);
        sluice_job_set_number(job, "nice", 5);
        sluice_job_set_number(job, "time_limit", SLUICE_JOB_NO_LIMIT);
        sluice_job_clear(job, "min_mem_per_node");
        sluice_job_set_number(job, "min_mem_per_cpu", 33);
    }
    snprintf(text, sizeof text, "%s%s%d", comment ? comment : "", "NAME", loaded);
    sluice_job_set_text(job, "comment", text);
    return SLUICE_JOB_PASS;
}
static int change(struct sluice_job *set, const struct sluice_job *job)
{
    const char *comment = sluice_job_text(set, "comment"), *name = sluice_job_text(job, "name");
    char text[200];
    if (comment && strcmp(comment, "crash") == 0)
        raise(SIGSEGV);
    if (comment && strcmp(comment, "later") == 0)
        await();
    if (comment) {
        snprintf(text, sizeof text, "%s of %s", comment, name);
        sluice_job_set_text(set, "comment", text);
    }
    return sluice_job_set_text((struct sluice_job *)job, "comment", "x") == SLUICE_JOB_BAD ? SLUICE_JOB_PASS : SLUICE_JOB_REFUSE;
}
static void finish(void)
{
    FILE *f = fopen("DIR/fini", "a");
    if (f) {
        fputs("NAME\n", f);
        fclose(f);
    }
}
const struct sluice_job_submit sluice_job_submit = {
    .version = SLUICE_JOB_SUBMIT_VERSION + MORE, .init = begin, .submit = ask, .modify = change, .fini = finish };
"""
LUA = """
function slurm_job_submit(job_desc, part_list, submit_uid)
    job_desc.comment = (job_desc.comment or "") .. "lua"
    slurm.user_msg("lua was asked")
    return slurm.SUCCESS
end
"""
PARTITIONS = ["PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED", "PartitionName=short Nodes=ALL MaxTime=30"]


def compile_(source, out, *more):
    """By the line of the guide."""
    line = re.search(r"cc (-shared .*?) -o ", GUIDE.read_text())[1].split()
    subprocess.run(["cc", *line, "-Wall", "-Werror", *more, "-o", out, source, *flags("--cflags")], check=True)
    out.chmod(0o755)
    return out


def probe(c, name="probe", more=0):
    plugins = c.dir / "plugins"
    plugins.mkdir(mode=0o755, exist_ok=True)
    source = c.dir / f"{name}.c"
    source.write_text(PROBE.replace("DIR", str(c.dir)).replace("NAME", name).replace("MORE", str(more)))
    return compile_(source, plugins / f"job_submit_{name}.so")


def configure(c, names):
    c.conf_file.write_text(c.conf_file.read_text() + f"JobSubmitPlugins={names}\nPluginDir=/nonexistent:{c.dir}/plugins\n")


@pytest.fixture
def make(make_cluster):
    """A cluster with these plugins, of which all but lua and site are probes."""
    def new(names, *, start=True, **options):
        c = make_cluster(start=False, **options)
        os.mkfifo(c.dir / "go")
        configure(c, names)
        for name in names.split(","):
            if name == "lua":
                (c.dir / "job_submit.lua").write_text(LUA)
            elif name == "site":
                (c.dir / "plugins").mkdir(mode=0o755)
                compile_(EXAMPLE.parent / "job_submit_site.c", c.dir / "plugins/job_submit_site.so")
            else:
                probe(c, name)
        if start:
            c.start()
        return c
    return new


def batch(c, name, *options, **more):
    return c.run(["sbatch", "-o", "/dev/null", "-J", name, *options, "--wrap", "true"], **more)


def taken(c, name, *options, **more):
    return c.job(int(batch(c, name, *options, **more).ok().split()[-1]))


def log(c):
    return (c.dir / "slurmctld.log").read_text()


def helper(c):
    """The process in which plugins run, or None."""
    return child_named(c.daemons["slurmctld"].pid, "slurmsubmitd")


def test_example_plugin_changes_and_refuses_jobs(make):
    """CORE-051, 154."""
    c = make("site", nodes=1, partitions=PARTITIONS)
    batch(c, "endless").fails("Batch job submission failed: say how long it takes: --time")
    c.run("srun -J endless true").fails("say how long it takes")
    assert taken(c, "a", "-t", "31")["Partition"] == "main"
    job = taken(c, "a", "-t", "30", "-A", "urgent", "--comment=final")
    assert (job["Partition"], job["Priority"]) == ("short", "100000")
    c.run("srun -t 1 -p main true").ok()
    eventually(lambda: "job_submit/site: a job of uid " in log(c), "what it logs")
    held = taken(c, "b", "-t5", "-H", "--comment=final")["JobId"]
    c.run(f"scontrol update JobId={held} Comment=other").fails("its comment is final")
    c.run(f"scontrol update JobId={held} TimeLimit=6").ok()
    assert (c.job(held)["Comment"], c.job(held)["TimeLimit"]) == ("final", "00:06:00")


def test_plugins_are_called_in_order(make):
    c = make("first,lua,second", nodes=1)
    done = batch(c, "x", "--comment=user,")
    assert "lua was asked" in done.stderr
    assert c.job(int(done.ok().split()[-1]))["Comment"] == "user,first1luasecond1"
    # The file of the script is read when it has changed, here too; a plugin by 'scontrol reconfigure'.
    (c.dir / "new.lua").write_text(LUA.replace('.. "lua"', '.. "LUA"'))
    os.rename(c.dir / "new.lua", c.dir / "job_submit.lua")
    assert taken(c, "x")["Comment"] == "first1LUAsecond1"
    c.conf_file.write_text(c.conf_file.read_text().replace("first,lua,second", "second,first"))
    c.run("scontrol reconfigure").ok()
    assert taken(c, "x")["Comment"] == "second1first1"
    eventually(lambda: (c.dir / "fini").exists() and (c.dir / "fini").read_text() == "second\nfirst\n", "the ends of the first ones")
    c.conf_file.write_text(c.conf_file.read_text().replace("second,first", ""))
    c.run("scontrol reconfigure").ok()
    assert taken(c, "x").get("Comment") in (None, "(null)")
    eventually(lambda: helper(c) is None, "no plugin, no helper")


def test_plugin_reads_and_changes_fields(make):
    c = make("probe", nodes=1)
    uid = int(c.run("id -u").ok())
    done = batch(c, "fields", env={"PROBE": "yes"})
    assert f"1 -1 -1 -2 -2 -2 #! yes 0 {uid} -77" in done.stderr
    job = c.job(int(done.ok().split()[-1]))
    assert (job["TimeLimit"], job["MinMemoryCPU"]) == ("UNLIMITED", "33M")
    assert c.run(["squeue", "-h", "-t", "all", "-o", "%y"]).ok().split() == ["5"]
    batch(c, "denied").fails("Access/permission denied")


def test_crashing_plugin_breaks_only_its_request(make):
    c = make("probe", nodes=1)
    leader = c.daemons["slurmctld"].pid
    kept = taken(c, "kept", "-H")["JobId"]
    first = helper(c)
    for name, what in (("crash", "job_submit/probe"), ("exit", "job_submit/probe ended its process with status 3")):
        batch(c, name).fails("Batch job submission failed: job_submit/probe", what)
    c.run(f"scontrol update JobId={kept} Comment=crash").fails("job_submit/probe")
    assert taken(c, "after")["Comment"] == "probe1"
    assert helper(c) != first and not alive(first)
    assert log(c).count("the plugins are loaded again") == 3
    # While one question hangs others are served, those behind it wait, and it is given up in the end.
    hangs = c.popen(["sbatch", "-J", "hang", "--wrap", "true"])
    eventually((c.dir / "inside").exists, "it hangs")
    stands = helper(c)
    behind = c.popen(["sbatch", "-o", "/dev/null", "-J", "behind", "--wrap", "true"])
    served, early = 0, behind.poll()
    while hangs.poll() is None:
        c.run("squeue -h").ok()
        c.run(f"scontrol hold {kept}").ok()
        served += hangs.poll() is None
    assert served and early is None
    out, err = hangs.communicate()
    assert hangs.returncode == 1 and "job_submit/probe has not answered within 5 s" in err, err
    out, err = behind.communicate(timeout=60)
    assert behind.returncode == 0, err
    assert not alive(stands)
    assert c.daemons["slurmctld"].pid == leader and c.daemons["slurmctld"].poll() is None
    assert c.state(kept) == "PENDING"


def test_slow_plugin_delays_only_its_request(make):
    """Only the request of the slow plugin waits; its caller may end, and the controller may be killed."""
    c = make("probe", nodes=1)
    held = taken(c, "held", "-H")["JobId"]
    update = c.popen(["scontrol", "update", f"JobId={held}", "Comment=later"])
    gone = c.popen(["sbatch", "-J", "gone", "--wrap", "true"])
    eventually((c.dir / "inside").exists, "it is asked")
    gone.kill()
    gone.wait()
    assert c.job(held)["Comment"] == "probe1"
    gate = os.open(c.dir / "go", os.O_RDWR)
    assert update.communicate(timeout=60) and update.returncode == 0
    assert c.job(held)["Comment"] == "later of held"
    os.close(gate)
    (c.dir / "inside").unlink()
    waits = c.popen(["sbatch", "-o", "/dev/null", "-J", "hang", "--wrap", "true"])
    old = helper(c)
    eventually((c.dir / "inside").exists, "it hangs")
    c.kill("slurmctld")
    eventually(lambda: not alive(old), "it ends with the controller")
    gate = os.open(c.dir / "go", os.O_RDWR)
    c.start_controller()
    out, err = waits.communicate(timeout=60)
    os.close(gate)
    assert waits.returncode == 0, err
    assert c.run("squeue -h -t all -n hang -o %i").ok().split() == [out.split()[-1]]


def test_waiting_requests_of_a_user_are_limited(make):
    """Scripts that wait are in the controller's memory: a user's further ones wait in his commands."""
    c = make("probe", nodes=1)
    script = c.work / "large"
    script.write_text("#!/bin/sh\n#" + "x" * (3 << 20) + "\n")
    script.chmod(0o755)
    files = [c.work / f"said.{i}" for i in range(14)]
    many = []
    for file in files:
        with open(file, "w") as said:
            many.append(c.popen(["sbatch", "-v", "-J", "hang", "-o", "/dev/null", str(script)], stderr=said))
    eventually(lambda: any("then asking again" in f.read_text() for f in files), "one of them waits")
    gate = os.open(c.dir / "go", os.O_RDWR)
    for p, file in zip(many, files):
        p.communicate(timeout=60)
        assert p.returncode == 0 or "has not answered within 5 s" in file.read_text()
    os.close(gate)
    assert any(p.returncode == 0 for p in many)


def test_elements_of_an_array(make):
    c = make("probe", nodes=1)
    job = int(c.run(["sbatch", "-o", "/dev/null", "-H", "-J", "many", "-a", "0-999", "--wrap", "true"]).ok().split()[-1])
    c.run(f"scontrol update JobId={job}_[3-5] Comment=some").ok()
    shown = c.run(["squeue", "-h", "-o", "%K %k"]).ok().splitlines()
    assert sorted(shown) == ["0-2,6-999 probe1", "3-5 some of many"]
    c.run(f"scontrol update JobId={job} Comment=all").ok()
    assert {line.split(" ", 1)[1] for line in c.run(["squeue", "-h", "-o", "%K %k"]).ok().splitlines()} == {"all of many"}
    c.run(f"scontrol update JobId={job}_7 Comment=crash").fails("job_submit/probe")
    assert sorted(line.split()[0] for line in c.run(["squeue", "-h", "-o", "%K %k"]).ok().splitlines()) == ["0-2,6-999", "3-5"]


@pytest.mark.slow
def test_unusable_plugins_are_refused(make, tmp_path):
    c = make("probe", nodes=1)
    line = next(i for i, text in enumerate(c.conf_file.read_text().splitlines(), 1) if text.startswith("JobSubmitPlugins"))
    good = c.conf_file.read_text()
    place = f"{c.conf_file}:{line}: JobSubmitPlugins="
    file = c.dir / "plugins/job_submit_probe.so"

    c.conf_file.write_text(good.replace("=probe", "=probe,missing"))
    missing = place + f"missing: there is no job_submit_missing.so in PluginDir=/nonexistent:{c.dir}/plugins: put it there"
    c.run("scontrol reconfigure").fails(missing)
    assert taken(c, "still")["Comment"] == "probe1"
    check = subprocess.run([PREFIX / "sbin/slurmctld", "--check", "-f", c.conf_file], text=True, capture_output=True)
    assert check.returncode == 1 and missing in check.stderr
    c.kill("slurmctld")
    start = subprocess.run([PREFIX / "sbin/slurmctld", "-D", "-f", c.conf_file], text=True, capture_output=True, timeout=60)
    assert start.returncode == 1 and missing in start.stderr
    c.conf_file.write_text(good)

    file.chmod(0o777)
    start = subprocess.run([PREFIX / "sbin/slurmctld", "-D", "-f", c.conf_file], text=True, capture_output=True, timeout=60)
    assert start.returncode == 1 and place + "probe: " in start.stderr and "chmod" in start.stderr
    file.chmod(0o755)

    # What is seen only when it is loaded: the controller runs, and takes no job before that is put right.
    c.start_controller()
    for source, what in (("int x;", "is not a job_submit plugin: it has no symbol sluice_job_submit"), (None, "is for version 2 of")):
        if source:
            (tmp_path / "a.c").write_text(source)
            compile_(tmp_path / "a.c", tmp_path / "a.so")
            os.replace(tmp_path / "a.so", file)
        else:
            file.unlink()
            probe(c, more=1)
        c.run("scontrol reconfigure").ok()
        batch(c, "x").fails("the site's job_submit plugins cannot be used: " + place + "probe: ", what)
        c.run("squeue").ok()
    file.write_bytes(b"no library")
    c.run("scontrol reconfigure").ok()
    batch(c, "x").fails("it cannot be loaded: ")
    file.unlink()
    (c.dir / "nobegin").touch()
    probe(c)
    c.run("scontrol reconfigure").ok()
    batch(c, "x").fails("does not begin: today is no day")
    assert "no job is taken before that is put right and 'scontrol reconfigure' is run" in log(c)
    (c.dir / "nobegin").unlink()
    (c.dir / "nevers").touch()
    c.run("scontrol reconfigure").ok()
    waits = c.popen(["sbatch", "-o", "/dev/null", "-J", "waits", "--wrap", "true"])
    out, err = waits.communicate(timeout=60)
    assert waits.returncode == 1 and "job_submit/probe has not answered within 5 s while it began" in err, err
    (c.dir / "nevers").unlink()  # a busy machine, say: it is started again without a command of the administrator
    eventually(lambda: batch(c, "again").returncode == 0, "jobs are taken again")
    assert taken(c, "good")["Comment"] == "probe1"


def test_header_compiles_alone(tmp_path):
    """It is C11 and C++, and needs nothing else of ours."""
    for compiler, name in (("cc", "a.c"), ("c++", "a.cc")):
        (tmp_path / name).write_text("#include <sluice/job_submit.h>\nint main(void) { return 0; }\n")
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-c", *flags("--cflags"), "-o", tmp_path / "a.o",
                        tmp_path / name], check=True)
