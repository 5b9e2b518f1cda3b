/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine as a whole: its life, its deadlines, and the end of each turn. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "control/internal.h"

#define BEGIN_LOOK_SEC 60
#define PURGE_LATER_MS 1000
#define PLAN_WORK 200000 /* looks at a node: a few milliseconds */

struct control *control_new(struct conf *conf, const struct env *env)
{
    struct control *c = mem_new(struct control);
    c->conf = conf;
    c->env = env;
    c->cluster = cluster_new(conf);
    c->next_id = c->reserved_id = conf->first_job_id;
    c->wake_at_ms = INT64_MAX;
    c->plan_work = PLAN_WORK;
    arena_init(&c->restored, 0);
    return c;
}

void control_free(struct control *c)
{
    if (!c)
        return;
    start_drop_plan(c);
    priority_done(c);
    str_done(&c->said);
    why_done(c);
    cluster_free(c->cluster);
    conf_free(c->conf);
    idmap_done(&c->calls);
    made_free(c);
    str_done(&c->newer);
    vec_done(&c->asides);
    depend_forget_told(c);
    vec_done(&c->fresh);
    arena_done(&c->restored);
    free(c);
}

void control_set_plan_work(struct control *c, uint64_t work)
{
    c->plan_work = work;
}

const struct conf *control_conf(const struct control *c)
{
    return c->conf;
}

void control_set_store_low(struct control *c, bool low)
{
    c->store_low = low;
}

void control_log(struct control *c, enum log_level level, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->env->log(c->env->ctx, level, "control", text);
}

void control_refuse(struct control *c, uint64_t call, const struct err *err)
{
    control_release(c, call);
    c->env->reply_error(c->env->ctx, call, -err->code, err->text);
}

void control_refuse_code(struct control *c, uint64_t call, int code, const char *detail)
{
    struct err err = {0};
    err_set(&err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
    control_refuse(c, call, &err);
}

void control_done(struct control *c, uint64_t call)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    control_release(c, call);
    c->env->reply(c->env->ctx, call, &empty.base);
}

void control_hold(struct control *c, uint64_t call, const struct job *j)
{
    idmap_set(&c->calls, call, j->id);
}

void control_release(struct control *c, uint64_t call)
{
    idmap_remove(&c->calls, call);
}

bool control_owns(const struct caller *who, const struct job *j)
{
    return who->uid == j->uid || who->is_operator || who->is_admin;
}

void control_reason(struct control *c, struct job *j, const char *reason, const char *detail)
{
    if (str_eq(j->reason, reason) && str_eq(j->reason_detail, detail))
        return;
    j->reason = reason;
    free(j->reason_detail);
    j->reason_detail = mem_strdup(detail);
    j->stamp = ++c->cluster->stamp;
    if (!j->dirty)
        job_pack_live(c->cluster, j);
}

void control_save_meta(struct control *c)
{
    struct str packed = STR_INIT;
    Pb__StoreMeta m = PB__STORE_META__INIT;
    m.has_next_job_id = m.has_epoch = m.has_format = true;
    m.next_job_id = c->reserved_id;
    m.epoch = c->epoch;
    m.format = RECORD_FORMAT;
    m.cluster = (char *)c->conf->cluster_name;
    m.program = (char *)SLUICE_VERSION;
    pb_pack(&m.base, &packed);
    str_append(&packed, c->newer.data, c->newer.len);
    c->env->put(c->env->ctx, RECORD_META, 0, NULL, packed.data, packed.len);
    str_done(&packed);
}

void control_save_node(struct control *c, const struct node *n)
{
    struct str packed = STR_INIT;
    node_pack_stored(n, &packed);
    c->env->put(c->env->ctx, RECORD_NODE, 0, n->name, packed.data, packed.len);
    str_done(&packed);
    pool_update(c->cluster, n);
    c->cluster->stamp++;
}

/* --- start from stored records ------------------------------------------------------------------
 */

