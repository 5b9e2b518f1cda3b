/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "spank/stack_priv.h"

static const char *plugin_path; /* from the command line */
static struct str said;

static void on_say(void *ctx, enum stack_level level, const char *text)
{
    str_printf(&said, "%d:%s\n", level, text);
}

static int open_one(spank_context_t context, const char *path, bool must, const char *arg,
                    struct stack **out, struct err *err)
{
    const struct stack_host host = {.context = context, .say = on_say};
    Pb__SpankPlugin row = PB__SPANK_PLUGIN__INIT, *rows[] = {&row};
    struct plugstack p = {.plugins = {rows, 1, 1}};
    char *args[] = {(char *)arg};

    str_clear(&said);
    row.path = (char *)path;
    row.place = "plugstack.conf:1";
    row.has_must = true;
    row.must = must;
    row.args = args;
    row.n_args = arg != NULL;
    return stack_open(&p, &host, out, err);
}

static void empty_list_loads_nothing(void **state)
{
    struct plugstack none = {0};
    struct stack *s = NULL;

    assert_int_equal(stack_open(&none, NULL, &s, NULL), 0);
    assert_null(s);
    stack_close(NULL);
    assert_int_equal(spank_context(), S_CTX_ERROR);
}

static void files_that_are_no_plugins_are_refused(void **state)
{
    static const char *const paths[] = {"/nowhere.so", "/etc/passwd", "/usr/lib/x86_64-linux-gnu"};
    struct stack *s = NULL;
    struct err err = {0};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_int_equal(open_one(S_CTX_LOCAL, paths[i], true, NULL, &s, &err), -ERR_CONFIG);
        assert_non_null(strstr(err.text, "required plugin: plugstack.conf:1: "));
        assert_null(s);
        assert_int_equal(open_one(S_CTX_LOCAL, paths[i], false, NULL, &s, &err), 0);
        assert_non_null(strstr(str_cstr(&said), "optional plugin is left out: plugstack.conf:1"));
        assert_int_equal(stack_init(s, &err), 0);
        stack_close(s);
    }
}

/* a required plugin fails the call, the failure of an optional one is reported once. */
static void failure_of_a_required_plugin_fails_the_call(void **state)
{
    struct stack *s = NULL;
    struct err err = {0};

    assert_int_equal(open_one(S_CTX_LOCAL, plugin_path, true, "init", &s, &err), 0);
    assert_int_equal(stack_init(s, &err), -ERR_LAUNCH);
    assert_non_null(strstr(err.text, "required plugin a_plugin ("));
    assert_non_null(strstr(err.text, "): init() failed with rc=7"));
    stack_close(s);
    assert_int_equal(open_one(S_CTX_LOCAL, plugin_path, false, "init_post_opt", &s, &err), 0);
    assert_int_equal(stack_init(s, &err), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(stack_call(s, STACK_INIT_POST_OPT, NULL, &err), 0);
    const char *first = strstr(str_cstr(&said), "init_post_opt() failed with rc=7");
    assert_non_null(first);
    assert_null(strstr(first + 1, "init_post_opt() failed"));
    stack_close(s);
}

static void options_are_found(void **state)
{
    struct stack *s = NULL;
    struct err err = {0};
    struct arena arena;
    size_t count;
    char *env[] = {"_SLURM_SPANK_OPTION_a_plugin_of_table=from env",
                   "SLURM_SPANK__SLURM_SPANK_OPTION_a_plugin_of_init=", NULL};

    arena_init(&arena, 0);
    assert_int_equal(open_one(S_CTX_LOCAL, plugin_path, true, NULL, &s, &err), 0);
    assert_int_equal(stack_init(s, &err), 0);
    assert_int_equal(stack_option_count(s), 2);
    assert_string_equal(stack_option_get(s, 0).name, "of-table");
    assert_string_equal(stack_option_get(s, 1).plugin, "a_plugin");
    assert_int_equal(stack_option_set(s, 0, "no", &err), -ERR_PARSE);
    assert_non_null(strstr(err.text, "Invalid --of-table argument: no (plugin a_plugin, rc=5)"));
    assert_int_equal(stack_options_from_env(s, env, &err), 0);
    char **vars = stack_options_env(s, &arena, &count);
    assert_int_equal(count, 2);
    assert_string_equal(vars[0], env[0]);
    assert_string_equal(vars[1], "_SLURM_SPANK_OPTION_a_plugin_of_init=");
    env[0] = "_SLURM_SPANK_OPTION_a_plugin_of_table=no";
    assert_true(stack_options_from_env(s, env, &err) < 0);
    assert_non_null(strstr(err.text, "_SLURM_SPANK_OPTION_a_plugin_of_table: Invalid"));
    stack_close(s);
    assert_int_equal(open_one(S_CTX_ALLOCATOR, plugin_path, true, NULL, &s, &err), 0);
    assert_int_equal(stack_init(s, &err), 0);
    assert_int_equal(stack_option_count(s), 1); /* tables are not for the allocators */
    stack_close(s);
    arena_done(&arena);
}

static void assert_job_env(struct stack *s, const char *expected)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct arena arena;
    size_t count;

    arena_init(&arena, 0);
    char **vars = stack_job_env(s, &arena, &count);
    for (size_t i = 0; i < count; i++)
        str_printf(&text, "%s%s", i ? " " : "", vars[i]);
    assert_string_equal(str_cstr(&text), expected);
    arena_done(&arena);
}

