/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/early.h"

#include "base/mem.h"
#include "base/step_id.h"
#include "slurmd/job/launch.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define EARLY_MAX 64 /* kept signals and messages per job */

bool early_is_meant(const Pb__SignalJob *m, uint32_t step_id)
{
    bool batch = step_id == STEP_ID_BATCH;

    if (m->has_step_id)
        return step_id == m->step_id;
    if (step_id == STEP_ID_EXTERN)
        return false;
    if (m->has_batch_only && m->batch_only)
        return batch;
    return !batch || (m->has_full && m->full);
}

static bool keep_early_signal(struct attempt *a, const Pb__SignalJob *m, uint32_t step_id,
                              int *code)
{
    struct note_signal s = {.step_id = step_id, .signo = m->signal, .nonce = m->nonce};

    if (!early_is_meant(m, step_id))
        return false;
    s.leader_only = m->has_batch_only && m->batch_only && !(m->has_full && m->full);
    if (a->note.early.len >= EARLY_MAX) {
        *code = ERR_BUSY;
        return true;
    }
    s.say = m->say ? mem_strdup(m->say) : NULL;
    vec_push(&a->note.early, s);
    if (s.say) {
        log_verbose("step %s: a message is kept until it runs", STEP_ID_TEXT(a->key.id, step_id));
        return true;
    }
    if (step_id == STEP_ID_BATCH)
        attempt_note(a, NOTE_SIGNAL, s.signo, s.leader_only, (unsigned long long)s.nonce);
    log_verbose("step %s: signal %d is kept until it runs", STEP_ID_TEXT(a->key.id, step_id),
                m->signal);
    return true;
}

static void drop_early_signal(struct attempt *a, size_t i)
{
    free(a->note.early.data[i].say);
    vec_remove(&a->note.early, i);
}

/* Whether the launch of the script waits, or is still to come after the prolog. */
static bool may_script_follow(const struct attempt *a)
{
    return a->note.batch == NOTE_BATCH_NONE && (a->note.prepared || launch_waits(a, STEP_ID_BATCH));
}

bool early_keep(struct attempt *a, const Pb__SignalJob *m, int *code)
{
    bool kept = false;

    if (attempt_is_ending(a))
        return false;
    if (may_script_follow(a))
        kept = keep_early_signal(a, m, STEP_ID_BATCH, code);
    vec_foreach (&a->waiting, l)
        if ((*l)->kind != LAUNCH_BATCH && (*l)->kind != LAUNCH_RECEIVER)
            kept = keep_early_signal(a, m, (*l)->step_id, code) || kept;
    return kept;
}

void early_forget(struct attempt *a, uint32_t step_id)
{
    for (size_t i = a->note.early.len; i-- > 0;)
        if (a->note.early.data[i].step_id == step_id && step_id != STEP_ID_BATCH)
            drop_early_signal(a, i);
}

void early_say(struct step *s)
{
    struct attempt *a = s->attempt;

    for (size_t i = 0; i < a->note.early.len;) {
        const struct note_signal *kept = &a->note.early.data[i];

        if (kept->step_id != s->id || !kept->say) {
            i++;
            continue;
        }
        step_say(s, kept->say, kept->nonce);
        drop_early_signal(a, i);
    }
}

/* slurmstepd remembers only the last signals, so a restarted daemon must not repeat them. */
void early_deliver(struct step *s)
{
    struct attempt *a = s->attempt;
    size_t before;

    early_say(s);
    before = a->note.early.len;
    for (size_t i = 0; i < a->note.early.len;) {
        const struct note_signal *kept = &a->note.early.data[i];

        if (kept->step_id != s->id) {
            i++;
            continue;
        }
        step_signal(s, kept->signo, kept->leader_only, false, kept->nonce);
        drop_early_signal(a, i);
    }
    if (s->id == STEP_ID_BATCH && a->note.early.len < before)
        attempt_note(a, NOTE_SIGNALLED);
}
