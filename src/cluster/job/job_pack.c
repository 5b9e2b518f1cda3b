/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates the record of a job from its state. */
#include <string.h>

#include "base/pb.h"
#include "cluster/cluster.h"
#include "cluster/job/whole_cores.h"
#include "cluster/resource/spec.h"
#include "conf/conf_tres.h"

#define LIVE_USAGE 25 /* field numbers */
#define STEP_USAGE 26

static void pack_alloc(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                       struct arena *arena)
{
    m->alloc = arena_alloc(arena, sizeof(*m->alloc) * (attempt_of(j)->alloc.len + 1));
    uint64_t mem = 0;
    vec_foreach (&attempt_of(j)->alloc, a) {
        const struct node *n = c->nodes.data[a->node];
        Pb__NodeAlloc *p = arena_alloc(arena, sizeof(*p));
        pb__node_alloc__init(p);
        p->node = (char *)n->name;
        p->cpus = a->cpus;
        uint32_t usable = whole_cores_usable_cpus(&j->want, n, a->cpus);
        if (usable < a->cpus)
            SET(p, usable_cpus, usable);
        size_t bytes = (spec_place(n, a->busy->size - 1) + 8) / 8;
        uint8_t *bits = arena_alloc(arena, bytes + 1);
        bitset_foreach (a->busy, i) {
            size_t place = spec_place(n, (size_t)i);
            bits[place / 8] |= (uint8_t)(1u << (place % 8));
        }
        SET(p, cores, ((ProtobufCBinaryData){bytes, bits}));
        SET(p, cpus_per_core, n->cpus_per_unit);
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    SET(p, member, (uint64_t)a->amounts.member);
#include "cluster/resource/resource_kind.def"
        if (a->released)
            SET(p, released, true);
        if (a->parked)
            SET(p, parked, true);
        p->incarnation = a->incarnation;
        if (a->usage_seq)
            SET(p, usage_seq, a->usage_seq);
        p->n_gres = a->gres.len;
        p->gres = gres_held_pack(c, a->gres.data, a->gres.len, arena);
        m->alloc[m->n_alloc++] = p;
        mem += alloc_memory_mib(a);
    }
    if (mem)
        SET(m, mem_mib, mem);
}

/* A job's allocation keeps its sharing state whatever its partition says later. A pending job
 * shares as its partition says now. */
static void pack_sharing(const struct job *j, Pb__JobLive *m)
{
    bool holds = attempt_of(j)->alloc.len;
    if (j->want.shared || holds)
        SET(m, shares, j->want.shared);
    if (j->want.exclusive || holds)
        SET(m, alone, j->want.exclusive);
    if (j->want.user_alone)
        SET(m, user_alone, true);
    if (j->want.topo_alone)
        SET(m, topo_alone, true);
}

