/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/test/test_cluster.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "conf/conf.h"
#include "proto/io.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/step.pb-c.h"
#include "proto/tree.pb-c.h"
#include "rpc/client.h"
#include "rpc/reply.h"
#include "rpc/server.h"
#include "rpc/session.h"

#define NODES 2
#define WORDS_MAX 24

char test_cluster_dir[] = "/tmp/sluice-srun-test.XXXXXX";
static pid_t cluster_pid;

struct shepherd {
    struct rpc_session *session;
    uint32_t node, next_word;
    struct Pb__LaunchTasks *launch;
    struct arena arena;
    uint64_t late_call; /* the unanswered launch call; 0: answered */
    uint64_t shy_call, held_call;
    bool shy;     /* the first connection has not ended yet */
    char waiting; /* the first letter of the word that waits for srun, or 0 */
};

/* A request of a tree, in which each node is a leaf. */
struct leaf {
    uint64_t call;
    struct Pb__TreeRequest *request;
    struct arena arena;
    struct shepherd *held; /* the prepared launch */
};

static struct {
    struct leaf leaf[NODES];
    struct loop *loop;
    struct auth_key key;
    struct rpc_server *controller, *node[NODES];
    uint16_t port[NODES];
    uint32_t next_job;
    uint64_t waiting_call; /* ALLOC_WAIT */
    struct loop_timer *grant;
    struct Pb__JobSpec asked; /* num_tasks, min_nodes only */
    struct shepherd *stalled;
    bool with_step, deaf, unlisted, unwatched;
    Pb__JobState end; /* RUNNING: the job does not end by itself */
} c;

static void send_data(struct shepherd *s, uint32_t task, uint32_t stream, const void *data,
                      size_t len)
{
    struct Pb__IoData m = PB__IO_DATA__INIT;

    m.task = task;
    m.stream = stream;
    m.has_data = 1;
    m.data.data = (uint8_t *)data;
    m.data.len = len;
    rpc_session_send(s->session, RPC_IO_DATA, &m.base);
}

static void send_exit(struct shepherd *s, uint32_t task, int status)
{
    struct Pb__TaskExited m = PB__TASK_EXITED__INIT;

    m.task = task;
    m.exit_status = status;
    rpc_session_send(s->session, RPC_TASK_EXITED, &m.base);
}

static void send_over(struct shepherd *s)
{
    struct Pb__StepDone m = PB__STEP_DONE__INIT;

    rpc_session_send(s->session, RPC_STEP_DONE, &m.base);
}

static void send_done(struct shepherd *s)
{
    send_over(s);
    rpc_session_finish(s->session);
}

static void send_fence(struct shepherd *s)
{
    struct Pb__KvsFence m = PB__KVS_FENCE__INIT;
    struct Pb__KvsEntry entry = PB__KVS_ENTRY__INIT, *put = &entry;

    entry.key = s->node == 0 ? "k0" : "k1";
    entry.value = "v";
    m.round = 1;
    m.put = &put;
    m.n_put = 1;
    rpc_session_send(s->session, RPC_KVS_FENCE, &m.base);
}

