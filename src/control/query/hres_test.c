/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hierarchical resources: the arithmetic of the guide's sample on 32 nodes, request by request, and
 * the effect of a restart, a requeue and another file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/fixture.h"
#include "proto/license.pb-c.h"

#define HEAD                                                                                       \
    "NodeName=node[01-32] CPUs=8 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"         \
    "SlurmdTimeout=0\nSelectTypeParameters=CR_Core\n"
#define FLAT                                                                                       \
    "HresConf=flat Mode=MODE_2\n"                                                                  \
    "HresConf=flat Nodes=node[01-32] Count=24\nHresConf=flat Nodes=node[01-16] Count=16\n"         \
    "HresConf=flat Nodes=node[17-32] Count=16\nHresConf=flat Nodes=node[01-08] Count=12\n"         \
    "HresConf=flat Nodes=node[09-16] Count=12\nHresConf=flat Nodes=node[17-24] Count=12\n"         \
    "HresConf=flat Nodes=node[25-32] Count=12\n"
#define NATURAL                                                                                    \
    "HresConf=natural Mode=MODE_1\nHresConf=natural Nodes=node[01-32] Count=50\n"                  \
    "HresConf=natural Nodes=node[01-16] Count=100\nHresConf=natural Nodes=node[17-32] Count=100\n"
#define POWER                                                                                      \
    "HresConf=power Mode=MODE_3 Topology=blok1 Variables=full_node:1000,full_gpu_node:2000\n"      \
    "HresConf=power Nodes=node[01-08] Count=40000 Base=storage:5000\n"                             \
    "HresConf=power Nodes=node[17-24] Count=40000\nHresConf=power Nodes=node[09-16] Count=40000\n" \
    "HresConf=power Nodes=node[25-32] Count=40000\n"                                               \
    "HresConf=power Nodes=node[01-16] Count=60000 Base=network1:3000\n"                            \
    "HresConf=power Nodes=node[17-32] Count=80000 Base=network2:2000\n"                            \
    "HresConf=power Nodes=node[01-32] Count=130000 Base=acUnit1:10000,acUnit2:8000\n"
#define CONF HEAD FLAT NATURAL POWER

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { REFUSED = -ERR_LICENSE, WAITS = 0, RUNS };

/* Words such as "-N3 -w node[1-3]": number of nodes, required and excluded nodes. */
struct ask {
    const char *licenses;
    uint32_t nodes;
    const char *list;
    int outcome;
};

static void register_all(struct fixture *f)
{
    for (unsigned n = 1; n <= 32; n++) {
        char name[16];
        snprintf(name, sizeof name, "node%02u", n);
        fixture_register(f, name, "i1");
    }
}

static struct fixture *make_fixture(const char *conf)
{
    struct fixture *f = fixture_new_up(conf, 0);
    register_all(f);
    return f;
}

static int64_t submit_for(struct fixture *f, const struct ask *a, int64_t limit_sec)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.licenses = (char *)a->licenses;
    s.has_min_nodes = s.has_max_nodes = a->nodes > 0;
    s.min_nodes = s.max_nodes = a->nodes;
    s.req_nodes = (char *)a->list;
    s.has_time_limit_sec = true;
    s.time_limit_sec = limit_sec;
    s.has_requeue = s.requeue = true;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

/* Returns RUNS, WAITS, or the error code. */
static int get_outcome(struct fixture *f, int64_t id)
{
    if (id < 0)
        return (int)id;
    return fixture_state(f, (uint32_t)id) == PB__JOB_STATE__RUNNING ? RUNS : WAITS;
}

static int64_t submit_job(struct fixture *f, const char *licenses, uint32_t nodes, const char *list)
{
    return submit_for(f, &(struct ask){licenses, nodes, list, RUNS}, 600);
}

static const Pb__LicenseList *list_pools(struct fixture *f, struct arena *arena)
{
    uint64_t call = ++f->last_call;
    control_list_licenses(f->control, call, &FIXTURE_ROOT, NULL);
    fixture_turn(f);
    vec_foreach (&f->replies, r)
        if (r->call == call)
            return arena_unpack(arena, &pb__license_list__descriptor, r->data.data, r->data.len);
    fail_msg("no reply");
    return NULL;
}

/* Writes "node[01-08]:5 ..." for the layers in use. */
static void format_used(struct fixture *f, const char *name, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__LicenseList *l = list_pools(f, &arena);
    for (size_t i = 0; i < l->n_licenses; i++)
        if (str_eq(l->licenses[i]->name, name) && l->licenses[i]->used)
            str_printf(out, "%s%s:%llu", out->len ? " " : "", l->licenses[i]->nodes,
                       (unsigned long long)l->licenses[i]->used);
}

static void assert_used(struct fixture *f, const char *name, const char *expected)
{
    _cleanup_str_ struct str out = STR_INIT;
    format_used(f, name, &out);
    assert_string_equal(str_cstr(&out), expected);
}

static void assert_waits(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    if (live->state != PB__JOB_STATE__PENDING || !str_eq(live->reason, "Licenses"))
        fail_msg("job %lld: state %d, reason %s", (long long)id, (int)live->state, live->reason);
}

static void assert_runs(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    if (live->state != PB__JOB_STATE__RUNNING)
        fail_msg("job %lld: state %d, reason %s", (long long)id, (int)live->state, live->reason);
}

/* Ends its script, without the reports of its nodes: they are not clean yet. */
static void end_script(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const char *host = fixture_job(f, &arena, (uint32_t)id)->live->batch_host;
    fixture_launched(f, host, (uint32_t)id, 0);
    fixture_batch_ended(f, host, (uint32_t)id, 0, 0);
}

