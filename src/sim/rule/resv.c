/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reservations that virtual operators create and delete, and their promises. At each start of a job
 * no other job has the nodes of a reservation, or the generic resources that it keeps, during its
 * time; a job in a reservation belongs to one of its users and runs on its nodes and within its
 * time, except where its flags allow otherwise. Judged by the records alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "sim/rule/rule.h"

#define HOUR_SEC 3600
#define YEAR_SEC INT64_C(31536000) /* assumed run time of a job without a limit */

const Pb__ResvRecord *sim_resv_read(const struct sim_stored_resv *r, struct arena *arena)
{
    return arena_unpack(arena, &pb__resv_record__descriptor, r->data.data, r->data.len);
}

/* --- records ------------------------------------------------------------------------------------
 */

/* Jobs that requested the reservation are held now. */
static void expect_holds(struct sim *s, const char *name)
{
    vec_foreach (&s->clients, c)
        if (strcmp(c->item->resv, name) == 0) {
            c->asked[SIM_CLAIM_HELD]++;
            c->claims[SIM_CLAIM_HELD].is_in_force = false;
        }
}

void sim_resv_put(struct sim *s, const struct sim_record *r)
{
    size_t at = 0;
    while (at < s->resvs.len && strcmp(s->resvs.data[at].name, r->name) != 0)
        at++;
    if (at < s->resvs.len && !r->data) {
        expect_holds(s, r->name);
        str_done(&s->resvs.data[at].data);
        vec_remove(&s->resvs, at);
        return;
    }
    if (!r->data)
        return;
    if (at == s->resvs.len) {
        struct sim_stored_resv new = {0};
        strncpy(new.name, r->name, sizeof new.name - 1);
        vec_push(&s->resvs, new);
    }
    str_clear(&s->resvs.data[at].data);
    str_append(&s->resvs.data[at].data, r->data, r->len);
}

void sim_resv_clear(struct sim *s)
{
    vec_foreach (&s->resvs, r)
        str_done(&r->data);
    vec_clear(&s->resvs);
}

/* --- promises -----------------------------------------------------------------------------------
 */

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (; list && *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",=") == len && strncmp(list, word, len) == 0)
            return true;
    return false;
}

static bool has_uid(const char *list, int64_t uid)
{
    _cleanup_free_ char *text = mem_printf("%lld", (long long)uid);
    return has_word(list, text);
}

static bool has_node(const struct sim *s, const Pb__ResvRecord *r, unsigned node)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    if (!r->nodes || !*r->nodes || hostlist_parse(r->nodes, &names, NULL) != 0)
        return false;
    for (size_t i = 0; i < hostlist_count(names); i++)
        if (strcmp(hostlist_nth(names, i, name), s->nodes.data[node].name) == 0)
            return true;
    return false;
}

/* The first occurrence from 'at' on; also of a reservation that repeats every hour. */
static void find_occurrence(const Pb__ResvRecord *r, int64_t at, int64_t *begin, int64_t *end)
{
    *begin = r->start_at;
    *end = r->end_at;
    if (has_word(r->flags, "TIME_FLOAT")) {
        *begin = at + r->float_sec;
        *end = r->float_length_sec ? *begin + r->float_length_sec : *end;
    } else if (has_word(r->flags, "HOURLY") && *end <= at) {
        int64_t hours = (at - *end) / HOUR_SEC + 1;
        *begin += hours * HOUR_SEC;
        *end += hours * HOUR_SEC;
    }
}

bool sim_resv_meets(const Pb__ResvRecord *r, int64_t from, int64_t until, int64_t *at)
{
    return sim_resv_meets_since(r, from, from, until, at);
}

bool sim_resv_meets_since(const Pb__ResvRecord *r, int64_t from, int64_t since, int64_t until,
                          int64_t *at)
{
    int64_t begin, end;
    find_occurrence(r, has_word(r->flags, "TIME_FLOAT") ? from : since, &begin, &end);
    *at = begin > since ? begin : since;
    return begin < until && end > since && end > begin;
}

int64_t sim_resv_begins(const Pb__ResvRecord *r, int64_t since)
{
    int64_t begin, end;
    if (!has_word(r->flags, "HOURLY"))
        return 0;
    find_occurrence(r, since, &begin, &end);
    return begin < since ? begin + HOUR_SEC : begin;
}

int64_t sim_resv_end_of_job(const struct sim_watch *w)
{
    return w->view.start_at + (w->view.limit_sec < YEAR_SEC ? w->view.limit_sec : YEAR_SEC);
}

static bool is_first(const Pb__ResvRecord *r)
{
    return has_word(r->flags, "MAINT") || has_word(r->flags, "OVERLAP");
}

static bool reaches_out(const Pb__ResvRecord *r)
{
    return has_word(r->flags, "FLEX") || has_word(r->flags, "ANY_NODES");
}

