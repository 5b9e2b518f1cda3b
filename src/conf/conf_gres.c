/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generic resources: the count of each kind on a node (Gres= of its NodeName line), and their
 * files and cores (gres.conf, beside slurm.conf). Nodes with equal resources share a set.
 */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranges.h"
#include "base/size.h"
#include "base/words.h"
#include "conf/conf_beside.h"
#include "conf/conf_internal.h"

#define FILES_MAX 1024                /* per kind and node */
#define COUNT_MAX (UINT64_C(1) << 50) /* sums over nodes do not overflow */
#define KINDS_MAX 64                  /* per node */
#define LINKS_MAX 1000000             /* between two devices; sums do not overflow */

/* --- lines of gres.conf ----------------------------------------------------------------------- */

/* flags that select variables */
#define VARIABLES (CONF_GRES_NVIDIA | CONF_GRES_AMD | CONF_GRES_INTEL | CONF_GRES_OPENCL)

struct gres_line { /* in the loader's scratch arena */
    const struct conf_row *row;
    const char *name, *type; /* type NULL: none */
    uint64_t count;
    bool is_counted; /* by Count=, or by its files */
    const char **files;
    uint32_t n_files, n_also; /* also: files after the first that belong to the same device */
    const char *cores;
    const int32_t *links;
    uint32_t n_links, number;
    unsigned env;
    struct bitset *nodes; /* NULL: all */
};

static const struct {
    const char *word;
    unsigned env;
} flag_words[] = {
    {"nvidia_gpu_env", CONF_GRES_NVIDIA},   {"amd_gpu_env", CONF_GRES_AMD},
    {"intel_gpu_env", CONF_GRES_INTEL},     {"opencl_env", CONF_GRES_OPENCL},
    {"no_gpu_env", CONF_GRES_NO_ENV},       {"CountOnly", CONF_GRES_COUNT_ONLY},
    {"one_sharing", CONF_GRES_ONE_SHARING}, {"all_sharing", CONF_GRES_ALL_SHARING},
    {"explicit", CONF_GRES_EXPLICIT},       {"env_uuid", CONF_GRES_ENV_UUID},
};

static int parse_flags(const struct conf_value *v, unsigned *env, struct err *err)
{
    words_foreach (v->text, w) {
        size_t i = 0, n = sizeof(flag_words) / sizeof(flag_words[0]);
        while (i < n && !word_case_eq(w, flag_words[i].word))
            i++;
        if (i == n && w.len)
            return conf_fail(v->at, err,
                             "Flags=%s: expected CountOnly, explicit, one_sharing, all_sharing, "
                             "nvidia_gpu_env, amd_gpu_env, intel_gpu_env, opencl_env or "
                             "no_gpu_env",
                             v->text);
        *env |= w.len ? flag_words[i].env : 0;
    }
    if (*env & CONF_GRES_NO_ENV && *env & VARIABLES)
        return conf_fail(v->at, err, "Flags=%s: no_gpu_env excludes the flags of variables",
                         v->text);
    return 0;
}

static int check_cores(const struct conf_value *v, struct err *err)
{
    if (ranges_count(v->text) < 0)
        return conf_fail(v->at, err, "Cores=%s: expected numbers and ranges, \"0-3,8\"", v->text);
    return 0;
}

/* Each path belongs to one device; brackets are expanded only at the end of a path, because it is
   not a host name. */
static int parse_files(struct conf_loader *l, const struct conf_value *v, struct gres_line *g,
                       struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    struct err inner = {0};
    char buf[HOSTLIST_NAME_MAX + 1];
    if (!v->text || !*v->text)
        return 0;
    if (hostlist_parse(v->text, &list, &inner) < 0)
        return conf_fail(v->at, err, "File=%s: %s", v->text, inner.text);
    size_t n = hostlist_count(list);
    if (n > FILES_MAX)
        return conf_fail(v->at, err, "File=%s: %zu files, at most %d", v->text, n, FILES_MAX);
    g->files = arena_alloc(&l->priv->arena, n * sizeof(*g->files));
    for (size_t i = 0; i < n; i++) {
        hostlist_nth(list, i, buf);
        if (buf[0] != '/')
            return conf_fail(v->at, err, "File=%s: expected an absolute path", v->text);
        g->files[g->n_files++] = arena_strdup(&l->priv->arena, buf);
    }
    return 0;
}

