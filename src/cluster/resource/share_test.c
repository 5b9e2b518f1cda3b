/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which jobs may share units, and which units become free when a job ends. */
#include "cluster/cluster_test_util.h"
#include "cluster/part_change.h"

static const char conf[] = CONS "NodeName=a,b CPUs=4 RealMemory=1000\n"
                                "PartitionName=no Nodes=ALL\n"
                                "PartitionName=yes Nodes=ALL OverSubscribe=YES:2\n"
                                "PartitionName=force Nodes=ALL OverSubscribe=FORCE:3\n"
                                "PartitionName=one Nodes=ALL OverSubscribe=FORCE:1\n"
                                "PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE\n";

static void sharing_follows_from_partition_and_option(void **state)
{
    static const struct {
        const char *words;
        bool exclusive, shared;
    } v[] = {
        {"p=no", false, false},          {"p=no share", false, false},
        {"p=no exclusive", true, false}, {"p=yes", false, false},
        {"p=yes share", false, true},    {"p=yes exclusive share", true, false},
        {"p=force", false, true},        {"p=force exclusive", true, true},
        {"p=whole", true, false},        {"p=whole share", true, false},
        {"p=one exclusive", true, true},
    };
    struct cluster *c = test_cluster(conf);
    for (size_t i = 0; i < COUNT(v); i++) {
        struct job *j = test_job(c, (uint32_t)i + 1, v[i].words);
        if (j->want.exclusive != v[i].exclusive || j->want.shared != v[i].shared)
            fail_msg("%s: exclusive %d, shared %d", v[i].words, j->want.exclusive, j->want.shared);
    }
    test_cluster_free(c);
}

static struct job *run_job(struct cluster *c, uint32_t id, const char *words, uint32_t units)
{
    struct job *j = test_job(c, id, words);
    struct err err = {0};
    job_load_state(c, j, PB__JOB_STATE__RUNNING);
    if (alloc_take(c, j, 0, units, 0, &err) != 0)
        fail_msg("job %u: %s", id, err.text);
    test_sound(c);
    return j;
}

static void assert_job_refused(struct cluster *c, uint32_t id, const char *words, uint32_t units)
{
    struct job *j = test_job(c, id, words);
    assert_int_equal(alloc_take(c, j, 0, units, 0, NULL), -ERR_NODES_BUSY);
    test_sound(c);
    cluster_remove_job(c, j);
}

static void end_job(struct cluster *c, struct job *j)
{
    alloc_clear(c, j);
    job_load_state(c, j, PB__JOB_STATE__COMPLETED);
    test_sound(c);
}

static void units_are_shared_by_as_many_jobs_as_configured(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct node *n = c->nodes.data[0];
    struct job *x = run_job(c, 1, "p=force", 3), *y = run_job(c, 2, "p=force", 3);
    /* The free unit first, then units with one job. */
    assert_int_equal(n->free_units, 0);
    assert_int_equal(bitset_count(attempt_of(y)->alloc.data[0].busy), 3);
    assert_true(bitset_test(attempt_of(y)->alloc.data[0].busy, 3));
    struct job *z = run_job(c, 3, "p=force", 4);
    assert_int_equal(n->use[0].jobs, 3);
    assert_int_equal(n->use[3].jobs, 2);
    assert_job_refused(c, 4, "p=force", 3); /* two may have a third job */
    struct job *w = run_job(c, 4, "p=force", 2);
    assert_job_refused(c, 5, "p=force", 1);
    assert_job_refused(c, 5, "p=yes share", 1); /* the unit belongs to another partition */
    assert_job_refused(c, 5, "p=no", 1);
    end_job(c, x);
    assert_int_equal(n->free_units, 0);
    end_job(c, z);
    end_job(c, y);
    assert_int_equal(n->free_units, 2);
    end_job(c, w);
    assert_int_equal(n->free_units, 4);
    assert_null(n->use);
    test_cluster_free(c);
}

static void job_without_sharing_has_its_units_alone(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *x = run_job(c, 1, "p=yes", 2), *y = run_job(c, 2, "p=yes share", 2);
    assert_job_refused(c, 3, "p=yes", 1);
    assert_job_refused(c, 3, "p=yes share", 3);
    struct job *z = run_job(c, 3, "p=yes share", 2);
    assert_true(bitset_equal(attempt_of(y)->alloc.data[0].busy, attempt_of(z)->alloc.data[0].busy));
    assert_job_refused(c, 4, "p=whole", 4);
    end_job(c, x);
    assert_int_equal(c->nodes.data[0]->free_units, 2);
    struct job *w = run_job(c, 4, "p=no", 2);
    end_job(c, y);
    end_job(c, z);
    assert_int_equal(c->nodes.data[0]->free_units, 2);
    end_job(c, w);
    struct job *all = run_job(c, 5, "p=whole", 4);
    assert_job_refused(c, 6, "p=force", 1);
    end_job(c, all);
    run_job(c, 6, "p=one", 4);
    assert_job_refused(c, 7, "p=one", 1); /* one job per unit: not shared */
    test_cluster_free(c);
}

