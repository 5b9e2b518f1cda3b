/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's control groups: a tree of directories below a mount point, of version 1 (one tree
 * per controller) or 2 (one tree). This module knows the file systems, and nothing of jobs except
 * the names of their directories:
 *
 *   v1   MOUNT/CONTROLLER/BASE/uid_1000/job_42/step_0       BASE: slurm
 *   v2   MOUNT/BASE/job_42/step_0/user                      BASE: system.slice/...scope
 *
 * A struct cgroup holds a directory open in each tree in use; files are accessed relative to it,
 * never by a path, and never created. Directory names are made here from numbers.
 *
 * Nothing here logs or waits. Functions return 0 or a negative code; -ENOENT if the controller is
 * not among 'parts'. May be called from any thread; a struct by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

/* Features of the kernel. Version 2 has CGROUP_PROCS and CGROUP_CPUACCT without a controller, and
 * CGROUP_DEVICES by a BPF program. */
enum cgroup_part {
    CGROUP_PROCS,   /* list, signal, freeze and kill processes; v1: freezer */
    CGROUP_CPUACCT, /* CPU time used */
    CGROUP_CPUSET,
    CGROUP_MEMORY,
    CGROUP_DEVICES,
    CGROUP_IO, /* the first of EnableExtraControllers: enabled for use by others, v2 only */
    CGROUP_PIDS,
    CGROUP_RDMA,
    CGROUP_HUGETLB,
    CGROUP_MISC,
    CGROUP_PARTS
};
#define CGROUP_BIT(part) (1u << (part))
#define CGROUP_EXTRA (CGROUP_BIT(CGROUP_PARTS) - CGROUP_BIT(CGROUP_IO))

struct cgroup {
    enum cgroup_version version; /* CGROUP_NONE: closed; also a zeroed struct */
    unsigned parts;              /* parts in use, as CGROUP_BIT()s */
    int fd[CGROUP_PARTS];        /* v2: all parts use that of CGROUP_PROCS; -1: not open */
    char *path;                  /* relative to the mount point, for messages */
};

/* --- open.c: opening the base ----------------------------------------------------------------- */

struct cgroup_place {
    const char *mount;           /* "/sys/fs/cgroup" */
    enum cgroup_version version; /* CGROUP_NONE: as mounted */
    const char *base;            /* NULL: cgroup_base() for a node without a name */
    unsigned parts;              /* wanted parts */
    bool enable_above;           /* v2: controllers may also be enabled above the base */
};

/* Returns the base directory of a node; 'node' NULL: the only one of this host. 'slice' is for
 * version 2, NULL: system.slice; "a-b.slice" is below "a.slice", as in systemd. The caller frees
 * it. */
char *cgroup_base(enum cgroup_version version, const char *slice, const char *node);
/* Parses the parts of CGROUP_EXTRA in a list, "all" or "io,pids". -ERR_PARSE: err names the
   word. */
int cgroup_parse_extra(const char *list, unsigned *parts, struct err *err);
const char *cgroup_part_name(enum cgroup_part part, enum cgroup_version version);

/* -ENOENT: no control group file system is mounted there. */
int cgroup_detect(const char *mount, enum cgroup_version wanted, enum cgroup_version *found,
                  struct err *err);
/* Creates the base if it is missing. Unavailable parts are left out, and why[part] (an array of
 * CGROUP_PARTS, or NULL) gets the reason; fails if none is available. */
int cgroup_open(const struct cgroup_place *place, struct cgroup *out, struct err *why,
                struct err *err);
void cgroup_close(struct cgroup *c);
static inline bool cgroup_has(const struct cgroup *c, enum cgroup_part part)
{
    return c->version != CGROUP_NONE && c->parts & CGROUP_BIT(part);
}

/* --- tree.c ----------------------------------------------------------------------------------- */

#define CGROUP_NAME_MAX 48

/* Directory names: "uid_1000", "job_42" (for a job that was restarted twice "job_42.2"), "step_0",
 * "step_batch", "step_extern", "task_3". */
