/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/step/step_parts.h"

#include "base/pb.h"
#include "cluster/job/job_set.h"
#include "cluster/job/job_set_text.h"
#include "conf/conf_sets.h"
#include "control/core/facts.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/internal.h"

static const Pb__StepSpec *part_spec(const Pb__StepSpec *spec, size_t part)
{
    return spec->n_parts ? spec->parts[part] : spec;
}

/* Returns the component of the part. Parts that name none are in the components of a job set in
 * order; in any other job all parts are in that job. */
static uint32_t find_offset(const struct job *j, const Pb__StepSpec *spec, size_t part)
{
    const Pb__StepSpec *p = part_spec(spec, part);
    if (p->has_set_offset)
        return p->set_offset;
    return j->set && job_set_is_leader(j) ? (uint32_t)part : j->set_offset;
}

struct job *step_parts_job(const struct job *j, const Pb__StepSpec *spec, size_t part)
{
    uint32_t offset = find_offset(j, spec, part);
    if (offset == j->set_offset)
        return (struct job *)j;
    return offset < job_set_count(j) ? job_set_component(j, offset) : NULL;
}

static int refuse_ended(const struct job *j, uint32_t offset, struct err *err)
{
    return err_set(err, -ERR_JOB_DONE, "%s: job %s+%u", err_text(ERR_JOB_DONE), NAMED_SET_TEXT(j),
                   offset);
}

int step_parts_refuse(const struct job *j, const Pb__StepSpec *spec, size_t part, struct err *err)
{
    uint32_t count = job_set_count(j), offset = find_offset(j, spec, part);
    if (offset < count)
        return refuse_ended(j, offset, err);
    return err_set(err, -ERR_COMPONENT, JOB_SET_TEXT_NO_STEP, offset, count - 1);
}

static int check_running(const struct job *j, struct err *err)
{
    if (j->state == PB__JOB_STATE__PENDING)
        return control_set_error(err, ERR_JOB_PENDING, NULL);
    if (job_is_final(j))
        return err_set(err, -ERR_JOB_DONE, "%s: job %s", err_text(ERR_JOB_DONE), JOB_ID_TEXT(j));
    if (attempt_of(j)->configuring)
        return control_set_error(err, ERR_NODES_BUSY, "the job's nodes are being configured");
    if (j->state == PB__JOB_STATE__SUSPENDED || job_is_held_back(j))
        return control_set_error(err, ERR_JOB_SUSPENDED, NULL);
    return 0;
}

/* Adds the options of the whole step to the part. */
static Pb__StepSpec join_whole(const Pb__StepSpec *whole, const Pb__StepSpec *part)
{
    Pb__StepSpec s = *part;
    s.name = part->name ? part->name : whole->name;
    s.has_time_limit_sec = whole->has_time_limit_sec;
    s.time_limit_sec = whole->time_limit_sec;
    s.request_id = whole->request_id;
    s.has_request_id = whole->has_request_id;
    s.host = whole->host;
    s.has_srun_pid = whole->has_srun_pid;
    s.srun_pid = whole->srun_pid;
    s.has_srun_in_step = whole->has_srun_in_step;
    s.srun_in_step = whole->srun_in_step;
    s.submit_line = whole->submit_line;
    s.has_spawned_by = s.has_interactive = false;
    s.n_parts = 0;
    return s;
}

/* A job's records know of a step only whether the whole step overlaps others. */
static void share_overlap(struct step_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        for (size_t k = 0; k < parts->count; k++) {
            struct step_part *a = &parts->list[i], *b = &parts->list[k];
            if (a->job != b->job)
                continue;
            if (b->spec.has_overlap && b->spec.overlap)
                SET(&a->spec, overlap, true);
            if (b->spec.has_overcommit && b->spec.overcommit)
                SET(&a->spec, overcommit, true);
        }
}

