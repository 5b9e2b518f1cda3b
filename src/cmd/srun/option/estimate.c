/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/estimate.h"

#include <unistd.h>

#include "base/arena.h"
#include "cmd/srun/option/say.h"
#include "rpc/client.h"
#include "show/show.h"

#define REPEATS_MAX 15

/* It is answered in its turn. A controller that goes takes the question with it. */
static int ask_controller(const struct conf *conf, const struct Pb__SubmitRequest *request,
                          struct arena *arena, struct Pb__SubmitReply **reply, struct err *err)
{
    struct rpc_client *client = rpc_client_new(conf);
    int code = rpc_call(client, RPC_SUBMIT, &request->base, RPC_WAIT_FOREVER, arena, reply, err);
    for (int i = 0; i < REPEATS_MAX && (code == -ERR_CLOSED || (i && code == -ERR_CONNECT)); i++) {
        say_info("Slurm controller not responding, sleeping and retrying.");
        sleep(1);
        code = rpc_call(client, RPC_SUBMIT, &request->base, RPC_WAIT_FOREVER, arena, reply, err);
    }
    rpc_client_free(client);
    return code;
}

int estimate_tell(const struct conf *conf, struct Pb__JobSpec *spec,
                  struct Pb__JobSpec **components, size_t count)
{
    struct Pb__SubmitRequest request = PB__SUBMIT_REQUEST__INIT;
    struct Pb__SubmitReply *reply;
    struct arena arena;
    struct err err = {0};
    int code;

    request.spec = spec;
    request.components = components;
    request.n_components = count;
    request.has_test_only = 1;
    request.test_only = 1;
    arena_init(&arena, 0);
    code = ask_controller(conf, &request, &arena, &reply, &err);
    if (code < 0)
        say_error("allocation failure: %s", err.text);
    else if (reply->message)
        say_info("%s", reply->message);
    if (code == 0)
        show_start_text(reply, "(null)", say_info);
    arena_done(&arena);
    return code < 0 ? 1 : 0;
}
