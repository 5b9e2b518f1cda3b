/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --no-allocate and sbcast --no-allocation: a step, or a file, on named nodes without a job
 * (docs/adr/0026). The controller keeps no record of it: it has an id that no job has, and its
 * nodes end it when its processes have ended.
 */
#include <stdlib.h>

#include "base/pb.h"
#include "base/step_id.h"
#include "cluster/job/step_cpus.h"
#include "control/core/facts.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/step/cast.h"
#include "control/step/step_layout.h"

/* Derives ids from the clock, so that none is reused, even after a restart. */
static uint32_t next_id(struct control *c)
{
    uint32_t by_clock =
        (uint32_t)((uint64_t)c->env->wall_ms(c->env->ctx) / 10 % (UINT32_MAX - JOB_ID_UNALLOCATED));
    c->last_unallocated = by_clock > c->last_unallocated ? by_clock : c->last_unallocated + 1;
    return JOB_ID_UNALLOCATED + c->last_unallocated % (UINT32_MAX - JOB_ID_UNALLOCATED);
}

/* Uses the whole node, whatever else runs there. */
static int add_node(struct control *c, struct job *j, uint32_t index, struct err *err)
{
    const struct node *n = c->cluster->nodes.data[index];
    struct alloc_node a = {.node = index,
                           .units = n->units,
                           .cpus = n->cpus,
                           .amounts = n->amounts,
                           .incarnation = n->incarnation};
    if (!n->connected || !n->incarnation)
        return control_set_error(err, ERR_NODES_DOWN, n->name);
    a.busy = bitset_new(n->units);
    bitset_fill(a.busy);
    vec_push(&attempt_make(j)->alloc, a);
    return 0;
}

static int add_unallocated_nodes(struct control *c, struct job *j, const Pb__Unallocated *r,
                                 struct err *err)
{
    struct bitset *set = NULL;
    if (!r->step->nodes || !*r->step->nodes)
        return control_set_error(err, ERR_NO_NODE, "--nodelist is missing");
    int rc = cluster_node_set(c->cluster, r->step->nodes, &set, err);
    for (long i = set ? bitset_next(set, 0) : -1; i >= 0 && rc == 0;
         i = bitset_next(set, (size_t)i + 1))
        rc = add_node(c, j, (uint32_t)i, err);
    bitset_free(set);
    return rc == 0 && !attempt_of(j)->alloc.len
               ? control_set_error(err, ERR_NO_NODE, "none is named")
               : rc;
}

/* A job in no list that exists only while its credential is created. */
static void job_begin(struct control *c, struct job *j, const struct caller *who,
                      const Pb__Unallocated *r)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    bool other = r->has_uid && r->uid != who->uid;
    *j = (struct job){.id = next_id(c),
                      .restarts = (uint32_t)control_wall(c),
                      .uid = r->has_uid ? r->uid : who->uid,
                      .gid = r->has_gid ? r->gid : who->gid};
    spec.name = r->step->name;
    spec.user_name = other ? NULL : (char *)who->user_name; /* the node resolves it */
    spec.work_dir = r->work_dir;
    job_repack(&j->spec, &spec.base);
}

static void job_end(struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        bitset_free(a->busy);
    if (j->attempt)
        vec_done(&j->attempt->alloc);
    free(take_ptr(j->attempt));
    job_packed_done(&j->spec);
}

static Pb__StepNode *make_node(const struct control *c, const struct alloc_node *a, uint32_t tasks,
                               struct arena *arena)
{
    const struct node *n = c->cluster->nodes.data[a->node];
    _cleanup_bitset_ struct bitset *cpus = step_cpus_of_job(n, a);
    Pb__StepNode *m = arena_alloc(arena, sizeof(*m));
    facts_put_node(n, m);
    m->task_ids = arena_alloc(arena, sizeof(uint32_t) * tasks);
    m->cpus = a->cpus;
    SET(m, mem_mib, alloc_memory_mib(a));
    SET(m, cpu_set, step_cpus_pack(cpus, arena));
    SET(m, incarnation, str_hash(a->incarnation));
    return m;
}

