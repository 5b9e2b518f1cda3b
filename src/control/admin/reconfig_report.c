/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a new configuration means for the jobs there are, said before it is done and when it is. */
#include "control/submit/submit.h"

#define LINES_MAX 100

static bool is_lost(const struct cluster *old, const struct cluster *next,
                    const struct alloc_node *a)
{
    return !a->released && !cluster_find_node(next, old->nodes.data[a->node]->name);
}

/* Its host before any other one. */
static const struct alloc_node *lost_node(const struct cluster *old, const struct cluster *next,
                                          const struct job *j)
{
    if (attempt_of(j)->alloc.len && is_lost(old, next, job_host(j)))
        return job_host(j);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (is_lost(old, next, a))
            return a;
    return NULL;
}

bool reconfig_lost_node(const struct cluster *old, const struct cluster *next, uint32_t job_id,
                        bool *host)
{
    const struct job *j = cluster_find_job(old, job_id);
    const struct alloc_node *a = j ? lost_node(old, next, j) : NULL;
    *host = a && a == job_host(j);
    return a != NULL;
}

static bool say_running(const struct control *c, const struct cluster *old, const struct job *j,
                        struct str *out)
{
    const struct alloc_node *a = lost_node(old, c->cluster, j);
    if (!a)
        return false;
    const char *then = j->no_kill && a != job_host(j) ? "goes on without it"
                       : j->may_requeue               ? "is queued again"
                                                      : "ends";
    str_printf(out, "JobId=%u: runs on node %s, which is removed: it %s\n", j->id,
               old->nodes.data[a->node]->name, then);
    return true;
}

static bool say_pending(struct control *c, struct job *j, struct str *out)
{
    struct err err = {0};
    if (!j->part) {
        str_printf(out, "JobId=%u: its partition %s is removed: it waits for another\n", j->id,
                   j->part_name ? j->part_name : "");
        return true;
    }
    enum reason reason = j->reason;
    bool never = submit_check_possible(c, j, &err) != 0;
    bool beyond = !never && submit_check_limits(c, j, false, NULL) != 0;
    if (never)
        str_printf(out, "JobId=%u: can no longer run: %s\n", j->id, err.text);
    else if (beyond)
        str_printf(out, "JobId=%u: waits beyond the limits of its partition (%s)\n", j->id,
                   job_reason_word(j));
    j->reason = reason;
    return never || beyond;
}

/* What was so before is no news. */
static bool waited_before(struct control *c, struct cluster *old, uint32_t id)
{
    struct job *j = cluster_find_job(old, id);
    struct cluster *next = c->cluster;
    struct err err = {0};
    if (!j->part)
        return true;
    enum reason reason = j->reason;
    c->cluster = old;
    bool before = select_possible(old, j, &err) != 0 || submit_check_limits(c, j, false, NULL) != 0;
    c->cluster = next;
    j->reason = reason;
    return before;
}

static bool is_hidden(const struct cluster *old, const struct node *n)
{
    const struct node *before = cluster_find_node(old, n->name);
    return n->features_set && before && before->row && n->row &&
           !str_eq(before->row->features, n->row->features);
}

/* Features of nodes that slurm.conf changes, and that those set by scontrol hide. */
static void report_features(const struct cluster *next, const struct cluster *old, struct str *out)
{
    size_t lines = 0;
    vec_foreach (&next->nodes, at) {
        const struct node *n = *at;
        if (!is_hidden(old, n) || lines++ >= LINES_MAX)
            continue;
        str_printf(out,
                   "NodeName=%s: Feature=%s of slurm.conf has no effect: scontrol set "
                   "AvailableFeatures=%s\n",
                   n->name, n->row->features ? n->row->features : "",
                   n->features ? n->features : "");
    }
    if (lines > LINES_MAX)
        str_printf(out, "and the features of %zu more nodes\n", lines - LINES_MAX);
}

static void report_jobs(struct control *c, struct cluster *old, struct str *out)
{
    size_t lines = 0, more = 0;
    struct str line = STR_INIT;
    vec_foreach (&old->jobs, at) {
        struct job *next = cluster_find_job(c->cluster, (*at)->id);
        bool said = false;
        str_clear(&line);
        if ((*at)->state == PB__JOB_STATE__RUNNING || (*at)->state == PB__JOB_STATE__SUSPENDED)
            said = say_running(c, old, *at, &line);
        else if ((*at)->state == PB__JOB_STATE__PENDING)
            said = say_pending(c, next, &line) && !waited_before(c, old, (*at)->id);
        if (said && lines++ < LINES_MAX)
            str_append(out, line.data, line.len);
        else
            more += said;
    }
    if (more)
        str_printf(out, "and %zu more jobs\n", more);
    str_done(&line);
}

void reconfig_report(struct control *c, struct cluster *old, struct str *out)
{
    report_features(c->cluster, old, out);
    report_jobs(c, old, out);
}
