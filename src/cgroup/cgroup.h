/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control groups of the kernel: a tree of directories below a mount point, of version 1 (a tree for
 * each controller) or 2 (one for all). This room knows the file systems, and nothing of jobs but
 * the names of their directories:
 *
 *   v1   MOUNT/CONTROLLER/BASE/uid_1000/job_42/step_0       BASE: slurm
 *   v2   MOUNT/BASE/job_42/step_0/user                      BASE: system.slice/...scope
 *
 * A struct cgroup is a directory held open in each tree that is in use; files are reached from
 * there alone, never by a path, and none is ever created. Names are made here of numbers.
 *
 * Nothing here logs or waits. 0 or a negative code; where the controller is not among 'parts' the
 * answer is -ENOENT. Threads: any, a struct by one at a time.
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

/* What is asked of the kernel. Version 2 has CGROUP_PROCS and CGROUP_CPUACCT without a controller,
 * and CGROUP_DEVICES by a program in the kernel. */
enum cgroup_part {
    CGROUP_PROCS,   /* processes found, signalled, frozen, killed; v1: freezer */
    CGROUP_CPUACCT, /* time that they used */
    CGROUP_CPUSET,
    CGROUP_MEMORY,
    CGROUP_DEVICES,
    CGROUP_IO, /* the first of EnableExtraControllers: enabled for others to use, v2 alone */
    CGROUP_PIDS,
    CGROUP_RDMA,
    CGROUP_HUGETLB,
    CGROUP_MISC,
    CGROUP_PARTS
};
#define CGROUP_BIT(part) (1u << (part))
#define CGROUP_EXTRA (CGROUP_BIT(CGROUP_PARTS) - CGROUP_BIT(CGROUP_IO))

struct cgroup {
    enum cgroup_version version; /* CGROUP_NONE: closed, as zeroes are */
    unsigned parts;              /* those in use, CGROUP_BIT()s */
    int fd[CGROUP_PARTS];        /* v2: of all parts that of CGROUP_PROCS; -1: not open */
    char *path;                  /* from the mount point, for messages */
};

/* --- open.c: where it all begins ---------------------------------------------------------------
 */

struct cgroup_place {
    const char *mount;           /* "/sys/fs/cgroup" */
    enum cgroup_version version; /* CGROUP_NONE: as the mount point looks */
    const char *base;            /* NULL: as cgroup_base() has it for a node without a name */
    unsigned parts;              /* wanted */
    bool enable_above;           /* v2: controllers may be enabled above the base, too */
};

/* The base directory of a node; 'node' NULL: the only one of this host. 'slice' is of version 2,
 * NULL: system.slice; "a-b.slice" is below "a.slice", as systemd has it. The caller frees. */
char *cgroup_base(enum cgroup_version version, const char *slice, const char *node);
/* The parts of CGROUP_EXTRA that a list names, "all" or "io,pids". -ERR_PARSE: err names the word.
 */
int cgroup_parse_extra(const char *list, unsigned *parts, struct err *err);
const char *cgroup_part_name(enum cgroup_part part, enum cgroup_version version);

/* -ENOENT: there is nothing of the kind at the mount point. */
int cgroup_detect(const char *mount, enum cgroup_version wanted, enum cgroup_version *found,
                  struct err *err);
/* Makes the base if it is not there. Parts that cannot be had are left out, and why[part] (an array
 * of CGROUP_PARTS, or NULL) says the reason; failure: none can be had. */
int cgroup_open(const struct cgroup_place *place, struct cgroup *out, struct err *why,
                struct err *err);
void cgroup_close(struct cgroup *c);
static inline bool cgroup_has(const struct cgroup *c, enum cgroup_part part)
{
    return c->version != CGROUP_NONE && c->parts & CGROUP_BIT(part);
}

/* --- tree.c ------------------------------------------------------------------------------------
 */

#define CGROUP_NAME_MAX 48

/* Names of directories: "uid_1000", "job_42" (of a job that was restarted twice "job_42.2"),
 * "step_0", "step_batch", "step_extern", "task_3". */
