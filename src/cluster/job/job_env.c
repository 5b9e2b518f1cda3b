/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/job_env.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/str.h"
#include "base/words.h"
#include "cluster/resource/dist.h"

static void put_number_variable(job_env_fn *put, void *ctx, const char *name, bool given,
                                uint64_t number)
{
    char text[24];

    if (!given)
        return;
    snprintf(text, sizeof text, "%" PRIu64, number);
    put(ctx, name, text);
}

static void put_text_variable(job_env_fn *put, void *ctx, const char *name, const char *text)
{
    if (text)
        put(ctx, name, text);
}

/* Puts the first word of "plane=4"; other texts entirely. */
static void put_word(job_env_fn *put, void *ctx, const char *name, const char *text)
{
    const char *equals = text ? strchr(text, '=') : NULL;
    _cleanup_str_ struct str word = STR_INIT;

    if (equals)
        str_printf(&word, "%.*s", (int)(equals - text), text);
    put_text_variable(put, ctx, name, equals ? str_cstr(&word) : text);
}

static void put_size(job_env_fn *put, void *ctx, const char *name, const char *text)
{
    const char *equals = text ? strchr(text, '=') : NULL;

    put_text_variable(put, ctx, name, equals ? equals + 1 : NULL);
}

static void put_gpus(job_env_fn *put, void *ctx, const char *name, const char *gres)
{
    static const char prefix[] = "gres:gpu:";
    size_t skip = sizeof prefix - 1;
    _cleanup_str_ struct str text = STR_INIT;

    words_foreach (gres, w) {
        if (w.len > skip && strncmp(w.at, prefix, skip) == 0)
            str_printf(&text, "%s%.*s", text.len ? "," : "", (int)(w.len - skip), w.at + skip);
    }
    if (text.len)
        put(ctx, name, str_cstr(&text));
}

void job_env_tres(const char *gres, uint32_t cpus, struct str *out)
{
    if (cpus)
        str_printf(out, "cpu=%u", cpus);
    words_foreach (gres, w) {
        _cleanup_free_ char *part = word_dup(w);
        char *name = str_starts(part, "gres:") ? part + strlen("gres:") : part;
        char *count = strrchr(name, ':');

        if (!strchr(name, '=') && count && isdigit((unsigned char)count[1]))
            *count = '=';
        if (*part && !str_eq(part, "none"))
            str_printf(out, "%sgres/%s%s", out->len ? "," : "", name,
                       strchr(name, '=') ? "" : "=1");
    }
}

static void put_tres(job_env_fn *put, void *ctx, const char *name, const char *gres, uint32_t cpus)
{
    _cleanup_str_ struct str text = STR_INIT;

    job_env_tres(gres, cpus, &text);
    if (text.len)
        put(ctx, name, str_cstr(&text));
}

/* Writes "gres/gpu:verbose,map:0,1" for "verbose,map_gpu:0,1". */
static void put_tres_bind(job_env_fn *put, void *ctx, const char *name, const char *tres,
                          const char *gpu)
{
    _cleanup_str_ struct str text = STR_INIT;
    const char *own = gpu ? strstr(gpu, "_gpu:") : NULL;

    if (tres || !gpu) {
        put_text_variable(put, ctx, name, tres);
        return;
    }
    str_puts(&text, "gres/gpu:");
    str_append(&text, gpu, own ? (size_t)(own - gpu) : strlen(gpu));
    str_puts(&text, own ? own + strlen("_gpu") : "");
    put(ctx, name, str_cstr(&text));
}

/* --- memory binding, parsed like bind_read_memory() of srun -------------------------------------
 */

static bool is_word(const char *at, size_t len, const char *word)
{
    return strlen(word) == len && strncasecmp(at, word, len) == 0;
}

/* Returns the last one of words that exclude each other; NULL: none is there. */
static const char *last_of(const char *text, const char *const *words)
{
    const char *found = NULL;

    for (const char *at = text; *at;) {
        size_t len = strcspn(at, ",:");

        for (size_t i = 0; words[i]; i++)
            if (is_word(at, len, words[i]))
                found = words[i];
        if (at[len] == ':') /* a list up to the end */
            break;
        at += len + (at[len] == ',');
    }
    return found;
}

static void put_bind_type(job_env_fn *put, void *ctx, const char *name, const char *text)
{
    static const char *const words[] = {"none", "rank", "local", "map_mem", "mask_mem", NULL};
    _cleanup_str_ struct str type = STR_INIT;

    if (!text)
        return;
    const char *word = last_of(text, words);
    str_printf(&type, "%s%s", word ? word : "none", word && strchr(word, '_') ? ":" : "");
    put(ctx, name, str_cstr(&type));
}

