/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For a program that loads no plugins: behaves as if plugstack.conf named none. It executes a
 * program with modules if CliFilterPlugins is set.
 */
#include <stddef.h>

#include "launch/filter_plugin.h"
#include "launch/plugins.h"

struct plugins *plugins_begin(const struct conf *conf, struct opt *o)
{
    return NULL;
}

void plugins_ready(struct plugins *p, size_t component, char *const *environment, Pb__JobSpec *spec)
{
}

void plugins_export(struct plugins *p)
{
}

Pb__SpankOption **plugins_options(const struct plugins *p, size_t part, size_t *count)
{
    *count = 0;
    return NULL;
}

char **plugins_choose_env(struct plugins *p, size_t part, char *const *environment)
{
    return (char **)environment;
}

int plugins_started(struct plugins *p, size_t part, const Pb__StepReply *step, int argc,
                    char **argv, struct err *err)
{
    return 0;
}

void plugins_end(struct plugins *p)
{
}

int filter_load_lua(const struct filter_plugin **out, struct err *err)
{
    *out = NULL;
    return err_set(err, -ERR_CONFIG, "this program cannot load the interpreter of cli_filter.lua");
}
