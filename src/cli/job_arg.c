/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sluid.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/job_arg.h"
#include "cluster/job/job_set_text.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"
#include "rpc/client.h"
#include "show/job_ids.h"

struct count {
    uint32_t job_id; /* the requested id */
    uint32_t offset; /* and the requested component of it, */
    bool has_offset; /* which is listed */
    bool is_known;
    uint32_t components; /* 0: not the leader of a job set */
    uint32_t leader_id;  /* leader of the set of which it is a component; 0: none */
};

static int note_listed_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct count *c = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (!live)
            continue;
        c->is_known = true;
        if (live->has_set_id && live->set_id == c->job_id) {
            c->components = live->set_count;
            c->has_offset |= live->set_offset == c->offset;
        } else if (live->has_set_id) {
            c->leader_id = live->set_id;
        }
    }
    return 0;
}

static int count_jobs(struct count *c)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    filter.job_id = &c->job_id;
    filter.n_job_id = 1;
    filter.has_all_states = filter.all_states = true;
    return rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, note_listed_jobs, c, NULL);
}

bool job_arg_is_known(const Pb__StepId *id)
{
    struct count c = {.job_id = id->job_id};
    return count_jobs(&c) < 0 || c.is_known;
}

int job_arg_refuse(const Pb__StepId *id, struct err *err)
{
    struct count c = {.job_id = id->job_id};
    Pb__StepId job = *id;
    _cleanup_str_ struct str name = STR_INIT;
    job.has_set_offset = job.has_step_id = false;
    job_ids_put_asked(&job, &name);
    if (id->has_set_offset)
        (void)count_jobs(&c);
    if (id->set_offset < c.components)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_LOST, err_text(ERR_NO_JOB),
                       id->set_offset, str_cstr(&name));
    if (c.components)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_OFFSETS, err_text(ERR_NO_JOB),
                       str_cstr(&name), c.components - 1);
    if (c.leader_id)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_MEMBER, err_text(ERR_NO_JOB),
                       str_cstr(&name), c.leader_id);
    if (c.is_known)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_ORDINARY, err_text(ERR_NO_JOB),
                       str_cstr(&name));
    return err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
}

bool job_arg_explain(const Pb__StepId *id, struct err *err)
{
    return id->has_set_offset && job_arg_refuse(id, err) < 0;
}

bool job_arg_lacks_component(const Pb__StepId *id, struct err *err)
{
    struct count c = {.job_id = id->job_id, .offset = id->set_offset};
    if (!id->has_set_offset || count_jobs(&c) < 0 || c.has_offset)
        return false;
    return job_arg_explain(id, err);
}

struct element { /* of a job set: an array element, or the job itself */
    uint32_t leader_id, task;
    bool found;                /* it has a component with the name: */
    uint32_t offset, found_id; /* the offset and id of that component */
};

struct search {
    uint32_t job_id;   /* of a leader, or of a job array */
    const char *tasks; /* elements of the job array; NULL: not an array */
    const char *name;  /* name of the component; NULL: its offset is known */
    struct str known;  /* component names of the first element: "0 (main), 1" */
    bool is_job;
    uint32_t other_leader_id; /* leader of the job set of which it is a component; 0: none */
    VEC(struct element) elements;
};

static struct element *find_element(struct search *s, const Pb__JobLive *live)
{
    for (size_t i = s->elements.len; i-- > 0;)
        if (s->elements.data[i].leader_id == live->set_id)
            return &s->elements.data[i];
    vec_push(&s->elements,
             ((struct element){.leader_id = live->set_id, .task = live->array_task_id}));
    return &vec_last(&s->elements);
}

static int on_components(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct search *s = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        const Pb__JobSpec *spec = part->jobs[i]->spec;
        s->is_job = true;
        if (live && live->has_set_id && !s->tasks && live->set_id != s->job_id)
            s->other_leader_id = live->set_id;
        if (!live || !live->has_set_id || (!s->tasks && live->set_id != s->job_id))
            continue;
        struct element *e = find_element(s, live);
        const char *name = spec && s->name ? spec->component : NULL;
        if (e == s->elements.data)
            str_printf(&s->known, "%s%u", s->known.len ? ", " : "", live->set_offset);
        if (e == s->elements.data && name)
            str_printf(&s->known, " (%s)", name);
        if (name && str_case_eq(name, s->name)) {
            e->found = true;
            e->offset = live->set_offset;
            e->found_id = live->job_id;
        }
    }
    return 0;
}

struct sluid_search {
    uint32_t job_id;
    int64_t submit_at_sec; /* of the job, once it was found */
    bool found;
};

