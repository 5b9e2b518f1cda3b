/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libsluice: submit, watch and cancel jobs, see nodes and change their state, from a C program.
 *
 *     cc prog.c $(pkg-config --cflags --libs sluice)
 *
 * A handle belongs to one thread at a time. Requests go to the controller that leads, over its
 * local socket or over the network, as those of the commands do; who may do what is decided there.
 * Functions return 0, or one of the codes below or an errno, with a sentence in e (which may be
 * NULL). Records are valid until the function they are given to returns. Times are seconds since
 * 1970; 0 is not known.
 */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_TEXT_MAX 1024

enum { /* some of the codes; texts name the others */
       SLUICE_ACCESS = 1008,
       SLUICE_CONNECT = 1009, /* no controller answers */
       SLUICE_TIMEOUT = 1010,
       SLUICE_RANGE = 1021, /* a member of a request says nothing that can be done */
       SLUICE_CONFIG = 1023,
       SLUICE_NO_CHANGE = 1900, /* since the stamp that was given */
       SLUICE_NO_PARTITION = 2000,
       SLUICE_NO_JOB = 2017,
       SLUICE_NO_NODE = 2018,
       SLUICE_JOB_DONE = 2021,
};

#define SLUICE_NO_LIMIT INT64_MAX

struct sluice_error {
    int code;
    char text[SLUICE_TEXT_MAX];
};

struct sluice; /* a cluster */

/* conf: path of slurm.conf; NULL: as the commands find it. NULL: it cannot be read. */
struct sluice *sluice_open(const char *conf, struct sluice_error *e);
void sluice_close(struct sluice *s);

/* --- jobs ------------------------------------------------------------------------------------ */

struct sluice_submit {  /* zeroed: the defaults of sbatch */
    const char *script; /* its text; begins with #! */
    const char *name, *partition, *work_dir, *output, *error, *constraint, *node_list;
    uint32_t nodes, tasks, cpus_per_task;
    uint64_t memory_mib; /* per node */
    int64_t time_limit_sec;
    const char *partition_key; /* of a partition that demands one; as root */
    int as_user;               /* not 0: for this user, as root: */
    uint32_t uid, gid;
    const char *const *args; /* of the script, NULL at the end; NULL: none */
    const char *const *env;  /* NAME=value, NULL at the end; NULL: the program's own */
    const char *array;       /* "0-15:4,20%3": a job array; NULL: one job */
};

/* The job is recorded on disk when this returns 0. #SBATCH lines of the script are not read. Of an
 * array the id is that of all of it. */
int sluice_submit(struct sluice *s, const struct sluice_submit *r, uint32_t *job_id,
                  struct sluice_error *e);

struct sluice_job {
    uint32_t id, uid, restarts;
    const char *state;  /* PENDING, RUNNING, COMPLETED... */
    const char *reason; /* why it waits or has failed; "None" */
    const char *name, *user, *partition, *node_list, *work_dir; /* never NULL */
    int completing; /* it has ended, and nodes are not done with it */
    uint32_t nodes, cpus, tasks;
    int64_t submit_time, start_time, end_time, time_limit_sec; /* SLUICE_NO_LIMIT */
    int exit_status;                                           /* as of waitpid() */
    uint32_t priority;                                         /* 0: it is held */
    int held;
    int64_t eligible_time; /* since when it could start, or from when on */

    /* Of a job array. Elements that wait and differ in nothing are one record. */
    uint32_t array_job_id;  /* of the array; 0: it is of none */
    uint32_t array_task_id; /* its element; SLUICE_NO_TASK: it is several, or of no array */
    const char *elements;   /* the several ones, "5-9,12", or when they lie in more than 1000 pieces
                             * bits, "0x1f"; "": it is not several */
    const char *full_id;    /* as it is shown: "123", "123_4", "123_[5-9,12]", "123+4", "123_4+1" */
};
#define SLUICE_NO_TASK 0xfffffffeu
typedef void sluice_job_fn(void *ctx, const struct sluice_job *job);

/* Each job that waits, runs or has ended not long ago; id 0: all of them; an array's: all of its
 * records. *stamp (NULL: none): of
 * an earlier answer; when nothing in the cluster has changed since, SLUICE_NO_CHANGE comes, in a
 * few bytes, else the answer's stamp is stored there. Begin with 0. */
int sluice_jobs(struct sluice *s, uint32_t id, int64_t *stamp, sluice_job_fn *each, void *ctx,
                struct sluice_error *e);

