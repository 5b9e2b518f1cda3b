/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/prio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRES "gres/"
#define PRIO_MIN_SEC 60 /* minimum time between two calculations */

/* --- the rule ------------------------------------------------------------------------------------
 */

static enum prio_tres_kind find_tres_kind(const char *name)
{
    static const struct {
        const char *name;
        enum prio_tres_kind kind;
    } kinds[] = {{"cpu", PRIO_CPU}, {"mem", PRIO_MEM}, {"node", PRIO_NODE}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return strncmp(name, GRES, strlen(GRES)) == 0 ? PRIO_GRES : PRIO_OTHER;
}

static bool has_flag(const struct conf *conf, const char *flag)
{
    return conf->priority_flags && conf_list_has(conf->priority_flags, flag);
}

static void read_flags(struct prio_rule *r, const struct conf *conf)
{
    bool all = has_flag(conf, "NO_NORMAL_ALL");

    r->favor_small = conf->priority_favor_small;
    r->relative_to_time = has_flag(conf, "SMALL_RELATIVE_TO_TIME");
    r->accrue_always = has_flag(conf, "ACCRUE_ALWAYS");
    r->incr_only = has_flag(conf, "INCR_ONLY");
    r->no_normal_tres = all || has_flag(conf, "NO_NORMAL_TRES");
}

static void read_weights(struct prio_rule *r, const struct conf *conf)
{
    r->age = conf->priority_weight_age;
    r->assoc = conf->priority_weight_assoc;
    r->fairshare = conf->priority_weight_fairshare;
    r->size = conf->priority_weight_job_size;
    r->part = conf->priority_weight_partition;
    r->qos = conf->priority_weight_qos;
    struct conf_tres_weight tres[CONF_TRES_MAX];
    if (conf_tres_parse(conf->priority_weight_tres, tres, &r->n_tres, NULL) != 0)
        r->n_tres = 0;
    for (size_t i = 0; i < r->n_tres; i++)
        r->tres[i] = (struct prio_tres){find_tres_kind(tres[i].name), tres[i]};
}

/* Whether "gres/gpu" or "gres/gpu:a100" matches the weight. */
static bool is_gres(const struct prio_tres *t, const char *name, const char *type)
{
    const char *wanted = t->of.name + strlen(GRES);
    size_t len = strcspn(wanted, ":");

    if (t->kind != PRIO_GRES || !name || strlen(name) != len || strncasecmp(wanted, name, len) != 0)
        return false;
    return !wanted[len] || str_case_eq(wanted + len + 1, type);
}

static void count_gres(const struct prio_rule *r, const struct cluster *c, const struct node *n,
                       struct prio_part *sum)
{
    vec_foreach (&n->gres, stock) {
        const struct gres_kind *kind = &c->gres_kinds.data[stock->kind];
        for (size_t i = 0; i < r->n_tres; i++)
            if (is_gres(&r->tres[i], kind->name, kind->type))
                sum->gres[i] += (double)stock->count;
    }
}

static void count_part(struct prio_rule *r, const struct cluster *c, const struct part *p)
{
    struct prio_part sum = {.part = p, .factor = p->conf.priority_job_factor};

    bitset_foreach (p->nodes, i) {
        const struct node *n = c->nodes.data[i];
        sum.nodes += 1;
        sum.cpus += n->cpus;
        sum.mem_mib += (double)n->amounts.mem_mib;
        count_gres(r, c, n, &sum);
    }
    vec_push(&r->parts, sum);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct prio_part *)a)->part;
    uintptr_t y = (uintptr_t)((const struct prio_part *)b)->part;

    return x < y ? -1 : x > y;
}

static void normalise_parts(struct prio_rule *r)
{
    double most = 0;

    vec_foreach (&r->parts, p)
        most = fmax(most, p->factor);
    vec_foreach (&r->parts, p)
        p->factor = most > 0 ? p->factor / most : 0;
}

void prio_rule_init(struct prio_rule *r, const struct cluster *c)
{
    const struct conf *conf = c->conf;

    *r = (struct prio_rule){.multifactor = str_case_eq(conf->priority_type, "priority/multifactor"),
                            .max_age_sec = conf->priority_max_age_sec,
                            .period_sec = conf->priority_calc_period_sec};
    if (r->period_sec < PRIO_MIN_SEC)
        r->period_sec = PRIO_MIN_SEC;
    read_flags(r, conf);
    read_weights(r, conf);
    if (!r->multifactor)
        return;
    vec_foreach (&c->nodes, n) {
        r->nodes += !(*n)->future;
        r->cpus += (*n)->future ? 0 : (*n)->cpus;
    }
    vec_foreach (&c->parts, p)
        count_part(r, c, *p);
    if (r->parts.len)
        qsort(r->parts.data, r->parts.len, sizeof r->parts.data[0], by_address);
    if (!has_flag(conf, "NO_NORMAL_PART") && !has_flag(conf, "NO_NORMAL_ALL"))
        normalise_parts(r);
}

void prio_rule_done(struct prio_rule *r)
{
    vec_done(&r->parts);
}

/* --- a job ---------------------------------------------------------------------------------------
 */

