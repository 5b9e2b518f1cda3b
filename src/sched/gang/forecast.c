/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/gang/forecast.h"

#include <stdlib.h>

#include "base/mem.h"

#define TURNS_FIRST 4

struct moment { /* state of a member at the begin of a round */
    uint32_t id;
    bool runs;
    int64_t left_ms;
};

struct forecast {
    struct rotation *all;
    struct rotation r; /* connected members; their ids are their indexes in 'all' */
    uint32_t *numbers; /* by node: 1 + its number in 'r' */
    int64_t now_ms, switch_ms, slice_ms;
    size_t looks;
    VEC(struct moment) round; /* the queue at the begin of the round; empty: no round has begun */
    int64_t round_ms;
    size_t turns, turns_most; /* turns_most: after this number of turns a new round begins */
};

/* --- connected members ---------------------------------------------------------------------------
 */

struct groups { /* groups of members with common nodes, directly or through others */
    size_t *parent;
    size_t *head, *next; /* head: of a group, by its first member; lists contain 1 + member */
};

static size_t find_first(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void connect_members(struct groups *g, const struct rotation *r)
{
    size_t *by_node = mem_new_array(size_t, r->nodes + 1); /* 1 + member */
    for (size_t i = 0; i < r->members.len; i++)
        g->parent[i] = i;
    for (size_t i = 0; i < r->members.len; i++)
        vec_foreach (&r->members.data[i].uses, use) {
            if (!by_node[use->node])
                by_node[use->node] = i + 1;
            size_t a = find_first(g->parent, i);
            size_t b = find_first(g->parent, by_node[use->node] - 1);
            g->parent[a > b ? a : b] = a < b ? a : b;
        }
    free(by_node);
}

static void groups_open(struct groups *g, const struct rotation *r)
{
    g->parent = mem_new_array(size_t, r->members.len + 1);
    g->head = mem_new_array(size_t, r->members.len + 1);
    g->next = mem_new_array(size_t, r->members.len + 1);
    connect_members(g, r);
    for (size_t i = r->members.len; i-- > 0;) {
        size_t first = find_first(g->parent, i);
        g->next[i] = g->head[first];
        g->head[first] = i + 1;
    }
}

static void groups_close(struct groups *g)
{
    free(g->parent);
    free(g->head);
    free(g->next);
}

/* --- rounds --------------------------------------------------------------------------------------
 */

static void begin_round(struct forecast *f)
{
    vec_clear(&f->round);
    vec_foreach (&f->r.members, m)
        vec_push(&f->round, ((struct moment){m->id, m->runs, m->left_ms}));
    f->round_ms = f->now_ms;
    f->turns = 0;
}

/* The queue equals the one at the begin of the round, so the same turns will follow again. */
static bool is_round_over(const struct forecast *f)
{
    bool over = f->round.len == f->r.members.len;
    for (size_t i = 0; over && i < f->round.len; i++)
        over = f->round.data[i].id == f->r.members.data[i].id &&
               f->round.data[i].runs == f->r.members.data[i].runs;
    return over;
}

/* Skips as many rounds as pass before the round in which a member ends. */
static void skip_rounds(struct forecast *f)
{
    int64_t rounds = INT64_MAX, round_ms = f->now_ms - f->round_ms;
    for (size_t i = 0; i < f->round.len; i++) {
        int64_t left_ms = f->r.members.data[i].left_ms;
        int64_t ran_ms = f->round.data[i].left_ms - left_ms;
        if (ran_ms > 0 && (left_ms - 1) / ran_ms < rounds)
            rounds = (left_ms - 1) / ran_ms;
    }
    for (size_t i = 0; i < f->round.len; i++) {
        struct rotation_member *m = &f->r.members.data[i];
        m->left_ms -= rounds * (f->round.data[i].left_ms - m->left_ms);
    }
    f->now_ms += rounds * round_ms;
    f->switch_ms += rounds * round_ms;
    vec_clear(&f->round);
}

static void begin_slice(struct forecast *f)
{
    f->switch_ms += f->slice_ms;
    rotation_turn(&f->r);
    f->turns++;
    if (is_round_over(f)) {
        skip_rounds(f);
    } else if (!f->round.len) {
        f->turns_most = TURNS_FIRST;
        begin_round(f);
    } else if (f->turns == f->turns_most) { /* the same queue may never recur */
        f->turns_most *= 2;
        begin_round(f);
    }
}

/* --- simulation ---------------------------------------------------------------------------------
 */

/* Returns the time until a member ends, but not beyond the next switch. */
static int64_t count_steady_ms(const struct forecast *f)
{
    int64_t steady_ms = f->switch_ms - f->now_ms;
    vec_foreach (&f->r.members, m)
        if (m->runs && m->left_ms < steady_ms)
            steady_ms = m->left_ms;
    return steady_ms > 0 ? steady_ms : 0;
}

static bool remove_ended(struct forecast *f)
{
    bool removed = false;
    for (size_t i = f->r.members.len; i-- > 0;) {
        struct rotation_member *m = &f->r.members.data[i];
        if (m->left_ms > 0 || !m->runs)
            continue;
        f->all->members.data[m->id].ends_ms = f->now_ms;
        vec_done(&m->uses);
        vec_remove(&f->r.members, i);
        removed = true;
    }
    if (removed)
        vec_clear(&f->round);
    return removed;
}

static void run_slice(struct forecast *f)
{
    int64_t steady_ms = count_steady_ms(f);
    f->now_ms += steady_ms;
    vec_foreach (&f->r.members, m)
        m->left_ms -= m->runs ? steady_ms : 0;
    bool ended = remove_ended(f);
    if (f->now_ms >= f->switch_ms)
        begin_slice(f);
    else if (ended)
        rotation_settle(&f->r);
}

/* While no member waits, each ends after its remaining time. Otherwise the limit of turns is
 * reached. */
static void set_other_ends(struct forecast *f)
{
    bool waits = rotation_waits(&f->r);
    int64_t all_ms = 0;
    vec_foreach (&f->r.members, m)
        all_ms += m->left_ms;
    vec_foreach (&f->r.members, m)
        f->all->members.data[m->id].ends_ms = f->now_ms + (waits ? all_ms : m->left_ms);
}

static void run_ahead(struct forecast *f)
{
    rotation_settle(&f->r);
    while (rotation_waits(&f->r) && f->looks >= f->r.members.len) {
        f->looks -= f->r.members.len;
        run_slice(f);
    }
    set_other_ends(f);
}

static void add_member(struct forecast *f, size_t i)
{
    const struct rotation_member *from = &f->all->members.data[i];
    struct rotation_member *m = rotation_add(&f->r, (uint32_t)i, from->place, from->runs);
    m->left_ms = from->left_ms;
    vec_foreach (&from->uses, use) {
        struct rotation_use own = *use;
        if (!f->numbers[use->node])
            f->numbers[use->node] = (uint32_t)++f->r.nodes;
        own.node = f->numbers[use->node] - 1;
        rotation_use_node(m, &own);
    }
}

static void foresee_group(struct forecast *f, const struct groups *g, size_t first,
                          int64_t switch_ms)
{
    f->r = (struct rotation){.counts = f->all->counts, .last = f->all->last};
    f->now_ms = 0;
    f->switch_ms = switch_ms;
    vec_clear(&f->round);
    for (size_t i = g->head[first]; i; i = g->next[i - 1])
        if (!f->all->members.data[i - 1].pinned)
            add_member(f, i - 1);
    run_ahead(f);
    rotation_done(&f->r);
}

void forecast_ends(struct rotation *r, int64_t switch_ms, int64_t slice_ms, size_t looks)
{
    struct groups g;
    struct forecast f = {.all = r, .slice_ms = slice_ms, .looks = looks};
    f.numbers = mem_new_array(uint32_t, r->nodes + 1);
    groups_open(&g, r);
    for (size_t i = 0; i < r->members.len; i++)
        if (g.head[i])
            foresee_group(&f, &g, i, switch_ms);
    groups_close(&g);
    vec_done(&f.round);
    free(f.numbers);
}
