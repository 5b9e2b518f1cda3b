/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --test-only: when and where a job would begin, of which nothing is kept. */
#include "base/hostlist.h"
#include "control/submit.h"

/* Where it begins first of all its partitions, not before it may: it keeps the face of that one.
 * Or why the limits of none of them let it begin. */
static int find_first(struct control *c, struct job *j, struct selection *where, int64_t *first_at,
                      struct err *err)
{
    int64_t first = INT64_MAX, from = control_wall(c);
    uint32_t best = 0;
    int rc = 0;
    from = j->begin_at > from ? j->begin_at : from;
    for (uint32_t i = 0; i < several_count(j); i++) {
        struct selection there = {0};
        struct err why = {0};
        several_enter(j, i);
        int beyond = submit_check_limits(c, j, true, &why);
        if (beyond && !rc) {
            rc = beyond;
            *err = why;
        }
        if (beyond)
            continue;
        _cleanup_bitset_ struct bitset *set = select_candidates(c->cluster, j);
        bitset_and(set, c->cluster->pool.usable);
        int64_t at = timeline_earliest(c->cluster, j, set, from, &there);
        if (at < first) {
            struct selection worse = *where;
            *where = there;
            there = worse;
            best = i;
            first = at;
        }
        select_done(&there);
    }
    several_enter(j, best);
    *first_at = first;
    return first == INT64_MAX ? rc : 0;
}

void test_only_reply(struct control *c, uint64_t call, struct job *j)
{
    Pb__SubmitReply r = PB__SUBMIT_REPLY__INIT;
    struct selection where = {0};
    struct err err = {0};
    resv_bind_job(c, j);
    if (find_first(c, j, &where, &r.start_at, &err) != 0) {
        control_refuse(c, call, &err);
        submit_forget(c, j);
        return;
    }
    r.has_start_at = r.has_job_id = r.has_num_cpus = true;
    r.job_id = j->id;
    uint64_t work = 0;
    int64_t licensed_at = license_earliest(NULL, c->cluster, j, control_wall(c), &work);
    r.start_at = licensed_at > r.start_at ? licensed_at : r.start_at;
    struct str nodes = STR_INIT;
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    vec_foreach (&where.shares, s) {
        hostlist_push(names, c->cluster->nodes.data[s->node]->name);
        r.num_cpus += s->units * c->cluster->nodes.data[s->node]->cpus_per_unit;
    }
    hostlist_format(names, &nodes);
    r.nodes = (char *)str_cstr(&nodes);
    r.partition = (char *)j->part->conf.name;
    c->env->reply(c->env->ctx, call, &r.base);
    select_done(&where);
    str_done(&nodes);
    submit_forget(c, j);
}
