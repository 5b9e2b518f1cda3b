/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A partition's record, as listed. */
#include "base/hostlist.h"
#include "base/pb.h"
#include "base/words.h"
#include "cluster/cluster.h"
#include "conf/conf_tres.h"

static const char *share_text(const struct conf_part *p, struct arena *arena)
{
    switch (p->share) {
    case CONF_SHARE_YES:
        return arena_printf(arena, "YES:%u", p->share_max);
    case CONF_SHARE_FORCE:
        return arena_printf(arena, "FORCE:%u", p->share_max);
    case CONF_SHARE_EXCLUSIVE:
        return "EXCLUSIVE";
    default:
        return "NO";
    }
}

static bool is_account_listed(const char *list, const char *account)
{
    words_foreach (list, w)
        if (word_case_eq(w, account))
            return true;
    return false;
}

bool part_takes_account(const struct conf_part *p, const char *account)
{
    bool has_account = account && *account;
    if (p->allow_accounts)
        return has_account && is_account_listed(p->allow_accounts, account);
    return !p->deny_accounts || !has_account || !is_account_listed(p->deny_accounts, account);
}

static void part_pack_limits(const struct conf_part *p, Pb__PartRecord *m)
{
    SET(m, max_time_sec, p->max_time_sec);
    SET(m, default_time_sec, p->default_time_sec);
    SET(m, max_nodes, p->max_nodes);
    SET(m, min_nodes, p->min_nodes);
    SET(m, max_cpus_per_node, p->max_cpus_per_node);
    if (p->max_cpus_per_socket != UINT32_MAX)
        SET(m, max_cpus_per_socket, p->max_cpus_per_socket);
    SET(m, priority_tier, p->priority_tier);
    SET(m, priority_job_factor, p->priority_job_factor);
    SET(m, def_mem_per_cpu_mib, p->def_mem_per_cpu_mib);
    SET(m, def_mem_per_node_mib, p->def_mem_per_node_mib);
    if (p->def_cpu_per_gpu) /* what older records do not know is absent unless it is there */
        SET(m, def_cpu_per_gpu, p->def_cpu_per_gpu);
    if (p->def_mem_per_gpu_mib)
        SET(m, def_mem_per_gpu_mib, p->def_mem_per_gpu_mib);
    SET(m, max_mem_per_cpu_mib, p->max_mem_per_cpu_mib);
    SET(m, max_mem_per_node_mib, p->max_mem_per_node_mib);
    SET(m, grace_time_sec, p->grace_time_sec < 0 ? 0 : p->grace_time_sec);
    if (p->over_time_limit_sec >= 0)
        SET(m, over_time_limit_sec, p->over_time_limit_sec);
}

static void part_pack_access(const struct conf_part *p, Pb__PartRecord *m)
{
    SET(m, is_default, p->is_default);
    SET(m, hidden, p->hidden);
    SET(m, root_only, p->root_only || p->key); /* a key is handed to root alone */
    SET(m, key, p->key);
    SET(m, key_number, p->key_number);
    SET(m, exclusive_user, p->exclusive_user);
    if (p->exclusive_topo)
        SET(m, exclusive_topo, true);
    SET(m, lln, p->lln);
    SET(m, disable_root, p->disable_root);
    if (p->req_resv)
        SET(m, req_resv, true);
    m->allow_groups = (char *)p->allow_groups;
    m->allow_accounts = (char *)p->allow_accounts;
    m->allow_qos = (char *)p->allow_qos;
    m->alloc_nodes = (char *)p->allow_alloc_nodes;
    m->deny_accounts = (char *)p->deny_accounts;
    m->deny_qos = (char *)p->deny_qos;
    m->alternate = (char *)p->alternate;
    m->qos = (char *)p->qos;
    m->preempt_mode = (char *)p->preempt_mode;
    m->cpu_bind = (char *)p->cpu_bind;
    m->tres_billing_weights = (char *)p->tres_billing_weights;
    m->topology = (char *)p->topology;
}