static uint32_t cap_count(uint64_t count)
{
    return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* The CPUs that --cpus-per-gpu adds for a total of GPUs. The CPUs of the tasks already include
 * those for GPUs per node or per task. */
static uint32_t count_cpus_of_gpus(const struct request *r)
{
    uint64_t gpus = r->cpus_per_gpu ? gres_wanted(&r->gres, "gpu", GRES_PER_JOB) : 0;
    return cap_count((uint64_t)cap_count(gpus) * r->cpus_per_gpu);
}

static uint64_t divide_up(uint64_t count, uint64_t by)
{
    return count / by + (count % by != 0);
}

/* The CPUs that the job requests, at least one on each node. */
static uint32_t count_wanted_cpus(const struct request *r)
{
    uint32_t nodes = r->min_nodes, tasks = r->overcommit ? nodes : r->tasks;
    uint32_t counted = cap_count((uint64_t)tasks * r->cpus_per_task);
    uint32_t by_gpus = count_cpus_of_gpus(r);
    uint32_t cpus = r->cpus ? r->cpus : counted;
    cpus = cpus < by_gpus ? by_gpus : cpus;
    return cpus < nodes ? nodes : cpus;
}

/* The fewest nodes of the partition that have the generic resources of a total or of tasks. */
static uint64_t count_nodes_of_gres(const struct cluster *c, const struct job *j)
{
    const struct request *r = &j->want;
    uint64_t nodes = 0;
    _cleanup_free_ uint32_t *count = pool_count_kinds(&c->pool, j->part->nodes);
    vec_foreach (&r->gres.list, w) {
        uint64_t most = 0;
        for (size_t k = 0; k < c->pool.kinds.len; k++) {
            uint64_t sum = 0;
            for (size_t i = 0; count[k] && i < c->pool.gres_kinds; i++)
                sum += w->mask >> i & 1 ? c->pool.kinds.data[k].gres_total[i] : 0;
            most = sum > most ? sum : most;
        }
        uint64_t tasks = w->per_task ? most / w->per_task : 0;
        uint64_t of_total = most ? divide_up(w->per_job, most) : 0;
        uint64_t of_tasks = tasks ? divide_up(r->tasks, tasks) : 0;
        nodes = of_total > nodes ? of_total : nodes;
        nodes = of_tasks > nodes ? of_tasks : nodes;
    }
    return nodes;
}

/* Packs the size of a pending job: it needs at least as many nodes as its CPUs, and its generic
 * resources, fill. */
static void pack_wanted_size(const struct cluster *c, const struct job *j, Pb__JobLive *m)
{
    uint32_t nodes = j->want.min_nodes, cpus = count_wanted_cpus(&j->want);
    uint32_t most = j->part ? part_most_cpus(c, j->part) : 0;
    uint32_t filled = most ? (uint32_t)divide_up(cpus, most) : 0;
    uint32_t by_gres = j->part && j->want.gres.list.len ? cap_count(count_nodes_of_gres(c, j)) : 0;
    filled = filled < by_gres ? by_gres : filled;
    if (j->want.max_nodes && filled > j->want.max_nodes)
        filled = j->want.max_nodes;
    SET(m, num_nodes, filled > nodes ? filled : nodes);
    SET(m, num_cpus, cpus);
}

/* If the job specifies no number of tasks, it follows from its nodes: a job with -N1-4 that has
 * four nodes has four tasks. */
static uint32_t count_tasks(const struct job *j)
{
    uint64_t per_node = j->want.ntasks_per_node ? j->want.ntasks_per_node : 1;
    uint64_t tasks = j->want.tasks_given ? 0 : attempt_of(j)->alloc.len * per_node;
    return tasks < j->want.tasks ? j->want.tasks : cap_count(tasks);
}

static void pack_where(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                       struct arena *arena)
{
    if (j->past) {
        m->nodes = j->past->nodes;
        m->batch_host = j->past->batch_host;
        SET(m, num_nodes, j->past->num_nodes);
        SET(m, num_cpus, j->past->num_cpus);
        pack_alloc(c, j, m, arena);
    } else if (attempt_of(j)->alloc.len) {
        struct str nodes = STR_INIT;
        job_format_nodes(c, j, &nodes);
        m->nodes = arena_strdup(arena, str_cstr(&nodes));
        str_done(&nodes);
        m->batch_host = (char *)c->nodes.data[job_host(j)->node]->name;
        SET(m, num_nodes, (uint32_t)attempt_of(j)->alloc.len);
        SET(m, num_cpus, job_alloc_cpus(j));
        pack_alloc(c, j, m, arena);
    } else {
        pack_wanted_size(c, j, m);
    }
    if (count_wanted_cpus(&j->want) != m->num_cpus)
        SET(m, wanted_cpus, count_wanted_cpus(&j->want));
    SET(m, num_tasks, count_tasks(j));
}

/* Packs the elements for which items have failed, and the start times of delays. */
static void pack_items(const struct depend *d, Pb__JobLive *m, struct arena *arena)
{
    bool failed = false;
    m->depend_from_at = arena_alloc(arena, sizeof(*m->depend_from_at) * (d->items.len + 1));
    vec_foreach (&d->items, item) {
        size_t i = (size_t)(item - d->items.data);
        m->depend_from_at[i] = item->from_at;
        m->n_depend_from_at = item->from_at ? d->items.len : m->n_depend_from_at;
        failed = failed || (item->sets && item->sets->bad.count);
    }
    if (!failed)
        return;
    m->depend_failed = arena_alloc(arena, sizeof(*m->depend_failed) * d->items.len);
    vec_foreach (&d->items, item) {
        _cleanup_str_ struct str text = STR_INIT;
        if (item->sets)
            idset_format(&item->sets->bad, &text);
        m->depend_failed[m->n_depend_failed++] = arena_strdup(arena, str_cstr(&text));
    }
}

static void pack_depend(const struct job *j, Pb__JobLive *m, struct arena *arena)
{
    _cleanup_str_ struct str states = STR_INIT;
    m->dependency = j->waits.shown;
    m->depend_states = j->waits.kept;
    if (!j->waits.on)
        return;
    depend_pack(j->waits.on, &states);
    m->depend_states = arena_strdup(arena, str_cstr(&states));
    pack_items(j->waits.on, m, arena);
}

static void pack_attempt(const struct attempt *r, Pb__JobLive *m)
{
#define STORE(member, field)                                                                       \
    if (r->member)                                                                                 \
        SET(m, field, r->member);
#define FLAG STORE
#define NUMBER STORE
#define TIME STORE
#define CLOCK STORE
#include "cluster/job/attempt_stored.def"
#undef STORE
    if (r->halts) {
        SET(m, halts, r->halts);
        SET(m, suspended_at, r->suspended_at);
        SET(m, ran_ms, r->ran_ms);
    }
    if (r->readying)
        SET(m, readying, true);
    if (r->boot && (r->start_mono_ms || r->end_mono_ms))
        SET(m, boot, r->boot);
}

static void pack_times(const struct job *j, Pb__JobLive *m)
{
    SET(m, submit_at, j->submit_at);
    SET(m, eligible_at, j->eligible_at);
    int64_t expected = j->expected_at ? j->expected_at : j->begin_at;
    int64_t start = j->state == PB__JOB_STATE__PENDING ? expected : attempt_of(j)->start_at;
    if (start)
        SET(m, start_at, start);
    if (attempt_of(j)->end_at)
        SET(m, end_at, attempt_of(j)->end_at);
    else if (j->state == PB__JOB_STATE__RUNNING && j->limit_sec != INT64_MAX)
        SET(m, end_at, attempt_of(j)->start_at + j->limit_sec + attempt_of(j)->suspended_sec);
    if (j->yielded)
        SET(m, yielded, true);
    pack_attempt(attempt_of(j), m);
    if (j->sched_at)
        SET(m, last_sched_at, j->sched_at);
    SET(m, time_limit_sec, j->limit_sec);
}

static void pack_array(const struct job *j, Pb__JobLive *m, struct str *tasks)
{
    const struct job *of = job_set_component(j, 0); /* a component is in the array of its leader */
    if (!of || !of->array)
        return;
    j = of;
    SET(m, array_job_id, j->array->id);
    if (j->array->throttle)
        SET(m, array_throttle, j->array->throttle);
    idset_format(&j->tasks, tasks);
    if (j->tasks.count)
        m->array_tasks = (char *)str_cstr(tasks);
    else
        SET(m, array_task_id, j->task);
}

/* Packs what the billing of the job follows from. */
static void pack_billing(const struct cluster *c, const struct job *j, Pb__JobLive *m)
{
    const char *weights = j->part ? j->part->conf.tres_billing_weights : NULL;
    if (!weights || !*weights)
        return;
    m->billing_weights = (char *)weights;
    if (conf_billing_rule(c->conf) != CONF_BILLING_SUM)
        SET(m, billing_rule, conf_billing_rule(c->conf));
}

static void pack_parts(const struct job *j, Pb__JobLive *m, struct arena *arena)
{
    const struct job_partitions *s = j->partitions;
    m->partition = j->part ? (char *)j->part->conf.name : j->part_name;
    if (!s)
        return;
    struct str names = STR_INIT;
    job_partitions_format(j, &names);
    m->partition = arena_strdup(arena, str_cstr(&names));
    str_done(&names);
    m->part_priority = arena_alloc(arena, s->count * sizeof(*m->part_priority));
    m->n_part_priority = s->count;
    for (uint32_t i = 0; i < s->count; i++)
        m->part_priority[i] = i == s->at ? j->priority : s->of[i].priority;
}

/* Adds the parts that exist only in packed form. */
static void add_as_packed(struct job *j)
{
    struct str more = STR_INIT;
    if (attempt_of(j)->usage)
        pb_pack_field(LIVE_USAGE, attempt_of(j)->usage->data, attempt_of(j)->usage->len, &more);
    if (j->newer)
        str_append(&more, j->newer->live.data, j->newer->live.len);
    if (!more.len)
        return;
    j->live.data = mem_realloc(j->live.data, j->live.len + more.len);
    memcpy(j->live.data + j->live.len, more.data, more.len);
    j->live.len += (uint32_t)more.len;
    str_done(&more);
}

static void pack_late_ports(const struct job *j, Pb__JobLive *m, struct arena *arena)
{
    if (!attempt_of(j)->late_ports.len)
        return;
    m->late_ports = arena_alloc(arena, sizeof(*m->late_ports) * j->attempt->late_ports.len);
    vec_foreach (&j->attempt->late_ports, p)
        m->late_ports[m->n_late_ports++] = *p;
}

/* For a running component: returns the node of its leader's batch script; NULL: the leader has
 * none. */
static char *find_script_host(const struct cluster *c, const struct job *j)
{
    const struct job *leader = j->set_offset ? job_set_component(j, 0) : NULL;
    if (!leader || !leader->batch)
        return NULL;
    if (leader->past)
        return leader->past->batch_host;
    return attempt_of(leader)->alloc.len ? (char *)c->nodes.data[job_host(leader)->node]->name
                                         : NULL;
}

static void pack_set(const struct cluster *c, const struct job *j, Pb__JobLive *m,
                     struct arena *arena)
{
    _cleanup_str_ struct str ids = STR_INIT;
    if (!j->set)
        return;
    job_set_format_ids(j, &ids);
    m->set_job_ids = arena_strdup(arena, str_cstr(&ids));
    SET(m, set_id, j->set->leader_id);
    SET(m, set_offset, j->set_offset);
    SET(m, set_count, j->set->count);
    if (j->set_offset && job_set_component(j, 0) && job_set_component(j, 0)->batch)
        SET(m, script_of_leader, true);
    m->script_host = find_script_host(c, j);
}

void job_pack_live(const struct cluster *c, struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobLive m = PB__JOB_LIVE__INIT;
    m.job_id = j->id;
    m.state = j->state;
    if (attempt_of(j)->completing)
        SET(&m, completing, true);
    if (j->auto_requeues)
        SET(&m, auto_requeues, j->auto_requeues);
    if (j->restarts)
        SET(&m, restarts, j->restarts);
    m.reason = (char *)job_reason_word(j);
    m.reason_detail = j->reason_detail;
    SET(&m, priority, j->held || j->admin_hold ? 0 : j->priority);
    if (j->held)
        SET(&m, user_hold, true);
    if (j->admin_hold)
        SET(&m, admin_hold, true);
    if (j->rank.given)
        SET(&m, priority_given, true);
    if (j->rank.accrue_at)
        SET(&m, accrue_at, j->rank.accrue_at);
    if (j->rank.accrued_sec)
        SET(&m, accrued_sec, j->rank.accrued_sec);
    pack_parts(j, &m, &arena);
    pack_billing(c, j, &m);
    m.reservation = attempt_of(j)->resv_name;
    m.held_up = attempt_of(j)->held_up;
    if (j->resv_gone)
        SET(&m, resv_gone, true);
    if (j->is_unfit)
        SET(&m, is_unfit, true);
    pack_times(j, &m);
    pack_where(c, j, &m, &arena);
    pack_sharing(j, &m);
    pack_depend(j, &m, &arena);
    SET(&m, exit_status, attempt_of(j)->exit_status);
    SET(&m, derived_status, attempt_of(j)->derived_status);
    SET(&m, next_step, attempt_of(j)->next_step);
    if (j->special_exit)
        SET(&m, special_exit, true);
    resource_pack(c, j, &m, &arena);
    pack_late_ports(j, &m, &arena);
    m.burst = burst_pack(j->burst, &arena);
    pack_set(c, j, &m, &arena);
    struct str tasks = STR_INIT;
    pack_array(j, &m, &tasks);
    j->shown_sched_at = j->sched_at;
    job_repack(&j->live, &m.base);
    str_done(&tasks);
    add_as_packed(j);
}

static void pack_so_far(const struct step *s, struct str *out)
{
    Pb__StepSoFar m = PB__STEP_SO_FAR__INIT;
    _cleanup_free_ uint8_t *ended = NULL;
    if (s->exit_status)
        SET(&m, exit_status, s->exit_status);
    if (s->ending)
        SET(&m, ending, true);
    vec_foreach (&s->nodes, n) {
        size_t bytes = vec_last(&s->nodes).place / 8 + 1; /* ordered by place */
        if (!n->ended)
            continue;
        ended = ended ? ended : mem_new_array(uint8_t, bytes);
        ended[n->place / 8] |= (uint8_t)(1u << (n->place % 8));
        SET(&m, ended_on, ((ProtobufCBinaryData){bytes, ended}));
    }
    pb_pack(&m.base, out);
}

void job_pack_step(const struct step *s, struct str *out)
{
    str_append(out, s->record.data, s->record.len);
    pack_so_far(s, out);
    if (s->usage.len)
        pb_pack_field(STEP_USAGE, s->usage.data, s->usage.len, out);
}

void job_name_step(const struct job *j, Pb__StepRecord *r)
{
    const struct job *element = job_set_component(j, 0);
    r->job_id = j->id;
    SET(r, submit_at, j->submit_at);
    if (j->set) {
        SET(r, set_id, job_set_id(j));
        SET(r, set_offset, j->set_offset);
    }
    if (element && element->array && !element->tasks.count) {
        SET(r, array_job_id, element->array->id);
        SET(r, array_task_id, element->task);
    }
}

/* Packs the fields that are not displayed. */
static void pack_submission(const struct job *j, struct str *out)
{
    Pb__JobRecord m = PB__JOB_RECORD__INIT;

    if (j->payload_bytes)
        SET(&m, payload_bytes, j->payload_bytes);
    if (j->requester_uid != j->uid)
        SET(&m, requester_uid, j->requester_uid);
    pb_pack(&m.base, out);
}

void job_pack_record(const struct job *j, struct str *out)
{
    pb_pack_field(1, j->spec.data, j->spec.len, out);
    pb_pack_field(2, j->live.data, j->live.len, out);
    pack_submission(j, out);
    vec_foreach (&attempt_of(j)->steps, s) {
        _cleanup_str_ struct str step = STR_INIT;

        job_pack_step(s, &step);
        pb_pack_field(3, step.data, step.len, out);
    }
    if (j->newer)
        str_append(out, j->newer->record.data, j->newer->record.len);
}
