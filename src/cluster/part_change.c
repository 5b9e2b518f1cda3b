/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/part_change.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "conf/conf_tres.h"

#define PRIORITY_MAX 65533 /* as in conf_part.def */

static const struct {
    const char *field, *shown;
    bool live;
} fields[] = {
#define FIXED(key) key, false
#define ALWAYS(key) key, true
#define FIELD(field, update, ...) {#field, update},
#include "proto/part_field.def"
#undef FIELD
};

bool part_may_change(const char *field, const char **shown)
{
    *shown = NULL;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcmp(fields[i].field, field) == 0) {
            *shown = fields[i].shown;
            return fields[i].live;
        }
    return false;
}

static int read_state(const char *word, enum conf_part_state *state, struct err *err)
{
    static const char *const words[] = {"UP", "DOWN", "DRAIN", "INACTIVE"};
    for (int i = 0; word && i < 4; i++)
        if (str_case_eq(word, words[i])) {
            *state = (enum conf_part_state)i;
            return 0;
        }
    return word ? err_set(err, -ERR_PARSE, "Invalid partition state specified: %s", word) : 0;
}

static int read_nodes(const struct cluster *c, const char *expr, struct bitset **out,
                      struct err *err)
{
    if (!expr)
        return 0;
    if (!str_case_eq(expr, "ALL"))
        return cluster_node_set(c, expr, out, err);
    *out = bitset_new(c->nodes.len);
    bitset_fill(*out);
    return 0;
}

