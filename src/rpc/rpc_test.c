/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every row of the table against every kind of caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pb.h"
#include "rpc/rpc.h"

#define U RPC_WHO_USER
#define O RPC_WHO_OPERATOR
#define A RPC_WHO_ADMIN
#define L RPC_WHO_LOCAL
#define D RPC_WHO_DAEMON

/* Callers, a letter each, in this order. */
static const struct {
    char letter;
    unsigned roles;
} callers[] = {
    {'-', 0},                 /* nobody */
    {'u', U},                 /* a user over the network */
    {'o', U | O},             /* an operator over the network */
    {'a', U | O | A},         /* an administrator over the network */
    {'l', U | L},             /* a user on the local socket */
    {'p', U | O | L},         /* an operator there */
    {'r', U | O | A | L | D}, /* root there */
    {'d', U | L | D},         /* a daemon there */
    {'n', RPC_WHO_NODE},      /* in a session under the cluster's key */
    {'k', RPC_WHO_KEY},       /* in a session under a step's key */
    {'s', L | D},             /* never given: rights on the socket alone */
};

#define ANYONE "uoalprd"
#define ADMINS "ar"
#define OPERATORS "oapr"
#define NODES "n"
#define KEYS "k"
#define LOCALS "lprd"
#define DAEMONS "rds"

