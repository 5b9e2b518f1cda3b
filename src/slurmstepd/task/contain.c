/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/contain.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/status.h"
#include "cgroup/cgroup.h"
#include "cgroup/oom.h"
#include "slurmstepd/stream/journal.h"
#include "slurmstepd/task/adopt.h"
#include "slurmstepd/task/reap.h"
#include "slurmstepd/task/task.h"

#define DESCRIBED_MAX 3
#define MIB (1u << 20)
#define KIB 1024
#define SHELL_SIGNAL 128 /* a shell's exit code for a signal is 128 + signal */
#define OOM_LOOK_MS 200
#define FREEZE_MS 100 /* milliseconds; processes waiting for a device freeze when the wait ends */

struct contain {
    struct cgroup job, step,
        leaf; /* leaf: the group with the processes; version 1: closed, and equal to the step's */
    bool track, signal_all, gather;
    uint64_t limit, job_limit; /* bytes; 0: no limit */
    uint64_t oom_kills;        /* number of kills seen so far */
    uint64_t oom_taken;        /* of those, accounted to tasks */
    bool oom_told;
    struct loop_timer *oom_timer; /* polls for kills of processes that are no tasks */
    Pb__OverMemory over;          /* the first occurrence */
    char *most;
    int kernel_log; /* -1: unreadable */
    char name[CGROUP_NAME_MAX];
};

/* --- made and removed ------------------------------------------------------------------------- */

static int find_job_cgroup(const struct step *step, const Pb__StepCgroup *m, struct cgroup *out,
                           struct err *err)
{
    const struct cgroup_place place = {.mount = m->mount,
                                       .version = (enum cgroup_version)m->version,
                                       .base = m->top,
                                       .parts = m->parts};
    _cleanup_(cgroup_close) struct cgroup base = {0}, user = {0};
    char name[CGROUP_NAME_MAX];
    int rc = cgroup_open(&place, &base, NULL, err);
    const struct cgroup *in = &base;

    if (!rc && base.parts != m->parts)
        return err_set(err, -ENOENT, "the controllers of cgroup %s are no longer enabled",
                       base.path);
    if (!rc && base.version == CGROUP_V1) {
        rc = cgroup_find(&base, cgroup_name_uid(step->uid, name), &user);
        in = &user;
    }
    if (!rc)
        rc = cgroup_find(in, cgroup_name_job(step->job_id, step->restarts, name), out);
    return rc == -ENOENT ? err_set(err, rc, "job %u has no cgroup", step->job_id) : rc;
}

static int set_limits(struct contain *k, const Pb__StepCgroup *m, struct arena *arena,
                      struct err *err)
{
    struct cgroup_memory_limit memory = {m->soft_bytes, m->hard_bytes, m->with_swap_bytes,
                                         m->has_swappiness ? (int)m->swappiness : -1};
    struct cgroup_device *denied = arena_alloc(arena, (m->n_denied + 1) * sizeof(*denied));
    int rc = 0;

    if (m->cpus)
        rc = cgroup_set_cpus(&k->step, m->cpus, err);
    if (!rc && m->has_hard_bytes)
        rc = cgroup_set_memory(&k->step, &memory, err);
    for (size_t i = 0; i < m->n_denied; i++)
        denied[i] =
            (struct cgroup_device){m->denied[i]->block, m->denied[i]->major, m->denied[i]->minor};
    if (!rc && m->n_denied)
        rc = cgroup_deny(&k->step, denied, m->n_denied, err);
    return rc;
}

int contain_open(struct step *step, struct err *err)
{
    const Pb__StepCgroup *m = step->start->cgroup;
    struct contain *k;
    int rc;

    if (!m)
        return 0;
    k = step->contain = mem_new(struct contain);
    k->track = m->track;
    k->signal_all = m->signal_all;
    k->gather = m->gather;
    k->limit = m->hard_bytes;
    k->job_limit = m->job_bytes;
    k->kernel_log = m->has_hard_bytes ? cgroup_oom_open() : -1;
    cgroup_name_step(step->step_id, k->name);
    rc = find_job_cgroup(step, m, &k->job, err);
    if (!rc)
        rc = cgroup_make(&k->job, k->name, &k->step, err);
    if (!rc && k->step.version == CGROUP_V2)
        rc = cgroup_make(&k->step, "user", &k->leaf, err);
    if (!rc)
        rc = set_limits(k, m, &step->arena, err);
    if (rc)
        err_prefix(err, "step %s cannot be confined", step->name);
    return rc ? -ERR_NODE_FAULT : 0;
}

void contain_describe_place(const struct step *step, struct str *out)
{
    if (step->contain)
        str_printf(out, "control group %s", step->contain->step.path);
    else
        str_puts(out, "no control group");
}

