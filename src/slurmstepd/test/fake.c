/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/test/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

bool fake_here;

static void on_data(struct fake *f, const Pb__IoData *m)
{
    assert_true(m->task < FAKE_TASKS_MAX && (m->stream == 1 || m->stream == 2));
    if (m->stream == 1 && !m->data.len)
        f->eof[m->task] = true;
    str_append(m->stream == 1 ? &f->out[m->task] : &f->err[m->task], m->data.data, m->data.len);
}

static void on_fence(struct fake *f, const Pb__KvsFence *m)
{
    f->fences++;
    for (size_t i = 0; i < m->n_put; i++)
        str_printf(&f->puts, "%s=%s;", m->put[i]->key, m->put[i]->value);
    rpc_session_send(f->session, RPC_KVS_FENCE, &m->base); /* the fake acts as all nodes */
}

static void on_hello(struct fake *f, struct rpc_session *s, const Pb__IoHello *m)
{
    f->hellos++;
    if (f->hellos <= f->deaf) {
        rpc_session_finish(s);
        return;
    }
    if (f->holds)
        return;
    rpc_session_send(s, RPC_IO_HELLO, &m->base);
    if (f->early) {
        Pb__IoSignal early = PB__IO_SIGNAL__INIT;

        early.signal = f->early;
        rpc_session_send(s, RPC_IO_SIGNAL, &early.base);
    }
}

static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct fake *f = ctx;

    if (rpc->number == RPC_IO_HELLO)
        on_hello(f, s, (const Pb__IoHello *)body);
    if (rpc->number == RPC_IO_DATA)
        on_data(f, (const Pb__IoData *)body);
    if (rpc->number == RPC_TASKS_STARTED)
        f->started += (unsigned)((const Pb__TasksStarted *)body)->n_task;
    if (rpc->number == RPC_TASK_FAILED) {
        f->failed++;
        f->fail_code = ((const Pb__TaskFailed *)body)->code;
    }
    if (rpc->number == RPC_TASK_EXITED) {
        f->status[((const Pb__TaskExited *)body)->task] =
            ((const Pb__TaskExited *)body)->exit_status;
        f->exited++;
    }
    if (rpc->number == RPC_STEP_DONE)
        f->done = true;
    if (rpc->number == RPC_KVS_FENCE)
        on_fence(f, (const Pb__KvsFence *)body);
}

static void on_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct fake *f = ctx;

    if (f->session == s)
        f->session = NULL;
    f->closed = f->hellos > f->deaf;
}

static void on_session(void *ctx, struct rpc_session *s, const char *peer_name)
{
    struct fake *f = ctx;
    struct rpc_session_events events = {.on_message = on_message, .on_close = on_close, .ctx = f};

    f->session = s;
    f->is_local = strstr(rpc_session_peer(s), "local uid") != NULL;
    rpc_session_set_events(s, &events);
}

void fake_token(struct fake *f, uid_t uid)
{
    struct auth_identity who = {.uid = uid, .gid = getegid(), .host = "here"};
    uint8_t hash[AUTH_HASH_SIZE] = {0};

    auth_token_mint(&f->b->key, &who, RPC_SECRET_AUDIENCE, hash, loop_wall_ms(), AUTH_TTL_MS,
                    f->token);
    auth_answer_key(&f->b->key, f->token, &f->secret);
    auth_key_from_bytes(f->secret.mac_key, sizeof(f->secret.mac_key), &f->key);
}

void fake_init(struct fake *f, struct bench *b)
{
    struct rpc_server_options options = {
        .loop = b->loop, .key = &f->key, .audience = "srun", .refuse_plain = true};
    struct rpc_server_events events = {.on_session = on_session, .ctx = f};
    _cleanup_free_ char *path = mem_printf("%s/slurm.conf", b->dir);
    struct conf_report report = {0};

    memset(f, 0, sizeof(*f));
    f->b = b;
    fake_token(f, geteuid());
    f->server = rpc_server_new(&options, &events);
    f->port = (uint16_t)rpc_server_listen_tcp(f->server, "127.0.0.1", 0, NULL);
    f->here = fake_here;
    assert_int_equal(rpc_server_listen_abstract(f->server, f->local, NULL), 0);
    assert_int_equal(conf_load(path, CONF_CLIENT, NULL, &f->conf, &report, NULL), 0);
    conf_report_done(&report);
}

void fake_done(struct fake *f)
{
    rpc_fanout_free(f->call);
    rpc_server_free(f->server);
    conf_free(f->conf);
    for (int i = 0; i < FAKE_TASKS_MAX; i++) {
        str_done(&f->out[i]);
        str_done(&f->err[i]);
    }
    str_done(&f->puts);
}

