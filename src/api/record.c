/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/record.h"

#include "base/pb.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

#define MEMBER(member, value, ...) .member = value,

/* --- jobs and steps --------------------------------------------------------------------------- */

static const char *state_name(enum _Pb__JobState state)
{
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&pb__job_state__descriptor, (int)state);

    return v ? v->name : "UNKNOWN";
}

/* "123", "123_4", "123_[5-9]", "123+4" or "123_4+1". */
static void format_id(const Pb__JobLive *live, struct str *out)
{
    if (!live->has_array_job_id)
        str_printf(out, "%u", live->has_set_id ? live->set_id : live->job_id);
    else if (live->array_tasks)
        str_printf(out, "%u_[%s]", live->array_job_id, live->array_tasks);
    else
        str_printf(out, "%u_%u", live->array_job_id, live->array_task_id);
    if (live->has_set_id)
        str_printf(out, "+%u", live->set_offset);
}

void api_fill_job(const Pb__JobSpec *spec, const Pb__JobLive *live, struct str *full_id,
                  struct sluice_job *job)
{
    format_id(live, full_id);
    *job = (struct sluice_job){
#include "api/job_members.def"
    };
}

void api_fill_step(const Pb__StepRecord *r, struct sluice_step *step)
{
    *step = (struct sluice_step){
#include "api/step_members.def"
    };
}

/* --- nodes ------------------------------------------------------------------------------------ */

static const char *base_name(enum _Pb__NodeBase base)
{
    static const char *const names[] = {"UNKNOWN", "DOWN",   "IDLE", "ALLOCATED",
                                        "MIXED",   "FUTURE", "ERROR"};

    return (size_t)base < sizeof(names) / sizeof(names[0]) ? names[base] : "UNKNOWN";
}

static unsigned node_flags(const Pb__NodeRecord *r)
{
    return (r->drain ? SLUICE_DRAIN : 0u) | (r->fail ? SLUICE_FAIL : 0u) |
           (r->completing ? SLUICE_COMPLETING : 0u) | (r->no_respond ? SLUICE_SILENT : 0u);
}

void api_fill_node(const Pb__NodeRecord *r, struct sluice_node *node)
{
    *node = (struct sluice_node){
#include "api/node_members.def"
    };
}

/* --- requests --------------------------------------------------------------------------------- */

void api_fill_spec(const struct sluice_submit *r, const char *cwd, Pb__JobSpec *m)
{
    m->name = (char *)(r->name ? r->name : "api");
    m->command = m->name;
    m->work_dir = (char *)(r->work_dir ? r->work_dir : cwd);
    SET(m, batch, true);
#define TEXT(member, field) m->field = (char *)r->member;
#define NUMBER(member, field)                                                                      \
    if (r->member)                                                                                 \
        SET(m, field, r->member);
#define OTHER(member, fields)
#include "api/submit_members.def"
    if (r->as_user) {
        SET(m, uid, r->uid);
        SET(m, gid, r->gid);
    }
}
