/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to pmi.c, pmi1.c and pmi2.c: the protocol state of a task. pmi.c splits input into lines
 * and commands, and has the barrier and the waits; pmi1.c and pmi2.c interpret them.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "slurmstepd/mpi/pmi.h"
#include "slurmstepd/mpi/pmi_spawn.h"

/* The key-value space of an MPI step on one node: pairs put by its own tasks, and pairs received
 * from other nodes with each barrier. Limited in size. */
struct pmi_space {
    struct pmi_space_entry *entries;
    size_t bytes, fresh_bytes; /* fresh: put on this node since the last barrier */
    uint32_t fresh;
};

/* Stores a pair; a later put of the same key replaces the value. 'fresh': put by a task of this
 * node. -ERR_LIMIT: the space is full. */
int pmi_space_put(struct pmi_space *s, const char *key, const char *value, bool fresh,
                  struct err *err);
const char *pmi_space_find(const struct pmi_space *s, const char *key); /* NULL: none */

#define PMI_THREAD_MAX 64 /* bytes of the name that a thread has chosen, including NUL */

enum pmi_wait_kind { PMI_WAIT_NODE_ATTR, PMI_WAIT_NAME, PMI_WAIT_SPAWN };

/* A question that is answered later. */
struct pmi_wait {
    struct pmi_wait *next;
    enum pmi_wait_kind kind;
    enum pmi_name_op op;
    uint32_t id;                 /* of a name request or a spawn request */
    char key[PMI_KEY_MAX];       /* of a node attribute */
    char thread[PMI_THREAD_MAX]; /* the asking thread; "": not stated */
};

struct pmi_peer {
    struct str in;    /* an incomplete line or command */
    unsigned version; /* 0: not started */
    bool initialised, in_barrier, in_mcmd;
    bool begun;                        /* it has initialised PMI at least once */
    bool ended_early;                  /* it ended without finalising PMI */
    bool aborted;                      /* it has called abort; further input is ignored */
    char fence_thread[PMI_THREAD_MAX]; /* the thread that is in the barrier */
    struct pmi_wait *waits;
    unsigned wait_count;
    struct pmi_spawn *spawn; /* PMI-1: the incomplete spawn request */
};

struct pmi {
    struct pmi_events events;
    char *kvs_name, *mapping;
    char *spawner;       /* kvs_name of the spawner; NULL: none */
    uint32_t *app_tasks; /* number of tasks for each of the spawned commands */
    size_t app_count;
    uint32_t begun_count; /* number of local tasks that have initialised PMI */
    bool has_spawned;
    uint32_t size, universe_size, local_count, waiting, round, next_id;
    uint32_t *rank;
    struct pmi_space space, node_attrs;
    struct pmi_peer *peers;
};

/* Enters the barrier; the last local task sends the pairs. */
int pmi_fence(struct pmi *p, uint32_t local, struct err *err);
void pmi_aborted(struct pmi *p, uint32_t local, const char *code, const char *text);

/* Returns 0; -ERR_LIMIT: the task must end; -ERR_BUSY: the task is told that the space is full. */
int pmi_put(struct pmi *p, const char *key, const char *value, struct err *err);
const char *pmi_get(const struct pmi *p, const char *key); /* NULL: not found */
/* Whether both are within the sizes told to the tasks. */
bool pmi_is_pair(const char *key, const char *value);

/* NULL: the task already has too many waits. */
struct pmi_wait *pmi_wait_new(struct pmi *p, uint32_t local, enum pmi_wait_kind kind);
void pmi_wait_done(struct pmi *p, uint32_t local, struct pmi_wait *w);
/* Asks the name service; -ERR_BUSY: too many questions, so this one was not sent. */
int pmi_ask_name(struct pmi *p, uint32_t local, const char *thread, enum pmi_name_op op,
                 const char *name, const char *value);

/* Requests processes; -ERR_BUSY as above, other codes from pmi_spawn_finish(). */
int pmi_ask_spawn(struct pmi *p, uint32_t local, const char *thread, struct pmi_spawn *s,
                  struct err *err);
void pmi_begun(struct pmi *p, uint32_t local); /* the task has initialised PMI */
uint32_t pmi_appnum(const struct pmi *p, uint32_t local);

/* PMI-1. Handles a line of a task without its line end; modifies it. */
int pmi1_handle(struct pmi *p, uint32_t local, char *text, struct err *err);
void pmi1_barrier_out(struct pmi *p, uint32_t local);
void pmi1_named(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done,
                const char *value);

void pmi1_spawned(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done);

/* PMI-2. Handles a NUL-terminated command without its length; modifies it. */
int pmi2_handle(struct pmi *p, uint32_t local, char *text, struct err *err);
void pmi2_welcome(struct pmi *p, uint32_t local); /* answers the last line in PMI-1's format */
void pmi2_fence_out(struct pmi *p, uint32_t local);
void pmi2_named(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done,
                const char *value);
void pmi2_spawned(struct pmi *p, uint32_t local, const struct pmi_wait *w, const char *job,
                  const char *why);
