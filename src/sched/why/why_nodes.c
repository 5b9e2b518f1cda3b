/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/why/why_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/resource/share.h"
#include "sched/select/select.h"

#define STEP 1000  /* nodes looked at in a step */
#define NAMES 1000 /* of a group */
#define HOLDERS 8  /* of a group */

static const struct {
    const char *word, *scarce; /* scarce: NULL: nothing in particular */
} causes[] = {
    [WHY_FREE] = {"free", NULL},
    [WHY_RESERVED_NODE] = {"reserved", "nodes that are not reserved"},
#define NODE_RESOURCE(id, word, scarce, ...) [WHY_##id] = {word, scarce},
#include "cluster/resource/resource_kind.def"
    [WHY_WHOLE] = {"whole", "idle nodes"},
    [WHY_SHARED] = {"shared", "nodes that more jobs may share"},
    [WHY_USER] = {"user", "nodes of one user"},
    [WHY_LEAF] = {"topo", "nodes in blocks or switches of its own"},
    [WHY_SEVERAL] = {"several", NULL},
    [WHY_DRAINED] = {"drained", "nodes that are up"},
    [WHY_DOWN] = {"down", "nodes that are up"},
};

/* What a node has, in the order of the table. */
static const enum why_cause kinds[] = {
#define NODE_RESOURCE(id, ...) WHY_##id,
#include "cluster/resource/resource_kind.def"
};

/* Gives the job's room on a node all that the node has of the kind. False: CPUs, of which it is
 * short when the job does not fit with all other kinds free. */
static bool assume_all(enum why_cause kind, const struct node_kind *k, struct select_room *room)
{
    switch (kind) {
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    case WHY_##id:                                                                                 \
        room->amounts.member = k->amounts.member;                                                  \
        return true;
#include "cluster/resource/resource_kind.def"
    case WHY_GRES:
        room->gres = k->gres_total;
        return true;
    default:
        return false;
    }
}

void why_nodes_init(struct why_nodes *n, const struct cluster *c, const struct job *j)
{
    *n = (struct why_nodes){.could = select_candidates(c, j)};
    if (j->want.req)
        bitset_and(n->could, j->want.req);
    resv_restrict(resv_home(j), n->could);
    n->could_ever = (uint32_t)bitset_count(n->could);
}

void why_nodes_done(struct why_nodes *n)
{
    vec_foreach (&n->groups, g) {
        hostlist_free(g->nodes);
        free(g->reason);
        vec_done(&g->holders);
    }
    vec_done(&n->groups);
    bitset_free(n->could);
    bitset_free(n->open);
    *n = (struct why_nodes){0};
}

static uint32_t tasks_in(const struct cluster *c, const struct job *j, uint32_t node,
                         const struct select_room *room)
{
    return select_tasks_fit(c, j, &c->pool.kinds.data[c->pool.kind[node]], room, NULL);
}

/* The first thing that the node has too little of. */
static enum why_cause find_lack(const struct cluster *c, const struct job *j, uint32_t node,
                                const struct select_room *room)
{
    const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[node]];
    struct select_room cpus = *room; /* with all else free */
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        assume_all(kinds[i], k, &cpus);
    struct select_room full = cpus;
    full.units += share_full(k->units, c->pool.now.use[node], j);
    full.whole = room->whole || (j->want.shared && full.units == k->units);
    if (!tasks_in(c, j, node, &cpus) && tasks_in(c, j, node, &full))
        return WHY_SHARED;
    if (j->want.exclusive && !room->whole)
        return WHY_WHOLE;
    if (!tasks_in(c, j, node, &cpus))
        return WHY_CPUS;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct select_room one = *room;
        if (assume_all(kinds[i], k, &one) && tasks_in(c, j, node, &one))
            return kinds[i];
    }
    return WHY_SEVERAL;
}

struct node_look {
    const struct cluster *c;
    const struct job *j;
    const struct resv *shares; /* the job is confined to what it keeps of nodes; NULL: it is not */
    const struct free_view *view; /* of what no other reservation keeps from the job */
};

static enum why_cause find_cause(const struct node_look *k, const struct bitset *open,
                                 uint32_t node, uint32_t *tasks, uint64_t *more)
{
    const struct cluster *c = k->c;
    const struct job *j = k->j;
    const struct node *n = c->nodes.data[node];
    const struct free_view *now = &c->pool.now;
    if (!bitset_test(c->pool.usable, node))
        return n->drain && !n->down && !n->admin_down && n->registered ? WHY_DRAINED : WHY_DOWN;
    if (!alloc_user_may(&now->users[node], j))
        return WHY_USER;
    if (!bitset_test(open, node))
        return WHY_RESERVED_NODE;
    uint32_t sharing = j->want.shared ? UINT32_MAX : 0; /* as the planner does in the end */
    struct select_room room = select_room_of(c, j, k->view, node, sharing);
    *tasks = select_tasks_fit(c, j, &c->pool.kinds.data[c->pool.kind[node]], &room, more);
    if (!*tasks && k->view != now && !k->shares) {
        room = select_room_of(c, j, now, node, sharing);
        if (tasks_in(c, j, node, &room))
            return WHY_RESERVED_NODE;
    }
    if (*tasks && leaf_find_other(c, j, node)) {
        *tasks = 0;
        return WHY_LEAF;
    }
    return *tasks ? WHY_FREE : find_lack(c, j, node, &room);
}

