/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of jobs beyond cores and memory: a constraint, few switches, devices, a deadline; in a
 * network of toruses the nodes are a placement of a torus at an allowed corner. The check runs when
 * a job has just got its nodes, by the records and the lines of the plan alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rule/rule.h"

struct torus {
    unsigned dims[3];
    unsigned first; /* number of the node in its first cell */
};

struct placement {
    unsigned dims[3], seed[3], step[3];
};

static bool read_torus(const char *text, struct torus *t)
{
    return sscanf(text, "TopologyConf=1;TorusName=t%*u;Dims=%ux%ux%u;Nodes=n[%u-", &t->dims[0],
                  &t->dims[1], &t->dims[2], &t->first) == 4;
}

static bool read_placement(const char *text, struct placement *p)
{
    int read = sscanf(text,
                      "TopologyConf=1;Placement=%ux%ux%u;AnchorSeed=%ux%ux%u;"
                      "AnchorSpacing=%ux%ux%u",
                      &p->dims[0], &p->dims[1], &p->dims[2], &p->seed[0], &p->seed[1], &p->seed[2],
                      &p->step[0], &p->step[1], &p->step[2]);
    if (read == 3) {
        memset(p->seed, 0, sizeof p->seed);
        memcpy(p->step, p->dims, sizeof p->step);
    }
    return read == 3 || read == 9;
}

static bool has_share_on_node(const struct sim_watch *w, unsigned node)
{
    vec_foreach (&w->shares, share)
        if (share->node == node)
            return true;
    return false;
}

static bool has_placement_at(const struct sim_watch *w, const struct torus *t,
                             const struct placement *p, const unsigned corner[3])
{
    for (unsigned i = 0; i < p->dims[0] * p->dims[1] * p->dims[2]; i++) {
        unsigned x = (corner[0] + i % p->dims[0]) % t->dims[0];
        unsigned y = (corner[1] + i / p->dims[0] % p->dims[1]) % t->dims[1];
        unsigned z = (corner[2] + i / p->dims[0] / p->dims[1]) % t->dims[2];
        if (!has_share_on_node(w, t->first - 1 + x + (y + z * t->dims[1]) * t->dims[0]))
            return false;
    }
    return true;
}

static bool is_placed(const struct sim_watch *w, const struct torus *t, const struct placement *p)
{
    unsigned at[3], corner[3];
    if (w->shares.len != (size_t)p->dims[0] * p->dims[1] * p->dims[2])
        return false;
    for (at[0] = 0; at[0] < t->dims[0]; at[0] += p->step[0])
        for (at[1] = 0; at[1] < t->dims[1]; at[1] += p->step[1])
            for (at[2] = 0; at[2] < t->dims[2]; at[2] += p->step[2]) {
                for (int i = 0; i < 3; i++)
                    corner[i] = (at[i] + p->seed[i]) % t->dims[i];
                if (has_placement_at(w, t, p, corner))
                    return true;
            }
    return false;
}

static void check_torus(struct sim *s, const struct sim_watch *w)
{
    struct torus t;
    struct placement p;
    bool any = false, placed = false;
    vec_foreach (&s->plan->items, item) {
        if (item->kind != SIM_ITEM_CONF)
            continue;
        any = read_torus(item->text, &t) || any;
        if (any && read_placement(item->text, &p))
            placed = placed || is_placed(w, &t, &p);
    }
    s->result->torus_checks += any;
    if (any && !placed)
        sim_break(s, "nodes of a job are no placement of a torus", "job %u: %zu nodes", w->job_id,
                  w->shares.len);
}

#define SWITCH_WAIT_SEC 300 /* maximum wait, without max_switch_wait */
#define LATE_SEC 3

