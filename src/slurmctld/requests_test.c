/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random requests of users and operators, of every kind, with values at the limits of their types
 * and texts in the syntax of options. No request may end the controller or violate an invariant;
 * with the sanitizers no sum may overflow. SLUICE_SEED: the first seed; SLUICE_SOAK: percent of the
 * seeds of a release.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "base/test_drawn.h"
#include "control/life/resv_test_util.h"
#include "rpc/rpc.h"

#define SEEDS 200   /* in the soak: of each percent */
#define REQUESTS 60 /* of a seed */
#define DEPTH_MAX 3 /* of messages in messages */
#define JOBS_MAX 9  /* ids of jobs that requests name */

#define NODES "NodeName=n[1-4] CPUs=4 Sockets=2 CoresPerSocket=2 RealMemory=4000 Feature=x "
#define PARTS                                                                                      \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=600 DefaultTime=10 DefMemPerCPU=100\n"          \
    "PartitionName=b Nodes=n[3-4] MaxTime=INFINITE PriorityTier=5 OverSubscribe=FORCE:2\n"         \
    "PartitionName=c Nodes=n[1-2] MaxNodes=1 MinNodes=1 MaxMemPerCPU=500 MaxCPUsPerNode=3\n"

static const char *const confs[] = {
    "SelectTypeParameters=CR_Core_Memory\nLicenses=lic:4\nGresTypes=gpu\n" NODES
    "Gres=gpu:k:2\nPriorityType=priority/multifactor\nPriorityWeightAge=1000\n" PARTS,
    "SelectTypeParameters=CR_CPU\nLicenses=lic:4\nPreemptType=preempt/partition_prio\n"
    "PreemptMode=SUSPEND,GANG\n" NODES "\n" PARTS,
    "SelectTypeParameters=CR_Socket\nLicenses=lic:4\nSchedulerParameters=hetjob_two_mode\n" NODES
    "\nPriorityType=priority/basic\nEnforcePartLimits=NO\n" PARTS,
};

/* --- values -------------------------------------------------------------------------------------
 */

static uint64_t chance;

static uint64_t draw(void) /* xorshift64* */
{
    chance ^= chance >> 12;
    chance ^= chance << 25;
    chance ^= chance >> 27;
    return chance * 0x2545f4914f6cdd1dULL;
}

static size_t draw_below(size_t count)
{
    return (size_t)(draw() >> 33) % count;
}

static uint64_t draw_number(void)
{
    static const uint64_t ends[] = {
        INT8_MAX,   UINT8_MAX,          INT16_MAX,      UINT16_MAX,       UINT16_MAX - 1,
        INT32_MAX,  UINT32_MAX,         UINT32_MAX - 1, UINT32_MAX - 2,   INT64_MAX,
        UINT64_MAX, UINT64_MAX / 2 + 1, INT64_MAX / 60, INT64_MAX / 1000, 1ull << 31,
        1ull << 44, 1700000000};
    size_t kind = draw_below(12);

    if (kind < 9)
        return draw_below(kind + 2);
    if (kind == 9)
        return draw_below(5000);
    return kind == 10 ? ends[draw_below(sizeof(ends) / sizeof(ends[0]))] : draw() >> draw_below(64);
}

