/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dependencies of jobs (--dependency): the requests and the states of their items. depend_notify.c
 * delivers changes to dependents.
 */
#include <assert.h>
#include <string.h>

#include "control/core/aside.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/mail.h"

#define ITEMS_MOST 1000 /* maximum items of a job */
#define CORR_MOST 16    /* maximum items of a job that are arrays with dependencies by element */
#define USER_SHARE 20   /* items of a user's jobs, relative to MaxJobCount */
#define USER_MOST 1000000
#define ALL_SHARES 4 /* items of all users, in such shares */
/* Maximum group records of an array for which a failed element gets a record of its own. */
#define APART 50
/* Maximum jobs in a search for circles if DependencyParameters has no limit. */
#define DEPTH 1000
#define SEARCH_MOST 20000 /* maximum items in a search */

/* Names the job as in the request: "20", "20_3", "20+1", "20_3+1". c NULL: with nothing beyond the
 * request, because its user may not know about the job. */
static int refuse_item(const struct control *c, const struct depend_item *item, const char *what,
                       struct err *err)
{
    const struct job *j = c ? cluster_find_job(c->cluster, item->job_id) : NULL;
    _cleanup_str_ struct str name = STR_INIT;
    if (j && !job_set_is_leader(j) && !item->has_offset)
        str_puts(&name, JOB_ID_TEXT(j));
    else
        str_printf(&name, "%u", item->job_id);
    if (item->element != DEPEND_WHOLE)
        str_printf(&name, "_%u", item->element);
    if (item->has_offset)
        str_printf(&name, "+%u", item->offset);
    return err_set(err, -ERR_DEPENDENCY, "%s: job %s %s", err_text(ERR_DEPENDENCY), str_cstr(&name),
                   what);
}

/* --- requests -----------------------------------------------------------------------------------
 */

static int check_item(const struct control *c, const struct caller *who, const struct job *j,
                      const struct depend *d, struct depend_item *item, struct err *err)
{
    const struct array *a = array_find(c->cluster, item->job_id);
    const struct job *on = a ? array_first(a) : cluster_find_job(c->cluster, item->job_id);
    if (item->kind == DEPEND_SINGLETON)
        return 0;
    if (!on && depend_is_met_by_unknown(item) && !control_hides(c, who, "jobs"))
        return 0;
    if (!on || (on->uid != j->uid && !control_shows_job(c, who, on)))
        return refuse_item(NULL, item, "does not exist or has been purged", err);
    if (on == j || (a && a == j->array) || (on->set && on->set == j->set))
        return refuse_item(c, item, "cannot wait for itself", err);
    if (item->element != DEPEND_WHOLE && !a)
        return refuse_item(c, item, "is not a job array", err);
    if (item->element != DEPEND_WHOLE && !idset_has(&a->all, item->element))
        return refuse_item(c, item, "has no such element", err);
    item->of_array = a != NULL;
    if (a && j->array && item->kind == DEPEND_AFTERCORR && item->element == DEPEND_WHOLE)
        depend_set_corr(item);
    if (a && item->kind == DEPEND_EXPAND)
        return refuse_item(c, item, "is a job array, which cannot be expanded", err);
    if (item->kind != DEPEND_EXPAND)
        return 0;
    if (d->items.len > 1)
        return refuse_item(c, item, "is to be expanded: expand must be the only dependency", err);
    if (on->uid != j->uid || on->part != j->part)
        return refuse_item(c, item, "is to be expanded, and is of another user or partition", err);
    return 0;
}

static int check_corr(const struct depend *d, struct err *err)
{
    size_t count = 0;
    vec_foreach (&d->items, item)
        count += item->corr;
    return count <= CORR_MOST
               ? 0
               : err_set(err, -ERR_DEPENDENCY,
                         "%s: aftercorr names %zu job arrays, and %d is the most: wait for others "
                         "of them as a whole, with afterok",
                         err_text(ERR_DEPENDENCY), count, CORR_MOST);
}

