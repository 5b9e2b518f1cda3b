/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/io/uplink.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/attempt/events.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/io/configless.h"
#include "slurmd/io/order.h"
#include "slurmd/job/ending.h"
#include "slurmd/job/health.h"
#include "slurmd/job/launch.h"
#include "slurmd/node/devices.h"
#include "slurmd/node/logfile.h"
#include "slurmd/node/script.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/step.h"
#include "slurmd/usage/usage.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define BEATS_PER_TIMEOUT 3
/* Time for the controller's host, not the controller, to acknowledge a message. */
#define HEARD_MS 3000
#define BEAT_DEFAULT_SEC 60 /* with SlurmdTimeout=0 */
#define WELCOME_MAX 65536

static char *welcome_path(const struct slurmd *d)
{
    return mem_printf("%s/controller", d->spool);
}

static void handle_welcome(struct slurmd *d, const Pb__NodeWelcome *m)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    memcpy(d->public_key, m->cred_public_key.data, AUTH_CRED_KEY_SIZE);
    d->have_public_key = true;
    d->epoch = m->epoch;
    pb_pack(&m->base, &bytes);
    if (d->welcomed)
        pb__node_welcome__free_unpacked(d->welcomed, NULL);
    d->welcomed = pb_unpack(&pb__node_welcome__descriptor, str_cstr(&bytes), bytes.len);
}

/* Allows this node to check credentials while the controller is away. */
static void load_welcome(struct slurmd *d)
{
    _cleanup_free_ char *path = welcome_path(d);
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = {0};
    Pb__NodeWelcome *m;
    int rc = path_read_file(path, WELCOME_MAX, &text, &err);

    if (rc && rc != -ENOENT)
        log_error("%s: credentials are refused until the controller has been reached", err.text);
    if (rc)
        return;
    m = pb_unpack(&pb__node_welcome__descriptor, str_cstr(&text), text.len);
    if (m && m->cred_public_key.len == AUTH_CRED_KEY_SIZE)
        handle_welcome(d, m);
    if (m)
        pb__node_welcome__free_unpacked(m, NULL);
}

static void save_welcome(struct slurmd *d, const Pb__NodeWelcome *m)
{
    _cleanup_free_ char *path = welcome_path(d);
    _cleanup_str_ struct str bytes = STR_INIT;
    struct err err = {0};

    pb_pack(&m->base, &bytes);
    if (path_write_file(path, bytes.data, bytes.len, 0600, &err))
        log_error("%s", err.text);
}

/* By the controller's SlurmdTimeout, because the local file may be outdated. */
static int64_t beat_ms(const struct slurmd *d)
{
    int64_t timeout = d->timeout_sec >= 0 ? d->timeout_sec : d->conf->slurmd_timeout_sec;

    if (!timeout)
        return BEAT_DEFAULT_SEC * 1000;
    return timeout * 1000 / BEATS_PER_TIMEOUT > 1000 ? timeout * 1000 / BEATS_PER_TIMEOUT : 1000;
}

/* A different key with a lower epoch means a cluster with a new state. The same key with a lower
 * epoch is a deposed controller that does not know it yet. */
static void on_welcome(struct slurmd *d, const Pb__NodeWelcome *m)
{
    bool known = d->have_public_key && m->cred_public_key.len == AUTH_CRED_KEY_SIZE &&
                 !memcmp(d->public_key, m->cred_public_key.data, AUTH_CRED_KEY_SIZE);

    if (m->cred_public_key.len != AUTH_CRED_KEY_SIZE) {
        log_error("the controller's welcome holds no public key");
        return;
    }
    if (known && m->epoch < d->epoch) {
        log_error("a controller of epoch %llu welcomes this node, but one of epoch %llu has taken "
                  "over: its orders are ignored",
                  (unsigned long long)m->epoch, (unsigned long long)d->epoch);
        d->welcome = false;
        return;
    }
    if (!known && d->have_public_key) {
        log_info(
            "the controller started with a clean state: the records of earlier jobs are removed");
        revoked_clear(d->revoked);
    }
    if (!known || m->epoch != d->epoch)
        save_welcome(d, m);
    handle_welcome(d, m);
    d->welcome = true;
    free(take_ptr(d->dynamic)); /* once removed, the node is not created again automatically */
    free(take_ptr(d->extra));   /* must not overwrite what scontrol sets later */
    if (m->has_timeout_sec && m->timeout_sec != d->timeout_sec) {
        d->timeout_sec = m->timeout_sec;
        loop_timer_set(d->beat, beat_ms(d));
    }
    if (d->configless && m->has_conf_hash)
        configless_compare(d, m->conf_hash);
    log_info("registered with the controller, epoch %llu", (unsigned long long)m->epoch);
}

