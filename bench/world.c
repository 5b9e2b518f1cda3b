/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf/conf.h"
#include "sched/plan.h"
#include "sched/plan/two_mode.h"

#define CORES 32
#define LICENSES 1000 /* of a kind */

uint32_t world_between(uint64_t *seed, uint32_t first, uint32_t last)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return first + (uint32_t)((z ^ z >> 31) % (last - first + UINT64_C(1)));
}

/* A tree of three levels: so many nodes on a leaf switch, and 16 leaves on each above; 0: none. */
static void put_network(unsigned nodes, unsigned leaf, struct str *text)
{
    unsigned n = nodes - nodes / 4, leaves = 0;
    if (!leaf)
        return;
    str_puts(text, "TopologyPlugin=topology/tree\n");
    for (unsigned first = 1; first <= n; first += leaf)
        str_printf(text, "TopologyConf=1 SwitchName=l%u Nodes=n[%u-%u]\n", leaves++, first,
                   first + leaf - 1 < n ? first + leaf - 1 : n);
    for (unsigned first = 1; first <= nodes / 4; first += leaf)
        str_printf(text, "TopologyConf=1 SwitchName=l%u Nodes=m[%u-%u]\n", leaves++, first,
                   first + leaf - 1 < nodes / 4 ? first + leaf - 1 : nodes / 4);
    for (unsigned i = 0; i < leaves; i += 16)
        str_printf(text, "TopologyConf=1 SwitchName=m%u Switches=l[%u-%u]\n", i / 16, i,
                   i + 15 < leaves ? i + 15 : leaves - 1);
    str_printf(text, "TopologyConf=1 SwitchName=top Switches=m[0-%u]\n", (leaves - 1) / 16);
}

static void put_torus(const struct world_rule *rule, struct str *text)
{
    const char *corners = rule->anywhere ? " AnchorSpacing=1x1x1" : "";
    if (!rule->torus)
        return;
    str_printf(text,
               "TopologyConf=net:torus3d:default\nTopologyConf=1 TorusName=t Dims=16x16x16 "
               "Nodes=n[1-%u],m[1-%u]\n",
               rule->nodes - rule->nodes / 4, rule->nodes / 4);
    for (unsigned side = 2; side <= 8; side *= 2)
        str_printf(text, "TopologyConf=1 Placement=%ux%ux%u%s\n", side, side, side, corners);
}

static void put_licenses(unsigned kinds, struct str *text)
{
    for (unsigned i = 0; i < kinds; i++)
        str_printf(text, "%slic%u:%u", i ? "," : "Licenses=", i, LICENSES);
    str_puts(text, kinds ? "\n" : "");
}

/* Nodes of the world from 'first' on, counted from 0, within the n or the m. */
static void put_layer(const char *name, unsigned nodes, unsigned first, unsigned last,
                      unsigned count, struct str *text)
{
    unsigned border = nodes - nodes / 4;
    char kind = first < border ? 'n' : 'm';
    unsigned from = first < border ? 0 : border;
    str_printf(text, "HresConf=%s Nodes=%c[%u-%u] Count=%u\n", name, kind, first - from + 1,
               last - from, count);
}

/* 501 layers: a root, twenty parts of it, and twenty-four parts of each. */
static void put_resource(const char *name, int mode, unsigned nodes, unsigned each,
                         struct str *text)
{
    unsigned part = nodes / 20, border = nodes - nodes / 4;
    str_printf(text, "HresConf=%s Mode=MODE_%d\nHresConf=%s Nodes=n[1-%u],m[1-%u] Count=%u\n", name,
               mode, name, border, nodes / 4, nodes * each);
    for (unsigned i = 0; i < 20; i++) {
        put_layer(name, nodes, i * part, (i + 1) * part, part * each, text);
        for (unsigned k = 0; k < 24; k++)
            put_layer(name, nodes, i * part + part * k / 24, i * part + part * (k + 1) / 24,
                      part / 24 * each, text);
    }
}