static void put_bind_list(job_env_fn *put, void *ctx, const char *name, const char *text)
{
    const char *colon = text ? strchr(text, ':') : NULL;

    if (text)
        put(ctx, name, colon ? colon + 1 : "");
}

/* Puts one of the words, or the default if none is there. */
static void put_bind_word(job_env_fn *put, void *ctx, const char *name, const char *text,
                          const char *const *words, const char *otherwise)
{
    if (text)
        put(ctx, name, last_of(text, words) ? words[0] : otherwise);
}

static const char *const verbose_words[] = {"verbose", "v", NULL};
static const char *const prefer_words[] = {"prefer", "p", NULL};
static const char *const sort_words[] = {"sort", NULL};

static bool has_node_list(const Pb__JobSpec *spec)
{
    struct dist dist;

    return spec->req_nodes && dist_parse(spec->distribution, &dist) == 0 &&
           dist.nodes == DIST_ARBITRARY;
}

#define PUT_LISTED(name, member)                                                                   \
    put_text_variable(put, ctx, name, has_node_list(s) ? s->member : NULL);
#define PUT_BIND_TYPE(name, member) put_bind_type(put, ctx, name, s->member);
#define PUT_BIND_LIST(name, member) put_bind_list(put, ctx, name, s->member);
#define PUT_BIND_VERBOSE(name, member)                                                             \
    put_bind_word(put, ctx, name, s->member, verbose_words, "quiet");
#define PUT_BIND_PREFER(name, member) put_bind_word(put, ctx, name, s->member, prefer_words, "");
#define PUT_BIND_SORT(name, member) put_bind_word(put, ctx, name, s->member, sort_words, "");
#define PUT_TEXT(name, member) put_text_variable(put, ctx, name, s->member);
#define PUT_WORD(name, member) put_word(put, ctx, name, s->member);
#define PUT_SIZE(name, member) put_size(put, ctx, name, s->member);
#define PUT_TRES(name, member)                                                                     \
    put_tres(put, ctx, name, s->member, s->has_cpus_per_task ? s->cpus_per_task : 0);
#define PUT_TRES_BIND(name, member) put_tres_bind(put, ctx, name, s->member, s->gpu_bind);
#define PUT_GPUS(name, member) put_gpus(put, ctx, name, s->member);
#define PUT_NUMBER(name, member)                                                                   \
    put_number_variable(put, ctx, name, s->has_##member, (uint64_t)s->member);
#define PUT_FLAG(name, member) put_number_variable(put, ctx, name, s->has_##member && s->member, 1);
#define PUT_CPU(name, member)                                                                      \
    put_number_variable(put, ctx, name, s->has_##member && !s->has_mem_per_node_mib, s->member);

void job_env_each(const Pb__JobSpec *s, job_env_fn *put, void *ctx)
{
#define ENV(name, kind, member) PUT_##kind(name, member)
#include "cluster/job/job_env.def"
#undef ENV
}

/* Counts the generic resources of this name and type; type NULL: any. */
static uint64_t count_gres(const struct job_env_node *node, const char *name, const char *type)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < node->n_gres; i++) {
        const Pb__GresAlloc *g = node->gres[i];

        if (str_case_eq(g->name, name) && (!type || (g->type && str_case_eq(g->type, type))))
            sum += g->count;
    }
    return sum;
}

/* Returns how many tasks fit that each have a word of --tres-per-task: "gres:gpu:a100:2",
 * "gres:nic=3", "gres:gpu". */
static uint64_t count_tasks_of_word(const struct job_env_node *node, struct word_of_list w)
{
    _cleanup_free_ char *part = word_dup(w);
    char *name = str_starts(part, "gres:") ? part + strlen("gres:") : part;
    char *count = name + strcspn(name, "="), *colon = strrchr(name, ':');
    uint64_t each = 1;

    if (!*count && colon && isdigit((unsigned char)colon[1]))
        count = colon;
    if (*count) {
        *count++ = '\0';
        if (size_parse_count(count, UINT64_MAX / 2, &each, NULL) < 0 || each == 0)
            return UINT64_MAX;
    }
    char *type = strchr(name, ':');
    if (type)
        *type++ = '\0';
    return str_eq(name, "none") ? UINT64_MAX : count_gres(node, name, type) / each;
}

