/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options about generic resources; GPU options are converted to their long form: "gres:gpu:2". */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/words.h"
#include "cli/opt_gres.h"
#include "cli/opt_priv.h"

bool opt_gres_is_empty(const char *list)
{
    return !*list || str_case_eq(list, "none");
}

static bool put_part(const char *part, size_t len, struct str *out)
{
    if ((!strncasecmp(part, "gres:", 5) || !strncasecmp(part, "gres/", 5)) && len > 5) {
        part += 5;
        len -= 5;
    }
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)part[i] <= ' ' || part[i] == '"' || part[i] == '\'')
            return false;
    str_printf(out, "%sgres:%.*s", out->len ? "," : "", (int)len, part);
    return len > 0 && *part != ':';
}

bool opt_gres_format(const char *list, struct str *out)
{
    words_foreach (list, w)
        if (!put_part(w.at, w.len, out))
            return false;
    return true;
}

#define COUNT_MAX (UINT64_C(1) << 50)

static int set_list(struct opt *o, const char *name, const char *arg, char **member,
                    struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    if (opt_gres_is_empty(arg)) {
        opt_set_string(member, arg);
        return 0;
    }
    if (!opt_gres_format(arg, &text))
        return opt_bad_spec(o, name, arg, err);
    opt_set_string(member, str_cstr(&text));
    return 0;
}

int opt_set_gres(struct opt *o, const char *arg, struct err *err)
{
    return set_list(o, "gres", arg, &o->gres, err);
}

/* Converts "license/ansys=2" and "license/ansys:2" to "ansys:2". */
static bool put_license(char *part, struct str *out)
{
    char *name = part + strlen("license/"), *sign = strpbrk(name, "=:");
    uint64_t count = 1;
    if (sign)
        *sign = 0;
    if (!*name || strpbrk(name, " \t\"'|;") ||
        (sign && (size_parse_count(sign + 1, INT32_MAX, &count, NULL) < 0 || !count)))
        return false;
    str_printf(out, "%s%s:%llu", out->len ? "," : "", name, (unsigned long long)count);
    return true;
}

static uint64_t count_tasks(const struct opt *o)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    uint64_t nodes = opt_given(o, OPT_ID_nodes) && o->min_nodes ? o->min_nodes : 1;
    if (o->ntasks)
        return o->ntasks;
    if (o->nodelist && hostlist_parse(o->nodelist, &hosts, NULL) == 0 &&
        hostlist_count(hosts) > nodes)
        nodes = hostlist_count(hosts);
    return nodes * (o->ntasks_per_node ? o->ntasks_per_node : 1);
}

/* Hierarchical resources are requested like licences. */
static void join_resources(struct opt *o)
{
    _cleanup_str_ struct str all = STR_INIT;
    if (!o->resources || !*o->resources)
        return;
    if (o->licenses && *o->licenses)
        str_printf(&all, "%s,", o->licenses);
    str_puts(&all, o->resources);
    opt_set_string(&o->licenses, str_cstr(&all));
    opt_set_string(&o->resources, "");
}

/* Licences per task are multiplied by the task count and added to the job's licences. */
int opt_count_licenses(struct opt *o, struct err *err)
{
    _cleanup_str_ struct str all = STR_INIT;
    unsigned long long tasks = count_tasks(o), count;

    join_resources(o);
    if (!o->task_licenses || opt_given(o, OPT_ID_jobid))
        return 0;
    if (o->licenses && *o->licenses)
        str_puts(&all, o->licenses);
    words_foreach (o->task_licenses, w) {
        size_t len = strcspn(w.at, ":");
        count = strtoull(w.at + len + 1, NULL, 10);
        if (count * tasks > INT32_MAX)
            return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                            "--tres-per-task=license/%.*s=%llu: %llu tasks need too many", (int)len,
                            w.at, count, tasks);
        str_printf(&all, "%s%.*s:%llu", all.len ? "," : "", (int)len, w.at, count * tasks);
    }
    opt_set_string(&o->licenses, str_cstr(&all));
    return 0;
}

