/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slurmstepd-pmix: the PMIx server of one step on one node, a process of the step's user beside
 * its shepherd. libpmix is loaded into this process only, because of its threads and its size.
 * Messages for other nodes go to the shepherd, over the socket inherited at start.
 *
 *   pmixd_job.c    the job data for tasks
 *   pmixd_calls.c  requests of the library, on its threads
 *   pmixd_spawn.c  the same: spawning processes
 *   pmixd_more.c   the same: groups, events, queries, job control
 *   pmixd_ask.c    the loop: forwards requests of the library to the shepherd
 *   pmixd_answer.c the loop: forwards messages of the shepherd to the library
 *   pmixd.c        the process, and the library
 */
#pragma once

#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>

#include "base/err.h"
#include "proto/io.pb-c.h"
#include "proto/spawn.pb-c.h"

/* libpmix, loaded at run time: versions 4 and 5, whose binary interfaces are equal in the part used
 * here. Inline functions and macros of its headers are not used, because they belong to the version
 * compiled against. */
struct pmixd_lib {
#define PMIX(name) typeof(name) *name;
#include "slurmstepd/pmixd/pmixd_lib.def"
#undef PMIX
};

/* Returns a static string, "4.2.2". */
const char *pmixd_lib_version(const struct pmixd_lib *lib);

#define PMIXD_BLOB_MAX (15u << 20) /* bytes that fit into a message together with its header */

/* The step; constant after the start and read by all threads. */
struct pmixd_job {
    char nspace[PMIX_MAX_NSLEN + 1];
    const char *dir, *id;
    /* Prefix of the namespaces of this job; the step id follows. */
    char prefix[PMIX_MAX_NSLEN + 1];
    uint32_t step;
    bool is_spawned;
    uint32_t parent_step, parent_task;
    uint32_t *app_tasks; /* number of tasks for each command */
    size_t apps;
    uint32_t node, nodes, size;
    uint32_t *node_of;  /* node index by rank */
    uint16_t *local_of; /* index on its node by rank */
    char **name;        /* names by node index */
    uint32_t *count;    /* number of tasks by node index */
    uint32_t **tasks;   /* ascending ranks by node index */
};

/* pmixd_job.c: converts the order to the job data of the library and to each local task's
 * environment. */
int pmixd_job_init(struct pmixd_job *job, const Pb__PmixStart *m, struct err *err);
int pmixd_job_register(const struct pmixd_job *job, const struct pmixd_lib *lib,
                       pmix_server_module_t *module, Pb__PmixStarted *answer, struct err *err);

/* Called by the loop: registers another step of this job; no effect if it is registered. */
void pmixd_job_add_other(const struct pmixd_job *job, const struct pmixd_lib *lib,
                         const Pb__PmixJob *other);
/* Whether the namespace belongs to a step of this job, and to which one. */
bool pmixd_job_step_of(const struct pmixd_job *job, const char *nspace, uint32_t *step);
void pmixd_job_nspace(const struct pmixd_job *job, uint32_t step, char out[PMIX_MAX_NSLEN + 1]);

enum pmixd_kind {
    PMIXD_FENCE,
    PMIXD_GET,
    PMIXD_GOT,
    PMIXD_ABORT,
    PMIXD_PUBLISH,
    PMIXD_UNPUBLISH,
    PMIXD_LOOKUP,
    PMIXD_LEFT,
    PMIXD_SPAWN,
    PMIXD_BEGUN,
    PMIXD_EVENT
};

struct pmixd_name {
    char *key;
    char *data; /* a packed value */
    size_t len;
    uint32_t step, task; /* the task that published it */
    bool found;
};

