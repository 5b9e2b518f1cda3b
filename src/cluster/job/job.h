/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A job: its request, its state, its resources and its steps. Part of the cluster; other rooms may
 * read it, and change it only through the functions declared here and in the headers of this
 * subdirectory.
 */
#pragma once

#include "base/arena.h"
#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/index/order.h"
#include "cluster/job/array.h"
#include "cluster/job/attempt.h"
#include "cluster/job/burst.h"
#include "cluster/job/depend_index.h"
#include "cluster/job/job_partitions.h"
#include "cluster/job/job_restore.h"
#include "cluster/job/notice.h"
#include "cluster/job/reason.h"
#include "cluster/job/request.h"
#include "cluster/job/transition.h"
#include "cluster/node/part.h"
#include "cluster/resource/gres_held.h"
#include "proto/job.pb-c.h"

struct cluster;
struct resv;

#define CLUSTER_TIME_MAX_SEC INT64_C(253402300799) /* the end of the year 9999 */
/* Bounds a time of a request or of a possibly damaged record (wall seconds or a duration), so that
 * sums of a few times do not overflow. */
static inline int64_t cluster_bound_time(int64_t sec)
{
    return sec < 0 ? 0 : sec > CLUSTER_TIME_MAX_SEC ? CLUSTER_TIME_MAX_SEC : sec;
}
/* The same of a time limit; INT64_MAX: unlimited. */
static inline int64_t cluster_bound_limit(int64_t sec)
{
    return sec == INT64_MAX ? sec : cluster_bound_time(sec);
}
#define CLUSTER_NO_LIMIT_SEC                                                                       \
    (INT64_C(365) * 86400) /* the duration that the planner assumes for "unlimited" */

struct job_past { /* the nodes of an ended job, when some of them are no longer configured */
    char *nodes, *batch_host;
    uint32_t num_nodes, num_cpus;
};

struct job_counted { /* the amounts counted for the job in cluster.holdings; jobs 0: none */
    uint32_t jobs, record, payload;
};

struct job_packed { /* a packed message, without spare room: each job has two of them */
    uint8_t *data;
    uint32_t len;
};

