/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shepherds, from the daemon's side: one slurmstepd process per step. The connection is its life:
 * when it closes, the shepherd has gone, and its exit file says how the step ended; without one it
 * was killed, and so is what it left behind. step_life.h starts shepherds, finds those of an
 * earlier daemon, and observes all of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/io.pb-c.h"
#include "rpc/link.h"
#include "slurmd/attempt/attempt.h"

#define STEP_HALT_ID                                                                               \
    (UINT64_C(1) << 32) /* and the number of the order: of a request to a shepherd to halt */

/* What memory a step may use; 0: no limit. And at the last look, see memory.h. */
struct memory_grant {
    uint64_t step_kib, job_kib; /* the job's on this node; all of it is a step's that asked for none
                                   of its own */
    uint64_t used_kib, peak_kib;
    bool was_over; /* at the last look */
    bool ended;    /* its shepherd was told */
};

/* Draws the consequences of what becomes of a step. */
struct step_observer {
    /* As in rpc_link_events; ctx is the step. */
    void (*on_message)(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                       const ProtobufCMessage *body);
    void (*on_closed)(void *ctx, struct rpc_link *l, const struct err *why);
    /* The shepherd does not answer and was killed: a handle of that process, which is taken; -1: it
     * is not known. Frees the step. */
    void (*on_silent)(struct step *s, pid_t shepherd, int handle);
};

struct step {
    struct attempt *attempt;
    const struct step_observer *observer;
    uint32_t id;
    pid_t pid; /* 0: adopted, and unknown so far */
    struct rpc_link *link;
    size_t held_bytes;    /* of its launch, in its shepherd; 0 when its tasks run */
    bool started;         /* its tasks run */
    bool ended;           /* its end is known */
    bool answered;        /* the launch call was answered */
    uint64_t call;        /* srun's, to be answered when started; 0: none */
    uint32_t halt_number; /* of the last order of halt.h that it has carried out */
    struct memory_grant memory;
    struct silence *silence; /* see unresponsive.h; NULL: it has nothing to kill */
    VEC(uint64_t) attaching; /* calls that its shepherd is to answer, see attach.h */
};

struct step *step_find(const struct attempt *a, uint32_t id);

/* fd: the connection to its shepherd, which is taken. */
struct step *step_new(struct attempt *a, uint32_t id, int fd, const struct step_observer *observer);

/* Its slurmstepd does not read: no more signals for now. */
bool step_is_swamped(const struct step *s);
void step_signal(struct step *s, int signo, bool leader_only, uint64_t nonce);
void step_say(struct step *s, const char *line, uint64_t nonce); /* on its standard error */
/* All its processes get the signal and are kept stopped, or go on. number: it answers with
 * halt_step_did(); 0: it does not. */
void step_halt(struct step *s, bool stop, int signo, uint32_t number);
void step_terminate(struct step *s, uint32_t grace_sec, const char *why);
void step_end_for_memory(struct step *s, const Pb__OverMemory *why);

/* It answers, if by nothing else. */
void step_ask(struct step *s);

/* What is on disk of it. */
char *step_file(const struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                const char *suffix);
void step_forget_files(const struct slurmd *d, uint32_t job_id, uint32_t restarts,
                       uint32_t step_id);
/* The end that a shepherd wrote down, or NULL; free with pb__stepd_ended__free_unpacked(). The
 * process ends when the file cannot be opened for lack of memory or descriptors. */
Pb__StepdEnded *step_read_end(const struct slurmd *d, uint32_t job_id, uint32_t restarts,
                              uint32_t step_id);
void step_free(struct step *s);
