/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/pb.h"
#include "sched/plan.h"
#include "sched/why/bounds.h"
#include "sched/why/relax_priv.h"

static const struct {
    const char *word;
    bool by_operator;
} kinds[RELAX_KINDS] = {
#define RELAX(id, word_, operator_) [RELAX_##id] = {word_, operator_},
#include "sched/why/relax.def"
#undef RELAX
};

const char *relax_word(enum relax_kind kind)
{
    return kinds[kind].word;
}

bool relax_by_operator(enum relax_kind kind)
{
    return kinds[kind].by_operator;
}

/* --- which there are -----------------------------------------------------------------------------
 */

static void offer(struct relax_list *out, enum relax_kind kind)
{
    vec_push(&out->list, ((struct relax){.kind = kind}));
}

/* A number below what was asked for. */
static void offer_less(struct relax_list *out, enum relax_kind kind, uint64_t least, uint64_t asked)
{
    if (asked <= least)
        return;
    uint64_t half = asked / 2 > least ? asked / 2 : least;
    vec_push(&out->list,
             ((struct relax){.kind = kind, .least = least, .most = asked - 1, .guess = half}));
}

static void find_limit(const struct job *j, struct relax_list *out)
{
    int64_t most = job_limit_sec(j), allowed = j->part->conf.max_time_sec;
    uint64_t least = j->time_min_sec > 60 ? (uint64_t)(j->time_min_sec + 59) / 60 : 1;
    uint64_t asked = (uint64_t)(most + 59) / 60;
    bool breach = j->limit_sec > allowed;
    if (breach)
        asked = (uint64_t)allowed / 60 + 1;
    offer_less(out, RELAX_TIME_LIMIT, least, asked);
    if (breach && out->list.len)
        vec_last(&out->list).guess = vec_last(&out->list).most;
}

static void find_nodes(const struct job *j, struct relax_list *out)
{
    const struct request *r = &j->want;
    uint32_t asked = r->min_nodes, allowed = j->part->conf.max_nodes, least = 1;
    uint32_t named = r->req ? (uint32_t)bitset_count(r->req) : 0;
    bool breach = asked > allowed;
    if (named > least)
        least = named;
    if (r->constraint && constraint_least_nodes(r->constraint) > least)
        least = constraint_least_nodes(r->constraint);
    if (breach)
        asked = allowed + 1;
    size_t before = out->list.len;
    offer_less(out, RELAX_NODES, least, asked);
    if (breach && out->list.len > before)
        vec_last(&out->list).guess = vec_last(&out->list).most;
}

static void find_memory(const struct cluster *c, const struct job *j, const Pb__JobSpec *s,
                        struct relax_list *out)
{
    uint64_t asked = s->has_mem_per_node_mib  ? s->mem_per_node_mib
                     : s->has_mem_per_cpu_mib ? s->mem_per_cpu_mib
                                              : 0;
    if (!(c->conf->cr & CONF_CR_MEMORY))
        return;
    if (s->has_mem_per_node_mib && asked == 0) /* all that a node has */
        vec_foreach (&c->pool.kinds, k)
            asked = k->nodes && k->mem_mib > asked ? k->mem_mib : asked;
    size_t before = out->list.len;
    const struct conf_part *p = &j->part->conf;
    bool own = p->max_mem_per_cpu_mib || p->max_mem_per_node_mib;
    uint64_t allowed = own ? p->max_mem_per_node_mib : c->conf->max_mem_per_node_mib;
    bool breach = s->has_mem_per_node_mib && allowed && asked > allowed;
    offer_less(out, RELAX_MEMORY, 1, breach ? allowed + 1 : asked);
    if (breach && out->list.len > before)
        vec_last(&out->list).guess = vec_last(&out->list).most;
}

static bool has_text(const char *text)
{
    return text && *text;
}

