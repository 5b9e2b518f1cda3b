/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The users of a reservation, and changes of the lists. */
#include "control/life/resv_test_util.h"

static void check_members(struct fixture *f, const char *name, const char *list,
                          const char *expected)
{
    _cleanup_arena_ struct arena arena;
    const Pb__ResvRecord *r = resv_test_find(f, &arena, name);
    assert_non_null(r);
    const char *shown = str_eq(list, "users")      ? r->users
                        : str_eq(list, "accounts") ? r->accounts
                        : str_eq(list, "groups")   ? r->groups
                                                   : r->allowed_partitions;
    assert_string_equal(shown ? shown : "", expected);
}

/* A sign moves a name one step among denied, unspecified and allowed, wherever the sign stands. */
static void signs_change_access_of_a_name_by_one_step(void **state)
{
    static const struct {
        const char *list, *before, *signs, *names, *after; /* NULL: the change is rejected */
    } cases[] = {
        {"users", "ann,bob", "", "-bob", "ann"},
        {"users", "ann,bob", "-", "bob", "ann"},
        {"users", "ann,bob", "", "-bob,-bob", "ann"},
        {"users", "ann,bob", "-", "bob,bob", "ann"},
        {"users", "ann", "", "-bob", NULL},
        {"users", "ann", "-", "bob", NULL},
        {"users", "ann", "", "-ann", NULL},
        {"users", "ann", "", "+bob", "ann,bob"},
        {"users", "ann", "", "+ann", "ann"},
        {"users", "ann,bob", "", "+carol,-ann", "bob,carol"},
        {"users", "ann", "", "+bob,carol", NULL},
        {"users", "ann", "", "bob,+carol", NULL},
        {"users", "ann", "", "bob,-ann", NULL},
        {"users", "ann", "+", "+bob", NULL},
        {"users", "ann", "-", "-bob", NULL},
        {"users", "ann", "+", "", NULL},
        {"users", "ann", "-", "", NULL},
        {"users", "ann", "+", "-", NULL},
        {"users", "ann", "", "bob,carol", "bob,carol"},
        {"users", "-ann", "", "-bob", "-ann,-bob"},
        {"users", "-ann", "-", "ann", "-ann"},
        {"users", "-ann,-bob", "+", "ann", "-bob"},
        {"users", "-ann,-bob", "", "+ann", "-bob"},
        {"users", "-ann", "+", "bob", NULL},
        {"users", "+ann,bob", "", "-ann", "bob"},
        {"accounts", "phys,chem", "", "-chem", "phys"},
        {"accounts", "phys", "", "-chem", NULL},
        {"accounts", "-phys", "", "-chem", "-phys,-chem"},
        {"groups", "g,h", "", "-h", "g"},
        {"groups", "g", "-", "h", NULL},
        {"groups", "g", "", "-g", NULL},
        {"groups", "g", "", "+h", "g,h"},
        {"allowed", "a,b", "", "-b", "a"},
        {"allowed", "a", "-", "b", NULL},
        {"allowed", "-a", "", "-b", "-a,-b"},
    };
    struct fixture *f = resv_test_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *list = cases[i].list;
        const char *field = str_eq(list, "allowed") ? "allowed_partitions" : list;
        const char *how = *cases[i].signs == '+' ? " add=" : *cases[i].signs ? " take=" : "";
        print_message("%s=%s %s=%s\n", list, cases[i].before, cases[i].signs, cases[i].names);
        _cleanup_free_ char *make =
            mem_printf("create name=r start=+10 length=60 nodes=n1 %s=%s", list, cases[i].before);
        _cleanup_free_ char *change =
            mem_printf("name=r %s=%s%s%s", list, cases[i].names, how, *how ? field : "");
        resv_test_apply(f, make);
        assert_int_equal(resv_test_request(f, change), cases[i].after ? 0 : ERR_RESV_INVALID);
        check_members(f, "r", list, cases[i].after ? cases[i].after : cases[i].before);
        resv_test_apply(f, "remove name=r");
    }
    fixture_free(f);
}

static void a_user_taken_from_the_allowed_does_not_let_others_in(void **state)
{
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    resv_test_apply(f, "create name=r start=+0 length=6000 nodes=n1 users=bob,carol");
    assert_int_equal(resv_test_submit(f, &ann, "r", 10, NULL), -ERR_RESV_ACCESS);
    resv_test_apply(f, "name=r users=-carol");
    assert_int_equal(resv_test_submit(f, &ann, "r", 10, NULL), -ERR_RESV_ACCESS);
    assert_int_equal(resv_test_request(f, "name=r users=-carol"), ERR_RESV_INVALID);
    assert_string_equal(fixture_text(f, f->last_call),
                        "Requested reservation is invalid: Users=bob,-carol allows some and denies "
                        "others");
    assert_int_equal(resv_test_submit(f, &ann, "r", 10, NULL), -ERR_RESV_ACCESS);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_change_access_of_a_name_by_one_step),
        cmocka_unit_test(a_user_taken_from_the_allowed_does_not_let_others_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
