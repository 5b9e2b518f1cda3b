/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Consistency of the Gang* keys and OverSubscribe with PreemptMode=GANG. */
#include "conf/conf_gang.h"

#include <string.h>
#include <strings.h>

#include "base/size.h"
#include "conf/conf_internal.h"

#define GRACE_SEC 2 /* default of suspend_grace_time */

/* Default values cause no warning, because "scontrol write config" writes them. */
static void warn_of_idle_keys(struct conf_loader *l)
{
    const struct conf *c = l->conf;
    const struct {
        enum conf_key_id key;
        const char *name;
        bool is_set;
    } keys[] = {{CONF_KEY_gang_devices, "GangDevices", c->gang_devices},
                {CONF_KEY_gang_het, "GangHet", c->gang_het},
                {CONF_KEY_gang_overlap, "GangOverlap", !c->gang_overlap}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].is_set)
            conf_warn(l, l->priv->written[keys[i].key].at,
                      "%s has no effect: PreemptMode has no GANG", keys[i].name);
}

/* A job continues for the grace time after its time slice. */
static int grace_check(struct conf_loader *l, struct err *err)
{
    const struct conf *c = l->conf;
    _cleanup_free_ char *text = conf_list_value(c->preempt_parameters, "suspend_grace_time");
    long long grace = GRACE_SEC;
    if (text && str_parse_i64(text, 0, UINT32_MAX, &grace) < 0)
        return 0; /* refused by the check of preemption */
    if (grace < c->scheduler_time_slice_sec)
        return 0;
    return conf_fail(l->priv->written[CONF_KEY_preempt_parameters].at, err,
                     "PreemptParameters: suspend_grace_time=%lld is not shorter than "
                     "SchedulerTimeSlice=%lld: jobs would never stop in their slice",
                     grace, (long long)c->scheduler_time_slice_sec);
}

int conf_gang_check(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;
    c->gang = conf_list_has(c->preempt_mode, "GANG");
    c->gang_counts = c->select != CONF_SELECT_LINEAR && c->cr & CONF_CR_CPU &&
                     !strstr(c->task_plugin, "affinity");
    if (!c->gang) {
        warn_of_idle_keys(l);
        return 0;
    }
    if (c->gang_het && !c->gang_overlap)
        return conf_fail(l->priv->written[CONF_KEY_gang_het].at, err,
                         "GangHet=yes: components in several partitions need one rotation, and "
                         "GangOverlap=no gives each partition its own: take one of the two out");
    if (!(c->cr & CONF_CR_MEMORY))
        conf_warn(l, l->priv->written[CONF_KEY_preempt_mode].at,
                  "PreemptMode=%s: suspended jobs stay in memory, which SelectTypeParameters "
                  "without _Memory does not count",
                  c->preempt_mode);
    return grace_check(l, err);
}

const char *conf_sharing_refusal(const struct conf *c, bool has_devices, bool is_set)
{
    if (!c->gang)
        return NULL;
    if (has_devices && !c->gang_devices)
        return "the job has generic resources, and GangDevices=no";
    return is_set && !c->gang_het ? "the job is heterogeneous, and GangHet=no" : NULL;
}

const char *conf_unshared_reason(const struct conf *c, bool has_devices, bool is_set)
{
    const char *refusal = conf_sharing_refusal(c, has_devices, is_set);
    if (!c->gang || refusal)
        return refusal;
    if (has_devices)
        return "the job has generic resources, and was started with GangDevices=no";
    return is_set ? "the job is heterogeneous, and was started with GangHet=no"
                  : "the job was started before its partition let jobs share";
}

bool conf_shares_across_parts(const struct conf *c)
{
    return c->gang && c->gang_overlap;
}

static bool is_shared(const struct conf_part *p)
{
    return p->share == CONF_SHARE_FORCE || p->share == CONF_SHARE_YES;
}

/* With FORCE:1 and YES:1 jobs do not share, in any partition. */
static bool takes_turns(const struct conf_part *p)
{
    return is_shared(p) && p->share_max > 1;
}

static void warn_of_overlap(struct conf_loader *l, const struct conf_part *p)
{
    const char *how = l->conf->gang_overlap
                          ? "their jobs take turns in one rotation (GangOverlap=no gives each "
                            "partition its own)"
                          : "each has a rotation of its own, and their jobs do not share";
    vec_foreach (&l->conf->parts, other) {
        if (other == p)
            return;
        if (takes_turns(other) && bitset_intersects(other->node_set, p->node_set))
            conf_warn(l, (struct conf_place){p->file, p->line},
                      "partitions %s and %s have nodes in common: %s", other->name, p->name, how);
    }
}

static void warn_of_memory(struct conf_loader *l, const struct conf_part *p)
{
    const struct conf *c = l->conf;
    if (!conf_part_counts_memory(c, p) || c->def_mem_per_cpu_mib || c->def_mem_per_node_mib ||
        p->def_mem_per_cpu_mib || p->def_mem_per_node_mib)
        return;
    conf_warn(l, (struct conf_place){p->file, p->line},
              "partition %s: the memory of jobs without --mem is not counted, and suspended jobs "
              "keep theirs: set DefMemPerNode or DefMemPerCPU",
              p->name);
}

int conf_gang_parts_check(struct conf_loader *l, struct err *err)
{
    bool any = false;
    if (!l->conf->gang)
        return 0;
    vec_foreach (&l->conf->parts, p) {
        any = any || takes_turns(p);
        if (takes_turns(p))
            warn_of_overlap(l, p);
        if (is_shared(p))
            warn_of_memory(l, p);
    }
    if (!any && !strcasecmp(l->conf->preempt_mode, "GANG"))
        conf_warn(
            l, l->priv->written[CONF_KEY_preempt_mode].at,
            "PreemptMode=GANG has no effect: no partition has OverSubscribe=FORCE or YES for more "
            "than one job");
    return 0;
}
