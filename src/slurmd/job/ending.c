/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/ending.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/step_id.h"
#include "base/str.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/attempt/report.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/extern.h"
#include "slurmd/job/receive.h"
#include "slurmd/job/step_life.h"
#include "slurmd/node/script.h"
#include "slurmd/node/scriptenv.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/freq.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/usage.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define LEFTOVER_POLL_MS 500 /* each look reads all processes of the machine */
/* Each pass kills all processes it finds; a fork bomb needs several passes. */
#define PASSES 100
#define ENVIRONMENT_MAX (4u << 20)
#define OURS "pmix."    /* prefix of "pmix.JOB.STEP": the directory of a step's PMIx server */
#define ASIDE "litter." /* prefix of directories that are being removed */

/* --- Processes whose shepherd was killed. Its tasks died with it. Processes started by the tasks
 * were reparented to us, their subreaper, or to init if an earlier daemon was the shepherd's
 * parent. --- */

struct wanted {
    uid_t uid;
    char *vars[4];
    bool of_step; /* a step with a number; otherwise processes with a step number do not match */
    pid_t found;  /* the process killed last */
};

static bool belongs_to_step(int pid, const struct wanted *w)
{
    _cleanup_str_ struct str environment = STR_INIT;
    struct stat st;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", pid);
    if (stat(path, &st) || st.st_uid != w->uid)
        return false;
    if (proc_environ(pid, &environment))
        return false;
    for (int i = 0; i < 4; i++)
        if (w->vars[i] && !proc_environ_has(&environment, w->vars[i], true))
            return false;
    return w->of_step || !proc_environ_has(&environment, "SLURM_STEP_ID=", false);
}

/* Opens a pidfd first, because the pid may be reused between the check and the signal. */
static bool kill_if(int pid, struct wanted *w)
{
    _cleanup_close_ int handle = -1;

    if (!belongs_to_step(pid, w))
        return false;
    handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0 || !belongs_to_step(pid, w) ||
        syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0))
        return false;
    w->found = pid;
    return true;
}

static unsigned kill_marked(struct wanted *w)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    unsigned count = 0;

    if (!proc)
        return 0;
    while ((entry = readdir(proc))) {
        int pid = atoi(entry->d_name);

        if (pid > 1 && pid != getpid())
            count += kill_if(pid, w);
    }
    closedir(proc);
    return count;
}

static bool is_orphan(const struct slurmd *d, pid_t pid, uid_t uid)
{
    struct stat st;
    struct proc p;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return !stat(path, &st) && st.st_uid == uid && !proc_read(pid, &p) && p.state != 'Z' &&
           !receive_is_ours(d, pid);
}

/* Shepherds and scripts run as our own user, so a child of another user is an orphan, unless it is
 * a receiver of files. A child's pid is not reused before we reap it. */
static unsigned kill_orphans(const struct slurmd *d, uid_t uid, struct wanted *w)
{
    _cleanup_str_ struct str text = STR_INIT;
    unsigned count = 0;
    char path[64], *at, *end;

    if (uid == geteuid())
        return 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    if (path_read_file(path, ENVIRONMENT_MAX, &text, NULL))
        return 0;
    for (at = (char *)str_cstr(&text); *at; at = end) {
        long pid = strtol(at, &end, 10);

        if (end == at || pid <= 1)
            break;
        if (is_orphan(d, (pid_t)pid, uid) && !kill((pid_t)pid, SIGKILL)) {
            w->found = (pid_t)pid;
            count++;
        }
    }
    return count;
}

/* Returns the number of remaining processes and describes the first one in 'left'
 * (proc_describe()).
 *
 * Sends SIGKILL to each process of the user whose environment has this step's and this node's
 * SLURM_JOB_ID, SLURM_STEP_ID (the batch script has none), SLURMD_NODENAME and SLURM_CONF, and to
 * the user's processes among our own children that are not receivers of files (receive.h). Repeats
 * a limited number of times until none is found. */
static unsigned kill_leftovers(const struct slurmd *d, uint32_t job_id, uint32_t step_id, uid_t uid,
                               struct str *left)
{
    struct wanted w = {.uid = uid};
    unsigned count = 1;

    w.vars[0] = mem_printf("SLURM_JOB_ID=%u", job_id);
    w.vars[1] = mem_printf("SLURMD_NODENAME=%s", d->name);
    w.vars[2] = mem_printf("SLURM_CONF=%s", d->conf->path);
    w.of_step = step_id != STEP_ID_EXTERN && step_id != STEP_ID_BATCH;
    if (step_id == STEP_ID_EXTERN)
        w.vars[3] = mem_strdup("SLUICE_STEP=extern"); /* set by pam_sluice_adopt */
    else if (w.of_step)
        w.vars[3] = mem_printf("SLURM_STEP_ID=%u", step_id);
    for (int i = 0; i < PASSES && count; i++)
        count = kill_marked(&w) + kill_orphans(d, uid, &w);
    if (count)
        proc_describe(w.found, left);
    for (int i = 0; i < 4; i++)
        free(w.vars[i]);
    return count;
}

