/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/job_set_env.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    const char *size, *group;
} spellings[] = {{"SLURM_HET_SIZE", "_HET_GROUP_"}, {"SLURM_PACK_SIZE", "_PACK_GROUP_"}};
#define SPELLINGS (sizeof spellings / sizeof spellings[0])

/* How much is told of each component: what the extents before it tell, and more. */
enum extent { IDS, SHAPE, ALL, ALL_SPELLINGS };

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
    char suffix[32];
};

static size_t bytes_of(const struct renamed *r)
{
    return strlen(r->var) + strlen(r->suffix) + 1;
}

/* False: it is not told in this extent. */
static bool rename_variable(const char *var, size_t offset, size_t spelling, enum extent extent,
                            struct renamed *out)
{
    out->var = var;
    out->name_len = strcspn(var, "=");
    snprintf(out->suffix, sizeof out->suffix, "%s%zu", spellings[spelling].group, offset);
    return str_starts(var, "SLURM_") && var[out->name_len] &&
           extent_of(var, out->name_len) <= extent && bytes_of(out) <= JOB_SET_ENV_ONE;
}

typedef void renamed_fn(void *ctx, const struct renamed *r);

static void each_renamed(const struct job_set_env *components, size_t count, enum extent extent,
                         renamed_fn *fn, void *ctx)
{
    struct renamed r;

    for (size_t s = 0; s < (extent == ALL_SPELLINGS ? SPELLINGS : 1); s++)
        for (size_t c = 0; c < count; c++)
            for (size_t i = 0; i < components[c].count; i++)
                if (rename_variable(components[c].vars[i], c, s, extent, &r))
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
    enum extent extent = ALL_SPELLINGS;
    char size[24];

    while (extent > IDS && sum_up(components, count, extent).bytes > JOB_SET_ENV_MAX)
        extent--;
    snprintf(size, sizeof size, "%zu", count);
    for (size_t s = 0; s < SPELLINGS; s++)
        put(ctx, spellings[s].size, size);
    each_renamed(components, count, extent, hand_over, &to);
    return count_all(components, count) -
           sum_up(components, count, extent < ALL ? extent : ALL).variables;
}

static bool is_of_group(const char *name, size_t len, const char *group)
{
    size_t digits = 0, tail = strlen(group);

    while (digits < len && name[len - 1 - digits] >= '0' && name[len - 1 - digits] <= '9')
        digits++;
    return digits && len > digits + tail && !strncmp(name + len - digits - tail, group, tail);
}

bool job_set_env_has(const char *name, size_t len)
{
    for (size_t s = 0; s < SPELLINGS; s++)
        if ((strlen(spellings[s].size) == len && !strncmp(name, spellings[s].size, len)) ||
            (str_starts(name, "SLURM_") && is_of_group(name, len, spellings[s].group)))
            return true;
    return false;
}
