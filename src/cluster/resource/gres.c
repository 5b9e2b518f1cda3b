/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/gres.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/size.h"
#include "cluster/cluster.h"
#include "cluster/resource/gres_cores.h"

/* --- kinds -------------------------------------------------------------------------------------
 */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcasecmp(a, b) == 0);
}

long gres_kind_find(const struct cluster *c, const char *name, const char *type)
{
    for (size_t i = 0; i < c->gres_kinds.len; i++)
        if (c->gres_kinds.data[i].role == GRES_PLAIN &&
            same_text(c->gres_kinds.data[i].name, name) &&
            same_text(c->gres_kinds.data[i].type, type))
            return (long)i;
    return -1;
}

long gres_kind_find_part(const struct cluster *c, const char *name, uint32_t gpu)
{
    for (size_t i = 0; i < c->gres_kinds.len; i++)
        if (c->gres_kinds.data[i].role == GRES_PART && c->gres_kinds.data[i].gpu == gpu &&
            same_text(c->gres_kinds.data[i].name, name))
            return (long)i;
    return -1;
}

/* The flag is global: if entries of one node have it, it applies to all nodes. */
static bool is_explicit(const struct conf *conf, const char *name)
{
    vec_foreach (&conf->gres_sets, set)
        for (size_t i = 0; i < set->len; i++)
            if (set->items[i].flags & CONF_GRES_EXPLICIT && same_text(set->items[i].name, name))
                return true;
    return false;
}

void gres_init(struct cluster *c)
{
    vec_foreach (&c->conf->gres_sets, set)
        for (size_t i = 0; i < set->len; i++) {
            const struct conf_gres *g = &set->items[i];
            if (!g->n_parts && gres_kind_find(c, g->name, g->type) < 0 &&
                c->gres_kinds.len < GRES_KINDS_MAX)
                vec_push(&c->gres_kinds, ((struct gres_kind){.name = g->name, .type = g->type}));
        }
    vec_foreach (&c->gres_kinds, k)
        k->is_explicit = is_explicit(c->conf, k->name);
    gres_parts_init(c);
    gres_cores_init(c);
}

void gres_node_init(const struct cluster *c, struct node *n)
{
    const struct conf_gres_set *set = conf_gres_of(c->conf, n->index);
    n->parts = gres_parts_of(c, set);
    for (size_t i = 0; i < set->len; i++) {
        const struct conf_gres *g = &set->items[i];
        long kind = gres_kind_find(c, g->name, g->type);
        bool counted = g->flags & CONF_GRES_COUNT_ONLY || g->count > GRES_DEVICES_MAX;
        if (kind < 0 || g->n_parts)
            continue;
        struct gres_stock s = {.kind = (uint32_t)kind, .count = g->count, .conf = g};
        s.busy = counted ? NULL : bitset_new((size_t)g->count);
        vec_push(&n->gres, s);
    }
    gres_parts_stock(n);
    gres_parts_settle(n);
    gres_cores_find(c, n);
}

void gres_node_done(struct node *n)
{
    vec_foreach (&n->gres, s) {
        bitset_free(s->busy);
        bitset_free(s->shared);
    }
    vec_done(&n->gres);
    bitset_free(n->restricted);
}

struct gres_stock *gres_find(const struct node *n, uint32_t kind)
{
    vec_foreach (&n->gres, s)
        if (s->kind == kind)
            return s;
    return NULL;
}

/* --- requests ----------------------------------------------------------------------------------
 */

void gres_wants_done(struct gres_wants *wants)
{
    vec_foreach (&wants->list, w) {
        free(w->name);
        free(w->type);
    }
    vec_done(&wants->list);
}

void gres_wants_copy(const struct gres_wants *from, struct gres_wants *to)
{
    *to = (struct gres_wants){0};
    vec_foreach (&from->list, w) {
        struct gres_want copy = *w;
        copy.name = mem_strdup(w->name);
        copy.type = mem_strdup(w->type);
        vec_push(&to->list, copy);
    }
}

static uint64_t mask_of(const struct cluster *c, const char *name, const char *type)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < c->gres_kinds.len; i++)
        if (c->gres_kinds.data[i].role != GRES_LOCK && c->gres_kinds.data[i].role != GRES_CORES &&
            same_text(c->gres_kinds.data[i].name, name) &&
            (!type || same_text(c->gres_kinds.data[i].type, type)))
            mask |= UINT64_C(1) << i;
    return mask;
}

