/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The start from stored records: the state is restored, and jobs continue. */
#include "base/pb.h"
#include "control/admin/license_update.h"
#include "control/admin/node_dynamic.h"
#include "control/admin/node_topology.h"
#include "control/admin/reconfig.h"
#include "control/admin/shutdown.h"
#include "control/admin/update_node.h"
#include "control/admin/update_part.h"
#include "control/core/aside.h"
#include "control/core/reply.h"
#include "control/event/event.h"
#include "control/event/record.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/cancel.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/hook.h"
#include "control/life/preempt.h"
#include "control/life/priority.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/split.h"
#include "control/life/suspend.h"
#include "control/node/node.h"
#include "control/report/reboot.h"
#include "control/step/step.h"
#include "control/submit/submit.h"

static int restore_job(struct control *c, uint64_t number, const void *data, size_t len,
                       struct err *err)
{
    uint32_t holder;
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
    if (r->spec->request_id.len == 16) {
        uint64_t key = submit_request_key(r->spec->request_id.data, j->requester_uid);
        if (!idmap_get(&c->cluster->requests, key, &holder)) { /* one record of an array */
            j->request_key = key;
            idmap_set(&c->cluster->requests, key, j->id);
        }
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

/* By the clock that cannot be set, unless the machine was booted since, or is another one. */
static void restore_slice(struct control *c, const Pb__StoreMeta *m)
{
    int64_t left_ms = m->slice_ends_wall_ms - control_wall_ms(c);
    if (!m->has_slice_ends_mono_ms)
        return;
    if (m->slice_boot && m->slice_boot == control_boot(c))
        left_ms = m->slice_ends_mono_ms - control_mono(c);
    c->slice_ends_ms = control_mono(c) + (left_ms > 0 ? left_ms : 0);
}

static int restore_meta(struct control *c, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__StoreMeta *m = arena_unpack(&arena, &pb__store_meta__descriptor, data, len);
    if (!m)
        return err_set(err, -ERR_STORE_DAMAGED, "the store's own record does not decode");
    c->next_id = c->reserved_id = m->next_job_id;
    if (m->has_given_job_id && m->given_job_id <= m->next_job_id)
        c->next_id = m->given_job_id;
    c->epoch = m->epoch;
    trigger_lead_restore(c, m);
    restore_slice(c, m);
    c->events->last = m->last_event;
    c->attempts->last = m->last_attempt;
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

static int restore_record(struct control *c, enum record_kind kind, uint64_t number,
                          const char *name, const void *data, size_t len, struct err *err)
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
        return node_dynamic_restore(c, data, len, err);
    case RECORD_GIVEN_UP:
        aside_restore(c, (uint32_t)number);
        return 0;
    case RECORD_SHUTDOWN:
        return shutdown_restore(c, data, len, err);
    case RECORD_ARRAY:
        return array_restore(c->cluster, number, data, len, err);
    case RECORD_RESV:
        return resv_take_record(c, data, len, err);
    case RECORD_TRIGGER:
        return trigger_restore(c, number, data, len, err);
    case RECORD_EVENT:
        return event_restore(c, number, data, len, err);
    case RECORD_ATTEMPT:
        return event_restore_row(c, number, data, len, err);
    case RECORD_CONSUMER:
        return event_restore_consumer(c, data, len, err);
    case RECORD_LICENSE:
        return license_update_restore(c, data, len, err);
    case RECORD_PAYLOAD:
        return 0;
    }
    return err_set(err, -ERR_VERSION, "a record of the kind %d, which this version does not know",
                   (int)kind);
}

int control_restore(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                    const void *data, size_t len, struct err *err)
{
    int rc = restore_record(c, kind, number, name, data, len, err);
    if (rc == 0 && kind == RECORD_META)
        c->meta_read = true;
    else if (rc == 0)
        c->records++;
    return rc;
}

/* How long ago something of a job's record was: by the clock that cannot be set, unless the machine
 * was booted since, or is another one. */
static int64_t since_ms(const struct control *c, const struct job *j, int64_t mono_ms,
                        int64_t wall_ms)
{
    int64_t ms = control_wall_ms(c) - wall_ms;
    if (mono_ms && attempt_of(j)->boot && attempt_of(j)->boot == control_boot(c))
        ms = control_mono(c) - mono_ms;
    return ms > 0 ? ms : 0;
}

/* What was counted by another boot's clock, or another machine's, is from now on by this one's: the
 * wall clock may be set before the next start. */
static void resume_clock(struct control *c, struct job *j)
{
    const struct attempt *attempt = attempt_of(j);
    int64_t wall_ms = attempt->start_wall_ms ? attempt->start_wall_ms
                                             : (attempt->start_at + attempt->suspended_sec) * 1000;
    if (attempt->boot != control_boot(c))
        job_touch(c->cluster, j);
    control_start_clock(c, j, since_ms(c, j, attempt->start_mono_ms, wall_ms));
}

/* The clocks of a job continue where they were. */
static void resume_job(struct control *c, struct job *j)
{
    int64_t now = control_mono(c), wall = control_wall(c);
    burst_resume(c, j);
    resv_resume_job(c, j);
    if (j->state == PB__JOB_STATE__PENDING) {
        depend_resume(c, j);
        enqueue_job(c, j);
        j->gone_mono_ms = j->batch || !job_set_is_leader(j) ? 0 : now;
    } else if (!job_is_final(j)) {
        if (j->state == PB__JOB_STATE__RUNNING)
            resume_clock(c, j);
        preempt_restored(c, j);
        vec_foreach (&attempt_of(j)->steps, s) {
            step_limit_restore(j, s);
            step_watch(c, j, s);
        }
        control_set_end(c, j);
        control_move_end(c, j);
        attempt_make(j)->repeat_mono_ms =
            j->batch && !attempt_of(j)->launched && !attempt_of(j)->configuring
                ? now + CONTROL_REPEAT_MS
                : 0;
        cancel_restored(c, j);
        j->gone_mono_ms =
            (attempt_of(j)->configuring && !j->batch && job_set_is_leader(j)) || step_is_awaited(j)
                ? now
                : 0;
        inactive_look(c, j);
        suspend_restored(c, j);
        if (j->lost_node) { /* the configuration is another than before */
            control_log(c, LOG_LVL_INFO, "job %u lost nodes that are no longer configured", j->id);
            finish_without(c, j, j->lost_host);
        }
        hook_resume(c, j);
    } else if (attempt_of(j)->completing) {
        /* It is there already when the end of its leader has ended it. */
        order_move(&c->cluster->ends, &attempt_make(j)->ends, wall, j->id);
        attempt_make(j)->repeat_mono_ms = now + CONTROL_REPEAT_MS;
        hook_resume(c, j);
        finish_clean(c, j); /* its last node may have left the configuration */
    } else {
        attempt_make(j)->purge_mono_ms = finish_purge_ms(
            c, since_ms(c, j, attempt_of(j)->end_mono_ms, attempt_of(j)->end_at * 1000));
    }
    control_schedule(c, j);
}

/* Of the ids that were reserved those are given that a record names: a job's record is durable
 * before anybody hears of the job, and the record of the store itself is put again before the job's
 * record is deleted. When records are lost, all that were reserved count as given. */
static void recover_next_id(struct control *c)
{
    if (c->lost)
        c->next_id = c->reserved_id;
    vec_foreach (&c->cluster->jobs, j)
        if ((*j)->id >= c->next_id && (*j)->id < c->reserved_id)
            c->next_id = (*j)->id + 1;
    vec_foreach (&c->asides, a)
        if (a->job_id >= c->next_id && a->job_id < c->reserved_id)
            c->next_id = a->job_id + 1;
}

void control_start(struct control *c)
{
    recover_next_id(c);
    aside_replace_meta(c);
    c->epoch++;
    c->started = true;
    arena_done(&c->restored);
    node_topology_settle(c, c->cluster, c->conf);
    split_start(c);
    trigger_start(c);
    event_start(c);
    control_save_meta(c);
    shutdown_resume(c);
    priority_start(c);
    for (size_t i = 0; i < c->cluster->jobs.len; i++)
        resume_job(c, c->cluster->jobs.data[i]);
    vec_foreach (&c->cluster->nodes, n)
        node_heard(c, *n);
    update_node_resume_look(c);
    reboot_count(c);
    resv_hook_resume(c);
    resv_report_losses(c, NULL, NULL);
    resv_tick(c);
    burst_start_desk(c);
    c->plan_wanted = true;
}

/* --- set aside -----------------------------------------------------------------------------------
 */

void control_set_aside(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                       bool before)
{
    struct node *n = kind == RECORD_NODE && !before ? cluster_find_node(c->cluster, name) : NULL;
    if (kind == RECORD_JOB && number <= UINT32_MAX &&
        !cluster_find_job(c->cluster, (uint32_t)number))
        aside_add(c, (uint32_t)number, false);
    if (n)
        node_drain(c, n, "Its record was damaged and set aside");
    if (kind == RECORD_PART && !before)
        update_part_down(c, name);
}
