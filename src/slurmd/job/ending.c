/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/ending.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "slurmd/attempt/report.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/extern.h"
#include "slurmd/job/litter.h"
#include "slurmd/job/step_life.h"
#include "slurmd/job/stray.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/freq.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/adopted.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"
#include "base/step_id.h"

#define STRAY_LOOK_MS 500 /* each look reads all processes of the machine */

Pb__StepdEnded *ending_copy(const Pb__StepdEnded *m)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    pb_pack(&m->base, &bytes);
    return pb_unpack(&pb__stepd_ended__descriptor, bytes.data, bytes.len);
}

void ending_lost_free(struct lost *l)
{
    struct attempt *a = l->attempt;

    for (size_t i = 0; i < a->lost.len; i++)
        if (a->lost.data[i] == l) {
            vec_remove(&a->lost, i);
            break;
        }
    loop_timer_free(l->timer);
    if (l->said)
        pb__stepd_ended__free_unpacked(l->said, NULL);
    if (l->handle >= 0)
        close(l->handle);
    free(l->for_memory);
    free(l);
}

static void fill_killed_end(const struct lost *l, Pb__Usage *usage, Pb__StepdEnded *m)
{
    struct attempt *a = l->attempt;

    m->job_id = a->key.id;
    m->restarts = a->key.restarts;
    m->step_id = l->step_id;
    m->exit_status = SIGKILL;
    m->text = l->for_memory   ? l->for_memory
              : l->was_silent ? "slurmstepd did not answer, and was killed"
                              : "slurmstepd was killed";
    m->has_timed_out = m->timed_out = str_eq(a->note.why, "TIME LIMIT");
    m->usage = contain_time(a, l->step_id, usage) ? usage : NULL;
}

static void finish_lost_step(struct lost *l, char *stuck)
{
    Pb__StepdEnded m = PB__STEPD_ENDED__INIT, *said = take_ptr(l->said);
    Pb__Usage usage = PB__USAGE__INIT;
    _cleanup_free_ char *text = NULL; /* m.text, once l is freed */
    struct attempt *a = l->attempt;

    if (said)
        m = *said;
    else
        fill_killed_end(l, &usage, &m);
    if (stuck) {
        m.has_unkillable = m.unkillable = true;
        m.stuck = stuck;
    }
    contain_step_over(a, l->step_id);
    litter_of_step(a->d, a->key.id, a->key.restarts, l->step_id);
    freq_step_over(a, l->step_id);
    text = take_ptr(l->for_memory);
    ending_lost_free(l);
    attempt_step_ended(a, &m, NULL);
    if (said)
        pb__stepd_ended__free_unpacked(said, NULL);
}

static bool is_shepherd_alive(const struct lost *l, struct str *left)
{
    struct pollfd p = {.fd = l->handle, .events = POLLIN};

    if (l->handle < 0 || poll(&p, 1, 0) != 0)
        return false;
    proc_describe(l->silent, left);
    return true;
}

static void kill_leftovers(void *ctx)
{
    _cleanup_str_ struct str left = STR_INIT;
    _cleanup_str_ struct str stray = STR_INIT;
    struct lost *l = ctx;
    struct attempt *a = l->attempt;
    unsigned count = contain_kill(a, l->step_id, &left);

    if (l->step_id == STEP_ID_EXTERN)
        count += adopted_kill(a, &stray);
    count += stray_kill(a->d, a->key.id, l->step_id, (uid_t)a->note.about->uid, &stray);
    count += is_shepherd_alive(l, &stray);
    if (!left.len)
        str_puts(&left, str_cstr(&stray));
    if (!count)
        finish_lost_step(l, NULL);
    else if (loop_mono_ms() >= l->give_up_ms)
        finish_lost_step(l, (char *)str_cstr(&left));
    else
        loop_timer_set(l->timer, STRAY_LOOK_MS);
}

