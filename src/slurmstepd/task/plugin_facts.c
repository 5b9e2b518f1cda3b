/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/plugin_facts.h"

#include <string.h>

#include "base/mem.h"

/* "0-3,8": bit i is in byte i/8. */
static char *format_cpus(ProtobufCBinaryData set)
{
    struct str out = STR_INIT;
    size_t bits = set.len * 8;

    for (size_t i = 0, end; i < bits; i = end + 1) {
        end = i;
        if (!(set.data[i / 8] >> (i % 8) & 1))
            continue;
        while (end + 1 < bits && (set.data[(end + 1) / 8] >> ((end + 1) % 8) & 1))
            end++;
        str_printf(&out, "%s%zu", out.len ? "," : "", i);
        if (end > i)
            str_printf(&out, "-%zu", end);
    }
    return str_take(&out);
}

static void take_node(const struct step *step, struct plugin_facts *p)
{
    const Pb__Cred *cred = step->granted;
    struct stack_facts *f = &p->facts;
    const Pb__StepNode *own =
        step->node_index < cred->n_nodes ? cred->nodes[step->node_index] : NULL;
    const Pb__NodeShare *share = NULL;

    for (size_t i = 0; i < cred->n_job_nodes && !share; i++)
        if (str_eq(cred->job_nodes[i]->node, step->node))
            share = cred->job_nodes[i];
    f->has_node = true;
    f->node_index = step->node_index;
    f->local_tasks = (uint32_t)step->task_count;
    if (share) {
        f->cpus = (uint16_t)(share->cpus < UINT16_MAX ? share->cpus : UINT16_MAX);
        f->job_mem_mib = share->mem_mib;
        p->job_cores = format_cpus(share->cpu_set);
    }
    if (own) {
        f->step_mem_mib = own->has_mem_mib ? own->mem_mib : f->job_mem_mib;
        p->step_cores = own->has_cpu_set ? format_cpus(own->cpu_set) : mem_strdup(p->job_cores);
    }
    f->job_cores = p->job_cores;
    f->step_cores = p->step_cores;
}

static void take_argv(const struct step *step, struct plugin_facts *p)
{
    size_t count = 0;

    while (step->argv[count])
        count++;
    p->argv = mem_new_array(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        p->argv[i] = mem_strdup(step->argv[i]);
    p->facts.argc = (int)count;
    p->facts.argv = p->argv;
}

void plugin_facts_make(const struct step *step, struct plugin_facts *p)
{
    const Pb__Cred *cred = step->granted;
    struct stack_facts *f = &p->facts;

    f->has_ids = f->has_job = f->has_step = true;
    f->uid = step->uid;
    f->gid = step->gid;
    f->gids = step->groups;
    f->gid_count = step->group_count;
    f->job_id = step->job_id;
    f->step_id = step->step_id;
    f->restarts = step->restarts;
    if (cred->facts && cred->facts->has_array_job_id) {
        f->array_job_id = cred->facts->array_job_id;
        f->array_task_id = cred->facts->array_task_id;
    }
    f->nodes = step->is_batch ? 1 : (uint32_t)cred->n_nodes;
    for (size_t i = 0; i < cred->n_nodes && !step->is_batch; i++)
        f->tasks += (uint32_t)cred->nodes[i]->n_task_ids;
    if (step->is_batch)
        f->tasks = 1;
    f->cpus_per_task =
        step->launch && step->launch->has_cpus_per_task ? step->launch->cpus_per_task : 1;
    take_node(step, p);
    take_argv(step, p);
}

void plugin_facts_done(struct plugin_facts *p)
{
    for (char **word = p->argv; word && *word; word++)
        free(*word);
    free(p->argv);
    free(p->job_cores);
    free(p->step_cores);
}
