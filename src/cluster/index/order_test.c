/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/index/order.h"

#include "cluster/cluster_test_util.h"

enum { ITEMS = 200 };

struct item { /* the link is not the first member */
    uint32_t number;
    struct order_link link;
};

static struct item *item_of(struct order_link *link)
{
    return order_item(link, struct item, link);
}

static void empty_order_has_no_first_item(void **state)
{
    struct order o = {0};
    struct item a = {0};

    (void)state;
    assert_null(order_first(&o));
    assert_null(item_of(NULL));
    order_remove(&o, &a.link);
    assert_int_equal(o.count, 0);
    assert_false(a.link.in);
}

static void single_item_is_inserted_and_removed(void **state)
{
    struct order o = {0};
    struct item a = {.number = 9};

    (void)state;
    order_insert(&o, &a.link, INT64_MIN, 0);
    assert_true(a.link.in);
    assert_int_equal(o.count, 1);
    assert_ptr_equal(order_first(&o), &a.link);
    assert_int_equal(item_of(order_first(&o))->number, 9);
    assert_null(order_next(&a.link));
    order_remove(&o, &a.link);
    assert_false(a.link.in);
    assert_int_equal(o.count, 0);
    assert_null(order_first(&o));
    order_remove(&o, &a.link);
    assert_int_equal(o.count, 0);
}

/* Signed keys first; ties order equal keys. */
static void items_are_sorted_by_key_and_tie(void **state)
{
    static const struct {
        int64_t key;
        uint64_t tie;
    } rows[] = {{INT64_MIN, 4}, {-5, 1}, {-5, 2},         {-5, UINT64_MAX},
                {0, 0},         {3, 7},  {INT64_MAX, 10}, {INT64_MAX, 11}};
    struct order o = {0};
    struct item items[COUNT(rows)] = {0};
    size_t i = 0;

    (void)state;
    for (size_t step = 0; step < COUNT(rows); step++) { /* 3 and 8 have no common divisor */
        size_t at = step * 3 % COUNT(rows);
        items[at].number = (uint32_t)at;
        order_insert(&o, &items[at].link, rows[at].key, rows[at].tie);
    }
    for (struct order_link *l = order_first(&o); l; l = order_next(l), i++)
        assert_int_equal(item_of(l)->number, i);
    assert_int_equal(i, COUNT(rows));
}

static void moved_item_gets_its_new_place(void **state)
{
    struct order o = {0};
    struct item a = {0}, b = {0};

    (void)state;
    order_move(&o, &a.link, 10, 1); /* it was in no order */
    order_move(&o, &b.link, 20, 2);
    assert_ptr_equal(order_first(&o), &a.link);
    order_move(&o, &a.link, 30, 1);
    assert_ptr_equal(order_first(&o), &b.link);
    assert_ptr_equal(order_next(&b.link), &a.link);
    assert_int_equal(a.link.key, 30);
    order_move(&o, &a.link, 30, 1);
    assert_int_equal(o.count, 2);
    order_move(&o, &a.link, 20, 1); /* only the tie changes */
    assert_ptr_equal(order_first(&o), &a.link);
    order_move(&o, &a.link, 20, 3);
    assert_ptr_equal(order_first(&o), &b.link);
    assert_int_equal(o.count, 2);
}

/* Checks the links between parents and children; returns the depth. */
static size_t check_links(const struct order_link *l, const struct order_link *up, size_t *count)
{
    if (!l)
        return 0;
    assert_true(l->in);
    assert_ptr_equal(l->up, up);
    ++*count;
    size_t left = check_links(l->left, l, count), right = check_links(l->right, l, count);
    return 1 + (left > right ? left : right);
}

static bool before(const struct item *a, const struct item *b)
{
    return a->link.key != b->link.key ? a->link.key < b->link.key : a->link.tie < b->link.tie;
}

/* Compares with all items: the smallest first, then each time the next larger one. */
static void assert_order_equals(const struct order *o, const struct item *items, const bool *in)
{
    size_t count = 0, linked = 0, walked = 0;
    const struct item *last = NULL;

    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(items[i].link.in, in[i]);
        count += in[i];
    }
    assert_int_equal(o->count, count);
    check_links(o->root, NULL, &linked);
    assert_int_equal(linked, count);
    for (struct order_link *l = order_first(o); l; l = order_next(l), walked++) {
        assert_true(in[item_of(l)->number]);
        assert_true(!last || before(last, item_of(l)));
        if (last)
            assert_ptr_equal(order_after(o, last->link.key, last->link.tie), l);
        if (l->tie)
            assert_ptr_equal(order_after(o, l->key, l->tie - 1), l);
        last = item_of(l);
    }
    assert_int_equal(walked, count);
    assert_ptr_equal(o->last, last ? &last->link : NULL);
    assert_ptr_equal(order_after(o, INT64_MIN, 0), order_first(o));
    assert_null(order_after(o, INT64_MAX, UINT64_MAX));
}

