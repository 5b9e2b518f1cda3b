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

static const char *in(const char *name)
{
    static char path[4][256];
    static unsigned next;
    char *p = path[next++ % 4];

    snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
    return p;
}

static void make(const char *name, uid_t owner, mode_t mode)
{
    _cleanup_close_ int fd = open(in(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, owner, 0), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

static void make_dir(const char *name, uid_t owner, mode_t mode)
{
    assert_int_equal(mkdir(in(name), 0700), 0);
    assert_int_equal(chown(in(name), owner, 0), 0);
    assert_int_equal(chmod(in(name), mode), 0);
}

static int check(const char *name, struct err *err)
{
    static const uid_t owners[] = {SLURM};

    return trust_check(in(name), owners, 1, err);
}

static void refused(const char *name, const char *text, const char *advice)
{
    struct err err = {0};

    assert_int_equal(check(name, &err), -ERR_ACCESS);
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

static void nothing_there(void **state)
{
    struct err err = {0};

    assert_int_equal(trust_check("relative", NULL, 0, &err), -ERR_ACCESS);
    if (geteuid() != 0)
        skip();
    assert_int_equal(check("none", &err), -ENOENT);
    assert_non_null(strstr(err.text, "/none"));
    assert_int_equal(symlink("loop", in("loop")), 0);
    assert_int_equal(check("loop", &err), -ELOOP);
    assert_int_equal(trust_check("/", NULL, 0, &err), 0);
    assert_int_equal(trust_check(folder, NULL, 0, &err), 0);
}

static void files(void **state)
{
    if (geteuid() != 0)
        skip();
    make("root", 0, 0644);
    make("slurm", SLURM, 0600);
    make("eve", EVE, 0600);
    make("open", 0, 0646);
    make("group", 0, 0664);
    assert_int_equal(check("root", NULL), 0);
    assert_int_equal(check("slurm", NULL), 0);
    refused("eve", "belongs to uid 4711, who could change it", "chown root /tmp/");
    refused("open", "0646", "chmod go-w");
    assert_int_equal(check("group", NULL), 0); /* of root */
    assert_int_equal(chown(in("group"), 0, EVE), 0);
    refused("group", "0664", "chmod go-w");
}

static void directories(void **state)
{
    if (geteuid() != 0)
        skip();
    make_dir("eve", EVE, 0755);
    make_dir("eve/roots", 0, 0755);
    make("eve/roots/file", 0, 0644);
    refused("eve/roots/file", "belongs to uid 4711, who could put something else", "chown root");
    refused("eve/roots", "could put something else in its place", "/eve");
    make_dir("open", 0, 0777);
    make("open/file", 0, 0644);
    refused("open/file", "0777: others could put something else in its place", "chmod go-w");
    refused("open", "0777: others may write to it", "chmod go-w");
    make_dir("slurm", SLURM, 0700);
    make("slurm/file", 0, 0644);
    assert_int_equal(check("slurm/file", NULL), 0);
    make_dir("sticky", 0, 01777); /* as /tmp: others put things there, but move none of ours */
    make("sticky/roots", 0, 0644);
    make("sticky/eves", EVE, 0644);
    assert_int_equal(check("sticky/roots", NULL), 0);
    refused("sticky/eves", "who could change it", "chown");
    refused("sticky", "1777", "chmod go-w"); /* itself no place to put things */
    assert_int_equal(check("sticky/.", NULL), 0);
    refused("open/.", "0777", "chmod go-w");
    assert_int_equal(check("open/../slurm/file", NULL), -ERR_ACCESS);
    assert_int_equal(check("slurm/../slurm/./file", NULL), 0);
}

static void links(void **state)
{
    if (geteuid() != 0)
        skip();
    make("file", 0, 0644);
    make_dir("sticky", 0, 01777);
    make_dir("eve", EVE, 0755);
    make("eve/file", 0, 0644);
    assert_int_equal(symlink("file", in("link")), 0);
    assert_int_equal(symlink(in("link"), in("sticky/roots")), 0);
    assert_int_equal(symlink("../link", in("sticky/eves")), 0);
    assert_int_equal(lchown(in("sticky/eves"), EVE, 0), 0);
    assert_int_equal(symlink("eve/file", in("into")), 0);
    assert_int_equal(symlink("../file", in("eve/out")), 0);
    assert_int_equal(check("link", NULL), 0);
    assert_int_equal(check("sticky/roots", NULL), 0);
    refused("sticky/eves", "4711, who could put something else", "chown");
    refused("into", "/eve belongs to uid 4711", "chown");
    refused("eve/out", "/eve belongs to uid 4711", "chown"); /* she could turn it elsewhere */
    assert_int_equal(symlink(".", in("here")), 0);
    assert_int_equal(check("here/here/../file", NULL), -ENOENT); /* of the folder above */
    assert_int_equal(check("here/here/file", NULL), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_there),
        TEST(files),
        TEST(directories),
        TEST(links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