/* Texts for the fields that are named before them, and for all ("*"). */
static const struct text_row {
    const char *fields, *text;
} texts[] = {
    {"*", ""},
    {"*", "a"},
    {"*", "x\n\x1b[2J%99999j"},
    {" partition ", "a"},
    {" partition ", "b"},
    {" partition ", "a,b"},
    {" partition ", "c"},
    {" partition ", "a,c"},
    {" req_nodes exc_nodes nodes keep_nodes node names ", "n1"},
    {" req_nodes exc_nodes nodes keep_nodes node names ", "n[1-4]"},
    {" req_nodes exc_nodes nodes keep_nodes node names ", "n[1-2],n[3-9999999]"},
    {" req_nodes exc_nodes nodes keep_nodes node names ", "ALL"},
    {" req_nodes exc_nodes nodes keep_nodes node names ", "n4,n3"},
    {" req_nodes exc_nodes nodes keep_nodes node names ", "n[1-2]"},
    {" req_nodes exc_nodes nodes keep_nodes node names ", "n9"},
    {" req_nodes exc_nodes nodes keep_nodes node names ", "0-3"},
    {" features prefer batch_features ", "x"},
    {" features prefer batch_features ", "x*2&x"},
    {" features prefer batch_features ", "[x*99999999999]"},
    {" features prefer batch_features ", "((((((((x))))))))"},
    {" features prefer batch_features ", "[x*1|x*2]"},
    {" features prefer batch_features ", "x|y"},
    {" licenses ", "lic:1"},
    {" licenses ", "lic:18446744073709551615"},
    {" licenses ", "lic:4294967295,lic:4294967295"},
    {" licenses ", "lic:4"},
    {" licenses ", "lic"},
    {" gres tres_per_job tres_per_task tres_per_socket tres_per_step gpus_per_node ", "gpu:1"},
    {" gres tres_per_job tres_per_task tres_per_socket tres_per_step gpus_per_node ", "gpu:k:2"},
    {" gres tres_per_job tres_per_task tres_per_socket tres_per_step gpus_per_node ", "gres/gpu:2"},
    {" gres tres_per_job tres_per_task tres_per_socket tres_per_step gpus_per_node ",
     "gpu:9223372036854775807"},
    {" gres tres_per_job tres_per_task tres_per_socket tres_per_step gpus_per_node ",
     "gpu:4294967295,gpu:4294967295"},
    {" gres tres_per_job tres_per_task tres_per_socket tres_per_step gpus_per_node ", "none"},
    {" array_inx array_tasks ", "0-3"},
    {" array_inx array_tasks ", "0-4000000:7%3"},
    {" array_inx array_tasks ", "1,3,5-9"},
    {" array_inx array_tasks ", "0-4294967294"},
    {" array_inx array_tasks ", "2"},
    {" array_inx array_tasks ", "0-3%1"},
    {" dependency ", "afterok:1"},
    {" dependency ", "afterany:2+99999999:3?after:1+4294967295"},
    {" dependency ", "singleton"},
    {" dependency ", "aftercorr:2,expand:1"},
    {" dependency ", "after:1+5"},
    {" distribution ", "block:cyclic:fcyclic,Pack"},
    {" distribution ", "plane=4294967295"},
    {" distribution ", "cyclic"},
    {" distribution ", "arbitrary"},
    {" signal ", "TERM@4294967295"},
    {" signal ", "B:9@60"},
    {" signal ", "R:USR1@4294967295"},
    {" job_size_str ", "1-4:2"},
    {" job_size_str ", "1,2,4294967295"},
    {" mail_type ", "END,FAIL,TIME_LIMIT_90"},
    {" mail_type ", "ALL"},
    {" mail_user users groups accounts user_name ", "ann"},
    {" mail_user users groups accounts user_name ", "bob"},
    {" mail_user users groups accounts user_name ", "-ann"},
    {" mail_user users groups accounts user_name ", "ann,bob"},
    {" reservation name ", "resv"},
    {" reservation name ", "resv,other"},
    {" reservation name ", "other"},
    {" cpu_freq gpu_freq ", "low-high:Performance"},
    {" cpu_freq gpu_freq ", "4294967295-4294967295:UserSpace"},
    {" tres_bind gpu_bind mem_bind ", "single:2"},
    {" tres_bind gpu_bind mem_bind ", "map_gpu:0,1,99999999"},
    {" tres_bind gpu_bind mem_bind ", "mask_cpu:0xffffffffffffffffff,0x1"},
    {" gres_flags flags ", "enforce-binding,one-task-per-sharing"},
    {" gres_flags flags ", "disable-binding"},
    {" gres_flags flags ", "MAINT,OVERLAP,DAILY"},
    {" gres_flags flags ", "FLEX"},
    {" gres_flags flags ", "STATIC_ALLOC,TIME_FLOAT"},
    {" gres_flags flags ", "PURGE_COMP"},
    {" acctg_freq ", "task=4294967295"},
    {" std_in std_out std_err work_dir command program ", "/tmp/%u"},
    {" std_in std_out std_err work_dir command program ", "/bin/true"},
    {" burst_buffer ", "#BB capacity=9999999999999999999TB"},
    {" state ", "DRAIN"},
    {" state ", "RESUME"},
    {" state ", "DOWN"},
    {" state ", "UP"},
    {" state ", "INACTIVE"},
};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

/* Mostly one that is meant for the field. */
static const char *draw_text(const char *field)
{
    char word[64];
    const struct text_row *row = &texts[draw_below(TEXTS)];

    snprintf(word, sizeof(word), " %s ", field);
    for (unsigned i = 0; i < 300 && !strstr(row->fields, word); i++)
        row = &texts[draw_below(TEXTS)];
    return draw_below(12) ? row->text : texts[draw_below(TEXTS)].text;
}

static ProtobufCMessage *draw_message(struct arena *a, const ProtobufCMessageDescriptor *type,
                                      unsigned depth);

