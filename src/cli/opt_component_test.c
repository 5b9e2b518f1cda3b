/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/pb.h"
#include "cli/opt_priv.h"

#define WORDS_MAX 400

/* A command line or environment as one string, words separated by blanks. */
struct line {
    char *text;
    char *word[WORDS_MAX + 1];
    int count;
};

static struct line split_line(const char *text)
{
    struct line l = {.text = mem_strdup(text ? text : "")};
    char *rest;
    for (char *s = strtok_r(l.text, " ", &rest); s && l.count < WORDS_MAX;
         s = strtok_r(NULL, " ", &rest))
        l.word[l.count++] = s;
    return l;
}

struct run { /* options of one run; the words live equally long */
    struct opt_components cs;
    struct line argv, env;
    struct err err;
};

static int run_line(struct run *r, enum opt_command command, const char *script, const char *env,
                    const char *argv)
{
    const struct opt_script text = {"job.sh", script, script ? strlen(script) : 0, false};
    *r = (struct run){.argv = split_line(argv), .env = split_line(env)};
    opt_components_init(&r->cs, command);
    opt_components_leader(&r->cs)->now_sec = 1700000000;
    int rc = opt_components_scan(&r->cs, r->argv.count, r->argv.word, &r->err);
    if (rc == 0 && script)
        rc = opt_components_apply_script(&r->cs, &text, &r->err);
    if (rc == 0)
        rc = opt_components_apply_env(&r->cs, r->env.word, &r->err);
    if (rc == 0)
        rc = opt_components_apply_argv(&r->cs, &r->err);
    if (rc == 0)
        rc = opt_components_finish(&r->cs, &r->err);
    return rc;
}

static void run_done(struct run *r)
{
    opt_components_done(&r->cs);
    free(r->argv.text);
    free(r->env.text);
}

static const struct opt *get_component_options(const struct run *r, size_t offset)
{
    assert_true(offset < r->cs.count);
    return &r->cs.list[offset]->opt;
}

