/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * squeue: lists jobs and steps.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/idset.h"
#include "base/mem.h"
#include "base/pb.h"
#include "cli/cmd.h"
#include "cli/no_job.h"
#include "cli/node_names.h"
#include "cmd/squeue/fold.h"
#include "cmd/squeue/options.h"
#include "proto/why.pb-c.h"
#include "show/job_columns.h"
#include "show/job_ids.h"
#include "show/json_out.h"
#include "show/show.h"

#define STARTS_MOST 200 /* questions of --start */
#define FORMAT_JOBS "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define FORMAT_LONG "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define FORMAT_STEPS "%.15i %.8j %.9P %.8u %.9M %N"
#define FORMAT_START "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"

struct tier { /* of a partition */
    char *part;
    uint32_t tier;
};

struct start { /* that "sluice why" expects of a pending job */
    uint32_t job_id;
    bool is_answered;
    int64_t at_sec; /* 0: none can be foreseen */
    char *nodes;    /* NULL: not known */
};

struct list {
    const struct options *options;
    struct listing listing;
    json_t *json;
    VEC(struct tier) tiers;   /* with --priority */
    VEC(struct start) starts; /* with --start */
    struct fold fold;
    size_t seen;
    bool bad_format; /* the columns that are known are listed, and the status says so */
};

/* False after a message: the sort keys are invalid, or no column is known. */
static bool set_format(struct list *l)
{
    const struct options *o = l->options;
    listing_init(&l->listing, o->steps ? &step_columns : &job_columns);
    l->listing.report = cmd_error;
    if (o->format_long)
        l->bad_format = !listing_set_names(&l->listing, o->format_long);
    else
        l->bad_format = !listing_set_letters(&l->listing, o->format        ? o->format
                                                          : o->steps       ? FORMAT_STEPS
                                                          : o->start       ? FORMAT_START
                                                          : o->long_format ? FORMAT_LONG
                                                                           : FORMAT_JOBS);
    return listing_set_sort(&l->listing, o->sort    ? o->sort
                                         : o->steps ? "P,i"
                                         : o->start ? "S"
                                                    : "P,t,-Q") &&
           (l->listing.columns.len || !l->bad_format);
}

/* A line for each element of a record of several. */
static void add_each(struct list *l, struct job_columns_view *view)
{
    struct idset tasks = {0};
    Pb__JobLive *live = view->job->live;
    if (idset_parse(live->array_tasks, UINT32_MAX >> 1, &tasks, NULL) != 0)
        return;
    live->array_tasks = NULL;
    live->has_array_task_id = true;
    idset_foreach(&tasks, i)
    {
        live->array_task_id = (uint32_t)i;
        listing_add(&l->listing, view);
    }
    idset_done(&tasks);
}

static uint32_t tier_of(const struct list *l, const char *part)
{
    vec_foreach (&l->tiers, t)
        if (str_eq(t->part, part))
            return t->tier;
    return 0;
}

static void add_record(struct list *l, struct job_columns_view *view)
{
    view->tier = tier_of(l, view->job->live->partition);
    if (l->options->each && view->job->live->array_tasks)
        add_each(l, view);
    else
        listing_add(&l->listing, view);
}

static bool is_listed(const struct options *o, const char *part)
{
    bool found = o->partitions.len == 0;
    vec_foreach (&o->partitions, p)
        found = found || str_eq(*p, part);
    return found;
}

/* With --priority a line for each of its partitions. */
static void add_parts(struct list *l, struct job_columns_view *view)
{
    Pb__JobLive *live = view->job->live;
    char *names = live->partition, *tasks = live->array_tasks;
    uint32_t priority = live->priority;
    for (size_t i = 0; i < live->n_part_priority && names && *names; i++) {
        size_t len = strcspn(names, ",");
        char *name = mem_strndup(names, len);
        live->partition = name;
        live->priority = priority ? live->part_priority[i] : 0; /* 0: it is held */
        live->array_tasks = tasks;
        live->has_array_task_id = live->has_array_task_id && !tasks;
        if (is_listed(l->options, name))
            add_record(l, view);
        free(name);
        names += len + (names[len] == ',');
    }
}

/* A pass plans ahead for some jobs only, and takes a job without a limit to end after a year;
 * "sluice why" knows the start of the others, and says when none can be foreseen. */
static void set_start(const struct list *l, Pb__JobLive *live)
{
    vec_foreach (&l->starts, s)
        if (s->job_id == live->job_id && s->is_answered) {
            live->has_start_at = s->at_sec > 0;
            live->start_at = s->at_sec;
            live->sched_nodes = s->nodes;
        }
}

static int on_pending(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct list *l = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs && l->starts.len < STARTS_MOST; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (live && live->state == PB__JOB_STATE__PENDING && live->priority)
            vec_push(&l->starts, ((struct start){.job_id = live->job_id}));
    }
    return 0;
}

