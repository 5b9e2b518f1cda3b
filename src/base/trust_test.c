/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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
#include "base/trust.h"

#define SLURM 4710
#define EVE 4711

static char folder[64];

static const char *format_test_path(const char *name)
{
    static char path[4][256];
    static unsigned next;
    char *p = path[next++ % 4];

    snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
    return p;
}

static void make_owned_file(const char *name, uid_t owner, mode_t mode)
{
    _cleanup_close_ int fd =
        open(format_test_path(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, owner, 0), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

static void make_dir(const char *name, uid_t owner, mode_t mode)
{
    assert_int_equal(mkdir(format_test_path(name), 0700), 0);
    assert_int_equal(chown(format_test_path(name), owner, 0), 0);
    assert_int_equal(chmod(format_test_path(name), mode), 0);
}

static int check_file(const char *name, struct err *err)
{
    static const uid_t owners[] = {SLURM};

    return trust_check(format_test_path(name), owners, 1, err);
}

static void assert_refused(const char *name, const char *text, const char *advice)
{
    struct err err = {0};

    assert_int_equal(check_file(name, &err), -ERR_ACCESS);
    if (!strstr(err.text, text) || !strstr(err.text, advice))
        fail_msg("%s: not what was expected (%s, %s)", err.text, text, advice);
}

static int set_up(void **state)
{
    if (geteuid() != 0)
        return 0;
    snprintf(folder, sizeof(folder), "/tmp/trust_test.XXXXXX");
    return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    return geteuid() != 0 || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -1;
}

static void missing_and_relative_paths_are_refused(void **state)
{
    struct err err = {0};

    assert_int_equal(trust_check("relative", NULL, 0, &err), -ERR_ACCESS);
    if (geteuid() != 0)
        skip();
    assert_int_equal(check_file("none", &err), -ENOENT);
    assert_non_null(strstr(err.text, "/none"));
    assert_int_equal(symlink("loop", format_test_path("loop")), 0);
    assert_int_equal(check_file("loop", &err), -ELOOP);
    assert_int_equal(trust_check("/", NULL, 0, &err), 0);
    assert_int_equal(trust_check(folder, NULL, 0, &err), 0);
}

static void files_that_others_may_change_are_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    make_owned_file("root", 0, 0644);
    make_owned_file("slurm", SLURM, 0600);
    make_owned_file("eve", EVE, 0600);
    make_owned_file("open", 0, 0646);
    make_owned_file("group", 0, 0664);
    assert_int_equal(check_file("root", NULL), 0);
    assert_int_equal(check_file("slurm", NULL), 0);
    assert_refused("eve", "belongs to uid 4711, who could change it", "chown root /tmp/");
    assert_refused("open", "0646", "chmod go-w");
    assert_int_equal(check_file("group", NULL), 0); /* root's group */
    assert_int_equal(chown(format_test_path("group"), 0, EVE), 0);
    assert_refused("group", "0664", "chmod go-w");
}

static void directories_that_others_may_change_are_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    make_dir("eve", EVE, 0755);
    make_dir("eve/roots", 0, 0755);
    make_owned_file("eve/roots/file", 0, 0644);
    assert_refused("eve/roots/file", "belongs to uid 4711, who could put something else",
                   "chown root");
    assert_refused("eve/roots", "could put something else in its place", "/eve");
    make_dir("open", 0, 0777);
    make_owned_file("open/file", 0, 0644);
    assert_refused("open/file", "0777: others could put something else in its place", "chmod go-w");
    assert_refused("open", "0777: others may write to it", "chmod go-w");
    make_dir("slurm", SLURM, 0700);
    make_owned_file("slurm/file", 0, 0644);
    assert_int_equal(check_file("slurm/file", NULL), 0);
    /* As /tmp: other users create files there, but cannot replace ours. */
    make_dir("sticky", 0, 01777);
    make_owned_file("sticky/roots", 0, 0644);
    make_owned_file("sticky/eves", EVE, 0644);
    assert_int_equal(check_file("sticky/roots", NULL), 0);
    assert_refused("sticky/eves", "who could change it", "chown");
    assert_refused("sticky", "1777", "chmod go-w"); /* itself no place to put things */
    assert_int_equal(check_file("sticky/.", NULL), 0);
    assert_refused("open/.", "0777", "chmod go-w");
    assert_int_equal(check_file("open/../slurm/file", NULL), -ERR_ACCESS);
    assert_int_equal(check_file("slurm/../slurm/./file", NULL), 0);
}

static void links_of_others_are_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    make_owned_file("file", 0, 0644);
    make_dir("sticky", 0, 01777);
    make_dir("eve", EVE, 0755);
    make_owned_file("eve/file", 0, 0644);
    assert_int_equal(symlink("file", format_test_path("link")), 0);
    assert_int_equal(symlink(format_test_path("link"), format_test_path("sticky/roots")), 0);
    assert_int_equal(symlink("../link", format_test_path("sticky/eves")), 0);
    assert_int_equal(lchown(format_test_path("sticky/eves"), EVE, 0), 0);
    assert_int_equal(symlink("eve/file", format_test_path("into")), 0);
    assert_int_equal(symlink("../file", format_test_path("eve/out")), 0);
    assert_int_equal(check_file("link", NULL), 0);
    assert_int_equal(check_file("sticky/roots", NULL), 0);
    assert_refused("sticky/eves", "4711, who could put something else", "chown");
    assert_refused("into", "/eve belongs to uid 4711", "chown");
    assert_refused("eve/out", "/eve belongs to uid 4711",
                   "chown"); /* she could turn it elsewhere */
    assert_int_equal(symlink(".", format_test_path("here")), 0);
    /* Relative to the parent directory. */
    assert_int_equal(check_file("here/here/../file", NULL), -ENOENT);
    assert_int_equal(check_file("here/here/file", NULL), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing_and_relative_paths_are_refused),
        TEST(files_that_others_may_change_are_refused),
        TEST(directories_that_others_may_change_are_refused),
        TEST(links_of_others_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
