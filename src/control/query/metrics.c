/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics for monitoring systems in the text format of OpenMetrics: families of gauges. */
#include "control/query/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/text.h"
#include "cluster/node/node_list.h"
#include "control/core/counters.h"
#include "control/internal.h"
#include "proto/license.pb-c.h"

#define JOB_METRIC(name, help, amount) +1
enum {
    JOB_METRICS = 0
#include "control/query/metric.def"
};
#define NODE_METRIC(name, help, condition) +1
enum {
    NODE_METRICS = 0
#include "control/query/metric.def"
};
#define NODE_FIGURE(name, help, amount) +1
enum {
    NODE_FIGURES = 0
#include "control/query/metric.def"
};

struct family {
    const char *name, *help;
};
static const struct family job_families[] = {
#define JOB_METRIC(name, help, amount) {name, help},
#include "control/query/metric.def"
};
static const struct family node_families[] = {
#define NODE_METRIC(name, help, condition) {name, help},
#include "control/query/metric.def"
};
static const struct family node_figures[] = {
#define NODE_FIGURE(name, help, amount) {name, help},
#include "control/query/metric.def"
};

/* --- text ----------------------------------------------------------------------------------------
 */

static void put_family(const char *prefix, const struct family *f, struct str *out)
{
    str_printf(out, "# HELP slurm_%s%s %s\n# TYPE slurm_%s%s gauge\n", prefix, f->name, f->help,
               prefix, f->name);
}

/* Writes a quoted value, with harmful characters of user texts removed. */
static void put_label_value(const char *text, struct str *out)
{
    _cleanup_free_ char *clean = mem_strdup(text);
    text_blank(clean);
    str_putc(out, '"');
    for (const char *p = clean; *p; p++) {
        if (*p == '"' || *p == '\\')
            str_putc(out, '\\');
        str_putc(out, *p);
    }
    str_putc(out, '"');
}

static void put_labelled(const char *prefix, const char *name, const char *label, const char *of,
                         uint64_t amount, struct str *out)
{
    str_printf(out, "slurm_%s%s{%s=", prefix, name, label);
    put_label_value(of, out);
    str_printf(out, "} %llu\n", (unsigned long long)amount);
}

static void put_single(const char *prefix, const struct family *f, uint64_t amount, struct str *out)
{
    put_family(prefix, f, out);
    str_printf(out, "slurm_%s%s %llu\n", prefix, f->name, (unsigned long long)amount);
}

/* --- jobs ----------------------------------------------------------------------------------------
 */

struct job_sums {
    uint64_t amounts[JOB_METRICS];
};

static bool is_in(const struct job *j, enum _Pb__JobState state)
{
    return j->state == state;
}

static bool is_begun(const struct job *j)
{
    return is_in(j, PB__JOB_STATE__RUNNING) || is_in(j, PB__JOB_STATE__SUSPENDED);
}

static uint64_t sum_memory(const struct attempt *a)
{
    uint64_t mib = 0;
    vec_foreach (&a->alloc, n)
        mib += n->released ? 0 : alloc_memory_mib(n);
    return mib << 20;
}

static void add_metrics_job(struct job_sums *sums, const struct job *j)
{
    const struct attempt *a = attempt_of(j);
    uint64_t n = array_weight(j), *amount = sums->amounts;
#define JOB_METRIC(name, help, amount_of) *amount++ += (amount_of);
#include "control/query/metric.def"
}

static void put_jobs(const struct control *c, struct str *out)
{
    struct job_sums sums = {0};
    vec_foreach (&c->cluster->jobs, j)
        if (!control_is_on_trial(*j))
            add_metrics_job(&sums, *j);
    for (size_t i = 0; i < JOB_METRICS; i++)
        put_single("jobs", &job_families[i], sums.amounts[i], out);
}

/* --- users and accounts --------------------------------------------------------------------------
 */

struct owner { /* a user or an account */
    struct job_sums sums;
    UT_hash_handle hh;
    char name[];
};

static struct owner *find_owner(struct owner **owners, const char *name)
{
    struct owner *o;
    HASH_FIND_STR(*owners, name, o);
    if (o)
        return o;
    o = mem_alloc(sizeof(*o) + strlen(name) + 1);
    *o = (struct owner){0};
    memcpy(o->name, name, strlen(name) + 1);
    HASH_ADD_STR(*owners, name, o);
    return o;
}

static int compare_owners(const struct owner *a, const struct owner *b)
{
    return strcmp(a->name, b->name);
}

static void put_owners(const char *prefix, const char *label, struct owner **owners,
                       struct str *out)
{
    HASH_SORT(*owners, compare_owners);
    for (size_t i = 0; *owners && i < JOB_METRICS; i++) {
        put_family(prefix, &job_families[i], out);
        for (const struct owner *o = *owners; o; o = o->hh.next)
            put_labelled(prefix, job_families[i].name, label, o->name, o->sums.amounts[i], out);
    }
    struct owner *o, *next;
    HASH_ITER (hh, *owners, o, next) {
        HASH_DEL(*owners, o);
        free(o);
    }
}

