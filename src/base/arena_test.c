/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/arena.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/common.pb-c.h"
#include "proto/step.pb-c.h"

/* AddressSanitizer by itself would end the process before our own code sees the NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void allocations_beyond_the_budget_fail(void **state)
{
    _cleanup_(arena_done) struct arena a;
    arena_init(&a, 100); /* six times 16 */
    assert_null(arena_alloc(&a, 101));
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 15));
    assert_int_equal(a.used, 0);
    for (int i = 0; i < 6; i++)
        assert_non_null(arena_alloc(&a, 1));
    assert_null(arena_alloc(&a, 1));
    assert_null(arena_strdup(&a, "x"));
    assert_null(arena_printf(&a, "%d", 1));
    arena_done(&a);
    arena_init(&a, 0); /* none */
    assert_non_null(arena_alloc(&a, 1 << 20));
}

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    _cleanup_(arena_done) struct arena a;
    arena_init(&a, 0);
    unsigned char *blocks[300];
    for (size_t i = 0; i < 300; i++) {
        size_t size = i * i; /* over several chunks */
        blocks[i] = arena_alloc(&a, size);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t k = 0; k < i * i; k++)
            assert_int_equal(blocks[i][k], i & 0xff);
}

static void strings_are_copied_and_formatted(void **state)
{
    _cleanup_(arena_done) struct arena a;
    arena_init(&a, 0);
    assert_null(arena_strdup(&a, NULL));
    assert_string_equal(arena_strdup(&a, "abc"), "abc");
    assert_string_equal(arena_printf(&a, "%s-%d", "n", 7), "n-7");
}

static void pack_error(struct str *out)
{
    Pb__Error m = PB__ERROR__INIT;
    m.code = 2017;
    m.text = (char *)"no such job";
    pb_pack(&m.base, out);
}

static void unpack_takes_all_or_nothing(void **state)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    pack_error(&bytes);
    for (size_t len = 0; len <= bytes.len; len++) {
        /* A copy of exactly that length, so that a read beyond it is detected. */
        _cleanup_free_ void *part = mem_dup(bytes.data, len);
        _cleanup_(arena_done) struct arena a;
        arena_init(&a, 4096);
        Pb__Error *m = arena_unpack(&a, &pb__error__descriptor, part, len);
        if (len < bytes.len) {
            assert_null(m);
            continue;
        }
        assert_non_null(m);
        assert_int_equal(m->code, 2017);
        assert_string_equal(m->text, "no such job");
    }
    _cleanup_(arena_done) struct arena a;
    arena_init(&a, 4096);
    assert_non_null(arena_unpack(&a, &pb__empty__descriptor, NULL, 0));
    str_puts(&bytes, "\xff\xff\xff");
    assert_null(arena_unpack(&a, &pb__error__descriptor, bytes.data, bytes.len));
}

/* The cost of a few hostile bytes is limited by the budget. */
static void unpack_respects_the_budget(void **state)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    Pb__Error m = PB__ERROR__INIT;
    _cleanup_free_ char *text = mem_alloc(2001);
    memset(text, 'x', 2000);
    m.text = text;
    pb_pack(&m.base, &bytes);
    struct arena a;
    arena_init(&a, 1000);
    assert_null(arena_unpack(&a, &pb__error__descriptor, bytes.data, bytes.len));
    assert_true(a.used <= 1000);
    arena_done(&a);
    static const unsigned char huge[] = {0x08, 0x01, 0x12, 0xff, 0xff, 0xff, 0xff, 0x07, 'x'};
    arena_init(&a, 1000);
    assert_null(arena_unpack(&a, &pb__error__descriptor, huge, sizeof(huge)));
    arena_done(&a);
}

/* Many short strings, as in a long command line: kept memory counts in the budget, temporary
   memory does not. */
static void unpack_tables_do_not_count_in_the_budget(void **state)
{
    static const char *const texts[] = {"", "a", "abcdef"};
    enum { MANY = 200000 };
    _cleanup_free_ char **strings = mem_new_array(char *, MANY);

    for (size_t i = 0; i < 3; i++) {
        _cleanup_str_ struct str bytes = STR_INIT;
        _cleanup_arena_ struct arena a;
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT, *back;

        for (size_t k = 0; k < MANY; k++)
            strings[k] = (char *)texts[i];
        m.argv = strings;
        m.n_argv = MANY;
        pb_pack(&m.base, &bytes);
        arena_init(&a, bytes.len * 16 + 65536);
        back = arena_unpack(&a, &pb__launch_tasks__descriptor, bytes.data, bytes.len);
        assert_non_null(back);
        assert_int_equal(back->n_argv, MANY);
        assert_string_equal(back->argv[MANY - 1], texts[i]);
        assert_int_equal(a.apart_used, 0);
    }
}

/* Beyond their own limit they count as everything else; an allocation that only looks like a table
   survives. */
