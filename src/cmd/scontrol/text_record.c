/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes, partitions and steps as text, and what all records have in common. */
#include "cmd/scontrol/text_record.h"

#include "base/size.h"
#include "base/step_id.h"
#include "base/text.h"
#include "base/timefmt.h"
#include "cluster/step_ports.h"
#include "show/job_state.h"
#include "show/names.h"
#include "show/node_state.h"

void text_break(struct text_style style, struct str *out)
{
    str_puts(out, style.oneliner ? " " : "\n   ");
}

void text_end(struct text_style style, struct str *out)
{
    str_puts(out, style.oneliner ? "\n" : "\n\n");
}

void text_pair(struct str *out, const char *key, const char *value)
{
    str_printf(out, "%s=", key);
    text_escape(value ? value : "(null)", out);
}

static void put_date(struct str *out, const char *key, int64_t at, const char *zero)
{
    char buf[TIME_TEXT_MAX];
    str_printf(out, "%s=%s", key, time_format_date(at, zero, buf));
}

/* Of what srun started; a batch script is not distributed. */
static void put_distribution(const Pb__StepRecord *step, struct str *out)
{
    const char *name = step->distribution ? step->distribution : "block";
    if (!step->srun_pid)
        return;
    str_printf(out, " Dist=%c", *name >= 'a' && *name <= 'z' ? *name - 32 : *name);
    text_escape(name + 1, out);
}

void text_step(const Pb__StepRecord *step, struct text_style style, struct str *out)
{
    char id[STEP_ID_TEXT_MAX], limit[TIME_TEXT_MAX];
    str_printf(out, "StepId=%s UserId=%u ", step_id_text(step->job_id, step->step_id, id),
               step->uid);
    put_date(out, "StartTime", step->start_at, "Unknown");
    str_printf(out, " TimeLimit=%s", time_format_limit(job_state_step_limit_sec(step), limit));
    text_break(style, out);
    str_printf(out, "State=%s ", job_state_of_step(step));
    text_pair(out, "Partition", step->partition);
    text_pair(out, " NodeList", step->nodes);
    text_break(style, out);
    str_printf(out, "Nodes=%u CPUs=%u Tasks=%u ", step->num_nodes, step->num_cpus, step->num_tasks);
    text_pair(out, "Name", step->name);
    text_pair(out, " Network", step->network);
    text_break(style, out);
    str_puts(out, "TRES=");
    if (!job_state_put_step_tres(step, out))
        str_puts(out, "(null)");
    text_break(style, out);
    str_puts(out, "ResvPorts=");
    step_ports_format(step->resv_ports, step->n_resv_ports, out);
    if (step->n_resv_ports == 0)
        str_puts(out, "(null)");
    text_break(style, out);
    text_pair(out, "CPUFreqReq", step->cpu_freq ? step->cpu_freq : "Default");
    put_distribution(step, out);
    text_break(style, out);
    text_pair(out, "SrunHost:Pid", step->host);
    str_printf(out, ":%u", step->srun_pid);
    text_end(style, out);
}

static void put_node_tres(const Pb__NodeRecord *n, struct text_style style, struct str *out)
{
    str_puts(out, "CfgTRES=");
    node_state_put_tres(n, false, out);
    text_break(style, out);
    str_puts(out, "AllocTRES=");
    node_state_put_tres(n, true, out);
}

static void put_node_state(const Pb__NodeRecord *n, struct text_style style, struct str *out)
{
    str_printf(out, "RealMemory=%llu AllocMem=%llu ", (unsigned long long)n->real_memory_mib,
               (unsigned long long)n->alloc_mem_mib);
    if (n->has_free_mem_mib)
        str_printf(out, "FreeMem=%llu", (unsigned long long)n->free_mem_mib);
    else
        str_puts(out, "FreeMem=N/A");
    str_printf(out, " Sockets=%u Boards=%u", n->sockets, n->boards ? n->boards : 1);
    text_break(style, out);
    str_puts(out, "State=");
    node_state_put_flags(n, out);
    str_printf(out, " ThreadsPerCore=%u TmpDisk=%llu Weight=%u", n->threads,
               (unsigned long long)n->tmp_disk_mib, n->weight);
    text_pair(out, " Owner", n->owner ? n->owner : "N/A");
    text_pair(out, " MCS_label", n->mcs_label ? n->mcs_label : "N/A");
    if (n->partitions) {
        text_break(style, out);
        text_pair(out, "Partitions", n->partitions);
    }
}

