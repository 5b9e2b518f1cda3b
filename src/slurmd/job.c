/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job.h"

#include <stdarg.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "slurmd/contain.h"
#include "slurmd/ending.h"
#include "slurmd/halt.h"
#include "slurmd/jobtmp.h"
#include "slurmd/launch.h"
#include "slurmd/plugins.h"
#include "slurmd/receive.h"
#include "slurmd/report.h"
#include "slurmd/revoked.h"
#include "slurmd/script.h"
#include "slurmd/scriptenv.h"
#include "slurmd/step.h"
#include "slurmd/usage.h"

#define UNKILLABLE_PROGRAM_SEC 60

#define LOG_ROOM "slurmd"
#include "base/log.h"

struct job *job_find(struct slurmd *d, uint32_t id, uint32_t restarts)
{
    struct job_key key = {id, restarts};
    struct job *j;

    HASH_FIND(hh, d->jobs, &key, sizeof(key), j);
    return j;
}

static struct job *add(struct slurmd *d, uint32_t id, uint32_t restarts)
{
    struct job *j = mem_new(struct job);

    j->d = d;
    j->key = (struct job_key){id, restarts};
    HASH_ADD(hh, d->jobs, key, sizeof(j->key), j);
    return j;
}

struct job *job_new_unnoted(struct slurmd *d, const Pb__Terminate *about)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    struct job *j = add(d, about->job_id, about->restarts);

    pb_pack(&about->base, &bytes);
    j->note.about = pb__terminate__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    return j;
}

int job_new(struct slurmd *d, const Pb__Terminate *about, const char *line, struct job **out,
            struct err *err)
{
    int rc = note_create(d->spool, about, line, err);

    if (rc)
        return rc;
    *out = job_new_unnoted(d, about);
    (*out)->note.single_node = !strcmp(line, NOTE_SINGLE);
    return 0;
}

static int note_line(struct job *j, const char *fmt, va_list ap, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_vprintf(&line, fmt, ap);
    return note_append(j->d->spool, j->key.id, j->key.restarts, str_cstr(&line), err);
}

int job_note_first(struct job *j, struct err *err, const char *fmt, ...)
{
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = note_line(j, fmt, ap, err);
    va_end(ap);
    return rc;
}

void job_note(struct job *j, const char *fmt, ...)
{
    struct err err = {0};
    va_list ap;

    va_start(ap, fmt);
    if (note_line(j, fmt, ap, &err))
        log_error("job %u: a restart of this daemon may do things twice: %s", j->key.id, err.text);
    va_end(ap);
}

bool job_is_ending(const struct job *j)
{
    return j->note.terminating || j->note.gone || j->batch_end;
}

static void start_waiting(struct job *j)
{
    uint64_t *numbers = mem_new_array(uint64_t, j->waiting.len + 1);
    size_t count = 0;

    /* Starting takes a launch off the list. */
    vec_foreach (&j->waiting, l)
        numbers[count++] = (*l)->number;
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < j->waiting.len; n++)
            if (j->waiting.data[n]->number == numbers[i]) {
                launch_go(j->d, j->waiting.data[n]);
                break;
            }
    free(numbers);
}

static void fail_waiting(struct job *j, int code, const char *text, bool drain)
{
    while (j->waiting.len) {
        struct launch *l = vec_pop(&j->waiting);

        launch_fail(j->d, l, code, text, drain);
    }
}

/* A launch that waits carries the news; where none does, the controller is told by itself. */
static void prolog_failed(struct job *j, const char *text)
{
    j->prolog_error = mem_strdup(text);
    if (j->note.prepared && !j->waiting.len)
        report_prolog_failed(j->d, j->key.id, j->key.restarts, text);
}

static void on_prolog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                      const char *text)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (!j)
        return;
    j->prolog_running = false;
    if (text) {
        log_error("job %u: %s", job_id, text);
        prolog_failed(j, text);
    } else {
        j->note.prolog_done = true;
        job_note(j, NOTE_PROLOG_DONE);
    }
    if (!job_is_ending(j))
        job_prepare(j);
    job_check(j);
}

