/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/core/user_share.h"

#include "control/core/reply.h"
#include "control/internal.h"

#define RECORD_SHARE (16u << 10)   /* bytes of records for each job of MaxJobCount */
#define RECORD_LEAST (64ull << 20) /* bytes of records that are always permitted */
#define LOG_PAUSE_MS 60000

/* The rest of a limit after 'more' is added. */
struct amount {
    uint64_t own, all, max, more;
};

static bool is_allowed(const struct control *c, const struct amount *a)
{
    uint64_t reserve = a->max / 100 * (uint64_t)c->conf->sched.user_reserve;
    uint64_t left;

    if (a->more > a->max || a->all > a->max - a->more)
        return false;
    left = a->max - a->all - a->more;
    return left >= reserve || a->own + a->more <= left;
}

static int refuse_jobs(const struct control *c, uint32_t uid, const struct amount *a,
                       struct err *err)
{
    return err_set(err, -ERR_JOB_LIMIT,
                   "%s: user %u has %llu jobs, each element of an array counts, and asks for %llu; "
                   "of MaxJobCount=%llu %llu are free, which are kept for other users "
                   "(user_reserve=%u): submit again when some of these jobs are over, or cancel "
                   "some",
                   err_text(ERR_JOB_LIMIT), uid, (unsigned long long)a->own,
                   (unsigned long long)a->more, (unsigned long long)a->max,
                   (unsigned long long)(a->all < a->max ? a->max - a->all : 0),
                   (unsigned)c->conf->sched.user_reserve);
}

static int refuse_bytes(const struct control *c, int code, const char *what, uint32_t uid,
                        const struct amount *a, struct err *err)
{
    return err_set(err, -code,
                   "%s: the jobs of user %u have %llu KiB of %s and ask for %llu; of %llu KiB %llu "
                   "are free, which are kept for other users (user_reserve=%u): submit again when "
                   "some of these jobs are over, or submit smaller ones",
                   err_text(code), uid, (unsigned long long)(a->own >> 10), what,
                   (unsigned long long)(a->more + 1023) >> 10, (unsigned long long)(a->max >> 10),
                   (unsigned long long)((a->all < a->max ? a->max - a->all : 0) >> 10),
                   (unsigned)c->conf->sched.user_reserve);
}

static int check_jobs(const struct control *c, uint32_t uid, const struct holding *own,
                      const struct holding *more, struct err *err)
{
    struct amount a = {.own = own->jobs,
                       .all = c->cluster->jobs.len + c->cluster->folded,
                       .max = c->conf->max_job_count,
                       .more = more->jobs};

    return a.more == 0 || is_allowed(c, &a) ? 0 : refuse_jobs(c, uid, &a, err);
}

static int check_records(const struct control *c, uint32_t uid, const struct holding *own,
                         const struct holding *more, struct err *err)
{
    uint64_t max = (uint64_t)c->conf->max_job_count * RECORD_SHARE;
    struct amount a = {.own = own->record,
                       .all = c->cluster->holdings.all.record,
                       .max = max > RECORD_LEAST ? max : RECORD_LEAST,
                       .more = more->record};

    return is_allowed(c, &a)
               ? 0
               : refuse_bytes(c, ERR_LIMIT, "the memory for records of jobs", uid, &a, err);
}

static int check_store(const struct control *c, uint32_t uid, const struct holding *own,
                       const struct holding *more, struct err *err)
{
    struct amount a = {.own = own->store,
                       .all = c->cluster->holdings.all.store,
                       .max = c->cluster->holdings.all.store + c->store_free,
                       .more = more->store};

    if (c->store_free == UINT64_MAX || is_allowed(c, &a))
        return 0;
    return refuse_bytes(c, ERR_STORE_FULL, "the state directory", uid, &a, err);
}

int user_share_check(struct control *c, const struct caller *who, uint32_t uid,
                     const struct holding *more, struct err *err)
{
    struct holding own = holdings_of(c->cluster, uid);
    int rc;

    if (who->is_operator || who->is_admin)
        return 0;
    rc = check_jobs(c, uid, &own, more, err);
    if (rc == 0)
        rc = check_records(c, uid, &own, more, err);
    if (rc == 0)
        rc = check_store(c, uid, &own, more, err);
    if (rc != 0)
        user_share_log_largest(c);
    return rc;
}

void user_share_log_largest(struct control *c)
{
    int64_t now = control_mono(c);
    struct holding jobs, bytes;
    uint32_t most_jobs, most_bytes;

    if ((c->largest_logged_mono_ms && now - c->largest_logged_mono_ms < LOG_PAUSE_MS) ||
        !holdings_find_most_jobs(c->cluster, &most_jobs, &jobs) ||
        !holdings_find_most_bytes(c->cluster, &most_bytes, &bytes))
        return;
    c->largest_logged_mono_ms = now ? now : 1;
    control_log(c, LOG_LVL_INFO,
                "submissions are refused; of %llu jobs user %u has the most, %llu; of %llu KiB in "
                "the store user %u has the most, %llu",
                (unsigned long long)c->cluster->holdings.all.jobs, most_jobs,
                (unsigned long long)jobs.jobs,
                (unsigned long long)c->cluster->holdings.all.store >> 10, most_bytes,
                (unsigned long long)bytes.store >> 10);
}
