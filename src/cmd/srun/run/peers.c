/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/peers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "launch/ioport.h"
#include "rpc/client.h"
#include "rpc/server.h"
#include "rpc/session.h"

#define EVERY_TASK 0xffffffffu

enum peer_state {
    PEER_AWAITED,
    /* The hello was answered, the answer may be lost, and the node may connect again. */
    PEER_GREETED,
    PEER_HERE, /* the node has received the answer, and its tasks start */
    PEER_DONE,
};

struct peer {
    struct peers *peers;
    struct rpc_session *session; /* NULL: not connected */
    enum peer_state state;
    bool launched;   /* the node daemon has confirmed the launch */
    char *closed_by; /* why the session ended before the node daemon answered, or NULL */
};

/* A session before its hello. */
struct guest {
    struct peers *peers;
    struct rpc_session *session;
    struct guest *next;
};

struct peers {
    struct run *run;
    struct rpc_server *server;
    struct auth_key auth_key;
    uint8_t token[AUTH_TOKEN_SIZE];
    int node_fd; /* see peers_connection() */
    uint16_t port;
    char local[RPC_ABSTRACT_SIZE]; /* "": none */
    uint32_t count, awaited;
    struct peer *list; /* by node index */
    struct guest *guests;
    struct loop_timer *patience; /* limit for step daemons to connect */
    bool paused, killing, input_paused;
    char *kill_why;
};

static void set_guest_events(struct guest *g);

/* Whether messages can be sent to the node. */
static bool is_here(const struct peer *p)
{
    return p->session != NULL && (p->state == PEER_HERE || p->state == PEER_GREETED);
}

static uint32_t index_of(const struct peer *p)
{
    return (uint32_t)(p - p->peers->list);
}

static void send_kill(struct peers *p, struct rpc_session *s)
{
    struct Pb__IoSignal m = PB__IO_SIGNAL__INIT;

    m.signal = 9;
    m.has_kill_step = 1;
    m.kill_step = 1;
    m.why = p->kill_why;
    rpc_session_send(s, RPC_IO_SIGNAL, &m.base);
}

/* Call after a change of a session's backlog, or of the set of sessions. */
static void check_input(struct peers *p)
{
    bool full = false;

    for (uint32_t i = 0; i < p->count && !full; i++)
        full = is_here(&p->list[i]) && rpc_session_backlog(p->list[i].session) > RPC_SESSION_HIGH;
    if (full == p->input_paused)
        return;
    p->input_paused = full;
    p->run->on->backlog(p->run, full);
}

static void on_peers_drained(void *ctx, struct rpc_session *s)
{
    struct peer *p = ctx;

    (void)s;
    check_input(p->peers);
}

/* One more node has connected, or never will. */
static void await_less(struct peers *p)
{
    if (--p->awaited > 0)
        return;
    loop_timer_set(p->patience, -1);
    p->run->on->all_here(p->run);
}

static void on_heard(struct peer *p)
{
    if (p->state != PEER_GREETED)
        return;
    p->state = PEER_HERE;
    await_less(p->peers);
}

static void on_peers_done(struct peer *p)
{
    if (p->state == PEER_DONE)
        return;
    p->state = PEER_DONE;
    check_input(p->peers);
    p->peers->run->on->node_done(p->peers->run, index_of(p));
}

static void on_peers_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct peer *p = ctx;
    struct run *run = p->peers->run;

    (void)s;
    on_heard(p);
    if (rpc->number == RPC_STEP_DONE)
        on_peers_done(p);
    else
        run->on->message(run, index_of(p), rpc, body);
}

static void set_patience(struct peers *p)
{
    loop_timer_set(p->patience, p->run->conf->message_timeout_sec * 1000);
}

/* The session has ended, and no better reason is known. */
static void tell_closed(struct peer *p)
{
    _cleanup_free_ char *text = take_ptr(p->closed_by);
    struct err why = {0};

    err_set(&why, -ERR_CLOSED, "%s", text);
    p->peers->run->on->node_lost(p->peers->run, index_of(p), &why);
}

static void on_peers_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct peer *p = ctx;

    (void)s;
    p->session = NULL;
    check_input(p->peers);
    if (p->state == PEER_DONE)
        return;
    if (p->launched) {
        p->state = PEER_DONE;
        p->peers->run->on->node_lost(p->peers->run, index_of(p), why);
        return;
    }
    /* The launch reply has a better reason. A node without our answer connects again before that.
     */
    p->state = p->state == PEER_GREETED ? PEER_AWAITED : PEER_DONE;
    free(p->closed_by);
    p->closed_by = mem_strdup(why->text);
    set_patience(p->peers);
}