static void test_invalid_component_lines_are_refused(void **state)
{
    static const struct {
        enum opt_command command;
        const char *script, *argv, *said;
    } v[] = {
        {OPT_SBATCH, NULL, "sbatch : x.sh",
         "component 0 is empty: the command line begins with ':'"},
        {OPT_SBATCH, NULL,
         "sbatch -n1 :", "component 1 is empty: the command line ends with ':' (word 2)"},
        {OPT_SALLOC, NULL, "salloc -n1 : : -n2 x",
         "component 1 is empty: words 2 and 3 of the command line are ':'"},
        {OPT_SRUN, NULL,
         "srun a :", "component 1 is empty: the command line ends with ':' (word 2)"},
        {OPT_SRUN, NULL, "srun a : : b",
         "component 1 is empty: words 2 and 3 of the command line are ':'"},
        {OPT_SRUN, NULL, "srun a : -n2",
         "component 1 has no program, and neither has a component after it"},
        {OPT_SBATCH, NULL, "sbatch -n1 : -n1 --nosuch x.sh",
         "unrecognized option '--nosuch' (component 1)"},
        {OPT_SBATCH, NULL, "sbatch -n1 : -n x x.sh",
         "Invalid numeric value \"x\" for --ntasks. (component 1)"},
        {OPT_SBATCH, NULL, "sbatch -n1 : -t soon x.sh",
         "Invalid --time specification: soon (use minutes, MM:SS, HH:MM:SS or D-HH[:MM[:SS]]) "
         "(component 1)"},
        {OPT_SBATCH, "#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n x\n", "sbatch job.sh",
         "Invalid numeric value \"x\" for --ntasks. (job.sh, line 3) (component 1)"},
        {OPT_SBATCH, "#SBATCH hetjob -n1\n", "sbatch job.sh",
         "Invalid directive found in batch script: hetjob is not alone on its line (job.sh, line "
         "1)"},
        {OPT_SBATCH, NULL, "sbatch --wrap=a : --wrap=b",
         "option --wrap is given again in component 1: a job has one script"},
        {OPT_SBATCH, NULL, "sbatch --label : -n1 x.sh", "unrecognized option '--label'"},
        {OPT_SBATCH, NULL, "sbatch -n1 : --mem=5 --mem-per-cpu=5 x.sh",
         "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive. (component 1)"},
        {OPT_SRUN, NULL, "srun -Z -wn1 a : -wn2 b",
         "--no-allocate is not supported for heterogeneous jobs (component 0)"},
        {OPT_SRUN, NULL, "srun a : -Z -wn1 b",
         "--no-allocate is not supported for heterogeneous jobs (component 1)"},
        {OPT_SRUN, NULL, "srun -Z -wn1 --het-group=0 a",
         "--no-allocate is not supported for heterogeneous jobs"},
        {OPT_SRUN, NULL, "srun --het-group=0 a : --het-group=0 b",
         "Duplicate het groups in single srun not supported: 0 (component 1)"},
        {OPT_SRUN, NULL, "srun --het-group=1 a : b",
         "Duplicate het groups in single srun not supported: 1 (component 1)"},
        {OPT_SRUN, NULL, "srun --het-group=1,0-2 a",
         "Duplicate het groups in single srun not supported: 1"},
        {OPT_SRUN, NULL, "srun --het-group=128 a", "Invalid --het-group specification: 128 (use "},
        {OPT_SRUN, NULL, "srun --het-group=2-1 a", "Invalid --het-group specification: 2-1 (use "},
        {OPT_SRUN, NULL, "srun --het-group=1, a", "Invalid --het-group specification: 1, (use "},
        {OPT_SRUN, NULL, "srun --het-group=0,io a",
         "--het-group=0,io names a component of a heterogeneous job: start srun in one, or name "},
        {OPT_SRUN, NULL, "srun --het-group=io-3 a",
         "Invalid --het-group specification: io-3 (use "},
        {OPT_SRUN, NULL, "srun --component=a-b a", "Invalid component name 'a-b': use a letter"},
        {OPT_SBATCH, "#SBATCH hetjob name=\n", "sbatch job.sh", "Invalid component name ''"},
        {OPT_SBATCH, "#SBATCH hetjob nmae=io\n", "sbatch job.sh",
         "Invalid directive found in batch script: hetjob is not alone on its line (job.sh, line "},
        {OPT_SRUN, NULL, "srun --het-group= a", "Invalid --het-group specification:  (use "},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct run r;
        int rc = run_line(&r, v[i].command, v[i].script, NULL, v[i].argv);
        if (rc >= 0 || strncmp(r.err.text, v[i].said, strlen(v[i].said)))
            fail_msg("%s: %d \"%s\"", v[i].argv, rc, r.err.text);
        const struct opt *o = get_component_options(&r, r.cs.failed);
        assert_true(o->failure != OPT_FAIL_NONE && o->exit_status);
        run_done(&r);
    }
}

/* "sbatch -n1 : -n1 ... x.sh" */
static char *repeat_component(const char *program, const char *word, const char *between,
                              size_t count, const char *last)
{
    struct str line = STR_INIT;
    str_puts(&line, program);
    for (size_t i = 0; i < count; i++)
        str_printf(&line, "%s%s", i ? between : "", word);
    str_puts(&line, last);
    return str_take(&line);
}

static void test_number_of_components_is_limited(void **state)
{
    static const char said[] = "a heterogeneous job has at most 128 components: ";
    struct run r;
    _cleanup_free_ char *most = repeat_component("sbatch", " -n1", " :", JOB_SET_MAX, " x.sh"),
                        *more = repeat_component("sbatch", " -n1", " :", JOB_SET_MAX + 1, " x.sh");
    assert_int_equal(run_line(&r, OPT_SBATCH, NULL, NULL, most), 0);
    assert_int_equal(r.cs.count, 128);
    assert_string_equal(r.cs.list[0]->command_argv[0], "x.sh");
    run_done(&r);
    assert_true(run_line(&r, OPT_SBATCH, NULL, NULL, more) < 0);
    assert_string_equal(r.err.text + sizeof said - 1,
                        "':' (word 256 of the command line) begins one more");
    run_done(&r);
    _cleanup_free_ char *script =
        repeat_component("#!/bin/sh\n", "#SBATCH hetjob\n", "", JOB_SET_MAX - 1, "true\n");
    assert_int_equal(run_line(&r, OPT_SBATCH, script, NULL, "sbatch x.sh"), 0);
    assert_int_equal(r.cs.count, 128);
    run_done(&r);
    _cleanup_free_ char *longer =
        repeat_component("#!/bin/sh\n", "#SBATCH hetjob\n", "", JOB_SET_MAX, "true\n");
    assert_true(run_line(&r, OPT_SBATCH, longer, NULL, "sbatch x.sh") < 0);
    assert_string_equal(r.err.text + sizeof said - 1,
                        "this line begins one more (job.sh, line 129)");
    run_done(&r);
}

