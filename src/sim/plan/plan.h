/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plan: everything that is laid down before a run. The cluster, the files that configure it, the
 * jobs, what is done to them, and the faults; one item each. It can be drawn from a seed, written
 * as text (a line an item), read back, and shrunk. A run is a function of its plan and its seed.
 *
 * An item that names another (a job that is cancelled, a node that reboots) names it by number; one
 * that is not there makes it an empty act. So any part of a plan is a plan.
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
#define SIM_FILES 4 /* versions of slurm.conf; bit i of an item's 'files': it is in version i */
#define SIM_NODES 100000
#define SIM_CTLS 3 /* controllers, at the most */
#define SIM_ALL_FILES ((1 << SIM_FILES) - 1)

enum sim_item_kind {
    SIM_ITEM_RUN,   /* of the run as a whole */
    SIM_ITEM_CTL,   /* how many controllers there are */
    SIM_ITEM_CONF,  /* a line of slurm.conf */
    SIM_ITEM_NODE,  /* a range of equal nodes */
    SIM_ITEM_PART,  /* a partition */
    SIM_ITEM_JOB,   /* a job and its owner */
    SIM_ITEM_DO,    /* something done by a command */
    SIM_ITEM_FAULT, /* something that breaks */
    SIM_ITEM_KINDS
};

enum sim_job_kind { SIM_JOB_BATCH, SIM_JOB_ALLOC, SIM_JOB_SRUN };

enum sim_do {
    SIM_DO_CANCEL,
    SIM_DO_SIGNAL,
    SIM_DO_CANCEL_STEP,
    SIM_DO_CANCEL_USER, /* everything of a job's owner */
    SIM_DO_SUSPEND,
    SIM_DO_CONTINUE, /* of what is suspended */
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
    SIM_DO_LICENSES, /* also of a job that runs, by an operator */
    SIM_DO_SHRINK,   /* to so many nodes */
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
    SIM_DO_PART_PREEMPT, /* its PreemptMode */
    SIM_DO_PART_SOCKET,  /* MaxCPUsPerSocket */
    SIM_DO_RESV_CREATE,  /* 'job': so many nodes; 0: those named. 'for' 0: until it is deleted */
    SIM_DO_RESV_CHANGE,  /* its user, its end, and the licences that it keeps */
    SIM_DO_RESV_DELETE,
    SIM_DO_COUNT,    /* of the 'nodes' of resource 'text': 'value', or enum sim_count_value */
    SIM_DO_ANNOUNCE, /* a shutdown, in 'value' seconds */
    SIM_DO_CALL_OFF,
    SIM_DO_RECONFIGURE,
    SIM_DO_PREVIEW, /* of a reconfiguration: nothing changes */
    SIM_DO_EDIT,
    SIM_DO_LAST = SIM_DO_EDIT
};

enum sim_count_value { SIM_COUNT_UNLIMITED = -1, SIM_COUNT_FILE = -2 };

enum sim_fault {
    SIM_FAULT_CRASH,  /* of the controller, at a point */
    SIM_FAULT_BREAK,  /* of a node's session: what is under way is lost */
    SIM_FAULT_KILL,   /* of a node's daemon; its jobs go on */
    SIM_FAULT_REBOOT, /* of a node */
    SIM_FAULT_STOP,   /* of a node's daemon for a while, as by SIGSTOP */
    SIM_FAULT_SLOW,   /* a node's messages take long for a while */
    SIM_FAULT_REPEAT, /* a node's orders come twice for a while */
    SIM_FAULT_LIE,    /* a node registers with less than it has, or more, for a while */
    SIM_FAULT_CLIENT, /* the connection of a job's owner breaks, or the owner dies */
    SIM_FAULT_CLOCK,  /* the wall clock of all machines is stepped */
    SIM_FAULT_DISK,   /* syncs take long for a while */
    SIM_FAULT_NET,    /* what commands send and are answered is lost or late for a while */
    SIM_FAULT_SKEW,   /* a node's clock is wrong for a while */
    SIM_FAULT_PAUSE,  /* a controller is stopped for a while, as by SIGSTOP */
    SIM_FAULT_CUT,    /* a controller is cut off for a while, 'keep': from what */
    SIM_FAULT_DOWN,   /* a controller is killed, wherever it is */
    SIM_FAULT_ORDER,  /* it is ordered to take the lead */
    /* Never drawn: no promise holds with these. They show that breaches are found. */
    SIM_FAULT_LOSE,   /* the disk says that it has synced, and has not */
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
                 SIM_POINT_INPUT,  /* after an input was taken, before the turn */
                 SIM_POINT_TURN,   /* after a turn, before its commit */
                 SIM_POINT_LOST,   /* in a commit that did not reach the disk */
                 SIM_POINT_KEPT,   /* in a commit that did */
                 SIM_POINT_SENDING /* after a commit, with some of its messages sent */
};

