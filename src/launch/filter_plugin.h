/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of a filter (CliFilterPlugins), and its access to the options of one component.
 * cli_filter/lua is a module that is loaded if it is configured, so that the commands do not depend
 * on Lua: these tables give the module everything that it needs from the command.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define FILTER_LUA_MODULE "cli_filter_lua.so" /* in the plugin directory of the installation */
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
    FILTER_PLAIN, /* a message to the user without the filter's name */
};

/* Constant for all calls; borrowed. */
struct filter_site {
    const char *program;     /* "sbatch" */
    const char *cluster;     /* name of the cluster */
    const char *script_path; /* cli_filter.lua */
    void (*say)(void *ctx, enum filter_level level, const char *filter, const char *text);
    void *ctx;
};

/* The options of one component, during a call. */
struct filter_options {
    uint32_t component;
    int argc; /* the command, or the script with its arguments */
    char *const *argv;
    /* Looks an option up by name. Returns 1 if it is given, otherwise 0; appends its value: of a
     * flag "set" or "unset", of another option nothing if it is not given. -ERR_NOT_SUPPORTED: the
     * command has no such option. */
    int (*get)(const struct filter_options *o, const char *name, struct str *out);
    /* value NULL: unsets the option. A flag is set by any value. */
    int (*set)(struct filter_options *o, const char *name, const char *value, struct err *err);
    void (*to_json)(const struct filter_options *o, struct str *out); /* the given options */
};

/* Functions return 0, or an error with a text in err; NULL: not needed. open() creates 'state'. */
struct filter_plugin {
    const char *name; /* "lua" */
    int (*open)(const struct filter_site *site, void **state, struct err *err);
    void (*close)(void *state);
    /* early: called by sbatch before it reads the script. */
    int (*set_defaults)(void *state, struct filter_options *o, bool early, struct err *err);
    int (*before_submit)(void *state, struct filter_options *o, struct err *err);
    int (*after_submit)(void *state, uint32_t component, uint32_t job_id, uint32_t step_id,
                        struct err *err);
};

extern const struct filter_plugin filter_user_defaults, filter_syslog;

/* Loads cli_filter/lua from its module. */
int filter_load_lua(const struct filter_plugin **out, struct err *err);

/* Appends the text as a quoted and escaped JSON string. */
void filter_put_json(const char *text, size_t len, struct str *out);
/* Appends the environment of this process as one JSON object. */
void filter_put_environment(struct str *out);