static const struct sim_facts *facts_of(struct sim *s)
{
    struct sim_facts *f = &s->facts;
    if (f->known)
        return f;
    bool tree = false;
    f->known = true;
    vec_foreach (&s->plan->items, item) {
        bool act = item->kind == SIM_ITEM_DO;
        unsigned leaf = 0, first, last;
        f->features_change = f->features_change || (act && item->what == SIM_DO_NODE_FEATURES);
        f->clock_set = f->clock_set || (item->kind == SIM_ITEM_FAULT &&
                                        (item->what == SIM_FAULT_CLOCK || item->boot));
        if (item->kind == SIM_ITEM_CONF &&
            sscanf(item->text, "TopologyConf=1;SwitchName=s%u;Nodes=n[%u-%u]", &leaf, &first,
                   &last) == 3 &&
            leaf == 1)
            f->leaf_nodes = last - first + 1;
        tree = tree || (item->kind == SIM_ITEM_CONF && strstr(item->text, "topology/tree"));
    }
    f->leaf_nodes = tree ? f->leaf_nodes : 0;
    return f;
}

static const struct sim_item *asked_by(const struct sim *s, const struct sim_watch *w)
{
    return w->client == UINT32_MAX ? NULL : s->clients.data[w->client].item;
}

/* --- constraints --------------------------------------------------------------------------------
 */

static bool has_feature(const char *list, const char *name, size_t len)
{
    for (; list && *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == len && strncmp(list, name, len) == 0)
            return true;
    return false;
}

/* Evaluates "a&(b|c)" for one node. */
static bool eval_features(const char **at, const char *features)
{
    bool any = false, all = true;
    for (;;) {
        bool one;
        if (**at == '(') {
            (*at)++;
            one = eval_features(at, features);
            *at += **at == ')';
        } else {
            size_t len = strcspn(*at, "&|()[]*");
            one = has_feature(features, *at, len);
            *at += len;
        }
        all = all && one;
        if (**at == '|') {
            any = any || all;
            all = true;
        }
        if (**at != '&' && **at != '|')
            return any || all;
        (*at)++;
    }
}

static const char *features_on(const struct sim *s, const struct sim_share *share)
{
    const struct sim_item *item = s->nodes.data[share->node].item;
    return item ? item->features : "";
}

static unsigned count_with(const struct sim *s, const struct sim_watch *w, const char *name,
                           size_t len)
{
    unsigned n = 0;
    vec_foreach (&w->shares, share)
        n += has_feature(features_on(s, share), name, len);
    return n;
}

/* "[a|b]": all nodes have the same one; "[a*2&b*1]", "a*2": the given number of nodes of each. */
static bool eval_sets(const struct sim *s, const struct sim_watch *w, const char *text)
{
    const char *at = text + (*text == '[');
    bool any = false, all = true;
    while (*at && *at != ']') {
        size_t len = strcspn(at, "&|*]");
        unsigned with = count_with(s, w, at, len), wanted = (unsigned)w->shares.len;
        at += len;
        if (*at == '*')
            wanted = (unsigned)strtoul(at + 1, (char **)(uintptr_t)&at, 10);
        any = any || with >= wanted;
        all = all && with >= wanted;
        at += *at == '&' || *at == '|';
    }
    return strchr(text, '|') ? any : all;
}

static bool is_met(const struct sim *s, const struct sim_watch *w, const char *text)
{
    if (strpbrk(text, "[*"))
        return eval_sets(s, w, text);
    vec_foreach (&w->shares, share) {
        const char *at = text;
        if (*text && !eval_features(&at, features_on(s, share)))
            return false;
    }
    return true;
}

static void check_constraint(struct sim *s, const struct sim_watch *w)
{
    const struct sim_view *v = &w->view;
    bool preferred = *v->prefer && is_met(s, w, v->prefer);
    if (!facts_of(s)->features_change && !preferred && !is_met(s, w, v->features))
        sim_break(s, "nodes are not as a job wants them", "job %u, %s", w->job_id, v->features);
}

/* --- the network --------------------------------------------------------------------------------
 */