static void reply_with_layout(struct control *c, uint64_t call, struct job *j,
                              const struct step_layout *l, struct arena *arena)
{
    _cleanup_str_ struct str cred = STR_INIT, names = STR_INIT;
    Pb__StepRecord record = PB__STEP_RECORD__INIT;
    Pb__StepReply m = PB__STEP_REPLY__INIT;
    uint32_t *at = arena_alloc(arena, sizeof(*at) * (attempt_of(j)->alloc.len + 1));
    uint8_t sig[64];
    record.layout = arena_alloc(arena, sizeof(*record.layout) * (attempt_of(j)->alloc.len + 1));
    for (uint32_t i = 0; i < attempt_of(j)->alloc.len; i++)
        if (l->tasks[i]) {
            at[record.n_layout] = i;
            record.layout[record.n_layout++] =
                make_node(c, &attempt_of(j)->alloc.data[i], l->tasks[i], arena);
        }
    step_layout_number(l, 0, record.layout, at, record.n_layout);
    facts_make_cred(c, j, &record, &cred, sig);
    job_format_nodes(c->cluster, j, &names);
    m.job_id = j->id;
    SET(&m, restarts, j->restarts);
    m.layout = record.layout;
    m.n_layout = record.n_layout;
    SET(&m, cred, ((ProtobufCBinaryData){cred.len, (uint8_t *)cred.data}));
    SET(&m, signature, ((ProtobufCBinaryData){sizeof sig, sig}));
    SET(&m, num_tasks, l->num_tasks);
    SET(&m, cpus_per_task, l->cpus_per_task);
    m.job_nodes = (char *)str_cstr(&names);
    control_log(c, LOG_LVL_INFO, "step %u.0 without an allocation: %u tasks of uid %u on %s", j->id,
                l->num_tasks, j->uid, str_cstr(&names));
    c->env->reply(c->env->ctx, call, &m.base);
}

/* The RPC table requires ADMIN; the request names the user to run as. */
void control_step_unallocated(struct control *c, uint64_t call, const struct caller *who,
                              const Pb__Unallocated *r)
{
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    struct step_layout l = {0};
    struct job j;
    Pb__StepSpec spec = *r->step;
    arena_init(&arena, 0);
    spec.has_overcommit = spec.overcommit = true; /* it has no CPUs that could be too few */
    job_begin(c, &j, who, r);
    int rc = !who->is_admin
                 ? control_set_error(&err, ERR_ACCESS, "--no-allocate is for root and SlurmUser")
             : spec.gres || spec.tres_per_task || spec.tres_per_step
                 ? control_set_error(&err, ERR_STEP_CONFIG, "generic resources need an allocation")
             : spec.has_resv_ports
                 ? control_set_error(&err, ERR_STEP_CONFIG, "--resv-ports needs an allocation")
                 : add_unallocated_nodes(c, &j, r, &err);
    if (rc == 0) {
        rc = step_layout_find(c, &j, &spec, &arena, &l, &err);
        if (rc == 0)
            reply_with_layout(c, call, &j, &l, &arena);
        step_layout_done(&l);
    }
    if (rc != 0)
        control_refuse(c, call, &err);
    job_end(&j);
}

void control_cast_unallocated(struct control *c, uint64_t call, const struct caller *who,
                              const Pb__CastUnallocated *r)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str names = STR_INIT;
    Pb__StepSpec spec = PB__STEP_SPEC__INIT;
    Pb__Unallocated request = PB__UNALLOCATED__INIT;
    struct err err = {0};
    struct job j;
    spec.nodes = r->nodes;
    spec.name = (char *)"sbcast";
    request.step = &spec;
    arena_init(&arena, 0);
    job_begin(c, &j, who, &request);
    int rc = who->is_admin
                 ? add_unallocated_nodes(c, &j, &request, &err)
                 : control_set_error(&err, ERR_ACCESS, "--no-allocation is for root and SlurmUser");
    if (rc == 0) {
        Pb__StepRecord step = PB__STEP_RECORD__INIT;
        step.step_id = STEP_ID_EXTERN;
        step.layout = arena_alloc(&arena, sizeof(*step.layout) * (attempt_of(&j)->alloc.len + 1));
        vec_foreach (&attempt_of(&j)->alloc, a)
            step.layout[step.n_layout++] = make_node(c, a, 0, &arena);
        job_format_nodes(c->cluster, &j, &names);
        control_log(c, LOG_LVL_INFO, "files %u without an allocation, of uid %u, to %s", j.id,
                    j.uid, str_cstr(&names));
        cast_send_grant(c, call, &j, &step, NULL, 0, &arena);
    } else {
        control_refuse(c, call, &err);
    }
    job_end(&j);
}