/* Written by hand, so that a change of rpc.def's rights has to be made twice. */
static const struct {
    unsigned number;
    const char *who;
} matrix[] = {
    {RPC_TRIGGER_SET, ANYONE},
    {RPC_TRIGGER_LIST, ANYONE},
    {RPC_TRIGGER_CLEAR, ANYONE},
    {RPC_CTLD_BEAT, ADMINS},
    {RPC_PING, ANYONE},
    {RPC_SUBMIT, ANYONE},
    {RPC_ALLOC, ANYONE},
    {RPC_ALLOC_WAIT, ANYONE},
    {RPC_STEP_CREATE, ANYONE},
    {RPC_STEP_COMPLETE, ANYONE},
    {RPC_JOB_COMPLETE, ANYONE},
    {RPC_JOB_SIGNAL, ANYONE},
    {RPC_JOB_UPDATE, ANYONE},
    {RPC_JOB_LIST, ANYONE},
    {RPC_STEP_LIST, ANYONE},
    {RPC_NODE_LIST, ANYONE},
    {RPC_PART_LIST, ANYONE},
    {RPC_CONFIG_SHOW, ANYONE},
    {RPC_NODE_UPDATE, OPERATORS},
    {RPC_PART_UPDATE, OPERATORS},
    {RPC_LICENSE_UPDATE, OPERATORS},
    {RPC_RECONFIGURE, ADMINS},
    {RPC_SHUTDOWN, ADMINS},
    {RPC_JOB_WAIT_END, ANYONE},
    {RPC_JOB_SCRIPT, ANYONE},
    {RPC_STATS, ANYONE},
    {RPC_ALLOC_INFO, ANYONE},
    {RPC_SET_DEBUG, OPERATORS},
    {RPC_TOKEN, ANYONE},
    {RPC_DIAG, ANYONE},
    {RPC_DIAG_RESET, OPERATORS},
    {RPC_SET_DEBUG_FLAGS, OPERATORS},
    {RPC_SET_SCHED_LOG, OPERATORS},
    {RPC_CTLD_YIELD, ADMINS},
    {RPC_PART_KEY, ADMINS},
    {RPC_CTLD_TAKEOVER, ADMINS},
    {RPC_STEP_USAGE, ANYONE},
    {RPC_NODE_USAGE, ANYONE},
    {RPC_NODE_CALL, ADMINS},
    {RPC_NODE_REGISTER, NODES},
    {RPC_NODE_REPORT, NODES},
    {RPC_NODE_WELCOME, NODES},
    {RPC_NODE_ORDERS, NODES},
    {RPC_NODE_ACK, NODES},
    {RPC_LAUNCH_TASKS, ANYONE},
    {RPC_MINT, LOCALS},
    {RPC_NODE_STATUS, ANYONE},
    {RPC_NODE_CONFIG_ASK, NODES},
    {RPC_NODE_CONFIG, NODES},
    {RPC_IO_HELLO, KEYS},
    {RPC_IO_DATA, KEYS},
    {RPC_TASKS_STARTED, KEYS},
    {RPC_TASK_FAILED, KEYS},
    {RPC_TASK_EXITED, KEYS},
    {RPC_STEP_DONE, KEYS},
    {RPC_IO_SIGNAL, KEYS},
    {RPC_KVS_FENCE, KEYS},
    {RPC_KVS_ABORT, KEYS},
    {RPC_WINDOW_SIZE, KEYS},
    {RPC_STEPD_START, DAEMONS},
    {RPC_STEPD_SIGNAL, DAEMONS},
    {RPC_STEPD_QUERY, DAEMONS},
    {RPC_STEPD_ENDED, DAEMONS},
    {RPC_NODE_PIDS, LOCALS},
    {RPC_PRIO_LIST, ANYONE},
    {RPC_JOB_TOP, ANYONE},
    {RPC_JOB_SUSPEND, OPERATORS},
    {RPC_QUEUE_ORDER, OPERATORS},
    {RPC_JOB_PLACE, OPERATORS},
    {RPC_LICENSE_LIST, ANYONE},
    {RPC_BURST_LIST, ANYONE},
    {RPC_BURST_STATUS, ANYONE},
    {RPC_GANG_LIST, ANYONE},
    {RPC_JOB_WHY, ANYONE},
    {RPC_JOB_GATES, ANYONE},
    {RPC_EVENTS, ANYONE},
    {RPC_RESV_LIST, ANYONE},
    {RPC_RESV_UPDATE, OPERATORS},
    {RPC_RESV_DELETE, ANYONE},
    {RPC_NAME_REQUEST, KEYS},
    {RPC_NAME_REPLY, KEYS},
    {RPC_PMIX_FENCE, KEYS},
    {RPC_PMIX_GET, KEYS},
    {RPC_PMIX_GOT, KEYS},
    {RPC_PMIXD_START, DAEMONS},
    {RPC_PMIXD_FENCE, DAEMONS},
    {RPC_PMIXD_GET, DAEMONS},
    {RPC_JOB_NOTIFY, ANYONE},
    {RPC_STEP_ATTACH, ANYONE},
    {RPC_IO_LOST, KEYS},
    {RPC_STEPD_ATTACH, DAEMONS},
    {RPC_PMIXD_GOT, DAEMONS},
    {RPC_PMIXD_NAME, DAEMONS},
    {RPC_PMIXD_ABORT, DAEMONS},
    {RPC_PMIXD_LEFT, DAEMONS},
    {RPC_TREE, ANYONE},
    {RPC_TREE_PART, ANYONE},
    {RPC_TREE_COMMIT, ANYONE},
    {RPC_CAST_ASK, ANYONE},
    {RPC_CAST_RECEIVE, ANYONE},
    {RPC_CASTD_START, DAEMONS},
    {RPC_CAST_HELLO, KEYS},
    {RPC_CAST_STATUS, KEYS},
    {RPC_CAST_DATA, KEYS},
    {RPC_CAST_SUM, KEYS},
    {RPC_CAST_ORDER, KEYS},
    {RPC_CAST_BEAT, KEYS},
    {RPC_TUNNEL_DATA, KEYS},
    {RPC_ADOPT, DAEMONS},
    {RPC_ORIGIN, ADMINS},
    {RPC_STEPD_ADOPT, DAEMONS},
    {RPC_STEP_UNALLOCATED, ADMINS},
    {RPC_CAST_UNALLOCATED, ADMINS},
    {RPC_SPAWN, KEYS},
    {RPC_SPAWNED, KEYS},
    {RPC_PMIXD_SPAWN, DAEMONS},
    {RPC_PMIX_EVENT, KEYS},
    {RPC_PMIXD_EVENT, DAEMONS},
};

static void rights_of_each_request_are_those_of_the_table(void **state)
{
    size_t rows = 0;

    for (unsigned number = 0; number < 70000; number++) {
        const struct rpc_info *rpc = rpc_find(number);
        const char *who = NULL;
        if (!rpc)
            continue;
        rows++;
        for (size_t i = 0; i < sizeof(matrix) / sizeof(matrix[0]); i++)
            if (matrix[i].number == number)
                who = matrix[i].who;
        if (!who)
            fail_msg("%s (%u) has no row in the test", rpc->name, number);
        for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++)
            if (rpc_allowed(rpc, callers[i].roles) != (strchr(who, callers[i].letter) != NULL))
                fail_msg("%s, caller '%c': %d", rpc->name, callers[i].letter,
                         rpc_allowed(rpc, callers[i].roles));
    }
    assert_int_equal(rows, sizeof(matrix) / sizeof(matrix[0]));
}

