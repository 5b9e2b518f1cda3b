/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What keeps a step from starting now: which resource, of which node, held by which steps, and what
 * would help. */
#include "control/step/step_layout.h"

#include "base/step_id.h"
#include "control/internal.h"

#define HOLDERS_MOST 3 /* that are named */

enum lack { LACK_CPUS, LACK_MEMORY, LACK_GRES };

static uint32_t idle_cpus(const struct alloc_node *a)
{
    return a->cpus > a->step_cpus ? a->cpus - a->step_cpus : 0;
}

static enum lack find_lack(const struct step_layout *l, size_t at)
{
    const struct alloc_node *a = &attempt_of(l->j)->alloc.data[at];
    uint32_t room = a->cpus / l->cpus_per_task; /* tasks, when nothing else runs */
    uint64_t one = step_layout_memory(l, a, 1), left = a->mem_mib - a->step_mem_mib;

    room = room > l->num_tasks ? l->num_tasks : room;
    if (!l->overlap && step_layout_is_whole(l) && a->step_cpus)
        return LACK_CPUS;
    if (!l->overlap && !l->overcommit && idle_cpus(a) / l->cpus_per_task < room)
        return LACK_CPUS;
    return one > left ? LACK_MEMORY : LACK_GRES;
}

static bool holds(const struct step *s, size_t at, enum lack lack)
{
    vec_foreach (&s->nodes, n)
        if (n->at == at)
            return lack == LACK_CPUS ? n->cpus : lack == LACK_MEMORY ? n->mem_mib : n->gres.len;
    return false;
}

static void put_holders(const struct job *j, size_t at, enum lack lack, struct str *out)
{
    size_t count = 0;

    vec_foreach (&attempt_of(j)->steps, s) {
        if (s->overlap || !holds(s, at, lack))
            continue;
        if (count++ < HOLDERS_MOST)
            str_printf(out, "%sStepId=%s", count > 1 ? ", " : "", STEP_ID_TEXT(j->id, s->id));
    }
    if (count > HOLDERS_MOST)
        str_printf(out, " and %zu more", count - HOLDERS_MOST);
}

static void put_amount(const struct alloc_node *a, enum lack lack, struct str *out)
{
    if (lack == LACK_CPUS)
        str_printf(out, "%u of %u CPUs are held by ", a->cpus - idle_cpus(a), a->cpus);
    else if (lack == LACK_MEMORY)
        str_printf(out, "%llu of %llu MiB of memory are held by ",
                   (unsigned long long)a->step_mem_mib, (unsigned long long)a->mem_mib);
    else
        str_puts(out, "generic resources are held by ");
}

/* Which option would let the step start. */
static const char *find_help(const struct step_layout *l, const struct alloc_node *a,
                             enum lack lack)
{
    if (lack == LACK_MEMORY)
        return "--mem leaves each step a part";
    if (lack == LACK_CPUS && step_layout_is_whole(l) && idle_cpus(a))
        return "--exact is enough with the idle ones, --overlap shares all";
    if (lack == LACK_CPUS)
        return "--overlap shares them; steps with --exact hold only the CPUs that they ask for";
    return "--overlap shares them";
}

int step_layout_busy(const struct control *c, const struct step_layout *l, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < attempt_of(l->j)->alloc.len; i++) {
        const struct alloc_node *a = &attempt_of(l->j)->alloc.data[i];
        if (!l->usable[i] || l->cap[i] >= l->by_gres[i])
            continue;
        enum lack lack = find_lack(l, i);
        str_printf(&text, "%s: ", c->cluster->nodes.data[a->node]->name);
        put_amount(a, lack, &text);
        put_holders(l->j, i, lack, &text);
        return err_set(err, -ERR_NODES_BUSY, "%s: %s; %s", err_text(ERR_NODES_BUSY),
                       str_cstr(&text), find_help(l, a, lack));
    }
    return err_set(err, -ERR_NODES_BUSY, "%s", err_text(ERR_NODES_BUSY));
}
