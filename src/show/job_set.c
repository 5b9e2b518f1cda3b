/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/job_set.h"

#include "show/json_out.h"
#include "show/record.h"

void show_set_put_id(const Pb__JobLive *live, struct str *out)
{
    if (live->has_set_id)
        str_printf(out, " HetJobId=%u HetJobOffset=%u", live->set_id, live->set_offset);
}

void show_set_put_line(const Pb__JobSpec *spec, const Pb__JobLive *live, struct show_style style,
                       struct str *out)
{
    if (!live->has_set_id)
        return;
    record_pair(out, "HetJobIdSet", live->set_job_ids);
    if (spec->component)
        record_pair(out, " HetComponent", spec->component);
    record_break(style, out);
}

const char *show_set_number(const Pb__JobLive *live, uint32_t number, struct str *out)
{
    if (!live->has_set_id)
        return "N/A";
    str_printf(out, "%u", number);
    return str_cstr(out);
}

static void put_ids(json_t *o, bool has_set, uint32_t set_id, uint32_t offset)
{
    json_object_set_new(o, "het_job_id", json_out_number(has_set, false, set_id));
    json_object_set_new(o, "het_job_offset", json_out_number(has_set, false, offset));
}

void show_set_put_step(const Pb__StepRecord *step, json_t *o)
{
    put_ids(o, step->has_set_id, step->set_id, step->set_offset);
}

void show_set_put_transition(const Pb__JobTransition *j, json_t *o)
{
    put_ids(o, j->has_set_id, j->set_id, j->set_offset);
}

json_t *show_set_pack_why(const Pb__WhyReply *why)
{
    if (!why->has_set_count)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "het_job_id", (json_int_t)why->set_id, "offset",
                     (json_int_t)why->set_offset, "job_id", (json_int_t)why->job_id, "count",
                     (json_int_t)why->set_count, "beside",
                     why->has_set_beside ? json_integer(why->set_beside) : json_null());
}