static Pb__Presence *presence_of(struct arena *arena, const struct attempt *a)
{
    Pb__Presence *p = arena_alloc(arena, sizeof(*p));

    pb__presence__init(p);
    p->job_id = a->key.id;
    p->restarts = a->key.restarts;
    p->step_ids =
        arena_alloc(arena, (a->steps.len + a->lost.len + a->waiting.len + 1) * sizeof(uint32_t));
    vec_foreach (&a->steps, s) {
        if (!(*s)->ended)
            p->step_ids[p->n_step_ids++] = (*s)->id;
    }
    vec_foreach (&a->lost, l)
        p->step_ids[p->n_step_ids++] = (*l)->step_id;
    vec_foreach (&a->waiting, l)
        p->step_ids[p->n_step_ids++] = (*l)->step_id;
    p->has_ended = true;
    p->ended = a->phase == ATTEMPT_GONE;
    return p;
}

size_t uplink_presence(struct slurmd *d, struct arena *arena, Pb__Presence ***list)
{
    size_t count = 0;

    *list = arena_alloc(arena, (HASH_COUNT(d->attempts) + 1) * sizeof(Pb__Presence *));
    for (struct attempt *a = d->attempts; a; a = a->hh.next)
        (*list)[count++] = presence_of(arena, a);
    return count;
}

void uplink_fill_hardware(const struct slurmd *d, Pb__NodeRegister *m)
{
    m->has_cpus = m->has_boards = m->has_sockets = m->has_cores = m->has_threads = true;
    m->cpus = d->hw.cpus;
    m->boards = d->hw.boards;
    m->sockets = d->hw.sockets;
    m->cores = d->hw.cores;
    m->threads = d->hw.threads;
    m->has_real_memory_mib = m->has_tmp_disk_mib = true;
    m->real_memory_mib = d->hw.real_memory_mib;
    m->tmp_disk_mib = d->hw.tmp_disk_mib;
    m->has_boot_at = m->has_daemon_start_at = true;
    m->boot_at = loop_wall_ms() / 1000 - hw_up_sec();
    m->daemon_start_at = d->started_at;
    m->has_free_mem_mib = m->has_cpu_load_centi = true;
    hw_load(&m->free_mem_mib, &m->cpu_load_centi);
}

void uplink_register(struct slurmd *d)
{
    Pb__NodeRegister m = PB__NODE_REGISTER__INIT;
    _cleanup_arena_ struct arena arena;
    struct utsname sys = {0};

    arena_init(&arena, 0);
    if (!d->controller)
        return; /* the first registration will report it */
    _cleanup_str_ struct str devices = STR_INIT;
    devices_count(d->conf, &devices);
    m.gres = (char *)str_cstr(&devices);
    uname(&sys);
    m.name = d->name;
    m.version = SLURM_VERSION;
    m.incarnation = d->incarnation;
    m.hostname = d->host;
    m.arch = sys.machine;
    m.os = arena_printf(&arena, "%s %s %s", sys.sysname, sys.release, sys.version);
    m.has_conf_hash = m.has_port = true;
    m.conf_hash = d->conf->hash;
    m.addr = (char *)d->node->addr;
    m.port = d->node->port;
    m.conf_refused = d->conf_refused;
    m.dynamic = d->dynamic;
    m.extra = d->extra;
    m.has_takes_attempt = m.takes_attempt = true;
    m.has_tells_prepared = m.tells_prepared = true;
    uplink_fill_hardware(d, &m);
    m.n_present = uplink_presence(d, &arena, &m.present);
    rpc_session_send(d->controller, RPC_NODE_REGISTER, &m.base);
}

/* Detects the hardware again if something has changed, or the configuration was read; returns
 * whether it did. */
static bool detect_hardware(struct slurmd *d, bool was_read)
{
    struct err err = {0};

    if (!was_read && !hw_changed(d->conf->tmp_fs, &d->hw))
        return false;
    if (hw_detect_node(d, &err))
        log_error("%s", err.text);
    return true;
}

