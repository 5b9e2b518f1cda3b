/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A new configuration under running jobs: what exists is built again from the new file, what is
 * known of the nodes is carried over by name, and the jobs are taken in again from their own
 * records, as after a restart.
 */
#include <string.h>

#include "control/internal.h"

static void carry_node(struct node *to, struct node *from)
{
    struct str stored = STR_INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    node_pack_stored(from, &stored);
    const Pb__NodeRecord *r =
        arena_unpack(&arena, &pb__node_record__descriptor, stored.data, stored.len);
    if (r)
        node_restore(to, r);
    str_done(&stored);
    to->connected = from->connected;
    to->registered = from->registered;
    to->incarnation = take_ptr(from->incarnation);
    to->free_mem_mib = from->free_mem_mib;
    to->load_centi = from->load_centi;
    to->last_busy_at = from->last_busy_at;
    to->seen = from->seen;
    from->seen = STR_INIT;
    vec_foreach (&from->ghosts, g)
        vec_push(&to->ghosts, *g);
}

/* What only memory knows of a job moves to its new record: who waits for it, and its clocks. */
static void carry_job(struct job *to, struct job *from)
{
    memcpy(&to->waiting_steps, &from->waiting_steps, sizeof to->waiting_steps);
    memcpy(&to->end_calls, &from->end_calls, sizeof to->end_calls);
    memset(&from->waiting_steps, 0, sizeof from->waiting_steps);
    memset(&from->end_calls, 0, sizeof from->end_calls);
    to->alloc_call = from->alloc_call;
    to->alloc_step = from->alloc_step;
    from->alloc_step = STR_INIT;
    to->request_key = from->request_key;
    to->end_mono_ms = from->end_mono_ms;
    to->warn_mono_ms = from->warn_mono_ms;
    to->repeat_mono_ms = from->repeat_mono_ms;
    to->gone_mono_ms = from->gone_mono_ms;
    to->purge_mono_ms = from->purge_mono_ms;
    for (size_t i = 0; i < to->alloc.len && i < from->alloc.len; i++)
        to->alloc.data[i].touched = from->alloc.data[i].touched;
}

static void take_in(struct control *c, struct cluster *old, struct cluster *next, struct job *from)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct str packed = STR_INIT;
    struct err err = {0};
    job_pack_live(old, from);
    job_pack_record(from, &packed);
    const Pb__JobRecord *r =
        arena_unpack(&arena, &pb__job_record__descriptor, packed.data, packed.len);
    struct job *to = cluster_add_job(next, from->id);
    if (job_restore(next, to, r, &err) != 0)
        control_log(c, LOG_LVL_ERROR, "job %u: %s", from->id, err.text);
    carry_job(to, from);
    if (to->request_key)
        idmap_set(&next->requests, to->request_key, to->id);
    if (from->ends.in)
        order_insert(&next->ends, &to->ends, from->ends.key, to->id);
    if (from->dirty)
        job_touch(next, to);
    str_done(&packed);
}

static void settle(struct control *c, struct job *j)
{
    if (j->state == PB__JOB_STATE__PENDING) {
        if (!j->part)
            control_log(c, LOG_LVL_ERROR, "job %u waits in a partition that is no more", j->id);
        submit_enqueue(c, j);
    } else if (j->completing && job_nodes_left(j) == 0) {
        finish_clean(c, j);
    } else if (j->state == PB__JOB_STATE__RUNNING && job_nodes_left(j) == 0) {
        finish_job(c, j, PB__JOB_STATE__NODE_FAIL, 0, "NodeDown", NULL);
    }
    control_schedule(c, j);
}

/* The daemons read their copies of the file: prolog, epilog and the rest are theirs. */
static void tell_nodes(struct control *c)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    order.reconfigure = &empty;
    vec_foreach (&c->cluster->nodes, n)
        if ((*n)->connected)
            node_send_orders(c, *n, &order);
}

void control_reconfigure(struct control *c, uint64_t call, struct conf *conf)
{
    struct str changes = STR_INIT;
    conf_diff(c->conf, conf, &changes);
    struct cluster *old = c->cluster, *next = cluster_new(conf);
    struct conf *old_conf = c->conf;
    next->stamp = old->stamp + 1;
    vec_foreach (&next->nodes, n) {
        struct node *from = cluster_find_node(old, (*n)->name);
        if (from)
            carry_node(*n, from);
    }
    c->cluster = next;
    c->conf = conf;
    update_carry_parts(c, old, &changes);
    for (size_t i = 0; i < old->jobs.len; i++)
        take_in(c, old, next, old->jobs.data[i]);
    cluster_free(old);
    conf_free(old_conf);
    vec_foreach (&next->nodes, n)
        node_heard(c, *n);
    for (size_t i = 0; i < next->jobs.len; i++)
        settle(c, next->jobs.data[i]);
    tell_nodes(c);
    c->plan_wanted = true;
    c->wake_at_ms = INT64_MAX;
    Pb__ReconfigureReply reply = PB__RECONFIGURE_REPLY__INIT;
    reply.changes = (char *)str_cstr(&changes);
    if (call)
        c->env->reply(c->env->ctx, call, &reply.base);
    str_done(&changes);
}
