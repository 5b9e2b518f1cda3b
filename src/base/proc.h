/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What /proc tells of a process. Only files that never wait for the process itself are read: one
 * that hangs in the kernel does not hang its reader.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

#define PROC_NAME_MAX 64 /* bytes of a name, its NUL included; the kernel's are shorter */

struct proc {
    pid_t pid, parent, session;
    char name[PROC_NAME_MAX];
    char state;                     /* R, S, D, Z, T, t... */
    uint64_t user_ticks, sys_ticks; /* of sysconf(_SC_CLK_TCK) a second */
    uint64_t waited_user_ticks;     /* of the children it has waited for, */
    uint64_t waited_sys_ticks;      /* and of theirs */
    uint64_t started_ticks;         /* since boot; with pid it names a process */
    uint64_t faults, waited_faults; /* that had to wait for a disk */
    uint64_t vsize_bytes, rss_pages;
};

/* The text of a /proc/PID/stat. -ERR_PARSE. */
int proc_parse(const char *text, struct proc *out);

/* -errno when there is no such process, -ERR_PARSE. */
int proc_read(pid_t pid, struct proc *out);

/* The same of one process for sure, and its effective user. */
int proc_read_owned(pid_t pid, struct proc *out, uid_t *uid);

/* Bytes it, and those it has waited for, had fetched from storage and sent there. A line that is
 * not there, or is invalid: 0. */
void proc_parse_io(const char *text, uint64_t *read_bytes, uint64_t *write_bytes);

/* -errno: -EACCES for other users' unless we are root. */
int proc_read_io(pid_t pid, uint64_t *read_bytes, uint64_t *write_bytes);

/* The variables that a process began with, each with its NUL; -errno. */
int proc_environ(pid_t pid, struct str *out);
/* Whether "NAME=value" is among them; not whole: "NAME=" with whatever value. */
bool proc_environ_has(const struct str *environment, const char *var, bool whole);

/* Every process there is. A non-zero return of fn ends the walk and is returned. */
typedef int proc_fn(void *ctx, pid_t pid);
int proc_each(proc_fn *fn, void *ctx);

/* "pid 4711 (cat) state D, wchan request_wait_answer, traced by pid 88". Blanks and what cannot be
 * printed in the name become '?'. Appends nothing when it has gone. */
void proc_describe(pid_t pid, struct str *out);