static int parse_count(const struct conf_value *v, uint64_t *count, struct err *err)
{
    struct err inner = {0};
    if (v->text && *v->text && size_parse_count(v->text, COUNT_MAX, count, &inner) < 0)
        return conf_fail(v->at, err, "Count=%s: %s", v->text, inner.text);
    return 0;
}

static bool is_type(const struct conf *c, const char *name)
{
    return name && *name && conf_list_has(c->gres_types, name);
}

/* Whether the entries of the resource are parts of GPUs. */
static bool is_shared(const char *name)
{
    return strcasecmp(name, "mps") == 0 || strcasecmp(name, "shard") == 0;
}

static int line_counts(struct conf_loader *l, struct gres_line *g, struct err *err)
{
    const struct conf_value *v = g->row->value;
    const struct conf_value *files = &v[CONF_GRES_FILE];
    const struct conf_value *multiple = &v[CONF_GRES_MULTIPLE_FILES];
    if (files->text && *files->text && multiple->text && *multiple->text)
        return conf_fail(multiple->at, err, "Name=%s: File= and MultipleFiles= exclude each other",
                         g->name);
    if (!files->text || !*files->text)
        files = multiple;
    g->count = UINT64_MAX;
    g->is_counted =
        (files->text && *files->text) || (v[CONF_GRES_COUNT].text && *v[CONF_GRES_COUNT].text);
    int rc = parse_files(l, files, g, err);
    rc = rc == 0 ? parse_count(&v[CONF_GRES_COUNT], &g->count, err) : rc;
    if (rc < 0)
        return rc;
    if (files == multiple && g->n_files > 1)
        g->n_also = g->n_files - 1, g->n_files = 1; /* together they are one device */
    if (g->count == UINT64_MAX)
        g->count = g->n_files ? g->n_files : 1;
    if (!is_shared(g->name) && g->n_files && g->count != g->n_files)
        return conf_fail(v[CONF_GRES_COUNT].at, err,
                         "Count=%s of Name=%s: File names %u; give as many, or leave Count out",
                         v[CONF_GRES_COUNT].text, g->name, g->n_files);
    return 0;
}

/* Parses Links=, "-1,16,0"; -1 is the device itself. */
static int parse_links(struct conf_loader *l, const struct conf_value *v, struct gres_line *g,
                       struct err *err)
{
    uint32_t selves = 0;
    if (!v->text || !*v->text)
        return 0;
    if (g->n_files > 1 || g->count > 1)
        return conf_fail(v->at, err, "Links=%s: the line has several devices; give each its own",
                         v->text);
    int32_t *links = arena_alloc(&l->priv->arena, (strlen(v->text) / 2 + 1) * sizeof(*links));
    words_foreach (v->text, w) {
        char number[16];
        long long n = 0;
        bool is_short = w.len && w.len < sizeof number;
        memcpy(number, w.at, is_short ? w.len : 0);
        number[is_short ? w.len : 0] = 0;
        if (!is_short || str_parse_i64(number, -1, LINKS_MAX, &n) < 0)
            return conf_fail(v->at, err,
                             "Links=%s: '%.*s': expected -1 for the device itself, and the number "
                             "of connections, to %d, for each other",
                             v->text, (int)w.len, w.at, LINKS_MAX);
        if (n < 0)
            g->number = g->n_links;
        selves += n < 0;
        links[g->n_links++] = (int32_t)n;
    }
    if (selves != 1)
        return conf_fail(v->at, err, "Links=%s: expected one -1, in the place of the device itself",
                         v->text);
    g->links = links;
    return 0;
}

