/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands typed on a terminal between what goes to the tasks, as ssh has them: the escape
 * character at the beginning of a line and a command behind it. Twice, it is itself once; before
 * anything else it is nothing special. A terminal that hands on whole lines has a command as a line
 * of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define ESCAPE_DETACH '.'
#define ESCAPE_DETACH_ONLY "."
#define ESCAPE_BACKGROUND '&'
#define ESCAPE_BACKGROUND_ONLY "&"

struct escape {
    char key; /* 0: there are no commands */
    bool raw; /* bytes come as they are typed */
    const char *commands;
    enum { ESCAPE_AT_START, ESCAPE_INSIDE, ESCAPE_HELD, ESCAPE_READY } state;
    char command;
};

/* '~', or as SLUICE_ESCAPE_CHAR says: another character, or "none". commands is borrowed. */
void escape_init(struct escape *e, const char *commands, bool raw);

/* Appends to 'out' what is not for us. Returns the command that was typed, or 0; what is behind a
 * command is not looked at. */
char escape_take(struct escape *e, const char *data, size_t len, struct str *out);

/* What is held back, at the end of the input. */
void escape_end(struct escape *e, struct str *out);
