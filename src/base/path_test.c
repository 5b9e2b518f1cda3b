/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char folder[64];
static char path_buf[4][256];

/* "folder/name"; good for four calls. */
static const char *make_path(const char *name)
{
    static unsigned next;
    char *buf = path_buf[next++ % 4];
    snprintf(buf, sizeof(path_buf[0]), "%s/%s", folder, name);
    return buf;
}

static int set_up(void **state)
{
    snprintf(folder, sizeof(folder), "/tmp/path_test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void write_text(const char *path, const char *text, mode_t mode)
{
    assert_int_equal(path_write_file(path, text, strlen(text), mode, NULL), 0);
}

static void relative_paths_become_absolute(void **state)
{
    static const char *const rows[][3] = {
        {"", "/w", "/w"},          {"a", "/w", "/w/a"},
        {"/a", "/w", "/a"},        {"./a//b/", "/w/", "/w/a/b"},
        {"../a", "/w", "/w/../a"}, {"/", NULL, "/"},
        {".", "/", "/"},           {"//a/./.b", NULL, "/a/.b"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        _cleanup_free_ char *path = path_absolute(rows[i][0], rows[i][1]);
        assert_string_equal(path, rows[i][2]);
    }
    _cleanup_free_ char *cwd = getcwd(NULL, 0), *here = path_absolute(".", NULL);
    assert_string_equal(here, cwd);
}

static void mkdirs_refuses_files_and_foreign_links(void **state)
{
    struct err err = {0};
    write_text(make_path("file"), "x", 0600);
    assert_int_equal(path_mkdirs(make_path("file/a"), 0700, &err), -ENOTDIR);
    assert_non_null(strstr(err.text, "file/a"));
    assert_int_equal(path_mkdirs(make_path("file"), 0700, NULL), -ENOTDIR);
    assert_int_equal(symlink("nowhere", make_path("dangling")), 0);
    assert_true(path_mkdirs(make_path("dangling/a"), 0700, NULL) < 0);
    assert_int_equal(access(make_path("nowhere"), F_OK), -1);
    if (geteuid() == 0) { /* another user's symbolic link would choose where root writes */
        assert_int_equal(mkdir(make_path("target"), 0700), 0);
        assert_int_equal(symlink("target", make_path("theirs")), 0);
        assert_int_equal(lchown(make_path("theirs"), 12345, 12345), 0);
        assert_int_equal(path_mkdirs(make_path("theirs/a"), 0700, NULL), -ELOOP);
        assert_int_equal(access(make_path("target/a"), F_OK), -1);
    }
}

static void mkdirs_makes_what_is_missing(void **state)
{
    mode_t before = umask(077);
    assert_int_equal(path_mkdirs(make_path("a//b/./c/"), 0751, NULL), 0);
    umask(before);
    assert_int_equal(mode_of(make_path("a")), 0755); /* a parent directory: accessible */
    assert_int_equal(mode_of(make_path("a/b")), 0755);
    assert_int_equal(mode_of(make_path("a/b/c")), 0751);
    assert_int_equal(path_mkdirs(make_path("a/b/c"), 0700, NULL), 0); /* existed: unchanged */
    assert_int_equal(mode_of(make_path("a/b/c")), 0751);
    assert_int_equal(symlink("a", make_path("ours")), 0);
    assert_int_equal(path_mkdirs(make_path("ours/d"), 0700, NULL), 0);
    assert_int_equal(access(make_path("a/d"), F_OK), 0);
}

static void read_file_respects_its_limit(void **state)
{
    struct err err = {0};
    _cleanup_str_ struct str out = STR_INIT;
    str_puts(&out, "kept");
    assert_int_equal(path_read_file(make_path("none"), 10, &out, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/none: No such file or directory"));
    assert_int_equal(path_read_file(folder, 10, &out, NULL), -EISDIR);
    write_text(make_path("f"), "0123456789", 0600);
    assert_int_equal(path_read_file(make_path("f"), 9, &out, &err), -ERR_TOO_BIG);
    assert_string_equal(str_cstr(&out), "kept");
    assert_int_equal(path_read_file(make_path("f"), 10, &out, NULL), 0);
    assert_string_equal(str_cstr(&out), "kept0123456789");
    assert_int_equal(path_read_text(make_path("f"), 10, &out, NULL), 0);
    assert_int_equal(path_read_text("/dev/zero", SIZE_MAX / 2, &out, &err), -ERR_PARSE);
    assert_string_equal(err.text, "/dev/zero: not a text file");
    _cleanup_str_ struct str small = STR_INIT_CAP(5);
    assert_int_equal(path_read_file(make_path("f"), 10, &small, NULL), -ERR_TOO_BIG);
    _cleanup_str_ struct str proc = STR_INIT; /* says size 0 */
    assert_int_equal(path_read_file("/proc/self/status", 1 << 20, &proc, NULL), 0);
    assert_non_null(strstr(str_cstr(&proc), "Pid:"));
    _cleanup_free_ char *big = mem_alloc(100000);
    memset(big, 'b', 100000);
    assert_int_equal(path_write_file(make_path("big"), big, 100000, 0600, NULL), 0);
    str_clear(&out);
    assert_int_equal(path_read_file(make_path("big"), 100000, &out, NULL), 0);
    assert_int_equal(out.len, 100000);
    assert_int_equal(strspn(str_cstr(&out), "b"), 100000);
    write_text(make_path("f"), "", 0600);
    str_clear(&out);
    assert_int_equal(path_read_file(make_path("f"), 10, &out, NULL), 0);
    assert_string_equal(str_cstr(&out), "");
}

static int file_count(void)
{
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(dir);
    return count;
}

static void written_file_replaces_the_old_one_atomically(void **state)
{
    struct err err = {0};
    assert_int_equal(path_write_file(make_path("none/f"), "x", 1, 0600, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/none"));
    assert_int_equal(mkdir(make_path("dir"), 0700), 0);
    assert_int_equal(path_write_file(make_path("dir"), "x", 1, 0600, NULL), -EISDIR);
    assert_int_equal(file_count(), 1); /* no temporary is left */

    mode_t before = umask(077);
    write_text(make_path("f"), "one", 0644);
    umask(before);
    assert_int_equal(mode_of(make_path("f")), 0644);
    _cleanup_close_ int old = open(make_path("f"), O_RDONLY | O_CLOEXEC);
    write_text(make_path("f"), "two", 0600);
    assert_int_equal(mode_of(make_path("f")), 0600);
    char text[4] = "";
    assert_int_equal(read(old, text, 3), 3);
    assert_string_equal(text, "one"); /* a reader of the old keeps the old */

    write_text(make_path("victim"), "safe", 0600);
    assert_int_equal(symlink("victim", make_path("link")), 0);
    write_text(make_path("link"), "x", 0600); /* replaces the link */
    _cleanup_str_ struct str victim = STR_INIT;
    assert_int_equal(path_read_file(make_path("victim"), 10, &victim, NULL), 0);
    assert_string_equal(str_cstr(&victim), "safe");
    assert_int_equal(file_count(), 4);
}

static void rename_keeps_an_existing_target(void **state)
{
    write_text(make_path("ours"), "ours", 0600);
    write_text(make_path("theirs"), "theirs", 0600);
    assert_int_equal(path_rename_new(make_path("ours"), make_path("theirs")), -EEXIST);
    assert_int_equal(path_rename_new(make_path("none"), make_path("free")), -ENOENT);
    assert_int_equal(file_count(), 2);
    assert_int_equal(path_rename_new(make_path("ours"), make_path("free")), 0);
    assert_int_equal(access(make_path("ours"), F_OK), -1);
    _cleanup_str_ struct str text = STR_INIT;
    assert_int_equal(path_read_file(make_path("free"), 10, &text, NULL), 0);
    assert_string_equal(str_cstr(&text), "ours");
}

static void secret_files_of_others_are_refused(void **state)
{
    struct err err = {0};
    uid_t me = geteuid();
    assert_int_equal(path_check_secret(make_path("none"), me, &err), -ENOENT);
    assert_int_equal(path_check_secret(folder, me, NULL), -ERR_ACCESS);
    assert_int_equal(mkfifo(make_path("fifo"), 0600), 0);
    assert_int_equal(path_check_secret(make_path("fifo"), me, NULL), -ERR_ACCESS);
    write_text(make_path("key"), "x", 0600);
    assert_int_equal(path_check_secret(make_path("key"), me, NULL), 0);
    assert_int_equal(symlink("key", make_path("link")), 0);
    assert_int_equal(path_check_secret(make_path("link"), me, &err), -ELOOP);
    assert_non_null(strstr(err.text, "symbolic link"));
    static const mode_t open_modes[] = {0640, 0620, 0610, 0604, 0602, 0601, 0666};
    for (size_t i = 0; i < COUNT(open_modes); i++) {
        assert_int_equal(chmod(make_path("key"), open_modes[i]), 0);
        assert_int_equal(path_check_secret(make_path("key"), me, &err), -ERR_ACCESS);
        assert_non_null(strstr(err.text, "chmod 600"));
    }
    assert_int_equal(chmod(make_path("key"), 0400), 0);
    assert_int_equal(path_check_secret(make_path("key"), me, NULL), 0);
    if (me == 0) {
        assert_int_equal(path_check_secret(make_path("key"), 12345, NULL), 0); /* root's is fine */
        assert_int_equal(chown(make_path("key"), 12345, 12345), 0);
        assert_int_equal(path_check_secret(make_path("key"), 12345, NULL), 0);
        assert_int_equal(path_check_secret(make_path("key"), 0, &err), -ERR_ACCESS);
        assert_non_null(strstr(err.text, "12345"));
    }
}

static void path_patterns_are_expanded(void **state)
{
    static const char *const rows[][4] = {
        {"", "h", "n", ""},           {"/v/%h/%n", "h1", "n1", "/v/h1/n1"},
        {"%n%n%h", "h", "n", "nnh"},  {"%%h", "h", "n", "%h"},
        {"100%", "h", "n", "100%"},   {"%x%", "h", "n", "%x%"},
        {"%h-%n", NULL, "n", "%h-n"}, {"%h-%n", "%n", NULL, "%n-%n"}, /* a value is not a pattern */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        _cleanup_free_ char *path = path_expand(rows[i][0], rows[i][1], rows[i][2]);
        assert_string_equal(path, rows[i][3]);
    }
}

static void prefix_of_the_installation_is_found(void **state)
{
    _cleanup_free_ char *found = path_prefix();
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(n > 0);
    self[n] = '\0';
    assert_memory_equal(self, found, strlen(found));
    assert_int_equal(self[strlen(found)], '/');
}

static void write_errors_are_reported(void **state)
{
    assert_int_equal(path_write_all(-1, "x", 1), -EBADF);
    assert_int_equal(path_write_all(-1, "x", 0), 0);
    _cleanup_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(path_write_all(full, "x", 1), -ENOSPC);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relative_paths_become_absolute),
        TEST(mkdirs_refuses_files_and_foreign_links),
        TEST(mkdirs_makes_what_is_missing),
        TEST(read_file_respects_its_limit),
        TEST(written_file_replaces_the_old_one_atomically),
        TEST(rename_keeps_an_existing_target),
        TEST(secret_files_of_others_are_refused),
        cmocka_unit_test(path_patterns_are_expanded),
        cmocka_unit_test(prefix_of_the_installation_is_found),
        cmocka_unit_test(write_errors_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
