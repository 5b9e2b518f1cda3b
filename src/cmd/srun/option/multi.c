/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/multi.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/bitset.h"
#include "base/mem.h"

#define PART_MAX (MULTI_SCRIPT_MAX / (MULTI_ARGV_MAX - MULTI_ARGV_HEAD) + 1)
_Static_assert(PART_MAX < 131072, "the kernel takes so many bytes as one operand, with the NUL");

/* The line of the file that is being processed. */
struct row {
    int line;
    const char *ranks, *command; /* the first word, and the rest of the line */
    size_t ranks_len;
};

/* Consecutive tasks; 'offset' is the index of the first one within the file's line. */
struct tasks_of {
    int64_t first, last, offset;
};

/* Programs of single tasks, and of ranges. */
struct arms {
    struct str single, range;
};

/* A missing program fails like one that slurmstepd starts itself: with the same message, and with
 * the error number as exit code. A plain shell would name itself "srun" and exit with 127. The
 * function sets no variable that the program would inherit, and starts no process. */
static const char prelude[] =
    "seek() {\n"
    "case $1 in\n"
    "'') return 2;;\n"
    "*/*) [ -e \"$1\" ] || return 2\n"
    "[ -x \"$1\" ] && [ ! -d \"$1\" ] || return 13\n"
    "return 0;;\n"
    "esac\n"
    "set -- \"$1\" \"${PATH-/usr/bin:/bin}:\" 2\n" /* the rest of PATH, and the exit code */
    "while [ -n \"$2\" ]; do\n"
    "set -- \"$1\" \"${2#*:}\" \"$3\" \"${2%%:*}\"\n"
    "[ -e \"${4:-.}/$1\" ] || continue\n"
    "[ -x \"${4:-.}/$1\" ] && [ ! -d \"${4:-.}/$1\" ] && return 0\n"
    "set -- \"$1\" \"$2\" 13\n"
    "done\n"
    "[ -x \"./$1\" ] && [ ! -d \"./$1\" ] && return 4\n" /* in the working directory */
    "return $3\n"
    "}\n"
    "start() {\n"
    "seek \"$1\"\n"
    "case $? in\n"
    "0) exec \"$@\";;\n"
    "4) exec \"./$@\";;\n"
    "2) set -- 2 \"$1: No such file or directory\";;\n"
    "*) set -- 13 \"$1: Permission denied\";;\n"
    "esac\n"
    "printf 'slurmstepd: error: execve(): %s\\n' \"$2\" >&2\n"
    "exit \"$1\"\n"
    "}\n";

/* The rank plus 'more' as shell text; for a single task the digits of the sum. */
static void put_raised_number(const struct tasks_of *t, int64_t more, struct str *out)
{
    if (t->first == t->last)
        str_printf(out, "%" PRId64, t->first + more);
    else if (more == 0)
        str_puts(out, "'$SLURM_PROCID'");
    else
        str_printf(out, "'$(($SLURM_PROCID%+" PRId64 "))'", more);
}

/* Appends one word of the command, quoted for the shell, with %t and %o replaced. Returns the text
 * after the word. */
static const char *put_word(const char *p, const struct tasks_of *t, struct str *out)
{
    bool literal = false;

    str_putc(out, '\'');
    for (; *p != '\0' && (literal || !isspace((unsigned char)*p)); p++) {
        if (*p == '\'')
            literal = !literal;
        else if (!literal && p[0] == '%' && p[1] == 't')
            put_raised_number(t, 0, out), p++;
        else if (!literal && p[0] == '%' && p[1] == 'o')
            put_raised_number(t, (int64_t)t->offset - t->first, out), p++;
        else if (!literal && p[0] == '\\' && p[1] == '\'')
            str_puts(out, "'\\''"), p++; /* ends the quotes, adds a quote, starts quotes again */
        else if (!literal && p[0] == '\\' && p[1] != '\0')
            str_putc(out, *++p);
        else
            str_putc(out, *p);
    }
    str_putc(out, '\'');
    return p;
}

/* Appends the command of these tasks; a range needs only one entry. */
static void put_arm(const char *command, const struct tasks_of *t, struct arms *arms)
{
    struct str *out = t->first == t->last ? &arms->single : &arms->range;

    if (t->first == t->last)
        str_printf(out, "%" PRId64 ") start", t->first);
    else
        str_printf(
            out, "[ $SLURM_PROCID -ge %" PRId64 " ] && [ $SLURM_PROCID -le %" PRId64 " ] && start",
            t->first, t->last);
    for (const char *p = command; *(p += strspn(p, " \t")) != '\0';) {
        str_putc(out, ' ');
        p = put_word(p, t, out);
    }
    str_puts(out, t->first == t->last ? " \"$@\";;\n" : " \"$@\"\n");
}

