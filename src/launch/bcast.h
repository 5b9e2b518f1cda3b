/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Broadcasts for sbcast and srun --bcast: the settings from the configuration and the options, and
 * a program with its libraries. The libraries are sent before the program, so that an existing
 * program can be run. Each file has its own credential.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cast/send.h"
#include "conf/conf.h"

struct bcast_settings {
    char *dest_dir; /* DestDir of BcastParameters; NULL: none */
    char *exclude;  /* directories whose libraries are not copied; NULL: none */
    bool pack, send_libs, force, preserve;
    uint32_t width, block;
    int64_t timeout_ms;
};

/* Reads the settings of slurm.conf. Unknown ones are reported once and skipped. */
void bcast_settings_init(struct bcast_settings *b, const struct conf *conf);
void bcast_settings_done(struct bcast_settings *b);

/* Options, with Slurm's messages: an unknown value is reported and has no effect. */
void bcast_set_compress(struct bcast_settings *b, const char *value); /* NULL: default method */
void bcast_set_libs(struct bcast_settings *b, const char *value);     /* NULL: yes */
void bcast_set_exclude(struct bcast_settings *b, const char *value);  /* "NONE" */
void bcast_set_width(struct bcast_settings *b, const char *value);
void bcast_set_block(struct bcast_settings *b, const char *value); /* "64k" */
void bcast_set_timeout(struct bcast_settings *b, const char *value);

/* Whether the library in this file is not copied. */
bool bcast_is_excluded(const char *list, const char *path);

struct bcast_request {
    struct loop *loop;
    const struct conf *conf;
    const struct bcast_settings *settings;
    const Pb__StepId *id;      /* a job or a step of it; NULL: no job, copies to 'nodes' */
    bool or_component;         /* the id is a set leader's, and the step is of any component */
    const char *source, *dest; /* dest: absolute */
    const char *nodes;         /* only these nodes of the job; NULL: all */
    bool per_node;             /* appends "_" and the node's name to dest */
    /* status 0: all nodes have the file. Otherwise the exit status; errors were reported. May free
     * the bcast. */
    void (*done)(void *ctx, int status);
    void *ctx;
};

struct bcast;
#define BCAST_LIBS "_libs" /* suffix of dest for the directory of the libraries */

/* Returns NULL after a message if the source cannot be read. The request's data is borrowed until
 * done(). */
struct bcast *bcast_start(const struct bcast_request *r);
void bcast_free(struct bcast *b); /* before the end: cancels the copy on all nodes */

bool bcast_has_libs(const struct bcast *b); /* libraries are sent in addition to the program */
