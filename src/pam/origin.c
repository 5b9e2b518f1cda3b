/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logins from another node of the job: that node's daemon knows which job made the connection. */
#include <netdb.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "pam/ask.h"
#include "rpc/client.h"

#define NODES_MAX 1024  /* nodes of all jobs together that are examined */
#define RESOLVE_MS 4000 /* names that need a lookup after this time are skipped */
#define ANSWER_MS 3000
#define ASKED_MAX 64 /* daemons asked per address */

struct others {
    struct ask *ask;
    const Pb__AdoptReply *several;
    struct loop *loop;
    struct rpc_node_target targets[ASKED_MAX];
    size_t count, left;
    uint32_t job_id;
};

static bool is_node_known(const struct others *o, const char *node)
{
    for (size_t i = 0; i < o->count; i++)
        if (!strcmp(o->targets[i].node, node))
            return true;
    return !strcmp(node, o->ask->node);
}

static bool is_there(const struct ask *a, const char *addr, int flags)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *list = NULL;
    bool found = false;

    if (getaddrinfo(addr, NULL, &hints, &list))
        return false;
    for (const struct addrinfo *i = list; i && !found; i = i->ai_next) {
        struct sockaddr_storage sa = {0};
        struct owner_end end;

        memcpy(&sa, i->ai_addr, i->ai_addrlen < sizeof(sa) ? i->ai_addrlen : sizeof(sa));
        found = !owner_end_of(&sa, &end) && !memcmp(end.addr, a->remote.addr, sizeof(end.addr));
    }
    freeaddrinfo(list);
    return found;
}

static void add_node(struct others *o, const struct conf *full, const char *node, bool resolve)
{
    long index = conf_find_node(full, node);
    const struct conf_node *n = index >= 0 ? &full->nodes.data[index] : NULL;

    if (n && o->count < ASKED_MAX && !is_node_known(o, node) &&
        (is_there(o->ask, n->addr, AI_NUMERICHOST) || (resolve && is_there(o->ask, n->addr, 0))))
        o->targets[o->count++] =
            (struct rpc_node_target){.node = n->name, .addr = n->addr, .port = n->port};
}

/* Only the nodes of these jobs can have a process of one of them. */
static void find_targets(struct others *o, const struct conf *full)
{
    int64_t until_ms = loop_mono_ms() + RESOLVE_MS;
    size_t seen = 0;

    for (size_t i = 0; i < o->several->n_jobs; i++) {
        _cleanup_hostlist_ struct hostlist *nodes = NULL;
        const char *list = o->several->jobs[i]->nodes;
        char name[HOSTLIST_NAME_MAX + 1];

        if (!list || hostlist_parse(list, &nodes, NULL))
            continue;
        for (size_t k = 0; k < hostlist_count(nodes) && seen++ < NODES_MAX; k++)
            add_node(o, full, hostlist_nth(nodes, k, name), loop_mono_ms() < until_ms);
    }
}

static void on_answer(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                      const struct err *err)
{
    struct others *o = ctx;
    const Pb__OriginReply *m = code ? NULL : (const Pb__OriginReply *)reply;

    if (m && m->has_job_id && !o->job_id)
        o->job_id = m->job_id;
    if (--o->left == 0 || o->job_id)
        loop_stop(o->loop);
}

static void ask_targets(struct others *o)
{
    uint8_t local[OWNER_END_SIZE], remote[OWNER_END_SIZE];
    Pb__OriginRequest m = PB__ORIGIN_REQUEST__INIT;
    struct rpc_fanout *f;

    owner_end_pack(&o->ask->remote, local);
    owner_end_pack(&o->ask->local, remote);
    m.uid = o->ask->uid;
    m.local = (ProtobufCBinaryData){sizeof(local), local};
    m.remote = (ProtobufCBinaryData){sizeof(remote), remote};
    o->left = o->count;
    o->loop = loop_new(0);
    f = rpc_fanout_start(o->loop, o->ask->conf, o->targets, o->count, RPC_ORIGIN, &m.base,
                         ANSWER_MS, on_answer, o);
    loop_run(o->loop);
    rpc_fanout_free(f);
    loop_free(o->loop);
}

uint32_t origin_job(struct ask *a, const Pb__AdoptReply *several)
{
    struct others o = {.ask = a, .several = several};
    struct conf *full = NULL;
    struct err err = {0};

    if (conf_load(a->conf->path, CONF_FULL, NULL, &full, NULL, &err))
        return 0;
    find_targets(&o, full);
    if (o.count)
        ask_targets(&o);
    conf_free(full);
    return o.job_id;
}