/* A job array has several records: only the job's own one counts. */
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
    Pb__ArrayTasks tasks = PB__ARRAY_TASKS__INIT, *array = &tasks;
    tasks.job_id = s->job_id;
    tasks.tasks = (char *)s->tasks;
    filter.job_id = &s->job_id;
    filter.n_job_id = s->tasks ? 0 : 1;
    filter.array = &array;
    filter.n_array = s->tasks ? 1 : 0;
    return request_jobs(&filter, on_components, s, err);
}

static int check_search(const struct search *s, struct err *err)
{
    bool is_list = s->tasks && strpbrk(s->tasks, ",-");
    _cleanup_free_ char *job = s->tasks
                                   ? mem_printf(is_list ? "%u_[%s]" : "%u_%s", s->job_id, s->tasks)
                                   : mem_printf("%u", s->job_id);
    if (!s->is_job)
        return err_set(err, -ERR_NO_JOB, "%s: job %s", err_text(ERR_NO_JOB), job);
    if (!s->elements.len && s->other_leader_id)
        return err_set(err, -ERR_COMPONENT, "%s: " JOB_SET_TEXT_MEMBER, err_text(ERR_NO_JOB), job,
                       s->other_leader_id);
    if (!s->elements.len)
        return err_set(err, -ERR_COMPONENT, "%s: " JOB_SET_TEXT_ORDINARY, err_text(ERR_NO_JOB),
                       job);
    vec_foreach (&s->elements, e)
        if (s->name && !e->found)
            return err_set(err, -ERR_COMPONENT,
                           "job %s has no component named '%s': its components are %s", job,
                           s->name, str_cstr(&s->known));
    return 0;
}

/* Fills s->elements, which the caller frees. */
static int find_components(struct search *s, struct err *err)
{
    s->known = (struct str)STR_INIT;
    int rc = request_components(s, err);
    if (rc >= 0)
        rc = check_search(s, err);
    str_done(&s->known);
    return rc;
}

int job_arg_find_component(uint32_t leader_id, const char *name, uint32_t *offset, struct err *err)
{
    struct search s = {.job_id = leader_id, .name = name};
    int rc = find_components(&s, err);
    if (rc == 0)
        *offset = s.elements.data[0].offset;
    vec_done(&s.elements);
    return rc;
}

/* Parses the id before the '+', and the component after it; 'text' is for messages. */
static int read_id(const char *text, const char *job, const char *component, struct search *s,
                   long long *number, struct err *err)
{
    bool has_name = isalpha((unsigned char)*component);
    Pb__StepId id = PB__STEP_ID__INIT;
    if (job_ids_parse(job, &id, NULL) != 0 || id.has_step_id ||
        (!has_name && str_parse_i64(component, 0, INT32_MAX, number) != 0))
        return err_set(err, -ERR_PARSE, "Invalid job id %s", text);
    *s = (struct search){
        .job_id = id.job_id, .tasks = id.array_tasks, .name = has_name ? component : NULL};
    return 0;
}

struct record_search {
    uint32_t job_id, offset; /* 0: not found yet */
};

/* Of several components the one with the lowest offset counts; they come in any order. */
static int on_record(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct record_search *s = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        if (live && (!s->job_id || live->set_offset < s->offset))
            *s = (struct record_search){live->job_id, live->set_offset};
    }
    return 0;
}

int job_arg_find_record(const Pb__StepId *id, uint32_t *job_id, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct record_search s = {0};
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str name = STR_INIT;
    Pb__StepId job = *id;

    arena_init(&arena, 0);
    if (!id->has_set_offset && !id->array_tasks) {
        *job_id = id->job_id;
        return 0;
    }
    job_ids_filter(id, 1, &filter, &arena);
    int rc = request_jobs(&filter, on_record, &s, err);
    if (rc < 0)
        return rc;
    if (!s.job_id)
        return job_arg_refuse(id, err);
    job.has_step_id = false;
    job_ids_put_asked(&job, &name);
    if (!id->has_set_offset)
        job_ids_remember(s.job_id, str_cstr(&name));
    *job_id = s.job_id;
    return 0;
}

/* Resolves "123_4+1", "123_[4-5]+1" and "123+io" to "125+1": the leaders' ids and an offset. */
static int number_ids(const char *text, const char *plus, struct job_id_list *out, struct err *err)
{
    size_t len = strcspn(plus + 1, ".");
    _cleanup_free_ char *job = mem_strndup(text, (size_t)(plus - text));
    _cleanup_free_ char *component = mem_strndup(plus + 1, len);
    long long number = 0;
    struct search s;
    int rc = read_id(text, job, component, &s, &number, err);
    if (rc != 0)
        return rc;
    rc = find_components(&s, err);
    for (size_t i = 0; rc == 0 && i < s.elements.len; i++) {
        const struct element *e = &s.elements.data[i];
        uint32_t offset = s.name ? e->offset : (uint32_t)number;
        _cleanup_free_ char *numbered = mem_printf("%u+%u%s", e->leader_id, offset, plus + 1 + len);
        _cleanup_free_ char *element = mem_printf("%u_%u", s.job_id, e->task);
        Pb__StepId id = PB__STEP_ID__INIT;
        if (s.tasks)
            job_ids_remember(e->leader_id, element);
        rc = job_ids_parse(numbered, &id, err);
        if (rc == 0)
            vec_push(out, id);
    }
    vec_done(&s.elements);
    return rc;
}

