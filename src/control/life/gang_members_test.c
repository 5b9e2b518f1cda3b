/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which jobs form one rotation: those of all partitions, those of a partition, and those that have
 * the same CPUs across partitions when GangOverlap becomes "no": GANG-07, GANG-27, GANG-31. */
#include <stdio.h>

#include "cluster/cluster.h"
#include "control/fixture.h"
#include "control/internal.h"
#include "proto/gang.pb-c.h"

#define SLICE_MS 30000
#define NODES "NodeName=n[1-5] Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000\n"
#define LINEAR "SelectType=select/linear\nSelectTypeParameters=CR_Memory\n"
#define COUNTED                                                                                    \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\nTaskPlugin=task/none\n"
#define GANG "PreemptMode=GANG\nSlurmdTimeout=0\n"
#define PARTS                                                                                      \
    NODES "PartitionName=a Nodes=ALL Default=YES OverSubscribe=FORCE:4 DefMemPerNode=100\n"        \
          "PartitionName=b Nodes=ALL OverSubscribe=FORCE:4 DefMemPerNode=100\n"                    \
          "PartitionName=c Nodes=ALL OverSubscribe=FORCE:4 DefMemPerNode=100\n"
#define TOGETHER GANG PARTS
#define APART GANG "GangOverlap=no\n" PARTS

static int64_t submit_job(struct fixture *f, const char *part, const char *node, uint32_t tasks)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = true;
    s.min_nodes = s.max_nodes = 1;
    s.partition = (char *)part;
    s.req_nodes = (char *)node;
    s.has_num_tasks = tasks > 0;
    s.num_tasks = tasks;
    int64_t id = fixture_submit(f, &FIXTURE_USER, &s);
    assert_true(id > 0);
    fixture_turn(f);
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

/* "1 3, 2 3": the jobs of each slot that is listed. The first one has those that run. */
static void expect_slots(struct fixture *f, const char *wanted)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str text = STR_INIT;
    arena_init(&arena, 0);
    const Pb__GangReply *reply = list_members(f, &arena);
    for (size_t i = 0; i < reply->n_slots; i++) {
        str_puts(&text, i ? ", " : "");
        for (size_t k = 0; k < reply->slots[i]->n_job_id; k++)
            str_printf(&text, "%s%u", k ? " " : "", reply->slots[i]->job_id[k]);
    }
    assert_string_equal(str_cstr(&text), wanted);
    for (size_t i = 0; i < reply->n_members; i++) {
        const Pb__GangMember *m = reply->members[i];
        assert_int_equal(m->runs, fixture_state(f, m->job_id) == PB__JOB_STATE__RUNNING);
    }
}

static void pass_slice(struct fixture *f)
{
    fixture_obey(f);
    fixture_pass(f, SLICE_MS);
    fixture_obey(f);
}

static void cancel_job(struct fixture *f, uint32_t id, const char *node)
{
    assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, id, NULL, 0), 0);
    fixture_gone(f, node, id, 0);
    fixture_turn(f);
    fixture_obey(f);
}

/* GANG-31: jobs of two partitions share a node and have CPUs of their own: what one partition has
 * is not counted against the jobs of the other one. */
static void slots_of_partitions_are_listed_apart(void **state)
{
    struct fixture *f = fixture_new_up(COUNTED APART, 5);
    (void)state;
    submit_job(f, "a", "n1", 4);
    submit_job(f, "b", "n1", 4);
    expect_slots(f, "1 2");
    submit_job(f, "a", "n1", 4);
    submit_job(f, "b", "n1", 4);
    submit_job(f, "b", "n1", 4);
    expect_slots(f, "1 2, 3 4, 1 5");
    pass_slice(f);
    expect_slots(f, "3 4, 1 5, 3 2");
    fixture_free(f);
}

/* GANG-27: with GangOverlap=no jobs of different partitions that have a node already go on taking
 * turns there; no other job joins them while jobs of both have it. */
static void jobs_with_the_same_node_take_turns_after_partitions_are_parted(void **state)
{
    struct fixture *f = fixture_new_up(LINEAR TOGETHER, 5);
    (void)state;
    submit_job(f, "a", "n1", 0);
    submit_job(f, "b", "n1", 0);
    submit_job(f, "b", "n2", 0);
    expect_slots(f, "1 3, 2 3");
    fixture_reconfigure(f, LINEAR APART);
    fixture_obey(f);
    expect_slots(f, "1 3, 2 3");
    submit_job(f, "a", "n1", 0);
    submit_job(f, "b", "n1", 0);
    submit_job(f, "a", "n2", 0);
    for (int64_t id = 4; id <= 6; id++)
        assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__PENDING);
    pass_slice(f);
    expect_slots(f, "2 3, 1 3");
    pass_slice(f);
    expect_slots(f, "1 3, 2 3");
    cancel_job(f, 1, "n1");
    expect_slots(f, "2 3, 5 3"); /* partitions are apart again: the node is of this one */
    cancel_job(f, 2, "n1");
    expect_slots(f, "3 5");
    cancel_job(f, 5, "n1");
    expect_slots(f, "4 3");
    fixture_free(f);
}

/* The other way round they share at once. */
static void partitions_share_after_gang_overlap_is_set(void **state)
{
    struct fixture *f = fixture_new_up(LINEAR APART, 5);
    (void)state;
    submit_job(f, "a", "n1", 0);
    submit_job(f, "b", "n1", 0);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__PENDING);
    fixture_reconfigure(f, LINEAR TOGETHER);
    fixture_turn(f);
    expect_slots(f, "1, 2");
    pass_slice(f);
    expect_slots(f, "2, 1");
    fixture_free(f);
}