/* With --start: asks about each pending job, of those that filter chooses. */
static int ask_starts(struct list *l, const Pb__JobFilter *chosen, struct err *err)
{
    Pb__JobFilter filter = *chosen;
    filter.n_spec_fields = filter.n_live_fields = 0;
    int r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_pending, l, err);
    vec_foreach (&l->starts, s) {
        Pb__WhyRequest request = PB__WHY_REQUEST__INIT;
        Pb__WhyReply *reply = NULL;
        request.job_id = s->job_id;
        /* It may have started meanwhile, or be somebody's who keeps this to himself. */
        s->is_answered = cmd_call(RPC_JOB_WHY, &request.base, &reply, NULL) == 0;
        if (!s->is_answered)
            continue;
        s->at_sec = reply->has_start_at ? reply->start_at : 0;
        s->nodes = reply->sched_nodes ? mem_strdup(reply->sched_nodes) : NULL;
    }
    return r;
}

static int on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct list *l = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    if (part->has_now)
        json_out_stamp(part->now, part->last_backfill);
    struct job_columns_view view = {.now = part->has_now ? part->now : time(NULL),
                                    .cluster = cmd_conf()->cluster_name,
                                    .expand_patterns = l->options->expand_patterns};
    for (size_t i = 0; i < part->n_jobs; i++) {
        view.job = part->jobs[i];
        if (!view.job->spec || !view.job->live)
            continue;
        l->seen++;
        if (!options_match(l->options, view.job) ||
            !options_match_time(l->options, view.job->live, view.now))
            continue;
        set_start(l, view.job->live);
        job_ids_trim(l->options->ids.data, l->options->ids.len, view.job->live, &arena);
        if (l->json)
            json_array_append_new(l->json, show_job_json(view.job, view.cluster));
        else if (l->options->priority && view.job->live->n_part_priority)
            add_parts(l, &view);
        else if (l->options->each || !fold_take(&l->fold, view.job))
            add_record(l, &view);
    }
    return 0;
}

static int on_parts(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct list *l = ctx;
    const Pb__PartList *part = (const Pb__PartList *)message;
    for (size_t i = 0; i < part->n_parts; i++)
        vec_push(&l->tiers,
                 ((struct tier){mem_strdup(part->parts[i]->name), part->parts[i]->priority_tier}));
    return 0;
}

static int list_tiers(struct list *l, struct err *err)
{
    Pb__PartFilter filter = PB__PART_FILTER__INIT;
    int r = rpc_call_stream(cmd_client(), RPC_PART_LIST, &filter.base, on_parts, l, err);
    return r == -ERR_ACCESS ? 0 : r; /* PrivateData=partitions: all are of one tier */
}

static int on_steps(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct list *l = ctx;
    const Pb__StepList *part = (const Pb__StepList *)message;
    if (part->has_now)
        json_out_stamp(part->now, -1);
    struct job_columns_view view = {.now = part->has_now ? part->now : time(NULL),
                                    .cluster = cmd_conf()->cluster_name};
    for (size_t i = 0; i < part->n_steps; i++) {
        view.step = part->steps[i];
        if (view.step->state == PB__STEP_STATE__STEP_ENDED)
            continue;
        if (l->json)
            json_array_append_new(l->json, show_step_json(view.step, view.cluster, view.now));
        else
            listing_add(&l->listing, &view);
    }
    return 0;
}

/* The controller chooses by base states; what cannot be said so is chosen here, out of all. */
static void put_states(const struct options *o, Pb__JobFilter *filter, Pb__JobState *states)
{
    for (unsigned i = 0; i <= PB__JOB_STATE__OUT_OF_MEMORY && !o->states.all; i++)
        if (o->states.wanted >> i & 1 ||
            (i == PB__JOB_STATE__RUNNING && (o->states.configuring || o->states.stopped)) ||
            (i == PB__JOB_STATE__PENDING && o->states.special_exit) ||
            (i > PB__JOB_STATE__SUSPENDED && o->states.stage_out))
            states[filter->n_state++] = (Pb__JobState)i;
    filter->state = states;
    if (!filter->n_state && job_states_given(&o->states))
        filter->has_all_states = filter->all_states = 1;
    else if (o->states.completing)
        filter->has_completing = filter->completing = 1;
}

/* A table needs little of each job. */
static void put_needs(const struct list *l, struct job_needs *n, Pb__JobFilter *filter)
{
    if (l->json || l->options->priority || l->options->over_sec || l->options->under_sec ||
        l->options->reservation || !job_columns_needs(&l->listing, n))
        return;
    if (!l->options->each)
        pb_fields_add(&n->live, &pb__job_live__descriptor,
                      "array_job_id array_task_id array_tasks het_job_id het_job_offset");
    filter->n_spec_fields = filter->n_live_fields = PB_FIELD_WORDS;
    filter->spec_fields = n->spec.words;
    filter->live_fields = n->live.words;
}

static void add_folded(struct list *l)
{
    struct job_columns_view view = {.now = time(NULL),
                                    .cluster = cmd_conf()->cluster_name,
                                    .expand_patterns = l->options->expand_patterns};
    fold_finish(&l->fold);
    vec_foreach (&l->fold.lines, line) {
        view.job = line->job;
        add_record(l, &view);
    }
}

