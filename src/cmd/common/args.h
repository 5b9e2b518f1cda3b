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

struct args {
    const struct args_row *rows;
    size_t count;
    int argc;
    char **argv;       /* operands move to its end */
    size_t env_at;     /* next row whose variable is to be looked at */
    const char *value; /* of the last option; NULL: none */
    void *options;     /* for getopt */
    struct str letters;
};

#define ARGS_END (-1)
#define ARGS_BAD (-2)

void args_init(struct args *a, const struct args_row *rows, size_t count, int argc, char **argv);
void args_done(struct args *a);

/* The id of the next option, those of the environment first; ARGS_END: the operands begin at
 * argv[args_operands()]; ARGS_BAD: a message was printed, exit with 1. */
int args_next(struct args *a);
int args_operands(const struct args *a);

void args_format_help(const struct args_row *rows, size_t count, const char *program,
                      const char *operands, struct str *out);
void args_format_usage(const struct args_row *rows, size_t count, const char *program,
                       const char *operands, struct str *out);