static int find_jobs(const struct job *j, const Pb__StepSpec *spec, struct step_parts *parts,
                     struct err *err)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct step_part *part = &parts->list[i];
        part->job = step_parts_job(j, spec, i);
        if (!part->job)
            return step_parts_refuse(j, spec, i, err);
        part->spec = spec->n_parts ? join_whole(spec, spec->parts[i]) : *spec;
        int rc = check_running(part->job, err);
        if (rc)
            return rc;
    }
    if (parts->count > 1)
        share_overlap(parts);
    return 0;
}

static int check_span(const struct control *c, const struct step_parts *parts, struct err *err)
{
    for (size_t i = 1; i < parts->count; i++)
        if (parts->list[i].job != parts->list[0].job)
            return conf_sets_refuse_span(c->conf, err);
    return 0;
}

/* Checks several parts of a step in one component of a set. */
static int check_component(const struct control *c, const struct step_parts *parts, struct err *err)
{
    for (size_t i = 1; i < parts->count; i++)
        for (size_t k = 0; k < i; k++)
            if (parts->list[i].job->set && parts->list[i].job == parts->list[k].job)
                return conf_sets_refuse_shared(c->conf, err);
    return 0;
}

static int name_part(const struct step_parts *parts, size_t i, struct err *err)
{
    const struct job *j = parts->list[i].job;
    if (parts->count == 1)
        return err->code;
    return err_prefix(err, j->set ? "component %u" : "part %u of the step",
                      j->set ? j->set_offset : (unsigned)i);
}

static bool has_earlier_in_job(const struct step_parts *parts, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (parts->list[k].job == parts->list[i].job)
            return true;
    return false;
}

/* The part would have nodes if it could share them: the message says that the limit keeps it. */
static int refuse_shared_node(const struct control *c, int code, struct err *err)
{
    const struct err what = *err;
    return conf_sets_refuse(c->conf, CONF_SETS_one_node, code, what.text, err);
}

/* Finds nodes of its own; if its job has none, nodes of earlier parts. */
static int find_layout(struct control *c, struct step_parts *parts, size_t i, struct arena *arena,
                       struct err *err)
{
    struct step_part *part = &parts->list[i];
    struct err why = {0};
    bool keeps = conf_sets_keep(c->conf, CONF_SETS_one_node);
    part->layout.before = i ? &parts->list[i - 1].layout : NULL;
    part->layout.shares = false;
    parts->laid_out++;
    int rc = step_layout_find(c, part->job, &part->spec, arena, &part->layout, err);
    if (rc == 0 || rc == -ERR_NODES_BUSY || !has_earlier_in_job(parts, i) ||
        (keeps && part->layout.nodes_given))
        return rc;
    step_layout_done(&part->layout);
    part->layout.shares = true;
    int again = step_layout_find(c, part->job, &part->spec, arena, &part->layout, &why);
    if (keeps)
        return again == 0 || again == -ERR_NODES_BUSY ? refuse_shared_node(c, rc, err) : rc;
    if (again == 0 || again == -ERR_NODES_BUSY || part->layout.nodes_given) {
        *err = why;
        rc = again;
    }
    return rc;
}

int step_parts_find(struct control *c, struct job *j, const Pb__StepSpec *spec, struct arena *arena,
                    struct step_parts *parts, struct err *err)
{
    *parts = (struct step_parts){.count = spec->n_parts ? spec->n_parts : 1};
    if (parts->count > JOB_SET_MAX)
        return err_set(err, -ERR_COMPONENT, "%s: a step has %zu parts, and %u are the most",
                       err_text(ERR_COMPONENT), parts->count, JOB_SET_MAX);
    parts->list = arena_alloc(arena, parts->count * sizeof(*parts->list));
    int rc = find_jobs(j, spec, parts, err);
    if (rc == 0)
        rc = check_span(c, parts, err);
    if (rc == 0)
        rc = check_component(c, parts, err);
    for (size_t i = 0; rc == 0 && i < parts->count; i++) {
        struct step_part *part = &parts->list[i];
        part->first_task = parts->tasks;
        rc = find_layout(c, parts, i, arena, err);
        if (rc == 0)
            rc = step_ports_find(c, &part->layout, arena, err);
        if (rc == 0 && part->layout.num_tasks > UINT32_MAX - parts->tasks)
            rc = control_set_error(err, ERR_STEP_CONFIG, "too many tasks");
        if (rc)
            return name_part(parts, i, err);
        parts->tasks += part->layout.num_tasks;
    }
    return rc;
}

