/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fan-out tree end to end (CORE-225..229): the node daemons' parts on one loop, each with its
 * own server; some nodes are gone, break off, or do not answer. The daemon that mints tokens runs
 * on its own thread and loop. */
#include "rpc/rpc_test_util.h"

#include <sys/stat.h>

#include "proto/step.pb-c.h"
#include "rpc/reply.h"
#include "rpc/rpc_test_minter.h"
#include "rpc/talk.h"
#include "rpc/tree.h"
#include "slurmd/io/tree.h"
#include "slurmd/io/tree_part.h"
#include "slurmd/job/prepare.h"

#define NODES 60
#define NOW_MS loop_wall_ms()

enum mood {
    WELL,
    GONE,   /* no process listens */
    MUTE,   /* accepts a request and does not answer */
    BREAKS, /* closes when it has received the request */
    LATE,   /* closes when it has passed on the request and an answer has passed through */
    DENIES, /* its answer is an error */
    SLOW,   /* prepares until it is WELL */
};

static struct node {
    struct slurmd d;
    char name[16];
    enum mood mood;
    int port;
    unsigned asked, effects;
    uint64_t held; /* call of the prepared request */
    char peer[64];
    struct loop_timer *end;
} nodes[NODES];

static struct conf conf;
static struct auth_signer *signer;
static char key_path[100];
static Pb__Cred cred;
static Pb__StepNode rows[NODES], *row_list[NODES];
static struct str packed;
static uint8_t signature[AUTH_CRED_SIG_SIZE];
static unsigned heads, lost;
static enum rpc_tree_commit mode;
static int64_t limit_ms;

/* Nodes. */

static void node_stop(void *ctx)
{
    struct node *n = ctx;

    if (!n->d.server)
        return;
    tree_free_all(&n->d);
    rpc_server_free(take_ptr(n->d.server));
}

/* Like launches: a repeat gets the same answer as the first. */
static void execute_request(struct node *n, uint64_t call)
{
    Pb__LaunchReply reply = PB__LAUNCH_REPLY__INIT;

    n->effects = 1;
    n->held = 0;
    reply.local_pid = (uint32_t)(n - nodes) + 1;
    rpc_reply(n->d.server, call, &reply.base);
    if (n->mood == LATE)
        loop_timer_set(n->end, 3);
}

/* These replace all functions of prepare.c, so that the linker leaves that file out. */
void prepare_await_commit(struct attempt *a, struct launch *l)
{
    fail_msg("a launch was prepared outside of this test");
}

void prepare_commit(struct slurmd *d, uint64_t call)
{
    for (size_t i = 0; i < NODES; i++)
        if (&nodes[i].d == d && nodes[i].held && rpc_call_is_joined(d->server, nodes[i].held, call))
            execute_request(&nodes[i], nodes[i].held);
}

void prepare_gone(struct slurmd *d, uint64_t call)
{
    for (size_t i = 0; i < NODES; i++)
        if (&nodes[i].d == d && nodes[i].held == call)
            nodes[i].held = rpc_call_heir(d->server, call);
}

static void node_request(void *ctx, const struct rpc_request *r)
{
    struct node *n = ctx;

    if (n->mood == MUTE)
        return;
    if (n->mood == BREAKS) {
        loop_timer_set(n->end, 0);
        return;
    }
    if (r->rpc->number == RPC_TREE) {
        tree_take(&n->d, r);
        return;
    }
    assert_int_equal(r->rpc->number, RPC_LAUNCH_TASKS);
    assert_int_equal(r->who.uid, geteuid());
    n->asked++;
    snprintf(n->peer, sizeof(n->peer), "%s", r->peer);
    if (n->mood == DENIES) {
        rpc_reply_error(n->d.server, r->call, -ERR_LAUNCH, "not here");
    } else if (r->prepare && !n->effects) {
        if (n->held)
            rpc_call_join(n->d.server, n->held, r->call);
        else
            n->held = r->call;
        if (n->mood != SLOW)
            rpc_prepared(n->d.server, r->call);
    } else {
        execute_request(n, r->call);
    }
}

