/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by tests of options: a command line from all sources, and tables of errors. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "cli/opt.h"
#include "cli/opt_priv.h"

#define WORDS_MAX 32
/* A command line or environment as one string, words separated by '|'. */
struct line {
    char *text;
    char *word[WORDS_MAX + 1];
    int count;
};

static inline struct line split_line(const char *text)
{
    struct line l = {.text = mem_strdup(text)};
    for (char *s = l.text; s && *text && l.count < WORDS_MAX;) {
        l.word[l.count++] = s;
        s = strchr(s, '|');
        if (s)
            *s++ = 0;
    }
    return l;
}

static inline int apply_options(struct opt *o, enum opt_command command, const char *script,
                                const char *env, const char *argv, struct err *err)
{
    struct line a = split_line(argv), e = split_line(env);
    int operands, r;
    opt_init(o, command);
    r = opt_scan(o, a.count, a.word, &operands, err);
    const struct opt_script text = {"job.sh", script, script ? strlen(script) : 0, false};
    if (r == 0 && script)
        r = opt_apply_section(o, &(struct opt_place){.script = &text}, err);
    if (r == 0)
        r = opt_apply_env(o, e.word, err);
    if (r == 0)
        r = opt_apply_argv(o, a.count, a.word, err);
    if (r == 0)
        r = opt_finish(o, err);
    free(a.text);
    free(e.text);
    return r;
}

struct refusal {
    enum opt_command command;
    const char *script, *env, *argv;
    enum opt_failure how;
    int status;
    const char *text;
};

static inline void expect_refusals(const struct refusal *v, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct opt o;
        struct err err = {0};
        assert_true(apply_options(&o, v[i].command, v[i].script, v[i].env, v[i].argv, &err) < 0);
        assert_string_equal(err.text, v[i].text);
        assert_int_equal(o.failure, v[i].how);
        assert_int_equal(o.exit_status, v[i].status);
        opt_done(&o);
    }
}
