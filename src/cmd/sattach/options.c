/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sattach/options.h"

#include <string.h>

#include "cli/cmd.h"
#include "cli/job_arg.h"

#define ARGS_DEF "cmd/sattach/sattach.def"
#include "cli/args_rows.h"
#include "cluster/job/job_set_text.h"

const struct args_table options_table = ARGS_TABLE("sattach", "job.step");

static int refused_status(void)
{
    return cmd_exit_error() + 1;
}

static int set_filter(struct options *o, int stream, const char *name, const char *value)
{
    long long task;

    if (str_parse_i64(value, 0, EVERY_TASK - 1, &task) < 0) {
        cmd_error("Invalid numeric value \"%s\" for %s.", value, name);
        return refused_status();
    }
    o->filter[stream] = (uint32_t)task;
    return 0;
}

static int set_sattach_option(void *ctx, int id, const char *value)
{
    struct options *o = ctx;

    switch (id) {
    case ID_as_srun:
        o->as_srun = true;
        cmd_start("srun");
        break;
    case ID_input_filter:
        return set_filter(o, 0, "input-filter", value);
    case ID_output_filter:
        return set_filter(o, 1, "output-filter", value);
    case ID_error_filter:
        return set_filter(o, 2, "error-filter", value);
    case ID_debugger_test:
        o->debugger_test = true;
        break;
    case ID_label:
        o->label = true;
        break;
    case ID_layout:
        o->layout = true;
        break;
    case ID_pty:
        o->pty = true;
        break;
    case ID_quiet:
        o->quiet = true;
        break;
    default:
        break;
    }
    return 0;
}

static int set_id(struct options *o, int count, char **operands)
{

    if (count != 1) {
        cmd_error(count == 0
                      ? "too few parameters: name a job step as JOB.STEP"
                      : "too many parameters: one job step at a time, \"%s\" is one too many",
                  count == 0 ? "" : operands[1]);
        return refused_status();
    }
    o->id_text = operands[0];
    pb__step_id__init(&o->id);
    if (job_arg_parse(o->id_text, &o->id, NULL) < 0 ||
        (o->id.array_tasks && strpbrk(o->id.array_tasks, ",-"))) {
        cmd_error("Failed to parse stepid '%s': it is " JOB_SET_TEXT_STEP_ID, o->id_text);
        return refused_status();
    }
    return 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
    int first, status;

    *o = (struct options){.filter = {EVERY_TASK, EVERY_TASK, EVERY_TASK}};
    status = args_parse(&options_table, argc, argv, set_sattach_option, o, &o->common, &first);
    if (status || args_is_info(&o->common))
        return status;
    if (o->pty && (o->filter[0] & o->filter[1] & o->filter[2]) != EVERY_TASK) {
        cmd_error("don't specify both --pty and I/O filtering: --pty is the terminal of task 0");
        return refused_status();
    }
    return set_id(o, argc - first, argv + first);
}
