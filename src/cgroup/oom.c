/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cgroup/oom.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX 8192    /* bytes; longer than any record of the kernel */
#define RECORDS_MAX 100000 /* records per call; the kernel may write continuously */
#define COLUMNS_MAX 16
#define RSS_COLUMN 3 /* uid, tgid, total_vm, rss */
#define KIB_PER_MIB 1024

int cgroup_oom_open(void)
{
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    lseek(fd, 0, SEEK_END);
    return fd;
}

void cgroup_oom_read(int fd, struct cgroup_oom *o)
{
    char record[RECORD_MAX + 1];

    for (int i = 0; i < RECORDS_MAX; i++) {
        ssize_t n = read(fd, record, RECORD_MAX);

        if (n < 0 && (errno == EPIPE || errno == EINTR)) /* records were overwritten: continue */
            continue;
        if (n <= 0)
            return;
        record[n] = '\0';
        cgroup_oom_line(o, record);
    }
}

static void keep_largest(struct cgroup_oom_process *most, struct cgroup_oom_process p)
{
    for (int i = 0; i < CGROUP_OOM_MOST; i++)
        if (p.rss_kib > most[i].rss_kib) {
            struct cgroup_oom_process smaller = most[i];

            most[i] = p;
            p = smaller;
        }
}

/* Parses the head of the table, "[  pid  ]   uid  tgid total_vm      rss ... name", which depends
   on the kernel release. */
static void take_head(struct cgroup_oom *o, const char *at)
{
    memset(o->seen, 0, sizeof(o->seen));
    o->columns = 0;
    for (at = strchr(at, ']') + 1; *at && *at != '\n' && o->columns < COLUMNS_MAX;) {
        at += strspn(at, " ");
        if (!strncmp(at, "name", 4))
            return;
        o->columns++;
        at += strcspn(at, " \n");
    }
    o->columns = 0; /* not such a table */
}

static void put_process_name(const char *from, char *out, size_t size)
{
    size_t n = 0;

    for (; *from && *from != '\n' && n + 1 < size; from++)
        out[n++] = isgraph((unsigned char)*from) ? *from : '?';
    out[n] = '\0';
}

/* "[  15398]     0 15398    55342    19668 ... python3" */
static void take_row(struct cgroup_oom *o, const char *at)
{
    struct cgroup_oom_process p = {0};
    char *end;

    p.pid = strtol(at + 1, &end, 10);
    if (p.pid <= 0 || *end != ']' || o->columns <= RSS_COLUMN)
        return;
    at = end + 1;
    for (unsigned i = 0; i < o->columns; i++, at = end) {
        long value = strtol(at, &end, 10);

        if (end == at)
            return;
        if (i == RSS_COLUMN && value > 0)
            p.rss_kib = (uint64_t)value * (uint64_t)sysconf(_SC_PAGESIZE) / KIB_PER_MIB;
    }
    put_process_name(at + strspn(at, " "), p.name, sizeof(p.name));
    keep_largest(o->seen, p);
}

static bool ends_with(const char *text, size_t len, const char *tail, size_t tail_len)
{
    return tail_len > 1 && tail_len <= len && !memcmp(text + len - tail_len, tail, tail_len);
}

/* The kernel's path begins at its own root, ours at the mount point of the tree. */
static bool is_ours(const char *path, const char *said, size_t len)
{
    size_t own = strlen(path);

    return ends_with(path, own, said, len) || ends_with(said, len, path, own);
}

/* Parses "oom-kill:...,oom_memcg=/a,task_memcg=/a/b,task=python3,pid=15398,uid=0": text before
 * task= cannot be chosen by users. */
static void take_verdict(struct cgroup_oom *o, const char *text)
{
    static const char word[] = ",task_memcg=";
    const char *at = strstr(text, word), *end = at ? strstr(at, ",task=") : NULL;

    if (!end)
        return;
    at += sizeof(word) - 1;
    if (is_ours(o->path, at, (size_t)(end - at))) {
        o->kills++;
        memcpy(o->most, o->seen, sizeof(o->most));
    }
    memset(o->seen, 0, sizeof(o->seen));
}

void cgroup_oom_line(struct cgroup_oom *o, const char *record)
{
    const char *text = strchr(record, ';');

    if (!text)
        return;
    text++;
    if (!strncmp(text, "[  pid  ]", 9))
        take_head(o, text);
    else if (text[0] == '[')
        take_row(o, text);
    else if (!strncmp(text, "oom-kill:", 9))
        take_verdict(o, text);
}

void cgroup_oom_format(const struct cgroup_oom *o, struct str *out)
{
    for (int i = 0; i < CGROUP_OOM_MOST && o->most[i].rss_kib; i++)
        str_printf(out, "%s%s[%ld] %lluM", i ? ", " : "", o->most[i].name, o->most[i].pid,
                   (unsigned long long)(o->most[i].rss_kib / KIB_PER_MIB));
}
