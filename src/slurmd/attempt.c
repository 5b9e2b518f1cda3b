/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/attempt.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "slurmd/adopt.h"
#include "slurmd/debug.h"
#include "slurmd/ending.h"
#include "slurmd/epilog.h"
#include "slurmd/extern.h"
#include "slurmd/halt.h"
#include "slurmd/launch.h"
#include "slurmd/oldscript.h"
#include "slurmd/prolog.h"
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
#include "base/step_id.h"

struct job *job_find(struct slurmd *d, uint32_t id, uint32_t restarts)
{
    struct job_key key = {id, restarts};
    struct job *j;

    HASH_FIND(hh, d->jobs, &key, sizeof(key), j);
    return j;
}

static struct job *add_job(struct slurmd *d, uint32_t id, uint32_t restarts)
{
    struct job *j = mem_new(struct job);

    j->d = d;
    j->key = (struct job_key){id, restarts};
    HASH_ADD(hh, d->jobs, key, sizeof(j->key), j);
    return j;
}

struct job *job_new_unnoted(struct slurmd *d, const Pb__NodeAttempt *about)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    struct job *j = add_job(d, about->job_id, about->restarts);

    pb_pack(&about->base, &bytes);
    j->note.about = pb_unpack(&pb__node_attempt__descriptor, bytes.data, bytes.len);
    return j;
}

int job_new(struct slurmd *d, const Pb__NodeAttempt *about, const char *line, struct job **out,
            struct err *err)
{
    Pb__NodeAttempt own = *about;
    int rc;

    own.has_known_at_ms = true;
    own.known_at_ms = loop_wall_ms();
    rc = note_create(d->spool, &own, line, err);
    if (rc)
        return rc;
    *out = job_new_unnoted(d, &own);
    (*out)->note.single_node = !strcmp(line, NOTE_SINGLE);
    return 0;
}

static int append_note_line(struct job *j, const char *fmt, va_list ap, struct err *err)
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
    rc = append_note_line(j, fmt, ap, err);
    va_end(ap);
    return rc;
}

void job_note(struct job *j, const char *fmt, ...)
{
    struct err err = {0};
    va_list ap;

    va_start(ap, fmt);
    if (append_note_line(j, fmt, ap, &err))
        log_error("job %u: a restart of this daemon may do things twice: %s", j->key.id, err.text);
    va_end(ap);
}

bool job_is_ending(const struct job *j)
{
    return attempt_phase_is_ending(j->phase);
}

/* A repeated order without a reason does not replace the reason of an earlier one. */
void job_terminate(struct job *j, uint32_t grace_sec, const char *why)
{
    bool sooner = !j->note.why || grace_sec < j->note.grace_sec;
    bool has_news = why && *why && !str_eq(j->note.why, why);

    if (j->phase == ATTEMPT_GONE)
        return;
    if (sooner || has_news) {
        if (has_news || !j->note.why) {
            free(j->note.why);
            j->note.why = mem_strdup(why ? why : "");
        }
        j->note.grace_sec = sooner ? grace_sec : j->note.grace_sec;
        job_note(j, NOTE_TERMINATE, j->note.grace_sec, j->note.why);
        job_advance(j, ATTEMPT_ON_END_ORDERED);
    }
    job_check(j);
}

static void on_unkillable_program(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                                  const char *text)
{
    if (text)
        log_error("job %u: %s", job_id, text);
}

/* SIGKILL did not end the step: the node is drained and UnkillableStepProgram runs. */
static void on_unkillable(struct job *j, const Pb__StepdEnded *m)
{
    struct slurmd *d = j->d;
    char step[STEP_ID_TEXT_MAX];
    _cleanup_free_ char *reason =
        mem_printf("Kill task failed: step %s: %s", step_id_text(j->key.id, m->step_id, step),
                   m->stuck ? m->stuck : "not known which");
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
    bool tells = s && !s->answered; /* an adopted step has no open call */
    bool script_ended = false;      /* which ends the job here, without an order */
    _cleanup_arena_ struct arena arena;
    Pb__StepdEnded whole = *said;
    const Pb__StepdEnded *m = &whole;

    arena_init(&arena, 0);
    slurmd_debug(j->d, steps, "step %s of uid %u: ended%s%s", STEP_ID_TEXT(j->key.id, m->step_id),
                 j->note.about->uid, m->text ? ": " : "", m->text ? m->text : "");
    if (!failed)
        whole.usage = usage_step_ended(j, said, &arena);

    if (tells)
        launch_answer(s, failed ? m->launch_code : ERR_LAUNCH,
                      m->text ? m->text : "the step ended before it was started");
    if (m->step_id != STEP_ID_BATCH) {
        report_step_ended(j->d, m);
    } else {
        if (j->note.batch < NOTE_BATCH_ENDED)
            j->note.batch = NOTE_BATCH_ENDED;
        script_ended = !failed && j->note.single_node && !job_is_ending(j);
        if (failed && !tells)
            report_launched(j->d, j->key.id, j->key.restarts, m->launch_code, m->text, false);
        else if (script_ended)
            j->batch_end = ending_copy(m);
        else if (!failed)
            report_batch_ended(j->d, m, false);
    }
    if (m->has_unkillable && m->unkillable)
        on_unkillable(j, m);
    if (m->memory)
        memory_tell(j, m);
    log_verbose("step %s has ended, status 0x%x", STEP_ID_TEXT(j->key.id, m->step_id),
                (unsigned)m->exit_status);
    if (script_ended)
        job_advance(j, ATTEMPT_ON_SCRIPT_ENDED);
    job_check(j);
}

static bool is_empty(const struct job *j)
{
    return !j->steps.len && !j->lost.len && !j->receivers.len;
}

