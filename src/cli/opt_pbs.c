/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "#PBS" lines: the options of qsub that mean the same as one of ours.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/opt_priv.h"

#define PREFIX "#PBS"
#define NO_ARGUMENT "hVzIX" /* letters of qsub that stand alone; all others have an argument */

static void note(struct opt *o, const char *letter, const char *arg)
{
    str_printf(&o->notes, "warning: #PBS %s%s%s has no effect (%s, line %d)\n", letter,
               arg ? " " : "", arg ? arg : "", o->script, o->line);
}

/* Unless a line of ours, or an earlier one of these, has set it. */
static int set(struct opt *o, enum opt_id id, const char *arg, struct err *err)
{
    return opt_given(o, id) ? 0 : opt_set(o, &opt_rows[id], arg, err);
}

/* "4gb" as "4g"; a number alone, or with "b", counts bytes. */
static int set_memory(struct opt *o, enum opt_id id, const char *arg, struct err *err)
{
    size_t digits = strspn(arg, "0123456789"), len = strlen(arg);
    bool byte = len > digits && tolower((unsigned char)arg[len - 1]) == 'b';
    _cleanup_free_ char *size = NULL;
    if (digits && digits < 19 && digits + byte == len)
        size = mem_printf("%lluK", (strtoull(arg, NULL, 10) + 1023) / 1024);
    else
        size = mem_strndup(arg, len - byte);
    return set(o, id, size, err);
}

/* "[[HOURS:]MINUTES:]SECONDS" */
static int set_walltime(struct opt *o, const char *arg, struct err *err)
{
    bool seconds = *arg && !arg[strspn(arg, "0123456789")];
    _cleanup_free_ char *limit = mem_printf("%s%s", seconds ? "0:" : "", arg);
    return set(o, OPT_ID_time, limit, err);
}

/* One resource of "-l", NAME=VALUE. */
static int set_resource(struct opt *o, const char *name, const char *value, struct err *err)
{
    static const struct {
        const char *name;
        enum opt_id id;
    } known[] = {
        {"nodes", OPT_ID_nodes},         {"select", OPT_ID_nodes},
        {"ppn", OPT_ID_ntasks_per_node}, {"mpiprocs", OPT_ID_ntasks_per_node},
        {"procs", OPT_ID_ntasks},        {"ncpus", OPT_ID_mincpus},
    };
    if (str_eq(name, "walltime"))
        return set_walltime(o, value, err);
    if (str_eq(name, "mem"))
        return set_memory(o, OPT_ID_mem, value, err);
    if (str_eq(name, "pmem"))
        return set_memory(o, OPT_ID_mem_per_cpu, value, err);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_eq(name, known[i].name))
            return set(o, known[i].id, value, err);
    _cleanup_free_ char *whole = mem_printf("%s=%s", name, value);
    note(o, "-l", whole);
    return 0;
}

/* "nodes=2:ppn=4,walltime=1:00:00": commas between, and colons where a resource of its own name
 * follows; those of a time stay. */
static int set_resources(struct opt *o, const char *list, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(list);
    int r = 0;
    for (char *item = copy, *next; item && *item && r == 0; item = next) {
        char *value = item + strcspn(item, "=");
        next = value + strcspn(value, ",:");
        while (*next == ':' && isdigit((unsigned char)next[1]))
            next += 1 + strcspn(next + 1, ",:");
        next = *next ? (*next = 0, next + 1) : NULL;
        if (!*value) {
            note(o, "-l", item);
            continue;
        }
        *value++ = 0;
        r = set_resource(o, item, value, err);
    }
    return r;
}

/* "abe" */
static int set_mail(struct opt *o, const char *letters, struct err *err)
{
    _cleanup_str_ struct str types = STR_INIT;
    for (const char *c = letters; *c; c++) {
        const char *type = *c == 'a' ? "FAIL" : *c == 'b' ? "BEGIN" : *c == 'e' ? "END" : NULL;
        if (type)
            str_printf(&types, "%s%s", types.len ? "," : "", type);
    }
    return set(o, OPT_ID_mail_type, types.len ? str_cstr(&types) : "NONE", err);
}

/* "host:path" is the path. */
static const char *path_of(const char *arg)
{
    const char *colon = strchr(arg, ':');
    return colon ? colon + 1 : arg;
}

/* "attribute=value" of -W. */
static int set_attribute(struct opt *o, const char *arg, struct err *err)
{
    if (str_starts(arg, "depend="))
        return set(o, OPT_ID_dependency, arg + strlen("depend="), err);
    note(o, "-W", arg);
    return 0;
}

static int set_queue(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_free_ char *name = mem_strndup(arg, strcspn(arg, "@"));
    return *name ? set(o, OPT_ID_partition, name, err) : 0;
}

static int set_variables(struct opt *o, const char *list, struct err *err)
{
    _cleanup_free_ char *all = mem_printf("ALL,%s", list);
    return set(o, OPT_ID_export, all, err);
}

static int apply(struct opt *o, char letter, const char *arg, struct err *err)
{
    const char word[] = {'-', letter, 0};
    switch (letter) {
    case 'A':
        return set(o, OPT_ID_account, arg, err);
    case 'N':
        return set(o, OPT_ID_job_name, arg, err);
    case 'q':
        return set_queue(o, arg, err);
    case 'o':
        return set(o, OPT_ID_std_out, path_of(arg), err);
    case 'e':
        return set(o, OPT_ID_std_err, path_of(arg), err);
    case 'l':
        return set_resources(o, arg, err);
    case 'm':
        return set_mail(o, arg, err);
    case 'M':
        return set(o, OPT_ID_mail_user, arg, err);
    case 'r':
        return set(o, *arg == 'n' ? OPT_ID_no_requeue : OPT_ID_requeue, NULL, err);
    case 'h':
        return set(o, OPT_ID_hold, NULL, err);
    case 'J':
    case 't':
        return set(o, OPT_ID_array, arg, err);
    case 'd':
    case 'w':
        return set(o, OPT_ID_chdir, arg, err);
    case 'v':
        return set_variables(o, arg, err);
    case 'j': /* one file for both is what a job has anyway */
        if (!str_eq(arg, "oe"))
            note(o, word, arg);
        return 0;
    case 'W':
        return set_attribute(o, arg, err);
    case 'V': /* all variables come along anyway */
        return 0;
    default:
        note(o, word, arg);
        return 0;
    }
}

static int apply_words(struct opt *o, int argc, char *const *argv, struct err *err)
{
    int r = 0;
    for (int i = 0; i < argc && r == 0; i++) {
        const char *word = argv[i], *arg = NULL;
        if (word[0] != '-' || !isalpha((unsigned char)word[1]))
            return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                            "Invalid #PBS directive found in batch script: %s", word);
        if (!strchr(NO_ARGUMENT, word[1]))
            arg = word[2] ? word + 2 : i + 1 < argc ? argv[++i] : NULL;
        if (!arg && !strchr(NO_ARGUMENT, word[1]))
            return opt_fail(o, OPT_FAIL_ERROR, 255, err, "#PBS -%c needs an argument", word[1]);
        r = apply(o, word[1], arg, err);
    }
    return r;
}

int opt_apply_pbs(struct opt *o, const char *name, const void *script, size_t len, struct err *err)
{
    const struct opt_text text = {name, script, len};
    return opt_each_directive(o, &text, PREFIX, apply_words, err);
}
