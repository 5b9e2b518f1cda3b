/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the tests of this module: builds configurations from strings. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf_internal.h"

#define HEAD "SlurmctldHost=ctl\n" /* the minimal configuration: one line */

/* Loads a valid text under the name t.conf. */
static inline struct conf *test_load(const char *text, struct conf_report *report)
{
    struct conf *c = NULL;
    struct err err = {0};

    int rc = conf_load_text(text, strlen(text), "t.conf", CONF_FULL, NULL, &c, report, &err);
    if (rc != 0)
        fail_msg("refused: %s\n%s", err.text, text);
    assert_non_null(c);
    return c;
}

/* A text that is refused, and what the message must contain. */
struct test_refusal {
    const char *text;
    const char *place; /* "t.conf:2: " */
    const char *says;
};

/* Continuing after the error must report that error as well. */
static inline void test_every_error(const char *text, size_t len, const struct err *first)
{
    struct conf_report report = {.every_error = true};
    struct conf *c = NULL;
    struct err err = {0};
    bool found = false;
    int rc = conf_load_text(text, len, "t.conf", CONF_FULL, NULL, &c, &report, &err);
    vec_foreach (&report.warnings, w)
        found = found || (w->fault && str_eq(w->text, first->text));
    if (rc != -ERR_CONFIG || !c || !found || !conf_report_fails(&report))
        fail_msg("'%s' is not found by a reading of all errors:\n%s", first->text, text);
    conf_report_done(&report);
    conf_free(c);
}

static inline void test_refused(const struct test_refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct conf *c = NULL;
        struct err err = {0};
        const char *text = cases[i].text;
        int rc = conf_load_text(text, strlen(text), "t.conf", CONF_FULL, NULL, &c, NULL, &err);
        if (rc != -ERR_CONFIG || err.code != rc || c)
            fail_msg("case %zu: accepted (%d):\n%s", i, rc, text);
        test_every_error(text, strlen(text), &err);
        if (!str_starts(err.text, cases[i].place) || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: expected '%s...%s', got '%s'", i, cases[i].place, cases[i].says,
                     err.text);
    }
}

/* A text that is accepted with exactly one warning, and what the warning contains. */
static inline void test_warned(const struct test_refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct conf_report report = {0};
        struct conf *c = test_load(cases[i].text, &report);
        if (report.warnings.len != 1)
            fail_msg("case %zu: %zu warnings, the first: %s", i, report.warnings.len,
                     report.warnings.len ? report.warnings.data[0].text : "");
        const struct conf_warning *w = &report.warnings.data[0];
        char place[64];
        snprintf(place, sizeof(place), "%s: ", w->place);
        if (strcmp(place, cases[i].place) || !strstr(w->text, cases[i].says))
            fail_msg("case %zu: expected '%s%s', got '%s%s'", i, cases[i].place, cases[i].says,
                     place, w->text);
        conf_free(c);
        conf_report_done(&report);
    }
}

/* Texts that are accepted without a warning. */
static inline void test_silent(const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct conf_report report = {0};
        struct conf *c = test_load(texts[i], &report);
        if (report.warnings.len)
            fail_msg("case %zu: warning: %s", i, report.warnings.data[0].text);
        conf_free(c);
        conf_report_done(&report);
    }
}

/* Asserts the difference reported by conf_diff(). */
static inline void test_differs(const char *from, const char *to, const char *expect)
{
    struct conf *a = test_load(from, NULL), *b = test_load(to, NULL);
    _cleanup_str_ struct str out = STR_INIT;

    conf_diff(a, b, &out);
    assert_string_equal(str_cstr(&out), expect);
    conf_free(a);
    conf_free(b);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
