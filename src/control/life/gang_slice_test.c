/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One slice of gang scheduling in the controller, step by step: what the active set has, when the
 * timeslicer acts, the queue, the order of suspensions and resumptions: GANG-28, GANG-32 to
 * GANG-35, GANG-37. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "cluster/job/transition.h"
#include "control/fixture.h"
#include "proto/gang.pb-c.h"

#define SLICE_MS 30000
#define HEAD                                                                                       \
    "SelectType=select/linear\nSelectTypeParameters=CR_Memory\nPreemptMode=GANG\n"                 \
    "SlurmdTimeout=0\nNodeName=n[1-5] Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 "                \
    "RealMemory=8000\n"
#define ONE HEAD "PartitionName=one Nodes=ALL Default=YES OverSubscribe=FORCE DefMemPerNode=100\n"
#define TWO                                                                                        \
    HEAD "GangOverlap=no\n"                                                                        \
         "PartitionName=one Nodes=n[1-3] Default=YES OverSubscribe=FORCE DefMemPerNode=100\n"      \
         "PartitionName=two Nodes=n[4-5] OverSubscribe=FORCE DefMemPerNode=100\n"

static int64_t submit_job(struct fixture *f, const char *part, uint32_t nodes)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = true;
    s.min_nodes = s.max_nodes = nodes;
    s.partition = (char *)part;
    int64_t id = fixture_submit(f, &FIXTURE_USER, &s);
    assert_true(id > 0);
    return id;
}

static const Pb__GangReply *list_members(struct fixture *f, struct arena *arena)
{
    uint64_t call = ++f->last_call;
    control_list_gang(f->control, call, &FIXTURE_ROOT, NULL);
    vec_foreach (&f->replies, r)
        if (r->call == call)
            return arena_unpack(arena, &pb__gang_reply__descriptor, r->data.data, r->data.len);
    fail_msg("no reply");
    return NULL;
}

/* "2* 4 1": the queue of the partition, from its first member; those in the active set have a star.
 */
static void expect_queue(struct fixture *f, const char *part, const char *wanted)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str text = STR_INIT;
    arena_init(&arena, 0);
    const Pb__GangReply *reply = list_members(f, &arena);
    for (size_t i = 0; i < reply->n_members; i++)
        if (str_eq(reply->members[i]->partition, part))
            str_printf(&text, "%s%u%s", text.len ? " " : "", reply->members[i]->job_id,
                       reply->members[i]->runs ? "*" : "");
    assert_string_equal(str_cstr(&text), wanted);
}

static bool have_node_in_common(const char *one, const char *other)
{
    _cleanup_hostlist_ struct hostlist *a = NULL, *b = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    assert_int_equal(hostlist_parse(one, &a, NULL), 0);
    assert_int_equal(hostlist_parse(other, &b, NULL), 0);
    for (size_t i = 0; i < hostlist_count(a); i++)
        if (hostlist_find(b, hostlist_nth(a, i, name)) >= 0)
            return true;
    return false;
}

/* The members are all jobs that have nodes, with these nodes; those in the active set are those
 * that run, and no node is of two of them; what waits has no room beside them. */
static void check_active_sets(struct fixture *f, int64_t last)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__GangReply *reply = list_members(f, &arena);
    size_t with_nodes = 0;
    for (uint32_t id = 1; id <= last; id++) {
        Pb__JobState state = fixture_state(f, id);
        with_nodes += state == PB__JOB_STATE__RUNNING || state == PB__JOB_STATE__SUSPENDED;
    }
    assert_int_equal(reply->n_members, with_nodes);
    for (size_t i = 0; i < reply->n_members; i++) {
        const Pb__GangMember *m = reply->members[i];
        const Pb__JobRecord *job = fixture_job(f, &arena, m->job_id);
        bool is_blocked = false;
        assert_string_equal(m->nodes, job->live->nodes);
        assert_int_equal(m->runs, job->live->state == PB__JOB_STATE__RUNNING);
        for (size_t k = 0; k < reply->n_members; k++)
            is_blocked = is_blocked || (k != i && reply->members[k]->runs &&
                                        have_node_in_common(m->nodes, reply->members[k]->nodes));
        assert_int_equal(is_blocked, !m->runs);
    }
}