/* Section 4 of the requirements: each row is a cluster without jobs, requests in order, and the use
 * afterwards. */
static const struct row {
    const char *id, *resource;
    struct ask ask[8];
    const char *used;
} rows[] = {
    {"HRES-19", "natural", {{"natural:2", 4, "node[01-04]", RUNS}}, "node[01-16]:2"},
    {"HRES-20 HRES-21 half alone",
     "natural",
     {{"natural:100", 1, "node01", RUNS},
      {"natural:50", 1, "node02", RUNS},
      {"natural", 1, "node03", WAITS}},
     "node[01-16]:100 node[01-32]:50"},
    {"HRES-21 250 in all",
     "natural",
     {{"natural:100", 1, NULL, RUNS},
      {"natural:100", 1, NULL, RUNS},
      {"natural:50", 1, NULL, RUNS},
      {"natural:1", 1, NULL, WAITS}},
     "node[01-16]:100 node[17-32]:100 node[01-32]:50"},
    {"HRES-21 251 at once", "natural", {{"natural:251", 32, NULL, REFUSED}}, ""},
    {"HRES-21 no layer has 101", "natural", {{"natural:101", 32, NULL, REFUSED}}, ""},
    {"HRES-22 the lowest one that has enough",
     "natural",
     {{"natural:60", 1, "node20", RUNS},
      {"natural:41", 1, "node20", RUNS},
      {"natural:40", 1, "node21", RUNS},
      {"natural:9", 1, "node22", RUNS},
      {"natural:1", 1, "node22", WAITS}},
     "node[17-32]:100 node[01-32]:50"},
    {"HRES-16 one node in a layer with enough is sufficient",
     "natural",
     {{"natural:100", 1, "node01", RUNS},
      {"natural:50", 1, "node01", RUNS},
      {"natural:3", 2, "node[16-17]", RUNS}},
     "node[01-16]:100 node[17-32]:3 node[01-32]:50"},
    {"HRES-23 HRES-26",
     "flat",
     {{"flat:5", 4, "node[01-04]", RUNS}},
     "node[01-08]:5 node[01-16]:5 node[01-32]:5"},
    {"HRES-27 the 25th waits",
     "flat",
     {{"flat:12", 1, "node01", RUNS}, {"flat:12", 1, "node17", RUNS}, {"flat:1", 1, NULL, WAITS}},
     "node[01-08]:12 node[17-24]:12 node[01-16]:12 node[17-32]:12 node[01-32]:24"},
    {"HRES-27 HRES-30 25 never fit", "flat", {{"flat:25", 1, NULL, REFUSED}}, ""},
    {"HRES-28 13 never fit into an eight", "flat", {{"flat:13", 1, "node01", REFUSED}}, ""},
    {"HRES-28 the 17th of a half waits",
     "flat",
     {{"flat:12", 1, "node01", RUNS},
      {"flat:4", 1, "node09", RUNS},
      {"flat:1", 1, "node10", WAITS},
      {"flat:8", 1, "node17", RUNS}},
     "node[01-08]:12 node[09-16]:4 node[17-24]:8 node[01-16]:16 node[17-32]:8 node[01-32]:24"},
    {"HRES-29",
     "flat",
     {{"flat:3", 16, "node[01-16]", RUNS}},
     "node[01-08]:3 node[09-16]:3 node[01-16]:3 node[01-32]:3"},
    {"HRES-31 HRES-34",
     "power",
     {{"power:1000", 16, "node[01-16]", RUNS}},
     "node[01-08]:8000 node[09-16]:8000 node[01-16]:16000 node[01-32]:16000"},
    {"HRES-38 HRES-34",
     "power",
     {{"power:full_node", 2, "node[01-02]", RUNS},
      {"power:full_gpu_node", 1, "node17", RUNS},
      {"power:half_node", 1, NULL, REFUSED}},
     "node[01-08]:2000 node[17-24]:2000 node[01-16]:2000 node[17-32]:2000 node[01-32]:4000"},
    {"HRES-36 ten nodes fit in all",
     "power",
     {{"power:10000", 10, NULL, RUNS}},
     "node[01-08]:30000 node[09-16]:20000 node[17-24]:40000 node[25-32]:10000 node[01-16]:50000 "
     "node[17-32]:50000 node[01-32]:100000"},
    {"HRES-36 eleven do not", "power", {{"power:10000", 11, NULL, REFUSED}}, ""},
    {"HRES-36 five in the first half",
     "power",
     {{"power:10000", 5, "node[01-03,09-10]", RUNS}, {"power:10000", 1, "node11", WAITS}},
     "node[01-08]:30000 node[09-16]:20000 node[01-16]:50000 node[01-32]:50000"},
    {"HRES-36 seven in the second half, ten together",
     "power",
     {{"power:10000", 7, "node[17-20,25-27]", RUNS},
      {"power:10000", 1, "node28", WAITS},
      {"power:10000", 3, "node[01-03]", RUNS},
      {"power:10000", 1, "node09", WAITS}},
     "node[01-08]:30000 node[17-24]:40000 node[25-32]:30000 node[01-16]:30000 node[17-32]:70000 "
     "node[01-32]:100000"},
    {"HRES-37 three in the first eight",
     "power",
     {{"power:10000", 3, "node[01-03]", RUNS}, {"power:10000", 1, "node04", WAITS}},
     "node[01-08]:30000 node[01-16]:30000 node[01-32]:30000"},
    {"HRES-37 not four", "power", {{"power:10000", 4, "node[01-04]", REFUSED}}, ""},
    {"HRES-37 four in the second eight",
     "power",
     {{"power:10000", 4, "node[09-12]", RUNS}},
     "node[09-16]:40000 node[01-16]:40000 node[01-32]:40000"},
    {"HRES-32 to the limit",
     "power",
     {{"power:35000", 1, "node01", RUNS},
      {"power:17000", 1, "node09", RUNS},
      {"power:1", 1, "node10", WAITS},
      {"power:40000", 1, "node17", RUNS},
      {"power:10000", 1, "node25", RUNS},
      {"power:1", 1, "node26", WAITS}},
     "node[01-08]:35000 node[09-16]:17000 node[17-24]:40000 node[25-32]:10000 node[01-16]:52000 "
     "node[17-32]:50000 node[01-32]:102000"},
    {"HRES-41 HRES-46 all modes in one job",
     "flat",
     {{"flat:2,natural:1,power:full_node", 1, "node30", RUNS}},
     "node[25-32]:2 node[17-32]:2 node[01-32]:2"},
};

