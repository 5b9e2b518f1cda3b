/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of steps: creation, replies, end. */
#include <assert.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "base/status.h"
#include "base/step_id.h"
#include "cluster/job/job_set.h"
#include "conf/conf_freq.h"
#include "control/core/facts.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/step/step.h"
#include "control/step/step_layout.h"
#include "control/step/step_parts.h"

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

/* Maximum bytes of the records of a job's steps (some thousands). */
#define STEPS_BYTES (2u << 20)
#define STEPS_BYTES_NODE (16u << 10) /* plus this number for each of its nodes */

struct step *step_find(struct job *j, uint32_t id)
{
    vec_foreach (&attempt_of(j)->steps, s)
        if (s->id == id)
            return s;
    return NULL;
}

/* Whether a message belongs to a finished attempt: its sender is on a lost node that does not know
 * this yet. */
bool step_is_stale(const struct job *j, bool says, uint32_t restarts)
{
    return says && restarts != j->restarts;
}

/* Takes the requested GRES, or all that the job has on the node. */
static void build_gres(struct control *c, struct step_layout *l, struct alloc_node *a,
                       struct step_node *n, Pb__StepNode *m, struct arena *arena)
{
    step_gres_take(c, &l->gres, a, n, l->overlap);
    const struct gres_held *held = l->gres.own ? n->gres.data : a->gres.data;
    m->n_gres = l->gres.none ? 0 : l->gres.own ? n->gres.len : a->gres.len;
    m->gres = gres_held_pack(c->cluster, held, m->n_gres, arena);
}

/* The share of the step on one node of its job, which parts of the step have in common. */
struct node_share {
    uint32_t tasks, cpus;
    uint64_t mem_mib; /* 0: no memory of its own */
};

/* Sums over this part, the first one on the node, and later parts. */
static struct node_share add_up_node(const struct step_parts *parts, size_t part, uint32_t at,
                                     const struct node *n, const struct alloc_node *a)
{
    const struct step_layout *first = &parts->list[part].layout;
    struct node_share sum = {.mem_mib = step_layout_granted_memory(first, a, first->tasks[at])};
    uint64_t cpus = 0, needs = step_layout_memory(first, a, first->tasks[at]);
    for (size_t i = part; i < parts->count; i++) {
        const struct step_layout *l = &parts->list[i].layout;
        if (l->j != first->j || !l->tasks[at])
            continue;
        uint64_t need = step_layout_memory(l, a, l->tasks[at]);
        if (i > part)
            sum.mem_mib = needs = needs && need ? needs + need : 0;
        sum.tasks += l->tasks[at];
        cpus += step_layout_cpus(l, n, a, l->tasks[at]);
    }
    sum.cpus = cpus < a->cpus ? (uint32_t)cpus : a->cpus;
    return sum;
}

/* Returns the node of the record that an earlier part has created; NULL: none. */
static Pb__StepNode *find_shared(const struct step *s, Pb__StepNode **nodes, uint32_t at)
{
    vec_foreach (&s->nodes, n)
        if (n->at == at)
            return nodes[n->place];
    return NULL;
}

static Pb__StepNode *build_node(struct control *c, const struct step_parts *parts, size_t part,
                                uint32_t i, struct step *s, size_t place, struct arena *arena)
{
    struct step_layout *l = &parts->list[part].layout;
    struct alloc_node *a = &attempt_of(l->j)->alloc.data[i];
    const struct node *n = c->cluster->nodes.data[a->node];
    const struct node_share share = add_up_node(parts, part, i, n, a);
    Pb__StepNode *m = arena_alloc(arena, sizeof(*m));
    facts_put_node(n, m);
    m->task_ids = arena_alloc(arena, sizeof(uint32_t) * share.tasks);
    m->cpus = share.cpus;
    SET(m, mem_mib, share.mem_mib ? share.mem_mib : alloc_memory_mib(a));
    if (a->incarnation)
        SET(m, incarnation, str_hash(a->incarnation));
    vec_push(&s->nodes, ((struct step_node){.at = i,
                                            .place = (uint32_t)place,
                                            .cpus = m->cpus,
                                            .tasks = share.tasks,
                                            .mem_mib = share.mem_mib}));
    step_cpus_take(n, a, &vec_last(&s->nodes), l->overlap || l->overcommit, step_layout_way(l, n));
    SET(m, cpu_set, step_cpus_pack(vec_last(&s->nodes).own, arena));
    build_gres(c, l, a, &vec_last(&s->nodes), m, arena);
    a->step_mem_mib += l->overlap ? 0 : share.mem_mib;
    a->step_cpus += l->overlap || l->overcommit ? 0 : m->cpus;
    a->touched = true;
    if (part)
        SET(m, part, (uint32_t)part);
    return m;
}