static void welcome_node(struct peers *p, struct rpc_session *s, const struct Pb__IoHello *hello)
{
    uint32_t node = hello->node_index;
    Pb__IoHello answer = *hello;

    const struct rpc_session_events events = {.on_message = on_peers_message,
                                              .on_drained = on_peers_drained,
                                              .on_close = on_peers_close,
                                              .ctx = &p->list[node]};

    rpc_session_free(p->list[node].session); /* the end of the old session was not noticed yet */
    free(take_ptr(p->list[node].closed_by));
    p->list[node].session = s;
    p->list[node].state = PEER_GREETED;
    rpc_session_set_events(s, &events);
    answer.bulk = 2;
    rpc_session_send(s, RPC_IO_HELLO, &answer.base);
    if (hello->bulk == 1)
        rpc_session_send_bulk(s);
    if (p->paused)
        rpc_session_pause(s, true);
    p->run->on->node_here(p->run, node);
    if (p->killing)
        send_kill(p, s);
    if (p->list[node].launched)
        on_heard(&p->list[node]);
}

static void drop_guest(struct guest *g)
{
    struct guest **at = &g->peers->guests;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    free(g);
}

static void on_guest_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct guest *g = ctx;
    struct peers *p = g->peers;
    const struct Pb__IoHello *hello = (const struct Pb__IoHello *)body;

    if (rpc->number != RPC_IO_HELLO || hello->node_index >= p->count ||
        !str_eq(hello->node, p->run->step->layout[hello->node_index]->node)) {
        say_error("Refused a connection from %s: it is not a node of this step",
                  rpc_session_peer(s));
        rpc_session_finish(s);
        return;
    }
    if (p->list[hello->node_index].state > PEER_GREETED) { /* already connected, or over */
        say_debug("Refused another connection from %s", rpc_session_peer(s));
        rpc_session_finish(s);
        return;
    }
    drop_guest(g);
    say_debug("Node %s is connected: %s", hello->node, rpc_session_peer(s));
    welcome_node(p, s, hello);
}

static void on_guest_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    (void)s;
    (void)why;
    drop_guest(ctx);
}

static void set_guest_events(struct guest *g)
{
    const struct rpc_session_events events = {
        .on_message = on_guest_message, .on_close = on_guest_close, .ctx = g};

    rpc_session_set_events(g->session, &events);
}

static void on_session(void *ctx, struct rpc_session *s, const char *peer_name)
{
    struct peers *p = ctx;
    struct guest *g = mem_new(struct guest);

    (void)peer_name;
    g->peers = p;
    g->session = s;
    g->next = p->guests;
    p->guests = g;
    set_guest_events(g);
}

static void on_peers_refused(void *ctx, const char *peer, const char *why)
{
    (void)ctx;
    say_debug("Refused a connection from %s: %s", peer, why);
}

static void on_patience(void *ctx)
{
    struct peers *p = ctx;

    for (uint32_t i = 0; i < p->count; i++) {
        struct err why = {0};

        if (p->list[i].closed_by != NULL)
            tell_closed(&p->list[i]);
        if (p->list[i].state != PEER_AWAITED || !p->list[i].launched)
            continue;
        err_set(&why, -ERR_TIMEOUT,
                "it was launched, but has not connected to port %u of this host; a firewall "
                "between them? (SrunPortRange in slurm.conf limits the ports)",
                p->port);
        p->run->on->node_lost(p->run, i, &why);
    }
}

/* If a node's step daemon is reached by its local socket, TCP is only its fallback. */
static void listen_here(struct peers *p)
{
    struct err err = {0};

    if (p->node_fd >= 0 && rpc_local_socket_wanted() &&
        rpc_server_listen_abstract(p->server, p->local, &err) < 0) {
        say_debug("%s", err.text);
        p->local[0] = '\0';
    }
}