/* Runs one word of the script. False if the script has to wait. */
static bool run_word(struct shepherd *s, char *word)
{
    uint32_t task = 0;
    char *rest = strchr(word, ':');

    if (rest != NULL) {
        task = (uint32_t)strtoul(rest + 1, &rest, 10);
        rest += *rest == ':';
    }
    if (strncmp(word, "out:", 4) == 0 || strncmp(word, "err:", 4) == 0) {
        for (char *p; (p = strstr(rest, "\\n")) != NULL; memmove(p + 1, p + 2, strlen(p + 1)))
            *p = '\n';
        send_data(s, task, word[0] == 'o' ? 1 : 2, rest, strlen(rest));
    } else if (strncmp(word, "exit:", 5) == 0) {
        send_exit(s, task, (int)strtol(rest, NULL, 0));
    } else if (strncmp(word, "failed:", 7) == 0) {
        struct Pb__TaskFailed m = PB__TASK_FAILED__INIT;

        m.task = task;
        m.code = 2;
        m.text = "execve(): nosuch: No such file or directory";
        rpc_session_send(s->session, RPC_TASK_FAILED, &m.base);
    } else if (strncmp(word, "abort:", 6) == 0) {
        struct Pb__KvsAbort m = PB__KVS_ABORT__INIT;

        m.exit_code = (int)task;
        rpc_session_send(s->session, RPC_KVS_ABORT, &m.base);
    } else if (strncmp(word, "flood:", 6) == 0) {
        static const char kib[1024];

        for (long left = strtol(rest, NULL, 10); left > 0; left--)
            send_data(s, s->node, task, kib, sizeof(kib));
    } else if (strcmp(word, "fence") == 0) {
        send_fence(s);
        s->waiting = 'f';
    } else if (strcmp(word, "done") == 0) {
        send_done(s);
    } else if (strcmp(word, "vanish") == 0) {
        rpc_session_finish(s->session);
        return false;
    } else if (strcmp(word, "over") == 0) {
        send_over(s);
    } else {
        s->waiting = *word; /* wait, input, stall */
    }
    if (s->waiting == 's') {
        rpc_session_pause(s->session, true);
        c.stalled = s;
    }
    return s->waiting == 0;
}

static void go_on(struct shepherd *s)
{
    s->waiting = 0;
    while (s->next_word < s->launch->n_argv) {
        char *word = s->launch->argv[s->next_word++];

        if (word[1] == '.' && (uint32_t)(word[0] - '0') != s->node)
            continue;
        if (!run_word(s, word[1] == '.' ? word + 2 : word))
            return;
    }
}

static void on_open(void *ctx, struct rpc_session *session)
{
    struct shepherd *s = ctx;
    struct Pb__IoHello m = PB__IO_HELLO__INIT;
    static char name[3];

    snprintf(name, sizeof(name), "n%u", s->node + 1);
    s->session = session;
    m.node = name;
    m.node_index = s->node;
    rpc_session_send(session, RPC_IO_HELLO, &m.base);
    if (s->shy)
        rpc_session_finish(session);
}

static void on_hello(struct shepherd *s)
{
    struct Pb__LaunchReply reply = PB__LAUNCH_REPLY__INIT;

    reply.local_pid = 4711;
    if (s->shy_call != 0)
        rpc_reply(c.node[s->node], s->shy_call, &reply.base);
    go_on(s);
}

static void on_message(void *ctx, struct rpc_session *session, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct shepherd *s = ctx;
    const struct Pb__IoData *data = (const struct Pb__IoData *)body;
    const struct Pb__IoSignal *sig = (const struct Pb__IoSignal *)body;

    if (rpc->number == RPC_IO_HELLO) {
        if (!s->shy)
            on_hello(s);
    } else if (rpc->number == RPC_IO_DATA) {
        if (data->data.len > 0)
            send_data(s, s->node, 1, data->data.data, data->data.len);
        else if (s->waiting == 'i')
            go_on(s);
    } else if (rpc->number == RPC_KVS_FENCE) {
        char text[64];
        int len =
            snprintf(text, sizeof(text), "%zu pairs\n", ((const struct Pb__KvsFence *)body)->n_put);

        send_data(s, s->node, 1, text, (size_t)len);
        go_on(s);
    } else if (rpc->number == RPC_IO_SIGNAL && sig->kill_step && s->late_call != 0) {
        rpc_session_finish(session);
    } else if (rpc->number == RPC_IO_SIGNAL && sig->kill_step && s->waiting != 0) {
        send_exit(s, s->node, SIGTERM);
        send_done(s);
    } else if (rpc->number == RPC_IO_SIGNAL && !sig->kill_step) {
        char text[64];
        int len = snprintf(text, sizeof(text), "signal %d\n", sig->signal);

        send_data(s, s->node, 1, text, (size_t)len);
        if (sig->signal == SIGUSR2 && c.stalled != NULL)
            go_on(take_ptr(c.stalled));
    }
}