/* HET-114: options and script variables of one component are not seen by others; variables set by
 * init are seen by each. */
static void options_of_a_component_are_hidden_from_others(void **state)
{
    struct stack *s = NULL;
    struct err err = {0};

    assert_int_equal(open_one(S_CTX_LOCAL, plugin_path, true, NULL, &s, &err), 0);
    spank_t sp = &s->plugins.data[0]->handle;
    assert_int_equal(spank_job_control_setenv(sp, "INIT", "1", 1), ESPANK_SUCCESS);
    assert_int_equal(stack_init(s, &err), 0);
    assert_int_equal(stack_option_set(s, 0, "a", &err), 0);
    assert_int_equal(spank_job_control_setenv(sp, "MORE", "0", 1), ESPANK_SUCCESS);
    stack_enter_component(s, 2);
    assert_job_env(s, "INIT=1");
    assert_int_equal(stack_option_set(s, 1, NULL, &err), 0);
    assert_int_equal(spank_job_control_setenv(sp, "INIT", "2", 1), ESPANK_SUCCESS);
    stack_enter_component(s, 1);
    assert_job_env(s, "INIT=1");
    stack_enter_component(s, 0);
    assert_job_env(s, "INIT=1 MORE=0 _SLURM_SPANK_OPTION_a_plugin_of_table=a");
    stack_enter_component(s, 2);
    assert_job_env(s, "INIT=2 _SLURM_SPANK_OPTION_a_plugin_of_init=");
    stack_close(s);
}

/* On a node the user's values are passed to their plugins, and to no other plugin. */
static void options_reach_their_plugins_on_the_node(void **state)
{
    Pb__SpankOption table = PB__SPANK_OPTION__INIT, other = PB__SPANK_OPTION__INIT;
    Pb__SpankOption *given[] = {&other, &table};
    struct stack *s = NULL;
    struct err err = {0};

    table.plugin = "a_plugin";
    other.plugin = "another";
    table.name = other.name = "of-table";
    table.value = "fine";
    other.value = "no";
    assert_int_equal(open_one(S_CTX_REMOTE, plugin_path, true, NULL, &s, &err), 0);
    stack_give_options(s, given, 2);
    assert_int_equal(stack_init(s, &err), 0);
    const struct option *o = stack_option_find(s->plugins.data[0], "of-table");
    assert_string_equal(stack_option_use(s, o)->value, "fine");
    stack_close(s);
    table.value = "no";
    assert_int_equal(open_one(S_CTX_REMOTE, plugin_path, true, NULL, &s, &err), 0);
    stack_give_options(s, given, 2);
    assert_int_equal(stack_init(s, &err), -ERR_LAUNCH);
    assert_non_null(strstr(err.text, "rc=6")); /* 5, and remote is 1 */
    stack_close(s);
}