static void check_switches(struct sim *s, const struct sim_watch *w, const struct sim_item *j)
{
    const struct sim_facts *f = facts_of(s);
    bool used[SIM_NODES / 8] = {false};
    int64_t leaves = 0;
    int64_t wait = j->switch_wait_sec && j->switch_wait_sec < SWITCH_WAIT_SEC ? j->switch_wait_sec
                                                                              : SWITCH_WAIT_SEC;
    if (!f->leaf_nodes || !j->switches || f->clock_set)
        return;
    vec_foreach (&w->shares, share) {
        unsigned leaf = share->node / f->leaf_nodes;
        leaves += leaf < sizeof used && !used[leaf];
        used[leaf < sizeof used ? leaf : 0] = true;
    }
    const struct sim_watch *array = sim_watch_find(s, w->view.array_id);
    int64_t since_ms = array ? array->first_ms : w->first_ms;
    if (leaves > j->switches && s->now_ms - since_ms < wait * 1000 - 1000)
        sim_break(s, "a job did not wait for its switches", "job %u: %lld of %lld after %lld ms",
                  w->job_id, (long long)leaves, (long long)j->switches,
                  (long long)(s->now_ms - since_ms));
}

unsigned sim_wish_leaf_nodes(struct sim *s)
{
    return facts_of(s)->leaf_nodes;
}

/* A job may still wait for its switches and block others: the time counts from the last start or
 * end. */
bool sim_wish_waits(struct sim *s)
{
    int64_t last_ms = s->healed_at_ms;
    bool waits = false;
    for (const struct sim_watch *w = s->watches; w && facts_of(s)->leaf_nodes; w = w->hh.next) {
        const struct sim_item *j = asked_by(s, w);
        bool pending = w->view.there && w->view.state == PB__JOB_STATE__PENDING;
        waits = waits || (pending && j && j->switches);
        if (!pending && w->put_at_ms > last_ms)
            last_ms = w->put_at_ms;
    }
    return waits && s->now_ms - last_ms < 2 * SWITCH_WAIT_SEC * 1000;
}

/* --- generic resources --------------------------------------------------------------------------
 */

static void check_devices(struct sim *s, const struct sim_watch *by, const struct sim_share *own,
                          const struct sim_gres *g)
{
    struct sim_node *n = &s->nodes.data[own->node];
    uint64_t count = 0, devices = 0, twice = 0;
    vec_foreach (&n->holders, id) {
        const struct sim_watch *w = sim_watch_find(s, *id);
        const struct sim_share *share =
            w && sim_give_holds(w) ? sim_give_share(w, own->node) : NULL;
        for (unsigned i = 0; share && i < share->n_gres; i++) {
            const struct sim_gres *o = &share->gres[i];
            if (strcmp(o->name, g->name) != 0 || strcmp(o->type, g->type) != 0)
                continue;
            twice |= devices & o->devices;
            devices |= o->devices;
            count += o->count;
        }
    }
    if (twice & g->devices)
        sim_break(s, "a device is given away twice", "%s of %s, job %u: %llx", g->name, n->name,
                  by->job_id, (unsigned long long)twice);
    if (n->item && count > sim_count_of_list(n->item->gres, g->name, g->type))
        sim_break(s, "more devices are given away than there are", "%s:%s of %s, job %u: %llu",
                  g->name, g->type, n->name, by->job_id, (unsigned long long)count);
}

/* The GPUs of the node that have this type, by the node's configuration line. */
static uint64_t gpus_of(const struct sim_item *node, const struct sim_gres *g)
{
    const char *type = *g->type ? g->type : "";
    unsigned first = 0;
    if (strcmp(type, "b") == 0)
        first = (unsigned)sim_count_of_list(node->gres, "gpu", "a");
    return strcmp(g->name, "gpu") == 0 ? g->devices << first : 0;
}

/* No GPU is allocated both as a whole and in shards, and no GPU has more shards in use than it has.
 */
