/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sbcast: a file to all nodes of a job. The controller says that we may, and who the nodes are; the
 * file goes from here to some of them, and from there to the others.
 */
#include "base/mem.h"
#include "cli/cmd.h"
#include "cmd/sbcast/options.h"
#include "loop/loop.h"
#include "show/job_ids.h"

#define STATUS_SOURCE 255 /* as Slurm's */

struct run {
    struct loop *loop;
    int status;
};

static void on_done(void *ctx, int status)
{
    struct run *run = ctx;

    run->status = status;
    loop_stop(run->loop);
}

static void print_settings(const struct options *o)
{
    const struct bcast_settings *b = &o->settings;
    _cleanup_str_ struct str job = STR_INIT;

    job_ids_put_asked(&o->id, &job);

    cmd_detail(1, "-----------------------------");
    cmd_detail(1, "block_size = %u", b->block);
    cmd_detail(1, "compress   = %d", b->pack);
    cmd_detail(1, "exclude    = %s", b->exclude ? b->exclude : "none");
    cmd_detail(1, "force      = %s", b->force ? "true" : "false");
    cmd_detail(1, "fanout     = %u", b->width);
    cmd_detail(1, "jobid      = %s", str_cstr(&job));
    cmd_detail(1, "preserve   = %s", b->preserve ? "true" : "false");
    cmd_detail(1, "send_libs  = %s", b->send_libs ? "true" : "false");
    cmd_detail(1, "timeout    = %d", (int)(b->timeout_ms / 1000));
    cmd_detail(1, "verbose    = %u", o->common.verbose);
    cmd_detail(1, "source     = %s", o->source);
    cmd_detail(1, "dest       = %s", o->dest);
    cmd_detail(1, "-----------------------------");
}

static int send_all(const struct options *o)
{
    struct run run = {.loop = loop_new(0)};
    struct bcast_request r = {.loop = run.loop,
                              .conf = cmd_conf(),
                              .settings = &o->settings,
                              .id = o->no_allocation ? NULL : &o->id,
                              .or_component = true,
                              .source = o->source,
                              .dest = o->dest,
                              .nodes = o->nodes,
                              .done = on_done,
                              .ctx = &run};
    struct bcast *b = bcast_start(&r);

    if (b)
        loop_run(run.loop);
    else
        run.status = STATUS_SOURCE;
    bcast_free(b);
    loop_free(run.loop);
    return run.status;
}

int main(int argc, char **argv)
{
    static struct options o; /* also of an early exit: in use until the process ends */
    int status;

    cmd_start("sbcast");
    status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status)) {
        options_done(&o);
        return status;
    }
    print_settings(&o);
    status = send_all(&o);
    options_done(&o);
    return status;
}
