/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A job's request. request_parse() reads each text of a spec, once, and the numbers that follow
 * from one another; request_complete() adds what a partition gives. What is wrong with a request is
 * known after the first: it is the same in all partitions.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/signame.h"
#include "base/size.h"
#include "base/words.h"
#include "cluster/cluster.h"
#include "cluster/job/request.h"

/* Words of a single event in the order of Slurm's listings, then those of none and of several. */
static const struct {
    const char *word;
    unsigned mail;
} mail_words[] = {
    {"INVALID_DEPEND", JOB_MAIL_INVALID_DEPEND},
    {"BEGIN", JOB_MAIL_BEGIN},
    {"END", JOB_MAIL_END},
    {"FAIL", JOB_MAIL_FAIL},
    {"REQUEUE", JOB_MAIL_REQUEUE},
    {"STAGE_OUT", JOB_MAIL_STAGE_OUT},
    {"TIME_LIMIT", JOB_MAIL_LIMIT},
    {"TIME_LIMIT_90", JOB_MAIL_LIMIT_90},
    {"TIME_LIMIT_80", JOB_MAIL_LIMIT_80},
    {"TIME_LIMIT_50", JOB_MAIL_LIMIT_50},
    {"ARRAY_TASKS", JOB_MAIL_TASKS},
    {"NONE", 0},
    {"ALL", JOB_MAIL_BEGIN | JOB_MAIL_END | JOB_MAIL_FAIL | JOB_MAIL_INVALID_DEPEND |
                JOB_MAIL_REQUEUE | JOB_MAIL_STAGE_OUT},
};
#define MAIL_WORDS (sizeof mail_words / sizeof mail_words[0])

bool request_parse_mail(const char *list, unsigned *mail)
{
    bool none = false;
    *mail = 0;
    words_foreach (list, w) {
        size_t i = 0;
        for (; i < MAIL_WORDS; i++)
            if (word_case_eq(w, mail_words[i].word))
                break;
        if (i == MAIL_WORDS && w.len)
            return false;
        *mail |= w.len ? mail_words[i].mail : 0;
        none |= word_case_eq(w, "NONE");
    }
    if (none) /* overrides all other words */
        *mail = 0;
    return true;
}

void request_format_mail(unsigned mail, struct str *out)
{
    const char *comma = "";
    for (size_t i = 0; i < MAIL_WORDS && mail_words[i].mail; i++) {
        if (!(mail & mail_words[i].mail))
            continue;
        str_printf(out, "%s%s", comma, mail_words[i].word);
        comma = ",";
    }
}

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

const char *request_exclusive_word(bool topo_alone, bool exclusive, bool user_alone)
{
    return topo_alone ? "TOPO" : exclusive ? "NODE" : user_alone ? "USER" : "NO";
}

const char *request_oversubscribe_word(bool asked, bool exclusive, bool shares)
{
    return exclusive && !shares ? "NO" : asked ? "YES" : "OK";
}

void request_done(struct request *r)
{
    bitset_free(r->req);
    bitset_free(r->exc);
    if (r->sizes)
        idset_done(r->sizes);
    free(r->sizes);
    free(r->features);
    free(r->prefer);
    constraint_free(r->constraint);
    constraint_free(r->preferred);
    gres_wants_done(&r->gres);
    license_needs_done(&r->licenses);
}

/* A further one that is the same; 'to' is overwritten. */
static void copy_request(const struct request *from, struct request *to)
{
    *to = *from;
    to->req = from->req ? bitset_dup(from->req) : NULL;
    to->exc = from->exc ? bitset_dup(from->exc) : NULL;
    if (from->sizes) {
        to->sizes = mem_new(struct idset);
        idset_copy(to->sizes, from->sizes);
    }
    to->features = mem_strdup(from->features);
    to->prefer = mem_strdup(from->prefer);
    to->constraint = constraint_share(from->constraint);
    to->preferred = constraint_share(from->preferred);
    gres_wants_copy(&from->gres, &to->gres);
    license_needs_copy(&from->licenses, &to->licenses);
}

void request_drop_licenses(struct parsed_request *p)
{
    license_needs_done(&p->request.licenses);
    p->request.licenses = (struct license_needs){0};
}

void request_parsed_done(struct parsed_request *p)
{
    request_done(&p->request);
}

bool request_is_bound(const struct request *r)
{
    return r->gres_binding == GRES_BINDING_ENFORCED && r->gres.list.len && !r->exclusive &&
           !r->shared;
}

/* --- nodes and tasks ---------------------------------------------------------------------------
 */

