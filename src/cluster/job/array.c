/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/pb.h"
#include "cluster/cluster.h"

int array_parse(const char *text, uint32_t size, struct idset *tasks, uint32_t *throttle,
                struct err *err)
{
    const char *percent = strchr(text, '%');
    _cleanup_free_ char *list = percent ? mem_strndup(text, (size_t)(percent - text)) : NULL;
    struct err why = {0};
    long long most = 0;
    if (size == 0)
        return err_set(err, -ERR_ARRAY, "%s: --array: MaxArraySize=0 switches job arrays off",
                       err_text(ERR_ARRAY));
    if (percent && (!isdigit((unsigned char)percent[1]) ||
                    str_parse_i64(percent + 1, 0, UINT32_MAX - 1, &most) != 0))
        return err_set(err, -ERR_ARRAY,
                       "%s: --array: \"%.20s\": behind %% belongs how many may run at a time, 0 "
                       "for all",
                       err_text(ERR_ARRAY), percent);
    if (idset_parse(list ? list : text, size, tasks, &why) != 0)
        return err_set(err, -ERR_ARRAY, "%s: --array: %s (MaxArraySize=%u)", err_text(ERR_ARRAY),
                       why.text, size);
    *throttle = (uint32_t)most;
    return 0;
}

/* --- queries ------------------------------------------------------------------------------------
 */

static size_t find_position(const struct cluster *c, uint32_t id)
{
    return vec_lower(&c->arrays, a, (*a)->id < id);
}

struct array *array_find(const struct cluster *c, uint32_t id)
{
    size_t at = find_position(c, id);
    return at < c->arrays.len && c->arrays.data[at]->id == id ? c->arrays.data[at] : NULL;
}

struct job *array_element(const struct cluster *c, const struct array *a, uint32_t task)
{
    uint32_t id;
    if (idmap_get(&a->singles, task, &id))
        return cluster_find_job(c, id);
    vec_foreach (&a->groups, group) {
        struct job *j = cluster_find_job(c, *group);
        if (j && idset_has(&j->tasks, task))
            return j;
    }
    return NULL;
}

struct array_record { /* the membership of a job in an array */
    struct order_link link;
    struct job *job;
};

static struct job *record_job(struct order_link *l)
{
    struct array_record *r = order_item(l, struct array_record, link);
    return r ? r->job : NULL;
}

struct job *array_first(const struct array *a)
{
    return record_job(order_first(&a->records));
}

struct job *array_after(const struct job *j)
{
    return j ? record_job(order_next(&j->of_array->link)) : NULL;
}

bool array_is_over(const struct array *a)
{
    if (a->pending || a->running)
        return false;
    for (const struct job *j = array_first(a); j; j = array_after(j))
        if (attempt_of(j)->requeue_after)
            return false;
    return true;
}

int array_worst_exit(const struct array *a)
{
    int worst = a->gone_exit;
    for (const struct job *j = array_first(a); j; j = array_after(j))
        if (attempt_of(j)->exit_status > worst)
            worst = attempt_of(j)->exit_status;
    return worst;
}

uint32_t array_weight(const struct job *j)
{
    return j->tasks.count ? j->tasks.count : 1;
}

uint32_t array_to_come(const struct job *j)
{
    return j->state == PB__JOB_STATE__PENDING ? array_weight(j) - 1 : 0;
}

bool array_record_has(const struct job *j, uint32_t task)
{
    return j->tasks.count ? idset_has(&j->tasks, task) : j->task == task;
}

/* --- counts -------------------------------------------------------------------------------------
 */

void array_count(struct array *a, const struct job *j, int by)
{
    uint32_t n = (uint32_t)by * array_weight(j);
    switch (j->state) {
    case PB__JOB_STATE__PENDING:
        a->pending += n;
        break;
    case PB__JOB_STATE__RUNNING:
    case PB__JOB_STATE__SUSPENDED:
        a->running += n;
        break;
    case PB__JOB_STATE__COMPLETED:
        a->ended_well += n;
        break;
    default:
        a->ended_badly += n;
        break;
    }
}

static void add_tasks(struct idset *to, const struct job *j)
{
    if (j->tasks.count)
        idset_unite(to, &j->tasks);
    else
        idset_add(to, j->task);
}

static void forget_group(struct array *a, uint32_t id)
{
    for (size_t i = 0; i < a->groups.len; i++)
        if (a->groups.data[i] == id) {
            vec_remove(&a->groups, i);
            return;
        }
}

/* Adds the record, which has its elements, to the lists of its array. */
static void add_record(struct cluster *c, struct array *a, struct job *j)
{
    j->array = a;
    j->of_array = mem_new(struct array_record);
    j->of_array->job = j;
    order_insert(&a->records, &j->of_array->link, 0, j->id);
    if (j->tasks.count)
        vec_push(&a->groups, j->id);
    else
        idmap_set(&a->singles, j->task, j->id);
    array_count(a, j, 1);
    c->folded += array_to_come(j);
}

