/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "show/node_state.h"

#define IDLE PB__NODE_BASE__NODE_IDLE
#define DOWN PB__NODE_BASE__NODE_DOWN
#define ALLOC PB__NODE_BASE__NODE_ALLOCATED
#define MIXED PB__NODE_BASE__NODE_MIXED

static void test_states_have_words(void **state)
{
    static const struct {
        Pb__NodeBase base;
        bool drain, completing, no_respond, fail;
        const char *full, *brief, *flags;
    } v[] = {
        {IDLE, 0, 0, 0, 0, "idle", "idle", "IDLE"},
        {IDLE, 1, 0, 0, 0, "drained", "drain", "IDLE+DRAIN"},
        {MIXED, 1, 0, 0, 0, "draining", "drng", "MIXED+DRAIN"},
        {DOWN, 0, 0, 1, 0, "down*", "down*", "DOWN+NOT_RESPONDING"},
        {DOWN, 1, 0, 1, 0, "drained*", "drain*", "DOWN+DRAIN+NOT_RESPONDING"},
        {IDLE, 0, 1, 0, 0, "completing", "comp", "IDLE+COMPLETING"},
        {ALLOC, 0, 0, 0, 0, "allocated", "alloc", "ALLOCATED"},
        {ALLOC, 0, 1, 0, 0, "allocated+", "alloc+", "ALLOCATED+COMPLETING"},
        {MIXED, 0, 1, 0, 0, "completing", "comp", "MIXED+COMPLETING"},
        {IDLE, 1, 1, 0, 0, "draining", "drng", "IDLE+COMPLETING+DRAIN"},
        {IDLE, 0, 0, 0, 1, "fail", "fail", "IDLE+FAIL"},
        {MIXED, 0, 0, 0, 1, "fail", "fail", "MIXED+FAIL"},
        {ALLOC, 0, 0, 0, 1, "failing", "failg", "ALLOCATED+FAIL"},
        {PB__NODE_BASE__NODE_UNKNOWN, 0, 0, 0, 0, "unknown", "unk", "UNKNOWN"},
        {(Pb__NodeBase)99, 0, 0, 0, 0, "unknown", "unk", "UNKNOWN"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str full = STR_INIT, brief = STR_INIT, flags = STR_INIT;
        Pb__NodeRecord n = PB__NODE_RECORD__INIT;
        n.state = v[i].base;
        n.drain = v[i].drain;
        n.completing = v[i].completing;
        n.no_respond = v[i].no_respond;
        n.fail = v[i].fail;
        node_state_put_long(&n, &full);
        node_state_put_short(&n, &brief);
        node_state_put_flags(&n, &flags);
        assert_string_equal(str_cstr(&full), v[i].full);
        assert_string_equal(str_cstr(&brief), v[i].brief);
        assert_string_equal(str_cstr(&flags), v[i].flags);
    }
}

/* As in Slurm 22.05: nodes in a reservation, with and without the flag MAINT. */
static void test_reserved_nodes_have_words_of_slurm(void **state)
{
    static const struct {
        Pb__NodeBase base;
        bool drain, no_respond, fail, maint;
        const char *full, *brief, *flags;
        bool completing;
    } v[] = {
        {IDLE, 0, 0, 0, 0, "reserved", "resv", "IDLE+RESERVED"},
        {IDLE, 0, 1, 0, 0, "idle*", "idle*", "IDLE+RESERVED+NOT_RESPONDING"},
        {MIXED, 0, 0, 0, 0, "mixed", "mix", "MIXED+RESERVED"},
        {IDLE, 0, 0, 0, 1, "maint", "maint", "IDLE+MAINTENANCE+RESERVED"},
        {IDLE, 0, 1, 0, 1, "maint*", "maint*", "IDLE+MAINTENANCE+RESERVED+NOT_RESPONDING"},
        {MIXED, 0, 0, 0, 1, "mixed$", "mix$", "MIXED+MAINTENANCE+RESERVED"},
        {ALLOC, 0, 0, 0, 1, "allocated$", "alloc$", "ALLOCATED+MAINTENANCE+RESERVED"},
        {DOWN, 0, 1, 0, 1, "down$", "down$", "DOWN+MAINTENANCE+RESERVED+NOT_RESPONDING"},
        {IDLE, 1, 0, 0, 1, "drained$", "drain$", "IDLE+DRAIN+MAINTENANCE+RESERVED"},
        {DOWN, 1, 1, 0, 1, "drained$", "drain$", "DOWN+DRAIN+MAINTENANCE+RESERVED+NOT_RESPONDING"},
        {IDLE, 0, 0, 1, 1, "fail$", "fail$", "IDLE+FAIL+MAINTENANCE+RESERVED"},
        {ALLOC, 0, 0, 0, 1, "allocated$", "alloc$", "ALLOCATED+COMPLETING+MAINTENANCE+RESERVED", 1},
    };
    static const struct {
        const char *list;
        bool resv, maint; /* matches a node of a reservation without the flag, and with it */
    } lists[] = {{"resv", 1, 1}, {"maint", 0, 1}, {"maint+resv", 0, 1}, {"resv+~maint", 1, 0}};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str full = STR_INIT, brief = STR_INIT, flags = STR_INIT;
        Pb__NodeRecord n = PB__NODE_RECORD__INIT;
        n.state = v[i].base;
        n.drain = v[i].drain;
        n.no_respond = v[i].no_respond;
        n.fail = v[i].fail;
        n.maint = v[i].maint;
        n.completing = v[i].completing;
        n.reserved = !v[i].maint;
        node_state_put_long(&n, &full);
        node_state_put_short(&n, &brief);
        node_state_put_flags(&n, &flags);
        assert_string_equal(str_cstr(&full), v[i].full);
        assert_string_equal(str_cstr(&brief), v[i].brief);
        assert_string_equal(str_cstr(&flags), v[i].flags);
        for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
            struct node_states s = {0};
            assert_int_equal(node_states_parse(lists[k].list, &s, NULL), 0);
            assert_int_equal(node_states_match(&s, &n),
                             v[i].maint ? lists[k].maint : lists[k].resv);
        }
    }
}

