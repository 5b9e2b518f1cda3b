/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

/* AddressSanitizer by itself would end the process before our own code sees the NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* Out of memory: a message and SIGABRT, in a child that may have 'data' bytes. */
static void exhaust_below_a_limit(rlim_t data, const char *message)
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit none = {0}, some = {data, RLIM_INFINITY};
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_DATA, &some);
        signal(SIGABRT, SIG_DFL);
        dup2(out[1], STDERR_FILENO);
        volatile size_t huge = SIZE_MAX / 4;
        free(mem_alloc_array(huge, 16));
        _exit(0);
    }
    close(out[1]);
    char text[8192] = "";
    size_t len = 0;
    for (ssize_t n; (n = read(out[0], text + len, sizeof(text) - 1 - len)) > 0;)
        len += (size_t)n;
    assert_non_null(strstr(text, message));
    close(out[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void exhaustion_aborts_with_a_message(void **state)
{
    exhaust_below_a_limit(RLIM_INFINITY, "fatal: out of memory\n");
}

static void the_message_names_a_limit(void **state)
{
    exhaust_below_a_limit(UINT64_C(1) << 40, "fatal: out of memory: RLIMIT_DATA is 1073741824 KiB, "
                                             "raise it with 'ulimit -d'\n");
}

static void null_gives_null(void **state)
{
    assert_null(mem_dup(NULL, 5));
    assert_null(mem_strdup(NULL));
    assert_null(mem_strndup(NULL, 5));
    mem_wipe(NULL, 5);
}

static void zero_bytes_give_a_pointer(void **state)
{
    _cleanup_free_ char *a = mem_alloc(0), *b = mem_alloc_array(0, 8), *c = mem_realloc(NULL, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
}

static void copies_are_complete_and_terminated(void **state)
{
    _cleanup_free_ char *zero = mem_alloc(100), *whole = mem_strdup("abc");
    _cleanup_free_ char *part = mem_strndup("abcdef", 3), *more = mem_strndup("ab", 30);
    _cleanup_free_ char *text = mem_printf("%s-%d", "n", 7), *bytes = mem_dup("a\0b", 3);
    for (int i = 0; i < 100; i++)
        assert_int_equal(zero[i], 0);
    assert_string_equal(whole, "abc");
    assert_string_equal(part, "abc");
    assert_string_equal(more, "ab");
    assert_string_equal(text, "n-7");
    assert_memory_equal(bytes, "a\0b", 3);
    mem_wipe(whole, 3);
    assert_memory_equal(whole, "\0\0\0", 4);
}

static void taking_leaves_nothing(void **state)
{
    char *p = mem_strdup("x"), *before = p;
    char *taken = take_ptr(p);
    assert_ptr_equal(taken, before);
    assert_null(p);
    free(taken);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), copy;
    {
        _cleanup_close_ int held = fd;
        copy = take_fd(&held);
        assert_int_equal(held, -1);
    }
    assert_int_equal(copy, fd);
    {
        _cleanup_close_ int held = fd;
        assert_true(fcntl(held, F_GETFD) >= 0);
    }
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exhaustion_aborts_with_a_message),
        cmocka_unit_test(the_message_names_a_limit),
        cmocka_unit_test(null_gives_null),
        cmocka_unit_test(zero_bytes_give_a_pointer),
        cmocka_unit_test(copies_are_complete_and_terminated),
        cmocka_unit_test(taking_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
