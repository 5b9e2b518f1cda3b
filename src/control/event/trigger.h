/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Event triggers (strigger), internal to this subdirectory.
 *
 * An event marks the triggers that wait for it (a hit), in the turn and the commit of its cause. A
 * trigger with a hit is due, now or after its offset; then its program is run with everything that
 * happened up to then, and the record notes this until the program's end was seen. So each event is
 * delivered at least once despite crashes, and twice only if a crash occurs before the end of the
 * program is on disk (docs/adr/0024-triggers-are-stored-with-their-cause.md).
 *
 * A trigger that is not permanent is spent when its program is requested. Its record stays until
 * the program has ended, and at least for TRIGGER_EVERY_MS: events meanwhile go to an equal trigger
 * that the program, or a user, sets in its place.
 */
#pragma once

#include "base/bitset.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "cluster/index/idmap.h"
#include "cluster/trigger.h"
#include "proto/ctl.pb-c.h"
#include "proto/script.pb-c.h"

struct caller;
struct cluster;
struct control;
struct job;
struct node;

#define TRIGGER_MAX 1000        /* of all users */
#define TRIGGER_RESERVED 100    /* of these, for root and SlurmUser */
#define TRIGGER_MAX_OF_USER 100 /* of a user who is not an administrator */
#define TRIGGER_RUNS 32         /* programs at a time; of a user who is not an administrator: */
#define TRIGGER_RUNS_OF_USER 4
#define TRIGGER_EVERY_MS 15000 /* minimum time between two firings */
#define TRIGGER_LIMIT_SEC 300  /* time limit of a program */
/* Bytes of host names per firing; the rest is delivered by the next one. */
#define TRIGGER_ARGUMENT_MAX 65536

struct trigger {
    uint32_t id, uid, gid;
    /* job_id 0: no job; task: one element of the job array job_id; ARRAY_NO_TASK: the whole job. */
    uint32_t job_id, task;
    bool leader_only;      /* only component 0 of a job set; false: the whole job */
    uint32_t types, flags; /* TRIGGER_* */
    int64_t offset_sec;
    char *nodes, *program; /* nodes NULL: any */
    struct bitset *of;     /* the configured ones of 'nodes'; NULL: any */
    uint32_t hits;         /* types of undelivered events */
    struct hostlist *hit;  /* the nodes of these events */
    int64_t due_ms;        /* monotonic; time of delivery; 0: none */
    char *argument;        /* argument of its running program; NULL: it does not run */
    uint32_t run;          /* number of the firing, to match its end */
    int64_t fired_ms;      /* monotonic; 0: never */
    bool spent;            /* it has fired and is not permanent */
    bool cleared;          /* deleted, but its program still runs: in no record */
    bool timed;            /* TRIGGER_TIME has been reached */
    struct bitset *fired;  /* TRIGGER_IDLE: idle nodes for which it has fired */
    uint8_t request_id[16];
    bool changed;     /* the stored record is out of date */
    struct str newer; /* stored fields that only a newer version knows */
};

/* The last observed states of nodes, maintained while a trigger waits for them. */
struct trigger_seen {
    const struct cluster *of; /* NULL: nodes are not observed */
    uint8_t *flags;
    bool *quiet;      /* no job uses the node */
    int64_t *idle_ms; /* monotonic; since when it is idle; -1: it is not */
};

struct trigger_lead { /* the present and the previous leader */
    uint32_t rank, last;
    bool known, ended;     /* known: there has been a leader; ended: it ended in order */
    bool stopped;          /* this controller ends in order */
    bool primary_failed;   /* and has not led since then */
    uint32_t unresponsive; /* unresponsive backups, one bit per rank */
    int64_t heard_ms[32];
};

struct triggers {
    VEC(struct trigger *) all; /* by rising id */
    struct idmap jobs;         /* number of triggers by job id */
    uint32_t last_id, types;   /* types: union of the types of all triggers */
    int64_t due_ms;            /* of the next trigger */
    bool stale;                /* due_ms must be recomputed */
    struct trigger_seen seen;
    struct trigger_lead lead;
};

/* trigger.c: the set of triggers */
void trigger_done(struct triggers *s);
int trigger_restore(struct control *c, uint64_t number, const void *data, size_t len,
                    struct err *err);
void trigger_save_changed(struct control *c); /* at the end of the turn */
void trigger_drop(struct control *c, struct trigger *t);
/* Keeps the trigger while its program runs. */
void trigger_clear(struct control *c, struct trigger *t);
void trigger_carry(struct control *c, const struct cluster *from); /* when c->cluster is new */
/* Not in the set. */
struct trigger *trigger_new(const struct control *c, const Pb__TriggerRecord *m);
void trigger_free(struct trigger *t);
void trigger_fill(const struct trigger *t, Pb__TriggerRecord *m); /* for listings; borrows */
void trigger_add(struct control *c, struct trigger *t);
int trigger_check_all(const struct control *c, struct err *err);
/* Returns the record of the trigger's job: of the element or component, or the first record of a
 * job or array; NULL: there is none. */
struct job *trigger_find_job(const struct control *c, const struct trigger *t);
/* "123", "123_4" for an element, "123+0" for component 0 only. */
char *trigger_job_text(uint32_t job_id, uint32_t task, bool leader_only);

/* trigger_event.c: the events */
void trigger_start(struct control *c); /* with the records, before anything else */
void trigger_watch(struct control *c); /* starts to observe what a new trigger waits for */
void trigger_node(struct control *c, const struct node *n);    /* its flags may have changed */
void trigger_job_over(struct control *c, const struct job *j); /* finally, without a requeue */
void trigger_job_gone(struct control *c, uint32_t id); /* a job without a record has ended */
void trigger_reconfigured(struct control *c);
void trigger_look(struct control *c); /* each turn: detects nodes that became idle or busy */
void trigger_hit(struct control *c, struct trigger *t, uint32_t type, const char *node);
/* Its job can still end. */
bool trigger_may_happen(const struct control *c, const struct trigger *t);

/* trigger_event.c: delivery */
void trigger_turn(struct control *c);
int64_t trigger_due_ms(const struct control *c); /* INT64_MAX: none */
void trigger_run_again(struct control *c);
void trigger_ended(struct control *c, const Pb__ScriptEnded *m);

/* trigger_event.c: changes of the leading controller */
void trigger_lead_start(struct control *c);
void trigger_lead_restore(struct control *c, const Pb__StoreMeta *m);
void trigger_lead_fill(const struct control *c, Pb__StoreMeta *m);
int64_t trigger_lead_due_ms(const struct control *c);
void trigger_lead_tick(struct control *c);
void trigger_lead_await(struct control *c); /* starts to measure the unresponsiveness of backups */
