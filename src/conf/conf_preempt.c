/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the keys of preemption say together, and those that begin with Gang and OverSubscribe with
 * PreemptMode=GANG. */
#include <string.h>
#include <strings.h>

#include "base/size.h"
#include "conf/conf_internal.h"

#define GRACE_SEC 2 /* of suspend_grace_time, where it is not given */

/* Values that are the default say nothing: "scontrol write config" writes them. */
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

/* A job runs on for the grace time after its turn. */
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

/* After the check of preemption. */
static int conf_gang_check(struct conf_loader *l, struct err *err)
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

static bool is_shared(const struct conf_part *p)
{
    return p->share == CONF_SHARE_FORCE || p->share == CONF_SHARE_YES;
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
        if (is_shared(other) && bitset_intersects(other->node_set, p->node_set))
            conf_warn(l, (struct conf_place){p->file, p->line},
                      "partitions %s and %s have nodes in common: %s", other->name, p->name, how);
    }
}

void conf_gang_parts_check(struct conf_loader *l)
{
    bool any = false;
    if (!l->conf->gang)
        return;
    vec_foreach (&l->conf->parts, p) {
        any = any || is_shared(p);
        if (is_shared(p))
            warn_of_overlap(l, p);
    }
    if (!any && !strcasecmp(l->conf->preempt_mode, "GANG"))
        conf_warn(l, l->priv->written[CONF_KEY_preempt_mode].at,
                  "PreemptMode=GANG has no effect: no partition has OverSubscribe=FORCE or YES");
}

static size_t count_modes(const char *list)
{
    return (size_t)(conf_list_has(list, "CANCEL") + conf_list_has(list, "REQUEUE") +
                    conf_list_has(list, "SUSPEND"));
}

static int number_check(struct conf_loader *l, const char *option, struct err *err)
{
    const struct conf_value *v = &l->priv->written[CONF_KEY_preempt_parameters];
    _cleanup_free_ char *text = conf_list_value(l->conf->preempt_parameters, option);
    long long value;
    if (text && str_parse_i64(text, 0, UINT32_MAX, &value) < 0)
        return conf_fail(v->at, err, "PreemptParameters: %s=%s: a number is expected", option,
                         text);
    return 0;
}

const char *conf_preempt_word(const char *mode)
{
    static const char *const modes[][2] = {
        {"SUSPEND", "GANG,SUSPEND"}, {"REQUEUE", "GANG,REQUEUE"}, {"CANCEL", "GANG,CANCEL"}};
    bool gang = conf_list_has(mode, "GANG");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (conf_list_has(mode, modes[i][0]))
            return modes[i][gang];
    return gang ? "GANG" : "OFF";
}

int conf_preempt_check(struct conf_loader *l, struct err *err)
{
    const struct conf *c = l->conf;
    const struct conf_value *mode = &l->priv->written[CONF_KEY_preempt_mode],
                            *type = &l->priv->written[CONF_KEY_preempt_type];
    bool on = !strcasecmp(c->preempt_type, "preempt/partition_prio");
    if (count_modes(c->preempt_mode) > 1)
        return conf_fail(mode->at, err, "PreemptMode=%s: one of CANCEL, REQUEUE and SUSPEND",
                         c->preempt_mode);
    if (on && !count_modes(c->preempt_mode))
        return conf_fail(type->at, err,
                         "PreemptType=preempt/partition_prio needs PreemptMode=CANCEL, REQUEUE or "
                         "SUSPEND,GANG; it is %s",
                         c->preempt_mode);
    if (conf_list_has(c->preempt_mode, "SUSPEND") && !conf_list_has(c->preempt_mode, "GANG"))
        return conf_fail(mode->at, err,
                         "PreemptMode=%s: SUSPEND needs GANG, by which suspended jobs go on: write "
                         "SUSPEND,GANG",
                         c->preempt_mode);
    int rc = number_check(l, "min_exempt_priority", err);
    rc = rc < 0 ? rc : number_check(l, "suspend_grace_time", err);
    return rc < 0 ? rc : conf_gang_check(l, err);
}

const char *conf_part_preempt_fault(const struct conf *c, const char *mode)
{
    static const char *const words[] = {"OFF", "CANCEL", "REQUEUE", "SUSPEND"};
    bool known = !mode || !*mode;
    if (!known && conf_list_has(mode, "GANG"))
        return "GANG is of the whole cluster only";
    for (size_t i = 0; !known && i < sizeof(words) / sizeof(words[0]); i++)
        known = !strcasecmp(mode, words[i]);
    if (!known)
        return "expected OFF, CANCEL, REQUEUE or SUSPEND";
    if (mode && !strcasecmp(mode, "SUSPEND") && !conf_list_has(c->preempt_mode, "GANG"))
        return "SUSPEND needs GANG in the PreemptMode of the cluster";
    return NULL;
}

int conf_preempt_part_check(struct conf_loader *l, const struct conf_value *v, const char *part,
                            struct err *err)
{
    const char *fault = conf_part_preempt_fault(l->conf, v->text);
    if (!fault)
        return 0;
    return conf_fail(v->at, err, "partition %s: PreemptMode=%s: %s", part, v->text, fault);
}