/* The controller's host has not even acknowledged what it was sent: this node's address may have
 * changed, or a router may have dropped the connection. TCP would retry for a quarter of an hour;
 * a new session is open as soon as the path works. */
static void on_ear(void *ctx)
{
    struct slurmd *d = ctx;
    size_t target = rpc_session_target(d->controller);

    if (target == SIZE_MAX || !rpc_session_is_stuck(d->controller, HEARD_MS))
        return;
    log_verbose("%s does not hear us; connecting again", rpc_session_peer(d->controller));
    rpc_session_redial(d->controller, target);
}

static void expect_to_be_heard(struct slurmd *d)
{
    loop_timer_set(d->ear, HEARD_MS + 100);
}

static void on_beat(void *ctx)
{
    struct slurmd *d = ctx;
    Pb__NodeReport m = PB__NODE_REPORT__INIT;

    if (!rpc_session_is_open(d->controller))
        return;
    if (detect_hardware(d, false))
        uplink_register(d);
    usage_beat(d);
    m.has_free_mem_mib = m.has_cpu_load_centi = true;
    hw_load(&m.free_mem_mib, &m.cpu_load_centi);
    rpc_session_send(d->controller, RPC_NODE_REPORT, &m.base);
    expect_to_be_heard(d);
    loop_timer_set(d->beat, beat_ms(d));
}

void uplink_flush(struct slurmd *d)
{
    static struct log_limit limit = {.burst = 5};
    struct err err = {0};
    Pb__NodeEvent **list;
    size_t count;

    if (events_flush(d->events, &err)) {
        if (log_allow(&limit))
            log_error("%s; what happened is not reported before it can be written", err.text);
        return;
    }
    if (!d->controller || !rpc_session_is_open(d->controller))
        return;
    while ((count = events_take_unsent(d->events, &list))) {
        Pb__NodeReport m = PB__NODE_REPORT__INIT;

        m.events = list;
        m.n_events = count;
        rpc_session_send(d->controller, RPC_NODE_REPORT, &m.base);
        expect_to_be_heard(d);
    }
}

static void on_open(void *ctx, struct rpc_session *s)
{
    struct slurmd *d = ctx;

    log_verbose("connected to the controller at %s", rpc_session_peer(s));
    d->welcome = false;
    uplink_register(d);
    events_resend(d->events);
    uplink_flush(d);
    loop_timer_set(d->beat, beat_ms(d));
}

static void on_uplink_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct slurmd *d = ctx;

    d->welcome = false;
    d->timeout_sec = -1;
    loop_timer_set(d->beat, -1);
    if (d->configless)
        configless_closed(d);
    if (why->code == -ERR_STANDBY)
        log_verbose("controller: %s; trying again", why->text);
    else if (why->code)
        log_error("controller: %s; trying again", why->text);
}

/* The controller does not know this node and does not create it. */
static void on_turned_away(const Pb__NodeConfig *m)
{
    static struct log_limit limit = {.burst = 5};

    if (m->error && log_allow(&limit))
        log_error("the controller does not take this node: %s", m->error);
}

static void on_uplink_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                              const ProtobufCMessage *body)
{
    struct slurmd *d = ctx;

    if (rpc->number == RPC_NODE_WELCOME)
        on_welcome(d, (const Pb__NodeWelcome *)body);
    else if (rpc->number == RPC_NODE_CONFIG && !d->welcome)
        on_turned_away((const Pb__NodeConfig *)body);
    else if (!d->welcome)
        return; /* the controller may still turn out to be a deposed one */
    else if (rpc->number == RPC_NODE_ORDERS)
        order_take(d, (const Pb__NodeOrders *)body, rpc_session_has_ended(s));
    else if (rpc->number == RPC_NODE_ACK)
        order_acknowledged(d, ((const Pb__NodeAck *)body)->seq);
    else if (rpc->number == RPC_NODE_CONFIG && d->configless)
        configless_take(d, (const Pb__NodeConfig *)body);
}

static size_t port_count(const struct conf *c)
{
    return (size_t)(c->slurmctld_port_last - c->slurmctld_port) + 1;
}

/* Returns every port of every controller; the caller frees the list. */
static struct rpc_target *targets_of(const struct conf *c, size_t *count)
{
    size_t ports = port_count(c);
    struct rpc_target *targets = mem_new_array(struct rpc_target, c->controllers.len * ports);

