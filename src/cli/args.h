/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options of the commands that list and control, as tables: rows of a .def file per command,
 *
 *   ARG(id, "name", letter, argument, "ENVIRONMENT", "METAVAR", "help")
 *
 * argument being NO, REQ or MAY. Parser, input environment, help and manual pages come from them.
 * Options and operands may be mixed; "--" ends the options.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum args_argument { ARGS_NO, ARGS_REQ, ARGS_MAY };

struct args_row {
    int id; /* >= 0 */
    const char *name;
    char letter;
    enum args_argument argument;
    const char *env; /* "" for none; a set variable is as good as the option, before the line's */
    const char *metavar, *help;
};

/* Made by ARGS_TABLE() of args_rows.h. */
struct args_table {
    const struct args_row *rows;
    size_t count;
    const char *program, *operands; /* for help */
};

/* What every command takes, by these names of rows. */
struct args_common {
    bool help, usage, version;
    bool list_parsers; /* --json=list */
    unsigned verbose;
    const char *clusters; /* borrowed */
};

/* Takes one option, the common ones included: 0, or the status to exit with, plus 1, after a
 * message. */
typedef int args_set_fn(void *ctx, int id, const char *value);

/* All options, those of the environment first, up to one that asks for help or the version.
 * 0: the operands, which move to the end of argv, begin at *operands (argc: there are none, or they
 * do not matter); or the status to exit with, plus 1, after a message. */
int args_parse(const struct args_table *t, int argc, char **argv, args_set_fn *set, void *ctx,
               struct args_common *common, int *operands);

/* The same for a command without operands. */
int args_parse_all(const struct args_table *t, int argc, char **argv, args_set_fn *set, void *ctx,
                   struct args_common *common);

/* What follows from the common options once all was parsed with *status: help or the version are
 * printed, the level of messages is set, another cluster is refused. True: exit with *status. */
bool args_leave(const struct args_table *t, const struct args_common *common, int *status);
static inline bool args_is_info(const struct args_common *common)
{
    return common->help || common->usage || common->version || common->list_parsers;
}

/* "CLUSTER: name", when --clusters was given: what a list begins with that may be one of several.
 */
void args_print_cluster(const struct args_common *common, struct str *out);

/* The seconds of --iterate: 0, or 2 after a message. */
int args_iterate(const char *text, uint32_t *sec);

/* "--name", "--name=VALUE" or "--name[=VALUE]"; without a metavar the latter is "--name". */
void args_put_option(const char *name, enum args_argument argument, const char *metavar,
                     struct str *out);
/* A line of help; letter 0: the option has no short form. */
void args_put_help(char letter, const char *option, const char *help, struct str *out);
/* " [option]" in a usage. Begins a new line with this indent where the line would have more than
 * ARGS_USAGE_WIDTH columns, and changes *column to where the text ends. */
#define ARGS_USAGE_WIDTH 78
void args_put_usage(const char *option, int indent, size_t *column, struct str *out);
void args_format_help(const struct args_table *t, struct str *out);
void args_format_usage(const struct args_table *t, struct str *out);
