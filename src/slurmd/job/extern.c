/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/extern.h"

#include "base/arena.h"
#include "base/mem.h"
#include "slurmd/job/ending.h"
#include "slurmd/job/launch.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

/* The step gets the whole share that the job has on this node. */
static void fill_extern_node(const struct slurmd *d, const Pb__NodeShare *share, Pb__StepNode *out)
{
    pb__step_node__init(out);
    out->node = d->name;
    out->addr = (char *)d->node->addr;
    out->port = d->node->port;
    out->cpus = share->cpus;
    out->has_mem_mib = share->has_mem_mib;
    out->mem_mib = share->mem_mib;
    out->has_cpu_set = share->has_cpu_set;
    out->cpu_set = share->cpu_set;
    out->n_gres = share->n_gres;
    out->gres = share->gres;
}

static void queue_extern_launch(struct attempt *a)
{
    const struct slurmd *d = a->d;
    const Pb__NodeAttempt *about = a->note.about;
    Pb__StepNode node, *nodes = &node;
    Pb__NodeShare *share = about->share;
    _cleanup_str_ struct str bytes = STR_INIT;
    Pb__Cred cred = PB__CRED__INIT;

    fill_extern_node(d, share, &node);
    cred.job_id = a->key.id;
    cred.restarts = a->key.restarts;
    cred.step_id = STEP_ID_EXTERN;
    cred.uid = about->uid;
    cred.gid = about->gid;
    cred.nodes = &nodes;
    cred.n_nodes = 1;
    cred.job_nodes = &share;
    cred.n_job_nodes = 1;
    cred.issued_at_ms = cred.expires_at_ms = loop_wall_ms();
    cred.cluster = (char *)d->conf->cluster_name;
    cred.facts = about->facts;
    pb_pack(&cred.base, &bytes);
    launch_extern(a, &cred, (ProtobufCBinaryData){bytes.len, (uint8_t *)bytes.data});
}

static bool has_waiting_extern(const struct attempt *a)
{
    vec_foreach (&a->waiting, l)
        if ((*l)->kind == LAUNCH_EXTERN)
            return true;
    return false;
}

/* Whether the step's end is still unacknowledged. After the acknowledgement no file on disk blocks
   another extern step. */
static bool has_ended_lately(const struct attempt *a)
{
    const struct note_step *known = note_find_step(&a->note, STEP_ID_EXTERN);

    vec_foreach (&a->lost, l)
        if ((*l)->step_id == STEP_ID_EXTERN)
            return true;
    return known && !known->over;
}

int extern_begin(struct attempt *a, struct err *err)
{
    uint32_t id = a->key.id;
    const char *node = a->d->name;

    if (attempt_is_ending(a))
        return err_set(err, -ERR_JOB_DONE, "job %u is ending on node %s", id, node);
    if (has_waiting_extern(a) || step_find(a, STEP_ID_EXTERN))
        return 0;
    if (has_ended_lately(a))
        return err_set(err, -ERR_TRANSITION, "step %u.extern is ending on node %s: try again", id,
                       node);
    if (!a->note.about->share)
        return err_set(err, -ERR_NO_STEP,
                       "node %s does not know what job %u was given: it began before slurmd knew "
                       "extern steps",
                       node, id);
    queue_extern_launch(a);
    return 0;
}

void extern_adopt(struct attempt *a)
{
    struct err err = {0};

    if (a->note.contain && !attempt_is_ending(a) && !note_find_step(&a->note, STEP_ID_EXTERN) &&
        extern_begin(a, &err))
        log_error("%s", err.text);
}

void extern_want(struct attempt *a)
{
    if (!a->note.contain)
        attempt_note(a, NOTE_CONTAIN);
    a->note.contain = true;
}

void extern_learn(struct attempt *a, const Pb__NodeShare *share)
{
    _cleanup_str_ struct str bytes = STR_INIT, hex = STR_INIT;

    if (!share || a->note.about->share)
        return;
    pb_pack(&share->base, &bytes);
    a->note.about->share = pb_unpack(&pb__node_share__descriptor, bytes.data, bytes.len);
    note_put_hex(&bytes, &hex);
    attempt_note(a, NOTE_SHARE, str_cstr(&hex));
}

/* --- processes in the step -------------------------------------------------------------------- */