static void pass_slice(struct fixture *f)
{
    fixture_obey(f);
    fixture_pass(f, SLICE_MS);
    fixture_obey(f);
}

/* GANG-28. */
static void active_set_lists_the_running_jobs(void **state)
{
    static const uint32_t sizes[] = {2, 3, 1, 2, 1};
    struct fixture *f = fixture_new_up(TWO, 5);
    (void)state;
    for (int64_t id = 1; id <= 5; id++) {
        submit_job(f, id == 4 ? "two" : "one", sizes[id - 1]);
        check_active_sets(f, id);
    }
    submit_job(f, "two", 1);
    expect_queue(f, "one", "1* 2 3* 5");
    expect_queue(f, "two", "4* 6");
    for (int i = 0; i < 4; i++) {
        pass_slice(f);
        check_active_sets(f, 6);
    }
    expect_queue(f, "two", "4* 6");
    assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, 4, NULL, 0), 0);
    fixture_gone(f, "n4", 4, 0);
    fixture_gone(f, "n5", 4, 0);
    fixture_turn(f);
    check_active_sets(f, 6);
    expect_queue(f, "two", "6*");
    fixture_free(f);
}

static size_t count_halts(const struct fixture *f)
{
    size_t count = 0;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; i < (*at)->orders->n_orders; i++)
            count += (*at)->orders->orders[i]->halt != NULL;
    return count;
}

/* GANG-32: while nobody waits no slice ends: no order, nothing stored, no need to wake up. Then it
 * acts when the slice is over, and not before, in the partition of the job that waits alone. */
static void timeslicer_acts_when_a_job_waits(void **state)
{
    struct fixture *f = fixture_new_up(TWO, 5);
    (void)state;
    submit_job(f, "one", 2);
    submit_job(f, "one", 1);
    submit_job(f, "two", 2);
    fixture_obey(f);
    fixture_pass(f, 1000);
    size_t puts = f->puts;
    for (int i = 0; i < 10; i++)
        fixture_pass(f, SLICE_MS);
    assert_int_equal(count_halts(f), 0);
    assert_int_equal(f->puts, puts);
    submit_job(f, "one", 3);
    expect_queue(f, "one", "1* 2* 4");
    fixture_obey(f);
    assert_true(f->wake_ms <= f->mono_ms + SLICE_MS);
    fixture_pass(f, SLICE_MS - 1);
    assert_int_equal(count_halts(f), 0);
    fixture_pass(f, 1);
    assert_true(count_halts(f) > 0);
    fixture_obey(f);
    expect_queue(f, "one", "4* 1 2");
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, 4, NULL, 0), 0);
    for (unsigned n = 1; n <= 3; n++) {
        char name[4];
        snprintf(name, sizeof name, "n%u", n);
        fixture_gone(f, name, 4, 0);
    }
    fixture_turn(f);
    fixture_obey(f);
    expect_queue(f, "one", "1* 2*");
    for (int i = 0; i < 10; i++)
        fixture_pass(f, SLICE_MS);
    assert_int_equal(count_halts(f), 0); /* no job waits for its turn */
    fixture_free(f);
}

/* GANG-33: those that run go to the end of the queue, in their order. GANG-34: the active set is
 * built anew from the job that has waited longest, and then with each next one that fits beside
 * those that were chosen. */
static void queue_is_listed_in_each_slice(void **state)
{
    static const uint32_t sizes[] = {3, 5, 2, 3, 2};
    static const char *const queues[] = {"1* 2 3* 4 5", "2* 4 5 1 3", "4* 5* 1 3 2", "1* 3* 2 4 5",
                                         "2* 4 5 1 3"};
    struct fixture *f = fixture_new_up(ONE, 5);
    (void)state;
    for (size_t i = 0; i < 5; i++)
        submit_job(f, NULL, sizes[i]);
    expect_queue(f, "one", queues[0]);
    for (size_t i = 1; i < 5; i++) {
        pass_slice(f);
        expect_queue(f, "one", queues[i]);
        if (i == 2) { /* it is on disk */
            fixture_restart(f);
            for (unsigned n = 1; n <= 5; n++) {
                char name[4];
                snprintf(name, sizeof name, "n%u", n);
                fixture_register(f, name, "i1");
            }
            fixture_turn(f);
            expect_queue(f, "one", queues[i]);
        }
    }
    fixture_free(f);
}

