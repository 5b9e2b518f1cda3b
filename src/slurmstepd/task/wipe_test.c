/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/wipe.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void create_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

/* Symbolic links are removed; their targets stay. */
static void test_links_are_not_followed(void **state)
{
    char top[] = "/tmp/wipe.XXXXXX";

    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    assert_int_equal(mkdir("mine", 0700) + mkdir("mine/a", 0700) + mkdir("mine/a/b", 0700), 0);
    assert_int_equal(mkdir("other", 0700), 0);
    create_file("other/kept");
    create_file("mine/a/b/file");
    assert_int_equal(symlink("../other", "mine/link") + symlink("/", "mine/a/root"), 0);
    wipe_tree("mine");
    assert_int_not_equal(access("mine", F_OK), 0);
    assert_int_equal(access("other/kept", F_OK), 0);
    assert_int_equal(symlink("other", "link"), 0);
    wipe_tree("link"); /* nor the first one */
    wipe_tree("absent");
    assert_int_equal(access("other/kept", F_OK), 0);
    wipe_tree("other");
    assert_int_equal(unlink("link") + chdir("/") + rmdir(top), 0);
}

/* Trees deeper than a single descent allows. */
static void test_deep_trees_are_removed(void **state)
{
    char top[] = "/tmp/wipe.XXXXXX";

    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    assert_int_equal(mkdir("job", 0700) + mkdir("other", 0700), 0);
    create_file("other/kept");
    assert_int_equal(chdir("job"), 0);
    for (int i = 0; i < 300; i++) {
        create_file("lifted.0"); /* as what is lifted is called there */
        assert_int_equal(mkdir("deep", 0700) + chdir("deep"), 0);
    }
    assert_int_equal(chdir(top) + symlink("../../../other", "job/deep/deep/link"), 0);
    wipe_tree_whole("job");
    assert_int_not_equal(access("job", F_OK), 0);
    assert_int_equal(symlink("other", "link"), 0);
    wipe_tree_whole("link");
    wipe_tree_whole("absent");
    assert_int_equal(access("other/kept", F_OK), 0);
    wipe_tree_whole("other");
    assert_int_equal(unlink("link") + chdir("/") + rmdir(top), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links_are_not_followed),
                                       cmocka_unit_test(test_deep_trees_are_removed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