static int list_jobs(struct list *l, struct err *err)
{
    const struct options *o = l->options;
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    Pb__JobState states[PB__JOB_STATE__OUT_OF_MEMORY + 1];
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    job_ids_filter(o->ids.data, o->ids.len, &filter, &arena);
    filter.uid = o->uids.data;
    filter.n_uid = o->uids.len;
    filter.partition = o->partitions.data;
    filter.n_partition = o->partitions.len;
    filter.name = o->names.data;
    filter.n_name = o->names.len;
    filter.nodes = (char *)o->nodes;
    struct job_needs needs;
    put_needs(l, &needs, &filter);
    put_states(o, &filter, states);
    int r = o->start && !o->nobody ? ask_starts(l, &filter, err) : 0;
    if (r == 0)
        r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_jobs, l, err);
    add_folded(l);
    if (r == 0 && o->ids.len == 1 && l->seen == 0 && !o->states.all) {
        /* Not among those wanted, or not there at all? */
        Pb__JobFilter exists = PB__JOB_FILTER__INIT;
        struct options any = {.states.wanted = 1u << 31};
        struct list nothing = {.options = &any};
        Pb__StepId whole = o->ids.data[0];

        whole.array_tasks = NULL; /* of an array that is known every element may be asked for */
        fold_init(&nothing.fold);
        job_ids_filter(&whole, 1, &exists, &arena);
        exists.has_all_states = exists.all_states = 1;
        r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &exists.base, on_jobs, &nothing, err);
        fold_done(&nothing.fold);
        l->seen = nothing.seen;
    }
    if (r == 0 && o->ids.len == 1 && l->seen == 0)
        r = no_job_refuse(o->ids.data, err);
    return r;
}

static int list_steps(struct list *l, struct err *err)
{
    const struct options *o = l->options;
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    _cleanup_free_ Pb__StepId **ids = mem_new_array(Pb__StepId *, o->ids.len + 1);
    for (size_t i = 0; i < o->ids.len; i++)
        ids[i] = &o->ids.data[i];
    filter.ids = ids;
    filter.n_ids = o->ids.len;
    filter.uid = o->uids.data;
    filter.n_uid = o->uids.len;
    filter.partition = o->partitions.data;
    filter.n_partition = o->partitions.len;
    filter.nodes = (char *)o->nodes;
    return rpc_call_stream(cmd_client(), RPC_STEP_LIST, &filter.base, on_steps, l, err);
}

static int list_once(const struct options *o)
{
    struct list l = {.options = o};
    struct err err = {0};
    fold_init(&l.fold);
    bool json = o->json || o->yaml;
    if (json) {
        l.json = json_array();
    } else if (!set_format(&l)) {
        listing_done(&l.listing);
        fold_done(&l.fold);
        return 1;
    }
    int r = o->nodes ? node_names_check(o->nodes, &err) : 0;
    if (r == 0 && o->priority && !json)
        r = list_tiers(&l, &err);
    if (r == 0 && !o->nobody)
        r = o->steps ? list_steps(&l, &err) : list_jobs(&l, &err);
    if (r < 0)
        json_decref(l.json);
    if (r == -ERR_NO_NODE) {
        cmd_error("%s", err.text);
    } else if (r < 0) {
        cmd_line("slurm_load_%s error: %s", o->steps ? "job_steps" : "jobs", err.text);
    } else if (json) {
        json_out_print(cmd_source(), o->steps ? "steps" : "jobs", l.json, o->yaml, cmd_out());
    } else {
        if ((o->long_format || o->iterate_sec) && !o->noheader)
            listing_print_date(cmd_out());
        if (!o->noheader) {
            args_print_cluster(&o->common, cmd_out());
            listing_print_header(&l.listing, cmd_out());
        }
        listing_print_rows(&l.listing, cmd_out());
    }
    if (!json)
        listing_done(&l.listing);
    vec_foreach (&l.tiers, t)
        free(t->part);
    vec_done(&l.tiers);
    vec_foreach (&l.starts, start)
        free(start->nodes);
    vec_done(&l.starts);
    fold_done(&l.fold);
    int status = cmd_flush();
    return r < 0 || l.bad_format ? 1 : status;
}

int main(int argc, char **argv)
{
    static struct options o; /* also of an early exit: in use until the process ends */
    cmd_start("squeue");
    int status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    if (o.help_format) {
        listing_put_fields(o.steps ? &step_columns : &job_columns, cmd_out());
        options_done(&o);
        return cmd_flush();
    }
    if (o.start && !job_states_given(&o.states))
        o.states.wanted = 1u << PB__JOB_STATE__PENDING;
    status = list_once(&o);
    while (o.iterate_sec) {
        sleep(o.iterate_sec);
        str_putc(cmd_out(), '\n');
        status = list_once(&o);
    }
    options_done(&o);
    return status;
}