/* Adds the nodes of a part to the step's nodes in its job; returns their number. A node of an
 * earlier part gets the tasks of this part, too. */
static size_t build_nodes(struct control *c, const struct step_parts *parts, size_t part,
                          struct step *s, Pb__StepNode **nodes, size_t count, struct arena *arena)
{
    struct step_layout *l = &parts->list[part].layout;
    size_t room = attempt_of(l->j)->alloc.len + 1, mine = 0;
    uint32_t *at = arena_alloc(arena, sizeof(*at) * room);
    Pb__StepNode **numbered = arena_alloc(arena, sizeof(*numbered) * room);
    Pb__StepNode **targets = arena_alloc(arena, sizeof(*targets) * room);
    for (uint32_t i = 0; i < attempt_of(l->j)->alloc.len; i++) {
        if (!l->tasks[i])
            continue;
        Pb__StepNode *shared = find_shared(s, nodes, i);
        if (!shared) {
            shared = build_node(c, parts, part, i, s, count, arena);
            nodes[count++] = shared;
        }
        Pb__StepNode *own = arena_alloc(arena, sizeof(*own));
        pb__step_node__init(own);
        own->task_ids = arena_alloc(arena, sizeof(uint32_t) * l->tasks[i]);
        targets[mine] = shared;
        at[mine] = i;
        numbered[mine++] = own;
    }
    step_layout_number(l, parts->list[part].first_task, numbered, at, mine);
    for (size_t k = 0; k < mine; k++)
        for (size_t t = 0; t < numbered[k]->n_task_ids; t++)
            targets[k]->task_ids[targets[k]->n_task_ids++] = numbered[k]->task_ids[t];
    return count;
}

/* For a step with several parts: the jobs of the parts. */
static void build_parts(const struct step_parts *parts, Pb__StepRecord *r, struct arena *arena)
{
    if (parts->count == 1)
        return;
    r->part_offsets = arena_alloc(arena, parts->count * sizeof(uint32_t));
    r->part_tasks = arena_alloc(arena, parts->count * sizeof(uint32_t));
    r->part_cpus_per_task = arena_alloc(arena, parts->count * sizeof(uint32_t));
    r->n_part_offsets = r->n_part_tasks = r->n_part_cpus_per_task = parts->count;
    for (size_t i = 0; i < parts->count; i++) {
        r->part_offsets[i] = parts->list[i].job->set_offset;
        r->part_tasks[i] = parts->list[i].layout.num_tasks;
        r->part_cpus_per_task[i] = parts->list[i].layout.cpus_per_task;
    }
}

/* A step without a GRES request has the GRES of its job, and is displayed with the job's request; a
 * step that requests none is displayed without GRES. */
static void name_gres(const struct step_layout *l, Pb__StepRecord *r, struct arena *arena)
{
    if (l->gres.none || (!l->gres.own && !l->j->want.gres.list.len))
        return;
    if (l->gres.own) {
        r->gres = l->spec->gres;
        r->tres_per_step = l->spec->tres_per_step;
        r->tres_per_task = l->spec->tres_per_task;
        return;
    }
    const Pb__JobSpec *job = job_unpack_spec(l->j, arena);
    r->gres = job->gres;
    r->tres_per_step = job->tres_per_job;
    r->tres_per_task = job->tres_per_task;
}

