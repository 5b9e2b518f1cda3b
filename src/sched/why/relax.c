/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/why/relax.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "base/words.h"
#include "cluster/node/topo.h"
#include "sched/plan.h"
#include "sched/plan/gate.h"
#include "sched/select/select.h"

static const struct {
    const char *word;
    bool by_operator;
} kinds[RELAX_KINDS] = {
#define RELAX(id, word_, operator_) [RELAX_##id] = {word_, operator_},
#include "sched/why/relax.def"
#undef RELAX
};

/* --- gres ----------------------------------------------------------------------------------------
 */

/* A word of "gpu:a100:2": its name, its type (if any) and its count. */
struct gres_word {
    char name[64], type[64];
    uint64_t count;
};

/* Parses like gres_parse(). False: not such a word. */
static bool read_gres(const char *text, size_t len, struct gres_word *w)
{
    char copy[192], *save = NULL;
    *w = (struct gres_word){.count = 1};
    if (len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    char *at = str_starts(copy, "gres:") || str_starts(copy, "gres/") ? copy + 5 : copy;
    const char *name = strtok_r(at, ":=", &save), *second = strtok_r(NULL, ":=", &save),
               *third = strtok_r(NULL, ":=", &save);
    if (!name || strtok_r(NULL, ":=", &save) || strlen(name) >= sizeof w->name)
        return false;
    snprintf(w->name, sizeof w->name, "%s", name);
    const char *count = third ? third : second && isdigit((unsigned char)*second) ? second : NULL;
    const char *type = second == count ? NULL : second;
    if (count && size_parse_count(count, GRES_COUNT_MAX, &w->count, NULL) != 0)
        return false;
    if (type && strlen(type) >= sizeof w->type)
        return false;
    if (type)
        snprintf(w->type, sizeof w->type, "%s", type);
    return true;
}

static const char *relax_gres_last(const char *text)
{
    const char *comma = text ? strrchr(text, ',') : NULL;
    return comma ? comma + 1 : text;
}

static bool relax_gres_count(const char *text, uint64_t *count)
{
    const char *last = relax_gres_last(text);
    struct gres_word w;
    if (!last || !*last || !read_gres(last, strlen(last), &w))
        return false;
    *count = w.count;
    return true;
}

static bool relax_gres_is_typed(const char *text)
{
    struct gres_word g;
    words_foreach (text, w)
        if (read_gres(w.at, w.len, &g) && *g.type)
            return true;
    return false;
}

static void put_relaxed_gres(struct str *out, const struct gres_word *w, bool typed)
{
    typed = typed && *w->type;
    str_printf(out, "%s%s%s:%llu", w->name, typed ? ":" : "", typed ? w->type : "",
               (unsigned long long)w->count);
}

static char *relax_gres_untyped(struct arena *arena, const char *text)
{
    struct gres_word g;
    _cleanup_str_ struct str out = STR_INIT;
    words_foreach (text, w) {
        str_puts(&out, out.len ? "," : "");
        if (read_gres(w.at, w.len, &g))
            put_relaxed_gres(&out, &g, false);
        else
            str_append(&out, w.at, w.len);
    }
    return arena_strdup(arena, str_cstr(&out));
}

static char *relax_gres_with(struct arena *arena, const char *text, uint64_t count)
{
    struct gres_word g;
    _cleanup_str_ struct str out = STR_INIT;
    const char *last = relax_gres_last(text);
    words_foreach (text, w) {
        str_puts(&out, out.len ? "," : "");
        if (!read_gres(w.at, w.len, &g)) {
            str_append(&out, w.at, w.len);
            continue;
        }
        g.count = w.at == last ? count : g.count;
        put_relaxed_gres(&out, &g, true);
    }
    return arena_strdup(arena, str_cstr(&out));
}

const char *relax_word(enum relax_kind kind)
{
    return kinds[kind].word;
}

bool relax_by_operator(enum relax_kind kind)
{
    return kinds[kind].by_operator;
}

/* --- possible changes ---------------------------------------------------------------------------
 */

static void offer_change(struct relax_list *out, enum relax_kind kind)
{
    vec_push(&out->list, ((struct relax){.kind = kind}));
}

/* Offers numbers below the requested one. */
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

static void find_relaxed_nodes(const struct job *j, struct relax_list *out)
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
    if (!conf_part_counts_memory(c->conf, &j->part->conf))
        return;
    if (s->has_mem_per_node_mib && asked == 0) /* all memory of a node */
        vec_foreach (&c->pool.kinds, k)
            if (k->nodes && (uint64_t)k->amounts.mem_mib > asked)
                asked = (uint64_t)k->amounts.mem_mib;
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
        offer_change(out, RELAX_CONTIGUOUS);
    if (s->req_switches)
        offer_change(out, RELAX_SWITCHES);
    if (has_text(s->req_nodes))
        offer_change(out, RELAX_NODELIST);
    if (has_text(s->exc_nodes))
        offer_change(out, RELAX_EXCLUDE);
    if (has_text(s->features))
        offer_change(out, RELAX_FEATURES);
    if (has_text(s->licenses))
        offer_change(out, RELAX_LICENSES);
    if (s->exclusive && j->want.exclusive)
        offer_change(out, RELAX_EXCLUSIVE);
    if (relax_gres_is_typed(s->gres))
        offer_change(out, RELAX_GRES_TYPE);
    if (relax_gres_count(s->gres, &count))
        offer_less(out, RELAX_GRES, 1, count);
    if (relax_gres_count(s->tres_per_job, &count)) /* each of its nodes has at least one */
        offer_less(out, RELAX_GPUS, s->min_nodes > 1 ? s->min_nodes : 1, count);
    if (relax_gres_count(s->tres_per_task, &count))
        offer_less(out, RELAX_TASK_GRES, 1, count);
    if (s->has_cpus_per_gpu)
        offer_less(out, RELAX_GPU_CPUS, 1, s->cpus_per_gpu);
}