static void test_state_filters_are_parsed(void **state)
{
    struct node_states s = {0};
    struct err err = {0};
    assert_true(node_states_parse("idle,foo", &s, &err) < 0);
    assert_non_null(strstr(err.text, "Bad state string: \"foo\"\nvalid states: "));
    assert_true(node_states_parse("~", &s, NULL) < 0);

    /* The results of Slurm 22.05: the nodes that each word lists, by their index below. */
    static const struct {
        Pb__NodeBase base;
        bool drain, completing, fail, no_respond;
    } nodes[] = {
        {IDLE, 0, 0, 0, 0},  {ALLOC, 0, 0, 0, 0}, {MIXED, 0, 0, 0, 0}, {IDLE, 1, 0, 0, 0},
        {ALLOC, 1, 0, 0, 0}, {MIXED, 1, 0, 0, 0}, {DOWN, 0, 0, 0, 0},  {IDLE, 0, 0, 1, 0},
        {ALLOC, 0, 0, 1, 0}, {DOWN, 1, 0, 0, 0},  {IDLE, 0, 1, 0, 0},  {IDLE, 1, 1, 0, 0},
        {MIXED, 0, 1, 0, 0}, {MIXED, 0, 0, 1, 0}, {DOWN, 0, 0, 0, 1},
    };
    static const struct {
        const char *list, *nodes;
    } lists[] = {
        {"idle", "0 3 7 10 11 "},
        {"IDLE", "0 3 7 10 11 "},
        {"alloc", "1 2 4 5 8 12 13 "},
        {"allocated", "1 2 4 5 8 12 13 "},
        {"mix", "2 12 13 "},
        {"mixed", "2 12 13 "},
        {"drain", "3 4 5 9 11 "},
        {"drained", "3 9 11 "},
        {"draining", "4 5 "},
        {"drng", "4 5 "},
        {"down", "6 9 14 "},
        {"fail", "7 8 13 "},
        {"comp", "10 11 12 "},
        {"completing", "10 11 12 "},
        {"no_respond", "14 "},
        {"all", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 "},
        {"maint", ""},
        {"idle,down", "0 3 6 7 9 10 11 14 "},
        {"alloc,mix", "1 2 4 5 8 12 13 "},
        {"idle&drain", "3 11 "},
        {"alloc&drain", "4 5 "},
        {"mix&drain", ""},
        {"down&drain", "9 "},
        {"idle&fail", "7 "},
        {"comp&mix", "12 "},
        {"idle+drain", "3 11 "},
        {"idle+drain+comp", "11 "},
        {"~idle", "1 2 4 5 6 8 9 12 13 14 "},
        {"idle+~drain", "0 7 10 "},
        {"~idle+~alloc", "6 9 14 "},
        {"down,~alloc", "0 3 6 7 9 10 11 14 "},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        _cleanup_str_ struct str found = STR_INIT;
        s = (struct node_states){0};
        assert_int_equal(node_states_parse(lists[i].list, &s, NULL), 0);
        for (size_t k = 0; k < sizeof(nodes) / sizeof(nodes[0]); k++) {
            Pb__NodeRecord n = PB__NODE_RECORD__INIT;
            n.state = nodes[k].base;
            n.drain = nodes[k].drain;
            n.completing = nodes[k].completing;
            n.fail = nodes[k].fail;
            n.no_respond = nodes[k].no_respond;
            if (node_states_match(&s, &n))
                str_printf(&found, "%zu ", k);
        }
        assert_string_equal(str_cstr(&found), lists[i].nodes);
    }
}

static void test_states_are_ordered(void **state)
{
    Pb__NodeRecord down = PB__NODE_RECORD__INIT, idle = down, mixed = down, drained = down,
                   silent = down;
    down.state = silent.state = DOWN;
    idle.state = drained.state = IDLE;
    mixed.state = MIXED;
    drained.drain = true;
    silent.no_respond = true;
    assert_true(node_state_rank(&silent) > node_state_rank(&drained));
    assert_true(node_state_rank(&drained) > node_state_rank(&mixed));
    assert_true(node_state_rank(&mixed) > node_state_rank(&idle));
    assert_true(node_state_rank(&idle) > node_state_rank(&down));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_states_have_words),
                                       cmocka_unit_test(test_state_filters_are_parsed),
                                       cmocka_unit_test(test_reserved_nodes_have_words_of_slurm),
                                       cmocka_unit_test(test_states_are_ordered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
