/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sattach: watches a running step. The controller knows the step's nodes; the nodes grant access.
 */
#include <string.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cmd/sattach/attach.h"
#include "cmd/sattach/layout.h"
#include "cmd/sattach/options.h"
#include "conf/conf_sets.h"
#include "show/job_state.h"
#include "show/show.h"

struct found {
    struct arena arena;
    bool any; /* no step was named: only steps started by srun count */
    VEC(Pb__StepRecord *) steps;
};

static int on_steps(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct found *f = ctx;
    const Pb__StepList *part = (const Pb__StepList *)message;

    for (size_t i = 0; i < part->n_steps; i++) {
        _cleanup_str_ struct str bytes = STR_INIT;

        if (f->any && part->steps[i]->step_id >= STEP_ID_FIRST_SPECIAL)
            continue;
        pb_pack(&part->steps[i]->base, &bytes);
        vec_push(&f->steps,
                 arena_unpack(&f->arena, &pb__step_record__descriptor, bytes.data, bytes.len));
    }
    return 0;
}

static int find_steps(struct found *f, Pb__StepId *id, struct err *err)
{
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;

    f->any = !id->has_step_id;
    filter.ids = &id;
    filter.n_ids = 1;
    return rpc_call_stream(cmd_client(), RPC_STEP_LIST, &filter.base, on_steps, f, err);
}

static void refuse_several(const struct options *o, const struct found *f)
{
    _cleanup_str_ struct str list = STR_INIT;

    vec_foreach (&f->steps, s) {
        str_putc(&list, ' ');
        show_put_step_id(*s, &list);
    }
    cmd_error("Job %s runs several steps; name one of:%s", o->id_text, str_cstr(&list));
}

/* Steps of the components of one job set, under the leader's id, count as one. */
static bool is_one_step(const struct found *f)
{
    const Pb__StepRecord *first = f->steps.data[0];
    bool one = first->has_set_id;
    vec_foreach (&f->steps, s)
        one = one && (*s)->step_id == first->step_id && (*s)->has_set_id &&
              (*s)->set_id == first->set_id;
    return one;
}

/* Joins all components that take part in the step; only the first one if the site keeps Slurm's
 * limit of sattach. */
static void join_parts(struct found *f, struct whole *out)
{
    bool one = conf_sets_keep(cmd_conf(), CONF_SETS_sattach);

    whole_join(f->steps.data, one ? 1 : f->steps.len, &f->arena, out);
}

static int find_step(const struct options *o, struct found *f, struct whole *out)
{
    Pb__StepId id = o->id;
    struct err err = {0};

    if (find_steps(f, &id, &err) < 0) {
        cmd_error("Could not get job step info: %s", err.text);
        return -1;
    }
    if (f->steps.len > 1 && !is_one_step(f)) {
        refuse_several(o, f);
        return -1;
    }
    if (f->steps.len == 0 && job_arg_lacks_component(&id, &err)) {
        cmd_error("Could not get job step info: %s", err.text);
        return -1;
    }
    if (f->steps.len == 0 || f->steps.data[0]->n_layout == 0 || !f->steps.data[0]->num_tasks) {
        cmd_error("Could not get job step info: %s: %s%s%s", err_text(ERR_NO_JOB),
                  o->id.has_step_id ? "step " : "job ", o->id_text,
                  o->id.has_step_id ? " is not running" : " has no running step");
        return -1;
    }
    join_parts(f, out);
    return 0;
}

static int attach_to_step(const struct options *o)
{
    struct found found = {0};
    struct whole whole;
    int status = cmd_exit_error();

    arena_init(&found.arena, 0);
    if (find_step(o, &found, &whole) == 0) {
        const Pb__StepRecord *step = &whole.step;
        bool bad = false;

        for (int i = 0; i < 3; i++)
            if (o->filter[i] != EVERY_TASK && o->filter[i] >= step->num_tasks) {
                cmd_error("There is no task %u: step %s has %u", o->filter[i], o->id_text,
                          step->num_tasks);
                bad = true;
            }
        if (o->layout) {
            layout_format(step, cmd_out());
            status = cmd_flush();
        } else if (!bad) {
            status = attach_run(o, &whole);
        }
    }
    vec_done(&found.steps);
    arena_done(&found.arena);
    return status;
}

int main(int argc, char **argv)
{
    static struct options o; /* static: lives until the process ends, also after an early return */
    int status;

    cmd_start("sattach");
    status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status ? cmd_exit_error() : 0;
    cmd_set_level(o.quiet, o.common.verbose);
    return attach_to_step(&o);
}