struct sim_item {
    enum sim_item_kind kind;
    int64_t id;    /* job: its number; node: the first one; do: the job */
    int64_t at_ms; /* when it begins */
    int64_t what;  /* enum sim_job_kind, sim_do, sim_fault */
    int64_t files;
    char name[SIM_NAME]; /* partition */
    char text[SIM_TEXT]; /* configuration with ';' for blanks, or a value */
    char nodes[SIM_TEXT];

    /* ctl */
    int64_t timeout_ms; /* SlurmctldTimeout */
    /* node; count: ctl too */
    int64_t count, sockets, cores, threads, mem_mib, weight, dynamic;
    /* job */
    int64_t uid, tasks, min_nodes, max_nodes, cpus_per_task, mem_cpu_mib, mem_node_mib, limit_sec,
        begin_sec, nice, run_ms, exit_code, steps, step_ms, step_tasks, dies_ms, again_ms;
    int64_t exclusive, shares, contiguous, held, requeue, no_kill, immediate, waits, overlap,
        stubborn, launch_fails, prolog_fails, epilog_fails;
    int64_t node_tasks, socket_tasks, core_tasks, threads_wanted, sockets_wanted, cores_wanted,
        core_spec, min_cpus, user_alone, topo_alone, deadline_sec, switches, switch_wait_sec;
    char gres[SIM_NAME]; /* of each node; of a node, what it has */
    char gpus[SIM_NAME], task_gres[SIM_NAME], prefer[SIM_NAME];
    int64_t component_of;    /* the job that is the leader of its set; 0: it is in none, or leads */
    int64_t array, throttle; /* so many elements, and so many at a time; 0: no array, any number */
    int64_t after;           /* the job that it waits for; 0: none */
    char depend[SIM_NAME];   /* how: "afterok" */
    char licenses[SIM_TEXT]; /* do: those that a reservation keeps */
    char resv[SIM_NAME];
    char burst[SIM_NAME]; /* "any", or of the "pool"; empty: it has no burst buffer */
    char features[SIM_NAME], required[SIM_NAME], excluded[SIM_NAME], signal[SIM_NAME];
    /* do, fault */
    int64_t node, value, for_ms, point, keep, then, root, cpus, boot;
};

struct sim_plan {
    uint64_t seed; /* of the chances of the run: how long messages and syncs take */
    int64_t share; /* of a look at the queue that is done in a turn, in looks at a node; 0: all */
    VEC(struct sim_item) items;
};

void sim_plan_item(struct sim_item *item, enum sim_item_kind kind); /* all at its defaults */
void sim_plan_done(struct sim_plan *p);
void sim_plan_copy(struct sim_plan *to, const struct sim_plan *from); /* 'to' must be empty */

bool sim_plan_items_equal(const struct sim_item *a, const struct sim_item *b);

/* A line an item. */
void sim_plan_format(const struct sim_plan *p, struct str *out);
int sim_plan_parse(struct sim_plan *p, const char *text, struct err *err);

/* The text of slurm.conf in one of its versions. */
void sim_plan_conf(const struct sim_plan *p, unsigned file, struct str *out);

/* What its line says of a node, but its name. */
void sim_plan_keys(const struct sim_item *node, struct str *out);

/* The numeric fields of an item that differ from their defaults, one after the other: *at starts at
 * 0. NULL: no more. */
int64_t *sim_plan_number(struct sim_item *item, size_t *at, int64_t *fallback);

/* draw.c */
struct sim_size {
    unsigned nodes, cpus, jobs, fault_per_mille;
};
void sim_plan_draw(struct sim_plan *p, uint64_t seed);
/* The same, of which some jobs are put together to job sets. */
void sim_plan_draw_sets(struct sim_plan *p, uint64_t seed);
/* Another plan, whose nodes are in toruses. */
void sim_plan_draw_toruses(struct sim_plan *p, uint64_t seed);
/* Equal nodes, one partition, simple jobs: for large worlds and for measuring. */
void sim_plan_draw_simple(struct sim_plan *p, uint64_t seed, const struct sim_size *size);