/* "1:R>S 2:S>R": what has happened to jobs since this was last called; 'since' moves on. */
static void expect_transitions(struct fixture *f, uint64_t *since, const char *wanted)
{
    static const char *const words[] = {"PD", "R", "S", "CD", "CA"};
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str text = STR_INIT;
    Pb__EventRequest r = PB__EVENT_REQUEST__INIT;
    const Pb__EventList *list = NULL;
    uint64_t call = ++f->last_call;
    arena_init(&arena, 0);
    r.has_since = *since > 0;
    r.since = *since;
    control_events(f->control, call, &FIXTURE_ROOT, &r);
    fixture_turn(f);
    vec_foreach (&f->replies, reply)
        if (reply->call == call && reply->code == 0)
            list = arena_unpack(&arena, &pb__event_list__descriptor, reply->data.data,
                                reply->data.len);
    assert_non_null(list);
    for (size_t i = 0; i < list->n_events; i++) {
        const Pb__Event *e =
            arena_unpack(&arena, &pb__event__descriptor, list->events[i].data, list->events[i].len);
        if (e->job && e->job->from != e->job->to && e->job->to < 5)
            str_printf(&text, "%s%u:%s>%s", text.len ? " " : "", e->job->job_id,
                       words[e->job->from], words[e->job->to]);
        if (e->job && e->job->to == PB__JOB_STATE__SUSPENDED)
            assert_int_equal(e->job->cause, CAUSE_SUSPENSION);
    }
    *since = list->next;
    assert_string_equal(str_cstr(&text), wanted);
}

/* GANG-35: all that lose their turn are suspended before another job is resumed. */
static void jobs_are_suspended_before_others_are_resumed(void **state)
{
    static const uint32_t sizes[] = {3, 5, 2};
    struct fixture *f = fixture_new_up(ONE, 5);
    uint64_t since = 0;
    (void)state;
    expect_transitions(f, &since, "");
    for (size_t i = 0; i < 3; i++)
        submit_job(f, NULL, sizes[i]);
    expect_queue(f, "one", "1* 2 3*");
    expect_transitions(f, &since, "1:PD>R 2:PD>R 2:R>S 3:PD>R");
    pass_slice(f);
    expect_transitions(f, &since, "1:R>S 3:R>S 2:S>R");
    pass_slice(f);
    expect_transitions(f, &since, "2:R>S 1:S>R 3:S>R");
    fixture_free(f);
}

/* "stop 1, go 2, ": the orders to the node about the job since the last clear. */
static void put_orders(const struct fixture *f, const char *node, int64_t id, struct str *out)
{
    vec_foreach (&f->orders, at)
        for (size_t i = 0; strcmp((*at)->node, node) == 0 && i < (*at)->orders->n_orders; i++) {
            const Pb__Halt *m = (*at)->orders->orders[i]->halt;
            if (m && m->job_id == id)
                str_printf(out, "%s %u, ", m->stop ? "stop" : "go", m->number);
        }
}

static const Pb__JobLive *look_at_job(struct fixture *f, struct arena *arena, uint32_t id)
{
    return fixture_job(f, arena, id)->live;
}

/* A job runs for a slice, is suspended for one, runs on, and ends: by orders of an operator, or by
 * turns with a second job. Returns the orders to the node and the records. */
