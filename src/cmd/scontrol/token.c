/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol token */
#include <strings.h>

#include "base/str.h"
#include "cli/cmd.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/ctl.pb-c.h"

/* Returns 0, or the exit status after a message. */
static int parse_argument(char *arg, Pb__TokenRequest *r)
{
    long long sec;
    if (!strncasecmp(arg, "username=", 9) && arg[9]) {
        r->user = arg + 9;
    } else if (!strcasecmp(arg, "lifespan=infinite")) {
        r->has_infinite = r->infinite = true;
    } else if (!strncasecmp(arg, "lifespan=", 9) &&
               str_parse_i64(arg + 9, 1, INT64_MAX, &sec) == 0) {
        r->has_lifespan_sec = true;
        r->lifespan_sec = (uint64_t)sec;
    } else {
        cmd_line("invalid token argument '%s': use lifespan=SECONDS, lifespan=infinite or "
                 "username=USER",
                 arg);
        return 1;
    }
    return 0;
}

int run_token(int argc, char **argv)
{
    Pb__TokenRequest request = PB__TOKEN_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    struct err err = {0};
    for (int i = 0; i < argc; i++)
        if (parse_argument(argv[i], &request))
            return 1;
    if (cmd_call(RPC_TOKEN, &request.base, &reply, &err) < 0) {
        cmd_line("slurm_fetch_token error: %s", err.text);
        return 1;
    }
    str_printf(cmd_out(), "SLURM_JWT=%s\n", reply->text);
    return 0;
}
