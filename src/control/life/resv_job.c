/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs and the reservations in which they may run, and the effects of time on both. */
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "base/words.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/enqueue.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/start.h"
#include "sched/select/resv.h"

#define LOOK_SEC 60 /* the wall clock may be set */

/* --- access -------------------------------------------------------------------------------------
 */

struct user { /* the owner of a job */
    uint32_t uid, gid;
    const char *name, *account;
    const struct job *job; /* its partitions count; NULL: the requester has no job */
};

static bool is_entry(const char *s, size_t len, const char *name)
{
    return name && strlen(name) == len && strncmp(s, name, len) == 0;
}

/* Whether a list contains the user; a list of entries with '-' excludes them. An empty list
 * contains everybody. */
static bool is_in_resv_list(const char *list, const char *name, const char *number)
{
    bool denies = list && *list == '-', found = false;
    words_foreach (list, w) {
        size_t skip = denies && *w.at == '-';
        found = found || is_entry(w.at + skip, w.len - skip, name) ||
                is_entry(w.at + skip, w.len - skip, number);
    }
    return !list || found != denies;
}

static bool in_groups(struct control *c, const struct user *u, const char *list)
{
    words_foreach (list, w) {
        _cleanup_free_ char *group = word_dup(w);
        if (w.len && c->env->user_in_group(c->env->ctx, u->uid, group))
            return true;
    }
    return false;
}

/* Whether the reservation admits the user in some account. */
static bool is_for(struct control *c, const struct resv *r, const struct user *u)
{
    char number[16];
    snprintf(number, sizeof number, "%u", u->uid);
    return is_in_resv_list(r->users, u->name, number) && (!r->groups || in_groups(c, u, r->groups));
}

/* All partitions of the job must be allowed, as any of them may start it. */
static bool allows_partitions(const struct resv *r, const struct job *j)
{
    bool allowed = true;
    for (uint32_t i = 0; r->allowed_parts && j->part && i < job_partitions_count(j); i++) {
        const struct part *p = j->partitions ? j->partitions->of[i].part : j->part;
        allowed = allowed && is_in_resv_list(r->allowed_parts, p->conf.name, NULL);
    }
    return allowed;
}

static bool may_use(struct control *c, const struct resv *r, const struct user *u)
{
    return is_in_resv_list(r->accounts, u->account, NULL) && is_for(c, r, u) &&
           allows_partitions(r, u->job);
}

/* Whether the job may name the reservation. Root and SlurmUser may name every reservation; other
 * users' reservations do not attract their jobs. */
static bool may_ask(struct control *c, const struct resv *r, const struct user *u)
{
    return u->uid == 0 || u->uid == c->conf->slurm_uid || may_use(c, r, u);
}

bool resv_is_for(struct control *c, const struct caller *who, const struct resv *r)
{
    struct user u = {who->uid, who->gid, who->user_name, NULL, NULL};
    return is_for(c, r, &u);
}

bool resv_is_shown(struct control *c, const struct caller *who, const struct resv *r)
{
    return !control_hides(c, who, "reservations") || resv_is_for(c, who, r);
}

static struct user user_of(const struct job *j, const Pb__JobSpec *spec)
{
    return (struct user){j->uid, j->gid, spec->user_name, spec->account, j};
}

void resv_each_group(const struct control *c, void (*fn)(void *ctx, const char *group), void *ctx)
{
    vec_foreach (&c->cluster->resvs, r)
        words_foreach ((*r)->groups, w) {
            _cleanup_free_ char *group = word_dup(w);
            if (w.len)
                fn(ctx, group);
        }
}

/* --- bindings -----------------------------------------------------------------------------------
 */

/* Whether the job could run in one of its partitions if the reservation were idle. */
static bool could_run(struct control *c, struct job *j, const struct resv *r)
{
    bool could = false;
    for (uint32_t i = 0; i < job_partitions_count(j) && !could; i++) {
        job_partitions_select(j, i);
        could = resv_could_serve(c->cluster, j, r);
    }
    job_partitions_select_first(j);
    return could;
}

