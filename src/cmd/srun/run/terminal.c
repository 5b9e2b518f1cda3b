/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/terminal.h"

#include <signal.h>

#include "base/mem.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/run.h"
#include "launch/terminal.h"

struct terminal {
    struct run *run;
    struct rawtty *tty;
};

static bool read_size(const struct run *run, Pb__WindowSize *m)
{
    *m = (Pb__WindowSize)PB__WINDOW_SIZE__INIT;
    return run->peers != NULL && run->terminal != NULL && rawtty_size(&m->rows, &m->columns);
}

void terminal_tell_node(const struct run *run, uint32_t node)
{
    Pb__WindowSize m;

    if (read_size(run, &m))
        peers_send(run->peers, node, RPC_WINDOW_SIZE, &m.base);
}

static void on_resize(void *ctx, int signo)
{
    const struct run *run = ctx;
    Pb__WindowSize m;

    (void)signo;
    if (read_size(run, &m))
        peers_send_all(run->peers, RPC_WINDOW_SIZE, &m.base);
}

struct terminal *terminal_start(struct run *run)
{
    struct rawtty *tty = rawtty_begin();
    struct terminal *t;

    if (tty == NULL)
        return NULL;
    t = mem_new(struct terminal);
    t->run = run;
    t->tty = tty;
    say_raw(true);
    loop_signal(run->loop, SIGWINCH, on_resize, run);
    return t;
}

void terminal_free(struct terminal *t)
{
    if (t == NULL)
        return;
    rawtty_end(t->tty);
    say_raw(false);
    free(t);
}

void terminal_forget(struct terminal *t)
{
    if (t == NULL)
        return;
    rawtty_forget(t->tty);
    say_raw(false);
    free(t);
}