static int restore_job(struct control *c, uint64_t number, const void *data, size_t len,
                       struct err *err)
{
    arena_reset(&c->restored, 0);
    const Pb__JobRecord *r = arena_unpack(&c->restored, &pb__job_record__descriptor, data, len);
    int rc = r ? job_record_check(r, number, err)
               : err_set(err, -ERR_STORE_DAMAGED, "job %llu: its record does not decode",
                         (unsigned long long)number);
    if (rc)
        return rc;
    struct job *j = cluster_add_job(c->cluster, (uint32_t)number);
    if (!j)
        return err_set(err, -ERR_STORE_DAMAGED, "job %llu: stored twice",
                       (unsigned long long)number);
    rc = job_restore(c->cluster, j, r, err);
    if (rc != 0) {
        cluster_remove_job(c->cluster, j);
        return rc;
    }
    bool first = !j->array || j->array->id == j->id;
    if (r->spec->request_id.len == 16 && first) {
        j->request_key = submit_request_key(r->spec->request_id.data, j->uid);
        idmap_set(&c->cluster->requests, j->request_key, j->id);
    }
    return 0;
}

void control_set_forgetful(struct control *c)
{
    c->forgetful = true;
}

int control_check_format(const void *meta, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__StoreMeta *m = arena_unpack(&arena, &pb__store_meta__descriptor, meta, len);
    if (!m || m->format <= RECORD_FORMAT)
        return 0;
    return err_set(err, -ERR_VERSION,
                   "its records were written by a newer version (%s%sformat %u, this program knows "
                   "%u): start that version; nothing was changed",
                   m->program ? m->program : "", m->program ? ", " : "", m->format, RECORD_FORMAT);
}

static int restore_meta(struct control *c, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__StoreMeta *m = arena_unpack(&arena, &pb__store_meta__descriptor, data, len);
    if (!m)
        return err_set(err, -ERR_STORE_DAMAGED, "the store's own record does not decode");
    c->next_id = c->reserved_id = m->next_job_id;
    c->epoch = m->epoch;
    str_clear(&c->newer);
    pb_pick_unknown(&m->base, &c->newer);
    return 0;
}

static int restore_named(struct control *c, enum record_kind kind, const char *name,
                         const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (kind == RECORD_NODE) {
        const Pb__NodeRecord *r = arena_unpack(&arena, &pb__node_record__descriptor, data, len);
        if (r && pb_find_unknown(&r->base))
            return err_set(err, -ERR_VERSION,
                           "node %s: its record was written by a newer version, with what this one "
                           "does not know and could not keep",
                           name);
        struct node *n = cluster_find_node(c->cluster, name);
        if (r && n)
            node_restore(c->cluster, n, r);
        else if (r)
            reconfig_keep_gone(c->cluster, data, len);
        return r ? 0
                 : err_set(err, -ERR_STORE_DAMAGED, "node %s: its record does not decode", name);
    }
    const Pb__PartChange *r = arena_unpack(&arena, &pb__part_change__descriptor, data, len);
    return r ? update_restore_part(c, r)
             : err_set(err, -ERR_STORE_DAMAGED, "partition %s: its record does not decode", name);
}

static int restore(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                   const void *data, size_t len, struct err *err)
{
    switch (kind) {
    case RECORD_META:
        return restore_meta(c, data, len, err);
    case RECORD_JOB:
        return restore_job(c, number, data, len, err);
    case RECORD_NODE:
    case RECORD_PART:
        return restore_named(c, kind, name, data, len, err);
    case RECORD_MADE:
        return made_restore(c, data, len, err);
    case RECORD_GIVEN_UP:
        aside_restore(c, (uint32_t)number);
        return 0;
    case RECORD_SHUTDOWN:
        return shutdown_restore(c, data, len, err);
    case RECORD_ARRAY:
        return array_restore(c->cluster, number, data, len, err);
    case RECORD_RESV:
        return resv_take_record(c, data, len, err);
    case RECORD_PAYLOAD:
        return 0;
    }
    return err_set(err, -ERR_VERSION, "a record of the kind %d, which this version does not know",
                   (int)kind);
}

int control_restore(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                    const void *data, size_t len, struct err *err)
{
    int rc = restore(c, kind, number, name, data, len, err);
    if (rc == 0 && kind == RECORD_META)
        c->meta_read = true;
    else if (rc == 0)
        c->records++;
    return rc;
}

/* How long ago something of a job's record was: by the clock that cannot be set, unless the machine
 * was booted since, or is another one. */