static uint64_t divide_up(uint64_t what, uint64_t by)
{
    return what / by + (what % by != 0); /* adding first would wrap for what a client may send */
}

static int parse_node_lists(const struct cluster *c, struct request *r, const Pb__JobSpec *s,
                            struct err *err)
{
    int rc = 0;
    if (s->req_nodes && *s->req_nodes)
        rc = cluster_node_set(c, s->req_nodes, &r->req, err);
    if (rc == 0 && s->exc_nodes && *s->exc_nodes)
        rc = cluster_node_set(c, s->exc_nodes, &r->exc, err);
    return rc;
}

/* What an option asks of features; NULL: nothing. */
static int parse_features(const char *text, const char *option, char **copy,
                          struct constraint **con, struct err *err)
{
    if (!text || !*text)
        return 0;
    int rc = constraint_parse(text, option, con, err);
    if (rc == 0)
        *copy = mem_strdup(text);
    return rc;
}

static int parse_host(struct request *r, const char *text, struct err *err)
{
    struct constraint *host = NULL;
    r->chooses_host = text && *text;
    if (!r->chooses_host)
        return 0;
    int rc = constraint_parse(text, "--batch=", &host, err);
    if (rc == 0)
        rc = constraint_check_host(host, r->constraint, err);
    constraint_free(host);
    return rc;
}

/* More than any network has is as good. */
static uint16_t small_count(uint32_t count)
{
    return count < UINT16_MAX ? (uint16_t)count : UINT16_MAX;
}

/* Of what kind its nodes are and where they lie. */
static int parse_place(struct request *r, const Pb__JobSpec *s, struct err *err)
{
    int rc = parse_features(s->features, "", &r->features, &r->constraint, err);
    if (rc == 0)
        rc = parse_features(s->prefer, "--prefer=", &r->prefer, &r->preferred, err);
    if (rc == 0)
        rc = parse_host(r, s->batch_features, err);
    uint32_t least = constraint_least_nodes(r->constraint);
    if (rc == 0 && s->has_max_nodes && s->max_nodes && least > s->max_nodes)
        rc = err_set(err, -ERR_FEATURE, "%s: %s asks for %u nodes, the job has %u at most",
                     err_text(ERR_FEATURE), r->features, least, s->max_nodes);
    r->switches = small_count(s->req_switches);
    r->switches_sec = s->has_wait_switch_sec ? s->wait_switch_sec : INT64_MAX;
    r->spread = s->has_spread && s->spread;
    r->segment = small_count(s->segment_size);
    r->segments_apart = s->spread_segments;
    r->segments_together = s->consolidate_segments;
    r->unattended = s->has_unattended && s->unattended;
    r->use_min_nodes = s->has_use_min_nodes && s->use_min_nodes;
    return rc;
}

int request_parse_sizes(const char *text, struct idset *out, struct err *err)
{
    struct idset sizes = {0};
    bool good = strlen(text) <= REQUEST_SIZES_TEXT &&
                idset_parse(text, REQUEST_SIZES_MAX + 1, &sizes, NULL) == 0 && !sizes.bits &&
                sizes.runs.len <= REQUEST_SIZES_RUNS;

    if (good)
        idset_move(out, &sizes);
    idset_done(&sizes);
    return good ? 0
                : err_set(
                      err, -ERR_NODE_COUNT,
                      "%s: use at most %u numbers and ranges, up to %u, in a list of node counts",
                      err_text(ERR_NODE_COUNT), REQUEST_SIZES_RUNS, REQUEST_SIZES_MAX);
}

/* --nodes=1,3; an exact number, from elsewhere, counts more. */
static int parse_sizes(struct request *r, const Pb__JobSpec *s, struct err *err)
{
    bool exact = s->has_min_nodes && s->has_max_nodes && s->min_nodes == s->max_nodes;
    if (exact || !s->job_size_str || !*s->job_size_str)
        return 0;
    r->sizes = mem_new(struct idset);
    return request_parse_sizes(s->job_size_str, r->sizes, err);
}

/* The next count that it may have. */
static void raise_to_size(struct request *r)
{
    int64_t next = r->sizes ? idset_next(r->sizes, r->min_nodes) : r->min_nodes;
    r->min_nodes = next < 0 ? UINT32_MAX : (uint32_t)next;
}

/* The greatest counts that it may have; with more nodes than tasks some would have none. */
static void lower_to_sizes(struct request *r)
{
    if (!r->sizes)
        return;
    uint32_t last = idset_last(r->sizes);
    if (r->tasks_given && last > r->tasks)
        last = r->tasks;
    last = last > r->min_nodes ? last : r->min_nodes;
    r->max_nodes = r->max_nodes < last ? r->max_nodes : last;
}

