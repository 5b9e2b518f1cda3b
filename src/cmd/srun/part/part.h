/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of a step: a component of the command line has one in each component of the job that it
 * names. An ordinary step has one part. part.c makes and joins the parts, spec.c fills their
 * requests, and run.c says how the tasks of each run. An error ends srun, after a message.
 */
#pragma once

#include "base/arena.h"
#include "cli/opt_component.h"
#include "cmd/srun/run/run.h"
#include "conf/conf.h"
#include "launch/bcast.h"
#include "launch/filter.h"
#include "launch/plugins.h"

/* What is asked for one component of the command line, in one component of the job. */
struct part {
    struct setup *setup;
    size_t number;    /* of the part */
    size_t component; /* of the command line */
    struct opt *opt;
    uint32_t group; /* the component of the job that the command line means */
    int argc;       /* the command */
    char **argv;
    struct Pb__JobSpec job;
    struct Pb__StepSpec step;
    struct run_options run;
    struct bcast_settings bcast;
};

/* The command line of srun, what it is read with, and the parts of the step that it asks for. */
struct setup {
    struct opt_components options;
    struct opt *opt; /* of the first component */
    struct arena arena;
    struct conf *conf;
    struct err unread;       /* why there is none */
    struct plugins *plugins; /* of the site; NULL: none */
    struct filter *filter;   /* the same */
    struct opt_extras known_extras;
    /* The command line, as read for a part in this component of the job; NULL: not read yet. */
    struct opt_components *of_group[JOB_SET_MAX];
    int argc;
    char **argv;
    struct part **parts; /* in the arena */
    size_t part_count;
    const Pb__SpawnOrder *order; /* NULL: a person has started us */
    char **self_argv;            /* as it was started */
};

/* The options of the command line, in this environment. */
void part_read_components(const struct setup *s, char **environment, struct opt_components *out);

/* Makes the parts. A component of the command line that names several components of the job has a
 * part in each of these. */
void part_make_all(struct setup *s);
/* Refuses options that a step of several parts cannot have. */
void part_check_all(const struct setup *s);
/* Warns that --pty has no effect when standard input is no terminal. */
void part_disregard_pty(struct setup *s);

/* Fills the requests of all parts for a job and for a step. argv is the command line of srun. */
void part_make_specs(struct setup *s, int argc, char **argv);
/* Names the component of the job for each part, as the command line says. The requests are filled.
 */
void part_name_groups(struct setup *s);
/* The requests for the jobs of all parts, in the arena. */
struct Pb__JobSpec **part_list_jobs(struct setup *s);

/* The variables of the part's component, in a job set. */
char **part_choose_environment(const struct part *p);
/* Fills the part's options of the run. */
void part_make_run(struct part *p);
/* Makes one request for the step, in the first part, when the options of all parts are filled. */
void part_join_all(struct setup *s);

void part_free_all(struct setup *s); /* what is not in the arena */
