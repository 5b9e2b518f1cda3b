/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On plain directories with files: which files are written, in both versions, and the errors for
 * missing files. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/path.h"
#include "base/step_id.h"
#include "cgroup/internal.h"

#define ALL (CGROUP_BIT(CGROUP_PARTS) - 1)
#define EXPECT(path, text)                                                                         \
    do {                                                                                           \
        _cleanup_str_ struct str got_ = STR_INIT;                                                  \
        assert_int_equal(path_read_file(path, 4096, &got_, NULL), 0);                              \
        assert_string_equal(str_cstr(&got_), text);                                                \
    } while (0)

static char top[64];

static const char *format_fake_path(const char *path)
{
    static char buf[512];

    snprintf(buf, sizeof(buf), "%s/%s", top, path);
    return buf;
}

static void put_fake_file(const char *path, const char *text)
{
    _cleanup_free_ char *dir = mem_strdup(format_fake_path(path));

    *strrchr(dir, '/') = '\0';
    assert_int_equal(path_mkdirs(dir, 0755, NULL), 0);
    assert_int_equal(path_write_file(format_fake_path(path), text, strlen(text), 0644, NULL), 0);
}

static int make_fake_tree(void **state)
{
    snprintf(top, sizeof(top), "/tmp/sluice-cgroup.XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static int remove_fake_tree(void **state)
{
    _cleanup_free_ char *command = mem_printf("%s", top);
    char *const argv[] = {"rm", "-rf", command, NULL};
    pid_t pid = fork();

    if (pid == 0)
        execvp("rm", argv);
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

/* A tree of version 2 that has these controllers, and in it a step's directory. */
static void make_v2(const char *controllers)
{
    static const char *const dirs[] = {"", "system.slice/", "system.slice/n1_slurmstepd.scope/",
                                       "system.slice/n1_slurmstepd.scope/job_4/",
                                       "system.slice/n1_slurmstepd.scope/job_4/step_0/"};
    static const char *const files[] = {"cgroup.procs",   "cgroup.kill", "cgroup.freeze",
                                        "cpuset.cpus",    "memory.max",  "memory.high",
                                        "memory.current", "memory.peak", "memory.swap.max"};
    char path[256];

    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        snprintf(path, sizeof(path), "%scgroup.controllers", dirs[i]);
        put_fake_file(path, controllers);
        snprintf(path, sizeof(path), "%scgroup.subtree_control", dirs[i]);
        put_fake_file(path, i ? "" : "memory\n");
        for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
            snprintf(path, sizeof(path), "%s%s", dirs[i], files[k]);
            put_fake_file(path, "");
        }
    }
}

static void make_v1(void)
{
    static const struct {
        const char *controller, *file, *text;
    } files[] = {
        {"freezer", "cgroup.procs", ""},
        {"freezer", "freezer.state", "THAWED\n"},
        {"memory", "cgroup.procs", ""},
        {"memory", "memory.limit_in_bytes", "9223372036854771712\n"},
        {"memory", "memory.soft_limit_in_bytes", ""},
        {"memory", "memory.memsw.limit_in_bytes", ""},
        {"memory", "memory.swappiness", "60\n"},
        {"memory", "memory.max_usage_in_bytes", "1048576\n"},
        {"memory", "memory.usage_in_bytes", "4096\n"},
        {"memory", "memory.stat", "cache 5\nrss 1\ntotal_rss 4242\n"},
        {"memory", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"},
        {"cpuset", "cgroup.procs", ""},
        {"cpuset", "cpuset.cpus", "\n"},
        {"cpuset", "cpuset.mems", "\n"},
        {"devices", "cgroup.procs", ""},
        {"devices", "devices.deny", ""},
        {"cpuacct", "cgroup.procs", ""},
        {"cpuacct", "cpuacct.stat", "user 250\nsystem 50\n"},
    };
    static const char *const dirs[] = {"", "slurm/", "slurm/uid_7/", "slurm/uid_7/job_4/",
                                       "slurm/uid_7/job_4/step_batch/"};
    char path[256];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        for (size_t k = 0; k < sizeof(dirs) / sizeof(dirs[0]); k++) {
            snprintf(path, sizeof(path), "%s/%s%s", files[i].controller, dirs[k], files[i].file);
            put_fake_file(path, files[i].text);
        }
    put_fake_file("cpuset/cpuset.cpus", "0-7\n");
    put_fake_file("cpuset/cpuset.mems", "0-1\n");
}

/* The directory that these names lead to, one below the other. */
static void open_group_below(const struct cgroup *from, const char *const *names,
                             struct cgroup *out)
{
    struct cgroup here = {0};
    struct err err = {0};

    assert_int_equal(cgroup_make(from, names[0], &here, &err), 0);
    for (int i = 1; names[i]; i++) {
        struct cgroup next = {0};

        assert_int_equal(cgroup_make(&here, names[i], &next, &err), 0);
        cgroup_close(&here);
        here = next;
    }
    *out = here;
}

static void test_missing_mount_is_reported(void **state)
{
    enum cgroup_version found;
    struct cgroup c = {0};
    struct err err = {0};

    assert_int_equal(cgroup_detect(top, CGROUP_NONE, &found, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no cgroup file system is mounted at /tmp/"));
    assert_int_equal(
        cgroup_open(&(struct cgroup_place){.mount = top, .parts = ALL}, &c, NULL, &err), -ENOENT);
    cgroup_close(&c);
    make_v1();
    assert_int_equal(cgroup_detect(top, CGROUP_V2, &found, &err), -ENOENT);
    assert_non_null(strstr(err.text, "of version 2"));
    assert_int_equal(cgroup_detect(top, CGROUP_NONE, &found, &err), 0);
    assert_int_equal(found, CGROUP_V1);
    put_fake_file("unified/cgroup.controllers", "");
    assert_int_equal(cgroup_detect(top, CGROUP_NONE, &found, &err), 0);
    assert_int_equal(found, CGROUP_V1);
    assert_int_equal(cgroup_detect(top, CGROUP_V2, &found, &err), 0);
    assert_int_equal(found, CGROUP_V2);
}

static void test_job_group_names_are_parsed(void **state)
{
    static const char *const bad[] = {"",       "job_",    "job_4x",   "job_-1", "job_04",
                                      "job_4.", "job_4.0", "../job_4", "uid_4",  "job_99999999999"};
    char buf[CGROUP_NAME_MAX];
    uint32_t id, restarts;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(cgroup_parse_job(bad[i], &id, &restarts), -ERR_PARSE);
    assert_int_equal(cgroup_parse_job(cgroup_name_job(42, 0, buf), &id, &restarts), 0);
    assert_int_equal(id, 42);
    assert_int_equal(cgroup_parse_job(cgroup_name_job(42, 3, buf), &id, &restarts), 0);
    assert_string_equal(buf, "job_42.3");
    assert_int_equal(restarts, 3);
    assert_string_equal(cgroup_name_step(STEP_ID_BATCH, buf), "step_batch");
    assert_string_equal(cgroup_name_step(STEP_ID_EXTERN, buf), "step_extern");
    assert_string_equal(cgroup_name_step(7, buf), "step_7");
}

static void test_version_1_groups_get_their_limits(void **state)
{
    const struct cgroup_device d[] = {{false, 195, 0}, {true, 8, 16}};
    struct cgroup base = {0}, step = {0};
    struct cgroup_memory m;
    uint64_t user, sys;
    struct err err = {0};

    make_v1();
    assert_int_equal(
        cgroup_open(&(struct cgroup_place){.mount = top, .parts = ALL}, &base, NULL, &err), 0);
    assert_int_equal(base.parts, ALL & ~CGROUP_EXTRA);
    EXPECT(format_fake_path("cpuset/slurm/cpuset.mems"), "0-1\n");
    open_group_below(&base, (const char *[]){"uid_7", "job_4", "step_batch", NULL}, &step);
    assert_string_equal(step.path, "slurm/uid_7/job_4/step_batch");
    EXPECT(format_fake_path("cpuset/slurm/uid_7/job_4/step_batch/cpuset.cpus"), "0-7\n");
    assert_int_equal(cgroup_set_cpus(&step, "2-3", &err), 0);
    EXPECT(format_fake_path("cpuset/slurm/uid_7/job_4/step_batch/cpuset.cpus"), "2-3");
    assert_int_equal(cgroup_enter(&step, &err), 0);
    EXPECT(format_fake_path("devices/slurm/uid_7/job_4/step_batch/cgroup.procs"), "0");
    assert_int_equal(
        cgroup_set_memory(&step, &(struct cgroup_memory_limit){1000, 2000, 3000, 10}, &err), 0);
    EXPECT(format_fake_path("memory/slurm/uid_7/job_4/step_batch/memory.limit_in_bytes"), "2000");
    EXPECT(format_fake_path("memory/slurm/uid_7/job_4/step_batch/memory.soft_limit_in_bytes"),
           "1000");
    EXPECT(format_fake_path("memory/slurm/uid_7/job_4/step_batch/memory.memsw.limit_in_bytes"),
           "3000");
    EXPECT(format_fake_path("memory/slurm/uid_7/job_4/step_batch/memory.swappiness"), "10");
    assert_int_equal(cgroup_deny(&step, d, 2, &err), 0);
    EXPECT(format_fake_path("devices/slurm/uid_7/job_4/step_batch/devices.deny"), "b 8:16 rwm");
    assert_int_equal(cgroup_read_memory(&step, &m), 0);
    assert_int_equal(m.oom_kills, 3);
    assert_int_equal(m.peak, 1 << 20);
    assert_int_equal(m.used, 4242);
    assert_int_equal(cgroup_read_cpu(&step, &user, &sys), 0);
    assert_int_equal(user, 250 * 1000000 / sysconf(_SC_CLK_TCK));
    assert_int_equal(cgroup_freeze(&step, true), 0);
    EXPECT(format_fake_path("freezer/slurm/uid_7/job_4/step_batch/freezer.state"), "FROZEN");
    assert_true(cgroup_is_frozen(&step));
    cgroup_close(&step);
    cgroup_close(&base);
}

static void test_missing_controllers_of_version_1_are_reported(void **state)
{
    struct err why[CGROUP_PARTS] = {0}, err = {0};
    struct cgroup base = {0}, below = {0};

    put_fake_file("freezer/cgroup.procs", "");
    put_fake_file("freezer/slurm_n1/cgroup.procs", "");
    assert_int_equal(
        cgroup_open(&(struct cgroup_place){.mount = top, .base = "slurm_n1", .parts = ALL}, &base,
                    why, &err),
        0);
    assert_int_equal(base.parts, CGROUP_BIT(CGROUP_PROCS));
    assert_non_null(strstr(why[CGROUP_MEMORY].text, "no memory controller at /tmp/"));
    assert_int_equal(why[CGROUP_PROCS].code, 0);
    assert_int_equal(cgroup_set_cpus(&base, "0", &err), -ENOENT);
    assert_int_equal(cgroup_find(&base, "job_1", &below), -ENOENT);
    assert_int_equal(cgroup_remove(&base, "job_1"), 0);
    cgroup_close(&base);
    assert_int_equal(cgroup_open(&(struct cgroup_place){.mount = top,
                                                        .base = "slurm_n1",
                                                        .parts = CGROUP_BIT(CGROUP_MEMORY)},
                                 &base, why, &err),
                     -ENOENT);
    assert_int_equal(
        cgroup_open(&(struct cgroup_place){.mount = top, .base = "../etc", .parts = ALL}, &base,
                    why, &err),
        -ENOENT);
}

static void test_version_2_groups_get_their_limits(void **state)
{
    struct cgroup base = {0}, step = {0};
    struct cgroup_memory m;
    struct err err = {0};
    unsigned parts =
        CGROUP_BIT(CGROUP_PROCS) | CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_CPUSET);

    make_v2("cpuset cpu io memory pids\n");
    put_fake_file("system.slice/n1_slurmstepd.scope/job_4/step_0/memory.events",
                  "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n");
    assert_int_equal(cgroup_open(&(struct cgroup_place){.mount = top,
                                                        .parts = parts,
                                                        .enable_above = true,
                                                        .base = "system.slice/n1_slurmstepd.scope"},
                                 &base, NULL, &err),
                     0);
    assert_int_equal(base.parts, parts);
    EXPECT(format_fake_path("system.slice/cgroup.subtree_control"),
           "+memory"); /* the last that was enabled */
    open_group_below(&base, (const char *[]){"job_4", "step_0", NULL}, &step);
    assert_int_equal(cgroup_set_cpus(&step, "2-3", &err), 0);
    EXPECT(format_fake_path("system.slice/n1_slurmstepd.scope/job_4/step_0/cpuset.cpus"), "2-3");
    assert_int_equal(
        cgroup_set_memory(&step, &(struct cgroup_memory_limit){1000, 1000, 1500, -1}, &err), 0);
    EXPECT(format_fake_path("system.slice/n1_slurmstepd.scope/job_4/step_0/memory.max"), "1000");
    EXPECT(format_fake_path("system.slice/n1_slurmstepd.scope/job_4/step_0/memory.high"), "");
    EXPECT(format_fake_path("system.slice/n1_slurmstepd.scope/job_4/step_0/memory.swap.max"),
           "500");
    assert_int_equal(cgroup_read_memory(&step, &m), 0);
    assert_int_equal(m.oom_kills, 2);
    assert_int_equal(m.limit, 1000);
    cgroup_kill(&step);
    EXPECT(format_fake_path("system.slice/n1_slurmstepd.scope/job_4/step_0/cgroup.kill"), "1");
    assert_int_equal(cgroup_enter(&step, &err), 0);
    EXPECT(format_fake_path("system.slice/n1_slurmstepd.scope/job_4/step_0/cgroup.procs"), "0");
    cgroup_close(&step);
    cgroup_close(&base);
}

static void test_base_directory_follows_slice_and_node_name(void **state)
{
    static const struct {
        enum cgroup_version version;
        const char *slice, *node, *base;
    } rows[] = {
        {CGROUP_V1, "a.slice", NULL, "slurm"},
        {CGROUP_V1, NULL, "n1", "slurm_n1"},
        {CGROUP_V2, NULL, NULL, "system.slice/slurmstepd.scope"},
        {CGROUP_V2, "a.slice", "n1", "a.slice/n1_slurmstepd.scope"},
        {CGROUP_V2, "a-b-c.slice", NULL, "a.slice/a-b.slice/a-b-c.slice/slurmstepd.scope"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_free_ char *base = cgroup_base(rows[i].version, rows[i].slice, rows[i].node);

        assert_string_equal(base, rows[i].base);
    }
}

static void test_extra_controllers_are_parsed(void **state)
{
    struct err err = {0};
    unsigned parts = 1;

    assert_int_equal(cgroup_parse_extra(NULL, &parts, &err), 0);
    assert_int_equal(parts, 0);
    assert_int_equal(cgroup_parse_extra("io,Pids,misc", &parts, &err), 0);
    assert_int_equal(parts,
                     CGROUP_BIT(CGROUP_IO) | CGROUP_BIT(CGROUP_PIDS) | CGROUP_BIT(CGROUP_MISC));
    assert_int_equal(cgroup_parse_extra("all", &parts, &err), 0);
    assert_int_equal(parts, CGROUP_EXTRA);
    assert_int_equal(cgroup_parse_extra("io,memory", &parts, &err), -ERR_PARSE);
    assert_string_equal(err.text, "unknown controller 'memory'");
}

static void test_missing_controllers_of_version_2_are_reported(void **state)
{
    struct err why[CGROUP_PARTS] = {0}, err = {0};
    struct cgroup base = {0};

    make_v2("cpu\n");
    assert_int_equal(cgroup_open(&(struct cgroup_place){.mount = top,
                                                        .parts = ALL & ~CGROUP_BIT(CGROUP_DEVICES),
                                                        .base = "system.slice/n1_slurmstepd.scope"},
                                 &base, why, &err),
                     0);
    assert_int_equal(base.parts, CGROUP_BIT(CGROUP_PROCS) | CGROUP_BIT(CGROUP_CPUACCT));
    assert_non_null(
        strstr(why[CGROUP_MEMORY].text, "no memory controller in cgroup.controllers of /tmp/"));
    cgroup_close(&base);
}

static void test_damaged_files_are_survived(void **state)
{
    static const struct {
        const char *text, *word;
        int rc;
        uint64_t value;
    } rows[] = {
        {"", NULL, -ERR_PARSE, 0},
        {"\n", NULL, -ERR_PARSE, 0},
        {"x", NULL, -ERR_PARSE, 0},
        {"-1\n", NULL, -ERR_PARSE, 0},
        {"99999999999999999999999\n", NULL, -ERR_PARSE, 0},
        {"max\n", NULL, 0, UINT64_MAX},
        {"12\n", NULL, 0, 12},
        {"oom 5\noom_kill 7\n", "oom_kill", 0, 7},
        {"oom_kill_disable 1\noom_kill 2\n", "oom_kill", 0, 2},
        {"xoom_kill 2\n", "oom_kill", -ENOENT, 0},
        {"oom_kill", "oom_kill", -ENOENT, 0},
    };
    _cleanup_close_ int dir = cgroup_open_dir(AT_FDCWD, top);
    uint64_t value;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put_fake_file("file", rows[i].text);
        value = 0;
        assert_int_equal(cgroup_file_number(dir, "file", rows[i].word, &value), rows[i].rc);
        assert_int_equal(value, rows[i].value);
    }
    assert_int_equal(cgroup_file_number(dir, "none", NULL, &value), -ENOENT);
    assert_int_equal(cgroup_file_write(dir, "none", "1"), -ENOENT); /* none is made */
    assert_int_equal(symlink("file", format_fake_path("link")), 0);
    assert_int_equal(cgroup_file_write(dir, "link", "1"), -ELOOP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_missing_mount_is_reported, make_fake_tree,
                                        remove_fake_tree),
        cmocka_unit_test(test_job_group_names_are_parsed),
        cmocka_unit_test_setup_teardown(test_version_1_groups_get_their_limits, make_fake_tree,
                                        remove_fake_tree),
        cmocka_unit_test_setup_teardown(test_missing_controllers_of_version_1_are_reported,
                                        make_fake_tree, remove_fake_tree),
        cmocka_unit_test_setup_teardown(test_version_2_groups_get_their_limits, make_fake_tree,
                                        remove_fake_tree),
        cmocka_unit_test(test_base_directory_follows_slice_and_node_name),
        cmocka_unit_test(test_extra_controllers_are_parsed),
        cmocka_unit_test_setup_teardown(test_missing_controllers_of_version_2_are_reported,
                                        make_fake_tree, remove_fake_tree),
        cmocka_unit_test_setup_teardown(test_damaged_files_are_survived, make_fake_tree,
                                        remove_fake_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
