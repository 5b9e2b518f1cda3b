/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces the driver in a build without PostgreSQL. */
#include "store/store_internal.h"

static int refuse_missing(struct err *err)
{
    return err_set(err, -ERR_NOT_SUPPORTED,
                   "this program was built without PostgreSQL: build it where the library libpq is "
                   "installed (Debian: package libpq-dev), or leave StateSaveStore out");
}

static int none_open(struct store *s, const struct store_where *where, unsigned flags,
                     struct err *err)
{
    return refuse_missing(err);
}

static int none_lead(const struct store_where *where, uint64_t *epoch, char **holder,
                     struct err *err)
{
    return refuse_missing(err);
}

const struct store_driver store_pg_driver = {.open = none_open, .lead = none_lead};
