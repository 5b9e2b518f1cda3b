/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"

static void invalid_dependencies_are_refused(void **state)
{
    static const char *const texts[] = {
        "afterok",
        "afterok:",
        "afterok:x",
        "afterok:12:",
        "afterok:12,",
        "after0k:12",
        "AFTEROK:12",
        "afterok:12 13",
        ":12",
        "afterok:-1",
        "afterok:0",
        "afterok:12+",
        "afterok:12+x",
        "afterok:12_*+5",
        "afterok:12_1+256",
        "afterok:12+256",
        "afterok:12+-1",
        "after:12+5+1",
        "after:12+",
        "after:12+x",
        "afterok:12,13?14",
        "?afterok:12",
        ",",
        "afterok:12,,13",
        "singleton:12",
        "afterok:12_",
        "afterok:12_x",
        "afterok:4294967296",
        "after:1+4294967296",
        "afterok:12_*x",
        "12 ",
        "afterok:99999999999999999999",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct depend d;
        struct err err = {0};
        print_message("%s\n", texts[i]);
        assert_int_equal(depend_parse(texts[i], DEPEND_ITEMS_MAX, &d, &err), -ERR_DEPENDENCY);
        assert_non_null(strstr(err.text, "Job dependency problem: "));
        depend_done(&d);
    }
    struct str many = STR_INIT;
    struct depend d;
    str_puts(&many, "afterok:1");
    for (size_t i = 0; i < DEPEND_ITEMS_MAX; i++)
        str_puts(&many, ":1");
    assert_int_equal(depend_parse(str_cstr(&many), DEPEND_ITEMS_MAX, &d, NULL), -ERR_DEPENDENCY);
    depend_done(&d);
    str_done(&many);
}