void world_init(struct world *w, const struct world_rule *rule)
{
    _cleanup_str_ struct str more = STR_INIT;
    struct conf *conf = NULL;
    struct err err = {0};
    put_network(rule->nodes, rule->leaf, &more);
    put_torus(rule, &more);
    put_licenses(rule->licenses, &more);
    if (rule->flat)
        str_puts(&more, "Licenses=one:1000000,each:1000000,power:1000000\n");
    if ((rule->hres && !rule->flat) || rule->layers) {
        unsigned each = rule->scarce ? 1 : 4;
        put_resource("one", rule->per_node ? 3 : 1, rule->nodes, each, &more);
        put_resource("each", rule->per_node ? 3 : 2, rule->nodes, each, &more);
        put_resource("power", 3, rule->nodes, each, &more);
    }
    _cleanup_free_ char *text = mem_printf(
        "SlurmctldHost=ctl\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "SchedulerParameters=bf_max_job_part=1000000\n"
        "NodeName=n[1-%u] CPUs=%u RealMemory=128000 Weight=1 Feature=a\n"
        "NodeName=m[1-%u] CPUs=%u RealMemory=512000 Weight=5 Feature=a,b\n"
        "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
        "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE\n"
        "PartitionName=q Nodes=ALL PriorityTier=2 MaxTime=INFINITE\n%s",
        rule->nodes - rule->nodes / 4, CORES, rule->nodes / 4, CORES * 2, str_cstr(&more));
    if (conf_load_text(text, strlen(text), "bench.conf", CONF_FULL, NULL, &conf, NULL, &err) != 0) {
        fprintf(stderr, "sched_bench: %s\n", err.text);
        exit(1);
    }
    *w = (struct world){.rule = rule, .c = cluster_new(conf), .seed = 7};
    vec_foreach (&w->c->nodes, n) {
        (*n)->registered = (*n)->connected = true;
        pool_update(w->c, *n);
    }
}

void world_done(struct world *w)
{
    struct conf *conf = (struct conf *)w->c->conf;
    plan_notes_done(&w->notes);
    cluster_free(w->c);
    conf_free(conf);
}

/* Reservations of some nodes in a row, for others: begun, to come, daily, and of four cores a node.
 */
void world_reserve(struct world *w)
{
    struct cluster *c = w->c;
    uint64_t *seed = &w->seed;
    for (unsigned i = 0; i < w->rule->reservations; i++) {
        _cleanup_free_ char *name = mem_printf("r%u", i);
        struct resv *r = resv_new(name);
        _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len);
        uint32_t last = (uint32_t)c->nodes.len - 1, first = world_between(seed, 0, last);
        for (uint32_t n = 0, nodes = world_between(seed, 1, 1 + last / 200); n < nodes; n++) {
            bitset_set(set, first + n <= last ? first + n : first + n - last - 1);
            if (i % 10 == 0)
                vec_push(&r->cores, 4);
        }
        r->start_at = WORLD_NOW + (int64_t)world_between(seed, 0, 72) * 3600 - 7200;
        r->end_at = r->start_at + (int64_t)world_between(seed, 1, 24) * 3600;
        r->flags = i % 3 == 0 ? RESV_DAILY : 0;
        resv_set_nodes(c, r, set);
        resv_add(c, r);
    }
}

/* A drawn request: most are small, one in ten takes several nodes. */
static void draw_spec(const struct world_rule *rule, uint64_t *seed, Pb__JobSpec *s)
{
    s->has_num_tasks = s->has_mem_per_cpu_mib = true;
    s->num_tasks = world_between(seed, 1, 24);
    s->mem_per_cpu_mib = world_between(seed, 100, 3000);
    if (rule->torus) {
        uint32_t size = world_between(seed, 0, 19);
        s->has_min_nodes = true;
        s->min_nodes = size < 14 ? 8 : size < 19 ? 64 : 512;
        s->num_tasks = s->min_nodes * world_between(seed, 8, 16);
    } else if (world_between(seed, 0, 9) == 0) {
        s->has_min_nodes = s->has_max_nodes = true;
        s->min_nodes = s->max_nodes = world_between(seed, 2, rule->small ? 16 : 64);
        s->num_tasks = s->min_nodes * world_between(seed, 1, 16);
    }
    if (!rule->torus && world_between(seed, 0, 4) == 0)
        s->features = world_between(seed, 0, 1) ? "a" : "b";
}