const char *cgroup_name_uid(uid_t uid, char buf[CGROUP_NAME_MAX]);
const char *cgroup_name_job(uint32_t job_id, uint32_t restarts, char buf[CGROUP_NAME_MAX]);
const char *cgroup_name_step(uint32_t step_id, char buf[CGROUP_NAME_MAX]);
/* "stepd_42", "stepd_42.2": the group of the job's step daemons, beside the job's directory. */
const char *cgroup_name_stepd(uint32_t job_id, uint32_t restarts, char buf[CGROUP_NAME_MAX]);
/* -ERR_PARSE: not the name of a job's directory. */
int cgroup_parse_job(const char *name, uint32_t *job_id, uint32_t *restarts);
int cgroup_parse_stepd(const char *name, uint32_t *job_id, uint32_t *restarts);

/* Opens a subdirectory, and creates it if it is missing. It gets the controllers of its parent;
 * cpusets are filled. A directory with subdirectories may hold no processes (v2). */
int cgroup_make(const struct cgroup *parent, const char *name, struct cgroup *out, struct err *err);
/* -ENOENT: it exists in no tree; otherwise opens it in the trees that have it. */
int cgroup_find(const struct cgroup *parent, const char *name, struct cgroup *out);
/* Removes a subdirectory with everything below it, in all trees; no process may be left. -EBUSY: a
 * process is left, or the kernel has not released the last one yet. A missing directory is not an
 * error. */
int cgroup_remove(const struct cgroup *parent, const char *name);
/* Only if it has no subdirectory. */
int cgroup_remove_empty(const struct cgroup *parent, const char *name);
/* Calls fn with the names of its subdirectories in any tree, each once. */
typedef void cgroup_each_fn(void *ctx, const char *name);
void cgroup_each(const struct cgroup *c, cgroup_each_fn *fn, void *ctx);

/* --- procs.c: processes in it and below ------------------------------------------------------- */

/* Moves the calling process into it, in all trees. */
int cgroup_enter(const struct cgroup *c, struct err *err);
/* Moves another process; 0: the caller. */
int cgroup_add(const struct cgroup *c, pid_t pid, struct err *err);
/* Returns a descriptor, numbered above those that programs inherit: a process that writes "0" to
 * it enters the directory of CGROUP_MEMORY. Returns a negative code on failure. */
int cgroup_open_memory_entry(const struct cgroup *c, struct err *err);
struct cgroup_pids {
    VEC(pid_t) list;
};
void cgroup_pids(const struct cgroup *c, struct cgroup_pids *out); /* sorted */
bool cgroup_is_empty(const struct cgroup *c);
/* Signals the processes, but none whose pid was reused meanwhile. Returns their number. */
unsigned cgroup_signal(const struct cgroup *c, int signo);
/* Sends SIGKILL to all of them, including processes that they fork meanwhile, frozen or not. They
 * may take a while to end; on v1 a fork bomb may need another call. */
void cgroup_kill(const struct cgroup *c);
int cgroup_freeze(const struct cgroup *c, bool frozen);
bool cgroup_is_frozen(const struct cgroup *c); /* all of them are stopped */

/* --- limit.c: cores and memory ---------------------------------------------------------------- */

int cgroup_set_cpus(const struct cgroup *c, const char *list, struct err *err); /* "0-3,8" */

struct cgroup_memory_limit { /* bytes; 0: unlimited */
    uint64_t soft, hard, with_swap;
    int swappiness; /* v1; negative: unchanged */
};
int cgroup_set_memory(const struct cgroup *c, const struct cgroup_memory_limit *limit,
                      struct err *err);
bool cgroup_has_swap(const struct cgroup *c); /* whether the kernel accounts swapped memory */

struct cgroup_memory {
    uint64_t limit, peak; /* bytes; limit UINT64_MAX: none; peak 0: unknown */
    uint64_t used;        /* used by processes now; 'peak' also includes cached files */
    uint64_t oom_kills;   /* number of its processes that the kernel has killed for memory */
};
int cgroup_read_memory(const struct cgroup *c, struct cgroup_memory *out);
int cgroup_read_cpu(const struct cgroup *c, uint64_t *user_usec, uint64_t *sys_usec);

/* --- device.c --------------------------------------------------------------------------------- */

struct cgroup_device {
    bool block;
    unsigned major, minor;
};
/* Denies these devices in it and below; all other devices stay as in the parent. */
int cgroup_deny(const struct cgroup *c, const struct cgroup_device *devices, size_t count,
                struct err *err);
/* Whether cgroup_deny() works. */
int cgroup_check_devices(const struct cgroup *c, struct err *err);
