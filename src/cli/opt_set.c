/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets one option: values by type, and notes about options without effect. Options with a function
 * of their own are in opt_set_job.c and opt_set_step.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "cli/opt_priv.h"

#define VERBOSE_MAX 100

int opt_bad_spec(struct opt *o, const char *name, const char *arg, struct err *err)
{
    return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err, "Invalid --%s specification: %s",
                    name, arg);
}

int opt_bad_value(struct opt *o, const char *name, const char *arg, const char *good,
                  struct err *err)
{
    return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                    "Invalid --%s specification: %s (%s)", name, arg, good);
}

int opt_bad_number(struct opt *o, const char *name, const char *arg, struct err *err)
{
    return opt_fail(o, OPT_FAIL_ERROR, 1, err, "Invalid numeric value \"%s\" for %s.", arg, name);
}

int opt_read_switch(struct opt *o, const char *name, const char *arg, bool *out, struct err *err)
{
    if (!str_eq(arg, "0") && !str_eq(arg, "1"))
        return opt_bad_value(o, name, arg, "0 or 1", err);
    *out = *arg == '1';
    return 0;
}

void opt_set_string(char **member, const char *value)
{
    free(*member);
    *member = mem_strdup(value);
}

static int set_number(struct opt *o, const struct opt_row *row, long long min, const char *arg,
                      uint32_t *out, struct err *err)
{
    long long n;
    if (str_parse_i64(arg, min, INT32_MAX, &n) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "Invalid numeric value \"%s\" for --%s.", arg,
                        row->name);
    *out = (uint32_t)n;
    return 0;
}

/* Writes one note per option; a note about an environment variable names the variable. */
void opt_note(struct opt *o, enum opt_id id, const char *fmt, ...)
{
    if (o->noted[id])
        return;
    o->noted[id] = 1;
    str_puts(&o->notes, "warning: ");
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&o->notes, fmt, ap);
    va_end(ap);
    if (o->variable)
        str_printf(&o->notes, " (from %.*s)", (int)strcspn(o->variable, " "), o->variable);
    str_putc(&o->notes, '\n');
}

/* A value that requests nothing needs no note. */
static void note_ignored(struct opt *o, const struct opt_row *row, const char *arg)
{
    const char *instead = strchr(row->help, ';');

    if (!arg || !str_case_eq(arg, "none"))
        opt_note(o, row->id, "option --%s is accepted and has no effect%s%s", row->name,
                 instead ? ":" : "", instead ? instead + 1 : "");
}

static int refuse_option(struct opt *o, const struct opt_row *row, struct err *err)
{
    const char *instead = strchr(row->help, ';');

    return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                    "option --%s is not available in this version%s%s; run again without it",
                    row->name,
                    row->type == OPT_T_PLANNED ? ", a later one is to have it"
                    : instead                  ? ":"
                                               : "",
                    row->type != OPT_T_PLANNED && instead ? instead + 1 : "");
}

int opt_read_size(struct opt *o, const char *name, const char *arg, uint64_t *mib, struct err *err)
{
    int rc = size_parse_mib(arg, mib, NULL);
    if (rc == -ERR_RANGE)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --%s specification: %s: no node has more than %lluT", name, arg,
                        (unsigned long long)(SIZE_MIB_MAX >> 20));
    return rc < 0 ? opt_bad_spec(o, name, arg, err) : 0;
}

static int set_limit(struct opt *o, const struct opt_row *row, const char *arg, int64_t *sec,
                     struct err *err)
{
    struct err why = {0};
    int rc = time_parse_limit(arg, sec, &why);
    if (rc == -ERR_RANGE)
        return opt_bad_value(o, row->name, arg, why.text, err);
    if (rc < 0)
        return opt_bad_value(o, row->name, arg, "use minutes, MM:SS, HH:MM:SS or D-HH[:MM[:SS]]",
                             err);
    if (*sec == 0)
        *sec = TIME_UNLIMITED;
    return 0;
}

static int set_member(struct opt *o, const struct opt_row *row, const char *arg, struct err *err)
{
    void *member = (char *)o + row->offset;
    switch (row->type) {
    case OPT_T_FLAG:
        *(bool *)member = true;
        return 0;
    case OPT_T_TRUE:
        *(protobuf_c_boolean *)member = true;
        return 0;
    case OPT_T_COUNT:
        return set_number(o, row, 1, arg, member, err);
    case OPT_T_NUMBER:
        return set_number(o, row, 0, arg, member, err);
    case OPT_T_STRING:
        opt_set_string(member, arg ? arg : "");
        return 0;
    case OPT_T_MEMORY:
        return opt_read_size(o, row->name, arg, member, err);
    case OPT_T_LIMIT:
        return set_limit(o, row, arg, member, err);
    case OPT_T_CALL:
        return row->call(o, arg, err);
    case OPT_T_IGNORED:
        note_ignored(o, row, arg);
        return 0;
    case OPT_T_EXTRA: /* handled elsewhere */
        return 0;
    case OPT_T_PLANNED:
    case OPT_T_REFUSED: /* an empty value requests nothing */
        return row->argument == OPT_ARG_REQ && !*arg ? 0 : refuse_option(o, row, err);
    }
    return 0;
}

int opt_set(struct opt *o, const struct opt_row *row, const char *arg, struct err *err)
{
    if (row->type == OPT_T_EXTRA) {
        if (o->extras->set && !o->is_reread)
            o->extras->set(o->extras->ctx, o->component, row->offset, arg);
        return 0;
    }
    if (o->decided[row->id])
        return 0;
    int r = set_member(o, row, arg, err);
    if (r < 0)
        return r;
    o->from[row->id] = (uint8_t)o->source;
    free(o->given[row->id]);
    o->given[row->id] = arg ? mem_strdup(arg) : NULL;
    if (o->propagated && (row->commands & OPT_PROPAGATED))
        vec_push(&o->propagated->list, ((struct opt_inherited){row, arg ? mem_strdup(arg) : NULL}));
    if (row->commands & OPT_INERT)
        note_ignored(o, row, arg);
    return 0;
}

/* The variable has a level, to which each -v adds one. */
int opt_set_verbose(struct opt *o, const char *arg, struct err *err)
{
    long long level;

    if (o->source != OPT_FROM_ENV) {
        o->verbose++;
        return 0;
    }
    if (str_parse_i64(arg, 0, VERBOSE_MAX, &level) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "Invalid numeric value \"%s\" for --verbose.",
                        arg);
    o->verbose = (unsigned)level;
    return 0;
}