static void find_cores(const Pb__JobSpec *s, struct relax_list *out)
{
    if (s->has_sockets_per_node || s->has_cores_per_socket || s->has_threads_per_core)
        offer_change(out, RELAX_SHAPE);
    if (s->has_core_spec || s->has_thread_spec)
        offer_less(out, RELAX_CORE_SPEC, 0, s->has_core_spec ? s->core_spec : s->thread_spec);
    if (s->has_ntasks_per_node || s->has_ntasks_per_socket || s->has_ntasks_per_core)
        offer_change(out, RELAX_TASKS_PER);
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
            offer_change(out, (enum relax_kind)kind);
    find_limit(j, out);
    find_texts(j, spec, out);
    find_memory(c, j, spec, out);
    find_relaxed_nodes(j, out);
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

/* --- the changed job ----------------------------------------------------------------------------
 */

static bool relax_counts_tasks(const Pb__JobSpec *spec)
{
    return spec->has_num_tasks && spec->num_tasks;
}

static uint32_t relax_tasks(const struct job *j, const Pb__JobSpec *spec, uint64_t nodes)
{
    uint64_t tasks = spec->num_tasks * nodes, of = j->want.min_nodes;
    return (uint32_t)((tasks + of - 1) / of);
}

/* Removes the constraint entirely; false: the kind has a number. */
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
    case RELAX_TASKS_PER:
        s->has_ntasks_per_node = s->has_ntasks_per_socket = s->has_ntasks_per_core = false;
        return true;
    default:
        return false;
    }
}

static void change_request(const struct job *j, Pb__JobSpec *s, const struct relax *r,
                           uint64_t number, struct arena *arena)
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
    case RELAX_CORE_SPEC:
        if (s->has_core_spec)
            s->core_spec = (uint32_t)number;
        else
            s->thread_spec = (uint32_t)number;
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
    default: /* not a part of the request, or its limit */
        break;
    }
}