/* Builds the step's record in the job of part 'first', the first one in this job. */
static void build_record(struct control *c, const struct step_parts *parts, size_t first,
                         struct step *s)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__StepRecord r = PB__STEP_RECORD__INIT;
    struct str names = STR_INIT;
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    const struct step_layout *l = &parts->list[first].layout;
    r.job_id = l->j->id;
    r.step_id = s->id;
    r.name = l->spec->name;
    SET(&r, state, PB__STEP_STATE__STEP_RUNNING);
    SET(&r, start_at, control_wall(c));
    r.has_num_tasks = true;
    SET(&r, uid, l->j->uid);
    r.host = l->spec->host;
    r.has_srun_pid = l->spec->has_srun_pid;
    r.srun_pid = l->spec->srun_pid;
    r.distribution = l->spec->distribution;
    r.submit_line = l->spec->submit_line;
    r.partition = l->j->part ? (char *)l->j->part->conf.name : NULL;
    SET(&r, cpus_per_task, l->cpus_per_task);
    SET(&r, overlap, l->overlap || l->overcommit);
    if (l->gres.own)
        SET(&r, own_gres, true);
    if (OR(l->spec, exact, 0))
        SET(&r, exact, true);
    r.network = l->spec->network;
    r.cpu_freq = l->spec->cpu_freq;
    r.std_in = l->spec->std_in;
    r.std_out = l->spec->std_out;
    r.std_err = l->spec->std_err;
    r.tres_bind = l->spec->tres_bind;
    if (l->spec->cpus_per_gpu)
        SET(&r, cpus_per_gpu, l->spec->cpus_per_gpu);
    name_gres(l, &r, &arena);
    /* If node daemons end steps for memory, they end the whole step. */
    SET(&r, oom_kill_step, OR(l->spec, oom_kill_step, c->conf->over_memory_kill));
    s->spares_others = !r.oom_kill_step;
    s->srun_in_script = l->spec->has_srun_in_step && l->spec->srun_in_step == STEP_ID_BATCH;
    s->srun_in_step = l->spec->has_srun_in_step && !s->srun_in_script;
    r.has_srun_in_step = l->spec->has_srun_in_step;
    r.srun_in_step = l->spec->srun_in_step;
    r.resv_ports = l->ports;
    r.n_resv_ports = l->port_count;
    build_parts(parts, &r, &arena);
    SET(&r, own_memory, l->spec->has_mem_per_node_mib || l->spec->has_mem_per_cpu_mib);
    SET(&r, time_limit_sec, OR(l->spec, time_limit_sec, INT64_MAX));
    SET(&r, begun_run_ms, control_mono(c) - attempt_of(l->j)->start_mono_ms);
    r.has_spawned_by = l->spec->has_spawned_by;
    r.spawned_by = l->spec->spawned_by;
    r.has_request_id = l->spec->request_id.len == sizeof s->request_id;
    r.request_id = l->spec->request_id;
    r.layout = arena_alloc(&arena, sizeof(*r.layout) * (attempt_of(l->j)->alloc.len + 1));
    for (size_t i = first; i < parts->count; i++)
        if (parts->list[i].job == l->j) {
            r.n_layout = build_nodes(c, parts, i, s, r.layout, r.n_layout, &arena);
            r.num_tasks += parts->list[i].layout.num_tasks;
            step_ports_take(&parts->list[i].layout, s);
        }
    for (size_t i = 0; i < r.n_layout; i++) {
        hostlist_push(list, r.layout[i]->node);
        r.num_cpus += r.layout[i]->cpus;
    }
    hostlist_format(list, &names);
    r.nodes = (char *)str_cstr(&names);
    r.has_num_cpus = true;
    SET(&r, num_nodes, (uint32_t)r.n_layout);
    pb_pack(&r.base, &s->record);
    str_done(&names);
}

/* A job's record is written with all of its steps whenever a step is created or ends: further steps
 * wait before this affects other users. */
static bool has_too_many(const struct job *j)
{
    size_t sum = 0;
    vec_foreach (&attempt_of(j)->steps, s)
        sum += s->record.len;
    return sum >= STEPS_BYTES + attempt_of(j)->alloc.len * STEPS_BYTES_NODE;
}

/* The shell of salloc has an id of its own, so that steps created in it count from 0; a job that
 * ends with its step 0 has no such shell. Ids are never reused: nodes identify steps by id. The
 * steps of a job set are counted together, so that an id means the same step in all components. */
