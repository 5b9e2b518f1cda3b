/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each rank asks the next one for its value before it publishes its own, but for the last one,
 * which publishes first: so that all answers but one have to wait, one for the other. Prints "RANK
 * got VALUE". */
#include <stdio.h>
#include <string.h>

#include <pmix.h>

static int fail(const char *what, pmix_status_t rc)
{
    fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(rc));
    return 1;
}

static int publish(uint32_t rank)
{
    pmix_value_t mine;
    pmix_status_t rc;

    memset(&mine, 0, sizeof(mine));
    mine.type = PMIX_UINT32;
    mine.data.uint32 = 100 + rank;
    rc = PMIx_Put(PMIX_GLOBAL, "test.value", &mine);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Commit();
    return rc == PMIX_SUCCESS ? 0 : fail("PMIx_Put", rc);
}

int main(void)
{
    pmix_proc_t me, next;
    pmix_value_t *size, *got;
    pmix_status_t rc = PMIx_Init(&me, NULL, 0);

    if (rc != PMIX_SUCCESS)
        return fail("PMIx_Init", rc);
    PMIX_LOAD_PROCID(&next, me.nspace, PMIX_RANK_WILDCARD);
    rc = PMIx_Get(&next, PMIX_JOB_SIZE, NULL, 0, &size);
    if (rc != PMIX_SUCCESS)
        return fail("PMIx_Get of the size", rc);
    int is_last = me.rank + 1 == size->data.uint32;
    next.rank = (me.rank + 1) % size->data.uint32;
    if (is_last && publish(me.rank))
        return 1;
    rc = PMIx_Get(&next, "test.value", NULL, 0, &got);
    if (rc != PMIX_SUCCESS)
        return fail("PMIx_Get of the value", rc);
    if (!is_last && publish(me.rank))
        return 1;
    printf("%u got %u\n", me.rank, got->data.uint32);
    PMIx_Fence(NULL, 0, NULL, 0);
    return PMIx_Finalize(NULL, 0) != PMIX_SUCCESS;
}
