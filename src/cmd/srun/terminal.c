/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/srun/peers.h"
#include "cmd/srun/run.h"
#include "cmd/srun/say.h"

struct terminal {
    struct run *run;
    struct termios before;
};

bool terminal_size(const struct terminal *t, uint32_t *rows, uint32_t *columns)
{
    struct winsize size;

    if (t == NULL || ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
        return false;
    *rows = size.ws_row;
    *columns = size.ws_col;
    return true;
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
    struct terminal *t;
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &raw) < 0)
        return NULL;
    t = mem_new(struct terminal);
    t->run = run;
    t->before = raw;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    say_raw(true);
    loop_signal(run->loop, SIGWINCH, on_resize, run);
    return t;
}

void terminal_free(struct terminal *t)
{
    if (t == NULL)
        return;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
    say_raw(false);
    free(t);
}
