/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store_pq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include "base/symbols.h"

#define LIBRARY "libpq.so.5"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct store_pq table;
static struct err missing;

static const struct symbol functions[] = {
#define PQ(name) {#name, offsetof(struct store_pq, name)},
#include "store/store_pq.def"
#undef PQ
};

static void load_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        err_set(&missing, -ERR_NOT_SUPPORTED,
                "a store on PostgreSQL needs the library libpq (Debian: package libpq5): %s",
                dlerror());
        return;
    }
    const char *name =
        symbols_find(library, functions, sizeof(functions) / sizeof(functions[0]), &table);
    if (name)
        err_set(&missing, -ERR_NOT_SUPPORTED,
                "a store on PostgreSQL needs " LIBRARY
                " of version 14 or newer: this one has no %s",
                name);
}

int store_pq_get(const struct store_pq **pq, struct err *err)
{
    pthread_once(&once, load_library);
    if (missing.code)
        return err_set(err, missing.code, "%s", missing.text);
    *pq = &table;
    return 0;
}
