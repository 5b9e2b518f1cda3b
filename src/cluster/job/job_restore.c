/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Validates the stored record of a job, and restores the state of the job from it. Whatever depends
 * on the configuration, which may have changed, is not a contradiction.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/step_id.h"
#include "cluster/cluster.h"
#include "cluster/job/job_restore.h"
#include "cluster/job/step_cpus.h"

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

static void restore_step_gres(const struct cluster *c, const struct node *n, struct alloc_node *a,
                              struct step_node *to, const Pb__StepNode *stored, bool overlap)
{
    for (size_t i = 0; i < stored->n_gres; i++) {
        struct gres_held step;
        if (!gres_held_unpack(c, n, stored->gres[i], &step))
            continue;
        struct gres_held *job = gres_held_find(a, step.kind);
        if (job && !overlap)
            gres_held_step(job, &step);
        vec_push(&to->gres, step);
    }
}

static bool has_ended_on(const Pb__StepRecord *r, size_t place)
{
    return place / 8 < r->ended_on.len && (r->ended_on.data[place / 8] >> (place % 8) & 1);
}

static void restore_step(struct cluster *c, struct job *j, const Pb__StepRecord *r)
{
    struct step s = {.id = r->step_id,
                     .overlap = OR(r, overlap, 0),
                     .ending = OR(r, ending, 0),
                     .exit_status = OR(r, exit_status, 0)};
    s.srun_in_script = r->has_srun_in_step && r->srun_in_step == STEP_ID_BATCH;
    s.srun_in_step = r->has_srun_in_step && !s.srun_in_script;
    if (r->request_id.len == sizeof s.request_id)
        memcpy(s.request_id, r->request_id.data, sizeof s.request_id);
    for (size_t i = 0; i < r->n_layout; i++) {
        struct node *n = cluster_find_node(c, r->layout[i]->node);
        struct alloc_node *a = n ? alloc_find(j, n->index) : NULL;
        if (!a)
            continue;
        struct step_node sn = {.at = (uint32_t)(a - attempt_of(j)->alloc.data),
                               .cpus = r->layout[i]->cpus,
                               .tasks = (uint32_t)r->layout[i]->n_task_ids,
                               .place = (uint32_t)i,
                               .ended = has_ended_on(r, i)};
        bool own = OR(r, own_memory, 0) && OR(r->layout[i], mem_mib, 0) < alloc_memory_mib(a);
        sn.mem_mib = own ? r->layout[i]->mem_mib : 0;
        if (OR(r, own_gres, 0))
            restore_step_gres(c, n, a, &sn, r->layout[i], s.overlap);
        step_cpus_retake(n, a, &sn, s.overlap, r->layout[i]);
        vec_push(&s.nodes, sn);
        a->step_cpus += s.overlap ? 0 : sn.cpus;
        a->step_mem_mib += s.overlap ? 0 : sn.mem_mib;
    }
    s.spares_others = r->has_oom_kill_step && !r->oom_kill_step;
    for (size_t i = 0; i < r->n_resv_ports; i++)
        vec_push(&s.ports, (uint16_t)r->resv_ports[i]);
    Pb__StepRecord record = *r;
    if (r->usage)
        pb_pack(&r->usage->base, &s.usage);
    record.usage = NULL;
    record.has_exit_status = record.has_ending = record.has_ended_on = false;
    pb_pack(&record.base, &s.record);
    vec_push(&attempt_make(j)->steps, s);
}

/* For a clock that counts from the boot: the time is negative if the job began before the boot. */
static int64_t bound_clock_ms(int64_t ms)
{
    int64_t sec = cluster_bound_time(ms < 0 ? -(ms / 1000) : ms / 1000);
    return (ms < 0 ? -sec : sec) * 1000 + (sec < CLUSTER_TIME_MAX_SEC ? ms % 1000 : 0);
}

/* A pending job has no attempt, whatever an older version wrote. */
static void restore_attempt(struct job *j, const Pb__JobLive *m)
{
    if (m->state == PB__JOB_STATE__PENDING)
        return;
    struct attempt *r = attempt_make(j);
#define FLAG(member, field) r->member = OR(m, field, 0);
#define NUMBER(member, field) r->member = OR(m, field, 0);
#define TIME(member, field) r->member = cluster_bound_time(OR(m, field, 0));
#define CLOCK(member, field) r->member = bound_clock_ms(OR(m, field, 0));
#include "cluster/job/attempt_stored.def"
    bool runs = m->state == PB__JOB_STATE__RUNNING || m->state == PB__JOB_STATE__SUSPENDED;
    r->start_at = cluster_bound_time(OR(m, start_at, 0));
    r->end_at = runs ? 0 : cluster_bound_time(OR(m, end_at, 0));
    r->suspended_at = cluster_bound_time(OR(m, suspended_at, 0));
    r->ran_ms = cluster_bound_time(OR(m, ran_ms, 0));
    r->halts = OR(m, halts, 0);
    r->boot = OR(m, boot, 0);
    for (size_t i = 0; i < m->n_late_ports; i++)
        vec_push(&r->late_ports, (uint16_t)m->late_ports[i]);
    r->resv_name = mem_strdup(m->reservation);
    r->held_up = mem_strdup(m->held_up);
    r->completing = OR(m, completing, 0);
    r->exit_status = OR(m, exit_status, 0);
    r->derived_status = OR(m, derived_status, 0);
    r->next_step = OR(m, next_step, 0);
    r->readying = r->configuring && OR(m, readying, 0);
    if (m->usage) {
        r->usage = mem_new(struct str);
        pb_pack(&m->usage->base, r->usage);
    }
}