static void changed_sharing_applies_to_pending_jobs(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *running = run_job(c, 1, "p=force", 4), *waits = test_job(c, 2, "p=force");
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    struct err err = {0};
    set.name = "force";
    set.share = "FORCE:many";
    assert_true(part_change(c, running->part, &set, &err) < 0);
    assert_non_null(strstr(err.text, "FORCE:many"));
    set.share = "NO";
    assert_int_equal(part_change(c, running->part, &set, &err), 0);
    assert_false(waits->want.shared);
    assert_int_equal(alloc_take(c, waits, 0, 1, 0, NULL), -ERR_NODES_BUSY);
    set.share = "FORCE:2";
    assert_int_equal(part_change(c, running->part, &set, &err), 0);
    job_load_state(c, waits, PB__JOB_STATE__RUNNING);
    assert_int_equal(alloc_take(c, waits, 0, 1, 0, NULL), 0);
    test_sound(c);
    test_cluster_free(c);
}

/* Whole nodes: shared by as many jobs as the partition permits. */
static void whole_nodes_are_shared_as_configured(void **state)
{
    struct cluster *c = test_cluster("SelectType=select/linear\nNodeName=a CPUs=4\n"
                                     "PartitionName=force Nodes=ALL OverSubscribe=FORCE:2\n"
                                     "PartitionName=no Nodes=ALL\n");
    struct job *x = run_job(c, 1, "", 4);
    assert_true(x->want.exclusive && x->want.shared);
    assert_job_refused(c, 2, "p=no", 4);
    struct job *y = run_job(c, 2, "exclusive", 4);
    assert_job_refused(c, 3, "", 4);
    end_job(c, x);
    end_job(c, y);
    run_job(c, 3, "p=no", 4);
    assert_job_refused(c, 4, "", 4);
    test_cluster_free(c);
}

static struct job *carry_job_over(struct cluster *from, struct cluster *to, struct job *j)
{
    _cleanup_arena_ struct arena arena;
    struct str packed = STR_INIT;
    struct err err = {0};

    arena_init(&arena, 0);
    job_pack_live(from, j);
    job_pack_record(j, &packed);
    const Pb__JobRecord *r =
        arena_unpack(&arena, &pb__job_record__descriptor, packed.data, packed.len);
    struct job *k = cluster_add_job(to, j->id);
    if (job_restore(to, k, r, &err) != 0)
        fail_msg("job %u: %s", j->id, err.text);
    str_done(&packed);
    return k;
}

/* Also if the partition's value has changed, or the partition was removed. */
static void running_job_keeps_its_sharing_after_a_change(void **state)
{
    static const char *const others[] = {
        CONS "NodeName=a,b CPUs=4 RealMemory=1000\nPartitionName=force Nodes=ALL OverSubscribe=NO\n"
             "PartitionName=yes Nodes=ALL OverSubscribe=FORCE:4\n"
             "PartitionName=no Nodes=ALL OverSubscribe=FORCE:4\n",
        CONS "NodeName=a,b CPUs=4 RealMemory=1000\nPartitionName=yes Nodes=ALL\n"
             "PartitionName=no Nodes=ALL OverSubscribe=YES\n"};
    for (size_t i = 0; i < COUNT(others); i++) {
        struct cluster *c = test_cluster(conf), *next = test_cluster(others[i]);
        run_job(c, 1, "p=force", 3);
        run_job(c, 2, "p=force", 3);
        struct job *alone = test_job(c, 3, "p=yes exclusive");
        job_load_state(c, alone, PB__JOB_STATE__RUNNING);
        assert_int_equal(alloc_take(c, alone, 1, 1, 0, NULL), 0);
        for (size_t k = 0; k < 3; k++)
            carry_job_over(c, next, c->jobs.data[k]);
        test_sound(next);
        assert_job_refused(next, 4, "p=yes share", 1);
        assert_job_refused(next, 4, "p=no share", 1);
        struct job *j = test_job(next, 4, "p=yes share");
        assert_int_equal(alloc_take(next, j, 1, 1, 0, NULL), -ERR_NODES_BUSY); /* exclusive there */
        cluster_remove_job(next, j);
        for (size_t k = 0; k < 3; k++)
            end_job(next, next->jobs.data[k]);
        assert_null(next->nodes.data[0]->use);
        assert_int_equal(next->nodes.data[0]->free_units, 4);
        test_cluster_free(next);
        test_cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharing_follows_from_partition_and_option),
        cmocka_unit_test(units_are_shared_by_as_many_jobs_as_configured),
        cmocka_unit_test(job_without_sharing_has_its_units_alone),
        cmocka_unit_test(changed_sharing_applies_to_pending_jobs),
        cmocka_unit_test(whole_nodes_are_shared_as_configured),
        cmocka_unit_test(running_job_keeps_its_sharing_after_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