static void node_more(void *ctx, const struct rpc_more *more)
{
    struct node *n = ctx;

    if (n->mood != MUTE && n->mood != BREAKS)
        tree_more(&n->d, more);
}

static void node_gone(void *ctx, uint64_t call)
{
    tree_gone(&((struct node *)ctx)->d, call);
    prepare_gone(&((struct node *)ctx)->d, call);
}

static void node_start(size_t i)
{
    struct node *n = &nodes[i];
    struct rpc_server_events events = {
        .on_request = node_request, .on_more = node_more, .on_gone = node_gone, .ctx = n};
    struct rpc_server_options o = {.loop = loop, .key = &key, .audience = n->name};

    *n = (struct node){0};
    snprintf(n->name, sizeof(n->name), "n%zu", i + 1);
    o.audience = n->name;
    n->d.loop = loop;
    n->d.conf = &conf;
    n->d.name = n->name;
    n->d.key = key;
    n->d.have_public_key = true;
    auth_signer_public(signer, n->d.public_key);
    n->end = loop_timer_new(loop, node_stop, n);
    n->d.server = rpc_server_new(&o, &events);
    n->port = rpc_server_listen_tcp(n->d.server, "127.0.0.1", 0, NULL);
    assert_true(n->port > 0);
    rows[i] = (Pb__StepNode)PB__STEP_NODE__INIT;
    rows[i].node = n->name;
    rows[i].addr = "127.0.0.1";
    rows[i].port = (uint32_t)n->port;
    row_list[i] = &rows[i];
}

static void sign_targets(void)
{
    str_clear(&packed);
    pb_pack(&cred.base, &packed);
    auth_sign(signer, packed.data, packed.len, signature);
}

static int setup(void **state)
{
    if (world_setup(state) < 0)
        return -1;
    snprintf(key_path, sizeof(key_path), "%s/sign", dir);
    if (auth_signer_load(key_path, geteuid(), &signer, NULL))
        return -1;
    conf = (struct conf){.message_timeout_sec = 1,
                         .socket_dirs = {dir},
                         .socket_dir_count = 1,
                         .cluster_name = "here"};
    conf.slurm_uid = conf.slurmd_uid = geteuid();
    minter_start("local");
    for (size_t i = 0; i < NODES; i++)
        node_start(i);
    pb__cred__init(&cred);
    cred.job_id = 42;
    cred.uid = geteuid();
    cred.cluster = "here";
    cred.issued_at_ms = NOW_MS;
    cred.expires_at_ms = NOW_MS + 100000;
    cred.nodes = row_list;
    cred.n_nodes = NODES;
    heads = lost = 0;
    mode = RPC_TREE_AT_ONCE;
    limit_ms = RPC_WAIT_FOREVER;
    sign_targets();
    return 0;
}

static int teardown(void **state)
{
    for (size_t i = 0; i < NODES; i++) {
        node_stop(&nodes[i]);
        loop_timer_free(nodes[i].end);
    }
    minter_end();
    auth_signer_free(signer);
    str_done(&packed);
    unlink(key_path);
    return world_teardown(state);
}

/* A request to them. */

struct asked {
    struct rpc_tree *tree;
    size_t count, done, free_after;
    size_t first; /* its nodes are those from this one on */
    unsigned counts[NODES];
    int codes[NODES];
    struct err err[NODES];
};

static void on_told(void *ctx, const char *text)
{
    heads += strstr(text, "passes the request on") != NULL;
    lost += strstr(text, "is lost") != NULL;
}

static void on_done(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                    const struct err *err)
{
    struct asked *a = ctx;

    a->done++;
    a->counts[index]++;
    a->codes[index] = code;
    a->err[index] = *err;
    if (code == 0)
        assert_int_equal(((const Pb__LaunchReply *)reply)->local_pid, a->first + index + 1);
    if (a->done == a->free_after)
        rpc_tree_free(take_ptr(a->tree));
}

static bool all_done(void *ctx)
{
    struct asked *a = ctx;

    return a->done >= (a->free_after ? a->free_after : a->count);
}