const char *cgroup_name_uid(uid_t uid, char buf[CGROUP_NAME_MAX]);
const char *cgroup_name_job(uint32_t job_id, uint32_t restarts, char buf[CGROUP_NAME_MAX]);
const char *cgroup_name_step(uint32_t step_id, char buf[CGROUP_NAME_MAX]);
/* "stepd_42", "stepd_42.2": the step daemons of the job, beside the job's directory. */
const char *cgroup_name_stepd(uint32_t job_id, uint32_t restarts, char buf[CGROUP_NAME_MAX]);
/* -ERR_PARSE: it is not the name of a job's directory. */
int cgroup_parse_job(const char *name, uint32_t *job_id, uint32_t *restarts);
int cgroup_parse_stepd(const char *name, uint32_t *job_id, uint32_t *restarts);

/* A directory below; made unless it is there. What it has of controllers is as above it: cpusets
 * are filled. A directory with others below it holds no processes (v2). */
int cgroup_make(const struct cgroup *parent, const char *name, struct cgroup *out, struct err *err);
/* -ENOENT: it is in no tree; else the trees that it is in. */
int cgroup_find(const struct cgroup *parent, const char *name, struct cgroup *out);
/* With all below it, in all trees; no process may be left. -EBUSY: there is one, or the kernel has
 * not forgotten the last one yet. What is not there is no failure. */
int cgroup_remove(const struct cgroup *parent, const char *name);
int cgroup_remove_empty(const struct cgroup *parent, const char *name); /* if nothing is below it */
/* The names of the directories in it, in any tree, each once. */
typedef void cgroup_each_fn(void *ctx, const char *name);
void cgroup_each(const struct cgroup *c, cgroup_each_fn *fn, void *ctx);

/* --- procs.c: the processes in it and below -----------------------------------------------------
 */

/* The calling process moves into it, in all trees. */
int cgroup_enter(const struct cgroup *c, struct err *err);
int cgroup_add(const struct cgroup *c, pid_t pid, struct err *err); /* another one; 0: the caller */
/* A descriptor, above those that programs inherit: a process that writes "0" to it enters the
 * directory of CGROUP_MEMORY. Or a negative code. */
int cgroup_open_memory_entry(const struct cgroup *c, struct err *err);
struct cgroup_pids {
    VEC(pid_t) list;
};
void cgroup_pids(const struct cgroup *c, struct cgroup_pids *out); /* sorted */
bool cgroup_is_empty(const struct cgroup *c);
/* A process whose number passes to another one meanwhile is not mistaken for it. Returns how many.
 */
unsigned cgroup_signal(const struct cgroup *c, int signo);
/* SIGKILL to all of them, those that they fork meanwhile too, frozen or not. They may take a while
 * to end; on v1 a fork bomb may need another call. */
void cgroup_kill(const struct cgroup *c);
int cgroup_freeze(const struct cgroup *c, bool frozen);
bool cgroup_is_frozen(const struct cgroup *c); /* all of them stand still */

/* --- limit.c: cores and memory ------------------------------------------------------------------
 */

int cgroup_set_cpus(const struct cgroup *c, const char *list, struct err *err); /* "0-3,8" */

struct cgroup_memory_limit { /* bytes; 0: none */
    uint64_t soft, hard, with_swap;
    int swappiness; /* v1; negative: as it is */
};
int cgroup_set_memory(const struct cgroup *c, const struct cgroup_memory_limit *limit,
                      struct err *err);
bool cgroup_has_swap(const struct cgroup *c); /* the kernel counts what is swapped out */

struct cgroup_memory {
    uint64_t limit, peak; /* bytes; limit UINT64_MAX: none; peak 0: the kernel does not say */
    uint64_t used;        /* by processes now; of the peak files that the kernel keeps are a part */
    uint64_t oom_kills;   /* processes of it that the kernel ended for memory */
};
int cgroup_read_memory(const struct cgroup *c, struct cgroup_memory *out);
int cgroup_read_cpu(const struct cgroup *c, uint64_t *user_usec, uint64_t *sys_usec);

/* --- device.c -----------------------------------------------------------------------------------
 */

struct cgroup_device {
    bool block;
    unsigned major, minor;
};
/* Those are not to be opened any more in it and below; all others are, as above it. */
int cgroup_deny(const struct cgroup *c, const struct cgroup_device *devices, size_t count,
                struct err *err);
int cgroup_check_devices(const struct cgroup *c, struct err *err); /* whether cgroup_deny() works */
