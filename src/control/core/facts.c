/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/core/facts.h"

#include <assert.h>

#include "base/pattern.h"
#include "base/pb.h"
#include "base/step_id.h"
#include "cluster/job/job_set.h"
#include "cluster/job/step_cpus.h"
#include "cluster/job/whole_cores.h"
#include "control/internal.h"

/* Returns the CPUs of a node of the job that its tasks may use. */
static uint32_t count_usable_cpus(const struct cluster *c, const struct job *j, size_t at)
{
    const struct alloc_node *a = &attempt_of(j)->alloc.data[at];
    return whole_cores_usable_cpus(&j->want, c->nodes.data[a->node], a->cpus);
}

/* Writes "4(x2),2": equal neighbours joined, as SLURM_JOB_CPUS_PER_NODE. */
static void format_cpus(const struct cluster *c, const struct job *j, struct str *out)
{
    for (size_t i = 0, same; i < attempt_of(j)->alloc.len; i += same) {
        uint32_t cpus = count_usable_cpus(c, j, i);
        for (same = 1; i + same < attempt_of(j)->alloc.len; same++)
            if (count_usable_cpus(c, j, i + same) != cpus)
                break;
        str_printf(out, "%s%u", i ? "," : "", cpus);
        if (same > 1)
            str_printf(out, "(x%zu)", same);
    }
}

static void take_spec(const struct job *j, const Pb__JobSpec *spec, Pb__JobFacts *m)
{
    m->user_name = spec->user_name;
    m->group_name = spec->group_name;
    m->job_name = spec->name;
    m->account = spec->account;
    m->qos = spec->qos;
    m->work_dir = spec->work_dir;
    m->comment = spec->comment;
    m->constraints = spec->features;
    m->reservation = spec->reservation;
    m->extra = spec->extra;
    m->licenses = spec->licenses;
    const struct request *r = &j->want;
    m->oversubscribe =
        (char *)request_oversubscribe_word(spec->oversubscribe, r->exclusive, r->shared);
    m->exclusive = (char *)request_exclusive_word(r->topo_alone, r->exclusive, r->user_alone);
    m->spank_env = spec->spank_env;
    m->n_spank_env = spec->n_spank_env;
}

static void put_array(const struct job *j, Pb__JobFacts *m)
{
    const struct idset *all = &j->array->all;
    SET(m, array_job_id, j->array->id);
    SET(m, array_task_id, j->task);
    SET(m, array_count, all->count);
    SET(m, array_min, idset_first(all));
    SET(m, array_max, idset_last(all));
    /* If the step is regular. */
    SET(m, array_step, all->runs.len == 1 ? all->runs.data[0].step : 1);
}

static void put_set(const struct job *j, Pb__JobFacts *m)
{
    SET(m, set_id, job_set_id(j));
    SET(m, set_offset, j->set_offset);
    SET(m, set_count, job_set_count(j));
}

/* Expands the path like the script's slurmstepd; NULL: the script will not begin. */
static char *expand_path(const struct control *c, const struct job *j, const Pb__JobSpec *spec,
                         const char *pattern, struct arena *arena)
{
    const struct pattern_values v = {
        .job_id = j->id,
        .submit_at_sec = j->submit_at,
        .step_id = STEP_ID_BATCH,
        .array_id = j->array ? j->array->id : j->id,
        .array_task = j->array ? j->task : PATTERN_NO_ARRAY,
        .has_restarts = true,
        .restarts = j->restarts,
        .node = attempt_of(j)->alloc.len ? c->cluster->nodes.data[job_host(j)->node]->name : NULL,
        .user = spec->user_name,
        .job_name = spec->name,
    };
    _cleanup_str_ struct str out = STR_INIT, path = STR_INIT;
    if (pattern_expand(pattern, &v, &out, NULL))
        return NULL;
    if (*str_cstr(&out) != '/' && spec->work_dir)
        str_printf(&path, "%s/", spec->work_dir);
    str_puts(&path, str_cstr(&out));
    return arena_strdup(arena, str_cstr(&path));
}

