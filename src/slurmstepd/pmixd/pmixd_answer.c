/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "slurmstepd/pmixd/pmixd_loop.h"

static void on_released(void *data)
{
    free(data);
}

struct results {
    pmix_info_t info[2];
    size_t count;
};

static void on_results_read(void *ctx)
{
    struct results *r = ctx;

    for (size_t i = 0; i < r->count; i++) /* the library may have taken ownership of the bytes */
        if (r->info[i].value.type == PMIX_BYTE_OBJECT)
            free(r->info[i].value.data.bo.bytes);
    free(r);
}

/* Delivers the data of all members of a new group, and its context number. */
void pmixd_answer_group(const struct pmixd_call *c, uint64_t context, const void *data, size_t len)
{
    struct results *r = mem_new(struct results);
    pmix_info_t *i = r->info;

    if (c->wants_context) {
        strncpy(i->key, PMIX_GROUP_CONTEXT_ID, sizeof(i->key) - 1);
        i->value.type = PMIX_SIZE;
        i->value.data.size = context;
        i++;
    }
    if (len) {
        strncpy(i->key, PMIX_GROUP_ENDPT_DATA, sizeof(i->key) - 1);
        i->value.type = PMIX_BYTE_OBJECT;
        i->value.data.bo = (pmix_byte_object_t){mem_dup(data, len), len};
        i++;
    }
    r->count = (size_t)(i - r->info);
    c->grouped(PMIX_SUCCESS, r->info, r->count, c->ctx, on_results_read, r);
}

/* Passes data to the library, which returns it to be freed after reading. */
void pmixd_answer_give(const struct pmixd_call *c, pmix_status_t status, const void *data,
                       size_t len)
{
    char *copy = mem_alloc(len ? len : 1);

    if (len)
        memcpy(copy, data, len);
    if (c->modex) {
        c->modex(status, copy, len, c->ctx, on_released, copy);
        return;
    }
    free(copy);
    if (c->op)
        c->op(status, c->ctx);
}

static void forget_call(struct pmixd *p, struct pmixd_call *c)
{
    struct pmixd_call **at = &p->calls;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pmixd_call_free(c);
}

static bool unpack_values(const struct pmixd *p, const struct pmixd_name *n, pmix_pdata_t *out)
{
    pmix_byte_object_t bytes = {mem_dup(n->data, n->len), n->len};
    pmix_data_buffer_t buffer;
    int32_t count = 1;

    memset(&buffer, 0, sizeof(buffer));
    pmixd_job_nspace(&p->job, n->step, out->proc.nspace);
    out->proc.rank = n->task;
    strncpy(out->key, n->key, sizeof(out->key) - 1);
    return p->lib->PMIx_Data_load(&buffer, &bytes) == PMIX_SUCCESS &&
           p->lib->PMIx_Data_unpack(NULL, &buffer, &out->value, &count, PMIX_VALUE) == PMIX_SUCCESS;
}

void pmixd_answer_names(struct pmixd *p, struct pmixd_call *c)
{
    pmix_pdata_t *list = mem_new_array(pmix_pdata_t, c->name_count + 1);
    pmix_status_t status = PMIX_SUCCESS;
    size_t found = 0, done = 0;

    for (size_t i = 0; i < c->name_count; i++) {
        done += c->names[i].found;
        if (c->names[i].found && c->lookup && unpack_values(p, &c->names[i], &list[found]))
            found++;
    }
    if (c->lookup && found < c->name_count)
        status = found ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
    else if (c->kind == PMIXD_PUBLISH && done < c->name_count)
        status = PMIX_ERR_DUPLICATE_KEY;
    if (c->lookup)
        c->lookup(status, list, found, c->ctx); /* copies the list */
    else if (c->op)
        c->op(status, c->ctx);
    free(list);
    forget_call(p, c);
}

void pmixd_answer_fenced(struct pmixd *p, const Pb__PmixFence *m)
{
    for (struct pmixd_call *c = p->calls; c; c = c->next)
        if (c->kind == PMIXD_FENCE && !strcmp(c->group, m->group)) {
            for (size_t i = 0; i < m->n_job; i++)
                pmixd_job_add_other(&p->job, p->lib, m->job[i]);
            if (c->grouped)
                pmixd_answer_group(c, m->context, m->data.data, m->data.len);
            else
                pmixd_answer_give(c, PMIX_SUCCESS, m->data.data, m->data.len);
            forget_call(p, c);
            return;
        }
}

void pmixd_answer_got(struct pmixd *p, const Pb__PmixGot *m)
{
    for (struct pmixd_call *c = p->calls; c; c = c->next)
        if (c->kind == PMIXD_GET && c->id == m->id) {
            pmixd_answer_give(c, m->status, m->data.data, m->data.len);
            forget_call(p, c);
            return;
        }
}

/* Another node requests data of a local task; the library answers when the task has put it. */
void pmixd_answer_get(struct pmixd *p, const Pb__PmixGet *m)
{
    struct pmixd_call *c = mem_new(struct pmixd_call);
    pmix_proc_t proc;
    pmix_status_t rc;

    memset(&proc, 0, sizeof(proc));
    memcpy(proc.nspace, p->job.nspace, sizeof(p->job.nspace));
    proc.rank = m->task;
    c->kind = PMIXD_GOT;
    c->id = m->id;
    c->node = m->node;
    c->has_step = m->has_from && m->from != p->job.step;
    c->step = m->from;
    rc = p->lib->PMIx_server_dmodex_request(&proc, pmixd_calls_found, c);
    if (rc == PMIX_SUCCESS)
        return;
    c->status = rc;
    pmixd_ask_got(p, c);
}

void pmixd_answer_name(struct pmixd *p, uint64_t id, const Pb__NameReply *m)
{
    struct pmixd_call *c = p->calls;
    uint32_t index = (uint32_t)id;
    struct pmixd_name *n;

    while (c && (c->id != id >> 32 || !c->names))
        c = c->next;
    if (!c || index >= c->name_count)
        return;
    n = &c->names[index];
    n->found = m->done;
    if (c->kind == PMIXD_LOOKUP && m->has_value) {
        free(n->data);
        n->data = mem_alloc(m->value.len + 1);
        memcpy(n->data, m->value.data, m->value.len);
        n->len = m->value.len;
        n->task = m->task;
        n->step = m->has_step ? m->step : p->job.step;
    }
    if (!--c->left)
        pmixd_answer_names(p, c);
}

void pmixd_answer_spawned(struct pmixd *p, const Pb__Spawned *m)
{
    char nspace[PMIX_MAX_NSLEN + 1] = "";

    for (struct pmixd_call *c = p->calls; c; c = c->next) {
        if (c->kind != PMIXD_SPAWN || c->id != m->id)
            continue;
        if (m->code == 0) {
            pmixd_job_nspace(&p->job, m->step_id, nspace);
            p->is_related = true;
        }
        if (m->job)
            pmixd_job_add_other(&p->job, p->lib, m->job);
        c->spawned(m->code ? PMIX_ERR_JOB_FAILED_TO_LAUNCH : PMIX_SUCCESS, nspace, c->ctx);
        forget_call(p, c);
        return;
    }
}
