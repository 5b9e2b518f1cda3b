/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/become.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "slurmstepd/task/child.h"
#include "slurmstepd/task/wipe.h"

/* A step of one task as srun asks for it; the tests change a part of it. */
struct sample {
    struct step step;
    struct task task;
    Pb__StepdStart start;
    Pb__LaunchTasks launch;
    struct child_plan plan;
};

static void sample_init(struct sample *s)
{
    memset(s, 0, sizeof(*s));
    pb__stepd_start__init(&s->start);
    pb__launch_tasks__init(&s->launch);
    arena_init(&s->step.arena, 0);
    s->step.start = &s->start;
    s->step.launch = &s->launch;
    s->step.tasks = &s->task;
    s->step.task_count = 1;
    s->step.tmp_fd = -1;
    s->step.may_share_memory = true;
    s->step.pid = getpid();
    s->step.uid = geteuid();
    s->step.gid = getegid();
    s->step.descriptors = 100;
    s->task.step = &s->step;
    s->plan = (struct child_plan){.fd = {-1, -1, -1},
                                  .file = {-1, -1, -1},
                                  .pmi_fd = -1,
                                  .report_fd = -1,
                                  .go_fd = -1,
                                  .work_dir = "/",
                                  .by_path = true};
}

static void sample_done(struct sample *s)
{
    envlist_done(&s->step.env);
    arena_done(&s->step.arena);
}

/* In place of the function that the linker wraps: here no library with plugins is linked. */
bool __wrap_plugin_is_open(const struct step *step);
bool __wrap_plugin_is_open(const struct step *step)
{
    return step->plugin != NULL;
}

enum difference {
    NONE,
    INPUT_OF_NULL,
    PMI,
    FORBIDDEN,
    BATCH,
    TWO_TASKS,
    WAITS,
    INPUT_FILE,
    OUTPUT_FILE,
    CGROUP,
    NAMESPACE,
    PAM,
    PMIX,
    TERMINAL,
    SITE_PROLOG,
    OWN_PROLOG,
    SITE_EPILOG,
    OWN_EPILOG,
    MANY_GROUPS,
    DEBUGGER,
    PLUGINS,
    DIFFERENCES
};

static void apply_difference(struct sample *s, enum difference what)
{
    struct step *step = &s->step;

    switch (what) {
    case INPUT_OF_NULL:
        s->plan.path[0] = "/dev/null";
        break;
    case PMI:
        s->plan.pmi_fd = 7;
        break;
    case FORBIDDEN:
        step->may_share_memory = false;
        break;
    case BATCH:
        step->launch = NULL;
        break;
    case TWO_TASKS:
        step->task_count = 2;
        break;
    case WAITS:
        s->plan.go_fd = 7;
        break;
    case INPUT_FILE:
        s->plan.path[0] = "/home/u/in";
        break;
    case OUTPUT_FILE:
        s->plan.path[1] = "/home/u/out";
        break;
    case CGROUP:
        step->contain = (struct contain *)s;
        break;
    case NAMESPACE:
        step->tmp_fd = 7;
        break;
    case PAM:
        step->session = (struct session *)s;
        break;
    case PMIX:
        step->pmix = (struct pmix *)s;
        break;
    case TERMINAL:
        s->plan.is_pty = true;
        break;
    case SITE_PROLOG:
        s->start.task_prolog = "/p";
        break;
    case OWN_PROLOG:
        s->launch.task_prolog = "/p";
        break;
    case SITE_EPILOG:
        s->start.task_epilog = "/e";
        break;
    case OWN_EPILOG:
        s->launch.task_epilog = "/e";
        break;
    case MANY_GROUPS:
        step->group_count = BECOME_GROUPS_FEW;
        break;
    case DEBUGGER:
        s->launch.has_debug = s->launch.debug = true;
        break;
    case PLUGINS:
        step->plugin = (struct plugin_state *)s;
        break;
    default:
        break;
    }
}

/* A task that waits for others before exec, or allocates as the user, has separate memory. */
static void only_a_plain_task_shares_memory(void **state)
{
    for (enum difference what = NONE; what < DIFFERENCES; what++) {
        struct sample s;

        sample_init(&s);
        apply_difference(&s, what);
        assert_int_equal(child_shares_memory(&s.step, &s.plan), what <= PMI);
        sample_done(&s);
    }
}

/* Runs the task in a child process, in the directory. Returns its exit code; out: its output. */
static int run_task(const char *dir, char *const *argv, const char *path, bool shares,
                    struct str *out)
{
    struct sample s;
    int output[2], report[2], status;
    char buffer[4096];
    ssize_t n;
    pid_t pid;

