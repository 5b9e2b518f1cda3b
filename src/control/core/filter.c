/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/core/filter.h"

#include <string.h>

#include "base/hostlist.h"
#include "control/internal.h"

struct bitset *filter_nodes(const struct cluster *c, const char *expr)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    if (!expr || !*expr)
        return NULL;
    struct bitset *set = bitset_new(c->nodes.len);
    if (cluster_parse_hosts(c, expr, &list, NULL) != 0)
        return set;
    for (size_t i = 0; i < hostlist_count(list); i++) {
        char name[HOSTLIST_NAME_MAX + 1];
        (void)cluster_add_named(c, hostlist_nth(list, i, name), set, NULL);
    }
    return set;
}

bool filter_uses(const struct job *j, const struct bitset *nodes)
{
    if (!nodes)
        return true;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (bitset_test(nodes, a->node))
            return true;
    return false;
}

bool filter_has_word(char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (word && strcmp(list[i], word) == 0)
            return true;
    return n == 0;
}

void filter_init(struct filter *filter, const struct cluster *c, const Pb__JobFilter *f)
{
    *filter = (struct filter){.f = f, .nodes = filter_nodes(c, f->nodes)};
    for (size_t i = 0; i < f->n_job_id; i++)
        idmap_set(&filter->ids, f->job_id[i], 0);
    for (size_t i = 0; i < f->n_uid; i++)
        idmap_set(&filter->uids, f->uid[i], 0);
    filter->tasks = mem_new_array(struct idset, f->n_array + 1);
    for (size_t i = 0; i < f->n_array; i++) /* one that does not parse names nothing */
        idset_parse(f->array[i]->tasks, ARRAY_SIZE_MAX, &filter->tasks[i], NULL);
}

void filter_done(struct filter *filter)
{
    for (size_t i = 0; i < filter->f->n_array; i++)
        idset_done(&filter->tasks[i]);
    free(filter->tasks);
    idmap_done(&filter->ids);
    idmap_done(&filter->uids);
    bitset_free(filter->nodes);
}

static bool has_number(const struct idmap *numbers, uint32_t number)
{
    uint32_t unused;
    return numbers->count == 0 || idmap_get(numbers, number, &unused);
}

static bool has_task(const struct idset *tasks, const struct job *j)
{
    if (!j->tasks.count)
        return idset_has(tasks, j->task);
    bool has = false;
    if (tasks->count < j->tasks.count) {
        idset_foreach(tasks, i) if ((has = idset_has(&j->tasks, (uint32_t)i))) break;
    } else {
        idset_foreach(&j->tasks, i) if ((has = idset_has(tasks, (uint32_t)i))) break;
    }
    return has;
}

/* The record that is in a job array: of a component that of its leader. NULL: none is. */
static const struct job *element_of(const struct job *j)
{
    const struct job *leader = job_set_component(j, 0);
    return leader && leader->array ? leader : NULL;
}

static bool is_component(const struct job *j, uint32_t leader_id, uint32_t offset)
{
    return j->set && job_set_id(j) == leader_id && j->set_offset == offset;
}

static bool has_component(Pb__JobComponent *const *list, size_t count, const struct job *j)
{
    for (size_t i = 0; i < count; i++)
        if (is_component(j, list[i]->job_id, list[i]->set_offset))
            return true;
    return false;
}

bool filter_has_id(const Pb__PrioFilter *f, const struct job *j)
{
    bool has = f->n_job_id == 0 && f->n_component == 0;
    for (size_t i = 0; i < f->n_job_id; i++)
        has = has || f->job_id[i] == j->id || (j->set && f->job_id[i] == job_set_id(j));
    return has || has_component(f->component, f->n_component, j);
}

bool filter_names(const Pb__StepId *id, const struct job *j)
{
    const struct job *element = element_of(j);
    bool of_array = element && element->array->id == id->job_id;
    struct idset tasks = {0};
    if (id->has_set_offset)
        return is_component(j, id->job_id, id->set_offset);
    if (!id->array_tasks)
        return of_array || j->id == id->job_id || (j->set && job_set_id(j) == id->job_id);
    if (!of_array || idset_parse(id->array_tasks, ARRAY_SIZE_MAX, &tasks, NULL) != 0)
        return false;
    bool named = has_task(&tasks, element);
    idset_done(&tasks);
    return named;
}

static bool id_matches(const struct filter *filter, const struct job *j)
{
    const Pb__JobFilter *f = filter->f;
    if (!f->n_array && !f->n_component && has_number(&filter->ids, j->id))
        return true;
    uint32_t unused;
    if (idmap_get(&filter->ids, j->id, &unused))
        return true;
    if (j->set && (idmap_get(&filter->ids, job_set_id(j), &unused) ||
                   has_component(f->component, f->n_component, j)))
        return true;
    const struct job *element = element_of(j);
    if (!element)
        return false;
    if (idmap_get(&filter->ids, element->array->id, &unused))
        return true;
    for (size_t i = 0; i < f->n_array; i++)
        if (f->array[i]->job_id == element->array->id && has_task(&filter->tasks[i], element))
            return true;
    return false;
}

static bool name_matches(const struct job *j, const Pb__JobFilter *f)
{
    if (f->n_name == 0)
        return true;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    return spec && filter_has_word(f->name, f->n_name, spec->name);
}

bool filter_has_part(char *const *names, size_t count, const struct job *j)
{
    for (uint32_t i = 0; j->partitions && i < j->partitions->count; i++)
        if (filter_has_word(names, count, j->partitions->of[i].part->conf.name))
            return true;
    return filter_has_word(names, count, j->part ? j->part->conf.name : j->part_name);
}

bool filter_matches(const struct filter *filter, const struct job *j)
{
    const Pb__JobFilter *f = filter->f;
    return id_matches(filter, j) && has_number(&filter->uids, j->uid) &&
           filter_has_part(f->partition, f->n_partition, j) && filter_uses(j, filter->nodes) &&
           name_matches(j, f);
}

size_t filter_first_job(const struct cluster *c, uint64_t cursor)
{
    return vec_lower(&c->jobs, j, (*j)->id < cursor);
}
