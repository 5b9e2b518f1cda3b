/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cast/sink.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/path.h"

static char dir[] = "/tmp/sluice-cast-test.XXXXXX";

static int set_up(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    return rmdir(dir);
}

static char *format_path_in_dir(const char *name)
{
    return mem_printf("%s/%s", dir, name);
}

static unsigned count_entries(void)
{
    unsigned count = 0;
    DIR *d = opendir(dir);

    assert_non_null(d);
    while (readdir(d))
        count++;
    closedir(d);
    return count - 2;
}

static void put_file(const char *name, const char *text)
{
    _cleanup_free_ char *path = format_path_in_dir(name);

    assert_int_equal(path_write_file(path, text, strlen(text), 0644, NULL), 0);
}

static void assert_content(const char *name, const char *text)
{
    _cleanup_free_ char *path = format_path_in_dir(name);
    _cleanup_str_ struct str have = STR_INIT;

    assert_int_equal(path_read_file(path, 1000, &have, NULL), 0);
    assert_string_equal(str_cstr(&have), text);
}

static void remove_file(const char *name)
{
    _cleanup_free_ char *path = format_path_in_dir(name);

    assert_int_equal(remove(path), 0);
}

static Pb__CastFile describe_file(const char *path, size_t size, bool force)
{
    Pb__CastFile file = PB__CAST_FILE__INIT;

    file.path = (char *)path;
    file.size = size;
    file.mode = 0644;
    file.has_force = true;
    file.force = force;
    return file;
}

/* Opens, writes, checks and places it. Returns 0, or the first failure. */
static int receive_file(const char *path, const char *text, bool force)
{
    Pb__CastFile file = describe_file(path, strlen(text), force);
    struct cast_sink *s = NULL;
    struct err err = {0};
    int rc = cast_sink_open(&file, "n1", &s, &err);

    if (!rc)
        rc = cast_sink_write(s, text, strlen(text), &err);
    if (!rc)
        rc = cast_sink_check(s, crc32c(0, text, strlen(text)), &err);
    if (!rc)
        rc = cast_sink_place(s, &err);
    if (!rc)
        rc = cast_sink_place(s, &err); /* again is no failure */
    cast_sink_free(s);
    return rc;
}

static void invalid_destinations_are_refused(void **state)
{
    _cleanup_free_ char *loop = format_path_in_dir("loop"), *under = format_path_in_dir("file/x");
    char longer[300];
    _cleanup_free_ char *long_path = NULL;
    const struct {
        const char *path;
        int rc;
    } cases[] = {
        {"relative", -EINVAL}, {"/", -EISDIR},          {"/tmp/.", -EISDIR},
        {"/tmp/..", -EISDIR},  {"/tmp", -EISDIR},       {"/no/such/place", -ENOENT},
        {under, -ENOTDIR},     {"/proc/self", -EEXIST}, {loop, -EEXIST},
    };

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    long_path = mem_printf("/tmp/%s", longer);
    put_file("file", "file");
    assert_int_equal(symlink("loop", loop), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(receive_file(cases[i].path, "text", false), cases[i].rc);
    assert_int_equal(receive_file(long_path, "text", false), -ENAMETOOLONG);
    remove_file("file");
    remove_file("loop");
    assert_int_equal(count_entries(), 0);
}

static void file_has_no_name_before_it_is_placed(void **state)
{
    _cleanup_free_ char *path = format_path_in_dir("new");
    Pb__CastFile file = describe_file(path, 4, false);
    struct cast_sink *s = NULL;
    struct err err = {0};

    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), 0);
    assert_int_equal(cast_sink_write(s, "text", 4, &err), 0);
    assert_true(access(path, F_OK) < 0);
    cast_sink_free(s);
    assert_int_equal(count_entries(), 0);
    assert_int_equal(receive_file(path, "text", false), 0);
    assert_content("new", "text");
    assert_int_equal(receive_file("/tmp/../tmp/.", "text", false), -EISDIR);
    assert_int_equal(receive_file(path, "", true), 0);
    assert_content("new", "");
    remove_file("new");
}

