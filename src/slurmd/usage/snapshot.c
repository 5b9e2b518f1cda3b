/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/usage/snapshot.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "loop/loop.h"

#define STAT_MAX (4u << 20) /* bytes of /proc/stat, which has a line per processor */
#define USEC 1000000u
#define UNPLACED (-1)

static uint64_t usec_of(uint64_t ticks)
{
    static long per_sec;

    if (!per_sec)
        per_sec = sysconf(_SC_CLK_TCK);
    return per_sec > 0 ? ticks / (uint64_t)per_sec * USEC +
                             ticks % (uint64_t)per_sec * USEC / (uint64_t)per_sec
                       : 0;
}

void snapshot_convert(const struct proc *p, uid_t uid, struct snapshot_proc *out)
{
    *out = (struct snapshot_proc){.pid = p->pid,
                                  .parent = p->parent,
                                  .session = p->session,
                                  .uid = uid,
                                  .started_ticks = p->started_ticks,
                                  .rss_kib = p->rss_pages * ((uint64_t)sysconf(_SC_PAGESIZE) >> 10),
                                  .vsize_kib = p->vsize_bytes >> 10};
    out->own[SNAPSHOT_USER] = usec_of(p->user_ticks);
    out->own[SNAPSHOT_SYS] = usec_of(p->sys_ticks);
    out->own[SNAPSHOT_PAGES] = p->faults;
    out->waited[SNAPSHOT_USER] = usec_of(p->waited_user_ticks);
    out->waited[SNAPSHOT_SYS] = usec_of(p->waited_sys_ticks);
    out->waited[SNAPSHOT_PAGES] = p->waited_faults;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct snapshot_proc *)a)->pid, y = ((const struct snapshot_proc *)b)->pid;

    return (x > y) - (x < y);
}

struct snapshot_proc *snapshot_find(const struct snapshot *s, pid_t pid)
{
    struct snapshot_proc key = {.pid = pid};

    if (!s->procs.len)
        return NULL;
    return bsearch(&key, s->procs.data, s->procs.len, sizeof(key), by_pid);
}

static bool is_root(pid_t pid, const pid_t *roots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (roots[i] == pid)
            return true;
    return false;
}

/* Walks up to a shepherd or to a process whose place is known, and sets the place of all processes
 * on the way. Pids may be reused during reading, so the way may be a cycle; it ends after as many
 * steps as there are processes. */
static void place_one(struct snapshot *s, struct snapshot_proc *p, const pid_t *roots, size_t count)
{
    struct snapshot_proc *at = p, *up = NULL;
    pid_t root = 0, top = 0;

    for (size_t i = 0; i < s->procs.len; i++) {
        if (at->root != UNPLACED) {
            root = at->root;
            top = at->top;
            break;
        }
        if (is_root(at->parent, roots, count)) {
            root = at->parent;
            top = at->pid;
            break;
        }
        up = snapshot_find(s, at->parent);
        if (!up)
            break;
        at = up;
    }
    for (at = p; at && at->root == UNPLACED; at = snapshot_find(s, at->parent)) {
        at->root = root;
        at->top = top;
        if (at->pid == top)
            break;
    }
}

static void place_adopted(struct snapshot *s, const struct snapshot_adopted *a)
{
    struct snapshot_proc *p = snapshot_find(s, a->pid);

    if (!p || p->root != UNPLACED || (a->started_ticks && p->started_ticks != a->started_ticks))
        return;
    p->root = a->shepherd;
    p->top = p->pid;
}

void snapshot_place(struct snapshot *s, const pid_t *roots, size_t count)
{
    vec_foreach (&s->procs, p) {
        bool placed = is_root(p->pid, roots, count);

        p->root = placed ? p->pid : UNPLACED;
        p->top = 0;
    }
    vec_foreach (&s->adopted, a)
        place_adopted(s, a);
    for (size_t i = 0; i < s->procs.len; i++)
        if (s->procs.data[i].root == UNPLACED)
            place_one(s, &s->procs.data[i], roots, count);
}

void snapshot_parse_stat(const char *text, struct snapshot *s)
{
    char *end;

    memset(s->cpu_ticks, 0, sizeof(s->cpu_ticks));
    s->cpus = 0;
    if (strncmp(text, "cpu ", 4) != 0)
        return;
    end = (char *)text + 4;
    for (int i = 0; i < SNAPSHOT_CPU_STATES && *end != '\n'; i++)
        s->cpu_ticks[i] = strtoull(end, &end, 10);
    for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n'))
        s->cpus += !strncmp(line + 1, "cpu", 3) && isdigit((unsigned char)line[4]);
}

static int read_one(void *ctx, pid_t pid)
{
    struct snapshot *s = ctx;
    struct snapshot_proc seen;
    struct proc p;
    uid_t uid;

    if (proc_read_owned(pid, &p, &uid))
        return 0; /* the process has ended */
    snapshot_convert(&p, uid, &seen);
    vec_push(&s->procs, seen);
    s->cut = s->procs.len >= SNAPSHOT_PROCESSES_MAX;
    return s->cut;
}

/* Parents have lower pids, so they were read first, when they had not reaped this process yet,
 * unless pids wrapped around in between. */
bool snapshot_is_doubtful(const struct snapshot_proc *p)
{
    return p->parent > p->pid;
}

/* Processes that ended during the snapshot: their parents may have been read after reaping them,
 * so the processes are treated as not seen. */
static void leave_out_ended(struct snapshot *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->procs.len; i++) {
        const struct snapshot_proc *p = &s->procs.data[i];

        if (!snapshot_is_doubtful(p) || !kill(p->pid, 0) || errno != ESRCH)
            s->procs.data[kept++] = *p;
    }
    s->procs.len = kept;
}

void snapshot_read(struct snapshot *s, const pid_t *roots, size_t count)
{
    _cleanup_str_ struct str text = STR_INIT;

    vec_clear(&s->procs);
    s->cut = false;
    s->at_ms = loop_mono_ms();
    path_read_file("/proc/stat", STAT_MAX, &text, NULL);
    snapshot_parse_stat(str_cstr(&text), s);
    proc_each(read_one, s);
    if (s->procs.len)
        qsort(s->procs.data, s->procs.len, sizeof(s->procs.data[0]), by_pid);
    snapshot_place(s, roots, count);
    vec_foreach (&s->procs, p)
        if (p->root)
            proc_read_io(p->pid, &p->waited[SNAPSHOT_READ], &p->waited[SNAPSHOT_WRITE]);
    leave_out_ended(s);
}

void snapshot_done(struct snapshot *s)
{
    vec_done(&s->procs);
    vec_done(&s->adopted);
}