static uint32_t next_number(struct job *j, const Pb__StepSpec *spec)
{
    uint32_t number = attempt_of(j)->next_step;
    if (OR(spec, interactive, false) && !attempt_of(j)->had_shell && !j->alloc_step) {
        attempt_make(j)->had_shell = true;
        return STEP_ID_INTERACTIVE;
    }
    for (uint32_t i = 0; j->set && i < job_set_count(j); i++) {
        const struct job *other = job_set_component(j, i);
        if (other && attempt_of(other)->next_step > number)
            number = attempt_of(other)->next_step;
    }
    return number;
}

static bool is_first_in_job(const struct step_parts *parts, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (parts->list[k].job == parts->list[i].job)
            return false;
    return true;
}

static int check_limits(const struct control *c, const struct job *j, struct err *err)
{
    if (c->conf->max_step_count && attempt_of(j)->next_step >= c->conf->max_step_count)
        return err_set(err, -ERR_STEP_LIMIT, "%s: the job has started %u steps (MaxStepCount)",
                       err_text(ERR_STEP_LIMIT), attempt_of(j)->next_step);
    if (has_too_many(j))
        return control_set_error(err, ERR_NODES_BUSY, "the job has too many steps at a time");
    return 0;
}

/* Adds the step's parts in one job. */
static void add_step(struct control *c, const struct step_parts *parts, size_t first,
                     uint32_t number, const Pb__StepSpec *spec)
{
    struct job *j = parts->list[first].job;
    const struct step_layout *l = &parts->list[first].layout;
    struct step s = {.id = number, .overlap = l->overlap || l->overcommit};
    if (spec->request_id.len == sizeof s.request_id)
        memcpy(s.request_id, spec->request_id.data, sizeof s.request_id);
    build_record(c, parts, first, &s);
    step_limit_restore(j, &s);
    if (number != STEP_ID_INTERACTIVE)
        attempt_make(j)->next_step = number + 1;
    vec_push(&attempt_make(j)->steps, s);
    step_watch(c, j, &vec_last(&attempt_of(j)->steps));
    control_debug(c, steps, "step %u.%u is created", j->id, number);
    job_touch(c->cluster, j);
}

int step_check_freq(const struct control *c, const char *text, struct err *err)
{
    struct conf_freq f;
    int rc = text ? conf_freq_parse(text, &f, err) : 0;
    if (rc)
        return err_prefix(err, "Invalid --cpu-freq specification");
    rc = text ? conf_freq_allowed(&f, c->conf->cpu_freq_governors, err) : 0;
    if (rc || !text || conf_freq_complete(&f, c->conf->cpu_freq_def))
        return rc;
    return err_set(
        err, -ERR_PARSE,
        "Invalid --cpu-freq specification: the range %s has no governor, and CpuFreqDef in "
        "slurm.conf names none for it: add one, as in %s:OnDemand",
        text, text);
}

int step_make(struct control *c, struct job *j, const Pb__StepSpec *spec, struct step **out,
              struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct step_parts parts = {0};
    int rc = step_check_freq(c, spec->cpu_freq, err);
    for (size_t i = 0; rc == 0 && i < spec->n_parts; i++)
        rc = step_check_freq(c, spec->parts[i]->cpu_freq, err);
    rc = rc ? rc : step_parts_find(c, j, spec, &arena, &parts, err);
    for (size_t i = 0; rc == 0 && i < parts.count; i++)
        rc = check_limits(c, parts.list[i].job, err);
    if (rc == 0) {
        struct job *home = parts.list[0].job;
        uint32_t number = next_number(home, spec);
        for (size_t i = 0; i < parts.count; i++)
            if (is_first_in_job(&parts, i))
                add_step(c, &parts, i, number, spec);
        *out = &vec_last(&attempt_of(home)->steps);
    }
    step_parts_done(&parts);
    return rc;
}

/* Returns the default binding of tasks: CpuBind of the job's nodes if all have the same, otherwise
 * of its partition. */
const char *step_cpu_bind(const struct control *c, const struct job *j)
{
    const char *common = NULL;
    vec_foreach (&attempt_of(j)->alloc, a) {
        const char *word = node_cpu_bind(c->cluster->nodes.data[a->node]);
        if (a != attempt_of(j)->alloc.data && !str_case_eq(word, common))
            return j->part ? j->part->conf.cpu_bind : NULL;
        common = word;
    }
    return common || !j->part ? common : j->part->conf.cpu_bind;
}

