/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/multi.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/bitset.h"
#include "base/mem.h"

/* One line of the file, at work. */
struct row {
    int line;
    const char *ranks, *command; /* the first word, and what follows it */
    size_t ranks_len;
};

/* A program that is not there fails as one that slurmstepd starts itself: in its words, and with
 * the error number as exit code; a shell would say it is called "srun", and exit with 127. Neither
 * a variable is set, which the program might inherit, nor a process made. */
static const char prelude[] =
    "seek() {\n"
    "case $1 in\n"
    "'') return 2;;\n"
    "*/*) [ -e \"$1\" ] || return 2\n"
    "[ -x \"$1\" ] && [ ! -d \"$1\" ] || return 13\n"
    "return 0;;\n"
    "esac\n"
    "set -- \"$1\" \"${PATH-/usr/bin:/bin}:\" 2\n" /* what is left of it, and what it comes to */
    "while [ -n \"$2\" ]; do\n"
    "set -- \"$1\" \"${2#*:}\" \"$3\" \"${2%%:*}\"\n"
    "[ -e \"${4:-.}/$1\" ] || continue\n"
    "[ -x \"${4:-.}/$1\" ] && [ ! -d \"${4:-.}/$1\" ] && return 0\n"
    "set -- \"$1\" \"$2\" 13\n"
    "done\n"
    "return $3\n"
    "}\n"
    "start() {\n"
    "seek \"$1\"\n"
    "case $? in\n"
    "0) exec \"$@\";;\n"
    "2) set -- 2 \"$1: No such file or directory\";;\n"
    "*) set -- 13 \"$1: Permission denied\";;\n"
    "esac\n"
    "printf 'slurmstepd: error: execve(): %s\\n' \"$2\" >&2\n"
    "exit \"$1\"\n"
    "}\n";

/* Appends one word of the command, quoted for the shell, with %t and %o replaced. Returns what
 * follows it. */
static const char *put_word(const char *p, uint32_t task, uint32_t offset, struct str *out)
{
    bool literal = false;

    str_putc(out, '\'');
    for (; *p != '\0' && (literal || !isspace((unsigned char)*p)); p++) {
        if (*p == '\'')
            literal = !literal;
        else if (!literal && p[0] == '%' && p[1] == 't')
            str_printf(out, "%u", task), p++;
        else if (!literal && p[0] == '%' && p[1] == 'o')
            str_printf(out, "%u", offset), p++;
        else if (!literal && p[0] == '\\' && p[1] == '\'')
            str_puts(out, "'\\''"), p++; /* out of the quotes, a quote, and in again */
        else if (!literal && p[0] == '\\' && p[1] != '\0')
            str_putc(out, *++p);
        else
            str_putc(out, *p);
    }
    str_putc(out, '\'');
    return p;
}

static void put_arm(const struct row *row, uint32_t task, uint32_t offset, struct str *out)
{
    const char *p = row->command;

    str_printf(out, "%u) start", task);
    while (*(p += strspn(p, " \t")) != '\0') {
        str_putc(out, ' ');
        p = put_word(p, task, offset, out);
    }
    str_puts(out, " \"$@\";;\n");
}

/* One "2" or "2-4" of a list of ranks; -1 at its end, -2 when it is none. */
static int next_range(const char **p, const char *end, uint32_t *first, uint32_t *last)
{
    uint64_t numbers[2] = {0};
    int count = 0;

    if (*p >= end)
        return -1;
    while (count < 2) {
        const char *begin = *p;

        for (; *p < end && isdigit((unsigned char)**p) && numbers[count] <= UINT32_MAX; (*p)++)
            numbers[count] = numbers[count] * 10 + (uint64_t)(**p - '0');
        if (*p == begin || numbers[count] > UINT32_MAX)
            return -2;
        count++;
        if (*p >= end || **p != '-')
            break;
        (*p)++;
    }
    *first = (uint32_t)numbers[0];
    *last = (uint32_t)numbers[count - 1];
    if (*p < end && *(*p)++ != ',')
        return -2;
    return *first <= *last ? 0 : -2;
}

static int put_row(const struct row *row, struct bitset *done, struct str *out, struct err *err)
{
    const char *p = row->ranks, *end = row->ranks + row->ranks_len;
    uint32_t first, last, offset = 0;
    int code;

    if (row->ranks_len == 1 && *p == '*') {
        for (long t; (t = bitset_next_clear(done, 0)) >= 0; offset++) {
            bitset_set(done, (size_t)t);
            put_arm(row, (uint32_t)t, offset, out);
        }
        return 0;
    }
    while ((code = next_range(&p, end, &first, &last)) == 0) {
        for (uint64_t t = first; t <= last && t < done->size; t++) {
            if (bitset_test(done, t))
                return err_set(err, -ERR_PARSE, "line %d: task %u has a program already", row->line,
                               (unsigned)t);
            bitset_set(done, t);
            put_arm(row, (uint32_t)t, offset + (uint32_t)(t - first), out);
        }
        offset += last - first + 1;
    }
    if (code == -2)
        return err_set(err, -ERR_PARSE, "line %d: \"%.*s\" is not a list of task numbers",
                       row->line, (int)row->ranks_len, row->ranks);
    return 0;
}

/* The next line in 'line', continuations joined; false at the end. */
static bool next_line(const char **text, struct str *line, int *number, int *next_number)
{
    str_clear(line);
    *number = *next_number;
    if (**text == '\0')
        return false;
    for (;;) {
        size_t len = strcspn(*text, "\n");
        bool more = len > 0 && (*text)[len - 1] == '\\' && (*text)[len] == '\n';

        str_append(line, *text, more ? len - 1 : len);
        *text += len;
        if (**text == '\n') {
            (*text)++;
            (*next_number)++;
        }
        if (!more)
            return true;
    }
}

int multi_format(const char *text, uint32_t tasks, struct str *out, struct err *err)
{
    _cleanup_bitset_ struct bitset *done = bitset_new(tasks);
    _cleanup_str_ struct str line = STR_INIT;
    struct row row;
    int code = 0, next = 1;
    long without;

    str_puts(out, prelude);
    str_puts(out, "case $SLURM_PROCID in\n");
    while (code == 0 && next_line(&text, &line, &row.line, &next)) {
        row.ranks = str_cstr(&line);
        if (*row.ranks == '#')
            continue;
        row.ranks += strspn(row.ranks, " \t");
        row.ranks_len = strcspn(row.ranks, " \t");
        row.command = row.ranks + row.ranks_len;
        row.command += strspn(row.command, " \t");
        if (row.ranks_len == 0)
            continue;
        if (*row.command == '\0')
            return err_set(err, -ERR_PARSE, "line %d: no program after \"%s\"", row.line,
                           row.ranks);
        code = put_row(&row, done, out, err);
    }
    if (code < 0)
        return code;
    str_puts(out, "esac\n");
    without = bitset_next_clear(done, 0);
    if (without >= 0)
        return err_set(err, -ERR_PARSE, "No executable program specified for task %ld", without);
    return 0;
}
