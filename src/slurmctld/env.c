/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Implements control/env.h for the real process. */
#define LOG_ROOM "slurmctld"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/timefmt.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/diag.h"
#include "slurmctld/core/job_comp.h"
#include "slurmctld/core/names.h"
#include "slurmctld/env.h"
#include "slurmctld/node/nodes.h"
#include "slurmctld/node/payload.h"
#include "slurmctld/submit/submit_env.h"

static int64_t on_wall_ms(void *ctx)
{
    return loop_wall_ms();
}

static int64_t on_mono_ms(void *ctx)
{
    return loop_mono_ms();
}

static void on_wake_at(void *ctx, int64_t mono_ms)
{
    struct ctld *c = ctx;
    int64_t now_ms = loop_mono_ms();
    if (mono_ms < 0 || mono_ms == INT64_MAX)
        loop_timer_set(c->wake, -1);
    else
        loop_timer_set(c->wake, mono_ms > now_ms ? mono_ms - now_ms : 0);
}

static void on_env_put(void *ctx, enum record_kind kind, uint64_t number, const char *name,
                       const void *data, size_t len)
{
    struct ctld *c = ctx;
    store_put(c->batch, kind, number, name, data, len);
    if (kind == RECORD_PAYLOAD)
        payload_cache_put(c->payloads, number, data, len);
}

static void on_del(void *ctx, enum record_kind kind, uint64_t number, const char *name)
{
    struct ctld *c = ctx;
    store_delete(c->batch, kind, number, name);
    if (kind == RECORD_PAYLOAD)
        payload_cache_drop(c->payloads, number);
}

static void on_reply(void *ctx, uint64_t call, const ProtobufCMessage *reply)
{
    ctld_reply(ctx, call, reply);
}

static void on_reply_error(void *ctx, uint64_t call, int code, const char *text)
{
    struct ctld *c = ctx;
    static struct log_limits limits = {.burst = 60};
    const struct rpc_request *r = c->serving;
    bool denied = code == -ERR_ACCESS || code == ERR_ACCESS;
    if (denied && r && r->call == call && log_allow_source(&limits, r->who.uid))
        log_info("refused: uid %u (%s): %s: %s", r->who.uid, r->peer, r->rpc->name, text);
    ctld_reply_error(ctx, call, code, text);
}

/* Queues an item for the present session of the node. A later session registers first, and
 * control/ then repeats what the node must know. */
static void to_node(struct ctld *c, const char *node, struct outbox_item *item)
{
    item->session = nodes_session(c, node);
    outbox_add(c->outbox, item);
}

static void on_send(void *ctx, const char *node, const Pb__NodeOrders *orders)
{
    struct ctld *c = ctx;
    if (!nodes_session(c, node))
        return;
    size_t len = protobuf_c_message_get_packed_size(&orders->base);
    struct outbox_item *item = outbox_item_new(OUTBOX_ORDERS, NULL, len);
    protobuf_c_message_pack(&orders->base, (uint8_t *)item->data);
    to_node(c, node, item);
}

static void on_ack(void *ctx, const char *node, uint64_t seq)
{
    struct outbox_item *item = outbox_item_new(OUTBOX_ACK, NULL, 0);
    item->number = seq;
    to_node(ctx, node, item);
}

static void on_welcome(void *ctx, const char *node, uint64_t epoch)
{
    struct outbox_item *item = outbox_item_new(OUTBOX_WELCOME, NULL, 0);
    item->number = epoch;
    to_node(ctx, node, item);
}

static void to_helper(struct ctld *c, enum outbox_kind kind, const Pb__ScriptRun *m)
{
    if (ctld_debugs(c, CONF_DEBUG_script))
        log_info("Script: %s %s for job %u", kind == OUTBOX_RUN ? "run" : "end",
                 m->path ? m->path : "", m->job_id);
    struct outbox_item *item =
        outbox_item_new(kind, NULL, protobuf_c_message_get_packed_size(&m->base));
    protobuf_c_message_pack(&m->base, (uint8_t *)item->data);
    item->number = m->has_payload_job_id ? m->payload_job_id : 0;
    outbox_add(c->outbox, item);
}

