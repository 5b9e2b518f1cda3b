/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/admin/job_change.h"

#include <string.h>

#include "base/pb.h"
#include "control/core/reply.h"
#include "control/core/user_share.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/mail.h"
#include "control/life/priority.h"
#include "control/life/ready.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/shrink.h"
#include "control/life/start.h"
#include "control/step/step.h"
#include "control/submit/access.h"
#include "control/submit/submit.h"
#include "control/submit/submit_set.h"
#include "sched/why/relax.h"

/* --- authorise, and plugins --------------------------------------------------------------------
 */

/* What may be changed of a job's spec, with a key; the rest is refused. */
static const struct {
    const char *field, *shown;
    bool while_running;
} fields[] = {
#define NEVER NULL, false
#define PENDING(key) key, false
#define ALWAYS(key) key, true
#define JOB_LIVE(...)
#define JOB_SPEC(field, options, update, ...) {#field, update},
#include "proto/job_field.def"
#undef NEVER
#undef PENDING
#undef ALWAYS
};

static int check_field(const struct job *j, const char *field, struct err *err)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].field, field) != 0 || !fields[i].shown)
            continue;
        if (!fields[i].while_running && j->state != PB__JOB_STATE__PENDING)
            return control_set_error(err, ERR_NOT_PENDING, fields[i].shown);
        return 0;
    }
    return control_set_error(err, ERR_CANNOT_UPDATE, field);
}

/* The limit that it states; none: the job's own. */
static int64_t find_limit_sec(const Pb__JobSpec *set, const struct job *j)
{
    if (!set->has_time_limit_sec)
        return j->limit_sec;
    return set->time_limit_sec > 0 ? cluster_bound_limit(set->time_limit_sec)
                                   : INT64_MAX; /* 0: unlimited */
}

/* What of it can be changed of a job in its state. */
static int check_settable(const struct job *j, const Pb__JobSpec *set, struct err *err)
{
    int rc = 0;
    pb_each_field (set->base.descriptor, field)
        if (rc == 0 && pb_has(&set->base, field))
            rc = check_field(j, field->name, err);
    return rc;
}

/* What only operators may set. */
static int check_privileged(const struct caller *who, const Pb__JobSpec *set, struct err *err)
{
    const char *what = set->admin_comment                       ? "AdminComment"
                       : set->burst_buffer                      ? "BurstBuffer"
                       : set->has_deadline_at_sec               ? "Deadline"
                       : set->has_core_spec                     ? "CoreSpec"
                       : set->has_thread_spec                   ? "ThreadSpec"
                       : set->has_oversubscribe                 ? "OverSubscribe"
                       : set->has_ntasks_per_node               ? "TasksPerNode"
                       : set->has_contiguous && set->contiguous ? "Contiguous"
                                                                : NULL;
    return what && !who->is_operator ? control_set_error(err, ERR_ACCESS, what) : 0;
}

static int authorise_change(const struct caller *who, const struct job *j, const Pb__JobSpec *set,
                            struct err *err)
{
    int rc = job_is_final(j) ? control_set_error(err, ERR_FINISHED, NULL) : 0;
    if (rc == 0)
        rc = check_settable(j, set, err);
    if (rc == 0)
        rc = check_privileged(who, set, err);
    if (rc == 0)
        rc = boot_authorise(who, set, err);
    if (rc == 0 && set->licenses && j->state != PB__JOB_STATE__PENDING &&
        !(who->is_operator && j->state == PB__JOB_STATE__RUNNING))
        rc = control_set_error(err, ERR_NOT_PENDING, "Licenses");
    if (rc != 0)
        return rc;
    unsigned mail;
    rc = mail_check(set, !set->mail_type || request_parse_mail(set->mail_type, &mail), err);
    if (rc != 0)
        return rc;
    rc = priority_check(who, set, err);
    if (rc != 0)
        return rc;
    if (set->has_nice && set->nice < 0 && !who->is_operator)
        return control_set_error(err, ERR_ACCESS, "a negative nice value");
    if (j->state != PB__JOB_STATE__PENDING && find_limit_sec(set, j) > j->limit_sec &&
        !who->is_operator)
        return control_set_error(err, ERR_ACCESS, "raising the time limit of a running job");
    return 0;
}

