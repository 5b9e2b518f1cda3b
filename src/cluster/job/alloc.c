/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger: the units and the memory of each node that each job holds. */
#include <assert.h>
#include <string.h>

#include "cluster/cluster.h"
#include "cluster/job/park.h"
#include "cluster/job/whole_cores.h"
#include "cluster/resource/gres_bind.h"
#include "cluster/resource/gres_cores.h"
#include "cluster/resource/spec.h"

static struct alloc_node *add_alloc_node(struct job *j, struct node *n, struct bitset *units,
                                         const struct amounts *amounts)
{
    struct alloc_node a = {.node = n->index, .busy = units, .amounts = *amounts};
    a.units = (uint32_t)bitset_count(units);
    a.cpus = a.units * n->cpus_per_unit;
    vec_push(&attempt_make(j)->alloc, a);
    return &vec_last(&attempt_of(j)->alloc);
}

/* Finds the users of jobs that exclude other users (--exclusive=user). */
static void find_users(const struct cluster *c, struct node *n)
{
    n->users = (struct node_users){0};
    vec_foreach (&n->holders, id) {
        const struct job *j = cluster_find_job(c, *id);
        struct node_users *u = &n->users;
        bool other = u->who != USERS_NONE && j->uid != u->uid;
        u->who = other || u->who == USERS_MANY                ? USERS_MANY
                 : j->want.user_alone || u->who == USERS_ONLY ? USERS_ONLY
                                                              : USERS_ONE;
        u->uid = u->who == USERS_MANY ? 0 : j->uid;
    }
}

static void take_from_node(struct cluster *c, struct node *n, const struct job *j,
                           const struct alloc_node *a)
{
    if (!a->parked)
        park_take_units(n, j, a);
    amounts_add(&n->used, &a->amounts);
    n->jobs++;
    n->parked += a->parked && !attempt_of(j)->completing;
    vec_push(&n->holders, j->id);
    find_users(c, n);
    leaf_follow(c, j);
    n->completing += attempt_of(j)->completing;
    n->completing_units += attempt_of(j)->completing && !a->parked ? a->units : 0;
    pool_update(c, n);
    c->pool.taken++;
    c->stamp++;
}

void alloc_count_part(struct cluster *c, struct part *p)
{
    free(take_ptr(p->used_cpus));
    if (p->conf.max_cpus_per_node == UINT32_MAX)
        return;
    p->used_cpus = mem_new_array(uint32_t, c->nodes.len + 1);
    vec_foreach (&c->jobs, j) /* not c->ends, which is empty while records are loaded */
        vec_foreach (&attempt_of((*j))->alloc, a)
            if ((*j)->part == p && !a->released && !a->parked)
                p->used_cpus[a->node] += a->cpus;
}

static bool has_gres(const struct node *n, const struct alloc_want *want)
{
    for (size_t i = 0; i < want->gres_len; i++) {
        const struct gres_stock *s = gres_find(n, want->gres[i].kind);
        if (!s || want->gres[i].count > gres_left(s))
            return false;
    }
    return gres_parts_fit(n, want->gres, want->gres_len);
}

bool alloc_user_may(const struct node_users *u, const struct job *j)
{
    return u->who == USERS_NONE || (u->uid == j->uid && u->who != USERS_MANY) ||
           (!j->want.user_alone && u->who != USERS_ONLY);
}

/* Returns the number of free units that the job may have. */
static uint32_t count_free_units(const struct node *n, const struct job *j)
{
    if (!n->restricted || j->want.exclusive || gres_cores_may(&j->want.gres))
        return n->free_units;
    return n->free_units - (uint32_t)gres_left(gres_find(n, n->restricted_kind));
}

static bool has_room(const struct node *n, const struct job *j, const struct alloc_want *want)
{
    bool alone = j->want.exclusive && !j->want.shared;
    if (n->exclusive || (alone && n->jobs > n->parked) || !alloc_user_may(&n->users, j) ||
        want->units > count_free_units(n, j) + share_room(n->units, n->use, j, UINT32_MAX))
        return false;
    struct amounts left = n->amounts;
    amounts_subtract(&left, &n->used);
    return amounts_are_within(&want->amounts, &left) && has_gres(n, want);
}

