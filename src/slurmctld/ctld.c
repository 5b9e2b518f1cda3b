/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmctld"
#include "slurmctld/ctld.h"
#include "slurmctld/start.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define WORKERS 2 /* commits, and a configuration being read */

/* Answers. */

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

/* The turn: what came in was applied by now; plan, make durable, let out. */

static void on_turn(void *ctx)
{
    struct ctld *c = ctx;
    c->turns++;
    control_turn(c->control);
    outbox_turn(c->outbox);
}

static void on_durable(void *ctx)
{
    struct ctld *c = ctx;
    c->commits++;
    outbox_durable(c->outbox);
}

static void on_commit(void *ctx, struct store_batch *batch)
{
    struct ctld *c = ctx;
    store_commit(c->store, batch, on_durable, c);
}

static void on_wake(void *ctx)
{
    struct ctld *c = ctx;
    control_tick(c->control);
}

/* Events. */

static void on_store_fatal(void *ctx, const struct err *why)
{
    log_write(LOG_LVL_FATAL, LOG_ROOM,
              "%s: what is on disk is not known now; ending, so that nothing is answered that may "
              "be lost; the next start reads what is there",
              why->text);
    _exit(1);
}

static void on_store_lost(void *ctx, const struct err *why)
{
    log_write(LOG_LVL_FATAL, LOG_ROOM, "%s; ending, without having changed anything since",
              why->text);
    _exit(1);
}

static void on_store_trouble(void *ctx, const struct err *why)
{
    if (why->code)
        log_error("%s", why->text);
    else
        log_info("%s", why->text);
}

static void on_gone(void *ctx, uint64_t call)
{
    struct ctld *c = ctx;
    listing_drop(c, call);
    control_call_gone(c->control, call);
}

static void on_refused(void *ctx, const char *peer, const char *why)
{
    static struct log_limit limit = {.burst = 60};
    if (log_allow(&limit))
        log_error("refused: %s: %s", peer, why);
}

static void on_signal(void *ctx, int signo)
{
    struct ctld *c = ctx;
    switch (signo) {
    case SIGHUP:
        log_info("SIGHUP: reading the configuration again");
        reload_start(c, 0, false);
        break;
    case SIGUSR2:
        logging_open(c, control_conf(c->control), false);
        log_info("SIGUSR2: the log was opened again");
        break;
    default:
        log_info("%s: stopping", signo == SIGTERM ? "SIGTERM" : "SIGINT");
        stop_begin(c);
    }
}

/* The state of the last run. */

struct restore {
    struct ctld *c;
    size_t good, bad;
};

static void on_record(void *ctx, uint32_t kind, uint64_t number, const char *name, const void *data,
                      size_t len)
{
    struct restore *r = ctx;
    struct err err = {0};
    if (control_restore(r->c->control, (enum record_kind)kind, number, name, data, len, &err) ==
        0) {
        r->good++;
        return;
    }
    r->bad++;
    log_error("record %u/%llu%s%s is left out: %s", kind, (unsigned long long)number,
              name ? " " : "", name ? name : "", err.text);
}

static void on_damaged(void *ctx, uint32_t kind, uint64_t number, const char *name, const char *why)
{
    struct restore *r = ctx;
    r->bad++;
    log_error("record %u/%llu%s%s is left out: %s", kind, (unsigned long long)number,
              name ? " " : "", name ? name : "", why);
}

/* The state comes from here on; a controller that had the lead before commits nothing more. */
static int state_open(struct ctld *c, const struct conf *conf, struct err *err)
{
    struct store_events events = {.on_fatal = on_store_fatal,
                                  .on_trouble = on_store_trouble,
                                  .on_lost = on_store_lost,
                                  .ctx = c};
    unsigned flags = STORE_TAKE_LEAD | (c->options->clean ? STORE_CLEAN : 0) |
                     (c->options->ignore_damage ? STORE_IGNORE_DAMAGE : 0);
    const char *shared = conf->state_save_store;
    struct store_where where = {.at = shared ? shared : conf->state_save_location,
                                .cluster = conf->cluster_name};
    int rc = store_open(&where, flags, c->loop, &events, &c->store, err);
    return rc ? err_prefix(err, shared ? "StateSaveStore" : "StateSaveLocation") : 0;
}

