/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/start_text.h"

#include "base/timefmt.h"

void start_text_say(const Pb__SubmitReply *r, const char *part, void (*say)(const char *fmt, ...))
{
    char when[TIME_TEXT_MAX];
    if (r->has_start_at || !r->start_note)
        say("Job %u to start at %s using %u processors on nodes %s in partition %s", r->job_id,
            time_format_date(r->start_at, "N/A", when), r->num_cpus, r->nodes ? r->nodes : "(null)",
            r->partition ? r->partition : part);
    if (r->start_note)
        say("Job %u: %s%s", r->job_id,
            r->has_start_at ? "" : "no start can be foreseen: ", r->start_note);
}
