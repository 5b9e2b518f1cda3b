/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "slurmd/script.h"

static struct conf conf;
static struct slurmd d;

static int set_up(void **state)
{
    conf.path = "/etc/slurm/slurm.conf";
    conf.cluster_name = "c1";
    d.conf = &conf;
    d.name = "n1";
    d.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    d.loop = loop_new(0);
    return d.null_fd < 0;
}

static int tear_down(void **state)
{
    loop_free(d.loop);
    return close(d.null_fd);
}

static void test_environment_is_fixed(void **state)
{
    Pb__Terminate about = PB__TERMINATE__INIT;
    struct script_job job = {.job_id = 42, .about = &about, .is_epilog = true, .path = "/x"};
    char **env;
    bool path = false, name = false, code = false;

    setenv("LD_PRELOAD", "/evil.so", 1);
    setenv("BASH_ENV", "/evil", 1);
    about.uid = 1000;
    about.job_name = "x\nLD_PRELOAD=/evil.so"; /* a value, and nothing but a value */
    about.has_exit_status = true;
    about.exit_status = 3 << 8;
    env = script_environment(&d, &job);
    for (char **p = env; *p; p++) {
        assert_true(!strncmp(*p, "SLURM", 5) || !strncmp(*p, "PATH=", 5));
        path |= !strcmp(*p, "PATH=/usr/sbin:/usr/bin:/sbin:/bin");
        name |= !strcmp(*p, "SLURM_JOB_NAME=x\nLD_PRELOAD=/evil.so");
        code |= !strcmp(*p, "SLURM_JOB_EXIT_CODE2=3:0");
        free(*p);
    }
    assert_true(path && name && code);
    free(env);
    unsetenv("LD_PRELOAD");
    unsetenv("BASH_ENV");
}

struct outcome {
    int status;
    char *text;
};

static void on_done(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                    const char *text)
{
    struct outcome *o = ctx;

    assert_int_equal(job_id, 42);
    o->status = wait_status;
    o->text = mem_strdup(text);
    loop_stop(d.loop);
}

static void test_outcomes(void **state)
{
    static const struct {
        const char *path, *text;
        bool failed;
    } vectors[] = {
        {"/bin/true", NULL, false},
        {"/bin/false", "Prolog /bin/false exited with status 1", true},
        {"/no/such", "Prolog /no/such cannot be run: No such file or directory", true},
        {"/etc/passwd", "Prolog /etc/passwd cannot be run: Permission denied", true},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        Pb__Terminate about = PB__TERMINATE__INIT;
        struct script_job job = {.job_id = 42, .about = &about, .path = vectors[i].path};
        struct outcome o = {0};

        script_run(&d, &job, on_done, &o);
        loop_run(d.loop);
        assert_int_equal(o.status != 0, vectors[i].failed);
        if (vectors[i].text)
            assert_string_equal(o.text, vectors[i].text);
        else
            assert_null(o.text);
        free(o.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment_is_fixed),
        cmocka_unit_test(test_outcomes),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
