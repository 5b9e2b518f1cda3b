/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: a batch script: its first line is a command line, the rest are "#SBATCH" lines. Any input
 * results in a request or an error message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/opt_component.h"

#define WORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int split_command_words(char *line, char **words)
{
    int count = 1;
    words[0] = "sbatch";
    for (char *save = NULL, *w = strtok_r(line, " ", &save); w && count < WORDS_MAX;
         w = strtok_r(NULL, " ", &save)) {
        /* Words with a slash, which may name files, are skipped. */
        if (!strchr(w, '/'))
            words[count++] = w;
    }
    return count;
}

static void check_spec(const struct opt *o)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec step = PB__STEP_SPEC__INIT;
    struct arena arena;
    arena_init(&arena, 64u << 20);
    opt_to_job_spec(o, &spec);
    opt_to_step_spec(o, &arena, &step, NULL);
    if (spec.has_min_nodes && spec.max_nodes && spec.min_nodes > spec.max_nodes)
        abort();
    if (spec.has_mem_per_node_mib && spec.has_mem_per_cpu_mib)
        abort();
    if (spec.has_time_limit_sec && spec.time_limit_sec <= 0)
        abort();
    arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum opt_command commands[] = {OPT_SBATCH, OPT_SRUN, OPT_SALLOC};
    const uint8_t *eol = memchr(data, '\n', size);
    size_t line_len = eol ? (size_t)(eol - data) : size;
    const struct opt_script script = {.name = "script", .data = data, .len = size};
    for (size_t i = 0; i < 3; i++) {
        char *words[WORDS_MAX];
        _cleanup_free_ char *line = mem_strndup((const char *)data, line_len);
        int count = split_command_words(line, words);
        struct opt_components cs;
        struct err err = {0};
        opt_components_init(&cs, commands[i]);
        opt_components_leader(&cs)->now_sec = 1000000000;
        int r = opt_components_scan(&cs, count, words, &err);
        if (r == 0)
            r = opt_components_apply_script(&cs, &script, &err);
        if (r == 0)
            r = opt_components_apply_argv(&cs, &err);
        if (r == 0)
            r = opt_components_finish(&cs, &err);
        for (size_t k = 0; k < cs.count && r == 0; k++)
            check_spec(&cs.list[k]->opt);
        const struct opt *failed = &cs.list[cs.failed]->opt;
        if (r < 0 && (!err.text[0] || failed->failure == OPT_FAIL_NONE || !failed->exit_status))
            abort();
        opt_components_done(&cs);
    }
    return 0;
}