static int64_t relax_limit_sec(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
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
    /* The set may be the reason why the job does not share. */
    copy->job = (struct job){.id = j->id,
                             .uid = j->uid,
                             .gid = j->gid,
                             .array = j->array,
                             .part = j->part,
                             .set = j->set,
                             .rank = j->rank,
                             .priority = j->priority,
                             .switches_since = j->switches_since,
                             .switches_waived = j->switches_waived};
    if (r)
        change_request(j, &changed, r, number, &arena);
    if (r && r->kind == RELAX_PARTITION)
        copy->job.part = c->parts.data[r->part->at];
    if (r && r->kind == RELAX_THROTTLE)
        copy->job.array = NULL;
    vec_foreach (&j->resvs, in)
        vec_push(&copy->job.resvs, *in);
    int rc = job_read_spec(c, &copy->job, &changed, NULL);
    copy->job.set = NULL;
    copy->job.state = PB__JOB_STATE__PENDING;
    copy->job.limit_sec = relax_limit_sec(j, spec, r, number);
    if (rc == 0 && r)
        rc = gate_find_breach(c->conf, &copy->job, &reason) ? -ERR_RANGE : 0;
    if (rc == 0 && r)
        rc = select_possible(c, &copy->job, NULL);
    if (rc == 0 && r)
        rc = resource_possible(c, &copy->job, NULL);
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

/* --- fit -----------------------------------------------------------------------------------------
 * Which option stands in the way of a request that fits on no nodes, whatever runs on them. */

/* Maximum requests tried for one answer, because any user can ask. */
#define MAKES_MOST 64

struct fit {
    const struct cluster *c;
    const struct job *j;
    const Pb__JobSpec *spec;
    unsigned makes;
};

static bool fits_number(struct fit *f, const struct relax *r, uint64_t number)
{
    struct job_copy as;
    if (f->makes++ >= MAKES_MOST || relax_make(f->c, f->j, f->spec, r, number, &as) != 0)
        return false;
    relax_done(&as);
    return true;
}

/* Finds the fitting number that is nearest to the requested one. */
static bool find_number(struct fit *f, const struct relax *r, uint64_t *number)
{
    uint64_t low = r->least, high = r->most;
    if (!fits_number(f, r, low))
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (fits_number(f, r, middle))
            low = middle;
        else
            high = middle - 1;
    }
    *number = low;
    return true;
}

/* Finds the first change that helps, in the words of relax_say(). */
static bool find_first(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                       struct str *out)
{
    struct fit f = {c, j, spec, 0};
    struct relax_list found = {0};
    uint64_t number = 0;
    bool said = false;
    relax_find(c, j, spec, RELAX_OF_FIT, &found);
    for (size_t i = 0; i < found.list.len && !said; i++) {
        const struct relax *r = &found.list.data[i];
        if (!find_number(&f, r, &number))
            continue;
        _cleanup_str_ struct str command = STR_INIT;
        relax_say(j, spec, r, number, out, &command);
        said = true;
    }
    vec_done(&found.list);
    return said;
}

static int refuse_exclude(const struct cluster *c, const struct job *j, struct err *err)
{
    const struct part *part = j->part;
    const struct topo *topo = select_topo(c, j);
    /* The remaining nodes may not form a placement. */
    bool torus = topo && topo->net->kind == CONF_TOPO_TORUS;
    size_t has = bitset_count(part->nodes), left = has;
    bitset_foreach (part->nodes, i)
        left -= bitset_test(j->want.exc, i);
    if (left)
        return err_set(err, -ERR_NODE_CONFIG,
                       "%s: --exclude leaves %zu of the %zu nodes of partition %s%s%s",
                       err_text(ERR_NODE_CONFIG), left, has, part->conf.name,
                       torus ? ", in no placement of topology " : "", torus ? topo->net->name : "");
    return err_set(err, -ERR_NODE_CONFIG,
                   "%s: --exclude leaves no node of partition %s, which has %zu",
                   err_text(ERR_NODE_CONFIG), part->conf.name, has);
}

int relax_explain_misfit(const struct cluster *c, const struct job *j, const Pb__JobSpec *spec,
                         struct err *err)
{
    _cleanup_str_ struct str what = STR_INIT;
    const char *bare = err_text(ERR_NODE_CONFIG);
    if (err->code != -ERR_NODE_CONFIG || strcmp(err->text, bare) != 0)
        return err->code;
    if (!find_first(c, j, spec, &what))
        return err_set(err, -ERR_NODE_CONFIG,
                       "%s: several options together exceed what partition %s has; no single "
                       "change makes the job fit",
                       bare, j->part->conf.name);
    if (str_eq(str_cstr(&what), RELAX_NO_EXCLUDE))
        return refuse_exclude(c, j, err);
    return err_set(err, -ERR_NODE_CONFIG, "%s: it would fit with %s", bare, str_cstr(&what));
}

/* --- say -----------------------------------------------------------------------------------------
 * A change of a job as people say it, and the command that makes it. */

#define TASKS_SHOWN 64 /* bytes of the array elements in a command */

/* Whether the change applies to all components of the job's set: if components were changed one by
 * one, another one would still block the set. */