static void test_components_are_split_at_colons(void **state)
{
    static const struct {
        enum opt_command command;
        const char *argv;
        size_t count;
        const char *commands; /* of each component, separated by '|' */
    } v[] = {
        {OPT_SBATCH, "sbatch", 1, ""},
        {OPT_SBATCH, "sbatch x.sh a : b", 1, "x.sh a : b"},
        {OPT_SBATCH, "sbatch -L a:2 : x.sh", 2, "x.sh|x.sh"},
        {OPT_SBATCH, "sbatch -J : x.sh", 1, "x.sh"},
        {OPT_SBATCH, "sbatch -n1 : -n2 -- -x.sh : y", 2, "-x.sh : y|-x.sh : y"},
        {OPT_SALLOC, "salloc -N1 : -N2", 2, "|"},
        {OPT_SALLOC, "salloc -N1 : -N2 srun a : b", 2, "srun a : b|srun a : b"},
        {OPT_SRUN, "srun hostname", 1, "hostname"},
        {OPT_SRUN, "srun echo a:b", 1, "echo a:b"},
        {OPT_SRUN, "srun echo a : echo b", 2, "echo a|echo b"},
        {OPT_SRUN, "srun --label -n2 : -n1 hostname -f", 2, "hostname -f|hostname -f"},
        {OPT_SRUN, "srun a : -n2 : -n3 : b 1", 4, "a|b 1|b 1|b 1"},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct run r;
        _cleanup_str_ struct str commands = STR_INIT;
        assert_int_equal(run_line(&r, v[i].command, NULL, NULL, v[i].argv), 0);
        assert_int_equal(r.cs.count, v[i].count);
        for (size_t k = 0; k < r.cs.count; k++) {
            const struct opt_component *c = r.cs.list[k];
            str_puts(&commands, k ? "|" : "");
            for (int w = 0; w < c->command_argc; w++)
                str_printf(&commands, "%s%s", w ? " " : "", c->command_argv[w]);
            assert_null(c->command_argv[c->command_argc]);
        }
        assert_string_equal(str_cstr(&commands), v[i].commands);
        run_done(&r);
    }
}

/* The value that component 1 has of each option of the table if only component 0 sets it. */
static const char *find_value(const struct opt_row *row, enum opt_command command)
{
    static const char *const values[] = {"5",
                                         "n1",
                                         "yes",
                                         "block",
                                         "truncate",
                                         "USR1",
                                         "now+1hour",
                                         "gpu:1",
                                         "local",
                                         "task=5",
                                         "cpu=2",
                                         "low",
                                         "0",
                                         "closest",
                                         "user",
                                         "2:2:2",
                                         "BEGIN",
                                         "license/a=1",
                                         "root",
                                         "lz4",
                                         "gres/gpu:closest",
                                         "debug",
                                         "enforce-binding",
                                         "nomultithread",
                                         "energy"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct opt o;
        opt_init(&o, command);
        o.source = OPT_FROM_ARGV;
        int rc = opt_set(&o, row, values[i], NULL);
        opt_done(&o);
        if (rc == 0)
            return values[i];
    }
    return NULL;
}

