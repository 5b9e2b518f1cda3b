/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that libpmix calls on its own threads. They use only their arguments and constant
 * data, and pass each call to the loop.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "slurmstepd/pmixd/pmixd.h"

#define KEY_MAX 511
#define LABEL_MAX 511
#define NAMES_MAX 1024 /* names per request */

static const struct pmixd_job *job;
static const struct pmixd_lib *lib;
static int wake_fd;

/* State of each local task; written by the library's threads. */
enum presence { NEVER, PRESENT, GONE };
static _Atomic unsigned char *presence;
static _Atomic uint32_t come; /* number of local tasks that have ever connected */

void pmixd_call_free(struct pmixd_call *c)
{
    for (size_t i = 0; i < c->name_count; i++) {
        free(c->names[i].key);
        free(c->names[i].data);
    }
    free(c->names);
    free(c->group);
    free(c->nodes);
    free(c->steps);
    if (c->spawn)
        pb__spawn__free_unpacked(c->spawn, NULL);
    free(c->text);
    free(c->data);
    free(c);
}

struct pmixd_call *pmixd_call_new(enum pmixd_kind kind, void *ctx)
{
    struct pmixd_call *c = mem_new(struct pmixd_call);

    c->kind = kind;
    c->ctx = ctx;
    return c;
}

void pmixd_call_post(struct pmixd_call *c)
{
    ssize_t n;

    do {
        n = write(wake_fd, &c, sizeof(c));
    } while (n < 0 && errno == EINTR);
}

void pmixd_call_keep(struct pmixd_call *c, const char *data, size_t len)
{
    c->data = mem_alloc(len ? len : 1);
    if (len)
        memcpy(c->data, data, len);
    c->len = len;
}

static bool is_ours(const pmix_proc_t *proc)
{
    return !strncmp(proc->nspace, job->nspace, PMIX_MAX_NSLEN);
}

struct member {
    uint32_t step, rank;
};

static int by_step(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return x->step != y->step  ? (x->step < y->step ? -1 : 1)
           : x->rank < y->rank ? -1
                               : x->rank > y->rank;
}

/* Determines the members in an order that is equal on every node; NOT_SUPPORTED: a task belongs to
   another job. */
static pmix_status_t read_members(const pmix_proc_t *procs, size_t count, struct member *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i].rank = procs[i].rank;
        if (!pmixd_job_step_of(job, procs[i].nspace, &out[i].step))
            return PMIX_ERR_NOT_SUPPORTED;
        if (out[i].step == job->step && out[i].rank != PMIX_RANK_WILDCARD &&
            out[i].rank >= job->size)
            return PMIX_ERR_NOT_SUPPORTED;
    }
    qsort(out, count, sizeof(*out), by_step);
    return PMIX_SUCCESS;
}

/* Formats the tasks of one step as "0-3,7" or "*"; returns their number. */
static size_t put_step(const struct member *m, size_t left, struct str *text)
{
    size_t count = 0;
    bool all = false;

    while (count < left && m[count].step == m->step)
        all |= m[count++].rank == PMIX_RANK_WILDCARD;
    str_printf(text, "/%u:%s", m->step, all ? "*" : "");
    for (size_t i = 0, run; i < count && !all; i += run) {
        for (run = 1; i + run < count && m[i + run].rank - m[i].rank <= run; run++)
            ;
        str_printf(text, "%s%u-%u", i ? "," : "", m[i].rank, m[i + run - 1].rank);
    }
    return count;
}

static void put_member_nodes(struct pmixd_call *c, const struct member *m, size_t count)
{
    _cleanup_free_ bool *there = mem_new_array(bool, job->nodes);
    bool all = !count;

    for (size_t i = 0; i < count; i++)
        if (m[i].step != job->step)
            continue;
        else if (m[i].rank == PMIX_RANK_WILDCARD)
            all = true;
        else
            there[job->node_of[m[i].rank]] = true;
    c->nodes = mem_new_array(uint32_t, job->nodes);
    for (uint32_t n = 0; n < job->nodes; n++)
        if (all || there[n])
            c->nodes[c->node_count++] = n;
}

pmix_status_t pmixd_call_set_group(struct pmixd_call *c, char kind, const pmix_proc_t *procs,
                                   size_t count, const char *label)
{
    _cleanup_free_ struct member *members = mem_new_array(struct member, count + 1);
    _cleanup_str_ struct str text = STR_INIT;
    pmix_status_t rc = read_members(procs, count, members);

    if (rc != PMIX_SUCCESS)
        return rc;
    str_printf(&text, "%c%.*s", kind, LABEL_MAX, label);
    c->steps = mem_new_array(uint32_t, count + 1);
    for (size_t i = 0; i < count;) {
        c->steps[c->step_count++] = members[i].step;
        i += put_step(&members[i], count - i, &text);
    }
    if (c->step_count == 1 && c->steps[0] == job->step)
        c->step_count = 0;
    c->group = str_take(&text);
    put_member_nodes(c, members, count);
    return PMIX_SUCCESS;
}

