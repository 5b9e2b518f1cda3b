/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/index/idmap.h"

#include "cluster/cluster_test_util.h"

static void empty_map_finds_nothing(void **state)
{
    struct idmap m = {0};
    uint32_t value = 7;

    (void)state;
    assert_false(idmap_get(&m, 0, &value));
    assert_false(idmap_get(&m, 42, &value));
    assert_int_equal(value, 7);
    idmap_remove(&m, 0);
    assert_int_equal(m.count, 0);
    idmap_done(&m);
    idmap_done(&m);
}

static void every_number_is_a_valid_key(void **state)
{
    static const uint64_t keys[] = {0, 1, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX};
    struct idmap m = {0};
    uint32_t value;

    (void)state;
    for (uint32_t i = 0; i < COUNT(keys); i++) {
        assert_false(idmap_get(&m, keys[i], &value));
        idmap_set(&m, keys[i], i);
        assert_int_equal(m.count, i + 1);
    }
    for (uint32_t i = 0; i < COUNT(keys); i++) {
        assert_true(idmap_get(&m, keys[i], &value));
        assert_int_equal(value, i);
    }
    idmap_done(&m);
    assert_int_equal(m.count, 0);
    assert_false(idmap_get(&m, 0, &value));
}

static void setting_a_key_replaces_its_value(void **state)
{
    struct idmap m = {0};
    uint32_t value;

    (void)state;
    idmap_set(&m, 5, 1);
    idmap_set(&m, 5, 0);
    assert_int_equal(m.count, 1);
    assert_true(idmap_get(&m, 5, &value));
    assert_int_equal(value, 0);
    idmap_remove(&m, 5);
    assert_int_equal(m.count, 0);
    assert_false(idmap_get(&m, 5, &value));
    idmap_remove(&m, 5);
    assert_int_equal(m.count, 0);
    idmap_done(&m);
}

/* The map is always at most half full, so that a search ends. */
static void map_grows_before_it_is_half_full(void **state)
{
    struct idmap m = {0};
    uint32_t value;

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        idmap_set(&m, i * UINT64_C(4096), i);
        assert_true(m.count * 2 <= m.room);
        assert_int_equal(m.room & (m.room - 1), 0);
    }
    for (uint32_t i = 0; i < 100000; i++) {
        assert_true(idmap_get(&m, i * UINT64_C(4096), &value));
        assert_int_equal(value, i);
    }
    assert_false(idmap_get(&m, 1, &value));
    idmap_done(&m);
}

/* Removed keys release their memory, key by key. */
static void removed_keys_free_memory(void **state)
{
    struct idmap m = {0};
    uint32_t value;

    (void)state;
    for (uint32_t i = 0; i < 100000; i++)
        idmap_set(&m, i * UINT64_C(4096), i);
    for (uint32_t i = 0; i < 100000; i++) {
        idmap_remove(&m, i * UINT64_C(4096));
        assert_true(m.room <= 64 || m.room <= m.count * 16);
        assert_true(idmap_get(&m, 99999 * UINT64_C(4096), &value) == (i < 99999));
    }
    assert_int_equal(m.room, 64);
    idmap_done(&m);
}

/* A naive map: few keys, so that runs of slots form, break and wrap around. */
enum { KEYS = 300 };

struct model {
    uint64_t key[KEYS];
    uint32_t value[KEYS];
    bool there[KEYS];
    size_t count;
};

static void assert_equals_model(const struct idmap *m, const struct model *model)
{
    uint32_t value;

    assert_int_equal(m->count, model->count);
    for (size_t i = 0; i < KEYS; i++) {
        if (idmap_get(m, model->key[i], &value) != model->there[i])
            fail_msg("key %zu: %s", i, model->there[i] ? "lost" : "still there");
        if (model->there[i])
            assert_int_equal(value, model->value[i]);
    }
}

static void make_random_changes(uint64_t seed, uint32_t keep_of_8)
{
    struct idmap m = {0};
    struct model model = {0};

    for (size_t i = 0; i < KEYS; i++)
        model.key[i] = seed % 2 ? test_random(&seed) : i << (seed % 40);
    for (int step = 0; step < 4000; step++) {
        size_t i = test_between(&seed, 0, KEYS - 1);
        if (test_between(&seed, 0, 7) < keep_of_8) {
            model.count += !model.there[i];
            model.there[i] = true;
            model.value[i] = (uint32_t)step;
            idmap_set(&m, model.key[i], model.value[i]);
        } else {
            model.count -= model.there[i];
            model.there[i] = false;
            idmap_remove(&m, model.key[i]);
        }
        if (step % 16 == 0)
            assert_equals_model(&m, &model);
    }
    assert_equals_model(&m, &model);
    idmap_done(&m);
}

static void map_agrees_with_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        make_random_changes(seed, 2 + seed % 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_map_finds_nothing),
        cmocka_unit_test(every_number_is_a_valid_key),
        cmocka_unit_test(setting_a_key_replaces_its_value),
        cmocka_unit_test(map_grows_before_it_is_half_full),
        cmocka_unit_test(removed_keys_free_memory),
        cmocka_unit_test(map_agrees_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
