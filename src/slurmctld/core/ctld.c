/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/core/ctld.h"

#include <string.h>

const struct conf *ctld_conf(const struct ctld *c)
{
    return c->control ? control_conf(c->control) : c->conf;
}

const struct conf_host *ctld_me(const struct ctld *c)
{
    return conf_find_controller(ctld_conf(c), c->name);
}

bool ctld_is_alone(const struct ctld *c)
{
    return ctld_conf(c)->controllers.len == 1;
}

bool ctld_debugs(const struct ctld *c, enum conf_debug flag)
{
    return c->control && control_get_debug(c->control) >> flag & 1;
}

/* The limit is the sum of the script, of CONTROL_ENV_MAX and CTLD_REQUEST_MAX, and of plugin
 * options. A slightly larger submission still passes here, so that the error message can name the
 * part that is too large. */
static void limit_submission(struct ctld *c)
{
    uint64_t script = (uint64_t)ctld_conf(c)->sched.max_script_size;
    uint64_t bytes = script + CONTROL_ENV_MAX + (1u << 20);
    bool none = script == 0 || bytes > RPC_BODY_MAX;
    rpc_server_limit_size(c->server, RPC_SUBMIT, none ? RPC_BODY_MAX : (uint32_t)bytes);
}

void ctld_limit_requests(struct ctld *c)
{
    limit_submission(c);
    rpc_set_connect_timeout(ctld_conf(c)->tcp_timeout_sec * 1000);
    const struct conf_rate *r = &ctld_conf(c)->rate;
    struct rpc_rate_options o = {.bucket = r->bucket,
                                 .refill = r->refill,
                                 .period_ms = (int64_t)r->period_sec * 1000,
                                 .users = r->users};
    rpc_server_limit_rate(c->server, r->enable ? &o : NULL);
}

void ctld_reply(struct ctld *c, uint64_t call, const ProtobufCMessage *reply)
{
    size_t len = protobuf_c_message_get_packed_size(reply);
    struct outbox_item *item = outbox_item_new(OUTBOX_REPLY, NULL, len);
    protobuf_c_message_pack(reply, (uint8_t *)item->data);
    item->call = call;
    outbox_add(c->outbox, item);
}

void ctld_reply_part(struct ctld *c, uint64_t call, const struct str *bytes, bool more)
{
    struct outbox_item *item = outbox_item_new(OUTBOX_REPLY, bytes->data, bytes->len);
    item->call = call;
    item->more = more;
    outbox_add(c->outbox, item);
}

void ctld_reply_error(struct ctld *c, uint64_t call, int code, const char *text)
{
    struct outbox_item *item = outbox_item_new(OUTBOX_ERROR, text, strlen(text));
    item->call = call;
    item->code = code;
    outbox_add(c->outbox, item);
}
