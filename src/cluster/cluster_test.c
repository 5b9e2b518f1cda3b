/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What exists, and how it is found: by name, by id, by expression. */
#include "base/hostlist.h"
#include "cluster/cluster_test_util.h"

static const char conf[] = CONS "NodeName=n[1-3] Weight=7 Feature=a\nNodeName=m\n"
                                "PartitionName=p Nodes=n[1-2]\n"
                                "PartitionName=q Nodes=ALL Default=YES\nPartitionName=Q Nodes=m\n";

static void node_expressions_become_sets(void **state)
{
    static const struct {
        const char *expr, *members; /* by index */
    } good[] = {{"", ""},       {"n1", "0"},          {"n[1-3]", "012"},  {"m,n2", "13"},
                {"n3,n3", "2"}, {"m,n[1-3]", "0123"}, {"n[1,3],m", "023"}};
    static const struct {
        const char *expr;
        int code;
        const char *says;
    } bad[] = {{"n4", ERR_NO_NODE, "n4"},
               {"n[1-4]", ERR_NO_NODE, "n4"},
               {"m,x,n1", ERR_NO_NODE, ": x"},
               {"N1", ERR_NO_NODE, "N1"},
               {"n01", ERR_NO_NODE, "n01"},
               {"n[1-", ERR_PARSE, "bracket"},
               {"n[0-999999999]", ERR_LIMIT, ""},
               {"n]", ERR_PARSE, ""},
               {"a[0-999]x[0-999]y", ERR_LIMIT, "too many names"},
               {"n[1-3],n[1-2000]", ERR_LIMIT, "column 8"}};
    struct cluster *c = test_cluster(conf);

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bitset *set = (struct bitset *)1;
        struct err err = {0};
        int rc = cluster_node_set(c, bad[i].expr, &set, &err);
        if (rc != -bad[i].code || err.code != rc || !strstr(err.text, bad[i].says))
            fail_msg("'%s': %d: %s", bad[i].expr, rc, err.text);
        assert_ptr_equal(set, (struct bitset *)1);
        assert_int_equal(cluster_node_set(c, bad[i].expr, &set, NULL), rc);
    }
    for (size_t i = 0; i < COUNT(good); i++) {
        _cleanup_bitset_ struct bitset *set = NULL;
        assert_int_equal(cluster_node_set(c, good[i].expr, &set, NULL), 0);
        assert_int_equal(set->size, 4);
        assert_int_equal(bitset_count(set), strlen(good[i].members));
        for (const char *at = good[i].members; *at; at++)
            assert_true(bitset_test(set, (size_t)(*at - '0')));
    }
    test_cluster_free(c);
}

/* As many as the text has bytes: a name for each task (-m arbitrary). */
static void host_list_of_many_names_is_accepted(void **state)
{
    struct cluster *c = test_cluster(conf);
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_hostlist_ struct hostlist *list = NULL, *none = NULL;

    (void)state;
    for (int i = 0; i < 5000; i++)
        str_puts(&text, "m,");
    assert_int_equal(cluster_parse_hosts(c, str_cstr(&text), &list, NULL), 0);
    assert_int_equal(hostlist_count(list), 5000);
    assert_int_equal(cluster_parse_hosts(c, "n[1-3000]", &none, NULL), -ERR_LIMIT);
    assert_null(none);
    test_cluster_free(c);
}

static void names_are_found_exactly(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct cluster *bare = test_cluster("NodeName=n\nPartitionName=p Nodes=n\n");

    (void)state;
    assert_null(cluster_find_node(c, "n4"));
    assert_null(cluster_find_node(c, ""));
    assert_null(cluster_find_part(c, "P"));
    assert_null(cluster_find_part(c, ""));
    assert_null(cluster_find_part(c, NULL));
    assert_null(cluster_default_part(bare));
    for (uint32_t i = 0; i < 4; i++) {
        struct node *n = c->nodes.data[i];
        assert_int_equal(n->index, i);
        assert_ptr_equal(cluster_find_node(c, n->name), n);
    }
    assert_string_equal(cluster_find_part(c, "p")->conf.name, "p");
    assert_ptr_equal(cluster_find_part(c, "Q"), c->parts.data[2]);
    assert_ptr_equal(cluster_default_part(c), c->parts.data[1]);
    assert_int_equal(bitset_count(c->parts.data[0]->nodes), 2);
    test_cluster_free(c);
    test_cluster_free(bare);
    cluster_free(NULL);
}

