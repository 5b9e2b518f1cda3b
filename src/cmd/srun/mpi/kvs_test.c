/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/mpi/kvs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

/* Sends a fence with the pairs of "key=value key=value". */
static int send_kvs_fence(struct kvs *k, uint32_t node, uint32_t round, const char *pairs,
                          const struct Pb__KvsFence **all, struct err *err)
{
    struct Pb__KvsFence part = PB__KVS_FENCE__INIT;
    struct Pb__KvsEntry entries[8], *put[8];
    _cleanup_free_ char *text = mem_strdup(pairs);
    char *rest = text;

    part.round = round;
    part.put = put;
    for (char *word; (word = strsep(&rest, " ")) != NULL && *word != '\0';) {
        struct Pb__KvsEntry *e = &entries[part.n_put];

        pb__kvs_entry__init(e);
        e->key = strsep(&word, "=");
        e->value = word;
        put[part.n_put++] = e;
    }
    return kvs_fence(k, node, &part, all, err);
}

static const char *find_value_of_key(const struct Pb__KvsFence *all, const char *key)
{
    for (size_t i = 0; i < all->n_put; i++)
        if (strcmp(all->put[i]->key, key) == 0)
            return all->put[i]->value;
    return NULL;
}

static void test_invalid_fences_are_refused(void **state)
{
    struct kvs *k = kvs_new(2);
    const struct Pb__KvsFence *all = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(send_kvs_fence(k, 2, 1, "", &all, &err), -ERR_PROTOCOL);
    assert_int_equal(send_kvs_fence(k, 0, 1, "a=1", &all, &err), 0);
    assert_int_equal(send_kvs_fence(k, 0, 1, "a=1", &all, &err), -ERR_PROTOCOL);
    assert_int_equal(send_kvs_fence(k, 1, 2, "a=1", &all, &err), -ERR_PROTOCOL);
    assert_null(all);
    assert_int_equal(send_kvs_fence(k, 1, 1, "b=2", &all, &err),
                     1); /* the error has not ended the round */
    assert_int_equal(all->n_put, 2);
    kvs_free(k);
}

static void test_round_ends_when_all_nodes_have_sent(void **state)
{
    struct kvs *k = kvs_new(3);
    const struct Pb__KvsFence *all = NULL;

    (void)state;
    assert_int_equal(send_kvs_fence(k, 1, 5, "b=1 same=x", &all, NULL), 0);
    assert_int_equal(send_kvs_fence(k, 0, 5, "a=0 same=y", &all, NULL), 0);
    assert_int_equal(send_kvs_fence(k, 2, 5, "", &all, NULL), 1);
    assert_int_equal(all->round, 5);
    assert_int_equal(all->n_put, 3);
    assert_string_equal(find_value_of_key(all, "a"), "0");
    assert_string_equal(find_value_of_key(all, "b"), "1");
    assert_string_equal(find_value_of_key(all, "same"), "y"); /* the last value wins */

    assert_int_equal(send_kvs_fence(k, 2, 6, "c=2", &all, NULL), 0);
    assert_int_equal(send_kvs_fence(k, 1, 6, "", &all, NULL), 0);
    assert_int_equal(send_kvs_fence(k, 0, 6, "", &all, NULL), 1);
    assert_int_equal(all->round, 6);
    assert_int_equal(all->n_put, 1); /* only new pairs */
    kvs_free(k);
}

static void test_size_of_a_round_is_limited(void **state)
{
    struct kvs *k = kvs_new(2);
    const struct Pb__KvsFence *all = NULL;
    _cleanup_free_ char *big = mem_alloc(KVS_ROUND_MAX + 3);
    struct err err = {0};

    (void)state;
    memset(big, 'x', KVS_ROUND_MAX + 2);
    big[1] = '=';
    assert_int_equal(send_kvs_fence(k, 0, 1, big, &all, &err), -ERR_LIMIT); /* one byte too many */
    big[KVS_ROUND_MAX + 1] = '\0';
    assert_int_equal(send_kvs_fence(k, 0, 1, big, &all, &err), 0);
    assert_int_equal(send_kvs_fence(k, 1, 1, "y=", &all, &err), -ERR_LIMIT);
    kvs_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_fences_are_refused),
        cmocka_unit_test(test_round_ends_when_all_nodes_have_sent),
        cmocka_unit_test(test_size_of_a_round_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
