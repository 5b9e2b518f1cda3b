/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "base/str.h"
#include "cmd/srun/option/multi.h"
#include "cmd/srun/run/command.h"
#include "cmd/srun/run/input.h"
#include "cmd/srun/run/output.h"
#include "cmd/srun/run/run.h"
#include "launch/bcast.h"

/* The rank after the last one of the part. */
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

/* A shell selects each task's program; the operands after the file's name are its arguments. */
static int make_command(struct run *run, const struct run_options *o, struct run_command *out,
                        struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;
    char *head[MULTI_ARGV_MAX];

    *out = (struct run_command){.argv = o->argv, .argc = o->argc};
    if (o->multi_prog == NULL)
        return 0;
    if (multi_format(o->multi_prog, run->step->num_tasks, &script, err) < 0)
        return err_prefix(err, "%s", o->argv[0]);
    size_t extra = multi_argv(&script, &run->arena, head);
    out->argc = o->argc - 1 + (int)extra;
    out->argv = arena_alloc(&run->arena, ((size_t)out->argc + 1) * sizeof(char *));
    memcpy(out->argv, head, extra * sizeof(char *));
    for (int i = 1; i < o->argc; i++)
        out->argv[extra + (size_t)i - 1] = o->argv[i];
    return 0;
}

int command_make(struct run *run, struct err *err)
{
    uint32_t count = run_count_parts(run);
    int rc = 0;

    run->commands = arena_alloc(&run->arena, count * sizeof(*run->commands));
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        rc = make_command(run, run_part_options(run, i), &run->commands[i], err);
    return rc;
}

/* Appends the program with the name that the step daemon would use. */
static void put_program(const struct run_command *command, struct str *out)
{
    str_put_quoted(out, command->argv[0]);
    if (command->per_node)
        str_puts(out, "\"_$SLURMD_NODENAME\"");
}

static void put_command_part(const struct run *run, uint32_t part, uint32_t other,
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

static const char *export_or_all(const struct run_options *o)
{
    return o->export_spec ? o->export_spec : "ALL";
}

/* Checks options that a node daemon gets only once per step. */
static int check_options(const struct run *run, uint32_t part, uint32_t other, struct err *err)
{
    const struct run_options *first = run->options->parts[part], *o = run->options->parts[other];
    const struct {
        const char *name, *of_first, *of_other;
    } same[] = {
        {"export", export_or_all(first), export_or_all(o)},
        {"propagate", first->propagate, o->propagate},
        {"task-prolog", first->task_prolog, o->task_prolog},
        {"task-epilog", first->task_epilog, o->task_epilog},
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

static int join_part(struct run *run, uint32_t part, struct run_command *out, struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;
    const char *word = "if";
    uint32_t begin = 0;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < run->step->n_parts; i++) {
        uint32_t end = begin + run->step->parts[i]->num_tasks;

        if (shared_starts(run, part, i)) {
            rc = check_options(run, part, i, err);
            str_printf(&script,
                       "%s [ \"$SLURM_PROCID\" -ge %u ] && [ \"$SLURM_PROCID\" -lt %u ]; then\n",
                       word, begin, end);
            put_command_part(run, part, i, &run->commands[i], &script);
            word = "elif";
        }
        begin = end;
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
    size_t count = multi_argv(&script, &run->arena, head);
    *out = (struct run_command){.argv = arena_alloc(&run->arena, (count + 1) * sizeof(char *)),
                                .argc = (int)count};
    memcpy(out->argv, head, count * sizeof(char *));
    return 0;
}

int command_join(struct run *run, struct err *err)
{
    uint32_t count = run_count_parts(run);
    struct run_command *joined = arena_alloc(&run->arena, count * sizeof(*joined));
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < count; i++)
        if (count > 1 && !run->options->multi_prog && shared_has_others(run, i))
            rc = join_part(run, i, &joined[i], err);
        else
            joined[i] = run->commands[i];
    if (rc == 0)
        run->commands = joined;
    return rc;
}
