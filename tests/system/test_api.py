# SPDX-License-Identifier: GPL-3.0-or-later
"""The C API as it is installed: CORE-125, 126, 162, 235."""
import os
import pathlib
import re
import subprocess

import pytest

from harness import PREFIX, ROOT, eventually

LIB = PREFIX / "lib"
SANITIZED = b"__asan_init" in (LIB / "libsluice.so").read_bytes() if (LIB / "libsluice.so").exists() else False
CC = ["clang", "-fsanitize=address,undefined"] if SANITIZED else ["cc"]
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/jobs.c"


def flags(*which):
    return subprocess.run(["pkg-config", *which, "sluice"], text=True, capture_output=True, check=True,
                          env={**os.environ, "PKG_CONFIG_PATH": str(LIB / "pkgconfig")}).stdout.split()


def build(source, out, *more):
    subprocess.run([*CC, "-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Werror", *more, "-o", out, source,
                    *flags("--cflags", "--libs")], check=True)
    return out


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    place = tmp_path_factory.mktemp("api")
    place.chmod(0o755)
    place.parent.chmod(0o755)
    return build(EXAMPLE, place / "jobs")


def run(c, *line, **more):
    return c.run(list(line), env={"LD_LIBRARY_PATH": str(LIB)}, **more)


def script(c, text):
    file = c.work / "job.sh"
    file.write_text("#!/bin/sh\n" + text)
    return file


def test_a_job_by_the_example(cluster, example):
    """CORE-162, 235: Nodes, submission, steps, changes only, the end."""
    c = cluster
    out = run(c, example, script(c, 'echo "got $1 as $SLURM_JOB_ID"\nsleep 2\n'), "a b").ok()
    job = int(re.search(r"^submitted (\d+)$", out, re.M)[1])
    assert re.findall(r"^node (n\d) IDLE cpus 0/4 memory 0/4000 MiB weight 1", out, re.M) == ["n1", "n2", "n3", "n4"]
    states = re.findall(rf"^job {job} (\w+) on ([^ ,]+)", out, re.M)
    assert states[-2:] == [("RUNNING", "n1"), ("COMPLETED", "n1")]
    assert f"step {job}.batch batch on n1" in out
    looked, spared = map(int, re.search(r"looked (\d+) times, nothing had changed (\d+) times", out).groups())
    assert spared >= looked - 8 and spared > 5
    assert (c.work / f"jobs-{job}.out").read_text() == f"got a b as {job}\n"
    assert c.job(job)["TimeLimit"] == "00:10:00"


def test_cancelled_and_drained_by_the_example(cluster, example):
    """CORE-125."""
    c = cluster
    out = run(c, example, "-d", "n4", "-k", "0", script(c, "exec sleep 1000\n")).ok()
    assert re.search("^node n4 IDLE[+]DRAIN .* by the example$", out, re.M)
    assert re.search(r"^job \d+ CANCELLED", out, re.M)
    assert c.node("n4")["State"] == "IDLE"
    if ROOT:
        said = run(c, example, "-d", "n4", script(c, "true\n"), user="nobody").fails()
        assert said == "jobs: n4: Access/permission denied\n"
        assert c.node("n4")["State"] == "IDLE"