static void take_gres(const struct cluster *c, struct node *n, struct alloc_node *a,
                      const struct alloc_want *want, struct bitset **devices)
{
    for (size_t i = 0; i < want->gres_len; i++) {
        enum gres_role role = c->gres_kinds.data[want->gres[i].kind].role;
        if (role == GRES_LOCK || role == GRES_CORES) /* allocated with the GPU and the units */
            continue;
        vec_push(&a->gres, ((struct gres_held){0}));
        gres_held_take(n, &want->gres[i], a->busy, devices[i], &vec_last(&a->gres));
    }
}

/* Chooses units on a node with restricted ones: a job takes the restricted units that it may have
 * first, as the planner counts, unless it has limits by socket. */
static bool choose_beside_restricted(const struct node *n, const struct job *j,
                                     const struct alloc_want *want, struct cores_want *cores,
                                     struct bitset *set)
{
    _cleanup_bitset_ struct bitset *others = gres_cores_others(n);
    _cleanup_bitset_ struct bitset *permitted =
        gres_cores_permitted(n, &j->want.gres, want->gres, want->gres_len, cores->near);
    _cleanup_bitset_ struct bitset *all = bitset_dup(others);
    bitset_or(all, permitted);
    struct cores_want first = *cores;
    uint32_t together = cores->together ? cores->together : 1;
    uint32_t most = (uint32_t)bitset_count(permitted) / together * together;
    first.units = most < cores->units ? most : cores->units;
    first.only = permitted;
    _cleanup_bitset_ struct bitset *chosen = bitset_new(n->units);
    struct cores_want rest = *cores;
    rest.units -= first.units;
    rest.only = others;
    if (!cores->per_socket && !cores->socket_left && first.units &&
        cores_choose(n, &first, chosen) && (!rest.units || cores_choose(n, &rest, chosen))) {
        bitset_or(set, chosen);
        return true;
    }
    cores->only = all;
    if (cores_choose(n, cores, set))
        return true;
    cores->only = NULL; /* it has fewer GPUs here than the planner assumed */
    return gres_cores_may(&j->want.gres) && cores_choose(n, cores, set);
}

/* Chooses units for the job, and devices if they must be near the units. */
static bool choose_units(const struct cluster *c, const struct job *j,
                         const struct alloc_want *want, uint32_t own, struct bitset *set,
                         struct bitset **devices)
{
    const struct node *n = c->nodes.data[want->node];
    _cleanup_free_ uint32_t *left = j->part ? cores_part_left(c, j->part, n) : NULL;
    uint32_t others = want->units - own;
    struct cores_want cores = {.units = own,
                               .per_socket = want->per_socket,
                               .beyond = want->beyond > others ? want->beyond - others : 0,
                               .socket_left = left,
                               .cyclic = j->want.cyclic};
    cores.together = whole_units_on(&j->want, n);
    bool is_limited = n->restricted && !j->want.exclusive;
    _cleanup_bitset_ struct bitset *unrestricted =
        is_limited && !gres_cores_may(&j->want.gres) ? gres_cores_others(n) : NULL;
    cores.only = unrestricted;
    if (request_is_bound(&j->want) && own == want->units) {
        const struct gres_bind bind = {want->gres, want->gres_len, cores};
        return gres_bind_choose(n, &bind, set, devices);
    }
    gres_parts_devices(n, want->gres, want->gres_len, devices);
    _cleanup_bitset_ struct bitset *near =
        j->want.gres_binding == GRES_BINDING_ANY
            ? NULL
            : gres_held_near(n, want->gres, want->gres_len, devices);
    cores.near = near;
    return is_limited && !unrestricted ? choose_beside_restricted(n, j, want, &cores, set)
                                       : cores_choose(n, &cores, set);
}

