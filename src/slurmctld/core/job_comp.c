/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JobCompType=jobcomp/filetxt: a line of KEY=VALUE pairs for each job, or attempt of one, that has
 * ended, in Slurm's format. The line is written when the end is durable; a crash between the two
 * loses the line.
 */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/job_comp.h"

#define DEFAULT_PATH "/var/log/slurm_jobcomp.log"

const char *job_comp_path(const struct conf *conf)
{
    bool wanted = str_eq(conf->job_comp_type, "jobcomp/filetxt");
    const char *path = conf->job_comp_loc;
    return !wanted ? NULL : path && *path ? path : DEFAULT_PATH;
}

void job_comp_close(struct ctld *c)
{
    if (c->job_comp_fd > 0)
        close(c->job_comp_fd);
    c->job_comp_fd = 0;
}

/* --- the line ------------------------------------------------------------------------------------
 */

/* A user may have chosen it: a pair has no blanks, a record is one line, and administrators read it
 * at a terminal. */
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

static void put_time(struct str *out, const char *key, int64_t at)
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
    put_time(out, "StartTime", e->start_at);
    put_time(out, "EndTime", e->end_at);
    put_pair(out, "NodeList", f->nodes && *f->nodes ? f->nodes : "(null)");
    str_printf(out, "NodeCnt=%u ProcCnt=%u ", f->num_nodes, e->cpus);
    put_pair(out, "WorkDir", f->work_dir);
    put_pair(out, "ReservationName", f->reservation);
    put_pair(out, "Tres", e->tres);
    put_pair(out, "Account", f->account);
    put_pair(out, "QOS", f->qos);
    put_pair(out, "WcKey", NULL);
    put_pair(out, "Cluster", conf->cluster_name);
    put_time(out, "SubmitTime", e->submit_at);
    put_time(out, "EligibleTime", e->eligible_at);
    put_status(out, "DerivedExitCode", e->derived_status);
    put_status(out, "ExitCode", e->exit_status);
    str_putc(out, '\n');
}

void job_comp_ended(void *ctx, const struct env_job_end *e)
{
    struct ctld *c = ctx;
    _cleanup_str_ struct str line = STR_INIT;
    if (!c->control)
        return;
    format_line(control_conf(c->control), e, &line);
    outbox_add(c->outbox, outbox_item_new(OUTBOX_JOB_ENDED, line.data, line.len));
}

/* --- the file ------------------------------------------------------------------------------------
 */

static int open_file(const char *path, struct err *err)
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
        c->job_comp_fd = rc = open_file(path, &err);
    if (rc >= 0 && (rc = path_write_all(c->job_comp_fd, line, len)) < 0)
        err_set(&err, rc, "cannot write to JobCompLoc '%s': %s", path, strerror(-rc));
    if (rc < 0 && log_allow(&limit))
        log_error("%s: the completion records of jobs are lost until the file can be written",
                  err.text);
}
