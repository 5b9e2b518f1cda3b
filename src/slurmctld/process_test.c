/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The whole process around a stand-in for control/: real sockets, a real store, real sessions. The
 * controller runs in a child of the test; the stand-in starts every job on node n1.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "proto/common.pb-c.h"
#include "rpc/client.h"
#include "slurmctld/control_fixture.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/files.h"
#include "slurmctld/lead/backup.h"
#include "slurmctld/lead/lead.h"
#include "slurmctld/node/send.h"
#include "slurmctld/node/stop.h"
#include "slurmctld/process.h"
#include "slurmctld/reload.h"

#define DEADLINE_MS 20000 /* until what must happen counts as not happening */

/* A store that takes its time. */

static struct {
    bool is_shut;
    int entered[2]; /* a byte from each read that waits */
    int open[2];    /* reads go on when its end for writing is closed */
} gate;

int __real_store_sqlite_get(struct store *s, uint32_t kind, uint64_t number, void **data,
                            size_t *len, struct err *err);
int __wrap_store_sqlite_get(struct store *s, uint32_t kind, uint64_t number, void **data,
                            size_t *len, struct err *err);

int __wrap_store_sqlite_get(struct store *s, uint32_t kind, uint64_t number, void **data,
                            size_t *len, struct err *err)
{
    char byte = 0;
    if (gate.is_shut && kind == RECORD_PAYLOAD) {
        assert_int_equal(write(gate.entered[1], &byte, 1), 1);
        assert_int_equal(read(gate.open[0], &byte, 1), 0);
    }
    return __real_store_sqlite_get(s, kind, number, data, len, err);
}

/* The test's side. */

struct world {
    char *dir, *conf_file;
    unsigned port;
    int port_fd;
    pid_t controller;
    struct conf *conf;
    struct rpc_client *client;
    struct auth_key key;
    struct loop *loop;
    struct loop_timer *deadline;
    struct arena arena;
    struct err err;
};

/* A port below the range of outgoing connections, bound without listening until the test ends:
 * other tests that try it are refused, and the controller, which reuses addresses, is not. */
