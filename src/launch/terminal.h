/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The terminal of a command that is attached to tasks: raw mode while a remote terminal does the
 * line handling, and commands typed between the tasks' input, as in ssh: the escape character at
 * the start of a line, followed by a command. The escape character twice sends it once; before any
 * other character it has no special meaning. On a line-buffered terminal a command must be a line
 * of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define ESCAPE_DETACH '.'
#define ESCAPE_DETACH_ONLY "."
#define ESCAPE_BACKGROUND '&'
#define ESCAPE_BACKGROUND_ONLY "&"

struct escape {
    char key; /* 0: commands are disabled */
    bool raw; /* bytes arrive as they are typed */
    const char *commands;
    enum { ESCAPE_AT_START, ESCAPE_INSIDE, ESCAPE_HELD, ESCAPE_READY } state;
    char command;
};

/* The escape character is '~', or the one in SLUICE_ESCAPE_CHAR, which may be "none". commands is
 * borrowed. */
void escape_init(struct escape *e, const char *commands, bool raw);

/* Appends the tasks' input to 'out'. Returns the command that was typed, or 0; the data after a
 * command is not examined. */
char escape_take(struct escape *e, const char *data, size_t len, struct str *out);

/* Appends the characters that were held back; call at the end of the input. */
void escape_end(struct escape *e, struct str *out);

struct rawtty;

/* Sets the terminal of standard input to raw mode. */
struct rawtty *rawtty_begin(void);    /* NULL: not a terminal */
void rawtty_end(struct rawtty *t);    /* restores the modes; t may be NULL */
void rawtty_forget(struct rawtty *t); /* frees t and does not restore the modes */

bool rawtty_size(uint32_t *rows, uint32_t *columns); /* false: no size */