#define TAKE(field)                                                                                \
    if (m->has_##field)                                                                            \
        to->field = m->field;

static void take_numbers(struct conf_part *to, const Pb__PartRecord *m)
{
    TAKE(is_default)
    TAKE(hidden)
    TAKE(root_only)
    TAKE(req_resv)
    TAKE(key)
    TAKE(key_number)
    TAKE(disable_root)
    TAKE(exclusive_user)
    TAKE(exclusive_topo)
    TAKE(lln)
    TAKE(max_time_sec)
    TAKE(default_time_sec)
    TAKE(max_nodes)
    TAKE(min_nodes)
    TAKE(max_cpus_per_node)
    TAKE(max_cpus_per_socket)
    TAKE(priority_tier)
    TAKE(priority_job_factor)
    TAKE(grace_time_sec)
    TAKE(def_mem_per_cpu_mib)
    TAKE(def_mem_per_node_mib)
    TAKE(def_cpu_per_gpu)
    TAKE(def_mem_per_gpu_mib)
    TAKE(max_mem_per_cpu_mib)
    TAKE(max_mem_per_node_mib)
    if (m->has_over_time_limit_sec)
        to->over_time_limit_sec =
            m->over_time_limit_sec == INT64_MAX ? CONF_PART_OVER_UNSET : m->over_time_limit_sec;
    if (to->max_cpus_per_node == 0)
        to->max_cpus_per_node = UINT32_MAX;
    if (to->max_cpus_per_socket == 0)
        to->max_cpus_per_socket = UINT32_MAX;
    /* Of a pair only one is in force: the one that was named last. */
    if (m->has_def_mem_per_cpu_mib && m->def_mem_per_cpu_mib)
        to->def_mem_per_node_mib = 0;
    else if (m->has_def_mem_per_node_mib && m->def_mem_per_node_mib)
        to->def_mem_per_cpu_mib = 0;
    if (m->has_max_mem_per_cpu_mib && m->max_mem_per_cpu_mib)
        to->max_mem_per_node_mib = 0;
    else if (m->has_max_mem_per_node_mib && m->max_mem_per_node_mib)
        to->max_mem_per_cpu_mib = 0;
}

static int check_numbers(const struct conf_part *p, struct err *err)
{
    if (p->min_nodes > p->max_nodes)
        return err_set(err, -ERR_RANGE, "MinNodes=%u is more than MaxNodes=%u", p->min_nodes,
                       p->max_nodes);
    if (p->default_time_sec > p->max_time_sec)
        return err_set(err, -ERR_RANGE, "DefaultTime is more than MaxTime");
    if (p->max_time_sec <= 0)
        return err_set(err, -ERR_RANGE, "MaxTime must be more than 0");
    if (p->over_time_limit_sec > CONF_PART_OVER_MAX_SEC)
        return err_set(err, -ERR_RANGE, "OverTimeLimit is at most %d minutes",
                       CONF_PART_OVER_MAX_SEC / 60);
    if (p->priority_tier > PRIORITY_MAX || p->priority_job_factor > PRIORITY_MAX)
        return err_set(err, -ERR_RANGE, "PriorityTier and PriorityJobFactor are 0 to %d",
                       PRIORITY_MAX);
    return 0;
}

static int check_preemption(const struct cluster *c, const Pb__PartRecord *m, struct err *err)
{
    const char *fault = conf_part_preempt_fault(c->conf, m->preempt_mode);
    if (fault)
        return err_set(err, -ERR_PARSE, "PreemptMode=%s: %s", m->preempt_mode, fault);
    if (m->has_grace_time_sec && (m->grace_time_sec < 0 || m->grace_time_sec > UINT32_MAX))
        return err_set(err, -ERR_RANGE, "GraceTime is 0 to %u seconds", UINT32_MAX);
    return 0;
}

static bool is_off(const char *word)
{
    return !*word || str_case_eq(word, "off");
}

static int check_cpu_bind(const char *word, struct err *err)
{
    if (!word || is_off(word) || conf_cpu_bind_known(word))
        return 0;
    return err_set(err, -ERR_PARSE, "CpuBind=%.64s: it is none, socket, ldom, core, thread or off",
                   word);
}

/* As a value in quotes holds it: "scontrol write config" makes one of it. */
static int check_list(const char *key, const char *list, struct err *err)
{
    for (const char *at = list; at && *at; at++)
        if (iscntrl((unsigned char)*at) || *at == '"' || *at == '\\')
            return err_set(err, -ERR_PARSE, "%s: a list of names holds no \" and no \\", key);
    return 0;
}

/* "CPU=1.0,Mem=0.25G,GRES/gpu=2" */
static int check_weights(const struct cluster *c, const char *list, struct err *err)
{
    struct conf_tres_weight weights[CONF_TRES_MAX];
    struct err why = {0};
    size_t n = 0;
    int rc = check_list("TRESBillingWeights", list, err);
    if (rc == 0 && conf_tres_parse_billing(list, weights, &n, &why) != 0)
        return err_set(err, -ERR_PARSE, "TRESBillingWeights: %s, as in CPU=1.0,Mem=0.25G",
                       why.text);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (conf_tres_check_billed(c->conf, weights[i].name, &why) != 0)
            rc = err_set(err, -ERR_PARSE, "TRESBillingWeights: %s", why.text);
    return rc;
}

static bool is_none(const char *word)
{
    return !*word || str_case_eq(word, "none");
}

/* As in slurm.conf: an empty list lifts a limit, and so does AllowAccounts=ALL. */
static const char *keep_accounts(struct part *p, const char *list, bool may_be_all)
{
    bool lifts = !*list || (may_be_all && str_case_eq(list, "ALL"));
    return lifts ? NULL : arena_strdup(&p->strings, list);
}

/* Keeps the changes, and their texts where nobody frees them. */
static void keep_changes(struct part *p, const Pb__PartRecord *changes, struct conf_part *next)
{
    str_clear(&p->changes);
    pb_pack(&changes->base, &p->changes);
    arena_done(&p->strings);
    arena_init(&p->strings, 0);
    if (changes->nodes)
        next->nodes = arena_strdup(&p->strings, changes->nodes);
    if (changes->allow_groups)
        next->allow_groups = arena_strdup(&p->strings, changes->allow_groups);
    if (changes->allow_accounts)
        next->allow_accounts = keep_accounts(p, changes->allow_accounts, true);
    if (changes->deny_accounts)
        next->deny_accounts = keep_accounts(p, changes->deny_accounts, false);
    if (changes->alloc_nodes)
        next->allow_alloc_nodes = arena_strdup(&p->strings, changes->alloc_nodes);
    if (changes->preempt_mode)
        next->preempt_mode = arena_strdup(&p->strings, changes->preempt_mode);
    if (changes->alternate)
        next->alternate =
            is_none(changes->alternate) ? NULL : arena_strdup(&p->strings, changes->alternate);
    if (changes->cpu_bind)
        next->cpu_bind =
            is_off(changes->cpu_bind) ? NULL : arena_strdup(&p->strings, changes->cpu_bind);
    if (changes->tres_billing_weights)
        next->tres_billing_weights = *changes->tres_billing_weights
                                         ? arena_strdup(&p->strings, changes->tres_billing_weights)
                                         : NULL;
    if (changes->topology)
        next->topology = *changes->topology ? arena_strdup(&p->strings, changes->topology) : NULL;
    p->conf = *next;
}

/* What a job's record says of who else may have its nodes. */
static unsigned pack_sharing_bits(const struct request *r)
{
    return r->shared | r->exclusive << 1U | r->user_alone << 2U | r->topo_alone << 3U;
}

int part_change(struct cluster *c, struct part *p, const Pb__PartRecord *changes, struct err *err)
{
    struct conf_part next = *p->row;
    struct bitset *nodes = NULL;
    int rc = read_state(changes->state, &next.state, err);
    if (rc == 0)
        rc = conf_part_set_share(&next, changes->share, err);
    take_numbers(&next, changes);
    if (rc == 0)
        rc = check_numbers(&next, err);
    if (rc == 0)
        rc = check_preemption(c, changes, err);
    if (rc == 0)
        rc = check_cpu_bind(changes->cpu_bind, err);
    if (rc == 0)
        rc = check_list("AllowGroups", changes->allow_groups, err);
    if (rc == 0)
        rc = check_list("AllowAccounts", changes->allow_accounts, err);
    if (rc == 0)
        rc = check_list("DenyAccounts", changes->deny_accounts, err);
    if (rc == 0)
        rc = check_list("AllocNodes", changes->alloc_nodes, err);
    if (rc == 0)
        rc = check_weights(c, changes->tres_billing_weights, err);
    if (rc == 0)
        rc = read_nodes(c, changes->nodes, &nodes, err);
    if (rc != 0)
        return rc;
    keep_changes(p, changes, &next);
    uint32_t most_cpus = part_most_cpus(c, p);
    bool bills_anew = changes->tres_billing_weights != NULL;
    bitset_free(p->nodes);
    p->nodes = nodes ? nodes : bitset_dup(p->row->node_set);
    p->has_all_nodes = bitset_next_clear(p->nodes, 0) < 0;
    p->most_cpus = 0;
    alloc_count_part(c, p);
    vec_foreach (&c->jobs, j) {
        unsigned sharing = pack_sharing_bits(&(*j)->want);
        if (bills_anew && (*j)->part == p && !job_is_final(*j))
            job_touch(c, *j);
        if (!job_partitions_has(*j, p) || (*j)->state != PB__JOB_STATE__PENDING)
            continue;
        job_set_sharing(c, *j);
        if (sharing != pack_sharing_bits(&(*j)->want) || most_cpus != part_most_cpus(c, p))
            job_touch(c, *j);
    }
    c->pool.freed++;
    c->stamp++;
    return 0;
}