static void counts_of_the_sample_file_are_applied(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture *f = make_fixture(CONF);
        _cleanup_str_ struct str used = STR_INIT;
        for (size_t k = 0; k < COUNT(rows[i].ask) && rows[i].ask[k].licenses; k++) {
            const struct ask *a = &rows[i].ask[k];
            int64_t id = submit_for(f, a, 600);
            int outcome = get_outcome(f, id);
            if (outcome != a->outcome)
                fail_msg("%s: request %zu (%s): %d, not %d", rows[i].id, k + 1, a->licenses,
                         outcome, a->outcome);
            if (outcome == WAITS)
                assert_waits(f, id);
        }
        format_used(f, rows[i].resource, &used);
        if (!str_eq(str_cstr(&used), rows[i].used))
            fail_msg("%s: in use %s", rows[i].id, str_cstr(&used));
        fixture_restart(f);
        assert_used(f, rows[i].resource, rows[i].used);
        fixture_free(f);
    }
}

/* HRES-17, HRES-18, HRES-24, HRES-25, HRES-39: layers with a count of zero, and without a limit. */
static void zero_and_unlimited_layers(void **state)
{
    static const struct {
        const char *conf;
        struct ask ask[4];
    } v[] = {
        {HEAD NATURAL "HresConf=natural Nodes=node[01-08] Count=0\n",
         {{"natural:100", 1, "node01", RUNS},
          {"natural:50", 1, "node02", RUNS},
          {"natural", 1, "node03", WAITS}}},
        {HEAD NATURAL "HresConf=natural Nodes=node[01-08] Count=-1\n",
         {{"natural:100000", 1, "node01", RUNS}, {"natural:100000", 1, "node02", RUNS}}},
        {HEAD "HresConf=flat Mode=MODE_2\nHresConf=flat Nodes=node[01-32] Count=24\n"
              "HresConf=flat Nodes=node[01-08] Count=0\n",
         {{"flat:1", 24, NULL, RUNS}, {"flat:1", 1, "node08", REFUSED}}},
        {HEAD FLAT "HresConf=flat Nodes=node[01-04] Count=-1\n",
         {{"flat:12", 1, "node01", RUNS}, {"flat:1", 1, "node02", WAITS}}},
        {HEAD "HresConf=power Mode=MODE_3\nHresConf=power Nodes=node[01-32] Count=-1\n"
              "HresConf=power Nodes=node[01-16] Count=20\n"
              "HresConf=power Nodes=node[17-32] Count=-1\n",
         {{"power:10", 18, NULL, RUNS}, {"power:10", 1, "node01", WAITS}}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct fixture *f = make_fixture(v[i].conf);
        for (size_t k = 0; k < COUNT(v[i].ask) && v[i].ask[k].licenses; k++) {
            int64_t id = submit_for(f, &v[i].ask[k], 600);
            int outcome = get_outcome(f, id);
            if (outcome != v[i].ask[k].outcome)
                fail_msg("case %zu, request %zu: %d", i, k + 1, outcome);
        }
        fixture_free(f);
    }
}

/* HRES-48: an ended, requeued or cancelled job returns everything; its request is kept. */
static void ended_job_returns_its_layers(void **state)
{
    struct fixture *f = make_fixture(CONF);
    (void)state;
    int64_t a = submit_job(f, "flat:12,natural:100,power:1000", 2, "node[01-02]");
    int64_t b = submit_job(f, "flat:12,natural:150", 1, "node01");
    assert_int_equal(b, -ERR_LICENSE);
    b = submit_job(f, "flat:12,natural:60", 1, "node01");
    assert_runs(f, a);
    assert_waits(f, b);
    fixture_restart(f);
    register_all(f);
    assert_used(f, "natural", "node[01-16]:100");
    end_script(f, a);
    assert_runs(f, b);
    assert_used(f, "flat", "node[01-08]:12 node[01-16]:12 node[01-32]:12");
    assert_used(f, "natural", "node[01-16]:60");
    assert_used(f, "power", "");
    assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, b, NULL, 0), 0);
    assert_used(f, "flat", "");
    assert_used(f, "natural", "");
    fixture_free(f);
}

/* The only node of the layer is busy, other nodes are free: an equal job without the layer starts,
 * and so does a job with another resource. */
