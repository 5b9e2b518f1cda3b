/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/submit/submit_plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/trust.h"
#include "slurmctld/submit/job_desc.h"
#include <sluice/job_submit.h>

#define SYMBOL "sluice_job_submit"
#define MESSAGE_MAX 4096
#define WHY_MAX 256
#define ROOM_MAX 80

_Static_assert((int)SLUICE_LOG_ERROR == (int)LOG_LVL_ERROR &&
                   (int)SLUICE_LOG_DEBUG == (int)LOG_LVL_DEBUG,
               "levels of the public header are those of the log");

struct submit_plugin {
    const struct sluice_job_submit *is;
    char room[ROOM_MAX]; /* name for messages, "job_submit/NAME" */
};

/* The state of a callback. */
struct question {
    struct sluice_job job; /* must be the first member */
    const struct submit_plugin *plugin;
    struct env_submit *ask;
    Pb__JobSpec *spec; /* NULL: read-only */
    const Pb__JobSpec *read;
    struct sluice_job_partition part; /* the partition queried last */
};

static const struct question *question_of(const struct sluice_job *job)
{
    return (const struct question *)(const void *)job;
}

/* --- functions called by plugins -------------------------------------------------------------- */

static const char *get_text(const struct sluice_job *job, const char *field)
{
    struct job_desc_value v;
    int rc = job_desc_get(question_of(job)->read, field, &v);
    return rc == 0 && v.is_text ? v.text : NULL;
}

static int get_number(const struct sluice_job *job, const char *field, int64_t *out)
{
    int rc = job_desc_number(question_of(job)->read, field, out);
    return rc < 0 ? SLUICE_JOB_NO_FIELD : rc > 0 ? SLUICE_JOB_NOT_GIVEN : SLUICE_JOB_OK;
}

static int to_result(int rc)
{
    return rc == 0                    ? SLUICE_JOB_OK
           : rc == -ERR_NOT_SUPPORTED ? SLUICE_JOB_NO_FIELD
                                      : SLUICE_JOB_BAD;
}

static int set_field_text(struct sluice_job *job, const char *field, const char *text)
{
    const struct question *q = question_of(job);
    struct job_desc_value v = {.is_text = true, .text = text};
    return q->spec ? to_result(job_desc_set(q->spec, field, &v, q->ask->arena, NULL))
                   : SLUICE_JOB_BAD;
}

static int set_field_number(struct sluice_job *job, const char *field, int64_t number)
{
    const struct question *q = question_of(job);
    return q->spec ? to_result(job_desc_set_number(q->spec, field, number, NULL)) : SLUICE_JOB_BAD;
}

static int clear_field(struct sluice_job *job, const char *field)
{
    const struct question *q = question_of(job);
    return q->spec ? to_result(job_desc_clear(q->spec, field, NULL)) : SLUICE_JOB_BAD;
}

static uint32_t get_id(const struct sluice_job *job)
{
    return question_of(job)->ask->job_id;
}

static uint32_t get_caller(const struct sluice_job *job)
{
    return question_of(job)->ask->uid;
}

static const char *get_env(const struct sluice_job *job, const char *name)
{
    const Pb__JobPayload *p = question_of(job)->ask->payload;
    size_t len = strlen(name);
    for (size_t i = 0; p && i < p->n_env; i++)
        if (strncmp(p->env[i], name, len) == 0 && p->env[i][len] == '=')
            return p->env[i] + len + 1;
    return NULL;
}

static const void *get_script(const struct sluice_job *job, size_t *length)
{
    const Pb__JobPayload *p = question_of(job)->ask->payload;
    bool given = p && p->has_script;
    *length = given ? p->script.len : 0;
    return given ? p->script.data : NULL;
}

static int64_t to_minutes(int64_t sec)
{
    return sec == INT64_MAX ? SLUICE_JOB_NO_LIMIT : sec < 0 ? -1 : sec / 60;
}