static int64_t since_ms(const struct control *c, const struct job *j, int64_t mono_ms,
                        int64_t wall_sec)
{
    int64_t ms = (control_wall(c) - wall_sec) * 1000;
    if (mono_ms && job_run(j)->boot && job_run(j)->boot == control_boot(c))
        ms = control_mono(c) - mono_ms;
    return ms > 0 ? ms : 0;
}

/* What was counted by another boot's clock, or another machine's, is from now on by this one's: the
 * wall clock may be set before the next start. */
static void resume_clock(struct control *c, struct job *j)
{
    struct job_run *run = job_make_run(j);
    int64_t ran_ms = since_ms(c, j, run->start_mono_ms, j->start_at + run->suspended_sec);
    if (run->boot != control_boot(c))
        job_touch(c->cluster, j);
    run->start_mono_ms = control_mono(c) - ran_ms;
    run->boot = control_boot(c);
}

/* The clocks of a job go on where they were. */
static void resume_job(struct control *c, struct job *j)
{
    int64_t now = control_mono(c), wall = control_wall(c);
    resv_resume_job(c, j);
    if (j->state == PB__JOB_STATE__PENDING) {
        depend_resume(c, j);
        submit_enqueue(c, j);
        j->gone_mono_ms = j->batch ? 0 : now;
    } else if (!job_is_final(j)) {
        if (j->state == PB__JOB_STATE__RUNNING)
            resume_clock(c, j);
        preempt_restored(c, j);
        control_set_end(c, j);
        order_insert(&c->cluster->ends, &job_make_run(j)->ends, wall + control_left_sec(c, j),
                     j->id);
        job_make_run(j)->repeat_mono_ms =
            j->batch && !j->launched && !j->configuring ? now + CONTROL_REPEAT_MS : 0;
        j->gone_mono_ms = j->configuring && !j->batch ? now : 0;
        suspend_restored(c, j);
        if (j->lost_node) { /* the configuration is another than before */
            control_log(c, LOG_LVL_INFO, "job %u lost nodes that are not configured any more",
                        j->id);
            finish_without(c, j, j->lost_first);
        }
        hook_resume(c, j);
    } else if (j->completing) {
        order_insert(&c->cluster->ends, &job_make_run(j)->ends, wall, j->id);
        job_make_run(j)->repeat_mono_ms = now + CONTROL_REPEAT_MS;
        hook_resume(c, j);
        finish_clean(c, j); /* its last node may not be in the configuration any more */
    } else {
        int64_t age_ms = c->conf->min_job_age_sec * 1000,
                over_ms = since_ms(c, j, job_run(j)->end_mono_ms, j->end_at);
        job_make_run(j)->purge_mono_ms = now + (over_ms < age_ms ? age_ms - over_ms : 0);
    }
    control_schedule(c, j);
}

void control_start(struct control *c)
{
    aside_replace_meta(c);
    c->epoch++;
    c->started = true;
    arena_done(&c->restored);
    control_save_meta(c);
    split_start(c);
    shutdown_resume(c);
    priority_start(c);
    for (size_t i = 0; i < c->cluster->jobs.len; i++)
        resume_job(c, c->cluster->jobs.data[i]);
    vec_foreach (&c->cluster->nodes, n)
        node_heard(c, *n);
    resv_tick(c);
    c->plan_wanted = true;
}

uint64_t control_epoch(const struct control *c)
{
    return c->epoch;
}

void control_stop(struct control *c, bool all)
{
    if (all)
        shutdown_over(c);
    if (c->reserved_id == c->next_id)
        return;
    c->reserved_id = c->next_id;
    control_save_meta(c);
}

/* --- deadlines
 * ------------------------------------------------------------------------------------ */

/* Seconds that jobs of its partition may exceed their limits by. */
static int64_t over_limit_sec(const struct control *c, const struct job *j)
{
    int64_t of_part = j->part ? j->part->conf.over_time_limit_sec : -1;
    return of_part >= 0 ? of_part : c->conf->over_time_limit_sec;
}

int64_t control_left_sec(const struct control *c, const struct job *j)
{
    if (j->state == PB__JOB_STATE__SUSPENDED) /* nobody knows when it goes on */
        return CLUSTER_NO_LIMIT_SEC;
    int64_t left = job_limit_sec(j) - (control_mono(c) - job_run(j)->start_mono_ms) / 1000;
    return left > 0 ? left : 0;
}