/* Returns how many tasks fit on the generic resources of a node; UINT64_MAX: tasks request none. */
static uint64_t count_tasks_by_gres(const Pb__JobSpec *spec, const struct job_env_node *node)
{
    uint64_t fit = UINT64_MAX;

    words_foreach (spec->tres_per_task, w) {
        uint64_t of_word = w.len ? count_tasks_of_word(node, w) : UINT64_MAX;
        fit = of_word < fit ? of_word : fit;
    }
    if (spec->ntasks_per_gpu) {
        uint64_t gpus = count_gres(node, "gpu", NULL);
        uint64_t of_gpus = gpus < UINT32_MAX ? gpus * spec->ntasks_per_gpu : UINT64_MAX;
        fit = of_gpus < fit ? of_gpus : fit;
    }
    return fit;
}

/* Returns how many tasks fit on a node. */
static uint32_t count_tasks_that_fit(const Pb__JobSpec *spec, const struct job_env_node *node,
                                     uint32_t tasks)
{
    uint32_t each = spec->cpus_per_task ? spec->cpus_per_task : 1;
    uint32_t fit = spec->overcommit && tasks ? tasks : node->cpus / each;
    uint64_t by_gres = count_tasks_by_gres(spec, node);

    fit = by_gres < fit ? (uint32_t)by_gres : fit;
    return spec->ntasks_per_node && fit > spec->ntasks_per_node ? spec->ntasks_per_node : fit;
}

/* -m arbitrary: places the n-th task on the n-th node of the list. False: the list is too short. */
static bool spread_list(const Pb__JobSpec *spec, const struct job_env_node *nodes, size_t n,
                        uint32_t tasks, uint32_t *out)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    uint32_t placed = 0;

    if (!has_node_list(spec) || hostlist_parse(spec->req_nodes, &list, NULL) < 0 ||
        hostlist_count(list) < tasks)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = 0;
    for (uint32_t t = 0; t < tasks; t++) {
        const char *wanted = hostlist_nth(list, t, name);

        for (size_t i = 0; i < n; i++)
            if (str_eq(nodes[i].name, wanted)) {
                out[i]++;
                placed++;
                break;
            }
    }
    return placed == tasks;
}

void job_env_spread(const Pb__JobSpec *spec, bool packs, const struct job_env_node *nodes, size_t n,
                    uint32_t tasks, uint32_t *out)
{
    _cleanup_free_ uint32_t *cap = mem_new_array(uint32_t, n + 1);
    struct dist dist = {0};
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        cap[i] = count_tasks_that_fit(spec, &nodes[i], tasks);
        sum += cap[i];
        out[i] = cap[i] ? cap[i] : 1;
        if (spec->ntasks_per_node)
            out[i] = spec->ntasks_per_node;
    }
    if (tasks == 0 || n == 0 || spread_list(spec, nodes, n, tasks, out))
        return;
    for (size_t i = 0; i < n && sum < tasks; i++) /* more tasks than fit */
        cap[i] = tasks;
    dist_parse(spec->distribution, &dist);
    dist_deal_tasks(&dist, sum >= tasks && dist_is_packed(&dist, packs), tasks, cap, n, out);
}

/* Whether the number of tasks follows from a total of GPUs: --ntasks-per-gpu, or --gpus with
 * --gpus-per-task. */
static bool has_tasks_of_gpus(const Pb__JobSpec *spec)
{
    return spec->ntasks_per_gpu || (spec->tres_per_task && spec->tres_per_job);
}

uint32_t job_env_tasks(const Pb__JobSpec *spec, uint32_t counted)
{
    return spec->num_tasks || has_tasks_of_gpus(spec) ? counted : 0;
}

void job_env_put_implied(const Pb__JobSpec *spec, const uint32_t *tasks, size_t nodes,
                         job_env_fn *put, void *ctx)
{
    uint64_t total = 0;

    if (spec->num_tasks || !(spec->ntasks_per_node || has_tasks_of_gpus(spec)))
        return;
    for (size_t i = 0; i < nodes; i++)
        total += tasks[i];
    put_number_variable(put, ctx, "SLURM_NPROCS", true, total);
    put_number_variable(put, ctx, "SLURM_NTASKS", true, total);
}

bool job_env_has(const char *name, size_t len)
{
    static const char *const names[] = {
#define ENV(name, kind, member) name,
#include "cluster/job/job_env.def"
#undef ENV
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
            return true;
    return false;
}
