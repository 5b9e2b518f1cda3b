/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/usage/memory.h"

#include <ctype.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/step_id.h"
#include "base/str.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/snapshot.h"
#include "slurmd/usage/tally.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define KIB_PER_MIB 1024
#define MOST 3 /* number of processes that a message names */

uint64_t memory_judge(struct memory_grant *steps, size_t count, enum memory_verdict *out)
{
    uint64_t used = 0, limit = 0;
    bool was_over = false; /* of the job */

    for (size_t i = 0; i < count; i++) {
        const struct memory_grant *s = &steps[i];

        out[i] = MEMORY_FITS;
        if (s->ended)
            continue;
        limit = s->job_kib > limit ? s->job_kib : limit;
        if (s->step_kib && s->used_kib > s->step_kib)
            out[i] = MEMORY_STEP_OVER;
        else
            used += s->used_kib;
    }
    for (size_t i = 0; i < count && limit && used > limit; i++)
        if (!steps[i].ended && out[i] == MEMORY_FITS) {
            out[i] = MEMORY_JOB_OVER;
            was_over |= steps[i].was_over;
        }
    for (size_t i = 0; i < count; i++) {
        bool over = out[i] != MEMORY_FITS;

        if (over && !(out[i] == MEMORY_JOB_OVER ? was_over : steps[i].was_over))
            out[i] = MEMORY_DOUBTED;
        steps[i].was_over = over;
    }
    return used;
}

static void read_grant(const char *here, const Pb__Cred *cred, struct memory_grant *grant)
{
    for (size_t i = 0; cred && i < cred->n_job_nodes; i++)
        if (str_eq(cred->job_nodes[i]->node, here))
            grant->job_kib = cred->job_nodes[i]->mem_mib * KIB_PER_MIB;
    for (size_t i = 0; cred && i < cred->n_nodes; i++)
        if (str_eq(cred->nodes[i]->node, here) && cred->nodes[i]->part == cred->part)
            grant->step_kib = cred->nodes[i]->mem_mib * KIB_PER_MIB;
}

void memory_read_grant(struct step *s, const Pb__Cred *cred)
{
    read_grant(s->attempt->d->name, cred, &s->memory);
}

uint64_t memory_vsize_bytes(const struct slurmd *d, const Pb__Cred *cred)
{
    struct memory_grant grant = {0};
    read_grant(d->name, cred, &grant);
    uint64_t kib = grant.step_kib ? grant.step_kib : grant.job_kib;
    return kib * 1024 / 100 * d->conf->vsize_factor;
}

/* --- what happened --------------------------------------------------------------------------- */

static bool is_below(const struct snapshot_proc *p, const struct attempt *a,
                     const struct step *only)
{
    if (!p->root || p->pid == p->root)
        return false;
    for (size_t i = 0; i < a->steps.len; i++) {
        const struct step *s = a->steps.data[i];

        if (s->pid == p->root)
            return (!only || only == s) && !s->memory.ended;
    }
    return false;
}

static void put_process(const struct snapshot_proc *seen, struct str *out)
{
    struct proc now;

    if (proc_read(seen->pid, &now) || now.started_ticks != seen->started_ticks)
        return;
    str_puts(out, out->len ? ", " : "");
    for (const char *c = now.name; *c; c++)
        str_putc(out, isgraph((unsigned char)*c) ? *c : '?');
    str_printf(out, "[%d] %lluM", (int)seen->pid,
               (unsigned long long)(seen->rss_kib / KIB_PER_MIB));
}

/* The largest processes of the step, or of its job. */
static void put_most(const struct snapshot *seen, const struct attempt *a, const struct step *only,
                     struct str *out)
{
    const struct snapshot_proc *most[MOST] = {NULL};

    vec_foreach (&seen->procs, p) {
        const struct snapshot_proc *next = is_below(p, a, only) ? p : NULL;

        for (int i = 0; i < MOST && next; i++)
            if (!most[i] || next->rss_kib > most[i]->rss_kib) {
                const struct snapshot_proc *smaller = most[i];

                most[i] = next;
                next = smaller;
            }
    }
    for (int i = 0; i < MOST && most[i]; i++)
        put_process(most[i], out);
}

