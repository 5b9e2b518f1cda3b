/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/export.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const char *value_in(char *const *from, const char *name)
{
    size_t len = strlen(name);

    for (; *from != NULL; from++)
        if (strncmp(*from, name, len) == 0 && (*from)[len] == '=')
            return *from + len + 1;
    return NULL;
}

/* The next item of a comma-separated list, without quotes; commas within quotes are kept. NULL at
 * the end. */
static char *next_item(const char **list, struct str *item)
{
    char quote = '\0';

    if (*list == NULL)
        return NULL;
    str_clear(item);
    for (; **list != '\0' && (quote != '\0' || **list != ','); (*list)++) {
        if (quote == '\0' && (**list == '"' || **list == '\''))
            quote = **list;
        else if (quote != '\0' && **list == quote)
            quote = '\0';
        else
            str_putc(item, **list);
    }
    *list = **list == ',' ? *list + 1 : NULL;
    str_putc(item, '\0'); /* allocates data for an empty item too */
    return item->data;
}

bool export_takes_all(const char *spec)
{
    const char *list = spec, *word;
    _cleanup_str_ struct str item = STR_INIT;
    bool all = spec == NULL;

    while ((word = next_item(&list, &item)) != NULL)
        all |= strcasecmp(word, "ALL") == 0;
    return all;
}

void export_variables(struct envlist *e, const char *spec, char *const *from, bool values_first)
{
    const char *list = spec;
    struct str item = STR_INIT;
    bool all = export_takes_all(spec);
    char *word;

    for (char *const *var = from; *var != NULL; var++) {
        const char *eq = strchr(*var, '=');

        /* SLURM_JWT, a token that identifies the caller, is exported only if it is named. */
        if (eq != NULL && !str_starts(*var, "SLURM_JWT=") &&
            (all || strncmp(*var, "SLURM_", 6) == 0))
            envlist_load(e, var, 1);
    }
    while ((word = next_item(&list, &item)) != NULL) {
        char *eq = strchr(word, '=');

        if (*word == '\0' || strcasecmp(word, "ALL") == 0 || strcasecmp(word, "NONE") == 0 ||
            strcasecmp(word, "NIL") == 0)
            continue;
        if (eq)
            *eq = '\0';
        const char *own = value_in(from, word);
        if (!eq)
            envlist_default(e, word, own);
        else if (!all || values_first || !own) /* otherwise the variable exists already */
            envlist_set(e, word, eq + 1);
    }
    str_done(&item);
}
