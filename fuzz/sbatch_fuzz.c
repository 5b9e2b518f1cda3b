/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes as a batch script: its first line as words of a command line, the rest as "#SBATCH" lines.
 * Whatever they are, there is a request or a message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/opt.h"

#define WORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int split(char *line, char **words)
{
    int count = 1;
    words[0] = "sbatch";
    for (char *save = NULL, *w = strtok_r(line, " ", &save); w && count < WORDS_MAX;
         w = strtok_r(NULL, " ", &save)) {
        /* Files are not what is tested here. */
        if (!strchr(w, '/'))
            words[count++] = w;
    }
    return count;
}

static void check(const struct opt *o)
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
    for (size_t i = 0; i < 3; i++) {
        char *words[WORDS_MAX];
        _cleanup_free_ char *line = mem_strndup((const char *)data, line_len);
        int count = split(line, words), operands = 0;
        struct opt o;
        struct err err = {0};
        opt_init(&o, commands[i]);
        o.now_sec = 1000000000;
        int r = opt_scan(&o, count, words, &operands, &err);
        if (r == 0 && (operands < 1 || operands > count))
            abort();
        if (r == 0)
            r = opt_apply_script(&o, "script", data, size, &err);
        if (r == 0)
            r = opt_apply_argv(&o, count, words, &err);
        if (r == 0)
            r = opt_finish(&o, &err);
        if (r == 0)
            check(&o);
        else if (!err.text[0] || o.failure == OPT_FAIL_NONE || !o.exit_status)
            abort();
        opt_done(&o);
    }
    return 0;
}
