/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "slurmd/node/users.h"

#define TEXT(s) s, sizeof(s) /* with its last NUL */

static void test_invalid_answers_are_refused(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        const char *why;
    } vectors[] = {
        {"", 0, "the look-up of user id 7 ended without an answer; it may take 60 s"},
        {TEXT(""), "gave no sense"},
        {"U", 1, "gave no sense"},
        {TEXT("X"), "gave no sense"},
        {TEXT("UX"), "gave no sense"},
        {"U\0ann\0/home\0/bin/sh", 19, "gave no sense"}, /* cut off */
        {TEXT("E"), ""},
        {TEXT("E\0no such user"), "no such user"},
        {TEXT("U"), "gave too little"},
        {TEXT("U\0ann"), "gave too little"},
        {TEXT("U\0ann\0/home"), "gave too little"},
        {TEXT("U\0\0/home\0/bin/sh\0001"), "gave too little"},
        {TEXT("U\0ann\0/home\0\0001"), "gave too little"},
        {TEXT("U\0ann\0/home\0/bin/sh\0x"), "cannot use the groups of user ann"},
        {TEXT("U\0ann\0/home\0/bin/sh\0001\0"), "cannot use the groups of user ann"},
        {TEXT("U\0ann\0/home\0/bin/sh\000-1"), "cannot use the groups of user ann"},
        {TEXT("U\0ann\0/home\0/bin/sh\0004294967296"), "cannot use the groups of user ann"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct user u = {.uid = 7};
        struct err err = {0};

        assert_int_equal(users_parse(vectors[i].text, vectors[i].len, &u, &err), -ERR_USER);
        assert_non_null(strstr(err.text, vectors[i].why));
        assert_null(u.name);
    }
}

static void test_answer_is_parsed(void **state)
{
    struct user u = {.uid = 7};

    assert_int_equal(users_parse(TEXT("U\0ann\0\0/bin/sh\0007\0004294967295"), &u, NULL), 0);
    assert_string_equal(u.name, "ann");
    assert_string_equal(u.home, "");
    assert_string_equal(u.shell, "/bin/sh");
    assert_int_equal(u.group_count, 2);
    assert_int_equal(u.groups[0], 7);
    assert_int_equal(u.groups[1], 4294967295u);
    free(u.name);
    free(u.home);
    free(u.shell);
    free(u.groups);
}

/* The main function of the child process, called directly. */
static void test_lookup_process_answers(void **state)
{
    static const char *const bad[] = {"", "1", "1:", ":1", "a:b", "1:1x", "1:1:1"};
    const struct passwd *me = getpwuid(geteuid());
    _cleanup_free_ char *who = mem_printf("%u:%u", (unsigned)geteuid(), (unsigned)getegid());
    char text[65536];
    struct user u = {.uid = geteuid()};
    int ends[2], out = dup(1);
    ssize_t n;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(users_look_up(bad[i]), 1);
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    dup2(ends[1], 1);
    assert_int_equal(users_look_up(who), 0);
    dup2(out, 1);
    alarm(0);
    n = read(ends[0], text, sizeof(text));
    assert_true(n > 0);
    assert_int_equal(users_parse(text, (size_t)n, &u, NULL), 0);
    assert_string_equal(u.name, me->pw_name);
    assert_string_equal(u.home, me->pw_dir);
    assert_true(u.group_count > 0 && u.groups[0] == getegid());
    free(u.name);
    free(u.home);
    free(u.shell);
    free(u.groups);
    close(ends[0]);
    close(ends[1]);
    close(out);
}

struct told {
    struct loop *loop;
    unsigned times;
    struct err err;
};

static void on_user(void *ctx, uint64_t tag, const struct user *user, const struct err *why)
{
    struct told *t = ctx;

    assert_null(user);
    t->times++;
    t->err = *why;
    loop_stop(t->loop);
}

static void test_failing_lookup_process_is_reported(void **state)
{
    static const struct {
        const char *program, *why;
    } vectors[] = {{"/no/such/program", "cannot run /no/such/program"},
                   {"/bin/true", "the look-up of user id 7 ended without an answer"},
                   {"/bin/echo", "the look-up of user id 7 gave no sense"}};

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct told t = {.loop = loop_new(0)};
        struct user_cache *c = users_new(t.loop, vectors[i].program);

        users_ask(c, 7, 7, on_user, &t, 1);
        if (!t.times)
            loop_run(t.loop);
        assert_int_equal(t.times, 1);
        assert_non_null(strstr(t.err.text, vectors[i].why));
        users_ask(c, 7, 7, on_user, &t, 1); /* and one question that is never answered */
        users_free(c);
        loop_free(t.loop);
    }
}

static void on_groups(void *ctx, uint64_t tag, const struct user *user, const struct err *why)
{
    struct told *t = ctx;

    assert_non_null(user);
    assert_int_equal(user->gid, tag);
    assert_int_equal(user->groups[0], tag);
    t->times++;
    loop_stop(t->loop);
}

/* The answer is cached per user and group, not per user. */
static void test_answers_are_cached_per_user_and_group(void **state)
{
    static const char text[] = "#!/bin/sh\nprintf 'U\\0ann\\0/home\\0/bin/sh\\0%s\\0' ${2#*:}\n";
    static const gid_t gids[] = {7, 8, 7, 8};
    char path[] = "/tmp/users_test.XXXXXX";
    int fd = mkstemp(path);
    struct told t = {.loop = loop_new(0)};
    struct user_cache *c = users_new(t.loop, path);

    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
    for (unsigned i = 0; i < sizeof(gids) / sizeof(gids[0]); i++) {
        users_ask(c, 7, gids[i], on_groups, &t, gids[i]);
        if (t.times == i)
            loop_run(t.loop);
        assert_int_equal(t.times, i + 1);
    }
    users_free(c);
    loop_free(t.loop);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_answers_are_refused),
        cmocka_unit_test(test_answer_is_parsed),
        cmocka_unit_test(test_lookup_process_answers),
        cmocka_unit_test(test_failing_lookup_process_is_reported),
        cmocka_unit_test(test_answers_are_cached_per_user_and_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
