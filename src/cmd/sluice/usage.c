/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice usage: what all processes of the nodes use, by user and by job, as the node daemons count.
 */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "loop/loop.h"
#include "proto/node.pb-c.h"
#include "proto/usage.pb-c.h"
#include "rpc/client.h"

#define OTHERS ((uint32_t)-2) /* users beyond those a node counts apart */
#define KIB_SEC_PER_MIB_HOUR (1024.0 * 3600)

struct question {
    struct arena arena;
    struct loop *loop;
    VEC(struct rpc_node_target) targets;
    Pb__NodeUsage **answers; /* of each; NULL: none */
    size_t left, failed;
};

static int on_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct question *q = ctx;
    const Pb__NodeList *part = (const Pb__NodeList *)message;

    for (size_t i = 0; i < part->n_nodes; i++) {
        const Pb__NodeRecord *n = part->nodes[i];
        struct rpc_node_target t = {.node = arena_strdup(&q->arena, n->name),
                                    .addr = arena_strdup(&q->arena, n->addr ? n->addr : n->name),
                                    .port = (uint16_t)n->port};

        if (n->state == PB__NODE_BASE__NODE_FUTURE)
            continue;
        vec_push(&q->targets, t);
    }
    return 0;
}

static void on_answer(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                      const struct err *err)
{
    struct question *q = ctx;
    _cleanup_str_ struct str bytes = STR_INIT;

    if (code) {
        q->failed++;
        cmd_error("%s", err->text);
    } else {
        pb_pack(reply, &bytes); /* it is gone when we return */
        q->answers[index] =
            arena_unpack(&q->arena, &pb__node_usage__descriptor, bytes.data, bytes.len);
    }
    if (--q->left == 0)
        loop_stop(q->loop);
}

/* Each user, and under it its jobs. */
static int by_user(const void *a, const void *b)
{
    const Pb__NodeUsageRow *x = *(Pb__NodeUsageRow *const *)a, *y = *(Pb__NodeUsageRow *const *)b;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static void put_user(uint32_t uid, char *out, size_t size)
{
    const struct passwd *entry = uid == OTHERS ? NULL : getpwuid(uid);

    if (entry)
        snprintf(out, size, "%s", entry->pw_name);
    else if (uid == OTHERS)
        snprintf(out, size, "others");
    else
        snprintf(out, size, "%u", uid);
}

static void print_row(const char *node, const Pb__NodeUsageRow *r)
{
    char user[64], cpu[TIME_TEXT_MAX], job[16] = "-";
    const Pb__Usage *u = r->usage;

    if (!u)
        return;
    put_user(r->uid, user, sizeof(user));
    if (r->has_job_id)
        snprintf(job, sizeof(job), "%u", r->job_id);
    time_format_limit((int64_t)((u->user_usec + u->sys_usec) / 1000000), cpu);
    str_printf(cmd_out(),
               "%-10s %-12s %10s %5u %12s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %10.1f\n", node,
               user, job, r->processes, cpu, u->rss_kib / 1024, u->max_rss_kib / 1024,
               u->max_vsize_kib / 1024, (double)u->rss_kib_sec / KIB_SEC_PER_MIB_HOUR);
}

static void print_time(const Pb__NodeUsage *m, bool period)
{
    const Pb__NodeTime *t = m->time;
    const struct {
        const char *name;
        uint64_t usec;
    } parts[] = {{"user", t->user_usec},         {"system", t->sys_usec},
                 {"interrupts", t->kernel_usec}, {"stolen", t->stolen_usec},
                 {"idle", t->idle_usec},         {"waiting", t->wait_usec},
                 {"down", t->down_usec}};
    char since[TIME_TEXT_MAX];
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        sum += parts[i].usec;
    str_printf(cmd_out(), "%-10s %u CPUs since %s", m->name, m->cpus,
               time_format_date(m->since, "Unknown", since));
    if (period)
        str_printf(cmd_out(), ", period %" PRIu64, m->period);
    str_putc(cmd_out(), ':');
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        str_printf(cmd_out(), "%s %s %.1f %%", i ? "," : "", parts[i].name,
                   sum ? 100.0 * (double)parts[i].usec / (double)sum : 0.0);
    str_putc(cmd_out(), '\n');
}

static void print_all(const struct question *q, bool period)
{
    str_puts(cmd_out(),
             "NODE       USER              JOBID PROCS          CPU      RSS   MAXRSS    "
             "MAXVM   MIB-HOUR\n");
    for (size_t i = 0; i < q->targets.len; i++) {
        const Pb__NodeUsage *m = q->answers[i];

        if (!m)
            continue;
        if (m->n_rows)
            qsort(m->rows, m->n_rows, sizeof(m->rows[0]), by_user);
        for (size_t k = 0; k < m->n_rows; k++)
            print_row(m->name, m->rows[k]);
        if (m->time)
            print_time(m, period);
    }
}

static void on_forgotten(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                         const struct err *err)
{
    struct question *q = ctx;

    if (code) {
        q->failed++;
        cmd_error("%s: the same period will be printed again", err->text);
    }
    loop_stop(q->loop);
}

/* It was printed: the nodes need not keep it. */
static void clear_usage(struct question *q)
{
    for (size_t i = 0; i < q->targets.len; i++) {
        Pb__NodeUsageRequest request = PB__NODE_USAGE_REQUEST__INIT;
        struct rpc_fanout *fanout;

        if (!q->answers[i])
            continue;
        request.has_have = true;
        request.have = q->answers[i]->period;
        fanout = rpc_fanout_start(q->loop, cmd_conf(), &q->targets.data[i], 1, RPC_NODE_USAGE,
                                  &request.base, 0, on_forgotten, q);
        loop_run(q->loop);
        rpc_fanout_free(fanout);
    }
}

static int ask_node_usage(struct question *q, const char *nodes, bool clear)
{
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    Pb__NodeUsageRequest request = PB__NODE_USAGE_REQUEST__INIT;
    struct rpc_fanout *fanout;
    struct err err = {0};

    request.has_collect = request.collect = clear;

    filter.nodes = (char *)nodes;
    if (rpc_call_stream(cmd_client(), RPC_NODE_LIST, &filter.base, on_nodes, q, &err) < 0) {
        cmd_error("%s", err.text);
        return -1;
    }
    if (!q->targets.len) {
        cmd_error("no node is named so: %s", nodes ? nodes : "ALL");
        return -1;
    }
    q->answers = arena_alloc(&q->arena, q->targets.len * sizeof(*q->answers));
    q->left = q->targets.len;
    fanout = rpc_fanout_start(q->loop, cmd_conf(), q->targets.data, q->targets.len, RPC_NODE_USAGE,
                              &request.base, 0, on_answer, q);
    loop_run(q->loop);
    rpc_fanout_free(fanout);
    return 0;
}

int sluice_usage(const struct sluice_options *o, const char *nodes)
{
    struct question q = {0};
    int rc, status;

    sluice_choose(o);
    arena_init(&q.arena, 0);
    q.loop = loop_new(0);
    rc = ask_node_usage(&q, nodes, o->clear);
    if (rc == 0)
        print_all(&q, o->clear);
    status = cmd_flush();
    if (rc == 0 && status == 0 && o->clear)
        clear_usage(&q);
    loop_free(q.loop);
    vec_done(&q.targets);
    arena_done(&q.arena);
    return status || rc || q.failed ? 1 : 0;
}
