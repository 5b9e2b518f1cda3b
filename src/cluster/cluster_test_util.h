/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the tests of this room and of those above it: clusters out of strings, jobs out of specs,
 * chance with a seed. What a test makes here it frees with test_cluster_free().
 */
#pragma once

#include "cluster/cluster.h"
#include "conf/conf_test_util.h"

#define CONS "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"

/* A cluster of this configuration, none of its nodes up. */
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

/* Every node has registered and answers. */
static inline void test_up(struct cluster *c)
{
    vec_foreach (&c->nodes, n)
        (*n)->registered = (*n)->connected = true;
}

/* A pending job of this spec in the first partition, in no queue. */
static inline struct job *test_job(struct cluster *c, uint32_t id, const Pb__JobSpec *spec)
{
    struct err err = {0};
    struct job *j = cluster_add_job(c, id);

    assert_non_null(j);
    j->part = c->parts.data[0];
    if (job_read_spec(c, j, spec, &err) != 0)
        fail_msg("job %u: %s", id, err.text);
    return j;
}

/* The ledger and the jobs agree. */
static inline void test_sound(const struct cluster *c)
{
    struct err err = {0};

    if (alloc_check(c, &err) != 0)
        fail_msg("%s", err.text);
}

/* Chance (SplitMix64): the same seed, the same test. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* first..last, both included. */
static inline uint32_t test_between(uint64_t *state, uint32_t first, uint32_t last)
{
    return first + (uint32_t)(test_random(state) % (last - first + UINT64_C(1)));
}