Pb__StepReply *step_reply(struct control *c, struct job *j, const struct step *s,
                          struct arena *arena)
{
    Pb__CredPart **creds;
    Pb__StepReply *r = arena_alloc(arena, sizeof(*r));
    struct str cred = STR_INIT, names = STR_INIT;
    uint8_t *sig = arena_alloc(arena, 64);
    pb__step_reply__init(r);
    const Pb__StepRecord *record = step_parts_join(c, j, s, &creds, &r->parts, arena);
    r->job_id = job_set_id(j);
    r->step_id = s->id;
    r->layout = record->layout;
    r->n_layout = record->n_layout;
    r->n_parts = record->n_part_offsets;
    facts_make_cred_of_parts(c, j, record, creds, r->n_parts, &cred, sig);
    uint8_t *copy = arena_alloc(arena, cred.len);
    memcpy(copy, cred.data, cred.len);
    SET(r, cred, ((ProtobufCBinaryData){cred.len, copy}));
    SET(r, signature, ((ProtobufCBinaryData){64, sig}));
    SET(r, num_tasks, record->num_tasks);
    SET(r, cpus_per_task, record->cpus_per_task);
    SET(r, restarts, j->restarts);
    SET(r, submit_at, j->submit_at);
    r->cpu_bind = (char *)step_cpu_bind(c, j);
    job_format_nodes(c->cluster, j, &names);
    r->job_nodes = arena_strdup(arena, str_cstr(&names));
    str_done(&cred);
    str_done(&names);
    return r;
}

static void reply_with_step(struct control *c, struct job *j, const struct step *s, uint64_t call)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    control_release(c, call);
    c->env->reply(c->env->ctx, call, &step_reply(c, j, s, &arena)->base);
}

static const struct step *find_repeated(const struct job *j, const Pb__StepSpec *spec)
{
    vec_foreach (&attempt_of(j)->steps, s) {
        if (spec->request_id.len == sizeof s->request_id &&
            memcmp(s->request_id, spec->request_id.data, sizeof s->request_id) == 0)
            return s;
    }
    return NULL;
}

bool step_is_awaited(const struct job *j)
{
    bool runs = j->state == PB__JOB_STATE__RUNNING || j->state == PB__JOB_STATE__SUSPENDED;
    return runs && attempt_of(j)->interactive_step && attempt_of(j)->next_step == 0;
}

/* 'j' is the job of the step's first part. */
static void create_step(struct control *c, struct job *j, uint64_t call, const Pb__StepSpec *spec)
{
    struct err err = {0};
    struct step *s = NULL;
    const struct step *known = find_repeated(j, spec);
    struct job *leader = job_set_component(j, 0); /* its command waits */
    if (leader)
        leader->gone_mono_ms = 0;
    if (known) {
        reply_with_step(c, j, known, call);
        return;
    }
    int rc = step_make(c, j, spec, &s, &err);
    if (rc == 0) {
        reply_with_step(c, j, s, call);
    } else if ((rc == -ERR_NODES_BUSY || rc == -ERR_JOB_SUSPENDED) && !OR(spec, immediate, 0)) {
        if (step_waiting_add(c, j, call, spec, &err)) {
            control_refuse(c, call, &err);
            return;
        }
        control_hold(c, call, j);
        if (step_ports_wanted(spec))
            step_ports_await(c, j);
    } else {
        control_refuse(c, call, &err);
    }
}

static void create_in_set(struct control *c, struct job *j, uint64_t call, const Pb__StepSpec *r)
{
    struct job *home = step_parts_job(j, r, 0);
    struct err err = {0};
    if (home) {
        create_step(c, home, call, r);
        return;
    }
    step_parts_refuse(j, r, 0, &err);
    control_refuse(c, call, &err);
}

int step_check_launcher(const Pb__StepSpec *spec, uint32_t uid, struct err *err)
{
    if (!spec->has_srun_uid || spec->srun_uid == uid || spec->srun_uid == 0)
        return 0;
    return err_set(err, -ERR_ACCESS,
                   "%s: srun of user %u cannot start tasks of user %u, whom SLURM_JWT names: use "
                   "sbatch, run srun as that user, or unset SLURM_JWT",
                   err_text(ERR_ACCESS), spec->srun_uid, uid);
}