static void count_nodes_and_tasks(struct request *r, const Pb__JobSpec *s)
{
    r->cpus_per_task = OR(s, cpus_per_task, 1) ? OR(s, cpus_per_task, 1) : 1;
    r->ntasks_per_node = OR(s, ntasks_per_node, 0);
    r->tasks_given = s->has_num_tasks && s->num_tasks > 0;
    r->min_nodes = OR(s, min_nodes, 1) ? OR(s, min_nodes, 1) : 1;
    r->max_nodes = OR(s, max_nodes, 0);
    size_t asked = r->req ? bitset_count(r->req) : 0;
    if (asked > r->min_nodes)
        r->min_nodes = (uint32_t)asked;
    uint32_t counted = constraint_least_nodes(r->constraint);
    r->min_nodes = counted > r->min_nodes ? counted : r->min_nodes;
    raise_to_size(r);
    uint32_t per_node = r->ntasks_per_node ? r->ntasks_per_node : 1;
    uint64_t tasks = (uint64_t)r->min_nodes * per_node;
    r->tasks = r->tasks_given ? s->num_tasks : tasks < UINT32_MAX ? (uint32_t)tasks : UINT32_MAX;
    if (r->tasks_given && r->ntasks_per_node) {
        uint32_t needed = (uint32_t)divide_up(r->tasks, r->ntasks_per_node);
        r->min_nodes = needed > r->min_nodes ? needed : r->min_nodes;
        raise_to_size(r);
    }
    if (r->max_nodes < r->min_nodes)
        r->max_nodes = s->has_max_nodes && s->has_min_nodes ? r->min_nodes : UINT32_MAX;
    lower_to_sizes(r);
    bool few = r->use_min_nodes || (r->max_nodes == UINT32_MAX && !(r->spread && r->tasks_given));
    r->good_nodes = few ? r->min_nodes : r->max_nodes;
    if (r->tasks_given && r->good_nodes > r->tasks) /* a node without a task is of no use */
        r->good_nodes = r->tasks > r->min_nodes ? r->tasks : r->min_nodes;
}

static int refuse_sizes(const Pb__JobSpec *s, uint32_t least, struct err *err)
{
    return err_set(err, -ERR_NODE_COUNT, "%s: %s has no node count from %u on",
                   err_text(ERR_NODE_COUNT), s->job_size_str, least);
}

/* It needs more nodes than it may have: of what. */
static int refuse_count(const struct request *r, const Pb__JobSpec *s, struct err *err)
{
    const char *bare = err_text(ERR_NODE_COUNT);
    uint32_t most = s->max_nodes, least = r->min_nodes;
    if (OR(s, min_nodes, 1) == least)
        return err_set(err, -ERR_NODE_COUNT, "%s: at least %u nodes asked, and at most %u", bare,
                       least, most);
    if (r->tasks_given && r->ntasks_per_node && divide_up(r->tasks, r->ntasks_per_node) == least)
        return err_set(err, -ERR_NODE_COUNT,
                       "%s: %u tasks, %u on a node, need %u nodes; at most "
                       "%u asked",
                       bare, r->tasks, r->ntasks_per_node, least, most);
    return err_set(err, -ERR_NODE_COUNT, "%s: the %s need %u nodes; at most %u asked", bare,
                   r->req && bitset_count(r->req) == least ? "nodes it requires" : "features",
                   least, most);
}

static int read_counts(struct request *r, const Pb__JobSpec *s, struct err *err)
{
    count_nodes_and_tasks(r, s);
    if (r->sizes && r->min_nodes == UINT32_MAX)
        return refuse_sizes(s, OR(s, min_nodes, 1), err);
    if (s->has_max_nodes && s->max_nodes && s->max_nodes < r->min_nodes)
        return refuse_count(r, s, err);
    return 0;
}

/* NumCPUs of scontrol update: more CPUs than the tasks need are spread over the nodes; with fewer
 * there are fewer tasks. */
static void read_cpu_count(struct request *r, const Pb__JobSpec *s)
{
    uint64_t needed = (uint64_t)r->tasks * r->cpus_per_task;
    r->min_cpus = OR(s, min_cpus_per_node, 0);
    r->cpus = OR(s, min_cpus, 0);
    if (!r->cpus)
        return;
    if (s->min_cpus < needed) {
        uint32_t tasks = s->min_cpus / r->cpus_per_task;
        r->tasks = tasks > r->min_nodes ? tasks : r->min_nodes;
        return;
    }
    uint32_t per_node = (uint32_t)divide_up(s->min_cpus, r->min_nodes);
    r->min_cpus = per_node > r->min_cpus ? per_node : r->min_cpus;
}

