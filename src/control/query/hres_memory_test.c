/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a pass remembers of a job that waits for layers: it looks at the job again after each event
 * that may give the job more, and after those that take layers from it.
 */
#include <string.h>

#include "control/fixture.h"
#include "control/internal.h"
#include "control/life/resv_test_util.h"
#include "proto/license.pb-c.h"

#define HEAD                                                                                       \
    "NodeName=n[1-2] CPUs=4 RealMemory=4000 Feature=y,z\n"                                         \
    "NodeName=n[3-4] CPUs=4 RealMemory=4000 Feature=x,y\n"                                         \
    "PartitionName=a Nodes=ALL Default=YES\nSlurmdTimeout=0\nSelectTypeParameters=CR_Core\n"
#define LAYERS(mode, left, right)                                                                  \
    "HresConf=flat Mode=" mode "\nHresConf=flat Nodes=" left " Count=4\n"                          \
    "HresConf=flat Nodes=" right " Count=4\n"
#define HALVES LAYERS("MODE_2", "n[1-2]", "n[3-4]")
#define ROOT "HresConf=flat Nodes=n[1-4] Count="

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct world {
    struct fixture *f;
    int64_t holder, waits; /* jobs that need flat:3, and flat:2 */
    int64_t fill_sec;      /* time limit of jobs without layers */
};

static int64_t submit(struct world *w, const char *licenses, const char *node, uint32_t cpus,
                      const char *features)
{
    Pb__JobSpec s = fixture_spec(1, cpus);
    s.has_time_limit_sec = true;
    s.time_limit_sec = licenses ? 600 : w->fill_sec;
    s.licenses = (char *)licenses;
    s.req_nodes = (char *)node;
    s.features = (char *)features;
    int64_t id = fixture_submit(w->f, &FIXTURE_USER, &s);
    if (id <= 0)
        fail_msg("%s: not accepted: %lld", licenses ? licenses : node, (long long)id);
    return id;
}

static void assert_runs(struct world *w, int64_t id, const char *after)
{
    if (fixture_state(w->f, (uint32_t)id) != PB__JOB_STATE__RUNNING)
        fail_msg("after '%s' job %lld waits", after, (long long)id);
}

static void assert_reason(struct world *w, const char *reason)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(w->f, &arena, (uint32_t)w->waits)->live;
    assert_int_equal(live->state, PB__JOB_STATE__PENDING);
    assert_string_equal(live->reason, reason);
}

static const struct plan_note *find_note(const struct world *w)
{
    vec_foreach (&w->f->control->plan_notes.list, note)
        if (note->job_id == (uint32_t)w->waits)
            return note;
    fail_msg("nothing is noted of job %lld", (long long)w->waits);
    return NULL;
}

/* --- events that give the job more --------------------------------------------------------------
 */

static void end_holder(struct world *w)
{
    fixture_end(w->f, (uint32_t)w->holder, 0);
}

static void set_count(struct world *w, const char *nodes, uint64_t count)
{
    Pb__LicenseUpdate r = PB__LICENSE_UPDATE__INIT;
    r.name = (char *)"flat";
    r.nodes = (char *)nodes;
    r.has_count = true;
    r.count = count;
    control_license_update(w->f->control, ++w->f->last_call, &FIXTURE_ROOT, &r);
    fixture_turn(w->f);
    assert_int_equal(fixture_code(w->f, w->f->last_call), 0);
}

static void raise_half(struct world *w)
{
    set_count(w, "n[1-2]", 5);
}

static void raise_second_half(struct world *w)
{
    set_count(w, "n[3-4]", 5);
}

static void raise_in_file(struct world *w)
{
    fixture_reconfigure(w->f, HEAD "HresConf=flat Mode=MODE_2\nHresConf=flat Nodes=n[1-2] Count=4\n"
                                   "HresConf=flat Nodes=n[3-4] Count=5\n");
}

