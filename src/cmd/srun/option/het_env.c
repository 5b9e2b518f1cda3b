/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/het_env.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define GROUP "_HET_GROUP_"

/* The value of NAME, NULL: it is not set. */
static const char *find_value(char *const *environment, const char *name, size_t len)
{
    for (size_t i = 0; environment[i] != NULL; i++)
        if (strncmp(environment[i], name, len) == 0 && environment[i][len] == '=')
            return environment[i] + len + 1;
    return NULL;
}

/* The value that the variable has for a component. */
static const char *find_of_component(char *const *environment, const char *variable, size_t len,
                                     uint32_t component)
{
    _cleanup_free_ char *name = mem_printf("%.*s" GROUP "%u", (int)len, variable, component);

    return find_value(environment, name, strlen(name));
}

bool het_env_is_given(char *const *environment)
{
    return find_value(environment, "SLURM_HET_SIZE", strlen("SLURM_HET_SIZE")) != NULL;
}

static bool is_of_whole_job(const char *variable, size_t len)
{
    return (len == strlen("SLURM_JOB_ID") && str_starts(variable, "SLURM_JOB_ID")) ||
           (len == strlen("SLURM_JOBID") && str_starts(variable, "SLURM_JOBID"));
}

/* The length of NAME in "NAME_HET_GROUP_n=value", n being the component; 0: it is no such. */
static size_t name_length(const char *variable, const char *suffix)
{
    const char *end = strchr(variable, '=');
    size_t len = end != NULL ? (size_t)(end - variable) : 0, tail = strlen(suffix);

    return len > tail && memcmp(end - tail, suffix, tail) == 0 ? len - tail : 0;
}

/* What only this component has, of that which each component may have. */
static size_t add_own(struct arena *arena, char *const *environment, uint32_t component,
                      char **chosen, size_t count)
{
    _cleanup_free_ char *suffix = mem_printf(GROUP "%u", component);

    for (size_t i = 0; environment[i] != NULL; i++) {
        size_t len = name_length(environment[i], suffix);

        if (len && !is_of_whole_job(environment[i], len) &&
            !find_value(environment, environment[i], len) &&
            !find_of_component(environment, environment[i], len, 0))
            chosen[count++] = arena_printf(arena, "%.*s=%s", (int)len, environment[i],
                                           environment[i] + len + strlen(suffix) + 1);
    }
    return count;
}

char **het_env_choose(struct arena *arena, char *const *environment, uint32_t component)
{
    size_t count = 0, kept = 0;

    while (environment[count] != NULL)
        count++;
    char **chosen = arena_alloc(arena, (2 * count + 1) * sizeof(*chosen));
    for (size_t i = 0; i < count; i++) {
        char *variable = environment[i];
        size_t len = strcspn(variable, "=");
        const char *first = find_of_component(environment, variable, len, 0);

        if (is_of_whole_job(variable, len) || variable[len] == '\0' || first == NULL ||
            !str_eq(first, variable + len + 1)) {
            chosen[kept++] = variable;
            continue;
        }
        const char *own = find_of_component(environment, variable, len, component);
        if (own != NULL)
            chosen[kept++] = arena_printf(arena, "%.*s=%s", (int)len, variable, own);
    }
    add_own(arena, environment, component, chosen, kept);
    return chosen;
}