int job_change_prepare(struct control *c, const struct caller *who, const struct job *j,
                       const Pb__JobUpdate *r, Pb__JobSpec **set, struct arena *arena,
                       struct err *err)
{
    *set = NULL;
    if (!r->set)
        return 0;
    *set = arena_alloc(arena, sizeof **set);
    **set = *r->set;
    if (!job_set_is_leader(j)) /* mail is the leader's */
        (*set)->mail_type = (*set)->mail_user = NULL;
    int rc = authorise_change(who, j, *set, err);
    if (rc == 0)
        rc = boot_check_program(c, *set, err);
    return rc == 0 ? submit_consult_plugins(c, who, j, NULL, *set, arena, err) : rc;
}

/* --- its request: parse, complete, check, feasible ---------------------------------------------
 */

/* What it is to wait for from now on; an empty text: for nothing. */
static int parse_dependency(struct control *c, const struct caller *who, const struct job *j,
                            Pb__JobSpec *set, struct depend **out, struct arena *arena,
                            struct err *err)
{
    int rc = set->dependency ? depend_read(c, who, j, &set->dependency, out, arena, err) : 0;
    if (rc == 0)
        rc = depend_check_circle(c, j, *out, err);
    return rc;
}

/* Checks that the partitions of a job that leaves its reservation accept jobs without one. */
static int check_without_resv(struct job *j, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < job_partitions_count(j) && rc == 0; i++) {
        job_partitions_select(j, i);
        rc = access_check_resv(j->part, NULL, err);
    }
    job_partitions_select_first(j);
    return rc;
}

/* Finds the new partitions of the job that the caller may use; an empty list: it keeps its own. */
static int authorise_parts(struct control *c, const struct caller *who, struct job *j,
                           const Pb__JobSpec *spec, Pb__JobSpec *set, struct part_list *out,
                           struct arena *arena, struct err *err)
{
    char *asked = set->reservation, *account = set->account;
    if (set->partition && !*set->partition)
        return err_set(err, -ERR_NO_PARTITION,
                       "%s: Partition= names none; give those that it may run in",
                       err_text(ERR_NO_PARTITION));
    if (set->partition) {
        set->reservation = asked ? asked : spec->reservation;
        set->account = account ? account : spec->account;
        int rc = access_find_parts(c, who, NULL, set, false, out, arena, err);
        set->reservation = asked;
        set->account = account;
        return rc;
    }
    if (j->part)
        return asked && !*asked ? check_without_resv(j, err) : 0;
    return err_set(err, -ERR_NO_PARTITION, "%s: %s no longer exists; set another with Partition=",
                   err_text(ERR_NO_PARTITION), j->part_name ? j->part_name : "its partition");
}

/* The list is freed. */
static struct job_change_moved move_to_parts(struct job *j, struct part_list *parts)
{
    struct job_change_moved before = {j->part, j->partitions, j->limit_sec, parts->len > 0};
    if (before.moved) {
        j->partitions = NULL;
        job_partitions_set(j, parts->data, parts->len);
    }
    vec_done(parts);
    return before;
}

static void settle_move(struct job *j, struct job_change_moved *before, bool done)
{
    if (!before->moved)
        return;
    struct job_partitions *other = before->partitions;
    if (!done) {
        other = j->partitions;
        j->part = before->part;
        j->limit_sec = before->limit_sec;
    }
    struct job_partitions *kept = done ? j->partitions : before->partitions;
    j->partitions = other;
    job_partitions_free(j);
    j->partitions = kept;
}