/* Converts "s035AFRG000001.0" to "1.0". The controller checks that the job with this id has this
 * SLUID. */
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

/* Appends the ids in the text, with numbers in place of names. */
static int parse_ids(const char *text, struct job_id_list *out, struct err *err)
{
    const char *plus = strchr(text, '+'), *element = strchr(text, '_');
    Pb__StepId id = PB__STEP_ID__INIT;
    uint32_t job_id;
    int64_t submit_at_sec;
    if (sluid_parse(text, &job_id, &submit_at_sec)) {
        _cleanup_free_ char *numbered = NULL;
        int rc = number_sluid(text, job_id, submit_at_sec, &numbered, err);
        return rc ? rc : parse_ids(numbered, out, err);
    }
    if (plus && (isalpha((unsigned char)plus[1]) || (element && element < plus)))
        return number_ids(text, plus, out, err);
    int rc = job_ids_parse(text, &id, err);
    if (rc == 0)
        vec_push(out, id);
    return rc;
}

/* Reports why the component does not exist if the caller does not; invalid ids are reported by the
 * caller. */
static int report_parse_failure(int rc, const struct err *why, struct err *err)
{
    if (err)
        *err = *why;
    else if (rc != -ERR_PARSE)
        cmd_error("%s", why->text);
    return rc;
}

int job_arg_parse_list(const char *text, struct job_id_list *out, struct err *err)
{
    struct err why = {0};
    int rc = parse_ids(text, out, &why);
    return rc ? report_parse_failure(rc, &why, err) : 0;
}

int job_arg_parse(const char *text, Pb__StepId *id, struct err *err)
{
    struct job_id_list ids = {0};
    struct err why = {0};
    int rc = parse_ids(text, &ids, &why);
    if (rc == 0 && ids.len > 1)
        rc = err_set(&why, -ERR_RANGE, "%s means several jobs: name one element of the job array",
                     text);
    if (rc == 0) {
        assert(ids.len == 1);
        *id = ids.data[0];
    }
    vec_done(&ids);
    return rc ? report_parse_failure(rc, &why, err) : 0;
}

static bool has_job(const struct job_id_list *jobs, uint32_t job_id)
{
    vec_foreach (jobs, id)
        if (id->job_id == job_id && !id->array_tasks)
            return true;
    return false;
}

/* The id of a component means only that component; the id of the leader means all of them. */
static void remember_name(const Pb__JobLive *live)
{
    _cleanup_str_ struct str name = STR_INIT;
    if (job_ids_is_leader(live))
        job_ids_put_whole(live, &name);
    else
        job_ids_put(live, &name);
    job_ids_remember(live->job_id, str_cstr(&name));
}

void job_arg_add(struct job_id_list *jobs, const Pb__JobLive *live)
{
    static struct arena kept; /* lives until the process ends */
    Pb__StepId id;
    job_ids_of(live, &id, &kept);
    if (live->has_set_id) {
        if (has_job(jobs, live->set_id))
            return;
        id.job_id = live->job_id;
        id.has_set_offset = false;
        remember_name(live);
    }
    vec_push(jobs, id);
}

void job_arg_add_one(struct job_id_list *jobs, const Pb__JobLive *live)
{
    static struct arena kept; /* lives until the process ends */
    Pb__StepId id;
    job_ids_of(live, &id, &kept);
    if (live->has_set_id) {
        _cleanup_str_ struct str name = STR_INIT;
        job_ids_put_whole(live, &name);
        job_ids_remember(live->set_id, str_cstr(&name));
    }
    vec_push(jobs, id);
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
        if (rc != 0)
            return rc;
        rc = find_components(&s, err);
        struct element found = rc == 0 ? s.elements.data[0] : (struct element){0};
        vec_done(&s.elements);
        if (rc != 0)
            return rc;
        str_append(&out, from, (size_t)(begin - from));
        if (s.tasks && found.offset == 0) /* the id may be that of the array */
            str_printf(&out, "%u_%s", s.job_id, s.tasks);
        else
            str_printf(&out, "%u", found.found_id);
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
