/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pam_sluice_adopt: only users with a job on this node may log in, and their processes become part
 * of the job (X-39, docs/adr/0023). Root is exempt. If the result is unknown, the login is
 * refused, unless the site configures otherwise.
 *
 * The module runs as root in login daemons: of the user's input it reads only one number. A
 * separate program queries the node daemon (helper.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <syslog.h>
#include <unistd.h>

#include <security/pam_ext.h>
#include <security/pam_modules.h>

#include "pam/helper.h"
#include "pam/options.h"

#define DENIED "Access denied by pam_slurm_adopt: " /* users and their scripts know this text */
#define ADOPTED "pam_sluice_adopt_pid"
#define PUBLIC __attribute__((visibility("default")))
#define USER_BUFFER 65536

struct login {
    pam_handle_t *pam;
    struct options options;
    const char *user;
    uid_t uid;
    bool silent;
};

__attribute__((format(printf, 3, 4))) static void say(const struct login *l, int level,
                                                      const char *fmt, ...)
{
    va_list ap;

    if (level > l->options.log_level)
        return;
    va_start(ap, fmt);
    pam_vsyslog(l->pam, level, fmt, ap);
    va_end(ap);
}

static int deny_login(const struct login *l, const char *why)
{
    say(l, LOG_INFO, "access denied for user %s (uid=%u): %s", l->user, (unsigned)l->uid, why);
    if (!l->silent)
        pam_error(l->pam, DENIED "%s", why);
    return PAM_PERM_DENIED;
}

static int act_on_login(const struct login *l, enum action action, const char *why)
{
    if (action == ACTION_DENY || action == ACTION_NEWEST)
        return deny_login(l, why);
    say(l, LOG_INFO, "user %s (uid=%u) is %s: %s", l->user, (unsigned)l->uid,
        action == ACTION_ALLOW ? "let in without a job" : "left to other modules", why);
    return action == ACTION_ALLOW ? PAM_SUCCESS : PAM_IGNORE;
}

/* --- identity of the login -------------------------------------------------------------------- */

static int find_login_user(struct login *l)
{
    struct passwd entry, *found = NULL;
    char *buffer = malloc(USER_BUFFER);
    int rc = PAM_BUF_ERR;

    if (buffer && pam_get_user(l->pam, &l->user, NULL) == PAM_SUCCESS && l->user && *l->user) {
        getpwnam_r(l->user, &entry, buffer, USER_BUFFER, &found);
        rc = found ? PAM_SUCCESS : PAM_USER_UNKNOWN;
        if (found)
            l->uid = entry.pw_uid;
        else
            pam_syslog(l->pam, LOG_ERR, "there is no user of that name");
    }
    free(buffer);
    return rc;
}

static bool is_ours(const struct login *l)
{
    const void *service = NULL;

    if (!strcmp(l->options.service, "*"))
        return true;
    return pam_get_item(l->pam, PAM_SERVICE, &service) == PAM_SUCCESS && service &&
           !strcmp(service, l->options.service);
}

/* Returns the job that the user requests; the node daemon checks that it belongs to the user. */
static uint32_t wanted_job(const struct login *l)
{
    const char *text = pam_getenv(l->pam, "SLURM_JOB_ID");
    unsigned long long id;
    char *end;

    if (!text || *text < '0' || *text > '9' || strlen(text) > 10)
        return 0;
    id = strtoull(text, &end, 10);
    return *end || id > UINT32_MAX ? 0 : (uint32_t)id;
}

/* --- actions ---------------------------------------------------------------------------------- */

static int put_env(const struct login *l, const char *name, const char *value)
{
    char line[RESULT_PATH_MAX + 64];

    snprintf(line, sizeof(line), "%s=%s", name, value);
    return *value ? pam_putenv(l->pam, line) : PAM_SUCCESS;
}

/* Sets the variables by which commands in the session find this job; the node daemon recognises
   the session by the last one. */
static int set_environment(const struct login *l, const struct result *r)
{
    char job[16];
    int rc;

    snprintf(job, sizeof(job), "%u", r->job_id);
    rc = put_env(l, "SLURM_JOB_ID", job);
    if (rc == PAM_SUCCESS)
        rc = put_env(l, "SLURM_JOBID", job);
    if (rc == PAM_SUCCESS)
        rc = put_env(l, "SLURM_CONF", r->conf);
    if (rc == PAM_SUCCESS)
        rc = put_env(l, "SLURMD_NODENAME", r->node);
    return rc == PAM_SUCCESS ? put_env(l, "SLUICE_STEP", "extern") : rc;
}

/* Enters the job's per-job directories; the file that holds them belongs to root. */
static int enter_job_namespace(const struct login *l, const struct result *r)
{
    int fd, rc = -1;

    if (!*r->tmp || !l->options.join_container)
        return 0;
    fd = open(r->tmp, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNS)
        rc = setns(fd, CLONE_NEWNS);
    if (rc)
        say(l, LOG_ERR, "cannot enter %s, the private directories of job %u: %s", r->tmp, r->job_id,
            strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Whether this process was adopted before: a session is adopted once. */
static bool is_adopted(const struct login *l)
{
    const void *pid = NULL;

    return pam_get_data(l->pam, ADOPTED, &pid) == PAM_SUCCESS && (intptr_t)pid == getpid();
}

static int finish_adoption(const struct login *l, const struct result *r)
{
    if (enter_job_namespace(l, r))
        return act_on_login(l, l->options.adopt_failure,
                            "the private directories of the job are missing");
    if (set_environment(l, r) != PAM_SUCCESS)
        return act_on_login(l, l->options.adopt_failure, "there is no memory left");
    pam_set_data(l->pam, ADOPTED, (void *)(intptr_t)getpid(), NULL);
    say(l, LOG_INFO, "process %d of user %s (uid=%u) was adopted into job %u: %s", (int)getpid(),
        l->user, (unsigned)l->uid, r->job_id, r->how);
    return PAM_SUCCESS;
}

static int with_result(const struct login *l, const struct result *r)
{
    char text[RESULT_TEXT_MAX + 64];

    switch (r->outcome) {
    case RESULT_DONE:
        return finish_adoption(l, r);
    case RESULT_NO_JOB:
        return act_on_login(l, l->options.no_jobs,
                            *r->text ? r->text : "you have no active jobs on this node");
    case RESULT_UNKNOWN:
        return act_on_login(l, l->options.unknown, "unable to determine source job");
    case RESULT_FAILED:
        snprintf(text, sizeof(text), "failed to adopt process into job %u: %s", r->job_id, r->text);
        return act_on_login(l, l->options.adopt_failure, text);
    default:
        say(l, LOG_ERR, "%s", r->text);
        return act_on_login(l, l->options.generic_failure,
                            "slurmd of this node could not be asked");
    }
}

static int handle_login(pam_handle_t *pam, int flags, int argc, const char **argv)
{
    struct login l = {.pam = pam, .silent = ((unsigned)flags & PAM_SILENT) != 0};
    struct result *r;
    int rc;

    options_parse(pam, argc, argv, &l.options);
    if (!is_ours(&l))
        return PAM_IGNORE;
    rc = find_login_user(&l);
    if (rc != PAM_SUCCESS)
        return rc;
    if (l.uid == 0)
        return PAM_IGNORE;
    if (l.options.bad)
        return deny_login(&l, "its options are wrong");
    if (is_adopted(&l))
        return PAM_SUCCESS;
    r = malloc(sizeof(*r));
    if (!r)
        return PAM_BUF_ERR;
    helper_run(&l.options, l.uid, wanted_job(&l), r);
    rc = with_result(&l, r);
    free(r);
    return rc;
}

PUBLIC int pam_sm_acct_mgmt(pam_handle_t *pam, int flags, int argc, const char **argv)
{
    return handle_login(pam, flags, argc, argv);
}

/* Called in a different process than the one that checked the account, in some login daemons. */
PUBLIC int pam_sm_open_session(pam_handle_t *pam, int flags, int argc, const char **argv)
{
    return handle_login(pam, flags, argc, argv);
}

PUBLIC int pam_sm_close_session(pam_handle_t *pam, int flags, int argc, const char **argv)
{
    (void)pam;
    (void)flags;
    (void)argc;
    (void)argv;
    return PAM_SUCCESS;
}
