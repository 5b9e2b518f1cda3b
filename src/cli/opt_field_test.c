/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks which options set each field of a job's request, against proto/job_field.def; and which
 * options a component of a heterogeneous job inherits from the preceding one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "base/pb.h"
#include "base/str.h"
#include "cli/opt.h"
#include "cli/opt_priv.h"

#define NEVER
#define PENDING(key)
#define ALWAYS(key)
#define JOB_LIVE(member, text, json, columns, why)
#define JOB_SPEC(member, options, update, lua, lua_name, alike, text, json, columns, why)          \
    {#member, options},
static const struct {
    const char *member, *options;
} fields[] = {
#include "proto/job_field.def"
};

/* Options of the commands themselves, or options that are only checked: they set no field of a
 * request. */
static const char of_commands[] =
    "allocate attach batch bell clusters delay_boot export export_file get_user_env help "
    "ignore_pbs jobid kill_command no_bell parsable profile propagate quiet test_only usage "
    "verbose version wait wrap x11";

static bool is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

static const char *name_id(enum opt_id id)
{
    static const char *const ids[] = {
#define OPT(id, name, letter, argument, action, commands, env, metavar, help) #id,
#define OPT_ALIAS(name, id, commands)
#include "cli/opt.def"
#undef OPT
#undef OPT_ALIAS
    };
    return ids[id];
}

static const char *find_options(const char *member)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcmp(fields[i].member, member) == 0)
            return fields[i].options;
    return NULL;
}

/* Makes the request with a single option; false: the option rejects this value. */
static bool make_spec(enum opt_command command, const struct opt_row *row, const char *value,
                      struct opt *o, Pb__JobSpec *spec)
{
    _cleanup_free_ char *word =
        mem_printf("--%s%s%s", row ? row->name : "quiet", value ? "=" : "", value ? value : "");
    char *argv[] = {(char *)"command", word, (char *)"x", NULL};
    int operands;
    opt_init(o, command);
    pb__job_spec__init(spec);
    bool good = opt_scan(o, 3, argv, &operands, NULL) == 0 &&
                opt_apply_argv(o, 3, argv, NULL) == 0 && opt_finish(o, NULL) == 0;
    if (good)
        opt_to_job_spec(o, spec);
    return good;
}

/* Counts the fields that the option sets although their rows do not name it. */
static int check_option(enum opt_command command, const struct opt_row *row)
{
    static const char *const values[] = {NULL,
                                         "2",
                                         "2-4",
                                         "1-5:2",
                                         "word",
                                         "n1",
                                         "n[1-2]",
                                         "gpu:1",
                                         "BEGIN",
                                         "now+1hour",
                                         "10",
                                         "block",
                                         "yes",
                                         "truncate",
                                         "B:USR1@60",
                                         "2@10",
                                         "low-high:performance",
                                         "enforce-binding",
                                         "append",
                                         "user",
                                         "2:2:2",
                                         "cpu=2,gres/gpu=1",
                                         "license/a=1",
                                         "task=5",
                                         "nomultithread",
                                         "gres/gpu:closest",
                                         "0",
                                         "closest",
                                         "local"};
    struct opt without, with;
    Pb__JobSpec before, after;
    int wrong = 0;
    assert_true(make_spec(command, NULL, NULL, &without, &before));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (make_spec(command, row, values[i], &with, &after))
            pb_each_field (&pb__job_spec__descriptor, f) {
                const char *options = find_options(f->name);
                if (f->label == PROTOBUF_C_LABEL_REPEATED ||
                    pb_same_field(&before.base, &after.base, f) ||
                    (options && is_listed(options, name_id(row->id))))
                    continue;
                print_error("job_field.def: %s: --%s sets it: the row must name %s\n", f->name,
                            row->name, name_id(row->id));
                wrong++;
            }
        opt_done(&with);
    }
    opt_done(&without);
    return wrong;
}

static bool has_field(const char *id)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (is_listed(fields[i].options, id))
            return true;
    return false;
}

