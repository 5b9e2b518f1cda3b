/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/script/asuser.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/become.h"
#include "base/err.h"
#include "base/mem.h"

#define GROUPS_MAX 65536

static _Noreturn void report_failure(int report, const char *why)
{
    if (write(report, why, strlen(why)) < 0)
        _exit(126);
    _exit(127);
}

static int find_groups(const char *name, gid_t gid, gid_t **groups)
{
    int count = 64, have = -1;
    *groups = NULL;
    while (have < 0 && count <= GROUPS_MAX) {
        int room = count;
        free(*groups);
        *groups = mem_new_array(gid_t, (size_t)room);
        count = room;
        have = getgrouplist(name, gid, *groups, &count);
        if (have < 0)
            count = count > room ? count : 2 * room;
    }
    return have;
}

/* As a login of his would have it. */
static char **add_login_variables(char **env, const struct passwd *p)
{
    size_t count = 0;
    while (env[count])
        count++;
    char **all = mem_new_array(char *, count + 5);
    if (count)
        memcpy(all, env, count * sizeof *env);
    all[count++] = mem_printf("USER=%s", p->pw_name);
    all[count++] = mem_printf("LOGNAME=%s", p->pw_name);
    all[count++] = mem_printf("HOME=%s", p->pw_dir);
    all[count++] = mem_printf("SHELL=%s", p->pw_shell && *p->pw_shell ? p->pw_shell : "/bin/sh");
    return all;
}

_Noreturn void asuser_exec(const Pb__ScriptRun *m, char **argv, char **env, pid_t parent,
                           int report)
{
    struct err err = {0};
    gid_t *groups = NULL;
    const struct passwd *p = getpwuid(m->uid);
    if (!p)
        report_failure(report, "its user has no account on this host");
    env = add_login_variables(env, p);
    int count = find_groups(p->pw_name, m->gid, &groups);
    if (count < 0)
        report_failure(report, "the groups of its user are unknown");
    if (become_user(m->uid, m->gid, groups, (size_t)count, &err) != 0)
        report_failure(report, err.text);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user's process has lost it */
    if (getppid() != parent)
        _exit(127);
    umask(022);
    if (chdir("/"))
        report_failure(report, strerror(errno));
    execve(m->path, argv, env);
    report_failure(report, strerror(errno));
}
