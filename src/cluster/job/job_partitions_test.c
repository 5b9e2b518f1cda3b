/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster_test_util.h"

static const char conf[] =
    CONS "NodeName=n[1-3] CPUs=4 RealMemory=1000\n"
         "PartitionName=a Nodes=ALL MaxTime=10 DefMemPerCPU=10\n"
         "PartitionName=b Nodes=n2 MaxTime=20 DefaultTime=15 DefMemPerCPU=20\n"
         "PartitionName=c Nodes=n3 OverSubscribe=EXCLUSIVE\n";

static struct part *find_part(struct cluster *c, const char *name)
{
    struct part *p = cluster_find_part(c, name);
    assert_non_null(p);
    return p;
}

static void assert_partition_names(const struct job *j, const char *expected)
{
    _cleanup_str_ struct str out = STR_INIT;
    job_partitions_format(j, &out);
    assert_string_equal(str_cstr(&out), expected);
}

static void unknown_partition_names_are_refused(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 1, "");
    struct part *before = j->part;

    (void)state;
    static const char *const none[] = {"", ",", "x", "x,y", ",,"};
    for (size_t i = 0; i < COUNT(none); i++) {
        assert_false(job_partitions_resolve(c, j, none[i]));
        assert_ptr_equal(j->part, before);
        assert_null(j->partitions);
    }
    static const char *const one[] = {"b", "b,b", ",b,", "x,b,y"};
    for (size_t i = 0; i < COUNT(one); i++) {
        assert_true(job_partitions_resolve(c, j, one[i]));
        assert_ptr_equal(j->part, find_part(c, "b"));
        assert_null(j->partitions);
        assert_partition_names(j, "");
        assert_int_equal(job_partitions_count(j), 1);
        assert_true(job_partitions_select_part(j, find_part(c, "b")));
        assert_false(job_partitions_select_part(j, find_part(c, "a")));
    }
    test_cluster_free(c);
}

static void each_candidate_has_the_defaults_of_its_partition(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 1, "p=a,x,b,c,a n=2");

    (void)state;
    assert_partition_names(j, "a,b,c");
    assert_ptr_equal(j->part, find_part(c, "a"));
    assert_int_equal(j->want.mem_cpu_mib, 10);
    assert_false(j->want.exclusive);
    j->priority = 7;
    assert_true(job_partitions_select_part(j, find_part(c, "b")));
    assert_int_equal(j->want.mem_cpu_mib, 20);
    assert_int_equal(j->limit_sec, 15 * 60);
    j->priority = 8;
    job_partitions_select(j, 2);
    assert_ptr_equal(j->part, find_part(c, "c"));
    assert_true(j->want.exclusive);
    assert_int_equal(j->want.mem_cpu_mib, 0);
    assert_false(job_partitions_select_part(j, NULL));
    job_partitions_select_first(j);
    assert_int_equal(j->priority, 7);
    assert_int_equal(j->limit_sec, 10 * 60);
    assert_int_equal(j->want.tasks, 2);
    job_partitions_select(j, 1);
    assert_int_equal(j->priority, 8);
    job_partitions_end(j); /* it keeps its values */
    assert_ptr_equal(j->part, find_part(c, "b"));
    assert_int_equal(j->want.mem_cpu_mib, 20);
    assert_null(j->partitions);
    test_cluster_free(c);
}

static void job_is_in_the_queue_of_each_partition(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 1, "p=a,b"), *plain = test_job(c, 2, "");

    (void)state;
    plain->priority = 5;
    job_partitions_queue(plain);
    for (uint32_t i = 0; i < 2; i++) {
        job_partitions_select(j, i);
        j->priority = 10 + i;
        job_partitions_queue(j);
    }
    assert_false(job_partitions_keys_hold(j)); /* the second partition is still selected */
    job_partitions_select_first(j);
    assert_true(job_partitions_keys_hold(j) && job_partitions_is_queued(j));
    struct order_link *first = order_first(&find_part(c, "a")->queue);
    assert_ptr_equal(job_partitions_job_of(first), j);
    assert_ptr_equal(job_partitions_request_of(first)->part, find_part(c, "a"));
    assert_ptr_equal(job_partitions_job_of(order_next(first)), plain);
    assert_null(job_partitions_request_of(order_next(first)));
    assert_null(job_partitions_request_of(NULL));
    assert_null(job_partitions_job_of(NULL));
    j->priority = 11;
    assert_false(job_partitions_keys_hold(j));
    job_partitions_unqueue(j);
    assert_false(job_partitions_is_queued(j));
    assert_int_equal(find_part(c, "a")->queue.count, 1);
    assert_int_equal(find_part(c, "b")->queue.count, 0);
    job_partitions_end_unstarted(j);
    assert_null(j->part);
    assert_string_equal(j->part_name, "a,b");
    test_cluster_free(c);
}

