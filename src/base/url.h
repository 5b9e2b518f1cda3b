/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * URLs of the form SCHEME://[USER[:PASSWORD]@][HOST[,HOST...]][/PATH][?NAME=VALUE[&...]] that may
 * hold a secret. Text that was not checked is masked generously; an error never quotes more than
 * the masked form.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Whether the text begins with SCHEME://, or with a slip in it such as "SCHEME:/" or "SCHEME:". */
bool url_is(const char *text);

/* Refuses a scheme that is not among 'schemes' (with "://" each, NULL at the end), blanks and
 * control characters, a % without two hexadecimal digits, and an '@' other than the one behind the
 * user: it stands where a password was not percent-encoded. */
int url_check(const char *url, const char *const *schemes, struct err *err);

/* With "****" in the place of the password and of the values of parameters whose names hold
 * "password"; other text is copied. The caller frees. NULL for NULL. */
char *url_mask(const char *url);

/* Whether url_mask() hides something. */
bool url_has_secret(const char *url);
