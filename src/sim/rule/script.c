/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Promises about site scripts. No payload of an attempt starts before its prolog has succeeded and
 * its burst buffer is ready; one script of a job runs at a time; a script whose start is on disk
 * runs to its end, and does not run again once the end is on disk; a buffer that was set up is torn
 * down.
 */
#include "sim/rule/script.h"

#include "base/mem.h"
#include "sim/rule/rule.h"

struct sim_burst *sim_burst_find(struct sim *s, uint32_t job_id, bool make)
{
    struct sim_burst *b;
    HASH_FIND(hh, s->bursts, &job_id, sizeof job_id, b);
    if (b || !make)
        return b;
    b = mem_new(struct sim_burst);
    b->job_id = job_id;
    HASH_ADD(hh, s->bursts, job_id, sizeof b->job_id, b);
    return b;
}

/* The order may reach a node late, when the attempt has ended and the job runs again. */
void sim_burst_check_start(struct sim *s, struct sim_key key)
{
    const struct sim_burst *b = sim_burst_find(s, key.job_id, false);
    struct sim_view v;
    bool runs = b && sim_view_stored(s, key.job_id, &v) && v.state == PB__JOB_STATE__RUNNING &&
                v.restarts == key.restarts;
    if (runs && !b->is_ready)
        sim_break(s, "a payload was started before its burst buffer was ready", "job %u restart %u",
                  key.job_id, key.restarts);
}

bool sim_burst_is_over(const struct sim *s)
{
    for (const struct sim_burst *b = s->bursts; b; b = b->hh.next)
        if (b->is_set_up)
            return false;
    return true;
}

void sim_burst_check_end(struct sim *s)
{
    for (const struct sim_burst *b = s->bursts; b; b = b->hh.next)
        if (b->is_set_up)
            sim_break(s, "a burst buffer was not torn down", "job %u: the last call was %s",
                      b->job_id, b->function);
}

struct sim_hook *sim_hook_find(struct sim *s, struct sim_key key, bool make)
{
    struct sim_hook *h;
    HASH_FIND(hh, s->hooks, &key, sizeof key, h);
    if (h || !make)
        return h;
    h = mem_new(struct sim_hook);
    h->key = key;
    HASH_ADD(hh, s->hooks, key, sizeof h->key, h);
    return h;
}

static const char *get_script_name(int kind)
{
    return kind == PB__SCRIPT_KIND__SCRIPT_PROLOG ? "prolog" : "epilog";
}

void sim_hook_check_run(struct sim *s, const struct sim_hook *h, int kind)
{
    struct sim_view v;
    bool prolog = kind == PB__SCRIPT_KIND__SCRIPT_PROLOG;
    bool stored = sim_view_stored(s, h->key.job_id, &v) && v.restarts == h->key.restarts;
    for (struct sim_hook *other = s->hooks; other; other = other->hh.next)
        if (other->running && other->life == s->c->life && other->key.job_id == h->key.job_id)
            sim_break(s, "two scripts of a job run at a time", "job %u restart %u: %s and %s",
                      h->key.job_id, h->key.restarts, get_script_name(other->running),
                      get_script_name(kind));
    if (!stored || v.state == PB__JOB_STATE__PENDING)
        sim_break(s, "a script was run before that was on disk", "%s of job %u restart %u",
                  get_script_name(kind), h->key.job_id, h->key.restarts);
    else if (prolog ? h->prolog && !v.configuring : h->epilog && !v.epilog_due)
        sim_break(s, "a script was run again that is known to have run", "%s of job %u restart %u",
                  get_script_name(kind), h->key.job_id, h->key.restarts);
}

void sim_hook_check_start(struct sim *s, struct sim_key key)
{
    const struct sim_hook *h = sim_hook_find(s, key, false);
    sim_burst_check_start(s, key);
    if (!s->no_prolog && (!h || !h->good))
        sim_break(s, "a payload was started before its prolog had ended well", "job %u restart %u",
                  key.job_id, key.restarts);
}

/* At the end of the run: every attempt with a prolog has had its epilog. */
void sim_hook_check_end(struct sim *s)
{
    sim_burst_check_end(s);
    for (const struct sim_hook *h = s->hooks; h; h = h->hh.next) {
        if (h->running)
            sim_break(s, "a script runs and nobody waits for it", "%s of job %u restart %u",
                      get_script_name(h->running), h->key.job_id, h->key.restarts);
        if (!s->no_epilog && h->begun && !h->epilog)
            sim_break(s, "an attempt had no epilog", "job %u restart %u", h->key.job_id,
                      h->key.restarts);
    }
}
