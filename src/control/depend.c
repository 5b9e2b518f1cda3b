/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that wait for others (--dependency). A change of a job is told to those that wait for it, so
 * many in a turn, out of what was true of it then: it may be queued again, or be changed once more,
 * before the last of them has heard. It is not purged before, so a restart finds it as it ended.
 */
#include <string.h>

#include "control/internal.h"

#define SHARE 250 /* of dependents told in one turn */
#define APART                                                                                      \
    50 /* records of several elements of an array, that failed elements make one more of */
#define DEPTH 1000 /* of a search for circles, in jobs, when DependencyParameters says nothing */

static int no(struct err *err, const char *what, uint32_t job_id)
{
    return err_set(err, -ERR_DEPENDENCY, "%s: job %u %s", err_text(ERR_DEPENDENCY), job_id, what);
}

/* --- what is asked for -------------------------------------------------------------------------
 */

static int check_item(const struct control *c, const struct job *j, const struct depend *d,
                      struct depend_item *item, struct err *err)
{
    const struct array *a = array_find(c->cluster, item->job_id);
    const struct job *on = a ? array_first(a) : cluster_find_job(c->cluster, item->job_id);
    if (item->kind == DEPEND_SINGLETON)
        return 0;
    if (!on)
        return no(err, "is not known, or is not any more", item->job_id);
    if (on == j || (a && a == j->array))
        return no(err, "can not wait for itself", item->job_id);
    if (item->element != DEPEND_WHOLE && !a)
        return no(err, "is no job array", item->job_id);
    if (item->element != DEPEND_WHOLE && !idset_has(&a->all, item->element))
        return no(err, "has no such element", item->job_id);
    item->of_array = a != NULL;
    item->corr = a && j->array && item->kind == DEPEND_AFTERCORR && item->element == DEPEND_WHOLE;
    if (a && item->kind == DEPEND_EXPAND)
        return no(err, "is a job array, which can not be expanded", item->job_id);
    if (item->kind != DEPEND_EXPAND)
        return 0;
    if (d->items.len > 1)
        return no(err, "is to be expanded: expand must be the only dependency", item->job_id);
    if (on->uid != j->uid || on->part != j->part)
        return no(err, "is to be expanded, and is of another user or partition", item->job_id);
    return 0;
}

int depend_read(struct control *c, const struct job *j, const char *text, struct depend **out,
                struct err *err)
{
    struct depend *d = mem_new(struct depend);
    int rc = depend_parse(text, d, err);
    for (size_t i = 0; rc == 0 && i < d->items.len; i++)
        rc = check_item(c, j, d, &d->items.data[i], err);
    if (rc != 0 || !d->items.len)
        depend_free(take_ptr(d));
    if (rc == 0)
        *out = d;
    return rc;
}

static size_t search_depth(const struct control *c)
{
    _cleanup_free_ char *text = conf_list_value(c->conf->dependency_parameters, "max_depend_depth");
    long long depth;
    int64_t other = c->conf->sched.max_depend_depth;
    if (text && str_parse_i64(text, 0, 1000000, &depth) == 0)
        return (size_t)depth;
    return other ? (size_t)other : DEPTH;
}

/* A search for a circle; what it has found is looked at once. */
struct search {
    VEC(uint32_t) todo; /* records */
    struct idmap seen, arrays;
    size_t most;
};

static void find_record(struct search *s, const struct job *j)
{
    uint32_t unused;
    if (!j || s->todo.len > s->most || idmap_get(&s->seen, j->id, &unused))
        return;
    idmap_set(&s->seen, j->id, 0);
    vec_push(&s->todo, j->id);
}

/* Of an array all records, or the one of the element. */
static void find_records(struct search *s, const struct control *c, const struct depend_item *item)
{
    const struct array *a = array_find(c->cluster, item->job_id);
    uint32_t unused;
    if (!a) {
        find_record(s, cluster_find_job(c->cluster, item->job_id));
    } else if (item->element != DEPEND_WHOLE) {
        find_record(s, array_element(c->cluster, a, item->element));
    } else if (!idmap_get(&s->arrays, a->id, &unused)) {
        idmap_set(&s->arrays, a->id, 0);
        for (const struct job *j = array_first(a); j && s->todo.len <= s->most; j = array_after(j))
            find_record(s, j);
    }
}

/* Whether the item names the job, or an array or an element that it has a part in. */
static bool names(const struct depend_item *item, const struct job *j)
{
    bool of_array = j->array && j->array->id == item->job_id;
    if (item->element == DEPEND_WHOLE)
        return of_array || item->job_id == j->id;
    return of_array && array_record_has(j, item->element);
}