/* 'layers': its licences; NULL: as the rule has it. */
static struct job *add_job(struct world *w, const char *layers)
{
    const struct world_rule *rule = w->rule;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    struct err err = {0};
    char licenses[32];
    struct job *j = cluster_add_job(w->c, ++w->id);
    uint64_t shape = rule->shapes ? 1000 + world_between(&w->seed, 1, rule->shapes) : 0;
    uint64_t *seed = shape ? &shape : &w->seed;
    j->part = w->c->parts.data[0];
    draw_spec(rule, seed, &s);
    if (rule->licenses && world_between(seed, 0, 2) == 0) {
        snprintf(licenses, sizeof licenses, "lic%u:%u", world_between(seed, 0, rule->licenses - 1),
                 world_between(seed, 1, 3));
        s.licenses = licenses;
    }
    if (rule->hres) {
        static const char *const names[] = {"one", "each", "power"};
        static uint64_t chance = 5; /* the jobs are those of a world without resources */
        unsigned name = world_between(&chance, 0, 2), count = world_between(&chance, 1, 4);
        if (rule->combined)
            snprintf(licenses, sizeof licenses, "one:%u,each:%u,power:%u", count,
                     world_between(&chance, 1, 4), world_between(&chance, 1, 4));
        else
            snprintf(licenses, sizeof licenses, "%s:%u", names[name], count);
        s.licenses = licenses;
    }
    if (layers)
        s.licenses = (char *)layers;
    if (job_read_spec(w->c, j, &s, &err) != 0 || select_possible(w->c, j, &err) != 0) {
        fprintf(stderr, "sched_bench: %s\n", err.text);
        exit(1);
    }
    j->limit_sec = world_between(&w->seed, 10, 3000) * 60;
    order_insert(&j->part->queue, &j->queued, -(int64_t)j->id, j->id);
    return j;
}

struct job *world_add(struct world *w)
{
    return add_job(w, NULL);
}

void world_add_set(struct world *w, struct job **components, uint32_t count, bool joined)
{
    for (uint32_t i = 0; i < count; i++)
        components[i] = add_job(w, i == 0 ? w->rule->layers : NULL);
    for (uint32_t i = 0; joined && i < count; i++)
        if (job_set_join(w->c, components[i], components[0]->id, i, count, NULL) != 0)
            exit(1);
}

static bool start_part(struct cluster *c, struct job *j, const struct selection *where)
{
    struct err err = {0};
    vec_foreach (&where->shares, s) {
        const struct alloc_want want = share_want(where, s);
        if (alloc_place(c, j, &want, &err) != 0)
            return false;
    }
    order_remove(&j->part->queue, &j->queued);
    job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    order_insert(&c->ends, &attempt_make(j)->ends, WORLD_NOW + j->limit_sec, j->id);
    return true;
}

static bool start(struct cluster *c, const struct decision *d)
{
    bool all = true;
    if (!d->more.order.len)
        return start_part(c, cluster_find_job(c, d->job->id), &d->where);
    vec_foreach (&d->more.order, number) {
        const struct placement *part = *number ? &d->more.list.data[*number - 1] : NULL;
        struct job *j = cluster_find_job(c, part ? part->id : d->job->id);
        all = all && start_part(c, j, part ? &part->where : &d->where);
    }
    return all;
}

/* One pass; the number of jobs that it started. */
unsigned world_pass(struct world *w)
{
    struct cluster *c = w->c;
    struct plan p;
    struct decision d;
    unsigned started = 0;
    plan_begin(&p, c, &w->notes, WORLD_NOW, true);
    if (w->rule->two_mode)
        two_mode_begin(&p);
    while (plan_next(&p, &d)) {
        if (d.kind == PLAN_START && !start(c, &d)) {
            fprintf(stderr, "sched_bench: job %u: the plan does not hold\n", d.job->id);
            exit(1);
        }
        started += d.kind == PLAN_START;
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
    return started;
}

void world_fill(struct world *w)
{
    while (w->c->running < w->rule->running) {
        world_add(w);
        if (!world_pass(w))
            break;
    }
}

void world_queue(struct world *w)
{
    struct cluster *c = w->c;
    while (c->pending == 0 || world_pass(w) > 0)
        for (int i = 0; i < 1000; i++)
            world_add(w);
    while (c->pending < w->rule->pending)
        world_add(w);
}

void world_exhaust_licenses(struct world *w)
{
    vec_foreach (&w->c->licenses.list, l)
        l->total = l->used;
}