static const char *state_text(enum conf_part_state state)
{
    static const char *const states[] = {"UP", "DOWN", "DRAIN", "INACTIVE"};
    return states[state];
}

void part_describe(const struct conf_part *row, struct arena *arena, Pb__PartRecord *m)
{
    m->name = (char *)row->name;
    m->nodes = (char *)row->nodes;
    m->state = (char *)state_text(row->state);
    m->share = (char *)share_text(row, arena);
    part_pack_limits(row, m);
    part_pack_access(row, m);
}

/* The keys that have no field in the record, for what writes them into a file again. */
static const char *other_keys(const struct conf_part *p, struct arena *arena)
{
    const struct {
        const char *key, *value;
    } texts[] = {{"SelectTypeParameters", p->select_type_parameters},
                 {"TRESBillingWeights", p->tres_billing_weights}};
    struct str out = STR_INIT;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].value)
            str_printf(&out, " %s=%s", texts[i].key, texts[i].value);
    str_puts(&out, p->power_down_on_idle ? " PowerDownOnIdle=YES" : "");
    const char *text = out.len ? arena_strdup(arena, str_cstr(&out)) : NULL;
    str_done(&out);
    return text;
}

/* What becomes of its jobs when others need their place, as listings show it. */
static const char *preempt_in_force(const struct conf *conf, const struct conf_part *p)
{
    bool own = p->preempt_mode && *p->preempt_mode;
    return conf_preempt_word(own ? p->preempt_mode : conf->preempt_mode);
}

/* "ALL" and the node sets that its Nodes= names; NULL: none. */
static const char *find_node_sets(const struct conf *conf, const struct conf_part *p,
                                  struct arena *arena)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    _cleanup_str_ struct str out = STR_INIT;
    char name[HOSTLIST_NAME_MAX + 1];
    if (!p->nodes || hostlist_parse(p->nodes, &list, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < hostlist_count(list); i++)
        if (str_case_eq(hostlist_nth(list, i, name), "ALL") || conf_find_node_set(conf, name))
            str_printf(&out, "%s%s", out.len ? "," : "", name);
    return out.len ? arena_strdup(arena, str_cstr(&out)) : NULL;
}

uint32_t part_most_cpus(const struct cluster *c, struct part *p)
{
    if (p->most_cpus)
        return p->most_cpus;
    bitset_foreach (p->nodes, i) {
        uint32_t cpus = c->nodes.data[i]->cpus;
        p->most_cpus = cpus > p->most_cpus ? cpus : p->most_cpus;
    }
    return p->most_cpus;
}

void part_pack(const struct cluster *c, const struct part *p, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord m = PB__PART_RECORD__INIT;
    struct str nodes = STR_INIT;
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    uint32_t cpus = 0;
    uint64_t mem = 0;
    bitset_foreach (p->nodes, i) {
        hostlist_push(list, c->nodes.data[i]->name);
        cpus += c->nodes.data[i]->cpus;
        mem += (uint64_t)c->nodes.data[i]->amounts.mem_mib;
    }
    hostlist_format(list, &nodes);
    part_describe(&p->conf, &arena, &m);
    m.nodes = (char *)str_cstr(&nodes);
    if (str_case_eq(p->conf.nodes, "ALL"))
        SET(&m, all_nodes, true);
    m.node_sets = (char *)find_node_sets(c->conf, &p->conf, &arena);
    m.preempt_in_force = (char *)preempt_in_force(c->conf, &p->conf);
    m.select_parameters = (char *)conf_part_select_parameters(c->conf, &p->conf);
    m.other_keys = (char *)other_keys(&p->conf, &arena);
    if (p->conf.tres_billing_weights && conf_billing_rule(c->conf) != CONF_BILLING_SUM)
        SET(&m, billing_rule, conf_billing_rule(c->conf));
    SET(&m, total_nodes, (uint32_t)bitset_count(p->nodes));
    SET(&m, total_cpus, cpus);
    SET(&m, total_mem_mib, mem);
    pb_pack(&m.base, out);
    str_done(&nodes);
}
