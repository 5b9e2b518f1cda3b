/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/attempt_life.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "slurmd/attempt/report.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/job/adopt.h"
#include "slurmd/job/ending.h"
#include "slurmd/job/epilog.h"
#include "slurmd/job/extern.h"
#include "slurmd/job/halt.h"
#include "slurmd/job/launch.h"
#include "slurmd/job/oldscript.h"
#include "slurmd/job/prolog.h"
#include "slurmd/job/receive.h"
#include "slurmd/node/logfile.h"
#include "slurmd/node/script.h"
#include "slurmd/node/scriptenv.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/memory.h"
#include "slurmd/usage/usage.h"

#define UNKILLABLE_PROGRAM_SEC 60

#define LOG_ROOM "slurmd"
#include "base/log.h"
#include "base/step_id.h"

/* A repeated order without a reason does not replace the reason of an earlier one. */
void attempt_terminate(struct attempt *a, uint32_t grace_sec, const char *why)
{
    bool sooner = !a->note.why || grace_sec < a->note.grace_sec;
    bool has_news = why && *why && !str_eq(a->note.why, why);

    if (a->phase == ATTEMPT_GONE)
        return;
    if (sooner || has_news) {
        if (has_news || !a->note.why) {
            free(a->note.why);
            a->note.why = mem_strdup(why ? why : "");
        }
        a->note.grace_sec = sooner ? grace_sec : a->note.grace_sec;
        attempt_note(a, NOTE_TERMINATE, a->note.grace_sec, a->note.why);
        attempt_advance(a, ATTEMPT_ON_END_ORDERED);
    }
    attempt_check(a);
}

static void on_unkillable_program(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                                  const char *text)
{
    if (text)
        log_error("job %u: %s", job_id, text);
}

/* SIGKILL did not end the step: the node is drained and UnkillableStepProgram runs. */
static void on_unkillable(struct attempt *a, const Pb__StepdEnded *m)
{
    struct slurmd *d = a->d;
    char step[STEP_ID_TEXT_MAX];
    _cleanup_free_ char *reason =
        mem_printf("Kill task failed: step %s: %s", step_id_text(a->key.id, m->step_id, step),
                   m->stuck ? m->stuck : "not known which");
    struct script script = {.what = "UnkillableStepProgram",
                            .path = d->conf->unkillable_step_program,
                            .limit_sec = UNKILLABLE_PROGRAM_SEC,
                            .job_id = a->key.id,
                            .restarts = a->key.restarts};

    log_error("%s", reason);
    report_trouble(d, reason);
    if (script.path)
        script_run(d, &script, scriptenv_unkillable(d, a->note.about, m->step_id),
                   on_unkillable_program, d);
}

/* For an epilog that starts without an order of the controller. */
static void take_derived_status(struct attempt *a, const Pb__StepdEnded *m)
{
    Pb__NodeAttempt *about = a->note.about;

    if (m->step_id == STEP_ID_EXTERN || m->exit_status <= about->derived_status)
        return;
    about->has_derived_status = true;
    about->derived_status = m->exit_status;
    attempt_note(a, NOTE_DERIVED, m->exit_status);
}