static struct lost *lost_new(struct attempt *a, uint32_t step_id)
{
    struct lost *l = mem_new(struct lost);

    l->attempt = a;
    l->step_id = step_id;
    l->handle = -1;
    vec_push(&a->lost, l);
    return l;
}

static void begin_killing_leftovers(struct lost *l)
{
    struct attempt *a = l->attempt;

    l->give_up_ms = loop_mono_ms() + a->d->conf->unkillable_step_timeout_sec * 1000;
    l->timer = loop_timer_new(a->d->loop, kill_leftovers, l);
    kill_leftovers(l);
}

void ending_lost(struct attempt *a, uint32_t step_id)
{
    _cleanup_str_ struct str why = STR_INIT;
    struct lost *l = lost_new(a, step_id);

    if (contain_shepherds_were_killed(a, &why))
        l->for_memory = mem_strdup(str_cstr(&why));
    log_error("step %s: %s; ending what is left of it", STEP_ID_TEXT(a->key.id, step_id),
              l->for_memory ? l->for_memory : "its slurmstepd ended without a report");
    begin_killing_leftovers(l);
}

void ending_silent(struct attempt *a, uint32_t step_id, pid_t shepherd, int handle)
{
    struct lost *l = lost_new(a, step_id);

    l->was_silent = true;
    l->silent = shepherd;
    l->handle = handle;
    begin_killing_leftovers(l);
}

bool ending_extern(struct attempt *a, const Pb__StepdEnded *said)
{
    struct lost *l;

    if (!a->note.ever_adopted || contain_tracks(a->d) || (said->has_unkillable && said->unkillable))
        return false;
    l = lost_new(a, STEP_ID_EXTERN);
    l->said = ending_copy(said);
    begin_killing_leftovers(l);
    return true;
}

/* The slurmstepd that claimed the step does not answer. */
static void take_recorded_end(struct attempt *a, uint32_t step_id)
{
    Pb__StepdEnded *m = step_read_end(a->d, a->key.id, a->key.restarts, step_id);

    attempt_step_lost(a, step_id, m);
    if (m)
        pb__stepd_ended__free_unpacked(m, NULL);
}

static bool is_step_claimed(const struct attempt *a, uint32_t step_id)
{
    _cleanup_free_ char *path = step_file(a->d, a->key.id, a->key.restarts, step_id, "sock");

    return !access(path, F_OK);
}

/* False: no slurmstepd has claimed the step, or it withdraws the claim now. The step may be
 * started. */
static bool find_claimed_step(struct attempt *a, uint32_t step_id)
{
    if (!is_step_claimed(a, step_id))
        return false;
    if (step_adopt(a, step_id))
        return true;
    if (!is_step_claimed(a, step_id))
        return false;
    take_recorded_end(a, step_id);
    return true;
}

void ending_find_steps(struct attempt *a)
{
    struct slurmd *d = a->d;
    bool batch = a->note.batch == NOTE_BATCH_STARTED;

    if (batch && report_pending_step(d, a->key.id, a->key.restarts, STEP_ID_BATCH))
        a->note.batch = NOTE_BATCH_ENDED;
    else if (batch && !find_claimed_step(a, STEP_ID_BATCH))
        a->note.batch = NOTE_BATCH_NONE;
    for (size_t i = 0; i < a->note.steps.len;) {
        uint32_t id = a->note.steps.data[i].id;
        bool over =
            a->note.steps.data[i].over || report_pending_step(d, a->key.id, a->key.restarts, id);

        if (over || find_claimed_step(a, id))
            i++;
        else
            vec_remove(&a->note.steps, i);
    }
}

void ending_remove_script(const struct slurmd *d, uint32_t job_id)
{
    _cleanup_free_ char *dir = mem_printf("%s/job%05u", d->spool, job_id);
    _cleanup_free_ char *script = mem_printf("%s/slurm_script", dir);

    if (!rmdir(dir))
        return;
    unlink(script);
    rmdir(dir);
}