struct sluice_step {
    uint32_t job_id, step_id; /* SLUICE_BATCH */
    const char *name, *node_list;
    uint32_t nodes, tasks, cpus;
    int64_t start_time;
    uint32_t array_job_id, array_task_id; /* 0, SLUICE_NO_TASK: of no array */
};
#define SLUICE_BATCH 0xfffffffbu
#define SLUICE_WHOLE_JOB 0xffffffffu
typedef void sluice_step_fn(void *ctx, const struct sluice_step *step);
/* Steps that run; of one job, or with 0 of all. */
int sluice_steps(struct sluice *s, uint32_t job_id, sluice_step_fn *each, void *ctx,
                 struct sluice_error *e);

/* signal 0: it is cancelled. step: a step's number, SLUICE_BATCH or SLUICE_WHOLE_JOB. An array's id
 * is all of it, here and below. A signal that does not reach all nodes fails, and names the ones
 * that it did not reach. */
int sluice_signal(struct sluice *s, uint32_t job_id, uint32_t step, int signal,
                  struct sluice_error *e);
/* The same of some elements of an array, "4" or "0-7:2,9"; what is left of them. */
int sluice_signal_elements(struct sluice *s, uint32_t array_job_id, const char *elements,
                           int signal, struct sluice_error *e);

/* --- for external schedulers: the queue ------------------------------------------------------ */

/* As scontrol does: an operator's hold is not released by the job's owner. */
int sluice_hold(struct sluice *s, uint32_t job_id, struct sluice_error *e);
int sluice_release(struct sluice *s, uint32_t job_id, struct sluice_error *e);
/* Some elements of an array. */
int sluice_hold_elements(struct sluice *s, uint32_t array_job_id, const char *elements,
                         struct sluice_error *e);
int sluice_release_elements(struct sluice *s, uint32_t array_job_id, const char *elements,
                            struct sluice_error *e);

struct sluice_place {
    uint32_t job_id, priority; /* 1 and above; jobs with the higher one are looked at first */
    const char *elements;      /* of an array these only; NULL: all that wait */
};
typedef void sluice_refused_fn(void *ctx, uint32_t job_id, int code, const char *text);
/* The priorities of many jobs that wait, which are then kept: with priority/multifactor until a job
 * is held and released. Jobs that cannot be ordered, as they have ended, run or are held, are told
 * to refused (NULL: not told), and stay; the others are ordered all the same. For operators. */
int sluice_order(struct sluice *s, const struct sluice_place *list, size_t count,
                 sluice_refused_fn *refused, void *ctx, struct sluice_error *e);

/* Starts a job that waits on all of these nodes, a host list, and no others; now, whatever is
 * before it in the queue, or not at all. Of an array its next element. For operators. */
int sluice_start(struct sluice *s, uint32_t job_id, const char *nodes, struct sluice_error *e);

#define SLUICE_KEY_SIZE 33
/* Of a partition with Key=YES, for sluice_submit(). For administrators. */
int sluice_partition_key(struct sluice *s, const char *partition, char key[SLUICE_KEY_SIZE],
                         struct sluice_error *e);

/* Until it has ended, which may be long; *exit_status as of waitpid(). A controller that is started
 * again meanwhile is asked again. */
int sluice_wait(struct sluice *s, uint32_t job_id, int *exit_status, struct sluice_error *e);

/* --- nodes ----------------------------------------------------------------------------------- */

enum { SLUICE_DRAIN = 1, SLUICE_FAIL = 2, SLUICE_COMPLETING = 4, SLUICE_SILENT = 8 };
struct sluice_node {
    const char *name, *state;                   /* IDLE, MIXED, ALLOCATED, DOWN, UNKNOWN, FUTURE */
    unsigned flags;                             /* SLUICE_DRAIN... */
    const char *reason, *features, *partitions; /* never NULL */
    uint32_t cpus, cpus_in_use, weight;
    uint64_t memory_mib, memory_in_use_mib, tmp_disk_mib;
    uint32_t real_cpus; /* as it has registered; 0: it has not */
    uint64_t real_memory_mib, real_tmp_disk_mib;
};
typedef void sluice_node_fn(void *ctx, const struct sluice_node *node);

/* nodes: a host list; NULL: all. stamp as in sluice_jobs(). */
int sluice_nodes(struct sluice *s, const char *nodes, int64_t *stamp, sluice_node_fn *each,
                 void *ctx, struct sluice_error *e);

/* state: DRAIN, RESUME, DOWN...; those that need one with a reason. For operators. */
int sluice_node_state(struct sluice *s, const char *nodes, const char *state, const char *reason,
                      struct sluice_error *e);

#ifdef __cplusplus
}
#endif

#endif
