/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JobCompType=jobcomp/filetxt writes a line of KEY=VALUE pairs in Slurm's format for each ended
 * job or attempt. JobCompType=jobcomp/script runs a program with the same values in its
 * environment, under Slurm's names. Both happen after the end of the job is durable; a crash in
 * between loses the record. A program has PROGRAM_SEC seconds; SCRIPTS_RECORDS run at a time and
 * up to SCRIPTS_UNATTENDED_WAITING are queued (scripts.h); further records are dropped and logged.
 */
#define LOG_ROOM "slurmctld"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/pb.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/job_comp.h"

#define DEFAULT_PATH "/var/log/slurm_jobcomp.log"
#define VARIABLES_MAX 32
#define NO_ARRAY_TASK 4294967294u /* Slurm's value for "no array task" */
#define PROGRAM_SEC 60            /* time limit of the program */

const char *job_comp_path(const struct conf *conf)
{
    bool wanted = str_eq(conf->job_comp_type, "jobcomp/filetxt");
    const char *path = conf->job_comp_loc;
    return !wanted ? NULL : path && *path ? path : DEFAULT_PATH;
}

const char *job_comp_program(const struct conf *conf)
{
    return str_eq(conf->job_comp_type, "jobcomp/script") ? conf->job_comp_loc : NULL;
}

void job_comp_close(struct ctld *c)
{
    if (c->job_comp_fd > 0)
        close(c->job_comp_fd);
    c->job_comp_fd = 0;
}

/* --- the line --------------------------------------------------------------------------------- */

/* The value may be chosen by a user: blanks and control characters are replaced, because a pair
 * has no blanks, a record is one line, and administrators read it on a terminal. */
static void put_pair(struct str *out, const char *key, const char *value)
{
    size_t left = value ? strlen(value) : 0, len;

    str_printf(out, "%s=", key);
    for (; left; value += len, left -= len) {
        bool harmful;

        len = text_next(value, left, &harmful);
        if (harmful || *value == ' ')
            str_putc(out, '_');
        else
            str_append(out, value, len);
    }
    str_putc(out, ' ');
}

static void put_job_comp_time(struct str *out, const char *key, int64_t at)
{
    char text[TIME_TEXT_MAX];
    put_pair(out, key, time_format_date(at, "Unknown", text));
}

static void put_person(struct str *out, const char *key, const char *name, uint32_t id)
{
    _cleanup_free_ char *text = mem_printf("%s(%u)", name ? name : "", id);
    put_pair(out, key, text);
}

static void put_limit(struct str *out, int64_t sec)
{
    if (sec == INT64_MAX)
        put_pair(out, "TimeLimit", "UNLIMITED");
    else
        str_printf(out, "TimeLimit=%lld ", (long long)((sec + 59) / 60));
}