static void check_inherited(enum opt_command command, const struct opt_row *row)
{
    struct run r;
    const char *value = row->argument == OPT_ARG_NO ? NULL : find_value(row, command);
    const char *program = opt_program(&(struct opt){.command = command});
    if (!value && row->argument == OPT_ARG_REQ)
        fail_msg("a value of --%s is missing here", row->name);
    _cleanup_free_ char *line =
        mem_printf("%s --%s%s%s : -c3 x", program, row->name, value ? "=" : "", value ? value : "");
    r = (struct run){.argv = split_line(line)};
    opt_components_init(&r.cs, command);
    assert_int_equal(opt_components_scan(&r.cs, r.argv.count, r.argv.word, &r.err), 0);
    assert_int_equal(opt_components_apply_argv(&r.cs, &r.err), 0);
    bool is_inherited = row->commands & OPT_PROPAGATED;
    assert_int_equal(get_component_options(&r, 0)->from[row->id], OPT_FROM_ARGV);
    if (get_component_options(&r, 1)->from[row->id] !=
        (is_inherited ? OPT_FROM_ARGV_BEFORE : OPT_FROM_NONE))
        fail_msg("%s: from %u", line, get_component_options(&r, 1)->from[row->id]);
    if (is_inherited && value)
        assert_string_equal(get_component_options(&r, 1)->given[row->id], value);
    if (is_inherited && row->type == OPT_T_FLAG)
        assert_true(*(const bool *)((const char *)get_component_options(&r, 1) + row->offset));
    if (is_inherited && row->type == OPT_T_TRUE)
        assert_true(*(const protobuf_c_boolean *)((const char *)get_component_options(&r, 1) +
                                                  row->offset));
    if (is_inherited && row->type == OPT_T_STRING)
        assert_string_equal(
            *(char *const *)((const char *)get_component_options(&r, 1) + row->offset), value);
    assert_int_equal(get_component_options(&r, 1)->cpus_per_task, 3);
    run_done(&r);
}

/* A value that is rejected for components is also rejected without them. */
static void check_refused(enum opt_command command, const struct opt_row *row, const char *line)
{
    struct run alone;
    _cleanup_free_ char *plain = mem_printf("%.*s x", (int)(strlen(line) - strlen(" : x")), line);
    if (run_line(&alone, command, NULL, NULL, plain) == 0)
        fail_msg("%s: --%s is refused for components alone", line, row->name);
    run_done(&alone);
}

/* HET-09: an inherited option makes the same request as in component 0; another option leaves the
 * request of a component without options. */
static void check_request(enum opt_command command, const struct opt_row *row)
{
    struct run r, empty;
    Pb__JobSpec first = PB__JOB_SPEC__INIT, second = first, third = first;
    const char *value = row->argument == OPT_ARG_NO ? NULL : find_value(row, command);
    const char *program = opt_program(&(struct opt){.command = command});
    _cleanup_free_ char *line =
        mem_printf("%s --%s%s%s : x", program, row->name, value ? "=" : "", value ? value : "");
    _cleanup_free_ char *plain = mem_printf("%s x", program);
    assert_int_equal(run_line(&empty, command, NULL, NULL, plain), 0);
    if (run_line(&r, command, NULL, NULL, line) == 0) {
        opt_to_job_spec(get_component_options(&r, 0), &first);
        opt_to_job_spec(get_component_options(&r, 1), &second);
        opt_to_job_spec(get_component_options(&empty, 0), &third);
        const Pb__JobSpec *expected = row->commands & OPT_PROPAGATED ? &first : &third;
        pb_each_field (&pb__job_spec__descriptor, f)
            if (f->label != PROTOBUF_C_LABEL_REPEATED &&
                !pb_same_field(&second.base, &expected->base, f))
                fail_msg("%s: %s", line, f->name);
    } else {
        check_refused(command, row, line);
    }
    run_done(&r);
    run_done(&empty);
}

static void test_components_inherit_documented_options(void **state)
{
    static const enum opt_command commands[] = {OPT_SRUN, OPT_SBATCH, OPT_SALLOC};
    size_t checked = 0;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < opt_row_count; i++) {
            const struct opt_row *row = &opt_rows[i];
            if (!(row->commands & commands[k]) || (row->commands & OPT_TERMINAL) ||
                row->type == OPT_T_REFUSED || row->type == OPT_T_PLANNED ||
                row->id == OPT_ID_cpus_per_task || row->id == OPT_ID_nodefile ||
                row->id == OPT_ID_bbf)
                continue;
            check_inherited(commands[k], row);
            check_request(commands[k], row);
            checked++;
        }
    assert_true(checked > 250);
}