static void put_life(bool by_gang, struct str *out)
{
    struct fixture *f = fixture_new_up(ONE, 5);
    uint64_t since = 0;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    expect_transitions(f, &since, "");
    submit_job(f, NULL, 5);
    if (by_gang)
        submit_job(f, NULL, 5);
    fixture_launched(f, "n1", 1, 0);
    fixture_obey(f);
    fixture_pass(f, SLICE_MS);
    if (!by_gang)
        assert_int_equal(fixture_suspend(f, 1, false), 0);
    put_orders(f, "n1", 1, out);
    fixture_obey(f);
    const Pb__JobLive *l = look_at_job(f, &arena, 1);
    str_printf(out, "state %d, ran %d s; ", (int)l->state, (int)(l->ran_ms / 1000));
    fixture_pass(f, SLICE_MS);
    fixture_obey(f);
    if (!by_gang)
        assert_int_equal(fixture_suspend(f, 1, true), 0);
    fixture_obey(f);
    l = look_at_job(f, &arena, 1);
    str_printf(out, "state %d, suspended %d s; ", (int)l->state, (int)l->suspended_sec);
    expect_transitions(
        f, &since, by_gang ? "1:PD>R 2:PD>R 2:R>S 1:R>S 2:S>R 2:R>S 1:S>R" : "1:PD>R 1:R>S 1:S>R");
    fixture_batch_ended(f, "n1", 1, 0, 0);
    for (unsigned n = 1; n <= 5; n++) {
        char name[4];
        snprintf(name, sizeof name, "n%u", n);
        fixture_gone(f, name, 1, 0);
    }
    fixture_turn(f);
    l = look_at_job(f, &arena, 1);
    str_printf(out, "state %d, suspended %d s", (int)l->state, (int)l->suspended_sec);
    fixture_free(f);
}

/* GANG-37: a job that loses its turn goes the way of scontrol suspend and resume: the same orders
 * to its nodes, states, times, and time suspended in what accounting is told. */
static void turn_ends_as_by_scontrol_suspend(void **state)
{
    _cleanup_str_ struct str by_gang = STR_INIT, by_hand = STR_INIT;
    (void)state;
    put_life(true, &by_gang);
    put_life(false, &by_hand);
    assert_string_equal(str_cstr(&by_gang), str_cstr(&by_hand));
    assert_string_equal(str_cstr(&by_hand), "stop 1, state 2, ran 30 s; state 1, suspended 30 s; "
                                            "state 3, suspended 30 s");
}

/* Dynamic nodes and edits of the file may be more frequent than switches. */
static void slice_continues_across_reconfigurations(void **state)
{
    struct fixture *f = fixture_new_up(ONE, 5);
    (void)state;
    submit_job(f, "one", 5);
    submit_job(f, "one", 5);
    fixture_obey(f);
    for (int i = 0; i < 3; i++) {
        expect_queue(f, "one", "1* 2");
        fixture_pass(f, SLICE_MS / 3);
        fixture_reconfigure(f, ONE);
        fixture_turn(f);
    }
    expect_queue(f, "one", "2* 1");
    fixture_reconfigure(f, "SchedulerTimeSlice=5\n" ONE);
    fixture_obey(f);
    fixture_pass(f, 5000);
    expect_queue(f, "one", "1* 2");
    fixture_free(f);
}

static void register_all(struct fixture *f)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
    for (size_t i = 0; i < 5; i++)
        fixture_register(f, names[i], "i1");
}

static void restart_and_register(struct fixture *f)
{
    fixture_restart(f);
    register_all(f);
    fixture_turn(f);
}

/* Controllers may start more often than slices end: a restart does not extend a slice. */
static void slice_continues_across_restarts(void **state)
{
    struct fixture *f = fixture_new_up(ONE, 5);
    (void)state;
    submit_job(f, "one", 5);
    submit_job(f, "one", 5);
    fixture_obey(f);
    for (int i = 0; i < 3; i++) {
        expect_queue(f, "one", "1* 2");
        fixture_pass(f, SLICE_MS / 3);
        if (i < 2)
            restart_and_register(f);
    }
    expect_queue(f, "one", "2* 1");
    fixture_obey(f);
    fixture_pass(f, SLICE_MS - 1);
    restart_and_register(f);
    expect_queue(f, "one", "2* 1");
    fixture_pass(f, 1);
    expect_queue(f, "one", "1* 2");
    fixture_free(f);
}

/* The end is compared with the monotonic clock, or after a reboot with the wall clock. No job waits
 * longer than a slice, even if the wall clock was set back. */
