/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The world as the controller machine sees it. control/ opens no file or socket, reads no clock and
 * makes no random number: it asks this. slurmctld gives it the real world, slurmsim a virtual one
 * (DESIGN rule 2).
 *
 * Output (put, del, reply, send, ack) belongs to the current turn: the owner makes the turn's
 * record changes durable before it lets any of the turn's, or a later turn's, messages out.
 * Messages are packed or copied before the call returns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/script.pb-c.h"
#include "proto/step.pb-c.h"

#define CONTROL_PART_KEY_SIZE 33 /* 32 hexadecimal digits and the end */

/*
 * The format of the records, in StoreMeta. A version reads its own format and all before it, and
 * refuses a later one; it writes its own, with the first record it writes. A new field is no new
 * format when those who do not know it may carry it along unread: they keep it. All else is one: a
 * field that an older version must not overlook, or one within Presence or NodeAlloc, another
 * meaning, a new kind of record or state of a job.
 */
#define RECORD_FORMAT 8

enum record_kind {                       /* stored; numbers are for ever */
                   RECORD_META = 1,      /* number 0: StoreMeta */
                   RECORD_JOB = 2,       /* number job id: JobRecord */
                   RECORD_PAYLOAD = 3,   /* number job id, or that of the array: JobPayload */
                   RECORD_NODE = 4,      /* name: NodeRecord */
                   RECORD_PART = 5,      /* name: PartChange, what was changed live */
                   RECORD_MADE = 6,      /* number 0: NodesMade, the nodes that are in no file */
                   RECORD_GIVEN_UP = 7,  /* number job id: Empty; its record was set aside, and
                                            nothing of it need be kept any more */
                   RECORD_SHUTDOWN = 8,  /* number 0: Announced, while a shutdown is */
                   RECORD_ARRAY = 10,    /* number array's id: ArrayRecord */
                   RECORD_RESV = 9,      /* name: ResvRecord */
                   RECORD_TRIGGER = 11,  /* number trigger's id: TriggerRecord */
                   RECORD_EVENT = 12,    /* number its number: Event, until it is acknowledged */
                   RECORD_CONSUMER = 13, /* name UID/NAME: EventConsumer */
                   RECORD_LICENSE = 14,  /* name NAME(NODES): LicenseCount */
                   RECORD_ATTEMPT = 15,  /* number its number: Event, a row of the archive */
};

struct env_part { /* a partition that the user of a job may use */
    const char *name, *nodes;
    bool is_default, is_up;
    uint32_t priority_tier, priority_job_factor, min_nodes, max_nodes;
    int64_t max_time_sec, default_time_sec; /* INT64_MAX: unlimited; negative: none */
};

#define ENV_SUBMIT_LATER 1

struct env_submit {                /* what job_submit plugins are asked */
    Pb__JobSpec *spec;             /* to be changed: what is asked for, before defaults are set */
    const Pb__JobSpec *before;     /* of a change, the job as it is; NULL: it is submitted */
    const Pb__JobPayload *payload; /* NULL: none */
    const struct env_part *parts;
    size_t n_parts;
    uint32_t uid, job_id; /* of the caller; 0: it has none yet */
    struct arena *arena;  /* for what is put into spec */
    struct str *message;  /* for the user; may be added to */
};

struct env_job_end { /* for the job completion store; borrowed */
    uint32_t job_id, uid, gid, cpus;
    const char *state, *tres;
    const Pb__JobFacts *facts; /* its names, nodes and array */
    int64_t limit_sec;         /* INT64_MAX: unlimited */
    int64_t submit_at, eligible_at, start_at, end_at;
    int exit_status, derived_status; /* wait status; exit code */
};

struct time_zone;

struct env {
    void *ctx;
    int64_t (*wall_ms)(void *ctx); /* for people and for records */
    int64_t (*mono_ms)(
        void *ctx); /* for durations and deadlines; runs on while the process is restarted */
    /* Microseconds of a clock that runs while work is done: for statistics alone, nothing may
     * depend on the value. NULL: run times count 0. */
    int64_t (*work_usec)(void *ctx);
    const struct time_zone *zone; /* by which reservations repeat on days; NULL: UTC */
    void (*wake_at)(void *ctx,
                    int64_t mono_ms); /* call control_tick() then; a later call moves it */

    void (*put)(void *ctx, enum record_kind kind, uint64_t number, const char *name,
                const void *data, size_t len);
    void (*del)(void *ctx, enum record_kind kind, uint64_t number, const char *name);

    void (*reply)(void *ctx, uint64_t call, const ProtobufCMessage *reply);
    void (*reply_error)(void *ctx, uint64_t call, int code, const char *text);

    /* To a node daemon's session; dropped when there is none. A LaunchBatch comes without payload:
     * the owner adds the stored RECORD_PAYLOAD of its job (payload_job_id, where that is given)
     * when it sends it. */
    void (*send)(void *ctx, const char *node, const Pb__NodeOrders *orders);
    void (*ack)(void *ctx, const char *node, uint64_t seq);
    void (*welcome)(void *ctx, const char *node, uint64_t epoch);
    /* Ends the node's session, at once: what waits to be sent to it never is, and nothing that is
     * under way in it may begin on the node any more. It registers again in another session. */
    void (*close)(void *ctx, const char *node);

    void (*sign)(void *ctx, const void *data, size_t len, uint8_t sig[64]);

    /* From caches; never blocks. Names: borrowed until the next call; NULL: unknown. */
    /* By the name service alone, whatever gid the user's process has. */
    bool (*user_in_group)(void *ctx, uint32_t uid, const char *group);
    const char *(*user_name)(void *ctx, uint32_t uid);
    /* May be NULL: no names in the log. */
    const char *(*user_name_if_known)(void *ctx, uint32_t uid);
    const char *(*group_name)(void *ctx, uint32_t gid);

    /* The key of a partition, out of its name, a number and a secret of the cluster. */
    void (*part_key)(void *ctx, const char *name, uint64_t number, char key[CONTROL_PART_KEY_SIZE]);

    void (*log)(void *ctx, enum log_level level, const char *room, const char *text);
    /* What the scheduler decides; only after control_set_sched_log(). May be NULL: never. */
    void (*log_sched)(void *ctx, const char *text);

    /* A number of the machine's boot: times of mono_ms can be compared within one. 0, or the
     * function NULL: not known. */
    uint64_t (*boot)(void *ctx);

    /* A program of the site's on this host. How it ended comes back as control_script_ended(), but
     * for mail and completion records; after a restart nothing comes, and what ran has been ended.
     * stop: it ends early, and that is told the same way. NULL: nothing is run, nothing waits. */
    void (*run)(void *ctx, const Pb__ScriptRun *script);
    void (*stop)(void *ctx, const Pb__ScriptRun *script); /* kind, job_id, restarts say which */

    /* A job, or one attempt of it, has ended. The function NULL: nobody wants to know. */
    void (*job_ended)(void *ctx, const struct env_job_end *end);

    /* The site's job_submit plugins, within a bounded time. 0; or minus a code, and why: refused.
     * ENV_SUBMIT_LATER: they have been asked; the request is given up without an answer, and comes
     * again. asks_submit: whether there are any. The functions NULL: there are none. */
    bool (*asks_submit)(void *ctx);
    int (*submit)(void *ctx, struct env_submit *ask, struct err *err);

    /* A function that decides on a submission, in the same way; its number is given by the process
     * around control/. The function NULL: nobody decides. */
    int (*ask_burst)(void *ctx, Pb__ScriptRun *question, struct err *err);
};
