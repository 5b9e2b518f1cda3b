/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index of dependencies, so that the end of a job reaches only its dependents; and the jobs
 * with the same name, for singletons. */
#include <string.h>

#include "base/pb.h"
#include "cluster/cluster.h"

#define NAMED_WAITS (UINT64_C(1) << 32) /* behind running jobs */

static uint64_t tie_of(const struct job *j, size_t item)
{
    return (uint64_t)j->id << 32 | item;
}

/* Items for the elements of an array are adjacent, behind the items for the whole array. */
static int64_t key_of(uint32_t job_id, uint32_t element)
{
    return (int64_t)((uint64_t)job_id << 32 | (element == DEPEND_WHOLE ? 0 : element + 1));
}

static uint32_t index_part(const struct depend_item *item)
{
    return depend_is_parted(item) ? DEPEND_CORR : item->element;
}

static void take_out(struct cluster *c, struct depend_item *item)
{
    if (item->link.in)
        order_remove(item->owed ? &c->waiting.owed : &c->waiting.dependents, &item->link);
    item->owed = false;
}

static void unlink_all(struct cluster *c, struct job *j)
{
    if (!j->waits.on)
        return;
    vec_foreach (&j->waits.on->items, item)
        take_out(c, item);
    c->waiting.looks += j->waits.on->items.len;
}

void depend_reindex_item(struct cluster *c, struct job *j, struct depend_item *item, bool owed)
{
    bool open = item->state == DEPEND_UNFULFILLED ||
                (item->kind == DEPEND_EXPAND && item->state == DEPEND_FULFILLED);
    size_t at = (size_t)(item - j->waits.on->items.data);
    bool pending = j->state == PB__JOB_STATE__PENDING;
    c->waiting.looks++;
    if (item->link.in && open && pending && !item->owed)
        return;
    take_out(c, item);
    item->owed = !open && owed;
    if (pending && item->kind != DEPEND_SINGLETON && (open || owed))
        order_insert(owed && !open ? &c->waiting.owed : &c->waiting.dependents, &item->link,
                     key_of(item->job_id, index_part(item)), tie_of(j, at));
}

void depend_reindex(struct cluster *c, struct job *j)
{
    for (size_t i = 0; j->waits.on && i < j->waits.on->items.len; i++)
        depend_reindex_item(c, j, &j->waits.on->items.data[i], j->waits.on->items.data[i].owed);
}

void depend_relink(struct cluster *c, struct job *j)
{
    unlink_all(c, j);
    depend_reindex(c, j);
}

void depend_written(struct cluster *c, struct job *j)
{
    j->waits.late = false;
    if (!j->waits.on)
        return;
    vec_foreach (&j->waits.on->items, item)
        if (item->owed)
            take_out(c, item);
    c->waiting.looks += j->waits.on->items.len;
}

bool depend_is_owed(const struct cluster *c, uint32_t on)
{
    const struct order_link *l = order_after(&c->waiting.owed, key_of(on, DEPEND_WHOLE), 0);
    return l && (uint64_t)l->key >> 32 == on;
}

bool depend_next_element(const struct cluster *c, uint32_t on, uint32_t *element)
{
    const struct order_link *l =
        order_after(&c->waiting.dependents, key_of(on, *element), UINT64_MAX);
    if (!l || (uint64_t)l->key >> 32 != on)
        return false;
    *element = (uint32_t)((uint64_t)l->key & UINT32_MAX) - 1;
    return true;
}

struct depend_item *depend_next_item(const struct cluster *c, uint32_t on, uint32_t element,
                                     uint64_t *cursor, struct job **dependent)
{
    int64_t key = key_of(on, element);
    struct order_link *l = order_after(&c->waiting.dependents, key, *cursor);
    if (!l || l->key != key)
        return NULL;
    *cursor = l->tie;
    *dependent = cluster_find_job(c, (uint32_t)(l->tie >> 32));
    return order_item(l, struct depend_item, link);
}

bool depend_is_awaited(const struct cluster *c, uint32_t on, uint32_t element)
{
    int64_t key = key_of(on, element);
    const struct order_link *l = order_after(&c->waiting.dependents, key, 0);
    return l && l->key == key;
}

/* Whether the job has ended, will not be requeued, its nodes are clean, and its burst buffer is
 * staged out. The nodes of a leader that has just ended are not yet being released when its
 * components end. */