bool gres_known(const struct cluster *c, const char *name)
{
    return mask_of(c, name, NULL) != 0;
}

uint64_t gres_kinds_of(const struct cluster *c, const char *name)
{
    return mask_of(c, name, NULL);
}

/* Entries with a type come first; those without a type get what is left. */
static struct gres_want *want_of(const struct cluster *c, struct gres_wants *wants,
                                 const char *name, const char *type)
{
    vec_foreach (&wants->list, w)
        if (same_text(w->name, name) && same_text(w->type, type))
            return w;
    struct gres_want made = {
        .name = mem_strdup(name), .type = mem_strdup(type), .mask = mask_of(c, name, type)};
    vec_push(&wants->list, made);
    size_t at = wants->list.len - 1;
    for (; type && at > 0 && !wants->list.data[at - 1].type; at--) {
        wants->list.data[at] = wants->list.data[at - 1];
        wants->list.data[at - 1] = made;
    }
    return &wants->list.data[at];
}

static uint64_t *get_scope_count(struct gres_want *w, enum gres_scope scope)
{
    return scope == GRES_PER_NODE   ? &w->per_node
           : scope == GRES_PER_TASK ? &w->per_task
                                    : &w->per_job;
}

static int refuse_word(const char *word, const char *why, struct err *err)
{
    return err_set(err, -ERR_GRES, "%s: %s: %s", err_text(ERR_GRES), word, why);
}

/* Parses "name[:type][:count]". */
static int parse_word(const struct cluster *c, char *word, enum gres_scope scope,
                      struct gres_wants *wants, struct err *err)
{
    _cleanup_free_ char *whole = mem_strdup(word);
    if (strncmp(word, "gres:", 5) == 0 || strncmp(word, "gres/", 5) == 0)
        word += 5;
    char *save = NULL, *part[3] = {0};
    uint64_t count = 1;
    size_t n = 0;
    for (char *p = strtok_r(word, ":=", &save); p; p = strtok_r(NULL, ":=", &save)) {
        if (n == 3)
            return refuse_word(whole, "expected name[:type][:count]", err);
        part[n++] = p;
    }
    if (n > 1 && isdigit((unsigned char)part[n - 1][0]) &&
        size_parse_count(part[n - 1], GRES_COUNT_MAX, &count, NULL) == 0)
        n--;
    if (n == 0 || n > 2)
        return refuse_word(whole, "expected name[:type][:count]", err);
    const char *type = n == 2 ? part[1] : NULL;
    if (wants->list.len == GRES_WANTS_MAX)
        return refuse_word(whole, "too many resources in one request", err);
    if (count) {
        uint64_t *sum = get_scope_count(want_of(c, wants, part[0], type), scope);
        *sum = *sum + count < GRES_COUNT_MAX ? *sum + count : GRES_COUNT_MAX;
    }
    return 0;
}

int gres_parse(const struct cluster *c, const char *text, enum gres_scope scope,
               struct gres_wants *wants, struct err *err)
{
    if (!text || !*text || strcasecmp(text, "none") == 0)
        return 0;
    _cleanup_free_ char *copy = mem_strdup(text);
    char *save = NULL;
    int rc = 0;
    for (char *w = strtok_r(copy, ",", &save); w && rc == 0; w = strtok_r(NULL, ",", &save))
        rc = parse_word(c, w, scope, wants, err);
    return rc;
}

bool gres_wants_equal(const struct gres_wants *a, const struct gres_wants *b)
{
    for (size_t i = 0; i < a->list.len && a->list.len == b->list.len; i++) {
        const struct gres_want *x = &a->list.data[i], *y = &b->list.data[i];
        if (x->mask != y->mask || x->per_node != y->per_node || x->per_task != y->per_task ||
            x->per_job != y->per_job || x->is_apart != y->is_apart)
            return false;
    }
    return a->list.len == b->list.len;
}

uint64_t gres_wanted(const struct gres_wants *wants, const char *name, enum gres_scope scope)
{
    uint64_t sum = 0;
    vec_foreach (&wants->list, w)
        if (same_text(w->name, name))
            sum += *get_scope_count(w, scope);
    return sum;
}

