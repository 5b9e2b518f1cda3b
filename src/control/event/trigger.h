/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Event triggers (strigger), for the files of this room.
 *
 * An event marks the triggers that wait for it (a hit), in the turn and the commit of what caused
 * it. A trigger with a hit is due, now or after its offset; then its program is asked for with what
 * happened up to then, and the record says so until the program was seen to end. So each is told at
 * least once whatever crashes, and twice only if a crash comes before the end of the program is on
 * disk (docs/adr/0024-triggers-are-marked-with-what-caused-them.md).
 *
 * One that is not permanent is spent when its program is asked for. Its record stays until the
 * program has ended, and at least for TRIGGER_EVERY_MS: what happens meanwhile goes to the one
 * alike that its program, or somebody, sets in its place.
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
#define TRIGGER_MAX_OF_USER 100 /* of one who is no administrator */
#define TRIGGER_RUNS 32         /* programs at a time; of a user who is no administrator: */
#define TRIGGER_RUNS_OF_USER 4
#define TRIGGER_EVERY_MS 15000     /* from one firing to the next */
#define TRIGGER_LIMIT_SEC 300      /* for a program */
#define TRIGGER_ARGUMENT_MAX 65536 /* bytes of host names in one firing; the rest is told next */

struct trigger {
    uint32_t id, uid, gid;
    uint32_t job_id, task; /* job_id 0: of none; task: of the job array job_id this element;
                              ARRAY_NO_TASK: it is about all of the job */
    bool leader_only;      /* component 0 of a job set alone; false: the whole job */
    uint32_t types, flags; /* TRIGGER_* */
    int64_t offset_sec;
    char *nodes, *program; /* nodes NULL: any */
    struct bitset *of;     /* of these, those that are configured; NULL: any */
    uint32_t hits;         /* types that have happened, and nobody was told of; */
    struct hostlist *hit;  /* the nodes they happened to */
    int64_t due_ms;        /* mono; when it is told; 0: not */
    char *argument;        /* its program is being told this; NULL: it does not run */
    uint32_t run;          /* of which firing, to know its end */
    int64_t fired_ms;      /* mono; 0: never */
    bool spent;            /* it has fired, and is not permanent */
    bool cleared;          /* it is no more, but for its program, which runs: in no record */
    bool timed;            /* TRIGGER_TIME has come */
    struct bitset *told;   /* TRIGGER_IDLE: nodes it has fired for, as they are idle now */
    uint8_t request_id[16];
    bool changed;     /* what is stored is another */
    struct str newer; /* of its record, what only a newer version knows */
};

/* What was seen of the nodes when they were last looked at, while anything waits for that. */
struct trigger_seen {
    const struct cluster *of; /* NULL: nothing is watched */
    uint8_t *flags;
    bool *quiet;      /* no job has anything of it */
    int64_t *idle_ms; /* mono; since when it is idle; -1: it is not */
};

struct trigger_lead { /* who leads, and led last */
    uint32_t rank, last;
    bool known, ended;   /* somebody has led before; that one ended in order */
    bool stopped;        /* this one does */
    bool primary_failed; /* and has not led since */
    uint32_t silent;     /* backups that do not answer, a bit by rank */
    int64_t heard_ms[32];
};

struct triggers {
    VEC(struct trigger *) all; /* by rising id */
    struct idmap jobs;         /* of so many triggers is this job */
    uint32_t last_id, types;   /* types: that any of them waits for */
    int64_t due_ms;            /* the next one; */
    bool stale;                /* is to be found again */
    struct trigger_seen seen;
    struct trigger_lead lead;
};

/* trigger.c: what there are */
void trigger_done(struct triggers *s);
int trigger_restore(struct control *c, uint64_t number, const void *data, size_t len,
                    struct err *err);
void trigger_save_changed(struct control *c); /* at the end of the turn */
void trigger_drop(struct control *c, struct trigger *t);
void trigger_clear(struct control *c, struct trigger *t);          /* its program keeps its place */
void trigger_carry(struct control *c, const struct cluster *from); /* c->cluster is new */
struct trigger *trigger_new(const struct control *c, const Pb__TriggerRecord *m); /* unowned */
void trigger_free(struct trigger *t);
void trigger_fill(const struct trigger *t, Pb__TriggerRecord *m); /* what is shown; borrows */
void trigger_add(struct control *c, struct trigger *t);
int trigger_check_all(const struct control *c, struct err *err);
/* The first record of the job or array, or the record of the element or component, that the trigger
 * is about; NULL: there is none. */
struct job *trigger_find_job(const struct control *c, const struct trigger *t);
/* "123", or "123_4" of an element; of its component 0 alone "123+0". */
char *trigger_job_text(uint32_t job_id, uint32_t task, bool leader_only);

/* trigger_event.c: what happens */
void trigger_start(struct control *c); /* with the records, before anything else goes on */
void trigger_watch(struct control *c); /* another one waits: what it waits for is looked at */
void trigger_node(struct control *c, const struct node *n);    /* its flags may have changed */
void trigger_job_over(struct control *c, const struct job *j); /* for good */
void trigger_job_gone(struct control *c, uint32_t id);         /* one without a record is */
void trigger_reconfigured(struct control *c);
void trigger_look(struct control *c); /* each turn: nodes that are quiet or busy now */
void trigger_hit(struct control *c, struct trigger *t, uint32_t type, const char *node);
bool trigger_may_happen(const struct control *c, const struct trigger *t); /* its job may end */

/* trigger_run.c: what is told */
void trigger_turn(struct control *c);
int64_t trigger_due_ms(const struct control *c); /* INT64_MAX: nothing is */
void trigger_run_again(struct control *c);
void trigger_ended(struct control *c, const Pb__ScriptEnded *m);

/* trigger_lead.c: controllers */
void trigger_lead_start(struct control *c);
void trigger_lead_restore(struct control *c, const Pb__StoreMeta *m);
void trigger_lead_fill(const struct control *c, Pb__StoreMeta *m);
int64_t trigger_lead_due_ms(const struct control *c);
void trigger_lead_tick(struct control *c);
void trigger_lead_await(struct control *c); /* the silence of backups is counted from now */
