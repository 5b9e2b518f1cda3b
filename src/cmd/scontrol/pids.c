/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol listjobs", "liststeps", "listpids", "getent", "pidinfo" and "show slurmd": what runs on
 * this host, according to its node daemons. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "base/timefmt.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/usage.pb-c.h"
#include "show/job_state.h"
#include "show/show.h"

#define STATUS_MAX 65536                /* bytes of /proc/PID/status */
#define YEAR_SEC (INT64_C(365) * 86400) /* displayed duration of a job without a limit */

/* The nodes to ask: the named one, the node of the job in which scontrol runs, or all nodes with a
 * daemon on this host. */
static void find_local_nodes(const char *node, struct rpc_names *out)
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

static int ask_node(const char *node, const Pb__NodePidsRequest *request, struct arena *arena,
                    Pb__NodePids **reply)
{
    struct err err = {0};
    int rc = rpc_here_call(cmd_conf(), node, RPC_NODE_PIDS, &request->base, arena, reply, &err);

    if (rc < 0)
        cmd_error("the node daemon of %s does not answer on this host: %s", node, err.text);
    return rc;
}

/* Lists the steps; returns their number. */
static size_t list_on(const struct rpc_names *nodes, const Pb__NodePidsRequest *request)
{
    size_t steps = 0;

    vec_foreach (&nodes->names, node) {
        _cleanup_arena_ struct arena arena;
        Pb__NodePids *reply = NULL;
        arena_init(&arena, 0);
        if (ask_node(*node, request, &arena, &reply) < 0)
            continue;
        for (size_t i = 0; i < reply->n_steps; i++)
            show_pids_text(reply->steps[i], cmd_out());
        steps += reply->n_steps;
    }
    return steps;
}

/* target: the text of the argument; NULL: every step. */
static void print_no_process(const Pb__NodePidsRequest *r, const char *target,
                             const struct rpc_names *nodes)
{
    _cleanup_str_ struct str where = STR_INIT;

    if (nodes->names.len == 1)
        str_printf(&where, "on node %s", nodes->names.data[0]);
    else
        str_puts(&where, "on this host");
    if (r->has_step_id)
        cmd_line("StepId=%s does not exist %s.", target, str_cstr(&where));
    else if (r->has_job_id)
        cmd_line("There are no steps for job %s %s.", target, str_cstr(&where));
    else
        cmd_line("No job steps exist on this node.");
}

/* [JOB[.STEP]|*]. Returns 0, or the exit status after a message. */
static int parse_target(const char *text, Pb__NodePidsRequest *r)
{
    _cleanup_free_ char *job = mem_strndup(text, strcspn(text, "."));
    Pb__StepId id = PB__STEP_ID__INIT;

    if (str_eq(text, "*"))
        return 0;
    bool is_id = job_arg_parse(job, &id, NULL) >= 0;
    bool is_several =
        is_id && id.array_tasks && id.array_tasks[strspn(id.array_tasks, "0123456789")];
    if (!is_id || is_several) {
        cmd_line("\"%s\" does not look like a jobid", text);
        return 1;
    }
    if (job_arg_parse(text, &id, NULL) < 0) {
        cmd_line("\"%s\" does not look like a stepid", text);
        return 1;
    }
    struct err err = {0};
    r->has_job_id = true;
    if (job_arg_find_record(&id, &r->job_id, &err) < 0) {
        cmd_line("%s", err.text);
        return 1;
    }
    r->has_step_id = id.has_step_id;
    r->step_id = id.step_id;
    return 0;
}

int run_listpids(int argc, char **argv)
{
    Pb__NodePidsRequest request = PB__NODE_PIDS_REQUEST__INIT;
    struct rpc_names nodes;

    if (argc > 0 && parse_target(argv[0], &request))
        return 1;
    show_pids_titles(cmd_out());
    find_local_nodes(argc > 1 ? argv[1] : NULL, &nodes);
    size_t steps = list_on(&nodes, &request);
    if (!steps)
        print_no_process(&request, argc > 0 ? argv[0] : NULL, &nodes);
    rpc_here_done(&nodes);
    return steps ? 0 : 1;
}