static void put_users(const struct control *c, struct str *out)
{
    struct owner *users = NULL, *accounts = NULL;
    struct pb_fields fields = {0};
    _cleanup_str_ struct str some = STR_INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    pb_fields_add(&fields, &pb__job_spec__descriptor, "account user_name");
    vec_foreach (&c->cluster->jobs, at) {
        const struct job *j = *at;
        char uid[24];
        if (control_is_on_trial(j))
            continue;
        str_clear(&some);
        arena_reset(&arena, 0);
        pb_pick_fields(j->spec.data, j->spec.len, &fields, &some);
        const Pb__JobSpec *spec =
            arena_unpack(&arena, &pb__job_spec__descriptor, some.data, some.len);
        snprintf(uid, sizeof(uid), "%u", j->uid);
        add_metrics_job(&find_owner(&users, spec && spec->user_name ? spec->user_name : uid)->sums,
                        j);
        if (spec && spec->account && *spec->account)
            add_metrics_job(&find_owner(&accounts, spec->account)->sums, j);
    }
    put_owners("user_jobs", "username", &users, out);
    put_owners("account_jobs", "account", &accounts, out);
}

/* --- nodes and partitions ------------------------------------------------------------------------
 */

struct node_sums {
    bool counts[NODE_METRICS];
    uint64_t figures[NODE_FIGURES];
};

static bool is_node(const Pb__NodeRecord *r, enum _Pb__NodeBase state)
{
    return r->state == state && !r->drain && !r->fail;
}

static bool has_jobs(const Pb__NodeRecord *r)
{
    return r->state == PB__NODE_BASE__NODE_ALLOCATED || r->state == PB__NODE_BASE__NODE_MIXED ||
           r->completing;
}

static void fill_node(struct node_sums *sums, const Pb__NodeRecord *r)
{
    bool *is = sums->counts;
    uint64_t *figure = sums->figures;
#define NODE_METRIC(name, help, condition) *is++ = (condition);
#define NODE_FIGURE(name, help, amount) *figure++ = (amount);
#include "control/query/metric.def"
}

/* Sums over all nodes, by index; the caller frees the array. */
static struct node_sums *sum_nodes(const struct control *c)
{
    struct node_sums *sums = mem_new_array(struct node_sums, c->cluster->nodes.len + 1);
    struct pb_fields fields = {0};
    struct node_view view;
    pb_fields_add(&fields, &pb__node_record__descriptor, "state cpus alloc_cpus");
    node_view_init(&view);
    vec_foreach (&c->cluster->nodes, n) {
        node_view_set(&view, c->cluster, *n, &fields);
        fill_node(&sums[(*n)->index], &view.record);
    }
    node_view_done(&view);
    return sums;
}

static uint64_t count_nodes(const struct node_sums *sums, size_t count, size_t metric,
                            const struct bitset *among)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += sums[i].counts[metric] && (!among || bitset_test(among, i));
    return all;
}

static void put_node_metrics(const struct control *c, struct str *out)
{
    size_t count = c->cluster->nodes.len;
    _cleanup_free_ struct node_sums *sums = sum_nodes(c);
    for (size_t i = 0; i < NODE_METRICS; i++)
        put_single("nodes", &node_families[i], count_nodes(sums, count, i, NULL), out);
    for (size_t i = 0; i < NODE_FIGURES && count; i++) {
        put_family("node", &node_figures[i], out);
        vec_foreach (&c->cluster->nodes, n)
            put_labelled("node", node_figures[i].name, "node", (*n)->name,
                         sums[(*n)->index].figures[i], out);
    }
}

struct part_sums {
    struct job_sums jobs;
    /* The greatest and least number requested by a pending job that is not held. */
    uint64_t most_nodes, least_nodes;
};

static void add_to_part(struct part_sums *sums, const struct job *j, const struct part *p,
                        const struct request *want)
{
    uint64_t most = want->max_nodes == UINT32_MAX ? want->min_nodes : want->max_nodes;
    struct part_sums *s = &sums[p->at];
    add_metrics_job(&s->jobs, j);
    if (!is_in(j, PB__JOB_STATE__PENDING) || j->held)
        return;
    s->most_nodes = most > s->most_nodes ? most : s->most_nodes;
    s->least_nodes = want->min_nodes > s->least_nodes ? want->min_nodes : s->least_nodes;
}

/* Sums over all partitions; the caller frees the array. A job that waits in several partitions
 * counts in each. */
static struct part_sums *sum_parts(const struct control *c)
{
    struct part_sums *sums = mem_new_array(struct part_sums, c->cluster->parts.len + 1);
    vec_foreach (&c->cluster->jobs, at) {
        const struct job *j = *at;
        if (control_is_on_trial(j))
            continue;
        if (!j->partitions && j->part)
            add_to_part(sums, j, j->part, &j->want);
        for (uint32_t i = 0; j->partitions && i < j->partitions->count; i++)
            add_to_part(sums, j, j->partitions->of[i].part, &j->want);
    }
    return sums;
}

