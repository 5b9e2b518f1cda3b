/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update node: the administrative state and descriptions. All named nodes are checked
 * before any is changed. */
#include <string.h>

#include "base/hostlist.h"
#include "control/admin/node_topology.h"
#include "control/admin/update_node.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/node/node.h"
#include "control/report/node_register.h"
#include "control/report/reboot.h"

#define ADDR_MOST 255      /* bytes of an address */
#define RESUME_LOOK_SEC 60 /* the wall clock may be set: check again */
#define RESUME_MOST_SEC INT32_MAX

void update_node_resume_due(struct control *c)
{
    int64_t wall = control_wall(c), next = INT64_MAX;
    if (control_mono(c) < c->resume_look_ms)
        return;
    vec_foreach (&c->cluster->nodes, at) {
        struct node *n = *at;
        if (n->resume_at && n->resume_at <= wall) {
            node_resume(c, n);
            control_save_node(c, n);
            control_log(c, LOG_LVL_INFO, "node %s is resumed: its ResumeAfter is over", n->name);
            c->plan_wanted = true;
        }
        if (n->resume_at && n->resume_at < next)
            next = n->resume_at;
    }
    int64_t wait = next - wall < RESUME_LOOK_SEC ? next - wall : RESUME_LOOK_SEC;
    c->resume_look_ms = next == INT64_MAX ? INT64_MAX : control_mono(c) + wait * 1000;
}

void update_node_resume_look(struct control *c)
{
    c->resume_look_ms = control_mono(c);
    update_node_resume_due(c);
}

static int check_resume(const struct node *n, const Pb__NodeUpdate *r, struct err *err)
{
    bool out = str_case_eq(r->state, "DRAIN") || str_case_eq(r->state, "DOWN") ||
               (!r->state && (n->drain || n->down));
    if (!r->has_resume_after_sec || r->resume_after_sec == -1)
        return 0;
    if (r->resume_after_sec < 1 || r->resume_after_sec > RESUME_MOST_SEC)
        return err_set(err, -ERR_PARSE, "invalid ResumeAfter %lld: use a number of seconds, or -1",
                       (long long)r->resume_after_sec);
    return out ? 0
               : err_set(err, -ERR_PARSE,
                         "%s: ResumeAfter is for nodes that are DOWN or DRAIN: add State=DOWN or "
                         "State=DRAIN",
                         n->name);
}

static int check_reason(const struct node *n, const Pb__NodeUpdate *r, struct err *err)
{
    bool drain = str_case_eq(r->state, "DRAIN"), down = str_case_eq(r->state, "DOWN");
    if ((!drain && !down) || (r->reason && *r->reason) || n->reason)
        return 0;
    return err_set(err, -ERR_PARSE, "You must specify a reason when %s a node: Reason=...",
                   drain ? "DRAINING" : "DOWNING");
}

