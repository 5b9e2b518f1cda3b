/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The availability of a controller, as text and as JSON. */
#include <stdio.h>

#include "show/json_out.h"
#include "show/show.h"

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
