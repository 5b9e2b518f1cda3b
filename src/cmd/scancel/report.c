/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/scancel/report.h"

#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "show/job_ids.h"

static void print_error(const Pb__StepId *id, const char *text)
{
    _cleanup_str_ struct str name = STR_INIT;
    job_ids_put_asked(id, &name);
    cmd_error("Kill job error on job %s %s: %s", id->has_step_id ? "step id" : "id",
              str_cstr(&name), text);
}

void report_no_match(void)
{
    cmd_detail(1, "No active jobs match all filters");
}

struct known {
    const struct job_id_list *ids;
    bool *is_known; /* by index of the id */
};

static int on_known_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct known *k = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    (void)err;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (!live || job_state_is_final(live))
            continue;
        for (size_t at = 0; at < k->ids->len; at++)
            k->is_known[at] = k->is_known[at] || job_ids_has_target(&k->ids->data[at], live);
    }
    return 0;
}

int report_unknown_ids(const struct options *o)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_free_ bool *is_known = mem_new_array(bool, o->ids.len);
    struct known known = {&o->ids, is_known};
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct err err = {0};
    int status = 0;
    arena_init(&arena, 0);
    job_ids_filter(o->ids.data, o->ids.len, &filter, &arena);
    if (rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_known_jobs, &known, &err) < 0)
        return 0; /* the request itself will report the same failure */
    for (size_t i = 0; i < o->ids.len; i++) {
        if (is_known[i])
            continue;
        status = 1;
        bool is_explained = job_arg_explain(&o->ids.data[i], &err);
        if (!o->quiet)
            print_error(&o->ids.data[i], is_explained ? err.text : err_text(ERR_NO_JOB));
    }
    return status;
}

static const char *put_name(const Pb__JobSignalReply__Result *r, struct str *out)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    JOB_IDS_COPY(&id, r);
    id.has_step_id = r->has_step_id;
    id.step_id = r->step_id;
    job_ids_put_asked(&id, out);
    return str_cstr(out);
}

static void print_refusal(const struct options *o, const Pb__JobSignalReply__Result *result)
{
    _cleanup_str_ struct str name = STR_INIT;
    const char *what = result->has_step_id ? "step" : "job", *buf = put_name(result, &name);
    if (!o->has_signal)
        cmd_detail(1, "Terminating %s %s", what, buf);
    else
        cmd_detail(1, "Signal %d to %s%s %s", o->signal,
                   result->has_step_id ? ""
                   : o->full           ? "full "
                   : o->batch          ? "batch "
                                       : "",
                   what, buf);
}

/* Whether the job was to be ended and is over: that is not a failure. The record of a job that
 * ended some time ago has been purged, so an unknown job is not a failure either. A component that
 * an existing job does not have is a failure; the reply says more about it. */
static bool is_done(const struct options *o, const Pb__JobSignalReply__Result *r)
{
    bool ends = !o->batch && (!o->has_signal || o->signal == SIGKILL);
    int code = abs(r->code);
    bool is_known = r->text && !str_eq(r->text, err_text(ERR_NO_JOB));
    return ends && !r->has_step_id && (code == ERR_JOB_DONE || (code == ERR_NO_JOB && !is_known));
}

/* Reports the nodes that the signal did not reach. */
static int tell_unreached(const struct options *o, const Pb__JobSignalReply__Result *r)
{
    _cleanup_str_ struct str name = STR_INIT;
    if (!r->unreached)
        return 0;
    cmd_error("Signal %d of %s %s did not reach %s: away from the controller, and it is not kept "
              "for them%s",
              o->signal, r->has_step_id ? "step" : "job", put_name(r, &name), r->unreached,
              r->code ? "" : "; the other nodes have it");
    return 1;
}

int report_results(const struct options *o, const Pb__JobSignalReply *reply)
{
    int status = 0;
    if (!reply->n_results)
        report_no_match();
    for (size_t i = 0; i < reply->n_results; i++) {
        const Pb__JobSignalReply__Result *r = reply->results[i];
        int code = r->code < 0 ? -r->code : r->code;
        print_refusal(o, r);
        status |= tell_unreached(o, r);
        if (code == 0)
            continue;
        if (!is_done(o, r))
            status = 1;
        else if (code == ERR_JOB_DONE && !o->common.verbose)
            continue;
        if (o->quiet && (code == ERR_JOB_DONE || code == ERR_NO_JOB || code == ERR_NO_STEP))
            continue;
        _cleanup_str_ struct str name = STR_INIT;
        cmd_error("Kill job error on job %s %s: %s", r->has_step_id ? "step id" : "id",
                  put_name(r, &name), r->text ? r->text : err_text(code));
    }
    return status;
}

int report_failure(const Pb__StepId *ids, size_t count, const struct err *err)
{
    for (size_t i = 0; i < count; i++)
        print_error(&ids[i], err->text);
    if (!count)
        cmd_error("%s", err->text);
    return 1;
}
