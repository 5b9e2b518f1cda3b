/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sbatch/submit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "launch/filter_plugin.h"
#include "show/show.h"

#define REPEATS_MAX 15

/* Whether the request may have been executed without a reply. The controller may also have received
 * a repeated request twice and rejected the second one. */
static bool is_lost(int code)
{
    return code == -ERR_CLOSED || code == -ERR_TIMEOUT || code == -ERR_REPLAY;
}

/* The reply to --test-only may take longer: the controller answers in its queue. */
static int call_submit(const Pb__SubmitRequest *request, Pb__SubmitReply **reply, struct err *err)
{
    return request->test_only ? cmd_call_long(RPC_SUBMIT, &request->base, reply, err)
                              : cmd_call(RPC_SUBMIT, &request->base, reply, err);
}

/* Submits the job. If the reply is lost, the request is repeated: by the request id the controller
 * recognises the job. */
static int submit_job(const Pb__SubmitRequest *request, Pb__SubmitReply **reply, struct err *err)
{
    int r = call_submit(request, reply, err);
    bool again = is_lost(r);
    for (int i = 0; again && i < REPEATS_MAX; i++) {
        cmd_say("Slurm controller not responding, sleeping and retrying.");
        sleep(1);
        r = call_submit(request, reply, err);
        again = is_lost(r) || r == -ERR_CONNECT;
    }
    return r;
}

/* Waits for the job's end, across restarts of the controller. Returns the exit status: that of the
 * job, or 1 if a signal, a limit or a user ended it. */
static int submit_wait(uint32_t job_id)
{
    Pb__JobIdRequest request = PB__JOB_ID_REQUEST__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    request.job_id = job_id;
    for (;;) {
        Pb__JobEnd *end = NULL;
        struct err err = {0};
        int r = rpc_call(cmd_client(), RPC_JOB_WAIT_END, &request.base, RPC_WAIT_FOREVER, &arena,
                         &end, &err);
        if (r == 0 && end->detail)
            cmd_error("job %u could not be started: %s", job_id, end->detail);
        if (r == 0) {
            int status = end->has_exit_status ? end->exit_status : -1;
            if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status))
                return WEXITSTATUS(status);
            return end->state == PB__JOB_STATE__COMPLETED ? 0 : 1;
        }
        if (!is_lost(r) && r != -ERR_CONNECT && r != -ERR_SHUTDOWN && r != -ERR_STANDBY) {
            cmd_error("Unable to wait for job %u: %s", job_id, err.text);
            return cmd_exit_error();
        }
        cmd_detail(1, "%s; waiting for the controller", err.text);
        sleep(1);
    }
}

int submit_script(struct setup *s)
{
    Pb__SubmitRequest request = PB__SUBMIT_REQUEST__INIT;
    Pb__SubmitReply *reply = NULL;
    struct err err = {0};
    request.spec = &s->spec;
    request.payload = &s->payload;
    request.components = s->components;
    request.n_components = s->component_count;
    request.has_test_only = request.test_only = s->opt->test_only;
    if (submit_job(&request, &reply, &err) < 0) {
        if (s->opt->test_only)
            cmd_line("allocation failure: %s", err.text);
        else
            cmd_error("Batch job submission failed: %s", err.text);
        return cmd_exit_error();
    }
    if (reply->message)
        cmd_say("%s", reply->message);
    for (size_t i = 0; !s->opt->test_only && i <= s->component_count; i++)
        filter_submitted(s->filter, i, reply->job_id, FILTER_NO_STEP);
    if (s->opt->test_only) {
        show_start_text(reply, s->opt->partition ? s->opt->partition : "(default)", cmd_say);
        return 0;
    }
    if (s->opt->parsable)
        str_printf(cmd_out(), s->opt->clusters ? "%u;%s\n" : "%u\n", reply->job_id,
                   cmd_conf()->cluster_name);
    else if (!s->opt->quiet)
        str_printf(cmd_out(),
                   s->opt->clusters ? "Submitted batch job %u on cluster %s\n"
                                    : "Submitted batch job %u\n",
                   reply->job_id, cmd_conf()->cluster_name);
    int status = cmd_flush();
    if (s->opt->wait_end)
        return submit_wait(reply->job_id);
    return status;
}