static void test_component_values_follow_rank_of_sources(void **state)
{
    static const struct {
        const char *script, *env, *argv;
        const char *accounts; /* of each component, separated by blanks; -: none */
    } v[] = {
        {NULL, NULL, "sbatch -A a -n1 : -n2 : -n1 x", "a a a"},
        {NULL, NULL, "sbatch -A a : -A b : -n1 x", "a b b"},
        {NULL, NULL, "sbatch -n1 : -A b : -n1 x", "- b b"},
        {NULL, "SBATCH_ACCOUNT=e", "sbatch -n1 : -n2 x", "e e"},
        {NULL, "SBATCH_ACCOUNT=e", "sbatch -A a : -n2 x", "a a"},
        {NULL, "SBATCH_ACCOUNT=e", "sbatch -n1 : -A b x", "e b"},
        {"#SBATCH -A a\n#SBATCH hetjob\n#SBATCH -n1\n", NULL, "sbatch x", "a a"},
        {"#SBATCH -A a\n#SBATCH packjob\n#SBATCH -A b\n", NULL, "sbatch x", "a b"},
        {"#SBATCH -A a\n#SBATCH hetjob\n#SBATCH -A b\n", "SBATCH_ACCOUNT=e", "sbatch x", "e e"},
        {"#SBATCH -A a\n#SBATCH hetjob\n#SBATCH -A b\n", NULL, "sbatch -A c x", "c c"},
        {"#SBATCH -A a\n#SBATCH hetjob\n#SBATCH -A b\n", NULL, "sbatch -n1 : -A c x", "a c"},
        {"#SBATCH -A a\n", NULL, "sbatch -n1 : -n1 : -A c x", "a a c"},
        {"#SBATCH -A a\n#SBATCH hetjob\n#SBATCH -A b\n", NULL, "sbatch -n1 : -n1 : -n1 x", "a b b"},
        {"#SBATCH hetjob\n#SBATCH hetjob\n#SBATCH -A c\n", NULL, "sbatch -A a : -A b x", "a b b"},
        {"#SBATCH -A a\ntrue\n#SBATCH hetjob\n", NULL, "sbatch x", "a"},
        {"#PBS -A p\n#SBATCH hetjob\n#SBATCH -n2\n", NULL, "sbatch x", "p p"},
        {"#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -A b\n#PBS -A p\n", NULL, "sbatch x", "p b"},
        {"#PBS -A p\n#SBATCH --ignore-pbs\n#SBATCH hetjob\n", NULL, "sbatch x", "- -"},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct run r;
        _cleanup_str_ struct str accounts = STR_INIT;
        if (run_line(&r, OPT_SBATCH, v[i].script, v[i].env, v[i].argv) < 0)
            fail_msg("%s: %s", v[i].argv, r.err.text);
        for (size_t k = 0; k < r.cs.count; k++) {
            const char *account = get_component_options(&r, k)->job.account;
            str_printf(&accounts, "%s%s", k ? " " : "", account ? account : "-");
        }
        if (strcmp(str_cstr(&accounts), v[i].accounts))
            fail_msg("%zu: %s: %s", i, v[i].argv, str_cstr(&accounts));
        run_done(&r);
    }
}

