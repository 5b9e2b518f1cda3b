/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sdiag/options.h"

#include "cli/cmd.h"

#define ARGS_DEF "cmd/sdiag/sdiag.def"
#include "cli/args_rows.h"

const struct args_table options_table = ARGS_TABLE("sdiag", "");

static int set_option(void *ctx, int id, const char *value)
{
    struct options *o = ctx;
    switch (id) {
    case ID_all:
        o->reset = false;
        break;
    case ID_reset:
        o->reset = true;
        break;
    case ID_json:
        o->json = true;
        break;
    case ID_yaml:
        o->yaml = true;
        break;
    case ID_sort_by_id:
        o->order = SHOW_DIAG_BY_NUMBER;
        break;
    case ID_sort_by_time:
        o->order = SHOW_DIAG_BY_TOTAL;
        break;
    case ID_sort_by_time2:
        o->order = SHOW_DIAG_BY_AVERAGE;
        break;
    default:
        break;
    }
    return 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
    int first;
    *o = (struct options){0};
    int status = args_parse(&options_table, argc, argv, set_option, o, &o->common, &first);
    if (status == 0 && first < argc) {
        cmd_error("Unrecognized option: %s", argv[first]);
        status = 2;
    }
    return status;
}