static bool is_settled(const struct job *j)
{
    return job_is_final(j) && !attempt_of(j)->completing && !attempt_of(j)->requeue_after &&
           !job_nodes_left(j) && !burst_stages_out(j->burst);
}

/* For a leader: it is over when all components are over, and successful if all of them are. */
static void join_components(const struct job *leader, struct depend_outcome *o)
{
    for (uint32_t i = 1; i < job_set_count(leader); i++) {
        const struct job *j = job_set_component(leader, i);
        if (!j)
            continue;
        o->over = o->over && is_settled(j);
        if (o->state == PB__JOB_STATE__COMPLETED)
            o->state = j->state;
    }
}

struct depend_outcome depend_outcome_of(const struct job *j)
{
    struct depend_outcome o = {
        .job_id = j->id,
        .begun = j->state != PB__JOB_STATE__PENDING,
        .over = is_settled(j),
        .state = j->state,
        .begun_at = attempt_of(j)->start_at,
    };
    if (j->set && job_set_is_leader(j))
        join_components(j, &o);
    return o;
}

struct depend_outcome depend_outcome_of_array(const struct array *a)
{
    struct depend_outcome o = {
        .job_id = a->id,
        .begun = !a->pending,
        .over = !a->pending && !a->running,
        .state = a->ended_badly ? PB__JOB_STATE__FAILED : PB__JOB_STATE__COMPLETED,
    };
    for (const struct job *j = array_first(a); j && o.begun; j = array_after(j)) {
        o.over = o.over && !attempt_of(j)->completing && !attempt_of(j)->requeue_after;
        o.begun_at = attempt_of(j)->start_at > o.begun_at ? attempt_of(j)->start_at : o.begun_at;
    }
    return o;
}

bool depend_find_outcome(const struct cluster *c, uint32_t job_id, struct depend_outcome *out)
{
    const struct array *a = array_find(c, job_id);
    const struct job *j = a ? array_first(a) : cluster_find_job(c, job_id);
    if (j)
        *out = a ? depend_outcome_of_array(a) : depend_outcome_of(j);
    return j != NULL;
}

struct depend_outcome depend_outcome_of_element(const struct job *j, uint32_t element)
{
    struct depend_outcome o = depend_outcome_of(j);
    o.job_id = j->array->id;
    o.of_element = true;
    o.element = element;
    return o;
}

bool depend_find_item(const struct cluster *c, const struct depend_item *item,
                      struct depend_outcome *out)
{
    if (item->element == DEPEND_WHOLE)
        return depend_find_outcome(c, item->job_id, out);
    const struct array *a = array_find(c, item->job_id);
    const struct job *j = a ? array_element(c, a, item->element) : NULL;
    if (j)
        *out = depend_outcome_of_element(j, item->element);
    else if (!a || !idset_has(&a->all, item->element) || a->missing)
        return false;
    else
        *out = (struct depend_outcome){.job_id = item->job_id,
                                       .of_element = true,
                                       .element = item->element,
                                       .begun = true,
                                       .over = true,
                                       .state = idset_has(&a->gone_failed, item->element)
                                                    ? PB__JOB_STATE__FAILED
                                                    : PB__JOB_STATE__COMPLETED};
    return true;
}