static void job_waiting_for_a_layer_delays_no_other_job(void **state)
{
    struct fixture *f =
        make_fixture(HEAD "HresConf=x Mode=MODE_2\nHresConf=x Nodes=node01 Count=4\n"
                          "HresConf=y Mode=MODE_2\nHresConf=y Nodes=node02 Count=4\n");
    Pb__JobSpec fill = PB__JOB_SPEC__INIT;
    (void)state;
    fill.req_nodes = (char *)"node01";
    fill.has_exclusive = fill.exclusive = true;
    fill.has_time_limit_sec = true;
    fill.time_limit_sec = 600;
    int64_t a = fixture_submit(f, &FIXTURE_USER, &fill), b = submit_job(f, "x:1", 1, NULL);
    assert_runs(f, a);
    assert_int_equal(fixture_state(f, (uint32_t)b), PB__JOB_STATE__PENDING);
    assert_runs(f, submit_job(f, NULL, 1, NULL));
    assert_runs(f, submit_job(f, "y:1", 1, NULL));
    end_script(f, a);
    fixture_gone(f, "node01", (uint32_t)a, 0);
    assert_runs(f, b);
    fixture_free(f);
}

static void requeue_job(struct fixture *f, int64_t id)
{
    Pb__JobUpdate again = PB__JOB_UPDATE__INIT;
    fixture_launched(f, "node01", (uint32_t)id, 0);
    again.job_id = (uint32_t)id;
    again.has_requeue = again.requeue = true;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &again), 0);
}

/* HRES-48: a requeued job releases its layers at once, and its request is unchanged. */
static void requeued_job_releases_and_requests_its_layers(void **state)
{
    static const char all[] = "node[01-08]:12 node[01-16]:12 node[01-32]:12";
    struct fixture *f = make_fixture("SchedulerParameters=requeue_delay=0\n" CONF);
    (void)state;
    int64_t a = submit_job(f, "flat:12,natural:100", 1, "node01");
    requeue_job(f, a);
    assert_used(f, "flat", "");
    assert_used(f, "natural", "");
    int64_t b = submit_job(f, "flat:12", 1, "node01");
    assert_runs(f, b);
    fixture_gone(f, "node01", (uint32_t)a, 0);
    fixture_pass(f, 1000);
    assert_waits(f, a);
    assert_used(f, "flat", all);
    end_script(f, b);
    fixture_gone(f, "node01", (uint32_t)b, 0);
    fixture_pass(f, 1000);
    assert_runs(f, a);
    assert_used(f, "flat", all);
    assert_used(f, "natural", "node[01-16]:100");
    fixture_free(f);
}

/* HRES-22: the paying layer stays with the job, whatever becomes free later. */
static void paying_layer_is_kept_across_restart_and_reconfigure(void **state)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct fixture *f = make_fixture(CONF);
    (void)state;
    int64_t a = submit_job(f, "natural:100", 1, "node01"),
            b = submit_job(f, "natural:10", 1, "node02");
    assert_used(f, "natural", "node[01-16]:100 node[01-32]:10");
    assert_string_equal(fixture_job(f, &arena, (uint32_t)b)->live->licenses_alloc,
                        "natural(node[01-32]):10");
    assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, a, NULL, 0), 0);
    assert_used(f, "natural", "node[01-32]:10");
    fixture_restart(f);
    register_all(f);
    assert_used(f, "natural", "node[01-32]:10");
    fixture_reconfigure(f, HEAD NATURAL "HresConf=natural Nodes=node[01-04] Count=5\n");
    assert_used(f, "natural", "node[01-32]:10");
    fixture_reconfigure(f, HEAD "HresConf=natural Mode=MODE_1\n"
                                "HresConf=natural Nodes=node[01-16] Count=100\n");
    assert_used(f, "natural", "node[01-16]:10"); /* its layer was removed */
    fixture_free(f);
}

/* HRES-11, HRES-15: another file. Counts below the use end no job and start no job; an impossible
 * request waits. */
static void counts_follow_a_changed_file(void **state)
{
    struct fixture *f = make_fixture(CONF);
    (void)state;
    int64_t a = submit_job(f, "power:full_gpu_node", 16, "node[01-16]");
    int64_t b = submit_job(f, "power:full_gpu_node", 32, NULL);
    assert_runs(f, a);
    assert_waits(f, b);
    fixture_reconfigure(f, HEAD "HresConf=power Mode=MODE_3 Variables=full_gpu_node:2000\n"
                                "HresConf=power Nodes=node[01-32] Count=3000\n");
    assert_used(f, "power", "node[01-32]:32000");
    int64_t c = submit_job(f, "power:1", 1, NULL);
    assert_waits(f, c);
    fixture_reconfigure(f, HEAD "HresConf=power Mode=MODE_3\n"
                                "HresConf=power Nodes=node[01-32] Count=300000\n");
    assert_runs(f, a);
    assert_runs(f, c);
    assert_waits(f, b);                           /* the variable is missing */
    assert_used(f, "power", "node[01-32]:32001"); /* the value at its start */
    fixture_restart(f);
    register_all(f);
    assert_used(f, "power", "node[01-32]:32001");
    assert_waits(f, b);
    fixture_reconfigure(f, HEAD "HresConf=power Mode=MODE_3 Variables=full_gpu_node:9000\n"
                                "HresConf=power Nodes=node[01-32] Count=300000\n");
    assert_used(f, "power", "node[01-32]:32001");
    fixture_reconfigure(f, HEAD);
    assert_waits(f, b); /* the resource is missing */
    fixture_reconfigure(f, CONF);
    end_script(f, a);
    end_script(f, c);
    assert_runs(f, b);
    fixture_free(f);
}