int alloc_place(struct cluster *c, struct job *j, const struct alloc_want *want, struct err *err)
{
    struct node *n = c->nodes.data[want->node];
    if (!has_room(n, j, want))
        return err_set(err, -ERR_NODES_BUSY, "%s: %s", err_text(ERR_NODES_BUSY), n->name);
    int rc = leaf_check(c, j, want->node, err);
    if (rc < 0)
        return rc;
    struct bitset *set = bitset_new(n->units);
    struct bitset *devices[GRES_KINDS_MAX] = {NULL};
    uint32_t free_units = count_free_units(n, j);
    uint32_t own = want->units < free_units ? want->units : free_units;
    if (!choose_units(c, j, want, own, set, devices)) {
        bitset_free(set);
        for (size_t i = 0; i < GRES_KINDS_MAX; i++)
            bitset_free(devices[i]);
        return err_set(err, -ERR_NODES_BUSY, "%s: %s: sockets", err_text(ERR_NODES_BUSY), n->name);
    }
    share_choose(n, j, want->units - own, set);
    struct alloc_node *a = add_alloc_node(j, n, set, &want->amounts);
    a->incarnation = mem_strdup(n->incarnation);
    take_gres(c, n, a, want, devices);
    take_from_node(c, n, j, a);
    resource_follow_node(c, j, n->index, 1);
    return 0;
}

/* Adds the units with the CPUs that unit number 'at' of 'was' CPUs had. Returns whether all of them
 * exist. */
static bool set_same_cpus(const struct node *n, struct bitset *set, uint64_t at, uint64_t was)
{
    uint64_t now = n->cpus_per_unit;
    assert(now);
    uint64_t first = at * was / now, end = (at * was + was + now - 1) / now;
    uint64_t places = spec_all_cpus(n) / now;
    bool all = end <= places;
    for (uint64_t i = first; i < end && i < places; i++) {
        if (spec_has_unit_at(n, i))
            bitset_set(set, spec_units_before(n, i));
        else
            all = false;
    }
    return all;
}

/* Replaces units that the node has lost by others, free units first. */
static void replace_lost(const struct node *n, struct bitset *set, uint32_t cpus)
{
    uint64_t wanted = ((uint64_t)cpus + n->cpus_per_unit - 1) / n->cpus_per_unit;
    uint64_t has = bitset_count(set);
    for (int busy = 0; busy < 2; busy++)
        for (uint32_t i = 0; i < n->units && has < wanted; i++)
            if (!bitset_test(set, i) && bitset_test(n->busy, i) == busy) {
                bitset_set(set, i);
                has++;
            }
}

/* Returns the units of a stored record; if it has none, the first units. Units may have changed, or
 * be fewer, since the record was written: a running job keeps its CPUs. */
static struct bitset *stored_units(struct node *n, const Pb__NodeAlloc *stored)
{
    struct bitset *set = bitset_new(n->units);
    uint64_t was = stored->has_cpus_per_core ? stored->cpus_per_core : n->cpus_per_unit;
    bool all = true;
    was = was && was <= stored->cpus ? was : n->cpus_per_unit;
    if (!stored->has_cores) {
        assert(n->cpus_per_unit);
        bitset_set_range(set, 0, ((size_t)stored->cpus + n->cpus_per_unit - 1) / n->cpus_per_unit);
    }
    for (size_t i = 0; i / 8 < stored->cores.len; i++)
        if (stored->cores.data[i / 8] >> (i % 8) & 1)
            all = set_same_cpus(n, set, i, was) && all;
    if (!all)
        replace_lost(n, set, stored->cpus);
    bool changed = !all || was != n->cpus_per_unit;
    n->squeezed = n->squeezed || (changed && bitset_intersects(n->busy, set));
    return set;
}

static void retake_gres(struct cluster *c, struct node *n, struct alloc_node *a,
                        const Pb__NodeAlloc *stored)
{
    for (size_t i = 0; i < stored->n_gres; i++) {
        struct gres_held held;
        if (!gres_held_unpack(c, n, stored->gres[i], &held))
            continue;
        vec_push(&a->gres, held);
        if (!a->released)
            gres_held_retake(n, &held);
    }
}

int alloc_retake(struct cluster *c, struct job *j, const Pb__NodeAlloc *stored)
{
    struct node *n = cluster_find_node(c, stored->node);
    if (!n)
        return -ERR_NO_NODE;
    struct amounts amounts;
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    amounts.member = amounts_bound(stored->member);
#include "cluster/resource/resource_kind.def"
    struct alloc_node *a = add_alloc_node(j, n, stored_units(n, stored), &amounts);
    a->cpus = stored->cpus;
    a->incarnation = mem_strdup(stored->incarnation);
    a->released = stored->released;
    a->parked = stored->parked;
    a->usage_seq = stored->usage_seq;
    a->touched = true;
    retake_gres(c, n, a, stored);
    if (a->released)
        return 0;
    take_from_node(c, n, j, a);
    resource_follow_node(c, j, n->index, 1);
    return 0;
}

