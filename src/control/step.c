/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps: which tasks run where in an allocation, on CPUs that no other step uses unless it
 * overlaps. */
#include <string.h>

#include "base/hostlist.h"
#include "base/status.h"
#include "control/internal.h"

#define SET(m, field, value) ((m)->has_##field = true, (m)->field = (value))
#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

#define STEPS_BYTES (2u << 20)       /* of the records of a job's steps: some thousands, */
#define STEPS_BYTES_NODE (16u << 10) /* and more for each of its nodes */

struct layout { /* of one step under construction, arrays by place in the allocation */
    struct job *j;
    const Pb__StepSpec *spec;
    bool *usable, overlap, overcommit;
    uint32_t *cap, *by_cpus, *by_gres, *most,
        *tasks; /* tasks that fit now, that could ever, that are placed */
    uint32_t wanted_nodes, count, cpus_per_task, num_tasks;
    struct step_gres gres;
    bool nodes_given;
};

struct step *step_find(struct job *j, uint32_t id)
{
    vec_foreach (&j->steps, s)
        if (s->id == id)
            return s;
    return NULL;
}

/* Of an attempt that is over: its sender is on a node that was lost, and does not know it yet. */
bool step_is_stale(const struct job *j, bool says, uint32_t restarts)
{
    return says && restarts != j->restarts;
}

