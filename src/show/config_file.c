/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/config_file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "show/json_out.h"
#include "show/node_state.h"

static const struct key {
    const char *name, *def;
    enum conf_value_type type;
    bool effect;
} keys[] = {
#define CONF(key, member, type, def, min, max, effect, help) {key, def, type, effect},
#include "conf/conf.def"
#undef CONF
};
#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

bool config_line_next(const char **text, struct config_line *line)
{
    while (**text) {
        size_t len = strcspn(*text, "\n");
        _cleanup_free_ char *copy = mem_strndup(*text, len);
        char *equals = strstr(copy, " = ");
        *text += len + ((*text)[len] == '\n');
        if (!equals)
            continue;
        line->value = mem_strdup(equals + strlen(" = "));
        line->key = mem_strndup(copy, strcspn(copy, " "));
        line->is_null = str_eq(line->value, "(null)");
        return true;
    }
    return false;
}

void config_line_done(struct config_line *line)
{
    free(line->key);
    free(line->value);
}

json_t *config_file_json(const char *shown)
{
    json_t *config = json_object();
    struct config_line line;
    while (config_line_next(&shown, &line)) {
        json_object_set_new(config, line.key,
                            line.is_null ? json_null() : json_out_text(line.value));
        config_line_done(&line);
    }
    return config;
}

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (!strcasecmp(keys[i].name, name))
            return &keys[i];
    return NULL;
}

/* Converts a shown value to its form in a file: removes the unit, and the number of a user. */
static void strip_unit(const struct key *key, char *value)
{
    char *blank = strchr(value, ' '), *bracket = strchr(value, '(');
    if (key->type == CONF_T_USER && bracket)
        *bracket = 0;
    else if (blank && key->type != CONF_T_STR && key->type != CONF_T_PATH)
        *blank = 0;
}

/* Whether the shown value is derived from other keys and was not configured. */
static bool is_derived(const struct key *key, const char *value, size_t nodes)
{
    return (str_eq(key->name, "MaxNodeCount") && strtoull(value, NULL, 10) == nodes) ||
           (str_eq(key->name, "SelectTypeParameters") &&
            (str_eq(value, "NONE") || str_eq(value, "CR_CORE_MEMORY")));
}

static bool is_default(const struct key *key, const char *value)
{
    int64_t a, b;
    if (key->type == CONF_T_MIB && str_eq(value, "UNLIMITED"))
        return str_eq(key->def, "0");
    if (key->type == CONF_T_MIN && *key->def == '-' && str_eq(value, "00:00:00"))
        return true;
    if (key->type == CONF_T_MIN && time_parse_limit(value, &a, NULL) == 0 &&
        time_parse_limit(key->def, &b, NULL) == 0)
        return a == b;
    return str_case_eq(key->def, value);
}

static void put_value(const char *key, const char *value, struct str *out)
{
    const char *quote = strpbrk(value, " \t#") ? "\"" : "";
    str_printf(out, "%s=%s%s%s\n", key, quote, value, quote);
}

void config_file_put_keys(const char *shown, size_t nodes, struct str *out)
{
    struct config_line line;
    while (config_line_next(&shown, &line)) {
        const struct key *key = find_key(line.key);
        if (!strncmp(line.key, "SlurmctldHost[", strlen("SlurmctldHost["))) {
            put_value("SlurmctldHost", line.value, out);
        } else if (key && (line.is_null || str_eq(line.value, "(hidden)"))) {
            str_printf(out, "#%s=\n", line.key);
        } else if (key) { /* other names, such as BOOT_TIME, are shown only for information */
            strip_unit(key, line.value);
            /* A default of -1 is shown as another value. */
            bool unset = !key->effect || *key->def == '-';
            if (is_derived(key, line.value, nodes) || (unset && is_default(key, line.value)))
                str_putc(out, '#');
            put_value(line.key, line.value, out);
        }
        config_line_done(&line);
    }
}

