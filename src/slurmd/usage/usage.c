/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "base/str.h"
#include "slurmd/node/hw.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/adopted.h"
#include "slurmd/usage/counted.h"
#include "slurmd/usage/memory.h"
#include "slurmd/usage/usage_priv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define FILE_MAX (64u << 20)

/* --- the file -------------------------------------------------------------------------------- */

static char *file_of(const struct slurmd *d)
{
    return mem_printf("%s/usage", d->spool);
}

/* Its part that changes with the machine's boot. */
static char *boot_of(const struct slurmd *d)
{
    return mem_strndup(d->incarnation, strcspn(d->incarnation, ":"));
}

int usage_save(struct usage *u)
{
    static struct log_limit limit = {.burst = 5};
    _cleanup_free_ char *path = file_of(u->d), *boot = boot_of(u->d);
    _cleanup_str_ struct str bytes = STR_INIT;
    struct err err = {0};

    tally_pack(u->tally, boot, loop_wall_ms() / 1000, &bytes);
    if (!path_write_file(path, bytes.data, bytes.len, 0600, &err))
        u->changed = false;
    else if (log_allow(&limit))
        log_error("%s; after a restart figures of use may be smaller", err.text);
    return err.code;
}

void usage_open(struct slurmd *d)
{
    struct usage *u = mem_new(struct usage);
    _cleanup_free_ char *path = file_of(d), *boot = boot_of(d);
    _cleanup_str_ struct str text = STR_INIT;
    int64_t now_sec = loop_wall_ms() / 1000;
    int rc = path_read_file(path, FILE_MAX, &text, NULL);

    u->d = d;
    d->usage = u;
    if (!rc)
        u->tally = tally_unpack(text.data, text.len, boot, now_sec, hw_up_sec());
    if (!rc && !u->tally) {
        _cleanup_free_ char *aside = mem_printf("%s/damaged.usage", d->spool);

        log_error("%s is damaged: it is set aside as %s, and counting starts at zero", path, aside);
        rename(path, aside);
    }
    if (!u->tally)
        u->tally = tally_new(now_sec);
}

/* --- looks ----------------------------------------------------------------------------------- */

static void on_look(void *ctx) /* on the worker */
{
    struct usage *u = ctx;

    snapshot_read(&u->snapshot, u->roots.data, u->roots.len);
}

static void on_looked(void *ctx)
{
    struct usage *u = ctx;

    u->looking = false;
    if (u->closing)
        return;
    if (u->snapshot.cut && !u->told_cut) {
        u->told_cut = true;
        log_error("there are more than %d processes: what the others use is not counted",
                  SNAPSHOT_PROCESSES_MAX);
    }
    counted_memory(u->d, u->tally);
    tally_take(u->tally, &u->snapshot);
    adopted_forget_ended(u->d, &u->snapshot);
    usage_save(u);
    u->sure = memory_check(u->d, u->tally, &u->snapshot) && !u->sure;
    u->again = u->stale && u->answers.len && !u->again; /* once: others may start all the time */
    if (u->again)
        usage_look(u);
    else
        usage_answer_all(u);
    if (u->sure)
        usage_look(u);
}

void usage_look(struct usage *u)
{
    if (u->looking)
        return;
    u->looking = true;
    u->stale = false;
    vec_clear(&u->roots);
    vec_foreach (&u->tally->steps, s)
        if ((*s)->shepherd)
            vec_push(&u->roots, (*s)->shepherd);
    adopted_collect(u->d, &u->snapshot);
    loop_work_post(u->d->loop, 0, on_look, on_looked, u);
}

/* The least that is asked for by what runs; 0: nothing does, or no looks by the clock are wanted.
 */
static int64_t interval_sec(const struct usage *u)
{
    int64_t least = 0;

    vec_foreach (&u->tally->steps, at) {
        const struct tally_step *s = *at;
        int64_t sec = s->has_every ? s->every_sec : u->d->conf->job_acct_gather_sec;
        if (sec && (!least || sec < least))
            least = sec;
    }
    return least;
}

/* Only while steps run: an idle node sleeps. */
static void arm(struct usage *u)
{
    int64_t sec = interval_sec(u);

    if (!u->timer || !sec || (u->armed && u->armed_sec <= sec))
        return;
    u->armed = true;
    u->armed_sec = sec;
    loop_timer_set(u->timer, sec * 1000);
}

static void on_timer(void *ctx)
{
    struct usage *u = ctx;

    u->armed = false;
    if (u->tally->steps.len)
        usage_look(u);
    arm(u);
}

void usage_rearm(struct slurmd *d)
{
    struct usage *u = d->usage;

    if (!u || !u->timer)
        return;
    loop_timer_set(u->timer, -1);
    u->armed = false;
    arm(u);
}

bool usage_is_fresh(const struct usage *u, int64_t ms)
{
    return u->tally->began && !u->stale && loop_mono_ms() - u->tally->at_ms < ms;
}

