/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A change of a job's request: what may be changed and by whom, and the job with it. */
#include <string.h>

#include "base/pb.h"
#include "control/no.h"
#include "control/update_spec.h"

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
    {"min_cpus", "NumCPUs", false},
    {"max_cpus", "NumCPUs", false},
    {"core_spec", "CoreSpec", false},
    {"thread_spec", "ThreadSpec", false},
    {"sockets_per_node", "ReqSockets", false},
    {"cores_per_socket", "ReqCores", false},
    {"threads_per_core", "ReqThreads", false},
    {"deadline_at_sec", "Deadline", true},
    {"admin_comment", "AdminComment", true},
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
            return no(err, ERR_NOT_PENDING, fields[i].shown);
        return 0;
    }
    return no(err, ERR_CANNOT_UPDATE, field);
}

int64_t update_spec_limit_sec(const Pb__JobSpec *set, const struct job *j)
{
    if (!set->has_time_limit_sec)
        return j->limit_sec;
    return set->time_limit_sec > 0 ? set->time_limit_sec : INT64_MAX; /* 0: unlimited */
}

int update_spec_settable(const struct job *j, const Pb__JobSpec *set, struct err *err)
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
                       : set->has_deadline_at_sec               ? "Deadline"
                       : set->has_core_spec                     ? "CoreSpec"
                       : set->has_thread_spec                   ? "ThreadSpec"
                       : set->has_contiguous && set->contiguous ? "Contiguous"
                                                                : NULL;
    return what && !who->is_operator ? no(err, ERR_ACCESS, what) : 0;
}

int update_spec_check(const struct caller *who, const struct job *j, const Pb__JobSpec *set,
                      struct err *err)
{
    int rc = job_is_final(j) ? no(err, ERR_FINISHED, NULL) : 0;
    if (rc == 0)
        rc = update_spec_settable(j, set, err);
    if (rc == 0)
        rc = check_privileged(who, set, err);
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
    if (j->state != PB__JOB_STATE__PENDING && update_spec_limit_sec(set, j) > j->limit_sec &&
        !who->is_operator)
        return no(err, ERR_ACCESS, "raising the time limit of a running job");
    return 0;
}

/* What it is to wait for from now on; an empty text: for nothing. */
static int read_dependency(struct control *c, const struct caller *who, const struct job *j,
                           const Pb__JobSpec *set, struct depend **out, struct err *err)
{
    int rc = set->dependency ? depend_read(c, who, j, set->dependency, out, err) : 0;
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
    return err_set(err, -ERR_NO_PARTITION, "%s: %s no longer exists; set another with Partition=",
                   err_text(ERR_NO_PARTITION), j->part_name ? j->part_name : "its partition");
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
static void merge(Pb__JobSpec *spec, const Pb__JobSpec *set)
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
        spec->has_exclusive = false;
    if (set->has_mem_per_node_mib)
        spec->has_mem_per_cpu_mib = false;
    else if (set->has_mem_per_cpu_mib)
        spec->has_mem_per_node_mib = false;
}

/* The job has what the changed spec says, or could not run with it. */
static int read_changed(struct control *c, struct job *j, const Pb__JobSpec *set, Pb__JobSpec *spec,
                        struct err *err)
{
    int rc = job_read_spec(c->cluster, j, spec, err);
    if (rc == 0 && (set->has_time_min_sec || set->has_time_limit_sec))
        rc = submit_check_time_min(j, spec, update_spec_limit_sec(set, j), err);
    if (rc == 0 && j->state == PB__JOB_STATE__PENDING && !j->is_unfit)
        rc = submit_check_possible(c, j, err) ? relax_explain_misfit(c->cluster, j, spec, err) : 0;
    bool cut = j->state != PB__JOB_STATE__PENDING && j->deadline_at > control_wall(c);
    if (rc == 0 && set->has_deadline_at_sec && !cut) /* it ends a running job earlier */
        rc = deadline_check(c, j, err);
    if (rc == 0 && set->reservation)
        rc = resv_check_job(c, j, spec, err);
    return rc;
}

/* The spec with the fields replaced, taken only when the job could still run with it. */
int update_spec_apply(struct control *c, const struct caller *who, struct job *j,
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
    rc = read_dependency(c, who, j, set, &depend, err);
    if (rc != 0) {
        vec_done(&parts);
        depend_free(depend);
        return rc;
    }
    set = &taken;
    merge(spec, set);
    submit_fill_switches(c, spec);
    several_unqueue(j);
    struct moved before = move_to(j, &parts);
    rc = read_changed(c, j, set, spec, err);
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