/* What is kept for the system: its CPUs are the last ones. */
static void put_specialized(const Pb__NodeRecord *n, struct text_style style, struct str *out)
{
    uint32_t threads = n->threads ? n->threads : 1;
    if (n->spec_cpus) {
        text_break(style, out);
        str_printf(out, "CoreSpecCount=%u ", n->spec_cpus / threads);
        str_puts(out, "CPUSpecList=");
        node_state_put_spec_cpus(n, out);
    }
    if (n->mem_spec_mib) {
        if (n->spec_cpus)
            str_putc(out, ' ');
        else
            text_break(style, out);
        str_printf(out, "MemSpecLimit=%llu", (unsigned long long)n->mem_spec_mib);
    }
}

static void put_reason(const Pb__NodeRecord *n, struct text_style style, struct str *out)
{
    char buf[TIME_TEXT_MAX];
    if (!n->reason || !*n->reason)
        return;
    text_break(style, out);
    text_pair(out, "Reason", n->reason);
    if (n->reason_at)
        str_printf(out, " [%s@%s]", names_user(n->reason_uid),
                   time_format_date(n->reason_at, "Unknown", buf));
}

void text_node(const Pb__NodeRecord *n, struct text_style style, struct str *out)
{
    text_pair(out, "NodeName", n->name);
    if (n->arch)
        text_pair(out, " Arch", n->arch);
    str_printf(out, " CoresPerSocket=%u", n->cores);
    text_break(style, out);
    str_printf(out, "CPUAlloc=%u CPUEfctv=%u CPUTot=%u ", n->alloc_cpus, n->cpus - n->spec_cpus,
               n->cpus);
    if (n->has_cpu_load_centi)
        str_printf(out, "CPULoad=%u.%02u", n->cpu_load_centi / 100, n->cpu_load_centi % 100);
    else
        str_puts(out, "CPULoad=N/A");
    text_break(style, out);
    text_pair(out, "AvailableFeatures", n->features);
    text_break(style, out);
    text_pair(out, "ActiveFeatures", node_state_active_features(n));
    text_break(style, out);
    text_pair(out, "Gres", n->gres);
    text_break(style, out);
    text_pair(out, "NodeAddr", n->addr ? n->addr : n->name);
    text_pair(out, " NodeHostName", n->hostname ? n->hostname : n->name);
    str_printf(out, " Port=%u", n->port);
    if (n->version)
        text_pair(out, " Version", n->version);
    if (n->bcast_addr) {
        text_break(style, out);
        text_pair(out, "BcastAddr", n->bcast_addr);
    }
    if (n->os) {
        text_break(style, out);
        text_pair(out, "OS", n->os);
    }
    text_break(style, out);
    put_node_state(n, style, out);
    put_specialized(n, style, out);
    text_break(style, out);
    put_date(out, "BootTime", n->boot_at, "None");
    put_date(out, " SlurmdStartTime", n->daemon_start_at, "None");
    text_break(style, out);
    put_date(out, "LastBusyTime", n->last_busy_at, "Unknown");
    put_date(out, " ResumeAfterTime", n->resume_at, "None");
    text_break(style, out);
    put_node_tres(n, style, out);
    put_reason(n, style, out);
    if (n->reservation) {
        text_break(style, out);
        text_pair(out, "ReservationName", n->reservation);
    }
    if (n->cpu_bind) {
        text_break(style, out);
        text_pair(out, "CpuBind", n->cpu_bind);
    }
    if (n->comment) {
        text_break(style, out);
        text_pair(out, "Comment", n->comment);
    }
    if (n->extra) {
        text_break(style, out);
        text_pair(out, "Extra", n->extra);
    }
    text_end(style, out);
}

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

