/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol wait_job" waits until a job has started; "completing" lists jobs that are ending. */
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cmd/scontrol/scontrol.h"
#include "launch/alloc.h"
#include "proto/node.pb-c.h"
#include "show/job_ids.h"
#include "show/job_state.h"

#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 2000

/* The highest value of several records counts: running before pending. */
enum progress { UNKNOWN, OVER, WAITING, READY };

static enum progress progress_of(const Pb__JobLive *live)
{
    if (job_state_is_final(live))
        return OVER;
    return live->state == PB__JOB_STATE__PENDING || live->configuring ? WAITING : READY;
}

static int on_job(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    enum progress *progress = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (live && progress_of(live) > *progress)
            *progress = progress_of(live);
    }
    return 0;
}

static int ask_progress(const struct job_id_list *ids, enum progress *progress, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    job_ids_filter(ids->data, ids->len, &filter, &arena);
    filter.has_all_states = filter.all_states = 1;
    *progress = UNKNOWN;
    return rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_job, progress, err);
}

/* Returns false after a message. */
static bool await_progress(const struct job_id_list *ids, enum progress *progress)
{
    struct err err = {0};
    bool is_reported = false;
    *progress = WAITING;
    for (int pause_ms = PAUSE_MIN_MS; *progress == WAITING;) {
        int r = ask_progress(ids, progress, &err);
        if (r < 0 && !alloc_is_transient(r) && r != -ERR_NO_JOB) {
            cmd_error("%s", err.text);
            return false;
        }
        if (r < 0 && r != -ERR_NO_JOB) {
            *progress = WAITING; /* the controller is down and may return */
            if (!is_reported)
                cmd_say("%s", err.text);
            is_reported = true;
        }
        if (*progress == WAITING)
            poll(NULL, 0, pause_ms);
        pause_ms = pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause_ms * 2;
    }
    return true;
}

int run_wait_job(int argc, char **argv)
{
    struct job_id_list ids = {0};
    struct err err = {0};
    enum progress progress;
    if (strchr(argv[0], '.') || jobs_parse_word(argv[0], &ids) < 0) {
        cmd_line("Invalid job_id %s", argv[0]);
        return 1;
    }
    const Pb__StepId *id = ids.data;
    _cleanup_str_ struct str name = STR_INIT;
    if (ids.len == 1)
        job_ids_put_asked(id, &name);
    else
        str_puts(&name, argv[0]);
    bool known = await_progress(&ids, &progress);
    if (known && progress == UNKNOWN && job_arg_explain(id, &err))
        cmd_say("Problem running job %s: %s", str_cstr(&name), err.text);
    else if (known && progress == UNKNOWN)
        cmd_say("Problem running job %s", str_cstr(&name));
    else if (known && progress == OVER)
        cmd_say("Job %s no longer running", str_cstr(&name));
    else if (known && progress == READY)
        cmd_say("Nodes are ready for job %s", str_cstr(&name));
    vec_done(&ids);
    return known && progress == READY ? 0 : 1;
}

struct ending {
    uint32_t job_id;
    int64_t end_at;
    struct hostlist *nodes;
    struct hostlist *completing, *down; /* subsets of 'nodes' */
};

struct completing {
    VEC(struct ending) jobs;
    int64_t now;
};

static int on_ending(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct completing *c = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    c->now = part->has_now ? part->now : time(NULL);
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        struct ending job = {0};
        if (!live || !live->completing)
            continue;
        job.job_id = live->job_id;
        job.end_at = live->end_at;
        if (hostlist_parse(live->nodes ? live->nodes : "", &job.nodes, err) < 0)
            return -ERR_PARSE;
        job.completing = hostlist_new();
        job.down = hostlist_new();
        vec_push(&c->jobs, job);
    }
    return 0;
}

static int on_wait_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct completing *c = ctx;
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    for (size_t i = 0; i < part->n_nodes; i++) {
        const Pb__NodeRecord *n = part->nodes[i];
        bool down = n->state == PB__NODE_BASE__NODE_DOWN;
        if (!down && !n->completing)
            continue;
        vec_foreach (&c->jobs, job)
            if (hostlist_find(job->nodes, n->name) >= 0)
                hostlist_push(down ? job->down : job->completing, n->name);
    }
    return 0;
}

static void put_waited_nodes(const char *state, struct hostlist *nodes)
{
    if (!hostlist_count(nodes))
        return;
    str_printf(cmd_out(), "Nodes(%s)=", state);
    hostlist_format(nodes, cmd_out());
    str_putc(cmd_out(), ' ');
}

static void put_ending(const struct ending *job, int64_t now)
{
    char date[TIME_TEXT_MAX], since[TIME_TEXT_MAX];
    str_printf(cmd_out(), "JobId=%u EndTime=%s CompletingTime=%s ", job->job_id,
               time_format_date(job->end_at, "Unknown", date),
               time_format_limit(now > job->end_at ? now - job->end_at : 0, since));
    put_waited_nodes("COMPLETING", job->completing);
    put_waited_nodes("DOWN", job->down);
    str_putc(cmd_out(), '\n');
}

int run_completing(int argc, char **argv)
{
    Pb__JobFilter jobs = PB__JOB_FILTER__INIT;
    Pb__NodeFilter nodes = PB__NODE_FILTER__INIT;
    struct completing c = {0};
    struct err err = {0};
    jobs.has_completing = jobs.completing = 1;
    int r = rpc_call_stream(cmd_client(), RPC_JOB_LIST, &jobs.base, on_ending, &c, &err);
    if (r == 0 && c.jobs.len)
        r = rpc_call_stream(cmd_client(), RPC_NODE_LIST, &nodes.base, on_wait_nodes, &c, &err);
    if (r < 0)
        cmd_line("slurm_load_jobs error: %s", err.text);
    vec_foreach (&c.jobs, job) {
        if (r == 0)
            put_ending(job, c.now);
        hostlist_free(job->nodes);
        hostlist_free(job->completing);
        hostlist_free(job->down);
    }
    vec_done(&c.jobs);
    return r < 0 ? 1 : 0;
}