static void remove_record(struct cluster *c, struct job *j)
{
    struct array *a = j->array;
    order_remove(&a->records, &j->of_array->link);
    free(take_ptr(j->of_array));
    if (j->tasks.count)
        forget_group(a, j->id);
    else
        idmap_remove(&a->singles, j->task);
    array_count(a, j, -1);
    c->folded -= array_to_come(j);
    j->array = NULL;
}

/* --- life ---------------------------------------------------------------------------------------
 */

static struct array *add_array(struct cluster *c, uint32_t id)
{
    size_t at = find_position(c, id);
    struct array *a = mem_new(struct array);
    a->id = id;
    vec_push(&c->arrays, a);
    for (size_t i = c->arrays.len - 1; i > at; i--)
        c->arrays.data[i] = c->arrays.data[i - 1];
    c->arrays.data[at] = a;
    return a;
}

static void array_free(struct array *a)
{
    idset_done(&a->all);
    idset_done(&a->gone_failed);
    idmap_done(&a->singles);
    vec_done(&a->groups);
    vec_done(&a->end_calls);
    free(a);
}

static void drop_array(struct cluster *c, struct array *a)
{
    vec_remove(&c->arrays, find_position(c, a->id));
    array_free(a);
}

void array_free_all(struct cluster *c)
{
    vec_foreach (&c->arrays, a)
        array_free(*a);
    vec_done(&c->arrays);
}

static void mark_changed(struct cluster *c, struct array *a)
{
    if (!a->changed)
        vec_push(&c->dirty_arrays, a->id);
    a->changed = true;
}

void array_make(struct cluster *c, struct job *j, struct idset *all, uint32_t throttle)
{
    struct array *a = add_array(c, j->id);
    idset_move(&a->all, all);
    a->throttle = throttle;
    idset_copy(&j->tasks, &a->all);
    j->task = ARRAY_NO_TASK;
    if (j->tasks.count == 1) {
        j->task = idset_first(&j->tasks);
        idset_done(&j->tasks);
    }
    add_record(c, a, j);
}

static bool has_elements_of(const struct cluster *c, const struct array *a, const struct job *j)
{
    struct idset mine = {0}, both = {0};
    if (!j->tasks.count)
        return array_element(c, a, j->task) != NULL;
    idset_copy(&mine, &j->tasks);
    vec_foreach (&a->groups, group)
        idset_split(&mine, &cluster_find_job(c, *group)->tasks, &both);
    bool overlap = both.count > 0;
    for (const struct job *k = array_first(a); k && !overlap; k = array_after(k))
        overlap = !k->tasks.count && idset_has(&mine, k->task);
    idset_done(&mine);
    idset_done(&both);
    return overlap;
}

static bool has_all(const struct array *a, const struct job *j)
{
    struct idset rest = {0}, both = {0};
    if (!j->tasks.count)
        return idset_has(&a->all, j->task);
    idset_copy(&rest, &j->tasks);
    idset_split(&rest, &a->all, &both);
    bool all = rest.count == 0;
    idset_done(&rest);
    idset_done(&both);
    return all;
}

int array_join(struct cluster *c, struct job *j, uint32_t id, const char *all, struct err *err)
{
    struct array *a = array_find(c, id);
    uint32_t throttle = 0;
    a = a ? a : add_array(c, id);
    const char *why = NULL;
    if (!a->all.count && (!all || array_parse(all, ARRAY_SIZE_MAX, &a->all, &throttle, NULL) != 0))
        why = "does not say which elements it has";
    else if (!has_all(a, j))
        why = "does not have the element";
    else if (has_elements_of(c, a, j))
        why = "has an element in two records";
    if (throttle && !a->stored)
        a->throttle = throttle;
    if (!why) {
        add_record(c, a, j);
        return 0;
    }
    if (!a->records.count && !a->stored)
        drop_array(c, a);
    return err_set(err, -ERR_STORE_DAMAGED, "job %u: its array %u %s", j->id, id, why);
}

void array_leave(struct cluster *c, struct job *j)
{
    struct array *a = j->array;
    if (!a)
        return;
    uint32_t n = array_weight(j);
    bool ended = job_is_final(j), well = j->state == PB__JOB_STATE__COMPLETED;
    remove_record(c, j);
    if (!a->records.count) {
        drop_array(c, a);
        return;
    }
    if (!ended)
        return;
    a->ended_well += well ? n : 0;
    a->gone_well += well ? n : 0;
    a->ended_badly += well ? 0 : n;
    a->gone_badly += well ? 0 : n;
    if (!well)
        add_tasks(&a->gone_failed, j);
    a->gone_exit =
        attempt_of(j)->exit_status > a->gone_exit ? attempt_of(j)->exit_status : a->gone_exit;
    mark_changed(c, a);
}

