/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawned.h"

/* An order of at most two commands, each with one info key. */
struct order {
    Pb__SpawnOrder order;
    Pb__Spawn spawn;
    Pb__SpawnCommand commands[2], *list[2];
    Pb__KvsEntry infos[2], *info_list[2];
    char *argv[2][3];
    struct arena arena;
};

static void init_order(struct order *o, size_t count)
{
    memset(o, 0, sizeof(*o));
    arena_init(&o->arena, 0);
    pb__spawn_order__init(&o->order);
    pb__spawn__init(&o->spawn);
    o->order.spawn = &o->spawn;
    o->order.job_id = 7;
    o->order.step_id = 2;
    o->order.mpi = (char *)"pmi2";
    o->spawn.command = o->list;
    o->spawn.n_command = count;
    for (size_t i = 0; i < count; i++) {
        pb__spawn_command__init(&o->commands[i]);
        pb__kvs_entry__init(&o->infos[i]);
        o->list[i] = &o->commands[i];
        o->info_list[i] = &o->infos[i];
        o->argv[i][0] = (char *)"/bin/prog";
        o->argv[i][1] = (char *)"it's";
        o->commands[i].argv = o->argv[i];
        o->commands[i].n_argv = 2;
        o->commands[i].tasks = 2 + (uint32_t)i;
        o->commands[i].info = &o->info_list[i];
    }
}

static void set_info_key(struct order *o, size_t i, const char *key, const char *value)
{
    o->infos[i].key = (char *)key;
    o->infos[i].value = (char *)value;
    o->commands[i].n_info = 1;
}

static int fill_from_order(struct order *o, Pb__StepSpec *spec, struct err *err)
{
    pb__step_spec__init(spec);
    spec->has_overlap = spec->overlap = 1;
    spec->gres = (char *)"gpu:1";
    spec->nodes = (char *)"n9";
    return spawned_fill_step(&o->order, &o->arena, spec, err);
}

/* Options about the size of the parent step are dropped; options about sharing are kept. */
static void test_spawned_step_keeps_sharing_options_only(void **state)
{
    struct order o;
    Pb__StepSpec s;

    init_order(&o, 2);
    assert_int_equal(fill_from_order(&o, &s, NULL), 0);
    assert_int_equal(s.job_id, 7);
    assert_int_equal(s.num_tasks, 5);
    assert_int_equal(s.spawned_by, 2);
    assert_true(s.has_exact && s.exact && s.has_overlap && s.overlap);
    assert_null(s.gres);
    assert_null(s.nodes);
    assert_string_equal(s.name, "prog");
    arena_done(&o.arena);
}

static void test_hosts_of_spawned_commands_become_a_list(void **state)
{
    static const struct {
        const char *first, *second, *nodes;
    } vectors[] = {
        {"n1", NULL, NULL}, /* only one of two commands has hosts */
        {"n[1-2],n5", "n3", "n1,n2,n3,n3,n3"},
        {"n[", "n1", NULL},
        {",", "n1", NULL},
    };
    struct order o;
    Pb__StepSpec s;

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct err err = {0};

        init_order(&o, 2);
        set_info_key(&o, 0, "host", vectors[i].first);
        if (vectors[i].second)
            set_info_key(&o, 1, "hosts", vectors[i].second);
        assert_int_equal(fill_from_order(&o, &s, &err), vectors[i].nodes ? 0 : -ERR_PARSE);
        if (vectors[i].nodes) {
            assert_string_equal(s.nodes, vectors[i].nodes);
            assert_string_equal(s.distribution, "arbitrary");
        } else {
            assert_non_null(strstr(err.text, "info key host"));
        }
        arena_done(&o.arena);
    }
    init_order(&o, 1);
    set_info_key(&o, 0, "host", "n[4-9]"); /* nodes that would have no task are not requested */
    assert_int_equal(fill_from_order(&o, &s, NULL), 0);
    assert_string_equal(s.nodes, "n4,n5");
    assert_int_equal(s.max_nodes, 2);
    arena_done(&o.arena);
}

/* A single command stays as it is; several commands, a directory or variables need a shell, with
 * all words quoted. */
static void test_several_commands_are_run_by_a_shell(void **state)
{
    struct run_options r = {.pty = true};
    char *env[] = {(char *)"A=b c", (char *)"9=x"};
    struct order o;

    init_order(&o, 1);
    assert_int_equal(spawned_fill_run(&o.order, &o.arena, &r, NULL), 0);
    assert_int_equal(r.argc, 2);
    assert_string_equal(r.argv[1], "it's");
    assert_null(r.argv[2]);
    assert_false(r.pty);
    set_info_key(&o, 0, "wdir", "/a dir");
    o.commands[0].env = env;
    o.commands[0].n_env = 1;
    assert_int_equal(spawned_fill_run(&o.order, &o.arena, &r, NULL), 0);
    assert_int_equal(r.argc, 3);
    assert_string_equal(r.argv[2], "if [ \"$SLURM_PROCID\" -lt 2 ]; then\n"
                                   "cd -- '/a dir' || exit\n"
                                   "export 'A=b c'\n"
                                   "exec '/bin/prog' 'it'\\''s'\n"
                                   "fi\n");
    o.commands[0].n_env = 2; /* the second entry is invalid */
    assert_int_equal(spawned_fill_run(&o.order, &o.arena, &r, NULL), -ERR_PARSE);
    arena_done(&o.arena);

    init_order(&o, 2);
    assert_int_equal(spawned_fill_run(&o.order, &o.arena, &r, NULL), 0);
    assert_non_null(strstr(r.argv[2], "elif [ \"$SLURM_PROCID\" -lt 5 ]; then\n"));
    arena_done(&o.arena);
}

static void test_too_long_command_is_refused(void **state)
{
    struct run_options r = {0};
    char *big = malloc(140000);
    struct err err = {0};
    struct order o;

    memset(big, 'x', 139999);
    big[139999] = '\0';
    init_order(&o, 2);
    o.argv[1][1] = big;
    assert_int_equal(spawned_fill_run(&o.order, &o.arena, &r, &err), -ERR_LIMIT);
    assert_non_null(strstr(err.text, "131071 are the most"));
    arena_done(&o.arena);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spawned_step_keeps_sharing_options_only),
        cmocka_unit_test(test_hosts_of_spawned_commands_become_a_list),
        cmocka_unit_test(test_several_commands_are_run_by_a_shell),
        cmocka_unit_test(test_too_long_command_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