static void restore_live(struct job *j, const Pb__JobLive *m)
{
    j->restarts = OR(m, restarts, 0);
    j->auto_requeues = OR(m, auto_requeues, 0);
    j->priority = OR(m, priority, 0);
    j->rank.given = OR(m, priority_given, 0);
    j->rank.accrue_at = cluster_bound_time(OR(m, accrue_at, 0));
    j->rank.accrued_sec = cluster_bound_time(OR(m, accrued_sec, 0));
    j->held = OR(m, user_hold, 0);
    j->admin_hold = OR(m, admin_hold, 0);
    j->submit_at = cluster_bound_time(OR(m, submit_at, 0));
    j->eligible_at = cluster_bound_time(OR(m, eligible_at, 0));
    restore_attempt(j, m);
    j->sched_at = cluster_bound_time(OR(m, last_sched_at, 0));
    j->limit_sec = cluster_bound_limit(OR(m, time_limit_sec, INT64_MAX));
    j->special_exit = OR(m, special_exit, 0);
    j->resv_gone = OR(m, resv_gone, 0);
    j->is_unfit = OR(m, is_unfit, 0);
    j->burst = burst_unpack(m->burst);
    j->reason = reason_find(m->reason);
    j->newer_reason = j->reason == REASON_NEWER ? mem_strdup(m->reason) : NULL;
    j->reason_detail = mem_strdup(m->reason_detail);
}

/* Removes nodes from an expression that are no longer configured. Returns true if there were
 * any. */
static bool drop_gone_nodes(const struct cluster *c, char **expr, struct arena *arena)
{
    _cleanup_hostlist_ struct hostlist *named = NULL, *known = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    struct str out = STR_INIT;
    if (!*expr || hostlist_parse(*expr, &named, NULL) != 0)
        return false;
    known = hostlist_new();
    for (size_t i = 0; i < hostlist_count(named); i++)
        if (cluster_find_node(c, hostlist_nth(named, i, name)))
            hostlist_push(known, name);
    bool gone = hostlist_count(known) < hostlist_count(named);
    hostlist_format(known, &out);
    if (gone)
        *expr = arena_strdup(arena, str_cstr(&out));
    str_done(&out);
    return gone;
}

/* A job survives the removal of nodes that it names: it continues to run, or waits if it requires
 * them. */
static int read_stored_spec(const struct cluster *c, struct job *j, const Pb__JobSpec *stored,
                            struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec spec = *stored;
    drop_gone_nodes(c, &spec.exc_nodes, &arena);
    bool gone = drop_gone_nodes(c, &spec.req_nodes, &arena);
    struct err refusal = {0};
    int rc = job_read_spec(c, j, &spec, &refusal);
    if (rc == -ERR_GRES) { /* earlier versions accepted totals that contradict the other counts */
        spec.tres_per_job = NULL;
        rc = job_read_spec(c, j, &spec, &refusal);
    }
    if (rc != 0 && err)
        *err = refusal;
    j->want.req_gone = gone;
    return rc;
}

/* Keeps the names of its nodes as long as they are known. */
static void keep_past(struct job *j, const Pb__JobLive *m)
{
    if (!m->nodes)
        return;
    job_forget_past(j);
    j->past = mem_new(struct job_past);
    j->past->nodes = mem_strdup(m->nodes);
    j->past->batch_host = mem_strdup(m->batch_host);
    j->past->num_nodes = m->num_nodes;
    j->past->num_cpus = m->num_cpus;
}

static void restore_items(struct depend *d, const Pb__JobLive *m)
{
    for (size_t i = 0; i < m->n_depend_from_at && i < d->items.len; i++)
        d->items.data[i].from_at = m->depend_from_at[i];
    for (size_t i = 0; i < m->n_depend_failed && i < d->items.len; i++)
        if (d->items.data[i].sets)
            idset_parse(m->depend_failed[i], ARRAY_SIZE_MAX, &d->items.data[i].sets->bad, NULL);
    depend_count(d);
}

