/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A job_submit plugin in C: asked by the controller about each job before it is taken, and about
 * each change of one. It may change the request, refuse it, or let it pass.
 *
 *     cc -shared -fPIC -o job_submit_NAME.so NAME.c
 *
 * in PluginDir, owned by root or SlurmUser and writable by nobody else, with
 * JobSubmitPlugins=NAME in slurm.conf. It defines one symbol:
 *
 *     const struct sluice_job_submit sluice_job_submit = {
 *         .version = SLUICE_JOB_SUBMIT_VERSION, .submit = my_submit };
 *
 * It runs in a helper process of the controller, as SlurmUser, in one thread, one question at a
 * time: it may block, and has SLUICE_JOB_SUBMIT_SECONDS for each, but jobs wait behind it. One that
 * takes longer or crashes has the request refused that it was asked about, and is begun anew.
 *
 * Fields have the names they have in job_submit.lua (docs/job_submit.md). Numbers are in minutes
 * where they are times of a job, MiB where they are memory, and 0 or 1 where they are yes or no;
 * a nice value is what the user writes. What was not given has no value. Texts are valid until the
 * callback returns or the field is set.
 */
#ifndef SLUICE_JOB_SUBMIT_H
#define SLUICE_JOB_SUBMIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_JOB_SUBMIT_VERSION 1
#define SLUICE_JOB_SUBMIT_SECONDS 5 /* for a question, and for all plugins to begin */

enum sluice_job_result { /* of a function that finds or sets a field */
                         SLUICE_JOB_OK = 0,
                         SLUICE_JOB_NOT_GIVEN = 1, /* the request does not say */
                         SLUICE_JOB_NO_FIELD = -1, /* there is none of this name and type */
                         SLUICE_JOB_BAD = -2,      /* it cannot be set to that, or not at all */
};

enum sluice_job_verdict { /* of submit and modify; or a code of sluice.h, whose text is told */
                          SLUICE_JOB_PASS = 0,
                          SLUICE_JOB_REFUSE = 1, /* told the user: what sluice_job_tell() said */
};

enum sluice_log_level {
    SLUICE_LOG_ERROR = 2,
    SLUICE_LOG_INFO,
    SLUICE_LOG_VERBOSE,
    SLUICE_LOG_DEBUG
};

#define SLUICE_JOB_NO_LIMIT INT64_MAX /* of times */

struct sluice_job_partition {
    const char *name, *nodes;
    int is_default, is_up;
    uint32_t priority_tier, priority_job_factor, min_nodes, max_nodes;
    int64_t max_time, default_time; /* minutes; NO_LIMIT; -1: none */
};

/* A job as it is asked for, or as it is. The functions below are how to look at it. */
struct sluice_job {
    const struct sluice_job_calls *calls;
};

struct sluice_job_submit {
    uint32_t version; /* SLUICE_JOB_SUBMIT_VERSION; all that follows may be NULL */
    /* Once, before anything else. Not 0: it cannot begin, and no job is taken; 'why' is told. */
    int (*init)(char *why, size_t room);
    int (*submit)(struct sluice_job *job);
    /* change: the fields that are to be other ones, and may be added to; job: as it is. */
    int (*modify)(struct sluice_job *change, const struct sluice_job *job);
    void (*fini)(void);
};

/* What the functions below call. Only ever added to, at the end: size tells how much there is. */
struct sluice_job_calls {
    size_t size;
    const char *(*text)(const struct sluice_job *job, const char *field);
    int (*number)(const struct sluice_job *job, const char *field, int64_t *out);
    int (*set_text)(struct sluice_job *job, const char *field, const char *text);
    int (*set_number)(struct sluice_job *job, const char *field, int64_t number);
    int (*clear)(struct sluice_job *job, const char *field);
    uint32_t (*id)(const struct sluice_job *job);
    uint32_t (*caller)(const struct sluice_job *job);
    const char *(*env)(const struct sluice_job *job, const char *name);
    const void *(*script)(const struct sluice_job *job, size_t *length);
    const struct sluice_job_partition *(*partition)(const struct sluice_job *job, size_t number);
    void (*tell)(struct sluice_job *job, const char *text);
    void (*log)(const struct sluice_job *job, int level, const char *text);
};

/* NULL: not given, or no such text. */
static inline const char *sluice_job_text(const struct sluice_job *job, const char *field)
{
    return job->calls->text(job, field);
}

/* *out stays as it was unless SLUICE_JOB_OK is returned. */
static inline int sluice_job_number(const struct sluice_job *job, const char *field, int64_t *out)
{
    return job->calls->number(job, field, out);
}

/* A text is copied; NULL or "": none. What is set is checked as if the user had given it. */
static inline int sluice_job_set_text(struct sluice_job *job, const char *field, const char *text)
{
    return job->calls->set_text(job, field, text);
}

static inline int sluice_job_set_number(struct sluice_job *job, const char *field, int64_t number)
{
    return job->calls->set_number(job, field, number);
}

/* As if it had not been given. */
static inline int sluice_job_clear(struct sluice_job *job, const char *field)
{
    return job->calls->clear(job, field);
}

/* 0: it has none yet. */
static inline uint32_t sluice_job_id(const struct sluice_job *job)
{
    return job->calls->id(job);
}

/* The uid of who asks; user_id and user_name say for whom. */
static inline uint32_t sluice_job_caller(const struct sluice_job *job)
{
    return job->calls->caller(job);
}

/* Of a batch job, its environment; NULL: no such variable. */
static inline const char *sluice_job_env(const struct sluice_job *job, const char *name)
{
    return job->calls->env(job, name);
}

/* Of a batch job, its script, without an end; NULL: none. */
static inline const void *sluice_job_script(const struct sluice_job *job, size_t *length)
{
    return job->calls->script(job, length);
}

/* Those that the caller may use, from number 0; NULL: no more. */
static inline const struct sluice_job_partition *sluice_job_partition(const struct sluice_job *job,
                                                                      size_t number)
{
    return job->calls->partition(job, number);
}

/* A line for the user; more of them are put together. */
static inline void sluice_job_tell(struct sluice_job *job, const char *text)
{
    job->calls->tell(job, text);
}

/* A line for the controller's log. */
static inline void sluice_job_log(const struct sluice_job *job, enum sluice_log_level level,
                                  const char *text)
{
    job->calls->log(job, (int)level, text);
}

extern const struct sluice_job_submit sluice_job_submit;

#ifdef __cplusplus
}
#endif
#endif