void facts_put_streams(const struct control *c, const struct job *j, const Pb__JobSpec *spec,
                       Pb__JobFacts *m, struct arena *arena)
{
    const char *out = spec->std_out ? spec->std_out
                      : !j->batch   ? NULL
                      : j->array    ? "slurm-%A_%a.out"
                                    : "slurm-%j.out";
    const char *errors = spec->std_err ? spec->std_err : out;
    if (errors)
        m->std_err = expand_path(c, j, spec, errors, arena);
    m->std_in = expand_path(c, j, spec, spec->std_in ? spec->std_in : "/dev/null", arena);
    if (out)
        m->std_out = expand_path(c, j, spec, out, arena);
}

/* NULL: the default network. */
static char *network_of(const struct control *c, const struct job *j)
{
    const struct conf_network *net =
        &c->conf->networks.data[conf_network_index(c->conf, j->part->conf.topology)];
    return net == conf_default_network(c->conf) ? NULL : (char *)net->name;
}

Pb__JobFacts *facts_make(struct control *c, const struct job *j, struct arena *arena)
{
    struct str nodes = STR_INIT, cpus = STR_INIT;
    Pb__JobFacts *m = arena_alloc(arena, sizeof(*m));
    const Pb__JobSpec *spec = job_unpack_spec(j, arena);
    pb__job_facts__init(m);
    if (spec)
        take_spec(j, spec, m);
    if (spec && (c->conf->prolog || c->conf->epilog))
        facts_put_streams(c, j, spec, m, arena);
    job_format_nodes(c->cluster, j, &nodes);
    format_cpus(c->cluster, j, &cpus);
    m->nodes = arena_strdup(arena, str_cstr(&nodes));
    m->cpus_per_node = arena_strdup(arena, str_cstr(&cpus));
    SET(m, num_nodes, (uint32_t)attempt_of(j)->alloc.len);
    SET(m, num_tasks, j->want.tasks);
    m->partition = j->part ? (char *)j->part->conf.name : j->part_name;
    m->topology = j->part ? network_of(c, j) : NULL;
    SET(m, submit_at, j->submit_at);
    if (attempt_of(j)->start_at)
        SET(m, start_at, attempt_of(j)->start_at);
    if (job_is_final(j) && attempt_of(j)->end_at)
        SET(m, end_at, attempt_of(j)->end_at);
    else if (attempt_of(j)->start_at && j->limit_sec != INT64_MAX)
        SET(m, end_at, job_ends_at(j, attempt_of(j)->start_at));
    if (j->array)
        put_array(j, m);
    if (j->set)
        put_set(j, m);
    str_done(&nodes);
    str_done(&cpus);
    return m;
}

void facts_put_node(const struct node *n, Pb__StepNode *m)
{
    pb__step_node__init(m);
    m->node = (char *)n->name;
    m->addr = (char *)node_addr(n);
    m->port = n->conf->port;
}

ProtobufCBinaryData facts_pack_cpus(const struct control *c, const struct alloc_node *a,
                                    struct arena *arena)
{
    _cleanup_bitset_ struct bitset *cpus = step_cpus_of_job(c->cluster->nodes.data[a->node], a);
    return step_cpus_pack(cpus, arena);
}

Pb__NodeShare *facts_pack_share(const struct control *c, const struct job *j,
                                const struct alloc_node *a, struct arena *arena)
{
    Pb__NodeShare *s = arena_alloc(arena, sizeof(*s));
    pb__node_share__init(s);
    const struct node *n = c->cluster->nodes.data[a->node];
    s->node = (char *)n->name;
    s->cpus = a->cpus;
    uint32_t usable = whole_cores_usable_cpus(&j->want, n, a->cpus);
    if (usable < a->cpus)
        SET(s, usable_cpus, usable);
    SET(s, mem_mib, alloc_memory_mib(a));
    SET(s, cpu_set, facts_pack_cpus(c, a, arena));
    s->n_gres = a->gres.len;
    s->gres = gres_held_pack(c->cluster, a->gres.data, a->gres.len, arena);
    return s;
}