/* "cpu=2,gres/gpu:a100=1,license/ansys=1" */
int opt_set_tres_per_task(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_str_ struct str gres = STR_INIT, licenses = STR_INIT;
    long long cpus = 0;

    words_foreach (opt_gres_is_empty(arg) ? "" : arg, w) {
        _cleanup_free_ char *part = word_dup(w);
        if (!strncasecmp(part, "cpu=", 4) || !strncasecmp(part, "cpu:", 4)) {
            if (str_parse_i64(part + 4, 1, INT32_MAX, &cpus) < 0)
                return opt_bad_spec(o, "tres-per-task", arg, err);
        } else if (!strncasecmp(part, "license/", 8)) {
            if (!put_license(part, &licenses))
                return opt_bad_spec(o, "tres-per-task", arg, err);
        } else if (strncasecmp(part, "gres", 4) != 0) {
            return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                            "Invalid --tres-per-task specification: %s: use cpu=COUNT, "
                            "gres/NAME=COUNT or license/NAME=COUNT",
                            part);
        } else {
            char *equals = strrchr(part, '=');
            if (equals) /* the form of --gres and --gpus-per-task */
                *equals = ':';
            str_printf(&gres, "%s%s", gres.len ? "," : "", part);
        }
    }
    o->tres_cpus = (uint32_t)cpus;
    free(o->task_licenses);
    o->task_licenses = licenses.len ? str_take(&licenses) : NULL;
    if ((cpus || o->task_licenses) && !gres.len) {
        free(take_ptr(o->tres_per_task));
        return 0;
    }
    return set_list(o, "tres-per-task", gres.len ? str_cstr(&gres) : arg, &o->tres_per_task, err);
}

/* CPUs per task from two options: the higher source wins. */
int opt_fit_task_cpus(struct opt *o, struct err *err)
{
    uint8_t *tres = &o->from[OPT_ID_tres_per_task], *cpus = &o->from[OPT_ID_cpus_per_task];

    if (!*tres || !o->tres_cpus)
        return 0;
    if (*cpus == *tres && *cpus != OPT_FROM_ENV && o->cpus_per_task != o->tres_cpus)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "--cpus-per-task=%u and --tres-per-task=cpu=%u contradict each other",
                        o->cpus_per_task, o->tres_cpus);
    if (*cpus < *tres) {
        o->cpus_per_task = o->tres_cpus;
        *cpus = *tres;
    }
    return 0;
}

/* "[TYPE:]COUNT,..." */
static int set_gpus(struct opt *o, const char *name, const char *arg, char **member,
                    struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    uint64_t count;
    words_foreach (arg, w) {
        _cleanup_free_ char *part = word_dup(w);
        const char *colon = strrchr(part, ':');
        if (size_parse_count(colon ? colon + 1 : part, COUNT_MAX, &count, NULL) < 0 ||
            colon == part || strpbrk(part, " \t\"'"))
            return opt_bad_spec(o, name, arg, err);
        str_printf(&text, "%sgres:gpu:%s", text.len ? "," : "", part);
    }
    opt_set_string(member, str_cstr(&text));
    return 0;
}

int opt_set_gpus(struct opt *o, const char *arg, struct err *err)
{
    return set_gpus(o, "gpus", arg, &o->gpus, err);
}

int opt_set_gpus_per_node(struct opt *o, const char *arg, struct err *err)
{
    return set_gpus(o, "gpus-per-node", arg, &o->gpus_per_node, err);
}

int opt_set_gpus_per_socket(struct opt *o, const char *arg, struct err *err)
{
    return set_gpus(o, "gpus-per-socket", arg, &o->gpus_per_socket, err);
}

int opt_set_gpus_per_task(struct opt *o, const char *arg, struct err *err)
{
    return set_gpus(o, "gpus-per-task", arg, &o->gpus_per_task, err);
}

