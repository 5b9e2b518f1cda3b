/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/terminal.h"

#include <signal.h>

#include "base/mem.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/run.h"
#include "launch/rawtty.h"

struct terminal {
    struct run *run;
    struct rawtty *tty;
};

bool terminal_size(const struct terminal *t, uint32_t *rows, uint32_t *columns)
{
    return t != NULL && rawtty_size(rows, columns);
}

static void on_resize(void *ctx, int signo)
{
    const struct run *run = ctx;
    uint32_t rows, columns;

    (void)signo;
    if (run->peers != NULL && terminal_size(run->terminal, &rows, &columns))
        peers_window_size(run->peers, rows, columns);
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
