/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this room share: the state of a world. Everything in it belongs to the run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"
#include "sim/plan/plan.h"
#include "sim/plan/rng.h"
#include "sim/sim.h"
#include "sim/state/client.h"
#include "sim/state/hres.h"
#include "sim/state/leader.h"
#include "sim/state/view.h"

#define SIM_START_MS 1000000 /* the monotonic clock at the beginning */
#define SIM_CODE_LOST (-1)   /* of a reply: the connection is gone instead */
#define SIM_SHARE_MOST 4     /* jobs to a core */

enum sim_event_kind {
    SIM_TICK,       /* control asked to be woken */
    SIM_COMMITTED,  /* the store has synced the batch under way */
    SIM_TO_NODE,    /* orders or an acknowledgement arrive at a node */
    SIM_TO_CONTROL, /* a node's message arrives at the controller */
    SIM_LOST,       /* the controller notices that a session is gone */
    SIM_CONNECT,    /* a node opens its session */
    SIM_BEAT,       /* a node says that it is alive */
    SIM_HANGUP,     /* a node notices that its session is gone */
    SIM_NODE_UP,    /* a node's daemon starts */
    SIM_NODE_WORK,  /* a payload ends, or the patience with it */
    SIM_REQUEST,    /* a request arrives at the controller */
    SIM_REPLY,      /* a reply arrives at its command */
    SIM_CLIENT,     /* the owner of a job acts */
    SIM_SRUN,       /* a step's srun acts */
    SIM_STEP,       /* a launch of a step's tasks arrives at a node */
    SIM_ACT,        /* something is done by a command */
    SIM_FAULT,      /* something breaks */
    SIM_RESTART,    /* the controller comes back */
    SIM_HEAL,       /* the faults are over */
    SIM_HOOK,       /* the controller's helper is told to run a script, or to end it */
    SIM_HOOK_END,   /* a script that it runs ends */
    SIM_LOADED,     /* a worker has read a configuration */
    SIM_SETTLE,     /* what waits for something that will not come is ended */
    SIM_APPLY,      /* with several controllers: the commit under way reaches the store */
    SIM_STANDBY,    /* a controller in standby looks what to do */
    SIM_PING,       /* a controller is asked by another one, 'index' */
    SIM_PONG,       /* the answer */
    SIM_PING_OVER,  /* none will be waited for any more */
    SIM_YIELD,      /* the leader is asked to give the lead away */
    SIM_PROVE,      /* the leader looks whether it is one */
    SIM_SUMMONS,    /* it calls its nodes once more */
    SIM_SUMMON,     /* a node is called */
    SIM_GIVE_UP,    /* a command does not wait any longer for one that hangs */
    SIM_GONE,       /* a controller sees that a caller is gone */
};

enum sim_message {
    SIM_ORDERS,
    SIM_ACK,
    SIM_WELCOME,
    SIM_CLOSE,
    SIM_OPEN,
    SIM_REGISTER,
    SIM_REPORT
};

struct sim_event {
    int64_t at_ms;
    uint64_t number;
    enum sim_event_kind kind;
    enum sim_message message;
    unsigned ctl;        /* the controller (+ 1) that it is for; 0: the one whose turn it is */
    unsigned index;      /* of the node, client, srun, act or fault */
    uint64_t generation; /* of the session, controller or attempt it belongs to */
    uint64_t value;      /* sequence, call number or job id */
    int code;            /* of a reply: 0 or the error; of a script: its status */
    uint64_t session;    /* of a script: the attempt's restart count */
    struct str body;     /* packed message */
};

struct sim_slot { /* of the queue */
    int64_t at_ms;
    uint64_t number;
    struct sim_event *event;
};

struct sim_node_step {
    uint32_t id, cpus, srun;
    bool overlap, running;
    bool ending; /* by order */
};

#define SIM_CPU_BYTES 64 /* of a bitmap: no drawn node has more CPUs */

