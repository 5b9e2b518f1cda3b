/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A reservation's record, and how listings show it. */
#include <string.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "cluster/cluster.h"

#define FAR_SEC (INT64_C(1) << 40) /* sums of such times do not overflow */
#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

static void describe_reservation(const struct resv *r, Pb__ResvRecord *m, struct arena *arena)
{
    _cleanup_str_ struct str flags = STR_INIT;
    pb__resv_record__init(m);
    resv_format_flags(r, &flags);
    m->name = r->name;
    SET(m, start_at, r->start_at);
    SET(m, end_at, r->end_at);
    m->nodes = r->node_names;
    SET(m, node_count, r->node_count);
    m->core_count = r->core_count;
    m->gres = r->gres_total;
    m->gres_per_node = r->gres_per_node;
    if (r->cores_per_node)
        SET(m, cores_per_node, r->cores_per_node);
    m->features = r->features;
    m->partition = r->part;
    m->flags = arena_strdup(arena, str_cstr(&flags));
    m->users = r->users;
    m->accounts = r->accounts;
    m->groups = r->groups;
    m->allowed_partitions = r->allowed_parts;
    m->licenses = r->licenses;
    if (r->delay_sec)
        SET(m, max_start_delay_sec, r->delay_sec);
    SET(m, number, r->number);
    if (r->flags & RESV_TIME_FLOAT) {
        SET(m, float_sec, r->float_sec);
        SET(m, float_length_sec, r->float_length_sec);
    }
}

static void describe_cores(const struct resv *r, Pb__ResvRecord *m, struct arena *arena)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    if (!r->cores.len || hostlist_parse(r->node_names, &names, NULL) != 0)
        return;
    m->cores = arena_alloc(arena, (r->cores.len + 1) * sizeof(*m->cores));
    for (size_t i = 0; i < r->cores.len && i < hostlist_count(names); i++) {
        Pb__ResvCores *at = arena_alloc(arena, sizeof(*at));
        pb__resv_cores__init(at);
        at->node = arena_strdup(arena, hostlist_nth(names, i, name));
        at->count = r->cores.data[i];
        m->cores[m->n_cores++] = at;
    }
}

static void describe_gres(const struct resv *r, Pb__ResvRecord *m, struct arena *arena)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    if (!r->node_gres.len || hostlist_parse(r->node_names, &names, NULL) != 0)
        return;
    m->node_gres = arena_alloc(arena, r->node_gres.len * sizeof(*m->node_gres));
    vec_foreach (&r->node_gres, g) {
        if (g->at >= hostlist_count(names))
            continue;
        Pb__ResvGres *to = arena_alloc(arena, sizeof(*to));
        pb__resv_gres__init(to);
        to->node = arena_strdup(arena, hostlist_nth(names, g->at, name));
        to->name = g->name;
        to->type = g->type;
        to->count = g->count;
        m->node_gres[m->n_node_gres++] = to;
    }
}

void resv_pack(const struct resv *r, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    Pb__ResvRecord m;
    arena_init(&arena, 0);
    describe_reservation(r, &m, &arena);
    describe_cores(r, &m, &arena);
    describe_gres(r, &m, &arena);
    if (r->idle_at)
        SET(&m, idle_at, r->idle_at);
    if (r->begun_at)
        SET(&m, begun_at, r->begun_at);
    if (r->hooks_due)
        SET(&m, hooks_due, r->hooks_due);
    pb_pack(&m.base, out);
    str_append(out, r->newer.data, r->newer.len);
}

/* Leaves nodes out that are no longer configured; the reservation keeps them if they return. */
static void leave_out_unknown_nodes(const struct cluster *c, Pb__ResvRecord *m, struct arena *arena)
{
    _cleanup_hostlist_ struct hostlist *names = NULL, *known = hostlist_new();
    _cleanup_str_ struct str text = STR_INIT;
    char name[HOSTLIST_NAME_MAX + 1];
    size_t cores = 0, gres = 0;
    if (!m->nodes || hostlist_parse(m->nodes, &names, NULL) != 0)
        return;
    for (size_t i = 0; i < hostlist_count(names); i++)
        if (cluster_find_node(c, hostlist_nth(names, i, name)))
            hostlist_push(known, name);
    if (hostlist_count(known) == hostlist_count(names))
        return;
    hostlist_format(known, &text);
    m->nodes = arena_strdup(arena, str_cstr(&text));
    for (size_t i = 0; i < m->n_cores; i++)
        if (cluster_find_node(c, m->cores[i]->node))
            m->cores[cores++] = m->cores[i];
    m->n_cores = cores;
    for (size_t i = 0; i < m->n_node_gres; i++)
        if (cluster_find_node(c, m->node_gres[i]->node))
            m->node_gres[gres++] = m->node_gres[i];
    m->n_node_gres = gres;
}