static int refuse_job(const struct cluster *c, const struct resv *r, struct err *err)
{
    _cleanup_str_ struct str kept = STR_INIT, nodes = STR_INIT;
    resv_format_kept(c, r, &kept);
    resv_format_nodes(c, r, &nodes);
    if (!nodes.len)
        return err_set(err, -ERR_NODE_CONFIG, "%s: reservation %s has no nodes",
                       err_text(ERR_NODE_CONFIG), r->name);
    return err_set(err, -ERR_NODE_CONFIG, "%s: reservation %s has %s%snode%s %s",
                   err_text(ERR_NODE_CONFIG), r->name, str_cstr(&kept), kept.len ? " of " : "",
                   bitset_count(r->nodes) == 1 ? "" : "s", str_cstr(&nodes));
}

static int check_one(struct control *c, const struct caller *who, struct job *j,
                     const struct user *u, const char *name, struct err *err)
{
    const struct resv *r = resv_find(c->cluster, name);
    bool denied = r && !may_ask(c, r, u);
    if (!r || (denied && who && !resv_is_shown(c, who, r)))
        return err_set(err, -ERR_RESV_INVALID, "%s: %s", err_text(ERR_RESV_INVALID), name);
    if (denied)
        return err_set(err, -ERR_RESV_ACCESS, "%s: %s", err_text(ERR_RESV_ACCESS), name);
    if (r->flags & RESV_TIME_FLOAT)
        return err_set(err, -ERR_RESV_NOT_USABLE, "%s: %s never begins (TIME_FLOAT)",
                       err_text(ERR_RESV_NOT_USABLE), name);
    if (r->flags & (RESV_FLEX | RESV_ANY_NODES) || !j->part)
        return 0;
    return could_run(c, j, r) ? 0 : refuse_job(c->cluster, r, err);
}

