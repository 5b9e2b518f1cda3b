/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "slurmstepd/env/userenv.h"
#include "slurmstepd/env/vars.h"

/* Reads available output. Returns false at the end of file. */
static bool read_output(int fd, size_t max, struct str *text, bool *cut)
{
    char chunk[4096];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
        size_t room = max - text->len;

        *cut |= (size_t)n > room;
        str_append(text, chunk, (size_t)n < room ? (size_t)n : room);
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static int reap_child(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int env_collect(pid_t pid, int fd, const struct collect_limits *limits, struct str *text, bool *cut)
{
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd watched[2] = {{fd, POLLIN, 0}, {handle, POLLIN, 0}};
    int64_t end_ms = proc_mono_ms() + (int64_t)limits->sec * 1000;
    bool ended = false;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (!ended && (watched[0].fd >= 0 || handle >= 0)) {
        int64_t left = end_ms - proc_mono_ms();

        if (limits->sec && left <= 0)
            break;
        if (poll(watched, 2, limits->sec ? (int)left : -1) <= 0)
            continue;
        ended = watched[1].revents != 0;
        if (watched[0].fd >= 0 && !read_output(fd, limits->bytes, text, cut))
            watched[0].fd = -1;
    }
    bool late = !ended && (watched[0].fd >= 0 || handle >= 0);
    if (handle >= 0)
        close(handle);
    if (late)
        kill(-pid, SIGKILL);
    int status = reap_child(pid);
    return late ? COLLECT_LATE : status;
}

/* The shell's startup files may write output, too; the environment is between these markers. The
 * commands work in every shell. */
#define BEGIN "SLUICE-USER-ENVIRONMENT\n"
#define END "\nSLUICE-USER-ENVIRONMENT-END\n"
#define COMMAND                                                                                    \
    "echo SLUICE-USER-ENVIRONMENT; /usr/bin/env -0; echo; echo SLUICE-USER-ENVIRONMENT-END"

/* The options that run the shell, for messages. */
#define WHAT "--get-user-env, or --export with names or NONE: "
#define HELP "; with --export=ALL or NIL no shell runs"

bool userenv_wanted(const struct step *step)
{
    return step->batch && step->batch->payload && step->batch->payload->user_env;
}

/* Starts the shell as login(1) does; 'login' adds the dash before its name. */
static int spawn_shell(const Pb__StepdStart *start, const char *shell, bool login, int out,
                       pid_t *pid)
{
    const char *slash = strrchr(shell, '/');
    const char *home = start->home && *start->home ? start->home : "/";
    const char *name = start->user_name ? start->user_name : "";
    _cleanup_free_ char *title = mem_printf("%s%s", login ? "-" : "", slash ? slash + 1 : shell);
    _cleanup_free_ char *env_home = mem_printf("HOME=%s", home);
    _cleanup_free_ char *env_shell = mem_printf("SHELL=%s", shell);
    _cleanup_free_ char *env_user = mem_printf("USER=%s", name);
    _cleanup_free_ char *env_logname = mem_printf("LOGNAME=%s", name);
    char *const argv[] = {title, (char *)"-c", (char *)COMMAND, NULL};
    char *const env[] = {
        env_home, env_shell, env_user, env_logname, (char *)"PATH=/usr/local/bin:/usr/bin:/bin",
        NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, access(home, X_OK) == 0 ? home : "/");
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    int rc = posix_spawn(pid, shell, &actions, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static int run_shell(const Pb__StepdStart *start, const Pb__UserEnv *want, struct str *text,
                     struct err *err)
{
    const char *shell = start->shell && *start->shell ? start->shell : "/bin/sh";
    const struct collect_limits limits = {
        .bytes = USERENV_BYTES_MAX,
        .sec = want->has_limit_sec && want->limit_sec ? want->limit_sec : start->user_env_sec};
    int ends[2], status = 0;
    bool cut = false;
    pid_t pid;

    if (!limits.sec)
        return err_set(err, -ERR_USER_ENV,
                       WHAT "GetEnvTimeout=0 of slurm.conf lets no shell run" HELP);
    if (pipe2(ends, O_CLOEXEC))
        return err_set(err, -ERR_USER_ENV, WHAT "no pipe: %s", strerror(errno));
    int rc = spawn_shell(start, shell, !want->not_login, ends[1], &pid);
    close(ends[1]);
    if (!rc)
        status = env_collect(pid, ends[0], &limits, text, &cut);
    close(ends[0]);
    if (rc)
        return err_set(err, -ERR_USER_ENV, WHAT "%s cannot be run on %s: %s" HELP, shell,
                       start->node, strerror(rc));
    if (status == COLLECT_LATE)
        return err_set(err, -ERR_USER_ENV,
                       WHAT "%s took more than %u seconds on %s (GetEnvTimeout)" HELP, shell,
                       limits.sec, start->node);
    if (cut)
        return err_set(err, -ERR_USER_ENV, WHAT "%s wrote more than %u bytes on %s", shell,
                       USERENV_BYTES_MAX, start->node);
    if (status)
        return err_set(err, -ERR_USER_ENV, WHAT "%s on %s %s %d", shell, start->node,
                       WIFSIGNALED(status) ? "was ended by signal" : "exited with status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return 0;
}

/* Drops the variables that describe the shell itself. */
static void drop_own(struct envlist *env)
{
    static const char *const names[] = {"_", "OLDPWD", "PWD", "SHLVL"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        envlist_unset(env, names[i]);
}

static int read_variables(struct str *text, const Pb__StepdStart *start, struct envlist *env,
                          struct err *err)
{
    char *from = text->len ? memmem(text->data, text->len, BEGIN, strlen(BEGIN)) : NULL;
    char *to =
        from ? memmem(from, (size_t)(text->data + text->len - from), END, strlen(END)) : NULL;
    VEC(char *) vars = {0};

    if (!to)
        return err_set(err, -ERR_USER_ENV, WHAT "the shell of %s told no variables on %s",
                       start->user_name ? start->user_name : "the user", start->node);
    *to = '\0';
    for (char *at = from + strlen(BEGIN); at < to; at += strlen(at) + 1)
        vec_push(&vars, at);
    int rc = vars.len > USERENV_VARS_MAX
                 ? err_set(err, -ERR_USER_ENV, WHAT "more than %u variables on %s",
                           USERENV_VARS_MAX, start->node)
                 : 0;
    if (!rc)
        envlist_load(env, vars.data, vars.len);
    vec_done(&vars);
    drop_own(env);
    return rc;
}

static void lay_over(struct envlist *env, char *const *vars, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(vars[i], "=");
        _cleanup_free_ char *name = mem_strndup(vars[i], len);

        if (len && vars[i][len])
            envlist_set(env, name, vars[i] + len + 1);
    }
}

int userenv_load(struct step *step, struct err *err)
{
    const Pb__JobPayload *payload = step->batch->payload;
    _cleanup_str_ struct str text = STR_INIT;
    struct envlist env = {0};
    int rc = run_shell(step->start, payload->user_env, &text, err);

    if (!rc)
        rc = read_variables(&text, step->start, &env, err);
    if (rc)
        return rc;
    lay_over(&env, payload->env, payload->n_env);
    vars_batch(&env, step->start, step->batch, step->granted);
    envlist_done(&step->env);
    step->env = env;
    return 0;
}