static pmix_status_t begin_fence(char kind, const pmix_proc_t *procs, size_t count,
                                 const char *data, size_t len, pmix_modex_cbfunc_t modex,
                                 pmix_op_cbfunc_t op, void *ctx)
{
    struct pmixd_call *c = pmixd_call_new(PMIXD_FENCE, ctx);
    pmix_status_t rc = pmixd_call_set_group(c, kind, procs, count, "");

    if (rc != PMIX_SUCCESS) {
        pmixd_call_free(c);
        return rc;
    }
    c->modex = modex;
    c->op = op;
    pmixd_call_keep(c, data, len);
    pmixd_call_post(c);
    return PMIX_SUCCESS;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                              size_t infos, char *data, size_t len, pmix_modex_cbfunc_t done,
                              void *ctx)
{
    return begin_fence('f', procs, count, data, len, done, NULL, ctx);
}

static pmix_status_t on_connect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                                size_t infos, pmix_op_cbfunc_t done, void *ctx)
{
    return begin_fence('c', procs, count, NULL, 0, NULL, done, ctx);
}

static pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t count,
                                   const pmix_info_t info[], size_t infos, pmix_op_cbfunc_t done,
                                   void *ctx)
{
    return begin_fence('d', procs, count, NULL, 0, NULL, done, ctx);
}

static pmix_status_t on_get(const pmix_proc_t *proc, const pmix_info_t info[], size_t infos,
                            pmix_modex_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c;
    uint32_t step;

    if (!pmixd_job_step_of(job, proc->nspace, &step) ||
        (step == job->step && proc->rank >= job->size))
        return PMIX_ERR_NOT_FOUND;
    c = pmixd_call_new(PMIXD_GET, ctx);
    c->modex = done;
    c->has_step = step != job->step;
    c->step = step;
    c->task = proc->rank;
    pmixd_call_post(c);
    return PMIX_SUCCESS;
}

void pmixd_calls_found(pmix_status_t status, char *data, size_t len, void *call)
{
    struct pmixd_call *c = call;

    c->status = status;
    pmixd_call_keep(c, data, len);
    pmixd_call_post(c);
}

static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c = pmixd_call_new(PMIXD_ABORT, ctx);

    c->op = done;
    c->status = status;
    c->text = mem_strdup(text);
    c->task = proc->rank;
    pmixd_call_post(c);
    return PMIX_SUCCESS;
}

static void note_client(const pmix_proc_t *proc, enum presence what)
{
    if (is_ours(proc) && proc->rank < job->size)
        atomic_store(&presence[proc->rank], what);
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *ctx)
{
    note_client(proc, GONE);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                  size_t count, pmix_op_cbfunc_t done, void *ctx)
{
    if (is_ours(proc) && proc->rank < job->size &&
        atomic_exchange(&presence[proc->rank], PRESENT) == NEVER &&
        atomic_fetch_add(&come, 1) + 1 == job->count[job->node])
        pmixd_call_post(pmixd_call_new(PMIXD_BEGUN, NULL));
    return PMIX_OPERATION_SUCCEEDED;
}

/* The library of each node knows which events its tasks have registered for; all of them are sent
   there. */
static pmix_status_t on_register_events(pmix_status_t *codes, size_t count,
                                        const pmix_info_t info[], size_t infos,
                                        pmix_op_cbfunc_t done, void *ctx)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_deregister_events(pmix_status_t *codes, size_t count, pmix_op_cbfunc_t done,
                                          void *ctx)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static struct pmixd_call *lost_call(enum pmixd_kind kind, uint32_t rank)
{
    struct pmixd_call *c = pmixd_call_new(kind, NULL);

    c->broken = true;
    c->status = 1;
    c->text = mem_strdup("it has ended without MPI_Finalize, and the others would wait for it");
    c->task = rank;
    return c;
}

void pmixd_calls_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t infos, pmix_info_t *results, size_t result_count,
                       pmix_event_notification_cbfunc_fn_t done, void *ctx)
{
    if (source && is_ours(source) && source->rank < job->size &&
        (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_PROC_ABORTED)) {
        note_client(source, GONE);
        pmixd_call_post(lost_call(PMIXD_ABORT, source->rank));
    }
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, ctx);
}

