/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A controller of a world: its process, its state machine, and its part of the store. */
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

struct sim_end { /* a controller's end of the sessions with a node; 0: none */
    uint64_t session, newest, ended;
    uint64_t registrant; /* session of a node that this controller does not know yet */
};

struct sim_ctl { /* a controller: its process and its state machine */
    unsigned index;
    struct control *control; /* NULL: standby or down */
    uint64_t life;           /* unique number of its lead */
    struct outbox *outbox;
    struct sim_batch *next, *committing;
    size_t waiting, may_leave; /* items of the outbox, and how many of them leave before the kill */
    bool killed;               /* the controller is killed with the next item */
    int64_t wake_at_ms, up_since_ms;
    unsigned conf_changes;
    unsigned file; /* active version of slurm.conf */
    enum {
        SIM_STOP_NOT,
        /* The announced time has come: first the nodes are told, then the controller stops. */
        SIM_STOP_NODES,
        SIM_STOP_SELF,
        SIM_STOP_YIELD
    } stopping;
    const char *list_due; /* listings are compared after this turn; the text names the occasion */
    unsigned boot;        /* unique number of the machine's boot */
    int64_t mono_offset_ms;

    /* with several controllers */
    bool up;                 /* the process exists */
    bool waits;              /* the controller does not claim the lead */
    uint64_t sign;           /* number of the last commit that it has seen in the store */
    struct standby *standby; /* NULL: leading or down */
    uint64_t lead;           /* number of the lead that it took */
    int64_t deposed_ms;      /* when another controller took the lead; INT64_MAX: not deposed */
    bool applied, lost;      /* the running commit is on disk; the store refused it */
    int64_t commit_from_ms, paused_until_ms, cut_until_ms, trouble_until_ms;
    unsigned cut;                          /* enum sim_cut */
    uint64_t ticks, pings, ping[SIM_CTLS]; /* numbers of the pings under way; 0: none */
};

/* The last confirmed change of an announced shutdown, if there was no request since. */
struct sim_announced {
    enum { SIM_ANNOUNCED_UNKNOWN, SIM_ANNOUNCED, SIM_NOT_ANNOUNCED } is;
    /* Requests sent and requests resolved; 'last': act + 1 of the last one, if all earlier ones had
     * been resolved when it was sent. */
    unsigned asked, resolved, last;
    int64_t taken_ms, due_ms;
    bool timed; /* the clock that determines the shutdown was not set */
};
