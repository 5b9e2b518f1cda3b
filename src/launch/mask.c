/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/mask.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"

#define DIGITS_MAX 4 /* "0022" */

/* Of this process; NULL: none that its user wants. */
static const char *wanted(void)
{
    const char *text = getenv("SLURM_UMASK"), *told = getenv(MASK_TOLD);
    return text && (!*text || (told && str_eq(text, told))) ? NULL : text;
}

int mask_take(struct err *err)
{
    const char *text = wanted();
    if (!text)
        return 0;
    size_t digits = strspn(text, "01234567");
    unsigned long mask = strtoul(text, NULL, 8);
    if (!digits || digits > DIGITS_MAX || text[digits] || mask > 0777)
        return err_set(err, -ERR_RANGE,
                       "Invalid value for SLURM_UMASK: '%s' is not an octal number from 0 to 0777",
                       text);
    umask((mode_t)mask);
    return 0;
}

void mask_forget(struct envlist *e)
{
    if (!wanted() && str_eq(envlist_get(e, "SLURM_UMASK"), getenv("SLURM_UMASK")))
        envlist_set(e, "SLURM_UMASK", NULL);
    envlist_set(e, MASK_TOLD, NULL);
}