static void forget_holder(struct node *n, uint32_t id)
{
    for (size_t i = 0; i < n->holders.len; i++)
        if (n->holders.data[i] == id) {
            vec_remove(&n->holders, i);
            return;
        }
}

void alloc_release(struct cluster *c, struct job *j, struct alloc_node *a)
{
    if (a->released)
        return;
    struct node *n = c->nodes.data[a->node];
    assert(n->jobs > 0 && amounts_are_within(&a->amounts, &n->used));
    a->released = true;
    if (!a->parked)
        park_give_units(c, n, j, a);
    amounts_subtract(&n->used, &a->amounts);
    vec_foreach (&a->gres, held)
        gres_held_release(n, held);
    n->jobs--;
    n->parked -= a->parked && !attempt_of(j)->completing;
    forget_holder(n, j->id);
    find_users(c, n);
    leaf_follow(c, j);
    n->completing -= attempt_of(j)->completing;
    n->completing_units -= attempt_of(j)->completing && !a->parked ? a->units : 0;
    c->pool.released++;
    n->squeezed = n->squeezed && n->jobs;
    if (n->jobs == 0 && n->actual.cpus) /* the registered CPUs may have changed meanwhile */
        node_count_units(c, n);
    pool_update(c, n);
    resource_follow_node(c, j, n->index, -1);
    job_touch(c, j);
}

void alloc_begin_completing(struct cluster *c, struct job *j)
{
    assert(!attempt_of(j)->completing); /* otherwise its nodes would be counted twice */
    attempt_make(j)->completing = true;
    vec_foreach (&attempt_of(j)->alloc, a) {
        struct node *n = c->nodes.data[a->node];
        n->completing += !a->released;
        n->completing_units += a->released || a->parked ? 0 : a->units;
        if (a->parked && !a->released) {
            n->parked--;
            pool_update(c, n);
        }
    }
}

void alloc_node_done(struct alloc_node *a)
{
    vec_foreach (&a->gres, held)
        gres_held_done(held);
    vec_done(&a->gres);
    bitset_free(a->busy);
    bitset_free(a->step_busy);
    free(a->incarnation);
}

void alloc_clear(struct cluster *c, struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a) {
        alloc_release(c, j, a);
        alloc_node_done(a);
    }
    if (j->attempt) {
        vec_clear(&j->attempt->alloc);
        j->attempt->host_at = 0;
    }
    job_forget_past(j);
}

/* The nodes of a step refer to indexes in the job's allocation. */
static void drop_of_step(struct step *s, uint32_t at)
{
    for (size_t i = s->nodes.len; i-- > 0;) {
        struct step_node *n = &s->nodes.data[i];
        if (n->at == at) {
            job_step_node_done(n);
            vec_remove(&s->nodes, i);
        } else if (n->at > at) {
            n->at--;
        }
    }
}

void alloc_drop(struct cluster *c, struct job *j, uint32_t at)
{
    struct alloc_node *a = &attempt_of(j)->alloc.data[at];
    alloc_release(c, j, a);
    alloc_node_done(a);
    vec_remove(&attempt_make(j)->alloc, at);
    if (j->attempt && j->attempt->host_at == at)
        j->attempt->host_at = 0;
    else if (j->attempt && j->attempt->host_at > at)
        j->attempt->host_at--;
    vec_foreach (&attempt_of(j)->steps, s)
        drop_of_step(s, at);
}

struct alloc_node *alloc_find(struct job *j, uint32_t node)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (a->node == node)
            return a;
    return NULL;
}

struct sum {                   /* of the jobs' shares of a node */
    struct bitset *busy, *own; /* own: of jobs that do not share */
    uint32_t *uses;            /* by unit */
    struct amounts amounts;
    uint32_t jobs, completing, completing_units, parked;
};

