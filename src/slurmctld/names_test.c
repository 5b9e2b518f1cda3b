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

#include "slurmctld/names.h"

#define NOBODY_UID 3999999999u

static void unknown_is_nobody(void **state)
{
    struct names *n = names_new();
    assert_null(names_user(n, NOBODY_UID));
    assert_null(names_user(n, NOBODY_UID));
    assert_null(names_group(n, NOBODY_UID));
    assert_false(names_in_group(n, 0, 0, "no such group here"));
    assert_false(names_in_group(n, 0, 0, ""));
    assert_false(names_in_group(n, NOBODY_UID, NOBODY_UID, "root"));
    names_free(n);
}

static void every_account_is_found(void **state)
{
    struct names *n = names_new();
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
        /* By the account's primary group, whatever group the caller came with, and by the latter.
         */
        assert_true(names_in_group(n, uid, NOBODY_UID, g->gr_name));
        assert_true(names_in_group(n, NOBODY_UID, gid, g->gr_name));
    }
    endpwent();
    names_free(n);
}

static void every_listed_member_is_in(void **state)
{
    struct names *n = names_new();
    setgrent();
    for (struct group *g = getgrent(); g; g = getgrent())
        for (char **member = g->gr_mem; *member; member++) {
            const struct passwd *p = getpwnam(*member);
            if (p)
                assert_true(names_in_group(n, p->pw_uid, NOBODY_UID, g->gr_name));
        }
    endgrent();
    names_forget(n);
    names_free(n);
}

/* More ids than are remembered: bounded, and still right. */
static void many_ids_are_bounded(void **state)
{
    struct names *n = names_new();
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
        cmocka_unit_test(unknown_is_nobody),
        cmocka_unit_test(every_account_is_found),
        cmocka_unit_test(every_listed_member_is_in),
        cmocka_unit_test(many_ids_are_bounded),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
