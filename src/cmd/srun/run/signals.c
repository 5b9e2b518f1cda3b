/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/signals.h"

#include <signal.h>

#include "base/mem.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/ends.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/request.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawns.h"
#include "launch/messages.h"

#define TWICE_MS 1000

struct signals {
    struct run *run;
    int64_t last_interrupt_ms; /* 0: none */
    bool sent;                 /* the step was told to end by Ctrl-C */
    bool told_spawned;         /* after our own end */
};

static void pass_on(struct run *run, int signo)
{
    peers_signal(run->peers, signo);
    spawns_signal(run->spawns, signo);
}

static void end_signalled_step(struct signals *s, int signo)
{
    if (s->run->aborting) {
        messages_hurry();
        s->run->on->force(s->run);
        return;
    }
    s->run->hurried = true;
    messages_hurry();
    if (signo == SIGINT)
        say_info("sending Ctrl-C to %s", s->run->step_name);
    say_info("forcing job termination");
    if (signo != SIGTERM)
        peers_signal(s->run->peers, signo);
    s->run->on->abort(s->run, NULL);
    if (signo == SIGINT && s->run->options->quit_on_interrupt)
        peers_signal(s->run->peers, SIGKILL); /* nobody is to wait for what they do about it */
}

static void on_interrupt(struct signals *s)
{
    const struct run_options *o = s->run->options;
    int64_t now = loop_mono_ms();

    if (o->quit_on_interrupt || s->run->aborting) {
        end_signalled_step(s, SIGINT);
        return;
    }
    if (o->disable_status) {
        if (s->sent)
            end_signalled_step(s, SIGINT);
        else
            pass_on(s->run, SIGINT);
        s->sent = true;
        return;
    }
    if (s->last_interrupt_ms != 0 && now - s->last_interrupt_ms <= TWICE_MS) {
        end_signalled_step(s, SIGINT);
        return;
    }
    s->last_interrupt_ms = now;
    say_info("interrupt (one more within 1 sec to abort)");
    ends_tell_states(s->run->ends);
}

/* Our own tasks have ended: what they have spawned is asked to, once. */
static void end_rest(struct signals *s)
{
    if (s->told_spawned || !spawns_left(s->run->spawns)) {
        s->run->on->force(s->run);
        return;
    }
    s->told_spawned = true;
    spawns_signal(s->run->spawns, SIGTERM);
}

static void on_srun_signal(void *ctx, int signo)
{
    struct signals *s = ctx;
    struct run *run = s->run;

    if (run->phase == RUN_ASKING) {
        if (signo == SIGINT || signo == SIGTERM || signo == SIGHUP || signo == SIGQUIT)
            request_interrupt(run->request, signo);
        return;
    }
    if (run->phase == RUN_ENDING) {
        if (signo == SIGINT || signo == SIGTERM)
            end_rest(s);
        return;
    }
    if (run->phase == RUN_OVER)
        return;
    switch (signo) {
    case SIGINT:
        on_interrupt(s);
        break;
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        end_signalled_step(s, signo);
        break;
    default:
        pass_on(run, signo);
    }
}

struct signals *signals_start(struct run *run)
{
    static const int watched[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};
    struct signals *s = mem_new(struct signals);

    s->run = run;
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
        struct sigaction now;

        /* What was ignored when srun was started stays so, as under nohup. */
        if (watched[i] == SIGHUP && sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            continue;
        if (run->options->ignored_signals & 1u << watched[i])
            signal(watched[i], SIG_IGN);
        else
            loop_signal(run->loop, watched[i], on_srun_signal, s);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    return s;
}

void signals_free(struct signals *s)
{
    free(s);
}
