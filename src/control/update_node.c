/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update node: its administrative state, and what is said about it. All nodes named are
 * checked before one of them is changed. */
#include <string.h>

#include "control/internal.h"

static void resume(struct control *c, struct node *n)
{
    n->drain = n->fail = n->down = n->admin_down = n->future = false;
    node_set_reason(n, NULL, 0, 0);
    if (!n->connected)
        node_heard(c, n); /* it has SlurmdTimeout to appear */
}

static int check_reason(const struct node *n, const Pb__NodeUpdate *r, struct err *err)
{
    bool drain = str_case_eq(r->state, "DRAIN"), down = str_case_eq(r->state, "DOWN");
    if ((!drain && !down) || (r->reason && *r->reason) || n->reason)
        return 0;
    return err_set(err, -ERR_PARSE, "You must specify a reason when %s a node: Reason=...",
                   drain ? "DRAINING" : "DOWNING");
}

static int check_state(const struct node *n, const Pb__NodeUpdate *r, struct err *err)
{
    static const char *const known[] = {"RESUME", "UNDRAIN", "IDLE",  "DRAIN",
                                        "DOWN",   "FAIL",    "FUTURE"};
    bool found = false;
    if (!r->state)
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found = found || str_case_eq(r->state, known[i]);
    if (!found)
        return err_set(err, -ERR_PARSE, "Invalid node state specified: %s", r->state);
    if (str_case_eq(r->state, "FUTURE") && n->jobs)
        return err_set(err, -ERR_TRANSITION, "%s: %s has running jobs", err_text(ERR_TRANSITION),
                       n->name);
    return check_reason(n, r, err);
}

static int check_cpu_bind(const Pb__NodeUpdate *r, struct err *err)
{
    if (!r->cpu_bind || !*r->cpu_bind || str_case_eq(r->cpu_bind, "off") ||
        conf_cpu_bind_known(r->cpu_bind))
        return 0;
    return err_set(err, -ERR_PARSE, "CpuBind=%.64s: it is none, socket, ldom, core, thread or off",
                   r->cpu_bind);
}

static void set_text(char **to, const char *text)
{
    if (!text)
        return;
    free(*to);
    *to = *text ? mem_strdup(text) : NULL;
}

/* All of a list of features, as the node is to have them. */
static int check_features(const struct node *n, const Pb__NodeUpdate *r, struct err *err)
{
    const char *all = r->features ? r->features : n->features;
    for (const char *at = r->active_features ? r->active_features : n->active; at && *at;) {
        size_t len = strcspn(at, ",");
        if (len && !node_features_have(all, at, len))
            return err_set(
                err, -ERR_FEATURE, "%s: %s: %.*s is active and must be one of AvailableFeatures=%s",
                err_text(ERR_FEATURE), n->name, len > 200 ? 200 : (int)len, at, all ? all : "");
        at += len + (at[len] != 0);
    }
    return 0;
}

static void set_features(struct node *n, const Pb__NodeUpdate *r)
{
    if (r->features) {
        set_text(&n->features, r->features);
        n->features_set = true;
    }
    if (r->active_features) {
        bool all = str_eq(r->active_features, n->features ? n->features : "");
        free(n->active);
        n->active = all ? NULL : mem_strdup(r->active_features);
    }
}

static void set_state(struct control *c, struct node *n, const char *state)
{
    if (str_case_eq(state, "RESUME") || str_case_eq(state, "IDLE")) {
        resume(c, n);
    } else if (str_case_eq(state, "UNDRAIN")) {
        n->drain = false;
        if (!n->down)
            node_set_reason(n, NULL, 0, 0);
    } else if (str_case_eq(state, "DRAIN")) {
        n->drain = true;
    } else if (str_case_eq(state, "FAIL")) {
        n->fail = true;
    } else if (str_case_eq(state, "FUTURE")) {
        n->future = true;
    } else {
        n->down = n->admin_down = true;
        trigger_node(c, n); /* before its jobs are no more */
        node_lose_jobs(c, n);
    }
}

static void update_node(struct control *c, const struct caller *who, struct node *n,
                        const Pb__NodeUpdate *r)
{
    if (r->reason)
        node_set_reason(n, *r->reason ? r->reason : NULL, who->uid, control_wall(c));
    if (r->state)
        set_state(c, n, r->state);
    if (r->has_weight) {
        n->weight = r->weight;
        n->weight_set = true;
    }
    set_features(n, r);
    set_text(&n->comment, r->comment);
    set_text(&n->extra, r->extra);
    set_text(&n->cpu_bind, r->cpu_bind);
    control_save_node(c, n);
    control_log(c, LOG_LVL_INFO, "node %s changed by uid %u%s%s", n->name, who->uid,
                r->state ? ": " : "", r->state ? r->state : "");
}

static int find_nodes(struct control *c, const Pb__NodeUpdate *r, struct bitset **set,
                      struct err *err)
{
    if (r->n_refused_field)
        return err_set(err, -ERR_CANNOT_UPDATE, "%s: %s", err_text(ERR_CANNOT_UPDATE),
                       r->refused_field[0]);
    if (!*r->nodes)
        return err_set(err, -ERR_NO_NODE, "%s: none is named", err_text(ERR_NO_NODE));
    if (!str_case_eq(r->nodes, "ALL"))
        return cluster_node_set(c->cluster, r->nodes, set, err);
    *set = bitset_new(c->cluster->nodes.len);
    bitset_fill(*set);
    return 0;
}

void control_node_update(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__NodeUpdate *r)
{
    struct err err = {0};
    struct bitset *set = NULL;
    int rc = check_cpu_bind(r, &err);
    rc = rc == 0 ? find_nodes(c, r, &set, &err) : rc;
    for (long i = set ? bitset_next(set, 0) : -1; i >= 0 && rc == 0;
         i = bitset_next(set, (size_t)i + 1)) {
        rc = check_state(c->cluster->nodes.data[i], r, &err);
        rc = rc == 0 ? check_features(c->cluster->nodes.data[i], r, &err) : rc;
    }
    if (rc != 0) {
        bitset_free(set);
        control_refuse(c, call, &err);
        return;
    }
    bitset_foreach (set, i)
        update_node(c, who, c->cluster->nodes.data[i], r);
    bitset_free(set);
    c->plan_wanted = true;
    control_done(c, call);
}
