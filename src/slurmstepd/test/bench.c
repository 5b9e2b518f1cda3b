/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/test/bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "base/str.h"

#define DEADLINE_MS 30000
#define LOOK_MS 5 /* milliseconds between checks of files, which cause no events */

extern char **environ;

static void copy_program(struct bench *b, const char *programs, const char *room, const char *name)
{
    _cleanup_free_ char *from = mem_printf("%s/%s/%s", programs, room, name);
    _cleanup_free_ char *to = mem_printf("%s/%s", b->dir, name);
    _cleanup_str_ struct str text = STR_INIT;

    if (path_read_file(from, 256u << 20, &text, NULL) ||
        path_write_file(to, text.data, text.len, 0755, NULL))
        abort();
}

/* Reserves a port for the daemon, below the range of outgoing connections. It stays bound, without
 * listening, and reuse is only allowed afterwards: another test that tries the port is refused,
 * and the daemon, which reuses addresses, can bind it. */
static void hold_port(struct bench *b)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    int on = 1;

    b->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (b->port_fd < 0)
        abort();
    do {
        b->node_port = (uint16_t)(10000 + (getpid() + rand()) % 22000);
        addr.sin_port = htons(b->node_port);
    } while (bind(b->port_fd, (struct sockaddr *)&addr, sizeof(addr)));
    if (setsockopt(b->port_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
        abort();
}

static void send_acknowledgement(struct bench *b)
{
    Pb__NodeAck m = PB__NODE_ACK__INIT;

    m.seq = b->acked;
    if (b->session && !b->hold_acks)
        rpc_session_send(b->session, RPC_NODE_ACK, &m.base);
}

static void on_report(struct bench *b, const Pb__NodeReport *m)
{
    for (size_t i = 0; i < m->n_events; i++) {
        _cleanup_str_ struct str bytes = STR_INIT;

        if (m->events[i]->seq <= b->acked)
            continue;
        b->acked = m->events[i]->seq;
        pb_pack(&m->events[i]->base, &bytes);
        vec_push(&b->events, pb_unpack(&pb__node_event__descriptor, bytes.data, bytes.len));
    }
    send_acknowledgement(b);
}

static void on_register(struct bench *b, const ProtobufCMessage *m)
{
    Pb__NodeWelcome welcome = PB__NODE_WELCOME__INIT;
    _cleanup_str_ struct str bytes = STR_INIT;
    uint8_t key[AUTH_CRED_KEY_SIZE];

    pb_pack(m, &bytes);
    if (b->registered)
        pb__node_register__free_unpacked(b->registered, NULL);
    b->registered = pb_unpack(&pb__node_register__descriptor, bytes.data, bytes.len);
    b->registrations++;
    auth_signer_public(b->signer, key);
    welcome.cred_public_key = (ProtobufCBinaryData){sizeof(key), key};
    welcome.epoch = 1;
    rpc_session_send(b->session, RPC_NODE_WELCOME, &welcome.base);
}

static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct bench *b = ctx;

    if (rpc->number == RPC_NODE_REGISTER)
        on_register(b, body);
    else if (rpc->number == RPC_NODE_REPORT)
        on_report(b, (const Pb__NodeReport *)body);
}

static void on_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct bench *b = ctx;

    if (why->code && why->code != -ERR_CLOSED)
        fprintf(stderr, "bench: %s\n", why->text);
    if (b->session == s)
        b->session = NULL;
}

static void on_session(void *ctx, struct rpc_session *s, const char *peer_name)
{
    struct bench *b = ctx;
    struct rpc_session_events events = {.on_message = on_message, .on_close = on_close, .ctx = b};

    b->session = s;
    rpc_session_set_events(s, &events);
}

static void on_refused(void *ctx, const char *peer, const char *why)
{
    fprintf(stderr, "bench: refused %s: %s\n", peer, why);
}

static void on_deadline(void *ctx)
{
    struct bench *b = ctx;

    b->late = true;
    loop_stop(b->loop);
}

static void write_conf(struct bench *b, const char *conf)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *path = mem_printf("%s/slurm.conf", b->dir);
    const char *user = getpwuid(geteuid())->pw_name;

    hold_port(b);
    str_printf(&text,
               "ClusterName=%s\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=%u\n"
               "SlurmUser=%s\nSlurmdUser=%s\nSlurmdSpoolDir=%s/spool\nStateSaveLocation=%s/state\n"
               "SlurmdPidFile=%s/pid\nSlurmdLogFile=%s/log\nSlurmdDebug=debug\n"
               "AuthInfo=socketdir=%s/run\nKillWait=1\n%s\n"
               "NodeName=%s NodeAddr=127.0.0.1 Port=%u CPUs=4\n"
               "PartitionName=p Nodes=ALL Default=YES\n",
               BENCH_CLUSTER, b->port, user, user, b->dir, b->dir, b->dir, b->dir, b->dir, conf,
               BENCH_NODE, b->node_port);
    if (path_write_file(path, text.data, text.len, 0644, NULL))
        abort();
}