static int state_load(struct ctld *c, struct err *err)
{
    int64_t begin_ms = loop_mono_ms();
    struct restore r = {.c = c};
    int rc = store_load(c->store, RECORD_PAYLOAD, on_record, on_damaged, &r, err);
    if (rc)
        return err_prefix(err, "the saved state");
    log_info("%zu records of state read from %s in %lld ms%s", r.good, store_name(c->store),
             (long long)(loop_mono_ms() - begin_ms),
             r.bad ? "; some were left out, see above" : "");
    return 0;
}

static void on_script_ended(void *ctx, const Pb__ScriptEnded *m)
{
    struct ctld *c = ctx;
    if (c->control)
        control_script_ended(c->control, m);
}

/* Before there is any state, so that it holds none of it. */
static void helper_open(struct ctld *c, const struct conf *conf)
{
    struct scripts_options options = {
        .loop = c->loop, .dir = conf->state_save_location, .on_ended = on_script_ended, .ctx = c};
    if (c->runs_scripts)
        c->scripts = scripts_new(&options);
}

int ctld_open(struct ctld *c, struct conf *conf, struct err *err)
{
    char host[256] = "localhost";
    if (gethostname(host, sizeof(host) - 1) == 0)
        c->host = mem_strdup(host);
    c->boot_at_sec = loop_wall_ms() / 1000;
    c->loop = loop_new(WORKERS);
    helper_open(c, conf);
    c->names = names_new();
    c->payloads = payload_cache_new(CTLD_PAYLOAD_CACHE);
    c->outbox = outbox_new(&(struct outbox_ops){.send = send_item, .commit = on_commit, .ctx = c});
    c->wake = loop_timer_new(c->loop, on_wake, c);
    env_init(&c->env, c);
    _cleanup_free_ char *dir = mem_strdup(conf->state_save_location);
    uid_t owner = conf->slurm_uid;
    int rc = state_open(c, conf, err);
    c->control = control_new(conf, &c->env);

    if (rc == 0)
        rc = state_load(c, err);
    if (rc == 0)
        rc = files_load_signer(c, dir, owner, err);
    if (rc)
        return rc;
    auth_signer_public(c->signer, c->cred_public_key);
    control_start(c->control);
    loop_on_turn(c->loop, on_turn, c);
    loop_signal(c->loop, SIGTERM, on_signal, c);
    loop_signal(c->loop, SIGINT, on_signal, c);
    loop_signal(c->loop, SIGHUP, on_signal, c);
    loop_signal(c->loop, SIGUSR2, on_signal, c);
    return 0;
}

int ctld_listen(struct ctld *c, struct err *err)
{
    const struct conf *conf = control_conf(c->control);
    struct rpc_server_options options = {
        .loop = c->loop,
        .key = &c->key,
        .audience = "slurmctld",
        .admin_uid = conf->slurm_uid,
        .node_uid = conf->slurmd_uid,
    };
    struct rpc_server_events events = {
        .on_request = dispatch_request,
        .on_gone = on_gone,
        .on_drained = listing_continue,
        .on_session = nodes_accept,
        .on_refused = on_refused,
        .ctx = c,
    };
    c->server = rpc_server_new(&options, &events);
    for (unsigned port = conf->slurmctld_port;
         port <= conf->slurmctld_port || port <= conf->slurmctld_port_last; port++) {
        int rc = rpc_server_listen_tcp(c->server, NULL, (uint16_t)port, err);
        if (rc < 0)
            return err_prefix(err, "SlurmctldPort");
    }
    _cleanup_free_ char *path = conf_socket_path(conf, "slurmctld", NULL);
    int rc = rpc_server_listen_unix(c->server, path, 0666, err);
    return rc < 0 ? rc : 0;
}

void ctld_run(struct ctld *c)
{
    on_turn(c); /* what control_start() changed */
    loop_run(c->loop);
}

void ctld_close(struct ctld *c)
{
    listing_drop_all(c);
    nodes_forget(c);
    scripts_free(c->scripts);
    rpc_server_free(c->server);
    store_close(c->store);
    control_free(c->control);
    outbox_free(c->outbox);
    payload_cache_free(c->payloads);
    names_free(c->names);
    loop_timer_free(c->wake);
    loop_timer_free(c->stop_timer);
    auth_signer_free(c->signer);
    auth_key_done(&c->key);
    loop_free(c->loop);
    free(c->conf_path);
    free(c->host);
}
