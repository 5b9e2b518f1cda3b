/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slurmstepd-pmix: the PMIx server of one step on one node, a process of the step's user beside its
 * shepherd. It has libpmix, with its threads and its size; what has to go to other nodes it tells
 * the shepherd, over the socket that it was started with.
 *
 *   pmixd_lib.c    the library
 *   pmixd_job.c    what tasks are told of their job
 *   pmixd_calls.c  what the library asks, on its threads
 *   pmixd.c        the loop, where everything else happens
 */
#pragma once

#include <stdbool.h>

#include "proto/io.pb-c.h"
#include "slurmstepd/pmixd_lib.h"

/* The step, constant after the start: read by all threads. */
struct pmixd_job {
    char nspace[PMIX_MAX_NSLEN + 1];
    const char *dir, *id;
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

enum pmixd_kind {
    PMIXD_FENCE,
    PMIXD_GET,
    PMIXD_GOT,
    PMIXD_ABORT,
    PMIXD_PUBLISH,
    PMIXD_UNPUBLISH,
    PMIXD_LOOKUP
};

struct pmixd_name {
    char *key;
    char *data; /* a packed value */
    size_t len;
    uint32_t task; /* who published it */
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
    void *ctx; /* of the one that is set */
    char *group;
    uint32_t *nodes; /* of a fence */
    size_t node_count;
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

void pmixd_call_free(struct pmixd_call *c);

/* pmixd_calls.c: what the library is given to call. Each call ends as a pointer in the pipe. */
void pmixd_calls_init(pmix_server_module_t *module, const struct pmixd_job *job,
                      const struct pmixd_lib *lib, int pipe_fd);
/* For PMIx_Register_event_handler(): what the library sees happen. */
void pmixd_calls_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t infos, pmix_info_t *results, size_t result_count,
                       pmix_event_notification_cbfunc_fn_t done, void *ctx);
/* For PMIx_server_dmodex_request(), with a call of kind PMIXD_GOT. */
void pmixd_calls_found(pmix_status_t status, char *data, size_t len, void *call);
