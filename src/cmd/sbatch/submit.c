/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sbatch/submit.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd.h"

#define REPEATS_MAX 15

/* The controller was there, and whether it has acted is not known: it may also have seen our
 * request twice, when it was repeated on its way, and refused the second. */
static bool is_lost(int code)
{
    return code == -ERR_CLOSED || code == -ERR_TIMEOUT || code == -ERR_REPLAY;
}

/* A question stands in a line. */
static int call_submit(const Pb__SubmitRequest *request, Pb__SubmitReply **reply, struct err *err)
{
    return request->test_only ? cmd_call_long(RPC_SUBMIT, &request->base, reply, err)
                              : cmd_call(RPC_SUBMIT, &request->base, reply, err);
}

int submit_job(const Pb__SubmitRequest *request, Pb__SubmitReply **reply, struct err *err)
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

int submit_wait(uint32_t job_id)
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