/* The nodes from 'first' on. */
static void begin_at(struct asked *a, size_t first, size_t count, unsigned width,
                     void (*prepared)(void *ctx))
{
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct rpc_node_target targets[NODES];
    struct rpc_tree_request request = {.rpc = RPC_LAUNCH_TASKS,
                                       .message = &m.base,
                                       .has_cred = true,
                                       .timeout_ms = limit_ms,
                                       .commit = mode,
                                       .tell = on_told,
                                       .prepared = prepared};

    m.cred = (ProtobufCBinaryData){packed.len, (uint8_t *)packed.data};
    m.signature = (ProtobufCBinaryData){sizeof(signature), signature};
    m.work_dir = "/";
    m.io_port = 1;
    for (size_t i = 0; i < count; i++) {
        const struct node *n = &nodes[first + i];
        targets[i] = (struct rpc_node_target){n->name, "127.0.0.1", (uint16_t)n->port};
    }
    conf.tree_width = width;
    a->count = count;
    a->first = first;
    a->tree = rpc_tree_start(loop, &conf, targets, count, &request, on_done, a);
}

static void begin_request(struct asked *a, size_t count, unsigned width)
{
    begin_at(a, 0, count, width, NULL);
}

static void ask_and_wait(struct asked *a, size_t count, unsigned width)
{
    begin_request(a, count, width);
    run_until(all_done, a);
}

static void run_tree(struct asked *a, size_t count, unsigned width)
{
    *a = (struct asked){0};
    ask_and_wait(a, count, width);
    settle();
    rpc_tree_free(a->tree);
    settle();
    for (size_t i = 0; i < count; i++)
        assert_int_equal(a->counts[i], 1);
}

static bool is_clean(void *ctx)
{
    for (size_t i = 0; i < NODES; i++)
        if (nodes[i].d.trees)
            return false;
    return true;
}

/* CORE-225: for any width, each node is asked once and answers once; the origin asks few of
   them. */
static void every_node_answers(void **state)
{
    static const unsigned widths[] = {1, 2, 3, 7, 16, 59, 60, 65533};

    for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++)
        for (size_t count = 1; count <= NODES; count += count < 4 ? 1 : 19) {
            struct asked a;
            unsigned width = widths[w] < 2 ? 2 : widths[w];

            heads = 0;
            run_tree(&a, count, widths[w]);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(a.codes[i], 0);
                assert_int_equal(nodes[i].asked, 1);
                assert_true(strncmp(nodes[i].peer, "127.0.0.1:", 10) == 0);
                nodes[i].asked = 0;
            }
            assert_true(count <= width ? heads == 0 : heads >= 1 && heads <= width);
            run_until(is_clean, NULL);
        }
}

/* An error is the answer of the node that returns it, with its name. */
static void error_of_a_node_is_its_answer(void **state)
{
    struct asked a;

    nodes[0].mood = nodes[3].mood = nodes[29].mood = DENIES;
    run_tree(&a, 30, 2);
    for (size_t i = 0; i < 30; i++)
        assert_int_equal(a.codes[i], nodes[i].mood == DENIES ? -ERR_LAUNCH : 0);
    assert_non_null(strstr(a.err[3].text, "n4 (127.0.0.1:"));
    assert_non_null(strstr(a.err[3].text, "not here"));
}

/* CORE-229: a lost node fails only itself. */
static void check_losses(size_t count, unsigned width)
{
    struct asked a;

    run_tree(&a, count, width);
    for (size_t i = 0; i < count; i++) {
        enum mood m = nodes[i].mood;

        if (m == WELL)
            assert_int_equal(a.codes[i], 0);
        else if (m == GONE)
            assert_int_equal(a.codes[i], -ERR_CONNECT);
        else if (m == BREAKS) /* at the second request no server listens */
            assert_true(a.codes[i] == -ERR_CLOSED || a.codes[i] == -ECONNRESET ||
                        a.codes[i] == -ERR_CONNECT);
        if (m != LATE)
            assert_true(nodes[i].effects == (m == WELL));
    }
    run_until(is_clean, NULL);
}

static void losses_at_the_first_node_of_each_branch_are_reported(void **state)
{
    nodes[0].mood = BREAKS;
    node_stop(&nodes[15]);
    nodes[15].mood = GONE;
    nodes[16].mood = LATE;
    check_losses(30, 2);
    assert_true(lost >= 2);
}