static void make_keys(struct bench *b)
{
    _cleanup_free_ char *key = mem_printf("%s/slurm.key", b->dir);
    _cleanup_free_ char *signer = mem_printf("%s/signer", b->dir);
    struct err err = {0};

    if (auth_key_create(key, geteuid(), getegid(), &err) ||
        auth_key_load(key, geteuid(), &b->key, &err) ||
        auth_signer_load(signer, geteuid(), &b->signer, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        abort();
    }
}

void bench_init(struct bench *b, const char *programs, const char *conf)
{
    struct rpc_server_options options = {.key = &b->key, .audience = "slurmctld"};
    struct rpc_server_events events = {
        .on_session = on_session, .on_refused = on_refused, .ctx = b};
    int port;

    memset(b, 0, sizeof(*b));
    snprintf(b->dir, sizeof(b->dir), "/tmp/slurmd-test.XXXXXX");
    if (!mkdtemp(b->dir) || chmod(b->dir, 0755))
        abort();
    signal(SIGPIPE, SIG_IGN);
    copy_program(b, programs, "slurmd", "slurmd");
    copy_program(b, programs, "slurmstepd", "slurmstepd");
    copy_program(b, programs, "slurmstepd", "slurmstepd-cast");
    make_keys(b);
    b->loop = loop_new(1);
    b->deadline = loop_timer_new(b->loop, on_deadline, b);
    options.loop = b->loop;
    options.node_uid = options.admin_uid = geteuid();
    b->server = rpc_server_new(&options, &events);
    port = rpc_server_listen_tcp(b->server, "127.0.0.1", 0, NULL);
    if (port <= 0)
        abort();
    b->port = (uint16_t)port;
    write_conf(b, conf);
}

void bench_add_program(struct bench *b, const char *key, const char *name, const char *script)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", b->dir, name);
    _cleanup_free_ char *conf = mem_printf("%s/slurm.conf", b->dir);
    _cleanup_free_ char *text = mem_printf("#!/bin/sh\n%s", script);
    _cleanup_free_ char *line = mem_printf("%s=%s\n", key, path);
    _cleanup_close_ int fd = open(conf, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (path_write_file(path, text, strlen(text), 0755, NULL) ||
        path_write_all(fd, line, strlen(line)))
        abort();
}

/* Runs the loop; the timer repeats checks for which there is no event. */
struct look {
    struct bench *b;
    bench_fn *fn;
    void *ctx;
    struct loop_timer *timer;
    bool found;
};

static void repeat_check(void *ctx)
{
    struct look *l = ctx;

    l->found = l->fn(l->b, l->ctx);
    if (l->found)
        loop_stop(l->b->loop);
    else
        loop_timer_set(l->timer, LOOK_MS);
}

bool bench_until(struct bench *b, bench_fn *fn, void *ctx)
{
    struct look l = {.b = b, .fn = fn, .ctx = ctx};

    b->late = false;
    l.timer = loop_timer_new(b->loop, repeat_check, &l);
    loop_timer_set(l.timer, 0);
    loop_timer_set(b->deadline, DEADLINE_MS);
    loop_run(b->loop);
    loop_timer_set(b->deadline, -1);
    loop_timer_free(l.timer);
    return l.found;
}

static bool is_registered(struct bench *b, void *ctx)
{
    return b->session && b->registrations > *(unsigned *)ctx;
}

/* The daemon that a failed test has left. */
static pid_t running;

static void kill_running_daemon(void)
{
    if (running)
        kill(running, SIGKILL);
}

void bench_start(struct bench *b)
{
    _cleanup_free_ char *program = mem_printf("%s/slurmd", b->dir);
    _cleanup_free_ char *conf = mem_printf("%s/slurm.conf", b->dir);
    _cleanup_free_ char *out = mem_printf("%s/stderr", b->dir);
    char *const argv[] = {program, "-D", "-N", BENCH_NODE, "-f", conf, b->clean ? "-c" : NULL,
                          NULL};
    posix_spawn_file_actions_t actions;
    unsigned before = b->registrations;

    kill_running_daemon(); /* of an earlier failed test */
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, out, O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (posix_spawn(&b->slurmd, program, &actions, NULL, argv, environ))
        abort();
    posix_spawn_file_actions_destroy(&actions);
    if (!running)
        atexit(kill_running_daemon);
    running = b->slurmd;
    if (!bench_until(b, is_registered, &before)) {
        _cleanup_free_ char *text = bench_read(b, "stderr");

        fprintf(stderr, "bench: slurmd did not register:\n%s\n", text);
        abort();
    }
}

static bool is_over(struct bench *b, void *ctx)
{
    return waitpid(b->slurmd, ctx, WNOHANG) == b->slurmd;
}

void bench_kill(struct bench *b, int how)
{
    int status = 0;

    kill(b->slurmd, how);
    if (!bench_until(b, is_over, &status) || (how == SIGTERM && status != 0)) {
        fprintf(stderr, "bench: slurmd ended with wait status 0x%x\n", (unsigned)status);
        abort();
    }
    b->slurmd = running = 0;
}

void bench_done(struct bench *b)
{
    char *const argv[] = {"rm", "-rf", b->dir, NULL};
    pid_t pid;

    if (b->slurmd)
        bench_kill(b, SIGTERM);
    close(b->port_fd);
    rpc_server_free(b->server);
    loop_timer_free(b->deadline);
    loop_free(b->loop);
    auth_signer_free(b->signer);
    if (b->registered)
        pb__node_register__free_unpacked(b->registered, NULL);
    vec_foreach (&b->events, e)
        pb__node_event__free_unpacked(*e, NULL);
    vec_done(&b->events);
    if (!posix_spawn(&pid, "/bin/rm", NULL, NULL, argv, environ))
        waitpid(pid, NULL, 0);
}

void bench_order(struct bench *b, Pb__NodeOrder *order)
{
    Pb__NodeOrders m = PB__NODE_ORDERS__INIT;

    m.orders = &order;
    m.n_orders = 1;
    rpc_session_send(b->session, RPC_NODE_ORDERS, &m.base);
}

static void move_bytes(struct str *bytes, ProtobufCBinaryData *out)
{
    out->len = bytes->len;
    out->data = (uint8_t *)str_take(bytes);
}

void bench_sign(struct bench *b, const struct bench_cred *c, ProtobufCBinaryData *cred,
                ProtobufCBinaryData *signature)
{
    Pb__Cred m = PB__CRED__INIT;
    Pb__StepNode node = PB__STEP_NODE__INIT, *nodes[1] = {&node};
    Pb__NodeShare shares[2] = {PB__NODE_SHARE__INIT, PB__NODE_SHARE__INIT};
    Pb__NodeShare *share_list[2] = {&shares[0], &shares[1]};
    struct str bytes = STR_INIT;
    uint32_t ids[16];

    for (uint32_t i = 0; i < 16; i++)
        ids[i] = i;
    m.job_id = c->job_id;
    m.restarts = c->restarts;
    m.step_id = c->step_id;
    m.uid = c->uid ? c->uid : geteuid();
    m.gid = c->uid ? c->uid : getegid();
    m.cluster = (char *)(c->cluster ? c->cluster : BENCH_CLUSTER);
    m.issued_at_ms = loop_wall_ms();
    m.expires_at_ms = m.issued_at_ms + (c->life_ms ? c->life_ms : 60000);
    node.node = (char *)(c->node ? c->node : BENCH_NODE);
    node.addr = "127.0.0.1";
    node.port = b->node_port;
    node.cpus = 4;
    node.task_ids = ids;
    node.n_task_ids = c->tasks;
    m.nodes = nodes;
    m.n_nodes = 1;
    shares[0].node = BENCH_NODE;
    shares[1].node = "n2";
    shares[0].cpus = shares[1].cpus = 4;
    m.has_cast = m.cast = c->cast;
    m.job_nodes = share_list;
    m.n_job_nodes = c->nodes ? c->nodes : 1;
    pb_pack(&m.base, &bytes);
    move_bytes(&bytes, cred);
    signature->data = mem_alloc(AUTH_CRED_SIG_SIZE);
    signature->len = AUTH_CRED_SIG_SIZE;
    auth_sign(b->signer, cred->data, cred->len, signature->data);
}

void bench_launch(struct bench *b, const struct bench_cred *c, const char *script)
{
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    Pb__LaunchBatch m = PB__LAUNCH_BATCH__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
    struct bench_cred batch = *c;
    char *env[] = {"GREETING=hello"};

    batch.step_id = STEP_ID_BATCH;
    bench_sign(b, &batch, &m.cred, &m.signature);
    m.job_id = c->job_id;
    m.restarts = c->restarts;
    spec.work_dir = b->dir;
    spec.name = "bench job";
    payload.has_script = true;
    payload.script = (ProtobufCBinaryData){strlen(script), (uint8_t *)script};
    payload.env = env;
    payload.n_env = 1;
    m.spec = &spec;
    m.payload = &payload;
    order.launch = &m;
    bench_order(b, &order);
    free(m.cred.data);
    free(m.signature.data);
}

void bench_terminate(struct bench *b, uint32_t job_id, uint32_t restarts, uint32_t grace_sec,
                     const char *why)
{
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    Pb__Terminate m = PB__TERMINATE__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    m.uid = geteuid();
    m.gid = getegid();
    m.has_grace_sec = true;
    m.grace_sec = grace_sec;
    m.why = (char *)why;
    order.terminate = &m;
    bench_order(b, &order);
}

void bench_end_step(struct bench *b, uint32_t job_id, uint32_t restarts, uint32_t step_id)
{
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    Pb__Terminate m = PB__TERMINATE__INIT;

    m.job_id = job_id;
    m.restarts = restarts;
    m.uid = geteuid();
    m.gid = getegid();
    m.has_step_id = true;
    m.step_id = step_id;
    m.why = "CANCELLED";
    order.terminate = &m;
    bench_order(b, &order);
}

/* Waiting for events. */

struct search {
    enum { LAUNCHED, BATCH_ENDED, STEP_ENDED, JOB_GONE, TROUBLE } kind;
    uint32_t job_id, step_id;
    const void *found;
};

static bool find_event(struct bench *b, void *ctx)
{
    struct search *s = ctx;

    for (size_t i = 0; i < b->events.len && !s->found; i++) {
        const Pb__NodeEvent *e = b->events.data[i];

        if (s->kind == LAUNCHED && e->launched && e->launched->job_id == s->job_id)
            s->found = e->launched;
        if (s->kind == BATCH_ENDED && e->batch_ended && e->batch_ended->job_id == s->job_id)
            s->found = e->batch_ended;
        if (s->kind == STEP_ENDED && e->step_ended && e->step_ended->job_id == s->job_id &&
            e->step_ended->step_id == s->step_id)
            s->found = e->step_ended;
        if (s->kind == JOB_GONE && e->job_gone && e->job_gone->job_id == s->job_id)
            s->found = e->job_gone;
        if (s->kind == TROUBLE && e->trouble)
            s->found = e->trouble;
    }
    return s->found;
}

static const void *wait_event(struct bench *b, struct search s)
{
    if (!bench_until(b, find_event, &s)) {
        _cleanup_free_ char *text = bench_read(b, "log");

        fprintf(stderr, "bench: job %u: no such event; the log:\n%s\n", s.job_id, text);
    }
    return s.found;
}

const Pb__Launched *bench_launched(struct bench *b, uint32_t job_id)
{
    return wait_event(b, (struct search){.kind = LAUNCHED, .job_id = job_id});
}

const Pb__BatchEnded *bench_batch_ended(struct bench *b, uint32_t job_id)
{
    return wait_event(b, (struct search){.kind = BATCH_ENDED, .job_id = job_id});
}

const Pb__StepEnded *bench_step_ended(struct bench *b, uint32_t job_id, uint32_t step_id)
{
    return wait_event(b, (struct search){.kind = STEP_ENDED, .job_id = job_id, .step_id = step_id});
}

const Pb__JobGone *bench_job_gone(struct bench *b, uint32_t job_id)
{
    return wait_event(b, (struct search){.kind = JOB_GONE, .job_id = job_id});
}

const Pb__NodeTrouble *bench_trouble(struct bench *b)
{
    return wait_event(b, (struct search){.kind = TROUBLE});
}

char *bench_read(struct bench *b, const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", b->dir, name);
    struct str text = STR_INIT;

    path_read_file(path, 1u << 24, &text, NULL);
    return str_take(&text);
}

struct text_search {
    const char *name, *text;
};

static bool find_text(struct bench *b, void *ctx)
{
    struct text_search *s = ctx;
    _cleanup_free_ char *text = bench_read(b, s->name);

    return strstr(text, s->text) != NULL;
}

bool bench_wait_text(struct bench *b, const char *name, const char *text)
{
    struct text_search s = {name, text};

    return bench_until(b, find_text, &s);
}

bool bench_has_file(struct bench *b, const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", b->dir, name);

    return !access(path, F_OK);
}

unsigned bench_count_files(struct bench *b, const char *dir)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", b->dir, dir);
    struct dirent *entry;
    unsigned count = 0;
    DIR *d = opendir(path);

    if (!d)
        return 0;
    while ((entry = readdir(d)))
        count += entry->d_name[0] != '.';
    closedir(d);
    return count;
}

bool bench_has_claim(struct bench *b, void *ctx)
{
    return bench_count_files(b, "spool/steps") > 0;
}
