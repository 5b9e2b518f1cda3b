/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Launch requests: checks them, attaches them to their job, and hands each to a new shepherd when
 * the job is ready. A repeated request gets the same answer as the first.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "proto/node.pb-c.h"
#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/step/step.h"

enum launch_kind {
    LAUNCH_TASKS,    /* a step of srun */
    LAUNCH_BATCH,    /* a batch script */
    LAUNCH_RECEIVER, /* a receiver of files, see receive.h; not a step */
    LAUNCH_EXTERN,   /* the extern step, see extern.h; without a call */
};

enum launch_phase {
    LAUNCH_QUEUED,   /* waits for its job, or for a suspended job to be resumed */
    LAUNCH_LOOKUP,   /* the user is being looked up */
    LAUNCH_PREPARED, /* only the commit is missing */
};

struct launch {
    uint64_t number; /* identifies the launch across turns of the loop */
    struct attempt_key attempt;
    uint32_t step_id, node_index;
    uid_t uid;
    gid_t gid;
    enum launch_kind kind;
    enum launch_phase phase;
    bool awaits_commit;       /* until prepare_commit() */
    struct str message, cred; /* packed */
    uint64_t call;
    struct slurmd *owner;            /* of the timer */
    struct loop_timer *commit_timer; /* timeout of the commit; NULL: not prepared */
    /* loop_mono_ms() of its arrival; how long it waits for the commit */
    int64_t since_ms, commit_ms;
    /* Key of srun's or sbcast's connections: distinguishes a repeat from another launch. */
    uint64_t key;
};

/* Checks a job credential for this node, which is nodes[*node_index] in it. */
int launch_check_cred(struct slurmd *d, ProtobufCBinaryData data, ProtobufCBinaryData signature,
                      int64_t part, struct arena *arena, Pb__Cred **cred, uint32_t *node_index,
                      struct err *err);

void launch_batch(struct slurmd *d, const Pb__LaunchBatch *m); /* ordered by the controller */
void launch_tasks(struct slurmd *d, const struct rpc_request *request); /* by an srun */

/* For receive.c: checks that the credential is for no job exactly if its job id is none; checks
 * that the job has not ended here; returns the key that identifies a repeat; and queues a launch
 * for the job, which starts when the job is ready. The message is passed on unparsed. */
int launch_check_unallocated(const Pb__Cred *cred, struct err *err);
int launch_check_not_over(struct slurmd *d, const Pb__Cred *cred, struct err *err);
uint64_t launch_key_of(ProtobufCBinaryData token);
int launch_queue(struct slurmd *d, const Pb__Cred *cred, ProtobufCBinaryData packed,
                 const ProtobufCMessage *message, uint32_t node_index, uint64_t key, uint64_t call,
                 struct err *err);

/* For extern.c, which makes its own credential. */
void launch_extern(struct attempt *a, const Pb__Cred *cred, ProtobufCBinaryData packed);

/* Joins another call to an open call, or to none (*first is 0): it gets the same answer. */
void launch_join(struct slurmd *d, uint64_t *first, uint64_t call);

void launch_free(struct launch *l); /* sends no answer */

void launch_go(struct slurmd *d, struct launch *l); /* its job is ready */
/* Answers the caller, once, and frees the launch. drain: the node is at fault. */
void launch_fail(struct slurmd *d, struct launch *l, int code, const char *text, bool drain);

/* Handles an order to end a step without a shepherd: its launch, whether waiting here or still to
 * come, is refused, and the controller is told that the step has ended. a is its job; NULL: not
 * known here. */
void launch_cancel(struct slurmd *d, struct attempt *a, const struct cancelled_step *s);

bool launch_waits(const struct attempt *a,
                  uint32_t step_id); /* waits for the prolog or for the user's data */

void launch_answer(struct step *s, int code, const char *text);
void launch_refuse(struct slurmd *d, uint64_t call, int code,
                   const char *text); /* call 0: no caller to answer */
