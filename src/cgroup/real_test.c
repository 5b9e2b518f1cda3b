/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * On the kernel's own trees, below a directory of this test: the effect on processes. Each test
 * runs with both versions. If a version is unavailable, the test prints the reason and skips;
 * fake_test.c then covers it on plain directories only.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroup/internal.h"
#include "cgroup/oom.h"

#define MOUNT "/sys/fs/cgroup"
#define ALL (CGROUP_BIT(CGROUP_PARTS) - 1)
#define LIMIT (48u << 20)

struct world {
    enum cgroup_version version;
    struct cgroup base, job;
    char name[32];
    int *shared; /* with children */
};

static struct world *open_world(enum cgroup_version version)
{
    struct world *w = mem_new(struct world);
    struct err why[CGROUP_PARTS] = {0}, err = {0};

    w->version = version;
    snprintf(w->name, sizeof(w->name), "sluice-test-%d-%d", (int)getpid(), version);
    w->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (cgroup_open(&(struct cgroup_place){MOUNT, version, w->name, ALL, false}, &w->base, why,
                    &err) ||
        cgroup_make(&w->base, "job_1", &w->job, &err))
        print_message("left out, version %d: %s\n", version, err.text);
    for (int i = 0; i < CGROUP_PARTS; i++)
        if (why[i].code)
            print_message("left out, version %d: %s\n", version, why[i].text);
    return w;
}

static int begin_v1(void **state)
{
    *state = open_world(CGROUP_V1);
    return 0;
}

static int begin_v2(void **state)
{
    *state = open_world(CGROUP_V2);
    return 0;
}

static void remove_base(const char *where, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), MOUNT "%s/%s", where, name);
    rmdir(path);
}

/* Repeats until the kernel has released the last process, which it does not report. */
static void remove_job(struct world *w)
{
    for (int i = 0; i < 100000 && cgroup_remove(&w->base, "job_1") == -EBUSY; i++)
        sched_yield();
}

static int remove_groups(void **state)
{
    struct world *w = *state;
    struct cgroup gone = {0};
    int rc = 0;

    if (w->base.version != CGROUP_NONE) {
        remove_job(w);
        rc = cgroup_find(&w->base, "job_1", &gone) == -ENOENT ? 0 : -1;
        for (int i = 0; i < CGROUP_PARTS; i++) {
            char where[32];

            if (!cgroup_part_name((enum cgroup_part)i, CGROUP_V1))
                continue;
            snprintf(where, sizeof(where), "/%s", cgroup_part_name((enum cgroup_part)i, CGROUP_V1));
            remove_base(where, w->name);
        }
        remove_base("", w->name);
        remove_base("/unified", w->name);
    }
    cgroup_close(&gone);
    cgroup_close(&w->job);
    cgroup_close(&w->base);
    munmap(w->shared, 4096);
    free(w);
    return rc;
}

static struct world *need(void **state, unsigned parts)
{
    struct world *w = *state;

    if ((w->job.version == CGROUP_NONE ? 0 : w->job.parts & parts) != parts)
        skip(); /* the kernel here has no such controller; which, setup() has said */
    return w;
}

/* Starts a process that is in the cgroup before it does anything; its exit status is the
   result. */
