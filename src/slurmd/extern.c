/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/extern.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/proc.h"
#include "slurmd/contain.h"
#include "slurmd/ending.h"
#include "slurmd/launch.h"
#include "slurmd/pids.h"
#include "slurmd/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define DEPTH_MAX 10000 /* of parents; numbers may be used again meanwhile */

/* --- it begins ---------------------------------------------------------------------------------
 */

/* The whole of what the job has here is the step's. */
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

/* Nothing on disk is in the way of another one when the controller has heard of the end. */
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

/* --- who is in it ------------------------------------------------------------------------------
 */

static bool is_adopted(const struct attempt *a, pid_t pid)
{
    struct proc p;

    vec_foreach (&a->note.adopted, adopted)
        if (adopted->pid == pid)
            return !proc_read(pid, &p) && p.started_ticks == adopted->started_ticks;
    return false;
}

struct attempt *extern_find(const struct slurmd *d, pid_t pid)
{
    for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
        for (struct attempt *a = d->attempts; a; a = a->hh.next)
            if (is_adopted(a, pid))
                return a;
        pid = pids_parent(pid);
    }
    return NULL;
}

void extern_collect(struct slurmd *d, struct snapshot *s)
{
    vec_clear(&s->adopted);
    for (struct attempt *a = d->attempts; a; a = a->hh.next) {
        const struct step *step = step_find(a, STEP_ID_EXTERN);
        struct cgroup_pids in = {0};

        if (!step || step->pid <= 0)
            continue;
        vec_foreach (&a->note.adopted, adopted) {
            adopted->looked = true;
            vec_push(&s->adopted,
                     ((struct snapshot_adopted){adopted->pid, adopted->started_ticks, step->pid}));
        }
        contain_pids(a, STEP_ID_EXTERN, &in);
        vec_foreach (&in.list, pid)
            vec_push(&s->adopted, ((struct snapshot_adopted){*pid, 0, step->pid}));
        vec_done(&in.list);
    }
}

static bool is_adopted_alive(const struct snapshot *s, const struct note_adopted *a)
{
    const struct snapshot_proc *p = snapshot_find(s, a->pid);

    return p && p->started_ticks == a->started_ticks;
}

void extern_forget_ended(struct slurmd *d, const struct snapshot *s)
{
    for (struct attempt *a = d->attempts; a && !s->cut; a = a->hh.next)
        for (size_t i = a->note.adopted.len; i-- > 0;) {
            const struct note_adopted *adopted = &a->note.adopted.data[i];

            if (adopted->looked && !is_adopted_alive(s, adopted))
                vec_remove(&a->note.adopted, i);
        }
}

unsigned extern_kill(const struct attempt *a, struct str *left)
{
    unsigned count = 0;

    vec_foreach (&a->note.adopted, adopted) {
        _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, adopted->pid, 0);
        struct proc p;

        if (handle < 0 || proc_read(adopted->pid, &p) ||
            p.started_ticks != adopted->started_ticks || p.state == 'Z' ||
            syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0))
            continue;
        if (!count++)
            proc_describe(adopted->pid, left);
    }
    return count;
}