static void hold_port(struct world *w)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    int on = 1;
    w->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(w->port_fd >= 0);
    do {
        w->port = 10000 + (unsigned)(getpid() + rand()) % 22000;
        a.sin_port = htons((uint16_t)w->port);
    } while (bind(w->port_fd, (struct sockaddr *)&a, sizeof(a)));
    assert_int_equal(setsockopt(w->port_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
}

static void write_conf(struct world *w, const char *more)
{
    _cleanup_str_ struct str s = STR_INIT;
    str_printf(&s,
               "ClusterName=test\nSlurmctldHost=localhost\nSlurmctldPort=%u\nSlurmUser=%u\n"
               "SlurmdUser=%u\nStateSaveLocation=%s/state\nAuthInfo=socketdir=%s/run\n"
               "SlurmctldPidFile=%s/pid\nSlurmctldLogFile=%s/log\nSlurmctldDebug=debug\n"
               "NodeName=n[1-2] NodeAddr=127.0.0.1 Port=[1-2]\nPartitionName=p Nodes=ALL "
               "Default=YES\n%s\n",
               w->port, geteuid(), geteuid(), w->dir, w->dir, w->dir, w->dir, more);
    assert_int_equal(path_write_file(w->conf_file, s.data, s.len, 0644, NULL), 0);
}

static int controller_open(const struct world *w, struct ctld *c, struct err *err)
{
    static struct ctld_options options = {.as = "localhost"};
    struct conf *conf = NULL;
    struct conf_report report = {0};
    c->options = &options;
    c->conf_path = mem_strdup(w->conf_file);
    int rc = conf_load(w->conf_file, CONF_FULL, NULL, &conf, &report, err);
    conf_report_done(&report);
    if (rc == 0) {
        files_open_log(c, conf, false);
        rc = files_load_keys(c, conf, err);
    }
    return rc ? rc : process_open(c, conf, 0, err);
}

static void __attribute__((noreturn)) run_controller(struct world *w, int ready)
{
    struct ctld c = {0};
    struct err err = {0};
    bool taken;
    int rc = controller_open(w, &c, &err);
    if (rc == 0)
        rc = lead_take(&c, &taken, &err);
    if (rc == 0)
        rc = process_listen(&c, &err);
    if (rc) {
        fprintf(stderr, "controller: %s\n", err.text);
        _exit(9);
    }
    close(ready);
    process_run(&c);
    process_close(&c);
    exit(0);
}

static void start_controller(struct world *w)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    w->controller = fork();
    assert_true(w->controller >= 0);
    if (w->controller == 0) {
        if (gate.is_shut)
            close(gate.open[1]);
        close(ends[0]);
        run_controller(w, ends[1]);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* its end closes when it serves */
    close(ends[0]);
}

static void on_deadline(void *ctx)
{
    struct world *w = ctx;
    err_set(&w->err, -ERR_TIMEOUT, "the deadline");
    loop_stop(w->loop);
}

static int setup(void **state)
{
    struct world *w = mem_new(struct world);
    w->dir = mem_strdup("/tmp/slurmctld-test-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    w->conf_file = mem_printf("%s/slurm.conf", w->dir);
    hold_port(w);
    write_conf(w, "");
    start_controller(w);
    struct conf_report report = {0};
    assert_int_equal(conf_load(w->conf_file, CONF_CLIENT, NULL, &w->conf, &report, NULL), 0);
    conf_report_done(&report);
    w->client = rpc_client_new(w->conf);
    _cleanup_free_ char *key = mem_printf("%s/slurm.key", w->dir);
    assert_int_equal(auth_key_load(key, geteuid(), &w->key, NULL), 0);
    w->loop = loop_new(0);
    w->deadline = loop_timer_new(w->loop, on_deadline, w);
    arena_init(&w->arena, 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    if (w->controller > 0) {
        kill(w->controller, SIGKILL);
        waitpid(w->controller, NULL, 0);
    }
    close(w->port_fd);
    rpc_client_free(w->client);
    loop_timer_free(w->deadline);
    loop_free(w->loop);
    arena_done(&w->arena);
    conf_free(w->conf);
    static const char *const files[] = {"slurm.conf",
                                        "slurm.key",
                                        "log",
                                        "run/slurmctld",
                                        "run",
                                        "state/state.db",
                                        "pid",
                                        "state/state.db-wal",
                                        "state/state.db-shm",
                                        "state/lock",
                                        "state/reserve",
                                        "state/cred.key",
                                        "state"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", w->dir, files[i]);
        (void)remove(path);
    }
    assert_int_equal(rmdir(w->dir), 0);
    free(w->dir);
    free(w->conf_file);
    free(w);
    return 0;
}

static int call_controller(struct world *w, enum rpc_number rpc, const ProtobufCMessage *request,
                           void *reply)
{
    w->err = (struct err){0};
    return rpc_call(w->client, rpc, request, DEADLINE_MS, &w->arena, reply, &w->err);
}

static uint32_t submit_script(struct world *w, const char *script)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    Pb__SubmitRequest request = PB__SUBMIT_REQUEST__INIT;
    Pb__SubmitReply *reply = NULL;
    payload.has_script = true;
    payload.script.data = (uint8_t *)script;
    payload.script.len = strlen(script);
    request.spec = &spec;
    request.payload = &payload;
    if (call_controller(w, RPC_SUBMIT, &request.base, &reply))
        fail_msg("%s", w->err.text);
    return reply->job_id;
}

/* A node daemon's side of a session. */
struct node {
    struct world *w;
    struct rpc_session *s;
    const char *name;
    unsigned welcomes, launches, shutdowns, closes, acks;
    uint32_t launched[4]; /* job ids, in order */
    size_t script_len;    /* of the first launch */
    char *script;         /* of the last launch */
};

static void on_open(void *ctx, struct rpc_session *s)
{
    struct node *n = ctx;
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    r.name = (char *)n->name;
    r.version = (char *)"1";
    r.incarnation = (char *)"1";
    rpc_session_send(s, RPC_NODE_REGISTER, &r.base);
}

static void got_order(struct node *n, const Pb__NodeOrder *order)
{
    n->shutdowns += order->shutdown != NULL;
    if (!order->launch)
        return;
    if (n->launches < 4)
        n->launched[n->launches] = order->launch->job_id;
    if (n->launches++ == 0 && order->launch->payload)
        n->script_len = order->launch->payload->script.len;
    free(take_ptr(n->script));
    if (order->launch->payload)
        n->script = mem_strndup((char *)order->launch->payload->script.data,
                                order->launch->payload->script.len);
}

static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct node *n = ctx;
    const Pb__NodeOrders *orders = (const Pb__NodeOrders *)body;
    if (rpc->number == RPC_NODE_WELCOME) {
        n->welcomes++;
        assert_int_equal(((const Pb__NodeWelcome *)body)->epoch, 7);
        assert_int_equal(((const Pb__NodeWelcome *)body)->cred_public_key.len, 32);
    }
    if (rpc->number == RPC_NODE_ACK && ((const Pb__NodeAck *)body)->seq == 99)
        n->acks++;
    for (size_t i = 0; rpc->number == RPC_NODE_ORDERS && i < orders->n_orders; i++)
        got_order(n, orders->orders[i]);
    loop_stop(n->w->loop);
}

static void on_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct node *n = ctx;
    n->closes++;
    loop_stop(n->w->loop);
}

