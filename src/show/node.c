/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes as text and as JSON. */
#include "base/timefmt.h"
#include "show/names.h"
#include "show/node_state.h"
#include "show/record.h"

static void put_node_tres(const Pb__NodeRecord *n, struct show_style style, struct str *out)
{
    str_puts(out, "CfgTRES=");
    node_state_put_tres(n, false, out);
    record_break(style, out);
    str_puts(out, "AllocTRES=");
    node_state_put_tres(n, true, out);
    record_break(style, out);
    str_puts(out, "CurrentWatts=0 AveWatts=0"); /* zero: energy is not measured */
}

static void put_node_state(const Pb__NodeRecord *n, struct show_style style, struct str *out)
{
    str_printf(out, "RealMemory=%llu AllocMem=%llu ", (unsigned long long)n->real_memory_mib,
               (unsigned long long)n->alloc_mem_mib);
    if (n->has_free_mem_mib)
        str_printf(out, "FreeMem=%llu", (unsigned long long)n->free_mem_mib);
    else
        str_puts(out, "FreeMem=N/A");
    str_printf(out, " Sockets=%u Boards=%u", n->sockets, n->boards ? n->boards : 1);
    record_break(style, out);
    str_puts(out, "State=");
    node_state_put_flags(n, out);
    str_printf(out, " ThreadsPerCore=%u TmpDisk=%llu Weight=%u", n->threads,
               (unsigned long long)n->tmp_disk_mib, n->weight);
    record_pair(out, " Owner", n->owner ? n->owner : "N/A");
    record_pair(out, " MCS_label", n->mcs_label ? n->mcs_label : "N/A");
    if (n->next_state) {
        record_break(style, out);
        record_pair(out, "NextState", n->next_state);
    }
    if (n->partitions && *n->partitions) {
        record_break(style, out);
        record_pair(out, "Partitions", n->partitions);
    }
}

/* Resources reserved for the system. */
static void put_specialized(const Pb__NodeRecord *n, struct show_style style, struct str *out)
{
    uint32_t threads = n->threads ? n->threads : 1;
    if (n->spec_cpus) {
        record_break(style, out);
        str_printf(out, "CoreSpecCount=%u ", n->spec_cpus / threads);
        str_puts(out, "CPUSpecList=");
        node_state_put_spec_cpus(n, out);
    }
    if (n->mem_spec_mib) {
        if (n->spec_cpus)
            str_putc(out, ' ');
        else
            record_break(style, out);
        str_printf(out, "MemSpecLimit=%llu", (unsigned long long)n->mem_spec_mib);
    }
}

/* Cores for jobs with GPUs only. */
static void put_restricted(const Pb__NodeRecord *n, struct show_style style, struct str *out)
{
    if (!n->restricted_list)
        return;
    record_break(style, out);
    str_printf(out, "RestrictedCoresPerGPU=%u(%s)", n->restricted_cores, n->restricted_list);
}

static void put_reason(const Pb__NodeRecord *n, struct show_style style, struct str *out)
{
    char buf[TIME_TEXT_MAX];
    if (!n->reason || !*n->reason)
        return;
    record_break(style, out);
    record_pair(out, "Reason", n->reason);
    if (n->reason_at)
        str_printf(out, " [%s@%s]", names_user(n->reason_uid),
                   time_format_date(n->reason_at, "Unknown", buf));
}

