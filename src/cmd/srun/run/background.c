/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/input.h"
#include "cmd/srun/run/output.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawns.h"
#include "cmd/srun/run/terminal.h"
#include "launch/messages.h"

#define COMM_MAX 64

/* What takes the place of standard output and error. */
struct files {
    int fd[2]; /* -1: the stream stays where it is */
    char *name[2];
};

/* Its allocation would end with this process, and the step with that. */
static bool is_command_of_salloc(void)
{
    _cleanup_free_ char *path = mem_printf("/proc/%d/comm", (int)getppid());
    _cleanup_str_ struct str name = STR_INIT;

    return path_read_file(path, COMM_MAX, &name, NULL) == 0 && str_eq(str_cstr(&name), "salloc\n");
}

void background_ask(struct run *run)
{
    if (run->phase != RUN_RUNNING)
        return;
    if (is_command_of_salloc()) {
        say_error("this srun is the command of salloc, whose allocation ends with it; staying "
                  "here");
        return;
    }
    if (spawns_left(run->spawns)) {
        say_error("tasks of this step have spawned others, whose sruns are children of this one; "
                  "staying here");
        return;
    }
    run->to_background = true;
    loop_stop(run->loop);
}

/* A file stays; a terminal is to be left, and at the other end of a pipe the shell waits for us. */
static bool is_left(int number)
{
    struct stat st;

    return fstat(number, &st) == 0 && !S_ISREG(st.st_mode);
}

static void files_done(struct files *f)
{
    for (int i = 0; i < 2; i++) {
        if (f->fd[i] >= 0)
            close(f->fd[i]);
        free(f->name[i]);
    }
}

/* Others may have put something under a name that is easy to guess, where they may write: a link, a
 * pipe, a file of theirs. */
static int open_own(const char *name, struct err *err)
{
    int fd = open(
        name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0666);
    struct stat st;

    if (fd < 0)
        return err_set(err, -errno, "Could not open %s: %s", name, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        return fd;
    close(fd);
    return err_set(err, -EPERM, "Could not open %s: the file exists and belongs to another user",
                   name);
}

static int files_open(const struct run *run, struct files *f, struct err *err)
{
    static const char *const suffixes[] = {"out", "err"};

    for (int i = 0; i < 2; i++) {
        if (!is_left(i + 1))
            continue;
        f->name[i] =
            mem_printf("slurm-%s.%s", STEP_ID_TEXT(run->job_id, run->step_id), suffixes[i]);
        f->fd[i] = open_own(f->name[i], err);
        if (f->fd[i] < 0)
            return f->fd[i];
    }
    return 0;
}

/* In the srun that continues: none of its descriptors refers to the terminal. */
static void let_go(struct run *run, struct files *f)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    messages_forget();
    terminal_forget(run->terminal);
    run->terminal = NULL;
    input_leave(run->input);
    for (int i = 0; i < 2; i++) {
        if (f->fd[i] < 0)
            continue;
        output_move(run->output, i + 1, fcntl(f->fd[i], F_DUPFD_CLOEXEC, 3), f->name[i]);
        dup2(f->fd[i], i + 1);
    }
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        close(null);
    }
}

/* The other process has the step, and has released the terminal. */
static bool has_taken_over(int word_fd)
{
    char word;
    ssize_t n;

    do
        n = read(word_fd, &word, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

static _Noreturn void leave_parent(struct run *run, const struct files *f, pid_t pid, int word_fd)
{
    const char *out = f->name[0] != NULL ? f->name[0] : f->name[1];
    bool done = has_taken_over(word_fd);

    messages_finish(-1);

    terminal_free(run->terminal);
    if (!done)
        say_error("the srun that was to go on with step %s, process %d, has ended",
                  STEP_ID_TEXT(run->job_id, run->step_id), (int)pid);
    else if (out == NULL)
        say_info("step %s goes on in the background, by process %d",
                 STEP_ID_TEXT(run->job_id, run->step_id), (int)pid);
    else
        say_info("step %s goes on in the background, by process %d; its output goes to %s%s%s",
                 STEP_ID_TEXT(run->job_id, run->step_id), (int)pid, out,
                 f->name[0] != NULL && f->name[1] != NULL ? " and " : "",
                 f->name[0] != NULL && f->name[1] != NULL ? f->name[1] : "");
    _exit(!done); /* nothing is flushed or closed here: it is the other one's */
}

/* A signal that comes before the loop is the child's own waits until then. */
static pid_t fork_with_loop(struct run *run)
{
    sigset_t every, before;
    pid_t pid;

    sigfillset(&every);
    sigprocmask(SIG_BLOCK, &every, &before);
    pid = fork();
    if (pid == 0) {
        setsid();
        loop_forked(run->loop);
    }
    if (pid <= 0)
        sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

bool background_pass(struct run *run)
{
    struct files f = {.fd = {-1, -1}};
    struct err err = {0};
    int word[2] = {-1, -1};
    pid_t pid = -1;

    if (!run->to_background || run->phase == RUN_OVER)
        return false;
    run->to_background = false;
    if (files_open(run, &f, &err) == 0) {
        pid = pipe2(word, O_CLOEXEC) < 0 ? -1 : fork_with_loop(run);
        if (pid < 0)
            err_set(&err, -errno, "Could not start another srun: %s", strerror(errno));
    }
    if (pid > 0) {
        close(word[1]);
        leave_parent(run, &f, pid, word[0]);
    }
    if (pid < 0)
        say_error("%s; staying here", err.text);
    else
        let_go(run, &f);
    if (word[1] >= 0) {
        path_write_all(word[1], "d", pid == 0);
        close(word[0]);
        close(word[1]);
    }
    files_done(&f);
    return true;
}
