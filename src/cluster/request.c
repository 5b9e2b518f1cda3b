/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job's spec asks for of generic resources, and what follows from it: GPUs bring CPUs,
 * memory and tasks with them. */
#include "cluster/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/size.h"
#include "cluster/cluster.h"
#include "cluster/dist.h"

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

void request_done(struct request *r)
{
    bitset_free(r->req);
    bitset_free(r->exc);
    if (r->sizes)
        idset_done(r->sizes);
    free(r->sizes);
    free(r->features);
    free(r->prefer);
    constraint_free(r->constraint);
    constraint_free(r->preferred);
    gres_wants_done(&r->gres);
    license_needs_done(&r->licenses);
}

int request_parse_sizes(const char *text, struct idset *out, struct err *err)
{
    struct idset sizes = {0};
    bool good = strlen(text) <= REQUEST_SIZES_TEXT &&
                idset_parse(text, REQUEST_SIZES_MAX + 1, &sizes, NULL) == 0 && !sizes.bits &&
                sizes.runs.len <= REQUEST_SIZES_RUNS;

    if (good)
        idset_move(out, &sizes);
    idset_done(&sizes);
    return good ? 0
                : err_set(
                      err, -ERR_NODE_COUNT,
                      "%s: use at most %u numbers and ranges, up to %u, in a list of node counts",
                      err_text(ERR_NODE_COUNT), REQUEST_SIZES_RUNS, REQUEST_SIZES_MAX);
}

void request_read_cores(const struct cluster *c, struct request *r, const Pb__JobSpec *s)
{
    r->sockets = OR(s, sockets_per_node, 0);
    r->cores = OR(s, cores_per_socket, 0);
    r->use_threads = r->threads = OR(s, threads_per_core, 0);
    r->tasks_per_socket = OR(s, ntasks_per_socket, 0);
    r->tasks_per_core = OR(s, ntasks_per_core, c->conf->cr & CONF_CR_ONE_TASK ? 1 : 0);
    r->spec_in_threads = OR(s, thread_spec, 0) > 0;
    r->spec = r->spec_in_threads ? s->thread_spec : OR(s, core_spec, 0);
    struct dist d = {0};
    dist_parse(s->distribution, &d); /* what makes no sense was refused */
    r->pack = dist_is_packed(&d, c->conf->cr & CONF_CR_PACK);
    r->cyclic = d.sockets ? d.sockets != DIST_BLOCK : !(c->conf->cr & CONF_CR_BLOCK);
    r->ask_user_alone = OR(s, exclusive_user, 0);
}

