/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What daemons say of themselves, as text: a summary of a cluster, the availability of a controller
 * (also as JSON), processes on a node and its daemon.
 */
#include <stdio.h>
#include <string.h>

#include "base/step_id.h"
#include "base/timefmt.h"
#include "show/json_out.h"
#include "show/show.h"

static void put_controller(const struct show_status *s, struct str *out)
{
    const Pb__CtlStats *stats = s->stats;
    if (!s->controller)
        str_puts(out, "slurmctld   down\n");
    else if (!stats)
        str_printf(out, "slurmctld   process %d does not answer: %s\n", (int)s->controller,
                   s->fault);
    else
        str_printf(out, "slurmctld   up, process %d, port %u, %llu MiB resident, %.2f s of CPU\n",
                   (int)s->controller, s->port, (unsigned long long)(stats->rss_kib + 1023) / 1024,
                   (double)stats->cpu_usec / 1e6);
}

void show_status_text(const struct show_status *s, struct str *out)
{
    str_printf(out, "cluster     %s in %s\n", s->cluster, s->place);
    put_controller(s, out);
    str_printf(out, "slurmd      %zu of %zu run", s->daemons, s->nodes);
    if (s->stats)
        str_printf(out, ", %llu node%s up", (unsigned long long)s->stats->nodes_up,
                   s->stats->nodes_up == 1 ? " is" : "s are");
    str_putc(out, '\n');
    if (s->stats)
        str_printf(out, "jobs        %llu running, %llu pending\n",
                   (unsigned long long)s->stats->running, (unsigned long long)s->stats->pending);
}

#define MODE_MAX 32

/* "primary", "backup", or "backup2" if there are several. */
static const char *format_mode(const struct show_ping *p, char mode[MODE_MAX])
{
    if (p->rank == 0)
        return "primary";
    if (p->count == 2)
        return "backup";
    snprintf(mode, MODE_MAX, "backup%zu", p->rank);
    return mode;
}

void show_ping_text(const struct show_ping *p, struct str *out)
{
    char mode[MODE_MAX];
    str_printf(out, "Slurmctld(%s) at %s is %s\n", format_mode(p, mode), p->host,
               p->is_up ? "UP" : "DOWN");
}

json_t *show_ping_json(const struct show_ping *p)
{
    char mode[MODE_MAX];
    return json_pack("{s:o, s:s, s:b, s:I, s:s, s:b}", "hostname", json_out_text(p->host), "pinged",
                     p->is_up ? "UP" : "DOWN", "responding", p->is_up, "latency",
                     (json_int_t)p->latency_us, "mode", format_mode(p, mode), "primary",
                     p->rank == 0);
}

static void put_or_dash(struct str *out, int width, bool has, uint32_t number)
{
    if (has)
        str_printf(out, "%-*u", width, number);
    else
        str_printf(out, "%-*s", width, "-");
}

void show_pids_titles(struct str *out)
{
    str_puts(out, "PID      JOBID    STEPID   LOCALID GLOBALID\n");
}

void show_pids_text(const Pb__StepPids *s, struct str *out)
{
    char id[STEP_ID_TEXT_MAX];
    const char *step = strchr(step_id_text(s->job_id, s->step_id, id), '.') + 1;

    for (size_t i = 0; i < s->n_processes; i++) {
        const Pb__StepProcess *p = s->processes[i];
        str_printf(out, "%-8u %-8u %-8s ", p->pid, s->job_id, step);
        put_or_dash(out, 7, p->has_local, p->local);
        str_putc(out, ' ');
        put_or_dash(out, 8, p->has_task, p->task);
        str_putc(out, '\n');
    }
}

static void put_fact(struct str *out, const char *key, const char *value)
{
    str_printf(out, "%-24s = %s\n", key, value);
}

static void put_amount(struct str *out, const char *key, uint64_t number, const char *unit)
{
    str_printf(out, "%-24s = %llu%s\n", key, (unsigned long long)number, unit);
}

void show_node_status_text(const Pb__NodeStatus *m, const char *steps, struct str *out)
{
    const Pb__NodeRegister *found = m->found;
    char date[TIME_TEXT_MAX];
    put_fact(out, "Active Steps", *steps ? steps : "NONE");
    if (found) {
        put_amount(out, "Actual CPUs", found->cpus, "");
        put_amount(out, "Actual Boards", found->boards, "");
        put_amount(out, "Actual sockets", found->sockets, "");
        put_amount(out, "Actual cores", found->cores, "");
        put_amount(out, "Actual threads per core", found->threads, "");
        put_amount(out, "Actual real memory", found->real_memory_mib, " MB");
        put_amount(out, "Actual temp disk space", found->tmp_disk_mib, " MB");
        put_fact(out, "Boot time", time_format_date(found->boot_at, "Unknown", date));
        put_fact(out, "Hostname", found->hostname ? found->hostname : "");
    }
    put_fact(out, "NodeName", m->name);
    put_fact(out, "Slurmd start time", time_format_date(m->started_at, "Unknown", date));
    put_fact(out, "Controller", m->connected && m->controller ? m->controller : "not connected");
    put_amount(out, "Slurmd PID", m->pid, "");
    put_amount(out, "Slurmd Debug", m->debug, "");
    put_fact(out, "Slurmd Logfile", m->log_file ? m->log_file : "NONE");
    if (found)
        put_fact(out, "Version", found->version);
    str_putc(out, '\n');
}