void memory_tell(const struct attempt *a, const Pb__StepdEnded *m)
{
    const Pb__OverMemory *o = m->memory;
    _cleanup_free_ char *limit =
        mem_printf("%s was given %llu KiB of memory", o->of_job ? "its job" : "it",
                   (unsigned long long)o->limit_kib);
    char id[STEP_ID_NAME_MAX];

    log_info("step %u.%s: the kernel has ended processes of it: %s, peak %llu%s%s", a->key.id,
             step_id_name(m->step_id, id), o->limit_kib ? limit : "the node had no memory left",
             (unsigned long long)o->peak_kib, o->most && *o->most ? ": " : "",
             o->most ? o->most : "");
}

static void end_step_over_memory(struct step *s, Pb__OverMemory *why)
{
    char id[STEP_ID_NAME_MAX];

    log_info("step %u.%s is ended: %s uses %llu KiB of memory, and was given %llu: %s",
             s->attempt->key.id, step_id_name(s->id, id), why->of_job ? "its job" : "it",
             (unsigned long long)why->used_kib, (unsigned long long)why->limit_kib, why->most);
    step_end_for_memory(s, why);
}

/* Returns the peak memory of a job over all of its steps. */
static uint64_t peak_of(const struct tally *t, const struct attempt *a, uint64_t used)
{
    vec_foreach (&t->jobs, row)
        if (row->job_id == a->key.id && row->use.max_rss_kib > used)
            used = row->use.max_rss_kib;
    return used;
}

static bool check_job_memory(const struct attempt *a, const struct tally *t,
                             const struct snapshot *seen)
{
    size_t count = a->steps.len;
    _cleanup_free_ struct memory_grant *steps = mem_new_array(struct memory_grant, count + 1);
    _cleanup_free_ enum memory_verdict *verdicts = mem_new_array(enum memory_verdict, count + 1);
    _cleanup_str_ struct str most = STR_INIT;
    bool doubt = false;
    uint64_t used;

    for (size_t i = 0; i < count; i++)
        steps[i] = a->steps.data[i]->memory;
    used = memory_judge(steps, count, verdicts);
    for (size_t i = 0; i < count; i++) {
        Pb__OverMemory why = PB__OVER_MEMORY__INIT;
        struct step *s = a->steps.data[i];

        s->memory.was_over = steps[i].was_over;
        doubt |= verdicts[i] == MEMORY_DOUBTED;
        if (verdicts[i] <= MEMORY_DOUBTED)
            continue;
        why.has_of_job = why.has_peak_kib = true;
        why.of_job = verdicts[i] == MEMORY_JOB_OVER;
        why.used_kib = why.of_job ? used : s->memory.used_kib;
        why.peak_kib = why.of_job ? peak_of(t, a, used) : s->memory.peak_kib;
        why.limit_kib = why.of_job ? s->memory.job_kib : s->memory.step_kib;
        str_clear(&most);
        put_most(seen, a, why.of_job ? NULL : s, &most);
        why.most = (char *)str_cstr(&most);
        end_step_over_memory(s, &why);
    }
    for (size_t i = 0; i < count; i++)
        a->steps.data[i]->memory.ended |= verdicts[i] > MEMORY_DOUBTED;
    return doubt;
}

bool memory_check(struct slurmd *d, const struct tally *t, const struct snapshot *seen)
{
    bool doubt = false;

    if (!d->conf->over_memory_kill)
        return false;
    for (const struct attempt *a = d->attempts; a; a = a->hh.next)
        vec_foreach (&a->steps, s)
            (*s)->memory.used_kib = 0;
    vec_foreach (&t->steps, at) {
        const struct tally_step *use = *at;
        struct attempt *a = attempt_find(d, use->job_id, use->restarts);
        struct step *s = a ? step_find(a, use->step_id) : NULL;

        if (s) {
            s->memory.used_kib = use->use.processes ? use->use.rss_kib : 0;
            s->memory.peak_kib = use->use.max_rss_kib;
        }
    }
    for (const struct attempt *a = d->attempts; a; a = a->hh.next)
        if (a->steps.len)
            doubt |= check_job_memory(a, t, seen);
    return doubt;
}
