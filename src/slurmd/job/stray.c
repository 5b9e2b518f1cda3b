/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/stray.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/step_id.h"
#include "base/str.h"
#include "slurmd/job/receive.h"

#define PASSES 100 /* each kills all it finds; a fork bomb needs several */
#define ENVIRONMENT_MAX (4u << 20)

struct wanted {
    uid_t uid;
    char *vars[4];
    bool of_step; /* a numbered one; else no number of a step may be there */
    pid_t found;  /* the last that was killed */
};

static bool belongs(int pid, const struct wanted *w)
{
    _cleanup_str_ struct str environment = STR_INIT;
    struct stat st;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", pid);
    if (stat(path, &st) || st.st_uid != w->uid)
        return false;
    if (proc_environ(pid, &environment))
        return false;
    for (int i = 0; i < 4; i++)
        if (w->vars[i] && !proc_environ_has(&environment, w->vars[i], true))
            return false;
    return w->of_step || !proc_environ_has(&environment, "SLURM_STEP_ID=", false);
}

/* The number may pass to another process between the look and the blow: a handle first. */
static bool kill_if(int pid, struct wanted *w)
{
    _cleanup_close_ int handle = -1;

    if (!belongs(pid, w))
        return false;
    handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0 || !belongs(pid, w) || syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0))
        return false;
    w->found = pid;
    return true;
}

static unsigned kill_marked(struct wanted *w)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    unsigned count = 0;

    if (!proc)
        return 0;
    while ((entry = readdir(proc))) {
        int pid = atoi(entry->d_name);

        if (pid > 1 && pid != getpid())
            count += kill_if(pid, w);
    }
    closedir(proc);
    return count;
}

static bool is_orphan(const struct slurmd *d, pid_t pid, uid_t uid)
{
    struct stat st;
    struct proc p;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return !stat(path, &st) && st.st_uid == uid && !proc_read(pid, &p) && p.state != 'Z' &&
           !receive_is_ours(d, pid);
}

/* Shepherds and scripts are our own user's: a child of another user is an orphan, unless it is a
 * receiver of files. Until we wait for it, its number is its own. */
static unsigned kill_orphans(const struct slurmd *d, uid_t uid, struct wanted *w)
{
    _cleanup_str_ struct str text = STR_INIT;
    unsigned count = 0;
    char path[64], *at, *end;

    if (uid == geteuid())
        return 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    if (path_read_file(path, ENVIRONMENT_MAX, &text, NULL))
        return 0;
    for (at = (char *)str_cstr(&text); *at; at = end) {
        long pid = strtol(at, &end, 10);

        if (end == at || pid <= 1)
            break;
        if (is_orphan(d, (pid_t)pid, uid) && !kill((pid_t)pid, SIGKILL)) {
            w->found = (pid_t)pid;
            count++;
        }
    }
    return count;
}

unsigned stray_kill(const struct slurmd *d, uint32_t job_id, uint32_t step_id, uid_t uid,
                    struct str *left)
{
    struct wanted w = {.uid = uid};
    unsigned count = 1;

    w.vars[0] = mem_printf("SLURM_JOB_ID=%u", job_id);
    w.vars[1] = mem_printf("SLURMD_NODENAME=%s", d->name);
    w.vars[2] = mem_printf("SLURM_CONF=%s", d->conf->path);
    w.of_step = step_id != STEP_ID_EXTERN && step_id != STEP_ID_BATCH;
    if (step_id == STEP_ID_EXTERN)
        w.vars[3] = mem_strdup("SLUICE_STEP=extern"); /* of pam_sluice_adopt */
    else if (w.of_step)
        w.vars[3] = mem_printf("SLURM_STEP_ID=%u", step_id);
    for (int i = 0; i < PASSES && count; i++)
        count = kill_marked(&w) + kill_orphans(d, uid, &w);
    if (count)
        proc_describe(w.found, left);
    for (int i = 0; i < 4; i++)
        free(w.vars[i]);
    return count;
}
