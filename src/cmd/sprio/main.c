/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sprio: the components of the priorities of pending jobs.
 */
#include <string.h>

#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cmd/sprio/options.h"
#include "show/job_ids.h"
#include "show/prio_columns.h"

struct list {
    const struct options *options;
    struct listing listing;
    struct arena arena; /* for the weights, which are in the first part of the reply */
    Pb__PrioWeights *weights;
    bool bad_sort, bad_format;
    size_t seen;
};

static void set_format(struct list *l, const Pb__PrioWeights *weights)
{
    const struct options *o = l->options;
    _cleanup_str_ struct str bytes = STR_INIT, format = STR_INIT;
    pb_pack(&weights->base, &bytes);
    l->weights = arena_unpack(&l->arena, &pb__prio_weights__descriptor, bytes.data, bytes.len);
    prio_columns_format(l->weights, o->norm, o->long_format, o->users, &format);
    l->bad_format = !listing_set_letters(&l->listing, o->format ? o->format : str_cstr(&format));
    l->bad_sort = !listing_set_sort(&l->listing, o->sort ? o->sort : "i");
}

static bool in_partition(const struct options *o, const Pb__PrioJob *job)
{
    bool found = o->partitions.len == 0;
    vec_foreach (&o->partitions, p)
        found = found || str_eq(*p, job->partition);
    return found;
}

static int on_part(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct list *l = ctx;
    const Pb__PrioList *part = (const Pb__PrioList *)message;
    if (part->weights && !l->weights)
        set_format(l, part->weights);
    for (size_t i = 0; i < part->n_jobs && l->weights; i++) {
        struct prio_columns_view view = {part->jobs[i], l->weights, cmd_conf()->cluster_name};
        l->seen++;
        if (in_partition(l->options, view.job))
            listing_add(&l->listing, &view);
    }
    return 0;
}

/* An array element has the priority of its array. */
static void put_ids(struct list *l, Pb__JobFilter *jobs)
{
    size_t count = l->options->ids.len;
    Pb__StepId *ids = arena_alloc(&l->arena, (count + 1) * sizeof(*ids));
    for (size_t i = 0; i < count; i++) {
        ids[i] = l->options->ids.data[i];
        ids[i].array_tasks = NULL;
    }
    job_ids_filter(ids, count, jobs, &l->arena);
}

static int load_lists(struct list *l, struct err *err)
{
    const struct options *o = l->options;
    Pb__PrioFilter filter = PB__PRIO_FILTER__INIT;
    Pb__JobFilter jobs = PB__JOB_FILTER__INIT;
    uint32_t none = 0; /* no job has this id: only the weights are requested */
    put_ids(l, &jobs);
    filter.job_id = o->weights || o->nobody ? &none : jobs.job_id;
    filter.n_job_id = o->weights || o->nobody ? 1 : jobs.n_job_id;
    filter.component = jobs.component;
    filter.n_component = o->weights || o->nobody ? 0 : jobs.n_component;
    filter.uid = o->uids.data;
    filter.n_uid = o->uids.len;
    return rpc_call_stream(cmd_client(), RPC_PRIO_LIST, &filter.base, on_part, l, err);
}

static bool is_multifactor(const struct list *l)
{
    return l->weights && str_case_eq(l->weights->type, "priority/multifactor");
}

/* Returns the exit status. */
static int report_none(const struct list *l)
{
    const struct options *o = l->options;
    int status = l->bad_format;
    str_puts(cmd_out(), "Unable to find jobs matching user/id(s) specified\n");
    for (size_t i = 0; i < o->ids.len; i++) {
        struct err err = {0};
        if (!job_arg_is_known(&o->ids.data[i]) || !job_arg_lacks_component(&o->ids.data[i], &err))
            continue;
        cmd_error("%s", err.text);
        status = 1;
    }
    return status;
}

static int show_list(struct list *l)
{
    const struct options *o = l->options;
    if (!is_multifactor(l)) {
        cmd_line("You are not running a supported priority plugin\n(%s).\nOnly "
                 "'priority/multifactor' is supported.",
                 l->weights ? l->weights->type : "unknown");
        return 1;
    }
    if (l->bad_sort)
        return 1;
    if (!l->seen && !o->weights && !o->nobody)
        return report_none(l);
    if (!o->noheader) {
        args_print_cluster(&o->common, cmd_out());
        listing_print_header(&l->listing, cmd_out());
    }
    if (o->weights) {
        struct prio_columns_view view = {NULL, l->weights, cmd_conf()->cluster_name};
        listing_add(&l->listing, &view);
    }
    listing_print_rows(&l->listing, cmd_out());
    return l->bad_format;
}

int main(int argc, char **argv)
{
    static struct options o; /* static: lives until the process ends, also after an early return */
    struct err err = {0};
    cmd_start("sprio");
    int status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    struct list l = {.options = &o};
    listing_init(&l.listing, &prio_columns);
    l.listing.report = cmd_error;
    arena_init(&l.arena, 0);
    if (load_lists(&l, &err) < 0) {
        cmd_line("Unable to retrieve job priority information: %s", err.text);
        status = 1;
    } else {
        status = show_list(&l);
    }
    listing_done(&l.listing);
    arena_done(&l.arena);
    options_done(&o);
    int written = cmd_flush();
    return status ? status : written;
}
