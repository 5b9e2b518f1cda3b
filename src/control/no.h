/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "base/err.h"

/* A refusal: the text of that code, which is positive, and a detail behind it, which may be NULL.
 * Returns the negative code. */
static inline int no(struct err *err, int code, const char *detail)
{
    return err_set(err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
}