/* Calls visit for each step on the nodes, or for the first one of each job. */
static size_t visit_steps(const char *node, bool jobs, void (*visit)(const Pb__StepPids *s))
{
    Pb__NodePidsRequest request = PB__NODE_PIDS_REQUEST__INIT;
    VEC(uint64_t) seen = {0};
    struct rpc_names nodes;

    find_local_nodes(node, &nodes);
    vec_foreach (&nodes.names, name) {
        _cleanup_arena_ struct arena arena;
        Pb__NodePids *reply = NULL;
        arena_init(&arena, 0);
        if (ask_node(*name, &request, &arena, &reply) < 0)
            continue;
        for (size_t i = 0; i < reply->n_steps; i++) {
            const Pb__StepPids *s = reply->steps[i];
            uint64_t id = (uint64_t)s->job_id << 32 | (jobs ? 0 : s->step_id);
            bool is_new = true;
            vec_foreach (&seen, other)
                is_new = is_new && *other != id;
            if (!is_new)
                continue;
            vec_push(&seen, id);
            visit(s);
        }
    }
    size_t count = seen.len;
    vec_done(&seen);
    if (!count)
        print_no_process(&request, NULL, &nodes);
    rpc_here_done(&nodes);
    return count;
}

static void put_job_pids(const Pb__StepPids *s)
{
    str_printf(cmd_out(), "%u\n", s->job_id);
}

static void put_job_step(const Pb__StepPids *s)
{
    char id[STEP_ID_TEXT_MAX];
    str_printf(cmd_out(), "%-8u %s\n", s->job_id,
               strchr(step_id_text(s->job_id, s->step_id, id), '.') + 1);
}

int run_listjobs(int argc, char **argv)
{
    str_puts(cmd_out(), "JOBID\n");
    return visit_steps(argc > 0 ? argv[0] : NULL, true, put_job_pids) ? 0 : 1;
}

int run_liststeps(int argc, char **argv)
{
    str_puts(cmd_out(), "JOBID    STEPID\n");
    return visit_steps(argc > 0 ? argv[0] : NULL, false, put_job_step) ? 0 : 1;
}

/* Format of /etc/group: "staff:x:50:ann,bob". */
static void put_group(gid_t gid)
{
    const struct group *g = getgrgid(gid);
    if (!g) {
        str_printf(cmd_out(), "%u:x:%u:\n", gid, gid);
        return;
    }
    str_printf(cmd_out(), "%s:x:%u:", g->gr_name, gid);
    for (size_t i = 0; g->gr_mem[i]; i++)
        str_printf(cmd_out(), "%s%s", i ? "," : "", g->gr_mem[i]);
    str_putc(cmd_out(), '\n');
}

/* The numbers after "Uid:" and similar keys in /proc/PID/status; NULL: the process has ended. */
static const char *find_ids(const char *status, const char *key)
{
    const char *line = strstr(status, key);
    return line ? line + strlen(key) : NULL;
}

static void put_groups(const char *ids)
{
    for (char *end; *ids && *ids != '\n'; ids = end) {
        unsigned long gid = strtoul(ids, &end, 10);
        if (end == ids)
            break;
        put_group((gid_t)gid);
        end += strspn(end, " \t");
    }
}

/* The user and groups of a step are those of its processes. */
static void put_entities(const Pb__StepPids *s)
{
    char id[STEP_ID_TEXT_MAX];
    for (size_t i = 0; i < s->n_processes; i++) {
        char path[64];
        struct str status = STR_INIT;
        snprintf(path, sizeof path, "/proc/%u/status", s->processes[i]->pid);
        int r = path_read_file(path, STATUS_MAX, &status, NULL);
        const char *uids = r < 0 ? NULL : find_ids(str_cstr(&status), "\nUid:");
        const char *groups = r < 0 ? NULL : find_ids(str_cstr(&status), "\nGroups:");
        if (uids && groups) {
            uid_t uid = (uid_t)strtoul(uids, NULL, 10);
            const struct passwd *user = getpwuid(uid);
            str_printf(cmd_out(), "JobId=%s:\nUser:\n", step_id_text(s->job_id, s->step_id, id));
            if (user)
                str_printf(cmd_out(), "%s:x:%u:%u:%s:%s:%s\n", user->pw_name, uid, user->pw_gid,
                           user->pw_gecos, user->pw_dir, user->pw_shell);
            else
                str_printf(cmd_out(), "%u:x:%u:::\n", uid, uid);
            str_puts(cmd_out(), "Groups:\n");
            put_groups(groups + strspn(groups, " \t"));
            str_putc(cmd_out(), '\n');
        }
        str_done(&status);
        if (uids && groups)
            return;
    }
}

