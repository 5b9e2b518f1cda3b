/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/blocked.h"

#include "base/hostlist.h"
#include "base/mem.h"
#include "sched/select/resv.h"

/* Writes "ReqNodeNotAvail, UnavailableNodes:n[1-2]". */
static char *say_unavailable(const struct plan *p, const struct job *j)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    struct str text = STR_INIT;
    bitset_foreach (j->want.req, i)
        if (!bitset_test(p->cluster->pool.usable, (size_t)i))
            hostlist_push(list, p->cluster->nodes.data[i]->name);
    str_puts(&text, "ReqNodeNotAvail, UnavailableNodes:");
    hostlist_format(list, &text);
    return str_take(&text);
}

bool blocked_explain_required(const struct plan *p, const struct job *j, struct decision *d)
{
    if (!j->want.req || bitset_contains(p->cluster->pool.usable, j->want.req))
        return false;
    d->reason = REASON_REQ_NODE_NOT_AVAIL;
    d->detail = say_unavailable(p, j);
    return true;
}

const char *blocked_find_refusal(const struct plan *p, const struct job *j)
{
    return job_is_to_share(j) && !j->want.shared ? job_sharing_refusal(p->cluster->conf, j) : NULL;
}

/* Finds a job on these nodes that does not share although its partition would make it share. The
 * reason does not name the job, because a reader of the reason may not be permitted to see the
 * job. */
static char *say_unshared_by(const struct plan *p, const struct bitset *set)
{
    const struct cluster *c = p->cluster;
    bitset_foreach (set, i)
        vec_foreach (&c->nodes.data[i]->holders, id) {
            const struct job *other = cluster_find_job(c, *id);
            const char *why = other ? job_unshared_reason(c->conf, other) : NULL;
            if (why && !job_is_final(other))
                return mem_printf("Resources, not shared by another job: %s", why);
        }
    return NULL;
}

/* Returns the reason if the job would fit on these nodes by sharing with other jobs; NULL: it would
 * not. */
static char *say_not_shared(const struct plan *p, const struct job *j, const struct bitset *set)
{
    const char *why = blocked_find_refusal(p, j);
    if (why)
        return mem_printf("Resources, not shared with others: %s", why);
    return j->want.shared ? say_unshared_by(p, set) : NULL;
}

/* Whether the job is possible with one of these alternatives. */
static bool is_possible(const struct plan *p, const struct job *j, const struct license_needs *all)
{
    struct job_copy any, one;
    any.job = *j;
    any.job.want.licenses = *all;
    for (uint32_t n = 0; n < license_count_alternatives(&any.job); n++)
        if (select_possible(p->cluster, license_view_alternative(&any.job, n, &one), NULL) == 0)
            return true;
    return false;
}

bool blocked_explain(const struct plan *p, const struct job *j, const struct license_needs *all,
                     struct decision *d)
{
    const struct resv *in = resv_home(j);
    _cleanup_bitset_ struct bitset *set = plan_allowed(p, j, in);
    d->reason = REASON_RESOURCES;
    if (blocked_explain_required(p, j, d))
        return false;
    if (resv_explain(p->resv, j, set, d))
        return true;
    if (select_fits_idle(p->cluster, j, set)) {
        d->detail = say_not_shared(p, j, set);
        return false;
    }
    if (!is_possible(p, j, all))
        d->reason = REASON_BAD_CONSTRAINTS;
    else if (select_possible(p->cluster, j, NULL) == 0)
        d->detail = mem_strdup("Nodes required for job are DOWN, DRAINED or reserved for jobs in "
                               "higher priority partitions");
    return false;
}