void usage_beat(struct slurmd *d)
{
    if (!usage_is_fresh(d->usage, USAGE_FRESH_MS))
        usage_look(d->usage);
}

/* Steps of the file that ended before this daemon began, and were reported. */
static void forget_ended(struct usage *u)
{
    for (size_t i = u->tally->steps.len; i-- > 0;) {
        struct tally_step *s = u->tally->steps.data[i];
        struct attempt *a = attempt_find(u->d, s->job_id, s->restarts);

        if (!a || !step_find(a, s->step_id)) {
            tally_end_step(u->tally, s, 0, NULL, false);
            tally_drop_step(u->tally, s);
        }
    }
    for (size_t i = u->tally->jobs.len; i-- > 0 && i < u->tally->jobs.len;)
        usage_job_forgotten(u->d, u->tally->jobs.data[i].job_id);
}

void usage_begin(struct slurmd *d)
{
    struct usage *u = d->usage;

    u->timer = loop_timer_new(d->loop, on_timer, u);
    forget_ended(u);
    usage_look(u);
    arm(u);
}

void usage_close(struct slurmd *d)
{
    struct usage *u = d->usage;

    if (!u)
        return;
    u->closing = true;
    loop_timer_free(take_ptr(u->timer));
    if (u->changed)
        usage_save(u);
}

void usage_done(struct slurmd *d)
{
    struct usage *u = take_ptr(d->usage);

    if (!u)
        return;
    tally_free(u->tally);
    snapshot_done(&u->snapshot);
    vec_done(&u->roots);
    vec_done(&u->answers);
    free(u);
}

/* --- steps and jobs -------------------------------------------------------------------------- */

void usage_step_runs(const struct attempt *a, uint32_t step_id, pid_t shepherd,
                     const uint32_t *pids, size_t pid_count, const uint32_t *ranks,
                     size_t rank_count)
{
    struct usage *u = a->d->usage;
    _cleanup_free_ uint32_t *numbers = mem_new_array(uint32_t, pid_count + 1);
    static const uint32_t nobody[1];

    if (step_id == STEP_ID_EXTERN) { /* all that is in it is one task's, as in Slurm */
        pids = nobody;
        pid_count = 1;
    }
    for (size_t i = 0; i < pid_count; i++)
        numbers[i] = rank_count == pid_count ? ranks[i] : (uint32_t)i;
    tally_set_step(u->tally, a->key.id, a->key.restarts, step_id, shepherd, pids, numbers,
                   pid_count);
    u->stale = true;
    arm(u);
}

void usage_step_every(const struct attempt *a, uint32_t step_id, uint32_t sec)
{
    struct usage *u = a->d->usage;
    struct tally_step *s = tally_find_step(u->tally, a->key.id, a->key.restarts, step_id);

    if (!s)
        return;
    s->has_every = true;
    s->every_sec = sec;
    arm(u);
}

Pb__Usage *usage_step_ended(const struct attempt *a, const Pb__StepdEnded *m, struct arena *arena)
{
    struct usage *u = a->d->usage;
    Pb__Usage *all = arena_alloc(arena, sizeof(*all));
    const Pb__Usage *said = m->usage;
    struct tally_step *s = tally_find_step(u->tally, m->job_id, m->restarts, m->step_id);
    /* Whoever waits for those of an extern step, it is not its shepherd. */
    bool left = (m->has_unkillable && m->unkillable) || m->step_id == STEP_ID_EXTERN;

    pb__usage__init(all);
    if (said) { /* scalars alone: shepherds know nothing else */
        *all = *said;
        all->n_most = all->n_least = 0;
    }
    if (!s) {
        tally_set_step(u->tally, m->job_id, m->restarts, m->step_id, 0, NULL, NULL, 0);
        s = tally_find_step(u->tally, m->job_id, m->restarts, m->step_id);
    }
    if (said) {
        uint64_t used[SNAPSHOT_COUNTERS] = {[SNAPSHOT_USER] = said->user_usec,
                                            [SNAPSHOT_SYS] = said->sys_usec,
                                            [SNAPSHOT_PAGES] = said->pages,
                                            [SNAPSHOT_READ] = said->read_bytes,
                                            [SNAPSHOT_WRITE] = said->write_bytes};

        tally_end_step(u->tally, s, (uid_t)a->note.about->uid, used, left);
    } else {
        tally_end_step(u->tally, s, (uid_t)a->note.about->uid, NULL, left);
    }
    tally_view_step(s, arena, all);
    tally_drop_step(u->tally, s);
    u->changed = true;
    return all;
}

void usage_job_forgotten(struct slurmd *d, uint32_t job_id)
{
    for (const struct attempt *a = d->attempts; a; a = a->hh.next)
        if (a->key.id == job_id)
            return;
    tally_drop_job(d->usage->tally, job_id);
    d->usage->changed = true;
}

void usage_is_stale(struct slurmd *d)
{
    d->usage->stale = true;
}