/* Of NumCPUs, which the tasks are the newer word for. */
static void raise_cpu_count(Pb__JobSpec *spec)
{
    uint64_t per_task = spec->has_cpus_per_task && spec->cpus_per_task ? spec->cpus_per_task : 1;
    uint64_t needed = (spec->has_num_tasks ? spec->num_tasks : 1) * per_task;
    if (!spec->has_min_cpus || spec->min_cpus >= needed)
        return;
    spec->min_cpus = needed < UINT32_MAX ? (uint32_t)needed : UINT32_MAX;
    if (spec->max_cpus < spec->min_cpus)
        spec->max_cpus = spec->min_cpus;
}

/* The fields that are given, and what they put an end to. */
static void merge_fields(Pb__JobSpec *spec, const Pb__JobSpec *set)
{
    pb_each_field (set->base.descriptor, field) {
        if (!pb_has(&set->base, field))
            continue;
        pb_copy_field(&spec->base, &set->base, field);
        char **text = (char **)((char *)spec + field->offset);
        if (field->type == PROTOBUF_C_TYPE_STRING && field->label == PROTOBUF_C_LABEL_OPTIONAL &&
            !**text && !str_eq(field->name, "reservation")) /* cleared when all is checked */
            *text = NULL;
    }
    if (set->has_min_nodes)
        spec->job_size_str = NULL;
    if (set->has_min_nodes && !set->has_max_nodes && spec->has_max_nodes &&
        spec->max_nodes < spec->min_nodes)
        spec->max_nodes = spec->min_nodes;
    if (set->has_core_spec)
        spec->has_thread_spec = false;
    else if (set->has_thread_spec)
        spec->has_core_spec = false;
    if (set->has_num_tasks || set->has_cpus_per_task)
        raise_cpu_count(spec);
    if (set->has_oversubscribe && set->oversubscribe)
        spec->has_exclusive = spec->has_exclusive_topo = false;
    if (set->has_mem_per_node_mib)
        spec->has_mem_per_cpu_mib = false;
    else if (set->has_mem_per_cpu_mib)
        spec->has_mem_per_node_mib = false;
}

/* Whether the change is about licences, or about the nodes where they apply. Any other change is
 * made to a job too that requests more than there is since a count was lowered. */
static bool changes_licenses(const Pb__JobSpec *set)
{
    return set->licenses || set->partition || set->reservation || set->req_nodes ||
           set->exc_nodes || set->has_min_nodes;
}

/* Exchanges the licences of the request for each partition for those of the list. */
static void exchange_licenses(struct job *j, struct license_needs *list)
{
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        struct license_needs own = j->want.licenses;
        j->want.licenses = list[i];
        list[i] = own;
    }
    job_partitions_select_first(j);
}

/* Without its licences if these are not what is changed: otherwise nodes that have too few of them
 * would count as nodes that it does not fit. */
static int check_feasible(struct control *c, struct job *j, const Pb__JobSpec *set,
                          const Pb__JobSpec *spec, struct err *err)
{
    bool in_full = changes_licenses(set);
    _cleanup_free_ struct license_needs *hidden =
        mem_new_array(struct license_needs, job_partitions_count(j));
    if (!in_full)
        exchange_licenses(j, hidden);
    int rc = in_full ? submit_check_possible(c, j, err) : submit_check_partitions(c, j, err);
    if (rc != 0)
        rc = relax_explain_misfit(c->cluster, j, spec, err);
    if (!in_full)
        exchange_licenses(j, hidden);
    return rc;
}

