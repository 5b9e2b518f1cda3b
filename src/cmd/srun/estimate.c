/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/estimate.h"

#include "base/arena.h"
#include "base/timefmt.h"
#include "cmd/srun/say.h"
#include "rpc/client.h"

int estimate_tell(const struct conf *conf, struct Pb__JobSpec *spec)
{
    struct Pb__SubmitRequest request = PB__SUBMIT_REQUEST__INIT;
    struct Pb__SubmitReply *reply;
    struct rpc_client *client = rpc_client_new(conf);
    char when[TIME_TEXT_MAX];
    struct arena arena;
    struct err err = {0};
    int code;

    request.spec = spec;
    request.has_test_only = 1;
    request.test_only = 1;
    arena_init(&arena, 0);
    code = rpc_call(client, RPC_SUBMIT, &request.base, 0, &arena, &reply, &err);
    if (code < 0)
        say_error("allocation failure: %s", err.text);
    else
        say_info("Job %u to start at %s using %u processors on nodes %s in partition %s",
                 reply->job_id, time_format_date(reply->start_at, "N/A", when), reply->num_cpus,
                 reply->nodes != NULL ? reply->nodes : "(null)",
                 reply->partition != NULL ? reply->partition : "(null)");
    arena_done(&arena);
    rpc_client_free(client);
    return code < 0 ? 1 : 0;
}
