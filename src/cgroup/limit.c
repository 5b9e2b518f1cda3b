/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/internal.h"

#define NANO_PER_MICRO 1000
/* The kernel shows a larger number if there is no limit. */
#define UNLIMITED_V1 (UINT64_C(1) << 62)

int cgroup_set_cpus(const struct cgroup *c, const char *list, struct err *err)
{
    return cgroup_file_put(c, CGROUP_CPUSET, "cpuset.cpus", list, err);
}

/* --- memory ----------------------------------------------------------------------------------- */

static int put_bytes(const struct cgroup *c, const char *file, uint64_t bytes, struct err *err)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    return cgroup_file_put(c, CGROUP_MEMORY, file, text, err);
}

/* The memory limit may never exceed the limit of memory and swap, so that one is raised first. */
static int set_v1(const struct cgroup *c, const struct cgroup_memory_limit *m, struct err *err)
{
    bool swap_first =
        m->hard && m->with_swap && !put_bytes(c, "memory.memsw.limit_in_bytes", m->with_swap, NULL);
    int rc = 0;

    if (m->hard)
        rc = put_bytes(c, "memory.limit_in_bytes", m->hard, err);
    if (!rc && m->with_swap && !swap_first)
        rc = put_bytes(c, "memory.memsw.limit_in_bytes", m->with_swap, err);
    if (!rc && m->soft)
        rc = put_bytes(c, "memory.soft_limit_in_bytes", m->soft, err);
    if (!rc && m->swappiness >= 0)
        rc = put_bytes(c, "memory.swappiness", (uint64_t)m->swappiness, err);
    return rc;
}

/* memory.high throttles above its value, so it is only set if there is a range between it and the
   limit. */
static int set_v2(const struct cgroup *c, const struct cgroup_memory_limit *m, struct err *err)
{
    int rc = 0;

    if (m->soft && m->soft < m->hard)
        rc = put_bytes(c, "memory.high", m->soft, err);
    if (!rc && m->hard)
        rc = put_bytes(c, "memory.max", m->hard, err);
    if (!rc && m->with_swap)
        rc = put_bytes(c, "memory.swap.max", m->with_swap > m->hard ? m->with_swap - m->hard : 0,
                       err);
    return rc;
}

int cgroup_set_memory(const struct cgroup *c, const struct cgroup_memory_limit *limit,
                      struct err *err)
{
    return c->version == CGROUP_V2 ? set_v2(c, limit, err) : set_v1(c, limit, err);
}

bool cgroup_has_swap(const struct cgroup *c)
{
    int dir = cgroup_dir(c, CGROUP_MEMORY);

    return dir >= 0 &&
           !faccessat(dir,
                      c->version == CGROUP_V2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
                      F_OK, 0);
}

static void read_limit_number(int dir, const char *file, const char *word, uint64_t *out)
{
    *out = 0;
    cgroup_file_number(dir, file, word, out);
}

int cgroup_read_memory(const struct cgroup *c, struct cgroup_memory *out)
{
    int dir = cgroup_dir(c, CGROUP_MEMORY);

    if (dir < 0)
        return -ENOENT;
    if (c->version == CGROUP_V2) {
        read_limit_number(dir, "memory.max", NULL, &out->limit);
        read_limit_number(dir, "memory.peak", NULL, &out->peak);
        read_limit_number(dir, "memory.stat", "anon", &out->used);
        read_limit_number(dir, "memory.events", "oom_kill", &out->oom_kills);
        return 0;
    }
    read_limit_number(dir, "memory.limit_in_bytes", NULL, &out->limit);
    if (out->limit >= UNLIMITED_V1)
        out->limit = UINT64_MAX;
    read_limit_number(dir, "memory.max_usage_in_bytes", NULL, &out->peak);
    read_limit_number(dir, "memory.stat", "total_rss", &out->used);
    read_limit_number(dir, "memory.oom_control", "oom_kill", &out->oom_kills);
    return 0;
}

/* --- time ------------------------------------------------------------------------------------- */

static int read_cpu_v1(int dir, uint64_t *user_usec, uint64_t *sys_usec)
{
    uint64_t user, sys;
    long ticks = sysconf(_SC_CLK_TCK);
    int rc;

    if (!cgroup_file_number(dir, "cpuacct.usage_user", NULL, &user) &&
        !cgroup_file_number(dir, "cpuacct.usage_sys", NULL, &sys)) {
        *user_usec = user / NANO_PER_MICRO;
        *sys_usec = sys / NANO_PER_MICRO;
        return 0;
    }
    rc = cgroup_file_number(dir, "cpuacct.stat", "user", &user);
    rc = rc ? rc : cgroup_file_number(dir, "cpuacct.stat", "system", &sys);
    if (rc)
        return rc;
    *user_usec = user * 1000000 / (uint64_t)ticks;
    *sys_usec = sys * 1000000 / (uint64_t)ticks;
    return 0;
}

int cgroup_read_cpu(const struct cgroup *c, uint64_t *user_usec, uint64_t *sys_usec)
{
    int dir = cgroup_dir(c, CGROUP_CPUACCT);
    int rc;

    if (dir < 0)
        return -ENOENT;
    if (c->version == CGROUP_V1)
        return read_cpu_v1(dir, user_usec, sys_usec);
    rc = cgroup_file_number(dir, "cpu.stat", "user_usec", user_usec);
    return rc ? rc : cgroup_file_number(dir, "cpu.stat", "system_usec", sys_usec);
}