/* The owner of a job set reads that the record of its leader is lost. */
static void refuse_unknown(const struct control *c, const struct caller *who, const Pb__StepSpec *r,
                           struct err *err)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    id.job_id = r->has_job_id ? r->job_id : 0;
    struct job *other = named_lost_leader(c, &id) ? named_any(c, &id) : NULL;
    if (other && control_owns(who, other))
        named_job(c, &id, &other, err);
    else
        control_set_error(err, ERR_NO_JOB, NULL);
    assert(err->code < 0);
}

void control_step_create(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__StepSpec *r)
{
    struct job *j = r->has_job_id ? cluster_find_job(c->cluster, r->job_id) : NULL;
    struct err err = {0};
    if (!j) {
        refuse_unknown(c, who, r, &err);
        control_refuse(c, call, &err);
        return;
    }
    if (who->uid != j->uid && !who->is_admin)
        control_refuse_code(c, call, control_denial(c, who, j), NULL);
    else if (step_check_launcher(r, j->uid, &err) < 0)
        control_refuse(c, call, &err);
    else if (step_is_stale(j, r->has_restarts, r->restarts) || job_is_final(j))
        control_refuse_code(c, call, ERR_JOB_DONE, NULL);
    else if (j->state == PB__JOB_STATE__PENDING)
        control_refuse_code(c, call, ERR_JOB_PENDING, NULL);
    else
        create_in_set(c, j, call, r);
}

static void retry_waiting(struct control *c, struct job *j)
{
    if (attempt_of(j)->shrinking)
        return;
    for (size_t waiting = attempt_of(j)->waiting_steps.len; waiting-- > 0 && !job_is_final(j);) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        struct waiting_step w = step_waiting_take(c, j, 0);
        const Pb__StepSpec *spec =
            arena_unpack(&arena, &pb__step_spec__descriptor, w.spec.data, w.spec.len);
        create_step(c, j, w.call, spec);
        str_done(&w.spec);
    }
}

/* A step with several parts may wait for resources in any component of its set. */
void step_retry_waiting(struct control *c, struct job *j)
{
    uint32_t set_id = job_set_id(j);
    if (!j->set) {
        retry_waiting(c, j);
        return;
    }
    for (uint32_t i = 0; i < JOB_SET_MAX; i++) {
        /* A step may end the whole set. */
        const struct job_set *set = job_set_find(c->cluster, set_id);
        if (!set || i >= set->count)
            return;
        if (set->jobs[i])
            retry_waiting(c, set->jobs[i]);
    }
}

void step_remove(struct control *c, struct job *j, struct step *s)
{
    vec_foreach (&s->nodes, n) {
        struct alloc_node *a = &attempt_of(j)->alloc.data[n->at];
        a->step_cpus -= s->overlap ? 0 : n->cpus < a->step_cpus ? n->cpus : a->step_cpus;
        a->step_mem_mib -= n->mem_mib < a->step_mem_mib ? n->mem_mib : a->step_mem_mib;
        step_cpus_give_back(a, n, s->overlap);
        vec_foreach (&n->gres, held) {
            struct gres_held *job = gres_held_find(a, held->kind);
            if (job && !s->overlap)
                gres_held_step_over(job, held);
        }
    }
    if (s->exit_status > attempt_of(j)->derived_status)
        attempt_make(j)->derived_status = s->exit_status;
    step_ports_over(c, j, s);
    record_step(c, j, s);
    job_step_done(s);
    vec_remove(&attempt_make(j)->steps, (size_t)(s - attempt_of(j)->steps.data));
    job_touch(c->cluster, j);
}

/* Processes spawned by the first step's tasks outlive the step. */
static bool holds_job(const struct step *s)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__StepRecord *r =
        arena_unpack(&arena, &pb__step_record__descriptor, s->record.data, s->record.len);
    return s->id == 0 || r->has_spawned_by;
}

static bool is_held_by_other(const struct job *j, const struct step *ended)
{
    vec_foreach (&attempt_of(j)->steps, s)
        if (s != ended && holds_job(s))
            return true;
    return false;
}

