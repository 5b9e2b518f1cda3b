/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plan: everything that is fixed before a run. It has one item each for the cluster's
 * configuration lines, nodes, partitions, jobs, actions and faults. A plan can be drawn from a
 * seed, written as text (one line per item), read back, and shrunk. A run is a function of its plan
 * and its seed.
 *
 * An item refers to another one (the job to cancel, the node to reboot) by number. If that item is
 * missing, the action has no effect. So every subset of a plan is a plan.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sim/plan/rng.h"

#define SIM_NAME 24
#define SIM_TEXT 80
/* Versions of slurm.conf; bit i of an item's 'files': the item is in version i. */
#define SIM_FILES 4
#define SIM_NODES 100000
#define SIM_CTLS 3 /* maximum number of controllers */
#define SIM_ALL_FILES ((1 << SIM_FILES) - 1)

enum sim_item_kind {
    SIM_ITEM_RUN,   /* options of the run as a whole */
    SIM_ITEM_CTL,   /* the number of controllers */
    SIM_ITEM_CONF,  /* a line of slurm.conf */
    SIM_ITEM_NODE,  /* a range of equal nodes */
    SIM_ITEM_PART,  /* a partition */
    SIM_ITEM_JOB,   /* a job and its owner */
    SIM_ITEM_DO,    /* an action by a command */
    SIM_ITEM_FAULT, /* a fault */
    SIM_ITEM_KINDS
};

enum sim_job_kind { SIM_JOB_BATCH, SIM_JOB_ALLOC, SIM_JOB_SRUN };

enum sim_do {
    SIM_DO_CANCEL,
    SIM_DO_SIGNAL,
    SIM_DO_CANCEL_STEP,
    SIM_DO_CANCEL_USER, /* all jobs of a job's owner */
    SIM_DO_SUSPEND,
    SIM_DO_CONTINUE, /* resumes a suspended job */
    SIM_DO_HOLD,
    SIM_DO_USER_HOLD,
    SIM_DO_RELEASE,
    SIM_DO_REQUEUE,
    SIM_DO_REQUEUE_HOLD,
    SIM_DO_LIMIT,
    SIM_DO_NICE,
    SIM_DO_COMMENT,
    SIM_DO_PRIORITY,
    SIM_DO_BEGIN,
    SIM_DO_MEMORY,
    SIM_DO_CONSTRAINT,
    SIM_DO_MOVE,
    SIM_DO_LICENSES, /* an operator may also change a running job */
    SIM_DO_SHRINK,   /* to 'value' nodes */
    SIM_DO_DRAIN,
    SIM_DO_RESUME,
    SIM_DO_UNDRAIN,
    SIM_DO_DOWN,
    SIM_DO_IDLE,
    SIM_DO_FUTURE,
    SIM_DO_NODE_WEIGHT,
    SIM_DO_NODE_FEATURES,
    SIM_DO_NODE_COMMENT,
    SIM_DO_FAIL,
    SIM_DO_NODE_CREATE,
    SIM_DO_NODE_DELETE,
    SIM_DO_PART_STATE,
    SIM_DO_PART_TIME,
    SIM_DO_PART_NODES,
    SIM_DO_PART_CPUS,
    SIM_DO_PART_SHARE,
    SIM_DO_PART_CREATE,
    SIM_DO_PART_REMOVE,
    SIM_DO_PART_PREEMPT, /* PreemptMode of the partition */
    SIM_DO_PART_SOCKET,  /* MaxCPUsPerSocket of the partition */
    SIM_DO_RESV_CREATE,  /* 'job': node count; 0: the named nodes. 'for' 0: no end */
    SIM_DO_RESV_CHANGE,  /* its user, its end, and its licences */
    SIM_DO_RESV_DELETE,
    SIM_DO_COUNT,    /* of the 'nodes' of resource 'text': 'value', or enum sim_count_value */
    SIM_DO_ANNOUNCE, /* a shutdown in 'value' seconds */
    SIM_DO_CALL_OFF,
    SIM_DO_RECONFIGURE,
    SIM_DO_PREVIEW, /* of a reconfiguration; changes nothing */
    SIM_DO_EDIT,
    SIM_DO_LAST = SIM_DO_EDIT
};

enum sim_count_value { SIM_COUNT_UNLIMITED = -1, SIM_COUNT_FILE = -2 };

enum sim_fault {
    SIM_FAULT_CRASH,  /* the controller is killed at a point */
    SIM_FAULT_BREAK,  /* a node's session breaks; messages under way are lost */
    SIM_FAULT_KILL,   /* a node's daemon is killed; its jobs continue */
    SIM_FAULT_REBOOT, /* a node reboots */
    SIM_FAULT_STOP,   /* a node's daemon is stopped for a while, as by SIGSTOP */
    SIM_FAULT_SLOW,   /* a node's messages are slow for a while */
    SIM_FAULT_REPEAT, /* a node's orders arrive twice for a while */
    SIM_FAULT_LIE,    /* a node registers with too few or too many resources for a while */
    SIM_FAULT_CLIENT, /* the connection of a job's owner breaks, or the owner dies */
    SIM_FAULT_CLOCK,  /* the wall clock of all machines is stepped */
    SIM_FAULT_DISK,   /* syncs are slow for a while */
    SIM_FAULT_NET,    /* requests and replies of commands are lost or late for a while */
    SIM_FAULT_SKEW,   /* a node's clock is wrong for a while */
    SIM_FAULT_PAUSE,  /* a controller is stopped for a while, as by SIGSTOP */
    SIM_FAULT_CUT,    /* a controller is disconnected for a while from 'keep', enum sim_cut */
    SIM_FAULT_DOWN,   /* a controller is killed at any point */
    SIM_FAULT_ORDER,  /* a controller is ordered to take the lead */
    /* Never drawn, since the promises do not hold under these faults. They show that breaches are
     * found. */
    SIM_FAULT_LOSE,   /* the disk reports a sync that did not happen */
    SIM_FAULT_FORGET, /* a node's daemon forgets what it has started */
    SIM_FAULT_LAST = SIM_FAULT_FORGET
};

