/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol pidinfo" and "listpids": processes of steps on this host, as its node daemons know. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "cmd/common/cmd.h"
#include "cmd/common/job_state.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/job.pb-c.h"
#include "proto/usage.pb-c.h"

#define YEAR_SEC (INT64_C(365) * 86400) /* how long a job without a limit is said to take */

/* The nodes to ask: this one, that whose job we are in, or all that have a daemon here. */
static void nodes_here(const char *node, struct rpc_names *out)
{
    const char *own = getenv("SLURMD_NODENAME");

    if (!node && own && *own)
        node = own;
    if (!node) {
        rpc_here_list(cmd_conf(), out);
        return;
    }
    *out = (struct rpc_names){0};
    vec_push(&out->names, mem_strdup(node));
}

static int ask(const char *node, const Pb__NodePidsRequest *request, struct arena *arena,
               Pb__NodePids **reply)
{
    struct err err = {0};
    int rc = rpc_here_call(cmd_conf(), node, RPC_NODE_PIDS, &request->base, arena, reply, &err);

    if (rc < 0)
        cmd_error("the node daemon of %s does not answer on this host: %s", node, err.text);
    return rc;
}

static void put_number(struct str *out, int width, bool has, uint32_t number)
{
    if (has)
        str_printf(out, "%-*u", width, number);
    else
        str_printf(out, "%-*s", width, "-");
}

static void put_step(const Pb__StepPids *s)
{
    char id[STEP_ID_TEXT_MAX];
    const char *step = strchr(step_id_text(s->job_id, s->step_id, id), '.') + 1;
    struct str *out = cmd_out();

    for (size_t i = 0; i < s->n_processes; i++) {
        const Pb__StepProcess *p = s->processes[i];
        str_printf(out, "%-8u %-8u %-8s ", p->pid, s->job_id, step);
        put_number(out, 7, p->has_local, p->local);
        str_putc(out, ' ');
        put_number(out, 8, p->has_task, p->task);
        str_putc(out, '\n');
    }
}

/* How many steps there were. */
static size_t list_on(const struct rpc_names *nodes, const Pb__NodePidsRequest *request)
{
    size_t steps = 0;

    vec_foreach (&nodes->names, node) {
        _cleanup_arena_ struct arena arena;
        Pb__NodePids *reply = NULL;
        arena_init(&arena, 0);
        if (ask(*node, request, &arena, &reply) < 0)
            continue;
        for (size_t i = 0; i < reply->n_steps; i++)
            put_step(reply->steps[i]);
        steps += reply->n_steps;
    }
    return steps;
}

static void say_none(const Pb__NodePidsRequest *r, const struct rpc_names *nodes)
{
    _cleanup_str_ struct str where = STR_INIT;

    if (nodes->names.len == 1)
        str_printf(&where, "on node %s", nodes->names.data[0]);
    else
        str_puts(&where, "on this host");
    if (r->has_step_id) {
        char id[STEP_ID_TEXT_MAX];
        cmd_line("StepId=%s does not exist %s.", step_id_text(r->job_id, r->step_id, id),
                 str_cstr(&where));
    } else if (r->has_job_id) {
        cmd_line("There are no steps for job %u %s.", r->job_id, str_cstr(&where));
    } else {
        cmd_line("No job steps exist on this node.");
    }
}

/* [JOB[.STEP]|*]; 0, or the status after a message. */
static int parse(const char *text, Pb__NodePidsRequest *r)
{
    _cleanup_free_ char *job = mem_strndup(text, strcspn(text, "."));
    Pb__StepId id = PB__STEP_ID__INIT;

    if (str_eq(text, "*"))
        return 0;
    if (job_state_parse_id(job, &id, NULL) < 0 || id.array_tasks) {
        cmd_line("\"%s\" does not look like a jobid", text);
        return 1;
    }
    if (job_state_parse_id(text, &id, NULL) < 0) {
        cmd_line("\"%s\" does not look like a stepid", text);
        return 1;
    }
    r->has_job_id = true;
    r->job_id = id.job_id;
    r->has_step_id = id.has_step_id;
    r->step_id = id.step_id;
    return 0;
}

int run_listpids(int argc, char **argv)
{
    Pb__NodePidsRequest request = PB__NODE_PIDS_REQUEST__INIT;
    struct rpc_names nodes;

    if (argc > 0 && parse(argv[0], &request))
        return 1;
    str_puts(cmd_out(), "PID      JOBID    STEPID   LOCALID GLOBALID\n");
    nodes_here(argc > 1 ? argv[1] : NULL, &nodes);
    size_t steps = list_on(&nodes, &request);
    if (!steps)
        say_none(&request, &nodes);
    rpc_here_done(&nodes);
    return steps ? 0 : 1;
}

/* 0: no step's. */
static uint32_t job_of(uint32_t pid)
{
    Pb__NodePidsRequest request = PB__NODE_PIDS_REQUEST__INIT;
    struct rpc_names nodes;
    uint32_t job = 0;

    request.has_pid = true;
    request.pid = pid;
    nodes_here(NULL, &nodes);
    for (size_t i = 0; i < nodes.names.len && !job; i++) {
        _cleanup_arena_ struct arena arena;
        Pb__NodePids *reply = NULL;
        arena_init(&arena, 0);
        if (ask(nodes.names.data[i], &request, &arena, &reply) == 0 && reply->n_steps)
            job = reply->steps[0]->job_id;
    }
    rpc_here_done(&nodes);
    return job;
}

static int on_job(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *part = (const Pb__JobList *)message;
    int64_t *end_at = ctx;

    for (size_t i = 0; i < part->n_jobs; i++) {
        int64_t start_at = job_state_start_at(part->jobs[i]);
        *end_at = job_state_end_at(part->jobs[i]);
        if (!*end_at && start_at)
            *end_at = start_at + YEAR_SEC;
    }
    return 0;
}

int run_pidinfo(int argc, char **argv)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct err err = {0};
    long long pid = 0;
    int64_t end_at = 0;
    char date[64];
    struct tm tm;

    if (!argc) {
        cmd_line("missing argument for keyword:pidinfo");
        return 1;
    }
    uint32_t job = str_parse_i64(argv[0], 1, INT32_MAX, &pid) == 0 ? job_of((uint32_t)pid) : 0;
    if (!job) {
        cmd_line("Failed to locate job for requested pid");
        return 1;
    }
    filter.job_id = &job;
    filter.n_job_id = 1;
    filter.has_all_states = filter.all_states = true;
    if (rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_job, &end_at, &err) < 0) {
        cmd_line("slurm_get_end_time error: %s", err.text);
        return 1;
    }
    time_t end = (time_t)end_at;
    strftime(date, sizeof(date), "%a %b %d %H:%M:%S %Y", localtime_r(&end, &tm));
    str_printf(cmd_out(), "Slurm JobId=%u ends at %s\n", job, date);
    str_printf(cmd_out(), "Job remaining time is %lld seconds\n",
               (long long)(end - time(NULL) > 0 ? end - time(NULL) : 0));
    return 0;
}
