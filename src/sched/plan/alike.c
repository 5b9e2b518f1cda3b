/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/alike.h"

#include "sched/select/resv.h"

#define ROOM_LEAST 256

static bool same_set(const struct bitset *a, const struct bitset *b)
{
    return a == b || (a && b && bitset_equal(a, b));
}

static bool same_sizes(const struct idset *a, const struct idset *b)
{
    if (!a || !b)
        return a == b;
    return a->runs.len == b->runs.len &&
           memcmp(a->runs.data, b->runs.data, a->runs.len * sizeof *a->runs.data) == 0;
}

bool alike_covers(const struct job *a, const struct job *b)
{
    const struct request *x = &a->want, *y = &b->want;
    return a->part == b->part && x->min_nodes == y->min_nodes && x->max_nodes == y->max_nodes &&
           x->tasks == y->tasks && x->cpus_per_task == y->cpus_per_task &&
           x->ntasks_per_node == y->ntasks_per_node && x->min_cpus == y->min_cpus &&
           x->mem_node_mib == y->mem_node_mib && x->mem_cpu_mib == y->mem_cpu_mib &&
           x->tmp_mib == y->tmp_mib && x->exclusive == y->exclusive && x->shared == y->shared &&
           x->tasks_given == y->tasks_given && x->contiguous == y->contiguous &&
           x->pack == y->pack && x->overcommit == y->overcommit && !x->switches && !y->switches &&
           x->spread == y->spread && x->segment == y->segment &&
           x->segments_apart == y->segments_apart && x->segments_together == y->segments_together &&
           a->limit_sec >= b->limit_sec && x->user_alone == y->user_alone &&
           x->topo_alone == y->topo_alone && (!x->user_alone || a->uid == b->uid) &&
           x->sockets == y->sockets && x->cores == y->cores && x->threads == y->threads &&
           x->tasks_per_socket == y->tasks_per_socket && x->tasks_per_core == y->tasks_per_core &&
           x->spec == y->spec && x->spec_in_threads == y->spec_in_threads &&
           x->cpus_per_gpu == y->cpus_per_gpu && x->tasks_per_gpu == y->tasks_per_gpu &&
           x->mem_gpu_mib == y->mem_gpu_mib && gres_wants_equal(&x->gres, &y->gres) &&
           x->gres_binding == y->gres_binding && str_eq(x->features, y->features) &&
           str_eq(x->prefer, y->prefer) && x->good_nodes == y->good_nodes &&
           same_sizes(x->sizes, y->sizes) && same_set(x->req, y->req) && same_set(x->exc, y->exc) &&
           resv_same_places(a, b);
}

static bool same_licenses(const struct license_needs *a, const struct license_needs *b)
{
    bool same = a->list.len == b->list.len && a->any == b->any && a->chosen == b->chosen;
    for (uint32_t i = 0; same && i < a->list.len; i++)
        same = a->list.data[i].at == b->list.data[i].at && a->list.data[i].at >= 0 &&
               a->list.data[i].count == b->list.data[i].count;
    return same;
}

/* Mixes fields that differ between most requests; requests that cover each other have equal
 * hashes. */
static uint64_t mix_hash(uint64_t hash, uint64_t with)
{
    hash = (hash ^ with) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

uint64_t alike_hash(const struct job *j, bool of_user)
{
    const struct request *r = &j->want;
    uint64_t hash = mix_hash((uint64_t)r->min_nodes << 32 | r->max_nodes, r->tasks);
    hash = mix_hash(hash, (uint64_t)r->cpus_per_task << 32 | r->ntasks_per_node);
    hash = mix_hash(hash, (uint64_t)r->min_cpus << 32 | r->exclusive);
    hash = mix_hash(mix_hash(hash, r->mem_node_mib), r->mem_cpu_mib);
    if (r->features)
        hash = mix_hash(hash, str_hash(r->features));
    return of_user || r->user_alone ? mix_hash(hash, j->uid) : hash;
}

/* Adds the licences if the set distinguishes them. */
static uint64_t add_licenses(const struct alike *set, const struct job *j, uint64_t hash)
{
    if (set->by_licenses)
        vec_foreach (&j->want.licenses.list, need)
            hash = mix_hash(hash, (uint64_t)(uint32_t)need->at << 32 | need->count);
    return hash;
}

static struct alike_entry *find_entry(const struct alike *set, const struct job *j, bool of_user,
                                      uint64_t hash, bool covered)
{
    for (uint32_t at = set->room ? set->first[hash & (set->room - 1)] : 0; at;
         at = set->list.data[at - 1].next) {
        struct alike_entry *e = &set->list.data[at - 1];
        const struct job *a = covered ? e->job : j, *b = covered ? j : e->job;
        if (e->hash == hash && alike_covers(a, b) && (!of_user || a->uid == b->uid) &&
            (!set->by_licenses || same_licenses(&a->want.licenses, &b->want.licenses)))
            return e;
    }
    return NULL;
}

bool alike_has(const struct alike *set, const struct job *j, bool of_user, uint64_t hash)
{
    return set->list.len && find_entry(set, j, of_user, add_licenses(set, j, hash), false);
}

static void link_entry(struct alike *set, size_t at)
{
    struct alike_entry *e = &set->list.data[at];
    uint32_t *first = &set->first[e->hash & (set->room - 1)];
    e->next = *first;
    *first = (uint32_t)at + 1;
}

static void grow_table(struct alike *set)
{
    set->room = set->room ? set->room * 2 : ROOM_LEAST;
    free(set->first);
    set->first = mem_new_array(uint32_t, set->room);
    for (size_t i = 0; i < set->list.len; i++)
        link_entry(set, i);
}

void alike_add(struct alike *set, const struct job *j, bool of_user, uint64_t hash)
{
    hash = add_licenses(set, j, hash);
    struct alike_entry *e = find_entry(set, j, of_user, hash, true);
    if (e) {
        e->job = j;
        return;
    }
    if (set->list.len == set->room)
        grow_table(set);
    vec_push(&set->list, ((struct alike_entry){.job = j, .hash = hash}));
    link_entry(set, set->list.len - 1);
}

void alike_clear(struct alike *set)
{
    vec_clear(&set->list);
    if (set->room)
        memset(set->first, 0, set->room * sizeof *set->first);
}

void alike_done(struct alike *set)
{
    vec_done(&set->list);
    free(set->first);
    *set = (struct alike){0};
}
