/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/common/cmd.h"

#define FIRST_VALUE 512 /* what getopt_long() returns for row 0: above every letter */
#define HELP_COLUMN 34
#define USAGE_WIDTH 78

void args_init(struct args *a, const struct args_row *rows, size_t count, int argc, char **argv)
{
    *a = (struct args){.rows = rows, .count = count, .argc = argc, .argv = argv};
    struct option *options = mem_new_array(struct option, count + 1);
    for (size_t i = 0; i < count; i++) {
        options[i].name = rows[i].name;
        options[i].has_arg = (int)rows[i].argument;
        options[i].val = FIRST_VALUE + (int)i;
        if (rows[i].letter)
            str_printf(&a->letters, "%c%s", rows[i].letter,
                       rows[i].argument == ARGS_REQ   ? ":"
                       : rows[i].argument == ARGS_MAY ? "::"
                                                      : "");
    }
    a->options = options;
    argv[0] = (char *)cmd_name(); /* what getopt_long() puts before its messages */
    optind = 0;                   /* starts afresh */
}

void args_done(struct args *a)
{
    free(a->options);
    str_done(&a->letters);
}

/* A variable that is set and not empty; flags may be empty. */
static int next_env(struct args *a)
{
    while (a->env_at < a->count) {
        const struct args_row *row = &a->rows[a->env_at++];
        const char *value = *row->env ? getenv(row->env) : NULL;
        if (!value || (row->argument == ARGS_REQ && !*value))
            continue;
        if (row->argument == ARGS_NO && (str_eq(value, "0") || str_case_eq(value, "no")))
            continue;
        a->value = row->argument == ARGS_NO ? NULL : value;
        return row->id;
    }
    return ARGS_END;
}

int args_next(struct args *a)
{
    int id = next_env(a);
    if (id != ARGS_END)
        return id;
    int c = getopt_long(a->argc, a->argv, str_cstr(&a->letters), a->options, NULL);
    a->value = optarg;
    if (c == -1)
        return ARGS_END;
    if (c >= FIRST_VALUE)
        return a->rows[c - FIRST_VALUE].id;
    for (size_t i = 0; i < a->count; i++)
        if (a->rows[i].letter == c && c != '?')
            return a->rows[i].id;
    fprintf(stderr, "Try \"%s --help\" for more information\n", cmd_name());
    return ARGS_BAD;
}

int args_operands(const struct args *a)
{
    return optind;
}

static void put_name(const struct args_row *row, struct str *out)
{
    str_printf(out, "--%s", row->name);
    if (row->argument == ARGS_REQ)
        str_printf(out, "=%s", row->metavar);
    else if (row->argument == ARGS_MAY)
        str_printf(out, "[=%s]", row->metavar);
}

void args_format_help(const struct args_row *rows, size_t count, const char *program,
                      const char *operands, struct str *out)
{
    str_printf(out, "Usage: %s [OPTIONS] %s\n", program, operands);
    for (size_t i = 0; i < count; i++) {
        if (!*rows[i].help)
            continue;
        size_t start = out->len;
        if (rows[i].letter)
            str_printf(out, "  -%c, ", rows[i].letter);
        else
            str_puts(out, "      ");
        put_name(&rows[i], out);
        do
            str_putc(out, ' ');
        while (out->len - start < HELP_COLUMN);
        str_printf(out, "%s\n", rows[i].help);
    }
}

void args_format_usage(const struct args_row *rows, size_t count, const char *program,
                       const char *operands, struct str *out)
{
    int indent = (int)strlen(program) + 7;
    size_t column = (size_t)indent;
    str_printf(out, "Usage: %s", program);
    for (size_t i = 0; i < count; i++) {
        if (!*rows[i].help)
            continue;
        _cleanup_str_ struct str name = STR_INIT;
        put_name(&rows[i], &name);
        if (column + name.len + 3 > USAGE_WIDTH) {
            str_printf(out, "\n%*s", indent, "");
            column = (size_t)indent;
        }
        str_printf(out, " [%s]", str_cstr(&name));
        column += name.len + 3;
    }
    str_printf(out, "\n%*s %s\n", indent, "", operands);
}
