/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slurmstepd-pmix: the PMIx server of one step on one node, a process of the step's user beside its
 * shepherd. It has libpmix, with its threads and its size; what has to go to other nodes it tells
 * the shepherd, over the socket that it was started with.
 *
 *   pmixd_lib.c    the library
 *   pmixd_job.c    what tasks are told of their job
 *   pmixd_calls.c  what the library asks, on its threads
 *   pmixd_spawn.c  of that: more processes
 *   pmixd_more.c   of that: groups, events, questions, control
 *   pmixd_ask.c    the loop: what the library asks goes to the shepherd
 *   pmixd_answer.c the loop: what the shepherd says goes to the library
 *   pmixd.c        the process
 */
#pragma once

#include <stdbool.h>

#include "proto/io.pb-c.h"
#include "proto/spawn.pb-c.h"
#include "slurmstepd/pmixd/pmixd_lib.h"

#define PMIXD_BLOB_MAX (15u << 20) /* bytes: what fits into a message, with its head */

/* The step, constant after the start: read by all threads. */
struct pmixd_job {
    char nspace[PMIX_MAX_NSLEN + 1];
    const char *dir, *id;
    char prefix[PMIX_MAX_NSLEN + 1]; /* of the nspaces of this job: the step follows */
    uint32_t step;
    bool is_spawned;
    uint32_t parent_step, parent_task;
    uint32_t *app_tasks; /* how many run each command */
    size_t apps;
    uint32_t node, nodes, size;
    uint32_t *node_of;  /* by rank */
    uint16_t *local_of; /* by rank: which one it is on its node */
    char **name;        /* by node */
    uint32_t *count;    /* by node: how many tasks */
    uint32_t **tasks;   /* by node: their ranks, rising */
};

/* pmixd_job.c: from the order to all that the library wants to know, and each local task's
 * environment. */
int pmixd_job_init(struct pmixd_job *job, const Pb__PmixStart *m, struct err *err);
int pmixd_job_register(const struct pmixd_job *job, const struct pmixd_lib *lib,
                       pmix_server_module_t *module, Pb__PmixStarted *answer, struct err *err);

/* Another step of this job is made known; again has no effect. By the loop. */
void pmixd_job_add_other(const struct pmixd_job *job, const struct pmixd_lib *lib,
                         const Pb__PmixJob *other);
/* Whether the nspace is of a step of this job, and of which one. */
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
    uint32_t step, task; /* who published it */
    bool found;
};

/* Something that the library asks, or has found. Made on its threads, then the loop's. */
struct pmixd_call {
    struct pmixd_call *next;
    enum pmixd_kind kind;
    uint32_t id; /* of get and got: the asking node's */
    pmix_modex_cbfunc_t modex;
    pmix_op_cbfunc_t op;
    pmix_lookup_cbfunc_t lookup;
    pmix_spawn_cbfunc_t spawned;
    pmix_info_cbfunc_t grouped; /* of a fence that makes a group, or ends one */
    void *ctx;                  /* of the one that is set */
    char *group;
    uint32_t *nodes; /* of a fence */
    size_t node_count;
    uint32_t *steps; /* of a fence that has others than this one */
    size_t step_count;
    bool has_step; /* of get and got: of another step, which is 'step' */
    uint32_t step;
    Pb__Spawn *spawn;
    bool wants_context;  /* a number for the group, that no other has */
    int signal;          /* of an event that is one: for all tasks */
    bool broken;         /* of abort: nobody asked for it */
    uint32_t task, node; /* of get: whose; of got: for whom; else who asks */
    int status;
    char *text; /* of abort */
    char *data;
    size_t len;
    struct pmixd_name *names;
    size_t name_count, left;
    bool wait;
};

struct pmixd_call *pmixd_call_new(enum pmixd_kind kind, void *ctx);
void pmixd_call_post(struct pmixd_call *c); /* to the loop */
void pmixd_call_free(struct pmixd_call *c);
void pmixd_call_keep(struct pmixd_call *c, const char *data, size_t len); /* a copy */
/* The tasks of a fence: their nodes and steps, and a name for them that every node finds, of the
 * kind and, if there is one, the label. NOT_SUPPORTED: some are of another job. */
pmix_status_t pmixd_call_set_group(struct pmixd_call *c, char kind, const pmix_proc_t *procs,
                                   size_t count, const char *label);

/* pmixd_calls.c: what the library is given to call. Each call ends as a pointer in the pipe. */

/* Puts a PMIXD_LEFT behind all that the library has asked: its task is the first one here that came
 * and did not say good-bye, and broken whether there is one. */
void pmixd_calls_left(void);

/* pmixd_spawn.c: of the module. */
void pmixd_spawn_init(const struct pmixd_job *job);
pmix_status_t pmixd_spawn_call(const pmix_proc_t *proc, const pmix_info_t info[], size_t infos,
                               const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                               void *ctx);

/* pmixd_more.c: of the module; and an event of another node, by the loop. */
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
/* For PMIx_Register_event_handler(): what the library sees happen. */
void pmixd_calls_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t infos, pmix_info_t *results, size_t result_count,
                       pmix_event_notification_cbfunc_fn_t done, void *ctx);
/* For PMIx_server_dmodex_request(), with a call of kind PMIXD_GOT. */
void pmixd_calls_found(pmix_status_t status, char *data, size_t len, void *call);
