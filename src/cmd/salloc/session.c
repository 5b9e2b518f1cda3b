/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/salloc/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "launch/messages.h"

struct session {
    struct loop *loop;
    session_end_fn *on_end;
    void *ctx;
    pid_t pid;
    bool terminal, ended;
    struct termios modes; /* terminal modes before the command */
};

void session_wait_foreground(void)
{
    while (tcgetpgrp(STDIN_FILENO) >= 0 && tcgetpgrp(STDIN_FILENO) != getpgrp())
        kill(0, SIGTTIN);
}

/* A background process group that does this is stopped by SIGTTOU, so the signal is blocked. */
static void give_terminal(pid_t group)
{
    sigset_t output, old;

    sigemptyset(&output);
    sigaddset(&output, SIGTTOU);
    sigprocmask(SIG_BLOCK, &output, &old);
    tcsetpgrp(STDIN_FILENO, group);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static void take_terminal(struct session *s)
{
    sigset_t output, old;

    give_terminal(getpgrp());
    sigemptyset(&output);
    sigaddset(&output, SIGTTOU);
    sigprocmask(SIG_BLOCK, &output, &old);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &s->modes);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

/* A program in the working directory needs no "./", but programs in PATH take precedence. */
static void run_command(const struct session_options *o)
{
    _cleanup_free_ char *here = mem_printf("./%s", o->argv[0]);

    execvpe(o->argv[0], o->argv, o->env);
    int error = errno;
    if (strchr(o->argv[0], '/') == NULL && (error == ENOENT || error == EACCES))
        execve(here, o->argv, o->env);
    errno = error;
}

static _Noreturn void become_command(const struct session_options *o, const sigset_t *mask)
{
    static const int reset[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGTSTP, SIGTTIN,
                                SIGTTOU, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2, SIGCONT};
    const char *what = o->argv[0];

    for (size_t i = 0; i < sizeof(reset) / sizeof(reset[0]); i++) {
        struct sigaction now;

        if (sigismember(o->ignored, reset[i]) == 1)
            signal(reset[i], SIG_IGN);
        else if (sigaction(reset[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal(reset[i], SIG_DFL); /* signals that were ignored before salloc stay ignored */
    }
    if (o->terminal) {
        setpgid(0, 0);
        give_terminal(getpid());
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (o->work_dir != NULL && chdir(o->work_dir) != 0)
        what = o->work_dir;
    else
        run_command(o);
    _cleanup_str_ struct str line = STR_INIT;
    str_printf(&line, "salloc: error: Unable to run the command: %s: %s\n", what, strerror(errno));
    messages_write_within(&line, SESSION_LAST_WORDS_MS);
    _exit(1);
}

static void on_child(void *ctx, pid_t pid, int wait_status)
{
    struct session *s = ctx;

    (void)pid;
    s->ended = true;
    if (s->terminal)
        take_terminal(s);
    s->on_end(s->ctx, wait_status);
}

/* When the command stops (Ctrl-Z), salloc stops too, so that its shell gets the terminal. */
static void on_sigchld(void *ctx, int signo)
{
    struct session *s = ctx;
    siginfo_t info = {0};

    (void)signo;
    if (s->ended || !s->terminal || waitid(P_PID, (id_t)s->pid, &info, WSTOPPED | WNOHANG) < 0 ||
        info.si_pid == 0)
        return;
    take_terminal(s);
    kill(getpid(), SIGSTOP);
    give_terminal(s->pid); /* salloc was continued, so the command continues */
    kill(-s->pid, SIGCONT);
}

int session_start(struct loop *l, const struct session_options *o, session_end_fn *on_end,
                  void *ctx, struct session **out, struct err *err)
{
    struct session *s = mem_new(struct session);
    sigset_t every, old;

    *s = (struct session){.loop = l, .on_end = on_end, .ctx = ctx, .terminal = o->terminal};
    if (s->terminal)
        tcgetattr(STDIN_FILENO, &s->modes);
    sigfillset(&every); /* no signal may run salloc's handlers in the child */
    sigprocmask(SIG_BLOCK, &every, &old);
    s->pid = fork();
    if (s->pid == 0)
        become_command(o, &old);
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (s->pid < 0) {
        free(s);
        return err_set(err, -errno, "fork: %s", strerror(errno));
    }
    if (s->terminal) {
        setpgid(s->pid, s->pid); /* parent and child both call setpgid(): the order is unknown */
        loop_signal(l, SIGCHLD, on_sigchld, s);
    }
    loop_child(l, s->pid, on_child, s);
    *out = s;
    return 0;
}

void session_signal(struct session *s, int signo)
{
    if (s->ended)
        return;
    kill(s->terminal ? -s->pid : s->pid, signo);
    if (signo != SIGCONT)
        kill(s->terminal ? -s->pid : s->pid, SIGCONT);
}

void session_free(struct session *s)
{
    if (s == NULL)
        return;
    if (!s->ended && s->terminal)
        take_terminal(s);
    free(s);
}