/* Restores the known states of its dependencies: control/ examines the named jobs again. */
static void restore_depend(struct cluster *c, struct job *j, const Pb__JobSpec *spec,
                           const Pb__JobLive *m)
{
    if (!m->depend_states || !spec->dependency)
        return;
    struct depend *d = mem_new(struct depend);
    if (depend_parse(spec->dependency, DEPEND_ITEMS_MAX, d, NULL) != 0 ||
        !depend_unpack(d, m->depend_states)) {
        depend_free(d);
        return;
    }
    restore_items(d, m);
    j->waits.shown = mem_strdup(m->dependency);
    depend_set(c, j, d);
    /* As the user was told: whether an item has failed does not depend on time. */
    j->waits.never = depend_at(d, 0, false) == DEPEND_FAILED;
    if (job_is_final(j))
        depend_shelve(c, j);
}

static void keep_newer(struct job *j, const Pb__JobRecord *record)
{
    if (!record->base.n_unknown_fields && !record->live->base.n_unknown_fields)
        return;
    j->newer = mem_new(struct job_newer);
    pb_pick_unknown(&record->base, &j->newer->record);
    pb_pick_unknown(&record->live->base, &j->newer->live);
}

static int restore_array(struct cluster *c, struct job *j, const Pb__JobRecord *record,
                         struct err *err)
{
    const Pb__JobLive *m = record->live;
    if (!m->has_array_job_id || OR(m, set_offset, 0))
        return 0; /* a component is in the array of its leader */
    j->task = OR(m, array_task_id, ARRAY_NO_TASK);
    if (m->array_tasks && idset_parse(m->array_tasks, ARRAY_SIZE_MAX, &j->tasks, NULL) != 0)
        return err_set(err, -ERR_STORE_DAMAGED, "job %u: its record has no elements of its array",
                       j->id);
    if (m->array_tasks)
        j->task = ARRAY_NO_TASK;
    array_settle(j);
    return array_join(c, j, m->array_job_id, record->spec->array_inx, err);
}

static int restore_set(struct cluster *c, struct job *j, const Pb__JobLive *m, struct err *err)
{
    if (!m->has_set_id)
        return 0;
    int rc = job_set_join(c, j, m->set_id, OR(m, set_offset, 0), OR(m, set_count, 0), err);
    if (rc == 0 && m->set_job_ids)
        job_set_learn_ids(j, m->set_job_ids);
    return rc;
}

/* A pending job may run in all requested partitions that exist; other records name none. */
static void find_parts(struct cluster *c, struct job *j, const Pb__JobRecord *record)
{
    const char *asked = record->spec->partition, *has = record->live->partition;
    bool several = record->live->state == PB__JOB_STATE__PENDING && asked && strchr(asked, ',');
    j->limit_sec = cluster_bound_limit(OR(record->live, time_limit_sec, INT64_MAX));
    if (several && job_partitions_resolve(c, j, asked)) {
        _cleanup_str_ struct str now = STR_INIT;
        job_partitions_format(j, &now);
        /* Partitions were added or removed. */
        if (!str_eq(has, j->partitions ? str_cstr(&now) : j->part->conf.name))
            job_touch(c, j);
        return;
    }
    j->part = has ? cluster_find_part(c, has) : NULL;
    j->part_name = j->part ? NULL : mem_strdup(has);
}

int job_restore(struct cluster *c, struct job *j, const Pb__JobRecord *record, struct err *err)
{
    const Pb__JobLive *m = record->live;
    if ((unsigned)m->state > PB__JOB_STATE__OUT_OF_MEMORY)
        return err_set(err, -ERR_STORE_DAMAGED, "job %u: its record has the unknown state %d",
                       j->id, (int)m->state);
    int rc = restore_array(c, j, record, err);
    if (rc != 0)
        return rc;
    rc = restore_set(c, j, m, err);
    if (rc != 0)
        return rc;
    find_parts(c, j, record);
    j->uid = OR(record->spec, uid, 0);
    j->gid = OR(record->spec, gid, 0);
    j->requester_uid = OR(record, requester_uid, j->uid);
    j->payload_bytes = (uint32_t)OR(record, payload_bytes, 0);
    job_repack(&j->spec, &record->spec->base);
    keep_newer(j, record);
    rc = read_stored_spec(c, j, record->spec, err);
    restore_live(j, m);
    resource_restore(c, j, m);
    if (m->n_alloc && m->has_shares) {
        j->want.shared = m->shares;
        j->want.exclusive = OR(m, alone, false);
        j->want.user_alone = OR(m, user_alone, false);
        j->want.topo_alone = OR(m, topo_alone, false);
    }
    job_load_state(c, j, m->state);
    park_yield(c, j, OR(m, yielded, false) && !job_is_final(j));
    depend_place_name(c, j);
    restore_depend(c, j, record->spec, m);
    bool past = false;
    for (size_t i = 0; i < m->n_alloc; i++) {
        bool held = !m->alloc[i]->has_released || !m->alloc[i]->released;
        bool gone = alloc_retake(c, j, m->alloc[i]) != 0;
        j->lost_node = j->lost_node || (gone && held);
        bool host = m->batch_host ? str_eq(m->alloc[i]->node, m->batch_host) : i == 0;
        j->lost_host = j->lost_host || (gone && host);
        if (host && !gone && attempt_of(j)->alloc.len > 1)
            attempt_make(j)->host_at = (uint32_t)attempt_of(j)->alloc.len - 1;
        past = past || (gone && !held);
    }
    if (past && job_is_final(j))
        keep_past(j, m);
    /* A node that returns must not belong to the job again because of the record. */
    if (j->lost_node || resource_differs(c, j, m))
        job_touch(c, j);
    for (size_t i = 0; i < record->n_steps; i++)
        restore_step(c, j, record->steps[i]);
    job_pack_live(c, j);
    holdings_count(c, j);
    return rc;
}

