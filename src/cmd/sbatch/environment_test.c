/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "cmd/sbatch/environment.h"

static char *const outer[] = {"PATH=/bin",
                              "FOO=1",
                              "SLURM_JOB_ID=7",
                              "SLURM_NTASKS=9",
                              "SLURM_MINE=keep",
                              "PMI_RANK=3",
                              "SLURM_CONF=/c/s",
                              "HOME=/home/u",
                              "SLURM_HET_SIZE=2",
                              "SLURM_JOB_ID_HET_GROUP_1=8",
                              "SLURM_NNODES_PACK_GROUP_1=1",
                              "SLURM_PACK_SIZE=2",
                              NULL};
static char *const plain[] = {"PATH=/bin", "FOO=1", "SLURM_NTASKS=9", NULL};

static void make_job_environment(struct envlist *e, const char *export_env, char *const *from)
{
    struct opt o;
    opt_init(&o, OPT_SBATCH);
    o.export_env = mem_strdup(export_env);
    environment_make(e, &o, from, "login1", "/work");
    opt_done(&o);
}

static void test_outer_job_is_left_behind(void **state)
{
    struct envlist e = {0};
    make_job_environment(&e, NULL, outer);
    assert_null(envlist_get(&e, "SLURM_JOB_ID"));
    assert_null(envlist_get(&e, "SLURM_NTASKS"));
    assert_null(envlist_get(&e, "PMI_RANK"));
    assert_string_equal(envlist_get(&e, "SLURM_MINE"), "keep");
    assert_string_equal(envlist_get(&e, "FOO"), "1");
    assert_string_equal(envlist_get(&e, "SLURM_SUBMIT_DIR"), "/work");
    assert_string_equal(envlist_get(&e, "SLURM_SUBMIT_HOST"), "login1");
    envlist_done(&e);
    make_job_environment(&e, NULL, plain);
    assert_string_equal(envlist_get(&e, "SLURM_NTASKS"), "9");
    envlist_done(&e);
}

static void test_export_nil_keeps_path_and_configuration(void **state)
{
    struct envlist e = {0};
    make_job_environment(&e, "NIL", outer);
    assert_null(envlist_get(&e, "FOO"));
    assert_string_equal(envlist_get(&e, "PATH"), "/bin");
    assert_string_equal(envlist_get(&e, "SLURM_CONF"), "/c/s");
    assert_string_equal(envlist_get(&e, "SLURM_EXPORT_ENV"), "NIL");
    envlist_done(&e);
}

static void test_export_none_leaves_the_rest_to_the_shell_of_the_user(void **state)
{
    struct envlist e = {0};
    make_job_environment(&e, "NONE", outer);
    assert_null(envlist_get(&e, "FOO"));
    assert_null(envlist_get(&e, "PATH"));
    assert_string_equal(envlist_get(&e, "SLURM_CONF"), "/c/s");
    assert_string_equal(envlist_get(&e, "SLURM_EXPORT_ENV"), "NONE");
    envlist_done(&e);
}

static void test_exports_that_imply_the_environment_of_the_user(void **state)
{
    static const struct {
        const char *export_env;
        bool implied;
    } vectors[] = {
        {NULL, false},  {"", false},   {"ALL", false},  {"all", false},     {"NIL", false},
        {"NONE", true}, {"FOO", true}, {"FOO=1", true}, {"ALL,FOO", false},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct opt o;
        opt_init(&o, OPT_SBATCH);
        o.export_env = vectors[i].export_env ? mem_strdup(vectors[i].export_env) : NULL;
        assert_int_equal(environment_of_user(&o), vectors[i].implied);
        opt_done(&o);
    }
}

static void test_export_list_sets_and_copies_variables(void **state)
{
    struct envlist e = {0};
    make_job_environment(&e, "BAR=2,FOO", outer);
    assert_string_equal(envlist_get(&e, "BAR"), "2");
    assert_string_equal(envlist_get(&e, "FOO"), "1");
    envlist_done(&e);
}

static char *const own[] = {"PATH=/bin", "FOO=mine", "SLURM_MINE=1", "HOME=/home/u", NULL};