void attempt_step_ended(struct attempt *a, const Pb__StepdEnded *said, struct step *s)
{
    bool failed = said->has_launch_code && said->launch_code;
    bool tells = s && !s->answered; /* an adopted step has no open call */
    bool script_ended = false;      /* ends the job on this node, without an order */
    _cleanup_arena_ struct arena arena;
    Pb__StepdEnded whole = *said;
    const Pb__StepdEnded *m = &whole;

    arena_init(&arena, 0);
    slurmd_debug(a->d, steps, "step %s of uid %u: ended%s%s", STEP_ID_TEXT(a->key.id, m->step_id),
                 a->note.about->uid, m->text ? ": " : "", m->text ? m->text : "");
    if (!failed)
        whole.usage = usage_step_ended(a, said, &arena);

    if (tells)
        launch_answer(s, failed ? m->launch_code : ERR_LAUNCH,
                      m->text ? m->text : "the step ended before it was started");
    if (m->step_id != STEP_ID_BATCH) {
        take_derived_status(a, m);
        report_step_ended(a->d, m);
    } else {
        if (a->note.batch < NOTE_BATCH_ENDED)
            a->note.batch = NOTE_BATCH_ENDED;
        script_ended = !failed && a->note.single_node && !attempt_is_ending(a);
        if (failed && !tells)
            report_launched(a->d, a->key.id, a->key.restarts, m->launch_code, m->text, false);
        else if (script_ended)
            a->batch_end = ending_copy(m);
        else if (!failed)
            report_batch_ended(a->d, m, false);
    }
    if (m->has_unkillable && m->unkillable)
        on_unkillable(a, m);
    if (m->memory)
        memory_tell(a, m);
    log_verbose("step %s has ended, status 0x%x", STEP_ID_TEXT(a->key.id, m->step_id),
                (unsigned)m->exit_status);
    if (script_ended)
        attempt_advance(a, ATTEMPT_ON_SCRIPT_ENDED);
    attempt_check(a);
}

static bool is_empty(const struct attempt *a)
{
    return !a->steps.len && !a->lost.len && !a->receivers.len;
}

/* An attempt without a job (--no-allocate) ends with its last process: no controller ends it. */
static bool is_abandoned(const struct attempt *a)
{
    return a->note.about->unallocated && !attempt_is_ending(a) && a->phase != ATTEMPT_PROLOG &&
           is_empty(a) && !a->waiting.len;
}

void attempt_check_left(struct attempt *a)
{
    if (!a->adopting && is_abandoned(a))
        attempt_terminate(a, 0, NULL);
}

/* The script is ended last: an srun in it would otherwise end its step before the step's slurmstepd
 * has been told the reason. */
static void end_steps(struct attempt *a, uint32_t grace_sec)
{
    for (int script = 0; script < 2; script++)
        vec_foreach (&a->steps, s)
            if (((*s)->id == STEP_ID_BATCH) == script)
                step_terminate(*s, grace_sec, a->note.why);
}

static void fail_waiting(struct attempt *a)
{
    const char *why = a->note.why && *a->note.why ? a->note.why : "CANCELLED";
    _cleanup_free_ char *text =
        mem_printf("%s: the job was ended on this node: %s", err_text(ERR_CREDENTIAL_REVOKED), why);

    prolog_fail_waiting(a, ERR_CREDENTIAL_REVOKED, text, false);
}

static void refuse_waiting(struct attempt *a)
{
    fail_waiting(a);
    adopt_fail(a, "the job is ending");
}

static void end_all(struct attempt *a)
{
    uint32_t grace_sec = a->note.why ? a->note.grace_sec : (uint32_t)a->d->conf->kill_wait_sec;

    if (a->adopting) /* attempt_adopt() calls it again when all steps are found */
        return;
    refuse_waiting(a);
    end_steps(a, grace_sec);
    receive_end(a);
}

static void no_action(struct attempt *a)
{
    (void)a;
}

typedef void action_fn(struct attempt *a);

static action_fn *const actions[ATTEMPT_PHASES][ATTEMPT_EVENTS] = {
#define TRANSITION(phase, event, next, action) [ATTEMPT_##phase][ATTEMPT_ON_##event] = action,
#include "slurmd/attempt/attempt_phase.def"
#undef TRANSITION
};

void attempt_advance(struct attempt *a, enum attempt_event event)
{
    enum attempt_phase before = a->phase;
    bool is_legal = attempt_phase_next(before, event, &a->phase);

    assert(is_legal);
    if (a->phase != before)
        log_debug("job %u: %s, after %s", a->key.id, attempt_phase_text(a->phase),
                  attempt_phase_text(before));
    actions[before][event](a);
}

