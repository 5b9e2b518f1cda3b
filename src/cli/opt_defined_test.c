/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block of defined options: names and values in Slurm's format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/opt.h"

#define WORDS_MAX 16

/* Words separated by '|'. */
static void format_defined(enum opt_command command, const char *line, struct str *out)
{
    _cleanup_free_ char *text = mem_strdup(line);
    char *word[WORDS_MAX + 1] = {"test"}, *const nothing[] = {NULL};
    int count = 1, operands;
    struct opt o;
    struct err err = {0};
    for (char *rest = text, *w; (w = strsep(&rest, "|")) && count < WORDS_MAX;)
        word[count++] = w;
    opt_init(&o, command);
    if (opt_scan(&o, count, word, &operands, &err) < 0 || opt_apply_env(&o, nothing, &err) < 0 ||
        opt_apply_argv(&o, count, word, &err) < 0 || opt_finish(&o, &err) < 0)
        fail_msg("%s: %s", line, err.text);
    opt_format_defined(&o, out);
    opt_done(&o);
}

static void test_defined_options_are_printed_as_a_block(void **state)
{
    _cleanup_str_ struct str text = STR_INIT;
    format_defined(OPT_SRUN, "-v|-N2|-n3|-t5|-l|-J|nm|hostname", &text);
    assert_string_equal(str_cstr(&text), "srun: defined options\n"
                                         "srun: -------------------- --------------------\n"
                                         "srun: job-name            : nm\n"
                                         "srun: label               : set\n"
                                         "srun: nodes               : 2\n"
                                         "srun: ntasks              : 3\n"
                                         "srun: time                : 00:05:00\n"
                                         "srun: verbose             : 1\n"
                                         "srun: -------------------- --------------------\n"
                                         "srun: end of defined options\n");
}

static void test_values_of_defined_options_are_printed(void **state)
{
    static const struct {
        enum opt_command command;
        const char *line, *has;
    } v[] = {
        {OPT_SBATCH, "--comment=a\033b", ": comment             : a\\033b\n"},
        {OPT_SBATCH, "-w|", ": nodelist            : \n"},
        {OPT_SBATCH, "--begin=2030-01-20T12:34:00",
         ": begin               : 2030-01-20T12:34:00\n"},
        {OPT_SBATCH, "-t|1-02:03:04", ": time                : 1-02:03:04\n"},
        {OPT_SBATCH, "-t|90", ": time                : 01:30:00\n"},
        {OPT_SBATCH, "--time-min=UNLIMITED", ": time-min            : UNLIMITED\n"},
        {OPT_SBATCH, "--mem=2G", ": mem                 : 2G\n"},
        {OPT_SBATCH, "--mem=1500M", ": mem                 : 1500\n"},
        {OPT_SBATCH, "--mem-per-cpu=1500K", ": mem-per-cpu         : 2\n"},
        {OPT_SBATCH, "--tmp=10", ": tmp                 : 10\n"},
        {OPT_SBATCH, "-c2", ": cpus-per-task       : 2\n"},
        {OPT_SBATCH, "-e|err|-D|/tmp", ": error               : /tmp/err\n"},
        {OPT_SBATCH, "-o|/tmp/x", ": output              : /tmp/x\n"},
        {OPT_SRUN, "-o|out", ": output              : out\n"},
        {OPT_SRUN, "-inone", ": input               : /dev/null\n"},
        {OPT_SBATCH, "--exclusive", ": exclusive           : exclusive\n"},
        {OPT_SBATCH, "-s", ": oversubscribe       : oversubscribe\n"},
        {OPT_SBATCH, "--export=ALL,A=b", ": export              : ALL,A=b\n"},
        {OPT_SBATCH, "-H", ": hold                : set\n"},
        {OPT_SBATCH, "-k", ": no-kill             : set\n"},
        {OPT_SBATCH, "--no-kill=off", ": no-kill             : unset\n"},
        {OPT_SBATCH, "--no-kill=no", ": no-kill             : unset\n"},
        {OPT_SBATCH, "-mblock:cyclic,pack", ": distribution        : block:cyclic,pack\n"},
        {OPT_SBATCH, "--nice", ": nice                : 100\n"},
        {OPT_SBATCH, "--nice=-5", ": nice                : -5\n"},
        {OPT_SBATCH, "-N1-2", ": nodes               : 1-2\n"},
        {OPT_SBATCH, "-N2-2", ": nodes               : 2\n"},
        {OPT_SBATCH, "--open-mode=append", ": open-mode           : a\n"},
        {OPT_SBATCH, "--propagate", ": propagate           : ALL\n"},
        {OPT_SBATCH, "--requeue", ": requeue             : requeue\n"},
        {OPT_SBATCH, "--no-requeue", ": no-requeue          : no-requeue\n"},
        {OPT_SBATCH, "--wait-all-nodes=1", ": wait-all-nodes      : 1\n"},
        {OPT_SBATCH, "--hint=nomultithread", ": hint                : nomultithread\n"},
        {OPT_SBATCH, "--wrap|true", ": wrap                : true\n"},
        {OPT_SRUN, "-I", ": immediate           : 1\n"},
        {OPT_SRUN, "-I5", ": immediate           : 5\n"},
        {OPT_SRUN, "-K", ": kill-on-bad-exit    : 1\n"},
        {OPT_SRUN, "-K0", ": kill-on-bad-exit    : 0\n"},
        {OPT_SRUN, "-W10", ": wait                : 10\n"},
        {OPT_SRUN, "-w|n2,n3|-N1", ": nodelist            : n2\n"},
        {OPT_SALLOC, "-K", "salloc: kill-command        : TERM\n"},
        {OPT_SALLOC, "--kill-command=INT", "salloc: kill-command        : INT\n"},
        {OPT_SALLOC, "-vv", "salloc: verbose             : 2\n"},
    };
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        format_defined(v[i].command, v[i].line, &text);
        if (!strstr(str_cstr(&text), v[i].has))
            fail_msg("%s: %s", v[i].line, str_cstr(&text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defined_options_are_printed_as_a_block),
        cmocka_unit_test(test_values_of_defined_options_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
