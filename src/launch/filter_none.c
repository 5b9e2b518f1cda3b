/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For a program without modules, which executes one with modules if CliFilterPlugins is set. */
#include "launch/filter_plugin.h"

int filter_load_lua(const struct filter_plugin **out, struct err *err)
{
    *out = NULL;
    return err_set(err, -ERR_CONFIG, "this program cannot load the interpreter of cli_filter.lua");
}
