/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "show/json_out.h"

#define FIRST_VALUE 512 /* value of getopt_long() for row 0: above every letter */
#define HELP_COLUMN 34
#define ITERATE_MAX 86400 /* seconds */

struct args {
    const struct args_table *table;
    int argc;
    char **argv;
    size_t env_at;              /* index of the next row whose variable is checked */
    const struct args_row *row; /* row of the last option */
    const char *value;          /* its argument; NULL: none */
    struct option *options;
    struct str letters;
};

static void init_args(struct args *a, const struct args_table *t, int argc, char **argv)
{
    *a = (struct args){.table = t, .argc = argc, .argv = argv};
    a->options = mem_new_array(struct option, t->count + 1);
    for (size_t i = 0; i < t->count; i++) {
        const struct args_row *row = &t->rows[i];
        a->options[i].name = row->name;
        a->options[i].has_arg = (int)row->argument;
        a->options[i].val = FIRST_VALUE + (int)i;
        if (row->letter)
            str_printf(&a->letters, "%c%s", row->letter,
                       row->argument == ARGS_REQ   ? ":"
                       : row->argument == ARGS_MAY ? "::"
                                                   : "");
    }
    argv[0] = (char *)cmd_name(); /* getopt_long() puts it before its messages */
    optind = 0;                   /* restarts getopt_long() */
}

/* For the variable of a flag. As with Slurm's commands, any other value enables the flag. */
static bool says_no(const char *value)
{
    static const char *const words[] = {"no", "n", "false", "f", "off"};
    long long number;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (str_case_eq(value, words[i]))
            return true;
    return str_parse_i64(value, 0, 0, &number) == 0;
}

/* The next variable that is set and not empty; variables of flags may be empty. */
static bool next_env(struct args *a)
{
    while (a->env_at < a->table->count) {
        const struct args_row *row = &a->table->rows[a->env_at++];
        const char *value = *row->env ? getenv(row->env) : NULL;
        if (!value || (row->argument == ARGS_REQ && !*value))
            continue;
        if (row->argument == ARGS_NO && says_no(value))
            continue;
        a->value = row->argument == ARGS_NO ? NULL : value;
        a->row = row;
        return true;
    }
    return false;
}

/* Returns 1 if there is another option, 0 if there is none, -1 after a message about an invalid
 * one. */
static int next_option(struct args *a)
{
    if (next_env(a))
        return 1;
    int c = getopt_long(a->argc, a->argv, str_cstr(&a->letters), a->options, NULL);
    a->value = optarg;
    if (c == -1)
        return 0;
    a->row = c >= FIRST_VALUE ? &a->table->rows[c - FIRST_VALUE] : NULL;
    const struct args_row *rows = a->table->rows;
    for (size_t i = 0; rows && !a->row && i < a->table->count; i++)
        if (rows[i].letter == c && c != '?')
            a->row = &rows[i];
    if (a->row)
        return 1;
    fprintf(stderr, "Try \"%s --help\" for more information\n", cmd_name());
    return -1;
}

static void set_common(struct args_common *c, const char *name, const char *value)
{
    c->help |= str_eq(name, "help");
    c->usage |= str_eq(name, "usage");
    c->version |= str_eq(name, "version");
    c->verbose += str_eq(name, "verbose");
    if (str_eq(name, "cluster") || str_eq(name, "clusters"))
        c->clusters = value;
}

#define FIRST_PARSER 39
#define LAST_PARSER 45

/* "v0.0.41", "data_parser/v0.0.41+prefer_refs"; "list". */
static bool is_parser(const char *version)
{
    static const char prefix[] = "data_parser/", level[] = "v0.0.";
    char *end;
    if (str_eq(version, "list"))
        return true;
    if (str_starts(version, prefix))
        version += strlen(prefix);
    if (!str_starts(version, level))
        return false;
    long number = strtol(version + strlen(level), &end, 10);
    return number >= FIRST_PARSER && number <= LAST_PARSER && (*end == 0 || *end == '+');
}

/* --json=VERSION: all versions of Slurm's data parser have the same members here. */
static int check_parser(struct args_common *c, const struct args_row *row, const char *value)
{
    if (!value || (!str_eq(row->name, "json") && !str_eq(row->name, "yaml")))
        return 0;
    c->list_parsers |= str_eq(value, "list");
    if (is_parser(value))
        return 0;
    cmd_error("unknown data parser '%s' (--%s): use " JSON_OUT_PARSER " or no version", value,
              row->name);
    return 2;
}

