/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State that the files of sim/ share. The run owns everything in it. */
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

#define SIM_START_MS 1000000 /* the monotonic clock at the start */
#define SIM_CODE_LOST (-1)   /* the connection was lost and there is no reply */
#define SIM_SHARE_MOST 4     /* maximum number of jobs on a core */

enum sim_event_kind {
    SIM_TICK,       /* a wake-up that control requested */
    SIM_COMMITTED,  /* the store has synced the running batch */
    SIM_TO_NODE,    /* orders or an acknowledgement arrive at a node */
    SIM_TO_CONTROL, /* a node's message arrives at the controller */
    SIM_LOST,       /* the controller notices that a session is gone */
    SIM_CONNECT,    /* a node opens its session */
    SIM_BEAT,       /* a node sends a heartbeat */
    SIM_HANGUP,     /* a node notices that its session is gone */
    SIM_NODE_UP,    /* a node's daemon starts */
    SIM_NODE_WORK,  /* a payload ends, or its grace time ends */
    SIM_REQUEST,    /* a request arrives at the controller */
    SIM_REPLY,      /* a reply arrives at a command */
    SIM_CLIENT,     /* the owner of a job acts */
    SIM_SRUN,       /* a step's srun acts */
    SIM_STEP,       /* a launch of a step's tasks arrives at a node */
    SIM_ACT,        /* a command performs an action */
    SIM_FAULT,      /* a fault occurs */
    SIM_RESTART,    /* the controller restarts */
    SIM_HEAL,       /* the faults are over */
    SIM_HOOK,       /* the helper process of the controller is told to run or to end a script */
    SIM_HOOK_END,   /* a script of the helper process ends */
    SIM_LOADED,     /* a worker has read a configuration */
    SIM_SETTLE,     /* jobs are ended that wait for something that will not happen */
    SIM_APPLY,      /* with several controllers: the running commit reaches the store */
    SIM_STANDBY,    /* a controller in standby decides what to do */
    SIM_PING,       /* controller 'index' pings this controller */
    SIM_PONG,       /* the reply to a ping */
    SIM_PING_OVER,  /* the wait for a ping's reply is over */
    SIM_YIELD,      /* the leader is asked to yield the lead */
    SIM_PROVE,      /* the leader checks that it still leads */
    SIM_SUMMONS,    /* the leader calls its missing nodes again */
    SIM_SUMMON,     /* a controller calls a node */
    SIM_GIVE_UP,    /* a command gives up on a controller that hangs */
    SIM_GONE,       /* a controller notices that a caller is gone */
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
    unsigned ctl;   /* index + 1 of the receiving controller; 0: the current one */
    unsigned index; /* of the node, client, srun, act or fault */
    /* Number of the session, controller or attempt that the event belongs to. */
    uint64_t generation;
    uint64_t value;   /* sequence number, call number or job id */
    int code;         /* of a reply: 0 or the error; of a script: its exit status */
    uint64_t session; /* of a script: the attempt's restart count */
    struct str body;  /* the packed message */
};

struct sim_slot { /* an entry of the queue */
    int64_t at_ms;
    uint64_t number;
    struct sim_event *event;
};

struct sim_node_step {
    uint32_t id, cpus, srun;
    bool overlap, running;
    bool ending; /* by an order */
};

#define SIM_CPU_BYTES 64 /* size of a CPU bitmap: no drawn node has more CPUs */

struct sim_node_job { /* a node's state of an attempt */
    struct sim_key key;
    unsigned client;
    uint32_t cpus;
    uint64_t mem_mib;               /* its memory on the node, by the credential */
    uint8_t cpu_set[SIM_CPU_BYTES]; /* CPUs by the credential, as a bitmap; no bit: unknown */
    bool prepared, prolog_running;  /* with PrologFlags=Alloc */
    bool tells_prepared;            /* the controller waits for the end of the prolog */
    bool single, batch_started, batch_running, batch_ended, terminating, gone;
    int status;
    uint32_t halt_number; /* number of the last order to suspend or resume */
    bool halting, halted; /* the job is being suspended, and is suspended */
    bool was_halted;      /* it was suspended when it was ordered to end; ending resumes it */
    int64_t halted_from_ms, script_owed_ms;
    bool script_ending; /* by an order */
    bool script_due;    /* the script would have ended if it had not been suspended */
    VEC(struct sim_node_step) steps;
};