static void call_back(struct shepherd *s);

static void on_close(void *ctx, struct rpc_session *session, const struct err *why)
{
    struct shepherd *s = ctx;

    (void)why;
    rpc_session_free(session);
    if (s->shy) {
        s->shy = false;
        call_back(s);
        return;
    }
    if (s->late_call != 0)
        rpc_reply_error(c.node[s->node], s->late_call, ERR_CREDENTIAL_REVOKED,
                        err_text(ERR_CREDENTIAL_REVOKED));
    arena_done(&s->arena);
    free(s);
}

static void call_back(struct shepherd *s)
{
    const struct rpc_session_events events = {.accepts = RPC_WHO_KEY,
                                              .on_open = on_open,
                                              .on_message = on_message,
                                              .on_close = on_close,
                                              .ctx = s};
    struct rpc_target target = {s->launch->io_addr[0], (uint16_t)s->launch->io_port};
    struct auth_key key, secret;
    char name[3];

    if (auth_secret_of(&c.key, s->launch->io_key.data, s->launch->io_key.len, RPC_SECRET_AUDIENCE,
                       geteuid(), &secret, NULL))
        abort();
    auth_key_from_bytes(secret.mac_key, sizeof(secret.mac_key), &key);
    snprintf(name, sizeof(name), "n%u", s->node + 1);
    rpc_session_connect(c.loop, &key, name, &target, 1, false, &events);
}

static void launch_go(struct shepherd *s, uint64_t call)
{
    struct Pb__LaunchReply reply = PB__LAUNCH_REPLY__INIT;

    reply.local_pid = 4711;
    if (strcmp(s->launch->argv[0], "late") == 0 && s->node == 1)
        s->late_call = call;
    else if (s->shy)
        s->shy_call = call;
    else
        rpc_reply(c.node[s->node], call, &reply.base);
    call_back(s);
}

static void on_launch(const struct rpc_request *request, uint32_t node)
{
    struct shepherd *s = mem_new(struct shepherd);
    const char *how = ((struct Pb__LaunchTasks *)request->body)->argv[0];
    bool refuses = strcmp(how, "refuse") == 0, late = strcmp(how, "late") == 0;

    s->node = node;
    s->launch = (struct Pb__LaunchTasks *)request->body;
    s->shy = strcmp(how, "shy") == 0;
    s->next_word = refuses || late || s->shy;
    if (refuses && node == 0) {
        rpc_reply_error(c.node[node], request->call, ERR_CREDENTIAL, "Invalid job credential");
        free(s);
        return;
    }
    rpc_request_take(request, &s->arena);
    if (request->prepare) {
        s->held_call = request->call;
        c.leaf[node].held = s;
        rpc_prepared(c.node[node], request->call);
    } else {
        launch_go(s, request->call);
    }
}

static void answer_tree(uint32_t node, struct Pb__TreeAnswer *answer)
{
    struct Pb__TreeAnswers m = PB__TREE_ANSWERS__INIT;
    struct str bytes = STR_INIT;

    m.answers = &answer;
    m.n_answers = 1;
    pb_pack(&m.base, &bytes);
    rpc_reply_bytes(c.node[node], c.leaf[node].call, bytes.data, bytes.len, answer->has_prepared);
    str_done(&bytes);
}

static void on_prepared(void *ctx)
{
    struct Pb__TreeAnswer m = PB__TREE_ANSWER__INIT;

    m.has_prepared = m.prepared = 1;
    answer_tree((uint32_t)(uintptr_t)ctx, &m);
}

static void on_answered(void *ctx, int code, const void *answer, size_t len)
{
    struct Pb__TreeAnswer m = PB__TREE_ANSWER__INIT;
    char *text = code != 0 ? mem_strndup(answer, len) : NULL;

    m.has_code = code != 0;
    m.code = (uint32_t)code;
    m.text = text;
    m.has_reply = code == 0;
    m.reply.data = (uint8_t *)answer;
    m.reply.len = code == 0 ? len : 0;
    answer_tree((uint32_t)(uintptr_t)ctx, &m);
    free(text);
}