static void make_random_changes(uint64_t seed)
{
    static struct item items[ITEMS];
    struct order o = {0};
    bool in[ITEMS] = {0};

    memset(items, 0, sizeof items);
    for (int step = 0; step < 2000; step++) {
        uint32_t i = test_between(&seed, 0, ITEMS - 1);
        int64_t key = (int64_t)test_between(&seed, 0, 20) - 10;
        items[i].number = i;
        if (test_between(&seed, 0, 2) == 0) {
            order_remove(&o, &items[i].link);
            in[i] = false;
        } else if (!in[i] && step % 2) {
            order_insert(&o, &items[i].link, key, i);
            in[i] = true;
        } else {
            order_move(&o, &items[i].link, key, i);
            in[i] = true;
            assert_int_equal(items[i].link.key, key);
        }
        if (step % 10 == 0)
            assert_order_equals(&o, items, in);
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        order_remove(&o, &items[i].link);
        in[i] = false;
    }
    assert_order_equals(&o, items, in);
    assert_null(o.root);
}

static void order_agrees_with_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++)
        make_random_changes(seed);
}

static void assert_same_shape(const struct order_link *a, const struct order_link *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (!a)
        return;
    assert_int_equal(a->tie, b->tie);
    assert_same_shape(a->left, b->left);
    assert_same_shape(a->right, b->right);
}

/* Removed elements leave no trace: equal elements give an equal tree. */
static void shape_depends_on_the_items_only(void **state)
{
    enum { FEW = 500 };
    static struct item all[FEW], some[FEW];
    struct order a = {0}, b = {0};

    (void)state;
    for (uint32_t i = 0; i < FEW; i++)
        order_insert(&a, &all[i].link, (int64_t)(i * 7 % FEW), i);
    for (uint32_t i = 0; i < FEW; i++) {
        if (i % 3)
            order_remove(&a, &all[i].link);
        else
            order_insert(&b, &some[i].link, (int64_t)(i * 7 % FEW), i);
    }
    assert_int_equal(a.count, b.count);
    assert_same_shape(a.root, b.root);
}

/* Sorted insertion, as in queues by age, does not degenerate the tree; the shape depends on the
 * elements, not on their order of insertion. */
static void tree_stays_balanced_for_sorted_insertion(void **state)
{
    enum { MANY = 1 << 15 };
    struct item *up = mem_new_array(struct item, MANY), *down = mem_new_array(struct item, MANY);
    struct order a = {0}, b = {0};
    size_t count = 0;

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        order_insert(&a, &up[i].link, i, i);
        order_insert(&b, &down[MANY - 1 - i].link, MANY - 1 - i, MANY - 1 - i);
    }
    size_t deep = check_links(a.root, NULL, &count);
    assert_int_equal(count, MANY);
    assert_true(deep < 60); /* a random tree of 2^15 has about 37 */
    assert_same_shape(a.root, b.root);
    free(up);
    free(down);
}

/* A walk during changes visits the existing elements, each once and in order. */
static void walk_resumes_after_a_change(void **state)
{
    struct order o = {0};
    struct order_place at = {0};
    struct item *items = mem_new_array(struct item, ITEMS);
    uint64_t chance = 3;
    int64_t last = -1;

    (void)state;
    for (uint32_t i = 0; i < ITEMS; i += 2)
        order_insert(&o, &items[i].link, i, i);
    assert_ptr_equal(order_peek(&o, &at), &items[0].link);
    for (struct order_link *l; (l = order_step(&o, &at));) {
        assert_true(l->key > last);
        for (int64_t between = last + 1; between < l->key; between++)
            assert_false(items[between].link.in);
        last = l->key;
        struct order_link *other = &items[test_between(&chance, 0, ITEMS - 1)].link;
        if (test_between(&chance, 0, 2) == 0 && other->in) /* possibly the present element */
            order_remove(&o, other);
        else if (test_between(&chance, 0, 2) == 0 && !other->in)
            order_insert(&o, other, item_of(other) - items, 1);
    }
    assert_null(order_peek(&o, &at));
    struct item end = {0};
    order_insert(&o, &end.link, ITEMS, 1);
    assert_int_equal(order_peek(&o, &at)->key, ITEMS);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_order_has_no_first_item),
        cmocka_unit_test(single_item_is_inserted_and_removed),
        cmocka_unit_test(items_are_sorted_by_key_and_tie),
        cmocka_unit_test(moved_item_gets_its_new_place),
        cmocka_unit_test(order_agrees_with_a_model),
        cmocka_unit_test(tree_stays_balanced_for_sorted_insertion),
        cmocka_unit_test(shape_depends_on_the_items_only),
        cmocka_unit_test(walk_resumes_after_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