static void find_texts(const struct job *j, const Pb__JobSpec *s, struct relax_list *out)
{
    uint64_t count;
    if (s->contiguous)
        offer(out, RELAX_CONTIGUOUS);
    if (s->req_switches)
        offer(out, RELAX_SWITCHES);
    if (has_text(s->req_nodes))
        offer(out, RELAX_NODELIST);
    if (has_text(s->exc_nodes))
        offer(out, RELAX_EXCLUDE);
    if (has_text(s->features))
        offer(out, RELAX_FEATURES);
    if (has_text(s->licenses))
        offer(out, RELAX_LICENSES);
    if (s->exclusive && j->want.exclusive)
        offer(out, RELAX_EXCLUSIVE);
    if (relax_gres_is_typed(s->gres))
        offer(out, RELAX_GRES_TYPE);
    if (relax_gres_count(s->gres, &count))
        offer_less(out, RELAX_GRES, 1, count);
    if (relax_gres_count(s->tres_per_job, &count))
        offer_less(out, RELAX_GPUS, 1, count);
    if (relax_gres_count(s->tres_per_task, &count))
        offer_less(out, RELAX_TASK_GRES, 1, count);
    if (s->has_cpus_per_gpu)
        offer_less(out, RELAX_GPU_CPUS, 1, s->cpus_per_gpu);
}

static void find_cores(const Pb__JobSpec *s, struct relax_list *out)
{
    if (s->has_sockets_per_node || s->has_cores_per_socket || s->has_threads_per_core)
        offer(out, RELAX_SHAPE);
    if (s->has_core_spec || s->has_thread_spec)
        offer(out, RELAX_CORE_SPEC);
    if (s->has_ntasks_per_node || s->has_ntasks_per_socket || s->has_ntasks_per_core)
        offer(out, RELAX_TASKS_PER);
}

static bool is_of_rules(enum relax_kind kind)
{
    return kind == RELAX_HOLD || kind == RELAX_BEGIN || kind == RELAX_DEPENDENCY ||
           kind == RELAX_THROTTLE;
}

void relax_find(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                uint32_t wanted, struct relax_list *out)
{
    size_t left = 0;
    for (int kind = 0; kind < RELAX_KINDS; kind++)
        if (is_of_rules((enum relax_kind)kind))
            offer(out, (enum relax_kind)kind);
    find_limit(j, out);
    find_texts(j, spec, out);
    find_memory(c, j, spec, out);
    find_nodes(j, out);
    if (spec->has_cpus_per_task)
        offer_less(out, RELAX_CPUS, 1, spec->cpus_per_task);
    if (j->want.tasks_given && spec->num_tasks > j->want.min_nodes)
        offer_less(out, RELAX_TASKS, j->want.min_nodes, spec->num_tasks);
    find_cores(spec, out);
    vec_foreach (&out->list, r)
        if (wanted & UINT32_C(1) << r->kind)
            out->list.data[left++] = *r;
    out->list.len = left;
}

/* --- the job as it would be ----------------------------------------------------------------------
 */

bool relax_counts_tasks(const Pb__JobSpec *spec)
{
    return spec->has_num_tasks && spec->num_tasks;
}

uint32_t relax_tasks(const struct job *j, const Pb__JobSpec *spec, uint64_t nodes)
{
    uint64_t tasks = spec->num_tasks * nodes, of = j->want.min_nodes;
    return (uint32_t)((tasks + of - 1) / of);
}

/* What goes altogether; false: it is none of these. */
static bool leave_out(Pb__JobSpec *s, enum relax_kind kind)
{
    switch (kind) {
    case RELAX_CONTIGUOUS:
        s->has_contiguous = false;
        return true;
    case RELAX_SWITCHES:
        s->has_req_switches = false;
        return true;
    case RELAX_NODELIST:
        s->req_nodes = NULL;
        return true;
    case RELAX_EXCLUDE:
        s->exc_nodes = NULL;
        return true;
    case RELAX_FEATURES:
        s->features = NULL;
        return true;
    case RELAX_LICENSES:
        s->licenses = NULL;
        return true;
    case RELAX_SHAPE:
        s->has_sockets_per_node = s->has_cores_per_socket = s->has_threads_per_core = false;
        return true;
    case RELAX_CORE_SPEC:
        s->has_core_spec = s->has_thread_spec = false;
        return true;
    case RELAX_TASKS_PER:
        s->has_ntasks_per_node = s->has_ntasks_per_socket = s->has_ntasks_per_core = false;
        return true;
    default:
        return false;
    }
}