static bool is_named(const ProtobufCFieldDescriptor *field, const char *name)
{
    return strcmp(field->name, name) == 0;
}

static void draw_value(struct arena *a, const ProtobufCFieldDescriptor *field, void *at,
                       unsigned depth)
{
    uint64_t number = draw_number();

    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        *(char **)at = arena_strdup(a, draw_text(field->name));
        break;
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData *bytes = at;
        const char *text = draw_below(2) ? "#!/bin/sh\n" : "0123456789abcdef";
        *bytes = (ProtobufCBinaryData){strlen(text), (uint8_t *)arena_strdup(a, text)};
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)at = draw_message(a, field->descriptor, depth + 1);
        break;
    case PROTOBUF_C_TYPE_ENUM: {
        const ProtobufCEnumDescriptor *words = field->descriptor;
        *(int32_t *)at =
            draw_below(8) ? words->values[draw_below(words->n_values)].value : (int32_t)number;
        break;
    }
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = (protobuf_c_boolean)draw_below(2);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)at = (double)(int64_t)number / 3;
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)at = (float)(int32_t)number / 3;
        break;
    default:
        if (draw_below(20) &&
            (is_named(field, "job_id") || is_named(field, "ids") || is_named(field, "id")))
            number = 1 + draw_below(JOBS_MAX);
        memcpy(at, &number, pb_value_size(field)); /* little-endian, as all machines here */
    }
}

static void draw_list(struct arena *a, const ProtobufCFieldDescriptor *field, char *base,
                      unsigned depth)
{
    size_t count = draw_below(4), size = pb_value_size(field);
    char *items = count ? arena_alloc(a, count * size) : NULL;

    for (size_t i = 0; i < count; i++)
        draw_value(a, field, items + i * size, depth);
    *(size_t *)(base + field->quantifier_offset) = count;
    *(char **)(base + field->offset) = items;
}

static void draw_field(struct arena *a, const ProtobufCFieldDescriptor *field, char *base,
                       unsigned depth)
{
    bool is_message = field->type == PROTOBUF_C_TYPE_MESSAGE;

    if (is_message && depth >= DEPTH_MAX && field->label != PROTOBUF_C_LABEL_REQUIRED)
        return;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        draw_list(a, field, base, depth);
        return;
    }
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        *(uint32_t *)(base + field->quantifier_offset) = field->id;
    else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && !is_message &&
             field->type != PROTOBUF_C_TYPE_STRING)
        *(protobuf_c_boolean *)(base + field->quantifier_offset) = 1;
    draw_value(a, field, base + field->offset, depth);
}

/* Most requests have few fields, so that some are accepted. */
static ProtobufCMessage *draw_message(struct arena *a, const ProtobufCMessageDescriptor *type,
                                      unsigned depth)
{
    ProtobufCMessage *m = arena_alloc(a, type->sizeof_message);
    size_t rare = type->n_fields / (1 + draw_below(5)) + 1;

    protobuf_c_message_init(type, m);
    pb_each_field (type, field)
        if (field->label == PROTOBUF_C_LABEL_REQUIRED || draw_below(rare) == 0 ||
            (is_named(field, "job_id") && draw_below(8)))
            draw_field(a, field, (char *)m, depth);
    return m;
}

/* --- requests -----------------------------------------------------------------------------------
 */

