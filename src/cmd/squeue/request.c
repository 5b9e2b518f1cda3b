/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/squeue/request.h"

#include "base/mem.h"
#include "base/pb.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "proto/part.pb-c.h"
#include "proto/why.pb-c.h"
#include "show/job_columns.h"
#include "show/job_ids.h"

#define STARTS_MOST 200 /* maximum number of requests for --start */

static int on_pending(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct list *l = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs && l->starts.len < STARTS_MOST; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (live && live->state == PB__JOB_STATE__PENDING && live->priority)
            vec_push(&l->starts, ((struct list_start){.job_id = live->job_id}));
    }
    return 0;
}

/* With --start: asks about each pending job that the filter selects. */
static int ask_starts(struct list *l, const Pb__JobFilter *chosen, struct err *err)
{
    Pb__JobFilter filter = *chosen;
    filter.n_spec_fields = filter.n_live_fields = 0;
    int r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_pending, l, err);
    vec_foreach (&l->starts, s) {
        Pb__WhyRequest request = PB__WHY_REQUEST__INIT;
        Pb__WhyReply *reply = NULL;
        request.job_id = s->job_id;
        /* The job may have started, or the caller may not be allowed to ask about it. */
        s->is_answered = cmd_call(RPC_JOB_WHY, &request.base, &reply, NULL) == 0;
        if (!s->is_answered)
            continue;
        s->at_sec = reply->has_start_at ? reply->start_at : 0;
        s->nodes = reply->sched_nodes ? mem_strdup(reply->sched_nodes) : NULL;
    }
    return r;
}

/* Jobs and partitions that are named are shown, and JSON has all records. */
static bool is_without_hidden(const struct options *o)
{
    return !o->all && !o->ids.len && !o->partitions.len && !o->json && !o->yaml;
}

int request_tiers(struct list *l, struct err *err)
{
    Pb__PartFilter filter = PB__PART_FILTER__INIT;
    int r = rpc_call_stream(cmd_client(), RPC_PART_LIST, &filter.base, list_on_parts, l, err);
    return r == -ERR_ACCESS ? 0 : r; /* PrivateData=partitions: all have the same tier */
}

/* The controller filters by base states; other states are filtered here, from all jobs. */
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

/* A table needs only a few fields of each job. */
static void put_needs(const struct list *l, struct job_needs *n, Pb__JobFilter *filter)
{
    if (l->json || l->options->priority || l->options->over_sec || l->options->under_sec ||
        l->options->reservation || !job_columns_needs(&l->listing, n))
        return;
    if (!l->options->each)
        pb_fields_add(&n->live, &pb__job_live__descriptor,
                      "array_job_id array_task_id array_tasks set_id set_offset");
    filter->n_spec_fields = filter->n_live_fields = PB_FIELD_WORDS;
    filter->spec_fields = n->spec.words;
    filter->live_fields = n->live.words;
}

int request_jobs(struct list *l, struct err *err)
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
    filter.has_visible = filter.visible = is_without_hidden(o);
    struct job_needs needs;
    put_needs(l, &needs, &filter);
    put_states(o, &filter, states);
    int r = o->start && !o->nobody ? ask_starts(l, &filter, err) : 0;
    if (r == 0)
        r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, list_on_jobs, l, err);
    list_add_folded(l);
    if (r == 0 && o->ids.len == 1 && l->seen == 0 && !o->states.all) {
        /* Distinguishes jobs that are filtered out from unknown ones. */
        Pb__JobFilter exists = PB__JOB_FILTER__INIT;
        struct options any = {.states.wanted = 1u << 31};
        struct list nothing = {.options = &any};
        Pb__StepId whole = o->ids.data[0];

        whole.array_tasks = NULL; /* any element of an existing array may be requested */
        fold_init(&nothing.fold);
        job_ids_filter(&whole, 1, &exists, &arena);
        exists.has_all_states = exists.all_states = 1;
        r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &exists.base, list_on_jobs, &nothing, err);
        fold_done(&nothing.fold);
        l->seen = nothing.seen;
    }
    if (r == 0 && o->ids.len == 1 && l->seen == 0)
        r = job_arg_refuse(o->ids.data, err);
    return r;
}

int request_steps(struct list *l, struct err *err)
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
    filter.has_visible = filter.visible = is_without_hidden(o);
    int r = rpc_call_stream(cmd_client(), RPC_STEP_LIST, &filter.base, list_on_steps, l, err);
    if (r == 0 && o->ids.len == 1 && l->seen == 0 && job_arg_lacks_component(o->ids.data, err))
        r = err->code;
    return r;
}