/* An attempt without a job (--no-allocate) ends with its last process: no controller ends it. */
static bool is_abandoned(const struct job *j)
{
    return j->note.about->unallocated && !job_is_ending(j) && j->phase != ATTEMPT_PROLOG &&
           is_empty(j) && !j->waiting.len;
}

void job_check_left(struct job *j)
{
    if (!j->adopting && is_abandoned(j))
        job_terminate(j, 0, NULL);
}

/* The script is ended last: an srun in it would otherwise end its step before the step's slurmstepd
 * has been told the reason. */
static void end_steps(struct job *j, uint32_t grace_sec)
{
    for (int script = 0; script < 2; script++)
        vec_foreach (&j->steps, s)
            if (((*s)->id == STEP_ID_BATCH) == script)
                step_terminate(*s, grace_sec, j->note.why);
}

static void fail_waiting(struct job *j)
{
    const char *why = j->note.why && *j->note.why ? j->note.why : "CANCELLED";
    _cleanup_free_ char *text =
        mem_printf("%s: the job was ended on this node: %s", err_text(ERR_CREDENTIAL_REVOKED), why);

    prolog_fail_waiting(j, ERR_CREDENTIAL_REVOKED, text, false);
}

static void refuse_waiting(struct job *j)
{
    fail_waiting(j);
    adopt_fail(j, "the job is ending");
}

static void end_all(struct job *j)
{
    uint32_t grace_sec = j->note.why ? j->note.grace_sec : (uint32_t)j->d->conf->kill_wait_sec;

    if (j->adopting) /* job_adopt() calls it again when all steps are found */
        return;
    refuse_waiting(j);
    end_steps(j, grace_sec);
    receive_end(j);
}

static void no_action(struct job *j)
{
    (void)j;
}

typedef void action_fn(struct job *j);

static action_fn *const actions[ATTEMPT_PHASES][ATTEMPT_EVENTS] = {
#define TRANSITION(phase, event, next, action) [ATTEMPT_##phase][ATTEMPT_ON_##event] = action,
#include "slurmd/attempt_phase.def"
#undef TRANSITION
};

void job_advance(struct job *j, enum attempt_event event)
{
    enum attempt_phase before = j->phase;
    bool is_legal = attempt_phase_next(before, event, &j->phase);

    assert(is_legal);
    if (j->phase != before)
        log_debug("job %u: %s, after %s", j->key.id, attempt_phase_text(j->phase),
                  attempt_phase_text(before));
    actions[before][event](j);
}

static void check_invariants(const struct job *j)
{
    bool is_blocked = j->phase == ATTEMPT_BLOCKED, is_ending = job_is_ending(j);

    assert(is_ending || is_blocked == (j->prolog_error != NULL));
    assert(is_ending || (!j->batch_end && !j->note.why));
    assert(!is_ending || j->batch_end || j->note.why || j->phase == ATTEMPT_GONE);
    assert((j->phase != ATTEMPT_EPILOG && j->phase != ATTEMPT_REMOVING) || is_empty(j));
}

void job_check(struct job *j)
{
    if (j->adopting) /* not all steps are found yet */
        return;
    if (is_abandoned(j)) { /* calls job_check() */
        job_terminate(j, 0, NULL);
        return;
    }

    check_invariants(j);
    halt_check(j);
    if (j->phase != ATTEMPT_ENDING && j->phase != ATTEMPT_ENDING_PROLOG)
        return;
    refuse_waiting(j);
    if (j->phase == ATTEMPT_ENDING && is_empty(j))
        job_advance(j, ATTEMPT_ON_EMPTIED);
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
    prolog_fail_waiting(j, ERR_SHUTDOWN, err_text(ERR_SHUTDOWN), false);
    vec_done(&j->waiting);
    vec_done(&j->adoptions);
    loop_timer_free(j->adoptions_late);
    if (j->batch_end)
        pb__stepd_ended__free_unpacked(j->batch_end, NULL);
    oldscript_free(j->old_script);
    loop_timer_free(j->halt_timer);
    free(j->prolog_error);
    free(j->epilog_error);
    note_done(&j->note);
    free(j);
}

bool job_has_attempt(const struct slurmd *d, uint32_t id)
{
    for (const struct job *j = d->jobs; j; j = j->hh.next)
        if (j->key.id == id)
            return true;
    return false;
}

void job_forget(struct job *j)
{
    struct slurmd *d = j->d;

    uint32_t id = j->key.id;

    revoked_add(d->revoked, id, j->key.restarts);
    note_remove(d->spool, id, j->key.restarts);
    job_free(j);
    if (!job_has_attempt(d, id)) /* a later attempt here uses the same directory for its script */
        ending_remove_script(d, id);
    usage_job_forgotten(d, id);
}

void job_free_all(struct slurmd *d)
{
    struct job *j, *next;

    HASH_ITER (hh, d->jobs, j, next) {
        /* The daemon stops: callers are not answered and repeat their requests. */
        while (j->waiting.len)
            launch_free(vec_pop(&j->waiting));
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
    struct job *j = add_job(d, n->about->job_id, n->about->restarts);
    bool is_reported, was_gone;

    j->note = *n;
    *n = (struct note){0};
    is_reported = report_pending_gone(d, j->key.id, j->key.restarts);
    j->phase = is_reported ? ATTEMPT_GONE : j->note.phase;
    was_gone = j->phase == ATTEMPT_GONE;
    j->adopting = true;
    ending_find_steps(j);
    halt_adopt(j);
    prolog_adopt(j);
    extern_adopt(j);
    j->adopting = false;
    if (was_gone && !is_reported)
        epilog_report(j);
    if (j->phase == ATTEMPT_ENDING || j->phase == ATTEMPT_ENDING_PROLOG)
        end_all(j);
    job_check(j);
}