CASES = r"""
#include <assert.h>
#include <string.h>
#include <stdio.h>
#include <signal.h>
#include <sluice/sluice.h>
static int count;
static void job(void *ctx, const struct sluice_job *j) { count++; *(uint32_t *)ctx = j->id; }
static void node(void *ctx, const struct sluice_node *n) { count++; }
int main(int argc, char **argv)
{
    struct sluice_error e;
    uint32_t id = 0, seen = 0;
    int64_t jobs = 0, nodes = 0, before;
    int status = -1;
    assert(!sluice_open("/nonexistent", &e) && strstr(e.text, "/nonexistent"));
    struct sluice *s = sluice_open(NULL, NULL);
    assert(s);
    struct sluice_submit r = {0};
    assert(sluice_submit(s, &r, &id, &e) == SLUICE_RANGE && strstr(e.text, "script"));
    r.script = "echo no interpreter";
    assert(sluice_submit(s, &r, &id, NULL) == SLUICE_RANGE);
    r.script = "#!/bin/sh\nexit 3\n";
    r.work_dir = "relative";
    assert(sluice_submit(s, &r, &id, &e) == SLUICE_RANGE && strstr(e.text, "absolute"));
    r.work_dir = NULL;
    r.partition = "ghost";
    assert(sluice_submit(s, &r, &id, &e) == SLUICE_NO_PARTITION && e.code == SLUICE_NO_PARTITION);
    r.partition = NULL;
    r.memory_mib = 1 << 30;
    assert(sluice_submit(s, &r, &id, &e) && strstr(e.text, "Memory"));
    r.memory_mib = 0;
    r.output = r.error = "/dev/null";
    assert(sluice_signal(s, 999999, SLUICE_WHOLE_JOB, 0, &e) == SLUICE_NO_JOB);
    assert(sluice_wait(s, 999999, &status, &e) == SLUICE_NO_JOB);
    assert(sluice_node_state(s, "ghost", "RESUME", NULL, &e) == SLUICE_NO_NODE);
    assert(sluice_node_state(s, "n1", NULL, NULL, &e) == SLUICE_RANGE);
    assert(sluice_nodes(s, "n[1-2]", &nodes, node, NULL, &e) == 0 && count == 2 && nodes);
    before = nodes;
    assert(sluice_nodes(s, "n[1-2]", &nodes, node, NULL, &e) == SLUICE_NO_CHANGE && count == 2);
    assert(nodes == before);
    assert(sluice_jobs(s, 0, &jobs, job, &seen, &e) == 0);
    assert(sluice_jobs(s, 0, &jobs, job, &seen, &e) == SLUICE_NO_CHANGE);
    assert(sluice_submit(s, &r, &id, &e) == 0 && id && e.code == 0 && !*e.text);
    assert(sluice_wait(s, id, &status, &e) == 0 && status == 3 << 8);
    count = 0;
    assert(sluice_jobs(s, id, &jobs, job, &seen, &e) == 0 && count == 1 && seen == id);
    assert(sluice_nodes(s, NULL, &nodes, node, NULL, &e) == 0 && nodes != before);
    assert(sluice_signal(s, id, SLUICE_WHOLE_JOB, SIGTERM, &e) == SLUICE_JOB_DONE);
    printf("%lld\n", (long long)nodes);
    fflush(stdout);
    getchar(); /* the controller is another one now */
    count = 0;
    assert(sluice_nodes(s, NULL, &nodes, node, NULL, &e) == 0 && count == 2);
    sluice_close(s);
    sluice_close(NULL);
    return 0;
}
"""


def test_refusals_and_stamps(make_cluster, tmp_path):
    """CORE-126: "no change" is said of one start of a controller only."""
    (tmp_path / "cases.c").write_text(CASES)
    program = build(tmp_path / "cases.c", tmp_path / "cases")
    c = make_cluster(nodes=2)
    p = c.popen([program], env={"LD_LIBRARY_PATH": str(LIB)}, stdin=subprocess.PIPE)
    line = p.stdout.readline()
    assert line.strip().isdigit(), p.communicate()
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready()
    out, err = p.communicate("x\n", timeout=60)
    assert p.returncode == 0, err