int depend_check_set(const struct control *c, const struct job *j, struct err *err)
{
    const struct depend *d = j->waits.on;
    for (size_t i = 0; d && i < d->items.len; i++) {
        const struct depend_item *item = &d->items.data[i];
        const struct job *on =
            item->kind == DEPEND_SINGLETON ? NULL : cluster_find_job(c->cluster, item->job_id);
        if (on && on->set && on->set == j->set)
            return refuse_item(c, item, "cannot wait for itself", err);
    }
    return 0;
}

int depend_check_room(const struct control *c, const struct job *j, size_t more, struct err *err)
{
    uint64_t most = (uint64_t)c->conf->max_job_count * USER_SHARE;
    uint64_t own = depend_count_of_user(c->cluster, j->uid), all = c->cluster->waiting.items;
    most = most < USER_MOST ? most : USER_MOST;
    bool room = all + more <= most * ALL_SHARES;
    if (!more || (own + more <= most && room))
        return 0;
    return err_set(err, -ERR_DEPENDENCY,
                   "%s: it names %zu jobs; %s name %llu already, of %llu that they may: submit it "
                   "when some of them have started, or name fewer jobs",
                   err_text(ERR_DEPENDENCY), more, room ? "your jobs" : "the jobs of all users",
                   (unsigned long long)(room ? own : all),
                   (unsigned long long)(room ? most : most * ALL_SHARES));
}

/* Returns the job to which an offset applies: the job with the id, or for a job array the element's
 * set. */
static struct job *find_offset_base(const struct control *c, const struct depend_item *item)
{
    const struct array *a = array_find(c->cluster, item->job_id);
    if (item->element == DEPEND_WHOLE)
        return named_any(c, &(Pb__StepId){.job_id = item->job_id, .has_set_offset = true});
    return a ? array_element(c->cluster, a, item->element) : NULL;
}

/* Replaces "20+1" and "20_3+1" by the job id of that component; component 0, which stands for its
 * whole set, by the id of the set. -ERR_DEPENDENCY. */
static int name_component(const struct control *c, const struct caller *who, const struct job *j,
                          struct depend_item *item, struct err *err)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    struct job *on = find_offset_base(c, item);
    struct err why = {0};
    bool is_known =
        cluster_find_job(c->cluster, item->job_id) || array_find(c->cluster, item->job_id);
    if (!is_known && depend_is_met_by_unknown(item) && !control_hides(c, who, "jobs")) {
        item->has_offset = false; /* like any other purged job */
        return 0;
    }
    if (!on || (on->uid != j->uid && !control_shows_job(c, who, on)))
        return refuse_item(NULL, item, "does not exist or has been purged", err);
    id.job_id = item->element == DEPEND_WHOLE ? item->job_id : job_set_id(on);
    id.has_set_offset = true;
    id.set_offset = item->offset;
    if (named_component(c, &id, &on, &why) != 0)
        return err_set(err, -ERR_DEPENDENCY, "%s: %s", err_text(ERR_DEPENDENCY), why.text);
    item->job_id = on->array ? on->array->id : on->id;
    item->element = on->array ? on->task : DEPEND_WHOLE;
    item->has_offset = false;
    return 0;
}

/* Replaces the text if a component was named, or an item more than once. */
static int name_components(const struct control *c, const struct caller *who, const struct job *j,
                           struct depend *d, char **text, struct arena *arena, struct err *err)
{
    _cleanup_str_ struct str named = STR_INIT;
    bool any = false;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < d->items.len; i++) {
        struct depend_item *item = &d->items.data[i];
        any = any || item->has_offset;
        rc = item->has_offset ? name_component(c, who, j, item, err) : 0;
    }
    if (rc == 0 && (depend_drop_repeats(d) || any)) {
        depend_format_request(d, &named);
        *text = arena_strdup(arena, str_cstr(&named));
    }
    return rc;
}