uint32_t array_drop_empty(struct cluster *c)
{
    for (size_t i = 0; i < c->arrays.len; i++) {
        uint32_t id = c->arrays.data[i]->id;
        if (c->arrays.data[i]->records.count)
            continue;
        drop_array(c, c->arrays.data[i]);
        return id;
    }
    return 0;
}

void array_set_begun(struct cluster *c, struct array *a)
{
    a->begun = true;
    mark_changed(c, a);
}

void array_set_throttle(struct cluster *c, struct array *a, uint32_t throttle)
{
    a->throttle = throttle;
    mark_changed(c, a);
}

/* --- splitting ----------------------------------------------------------------------------------
 */

/* Replaces its elements, and keeps the counts up to date. */
static void set_tasks(struct cluster *c, struct job *j, struct idset *tasks)
{
    struct array *a = j->array;
    remove_record(c, j);
    idset_move(&j->tasks, tasks);
    array_settle(j);
    add_record(c, a, j);
    job_touch(c, j);
}

void array_settle(struct job *j)
{
    if (j->tasks.count != 1)
        return;
    j->task = idset_first(&j->tasks);
    idset_done(&j->tasks);
}

static void swap_tasks(struct job *j, struct idset *tasks, uint32_t *task)
{
    struct idset own = j->tasks;
    uint32_t one = j->task;
    j->tasks = *tasks;
    j->task = *task;
    *tasks = own;
    *task = one;
}

/* Packs the record of 'j' as if it had these elements. */
static void pack_with(struct cluster *c, struct job *j, struct idset *tasks, struct str *out)
{
    uint32_t task = tasks->count == 1 ? idset_first(tasks) : ARRAY_NO_TASK;
    struct idset has = {0};
    if (tasks->count > 1)
        idset_move(&has, tasks);
    swap_tasks(j, &has, &task);
    job_pack_live(c, j);
    job_pack_record(j, out);
    swap_tasks(j, &has, &task);
    if (has.count)
        idset_move(tasks, &has);
}

/* Creates a copy of the record of 'j' with other elements. */
static struct job *copy_record(struct cluster *c, struct job *j, uint32_t id, struct idset *tasks,
                               struct err *err)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str packed = STR_INIT;
    arena_init(&arena, 0);
    pack_with(c, j, tasks, &packed);
    Pb__JobRecord *r = arena_unpack(&arena, &pb__job_record__descriptor, packed.data, packed.len);
    r->live->job_id = id;
    struct job *e = cluster_add_job(c, id);
    if (e && job_restore(c, e, r, err) != 0) {
        cluster_remove_job(c, e);
        return NULL;
    }
    if (e) {
        e->priority = j->priority;
        e->is_unfit = j->is_unfit;
        job_touch(c, e);
    }
    return e;
}

struct job *array_split(struct cluster *c, struct job *j, const struct idset *wanted, uint32_t id,
                        struct err *err)
{
    struct array *a = j->array;
    struct idset both = {0};
    remove_record(c, j);
    idset_split(&j->tasks, wanted, &both);
    array_settle(j);
    add_record(c, a, j);
    job_touch(c, j);
    struct job *e = copy_record(c, j, id, &both, err);
    if (e) {
        depend_corr_deal(c, j, e);
    } else {
        add_tasks(&both, j);
        set_tasks(c, j, &both);
    }
    idset_done(&both);
    return e;
}

void array_merge(struct cluster *c, struct job *j, struct job *from)
{
    struct idset all = {0};
    add_tasks(&all, j);
    add_tasks(&all, from);
    depend_corr_gather(j, from);
    remove_record(c, from); /* not a purge: the split is undone */
    cluster_remove_job(c, from);
    set_tasks(c, j, &all);
    if (j->waits.on)
        depend_corr_fit(c, j);
    idset_done(&all);
}

/* --- its record ---------------------------------------------------------------------------------
 */

void array_pack(const struct array *a, struct str *out)
{
    Pb__ArrayRecord m = PB__ARRAY_RECORD__INIT;
    _cleanup_str_ struct str failed = STR_INIT;
    m.job_id = a->id;
    m.has_throttle = m.has_gone_well = m.has_gone_badly = m.has_gone_exit = m.has_begun = true;
    m.throttle = a->throttle;
    m.gone_well = a->gone_well;
    m.gone_badly = a->gone_badly;
    m.gone_exit = a->gone_exit;
    m.begun = a->begun;
    idset_format(&a->gone_failed, &failed);
    m.gone_failed = failed.len ? (char *)str_cstr(&failed) : NULL;
    pb_pack(&m.base, out);
}