static void change(const struct job *j, Pb__JobSpec *s, const struct relax *r, uint64_t number,
                   struct arena *arena)
{
    if (leave_out(s, r->kind))
        return;
    switch (r->kind) {
    case RELAX_GRES_TYPE:
        s->gres = relax_gres_untyped(arena, s->gres);
        break;
    case RELAX_GRES:
        s->gres = relax_gres_with(arena, s->gres, number);
        break;
    case RELAX_GPUS:
        s->tres_per_job = relax_gres_with(arena, s->tres_per_job, number);
        break;
    case RELAX_TASK_GRES:
        s->tres_per_task = relax_gres_with(arena, s->tres_per_task, number);
        break;
    case RELAX_GPU_CPUS:
        SET(s, cpus_per_gpu, (uint32_t)number);
        break;
    case RELAX_EXCLUSIVE:
        s->has_exclusive = false;
        SET(s, oversubscribe, true);
        break;
    case RELAX_MEMORY:
        if (s->has_mem_per_node_mib)
            s->mem_per_node_mib = number;
        else
            s->mem_per_cpu_mib = number;
        break;
    case RELAX_CPUS:
        SET(s, cpus_per_task, (uint32_t)number);
        break;
    case RELAX_TASKS:
        SET(s, num_tasks, (uint32_t)number);
        break;
    case RELAX_NODES:
        if (relax_counts_tasks(s))
            s->num_tasks = relax_tasks(j, s, number);
        SET(s, min_nodes, (uint32_t)number);
        SET(s, max_nodes, (uint32_t)number);
        break;
    case RELAX_PARTITION:
        s->partition = (char *)r->part->conf.name;
        break;
    default: /* not of the request, or its limit */
        break;
    }
}

int64_t relax_limit_sec(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
                        uint64_t number)
{
    if (r && r->kind == RELAX_TIME_LIMIT)
        return (int64_t)number * 60;
    if (r && r->kind == RELAX_PARTITION && !spec->has_time_limit_sec &&
        j->limit_sec > r->part->conf.max_time_sec)
        return r->part->conf.max_time_sec;
    return j->limit_sec;
}

int relax_make(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
               const struct relax *r, uint64_t number, struct job_copy *copy)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec changed = *spec;
    enum reason reason;
    copy->job = (struct job){.id = j->id,
                             .uid = j->uid,
                             .gid = j->gid,
                             .array = j->array,
                             .part = j->part,
                             .rank = j->rank,
                             .priority = j->priority,
                             .switches_since = j->switches_since,
                             .switches_waived = j->switches_waived};
    if (r)
        change(j, &changed, r, number, &arena);
    if (r && r->kind == RELAX_PARTITION)
        copy->job.part = c->parts.data[r->part->at];
    if (r && r->kind == RELAX_THROTTLE)
        copy->job.array = NULL;
    vec_foreach (&j->resvs, in)
        vec_push(&copy->job.resvs, *in);
    int rc = job_read_spec(c, &copy->job, &changed, NULL);
    copy->job.state = PB__JOB_STATE__PENDING;
    copy->job.limit_sec = relax_limit_sec(j, spec, r, number);
    if (rc == 0 && r)
        rc = bounds_breach(c->conf, &copy->job, &reason) ? -ERR_RANGE : 0;
    if (rc == 0 && r)
        rc = select_possible(c, &copy->job, NULL);
    if (rc == 0 && r)
        rc = license_possible(c, &copy->job, NULL);
    if (rc != 0)
        relax_done(copy);
    return rc;
}

void relax_done(struct job_copy *copy)
{
    request_done(&copy->job.want);
    vec_done(&copy->job.resvs);
    free(take_ptr(copy->job.waits.name));
}