/* Finds the existing nodes of a line; the file may have nodes of other clusters. */
static int line_nodes(struct conf_loader *l, struct gres_line *g, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    const struct conf_value *v = &g->row->value[CONF_GRES_NODES];
    struct err inner = {0};
    char buf[HOSTLIST_NAME_MAX + 1];
    if (!v->text || !*v->text)
        return 0;
    if (hostlist_parse(v->text, &list, &inner) < 0)
        return conf_fail(v->at, err, "NodeName=%s: %s", v->text, inner.text);
    g->nodes = bitset_new(l->conf->nodes.len);
    for (size_t i = 0; i < hostlist_count(list); i++) {
        long node = conf_find_node(l->conf, hostlist_nth(list, i, buf));
        if (node >= 0)
            bitset_set(g->nodes, (size_t)node);
    }
    return 0;
}

static int check_detection(struct conf_loader *l, const struct conf_value *v, struct err *err)
{
    if (!v->text || !*v->text || str_case_eq(v->text, "off"))
        return 0;
    if (!conf_list_has("full,nrt,nvidia,nvml,oneapi,rsmi", v->text))
        return conf_fail(v->at, err,
                         "AutoDetect=%s: expected full, nrt, nvidia, nvml, off, oneapi or rsmi",
                         v->text);
    conf_warn(l, v->at, "AutoDetect=%s: devices are not detected; name them with File=", v->text);
    return 0;
}

/* Returns 1 for a line that adds resources to nodes. */
static int line_read(struct conf_loader *l, const struct conf_row *row, struct gres_line *g,
                     struct err *err)
{
    const struct conf_value *v = row->value;
    *g = (struct gres_line){.row = row, .name = v[CONF_GRES_NAME].text};
    int rc = check_detection(l, &v[CONF_GRES_AUTODETECT], err);
    if (rc < 0)
        return rc;
    if (!g->name || !*g->name) {
        if (v[CONF_GRES_AUTODETECT].text)
            return 0;
        return conf_fail(row->at, err, "a line without Name=");
    }
    if (!is_type(l->conf, g->name))
        return conf_fail(v[CONF_GRES_NAME].at, err, "Name=%s is not in GresTypes of slurm.conf",
                         g->name);
    if (!is_shared(g->name)) { /* parts of a GPU have the GPU's type and cores */
        g->type = v[CONF_GRES_TYPE].text && *v[CONF_GRES_TYPE].text ? v[CONF_GRES_TYPE].text : NULL;
        g->cores =
            v[CONF_GRES_CORES].text && *v[CONF_GRES_CORES].text ? v[CONF_GRES_CORES].text : NULL;
    }
    rc = line_counts(l, g, err);
    rc = rc == 0 ? check_cores(&v[CONF_GRES_CORES], err) : rc;
    rc = rc == 0 ? parse_links(l, &v[CONF_GRES_LINKS], g, err) : rc;
    rc = rc == 0 ? parse_flags(&v[CONF_GRES_FLAGS], &g->env, err) : rc;
    if (g->env & CONF_GRES_ENV_UUID)
        conf_warn(l, v[CONF_GRES_FLAGS].at,
                  "Flags=env_uuid has no effect: devices are told by their numbers");
    rc = rc == 0 ? line_nodes(l, g, err) : rc;
    return rc == 0 ? 1 : rc;
}

/* --- resources of a node ---------------------------------------------------------------------- */

struct items {
    VEC(struct conf_gres) list;
};

static struct conf_gres *item_find(struct items *items, const char *name, const char *type)
{
    vec_foreach (&items->list, g)
        if (strcasecmp(g->name, name) == 0 &&
            (type == g->type || (type && g->type && strcasecmp(g->type, type) == 0)))
            return g;
    return NULL;
}