static void random_failures_are_reported_for_each_node(void **state)
{
    const char *seed_text = getenv("SLUICE_SEED");
    unsigned seed = seed_text ? (unsigned)atoi(seed_text) : 7;

    for (unsigned turn = 0; turn < 25; turn++) {
        for (size_t i = 0; i < NODES; i++) {
            static const enum mood moods[] = {WELL, WELL, WELL, GONE, BREAKS, LATE};

            node_stop(&nodes[i]);
            loop_timer_free(nodes[i].end);
            node_start(i);
            nodes[i].mood = moods[(unsigned)rand_r(&seed) % 6];
        }
        for (size_t i = 0; i < NODES; i++) /* when no other one can get its port */
            if (nodes[i].mood == GONE)
                node_stop(&nodes[i]);
        sign_targets();
        check_losses(2 + (size_t)rand_r(&seed) % (NODES - 2), 2 + (unsigned)rand_r(&seed) % 5);
    }
}

/* A node that accepts the request and does not answer loses its part; its own answer is
   awaited. */
static void unresponsive_nodes_time_out(void **state)
{
    struct asked a = {.free_after = 38};

    nodes[0].mood = nodes[30].mood = MUTE;
    ask_and_wait(&a, 40, 2);
    settle();
    assert_int_equal(a.done, 38);
    assert_int_equal(a.counts[0] + a.counts[30], 0);
}

/* Freed while answers are on their way. */
static void freed_tree_gets_no_answer(void **state)
{
    struct asked a = {.free_after = 5};

    ask_and_wait(&a, NODES, 3);
    settle();
    assert_int_equal(a.done, 5);
    run_until(is_clean, NULL);
}

/* A node only connects to addresses signed by the controller, for a job of the caller. */
static void unsigned_addresses_are_refused(void **state)
{
    struct asked a;

    cred.uid = geteuid() + 1;
    sign_targets();
    if (geteuid() != 0) {
        run_tree(&a, 9, 2);
        assert_int_equal(a.codes[1], -ERR_CREDENTIAL);
    }
    cred.uid = geteuid();
    cred.n_nodes = 4; /* no node of the second part is covered */
    sign_targets();
    run_tree(&a, 9, 2);
    assert_int_equal(a.codes[0], 0);
    assert_int_equal(a.codes[3], 0);
    for (size_t i = 5; i < 9; i++)
        assert_int_equal(a.codes[i], -ERR_CREDENTIAL);
    signature[3] ^= 1;
    run_tree(&a, 9, 2);
    assert_int_equal(a.codes[1], -ERR_CREDENTIAL);
}

/* CORE-227: no node executes the request before the last has prepared; then all do. */
static size_t count_acted(size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += nodes[i].effects;
    return found;
}

static size_t count_held(size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += nodes[i].held != 0;
    return found;
}

static size_t wanted;

static bool all_held(void *ctx)
{
    return count_held(wanted) == wanted;
}
static bool none_held(void *ctx)
{
    return count_held(NODES) == 0;
}

static void request_together_runs_on_all_nodes(void **state)
{
    static const size_t counts[] = {2, 3, 8, 31, NODES};

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct asked a = {0};
        size_t slow = counts[c] - 1 - c / 2;

        mode = RPC_TREE_TOGETHER;
        wanted = counts[c];
        for (size_t i = 0; i < NODES; i++)
            nodes[i].effects = 0;
        nodes[slow].mood = SLOW;
        begin_request(&a, wanted, 3);
        run_until(all_held, NULL);
        settle();
        assert_int_equal(count_acted(wanted), 0);
        assert_int_equal(a.done, 0);
        nodes[slow].mood = WELL;
        rpc_prepared(nodes[slow].d.server, nodes[slow].held);
        run_until(all_done, &a);
        settle();
        assert_int_equal(count_acted(wanted), wanted);
        for (size_t i = 0; i < wanted; i++)
            assert_true(a.counts[i] == 1 && a.codes[i] == 0);
        rpc_tree_free(a.tree);
        run_until(is_clean, NULL);
    }
}

