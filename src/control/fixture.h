/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A world for the tests of this room: records in memory, a clock that the test moves, and the
 * recorded replies and orders. A restart creates a new machine from the records alone.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/vec.h"
#include "control/control.h"

#define FIXTURE_ROOT ((struct caller){.is_admin = true, .is_operator = true, .user_name = "root"})
#define FIXTURE_USER                                                                               \
    ((struct caller){                                                                              \
        .uid = 1000, .gid = 1000, .user_name = "ann", .group_name = "ann", .host = "h"})
#define FIXTURE_OTHER ((struct caller){.uid = 1001, .gid = 1001, .user_name = "bob", .host = "h"})

struct fixture_record {
    enum record_kind kind;
    uint64_t number;
    char *name;
    struct str data;
};

struct fixture_reply {
    uint64_t call;
    int code; /* 0: a reply */
    struct str text, data;
};

struct fixture_order {
    char *node;
    struct arena arena;
    Pb__NodeOrders *orders;
};

struct fixture_script { /* a script that control requested */
    int kind;
    uint32_t job_id, restarts;
    int64_t limit_sec, uid; /* -1: none */
    bool stopped;
    char *path, *function; /* function NULL: a program */
    struct str argv, env;  /* one entry per line */
    struct str script;     /* the job's script in the message */
};

struct fixture {
    struct control *control;
    struct env env;
    int64_t wall_ms, mono_ms, wake_ms;
    uint64_t last_call, last_seq, boot;
    char path[64];    /* of its slurm.conf */
    bool has_damaged; /* a restart sets records aside that cannot be restored */
    uint32_t rank;    /* of the controller, used by the next restart */
    VEC(struct fixture_record) records;
    size_t puts, put_bytes; /* number and bytes of record writes since the start */
    VEC(struct fixture_reply) replies;
    VEC(struct fixture_order *) orders;
    VEC(struct fixture_script) scripts;
    VEC(uint64_t) acks;
    VEC(char *) closed; /* nodes whose session was closed */
};

/* Creates a cluster with these lines of slurm.conf; its nodes are not registered yet. Requeued jobs
 * may start at once, unless a line has AuthInfo=cred_expire= or requeue_delay=. */
struct fixture *fixture_new(const char *lines);
/* Like fixture_new(), with this number of nodes, from n1 on, registered. */
struct fixture *fixture_new_up(const char *lines, unsigned nodes);
void fixture_free(struct fixture *f);
void fixture_restart(struct fixture *f); /* as after a crash */
/* Reconfigures with other lines. Returns the reply, valid until the next fixture_clear().
 * 'preview': changes nothing. */
const char *fixture_reread(struct fixture *f, const char *lines, bool preview);
void fixture_reconfigure(struct fixture *f, const char *lines); /* reconfigures with other lines */
/* Expects these nodes ("n1,n3") for a switch, block or ring in scontrol show topology. */
void fixture_expect_unit(struct fixture *f, const char *name, const char *nodes);
void fixture_pass(struct fixture *f, int64_t ms); /* advances the clock, with ticks and turns */
void fixture_turn(struct fixture *f);             /* also checks every invariant */

void fixture_register(struct fixture *f, const char *node, const char *incarnation);
/* The node registers with the job, and with the job's step 0 or without a step. The caller does the
 * turn. */
void fixture_register_job(struct fixture *f, const char *node, uint32_t job, bool has_step);
/* is_old: the node's daemon is older than the messages Prepared and NodeAttempt. */
void fixture_register_as(struct fixture *f, const char *node, const char *incarnation, bool is_old);
void fixture_event(struct fixture *f, const char *node, Pb__NodeEvent *event);
void fixture_launched(struct fixture *f, const char *node, uint32_t job, uint32_t restarts);
void fixture_step_ended(struct fixture *f, const char *node, uint32_t job, uint32_t step,
                        int exit_status);
void fixture_batch_ended(struct fixture *f, const char *node, uint32_t job, uint32_t restarts,
                         int exit_status);
void fixture_gone(struct fixture *f, const char *node, uint32_t job, uint32_t restarts);

/* Submits a batch job of this spec (NULL: one CPU) as 'who'. Returns its id, or a negative error
 * code. */
int64_t fixture_submit(struct fixture *f, const struct caller *who, const Pb__JobSpec *spec);
/* Submits a job set with one spec for each component. */
int64_t fixture_submit_set(struct fixture *f, const struct caller *who, const Pb__JobSpec *specs,
                           size_t count);
/* Returns a spec with this number of nodes, one task on each, and this number of CPUs for each
 * task. */
Pb__JobSpec fixture_spec(uint32_t nodes, uint32_t cpus);
/* Expects the components of the set to have these states: "R R PD"; CG is a component that has
 * ended and is not gone from all of its nodes. */
void fixture_expect_set(struct fixture *f, int64_t leader, const char *expected);
size_t fixture_count_jobs(struct fixture *f);
/* Four nodes and two partitions, for job sets. */
#define FIXTURE_SET_CONF                                                                           \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-4] CPUs=4 RealMemory=4000\n"                \
    "Licenses=a:3\nPartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=100\n"            \
    "PartitionName=b Nodes=n[3-4] MaxTime=30\n"

/* Returns the result of a call: 0, or its error code; -1: no reply yet. */
int fixture_code(const struct fixture *f, uint64_t call);
const char *fixture_text(const struct fixture *f, uint64_t call); /* error text of the reply */
/* Make a call and one turn; return the code of the reply. */
int fixture_suspend(struct fixture *f, int64_t id, bool resume);
int fixture_update_job(struct fixture *f, const struct caller *who, const Pb__JobUpdate *r);
int fixture_update_part(struct fixture *f, const Pb__PartRecord *set);
int fixture_update_node(struct fixture *f, const char *nodes, const char *state,
                        const char *reason);

/* Return what a listing shows, in the arena; NULL: no record. */
const Pb__JobRecord *fixture_job(struct fixture *f, struct arena *arena, uint32_t id);
const Pb__PartRecord *fixture_part(struct fixture *f, struct arena *arena, const char *name);
const Pb__NodeRecord *fixture_node(struct fixture *f, struct arena *arena, const char *name);
enum _Pb__JobState fixture_state(struct fixture *f, uint32_t id);

/* Ends the last requested script with this status and removes it; it must be of this kind. */
void fixture_script_ended(struct fixture *f, int kind, uint32_t job, int wait_status);

/* Ends or signals (signal not 0) a job, or these elements of an array (tasks NULL: all). Returns
 * the code of the result; -1: none. */
int fixture_cancel(struct fixture *f, const struct caller *who, int64_t id, const char *tasks,
                   int signal);
/* A launched batch job ends with this status on each of the nodes n1 to n9 on which it was
 * launched. */
void fixture_end(struct fixture *f, uint32_t id, int wait_status);

/* Return the number of orders of a kind about the job to the node since the last
 * fixture_clear(). */
size_t fixture_launches(const struct fixture *f, const char *node, uint32_t job);
size_t fixture_terminates(const struct fixture *f, const char *node, uint32_t job);
void fixture_clear(struct fixture *f);
/* The node confirms this order to suspend or resume the job. */
void fixture_halted(struct fixture *f, const char *node, uint32_t job, uint32_t number);
/* The nodes confirm all orders of this kind since the last fixture_clear(). */
void fixture_obey(struct fixture *f);
