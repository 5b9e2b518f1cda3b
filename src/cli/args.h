/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options of the listing and control commands, as tables: rows of a .def file per command,
 *
 *   ARG(id, "name", letter, argument, "ENVIRONMENT", "METAVAR", "help")
 *
 * where argument is NO, REQ or MAY. Parser, input environment, help and manual pages are generated
 * from the rows. Options and operands may be mixed; "--" ends the options.
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
    const char *env; /* "" for none; a set variable acts like the option, before the command line */
    const char *metavar, *help;
};

/* Defined by ARGS_TABLE() of args_rows.h. */
struct args_table {
    const struct args_row *rows;
    size_t count;
    const char *program, *operands; /* for help */
};

/* Options of every command, by the names of their rows. */
struct args_common {
    bool help, usage, version;
    bool list_parsers; /* --json=list */
    unsigned verbose;
    const char *clusters; /* borrowed */
};

/* Sets one option, including the common ones. Returns 0; or, after a message, the exit status plus
 * 1. */
typedef int args_set_fn(void *ctx, int id, const char *value);

/* Sets all options, those of the environment first, up to one that asks for help or the version.
 * Returns 0; or, after a message, the exit status plus 1. The operands move to the end of argv and
 * start at *operands (argc: there are none, or they do not matter). */
int args_parse(const struct args_table *t, int argc, char **argv, args_set_fn *set, void *ctx,
               struct args_common *common, int *operands);

/* The same for a command without operands. */
int args_parse_all(const struct args_table *t, int argc, char **argv, args_set_fn *set, void *ctx,
                   struct args_common *common);

/* Handles the common options after parsing with the result *status: prints help or the version,
 * sets the message level, rejects another cluster. Returns true if the program must exit with
 * *status. */
bool args_leave(const struct args_table *t, const struct args_common *common, int *status);
static inline bool args_is_info(const struct args_common *common)
{
    return common->help || common->usage || common->version || common->list_parsers;
}

/* Appends "CLUSTER: name", the first line of a list, if --clusters was given. */
void args_print_cluster(const struct args_common *common, struct str *out);

/* Parses the seconds of --iterate. Returns 0; or 2 after a message. */
int args_iterate(const char *text, uint32_t *sec);

/* Appends "--name", "--name=VALUE" or "--name[=VALUE]"; "--name" if an optional argument has no
 * metavar. */
void args_put_option(const char *name, enum args_argument argument, const char *metavar,
                     struct str *out);
/* Appends a line of help; letter 0: the option has no short form. */
void args_put_help(char letter, const char *option, const char *help, struct str *out);
/* Appends " [option]" to a usage text. Starts a new line with this indent if the line would have
 * more than ARGS_USAGE_WIDTH columns, and sets *column to the end of the text. */
#define ARGS_USAGE_WIDTH 78
void args_put_usage(const char *option, int indent, size_t *column, struct str *out);
void args_format_help(const struct args_table *t, struct str *out);
void args_format_usage(const struct args_table *t, struct str *out);