static void change_mode(struct world *w)
{
    fixture_reconfigure(w->f, HEAD LAYERS("MODE_1", "n[1-2]", "n[3-4]") ROOT "4\n");
}

static void move_node(struct world *w)
{
    fixture_reconfigure(w->f, HEAD LAYERS("MODE_2", "n1", "n[2-4]"));
}

/* The node becomes of the kind of n3 and n4. */
static void give_feature(struct world *w)
{
    struct caller root = FIXTURE_ROOT;
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    r.nodes = (char *)"n1";
    r.features = (char *)"x,y";
    r.active_features = (char *)"x,y";
    control_node_update(w->f->control, ++w->f->last_call, &root, &r);
    fixture_turn(w->f);
    assert_int_equal(fixture_code(w->f, w->f->last_call), 0);
}

/* CLOSED: layers have too little on all nodes that suit the job. */
enum noted { NOTHING, NO_FREE_NODE, CLOSED };

static const struct event {
    const char *name, *conf;
    const char *holds; /* node of the job that holds layers */
    const char *features;
    enum noted noted;
    void (*happen)(struct world *w);
} events[] = {
    {"a job ends", HEAD HALVES, "n3", "x", CLOSED, end_holder},
    {"a job ends beside full nodes", HEAD HALVES, "n1", NULL, NO_FREE_NODE, end_holder},
    {"a count rises", HEAD HALVES, "n3", "x", CLOSED, raise_second_half},
    {"a count rises beside full nodes", HEAD HALVES, "n1", NULL, NO_FREE_NODE, raise_half},
    {"another count in the file", HEAD HALVES, "n3", "x", CLOSED, raise_in_file},
    {"another mode", HEAD HALVES ROOT "4\n", "n3", NULL, NOTHING, change_mode},
    {"a node is of another layer", HEAD HALVES, "n1", NULL, NO_FREE_NODE, move_node},
    {"a node joins the kind", HEAD HALVES, "n3", "x", CLOSED, give_feature},
};

/* Other jobs lead to other passes, which remember the same. */
static void make_world(struct world *w, const struct event *e)
{
    *w = (struct world){.f = fixture_new_up(e->conf, 4), .fill_sec = 300};
    if (e->noted == NO_FREE_NODE) {
        submit(w, NULL, "n3", 4, NULL);
        submit(w, NULL, "n4", 4, NULL);
    }
    w->holder = submit(w, "flat:3", e->holds, 1, NULL);
    assert_runs(w, w->holder, "its submission");
    w->waits = submit(w, "flat:2", NULL, 1, e->features);
    submit(w, "flat:2", NULL, 1, e->features);
    assert_reason(w, e->noted == NO_FREE_NODE ? "Resources" : "Licenses");
    if (e->noted) {
        assert_true(find_note(w)->lacks_tied);
        assert_int_equal(find_note(w)->lacks_licenses, e->noted == CLOSED);
    }
}

static void a_job_is_looked_at_again_when_layers_have_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(events); i++) {
        struct world w;
        make_world(&w, &events[i]);
        events[i].happen(&w);
        assert_runs(&w, w.waits, events[i].name);
        fixture_free(w.f);
    }
}

/* --- events that close the gate, and open it again ----------------------------------------------
 */

static const struct event beside_full_nodes = {NULL, HEAD HALVES, "n1", NULL, NO_FREE_NODE, NULL};

/* The layer of the full nodes is the one with enough for the job. */
static void gate_closes_when_the_open_layer_has_less(void **state)
{
    struct world w;
    (void)state;
    make_world(&w, &beside_full_nodes);
    assert_true(find_note(&w)->open_changes);
    set_count(&w, "n[3-4]", 1);
    submit(&w, "flat:1", NULL, 1, NULL);
    assert_reason(&w, "Licenses");
    set_count(&w, "n[3-4]", 4);
    assert_reason(&w, "Resources");
    end_holder(&w);
    assert_runs(&w, w.waits, "the end of the job that holds the layer");
    fixture_free(w.f);
}