/* The job keeps its place in the other queues, whichever partition is removed. */
static void removed_partition_leaves_the_job_in_other_queues(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    for (size_t gone = 0; gone < 3; gone++) {
        struct cluster *c = test_cluster(conf);
        struct job *j = test_job(c, 1, "p=a,b,c");
        for (uint32_t i = 0; i < 3; i++) {
            job_partitions_select(j, i);
            j->priority = 10 + i;
            if (i < 2)
                job_partitions_queue(j);
        }
        job_partitions_select_first(j);
        cluster_remove_part(c, find_part(c, names[gone]));
        assert_partition_names(j, gone == 0 ? "b,c" : gone == 1 ? "a,c" : "a,b");
        for (uint32_t i = 0; i < 3; i++) {
            struct part *p = cluster_find_part(c, names[i]);
            assert_int_equal(job_partitions_has(j, p), i != gone);
            if (p) {
                assert_int_equal(p->queue.count, i < 2);
                assert_true(job_partitions_select_part(j, p));
                assert_int_equal(j->priority, 10 + i);
            }
        }
        job_partitions_select_first(j);
        assert_true(job_partitions_keys_hold(j));
        cluster_remove_part(c, find_part(c, names[(gone + 1) % 3]));
        assert_null(j->partitions);
        assert_ptr_equal(j->part, find_part(c, names[(gone + 2) % 3]));
        assert_int_equal(j->part->queue.count, (gone + 2) % 3 < 2);
        test_cluster_free(c);
    }
}

/* A record names the partitions in which the job may start; for a pending job all of them. */
static void record_names_the_partitions_of_a_job(void **state)
{
    struct cluster *c = test_cluster(conf);
    _cleanup_arena_ struct arena arena;
    struct job *j = test_job(c, 1, "p=a,b");

    (void)state;
    arena_init(&arena, 0);
    const Pb__JobSpec spec = test_spec(&arena, "p=a,b");
    job_repack(&j->spec, &spec.base);
    for (uint32_t i = 0; i < 2; i++) {
        job_partitions_select(j, i);
        j->priority = 10 + i;
    }
    job_partitions_select_first(j);
    job_pack_live(c, j);
    const Pb__JobLive *live =
        arena_unpack(&arena, &pb__job_live__descriptor, j->live.data, j->live.len);
    assert_string_equal(live->partition, "a,b");
    assert_int_equal(live->n_part_priority, 2);
    assert_int_equal(live->part_priority[0], 10);
    assert_int_equal(live->part_priority[1], 11);
    Pb__JobRecord r = PB__JOB_RECORD__INIT;
    r.spec = (Pb__JobSpec *)&spec;
    r.live = (Pb__JobLive *)live;
    cluster_remove_job(c, j);
    j = cluster_add_job(c, 1);
    assert_int_equal(job_restore(c, j, &r, NULL), 0);
    assert_partition_names(j, "a,b");
    assert_false(j->dirty);
    cluster_remove_job(c, j);
    cluster_remove_part(c, find_part(c, "b")); /* as after a change of the file */
    j = cluster_add_job(c, 1);
    assert_int_equal(job_restore(c, j, &r, NULL), 0);
    assert_ptr_equal(j->part, find_part(c, "a"));
    assert_null(j->partitions);
    assert_true(j->dirty);
    cluster_remove_job(c, j);
    cluster_remove_part(c, find_part(c, "a"));
    j = cluster_add_job(c, 1);
    assert_int_equal(job_restore(c, j, &r, NULL), 0);
    assert_null(j->part);
    assert_string_equal(j->part_name, "a,b");
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_partition_names_are_refused),
        cmocka_unit_test(each_candidate_has_the_defaults_of_its_partition),
        cmocka_unit_test(job_is_in_the_queue_of_each_partition),
        cmocka_unit_test(removed_partition_leaves_the_job_in_other_queues),
        cmocka_unit_test(record_names_the_partitions_of_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
