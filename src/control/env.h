/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of the controller machine. control/ opens no file or socket, reads no clock and
 * makes no random numbers; it uses these functions instead. slurmctld implements them with the real
 * world, slurmsim with a virtual one (DESIGN rule 2).
 *
 * Outputs (put, del, reply, send, ack) belong to the current turn: the owner makes the turn's
 * record changes durable before it sends any message of this or a later turn. Messages are packed
 * or copied before the call returns.
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

#define CONTROL_PART_KEY_SIZE 33 /* 32 hexadecimal digits and a NUL */

/*
 * The format of the records, in StoreMeta. A version reads its own and all earlier formats, and
 * rejects later ones; it writes its own, with its first record. A new field needs no new format if
 * older versions may preserve it unread, which they do. Everything else needs a new format: a field
 * that an older version must not ignore, a field within Presence or NodeAlloc, a changed meaning, a
 * new kind of record or state of a job.
 */
#define RECORD_FORMAT 8

enum record_kind {                     /* stored; numbers never change */
                   RECORD_META = 1,    /* number 0: StoreMeta */
                   RECORD_JOB = 2,     /* number job id: JobRecord */
                   RECORD_PAYLOAD = 3, /* number job or array id: JobPayload */
                   RECORD_NODE = 4,    /* name: NodeRecord */
                   RECORD_PART = 5,    /* name: PartChange, runtime changes */
                   RECORD_MADE = 6,    /* number 0: NodesMade, dynamic nodes */
                   /* number job id: Empty; its record was set aside and is no longer needed */
                   RECORD_GIVEN_UP = 7,
                   RECORD_SHUTDOWN = 8,  /* number 0: Announced, while a shutdown is announced */
                   RECORD_ARRAY = 10,    /* number array id: ArrayRecord */
                   RECORD_RESV = 9,      /* name: ResvRecord */
                   RECORD_TRIGGER = 11,  /* number trigger id: TriggerRecord */
                   RECORD_EVENT = 12,    /* number event number: Event, until it is acknowledged */
                   RECORD_CONSUMER = 13, /* name UID/NAME: EventConsumer */
                   RECORD_LICENSE = 14,  /* name NAME(NODES): LicenseCount */
                   RECORD_ATTEMPT = 15,  /* number row number: Event, a row of the archive */
};

struct env_part { /* a partition that the user of a job may use */
    const char *name, *nodes;
    bool is_default, is_up;
    uint32_t priority_tier, priority_job_factor, min_nodes, max_nodes;
    int64_t max_time_sec, default_time_sec; /* INT64_MAX: unlimited; negative: not set */
};

#define ENV_SUBMIT_LATER 1

struct env_submit {                /* a query to the job_submit plugins */
    Pb__JobSpec *spec;             /* the request before defaults are set; plugins may change it */
    const Pb__JobSpec *before;     /* for a change: the job before it; NULL: a submission */
    const Pb__JobPayload *payload; /* NULL: none */
    const struct env_part *parts;
    size_t n_parts;
    uint32_t uid, job_id; /* uid of the caller; job_id 0: not assigned yet */
    struct arena *arena;  /* for data added to spec */
    struct str *message;  /* for the user; plugins may append */
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
    int64_t (*wall_ms)(void *ctx); /* for display and for records */
    int64_t (*mono_ms)(
        void *ctx); /* for durations and deadlines; continues across restarts of the process */
    /* A clock in microseconds that runs while work is done, for statistics only: no decision may
     * depend on it. NULL: run times are 0. */
    int64_t (*work_usec)(void *ctx);
    const struct time_zone *zone; /* for reservations that repeat by days; NULL: UTC */
    /* Requests a call of control_tick() at that time; a later request replaces the time. */
    void (*wake_at)(void *ctx, int64_t mono_ms);

    void (*put)(void *ctx, enum record_kind kind, uint64_t number, const char *name,
                const void *data, size_t len);
    void (*del)(void *ctx, enum record_kind kind, uint64_t number, const char *name);

    void (*reply)(void *ctx, uint64_t call, const ProtobufCMessage *reply);
    void (*reply_error)(void *ctx, uint64_t call, int code, const char *text);

    /* Sends to a node daemon's session; dropped if there is none. A LaunchBatch has no payload: the
     * owner adds the stored RECORD_PAYLOAD of its job (of payload_job_id, if set) when it sends the
     * order. */
    void (*send)(void *ctx, const char *node, const Pb__NodeOrders *orders);
    void (*ack)(void *ctx, const char *node, uint64_t seq);
    void (*welcome)(void *ctx, const char *node, uint64_t epoch);
    /* Closes the node's session at once: queued messages are dropped, and nothing that the node
     * receives through the session may start there afterwards. The node registers again in another
     * session. */
    void (*close)(void *ctx, const char *node);

    void (*sign)(void *ctx, const void *data, size_t len, uint8_t sig[64]);

    /* From caches; these functions never block. Names are borrowed until the next call; NULL:
     * unknown. */
    /* Uses the name service only, regardless of the gid of the user's process. */
    bool (*user_in_group)(void *ctx, uint32_t uid, const char *group);
    const char *(*user_name)(void *ctx, uint32_t uid);
    /* NULL: the log has no user names. */
    const char *(*user_name_if_known)(void *ctx, uint32_t uid);
    const char *(*group_name)(void *ctx, uint32_t gid);

    /* Derives the key of a partition from its name, a number and a secret of the cluster. */
    void (*part_key)(void *ctx, const char *name, uint64_t number, char key[CONTROL_PART_KEY_SIZE]);

    void (*log)(void *ctx, enum log_level level, const char *room, const char *text);
    /* Logs decisions of the scheduler; only after control_set_sched_log(). May be NULL. */
    void (*log_sched)(void *ctx, const char *text);

    /* Returns a number that identifies the boot of the machine: times of mono_ms are comparable
     * within one boot. 0, or a NULL function: unknown. */
    uint64_t (*boot)(void *ctx);

    /* Runs a program of the site on this host. Its end is reported by control_script_ended(),
     * except for mail and completion records; after a restart there is no report, and the program
     * has been ended. stop: ends the program early; the end is reported in the same way. NULL: no
     * program is run, and nothing waits for one. */
    void (*run)(void *ctx, const Pb__ScriptRun *script);
    /* Identified by kind, job_id and restarts. */
    void (*stop)(void *ctx, const Pb__ScriptRun *script);

    /* A job, or one attempt of it, has ended. NULL: no listener. */
    void (*job_ended)(void *ctx, const struct env_job_end *end);

    /* Asks the site's job_submit plugins, within a bounded time. 0: accepted; a negative code, with
     * a reason: rejected. ENV_SUBMIT_LATER: the plugins work in the background; the request is
     * dropped without a reply and submitted again later. asks_submit: whether there are plugins.
     * NULL functions: there are none. */
    bool (*asks_submit)(void *ctx);
    int (*submit)(void *ctx, struct env_submit *ask, struct err *err);

    /* Calls a function of the burst buffer script that decides on a submission, with the results
     * of submit(). The process around control/ assigns the number of the call. NULL: no such
     * function. */
    int (*ask_burst)(void *ctx, Pb__ScriptRun *question, struct err *err);
};
