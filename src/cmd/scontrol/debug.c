/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error texts, and the log levels of the daemons. */
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/node_names.h"
#include "cmd/scontrol/scontrol.h"
#include "conf/conf_words.h"
#include "loop/loop.h"
#include "proto/ctl.pb-c.h"
#include "proto/node.pb-c.h"

int run_errnumstr(int argc, char **argv)
{
    long long number;
    if (str_parse_i64(argv[0], INT32_MIN, INT32_MAX, &number) < 0) {
        cmd_line("numeric arguments required for keyword:errnumstr");
        return 1;
    }
    const char *text = err_text((int)number);
    str_puts(cmd_out(), text);
    if (str_eq(text, "Unknown error"))
        str_printf(cmd_out(), " %lld", number);
    str_putc(cmd_out(), '\n');
    return 0;
}

struct daemons { /* of nodes */
    struct arena arena;
    struct loop *loop;
    VEC(struct rpc_node_target) targets;
    size_t left;
    int status;
    const char *what; /* what failed */
};

static int add_daemons(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct daemons *d = ctx;
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    for (size_t i = 0; i < part->n_nodes; i++) {
        const Pb__NodeRecord *n = part->nodes[i];
        vec_push(&d->targets, ((struct rpc_node_target){
                                  .node = arena_strdup(&d->arena, n->name),
                                  .addr = arena_strdup(&d->arena, n->addr ? n->addr : n->name),
                                  .port = (uint16_t)n->port}));
    }
    return 0;
}

static void take_answer(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                        const struct err *err)
{
    struct daemons *d = ctx;
    if (code) {
        cmd_line("%s error: %s", d->what, err->text);
        d->status = 1;
    }
    if (--d->left == 0)
        loop_stop(d->loop);
}

static int ask_nodes(const char *nodes, enum rpc_number number, const ProtobufCMessage *request,
                     const char *what)
{
    struct daemons d = {.what = what};
    struct err err = {0};
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    arena_init(&d.arena, 0);
    filter.nodes = (char *)nodes;
    if (node_names_check(nodes, &err) < 0 ||
        rpc_call_stream(cmd_client(), RPC_NODE_LIST, &filter.base, add_daemons, &d, &err) < 0) {
        cmd_line("%s error: %s", what, err.text);
        d.status = 1;
    }
    d.left = d.targets.len;
    if (d.left && !d.status) {
        d.loop = loop_new(0);
        struct rpc_fanout *fanout = rpc_fanout_start(
            d.loop, cmd_conf(), d.targets.data, d.targets.len, number, request, 0, take_answer, &d);
        loop_run(d.loop);
        rpc_fanout_free(fanout);
        loop_free(d.loop);
    }
    vec_done(&d.targets);
    arena_done(&d.arena);
    return d.status;
}

int run_setdebug(int argc, char **argv)
{
    Pb__DebugRequest request = PB__DEBUG_REQUEST__INIT;
    struct err err = {0};
    int number = log_parse_level(argv[0]);
    if (number < 0) {
        cmd_line("invalid debug level: %s", argv[0]);
        return 1;
    }
    if (argc > 1 && strncasecmp(argv[1], "nodes=", 6) != 0) {
        cmd_line("too many arguments for keyword:setdebug");
        return 1;
    }
    request.level = (uint32_t)number;
    if (argc > 1)
        return ask_nodes(argv[1] + 6, RPC_SET_DEBUG, &request.base, "slurm_set_slurmd_debug_level");
    if (cmd_call(RPC_SET_DEBUG, &request.base, NULL, &err) < 0) {
        cmd_line("slurm_set_debug_level error: %s", err.text);
        return 1;
    }
    return 0;
}

int run_setdebugflags(int argc, char **argv)
{
    Pb__DebugFlagsRequest request = PB__DEBUG_FLAGS_REQUEST__INIT;
    _cleanup_free_ char **change = mem_new_array(char *, (size_t)argc + 1);
    const char *nodes = NULL;
    struct err err = {0};
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!strncasecmp(word, "nodes=", 6)) {
            nodes = word + 6;
            continue;
        }
        if ((*word != '+' && *word != '-') || conf_debug_find(word + 1, strlen(word + 1)) < 0) {
            cmd_line("invalid debug flag: %s", word);
            return 1;
        }
        change[request.n_change++] = argv[i];
    }
    if (!request.n_change) {
        cmd_line("too few arguments for keyword:setdebugflags");
        return 1;
    }
    request.change = change;
    if (nodes)
        return ask_nodes(nodes, RPC_SET_DEBUG_FLAGS, &request.base, "slurm_set_slurmd_debug_flags");
    if (cmd_call(RPC_SET_DEBUG_FLAGS, &request.base, NULL, &err) < 0) {
        cmd_line("slurm_set_debugflags error: %s", err.text);
        return 1;
    }
    return 0;
}

int run_schedloglevel(int argc, char **argv)
{
    Pb__DebugRequest request = PB__DEBUG_REQUEST__INIT;
    struct err err = {0};
    bool is_on = str_eq(argv[0], "1") || str_case_eq(argv[0], "enable");
    if (!is_on && !str_eq(argv[0], "0") && !str_case_eq(argv[0], "disable")) {
        cmd_line("invalid schedlog level: %s", argv[0]);
        return 1;
    }
    request.level = is_on;
    if (cmd_call(RPC_SET_SCHED_LOG, &request.base, NULL, &err) < 0) {
        cmd_line("slurm_set_schedlog_level error: %s", err.text);
        return 1;
    }
    return 0;
}