static void configured_nodes_and_partitions_are_loaded(void **state)
{
    struct cluster *c = test_cluster(conf);
    const struct node *n = c->nodes.data[0];

    (void)state;
    assert_int_equal(n->weight, 7);
    assert_string_equal(n->features, "a");
    assert_null(c->nodes.data[3]->features);
    assert_false(n->registered || n->connected || n->down || n->drain || n->dirty);
    assert_int_equal(c->pending + c->running + c->jobs.len + c->dirty.len, 0);
    assert_true(c->stamp > 0);
    test_sound(c);
    test_cluster_free(c);
}

/* Partitions that no line of the file defines. */
static void partitions_are_added_and_removed(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *ended = test_job(c, 1, ""), *other = test_job(c, 2, "");
    char name[] = "made";

    (void)state;
    struct part *p = cluster_add_part(c, name);
    name[0] = 'x'; /* it has its own copy */
    assert_ptr_equal(cluster_find_part(c, "made"), p);
    assert_int_equal(c->parts.len, 4);
    assert_true(bitset_empty(p->nodes));
    assert_true(p->conf.max_time_sec == CONF_UNLIMITED && p->conf.max_nodes == UINT32_MAX);
    assert_int_equal(p->conf.state, CONF_PART_UP);
    assert_false(p->conf.is_default);
    job_load_state(c, ended, PB__JOB_STATE__COMPLETED);
    ended->part = p;
    for (int times = 0; times < 2; times++) {
        uint64_t stamp = c->stamp;
        cluster_remove_part(c, p);
        assert_null(cluster_find_part(c, "made"));
        assert_int_equal(c->parts.len, 3);
        assert_null(ended->part);
        assert_string_equal(ended->part_name, "made");
        assert_ptr_equal(other->part, c->parts.data[0]);
        assert_true(c->stamp > stamp);
        ended->part = p = cluster_add_part(c, "made");
    }
    cluster_remove_part(c, c->parts.data[1]); /* one of the file */
    assert_null(cluster_find_part(c, "q"));
    assert_null(cluster_default_part(c));
    assert_string_equal(c->parts.data[1]->conf.name, "Q");
    test_cluster_free(c);
}

/* --- jobs --- */

static void job_is_added_found_and_removed(void **state)
{
    struct cluster *c = test_cluster(conf);

    (void)state;
    assert_null(cluster_find_job(c, 0));
    assert_null(cluster_find_job(c, 1));
    struct job *j = cluster_add_job(c, 7);
    assert_int_equal(j->id, 7);
    assert_int_equal(j->state, PB__JOB_STATE__PENDING);
    assert_true(j->limit_sec == INT64_MAX);
    assert_null(cluster_add_job(c, 7)); /* ids are given once */
    assert_int_equal(c->jobs.len, 1);
    assert_int_equal(c->pending, 1);
    assert_ptr_equal(cluster_find_job(c, 7), j);
    assert_null(cluster_find_job(c, 6));
    assert_null(cluster_find_job(c, 8));
    uint64_t stamp = c->stamp;
    cluster_remove_job(c, j);
    assert_null(cluster_find_job(c, 7));
    assert_int_equal(c->pending + c->jobs.len, 0);
    assert_true(c->stamp > stamp);
    test_cluster_free(c);
}