/* The job takes the layer that the full node has without anything becoming free. */
static void gate_closes_when_a_job_takes_the_layer(void **state)
{
    struct world w = {fixture_new_up(HEAD LAYERS("MODE_2", "n[1,3]", "n[2,4]"), 4),
                      .fill_sec = 600};
    (void)state;
    submit(&w, NULL, "n2", 4, NULL);
    w.holder = submit(&w, "flat:3", "n3", 1, NULL);
    w.waits = submit(&w, "flat:2", NULL, 1, "z");
    submit(&w, "flat:2", NULL, 1, "z");
    assert_reason(&w, "Resources");
    assert_true(find_note(&w)->lacks_tied && find_note(&w)->open_changes);
    int64_t taker = submit(&w, "flat:3", "n4", 1, NULL);
    assert_runs(&w, taker, "its submission");
    submit(&w, "flat:2", NULL, 1, "z");
    assert_reason(&w, "Licenses");
    fixture_end(w.f, (uint32_t)taker, 0);
    assert_reason(&w, "Resources");
    fixture_free(w.f);
}

/* A job before it has a planned start on the full nodes, with all that their layer has left. */
static void gate_closes_when_a_job_claims_the_layer(void **state)
{
    struct world w;
    Pb__JobSpec s = fixture_spec(1, 4);
    (void)state;
    make_world(&w, &beside_full_nodes);
    assert_true(find_note(&w)->open_changes);
    s.licenses = (char *)"flat:3";
    s.features = (char *)"x";
    s.has_time_limit_sec = s.has_priority = true;
    s.time_limit_sec = 600;
    s.priority = UINT32_MAX - 1;
    int64_t first = fixture_submit(w.f, &FIXTURE_ROOT, &s);
    assert_true(first > 0);
    assert_reason(&w, "Licenses");
    assert_int_equal(fixture_cancel(w.f, &FIXTURE_ROOT, first, NULL, 0), 0);
    submit(&w, "flat:2", NULL, 1, NULL);
    assert_reason(&w, "Resources");
    fixture_free(w.f);
}

static void gate_follows_reservations_of_layers(void **state)
{
    struct world w;
    (void)state;
    make_world(&w, &beside_full_nodes);
    resv_test_apply(w.f, "create name=r start=+0 length=600 users=ann flags=LICENSE_ONLY "
                         "licenses=flat(n[3-4]):3");
    assert_reason(&w, "Licenses");
    resv_test_apply(w.f, "remove name=r");
    assert_reason(&w, "Resources");
    resv_test_apply(w.f, "create name=r start=+0 length=60 users=ann flags=LICENSE_ONLY "
                         "licenses=flat(n[1-2]):1,flat(n[3-4]):3");
    end_holder(&w);
    assert_runs(&w, w.waits, "the end of the job beside the reservation");
    fixture_free(w.f);
}

/* The clock alone ends it. */
static void gate_opens_when_a_reservation_is_over(void **state)
{
    struct world w = {fixture_new_up(HEAD HALVES ROOT "4\n", 4), .fill_sec = 600};
    (void)state;
    resv_test_apply(w.f, "create name=r start=+0 length=60 users=ann flags=LICENSE_ONLY "
                         "licenses=flat(n[1-4]):3");
    w.waits = submit(&w, "flat:2", NULL, 1, NULL);
    assert_reason(&w, "Licenses");
    fixture_pass(w.f, 61000);
    assert_runs(&w, w.waits, "the end of the reservation");
    fixture_free(w.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_looked_at_again_when_layers_have_more),
        cmocka_unit_test(gate_closes_when_the_open_layer_has_less),
        cmocka_unit_test(gate_closes_when_a_job_takes_the_layer),
        cmocka_unit_test(gate_closes_when_a_job_claims_the_layer),
        cmocka_unit_test(gate_follows_reservations_of_layers),
        cmocka_unit_test(gate_opens_when_a_reservation_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