/* Loads this content from a descriptor; errors go to err. */
static int load_export_file(struct envlist *e, const char *data, size_t len, struct err *err)
{
    _cleanup_close_ int fd = memfd_create("export", 0);
    assert_return_code(path_write_all(fd, data, len), 0);
    assert_return_code(lseek(fd, 0, SEEK_SET), 0);
    char where[16];
    snprintf(where, sizeof(where), "%d", fd);
    return export_file_load(e, where, own, err);
}

static void test_invalid_export_file_entry_is_named(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        const char *said;
    } v[] = {
        {"FOO", 3, "entry 1 of "},
        {"A=1\0FOO\n", 8, "entry 2 of "},
        {"A=1\0=x", 6, "entry 2 of "},
        {"A=1\0\0\0B", 7, "entry 4 of "},
    };
    struct envlist e = {0};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct err err = {0};
        assert_int_equal(load_export_file(&e, v[i].data, v[i].len, &err), -ERR_PARSE);
        assert_non_null(strstr(err.text, v[i].said));
        assert_null(e.vars.data);
    }
    struct err err = {0};
    assert_true(export_file_load(&e, "/nonexistent", own, &err) < 0);
    assert_string_equal(err.text,
                        "--export-file: cannot open /nonexistent: No such file or directory");
    assert_true(export_file_load(&e, "/", own, &err) < 0);
    assert_string_equal(err.text, "--export-file: Unable to read /: Is a directory");
    assert_true(export_file_load(&e, "999", own, &err) < 0);
    assert_string_equal(err.text,
                        "--export-file: Unable to read file descriptor 999: Bad file descriptor");
}

static void test_size_of_export_file_is_limited(void **state)
{
    size_t len = EXPORT_FILE_BYTES_MAX + 1;
    _cleanup_free_ char *data = mem_alloc(len);
    struct envlist e = {0};
    struct err err = {0};
    memset(data, 'A', len);
    data[1] = '=';
    assert_int_equal(load_export_file(&e, data, len, &err), -ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "more than 4194304 bytes"));
    assert_int_equal(load_export_file(&e, data, EXPORT_FILE_VAR_MAX + 1, &err), -ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "longer than 131071 bytes"));
    assert_int_equal(load_export_file(&e, data, EXPORT_FILE_VAR_MAX, &err), 0);
    envlist_done(&e);
    size_t at = 0;
    for (int i = 0; i <= EXPORT_FILE_VARS_MAX; i++)
        at += (size_t)snprintf(data + at, 16, "V%d=", i) + 1;
    assert_int_equal(load_export_file(&e, data, at, &err), -ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "more than 16384 variables"));
}

static void test_export_file_entries_are_taken(void **state)
{
    static const char data[] = "FOO=two\nlines\0EMPTY=\0A=b=c\0FOO=last\nof=two\0PATH=/opt\0\0";
    struct envlist e = {0};
    struct err err = {0};
    assert_int_equal(load_export_file(&e, data, sizeof(data), &err), 0);
    assert_string_equal(envlist_get(&e, "FOO"), "last\nof=two");
    assert_string_equal(envlist_get(&e, "EMPTY"), "");
    assert_string_equal(envlist_get(&e, "A"), "b=c");
    assert_string_equal(envlist_get(&e, "PATH"), "/opt");
    assert_string_equal(envlist_get(&e, "SLURM_MINE"), "1");
    assert_string_equal(envlist_get(&e, "HOME"), "/home/u");
    assert_int_equal(e.vars.len, 6);
    envlist_done(&e);
    assert_int_equal(load_export_file(&e, "", 0, &err), 0);
    assert_null(envlist_get(&e, "FOO"));
    envlist_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outer_job_is_left_behind),
        cmocka_unit_test(test_export_nil_keeps_path_and_configuration),
        cmocka_unit_test(test_export_none_leaves_the_rest_to_the_shell_of_the_user),
        cmocka_unit_test(test_exports_that_imply_the_environment_of_the_user),
        cmocka_unit_test(test_export_list_sets_and_copies_variables),
        cmocka_unit_test(test_invalid_export_file_entry_is_named),
        cmocka_unit_test(test_size_of_export_file_is_limited),
        cmocka_unit_test(test_export_file_entries_are_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