/* --- Directories that killed shepherds left in the spool directory and users could write to. A
 * child process removes them, because they may be as large as the file system. --- */

static void on_removed(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                       const char *text)
{
    if (text)
        log_error("what a killed shepherd of job %u has left: %s", job_id, text);
}

static void remove_dir(struct slurmd *d, const char *name, uint32_t job_id, uint32_t restarts)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", d->spool, name);
    const struct script script = {.what = "Removal",
                                  .path = path,
                                  .host = d->stepd_path,
                                  .verb = "wipe",
                                  .job_id = job_id,
                                  .restarts = restarts};
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;

    about.job_id = job_id;
    script_run(d, &script, scriptenv_epilog(d, &about), on_removed, d);
}

/* Renames the directory first, because a requeued job uses the same step numbers. */
static void put_aside(struct slurmd *d, const char *name, uint32_t job_id, uint32_t restarts)
{
    _cleanup_free_ char *to = mem_printf(ASIDE "%s.%lld", name, (long long)loop_wall_ms());
    _cleanup_free_ char *from_path = mem_printf("%s/%s", d->spool, name);
    _cleanup_free_ char *to_path = mem_printf("%s/%s", d->spool, to);

    if (!rename(from_path, to_path))
        remove_dir(d, to, job_id, restarts);
    else if (errno != ENOENT)
        log_error("%s cannot be renamed: %s", from_path, strerror(errno));
}

static void remove_leftovers(struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t step_id)
{
    _cleanup_free_ char *name = mem_printf(OURS "%u.%u", job_id, step_id);

    put_aside(d, name, job_id, restarts);
}

static bool is_cared_for(const struct slurmd *d, uint32_t job_id, uint32_t step_id)
{
    for (const struct attempt *a = d->attempts; a; a = a->hh.next) {
        if (a->key.id == job_id && step_find(a, step_id))
            return true;
        for (size_t i = 0; a->key.id == job_id && i < a->lost.len; i++)
            if (a->lost.data[i]->step_id == step_id)
                return true;
    }
    return false;
}

void ending_sweep(struct slurmd *d)
{
    DIR *dir = opendir(d->spool);
    unsigned job_id, step_id;
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (str_starts(entry->d_name, ASIDE))
            remove_dir(d, entry->d_name, 0, 0);
        else if (sscanf(entry->d_name, OURS "%u.%u", &job_id, &step_id) == 2 &&
                 !is_cared_for(d, job_id, step_id))
            put_aside(d, entry->d_name, job_id, 0);
    }
    if (dir)
        closedir(dir);
}

/* --- steps ------------------------------------------------------------------------------------ */

Pb__StepdEnded *ending_copy(const Pb__StepdEnded *m)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    pb_pack(&m->base, &bytes);
    return pb_unpack(&pb__stepd_ended__descriptor, bytes.data, bytes.len);
}

void ending_lost_free(struct lost *l)
{
    struct attempt *a = l->attempt;
    size_t at = 0;

    while (at < a->lost.len && a->lost.data[at] != l)
        at++;
    assert(at < a->lost.len);
    vec_remove(&a->lost, at);
    loop_timer_free(l->timer);
    if (l->said)
        pb__stepd_ended__free_unpacked(l->said, NULL);
    if (l->handle >= 0)
        close(l->handle);
    free(l->for_memory);
    free(l);
}

static void fill_killed_end(const struct lost *l, Pb__Usage *usage, Pb__StepdEnded *m)
{
    struct attempt *a = l->attempt;

    m->job_id = a->key.id;
    m->restarts = a->key.restarts;
    m->step_id = l->step_id;
    m->exit_status = SIGKILL;
    m->text = l->for_memory   ? l->for_memory
              : l->was_silent ? "slurmstepd did not answer, and was killed"
                              : "slurmstepd was killed";
    m->has_timed_out = m->timed_out = str_eq(a->note.why, "TIME LIMIT");
    m->usage = contain_time(a, l->step_id, usage) ? usage : NULL;
}

static void finish_lost_step(struct lost *l, char *stuck)
{
    Pb__StepdEnded m = PB__STEPD_ENDED__INIT, *said = take_ptr(l->said);
    Pb__Usage usage = PB__USAGE__INIT;
    struct attempt *a = l->attempt;

    if (said)
        m = *said;
    else
        fill_killed_end(l, &usage, &m);
    if (stuck) {
        m.has_unkillable = m.unkillable = true;
        m.stuck = stuck;
    }
    contain_step_over(a, l->step_id);
    remove_leftovers(a->d, a->key.id, a->key.restarts, l->step_id);
    freq_step_over(a, l->step_id);
    char *text = take_ptr(l->for_memory); /* used in m.text after l is freed */
    ending_lost_free(l);
    attempt_step_ended(a, &m, NULL);
    free(text);
    if (said)
        pb__stepd_ended__free_unpacked(said, NULL);
}

