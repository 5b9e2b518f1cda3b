/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What pmi.c shares with the files of each protocol, and nobody else includes: a task's place in
 * it. pmi.c takes bytes apart into lines and commands, and has barrier and waits; pmi1.c and pmi2.c
 * have what they mean.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "slurmstepd/mpi/pmi.h"
#include "slurmstepd/mpi/pmi_spawn.h"

#define PMI_THREAD_MAX 64 /* bytes of the name that a thread gives itself, with its NUL */

enum pmi_wait_kind { PMI_WAIT_NODE_ATTR, PMI_WAIT_NAME, PMI_WAIT_SPAWN };

/* A question that is answered later. */
struct pmi_wait {
    struct pmi_wait *next;
    enum pmi_wait_kind kind;
    enum pmi_name_op op;
    uint32_t id;                 /* of a name, or of a request for processes */
    char key[PMI_KEY_MAX];       /* of a node's attribute */
    char thread[PMI_THREAD_MAX]; /* who asks; "": it did not say */
};

struct pmi_peer {
    struct str in;    /* an unfinished line or command */
    unsigned version; /* 0: has not begun */
    bool initialised, in_barrier, in_mcmd;
    bool begun;                        /* has been initialised once */
    bool gone;                         /* ended, and had not said that it would */
    bool aborted;                      /* says nothing more that counts */
    char fence_thread[PMI_THREAD_MAX]; /* which one is in the barrier */
    struct pmi_wait *waits;
    unsigned wait_count;
    struct pmi_spawn *spawn; /* PMI-1: the request that has not ended */
};

struct pmi {
    struct pmi_events events;
    char *kvs_name, *mapping;
    char *spawner;       /* the name of who has asked for these processes; NULL: nobody */
    uint32_t *app_tasks; /* of each command that they run */
    size_t app_count;
    uint32_t begun_count; /* of the tasks here */
    bool has_spawned;
    uint32_t size, universe_size, local_count, waiting, round, next_id;
    uint32_t *rank;
    struct pmi_space space, node_attrs;
    struct pmi_peer *peers;
};

/* Enters the barrier; the last one of this node sends what was put. */
int pmi_fence(struct pmi *p, uint32_t local, struct err *err);
void pmi_aborted(struct pmi *p, uint32_t local, const char *code, const char *text);

/* 0; -ERR_LIMIT: the task ends; -ERR_BUSY: it is told that the space is full. */
int pmi_put(struct pmi *p, const char *key, const char *value, struct err *err);
const char *pmi_get(const struct pmi *p, const char *key); /* NULL: there is none */
bool pmi_is_pair(const char *key, const char *value);      /* within what tasks are told */

/* NULL: it waits for too much already. */
struct pmi_wait *pmi_wait_new(struct pmi *p, uint32_t local, enum pmi_wait_kind kind);
void pmi_wait_done(struct pmi *p, uint32_t local, struct pmi_wait *w);
/* Asks the name service; -ERR_BUSY: too many questions, nothing was asked. */
int pmi_ask_name(struct pmi *p, uint32_t local, const char *thread, enum pmi_name_op op,
                 const char *name, const char *value);

/* Asks for processes; -ERR_BUSY as above, others of pmi_spawn_finish(). */
int pmi_ask_spawn(struct pmi *p, uint32_t local, const char *thread, struct pmi_spawn *s,
                  struct err *err);
void pmi_begun(struct pmi *p, uint32_t local); /* has initialised itself */
uint32_t pmi_appnum(const struct pmi *p, uint32_t local);

/* PMI-1. A line of a task without its end, which is changed. */
int pmi1_handle(struct pmi *p, uint32_t local, char *text, struct err *err);
void pmi1_barrier_out(struct pmi *p, uint32_t local);
void pmi1_named(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done,
                const char *value);

void pmi1_spawned(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done);

/* PMI-2. A command without its length, with a NUL behind it, which is changed. */
int pmi2_handle(struct pmi *p, uint32_t local, char *text, struct err *err);
void pmi2_welcome(struct pmi *p, uint32_t local); /* the last line of PMI-1's form */
void pmi2_fence_out(struct pmi *p, uint32_t local);
void pmi2_named(struct pmi *p, uint32_t local, const struct pmi_wait *w, bool done,
                const char *value);
void pmi2_spawned(struct pmi *p, uint32_t local, const struct pmi_wait *w, const char *job,
                  const char *why);