static void on_tree(const struct rpc_request *request, uint32_t node)
{
    struct leaf *leaf = &c.leaf[node];

    leaf->call = request->call;
    leaf->request = (struct Pb__TreeRequest *)request->body;
    rpc_request_take(request, &leaf->arena);
}

/* Leaves have no nodes below. The message asks for the call, or to commit a prepared launch. */
static void on_more(void *ctx, const struct rpc_more *more)
{
    uint32_t node = (uint32_t)(uintptr_t)ctx;
    struct leaf *leaf = &c.leaf[node];
    struct shepherd *held = take_ptr(leaf->held);
    struct rpc_inner inner = {.outer = more->call,
                              .roles = RPC_WHO_USER,
                              .peer = "127.0.0.1:1",
                              .prepared = on_prepared,
                              .answered = on_answered,
                              .ctx = ctx};

    if (held != NULL) {
        launch_go(held, held->held_call);
        return;
    }
    inner.rpc = leaf->request->rpc;
    inner.body = leaf->request->body.data;
    inner.len = leaf->request->body.len;
    inner.prepare = leaf->request->has_commit;
    rpc_call_inner(c.node[node], &inner);
    arena_done(&leaf->arena);
}

static void on_gone(void *ctx, uint64_t call)
{
    struct leaf *leaf = &c.leaf[(uintptr_t)ctx];
    struct shepherd *held = leaf->held;

    if (held == NULL || held->held_call != call)
        return;
    leaf->held = NULL;
    arena_done(&held->arena);
    free(held);
}

static void reply_granted(uint64_t call)
{
    struct Pb__AllocReply reply = PB__ALLOC_REPLY__INIT;
    struct Pb__StepReply step = PB__STEP_REPLY__INIT;
    struct Pb__StepNode nodes[NODES], *layout[NODES];
    struct Pb__NodeAlloc shares[NODES], *alloc[NODES];
    uint32_t tasks[64], n = c.asked.has_min_nodes ? c.asked.min_nodes : 1;
    uint32_t count = c.asked.has_num_tasks ? c.asked.num_tasks : n;

    for (uint32_t i = 0; i < count; i++)
        tasks[i] = i;
    for (uint32_t i = 0; i < n; i++) {
        pb__step_node__init(&nodes[i]);
        nodes[i].node = i == 0 ? "n1" : "n2";
        nodes[i].addr = "127.0.0.1";
        nodes[i].port = c.port[i];
        nodes[i].task_ids = tasks + count / n * i;
        nodes[i].n_task_ids = count / n;
        layout[i] = &nodes[i];
        pb__node_alloc__init(&shares[i]);
        shares[i].node = nodes[i].node;
        shares[i].cpus = 4;
        alloc[i] = &shares[i];
    }
    reply.alloc = alloc;
    reply.n_alloc = n;
    step.job_id = reply.job_id = 7;
    step.layout = layout;
    step.n_layout = n;
    step.has_num_tasks = 1;
    step.num_tasks = count;
    step.has_cred = step.has_signature = 1;
    reply.granted = 1;
    reply.nodes = n == 1 ? "n1" : "n[1-2]";
    reply.step = c.with_step ? &step : NULL;
    rpc_reply(c.controller, call, &reply.base);
}

static void on_grant(void *ctx)
{
    (void)ctx;
    reply_granted(c.waiting_call);
}