void contain_done(struct step *step)
{
    struct contain *k = step->contain;

    if (!k)
        return;
    /* If that fails, the daemon removes it when the kernel allows it. */
    cgroup_remove(&k->job, k->name);
    cgroup_close(&k->leaf);
    cgroup_close(&k->step);
    cgroup_close(&k->job);
    if (k->kernel_log >= 0)
        close(k->kernel_log);
    if (k->oom_timer)
        loop_timer_free(k->oom_timer);
    free(k->most);
    free(take_ptr(step->contain));
}

int contain_enter(const struct step *step, struct err *err)
{
    const struct contain *k = step->contain;

    if (!k)
        return 0;
    return cgroup_enter(k->leaf.version == CGROUP_NONE ? &k->step : &k->leaf, err);
}

int contain_take(const struct step *step, pid_t pid, struct err *err)
{
    const struct contain *k = step->contain;

    if (!k)
        return 0;
    return cgroup_add(k->leaf.version == CGROUP_NONE ? &k->step : &k->leaf, pid, err);
}

/* --- its processes ---------------------------------------------------------------------------- */

static const struct cgroup *find_tracked_cgroup(const struct step *step)
{
    return step->contain && step->contain->track ? &step->contain->step : NULL;
}

bool contain_tracks(const struct step *step)
{
    return find_tracked_cgroup(step) != NULL;
}

/* Children that have not entered it yet have no descendants and are signalled by pid. */
void contain_signal_all(struct step *step, int signo)
{
    const struct cgroup *c = find_tracked_cgroup(step);

    if (!c || cgroup_is_empty(c)) {
        if (signo == SIGCONT)
            reap_continue_all();
        else
            reap_signal_all(signo);
        adopt_signal_all(step, signo);
        return;
    }
    if (signo == SIGKILL)
        cgroup_kill(c);
    else
        cgroup_signal(c, signo);
    if (step_is_starting(step))
        reap_signal_all(signo);
}

void contain_stop_all(struct step *step)
{
    const struct cgroup *c = find_tracked_cgroup(step);

    if (!c || cgroup_freeze(c, true)) {
        reap_stop_all();
        adopt_stop_all(step);
        return;
    }
    for (int i = 0; i < FREEZE_MS && !cgroup_is_frozen(c); i++)
        poll(NULL, 0, 1); /* other jobs get its CPUs as soon as we have answered */
}

void contain_go_on(struct step *step)
{
    const struct cgroup *c = find_tracked_cgroup(step);

    if (c)
        cgroup_freeze(c, false);
}

bool contain_has_left(struct step *step)
{
    const struct cgroup *c = find_tracked_cgroup(step);

    return reap_have_children() || (c ? !cgroup_is_empty(c) : adopt_has_left(step));
}

bool contain_signals_all(const struct step *step)
{
    return find_tracked_cgroup(step) && step->contain->signal_all;
}

void contain_describe(const struct step *step, struct str *out)
{
    const struct cgroup *c = find_tracked_cgroup(step);
    struct cgroup_pids pids = {0};
    size_t before = out->len;

    if (c)
        cgroup_pids(c, &pids);
    for (size_t i = 0; i < pids.list.len && i < DESCRIBED_MAX; i++) {
        str_puts(out, out->len > before ? "; " : "");
        proc_describe(pids.list.data[i], out);
    }
    if (pids.list.len > DESCRIBED_MAX)
        str_printf(out, "; and %zu more", pids.list.len - DESCRIBED_MAX);
    vec_done(&pids.list);
    if (out->len == before)
        reap_describe(out);
    if (out->len == before)
        adopt_describe(step, out);
}

/* --- memory ----------------------------------------------------------------------------------- */

struct hit {
    uint64_t limit;    /* the exceeded limit; 0: the node was out of memory */
    uint64_t job_peak; /* 0: the limit is not that of the job, which all of its steps share */
};

static struct hit limit_hit(const struct contain *k, const struct cgroup_memory *own)
{
    struct cgroup_memory job = {0};

    if (!own->peak || own->peak + MIB >= k->limit)
        return (struct hit){.limit = k->limit};
    cgroup_read_memory(&k->job, &job);
    if (!k->job_limit || job.peak + MIB < k->job_limit)
        return (struct hit){0};
    return (struct hit){.limit = k->job_limit, .job_peak = job.peak};
}

static unsigned long long mib_up(uint64_t bytes)
{
    return (unsigned long long)((bytes + MIB - 1) / MIB);
}