int depend_check_circle(const struct control *c, const struct job *j, const struct depend *d,
                        struct err *err)
{
    struct search s = {.most = search_depth(c)};
    int rc = 0;
    for (size_t at = 0; d && rc == 0; at++) {
        vec_foreach (&d->items, item) {
            if (item->state != DEPEND_UNFULFILLED || item->kind == DEPEND_SINGLETON)
                continue;
            if (names(item, j))
                rc = no(err, "would wait for itself", j->id);
            find_records(&s, c, item);
        }
        do { /* the next one that waits for something */
            const struct job *next = at < s.todo.len && at < s.most
                                         ? cluster_find_job(c->cluster, s.todo.data[at])
                                         : NULL;
            d = next ? next->waits.on : NULL;
        } while (!d && at < s.todo.len && at < s.most && ++at);
    }
    vec_done(&s.todo);
    idmap_done(&s.seen);
    idmap_done(&s.arrays);
    return rc;
}

/* --- what became of it -------------------------------------------------------------------------
 */

/* Looks at the jobs it names as they are now. */
static bool look(struct control *c, struct job *j)
{
    bool changed = false;
    vec_foreach (&j->waits.on->items, item) {
        struct depend_outcome o;
        enum depend_state before = item->state;
        const struct array *a = array_find(c->cluster, item->job_id);
        item->of_array = item->of_array || a;
        if (depend_is_parted(item)) {
            if (a || !aside_holds(c, item->job_id))
                depend_corr_look(j, item, a);
        } else if (depend_find_item(c->cluster, item, &o)) {
            depend_apply(item, &o);
        } else if (item->kind != DEPEND_SINGLETON && !aside_holds(c, item->job_id)) {
            depend_apply_unknown(item);
        }
        changed = changed || item->state != before;
    }
    depend_corr_fit(c->cluster, j);
    depend_reindex(c->cluster, j);
    return changed;
}

void depend_begin(struct control *c, struct job *j, struct depend *d)
{
    depend_set(c->cluster, j, d);
    if (d)
        look(c, j);
    job_touch(c->cluster, j);
}

/* How a waiting job can still be held back once it was let go: by one of its name, or because the
 * one that it expands has ended. */
static bool may_wait_again(const struct depend *d)
{
    bool again = false;
    vec_foreach (&d->items, item)
        again = again || item->kind == DEPEND_SINGLETON || item->kind == DEPEND_EXPAND;
    return again;
}

static void show(struct control *c, struct job *j, bool alone)
{
    struct str text = STR_INIT;
    depend_format(j->waits.on, control_wall(c), alone, &text);
    char *shown = text.len ? str_take(&text) : NULL;
    str_done(&text);
    if (!str_eq(shown, j->waits.shown))
        job_touch(c->cluster, j);
    free(j->waits.shown);
    j->waits.shown = shown;
}

static bool is_alone(const struct control *c, struct job *j)
{
    return !depend_is_singleton(j->waits.on) || depend_first_like(c->cluster, j) == j;
}

const char *depend_reason(struct control *c, struct job *j)
{
    if (!j->waits.on)
        return NULL;
    bool alone = is_alone(c, j), waited = j->waits.shown != NULL;
    enum depend_state state = depend_at(j->waits.on, control_wall(c), alone);
    j->waits.never = state == DEPEND_FAILED;
    bool partly =
        state == DEPEND_UNFULFILLED && depend_is_partly_met(j->waits.on, control_wall(c), alone);
    bool begins = waited && !j->waits.partly;
    show(c, j, alone);
    j->waits.partly = partly;
    if (begins && (partly || state == DEPEND_FULFILLED)) {
        int64_t now = control_wall(c);
        j->eligible_at = j->begin_at > now ? j->begin_at : now;
    }
    if (partly)
        return NULL;
    if (state == DEPEND_FULFILLED) {
        if (!may_wait_again(j->waits.on))
            depend_begin(c, j, NULL);
        return NULL;
    }
    return j->waits.never ? "DependencyNeverSatisfied" : "Dependency";
}

static bool is_killed(const struct control *c, const struct job *j)
{
    bool kill = c->conf->sched.kill_invalid_depend ||
                conf_list_has(c->conf->dependency_parameters, "kill_invalid_depend");
    return j->waits.kill_given ? j->waits.kill : kill;
}

bool depend_is_doomed(const struct control *c, const struct job *j)
{
    return j->waits.never && is_killed(c, j);
}

/* --- elements that can never start -------------------------------------------------------------
 */

