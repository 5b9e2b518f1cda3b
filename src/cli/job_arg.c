/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/job_arg.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sluid.h"
#include "cli/cmd.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"
#include "rpc/client.h"
#include "show/job_ids.h"

struct search {
    uint32_t job_id, leader_id; /* of the leader, once it is known */
    const char *task;           /* of the job array job_id this element; NULL: it is none */
    const char *name;           /* of the component; NULL: its number is known */
    struct str known;           /* "0 (main), 1" */
    bool found, is_job, is_set;
    uint32_t offset, found_id; /* of the one that was found */
};

static int on_components(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct search *s = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        const Pb__JobSpec *spec = part->jobs[i]->spec;
        s->is_job = true;
        if (!live || !live->has_het_job_id || (!s->task && live->het_job_id != s->job_id))
            continue;
        s->is_set = true;
        s->leader_id = live->het_job_id;
        str_printf(&s->known, "%s%u", s->known.len ? ", " : "", live->het_job_offset);
        if (!spec || !spec->component || !s->name)
            continue;
        str_printf(&s->known, " (%s)", spec->component);
        if (str_case_eq(spec->component, s->name)) {
            s->found = true;
            s->offset = live->het_job_offset;
            s->found_id = live->job_id;
        }
    }
    return 0;
}

struct sluid_search {
    uint32_t job_id;
    int64_t submit_at_sec; /* of the job, once it is found */
    bool found;
};

/* A job array has several records: the job's own one counts. */
static int on_sluid(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct sluid_search *s = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (live && live->job_id == s->job_id) {
            s->found = true;
            s->submit_at_sec = live->submit_at;
        }
    }
    return 0;
}

static int request_jobs(Pb__JobFilter *filter, rpc_part_fn *on_jobs, void *ctx, struct err *err)
{
    struct conf *conf = NULL;
    int rc = conf_load_own(&conf, err);
    if (rc < 0)
        return rc;
    struct rpc_client *client = rpc_client_new(conf);
    filter->has_all_states = filter->all_states = true;
    rc = rpc_call_stream(client, RPC_JOB_LIST, &filter->base, on_jobs, ctx, err);
    rpc_client_free(client);
    conf_free(conf);
    return rc;
}

static int request_components(struct search *s, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    Pb__ArrayTasks element = PB__ARRAY_TASKS__INIT, *elements = &element;
    element.job_id = s->job_id;
    element.tasks = (char *)s->task;
    filter.job_id = &s->job_id;
    filter.n_job_id = s->task ? 0 : 1;
    filter.array = &elements;
    filter.n_array = s->task ? 1 : 0;
    return request_jobs(&filter, on_components, s, err);
}

static int judge_search(const struct search *s, struct err *err)
{
    _cleanup_free_ char *job =
        s->task ? mem_printf("%u_%s", s->job_id, s->task) : mem_printf("%u", s->job_id);
    if (s->found || (s->is_set && !s->name))
        return 0;
    if (!s->is_job)
        return err_set(err, -ERR_NO_JOB, "%s: job %s", err_text(ERR_NO_JOB), job);
    if (!s->is_set)
        return err_set(err, -ERR_NO_JOB, "%s: job %s is not the leader of a heterogeneous job",
                       err_text(ERR_NO_JOB), job);
    return err_set(err, -ERR_HET_GROUP, "job %s has no component named '%s': its components are %s",
                   job, s->name, str_cstr(&s->known));
}

static int find_component(struct search *s, struct err *err)
{
    s->known = (struct str)STR_INIT;
    int rc = request_components(s, err);
    if (rc >= 0)
        rc = judge_search(s, err);
    str_done(&s->known);
    return rc;
}

int job_arg_find_component(uint32_t leader_id, const char *name, uint32_t *offset, struct err *err)
{
    struct search s = {.job_id = leader_id, .name = name};
    int rc = find_component(&s, err);
    if (rc == 0)
        *offset = s.offset;
    return rc;
}