/* Check, and feasible: the job asks for what the changed spec says. */
static int check_changed(struct control *c, const struct caller *who, struct job *j,
                         const Pb__JobSpec *set, const Pb__JobSpec *spec, struct err *err)
{
    int rc = 0;
    if (set->has_time_min_sec || set->has_time_limit_sec)
        rc = submit_check_time_min(j, spec, find_limit_sec(set, j), err);
    if (rc == 0 && j->state == PB__JOB_STATE__PENDING && !j->is_unfit)
        rc = check_feasible(c, j, set, spec, err);
    bool cut = j->state != PB__JOB_STATE__PENDING && j->deadline_at > control_wall(c);
    if (rc == 0 && set->has_deadline_at_sec && !cut) /* it ends a running job earlier */
        rc = deadline_check(c, j, err);
    if (rc == 0 && set->burst_buffer)
        rc = burst_check_change(c, j, spec, err);
    if (rc == 0 && set->reservation)
        rc = resv_check_job(c, who, j, spec, err);
    if (rc == 0 && set->licenses && j->set && job_set_is_whole(j))
        rc = submit_check_set_licenses(c, job_set_component(j, 0), err);
    return rc;
}

/* Its begin time is another one. What it has waited as a job that may begin stays. */
static void move_eligible_time(struct control *c, struct job *j)
{
    int64_t now = control_wall(c);
    if (j->begin_at > now)
        j->eligible_at = j->begin_at;
    else if (j->eligible_at > now)
        j->eligible_at = now;
}

/* Takes back what does not stay. */
static void settle_request(struct control *c, struct job *j, struct job_change_applied *a,
                           bool stays)
{
    if (!a->is_applied)
        return;
    a->is_applied = false;
    settle_move(j, &a->before, stays);
    license_swap_settle(c->cluster, j, &a->licenses, stays);
    if (!stays) {
        job_read_spec(c->cluster, j, &a->old, NULL);
        depend_free(a->depend);
        return;
    }
    if (a->set.dependency) {
        a->spec->dependency = a->depend ? a->spec->dependency : NULL;
        depend_begin(c, j, a->depend);
    }
    job_repack(&j->spec, &a->spec->base);
    if (a->set.has_begin_at_sec)
        move_eligible_time(c, j);
    if (a->set.burst_buffer)
        burst_change(c, j);
    if (!str_eq(a->old.name, a->spec->name))
        depend_renamed(c, j, a->old.name);
}

/* The job is as it was where it could not run with the change. */
static int apply_request(struct control *c, const struct caller *who, struct job *j,
                         const Pb__JobSpec *set, struct job_change_applied *a, struct arena *arena,
                         struct err *err)
{
    struct part_list parts = {0};
    struct parsed_request parsed;
    *a = (struct job_change_applied){.set = *set, .spec = job_unpack_spec(j, arena)};
    a->old = *a->spec;
    int rc = authorise_parts(c, who, j, a->spec, &a->set, &parts, arena, err);
    if (rc == 0)
        rc = parse_dependency(c, who, j, &a->set, &a->depend, arena, err);
    if (rc != 0) {
        vec_done(&parts);
        depend_free(a->depend);
        return rc;
    }
    merge_fields(a->spec, &a->set);
    submit_fill_switches(c, a->spec);
    job_partitions_unqueue(j);
    a->before = move_to_parts(j, &parts);
    a->is_applied = true;
    rc = request_parse(c->cluster, a->spec, &parsed, err);
    if (rc == 0) {
        if (license_held(j)) /* what it holds changes with license_swap() alone */
            request_drop_licenses(&parsed);
        job_set_request(c->cluster, j, a->spec, &parsed, false);
        job_sort_node_lists(c->cluster, j, a->spec, arena);
        rc = check_changed(c, who, j, &a->set, a->spec, err);
    }
    if (rc == 0 && a->set.licenses && license_held(j))
        rc = license_swap(c->cluster, j, a->spec->licenses, control_wall(c), &a->licenses, err);
    if (rc == 0 && a->licenses.is_exchanged && j->set)
        rc = resource_set_possible(c->cluster, j, err);
    if (a->set.reservation && !*a->set.reservation)
        a->spec->reservation = NULL;
    if (rc != 0)
        settle_request(c, j, a, false);
    return rc;
}

/* --- hold, priority, times, requeue ------------------------------------------------------------
 */

static bool read_hold(const Pb__JobUpdate *r, bool *wanted)
{
    *wanted = r->has_hold        ? r->hold
              : r->has_user_hold ? r->user_hold
                                 : r->has_priority && r->priority == 0;
    return r->has_hold || r->has_user_hold || (r->has_priority && r->priority == 0);
}

