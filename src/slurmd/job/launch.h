/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests to start something: checked, put to their job, and when that is ready, handed to a
 * shepherd of their own. A repeat is answered as the first was.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "proto/node.pb-c.h"
#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/attempt/cancelled.h"
#include "slurmd/step/step.h"

enum launch_kind {
    LAUNCH_TASKS,    /* of a step of srun's */
    LAUNCH_BATCH,    /* a batch script */
    LAUNCH_RECEIVER, /* of files, see receive.h: no step */
    LAUNCH_EXTERN,   /* the extern step, see extern.h: nobody's call */
};

enum launch_phase {
    LAUNCH_QUEUED,   /* waits for its job, or for the word to go on when that is suspended */
    LAUNCH_LOOKUP,   /* the user is being looked up */
    LAUNCH_PREPARED, /* nothing but the commit is missing */
};

struct launch {
    uint64_t number; /* names it across turns */
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
    struct loop_timer *commit_timer; /* prepared: how long it waits; NULL: not prepared */
    int64_t since_ms, commit_ms;     /* when it came, by loop_mono_ms(); how long it waits */
    uint64_t key; /* of srun's or sbcast's connections: tells a repeat from another launch */
};

/* A job credential that covers this node, which is nodes[*node_index] of it. */
int launch_check_cred(struct slurmd *d, ProtobufCBinaryData data, ProtobufCBinaryData signature,
                      int64_t part, struct arena *arena, Pb__Cred **cred, uint32_t *node_index,
                      struct err *err);

void launch_batch(struct slurmd *d, const Pb__LaunchBatch *m); /* ordered by the controller */
void launch_tasks(struct slurmd *d, const struct rpc_request *request); /* by an srun */

/* For receive.c. That the credential says that it is of no job exactly when its id is that of none;
 * that the job has not ended here; what tells a repeat; and a launch for the job, which starts when
 * that is ready: nothing of its message but the bytes is looked at. */
int launch_check_unallocated(const Pb__Cred *cred, struct err *err);
int launch_check_not_over(struct slurmd *d, const Pb__Cred *cred, struct err *err);
uint64_t launch_key_of(ProtobufCBinaryData token);
int launch_queue(struct slurmd *d, const Pb__Cred *cred, ProtobufCBinaryData packed,
                 const ProtobufCMessage *message, uint32_t node_index, uint64_t key, uint64_t call,
                 struct err *err);

/* For extern.c, with a credential of its own making. */
void launch_extern(struct attempt *a, const Pb__Cred *cred, ProtobufCBinaryData packed);

/* Another call for what a call is open for already, or was (0): it gets the same answer. */
void launch_join(struct slurmd *d, uint64_t *first, uint64_t call);

void launch_free(struct launch *l); /* tells nobody */

void launch_go(struct slurmd *d, struct launch *l); /* its job is ready */
/* Tells who asked, once; drain: this node is at fault. Frees it. */
void launch_fail(struct slurmd *d, struct launch *l, int code, const char *text, bool drain);

/* Ordered to end a step that no shepherd has: its launch, be it here and waiting or still to come,
 * starts nothing, and the controller is told that the step is over. a: its job; NULL: not known
 * here. */
void launch_cancel(struct slurmd *d, struct attempt *a, const struct cancelled_step *s);

bool launch_waits(const struct attempt *a,
                  uint32_t step_id); /* for its prolog, or its user's data */

void launch_answer(struct step *s, int code, const char *text);
void launch_refuse(struct slurmd *d, uint64_t call, int code,
                   const char *text); /* call 0: nobody */
