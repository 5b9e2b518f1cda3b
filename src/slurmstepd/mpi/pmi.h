/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The PMI protocol of MPICH and MVAPICH on the descriptor named by PMI_FD. A task begins with a
 * line that selects a version: PMI-1 continues with lines ("cmd=put key=... value=..."), PMI-2 with
 * commands, each a length and that number of bytes (" 34cmd=kvs-put;key=...;value=...;"). One
 * object per step and node has the key-value space, attributes of the node, and the protocol state
 * of each local task. Pure: input by pmi_feed(), output by callbacks. Input from tasks is not
 * trusted: the sizes of lines, commands, keys, values and of the whole space are limited.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/spawn.pb-c.h"

/* Bytes of all keys and values, including a fixed cost per pair. */
#define PMI_SPACE_MAX (128u << 20)
#define PMI_PAIR_COST 160              /* fixed cost of a pair in bytes */
#define PMI_ROUND_PUTS_MAX (1u << 20)  /* pairs put by this node between two barriers */
#define PMI_ROUND_BYTES_MAX (8u << 20) /* bytes of these pairs, which travel in one message */

struct pmi_pair {
    const char *key, *value; /* borrowed */
};

struct pmi;

#define PMI_KVSNAME_MAX 256 /* sizes including NUL, as told to the tasks */
#define PMI_KEY_MAX 64
#define PMI_VALUE_MAX 1024
#define PMI_LINE_MAX 4096           /* bytes of a line without its newline */
#define PMI_COMMAND_MAX (64u << 10) /* bytes of a command of PMI-2 without its length */
#define PMI_WAITS_MAX 64            /* unanswered questions per task */

enum pmi_name_op { PMI_NAME_PUBLISH = 1, PMI_NAME_UNPUBLISH, PMI_NAME_LOOKUP };

struct pmi_events {
    void (*send)(void *ctx, uint32_t local, const char *bytes, size_t len);
    /* Every local task waits in the barrier. 'put' has the pairs that they have put since the last
     * barrier. pmi_fence_done() ends the barrier, at once or later. */
    void (*fence)(void *ctx, uint32_t round, const struct pmi_pair *put, size_t count);
    void (*abort)(void *ctx, uint32_t local, int exit_code, const char *text);
    /* A request to the step's name service; answered by pmi_name_done() with the same id. */
    void (*name)(void *ctx, uint32_t local, uint32_t id, enum pmi_name_op op, const char *name,
                 const char *value);
    /* A request to spawn processes, without its task; answered by pmi_spawned() with the same
       id. */
    void (*spawn)(void *ctx, uint32_t local, const Pb__Spawn *m);
    /* Every local task has started to use PMI. */
    void (*begun)(void *ctx);
    void *ctx;
};

struct pmi_options {
    const char *kvs_name; /* PMI-2 tasks also get it as job id */
    uint32_t size;        /* number of tasks of the step */
    uint32_t local_count; /* number of tasks on this node */
    const uint32_t *rank; /* ranks of the local tasks */
    const char *mapping;  /* PMI_process_mapping, or NULL */
    uint32_t universe_size;
    /* For spawned processes: the spawner's kvs_name, the initial content of their space, and the
     * number of tasks for each command. NULL: the step was started by srun. */
    const char *spawner;
    const struct pmi_pair *preput;
    size_t preput_count;
    const uint32_t *app_tasks;
    size_t app_count;
};

struct pmi *pmi_new(const struct pmi_options *options, const struct pmi_events *events);
void pmi_free(struct pmi *p);

/* Processes input of local task number 'local'. -ERR_PROTOCOL or -ERR_LIMIT: the task violates the
 * protocol or exceeds a limit, and the caller must end the step, because the other tasks would
 * wait for it forever. The text of an abort is truncated to one line. */
int pmi_feed(struct pmi *p, uint32_t local, const void *data, size_t len, struct err *err);

/* The task has ended and all its output has been passed to pmi_feed(). -ERR_PROTOCOL: the caller
   must end the step, because the task still took part in PMI and has failed, or others already
   wait for it. If it has not failed, the next task that would wait for it gets that error. Waits
   outside this object, for example between parents and children, are not visible here: in that
   case the error is returned at once, as for a child that never started PMI. */
int pmi_ended(struct pmi *p, uint32_t local, bool failed, struct err *err);

/* The pairs of every node after barrier number 'round'; releases the waiting tasks. A round that
 * no task waits for is ignored. -ERR_LIMIT: the space is full (the tasks stay in the barrier). */
int pmi_fence_done(struct pmi *p, uint32_t round, const struct pmi_pair *put, size_t count,
                   struct err *err);

/* Result of a name request: done, or found with its value. An unknown id is ignored. */
void pmi_name_done(struct pmi *p, uint32_t id, bool done, const char *value);

/* Result of a spawn request: the kvs_name of the new processes, or NULL and the reason. An unknown
 * id is ignored. */
void pmi_spawned(struct pmi *p, uint32_t id, const char *job, const char *why);
