/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/part/part.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/job/job_set_text.h"
#include "cmd/srun/option/component_env.h"
#include "cmd/srun/option/say.h"
#include "conf/conf_sets.h"

extern char **environ;

void part_read_components(const struct setup *s, char **environment, struct opt_components *out)
{
    struct err err = {0};

    if (opt_components_scan(out, s->argc, s->argv, &err) < 0)
        exit(opt_components_print_failure(out, &err));
    if (opt_print_info(opt_components_leader(out)))
        exit(0);
    if (filter_read(s->filter, out, NULL, environment, &err) < 0)
        exit(opt_components_print_failure(out, &err));
}

/* The component of the command line for a part in that component of the job. In a job set, options
 * are read from the variables of the part's own component. */
static struct opt_component *find_component(struct setup *s, size_t i, uint32_t group)
{
    const struct opt_extras *extras = s->opt->extras;
    struct opt_components *all = s->of_group[group];

    if (!component_env_is_given(environ))
        return s->options.list[i];
    if (all == NULL) {
        all = s->of_group[group] = mem_new(struct opt_components);
        opt_components_init(all, OPT_SRUN);
        if (extras != NULL) { /* plugin options were set */
            s->known_extras = (struct opt_extras){.list = extras->list, .count = extras->count};
            opt_offer(opt_components_leader(all), &s->known_extras);
        }
        part_read_components(s, component_env_choose(&s->arena, environ, group), all);
    }
    return all->list[i];
}

static void add_part(struct setup *s, size_t i, uint32_t group)
{
    struct part *p = arena_alloc(&s->arena, sizeof(*p));
    struct opt_component *from = find_component(s, i, group);

    p->setup = s;
    p->number = s->part_count;
    p->component = i;
    p->group = group;
    p->opt = &from->opt;
    p->argc = from->command_argc;
    p->argv = from->command_argv;
    s->parts[s->part_count++] = p;
}

void part_make_all(struct setup *s)
{
    const struct opt_components *all = &s->options;

    s->parts = arena_alloc(&s->arena, JOB_SET_MAX * sizeof(*s->parts));
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < (all->list[i]->opt.component_list ? all->list[i]->group_count : 1);
             k++)
            add_part(s, i, all->list[i]->groups[k]);
}

/* The file of --multi-prog has the programs of all ranks. */
static void check_multi_prog(const struct setup *s)
{
    struct err err = {0};

    for (size_t i = 0; i < s->part_count; i++)
        if (s->parts[i]->opt->multi_prog != s->opt->multi_prog)
            say_exit_with_error(
                "--multi-prog is for all parts of a step, whose ranks are in its file, or for "
                "none");
    if (s->opt->multi_prog && conf_sets_refuse(s->conf, CONF_SETS_multi_prog, -ERR_NOT_SUPPORTED,
                                               JOB_SET_TEXT_MULTI_PROG, &err) < 0)
        say_exit_with_error(err.text);
}

void part_check_all(const struct setup *s)
{
    const struct opt *o = s->opt;

    if (s->part_count == 1)
        return;
    if (o->batch)
        say_exit_with_error(JOB_SET_TEXT_BATCH);
    check_multi_prog(s);
    for (size_t i = 0; i < s->part_count; i++) {
        if (s->parts[i]->opt->from[OPT_ID_mpi] == OPT_FROM_ARGV &&
            !str_eq(s->parts[i]->opt->mpi, s->opt->mpi))
            say_exit_with_error("--mpi is of the whole step: give it in the first component");
        if (s->parts[i]->opt->pty && !o->pty)
            say_exit_with_error(
                "--pty gives the terminal to task 0, which is in component 0: use it there");
    }
}

/* A pseudo terminal has no end of input except a key, which a program may read before it interprets
 * keys: tasks would wait for more input when a pipe or a file has ended. */
void part_disregard_pty(struct setup *s)
{
    if (!s->opt->pty || isatty(STDIN_FILENO))
        return;
    say_info("warning: --pty has no effect: standard input is no terminal");
    for (size_t i = 0; i < s->part_count; i++)
        s->parts[i]->opt->pty = false;
}

/* Sets the component of each part if the command line names a component for any part. Otherwise the
 * controller decides: in a job set, parts go to consecutive components; in another job, all parts
 * are in that job, on different nodes. */
void part_name_groups(struct setup *s)
{
    const struct opt_components *all = &s->options;
    struct err err = {0};
    int named = opt_components_check_groups(all, s->parts[0]->step.has_job_id, &err);

    if (named < 0)
        say_exit_with_bad_value(err.text);
    for (size_t i = 0, at = 0; named && i < all->count; i++)
        for (size_t k = 0; k < all->list[i]->group_count; k++, at++) {
            s->parts[at]->step.has_set_offset = true;
            s->parts[at]->step.set_offset = all->list[i]->groups[k];
        }
}

char **part_choose_environment(const struct part *p)
{
    return component_env_is_given(environ)
               ? component_env_choose(&p->setup->arena, environ, p->group)
               : environ;
}

struct Pb__JobSpec **part_list_jobs(struct setup *s)
{
    struct Pb__JobSpec **jobs = arena_alloc(&s->arena, (s->part_count + 1) * sizeof(*jobs));

    for (size_t i = 0; i < s->part_count; i++)
        jobs[i] = &s->parts[i]->job;
    return jobs;
}

void part_join_all(struct setup *s)
{
    struct run_options *first = &s->parts[0]->run;
    struct Pb__StepSpec *whole, **steps;
    const struct run_options **runs;

    if (s->part_count == 1)
        return;
    whole = arena_alloc(&s->arena, sizeof(*whole));
    steps = arena_alloc(&s->arena, s->part_count * sizeof(*steps));
    runs = arena_alloc(&s->arena, s->part_count * sizeof(*runs));
    for (size_t i = 0; i < s->part_count; i++) {
        steps[i] = &s->parts[i]->step;
        runs[i] = &s->parts[i]->run;
    }
    /* Other sruns of the job may write to the same files too. */
    for (size_t i = 0; i < s->part_count; i++)
        if (!opt_given(s->parts[i]->opt, OPT_ID_open_mode))
            s->parts[i]->run.append = true;
    *whole = s->parts[0]->step;
    whole->has_set_offset = false;
    whole->parts = steps;
    whole->n_parts = s->part_count;
    first->step = whole;
    first->parts = runs;
    first->components = part_list_jobs(s) + 1;
    first->component_count = s->part_count - 1;
}

void part_free_all(struct setup *s)
{
    for (size_t i = 0; i < s->part_count; i++)
        bcast_settings_done(&s->parts[i]->bcast);
    for (size_t i = 0; i < JOB_SET_MAX; i++)
        if (s->of_group[i] != NULL) {
            opt_components_done(s->of_group[i]);
            free(s->of_group[i]);
        }
}