static void check_parts(struct sim *s, const struct sim_watch *by, unsigned node)
{
    struct sim_node *n = &s->nodes.data[node];
    uint64_t whole = 0, parts[64] = {0};
    if (!n->item)
        return;
    uint64_t gpus = sim_count_of_list(n->item->gres, "gpu", ""),
             all = sim_count_of_list(n->item->gres, "shard", "");
    vec_foreach (&n->holders, id) {
        const struct sim_watch *w = sim_watch_find(s, *id);
        const struct sim_share *share = w && sim_give_holds(w) ? sim_give_share(w, node) : NULL;
        for (unsigned i = 0; share && i < share->n_gres; i++) {
            whole |= gpus_of(n->item, &share->gres[i]);
            if (share->gres[i].parts)
                parts[share->gres[i].gpu] += share->gres[i].count;
        }
    }
    for (unsigned i = 0; i < 64; i++) {
        if (parts[i] && whole >> i & 1)
            sim_break(s, "a GPU is given away whole and in parts", "GPU %u of %s, job %u", i,
                      n->name, by->job_id);
        if (parts[i] && (i >= gpus || parts[i] > all / gpus + (i < all % gpus)))
            sim_break(s, "a GPU has fewer parts than are given away", "GPU %u of %s, job %u: %llu",
                      i, n->name, by->job_id, (unsigned long long)parts[i]);
    }
}

static uint64_t share_has(const struct sim_share *share, const char *name, const char *type)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < share->n_gres; i++)
        if (strcmp(share->gres[i].name, name) == 0 &&
            (!*type || strcmp(share->gres[i].type, type) == 0))
            sum += share->gres[i].count;
    return sum;
}

static void check_gres(struct sim *s, const struct sim_watch *w, const struct sim_item *j)
{
    static const struct {
        const char *name, *type;
    } kinds[] = {{"gpu", ""}, {"gpu", "a"}, {"gpu", "b"}, {"nic", ""}, {"shard", ""}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        uint64_t each = sim_count_of_list(j->gres, kinds[k].name, kinds[k].type), sum = 0;
        vec_foreach (&w->shares, share) {
            uint64_t has = share_has(share, kinds[k].name, kinds[k].type);
            sum += has;
            if (has < each)
                sim_break(s, "a job has fewer devices than it asked for", "job %u, %s of %s",
                          w->job_id, kinds[k].name, s->nodes.data[share->node].name);
        }
        if (sum < sim_count_of_list(j->gpus, kinds[k].name, kinds[k].type))
            sim_break(s, "a job has fewer devices than it asked for", "job %u, %s:%s in all",
                      w->job_id, kinds[k].name, kinds[k].type);
    }
    vec_foreach (&w->shares, share)
        for (unsigned i = 0; i < share->n_gres; i++)
            check_devices(s, w, share, &share->gres[i]);
    vec_foreach (&w->shares, share)
        check_parts(s, w, share->node);
}

/* --- all of it ----------------------------------------------------------------------------------
 */

void sim_wish_check(struct sim *s, const struct sim_watch *w)
{
    const struct sim_item *j = asked_by(s, w);
    const struct sim_view *v = &w->view;
    check_constraint(s, w);
    sim_array_check_given(s, w);
    if (v->deadline_at && !facts_of(s)->clock_set && sim_wall_ms(s) / 1000 > v->deadline_at)
        sim_break(s, "a job was started after its deadline", "job %u", w->job_id);
    if (!j)
        return;
    if (s->clients.data[w->client].shrinks) /* a shrinking job requests fewer nodes from then on */
        return;
    if ((j->min_nodes && w->shares.len < (size_t)j->min_nodes) ||
        (j->max_nodes && w->shares.len > (size_t)j->max_nodes))
        sim_break(s, "a job has not as many nodes as it wants", "job %u: %zu", w->job_id,
                  w->shares.len);
    check_switches(s, w, j);
    check_torus(s, w);
    check_gres(s, w, j);
    sim_license_check(s, w, SIM_LICENSES);
}

void sim_wish_check_late(struct sim *s, const struct sim_watch *w)
{
    const struct sim_facts *f = facts_of(s);
    const struct sim_view *v = &w->view;
    const struct sim_client *c = w->client == UINT32_MAX ? NULL : &s->clients.data[w->client];
    if (!v->there || v->state != PB__JOB_STATE__RUNNING || !v->deadline_at || f->clock_set ||
        w->untimed || v->configuring || !c || c->asked[SIM_CLAIM_LIMIT])
        return;
    if (sim_wall_ms(s) > (v->deadline_at + LATE_SEC) * 1000 + s->over_ms + w->stood_ms)
        sim_break(s, "a deadline is not kept", "job %u", w->job_id);
}
