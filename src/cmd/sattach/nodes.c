/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sattach/nodes.h"

#include "auth/auth.h"
#include "base/mem.h"
#include "base/service.h"
#include "base/step_id.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cmd/sattach/options.h"
#include "launch/alloc.h"
#include "launch/ioport.h"
#include "rpc/client.h"
#include "rpc/server.h"
#include "rpc/session.h"

#define RETRY_MS 250
#define SPARE_DESCRIPTORS 1024

struct node {
    struct nodes *all;
    struct rpc_session *session; /* NULL: not connected */
    bool asked;                  /* its daemon has accepted the request */
    bool done, over;             /* done: the step daemon has reported the end */
};

/* A session before its hello. */
struct guest {
    struct nodes *all;
    struct rpc_session *session;
    struct guest *next;
};

struct request {
    struct nodes *all;
    struct rpc_fanout *fanout;
    struct rpc_node_target *targets;
    uint32_t *index; /* index of each target in the layout */
};

struct nodes {
    struct loop *loop;
    const Pb__StepRecord *step;
    const uint32_t *jobs; /* by node */
    struct nodes_events events;
    struct rpc_server *server;
    struct auth_key key;
    uint8_t token[AUTH_TOKEN_SIZE];
    uint16_t port;
    struct node *list;
    uint32_t count;
    struct guest *guests;
    VEC(struct request *) requests;
    VEC(uint32_t) again; /* nodes to be asked again */
    struct loop_timer *retry, *patience;
    int64_t give_up_at_ms;
    bool paused;
};

static uint32_t index_of(const struct node *n)
{
    return (uint32_t)(n - n->all->list);
}

static const char *get_node_name(const struct node *n)
{
    return n->all->step->layout[index_of(n)]->node;
}

static void end_node(struct node *n, const struct err *why)
{
    if (n->over)
        return;
    n->over = true;
    n->all->events.on_over(n->all->events.ctx, index_of(n), n->done ? NULL : why);
}

/* --- sessions --------------------------------------------------------------------------------- */

static void on_nodes_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct node *n = ctx;

    if (rpc->number == RPC_STEP_DONE)
        n->done = true; /* over when the session closes */
    else if (!n->over)
        n->all->events.on_message(n->all->events.ctx, index_of(n), rpc->number, body);
}

static void on_nodes_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct node *n = ctx;

    n->session = NULL;
    n->all->events.on_drained(n->all->events.ctx); /* the session's unsent input no longer counts */
    end_node(n, why);
}

static void on_nodes_drained(void *ctx, struct rpc_session *s)
{
    struct node *n = ctx;

    n->all->events.on_drained(n->all->events.ctx);
}

static void drop_guest(struct guest *g)
{
    struct guest **at = &g->all->guests;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    free(g);
}

static void welcome_node(struct node *n, struct rpc_session *s, const Pb__IoHello *hello)
{
    const struct rpc_session_events events = {.on_message = on_nodes_message,
                                              .on_drained = on_nodes_drained,
                                              .on_close = on_nodes_close,
                                              .ctx = n};
    Pb__IoHello answer = PB__IO_HELLO__INIT;

    n->session = s;
    rpc_session_set_events(s, &events);
    rpc_session_pause(s, n->all->paused);
    answer.node = hello->node;
    answer.node_index = hello->node_index;
    answer.has_bulk = true;
    answer.bulk = 2;
    if (hello->bulk == 1)
        rpc_session_send_bulk(s);
    n->all->events.on_here(n->all->events.ctx, index_of(n), hello);
    rpc_session_send(s, RPC_IO_HELLO, &answer.base);
}

/* Two parts of a step may share a node. NULL: the node is not expected. */
static struct node *find_node(struct nodes *all, const Pb__IoHello *hello)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const Pb__StepNode *at = all->step->layout[i];
        bool is_part = (at->has_part ? at->part : 0) == (hello->has_part ? hello->part : 0);
        if (is_part && str_eq(hello->node, at->node))
            return all->list[i].session || all->list[i].over ? NULL : &all->list[i];
    }
    return NULL;
}

static void on_guest_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct guest *g = ctx;
    struct nodes *all = g->all;
    const Pb__IoHello *hello = (const Pb__IoHello *)body;
    struct node *n = rpc->number == RPC_IO_HELLO ? find_node(all, hello) : NULL;

    if (!n) {
        cmd_detail(2, "Refused a connection from %s", rpc_session_peer(s));
        rpc_session_finish(s);
        return;
    }
    drop_guest(g);
    cmd_detail(2, "Node %s is connected", hello->node);
    welcome_node(n, s, hello);
}