int depend_read(struct control *c, const struct caller *who, const struct job *j, char **text,
                struct depend **out, struct arena *arena, struct err *err)
{
    struct depend *d = mem_new(struct depend);
    int rc = depend_parse(*text, ITEMS_MOST, d, err);
    size_t had = j->waits.on ? j->waits.on->items.len : 0;
    if (rc == 0)
        rc = name_components(c, who, j, d, text, arena, err);
    if (rc == 0 && d->items.len > had)
        rc = depend_check_room(c, j, d->items.len - had, err);
    for (size_t i = 0; rc == 0 && i < d->items.len; i++)
        rc = check_item(c, who, j, d, &d->items.data[i], err);
    rc = rc == 0 ? check_corr(d, err) : rc;
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

/* A search for a circle; each record is examined once. */
struct search {
    VEC(uint32_t) todo; /* records */
    struct idmap seen, arrays;
    size_t most, looks;
};

static void find_record(struct search *s, const struct job *j)
{
    uint32_t unused;
    if (!j || s->todo.len > s->most || idmap_get(&s->seen, j->id, &unused))
        return;
    idmap_set(&s->seen, j->id, 0);
    vec_push(&s->todo, j->id);
}

/* Adds all records of an array, or the record of the element. */
static void find_records(struct search *s, const struct control *c, const struct depend_item *item)
{
    const struct array *a = array_find(c->cluster, item->job_id);
    uint32_t unused;
    if (!a) {
        const struct job *j = cluster_find_job(c->cluster, item->job_id);
        find_record(s, j);
        for (j = j && job_set_is_leader(j) ? named_next(j) : NULL; j; j = named_next(j))
            find_record(s, j);
    } else if (item->element != DEPEND_WHOLE) {
        find_record(s, array_element(c->cluster, a, item->element));
    } else if (!idmap_get(&s->arrays, a->id, &unused)) {
        idmap_set(&s->arrays, a->id, 0);
        for (const struct job *j = array_first(a); j && s->todo.len <= s->most; j = array_after(j))
            find_record(s, j);
    }
}

/* Whether the item names the job, or an array or an element in which it has a part. */
static bool names_job(const struct depend_item *item, const struct job *j)
{
    bool of_array = j->array && j->array->id == item->job_id;
    if (item->element == DEPEND_WHOLE)
        return of_array || item->job_id == j->id || (j->set && item->job_id == job_set_id(j));
    return of_array && array_record_has(j, item->element);
}

int depend_check_circle(const struct control *c, const struct job *j, const struct depend *d,
                        struct err *err)
{
    struct search s = {.most = search_depth(c)};
    int rc = 0;
    for (size_t at = 0; d && rc == 0; at++) {
        vec_foreach (&d->items, item) {
            if (s.looks++ >= SEARCH_MOST)
                s.most = 0;
            if (item->state != DEPEND_UNFULFILLED || item->kind == DEPEND_SINGLETON)
                continue;
            if (names_job(item, j))
                rc = err_set(err, -ERR_DEPENDENCY, "%s: job %s would wait for itself",
                             err_text(ERR_DEPENDENCY),
                             job_set_is_leader(j) ? NAMED_SET_TEXT(j) : JOB_ID_TEXT(j));
            find_records(&s, c, item);
        }
        do { /* the next record with dependencies */
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

/* --- states of the items ------------------------------------------------------------------------
 */

/* Outcomes of whole job arrays, cached because many items may name an array with many records. */
struct finds {
    struct idmap at;
    VEC(struct depend_outcome) of;
};

static bool find_outcome(const struct control *c, const struct depend_item *item,
                         struct finds *before, struct depend_outcome *out)
{
    uint32_t at;
    bool whole = item->of_array && item->element == DEPEND_WHOLE;
    if (whole && idmap_get(&before->at, item->job_id, &at)) {
        assert(at < before->of.len);
        *out = before->of.data[at];
        return true;
    }
    bool known = depend_find_item(c->cluster, item, out);
    if (whole && known) {
        idmap_set(&before->at, item->job_id, (uint32_t)before->of.len);
        vec_push(&before->of, *out);
    }
    return known;
}

/* Updates the items from the present states of the jobs that they name. */
static bool update_items_from_jobs(struct control *c, struct job *j)
{
    bool changed = false;
    struct depend *d = j->waits.on;
    struct finds before = {0};
    vec_foreach (&d->items, item) {
        struct depend_outcome o;
        uint8_t was = item->state;
        const struct array *a = array_find(c->cluster, item->job_id);
        item->of_array = item->of_array || a;
        if (depend_is_parted(item)) {
            if (a || !aside_holds(c, item->job_id))
                depend_corr_look(j, item, a);
        } else if (find_outcome(c, item, &before, &o)) {
            depend_apply(d, item, &o);
        } else if (item->kind != DEPEND_SINGLETON && !aside_holds(c, item->job_id)) {
            depend_apply_unknown(d, item);
        }
        changed = changed || item->state != was;
    }
    idmap_done(&before.at);
    vec_done(&before.of);
    depend_count(d);
    depend_corr_fit(c->cluster, j);
    depend_reindex(c->cluster, j);
    c->cluster->waiting.looks += d->items.len;
    j->waits.stale = true;
    return changed;
}

void depend_begin(struct control *c, struct job *j, struct depend *d)
{
    depend_set(c->cluster, j, d);
    if (d)
        update_items_from_jobs(c, j);
    job_touch(c->cluster, j);
}

void depend_show(struct control *c, struct job *j)
{
    struct str text = STR_INIT;
    depend_format(c->cluster, j->waits.on, control_wall(c), j->waits.alone, &text);
    c->cluster->waiting.looks += j->waits.on->items.len;
    char *shown = text.len ? str_take(&text) : NULL;
    str_done(&text);
    if (!str_eq(shown, j->waits.shown))
        job_touch(c->cluster, j);
    free(j->waits.shown);
    j->waits.shown = shown;
    j->waits.stale = false;
}

bool depend_is_short(const struct depend *d)
{
    return d->items.len <= DEPEND_SHORT;
}

static bool is_alone(const struct control *c, struct job *j)
{
    return !depend_is_singleton(j->waits.on) || depend_is_first_like(c->cluster, j);
}

/* Returns true if it is now certain that the job can never start. */
static bool update_state(struct control *c, struct job *j)
{
    if (!j->waits.on)
        return false;
    bool alone = is_alone(c, j), waited = j->waits.shown != NULL;
    enum depend_state state = depend_at(j->waits.on, control_wall(c), alone);
    bool never = state == DEPEND_FAILED, met = state == DEPEND_FULFILLED;
    bool partly =
        state == DEPEND_UNFULFILLED && depend_is_partly_met(j->waits.on, control_wall(c), alone);
    bool begins = waited && !j->waits.partly;
    bool stale = j->waits.stale || met == waited || alone != j->waits.alone ||
                 never != j->waits.never || depend_is_short(j->waits.on);
    bool is_news = never && !j->waits.never;
    j->waits.never = never;
    j->waits.alone = alone;
    if (stale)
        depend_show(c, j);
    j->waits.partly = partly;
    if (begins && (partly || state == DEPEND_FULFILLED)) {
        int64_t now = control_wall(c);
        j->eligible_at = j->begin_at > now ? j->begin_at : now;
    }
    if (!partly && state == DEPEND_FULFILLED && !depend_may_wait_again(j->waits.on))
        depend_begin(c, j, NULL);
    return is_news;
}

void depend_update(struct control *c, struct job *j)
{
    if (update_state(c, j) && !control_is_on_trial(j))
        mail_event(c, j, JOB_MAIL_INVALID_DEPEND);
}

void depend_update_tested(struct control *c, struct job *j)
{
    update_state(c, j);
}

enum reason depend_reason(const struct control *c, const struct job *j)
{
    int64_t now = control_wall(c);
    if (!j->waits.on || depend_is_partly_met(j->waits.on, now, j->waits.alone))
        return REASON_NONE;
    switch (depend_at(j->waits.on, now, j->waits.alone)) {
    case DEPEND_FULFILLED:
        return REASON_NONE;
    case DEPEND_FAILED:
        return REASON_DEPENDENCY_NEVER_SATISFIED;
    default:
        return REASON_DEPENDENCY;
    }
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

/* Splits off elements that will be cancelled in any case; otherwise only while this creates few
 * records. Other elements stay with the pending ones, and are reported as never satisfied when
 * nothing else is left in the record. */
bool depend_has_doomed_part(const struct control *c, const struct job *j)
{
    const struct depend *d = j->waits.on;
    if (!d || !d->failed.count || j->waits.never || control_is_on_trial(j))
        return false;
    if (!is_killed(c, j) && j->array->groups.len >= APART)
        return false;
    const struct idset *doomed = depend_corr_doomed(d);
    return doomed && doomed->count && doomed->count < d->of;
}

void depend_part(struct control *c, struct job *j)
{
    struct idset doomed = {0};
    struct err err = {0};
    idset_copy(&doomed, depend_corr_doomed(j->waits.on));
    struct job *e = array_split(c->cluster, j, &doomed, record_next_job_id(c), &err);
    if (e) {
        burst_join_split(c, j, e);
        enqueue_job(c, e);
    } else { /* they stay until more is known */
        control_log(c, LOG_LVL_ERROR, "job %u: %s", j->id, err.text);
        idset_done(&j->waits.on->failed);
    }
    enqueue_job(c, j);
    idset_done(&doomed);
}

int64_t depend_wait_sec(const struct control *c, const struct job *j)
{
    int64_t now = control_wall(c), at = j->waits.on ? depend_next_at(j->waits.on, now) : 0;
    return at ? at - now : 0;
}

void depend_resume(struct control *c, struct job *j)
{
    if (j->waits.on && update_items_from_jobs(c, j))
        job_touch(c->cluster, j);
}

/* Restores the states of a job that ended before it began; otherwise what a singleton waits for. */
static bool take_back(const struct job *j, struct depend *d)
{
    if (j->waits.kept)
        return depend_unpack(d, j->waits.kept);
    vec_foreach (&d->items, item)
        if (item->kind != DEPEND_SINGLETON)
            item->state = DEPEND_FULFILLED;
    depend_count(d);
    return depend_is_singleton(d);
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
    if (spec && spec->dependency &&
        depend_parse(spec->dependency, DEPEND_ITEMS_MAX, d, NULL) == 0 && take_back(j, d))
        depend_begin(c, j, take_ptr(d));
    depend_free(d);
}

/* Sets the known outcome of each ended element. */
static int check_numbers(const struct control *c, const struct job *j,
                         const struct depend_item *item, struct err *err)
{
    const struct array *a = array_find(c->cluster, item->job_id);
    if (!a || depend_is_telling(c, a->id))
        return 0;
    for (const struct job *r = array_first(a); r; r = array_after(r)) {
        uint32_t element = r->tasks.count ? idset_first(&r->tasks) : r->task;
        if (depend_outcome_of(r).over && idset_has(&j->tasks, element) &&
            !idset_has(&item->sets->good, element) && !idset_has(&item->sets->bad, element))
            return err_set(err, -ERR_INTERNAL, "job %u: its element %u waits for one that is over",
                           j->id, element);
    }
    return 0;
}

int depend_check(const struct control *c, const struct job *j, struct err *err)
{
    if (!j->waits.on || j->state != PB__JOB_STATE__PENDING)
        return 0;
    if (job_partitions_is_queued(j) && j->waits.shown && !j->waits.partly)
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