static const char *find_held(struct fixture *f, int64_t id, struct arena *arena)
{
    const char *text = fixture_job(f, arena, (uint32_t)id)->live->licenses_alloc;
    return text ? text : "as requested";
}

/* A job whose layers were removed holds nothing, and is displayed so. */
static void job_without_layers_holds_nothing(void **state)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct fixture *f = make_fixture(CONF);
    (void)state;
    int64_t a = submit_job(f, "flat:2", 1, "node01");
    assert_string_equal(find_held(f, a, &arena),
                        "flat(node[01-08]):2,flat(node[01-16]):2,flat(node[01-32]):2");
    fixture_reconfigure(f, HEAD "HresConf=flat Mode=MODE_2\nHresConf=flat Nodes=node09 Count=3\n");
    assert_string_equal(find_held(f, a, &arena), "");
    assert_used(f, "flat", "");
    fixture_reconfigure(f, HEAD);
    assert_string_equal(find_held(f, a, &arena), "");
    fixture_restart(f);
    register_all(f);
    assert_string_equal(find_held(f, a, &arena), "");
    fixture_reconfigure(f, CONF);
    assert_used(f, "flat", "node[01-08]:2 node[01-16]:2 node[01-32]:2");
    fixture_free(f);
}

/* HRES-48: a requeued job requests the present values of its variables. */
static void requeued_job_reads_its_variables_again(void **state)
{
    struct fixture *f = make_fixture("SchedulerParameters=requeue_delay=0\n" CONF);
    (void)state;
    int64_t a = submit_job(f, "power:full_gpu_node", 1, "node01");
    fixture_reconfigure(f, HEAD "SchedulerParameters=requeue_delay=0\n"
                                "HresConf=power Mode=MODE_3 Variables=full_gpu_node:9000\n"
                                "HresConf=power Nodes=node[01-32] Count=300000\n");
    assert_used(f, "power", "node[01-32]:2000");
    requeue_job(f, a);
    fixture_gone(f, "node01", (uint32_t)a, 0);
    fixture_pass(f, 1000);
    assert_runs(f, a);
    assert_used(f, "power", "node[01-32]:9000");
    fixture_free(f);
}