int gres_check_known(const struct cluster *c, const struct gres_wants *wants, struct err *err)
{
    vec_foreach (&wants->list, w) {
        if (w->mask)
            continue;
        uint64_t count = w->per_node + w->per_task + w->per_job;
        _cleanup_free_ char *word = mem_printf("gres:%s%s%s:%llu", w->name, w->type ? ":" : "",
                                               w->type ? w->type : "", (unsigned long long)count);
        return refuse_word(word,
                           gres_known(c, w->name) ? "no node has this type of it"
                                                  : "no node has this resource",
                           err);
    }
    vec_foreach (&c->gres_parts, p)
        if (gres_parts_exclude(*p, wants))
            return err_set(err, -ERR_GRES, "%s: gpu, mps and shard exclude each other in a request",
                           err_text(ERR_GRES));
    return 0;
}

uint64_t gres_wanted_type(const struct gres_wants *wants, const char *name, const char *type,
                          enum gres_scope scope)
{
    vec_foreach (&wants->list, w)
        if (same_text(w->name, name) && same_text(w->type, type))
            return *get_scope_count(w, scope);
    return 0;
}

void gres_want(const struct cluster *c, struct gres_wants *wants, const char *name,
               enum gres_scope scope, uint64_t count)
{
    *get_scope_count(want_of(c, wants, name, NULL), scope) += count;
}

/* Returns the only request for GPUs in this scope; NULL: none, or several. */
static struct gres_want *only_gpus(struct gres_wants *wants, enum gres_scope scope)
{
    struct gres_want *found = NULL;
    vec_foreach (&wants->list, w) {
        if (!same_text(w->name, "gpu") || !*get_scope_count(w, scope))
            continue;
        if (found)
            return NULL;
        found = w;
    }
    return found;
}

int gres_join_views(struct gres_wants *wants, uint32_t *tasks, struct err *err)
{
    struct gres_want *node = only_gpus(wants, GRES_PER_NODE);
    struct gres_want *task = only_gpus(wants, GRES_PER_TASK);
    *tasks = 0;
    if (!node || !task || (node != task && node->type && task->type))
        return 0;
    uint64_t count = node->per_node, times = count / task->per_task;
    if (count % task->per_task)
        return err_set(err, -ERR_GRES,
                       "%s: the GPUs of a node (--gpus-per-node, --gres: %llu) are to be those of "
                       "whole tasks (--gpus-per-task: %llu)",
                       err_text(ERR_GRES), (unsigned long long)count,
                       (unsigned long long)task->per_task);
    struct gres_want *exact = task->type ? task : node;
    node->per_node = task->per_task = 0;
    exact->per_node = count;
    *tasks = times < UINT32_MAX ? (uint32_t)times : UINT32_MAX;
    return 0;
}

/* --- capacity ----------------------------------------------------------------------------------
 */

uint64_t gres_take(uint64_t mask, uint64_t count, size_t kinds, uint64_t *have, uint64_t *taken)
{
    for (size_t k = 0; k < kinds && count; k++) {
        if (!(mask >> k & 1))
            continue;
        uint64_t n = have[k] < count ? have[k] : count;
        have[k] -= n;
        count -= n;
        if (taken)
            taken[k] += n;
    }
    return count;
}

static uint64_t sum_of(uint64_t mask, size_t kinds, const uint64_t *have)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < kinds; k++)
        sum += mask >> k & 1 ? have[k] : 0;
    return sum;
}

uint32_t gres_tasks(const struct gres_wants *wants, size_t kinds, const uint64_t *have,
                    uint64_t *left)
{
    uint64_t rest[GRES_KINDS_MAX];
    uint64_t tasks = UINT32_MAX;
    memcpy(rest, have, kinds * sizeof(*rest));
    vec_foreach (&wants->list, w)
        if (gres_take(w->mask, w->per_node, kinds, rest, NULL))
            return 0;
    vec_foreach (&wants->list, w) {
        uint64_t most = w->per_task ? sum_of(w->mask, kinds, rest) / w->per_task : tasks;
        tasks = most < tasks ? most : tasks;
    }
    memcpy(left, rest, kinds * sizeof(*rest));
    return (uint32_t)tasks;
}

size_t gres_deal(const struct gres_wants *wants, size_t kinds, uint64_t *have, uint32_t tasks,
                 uint64_t total, struct gres_amount *out)
{
    uint64_t taken[GRES_KINDS_MAX] = {0};
    size_t n = 0;
    vec_foreach (&wants->list, w)
        gres_take(w->mask, w->per_node + w->per_task * tasks, kinds, have, taken);
    vec_foreach (&wants->list, w)
        if (w->per_job)
            total = gres_take(w->mask, total, kinds, have, taken);
    for (uint32_t k = 0; k < kinds; k++)
        if (taken[k])
            out[n++] = (struct gres_amount){k, taken[k]};
    return n;
}