static void on_answer(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                      const struct err *err)
{
    struct fake *f = ctx;

    f->answered = true;
    f->code = -code;
    snprintf(f->text, sizeof(f->text), "%s", code ? err->text : "");
}

void fake_fill(struct fake *f, const struct bench_cred *c, const char *script, Pb__LaunchTasks *m)
{
    static char *sh[3] = {"sh", "-c"}, *env[] = {"PATH=/usr/bin:/bin", "A=b"};
    static char *addresses[] = {"127.0.0.1"};

    bench_sign(f->b, c, &m->cred, &m->signature);
    if (!m->n_argv) {
        sh[2] = (char *)script;
        m->argv = sh;
        m->n_argv = 3;
    }
    m->env = env;
    m->n_env = 2;
    m->work_dir = f->b->dir;
    if (!m->n_io_addr) {
        m->io_addr = addresses;
        m->n_io_addr = 1;
    }
    if (!m->io_port)
        m->io_port = f->port;
    if (f->here && !m->io_local)
        m->io_local = f->local;
    m->io_key = (ProtobufCBinaryData){sizeof(f->token), f->token};
}

void fake_launch(struct fake *f, const struct bench_cred *c, Pb__LaunchTasks *m, const char *script)
{
    struct rpc_node_target target = {BENCH_NODE, "127.0.0.1", f->b->node_port, f->here};

    f->answered = false;
    fake_fill(f, c, script, m);
    rpc_fanout_free(f->call);
    f->call = rpc_fanout_start(f->b->loop, f->conf, &target, 1, RPC_LAUNCH_TASKS, &m->base, 0,
                               on_answer, f);
    free(m->cred.data);
    free(m->signature.data);
}

void fake_attach(struct fake *f, uint32_t step_id)
{
    struct rpc_node_target target = {BENCH_NODE, "127.0.0.1", f->b->node_port};
    Pb__StepAttach m = PB__STEP_ATTACH__INIT;

    m.job_id = 5;
    m.step_id = step_id;
    m.io_port = f->port;
    m.io_key = (ProtobufCBinaryData){sizeof(f->token), f->token};
    f->answered = false;
    rpc_fanout_free(f->call);
    f->call = rpc_fanout_start(f->b->loop, f->conf, &target, 1, RPC_STEP_ATTACH, &m.base, 0,
                               on_answer, f);
}

void fake_greet(struct fake *f)
{
    Pb__IoHello m = PB__IO_HELLO__INIT;

    m.node = BENCH_NODE;
    rpc_session_send(f->session, RPC_IO_HELLO, &m.base);
}

bool fake_is_answered(struct bench *b, void *ctx)
{
    return ((struct fake *)ctx)->answered;
}

bool fake_is_done(struct bench *b, void *ctx)
{
    struct fake *f = ctx;

    return f->answered && (f->code || (f->done && f->closed));
}

bool fake_is_failed(struct bench *b, void *ctx)
{
    return fake_is_answered(b, ctx) && ((struct fake *)ctx)->closed;
}

bool fake_is_up(struct bench *b, void *ctx)
{
    struct fake *f = ctx;

    return f->answered && (f->code || f->session);
}

bool fake_has_output(struct bench *b, void *ctx)
{
    return ((struct fake *)ctx)->out[0].len > 0;
}

bool fake_has_errors(struct bench *b, void *ctx)
{
    return ((struct fake *)ctx)->err[0].len > 0;
}

bool fake_is_greeted(struct bench *b, void *ctx)
{
    const struct fake *f = ctx;

    return f->answered && (f->code || f->hellos > 0);
}

bool fake_is_heard(struct bench *b, void *ctx)
{
    return ((struct fake *)ctx)->hellos > 0;
}

bool fake_is_closed(struct bench *b, void *ctx)
{
    return ((struct fake *)ctx)->closed;
}

void fake_begin(struct bench *b, struct fake *f, const char *programs)
{
    bench_init(b, programs, "");
    bench_start(b);
    fake_init(f, b);
}

static bool spool_is_empty(struct bench *b, void *ctx)
{
    return !bench_count_files(b, "spool/jobs") && !bench_count_files(b, "spool/steps");
}

void fake_end(struct bench *b, struct fake *f, uint32_t job_id)
{
    if (job_id) {
        bench_terminate(b, job_id, 0, 0, NULL);
        assert_non_null(bench_job_gone(b, job_id));
    }
    assert_true(bench_until(b, spool_is_empty, NULL));
    fake_done(f);
    bench_done(b);
}
