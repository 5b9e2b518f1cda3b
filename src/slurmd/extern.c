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

static void queue_extern_launch(struct job *j)
{
    const struct slurmd *d = j->d;
    const Pb__NodeAttempt *about = j->note.about;
    Pb__StepNode node, *nodes = &node;
    Pb__NodeShare *share = about->share;
    _cleanup_str_ struct str bytes = STR_INIT;
    Pb__Cred cred = PB__CRED__INIT;

    fill_extern_node(d, share, &node);
    cred.job_id = j->key.id;
    cred.restarts = j->key.restarts;
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
    launch_extern(j, &cred, (ProtobufCBinaryData){bytes.len, (uint8_t *)bytes.data});
}

static bool has_waiting_extern(const struct job *j)
{
    vec_foreach (&j->waiting, l)
        if ((*l)->kind == LAUNCH_EXTERN)
            return true;
    return false;
}

/* Nothing on disk is in the way of another one when the controller has heard of the end. */
static bool has_ended_lately(const struct job *j)
{
    const struct note_step *known = note_find_step(&j->note, STEP_ID_EXTERN);

    vec_foreach (&j->lost, l)
        if ((*l)->step_id == STEP_ID_EXTERN)
            return true;
    return known && !known->over;
}

int extern_begin(struct job *j, struct err *err)
{
    uint32_t id = j->key.id;
    const char *node = j->d->name;

    if (job_is_ending(j))
        return err_set(err, -ERR_JOB_DONE, "job %u is ending on node %s", id, node);
    if (has_waiting_extern(j) || step_find(j, STEP_ID_EXTERN))
        return 0;
    if (has_ended_lately(j))
        return err_set(err, -ERR_TRANSITION, "step %u.extern is ending on node %s: try again", id,
                       node);
    if (!j->note.about->share)
        return err_set(err, -ERR_NO_STEP,
                       "node %s does not know what job %u was given: it began before slurmd knew "
                       "extern steps",
                       node, id);
    queue_extern_launch(j);
    return 0;
}

void extern_adopt(struct job *j)
{
    struct err err = {0};

    if (j->note.contain && !job_is_ending(j) && !note_find_step(&j->note, STEP_ID_EXTERN) &&
        extern_begin(j, &err))
        log_error("%s", err.text);
}

void extern_want(struct job *j)
{
    if (!j->note.contain)
        job_note(j, NOTE_CONTAIN);
    j->note.contain = true;
}

void extern_learn(struct job *j, const Pb__NodeShare *share)
{
    _cleanup_str_ struct str bytes = STR_INIT, hex = STR_INIT;

    if (!share || j->note.about->share)
        return;
    pb_pack(&share->base, &bytes);
    j->note.about->share = pb_unpack(&pb__node_share__descriptor, bytes.data, bytes.len);
    note_put_hex(&bytes, &hex);
    job_note(j, NOTE_SHARE, str_cstr(&hex));
}

/* --- who is in it ------------------------------------------------------------------------------
 */

static bool is_adopted(const struct job *j, pid_t pid)
{
    struct proc p;

    vec_foreach (&j->note.adopted, a)
        if (a->pid == pid)
            return !proc_read(pid, &p) && p.started_ticks == a->started_ticks;
    return false;
}

struct job *extern_find(const struct slurmd *d, pid_t pid)
{
    for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
        for (struct job *j = d->jobs; j; j = j->hh.next)
            if (is_adopted(j, pid))
                return j;
        pid = pids_parent(pid);
    }
    return NULL;
}

void extern_collect(struct slurmd *d, struct snapshot *s)
{
    vec_clear(&s->adopted);
    for (struct job *j = d->jobs; j; j = j->hh.next) {
        const struct step *step = step_find(j, STEP_ID_EXTERN);
        struct cgroup_pids in = {0};

        if (!step || step->pid <= 0)
            continue;
        vec_foreach (&j->note.adopted, a) {
            a->looked = true;
            vec_push(&s->adopted, ((struct snapshot_adopted){a->pid, a->started_ticks, step->pid}));
        }
        contain_pids(j, STEP_ID_EXTERN, &in);
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
    for (struct job *j = d->jobs; j && !s->cut; j = j->hh.next)
        for (size_t i = j->note.adopted.len; i-- > 0;) {
            const struct note_adopted *a = &j->note.adopted.data[i];

            if (a->looked && !is_adopted_alive(s, a))
                vec_remove(&j->note.adopted, i);
        }
}

unsigned extern_kill(const struct job *j, struct str *left)
{
    unsigned count = 0;

    vec_foreach (&j->note.adopted, a) {
        _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, a->pid, 0);
        struct proc p;

        if (handle < 0 || proc_read(a->pid, &p) || p.started_ticks != a->started_ticks ||
            p.state == 'Z' || syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0))
            continue;
        if (!count++)
            proc_describe(a->pid, left);
    }
    return count;
}