void control_set_end(struct control *c, struct job *j)
{
    struct job_run *run = job_make_run(j);
    int64_t over = over_limit_sec(c, j), now = control_mono(c);
    if (j->state == PB__JOB_STATE__SUSPENDED) {
        run->limit_mono_ms = INT64_MAX;
        run->warn_mono_ms = run->mail_mono_ms = 0;
        return;
    }
    int64_t limit_at = run->start_mono_ms + job_limit_sec(j) * 1000;
    bool never = j->limit_sec == INT64_MAX || over >= CLUSTER_NO_LIMIT_SEC;
    run->limit_mono_ms = never ? INT64_MAX : limit_at + over * 1000;
    int64_t resv_ms = resv_limit_ms(c, j);
    run->limit_mono_ms = resv_ms < run->limit_mono_ms ? resv_ms : run->limit_mono_ms;
    if (run->grace_mono_ms && run->grace_mono_ms < run->limit_mono_ms)
        run->limit_mono_ms = run->grace_mono_ms;
    if (run->limit_mono_ms < now)
        run->limit_mono_ms = now;
    mail_schedule(c, j);
    run->warn_mono_ms = 0;
    if (j->limit_sec == INT64_MAX)
        limit_at = INT64_MAX;
    if (c->announced && c->shutdown_mono_ms < limit_at)
        limit_at = c->shutdown_mono_ms;
    if (j->warn_signal && !j->warned && limit_at != INT64_MAX) {
        int64_t at = limit_at - (int64_t)j->warn_sec * 1000;
        run->warn_mono_ms = at > now ? at : now;
    }
}

static void earlier(int64_t *due, int64_t at)
{
    if (at > 0 && at < *due)
        *due = at;
}

