/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/ending.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "slurmd/contain.h"
#include "slurmd/report.h"
#include "slurmd/step.h"
#include "slurmd/stray.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define SCRIPT_LOOK_MS 200
#define STRAY_LOOK_MS 500 /* all processes of the machine are looked at */
#define COMMAND_LINE_MAX 65536

Pb__StepdEnded *ending_copy(const Pb__StepdEnded *m)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    pb_pack(&m->base, &bytes);
    return pb__stepd_ended__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
}

void ending_lost_free(struct lost *l)
{
    struct job *j = l->job;

    for (size_t i = 0; i < j->lost.len; i++)
        if (j->lost.data[i] == l) {
            vec_remove(&j->lost, i);
            break;
        }
    loop_timer_free(l->timer);
    free(l);
}

static void lost_is_over(struct lost *l, char *stuck)
{
    Pb__StepdEnded m = PB__STEPD_ENDED__INIT;
    Pb__Usage usage = PB__USAGE__INIT;
    struct job *j = l->job;

    m.job_id = j->key.id;
    m.restarts = j->key.restarts;
    m.step_id = l->step_id;
    m.exit_status = SIGKILL;
    m.text = "slurmstepd was killed";
    m.has_unkillable = m.unkillable = stuck != NULL;
    m.stuck = stuck;
    m.usage = contain_time(j, l->step_id, &usage) ? &usage : NULL;
    contain_step_over(j, l->step_id);
    ending_lost_free(l);
    job_step_ended(j, &m, NULL);
}

static void look_for_strays(void *ctx)
{
    _cleanup_str_ struct str left = STR_INIT;
    _cleanup_str_ struct str stray = STR_INIT;
    struct lost *l = ctx;
    struct job *j = l->job;
    unsigned count = contain_kill(j, l->step_id, &left);

    count += stray_kill(j->d, j->key.id, l->step_id, (uid_t)j->note.about->uid, &stray);
    if (!left.len)
        str_puts(&left, str_cstr(&stray));
    if (!count)
        lost_is_over(l, NULL);
    else if (loop_mono_ms() >= l->give_up_ms)
        lost_is_over(l, (char *)str_cstr(&left));
    else
        loop_timer_set(l->timer, STRAY_LOOK_MS);
}

void ending_lost(struct job *j, uint32_t step_id)
{
    struct lost *l = mem_new(struct lost);

    log_error("step %u.%u: its slurmstepd has gone without a report; ending what is left of it",
              j->key.id, step_id);
    l->job = j;
    l->step_id = step_id;
    l->give_up_ms = loop_mono_ms() + j->d->conf->unkillable_step_timeout_sec * 1000;
    l->timer = loop_timer_new(j->d->loop, look_for_strays, l);
    vec_push(&j->lost, l);
    look_for_strays(l);
}

/* Claimed, but whoever claimed it does not answer. */
static void take_end(struct job *j, uint32_t step_id)
{
    Pb__StepdEnded *m = step_read_end(j->d, j->key.id, j->key.restarts, step_id);

    job_step_lost(j, step_id, m);
    if (m)
        pb__stepd_ended__free_unpacked(m, NULL);
}

static bool claimed(const struct job *j, uint32_t step_id)
{
    _cleanup_free_ char *path = step_file(j->d, j->key.id, j->key.restarts, step_id, "sock");

    return !access(path, F_OK);
}

void ending_find_steps(struct job *j)
{
    struct slurmd *d = j->d;
    bool batch = j->note.batch_started && !j->note.batch_over;

    if (batch && report_pending_step(d, j->key.id, j->key.restarts, SLURMD_STEP_BATCH))
        j->batch_ended = true;
    else if (batch && !claimed(j, SLURMD_STEP_BATCH))
        j->note.batch_started = false; /* its shepherd never came so far: it may be started */
    else if (batch && !step_adopt(j, SLURMD_STEP_BATCH))
        take_end(j, SLURMD_STEP_BATCH);
    if (j->note.batch_over)
        j->batch_ended = true;
    for (size_t i = 0; i < j->note.steps.len;) {
        uint32_t id = j->note.steps.data[i].id;
        bool over =
            j->note.steps.data[i].over || report_pending_step(d, j->key.id, j->key.restarts, id);

        if (!over && !claimed(j, id)) {
            vec_remove(&j->note.steps, i); /* as with a batch script */
            continue;
        }
        if (!over && !step_adopt(j, id))
            take_end(j, id);
        i++;
    }
}

struct watch {
    struct slurmd *d;
    struct job_key key;
    bool is_epilog;
    script_fn *done;
};

/* Whether the number still belongs to the site's script. */
static bool script_lives(const struct job *j, bool is_epilog)
{
    const char *script = is_epilog ? j->d->conf->epilog : j->d->conf->prolog;
    pid_t pid = is_epilog ? j->note.epilog_pid : j->note.prolog_pid;
    _cleanup_str_ struct str line = STR_INIT;
    char path[64];

    if (pid <= 0 || !script)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    if (path_read_file(path, COMMAND_LINE_MAX, &line, NULL))
        return false;
    return line.len && memmem(line.data, line.len, script, strlen(script));
}

static void on_look(void *ctx)
{
    struct watch *w = ctx;
    struct job *j = job_find(w->d, w->key.id, w->key.restarts);

    if (j && script_lives(j, w->is_epilog)) {
        loop_timer_set(j->script_watch, SCRIPT_LOOK_MS);
        return;
    }
    if (j)
        loop_timer_free(take_ptr(j->script_watch));
    log_info("job %u: the %s that was running when this daemon started has ended", w->key.id,
             w->is_epilog ? "epilog" : "prolog");
    w->done(w->d, w->key.id, w->key.restarts, 0, NULL);
    free(w);
}

void ending_watch_script(struct job *j, bool is_epilog, script_fn *done)
{
    struct watch *w = mem_new(struct watch);

    *w = (struct watch){j->d, j->key, is_epilog, done};
    j->script_watch = loop_timer_new(j->d->loop, on_look, w);
    loop_timer_set(j->script_watch, 0);
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
