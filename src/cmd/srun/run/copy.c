/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/copy.h"

#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "cmd/srun/option/program.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "launch/bcast.h"

struct copy {
    struct run *run;
    struct bcast *bcast;
    Pb__StepId id;
    char *source, *dest;
};

/* A directory gets a name for each node: it may be one for all of them. */
static char *find_dest(struct run *run)
{
    const struct run_options *o = run->options;
    const char *base = o->bcast->dest_dir != NULL ? o->bcast->dest_dir : o->work_dir;
    _cleanup_free_ char *dest = path_absolute(*o->bcast_dest ? o->bcast_dest : base, base);
    size_t len = strlen(o->bcast_dest);

    run->program_per_node = len == 0 || o->bcast_dest[len - 1] == '/';
    return run->program_per_node
               ? mem_printf("%s/slurm_bcast_%s", dest, STEP_ID_TEXT(run->job_id, run->step_id))
               : take_ptr(dest);
}

/* Tasks run the copy, by its name. */
static void set_program(struct run *run, const char *dest)
{
    char **argv = arena_alloc(&run->arena, ((size_t)run->argc + 1) * sizeof(char *));

    for (int i = 0; i < run->argc; i++)
        argv[i] = run->argv[i];
    argv[0] = arena_strdup(&run->arena, dest);
    run->argv = argv;
}

static void on_done(void *ctx, int status)
{
    struct copy *c = ctx;
    struct run *run = c->run;

    if (status == 0) {
        set_program(run, c->dest);
        run->program_libs = bcast_has_libs(c->bcast);
    }
    run_on_copied(run, status == 0); /* c is gone */
}

struct copy *copy_start(struct run *run)
{
    struct copy *c = mem_new(struct copy);
    struct bcast_request r = {.loop = run->loop,
                              .conf = run->conf,
                              .settings = run->options->bcast,
                              .id = &c->id,
                              .done = on_done,
                              .ctx = c};

    c->run = run;
    pb__step_id__init(&c->id);
    c->id.job_id = run->job_id;
    c->id.has_step_id = 1;
    c->id.step_id = run->step_id;
    r.source = c->source = program_find(run->argv[0], run->options->work_dir);
    r.dest = c->dest = find_dest(run);
    r.per_node = run->program_per_node;
    say_verbose("copying %s to the nodes as %s%s", c->source, c->dest, r.per_node ? "_NODE" : "");
    c->bcast = bcast_start(&r);
    if (c->bcast == NULL)
        copy_free(take_ptr(c));
    return c;
}

void copy_free(struct copy *c)
{
    if (c == NULL)
        return;
    bcast_free(c->bcast);
    free(c->source);
    free(c->dest);
    free(c);
}