struct sim_node_job { /* what a node knows of an attempt */
    struct sim_key key;
    unsigned client;
    uint32_t cpus;
    uint64_t mem_mib;               /* its share, by the credential */
    uint8_t cpu_set[SIM_CPU_BYTES]; /* the same, as a bitmap; without bits: not known */
    bool prepared, prolog_running;  /* with PrologFlags=Alloc */
    bool tells_prepared;            /* the controller waits for the end of that */
    bool single, batch_started, batch_running, batch_ended, terminating, gone, told;
    int status;
    uint32_t halt_number; /* of the last order to stop or to go on */
    bool halting, halted; /* it is to stop, and has */
    bool was_halted;      /* when it was ordered to end: it runs on for that */
    int64_t halted_from_ms, script_owed_ms;
    bool script_ending; /* by order */
    bool script_due;    /* its script would have ended, had it run */
    VEC(struct sim_node_step) steps;
};

enum sim_made { SIM_MADE_UNKNOWN, SIM_MADE_THERE, SIM_MADE_GONE };

struct sim_node {
    char name[16];
    struct rng rng;
    uint32_t cpus; /* the most that a configuration gave it */
    uint64_t mem_mib;
    bool up;                     /* its daemon runs */
    bool configured;             /* in the configuration in force */
    bool dynamic;                /* it registers itself when it is not */
    const struct sim_item *item; /* what it has */
    bool filed;                  /* some version of the file has it */
    /* of being made: requests, and the act (+ 1) asked last, when the others were answered */
    unsigned made_asked, made_answered, made_last;
    enum sim_made made;           /* what was answered */
    unsigned incarnation, listed; /* the last listing it was in */
    uint64_t epoch;
    bool welcome;
    int64_t skew_until_ms, skew_ms;
    int64_t stopped_until_ms, slow_until_ms, repeat_until_ms, lie_until_ms, slow_by_ms;
    uint32_t lie_cpus;
    uint64_t lie_mem_mib;
    /* the session as it sees it, and as each controller does; 0: none */
    uint64_t session, last_session;
    struct sim_end at[SIM_CTLS];
    unsigned ctl;    /* with which one it is, or will be */
    uint64_t broken; /* messages of this session get lost */
    uint64_t shut;   /* its end is here, unseen yet */
    int64_t to_node_at_ms, to_control_at_ms;
    uint64_t next_seq;
    size_t sent; /* of the unacknowledged ones, in this session */
    VEC(struct sim_event) unacked;
    VEC(struct sim_node_job) jobs;
    VEC(struct sim_key) revoked;
    VEC(struct sim_key) cancelled; /* steps that will not start: job and step */
    unsigned registered;           /* the incarnation that registered last */
    uint64_t settled_session;      /* with the leader, after its last turn; 0: none */
    int64_t unsettled_ms;          /* it did not answer last, or had another one */
    int64_t lost_at_ms;            /* it was given up, booted or taken out of the configuration */
    VEC(uint32_t) holders;         /* jobs that were given something of it, by their records */
};

enum sim_owner { SIM_OF_CLIENT, SIM_OF_WATCH, SIM_OF_SRUN, SIM_OF_ACT, SIM_OF_NOBODY };
enum sim_request {
    SIM_SUBMIT,
    SIM_TEST_ONLY,
    SIM_ALLOC,
    SIM_ALLOC_WAIT,
    SIM_WAIT_END,
    SIM_JOB_COMPLETE,
    SIM_STEP_CREATE,
    SIM_STEP_COMPLETE,
    SIM_JOB_SIGNAL,
    SIM_JOB_UPDATE,
    SIM_JOB_SUSPEND,
    SIM_NODE_UPDATE,
    SIM_PART_UPDATE,
    SIM_RESV_UPDATE,
    SIM_RESV_DELETE,
    SIM_LICENSE_UPDATE,
    SIM_ANNOUNCE,
    SIM_RECONFIGURE,
    SIM_PREVIEW
};

struct sim_call { /* number i + 1; never reused */
    enum sim_owner owner;
    enum sim_request request;
    unsigned index;
    bool open;     /* its owner waits */
    bool arrived;  /* the controller of 'life' has it */
    bool answered; /* by the controller */
    bool waits;    /* for a controller that hangs: it will be given up */
    uint64_t life;
    unsigned ctl, tries; /* asked last; how many were */
    int64_t asked_ms, arrived_ms;
};

enum sim_srun_state { SIM_SRUN_CREATING, SIM_SRUN_RUNNING, SIM_SRUN_TELLING, SIM_SRUN_OVER };

