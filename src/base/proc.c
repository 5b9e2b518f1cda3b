/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define STAT_MAX 1024   /* bytes of /proc/PID/stat, with room */
#define STATUS_MAX 8192 /* of /proc/PID/status that are looked at */
#define TRACER "\nTracerPid:\t"

int proc_parse(const char *text, struct proc *out)
{
    struct proc p = {0};
    const char *open = strchr(text, '('), *close = strrchr(text, ')'); /* a name may hold both */
    int pid, parent;
    size_t len;

    if (!open || !close || close < open || sscanf(text, "%d", &pid) != 1 ||
        sscanf(close + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %*d %*d %*d %*d %" SCNu64 " %" SCNu64 " %" SCNu64,
               &p.state, &parent, &p.user_ticks, &p.sys_ticks, &p.waited_user_ticks,
               &p.waited_sys_ticks, &p.started_ticks, &p.vsize_bytes, &p.rss_pages) != 9)
        return -ERR_PARSE;
    p.pid = pid;
    p.parent = parent;
    len = (size_t)(close - open) - 1;
    memcpy(p.name, open + 1, len < PROC_NAME_MAX - 1 ? len : PROC_NAME_MAX - 1);
    *out = p;
    return 0;
}

/* Into buf, ended by a NUL. -errno. */
static int read_small(pid_t pid, const char *name, char *buf, size_t size)
{
    char path[64];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        return -errno;
    buf[n] = '\0';
    return 0;
}

int proc_read(pid_t pid, struct proc *out)
{
    char text[STAT_MAX];
    int rc = read_small(pid, "stat", text, sizeof(text));

    return rc ? rc : proc_parse(text, out);
}

int proc_each(proc_fn *fn, void *ctx)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int rc = 0;

    if (!dir)
        return -errno;
    while (!rc && (entry = readdir(dir))) {
        int pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

        if (pid > 0)
            rc = fn(ctx, pid);
    }
    closedir(dir);
    return rc;
}

static void put_name(const char *name, struct str *out)
{
    for (; *name; name++)
        str_putc(out, isgraph((unsigned char)*name) ? *name : '?');
}

static int tracer_of(pid_t pid)
{
    char text[STATUS_MAX];
    const char *at;

    if (read_small(pid, "status", text, sizeof(text)))
        return 0;
    at = strstr(text, TRACER);
    return at ? atoi(at + strlen(TRACER)) : 0;
}

void proc_describe(pid_t pid, struct str *out)
{
    char channel[128] = "";
    struct proc p;
    int tracer;

    if (proc_read(pid, &p))
        return;
    read_small(pid, "wchan", channel, sizeof(channel)); /* unreadable: unknown */
    tracer = tracer_of(pid);
    str_printf(out, "pid %d (", (int)pid);
    put_name(p.name, out);
    str_printf(out, ") state %c, wchan ", p.state);
    if (*channel && strcmp(channel, "0") != 0)
        put_name(channel, out);
    else
        str_puts(out, "unknown");
    if (tracer)
        str_printf(out, ", traced by pid %d", tracer);
}
