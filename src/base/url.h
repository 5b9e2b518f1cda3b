/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * URLs SCHEME://[USER[:PASSWORD]@][HOST[,HOST...]][/PATH][?NAME=VALUE[&...]] that may contain a
 * secret. Unchecked text is masked generously; an error message never quotes more than the masked
 * form.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Whether the text begins with SCHEME://, or with a typical mistake such as "SCHEME:/" or
   "SCHEME:". */
bool url_is(const char *text);

/* Refuses a scheme that is not in 'schemes' (each with "://", NULL at the end), blanks and control
 * characters, a % without two hexadecimal digits, and an '@' other than the one after the user,
 * which occurs if a password is not percent-encoded. */
int url_check(const char *url, const char *const *schemes, struct err *err);

/* Replaces the password, and the values of parameters whose names contain "password", by "****";
 * copies other text. The caller frees the result. NULL for NULL. */
char *url_mask(const char *url);

/* Whether url_mask() would hide something. */
bool url_has_secret(const char *url);