static void on_guest_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    drop_guest(ctx);
}

static void on_session(void *ctx, struct rpc_session *s, const char *peer_name)
{
    struct guest *g = mem_new(struct guest);
    const struct rpc_session_events events = {
        .on_message = on_guest_message, .on_close = on_guest_close, .ctx = g};

    g->all = ctx;
    g->session = s;
    g->next = g->all->guests;
    g->all->guests = g;
    rpc_session_set_events(s, &events);
}

static void on_nodes_refused(void *ctx, const char *peer, const char *why)
{
    cmd_detail(2, "Refused a connection from %s: %s", peer, why);
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_patience(void *ctx)
{
    struct nodes *all = ctx;
    struct err why = {0};

    err_set(&why, -ERR_TIMEOUT,
            "its slurmstepd has not connected to port %u of this host; a firewall between them? "
            "(SrunPortRange in slurm.conf limits the ports)",
            all->port);
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i].asked && !all->list[i].session)
            end_node(&all->list[i], &why);
}

/* The controller lists a step before its nodes know it: they learn of the step only after srun's
 * --prolog. */
static bool may_come_soon(int code)
{
    return code == -ERR_NO_STEP || code == -ERR_NO_JOB || code == -ERR_TRANSITION ||
           alloc_is_transient(code);
}

static void on_nodes_answer(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                            const struct err *err)
{
    struct request *r = ctx;
    struct nodes *all = r->all;
    struct node *n = &all->list[r->index[index]];

    if (code == 0) {
        cmd_detail(2, "Node %s: slurmstepd has process id %u", get_node_name(n),
                   ((const Pb__StepAttached *)reply)->local_pid);
        n->asked = true;
        loop_timer_set(all->patience, cmd_conf()->message_timeout_sec * 1000);
        return;
    }
    if (may_come_soon(code) && loop_mono_ms() < all->give_up_at_ms) {
        cmd_detail(2, "Node %s: %s; it is asked again", get_node_name(n), err->text);
        vec_push(&all->again, index_of(n));
        loop_timer_set(all->retry, RETRY_MS);
        return;
    }
    end_node(n, err);
}

/* Asks those of the nodes that are in this job. */
static void ask_job(struct nodes *all, uint32_t job_id, const uint32_t *index, size_t among)
{
    struct request *r = mem_new(struct request);
    Pb__StepAttach m = PB__STEP_ATTACH__INIT;
    size_t count = 0;

    r->all = all;
    r->index = mem_new_array(uint32_t, among);
    r->targets = mem_new_array(struct rpc_node_target, among);
    for (size_t i = 0; i < among; i++) {
        const Pb__StepNode *n = all->step->layout[index[i]];

        if (all->jobs[index[i]] != job_id)
            continue;
        r->index[count] = index[i];
        r->targets[count++] = (struct rpc_node_target){n->node, n->addr, (uint16_t)n->port};
    }
    m.job_id = job_id;
    m.step_id = all->step->step_id;
    m.io_port = all->port;
    m.io_key = (ProtobufCBinaryData){sizeof(all->token), all->token};
    vec_push(&all->requests, r);
    r->fanout = rpc_fanout_start(all->loop, cmd_conf(), r->targets, count, RPC_STEP_ATTACH, &m.base,
                                 0, on_nodes_answer, r);
}

static void request_nodes(struct nodes *all, const uint32_t *index, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool asked = false; /* already asked together with another node of the same job */

        for (size_t k = 0; k < i; k++)
            asked |= all->jobs[index[k]] == all->jobs[index[i]];
        if (!asked)
            ask_job(all, all->jobs[index[i]], index, count);
    }
}

static void end_asked(struct nodes *all)
{
    struct err why = {0};

    err_set(&why, -ERR_JOB_DONE, "step %s has ended",
            STEP_ID_TEXT(all->step->job_id, all->step->step_id));
    vec_foreach (&all->again, index)
        end_node(&all->list[*index], &why);
}

static void on_nodes_retry(void *ctx)
{
    struct nodes *all = ctx;

    if (!all->events.is_listed(all->events.ctx))
        end_asked(all);
    else
        request_nodes(all, all->again.data, all->again.len);
    vec_clear(&all->again);
}

static void ask_all(struct nodes *all)
{
    _cleanup_free_ uint32_t *index = mem_new_array(uint32_t, all->count);

    for (uint32_t i = 0; i < all->count; i++)
        index[i] = i;
    request_nodes(all, index, all->count);
}

