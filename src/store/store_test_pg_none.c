/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store_test_pg.h"

#include <stdio.h>
#include <stdlib.h>

void store_test_pg_start(const char *name)
{
    printf("%s: skipped: this program was built without PostgreSQL\n", name);
    exit(getenv("CI") ? 1 : 77);
}

void store_test_pg_stop(void)
{
}

const char *store_test_pg_url(void)
{
    return NULL;
}
