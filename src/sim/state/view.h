/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What records say, as view.c reads them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "sim/plan/plan.h"

struct sim_key { /* an attempt */
    uint32_t job_id, restarts;
};

struct sim_view { /* what a job's record says */
    bool there, completing, held, admin_held, requeue_after, launched, configuring, epilog_due;
    bool gang_suspended;            /* until its turn */
    bool priority_given, displaced; /* told to make room for another job */
    uint32_t job_id, restarts;
    uint32_t array_id, task, tasks; /* 0: of no array; its element, or of how many it is */
    int state, exit_status;
    int64_t limit_sec, begin_at, start_at, end_at;
    int64_t ran_ms, suspended_sec;
    uint32_t priority, nice, halts; /* halts: how often it was suspended and resumed */
    int64_t comment;
    uint64_t mem_node_mib;
    int64_t deadline_at;
    uint32_t throttle;
    uint32_t set_id, set_offset, set_count; /* of a job set; count 0: it is none */
    uint64_t elements;                      /* bits: those that its record has */
    char features[SIM_NAME], prefer[SIM_NAME];
    char part[SIM_NAME], name[SIM_NAME], reason[SIM_NAME], resv[SIM_NAME];
    char asked_parts[SIM_TEXT]; /* "p1,p2" */
    char asked_licenses[SIM_TEXT];
    char licenses[SIM_TEXT * 4]; /* that it holds, where its request does not say */
};

struct sim_stored_resv {
    char name[SIM_NAME];
    struct str data; /* the packed ResvRecord */
};

#define SIM_LICENSES "abhop" /* licences, tied to nodes or not: names of one letter */

#define SIM_GRES 6 /* kinds on a node */

struct sim_gres {
    char name[8], type[8];
    uint64_t count, devices; /* devices: bits; none: they are only counted */
    bool parts;              /* of this one of the node's GPUs */
    unsigned gpu;
};

struct sim_share { /* a node's part of an allocation, by the record */
    unsigned node;
    uint32_t cpus;
    uint64_t mem_mib;
    bool released, parked;
    uint8_t cores[32];
    struct sim_gres gres[SIM_GRES];
    unsigned n_gres;
};

/* Bits, one for each element of an array: those that have begun, ended well, and badly, ever. */
struct sim_elements {
    uint64_t begun, well, badly;
};

struct sim_watch { /* of a job's records */
    uint32_t job_id;
    unsigned client;
    unsigned listed; /* the last listing it was in */
    struct sim_view view;
    VEC(struct sim_share) shares;
    VEC(unsigned) given;                      /* the nodes that its attempt began with, */
    int64_t given_at_ms;                      /* and when: before its time, with a prolog */
    struct sim_key ran;                       /* the attempt that is timed, and when it began */
    int64_t ran_from_ms, put_at_ms, first_ms; /* first_ms: it was there first */
    int64_t turn_from_ms; /* it waits for its turn since, with so many others; 0: it does not */
    int64_t turn_others;
    int64_t wait_from_ms; /* it waits for its turn since, whoever competes; 0: it does not */
    uint64_t fair_among;  /* who competes with it, all with each other; 0: others do as well */
    int64_t fair_from_ms, fair_ran_ms; /* since when, and what it had run then */
    int64_t stood_from_ms;             /* it is suspended since; 0: it is not */
    int64_t stood_ms;                  /* of its attempt: before that, in all */
    int64_t stop_ran_ms;               /* what it had run when it was suspended last */
    uint32_t halts;                    /* by its last record */
    unsigned ran_boot;                 /* of the machine by whose clock that is, */
    int64_t ran_offset_ms;             /* and its wall clock when it began */
    bool ran_restamped;   /* a restart has noted that beginning by a wall clock that was set */
    bool untimed;         /* which was set, and there was nothing else across a boot */
    bool ran_configuring; /* its time has not begun yet */
    bool begun, done_well, done_badly; /* ever, whatever came of it then */
    struct sim_elements elements;      /* the same of those of an array that it has had */
    uint32_t array_id, task;           /* as in the view, which is lost with the record */
    char raised[sizeof SIM_LICENSES];  /* those that it was given more of */
    uint32_t set_id;                   /* the same; 0: it is in no set */
    bool stored, purged; /* it was on disk at a restart; it was forgotten long after its end */
    UT_hash_handle hh;
};

struct sim_attempt { /* of an attempt, as it was reported */
    struct sim_key key;
    VEC(int) statuses; /* of its script, or of its job's srun or owner */
    bool script_ended, step_ended, owner_ended, not_launched;
    UT_hash_handle hh;
};

struct sim_node_view {
    bool drain, fail, down;
    uint32_t weight;
    char features[SIM_NAME], comment[SIM_NAME];
};

struct sim_element {    /* of an array: as which job it was started */
    struct sim_key key; /* the array's id and the element */
    uint32_t job_id;
    UT_hash_handle hh;
};

struct sim_facts { /* of the plan as a whole */
    bool known, features_change, clock_set;
    unsigned leaf_nodes; /* of each leaf switch; 0: there is no network */
};
