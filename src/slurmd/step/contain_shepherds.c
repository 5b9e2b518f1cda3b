/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of the shepherds of a job: a cgroup beside the job's, so that neither takes the other's.
 */
#include <errno.h>

#include "slurmd/step/contain_priv.h"

#define SHEPHERDS_BYTES (64u << 20)   /* of a job, */
#define SHEPHERDS_PER_STEP (4u << 20) /* and for each of its steps */
#define MIB (1u << 20)

static uint64_t limit_of(const struct attempt *a)
{
    return SHEPHERDS_BYTES + (uint64_t)SHEPHERDS_PER_STEP * (a->steps.len + 1);
}

/* What is below it is in the memory tree alone. */
static struct cgroup memory_of(const struct cgroup *c)
{
    struct cgroup memory = *c;

    if (memory.version == CGROUP_V1)
        memory.parts = CGROUP_BIT(CGROUP_MEMORY);
    return memory;
}

static int make_shepherds(const struct contain *k, uid_t uid, struct attempt_key key,
                          struct cgroup *out, struct err *err)
{
    _cleanup_(cgroup_close) struct cgroup above = {0};
    char name[CGROUP_NAME_MAX];
    struct cgroup in;
    int rc;

    if (k->base.version == CGROUP_V1) {
        rc = contain_above(k, uid, true, &above, err);
        if (rc)
            return rc;
    }
    in = memory_of(k->base.version == CGROUP_V1 ? &above : &k->base);
    return cgroup_make(&in, cgroup_name_stepd(key.id, key.restarts, name), out, err);
}

int contain_find_shepherds(const struct contain *k, uid_t uid, struct attempt_key key,
                           struct cgroup *out)
{
    _cleanup_(cgroup_close) struct cgroup above = {0};
    const struct cgroup *in = &k->base;
    char name[CGROUP_NAME_MAX];

    if (k->base.version == CGROUP_V1) {
        if (contain_above(k, uid, false, &above, NULL))
            return -ENOENT;
        in = &above;
    }
    return cgroup_find(in, cgroup_name_stepd(key.id, key.restarts, name), out);
}

int contain_shepherds_open(struct attempt *a, int *entry, struct err *err)
{
    const struct contain *k = a->d->contain;
    _cleanup_(cgroup_close) struct cgroup c = {0};
    struct cgroup_memory_limit limit = {.hard = limit_of(a), .swappiness = -1};
    int rc;

    *entry = -1;
    if (!k || !contain_limits_memory(k))
        return 0;
    rc = make_shepherds(k, (uid_t)a->note.about->uid, a->key, &c, err);
    if (!rc) {
        limit.with_swap = cgroup_has_swap(&c) ? limit.hard : 0;
        rc = cgroup_set_memory(&c, &limit, err);
        if (rc == -EBUSY) /* it was larger, with more steps, and more is in use */
            rc = 0;
    }
    if (!rc)
        rc = *entry = cgroup_open_memory_entry(&c, err);
    return rc < 0 ? -ERR_NODE_FAULT : 0;
}

bool contain_shepherds_were_killed(struct attempt *a, struct str *why)
{
    const struct contain *k = a->d->contain;
    _cleanup_(cgroup_close) struct cgroup c = {0};
    struct cgroup_memory m = {0};

    if (!k || contain_find_shepherds(k, (uid_t)a->note.about->uid, a->key, &c) ||
        cgroup_read_memory(&c, &m) || m.oom_kills <= a->shepherd_kills)
        return false;
    a->shepherd_kills++;
    str_printf(
        why,
        "slurmstepd was killed for memory: the step daemons of job %u have used the %llu MiB "
        "that they may have on node %s",
        a->key.id, (unsigned long long)(m.limit / MIB), a->d->name);
    return true;
}
