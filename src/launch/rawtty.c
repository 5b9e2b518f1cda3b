/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/rawtty.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

struct rawtty {
    struct termios before;
};

struct rawtty *rawtty_begin(void)
{
    struct rawtty *t;
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &raw) < 0)
        return NULL;
    t = mem_new(struct rawtty);
    t->before = raw;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    return t;
}

void rawtty_end(struct rawtty *t)
{
    if (t != NULL)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
    rawtty_forget(t);
}

void rawtty_forget(struct rawtty *t)
{
    free(t);
}

bool rawtty_size(uint32_t *rows, uint32_t *columns)
{
    struct winsize size;

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
        return false;
    *rows = size.ws_row;
    *columns = size.ws_col;
    return true;
}
