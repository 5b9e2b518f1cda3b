/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMI as MPICH's and MVAPICH's processes speak it over the descriptor named by PMI_FD. A task
 * begins with a line that says which version it wants: PMI-1 goes on in lines ("cmd=put key=...
 * value=..."), PMI-2 in commands of a length and that many bytes ("
 * 34cmd=kvs-put;key=...;value=...;"). One object per step and node: the key-value space, attributes
 * of the node, and each local task's place in its protocol. Pure: bytes in by pmi_feed(), bytes out
 * by events. What the tasks send is hostile input: lines, commands, keys, values and the whole
 * space are bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/spawn.pb-c.h"
#include "slurmstepd/mpi/pmi_space.h"

#define PMI_KVSNAME_MAX 256 /* sizes with their NUL, as told to the tasks */
#define PMI_KEY_MAX 64
#define PMI_VALUE_MAX 1024
#define PMI_LINE_MAX 4096           /* bytes of a line without its newline */
#define PMI_COMMAND_MAX (64u << 10) /* bytes of a command of PMI-2 without its length */
#define PMI_WAITS_MAX 64            /* questions of a task that are not answered yet */

struct pmi;

enum pmi_name_op { PMI_NAME_PUBLISH = 1, PMI_NAME_UNPUBLISH, PMI_NAME_LOOKUP };

struct pmi_events {
    void (*send)(void *ctx, uint32_t local, const char *bytes, size_t len);
    /* Every local task waits in the barrier. 'put' is what they put since the last one; the
     * barrier ends by pmi_fence_done(), at once or later. */
    void (*fence)(void *ctx, uint32_t round, const struct pmi_pair *put, size_t count);
    void (*abort)(void *ctx, uint32_t local, int exit_code, const char *text);
    /* A name of the step's name service; answered by pmi_name_done() with the same id. */
    void (*name)(void *ctx, uint32_t local, uint32_t id, enum pmi_name_op op, const char *name,
                 const char *value);
    /* A request for processes, without its task; answered by pmi_spawned() with the same id. */
    void (*spawn)(void *ctx, uint32_t local, const Pb__Spawn *m);
    /* Every local task has begun to speak PMI. */
    void (*begun)(void *ctx);
    void *ctx;
};

struct pmi_options {
    const char *kvs_name; /* to PMI-2 also the job's id */
    uint32_t size;        /* tasks of the step */
    uint32_t local_count; /* of them here */
    const uint32_t *rank; /* of each of these */
    const char *mapping;  /* PMI_process_mapping, or NULL */
    uint32_t universe_size;
    /* Of processes that another one has asked for: its kvs_name, what they find in their space, and
     * how many run each command. NULL: a person has started them. */
    const char *spawner;
    const struct pmi_pair *preput;
    size_t preput_count;
    const uint32_t *app_tasks;
    size_t app_count;
};

struct pmi *pmi_new(const struct pmi_options *options, const struct pmi_events *events);
void pmi_free(struct pmi *p);

/* Bytes from local task number 'local'. -ERR_PROTOCOL or -ERR_LIMIT: it does not speak PMI, or
 * wants too much, and the others would wait for it for ever: end the step. Of an abort's text only
 * what fits into a line is kept. */
int pmi_feed(struct pmi *p, uint32_t local, const void *data, size_t len, struct err *err);

/* The task has ended, all it said has been fed. -ERR_PROTOCOL: it was still one of the program's
 * processes, and has failed, or others wait for it already: end the step. If it has not failed, the
 * next one that would wait for it gets that error; who waits elsewhere, as parents and children do,
 * is not seen, so that theirs is an error at once, and so is that of a child that has never come.
 */
int pmi_ended(struct pmi *p, uint32_t local, bool failed, struct err *err);

/* The pairs of every node after barrier number 'round'; frees the waiting tasks. A round nobody
 * waits for is ignored. -ERR_LIMIT when the space is full (the tasks stay in the barrier). */
int pmi_fence_done(struct pmi *p, uint32_t round, const struct pmi_pair *put, size_t count,
                   struct err *err);

/* What became of a name: done, or found with its value. An id nobody waits for is ignored. */
void pmi_name_done(struct pmi *p, uint32_t id, bool done, const char *value);

/* What became of a request for processes: the kvs_name of the new ones, or NULL and why not. An id
 * nobody waits for is ignored. */
void pmi_spawned(struct pmi *p, uint32_t id, const char *job, const char *why);
