/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol update JobId=" and "JobName=": one change for each named job. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cli/opt_gres.h"
#include "cluster/job/job_set_env.h"
#include "cmd/scontrol/scontrol.h"
#include "cmd/scontrol/update.h"
#include "launch/jobenv.h"
#include "proto/job.pb-c.h"
#include "show/job_ids.h"
#include "show/job_state.h"
#include "show/names.h"

struct job_variable { /* a line of a shell script */
    struct str *out;
    bool csh;
    const char *value; /* NULL: unset the variable */
};

static void put_job_variable(void *ctx, const char *name)
{
    const struct job_variable *v = ctx;
    if (v->value)
        str_printf(v->out, v->csh ? "setenv %s \"%s\"\n" : "export %s=\"%s\"\n", name, v->value);
    else
        str_printf(v->out, v->csh ? "unsetenv %s\n" : "unset %s\n", name);
}

/* Variables that determine the size of a step. The requested task count is unset, since it no
 * longer applies. In a job set the plain names describe component 0. */
static void write_script(const Pb__JobRecord *job, bool csh, struct str *out)
{
    const Pb__JobLive *live = job->live;
    _cleanup_free_ uint32_t *cpus = mem_new_array(uint32_t, live->n_alloc + 1);
    _cleanup_str_ struct str counts = STR_INIT;
    char number[16];
    for (size_t i = 0; i < live->n_alloc; i++)
        cpus[i] = JOB_ENV_USABLE_CPUS(live->alloc[i]);
    jobenv_counts(cpus, live->n_alloc, &counts);
    snprintf(number, sizeof number, "%zu", live->n_alloc);
    const char *const variables[][2] = {{"SLURM_NODELIST", live->nodes},
                                        {"SLURM_JOB_NODELIST", live->nodes},
                                        {"SLURM_NNODES", number},
                                        {"SLURM_JOB_NUM_NODES", number},
                                        {"SLURM_JOB_CPUS_PER_NODE", str_cstr(&counts)},
                                        {"SLURM_NPROCS", NULL},
                                        {"SLURM_NTASKS", NULL},
                                        {"SLURM_TASKS_PER_NODE", NULL}};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        struct job_variable v = {out, csh, variables[i][1]};
        if (job_ids_is_leader(live))
            put_job_variable(&v, variables[i][0]);
        if (live->set_id)
            job_set_env_each_name(variables[i][0], job->spec ? job->spec->component : NULL,
                                  live->set_offset, put_job_variable, &v);
    }
}

static int save_script(const char *name, const struct str *text, struct err *err)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0700);
    bool done = fd >= 0 && write(fd, str_cstr(text), text->len) == (ssize_t)text->len;
    if (fd >= 0 && close(fd) != 0)
        done = false;
    return done ? 0 : err_set(err, -errno, "%s cannot be written: %s", name, strerror(errno));
}

static int write_scripts(const Pb__JobRecord *job, struct err *err)
{
    uint32_t id = job->live->job_id;
    for (int csh = 0; csh < 2; csh++) {
        _cleanup_str_ struct str text = STR_INIT;
        char name[64];
        snprintf(name, sizeof name, "slurm_job_%u_resize.%s", id, csh ? "csh" : "sh");
        write_script(job, csh, &text);
        int rc = save_script(name, &text, err);
        if (rc != 0)
            return rc;
    }
    printf("To reset Slurm environment variables, execute\n"
           "  For bash or sh shells:  . ./slurm_job_%u_resize.sh\n"
           "  For csh shells:         source ./slurm_job_%u_resize.csh\n",
           id, id);
    return 0;
}

static int on_update_job_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *list = (const Pb__JobList *)message;
    for (size_t i = 0; i < list->n_jobs; i++) {
        const Pb__JobLive *live = list->jobs[i]->live;
        int rc = live && live->state == PB__JOB_STATE__RUNNING && live->nodes
                     ? write_scripts(list->jobs[i], err)
                     : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Writes slurm_job_<id>_resize.sh and .csh to the working directory and tells the user how to load
 * them into a shell of the job; does nothing for a job that does not run. Returns 0 or -errno. */
static int resize_tell(const Pb__StepId *job, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    job_ids_filter(job, 1, &filter, &arena);
    return rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_update_job_jobs, NULL, err);
}

