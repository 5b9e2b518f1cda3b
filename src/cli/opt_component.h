/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The components of a job set on a command line: "sbatch -n1 : -n4 job.sh". An ordinary
 * command line has one component. The order of calls is that of opt.h, for all components at once:
 *
 *   opt_components_init, opt_components_scan,
 *   [opt_components_apply_defaults,] [opt_components_apply_script,]
 *   opt_components_apply_env, opt_components_apply_argv, opt_components_finish
 *
 * A stand-alone ":" separates components on the command line: before the first operand, and with
 * srun, whose components may each have a program, behind it as well. A line of a script
 * does so, too (job_set_text_separates()). The longer of the two lists determines the number of
 * components.
 *
 * A component inherits the PROPAGATED options (opt.def) of the component before it, those of the
 * script and those of the command line separately. The value of an option in a component is the
 * first of: its own on the command line, one inherited on the command line, the environment's, its
 * own in the script, one inherited in the script.
 */
#pragma once

#include "cli/opt.h"
#include "cluster/job/job_set.h"

struct opt_component {
    struct opt opt;
    int argc;    /* its words; argv[0] is the program's name */
    char **argv; /* the array is owned, the words are borrowed; NULL behind the last one */
    int command_argc;
    char **command_argv; /* its operands, or those of the next component that has any; in argv */
    uint32_t groups[JOB_SET_MAX]; /* srun: the components of the allocation, rising; see finish */
    size_t group_count;
};

/* What options are before any source is applied; sets them with OPT_FROM_DEFAULTS. */
struct opt_defaults {
    int (*apply)(void *ctx, struct opt *o, struct err *err);
    void *ctx;
};

struct opt_components {
    struct opt_component *list[JOB_SET_MAX]; /* none moves */
    size_t count;                            /* at least 1 */
    size_t failed;                           /* of the last call that failed: which of them */
    const struct opt_defaults *defaults;     /* borrowed; NULL: none */
};

void opt_components_init(struct opt_components *cs, enum opt_command command); /* with one */
void opt_components_done(struct opt_components *cs);

/* The first component. Plugins add their options to it, before the scan; a later component refuses
 * them, since they are of the whole job. What a command itself does, as --quiet and --test-only,
 * is also said there. */
static inline struct opt *opt_components_leader(struct opt_components *cs)
{
    return &cs->list[0]->opt;
}

/* Splits the command line and checks its syntax. An empty component is refused, and so are more
 * than JOB_SET_MAX. After --help, --usage and --version, which the leader has then, nothing is
 * checked. */
int opt_components_scan(struct opt_components *cs, int argc, char *const argv[], struct err *err);

/* To all components, and to those that the script begins; before all sources. NULL: none. */
int opt_components_apply_defaults(struct opt_components *cs, const struct opt_defaults *defaults,
                                  struct err *err);
/* opt_restart() of each; the components of the script stay. */
void opt_components_restart(struct opt_components *cs);

struct opt_script {
    const char *name; /* for messages */
    const void *data;
    size_t len;
    bool ignore_pbs; /* also when the script itself says so */
};
/* The "#SBATCH" lines up to the first command. "#PBS" lines are the leader's. */
int opt_components_apply_script(struct opt_components *cs, const struct opt_script *script,
                                struct err *err);
int opt_components_apply_env(struct opt_components *cs, char *const envp[], struct err *err);
int opt_components_apply_argv(struct opt_components *cs, struct err *err);

/* opt_finish() of each, and what they say together. srun: 'groups' are those that an option names,
 * and otherwise the component's own offset; no group is named twice. */
int opt_components_finish(struct opt_components *cs, struct err *err);
/* srun, behind that: whether a component names groups. -ERR_PARSE: it does, and there is no job. */
int opt_components_check_groups(const struct opt_components *cs, bool has_job, struct err *err);

/* As their namesakes in opt.h; they name the component when there are several. */
int opt_components_print_failure(const struct opt_components *cs, const struct err *err);
void opt_components_print_notes(const struct opt_components *cs);
void opt_components_print_defined(const struct opt_components *cs);
