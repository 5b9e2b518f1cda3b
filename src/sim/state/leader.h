/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A controller of a world: its process, its machine, and what it has to do with the store. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "base/vec.h"
#include "control/control.h"
#include "control/lead/outbox.h"
#include "control/lead/standby.h"
#include "sim/plan/plan.h"

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
};

struct sim_end { /* a controller's, of the sessions with a node; 0: none */
    uint64_t session, newest, ended;
    uint64_t registrant; /* of a node that it does not know yet */
};

struct sim_ctl { /* a controller: its process and its machine */
    unsigned index;
    struct control *control; /* NULL: it does not lead, or is down */
    uint64_t life;           /* of its lead; no other has the same */
    struct outbox *outbox;
    struct sim_batch *next, *committing;
    size_t waiting, may_leave; /* items of the outbox; those that leave before it is killed */
    bool killed;               /* with the next one */
    int64_t wake_at_ms, up_since_ms;
    unsigned conf_changes;
    unsigned file; /* the version of slurm.conf that is in force */
    enum {
        SIM_STOP_NOT,
        SIM_STOP_NODES, /* what was announced has come: nodes are told, then it is over */
        SIM_STOP_SELF,
        SIM_STOP_YIELD
    } stopping;
    const char *list_due; /* after this turn the listings are compared, and when that is */
    unsigned boot;        /* of its machine; no other has the same */
    int64_t mono_offset_ms;

    /* with others */
    bool up;                 /* its process is there */
    bool waits;              /* it does not claim the lead */
    uint64_t sign;           /* the last commit that it has seen in the store */
    struct standby *standby; /* NULL: it leads, or is down */
    uint64_t lead;           /* which it took */
    int64_t deposed_ms;      /* when another one took it; INT64_MAX: none has */
    bool applied, lost;      /* the commit under way is on disk; it is refused */
    int64_t commit_from_ms, paused_until_ms, cut_until_ms, trouble_until_ms;
    unsigned cut;                          /* enum sim_cut */
    uint64_t ticks, pings, ping[SIM_CTLS]; /* the one under way; 0: none */
};

/* What was answered last about announced shutdowns, if nothing was asked since. */
struct sim_announced {
    enum { SIM_ANNOUNCED_UNKNOWN, SIM_ANNOUNCED, SIM_NOT_ANNOUNCED } is;
    unsigned asked, resolved, last; /* the act (+ 1) that was asked when all before were resolved */
    int64_t taken_ms, due_ms;
    bool timed; /* the clock by which it goes was not set */
};