/* Parses one "2" or "2-4" of a list of ranks; returns -1 at its end, -2 if it is invalid. */
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

/* Adds the tasks that no earlier line has named. As in Slurm "*" is the range of all tasks: the
 * offset of a task in it is its number. */
static void put_rest(const struct row *row, struct bitset *done, struct arms *arms)
{
    struct tasks_of t = {0};

    while ((t.first = bitset_next_clear(done, (size_t)t.first)) >= 0) {
        int64_t next = bitset_next(done, (size_t)t.first);

        t.last = next < 0 ? (int64_t)done->size - 1 : next - 1;
        t.offset = t.first;
        put_arm(row->command, &t, arms);
        bitset_set_range(done, (size_t)t.first, (size_t)(t.last - t.first + 1));
        t.first = t.last + 1;
    }
}

static int put_row(const struct row *row, struct bitset *done, struct arms *arms, struct err *err)
{
    const char *p = row->ranks, *end = row->ranks + row->ranks_len;
    uint32_t first, last;
    int64_t offset = 0;
    int code;

    if (row->ranks_len == 1 && *p == '*') {
        put_rest(row, done, arms);
        return 0;
    }
    while ((code = next_range(&p, end, &first, &last)) == 0) {
        int64_t high = last < done->size ? last : (int64_t)done->size - 1;
        int64_t taken = first <= high ? bitset_next(done, first) : -1;

        if (taken >= 0 && taken <= high)
            return err_set(err, -ERR_PARSE, "line %d: task %u has a program already", row->line,
                           (unsigned)taken);
        if (first <= high) {
            put_arm(row->command, &(struct tasks_of){first, high, offset}, arms);
            bitset_set_range(done, first, (size_t)(high - first + 1));
        }
        offset += (int64_t)last - first + 1;
    }
    if (code == -2)
        return err_set(err, -ERR_PARSE, "line %d: \"%.*s\" is not a list of task numbers",
                       row->line, (int)row->ranks_len, row->ranks);
    return 0;
}

/* Reads the next line into 'line', with continuations joined; false at the end. */
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

static int put_rows(const char *text, struct bitset *done, struct arms *arms, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;
    struct row row;
    int code = 0, next = 1;

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
        code = put_row(&row, done, arms, err);
    }
    return code;
}

int multi_format(const char *text, uint32_t tasks, struct str *out, struct err *err)
{
    _cleanup_bitset_ struct bitset *done = bitset_new(tasks);
    struct arms arms = {0};
    int code = put_rows(text, done, &arms, err);
    long without = bitset_next_clear(done, 0);

    if (code == 0 && without >= 0)
        code = err_set(err, -ERR_PARSE, "No executable program specified for task %ld", without);
    if (code == 0) {
        str_puts(out, prelude);
        str_puts(out, "case $SLURM_PROCID in\n");
        str_append(out, str_cstr(&arms.single), arms.single.len);
        str_puts(out, "esac\n");
        str_append(out, str_cstr(&arms.range), arms.range.len);
    }
    str_done(&arms.single);
    str_done(&arms.range);
    if (code == 0 && out->len > MULTI_SCRIPT_MAX)
        code =
            err_set(err, -ERR_LIMIT,
                    "what its tasks run has %zu bytes as a command, and %u are the most; a line "
                    "for many tasks, with %%t and %%o for what differs, takes no more than for one",
                    out->len, MULTI_SCRIPT_MAX);
    return code;
}

size_t multi_argv(const struct str *script, struct arena *arena, char *argv[MULTI_ARGV_MAX])
{
    size_t parts = (script->len + PART_MAX - 1) / PART_MAX, count = 0;
    struct str all = STR_INIT;

    argv[count++] = (char *)"/bin/sh";
    argv[count++] = (char *)"-c";
    if (parts == 1) {
        argv[count++] = arena_strdup(arena, str_cstr(script));
        argv[count++] = (char *)"srun";
        return count;
    }
    str_printf(&all, "eval \"shift %zu\n", parts);
    for (size_t i = 1; i <= parts; i++)
        str_printf(&all, "${%zu}", i);
    str_putc(&all, '"');
    argv[count++] = arena_strdup(arena, str_cstr(&all));
    argv[count++] = (char *)"srun";
    for (size_t i = 0; i < parts; i++) {
        size_t len = i + 1 < parts ? PART_MAX : script->len - i * PART_MAX;
        argv[count++] = arena_printf(arena, "%.*s", (int)len, script->data + i * PART_MAX);
    }
    str_done(&all);
    return count;
}
