/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which fields of a job's record the columns of squeue are made of. */
#include "cmd/squeue/needs.h"

#include "base/pb.h"

#define STATE "state completing configuring special_exit stopped "
#define USED STATE "start_at end_at suspended_sec suspended_at "
#define ARRAY "array_job_id array_task_id array_tasks array_throttle"
#define LIMIT "time_limit_sec "
#define START STATE "start_at priority submit_at "

/* A letter that is not here may need anything. */
static const struct {
    char letter;
    const char *spec, *live; /* names of fields, each followed by a blank but the last */
} needs[] = {
    {'a', "account", ""},
    {'A', "", "job_id"},
    {'B', "batch alloc_host", "start_at batch_host"},
    {'C', "", "num_cpus"},
    {'D', "", "num_nodes"},
    {'e', "begin_at_sec", START LIMIT "end_at suspended_sec"},
    {'F', "", "job_id " ARRAY},
    {'g', "group_name gid", ""},
    {'G', "gid", ""},
    {'i', "", "job_id " ARRAY},
    {'j', "name", ""},
    {'k', "comment", ""},
    {'K', "", ARRAY},
    {'l', "", LIMIT},
    {'L', "", LIMIT USED},
    {'M', "", USED},
    {'N', "", "nodes"},
    {'o', "command", ""},
    {'p', "", "priority"},
    {'P', "partition", "partition"},
    {'q', "qos", ""},
    {'Q', "", "priority"},
    {'r', "", "reason"},
    {'R', "", STATE "nodes reason reason_detail"},
    {'S', "begin_at_sec", START},
    {'t', "", STATE},
    {'T', "", STATE},
    {'u', "user_name uid", ""},
    {'U', "uid", ""},
    {'V', "", "submit_at"},
    {'Y', "", "sched_nodes"},
    {'Z', "work_dir", ""},
};

static bool add(struct needs *n, const struct listing_field *field)
{
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (needs[i].letter != field->letter)
            continue;
        pb_fields_add(&n->spec, &pb__job_spec__descriptor, needs[i].spec);
        pb_fields_add(&n->live, &pb__job_live__descriptor, needs[i].live);
        return true;
    }
    return false;
}

bool needs_of(const struct listing *l, struct needs *out)
{
    /* By these squeue chooses what it lists, whatever it shows. */
    *out = (struct needs){0};
    pb_fields_add(&out->spec, &pb__job_spec__descriptor, "uid account qos licenses reservation");
    pb_fields_add(&out->live, &pb__job_live__descriptor, STATE ARRAY);
    vec_foreach (&l->columns, c)
        if (c->field && !add(out, c->field))
            return false;
    vec_foreach (&l->keys, key)
        if (!add(out, key->field))
            return false;
    return true;
}