static int64_t name_key(uint32_t uid, const char *name)
{
    return (int64_t)((str_hash(name) ^ uid) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Reads the name from the job's record. */
static const char *get_job_name(struct job *j)
{
    if (j->waits.name)
        return j->waits.name->text;
    const ProtobufCMessageDescriptor *type = &pb__job_spec__descriptor;
    _cleanup_str_ struct str picked = STR_INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct pb_fields name = {0};
    pb_fields_add(&name, type, "name");
    pb_pick_fields(j->spec.data, j->spec.len, &name, &picked);
    const Pb__JobSpec *spec = arena_unpack(&arena, type, picked.data, picked.len);
    const char *text = spec && spec->name ? spec->name : "";
    size_t size = strlen(text) + 1;
    j->waits.name = mem_alloc(sizeof *j->waits.name + size);
    j->waits.name->job_id = j->id;
    memcpy(j->waits.name->text, text, size);
    return j->waits.name->text;
}

static bool is_over(const struct job *j)
{
    return job_is_final(j) && !attempt_of(j)->completing;
}

void depend_place_name(struct cluster *c, struct job *j)
{
    if (!c->waiting.names || !j->spec.len) /* it is placed when it has its record */
        return;
    int64_t key = name_key(j->uid, get_job_name(j));
    uint64_t tie = j->id | (j->state == PB__JOB_STATE__PENDING ? NAMED_WAITS : 0);
    if (is_over(j))
        order_remove(&c->waiting.named, &j->waits.name->link);
    else
        order_move(&c->waiting.named, &j->waits.name->link, key, tie);
}

static void forget_name(struct cluster *c, struct job *j)
{
    if (j->waits.name)
        order_remove(&c->waiting.named, &j->waits.name->link);
    free(take_ptr(j->waits.name));
}

void depend_replace_name(struct cluster *c, struct job *j)
{
    forget_name(c, j);
    depend_place_name(c, j);
}

static void place_all_names(struct cluster *c)
{
    c->waiting.names = true;
    vec_foreach (&c->jobs, j)
        if (!is_over(*j))
            depend_place_name(c, *j);
}

/* Adds 'more' (may be negative) to the user's number of items. */
static void count_items_of_user(struct cluster *c, uint32_t uid, int64_t more)
{
    int64_t count = (int64_t)depend_count_of_user(c, uid) + more;
    c->waiting.items += (uint64_t)more;
    if (count > 0)
        idmap_set(&c->waiting.of_user, uid, (uint32_t)count);
    else
        idmap_remove(&c->waiting.of_user, uid);
}

uint32_t depend_count_of_user(const struct cluster *c, uint32_t uid)
{
    uint32_t count = 0;
    return idmap_get(&c->waiting.of_user, uid, &count) ? count : 0;
}

static void drop_items(struct cluster *c, struct job *j)
{
    if (!j->waits.on)
        return;
    unlink_all(c, j);
    count_items_of_user(c, j->uid, -(int64_t)j->waits.on->items.len);
    depend_free(take_ptr(j->waits.on));
}

void depend_set(struct cluster *c, struct job *j, struct depend *d)
{
    drop_items(c, j);
    free(take_ptr(j->waits.kept));
    j->waits.late = false;
    if (!d) {
        free(take_ptr(j->waits.shown));
        j->waits.never = j->waits.partly = false;
        return;
    }
    j->waits.on = d;
    j->waits.stale = true;
    count_items_of_user(c, j->uid, (int64_t)d->items.len);
    if (!c->waiting.names && depend_is_singleton(d))
        place_all_names(c);
    vec_foreach (&d->items, item)
        item->of_array = item->of_array || array_find(c, item->job_id);
    depend_reindex(c, j);
    depend_corr_fit(c, j);
}

void depend_shelve(struct cluster *c, struct job *j)
{
    struct str states = STR_INIT;
    if (!j->waits.on || j->waits.on->parted)
        return;
    depend_pack(j->waits.on, &states);
    drop_items(c, j);
    j->waits.late = false;
    free(j->waits.kept);
    j->waits.kept = str_take(&states);
}

/* Returns the first of these jobs behind 'tie'; jobs of other names may have the same key. */
static struct job *named_after(const struct cluster *c, uint32_t uid, const char *name,
                               uint64_t tie)
{
    int64_t key = name_key(uid, name);
    const struct order_link *l = order_after(&c->waiting.named, key, tie);
    for (; l && l->key == key; l = order_next(l)) {
        struct depend_name *other = order_item((struct order_link *)l, struct depend_name, link);
        struct job *j = cluster_find_job(c, other->job_id);
        if (j->uid == uid && str_eq(other->text, name))
            return j;
    }
    return NULL;
}

struct job *depend_first_named(const struct cluster *c, uint32_t uid, const char *name)
{
    return c->waiting.names ? named_after(c, uid, name ? name : "", 0) : NULL;
}

struct job *depend_first_like(const struct cluster *c, struct job *j)
{
    return c->waiting.names ? named_after(c, j->uid, get_job_name(j), 0) : NULL;
}

bool depend_is_first_like(const struct cluster *c, struct job *j)
{
    const struct job *first = depend_first_like(c, j);
    return first == j || (first && j->set && first->set == j->set);
}

struct job *depend_next_like(const struct cluster *c, struct job *j)
{
    return c->waiting.names ? named_after(c, j->uid, get_job_name(j), NAMED_WAITS) : NULL;
}

void depend_leave(struct cluster *c, struct job *j)
{
    depend_set(c, j, NULL);
    forget_name(c, j);
}