/* No hold can keep such a job from starting: an attempt that is requeued afterwards is no end. */
static bool has_ended_for_good(const struct job *j)
{
    return job_is_final(j) && !attempt_of(j)->requeue_after;
}

static int check_hold(const struct caller *who, const struct job *j, const Pb__JobUpdate *r,
                      struct err *err)
{
    bool wanted;
    if (!read_hold(r, &wanted))
        return 0;
    if (!wanted && j->state == PB__JOB_STATE__PENDING && !job_set_is_whole(j))
        return set_refuse_missing(j, err);
    if (!wanted && j->admin_hold && !who->is_operator)
        return control_set_error(err, ERR_ACCESS, "the hold of an administrator");
    if (!(r->has_requeue && r->requeue) && has_ended_for_good(j))
        return control_set_error(err, ERR_FINISHED, NULL);
    return 0;
}

static void apply_hold(struct control *c, const struct caller *who, struct job *j,
                       const Pb__JobUpdate *r)
{
    bool wanted;
    if (!read_hold(r, &wanted))
        return;
    bool own_requeue = r->has_requeue && r->requeue && who->uid == j->uid;
    bool admin = who->is_operator && !own_requeue && !(r->has_user_hold && r->user_hold);
    bool was_held = j->held || j->admin_hold;
    if (!wanted)
        j->held = j->special_exit = false;
    if (!wanted && who->is_operator) {
        j->admin_hold = false;
        j->auto_requeues = 0;
    }
    if (wanted && admin)
        j->admin_hold = true; /* the owner's own hold does not replace it */
    else if (wanted)
        j->held = true;
    if (j->state != PB__JOB_STATE__PENDING && !job_is_final(j)) /* a requeue applies it */
        j->reason = j->admin_hold ? REASON_JOB_HELD_ADMIN
                    : j->held     ? REASON_JOB_HELD_USER
                                  : REASON_NONE;
    if (was_held && !j->held && !j->admin_hold)
        priority_released(c, j);
}

static int check_priority(struct control *c, const struct caller *who, const struct job *j,
                          const Pb__JobUpdate *r, const Pb__JobSpec *set, struct err *err)
{
    int32_t nice = set && set->has_nice ? set->nice : 0;
    if (!r->has_priority || r->priority == 0)
        return 0;
    if (job_is_final(j))
        return control_set_error(err, ERR_FINISHED, NULL);
    if (!who->is_operator && priority_would_rise(c, j, r->priority, nice))
        return control_set_error(err, ERR_ACCESS, "only operators may raise a priority");
    if (j->held || j->admin_hold)
        return control_set_error(err, ERR_JOB_HELD, NULL);
    return 0;
}

static void set_limit(struct control *c, struct job *j, int64_t limit_sec)
{
    j->limit_sec = limit_sec;
    for (uint32_t i = 0; j->partitions && i < j->partitions->count; i++)
        j->partitions->of[i].limit_sec = limit_sec;
    if (j->state == PB__JOB_STATE__PENDING || job_is_final(j))
        return;
    control_set_end(c, j);
    control_move_end(c, j);
    c->cluster->pool.freed++; /* starts that were foreseen no longer hold */
}

/* EndTime, and the deadline of a running job: the time limit that ends it then, in whole minutes.
 */
static int64_t find_limit_until(const struct control *c, const struct job *j, int64_t end_at)
{
    int64_t used = control_ran_ms(c, j) / 1000;
    int64_t limit = used + (cluster_bound_time(end_at) - control_wall(c));
    return limit < 60 ? 60 : limit - limit % 60 + (limit % 60 ? 60 : 0);
}

