/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define HEAD 300 /* bytes kept from the beginning of a text that is too long */

struct err_row {
    int number;
    const char *name;
    const char *text;
};

static const struct err_row rows[] = {
#define ERR(name_, number_, text_) {number_, "ERR_" #name_, text_},
#include "base/err.def"
#undef ERR
};

static const struct err_row *row_find(int number)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

/* Avoids the overflow of -INT_MIN, which is in no table. */
static int code_number(int code)
{
    return code < 0 ? (int)-(unsigned)code : code;
}

/* The error often follows its subject, so both ends of a long text are kept. */
static void keep_ends(struct err *err, const char *whole, size_t len)
{
    static const char gap[] = "[...]";
    size_t tail = sizeof(err->text) - HEAD - sizeof(gap);
    snprintf(err->text, sizeof(err->text), "%.*s%s%s", HEAD, whole, gap, whole + len - tail);
}

int err_vset(struct err *err, int code, const char *fmt, va_list ap)
{
    if (!err)
        return code;
    char few[ERR_TEXT_MAX] = ""; /* 'ap' may refer to the text in err */
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(few, sizeof(few), fmt, again);
    va_end(again);
    if (len < (int)sizeof(few)) {
        memcpy(err->text, few, sizeof(few));
    } else {
        struct str text = STR_INIT;
        str_vprintf(&text, fmt, ap);
        keep_ends(err, str_cstr(&text), text.len);
        str_done(&text);
    }
    err->code = code;
    return code;
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err_vset(err, code, fmt, ap);
    va_end(ap);
    return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -ERR_GENERIC;
    char prefix[ERR_TEXT_MAX], text[2 * ERR_TEXT_MAX + 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof(prefix), fmt, ap);
    va_end(ap);
    snprintf(text, sizeof(text), "%s: %s", prefix, err->text);
    text[ERR_TEXT_MAX - 1] = '\0';
    memcpy(err->text, text, ERR_TEXT_MAX);
    return err->code;
}

const char *err_text(int code)
{
    int number = code_number(code);
    if (number == 0)
        return "No error";
    const struct err_row *row = row_find(number);
    if (row)
        return row->text;
    const char *text = strerrordesc_np(number);
    return text ? text : "Unknown error";
}

const char *err_name(int code)
{
    int number = code_number(code);
    if (number == 0)
        return "OK";
    const struct err_row *row = row_find(number);
    if (row)
        return row->name;
    const char *name = strerrorname_np(number);
    return name ? name : "UNKNOWN";
}