int args_parse(const struct args_table *t, int argc, char **argv, args_set_fn *set, void *ctx,
               struct args_common *common, int *operands)
{
    struct args a;
    int status = 0, more;
    *operands = argc;
    init_args(&a, t, argc, argv);
    while (status == 0 && !args_is_info(common) && (more = next_option(&a)) != 0) {
        if (more > 0)
            set_common(common, a.row->name, a.value);
        status = more < 0 ? 2 : check_parser(common, a.row, a.value);
        if (status == 0)
            status = set(ctx, a.row->id, a.value);
    }
    if (status == 0 && !args_is_info(common))
        *operands = optind;
    free(a.options);
    str_done(&a.letters);
    return status;
}

int args_parse_all(const struct args_table *t, int argc, char **argv, args_set_fn *set, void *ctx,
                   struct args_common *common)
{
    int first, status = args_parse(t, argc, argv, set, ctx, common, &first);
    if (status == 0 && first < argc) {
        cmd_error("Unrecognized option: %s", argv[first]);
        status = 2;
    }
    return status;
}

bool args_leave(const struct args_table *t, const struct args_common *common, int *status)
{
    struct err err = {0};
    if (*status) {
        *status -= 1;
        return true;
    }
    if (args_is_info(common)) {
        if (common->version)
            str_puts(cmd_out(), "slurm " SLURM_VERSION "\n");
        else if (common->list_parsers)
            str_puts(cmd_out(), "Possible data_parser plugins:\n" JSON_OUT_PARSER "\n");
        else if (common->help)
            args_format_help(t, cmd_out());
        else
            args_format_usage(t, cmd_out());
        *status = cmd_flush();
        return true;
    }
    cmd_set_level(false, common->verbose);
    if (cmd_check_clusters(common->clusters, &err) == 0)
        return false;
    cmd_error("%s", err.text);
    *status = 1;
    return true;
}

void args_print_cluster(const struct args_common *common, struct str *out)
{
    if (common->clusters)
        str_printf(out, "CLUSTER: %s\n", cmd_conf()->cluster_name);
}

int args_iterate(const char *text, uint32_t *sec)
{
    long long value;
    if (str_parse_i64(text, 1, ITERATE_MAX, &value) < 0) {
        cmd_error("invalid --iterate '%s': use seconds, 1 to %d", text, ITERATE_MAX);
        return 2;
    }
    *sec = (uint32_t)value;
    return 0;
}

void args_put_option(const char *name, enum args_argument argument, const char *metavar,
                     struct str *out)
{
    str_printf(out, "--%s", name);
    if (argument == ARGS_REQ)
        str_printf(out, "=%s", metavar);
    else if (argument == ARGS_MAY && *metavar)
        str_printf(out, "[=%s]", metavar);
}

void args_put_help(char letter, const char *option, const char *help, struct str *out)
{
    size_t start = out->len;
    if (letter)
        str_printf(out, "  -%c, ", letter);
    else
        str_puts(out, "      ");
    str_puts(out, option);
    do
        str_putc(out, ' ');
    while (out->len - start < HELP_COLUMN);
    str_printf(out, "%s\n", help);
}

void args_put_usage(const char *option, int indent, size_t *column, struct str *out)
{
    size_t len = strlen(option) + 3;
    if (*column + len > ARGS_USAGE_WIDTH) {
        str_printf(out, "\n%*s", indent, "");
        *column = (size_t)indent;
    }
    str_printf(out, " [%s]", option);
    *column += len;
}

void args_format_help(const struct args_table *t, struct str *out)
{
    str_printf(out, "Usage: %s [OPTIONS] %s\n", t->program, t->operands);
    for (size_t i = 0; i < t->count; i++) {
        const struct args_row *row = &t->rows[i];
        _cleanup_str_ struct str option = STR_INIT;
        if (!*row->help)
            continue;
        args_put_option(row->name, row->argument, row->metavar, &option);
        args_put_help(row->letter, str_cstr(&option), row->help, out);
    }
}

void args_format_usage(const struct args_table *t, struct str *out)
{
    int indent = (int)strlen(t->program) + 7;
    size_t column = (size_t)indent;
    str_printf(out, "Usage: %s", t->program);
    for (size_t i = 0; i < t->count; i++) {
        const struct args_row *row = &t->rows[i];
        _cleanup_str_ struct str option = STR_INIT;
        if (!*row->help)
            continue;
        args_put_option(row->name, row->argument, row->metavar, &option);
        args_put_usage(str_cstr(&option), indent, &column, out);
    }
    str_printf(out, "\n%*s %s\n", indent, "", t->operands);
}
