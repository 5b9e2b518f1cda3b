/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Usage of all processes of a node, by user and by job, as text. */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>

#include "base/timefmt.h"
#include "show/show.h"

#define OTHERS ((uint32_t)-2) /* users beyond those that a node counts separately */
#define KIB_SEC_PER_MIB_HOUR (1024.0 * 3600)

/* Each user is followed by the user's jobs. */
static int compare_rows(const void *a, const void *b)
{
    const Pb__NodeUsageRow *x = *(Pb__NodeUsageRow *const *)a, *y = *(Pb__NodeUsageRow *const *)b;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static void put_user_name(uint32_t uid, char *out, size_t size)
{
    const struct passwd *entry = uid == OTHERS ? NULL : getpwuid(uid);

    if (entry)
        snprintf(out, size, "%s", entry->pw_name);
    else if (uid == OTHERS)
        snprintf(out, size, "others");
    else
        snprintf(out, size, "%u", uid);
}

static void put_row(const char *node, const Pb__NodeUsageRow *r, struct str *out)
{
    char user[64], cpu[TIME_TEXT_MAX], job[16] = "-";
    const Pb__Usage *u = r->usage;

    if (!u)
        return;
    put_user_name(r->uid, user, sizeof(user));
    if (r->has_job_id)
        snprintf(job, sizeof(job), "%u", r->job_id);
    time_format_limit((int64_t)((u->user_usec + u->sys_usec) / 1000000), cpu);
    str_printf(out, "%-10s %-12s %10s %5u %12s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %10.1f\n",
               node, user, job, r->processes, cpu, u->rss_kib / 1024, u->max_rss_kib / 1024,
               u->max_vsize_kib / 1024, (double)u->rss_kib_sec / KIB_SEC_PER_MIB_HOUR);
}

static void put_times(const Pb__NodeUsage *m, bool period, struct str *out)
{
    const Pb__NodeTime *t = m->time;
    const struct {
        const char *name;
        uint64_t usec;
    } parts[] = {{"user", t->user_usec},         {"system", t->sys_usec},
                 {"interrupts", t->kernel_usec}, {"stolen", t->stolen_usec},
                 {"idle", t->idle_usec},         {"waiting", t->wait_usec},
                 {"down", t->down_usec}};
    char since[TIME_TEXT_MAX];
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        sum += parts[i].usec;
    str_printf(out, "%-10s %u CPUs since %s", m->name, m->cpus,
               time_format_date(m->since, "Unknown", since));
    if (period)
        str_printf(out, ", period %" PRIu64, m->period);
    str_putc(out, ':');
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        str_printf(out, "%s %s %.1f %%", i ? "," : "", parts[i].name,
                   sum ? 100.0 * (double)parts[i].usec / (double)sum : 0.0);
    str_putc(out, '\n');
}

void show_node_usage_titles(struct str *out)
{
    str_puts(out, "NODE       USER              JOBID PROCS          CPU      RSS   MAXRSS    "
                  "MAXVM   MIB-HOUR\n");
}

void show_node_usage_text(Pb__NodeUsage *m, bool period, struct str *out)
{
    if (m->n_rows)
        qsort(m->rows, m->n_rows, sizeof(m->rows[0]), compare_rows);
    for (size_t i = 0; i < m->n_rows; i++)
        put_row(m->name, m->rows[i], out);
    if (m->time)
        put_times(m, period, out);
}