/* How it went is not known: it is run again. */
static void on_old_prolog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                          const char *text)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (!j)
        return;
    j->prolog_running = false;
    if (!job_is_ending(j))
        job_prepare(j);
    job_check(j);
}

static void run_prolog(struct job *j, const char *host)
{
    struct slurmd *d = j->d;
    struct script script = {.what = "Prolog",
                            .path = d->conf->prolog,
                            .host = host,
                            .verb = "prolog",
                            .limit_sec = script_limit_sec(d->conf, false),
                            .job_id = j->key.id,
                            .restarts = j->key.restarts};
    pid_t pid;

    j->prolog_running = true;
    pid = script_run(d, &script, scriptenv_prolog(d, j->note.about), on_prolog, d);
    job_note(j, NOTE_PROLOG, (int)pid);
}

/* The prolog is due, by itself or behind plugins; or why it cannot be. */
static bool needs_prolog(struct job *j, const char **host)
{
    struct err err = {0};

    if (j->note.prolog_done || j->prolog_error)
        return false;
    if (plugins_beside_script(j->d, host, &err) < 0) {
        log_error("job %u: %s", j->key.id, err.text);
        prolog_failed(j, err.text);
        return false;
    }
    return *host || j->d->conf->prolog;
}

void job_prepare(struct job *j)
{
    const char *host = NULL;
    bool due = !j->prolog_running && needs_prolog(j, &host);

    if (j->prolog_running)
        return;
    if (j->prolog_error) {
        fail_waiting(j, ERR_LAUNCH, j->prolog_error, true);
    } else if (due) {
        run_prolog(j, host);
    } else if (!j->note.halted) {
        start_waiting(j);
    }
}

void job_prepare_alone(struct job *j)
{
    if (j->note.prepared)
        return;
    j->note.prepared = true;
    job_note(j, NOTE_PREPARED);
    job_prepare(j);
}

static bool same_text(const char *a, const char *b)
{
    return str_eq(a ? a : "", b ? b : "");
}

void job_terminate(struct job *j, uint32_t grace_sec, const char *why)
{
    bool sooner = !j->note.terminating || grace_sec < j->note.grace_sec;

    if (j->note.gone)
        return;
    if (sooner || !same_text(j->note.why, why)) {
        free(j->note.why);
        j->note.why = mem_strdup(why ? why : "");
        j->note.grace_sec = grace_sec;
        j->note.terminating = true;
        job_note(j, NOTE_TERMINATE, grace_sec, j->note.why);
        j->ending_sent = false;
    }
    job_check(j);
}

static void on_unkillable_program(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                                  const char *text)
{
    if (text)
        log_error("job %u: %s", job_id, text);
}

/* SIGKILL was of no use: the node takes no more work, and the site's program is run. */
static void on_unkillable(struct job *j, const Pb__StepdEnded *m)
{
    struct slurmd *d = j->d;
    bool batch = m->step_id == SLURMD_STEP_BATCH;
    _cleanup_free_ char *step =
        batch ? mem_printf("%u.batch", j->key.id) : mem_printf("%u.%u", j->key.id, m->step_id);
    _cleanup_free_ char *reason =
        mem_printf("Kill task failed: step %s: %s", step, m->stuck ? m->stuck : "not known which");
    struct script script = {.what = "UnkillableStepProgram",
                            .path = d->conf->unkillable_step_program,
                            .limit_sec = UNKILLABLE_PROGRAM_SEC,
                            .job_id = j->key.id,
                            .restarts = j->key.restarts};

    log_error("%s", reason);
    report_trouble(d, reason);
    if (script.path)
        script_run(d, &script, scriptenv_unkillable(d, j->note.about, m->step_id),
                   on_unkillable_program, d);
}

