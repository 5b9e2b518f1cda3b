/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files to the nodes of a job: the access rights, and the destinations. File data never passes
 * through the controller. */
#include <assert.h>

#include "base/pb.h"
#include "control/internal.h"

#include "base/step_id.h"
#include "cluster/job/job_set.h"
#include "control/core/facts.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/step/cast.h"
#include "control/step/step.h"

/* The jobs whose nodes get the file: one job, or components of a job set. */
struct cast_job {
    struct job *job;
    uint32_t number;         /* index of its part in the credential */
    const struct step *step; /* only the nodes of this step; NULL: all nodes of the job */
    bool batch;              /* only the node of its script */
};

struct cast_jobs {
    VEC(struct cast_job) list;
};

/* Whether the step has the i-th node of the job; NULL: all nodes. */
static bool step_has(const struct step *s, uint32_t i)
{
    if (!s)
        return true;
    vec_foreach (&s->nodes, n)
        if (n->at == i)
            return true;
    return false;
}

static bool is_known(Pb__StepNode *const *nodes, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(nodes[i]->node, name))
            return true;
    return false;
}

/* Adds the nodes of this job that are not in the list yet. From now on files of the job may be on
 * them: they are notified of its end. */
static size_t take_nodes(struct control *c, struct job *j, const struct cast_job *part,
                         Pb__StepNode **out, size_t count, struct arena *arena)
{
    const struct step *s = part->step;
    bool others = count > 0;

    for (uint32_t i = 0; i < attempt_of(j)->alloc.len; i++) {
        struct alloc_node *a = &attempt_of(j)->alloc.data[i];
        const struct node *n = c->cluster->nodes.data[a->node];

        if (a->released || !step_has(s, i) || (part->batch && a != job_host(j)) ||
            (others && is_known(out, count, n->name)))
            continue;
        Pb__StepNode *m = arena_alloc(arena, sizeof(*m));
        facts_put_node(n, m);
        if (a->incarnation)
            SET(m, incarnation, str_hash(a->incarnation));
        if (part->number)
            SET(m, part, part->number);
        a->touched = true;
        out[count++] = m;
    }
    job_touch(c->cluster, j);
    return count;
}

static const char *bcast_addr(const struct control *c, const char *name)
{
    return node_bcast_addr(cluster_find_node(c->cluster, name));
}

void cast_send_grant(struct control *c, uint64_t call, struct job *j, const Pb__StepRecord *step,
                     Pb__CredPart **parts, size_t part_count, struct arena *arena)
{
    _cleanup_str_ struct str cred = STR_INIT;
    Pb__StepNode *const *nodes = step->layout;
    size_t count = step->n_layout;
    Pb__CastGrant m = PB__CAST_GRANT__INIT;
    uint8_t sig[64];

    facts_make_cred_of_parts(c, j, step, parts, part_count, &cred, sig);
    m.job_id = j->id;
    m.restarts = j->restarts;
    m.cred = (ProtobufCBinaryData){cred.len, (uint8_t *)cred.data};
    m.signature = (ProtobufCBinaryData){sizeof sig, sig};
    m.bcast_addr = arena_alloc(arena, sizeof(*m.bcast_addr) * (count + 1));
    m.nodes = arena_alloc(arena, sizeof(*m.nodes) * (count + 1));
    for (size_t i = 0; i < count; i++) {
        Pb__NodeAddr *n = arena_alloc(arena, sizeof(*n));
        pb__node_addr__init(n);
        n->node = nodes[i]->node;
        n->addr = nodes[i]->addr;
        n->port = nodes[i]->port;
        m.bcast_addr[m.n_bcast_addr++] = (char *)bcast_addr(c, n->node);
        m.nodes[m.n_nodes++] = n;
    }
    c->env->reply(c->env->ctx, call, &m.base);
}