#define LISTING(name, type)                                                                        \
    static void list_##name(struct control *c, uint64_t call, const struct caller *who,            \
                            const type *filter)                                                    \
    {                                                                                              \
        _cleanup_str_ struct str out = STR_INIT;                                                   \
        uint64_t cursor = 0;                                                                       \
        (void)call;                                                                                \
        while (control_list_##name(c, who, filter, &cursor, 1000, &out))                           \
            ;                                                                                      \
    }
LISTING(jobs, Pb__JobFilter)
LISTING(steps, Pb__StepFilter)
LISTING(nodes, Pb__NodeFilter)
LISTING(parts, Pb__PartFilter)
LISTING(prio, Pb__PrioFilter)
LISTING(resvs, Pb__ResvFilter)
LISTING(triggers, Pb__TriggerFilter)

typedef void handler(struct control *c, uint64_t call, const struct caller *who, const void *m);

#define HANDLER(fn) (handler *)(void (*)(void))(fn)

static const struct {
    unsigned number;
    handler *fn;
} handlers[] = {
    {RPC_SUBMIT, HANDLER(control_submit)},
    {RPC_ALLOC, HANDLER(control_alloc)},
    {RPC_NODE_UPDATE, HANDLER(control_node_update)},
    {RPC_JOB_LIST, HANDLER(list_jobs)},
    {RPC_STEP_LIST, HANDLER(list_steps)},
    {RPC_NODE_LIST, HANDLER(list_nodes)},
    {RPC_PART_LIST, HANDLER(list_parts)},
    {RPC_PRIO_LIST, HANDLER(list_prio)},
    {RPC_RESV_LIST, HANDLER(list_resvs)},
    {RPC_TRIGGER_LIST, HANDLER(list_triggers)},
#define REQUEST(rpc, name, type) {RPC_##rpc, HANDLER(control_##name)},
#include "control/request.def"
};
#define HANDLERS (sizeof(handlers) / sizeof(handlers[0]))

static const struct {
    struct caller who;
    unsigned roles;
} callers[] = {
    {{.uid = 1000, .gid = 1000, .user_name = "ann", .group_name = "ann", .host = "h"},
     RPC_WHO_USER},
    {{.uid = 1001, .gid = 1001, .user_name = "bob", .host = "h"}, RPC_WHO_USER},
    {{.uid = 7, .is_operator = true, .user_name = "op", .host = "h"},
     RPC_WHO_USER | RPC_WHO_OPERATOR},
    {{.is_operator = true, .is_admin = true, .user_name = "root", .host = "h"},
     RPC_WHO_USER | RPC_WHO_OPERATOR | RPC_WHO_ADMIN},
};

static uint64_t accepted; /* submissions */

/* Half of the requests make jobs and steps. */
static void send_request(struct fixture *f)
{
    size_t by = draw_below(8), row = draw_below(2) ? draw_below(HANDLERS) : draw_below(2);
    const struct rpc_info *rpc = rpc_find(handlers[row].number);
    _cleanup_arena_ struct arena arena;

    by = by < 4 ? 0 : by - 4;
    if (!rpc_allowed(rpc, callers[by].roles))
        by = 3;
    arena_init(&arena, 0);
    const ProtobufCMessage *m = draw_message(&arena, rpc->request, 0);
    handlers[row].fn(f->control, ++f->last_call, &callers[by].who, m);
    fixture_turn(f);
    accepted += row < 2 && fixture_code(f, f->last_call) == 0;
}

/* What nodes do meanwhile, and the time that passes. */
static void let_nodes_work(struct fixture *f)
{
    uint32_t job = 1 + (uint32_t)draw_below(JOBS_MAX);
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    fixture_obey(f);
    const Pb__JobRecord *r = fixture_job(f, &arena, job);
    if (r && r->live->state == PB__JOB_STATE__RUNNING)
        fixture_end(f, job, (int)draw_below(3));
    fixture_clear(f);
    fixture_pass(f, (int64_t)(draw() >> (44 + draw_below(20))));
}

/* A job, an array, a heterogeneous job and a reservation to make requests about. */
static void submit_first(struct fixture *f)
{
    Pb__JobSpec set[] = {fixture_spec(1, 1), fixture_spec(1, 2), fixture_spec(1, 1)};

    resv_test_apply(f, "create name=resv start=+100 length=60 nodes=n4 users=ann");
    assert_true(fixture_submit(f, &callers[0].who, NULL) > 0);
    assert_true(fixture_submit_set(f, &callers[0].who, set, 3) > 0);
    set[0].array_inx = (char *)"0-3";
    assert_true(fixture_submit(f, &callers[0].who, &set[0]) > 0);
}

static void try_requests(uint64_t seed)
{
    chance = (seed + 1) * 0x9e3779b97f4a7c15ULL;
    struct fixture *f = fixture_new_up(confs[draw_below(sizeof(confs) / sizeof(confs[0]))], 4);

    submit_first(f);
    for (unsigned i = 0; i < REQUESTS; i++) {
        send_request(f);
        if (draw_below(6) == 0)
            let_nodes_work(f);
        if (draw_below(20) == 0)
            fixture_restart(f);
    }
    for (uint64_t call = 1; call <= f->last_call; call++)
        control_call_gone(f->control, call);
    fixture_turn(f);
    fixture_free(f);
}

static void random_requests_do_no_harm(void **state)
{
    const char *first = getenv("SLUICE_SEED"), *soak = getenv("SLUICE_SOAK");
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1;
    uint64_t count = soak ? strtoull(soak, NULL, 10) * SEEDS : TEST_DRAWN(SEEDS);

    (void)state;
    for (uint64_t i = 0; i < count; i++) {
        print_message("SLUICE_SEED=%llu\n", (unsigned long long)(seed + i));
        try_requests(seed + i);
    }
    assert_true(accepted > count); /* otherwise the requests would prove little */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_requests_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