static uint64_t count_kept(const struct sim *s, const Pb__ResvRecord *r, unsigned node,
                           const struct sim_gres *g)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->n_node_gres; i++) {
        const Pb__ResvGres *k = r->node_gres[i];
        if (strcmp(k->node, s->nodes.data[node].name) == 0 && strcmp(k->name, g->name) == 0 &&
            strcmp(k->type ? k->type : "", g->type) == 0)
            sum += k->count;
    }
    return sum;
}

/* The count that jobs hold, and the part of it that jobs of the reservation hold. */
static uint64_t count_held(const struct sim *s, unsigned node, const struct sim_gres *g,
                           const char *resv, uint64_t *inside)
{
    uint64_t sum = 0;
    *inside = 0;
    vec_foreach (&s->nodes.data[node].holders, id) {
        const struct sim_watch *w = sim_watch_find(s, *id);
        const struct sim_share *share = w && sim_give_holds(w) ? sim_give_share(w, node) : NULL;
        for (unsigned i = 0; share && i < share->n_gres; i++) {
            const struct sim_gres *o = &share->gres[i];
            if (strcmp(o->name, g->name) != 0 || strcmp(o->type, g->type) != 0)
                continue;
            sum += o->count;
            *inside += strcmp(w->view.resv, resv) == 0 ? o->count : 0;
        }
    }
    return sum;
}

/* The share of a job outside the reservation must leave the units that the reservation keeps and
 * its own jobs do not hold yet. */
static void check_kept(struct sim *s, const struct sim_watch *w, const Pb__ResvRecord *other,
                       const struct sim_share *share)
{
    const struct sim_node *n = &s->nodes.data[share->node];
    for (unsigned i = 0; n->item && i < share->n_gres; i++) {
        const struct sim_gres *g = &share->gres[i];
        uint64_t inside, kept = g->parts ? 0 : count_kept(s, other, share->node, g);
        uint64_t held = count_held(s, share->node, g, other->name, &inside);
        uint64_t total = sim_count_of_list(n->item->gres, g->name, g->type);
        s->result->resv_gres_checks += kept > 0;
        if (kept > inside && held + (kept - inside) > total)
            sim_break(s, "a job has devices that are reserved",
                      "job %u on %s, %s:%s of reservation %s: %llu of %llu are kept, %llu held",
                      w->job_id, n->name, g->name, g->type, other->name, (unsigned long long)kept,
                      (unsigned long long)total, (unsigned long long)held);
    }
}

/* Checks a job of another reservation, or of none, against a reservation. */
static void check_other(struct sim *s, const struct sim_watch *w, const Pb__ResvRecord *other,
                        const Pb__ResvRecord *own, int64_t until)
{
    bool over = !own || (is_first(other) && !is_first(own));
    int64_t at;
    if (other->n_cores || !sim_resv_meets(other, w->view.start_at, until, &at))
        return;
    if (other->n_node_gres) {
        vec_foreach (&w->shares, share)
            if (over)
                check_kept(s, w, other, share);
        return;
    }
    if (!over && !reaches_out(own))
        return;
    vec_foreach (&w->shares, share)
        if (has_node(s, other, share->node) && (over || !has_node(s, own, share->node)))
            sim_break(s, "a job has nodes that are reserved", "job %u on %s of reservation %s",
                      w->job_id, s->nodes.data[share->node].name, other->name);
}

static void check_own(struct sim *s, const struct sim_watch *w, const Pb__ResvRecord *r,
                      int64_t until)
{
    int64_t from = w->view.start_at, begin, end;
    const struct sim_client *c = w->client != UINT32_MAX ? &s->clients.data[w->client] : NULL;
    find_occurrence(r, from, &begin, &end);
    if (c && !has_uid(r->users, c->item->uid))
        sim_break(s, "a job is in a reservation of others", "job %u in %s", w->job_id, r->name);
    if (!has_word(r->flags, "FLEX") && (from < begin || from >= end))
        sim_break(s, "a job is in a reservation out of its time", "job %u in %s", w->job_id,
                  r->name);
    if (reaches_out(r))
        return;
    vec_foreach (&w->shares, share)
        if (!has_node(s, r, share->node))
            sim_break(s, "a job is beside its reservation", "job %u on %s, in %s", w->job_id,
                      s->nodes.data[share->node].name, r->name);
}

void sim_resv_check(struct sim *s, const struct sim_watch *w)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__ResvRecord *own = NULL;
    int64_t until = sim_resv_end_of_job(w);
    vec_foreach (&s->resvs, r)
        if (strcmp(r->name, w->view.resv) == 0)
            own = sim_resv_read(r, &arena);
    if (*w->view.resv && !own)
        sim_break(s, "a job is in a reservation that is not there", "job %u in %s", w->job_id,
                  w->view.resv);
    if (own)
        check_own(s, w, own, until);
    vec_foreach (&s->resvs, r)
        if (strcmp(r->name, w->view.resv) != 0)
            check_other(s, w, sim_resv_read(r, &arena), own, until);
}