static struct why_group *group_of(struct why_nodes *n, enum why_cause cause, const char *reason)
{
    vec_foreach (&n->groups, g)
        if (g->cause == cause && str_eq(g->reason, reason))
            return g;
    if (n->groups.len == WHY_GROUPS)
        return &vec_last(&n->groups);
    vec_push(&n->groups,
             ((struct why_group){
                 .cause = cause, .reason = mem_strdup(reason), .nodes = hostlist_new()}));
    return &vec_last(&n->groups);
}

static void add_holder(struct why_group *g, uint32_t id)
{
    bool known = false;
    for (size_t i = 0; i < g->holders.len && !known; i++)
        known = g->holders.data[i] == id;
    if (!known && g->holders.len < HOLDERS)
        vec_push(&g->holders, id);
}

/* What a reservation keeps is in use by its own jobs only. */
static void add_holders(struct why_group *g, const struct node_look *k, const struct node *n)
{
    const struct job *other = g->cause == WHY_LEAF ? leaf_find_other(k->c, k->j, n->index) : NULL;
    if (other)
        add_holder(g, other->id);
    vec_foreach (&n->holders, id) {
        const struct job *holder = cluster_find_job(k->c, *id);
        if (!k->shares || (holder && attempt_of(holder)->resv == k->shares))
            add_holder(g, *id);
    }
}

bool why_nodes_step(struct why_nodes *n, const struct cluster *c, const struct job *j,
                    struct resv_plan *resv, int64_t now_sec)
{
    const struct resv *in = resv_home(j);
    const struct node_look look = {c, j, in && resv_in_parts(in) ? in : NULL,
                                   resv_view(resv, j, in, now_sec, &c->pool.now)};
    if (!n->open) {
        n->open = bitset_dup(n->could);
        resv_narrow(resv, j, in, now_sec, n->open);
    }
    size_t end = n->next + STEP < c->nodes.len ? n->next + STEP : c->nodes.len;
    for (; n->next < end; n->next++) {
        if (!bitset_test(n->could, n->next))
            continue;
        const struct node *node = c->nodes.data[n->next];
        uint32_t tasks = 0;
        uint64_t more = 0;
        enum why_cause cause = find_cause(&look, n->open, (uint32_t)n->next, &tasks, &more);
        bool bad = cause == WHY_DRAINED || cause == WHY_DOWN;
        struct why_group *g = group_of(n, cause, bad ? node->reason : NULL);
        if (g->count++ < NAMES)
            hostlist_push(g->nodes, node->name);
        if (cause != WHY_FREE && cause != WHY_RESERVED_NODE && !bad)
            add_holders(g, &look, node);
        n->free_tasks += tasks;
        n->free_gres += tasks ? more : 0;
    }
    return n->next < c->nodes.len;
}

uint32_t why_nodes_count(const struct why_nodes *n, enum why_cause cause)
{
    uint32_t sum = 0;
    vec_foreach (&n->groups, g)
        if (g->cause == cause)
            sum += g->count;
    return sum;
}

const char *why_nodes_scarce(const struct why_nodes *n)
{
    const char *scarce = "nodes";
    uint32_t most = 0;
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        uint32_t count = causes[i].scarce ? why_nodes_count(n, (enum why_cause)i) : 0;
        if (count > most) {
            most = count;
            scarce = causes[i].scarce;
        }
    }
    return scarce;
}

static int by_cause(const void *a, const void *b)
{
    const Pb__WhyNodes *x = *(Pb__WhyNodes *const *)a, *y = *(Pb__WhyNodes *const *)b;
    bool x_free = str_eq(x->cause, causes[WHY_FREE].word),
         y_free = str_eq(y->cause, causes[WHY_FREE].word);
    if (x_free != y_free)
        return x_free ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int rc = strcmp(x->cause, y->cause);
    return rc ? rc : strcmp(x->nodes, y->nodes);
}

static void put_holders(const struct why_group *g, const struct cluster *c, Pb__WhyNodes *m,
                        struct arena *arena)
{
    m->holders = arena_alloc(arena, (g->holders.len + 1) * sizeof(*m->holders));
    vec_foreach (&g->holders, id) {
        const struct job *j = cluster_find_job(c, *id);
        Pb__WhyHolder *h = arena_alloc(arena, sizeof *h);
        pb__why_holder__init(h);
        h->job_id = *id;
        h->has_end_at = j && attempt_of(j)->ends.in && j->limit_sec != INT64_MAX;
        h->end_at = h->has_end_at ? attempt_of(j)->ends.key : 0;
        m->holders[m->n_holders++] = h;
    }
}

void why_nodes_put(const struct why_nodes *n, const struct cluster *c, Pb__WhyReply *m,
                   struct arena *arena)
{
    m->groups = arena_alloc(arena, (n->groups.len + 1) * sizeof(*m->groups));
    vec_foreach (&n->groups, g) {
        struct str names = STR_INIT;
        Pb__WhyNodes *one = arena_alloc(arena, sizeof *one);
        pb__why_nodes__init(one);
        hostlist_format(g->nodes, &names);
        one->cause = (char *)causes[g->cause].word;
        one->count = g->count;
        one->nodes = arena_strdup(arena, str_cstr(&names));
        one->reason = g->reason ? arena_strdup(arena, g->reason) : NULL;
        put_holders(g, c, one, arena);
        str_done(&names);
        m->groups[m->n_groups++] = one;
    }
    if (m->n_groups)
        qsort(m->groups, m->n_groups, sizeof(*m->groups), by_cause);
}