/* What stands before the '+', and behind it to the end of the id; 'text' is for messages. */
static int read_id(const char *text, char *job, const char *component, struct search *s,
                   long long *number, struct err *err)
{
    bool has_name = isalpha((unsigned char)*component);
    char *task = strchr(job, '_');
    long long job_id;
    if (task)
        *task++ = '\0';
    if (str_parse_i64(job, 1, INT32_MAX, &job_id) != 0 ||
        (task && (!*task || task[strspn(task, "0123456789")])) ||
        (!has_name && str_parse_i64(component, 0, INT32_MAX, number) != 0))
        return err_set(err, -ERR_PARSE, "Invalid job id %s", text);
    *s = (struct search){
        .job_id = (uint32_t)job_id, .task = task, .name = has_name ? component : NULL};
    return 0;
}

/* "123_4+1" and "123+io" as "125+1": the leader's id and a number. */
static int number_id(const char *text, const char *plus, char **out, struct err *err)
{
    size_t len = strcspn(plus + 1, ".");
    _cleanup_free_ char *job = mem_strndup(text, (size_t)(plus - text));
    _cleanup_free_ char *component = mem_strndup(plus + 1, len);
    long long number = 0;
    struct search s;
    int rc = read_id(text, job, component, &s, &number, err);
    if (rc == 0)
        rc = find_component(&s, err);
    if (rc == 0)
        *out = mem_printf("%u+%u%s", s.leader_id, s.name ? s.offset : (uint32_t)number,
                          plus + 1 + len);
    return rc;
}

/* "s035AFRG000001.0" as "1.0". The controller says whether the job of this id has this SLUID. */
static int number_sluid(const char *text, uint32_t job_id, int64_t submit_at_sec, char **out,
                        struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct sluid_search s = {.job_id = job_id};

    filter.job_id = &job_id;
    filter.n_job_id = 1;
    int rc = request_jobs(&filter, on_sluid, &s, err);
    if (rc >= 0 && (!s.found || s.submit_at_sec != submit_at_sec))
        rc = err_set(err, -ERR_NO_JOB, "%s: job %.*s", err_text(ERR_NO_JOB), SLUID_LEN, text);
    if (rc >= 0)
        *out = mem_printf("%u%s", job_id, text + SLUID_LEN);
    return rc < 0 ? rc : 0;
}

/* The same id with numbers for what has other names; NULL: it has none. */
static int number_names(const char *text, char **out, struct err *err)
{
    const char *plus = strchr(text, '+'), *element = strchr(text, '_');
    uint32_t job_id;
    int64_t submit_at_sec;
    if (sluid_parse(text, &job_id, &submit_at_sec)) {
        _cleanup_free_ char *numbered = NULL;
        int rc = number_sluid(text, job_id, submit_at_sec, &numbered, err);
        if (rc == 0)
            rc = number_names(numbered, out, err);
        if (rc == 0 && !*out)
            *out = take_ptr(numbered);
        return rc;
    }
    if (!plus || (!isalpha((unsigned char)plus[1]) && !(element && element < plus)))
        return 0;
    return number_id(text, plus, out, err);
}

int job_arg_parse(const char *text, Pb__StepId *id, struct err *err)
{
    _cleanup_free_ char *numbered = NULL;
    struct err why = {0};
    int rc = number_names(text, &numbered, &why);
    if (rc == 0)
        return job_ids_parse(numbered ? numbered : text, id, err);
    if (err)
        *err = why;
    else
        cmd_error("%s", why.text);
    return rc;
}

int job_arg_name_dependency(char **list, struct err *err)
{
    _cleanup_str_ struct str out = STR_INIT;
    const char *from = *list;
    for (const char *at = from; *at; at++) {
        if (*at != '+' || !isalpha((unsigned char)at[1]))
            continue;
        const char *begin = at, *end = at + 1 + strcspn(at + 1, ":,?");
        while (begin > from && strchr("0123456789_", begin[-1]))
            begin--;
        _cleanup_free_ char *text = mem_strndup(begin, (size_t)(end - begin));
        _cleanup_free_ char *job = mem_strndup(begin, (size_t)(at - begin));
        _cleanup_free_ char *component = mem_strndup(at + 1, (size_t)(end - at - 1));
        long long unused;
        struct search s;
        int rc = read_id(text, job, component, &s, &unused, err);
        if (rc == 0)
            rc = find_component(&s, err);
        if (rc != 0)
            return rc;
        str_append(&out, from, (size_t)(begin - from));
        str_printf(&out, "%u", s.found_id);
        from = at = end;
        at--;
    }
    if (!out.len)
        return 0;
    str_puts(&out, from);
    free(*list);
    *list = mem_strdup(str_cstr(&out));
    return 0;
}
