/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs beside a site's script: job_prolog or job_epilog of each plugin, then the script, in one
 * process that slurmd supervises and limits like a script. It uses the script's environment.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/conf.h"
#include "slurmstepd/task/plugin.h"
#include "spank/stack.h"

static void on_say(void *ctx, enum stack_level level, const char *text)
{
    if (level > STACK_ERROR)
        return;
    fprintf(stderr, "slurmstepd: %s%s\n", level == STACK_ERROR ? "error: " : "", text);
    syslog(LOG_ERR, "%s", text);
}

static uint32_t find_script_number(const char *name)
{
    const char *text = getenv(name);
    long long n = 0;

    if (text)
        str_parse_i64(text, 0, UINT32_MAX, &n);
    return (uint32_t)n;
}

static int call_plugins(bool epilog, struct err *err)
{
    const struct stack_host host = {.context = S_CTX_JOB_SCRIPT, .say = on_say};
    const struct stack_facts facts = {.has_ids = true,
                                      .has_job = true,
                                      .uid = find_script_number("SLURM_JOB_UID"),
                                      .gid = find_script_number("SLURM_JOB_GID"),
                                      .job_id = find_script_number("SLURM_JOB_ID"),
                                      .restarts = find_script_number("SLURM_JOB_RESTART_COUNT"),
                                      .array_job_id = find_script_number("SLURM_ARRAY_JOB_ID"),
                                      .array_task_id = find_script_number("SLURM_ARRAY_TASK_ID")};
    struct plugstack rows = {0};
    struct stack *stack = NULL;
    struct conf *conf = NULL;
    int rc = conf_load_own(&conf, err);

    if (rc == 0)
        rc = plugstack_load(conf, &rows, err);
    if (rc == 0)
        rc = stack_open(&rows, &host, &stack, err);
    if (rc == 0 && stack) {
        stack_set_facts(stack, &facts);
        rc = stack_call(stack, epilog ? STACK_JOB_EPILOG : STACK_JOB_PROLOG, NULL, err);
    }
    stack_close(stack);
    plugstack_done(&rows);
    conf_free(conf);
    return rc;
}

/* Returns its status; 127: it cannot be executed. */
static int run_and_wait(const char *path)
{
    char *const argv[] = {(char *)path, NULL};
    int status = 0;
    pid_t pid;

    if (posix_spawn(&pid, path, NULL, NULL, argv, environ))
        return 127;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int plugin_script(int argc, char **argv)
{
    bool epilog = str_eq(argv[1], "epilog");
    const char *path = argc > 2 ? argv[2] : NULL;
    struct err err = {0};
    int rc;

    openlog("slurmstepd", LOG_PID, LOG_DAEMON);
    rc = call_plugins(epilog, &err);
    if (rc < 0) { /* the epilog has to run in any case */
        on_say(NULL, STACK_ERROR, err.text);
    }
    /* The log was for us; the script's standard error is /dev/null. */
    dup2(STDIN_FILENO, STDERR_FILENO);
    if (rc < 0 && epilog && path)
        run_and_wait(path);
    if (rc < 0)
        return 1;
    if (!path)
        return 0;
    execv(path, (char *const[]){(char *)path, NULL});
    syslog(LOG_ERR, "%s: %s", path, strerror(errno));
    return 127;
}