/* Those that are ended, in any case; else while that makes few records. The others are with what
 * still waits, and say that they never can when nothing else is left there. */
bool depend_has_doomed_part(const struct control *c, const struct job *j)
{
    const struct depend *d = j->waits.on;
    struct idset doomed = {0};
    if (!d || !d->failed.count || j->waits.never || control_is_on_trial(j))
        return false;
    if (!is_killed(c, j) && j->array->groups.len >= APART)
        return false;
    depend_corr_doomed(d, &doomed);
    bool part = doomed.count && doomed.count < d->of;
    idset_done(&doomed);
    return part;
}

void depend_part(struct control *c, struct job *j)
{
    struct idset doomed = {0};
    struct err err = {0};
    depend_corr_doomed(j->waits.on, &doomed);
    struct job *e = array_split(c->cluster, j, &doomed, submit_next_id(c), &err);
    if (e) {
        submit_enqueue(c, e);
    } else { /* they stay, until more is known */
        control_log(c, LOG_LVL_ERROR, "job %u: %s", j->id, err.text);
        idset_done(&j->waits.on->failed);
    }
    submit_enqueue(c, j);
    idset_done(&doomed);
}

int64_t depend_wait_sec(const struct control *c, const struct job *j)
{
    int64_t now = control_wall(c), at = j->waits.on ? depend_next_at(j->waits.on, now) : 0;
    return at ? at - now : 0;
}

/* --- a job has changed -------------------------------------------------------------------------
 */

/* The one of a name that is next may be let go, or not any more. */
static void tell_next(struct control *c, struct job *first)
{
    if (first && first->state == PB__JOB_STATE__PENDING && first->waits.on)
        submit_enqueue(c, first);
}

/* It runs now: who was let go before is held back again. Such a one is the oldest that waits. */
static void hold_named(struct control *c, struct job *j)
{
    struct job *next = depend_next_like(c->cluster, j);
    if (next && next->state == PB__JOB_STATE__PENDING && several_is_queued(next) && next->waits.on)
        submit_enqueue(c, next);
}

static void tell_of(struct control *c, const struct job *j, uint32_t element)
{
    vec_push(&c->told, ((struct told){.outcome = depend_outcome_of_element(j, element)}));
}

/* Those of the record that are waited for by their numbers. */
static void tell_of_elements(struct control *c, const struct job *j)
{
    uint32_t element = DEPEND_WHOLE;
    uint64_t cursor = 0;
    if (!j->tasks.count) {
        if (depend_next_dependent(c->cluster, j->array->id, j->task, &cursor))
            tell_of(c, j, j->task);
        return;
    }
    while (depend_next_element(c->cluster, j->array->id, &element))
        if (array_record_has(j, element))
            tell_of(c, j, element);
}

/* To those whose elements wait each for its own number. */
static void tell_of_numbers(struct control *c, const struct job *j)
{
    struct told t = {.outcome = depend_outcome_of_element(j, DEPEND_CORR)};
    if (!t.outcome.over)
        return;
    idset_copy(&t.elements, &j->tasks);
    if (!j->tasks.count)
        idset_add(&t.elements, j->task);
    vec_push(&c->told, t);
}

void depend_changed(struct control *c, struct job *j)
{
    uint64_t cursor = 0;
    depend_place_name(c->cluster, j);
    if (j->state == PB__JOB_STATE__RUNNING || j->state == PB__JOB_STATE__SUSPENDED)
        hold_named(c, j);
    else
        tell_next(c, depend_first_like(c->cluster, j));
    bool of_array = j->array && j->array->id == j->id; /* its number is the array's */
    if (!of_array && depend_next_dependent(c->cluster, j->id, DEPEND_WHOLE, &cursor))
        vec_push(&c->told, ((struct told){.outcome = depend_outcome_of(j)}));
    cursor = 0;
    if (j->array)
        tell_of_elements(c, j);
    if (j->array && depend_next_dependent(c->cluster, j->array->id, DEPEND_CORR, &cursor))
        tell_of_numbers(c, j);
    cursor = 0;
    if (j->array && depend_next_dependent(c->cluster, j->array->id, DEPEND_WHOLE, &cursor))
        vec_push(&c->told, ((struct told){.outcome = depend_outcome_of_array(j->array)}));
}

void depend_renamed(struct control *c, struct job *j, const char *before)
{
    depend_replace_name(c->cluster, j);
    tell_next(c, depend_first_named(c->cluster, j->uid, before));
    hold_named(c, j);
}

