/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The components of a job set on a command line: "sbatch -n1 : -n4 job.sh". An ordinary command
 * line has one component. The order of calls is that of opt.h, for all components at once:
 *
 *   opt_components_init, opt_components_scan,
 *   [opt_components_apply_defaults,] [opt_components_apply_script,]
 *   opt_components_apply_env, opt_components_apply_argv, opt_components_finish
 *
 * A stand-alone ":" separates components on the command line: before the first operand, and in
 * srun, whose components may each have a program, also after it. A script can separate components
 * by a line (job_set_text_separates()). The longer of the two lists determines the number of
 * components.
 *
 * A component inherits the PROPAGATED options (opt.def) of the preceding component; the options of
 * the script and of the command line are inherited separately. The value of an option in a
 * component is the first of: its own on the command line, one inherited on the command line, the
 * environment's, its own in the script, one inherited in the script.
 */
#pragma once

#include "cli/opt.h"
#include "cluster/job/job_set.h"

struct opt_component {
    struct opt opt;
    int argc;    /* words of the component; argv[0] is the program's name */
    char **argv; /* the array is owned, the words are borrowed; NULL-terminated */
    int command_argc;
    /* Operands of the component, or those of the next component that has some; in argv. */
    char **command_argv;
    /* Srun: the components of the allocation, ascending; see opt_components_finish(). */
    uint32_t groups[JOB_SET_MAX];
    size_t group_count;
};

/* Sets the initial values of options, as source OPT_FROM_DEFAULTS, before any other source. */
struct opt_defaults {
    int (*apply)(void *ctx, struct opt *o, struct err *err);
    void *ctx;
};

struct opt_components {
    struct opt_component *list[JOB_SET_MAX]; /* the pointers stay valid */
    size_t count;                            /* at least 1 */
    size_t failed;                           /* index of the component in the last failed call */
    const struct opt_defaults *defaults;     /* borrowed; NULL: none */
};

/* Creates the first component. */
void opt_components_init(struct opt_components *cs, enum opt_command command);
void opt_components_done(struct opt_components *cs);

/* The first component. Plugins add their options to it before the scan; a later component rejects
 * these options, since they apply to the whole job. Options of the command itself, such as --quiet
 * and --test-only, are also kept here. */
static inline struct opt *opt_components_leader(struct opt_components *cs)
{
    return &cs->list[0]->opt;
}

/* Splits the command line and checks its syntax. Empty components and more than JOB_SET_MAX
 * components are rejected. After --help, --usage or --version, which are set in the leader, nothing
 * else is checked. */
int opt_components_scan(struct opt_components *cs, int argc, char *const argv[], struct err *err);

/* Applies defaults to all components, including those that the script adds later; call before all
 * other sources. NULL: none. */
int opt_components_apply_defaults(struct opt_components *cs, const struct opt_defaults *defaults,
                                  struct err *err);
/* opt_restart() for each component; components that the script added stay. */
void opt_components_restart(struct opt_components *cs);

struct opt_script {
    const char *name; /* for messages */
    const void *data;
    size_t len;
    bool ignore_pbs; /* also set if the script itself says so */
};
/* Applies the "#SBATCH" lines up to the first command. "#PBS" lines apply to the leader. */
int opt_components_apply_script(struct opt_components *cs, const struct opt_script *script,
                                struct err *err);
int opt_components_apply_env(struct opt_components *cs, char *const envp[], struct err *err);
int opt_components_apply_argv(struct opt_components *cs, struct err *err);

/* opt_finish() for each component, and checks across components. srun: 'groups' are those that an
 * option names, otherwise the component's own offset; no group may be named twice. */
int opt_components_finish(struct opt_components *cs, struct err *err);
/* After opt_components_finish(): each component may name only the cluster 'own', since a job is in
 * one cluster. */
int opt_components_check_clusters(struct opt_components *cs, const char *own, struct err *err);
/* srun, after opt_components_finish(): whether a component names groups. -ERR_PARSE: it does, and
 * there is no job. */
int opt_components_check_groups(const struct opt_components *cs, bool has_job, struct err *err);

/* Like the functions of these names in opt.h; they name the component if there are several.
 * 'defined': only with --verbose. */
int opt_components_print_failure(const struct opt_components *cs, const struct err *err);
void opt_components_format_notes(const struct opt_components *cs, struct str *out);
void opt_components_format_defined(const struct opt_components *cs, struct str *out);