static void format_hit(const struct step *step, const struct cgroup_memory *own,
                       const struct hit *hit, struct str *out)
{
    const struct contain *k = step->contain;

    str_printf(out, "slurmstepd: error: %s: ", step->node);
    if (hit->job_peak)
        str_printf(out, "limit of the job %lluM, peak of all its steps here %lluM, of this step",
                   (unsigned long long)(hit->limit / MIB), mib_up(hit->job_peak));
    else if (k->over.limit_kib)
        str_printf(out, "limit %lluM", (unsigned long long)(k->over.limit_kib / KIB));
    else
        str_puts(out, "the node had no memory left");
    if (!k->over.limit_kib && k->limit)
        str_printf(out, ", limit %lluM", (unsigned long long)(k->limit / MIB));
    if (own->peak)
        str_printf(out, hit->job_peak ? " %lluM" : ", peak %lluM", mib_up(own->peak));
    if (*k->over.most)
        str_printf(out, ", most of it: %s", k->over.most);
    str_putc(out, '\n');
}

static void report_oom(struct step *step, const struct cgroup_memory *own)
{
    struct contain *k = step->contain;
    struct cgroup_oom oom = {.path = k->step.path};
    _cleanup_str_ struct str line = STR_INIT, most = STR_INIT;
    const struct hit hit = limit_hit(k, own);

    if (k->kernel_log >= 0)
        cgroup_oom_read(k->kernel_log, &oom);
    cgroup_oom_format(&oom, &most);
    pb__over_memory__init(&k->over);
    k->over.limit_kib = hit.limit / KIB;
    k->over.used_kib = k->over.peak_kib = own->peak / KIB;
    k->over.has_peak_kib = k->over.has_of_job = true;
    k->over.of_job = hit.job_peak > 0;
    k->over.most = k->most = str_take(&most);
    str_printf(&line,
               "slurmstepd: error: Detected %llu oom_kill event%s in StepId=%s. Some of the step "
               "tasks have been OOM Killed.\n",
               (unsigned long long)own->oom_kills, own->oom_kills == 1 ? "" : "s", step->name);
    format_hit(step, own, &hit, &line);
    journal_say(step, str_cstr(&line));
}

/* Counts the processes killed since; reports the first occurrence while srun or a log can receive
   it. */
static void check_oom(struct step *step)
{
    struct contain *k = step->contain;
    struct cgroup_memory m = {0};

    if (!k || !cgroup_has(&k->step, CGROUP_MEMORY) || cgroup_read_memory(&k->step, &m) ||
        m.oom_kills <= k->oom_kills)
        return;
    k->oom_kills = m.oom_kills;
    if (!k->oom_told)
        report_oom(step, &m);
    k->oom_told = true;
}

/* --oom-kill-step: ends the processes that the kernel has left alive, here and, if known, on other
 * nodes. */
static void end_the_rest(struct step *step)
{
    const struct contain *k = step->contain;

    if (!step->oom_ends || !k->oom_kills || !step_is_running(step) || step->out_of_memory)
        return;
    if (step->phase == STEP_RUNNING)
        step->out_of_memory = true;
    step->life->terminate(step, 0, NULL);
}

static void on_oom_timer(void *ctx)
{
    struct step *step = ctx;

    check_oom(step);
    end_the_rest(step);
    loop_timer_set(step->contain->oom_timer, OOM_LOOK_MS);
}

void contain_watch(struct step *step)
{
    struct contain *k = step->contain;

    if (!k || !step->oom_ends || !cgroup_has(&k->step, CGROUP_MEMORY))
        return;
    k->oom_timer = loop_timer_new(step->loop, on_oom_timer, step);
    loop_timer_set(k->oom_timer, OOM_LOOK_MS);
}

/* Whether the status is that of a killed process, or of a shell whose child was killed. */
static bool was_killed(int wait_status)
{
    return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) == SIGKILL
                                    : WEXITSTATUS(wait_status) == SHELL_SIGNAL + SIGKILL;
}

int contain_status(struct step *step, int wait_status)
{
    struct contain *k = step->contain;
    bool last = step->left <= 1; /* the last task accounts for all remaining kills */

    check_oom(step);
    if (!k || k->oom_taken >= k->oom_kills || (!was_killed(wait_status) && !last))
        return wait_status;
    k->oom_taken++;
    end_the_rest(step);
    return STATUS_OUT_OF_MEMORY;
}

void contain_end(struct step *step, Pb__Usage *usage, Pb__StepdEnded *m)
{
    struct contain *k = step->contain;
    uint64_t user, sys;

    if (!k)
        return;
    check_oom(step);
    if (k->oom_kills) {
        step->exit_status = STATUS_OUT_OF_MEMORY;
        m->memory = &k->over;
    }
    if (k->gather && !cgroup_read_cpu(&k->step, &user, &sys)) {
        usage->user_usec = user;
        usage->sys_usec = sys;
    }
    cgroup_remove(&k->job, k->name);
}