/* A request or a result of the library. Created on its threads, then owned by the loop. */
struct pmixd_call {
    struct pmixd_call *next;
    enum pmixd_kind kind;
    uint32_t id; /* of get and got: id of the asking node's request */
    pmix_modex_cbfunc_t modex;
    pmix_op_cbfunc_t op;
    pmix_lookup_cbfunc_t lookup;
    pmix_spawn_cbfunc_t spawned;
    pmix_info_cbfunc_t grouped; /* of a fence that creates or ends a group */
    void *ctx;                  /* for the one callback that is set */
    char *group;
    uint32_t *nodes; /* nodes of a fence */
    size_t node_count;
    uint32_t *steps; /* steps of a fence with tasks of other steps */
    size_t step_count;
    bool has_step; /* of get and got: 'step' is another step */
    uint32_t step;
    Pb__Spawn *spawn;
    bool wants_context; /* the group requests a unique context number */
    int signal;         /* of an event that is a signal: sent to all tasks */
    bool broken;        /* of abort: no task has called it */
    /* Of get: the requested task and node; of got: the requesting ones; otherwise the asking
       task. */
    uint32_t task, node;
    int status;
    char *text; /* of abort */
    char *data;
    size_t len;
    struct pmixd_name *names;
    size_t name_count, left;
    bool wait;
};

struct pmixd_call *pmixd_call_new(enum pmixd_kind kind, void *ctx);
void pmixd_call_post(struct pmixd_call *c); /* passes it to the loop */
void pmixd_call_free(struct pmixd_call *c);
void pmixd_call_keep(struct pmixd_call *c, const char *data, size_t len); /* copies the data */
/* Sets the tasks of a fence: their nodes and steps, and a name for the set that is equal on every
 * node, made from the kind and the optional label. Returns NOT_SUPPORTED if a task belongs to
 * another job. */
pmix_status_t pmixd_call_set_group(struct pmixd_call *c, char kind, const pmix_proc_t *procs,
                                   size_t count, const char *label);

/* pmixd_calls.c: the callbacks of the library. Each request is written as a pointer to the
   pipe. */

/* Queues a PMIXD_LEFT after all requests of the library: its task is the first local task that
 * connected and did not finalise, and broken tells whether there is one. */
void pmixd_calls_left(void);

/* pmixd_spawn.c */
void pmixd_spawn_init(const struct pmixd_job *job);
pmix_status_t pmixd_spawn_call(const pmix_proc_t *proc, const pmix_info_t info[], size_t infos,
                               const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                               void *ctx);

/* pmixd_more.c. pmixd_more_event(): an event of another node, called by the loop. */
void pmixd_more_init(const struct pmixd_job *job, const struct pmixd_lib *lib);
pmix_status_t pmixd_more_group(pmix_group_operation_t op, char group[], const pmix_proc_t procs[],
                               size_t count, const pmix_info_t info[], size_t infos,
                               pmix_info_cbfunc_t done, void *ctx);
pmix_status_t pmixd_more_notify(pmix_status_t code, const pmix_proc_t *source,
                                pmix_data_range_t range, pmix_info_t info[], size_t count,
                                pmix_op_cbfunc_t done, void *ctx);
pmix_status_t pmixd_more_query(pmix_proc_t *proc, pmix_query_t *queries, size_t count,
                               pmix_info_cbfunc_t done, void *ctx);
pmix_status_t pmixd_more_control(const pmix_proc_t *who, const pmix_proc_t targets[], size_t count,
                                 const pmix_info_t info[], size_t infos, pmix_info_cbfunc_t done,
                                 void *ctx);
void pmixd_more_event(const void *data, size_t len);

void pmixd_calls_init(pmix_server_module_t *module, const struct pmixd_job *job,
                      const struct pmixd_lib *lib, int pipe_fd);
/* For PMIx_Register_event_handler(): called for events that the library observes. */
void pmixd_calls_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t infos, pmix_info_t *results, size_t result_count,
                       pmix_event_notification_cbfunc_fn_t done, void *ctx);
/* For PMIx_server_dmodex_request(), with a call of kind PMIXD_GOT. */
void pmixd_calls_found(pmix_status_t status, char *data, size_t len, void *call);