static void slice_that_is_over_at_the_start_ends_at_once(void **state)
{
    static const struct {
        int64_t down_ms, set_ms; /* how long no controller runs; by how much the clock is set */
        bool boots;
        const char *then, *later; /* after the restart, and a slice later */
    } cases[] = {{SLICE_MS - 1000, 0, false, "1* 2", "2* 1"},
                 {SLICE_MS + 1000, 0, false, "2* 1", "1* 2"},
                 {SLICE_MS - 1000, 100000, false, "1* 2", "2* 1"},
                 {SLICE_MS - 1000, 0, true, "1* 2", "2* 1"},
                 {SLICE_MS + 1000, 0, true, "2* 1", "1* 2"},
                 {1000, -500000, true, "1* 2", "2* 1"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = fixture_new_up(ONE, 5);
        submit_job(f, "one", 5);
        submit_job(f, "one", 5);
        fixture_obey(f);
        f->mono_ms += cases[i].down_ms;
        f->wall_ms += cases[i].down_ms + cases[i].set_ms;
        f->boot += cases[i].boots;
        f->mono_ms = cases[i].boots ? 5000 : f->mono_ms;
        restart_and_register(f);
        expect_queue(f, "one", cases[i].then);
        pass_slice(f);
        expect_queue(f, "one", cases[i].later);
        fixture_free(f);
    }
}

/* While no job waits no slice ends, and none that ended before is taken for one that is over. */
static void job_that_waits_later_waits_for_a_slice(void **state)
{
    struct fixture *f = fixture_new_up(ONE, 5);
    (void)state;
    submit_job(f, "one", 5);
    submit_job(f, "one", 5);
    fixture_obey(f);
    assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, 2, NULL, 0), 0);
    for (unsigned n = 1; n <= 5; n++) {
        char name[4];
        snprintf(name, sizeof name, "n%u", n);
        fixture_gone(f, name, 2, 0);
    }
    fixture_turn(f);
    expect_queue(f, "one", "1*");
    fixture_pass(f, SLICE_MS);
    restart_and_register(f);
    submit_job(f, "one", 5);
    fixture_obey(f);
    fixture_pass(f, SLICE_MS - 1);
    expect_queue(f, "one", "1* 3");
    fixture_pass(f, 1);
    expect_queue(f, "one", "3* 1");
    fixture_free(f);
}

/* The shares that are listed count full seconds, as squeue does: no second is lost in rounding. */
static void job_that_was_never_suspended_has_all_of_its_time(void **state)
{
    struct fixture *f = fixture_new(ONE);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    register_all(f);
    fixture_pass(f, 500);
    uint32_t id = (uint32_t)submit_job(f, "one", 5);
    fixture_obey(f);
    for (int i = 0; i < 10; i++) {
        fixture_pass(f, 300);
        const Pb__GangMember *m = list_members(f, &arena)->members[0];
        assert_int_equal(m->suspended_sec, 0);
        assert_int_equal(m->run_sec,
                         f->wall_ms / 1000 - fixture_job(f, &arena, id)->live->start_at);
    }
    fixture_free(f);
}

/* HET-104: a heterogeneous job is listed once, with the nodes of all components, whether it takes
 * turns or not; then with the reason. After GangHet=yes it goes on as it was started. */
static void set_is_listed_with_all_of_its_nodes(void **state)
{
    struct fixture *f = fixture_new(ONE);
    Pb__JobSpec specs[] = {PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT};
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    register_all(f);
    for (size_t i = 0; i < 2; i++) {
        specs[i].has_min_nodes = true;
        specs[i].min_nodes = (uint32_t)i + 2;
    }
    assert_int_equal(fixture_submit_set(f, &FIXTURE_USER, specs, 2), 1);
    fixture_turn(f);
    const Pb__GangReply *gang = list_members(f, &arena);
    assert_int_equal(gang->n_members, 0);
    assert_int_equal(gang->n_alone, 1);
    assert_int_equal(gang->alone[0]->job_id, 1);
    assert_string_equal(gang->alone[0]->nodes, "n[1-5]");
    assert_string_equal(gang->alone[0]->reason, "the job is heterogeneous, and GangHet=no");
    fixture_reconfigure(f, "GangHet=yes\n" ONE);
    assert_string_equal(list_members(f, &arena)->alone[0]->reason,
                        "the job is heterogeneous, and was started with GangHet=no");
    fixture_free(f);
    f = fixture_new("GangHet=yes\n" ONE);
    register_all(f);
    assert_int_equal(fixture_submit_set(f, &FIXTURE_USER, specs, 2), 1);
    fixture_turn(f);
    gang = list_members(f, &arena);
    assert_int_equal(gang->n_members, 1);
    assert_int_equal(gang->n_alone, 0);
    assert_string_equal(gang->members[0]->nodes, "n[1-5]");
    assert_string_equal(gang->members[0]->name, "1");
    fixture_free(f);
}