static void grant_jobs(struct control *c, uint64_t call, const struct cast_jobs *jobs)
{
    _cleanup_arena_ struct arena arena;
    Pb__StepRecord record = PB__STEP_RECORD__INIT;
    Pb__CredPart **parts;
    size_t most = 0;

    arena_init(&arena, 0);
    vec_foreach (&jobs->list, part)
        most += attempt_of(part->job)->alloc.len;
    assert(jobs->list.len);
    record.step_id = STEP_ID_EXTERN;
    record.layout = arena_alloc(&arena, sizeof(*record.layout) * (most + 1));
    parts = arena_alloc(&arena, sizeof(*parts) * (jobs->list.len + 1));
    vec_foreach (&jobs->list, part) {
        record.n_layout = take_nodes(c, part->job, part, record.layout, record.n_layout, &arena);
        parts[part->number] = facts_make_part(c, part->job, &record, true, &arena);
    }
    cast_send_grant(c, call, jobs->list.data[0].job, &record, parts,
                    jobs->list.len > 1 ? jobs->list.len : 0, &arena);
}

/* Finds "12", or an array element "12_4". */
static int find_job(struct control *c, const Pb__StepId *id, struct job **out, struct err *err)
{
    struct job *j = cluster_find_job(c->cluster, id->job_id);
    if (id->array_tasks)
        return named_element(c, id, out, err);
    if (!j)
        return control_set_error(err, ERR_NO_JOB, NULL);
    *out = j;
    return 0;
}

static int check_cast_state(const struct job *j, struct err *err)
{
    if (j->state == PB__JOB_STATE__PENDING)
        return control_set_error(err, ERR_JOB_PENDING, NULL);
    if (job_is_final(j))
        return control_set_error(err, ERR_JOB_DONE, NULL);
    if (attempt_of(j)->configuring)
        return control_set_error(err, ERR_NODES_BUSY, "the job's nodes are being configured");
    if (j->state == PB__JOB_STATE__SUSPENDED)
        return control_set_error(err, ERR_NODES_BUSY, "the job is suspended");
    return 0;
}

/* Adds the job, or the components that the request selects; a step may be in only some of them. */
static int add_job(struct job *j, const Pb__StepId *id, struct cast_jobs *out, struct err *err)
{
    bool numbered = id->has_step_id && id->step_id < STEP_ID_BATCH;
    int rc = check_cast_state(j, err);
    if (rc)
        return rc;
    struct cast_job one = {.job = j,
                           .number = (uint32_t)out->list.len,
                           .step = numbered ? step_find(j, id->step_id) : NULL,
                           .batch = id->has_step_id && id->step_id == STEP_ID_BATCH};
    if (numbered && !one.step)
        return control_set_error(err, ERR_NO_STEP, NULL);
    if (one.batch && !j->batch)
        return control_set_error(err, ERR_NO_STEP, "the job has no batch script");
    vec_push(&out->list, one);
    return 0;
}

/* "123.1" of sbcast, where 123 leads a job set, means "123+1". */
static Pb__StepId read_component(const struct job *j, const Pb__CastAsk *r)
{
    Pb__StepId id = *r->id;
    if (!j->set || id.has_set_offset || !r->or_component || !job_set_is_leader(j) ||
        !id.has_step_id || id.step_id >= job_set_count(j))
        return id;
    SET(&id, set_offset, id.step_id);
    id.has_step_id = false;
    return id;
}

static int find_cast_jobs(struct control *c, const struct caller *who, const Pb__CastAsk *r,
                          struct cast_jobs *out, struct err *err)
{
    struct job *j = NULL;
    int rc = find_job(c, r->id, &j, err);
    if (rc)
        return rc;
    assert(j);
    if (who->uid != j->uid && !who->is_admin) /* the files are written as the owner */
        return control_set_error(err, control_denial(c, who, j), NULL);
    Pb__StepId id = read_component(j, r);
    bool all = j->set && job_set_is_leader(j) && !id.has_set_offset;
    if (id.has_set_offset)
        rc = named_component(c, &id, &j, err);
    if (rc || !all)
        return rc ? rc : add_job(j, &id, out, err);
    int first = 0;
    struct err why = {0};
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        struct job *component = job_set_component(j, i);
        rc = component ? add_job(component, &id, out, &why) : 0;
        if (rc && !first) {
            first = rc;
            *err = why;
        }
    }
    return out->list.len ? 0 : first;
}

void control_cast_ask(struct control *c, uint64_t call, const struct caller *who,
                      const Pb__CastAsk *r)
{
    struct err err = {0};
    struct cast_jobs jobs = {0};

    if (find_cast_jobs(c, who, r, &jobs, &err))
        control_refuse(c, call, &err);
    else
        grant_jobs(c, call, &jobs);
    vec_done(&jobs.list);
}