static int check_end(const struct control *c, const struct caller *who, const struct job *j,
                     const Pb__JobUpdate *r, struct err *err)
{
    if (!r->has_end_at)
        return 0;
    if (j->state != PB__JOB_STATE__RUNNING)
        return control_set_error(err, ERR_NOT_RUNNING, "EndTime");
    if (!who->is_operator && find_limit_until(c, j, r->end_at) > j->limit_sec)
        return control_set_error(err, ERR_ACCESS, "raising the time limit of a running job");
    return 0;
}

static int check_accrue(const struct job *j, const Pb__JobUpdate *r, struct err *err)
{
    if (!r->has_reset_accrue || !r->reset_accrue || j->state == PB__JOB_STATE__PENDING)
        return 0;
    return control_set_error(err, ERR_NOT_PENDING, "ResetAccrueTime");
}

static void apply_times(struct control *c, struct job *j, const Pb__JobUpdate *r,
                        const Pb__JobSpec *set)
{
    if (r->has_end_at)
        set_limit(c, j, find_limit_until(c, j, r->end_at));
    if (set && set->has_deadline_at_sec && j->deadline_at && j->state == PB__JOB_STATE__RUNNING &&
        find_limit_until(c, j, j->deadline_at) < j->limit_sec)
        set_limit(c, j, find_limit_until(c, j, j->deadline_at));
    if (r->has_reset_accrue && r->reset_accrue && j->rank.accrue_at) {
        j->rank.accrue_at = control_wall(c);
        j->rank.accrued_sec = 0;
    }
}

/* All components return to the queue, so all of them are held there. */
static void hold_requeued(struct control *c, const struct caller *who, struct job *leader,
                          const Pb__JobUpdate *r)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        struct job *j = job_set_component(leader, i);
        apply_hold(c, who, j, r);
        j->special_exit = r->has_special_exit && r->special_exit && (j->held || j->admin_hold);
        job_touch(c->cluster, j);
    }
}

/* Of a job set: one component would end the others in the queue. */
static int check_requeue(struct control *c, struct job *j, const Pb__JobUpdate *r, struct err *err)
{
    if (!r->has_requeue || !r->requeue)
        return 0;
    if (!j->batch)
        return control_set_error(err, ERR_TRANSITION, "only batch jobs can be requeued");
    if (!j->may_requeue)
        return control_set_error(err, ERR_NO_REQUEUE,
                                 "it was submitted with --no-requeue, or JobRequeue=0");
    if (j->state == PB__JOB_STATE__PENDING)
        return control_set_error(err, ERR_JOB_PENDING, NULL);
    if (set_missed_deadline(j))
        return control_set_error(err, ERR_DEADLINE, "it could not end before it");
    int rc = set_check_complete(j, err);
    if (rc == 0 && job_is_final(j))
        rc = submit_check_count(c, array_weight(j) - 1, err);
    return rc;
}

static void requeue_job(struct control *c, const struct caller *who, struct job *j,
                        const Pb__JobUpdate *r)
{
    job_event_requeue_requested(c, j, who->uid);
    Pb__JobUpdate held = *r;
    if (j->state == PB__JOB_STATE__SUSPENDED) /* as in Slurm: somebody did not want it to run */
        held.has_hold = held.hold = true;
    j->auto_requeues = 0;
    hold_requeued(c, who, j, &held);
    if (!job_is_final(j)) {
        attempt_make(j)->requeue_after = true;
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, REASON_NONE, "REQUEUE");
    } else if (attempt_of(j)->completing) {
        attempt_make(j)->requeue_after = true;
        j->reason = REASON_CLEANING;
        job_touch(c->cluster, j);
        mail_event(c, j, JOB_MAIL_REQUEUE);
        set_requeue(c, j);
    } else {
        mail_event(c, j, JOB_MAIL_REQUEUE);
        finish_requeue(c, j);
        set_requeue(c, j);
    }
}

/* As Slurm does: it clears the nice value that was set before. */
static void give_priority(struct job *j, const Pb__JobUpdate *r)
{
    if (!r->set || !r->set->has_nice)
        priority_set_nice(j, 0);
    priority_give(j, r->priority);
}

