/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/squeue/list.h"

#include <time.h>

#include "base/idset.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "show/job_columns.h"
#include "show/job_ids.h"
#include "show/json_out.h"
#include "show/show.h"

#define FORMAT_JOBS "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define FORMAT_LONG "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define FORMAT_STEPS "%.15i %.8j %.9P %.8u %.9M %N"
#define FORMAT_START "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"

bool list_set_format(struct list *l)
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

/* Adds one line for each element of a record of several. */
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

static bool is_part_listed(const struct options *o, const char *part)
{
    bool found = o->partitions.len == 0;
    vec_foreach (&o->partitions, p)
        found = found || str_eq(*p, part);
    return found;
}

/* With --priority: adds one line for each partition of the job. */
static void add_parts(struct list *l, struct job_columns_view *view)
{
    Pb__JobLive *live = view->job->live;
    char *names = live->partition, *tasks = live->array_tasks;
    uint32_t priority = live->priority;
    for (size_t i = 0; i < live->n_part_priority && names && *names; i++) {
        size_t len = strcspn(names, ",");
        char *name = mem_strndup(names, len);
        live->partition = name;
        live->priority = priority ? live->part_priority[i] : 0; /* 0: held */
        live->array_tasks = tasks;
        live->has_array_task_id = live->has_array_task_id && !tasks;
        if (is_part_listed(l->options, name))
            add_record(l, view);
        free(name);
        names += len + (names[len] == ',');
    }
}

/* The planner plans ahead for some jobs only, and assumes one year for jobs without a limit.
 * "sluice why" knows the start of the other jobs, or says that it is unpredictable. */
static void set_start(const struct list *l, Pb__JobLive *live)
{
    vec_foreach (&l->starts, s)
        if (s->job_id == live->job_id && s->is_answered) {
            live->has_start_at = s->at_sec > 0;
            live->start_at = s->at_sec;
            live->sched_nodes = s->nodes;
        }
}

int list_on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
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

void list_add_folded(struct list *l)
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

int list_on_parts(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct list *l = ctx;
    const Pb__PartList *part = (const Pb__PartList *)message;
    for (size_t i = 0; i < part->n_parts; i++)
        vec_push(&l->tiers, ((struct list_tier){mem_strdup(part->parts[i]->name),
                                                part->parts[i]->priority_tier}));
    return 0;
}

int list_on_steps(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct list *l = ctx;
    const Pb__StepList *part = (const Pb__StepList *)message;
    if (part->has_now)
        json_out_stamp(part->now, -1);
    struct job_columns_view view = {.now = part->has_now ? part->now : time(NULL),
                                    .cluster = cmd_conf()->cluster_name,
                                    .expand_patterns = l->options->expand_patterns};
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

void list_init(struct list *l, const struct options *o)
{
    *l = (struct list){.options = o};
    fold_init(&l->fold);
    if (o->json || o->yaml)
        l->json = json_array();
}

void list_done(struct list *l)
{
    json_decref(l->json);
    listing_done(&l->listing);
    vec_foreach (&l->tiers, t)
        free(t->part);
    vec_done(&l->tiers);
    vec_foreach (&l->starts, start)
        free(start->nodes);
    vec_done(&l->starts);
    fold_done(&l->fold);
}
