/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors: one code, one sentence.
 *
 * A function that can fail returns int: 0 success, negative failure (-errno or -ERR_*), positive a
 * documented outcome. Where a person will read the reason, its last parameter is a struct err,
 * owned by the caller, untouched on success; NULL when the caller does not care. The text names the
 * thing and the place; it is written where the failure is known and never logged there: the one who
 * handles the failure logs it, once.
 */
#pragma once

#include <stdarg.h>

#define ERR_TEXT_MAX 480

struct err {
    int code;                /* negative, as returned; 0 while nothing went wrong */
    char text[ERR_TEXT_MAX]; /* of a longer one both ends */
};

/* ERR_<NAME>, from err.def: values above every errno, so that both share one number space. */
enum err_code {
#define ERR(name, number, text) ERR_##name = number,
#include "base/err.def"
#undef ERR
};

/* Fills err (when not NULL) and returns code, so that a failure is one line: return err_set(err,
 * -ERR_X, "..."). */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_vset(struct err *err, int code, const char *fmt, va_list ap);

/* Puts "prefix: " before a text already set; returns err->code (-ERR_GENERIC without an err). For
 * adding the place on the way up. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The table's text for a code of either sign (ours or errno's); static storage, never NULL. */
const char *err_text(int code);

/* The symbolic name ("ERR_NO_PARTITION", "ENOENT"); static storage, never NULL. */
const char *err_name(int code);
