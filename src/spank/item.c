/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spank_get_item(): one function per group of items, which returns whether the group has the
   item. */
#include <stdarg.h>
#include <string.h>

#include "base/str.h"
#include "spank/stack_priv.h"

#define OTHER (-1) /* not an item of this group */

static const bool per_task[] = {
#define CALLBACK(id, name, for_task) for_task,
#include "spank/callback.def"
#undef CALLBACK
};

/* A va_list shared by functions. */
struct arguments {
    va_list ap;
};

#define PUT(a, type, value) (*va_arg((a)->ap, type *) = (type)(value), ESPANK_SUCCESS)

static int get_job(const struct stack *s, spank_item_t item, struct arguments *a)
{
    const struct stack_facts *f = &s->facts;

    switch ((int)item) {
    case S_JOB_UID:
        return f->has_job ? PUT(a, uid_t, f->uid) : ESPANK_NOT_AVAIL;
    case S_JOB_GID:
        return f->has_job ? PUT(a, gid_t, f->gid) : ESPANK_NOT_AVAIL;
    case S_JOB_ID:
        return f->has_ids ? PUT(a, uint32_t, f->job_id) : ESPANK_NOT_AVAIL;
    case S_JOB_STEPID:
        return f->has_ids && f->has_step ? PUT(a, uint32_t, f->step_id) : ESPANK_NOT_AVAIL;
    case S_SLURM_RESTART_COUNT:
        return f->has_ids ? PUT(a, uint32_t, f->restarts) : ESPANK_NOT_AVAIL;
    case S_JOB_ARRAY_ID:
        return f->has_ids ? PUT(a, uint32_t, f->array_job_id) : ESPANK_NOT_AVAIL;
    case S_JOB_ARRAY_TASK_ID:
        return f->has_ids ? PUT(a, uint32_t, f->array_task_id) : ESPANK_NOT_AVAIL;
    default:
        return OTHER;
    }
}

static int get_step(const struct stack *s, spank_item_t item, struct arguments *a)
{
    const struct stack_facts *f = &s->facts;

    switch ((int)item) {
    case S_JOB_NNODES:
        return f->has_step ? PUT(a, uint32_t, f->nodes) : ESPANK_NOT_AVAIL;
    case S_JOB_TOTAL_TASK_COUNT:
        return f->has_step ? PUT(a, uint32_t, f->tasks) : ESPANK_NOT_AVAIL;
    case S_STEP_CPUS_PER_TASK:
        return f->has_step ? PUT(a, uint32_t, f->cpus_per_task) : ESPANK_NOT_AVAIL;
    case S_JOB_NODEID:
        return f->has_node ? PUT(a, uint32_t, f->node_index) : ESPANK_NOT_REMOTE;
    case S_JOB_LOCAL_TASK_COUNT:
        return f->has_node ? PUT(a, uint32_t, f->local_tasks) : ESPANK_NOT_REMOTE;
    case S_JOB_NCPUS:
        return f->has_node ? PUT(a, uint16_t, f->cpus) : ESPANK_NOT_REMOTE;
    case S_JOB_ALLOC_MEM:
        return f->has_node ? PUT(a, uint64_t, f->job_mem_mib) : ESPANK_NOT_REMOTE;
    case S_STEP_ALLOC_MEM:
        return f->has_node ? PUT(a, uint64_t, f->step_mem_mib) : ESPANK_NOT_REMOTE;
    default:
        return OTHER;
    }
}

typedef char *text;
typedef char **texts;

/* Items of the program, and strings. */
static int get_text(const struct stack *s, spank_item_t item, struct arguments *a)
{
    const struct stack_facts *f = &s->facts;

    switch ((int)item) {
    case S_JOB_ALLOC_CORES:
        return f->has_node ? PUT(a, text, f->job_cores) : ESPANK_NOT_REMOTE;
    case S_STEP_ALLOC_CORES:
        return f->has_node ? PUT(a, text, f->step_cores) : ESPANK_NOT_REMOTE;
    case S_JOB_ARGV:
        if (!f->argv)
            return ESPANK_NOT_AVAIL;
        (void)PUT(a, int, f->argc);
        return PUT(a, texts, f->argv);
    case S_JOB_ENV:
        return s->host.env_all ? PUT(a, texts, s->host.env_all(s->host.ctx)) : ESPANK_NOT_REMOTE;
    case S_JOB_SUPPLEMENTARY_GIDS:
        if (!f->gids)
            return ESPANK_NOT_AVAIL;
        *va_arg(a->ap, gid_t **) = (gid_t *)f->gids;
        return PUT(a, int, f->gid_count);
    default:
        return OTHER;
    }
}