int opt_set_cpus_per_gpu(struct opt *o, const char *arg, struct err *err)
{
    long long n = 0;
    if (!opt_gres_is_empty(arg) && str_parse_i64(arg, 1, INT32_MAX, &n) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "Invalid numeric value \"%s\" for --cpus-per-gpu.", arg);
    o->cpus_per_gpu = (uint32_t)n;
    return 0;
}

/* Tasks see all devices of their step, whatever the flags are. */
int opt_set_gres_flags(struct opt *o, const char *arg, struct err *err)
{
    static const char *const words[] = {"enforce-binding",      "disable-binding",
                                        "allow-task-sharing",   "multiple-tasks-per-sharing",
                                        "one-task-per-sharing", NULL};
    words_foreach (arg, w) {
        size_t i = 0;
        while (words[i] && !word_case_eq(w, words[i]))
            i++;
        if (!words[i])
            return opt_bad_spec(o, "gres-flags", arg, err);
    }
    opt_set_string(&o->gres_flags, arg);
    return 0;
}

struct gpus { /* an entry of a list, "gres:gpu[:type][:count]" */
    bool any;
    char *type; /* "": any */
    uint64_t count;
};

static struct gpus gpus_of(const char *part, size_t len)
{
    _cleanup_free_ char *text = mem_strndup(part, len);
    if (strncasecmp(text, "gres:gpu", 8) != 0 || (text[8] && !strchr(":=", text[8])))
        return (struct gpus){0};
    char *type = text + 8, *count = type + strcspn(type, ":=");
    struct gpus g = {.any = true, .count = 1};
    while (count[strcspn(count, ":=")])
        count += strcspn(count, ":=") + 1;
    if (isdigit((unsigned char)*count) && size_parse_count(count, COUNT_MAX, &g.count, NULL) == 0)
        count[-1] = 0;
    g.type = mem_strdup(*type ? type + 1 : "");
    return g;
}

/* The entry of the list about the same GPUs. */
static struct gpus same_gpus(const char *list, const struct gpus *g)
{
    for (const char *at = list; *at && g->any;) {
        size_t len = strcspn(at, ",");
        struct gpus same = gpus_of(at, len);
        if (same.any && (!*same.type || !*g->type || str_case_eq(same.type, g->type)))
            return same;
        free(same.type);
        at += len + (at[len] == ',');
    }
    return (struct gpus){0};
}

/* Appends the list without GPUs that 'other' has too; those are taken from the list that names a
 * type, otherwise from the first one. Returns false if their counts differ. */
static bool put_list(const char *list, const char *other, bool first, struct str *out)
{
    bool agree = true;
    words_foreach (list, w) {
        struct gpus g = gpus_of(w.at, w.len), same = same_gpus(other, &g);
        bool exact = g.any && same.any && *g.type && !*same.type;
        bool less = g.any && same.any && !*g.type && *same.type;
        agree = agree && (!same.any || g.count == same.count);
        if (!same.any || exact || (first && !less))
            str_printf(out, "%s%.*s", out->len ? "," : "", (int)w.len, w.at);
        free(g.type);
        free(same.type);
    }
    return agree;
}

/* Appends the list without the prefix of requests, as the user typed it. */
static void put_given(const char *list, const char *prefix, struct str *out)
{
    words_foreach (list, w) {
        const char *word = str_starts(w.at, prefix) ? w.at + strlen(prefix) : w.at;
        str_puts(out, w.at == list ? "" : ",");
        str_append(out, word, strcspn(word, ","));
    }
}

static int refuse_both(struct opt *o, const struct opt_lists *l, struct err *err)
{
    _cleanup_str_ struct str a = STR_INIT, b = STR_INIT;
    put_given(l->list, "gres:", &a);
    put_given(l->gpus, "gres:gpu:", &b);
    return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                    "%s=%s and %s=%s contradict each other: they are about the same GPUs",
                    l->list_name, str_cstr(&a), l->gpus_name, str_cstr(&b));
}