static const struct sluice_job_partition *get_partition(const struct sluice_job *job, size_t number)
{
    struct question *q =
        (struct question *)(uintptr_t)question_of(job); /* every answer has its own buffer */
    if (number >= q->ask->n_parts)
        return NULL;
    const struct env_part *p = &q->ask->parts[number];
    q->part = (struct sluice_job_partition){
        .name = p->name,
        .nodes = p->nodes ? p->nodes : "",
        .is_default = p->is_default,
        .is_up = p->is_up,
        .priority_tier = p->priority_tier,
        .priority_job_factor = p->priority_job_factor,
        .min_nodes = p->min_nodes,
        .max_nodes = p->max_nodes,
        .max_time = to_minutes(p->max_time_sec),
        .default_time = to_minutes(p->default_time_sec),
    };
    return &q->part;
}

static void add_message(struct sluice_job *job, const char *text)
{
    struct str *message = question_of(job)->ask->message;
    size_t len = strlen(text);
    if (message->len + len + 1 >= MESSAGE_MAX)
        return;
    if (message->len)
        str_putc(message, '\n');
    str_append(message, text, len);
}

static void log_message(const struct sluice_job *job, int level, const char *text)
{
    if (level >= SLUICE_LOG_ERROR && level <= SLUICE_LOG_DEBUG)
        log_write((enum log_level)level, question_of(job)->plugin->room, "%s", text);
}

static const struct sluice_job_calls calls = {
    .size = sizeof calls,
    .text = get_text,
    .number = get_number,
    .set_text = set_field_text,
    .set_number = set_field_number,
    .clear = clear_field,
    .id = get_id,
    .caller = get_caller,
    .env = get_env,
    .script = get_script,
    .partition = get_partition,
    .tell = add_message,
    .log = log_message,
};

/* --- its life --------------------------------------------------------------------------------- */

static int begin_plugin(struct submit_plugin *p, const char *path, struct err *err)
{
    char why[WHY_MAX] = "";
    if (p->is->version != SLUICE_JOB_SUBMIT_VERSION)
        return err_set(err, -ERR_CONFIG,
                       "%s is for version %u of sluice/job_submit.h, this is version %d: build it "
                       "again",
                       path, p->is->version, SLUICE_JOB_SUBMIT_VERSION);
    if (p->is->init && p->is->init(why, sizeof why) != 0)
        return err_set(err, -ERR_CONFIG, "%s does not begin: %.200s", path,
                       *why ? why : "it does not say why");
    return 0;
}

struct submit_plugin *submit_plugin_open(const char *path, uid_t owner, struct err *err)
{
    int rc = trust_check(path, &owner, 1, err);
    if (rc == -ENOENT)
        err_set(err, -ERR_CONFIG, "%s does not exist", path);
    if (rc < 0)
        return NULL;
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        const char *why = dlerror();
        err_set(err, -ERR_CONFIG, "it cannot be loaded: %s", why ? why : path);
        return NULL;
    }
    struct submit_plugin *p = mem_new(struct submit_plugin);
    const char *slash = strrchr(path, '/'), *name = slash + 1 + strlen("job_submit_");
    snprintf(p->room, sizeof p->room, "job_submit/%.*s", (int)(strlen(name) - strlen(".so")), name);
    p->is = dlsym(file, SYMBOL);
    if (!p->is)
        err_set(err, -ERR_CONFIG,
                "%s is not a job_submit plugin: it has no symbol " SYMBOL
                " (see sluice/job_submit.h)",
                path);
    if (p->is && begin_plugin(p, path, err) == 0)
        return p;
    free(p);
    return NULL;
}

void submit_plugin_close(struct submit_plugin *p)
{
    if (!p)
        return;
    if (p->is->fini)
        p->is->fini();
    free(p);
}

int submit_plugin_ask(struct submit_plugin *p, struct env_submit *ask, struct err *err)
{
    struct question asked = {
        .job.calls = &calls, .plugin = p, .ask = ask, .spec = ask->spec, .read = ask->spec};
    struct question present = {.job.calls = &calls, .plugin = p, .ask = ask, .read = ask->before};
    int verdict = 0;
    if (ask->before && p->is->modify)
        verdict = p->is->modify(&asked.job, &present.job);
    else if (!ask->before && p->is->submit)
        verdict = p->is->submit(&asked.job);
    if (verdict == 0)
        return 0;
    int code = verdict > 1 && verdict < 100000 ? verdict : ERR_GENERIC;
    return err_set(err, -code, "%s", ask->message->len ? str_cstr(ask->message) : err_text(code));
}
