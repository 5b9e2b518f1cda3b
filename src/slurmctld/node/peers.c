/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of the leader to the controllers in standby. */
#define LOG_ROOM "slurmctld"
#include <stdlib.h>

#include <utlist.h>

#include "base/mem.h"
#include "base/str.h"
#include "rpc/keyed.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/node/peers.h"

#define PATIENCE_MS 1000 /* a controller that hangs must not delay the shutdown of the others */

struct told {
    struct peers *peers;
    struct rpc_keyed *call;
};

struct peers {
    struct ctld *c;
    const struct rpc_info *rpc;
    size_t open;
    void (*done)(struct ctld *c);
    struct peers *prev, *next;
    size_t count;
    struct told told[];
};

static void end_peers(struct peers *p)
{
    for (size_t i = 0; i < p->count; i++)
        rpc_keyed_drop(p->told[i].call);
    DL_DELETE(p->c->peers, p);
    free(p);
}

void peers_end(struct ctld *c)
{
    while (c->peers)
        end_peers(c->peers);
}

static void on_told(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct told *t = ctx;
    struct peers *p = t->peers;
    struct ctld *c = p->c;
    t->call = NULL;
    if (code < 0 && code != -ERR_CONNECT)
        log_error("%s: %s", p->rpc->name, err->text);
    if (--p->open)
        return;
    void (*done)(struct ctld *) = p->done;
    end_peers(p);
    if (done)
        done(c);
}

void peers_tell(struct ctld *c, enum rpc_number rpc, const ProtobufCMessage *request,
                void (*done)(struct ctld *c))
{
    const struct conf *conf = ctld_conf(c);
    const struct conf_host *me = ctld_me(c);
    struct peers *p = mem_alloc(sizeof(*p) + conf->controllers.len * sizeof(p->told[0]));
    p->c = c;
    p->rpc = rpc_find(rpc);
    p->done = done;
    DL_APPEND(c->peers, p);
    vec_foreach (&conf->controllers, h) {
        if (str_case_eq(h->name, c->name) || (me && str_case_eq(h->own_addr, me->own_addr)))
            continue;
        struct rpc_keyed_request ask = {
            .key = &c->key,
            .addr = h->own_addr,
            .port = conf->slurmctld_port,
            .audience = "slurmctld",
            .rpc = rpc,
            .request = request,
            .timeout_ms = PATIENCE_MS,
        };
        struct told *t = &p->told[p->count++];
        t->peers = p;
        t->call = rpc_keyed_call(c->loop, &ask, on_told, t);
        p->open++;
    }
    if (p->open)
        return;
    end_peers(p);
    if (done)
        done(c);
}