static void put_part_family(const struct control *c, const struct family *f, const char *prefix,
                            const uint64_t *first, size_t step, struct str *out)
{
    put_family(prefix, f, out);
    vec_foreach (&c->cluster->parts, p)
        put_labelled(prefix, f->name, "partition", (*p)->conf.name,
                     *(const uint64_t *)((const char *)first + (*p)->at * step), out);
}

static void put_parts(const struct control *c, struct str *out)
{
    static const struct family all = {"", "Number of partitions"},
                               most = {"_max_job_nodes_nohold",
                                       "Most nodes that a pending job which is not held asks for"},
                               least = {"_min_job_nodes_nohold",
                                        "The largest minimum of nodes that a pending job which is "
                                        "not held asks for"};
    size_t count = c->cluster->nodes.len;
    put_single("partitions", &all, c->cluster->parts.len, out);
    if (!c->cluster->parts.len)
        return;
    _cleanup_free_ struct node_sums *nodes = sum_nodes(c);
    _cleanup_free_ struct part_sums *sums = sum_parts(c);
    for (size_t i = 0; i < NODE_METRICS; i++) {
        put_family("partition_nodes", &node_families[i], out);
        vec_foreach (&c->cluster->parts, p)
            put_labelled("partition_nodes", node_families[i].name, "partition", (*p)->conf.name,
                         count_nodes(nodes, count, i, (*p)->nodes), out);
    }
    for (size_t i = 0; i < JOB_METRICS; i++)
        put_part_family(c, &job_families[i], "partition_jobs", &sums->jobs.amounts[i],
                        sizeof(*sums), out);
    put_part_family(c, &most, "partition_jobs", &sums->most_nodes, sizeof(*sums), out);
    put_part_family(c, &least, "partition_jobs", &sums->least_nodes, sizeof(*sums), out);
}

/* --- the scheduler and licences
 * ------------------------------------------------------------------- */

static void put_scheduler(const struct control *c, struct str *out)
{
    const struct counters *s = c->counters;
#define SCHED_METRIC(name, help, amount)                                                           \
    put_single("", &(struct family){name, help}, (uint64_t)(amount), out);
#include "control/query/metric.def"
}

/* The numbers of one record, one for each family: total, used, free and reserved. */
enum license_number { LICENSE_TOTAL, LICENSE_USED, LICENSE_FREE, LICENSE_RESERVED };

static uint64_t license_number(const Pb__LicenseRecord *l, enum license_number number)
{
    switch (number) {
    case LICENSE_TOTAL:
        return l->nodes ? l->count : l->total;
    case LICENSE_USED:
        return l->used;
    case LICENSE_FREE:
        return l->total == LICENSE_UNLIMITED ? l->total
               : l->total > l->used          ? l->total - l->used
                                             : 0;
    default:
        return l->reserved;
    }
}

static void put_license(const Pb__LicenseRecord *l, const char *prefix, const char *name,
                        uint64_t amount, struct str *out)
{
    str_printf(out, "slurm_%s%s{license=", prefix, name);
    put_label_value(l->name, out);
    if (l->nodes) {
        str_puts(out, ",nodes=");
        put_label_value(l->nodes, out);
    }
    if (amount == LICENSE_UNLIMITED)
        str_puts(out, "} +Inf\n");
    else
        str_printf(out, "} %llu\n", (unsigned long long)amount);
}

/* For the pools of one scope: pools of node groups have nodes, others do not. */
static void put_license_families(const Pb__LicenseList *list, enum resource_scope scope,
                                 const char *prefix, struct str *out)
{
    static const struct family families[] = {
        [LICENSE_TOTAL] = {"_total", "Total count"},
        [LICENSE_USED] = {"_used", "Count that jobs have"},
        [LICENSE_FREE] = {"_free", "Count that jobs can have"},
        [LICENSE_RESERVED] = {"_reserved", "Count in active reservations"},
    };
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        bool begun = false;
        for (size_t k = 0; k < list->n_licenses; k++) {
            const Pb__LicenseRecord *l = list->licenses[k];
            if ((l->nodes ? RESOURCE_SUBTREE : RESOURCE_CLUSTER) != scope)
                continue;
            if (!begun)
                put_family(prefix, &families[i], out);
            begun = true;
            put_license(l, prefix, families[i].name, license_number(l, (enum license_number)i),
                        out);
        }
    }
}

static void put_licenses(const struct control *c, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__LicenseList list = PB__LICENSE_LIST__INIT;
    control_fill_licenses(c, &arena, &list);
#define COMMON_RESOURCE(id, scope, noun, reason, metric)                                           \
    put_license_families(&list, RESOURCE_##scope, metric, out);
#include "cluster/resource/resource_kind.def"
}

void control_metrics(const struct control *c, enum control_metrics what, struct str *out)
{
    switch (what) {
    case METRICS_JOBS:
        put_jobs(c, out);
        break;
    case METRICS_USERS:
        put_users(c, out);
        break;
    case METRICS_NODES:
        put_node_metrics(c, out);
        break;
    case METRICS_PARTITIONS:
        put_parts(c, out);
        break;
    case METRICS_SCHEDULER:
        put_scheduler(c, out);
        break;
    case METRICS_LICENSES:
        put_licenses(c, out);
        break;
    }
    str_puts(out, "# EOF\n");
}