static int add_item(struct conf_loader *l, struct items *items, const char *name, const char *type,
                    uint64_t count, struct conf_place at, struct err *err)
{
    struct conf_gres *g = item_find(items, name, type);
    if (!g && items->list.len == KINDS_MAX)
        return conf_fail(at, err, "more than %d kinds of generic resources on a node", KINDS_MAX);
    if (!g) {
        struct conf_gres made = {.name = arena_strdup(&l->priv->arena, name),
                                 .type = type ? arena_strdup(&l->priv->arena, type) : NULL};
        vec_push(&items->list, made);
        g = &vec_last(&items->list);
    }
    g->count += count;
    return 0;
}

/* Parses "name[:type][:no_consume][:count]". */
static int take_word(struct conf_loader *l, struct items *items, char *word, struct conf_place at,
                     struct err *err)
{
    char *save = NULL, *part[4] = {0};
    size_t n = 0;
    uint64_t count = 1;
    for (char *p = strtok_r(word, ":", &save); p; p = strtok_r(NULL, ":", &save)) {
        char *socket = strchr(p, '('); /* output of scontrol: "gpu:2(S:0)" */
        if (socket)
            *socket = 0;
        if (n == 4)
            return conf_fail(at, err, "Gres=%s: expected name[:type][:count]", part[0]);
        if (strcasecmp(p, "no_consume") != 0)
            part[n++] = p;
        if (socket)
            break;
    }
    if (n > 1 && isdigit((unsigned char)part[n - 1][0]) &&
        size_parse_count(part[n - 1], COUNT_MAX, &count, NULL) == 0)
        n--;
    if (n == 0 || n > 2)
        return conf_fail(at, err, "Gres=%s: expected name[:type][:count]", n ? part[0] : "");
    if (is_type(l->conf, part[0]))
        return add_item(l, items, part[0], n == 2 ? part[1] : NULL, count, at, err);
    conf_warn(l, at, "Gres=%s is ignored: it is not in GresTypes", part[0]);
    return 0;
}

static int take_text(struct conf_loader *l, struct items *items, const char *text,
                     struct conf_place at, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(text ? text : "");
    char *save = NULL;
    int rc = 0;
    for (char *w = strtok_r(copy, ",", &save); w && rc == 0; w = strtok_r(NULL, ",", &save))
        rc = take_word(l, items, w, at, err);
    return rc;
}

/* A line of gres.conf assigns a type to its share of an untyped count in slurm.conf. */
static struct conf_gres *item_of_line(struct conf_loader *l, struct items *items,
                                      const struct gres_line *g)
{
    struct conf_gres *item = item_find(items, g->name, g->type), *plain;
    if (item || !g->type || !(plain = item_find(items, g->name, NULL)))
        return item;
    uint64_t count = g->count < plain->count ? g->count : plain->count;
    if (!count || items->list.len == KINDS_MAX)
        return NULL;
    plain->count -= count;
    add_item(l, items, g->name, g->type, count, g->row->at, NULL);
    return &vec_last(&items->list);
}

/* Returns the number of devices with that name, of any type: they are numbered together. */
static uint64_t count_named(const struct items *items, const char *name)
{
    uint64_t count = 0;
    vec_foreach (&items->list, item)
        count += strcasecmp(item->name, name) == 0 ? item->count : 0;
    return count;
}

static bool is_first_of_name(const struct items *items, const struct conf_gres *item)
{
    vec_foreach (&items->list, g)
        if (strcasecmp(g->name, item->name) == 0)
            return g == item;
    return false;
}

static void check_link_count(struct conf_loader *l, const struct items *items,
                             const struct gres_line *g, size_t node)
{
    uint64_t count = count_named(items, g->name);
    if (g->links && g->n_links != count)
        conf_fault(
            l, g->row->value[CONF_GRES_LINKS].at,
            "Name=%s: Links= has %u numbers, and node %s has %llu devices of this name: give "
            "a number for each of them, and say with NodeName= which nodes a line is of",
            g->name, g->n_links, l->conf->nodes.data[node].name, (unsigned long long)count);
}