/* For a job set: also considers the parts of the step in other components. */
static bool is_last(const struct job *j, const struct step *ended)
{
    const struct job *leader = job_set_component(j, 0);
    if (!leader || !attempt_of(leader)->interactive_step || !holds_job(ended))
        return false;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *other = job_set_component(j, i);
        if (other && is_held_by_other(other, ended))
            return false;
    }
    return true;
}

static int worst_status(const struct job *j)
{
    int worst = 0;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *other = job_set_component(j, i);
        if (other && attempt_of(other)->derived_status > worst)
            worst = attempt_of(other)->derived_status;
    }
    return worst;
}

/* A step has ended in this job: srun's own job, or job set, ends with the last part of the last
 * step. */
static void step_over(struct control *c, struct job *j, struct step *s)
{
    bool last = is_last(j, s), first = s->id == 0;
    int status = s->exit_status;
    struct job *leader = job_set_component(j, 0);
    step_remove(c, j, s);
    if (!first || j->set)
        status = worst_status(j);
    if (last && !job_is_final(leader))
        c->step_owner->job_ran(c, leader, status);
    else
        step_retry_waiting(c, j);
}

/* The worst status counts, and out-of-memory before all others. */
static void take_status(struct step *s, int status)
{
    bool memory = status_is_out_of_memory(status);
    if (memory || (status > s->exit_status && !status_is_out_of_memory(s->exit_status)))
        s->exit_status = status;
}

static size_t nodes_left(const struct step *s)
{
    size_t left = 0;
    vec_foreach (&s->nodes, n)
        left += !n->ended;
    return left;
}

void step_end_lost(struct control *c, struct job *j)
{
    for (size_t i = attempt_of(j)->steps.len; i-- > 0 && !job_is_final(j);)
        if (i < attempt_of(j)->steps.len && nodes_left(&attempt_of(j)->steps.data[i]) == 0) {
            take_status(&attempt_of(j)->steps.data[i], 1 << 8);
            step_over(c, j, &attempt_of(j)->steps.data[i]);
        }
}

static struct step_node *node_of(const struct job *j, struct step *s, uint32_t node)
{
    vec_foreach (&s->nodes, n)
        if (attempt_of(j)->alloc.data[n->at].node == node)
            return n;
    return NULL;
}

void step_ended_on(struct control *c, struct job *j, uint32_t step_id, uint32_t node,
                   int exit_status)
{
    struct step *s = step_find(j, step_id);
    struct step_node *n = s ? node_of(j, s, node) : NULL;
    if (!n || n->ended)
        return;
    take_status(s, exit_status);
    n->ended = true;
    job_touch(c->cluster, j);
    if (nodes_left(s) == 0)
        step_over(c, j, s);
    else if (status_is_out_of_memory(exit_status) && !s->spares_others)
        c->step_owner->end_step(c, j, s);
}

/* All parts of the step have ended, as its srun reports. */
static void complete_in_set(struct control *c, struct job *j, const Pb__StepComplete *r)
{
    bool in_set = j->set;
    uint32_t set_id = job_set_id(j), own = j->set_offset;
    uint32_t count = job_set_is_leader(j) ? job_set_count(j) : own + 1;
    for (uint32_t i = own; i < count; i++) {
        const struct job_set *set = in_set ? job_set_find(c->cluster, set_id) : NULL;
        struct job *of = set ? set->jobs[i] : in_set ? NULL : j; /* a step may end the whole set */
        struct step *s = of && of->attempt ? step_find(of, r->step_id) : NULL;
        if (!s)
            continue;
        s->exit_status = r->exit_status;
        step_over(c, of, s);
    }
}

void control_step_complete(struct control *c, uint64_t call, const struct caller *who,
                           const Pb__StepComplete *r)
{
    struct job *j = cluster_find_job(c->cluster, r->job_id);
    if (!j) {
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    } else if (who->uid != j->uid && !who->is_admin) {
        control_refuse_code(c, call, control_denial(c, who, j), NULL);
    } else if (step_is_stale(j, r->has_restarts, r->restarts)) {
        control_refuse_code(c, call, ERR_JOB_DONE, NULL);
    } else {
        complete_in_set(c, j, r);
        control_done(c, call);
    }
}