void job_step_ended(struct job *j, const Pb__StepdEnded *said, struct step *s)
{
    bool failed = said->has_launch_code && said->launch_code;
    _cleanup_arena_ struct arena arena;
    Pb__StepdEnded whole = *said;
    const Pb__StepdEnded *m = &whole;

    arena_init(&arena, 0);
    if (!failed)
        whole.usage = usage_step_ended(j, said, &arena);

    if (s && !s->answered)
        launch_answer(s, failed ? m->launch_code : ERR_LAUNCH,
                      m->text ? m->text : "the step ended before it was started");
    if (m->step_id != SLURMD_STEP_BATCH) {
        report_step_ended(j->d, m);
    } else {
        j->batch_ended = true;
        if (failed && !s)
            report_launched(j->d, j->key.id, j->key.restarts, m->launch_code, m->text, false);
        else if (!failed && j->note.single_node && !j->note.terminating)
            j->batch_end = ending_copy(m);
        else if (!failed)
            report_batch_ended(j->d, m, false);
    }
    if (m->has_unkillable && m->unkillable)
        on_unkillable(j, m);
    if (m->memory)
        memory_tell(j, m);
    log_verbose("step %u.%u has ended, status 0x%x", j->key.id, m->step_id,
                (unsigned)m->exit_status);
    job_check(j);
}

/* Nothing lives here any more and the epilog is behind us. */
static void set_gone(struct job *j, int epilog_status, const char *text)
{
    struct slurmd *d = j->d;

    contain_job_over(j);
    j->note.gone = true;
    j->note.epilog_status = epilog_status;
    if (j->batch_end)
        report_batch_ended(d, j->batch_end, epilog_status == 0);
    if (!j->batch_end || epilog_status != 0)
        report_job_gone(d, j->key.id, j->key.restarts, epilog_status, text);
    log_verbose("job %u is over on this node", j->key.id);
}

/* Behind the epilog: an earlier failure counts, and its text. */
static void on_removed(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                       const char *text)
{
    struct job *j = job_find(ctx, job_id, restarts);
    _cleanup_free_ char *before = NULL;

    if (!j)
        return;
    j->epilog_running = false;
    if (text)
        log_error("job %u: %s", job_id, text);
    before = take_ptr(j->epilog_error);
    if (j->note.epilog_status)
        wait_status = j->note.epilog_status;
    job_note(j, NOTE_GONE, wait_status);
    set_gone(j, wait_status, before ? before : text);
}

/* The job's own directories go before it does; that is done again when a restart comes between. */
static void leave(struct job *j, int epilog_status, const char *text)
{
    if (jobtmp_remove(j, on_removed)) {
        j->epilog_running = true;
        j->note.epilog_status = epilog_status;
        j->epilog_error = mem_strdup(text);
        return;
    }
    if (j->note.epilog_begun)
        job_note(j, NOTE_GONE, epilog_status);
    set_gone(j, epilog_status, text);
}

static void on_epilog(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                      const char *text)
{
    struct job *j = job_find(ctx, job_id, restarts);

    if (!j)
        return;
    j->epilog_running = false;
    if (text)
        log_error("job %u: %s", job_id, text);
    leave(j, wait_status, text);
}

static void run_epilog(struct job *j, const char *host)
{
    struct slurmd *d = j->d;
    struct script script = {.what = "Epilog",
                            .path = d->conf->epilog,
                            .host = host,
                            .verb = "epilog",
                            .limit_sec = script_limit_sec(d->conf, true),
                            .job_id = j->key.id,
                            .restarts = j->key.restarts};

    if (j->batch_end) {
        j->note.about->has_exit_status = true;
        j->note.about->exit_status = j->batch_end->exit_status;
    }
    j->epilog_running = true;
    j->note.epilog_begun = true;
    job_note(j, NOTE_EPILOG, 0);
    j->note.epilog_pid = script_run(d, &script, scriptenv_epilog(d, j->note.about), on_epilog, d);
    job_note(j, NOTE_EPILOG, (int)j->note.epilog_pid);
}

