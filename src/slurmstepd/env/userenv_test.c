/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmstepd/env/userenv.h"

static char dir[] = "/tmp/userenv-test-XXXXXX";
static char *own[] = {(char *)"GREETING=job's", (char *)"SLURM_JOB_ID=7", (char *)"no variable"};

/* A step whose user has this shell; file: its text, or NULL for a real one. */
struct scene {
    Pb__StepdStart start;
    Pb__LaunchBatch batch;
    Pb__JobPayload payload;
    Pb__JobSpec spec;
    Pb__UserEnv want;
    Pb__Cred cred;
    struct step step;
    struct err err;
    char *shell;
};

static void make_scene(struct scene *s, const char *shell_text)
{
    *s = (struct scene){0};
    pb__stepd_start__init(&s->start);
    pb__launch_batch__init(&s->batch);
    pb__job_payload__init(&s->payload);
    pb__job_spec__init(&s->spec);
    pb__user_env__init(&s->want);
    pb__cred__init(&s->cred);
    s->shell = mem_strdup("/bin/sh");
    if (shell_text) {
        free(s->shell);
        s->shell = mem_printf("%s/shell", dir);
        assert_int_equal(path_write_file(s->shell, shell_text, strlen(shell_text), 0755, &s->err),
                         0);
    }
    s->start.node = (char *)"n1";
    s->start.user_name = (char *)"alice";
    s->start.home = dir;
    s->start.shell = s->shell;
    s->start.user_env_sec = 60;
    s->payload.env = own;
    s->payload.n_env = 3;
    s->payload.user_env = &s->want;
    s->batch.payload = &s->payload;
    s->batch.spec = &s->spec;
    s->cred.job_id = 42;
    s->step.start = &s->start;
    s->step.batch = &s->batch;
    s->step.granted = &s->cred;
}

static void clean_scene(struct scene *s)
{
    envlist_done(&s->step.env);
    free(s->shell);
}

static void test_failures_of_the_login_shell_are_reported(void **state)
{
    static const struct {
        const char *shell, *said;
    } v[] = {
        {"#!/bin/sh\nexit 3\n", " on n1 exited with status 3"},
        {"#!/bin/sh\nkill -9 $$\n", " on n1 was ended by signal 9"},
        {"#!/bin/sh\necho This account is not available\n", "the shell of alice told no variables"},
        {"#!/bin/sh\necho SLUICE-USER-ENVIRONMENT; echo A=1\n", "told no variables on n1"},
        {"#!/nonexistent\n", " cannot be run on n1: No such file"},
        {"#!/bin/sh\nhead -c 5000000 /dev/zero\n", " wrote more than 4194304 bytes on n1"},
        {"#!/bin/sh\necho SLUICE-USER-ENVIRONMENT\ni=0\nwhile [ $i -lt 16385 ]; do printf "
         "'A=\\0'; i=$((i+1)); done\necho; echo SLUICE-USER-ENVIRONMENT-END\n",
         "more than 16384 variables on n1"},
    };
    struct scene s;

    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        make_scene(&s, v[i].shell);
        assert_int_equal(userenv_load(&s.step, &s.err), -ERR_USER_ENV);
        if (!strstr(s.err.text, v[i].said))
            fail_msg("%zu: \"%s\" does not have \"%s\"", i, s.err.text, v[i].said);
        clean_scene(&s);
    }
}

static void test_time_of_the_login_shell_is_limited(void **state)
{
    struct scene s;

    make_scene(&s, "#!/bin/sh\nsleep 1000 & wait\n");
    s.want.has_limit_sec = true;
    s.want.limit_sec = 1;
    assert_int_equal(userenv_load(&s.step, &s.err), -ERR_USER_ENV);
    assert_non_null(strstr(s.err.text, " took more than 1 seconds on n1"));
    s.want.has_limit_sec = false;
    s.start.user_env_sec = 0;
    assert_int_equal(userenv_load(&s.step, &s.err), -ERR_USER_ENV);
    assert_non_null(strstr(s.err.text, "GetEnvTimeout=0"));
    clean_scene(&s);
}

static void write_profile(const char *text)
{
    _cleanup_free_ char *path = mem_printf("%s/.profile", dir);
    struct err err = {0};

    assert_int_equal(path_write_file(path, text, strlen(text), 0644, &err), 0);
}

static void test_environment_of_the_login_shell_is_loaded(void **state)
{
    struct scene s;

    write_profile(
        "echo welcome; printf 'X=1\\0'\nexport GREETING=profile OTHER='two\nlines' PATH=/opt/bin "
        "SLURM_JOB_ID=9\n");
    make_scene(&s, NULL);
    assert_int_equal(userenv_load(&s.step, &s.err), 0);
    assert_string_equal(envlist_get(&s.step.env, "GREETING"), "job's");
    assert_string_equal(envlist_get(&s.step.env, "OTHER"), "two\nlines");
    assert_string_equal(envlist_get(&s.step.env, "PATH"), "/opt/bin");
    assert_string_equal(envlist_get(&s.step.env, "HOME"), dir);
    assert_string_equal(envlist_get(&s.step.env, "USER"), "alice");
    assert_string_equal(envlist_get(&s.step.env, "SLURM_JOB_ID"), "42");
    assert_null(envlist_get(&s.step.env, "PWD"));
    assert_null(envlist_get(&s.step.env, "X"));
    clean_scene(&s);
    make_scene(&s, NULL);
    s.want.has_not_login = s.want.not_login = true;
    assert_int_equal(userenv_load(&s.step, &s.err), 0);
    assert_null(envlist_get(&s.step.env, "OTHER"));
    assert_string_equal(envlist_get(&s.step.env, "SHELL"), "/bin/sh");
    clean_scene(&s);
}

static int set_up(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    _cleanup_free_ char *shell = mem_printf("%s/shell", dir);
    _cleanup_free_ char *file = mem_printf("%s/.profile", dir);

    unlink(shell);
    unlink(file);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures_of_the_login_shell_are_reported),
        cmocka_unit_test(test_time_of_the_login_shell_is_limited),
        cmocka_unit_test(test_environment_of_the_login_shell_is_loaded),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