static void join_line(struct conf_loader *l, struct items *items, const struct gres_line *g,
                      size_t node)
{
    struct conf_gres *item = item_of_line(l, items, g);
    if (!item) {
        conf_warn(l, g->row->at, "Name=%s%s%s: no node of the line has it in its Gres=", g->name,
                  g->type ? " Type=" : "", g->type ? g->type : "");
        return;
    }
    unsigned known = item->flags & (VARIABLES | CONF_GRES_NO_ENV);
    unsigned own = g->env & (VARIABLES | CONF_GRES_NO_ENV);
    if (known && own && known != own)
        conf_fault(l, g->row->value[CONF_GRES_FLAGS].at,
                   "Name=%s Flags=%s: another line of the same name and type has other variables: "
                   "give both lines the same flags",
                   g->name, g->row->value[CONF_GRES_FLAGS].text);
    item->flags |= g->env;
    if (is_shared(g->name) || (!g->n_files && !g->cores && !g->links))
        return;
    if (item->n_devices < item->count)
        check_link_count(l, items, g, node);
    size_t n = g->n_files ? g->n_files : g->count < FILES_MAX ? (size_t)g->count : FILES_MAX;
    size_t room = item->n_devices + n;
    struct conf_gres_device *more = arena_alloc(&l->priv->arena, room * sizeof(*more));
    if (item->n_devices)
        memcpy(more, item->devices, item->n_devices * sizeof(*more));
    item->devices = more;
    for (size_t i = 0; i < n && item->n_devices < item->count; i++)
        more[item->n_devices++] = (struct conf_gres_device){g->n_files ? g->files[i] : NULL,
                                                            g->cores,
                                                            g->n_also ? g->files + 1 : NULL,
                                                            g->n_also,
                                                            g->links,
                                                            g->n_links,
                                                            g->number};
}

struct lines {
    VEC(struct gres_line) list;
};

/* --- lines and counts --------------------------------------------------------------------------
 */

static bool is_of_node(const struct gres_line *g, size_t node)
{
    return !g->nodes || bitset_test(g->nodes, node);
}

/* The lines of a name must describe all its devices; more are for nodes with more. */
static void check_count(struct conf_loader *l, const struct items *items, const struct lines *lines,
                        size_t node, const char *name)
{
    const struct gres_line *last = NULL;
    uint64_t sum = 0, count = count_named(items, name);
    vec_foreach (&lines->list, g) {
        if (strcasecmp(g->name, name) != 0 || !is_of_node(g, node))
            continue;
        if (!g->is_counted) /* it is about flags or cores of all devices */
            return;
        sum += g->count;
        last = g;
    }
    if (last && sum < count)
        conf_fault(l, last->row->at,
                   "Name=%s: the lines of node %s have %llu, and its Gres= has %llu: make both the "
                   "same",
                   name, l->conf->nodes.data[node].name, (unsigned long long)sum,
                   (unsigned long long)count);
}

/* The cores of the node are 0 to sockets * cores - 1. */
static void check_core_numbers(struct conf_loader *l, const struct conf_node_row *row,
                               const struct gres_line *g, size_t node)
{
    unsigned long cores = (unsigned long)row->sockets * row->cores;
    ranges_foreach (g->cores, r)
        if (r.last >= cores) {
            conf_fault(l, g->row->value[CONF_GRES_CORES].at,
                       "Name=%s Cores=%s: node %s has the cores 0-%lu", g->name, g->cores,
                       l->conf->nodes.data[node].name, cores - 1);
            return;
        }
}

static void check_files(struct conf_loader *l, const struct conf_gres *item, const char *node,
                        struct conf_place at)
{
    for (size_t i = 0; i < item->n_devices; i++)
        for (size_t k = 0; k < i && item->devices[i].file; k++)
            if (str_eq(item->devices[i].file, item->devices[k].file)) {
                conf_fault(l, at, "Name=%s: devices %zu and %zu of node %s have the same File=%s",
                           item->name, k, i, node, item->devices[i].file);
                return;
            }
}

