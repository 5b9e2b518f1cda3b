/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sdiag: statistics of the controller: jobs, scheduling, requests.
 */
#include "cli/args.h"
#include "cli/cmd.h"
#include "proto/common.pb-c.h"
#include "show/json_out.h"
#include "show/show.h"

struct options {
    struct args_common common;
    enum show_diag_order order;
    bool reset, json, yaml;
};

#define ARGS_DEF "cmd/sdiag/sdiag.def"
#include "cli/args_rows.h"

static const struct args_table options_table = ARGS_TABLE("sdiag", "");

static int set_sdiag_option(void *ctx, int id, const char *value)
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

/* Returns 0; or, after a message, the exit status plus 1. */
static int options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){0};
    return args_parse_all(&options_table, argc, argv, set_sdiag_option, o, &o->common);
}

static int reset_counters(struct err *err)
{
    Pb__Empty ask = PB__EMPTY__INIT, *done = NULL;
    return cmd_call(RPC_DIAG_RESET, &ask.base, &done, err);
}

static int print_report(const struct options *o, struct err *err)
{
    Pb__Empty ask = PB__EMPTY__INIT;
    Pb__DiagReply *reply = NULL;
    int r = cmd_call(RPC_DIAG, &ask.base, &reply, err);
    if (r == 0 && (!reply->counters || !reply->stats))
        r = err_set(err, -ERR_PROTOCOL, "%s", err_text(ERR_PROTOCOL));
    if (r)
        return r;
    show_diag_sort(reply, o->order);
    if (o->json || o->yaml)
        json_out_print_all(cmd_source(), json_pack("{s:o}", "statistics", show_diag_json(reply)),
                           o->yaml, cmd_out());
    else
        show_diag_text(reply, cmd_out());
    return 0;
}

int main(int argc, char **argv)
{
    static struct options o; /* static: lives until the process ends, also after an early return */
    struct err err = {0};
    cmd_start("sdiag");
    int status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    int r = o.reset ? reset_counters(&err) : print_report(&o, &err);
    if (r < 0)
        cmd_line("%s: %s", o.reset ? "slurm_reset_statistics" : "slurm_get_statistics", err.text);
    int written = cmd_flush();
    return r < 0 ? 1 : written;
}