static void request_without_rights_is_denied_to_all(void **state)
{
    for (int lane = RPC_LANE_READ; lane <= RPC_LANE_SESSION; lane++) {
        struct rpc_info rpc = {.number = 1, .name = "X", .who = 0, .lane = (enum rpc_lane)lane};
        for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++)
            assert_false(rpc_allowed(&rpc, callers[i].roles));
    }
}

static void rows_of_the_table_are_complete(void **state)
{
    assert_null(rpc_find(0));
    assert_null(rpc_find(0xffffffffu));
    for (unsigned number = 0; number < 70000; number++) {
        const struct rpc_info *rpc = rpc_find(number);
        if (!rpc)
            continue;
        assert_int_equal(rpc->number, number);
        assert_true(strlen(rpc->name) > 0);
        assert_non_null(rpc->request);
        assert_non_null(rpc->reply);
        assert_true(rpc->who != 0);
    }
}

/* The limit would be 0 if the column were missing. */
static void every_request_has_a_size_limit(void **state)
{
    struct err err;
    unsigned rows = 0;

    for (unsigned number = 0; number < 65536; number++) {
        const struct rpc_info *rpc = rpc_find(number);
        char size[32], limit[32];
        if (!rpc)
            continue;
        rows++;
        assert_in_range(rpc->body_max, 4096, RPC_BODY_MAX + (4u << 20));
        assert_true(rpc->who == RPC_WHO_LOCAL || rpc->body_max <= RPC_BODY_MAX);
        assert_int_equal(rpc_check_size(rpc, rpc->body_max, &err), 0);
        assert_int_equal(rpc_check_size(rpc, rpc->body_max + 1, &err), -ERR_TOO_BIG);
        snprintf(size, sizeof(size), " %u bytes", rpc->body_max + 1);
        snprintf(limit, sizeof(limit), "at most %u ", rpc->body_max);
        assert_true(strstr(err.text, rpc->name) && strstr(err.text, size) &&
                    strstr(err.text, limit));
    }
    assert_true(rows > 100);
}

/* Many small parts of a large request are refused before they use much memory; texts and variables
 * of usual lengths are accepted. */
static void a_large_request_of_small_parts_is_refused(void **state)
{
    enum { LARGE = 7 << 20, PART = 40 };
    const struct rpc_info *rpc = rpc_find(RPC_SUBMIT);
    uint8_t *bytes = calloc(1, LARGE);
    struct arena arena;
    struct err err = {0};

    assert_non_null(bytes);
    for (size_t parts = 0; parts < 2; parts++) {
        uint8_t head[] = {0x0a, 0, 0x12, 0x80, 0x80, 0x80, 0x03}; /* a payload of 6 MiB */
        size_t len = sizeof(head), end = len + (6 << 20), step = parts ? PART : 2;
        memcpy(bytes, head, len);
        for (; len < end; len += step) { /* variables */
            step = end - len < step ? end - len : step;
            bytes[len] = 0x1a;
            bytes[len + 1] = (uint8_t)(step - 2);
            memset(bytes + len + 2, 'v', step - 2);
        }
        bool done = rpc_unpack(rpc, bytes, end, RPC_ARENA_FACTOR, &arena, &err) != NULL;
        assert_int_equal(done, parts == 1);
        if (!done)
            assert_int_equal(err.code, -ERR_TOO_BIG);
        assert_true(arena.used <= 2 * end + RPC_ARENA_LARGE + RPC_ARENA_EXTRA);
        assert_true(arena.apart_max <= RPC_ARENA_LARGE + end / 2);
        arena_done(&arena);
    }
    free(bytes);
}

static const ProtobufCFieldDescriptor *find_own_field(const ProtobufCMessageDescriptor *type)
{
    pb_each_field (type, field)
        if (field->type == PROTOBUF_C_TYPE_MESSAGE && field->descriptor == type)
            return field;
    return NULL;
}