static double find_share(double part, double whole)
{
    if (whole <= 0 || part <= 0)
        return 0;
    return part < whole ? part / whole : 1;
}

static double wanted_cpus(const struct job *j)
{
    double cpus = (double)j->want.tasks * j->want.cpus_per_task;

    return fmax(cpus, j->want.min_nodes);
}

static const struct prio_part *find_prio_part(const struct prio_rule *r, const struct job *j)
{
    struct prio_part key = {.part = j->part};

    if (!r->parts.len)
        return NULL;
    return bsearch(&key, r->parts.data, r->parts.len, sizeof key, by_address);
}

/* --mem=0 requests the memory of whole nodes: the average memory of a node counts. */
static double wanted_mem(const struct job *j, const struct prio_part *p)
{
    const struct request *w = &j->want;

    if (w->mem_node_mib == UINT64_MAX)
        return p && p->nodes > 0 ? p->mem_mib / p->nodes * w->min_nodes : 0;
    return w->mem_node_mib ? (double)w->mem_node_mib * w->min_nodes
                           : (double)w->mem_cpu_mib * wanted_cpus(j);
}

static double size_factor(const struct prio_rule *r, const struct job *j)
{
    double cpus = wanted_cpus(j), nodes = j->want.min_nodes;

    if (r->relative_to_time) {
        double minutes = fmax(ceil((double)j->limit_sec / 60), 1);
        double factor = find_share(cpus / minutes, r->cpus);
        return r->favor_small ? 1 - factor : factor;
    }
    if (r->favor_small)
        return (find_share(r->nodes - nodes, r->nodes) + find_share(r->cpus - cpus, r->cpus)) / 2;
    return (find_share(nodes, r->nodes) + find_share(cpus, r->cpus)) / 2;
}

static double wanted_gres(const struct prio_tres *t, const struct request *w)
{
    double sum = 0;

    vec_foreach (&w->gres.list, want)
        if (is_gres(t, want->name, want->type))
            sum += (double)want->per_node * w->min_nodes + (double)want->per_task * w->tasks +
                   (double)want->per_job;
    return sum;
}

static double tres_factor(const struct prio_rule *r, size_t i, const struct job *j,
                          const struct prio_part *p)
{
    const struct prio_tres *t = &r->tres[i];
    double want = 0, whole = 0;

    switch (t->kind) {
    case PRIO_CPU:
        want = wanted_cpus(j);
        whole = p ? p->cpus : 0;
        break;
    case PRIO_MEM:
        want = wanted_mem(j, p);
        whole = p ? p->mem_mib : 0;
        break;
    case PRIO_NODE:
        want = j->want.min_nodes;
        whole = p ? p->nodes : 0;
        break;
    case PRIO_GRES:
        want = wanted_gres(t, &j->want);
        whole = p ? p->gres[i] : 0;
        break;
    case PRIO_OTHER:
        break;
    }
    return r->no_normal_tres ? want : find_share(want, whole);
}

int64_t prio_age_sec(const struct job *j, int64_t at_sec)
{
    int64_t since = j->rank.accrue_at ? at_sec - j->rank.accrue_at : 0;

    return j->rank.accrued_sec + (since > 0 ? since : 0);
}

int64_t prio_unbounded_by_id(const struct job *j)
{
    /* Older jobs have lower ids and so a higher priority: first in, first out. Elements of an array
     * are as old as the array. */
    uint32_t id = j->array ? j->array->id : j->id;

    return (int64_t)PRIO_TOP - id - j->nice;
}

uint32_t prio_by_id(const struct job *j)
{
    int64_t p = prio_unbounded_by_id(j);

    return p < 1 ? 1 : p > UINT32_MAX ? UINT32_MAX : (uint32_t)p;
}

static void weigh_factors(const struct prio_rule *r, struct prio_factors *f)
{
    f->sum = r->age * f->age + r->assoc * f->assoc + r->fairshare * f->fairshare +
             r->size * f->size + r->part * f->part + r->qos * f->qos + f->site - (double)f->nice;
    for (size_t i = 0; i < r->n_tres; i++)
        f->sum += r->tres[i].of.weight * f->tres[i];
    f->priority = f->sum < 1 ? 1 : f->sum >= UINT32_MAX ? UINT32_MAX : (uint32_t)f->sum;
}

void prio_find(const struct prio_rule *r, const struct job *j, int64_t at_sec,
               struct prio_factors *out)
{
    *out = (struct prio_factors){.priority = j->priority};
    if (!r->multifactor || j->rank.given) {
        out->given = true;
        out->sum = j->priority;
        return;
    }
    out->site = j->rank.site_factor;
    out->nice = j->nice;
    const struct prio_part *p = find_prio_part(r, j);
    out->age = r->max_age_sec > 0
                   ? find_share((double)prio_age_sec(j, at_sec), (double)r->max_age_sec)
                   : 1;
    out->assoc = j->rank.assoc;
    out->fairshare = j->rank.fairshare;
    out->qos = j->rank.qos;
    out->size = size_factor(r, j);
    out->part = p ? p->factor : 0;
    for (size_t i = 0; i < r->n_tres; i++)
        out->tres[i] = tres_factor(r, i, j, p);
    weigh_factors(r, out);
}