/* A job that an operator has suspended does not come back to the CPUs of a job of another
 * partition, although it had shared them. */
static void job_is_not_resumed_beside_another_partition(void **state)
{
    struct fixture *f = fixture_new_up(LINEAR TOGETHER, 5);
    (void)state;
    submit_job(f, "a", "n1", 0);
    submit_job(f, "b", "n1", 0);
    fixture_obey(f);
    assert_int_equal(fixture_suspend(f, 1, false), 0);
    fixture_obey(f);
    expect_slots(f, "2");
    fixture_reconfigure(f, LINEAR APART);
    fixture_obey(f);
    assert_int_equal(fixture_suspend(f, 1, true), ERR_NODES_BUSY);
    cancel_job(f, 2, "n1");
    assert_int_equal(fixture_suspend(f, 1, true), 0);
    fixture_obey(f);
    expect_slots(f, "1");
    fixture_free(f);
}

/* Three partitions, two of them with a job on the same node as one of the third. */
static void partitions_are_joined_through_a_third_one(void **state)
{
    struct fixture *f = fixture_new_up(LINEAR TOGETHER, 5);
    (void)state;
    submit_job(f, "a", "n1", 0);
    submit_job(f, "c", "n1", 0);
    submit_job(f, "c", "n2", 0);
    submit_job(f, "b", "n2", 0);
    expect_slots(f, "1 3, 2 4");
    fixture_reconfigure(f, LINEAR APART);
    fixture_obey(f);
    expect_slots(f, "1 3, 2 4");
    pass_slice(f);
    expect_slots(f, "2 4, 1 3");
    cancel_job(f, 2, "n1");
    expect_slots(f, "1 4, 1 3"); /* each by itself */
    fixture_free(f);
}

/* GANG-27: CPUs that jobs of two partitions had belong to the partition of the job that is left. */
static void cpus_are_of_the_partition_whose_job_is_left(void **state)
{
    static const char *const selects[] = {LINEAR TOGETHER, LINEAR APART, COUNTED TOGETHER,
                                          COUNTED APART};
    (void)state;
    for (size_t i = 0; i < sizeof selects / sizeof *selects; i += 2)
        for (int last = 0; last < 2; last++) {
            static const char *const parts[] = {"a", "b"};
            struct fixture *f = fixture_new_up(selects[i], 5);
            submit_job(f, "a", "n1", i ? 8 : 0);
            submit_job(f, "b", "n1", i ? 8 : 0);
            fixture_reconfigure(f, selects[i + 1]);
            fixture_obey(f);
            cancel_job(f, last ? 1 : 2, "n1");
            submit_job(f, parts[!last], "n1", i ? 8 : 0);
            assert_int_equal(fixture_state(f, 3), PB__JOB_STATE__PENDING);
            submit_job(f, parts[last], "n1", i ? 8 : 0);
            expect_slots(f, last ? "2, 4" : "1, 4");
            fixture_free(f);
        }
}

/* A job that waits for one which is ending has its turn in a slot that is listed. */
static void slots_are_listed_while_a_job_is_ending(void **state)
{
    struct fixture *f = fixture_new_up(LINEAR TOGETHER, 5);
    (void)state;
    submit_job(f, "a", "n1", 0);
    submit_job(f, "b", "n1", 0);
    fixture_obey(f);
    fixture_launched(f, "n1", 1, 0);
    assert_int_equal(fixture_cancel(f, &FIXTURE_ROOT, 1, NULL, 0), 0);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, 2), PB__JOB_STATE__SUSPENDED);
    expect_slots(f, ", 2");
    fixture_free(f);
}

/* GANG-07: a unit that jobs of a deleted partition have left belongs to the partition of a job that
 * still has it, and the rotations are those of the partitions that are left. */
static void deleted_partition_leaves_its_units(void **state)
{
    struct fixture *f = fixture_new_up(COUNTED TOGETHER, 5);
    (void)state;
    submit_job(f, "b", "n1", 8);
    submit_job(f, "c", "n1", 8);
    fixture_reconfigure(f, COUNTED APART);
    fixture_obey(f);
    submit_job(f, "a", "n2", 8);
    cancel_job(f, 1, "n1");
    cancel_job(f, 3, "n2");
    struct cluster *c = f->control->cluster;
    cluster_remove_part(c, cluster_find_part(c, "b"));
    cluster_remove_part(c, cluster_find_part(c, "a"));
    const struct node *n = c->nodes.data[0];
    for (uint32_t i = 0; i < n->units; i++)
        assert_ptr_equal(n->use[i].part, cluster_find_part(c, "c"));
    submit_job(f, "c", "n1", 8);
    expect_slots(f, "2, 4");
    pass_slice(f);
    expect_slots(f, "4, 2");
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_of_partitions_are_listed_apart),
        cmocka_unit_test(jobs_with_the_same_node_take_turns_after_partitions_are_parted),
        cmocka_unit_test(partitions_share_after_gang_overlap_is_set),
        cmocka_unit_test(job_is_not_resumed_beside_another_partition),
        cmocka_unit_test(partitions_are_joined_through_a_third_one),
        cmocka_unit_test(cpus_are_of_the_partition_whose_job_is_left),
        cmocka_unit_test(slots_are_listed_while_a_job_is_ending),
        cmocka_unit_test(deleted_partition_leaves_its_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
