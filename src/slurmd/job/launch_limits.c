/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/launch_limits.h"

#include "base/args.h"
#include "slurmd/node/script.h"
#include "slurmd/step/step.h"

/* For prologs without a time limit: the prologs of other nodes may take up to this multiple of the
 * time of this node's prolog, within these bounds. */
#define PROLOG_TIMES 10
#define PROLOG_LEAST_MS (300 * 1000)
#define PROLOG_MOST_MS (3600 * 1000)
#define MESSAGES 3 /* round trips between the end of the last prolog and the commit */

struct usage_held {
    size_t bytes, steps;
};

static void add_attempt_use(const struct attempt *a, struct usage_held *sum)
{
    vec_foreach (&a->waiting, l)
        sum->bytes += (*l)->message.len + (*l)->cred.len;
    vec_foreach (&a->steps, s)
        sum->bytes += (*s)->held_bytes;
    sum->steps += a->waiting.len + a->steps.len;
}

static int check_limits(const char *what, unsigned id, struct usage_held now, size_t bytes,
                        size_t bytes_most, size_t steps_most, const struct slurmd *d,
                        struct err *err)
{
    if (now.bytes + bytes > bytes_most)
        return err_set(err, -ERR_LIMIT,
                       "launches of %s %u that have not started their tasks hold %zu KiB on node "
                       "%s, and %zu KiB are the most: start fewer at a time",
                       what, id, now.bytes >> 10, d->name, bytes_most >> 10);
    if (now.steps >= steps_most)
        return err_set(err, -ERR_LIMIT,
                       "%s %u has %zu steps on node %s, and may have no more at a time", what, id,
                       now.steps, d->name);
    return 0;
}

int launch_limits_check(const struct slurmd *d, const Pb__Cred *cred, size_t bytes, struct err *err)
{
    struct usage_held of_job = {0}, of_user = {0};
    int rc;

    for (const struct attempt *a = d->attempts; a; a = a->hh.next) {
        if (a->key.id == cred->job_id)
            add_attempt_use(a, &of_job);
        if (a->note.about->uid == cred->uid)
            add_attempt_use(a, &of_user);
    }
    rc = check_limits("job", cred->job_id, of_job, bytes, LAUNCH_JOB_BYTES, LAUNCH_JOB_STEPS, d,
                      err);
    return rc ? rc
              : check_limits("user", cred->uid, of_user, bytes, LAUNCH_USER_BYTES,
                             LAUNCH_USER_STEPS, d, err);
}

int launch_limits_check_args(const Pb__LaunchTasks *m, struct err *err)
{
    return args_check_bytes(args_bytes(m->argv, m->n_argv) + args_bytes(m->env, m->n_env), err);
}

int64_t launch_limits_commit_ms(const struct conf *c, int64_t prepared_ms)
{
    int64_t prolog_ms = script_limit_sec(c, false) * 1000;

    if (!prolog_ms) {
        prolog_ms = prepared_ms < PROLOG_MOST_MS ? prepared_ms * PROLOG_TIMES : PROLOG_MOST_MS;
        prolog_ms = prolog_ms > PROLOG_LEAST_MS ? prolog_ms : PROLOG_LEAST_MS;
        prolog_ms = prolog_ms < PROLOG_MOST_MS ? prolog_ms : PROLOG_MOST_MS;
    }
    return prolog_ms + MESSAGES * 1000 * (int64_t)c->message_timeout_sec;
}