static bool is_holder(const struct node *n, const struct job *j)
{
    vec_foreach (&n->holders, id)
        if (*id == j->id)
            return true;
    return false;
}

static int check_job(const struct cluster *c, const struct job *j, struct sum *sums,
                     struct err *err)
{
    vec_foreach (&attempt_of(j)->alloc, a) {
        const struct node *n = c->nodes.data[a->node];
        struct sum *sum = &sums[a->node];
        if (a->released)
            continue;
        if (job_is_final(j) && !attempt_of(j)->completing)
            return err_set(err, -ERR_INTERNAL, "%s is held by job %u, which has ended", n->name,
                           j->id);
        if (j->state == PB__JOB_STATE__PENDING)
            return err_set(err, -ERR_INTERNAL, "%s is held by pending job %u", n->name, j->id);
        if (a->parked && j->state != PB__JOB_STATE__SUSPENDED && !attempt_of(j)->completing)
            return err_set(err, -ERR_INTERNAL, "%s: job %u runs without its cores", n->name, j->id);
        if (!job_is_final(j) && n->connected && !str_eq(a->incarnation, n->incarnation))
            return err_set(err, -ERR_INTERNAL, "%s was booted and is held by job %u of before",
                           n->name, j->id);
        amounts_add(&sum->amounts, &a->amounts);
        sum->jobs += is_holder(n, j);
        sum->completing += attempt_of(j)->completing;
        sum->parked += a->parked && !attempt_of(j)->completing;
        if (a->parked)
            continue;
        sum->completing_units += attempt_of(j)->completing ? a->units : 0;
        if (!j->want.shared)
            bitset_or(sum->own, a->busy);
        bitset_foreach (a->busy, i)
            if (sum->uses[i]++ && bitset_test(sum->own, (size_t)i) && !n->squeezed)
                return err_set(err, -ERR_INTERNAL, "%s: a core is allocated twice, to job %u",
                               n->name, j->id);
        bitset_or(sum->busy, a->busy);
    }
    return 0;
}

static bool uses_agree(const struct node *n, const struct sum *sum)
{
    for (uint32_t i = 0; n->use && i < n->units; i++)
        if (n->use[i].jobs != sum->uses[i])
            return false;
    return true;
}

static int check_node(const struct cluster *c, const struct node *n, const struct sum *sum,
                      struct err *err)
{
    if (!bitset_equal(sum->busy, n->busy) || !amounts_equal(&sum->amounts, &n->used) ||
        sum->jobs != n->jobs || n->holders.len != n->jobs || sum->completing != n->completing ||
        sum->completing_units != n->completing_units || sum->parked != n->parked ||
        n->free_units != n->units - bitset_count(n->busy) || !uses_agree(n, sum))
        return err_set(err, -ERR_INTERNAL, "%s: the ledger and the jobs disagree", n->name);
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    if (sum->amounts.member > n->amounts.member && !c->conf->schedule_actual) /* or has shrunk */  \
        return err_set(err, -ERR_INTERNAL, "%s: %s is over-allocated", n->name, word);
#include "cluster/resource/resource_kind.def"
    return 0;
}

int alloc_check(const struct cluster *c, struct err *err)
{
    struct sum *sums = mem_new_array(struct sum, c->nodes.len + 1);
    int rc = 0;
    vec_foreach (&c->nodes, n) {
        sums[(*n)->index].busy = bitset_new((*n)->units);
        sums[(*n)->index].own = bitset_new((*n)->units);
        sums[(*n)->index].uses = mem_new_array(uint32_t, (*n)->units + 1);
    }
    vec_foreach (&c->jobs, j)
        if (rc == 0)
            rc = check_job(c, *j, sums, err);
    vec_foreach (&c->nodes, n) {
        if (rc == 0)
            rc = check_node(c, *n, &sums[(*n)->index], err);
        bitset_free(sums[(*n)->index].busy);
        bitset_free(sums[(*n)->index].own);
        free(sums[(*n)->index].uses);
    }
    free(sums);
    return rc == 0 ? pool_check(c, err) : rc;
}

/* alloc_place() gives a job its share of each node, and alloc_release() takes it back. */
const struct resource_ops resource_share = {.check = alloc_check};