struct job {
    uint32_t id, restarts, uid, gid, priority;
    enum _Pb__JobState state; /* only job_state.c writes it */
    bool batch, held, admin_hold, may_requeue, no_kill, special_exit;
    bool trial;                /* --immediate: removed unless the first pass starts it */
    uint16_t mail;             /* JOB_MAIL_*: events that --mail-type asks for */
    bool warn_batch;           /* --signal=B: only the batch script gets the signal */
    bool switches_waived;      /* --switches no longer restricts it: its wait is over */
    bool topology_waived;      /* of a copy that is asked about: any nodes may serve it together */
    bool dirty;                /* in cluster.dirty */
    bool lost_node, lost_host; /* its record names nodes that are not configured; its batch host */
    bool yielded : 1;          /* in cluster.yielded */
    bool resv_asked : 1, resv_gone : 1; /* see resvs; held: its reservation was deleted */
    bool is_unfit : 1;  /* no nodes satisfied it at submission: checked again before it is queued */
    bool in_set : 1;    /* set is not NULL: here, where the planner reads it of every job */
    uint8_t set_offset; /* in its set; 0 of an ordinary job */
    uint32_t auto_requeues;  /* since a user last released or requeued it */
    struct attempt *attempt; /* NULL: it has not started since it was queued; see attempt_of() */
    struct job_past *past;   /* NULL: all of its nodes are configured */
    struct part *part;
    struct job_partitions *partitions; /* NULL: it has one partition, or runs */
    char *part_name;                   /* of a partition that was removed; NULL: part is set */
    struct request want;
    int32_t nice;
    uint32_t task; /* its array index; ARRAY_NO_TASK: its record has several elements */
    struct job_rank rank;
    int64_t submit_at, eligible_at, begin_at, sched_at, expected_at,
        shown_sched_at;      /* wall seconds; shown: as packed in 'live' */
    int64_t preempt_look_at; /* pending: from then on more jobs can be preempted for it; 0: none */
    int64_t limit_sec;       /* INT64_MAX: unlimited */
    int64_t time_min_sec, deadline_at; /* 0: none */
    enum reason reason;
    char *newer_reason; /* the word of REASON_NEWER */
    char *reason_detail;
    VEC32(uint64_t) end_calls;      /* calls that wait for the end of the job */
    uint64_t alloc_call;            /* the call that waits for the allocation; 0: none */
    struct str *alloc_step;         /* packed StepSpec to be created with it; NULL: none */
    uint64_t request_key;           /* in cluster.requests; 0: none */
    uint32_t warn_signal, warn_sec; /* --signal: warn_sec seconds before the limit; 0: none */
    int64_t gone_mono_ms;           /* when its salloc or srun disconnected; 0: it did not */
    struct job_packed spec, live;   /* JobSpec and JobLive */
    uint32_t payload_bytes;         /* of its script and environment, in the store */
    uint32_t requester_uid;         /* the submitting user; uid is the owner */
    struct job_counted counted;     /* in cluster.holdings */
    struct job_newer *newer;        /* fields of a newer version's record; NULL: none */
    struct array *array;            /* NULL: it is not an array element */
    struct idset tasks;             /* the pending elements that share this record; empty: one */
    struct array_record *of_array;  /* in array.records; NULL: in none */
    struct job_burst *burst;        /* NULL: it asks for no burst buffer; see burst.h */
    struct job_set *set;            /* NULL: an ordinary job; see job_set.h */
    VEC32(struct resv *)
    resvs;                         /* while pending: the reservations it may use, in this order;
                                      with resv_asked it may run nowhere else */
    struct order_link queued, due; /* in part.queue, cluster.due */
    int64_t switches_since;        /* first time it could start on more switches; 0: never */
    uint32_t request_version;      /* rises when the request changes */
    struct job_waits waits;        /* its dependencies, and its name for singleton */
    uint64_t stamp;                /* of its last change */
};

/* A private copy that may be changed; everything it points to still belongs to the job. */
struct job_copy {
    struct job job;
};

/* Marks the job as changed: its record is written, and its listing rebuilt, at the end of the turn.
 */
void job_touch(struct cluster *c, struct job *j);

/* --- job.c ------------------------------------------------------------------------------------ */

/* The time limit, and the latest end of a run that starts at 'from'; wall seconds. Without a limit
 * CLUSTER_NO_LIMIT_SEC counts. */
int64_t job_limit_sec(const struct job *j);
int64_t job_ends_at(const struct job *j, int64_t from);
#define JOB_ID_TEXT_MAX 40 /* bytes with the 0 */
/* Returns the id as users write it, in buf: "431", "431_3" for an element of a job array, "431+1"
 * for a component of a job set, "431_3+1". */
const char *job_id_text(const struct job *j, char buf[JOB_ID_TEXT_MAX]);
/* Like job_id_text(), with a buffer that lives until the end of the enclosing block. */
#define JOB_ID_TEXT(j) job_id_text((j), (char[JOB_ID_TEXT_MAX]){0})
void job_format_nodes(const struct cluster *c, const struct job *j, struct str *out);
uint32_t job_alloc_cpus(const struct job *j);
uint32_t job_nodes_left(const struct job *j); /* nodes that are not released yet */
bool job_is_held_back(const struct job *j);   /* on some node the job may not start anything yet */
void job_step_node_done(struct step_node *n);
void job_step_done(struct step *s);
void job_forget_past(struct job *j);
const char *job_reason_word(const struct job *j); /* NULL: REASON_NONE */