int peers_open(struct run *run, struct peers **out, struct err *err)
{
    struct peers *p = mem_new(struct peers);
    const struct rpc_server_events events = {
        .on_session = on_session, .on_refused = on_peers_refused, .ctx = p};
    struct rpc_server_options options = {
        .loop = run->loop,
        .key = &p->auth_key,
        .audience = "srun",
        .refuse_plain = true,
        .sessions = (unsigned)run->step->n_layout,
    };
    const char *node = run->step->n_layout == 1 ? run->step->layout[0]->node : NULL;
    struct auth_key secret;
    int port = rpc_secret_new(run->conf, node, p->token, &secret, &p->node_fd, err);

    if (port < 0) {
        free(p);
        return port;
    }
    auth_key_from_bytes(secret.mac_key, sizeof(secret.mac_key), &p->auth_key);
    auth_key_done(&secret);
    p->run = run;
    p->count = p->awaited = (uint32_t)run->step->n_layout;
    p->list = mem_new_array(struct peer, p->count);
    for (uint32_t i = 0; i < p->count; i++)
        p->list[i].peers = p;
    p->patience = loop_timer_new(run->loop, on_patience, p);
    p->server = rpc_server_new(&options, &events);
    port = ioport_listen(p->server, run->conf, run->step->layout, run->step->n_layout, err);
    if (port < 0) {
        peers_free(p);
        return port;
    }
    p->port = (uint16_t)port;
    listen_here(p);
    *out = p;
    return 0;
}

void peers_free(struct peers *p)
{
    if (p == NULL)
        return;
    rpc_server_free(p->server);
    while (p->guests != NULL) {
        struct guest *g = p->guests;
        p->guests = g->next;
        free(g);
    }
    loop_timer_free(p->patience);
    auth_key_done(&p->auth_key);
    for (uint32_t i = 0; i < p->count; i++)
        free(p->list[i].closed_by);
    if (p->node_fd >= 0)
        close(p->node_fd);
    free(p->list);
    free(p->kill_why);
    free(p);
}

void peers_expect(struct peers *p, uint32_t node)
{
    p->list[node].launched = true;
    if (p->list[node].closed_by != NULL)
        tell_closed(&p->list[node]);
    else if (p->list[node].state == PEER_AWAITED)
        set_patience(p);
    else
        on_heard(&p->list[node]);
}

int *peers_connection(struct peers *p)
{
    return &p->node_fd;
}

uint16_t peers_port(const struct peers *p)
{
    return p->port;
}

const char *peers_local(const struct peers *p)
{
    return p->local[0] ? p->local : NULL;
}

const uint8_t *peers_token(const struct peers *p)
{
    return p->token;
}

void peers_pause(struct peers *p, bool paused)
{
    if (p->paused == paused)
        return;
    p->paused = paused;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->list[i].session != NULL)
            rpc_session_pause(p->list[i].session, paused);
}

void peers_send_input(struct peers *p, const struct peers_takers *takers, const void *data,
                      size_t len)
{
    struct Pb__IoData m = PB__IO_DATA__INIT;

    m.stream = 0;
    m.has_data = len > 0;
    m.data.data = (uint8_t *)data;
    m.data.len = len;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct Pb__StepNode *n = p->run->step->layout[i];

        m.task = EVERY_TASK;
        if (is_here(&p->list[i]) && takers->nodes[i] == PEERS_ALL_TASKS)
            rpc_session_send(p->list[i].session, RPC_IO_DATA, &m.base);
        for (size_t k = 0; takers->nodes[i] == PEERS_SOME_TASKS && k < n->n_task_ids; k++) {
            m.task = n->task_ids[k];
            if (is_here(&p->list[i]) && takers->tasks[m.task])
                rpc_session_send(p->list[i].session, RPC_IO_DATA, &m.base);
        }
    }
    check_input(p);
}

void peers_signal(struct peers *p, int signo)
{
    struct Pb__IoSignal m = PB__IO_SIGNAL__INIT;

    m.signal = signo;
    peers_send_all(p, RPC_IO_SIGNAL, &m.base);
}

void peers_kill(struct peers *p, const char *why)
{
    p->killing = true;
    if (p->kill_why == NULL)
        p->kill_why = mem_strdup(why);
    for (uint32_t i = 0; i < p->count; i++)
        if (is_here(&p->list[i]))
            send_kill(p, p->list[i].session);
}

void peers_send(struct peers *p, uint32_t node, enum rpc_number rpc, const ProtobufCMessage *m)
{
    if (node < p->count && is_here(&p->list[node]))
        rpc_session_send(p->list[node].session, rpc, m);
}

void peers_send_all(struct peers *p, enum rpc_number rpc, const ProtobufCMessage *m)
{
    for (uint32_t i = 0; i < p->count; i++)
        peers_send(p, i, rpc, m);
}

void peers_drop(struct peers *p, uint32_t node)
{
    struct peer *peer = &p->list[node];

    free(take_ptr(peer->closed_by));
    if (peer->state < PEER_HERE)
        await_less(p);
    peer->state = PEER_DONE;
    check_input(p);
    if (peer->session != NULL)
        rpc_session_finish(peer->session);
}
