/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/copy.h"

#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "base/vec.h"
#include "cmd/srun/option/names.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/command.h"
#include "cmd/srun/run/run.h"
#include "launch/bcast.h"

/* A copy of one program to one path, for the parts of the step that run it. */
struct copied {
    const struct bcast_settings *settings; /* of the first of these parts */
    char *source, *dest;
    bool per_node;
    VEC(uint32_t) parts;
};

struct copy {
    struct run *run;
    struct bcast *bcast; /* the running copy */
    Pb__StepId id;
    VEC(struct copied) list;
    size_t at;
    char *nodes; /* nodes of the running copy; NULL: all nodes of the step */
};

bool copy_is_wanted(const struct run *run)
{
    for (uint32_t i = 0; i < run_count_parts(run); i++)
        if (run_part_options(run, i)->bcast != NULL)
            return true;
    return false;
}

/* --- the copies ------------------------------------------------------------------------------- */

static void free_copied(struct copied *c)
{
    free(c->source);
    free(c->dest);
    vec_done(&c->parts);
}

/* In a directory the copy's name includes the node, since the directory may be shared. */
static struct copied make_copied(const struct run *run, uint32_t part)
{
    const struct run_options *o = run_part_options(run, part);
    const char *base = o->bcast->dest_dir != NULL ? o->bcast->dest_dir : o->work_dir;
    _cleanup_free_ char *dest = path_absolute(*o->bcast_dest ? o->bcast_dest : base, base);
    size_t len = strlen(o->bcast_dest);
    struct copied c = {.settings = o->bcast};

    c.source = program_find(run->commands[part].argv[0], o->work_dir);
    c.per_node = len == 0 || o->bcast_dest[len - 1] == '/';
    c.dest = c.per_node
                 ? mem_printf("%s/slurm_bcast_%s", dest, STEP_ID_TEXT(run->job_id, run->step_id))
                 : take_ptr(dest);
    vec_push(&c.parts, part);
    return c;
}

static bool is_same_copy(const struct copied *a, const struct copied *b)
{
    return str_eq(a->source, b->source) && str_eq(a->dest, b->dest) && a->per_node == b->per_node &&
           a->settings->send_libs == b->settings->send_libs &&
           a->settings->pack == b->settings->pack &&
           str_eq(a->settings->exclude, b->settings->exclude);
}

/* The name of a node that runs tasks both of one of these parts and of this part; NULL: none. */
static const char *find_common_node(const struct run *run, const struct copied *c, uint32_t part)
{
    for (size_t i = 0; i < run->step->n_layout; i++) {
        if (!shared_node_runs(run, i, part))
            continue;
        for (size_t k = 0; k < run->step->n_layout; k++)
            vec_foreach (&c->parts, other)
                if (str_eq(run->step->layout[i]->node, run->step->layout[k]->node) &&
                    shared_node_runs(run, k, *other))
                    return run->step->layout[i]->node;
    }
    return NULL;
}

/* If a node runs two programs, they get different names. */
static int name_apart(struct copy *c, struct copied *made, uint32_t part)
{
    vec_foreach (&c->list, other) {
        const char *node = str_eq(other->dest, made->dest) && !str_eq(other->source, made->source)
                               ? find_common_node(c->run, other, part)
                               : NULL;
        if (node == NULL)
            continue;
        if (!made->per_node) {
            say_error("--bcast=%s: parts %u and %u of the step copy %s and %s there, both on node "
                      "%s: name a directory, or a file for each part",
                      made->dest, other->parts.data[0], part, other->source, made->source, node);
            return -1;
        }
        char *dest = mem_printf("%s-%u", made->dest, part);
        free(made->dest);
        made->dest = dest;
        return 0;
    }
    return 0;
}

static int add_copied_part(struct copy *c, uint32_t part)
{
    struct copied made = make_copied(c->run, part);

    vec_foreach (&c->list, other)
        if (is_same_copy(other, &made)) {
            vec_push(&other->parts, part);
            free_copied(&made);
            return 0;
        }
    int rc = name_apart(c, &made, part);
    vec_push(&c->list, made);
    return rc;
}

static int list_copies(struct copy *c)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < run_count_parts(c->run); i++)
        if (run_part_options(c->run, i)->bcast != NULL)
            rc = add_copied_part(c, i);
    return rc;
}

/* --- the sequence ----------------------------------------------------------------------------- */

/* The nodes of the parts; NULL: all nodes of the step. */
static char *format_copy_nodes(const struct run *run, const struct copied *c)
{
    _cleanup_hostlist_ struct hostlist *nodes = hostlist_new();
    _cleanup_str_ struct str text = STR_INIT;

    if (c->parts.len == run_count_parts(run))
        return NULL;
    for (size_t i = 0; i < run->step->n_layout; i++)
        vec_foreach (&c->parts, part)
            if (shared_node_runs(run, i, *part))
                hostlist_push(nodes, run->step->layout[i]->node);
    hostlist_uniq(nodes);
    hostlist_format(nodes, &text);
    return mem_strdup(str_cstr(&text));
}

/* Sets the command of the tasks to the copy. */
static void set_program(struct run *run, const struct copied *c, bool has_libs)
{
    vec_foreach (&c->parts, part) {
        struct run_command *command = &run->commands[*part];
        char **argv = arena_alloc(&run->arena, ((size_t)command->argc + 1) * sizeof(char *));

        memcpy(argv, command->argv, (size_t)command->argc * sizeof(char *));
        argv[0] = arena_strdup(&run->arena, c->dest);
        *command = (struct run_command){
            .argv = argv, .argc = command->argc, .per_node = c->per_node, .has_libs = has_libs};
    }
}

static int start_next_copy(struct copy *c);

static void on_done(void *ctx, int status)
{
    struct copy *c = ctx;
    struct run *run = c->run;

    if (status == 0) {
        set_program(run, &c->list.data[c->at], bcast_has_libs(c->bcast));
        bcast_free(take_ptr(c->bcast));
        if (++c->at < c->list.len && start_next_copy(c) == 0)
            return;
    }
    run->on->copied(run, c->at == c->list.len); /* frees c */
}

static int start_next_copy(struct copy *c)
{
    const struct copied *item = &c->list.data[c->at];
    struct bcast_request r = {.loop = c->run->loop,
                              .conf = c->run->conf,
                              .settings = item->settings,
                              .id = &c->id,
                              .source = item->source,
                              .dest = item->dest,
                              .per_node = item->per_node,
                              .done = on_done,
                              .ctx = c};

    free(c->nodes);
    r.nodes = c->nodes = format_copy_nodes(c->run, item);
    say_verbose("copying %s to the nodes%s%s as %s%s", item->source, c->nodes ? " " : "",
                c->nodes ? c->nodes : "", item->dest, item->per_node ? "_NODE" : "");
    c->bcast = bcast_start(&r);
    return c->bcast != NULL ? 0 : -1;
}

struct copy *copy_start(struct run *run)
{
    struct copy *c = mem_new(struct copy);

    c->run = run;
    pb__step_id__init(&c->id);
    c->id.job_id = run->job_id;
    c->id.has_step_id = 1;
    c->id.step_id = run->step_id;
    if (list_copies(c) < 0 || start_next_copy(c) < 0)
        copy_free(take_ptr(c));
    return c;
}

void copy_free(struct copy *c)
{
    if (c == NULL)
        return;
    bcast_free(c->bcast);
    vec_foreach (&c->list, item)
        free_copied(item);
    vec_done(&c->list);
    free(c->nodes);
    free(c);
}
