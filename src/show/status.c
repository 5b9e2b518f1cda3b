/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A summary of a cluster, as text. */
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