/* Writes the head of a field of 'len' bytes before 'at'. Returns its start. */
static uint8_t *put_head(uint8_t *at, uint32_t field, size_t len)
{
    const uint64_t numbers[] = {(uint64_t)field << 3 | 2, len};
    uint8_t head[20];
    size_t n = 0;

    for (size_t i = 0; i < 2; i++)
        for (uint64_t rest = numbers[i], more = 1; more; rest >>= 7) {
            more = rest > 127;
            head[n++] = (uint8_t)((rest & 127) | more << 7);
        }
    memcpy(at - n, head, n);
    return at - n;
}

/* Writes the required fields of the type before 'at', all but one. Without them nothing of the
 * message is unpacked. */
static uint8_t *put_required(uint8_t *at, const ProtobufCMessageDescriptor *type,
                             const ProtobufCFieldDescriptor *but)
{
    pb_each_field (type, field) {
        const uint8_t *end = at;

        if (field->label != PROTOBUF_C_LABEL_REQUIRED || field == but)
            continue;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            at = put_required(at, field->descriptor, NULL);
        at = put_head(at, field->id, (size_t)(end - at));
        if (field->type != PROTOBUF_C_TYPE_MESSAGE && field->type != PROTOBUF_C_TYPE_STRING &&
            field->type != PROTOBUF_C_TYPE_BYTES)
            at[0] &= 0xf8; /* a number, which is 0 */
    }
    return at;
}

/* Unpacks a message with a message of this type, which contains itself down to the last byte.
 * 'path': the fields that lead to it. */
static void try_nested(const struct rpc_info *rpc, const ProtobufCFieldDescriptor *const *path,
                       size_t steps, const ProtobufCFieldDescriptor *own)
{
    size_t size = rpc->body_max < 1u << 20 ? rpc->body_max : 1u << 20;
    uint8_t *bytes = malloc(size), *end = bytes + size, *at = end;
    struct arena arena;
    struct err err = {0};

    assert_non_null(bytes);
    while (at - bytes > 1000)
        at = put_required(put_head(at, own->id, (size_t)(end - at)), own->descriptor, NULL);
    while (steps--) {
        const ProtobufCMessageDescriptor *in = steps ? path[steps - 1]->descriptor : rpc->request;
        at = put_required(put_head(at, path[steps]->id, (size_t)(end - at)), in, path[steps]);
    }
    assert_null(rpc_unpack(rpc, at, (size_t)(end - at), RPC_ARENA_FACTOR, &arena, &err));
    assert_int_equal(err.code, -ERR_TOO_BIG);
    arena_done(&arena);
    free(bytes);
}

#define PATH_MAX_FIELDS 8

static size_t try_types(const struct rpc_info *rpc, const ProtobufCMessageDescriptor *type,
                        const ProtobufCFieldDescriptor **path, size_t steps)
{
    const ProtobufCFieldDescriptor *own = find_own_field(type);
    size_t found = own != NULL;

    if (own)
        try_nested(rpc, path, steps, own);
    pb_each_field (type, field) {
        if (field->type != PROTOBUF_C_TYPE_MESSAGE || field == own)
            continue;
        assert_true(steps < PATH_MAX_FIELDS); /* no type contains itself through another type */
        path[steps] = field;
        found += try_types(rpc, field->descriptor, path, steps + 1);
    }
    return found;
}

/* Such a message would use up the stack of the daemon that unpacks it. */
static void deeply_nested_messages_are_refused(void **state)
{
    const ProtobufCFieldDescriptor *path[PATH_MAX_FIELDS];
    size_t found = 0;

    for (unsigned number = 0; number < 65536; number++)
        if (rpc_find(number))
            found += try_types(rpc_find(number), rpc_find(number)->request, path, 0);
    assert_true(found >= 3); /* StepSpec in STEP_CREATE, ALLOC and STEP_UNALLOCATED */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deeply_nested_messages_are_refused),
        cmocka_unit_test(every_request_has_a_size_limit),
        cmocka_unit_test(a_large_request_of_small_parts_is_refused),
        cmocka_unit_test(rights_of_each_request_are_those_of_the_table),
        cmocka_unit_test(request_without_rights_is_denied_to_all),
        cmocka_unit_test(rows_of_the_table_are_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