static void node_connect(struct world *w, struct node *n, const char *name)
{
    struct rpc_target target = {.addr = "127.0.0.1", .port = (uint16_t)w->port};
    struct rpc_session_events events = {
        .on_open = on_open, .on_message = on_message, .on_close = on_close, .ctx = n};
    *n = (struct node){.w = w, .name = name};
    n->s = rpc_session_connect(w->loop, &w->key, name, &target, 1, false, &events);
}

static void node_done(struct node *n)
{
    rpc_session_free(n->s);
    free(n->script);
}

/* Runs the loop until *what is at least 'least'. */
static void run_until(struct world *w, const unsigned *what, unsigned least)
{
    w->err = (struct err){0};
    loop_timer_set(w->deadline, DEADLINE_MS);
    while (*what < least) {
        loop_run(w->loop);
        if (w->err.code)
            fail_msg("%s", w->err.text);
    }
    loop_timer_set(w->deadline, -1);
}

static void count_records(void *ctx, uint32_t kind, uint64_t number, const char *name,
                          const void *data, size_t len)
{
    ((unsigned *)ctx)[kind]++;
}

static void stop_hard(struct world *w)
{
    kill(w->controller, SIGKILL);
    waitpid(w->controller, NULL, 0);
    w->controller = 0;
}

static void refusals_are_named(void **state)
{
    struct world *w = *state;
    Pb__JobIdRequest id = PB__JOB_ID_REQUEST__INIT;
    Pb__JobScript *script = NULL;
    id.job_id = 1;
    assert_int_equal(call_controller(w, RPC_JOB_SCRIPT, &id.base, &script), -ERR_NO_JOB);
    Pb__Empty empty = PB__EMPTY__INIT;
    Pb__NodeStatus *status = NULL;
    assert_int_equal(call_controller(w, RPC_NODE_STATUS, &empty.base, &status), -ERR_NOT_SUPPORTED);
    assert_non_null(strstr(w->err.text, "NODE_STATUS"));
    Pb__ConfigRequest key = PB__CONFIG_REQUEST__INIT;
    Pb__TextReply *text = NULL;
    key.key = (char *)"NoSuchKey";
    assert_true(call_controller(w, RPC_CONFIG_SHOW, &key.base, &text) < 0);
    Pb__JobFilter since = PB__JOB_FILTER__INIT;
    Pb__JobList *list = NULL;
    since.has_changed_since = true;
    since.changed_since = 4711; /* CORE-126 */
    assert_int_equal(call_controller(w, RPC_JOB_LIST, &since.base, &list), -ERR_NO_CHANGE);
}

static void unknown_nodes_are_refused(void **state)
{
    struct world *w = *state;
    struct node n;
    node_connect(w, &n, "n3");
    run_until(w, &n.closes, 1);
    assert_int_equal(n.welcomes, 0);
    node_done(&n);
}

static void acknowledged_jobs_survive_a_kill(void **state)
{
    struct world *w = *state;
    for (uint32_t i = 1; i <= 20; i++)
        assert_int_equal(submit_script(w, "#!/bin/sh\n"), i);
    stop_hard(w);
    _cleanup_free_ char *dir = mem_printf("%s/state", w->dir);
    struct store *s = NULL;
    unsigned found[8] = {0};
    struct store_where where = {.at = dir};
    assert_int_equal(store_open(&where, 0, NULL, NULL, &s, NULL), 0);
    assert_int_equal(store_load(s, 0, count_records, NULL, found, NULL), 0);
    store_close(s);
    assert_int_equal(found[RECORD_JOB], 20);
    assert_int_equal(found[RECORD_PAYLOAD], 20);
    start_controller(w);
    assert_int_equal(submit_script(w, "#!/bin/sh\n"), 21);
}

