/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a lead for another controller's: what was acknowledged is durable, open calls are told
 * to go on to the successor, and the process begins anew in standby. The order is stop.c's.
 */
#define LOG_ROOM "slurmctld"
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "slurmctld/ctld.h"

void yield_ping(struct ctld *c, const struct rpc_request *r, bool leads, const char *leader)
{
    Pb__PingReply reply = PB__PING_REPLY__INIT;
    reply.host = c->host ? c->host : (char *)"localhost";
    reply.primary = leads;
    reply.has_pid = true;
    reply.pid = (uint32_t)getpid();
    reply.has_now_ms = true;
    reply.now_ms = loop_wall_ms();
    reply.has_boot_at = true;
    reply.boot_at = c->boot_at_sec;
    reply.name = c->name;
    reply.leader = (char *)leader;
    /* That one leads is as good as the last look into the store, unless that is away for all. */
    if (c->watch && !store_is_stuck(c->store))
        ctld_reply(c, r->call, &reply.base);
    else
        rpc_reply(c->server, r->call, &reply.base);
}

static int check_leader(const struct ctld *c, const Pb__CtldYield *ask, struct err *err)
{
    if (!str_case_eq(ask->leader, c->name))
        return err_set(err, -ERR_CONFIG, "this is controller %s, not %s", c->name, ask->leader);
    if (str_case_eq(ask->successor, c->name) || !conf_find_controller(ctld_conf(c), ask->successor))
        return err_set(err, -ERR_CONFIG, "%s on %s names no other SlurmctldHost=%s",
                       ctld_conf(c)->path, c->host, ask->successor);
    if (!c->control || (c->stopping && !c->successor))
        return err_set(err, -ERR_STANDBY, "%s", err_text(ERR_STANDBY));
    return 0;
}

void yield_request(struct ctld *c, const struct rpc_request *r)
{
    const Pb__CtldYield *ask = (const Pb__CtldYield *)r->body;
    Pb__Empty reply = PB__EMPTY__INIT;
    struct err err = {0};
    if (check_leader(c, ask, &err)) {
        rpc_reply_error(c->server, r->call, err.code, err.text);
        return;
    }
    rpc_reply(c->server, r->call, &reply.base);
    if (c->successor)
        return; /* a repeat */
    log_info("%s takes the lead (%s, uid %u): going back to standby", ask->successor, r->peer,
             r->who.uid);
    c->successor = mem_strdup(ask->successor);
    rpc_server_refuse_sessions(c->server, -ERR_STANDBY, err_text(ERR_STANDBY));
    stop_to_begin_anew(c, true);
}