static int check_state(const struct control *c, const struct node *n, const Pb__NodeUpdate *r,
                       struct err *err)
{
    static const char *const known[] = {"RESUME", "UNDRAIN", "IDLE",   "DRAIN",        "DOWN",
                                        "FAIL",   "FUTURE",  "REBOOT", "CANCEL_REBOOT"};
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
    if (str_case_eq(r->state, "REBOOT") || str_case_eq(r->state, "CANCEL_REBOOT"))
        return reboot_check(c, n, r, err);
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

/* Checks a complete list of features for the node. */
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

static void set_state(struct control *c, const struct caller *who, struct node *n,
                      const Pb__NodeUpdate *r)
{
    const char *state = r->state;
    if (str_case_eq(state, "REBOOT")) {
        reboot_request(c, n, r, who->uid);
    } else if (str_case_eq(state, "CANCEL_REBOOT")) {
        reboot_cancel(c, n);
    } else if (str_case_eq(state, "RESUME") || str_case_eq(state, "IDLE")) {
        node_resume(c, n);
    } else if (str_case_eq(state, "UNDRAIN")) {
        n->drain = false;
        if (!n->down) {
            node_set_reason(n, NULL, 0, 0);
            n->resume_at = 0;
        }
    } else if (str_case_eq(state, "DRAIN")) {
        n->drain = true;
    } else if (str_case_eq(state, "FAIL")) {
        n->fail = true;
    } else if (str_case_eq(state, "FUTURE")) {
        n->future = true;
    } else {
        n->down = n->admin_down = true;
        trigger_node(c, n); /* before its jobs are gone */
        node_lose_jobs(c, n);
    }
}

static void update_node(struct control *c, const struct caller *who, struct node *n,
                        const Pb__NodeUpdate *r)
{
    if (r->reason)
        node_set_reason(n, *r->reason ? r->reason : NULL, who->uid, control_wall(c));
    if (r->state)
        set_state(c, who, n, r);
    if (r->has_resume_after_sec) {
        n->resume_at = r->resume_after_sec < 0 ? 0 : control_wall(c) + r->resume_after_sec;
        c->resume_look_ms = control_mono(c);
    }
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

/* "" restores the value of slurm.conf. */
static int check_addr(const char *key, const char *value, struct err *err)
{
    if (strlen(value) > ADDR_MOST)
        return err_set(err, -ERR_PARSE, "invalid %s: it has more than %d bytes", key, ADDR_MOST);
    for (const char *p = value; *p; p++)
        if (*p <= ' ' || *p > '~' || strchr("\"#\\,[]", *p))
            return err_set(err, -ERR_PARSE, "invalid %s '%.64s': use one host name or address", key,
                           value);
    return 0;
}

/* Returns the names in the order of the request; nodesets and ALL in the order of slurm.conf. */
static struct hostlist *list_names(const struct control *c, const Pb__NodeUpdate *r,
                                   const struct bitset *set)
{
    struct hostlist *names = NULL;
    size_t count = bitset_count(set);
    bool by_name = hostlist_parse(r->nodes, &names, NULL) == 0 && hostlist_count(names) == count;
    char name[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < count && by_name; i++)
        by_name = cluster_find_node(c->cluster, hostlist_nth(names, i, name)) != NULL;
    if (by_name)
        return names;
    hostlist_free(names);
    names = hostlist_new();
    bitset_foreach (set, i)
        hostlist_push(names, c->cluster->nodes.data[i]->name);
    return names;
}

/* NodeAddr and NodeHostname: a single value applies to a single node and is used literally. */
static int share_out(struct control *c, const struct hostlist *names, const char *key,
                     const char *value, bool is_addr, bool apply, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *values = NULL;
    char name[HOSTLIST_NAME_MAX + 1], one[HOSTLIST_NAME_MAX + 1];
    size_t count = hostlist_count(names);
    if (!value)
        return 0;
    bool single = count == 1 && check_addr(key, value, NULL) == 0;
    int rc = single || !*value ? 0 : hostlist_parse(value, &values, err);
    if (rc == 0 && values && hostlist_count(values) != count)
        rc = err_set(err, -ERR_PARSE, "%s=%.64s names %zu addresses for %zu nodes", key, value,
                     hostlist_count(values), count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct node *n = cluster_find_node(c->cluster, hostlist_nth(names, i, name));
        const char *text = values ? hostlist_nth(values, i, one) : value;
        rc = check_addr(key, text, err);
        if (rc == 0 && apply)
            set_text(is_addr ? &n->addr : &n->hostname, text);
    }
    return rc;
}

static int set_addresses(struct control *c, const Pb__NodeUpdate *r, const struct bitset *set,
                         bool apply, struct err *err)
{
    if (!r->addr && !r->hostname)
        return 0;
    _cleanup_hostlist_ struct hostlist *names = list_names(c, r, set);
    int rc = share_out(c, names, "NodeAddr", r->addr, true, apply, err);
    if (rc == 0)
        rc = share_out(c, names, "NodeHostname", r->hostname, false, apply, err);
    return rc;
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
        rc = check_state(c, c->cluster->nodes.data[i], r, &err);
        rc = rc == 0 ? check_features(c->cluster->nodes.data[i], r, &err) : rc;
        rc = rc == 0 ? check_resume(c->cluster->nodes.data[i], r, &err) : rc;
    }
    rc = rc == 0 ? set_addresses(c, r, set, false, &err) : rc;
    if (rc == 0 && r->topology)
        rc = node_topology_update(c, set, r->topology, &err);
    if (rc != 0) {
        bitset_free(set);
        control_refuse(c, call, &err);
        return;
    }
    (void)set_addresses(c, r, set, true, &err);
    bitset_foreach (set, i)
        update_node(c, who, c->cluster->nodes.data[i], r);
    if (r->topology)
        node_topology_tell(c, false);
    bitset_free(set);
    c->plan_wanted = true;
    control_done(c, call);
}