/* Plugins that cannot be read now are no reason to leave out the epilog. */
static const char *plugins_beside_epilog(struct job *j)
{
    const char *host = NULL;
    struct err err = {0};

    if (plugins_beside_script(j->d, &host, &err) < 0)
        log_error("job %u: its epilog runs without plugins: %s", j->key.id, err.text);
    return host;
}

void job_check(struct job *j)
{
    const char *host;

    halt_check(j);
    if (j->note.gone || j->epilog_running || (!j->note.terminating && !j->batch_end))
        return;
    fail_waiting(j, ERR_CREDENTIAL_REVOKED, err_text(ERR_CREDENTIAL_REVOKED), false);
    if (!j->ending_sent) {
        uint32_t grace =
            j->note.terminating ? j->note.grace_sec : (uint32_t)j->d->conf->kill_wait_sec;

        j->ending_sent = true;
        vec_foreach (&j->steps, s)
            step_terminate(*s, grace, j->note.why);
        receive_end(j);
    }
    if (j->steps.len || j->lost.len || j->receivers.len || j->prolog_running)
        return;
    if (j->note.epilog_begun) {
        j->epilog_running = true;
        ending_watch_script(j, true, on_epilog);
        return;
    }
    host = plugins_beside_epilog(j);
    if (host || j->d->conf->epilog)
        run_epilog(j, host);
    else
        leave(j, 0, NULL);
}

static void job_free(struct job *j)
{
    HASH_DEL(j->d->jobs, j);
    while (j->steps.len)
        step_free(j->steps.data[0]);
    vec_done(&j->steps);
    while (j->lost.len)
        ending_lost_free(j->lost.data[0]);
    vec_done(&j->lost);
    receive_forget(j);
    fail_waiting(j, ERR_SHUTDOWN, err_text(ERR_SHUTDOWN), false);
    vec_done(&j->waiting);
    if (j->batch_end)
        pb__stepd_ended__free_unpacked(j->batch_end, NULL);
    loop_timer_free(j->script_watch);
    loop_timer_free(j->halt_timer);
    free(j->prolog_error);
    free(j->epilog_error);
    note_done(&j->note);
    free(j);
}

void job_forget(struct job *j)
{
    struct slurmd *d = j->d;

    uint32_t id = j->key.id;

    revoked_add(d->revoked, id, j->key.restarts);
    note_remove(d->spool, id, j->key.restarts);
    ending_remove_script(d, id);
    job_free(j);
    usage_job_forgotten(d, id);
}

void job_free_all(struct slurmd *d)
{
    struct job *j, *next;

    HASH_ITER (hh, d->jobs, j, next) {
        /* At the daemon's end nobody is told anything: what waits will be asked for again. */
        while (j->waiting.len) {
            struct launch *l = vec_pop(&j->waiting);

            str_done(&l->message);
            str_done(&l->cred);
            free(l);
        }
        job_free(j);
    }
}

void job_step_lost(struct job *j, uint32_t step_id, const Pb__StepdEnded *m)
{
    if (m)
        job_step_ended(j, m, NULL);
    else
        ending_lost(j, step_id);
}

void job_adopt(struct slurmd *d, struct note *n)
{
    struct job *j = add(d, n->about->job_id, n->about->restarts);

    j->note = *n;
    *n = (struct note){0};
    ending_find_steps(j);
    halt_adopt(j);
    if (j->note.prolog_begun && !j->note.prolog_done) {
        j->prolog_running = true;
        ending_watch_script(j, false, on_old_prolog);
    } else if (j->note.prepared && !j->note.prolog_done && !job_is_ending(j)) {
        job_prepare(j);
    }
    if (report_pending_gone(d, j->key.id, j->key.restarts))
        j->note.gone = true;
    else if (j->note.gone)
        set_gone(j, j->note.epilog_status, NULL);
    job_check(j);
}