static void check_invariants(const struct attempt *a)
{
    bool is_blocked = a->phase == ATTEMPT_BLOCKED, is_ending = attempt_is_ending(a);

    assert(is_ending || is_blocked == (a->prolog_error != NULL));
    assert(is_ending || (!a->batch_end && !a->note.why));
    assert(!is_ending || a->batch_end || a->note.why || a->phase == ATTEMPT_GONE);
    assert((a->phase != ATTEMPT_EPILOG && a->phase != ATTEMPT_REMOVING) || is_empty(a));
}

void attempt_check(struct attempt *a)
{
    if (a->adopting) /* not all steps are found yet */
        return;
    if (is_abandoned(a)) { /* calls attempt_check() */
        attempt_terminate(a, 0, NULL);
        return;
    }

    check_invariants(a);
    halt_check(a);
    if (a->phase != ATTEMPT_ENDING && a->phase != ATTEMPT_ENDING_PROLOG)
        return;
    refuse_waiting(a);
    if (a->phase == ATTEMPT_ENDING && is_empty(a))
        attempt_advance(a, ATTEMPT_ON_EMPTIED);
}

static void attempt_free(struct attempt *a)
{
    HASH_DEL(a->d->attempts, a);
    while (a->steps.len)
        step_free(a->steps.data[0]);
    vec_done(&a->steps);
    while (a->lost.len)
        ending_lost_free(a->lost.data[0]);
    vec_done(&a->lost);
    receive_forget(a);
    prolog_fail_waiting(a, ERR_SHUTDOWN, err_text(ERR_SHUTDOWN), false);
    vec_done(&a->waiting);
    vec_done(&a->adoptions);
    loop_timer_free(a->adoptions_late);
    if (a->batch_end)
        pb__stepd_ended__free_unpacked(a->batch_end, NULL);
    oldscript_free(a->old_script);
    loop_timer_free(a->halt_timer);
    free(a->prolog_error);
    free(a->epilog_error);
    note_done(&a->note);
    free(a);
}

void attempt_forget(struct attempt *a)
{
    struct slurmd *d = a->d;

    uint32_t id = a->key.id;

    revoked_add(d->revoked, id, a->key.restarts);
    note_remove(d->spool, id, a->key.restarts);
    attempt_free(a);
    if (!attempt_of_job_exists(
            d, id)) /* a later attempt here uses the same directory for its script */
        ending_remove_script(d, id);
    usage_job_forgotten(d, id);
}

void attempt_free_all(struct slurmd *d)
{
    struct attempt *a, *next;

    HASH_ITER (hh, d->attempts, a, next) {
        /* The daemon stops: callers are not answered and repeat their requests. */
        while (a->waiting.len)
            launch_free(vec_pop(&a->waiting));
        attempt_free(a);
    }
}

void attempt_step_lost(struct attempt *a, uint32_t step_id, const Pb__StepdEnded *m)
{
    if (m)
        attempt_step_ended(a, m, NULL);
    else
        ending_lost(a, step_id);
}

void attempt_adopt(struct slurmd *d, struct note *n)
{
    struct attempt *a = attempt_add(d, n->about->job_id, n->about->restarts);
    bool is_reported, was_gone;

    a->note = *n;
    *n = (struct note){0};
    is_reported = report_pending_gone(d, a->key.id, a->key.restarts);
    a->phase = is_reported ? ATTEMPT_GONE : a->note.phase;
    was_gone = a->phase == ATTEMPT_GONE;
    a->adopting = true;
    ending_find_steps(a);
    halt_adopt(a);
    prolog_adopt(a);
    extern_adopt(a);
    a->adopting = false;
    if (was_gone && !is_reported)
        epilog_report(a);
    if (a->phase == ATTEMPT_ENDING || a->phase == ATTEMPT_ENDING_PROLOG)
        end_all(a);
    attempt_check(a);
}
