/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update job, hold, release, requeue: who may change what, and when. Everything asked for
 * in one request is checked before anything is changed. */
#include <string.h>

#include "base/pb.h"
#include "control/ask.h"
#include "control/submit.h"

static int no(struct err *err, int code, const char *detail)
{
    return err_set(err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
}

/* What may be changed of a job's spec; the rest is refused. */
static const struct {
    const char *field, *shown;
    bool while_running;
} fields[] = {
    {"name", "JobName", true},
    {"comment", "Comment", true},
    {"account", "Account", false},
    {"qos", "QOS", false},
    {"extra", "Extra", true},
    {"wckey", "WCKey", true},
    {"work_dir", "WorkDir", false},
    {"std_in", "StdIn", false},
    {"std_out", "StdOut", false},
    {"std_err", "StdErr", false},
    {"partition", "Partition", false},
    {"features", "Features", false},
    {"prefer", "Prefer", false},
    {"req_switches", "ReqSwitch", false},
    {"wait_switch_sec", "Switches", false},
    {"req_nodes", "ReqNodeList", false},
    {"exc_nodes", "ExcNodeList", false},
    {"mail_type", "MailType", true},
    {"mail_user", "MailUser", true},
    {"min_nodes", "NumNodes", true}, /* shrink.c */
    {"max_nodes", "NumNodes", true},
    {"num_tasks", "NumTasks", false},
    {"cpus_per_task", "CPUs/Task", false},
    {"ntasks_per_node", "TasksPerNode", false},
    {"min_cpus_per_node", "MinCPUsNode", false},
    {"mem_per_node_mib", "MinMemoryNode", false},
    {"mem_per_cpu_mib", "MinMemoryCPU", false},
    {"tmp_per_node_mib", "MinTmpDiskNode", false},
    {"contiguous", "Contiguous", false},
    {"exclusive", "Exclusive", false},
    {"oversubscribe", "OverSubscribe", false},
    {"overcommit", "Overcommit", false},
    {"time_limit_sec", "TimeLimit", true},
    {"time_min_sec", "TimeMin", false},
    {"begin_at_sec", "StartTime", false},
    {"nice", "Nice", true},
    {"site_factor", "SiteFactor", true},
    {"requeue", "Requeue", true},
    {"no_kill", "NoKill", true},
    {"dependency", "Dependency", false},
    {"licenses", "Licenses", false},
    {"gres", "Gres", false},
    {"reservation", "ReservationName", false},
};

static int check_field(const struct job *j, const char *field, struct err *err)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].field, field) != 0)
            continue;
        if (!fields[i].while_running && j->state != PB__JOB_STATE__PENDING)
            return err_set(err, -ERR_CANNOT_UPDATE, "%s: %s of a job that is not pending any more",
                           err_text(ERR_CANNOT_UPDATE), fields[i].shown);
        return 0;
    }
    return no(err, ERR_CANNOT_UPDATE, field);
}

static int64_t limit_of(const Pb__JobSpec *set, const struct job *j)
{
    if (!set->has_time_limit_sec)
        return j->limit_sec;
    return set->time_limit_sec > 0 ? set->time_limit_sec : INT64_MAX; /* 0: unlimited */
}

static int check_settable(const struct job *j, const Pb__JobSpec *set, struct err *err)
{
    int rc = 0;
    pb_each_field (set->base.descriptor, field)
        if (rc == 0 && pb_has(&set->base, field))
            rc = check_field(j, field->name, err);
    return rc;
}

static int check_fields(const struct caller *who, const struct job *j, const Pb__JobSpec *set,
                        struct err *err)
{
    int rc = job_is_final(j) ? no(err, ERR_JOB_DONE, NULL) : 0;
    if (rc == 0)
        rc = check_settable(j, set, err);
    if (rc != 0)
        return rc;
    rc = mail_check(set, err);
    if (rc != 0)
        return rc;
    rc = priority_check(who, set, err);
    if (rc != 0)
        return rc;
    if (set->has_nice && set->nice < 0 && !who->is_operator)
        return no(err, ERR_ACCESS, "a negative nice value");
    if (j->state != PB__JOB_STATE__PENDING && limit_of(set, j) > j->limit_sec && !who->is_operator)
        return no(err, ERR_ACCESS, "raising the time limit of a running job");
    return 0;
}

