/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serves this controller's configuration to nodes without a slurm.conf, over a session: both sides
 * know the cluster key, so that no third party can forge the configuration. */
#define LOG_ROOM "slurmctld"
#include "slurmctld/node/configless.h"
#include "base/mem.h"
#include "slurmctld/core/ctld.h"

#define TEXT_MAX (RPC_BODY_MAX - 65536u)
#define SECOND_MAX (64u << 20) /* bytes sent per second, since unsent bytes are in memory */

/* Whether this second's limit allows another len bytes. */
static bool has_room(struct ctld *c, size_t len)
{
    int64_t now = loop_mono_ms();

    if (now - c->conf_sent_at >= 1000) {
        c->conf_sent_at = now;
        c->conf_sent = 0;
    }
    if (c->conf_sent && c->conf_sent + len > SECOND_MAX)
        return false;
    c->conf_sent += len;
    return true;
}

void configless_answer(struct ctld *c, struct rpc_session *s)
{
    static struct log_limit limit = {.burst = 60};
    const struct conf *conf = control_conf(c->control);
    Pb__NodeConfig m = PB__NODE_CONFIG__INIT;
    struct err err = {0};
    size_t len = 0;
    const char *text = conf->enable_configless ? conf_flat_text(conf, &len) : NULL;

    if (!text)
        err_set(&err, -ERR_NOT_SUPPORTED,
                "this controller sends no configuration: %s has no "
                "SlurmctldParameters=enable_configless",
                conf->path);
    else if (len > TEXT_MAX)
        err_set(&err, -ERR_TOO_BIG,
                "%s and its Include files have %zu bytes, of which a configless node takes %u",
                conf->path, len, TEXT_MAX);
    if (err.code) {
        if (log_allow(&limit))
            log_error("refused %s: %s", rpc_session_peer(s), err.text);
        m.has_code = true;
        m.code = err.code;
        m.error = err.text;
    } else if (!has_room(c, len)) {
        m.has_retry_ms = true;
        m.retry_ms = 1000;
    } else {
        m.has_hash = m.has_text = true;
        m.hash = conf->hash;
        m.text = (ProtobufCBinaryData){len, (uint8_t *)text};
        log_debug("%s gets the configuration", rpc_session_peer(s));
    }
    rpc_session_send(s, RPC_NODE_CONFIG, &m.base);
}

static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct ctld *c = ctx;

    if (!c->stopping && rpc->number == RPC_NODE_CONFIG_ASK)
        configless_answer(c, s);
}

void configless_accept(struct ctld *c, struct rpc_session *s)
{
    rpc_session_set_events(s, &(struct rpc_session_events){.on_message = on_message, .ctx = c});
}
