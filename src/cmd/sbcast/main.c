/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sbcast: copies a file to all nodes of a job. The controller checks the permission and names the
 * nodes. This host sends the file to some of the nodes, which forward it to the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "launch/bcast.h"
#include "loop/loop.h"
#include "proto/step.pb-c.h"
#include "show/job_ids.h"

struct options {
    struct args_common common;
    struct bcast_settings settings;
    bool no_allocation; /* copy to 'nodes', without a job */
    Pb__StepId id;
    const char *source;
    char *dest;        /* absolute */
    const char *nodes; /* nodes of the job; NULL: all */
};

#define ARGS_DEF "cmd/sbcast/sbcast.def"
#include "cli/args_rows.h"

static const struct args_table options_table = ARGS_TABLE("sbcast", "SOURCE DEST");

/* Options are parsed in two rounds: the values that depend on the configuration are set later,
 * since --help must not read it. */
struct given {
    const char *value[sizeof(rows) / sizeof(rows[0])];
    bool has[sizeof(rows) / sizeof(rows[0])];
};

static int set_sbcast_option(void *ctx, int id, const char *value)
{
    struct given *g = ctx;

    g->has[id] = true;
    g->value[id] = value;
    return 0;
}

static void apply_given(struct options *o, const struct given *g)
{
    struct bcast_settings *b = &o->settings;

    if (g->has[ID_compress])
        bcast_set_compress(b, g->value[ID_compress]);
    if (g->has[ID_exclude])
        bcast_set_exclude(b, g->value[ID_exclude]);
    if (g->has[ID_fanout])
        bcast_set_width(b, g->value[ID_fanout]);
    if (g->has[ID_treewidth])
        bcast_set_width(b, g->value[ID_treewidth]);
    if (g->has[ID_send_libs])
        bcast_set_libs(b, g->value[ID_send_libs]);
    if (g->has[ID_size])
        bcast_set_block(b, g->value[ID_size]);
    if (g->has[ID_timeout])
        bcast_set_timeout(b, g->value[ID_timeout]);
    b->force = g->has[ID_force];
    b->preserve = g->has[ID_preserve];
}

static int find_cast_job(struct options *o, const char *given)
{
    const char *text = given ? given : getenv("SLURM_JOB_ID");

    if (!text)
        text = getenv("SLURM_JOBID");
    if (!text) {
        cmd_error("Need a job id to run this command.  Run from within a Slurm job or use the "
                  "--jobid option.");
        return 2;
    }
    pb__step_id__init(&o->id);
    if (job_arg_parse(text, &o->id, NULL)) {
        cmd_error("Invalid job id specified: %s", text);
        return 2;
    }
    return 0;
}

/* --no-allocation ignores the job in which sbcast runs. */
static int find_target(struct options *o, const struct given *g)
{
    o->nodes = g->value[ID_nodelist];
    o->no_allocation = g->has[ID_no_allocation];
    if (!o->no_allocation)
        return find_cast_job(o, g->value[ID_jobid]);
    pb__step_id__init(&o->id);
    if (o->nodes)
        return 0;
    cmd_error("--no-allocation: no nodes are named: use --nodelist");
    return 2;
}

/* "DIR/" is the target directory. */
static char *find_dest(const struct options *o, const char *dest)
{
    const char *base = strrchr(o->source, '/');
    size_t len = strlen(dest);
    _cleanup_free_ char *full = len && dest[len - 1] == '/'
                                    ? mem_printf("%s%s", dest, base ? base + 1 : o->source)
                                    : mem_strdup(dest);

    return path_absolute(full, *full == '/' ? NULL : o->settings.dest_dir);
}

/* Returns 0; or, after a message, the exit status plus 1. */
static int options_parse(struct options *o, int argc, char **argv)
{
    struct given given = {0};
    int first, status;

    *o = (struct options){0};
    status = args_parse(&options_table, argc, argv, set_sbcast_option, &given, &o->common, &first);
    if (status || args_is_info(&o->common))
        return status;
    if (argc - first != 2) {
        fprintf(stderr,
                "Need two file names, have %d names\nTry \"sbcast --help\" for more information\n",
                argc - first);
        return 2;
    }
    bcast_settings_init(&o->settings, cmd_conf());
    apply_given(o, &given);
    status = find_target(o, &given);
    if (status)
        return status;
    o->source = argv[first];
    o->dest = find_dest(o, argv[first + 1]);
    return 0;
}

static void options_done(struct options *o)
{
    bcast_settings_done(&o->settings);
    free(o->dest);
}

#define STATUS_SOURCE 255 /* as in Slurm */

struct run {
    struct loop *loop;
    int status;
};

static void on_sbcast_done(void *ctx, int status)
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
                              .done = on_sbcast_done,
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
    static struct options o; /* static: lives until the process ends, also after an early return */
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
