/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Further functions of the module, on the library's threads: groups, events for other nodes,
 * queries about the job, and job control. Functions that are absent here are answered by the
 * library as not supported.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "slurmstepd/pmixd/pmixd.h"

#define INFOS_MAX 1024 /* attributes per event */

static const struct pmixd_job *job;
static const struct pmixd_lib *lib;

void pmixd_more_init(const struct pmixd_job *the_job, const struct pmixd_lib *the_lib)
{
    job = the_job;
    lib = the_lib;
}

static bool is_info_key(const pmix_info_t *info, const char *key)
{
    return !strncmp(info->key, key, PMIX_MAX_KEYLEN);
}

/* The presence of a flag also sets it. */
static bool is_set(const pmix_info_t *info)
{
    return info->value.type != PMIX_BOOL || info->value.data.flag;
}

/* --- groups ----------------------------------------------------------------------------------- */

pmix_status_t pmixd_more_group(pmix_group_operation_t op, char group[], const pmix_proc_t procs[],
                               size_t count, const pmix_info_t info[], size_t infos,
                               pmix_info_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c = pmixd_call_new(PMIXD_FENCE, ctx);
    const char *data = NULL;
    size_t len = 0;
    pmix_status_t rc;

    c->grouped = done;
    for (size_t i = 0; i < infos; i++) {
        if (is_info_key(&info[i], PMIX_GROUP_ASSIGN_CONTEXT_ID))
            c->wants_context = is_set(&info[i]);
        if (!is_info_key(&info[i], PMIX_GROUP_ENDPT_DATA) || info[i].value.type != PMIX_BYTE_OBJECT)
            continue;
        data = info[i].value.data.bo.bytes;
        len = info[i].value.data.bo.size;
    }
    rc = pmixd_call_set_group(c, op == PMIX_GROUP_CONSTRUCT ? 'g' : 'h', procs, count, group);
    if (rc != PMIX_SUCCESS) {
        pmixd_call_free(c);
        return rc;
    }
    pmixd_call_keep(c, data, len);
    pmixd_call_post(c);
    return PMIX_SUCCESS;
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_local(pmix_data_range_t range)
{
    return range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL || range == PMIX_RANGE_RM;
}

static pmix_status_t pack_value(pmix_data_buffer_t *out, const void *what, size_t count,
                                pmix_data_type_t type)
{
    return count ? lib->PMIx_Data_pack(NULL, out, (void *)what, (int32_t)count, type)
                 : PMIX_SUCCESS;
}

static pmix_status_t pack_event(pmix_data_buffer_t *out, pmix_status_t code,
                                const pmix_proc_t *source, pmix_data_range_t range,
                                const pmix_info_t info[], size_t count)
{
    pmix_status_t rc = pack_value(out, &code, 1, PMIX_STATUS);

    if (rc == PMIX_SUCCESS)
        rc = pack_value(out, source, 1, PMIX_PROC);
    if (rc == PMIX_SUCCESS)
        rc = pack_value(out, &range, 1, PMIX_DATA_RANGE);
    if (rc == PMIX_SUCCESS)
        rc = pack_value(out, &count, 1, PMIX_SIZE);
    return rc == PMIX_SUCCESS ? pack_value(out, info, count, PMIX_INFO) : rc;
}

/* The library notifies the local tasks by itself. */
pmix_status_t pmixd_more_notify(pmix_status_t code, const pmix_proc_t *source,
                                pmix_data_range_t range, pmix_info_t info[], size_t count,
                                pmix_op_cbfunc_t done, void *ctx)
{
    pmix_data_buffer_t buffer;
    pmix_byte_object_t bytes = {0};
    struct pmixd_call *c;
    pmix_status_t rc;

    if (is_local(range) || job->nodes == 1)
        return PMIX_OPERATION_SUCCEEDED;
    if (count > INFOS_MAX)
        return PMIX_ERR_BAD_PARAM;
    memset(&buffer, 0, sizeof(buffer));
    rc = pack_event(&buffer, code, source, range, info, count);
    if (rc == PMIX_SUCCESS)
        rc = lib->PMIx_Data_unload(&buffer, &bytes);
    if (rc != PMIX_SUCCESS)
        return rc;
    c = pmixd_call_new(PMIXD_EVENT, NULL);
    c->data = bytes.bytes;
    c->len = bytes.size;
    pmixd_call_post(c);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t unpack_value(pmix_data_buffer_t *in, void *out, size_t count,
                                  pmix_data_type_t type)
{
    int32_t n = (int32_t)count;

    return count ? lib->PMIx_Data_unpack(NULL, in, out, &n, type) : PMIX_SUCCESS;
}

struct event {
    pmix_proc_t source;
    pmix_info_t *info;
    size_t count;
};

static void event_free(pmix_status_t status, void *ctx)
{
    struct event *e = ctx;

    free(e->info); /* memory referenced by it is small and belongs to the library's allocator */
    free(e);
}

/* Called by the loop for an event of another node. */
void pmixd_more_event(const void *data, size_t len)
{
    pmix_byte_object_t bytes = {mem_dup(data, len), len};
    struct event *e = mem_new(struct event);
    pmix_data_buffer_t in;
    pmix_data_range_t range;
    pmix_status_t code, rc;

    memset(&in, 0, sizeof(in));
    rc = lib->PMIx_Data_load(&in, &bytes);
    if (rc == PMIX_SUCCESS)
        rc = unpack_value(&in, &code, 1, PMIX_STATUS);
    if (rc == PMIX_SUCCESS)
        rc = unpack_value(&in, &e->source, 1, PMIX_PROC);
    if (rc == PMIX_SUCCESS)
        rc = unpack_value(&in, &range, 1, PMIX_DATA_RANGE);
    if (rc == PMIX_SUCCESS)
        rc = unpack_value(&in, &e->count, 1, PMIX_SIZE);
    if (rc == PMIX_SUCCESS && e->count > INFOS_MAX)
        rc = PMIX_ERR_BAD_PARAM;
    if (rc == PMIX_SUCCESS) {
        e->info = mem_new_array(pmix_info_t, e->count + 1);
        rc = unpack_value(&in, e->info, e->count, PMIX_INFO);
    }
    if (rc == PMIX_SUCCESS)
        rc = lib->PMIx_Notify_event(code, &e->source, range, e->info, e->count, event_free, e);
    if (rc != PMIX_SUCCESS)
        event_free(rc, e);
}

/* --- queries ---------------------------------------------------------------------------------- */

static bool reply_query(const char *key, pmix_info_t *out)
{
    static const struct {
        const char *key;
        bool is_nodes;
    } numbers[] = {{PMIX_JOB_SIZE, false},
                   {PMIX_UNIV_SIZE, false},
                   {PMIX_MAX_PROCS, false},
                   {PMIX_NUM_NODES, true}};

    memset(out, 0, sizeof(*out));
    strncpy(out->key, key, sizeof(out->key) - 1);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(key, numbers[i].key) != 0)
            continue;
        out->value.type = PMIX_UINT32;
        out->value.data.uint32 = numbers[i].is_nodes ? job->nodes : job->size;
        return true;
    }
    out->value.type = PMIX_STRING;
    if (!strcmp(key, PMIX_QUERY_NAMESPACES))
        out->value.data.string = mem_strdup(job->nspace);
    else if (!strcmp(key, PMIX_QUERY_SPAWN_SUPPORT))
        out->value.data.string = mem_strdup(PMIX_HOST "," PMIX_WDIR);
    else if (!strcmp(key, PMIX_JOBID))
        out->value.data.string = mem_strdup(job->id);
    else
        return false;
    return true;
}