static int set_count(struct fixture *f, const char *name, const char *nodes, int64_t count)
{
    Pb__LicenseUpdate r = PB__LICENSE_UPDATE__INIT;
    r.name = (char *)name;
    r.nodes = (char *)nodes;
    r.has_count = count != INT64_MIN;
    r.count = count < 0 ? UINT64_MAX : (uint64_t)count;
    control_license_update(f->control, ++f->last_call, &FIXTURE_ROOT, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* Runtime changes of counts: counts below the use end no job and start no job; changes survive a
 * restart and a reconfiguration, until the file's count is edited. */
static void counts_are_changed_while_jobs_run(void **state)
{
    struct fixture *f = make_fixture(CONF);
    (void)state;
    int64_t a = submit_job(f, "flat:12", 1, "node01");
    assert_int_equal(set_count(f, "flat", "node[02-03]", 5), ERR_LICENSE);
    assert_int_equal(set_count(f, "flat", "node[01-08]", 5), 0);
    assert_int_equal(set_count(f, "flat", "node[01-32]", 10), 0);
    assert_int_equal(set_count(f, "flat", "node[07-10]", 10), ERR_LICENSE);
    assert_int_equal(set_count(f, "other", "node01", 10), ERR_LICENSE);
    assert_runs(f, a);
    int64_t b = submit_job(f, "flat:1", 1, "node20");
    assert_waits(f, b);
    fixture_restart(f);
    register_all(f);
    assert_used(f, "flat", "node[01-08]:12 node[01-16]:12 node[01-32]:12");
    assert_waits(f, b);
    fixture_reconfigure(f, CONF);
    assert_waits(f, b);
    assert_int_equal(submit_job(f, "flat:6", 1, "node01"), -ERR_LICENSE); /* 5 of node[01-08] */
    assert_int_equal(set_count(f, "flat", "node[01-32]", 13), 0);
    assert_runs(f, b);
    /* Back to the count of the file. */
    assert_int_equal(set_count(f, "flat", "node[01-08]", INT64_MIN), 0);
    fixture_reconfigure(f, HEAD NATURAL POWER "HresConf=flat Mode=MODE_2\n"
                                              "HresConf=flat Nodes=node[01-32] Count=30\n");
    assert_runs(f, submit_job(f, "flat:17", 1, "node20")); /* not 13 */
    assert_int_equal(set_count(f, "power", "node[01-32]", -1), 0);
    fixture_restart(f);
    register_all(f);
    assert_used(f, "flat", "node[01-32]:30");
    fixture_free(f);
}

/* HRES-49: a large request gets a planned start and is not overtaken forever. */
static void large_request_has_a_planned_start(void **state)
{
    static const struct {
        const char *conf, *half, *all, *one;
    } v[] = {
        {CONF, "flat:12", "flat:12", "flat:1"},
        {HEAD "HresConf=natural Mode=MODE_1\nHresConf=natural Nodes=node[01-16] Count=100\n",
         "natural:60", "natural:80", "natural:30"},
        {CONF, "power:20000", "power:35000", "power:10000"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        struct fixture *f = make_fixture(v[i].conf);
        int64_t a = submit_job(f, v[i].half, 1, "node01");
        int64_t all = submit_job(f, v[i].all, 1, "node02");
        assert_runs(f, a);
        assert_waits(f, all);
        fixture_pass(f, 31000);
        int64_t at = fixture_job(f, &arena, (uint32_t)all)->live->start_at;
        int64_t end = fixture_job(f, &arena, (uint32_t)a)->live->end_at;
        if (at < end || at > end + 1)
            fail_msg("case %zu: planned for %lld, not %lld", i, (long long)at, (long long)end);
        int64_t longer = submit_for(f, &(struct ask){v[i].one, 1, "node03", RUNS}, 6000);
        assert_waits(f, longer);
        end_script(f, a);
        assert_runs(f, all);
        fixture_free(f);
    }
}

/* HRES-40: each array element takes licences for its own nodes; GPUs of --gpus count. */
static void arrays_and_devices_of_a_job(void **state)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    struct fixture *f = make_fixture(CONF);
    (void)state;
    s.licenses = (char *)"power:10000";
    s.req_nodes = (char *)"node[01-02]";
    s.array_inx = (char *)"0-3";
    assert_true(fixture_submit(f, &FIXTURE_USER, &s) > 0);
    fixture_turn(f);
    assert_used(f, "power", "node[01-08]:20000 node[01-16]:20000 node[01-32]:20000");
    fixture_free(f);
    f = make_fixture("GresTypes=gpu\nNodeName=node[01-32] CPUs=8 RealMemory=4000 Gres=gpu:2\n"
                     "PartitionName=a Nodes=ALL Default=YES\nSlurmdTimeout=0\n"
                     "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
                     "HresConf=power Mode=MODE_3\nHresConf=power Nodes=node[01-32] Count=30\n"
                     "HresConf=power Nodes=node[01-16] Count=10\n"
                     "HresConf=power Nodes=node[17-32] Count=100\n");
    s.licenses = (char *)"power:10";
    s.req_nodes = s.array_inx = NULL;
    s.tres_per_job = (char *)"gpu:6";
    s.has_min_nodes = s.has_max_nodes = true;
    s.min_nodes = s.max_nodes = 3;
    int64_t a = fixture_submit(f, &FIXTURE_USER, &s);
    fixture_turn(f);
    assert_runs(f, a);
    assert_used(f, "power", "node[01-16]:10 node[17-32]:20 node[01-32]:30");
    s.min_nodes = s.max_nodes = 1;
    s.tres_per_job = (char *)"gpu:1";
    int64_t b = fixture_submit(f, &FIXTURE_USER, &s);
    fixture_turn(f);
    assert_waits(f, b);
    end_script(f, a);
    assert_runs(f, b);
    fixture_free(f);
}

/* --- all placements on eight nodes -------------------------------------------------------------
 */

struct tree {
    uint32_t nodes[7], count[7]; /* all, halves, quarters; bit i: node i + 1 */
};

static uint32_t draw_number(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*seed >> 33) % below;
}

/* Any two nodes share a quarter. */
static void draw_tree(uint64_t *seed, struct tree *t)
{
    uint32_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    *t = (struct tree){0};
    for (uint32_t i = 8; i-- > 1;) {
        uint32_t k = draw_number(seed, i + 1), other = order[k];
        order[k] = order[i];
        order[i] = other;
    }
    for (uint32_t i = 0; i < 8; i++) {
        t->nodes[0] |= 1U << order[i];
        t->nodes[1 + i / 4] |= 1U << order[i];
        t->nodes[3 + i / 2] |= 1U << order[i];
    }
    for (uint32_t i = 0; i < 7; i++)
        t->count[i] = i == 0  ? 3 + draw_number(seed, 6)
                      : i < 3 ? 1 + draw_number(seed, 4)
                              : draw_number(seed, 3);
}

static void put_tree(struct str *conf, const char *name, const struct tree *t)
{
    str_printf(conf, "HresConf=%s Mode=MODE_3\n", name);
    for (size_t i = 0; i < 7; i++) {
        const char *comma = "";
        str_printf(conf, "HresConf=%s Nodes=node[", name);
        for (uint32_t n = 0; n < 8; n++) {
            if (!(t->nodes[i] >> n & 1))
                continue;
            str_printf(conf, "%s%02u", comma, n + 1);
            comma = ",";
        }
        str_printf(conf, "] Count=%u\n", t->count[i]);
    }
}

static bool has_room(const struct tree *t, uint32_t set)
{
    for (size_t i = 0; i < 7; i++)
        if ((uint32_t)__builtin_popcount(set & t->nodes[i]) > t->count[i])
            return false;
    return true;
}

static bool can_be_placed(const struct tree *t, size_t trees, uint32_t nodes)
{
    for (uint32_t set = 0; set < 256; set++) {
        bool fits = (uint32_t)__builtin_popcount(set) == nodes;
        for (size_t i = 0; i < trees && fits; i++)
            fits = has_room(&t[i], set);
        if (fits)
            return true;
    }
    return false;
}

/* Returns how many requests find no nodes although some exist; no request starts without a possible
 * placement. */
static unsigned compare_placements(const struct tree *t, size_t trees, unsigned *possible)
{
    static const char *const asks[] = {"", "a", "a,b", "a,b,c"};
    static const char *const names[] = {"a", "b", "c"};
    _cleanup_str_ struct str conf = STR_INIT;
    unsigned missed = 0;
    str_puts(&conf, "NodeName=node[01-08] CPUs=8 RealMemory=4000\nSlurmdTimeout=0\n"
                    "PartitionName=a Nodes=ALL Default=YES\nSelectTypeParameters=CR_Core\n");
    for (size_t i = 0; i < trees; i++)
        put_tree(&conf, names[i], &t[i]);
    struct fixture *f = fixture_new_up(str_cstr(&conf), 0);
    for (unsigned n = 1; n <= 8; n++) {
        char name[16];
        snprintf(name, sizeof name, "node%02u", n);
        fixture_register(f, name, "i1");
    }
    for (uint32_t n = 1; n <= 8; n++) {
        int64_t id = submit_job(f, asks[trees], n, NULL);
        bool runs = id > 0 && fixture_state(f, (uint32_t)id) == PB__JOB_STATE__RUNNING;
        bool can = can_be_placed(t, trees, n);
        if (runs && !can)
            fail_msg("%u nodes of\n%s", n, str_cstr(&conf));
        *possible += can;
        missed += can && !runs;
        if (id > 0)
            assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, id, NULL, 0), 0);
    }
    fixture_free(f);
    return missed;
}

