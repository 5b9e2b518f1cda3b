/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice gang: the rotation of gang scheduling, as scontrol show gang prints it; with -i again and
 * again. */
#include <unistd.h>

#include "base/pb.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "show/gang.h"
#include "show/json_out.h"
#include "show/listing.h"
#include "show/show.h"

static int show_once(const struct sluice_options *o, const char *partition)
{
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__GangReply *reply = NULL;
    struct err err = {0};
    int rc = cmd_call(RPC_GANG_LIST, &request.base, &reply, &err);
    if (rc != 0)
        cmd_error("gang: %s", err.text);
    else if (o->json)
        json_out_print(cmd_source(), "gang", json_pack("[o]", show_gang_json(reply, partition)),
                       false, cmd_out());
    else {
        if (o->iterate_sec)
            listing_print_date(cmd_out());
        bool any = show_gang_text(reply, partition, cmd_out());
        if (!any && partition)
            str_printf(cmd_out(), "No job of partition %s takes part in gang scheduling%s\n",
                       partition, reply->on ? "" : ", which is off: PreemptMode has no GANG");
        else if (!any)
            str_puts(cmd_out(), reply->on ? "No job takes part in gang scheduling\n"
                                          : "Gang scheduling is off: PreemptMode has no GANG\n");
    }
    int status = cmd_flush();
    return rc == 0 ? status : 1;
}

int sluice_gang(const struct sluice_options *o, const char *const *operand)
{
    const char *partition = operand[0];
    sluice_choose(o);
    int status = show_once(o, partition);
    while (o->iterate_sec) {
        sleep(o->iterate_sec);
        str_putc(cmd_out(), '\n');
        status = show_once(o, partition);
    }
    return status;
}
