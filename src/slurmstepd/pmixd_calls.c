/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that libpmix calls on its own threads. They touch nothing but their arguments and
 * what is constant, and hand a call over to the loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "slurmstepd/pmixd.h"

#define KEY_MAX 511
#define NAMES_MAX 1024 /* of one question */

static const struct pmixd_job *job;
static const struct pmixd_lib *lib;
static int wake_fd;

void pmixd_call_free(struct pmixd_call *c)
{
    for (size_t i = 0; i < c->name_count; i++) {
        free(c->names[i].key);
        free(c->names[i].data);
    }
    free(c->names);
    free(c->group);
    free(c->nodes);
    free(c->text);
    free(c->data);
    free(c);
}

static struct pmixd_call *call_new(enum pmixd_kind kind, void *ctx)
{
    struct pmixd_call *c = mem_new(struct pmixd_call);

    c->kind = kind;
    c->ctx = ctx;
    return c;
}

static void post(struct pmixd_call *c)
{
    ssize_t n;

    do {
        n = write(wake_fd, &c, sizeof(c));
    } while (n < 0 && errno == EINTR);
}

static void keep_data(struct pmixd_call *c, const char *data, size_t len)
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

static int rising(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The tasks of a fence: their nodes, and a name for them that every node finds. */
static int set_group(struct pmixd_call *c, char kind, const pmix_proc_t *procs, size_t count)
{
    _cleanup_free_ uint32_t *ranks = mem_new_array(uint32_t, count + 1);
    _cleanup_free_ bool *there = mem_new_array(bool, job->nodes);
    _cleanup_str_ struct str text = STR_INIT;
    bool all = !count;

    for (size_t i = 0; i < count; i++) {
        ranks[i] = procs[i].rank;
        all |= ranks[i] == PMIX_RANK_WILDCARD;
        if (!is_ours(&procs[i]) || (ranks[i] != PMIX_RANK_WILDCARD && ranks[i] >= job->size))
            return PMIX_ERR_NOT_SUPPORTED;
    }
    str_putc(&text, kind);
    qsort(ranks, count, sizeof(*ranks), rising);
    for (size_t i = 0, run; i < count && !all; i += run) {
        for (run = 1; i + run < count && ranks[i + run] - ranks[i] <= run; run++)
            ;
        str_printf(&text, "%s%u-%u", i ? "," : "", ranks[i], ranks[i + run - 1]);
    }
    c->group = str_take(&text);
    for (size_t i = 0; i < count && !all; i++)
        there[job->node_of[ranks[i]]] = true;
    c->nodes = mem_new_array(uint32_t, job->nodes);
    for (uint32_t n = 0; n < job->nodes; n++)
        if (all || there[n])
            c->nodes[c->node_count++] = n;
    return PMIX_SUCCESS;
}

static pmix_status_t meet(char kind, const pmix_proc_t *procs, size_t count, const char *data,
                          size_t len, pmix_modex_cbfunc_t modex, pmix_op_cbfunc_t op, void *ctx)
{
    struct pmixd_call *c = call_new(PMIXD_FENCE, ctx);
    pmix_status_t rc = set_group(c, kind, procs, count);

    if (rc != PMIX_SUCCESS) {
        pmixd_call_free(c);
        return rc;
    }
    c->modex = modex;
    c->op = op;
    keep_data(c, data, len);
    post(c);
    return PMIX_SUCCESS;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                              size_t infos, char *data, size_t len, pmix_modex_cbfunc_t done,
                              void *ctx)
{
    return meet('f', procs, count, data, len, done, NULL, ctx);
}

static pmix_status_t on_connect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                                size_t infos, pmix_op_cbfunc_t done, void *ctx)
{
    return meet('c', procs, count, NULL, 0, NULL, done, ctx);
}

static pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t count,
                                   const pmix_info_t info[], size_t infos, pmix_op_cbfunc_t done,
                                   void *ctx)
{
    return meet('d', procs, count, NULL, 0, NULL, done, ctx);
}

static pmix_status_t on_get(const pmix_proc_t *proc, const pmix_info_t info[], size_t infos,
                            pmix_modex_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c;

    if (!is_ours(proc) || proc->rank >= job->size)
        return PMIX_ERR_NOT_FOUND;
    c = call_new(PMIXD_GET, ctx);
    c->modex = done;
    c->task = proc->rank;
    post(c);
    return PMIX_SUCCESS;
}