int array_restore(struct cluster *c, uint64_t id, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__ArrayRecord *m = arena_unpack(&arena, &pb__array_record__descriptor, data, len);
    if (!m || m->job_id != id)
        return err_set(err, -ERR_STORE_DAMAGED, "job array %llu: its record does not decode",
                       (unsigned long long)id);
    if (m->base.n_unknown_fields)
        return err_set(err, -ERR_VERSION,
                       "job array %u: its record was written by a newer version, with what this "
                       "one does not know and could not keep",
                       m->job_id);
    struct idset failed = {0};
    if (m->gone_failed && idset_parse(m->gone_failed, ARRAY_SIZE_MAX, &failed, NULL) != 0)
        return err_set(err, -ERR_STORE_DAMAGED, "job array %u: which elements failed is unreadable",
                       m->job_id);
    struct array *a = array_find(c, m->job_id);
    a = a ? a : add_array(c, m->job_id);
    idset_move(&a->gone_failed, &failed);
    a->stored = true;
    a->throttle = m->throttle;
    a->gone_well = m->gone_well;
    a->gone_badly = m->gone_badly;
    a->gone_exit = m->gone_exit;
    a->begun = m->begun;
    a->ended_well += m->gone_well;
    a->ended_badly += m->gone_badly;
    return 0;
}

void array_carry(struct cluster *to, const struct cluster *from)
{
    vec_foreach (&from->arrays, at) {
        struct array *a = *at, *b = add_array(to, a->id);
        idset_copy(&b->all, &a->all);
        b->throttle = a->throttle;
        b->stored = a->stored;
        if (a->changed)
            mark_changed(to, b);
        b->ended_well = b->gone_well = a->gone_well;
        b->ended_badly = b->gone_badly = a->gone_badly;
        b->gone_exit = a->gone_exit;
        idset_copy(&b->gone_failed, &a->gone_failed);
        b->begun = a->begun;
        b->missing = a->missing;
        vec_foreach (&a->end_calls, call)
            vec_push(&b->end_calls, *call);
    }
}

/* --- check ---------------------------------------------------------------------------------------
 * Whether every element of an array is in exactly one record, and its counts are right. */

static uint32_t count_known_elements(const struct array *a)
{
    uint32_t n = a->gone_well + a->gone_badly;
    for (const struct job *j = array_first(a); j; j = array_after(j))
        n += array_weight(j);
    return n;
}

void array_note_missing(struct cluster *c)
{
    vec_foreach (&c->arrays, at) {
        uint32_t n = count_known_elements(*at);
        (*at)->missing = n < (*at)->all.count ? (*at)->all.count - n : 0;
    }
}

static int check_counts(const struct array *a, struct err *err)
{
    struct array sums = {.ended_well = a->gone_well, .ended_badly = a->gone_badly};
    for (const struct job *j = array_first(a); j; j = array_after(j))
        array_count(&sums, j, 1);
    if (sums.pending != a->pending || sums.running != a->running ||
        sums.ended_well != a->ended_well || sums.ended_badly != a->ended_badly)
        return err_set(err, -ERR_INTERNAL, "array %u: its counts are wrong", a->id);
    if (count_known_elements(a) + a->missing != a->all.count)
        return err_set(err, -ERR_INTERNAL, "array %u: it has %u elements and knows %u", a->id,
                       a->all.count, count_known_elements(a));
    return 0;
}

/* Whether every record can be found by each of its elements. */
static int check_records(const struct cluster *c, const struct array *a, struct err *err)
{
    struct idset seen = {0};
    int rc = 0;
    for (const struct job *j = array_first(a); rc == 0 && j; j = array_after(j)) {
        struct idset mine = {0}, twice = {0};
        idset_copy(&mine, &j->tasks);
        if (!j->tasks.count)
            idset_add(&mine, j->task);
        uint32_t first = idset_first(&mine);
        if (j->array != a || j->tasks.count == 1 || array_element(c, a, first) != j)
            rc = err_set(err, -ERR_INTERNAL, "job %u: its element %u of array %u is not found",
                         j->id, first, a->id);
        idset_split(&mine, &seen, &twice);
        if (twice.count)
            rc = err_set(err, -ERR_INTERNAL, "array %u: element %u has two records", a->id,
                         idset_first(&twice));
        idset_unite(&seen, &mine);
        idset_done(&mine);
        idset_done(&twice);
    }
    idset_done(&seen);
    return rc;
}

int array_check(const struct cluster *c, struct err *err)
{
    size_t folded = 0;
    int rc = 0;
    vec_foreach (&c->arrays, at) {
        rc = rc ? rc : check_counts(*at, err);
        rc = rc ? rc : check_records(c, *at, err);
        for (const struct job *j = array_first(*at); j; j = array_after(j))
            folded += array_to_come(j);
    }
    if (rc == 0 && folded != c->folded)
        rc = err_set(err, -ERR_INTERNAL, "the count of elements in groups is wrong");
    return rc;
}
