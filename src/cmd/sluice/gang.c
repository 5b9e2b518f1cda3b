/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice gang: the rotation of gang scheduling, like scontrol show gang; -i repeats it. */
#include <unistd.h>

#include "base/pb.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "rpc/client.h"
#include "show/gang.h"
#include "show/job_ids.h"
#include "show/json_out.h"
#include "show/listing.h"
#include "show/show.h"

static void put_gang_text(const struct sluice_options *o, const Pb__GangReply *reply,
                          const char *partition)
{
    if (o->iterate_sec)
        listing_print_date(cmd_out());
    if (show_gang_text(reply, partition, cmd_out()))
        return;
    show_gang_none(reply, partition, cmd_out());
    str_putc(cmd_out(), '\n');
}

static int show_once(const struct sluice_options *o, const char *partition)
{
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__GangReply *reply = NULL;
    struct err err = {0};
    int rc = cmd_call(RPC_GANG_LIST, &request.base, &reply, &err);
    if (rc == 0 && !show_gang_has_partition(reply, partition))
        rc = err_set(&err, -ERR_NO_PARTITION, "partition %s not found", partition);
    if (rc != 0)
        cmd_error("gang: %s", err.text);
    else if (o->json)
        json_out_print(cmd_source(), "gang", json_pack("[o]", show_gang_json(reply, partition)),
                       false, cmd_out());
    else
        put_gang_text(o, reply, partition);
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

int sluice_put_turn(const Pb__JobRecord *job, struct str *out, struct err *err)
{
    const Pb__JobLive *live = job->live;
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__GangReply *reply = NULL;
    if (live->state != PB__JOB_STATE__SUSPENDED || !live->gang_suspended)
        return 0;
    int rc = cmd_call(RPC_GANG_LIST, &request.base, &reply, err);
    if (rc == 0)
        show_gang_turn(reply, job_ids_set_id(live), out);
    return rc;
}
