/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shepherds, from the daemon's side: one slurmstepd process per step. When the connection closes,
 * the shepherd has ended, and its exit file says how the step ended. Without an exit file the
 * shepherd was killed, and the remaining processes are killed as well. step_life.h starts
 * shepherds, finds those of an earlier daemon, and observes all of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/io.pb-c.h"
#include "rpc/link.h"
#include "slurmd/attempt/attempt.h"

#define STEP_HALT_ID                                                                               \
    (UINT64_C(1) << 32) /* added to the order number: id of the request to suspend or resume */

/* The memory that a step may use (0: no limit), and the result of the last look, see memory.h. */
struct memory_grant {
    /* job_kib: the job's limit on this node; it applies to a step without a limit of its own */
    uint64_t step_kib, job_kib;
    uint64_t used_kib, peak_kib;
    bool was_over; /* over its limit at the last look */
    bool ended;    /* its shepherd was told to end */
};

/* Callbacks for the events of a step. */
struct step_observer {
    /* As in rpc_link_events; ctx is the step. */
    void (*on_message)(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                       const ProtobufCMessage *body);
    void (*on_closed)(void *ctx, struct rpc_link *l, const struct err *why);
    /* The shepherd did not answer and was killed. handle is a pidfd of that process, which the
     * callee owns; -1: unknown. The callee frees the step. */
    void (*on_silent)(struct step *s, pid_t shepherd, int handle);
};

struct step {
    struct attempt *attempt;
    const struct step_observer *observer;
    uint32_t id;
    pid_t pid; /* 0: adopted, and unknown so far */
    struct rpc_link *link;
    /* Bytes of the launch message that the shepherd holds; 0 once its tasks run. */
    size_t held_bytes;
    bool started;         /* its tasks run */
    bool ended;           /* its end is known */
    bool answered;        /* the launch call has been answered */
    uint64_t call;        /* srun's call, answered when the step has started; 0: none */
    uint32_t halt_number; /* number of the last order of halt.h that the step has carried out */
    struct memory_grant memory;
    struct silence *silence; /* see unresponsive.h; NULL: no kill is outstanding */
    VEC(uint64_t) attaching; /* calls that the shepherd has to answer, see attach.h */
};

struct step *step_find(const struct attempt *a, uint32_t id);

/* Creates a step; fd is the connection to its shepherd, whose ownership passes to the step. */
struct step *step_new(struct attempt *a, uint32_t id, int fd, const struct step_observer *observer);

/* Whether slurmstepd does not read its connection, so that no further signals are sent for now. */
bool step_is_swamped(const struct step *s);
void step_signal(struct step *s, int signo, bool leader_only, bool forwarded, uint64_t nonce);
/* Writes a line on the step's standard error. */
void step_say(struct step *s, const char *line, uint64_t nonce);
/* Sends the signal to all processes of the step and keeps them stopped, or resumes them. If number
 * is not 0, the shepherd confirms with halt_step_did(). */
void step_halt(struct step *s, bool stop, int signo, uint32_t number);
void step_terminate(struct step *s, uint32_t grace_sec, const char *why);
void step_end_for_memory(struct step *s, const Pb__OverMemory *why);

/* Asks the shepherd for a sign of life. */
void step_ask(struct step *s);

/* The path of a file of the step. */
char *step_file(const struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                const char *suffix);
void step_forget_files(const struct slurmd *d, uint32_t job_id, uint32_t restarts,
                       uint32_t step_id);
/* Returns the content of the exit file, or NULL; free it with pb__stepd_ended__free_unpacked().
 * Exits the process if the file cannot be opened for lack of memory or descriptors. */
Pb__StepdEnded *step_read_end(const struct slurmd *d, uint32_t job_id, uint32_t restarts,
                              uint32_t step_id);
void step_free(struct step *s);
