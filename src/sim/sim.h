/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One simulated cluster: control/ unchanged, under a virtual clock, with virtual nodes, clients, a
 * store that commits late, and faults. Everything that happens is an event of one queue, ordered by
 * (time, number); everything random comes from one seed. So a run is its seed, and 'trace' is the
 * same number for the same seed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "control/control.h"
#include "sim/rng.h"

struct sim_options {
    uint64_t seed;
    unsigned nodes, cpus, jobs;
    unsigned fault_per_mille; /* chance of a fault each virtual second; 0: none */
    bool verbose;
};

struct sim_result {
    uint64_t trace; /* hash of every message and record change, in order */
    uint64_t events;
    unsigned submitted, acknowledged, ended, attempts, controller_crashes, node_crashes,
        sessions_broken;
    int64_t virtual_ms;
};

/* One run. 0, or -ERR_INTERNAL with the first broken promise in err (the text names job and virtual
 * time). */
int sim_run(const struct sim_options *options, struct sim_result *result, struct err *err);

/* --- between the files of this room
 * --------------------------------------------------------------------------- */

enum sim_event_kind {
    SIM_TICK,       /* control asked to be woken */
    SIM_COMMITTED,  /* the store has synced the batch under way */
    SIM_TO_NODE,    /* orders or an acknowledgement arrive at a node */
    SIM_TO_CONTROL, /* a node's message arrives at the controller */
    SIM_CONNECT,    /* a node opens its session */
    SIM_BEAT,       /* a node says that it is alive */
    SIM_HANGUP,     /* a node notices that its session is gone */
    SIM_NODE_WORK,  /* a node's task ends, or its kill delay is over */
    SIM_REQUEST,    /* a client's request arrives */
    SIM_REPLY,      /* a reply arrives at its client */
    SIM_CLIENT,     /* a client acts */
    SIM_FAULT,      /* chance strikes */
    SIM_RESTART,    /* the controller comes back */
};

enum sim_message_kind { SIM_ORDERS, SIM_ACK, SIM_WELCOME, SIM_REGISTER, SIM_REPORT };

struct sim_event {
    int64_t at_ms;
    uint64_t number;
    enum sim_event_kind kind;
    enum sim_message_kind message;
    unsigned index;      /* node or client */
    uint64_t generation; /* of the session, controller or node it belongs to: older ones are void */
    uint64_t value;      /* sequence, call number or job id */
    int code;            /* of a reply: 0 or the error */
    struct str body;     /* packed message */
};

struct sim_record {
    enum record_kind kind;
    uint64_t number;
    char *name;
    void *data; /* NULL: deleted */
    size_t len;
};

struct sim_stored { /* a record on the virtual disk */
    char key[96];
    struct sim_record record;
    UT_hash_handle hh;
};

struct sim_batch {
    VEC(struct sim_record) changes;
    VEC(struct sim_event) out; /* messages that wait for its sync */
};

struct sim_node_job { /* what a node knows of a job */
    uint32_t job_id, restarts;
    bool single, batch, ending,
        ended; /* ended: nothing runs, and the controller is or will be told */
    VEC(uint32_t) steps;
};

struct sim_node {
    char name[32];
    bool up;          /* its daemon runs */
    uint64_t session; /* generation of the open session; 0: none */
    uint64_t last_session;
    unsigned incarnation;
    uint64_t next_seq;
    VEC(struct sim_node_job) jobs;
    int64_t to_node_at_ms, to_control_at_ms; /* a session keeps the order of its messages */
    VEC(struct sim_event) unacked;           /* packed NodeEvents with their seq in 'value' */
};

enum sim_client_state {
    SIM_SUBMITTING,
    SIM_WAITING,
    SIM_HOLDING,
    SIM_RELEASING,
    SIM_CANCELLING,
    SIM_OVER
};
enum sim_request { SIM_SUBMIT, SIM_ALLOC, SIM_ALLOC_WAIT, SIM_COMPLETE, SIM_CANCEL };

struct sim_client { /* the owner of one job */
    enum sim_client_state state;
    bool interactive, wants_cancel, dies; /* dies: never says that its allocation is over */
    uint64_t call;                        /* open request, 0: none */
    uint32_t job_id;                      /* acknowledged; 0: not yet */
    unsigned tasks, nodes;
    int64_t run_ms, limit_sec;
    uint64_t id; /* of its submission, repeated with every attempt */
};

struct sim_start { /* the ledger: one line per start of a payload */
    uint32_t job_id, restarts;
    unsigned node;
};

struct sim {
    struct sim_options options;
    struct sim_result *result;
    struct rng rng;
    int64_t now_ms;
    uint64_t next_event, next_call, turns;
    VEC(struct sim_event) queue; /* binary heap */

    struct control *control; /* NULL while the controller is down */
    struct env env;
    uint64_t life; /* of the controller: rises with each crash */
    int64_t wake_at_ms;
    struct sim_stored *store; /* uthash, in order of first writing */
    struct sim_batch *next, *committing;

    VEC(struct sim_node) nodes;
    VEC(struct sim_client) clients;
    VEC(struct sim_start) ledger;
    bool quiet; /* faults are over */
    char conf_path[64];
    struct err broken; /* the first broken promise */
};

/* world.c: time, the controller and its store */
void sim_push(struct sim *s, int64_t after_ms, struct sim_event event); /* takes event.body */
void sim_event_done(struct sim_event *e);
void sim_break(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_trace(struct sim *s, const void *data, size_t len);
int sim_controller_start(struct sim *s, struct err *err);
void sim_controller_crash(struct sim *s);
void sim_turn(struct sim *s);
void sim_committed(struct sim *s);
void sim_world_done(struct sim *s);

/* node.c: what slurmd and its shepherds would do */
void sim_node_connect(struct sim *s, unsigned index);
void sim_node_beat(struct sim *s, struct sim_event *e);
void sim_node_receive(struct sim *s, struct sim_event *e);
void sim_node_work(struct sim *s, struct sim_event *e);
void sim_node_step(struct sim *s, unsigned index, uint32_t job_id, uint32_t step_id,
                   int64_t run_ms);
void sim_node_crash(struct sim *s, unsigned index, bool reboot);
void sim_node_hangup(struct sim *s, unsigned index, bool tell_control);
void sim_node_done(struct sim_node *n);

/* client.c: what sbatch, salloc and scancel would do */
void sim_client_act(struct sim *s, unsigned index);
void sim_client_reply(struct sim *s, struct sim_event *e);
void sim_client_request(struct sim *s, struct sim_event *e);
void sim_clients_lost(struct sim *s); /* the controller is gone and with it every open call */

/* run.c */
void sim_fault(struct sim *s);