/* HRES-40, HRES-41: arbitrary groups of nodes. One resource per node, and several with different
 * groups, find nodes whenever some exist, and start nothing that does not fit. */
static void placements_agree_with_exhaustive_search(void **state)
{
    uint64_t seed = 40;
    (void)state;
    for (size_t trees = 1; trees <= 3; trees++) {
        unsigned possible = 0, missed = 0;
        for (int i = 0; i < 60; i++) {
            struct tree t[3];
            for (size_t k = 0; k < trees; k++)
                draw_tree(&seed, &t[k]);
            missed += compare_placements(t, trees, &possible);
        }
        print_message("%zu resources per node: of %u requests that fit, %u wait\n", trees, possible,
                      missed);
        assert_true(possible > 0);
        assert_int_equal(missed, 0);
    }
}

static int update_licenses(struct fixture *f, int64_t id, const char *licenses)
{
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    set.licenses = (char *)licenses;
    r.job_id = (uint32_t)id;
    r.set = &set;
    return fixture_update_job(f, &FIXTURE_ROOT, &r);
}

/* scontrol update job Licenses= of a running job, on its nodes. */
static void layers_of_a_running_job_change(void **state)
{
    struct fixture *f = make_fixture(CONF);
    (void)state;
    int64_t a = submit_job(f, "natural:60", 1, "node01"),
            b = submit_job(f, "natural:50", 1, "node02");
    assert_used(f, "natural", "node[01-16]:60 node[01-32]:50");
    assert_int_equal(update_licenses(f, b, "natural:40"), 0); /* it stays in its layer */
    assert_used(f, "natural", "node[01-16]:60 node[01-32]:40");
    assert_int_equal(update_licenses(f, a, "natural:101"), ERR_LICENSE);
    assert_used(f, "natural", "node[01-16]:60 node[01-32]:40");
    assert_int_equal(update_licenses(f, a, "natural:100,flat:12"), 0);
    assert_used(f, "natural", "node[01-16]:100 node[01-32]:40");
    assert_used(f, "flat", "node[01-08]:12 node[01-16]:12 node[01-32]:12");
    assert_int_equal(update_licenses(f, b, "flat:1"), ERR_LICENSE); /* node[01-08] is full */
    assert_int_equal(update_licenses(f, b, "power:full_node"), 0);
    assert_used(f, "natural", "node[01-16]:100");
    assert_used(f, "power", "node[01-08]:1000 node[01-16]:1000 node[01-32]:1000");
    fixture_restart(f);
    register_all(f);
    assert_used(f, "natural", "node[01-16]:100");
    assert_used(f, "power", "node[01-08]:1000 node[01-16]:1000 node[01-32]:1000");
    end_script(f, a);
    end_script(f, b);
    assert_used(f, "natural", "");
    assert_used(f, "flat", "");
    assert_used(f, "power", "");
    fixture_free(f);
}

/* A rejected change leaves a job the value that a variable had at its start. */
static void refused_change_of_licenses_changes_nothing(void **state)
{
    struct fixture *f = make_fixture(CONF);
    (void)state;
    int64_t a = submit_job(f, "power:full_node", 1, "node01");
    assert_int_equal(update_licenses(f, a, "power:90000"), ERR_LICENSE);
    assert_int_equal(update_licenses(f, a, "power:none"), ERR_LICENSE);
    fixture_reconfigure(f, HEAD "HresConf=power Mode=MODE_3 Variables=full_node:7\n"
                                "HresConf=power Nodes=node[01-32] Count=3000\n");
    fixture_restart(f);
    register_all(f);
    assert_used(f, "power", "node[01-32]:1000");
    fixture_free(f);
}

/* slurm.conf(5), reclaim_licenses: layers are reclaimed, too, from the layers with a shortage. */
static void layers_are_reclaimed(void **state)
{
    struct fixture *f =
        make_fixture("NodeName=node[01-32] CPUs=8 RealMemory=4000\nSlurmdTimeout=0\n"
                     "PartitionName=a Nodes=ALL Default=YES\n"
                     "PartitionName=top Nodes=node[01-16] PriorityTier=2\n"
                     "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
                     "PreemptParameters=reclaim_licenses\n" FLAT);
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    (void)state;
    int64_t a = submit_job(f, "flat:12", 1, "node01"), b = submit_job(f, "flat:4", 1, "node09");
    int64_t c = submit_job(f, "flat:1", 1, "node17");
    s.licenses = (char *)"flat:9";
    s.partition = (char *)"top";
    s.req_nodes = (char *)"node02";
    int64_t top = fixture_submit(f, &FIXTURE_USER, &s);
    assert_int_equal(fixture_state(f, (uint32_t)a), PB__JOB_STATE__PREEMPTED);
    fixture_gone(f, "node01", (uint32_t)a, 0);
    assert_runs(f, b);
    assert_runs(f, c);
    assert_runs(f, top);
    assert_used(f, "flat",
                "node[01-08]:9 node[09-16]:4 node[17-24]:1 node[01-16]:13 node[17-32]:1 "
                "node[01-32]:14");
    fixture_free(f);
}