static bool hold_wanted(const Pb__JobUpdate *r, bool *wanted)
{
    *wanted = r->has_hold        ? r->hold
              : r->has_user_hold ? r->user_hold
                                 : r->has_priority && r->priority == 0;
    return r->has_hold || r->has_user_hold || (r->has_priority && r->priority == 0);
}

static int check_hold(const struct caller *who, const struct job *j, const Pb__JobUpdate *r,
                      struct err *err)
{
    bool wanted;
    if (!hold_wanted(r, &wanted))
        return 0;
    if (!wanted && j->admin_hold && !who->is_operator)
        return no(err, ERR_ACCESS, "the hold of an administrator");
    if (!(r->has_requeue && r->requeue) && job_is_final(j))
        return no(err, ERR_JOB_DONE, "it can not be held or released any more");
    return 0;
}

static void apply_hold(struct control *c, const struct caller *who, struct job *j,
                       const Pb__JobUpdate *r)
{
    bool wanted;
    if (!hold_wanted(r, &wanted))
        return;
    bool admin = who->is_operator && who->uid != j->uid && !(r->has_user_hold && r->user_hold);
    bool was_held = j->held || j->admin_hold;
    if (!wanted)
        j->held = j->special_exit = false;
    if (!wanted && who->is_operator)
        j->admin_hold = false;
    if (wanted && admin)
        j->admin_hold = true; /* the owner's own hold does not replace it */
    else if (wanted)
        j->held = true;
    if (j->state != PB__JOB_STATE__PENDING && !job_is_final(j)) /* it is when it comes back */
        j->reason = j->admin_hold ? "JobHeldAdmin" : j->held ? "JobHeldUser" : NULL;
    if (was_held && !j->held && !j->admin_hold)
        priority_released(c, j);
}

static int check_priority(const struct caller *who, const struct job *j, const Pb__JobUpdate *r,
                          struct err *err)
{
    if (!r->has_priority || r->priority == 0)
        return 0;
    if (job_is_final(j))
        return no(err, ERR_JOB_DONE, NULL);
    if (!who->is_operator && r->priority > j->priority)
        return no(err, ERR_ACCESS, "raising a priority");
    if (j->held || j->admin_hold)
        return no(err, ERR_JOB_HELD, NULL);
    return 0;
}

/* What it is to wait for from now on; an empty text: for nothing. */
static int read_dependency(struct control *c, const struct job *j, const Pb__JobSpec *set,
                           struct depend **out, struct err *err)
{
    int rc = set->dependency ? depend_read(c, j, set->dependency, out, err) : 0;
    if (rc == 0)
        rc = depend_check_circle(c, j, *out, err);
    return rc;
}

/* Those of a job that is to be in no reservation any more. */
static int check_without_resv(struct job *j, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < several_count(j) && rc == 0; i++) {
        several_enter(j, i);
        rc = access_check_resv(j->part, NULL, err);
    }
    several_leave(j);
    return rc;
}

/* Those it is to have from now on; none: it keeps what it has. */
static int find_parts(struct control *c, const struct caller *who, struct job *j,
                      const char *reservation, Pb__JobSpec *set, struct part_list *out,
                      struct arena *arena, struct err *err)
{
    char *asked = set->reservation;
    if (set->partition && !*set->partition)
        return err_set(err, -ERR_NO_PARTITION,
                       "%s: Partition= names none; give those that it may run in",
                       err_text(ERR_NO_PARTITION));
    if (set->partition) {
        set->reservation = asked ? asked : (char *)reservation;
        int rc = access_find_parts(c, who, NULL, set, false, out, arena, err);
        set->reservation = asked;
        return rc;
    }
    if (j->part)
        return asked && !*asked ? check_without_resv(j, err) : 0;
    return err_set(err, -ERR_NO_PARTITION,
                   "%s: %s is no more; give it another with Partition=", err_text(ERR_NO_PARTITION),
                   j->part_name ? j->part_name : "its partition");
}

struct moved { /* what a job had before it was moved to other partitions */
    struct part *part;
    struct several *several;
    int64_t limit_sec;
    bool moved;
};

