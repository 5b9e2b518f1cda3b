/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/step/unresponsive.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/step_id.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define LOOK_MS 500
#define PASSES                                                                                     \
    10 /* each pass kills all processes it finds; a fork bomb needs several, and the next look     \
          continues */
#define TITLE_MAX 256

struct silence {
    struct loop_timer *timer;
    int64_t kill_at_ms; /* loop_mono_ms() at which it was to send SIGKILL */
    bool open;          /* an answer is outstanding */
    bool is_logged;     /* logged already */
};

/* Whether the pid is this shepherd's: the process has our title, or had it when it was started. */
static bool is_shepherd(const struct step *s, pid_t pid)
{
    _cleanup_free_ char *title =
        mem_printf("slurmstepd: [%s]", STEP_ID_TEXT(s->attempt->key.id, s->id));
    _cleanup_str_ struct str line = STR_INIT;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    return !path_read_file(path, TITLE_MAX, &line, NULL) &&
           !strncmp(str_cstr(&line), title, strlen(title));
}

/* The pid of a forked shepherd that has not reported it is among this daemon's children. */
static pid_t find_shepherd(const struct step *s)
{
    struct kin_list children = {0};
    pid_t pid = 0;

    if (s->pid > 0)
        return is_shepherd(s, s->pid) ? s->pid : 0;
    kin_children(&children, getpid());
    vec_foreach (&children.list, k)
        if (is_shepherd(s, k->pid))
            pid = k->pid;
    vec_done(&children.list);
    return pid;
}

static unsigned kill_pass(pid_t shepherd)
{
    struct kin_list found = {0};
    unsigned count = 0;
    struct proc p;

    kin_below(&found, shepherd);
    vec_foreach (&found.list, k)
        if (!proc_read(k->pid, &p) && p.state != 'Z' && p.state != 'X')
            count += kin_signal(k, shepherd, SIGKILL);
    vec_done(&found.list);
    return count;
}

/* Kills until no process is found. Processes stuck in the kernel are found again by the next
   look. */
static void kill_below(struct step *s, pid_t shepherd)
{
    _cleanup_str_ struct str left = STR_INIT;

    contain_kill(s->attempt, s->id, &left);
    for (int i = 0; i < PASSES && shepherd; i++)
        if (!kill_pass(shepherd))
            break;
}

/* A stopped shepherd will never answer. */
static bool is_stopped(pid_t shepherd)
{
    struct proc p;

    return !shepherd || proc_read(shepherd, &p) || p.state == 'T' || p.state == 't';
}

static void end_shepherd(struct step *s, pid_t shepherd)
{
    int handle = shepherd ? (int)syscall(SYS_pidfd_open, shepherd, 0) : -1;

    if (handle >= 0 && is_shepherd(s, shepherd))
        syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0);
    s->observer->on_silent(s, shepherd, handle);
}

static void on_timer(void *ctx)
{
    struct step *s = ctx;
    struct silence *h = s->silence;
    const struct conf *conf = s->attempt->d->conf;
    int64_t silent_ms = loop_mono_ms() - h->kill_at_ms,
            patience_ms = conf->message_timeout_sec * 1000;
    pid_t shepherd;

    if (!h->open) {
        step_ask(s);
        h->open = true;
        h->kill_at_ms = loop_mono_ms();
        loop_timer_set(h->timer, patience_ms);
        return;
    }
    shepherd = find_shepherd(s);
    if (!h->is_logged)
        log_error(
            "step %s: its slurmstepd, process %d, was to end it and has not answered for %lld "
            "seconds: ending its processes",
            STEP_ID_TEXT(s->attempt->key.id, s->id), (int)shepherd, (long long)(silent_ms / 1000));
    h->is_logged = true;
    kill_below(s, shepherd);
    if (is_stopped(shepherd) || silent_ms >= patience_ms + conf->unkillable_step_timeout_sec * 1000)
        end_shepherd(s, shepherd);
    else
        loop_timer_set(h->timer, LOOK_MS);
}

void unresponsive_watch(struct step *s, uint32_t grace_sec)
{
    int64_t now_ms = loop_mono_ms(), at_ms = now_ms + (int64_t)grace_sec * 1000;
    struct silence *h = s->silence;

    if (h && h->open && h->kill_at_ms <= at_ms)
        return;
    if (!h) {
        h = s->silence = mem_new(struct silence);
        h->timer = loop_timer_new(s->attempt->d->loop, on_timer, s);
    }
    h->open = true;
    h->kill_at_ms = at_ms;
    loop_timer_set(h->timer, at_ms - now_ms + s->attempt->d->conf->message_timeout_sec * 1000);
}

void unresponsive_heard(struct step *s)
{
    if (s->silence)
        s->silence->open = s->silence->is_logged = false;
}

void unresponsive_free(struct step *s)
{
    if (!s->silence)
        return;
    loop_timer_free(s->silence->timer);
    free(take_ptr(s->silence));
}
