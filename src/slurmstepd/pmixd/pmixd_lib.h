/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libpmix, loaded at run time: versions 4 and 5, whose binary interfaces are equal in the part
 * used here. Inline functions and macros of its headers are not used, because they belong to the
 * version compiled against.
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

/* Loads the library; -ERR_NOT_SUPPORTED names the missing file. */
int pmixd_lib_get(const struct pmixd_lib **lib, struct err *err);

/* Returns a static string, "4.2.2". */
const char *pmixd_lib_version(const struct pmixd_lib *lib);
