/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/step_id.h"
#include "base/str.h"
#include "slurmd/attempt/events.h"
#include "slurmd/attempt/report.h"

#define LITTLE (4u << 20) /* bytes: the maximum size of a script */
#define FILES_MAX 10000
#define DEPTH_MAX 16
#define BLOCK 512 /* bytes, of st_blocks */

struct fill {
    uint64_t bytes;
    unsigned left; /* number of files that may still be examined */
};

/* Follows no symbolic links, because users can write there. */
static void add_tree(struct fill *f, int parent, const char *name, unsigned depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    struct stat st;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (f->left && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        f->left--;
        f->bytes += (uint64_t)st.st_blocks * BLOCK;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            add_tree(f, fd, entry->d_name, depth + 1);
    }
    closedir(dir);
}

static bool is_of_a_job(const char *name)
{
    return str_starts(name, "pmix.") ||
           (str_starts(name, "job") && name[3] >= '0' && name[3] <= '9');
}

bool report_spool_is_of_jobs(const struct slurmd *d)
{
    struct fill f = {.left = FILES_MAX};
    struct dirent *entry;
    struct statvfs fs;
    DIR *dir;

    if (statvfs(d->spool, &fs) || (uint64_t)fs.f_bavail * fs.f_frsize > LITTLE)
        return false;
    dir = opendir(d->spool);
    while (dir && (entry = readdir(dir)))
        if (is_of_a_job(entry->d_name))
            add_tree(&f, dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    return f.bytes >= (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize / 4;
}

void report_launched(struct slurmd *d, uint32_t job_id, uint32_t restarts, int code,
                     const char *text, bool drain)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Launched m = PB__LAUNCHED__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    m.code = code == ERR_NODE_FAULT && report_spool_is_of_jobs(d) ? ERR_SPOOL_FULL : code;
    m.text = (char *)text;
    m.has_drain = drain;
    m.drain = drain;
    event.launched = &m;
    events_push(d->events, &event);
}

void report_refused(struct slurmd *d, uint32_t job_id, uint32_t restarts, const struct err *why,
                    int64_t issued_at_ms)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Launched m = PB__LAUNCHED__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    m.code = -why->code;
    m.text = (char *)why->text;
    m.has_issued_at_ms = true;
    m.issued_at_ms = issued_at_ms;
    event.launched = &m;
    events_push(d->events, &event);
}

void report_batch_ended(struct slurmd *d, const Pb__StepdEnded *end, bool gone)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__BatchEnded m = PB__BATCH_ENDED__INIT;

    m.job_id = end->job_id;
    m.restarts = end->restarts;
    m.exit_status = end->exit_status;
    m.usage = end->usage;
    m.has_gone = true;
    m.gone = gone;
    m.has_timed_out = end->has_timed_out;
    m.timed_out = end->timed_out;
    m.has_out_of_memory = end->has_out_of_memory;
    m.out_of_memory = end->out_of_memory;
    m.text = end->text;
    event.batch_ended = &m;
    events_push(d->events, &event);
}

void report_step_ended(struct slurmd *d, const Pb__StepdEnded *end)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__StepEnded m = PB__STEP_ENDED__INIT;

    m.job_id = end->job_id;
    m.restarts = end->restarts;
    m.step_id = end->step_id;
    m.exit_status = end->has_launch_code && end->launch_code ? 1 << 8 : end->exit_status;
    m.usage = end->usage;
    m.has_out_of_memory = end->has_out_of_memory;
    m.out_of_memory = end->out_of_memory;
    if (end->exit_status && !end->launch_code)
        m.text = end->text;
    event.step_ended = &m;
    events_push(d->events, &event);
}

void report_prolog_failed(struct slurmd *d, uint32_t job_id, uint32_t restarts, const char *text)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__PrologFailed m = PB__PROLOG_FAILED__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    m.text = (char *)text;
    event.prolog_failed = &m;
    events_push(d->events, &event);
}

void report_held_up(struct slurmd *d, uint32_t job_id, uint32_t restarts, const char *text)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__HeldUp m = PB__HELD_UP__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    m.text = (char *)text;
    event.held_up = &m;
    events_push(d->events, &event);
}

void report_prepared(struct slurmd *d, uint32_t job_id, uint32_t restarts)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Prepared m = PB__PREPARED__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    event.prepared = &m;
    events_push(d->events, &event);
}

void report_job_gone(struct slurmd *d, uint32_t job_id, uint32_t restarts, int epilog_status,
                     const char *text)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__JobGone m = PB__JOB_GONE__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    m.has_epilog_status = epilog_status != 0;
    m.epilog_status = epilog_status;
    m.text = (char *)text;
    event.job_gone = &m;
    events_push(d->events, &event);
}

void report_halted(struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t number)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Halted m = PB__HALTED__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    m.number = number;
    event.halted = &m;
    events_push(d->events, &event);
}

void report_trouble(struct slurmd *d, const char *reason)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__NodeTrouble m = PB__NODE_TROUBLE__INIT;

    m.reason = (char *)reason;
    event.trouble = &m;
    events_push(d->events, &event);
}

void report_signal_done(struct slurmd *d, uint32_t job_id, uint64_t nonce, int code)
{
    if (d->signals_reported >= REPORT_SIGNALS_MAX)
        return;
    d->signals_reported++;
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__SignalDone m = PB__SIGNAL_DONE__INIT;

    m.job_id = job_id;
    m.nonce = nonce;
    m.code = code;
    event.signal_done = &m;
    events_push(d->events, &event);
}

struct search {
    uint32_t job_id, restarts, step_id;
    bool step, gone;
};

static void compare_pending(void *ctx, const Pb__NodeEvent *e)
{
    struct search *s = ctx;
    const Pb__BatchEnded *b = e->batch_ended;
    const Pb__StepEnded *t = e->step_ended;
    const Pb__Launched *l = e->launched;
    const Pb__JobGone *g = e->job_gone;

    if (t && t->job_id == s->job_id && t->restarts == s->restarts && t->step_id == s->step_id)
        s->step = true;
    if (s->step_id == STEP_ID_BATCH &&
        ((l && l->code && l->job_id == s->job_id && l->restarts == s->restarts) ||
         (b && b->job_id == s->job_id && b->restarts == s->restarts)))
        s->step = true;
    if ((g && g->job_id == s->job_id && g->restarts == s->restarts) ||
        (b && b->gone && b->job_id == s->job_id && b->restarts == s->restarts))
        s->gone = true;
}

bool report_pending_step(const struct slurmd *d, uint32_t job_id, uint32_t restarts,
                         uint32_t step_id)
{
    struct search s = {.job_id = job_id, .restarts = restarts, .step_id = step_id};

    events_each(d->events, compare_pending, &s);
    return s.step;
}

bool report_pending_gone(const struct slurmd *d, uint32_t job_id, uint32_t restarts)
{
    struct search s = {.job_id = job_id, .restarts = restarts};

    events_each(d->events, compare_pending, &s);
    return s.gone;
}