Pb__NodeAttempt *facts_make_attempt(struct control *c, const struct job *j,
                                    const struct alloc_node *a, struct arena *arena)
{
    Pb__NodeAttempt *m = arena_alloc(arena, sizeof(*m));
    pb__node_attempt__init(m);
    m->job_id = j->id;
    m->restarts = j->restarts;
    m->uid = j->uid;
    m->gid = j->gid;
    m->facts = facts_make(c, j, arena);
    if (a) {
        SET(m, cpus, a->cpus);
        m->share = facts_pack_share(c, j, a, arena);
    }
    return m;
}

static void add_addresses(const struct control *c, const struct job *j, Pb__AllocReply *r,
                          struct arena *arena)
{
    r->addrs = arena_alloc(arena, sizeof(*r->addrs) * (attempt_of(j)->alloc.len + 1));
    vec_foreach (&attempt_of(j)->alloc, a) {
        const struct node *n = c->cluster->nodes.data[a->node];
        Pb__NodeAddr *addr = arena_alloc(arena, sizeof(*addr));
        pb__node_addr__init(addr);
        addr->node = (char *)n->name;
        addr->addr = (char *)node_addr(n);
        addr->port = n->conf->port;
        r->addrs[r->n_addrs++] = addr;
    }
}

/* Also for an ended job, with its former nodes. */
static bool has_nodes(const struct job *j)
{
    return attempt_of(j)->alloc.len > 0;
}

static void put_granted(const struct control *c, struct job *j, Pb__AllocReply *r,
                        struct arena *arena)
{
    _cleanup_str_ struct str nodes = STR_INIT;
    job_pack_live(c->cluster, j);
    const Pb__JobLive *live =
        arena_unpack(arena, &pb__job_live__descriptor, j->live.data, j->live.len);
    job_format_nodes(c->cluster, j, &nodes);
    r->nodes = arena_strdup(arena, str_cstr(&nodes));
    r->alloc = live->alloc;
    r->n_alloc = live->n_alloc;
    SET(r, num_cpus, job_alloc_cpus(j));
    SET(r, num_tasks, j->want.tasks);
    if (j->want.pack)
        SET(r, packs, true);
    SET(r, submit_at_sec, j->submit_at);
    SET(r, start_at_sec, live->start_at);
    if (live->has_end_at)
        SET(r, end_at_sec, live->end_at);
    add_addresses(c, j, r, arena);
}

Pb__AllocReply *facts_make_alloc(const struct control *c, struct job *j, bool granted,
                                 struct arena *arena)
{
    Pb__AllocReply *r = arena_alloc(arena, sizeof(*r));
    pb__alloc_reply__init(r);
    r->job_id = j->id;
    r->granted = granted;
    r->partition = j->part ? (char *)j->part->conf.name : NULL;
    r->spec = job_unpack_spec(j, arena);
    SET(r, time_limit_sec, j->limit_sec);
    if (attempt_of(j)->configuring)
        SET(r, configuring, true);
    if (granted)
        put_granted(c, j, r, arena);
    else
        r->reason = (char *)(j->reason ? job_reason_word(j) : "None");
    return r;
}

/* For a purged component: only its offset is known. */
static Pb__AllocReply *make_unknown(struct arena *arena)
{
    Pb__AllocReply *r = arena_alloc(arena, sizeof(*r));
    pb__alloc_reply__init(r);
    return r;
}

Pb__AllocReply **facts_make_components(const struct control *c, const struct job *j, uint32_t first,
                                       size_t *count, struct arena *arena)
{
    uint32_t end = j->set ? job_set_count(j) : 0;
    if (end <= first) {
        *count = 0;
        return NULL;
    }
    *count = end - first;
    Pb__AllocReply **list = arena_alloc(arena, sizeof(*list) * (end - first));
    assert(list); /* the arena has no budget */
    for (uint32_t i = first; i < end; i++) {
        struct job *component = job_set_component(j, i);
        list[i - first] = component ? facts_make_alloc(c, component, has_nodes(component), arena)
                                    : make_unknown(arena);
    }
    return list;
}

