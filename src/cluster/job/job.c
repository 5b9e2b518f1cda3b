/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "base/hostlist.h"
#include "cluster/cluster.h"
#include "cluster/node/constraint.h"

const char *job_id_text(const struct job *j, char buf[JOB_ID_TEXT_MAX])
{
    const struct job *leader = job_set_component(j, 0); /* only the leader is in the array */
    bool is_element = leader && leader->array && !leader->tasks.count;
    uint32_t id = is_element ? leader->array->id : job_set_id(j);
    int len = snprintf(buf, JOB_ID_TEXT_MAX, "%u", id);
    if (is_element)
        len += snprintf(buf + len, JOB_ID_TEXT_MAX - (size_t)len, "_%u", leader->task);
    if (j->set)
        snprintf(buf + len, JOB_ID_TEXT_MAX - (size_t)len, "+%u", j->set_offset);
    return buf;
}

void job_format_nodes(const struct cluster *c, const struct job *j, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    vec_foreach (&attempt_of(j)->alloc, a)
        hostlist_push(list, c->nodes.data[a->node]->name);
    hostlist_format(list, out);
}

uint32_t job_alloc_cpus(const struct job *j)
{
    uint32_t sum = 0;
    vec_foreach (&attempt_of(j)->alloc, a)
        sum += a->cpus;
    return sum;
}

static bool is_asked_host(const struct cluster *c, const struct constraint *con,
                          const struct alloc_node *a)
{
    return constraint_match_any(con, node_active_features(c->nodes.data[a->node]));
}

void job_choose_host(const struct cluster *c, struct job *j)
{
    struct constraint *con = NULL;
    if (!j->batch || !j->want.chooses_host)
        return;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    if (constraint_parse(spec->batch_features, "", &con, NULL) != 0)
        return;
    for (uint32_t i = attempt_of(j)->alloc.len; i-- > 0;)
        if (is_asked_host(c, con, &attempt_of(j)->alloc.data[i]))
            attempt_make(j)->host_at = i;
    constraint_free(con);
}

bool job_is_held_back(const struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (a->held && !a->released)
            return true;
    return false;
}

uint32_t job_nodes_left(const struct job *j)
{
    uint32_t left = 0;
    vec_foreach (&attempt_of(j)->alloc, a)
        left += !a->released;
    return left;
}

void job_step_node_done(struct step_node *n)
{
    vec_foreach (&n->gres, held)
        gres_held_done(held);
    vec_done(&n->gres);
    bitset_free(n->own);
}

void job_step_done(struct step *s)
{
    vec_foreach (&s->nodes, n)
        job_step_node_done(n);
    vec_done(&s->nodes);
    vec_done(&s->ports);
    str_done(&s->record);
    str_done(&s->usage);
}

void job_forget_past(struct job *j)
{
    if (!j->past)
        return;
    free(j->past->nodes);
    free(j->past->batch_host);
    free(take_ptr(j->past));
}

const char *job_reason_word(const struct job *j)
{
    return j->reason == REASON_NEWER ? j->newer_reason : reason_word(j->reason);
}

struct job *job_of_end(struct order_link *link)
{
    struct attempt *attempt = order_item(link, struct attempt, ends);
    return attempt ? attempt->job : NULL;
}

void job_repack(struct job_packed *p, const ProtobufCMessage *m)
{
    size_t len = protobuf_c_message_get_packed_size(m);
    p->data = mem_realloc(p->data, len);
    p->len = (uint32_t)protobuf_c_message_pack(m, p->data);
}

void job_packed_done(struct job_packed *p)
{
    free(p->data);
    *p = (struct job_packed){0};
}

void job_touch(struct cluster *c, struct job *j)
{
    j->stamp = ++c->stamp;
    if (j->dirty)
        return;
    j->dirty = true;
    vec_push(&c->dirty, j->id);
}

int64_t job_limit_sec(const struct job *j)
{
    return j->limit_sec < CLUSTER_NO_LIMIT_SEC ? j->limit_sec : CLUSTER_NO_LIMIT_SEC;
}

int64_t job_ends_at(const struct job *j, int64_t from)
{
    return from + job_limit_sec(j);
}
