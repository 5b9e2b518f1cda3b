/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/core/named.h"

#include <string.h>

#include "base/str.h"
#include "cluster/job/job_set_text.h"
#include "control/core/reply.h"
#include "control/internal.h"

const char *named_set_text(const struct job *j, char buf[JOB_ID_TEXT_MAX])
{
    job_id_text(j, buf);
    buf[strcspn(buf, "+")] = '\0';
    return buf;
}

static struct job *first_component(const struct job_set *set)
{
    uint32_t i = 0;
    while (i < set->count && !set->jobs[i])
        i++;
    return i < set->count ? set->jobs[i] : NULL;
}

struct job *named_any(const struct control *c, const Pb__StepId *id)
{
    const struct array *a = array_find(c->cluster, id->job_id);
    const struct job_set *set = job_set_find(c->cluster, id->job_id);
    uint32_t offset = id->has_set_offset ? id->set_offset : 0;
    if (a)
        return array_first(a);
    if (set && offset < set->count && set->jobs[offset])
        return set->jobs[offset];
    return set ? first_component(set) : cluster_find_job(c->cluster, id->job_id);
}

bool named_lost_leader(const struct control *c, const Pb__StepId *id)
{
    const struct job_set *set = job_set_find(c->cluster, id->job_id);
    return set && !set->jobs[0] && !id->has_set_offset;
}

/* Writes "component 1 of job 122" for the job to which an offset was applied. */
static int refuse_offset(const struct job *j, struct err *err)
{
    if (!j->set)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_ORDINARY, err_text(ERR_NO_JOB),
                       JOB_ID_TEXT(j));
    return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_OWN_ID, err_text(ERR_NO_JOB), j->id,
                   j->set_offset, NAMED_SET_TEXT(j), JOB_ID_TEXT(j));
}

int named_component(const struct control *c, const Pb__StepId *id, struct job **out,
                    struct err *err)
{
    const struct job_set *set = job_set_find(c->cluster, id->job_id);
    const struct job *j = cluster_find_job(c->cluster, id->job_id);
    if (!set && !j)
        return err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
    if (!set)
        return refuse_offset(j, err);
    if (id->set_offset >= set->count)
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_OFFSETS, err_text(ERR_NO_JOB),
                       NAMED_SET_TEXT(first_component(set)), set->count - 1);
    if (!set->jobs[id->set_offset])
        return err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_LOST, err_text(ERR_NO_JOB),
                       id->set_offset, NAMED_SET_TEXT(first_component(set)));
    *out = set->jobs[id->set_offset];
    return 0;
}

int named_job(const struct control *c, const Pb__StepId *id, struct job **out, struct err *err)
{
    if (id->has_set_offset || named_lost_leader(c, id))
        return named_component(c, id, out, err);
    struct job *j = named_any(c, id);
    if (!j)
        return err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
    *out = j;
    return 0;
}

int named_element(const struct control *c, const Pb__StepId *id, struct job **out, struct err *err)
{
    const struct array *a = array_find(c->cluster, id->job_id);
    long long task;
    if (str_parse_i64(id->array_tasks, 0, ARRAY_SIZE_MAX - 1, &task) != 0)
        return control_set_error(err, ERR_NO_JOB, "name one element of the array");
    struct job *j = a ? array_element(c->cluster, a, (uint32_t)task) : NULL;
    if (!j)
        return control_set_error(err, ERR_NO_JOB, NULL);
    *out = j;
    return 0;
}

struct job *named_next(const struct job *j)
{
    struct job *next = NULL;
    for (uint32_t i = j->set_offset + 1u; j->set && !next && i < job_set_count(j); i++)
        next = job_set_component(j, i);
    return next;
}
