/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scancel: ends or signals jobs and steps.
 */
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/node_names.h"
#include "cmd/scancel/choose.h"
#include "cmd/scancel/options.h"
#include "cmd/scancel/report.h"

#define TARGETS_AT_ONCE 4096 /* maximum number of targets of a request */

static int send_request(const struct options *o, Pb__JobSignal *request, const Pb__StepId *ids,
                        size_t count)
{
    Pb__JobSignalReply *reply = NULL;
    struct err err = {0};
    if (cmd_call(RPC_JOB_SIGNAL, &request->base, &reply, &err) < 0)
        return report_failure(ids, count, &err);
    return report_results(o, reply);
}

/* Sends any number of targets, in requests of the maximum size. */
static int send_targets(const struct options *o, Pb__JobSignal *request)
{
    size_t count = o->ids.len;
    int status = 0;
    _cleanup_free_ Pb__StepId **targets = mem_new_array(Pb__StepId *, count);
    for (size_t i = 0; i < count; i++)
        targets[i] = &o->ids.data[i];
    for (size_t i = 0; i < count; i += TARGETS_AT_ONCE) {
        request->target = targets + i;
        request->n_target = count - i < TARGETS_AT_ONCE ? count - i : TARGETS_AT_ONCE;
        if (send_request(o, request, &o->ids.data[i], request->n_target))
            status = 1;
    }
    return status;
}

static int cancel_known_jobs(struct options *o)
{
    _cleanup_(choose_filter_done) struct choose_filter f;
    Pb__JobSignal request = PB__JOB_SIGNAL__INIT;
    struct err err = {0};
    bool by_filter = options_has_filter(o);
    choose_filter_init(o, &f);
    if (o->nodes && node_names_check(o->nodes, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    if (options_needs_list(o)) {
        if (choose_targets(o, &f, &err) < 0)
            return report_failure(o->ids.data, o->ids.len, &err);
        if (!o->ids.len) {
            report_no_match();
            return 0;
        }
        by_filter = false;
    }
    request.has_signal = o->has_signal;
    request.signal = o->signal;
    request.has_batch_only = request.batch_only = o->batch && !o->full;
    request.has_full = request.full = o->full;
    request.has_hurry = request.hurry = o->hurry;
    if (!by_filter)
        return send_targets(o, &request);
    request.filter = &f.message;
    return send_request(o, &request, o->ids.data, o->ids.len);
}

static int cancel_jobs(struct options *o)
{
    bool chooses = options_has_filter(o) || o->interactive;
    int status = chooses && o->ids.len ? report_unknown_ids(o) : 0;
    return cancel_known_jobs(o) || status;
}

int main(int argc, char **argv)
{
    static struct options o; /* static: lives until the process ends, also after an early return */
    cmd_start("scancel");
    int status = options_parse(&o, argc, argv);
    if (status == 0 && !args_is_info(&o.common) && !o.ids.len && !options_has_filter(&o))
        status = choose_ids(&o);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    status = cancel_jobs(&o);
    options_done(&o);
    return status;
}