int opt_join_gres(struct opt *o, const struct opt_lists *l, char **out, struct err *err)
{
    const char *a = l->list, *b = l->gpus;
    _cleanup_str_ struct str text = STR_INIT;
    free(*out);
    *out = NULL;
    if (!a || !b || opt_gres_is_empty(a) || opt_gres_is_empty(b)) {
        *out = mem_strdup(!a || (b && opt_gres_is_empty(a)) ? b : a);
        return 0;
    }
    bool agree = put_list(a, b, true, &text);
    if (!put_list(b, a, false, &text) || !agree)
        return refuse_both(o, l, err);
    *out = mem_strdup(str_cstr(&text));
    return 0;
}

/* Removes the GPUs from a list. */
static void drop_gpus(char **list)
{
    _cleanup_str_ struct str rest = STR_INIT;

    words_foreach (*list, w) {
        struct gpus g = gpus_of(w.at, w.len);
        if (!g.any)
            str_printf(&rest, "%s%.*s", rest.len ? "," : "", (int)w.len, w.at);
        free(g.type);
    }
    free(*list);
    *list = rest.len ? mem_strdup(str_cstr(&rest)) : NULL;
}

/* Drops GPU options of the environment, which often come from the job. */
static void prefer_task_gres(struct opt *o)
{
    uint8_t tres = o->from[OPT_ID_tres_per_task], gpus = o->from[OPT_ID_gpus_per_task];

    if (gpus > tres && tres == OPT_FROM_ENV)
        drop_gpus(&o->tres_per_task);
    if (tres > gpus && gpus == OPT_FROM_ENV && o->tres_per_task)
        drop_gpus(&o->gpus_per_task);
}

static uint64_t count_gpus(const char *list)
{
    uint64_t count = 0;

    words_foreach (list, w) {
        struct gpus g = gpus_of(w.at, w.len);
        count += g.any && count <= COUNT_MAX ? g.count : 0;
        free(g.type);
    }
    return count;
}

/* GPU counts of all options if they have the same type; 0: not given, or of several types. */
struct gpu_counts {
    uint64_t job, node, socket, task;
};

/* Returns false if the list has several types, or a type other than 'type', which the first list
 * with a type sets. */
static bool read_single_count(const char *list, char **type, uint64_t *count)
{
    size_t found = 0;

    *count = 0;
    words_foreach (list, w) {
        struct gpus g = gpus_of(w.at, w.len);
        found += g.any;
        if (g.any && *g.type && *type && !str_case_eq(g.type, *type))
            found++;
        if (g.any && *g.type && !*type)
            *type = take_ptr(g.type);
        *count += g.any ? g.count : 0;
        free(g.type);
    }
    return found < 2;
}

static bool read_gpu_counts(const struct opt *o, struct gpu_counts *g)
{
    _cleanup_free_ char *type = NULL;

    return read_single_count(o->gpus, &type, &g->job) &&
           read_single_count(o->node_gres, &type, &g->node) &&
           read_single_count(o->gpus_per_socket, &type, &g->socket) &&
           read_single_count(o->task_gres, &type, &g->task);
}