/* As in Slurm a script may have a component without options, and sbatch says so. */
static void test_empty_components_of_scripts(void **state)
{
    static const struct {
        const char *script, *argv;
        const char *noted; /* offsets of components that are said to be empty */
    } v[] = {
        {"#SBATCH hetjob\n#SBATCH -n2\n", "sbatch x", "0"},
        {"#SBATCH hetjob\n#SBATCH -n2\n", "sbatch --parsable -H -J name -W -M all x", "0"},
        {"#SBATCH hetjob\n#SBATCH -n2\n", "sbatch --parsable -n1 x", ""},
        {"#SBATCH hetjob\n#SBATCH -n2\n", "sbatch -p main x", ""},
        {"#SBATCH hetjob\n#SBATCH -n2\n", "sbatch -J name : -n1 x", ""},
        {"#SBATCH -n2\n#SBATCH hetjob\n#SBATCH hetjob\n#SBATCH -n1\n", "sbatch x", "1"},
        {"#SBATCH -A a\n#SBATCH hetjob\n", "sbatch x", "1"},
        {"#SBATCH -n2\n#SBATCH hetjob name=io\n", "sbatch x", ""},
        {"#SBATCH hetjob\n", "sbatch -n1 : -n2 x", ""},
        {"#PBS -A p\n#SBATCH hetjob\n#SBATCH -n2\n", "sbatch x", ""},
        {"#!/bin/sh\n", "sbatch x", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct run r;
        _cleanup_str_ struct str noted = STR_INIT;
        assert_int_equal(run_line(&r, OPT_SBATCH, v[i].script, NULL, v[i].argv), 0);
        for (size_t k = 0; k < r.cs.count; k++)
            if (strstr(str_cstr(&get_component_options(&r, k)->notes), "has no #SBATCH options: "))
                str_printf(&noted, "%zu", k);
        assert_string_equal(str_cstr(&noted), v[i].noted);
        run_done(&r);
    }
}

/* --mem is inherited, --mem-per-cpu is not; a component's own option replaces an inherited one. */
static void test_memory_per_node_is_inherited_by_components(void **state)
{
    struct run r;
    assert_int_equal(run_line(&r, OPT_SBATCH, NULL, NULL,
                              "sbatch --mem=100 : -n1 : --mem-per-cpu=7 : -n1 : --mem=5 x.sh"),
                     0);
    static const struct {
        bool has_node, has_cpu;
        uint64_t node, cpu;
    } expected[] = {{true, false, 100, 0},
                    {true, false, 100, 0},
                    {false, true, 0, 7},
                    {true, false, 100, 0},
                    {true, false, 5, 0}};
    for (size_t i = 0; i < 5; i++) {
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        opt_to_job_spec(get_component_options(&r, i), &spec);
        assert_int_equal(spec.has_mem_per_node_mib, expected[i].has_node);
        assert_int_equal(spec.has_mem_per_cpu_mib, expected[i].has_cpu);
        assert_int_equal(spec.mem_per_node_mib, expected[i].node);
        assert_int_equal(spec.mem_per_cpu_mib, expected[i].cpu);
    }
    run_done(&r);
}

static void test_defaults_of_later_components(void **state)
{
    struct run r;
    assert_int_equal(run_line(&r, OPT_SBATCH, NULL, NULL,
                              "sbatch -n4 --mem-per-cpu=100 -J z -t5 --begin=now+60 -vv : -N1 x"),
                     0);
    const struct opt *o = get_component_options(&r, 1);
    assert_int_equal(o->ntasks, 0);
    assert_int_equal(o->mem_per_cpu_mib, 0);
    assert_int_equal(o->min_nodes, 1);
    assert_string_equal(o->job_name, "z");
    assert_int_equal(o->time_limit_sec, 300);
    assert_int_equal(o->begin_at_sec, 1700000060);
    assert_int_equal(o->verbose, 2);
    run_done(&r);
}

/* HET-15: the lines of a script make the same requests as the words of a command line. */
static void test_components_of_script_and_command_line_are_equal(void **state)
{
    struct run script, line;
    assert_int_equal(run_line(&script, OPT_SBATCH,
                              "#!/bin/bash\n#SBATCH --cpus-per-task=4 --mem-per-cpu=16g -n1 -t5\n"
                              "#SBATCH hetjob\n#SBATCH --cpus-per-task=2 --mem-per-cpu=1g -n8\n\n"
                              "srun run.app\n",
                              NULL, "sbatch new.bash"),
                     0);
    assert_int_equal(run_line(&line, OPT_SBATCH, NULL, NULL,
                              "sbatch --cpus-per-task=4 --mem-per-cpu=16g --ntasks=1 -t5 : "
                              "--cpus-per-task=2 --mem-per-cpu=1g --ntasks=8 my.bash"),
                     0);
    assert_int_equal(script.cs.count, 2);
    assert_int_equal(line.cs.count, 2);
    for (size_t i = 0; i < 2; i++) {
        Pb__JobSpec a = PB__JOB_SPEC__INIT, b = PB__JOB_SPEC__INIT;
        opt_to_job_spec(get_component_options(&script, i), &a);
        opt_to_job_spec(get_component_options(&line, i), &b);
        pb_each_field (&pb__job_spec__descriptor, f)
            if (f->label != PROTOBUF_C_LABEL_REPEATED && !pb_same_field(&a.base, &b.base, f))
                fail_msg("component %zu: %s differs", i, f->name);
        assert_int_equal(a.num_tasks, i ? 8 : 1);
        assert_int_equal(a.mem_per_cpu_mib, i ? 1024 : 16384);
    }
    run_done(&script);
    run_done(&line);
}

/* Options of sbatch and salloc as a whole may be given in any component. */
static void test_command_options_of_any_component_count_for_all(void **state)
{
    struct run r;
    assert_int_equal(run_line(&r, OPT_SBATCH, NULL, NULL,
                              "sbatch -n1 : -n2 : --test-only --parsable -W -Q --wrap=true"),
                     0);
    const struct opt *o = get_component_options(&r, 0);
    assert_true(o->test_only && o->parsable && o->wait_end && o->quiet);
    assert_string_equal(o->wrap, "true");
    run_done(&r);
    assert_int_equal(run_line(&r, OPT_SALLOC, NULL, NULL, "salloc -n1 : -n1 --no-shell -I5"), 0);
    assert_true(get_component_options(&r, 0)->no_shell);
    assert_int_equal(get_component_options(&r, 0)->immediate_sec, 5);
    run_done(&r);
    static const struct {
        const char *env, *argv, *value, *note; /* of --kill-command */
    } v[] = {
        {"SALLOC_KILL_CMD=INT", "salloc -n1 : -n1 -KTERM", "TERM", ""},
        {NULL, "salloc -n1 : -KTERM -n1 : -KTERM -n1", "TERM", ""},
        {NULL, "salloc -KINT -n1 : -KTERM -n1", "INT",
         "warning: option --kill-command has no effect here: use it in component 0\n"},
        {"SALLOC_KILL_CMD=TERM", "salloc -KINT -n1 : -KINT -n1", "INT", ""},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        assert_int_equal(run_line(&r, OPT_SALLOC, NULL, v[i].env, v[i].argv), 0);
        assert_string_equal(get_component_options(&r, 0)->given[OPT_ID_kill_command], v[i].value);
        assert_string_equal(str_cstr(&get_component_options(&r, 1)->notes), v[i].note);
        run_done(&r);
    }
}

/* A job is in one cluster: the message names the component that has another one (HET-19). */
static void test_clusters_of_components(void **state)
{
#define ELSEWHERE "No cluster 'elsewhere' known: this configuration describes cluster 'own' only"
    static const struct {
        const char *env, *argv, *text; /* text NULL: accepted */
    } v[] = {
        {NULL, "srun -M own a : -M own b", NULL},
        {NULL, "srun -M own a : -M all b", NULL},
        {NULL, "srun -M own a : -M elsewhere b", ELSEWHERE " (component 1)"},
        {NULL, "srun a : b : -M elsewhere c", ELSEWHERE " (component 2)"},
        {NULL, "srun -M elsewhere a : b", ELSEWHERE " (component 0)"},
        {NULL, "srun -M elsewhere a", ELSEWHERE},
        {"SLURM_CLUSTERS=elsewhere", "srun a : b", ELSEWHERE},
        {"SLURM_CLUSTERS=elsewhere", "srun -M own a : b", NULL},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct run r;
        assert_int_equal(run_line(&r, OPT_SRUN, NULL, v[i].env, v[i].argv), 0);
        int rc = opt_components_check_clusters(&r.cs, "own", &r.err);
        assert_int_equal(rc, v[i].text ? -ERR_NOT_SUPPORTED : 0);
        assert_string_equal(r.err.text, v[i].text ? v[i].text : "");
        run_done(&r);
    }
#undef ELSEWHERE
}

static void test_ineffective_component_options_are_reported(void **state)
{
    static const struct {
        const char *argv, *first, *second;
    } v[] = {
        /* an output file belongs to the script, which the leader runs (HET-12) */
        {"sbatch -n1 : -o second.out x.sh", "",
         "warning: option --output has no effect here: use it in component 0\n"},
        {"sbatch -o first.out : -n1 x.sh", "", ""},
        /* mail is sent for the leader, without a note (HET-47) */
        {"sbatch --mail-type=END : --mail-type=END x.sh", "", ""},
        /* licences are counted; Slurm counts them only in component 0 (HET-102) */
        {"sbatch -L a -n1 : -n1 x.sh", "", ""},
        {"sbatch -L a -n1 : -L b -n1 x.sh", "",
         "warning: option --licenses beyond component 0: the licenses of all components are "
         "added, unless HetLimits=licenses in slurm.conf refuses them\n"},
        /* only one note */
        {"sbatch --qos=a : --qos=b x.sh", "warning: option --qos is accepted and has no effect\n",
         ""},
        {"sbatch -n1 : --qos=b x.sh", "", "warning: option --qos is accepted and has no effect\n"},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct run r;
        assert_int_equal(run_line(&r, OPT_SBATCH, NULL, NULL, v[i].argv), 0);
        assert_string_equal(str_cstr(&get_component_options(&r, 0)->notes), v[i].first);
        assert_string_equal(str_cstr(&get_component_options(&r, 1)->notes), v[i].second);
        run_done(&r);
    }
}

static void test_het_groups_select_components(void **state)
{
    static const struct {
        const char *argv, *groups; /* of each component */
    } v[] = {
        {"srun a", "0"},
        {"srun --het-group=2 a", "2"},
        {"srun --het-group=0,4 a", "0,4"},
        {"srun --het-group=1,3-5 a", "1,3,4,5"},
        {"srun --pack-group=5,1 a", "1,5"},
        {"srun --het-group=127 a", "127"},
        {"srun hostname : date : id", "0|1|2"},
        {"srun --het-group=1 a : --het-group=0 b", "1|0"},
        {"srun --het-group=0,1 a : --het-group=2 b", "0,1|2"},
        {"srun --het-group=3 a : b : c", "3|1|2"},
        {"srun --jobid=7+3 a : b : --het-group=1 c", "3|3|1"}, /* HET-111 */
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct run r;
        _cleanup_str_ struct str groups = STR_INIT;
        if (run_line(&r, OPT_SRUN, NULL, NULL, v[i].argv) < 0)
            fail_msg("%s: %s", v[i].argv, r.err.text);
        for (size_t k = 0; k < r.cs.count; k++)
            for (size_t g = 0; g < r.cs.list[k]->group_count; g++)
                str_printf(&groups, "%s%u", g ? "," : k ? "|" : "", r.cs.list[k]->groups[g]);
        assert_string_equal(str_cstr(&groups), v[i].groups);
        run_done(&r);
    }
}

static void note_extra(void *ctx, size_t component, size_t index, const char *arg)
{
    str_printf(ctx, " %zu:%zu=%s", component, index, arg ? arg : "-");
}

static void note_environment(void *ctx, size_t component, char *const *envp)
{
    str_printf(ctx, " %zu:env", component);
}

/* HET-114: plugin options apply to the component for which they are given, and are not inherited.
 */
static void test_options_of_plugins(void **state)
{
    struct opt_extra list[] = {{.name = "renice", .has_arg = 1}, {.name = "quick", .has_arg = 0}};
    _cleanup_str_ struct str noted = STR_INIT;
    const struct opt_extras extras = {.list = list,
                                      .count = 2,
                                      .set = note_extra,
                                      .environment = note_environment,
                                      .ctx = &noted};
    static const char *const v[][2] = {
        {"sbatch --renice=1 x", " 0:env 0:0=1"},
        {"sbatch --renice=1 : -n1 x", " 0:env 1:env 0:0=1"},
        {"sbatch -n1 : --renice=1 --renice=2 : --quick x", " 0:env 1:env 2:env 1:0=1 1:0=2 2:1=-"}};
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct run r = {.argv = split_line(v[i][0])};
        str_clear(&noted);
        opt_components_init(&r.cs, OPT_SBATCH);
        opt_offer(opt_components_leader(&r.cs), &extras);
        assert_int_equal(opt_components_scan(&r.cs, r.argv.count, r.argv.word, &r.err), 0);
        assert_int_equal(opt_components_apply_env(&r.cs, r.env.word, &r.err), 0);
        assert_int_equal(opt_components_apply_argv(&r.cs, &r.err), 0);
        assert_string_equal(str_cstr(&noted), v[i][1]);
        run_done(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_component_lines_are_refused),
        cmocka_unit_test(test_number_of_components_is_limited),
        cmocka_unit_test(test_components_are_split_at_colons),
        cmocka_unit_test(test_components_inherit_documented_options),
        cmocka_unit_test(test_component_values_follow_rank_of_sources),
        cmocka_unit_test(test_empty_components_of_scripts),
        cmocka_unit_test(test_memory_per_node_is_inherited_by_components),
        cmocka_unit_test(test_defaults_of_later_components),
        cmocka_unit_test(test_components_of_script_and_command_line_are_equal),
        cmocka_unit_test(test_command_options_of_any_component_count_for_all),
        cmocka_unit_test(test_clusters_of_components),
        cmocka_unit_test(test_ineffective_component_options_are_reported),
        cmocka_unit_test(test_het_groups_select_components),
        cmocka_unit_test(test_options_of_plugins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