/* One node fails: no node executes the request, and each gets the reason. */
static void failure_of_one_node_stops_all(void **state)
{
    for (size_t c = 0; c < 4; c++) {
        static const enum mood moods[] = {DENIES, GONE, BREAKS, DENIES};
        static const size_t at[] = {20, 29, 7, 0};
        struct asked a;

        for (size_t i = 0; i < NODES; i++)
            nodes[i].mood = WELL;
        mode = RPC_TREE_TOGETHER;
        nodes[at[c]].mood = moods[c];
        if (moods[c] == GONE)
            node_stop(&nodes[at[c]]);
        run_tree(&a, 30, 3);
        assert_int_equal(count_acted(NODES), 0);
        run_until(none_held, NULL);
        run_until(is_clean, NULL);
        for (size_t i = 0; i < 30; i++)
            if (i != at[c]) {
                assert_int_equal(a.codes[i], -ERR_NOT_BEGUN);
                assert_non_null(strstr(a.err[i].text, nodes[at[c]].name));
            }
        assert_true(a.codes[at[c]] != 0 && a.codes[at[c]] != -ERR_NOT_BEGUN);
        if (moods[c] != DENIES) {
            node_stop(&nodes[at[c]]);
            loop_timer_free(nodes[at[c]].end);
            node_start(at[c]);
            sign_targets();
        }
    }
}

/* Several trees that commit together: none executes before the nodes of all have prepared. */
static unsigned trees_prepared;

static void on_prepared(void *ctx)
{
    trees_prepared++;
}

static void caller_decides_for_several_trees(void **state)
{
    static const size_t firsts[] = {0, 1, 8}, counts[] = {1, 7, 31};
    struct asked a[3];

    for (int abandon = 0; abandon < 2; abandon++) {
        memset(a, 0, sizeof(a));
        trees_prepared = 0;
        for (size_t i = 0; i < NODES; i++) {
            nodes[i].effects = 0;
            nodes[i].mood = WELL;
        }
        mode = RPC_TREE_TOGETHER;
        nodes[20].mood = SLOW;
        wanted = 39;
        for (size_t i = 0; i < 3; i++)
            begin_at(&a[i], firsts[i], counts[i], 3, on_prepared);
        run_until(all_held, NULL);
        settle();
        assert_int_equal(trees_prepared, 2);
        assert_int_equal(count_acted(wanted), 0);
        nodes[20].mood = WELL;
        if (!abandon) {
            rpc_prepared(nodes[20].d.server, nodes[20].held);
            settle();
            assert_int_equal(trees_prepared, 3);
            assert_int_equal(count_acted(wanted), 0); /* it is not for the trees to decide */
        }
        for (size_t i = 0; i < 3; i++) {
            if (abandon)
                rpc_tree_abandon(a[i].tree, "elsewhere", "is full");
            else
                rpc_tree_commit(a[i].tree);
            run_until(all_done, &a[i]);
            rpc_tree_abandon(a[i].tree, "elsewhere", "too late");
            for (size_t k = 0; k < counts[i]; k++) {
                assert_int_equal(a[i].counts[k], 1);
                assert_int_equal(a[i].codes[k], abandon ? -ERR_NOT_BEGUN : 0);
                assert_true(!abandon || strstr(a[i].err[k].text, "elsewhere: is full"));
            }
        }
        settle();
        assert_int_equal(count_acted(wanted), abandon ? 0 : wanted);
        for (size_t i = 0; i < 3; i++)
            rpc_tree_free(a[i].tree);
        run_until(none_held, NULL);
        run_until(is_clean, NULL);
    }
}

/* The caller ends, or its time, before the decision: no node executes the request. */
static void undecided_request_runs_on_no_node(void **state)
{
    for (size_t c = 0; c < 2; c++) {
        struct asked a = {0};

        mode = RPC_TREE_TOGETHER;
        nodes[17].mood = SLOW;
        wanted = 30;
        limit_ms = c < 1 ? RPC_WAIT_FOREVER : 300;
        begin_request(&a, 30, 3);
        run_until(all_held, NULL);
        if (c >= 1)
            run_until(all_done, &a);
        for (size_t i = 0; i < a.done; i++)
            assert_int_equal(a.codes[i], -ERR_TIMEOUT);
        rpc_tree_free(a.tree);
        run_until(none_held, NULL);
        run_until(is_clean, NULL);
        assert_int_equal(count_acted(NODES), 0);
    }
}