/* The list is freed. */
static struct moved move_to(struct job *j, struct part_list *parts)
{
    struct moved before = {j->part, j->several, j->limit_sec, parts->len > 0};
    if (before.moved) {
        j->several = NULL;
        several_set(j, parts->data, parts->len);
    }
    vec_done(parts);
    return before;
}

static void settle_move(struct job *j, struct moved *before, bool done)
{
    if (!before->moved)
        return;
    struct several *other = before->several;
    if (!done) {
        other = j->several;
        j->part = before->part;
        j->limit_sec = before->limit_sec;
    }
    struct several *kept = done ? j->several : before->several;
    j->several = other;
    several_free(j);
    j->several = kept;
}

/* The spec with the fields replaced, taken only when the job could still run with it. */
static int apply_spec(struct control *c, const struct caller *who, struct job *j,
                      const Pb__JobSpec *set, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    struct part_list parts = {0};
    Pb__JobSpec taken = *set;
    int rc = find_parts(c, who, j, spec->reservation, &taken, &parts, &arena, err);
    if (rc != 0)
        return rc;
    const Pb__JobSpec old = *spec;
    struct depend *depend = NULL;
    rc = read_dependency(c, j, set, &depend, err);
    if (rc != 0) {
        vec_done(&parts);
        depend_free(depend);
        return rc;
    }
    set = &taken;
    pb_each_field (set->base.descriptor, field)
        if (pb_has(&set->base, field))
            pb_copy_field(&spec->base, &set->base, field);
    if (set->has_min_nodes && !set->has_max_nodes && spec->has_max_nodes &&
        spec->max_nodes < spec->min_nodes)
        spec->max_nodes = spec->min_nodes;
    if (set->has_oversubscribe && set->oversubscribe)
        spec->has_exclusive = false;
    if (set->has_mem_per_node_mib)
        spec->has_mem_per_cpu_mib = false;
    else if (set->has_mem_per_cpu_mib)
        spec->has_mem_per_node_mib = false;
    submit_fill_switches(c, spec);
    several_unqueue(j);
    struct moved before = move_to(j, &parts);
    rc = job_read_spec(c->cluster, j, spec, err);
    if (rc == 0 && (set->has_time_min_sec || set->has_time_limit_sec))
        rc = submit_check_time_min(j, spec, limit_of(set, j), err);
    if (rc == 0 && j->state == PB__JOB_STATE__PENDING)
        rc = submit_check_possible(c, j, err) ? relax_explain_misfit(c->cluster, j, spec, err) : 0;
    if (rc == 0 && set->reservation)
        rc = resv_check_job(c, j, spec, err);
    if (set->reservation && !*set->reservation)
        spec->reservation = NULL;
    settle_move(j, &before, rc == 0);
    if (rc != 0) {
        job_read_spec(c->cluster, j, &old, NULL);
        depend_free(depend);
        return rc;
    }
    if (set->dependency) {
        spec->dependency = depend ? spec->dependency : NULL;
        depend_begin(c, j, depend);
    }
    job_repack(&j->spec, &spec->base);
    if (!str_eq(old.name, spec->name))
        depend_renamed(c, j, old.name);
    return 0;
}

static void set_limit(struct control *c, struct job *j, int64_t limit_sec)
{
    j->limit_sec = limit_sec;
    for (uint32_t i = 0; j->several && i < j->several->count; i++)
        j->several->of[i].limit_sec = limit_sec;
    if (j->state == PB__JOB_STATE__PENDING || job_is_final(j))
        return;
    control_set_end(c, j);
    order_move(&c->cluster->ends, &job_make_run(j)->ends, control_wall(c) + control_left_sec(c, j),
               j->id);
}

