/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/strigger/options.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/words.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cluster/trigger.h"
#include "show/job_ids.h"
#include "show/names.h"

#define ARGS_DEF "cmd/strigger/strigger.def"
#include "cli/args_rows.h"

#define BAD 2 /* the exit status 1, plus 1 */

const struct args_table options_table = ARGS_TABLE("strigger", "");

static int set_trigger_number(const char *name, const char *text, uint32_t *number)
{
    long long value;
    if (str_parse_i64(text, 1, UINT32_MAX, &value)) {
        cmd_error("Invalid %s: %s", name, text);
        return BAD;
    }
    *number = (uint32_t)value;
    return 0;
}

static int set_job(struct options *o, const char *text)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    long long task = 0;
    if (job_arg_parse(text, &id, NULL) != 0 || id.has_step_id) {
        cmd_error("Invalid jobid: %s", text);
        return BAD;
    }
    if (id.array_tasks && str_parse_i64(id.array_tasks, 0, UINT32_MAX, &task) != 0) {
        cmd_error("Invalid jobid: %s: name one element of the job array, or all of it: %u", text,
                  id.job_id);
        return BAD;
    }
    o->ask.has_job_id = true;
    o->ask.has_array_task = id.array_tasks != NULL;
    o->ask.array_task = (uint32_t)task;
    JOB_IDS_COPY_NUMBERS(&o->ask, &id);
    return 0;
}

static int set_flags(struct options *o, const char *list)
{
    o->ask.has_flags = true;
    words_foreach (list, w) {
        if (w.len && (w.len != 4 || strncasecmp(w.at, "PERM", w.len) != 0)) {
            cmd_error("Invalid flags %.*s: only PERM is known", (int)w.len, w.at);
            return BAD;
        }
        o->ask.flags |= w.len ? TRIGGER_PERM : 0;
    }
    return 0;
}

static int set_offset(struct options *o, const char *text)
{
    long long value;
    if (str_parse_i64(text, -TRIGGER_OFFSET_MAX, TRIGGER_OFFSET_MAX, &value)) {
        cmd_error("Invalid offset: %s", text);
        return BAD;
    }
    o->ask.has_offset_sec = true;
    o->ask.offset_sec = value;
    return 0;
}

static int set_user(struct options *o, const char *name)
{
    o->has_user = true;
    if (names_find_user(name, &o->user) == 0)
        return 0;
    cmd_error("Invalid user %s", name);
    return BAD;
}

static int set_strigger_option(void *ctx, int id, const char *value)
{
    struct options *o = ctx;
    o->ask.types |= trigger_find_type(rows[id].name);
    switch (id) {
    case ID_set:
        o->set = true;
        break;
    case ID_get:
        o->get = true;
        break;
    case ID_clear:
        o->clear = true;
        break;
    case ID_noheader:
        o->noheader = true;
        break;
    case ID_quiet:
        o->quiet = true;
        break;
    case ID_front_end:
        o->ask.has_flags = true;
        o->ask.flags |= TRIGGER_FRONT_END;
        break;
    case ID_flags:
        return set_flags(o, value);
    case ID_offset:
        return set_offset(o, value);
    case ID_user:
        return set_user(o, value);
    case ID_id:
        o->has_id = true;
        return set_trigger_number("id", value, &o->id);
    case ID_jobid:
        return set_job(o, value);
    case ID_node:
        o->ask.nodes = value && *value ? (char *)value : NULL;
        o->any_node = !o->ask.nodes;
        break;
    case ID_program:
        o->ask.program = (char *)value;
        break;
    default:
        break;
    }
    return 0;
}

static int report_misuse(const char *text)
{
    cmd_error("%s", text);
    return BAD;
}

static int check_set_options(const struct options *o)
{
    struct err err = {0};
    if (o->has_id || o->has_user)
        return report_misuse("--id and --user go with --get and --clear");
    if (!o->ask.types)
        return report_misuse(
            "You must specify a trigger (--down, --up, --reconfig, --time, --fini, "
            "...): --help lists all of them");
    if (!o->ask.program)
        return report_misuse("You must specify a --program value: --program=PATH");
    return trigger_check(&o->ask, &err) == 0 ? 0 : report_misuse(err.text);
}

static int check_options(const struct options *o)
{
    if (o->set + o->get + o->clear != 1)
        return report_misuse(
            "You must use exactly one of the following options: --set, --get or --clear");
    if (o->set)
        return check_set_options(o);
    if (o->ask.program || o->ask.has_offset_sec || o->ask.flags & TRIGGER_PERM)
        return report_misuse("--program, --offset and --flags go with --set");
    if (o->clear && !o->has_id && !o->has_user && !o->ask.has_job_id)
        return report_misuse("You must specify a --id, --jobid, or --user to clear");
    if (o->clear && (o->ask.types || o->ask.nodes || o->ask.flags))
        return report_misuse("--clear goes by --id, --jobid and --user alone");
    return 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
    int first;
    *o = (struct options){0};
    pb__trigger_record__init(&o->ask);
    int status = args_parse(&options_table, argc, argv, set_strigger_option, o, &o->common, &first);
    if (status || args_is_info(&o->common))
        return status;
    if (first < argc) {
        cmd_error("Unrecognized argument: %s", argv[first]);
        return BAD;
    }
    return check_options(o);
}