static void dependencies_are_shown_with_their_state(void **state)
{
    static const struct {
        const char *text, *shown;
    } v[] = {
        {"", ""},
        {"12", "afterany:12(unfulfilled)"},
        {"afterok:12:13", "afterok:12(unfulfilled),afterok:13(unfulfilled)"},
        {"afterok:12:13?afternotok:14",
         "afterok:12(unfulfilled)?afterok:13(unfulfilled)?afternotok:14(unfulfilled)"},
        {"after:12+10:13", "after:12+10(unfulfilled),after:13(unfulfilled)"},
        {"afterburstbuffer:1,aftercorr:2_3,afterany:4_*,expand:5,singleton",
         "afterburstbuffer:1(unfulfilled),aftercorr:2_3(unfulfilled),afterany:4(unfulfilled),"
         "expand:5(unfulfilled),singleton(unfulfilled)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct depend d;
        struct str out = STR_INIT;
        assert_int_equal(depend_parse(v[i].text, DEPEND_ITEMS_MAX, &d, NULL), 0);
        depend_format(NULL, &d, 0, false, &out);
        assert_string_equal(str_cstr(&out), v[i].shown);
        str_done(&out);
        depend_done(&d);
    }
}

static void a_repeated_item_is_kept_once(void **state)
{
    static const struct {
        const char *text, *kept;
    } v[] = {
        {"afterok:1:1", "afterok:1"},
        {"afterok:1:2,afterok:1", "afterok:1,afterok:2"},
        {"1?1?afterany:1", "afterany:1"},
        {"singleton,singleton", "singleton"},
        {"after:1+5:1+5:1+6:1", "after:1+5,after:1+6,after:1"},
        {"afterok:1_1:1_2:1_1:1", "afterok:1_1,afterok:1_2,afterok:1"},
        {"afterok:1,afterany:1", "afterok:1,afterany:1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct depend d;
        struct str out = STR_INIT;
        assert_int_equal(depend_parse(v[i].text, DEPEND_ITEMS_MAX, &d, NULL), 0);
        assert_int_equal(depend_drop_repeats(&d), strcmp(v[i].text, v[i].kept) != 0);
        depend_format_request(&d, &out);
        assert_string_equal(str_cstr(&out), v[i].kept);
        assert_int_equal(d.by_state[DEPEND_UNFULFILLED] + d.singletons, d.items.len);
        str_done(&out);
        depend_done(&d);
    }
}

/* A number behind "+" is minutes for "after", and the offset of a component for other kinds, which
 * is then resolved to the component's job id. */
static void components_are_named_by_offsets(void **state)
{
    struct depend d;
    struct str out = STR_INIT;
    (void)state;
    assert_int_equal(
        depend_parse("afterok:12+5:13?20+0?after:12+5?aftercorr:9_*?singleton?afterok:9_3+1",
                     DEPEND_ITEMS_MAX, &d, NULL),
        0);
    assert_int_equal(d.items.len, 7);
    assert_true(d.items.data[6].has_offset && d.items.data[6].element == 3);
    assert_true(d.items.data[0].has_offset && d.items.data[2].has_offset);
    assert_false(d.items.data[1].has_offset || d.items.data[3].has_offset);
    assert_int_equal(d.items.data[0].offset, 5);
    assert_int_equal(d.items.data[3].delay_min, 5);
    d.items.data[0].job_id = 17;
    d.items.data[4].of_array = true;
    depend_format_request(&d, &out);
    assert_string_equal(str_cstr(&out), "afterok:17?afterok:13?afterany:20?after:12+5?"
                                        "aftercorr:9_*?singleton?afterok:9_3");
    str_done(&out);
    depend_done(&d);
}

/* The state of each kind when its job has begun, and when it is over in these states. */
static void each_kind_of_dependency_has_its_condition(void **state)
{
    static const struct {
        const char *text;
        enum depend_state begun, completed, failed, cancelled;
    } v[] = {
        {"after:7", DEPEND_FULFILLED, DEPEND_FULFILLED, DEPEND_FULFILLED, DEPEND_FULFILLED},
        {"afterany:7", DEPEND_UNFULFILLED, DEPEND_FULFILLED, DEPEND_FULFILLED, DEPEND_FULFILLED},
        {"afterburstbuffer:7", DEPEND_UNFULFILLED, DEPEND_FULFILLED, DEPEND_FULFILLED,
         DEPEND_FULFILLED},
        {"afterok:7", DEPEND_UNFULFILLED, DEPEND_FULFILLED, DEPEND_FAILED, DEPEND_FAILED},
        {"aftercorr:7", DEPEND_UNFULFILLED, DEPEND_FULFILLED, DEPEND_FAILED, DEPEND_FAILED},
        {"afternotok:7", DEPEND_UNFULFILLED, DEPEND_FAILED, DEPEND_FULFILLED, DEPEND_FULFILLED},
        {"expand:7", DEPEND_FULFILLED, DEPEND_FAILED, DEPEND_FAILED, DEPEND_FAILED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        const struct {
            struct depend_outcome o;
            enum depend_state want;
        } steps[] = {
            {{.job_id = 8, .begun = true, .over = true, .state = PB__JOB_STATE__COMPLETED},
             DEPEND_UNFULFILLED}, /* of another job */
            {{.job_id = 7}, DEPEND_UNFULFILLED},
            {{.job_id = 7, .begun = true, .state = PB__JOB_STATE__RUNNING}, v[i].begun},
            {{.job_id = 7, .begun = true, .over = true, .state = PB__JOB_STATE__COMPLETED},
             v[i].completed},
            {{.job_id = 7, .begun = true, .over = true, .state = PB__JOB_STATE__FAILED},
             v[i].failed},
            {{.job_id = 7, .begun = true, .over = true, .state = PB__JOB_STATE__CANCELLED},
             v[i].cancelled},
        };
        for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
            struct depend d;
            depend_parse(v[i].text, DEPEND_ITEMS_MAX, &d, NULL);
            depend_apply(&d, &d.items.data[0], &steps[s].o);
            print_message("%s, step %zu\n", v[i].text, s);
            assert_int_equal(depend_at(&d, 0, false), steps[s].want);
            depend_done(&d);
        }
    }
}

static void decided_dependency_does_not_change(void **state)
{
    struct depend d;
    struct depend_outcome bad = {
        .job_id = 7, .begun = true, .over = true, .state = PB__JOB_STATE__FAILED};
    struct depend_outcome good = bad;
    (void)state;
    good.state = PB__JOB_STATE__COMPLETED;
    depend_parse("afterok:7", DEPEND_ITEMS_MAX, &d, NULL);
    assert_true(depend_apply(&d, &d.items.data[0], &bad));
    assert_false(
        depend_apply(&d, &d.items.data[0], &good)); /* it was requeued and then succeeded */
    assert_int_equal(depend_at(&d, 0, false), DEPEND_FAILED);
    depend_done(&d);
}

static void comma_means_all_and_question_mark_any(void **state)
{
    static const struct {
        const char *text, *states, *shown;
        enum depend_state want;
    } v[] = {
        {"afterok:1:2", "fu", "afterok:2(unfulfilled)", DEPEND_UNFULFILLED},
        {"afterok:1:2", "ff", "", DEPEND_FULFILLED},
        {"afterok:1:2", "fx", "afterok:1(fulfilled),afterok:2(failed)", DEPEND_FAILED},
        {"afterok:1:2", "ux", "afterok:1(unfulfilled),afterok:2(failed)", DEPEND_FAILED},
        {"afterok:1?afterok:2", "ux", "afterok:1(unfulfilled)?afterok:2(failed)",
         DEPEND_UNFULFILLED},
        {"afterok:1?afterok:2", "xx", "afterok:1(failed)?afterok:2(failed)", DEPEND_FAILED},
        {"afterok:1?afterok:2", "uf", "", DEPEND_FULFILLED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct depend d;
        struct str out = STR_INIT, packed = STR_INIT;
        depend_parse(v[i].text, DEPEND_ITEMS_MAX, &d, NULL);
        assert_true(depend_unpack(&d, v[i].states));
        depend_pack(&d, &packed);
        assert_string_equal(str_cstr(&packed), v[i].states);
        assert_int_equal(depend_at(&d, 0, false), v[i].want);
        depend_format(NULL, &d, 0, false, &out);
        assert_string_equal(str_cstr(&out), v[i].shown);
        assert_false(depend_unpack(&d, "u"));
        str_done(&out);
        str_done(&packed);
        depend_done(&d);
    }
}

static void delay_counts_from_the_start_of_the_job(void **state)
{
    struct depend d;
    struct str out = STR_INIT;
    struct depend_outcome o = {
        .job_id = 7, .begun = true, .state = PB__JOB_STATE__RUNNING, .begun_at = 1000};
    (void)state;
    depend_parse("after:7+2", DEPEND_ITEMS_MAX, &d, NULL);
    assert_int_equal(depend_next_at(&d, 1000), 0);
    depend_apply(&d, &d.items.data[0], &o);
    assert_int_equal(depend_next_at(&d, 1000), 1120);
    assert_int_equal(depend_at(&d, 1119, false), DEPEND_UNFULFILLED);
    depend_format(NULL, &d, 1119, false, &out);
    assert_string_equal(str_cstr(&out), "after:7+2(unfulfilled)");
    assert_int_equal(depend_at(&d, 1120, false), DEPEND_FULFILLED);
    assert_int_equal(depend_next_at(&d, 1120), 0);
    str_done(&out);
    depend_done(&d);
}

static void unknown_job_fulfils_no_dependency_on_success(void **state)
{
    static const struct {
        const char *text;
        enum depend_state want;
    } v[] = {
        {"after:7", DEPEND_FULFILLED},
        {"afterany:7", DEPEND_FULFILLED},
        {"afterburstbuffer:7", DEPEND_FULFILLED},
        {"afterok:7", DEPEND_FAILED},
        {"afternotok:7", DEPEND_FAILED},
        {"aftercorr:7", DEPEND_FAILED},
        {"expand:7", DEPEND_FAILED},
        {"singleton", DEPEND_UNFULFILLED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct depend d;
        depend_parse(v[i].text, DEPEND_ITEMS_MAX, &d, NULL);
        depend_apply_unknown(&d, &d.items.data[0]);
        assert_int_equal(d.items.data[0].state, v[i].want);
        depend_done(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_dependencies_are_refused),
        cmocka_unit_test(dependencies_are_shown_with_their_state),
        cmocka_unit_test(a_repeated_item_is_kept_once),
        cmocka_unit_test(components_are_named_by_offsets),
        cmocka_unit_test(each_kind_of_dependency_has_its_condition),
        cmocka_unit_test(decided_dependency_does_not_change),
        cmocka_unit_test(comma_means_all_and_question_mark_any),
        cmocka_unit_test(delay_counts_from_the_start_of_the_job),
        cmocka_unit_test(unknown_job_fulfils_no_dependency_on_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
