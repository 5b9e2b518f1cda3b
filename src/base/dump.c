/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"

rlim_t dump_forbid(void)
{
    struct rlimit limit;
    rlim_t before = RLIM_INFINITY;

    if (!getrlimit(RLIMIT_CORE, &limit)) {
        before = limit.rlim_cur;
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &limit);
    }
    if (geteuid() == 0)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return before;
}

bool dump_outlasts_rights(void)
{
    _cleanup_str_ struct str mode = STR_INIT;

    return !path_read_file("/proc/sys/fs/suid_dumpable", 16, &mode, NULL) &&
           (str_starts(str_cstr(&mode), "0") || str_starts(str_cstr(&mode), "2"));
}

void dump_set_limit(rlim_t soft)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit))
        return;
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
}

int dump_on_fatal(int status)
{
    if (getenv("ABORT_ON_FATAL"))
        dump_abort();
    return status;
}

void dump_abort(void)
{
    dump_set_limit(RLIM_INFINITY); /* up to the hard limit */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fflush(NULL);
    abort();
}