/* What a running job gives back, which is then no matter of its spec: queued again it asks for what
 * it was submitted with. */
static int find_dropped(struct control *c, struct job *j, const Pb__JobUpdate *r, Pb__JobSpec *set,
                        struct bitset **dropped, struct err *err)
{
    bool counted = set && set->has_min_nodes && j->state != PB__JOB_STATE__PENDING;
    if (!counted && !r->keep_nodes)
        return 0;
    if (c->conf->sched.disable_job_shrink)
        return err_set(err, -ERR_CANNOT_UPDATE, "%s: SchedulerParameters=disable_job_shrink is set",
                       err_text(ERR_CANNOT_UPDATE));
    int rc = shrink_find(c, j, r->keep_nodes, counted ? set->min_nodes : 0, dropped, err);
    if (counted)
        set->has_min_nodes = set->has_max_nodes = false;
    return rc;
}

/* The record grows by what is set, at most. */
static int check_growth(struct control *c, const struct caller *who, const struct job *j,
                        const Pb__JobSpec *set, struct err *err)
{
    uint64_t bytes = pb__job_spec__get_packed_size(set);
    return user_share_check(c, who, j->uid, &(struct holding){.record = bytes, .store = bytes},
                            err);
}

int job_change_begin(struct control *c, const struct caller *who, struct job *j,
                     const Pb__JobUpdate *r, struct job_change *one, struct arena *arena,
                     struct err *err)
{
    Pb__JobSpec *set = one->set;
    if (r->step_limit)
        return step_limit_update(c, j, r->step_limit, err);
    one->nice_before = j->nice;
    int rc = find_dropped(c, j, r, set, &one->dropped, err);
    if (rc == 0 && set) /* a script may set what the caller may not, but no more than can be set */
        rc = check_settable(j, set, err);
    if (rc == 0)
        rc = check_hold(who, j, r, err);
    if (rc == 0)
        rc = check_priority(c, who, j, r, set, err);
    if (rc == 0)
        rc = check_end(c, who, j, r, err);
    if (rc == 0)
        rc = check_accrue(j, r, err);
    if (rc == 0 && set)
        rc = check_growth(c, who, j, set, err);
    if (rc == 0 && set)
        rc = apply_request(c, who, j, set, &one->applied, arena, err);
    return rc == 0 ? check_requeue(c, j, r, err) : rc;
}

int job_change_end(struct control *c, const struct caller *who, struct job *j,
                   const Pb__JobUpdate *r, struct job_change *one, int rc)
{
    const Pb__JobSpec *set = one->set;
    if (r->step_limit)
        return rc;
    settle_request(c, j, &one->applied, rc == 0);
    if (rc == 0 && set && set->licenses)
        start_drop_plan(c); /* planned starts name one of its alternatives by number */
    if (rc == 0 && set && set->has_nice)
        priority_nice(c, j, one->nice_before);
    if (rc == 0 && one->dropped)
        shrink_job(c, j, one->dropped);
    if (rc == 0 && r->has_requeue && r->requeue)
        requeue_job(c, who, j, r);
    if (r->has_requeue && r->requeue && (rc == 0 || !set)) /* nothing to plan anew */
        return rc;
    if (rc == 0 && set && set->has_time_limit_sec)
        set_limit(c, j, find_limit_sec(set, j));
    if (rc == 0 && set && set->mail_type && j->state == PB__JOB_STATE__RUNNING)
        mail_schedule(c, j); /* a share of the limit may be wanted that was not */
    if (rc == 0)
        apply_times(c, j, r, set);
    if (rc == 0)
        apply_hold(c, who, j, r);
    if (rc == 0 && r->has_priority && r->priority)
        give_priority(j, r);
    if (rc == 0)
        job_touch(c->cluster, j);
    if (j->state == PB__JOB_STATE__PENDING)
        enqueue_job(c, j);
    control_schedule(c, j);
    c->plan_wanted = true;
    return rc;
}