void facts_put_into_order(Pb__NodeOrder *order)
{
    const Pb__NodeAttempt *m = order->attempt;
    if (order->terminate) {
        order->terminate->facts = m->facts;
        order->terminate->has_exit_status = m->has_exit_status;
        order->terminate->exit_status = m->exit_status;
        order->terminate->has_derived_status = m->has_derived_status;
        order->terminate->derived_status = m->derived_status;
    }
    if (order->prepare) {
        order->prepare->facts = m->facts;
        order->prepare->has_cpus = m->has_cpus;
        order->prepare->cpus = m->cpus;
        order->prepare->share = m->share;
    }
    if (order->halt) {
        order->halt->facts = m->facts;
        order->halt->has_cpus = m->has_cpus;
        order->halt->cpus = m->cpus;
    }
    order->attempt = NULL;
}

/* Adds the step's nodes that its job still has: a released node starts nothing of the step,
 * although the reply to a repeated request names the node. */
static void add_nodes(struct control *c, struct job *j, const Pb__StepRecord *step, Pb__Cred *m,
                      struct arena *arena)
{
    m->nodes = arena_alloc(arena, sizeof(*m->nodes) * (step->n_layout + 1));
    for (size_t i = 0; i < step->n_layout; i++) {
        const Pb__StepNode *at = step->layout[i];
        const struct node *n = cluster_find_node(c->cluster, at->node);
        struct job *of =
            at->part < m->n_parts ? cluster_find_job(c->cluster, m->parts[at->part]->job_id) : j;
        if (n && of && alloc_find(of, n->index))
            m->nodes[m->n_nodes++] = step->layout[i];
    }
}

static size_t pack_shares(struct control *c, const struct job *j, Pb__NodeShare ***out,
                          struct arena *arena)
{
    size_t count = 0;
    *out = arena_alloc(arena, sizeof(**out) * (attempt_of(j)->alloc.len + 1));
    vec_foreach (&attempt_of(j)->alloc, a)
        (*out)[count++] = facts_pack_share(c, j, a, arena);
    return count;
}

Pb__CredPart *facts_make_part(struct control *c, const struct job *j, const Pb__StepRecord *step,
                              bool first, struct arena *arena)
{
    Pb__CredPart *m = arena_alloc(arena, sizeof(*m));
    pb__cred_part__init(m);
    m->job_id = j->id;
    m->restarts = j->restarts;
    if (first) {
        m->facts = facts_make(c, j, arena);
        m->n_job_nodes = pack_shares(c, j, &m->job_nodes, arena);
    }
    m->has_exact = step->has_exact;
    m->exact = step->exact;
    m->resv_ports = step->resv_ports;
    m->n_resv_ports = step->n_resv_ports;
    return m;
}

void facts_make_cred(struct control *c, struct job *j, const Pb__StepRecord *step, struct str *cred,
                     uint8_t sig[64])
{
    facts_make_cred_of_parts(c, j, step, NULL, 0, cred, sig);
}

void facts_make_cred_of_parts(struct control *c, struct job *j, const Pb__StepRecord *step,
                              Pb__CredPart **parts, size_t part_count, struct str *cred,
                              uint8_t sig[64])
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    Pb__Cred m = PB__CRED__INIT;
    m.job_id = j->id;
    m.step_id = step->step_id;
    m.restarts = j->restarts;
    m.uid = j->uid;
    m.gid = j->gid;
    m.parts = parts;
    m.n_parts = part_count;
    add_nodes(c, j, step, &m, &arena);
    if (j->id >= JOB_ID_UNALLOCATED)
        SET(&m, unallocated, true);
    m.resv_ports = step->resv_ports;
    m.n_resv_ports = step->n_resv_ports;
    m.has_exact = step->has_exact;
    m.exact = step->exact;
    m.has_cast = m.cast = step->step_id == STEP_ID_EXTERN;
    m.issued_at_ms = c->env->wall_ms(c->env->ctx);
    m.expires_at_ms = m.issued_at_ms + CONTROL_CRED_MS;
    m.cluster = (char *)c->conf->cluster_name;
    SET(&m, epoch, c->epoch);
    m.user_name = spec ? spec->user_name : NULL;
    m.facts = facts_make(c, j, &arena);
    m.n_job_nodes = pack_shares(c, j, &m.job_nodes, &arena);
    pb_pack(&m.base, cred);
    c->env->sign(c->env->ctx, cred->data, cred->len, sig);
}