#define PRIORITY_TOP 0xfffffffdu
#define NICE_DEFAULT 100 /* value of Nice= without a number */

struct job_change {
    Pb__JobUpdate update;
    Pb__JobSpec set;
    const char *relative_limit; /* "+10": relative to the current limit; NULL: none */
};

static int refuse_value(const char *key, const char *value)
{
    cmd_line("Invalid value: %s=%s\nRequest aborted", key, value);
    return -1;
}

struct limits_in_force {
    Pb__StepId job;          /* as entered */
    VEC(Pb__StepId) jobs;    /* the same, with the components of a job set as separate entries */
    VEC(int64_t) limits_sec; /* by entry of 'jobs' */
};

static int on_job(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct limits_in_force *f = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (!live)
            continue;
        Pb__StepId id = f->job;
        if (live->has_set_id)
            job_ids_of(live, &id, NULL);
        else
            vec_clear(&f->jobs), vec_clear(&f->limits_sec); /* of an array: use any element */
        vec_push(&f->jobs, id);
        vec_push(&f->limits_sec, live->time_limit_sec);
    }
    return 0;
}

static int find_limits(struct limits_in_force *f, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    job_ids_filter(&f->job, 1, &filter, &arena);
    filter.has_all_states = filter.all_states = 1;
    int code = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_job, f, err);
    if (code == 0 && !f->jobs.len)
        code = job_arg_refuse(&f->job, err);
    return code;
}

/* TimeLimit=+10: relative to the current limit. */
static int resolve_limit(struct job_change *c, int64_t in_force_sec, struct err *err)
{
    int64_t by;
    if (time_parse_limit(c->relative_limit + 1, &by, NULL) < 0 || by >= TIME_UNLIMITED)
        return err_set(err, -ERR_PARSE, "Invalid value: TimeLimit=%.40s", c->relative_limit);
    if (in_force_sec >= TIME_UNLIMITED)
        return err_set(err, -ERR_TIME_LIMIT,
                       "%s: TimeLimit=%.20s: the job has no limit to change; set one, as in "
                       "TimeLimit=60",
                       err_text(ERR_TIME_LIMIT), c->relative_limit);
    int64_t sec = in_force_sec + (*c->relative_limit == '+' ? by : -by);
    if (sec < 60)
        return err_set(err, -ERR_TIME_LIMIT, "%s", err_text(ERR_TIME_LIMIT));
    c->set.has_time_limit_sec = 1;
    c->set.time_limit_sec = sec;
    return 0;
}

/* "4" or "2-4". */
static int parse_range(const char *key, const char *value, uint32_t *min, uint32_t *max)
{
    _cleanup_free_ char *min_text = mem_strndup(value, strcspn(value, "-"));
    const char *max_text = value[strlen(min_text)] ? value + strlen(min_text) + 1 : min_text;
    uint64_t least, most;
    if (size_parse_count(min_text, INT32_MAX, &least, NULL) < 0 ||
        size_parse_count(max_text, INT32_MAX, &most, NULL) < 0 || most < least)
        return refuse_value(key, value);
    *min = (uint32_t)least;
    *max = (uint32_t)most;
    return 0;
}

static int set_node_count(struct job_change *c, const char *key, const char *value)
{
    c->set.has_min_nodes = c->set.has_max_nodes = 1;
    return parse_range(key, value, &c->set.min_nodes, &c->set.max_nodes);
}

static int set_cpu_count(struct job_change *c, const char *key, const char *value)
{
    c->set.has_min_cpus = c->set.has_max_cpus = 1;
    return parse_range(key, value, &c->set.min_cpus, &c->set.max_cpus);
}

static int set_number(const char *key, const char *value, long long least, long long most,
                      long long *out)
{
    return str_parse_i64(value, least, most, out) < 0 ? refuse_value(key, value) : 0;
}

