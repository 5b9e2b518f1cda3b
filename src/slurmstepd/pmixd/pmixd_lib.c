/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/pmixd/pmixd_lib.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/symbols.h"

#define LIBRARY "libpmix.so.2"

static const struct symbol functions[] = {
#define PMIX(name) {#name, offsetof(struct pmixd_lib, name)},
#include "slurmstepd/pmixd/pmixd_lib.def"
#undef PMIX
};

int pmixd_lib_get(const struct pmixd_lib **lib, struct err *err)
{
    static struct pmixd_lib table;
    /* Its plugins resolve symbols of the library. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);

    if (!library)
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "PMIx needs the library " LIBRARY " (Debian: package libpmix2): %s",
                       dlerror());
    const char *missing =
        symbols_find(library, functions, sizeof(functions) / sizeof(functions[0]), &table);
    if (missing)
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "PMIx needs " LIBRARY " of version 4 or 5: this one has no %s", missing);
    *lib = &table;
    return 0;
}

const char *pmixd_lib_version(const struct pmixd_lib *lib)
{
    static char version[32];
    const char *text = lib->PMIx_Get_version(); /* "OpenPMIx 4.2.2 (PMIx Standard: ..." */

    text += strcspn(text, "0123456789");
    snprintf(version, sizeof(version), "%.*s", (int)strspn(text, "0123456789."), text);
    return version;
}