/* Lists that a user may send. */
static unsigned refused[8];
static int refused_code[8];

static void count_refused(void *ctx, uint32_t index, const struct err *err)
{
    refused[index]++;
    refused_code[index] = err->code;
}

static void invalid_target_lists_are_refused(void **state)
{
    static const char *names[] = {"n2", "n1", "n2", "elsewhere", "n3", "n4"};
    Pb__TreeTarget rows_[6], *list[6];
    Pb__TreePart m = PB__TREE_PART__INIT;
    uint8_t token[AUTH_TOKEN_SIZE] = {0};
    struct tree_part part;

    for (size_t i = 0; i < 6; i++) {
        pb__tree_target__init(&rows_[i]);
        rows_[i].node = (char *)names[i];
        rows_[i].token = (ProtobufCBinaryData){i == 4 ? 7 : sizeof(token), token};
        list[i] = &rows_[i];
    }
    m.targets = list;
    m.n_targets = 6;
    rows[3].port = 70000;
    tree_part_read(&m, &cred, "n1", count_refused, NULL, &part);
    assert_int_equal(part.count, 1);
    assert_int_equal(part.index[0], 1);
    assert_string_equal(part.targets[0].node, "n2");
    tree_part_done(&part);
    for (size_t i = 2; i < 7; i++)
        assert_int_equal(refused[i], 1);
    assert_int_equal(refused_code[2], -ERR_RANGE); /* itself */
    assert_int_equal(refused_code[3], -ERR_RANGE); /* twice */
    assert_int_equal(refused_code[4], -ERR_CREDENTIAL);
    assert_int_equal(refused_code[5], -ERR_AUTH);
    assert_int_equal(refused_code[6], -ERR_CREDENTIAL);
}

/* Requests that a user with a valid token may send, and that a node refuses with a reason before
 * it has connected to any other. */
static struct {
    unsigned over;
    int code;
    char text[200];
} said;

static void said_answer(void *ctx, const ProtobufCMessage *answer, bool last)
{
    const Pb__TreeAnswers *m = (const Pb__TreeAnswers *)answer;

    if (m->n_answers) {
        said.code = -(int)m->answers[0]->code;
        snprintf(said.text, sizeof(said.text), "%s",
                 m->answers[0]->text ? m->answers[0]->text : "");
    }
    said.over += last;
}

static void said_failed(void *ctx, const struct err *why, bool refused_)
{
    said.over++;
    said.code = why->code;
    snprintf(said.text, sizeof(said.text), "%.199s", why->text);
}

static bool has_said(void *ctx)
{
    return said.over > 0;
}

static struct rpc_talk *say_begin(struct rpc_io *io, const Pb__TreeRequest *m,
                                  const Pb__TreePart *part, unsigned parts)
{
    struct rpc_talk_events events = {.on_answer = said_answer, .on_failed = said_failed};
    struct auth_identity who = {.uid = geteuid(), .host = "test"};
    _cleanup_str_ struct str body = STR_INIT;
    struct rpc_header header = {
        .version = RPC_VERSION, .rpc = RPC_TREE, .token_len = AUTH_TOKEN_SIZE, .id = 1};
    uint8_t hash[AUTH_HASH_SIZE];
    struct rpc_minted minted;
    struct rpc_talk *talk;
    struct rpc_addr addr;
    bool pending;

    pb_pack(&m->base, &body);
    header.body_len = (uint32_t)body.len;
    rpc_frame_hash(&header, body.data, hash);
    auth_token_mint(&key, &who, "n1", hash, loop_wall_ms(), 60000, minted.token);
    rpc_minted_fill(&minted, &key);
    said.over = 0;
    said.code = 0;
    assert_int_equal(rpc_net_resolve("127.0.0.1", (uint16_t)nodes[0].port, true, &addr, NULL), 1);
    talk = rpc_talk_start(io, rpc_net_connect(&addr, 0, &pending), &header, &minted, body.data,
                          &events);
    for (unsigned i = 0; i < parts; i++)
        rpc_talk_send(talk, RPC_TREE_PART, &part->base);
    return talk;
}