static void on_env_run(void *ctx, const Pb__ScriptRun *m)
{
    to_helper(ctx, OUTBOX_RUN, m);
}

static void on_env_stop(void *ctx, const Pb__ScriptRun *m)
{
    Pb__ScriptRun which = *m;
    which.path = (char *)"";
    to_helper(ctx, OUTBOX_RUN_END, &which);
}

static void on_env_close(void *ctx, const char *node)
{
    nodes_close(ctx, node);
}

static void on_sign(void *ctx, const void *data, size_t len, uint8_t sig[64])
{
    struct ctld *c = ctx;
    auth_sign(c->signer, data, len, sig);
}

static bool on_user_in_group(void *ctx, uint32_t uid, const char *group)
{
    struct ctld *c = ctx;
    return names_in_group(c->names, uid, group);
}

static const char *on_user_name(void *ctx, uint32_t uid)
{
    return names_user(((struct ctld *)ctx)->names, uid);
}

static const char *on_user_name_if_known(void *ctx, uint32_t uid)
{
    struct names *names = ((struct ctld *)ctx)->names;
    return names_has_user(names, uid) ? names_user(names, uid) : NULL;
}

static const char *on_group_name(void *ctx, uint32_t gid)
{
    return names_group(((struct ctld *)ctx)->names, gid);
}

/* The key is derived from the cluster key, so that no secret is stored with the state. */
static void on_part_key(void *ctx, const char *name, uint64_t number,
                        char key[CONTROL_PART_KEY_SIZE])
{
    struct ctld *c = ctx;
    uint8_t mac[AUTH_MAC_SIZE];
    _cleanup_free_ char *text = mem_printf("%llu %s", (unsigned long long)number, name);
    auth_mac2(&c->key, "partition key", strlen("partition key"), text, strlen(text), mac);
    for (size_t i = 0; i < CONTROL_PART_KEY_SIZE / 2; i++)
        snprintf(key + 2 * i, 3, "%02x", mac[i]);
}

static void on_log(void *ctx, enum log_level level, const char *room, const char *text)
{
    log_write(level, room, "%s", text);
}

static void on_log_sched(void *ctx, const char *text)
{
    log_write_sched(text);
}

/* The first half of the kernel's random boot id. */
static uint64_t read_boot(void)
{
    _cleanup_str_ struct str text = STR_INIT;
    if (path_read_file("/proc/sys/kernel/random/boot_id", 64, &text, NULL) != 0)
        return 0;
    uint64_t number = 0;
    for (const char *c = str_cstr(&text); *c && number >> 60 == 0; c++)
        if (isxdigit((unsigned char)*c))
            number = number << 4 |
                     (uint64_t)(isdigit((unsigned char)*c) ? *c - '0' : (*c | 32) - 'a' + 10);
    return number;
}

static uint64_t on_boot(void *ctx)
{
    return ((const struct ctld *)ctx)->boot;
}

void env_init(struct env *env, struct ctld *c)
{
    *env = (struct env){
        .ctx = c,
        .wall_ms = on_wall_ms,
        .mono_ms = on_mono_ms,
        .work_usec = diag_clock,
        .zone = &time_zone_host,
        .wake_at = on_wake_at,
        .put = on_env_put,
        .del = on_del,
        .reply = on_reply,
        .reply_error = on_reply_error,
        .send = on_send,
        .ack = on_ack,
        .welcome = on_welcome,
        .close = on_env_close,
        .sign = on_sign,
        .user_in_group = on_user_in_group,
        .user_name = on_user_name,
        .user_name_if_known = on_user_name_if_known,
        .group_name = on_group_name,
        .part_key = on_part_key,
        .log = on_log,
        .log_sched = on_log_sched,
        .boot = on_boot,
        .job_ended = job_comp_ended,
        .run = c->runs_scripts ? on_env_run : NULL,
        .stop = on_env_stop,
    };
    submit_env_init(env);
    c->boot = read_boot();
}
