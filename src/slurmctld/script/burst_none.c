/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces burst_lua.c in a build without Lua. */
#include "slurmctld/script/burst_lua.h"
#include "slurmctld/script/scriptwire.h"

int burst_lua_run(const Pb__ScriptRun *m, int report)
{
    scriptwire_put_burst(report, BURST_REPORT_ERROR, "slurmctld was built without Lua");
    return 1;
}

int burst_lua_check(const char *path, struct err *err)
{
    return err_set(err, -ERR_NOT_SUPPORTED,
                   "BurstBufferType=burst_buffer/lua: slurmctld was built without Lua");
}