/* --- all of them ------------------------------------------------------------------------------ */

int nodes_open(struct loop *loop, const struct whole *whole, const struct nodes_events *events,
               struct nodes **out, struct err *err)
{
    const Pb__StepRecord *step = &whole->step;
    struct nodes *all = mem_new(struct nodes);
    const struct rpc_server_events server_events = {
        .on_session = on_session, .on_refused = on_nodes_refused, .ctx = all};
    struct rpc_server_options options = {.loop = loop,
                                         .key = &all->key,
                                         .audience = "srun",
                                         .refuse_plain = true,
                                         .sessions = (unsigned)step->n_layout};
    struct auth_key secret;
    int port = rpc_secret_new(cmd_conf(), NULL, all->token, &secret, NULL, err);

    if (port < 0) {
        free(all);
        return port;
    }
    auth_key_from_bytes(secret.mac_key, sizeof(secret.mac_key), &all->key);
    auth_key_done(&secret);
    all->loop = loop;
    all->step = step;
    all->jobs = whole->jobs;
    all->events = *events;
    all->count = (uint32_t)step->n_layout;
    all->list = mem_new_array(struct node, all->count);
    for (uint32_t i = 0; i < all->count; i++)
        all->list[i].all = all;
    all->retry = loop_timer_new(loop, on_nodes_retry, all);
    all->patience = loop_timer_new(loop, on_patience, all);
    all->give_up_at_ms = loop_mono_ms() + cmd_conf()->message_timeout_sec * 1000;
    /* With a reserve for unauthenticated connections. */
    fd_raise_limit(4 * all->count + SPARE_DESCRIPTORS);
    all->server = rpc_server_new(&options, &server_events);
    port = ioport_listen(all->server, cmd_conf(), step->layout, step->n_layout, err);
    if (port < 0) {
        nodes_free(all);
        return port;
    }
    all->port = (uint16_t)port;
    ask_all(all);
    *out = all;
    return 0;
}

void nodes_free(struct nodes *all)
{
    if (!all)
        return;
    vec_foreach (&all->requests, r) {
        rpc_fanout_free((*r)->fanout);
        free((*r)->targets);
        free((*r)->index);
        free(*r);
    }
    vec_done(&all->requests);
    vec_done(&all->again);
    rpc_server_free(all->server); /* frees its sessions too */
    while (all->guests) {
        struct guest *g = all->guests;
        all->guests = g->next;
        free(g);
    }
    loop_timer_free(all->retry);
    loop_timer_free(all->patience);
    auth_key_done(&all->key);
    free(all->list);
    free(all);
}

void nodes_pause(struct nodes *all, bool paused)
{
    all->paused = paused;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i].session)
            rpc_session_pause(all->list[i].session, paused);
}

bool nodes_has_task(const struct nodes *all, uint32_t node, uint32_t task)
{
    const Pb__StepNode *where = all->step->layout[node];

    for (size_t i = 0; i < where->n_task_ids; i++)
        if (where->task_ids[i] == task)
            return true;
    return false;
}

bool nodes_has_room(const struct nodes *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i].session && rpc_session_backlog(all->list[i].session) > RPC_SESSION_HIGH)
            return false;
    return true;
}

static void send_all(struct nodes *all, uint32_t task, enum rpc_number rpc,
                     const ProtobufCMessage *m)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i].session && (task == EVERY_TASK || nodes_has_task(all, i, task)))
            rpc_session_send(all->list[i].session, rpc, m);
}

bool nodes_send_input(struct nodes *all, uint32_t task, const void *data, size_t len)
{
    Pb__IoData m = PB__IO_DATA__INIT;

    m.task = task;
    m.has_data = true;
    m.data.data = (uint8_t *)data;
    m.data.len = len;
    send_all(all, task, RPC_IO_DATA, &m.base);
    return nodes_has_room(all);
}

void nodes_signal(struct nodes *all, int signo)
{
    Pb__IoSignal m = PB__IO_SIGNAL__INIT;

    m.signal = signo;
    send_all(all, EVERY_TASK, RPC_IO_SIGNAL, &m.base);
}

void nodes_window_size(struct nodes *all, uint32_t rows, uint32_t columns)
{
    Pb__WindowSize m = PB__WINDOW_SIZE__INIT;

    m.rows = rows;
    m.columns = columns;
    send_all(all, EVERY_TASK, RPC_WINDOW_SIZE, &m.base);
}