/* Splits "26.05.0" into 26, 05 and 0. */
static int get_version(spank_item_t item, struct arguments *a)
{
    static char whole[] = SLURM_VERSION, parts[3][sizeof(SLURM_VERSION)];
    int which = (int)item - S_SLURM_VERSION_MAJOR;
    const char *at = whole;

    if (item == S_SLURM_VERSION)
        return PUT(a, text, whole);
    if (which < 0 || which > 2)
        return OTHER;
    for (int i = 0; i < which; i++)
        at += strcspn(at, ".") + 1;
    memcpy(parts[which], at, strcspn(at, "."));
    return PUT(a, text, parts[which]);
}

static int get_task(const struct stack *s, spank_item_t item, struct arguments *a)
{
    const struct stack_task *t = s->task;

    switch ((int)item) {
    case S_TASK_ID:
    case S_TASK_GLOBAL_ID:
    case S_TASK_PID:
    case S_TASK_EXIT_STATUS:
        break;
    default:
        return OTHER;
    }
    if (s->host.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (!t || s->running < 0 || !per_task[s->running])
        return ESPANK_NOT_TASK;
    switch ((int)item) {
    case S_TASK_ID:
        return PUT(a, int, t->local);
    case S_TASK_GLOBAL_ID:
        return PUT(a, uint32_t, t->id);
    case S_TASK_PID:
        return PUT(a, pid_t, t->pid);
    default:
        return t->ended ? PUT(a, int, t->wait_status) : ESPANK_NOT_AVAIL;
    }
}

static int get_by_pid(const struct stack *s, spank_item_t item, struct arguments *a)
{
    pid_t pid = va_arg(a->ap, pid_t);
    bool any = false;

    for (size_t i = 0; i < s->task_count; i++) {
        const struct stack_task *t = &s->tasks[i];

        any |= t->pid != 0;
        if (t->pid && t->pid == pid)
            return PUT(a, uint32_t, item == S_JOB_PID_TO_LOCAL_ID ? t->local : t->id);
    }
    return any ? ESPANK_NOEXIST : ESPANK_NOT_EXECD;
}

static int get_map(const struct stack *s, spank_item_t item, struct arguments *a)
{
    bool by_id = item == S_JOB_LOCAL_TO_GLOBAL_ID || item == S_JOB_GLOBAL_TO_LOCAL_ID;
    bool local = item == S_JOB_LOCAL_TO_GLOBAL_ID;
    uint32_t id;

    if (!by_id && item != S_JOB_PID_TO_GLOBAL_ID && item != S_JOB_PID_TO_LOCAL_ID)
        return OTHER;
    if (s->host.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (!by_id)
        return get_by_pid(s, item, a);
    id = va_arg(a->ap, uint32_t);
    for (size_t i = 0; i < s->task_count; i++)
        if ((local ? s->tasks[i].local : s->tasks[i].id) == id)
            return PUT(a, uint32_t, local ? s->tasks[i].id : s->tasks[i].local);
    return ESPANK_NOEXIST;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    struct stack *s = stack_current && spank ? spank->plugin->stack : NULL;
    struct arguments a;
    int rc;

    if (!s)
        return ESPANK_BAD_ARG;
    va_start(a.ap, item);
    rc = get_version(item, &a);
    if (rc == OTHER && s->host.context == S_CTX_SLURMD)
        rc = ESPANK_NOT_AVAIL;
    if (rc == OTHER)
        rc = get_job(s, item, &a);
    if (rc == OTHER)
        rc = get_step(s, item, &a);
    if (rc == OTHER)
        rc = get_text(s, item, &a);
    if (rc == OTHER)
        rc = get_task(s, item, &a);
    if (rc == OTHER)
        rc = get_map(s, item, &a);
    va_end(a.ap);
    return rc == OTHER ? ESPANK_BAD_ARG : (spank_err_t)rc;
}