void pmixd_calls_left(void)
{
    struct pmixd_call *c = NULL;

    for (uint32_t i = 0; i < job->size && !c; i++)
        if (atomic_load(&presence[i]) == PRESENT)
            c = lost_call(PMIXD_LEFT, i);
    pmixd_call_post(c ? c : pmixd_call_new(PMIXD_LEFT, NULL));
}

/* Packs the value for the library of another node. */
static int pack_name_value(const pmix_value_t *value, struct pmixd_name *name)
{
    pmix_data_buffer_t buffer;
    pmix_byte_object_t bytes = {0};
    pmix_status_t rc;

    memset(&buffer, 0, sizeof(buffer));
    rc = lib->PMIx_Data_pack(NULL, &buffer, (void *)value, 1, PMIX_VALUE);
    if (rc == PMIX_SUCCESS)
        rc = lib->PMIx_Data_unload(&buffer, &bytes);
    name->data = bytes.bytes;
    name->len = bytes.size;
    return rc;
}

static bool is_directive(const pmix_info_t *info)
{
    static const char *const keys[] = {PMIX_RANGE, PMIX_PERSISTENCE, PMIX_TIMEOUT, PMIX_WAIT};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!strncmp(info->key, keys[i], PMIX_MAX_KEYLEN))
            return true;
    return !strncmp(info->key, "pmix.", 5); /* a standard key, not a user's */
}

static pmix_status_t on_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t count,
                                pmix_op_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c;

    if (!is_ours(proc) || count > NAMES_MAX)
        return PMIX_ERR_BAD_PARAM;
    c = pmixd_call_new(PMIXD_PUBLISH, ctx);
    c->op = done;
    c->task = proc->rank;
    c->names = mem_new_array(struct pmixd_name, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct pmixd_name *n = &c->names[c->name_count];

        if (is_directive(&info[i]))
            continue;
        n->key = mem_strndup(info[i].key, KEY_MAX);
        c->name_count++;
        if (pack_name_value(&info[i].value, n) != PMIX_SUCCESS) {
            pmixd_call_free(c);
            return PMIX_ERR_NOT_SUPPORTED;
        }
        if (n->len > PMIXD_BLOB_MAX) { /* it would never arrive */
            pmixd_call_free(c);
            return PMIX_ERR_OUT_OF_RESOURCE;
        }
    }
    pmixd_call_post(c);
    return PMIX_SUCCESS;
}

static struct pmixd_call *new_names_call(enum pmixd_kind kind, const pmix_proc_t *proc, char **keys,
                                         void *ctx)
{
    struct pmixd_call *c = pmixd_call_new(kind, ctx);
    size_t count = 0;

    while (keys && keys[count] && count < NAMES_MAX)
        count++;
    c->task = proc->rank;
    c->names = mem_new_array(struct pmixd_name, count + 1);
    for (size_t i = 0; i < count; i++)
        c->names[c->name_count++].key = mem_strndup(keys[i], KEY_MAX);
    return c;
}

static pmix_status_t on_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                               size_t count, pmix_lookup_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c;

    if (!is_ours(proc))
        return PMIX_ERR_BAD_PARAM;
    c = new_names_call(PMIXD_LOOKUP, proc, keys, ctx);
    c->lookup = done;
    for (size_t i = 0; i < count; i++)
        c->wait |= !strncmp(info[i].key, PMIX_WAIT, PMIX_MAX_KEYLEN);
    pmixd_call_post(c);
    return PMIX_SUCCESS;
}

static pmix_status_t on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                  size_t count, pmix_op_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c;

    if (!is_ours(proc))
        return PMIX_ERR_BAD_PARAM;
    c = new_names_call(PMIXD_UNPUBLISH, proc, keys, ctx);
    c->op = done;
    pmixd_call_post(c);
    return PMIX_SUCCESS;
}

void pmixd_calls_init(pmix_server_module_t *module, const struct pmixd_job *the_job,
                      const struct pmixd_lib *the_lib, int pipe_fd)
{
    job = the_job;
    lib = the_lib;
    wake_fd = pipe_fd;
    presence = mem_new_array(_Atomic unsigned char, job->size);
    module->client_connected2 = on_connected;
    module->client_finalized = on_finalized;
    module->abort = on_abort;
    module->fence_nb = on_fence;
    module->direct_modex = on_get;
    module->publish = on_publish;
    module->lookup = on_lookup;
    module->unpublish = on_unpublish;
    module->spawn = pmixd_spawn_call;
    module->connect = on_connect;
    module->disconnect = on_disconnect;
    module->register_events = on_register_events;
    module->deregister_events = on_deregister_events;
    module->notify_event = pmixd_more_notify;
    module->group = pmixd_more_group;
    module->query = pmixd_more_query;
    module->job_control = pmixd_more_control;
    pmixd_more_init(job, lib);
    pmixd_spawn_init(job);
}