int request_check_memory(const Pb__JobSpec *s, struct err *err)
{
    const struct {
        uint64_t mib;
        const char *of;
    } asked[] = {{OR(s, mem_per_node_mib, 0), ""},
                 {OR(s, mem_per_cpu_mib, 0), " per CPU"},
                 {OR(s, mem_per_gpu_mib, 0), " per GPU"}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (asked[i].mib > SIZE_MIB_MAX)
            return err_set(err, -ERR_NODE_CONFIG,
                           "%s: Memory specification can not be satisfied: %lluM%s asked, no node "
                           "has more than %lluT",
                           err_text(ERR_NODE_CONFIG), (unsigned long long)asked[i].mib, asked[i].of,
                           (unsigned long long)(SIZE_MIB_MAX >> 20));
    return 0;
}

static int no(struct err *err, const char *why)
{
    return err_set(err, -ERR_GRES, "%s: %s", err_text(ERR_GRES), why);
}

static uint32_t bounded(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Who has a whole node, or shares what others have, has no choice of CPUs. */
bool request_is_bound(const struct request *r)
{
    return r->gres_binding == GRES_BINDING_ENFORCED && r->gres.list.len && !r->exclusive &&
           !r->shared;
}

/* --gres-flags: what is said last of the binding holds; the other words are about tasks, later. */
static int read_binding(struct request *r, const char *flags, struct err *err)
{
    static const char *const words[] = {"enforce-binding", "disable-binding",
                                        "multiple-tasks-per-sharing", "one-task-per-sharing",
                                        "allow-task-sharing"};
    for (const char *at = flags ? flags : ""; *at;) {
        size_t len = strcspn(at, ","), i = 0;
        while (i < 5 && (strlen(words[i]) != len || strncasecmp(at, words[i], len) != 0))
            i++;
        if (i == 5)
            return err_set(err, -ERR_GRES, "%s: --gres-flags=%.*s", err_text(ERR_GRES), (int)len,
                           at);
        if (i < 2)
            r->gres_binding = i == 0 ? GRES_BINDING_ENFORCED : GRES_BINDING_ANY;
        at += len + (at[len] == ',');
    }
    return 0;
}

/* Those of each socket are those of each node when it is said how many sockets. */
static int read_per_socket(const struct cluster *c, struct request *r, const Pb__JobSpec *s,
                           struct err *err)
{
    struct gres_wants wants = {0};
    if (!s->tres_per_socket || !*s->tres_per_socket)
        return 0;
    if (!OR(s, sockets_per_node, 0))
        return no(err, "resources per socket need --sockets-per-node");
    int rc = gres_parse(c, s->tres_per_socket, GRES_PER_NODE, &wants, err);
    vec_foreach (&wants.list, w)
        w->per_node *= s->sockets_per_node;
    _cleanup_str_ struct str text = STR_INIT;
    vec_foreach (&wants.list, w)
        str_printf(&text, "%s%s%s%s:%llu", text.len ? "," : "", w->name, w->type ? ":" : "",
                   w->type ? w->type : "", (unsigned long long)w->per_node);
    gres_wants_done(&wants);
    return rc == 0 ? gres_parse(c, str_cstr(&text), GRES_PER_NODE, &r->gres, err) : rc;
}

struct gpus { /* wanted of each node, of each task, and in all */
    uint64_t node, task, job;
};

static struct gpus count_gpus(const struct request *r)
{
    return (struct gpus){gres_wanted(&r->gres, "gpu", GRES_PER_NODE),
                         gres_wanted(&r->gres, "gpu", GRES_PER_TASK),
                         gres_wanted(&r->gres, "gpu", GRES_PER_JOB)};
}

/* --gpus-per-node, or --gres, beside --gpus-per-task says how many tasks a node has. */
static int read_views(struct request *r, struct err *err)
{
    uint32_t most = 0;
    int rc = gres_join_views(&r->gres, &most, err);
    if (rc != 0 || !most)
        return rc;
    if (r->ntasks_per_node > most && !r->tasks_given)
        return no(err,
                  "--ntasks-per-node is more tasks than the GPUs of --gpus-per-node serve with "
                  "--gpus-per-task");
    if (!r->ntasks_per_node || r->ntasks_per_node > most)
        r->ntasks_per_node = most;
    uint32_t nodes = r->tasks_given ? (r->tasks - 1) / r->ntasks_per_node + 1 : r->min_nodes;
    if (nodes > r->max_nodes)
        return no(err, "--ntasks is more tasks than the GPUs of --gpus-per-node serve with "
                       "--gpus-per-task on so few --nodes");
    if (!r->tasks_given)
        r->tasks = bounded((uint64_t)nodes * r->ntasks_per_node);
    r->min_nodes = nodes > r->min_nodes ? nodes : r->min_nodes;
    r->good_nodes = r->min_nodes > r->good_nodes ? r->min_nodes : r->good_nodes;
    return 0;
}

/* --ntasks-per-gpu: the tasks follow from the GPUs, or the GPUs from the tasks. */
static int read_tasks_per_gpu(const struct cluster *c, struct request *r, const Pb__JobSpec *s,
                              struct gpus *g, struct err *err)
{
    uint32_t tasks = OR(s, ntasks_per_gpu, 0);
    if (!tasks)
        return 0;
    if (g->task)
        return no(err, "--ntasks-per-gpu and --gpus-per-task exclude each other");
    if (!g->node && !g->job) {
        if (!r->tasks_given)
            return no(err, "--ntasks-per-gpu needs a number of GPUs or of tasks");
        if (!gres_known(c, "gpu"))
            return no(err, "no node has GPUs");
        g->job = (r->tasks + tasks - 1) / tasks;
        gres_want(c, &r->gres, "gpu", GRES_PER_JOB, g->job);
        return 0;
    }
    if (!r->tasks_given)
        r->tasks = bounded((g->job ? g->job : g->node * r->min_nodes) * tasks);
    r->tasks_given = true;
    return 0;
}

/* --gpus beside --gpus-per-task says how many tasks, beside --gpus-per-node how many nodes. */
static void read_total(struct request *r, struct gpus *g)
{
    if (!g->job || (!g->task && !g->node))
        return;
    uint32_t tasks = bounded(g->task && g->job > g->task ? g->job / g->task : 1);
    uint32_t nodes = bounded(g->node ? (g->job + g->node - 1) / g->node : 1);
    if (g->task && !r->tasks_given)
        r->tasks = tasks;
    r->tasks_given = r->tasks_given || g->task;
    r->min_nodes = nodes > r->min_nodes ? nodes : r->min_nodes;
    r->good_nodes = r->min_nodes > r->good_nodes ? r->min_nodes : r->good_nodes;
    vec_foreach (&r->gres.list, w)
        w->per_job = 0;
    g->job = 0;
}

/* How much of which type each of several nodes gives is no choice by numbers: a total of several
 * types is had from one node. */
static int read_mixed_total(struct request *r, struct gpus *g, struct err *err)
{
    size_t types = 0;
    vec_foreach (&r->gres.list, w)
        types += w->per_job > 0;
    if (types < 2)
        return 0;
    if (r->min_nodes > 1)
        return no(err, "a total of several types is had from one node: --nodes=1, or give them of "
                       "each node with --gpus-per-node");
    vec_foreach (&r->gres.list, w) {
        w->per_node += w->per_job;
        w->per_job = 0;
    }
    r->max_nodes = 1;
    g->node += g->job;
    g->job = 0;
    return 0;
}

/* Of each GPU; what the job does not say comes from its partition, or the cluster. */
static void read_gpu_share(const struct cluster *c, const struct job *j, struct request *r,
                           const Pb__JobSpec *s, bool any)
{
    const struct conf_part *p = j->part ? &j->part->conf : NULL;
    bool mem = s->has_mem_per_node_mib || s->has_mem_per_cpu_mib || s->has_mem_per_gpu_mib;
    r->cpus_per_gpu = OR(s, cpus_per_gpu, 0);
    r->mem_gpu_mib = OR(s, mem_per_gpu_mib, 0);
    if (any && !r->cpus_per_gpu && !s->has_cpus_per_task)
        r->cpus_per_gpu = p && p->def_cpu_per_gpu ? p->def_cpu_per_gpu : c->conf->def_cpu_per_gpu;
    if (any && !mem && c->conf->cr & CONF_CR_MEMORY)
        r->mem_gpu_mib =
            p && p->def_mem_per_gpu_mib ? p->def_mem_per_gpu_mib : c->conf->def_mem_per_gpu_mib;
}

/* What each GPU brings with it. */
static int read_per_gpu(const struct cluster *c, const struct job *j, struct request *r,
                        const Pb__JobSpec *s, const struct gpus *g, struct err *err)
{
    bool any = g->node || g->task || g->job;
    read_gpu_share(c, j, r, s, any);
    if (!any)
        return r->cpus_per_gpu || r->mem_gpu_mib
                   ? no(err, "--cpus-per-gpu and --mem-per-gpu need a number of GPUs")
                   : 0;
    uint32_t per_task = bounded(g->task * r->cpus_per_gpu);
    uint32_t per_node = bounded(g->node * r->cpus_per_gpu);
    r->cpus_per_task = per_task > r->cpus_per_task ? per_task : r->cpus_per_task;
    r->min_cpus = per_node > r->min_cpus ? per_node : r->min_cpus;
    if (r->mem_gpu_mib)
        r->mem_node_mib = r->mem_cpu_mib = 0;
    return 0;
}

int request_read_gres(const struct cluster *c, const struct job *j, struct request *r,
                      const Pb__JobSpec *s, struct err *err)
{
    if (c->conf->cr & CONF_CR_NEAR_GRES)
        r->gres_binding = GRES_BINDING_ENFORCED;
    int rc = read_binding(r, s->gres_flags, err);
    rc = rc == 0 ? gres_parse(c, s->gres, GRES_PER_NODE, &r->gres, err) : rc;
    rc = rc == 0 ? gres_parse(c, s->tres_per_task, GRES_PER_TASK, &r->gres, err) : rc;
    rc = rc == 0 ? gres_parse(c, s->tres_per_job, GRES_PER_JOB, &r->gres, err) : rc;
    rc = rc == 0 ? read_per_socket(c, r, s, err) : rc;
    if (rc != 0)
        return rc;
    struct gpus g = count_gpus(r);
    rc = read_views(r, err);
    rc = rc == 0 ? read_tasks_per_gpu(c, r, s, &g, err) : rc;
    read_total(r, &g);
    rc = rc == 0 ? read_mixed_total(r, &g, err) : rc;
    return rc == 0 ? read_per_gpu(c, j, r, s, &g, err) : rc;
}
