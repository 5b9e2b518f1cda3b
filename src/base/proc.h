/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes: information about a process in /proc, its descendants, and the start of a program. Of
 * a process only files are read that never wait for the process itself, so a process that hangs in
 * the kernel does not block its reader.
 */
#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "base/vec.h"

#define PROC_NAME_MAX 64 /* bytes of a name, including NUL; the kernel's names are shorter */

struct proc {
    pid_t pid, parent, session;
    char name[PROC_NAME_MAX];
    char state;                     /* R, S, D, Z, T, t... */
    uint64_t user_ticks, sys_ticks; /* in units of 1/sysconf(_SC_CLK_TCK) seconds */
    uint64_t waited_user_ticks;     /* of its reaped children */
    uint64_t waited_sys_ticks;      /* and of theirs */
    uint64_t started_ticks;         /* since boot; identifies a process together with its pid */
    uint64_t faults, waited_faults; /* page faults that waited for a disk */
    uint64_t vsize_bytes, rss_pages;
};

/* Parses the content of /proc/PID/stat. Returns 0 or -ERR_PARSE. */
int proc_parse(const char *text, struct proc *out);

/* Returns -errno if there is no such process, or -ERR_PARSE. */
int proc_read(pid_t pid, struct proc *out);

/* The same, guaranteed to be of a single process, with its effective user. */
int proc_read_owned(pid_t pid, struct proc *out, uid_t *uid);

/* Parses the bytes that the process and its reaped children have read from and written to storage.
 * A missing or invalid line counts as 0. */
void proc_parse_io(const char *text, uint64_t *read_bytes, uint64_t *write_bytes);

/* Returns -errno; -EACCES for processes of other users, unless we are root. */
int proc_read_io(pid_t pid, uint64_t *read_bytes, uint64_t *write_bytes);

/* Reads the initial environment of a process, each variable with its NUL; returns -errno on
   failure. */
int proc_environ(pid_t pid, struct str *out);
/* Whether it has "NAME=value"; not whole: "NAME=" with any value. */
bool proc_environ_has(const struct str *environment, const char *var, bool whole);

/* Calls fn for every process. A non-zero return value of fn ends the walk and is returned. */
typedef int proc_fn(void *ctx, pid_t pid);
int proc_each(proc_fn *fn, void *ctx);

/* Appends "pid 4711 (cat) state D, wchan request_wait_answer, traced by pid 88". Blanks and
 * unprintable characters in the name become '?'. Appends nothing if the process has gone. */
void proc_describe(pid_t pid, struct str *out);

struct kin {
    pid_t pid, parent;
};

struct kin_list {
    VEC(struct kin) list; /* parents before their children */
};

/* Appends the present descendants; processes forked meanwhile are found by the next call. */
void kin_below(struct kin_list *k, pid_t root);
void kin_children(struct kin_list *k, pid_t parent); /* direct children only */

/* Signals a found process, unless its pid has been reused: the process must still be a child of
 * the same parent, or of the root. False: it has gone, or may not be signalled. */
bool kin_signal(const struct kin *k, pid_t root, int signo);

/*
 * Starts a program with no signal blocked or ignored, whatever the caller's signal settings are;
 * with 'session' in a new session. Does not copy page tables, so the cost is independent of the
 * caller's heap size. Consumes the file actions. Returns 0 or an errno; on error there is no pid.
 */
int child_start(pid_t *pid, const char *path, posix_spawn_file_actions_t *actions, bool session,
                char *const *argv, char *const *env);

/* The monotonic clock in milliseconds, for code without an event loop, which has loop_mono_ms(). */
int64_t proc_mono_ms(void);

/* Waits up to limit_ms for the child to end. True: it has ended and is reaped. False: it still
 * runs, possibly stopped, so a caller that gives it up must send SIGKILL. */
bool child_await(pid_t pid, unsigned limit_ms, int *status);