void pmixd_calls_found(pmix_status_t status, char *data, size_t len, void *call)
{
    struct pmixd_call *c = call;

    c->status = status;
    keep_data(c, data, len);
    post(c);
}

static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c = call_new(PMIXD_ABORT, ctx);

    c->op = done;
    c->status = status;
    c->text = mem_strdup(text);
    c->task = proc->rank;
    post(c);
    return PMIX_SUCCESS;
}

static pmix_status_t on_coming_or_going(const pmix_proc_t *proc, void *object,
                                        pmix_op_cbfunc_t done, void *ctx)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                  size_t count, pmix_op_cbfunc_t done, void *ctx)
{
    return PMIX_OPERATION_SUCCEEDED;
}

/* Events stay on their node: what the library delivers there is all there is. */
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

static pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t *source,
                               pmix_data_range_t range, pmix_info_t info[], size_t count,
                               pmix_op_cbfunc_t done, void *ctx)
{
    return PMIX_OPERATION_SUCCEEDED;
}

void pmixd_calls_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t infos, pmix_info_t *results, size_t result_count,
                       pmix_event_notification_cbfunc_fn_t done, void *ctx)
{
    if (source && is_ours(source) && source->rank < job->size &&
        (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_PROC_ABORTED)) {
        struct pmixd_call *c = call_new(PMIXD_ABORT, NULL);

        c->broken = true;
        c->status = 1;
        c->text = mem_strdup("it has ended without MPI_Finalize, and the others would wait for it");
        c->task = source->rank;
        post(c);
    }
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, ctx);
}

/* The value as bytes that another node's library unpacks. */
static int pack(const pmix_value_t *value, struct pmixd_name *name)
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
    return !strncmp(info->key, "pmix.", 5); /* of the standard, not the user's */
}

static pmix_status_t on_publish(const pmix_proc_t *proc, const pmix_info_t info[], size_t count,
                                pmix_op_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c;

    if (!is_ours(proc) || count > NAMES_MAX)
        return PMIX_ERR_BAD_PARAM;
    c = call_new(PMIXD_PUBLISH, ctx);
    c->op = done;
    c->task = proc->rank;
    c->names = mem_new_array(struct pmixd_name, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct pmixd_name *n = &c->names[c->name_count];

        if (is_directive(&info[i]))
            continue;
        n->key = mem_strndup(info[i].key, KEY_MAX);
        c->name_count++;
        if (pack(&info[i].value, n) != PMIX_SUCCESS) {
            pmixd_call_free(c);
            return PMIX_ERR_NOT_SUPPORTED;
        }
    }
    post(c);
    return PMIX_SUCCESS;
}

static struct pmixd_call *of_keys(enum pmixd_kind kind, const pmix_proc_t *proc, char **keys,
                                  void *ctx)
{
    struct pmixd_call *c = call_new(kind, ctx);
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
    c = of_keys(PMIXD_LOOKUP, proc, keys, ctx);
    c->lookup = done;
    for (size_t i = 0; i < count; i++)
        c->wait |= !strncmp(info[i].key, PMIX_WAIT, PMIX_MAX_KEYLEN);
    post(c);
    return PMIX_SUCCESS;
}

static pmix_status_t on_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                  size_t count, pmix_op_cbfunc_t done, void *ctx)
{
    struct pmixd_call *c;

    if (!is_ours(proc))
        return PMIX_ERR_BAD_PARAM;
    c = of_keys(PMIXD_UNPUBLISH, proc, keys, ctx);
    c->op = done;
    post(c);
    return PMIX_SUCCESS;
}

void pmixd_calls_init(pmix_server_module_t *module, const struct pmixd_job *the_job,
                      const struct pmixd_lib *the_lib, int pipe_fd)
{
    job = the_job;
    lib = the_lib;
    wake_fd = pipe_fd;
    module->client_connected2 = on_connected;
    module->client_finalized = on_coming_or_going;
    module->abort = on_abort;
    module->fence_nb = on_fence;
    module->direct_modex = on_get;
    module->publish = on_publish;
    module->lookup = on_lookup;
    module->unpublish = on_unpublish;
    module->connect = on_connect;
    module->disconnect = on_disconnect;
    module->register_events = on_register_events;
    module->deregister_events = on_deregister_events;
    module->notify_event = on_notify;
}
