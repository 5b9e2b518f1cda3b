/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The generic resources of a job among its steps. A step that asks for some has them alone, as far
 * as other steps that ask go; one that does not sees all that the job has.
 */
#include <string.h>
#include <strings.h>

#include "control/internal.h"

static bool is_none(const char *text)
{
    return text && strcasecmp(text, "none") == 0;
}

static bool is_given(const char *text)
{
    return text && *text;
}

static int refuse_gres(struct err *err, const char *why)
{
    return err_set(err, -ERR_GRES, "%s: %s", err_text(ERR_GRES), why);
}

int step_gres_read(const struct control *c, const Pb__StepSpec *s, struct step_gres *g,
                   struct err *err)
{
    const struct cluster *cl = c->cluster;
    g->none = is_none(s->gres);
    int rc = gres_parse(cl, s->gres, GRES_PER_NODE, &g->wants, err);
    rc = rc == 0 ? gres_parse(cl, s->tres_per_task, GRES_PER_TASK, &g->wants, err) : rc;
    rc = rc == 0 ? gres_parse(cl, s->tres_per_step, GRES_PER_JOB, &g->wants, err) : rc;
    rc = rc == 0 ? gres_check_known(cl, &g->wants, err) : rc;
    rc = rc == 0 ? gres_join_views(&g->wants, &g->tasks_per_node, err) : rc;
    if (rc != 0)
        return rc;
    uint32_t per_gpu = s->has_ntasks_per_gpu ? s->ntasks_per_gpu : 0;
    if (per_gpu && gres_wanted(&g->wants, "gpu", GRES_PER_TASK))
        return refuse_gres(err, "--ntasks-per-gpu and --gpus-per-task exclude each other");
    vec_foreach (&g->wants.list, w)
        g->total += w->per_job;
    g->own = g->wants.list.len > 0;
    g->none = g->none || (!g->own && (is_given(s->gres) || is_given(s->tres_per_step) ||
                                      is_given(s->tres_per_task))); /* all of it zero */
    return 0;
}

/* What of the job's share of a node the step may choose from, by kind. */
static void have_of(const struct alloc_node *a, bool all, size_t kinds, uint64_t *have)
{
    memset(have, 0, kinds * sizeof(*have));
    vec_foreach (&a->gres, held)
        have[held->kind] = all ? held->count : held->count - held->step_count;
}

uint32_t step_gres_fits(const struct control *c, const struct step_gres *g,
                        const struct alloc_node *a, bool all)
{
    uint64_t have[GRES_KINDS_MAX], left[GRES_KINDS_MAX];
    size_t kinds = c->cluster->gres_kinds.len;
    if (!g->own)
        return UINT32_MAX;
    have_of(a, all, kinds, have);
    return gres_tasks(&g->wants, kinds, have, left);
}

/* Devices of the job's that no other step has. */
static void choose_devices(struct gres_held *from, bool overlap, struct gres_held *to)
{
    uint64_t left = to->count;
    if (!from->devices)
        return;
    to->devices = bitset_new(from->devices->size);
    bitset_foreach (from->devices, i) {
        if (!left || (!overlap && from->step_devices && bitset_test(from->step_devices, (size_t)i)))
            continue;
        bitset_set(to->devices, (size_t)i);
        left--;
    }
}

void step_gres_take(const struct control *c, struct step_gres *g, struct alloc_node *a,
                    struct step_node *n, bool overlap)
{
    uint64_t have[GRES_KINDS_MAX], left[GRES_KINDS_MAX], total = 0;
    struct gres_amount amounts[GRES_KINDS_MAX];
    size_t kinds = c->cluster->gres_kinds.len;
    if (!g->own)
        return;
    have_of(a, overlap, kinds, have);
    gres_tasks(&g->wants, kinds, have, left);
    vec_foreach (&g->wants.list, w)
        for (size_t k = 0; w->per_job && k < kinds; k++)
            total += w->mask >> k & 1 ? left[k] : 0;
    total = total < g->total ? total : g->total;
    g->total -= total;
    size_t count = gres_deal(&g->wants, kinds, have, n->tasks, total, amounts);
    for (size_t i = 0; i < count; i++) {
        struct gres_held *job = gres_held_find(a, amounts[i].kind);
        struct gres_held step = {.kind = amounts[i].kind, .count = amounts[i].count};
        choose_devices(job, overlap, &step);
        if (!overlap)
            gres_held_step(job, &step);
        vec_push(&n->gres, step);
    }
}

bool step_gres_total_fits(const struct control *c, const struct step_gres *g, const struct job *j,
                          const uint32_t *tasks, bool all)
{
    uint64_t have[GRES_KINDS_MAX], left[GRES_KINDS_MAX], sum = 0;
    size_t kinds = c->cluster->gres_kinds.len;
    for (size_t i = 0; i < attempt_of(j)->alloc.len && g->total; i++) {
        if (!tasks[i])
            continue;
        have_of(&attempt_of(j)->alloc.data[i], all, kinds, have);
        if (!gres_tasks(&g->wants, kinds, have, left))
            continue;
        vec_foreach (&g->wants.list, w)
            for (size_t k = 0; w->per_job && k < kinds; k++)
                sum += w->mask >> k & 1 ? left[k] : 0;
    }
    return sum >= g->total;
}