static void existing_file_is_replaced_only_if_forced(void **state)
{
    _cleanup_free_ char *path = format_path_in_dir("there"), *link = format_path_in_dir("link");

    put_file("there", "old");
    assert_int_equal(receive_file(path, "new", false), -EEXIST);
    assert_content("there", "old");
    assert_int_equal(receive_file(path, "new", true), 0);
    assert_content("there", "new");
    /* A symbolic link is replaced, not its target. */
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(receive_file(link, "other", false), -EEXIST);
    assert_int_equal(receive_file(link, "other", true), 0);
    assert_content("there", "new");
    assert_content("link", "other");
    remove_file("there");
    remove_file("link");
    assert_int_equal(count_entries(), 0);
}

/* A file that appears between opening and commit: the same file is accepted, another one is
   kept. */
static void file_created_meanwhile_is_kept(void **state)
{
    _cleanup_free_ char *path = format_path_in_dir("shared");
    Pb__CastFile file = describe_file(path, 4, false);
    struct cast_sink *one = NULL, *two = NULL;
    struct err err = {0};

    assert_int_equal(cast_sink_open(&file, "n1", &one, &err), 0);
    assert_int_equal(cast_sink_open(&file, "n2", &two, &err), 0);
    cast_sink_write(one, "text", 4, &err);
    cast_sink_write(two, "text", 4, &err);
    assert_int_equal(cast_sink_check(one, crc32c(0, "text", 4), &err), 0);
    assert_int_equal(cast_sink_check(two, crc32c(0, "text", 4), &err), 0);
    assert_int_equal(cast_sink_place(one, &err), 0);
    assert_int_equal(cast_sink_place(two, &err), 0);
    cast_sink_free(two);

    assert_int_equal(cast_sink_open(&file, "n1", &two, &err), -EEXIST);
    remove_file("shared");
    assert_int_equal(cast_sink_open(&file, "n1", &two, &err), 0);
    cast_sink_write(two, "text", 4, &err);
    assert_int_equal(cast_sink_check(two, crc32c(0, "text", 4), &err), 0);
    put_file("shared", "TEXT");
    assert_int_equal(cast_sink_place(two, &err), -EEXIST);
    assert_content("shared", "TEXT");
    cast_sink_free(one);
    cast_sink_free(two);
    remove_file("shared");
    assert_int_equal(count_entries(), 0);
}

static void wrong_length_or_checksum_is_refused(void **state)
{
    _cleanup_free_ char *path = format_path_in_dir("x");
    Pb__CastFile file = describe_file(path, 4, false);
    struct cast_sink *s = NULL;
    struct err err = {0};

    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), 0);
    assert_int_equal(cast_sink_write(s, "tex", 3, &err), 0);
    assert_int_equal(cast_sink_check(s, crc32c(0, "tex", 3), &err), -EIO);
    assert_int_equal(cast_sink_write(s, "ts", 2, &err), -ERR_PROTOCOL);
    assert_int_equal(cast_sink_write(s, "t", 1, &err), 0);
    assert_int_equal(cast_sink_write(s, "t", 1, &err), -ERR_PROTOCOL);
    assert_int_equal(cast_sink_check(s, 1, &err), -EIO);
    cast_sink_free(s);
    assert_int_equal(count_entries(), 0);
}

static void too_large_file_is_refused(void **state)
{
    _cleanup_free_ char *path = format_path_in_dir("x");
    Pb__CastFile file = describe_file(path, 0, false);
    struct rlimit before, small = {4096, RLIM_INFINITY};
    struct cast_sink *s = NULL;
    struct err err = {0};

    file.size = UINT64_MAX;
    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), -EFBIG);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    file.size = 4097;
    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(count_entries(), 0);
}