static void test_options_are_named_by_their_fields(void **state)
{
    static const enum opt_command commands[] = {OPT_SRUN, OPT_SBATCH, OPT_SALLOC};
    int wrong = 0;
    for (size_t i = 0; i < opt_row_count; i++) {
        const struct opt_row *row = &opt_rows[i];
        if (row->type == OPT_T_IGNORED || row->type == OPT_T_REFUSED ||
            row->type == OPT_T_PLANNED || (row->commands & OPT_TERMINAL))
            continue;
        for (size_t k = 0; k < 3; k++)
            if (row->commands & commands[k])
                wrong += check_option(commands[k], row);
        bool of_step = !(row->commands & (OPT_SBATCH | OPT_SALLOC));
        if (of_step || has_field(name_id(row->id)) || is_listed(of_commands, name_id(row->id)))
            continue;
        print_error("no row of job_field.def names the option %s\n", name_id(row->id));
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void test_named_options_exist(void **state)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        _cleanup_free_ char *copy = mem_strdup(fields[i].options);
        char *rest = NULL;
        for (char *id = strtok_r(copy, " ", &rest); id; id = strtok_r(NULL, " ", &rest)) {
            bool known = false;
            for (size_t k = 0; k < opt_row_count; k++)
                known = known || strcmp(name_id(opt_rows[k].id), id) == 0;
            if (known)
                continue;
            print_error("job_field.def: %s: %s is no row of opt.def\n", fields[i].member, id);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* HET-P01 to HET-P59: the list in Slurm's guide for heterogeneous jobs; --workdir is --chdir. */
static void test_inherited_options_are_those_of_the_guide(void **state)
{
    static const char list[] =
        "account acctg-freq begin cluster-constraint clusters comment deadline delay-boot "
        "dependency distribution epilog error export exclude get-user-env gid hold ignore-pbs "
        "immediate input job-name kill-on-bad-exit label mcs-label mem msg-timeout no-allocate "
        "no-requeue nice no-kill open-mode output parsable priority profile propagate prolog pty "
        "qos quiet quit-on-interrupt reboot reservation requeue signal slurmd-debug task-epilog "
        "task-prolog time test-only time-min uid unbuffered verbose wait wait-all-nodes wckey "
        "chdir export-file";
    int wrong = 0;
    size_t count = 0;
    for (size_t i = 0; i < opt_row_count; i++) {
        const struct opt_row *row = &opt_rows[i];
        bool first = !i || strcmp(opt_rows[i - 1].name, row->name) != 0;
        count += is_listed(list, row->name) && first;
        if (is_listed(list, row->name) == !!(row->commands & OPT_PROPAGATED))
            continue;
        print_error("opt.def: %s: PROPAGATED\n", name_id(row->id));
        wrong++;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(count, 59);
}

/* HET-10: options of that list that only srun has, and that sbatch and salloc reject; --open-mode
 * is also an option of sbatch. */
static void test_inherited_options_of_srun_alone(void **state)
{
    static const char list[] = "epilog kill-on-bad-exit label msg-timeout no-allocate prolog pty "
                               "quit-on-interrupt slurmd-debug task-epilog task-prolog unbuffered";
    size_t count = 0;
    for (size_t i = 0; i < opt_row_count; i++) {
        const struct opt_row *row = &opt_rows[i];
        bool first = !i || strcmp(opt_rows[i - 1].name, row->name) != 0;
        if (str_eq(row->name, "open-mode"))
            assert_int_equal(row->commands & (OPT_SRUN | OPT_SBATCH), OPT_SRUN | OPT_SBATCH);
        if (!is_listed(list, row->name))
            continue;
        count += first;
        assert_int_equal(row->commands & (OPT_SRUN | OPT_SBATCH | OPT_SALLOC), OPT_SRUN);
    }
    assert_int_equal(count, 12);
}

/* opt_apply_env() reads only such variables. */
static void test_variables_of_options_begin_with_s(void **state)
{
    for (size_t i = 0; i < opt_row_count; i++)
        for (const char *name = opt_rows[i].env; *name; name += strspn(name, " ")) {
            if (*name != 'S')
                print_error("opt.def: %s: %s\n", name_id(opt_rows[i].id), name);
            assert_int_equal(*name, 'S');
            name += strcspn(name, " ");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_named_by_their_fields),
        cmocka_unit_test(test_named_options_exist),
        cmocka_unit_test(test_inherited_options_are_those_of_the_guide),
        cmocka_unit_test(test_inherited_options_of_srun_alone),
        cmocka_unit_test(test_variables_of_options_begin_with_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