static bool is_shepherd_alive(const struct lost *l, struct str *left)
{
    struct pollfd p = {.fd = l->handle, .events = POLLIN};

    if (l->handle < 0 || poll(&p, 1, 0) != 0)
        return false;
    proc_describe(l->unresponsive_pid, left);
    return true;
}

static void poll_leftovers(void *ctx)
{
    _cleanup_str_ struct str left = STR_INIT;
    _cleanup_str_ struct str leftover = STR_INIT;
    struct lost *l = ctx;
    struct attempt *a = l->attempt;
    unsigned count = contain_kill(a, l->step_id, &left);

    if (l->step_id == STEP_ID_EXTERN)
        count += usage_kill_adopted(a, &leftover);
    count += kill_leftovers(a->d, a->key.id, l->step_id, (uid_t)a->note.about->uid, &leftover);
    count += is_shepherd_alive(l, &leftover);
    if (!left.len)
        str_puts(&left, str_cstr(&leftover));
    if (!count)
        finish_lost_step(l, NULL);
    else if (loop_mono_ms() >= l->give_up_ms)
        finish_lost_step(l, (char *)str_cstr(&left));
    else
        loop_timer_set(l->timer, LEFTOVER_POLL_MS);
}

static struct lost *lost_new(struct attempt *a, uint32_t step_id)
{
    struct lost *l = mem_new(struct lost);

    l->attempt = a;
    l->step_id = step_id;
    l->handle = -1;
    vec_push(&a->lost, l);
    return l;
}

static void begin_killing_leftovers(struct lost *l)
{
    struct attempt *a = l->attempt;

    l->give_up_ms = loop_mono_ms() + a->d->conf->unkillable_step_timeout_sec * 1000;
    l->timer = loop_timer_new(a->d->loop, poll_leftovers, l);
    poll_leftovers(l);
}

void ending_lost(struct attempt *a, uint32_t step_id)
{
    _cleanup_str_ struct str why = STR_INIT;
    struct lost *l = lost_new(a, step_id);

    if (contain_shepherds_were_killed(a, &why))
        l->for_memory = mem_strdup(str_cstr(&why));
    log_error("step %s: %s; ending what is left of it", STEP_ID_TEXT(a->key.id, step_id),
              l->for_memory ? l->for_memory : "its slurmstepd ended without a report");
    begin_killing_leftovers(l);
}

void ending_silent(struct attempt *a, uint32_t step_id, pid_t shepherd, int handle)
{
    struct lost *l = lost_new(a, step_id);

    l->was_silent = true;
    l->unresponsive_pid = shepherd;
    l->handle = handle;
    begin_killing_leftovers(l);
}

bool ending_extern(struct attempt *a, const Pb__StepdEnded *said)
{
    struct lost *l;

    if (!a->note.ever_adopted || contain_tracks(a->d) || (said->has_unkillable && said->unkillable))
        return false;
    l = lost_new(a, STEP_ID_EXTERN);
    l->said = ending_copy(said);
    begin_killing_leftovers(l);
    return true;
}

/* The slurmstepd that claimed the step does not answer. */
static void read_recorded_end(struct attempt *a, uint32_t step_id)
{
    Pb__StepdEnded *m = step_read_end(a->d, a->key.id, a->key.restarts, step_id);

    attempt_step_lost(a, step_id, m);
    if (m)
        pb__stepd_ended__free_unpacked(m, NULL);
}

static bool is_step_claimed(const struct attempt *a, uint32_t step_id)
{
    _cleanup_free_ char *path = step_file(a->d, a->key.id, a->key.restarts, step_id, "sock");

    return !access(path, F_OK);
}

/* False: no slurmstepd has claimed the step, or it withdraws the claim now. The step may be
 * started. */
static bool find_claimed_step(struct attempt *a, uint32_t step_id)
{
    if (!is_step_claimed(a, step_id))
        return false;
    if (step_adopt(a, step_id))
        return true;
    if (!is_step_claimed(a, step_id))
        return false;
    read_recorded_end(a, step_id);
    return true;
}

void ending_find_steps(struct attempt *a)
{
    struct slurmd *d = a->d;
    bool batch = a->note.batch == NOTE_BATCH_STARTED;

    if (batch && report_pending_step(d, a->key.id, a->key.restarts, STEP_ID_BATCH))
        a->note.batch = NOTE_BATCH_ENDED;
    else if (batch && !find_claimed_step(a, STEP_ID_BATCH))
        a->note.batch = NOTE_BATCH_NONE;
    for (size_t i = 0; i < a->note.steps.len;) {
        uint32_t id = a->note.steps.data[i].id;
        bool over =
            a->note.steps.data[i].over || report_pending_step(d, a->key.id, a->key.restarts, id);

        if (over || find_claimed_step(a, id))
            i++;
        else
            vec_remove(&a->note.steps, i);
    }
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
