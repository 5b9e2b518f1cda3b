/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A login daemon as small as can be: login CONFDIR SERVICE USER COMMAND...
 * Asks the account and session stacks of a service of a directory of its own; what they say comes on
 * standard error. Then the command runs as the user, in the environment of the stacks alone.
 * WANTED_JOB in the environment is the SLURM_JOB_ID that the user has sent. An inherited descriptor
 * that is a connected socket is where the login comes from.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <security/pam_appl.h>

static int talk(int count, const struct pam_message **messages, struct pam_response **answers, void *ctx)
{
    for (int i = 0; i < count; i++)
        fprintf(stderr, "%s\n", messages[i]->msg);
    *answers = calloc((size_t)count, sizeof(**answers));
    return *answers ? PAM_SUCCESS : PAM_BUF_ERR;
}

static void be_user(pam_handle_t *pam, const struct passwd *user, char **argv)
{
    char **env = pam_getenvlist(pam);

    if (setgroups(0, NULL) || setgid(user->pw_gid) || setuid(user->pw_uid))
        _exit(126);
    execve("/bin/sh", (char *[]){"sh", "-c", argv[0], NULL}, env);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct pam_conv conv = {talk, NULL};
    const struct passwd *user = argc == 5 ? getpwnam(argv[3]) : NULL;
    const char *wanted = getenv("WANTED_JOB");
    char line[64];
    pam_handle_t *pam;
    int rc, status;
    pid_t pid;

    if (!user || pam_start_confdir(argv[2], argv[3], &conv, argv[1], &pam) != PAM_SUCCESS)
        return 3;
    snprintf(line, sizeof(line), "SLURM_JOB_ID=%s", wanted ? wanted : "");
    if (wanted)
        pam_putenv(pam, line);
    rc = pam_acct_mgmt(pam, 0);
    if (rc == PAM_SUCCESS)
        rc = pam_open_session(pam, 0);
    if (rc != PAM_SUCCESS) {
        fprintf(stderr, "refused: %d\n", rc);
        pam_end(pam, rc);
        return 1;
    }
    pid = fork();
    if (pid == 0)
        be_user(pam, user, argv + 4);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    pam_close_session(pam, 0);
    pam_end(pam, PAM_SUCCESS);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
