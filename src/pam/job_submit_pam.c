/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JobSubmitPlugins=pam: PAM decides whether a user may submit and change jobs, by the lines "auth"
 * and "account" of /etc/pam.d/slurmctld on the controller's host (CORE-078, CORE-079). The
 * request's token has authenticated the user; PAM authorises the user with any module of the site:
 * lists, groups, hours, expired accounts, a directory.
 *
 * It uses the public plugin interface (sluice/job_submit.h), so it runs in the controller's
 * helper: a module that is slow or crashes affects only the request in question.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <security/pam_appl.h>

#include <sluice/job_submit.h>

#define SERVICE "slurmctld"
#define TEXT_MAX 512 /* bytes of a message line */
#define NAMES_MAX 16384

struct asked {
    struct sluice_job *job;
    int prompted; /* a module has asked a question, which nobody can answer */
};

/* Messages of modules are shown to the user. Questions cannot be answered, because the controller
   has no terminal. */
static int on_talk(int count, const struct pam_message **messages, struct pam_response **answers,
                   void *ctx)
{
    struct asked *asked = ctx;

    for (int i = 0; i < count; i++) {
        int style = messages[i]->msg_style;

        if (style == PAM_PROMPT_ECHO_OFF || style == PAM_PROMPT_ECHO_ON) {
            asked->prompted = 1;
            return PAM_CONV_ERR;
        }
        sluice_job_tell(asked->job, messages[i]->msg);
    }
    *answers = calloc((size_t)(count > 0 ? count : 1), sizeof(**answers)); /* freed by PAM */
    return *answers ? PAM_SUCCESS : PAM_BUF_ERR;
}

/* Disables the delay after a failure, because other jobs wait behind this one. */
static void no_delay(int result, unsigned usec, void *ctx)
{
    (void)result, (void)usec, (void)ctx;
}

static int ask_stack(pam_handle_t *pam, const char *user)
{
    union {
        void (*function)(int, unsigned, void *);
        const void *item;
    } delay = {no_delay};
    int rc = pam_set_item(pam, PAM_RUSER, user);

    if (rc == PAM_SUCCESS)
        rc = pam_set_item(pam, PAM_TTY, "slurm");
    if (rc == PAM_SUCCESS)
        rc = pam_set_item(pam, PAM_FAIL_DELAY, delay.item);
    if (rc == PAM_SUCCESS)
        rc = pam_authenticate(pam, PAM_DISALLOW_NULL_AUTHTOK);
    return rc == PAM_SUCCESS ? pam_acct_mgmt(pam, PAM_DISALLOW_NULL_AUTHTOK) : rc;
}

static int refuse_job(const struct asked *asked, const char *user, const char *why)
{
    char text[TEXT_MAX];

    snprintf(text, sizeof(text),
             "PAM refuses user %s, service " SERVICE " (/etc/pam.d/" SERVICE
             " where slurmctld runs): %s%s",
             user, why,
             asked->prompted ? "; a module asks for a password, and nobody is asked" : "");
    sluice_job_tell(asked->job, text);
    sluice_job_log(asked->job, SLUICE_LOG_INFO, text);
    return SLUICE_JOB_REFUSE;
}

static int ask_pam(struct sluice_job *job, const char *user)
{
    struct asked asked = {.job = job};
    struct pam_conv conversation = {.conv = on_talk, .appdata_ptr = &asked};
    pam_handle_t *pam = NULL;
    int rc = pam_start(SERVICE, user, &conversation, &pam);

    if (rc != PAM_SUCCESS)
        return refuse_job(&asked, user, "PAM does not begin");
    rc = ask_stack(pam, user);
    int verdict =
        rc == PAM_SUCCESS ? SLUICE_JOB_PASS : refuse_job(&asked, user, pam_strerror(pam, rc));
    pam_end(pam, rc);
    return verdict;
}

/* Root and SlurmUser are exempt, since they can change PAM's configuration. */
static int ask_about_caller(struct sluice_job *job)
{
    uint32_t uid = sluice_job_caller(job);
    char names[NAMES_MAX], number[16];
    struct passwd space, *found = NULL;

    if (uid == 0 || uid == geteuid())
        return SLUICE_JOB_PASS;
    if (getpwuid_r(uid, &space, names, sizeof(names), &found) != 0 || !found) {
        snprintf(number, sizeof(number), "%u", uid);
        return refuse_job(&(struct asked){.job = job}, number,
                          "the controller's host has no such user");
    }
    return ask_pam(job, found->pw_name);
}

static int on_modify(struct sluice_job *change, const struct sluice_job *job)
{
    (void)job;
    return ask_about_caller(change);
}

__attribute__((visibility("default"))) const struct sluice_job_submit sluice_job_submit = {
    .version = SLUICE_JOB_SUBMIT_VERSION,
    .submit = ask_about_caller,
    .modify = on_modify,
};