static int requeue(struct control *c, const struct caller *who, struct job *j,
                   const Pb__JobUpdate *r, struct err *err)
{
    if (!j->batch)
        return no(err, ERR_TRANSITION, "only batch jobs can be requeued");
    if (!j->may_requeue)
        return no(err, ERR_NO_REQUEUE, "it was submitted with --no-requeue, or JobRequeue=0");
    if (j->state == PB__JOB_STATE__PENDING)
        return no(err, ERR_JOB_PENDING, NULL);
    if (j->state == PB__JOB_STATE__DEADLINE)
        return no(err, ERR_DEADLINE, "it could not end before it");
    int rc = job_is_final(j) ? submit_check_count(c, array_weight(j) - 1, err) : 0;
    if (rc != 0)
        return rc;
    Pb__JobUpdate held = *r;
    if (j->state == PB__JOB_STATE__SUSPENDED) /* as in Slurm: somebody did not want it to run */
        held.has_hold = held.hold = true;
    apply_hold(c, who, j, &held);
    j->special_exit = r->has_special_exit && r->special_exit && (j->held || j->admin_hold);
    if (!job_is_final(j)) {
        j->requeue_after = true;
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, NULL, "REQUEUE");
    } else if (j->completing) {
        j->requeue_after = true;
        j->reason = "Cleaning";
        job_touch(c->cluster, j);
        mail_event(c, j, JOB_MAIL_REQUEUE);
    } else {
        mail_event(c, j, JOB_MAIL_REQUEUE);
        finish_requeue(c, j);
    }
    return 0;
}

/* As Slurm does: it clears the nice value that was set before. */
static void give_priority(struct job *j, const Pb__JobUpdate *r)
{
    if (!r->set || !r->set->has_nice)
        priority_set_nice(j, 0);
    priority_give(j, r->priority);
}

/* What is asked of one record, as the site's plugins would have it, in the arena. */
static int ask_change(struct control *c, const struct caller *who, const struct job *j,
                      const Pb__JobUpdate *r, Pb__JobSpec **set, struct arena *arena,
                      struct err *err)
{
    *set = NULL;
    if (!r->set)
        return 0;
    *set = arena_alloc(arena, sizeof **set);
    **set = *r->set;
    int rc = check_fields(who, j, *set, err);
    return rc == 0 ? ask_modify(c, who, j, *set, arena, err) : rc;
}

/* What a running job gives back, which is then no matter of its spec: queued again it asks for what
 * it was submitted with. */
static int find_dropped(struct control *c, struct job *j, const Pb__JobUpdate *r, Pb__JobSpec *set,
                        struct bitset **dropped, struct err *err)
{
    bool counted = set && set->has_min_nodes && j->state != PB__JOB_STATE__PENDING;
    if (!counted && !r->keep_nodes)
        return 0;
    int rc = shrink_find(c, j, r->keep_nodes, counted ? set->min_nodes : 0, dropped, err);
    if (counted)
        set->has_min_nodes = set->has_max_nodes = false;
    return rc;
}

static int update_job(struct control *c, const struct caller *who, struct job *j,
                      const Pb__JobUpdate *r, Pb__JobSpec *set, struct err *err)
{
    int32_t nice_before = j->nice;
    _cleanup_bitset_ struct bitset *dropped = NULL;
    int rc = find_dropped(c, j, r, set, &dropped, err);
    if (rc == 0 && set) /* a script may set what the caller may not, but no more than can be set */
        rc = check_settable(j, set, err);
    if (rc == 0)
        rc = check_hold(who, j, r, err);
    if (rc == 0)
        rc = check_priority(who, j, r, err);
    if (rc == 0 && set)
        rc = apply_spec(c, who, j, set, err);
    if (rc == 0 && dropped)
        shrink_job(c, j, dropped);
    if (rc == 0 && r->has_requeue && r->requeue)
        return requeue(c, who, j, r, err);
    if (rc == 0 && set && set->has_time_limit_sec)
        set_limit(c, j, limit_of(set, j));
    if (rc == 0 && set && set->has_nice)
        priority_nice(c, j, nice_before);
    if (rc == 0)
        apply_hold(c, who, j, r);
    if (rc == 0 && r->has_priority && r->priority)
        give_priority(j, r);
    if (rc == 0)
        job_touch(c->cluster, j);
    if (j->state == PB__JOB_STATE__PENDING)
        submit_enqueue(c, j);
    control_schedule(c, j);
    c->plan_wanted = true;
    return rc;
}

/* Records of an array are in many states: what does not go with one of them spares that one. */
static bool is_of_state(int code)
{
    return code == -ERR_JOB_DONE || code == -ERR_TRANSITION || code == -ERR_JOB_PENDING ||
           code == -ERR_CANNOT_UPDATE;
}

