/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libpmix, loaded at run time: versions 4 and 5, which have one binary interface in what is used
 * here. Its inline functions and macros are not used, as those are of the version compiled against.
 */
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include "base/err.h"

struct pmixd_lib {
#define PMIX(name) typeof(name) *name;
#include "slurmstepd/pmixd/pmixd_lib.def"
#undef PMIX
};

/* The library; -ERR_NOT_SUPPORTED says which file is missing. */
int pmixd_lib_get(const struct pmixd_lib **lib, struct err *err);

/* "4.2.2", static. */
const char *pmixd_lib_version(const struct pmixd_lib *lib);