int run_getent(int argc, char **argv)
{
    return visit_steps(argc > 0 ? argv[0] : NULL, false, put_entities) ? 0 : 1;
}

static int show_daemon(const char *node)
{
    Pb__NodePidsRequest all = PB__NODE_PIDS_REQUEST__INIT;
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__NodeStatus *status = NULL;
    Pb__NodePids *pids = NULL;
    struct err err = {0};
    char id[STEP_ID_TEXT_MAX];
    _cleanup_str_ struct str steps = STR_INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (rpc_here_call(cmd_conf(), node, RPC_NODE_STATUS, &request.base, &arena, &status, &err) <
        0) {
        cmd_error("the node daemon of %s does not answer on this host: %s", node, err.text);
        return 1;
    }
    if (ask_node(node, &all, &arena, &pids) < 0)
        return 1;
    for (size_t i = 0; i < pids->n_steps; i++)
        str_printf(&steps, "%s%s", i ? "," : "",
                   step_id_text(pids->steps[i]->job_id, pids->steps[i]->step_id, id));
    show_node_status_text(status, str_cstr(&steps), cmd_out());
    return 0;
}

int show_slurmd(const char *node)
{
    struct rpc_names nodes;
    int status = 0;
    find_local_nodes(node, &nodes);
    if (!nodes.names.len) {
        cmd_line("slurm_load_slurmd_status error: no node daemon runs on this host");
        status = 1;
    }
    vec_foreach (&nodes.names, name)
        status |= show_daemon(*name);
    rpc_here_done(&nodes);
    return status;
}

/* Returns 0 if the process belongs to no step. */
static uint32_t job_of(uint32_t pid)
{
    Pb__NodePidsRequest request = PB__NODE_PIDS_REQUEST__INIT;
    struct rpc_names nodes;
    uint32_t job = 0;

    request.has_pid = true;
    request.pid = pid;
    find_local_nodes(NULL, &nodes);
    for (size_t i = 0; i < nodes.names.len && !job; i++) {
        _cleanup_arena_ struct arena arena;
        Pb__NodePids *reply = NULL;
        arena_init(&arena, 0);
        if (ask_node(nodes.names.data[i], &request, &arena, &reply) == 0 && reply->n_steps)
            job = reply->steps[0]->job_id;
    }
    rpc_here_done(&nodes);
    return job;
}

struct job_end {
    uint32_t job_id;
    int64_t at;
};

static int on_job(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *part = (const Pb__JobList *)message;
    struct job_end *end = ctx;

    for (size_t i = 0; i < part->n_jobs; i++) {
        int64_t start_at = job_state_start_at(part->jobs[i]);
        if (part->jobs[i]->live->job_id != end->job_id)
            continue; /* of another component of a job set */
        end->at = job_state_end_at(part->jobs[i]);
        if (!end->at && start_at)
            end->at = start_at + YEAR_SEC;
    }
    return 0;
}

int run_pidinfo(int argc, char **argv)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct err err = {0};
    long long pid = 0;
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
    struct job_end end_of_job = {.job_id = job};
    filter.job_id = &job;
    filter.n_job_id = 1;
    filter.has_all_states = filter.all_states = true;
    if (rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_job, &end_of_job, &err) < 0) {
        cmd_line("slurm_get_end_time error: %s", err.text);
        return 1;
    }
    time_t end = (time_t)end_of_job.at;
    strftime(date, sizeof(date), "%a %b %d %H:%M:%S %Y", localtime_r(&end, &tm));
    str_printf(cmd_out(), "Slurm JobId=%u ends at %s\n", job, date);
    str_printf(cmd_out(), "Job remaining time is %lld seconds\n",
               (long long)(end - time(NULL) > 0 ? end - time(NULL) : 0));
    return 0;
}
