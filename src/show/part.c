/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Partitions as text and as JSON. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "conf/conf_tres.h"
#include "show/record.h"

static const char *yes_no(bool b)
{
    return b ? "YES" : "NO";
}

static void put_count(struct str *out, const char *key, bool known, uint32_t n)
{
    if (known && n != UINT32_MAX)
        str_printf(out, "%s=%u", key, n);
    else
        str_printf(out, "%s=UNLIMITED", key);
}

/* Appends "DefCpuPerGPU=2,DefMemPerGPU=100"; nothing if there are no defaults. */
static void put_job_defaults(const Pb__PartRecord *p, struct str *out)
{
    if (p->def_cpu_per_gpu)
        str_printf(out, "DefCpuPerGPU=%u", p->def_cpu_per_gpu);
    if (p->def_mem_per_gpu_mib)
        str_printf(out, "%sDefMemPerGPU=%llu", p->def_cpu_per_gpu ? "," : "",
                   (unsigned long long)p->def_mem_per_gpu_mib);
}

static unsigned long long find_billing(const Pb__PartRecord *p)
{
    struct conf_bill b;
    conf_bill_begin(&b, p->tres_billing_weights, p->billing_rule);
    conf_bill_add(&b, "cpu", p->total_cpus);
    conf_bill_add(&b, "mem", (double)p->total_mem_mib);
    conf_bill_add(&b, "node", p->total_nodes);
    return (unsigned long long)conf_bill_sum(&b);
}

static void put_memory(struct str *out, const char *which, uint64_t per_node, uint64_t per_cpu)
{
    if (per_cpu)
        str_printf(out, "%sMemPerCPU=%llu", which, (unsigned long long)per_cpu);
    else if (per_node)
        str_printf(out, "%sMemPerNode=%llu", which, (unsigned long long)per_node);
    else
        str_printf(out, "%sMemPerNode=UNLIMITED", which);
}

static void put_part_limits(const Pb__PartRecord *p, struct show_style style, struct str *out)
{
    char limit[TIME_TEXT_MAX];
    int64_t max_time = p->has_max_time_sec ? p->max_time_sec : TIME_UNLIMITED;
    const char *exclusive = p->exclusive_topo               ? "TOPO"
                            : str_eq(p->share, "EXCLUSIVE") ? "NODE"
                            : p->exclusive_user             ? "USER"
                                                            : "NO";
    str_printf(out, "DefaultTime=%s DisableRootJobs=%s Exclusive=%s GraceTime=%lld Hidden=%s",
               p->default_time_sec ? time_format_limit(p->default_time_sec, limit) : "NONE",
               yes_no(p->disable_root), exclusive,
               (long long)(p->grace_time_sec > 0 ? p->grace_time_sec : 0), yes_no(p->hidden));
    record_break(style, out);
    put_count(out, "MaxNodes", p->has_max_nodes, p->max_nodes);
    str_printf(out, " MaxTime=%s MinNodes=%u LLN=%s ", time_format_limit(max_time, limit),
               p->min_nodes, yes_no(p->lln));
    put_count(out, "MaxCPUsPerNode", p->max_cpus_per_node != 0, p->max_cpus_per_node);
    str_putc(out, ' ');
    put_count(out, "MaxCPUsPerSocket", p->max_cpus_per_socket != 0, p->max_cpus_per_socket);
}

void show_part_text(const Pb__PartRecord *p, struct show_style style, struct str *out)
{
    char size[SIZE_TEXT_MAX];
    _cleanup_str_ struct str defaults = STR_INIT;
    put_job_defaults(p, &defaults);
    record_pair(out, "PartitionName", p->name);
    record_break(style, out);
    record_pair(out, "AllowGroups", p->allow_groups ? p->allow_groups : "ALL");
    bool denies = p->deny_accounts && !p->allow_accounts; /* else that list has no effect */
    record_pair(out, denies ? " DenyAccounts" : " AllowAccounts",
                denies              ? p->deny_accounts
                : p->allow_accounts ? p->allow_accounts
                                    : "ALL");
    record_pair(out, p->deny_qos ? " DenyQos" : " AllowQos",
                p->deny_qos    ? p->deny_qos
                : p->allow_qos ? p->allow_qos
                               : "ALL");
    record_break(style, out);
    record_pair(out, "AllocNodes", p->alloc_nodes ? p->alloc_nodes : "ALL");
    if (p->alternate)
        record_pair(out, " Alternate", p->alternate);
    str_printf(out, " Default=%s", yes_no(p->is_default));
    record_pair(out, " QoS", p->qos ? p->qos : "N/A");
    if (p->cpu_bind) {
        record_break(style, out);
        record_pair(out, "CpuBind", p->cpu_bind);
    }
    record_break(style, out);
    put_part_limits(p, style, out);
    if (p->node_sets) {
        record_break(style, out);
        record_pair(out, "NodeSets", p->node_sets);
    }
    record_break(style, out);
    record_pair(out, "Nodes", p->nodes && *p->nodes ? p->nodes : NULL);
    record_break(style, out);
    str_printf(out, "PriorityJobFactor=%u PriorityTier=%u RootOnly=%s ReqResv=%s",
               p->priority_job_factor, p->priority_tier, yes_no(p->root_only), yes_no(p->req_resv));
    record_pair(out, " OverSubscribe", p->share ? p->share : "NO");
    record_break(style, out);
    if (p->has_over_time_limit_sec && p->over_time_limit_sec >= 0)
        str_printf(out, "OverTimeLimit=%lld", (long long)p->over_time_limit_sec / 60);
    else
        str_puts(out, "OverTimeLimit=NONE");
    record_pair(out, " PreemptMode", p->preempt_in_force ? p->preempt_in_force : "OFF");
    record_break(style, out);
    record_pair(out, "State", p->state ? p->state : "UP");
    str_printf(out, " TotalCPUs=%u TotalNodes=%u SelectTypeParameters=", p->total_cpus,
               p->total_nodes);
    for (const char *c = p->select_parameters ? p->select_parameters : "NONE"; *c; c++)
        str_putc(out, (char)toupper((unsigned char)*c));
    record_break(style, out);
    record_pair(out, "JobDefaults", defaults.len ? str_cstr(&defaults) : NULL);
    record_break(style, out);
    put_memory(out, "Def", p->def_mem_per_node_mib, p->def_mem_per_cpu_mib);
    str_putc(out, ' ');
    put_memory(out, "Max", p->max_mem_per_node_mib, p->max_mem_per_cpu_mib);
    record_break(style, out);
    if (p->total_nodes || p->total_cpus || p->total_mem_mib)
        str_printf(out, "TRES=cpu=%u,mem=%s,node=%u,billing=%llu", p->total_cpus,
                   size_format_mib(p->total_mem_mib, size), p->total_nodes, find_billing(p));
    else
        str_puts(out, "TRES=(null)");
    if (p->topology && *p->topology) {
        record_break(style, out);
        record_pair(out, "Topology", p->topology);
    }
    if (p->tres_billing_weights) {
        record_break(style, out);
        record_pair(out, "TRESBillingWeights", p->tres_billing_weights);
    }
    record_end(style, out);
}

