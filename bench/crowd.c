/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Acts as the node daemons of a large cluster towards a real controller, for measurements. Each
 * node has a session, registers with its configured resources, reports a script as started as soon
 * as it is ordered to start it, and as gone as soon as it is ordered to end it. No script runs.
 *
 *   usage: crowd KEY ADDRESS PORT NODES CPUS MEMORY      CPUS and MEMORY (MiB) are per node
 *
 * Prints "ready" when every node has been welcomed; ends on SIGTERM or with its parent.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "proto/node.pb-c.h"
#include "rpc/session.h"

#define BEAT_MS 30000

struct crowd {
    struct loop *loop;
    struct loop_timer *beat;
    struct auth_key key;
    struct rpc_target target;
    uint32_t cpus;
    uint64_t mem_mib;
    VEC(struct node *) nodes;
    size_t welcomed;
};

struct node {
    struct crowd *crowd;
    struct rpc_session *session;
    char name[HOSTLIST_NAME_MAX + 1];
    uint64_t seq;
    bool welcomed;
};

static void on_open(void *ctx, struct rpc_session *s)
{
    struct node *n = ctx;
    Pb__NodeRegister m = PB__NODE_REGISTER__INIT;
    m.name = n->name;
    m.version = SLURM_VERSION;
    m.incarnation = "crowd";
    m.has_cpus = m.has_sockets = m.has_cores = m.has_threads = m.has_real_memory_mib = true;
    m.cpus = m.cores = n->crowd->cpus;
    m.sockets = m.threads = 1;
    m.real_memory_mib = n->crowd->mem_mib;
    rpc_session_send(s, RPC_NODE_REGISTER, &m.base);
}

static void send_node_event(struct node *n, Pb__NodeEvent *e)
{
    Pb__NodeReport m = PB__NODE_REPORT__INIT;
    e->seq = ++n->seq;
    m.n_events = 1;
    m.events = &e;
    rpc_session_send(n->session, RPC_NODE_REPORT, &m.base);
}

static void take_order(struct node *n, const Pb__NodeOrder *o)
{
    Pb__NodeEvent e = PB__NODE_EVENT__INIT;
    Pb__Launched launched = PB__LAUNCHED__INIT;
    Pb__JobGone gone = PB__JOB_GONE__INIT;
    if (o->launch) {
        launched.job_id = o->launch->job_id;
        launched.restarts = o->launch->restarts;
        e.launched = &launched;
        send_node_event(n, &e);
    } else if (o->terminate && !o->terminate->has_step_id) {
        gone.job_id = o->terminate->job_id;
        gone.restarts = o->terminate->restarts;
        e.job_gone = &gone;
        send_node_event(n, &e);
    }
}

static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct node *n = ctx;
    struct crowd *c = n->crowd;
    const Pb__NodeOrders *orders = (const Pb__NodeOrders *)body;
    if (rpc->number == RPC_NODE_WELCOME && !n->welcomed) {
        n->welcomed = true;
        if (++c->welcomed == c->nodes.len) {
            puts("ready");
            fflush(stdout);
        }
    }
    for (size_t i = 0; rpc->number == RPC_NODE_ORDERS && i < orders->n_orders; i++)
        take_order(n, orders->orders[i]);
}

static void on_beat(void *ctx)
{
    struct crowd *c = ctx;
    Pb__NodeReport m = PB__NODE_REPORT__INIT;
    vec_foreach (&c->nodes, n)
        if (rpc_session_is_open((*n)->session))
            rpc_session_send((*n)->session, RPC_NODE_REPORT, &m.base);
    loop_timer_set(c->beat, BEAT_MS);
}

static void on_stop(void *ctx, int signo)
{
    loop_stop(((struct crowd *)ctx)->loop);
}

static void connect_all(struct crowd *c, const struct hostlist *names)
{
    for (size_t i = 0; i < hostlist_count(names); i++) {
        struct node *n = mem_new(struct node);
        n->crowd = c;
        hostlist_nth(names, i, n->name);
        vec_push(&c->nodes, n);
    }
    vec_foreach (&c->nodes, n) {
        const struct rpc_session_events events = {
            .accepts = RPC_WHO_NODE, .on_open = on_open, .on_message = on_message, .ctx = *n};
        (*n)->session =
            rpc_session_connect(c->loop, &c->key, (*n)->name, &c->target, 1, true, &events);
    }
}

static void raise_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int main(int argc, char **argv)
{
    struct crowd c = {0};
    struct err err = {0};
    _cleanup_hostlist_ struct hostlist *names = NULL;
    if (argc != 7) {
        fprintf(stderr, "usage: crowd KEY ADDRESS PORT NODES CPUS MEMORY\n");
        return 2;
    }
    if (auth_key_load(argv[1], geteuid(), &c.key, &err) || hostlist_parse(argv[4], &names, &err)) {
        fprintf(stderr, "crowd: %s\n", err.text);
        return 1;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    raise_files();
    c.target = (struct rpc_target){argv[2], (uint16_t)strtoul(argv[3], NULL, 10)};
    c.cpus = (uint32_t)strtoul(argv[5], NULL, 10);
    c.mem_mib = strtoull(argv[6], NULL, 10);
    c.loop = loop_new(0);
    loop_signal(c.loop, SIGTERM, on_stop, &c);
    loop_signal(c.loop, SIGINT, on_stop, &c);
    connect_all(&c, names);
    c.beat = loop_timer_new(c.loop, on_beat, &c);
    loop_timer_set(c.beat, BEAT_MS);
    loop_run(c.loop);
    vec_foreach (&c.nodes, n) {
        rpc_session_free((*n)->session);
        free(*n);
    }
    vec_done(&c.nodes);
    loop_timer_free(c.beat);
    loop_free(c.loop);
    auth_key_done(&c.key);
    return 0;
}