/* --- links ------------------------------------------------------------------------------------ */

/* Returns the reason why the connections of two devices are inconsistent; NULL: they are
   consistent. */
static const char *find_link_fault(const struct conf_gres_device *a,
                                   const struct conf_gres_device *b)
{
    if (a->n_links != b->n_links)
        return "they are not of the same length";
    if (a->number == b->number)
        return "-1 is in the same place";
    return a->links[b->number] == b->links[a->number]
               ? NULL
               : "the numbers of connections of the two differ";
}

static void check_links(struct conf_loader *l, const struct conf_gres *item, const char *node,
                        struct conf_place at)
{
    for (size_t i = 0; i < item->n_devices; i++) {
        const struct conf_gres_device *d = &item->devices[i];
        for (size_t k = 0; d->links && k < i; k++) {
            const struct conf_gres_device *other = &item->devices[k];
            const char *fault = other->links ? find_link_fault(other, d) : NULL;
            if (!fault)
                continue;
            conf_fault(l, at, "Name=%s: Links= of devices %zu and %zu of node %s: %s", item->name,
                       k, i, node, fault);
            return;
        }
    }
}

/* --- parts of GPUs ---------------------------------------------------------------------------- */

/* Whether a line that describes GPUs of the node names this file. The node may have fewer GPUs. */
static bool is_gpu_file(const struct lines *lines, size_t node, const char *file)
{
    vec_foreach (&lines->list, g)
        for (size_t i = 0; i < g->n_files && conf_gres_is_gpu(g->name) && is_of_node(g, node); i++)
            if (str_eq(g->files[i], file))
                return true;
    return false;
}

/* Returns the index of the file's device among the GPUs of the node; -1: no GPU of the node has
   this file. */
static long find_gpu(const struct items *items, const char *file)
{
    uint64_t first = 0;
    vec_foreach (&items->list, g) {
        if (!conf_gres_is_gpu(g->name))
            continue;
        for (size_t i = 0; i < g->n_devices; i++)
            if (str_eq(g->devices[i].file, file))
                return (long)(first + i);
        first += g->count;
    }
    return -1;
}

/* Returns the share of the i-th of n GPUs: equal shares, with the remainder on the first GPUs. */
static uint64_t divide_count(uint64_t count, size_t n, size_t i)
{
    return count / n + (i < count % n);
}

static void spread_line(struct conf_loader *l, const struct items *items, const struct lines *lines,
                        const struct gres_line *g, size_t node, struct conf_gres *item)
{
    for (size_t i = 0; i < item->n_parts && !g->n_files; i++)
        item->parts[i] += divide_count(g->count, item->n_parts, i);
    for (size_t i = 0; i < g->n_files; i++) {
        long at = find_gpu(items, g->files[i]);
        if (at >= 0 && (size_t)at < item->n_parts)
            item->parts[at] += divide_count(g->count, g->n_files, i);
        else if (!is_gpu_file(lines, node, g->files[i]))
            conf_fault(l, g->row->at, "Name=%s File=%s: no Name=gpu line of node %s has this file",
                       g->name, g->files[i], l->conf->nodes.data[node].name);
    }
}

/* Reduces the entries to the count in Gres=, beginning with the last GPU. */
static void trim_parts(struct conf_gres *item)
{
    uint64_t left = item->count;
    for (size_t i = 0; i < item->n_parts; i++) {
        item->parts[i] = item->parts[i] < left ? item->parts[i] : left;
        left -= item->parts[i];
    }
}

