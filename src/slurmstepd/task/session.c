/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/session.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <security/pam_appl.h>

#include "base/mem.h"
#include "slurmstepd/stream/journal.h"

#define LIBRARY "libpam.so.0"

static struct {
    typeof(pam_start) *start;
    typeof(pam_set_item) *set_item;
    typeof(pam_setcred) *setcred;
    typeof(pam_acct_mgmt) *acct_mgmt;
    typeof(pam_open_session) *open_session;
    typeof(pam_close_session) *close_session;
    typeof(pam_getenvlist) *getenvlist;
    typeof(pam_strerror) *strerror;
    typeof(pam_end) *end;
} lib;

struct session {
    pam_handle_t *pam;
    bool is_open;
    bool set[RLIM_NLIMITS]; /* changed by the session */
    struct rlimit limit[RLIM_NLIMITS];
};

static int load_pam(struct err *err)
{
    const struct {
        const char *name;
        void *place;
    } symbols[] = {{"pam_start", &lib.start},
                   {"pam_set_item", &lib.set_item},
                   {"pam_setcred", &lib.setcred},
                   {"pam_acct_mgmt", &lib.acct_mgmt},
                   {"pam_open_session", &lib.open_session},
                   {"pam_close_session", &lib.close_session},
                   {"pam_getenvlist", &lib.getenvlist},
                   {"pam_strerror", &lib.strerror},
                   {"pam_end", &lib.end}};
    /* Modules resolve symbols of libpam. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);

    if (!library)
        return err_set(err, -ERR_NODE_FAULT, "UsePAM: %s", dlerror());
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *found = dlsym(library, symbols[i].name);

        if (!found)
            return err_set(err, -ERR_NODE_FAULT, "UsePAM: " LIBRARY " has no %s()",
                           symbols[i].name);
        memcpy(symbols[i].place, &found, sizeof(found));
    }
    return 0;
}

/* No user can be asked. */
static int on_talk(int count, const struct pam_message **messages, struct pam_response **answers,
                   void *ctx)
{
    for (int i = 0; i < count; i++)
        if (messages[i]->msg_style == PAM_PROMPT_ECHO_OFF ||
            messages[i]->msg_style == PAM_PROMPT_ECHO_ON)
            return PAM_CONV_ERR;
    *answers = calloc((size_t)(count > 0 ? count : 1), sizeof(**answers)); /* freed by PAM */
    return *answers ? PAM_SUCCESS : PAM_BUF_ERR;
}

static int fail_session(const struct step *step, const char *what, int code, struct err *err)
{
    return err_set(err, -ERR_LAUNCH, "PAM: %s of user %s, service %s (/etc/pam.d/%s): %s", what,
                   step->start->user_name, SESSION_SERVICE, SESSION_SERVICE,
                   lib.strerror(step->session->pam, code));
}

static int begin_session(struct step *step, struct err *err)
{
    static const struct pam_conv conversation = {.conv = on_talk};
    struct session *s = step->session;
    const char *user = step->start->user_name;
    int rc = lib.start(SESSION_SERVICE, user, &conversation, &s->pam);

    if (rc == PAM_SUCCESS)
        rc = lib.set_item(s->pam, PAM_RUSER, user);
    if (rc == PAM_SUCCESS)
        rc = lib.set_item(s->pam, PAM_TTY, "slurm");
    if (rc != PAM_SUCCESS)
        return fail_session(step, "beginning", rc, err);
    rc = lib.acct_mgmt(s->pam, PAM_SILENT);
    if (rc != PAM_SUCCESS)
        return fail_session(step, "account", rc, err);
    rc = lib.setcred(s->pam, PAM_ESTABLISH_CRED | PAM_SILENT);
    if (rc != PAM_SUCCESS)
        return fail_session(step, "credentials", rc, err);
    rc = lib.open_session(s->pam, PAM_SILENT);
    s->is_open = rc == PAM_SUCCESS;
    return s->is_open ? 0 : fail_session(step, "session", rc, err);
}

static void take_variables(struct step *step)
{
    char **vars = lib.getenvlist(step->session->pam);

    for (char **var = vars; var && *var; var++) {
        char *equals = strchr(*var, '=');

        if (equals) {
            *equals = '\0';
            envlist_set(&step->env, *var, equals + 1);
        }
        free(*var);
    }
    free(vars);
}

static void read_limits(struct rlimit limits[RLIM_NLIMITS])
{
    memset(limits, 0, sizeof(limits[0]) * RLIM_NLIMITS);
    for (__rlimit_resource_t i = 0; i < RLIM_NLIMITS; i++)
        getrlimit(i, &limits[i]);
}

/* Stores the limits that the session has set, for the tasks. */
static void take_limits(struct step *step, const struct rlimit before[RLIM_NLIMITS])
{
    struct session *s = step->session;

    read_limits(s->limit);
    for (__rlimit_resource_t i = 0; i < RLIM_NLIMITS; i++) {
        s->set[i] = s->limit[i].rlim_cur != before[i].rlim_cur ||
                    s->limit[i].rlim_max != before[i].rlim_max;
        if (s->set[i])
            setrlimit(i, &before[i]);
    }
    if (s->set[RLIMIT_NOFILE] && s->limit[RLIMIT_NOFILE].rlim_cur < step->descriptors)
        step->descriptors = (unsigned)s->limit[RLIMIT_NOFILE].rlim_cur;
}

int session_open(struct step *step, struct err *err)
{
    struct rlimit before[RLIM_NLIMITS];
    int rc;

    if (!step->start->has_pam || !step->start->pam)
        return 0;
    if (geteuid() != 0)
        return err_set(err, -ERR_NODE_FAULT, "UsePAM needs slurmd to run as root");
    rc = load_pam(err);
    if (rc)
        return rc;
    step->session = mem_new(struct session);
    read_limits(before);
    rc = begin_session(step, err);
    take_limits(step, before);
    if (rc == 0)
        take_variables(step);
    return rc;
}

void session_limit(const struct step *step)
{
    const struct session *s = step->session;

    for (__rlimit_resource_t i = 0; s && i < RLIM_NLIMITS; i++)
        if (s->set[i])
            setrlimit(i, &s->limit[i]);
}

void session_close(struct step *step)
{
    struct session *s = take_ptr(step->session);
    int rc = PAM_SUCCESS;

    if (!s)
        return;
    if (s->is_open) {
        rc = lib.close_session(s->pam, PAM_SILENT);
        if (rc != PAM_SUCCESS)
            journal_error(step, "step %s: the PAM session cannot be closed: %s", step->name,
                          lib.strerror(s->pam, rc));
        lib.setcred(s->pam, PAM_DELETE_CRED | PAM_SILENT);
    }
    if (s->pam)
        lib.end(s->pam, rc);
    free(s);
}