/* A component of a partition whose jobs share with nobody speaks for no other component; a job that
 * asked to be alone is not listed. */
static void job_is_listed_when_its_partition_would_let_it_share(void **state)
{
    static const char parts[] =
        HEAD "PartitionName=no Nodes=n[1-2] Default=YES\n"
             "PartitionName=force Nodes=n[3-4] OverSubscribe=FORCE DefMemPerNode=100\n"
             "PartitionName=yes Nodes=n5 OverSubscribe=YES DefMemPerNode=100\n";
    struct fixture *f = fixture_new(parts);
    Pb__JobSpec specs[] = {PB__JOB_SPEC__INIT, PB__JOB_SPEC__INIT}, own = PB__JOB_SPEC__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    register_all(f);
    specs[0].partition = (char *)"no";
    specs[1].partition = (char *)"force";
    assert_int_equal(fixture_submit_set(f, &FIXTURE_USER, specs, 2), 1);
    own.partition = (char *)"yes";
    own.has_exclusive = own.exclusive = own.has_oversubscribe = own.oversubscribe = true;
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &own), 3);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__RUNNING);
    const Pb__GangReply *gang = list_members(f, &arena);
    assert_int_equal(gang->n_alone, 1);
    assert_int_equal(gang->alone[0]->job_id, 1);
    assert_string_equal(gang->alone[0]->reason, "the job is heterogeneous, and GangHet=no");
    fixture_free(f);
}

/* As squeue names them. */
static void elements_of_an_array_are_listed_by_their_names(void **state)
{
    struct fixture *f = fixture_new_up(ONE, 5);
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    s.has_min_nodes = true;
    s.min_nodes = 5;
    s.array_inx = (char *)"3,5";
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), 1);
    fixture_turn(f);
    const Pb__GangReply *gang = list_members(f, &arena);
    assert_int_equal(gang->n_members, 2);
    assert_string_equal(gang->members[0]->name, "1_3");
    assert_string_equal(gang->members[1]->name, "1_5");
    assert_int_not_equal(gang->members[0]->job_id, gang->members[1]->job_id);
    fixture_free(f);
}

/* To distinguish a partition without such jobs from one that does not exist. */
static void rotation_lists_every_partition(void **state)
{
    struct fixture *f = fixture_new(TWO);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    const Pb__GangReply *gang = list_members(f, &arena);
    assert_int_equal(gang->n_members, 0);
    assert_int_equal(gang->n_partitions, 2);
    assert_string_equal(gang->partitions[0], "one");
    assert_string_equal(gang->partitions[1], "two");
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotation_lists_every_partition),
        cmocka_unit_test(elements_of_an_array_are_listed_by_their_names),
        cmocka_unit_test(active_set_lists_the_running_jobs),
        cmocka_unit_test(timeslicer_acts_when_a_job_waits),
        cmocka_unit_test(queue_is_listed_in_each_slice),
        cmocka_unit_test(job_that_was_never_suspended_has_all_of_its_time),
        cmocka_unit_test(set_is_listed_with_all_of_its_nodes),
        cmocka_unit_test(job_is_listed_when_its_partition_would_let_it_share),
        cmocka_unit_test(jobs_are_suspended_before_others_are_resumed),
        cmocka_unit_test(slice_continues_across_reconfigurations),
        cmocka_unit_test(slice_continues_across_restarts),
        cmocka_unit_test(slice_that_is_over_at_the_start_ends_at_once),
        cmocka_unit_test(job_that_waits_later_waits_for_a_slice),
        cmocka_unit_test(turn_ends_as_by_scontrol_suspend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
