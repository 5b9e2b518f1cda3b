/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/job_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "cluster/cluster.h"
#include "cluster/job/job_set_text.h"

#define JOB_ID_LIMIT (1u << 31)

uint32_t job_set_count(const struct job *j)
{
    return j->set ? j->set->count : 1;
}

struct job *job_set_component(const struct job *j, uint32_t offset)
{
    assert(offset < job_set_count(j));
    return j->set ? j->set->jobs[offset] : (struct job *)j;
}

uint32_t job_set_id(const struct job *j)
{
    return j->set ? j->set->leader_id : j->id;
}

bool job_set_is_leader(const struct job *j)
{
    return j->set_offset == 0;
}

bool job_set_is_whole(const struct job *j)
{
    return !j->set || j->set->present == j->set->count;
}

void job_set_format_ids(const struct job *j, struct str *out)
{
    uint32_t first = 0, last = 0;
    const char *comma = "";
    for (uint32_t i = 0; i <= job_set_count(j); i++) {
        bool end = i == job_set_count(j);
        uint32_t id = end ? 0 : j->set ? j->set->ids[i] : j->id;
        if (first && id == last + 1) {
            last++;
            continue;
        }
        if (first && (id || end)) {
            str_printf(out, first < last ? "%s%u-%u" : "%s%u", comma, first, last);
            comma = ",";
        }
        if (id)
            first = last = id;
    }
}

void job_set_learn_ids(struct job *j, const char *ids)
{
    struct job_set *set = j->set;
    struct idset read = {0};
    uint32_t offset = 0;
    if (!idset_parse(ids, JOB_ID_LIMIT, &read, NULL) && read.count == set->count)
        idset_foreach(&read, id) set->ids[offset++] = (uint32_t)id;
    idset_done(&read);
}

int job_set_check_name(const char *name, struct err *err)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                      others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t len = strlen(name);
    if (strspn(name, letters) && strspn(name, others) == len && len <= JOB_SET_NAME_MAX)
        return 0;
    return err_set(err, -ERR_PARSE,
                   "Invalid component name '%.*s': use a letter, then letters, digits and '_', at "
                   "most %d in all",
                   JOB_SET_NAME_MAX + 8, name, JOB_SET_NAME_MAX);
}

static void free_set(struct job_set *set)
{
    free(set->ids);
    free(set);
}

static size_t find_place(const struct cluster *c, uint32_t leader_id)
{
    return vec_lower(&c->sets.list, set, (*set)->leader_id < leader_id);
}

void job_set_rank(struct job *j, enum conf_sets_rank rule)
{
    uint64_t sum = 0;
    uint32_t least = UINT32_MAX, most = 0;
    struct job_set *set = j->set;
    if (!set)
        return;
    set->rank_in_resv = false;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct job *component = set->jobs[i];
        if (!component)
            continue;
        sum += component->priority;
        least = component->priority < least ? component->priority : least;
        most = component->priority > most ? component->priority : most;
        set->rank_in_resv = set->rank_in_resv || component->resv_asked;
    }
    set->rule = rule;
    set->rank = rule == CONF_RANK_LEAST  ? least
                : rule == CONF_RANK_MOST ? most
                                         : (uint32_t)(sum / set->present);
    for (uint32_t i = 0; i < set->count; i++)
        if (set->jobs[i])
            job_partitions_move(set->jobs[i]);
}

void job_set_changed(struct job *j)
{
    struct job *leader = j->set ? j->set->jobs[0] : NULL;
    if (leader)
        leader->request_version++;
}

struct job_set *job_set_find(const struct cluster *c, uint32_t leader_id)
{
    size_t at = find_place(c, leader_id);
    bool found = at < c->sets.list.len && c->sets.list.data[at]->leader_id == leader_id;
    return found ? c->sets.list.data[at] : NULL;
}

static struct job_set *make_set(struct cluster *c, uint32_t leader_id, uint32_t count)
{
    size_t at = find_place(c, leader_id);
    struct job_set *set = mem_realloc(NULL, sizeof(*set) + count * sizeof(set->jobs[0]));
    *set = (struct job_set){.leader_id = leader_id, .count = count};
    for (uint32_t i = 0; i < count; i++)
        set->jobs[i] = NULL;
    set->ids = mem_new_array(uint32_t, count);
    vec_push(&c->sets.list, set);
    for (size_t i = c->sets.list.len - 1; i > at; i--)
        c->sets.list.data[i] = c->sets.list.data[i - 1];
    c->sets.list.data[at] = set;
    return set;
}

int job_set_join(struct cluster *c, struct job *j, uint32_t leader_id, uint32_t offset,
                 uint32_t count, struct err *err)
{
    assert(!j->set);
    struct job_set *set = job_set_find(c, leader_id);
    if (count < 2 || count > JOB_SET_MAX || offset >= count ||
        (offset == 0) != (j->id == leader_id))
        return err_set(err, -ERR_STORE_DAMAGED, JOB_SET_TEXT_DAMAGED, j->id, offset, count,
                       leader_id);
    if (set && (set->count != count || set->jobs[offset]))
        return err_set(err, -ERR_STORE_DAMAGED, JOB_SET_TEXT_DAMAGED ", which has %u components%s",
                       j->id, offset, count, leader_id, set->count,
                       set->count == count ? " and another job there" : "");
    set = set ? set : make_set(c, leader_id, count);
    set->jobs[offset] = j;
    set->ids[offset] = j->id;
    set->present++;
    j->set = set;
    j->set_offset = (uint8_t)offset;
    j->in_set = true;
    for (uint32_t i = 0; i < count; i++) /* what one may do depends on the others */
        if (set->jobs[i])
            job_set_sharing(c, set->jobs[i]);
    return 0;
}

void job_set_leave(struct cluster *c, struct job *j)
{
    struct job_set *set = j->set;
    if (!set)
        return;
    assert(set->jobs[j->set_offset] == j);
    set->jobs[j->set_offset] = NULL;
    j->set = NULL;
    j->set_offset = 0;
    j->in_set = false;
    if (--set->present)
        return;
    vec_remove(&c->sets.list, find_place(c, set->leader_id));
    free_set(set);
}

void job_set_free_all(struct cluster *c)
{
    vec_foreach (&c->sets.list, set)
        free_set(*set);
    vec_done(&c->sets.list);
}

int job_set_check(const struct cluster *c, struct err *err)
{
    size_t components = 0, present = 0;
    vec_foreach (&c->jobs, at) {
        const struct job *j = *at;
        if (j->set && (j->set_offset >= j->set->count || j->set->jobs[j->set_offset] != j))
            return err_set(err, -ERR_INTERNAL, "job %u is not where its set says", j->id);
        components += j->set != NULL;
    }
    for (size_t i = 0; i < c->sets.list.len; i++) {
        const struct job_set *set = c->sets.list.data[i];
        uint32_t there = 0;
        for (uint32_t k = 0; k < set->count; k++)
            there += set->jobs[k] != NULL;
        if (there != set->present || !there ||
            (i && c->sets.list.data[i - 1]->leader_id >= set->leader_id))
            return err_set(err, -ERR_INTERNAL, "the set of job %u is damaged", set->leader_id);
        present += there;
    }
    return components == present ? 0 : err_set(err, -ERR_INTERNAL, "a set has a job that is gone");
}
