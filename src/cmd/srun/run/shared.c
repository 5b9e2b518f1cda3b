/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/shared.h"

#include <string.h>

#include "base/str.h"
#include "cmd/srun/option/multi.h"
#include "cmd/srun/run/input.h"
#include "cmd/srun/run/output.h"
#include "launch/bcast.h"

/* The rank behind the last one of the part. */
static uint32_t end_of(const struct run *run, uint32_t part)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i <= part; i++)
        end += run->step->parts[i]->num_tasks;
    return end;
}

bool shared_node_runs(const struct run *run, size_t node, uint32_t part)
{
    const struct Pb__StepNode *n = run->step->layout[node];

    if (!run->step->n_parts)
        return true;
    uint32_t end = end_of(run, part), begin = end - run->step->parts[part]->num_tasks;
    for (size_t k = 0; k < n->n_task_ids; k++)
        if (n->task_ids[k] >= begin && n->task_ids[k] < end)
            return true;
    return false;
}

uint32_t shared_part_of_task(const struct run *run, uint32_t task)
{
    uint32_t part = 0;

    for (uint32_t end = 0; part + 1 < run->step->n_parts; part++) {
        end += run->step->parts[part]->num_tasks;
        if (task < end)
            break;
    }
    return part;
}

bool shared_starts(const struct run *run, uint32_t part, uint32_t other)
{
    for (size_t i = 0; i < run->step->n_layout; i++)
        if (run->step->layout[i]->part == part && shared_node_runs(run, i, other))
            return true;
    return false;
}

bool shared_has_others(const struct run *run, uint32_t part)
{
    for (uint32_t i = 0; i < run->step->n_parts; i++)
        if (i != part && shared_starts(run, part, i))
            return true;
    return false;
}

/* The program, by the name that the step daemon would give it. */
static void put_program(const struct run_command *command, struct str *out)
{
    str_put_quoted(out, command->argv[0]);
    if (command->per_node)
        str_puts(out, "\"_$SLURMD_NODENAME\"");
}

static void put_part(const struct run *run, uint32_t part, uint32_t other,
                     const struct run_command *command, struct str *out)
{
    const struct run_options *first = run->options->parts[part], *o = run->options->parts[other];
    uint32_t cpus = run->step->parts[other]->cpus_per_task;

    if (!str_eq(first->work_dir, o->work_dir)) {
        str_puts(out, "cd ");
        str_put_quoted(out, o->work_dir);
        str_puts(out, " || cd /tmp\n");
    }
    if (run->options->step->parts[other]->has_cpus_per_task &&
        cpus != run->step->parts[part]->cpus_per_task)
        str_printf(out, "export SLURM_CPUS_PER_TASK=%u\n", cpus);
    if (command->has_libs) {
        str_puts(out, "export LD_LIBRARY_PATH=");
        put_program(command, out);
        str_puts(out, BCAST_LIBS "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n");
    }
    str_puts(out, "exec ");
    put_program(command, out);
    for (int i = 1; i < command->argc; i++) {
        str_putc(out, ' ');
        str_put_quoted(out, command->argv[i]);
    }
    str_putc(out, '\n');
}

/* What a node daemon is told of a step once. */
static int check_options(const struct run *run, uint32_t part, uint32_t other, struct err *err)
{
    const struct run_options *first = run->options->parts[part], *o = run->options->parts[other];
    const struct {
        const char *name, *of_first, *of_other;
    } same[] = {
        {"export", first->export_spec, o->export_spec},
        {"input with %t, %n or %N", input_node_file(run->input, part),
         input_node_file(run->input, other)},
        {"output with %t, %n or %N", output_node_file(run->output, part, 1),
         output_node_file(run->output, other, 1)},
        {"error with %t, %n or %N", output_node_file(run->output, part, 2),
         output_node_file(run->output, other, 2)},
    };

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        if (!str_eq(same[i].of_first, same[i].of_other))
            return err_set(err, -ERR_NOT_SUPPORTED,
                           "parts %u and %u of the step have nodes in common, and need the same "
                           "--%s",
                           part, other, same[i].name);
    return 0;
}

int shared_make_command(const struct run *run, uint32_t part, const struct run_command *commands,
                        struct arena *arena, struct run_command *out, struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;
    const char *word = "if";
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < run->step->n_parts; i++) {
        if (!shared_starts(run, part, i))
            continue;
        rc = check_options(run, part, i, err);
        uint32_t end = end_of(run, i);
        str_printf(&script,
                   "%s [ \"$SLURM_PROCID\" -ge %u ] && [ \"$SLURM_PROCID\" -lt %u ]; then\n", word,
                   end - run->step->parts[i]->num_tasks, end);
        put_part(run, part, i, &commands[i], &script);
        word = "elif";
    }
    str_puts(&script, "fi\n");
    if (rc != 0)
        return rc;
    if (script.len > MULTI_SCRIPT_MAX)
        return err_set(err, -ERR_LIMIT,
                       "the programs of parts that have nodes in common have %zu bytes, and %u are "
                       "the most",
                       script.len, MULTI_SCRIPT_MAX);
    char *head[MULTI_ARGV_MAX];
    size_t count = multi_argv(&script, arena, head);
    *out = (struct run_command){.argv = arena_alloc(arena, (count + 1) * sizeof(char *)),
                                .argc = (int)count};
    memcpy(out->argv, head, count * sizeof(char *));
    return 0;
}