    sample_init(&s);
    s.plan.argv = argv;
    s.plan.work_dir = dir;
    s.plan.shares_memory = shares;
    envlist_set(&s.step.env, "PATH", path);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report), 0);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        s.plan.fd[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        s.plan.fd[1] = output[1];
        s.plan.fd[2] = open("/dev/null", O_WRONLY | O_CLOEXEC);
        s.plan.report_fd = report[1];
        child_run(&s.task, &s.plan);
    }
    assert_true(pid > 0);
    close(output[1]);
    close(report[1]);
    while ((n = read(output[0], buffer, sizeof(buffer))) > 0)
        str_append(out, buffer, (size_t)n);
    close(output[0]);
    close(report[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    sample_done(&s);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ignore_signal(int signo)
{
}

static void task_that_shares_memory_leaves_the_step_daemon_unchanged(void **state)
{
    static char *const argv[] = {"/bin/sh", "-c", "exit 3", NULL};
    struct sample s;
    struct child_plan before;
    struct sigaction action = {.sa_handler = ignore_signal}, after_action;
    sigset_t mask, after_mask;
    int report[2], status;
    struct child_report r;

    sample_init(&s);
    s.plan.argv = argv;
    s.plan.by_path = false;
    s.plan.shares_memory = true;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report), 0);
    for (int i = 0; i < 3; i++)
        s.plan.fd[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    s.plan.report_fd = report[1];
    before = s.plan;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    assert_int_equal(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);

    pid_t pid = child_start_sharing(&s.task, &s.plan);

    assert_true(pid > 0);
    assert_memory_equal(&s.plan, &before, sizeof(before));
    assert_int_equal(sigaction(SIGUSR1, NULL, &after_action), 0);
    assert_ptr_equal(after_action.sa_handler, ignore_signal);
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &after_mask), 0);
    assert_true(sigismember(&after_mask, SIGUSR2) && !sigismember(&after_mask, SIGUSR1));
    for (size_t size = 1; size < 1u << 20; size *= 2)
        free(mem_new_array(char, size));
    assert_true(recv(report[0], &r, sizeof(r), 0) > 0);
    assert_int_equal(r.code, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 3 << 8);
    for (int i = 0; i < 3; i++)
        close(s.plan.fd[i]);
    close(report[0]);
    close(report[1]);
    sample_done(&s);
}

static void put_file(const char *dir, const char *name, const char *text, mode_t mode)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", dir, name);

    assert_int_equal(path_write_file(path, text, strlen(text), mode, NULL), 0);
}

static void first_executable_program_of_path_is_run(void **state)
{
    char dir[] = "/tmp/child-test.XXXXXX", too_long[PATH_MAX + 2];
    static const struct {
        const char *program, *path, *out; /* %s of path: the directory, or an element too long */
        int code;
    } vectors[] = {
        {"prog", "D/none:D/b:D/c", "b x\n", 0},
        {"prog", "D/denied:D/b", "b x\n", 0},
        {"prog", "D/file/in:D/b", "b x\n", 0},
        {"prog", "L:D/b", "b x\n", 0},
        {"prog", "D/c:D/b", "c x\n", 0}, /* a script without a first line */
        {"prog", "D/none:D/denied:D/none", "", EACCES},
        {"prog", "D/none", "", ENOENT},
        {"here", ":D/b", "here x\n", 0}, /* an empty element is the working directory */
        {"here", "D/b:", "here x\n", 0},
        {"here", "D/b", "here x\n", 0}, /* which is looked at last */
        {"b/prog", "D/none", "b x\n", 0},
        {"", "D/b", "", ENOENT},
    };
    const char *const made[] = {"b", "c", "denied"};

    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", dir, made[i]);

        assert_int_equal(mkdir(path, 0755), 0);
    }
    put_file(dir, "b/prog", "#!/bin/sh\necho b $1\n", 0755);
    put_file(dir, "c/prog", "echo c $1\n", 0755);
    put_file(dir, "denied/prog", "#!/bin/sh\necho denied\n", 0644);
    put_file(dir, "file", "", 0644);
    put_file(dir, "here", "#!/bin/sh\necho here $1\n", 0755);
    memset(too_long, 'x', sizeof(too_long) - 1);
    too_long[sizeof(too_long) - 1] = '\0';
    for (size_t i = 0; i < 2 * sizeof(vectors) / sizeof(vectors[0]); i++) {
        char *const argv[] = {(char *)vectors[i / 2].program, "x", NULL};
        _cleanup_str_ struct str path = STR_INIT, out = STR_INIT;

        for (const char *c = vectors[i / 2].path; *c; c++) {
            if (*c == 'D')
                str_puts(&path, dir);
            else if (*c == 'L')
                str_puts(&path, too_long);
            else
                str_putc(&path, *c);
        }
        assert_int_equal(run_task(dir, argv, str_cstr(&path), i % 2, &out), vectors[i / 2].code);
        assert_string_equal(str_cstr(&out), vectors[i / 2].out);
    }
    wipe_tree_whole(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_plain_task_shares_memory),
        cmocka_unit_test(task_that_shares_memory_leaves_the_step_daemon_unchanged),
        cmocka_unit_test(first_executable_program_of_path_is_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