/* Whatever a job was in, it is in no more. */
static void removed_from_everything(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 1, "x=n1 w=n2 C=a"), *k = test_job(c, 2, "");
    uint32_t id;

    (void)state;
    assert_int_equal(alloc_take(c, j, 1, 1, 1, NULL), 0);
    job_load_state(c, j, PB__JOB_STATE__RUNNING);
    order_insert(&j->part->queue, &j->queued, 1, 1);
    order_insert(&c->due, &j->due, 1, 1);
    order_insert(&c->ends, &attempt_make(j)->ends, 1, 1);
    order_insert(&c->due, &k->due, 2, 2);
    idmap_set(&c->requests, 99, 1);
    idmap_set(&c->requests, 98, 2);
    j->request_key = 99;
    vec_push(&j->end_calls, 5);
    vec_push(&attempt_make(j)->steps, ((struct step){.id = 1}));
    vec_push(&attempt_make(j)->waiting_steps, ((struct waiting_step){.call = 1}));
    j->reason_detail = mem_strdup("x");
    job_touch(c, j);
    cluster_remove_job(c, j);
    assert_null(order_first(&c->parts.data[0]->queue));
    assert_null(order_first(&c->ends));
    assert_ptr_equal(order_first(&c->due), &k->due);
    assert_false(idmap_get(&c->requests, 99, &id));
    assert_true(idmap_get(&c->requests, 98, &id));
    assert_int_equal(c->nodes.data[1]->jobs, 0);
    assert_int_equal(c->running, 0);
    assert_int_equal(c->pending, 1);
    vec_foreach (&c->dirty, at) /* the remaining entry refers to no job */
        assert_null(cluster_find_job(c, *at));
    test_sound(c);
    test_cluster_free(c);
}

static void touched_jobs_get_increasing_stamps(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = cluster_add_job(c, 1), *k = cluster_add_job(c, 2);

    (void)state;
    job_touch(c, j);
    uint64_t first = j->stamp;
    job_touch(c, k);
    job_touch(c, j);
    assert_true(first < k->stamp && k->stamp < j->stamp && j->stamp == c->stamp);
    assert_int_equal(c->dirty.len, 2); /* each once */
    assert_int_equal(c->dirty.data[0], 1);
    assert_int_equal(c->dirty.data[1], 2);
    j->dirty = false;
    vec_clear(&c->dirty);
    job_touch(c, j);
    assert_int_equal(c->dirty.len, 1);
    test_cluster_free(c);
}

/* Jobs come and go in any order of ids; they are kept sorted, and found. */
enum { IDS = 120 };

static void assert_jobs_equal(const struct cluster *c, const bool *there)
{
    size_t at = 0;
    for (uint32_t id = 0; id < IDS; id++) {
        const struct job *j = cluster_find_job(c, id);
        assert_int_equal(j != NULL, there[id]);
        if (!there[id])
            continue;
        assert_int_equal(j->id, id);
        assert_ptr_equal(c->jobs.data[at++], j);
    }
    assert_int_equal(c->jobs.len, at);
    assert_int_equal(c->pending, at);
}

static void jobs_are_added_and_removed_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *c = test_cluster(conf);
        bool there[IDS] = {0};
        uint64_t chance = seed;
        for (int step = 0; step < 500; step++) {
            uint32_t id = test_between(&chance, 0, IDS - 1);
            if (test_between(&chance, 0, 2)) {
                assert_int_equal(cluster_add_job(c, id) != NULL, !there[id]);
                there[id] = true;
            } else if (there[id]) {
                cluster_remove_job(c, cluster_find_job(c, id));
                there[id] = false;
            }
            if (step % 20 == 0)
                assert_jobs_equal(c, there);
        }
        assert_jobs_equal(c, there);
        test_cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_expressions_become_sets),
        cmocka_unit_test(host_list_of_many_names_is_accepted),
        cmocka_unit_test(names_are_found_exactly),
        cmocka_unit_test(configured_nodes_and_partitions_are_loaded),
        cmocka_unit_test(partitions_are_added_and_removed),
        cmocka_unit_test(job_is_added_found_and_removed),
        cmocka_unit_test(removed_from_everything),
        cmocka_unit_test(touched_jobs_get_increasing_stamps),
        cmocka_unit_test(jobs_are_added_and_removed_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