struct sim_srun {
    enum sim_srun_state state;
    unsigned client, number;
    long node;             /* where it runs: the node of a batch script; -1: elsewhere */
    struct sim_key key;    /* of its step's job, which may be another component of its set */
    struct sim_key script; /* the attempt it is run by */
    uint32_t step_id;
    uint64_t call;
    unsigned left; /* nodes whose part of the step goes on */
    bool owns_job; /* it ends the job when it is over */
};

struct sim_start { /* the ledger: an attempt's payload was started */
    struct sim_key key;
    unsigned node;
    UT_hash_handle hh;
};

struct sim {
    const struct sim_plan *plan;
    struct sim_options options;
    struct sim_result *result;
    int64_t now_ms, wall_offset_ms, latest_wall_ms;
    int64_t mended_at_ms, healed_at_ms; /* no fault from then on; and then somebody led */
    uint64_t next_event;
    VEC(struct sim_slot) queue; /* binary heap */
    VEC(struct sim_event *) spare;

    /* the controller */
    struct sim_ctl ctls[SIM_CTLS];
    unsigned count;       /* of them */
    struct sim_ctl *c;    /* the one whose turn it is; else the leader */
    struct sim_ctl *lead; /* it has taken the lead last */
    struct env env;
    void (*call_gone)(struct sim *s, uint64_t number); /* it sees that a caller has hung up */
    struct rng rng;                                    /* of the controller and its store */
    uint64_t taken;                 /* how often the lead was, by the store's row */
    uint64_t epoch_put, epoch_life; /* of the last commit: its epoch, and whose */
    uint64_t commits;               /* with several controllers, also without changes; the last */
    int64_t committed_ms;
    int64_t timeout_ms;    /* SlurmctldTimeout */
    uint64_t lives;        /* how often one was begun or ended */
    uint64_t counted_life; /* the last lead that has committed */
    unsigned file;         /* the version of slurm.conf on disk */
    unsigned listings;
    bool shares_change;   /* what partitions share, by another file or by request */
    struct {              /* of gang scheduling */
        bool is_on;       /* jobs that share take turns, */
        bool apart;       /* those of each partition among themselves */
        bool counts_cpus; /* CR_CPU: which ones a job has in its turn does not matter */
        int64_t slice_ms; /* 0: of 30 s */
    } gang;
    bool whole_nodes;    /* select/linear */
    bool whole_sockets;  /* CR_Socket */
    uint32_t share_most; /* jobs to a core, at the most; 0: none is shared */
    VEC(struct sim_load *) loads;
    int64_t slow_disk_until_ms, slow_disk_ms;
    int64_t net_until_ms, net_late_ms, net_lost_percent; /* between commands and the rest */
    int64_t over_ms;              /* that a job may exceed its limit by; INT64_MAX: any time */
    struct sim_stored *store;     /* uthash, in order of first writing */
    const struct sim_item *crash; /* that is due at its point; NULL: none */
    int64_t crash_point;
    bool crash_again; /* it is the second of two */
    struct sim_announced announced;
    uint64_t epoch;

    VEC(struct sim_node) nodes;
    VEC(struct sim_client) clients;
    VEC(struct sim_srun) sruns;
    VEC(struct sim_call) calls;
    VEC(const struct sim_item *) acts; /* 'do' and 'fault', by index */
    VEC(struct sim_node_view) node_views;
    struct sim_watch *watches;
    VEC(struct sim_stored_resv) resvs;  /* as their records are put */
    VEC(struct sim_count) counts;       /* the same */
    VEC(uint32_t) allocated, displaced; /* jobs started in this turn; those told to make room */
    VEC(uint32_t) relicensed;           /* running jobs whose licences were changed in this turn */
    VEC(uint32_t) sets_put;             /* components of which records were put in this turn */
    struct sim_start *ledger;
    struct sim_attempt *ends; /* what was reported of each */
    struct sim_element *elements;
    struct sim_facts facts;
    struct sim_hook *hooks;
    struct sim_burst *bursts;
    uint64_t hook_runs;
    bool no_prolog, no_epilog; /* some configuration in force had none */
    uint32_t next_id;          /* by the store's own record, as put last */
    bool quiet;                /* faults are over */
    bool disk_loses;           /* everything from now on */
    unsigned settled;          /* how often what waits was looked at since */
    bool shrunk;               /* nodes or partitions may be less than jobs were promised */
    struct err broken;         /* the first broken promise */
};