/* Distributes the entries over the GPUs of the node: as in the lines, or evenly without lines. */
static void spread_item(struct conf_loader *l, const struct items *items, const struct lines *lines,
                        size_t node, struct conf_place at, struct conf_gres *item)
{
    const char *name = l->conf->nodes.data[node].name;
    const struct gres_line *last = NULL;
    uint64_t gpus = 0, sum = 0;
    bool are_counted = false;
    vec_foreach (&items->list, g) {
        gpus += conf_gres_is_gpu(g->name) ? g->count : 0;
        are_counted |= conf_gres_is_gpu(g->name) && g->flags & CONF_GRES_COUNT_ONLY;
    }
    if (!gpus) {
        conf_warn(l, at, "Gres=%s: node %s has no GPU that could be shared", item->name, name);
        return;
    }
    if (are_counted)
        conf_warn(l, at, "Gres=%s: the GPUs of node %s have Flags=CountOnly: the node has no %s",
                  item->name, name, item->name);
    else if (gpus > CONF_GRES_SHARED_GPUS)
        conf_warn(l, at, "Gres=%s: node %s has %llu GPUs, %d are allowed: the node has no %s",
                  item->name, name, (unsigned long long)gpus, CONF_GRES_SHARED_GPUS, item->name);
    item->n_parts = gpus < FILES_MAX ? (size_t)gpus : FILES_MAX;
    item->parts = arena_alloc(&l->priv->arena, item->n_parts * sizeof(*item->parts));
    memset(item->parts, 0, item->n_parts * sizeof(*item->parts));
    vec_foreach (&lines->list, g) {
        if (strcasecmp(g->name, item->name) != 0 || !is_of_node(g, node))
            continue;
        spread_line(l, items, lines, g, node, item);
        last = g;
    }
    for (size_t i = 0; i < item->n_parts && !last; i++)
        item->parts[i] = divide_count(item->count, item->n_parts, i);
    for (size_t i = 0; i < item->n_parts; i++)
        sum += item->parts[i];
    if (last && sum != item->count)
        conf_fault(l, last->row->at,
                   "Name=%s: the GPUs of node %s are given %llu, and its Gres= has %llu: make both "
                   "the same",
                   item->name, name, (unsigned long long)sum, (unsigned long long)item->count);
    trim_parts(item);
}

static bool has_gpu_with_cores(const struct items *items)
{
    vec_foreach (&items->list, g)
        for (size_t i = 0; conf_gres_is_gpu(g->name) && i < g->n_devices; i++)
            if (g->devices[i].cores)
                return true;
    return false;
}

/* Which cores are restricted follows from the cores near the GPUs. */
static void check_restricted_cores(struct conf_loader *l, const struct conf_node_row *row,
                                   const struct items *items)
{
    const struct conf_place at = {row->file, row->line};
    if (row->restricted_cores && l->scope != CONF_CLIENT && !has_gpu_with_cores(items))
        conf_warn(l, at,
                  "RestrictedCoresPerGPU=%u has no effect: no GPU of the node has Cores= in "
                  "gres.conf",
                  row->restricted_cores);
}

static int build_set(struct conf_loader *l, struct lines *lines, size_t node, struct err *err)
{
    struct conf *c = l->conf;
    const struct conf_node_row *row = &c->node_rows.data[c->nodes.data[node].row];
    struct conf_place at = {row->file, row->line};
    struct items items = {0};
    int rc = take_text(l, &items, row->gres, at, err);
    if (rc == 0)
        vec_foreach (&lines->list, g)
            if (is_of_node(g, node)) {
                join_line(l, &items, g, node);
                check_core_numbers(l, row, g, node);
            }
    vec_foreach (&items.list, item)
        if (rc == 0 && !is_shared(item->name) && is_first_of_name(&items, item))
            check_count(l, &items, lines, node, item->name);
    vec_foreach (&items.list, item)
        if (rc == 0 && item->count && is_shared(item->name))
            spread_item(l, &items, lines, node, at, item);
    vec_foreach (&items.list, item)
        if (rc == 0 && item->n_devices) {
            check_files(l, item, c->nodes.data[node].name, at);
            check_links(l, item, c->nodes.data[node].name, at);
        }
    check_restricted_cores(l, row, &items);
    struct conf_gres_set set = {0};
    set.items = arena_alloc(&l->priv->arena, (items.list.len + 1) * sizeof(*set.items));
    vec_foreach (&items.list, g)
        if (g->count)
            set.items[set.len++] = *g;
    vec_done(&items.list);
    vec_push(&c->gres_sets, set);
    return rc;
}