static void launches_carry_the_script(void **state)
{
    struct world *w = *state;
    struct node n;
    Pb__NodeEvent event = PB__NODE_EVENT__INIT, *events = &event;
    Pb__NodeReport report = PB__NODE_REPORT__INIT;
    node_connect(w, &n, "n1");
    run_until(w, &n.welcomes, 1);
    submit_script(w, "#!/bin/sh\necho one\n");
    run_until(w, &n.launches, 1);
    assert_string_equal(n.script, "#!/bin/sh\necho one\n");
    event.seq = 99;
    report.n_events = 1;
    report.events = &events;
    rpc_session_send(n.s, RPC_NODE_REPORT, &report.base);
    run_until(w, &n.acks, 1);

    Pb__JobIdRequest id = PB__JOB_ID_REQUEST__INIT;
    Pb__JobScript *script = NULL;
    id.job_id = 1; /* it was sent, so it is no longer in the cache */
    assert_int_equal(call_controller(w, RPC_JOB_SCRIPT, &id.base, &script), 0);
    assert_memory_equal(script->script.data, "#!/bin/sh\necho one\n", script->script.len);
    node_done(&n);
}

static void expect_end(pid_t pid)
{
    int status = 0;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define LARGE (3u << 20) /* of a script: more than the cache of payloads holds */

/* Restarts the controller with a store that blocks readers. A job with a large script is launched
 * on n, and its script is being read. */
static void start_slow_launch(struct world *w, struct node *n)
{
    _cleanup_free_ char *script = mem_alloc(LARGE + 1);
    char byte;
    memset(script, '#', LARGE);
    stop_hard(w);
    assert_int_equal(pipe(gate.entered), 0);
    assert_int_equal(pipe(gate.open), 0);
    gate.is_shut = true;
    start_controller(w);
    node_connect(w, n, "n1");
    run_until(w, &n->welcomes, 1);
    assert_int_equal(submit_script(w, script), 1);
    assert_int_equal(read(gate.entered[0], &byte, 1), 1);
}

static void open_gate(void)
{
    close(gate.open[0]);
    close(gate.open[1]);
    close(gate.entered[0]);
    close(gate.entered[1]);
    gate.is_shut = false;
}

/* Queries, submissions and other nodes do not wait for a read; later orders for the same node
   do. */
static void slow_read_delays_its_own_node_only(void **state)
{
    struct world *w = *state;
    struct node first, second;
    start_slow_launch(w, &first);
    Pb__ConfigRequest key = PB__CONFIG_REQUEST__INIT;
    Pb__TextReply *text = NULL;
    key.key = (char *)"ClusterName";
    assert_int_equal(call_controller(w, RPC_CONFIG_SHOW, &key.base, &text), 0);
    assert_int_equal(submit_script(w, "#!/bin/sh\n"), 2);
    node_connect(w, &second, "n2");
    run_until(w, &second.welcomes, 1);
    assert_int_equal(first.launches, 0);

    open_gate();
    run_until(w, &first.launches, 2);
    assert_int_equal(first.launched[0], 1);
    assert_int_equal(first.launched[1], 2);
    assert_int_equal(first.script_len, LARGE);
    assert_string_equal(first.script, "#!/bin/sh\n");
    node_done(&first);
    node_done(&second);
}

static void end_of_a_session_drops_its_waiting_launches(void **state)
{
    struct world *w = *state;
    struct node first, second;
    start_slow_launch(w, &first);
    node_done(&first);
    node_connect(w, &second, "n1");
    run_until(w, &second.welcomes, 1);
    open_gate();
    assert_int_equal(submit_script(w, "#!/bin/sh\n"), 2);
    run_until(w, &second.launches, 1);
    assert_int_equal(second.launched[0], 2);
    node_done(&second);
}

/* Waiting launches are limited: an excess launch is dropped, and control/ repeats it. */
static void launches_that_wait_have_a_limit(void **state)
{
    struct world *w = *state;
    struct node n;
    fixture_launch_padding = SEND_QUEUE_MOST / 5 * 2;
    start_slow_launch(w, &n);
    fixture_launch_padding = 0;
    assert_int_equal(submit_script(w, "#!/bin/sh\n"), 2);
    assert_int_equal(submit_script(w, "#!/bin/sh\n"), 3);
    open_gate();
    run_until(w, &n.launches, 2);
    assert_int_equal(submit_script(w, "#!/bin/sh\n"), 4);
    run_until(w, &n.launches, 3);
    assert_int_equal(n.launched[0], 1);
    assert_int_equal(n.launched[1], 2);
    assert_int_equal(n.launched[2], 4);
    node_done(&n);
}

/* The order to end follows the launch, and the process exits after it has sent both. */
static void shutdown_waits_for_a_slow_launch(void **state)
{
    struct world *w = *state;
    struct node n;
    Pb__ShutdownRequest request = PB__SHUTDOWN_REQUEST__INIT;
    Pb__Empty *reply = NULL;
    start_slow_launch(w, &n);
    assert_int_equal(call_controller(w, RPC_SHUTDOWN, &request.base, &reply), 0);
    open_gate();
    run_until(w, &n.shutdowns, 1);
    assert_int_equal(n.launches, 1);
    assert_int_equal(n.script_len, LARGE);
    run_until(w, &n.closes, 1);
    expect_end(w->controller);
    w->controller = 0;
    node_done(&n);
}

static void newest_session_of_a_node_counts(void **state)
{
    struct world *w = *state;
    struct node first, second;
    node_connect(w, &first, "n1");
    run_until(w, &first.welcomes, 1);
    node_connect(w, &second, "n1");
    run_until(w, &second.welcomes, 1);
    run_until(w, &first.closes, 1);
    submit_script(w, "#!/bin/sh\n");
    run_until(w, &second.launches, 1);
    assert_int_equal(first.launches, 0);
    node_done(&first);
    node_done(&second);
}

struct listed {
    unsigned parts, jobs;
    bool wrong;
};

static int on_part(void *ctx, const ProtobufCMessage *part, struct err *err)
{
    struct listed *l = ctx;
    const Pb__JobList *list = (const Pb__JobList *)part;
    l->parts++;
    for (size_t i = 0; i < list->n_jobs; i++)
        l->wrong |= list->jobs[i]->live->job_id != ++l->jobs;
    return 0;
}

static void long_listings_are_sent_in_parts(void **state)
{
    struct world *w = *state;
    static const uint32_t counts[] = {0, 1, 500, 20000};
    for (size_t i = 0; i < 4; i++) {
        uint32_t count = counts[i];
        struct listed l = {0};
        Pb__JobFilter f = PB__JOB_FILTER__INIT;
        f.n_job_id = 1;
        f.job_id = &count;
        if (rpc_call_stream(w->client, RPC_JOB_LIST, &f.base, on_part, &l, &w->err))
            fail_msg("%s", w->err.text);
        assert_int_equal(l.jobs, count);
        assert_false(l.wrong);
        assert_true(l.parts >= count / 600 && l.parts >= 1);
    }
}

static void broken_configuration_changes_nothing(void **state)
{
    struct world *w = *state;
    Pb__ReconfigureRequest empty = PB__RECONFIGURE_REQUEST__INIT;
    Pb__ReconfigureReply *reply = NULL;
    write_conf(w, "MaxJobCount=many");
    assert_true(call_controller(w, RPC_RECONFIGURE, &empty.base, &reply) < 0);
    assert_non_null(strstr(w->err.text, "slurm.conf:13"));
    Pb__ConfigRequest key = PB__CONFIG_REQUEST__INIT;
    Pb__TextReply *text = NULL;
    key.key = (char *)"MaxJobCount";
    assert_int_equal(call_controller(w, RPC_CONFIG_SHOW, &key.base, &text), 0);
    assert_null(strstr(text->text, "many"));

    write_conf(w, "ClusterName=other");
    assert_true(call_controller(w, RPC_RECONFIGURE, &empty.base, &reply) < 0);
    assert_non_null(strstr(w->err.text, "ClusterName=other"));
    write_conf(w, "SlurmctldPidFile=/elsewhere");
    assert_int_equal(call_controller(w, RPC_RECONFIGURE, &empty.base, &reply), 0);
    assert_non_null(strstr(reply->changes, "SlurmctldPidFile: takes effect when slurmctld is"));
    write_conf(w, "MaxJobCount=77");
    empty.has_dry_run = empty.dry_run = true;
    assert_int_equal(call_controller(w, RPC_RECONFIGURE, &empty.base, &reply), 0);
    assert_string_equal(reply->changes, "a preview\n");
    assert_int_equal(call_controller(w, RPC_CONFIG_SHOW, &key.base, &text), 0);
    assert_null(strstr(text->text, "77"));
    empty.has_dry_run = false;
    assert_int_equal(call_controller(w, RPC_RECONFIGURE, &empty.base, &reply), 0);
    assert_non_null(strstr(reply->changes, "MaxJobCount"));
    assert_int_equal(call_controller(w, RPC_CONFIG_SHOW, &key.base, &text), 0);
    assert_non_null(strstr(text->text, "77"));
}

static void shutdown_answers_tells_the_nodes_and_ends(void **state)
{
    struct world *w = *state;
    struct node n;
    Pb__ShutdownRequest request = PB__SHUTDOWN_REQUEST__INIT;
    Pb__Empty *reply = NULL;
    node_connect(w, &n, "n1");
    run_until(w, &n.welcomes, 1);
    assert_int_equal(call_controller(w, RPC_SHUTDOWN, &request.base, &reply), 0);
    run_until(w, &n.shutdowns, 1);
    run_until(w, &n.closes, 1);
    int status = 0;
    assert_int_equal(waitpid(w->controller, &status, 0), w->controller);
    w->controller = 0;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    _cleanup_free_ char *socket_path = mem_printf("%s/run/slurmctld", w->dir);
    assert_int_equal(access(socket_path, F_OK), -1);
    node_done(&n);
}

static void stop_controller(struct world *w)
{
    kill(w->controller, SIGTERM);
    expect_end(w->controller);
    w->controller = 0;
}

static void signals_end_the_controller_in_order(void **state)
{
    struct world *w = *state;
    submit_script(w, "#!/bin/sh\n");
    stop_controller(w);
    start_controller(w);
    assert_int_equal(submit_script(w, "#!/bin/sh\n"), 2);
}

/* A controller that does not lead, in a child process: returns whether it behaves correctly. */
static bool stops_for_good(const struct world *w, bool told_first)
{
    struct ctld c = {0};
    struct err err = {0};
    if (controller_open(w, &c, &err))
        return false;
    if (told_first)
        stop_begin(&c);
    bool taken = backup_reload(&c, &err) == 0;
    if (!told_first)
        raise(SIGTERM);
    process_run(&c);
    bool anew = c.begin_anew;
    process_close(&c);
    return !anew && taken == !told_first;
}

/* With a new configuration it executes itself again soon. */
static void stopping_controller_does_not_restart_itself(void **state)
{
    for (int told_first = 0; told_first < 2; told_first++) {
        pid_t pid = fork();
        if (pid == 0)
            exit(stops_for_good(*state, told_first) ? 0 : 1);
        expect_end(pid);
    }
}

static void controller_ends_while_it_reads_the_configuration(void **state)
{
    struct world *w = *state;
    stop_controller(w);
    pid_t pid = fork();
    if (pid == 0) {
        struct ctld c = {0};
        struct err err = {0};
        bool taken;
        if (controller_open(w, &c, &err) || lead_take(&c, &taken, &err))
            exit(1);
        reload_start(&c, 0, false);
        process_close(&c);
        exit(0);
    }
    expect_end(pid);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(refusals_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_nodes_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(acknowledged_jobs_survive_a_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(launches_carry_the_script, setup, teardown),
        cmocka_unit_test_setup_teardown(slow_read_delays_its_own_node_only, setup, teardown),
        cmocka_unit_test_setup_teardown(end_of_a_session_drops_its_waiting_launches, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(launches_that_wait_have_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(shutdown_waits_for_a_slow_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(newest_session_of_a_node_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(long_listings_are_sent_in_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_configuration_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(shutdown_answers_tells_the_nodes_and_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(signals_end_the_controller_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(stopping_controller_does_not_restart_itself, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(controller_ends_while_it_reads_the_configuration, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("slurmctld process", tests, NULL, NULL);
}
