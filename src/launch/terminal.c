/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "launch/terminal.h"

#define ESCAPE_KEY '~'

void escape_init(struct escape *e, const char *commands, bool raw)
{
    const char *wanted = getenv("SLUICE_ESCAPE_CHAR");

    *e = (struct escape){.key = ESCAPE_KEY, .raw = raw, .commands = commands};
    if (str_case_eq(wanted, "none"))
        e->key = 0;
    else if (wanted && wanted[0] && !wanted[1])
        e->key = wanted[0];
}

static void put_char(struct escape *e, char c, struct str *out)
{
    str_putc(out, c);
    e->state = c == '\n' || c == '\r' ? ESCAPE_AT_START : ESCAPE_INSIDE;
}

void escape_end(struct escape *e, struct str *out)
{
    if (e->state >= ESCAPE_HELD)
        str_putc(out, e->key);
    if (e->state == ESCAPE_READY)
        str_putc(out, e->command);
    e->state = ESCAPE_INSIDE;
}

/* Handles a character after the escape character: returns whether it completes a command. On a
 * line-buffered terminal a command must be alone on its line. */
static bool is_command(struct escape *e, char c, struct str *out)
{
    if (e->state == ESCAPE_HELD && c == e->key) {
        put_char(e, c, out);
        return false;
    }
    if (e->state == ESCAPE_HELD && c != '\0' && strchr(e->commands, c)) {
        e->command = c;
        e->state = ESCAPE_READY;
        return e->raw;
    }
    if (e->state == ESCAPE_READY && c == '\n')
        return true;
    escape_end(e, out);
    put_char(e, c, out);
    return false;
}

char escape_take(struct escape *e, const char *data, size_t len, struct str *out)
{
    for (size_t i = 0; i < len; i++) {
        if (e->state >= ESCAPE_HELD) {
            if (is_command(e, data[i], out)) {
                e->state = ESCAPE_AT_START;
                return e->command;
            }
        } else if (e->key && e->state == ESCAPE_AT_START && data[i] == e->key) {
            e->state = ESCAPE_HELD;
        } else {
            put_char(e, data[i], out);
        }
    }
    return 0;
}

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