/* Numbers the combinations of lines per node: nodes of a row with the same number share a set. */
static uint64_t *sign_nodes(const struct conf *c, const struct lines *lines)
{
    uint64_t *sign = mem_new_array(uint64_t, c->nodes.len + 1), number = 1;
    vec_foreach (&lines->list, g) {
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        for (size_t i = 0; i < c->nodes.len; i++)
            if (is_of_node(g, i))
                sign[i] = (sign[i] ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return sign;
}

struct made_set {
    uint32_t row;
    uint64_t sign;
};

static int build_sets(struct conf_loader *l, struct lines *lines, struct err *err)
{
    struct conf *c = l->conf;
    VEC(struct made_set) made = {0};
    _cleanup_free_ uint64_t *sign = sign_nodes(c, lines);
    const struct items none = {0};
    int rc = 0;
    vec_foreach (&c->node_rows, row)
        if (!row->gres)
            check_restricted_cores(l, row, &none);
    for (size_t i = 0; i < c->nodes.len && rc == 0; i++) {
        struct conf_node *n = &c->nodes.data[i];
        if (!c->node_rows.data[n->row].gres)
            continue;
        size_t at = made.len; /* the newest is the likeliest */
        while (at > 0 && (made.data[at - 1].row != n->row || made.data[at - 1].sign != sign[i]))
            at--;
        if (at == 0) {
            rc = build_set(l, lines, i, err);
            vec_push(&made, ((struct made_set){n->row, sign[i]}));
            at = made.len;
        }
        n->gres = (uint32_t)at;
    }
    vec_done(&made);
    return rc;
}

/* These flags are global, even if only one line of the name has them. */
static int check_sharing(const struct lines *lines, struct err *err)
{
    unsigned both = CONF_GRES_ONE_SHARING | CONF_GRES_ALL_SHARING;

    vec_foreach (&lines->list, g) {
        unsigned flags = g->env & both;

        vec_foreach (&lines->list, other)
            if (flags && other->env & both && strcasecmp(other->name, g->name) == 0)
                flags |= other->env & both;
        if (flags == both)
            return conf_fail(g->row->value[CONF_GRES_FLAGS].at, err,
                             "Name=%s: Flags=one_sharing and Flags=all_sharing exclude each other",
                             g->name);
    }
    return 0;
}

int conf_gres_build(struct conf_loader *l, struct err *err)
{
    struct lines lines = {0};
    int rc = 0;
    vec_push(&l->conf->gres_sets, ((struct conf_gres_set){0}));
    vec_foreach (&l->gres.row, row) {
        struct gres_line g;
        rc = line_read(l, row, &g, err);
        if (rc > 0)
            vec_push(&lines.list, g);
        if (rc < 0)
            break;
        rc = 0;
    }
    rc = rc == 0 ? check_sharing(&lines, err) : rc;
    if (rc == 0)
        rc = build_sets(l, &lines, err);
    vec_foreach (&lines.list, g)
        bitset_free(g->nodes);
    vec_done(&lines.list);
    return rc;
}

const struct conf_gres_set *conf_gres_of(const struct conf *c, uint32_t node)
{
    return &c->gres_sets.data[c->nodes.data[node].gres];
}

/* --- reading it ------------------------------------------------------------------------------- */

int conf_gres_read(struct conf_loader *l, const char *path, struct err *err)
{
    const char *types = l->priv->written[CONF_KEY_gres_types].text;
    if (l->scope == CONF_CLIENT || !types || !*types)
        return 0;
    return conf_lines_read_beside(l, path, "gres.conf", CONF_GRES_PREFIX, err);
}
