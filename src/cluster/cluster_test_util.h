/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Helpers for the tests of this room and of the rooms above it: clusters built from strings, jobs
 * built from specs, and random numbers with a seed. test_cluster_free() frees what a test creates
 * with these helpers.
 */
#pragma once

#include "cluster/cluster.h"
#include "conf/conf_test_util.h"

#define CONS "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"

/* Returns a cluster of this configuration. None of its nodes is up. */
static inline struct cluster *test_cluster(const char *text)
{
    _cleanup_free_ char *whole = mem_printf("%s%s", HEAD, text);
    return cluster_new(test_load(whole, NULL));
}

static inline void test_cluster_free(struct cluster *c)
{
    struct conf *conf = (struct conf *)c->conf;
    cluster_free(c);
    conf_free(conf);
}

/* Updates the pool after a test has changed nodes directly. */
static inline void test_changed(struct cluster *c)
{
    vec_foreach (&c->nodes, n)
        pool_update(c, *n);
}

/* Marks every node as registered and connected. */
static inline void test_up(struct cluster *c)
{
    vec_foreach (&c->nodes, n)
        (*n)->registered = (*n)->connected = true;
    test_changed(c);
}

/* Sets the minimum and the maximum number of nodes: "2-3", or one number for both. */
static inline void test_range(const char *text, Pb__JobSpec *s)
{
    char *end;

    s->has_min_nodes = s->has_max_nodes = true;
    s->min_nodes = s->max_nodes = (uint32_t)strtoul(text, &end, 10);
    if (*end == '-')
        s->max_nodes = (uint32_t)strtoul(end + 1, &end, 10);
    assert_int_equal(*end, 0);
}

#define TEST_NUMBER(word, field)                                                                   \
    if (str_eq(key, word)) {                                                                       \
        s->has_##field = true;                                                                     \
        s->field = (typeof(s->field))strtoull(value, &end, 10);                                    \
        return;                                                                                    \
    }
#define TEST_FLAG(word, field)                                                                     \
    if (str_eq(key, word)) {                                                                       \
        s->has_##field = s->field = true;                                                          \
        return;                                                                                    \
    }
#define TEST_TEXT(word, field)                                                                     \
    if (str_eq(key, word)) {                                                                       \
        s->field = value;                                                                          \
        return;                                                                                    \
    }

static inline void test_spec_word(Pb__JobSpec *s, const char *key, char *value)
{
    char *end;

    if (str_eq(key, "N")) {
        test_range(value, s);
        return;
    }
    TEST_NUMBER("n", num_tasks)
    TEST_NUMBER("c", cpus_per_task)
    TEST_NUMBER("per-node", ntasks_per_node)
    TEST_NUMBER("mincpus", min_cpus_per_node)
    TEST_NUMBER("mem", mem_per_node_mib)
    TEST_NUMBER("mem-per-cpu", mem_per_cpu_mib)
    TEST_NUMBER("tmp", tmp_per_node_mib)
    TEST_NUMBER("requeue", requeue)
    TEST_NUMBER("nice", nice)
    TEST_NUMBER("begin", begin_at_sec)
    TEST_NUMBER("cpus-per-gpu", cpus_per_gpu)
    TEST_NUMBER("mem-per-gpu", mem_per_gpu_mib)
    TEST_NUMBER("ntasks-per-gpu", ntasks_per_gpu)
    TEST_NUMBER("sockets", sockets_per_node)
    TEST_NUMBER("cores", cores_per_socket)
    TEST_NUMBER("threads", threads_per_core)
    TEST_NUMBER("tasks-per-socket", ntasks_per_socket)
    TEST_NUMBER("tasks-per-core", ntasks_per_core)
    TEST_NUMBER("core-spec", core_spec)
    TEST_FLAG("exclusive-user", exclusive_user)
    TEST_TEXT("sizes", job_size_str)
    TEST_TEXT("gres", gres)
    TEST_TEXT("gpus-per-node", gpus_per_node)
    TEST_TEXT("gres-flags", gres_flags)
    TEST_TEXT("per-job", tres_per_job)
    TEST_TEXT("per-task", tres_per_task)
    TEST_TEXT("per-socket", tres_per_socket)
    TEST_TEXT("p", partition)
    TEST_TEXT("C", features)
    TEST_TEXT("prefer", prefer)
    TEST_NUMBER("switches", req_switches)
    TEST_NUMBER("switch-wait", wait_switch_sec)
    TEST_FLAG("spread", spread)
    TEST_NUMBER("segment", segment_size)
    TEST_FLAG("apart", spread_segments)
    TEST_FLAG("together", consolidate_segments)
    TEST_FLAG("use-min-nodes", use_min_nodes)
    TEST_TEXT("w", req_nodes)
    TEST_TEXT("x", exc_nodes)
    TEST_TEXT("L", licenses)
    TEST_TEXT("signal", signal)
    TEST_FLAG("contiguous", contiguous)
    TEST_FLAG("exclusive", exclusive)
    TEST_FLAG("share", oversubscribe)
    TEST_FLAG("overcommit", overcommit)
    TEST_FLAG("no-kill", no_kill)
    TEST_FLAG("batch", batch)
    fail_msg("a test asks for '%s'", key);
}

/* Returns a spec made of words: "N=2-3 n=4 mem=100 C=a|b exclusive". Its texts are in the arena. */
static inline Pb__JobSpec test_spec(struct arena *arena, const char *words)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;

    for (char *at = arena_strdup(arena, words); *at;) {
        size_t len = strcspn(at, " "), key = strcspn(at, "= ");
        char *word = at;
        at += len + (at[len] != 0);
        word[len] = 0;
        char *value = key < len ? word + key + 1 : word + len;
        word[key] = 0;
        if (len)
            test_spec_word(&s, word, value);
    }
    return s;
}

/* Returns a pending job of this spec in the partition that it names, or in the first one. The job
 * is in no queue. NULL: the spec is rejected. */
static inline struct job *test_try_job(struct cluster *c, uint32_t id, const char *words)
{
    _cleanup_arena_ struct arena arena;
    struct job *j = cluster_add_job(c, id);

    arena_init(&arena, 0);
    assert_non_null(j);
    const Pb__JobSpec spec = test_spec(&arena, words);
    j->part = c->parts.data[0];
    if (spec.partition)
        assert_true(job_partitions_resolve(c, j, spec.partition));
    if (job_read_spec(c, j, &spec, NULL) == 0)
        return j;
    cluster_remove_job(c, j);
    return NULL;
}

static inline struct job *test_job(struct cluster *c, uint32_t id, const char *words)
{
    struct job *j = test_try_job(c, id, words);
    if (!j)
        fail_msg("the spec '%s' is refused", words);
    return j;
}

/* Checks that the ledger and the jobs agree. */
static inline void test_sound(const struct cluster *c)
{
    struct err err = {0};

    if (alloc_check(c, &err) != 0)
        fail_msg("%s", err.text);
}

/* Pseudo-random numbers (SplitMix64): the same seed gives the same test. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Returns a number from first to last, both included. */
static inline uint32_t test_between(uint64_t *state, uint32_t first, uint32_t last)
{
    return first + (uint32_t)(test_random(state) % (last - first + UINT64_C(1)));
}
