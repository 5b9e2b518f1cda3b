/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmd/node/script.h"

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

struct outcome {
    int status;
    unsigned begins; /* calls */
    bool ended;
    char *text;
};

static void on_done(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                    const char *text)
{
    struct outcome *o = ctx;

    assert_int_equal(job_id, 42);
    o->status = wait_status;
    o->ended = true;
    o->text = mem_strdup(text);
    loop_stop(d.loop);
}

static void test_outcome_of_a_script_is_reported(void **state)
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
        struct script script = {.what = "Prolog", .path = vectors[i].path, .job_id = 42};
        struct outcome o = {0};

        script_run(&d, &script, mem_new_array(char *, 1), on_done, &o);
        loop_run(d.loop);
        assert_int_equal(o.status != 0, vectors[i].failed);
        if (vectors[i].text)
            assert_string_equal(o.text, vectors[i].text);
        else
            assert_null(o.text);
        free(o.text);
    }
}

static void test_script_ends_at_its_time_limit(void **state)
{
    char path[] = "/tmp/script-test.XXXXXX";
    int fd = mkstemp(path);
    const char *text = "#!/bin/sh\nsleep 1000\n";
    struct script script = {.what = "Epilog", .path = path, .limit_sec = 1, .job_id = 42};
    struct outcome o = {0};
    char **env = mem_new_array(char *, 2);
    char want[128];

    env[0] = mem_strdup("PATH=/usr/bin:/bin");
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
    script_run(&d, &script, env, on_done, &o);
    loop_run(d.loop);
    assert_int_equal(o.status, SIGTERM);
    snprintf(want, sizeof(want), "Epilog %s did not end within 1 s", path);
    assert_string_equal(o.text, want);
    free(o.text);
    unlink(path);
}

static char **path_env(void)
{
    char **env = mem_new_array(char *, 2);

    env[0] = mem_strdup("PATH=/usr/bin:/bin");
    return env;
}

static char *write_script(const char *folder, const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", folder, name);

    assert_int_equal(path_write_file(path, text, strlen(text), 0755, NULL), 0);
    return path;
}

/* A script that ignores SIGTERM is killed with its children: the FIFO has no writer left. */
static void test_late_script_ends_with_its_children(void **state)
{
    char folder[] = "/tmp/script_test.XXXXXX", byte;
    struct outcome o = {0};

    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *fifo = mem_printf("%s/fifo", folder);
    _cleanup_free_ char *text =
        mem_printf("#!/bin/sh\ntrap '' TERM\nexec 7>%s\nsleep 1000 &\nwait\n", fifo);
    _cleanup_free_ char *path = write_script(folder, "epilog", text);
    struct script script = {.what = "Epilog", .path = path, .limit_sec = 1, .job_id = 42};
    assert_int_equal(mkfifo(fifo, 0600), 0);
    struct pollfd end = {.fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC), .events = POLLIN};
    script_run(&d, &script, path_env(), on_done, &o);
    loop_run(d.loop);
    assert_int_equal(o.status, SIGKILL);
    assert_int_equal(poll(&end, 1, 30000), 1);
    assert_int_equal(read(end.fd, &byte, 1), 0);
    close(end.fd);
    free(o.text);
    unlink(path);
    unlink(fifo);
    rmdir(folder);
}

static void count_begin(void *ctx, uint32_t job_id, uint32_t restarts, pid_t pid)
{
    ((struct outcome *)ctx)->begins++;
}

static void test_serial_script_waits_for_the_one_before(void **state)
{
    char folder[] = "/tmp/script_test.XXXXXX";
    struct outcome first = {0}, second = {0};

    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *fifo = mem_printf("%s/fifo", folder);
    _cleanup_free_ char *text = mem_printf("#!/bin/sh\ncat %s\n", fifo);
    _cleanup_free_ char *path = write_script(folder, "prolog", text);
    struct script script = {
        .what = "Prolog", .path = path, .job_id = 42, .serial = true, .begins = count_begin};
    assert_int_equal(mkfifo(fifo, 0600), 0);
    script_run(&d, &script, path_env(), on_done, &first);
    script.path = "/bin/true";
    script_run(&d, &script, path_env(), on_done, &second);
    assert_true(first.begins > 0);
    assert_int_equal(second.begins, 0);
    close(open(fifo, O_WRONLY | O_CLOEXEC)); /* the first one ends */
    while (!second.ended)
        loop_run(d.loop);
    assert_true(first.ended && second.begins > 0);
    assert_int_equal(first.status, 0);
    unlink(path);
    unlink(fifo);
    rmdir(folder);
}

static void test_limits_of_the_configuration(void **state)
{
    static const struct {
        int64_t both, prolog, epilog, want_prolog, want_epilog;
    } vectors[] = {
        {65534, 65534, 65534, 0, 0}, {60, 65534, 65534, 60, 60}, {60, 5, 65534, 5, 60},
        {65534, 65534, 7, 0, 7},     {0, 65534, 65534, 0, 0},    {60, 0, 1, 0, 1},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct conf c = {.prolog_epilog_timeout_sec = vectors[i].both,
                         .prolog_timeout_sec = vectors[i].prolog,
                         .epilog_timeout_sec = vectors[i].epilog};

        assert_int_equal(script_limit_sec(&c, false), vectors[i].want_prolog);
        assert_int_equal(script_limit_sec(&c, true), vectors[i].want_epilog);
    }
}

/* Root does not run a program that others can change. */
static void test_script_that_others_may_change_is_not_run(void **state)
{
    char folder[] = "/tmp/script_test.XXXXXX";
    struct script script = {.what = "Prolog", .job_id = 42};
    struct outcome o = {0};

    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *path = mem_printf("%s/prolog", folder);
    _cleanup_free_ char *text = mem_printf("#!/bin/sh\necho >%s/ran\n", folder);
    _cleanup_free_ char *ran = mem_printf("%s/ran", folder);
    assert_int_equal(path_write_file(path, text, strlen(text), 0755, NULL), 0);
    assert_int_equal(chown(path, 4711, 4711), 0);
    script.path = path;
    script_run(&d, &script, mem_new_array(char *, 1), on_done, &o);
    loop_run(d.loop);
    assert_int_not_equal(o.status, 0);
    assert_non_null(strstr(o.text, "/prolog belongs to uid 4711, who could change it"));
    assert_int_not_equal(access(ran, F_OK), 0);
    free(o.text);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcome_of_a_script_is_reported),
        cmocka_unit_test(test_script_ends_at_its_time_limit),
        cmocka_unit_test(test_late_script_ends_with_its_children),
        cmocka_unit_test(test_serial_script_waits_for_the_one_before),
        cmocka_unit_test(test_limits_of_the_configuration),
        cmocka_unit_test(test_script_that_others_may_change_is_not_run),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