static json_t *part_nodes(const Pb__PartRecord *p)
{
    return json_pack("{s:o, s:o, s:i}", "allowed_allocation", TEXT(p->alloc_nodes), "configured",
                     TEXT(p->nodes), "total", (int)p->total_nodes);
}

static json_t *part_tres(const Pb__PartRecord *p)
{
    _cleanup_str_ struct str tres = STR_INIT;
    if (p->total_nodes)
        str_printf(&tres, "cpu=%u,mem=%lluM,node=%u,billing=%llu", p->total_cpus,
                   (unsigned long long)p->total_mem_mib, p->total_nodes, find_billing(p));
    return json_pack("{s:o, s:o}", "billing_weights", TEXT(p->tres_billing_weights), "configured",
                     TEXT(str_cstr(&tres)));
}

/* A memory limit of 0 means no limit. */
static void put_json_memory(json_t *o, uint64_t cpu_mib, uint64_t node_mib)
{
    json_object_set_new(o, "memory_per_cpu", INT((int64_t)(cpu_mib ? cpu_mib : node_mib)));
    json_object_set_new(o, "partition_memory_per_cpu", MAYBE(cpu_mib > 0, (int64_t)cpu_mib));
    json_object_set_new(o, "partition_memory_per_node", MAYBE(node_mib > 0, (int64_t)node_mib));
}

static json_t *part_defaults(const Pb__PartRecord *p)
{
    _cleanup_str_ struct str job = STR_INIT;
    json_t *o = json_object();
    put_job_defaults(p, &job);
    put_json_memory(o, p->def_mem_per_cpu_mib, p->def_mem_per_node_mib);
    json_object_set_new(o, "time", record_limit(p->default_time_sec > 0, p->default_time_sec));
    json_object_set_new(o, "job", TEXT(str_cstr(&job)));
    return o;
}

/* A maximum, or infinite. */
static json_t *at_most(uint32_t count)
{
    return json_out_number(true, count == 0 || count == UINT32_MAX, count);
}

/* "CR_Core_Memory": ["CORE", "MEMORY"]. */
static json_t *part_select_type(const Pb__PartRecord *p)
{
    const char *all = p->select_parameters ? p->select_parameters : "";
    _cleanup_free_ char *copy = mem_strdup(strncasecmp(all, "CR_", 3) == 0 ? all + 3 : all);
    char *rest = NULL;
    json_t *list = json_array();
    for (char *c = copy; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    for (char *word = strtok_r(copy, "_", &rest); word; word = strtok_r(NULL, "_", &rest))
        json_array_append_new(list, json_string(word));
    return list;
}

static json_t *part_maximums(const Pb__PartRecord *p)
{
    const char *jobs = p->share ? strchr(p->share, ':') : NULL;
    bool shares = p->share && (str_starts(p->share, "YES") || str_starts(p->share, "FORCE"));
    int count = jobs ? atoi(jobs + 1) : shares ? 4 : 1;
    json_t *o = json_object();
    json_object_set_new(o, "cpus_per_node", at_most(p->max_cpus_per_node));
    json_object_set_new(o, "cpus_per_socket", at_most(p->max_cpus_per_socket));
    put_json_memory(o, p->max_mem_per_cpu_mib, p->max_mem_per_node_mib);
    json_object_set_new(o, "nodes", at_most(p->has_max_nodes ? p->max_nodes : UINT32_MAX));
    json_object_set_new(o, "shares", INT(count));
    json_object_set_new(
        o, "oversubscribe",
        json_pack("{s:i, s:o}", "jobs", count, "flags",
                  json_out_list(p->share && str_starts(p->share, "FORCE") ? "force" : NULL)));
    json_object_set_new(o, "time",
                        record_limit(true, p->has_max_time_sec ? p->max_time_sec : TIME_UNLIMITED));
    json_object_set_new(o, "over_time_limit",
                        record_limit(p->has_over_time_limit_sec, p->over_time_limit_sec));
    return o;
}

json_t *show_part_json(const Pb__PartRecord *p, const char *cluster)
{
    json_t *o = json_object();
#define MEMBER(name, status, value) json_object_set_new(o, name, value);
#include "show/part_members.def"
#undef MEMBER
    return o;
}
