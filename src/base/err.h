/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors: one code, one sentence.
 *
 * A function that can fail returns int: 0 success, a negative value failure (-errno or -ERR_*), a
 * positive value a documented outcome. If the reason is read by a person, its last parameter is a
 * struct err, owned by the caller and unchanged on success; it is NULL if the caller does not need
 * the reason. The text names the thing and the place. It is written where the failure is known and
 * not logged there: the function that handles the failure logs it, once.
 */
#pragma once

#include <stdarg.h>

#define ERR_TEXT_MAX 480

struct err {
    int code;                /* negative, as returned; 0: no error */
    char text[ERR_TEXT_MAX]; /* the middle of a longer text is omitted */
};

/* ERR_<NAME>, from err.def: larger than every errno, so that both share one number space. */
enum err_code {
#define ERR(name, number, text) ERR_##name = number,
#include "base/err.def"
#undef ERR
};

/* Fills err (if not NULL) and returns code, so that a failure is one line: return err_set(err,
 * -ERR_X, "..."). */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_vset(struct err *err, int code, const char *fmt, va_list ap);

/* Prepends "prefix: " to the text; returns err->code (-ERR_GENERIC without an err). Callers use it
 * to add the place. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the table's text for a code of either sign (ours or an errno); static storage, never
   NULL. */
const char *err_text(int code);

/* Returns the symbolic name ("ERR_NO_PARTITION", "ENOENT"); static storage, never NULL. */
const char *err_name(int code);
