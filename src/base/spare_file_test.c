/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "base/spare_file.h"

static char dir[] = "/tmp/spare_file-XXXXXX";
static char spares[64], file[64], other[64];

static int setup(void **state)
{
    memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
    if (!mkdtemp(dir))
        return -1;
    snprintf(spares, sizeof(spares), "%s/spare", dir);
    snprintf(file, sizeof(file), "%s/1.0", dir);
    snprintf(other, sizeof(other), "%s/2.0", dir);
    return mkdir(spares, 0700);
}

static int remove_all(const char *path)
{
    DIR *d = opendir(path);
    int count = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            count += unlinkat(dirfd(d), e->d_name, 0) == 0;
    if (d)
        closedir(d);
    rmdir(path);
    return count;
}

static int teardown(void **state)
{
    remove_all(spares);
    remove_all(dir);
    return 0;
}

static void check_content(const char *path, const char *wanted)
{
    _cleanup_str_ struct str text = STR_INIT;
    assert_int_equal(path_read_file(path, 1000, &text, NULL), 0);
    assert_string_equal(str_cstr(&text), wanted);
}

static ino_t inode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    return st.st_ino;
}

static int write_text(const char *path, const char *text, bool replace)
{
    return spare_file_write(spares, path, text, strlen(text), replace, NULL);
}

static void removed_file_is_reused_for_the_next_one(void **state)
{
    assert_int_equal(write_text(file, "a longer text", false), 0);
    char spare[80];
    ino_t inode = inode_of(file);
    snprintf(spare, sizeof(spare), "%s/0", spares);
    spare_file_remove(spares, file);
    assert_int_equal(access(file, F_OK), -1);
    check_content(spare, "");
    assert_int_equal(write_text(other, "short", false), 0);
    assert_int_equal(inode_of(other), inode);
    check_content(other, "short");
}

static void existing_file_is_kept_unless_it_may_be_replaced(void **state)
{
    struct err err = {0};
    assert_int_equal(write_text(file, "first", false), 0);
    assert_int_equal(spare_file_write(spares, file, "x", 1, false, &err), -EEXIST);
    assert_non_null(strstr(err.text, file));
    check_content(file, "first");
    assert_int_equal(write_text(file, "second", true), 0);
    check_content(file, "second");
    unlink(file);
    assert_int_equal(remove_all(dir), 0); /* no temporary file is left */
}

static void directory_of_spares_may_be_missing(void **state)
{
    rmdir(spares);
    assert_int_equal(write_text(file, "text", false), 0);
    check_content(file, "text");
    spare_file_remove(spares, file);
    assert_int_equal(access(file, F_OK), -1);
}

static void few_spares_are_kept(void **state)
{
    char path[SPARE_FILES + 3][80];
    for (int i = 0; i < SPARE_FILES + 3; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%d.1", dir, i);
        assert_int_equal(write_text(path[i], "text", false), 0);
    }
    for (int i = 0; i < SPARE_FILES + 3; i++) {
        spare_file_remove(spares, path[i]);
        assert_int_equal(access(path[i], F_OK), -1);
    }
    assert_int_equal(remove_all(spares), SPARE_FILES);
}

/* Processes that write and remove concurrently never share an inode. */
static void processes_do_not_share_a_spare(void **state)
{
    enum { PROCESSES = 4, ROUNDS = 2000 };
    pid_t pids[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        pids[p] = fork();
        if (pids[p])
            continue;
        char path[80], text[32];
        snprintf(path, sizeof(path), "%s/p%d", dir, p);
        for (int i = 0; i < ROUNDS; i++) {
            _cleanup_str_ struct str got = STR_INIT;
            snprintf(text, sizeof(text), "process %d round %d", p, i);
            if (write_text(path, text, false) || path_read_file(path, 100, &got, NULL) ||
                strcmp(str_cstr(&got), text))
                _exit(1);
            spare_file_remove(spares, path);
        }
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(removed_file_is_reused_for_the_next_one, setup, teardown),
        cmocka_unit_test_setup_teardown(existing_file_is_kept_unless_it_may_be_replaced, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(directory_of_spares_may_be_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(few_spares_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_do_not_share_a_spare, setup, teardown),
    };
    return cmocka_run_group_tests_name("spare_file", tests, NULL, NULL);
}
