/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/component_env.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/job/job_set_env.h"

bool component_env_is_given(char *const *environment)
{
    for (size_t i = 0; environment[i] != NULL; i++)
        if (str_starts(environment[i], JOB_SET_ENV_SIZE "="))
            return true;
    return false;
}

static bool is_of_whole_job(const char *variable, size_t len)
{
    return (len == strlen("SLURM_JOB_ID") && str_starts(variable, "SLURM_JOB_ID")) ||
           (len == strlen("SLURM_JOBID") && str_starts(variable, "SLURM_JOBID"));
}

struct variables { /* borrowed, "NAME=value" or "NAME<group>n=value" */
    VEC(const char *) list;
};

/* The variables of the environment, sorted by name suffix. A job of many components has thousands
 * of variables, and only few of them are compared repeatedly. */
struct sorted {
    /* Without suffix, of component 0, of the requested component. */
    struct variables plain, first, own;
};

/* Whether the name ends with the word and a number, as for component 3. */
static bool has_number(const char *variable, const char *word, uint32_t *number)
{
    const char *end = strchr(variable, '='), *at = strstr(variable, word);
    char *rest;
    if (!end || !at || at > end || !isdigit((unsigned char)at[strlen(word)]))
        return false;
    *number = (uint32_t)strtoul(at + strlen(word), &rest, 10);
    return rest == end;
}

static void sort_variables(struct sorted *s, char *const *environment, uint32_t component)
{
    uint32_t number;
    for (size_t i = 0; environment[i] != NULL; i++) {
        bool of_component = has_number(environment[i], JOB_SET_ENV_GROUP, &number);
        if (!of_component && !has_number(environment[i], JOB_SET_ENV_OLD_GROUP, &number))
            vec_push(&s->plain.list, environment[i]);
        if (of_component && number == 0)
            vec_push(&s->first.list, environment[i]);
        if (of_component && number == component)
            vec_push(&s->own.list, environment[i]);
    }
}

static void free_sorted(struct sorted *s)
{
    vec_done(&s->plain.list);
    vec_done(&s->first.list);
    vec_done(&s->own.list);
}

/* The value of the variable with this name, ignoring the component suffix; NULL: not found. */
static const char *find_named(const struct variables *in, const char *name, size_t len)
{
    vec_foreach (&in->list, variable) {
        const char *rest = *variable + len;
        if (strncmp(*variable, name, len) == 0 &&
            (*rest == '=' || str_starts(rest, JOB_SET_ENV_GROUP)))
            return strchr(rest, '=') + 1;
    }
    return NULL;
}

/* Adds per-component variables that only this component has. */
static void add_own(struct arena *arena, const struct sorted *s, char **chosen, size_t count)
{
    vec_foreach (&s->own.list, variable) {
        size_t len = (size_t)(strstr(*variable, JOB_SET_ENV_GROUP) - *variable);
        if (len && !is_of_whole_job(*variable, len) && !find_named(&s->plain, *variable, len) &&
            !find_named(&s->first, *variable, len))
            chosen[count++] =
                arena_printf(arena, "%.*s%s", (int)len, *variable, strchr(*variable, '='));
    }
}

char **component_env_choose(struct arena *arena, char *const *environment, uint32_t component)
{
    size_t count = 0, kept = 0, plain = 0;
    struct sorted s = {0};

    while (environment[count] != NULL)
        count++;
    sort_variables(&s, environment, component);
    char **chosen = arena_alloc(arena, (count + s.own.list.len + 1) * sizeof(*chosen));
    for (size_t i = 0; i < count; i++) {
        char *variable = environment[i];
        bool is_plain = plain < s.plain.list.len && s.plain.list.data[plain] == variable;
        size_t len = strcspn(variable, "=");
        plain += is_plain;
        const char *first = is_plain ? find_named(&s.first, variable, len) : NULL;

        if (is_of_whole_job(variable, len) || variable[len] == '\0' || first == NULL ||
            !str_eq(first, variable + len + 1)) {
            chosen[kept++] = variable;
            continue;
        }
        const char *own = find_named(&s.own, variable, len);
        if (own != NULL)
            chosen[kept++] = arena_printf(arena, "%.*s=%s", (int)len, variable, own);
    }
    add_own(arena, &s, chosen, kept);
    free_sorted(&s);
    return chosen;
}

bool component_env_is_inherited(const char *variable, const char *made)
{
    const char *now = getenv(variable), *then = getenv(made);

    return now && then && str_eq(now, then);
}
