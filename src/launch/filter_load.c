/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interpreter of cli_filter.lua is a module, so that the commands do not depend on Lua. */
#include <dlfcn.h>

#include "base/mem.h"
#include "conf/conf.h"
#include "launch/filter_plugin.h"

int filter_load_lua(const struct filter_plugin **out, struct err *err)
{
    _cleanup_free_ char *dir = conf_installed_plugin_dir();
    _cleanup_free_ char *path = mem_printf("%s/" FILTER_LUA_MODULE, dir);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    *out = module ? dlsym(module, FILTER_LUA_SYMBOL) : NULL;
    if (!*out)
        return err_set(err, -ERR_CONFIG,
                       "the interpreter of cli_filter.lua cannot be loaded (%s): install Sluice "
                       "with Lua 5.4, or take lua out of CliFilterPlugins",
                       dlerror());
    return 0;
}
