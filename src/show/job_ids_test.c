/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/job_ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "show/job_state.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void invalid_job_ids_are_refused(void **state)
{
    static const char *const bad[] = {
        "_",
        "_1",
        "1_",
        "1_a",
        "1_-1",
        "1_1-2",
        "1_[",
        "1_[]",
        "1_[1",
        "1_1]",
        "1_[1-]",
        "1_[2-1]",
        "1_[1-3:0]",
        "1_[1%2]",
        "1_[1 2]",
        "1_2_3",
        "1_[1]x",
        "1_4.",
        "1_4.x",
        "1_[1,]",
        "1__4",
        "x_4",
        "1_4000001",
        "1_[0-4000001]",
        "1_4 ",
        "1_ 4",
        "1_[[1]]",
        "1+",
        "1+x",
        "1+-1",
        "1++1",
        "1+1+1",
        "1+1_2",
        "1_2+1",
        "+1",
        "1+ 1",
        "1+1.",
        "1+1.x",
        "1+[0-1]",
        "1.0+1",
        "1+99999999999",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        Pb__StepId id = PB__STEP_ID__INIT;
        struct err err = {0};
        assert_int_equal(job_ids_parse(bad[i], &id, &err), -ERR_PARSE);
        assert_non_null(strstr(err.text, bad[i]));
        assert_null(id.array_tasks);
    }
}

static void job_ids_are_parsed(void **state)
{
    static const struct {
        const char *text, *tasks, *again;
        uint32_t job;
        int step; /* -1: none */
    } rows[] = {
        {"7", NULL, "7", 7, -1},
        {"7_4", "4", "7_4", 7, -1},
        {"7_4000000", "4000000", "7_4000000", 7, -1},
        {"7_[4]", "4", "7_4", 7, -1},
        {"7_[1-5,8]", "1-5,8", "7_[1-5,8]", 7, -1},
        {"7_[0-8:4]", "0-8:4", "7_[0-8:4]", 7, -1},
        {"7_4.0", "4", "7_4.0", 7, 0},
        {"7_[1,2].3", "1,2", "7_[1,2].3", 7, 3},
        {"7+0", NULL, "7+0", 7, -1},
        {"7+12", NULL, "7+12", 7, -1},
        {"7+2.0", NULL, "7+2.0", 7, 0},
        {"7+0.batch", NULL, "7+0.batch", 7, (int)STEP_ID_BATCH},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Pb__StepId id = PB__STEP_ID__INIT;
        struct str out = STR_INIT;
        assert_int_equal(job_ids_parse(rows[i].text, &id, NULL), 0);
        assert_int_equal(id.job_id, rows[i].job);
        assert_int_equal(id.has_step_id ? (int)id.step_id : -1, rows[i].step);
        if (rows[i].tasks)
            assert_string_equal(id.array_tasks, rows[i].tasks);
        else
            assert_null(id.array_tasks);
        job_ids_put_asked(&id, &out);
        assert_string_equal(str_cstr(&out), rows[i].again);
        str_done(&out);
    }
}

static void a_word_ends_outside_brackets(void **state)
{
    assert_int_equal(job_ids_word(""), 0);
    assert_int_equal(job_ids_word(",1"), 0);
    assert_int_equal(job_ids_word("1,2"), 1);
    assert_int_equal(job_ids_word("1_[1,2],3"), 7);
    assert_int_equal(job_ids_word("1_[1 2] 3"), 7);
    assert_int_equal(job_ids_word("1_[1,2"), 6);
}