static int set_priority(struct job_change *c, const char *key, const char *value)
{
    long long priority = PRIORITY_TOP;
    if (!str_case_eq(value, "TOP") && set_number(key, value, 0, PRIORITY_TOP, &priority) < 0)
        return -1;
    c->update.has_priority = 1;
    c->update.priority = (uint32_t)priority;
    return 0;
}

static int set_nice(struct job_change *c, const char *key, const char *value)
{
    long long nice = NICE_DEFAULT;
    if (*value && set_number(key, value, -INT32_MAX, INT32_MAX, &nice) < 0)
        return -1;
    c->set.has_nice = 1;
    c->set.nice = (int32_t)nice;
    return 0;
}

/* 0: no limit. */
static int set_throttle(struct job_change *c, const char *key, const char *value)
{
    long long most = 0;
    if (set_number(key, value, 0, INT32_MAX, &most) < 0)
        return -1;
    c->update.has_array_throttle = 1;
    c->update.array_throttle = (uint32_t)most;
    return 0;
}

static int set_end_time(struct job_change *c, const char *key, const char *value)
{
    if (time_parse_date(value, time(NULL), &c->update.end_at, NULL) < 0)
        return refuse_value(key, value);
    c->update.has_end_at = 1;
    return 0;
}

static int set_time_limit(struct job_change *c, const char *key, const char *value)
{
    if (*value == '+' || *value == '-') {
        c->relative_limit = value;
        return 0;
    }
    if (time_parse_limit(value, &c->set.time_limit_sec, NULL) < 0)
        return refuse_value(key, value);
    c->set.has_time_limit_sec = 1;
    return 0;
}

/* Format of sbatch --gres. "none" clears it. */
static int set_gres(struct update *u, struct job_change *c, const char *key, const char *value)
{
    _cleanup_str_ struct str list = STR_INIT;
    if (!opt_gres_is_empty(value) && !opt_gres_format(value, &list))
        return refuse_value(key, value);
    c->set.gres = arena_strdup(&u->arena, str_cstr(&list));
    return 0;
}

static int set_special(struct update *u, struct job_change *c, const struct field *f,
                       const char *value)
{
    switch ((enum field_special)f->offset) {
    case SPECIAL_cpu_count:
        return set_cpu_count(c, f->key, value);
    case SPECIAL_end_time:
        return set_end_time(c, f->key, value);
    case SPECIAL_gres:
        return set_gres(u, c, f->key, value);
    case SPECIAL_keep_nodes:
        c->update.keep_nodes = (char *)value;
        return 0;
    case SPECIAL_nice:
        return set_nice(c, f->key, value);
    case SPECIAL_node_count:
        return set_node_count(c, f->key, value);
    case SPECIAL_priority:
        return set_priority(c, f->key, value);
    case SPECIAL_reset_accrue:
        c->update.has_reset_accrue = c->update.reset_accrue = 1;
        return 0;
    case SPECIAL_throttle:
        return set_throttle(c, f->key, value);
    case SPECIAL_time_limit:
        return set_time_limit(c, f->key, value);
    }
    return -1;
}

/* Treats "TimeLimit+=10" as "TimeLimit=+10". */
static int set_signed(struct update *u, struct job_change *c, const char *arg, size_t len)
{
    const struct field *f = field_find(fields_job, arg, len - 1);
    if (!f || f->type != FIELD_SPECIAL || f->offset != SPECIAL_time_limit)
        return update_refuse(arg);
    u->changes++;
    return set_time_limit(c, f->key, arena_printf(&u->arena, "%c%s", arg[len - 1], arg + len + 1));
}

static int read_argument(struct update *u, struct job_change *c, const char *arg)
{
    size_t len = strcspn(arg, "=");
    if (len > 1 && arg[len] && (arg[len - 1] == '+' || arg[len - 1] == '-'))
        return set_signed(u, c, arg, len);
    const struct field *f = arg[len] ? field_find(fields_job, arg, len) : NULL;
    if (!f || f->type != FIELD_SPECIAL)
        return update_apply(u, fields_job, arg, &c->set);
    u->changes++;
    return set_special(u, c, f, arg + len + 1);
}