static void say_end(struct rpc_io *io, struct rpc_talk *talk)
{
    settle();
    if (!said.over)
        rpc_talk_drop(talk);
    rpc_io_free(io);
    run_until(is_clean, NULL);
}

static void send_request_and_parts(const Pb__TreeRequest *m, const Pb__TreePart *part,
                                   unsigned parts, bool waits)
{
    struct rpc_io *io = rpc_io_new(loop);
    struct rpc_talk *talk = say_begin(io, m, part, parts);

    if (waits)
        run_until(has_said, NULL);
    say_end(io, talk);
}

static void hostile_tree_requests_are_refused(void **state)
{
    static const struct {
        unsigned width, silence_ms, rpc, commit, parts;
        const char *origin;
        int code;
        const char *text;
    } v[] = {
        {1, 1000, RPC_LAUNCH_TASKS, 0, 1, NULL, -ERR_RANGE, "2 to 65533 parts, not 1"},
        {0, 1000, RPC_LAUNCH_TASKS, 0, 1, NULL, -ERR_RANGE, "parts, not 0"},
        {65534, 1000, RPC_LAUNCH_TASKS, 0, 1, NULL, -ERR_RANGE, "not 65534"},
        {2, 0, RPC_LAUNCH_TASKS, 0, 1, NULL, -ERR_RANGE, "silence of 0 ms"},
        {2, 3600001, RPC_LAUNCH_TASKS, 0, 1, NULL, -ERR_RANGE, "silence of 3600001 ms"},
        {2, 1000, RPC_TREE, 0, 1, NULL, -ERR_PROTOCOL, "does not go down a tree"},
        {2, 1000, 9999, 0, 1, NULL, -ERR_PROTOCOL, "does not go down a tree"},
        {2, 1000, RPC_MINT, 0, 1, NULL, -ERR_ACCESS, ""},
        {2, 1000, RPC_NODE_STATUS, 1, 1, NULL, -ERR_NOT_SUPPORTED, "cannot be prepared"},
        {2, 1000, RPC_LAUNCH_TASKS, 0, 1, "10.0.0.1:4711", -ERR_AUTH, "seal of a node daemon"},
        {2, 1000, RPC_LAUNCH_TASKS, 0, 1, "", -ERR_AUTH, "seal of a node daemon"},
        {2, 1000, RPC_LAUNCH_TASKS, 1, 2, NULL, -ERR_PROTOCOL, "said twice"},
    };

    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
        Pb__TreeRequest m = PB__TREE_REQUEST__INIT;
        Pb__TreePart part = PB__TREE_PART__INIT;
        _cleanup_str_ struct str body = STR_INIT;
        uint8_t seal[AUTH_MAC_SIZE] = {0};

        launch.work_dir = "/";
        if (v[i].rpc == RPC_LAUNCH_TASKS)
            pb_pack(&launch.base, &body);
        m.width = v[i].width;
        m.silence_ms = v[i].silence_ms;
        m.rpc = v[i].rpc;
        m.has_commit = true;
        m.commit = v[i].commit;
        m.body = (ProtobufCBinaryData){body.len, (uint8_t *)body.data};
        part.origin = (char *)v[i].origin;
        part.has_origin_seal = v[i].origin != NULL;
        part.origin_seal = (ProtobufCBinaryData){sizeof(seal), seal};
        send_request_and_parts(&m, &part, v[i].parts, true);
        assert_int_equal(said.code, v[i].code);
        assert_non_null(strstr(said.text, v[i].text));
        assert_int_equal(nodes[0].effects, 0);
    }
}

static bool was_asked(void *ctx)
{
    return nodes[0].asked > 0;
}

/* The caller is refused while the node's own part is open: the part is no longer wanted, although
 * the connection stays. */