static bool is_of_whole_set(const struct job *j, enum relax_kind kind)
{
    bool all = j->set && is_of_rules(kind);
    for (uint32_t i = 0; all && i < job_set_count(j); i++) {
        const struct job *other = job_set_component(j, i);
        all = other && (kind == RELAX_HOLD    ? other->held
                        : kind == RELAX_BEGIN ? other->begin_at > 0
                                              : other->waits.on != NULL);
    }
    return all;
}

static void put_id(const struct job *j, enum relax_kind kind, struct str *out)
{
    _cleanup_str_ struct str tasks = STR_INIT;
    bool few = idset_cost(&j->tasks) <= TASKS_SHOWN;
    if (j->array && few)
        idset_format(&j->tasks, &tasks);
    if (j->set) {
        const char *id = JOB_ID_TEXT(j);
        size_t len = is_of_whole_set(j, kind) ? strcspn(id, "+") : strlen(id);
        str_append(out, id, len);
    } else if (!j->array)
        str_printf(out, "%u", j->id);
    else if (!j->tasks.count)
        str_printf(out, "%u_%u", j->array->id, j->task);
    else if (few && tasks.len <= TASKS_SHOWN)
        str_printf(out, "%u_[%s]", j->array->id, str_cstr(&tasks));
    else
        str_printf(out, "%u", j->array->id);
}

static void put_relaxed_key(const struct job *j, enum relax_kind kind, const char *key,
                            const char *value, struct str *command)
{
    str_puts(command, "scontrol update JobId=");
    put_id(j, kind, command);
    str_printf(command, " %s=%s", key, value);
}

struct saying {
    const char *key, *value, *what;
};

static void say_number(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
                       unsigned long long n, struct str *what, struct str *command)
{
    const char *key = "TimeLimit", *plural = n == 1 ? "" : "s";
    char value[TIME_TEXT_MAX];
    snprintf(value, sizeof value, "%llu", n);
    if (r->kind == RELAX_TIME_LIMIT) {
        time_format_short((int64_t)n * 60, value);
        str_printf(what, "a time limit of %s", value);
    } else if (r->kind == RELAX_NODES) {
        key = "NumNodes";
        str_printf(what, "%llu node%s", n, plural);
    } else if (r->kind == RELAX_TASKS) {
        key = "NumTasks";
        str_printf(what, "%llu task%s", n, plural);
    } else if (r->kind == RELAX_CPUS) {
        key = "CPUsPerTask";
        str_printf(what, "%llu CPU%s for a task", n, plural);
    } else if (r->kind == RELAX_MEMORY) {
        key = spec->has_mem_per_node_mib ? "MinMemoryNode" : "MinMemoryCPU";
        str_printf(what, "%llu MiB of memory for a %s", n,
                   spec->has_mem_per_node_mib ? "node" : "CPU");
    } else {
        key = "Priority";
        str_printf(what, "a priority of %llu", n);
    }
    put_relaxed_key(j, r->kind, key, value, command);
    if (r->kind == RELAX_NODES && relax_counts_tasks(spec)) {
        uint32_t tasks = relax_tasks(j, spec, n);
        str_printf(what, " and %u task%s", tasks, tasks == 1 ? "" : "s");
        str_printf(command, " NumTasks=%u", tasks);
    }
}

/* Returns the rest of a list without "gpu:", as options for GPUs write it. */
static const char *of_gpus(const char *text)
{
    return str_starts(text, "gpu:") ? text + 4 : text;
}

/* Writes the option from which the GRES come: --gpus-per-node follows the GRES of --gres. */
static void say_node_gres(const Pb__JobSpec *spec, const char *text, struct str *what)
{
    const char *gpus = spec->gpus_per_node && *spec->gpus_per_node ? relax_gres_last(text) : NULL;
    size_t len = gpus ? (size_t)(gpus - text) : strlen(text);
    if (len)
        str_printf(what, "--gres=%.*s", (int)(gpus ? len - 1 : len), text);
    if (gpus)
        str_printf(what, "%s--gpus-per-node=%s", len ? " " : "", of_gpus(gpus));
}