static void put_text(struct str *out, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    const char *quote = strpbrk(value, " \t#") ? "\"" : "";
    str_printf(out, " %s=%s%s%s", key, quote, value, quote);
}

/* Appends the node's configuration line without the name and port. */
static void put_node(const Pb__NodeRecord *n, struct str *out)
{
    if (n->hostname && !str_eq(n->hostname, n->name))
        put_text(out, "NodeHostname", n->hostname);
    if (n->addr && !str_eq(n->addr, n->name))
        put_text(out, "NodeAddr", n->addr);
    str_printf(out, " CPUs=%u", n->cpus);
    if (n->boards > 1)
        str_printf(out, " Boards=%u SocketsPerBoard=%u", n->boards, n->sockets / n->boards);
    else
        str_printf(out, " Sockets=%u", n->sockets);
    str_printf(out, " CoresPerSocket=%u ThreadsPerCore=%u RealMemory=%llu", n->cores, n->threads,
               (unsigned long long)n->real_memory_mib);
    if (n->tmp_disk_mib)
        str_printf(out, " TmpDisk=%llu", (unsigned long long)n->tmp_disk_mib);
    if (n->has_weight && n->weight != 1)
        str_printf(out, " Weight=%u", n->weight);
    if (n->spec_cpus) {
        str_puts(out, " CpuSpecList=");
        node_state_put_spec_cpus(n, out);
    }
    if (n->restricted_cores)
        str_printf(out, " RestrictedCoresPerGPU=%u", n->restricted_cores);
    if (n->mem_spec_mib)
        str_printf(out, " MemSpecLimit=%llu", (unsigned long long)n->mem_spec_mib);
    put_text(out, "BcastAddr", n->bcast_addr);
    if (n->cpu_bind && !str_eq(n->cpu_bind, "off"))
        put_text(out, "CpuBind", n->cpu_bind);
    put_text(out, "Topology", n->topology);
    put_text(out, "Features", n->features);
    put_text(out, "Gres", n->gres);
    put_text(out, "Comment", n->comment);
    put_text(out, "Extra", n->extra);
    if (n->state == PB__NODE_BASE__NODE_FUTURE)
        str_puts(out, " State=FUTURE");
    else
        put_text(out, "State", n->cloud ? "CLOUD" : n->configured_state);
    put_text(out, "Reason", n->configured_reason);
}

void config_file_end_nodes(struct config_nodes *n, struct str *out)
{
    if (n->names) {
        str_puts(out, "NodeName=");
        hostlist_format(n->names, out);
        if (n->first_port != n->last_port)
            str_printf(out, " Port=[%u-%u]", n->first_port, n->last_port);
        else
            str_printf(out, " Port=%u", n->first_port);
        str_printf(out, "%s\n", str_cstr(&n->rest));
    }
    hostlist_free(n->names);
    str_done(&n->rest);
    *n = (struct config_nodes){0};
}

/* The nodes of a line have either one common port or consecutive ports. */
static bool port_fits(const struct config_nodes *n, uint32_t port)
{
    if (n->first_port == n->last_port && port == n->first_port)
        return true;
    return port == n->last_port + 1 && n->last_port - n->first_port + 1 == hostlist_count(n->names);
}

void config_file_add_node(struct config_nodes *n, const Pb__NodeRecord *node, struct str *out)
{
    _cleanup_str_ struct str rest = STR_INIT;
    put_node(node, &rest);
    if (n->names && (!port_fits(n, node->port) || !str_eq(str_cstr(&rest), str_cstr(&n->rest))))
        config_file_end_nodes(n, out);
    if (!n->names) {
        n->names = hostlist_new();
        str_puts(&n->rest, str_cstr(&rest));
        n->first_port = node->port;
    }
    hostlist_push(n->names, node->name);
    n->last_port = node->port;
}

static void put_flag(struct str *out, const char *key, bool value)
{
    if (value)
        str_printf(out, " %s=YES", key);
}

static void put_key_number(struct str *out, const char *key, uint64_t value, uint64_t def)
{
    if (value != def)
        str_printf(out, " %s=%llu", key, (unsigned long long)value);
}