struct answers {
    VEC(pmix_info_t) list;
};

static void answers_free(void *ctx)
{
    struct answers *a = ctx;

    for (size_t i = 0; i < a->list.len; i++)
        if (a->list.data[i].value.type == PMIX_STRING)
            free(a->list.data[i].value.data.string);
    vec_done(&a->list);
    free(a);
}

pmix_status_t pmixd_more_query(pmix_proc_t *proc, pmix_query_t *queries, size_t count,
                               pmix_info_cbfunc_t done, void *ctx)
{
    struct answers *a = mem_new(struct answers);
    pmix_status_t status = PMIX_SUCCESS;
    pmix_info_t info;
    bool missing = false;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; queries[i].keys && queries[i].keys[k] && k < INFOS_MAX; k++)
            if (reply_query(queries[i].keys[k], &info))
                vec_push(&a->list, info);
            else
                missing = true;
    if (missing)
        status = a->list.len ? PMIX_QUERY_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
    done(status, a->list.data, a->list.len, ctx, answers_free, a);
    return PMIX_SUCCESS;
}

/* --- control ---------------------------------------------------------------------------------- */

/* Only a whole step can be controlled. */
static bool is_whole(const pmix_proc_t *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(targets[i].nspace, job->nspace, PMIX_MAX_NSLEN) != 0 ||
            (targets[i].rank != PMIX_RANK_WILDCARD && job->size > 1))
            return false;
    return true;
}

static void end_all(const pmix_proc_t *who)
{
    struct pmixd_call *c = pmixd_call_new(PMIXD_ABORT, NULL);

    c->status = 1;
    c->task = who->rank;
    c->text = mem_strdup("it has asked for the end of all (PMIx_Job_control)");
    pmixd_call_post(c);
}

static void signal_all(int number)
{
    struct pmixd_call *c = pmixd_call_new(PMIXD_EVENT, NULL);

    c->signal = number;
    pmixd_call_post(c);
}

pmix_status_t pmixd_more_control(const pmix_proc_t *who, const pmix_proc_t targets[], size_t count,
                                 const pmix_info_t info[], size_t infos, pmix_info_cbfunc_t done,
                                 void *ctx)
{
    pmix_status_t rc = PMIX_ERR_NOT_SUPPORTED;

    if (!is_whole(targets, count))
        return rc;
    for (size_t i = 0; i < infos; i++) {
        const pmix_value_t *v = &info[i].value;

        if (is_info_key(&info[i], PMIX_JOB_CTRL_SIGNAL) && v->type == PMIX_INT &&
            v->data.integer > 0 && v->data.integer < NSIG)
            signal_all(v->data.integer);
        else if ((is_info_key(&info[i], PMIX_JOB_CTRL_KILL) ||
                  is_info_key(&info[i], PMIX_JOB_CTRL_TERMINATE)) &&
                 is_set(&info[i]))
            end_all(who);
        else
            continue;
        rc = PMIX_OPERATION_SUCCEEDED;
    }
    return rc;
}
