/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contents of records, as view.c reads them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "sim/plan/plan.h"

struct sim_key { /* identifies an attempt */
    uint32_t job_id, restarts;
};

struct sim_view { /* contents of a job's record */
    bool there, completing, held, admin_held, requeue_after, launched, configuring, epilog_due;
    bool gang_suspended;            /* by gang scheduling, until its next turn */
    bool priority_given, displaced; /* displaced: preempted */
    uint32_t job_id, restarts;
    /* array_id 0: no array; index of the element, or the number of elements of the record. */
    uint32_t array_id, task, tasks;
    int state, exit_status;
    int64_t limit_sec, begin_at, start_at, end_at;
    int64_t ran_ms, suspended_sec;
    uint32_t priority, nice, halts; /* halts: number of suspensions and resumptions */
    int64_t comment;
    uint64_t mem_node_mib;
    int64_t deadline_at;
    uint32_t throttle;
    uint32_t set_id, set_offset, set_count; /* of the job set; count 0: none */
    uint64_t elements;                      /* bit mask of the elements in the record */
    char features[SIM_NAME], prefer[SIM_NAME];
    char part[SIM_NAME], name[SIM_NAME], reason[SIM_NAME], resv[SIM_NAME];
    char asked_parts[SIM_TEXT]; /* "p1,p2" */
    char asked_licenses[SIM_TEXT];
    char licenses[SIM_TEXT * 4]; /* licences that it holds, when the request leaves a choice */
};

struct sim_stored_resv {
    char name[SIM_NAME];
    struct str data; /* the packed ResvRecord */
};

#define SIM_LICENSES "abhop" /* licences, hierarchical ones too, have names of one letter */

#define SIM_GRES 6 /* maximum number of kinds on a node */

struct sim_gres {
    char name[8], type[8];
    uint64_t count, devices; /* devices: bit mask; 0: a count without devices */
    bool parts;              /* shards of one GPU, 'gpu', of the node */
    unsigned gpu;
};

struct sim_share { /* a job's share of a node, by the record */
    unsigned node;
    uint32_t cpus;
    uint64_t mem_mib;
    bool released, parked;
    uint8_t cores[32];
    struct sim_gres gres[SIM_GRES];
    unsigned n_gres;
};

/* Bit masks of array elements that have ever started, succeeded, and failed. */
struct sim_elements {
    uint64_t begun, well, badly;
};

struct sim_watch { /* what the checks remember about a job */
    uint32_t job_id;
    unsigned client;
    unsigned listed; /* the last listing that had the job */
    struct sim_view view;
    VEC(struct sim_share) shares;
    VEC(unsigned) given; /* nodes at the start of its attempt */
    /* When the nodes were allocated; the run time starts later if there is a prolog. */
    int64_t given_at_ms;
    struct sim_key ran;                       /* the attempt that is timed, from ran_from_ms on */
    int64_t ran_from_ms, put_at_ms, first_ms; /* first_ms: when the job was first recorded */
    /* Start of the wait for its gang turn, with turn_others competitors; 0: not waiting. */
    int64_t turn_from_ms;
    int64_t turn_others;
    /* Start of the wait for its gang turn, for any competitors; 0: not waiting. */
    int64_t wait_from_ms;
    uint64_t fair_among; /* hash of the attempts that all compete with each other; 0: other cases */
    /* Start of that competition, and the run time at that moment. */
    int64_t fair_from_ms, fair_ran_ms;
    int64_t stood_from_ms; /* suspended since; 0: not suspended */
    int64_t stood_ms;      /* of its attempt: suspended time before stood_from_ms */
    int64_t stop_ran_ms;   /* run time at the last suspension */
    uint32_t halts;        /* by its last record */
    unsigned ran_boot;     /* boot of the machine whose clock timed the start */
    int64_t ran_offset_ms; /* offset of the wall clock at the start */
    bool ran_restamped; /* a restart has converted the start with a wall clock that had been set */
    bool untimed; /* the start is unknown: the machine rebooted and the wall clock had been set */
    bool ran_configuring; /* the attempt is still configuring, its run time has not started */
    bool begun, done_well, done_badly; /* at any time, including earlier attempts */
    struct sim_elements elements;      /* the same for the elements of its array record */
    uint32_t array_id, task;           /* copied from the view, which is lost with the record */
    char raised[sizeof SIM_LICENSES];  /* licences whose count was raised for the running job */
    uint32_t set_id;                   /* copied from the view; 0: no set */
    bool stored, purged; /* stored: on disk at a restart; purged: removed after its end */
    UT_hash_handle hh;
};

struct sim_attempt { /* reports about an attempt */
    struct sim_key key;
    VEC(int) statuses; /* of its script, or of the job's srun or owner */
    bool script_ended, step_ended, owner_ended, not_launched;
    UT_hash_handle hh;
};

struct sim_node_view {
    bool drain, fail, down;
    uint32_t weight;
    char features[SIM_NAME], comment[SIM_NAME];
};

struct sim_element {    /* an array element, and the job id that it was started as */
    struct sim_key key; /* the array's id and the element's index */
    uint32_t job_id;
    UT_hash_handle hh;
};

struct sim_facts { /* properties of the whole plan */
    bool known, features_change, clock_set;
    unsigned leaf_nodes; /* of each leaf switch; 0: no network */
};
