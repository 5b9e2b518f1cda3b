/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a filter is (CliFilterPlugins), and what it may ask about the options of one component.
 * cli_filter/lua is a module that is loaded when it is configured, so that commands do not need
 * Lua: it finds all it needs of the command in these tables.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define FILTER_LUA_MODULE "cli_filter_lua.so" /* in the directory of plugins that is installed */
#define FILTER_LUA_SYMBOL "sluice_cli_filter_lua"
#define FILTER_NO_STEP 0xfffffffeu

enum filter_level {
    FILTER_ERROR,
    FILTER_INFO,
    FILTER_VERBOSE,
    FILTER_DEBUG,
    FILTER_DEBUG2,
    FILTER_DEBUG3,
    FILTER_DEBUG4,
    FILTER_PLAIN, /* of a user's message: without the name of the filter */
};

/* What is the same for all questions; borrowed. */
struct filter_site {
    const char *program;     /* "sbatch" */
    const char *cluster;     /* its name */
    const char *script_path; /* cli_filter.lua */
    void (*say)(void *ctx, enum filter_level level, const char *filter, const char *text);
    void *ctx;
};

/* The options of one component, during a question. */
struct filter_options {
    uint32_t component;
    int argc; /* the command, or the script with its arguments */
    char *const *argv;
    /* By its name: 1: it is given, 0: it is not; the value is appended, of a flag "set" or "unset",
     * of another option that is not given nothing. -ERR_NOT_SUPPORTED: the command has none of this
     * name. */
    int (*get)(const struct filter_options *o, const char *name, struct str *out);
    /* NULL: not given. A flag needs no value, any sets it. */
    int (*set)(struct filter_options *o, const char *name, const char *value, struct err *err);
    void (*to_json)(const struct filter_options *o, struct str *out); /* those that are given */
};

/* Functions return 0 or an error, of which err has the text; NULL: nothing is to be done. 'state'
 * is what open() made. */
struct filter_plugin {
    const char *name; /* "lua" */
    int (*open)(const struct filter_site *site, void **state, struct err *err);
    void (*close)(void *state);
    /* early: sbatch, before it has read the script. */
    int (*set_defaults)(void *state, struct filter_options *o, bool early, struct err *err);
    int (*before_submit)(void *state, struct filter_options *o, struct err *err);
    int (*after_submit)(void *state, uint32_t component, uint32_t job_id, uint32_t step_id,
                        struct err *err);
};

extern const struct filter_plugin filter_user_defaults, filter_syslog;

/* cli_filter/lua, from its module. */
int filter_load_lua(const struct filter_plugin **out, struct err *err);

/* "text" in quotes, escaped. */
void filter_put_json(const char *text, size_t len, struct str *out);
/* The variables of this process as one JSON object. */
void filter_put_environment(struct str *out);