static void calls_in_a_wrong_context_are_refused(void **state)
{
    struct stack *s = NULL;
    struct err err = {0};
    struct spank_option opt = {.name = "of-table"};
    char buf[8];
    uint32_t n;

    assert_int_equal(spank_get_item(NULL, S_JOB_ID, &n), ESPANK_BAD_ARG);
    assert_int_equal(spank_getenv(NULL, "X", buf, 8), ESPANK_BAD_ARG);
    slurm_error("nobody hears this: %d", 1);
    assert_int_equal(open_one(S_CTX_LOCAL, plugin_path, true, NULL, &s, &err), 0);
    spank_t sp = &s->plugins.data[0]->handle;
    assert_int_equal(stack_init(s, &err), 0);
    assert_int_equal(spank_get_item(sp, S_JOB_ID, &n), ESPANK_NOT_AVAIL);
    assert_int_equal(spank_get_item(sp, S_TASK_ID, &n), ESPANK_NOT_REMOTE);
    assert_int_equal(spank_get_item(sp, (spank_item_t)999, &n), ESPANK_BAD_ARG);
    assert_int_equal(spank_option_getopt(sp, &opt, NULL), ESPANK_NOT_AVAIL);
    assert_int_equal(spank_setenv(sp, "X", "1", 1), ESPANK_NOT_REMOTE);
    assert_int_equal(spank_job_control_setenv(sp, "LD=X", "1", 1), ESPANK_BAD_ARG);
    assert_int_equal(spank_job_control_setenv(sp, "A-B", "1", 1), ESPANK_BAD_ARG);
    assert_int_equal(spank_job_control_getenv(sp, "A", buf, 8), ESPANK_ENV_NOEXIST);
    assert_int_equal(spank_job_control_setenv(sp, "A", "12345678", 0), ESPANK_SUCCESS);
    assert_int_equal(spank_job_control_setenv(sp, "A", "1", 0), ESPANK_ENV_EXISTS);
    assert_int_equal(spank_job_control_getenv(sp, "A", buf, 8), ESPANK_NOSPACE);
    _cleanup_free_ char *huge = mem_alloc(STACK_JOB_ENV_MAX + 1);
    memset(huge, 'x', STACK_JOB_ENV_MAX);
    assert_int_equal(spank_job_control_setenv(sp, "B", huge, 1), ESPANK_NOSPACE);
    assert_int_equal(spank_job_control_unsetenv(sp, "A"), ESPANK_SUCCESS);
    assert_int_equal(spank_symbol_supported("slurm_spank_task_init"), 1);
    assert_int_equal(spank_symbol_supported("slurm_spank_"), 0);
    assert_int_equal(spank_symbol_supported(NULL), 0);
    assert_string_equal(spank_strerror(ESPANK_NOSPACE), "Buffer too small");
    char *major;
    assert_int_equal(spank_get_item(sp, S_SLURM_VERSION_MAJOR, &major), ESPANK_SUCCESS);
    assert_string_equal(major, "26");
    stack_close(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_list_loads_nothing),
        cmocka_unit_test(files_that_are_no_plugins_are_refused),
        cmocka_unit_test(failure_of_a_required_plugin_fails_the_call),
        cmocka_unit_test(options_are_found),
        cmocka_unit_test(options_reach_their_plugins_on_the_node),
        cmocka_unit_test(options_of_a_component_are_hidden_from_others),
        cmocka_unit_test(calls_in_a_wrong_context_are_refused),
    };
    int rc;

    if (argc < 2)
        return 1;
    plugin_path = argv[1];
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    str_done(&said);
    return rc;
}
