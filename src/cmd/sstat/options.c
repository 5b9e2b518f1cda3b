/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sstat/options.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/words.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "show/job_ids.h"

#define ARGS_DEF "cmd/sstat/sstat.def"
#include "cli/args_rows.h"

const struct args_table options_table = ARGS_TABLE("sstat", "[job[.step]...]");

static void add_id(struct options *o, const Pb__StepId *id)
{
    vec_foreach (&o->ids, known)
        if (job_ids_are_equal(known, id))
            return;
    vec_push(&o->ids, *id);
}

static int add_ids(struct options *o, const char *list)
{
    words_foreach (list, w) {
        _cleanup_free_ char *word = word_dup(w);
        struct job_id_list ids = {0};
        bool bad = w.len && job_arg_parse_list(word, &ids, NULL) < 0;

        vec_foreach (&ids, id)
            add_id(o, id);
        vec_done(&ids);
        if (bad) {
            cmd_error("Bad job/step specified: %s", word);
            return 2;
        }
    }
    return 0;
}

static int add_fields(struct options *o, const char *list)
{
    struct err err = {0};

    if (usage_columns_add(&o->fields, list, &err) == 0)
        return 0;
    cmd_error("%s", err.text);
    return 2;
}

static int set_sstat_option(void *ctx, int id, const char *value)
{
    struct options *o = ctx;

    switch (id) {
    case ID_allsteps:
        o->all_steps = true;
        break;
    case ID_format:
    case ID_fields:
        return add_fields(o, value);
    case ID_helpformat:
        o->help_format = true;
        break;
    case ID_jobs:
        return add_ids(o, value);
    case ID_noconvert:
        o->no_convert = true;
        break;
    case ID_noheader:
        o->no_header = true;
        break;
    case ID_parsable:
        o->fields.divided = o->fields.closed = true;
        break;
    case ID_parsable2:
        o->fields.divided = true;
        o->fields.closed = false;
        break;
    case ID_pidformat:
        o->pids = true;
        return add_fields(o, USAGE_COLUMNS_PIDS);
    default:
        break;
    }
    return 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
    int first, status;

    *o = (struct options){0};
    status = args_parse(&options_table, argc, argv, set_sstat_option, o, &o->common, &first);
    for (int i = first; status == 0 && i < argc; i++)
        status = add_ids(o, argv[i]);
    if (status || args_is_info(&o->common) || o->help_format)
        return status;
    if (!o->ids.len) {
        cmd_error("You didn't give me any jobs to stat.");
        return 2;
    }
    return o->fields.columns.len ? 0 : add_fields(o, USAGE_COLUMNS_DEFAULT);
}

void options_done(struct options *o)
{
    usage_columns_done(&o->fields);
    vec_done(&o->ids);
}
