/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"

static void collect_text(void *ctx, const void *data, size_t len)
{
    str_append(ctx, data, len);
}

#define END "^D"

struct piece {
    uint32_t task;
    const char *text; /* END: end of file; NULL: no more pieces */
};

static const struct vector {
    const char *what;
    uint32_t tasks;
    bool label, direct;
    struct piece pieces[8];
    const char *expect;
} vectors[] = {
    {"a task beyond the last", 2, false, false, {{2, "x\n"}, {2, END}, {0, "a\n"}}, "a\n"},
    {"nothing", 1, true, false, {{0, ""}, {0, END}}, ""},
    {"lines do not mix",
     2,
     false,
     false,
     {{0, "ab"}, {1, "x\n"}, {0, "c\nd"}, {0, END}},
     "x\nabc\nd"},
    {"labels", 2, true, false, {{0, "a\nb"}, {1, "x\n"}, {0, "c\n"}}, "0: a\n1: x\n0: bc\n"},
    {"a labelled last line gets its end", 2, true, false, {{1, "x"}, {1, END}}, "1: x\n"},
    {"labels of one width", 11, true, false, {{2, "a\n"}, {10, "b\n"}}, " 2: a\n10: b\n"},
    {"ten tasks have one digit", 10, true, false, {{9, "a\n"}}, "9: a\n"},
    {"empty lines", 2, true, false, {{0, "\n\n"}}, "0: \n0: \n"},
    {"several lines and two parts",
     2,
     false,
     false,
     {{0, "a"}, {0, "b\nc\nd"}, {1, "-\n"}, {0, "e\n"}},
     "ab\nc\n-\nde\n"},
    {"direct passes pieces", 2, false, true, {{0, "a"}, {1, "b"}, {0, "c\n"}}, "abc\n"},
    {"direct with labels",
     2,
     true,
     true,
     {{0, "a"}, {0, "b"}, {1, "x\n"}, {0, "c\nd"}, {0, END}},
     "0: ab\n1: x\n0: c\n0: d\n"},
};

static void test_pieces_become_labelled_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const struct vector *v = &vectors[i];
        _cleanup_str_ struct str got = STR_INIT;
        struct lines *m = lines_new(&(struct lines_options){.tasks = v->tasks,
                                                            .label = v->label,
                                                            .direct = v->direct,
                                                            .out = collect_text,
                                                            .ctx = &got});

        for (const struct piece *p = v->pieces; p < v->pieces + 8 && p->text != NULL; p++) {
            if (strcmp(p->text, END) == 0)
                lines_end(m, p->task);
            else
                lines_add(m, p->task, p->text, strlen(p->text));
        }
        print_message("%s\n", v->what);
        assert_string_equal(str_cstr(&got), v->expect);
        lines_free(m);
    }
}

static void test_line_beyond_the_limit_is_written_in_pieces(void **state)
{
    _cleanup_str_ struct str got = STR_INIT;
    _cleanup_free_ char *big = mem_alloc(LINES_PENDING_MAX);
    struct lines *m = lines_new(
        &(struct lines_options){.tasks = 2, .label = true, .out = collect_text, .ctx = &got});

    (void)state;
    memset(big, 'x', LINES_PENDING_MAX);
    lines_add(m, 1, big, LINES_PENDING_MAX - 1);
    assert_int_equal(got.len, 0);
    lines_add(m, 1, "y", 1);
    assert_int_equal(got.len, 3 + LINES_PENDING_MAX);
    lines_add(m, 1, "z\n", 2); /* continues the line without a second label */
    assert_int_equal(got.len, 3 + LINES_PENDING_MAX + 2);
    lines_add(m, 1, "n\n", 2);
    assert_string_equal(got.data + got.len - 5, "1: n\n");
    lines_free(m);
}

static void test_output_of_one_selected_task_is_shown(void **state)
{
    _cleanup_str_ struct str got = STR_INIT;
    struct lines *m = lines_new(&(struct lines_options){
        .tasks = 101, .label = true, .single = true, .task = 7, .out = collect_text, .ctx = &got});

    (void)state;
    lines_add(m, 6, "other\n", 6);
    lines_add(m, 8, "other\n", 6);
    lines_add(m, 7, "a\nb", 3);
    lines_end(m, 0);
    lines_end(m, 7);
    assert_string_equal(str_cstr(&got), "  7: a\n  7: b\n");
    lines_free(m);
}

/* Binary data comes through unlabelled output unchanged, in any cut. */
static void test_binary_data_passes_unchanged_without_labels(void **state)
{
    char data[3000];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7);
    for (size_t cut = 1; cut < 600; cut += 13) {
        _cleanup_str_ struct str got = STR_INIT;
        struct lines *m =
            lines_new(&(struct lines_options){.tasks = 3, .out = collect_text, .ctx = &got});

        for (size_t at = 0; at < sizeof(data); at += cut)
            lines_add(m, 2, data + at, sizeof(data) - at < cut ? sizeof(data) - at : cut);
        lines_end(m, 2);
        assert_int_equal(got.len, sizeof(data));
        assert_memory_equal(got.data, data, sizeof(data));
        lines_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_become_labelled_lines),
        cmocka_unit_test(test_line_beyond_the_limit_is_written_in_pieces),
        cmocka_unit_test(test_output_of_one_selected_task_is_shown),
        cmocka_unit_test(test_binary_data_passes_unchanged_without_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