static void ids_are_shown_in_the_form_of_users(void **state)
{
    static const struct {
        const char *tasks;
        uint32_t task, throttle;
        const char *room, *text;
    } rows[] = {
        {NULL, 4, 0, NULL, "7_4"},
        {NULL, 4, 3, NULL, "7_4"},
        {"5-20", 0, 0, NULL, "7_[5-20]"},
        {"5-20", 0, 3, NULL, "7_[5-20%3]"},
        {"0-12:4", 0, 0, NULL, "7_[0,4,8,12]"},
        {"0-16:4", 0, 2, NULL, "7_[0,4,8,12,16%2]"},
        {"0-20:4", 0, 2, NULL, "7_[0-20:4%2]"},
        {"0-12:4,20", 0, 0, NULL, "7_[0,4,8,12,20]"},
        {"1-3,9", 0, 2, NULL, "7_[1-3,9%2]"},
        {"1,5,100-200:50,300", 0, 3, "12", "7_[1,5,100,...%3]"},
        {"1,5,100-200:50,300", 0, 0, "0", "7_[1,5,100,150,200,300]"},
        {"1000,1005", 0, 0, "2", "7_[1,...]"},
        {"100000-100020:5,200000-200020:5", 0, 0, NULL,
         "7_[100000,100005,100010,100015,100020,200000,200005,200010,...]"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        struct str out = STR_INIT;
        live.job_id = 9;
        live.has_array_job_id = true;
        live.array_job_id = 7;
        live.has_array_task_id = !rows[i].tasks;
        live.array_task_id = rows[i].task;
        live.array_tasks = (char *)rows[i].tasks;
        live.array_throttle = rows[i].throttle;
        if (rows[i].room)
            setenv("SLURM_BITSTR_LEN", rows[i].room, 1);
        job_ids_put(&live, &out);
        assert_string_equal(str_cstr(&out), rows[i].text);
        unsetenv("SLURM_BITSTR_LEN");
        str_done(&out);
    }
}

/* The requested elements stay, of this array only. */
static void only_requested_elements_are_kept(void **state)
{
    static const struct {
        const char *asked, *more, *left;
    } rows[] = {
        {"7", NULL, "1-9"},    {"7_4", NULL, "4"},  {"7_[3-20]", NULL, "3-9"},
        {"7_4", "7_5", "4-5"}, {"7_4", "7", "1-9"}, {"7_4", "8_5", "4"},
        {"7_77", NULL, "1-9"}, {"9", NULL, "1-9"},  {"7_[1-9:4]", NULL, "1-9:4"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        Pb__StepId ids[2] = {PB__STEP_ID__INIT, PB__STEP_ID__INIT};
        struct arena arena;
        arena_init(&arena, 0);
        live.job_id = 9;
        live.has_array_job_id = true;
        live.array_job_id = 7;
        live.array_tasks = (char *)"1-9";
        assert_int_equal(job_ids_parse(rows[i].asked, &ids[0], NULL), 0);
        if (rows[i].more)
            assert_int_equal(job_ids_parse(rows[i].more, &ids[1], NULL), 0);
        job_ids_trim(ids, rows[i].more ? 2 : 1, &live, &arena);
        char *left =
            live.array_tasks ? live.array_tasks : arena_printf(&arena, "%u", live.array_task_id);
        assert_string_equal(left, rows[i].left);
        arena_done(&arena);
    }
}

/* A step is never taken for its job; if an element is requested as a whole, its steps are not
 * listed separately. */
static void requested_parts_of_a_record_are_found(void **state)
{
    static const struct {
        const char *asked, *tasks, *targets;
    } rows[] = {
        {"", NULL, "5 "},
        {"", "1-3", "7_[1-3] "},
        {"5", NULL, "5 "},
        {"6", NULL, ""},
        {"5.0", NULL, "5.0 "},
        {"6.0", NULL, ""},
        {"5.0 5.batch 6.1", NULL, "5.0 5.batch "},
        {"5 5.0", NULL, "5 "},
        {"5_1.0", NULL, ""},
        {"7.0", "4", "7_4.0 "},
        {"7_4.0", "4", "7_4.0 "},
        {"7_5.0", "4", ""},
        {"5.0", "4", "7_4.0 "},
        {"7_[1-9].2", "1-3", "7_[1-3].2 "},
        {"7_2 7_[1-9].2", "1-3", "7_2 "},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        Pb__StepId ids[4], *found;
        struct arena arena;
        struct str out = STR_INIT;
        size_t count = 0;
        arena_init(&arena, 0);
        live.job_id = 5;
        if ((live.has_array_job_id = rows[i].tasks != NULL)) {
            live.array_job_id = 7;
            live.has_array_task_id = rows[i].tasks[1] == 0;
            live.array_task_id = live.has_array_task_id ? (uint32_t)(rows[i].tasks[0] - '0') : 0;
            live.array_tasks = live.has_array_task_id ? NULL : (char *)rows[i].tasks;
        }
        char *text = arena_strdup(&arena, rows[i].asked);
        for (char *save = NULL, *w = strtok_r(text, " ", &save); w;
             w = strtok_r(NULL, " ", &save)) {
            pb__step_id__init(&ids[count]);
            assert_int_equal(job_ids_parse(w, &ids[count++], NULL), 0);
        }
        bool has_target = false;
        for (size_t k = 0; k < count; k++)
            has_target = has_target || job_ids_has_target(&ids[k], &live);
        size_t n = job_ids_targets(ids, count, &live, &arena, &found);
        assert_int_equal(count == 0 || has_target, n > 0);
        for (size_t k = 0; k < n; k++) {
            job_ids_put_asked(&found[k], &out);
            str_putc(&out, ' ');
        }
        assert_string_equal(str_cstr(&out), rows[i].targets);
        str_done(&out);
        arena_done(&arena);
    }
}

/* Components 93+0 to 93+2 of a heterogeneous job: 94 is the job id of the second one. The job is
 * element 4 of the job array 'array'; 0: no array. */
static void ids_of_components_select_their_records(void **state)
{
    static const struct {
        const char *asked;
        uint32_t offset; /* of the record */
        const char *targets;
        uint32_t array;
    } rows[] = {
        {"", 1, "93+1 "},
        {"93", 0, "93+0 "},
        {"93", 2, "93+2 "},
        {"93+1", 1, "93+1 "},
        {"93+1", 0, ""},
        {"93+1", 2, ""},
        {"94", 1, "93+1 "},
        {"94", 0, ""},
        {"94+1", 1, ""},
        {"93.0", 0, "93.0 "}, /* of all components, and so listed once */
        {"93.0", 1, ""},
        {"93+0.0", 0, "93+0.0 "},
        {"93+1.0", 1, "93+1.0 "},
        {"94.0", 1, "93+1.0 "},
        {"91", 1, "93+1 ", 91},
        {"91_4", 1, "93+1 ", 91},
        {"91_5", 1, "", 91},
        {"93", 2, "93+2 ", 91},
        {"93+1", 1, "93+1 ", 91},
        {"93+1", 0, "", 91},
        {"91_4.0", 0, "93.0 ", 91},
        {"91_4.0", 1, "", 91},
        {"91.0", 0, "93.0 ", 91},
        {"91.0", 2, "", 91},
        {"93", 2, "93+2 ", 93},
        {"93+2", 2, "93+2 ", 93},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        Pb__StepId asked = PB__STEP_ID__INIT, *found;
        struct arena arena;
        struct str out = STR_INIT;
        arena_init(&arena, 0);
        live.job_id = 93 + rows[i].offset;
        live.has_set_id = live.has_set_offset = true;
        live.set_id = 93;
        live.set_offset = rows[i].offset;
        live.has_array_job_id = rows[i].array > 0;
        live.array_job_id = rows[i].array;
        live.array_task_id = 4;
        if (live.has_array_job_id) {
            _cleanup_free_ char *shown = mem_printf("%u_4+%u", rows[i].array, rows[i].offset);
            struct str id = STR_INIT;
            job_ids_put(&live, &id);
            assert_string_equal(str_cstr(&id), shown);
            str_done(&id);
        }
        if (*rows[i].asked)
            assert_int_equal(job_ids_parse(rows[i].asked, &asked, NULL), 0);
        bool has_target = job_ids_has_target(&asked, &live);
        size_t n = job_ids_targets(&asked, *rows[i].asked != 0, &live, &arena, &found);
        if (*rows[i].asked)
            assert_int_equal(has_target, n > 0);
        for (size_t k = 0; k < n; k++) {
            job_ids_put_asked(&found[k], &out);
            str_putc(&out, ' ');
        }
        if (!str_eq(str_cstr(&out), rows[i].targets))
            fail_msg("%s of component %u: '%s'", rows[i].asked, rows[i].offset, str_cstr(&out));
        str_done(&out);
        arena_done(&arena);
    }
}

static void id_of_a_set_is_that_of_its_leader_or_element(void **state)
{
    static const struct {
        uint32_t set, offset, array; /* 0: in none */
        const char *whole;
        uint32_t set_id;
        bool is_leader;
    } rows[] = {
        {0, 0, 0, "95", 95, true},   {0, 0, 91, "91_4", 95, true},  {95, 0, 0, "95", 95, true},
        {93, 2, 0, "93", 93, false}, {91, 0, 91, "91_4", 91, true}, {93, 2, 91, "91_4", 93, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        _cleanup_arena_ struct arena arena;
        _cleanup_str_ struct str out = STR_INIT;
        arena_init(&arena, 0);
        live.job_id = 95;
        live.has_set_id = live.has_set_offset = rows[i].set > 0;
        live.set_id = rows[i].set;
        live.set_offset = rows[i].offset;
        live.has_array_job_id = rows[i].array > 0;
        live.array_job_id = rows[i].array;
        live.array_task_id = 4;
        Pb__StepId whole = job_ids_make_whole(&live, &arena);
        job_ids_put_asked(&whole, &out);
        assert_string_equal(str_cstr(&out), rows[i].whole);
        assert_int_equal(job_ids_set_id(&live), rows[i].set_id);
        assert_int_equal(job_ids_is_leader(&live), rows[i].is_leader);
    }
}

static void a_filter_names_components(void **state)
{
    static const char *const asked[] = {"5", "93+1", "7_4", "94"};
    Pb__StepId ids[COUNT(asked)];
    Pb__JobFilter f = PB__JOB_FILTER__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < COUNT(asked); i++) {
        pb__step_id__init(&ids[i]);
        assert_int_equal(job_ids_parse(asked[i], &ids[i], NULL), 0);
    }
    job_ids_filter(ids, COUNT(asked), &f, &arena);
    assert_int_equal(f.n_job_id, 2);
    assert_int_equal(f.job_id[1], 94);
    assert_int_equal(f.n_array, 1);
    assert_int_equal(f.n_component, 1);
    assert_int_equal(f.component[0]->job_id, 93);
    assert_int_equal(f.component[0]->set_offset, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_job_ids_are_refused),
        cmocka_unit_test(job_ids_are_parsed),
        cmocka_unit_test(a_word_ends_outside_brackets),
        cmocka_unit_test(ids_are_shown_in_the_form_of_users),
        cmocka_unit_test(only_requested_elements_are_kept),
        cmocka_unit_test(requested_parts_of_a_record_are_found),
        cmocka_unit_test(ids_of_components_select_their_records),
        cmocka_unit_test(id_of_a_set_is_that_of_its_leader_or_element),
        cmocka_unit_test(a_filter_names_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
