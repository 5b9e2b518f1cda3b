/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sbatch: submits a batch script.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cli/bind.h"
#include "cli/cmd.h"
#include "cmd/sbatch/request.h"
#include "cmd/sbatch/script.h"
#include "cmd/sbatch/submit.h"

extern char **environ;

static void read_script(struct setup *s, int operands)
{
    struct opt *o = s->opt;
    const char *name = operands ? s->argv[0] : NULL;
    struct err err = {0};
    int r = 0;
    if (o->wrap && name) {
        cmd_error("Script arguments not permitted with --wrap option");
        exit(cmd_exit_error());
    }
    if (o->wrap)
        script_wrap(o->wrap, &s->script);
    else
        r = script_read(name, s->script_dir, &s->script, &s->path, &err);
    if (r == 0)
        r = script_check(&s->script, &err);
    if (r < 0) {
        for (char *line = err.text, *rest; line; line = rest) {
            rest = strchr(line, '\n');
            if (rest)
                *rest++ = 0;
            cmd_error("%s", line);
        }
        exit(cmd_exit_error());
    }
}

static void print_help_of_values(const struct opt_components *options)
{
    const struct conf *conf = cmd_conf_if_any();
    for (size_t i = 0; i < options->count; i++)
        if (bind_help_print(&options->list[i]->opt, conf ? conf->gres_types : NULL))
            exit(0);
}

/* Reads the options that select the script; they are parsed again later, with their proper
 * precedence. Exits on invalid options, and on options such as --help. */
static void read_options_of_script(struct setup *s, int argc, char **argv, bool *ignore_pbs)
{
    struct opt_components first;
    struct opt_extras quiet_extras = {0};
    struct err err = {0};
    opt_components_init(&first, OPT_SBATCH);
    if (s->opt->extras) { /* plugin options: only their syntax is checked */
        quiet_extras =
            (struct opt_extras){.list = s->opt->extras->list, .count = s->opt->extras->count};
        opt_offer(opt_components_leader(&first), &quiet_extras);
    }
    if (opt_components_scan(&first, argc, argv, &err) < 0 ||
        filter_ask_early(s->filter, &first, &err) < 0 ||
        opt_components_apply_env(&first, environ, &err) < 0 ||
        opt_components_apply_argv(&first, &err) < 0)
        exit(opt_components_print_failure(&first, &err));
    print_help_of_values(&first);
    s->opt->wrap = take_ptr(opt_components_leader(&first)->wrap);
    s->script_dir = take_ptr(opt_components_leader(&first)->chdir);
    *ignore_pbs = opt_components_leader(&first)->ignore_pbs;
    opt_components_done(&first);
}

/* Reads the options of all sources. Exits on invalid options, and on options such as --help. */
static void read_options(struct setup *s, int argc, char **argv)
{
    struct opt_components *options = &s->options;
    _cleanup_str_ struct str told = STR_INIT;
    struct err err = {0};
    bool ignore_pbs;
    opt_components_init(options, OPT_SBATCH);
    s->opt = opt_components_leader(options);
    s->plugins = plugins_begin(cmd_conf_if_any(), s->opt);
    s->filter = filter_begin(cmd_conf_if_any(), s->opt);
    if (opt_components_scan(options, argc, argv, &err) < 0)
        exit(opt_components_print_failure(options, &err));
    if (opt_print_info(s->opt))
        exit(0);
    s->argc = options->list[0]->command_argc;
    s->argv = options->list[0]->command_argv;
    read_options_of_script(s, argc, argv, &ignore_pbs);
    read_script(s, s->argc);
    const struct opt_script script = {.name = s->path ? s->path : "standard input",
                                      .data = s->script.data,
                                      .len = s->script.len,
                                      .ignore_pbs = ignore_pbs};
    if (filter_read(s->filter, options, s->opt->wrap ? NULL : &script, environ, &err) < 0)
        exit(opt_components_print_failure(options, &err));
    cmd_set_level(s->opt->quiet, s->opt->verbose);
    opt_components_format_notes(options, &told);
    opt_components_format_defined(options, &told);
    path_write_all(STDERR_FILENO, told.data, told.len);
    int r = origin_take_mask(&err);
    if (r == 0)
        r = opt_components_check_clusters(options, cmd_conf()->cluster_name, &err);
    if (r < 0) {
        cmd_error("%s", err.text);
        exit(cmd_exit_error());
    }
}

int main(int argc, char **argv)
{
    /* Static: texts of the environment and the script are used until the end. */
    static struct setup s;
    cmd_start("sbatch");
    arena_init(&s.arena, 0);
    read_options(&s, argc, argv);
    request_make_spec(&s, argc, argv);
    request_consult_plugins(&s);
    request_make_payload(&s);
    int status = submit_script(&s);
    plugins_end(s.plugins);
    filter_end(s.filter);
    return status;
}