void show_node_text(const Pb__NodeRecord *n, struct show_style style, struct str *out)
{
    record_pair(out, "NodeName", n->name);
    if (n->arch)
        record_pair(out, " Arch", n->arch);
    str_printf(out, " CoresPerSocket=%u", n->cores);
    record_break(style, out);
    str_printf(out, "CPUAlloc=%u CPUEfctv=%u CPUTot=%u ", n->alloc_cpus, n->cpus - n->spec_cpus,
               n->cpus);
    if (n->has_cpu_load_centi)
        str_printf(out, "CPULoad=%u.%02u", n->cpu_load_centi / 100, n->cpu_load_centi % 100);
    else
        str_puts(out, "CPULoad=N/A");
    record_break(style, out);
    record_pair(out, "AvailableFeatures", n->features);
    record_break(style, out);
    record_pair(out, "ActiveFeatures", node_state_active_features(n));
    record_break(style, out);
    record_pair(out, "Gres", n->gres);
    record_break(style, out);
    if (style.details) {
        str_puts(out, "GresDrain=N/A");
        record_break(style, out);
        record_pair(out, "GresUsed", n->gres_used);
        record_break(style, out);
    }
    record_pair(out, "NodeAddr", n->addr ? n->addr : n->name);
    record_pair(out, " NodeHostName", n->hostname ? n->hostname : n->name);
    str_printf(out, " Port=%u", n->port);
    if (n->version)
        record_pair(out, " Version", n->version);
    if (n->bcast_addr) {
        record_break(style, out);
        record_pair(out, "BcastAddr", n->bcast_addr);
    }
    if (n->os) {
        record_break(style, out);
        record_pair(out, "OS", n->os);
    }
    record_break(style, out);
    put_node_state(n, style, out);
    put_specialized(n, style, out);
    put_restricted(n, style, out);
    record_break(style, out);
    record_date(out, "BootTime", n->boot_at, "None");
    record_date(out, " SlurmdStartTime", n->daemon_start_at, "None");
    record_break(style, out);
    record_date(out, "LastBusyTime", n->last_busy_at, "Unknown");
    record_date(out, " ResumeAfterTime", n->resume_at, "None");
    record_break(style, out);
    put_node_tres(n, style, out);
    put_reason(n, style, out);
    if (n->reservation) {
        record_break(style, out);
        record_pair(out, "ReservationName", n->reservation);
    }
    if (n->cpu_bind) {
        record_break(style, out);
        record_pair(out, "CpuBind", n->cpu_bind);
    }
    if (n->topology && *n->topology) {
        record_break(style, out);
        record_pair(out, "Topology", n->topology);
    }
    if (n->comment) {
        record_break(style, out);
        record_pair(out, "Comment", n->comment);
    }
    if (n->extra) {
        record_break(style, out);
        record_pair(out, "Extra", n->extra);
    }
    record_end(style, out);
}

static json_t *node_spec_cpus(const Pb__NodeRecord *node)
{
    _cleanup_str_ struct str cpus = STR_INIT;
    node_state_put_spec_cpus(node, &cpus);
    return json_out_text(str_cstr(&cpus));
}

static void put_upper(struct str *s)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->data[i] >= 'a' && s->data[i] <= 'z')
            s->data[i] = (char)(s->data[i] - 32);
}

json_t *show_node_states_json(const Pb__NodeRecord *node)
{
    _cleanup_str_ struct str text = STR_INIT;
    node_state_put_flags(node, &text);
    put_upper(&text);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '+')
            text.data[i] = ',';
    return json_out_list(str_cstr(&text));
}

static json_t *node_tres(const Pb__NodeRecord *n, bool used)
{
    _cleanup_str_ struct str tres = STR_INIT;
    node_state_put_tres(n, used, &tres);
    return json_out_text(str_cstr(&tres));
}

static json_t *node_energy(void)
{
    return json_pack("{s:i, s:i, s:i, s:o, s:i, s:i}", "average_watts", 0, "base_consumed_energy",
                     0, "consumed_energy", 0, "current_watts", json_out_number(true, false, 0),
                     "previous_consumed_energy", 0, "last_collected", 0);
}

json_t *show_node_json(const Pb__NodeRecord *n, const char *cluster)
{
    json_t *o = json_object();
#define MEMBER(name, status, value) json_object_set_new(o, name, value);
#include "show/node_members.def"
#undef MEMBER
    return o;
}