void resv_pack_shown(const struct cluster *c, const struct resv *r, int64_t now, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    struct resv_time t;
    uint32_t cores, cpus;
    Pb__ResvRecord m;
    arena_init(&arena, 0);
    describe_reservation(r, &m, &arena);
    describe_cores(r, &m, &arena);
    describe_gres(r, &m, &arena);
    leave_out_unknown_nodes(c, &m, &arena);
    if (resv_occurs(r, now, &t)) {
        SET(&m, start_at, t.begin);
        SET(&m, end_at, t.end);
    }
    resv_count(c, r, &cores, &cpus);
    SET(&m, active, resv_is_now(r, now));
    SET(&m, node_count, (uint32_t)bitset_count(r->nodes));
    SET(&m, total_cores, cores);
    SET(&m, total_cpus, cpus);
    if (r->flags & RESV_PURGE_COMP)
        SET(&m, purge_sec, (uint32_t)r->purge_sec);
    pb_pack(&m.base, out);
}

static char *text_of(const char *s)
{
    return s && *s ? mem_strdup(s) : NULL;
}

/* What no request could have made; NULL: nothing. */
static const char *find_contradiction(const Pb__ResvRecord *m, uint32_t flags)
{
    int64_t length = OR(m, float_length_sec, 0);
    if (!*m->name || !m->has_start_at || !m->has_end_at || m->end_at <= m->start_at)
        return "it has no name, or no time";
    if (m->start_at < 0 || m->start_at > FAR_SEC || (flags & RESV_REPEATS && m->end_at > FAR_SEC) ||
        OR(m, float_sec, 0) < 0 || OR(m, float_sec, 0) > FAR_SEC || length < 0 ||
        (length > FAR_SEC && length != RESV_NEVER))
        return "its time is out of range";
    return (flags & RESV_REPEATS) & ((flags & RESV_REPEATS) - 1) ? "it repeats in two ways" : NULL;
}

static void restore_gres(const Pb__ResvRecord *m, struct resv *r)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    if (!r->node_names || hostlist_parse(r->node_names, &names, NULL) != 0)
        return;
    for (size_t i = 0; i < m->n_node_gres; i++) {
        const Pb__ResvGres *g = m->node_gres[i];
        long at = hostlist_find(names, g->node);
        uint64_t count = g->count < GRES_COUNT_MAX ? g->count : GRES_COUNT_MAX;
        if (at >= 0)
            vec_push(&r->node_gres, ((struct resv_gres){(size_t)at, mem_strdup(g->name),
                                                        text_of(g->type), count}));
    }
}

struct resv *resv_restore(const struct cluster *c, const Pb__ResvRecord *m, struct err *err)
{
    uint32_t flags = 0;
    int64_t purge = 0;
    if (resv_parse_flags(m->flags ? m->flags : "", &flags, &purge, err) != 0)
        return NULL;
    const char *wrong = find_contradiction(m, flags);
    if (wrong) {
        err_set(err, -ERR_STORE_DAMAGED, "the record of reservation %s: %s", m->name, wrong);
        return NULL;
    }
    struct resv *r = resv_new(m->name);
    r->zone = c->zone;
    r->number = OR(m, number, 0);
    r->flags = flags;
    r->purge_sec = purge;
    r->start_at = m->start_at;
    r->end_at = m->end_at;
    r->float_sec = OR(m, float_sec, 0);
    r->float_length_sec = OR(m, float_length_sec, 0);
    r->delay_sec = OR(m, max_start_delay_sec, 0);
    r->idle_at = OR(m, idle_at, 0);
    r->begun_at = OR(m, begun_at, 0);
    r->hooks_due = OR(m, hooks_due, 0);
    r->node_names = text_of(m->nodes);
    r->node_count = OR(m, node_count, 0);
    r->core_count = text_of(m->core_count);
    r->gres_total = text_of(m->gres);
    r->gres_per_node = text_of(m->gres_per_node);
    r->cores_per_node = OR(m, cores_per_node, 0);
    r->features = text_of(m->features);
    r->part = text_of(m->partition);
    r->users = text_of(m->users);
    r->accounts = text_of(m->accounts);
    r->groups = text_of(m->groups);
    r->allowed_parts = text_of(m->allowed_partitions);
    r->licenses = text_of(m->licenses);
    for (size_t i = 0; i < m->n_cores; i++)
        vec_push(&r->cores, m->cores[i]->count);
    restore_gres(m, r);
    pb_pick_unknown(&m->base, &r->newer);
    resv_resolve(c, r);
    return r;
}