static void put_job_defaults(const Pb__PartRecord *p, struct str *out)
{
    bool cpus = p->def_cpu_per_gpu > 0, mem = p->def_mem_per_gpu_mib > 0;
    str_puts(out, cpus || mem ? "JobDefaults=" : "JobDefaults=(null)");
    if (cpus)
        str_printf(out, "DefCpuPerGPU=%u%s", p->def_cpu_per_gpu, mem ? "," : "");
    if (mem)
        str_printf(out, "DefMemPerGPU=%llu", (unsigned long long)p->def_mem_per_gpu_mib);
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

static void put_part_limits(const Pb__PartRecord *p, struct text_style style, struct str *out)
{
    char limit[TIME_TEXT_MAX];
    int64_t max_time = p->has_max_time_sec ? p->max_time_sec : TIME_UNLIMITED;
    str_printf(out, "DefaultTime=%s DisableRootJobs=%s ExclusiveUser=%s GraceTime=%lld Hidden=%s",
               p->default_time_sec ? time_format_limit(p->default_time_sec, limit) : "NONE",
               yes_no(p->disable_root), yes_no(p->exclusive_user),
               (long long)(p->grace_time_sec > 0 ? p->grace_time_sec : 0), yes_no(p->hidden));
    text_break(style, out);
    put_count(out, "MaxNodes", p->has_max_nodes, p->max_nodes);
    str_printf(out, " MaxTime=%s MinNodes=%u LLN=%s ", time_format_limit(max_time, limit),
               p->min_nodes, yes_no(p->lln));
    put_count(out, "MaxCPUsPerNode", p->max_cpus_per_node != 0, p->max_cpus_per_node);
    str_putc(out, ' ');
    put_count(out, "MaxCPUsPerSocket", p->max_cpus_per_socket != 0, p->max_cpus_per_socket);
}

void text_part(const Pb__PartRecord *p, struct text_style style, struct str *out)
{
    char size[SIZE_TEXT_MAX];
    text_pair(out, "PartitionName", p->name);
    text_break(style, out);
    text_pair(out, "AllowGroups", p->allow_groups ? p->allow_groups : "ALL");
    text_pair(out, p->deny_accounts ? " DenyAccounts" : " AllowAccounts",
              p->deny_accounts    ? p->deny_accounts
              : p->allow_accounts ? p->allow_accounts
                                  : "ALL");
    text_pair(out, p->deny_qos ? " DenyQos" : " AllowQos",
              p->deny_qos    ? p->deny_qos
              : p->allow_qos ? p->allow_qos
                             : "ALL");
    text_break(style, out);
    text_pair(out, "AllocNodes", p->alloc_nodes ? p->alloc_nodes : "ALL");
    if (p->alternate)
        text_pair(out, " Alternate", p->alternate);
    str_printf(out, " Default=%s", yes_no(p->is_default));
    text_pair(out, " QoS", p->qos ? p->qos : "N/A");
    if (p->cpu_bind) {
        text_break(style, out);
        text_pair(out, "CpuBind", p->cpu_bind);
    }
    text_break(style, out);
    put_part_limits(p, style, out);
    text_break(style, out);
    text_pair(out, "Nodes", p->nodes);
    text_break(style, out);
    str_printf(out, "PriorityJobFactor=%u PriorityTier=%u RootOnly=%s ReqResv=%s",
               p->priority_job_factor, p->priority_tier, yes_no(p->root_only), yes_no(p->req_resv));
    text_pair(out, " OverSubscribe", p->share ? p->share : "NO");
    text_break(style, out);
    if (p->has_over_time_limit_sec && p->over_time_limit_sec >= 0)
        str_printf(out, "OverTimeLimit=%lld", (long long)p->over_time_limit_sec / 60);
    else
        str_puts(out, "OverTimeLimit=NONE");
    text_pair(out, " PreemptMode", p->preempt_in_force ? p->preempt_in_force : "OFF");
    text_break(style, out);
    text_pair(out, "State", p->state ? p->state : "UP");
    str_printf(out, " TotalCPUs=%u TotalNodes=%u SelectTypeParameters=NONE", p->total_cpus,
               p->total_nodes);
    text_break(style, out);
    put_job_defaults(p, out);
    text_break(style, out);
    put_memory(out, "Def", p->def_mem_per_node_mib, p->def_mem_per_cpu_mib);
    str_putc(out, ' ');
    put_memory(out, "Max", p->max_mem_per_node_mib, p->max_mem_per_cpu_mib);
    text_break(style, out);
    str_printf(out, "TRES=cpu=%u,mem=%s,node=%u,billing=%u", p->total_cpus,
               size_format_mib(p->total_mem_mib, size), p->total_nodes, p->total_cpus);
    if (p->tres_billing_weights) {
        text_break(style, out);
        text_pair(out, "TRESBillingWeights", p->tres_billing_weights);
    }
    text_end(style, out);
}
