/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sdiag: statistics of the controller: jobs, scheduling, requests.
 */
#include "cli/cmd.h"
#include "cmd/sdiag/options.h"
#include "proto/common.pb-c.h"
#include "show/json_out.h"

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
    static struct options o; /* also of an early exit: in use until the process ends */
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
