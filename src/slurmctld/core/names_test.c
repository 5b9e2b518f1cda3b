/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Against this machine's own accounts, whatever they are. */
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "slurmctld/core/names.h"

#define NOBODY_UID 3999999999u

static struct loop *loop;
static unsigned news;
static int64_t now_ms;

/* The clock of answers, which the tests move (linked with --wrap=loop_mono_ms). */
int64_t __wrap_loop_mono_ms(void);
int64_t __wrap_loop_mono_ms(void)
{
    return now_ms;
}

static int setup(void **state)
{
    loop = loop_new(1);
    news = 0;
    return 0;
}

static int teardown(void **state)
{
    loop_free(loop);
    return 0;
}

static void on_news(void *ctx)
{
    news++;
    loop_stop(loop);
}

static void unknown_user_has_no_name(void **state)
{
    struct names *n = names_new(loop, on_news, NULL);
    assert_null(names_user(n, NOBODY_UID));
    assert_null(names_user(n, NOBODY_UID));
    assert_null(names_group(n, NOBODY_UID));
    assert_false(names_in_group(n, 0, "no such group here"));
    assert_false(names_in_group(n, 0, ""));
    assert_false(names_in_group(n, NOBODY_UID, "root"));
    names_free(n);
}

/* Looked up by a worker, by name. A negative result is valid for a second, because the user may be
   created. */
static void ids_of_a_user_are_found(void **state)
{
    struct names *n = names_new(loop, on_news, NULL);
    uint32_t uid = 7, gid = 7;
    assert_false(names_has_ids(n, "root"));
    assert_false(names_has_ids(n, "no such user here"));
    while (news < 2)
        loop_run(loop);
    assert_true(names_has_ids(n, "root") && names_has_ids(n, "no such user here"));
    assert_false(names_ids(n, "no such user here", &uid, &gid));
    assert_int_equal(uid, 7);
    assert_int_equal(gid, 7);
    assert_true(names_ids(n, "root", &uid, &gid));
    assert_int_equal(uid, 0);
    assert_int_equal(gid, getpwnam("root")->pw_gid);
    now_ms += 999;
    assert_true(names_has_ids(n, "no such user here"));
    now_ms++;
    assert_false(names_has_ids(n, "no such user here"));
    assert_true(names_has_ids(n, "root"));
    while (news < 3)
        loop_run(loop);
    assert_true(names_has_ids(n, "no such user here"));
    names_free(n);
}

static void every_account_is_found(void **state)
{
    struct names *n = names_new(loop, on_news, NULL);
    setpwent();
    for (struct passwd *p = getpwent(); p; p = getpwent()) {
        char name[256];
        snprintf(name, sizeof(name), "%s", p->pw_name);
        uint32_t uid = p->pw_uid, gid = p->pw_gid;
        const struct passwd *first = getpwuid(uid);
        if (!first || strcmp(first->pw_name, name) != 0)
            continue; /* a second name of one uid */
        assert_string_equal(names_user(n, uid), name);
        const struct group *g = getgrgid(gid);
        if (!g)
            continue;
        assert_string_equal(names_group(n, gid), g->gr_name);
        assert_true(names_in_group(n, uid, g->gr_name));
    }
    endpwent();
    names_free(n);
}

static void every_listed_member_is_in(void **state)
{
    struct names *n = names_new(loop, on_news, NULL);
    setgrent();
    for (struct group *g = getgrent(); g; g = getgrent())
        for (char **member = g->gr_mem; *member; member++) {
            const struct passwd *p = getpwnam(*member);
            if (p)
                assert_true(names_in_group(n, p->pw_uid, g->gr_name));
        }
    endgrent();
    names_forget(n);
    names_free(n);
}

/* A worker looks up unknown names: the answer is cached when on_news() is called. */
static void worker_reports_looked_up_names(void **state)
{
    struct names *n = names_new(loop, on_news, NULL);
    const struct passwd *p = getpwuid(0);
    const struct group *g = getgrgid(0);
    assert_non_null(p);
    assert_non_null(g);
    for (int i = 0; i < 2; i++) { /* asked twice, looked up once */
        assert_false(names_has_user(n, 0));
        assert_false(names_has_group(n, 0));
        assert_false(names_has_members(n, g->gr_name));
        assert_false(names_has_user(n, NOBODY_UID));
    }
    while (news < 4)
        loop_run(loop);
    assert_int_equal(news, 4);
    assert_true(names_has_user(n, 0) && names_has_group(n, 0) && names_has_members(n, g->gr_name));
    assert_true(names_has_user(n, NOBODY_UID)); /* the result that it is unknown is cached */
    assert_string_equal(names_user(n, 0), p->pw_name);
    assert_null(names_user(n, NOBODY_UID));
    assert_true(names_in_group(n, 0, g->gr_name));
    names_forget(n);
    assert_false(names_has_user(n, 0));
    names_free(n); /* with an answer on its way */
}

/* Entries older than the maximum age are looked up again on the next query. */
static void expired_names_are_looked_up_again(void **state)
{
    struct names *n = names_new(loop, on_news, NULL);
    names_set_max_age(n, 1);
    news = 0;
    assert_false(names_has_user(n, 0));
    for (unsigned looked_up = 1; looked_up <= 3; looked_up++) {
        while (news < looked_up)
            loop_run(loop);
        now_ms++;
        assert_true(names_has_user(n, 0)); /* the old answer is good until the new one is there */
    }
    names_free(n);
}

/* An entry that is dropped during its lookup is looked up again. */
static void name_dropped_during_its_lookup_is_looked_up_again(void **state)
{
    struct names *n = names_new(loop, on_news, NULL);
    assert_false(names_has_user(n, 0));
    names_forget(n);
    assert_false(names_has_user(n, 0));
    while (!names_has_user(n, 0))
        loop_run(loop);
    assert_non_null(names_user(n, 0));
    names_free(n);
}

/* More ids than the cache holds: limited, and still correct. */
static void number_of_cached_names_is_bounded(void **state)
{
    struct names *n = names_new(loop, on_news, NULL);
    for (uint32_t i = 0; i < NAMES_MAX + 10; i++)
        assert_null(names_user(n, NOBODY_UID + i));
    const struct passwd *p = getpwuid(0);
    assert_non_null(p);
    assert_string_equal(names_user(n, 0), p->pw_name);
    names_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unknown_user_has_no_name, setup, teardown),
        cmocka_unit_test_setup_teardown(ids_of_a_user_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(every_account_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(every_listed_member_is_in, setup, teardown),
        cmocka_unit_test_setup_teardown(worker_reports_looked_up_names, setup, teardown),
        cmocka_unit_test_setup_teardown(expired_names_are_looked_up_again, setup, teardown),
        cmocka_unit_test_setup_teardown(name_dropped_during_its_lookup_is_looked_up_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(number_of_cached_names_is_bounded, setup, teardown),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