static void say_gres(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
                     uint64_t number, struct str *what, struct str *command)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (r->kind == RELAX_GPUS) {
        str_printf(what, "--gpus=%s", of_gpus(relax_gres_with(&arena, spec->tres_per_job, number)));
        return;
    }
    if (r->kind == RELAX_TASK_GRES) {
        const char *list = relax_gres_with(&arena, spec->tres_per_task, number);
        bool gpus = str_starts(list, "gpu:") && !strchr(list, ',');
        str_printf(what, gpus ? "--gpus-per-task=%s" : "--tres-per-task=gres/%s",
                   gpus ? of_gpus(list) : list);
        return;
    }
    const char *text = r->kind == RELAX_GRES_TYPE ? relax_gres_untyped(&arena, spec->gres)
                                                  : relax_gres_with(&arena, spec->gres, number);
    say_node_gres(spec, text, what);
    put_relaxed_key(j, r->kind, "Gres", text, command);
}

static void say_partition(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
                          struct str *what, struct str *command)
{
    char limit[TIME_TEXT_MAX];
    int64_t sec = relax_limit_sec(j, spec, r, 0);
    str_printf(what, "partition %s", r->part->conf.name);
    put_relaxed_key(j, r->kind, "Partition", r->part->conf.name, command);
    if (sec == j->limit_sec)
        return;
    time_format_short(sec, limit);
    str_printf(what, " and a time limit of %s", limit);
    str_printf(command, " TimeLimit=%s", limit);
}

/* Changes without a number. */
static const struct saying sayings[RELAX_KINDS] = {
    [RELAX_HOLD] = {NULL, NULL, "a release"},
    [RELAX_BEGIN] = {"StartTime", "now", "no time to begin at"},
    [RELAX_DEPENDENCY] = {"Dependency", "", "no dependency"},
    [RELAX_CONTIGUOUS] = {"Contiguous", "no", "nodes that need not be in a row"},
    [RELAX_SWITCHES] = {"ReqSwitch", "0", "any number of switches"},
    [RELAX_NODELIST] = {"ReqNodeList", "", "no node that it requires"},
    [RELAX_EXCLUDE] = {"ExcNodeList", "", RELAX_NO_EXCLUDE},
    [RELAX_FEATURES] = {"Features", "", "no feature that it requires"},
    [RELAX_EXCLUSIVE] = {"OverSubscribe", "YES", "nodes that it shares"},
    [RELAX_LICENSES] = {"Licenses", "", "no licences"},
    [RELAX_TASKS_PER] = {NULL, NULL, "any number of tasks on a node, a socket and a core"},
};

/* Writes the requested shape; --hint=nomultithread means one thread per core. */
static void say_shape(const Pb__JobSpec *spec, struct str *what)
{
    const struct {
        bool given;
        const char *word;
    } parts[] = {
        {spec->has_sockets_per_node, "sockets"},
        {spec->has_cores_per_socket, "cores of a socket"},
        {spec->has_threads_per_core, "threads of a core"},
    };
    const char *comma = "any number of ";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].given) {
            str_printf(what, "%s%s", comma, parts[i].word);
            comma = ", ";
        }
}

void relax_say(const struct job *j, const Pb__JobSpec *spec, const struct relax *r, uint64_t number,
               struct str *what, struct str *command)
{
    const struct saying *s = &sayings[r->kind];
    if (s->what) {
        str_puts(what, s->what);
        if (s->key) {
            put_relaxed_key(j, r->kind, s->key, s->value, command);
        } else if (r->kind == RELAX_HOLD) {
            str_puts(command, "scontrol release ");
            put_id(j, r->kind, command);
        }
    } else if (r->kind == RELAX_THROTTLE) {
        str_printf(what, "%u elements of the array at a time", j->array->throttle + 1);
        str_printf(command, "scontrol update JobId=%u ArrayTaskThrottle=%u", j->array->id,
                   j->array->throttle + 1);
    } else if (r->kind == RELAX_GPU_CPUS) {
        str_printf(what, "--cpus-per-gpu=%llu", (unsigned long long)number);
    } else if (r->kind == RELAX_CORE_SPEC) {
        str_printf(what, "--%s-spec=%llu", spec->has_core_spec ? "core" : "thread",
                   (unsigned long long)number);
    } else if (r->kind == RELAX_SHAPE) {
        say_shape(spec, what);
    } else if (r->kind == RELAX_PARTITION) {
        say_partition(j, spec, r, what, command);
    } else if (r->kind == RELAX_GRES || r->kind == RELAX_GRES_TYPE || r->kind == RELAX_GPUS ||
               r->kind == RELAX_TASK_GRES) {
        say_gres(j, spec, r, number, what, command);
    } else {
        say_number(j, spec, r, number, what, command);
    }
}
