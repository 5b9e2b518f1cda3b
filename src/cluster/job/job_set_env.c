/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/job_set_env.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/job/job_set.h"

/* How much is told of each component: what the extents before it tell, and more. */
enum extent { IDS, SHAPE, ALL, NAMES, FORMER };

static const struct {
    const char *size; /* NULL: the number of components has no such name */
    const char *group;
    enum extent from;
    bool by_name; /* of the component, not by its number */
} spellings[] = {{JOB_SET_ENV_SIZE, JOB_SET_ENV_GROUP, IDS, false},
                 {NULL, JOB_SET_ENV_GROUP, NAMES, true},
                 {JOB_SET_ENV_OLD_SIZE, JOB_SET_ENV_OLD_GROUP, FORMER, false}};
#define SUFFIX_MAX (16 + JOB_SET_NAME_MAX)
#define SPELLINGS (sizeof spellings / sizeof spellings[0])

static const struct {
    const char *name;
    enum extent from;
} narrow[] = {
    {"SLURM_JOB_ID", IDS},
    {"SLURM_CPUS_PER_TASK", SHAPE},
    {"SLURM_JOB_CPUS_PER_NODE", SHAPE},
    {"SLURM_JOB_NODELIST", SHAPE},
    {"SLURM_JOB_NUM_NODES", SHAPE},
    {"SLURM_JOB_PARTITION", SHAPE},
    {"SLURM_MEM_PER_CPU", SHAPE},
    {"SLURM_MEM_PER_NODE", SHAPE},
    {"SLURM_NTASKS", SHAPE},
    {"SLURM_TASKS_PER_NODE", SHAPE},
};

static enum extent extent_of(const char *var, size_t name_len)
{
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++)
        if (strlen(narrow[i].name) == name_len && !strncmp(narrow[i].name, var, name_len))
            return narrow[i].from;
    return ALL;
}

/* One variable of one component in one spelling. */
struct renamed {
    const char *var; /* "NAME=value" */
    size_t name_len;
    char suffix[SUFFIX_MAX];
};

static size_t bytes_of(const struct renamed *r)
{
    return strlen(r->var) + strlen(r->suffix) + 1;
}

static void put_suffix(const char *component, size_t offset, size_t spelling, char *out,
                       size_t size)
{
    if (!spellings[spelling].by_name) {
        snprintf(out, size, "%s%zu", spellings[spelling].group, offset);
        return;
    }
    snprintf(out, size, "%s%s", spellings[spelling].group, component);
    for (; *out; out++)
        *out = (char)toupper((unsigned char)*out);
}

/* False: it is not told in this extent. */
static bool rename_variable(const struct job_set_env *component, size_t at, size_t offset,
                            size_t spelling, enum extent extent, struct renamed *out)
{
    const char *var = component->vars[at];
    out->var = var;
    out->name_len = strcspn(var, "=");
    put_suffix(component->name, offset, spelling, out->suffix, sizeof out->suffix);
    return str_starts(var, "SLURM_") && var[out->name_len] &&
           extent_of(var, out->name_len) <= extent && bytes_of(out) <= JOB_SET_ENV_ONE;
}

typedef void renamed_fn(void *ctx, const struct renamed *r);

static void each_renamed(const struct job_set_env *components, size_t count, enum extent extent,
                         renamed_fn *fn, void *ctx)
{
    struct renamed r;

    for (size_t s = 0; s < SPELLINGS && spellings[s].from <= extent; s++)
        for (size_t c = 0; c < count; c++)
            for (size_t i = 0; i < components[c].count; i++)
                if ((components[c].name || !spellings[s].by_name) &&
                    rename_variable(&components[c], i, c, s, extent, &r))
                    fn(ctx, &r);
}

struct sum {
    size_t bytes, variables;
};

static void add_to_sum(void *ctx, const struct renamed *r)
{
    struct sum *sum = ctx;

    sum->bytes += bytes_of(r) + sizeof(char *);
    sum->variables++;
}

struct receiver {
    job_env_fn *put;
    void *ctx;
};

static void hand_over(void *ctx, const struct renamed *r)
{
    const struct receiver *to = ctx;
    _cleanup_free_ char *name = mem_printf("%.*s%s", (int)r->name_len, r->var, r->suffix);

    to->put(to->ctx, name, r->var + r->name_len + 1);
}

static struct sum sum_up(const struct job_set_env *components, size_t count, enum extent extent)
{
    struct sum sum = {0};

    each_renamed(components, count, extent, add_to_sum, &sum);
    return sum;
}

static size_t count_all(const struct job_set_env *components, size_t count)
{
    size_t all = 0;

    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < components[c].count; i++)
            all += str_starts(components[c].vars[i], "SLURM_");
    return all;
}

size_t job_set_env_each(const struct job_set_env *components, size_t count, job_env_fn *put,
                        void *ctx)
{
    struct receiver to = {put, ctx};
    enum extent extent = FORMER;
    char size[24];

    while (extent > IDS && sum_up(components, count, extent).bytes > JOB_SET_ENV_MAX)
        extent--;
    snprintf(size, sizeof size, "%zu", count);
    for (size_t s = 0; s < SPELLINGS; s++)
        if (spellings[s].size)
            put(ctx, spellings[s].size, size);
    each_renamed(components, count, extent, hand_over, &to);
    return count_all(components, count) -
           sum_up(components, count, extent < ALL ? extent : ALL).variables;
}

void job_set_env_each_name(const char *var, const char *component, size_t offset,
                           job_set_env_name_fn *put, void *ctx)
{
    for (size_t s = 0; s < SPELLINGS; s++) {
        char suffix[SUFFIX_MAX];
        if (spellings[s].by_name && !component)
            continue;
        put_suffix(component, offset, s, suffix, sizeof suffix);
        _cleanup_free_ char *name = mem_printf("%s%s", var, suffix);
        put(ctx, name);
    }
}

/* The group and a number, or a component's name, at the end. */
static bool is_of_group(const char *name, size_t len, size_t spelling)
{
    const char *group = spellings[spelling].group;
    const char *digits = "0123456789", *upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    bool by_name = spellings[spelling].by_name;
    _cleanup_free_ char *text = mem_strndup(name, len);
    const char *at = strstr(text, group);
    if (!at || at == text)
        return false;
    at += strlen(group);
    return *at && strspn(at, by_name ? upper : digits) == strlen(at) &&
           (!by_name || isupper((unsigned char)*at));
}

bool job_set_env_has(const char *name, size_t len)
{
    for (size_t s = 0; s < SPELLINGS; s++)
        if ((spellings[s].size && strlen(spellings[s].size) == len &&
             !strncmp(name, spellings[s].size, len)) ||
            (str_starts(name, "SLURM_") && is_of_group(name, len, s)))
            return true;
    return false;
}