static void read_cores(const struct cluster *c, struct request *r, const Pb__JobSpec *s,
                       const struct dist *d)
{
    r->sockets = OR(s, sockets_per_node, 0);
    r->cores = OR(s, cores_per_socket, 0);
    r->threads = OR(s, threads_per_core, 0);
    r->use_threads = (uint16_t)(r->threads < UINT16_MAX ? r->threads : UINT16_MAX);
    r->tasks_per_socket = OR(s, ntasks_per_socket, 0);
    r->tasks_per_core = OR(s, ntasks_per_core, c->conf->cr & CONF_CR_ONE_TASK ? 1 : 0);
    r->spec_in_threads = OR(s, thread_spec, 0) > 0;
    r->spec = r->spec_in_threads ? s->thread_spec : OR(s, core_spec, 0);
    r->pack = dist_is_packed(d, c->conf->cr & CONF_CR_PACK);
    r->cyclic = d->sockets ? d->sockets != DIST_BLOCK : !(c->conf->cr & CONF_CR_BLOCK);
    r->ask_user_alone = OR(s, exclusive_user, 0);
    r->ask_topo_alone = OR(s, exclusive_topo, 0);
}

/* More memory than any node can have: with less, products do not wrap. */
static_assert(SIZE_MIB_MAX <= AMOUNT_MAX, "a size that is accepted is an amount");