static void put_status(struct str *out, const char *key, int status)
{
    str_printf(out, "%s=%d:%d ", key, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
               WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void format_line(const struct conf *conf, const struct env_job_end *e, struct str *out)
{
    const Pb__JobFacts *f = e->facts;
    str_printf(out, "JobId=%u ", e->job_id);
    if (f->has_array_job_id)
        str_printf(out, "ArrayJobId=%u ArrayTaskId=%u ", f->array_job_id, f->array_task_id);
    put_person(out, "UserId", f->user_name, e->uid);
    put_person(out, "GroupId", f->group_name, e->gid);
    put_pair(out, "Name", f->job_name);
    put_pair(out, "JobState", e->state);
    put_pair(out, "Partition", f->partition);
    put_limit(out, e->limit_sec);
    put_job_comp_time(out, "StartTime", e->start_at);
    put_job_comp_time(out, "EndTime", e->end_at);
    put_pair(out, "NodeList", f->nodes && *f->nodes ? f->nodes : "(null)");
    str_printf(out, "NodeCnt=%u ProcCnt=%u ", f->num_nodes, e->cpus);
    put_pair(out, "WorkDir", f->work_dir);
    put_pair(out, "ReservationName", f->reservation);
    put_pair(out, "Tres", e->tres);
    put_pair(out, "Account", f->account);
    put_pair(out, "QOS", f->qos);
    put_pair(out, "WcKey", NULL);
    put_pair(out, "Cluster", conf->cluster_name);
    put_job_comp_time(out, "SubmitTime", e->submit_at);
    put_job_comp_time(out, "EligibleTime", e->eligible_at);
    put_status(out, "DerivedExitCode", e->derived_status);
    put_status(out, "ExitCode", e->exit_status);
    str_putc(out, '\n');
}

/* --- the program ------------------------------------------------------------------------------ */

struct variables {
    struct arena arena;
    char *list[VARIABLES_MAX];
    size_t count;
};

static void add_variable(struct variables *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add_variable(struct variables *v, const char *fmt, ...)
{
    _cleanup_str_ struct str text = STR_INIT;
    va_list ap;

    assert(v->count < VARIABLES_MAX);
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    v->list[v->count++] = arena_strdup(&v->arena, str_cstr(&text));
}

static void add_text(struct variables *v, const char *name, const char *value)
{
    add_variable(v, "%s=%s", name, value ? value : "");
}

static void add_status(struct variables *v, const char *name, int status)
{
    add_variable(v, "%s=%d:%d", name, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void add_ids(struct variables *v, const struct env_job_end *e)
{
    const Pb__JobFacts *f = e->facts;

    add_variable(v, "JOBID=%u", e->job_id);
    add_variable(v, "ARRAYJOBID=%u", f->has_array_job_id ? f->array_job_id : 0);
    add_variable(v, "ARRAYTASKID=%u", f->has_array_job_id ? f->array_task_id : NO_ARRAY_TASK);
    if (f->has_set_id) {
        add_variable(v, "HETJOBID=%u", f->set_id);
        add_variable(v, "HETJOBOFFSET=%u", f->set_offset);
    }
    add_variable(v, "UID=%u", e->uid);
    add_variable(v, "GID=%u", e->gid);
    add_text(v, "USERNAME", f->user_name);
    add_text(v, "GROUPNAME", f->group_name);
}

static void add_record(struct variables *v, const struct conf *conf, const struct env_job_end *e)
{
    const Pb__JobFacts *f = e->facts;
    char limit[TIME_TEXT_MAX];

    add_text(v, "PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    add_ids(v, e);
    add_text(v, "JOBNAME", f->job_name);
    add_text(v, "JOBSTATE", e->state);
    add_text(v, "PARTITION", f->partition);
    add_text(v, "LIMIT", time_format_limit(e->limit_sec, limit));
    add_variable(v, "SUBMIT=%lld", (long long)e->submit_at);
    add_variable(v, "START=%lld", (long long)e->start_at);
    add_variable(v, "END=%lld", (long long)e->end_at);
    add_text(v, "NODES", f->nodes);
    add_variable(v, "NODECNT=%u", f->num_nodes);
    add_variable(v, "PROCS=%u", e->cpus);
    add_text(v, "WORK_DIR", f->work_dir);
    add_text(v, "CONSTRAINTS", f->constraints);
    add_text(v, "RESERVATION", f->reservation);
    add_text(v, "ACCOUNT", f->account);
    add_text(v, "QOS", f->qos);
    add_text(v, "CLUSTER", conf->cluster_name);
    add_status(v, "DERIVED_EC", e->derived_status);
    add_status(v, "EXITCODE", e->exit_status);
}

static void queue_program(struct ctld *c, const struct env_job_end *e, const char *program)
{
    struct variables v = {0};
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;

    arena_init(&v.arena, 0);
    add_record(&v, control_conf(c->control), e);
    m.kind = PB__SCRIPT_KIND__SCRIPT_JOB_COMP;
    m.job_id = e->job_id;
    m.path = (char *)program;
    m.env = v.list;
    m.n_env = v.count;
    m.has_limit_sec = true;
    m.limit_sec = PROGRAM_SEC;
    _cleanup_str_ struct str packed = STR_INIT;
    pb_pack(&m.base, &packed);
    outbox_add(c->outbox, outbox_item_new(OUTBOX_RUN, packed.data, packed.len));
    arena_done(&v.arena);
}

void job_comp_ended(void *ctx, const struct env_job_end *e)
{
    struct ctld *c = ctx;
    _cleanup_str_ struct str line = STR_INIT;
    if (!c->control)
        return;
    const char *program = job_comp_program(control_conf(c->control));
    if (program) {
        queue_program(c, e, program);
        return;
    }
    format_line(control_conf(c->control), e, &line);
    outbox_add(c->outbox, outbox_item_new(OUTBOX_JOB_ENDED, line.data, line.len));
}

/* --- the file --------------------------------------------------------------------------------- */

static int open_job_comp_file(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0640);
    return fd < 0 ? err_set(err, -errno, "cannot open JobCompLoc '%s': %s", path, strerror(errno))
                  : fd;
}

void job_comp_write(struct ctld *c, const void *line, size_t len)
{
    static struct log_limit limit = {.burst = 1};
    const char *path = job_comp_path(control_conf(c->control));
    struct err err = {0};
    int rc = 0;
    if (!path)
        return;
    if (c->job_comp_fd <= 0)
        c->job_comp_fd = rc = open_job_comp_file(path, &err);
    if (rc >= 0 && (rc = path_write_all(c->job_comp_fd, line, len)) < 0)
        err_set(&err, rc, "cannot write to JobCompLoc '%s': %s", path, strerror(-rc));
    if (rc < 0 && log_allow(&limit))
        log_error("%s: the completion records of jobs are lost until the file can be written",
                  err.text);
}
