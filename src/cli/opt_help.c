/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of the option table for users: help, usage, notes and failures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/opt_priv.h"

static const char *operands_of(enum opt_command command)
{
    return command == OPT_SALLOC ? "[ : [OPTIONS...]]... [command [args...]]"
           : command == OPT_SRUN ? "executable [args...] [ : [OPTIONS...] executable [args...]]..."
                                 : "[ : [OPTIONS...]]... [script [args...]]";
}

static const char *program_name(enum opt_command command)
{
    return opt_program(&(struct opt){.command = command});
}

static bool is_row_shown(const struct opt_row *row, enum opt_command command)
{
    return (row->commands & command) && !(row->commands & (OPT_OLD | OPT_INERT)) &&
           row->type != OPT_T_REFUSED && row->type != OPT_T_PLANNED && row->type != OPT_T_IGNORED;
}

static void put_option_name(const struct opt_row *row, struct str *out)
{
    static const enum args_argument arguments[] = {
        [OPT_ARG_NO] = ARGS_NO, [OPT_ARG_REQ] = ARGS_REQ, [OPT_ARG_MAY] = ARGS_MAY};
    args_put_option(row->name, arguments[row->argument], row->metavar, out);
}

static void put_help_line(const struct opt_row *row, struct str *out)
{
    _cleanup_str_ struct str option = STR_INIT;
    put_option_name(row, &option);
    args_put_help(row->letter, str_cstr(&option), row->help, out);
}

void opt_format_help(enum opt_command command, struct str *out)
{
    str_printf(out, "Usage: %s [OPTIONS...] %s\n\nOptions:\n", program_name(command),
               operands_of(command));
    for (size_t i = 0; i < opt_row_count; i++)
        if (is_row_shown(&opt_rows[i], command))
            put_help_line(&opt_rows[i], out);
    str_puts(out, "\nAccepted for compatibility, without effect:");
    size_t column = ARGS_USAGE_WIDTH;
    for (size_t i = 0; i < opt_row_count; i++) {
        const struct opt_row *row = &opt_rows[i];
        bool inert = row->type == OPT_T_IGNORED || (row->commands & OPT_INERT);
        if (!(row->commands & command) || !inert || (row->commands & OPT_OLD))
            continue;
        column += strlen(row->name) + 3;
        if (column > ARGS_USAGE_WIDTH) {
            str_puts(out, "\n     ");
            column = 5 + strlen(row->name) + 3;
        }
        str_printf(out, " --%s", row->name);
    }
    str_putc(out, '\n');
}

void opt_format_extras(const struct opt_extras *extras, struct str *out)
{
    if (!extras || !extras->count)
        return;
    str_puts(out, "\nOptions provided by plugins:\n");
    for (size_t i = 0; i < extras->count; i++) {
        const struct opt_extra *e = &extras->list[i];
        _cleanup_str_ struct str option = STR_INIT, help = STR_INIT;

        str_printf(&option, "--%s", e->name);
        if (e->has_arg)
            str_printf(&option, e->has_arg == 1 ? "=%s" : "[=%s]", e->arginfo);
        str_printf(&help, "[%s] %s", e->plugin, e->usage);
        args_put_help(0, str_cstr(&option), str_cstr(&help), out);
    }
}

void opt_format_usage(enum opt_command command, struct str *out)
{
    int indent = (int)strlen(program_name(command)) + 7;
    str_printf(out, "Usage: %s", program_name(command));
    size_t column = (size_t)indent;
    for (size_t i = 0; i < opt_row_count; i++) {
        if (!is_row_shown(&opt_rows[i], command))
            continue;
        _cleanup_str_ struct str option = STR_INIT;
        put_option_name(&opt_rows[i], &option);
        args_put_usage(str_cstr(&option), indent, &column, out);
    }
    str_printf(out, "\n%*s %s\n", indent, "", operands_of(command));
}

bool opt_print_info(const struct opt *o)
{
    if (!o->help && !o->usage && !o->version)
        return false;
    _cleanup_str_ struct str out = STR_INIT;
    if (o->version)
        str_puts(&out, "slurm " SLURM_VERSION "\n");
    else if (o->help) {
        opt_format_help(o->command, &out);
        opt_format_extras(o->extras, &out);
    } else
        opt_format_usage(o->command, &out);
    fputs(str_cstr(&out), stdout);
    fflush(stdout);
    return true;
}

void opt_format_notes(const struct opt *o, struct str *out)
{
    for (const char *s = str_cstr(&o->notes); *s;) {
        size_t len = strcspn(s, "\n");
        if (!o->quiet || str_starts(s, "error: ")) {
            str_printf(out, "%s: ", opt_program(o));
            text_escape_n(s, len, out);
            str_putc(out, '\n');
        }
        s += len + (s[len] == '\n');
    }
}

void opt_print_notes(const struct opt *o)
{
    _cleanup_str_ struct str notes = STR_INIT;
    opt_format_notes(o, &notes);
    path_write_all(STDERR_FILENO, notes.data, notes.len);
}

int opt_exit_status(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    long long status;
    return text && str_parse_i64(text, 1, 255, &status) == 0 ? (int)status : otherwise;
}

int opt_print_failure(const struct opt *o, const struct err *err)
{
    const char *program = opt_program(o);
    _cleanup_str_ struct str text = STR_INIT;
    text_escape(err->text, &text);
    const char *shown_text = str_cstr(&text);
    switch (o->failure) {
    case OPT_FAIL_SYNTAX:
        fprintf(stderr, "%s: %s\nTry \"%s --help\" for more information\n", program, shown_text,
                program);
        break;
    case OPT_FAIL_FATAL:
        fprintf(stderr, "%s: fatal: %s\n", program, shown_text);
        break;
    default:
        fprintf(stderr, "%s: error: %s\n", program, shown_text);
        break;
    }
    return opt_exit_status("SLURM_EXIT_ERROR", o->exit_status ? o->exit_status : 1);
}