/* Returns the attempt for reading; attempt_none, which is all 0, if there is none. */
static inline const struct attempt *attempt_of(const struct job *j)
{
    return j->attempt ? j->attempt : &attempt_none;
}
/* Returns the batch host, or the first node if the job has no script. The job must have nodes. */
static inline struct alloc_node *job_host(const struct job *j)
{
    return &attempt_of(j)->alloc.data[attempt_of(j)->host_at];
}
/* Sets the batch host: the first node that satisfies --batch, else the first node. */
void job_choose_host(const struct cluster *c, struct job *j);
struct job *job_of_end(struct order_link *link); /* of a link in cluster.ends; NULL for NULL */
static inline const struct attempt *attempt_of_end(struct order_link *link)
{
    return order_item(link, struct attempt, ends);
}
/* Packs a message and replaces the content of 'p'. */
void job_repack(struct job_packed *p, const ProtobufCMessage *m);
void job_packed_done(struct job_packed *p);

/* --- job_spec.c: its request ------------------------------------------------------------------ */

Pb__JobSpec *job_unpack_spec(const struct job *j, struct arena *arena);
/* Sets the job's request from its spec, by request_parse() and job_set_request(). On failure the
 * job is unchanged. */
int job_read_spec(const struct cluster *c, struct job *j, const Pb__JobSpec *spec, struct err *err);
/* Rewrites the lists of nodes that the job requires and excludes: in the order of the cluster, each
 * node once, as texts in the arena. The list of an arbitrary distribution keeps its order. */
void job_sort_node_lists(const struct cluster *c, const struct job *j, Pb__JobSpec *spec,
                         struct arena *arena);
/* Sets the request for each of the job's partitions. keep: 'parsed' stays usable; otherwise it is
 * consumed. */
void job_set_request(const struct cluster *c, struct job *j, const Pb__JobSpec *spec,
                     struct parsed_request *parsed, bool keep);
/* Sets whether the job shares units, by its request and OverSubscribe of its partition (CORE-130 to
 * 132). To be called again when either changes. */
void job_set_sharing(const struct cluster *c, struct job *j);
/* If jobs take turns: returns why jobs like this one never share, whatever the partition says;
 * NULL: the partition decides. */
const char *job_sharing_refusal(const struct conf *conf, const struct job *j);
/* Whether its partition makes it share: by OverSubscribe, and with YES by its request. */
bool job_is_to_share(const struct job *j);
/* If jobs take turns: returns why a job with nodes shares them with no other job although its
 * partition would make it share. NULL: it shares, or its partition does not make it share. */
const char *job_unshared_reason(const struct conf *conf, const struct job *j);

/* --- job_pack.c, job_restore.c: its record ---------------------------------------------------- */

void job_pack_live(const struct cluster *c, struct job *j); /* rebuilds j->live */
/* StepRecord bytes. */
void job_pack_step(const struct step *s, struct str *out);
/* Sets the job, the array element and the component in the record of a step. */
void job_name_step(const struct job *j, Pb__StepRecord *r);
void job_pack_record(const struct job *j, struct str *out); /* JobRecord bytes */
/* Restores the job from its record. A job that names unconfigured nodes is changed and must be
 * written. */
int job_restore(struct cluster *c, struct job *j, const Pb__JobRecord *record, struct err *err);

/* --- job_state.c: the only writer of a job's state -------------------------------------------- */
bool job_state_may_become(enum _Pb__JobState from, enum _Pb__JobState to);
/* -ERR_TRANSITION: invalid transition. All fields that observers read must be set before the call:
 * it notifies the observers (transition.h), which may change the job further. */
int job_set_state(struct cluster *c, struct job *j, enum _Pb__JobState to,
                  enum transition_cause cause, const char *detail);
/* Announces a new, pending job to the observers. */
void job_announce(struct cluster *c, struct job *j);
bool job_is_final(const struct job *j);
void job_load_state(struct cluster *c, struct job *j,
                    enum _Pb__JobState state); /* sets the state of a stored record */