static void size_of_unpack_tables_is_bounded(void **state)
{
    _cleanup_arena_ struct arena a;
    unsigned char *kept[100];

    arena_init(&a, 4096);
    for (size_t i = 0; i < 100; i++) {
        kept[i] = a.allocator.alloc(&a, 1024);
        assert_true(i >= 68 ? !kept[i] : !!kept[i]);
        if (kept[i])
            memset(kept[i], (int)i, 1024);
    }
    assert_int_equal(a.apart_used, 64 * 1024);
    a.allocator.free(&a, kept[7]);
    a.allocator.free(&a, kept[66]);
    a.allocator.free(&a, NULL);
    assert_int_equal(a.apart_used, 63 * 1024);
    for (size_t i = 0; i < 68; i++)
        assert_true(i == 7 || kept[i][1023] == i);
    arena_reset(&a, 4096);
    assert_int_equal(a.apart_used, 0);
    assert_null(a.allocator.alloc(&a, ARENA_APART_MAX * 2ul));
    assert_non_null(a.allocator.alloc(&a, ARENA_APART_MAX));
    assert_null(a.allocator.alloc(&a, 8192));
}

static void pack_respects_the_cap(void **state)
{
    _cleanup_str_ struct str out = STR_INIT_CAP(10);
    pack_error(&out);
    assert_true(out.overflow);
    assert_int_equal(out.len, 0);
    pb_pack_field(1, "x", 1, &out); /* nothing more after the overflow */
    assert_int_equal(out.len, 0);
    str_clear(&out);
    pb_pack_field(1, "123456789", 9, &out);
    assert_true(out.overflow);
    assert_int_equal(out.len, 0);
}

static void fields_are_concatenated(void **state)
{
    static const struct {
        unsigned field;
        size_t len, head_len;
        unsigned char head[8];
    } rows[] = {
        {1, 0, 2, {0x0a, 0x00}},
        {1, 127, 2, {0x0a, 0x7f}},
        {15, 128, 3, {0x7a, 0x80, 0x01}},
        {16, 300, 4, {0x82, 0x01, 0xac, 0x02}},
        {536870911, 1, 6, {0xfa, 0xff, 0xff, 0xff, 0x0f, 0x01}},
    };
    char data[300];
    memset(data, 'd', sizeof(data));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        str_puts(&out, "before");
        pb_pack_field(rows[i].field, data, rows[i].len, &out);
        assert_int_equal(out.len, 6 + rows[i].head_len + rows[i].len);
        assert_memory_equal(out.data, "before", 6);
        assert_memory_equal(out.data + 6, rows[i].head, rows[i].head_len);
        assert_memory_equal(out.data + 6 + rows[i].head_len, data, rows[i].len);
    }
    /* Field 2 of an Error is its text. */
    _cleanup_str_ struct str bytes = STR_INIT;
    str_append(&bytes, "\x08\x05", 2);
    pb_pack_field(2, "hello", 5, &bytes);
    _cleanup_(arena_done) struct arena a;
    arena_init(&a, 0);
    Pb__Error *m = arena_unpack(&a, &pb__error__descriptor, bytes.data, bytes.len);
    assert_non_null(m);
    assert_int_equal(m->code, 5);
    assert_string_equal(m->text, "hello");
}

/* Like the first use, but with the existing memory: old content does not show. */
static void reset_keeps_memory_for_reuse(void **state)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    for (unsigned round = 0; round < 3; round++) {
        for (size_t size = 1; size < 200000; size = size * 3 + 1) {
            char *p = arena_alloc(&a, size);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(p[i], 0);
            memset(p, 'x', size);
        }
        arena_reset(&a, 100000);
        assert_int_equal(a.used, 0);
        assert_null(arena_alloc(&a, 100001));
        a.budget = 0;
    }
    char *first = arena_alloc(&a, 16);
    arena_reset(&a, 0);
    assert_ptr_equal(arena_alloc(&a, 16), first);
}

#define MUCH (64u << 20) /* bytes: more than the heap has left */

/* Otherwise a copy would be NULL, which no caller expects, and a valid file would count as
   damaged. */
static void unpack_without_memory_aborts(void **state)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    _cleanup_free_ char *text = mem_alloc(MUCH);
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT, *back;
    int status;

    memset(text, 'x', MUCH - 1);
    m.argv = &text;
    m.n_argv = 1;
    pb_pack(&m.base, &bytes);
    back = pb_unpack(&pb__launch_tasks__descriptor, bytes.data, bytes.len);
    assert_string_equal(back->argv[0], text);
    pb__launch_tasks__free_unpacked(back, NULL);
    assert_null(pb_unpack(&pb__launch_tasks__descriptor, bytes.data, bytes.len - 1));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit none = {0};

        signal(SIGABRT, SIG_DFL);
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_AS, &none);
        pb_unpack(&pb__launch_tasks__descriptor, bytes.data, bytes.len);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_beyond_the_budget_fail),
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(strings_are_copied_and_formatted),
        cmocka_unit_test(reset_keeps_memory_for_reuse),
        cmocka_unit_test(unpack_takes_all_or_nothing),
        cmocka_unit_test(unpack_respects_the_budget),
        cmocka_unit_test(unpack_tables_do_not_count_in_the_budget),
        cmocka_unit_test(size_of_unpack_tables_is_bounded),
        cmocka_unit_test(unpack_without_memory_aborts),
        cmocka_unit_test(pack_respects_the_cap),
        cmocka_unit_test(fields_are_concatenated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
