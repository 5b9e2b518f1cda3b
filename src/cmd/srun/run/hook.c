/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/hook.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/envlist.h"
#include "base/mem.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "launch/jobenv.h"
#include "launch/origin.h"
#include "launch/tasks.h"

extern char **environ;

static void make_env(const struct run *run, const char *context, struct envlist *env)
{
    envlist_load_all(env, environ);
    envlist_set(env, "SLURM_SCRIPT_CONTEXT", context);
    envlist_setf(env, "SLURM_PRIO_PROCESS", "%d", getpriority(PRIO_PROCESS, 0));
    origin_put_limits(env);
    if (run->alloc != NULL)
        jobenv_alloc(env, run->alloc, run->conf);
    jobenv_step(env, run->step);
}

/* argv: the program, and the command of the step. */
static char **make_argv(const struct run *run, const char *program)
{
    const struct run_command *command = &run->commands[0];
    size_t count = command->argc > 0 ? (size_t)command->argc : 0;
    char **argv = mem_alloc((count + 2) * sizeof(char *));

    argv[0] = (char *)program;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = command->argv[i];
    return argv;
}

/* Signals that srun ignores are not ignored by the program. */
static int spawn_program(const char *program, char **argv, char **env, pid_t *pid)
{
    posix_spawnattr_t attr;
    sigset_t defaults;
    int code;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGTTIN);
    sigaddset(&defaults, SIGTSTP);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    code = posix_spawnp(pid, program, NULL, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    return code;
}

bool hook_run(const struct run *run, const char *program, const char *context)
{
    struct envlist env = {0};
    struct str text = STR_INIT;
    int code, status = 0;
    pid_t pid;

    if (program == NULL || *program == '\0' || strcmp(program, "none") == 0)
        return true;
    make_env(run, context, &env);
    _cleanup_free_ char **argv = make_argv(run, program);
    code = spawn_program(program, argv, envlist_argv(&env), &pid);
    envlist_done(&env);
    if (code != 0) {
        say_error("%s: %s", program, strerror(code));
        return false;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0) {
        tasks_describe(status, &text);
        say_error("%s: %s", program, str_cstr(&text));
        str_done(&text);
    }
    return status == 0;
}