static int set_throttle(struct control *c, struct job *j, const Pb__JobUpdate *r, struct err *err)
{
    if (!r->has_array_throttle)
        return 0;
    if (!j->array)
        return no(err, ERR_CANNOT_UPDATE, "ArrayTaskThrottle of a job that is in no array");
    array_set_throttle(c->cluster, j->array, r->array_throttle);
    split_show_throttle(c, j->array);
    return 0;
}

/* Of the array, and of none of its jobs. */
static bool is_throttle_only(const Pb__JobUpdate *r)
{
    if (r->set)
        pb_each_field (r->set->base.descriptor, field)
            if (pb_has(&r->set->base, field))
                return false;
    return r->has_array_throttle && !r->has_priority && !r->has_hold && !r->has_user_hold &&
           !r->has_requeue && !r->keep_nodes;
}

struct change { /* of one record */
    Pb__JobSpec *set;
    int rc; /* of asking about it */
    struct err *why;
};

/* All are asked about before any is changed. ENV_SUBMIT_LATER or 0. */
static int ask_changes(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                       const struct split_list *parts, struct change *changes, struct arena *arena)
{
    int later = 0;
    for (size_t i = 0; i < parts->len; i++) {
        const struct job *j = cluster_find_job(c->cluster, parts->data[i].job_id);
        struct err why = {0};
        struct change *one = &changes[i];
        one->rc = ask_change(c, who, j, r, &one->set, arena, &why);
        if (one->rc > 0)
            later = one->rc;
        if (one->rc < 0) {
            one->why = arena_alloc(arena, sizeof why);
            *one->why = why;
        }
    }
    return later;
}

/* Each record is changed or not; the first thing that went wrong, or 0. ENV_SUBMIT_LATER: none is.
 */
static int update_parts(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                        const struct split_list *parts, struct err *err)
{
    int wrong = 0;
    bool any = false;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct change *changes = arena_alloc(&arena, parts->len * sizeof *changes);
    int later = ask_changes(c, who, r, parts, changes, &arena);
    for (size_t i = 0; i < parts->len; i++) {
        const struct split_part *part = &parts->data[i];
        struct job *j = cluster_find_job(c->cluster, part->job_id);
        struct err why = {0};
        int rc = later ? later : changes[i].rc;
        if (rc == 0)
            rc = update_job(c, who, j, r, changes[i].set, &why);
        else if (rc < 0)
            why = *changes[i].why;
        split_settle(c, part, rc == 0);
        any = any || rc == 0;
        if (rc != 0 && (wrong == 0 || (is_of_state(wrong) && !is_of_state(rc)))) {
            wrong = rc;
            *err = why;
        }
    }
    return any && is_of_state(wrong) ? 0 : wrong;
}

/* Elements that get records of their own wait there for all that they waited for before. */
static int check_room(const struct control *c, const struct array *a, struct err *err)
{
    size_t more = 0;
    vec_foreach (&a->groups, id) {
        const struct job *j = cluster_find_job(c->cluster, *id);
        more += j->waits.on ? j->waits.on->items.len : 0;
    }
    return depend_check_room(c, array_first(a), more, err);
}

static int change(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                  struct err *err)
{
    struct split_list parts = {0};
    const struct array *a = array_find(c->cluster, r->job_id);
    struct job *j = a ? array_first(a) : cluster_find_job(c->cluster, r->job_id);
    if (!j)
        return err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
    if (!control_owns(who, j))
        return err_set(err, -ERR_ACCESS, "%s", err_text(ERR_ACCESS));
    int rc = set_throttle(c, j, r, err);
    if (rc != 0 || is_throttle_only(r))
        return rc;
    if (a && r->array_tasks)
        rc = check_room(c, a, err);
    if (rc == 0)
        rc = split_targets(c, r->job_id, r->array_tasks, &parts, err);
    if (rc == 0)
        rc = update_parts(c, who, r, &parts, err);
    vec_done(&parts);
    return rc;
}

void control_job_update(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__JobUpdate *r)
{
    struct err err = {0};
    int rc = change(c, who, r, &err);
    if (rc < 0)
        control_refuse(c, call, &err);
    else if (rc == 0)
        control_done(c, call);
}
