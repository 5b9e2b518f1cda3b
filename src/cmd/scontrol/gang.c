/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol show gang": the rotation of gang scheduling. */
#include "show/gang.h"

#include "base/pb.h"
#include "cli/cmd.h"
#include "cmd/scontrol/scontrol.h"
#include "show/json_out.h"

static void put_gang_text(const Pb__GangReply *reply, const char *partition)
{
    _cleanup_str_ struct str none = STR_INIT;
    if (show_gang_text(reply, partition, cmd_out()))
        return;
    show_gang_none(reply, partition, &none);
    if (partition)
        cmd_line("%s", str_cstr(&none));
    else if (!scontrol.quiet)
        str_printf(cmd_out(), "%s\n", str_cstr(&none));
}

int show_gang(const char *partition)
{
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__GangReply *reply = NULL;
    struct err err = {0};
    if (cmd_call(RPC_GANG_LIST, &request.base, &reply, &err) < 0) {
        cmd_line("slurm_load_gang error: %s", err.text);
        return 1;
    }
    if (!show_gang_has_partition(reply, partition))
        return show_say_not_found("Partition", partition);
    if (scontrol.json || scontrol.yaml)
        json_out_print(cmd_source(), "gang", json_pack("[o]", show_gang_json(reply, partition)),
                       scontrol.yaml, cmd_out());
    else
        put_gang_text(reply, partition);
    return 0;
}