/* Sets licences as an operator; "": none. Returns the code of the reply. */
static int set_licenses(struct fixture *f, int64_t id, const char *offset, const char *licenses)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = (uint32_t)id;
    r.has_set_offset = offset != NULL;
    r.set_offset = offset ? (uint32_t)strtoul(offset, NULL, 10) : 0;
    r.set = &set;
    set.licenses = (char *)licenses;
    return fixture_update_job(f, &FIXTURE_ROOT, &r);
}

#define SET_LICENSES "Licenses=a:4\nSchedulerParameters=requeue_delay=0\n"

/* One component of a heterogeneous job uses layers, possibly as an alternative; also when its
 * licences are changed while it waits or runs. */
static void only_one_component_may_use_layers(void **state)
{
    struct fixture *f = make_fixture(SET_LICENSES CONF);
    Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 1)};
    (void)state;
    specs[0].has_hold = specs[0].hold = specs[1].has_hold = specs[1].hold = true;
    int64_t id = fixture_submit_set(f, &FIXTURE_USER, specs, 2);
    assert_int_equal(set_licenses(f, id, NULL, "flat:2"), ERR_NOT_SUPPORTED);
    assert_int_equal(set_licenses(f, id, NULL, "a|flat"), ERR_NOT_SUPPORTED);
    assert_int_equal(set_licenses(f, id, "1", "a|a:2"), 0);
    assert_int_equal(set_licenses(f, id, "1", "flat:2"), 0);
    assert_int_equal(set_licenses(f, id, "0", "natural"), ERR_NOT_SUPPORTED);
    assert_int_equal(set_licenses(f, id, "0", "a"), 0);
    Pb__JobUpdate release = PB__JOB_UPDATE__INIT;
    release.job_id = (uint32_t)id;
    release.has_hold = true;
    assert_int_equal(fixture_update_job(f, &FIXTURE_ROOT, &release), 0);
    fixture_expect_set(f, id, "R R");
    assert_used(f, "flat", "node[01-08]:2 node[01-16]:2 node[01-32]:2");
    assert_int_equal(set_licenses(f, id, "0", "natural"), ERR_NOT_SUPPORTED);
    assert_used(f, "natural", "");
    assert_int_equal(set_licenses(f, id, "0", "a:9|a:2"), 0);
    assert_int_equal(set_licenses(f, id, "1", "a:2"), 0);
    assert_used(f, "flat", "");
    assert_int_equal(set_licenses(f, id, "0", "natural"), 0);
    assert_used(f, "natural", "node[01-16]:1");
    fixture_free(f);
}

/* A licence that several components hold becomes a resource with layers: the set waits, because no
 * start could count both. */
static void set_waits_when_its_licenses_get_layers(void **state)
{
    struct fixture *f = make_fixture(SET_LICENSES HEAD);
    Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 1)};
    Pb__JobUpdate release = PB__JOB_UPDATE__INIT;
    (void)state;
    specs[0].has_hold = specs[0].hold = specs[1].has_hold = specs[1].hold = true;
    specs[0].licenses = specs[1].licenses = (char *)"a:2";
    int64_t id = fixture_submit_set(f, &FIXTURE_USER, specs, 2);
    fixture_reconfigure(f, HEAD "HresConf=a Mode=MODE_1\nHresConf=a Nodes=node[01-02] Count=3\n"
                                "HresConf=a Nodes=node[01-32] Count=8\n");
    release.job_id = (uint32_t)id;
    release.has_hold = true;
    assert_int_equal(fixture_update_job(f, &FIXTURE_ROOT, &release), 0);
    fixture_expect_set(f, id, "PD PD");
    assert_waits(f, id);
    assert_used(f, "a", "");
    fixture_reconfigure(f, SET_LICENSES HEAD);
    fixture_expect_set(f, id, "R R");
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_the_sample_file_are_applied),
        cmocka_unit_test(zero_and_unlimited_layers),
        cmocka_unit_test(ended_job_returns_its_layers),
        cmocka_unit_test(job_waiting_for_a_layer_delays_no_other_job),
        cmocka_unit_test(requeued_job_releases_and_requests_its_layers),
        cmocka_unit_test(paying_layer_is_kept_across_restart_and_reconfigure),
        cmocka_unit_test(counts_follow_a_changed_file),
        cmocka_unit_test(job_without_layers_holds_nothing),
        cmocka_unit_test(requeued_job_reads_its_variables_again),
        cmocka_unit_test(counts_are_changed_while_jobs_run),
        cmocka_unit_test(only_one_component_may_use_layers),
        cmocka_unit_test(set_waits_when_its_licenses_get_layers),
        cmocka_unit_test(large_request_has_a_planned_start),
        cmocka_unit_test(arrays_and_devices_of_a_job),
        cmocka_unit_test(layers_of_a_running_job_change),
        cmocka_unit_test(refused_change_of_licenses_changes_nothing),
        cmocka_unit_test(layers_are_reclaimed),
        cmocka_unit_test(placements_agree_with_exhaustive_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