static void on_alloc(const struct rpc_request *request)
{
    const struct Pb__AllocRequest *m = (const struct Pb__AllocRequest *)request->body;
    struct Pb__AllocReply reply = PB__ALLOC_REPLY__INIT;

    c.with_step = m->step != NULL;
    c.deaf = strstr(m->spec->name, "deaf") != NULL;
    c.unlisted = strcmp(m->spec->name, "unlisted") == 0;
    c.unwatched = strcmp(m->spec->name, "unwatched") == 0;
    c.asked.has_num_tasks = m->spec->has_num_tasks;
    c.asked.num_tasks = m->spec->num_tasks;
    c.asked.has_min_nodes = m->spec->has_min_nodes;
    c.asked.min_nodes = m->spec->min_nodes;
    c.end = strcmp(m->spec->name, "timeout") == 0  ? PB__JOB_STATE__TIMEOUT
            : strcmp(m->spec->name, "cancel") == 0 ? PB__JOB_STATE__CANCELLED
                                                   : PB__JOB_STATE__RUNNING;
    reply.job_id = 7;
    if (strcmp(m->spec->name, "busy") == 0)
        rpc_reply_error(c.controller, request->call, ERR_NODES_BUSY, err_text(ERR_NODES_BUSY));
    else if (strncmp(m->spec->name, "queue", 5) == 0)
        rpc_reply(c.controller, request->call, &reply.base);
    else
        reply_granted(request->call);
    c.waiting_call = c.deaf || strcmp(m->spec->name, "queue-for-ever") == 0 ? 0 : 1;
}

static void listen_locally(void)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/run/slurmctld", test_cluster_dir);
    if (rpc_server_listen_unix(c.controller, path, 0666, NULL) < 0)
        exit(1);
}

static void on_controller(void *ctx, const struct rpc_request *request)
{
    struct Pb__Empty done = PB__EMPTY__INIT;
    struct Pb__JobEnd ended = PB__JOB_END__INIT;
    struct Pb__JobSignalReply signalled = PB__JOB_SIGNAL_REPLY__INIT;

    (void)ctx;
    if (c.unlisted &&
        (request->rpc->number == RPC_JOB_COMPLETE || request->rpc->number == RPC_JOB_WAIT_END)) {
        listen_locally();
        c.unlisted = false;
    }
    if (c.deaf &&
        (request->rpc->number == RPC_JOB_SIGNAL || request->rpc->number == RPC_JOB_COMPLETE)) {
        rpc_reply_error(c.controller, request->call, ERR_SHUTDOWN, err_text(ERR_SHUTDOWN));
        return;
    }
    switch (request->rpc->number) {
    case RPC_ALLOC:
        on_alloc(request);
        break;
    case RPC_ALLOC_WAIT:
        if (c.waiting_call == 0)
            break;
        c.waiting_call = request->call;
        loop_timer_set(c.grant, 1);
        break;
    case RPC_JOB_SIGNAL:
        rpc_reply(c.controller, request->call, &signalled.base);
        break;
    case RPC_MINT:
        rpc_answer_mint(c.controller, request, 60000);
        break;
    case RPC_JOB_COMPLETE:
        rpc_reply(c.controller, request->call, &done.base);
        break;
    case RPC_JOB_WAIT_END:
        ended.job_id = 7;
        ended.state = c.end;
        if (c.unwatched)
            rpc_reply_error(c.controller, request->call, ERR_SKEW, err_text(ERR_SKEW));
        else if (c.end != PB__JOB_STATE__RUNNING)
            rpc_reply(c.controller, request->call, &ended.base);
        break;
    default:
        break;
    }
}

static void on_node(void *ctx, const struct rpc_request *request)
{
    if (c.unlisted)
        rpc_server_unlisten(c.controller);
    if (request->rpc->number == RPC_TREE)
        on_tree(request, (uint32_t)(uintptr_t)ctx);
    else
        on_launch(request, (uint32_t)(uintptr_t)ctx);
}

static void cluster_serve(int ready)
{
    static const char *const names[NODES] = {"n1", "n2"};
    struct rpc_server_events events = {.on_request = on_controller};
    struct rpc_server_options options = {.key = &c.key, .audience = "slurmctld"};
    struct err err = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    options.admin_uid = options.node_uid = getuid();
    c.loop = options.loop = loop_new(0);
    c.grant = loop_timer_new(c.loop, on_grant, NULL);
    auth_key_from_bytes("the key of the cluster of this test", 32, &c.key);
    c.controller = rpc_server_new(&options, &events);
    listen_locally();
    for (uintptr_t i = 0; i < NODES; i++) {
        int port;

        events.on_request = on_node;
        events.on_more = on_more;
        events.on_gone = on_gone;
        events.ctx = (void *)i;
        options.audience = names[i];
        c.node[i] = rpc_server_new(&options, &events);
        port = rpc_server_listen_tcp(c.node[i], "127.0.0.1", 0, &err);
        if (port < 0)
            exit(1);
        c.port[i] = (uint16_t)port;
    }
    if (write(ready, "", 1) == 1)
        loop_run(c.loop);
    exit(0);
}