enum sim_made { SIM_MADE_UNKNOWN, SIM_MADE_THERE, SIM_MADE_GONE };

struct sim_node {
    char name[16];
    struct rng rng;
    uint32_t cpus; /* the highest count that a configuration gave it */
    uint64_t mem_mib;
    bool up;                     /* the daemon runs */
    bool configured;             /* the node is in the active configuration */
    bool dynamic;                /* the node registers itself if it is not configured */
    const struct sim_item *item; /* its resources */
    bool filed;                  /* the node is in some version of the file */
    /* Creation of the node as a dynamic node: requests sent and answered; 'made_last': act + 1 of
     * the last one, if all earlier ones had been answered when it was sent. */
    unsigned made_asked, made_answered, made_last;
    enum sim_made last_dynamic;   /* the last confirmed change */
    unsigned incarnation, listed; /* 'listed': the last listing that had the node */
    uint64_t epoch;
    bool welcome;
    int64_t skew_until_ms, skew_ms;
    int64_t stopped_until_ms, slow_until_ms, repeat_until_ms, lie_until_ms, slow_by_ms;
    uint32_t lie_cpus;
    uint64_t lie_mem_mib;
    /* The session as the node sees it, and as each controller sees it; 0: none. */
    uint64_t session, last_session;
    struct sim_end at[SIM_CTLS];
    unsigned ctl;    /* index of the controller that the node is connected or connecting to */
    uint64_t broken; /* number of a session whose messages are lost */
    uint64_t shut;   /* number of a session whose end has arrived and is not handled yet */
    int64_t to_node_at_ms, to_control_at_ms;
    uint64_t next_seq;
    size_t sent; /* how many unacknowledged events were sent in this session */
    VEC(struct sim_event) unacked;
    VEC(struct sim_node_job) jobs;
    VEC(struct sim_key) revoked;
    VEC(struct sim_key) cancelled; /* steps that must not start: job and step */
    unsigned registered;           /* the incarnation that registered last */
    uint64_t settled_session;      /* the session with the leader after its last turn; 0: none */
    int64_t unsettled_ms;          /* last time that it did not respond or had a new session */
    /* Last time that it was declared down, rebooted or left the configuration. */
    int64_t lost_at_ms;
    VEC(uint32_t) holders; /* jobs whose records hold resources of the node */
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

struct sim_call { /* number is index + 1, and is never reused */
    enum sim_owner owner;
    enum sim_request request;
    unsigned index;
    bool open;     /* the owner waits for the reply */
    bool arrived;  /* the controller with this 'life' has received the request */
    bool answered; /* the controller has sent a reply */
    bool waits;    /* for a controller that hangs; the command will give up */
    uint64_t life;
    unsigned ctl, tries; /* index of the controller asked last; number of attempts */
    int64_t asked_ms, arrived_ms;
};

enum sim_srun_state { SIM_SRUN_CREATING, SIM_SRUN_RUNNING, SIM_SRUN_TELLING, SIM_SRUN_OVER };

struct sim_srun {
    enum sim_srun_state state;
    unsigned client, number;
    long node;             /* the node of its batch script; -1: the srun runs elsewhere */
    struct sim_key key;    /* the step's job, which may be another component of the set */
    struct sim_key script; /* the attempt that runs the srun */
    uint32_t step_id;
    uint64_t call;
    unsigned left; /* nodes on which the step is still running */
    bool owns_job; /* the end of the srun ends the job */
};

struct sim_start { /* ledger entry: the payload of an attempt was started on a node */
    struct sim_key key;
    unsigned node;
    UT_hash_handle hh;
};

struct sim {
    const struct sim_plan *plan;
    struct sim_options options;
    struct sim_result *result;
    int64_t now_ms, wall_offset_ms, latest_wall_ms;
    /* When the last fault ended, and when a controller led after that. */
    int64_t mended_at_ms, healed_at_ms;
    uint64_t next_event;
    VEC(struct sim_slot) queue; /* binary heap */
    VEC(struct sim_event *) spare;