void step_parts_done(struct step_parts *parts)
{
    for (size_t i = 0; i < parts->laid_out; i++)
        step_layout_done(&parts->list[i].layout);
}

struct job *step_parts_at(const struct job *j, const Pb__StepRecord *r, size_t i)
{
    uint32_t offset = r->part_offsets[i];
    return offset < job_set_count(j) ? job_set_component(j, offset) : NULL;
}

/* Returns the record of the step in one of its jobs; NULL: it has ended there. */
static const Pb__StepRecord *unpack_in(struct job *j, uint32_t step_id, struct arena *arena)
{
    const struct step *s = j && j->attempt ? step_find(j, step_id) : NULL;
    return s ? arena_unpack(arena, &pb__step_record__descriptor, s->record.data, s->record.len)
             : NULL;
}

static Pb__StepPart *make_part(struct control *c, const struct job *j, const Pb__StepRecord *r,
                               size_t i, struct arena *arena)
{
    Pb__StepPart *m = arena_alloc(arena, sizeof(*m));
    _cleanup_str_ struct str nodes = STR_INIT;
    pb__step_part__init(m);
    SET(m, num_tasks, i < r->n_part_tasks ? r->part_tasks[i] : 0);
    SET(m, cpus_per_task, i < r->n_part_cpus_per_task ? r->part_cpus_per_task[i] : 1);
    if (!j)
        return m;
    m->job_id = j->id;
    if (j->set)
        SET(m, set_offset, j->set_offset);
    SET(m, restarts, j->restarts);
    m->cpu_bind = (char *)step_cpu_bind(c, j);
    job_format_nodes(c->cluster, j, &nodes);
    m->job_nodes = arena_strdup(arena, str_cstr(&nodes));
    return m;
}

static bool is_first_in_job(const Pb__StepRecord *r, size_t part)
{
    for (size_t i = 0; i < part; i++)
        if (r->part_offsets[i] == r->part_offsets[part])
            return false;
    return true;
}

static size_t count_nodes(const Pb__StepRecord *r)
{
    return r ? r->n_layout : 0;
}

const Pb__StepRecord *step_parts_join(struct control *c, const struct job *j, const struct step *s,
                                      Pb__CredPart ***creds, Pb__StepPart ***parts,
                                      struct arena *arena)
{
    Pb__StepRecord *whole =
        arena_unpack(arena, &pb__step_record__descriptor, s->record.data, s->record.len);
    size_t count = whole->n_part_offsets, nodes = 0;
    *creds = NULL;
    *parts = NULL;
    if (!count)
        return whole;
    const Pb__StepRecord **records = arena_alloc(arena, count * sizeof(*records));
    for (size_t i = 0; i < count; i++) {
        records[i] = unpack_in(step_parts_at(j, whole, i), s->id, arena);
        nodes += count_nodes(records[i]);
    }
    *creds = arena_alloc(arena, count * sizeof(**creds));
    *parts = arena_alloc(arena, count * sizeof(**parts));
    Pb__StepNode **layout = arena_alloc(arena, (nodes + 1) * sizeof(*layout));
    size_t placed = 0;
    whole->num_tasks = 0;
    for (size_t i = 0; i < count; i++) {
        const struct job *of = step_parts_at(j, whole, i);
        for (size_t k = 0; k < count_nodes(records[i]); k++)
            if (records[i]->layout[k]->part == i)
                layout[placed++] = records[i]->layout[k];
        whole->num_tasks += i < whole->n_part_tasks ? whole->part_tasks[i] : 0;
        (*creds)[i] = facts_make_part(c, of ? of : j, records[i] ? records[i] : whole,
                                      is_first_in_job(whole, i), arena);
        (*parts)[i] = make_part(c, of, whole, i, arena);
    }
    whole->layout = layout;
    whole->n_layout = placed;
    return whole;
}