/* Why these counts contradict each other; NULL: they do not. */
static const char *find_gpu_mismatch(const struct opt *o, const struct gpu_counts *g)
{
    const uint64_t per_gpu = opt_given(o, OPT_ID_ntasks_per_gpu) ? o->ntasks_per_gpu : 0;
    const uint64_t tasks = opt_given(o, OPT_ID_ntasks) ? o->ntasks : 0;
    const bool has_nodes = opt_given(o, OPT_ID_nodes);
    const bool node_count_is_fixed = has_nodes && o->min_nodes == o->max_nodes;

    if ((g->job && g->node > g->job) || (g->node && g->socket > g->node) ||
        (g->job && g->socket > g->job))
        return "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket";
    if (g->job && has_nodes && g->job < o->min_nodes && (!tasks || g->job < tasks))
        return "Failed to validate job spec, --gpus < -N: each node of a job has at least one GPU";
    if ((g->job && g->task > g->job) || (g->node && g->task > g->node))
        return "Failed to ensure --gpus >= --gpus-per-task";
    if (g->job && g->node && g->job % g->node)
        return "Failed to validate job spec, --gpus is not multiple of "
               "--gres=gpu/--gpus-per-node";
    if (g->job && g->node && has_nodes &&
        (g->job / g->node < o->min_nodes || g->job / g->node > o->max_nodes))
        return "Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node "
               "required nodes doesn't fall between min_nodes and max_nodes boundaries.";
    if (g->node && g->socket && g->node % g->socket)
        return "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple of "
               "--gpus-per-socket.";
    if (g->node && g->socket && o->sockets_per_node && g->node / g->socket != o->sockets_per_node)
        return "Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and "
               "--gpus-per-socket required number of sockets differ from --sockets-per-node.";
    if (g->job && g->task && g->job % g->task)
        return "Failed to validate job spec, --gpus not multiple of --gpus-per-task";
    if (g->job && g->task && tasks && g->job / g->task != tasks)
        return "Failed to validate job spec. Based on --gpus and --gpus-per-task number of "
               "requested tasks differ from -n/--ntasks.";
    if (g->node && g->task && g->node % g->task)
        return "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple of "
               "--gpus-per-task.";
    if (opt_given(o, OPT_ID_gpus_per_task) && g->task && !g->job && !g->node && !tasks &&
        !opt_given(o, OPT_ID_ntasks_per_node) && !node_count_is_fixed)
        return "Failed to validate job spec. --gpus-per-task used without either --gpus or "
               "-n/--ntasks is not allowed.";
    if (per_gpu && tasks && !g->job && !g->node && tasks % per_gpu)
        return "Failed to validate job spec, -n/--ntasks has to be a multiple of "
               "--ntasks-per-gpu.";
    return NULL;
}

/* A step's counts refer to its own tasks and select from the job's GPUs. */
int opt_check_gpus(struct opt *o, struct err *err)
{
    struct gpu_counts g;

    if (opt_given(o, OPT_ID_jobid) || !read_gpu_counts(o, &g))
        return 0;
    const char *why = find_gpu_mismatch(o, &g);
    if (!why)
        return 0;
    return opt_fail(o, OPT_FAIL_ERROR, 1, err, "%s: %s", err_text(ERR_GRES), why);
}

/* The controller computes the same number, and the job's environment has it. */
void opt_count_tasks_of_gpus(struct opt *o)
{
    uint64_t gpus = count_gpus(o->gpus);

    if (!opt_given(o, OPT_ID_ntasks_per_gpu) || opt_given(o, OPT_ID_ntasks) ||
        opt_given(o, OPT_ID_jobid) || o->ntasks)
        return;
    if (!gpus && o->min_nodes == o->max_nodes && opt_given(o, OPT_ID_nodes))
        gpus = count_gpus(o->node_gres) * o->min_nodes;
    if (gpus <= INT32_MAX && gpus * o->ntasks_per_gpu <= INT32_MAX)
        o->ntasks = (uint32_t)(gpus * o->ntasks_per_gpu);
}

void opt_prefer_gres(struct opt *o)
{
    char **others[] = {&o->gpus, &o->gpus_per_node, &o->gpus_per_task};
    static const enum opt_id ids[] = {OPT_ID_gpus, OPT_ID_gpus_per_node, OPT_ID_gpus_per_task};
    for (size_t i = 0; i < 3; i++)
        if (opt_given(o, OPT_ID_gres) && o->from[OPT_ID_gres] > o->from[ids[i]] &&
            o->from[ids[i]] == OPT_FROM_ENV) {
            free(*others[i]);
            *others[i] = NULL;
            o->from[ids[i]] = OPT_FROM_NONE;
        }
    prefer_task_gres(o);
}