static void put_part_access(const Pb__PartRecord *p, bool root_jobs_disabled, struct str *out)
{
    put_text(out, "AllocNodes", p->alloc_nodes);
    put_text(out, "AllowAccounts", p->allow_accounts);
    put_text(out, "AllowGroups", p->allow_groups);
    put_text(out, "AllowQos", p->allow_qos);
    put_text(out, "DenyAccounts", p->deny_accounts);
    put_text(out, "DenyQos", p->deny_qos);
    if (p->disable_root != root_jobs_disabled)
        str_printf(out, " DisableRootJobs=%s", p->disable_root ? "YES" : "NO");
    put_flag(out, "ExclusiveTopo", p->exclusive_topo);
    put_flag(out, "ExclusiveUser", p->exclusive_user);
    put_flag(out, "Hidden", p->hidden);
    put_flag(out, "Key", p->key);
    put_flag(out, "ReqResv", p->req_resv);
    put_flag(out, "RootOnly", p->root_only && !p->key); /* a partition key implies RootOnly */
}

static void put_part_limits(const Pb__PartRecord *p, struct str *out)
{
    char limit[TIME_TEXT_MAX];
    if (p->default_time_sec > 0)
        str_printf(out, " DefaultTime=%s", time_format_limit(p->default_time_sec, limit));
    if (p->has_max_time_sec)
        str_printf(out, " MaxTime=%s", time_format_limit(p->max_time_sec, limit));
    if (p->has_over_time_limit_sec && p->over_time_limit_sec >= 0)
        str_printf(out, " OverTimeLimit=%s", time_format_limit(p->over_time_limit_sec, limit));
    if (p->has_max_nodes)
        put_key_number(out, "MaxNodes", p->max_nodes, UINT32_MAX);
    put_key_number(out, "MinNodes", p->min_nodes, 0);
    if (p->max_cpus_per_node)
        put_key_number(out, "MaxCPUsPerNode", p->max_cpus_per_node, UINT32_MAX);
    put_key_number(out, "MaxCPUsPerSocket", p->max_cpus_per_socket, 0);
    put_key_number(out, "DefMemPerCPU", p->def_mem_per_cpu_mib, 0);
    put_key_number(out, "DefMemPerNode", p->def_mem_per_node_mib, 0);
    put_key_number(out, "DefCpuPerGPU", p->def_cpu_per_gpu, 0);
    put_key_number(out, "DefMemPerGPU", p->def_mem_per_gpu_mib, 0);
    put_key_number(out, "MaxMemPerCPU", p->max_mem_per_cpu_mib, 0);
    put_key_number(out, "MaxMemPerNode", p->max_mem_per_node_mib, 0);
    if (p->grace_time_sec > 0)
        put_key_number(out, "GraceTime", (uint64_t)p->grace_time_sec, 0);
}

void config_file_put_part(const Pb__PartRecord *p, bool root_jobs_disabled, struct str *out)
{
    str_printf(out, "PartitionName=%s", p->name);
    put_text(out, "Nodes", p->all_nodes ? "ALL" : p->nodes);
    put_flag(out, "Default", p->is_default);
    put_text(out, "State", p->state);
    put_part_access(p, root_jobs_disabled, out);
    put_part_limits(p, out);
    put_text(out, "OverSubscribe", p->share && str_eq(p->share, "NO") ? NULL : p->share);
    if (p->has_priority_tier)
        put_key_number(out, "PriorityTier", p->priority_tier, 1);
    if (p->has_priority_job_factor)
        put_key_number(out, "PriorityJobFactor", p->priority_job_factor, 1);
    put_text(out, "Alternate", p->alternate);
    put_text(out, "CpuBind", p->cpu_bind);
    put_text(out, "Topology", p->topology);
    put_text(out, "PreemptMode", p->preempt_mode);
    put_text(out, "QOS", p->qos);
    put_flag(out, "LLN", p->lln);
    str_puts(out, p->other_keys);
    str_putc(out, '\n');
}