#define SAYS(m, field) ((m)->has_##field && (m)->field)

static bool state_is_final(enum _Pb__JobState state)
{
    return state != PB__JOB_STATE__PENDING && state != PB__JOB_STATE__RUNNING &&
           state != PB__JOB_STATE__SUSPENDED;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_node_twice(const Pb__JobLive *m)
{
    if (m->n_alloc < 2)
        return false;
    _cleanup_free_ const char **names = mem_new_array(const char *, m->n_alloc);
    bool twice = false;
    for (size_t i = 0; i < m->n_alloc; i++)
        names[i] = m->alloc[i]->node;
    qsort(names, m->n_alloc, sizeof(names[0]), by_name);
    for (size_t i = 1; i < m->n_alloc; i++)
        twice |= strcmp(names[i - 1], names[i]) == 0;
    return twice;
}

/* Returns NULL if the record is consistent. */
static const char *find_contradiction(const Pb__JobLive *m)
{
    bool final = state_is_final(m->state);
    if (SAYS(m, completing) && !final)
        return "it is completing and has not ended";
    if (SAYS(m, configuring) && m->state != PB__JOB_STATE__RUNNING)
        return "it is configuring and does not run";
    for (size_t i = 0; i < m->n_alloc; i++)
        if (SAYS(m->alloc[i], parked) && m->state != PB__JOB_STATE__SUSPENDED && !final)
            return "it has given its cores away and is not suspended";
    if (m->array_tasks && m->n_alloc)
        return "it is several elements of an array and has nodes";
    if (m->has_array_job_id != (m->array_tasks || m->has_array_task_id))
        return "it is in an array, and no element of it";
    if (m->state == PB__JOB_STATE__PENDING && m->n_alloc)
        return "it is pending and has nodes";
    if (!final && m->state != PB__JOB_STATE__PENDING && !m->n_alloc)
        return "it runs and has no nodes";
    return has_node_twice(m) ? "it has a node twice" : NULL;
}

/* Finds fields that would be lost, because this version packs them anew. */
static const ProtobufCMessage *find_lost(const Pb__JobLive *m)
{
    for (size_t i = 0; i < m->n_alloc; i++)
        if (m->alloc[i]->base.n_unknown_fields)
            return &m->alloc[i]->base;
    return NULL;
}

int job_record_check(const Pb__JobRecord *record, uint64_t id, struct err *err)
{
    const Pb__JobLive *m = record->live;
    if (!record->spec || !m)
        return err_set(err, -ERR_STORE_DAMAGED, "job %llu: its record is not whole",
                       (unsigned long long)id);
    if (m->job_id != id)
        return err_set(err, -ERR_STORE_DAMAGED, "job %llu: its record is that of job %u",
                       (unsigned long long)id, m->job_id);
    if (!record->spec->has_uid || !record->spec->has_gid)
        return err_set(err, -ERR_STORE_DAMAGED, "job %u: its record does not say whose it is",
                       m->job_id);
    if ((unsigned)m->state > PB__JOB_STATE__OUT_OF_MEMORY)
        return err_set(err, -ERR_STORE_DAMAGED, "job %u: its record has the unknown state %d",
                       m->job_id, (int)m->state);
    const ProtobufCMessage *lost = find_lost(m);
    if (lost)
        return err_set(err, -ERR_VERSION,
                       "job %u: its record was written by a newer version, with a field %u of %s "
                       "that this one does not know and could not keep",
                       m->job_id, lost->unknown_fields[0].tag, lost->descriptor->short_name);
    const char *why = find_contradiction(m);
    return why ? err_set(err, -ERR_STORE_DAMAGED, "job %u: its record contradicts itself: %s",
                         m->job_id, why)
               : 0;
}
