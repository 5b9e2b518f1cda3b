/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/squeue/fold.h"

#include <string.h>

#include "base/pb.h"

void fold_init(struct fold *f)
{
    *f = (struct fold){0};
    arena_init(&f->arena, 0);
}

void fold_done(struct fold *f)
{
    vec_foreach (&f->lines, line) {
        str_done(&line->key);
        idset_done(&line->tasks);
    }
    vec_done(&f->lines);
    arena_done(&f->arena);
}

static bool is_folded(const Pb__JobLive *live)
{
    return live->state == PB__JOB_STATE__PENDING && live->has_set_id && live->has_array_job_id &&
           !live->array_tasks;
}

/* Packs all fields of the record that do not depend on the element. */
static void pack_key(const Pb__JobRecord *job, struct str *out)
{
    Pb__JobLive live = *job->live;
    live.job_id = live.set_id = live.array_task_id = 0;
    live.set_job_ids = NULL;
    pb_pack(&job->spec->base, out);
    pb_pack(&live.base, out);
}

static struct fold_line *find_line(struct fold *f, const struct str *key)
{
    vec_foreach (&f->lines, line)
        if (line->key.len == key->len && memcmp(line->key.data, key->data, key->len) == 0)
            return line;
    return NULL;
}

bool fold_take(struct fold *f, const Pb__JobRecord *job)
{
    struct str key = STR_INIT;
    if (!is_folded(job->live))
        return false;
    pack_key(job, &key);
    struct fold_line *line = find_line(f, &key);
    if (line) {
        str_done(&key);
    } else {
        _cleanup_str_ struct str packed = STR_INIT;
        pb_pack(&job->base, &packed);
        vec_push(&f->lines,
                 ((struct fold_line){.job = arena_unpack(&f->arena, &pb__job_record__descriptor,
                                                         packed.data, packed.len),
                                     .key = key}));
        line = &vec_last(&f->lines);
    }
    idset_add(&line->tasks, job->live->array_task_id);
    return true;
}

void fold_finish(struct fold *f)
{
    vec_foreach (&f->lines, line) {
        _cleanup_str_ struct str text = STR_INIT;
        if (line->tasks.count < 2)
            continue;
        idset_format(&line->tasks, &text);
        line->job->live->array_tasks = arena_strdup(&f->arena, str_cstr(&text));
    }
}