    *count = 0;
    for (size_t i = 0; i < c->controllers.len; i++)
        for (size_t p = 0; p < ports; p++)
            targets[(*count)++] =
                (struct rpc_target){c->controllers.data[i].addr, (uint16_t)(c->slurmctld_port + p)};
    return targets;
}

void uplink_open(struct slurmd *d)
{
    size_t count;
    _cleanup_free_ struct rpc_target *targets = targets_of(d->conf, &count);
    struct rpc_session_events events = {.accepts = RPC_WHO_NODE,
                                        .on_open = on_open,
                                        .on_message = on_uplink_message,
                                        .on_close = on_uplink_close,
                                        .ctx = d};

    load_welcome(d);
    d->beat = loop_timer_new(d->loop, on_beat, d);
    d->ear = loop_timer_new(d->loop, on_ear, d);
    d->controller = rpc_session_connect(d->loop, &d->key, d->name, targets, count, true, &events);
}

int uplink_called(struct slurmd *d, const Pb__NodeCall *m, struct err *err)
{
    const struct conf *c = d->conf;

    if (d->have_public_key && m->epoch < d->epoch)
        return err_set(err, -ERR_STANDBY, "%s: the controller of epoch %llu has taken over from it",
                       m->controller, (unsigned long long)d->epoch);
    if (d->welcome && m->epoch == d->epoch)
        return 0;
    for (size_t i = 0; i < c->controllers.len; i++) {
        if (!str_case_eq(c->controllers.data[i].name, m->controller))
            continue;
        if (!d->controller) {
            log_info("controller %s calls; this node has not registered with any yet, and is to "
                     "end its HealthCheckProgram first",
                     m->controller);
            return 0;
        }
        size_t target = rpc_session_target(d->controller);
        if (target != SIZE_MAX && target / port_count(c) == i)
            return 0; /* its welcome is still to come */
        log_info("controller %s has taken over", m->controller);
        rpc_session_redial(d->controller, i * port_count(c));
        return 0;
    }
    return err_set(err, -ERR_CONFIG, "%s on node %s names no SlurmctldHost=%s", c->path, d->name,
                   m->controller);
}

void uplink_close(struct slurmd *d)
{
    rpc_session_free(take_ptr(d->controller));
    loop_timer_free(take_ptr(d->beat));
    loop_timer_free(take_ptr(d->ear));
}

static void follow_controllers(struct slurmd *d)
{
    size_t count;
    _cleanup_free_ struct rpc_target *targets = targets_of(d->conf, &count);

    rpc_session_set_targets(d->controller, targets, count);
    if (rpc_session_is_open(d->controller))
        loop_timer_set(d->beat, beat_ms(d)); /* SlurmdTimeout may have changed */
    uplink_register(d);
}

void uplink_refuse_conf(struct slurmd *d, const char *why)
{
    bool same = str_eq(why, d->conf_refused);

    if (why)
        log_error("the configuration in force stays: %s", why);
    if (same)
        return;
    free(d->conf_refused);
    d->conf_refused = mem_strdup(why);
    if (d->controller && rpc_session_is_open(d->controller))
        uplink_register(d);
}

void uplink_reconfigure_any(struct slurmd *d)
{
    if (d->configless)
        configless_ask(d);
    else
        uplink_reconfigure(d);
}

void uplink_reconfigure(struct slurmd *d)
{
    struct conf_report report = {0};
    struct err err = {0};
    struct conf *fresh = NULL;

    if (conf_load_with(d->conf->path, d->own_line, CONF_NODE, d->name, &fresh, &report, &err) ||
        script_check_conf(fresh, &err)) {
        uplink_refuse_conf(d, err.text);
        conf_free(fresh);
    } else {
        free(take_ptr(d->conf_refused));
        conf_free(d->conf);
        d->conf = fresh;
        d->node = &d->conf->nodes.data[0];
        rpc_set_connect_timeout(d->conf->tcp_timeout_sec * 1000);
        d->debug_given = false;
        logfile_forget_flags(d);
        if (logfile_open(d, &err))
            log_error("%s", err.text);
        log_info("read %s again", d->conf->path);
        if (contain_open(d, &err))
            log_error("%s; what there was stays", err.text);
        health_rearm(d);
        usage_rearm(d);
        detect_hardware(d, true);
        if (d->controller)
            follow_controllers(d);
    }
    conf_report_done(&report);
}