static void request_decided_twice_is_refused(void **state)
{
    Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
    Pb__TreeRequest m = PB__TREE_REQUEST__INIT;
    Pb__TreePart part = PB__TREE_PART__INIT;
    _cleanup_str_ struct str body = STR_INIT;
    struct rpc_io *io = rpc_io_new(loop);
    struct rpc_talk *talk;

    nodes[0].mood = SLOW;
    launch.work_dir = "/";
    pb_pack(&launch.base, &body);
    m.width = 2;
    m.silence_ms = 1000;
    m.rpc = RPC_LAUNCH_TASKS;
    m.has_commit = true;
    m.commit = PB__TREE_COMMIT__TREE_COMMIT_YES;
    m.body = (ProtobufCBinaryData){body.len, (uint8_t *)body.data};
    talk = say_begin(io, &m, &part, 2);
    run_until(was_asked, NULL);
    run_until(is_clean, NULL);
    assert_int_equal(nodes[0].held, 0);
    say_end(io, talk);
    assert_non_null(strstr(said.text, "said twice"));
    assert_int_equal(nodes[0].effects, 0);
}

/* RELIABILITY F1: valid requests and lists with a few bytes changed, under a valid token; whatever
 * the node does with them, it survives and holds nothing. */
static void *corrupt_message(const ProtobufCMessage *m, unsigned *seed, struct arena *arena)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    pb_pack(m, &bytes);
    for (unsigned n = (unsigned)rand_r(seed) % 4; n; n--)
        bytes.data[(size_t)rand_r(seed) % bytes.len] ^= (char)(1 << rand_r(seed) % 8);
    return arena_unpack(arena, m->descriptor, bytes.data, bytes.len);
}

static void mangled_tree_requests_are_survived(void **state)
{
    unsigned seed = 7, sent = 0;
    uint8_t token[AUTH_TOKEN_SIZE] = {0};

    for (unsigned i = 0; i < 2000; i++) {
        Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
        Pb__TreeRequest m = PB__TREE_REQUEST__INIT, *bent_request;
        Pb__TreePart part = PB__TREE_PART__INIT, *bent_part;
        Pb__TreeTarget rows_[3], *list[3];
        _cleanup_str_ struct str body = STR_INIT;
        _cleanup_arena_ struct arena arena;

        arena_init(&arena, 0);
        for (size_t k = 0; k < 3; k++) {
            pb__tree_target__init(&rows_[k]);
            rows_[k].node = nodes[k + 1].name;
            rows_[k].token = (ProtobufCBinaryData){sizeof(token), token};
            list[k] = &rows_[k];
        }
        part.targets = list;
        part.n_targets = 3;
        launch.cred = (ProtobufCBinaryData){packed.len, (uint8_t *)packed.data};
        launch.signature = (ProtobufCBinaryData){sizeof(signature), signature};
        launch.work_dir = "/";
        pb_pack(&launch.base, &body);
        m.width = 2;
        m.silence_ms = 1000;
        m.rpc = RPC_LAUNCH_TASKS;
        m.has_commit = i % 2;
        m.commit = i % 3;
        m.body = (ProtobufCBinaryData){body.len, (uint8_t *)body.data};
        bent_request = corrupt_message(&m.base, &seed, &arena);
        bent_part = corrupt_message(&part.base, &seed, &arena);
        if (!bent_request || !bent_part)
            continue;
        send_request_and_parts(bent_request, bent_part, 1, false);
        sent++;
    }
    assert_true(sent > 500);
    assert_int_equal(count_held(NODES), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_node_answers),
        TEST(error_of_a_node_is_its_answer),
        TEST(losses_at_the_first_node_of_each_branch_are_reported),
        TEST(random_failures_are_reported_for_each_node),
        TEST(unresponsive_nodes_time_out),
        TEST(freed_tree_gets_no_answer),
        TEST(unsigned_addresses_are_refused),
        TEST(invalid_target_lists_are_refused),
        TEST(request_together_runs_on_all_nodes),
        TEST(failure_of_one_node_stops_all),
        TEST(undecided_request_runs_on_no_node),
        TEST(caller_decides_for_several_trees),
        TEST(hostile_tree_requests_are_refused),
        TEST(mangled_tree_requests_are_survived),
        TEST(request_decided_twice_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