/* To one that waits for the same numbers. What failed is stored, and what is met is found again. */
static void tell_numbers(struct control *c, struct job *j, const struct told *t)
{
    bool well = t->outcome.state == PB__JOB_STATE__COMPLETED, any = false, settled = false;
    vec_foreach (&j->waits.on->items, item) {
        if (item->job_id != t->outcome.job_id || !depend_corr_apply(j, item, &t->elements, well))
            continue;
        any = true;
        settled = settled || item->state != DEPEND_UNFULFILLED;
    }
    if (!any)
        return;
    depend_reindex(c->cluster, j);
    if (settled || !well)
        job_touch(c->cluster, j);
    if (j->state == PB__JOB_STATE__PENDING && (settled || !well || !several_is_queued(j)))
        submit_enqueue(c, j);
}

static void tell(struct control *c, struct job *j, const struct depend_outcome *o)
{
    bool changed = false;
    vec_foreach (&j->waits.on->items, item)
        changed = depend_apply(item, o) || changed;
    if (!changed)
        return;
    depend_reindex(c->cluster, j);
    job_touch(c->cluster, j);
    if (j->state == PB__JOB_STATE__PENDING)
        submit_enqueue(c, j);
}

void depend_turn(struct control *c)
{
    size_t left = SHARE, done = 0;
    vec_foreach (&c->told, t) {
        struct job *j = NULL;
        uint32_t element = t->outcome.of_element ? t->outcome.element : DEPEND_WHOLE;
        while (left &&
               (j = depend_next_dependent(c->cluster, t->outcome.job_id, element, &t->cursor))) {
            if (element == DEPEND_CORR)
                tell_numbers(c, j, t);
            else
                tell(c, j, &t->outcome);
            left--;
        }
        if (j || !left)
            break;
        idset_done(&t->elements);
        done++;
    }
    for (size_t i = done; i < c->told.len; i++)
        c->told.data[i - done] = c->told.data[i];
    c->told.len -= done;
}

bool depend_is_telling(const struct control *c, uint32_t job_id)
{
    vec_foreach (&c->told, t)
        if (t->outcome.job_id == job_id)
            return true;
    return false;
}

void depend_resume(struct control *c, struct job *j)
{
    if (j->waits.on && look(c, j))
        job_touch(c->cluster, j);
}

void depend_requeue(struct control *c, struct job *j)
{
    if (j->waits.on) { /* it never began */
        depend_resume(c, j);
        return;
    }
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    struct depend *d = mem_new(struct depend);
    if (!spec || !spec->dependency || depend_parse(spec->dependency, d, NULL) != 0 ||
        !depend_is_singleton(d)) {
        depend_free(d);
        return;
    }
    vec_foreach (&d->items, item)
        item->state = item->kind == DEPEND_SINGLETON ? item->state : DEPEND_FULFILLED;
    depend_begin(c, j, d);
}

void depend_forget_told(struct control *c)
{
    vec_foreach (&c->told, t)
        idset_done(&t->elements);
    vec_done(&c->told);
}

/* What is over is known of each of its elements. */
static int check_numbers(const struct control *c, const struct job *j,
                         const struct depend_item *item, struct err *err)
{
    const struct array *a = array_find(c->cluster, item->job_id);
    if (!a || depend_is_telling(c, a->id))
        return 0;
    for (const struct job *r = array_first(a); r; r = array_after(r)) {
        uint32_t element = r->tasks.count ? idset_first(&r->tasks) : r->task;
        if (depend_outcome_of(r).over && idset_has(&j->tasks, element) &&
            !idset_has(&item->good, element) && !idset_has(&item->bad, element))
            return err_set(err, -ERR_INTERNAL, "job %u: its element %u waits for one that is over",
                           j->id, element);
    }
    return 0;
}

int depend_check(const struct control *c, const struct job *j, struct err *err)
{
    if (!j->waits.on || j->state != PB__JOB_STATE__PENDING)
        return 0;
    if (several_is_queued(j) && j->waits.shown && !j->waits.partly)
        return err_set(err, -ERR_INTERNAL, "job %u is queued and waits for another", j->id);
    vec_foreach (&j->waits.on->items, item) {
        struct depend_outcome o = {0};
        if (depend_is_parted(item)) {
            if (check_numbers(c, j, item, err) != 0)
                return -ERR_INTERNAL;
            continue;
        }
        depend_find_item(c->cluster, item, &o);
        if (o.over && item->state == DEPEND_UNFULFILLED && !depend_is_telling(c, item->job_id))
            return err_set(err, -ERR_INTERNAL, "job %u waits for job %u, which is over", j->id,
                           item->job_id);
    }
    return 0;
}