static pid_t start_in_cgroup(const struct world *w, void (*fn)(const struct world *w))
{
    pid_t pid = fork();

    if (pid == 0) {
        if (cgroup_enter(&w->job, NULL))
            _exit(99);
        fn(w);
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static int wait_for_status(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void wait_until(bool (*is)(const struct world *w), const struct world *w)
{
    for (int i = 0; i < 5000 && !is(w); i++)
        usleep(2000); /* asked again, at most ten seconds */
    assert_true(is(w));
}

static bool is_empty(const struct world *w)
{
    return cgroup_is_empty(&w->job);
}

/* --- processes -------------------------------------------------------------------------------- */

static void run_away(const struct world *w)
{
    setsid();
    if (fork())
        _exit(0);
    setsid();
    if (fork())
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    w->shared[0] = 1;
    for (;;)
        pause();
}

static bool has_run_away(const struct world *w)
{
    return w->shared[0];
}

/* Whether the processes that it left on its way have ended. */
static bool is_alone(const struct world *w)
{
    struct cgroup_pids pids = {0};
    bool alone;

    cgroup_pids(&w->job, &pids);
    alone = pids.list.len == 1;
    vec_done(&pids.list);
    return alone;
}

static void test_daemonised_process_is_killed(void **state)
{
    struct world *w = need(state, CGROUP_BIT(CGROUP_PROCS));

    assert_true(cgroup_is_empty(&w->job));
    assert_int_equal(wait_for_status(start_in_cgroup(w, run_away)), 0);
    wait_until(has_run_away, w);
    wait_until(is_alone, w);
    assert_false(cgroup_is_empty(&w->job));
    assert_int_equal(cgroup_remove(&w->base, "job_1"), -EBUSY);
    assert_int_equal(cgroup_signal(&w->job, SIGTERM), 1);
    assert_false(cgroup_is_empty(&w->job));
    cgroup_kill(&w->job);
    wait_until(is_empty, w);
    assert_int_equal(cgroup_signal(&w->job, SIGTERM), 0);
}

static void fork_for_ever(const struct world *w)
{
    w->shared[0] = 1;
    for (;;)
        if (fork() > 0) /* its pid changes before any process can read it */
            _exit(0);
}

static void test_fork_loops_are_killed(void **state)
{
    struct world *w = need(state, CGROUP_BIT(CGROUP_PROCS));
    pid_t many[8];

    for (int i = 0; i < 8; i++)
        many[i] = start_in_cgroup(w, fork_for_ever);
    for (int i = 0; i < 8; i++)
        wait_for_status(many[i]);
    wait_until(has_run_away, w);
    for (int i = 0; i < 1000 && !cgroup_is_empty(&w->job); i++)
        cgroup_kill(&w->job);
    wait_until(is_empty, w);
}

static void count_forever(const struct world *w)
{
    for (;;)
        ++*(volatile int *)&w->shared[0];
}

static bool child_counts(const struct world *w)
{
    return *(volatile int *)&w->shared[0];
}

static bool child_stands_still(const struct world *w)
{
    return cgroup_is_frozen(&w->job);
}

static bool has_used_time(const struct world *w)
{
    uint64_t user = 0, sys = 0;

    return !cgroup_read_cpu(&w->job, &user, &sys) && user + sys > 0;
}

static void test_frozen_processes_stop(void **state)
{
    struct world *w = need(state, CGROUP_BIT(CGROUP_PROCS));
    pid_t pid = start_in_cgroup(w, count_forever);

    wait_until(child_counts, w);
    if (cgroup_has(&w->job, CGROUP_CPUACCT))
        wait_until(has_used_time, w);
    assert_int_equal(cgroup_freeze(&w->job, true), 0);
    wait_until(child_stands_still, w);
    w->shared[0] = 0;
    for (int i = 0; i < 1000; i++)
        sched_yield();
    assert_int_equal(w->shared[0], 0);
    assert_int_equal(cgroup_freeze(&w->job, false), 0);
    wait_until(child_counts, w);
    assert_int_equal(cgroup_freeze(&w->job, true), 0);
    wait_until(child_stands_still, w);
    cgroup_kill(&w->job); /* frozen or not */
    assert_int_equal(wait_for_status(pid), SIGKILL);
    wait_until(is_empty, w);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void use_much_memory(const struct world *w)
{
    char *at = mmap(NULL, 4 * LIMIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(at, 1, 4 * LIMIT);
    w->shared[1] = at[LIMIT];
}

static void test_memory_limit_kills_the_process(void **state)
{
    struct world *w = need(state, CGROUP_BIT(CGROUP_MEMORY));
    struct cgroup_memory m = {0};
    struct cgroup_oom oom = {.path = w->job.path};
    int log = cgroup_oom_open();
    bool swap = cgroup_has_swap(&w->job);
    struct err err = {0};

    assert_int_equal(
        cgroup_set_memory(&w->job,
                          &(struct cgroup_memory_limit){LIMIT, LIMIT, swap ? LIMIT : 0, -1}, &err),
        0);
    assert_int_equal(cgroup_read_memory(&w->job, &m), 0);
    assert_int_equal(m.oom_kills, 0);
    assert_int_equal(wait_for_status(start_in_cgroup(w, use_much_memory)), SIGKILL);
    assert_int_equal(cgroup_read_memory(&w->job, &m), 0);
    assert_int_equal(m.oom_kills, 1);
    assert_int_equal(m.limit, LIMIT);
    assert_true(m.peak > LIMIT - (1 << 20) && m.peak <= LIMIT);
    if (log >= 0)
        cgroup_oom_read(log, &oom);
    /* The kernel limits its messages per five seconds for all cgroups together. */
    if (log < 0 || !oom.kills)
        print_message("left out: what /dev/kmsg says: %s\n", log < 0 ? strerror(-log) : "nothing");
    else
        assert_true(oom.kills == 1 && oom.most[0].rss_kib > LIMIT / 2048);
    if (log >= 0)
        close(log);
    /* and the other way round */
    assert_int_equal(cgroup_set_memory(&w->job,
                                       &(struct cgroup_memory_limit){8 * LIMIT, 8 * LIMIT,
                                                                     swap ? 8 * LIMIT : 0, -1},
                                       &err),
                     0);
    assert_int_equal(
        cgroup_set_memory(&w->job,
                          &(struct cgroup_memory_limit){LIMIT, LIMIT, swap ? LIMIT : 0, -1}, &err),
        0);
}

static void store_cpu_count(const struct world *w)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    w->shared[0] = CPU_COUNT(&set);
}

static void test_processes_run_on_their_cpus(void **state)
{
    struct world *w = need(state, CGROUP_BIT(CGROUP_CPUSET));
    struct err err = {0};

    assert_true(cgroup_set_cpus(&w->job, "4711-4712", &err) < 0);
    assert_non_null(
        strstr(err.text, "cannot write '4711-4712' to cpuset.cpus of cgroup sluice-test"));
    assert_int_equal(cgroup_set_cpus(&w->job, "0", &err), 0);
    assert_int_equal(wait_for_status(start_in_cgroup(w, store_cpu_count)), 0);
    assert_int_equal(w->shared[0], 1);
}

static void open_devices(const struct world *w)
{
    w->shared[0] = open("/dev/full", O_RDWR) >= 0 ? 1 : errno;
    w->shared[1] = open("/dev/null", O_RDWR) >= 0 ? 1 : errno;
    w->shared[2] = open("/dev/zero", O_RDONLY) >= 0 ? 1 : errno;
}

static void test_denied_devices_cannot_be_opened(void **state)
{
    struct world *w = need(state, CGROUP_BIT(CGROUP_DEVICES));
    const struct cgroup_device denied[] = {{false, 1, 7}, {true, 1, 3}, {false, 1, 5}};
    struct cgroup below = {0};
    struct err err = {0};

    assert_int_equal(cgroup_deny(&w->job, denied, 2, &err), 0);
    assert_int_equal(wait_for_status(start_in_cgroup(w, open_devices)), 0);
    assert_int_equal(w->shared[0], EPERM);
    assert_int_equal(w->shared[1], 1);
    assert_int_equal(w->shared[2], 1);
    /* below there is more that it may not, and nothing that it may again */
    assert_int_equal(cgroup_make(&w->job, "step_0", &below, &err), 0);
    assert_int_equal(cgroup_deny(&below, denied + 2, 1, &err), 0);
    cgroup_close(&w->job);
    w->job = below;
    assert_int_equal(wait_for_status(start_in_cgroup(w, open_devices)), 0);
    assert_int_equal(w->shared[0], EPERM);
    assert_int_equal(w->shared[1], 1);
    assert_int_equal(w->shared[2], EPERM);
}

int main(void)
{
#define BOTH(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, begin_v1, remove_groups),                                \
        cmocka_unit_test_setup_teardown(test, begin_v2, remove_groups)
    const struct CMUnitTest tests[] = {
        BOTH(test_daemonised_process_is_killed), BOTH(test_fork_loops_are_killed),
        BOTH(test_frozen_processes_stop),        BOTH(test_memory_limit_kills_the_process),
        BOTH(test_processes_run_on_their_cpus),  BOTH(test_denied_devices_cannot_be_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