int test_cluster_start(void **state)
{
    char path[128], byte;
    struct str text = STR_INIT;
    int ready[2];

    (void)state;
    assert_non_null(mkdtemp(test_cluster_dir));
    chmod(test_cluster_dir, 0755);
    str_printf(&text,
               "ClusterName=t\nSlurmctldHost=localhost(127.0.0.1)\nAuthInfo=socketdir=%s/run\n"
               "NodeName=n[1-2]\nPartitionName=p Nodes=ALL\nKillWait=1\nMessageTimeout=5\n"
               "SlurmctldTimeout=700\n",
               test_cluster_dir);
    snprintf(path, sizeof(path), "%s/slurm.conf", test_cluster_dir);
    assert_int_equal(path_write_file(path, text.data, text.len, 0644, NULL), 0);
    setenv("SLURM_CONF", path, 1);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOBID");
    str_done(&text);
    assert_int_equal(pipe(ready), 0);
    cluster_pid = fork();
    if (cluster_pid == 0)
        cluster_serve(ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return 0;
}

int test_cluster_stop(void **state)
{
    static const char *const left[] = {"slurm.conf", "run/slurmctld", "run", "file", ""};
    char path[128];

    (void)state;
    kill(cluster_pid, SIGKILL);
    waitpid(cluster_pid, NULL, 0);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", test_cluster_dir, left[i]);
        remove(path);
    }
    return 0;
}

/* --- commands --------------------------------------------------------------------------------- */

void test_play_start(struct test_play *p, const char *program, const char *line)
{
    _cleanup_free_ char *copy = mem_strdup(line);
    char *words[WORDS_MAX + 2] = {(char *)program}, *rest = copy, *word;
    int count = 1, in[2], out[2], err[2];

    *p = (struct test_play){0};
    while ((word = strsep(&rest, " ")) != NULL && count <= WORDS_MAX)
        if (*word != '\0')
            words[count++] = word;
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    p->pid = fork();
    if (p->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execv(program, words);
        _exit(99);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    p->in = in[1];
    p->out = out[0];
    p->err = err[0];
}

static void read_output(int *fd, struct str *text)
{
    char data[4096];
    ssize_t n = read(*fd, data, sizeof(data));

    if (n > 0) {
        str_append(text, data, (size_t)n);
        return;
    }
    close(*fd);
    *fd = -1;
}

bool test_play_has(const struct str *text, const char *what)
{
    return strstr(str_cstr(text), what) != NULL;
}

/* Reads until both streams end, or until one of them contains 'until'. */
void test_play_follow(struct test_play *p, const char *until)
{
    while (p->out >= 0 || p->err >= 0) {
        struct pollfd fds[2] = {{p->out, POLLIN, 0}, {p->err, POLLIN, 0}};

        if (until != NULL &&
            (test_play_has(&p->err_text, until) || test_play_has(&p->out_text, until)))
            return;
        poll(fds, 2, -1);
        if (fds[0].revents != 0)
            read_output(&p->out, &p->out_text);
        if (fds[1].revents != 0)
            read_output(&p->err, &p->err_text);
    }
    if (until != NULL)
        fail_msg("the command has ended without: %s\n%s", until, str_cstr(&p->err_text));
}

void test_play_finish(struct test_play *p)
{
    int status;

    close(p->in);
    test_play_follow(p, NULL);
    waitpid(p->pid, &status, 0);
    p->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void test_play_done(struct test_play *p)
{
    str_done(&p->out_text);
    str_done(&p->err_text);
}
