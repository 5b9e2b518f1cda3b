/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In a program without modules, which gives way to one that has them with CliFilterPlugins. */
#include "launch/filter_plugin.h"

int filter_load_lua(const struct filter_plugin **out, struct err *err)
{
    *out = NULL;
    return err_set(err, -ERR_CONFIG, "this program cannot load the interpreter of cli_filter.lua");
}
