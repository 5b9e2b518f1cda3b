/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validation of the stored record of a job. Whatever depends on the configuration, which may have
 * changed, is not a contradiction. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/job/job_record.h"

#define SAYS(m, field) ((m)->has_##field && (m)->field)

static bool state_is_final(enum _Pb__JobState state)
{
    return state != PB__JOB_STATE__PENDING && state != PB__JOB_STATE__RUNNING &&
           state != PB__JOB_STATE__SUSPENDED;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_node_twice(const Pb__JobLive *m)
{
    if (m->n_alloc < 2)
        return false;
    _cleanup_free_ const char **names = mem_new_array(const char *, m->n_alloc);
    bool twice = false;
    for (size_t i = 0; i < m->n_alloc; i++)
        names[i] = m->alloc[i]->node;
    qsort(names, m->n_alloc, sizeof(names[0]), by_name);
    for (size_t i = 1; i < m->n_alloc; i++)
        twice |= strcmp(names[i - 1], names[i]) == 0;
    return twice;
}

/* Returns NULL if the record is consistent. */
static const char *find_contradiction(const Pb__JobLive *m)
{
    bool final = state_is_final(m->state);
    if (SAYS(m, completing) && !final)
        return "it is completing and has not ended";
    if (SAYS(m, configuring) && m->state != PB__JOB_STATE__RUNNING)
        return "it is configuring and does not run";
    for (size_t i = 0; i < m->n_alloc; i++)
        if (SAYS(m->alloc[i], parked) && m->state != PB__JOB_STATE__SUSPENDED && !final)
            return "it has given its cores away and is not suspended";
    if (m->array_tasks && m->n_alloc)
        return "it is several elements of an array and has nodes";
    if (m->has_array_job_id != (m->array_tasks || m->has_array_task_id))
        return "it is in an array, and no element of it";
    if (m->state == PB__JOB_STATE__PENDING && m->n_alloc)
        return "it is pending and has nodes";
    if (!final && m->state != PB__JOB_STATE__PENDING && !m->n_alloc)
        return "it runs and has no nodes";
    return has_node_twice(m) ? "it has a node twice" : NULL;
}

/* Finds fields that would be lost, because this version packs them anew. */
static const ProtobufCMessage *find_lost(const Pb__JobLive *m)
{
    for (size_t i = 0; i < m->n_alloc; i++)
        if (m->alloc[i]->base.n_unknown_fields)
            return &m->alloc[i]->base;
    return NULL;
}

int job_record_check(const Pb__JobRecord *record, uint64_t id, struct err *err)
{
    const Pb__JobLive *m = record->live;
    if (!record->spec || !m)
        return err_set(err, -ERR_STORE_DAMAGED, "job %llu: its record is not whole",
                       (unsigned long long)id);
    if (m->job_id != id)
        return err_set(err, -ERR_STORE_DAMAGED, "job %llu: its record is that of job %u",
                       (unsigned long long)id, m->job_id);
    if (!record->spec->has_uid || !record->spec->has_gid)
        return err_set(err, -ERR_STORE_DAMAGED, "job %u: its record does not say whose it is",
                       m->job_id);
    if ((unsigned)m->state > PB__JOB_STATE__OUT_OF_MEMORY)
        return err_set(err, -ERR_STORE_DAMAGED, "job %u: its record has the unknown state %d",
                       m->job_id, (int)m->state);
    const ProtobufCMessage *lost = find_lost(m);
    if (lost)
        return err_set(err, -ERR_VERSION,
                       "job %u: its record was written by a newer version, with a field %u of %s "
                       "that this one does not know and could not keep",
                       m->job_id, lost->unknown_fields[0].tag, lost->descriptor->short_name);
    const char *why = find_contradiction(m);
    return why ? err_set(err, -ERR_STORE_DAMAGED, "job %u: its record contradicts itself: %s",
                         m->job_id, why)
               : 0;
}