int resv_check_job(struct control *c, const struct caller *who, struct job *j,
                   const Pb__JobSpec *spec, struct err *err)
{
    struct user u = user_of(j, spec);
    if (!j->resv_asked)
        return 0;
    words_foreach (spec->reservation, w) {
        _cleanup_free_ char *name = word_dup(w);
        int rc = check_one(c, who, j, &u, name, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void bind_asked(struct control *c, struct job *j, const Pb__JobSpec *spec)
{
    struct user u = user_of(j, spec);
    words_foreach (spec->reservation, w) {
        _cleanup_free_ char *name = word_dup(w);
        struct resv *r = resv_find(c->cluster, name);
        if (r && may_ask(c, r, &u))
            resv_bind(j, r);
    }
}

/* Binds the job to reservations that attract it, and to those that a short job may use before their
 * begin. */
static void bind_drawn(struct control *c, struct job *j, const Pb__JobSpec *spec)
{
    struct user u = user_of(j, spec);
    bool stays = set_is_not_drawn(c, j);
    vec_foreach (&c->cluster->resvs, r) {
        bool attracts = (*r)->flags & RESV_MAGNETIC && !stays,
             lets_in = (*r)->delay_sec && j->limit_sec <= (*r)->delay_sec;
        if ((attracts || lets_in) && may_use(c, *r, &u))
            resv_bind(j, *r);
    }
}

static bool has_drawing_resv(const struct cluster *c)
{
    vec_foreach (&c->resvs, r)
        if ((*r)->flags & RESV_MAGNETIC || (*r)->delay_sec)
            return true;
    return false;
}

/* The spec no longer names a reservation. */
static void forget_asked(struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    spec->reservation = NULL;
    job_repack(&j->spec, &spec->base);
    j->resv_asked = false;
}

static void bind_all(struct control *c, struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    if (j->resv_asked)
        bind_asked(c, j, spec);
    else
        bind_drawn(c, j, spec);
}

void resv_bind_job(struct control *c, struct job *j)
{
    int64_t now = control_wall(c), first = INT64_MAX;
    struct resv_time t;
    resv_unbind(j);
    if (j->resv_asked || has_drawing_resv(c->cluster))
        bind_all(c, j);
    if (!resv_reason(c, j))
        return;
    vec_foreach (&j->resvs, r)
        if (resv_occurs(*r, now, &t) && t.begin < first)
            first = t.begin;
    j->expected_at = first == INT64_MAX ? 0 : first;
}

enum reason resv_reason(const struct control *c, const struct job *j)
{
    vec_foreach (&j->resvs, r)
        if (resv_is_now(*r, control_wall(c)) || (*r)->flags & RESV_FLEX)
            return REASON_NONE;
    return j->resv_asked ? REASON_RESERVATION : REASON_NONE;
}

enum reason resv_bind_guest(struct control *c, struct job *j)
{
    resv_bind_job(c, j);
    vec_foreach (&j->resvs, r)
        (*r)->pending--;
    j->expected_at = 0;
    return resv_reason(c, j);
}

static bool is_bound(const struct job *j, const struct resv *r)
{
    vec_foreach (&j->resvs, of)
        if (*of == r)
            return true;
    return false;
}

/* The requested reservation was deleted: the job is held for its owner, unless the reservation has
 * a flag against it. */
static void lose_resv(struct control *c, struct job *j, const struct resv *r)
{
    bool asked = j->resv_asked && j->resvs.len == 1;
    for (size_t i = j->resvs.len; i-- > 0;)
        if (j->resvs.data[i] == r) {
            j->resvs.data[i]->pending--;
            vec_remove(&j->resvs, i);
        }
    if (asked) {
        forget_asked(j);
        if (!(r->flags & RESV_NO_HOLD_JOBS_AFTER))
            j->held = j->resv_gone = true;
        j->expected_at = 0;
        job_touch(c->cluster, j);
    }
}

void resv_drop(struct control *c, struct resv *r)
{
    resv_hook_end(c, r);
    resv_take(c->cluster, r); /* it can no longer be found */
    for (size_t i = 0; i < c->cluster->jobs.len; i++) {
        struct job *j = c->cluster->jobs.data[i];
        bool bound = is_bound(j, r);
        if (attempt_of(j)->resv == r)
            resv_leave(c->cluster, j);
        if (bound)
            lose_resv(c, j, r);
        if (bound && j->state == PB__JOB_STATE__PENDING)
            enqueue_job(c, j);
    }
    control_log(c, LOG_LVL_INFO, "reservation %s is over", r->name);
    c->env->del(c->env->ctx, RECORD_RESV, 0, r->name);
    resv_free(r);
    c->cluster->pool.freed++;
    c->plan_wanted = true;
}

/* Copies the end to the job: the reservation may be deleted or recur. */
static void set_end(struct job *j, const struct resv *r)
{
    bool ends = r && !(r->flags & (RESV_FLEX | RESV_TIME_FLOAT)) && r->end_at != RESV_NEVER;
    attempt_make(j)->resv_end_at = ends ? r->end_at : 0;
}

void resv_tell_jobs(struct control *c, struct resv *r)
{
    bool drawn = has_drawing_resv(c->cluster);
    for (size_t i = 0; i < c->cluster->jobs.len; i++) {
        struct job *j = c->cluster->jobs.data[i];
        if (j->state == PB__JOB_STATE__PENDING && (drawn || j->resv_asked || is_bound(j, r)))
            enqueue_job(c, j);
        if (attempt_of(j)->resv != r || job_is_final(j))
            continue;
        if (!attempt_of(j)->resv_end_at ||
            attempt_of(j)->resv_end_at > r->start_at) /* otherwise it was another occurrence */
            set_end(j, r);
        job_touch(c->cluster, j);
        control_set_end(c, j);
        control_schedule(c, j);
    }
}

/* The reservation begins or ends: updates the jobs that wait for it. */
static void update_waiting_jobs(struct control *c, const struct resv *r)
{
    for (size_t i = 0; i < c->cluster->jobs.len; i++) {
        struct job *j = c->cluster->jobs.data[i];
        if (j->state == PB__JOB_STATE__PENDING && is_bound(j, r))
            enqueue_job(c, j);
    }
}

void resv_begin_job(struct control *c, struct job *j, struct resv *r)
{
    resv_enter(c->cluster, j, r);
    set_end(j, r);
    if (r && r->flags & RESV_REPLACE)
        c->plan_wanted = true; /* a pass first replaces nodes */
}

void resv_resume_job(struct control *c, struct job *j)
{
    struct resv *r =
        attempt_of(j)->resv_name ? resv_find(c->cluster, attempt_of(j)->resv_name) : NULL;
    bool holds =
        (!job_is_final(j) || attempt_of(j)->completing) && j->state != PB__JOB_STATE__PENDING;
    if (r && holds)
        resv_enter(c->cluster, j, r);
}

int64_t resv_limit_ms(const struct control *c, const struct job *j)
{
    int64_t over = c->conf->resv_over_run_sec;
    if (!attempt_of(j)->resv_end_at || over >= CLUSTER_NO_LIMIT_SEC)
        return INT64_MAX;
    return control_mono(c) + (attempt_of(j)->resv_end_at + over - control_wall(c)) * 1000;
}

/* --- occurrences --------------------------------------------------------------------------------
 */

static bool is_idle(const struct resv *r)
{
    return r->flags & RESV_PURGE_COMP && r->active && !r->pending && !r->running;
}

/* Returns the wall time of its next event. */
static int64_t next_event(const struct resv *r, int64_t now)
{
    bool floats = r->flags & RESV_TIME_FLOAT;
    int64_t at = floats      ? r->float_length_sec ? RESV_NEVER : r->end_at
                 : r->active ? r->end_at
                             : r->start_at;
    if (is_idle(r)) {
        int64_t purge = r->idle_at ? r->idle_at + r->purge_sec : now;
        at = purge < at ? purge : at;
    }
    return at;
}

int64_t resv_due_ms(const struct control *c)
{
    int64_t now = control_wall(c), first = RESV_NEVER;
    vec_foreach (&c->cluster->resvs, r) {
        int64_t at = next_event(*r, now);
        first = at < first ? at : first;
    }
    if (first == RESV_NEVER)
        return INT64_MAX;
    int64_t wait = first > now ? first - now : 0;
    return control_mono(c) + (wait < LOOK_SEC ? wait : LOOK_SEC) * 1000;
}

static void begin_reservation(struct control *c, struct resv *r)
{
    r->active = true;
    r->idle_at = 0;
    resv_hook_begin(c, r);
    control_log(c, LOG_LVL_INFO, "reservation %s begins", r->name);
    resv_changed(c, r);
    update_waiting_jobs(c, r);
}

/* An occurrence has ended: the reservation recurs, or is deleted. */
static void end_reservation(struct control *c, struct resv *r, int64_t now)
{
    resv_hook_end(c, r);
    if (!resv_advance(r, now)) {
        resv_drop(c, r);
        return;
    }
    r->active = false;
    control_log(c, LOG_LVL_INFO, "reservation %s ends until it comes again", r->name);
    resv_changed(c, r);
    update_waiting_jobs(c, r);
}

/* Returns true if the reservation is deleted. */
static bool settle_reservation(struct control *c, struct resv *r, int64_t now)
{
    size_t before = c->cluster->resvs.len;
    bool floats = r->flags & RESV_TIME_FLOAT;
    if (floats ? !r->float_length_sec && r->end_at <= now : r->end_at <= now)
        end_reservation(c, r, now);
    if (c->cluster->resvs.len < before)
        return true;
    if (!r->active && resv_is_now(r, now))
        begin_reservation(c, r);
    if (!is_idle(r)) {
        r->idle_at = 0;
    } else if (!r->idle_at) {
        r->idle_at = now;
    } else if (now >= r->idle_at + r->purge_sec) {
        resv_drop(c, r);
        return true;
    }
    return false;
}

void resv_tick(struct control *c)
{
    int64_t now = control_wall(c);
    if (c->cluster->resvs.len && resv_due_ms(c) <= control_mono(c))
        start_drop_plan(c);
    for (size_t i = 0; i < c->cluster->resvs.len;)
        if (!settle_reservation(c, c->cluster->resvs.data[i], now))
            i++;
}

int resv_check(const struct control *c, struct err *err)
{
    vec_foreach (&c->cluster->resvs, at) {
        const struct resv *r = *at;
        uint32_t pending = 0, running = 0;
        for (size_t i = 0; i < c->cluster->jobs.len; i++) {
            const struct job *j = c->cluster->jobs.data[i];
            pending += is_bound(j, r);
            running += attempt_of(j)->resv == r;
            if (attempt_of(j)->resv == r && (j->state == PB__JOB_STATE__PENDING ||
                                             (job_is_final(j) && !attempt_of(j)->completing)))
                return err_set(err, -ERR_INTERNAL, "job %u is in reservation %s and does not run",
                               j->id, r->name);
        }
        if (pending != r->pending || running != r->running)
            return err_set(err, -ERR_INTERNAL, "reservation %s: the counts of its jobs are wrong",
                           r->name);
    }
    return 0;
}