void control_schedule(struct control *c, struct job *j)
{
    const struct job_run *run = job_run(j);
    int64_t due = INT64_MAX;
    if (j->state == PB__JOB_STATE__PENDING) {
        int64_t wait = j->begin_at - control_wall(c);
        if (wait > 0) /* a time of the wall clock, which may be set meanwhile */
            earlier(&due, control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        wait = depend_wait_sec(c, j);
        if (wait > 0)
            earlier(&due, control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        if (depend_is_doomed(c, j) || depend_has_doomed_part(c, j))
            earlier(&due, control_mono(c));
        earlier(&due, deadline_due_ms(c, j));
        wait = j->preempt_look_at - control_wall(c);
        if (wait > 0)
            earlier(&due, control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        wait = plan_switches_until(c->cluster, j) - control_wall(c);
        if (wait > 0)
            earlier(&due, control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        if (j->gone_mono_ms)
            earlier(&due, j->gone_mono_ms + CONTROL_WAITER_MS);
    } else {
        if (j->configuring && j->gone_mono_ms)
            earlier(&due, j->gone_mono_ms + CONTROL_WAITER_MS);
        if (!job_is_final(j) && !j->configuring) {
            earlier(&due, run->limit_mono_ms);
            earlier(&due, run->warn_mono_ms);
            earlier(&due, run->mail_mono_ms);
        }
        earlier(&due, run->repeat_mono_ms);
        earlier(&due, run->purge_mono_ms);
    }
    if (due == INT64_MAX)
        order_remove(&c->cluster->due, &j->due);
    else
        order_move(&c->cluster->due, &j->due, due, j->id);
}

static void repeat_orders(struct control *c, struct job *j)
{
    struct job_run *run = job_make_run(j);
    run->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_MS;
    if (j->completing && job_nodes_left(j))
        finish_send_remaining(c, j, NULL, (uint32_t)c->conf->kill_wait_sec);
    else if (j->state == PB__JOB_STATE__RUNNING && j->batch && !j->launched && !j->configuring)
        start_send_batch(c, j);
    else
        run->repeat_mono_ms = 0;
    if (suspend_repeat(c, j))
        run->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_MS;
    if (!job_is_final(j) && j->state != PB__JOB_STATE__PENDING)
        cancel_repeat_steps(c, j);
}

static void purge(struct control *c, struct job *j)
{
    c->env->del(c->env->ctx, RECORD_JOB, j->id, NULL);
    split_purge(c, j);
    cluster_remove_job(c->cluster, j);
}

static void job_due(struct control *c, struct job *j)
{
    const struct job_run *run = job_run(j);
    int64_t now = control_mono(c);
    if (run->purge_mono_ms && now >= run->purge_mono_ms && depend_needs(c, j))
        job_make_run(j)->purge_mono_ms = now + PURGE_LATER_MS;
    if (run->purge_mono_ms && now >= run->purge_mono_ms) {
        purge(c, j);
        return;
    }
    bool gone = j->gone_mono_ms && now >= j->gone_mono_ms + CONTROL_WAITER_MS;
    bool runs = !job_is_final(j) && j->state != PB__JOB_STATE__PENDING && !j->configuring;
    if ((j->state == PB__JOB_STATE__PENDING || j->configuring) && gone)
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, NULL, NULL);
    else if (j->state == PB__JOB_STATE__PENDING && depend_is_doomed(c, j))
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, "DependencyNeverSatisfied", NULL);
    else if (j->state == PB__JOB_STATE__PENDING && depend_has_doomed_part(c, j))
        depend_part(c, j);
    else if (j->state == PB__JOB_STATE__PENDING && deadline_missed(c, j))
        finish_job(c, j, PB__JOB_STATE__DEADLINE, 0, "DeadLine", NULL);
    else if (j->state == PB__JOB_STATE__PENDING)
        submit_enqueue(c, j);
    else if (runs && now >= run->limit_mono_ms && run->grace_mono_ms && now >= run->grace_mono_ms)
        finish_job(c, j, PB__JOB_STATE__PREEMPTED, SIGTERM, NULL, "PREEMPTION");
    else if (runs && now >= run->limit_mono_ms)
        finish_job(c, j, PB__JOB_STATE__TIMEOUT, 0, "TimeLimit", "TIME LIMIT");
    runs = runs && j->state == PB__JOB_STATE__RUNNING;
    if (runs && job_run(j)->warn_mono_ms && now >= job_run(j)->warn_mono_ms)
        cancel_warn(c, j);
    if (runs && job_run(j)->mail_mono_ms && now >= job_run(j)->mail_mono_ms)
        mail_due(c, j);
    if (job_run(j)->repeat_mono_ms && now >= job_run(j)->repeat_mono_ms)
        repeat_orders(c, j);
    control_schedule(c, j);
}

void control_tick(struct control *c)
{
    int64_t now = control_mono(c);
    struct order_link *l;
    c->wake_at_ms = INT64_MAX;
    while ((l = order_first(&c->cluster->due)) && l->key <= now) {
        struct job *j = order_item(l, struct job, due);
        order_remove(&c->cluster->due, l);
        job_due(c, j);
    }
    while ((l = order_first(&c->cluster->silent)) && l->key <= now)
        node_fail_silent(c, order_item(l, struct node, silence));
    shutdown_tick(c);
    priority_tick(c);
    resv_tick(c);
}

static void set_wake(struct control *c)
{
    const struct order_link *job = order_first(&c->cluster->due),
                            *node = order_first(&c->cluster->silent);
    int64_t at = job ? job->key : INT64_MAX;
    if (node && node->key < at)
        at = node->key;
    if (shutdown_due_ms(c) < at)
        at = shutdown_due_ms(c);
    if (priority_due_ms(c) < at)
        at = priority_due_ms(c);
    if (resv_due_ms(c) < at)
        at = resv_due_ms(c);
    if (depend_due_ms(c) < at)
        at = depend_due_ms(c);
    if (c->planning || c->plan_wanted || c->ranking.moving || why_is_due(c))
        at = control_mono(c);
    if (at == INT64_MAX || at == c->wake_at_ms)
        return;
    c->wake_at_ms = at;
    c->env->wake_at(c->env->ctx, at);
}

static void write_dirty(struct control *c)
{
    struct str packed = STR_INIT;
    size_t left = 0;
    vec_foreach (&c->cluster->dirty, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        if (!j || !j->dirty)
            continue;
        if (control_is_on_trial(j)) {
            c->cluster->dirty.data[left++] = *id;
            continue;
        }
        j->dirty = false;
        job_pack_live(c->cluster, j);
        str_clear(&packed);
        job_pack_record(j, &packed);
        c->env->put(c->env->ctx, RECORD_JOB, j->id, NULL, packed.data, packed.len);
    }
    c->cluster->dirty.len = left;
    str_done(&packed);
}

void control_turn(struct control *c)
{
    c->turns++;
    begun_sort(c->cluster);
    depend_turn(c);
    priority_turn(c);
    start_plan(c);
    start_answer_fresh(c);
    why_turn(c);
    if (c->forgetful) /* they stay stale, and are made when they are shown */
        vec_clear(&c->cluster->dirty);
    if (c->cluster->dirty.len)
        write_dirty(c);
    if (c->cluster->dirty_arrays.len)
        split_write(c);
    set_wake(c);
}

/* --- the rest
 * --------------------------------------------------------------------------------------- */

static void waiter_gone(struct control *c, struct job *j, uint64_t call)
{
    if (j->alloc_call == call) {
        j->alloc_call = 0;
        if (j->state == PB__JOB_STATE__PENDING || j->configuring)
            j->gone_mono_ms = control_mono(c);
    }
    for (size_t i = j->end_calls.len; i-- > 0;)
        if (j->end_calls.data[i] == call)
            vec_remove(&j->end_calls, i);
    struct job_run *run = j->run;
    for (size_t i = run ? run->waiting_steps.len : 0; i-- > 0;)
        if (run->waiting_steps.data[i].call == call) {
            str_done(&run->waiting_steps.data[i].spec);
            vec_remove(&run->waiting_steps, i);
        }
    control_schedule(c, j);
}

void control_call_gone(struct control *c, uint64_t call)
{
    uint32_t id;
    if (why_call_gone(c, call) || !idmap_get(&c->calls, call, &id))
        return;
    idmap_remove(&c->calls, call);
    split_call_gone(c, id, call);
    struct job *j = cluster_find_job(c->cluster, id);
    if (j)
        waiter_gone(c, j, call);
}

int control_may_read_script(struct control *c, const struct caller *who, uint32_t job_id,
                            uint32_t *payload)
{
    const struct job *j = cluster_find_job(c->cluster, job_id);
    if (!j && array_find(c->cluster, job_id))
        j = array_first(array_find(c->cluster, job_id));
    if (!j)
        return -ERR_NO_JOB;
    *payload = split_payload_id(j);
    return control_owns(who, j) ? 0 : -ERR_ACCESS;
}

uint32_t control_next_job_id(const struct control *c)
{
    return c->next_id;
}

void control_stats(const struct control *c, Pb__CtlStats *s)
{
    size_t up = 0;
    vec_foreach (&c->cluster->nodes, n)
        up += node_is_usable(*n);
    s->has_jobs = s->has_pending = s->has_running = s->has_turns = s->has_nodes = s->has_nodes_up =
        true;
    s->jobs = c->cluster->jobs.len;
    s->pending = c->cluster->pending;
    s->running = c->cluster->ends.count; /* running and completing */
    s->turns = c->turns;
    s->nodes = c->cluster->nodes.len;
    s->nodes_up = up;
}

int control_check(const struct control *c, struct err *err)
{
    size_t pending = 0, holding = 0;
    int rc = resv_check(c, err);
    if (rc != 0)
        return rc;
    vec_foreach (&c->cluster->jobs, at) {
        const struct job *j = *at;
        pending += j->state == PB__JOB_STATE__PENDING;
        holding += job_run(j)->ends.in;
        if (depend_check(c, j, err) != 0)
            return -ERR_INTERNAL;
        if (several_is_queued(j) && j->state != PB__JOB_STATE__PENDING)
            return err_set(err, -ERR_INTERNAL, "job %u is queued and not pending", j->id);
        if (!several_keys_hold(j))
            return err_set(err, -ERR_INTERNAL, "job %u is not queued by its priority", j->id);
        if (job_nodes_left(j) && !job_run(j)->ends.in)
            return err_set(err, -ERR_INTERNAL, "job %u holds nodes and nothing ends it", j->id);
    }
    if (pending != c->cluster->pending || holding != c->cluster->ends.count)
        return err_set(err, -ERR_INTERNAL, "the counts of jobs are wrong");
    rc = array_check(c->cluster, err);
    if (rc == 0)
        rc = license_check(c->cluster, err);
    return rc ? rc : alloc_check(c->cluster, err);
}