static int no(struct err *err, int code, const char *detail)
{
    return err_set(err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
}

static int use_named(struct control *c, struct layout *l, const char *expr, bool use,
                     struct err *err)
{
    struct bitset *set = NULL;
    int rc = cluster_node_set(c->cluster, expr, &set, err);
    if (rc != 0)
        return rc;
    size_t inside = 0;
    for (size_t i = 0; i < l->j->alloc.len; i++)
        if (bitset_test(set, l->j->alloc.data[i].node)) {
            l->usable[i] = use;
            inside++;
        }
    bool all_inside = inside == bitset_count(set);
    bitset_free(set);
    return use && !all_inside ? no(err, ERR_STEP_CONFIG, expr) : 0;
}

static int find_usable(struct control *c, struct layout *l, struct err *err)
{
    const Pb__StepSpec *s = l->spec;
    size_t n = l->j->alloc.len;
    bool named = s->nodes && *s->nodes;
    l->nodes_given = named || s->n_relative_nodes;
    for (size_t i = 0; i < n; i++)
        l->usable[i] = !l->nodes_given;
    int rc = named ? use_named(c, l, s->nodes, true, err) : 0;
    for (size_t i = 0; i < s->n_relative_nodes && rc == 0; i++) {
        if (s->relative_nodes[i] >= n)
            return no(err, ERR_NODE_COUNT, "a relative node beyond the job's");
        l->usable[s->relative_nodes[i]] = true;
    }
    if (rc == 0 && s->exc_nodes && *s->exc_nodes)
        rc = use_named(c, l, s->exc_nodes, false, err);
    l->count = 0;
    for (size_t i = 0; i < n; i++) {
        l->usable[i] = l->usable[i] && !l->j->alloc.data[i].released;
        l->count += l->usable[i];
    }
    return rc == 0 && l->count == 0 ? no(err, ERR_STEP_CONFIG, "no node is left") : rc;
}

static uint32_t bounded(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static int find_counts(struct layout *l, struct err *err)
{
    const Pb__StepSpec *s = l->spec;
    uint32_t per_node = OR(s, ntasks_per_node, 0);
    bool nodes_asked = s->has_min_nodes && s->min_nodes;
    l->wanted_nodes = nodes_asked ? s->min_nodes : l->count;
    if (l->wanted_nodes > l->count)
        return no(err, ERR_NODE_COUNT, "more nodes than the job has");
    l->cpus_per_task = OR(s, cpus_per_task, l->j->want.cpus_per_task);
    l->cpus_per_task = l->cpus_per_task ? l->cpus_per_task : 1;
    if (s->has_num_tasks && s->num_tasks)
        l->num_tasks = s->num_tasks;
    else if (nodes_asked || l->nodes_given || per_node)
        l->num_tasks = bounded((uint64_t)l->wanted_nodes * (per_node ? per_node : 1));
    else
        l->num_tasks = l->j->want.tasks > l->wanted_nodes ? l->j->want.tasks : l->wanted_nodes;
    if (l->num_tasks < l->wanted_nodes)
        l->wanted_nodes = l->num_tasks;
    return 0;
}

/* Memory of a node for so many tasks; 0: none of its own. What comes with the environment of the
 * job is no request of the step's: as much as the job has there is shared by its steps. */
static uint64_t memory_wanted(const struct layout *l, const struct alloc_node *a, uint32_t tasks)
{
    const Pb__StepSpec *s = l->spec;
    if (!a->mem_mib)
        return 0;
    if (s->has_mem_per_node_mib)
        return s->mem_per_node_mib == a->mem_mib ? 0 : s->mem_per_node_mib;
    if (!s->has_mem_per_cpu_mib)
        return 0;
    uint64_t cpus = (uint64_t)tasks * l->cpus_per_task;
    if (l->overcommit && cpus > a->cpus)
        cpus = a->cpus; /* the job has no more of them, nor of memory */
    bool wraps = cpus && s->mem_per_cpu_mib > UINT64_MAX / cpus;
    return wraps ? UINT64_MAX : s->mem_per_cpu_mib * cpus;
}

/* How many of 'cap' tasks the free memory holds. */
static uint32_t memory_fits(const struct layout *l, const struct alloc_node *a, uint64_t free_mib,
                            uint32_t cap)
{
    uint64_t one = memory_wanted(l, a, 1);
    if (one == 0 || cap == 0)
        return cap;
    if (memory_wanted(l, a, cap) <= free_mib)
        return cap;
    if (l->spec->has_mem_per_node_mib)
        return 0;
    return free_mib / one < cap ? (uint32_t)(free_mib / one) : cap;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void find_capacity(const struct control *c, struct layout *l, uint32_t most_tasks)
{
    uint32_t per_node = OR(l->spec, ntasks_per_node, UINT32_MAX);
    per_node = per_node && per_node < most_tasks ? per_node : most_tasks;
    for (size_t i = 0; i < l->j->alloc.len; i++) {
        const struct alloc_node *a = &l->j->alloc.data[i];
        uint32_t idle = l->overlap ? a->cpus : a->cpus > a->step_cpus ? a->cpus - a->step_cpus : 0;
        uint32_t cap = l->overcommit ? l->num_tasks : idle / l->cpus_per_task;
        uint32_t most = l->overcommit ? l->num_tasks : a->cpus / l->cpus_per_task;
        uint64_t left = l->overlap ? a->mem_mib : a->mem_mib - a->step_mem_mib;
        l->cap[i] = !l->usable[i] ? 0 : cap < per_node ? cap : per_node;
        l->by_cpus[i] = !l->usable[i] ? 0 : most < per_node ? most : per_node;
        l->most[i] = memory_fits(l, a, a->mem_mib, l->by_cpus[i]);
        l->cap[i] = memory_fits(l, a, left, l->cap[i]);
        l->by_gres[i] = least(l->most[i], step_gres_fits(c, &l->gres, a, true));
        l->cap[i] = least(l->cap[i], step_gres_fits(c, &l->gres, a, l->overlap));
    }
}

/* Picks nodes in order until count and tasks are enough; 'cap' says what each takes. */
static bool pick(const struct layout *l, const uint32_t *cap, bool *picked)
{
    uint32_t nodes = 0, sum = 0;
    uint32_t most_nodes = OR(l->spec, max_nodes, 0) ? l->spec->max_nodes : UINT32_MAX;
    for (size_t i = 0; i < l->j->alloc.len; i++) {
        picked[i] = cap[i] && nodes < most_nodes && (nodes < l->wanted_nodes || sum < l->num_tasks);
        nodes += picked[i];
        sum += picked[i] ? cap[i] : 0;
    }
    return nodes >= l->wanted_nodes && sum >= l->num_tasks;
}

/* -m pack, or as the job has it. */
static bool is_packed(const struct layout *l)
{
    const char *word = l->spec->distribution ? strrchr(l->spec->distribution, ',') : NULL;
    return word ? str_case_eq(word, ",pack") : l->j->want.pack;
}

/* One task a node and round, so that uneven nodes come out even. Packed: one for each node first,
 * then one node is filled before the next. */
static void deal(struct layout *l, const bool *picked)
{
    uint32_t left = l->num_tasks;
    for (size_t i = 0; is_packed(l) && i < l->j->alloc.len; i++)
        left -= l->tasks[i] = picked[i] && left;
    for (size_t i = 0; is_packed(l) && i < l->j->alloc.len; i++) {
        uint32_t more = picked[i] ? least(l->cap[i] - l->tasks[i], left) : 0;
        l->tasks[i] += more;
        left -= more;
    }
    while (left)
        for (size_t i = 0; i < l->j->alloc.len && left; i++)
            if (picked[i] && l->tasks[i] < l->cap[i]) {
                l->tasks[i]++;
                left--;
            }
}

static int place(const struct control *c, struct layout *l, struct err *err)
{
    bool *picked = mem_new_array(bool, l->j->alloc.len);
    int rc = 0;
    if (!pick(l, l->by_cpus, picked))
        rc = no(err, ERR_TOO_MANY_CPUS, NULL);
    else if (!pick(l, l->most, picked))
        rc = no(err, ERR_STEP_MEMORY, NULL);
    else if (!pick(l, l->by_gres, picked))
        rc = no(err, ERR_STEP_CONFIG, "the job has not so many generic resources");
    else if (!pick(l, l->cap, picked))
        rc = no(err, ERR_NODES_BUSY, NULL);
    else
        deal(l, picked);
    free(picked);
    if (rc == 0 && !step_gres_total_fits(c, &l->gres, l->j, l->tasks, true))
        return no(err, ERR_STEP_CONFIG, "the job has not so many generic resources");
    if (rc == 0 && !step_gres_total_fits(c, &l->gres, l->j, l->tasks, l->overlap))
        return no(err, ERR_NODES_BUSY, NULL);
    return rc;
}

/* The task numbers of each node: blocks of consecutive ones, or dealt like cards. */
static void number_tasks(const struct layout *l, Pb__StepNode **nodes, const uint32_t *at,
                         size_t count)
{
    bool cyclic = l->spec->distribution && strncmp(l->spec->distribution, "cyclic", 6) == 0;
    uint32_t task = 0;
    for (size_t i = 0; i < count && !cyclic; i++)
        while (nodes[i]->n_task_ids < l->tasks[at[i]])
            nodes[i]->task_ids[nodes[i]->n_task_ids++] = task++;
    while (cyclic && task < l->num_tasks)
        for (size_t i = 0; i < count; i++)
            if (nodes[i]->n_task_ids < l->tasks[at[i]])
                nodes[i]->task_ids[nodes[i]->n_task_ids++] = task++;
}

/* Those it asks for, or all that the job has there. */
static void build_gres(struct control *c, struct layout *l, struct alloc_node *a,
                       struct step_node *n, Pb__StepNode *m, struct arena *arena)
{
    step_gres_take(c, &l->gres, a, n, l->overlap);
    const struct gres_held *held = l->gres.own ? n->gres.data : a->gres.data;
    m->n_gres = l->gres.none ? 0 : l->gres.own ? n->gres.len : a->gres.len;
    m->gres = gres_held_pack(c->cluster, held, m->n_gres, arena);
}

static size_t build_nodes(struct control *c, struct layout *l, struct step *s, Pb__StepNode **nodes,
                          struct arena *arena)
{
    uint32_t *at = arena_alloc(arena, sizeof(*at) * (l->j->alloc.len + 1));
    size_t count = 0;
    for (uint32_t i = 0; i < l->j->alloc.len; i++) {
        struct alloc_node *a = &l->j->alloc.data[i];
        const struct node *n = c->cluster->nodes.data[a->node];
        if (!l->tasks[i])
            continue;
        Pb__StepNode *m = arena_alloc(arena, sizeof(*m));
        pb__step_node__init(m);
        m->node = (char *)n->name;
        m->addr = (char *)n->conf->addr;
        m->port = n->conf->port;
        m->task_ids = arena_alloc(arena, sizeof(uint32_t) * l->tasks[i]);
        uint32_t cpus = bounded((uint64_t)l->tasks[i] * l->cpus_per_task);
        m->cpus = cpus < a->cpus ? cpus : a->cpus;
        uint64_t own = memory_wanted(l, a, l->tasks[i]);
        SET(m, mem_mib, own ? own : a->mem_mib);
        if (a->incarnation)
            SET(m, incarnation, str_hash(a->incarnation));
        vec_push(&s->nodes, ((struct step_node){
                                .at = i, .cpus = m->cpus, .tasks = l->tasks[i], .mem_mib = own}));
        build_gres(c, l, a, &vec_last(&s->nodes), m, arena);
        a->step_mem_mib += l->overlap ? 0 : own;
        a->step_cpus += l->overlap || l->overcommit ? 0 : m->cpus;
        a->touched = true;
        at[count] = i;
        nodes[count++] = m;
    }
    number_tasks(l, nodes, at, count);
    return count;
}

static void build_record(struct control *c, struct layout *l, struct step *s)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__StepRecord r = PB__STEP_RECORD__INIT;
    struct str names = STR_INIT;
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    r.job_id = l->j->id;
    r.step_id = s->id;
    r.name = l->spec->name;
    SET(&r, state, PB__STEP_STATE__STEP_RUNNING);
    SET(&r, start_at, control_wall(c));
    SET(&r, num_tasks, l->num_tasks);
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
    SET(&r, own_memory, l->spec->has_mem_per_node_mib || l->spec->has_mem_per_cpu_mib);
    SET(&r, time_limit_sec, OR(l->spec, time_limit_sec, INT64_MAX));
    r.has_request_id = l->spec->request_id.len == sizeof s->request_id;
    r.request_id = l->spec->request_id;
    r.layout = arena_alloc(&arena, sizeof(*r.layout) * (l->j->alloc.len + 1));
    r.n_layout = build_nodes(c, l, s, r.layout, &arena);
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

/* A job's record is written with all its steps whenever one comes or goes: they wait before it
 * costs the other users their turn. */
static bool has_too_many(const struct job *j)
{
    size_t sum = 0;
    vec_foreach (&j->steps, s)
        sum += s->record.len;
    return sum >= STEPS_BYTES + j->alloc.len * STEPS_BYTES_NODE;
}

int step_make(struct control *c, struct job *j, const Pb__StepSpec *spec, struct step **out,
              struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    size_t bytes = sizeof(uint32_t) * (j->alloc.len + 1);
    struct layout l = {.j = j,
                       .spec = spec,
                       .overlap = OR(spec, overlap, 0),
                       .overcommit = OR(spec, overcommit, 0)};
    l.usable = arena_alloc(&arena, j->alloc.len + 1);
    l.cap = arena_alloc(&arena, bytes);
    l.most = arena_alloc(&arena, bytes);
    l.by_cpus = arena_alloc(&arena, bytes);
    l.by_gres = arena_alloc(&arena, bytes);
    l.tasks = arena_alloc(&arena, bytes);
    l.overcommit = l.overcommit || j->want.overcommit;
    int rc = find_usable(c, &l, err);
    if (rc == 0)
        rc = find_counts(&l, err);
    if (rc == 0)
        rc = step_gres_read(c, spec, &l.gres, err);
    if (rc == 0) {
        find_capacity(c, &l, c->conf->max_tasks_per_node);
        rc = place(c, &l, err);
    }
    if (rc == 0 && has_too_many(j))
        rc = no(err, ERR_NODES_BUSY, "the job has too many steps at a time");
    if (rc != 0) {
        gres_wants_done(&l.gres.wants);
        return rc;
    }
    struct step s = {.id = j->next_step++, .overlap = l.overlap || l.overcommit};
    if (spec->request_id.len == sizeof s.request_id)
        memcpy(s.request_id, spec->request_id.data, sizeof s.request_id);
    build_record(c, &l, &s);
    gres_wants_done(&l.gres.wants);
    vec_push(&j->steps, s);
    job_touch(c->cluster, j);
    *out = &vec_last(&j->steps);
    return 0;
}

Pb__StepReply *step_reply(struct control *c, struct job *j, const struct step *s,
                          struct arena *arena)
{
    const Pb__StepRecord *record =
        arena_unpack(arena, &pb__step_record__descriptor, s->record.data, s->record.len);
    Pb__StepReply *r = arena_alloc(arena, sizeof(*r));
    struct str cred = STR_INIT, names = STR_INIT;
    uint8_t *sig = arena_alloc(arena, 64);
    pb__step_reply__init(r);
    r->job_id = j->id;
    r->step_id = s->id;
    r->layout = record->layout;
    r->n_layout = record->n_layout;
    start_make_cred(c, j, (const Pb__StepNode *const *)record->layout, record->n_layout, s->id,
                    &cred, sig);
    uint8_t *copy = arena_alloc(arena, cred.len);
    memcpy(copy, cred.data, cred.len);
    SET(r, cred, ((ProtobufCBinaryData){cred.len, copy}));
    SET(r, signature, ((ProtobufCBinaryData){64, sig}));
    SET(r, num_tasks, record->num_tasks);
    SET(r, cpus_per_task, record->cpus_per_task);
    SET(r, restarts, j->restarts);
    job_format_nodes(c->cluster, j, &names);
    r->job_nodes = arena_strdup(arena, str_cstr(&names));
    str_done(&cred);
    str_done(&names);
    return r;
}

static void answer(struct control *c, struct job *j, const struct step *s, uint64_t call)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    control_release(c, call);
    c->env->reply(c->env->ctx, call, &step_reply(c, j, s, &arena)->base);
}

static const struct step *find_repeated(const struct job *j, const Pb__StepSpec *spec)
{
    vec_foreach (&j->steps, s) {
        if (spec->request_id.len == sizeof s->request_id &&
            memcmp(s->request_id, spec->request_id.data, sizeof s->request_id) == 0)
            return s;
    }
    return NULL;
}

static void create(struct control *c, struct job *j, uint64_t call, const Pb__StepSpec *spec)
{
    struct err err = {0};
    struct step *s = NULL;
    const struct step *known = find_repeated(j, spec);
    if (known) {
        answer(c, j, known, call);
        return;
    }
    int rc = j->configuring ? no(&err, ERR_NODES_BUSY, "the job's nodes are being configured")
             : j->state == PB__JOB_STATE__SUSPENDED
                 ? no(&err, ERR_NODES_BUSY, "the job is suspended")
                 : step_make(c, j, spec, &s, &err);
    if (rc == 0) {
        answer(c, j, s, call);
    } else if (rc == -ERR_NODES_BUSY && job_run(j)->waiting_steps.len >= CONTROL_WAITING_STEPS) {
        control_refuse_code(c, call, ERR_BUSY, "too many steps of this job wait");
    } else if (rc == -ERR_NODES_BUSY && !OR(spec, immediate, 0)) {
        struct waiting_step w = {.call = call};
        pb_pack(&spec->base, &w.spec);
        vec_push(&job_make_run(j)->waiting_steps, w);
        control_hold(c, call, j);
    } else {
        control_refuse(c, call, &err);
    }
}

void control_step_create(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__StepSpec *r)
{
    struct job *j = r->has_job_id ? cluster_find_job(c->cluster, r->job_id) : NULL;
    if (!j)
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    else if (who->uid != j->uid && !who->is_admin)
        control_refuse_code(c, call, ERR_ACCESS, NULL);
    else if (step_is_stale(j, r->has_restarts, r->restarts))
        control_refuse_code(c, call, ERR_JOB_DONE, NULL);
    else if (j->state == PB__JOB_STATE__PENDING)
        control_refuse_code(c, call, ERR_JOB_PENDING, NULL);
    else if (job_is_final(j))
        control_refuse_code(c, call, ERR_JOB_DONE, NULL);
    else
        create(c, j, call, r);
}

void step_retry_waiting(struct control *c, struct job *j)
{
    for (size_t waiting = job_run(j)->waiting_steps.len; waiting-- > 0 && !job_is_final(j);) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        struct waiting_step w = j->run->waiting_steps.data[0];
        vec_remove(&j->run->waiting_steps, 0);
        const Pb__StepSpec *spec =
            arena_unpack(&arena, &pb__step_spec__descriptor, w.spec.data, w.spec.len);
        create(c, j, w.call, spec);
        str_done(&w.spec);
    }
}

void step_remove(struct control *c, struct job *j, struct step *s)
{
    vec_foreach (&s->nodes, n) {
        struct alloc_node *a = &j->alloc.data[n->at];
        a->step_cpus -= s->overlap ? 0 : n->cpus < a->step_cpus ? n->cpus : a->step_cpus;
        a->step_mem_mib -= n->mem_mib < a->step_mem_mib ? n->mem_mib : a->step_mem_mib;
        vec_foreach (&n->gres, held) {
            struct gres_held *job = gres_held_find(a, held->kind);
            if (job && !s->overlap)
                gres_held_step_over(job, held);
        }
    }
    if (s->exit_status > j->derived_status)
        j->derived_status = s->exit_status;
    job_step_done(s);
    vec_remove(&j->steps, (size_t)(s - j->steps.data));
    job_touch(c->cluster, j);
}

/* A whole step is over: srun's own job with it. */
static void step_over(struct control *c, struct job *j, struct step *s)
{
    int status = s->exit_status;
    bool last = j->interactive_step && s->id == 0;
    step_remove(c, j, s);
    if (last && !job_is_final(j))
        finish_ran(c, j, status);
    else
        step_retry_waiting(c, j);
}

void step_end_lost(struct control *c, struct job *j)
{
    for (size_t i = j->steps.len; i-- > 0 && !job_is_final(j);)
        if (i < j->steps.len && j->steps.data[i].nodes.len == 0) {
            j->steps.data[i].exit_status = 1 << 8;
            step_over(c, j, &j->steps.data[i]);
        }
}

void step_ended_on(struct control *c, struct job *j, uint32_t step_id, uint32_t node,
                   int exit_status)
{
    struct step *s = step_find(j, step_id);
    size_t left = 0;
    if (!s)
        return;
    bool memory = status_is_out_of_memory(exit_status);
    if (memory || (exit_status > s->exit_status && !status_is_out_of_memory(s->exit_status)))
        s->exit_status = exit_status;
    vec_foreach (&s->nodes, n) {
        n->ended = n->ended || j->alloc.data[n->at].node == node;
        left += !n->ended;
    }
    if (left == 0)
        step_over(c, j, s);
    else if (memory)
        cancel_step(c, j, s);
}

void control_step_complete(struct control *c, uint64_t call, const struct caller *who,
                           const Pb__StepComplete *r)
{
    struct job *j = cluster_find_job(c->cluster, r->job_id);
    if (!j) {
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    } else if (who->uid != j->uid && !who->is_admin) {
        control_refuse_code(c, call, ERR_ACCESS, NULL);
    } else if (step_is_stale(j, r->has_restarts, r->restarts)) {
        control_refuse_code(c, call, ERR_JOB_DONE, NULL);
    } else {
        struct step *s = step_find(j, r->step_id);
        if (s) {
            s->exit_status = r->exit_status;
            step_over(c, j, s);
        }
        control_done(c, call);
    }
}