    /* the controllers */
    struct sim_ctl ctls[SIM_CTLS];
    unsigned count;       /* number of controllers */
    struct sim_ctl *c;    /* the current controller; otherwise the leader */
    struct sim_ctl *lead; /* the controller that took the lead last */
    struct env env;
    /* Notifies the controller that a caller has hung up. */
    void (*call_gone)(struct sim *s, uint64_t number);
    struct rng rng; /* for the controller and its store */
    uint64_t taken; /* number of times the lead was taken, by the store's row */
    /* Of the last commit: its epoch, and the life of its controller. */
    uint64_t epoch_put, epoch_life;
    uint64_t commits; /* with several controllers: number of commits, including empty ones */
    int64_t committed_ms;
    int64_t timeout_ms;    /* SlurmctldTimeout */
    uint64_t lives;        /* number of leads that have begun or ended */
    uint64_t counted_life; /* the last lead that has committed */
    unsigned file;         /* version of slurm.conf on disk */
    unsigned listings;
    bool shares_change;   /* another file or a request changes OverSubscribe of a partition */
    struct {              /* gang scheduling */
        bool is_on;       /* jobs that share cores take turns */
        int64_t apart_in; /* files in which jobs of different partitions do not share (bits) */
        bool counts_cpus; /* CR_CPU: any CPUs of the node will do in a job's turn */
        int64_t slice_ms; /* time slice; 0: 30 s */
    } gang;
    bool whole_nodes;    /* select/linear */
    bool whole_sockets;  /* CR_Socket */
    uint32_t share_most; /* maximum number of jobs on a core; 0: cores are not shared */
    VEC(struct sim_load *) loads;
    int64_t slow_disk_until_ms, slow_disk_ms;
    int64_t net_until_ms, net_late_ms, net_lost_percent; /* between commands and controllers */
    int64_t over_ms;              /* grace time after a job's time limit; INT64_MAX: unlimited */
    struct sim_stored *store;     /* uthash, in the order of the first write */
    const struct sim_item *crash; /* the crash that happens at the next crash_point; NULL: none */
    int64_t crash_point;
    bool crash_again; /* the crash is the second of two */
    struct sim_announced announced;
    uint64_t epoch;

    VEC(struct sim_node) nodes;
    VEC(struct sim_client) clients;
    VEC(struct sim_srun) sruns;
    VEC(struct sim_call) calls;
    VEC(const struct sim_item *) acts; /* items 'do' and 'fault', by index */
    VEC(struct sim_node_view) node_views;
    struct sim_watch *watches;
    VEC(struct sim_stored_resv) resvs;  /* by their records */
    VEC(struct sim_count) counts;       /* by their records */
    VEC(uint32_t) allocated, displaced; /* jobs started, and jobs preempted, in this turn */
    VEC(uint32_t) relicensed;           /* running jobs whose licences were changed in this turn */
    VEC(uint32_t) sets_put;             /* components whose records were written in this turn */
    struct sim_start *ledger;
    struct sim_attempt *ends; /* what was reported about each attempt */
    struct sim_element *elements;
    struct sim_facts facts;
    struct sim_hook *hooks;
    struct sim_burst *bursts;
    uint64_t hook_runs;
    bool no_prolog, no_epilog; /* some configuration that was active had none */
    uint32_t next_id;          /* as last written to the store's own record */
    bool quiet;                /* faults are over */
    bool disk_loses;           /* the disk loses all further commits */
    unsigned settled;          /* number of SIM_SETTLE events so far */
    bool shrunk; /* nodes or partitions may have fewer resources than when jobs were accepted */
    struct err broken; /* the first broken promise */
};