ARRAYS = r"""
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sluice/sluice.h>
static char list[4000], refusals[1000];
static void job(void *ctx, const struct sluice_job *j)
{
    uint32_t id = *(uint32_t *)ctx;
    if (j->array_job_id != id)
        return;
    char plain[100];
    if (*j->elements)
        snprintf(plain, sizeof plain, "%u_[%s]", id, j->elements);
    else
        snprintf(plain, sizeof plain, "%u_%u", id, j->array_task_id);
    assert(strcmp(plain, j->full_id) == 0);
    assert((j->array_task_id == SLUICE_NO_TASK) == (*j->elements != 0));
    snprintf(list + strlen(list), 200, "%s%s %s %d %u\n", j->full_id, j->completing ? "+" : "", j->state, j->held,
             j->priority == 77 ? 77 : 0);
}
static int has(struct sluice *s, uint32_t id, const char *line)
{
    int64_t stamp = 0;
    *list = 0;
    assert(sluice_jobs(s, id, &stamp, job, &id, NULL) == 0);
    return strstr(list, line) != NULL;
}
static void plain(void *ctx, const struct sluice_job *j)
{
    assert(j->array_job_id == 0 && j->array_task_id == SLUICE_NO_TASK && !*j->elements);
    snprintf(ctx, 20, "%s", j->full_id);
}
static void refused(void *ctx, uint32_t id, int code, const char *text)
{
    snprintf(refusals + strlen(refusals), 300, "%u %s\n", id, text);
}
int main(int argc, char **argv)
{
    struct sluice_error e;
    struct sluice *s = sluice_open(NULL, &e);
    struct sluice_submit r = {.script = "#!/bin/sh\nexit $SLURM_ARRAY_TASK_ID\n", .output = "/dev/null", .error = "/dev/null"};
    uint32_t id = 0, one = 0;
    int status = -1;
    char line[200], text[20];
    assert(s);
    r.array = "1-";
    assert(sluice_submit(s, &r, &id, &e) && strstr(e.text, "--array"));
    r.array = NULL;
    assert(sluice_submit(s, &r, &one, &e) == 0);
    assert(sluice_jobs(s, one, NULL, plain, text, &e) == 0);
    snprintf(line, sizeof line, "%u", one);
    assert(strcmp(text, line) == 0);
    assert(sluice_hold_elements(s, one, "1", &e) == SLUICE_NO_JOB);
    assert(sluice_wait(s, one, &status, &e) == 0);
    assert(sluice_node_state(s, "n1", "DRAIN", "test", &e) == 0);
    r.array = "0-5";
    assert(sluice_submit(s, &r, &id, &e) == 0);
    assert(sluice_hold_elements(s, id, NULL, &e) == SLUICE_RANGE && strstr(e.text, "elements"));
    assert(sluice_hold_elements(s, id, "9", &e) == SLUICE_NO_JOB);
    assert(sluice_hold_elements(s, id, "x", &e));
    assert(sluice_hold_elements(s, id, "1,3", &e) == 0);
    snprintf(line, sizeof line, "%u_[1,3] PENDING 1 0\n", id);
    assert(has(s, id, line));
    snprintf(line, sizeof line, "%u_[0,2,4-5] PENDING 0 0\n", id);
    assert(has(s, id, line));
    assert(sluice_release_elements(s, id, "3", &e) == 0);
    snprintf(line, sizeof line, "%u_3 PENDING 0 0\n", id);
    assert(has(s, id, line));
    struct sluice_place places[] = {{id, 77, "4"}, {id, 77, "1"}, {id, 77, "8"}, {id, 0, "5"}};
    assert(sluice_order(s, places, 4, refused, NULL, &e) == 0);
    snprintf(line, sizeof line, "%u_4 PENDING 0 77\n", id);
    assert(has(s, id, line));
    snprintf(line, sizeof line, "%u_[0,2,5] PENDING 0 0\n", id); /* what is refused is split off nowhere */
    assert(has(s, id, line));
    assert(strstr(refusals, "held") && strstr(refusals, "priority of 0"));
    places[0].elements = NULL; /* all that wait; what is held stays */
    assert(sluice_order(s, places, 1, refused, NULL, &e) == 0);
    snprintf(line, sizeof line, "%u_[0,2,5] PENDING 0 77\n", id);
    assert(has(s, id, line));
    assert(sluice_signal_elements(s, id, "0,5", 0, &e) == 0);
    snprintf(line, sizeof line, "%u_2 PENDING 0 77\n", id);
    assert(has(s, id, line) && !has(s, id, "CANCELLED")); /* what never began leaves no record */
    assert(sluice_signal_elements(s, id, "0", 0, &e) == SLUICE_NO_JOB);
    assert(sluice_hold(s, id, &e) == 0);
    assert(sluice_node_state(s, "n1", "RESUME", NULL, &e) == 0);
    assert(sluice_release(s, id, &e) == 0);
    assert(sluice_wait(s, id, &status, &e) == 0 && status == 4 << 8);
    snprintf(line, sizeof line, "%u_1 FAILED", id);
    assert(has(s, id, line));
    sluice_close(s);
    return 0;
}
"""


def test_job_arrays_are_controlled_by_elements(make_cluster, tmp_path):
    """Named 123_4, and held, released, put in order and ended by elements or as a whole."""
    (tmp_path / "arrays.c").write_text(ARRAYS)
    program = build(tmp_path / "arrays.c", tmp_path / "arrays")
    c = make_cluster(nodes=1)
    c.run([program], env={"LD_LIBRARY_PATH": str(LIB)}).ok()
    c.stop()


SETS = r"""
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sluice/sluice.h>
static char list[1000];
static void job(void *ctx, const struct sluice_job *j)
{
    snprintf(list + strlen(list), 200, "%u %s %s%s %u %s %s\n", j->id, j->full_id, j->state, j->held ? " held" : "", j->tasks, j->node_list,
             j->array_job_id ? "array" : "");
}
static void step(void *ctx, const struct sluice_step *t)
{
    snprintf(list + strlen(list), 200, "%u.%u %s %u\n", t->job_id, t->step_id, t->node_list, t->tasks);
}
static void show(struct sluice *s, uint32_t id)
{
    struct sluice_error e;
    *list = 0;
    assert(sluice_jobs(s, id, NULL, job, NULL, &e) == 0);
    printf("%s-\n", list);
}
int main(int argc, char **argv)
{
    struct sluice_error e;
    struct sluice *s = sluice_open(NULL, &e);
    uint32_t id = (uint32_t)atoi(argv[2]), component = id + 1;
    int status = -1;
    assert(s);
    if (!strcmp(argv[1], "waits")) {
        show(s, id);
        show(s, component);
        assert(sluice_hold(s, component, &e) == 0);
        show(s, id);
        assert(sluice_release(s, id, &e) == 0);
        show(s, id);
        assert(sluice_signal(s, component, SLUICE_WHOLE_JOB, 0, &e) != 0);
        printf("%s\n", e.text);
        assert(sluice_signal(s, id, SLUICE_WHOLE_JOB, 0, &e) == 0);
        show(s, id);
    } else {
        *list = 0;
        assert(sluice_steps(s, id, step, NULL, &e) == 0);
        printf("%s-\n", list);
        assert(sluice_signal(s, component, SLUICE_WHOLE_JOB, 0, &e) == 0);
        show(s, id);
        assert(sluice_signal(s, id, SLUICE_WHOLE_JOB, 0, &e) == 0);
        assert(sluice_wait(s, id, &status, &e) == 0);
        show(s, id);
    }
    sluice_close(s);
    return 0;
}
"""


