/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of a step: a component of the command line has one part in each component of the job
 * that it names. An ordinary step has one part. part.c makes and joins the parts, spec.c fills
 * their requests, and run.c sets how the tasks of each run. An error ends srun after a message.
 */
#pragma once

#include "base/arena.h"
#include "cli/opt_component.h"
#include "cmd/srun/run/run.h"
#include "conf/conf.h"
#include "launch/bcast.h"
#include "launch/filter.h"
#include "launch/plugins.h"

/* The request of one component of the command line in one component of the job. */
struct part {
    struct setup *setup;
    size_t number;    /* index of the part */
    size_t component; /* index of the component in the command line */
    struct opt *opt;
    uint32_t group; /* the component of the job that the command line names */
    int argc;       /* the command */
    char **argv;
    struct Pb__JobSpec job;
    struct Pb__StepSpec step;
    struct run_options run;
    struct bcast_settings bcast;
};

/* The command line of srun, the data for reading it, and the parts of the requested step. */
struct setup {
    struct opt_components options;
    struct opt *opt; /* options of the first component */
    struct arena arena;
    struct conf *conf;
    struct err unread;       /* why the configuration cannot be read */
    struct plugins *plugins; /* plugins of the site; NULL: none */
    struct filter *filter;   /* filters of the site; NULL: none */
    struct opt_extras known_extras;
    /* By component of the job: the command line as read for a part there; NULL: not read yet. */
    struct opt_components *of_group[JOB_SET_MAX];
    int argc;
    char **argv;
    struct part **parts; /* in the arena */
    size_t part_count;
    const Pb__SpawnOrder *order; /* NULL: srun was not started for a spawned step */
    char **self_argv;            /* the original command line */
};

/* Reads the options of the command line in this environment. */
void part_read_components(const struct setup *s, char **environment, struct opt_components *out);

/* Makes the parts. A component of the command line that names several components of the job gets a
 * part in each of them. */
void part_make_all(struct setup *s);
/* Rejects options that a step of several parts does not support. */
void part_check_all(const struct setup *s);
/* Warns that --pty has no effect when standard input is no terminal. */
void part_disregard_pty(struct setup *s);

/* Fills the requests of all parts for a job and for a step. argv is the command line of srun. */
void part_make_specs(struct setup *s, int argc, char **argv);
/* Sets the component of the job for each part, by the command line. The requests must be filled. */
void part_name_groups(struct setup *s);
/* The requests for the jobs of all parts, in the arena. */
struct Pb__JobSpec **part_list_jobs(struct setup *s);

/* The environment with the variables of the part's component, in a job set. */
char **part_choose_environment(const struct part *p);
/* Fills the part's options of the run. */
void part_make_run(struct part *p);
/* Joins the requests into one, in the first part, after the options of all parts are filled. */
void part_join_all(struct setup *s);

void part_free_all(struct setup *s); /* frees the data outside the arena */