static int send_change(const Pb__StepId *job, struct job_change *c, struct err *err)
{
    JOB_IDS_COPY(&c->update, job);
    int r = cmd_call(RPC_JOB_UPDATE, &c->update.base, NULL, err);
    if (r == 0 && (c->update.keep_nodes || c->set.has_min_nodes))
        r = resize_tell(job, err);
    return r;
}

/* Components of a job set have separate limits. */
static int change_job(void *ctx, const Pb__StepId *job, struct err *err)
{
    struct job_change *c = ctx;
    struct limits_in_force f = {.job = *job};
    if (!c->relative_limit)
        return send_change(job, c, err);
    int r = find_limits(&f, err);
    for (size_t i = 0; r == 0 && i < f.jobs.len; i++) {
        r = resolve_limit(c, f.limits_sec.data[i], err);
        if (r == 0)
            r = send_change(&f.jobs.data[i], c, err);
    }
    vec_done(&f.jobs);
    vec_done(&f.limits_sec);
    return r;
}

/* Replaces component names in a dependency by job ids. */
static int number_dependency(struct update *u, struct job_change *c)
{
    if (!c->set.dependency)
        return 0;
    struct err err = {0};
    _cleanup_free_ char *list = mem_strdup(c->set.dependency);
    if (job_arg_name_dependency(&list, &err) < 0) {
        cmd_line("Dependency=%s: %s", c->set.dependency, err.text);
        return -1;
    }
    c->set.dependency = arena_strdup(&u->arena, list);
    return 0;
}

static int read_arguments(struct update *u, struct job_change *c, bool by_name)
{
    *c = (struct job_change){.update = PB__JOB_UPDATE__INIT, .set = PB__JOB_SPEC__INIT};
    c->update.set = &c->set;
    for (int i = 0; i < u->argc; i++) {
        const char *arg = u->argv[i];
        if (update_value(arg, "JobId", 3) || update_value(arg, "UserId", 4) ||
            (by_name && update_value(arg, "JobName", 4)))
            continue;
        if (read_argument(u, c, arg) < 0)
            return -1;
    }
    return number_dependency(u, c) < 0 ? -1 : update_check_any(u);
}

int update_job(struct update *u, char *ids_arg)
{
    struct job_change c;
    struct job_id_list jobs;
    if (read_arguments(u, &c, false) < 0 || jobs_parse(1, &ids_arg, &jobs) < 0)
        return 1;
    int status = jobs_each(&jobs, change_job, &c);
    vec_done(&jobs);
    return status;
}

static int on_named(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        if (!part->jobs[i]->live || job_state_is_final(part->jobs[i]->live))
            continue;
        job_arg_add_one(ctx, part->jobs[i]->live);
    }
    return 0;
}

static int find_named(struct update *u, char *name, struct job_id_list *jobs)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    const char *user = NULL;
    uint32_t uid = 0;
    struct err err = {0};
    for (int i = 0; i < u->argc; i++) {
        const char *value = update_value(u->argv[i], "UserId", 4);
        user = value ? value : user;
    }
    if (user && names_find_user(user, &uid) < 0) {
        cmd_error("invalid UserID '%s': use a name or a number", user);
        return -1;
    }
    filter.name = &name;
    filter.n_name = 1;
    filter.uid = &uid;
    filter.n_uid = user != NULL;
    if (rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_named, jobs, &err) < 0) {
        cmd_line("slurm_load_jobs error: %s", err.text);
        return -1;
    }
    if (!jobs->len && user)
        cmd_error("No jobs with user ID %u and name '%s'", uid, name);
    else if (!jobs->len)
        cmd_error("No jobs with name '%s'", name);
    return jobs->len ? 0 : -1;
}

int update_jobs_named(struct update *u, const char *name)
{
    struct job_id_list jobs = {0};
    struct job_change c;
    int status = 1;
    if (read_arguments(u, &c, true) == 0 && find_named(u, (char *)name, &jobs) == 0)
        status = jobs_each(&jobs, change_job, &c);
    vec_done(&jobs);
    return status;
}