/* While the receiver still sends the file to others. */
static void placed_program_can_be_run_at_once(void **state)
{
    static const char text[] = "#!/bin/true\n";
    _cleanup_free_ char *path = format_path_in_dir("run");
    Pb__CastFile file = describe_file(path, sizeof(text) - 1, false);
    struct cast_sink *s = NULL;
    struct err err = {0};
    char back[sizeof(text)] = "";

    file.mode = 0311;
    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), 0);
    assert_int_equal(cast_sink_write(s, text, sizeof(text) - 1, &err), 0);
    assert_int_equal(cast_sink_check(s, crc32c(0, text, sizeof(text) - 1), &err), 0);
    assert_int_equal(cast_sink_place(s, &err), 0);
    /* No process has it open for writing: it may be leased for reading. */
    _cleanup_close_ int own = open(path, O_RDONLY);
    if (own >= 0)
        assert_int_equal(fcntl(own, F_SETLEASE, F_RDLCK), 0);
    assert_int_equal(cast_sink_read(s, 0, back, sizeof(text) - 1, &err), 0);
    assert_string_equal(back, text);
    cast_sink_free(s);
    remove_file("run");
}

static void destination_may_name_node_and_directory(void **state)
{
    _cleanup_free_ char *path = format_path_in_dir("p"), *libs = format_path_in_dir("p_n1_libs");
    Pb__CastFile file = describe_file(path, 0, false);
    struct cast_sink *s = NULL;
    struct err err = {0};
    struct stat st;

    file.has_per_node = file.per_node = true;
    file.behind = (char *)"_libs/l.so";
    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), -ENOENT);
    file.has_make_dir = file.make_dir = true;
    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), 0);
    assert_int_equal(cast_sink_check(s, 0, &err), 0);
    assert_int_equal(cast_sink_place(s, &err), 0);
    cast_sink_free(s);
    assert_int_equal(stat(libs, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    remove_file("p_n1_libs/l.so");
    /* Other users may write to it, or it is another user's link: nothing is put where programs are
       loaded from. */
    assert_int_equal(chmod(libs, 0777), 0);
    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), -EPERM);
    remove_file("p_n1_libs");
    assert_int_equal(symlink("/tmp", libs), 0);
    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), -ENOTDIR);
    remove_file("p_n1_libs");
    assert_int_equal(count_entries(), 0);
}

static void mode_and_times_are_preserved(void **state)
{
    _cleanup_free_ char *path = format_path_in_dir("m");
    Pb__CastFile file = describe_file(path, 0, false);
    struct cast_sink *s = NULL;
    struct err err = {0};
    struct stat st;

    file.mode = 06751;
    file.has_mtime_ns = file.has_atime_ns = true;
    file.mtime_ns = -1;
    file.atime_ns = INT64_C(1500000000123456789);
    assert_int_equal(cast_sink_open(&file, "n1", &s, &err), 0);
    assert_int_equal(cast_sink_check(s, 0, &err), 0);
    assert_int_equal(cast_sink_place(s, &err), 0);
    cast_sink_free(s);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0751); /* nothing is made set-uid */
    assert_int_equal(st.st_mtim.tv_sec, -1);
    assert_int_equal(st.st_mtim.tv_nsec, 999999999);
    assert_int_equal(st.st_atim.tv_sec, 1500000000);
    assert_int_equal(st.st_atim.tv_nsec, 123456789);
    remove_file("m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_destinations_are_refused),
        cmocka_unit_test(file_has_no_name_before_it_is_placed),
        cmocka_unit_test(existing_file_is_replaced_only_if_forced),
        cmocka_unit_test(file_created_meanwhile_is_kept),
        cmocka_unit_test(wrong_length_or_checksum_is_refused),
        cmocka_unit_test(too_large_file_is_refused),
        cmocka_unit_test(placed_program_can_be_run_at_once),
        cmocka_unit_test(destination_may_name_node_and_directory),
        cmocka_unit_test(mode_and_times_are_preserved),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