static int check_memory(const Pb__JobSpec *s, struct err *err)
{
    const struct {
        uint64_t mib;
        const char *of;
    } asked[] = {{OR(s, mem_per_node_mib, 0), ""},
                 {OR(s, mem_per_cpu_mib, 0), " per CPU"},
                 {OR(s, mem_per_gpu_mib, 0), " per GPU"}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (asked[i].mib > SIZE_MIB_MAX)
            return err_set(err, -ERR_NODE_CONFIG,
                           "%s: Memory specification can not be satisfied: %lluM%s asked, no node "
                           "has more than %lluT",
                           err_text(ERR_NODE_CONFIG), (unsigned long long)asked[i].mib, asked[i].of,
                           (unsigned long long)(SIZE_MIB_MAX >> 20));
    return 0;
}

/* --- generic resources -------------------------------------------------------------------------
 */

static int refuse_gres(struct err *err, const char *why)
{
    return err_set(err, -ERR_GRES, "%s: %s", err_text(ERR_GRES), why);
}

static uint32_t limit_to_u32(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* --gres-flags: of words that exclude each other the last one holds. allow-task-sharing is about
 * what tasks see. */
static int parse_gres_flags(struct request *r, const char *flags, bool *tasks_are_apart,
                            struct err *err)
{
    static const char *const words[] = {"enforce-binding", "disable-binding",
                                        "multiple-tasks-per-sharing", "one-task-per-sharing",
                                        "allow-task-sharing"};
    words_foreach (flags, w) {
        size_t i = 0;
        while (i < 5 && !word_case_eq(w, words[i]))
            i++;
        if (i == 5)
            return err_set(err, -ERR_GRES, "%s: --gres-flags=%.*s", err_text(ERR_GRES), (int)w.len,
                           w.at);
        if (i < 2)
            r->gres_binding = i == 0 ? GRES_BINDING_ENFORCED : GRES_BINDING_ANY;
        if (i == 2 || i == 3)
            *tasks_are_apart = i == 3;
    }
    return 0;
}

/* With a number of sockets, tasks per socket give tasks per node. */
static int parse_per_socket(const struct cluster *c, struct request *r, const Pb__JobSpec *s,
                            struct err *err)
{
    struct gres_wants wants = {0};
    if (!s->tres_per_socket || !*s->tres_per_socket)
        return 0;
    if (!OR(s, sockets_per_node, 0))
        return refuse_gres(err, "resources per socket need --sockets-per-node");
    int rc = gres_parse(c, s->tres_per_socket, GRES_PER_NODE, &wants, err);
    _cleanup_str_ struct str text = STR_INIT;
    vec_foreach (&wants.list, w) {
        uint64_t count = w->per_node * s->sockets_per_node;
        uint64_t asked = gres_wanted_type(&r->gres, w->name, w->type, GRES_PER_NODE);
        if (rc == 0 && asked && asked != count)
            rc = err_set(err, -ERR_GRES,
                         "%s: %llu of each socket (--gpus-per-socket) of %u (--sockets-per-node) "
                         "are not the %llu of each node (--gpus-per-node, --gres)",
                         err_text(ERR_GRES), (unsigned long long)w->per_node, s->sockets_per_node,
                         (unsigned long long)asked);
        if (!asked)
            str_printf(&text, "%s%s%s%s:%llu", text.len ? "," : "", w->name, w->type ? ":" : "",
                       w->type ? w->type : "", (unsigned long long)count);
    }
    gres_wants_done(&wants);
    return rc == 0 ? gres_parse(c, str_cstr(&text), GRES_PER_NODE, &r->gres, err) : rc;
}

static struct request_gpus count_gpus(const struct request *r)
{
    return (struct request_gpus){gres_wanted(&r->gres, "gpu", GRES_PER_NODE),
                                 gres_wanted(&r->gres, "gpu", GRES_PER_TASK),
                                 gres_wanted(&r->gres, "gpu", GRES_PER_JOB)};
}

static void raise_min_nodes(struct request *r, uint32_t nodes)
{
    r->min_nodes = nodes > r->min_nodes ? nodes : r->min_nodes;
    r->good_nodes = r->min_nodes > r->good_nodes ? r->min_nodes : r->good_nodes;
}

/* --gpus-per-node, or --gres, beside --gpus-per-task says how many tasks a node has. */
static int read_views(struct request *r, struct err *err)
{
    uint32_t most = 0;
    int rc = gres_join_views(&r->gres, &most, err);
    if (rc != 0 || !most)
        return rc;
    if (r->ntasks_per_node && r->ntasks_per_node != most)
        return err_set(err, -ERR_GRES,
                       "%s: --gpus-per-node (--gres) and --gpus-per-task make %u tasks of a node, "
                       "--ntasks-per-node says %u",
                       err_text(ERR_GRES), most, r->ntasks_per_node);
    r->ntasks_per_node = most;
    uint32_t nodes = r->tasks_given ? (r->tasks - 1) / r->ntasks_per_node + 1 : r->min_nodes;
    if (nodes > r->max_nodes)
        return refuse_gres(err,
                           "--ntasks is more tasks than the GPUs of --gpus-per-node serve with "
                           "--gpus-per-task on so few --nodes");
    if (!r->tasks_given)
        r->tasks = limit_to_u32((uint64_t)nodes * r->ntasks_per_node);
    raise_min_nodes(r, nodes);
    return 0;
}

/* Nodes are selected for --ntasks-per-gpu tasks on each GPU, unless --ntasks exceeds the tasks of
 * these GPUs. The number of nodes follows from the GPUs per node. */
static void limit_tasks_per_gpu(struct request *r, uint32_t tasks, const struct request_gpus *g)
{
    uint32_t gpus = r->tasks / tasks + (r->tasks % tasks != 0);
    bool hold = g->job ? gpus <= g->job : gpus && (gpus - 1) / g->node < r->max_nodes;
    r->tasks_per_gpu = hold && tasks <= UINT16_MAX ? (uint16_t)tasks : 0;
    if (r->tasks_per_gpu && !g->job)
        raise_min_nodes(r, (uint32_t)((gpus - 1) / g->node) + 1);
}

/* --ntasks-per-gpu: the tasks follow from the GPUs, or the GPUs from the tasks. */
static int read_tasks_per_gpu(const struct cluster *c, struct request *r, const Pb__JobSpec *s,
                              struct request_gpus *g, struct err *err)
{
    uint32_t tasks = OR(s, ntasks_per_gpu, 0);
    if (!tasks)
        return 0;
    if (g->task)
        return refuse_gres(err, "--ntasks-per-gpu and --gpus-per-task exclude each other");
    if (!g->node && !g->job) {
        if (!r->tasks_given)
            return refuse_gres(err, "--ntasks-per-gpu needs a number of GPUs or of tasks");
        if (!gres_known(c, "gpu"))
            return refuse_gres(err, "no node has GPUs");
        if (r->tasks % tasks)
            return err_set(err, -ERR_GRES,
                           "%s: --ntasks=%u is not a multiple of --ntasks-per-gpu=%u",
                           err_text(ERR_GRES), r->tasks, tasks);
        g->job = r->tasks / tasks;
        gres_want(c, &r->gres, "gpu", GRES_PER_JOB, g->job);
        limit_tasks_per_gpu(r, tasks, g);
        return 0;
    }
    if (!r->tasks_given)
        r->tasks = limit_to_u32((g->job ? g->job : g->node * r->min_nodes) * tasks);
    r->tasks_given = true;
    limit_tasks_per_gpu(r, tasks, g);
    return 0;
}

/* "--gpus=4 ..., 2 ...": why a total and a share of it contradict each other. */
static int refuse_total(struct err *err, uint64_t total, const char *share, uint64_t each,
                        const char *why)
{
    return err_set(err, -ERR_GRES, "%s: %llu GPUs in all (--gpus), %llu of each %s: %s",
                   err_text(ERR_GRES), (unsigned long long)total, (unsigned long long)each, share,
                   why);
}

#define OF_NODE "node (--gpus-per-node, --gres)"
#define OF_TASK "task (--gpus-per-task)"

static bool may_have_nodes(const struct request *r, uint32_t nodes)
{
    return nodes >= r->min_nodes && nodes <= r->max_nodes &&
           (!r->sizes || idset_next(r->sizes, nodes) == nodes);
}

static int count_nodes_of_total(struct request *r, uint64_t total, uint64_t each, struct err *err)
{
    if (total % each)
        return refuse_total(err, total, OF_NODE, each, "the total is not a multiple of it");
    uint32_t nodes = limit_to_u32(total / each);
    if (!may_have_nodes(r, nodes)) {
        _cleanup_free_ char *why = mem_printf("this makes %u nodes, the job has %s%u", nodes,
                                              nodes < r->min_nodes ? "at least " : "at most ",
                                              nodes < r->min_nodes ? r->min_nodes : r->max_nodes);
        bool between = nodes >= r->min_nodes && nodes <= r->max_nodes;
        return refuse_total(err, total, OF_NODE, each,
                            between ? "the number of nodes is none of --nodes" : why);
    }
    r->min_nodes = r->max_nodes = r->good_nodes = nodes;
    if (!r->tasks_given)
        r->tasks = limit_to_u32((uint64_t)nodes * (r->ntasks_per_node ? r->ntasks_per_node : 1));
    return 0;
}

static int count_tasks_of_total(struct request *r, uint64_t total, uint64_t each, struct err *err)
{
    if (total % each)
        return refuse_total(err, total, OF_TASK, each, "the total is not a multiple of it");
    uint32_t tasks = limit_to_u32(total / each);
    if ((r->tasks_given && tasks != r->tasks) || tasks < r->min_nodes) {
        bool few = tasks < r->min_nodes;
        _cleanup_free_ char *why =
            mem_printf("this makes %u tasks, the job has %u %s", tasks,
                       few ? r->min_nodes : r->tasks, few ? "nodes or more" : "(--ntasks)");
        return refuse_total(err, total, OF_TASK, each, why);
    }
    r->tasks = tasks;
    r->good_nodes = r->good_nodes > tasks ? tasks : r->good_nodes;
    return 0;
}

/* Each type by itself; then all, which is the same unless the total is of any type. */
static int compare_total(struct request *r, const struct request_gpus *all, struct err *err)
{
    int rc = 0;
    vec_foreach (&r->gres.list, w) {
        if (rc == 0 && w->per_job && w->type && !w->per_node && !w->per_task)
            rc = err_set(err, -ERR_GRES,
                         "%s: --gpus is of the type %s, the GPUs of each node or task are not",
                         err_text(ERR_GRES), w->type);
        if (rc == 0 && w->per_job && w->per_node)
            rc = count_nodes_of_total(r, w->per_job, w->per_node, err);
    }
    if (rc == 0 && all->node)
        rc = count_nodes_of_total(r, all->job, all->node, err);
    if (rc == 0 && all->task)
        rc = count_tasks_of_total(r, all->job, all->task, err);
    return rc;
}

/* --gpus beside --gpus-per-task says how many tasks, beside --gpus-per-node how many nodes. */
static int read_total(struct request *r, struct request_gpus *g, struct err *err)
{
    if (!g->job)
        return 0;
    if (!g->task && !g->node)
        return g->job >= r->min_nodes
                   ? 0
                   : err_set(err, -ERR_GRES,
                             "%s: %llu GPUs in all (--gpus) are not one of each of %u nodes",
                             err_text(ERR_GRES), (unsigned long long)g->job, r->min_nodes);
    int rc = compare_total(r, g, err);
    if (rc != 0)
        return rc;
    r->tasks_given = r->tasks_given || g->task;
    vec_foreach (&r->gres.list, w)
        w->per_job = 0;
    g->job = 0;
    return 0;
}

/* How much of which type each of several nodes gives is no choice by numbers: a total of several
 * types is had from one node. */
static int read_mixed_total(struct request *r, struct request_gpus *g, struct err *err)
{
    size_t types = 0;
    vec_foreach (&r->gres.list, w)
        types += w->per_job > 0;
    if (types < 2)
        return 0;
    if (r->min_nodes > 1)
        return refuse_gres(
            err, "a total of several types is had from one node: --nodes=1, or give them of "
                 "each node with --gpus-per-node");
    vec_foreach (&r->gres.list, w) {
        w->per_node += w->per_job;
        w->per_job = 0;
    }
    r->max_nodes = 1;
    g->node += g->job;
    g->job = 0;
    return 0;
}

static int parse_gres(const struct cluster *c, struct parsed_request *p, const Pb__JobSpec *s,
                      struct err *err)
{
    struct request *r = &p->request;
    if (c->conf->cr & CONF_CR_NEAR_GRES)
        r->gres_binding = GRES_BINDING_ENFORCED;
    bool tasks_are_apart = c->conf->cr & CONF_CR_ONE_PER_SHARED;
    int rc = parse_gres_flags(r, s->gres_flags, &tasks_are_apart, err);
    rc = rc == 0 ? gres_parse(c, s->gres, GRES_PER_NODE, &r->gres, err) : rc;
    rc = rc == 0 ? gres_parse(c, s->tres_per_task, GRES_PER_TASK, &r->gres, err) : rc;
    rc = rc == 0 ? gres_parse(c, s->tres_per_job, GRES_PER_JOB, &r->gres, err) : rc;
    rc = rc == 0 ? parse_per_socket(c, r, s, err) : rc;
    if (rc != 0)
        return rc;
    bool may_be_apart = tasks_are_apart && (c->conf->cr & CONF_CR_SEVERAL_SHARED);
    vec_foreach (&r->gres.list, w)
        w->is_apart = may_be_apart && w->per_task;
    struct request_gpus *g = &p->gpus;
    *g = count_gpus(r);
    rc = read_views(r, err);
    rc = rc == 0 ? read_tasks_per_gpu(c, r, s, g, err) : rc;
    rc = rc == 0 ? read_total(r, g, err) : rc;
    rc = rc == 0 ? read_mixed_total(r, g, err) : rc;
    bool any = g->node || g->task || g->job;
    if (rc == 0 && !any && (OR(s, cpus_per_gpu, 0) || OR(s, mem_per_gpu_mib, 0)))
        return refuse_gres(err, "--cpus-per-gpu and --mem-per-gpu need a number of GPUs");
    return rc;
}

/* --- the whole of it ---------------------------------------------------------------------------
 */

/* "[R][B:]NAME[@SECONDS]", checked by the command; what does not parse here warns of nothing. */
static void parse_warning(struct parsed_request *p, const char *text)
{
    char name[32];
    p->warn_sec = 60;
    if (!text)
        return;
    const char *colon = strchr(text, ':');
    if (colon) {
        p->warn_batch = memchr(text, 'B', (size_t)(colon - text)) != NULL;
        text = colon + 1;
    }
    size_t len = strcspn(text, "@");
    if (len >= sizeof name)
        return;
    memcpy(name, text, len);
    name[len] = 0;
    int number = signame_parse(name);
    p->warn_signal = number > 0 ? (uint32_t)number : 0;
    if (text[len] == '@')
        p->warn_sec = (uint32_t)strtoul(text + len + 1, NULL, 10);
}

int request_parse(const struct cluster *c, const Pb__JobSpec *s, struct parsed_request *out,
                  struct err *err)
{
    struct parsed_request p = {0};
    struct request *r = &p.request;
    int rc = parse_node_lists(c, r, s, err);
    rc = rc == 0 ? parse_place(r, s, err) : rc;
    rc = rc == 0 ? check_memory(s, err) : rc;
    rc = rc == 0 ? parse_sizes(r, s, err) : rc;
    rc = rc == 0 ? read_counts(r, s, err) : rc;
    if (rc == 0) {
        p.has_valid_dist = dist_parse(s->distribution, &p.dist) == 0;
        read_cpu_count(r, s);
        read_cores(c, r, s, &p.dist);
        rc = parse_gres(c, &p, s, err);
    }
    rc = rc == 0 ? license_read(c, s->licenses, &r->licenses, err) : rc;
    if (rc != 0) {
        request_parsed_done(&p);
        return rc;
    }
    r->tmp_mib = OR(s, tmp_per_node_mib, 0);
    r->overcommit = OR(s, overcommit, 0);
    r->contiguous = OR(s, contiguous, 0);
    r->ask_exclusive = OR(s, exclusive, 0) || r->spec || OR(s, reboot, 0);
    r->reboots = OR(s, reboot, 0);
    r->ask_shared = OR(s, oversubscribe, 0);
    p.has_valid_mail = !s->mail_type || request_parse_mail(s->mail_type, &p.mail);
    p.mail = p.has_valid_mail ? p.mail : 0;
    parse_warning(&p, s->signal);
    *out = p;
    return 0;
}

/* --- what a partition gives --------------------------------------------------------------------
 */

static void complete_memory(const struct cluster *c, const struct conf_part *p, struct request *r,
                            const Pb__JobSpec *s)
{
    if (!conf_part_counts_memory(c->conf, p))
        return;
    if (s->has_mem_per_node_mib)
        r->mem_node_mib = s->mem_per_node_mib ? s->mem_per_node_mib : UINT64_MAX; /* 0: all */
    else if (s->has_mem_per_cpu_mib)
        r->mem_cpu_mib = s->mem_per_cpu_mib;
    else if (p && p->def_mem_per_cpu_mib)
        r->mem_cpu_mib = p->def_mem_per_cpu_mib;
    else if (p && p->def_mem_per_node_mib)
        r->mem_node_mib = p->def_mem_per_node_mib;
    else if (c->conf->def_mem_per_cpu_mib)
        r->mem_cpu_mib = c->conf->def_mem_per_cpu_mib;
    else if (c->conf->def_mem_per_node_mib)
        r->mem_node_mib = c->conf->def_mem_per_node_mib;
}

/* The partition's limit on memory per CPU, or the cluster's; 0: none. */
static uint64_t find_max_mem_per_cpu(const struct cluster *c, const struct conf_part *p)
{
    if (p && (p->max_mem_per_cpu_mib || p->max_mem_per_node_mib))
        return p->max_mem_per_cpu_mib;
    return c->conf->max_mem_per_cpu_mib;
}

/* Who wants more memory than its CPUs may have gets the CPUs that go with it. */
static void pay_memory_in_cpus(const struct cluster *c, const struct conf_part *p,
                               struct request *r)
{
    uint64_t most = find_max_mem_per_cpu(c, p);
    if (!most || r->mem_node_mib == UINT64_MAX)
        return;
    if (r->mem_cpu_mib > most) {
        uint64_t times = divide_up(r->mem_cpu_mib, most);
        if (times > UINT32_MAX / r->cpus_per_task)
            times = 1; /* beyond any node: refused as it is */
        r->cpus_per_task *= (uint32_t)times;
        r->mem_cpu_mib = divide_up(r->mem_cpu_mib, times);
    }
    uint64_t cpus = divide_up(r->mem_node_mib, most);
    if (cpus > r->min_cpus)
        r->min_cpus = cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
}

/* What each GPU brings with it: as the job says, or its partition, or the cluster. */
static void complete_gpu_share(const struct cluster *c, const struct conf_part *p,
                               struct request *r, const Pb__JobSpec *s,
                               const struct request_gpus *g)
{
    bool any = g->node || g->task || g->job;
    bool mem = s->has_mem_per_node_mib || s->has_mem_per_cpu_mib || s->has_mem_per_gpu_mib;
    r->cpus_per_gpu = OR(s, cpus_per_gpu, 0);
    r->mem_gpu_mib = OR(s, mem_per_gpu_mib, 0);
    if (!any)
        return;
    if (!r->cpus_per_gpu && !s->has_cpus_per_task)
        r->cpus_per_gpu = p && p->def_cpu_per_gpu ? p->def_cpu_per_gpu : c->conf->def_cpu_per_gpu;
    if (!mem && conf_part_counts_memory(c->conf, p))
        r->mem_gpu_mib =
            p && p->def_mem_per_gpu_mib ? p->def_mem_per_gpu_mib : c->conf->def_mem_per_gpu_mib;
    uint32_t per_task = limit_to_u32(g->task * r->cpus_per_gpu);
    uint32_t per_node = limit_to_u32(g->node * r->cpus_per_gpu);
    r->cpus_per_task = per_task > r->cpus_per_task ? per_task : r->cpus_per_task;
    r->min_cpus = per_node > r->min_cpus ? per_node : r->min_cpus;
    if (r->mem_gpu_mib)
        r->mem_node_mib = r->mem_cpu_mib = 0;
}

void request_complete(const struct cluster *c, const struct part *part, const Pb__JobSpec *s,
                      struct parsed_request *p, bool last, struct request *out)
{
    const struct conf_part *conf = part ? &part->conf : NULL;
    struct request r;
    if (last) {
        r = p->request;
        p->request = (struct request){0};
    } else {
        copy_request(&p->request, &r);
    }
    r.whole_sockets = conf_part_gives_sockets(c->conf, conf);
    complete_memory(c, conf, &r, s);
    complete_gpu_share(c, conf, &r, s, &p->gpus);
    pay_memory_in_cpus(c, conf, &r);
    *out = r;
}