enum sim_cut {
    SIM_CUT_STORE = 1,
    SIM_CUT_NODES = 2,
    SIM_CUT_PEERS = 4,
    SIM_CUT_COMMANDS = 8,
    SIM_CUT_ALL = 15
};

enum sim_point {                   /* where the controller is killed */
                 SIM_POINT_INPUT,  /* after reading an input, before the turn */
                 SIM_POINT_TURN,   /* after a turn, before its commit */
                 SIM_POINT_LOST,   /* in a commit that did not reach the disk */
                 SIM_POINT_KEPT,   /* in a commit that reached the disk */
                 SIM_POINT_SENDING /* after a commit, with a part of its messages sent */
};

struct sim_item {
    enum sim_item_kind kind;
    int64_t id;    /* job: its number; node: number of the first node; do: number of the job */
    int64_t at_ms; /* when the item takes effect */
    int64_t what;  /* enum sim_job_kind, sim_do, sim_fault */
    int64_t files;
    char name[SIM_NAME]; /* partition */
    char text[SIM_TEXT]; /* configuration with ';' for blanks, or a value */
    char nodes[SIM_TEXT];

    /* ctl */
    int64_t timeout_ms; /* SlurmctldTimeout */
    /* node; ctl uses 'count' too */
    int64_t count, sockets, cores, threads, mem_mib, weight, dynamic;
    /* job */
    int64_t uid, tasks, min_nodes, max_nodes, cpus_per_task, mem_cpu_mib, mem_node_mib, limit_sec,
        begin_sec, nice, run_ms, exit_code, steps, step_ms, step_tasks, dies_ms, again_ms;
    int64_t exclusive, shares, contiguous, held, requeue, no_kill, immediate, waits, overlap,
        stubborn, launch_fails, prolog_fails, epilog_fails;
    int64_t node_tasks, socket_tasks, core_tasks, threads_wanted, sockets_wanted, cores_wanted,
        core_spec, min_cpus, user_alone, topo_alone, deadline_sec, switches, switch_wait_sec;
    char gres[SIM_NAME]; /* job: per node; node: its generic resources */
    char gpus[SIM_NAME], task_gres[SIM_NAME], prefer[SIM_NAME];
    /* Number of the leader of the job's set; 0: the job leads or is in no set. */
    int64_t component_of;
    /* Number of elements, and of elements running at a time; 0: no array, no limit. */
    int64_t array, throttle;
    int64_t after;           /* number of the job that this job depends on; 0: none */
    char depend[SIM_NAME];   /* dependency type: "afterok" */
    char licenses[SIM_TEXT]; /* do: the licences of a reservation */
    char resv[SIM_NAME];
    char burst[SIM_NAME]; /* "any", or from the "pool"; empty: no burst buffer */
    char features[SIM_NAME], required[SIM_NAME], excluded[SIM_NAME], signal[SIM_NAME];
    /* do, fault */
    int64_t node, value, for_ms, point, keep, then, root, cpus, boot;
};

struct sim_plan {
    uint64_t seed; /* for chance in the run: delays of messages and syncs */
    int64_t share; /* work limit of a planner pass in one turn, in node checks; 0: none */
    VEC(struct sim_item) items;
};

void sim_plan_item(struct sim_item *item, enum sim_item_kind kind); /* sets defaults */
void sim_plan_done(struct sim_plan *p);

bool sim_plan_items_equal(const struct sim_item *a, const struct sim_item *b);

/* One line per item. */
void sim_plan_format(const struct sim_plan *p, struct str *out);
int sim_plan_parse(struct sim_plan *p, const char *text, struct err *err);

/* The text of one version of slurm.conf. */
void sim_plan_conf(const struct sim_plan *p, unsigned file, struct str *out);

/* Everything in the node's configuration line except the name. */
void sim_plan_keys(const struct sim_item *node, struct str *out);

/* Iterates over the numeric fields of an item that differ from their defaults: *at starts at 0.
 * NULL: no further field. */
int64_t *sim_plan_number(struct sim_item *item, size_t *at, int64_t *fallback);

/* draw.c */
struct sim_size {
    unsigned nodes, cpus, jobs, fault_per_mille;
};
void sim_plan_draw(struct sim_plan *p, uint64_t seed);
/* The same plan, with some jobs combined into job sets. */
void sim_plan_draw_sets(struct sim_plan *p, uint64_t seed);
/* A different plan, whose nodes are in toruses. */
void sim_plan_draw_toruses(struct sim_plan *p, uint64_t seed);
/* Equal nodes, one partition, simple jobs: for large worlds and for benchmarks. */
void sim_plan_draw_simple(struct sim_plan *p, uint64_t seed, const struct sim_size *size);