def test_heterogeneous_jobs(make_cluster, tmp_path):
    """HET-36, 41 to 45: listed with all components by the leader's id, and one by its own; held, released and ended so, too."""
    (tmp_path / "sets.c").write_text(SETS)
    program = build(tmp_path / "sets.c", tmp_path / "sets")
    c = make_cluster(nodes=2)

    def told(*words):
        return [part.splitlines() for part in c.run([program, *words], env={"LD_LIBRARY_PATH": str(LIB)}).stdout.split("-\n")]

    def rows(first, second):
        return [f"{job} {job}+0 {first} 1  ", f"{job + 1} {job}+1 {second} 2  "]

    c.run("scontrol update partitionname=main state=down").ok()
    job = c.sbatch("-o", "/dev/null", "-n1", ":", "-n2", wrap="true")
    waits = rows("PENDING", "PENDING")
    said = told("waits", job)
    assert said[:4] == [waits, waits[1:], rows("PENDING", "PENDING held"), waits]
    assert said[4][0] == "Operation is only possible for a whole heterogeneous job"
    assert [line.split()[2] for line in said[4][1:]] == ["CANCELLED"] * 2
    c.run("scontrol update partitionname=main state=up").ok()
    job = c.sbatch("-o", "/dev/null", "-w", "n1", "-n1", ":", "-w", "n2", "-n2", wrap="srun --het-group=0,1 sleep 1000")
    eventually(lambda: len(c.run(f"squeue -h -s -j {job}").ok().splitlines()) == 3, "its steps run")
    steps, one, both, _ = told("runs", job)
    assert sorted(steps) == sorted([f"{job}.{0xfffffffb} n1 1", f"{job}.0 n1 1", f"{job + 1}.0 n2 2"])
    assert [line.split()[2] for line in one] == ["RUNNING", "CANCELLED"] and [line.split()[2] for line in both] == ["CANCELLED"] * 2
    c.stop()


WAITS = r"""
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sluice/sluice.h>
int main(int argc, char **argv)
{
    struct sluice_error e;
    int status = -1;
    struct sluice *s = sluice_open(NULL, &e);
    if (!s || sluice_wait(s, (uint32_t)atoi(argv[1]), &status, &e) != 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    printf("%d\n", status);
    sluice_close(s);
    return 0;
}
"""


def test_wait_survives_a_controller_restart(make_cluster, tmp_path):
    (tmp_path / "waits.c").write_text(WAITS)
    program = build(tmp_path / "waits.c", tmp_path / "waits")
    c = make_cluster(nodes=1)
    job = c.sbatch("-o", "/dev/null", wrap=f"while [ ! -e {c.work}/go ]; do sleep 0.05; done; exit 3")
    eventually(lambda: c.state(job) == "RUNNING", "a job")
    p = c.popen([program, job], env={"LD_LIBRARY_PATH": str(LIB)})
    eventually(lambda: "JOB_WAIT_END" in c.run("sdiag").ok(), "the controller has its request")
    c.kill("slurmctld")
    c.start_controller()
    (c.work / "go").touch()
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out) == (0, f"{3 << 8}\n"), err


def test_header_compiles_alone(tmp_path):
    """It is C11 and C++, and needs nothing else of ours."""
    for compiler, name in (("cc", "a.c"), ("c++", "a.cc")):
        (tmp_path / name).write_text("#include <sluice/sluice.h>\nint main(void) { return 0; }\n")
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-c", *flags("--cflags"), "-o", tmp_path / "a.o",
                        tmp_path / name], check=True)
    names = subprocess.run(["nm", "-D", "--defined-only", LIB / "libsluice.so"], text=True, capture_output=True, check=True).stdout
    mine = [line.split()[-1] for line in names.splitlines() if " T " in line]
    assert mine and all(name.startswith("sluice_") for name in mine), mine
