/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Broadcasts, as sbcast and srun --bcast make them: what the configuration and the options say, and
 * a program with its libraries. The libraries go before the program, so that a program that is
 * there can be run. Each file has a credential of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cast/send.h"
#include "conf/conf.h"

struct bcast_settings {
    char *dest_dir; /* BcastParameters DestDir; NULL: none */
    char *exclude;  /* directories whose libraries stay; NULL: none */
    bool pack, send_libs, force, preserve;
    uint32_t width, block;
    int64_t timeout_ms;
};

/* As slurm.conf says. What is not known there is told, once, and left out. */
void bcast_settings_init(struct bcast_settings *b, const struct conf *conf);
void bcast_settings_done(struct bcast_settings *b);

/* Options, in words as Slurm's: a value that is not known is told and has no effect. */
void bcast_set_compress(struct bcast_settings *b, const char *value); /* NULL: the default one */
void bcast_set_libs(struct bcast_settings *b, const char *value);     /* NULL: yes */
void bcast_set_exclude(struct bcast_settings *b, const char *value);  /* "NONE" */
void bcast_set_width(struct bcast_settings *b, const char *value);
void bcast_set_block(struct bcast_settings *b, const char *value); /* "64k" */
void bcast_set_timeout(struct bcast_settings *b, const char *value);

/* Whether the library in this file stays where it is. */
bool bcast_is_excluded(const char *list, const char *path);

struct bcast_request {
    struct loop *loop;
    const struct conf *conf;
    const struct bcast_settings *settings;
    const Pb__StepId *id;      /* the job, or a step of it; NULL: none, to 'nodes' all the same */
    bool or_component;         /* of the leader of a job set the step is a component */
    const char *source, *dest; /* dest: absolute */
    const char *nodes;         /* to these of the job's nodes only; NULL: all */
    bool per_node;             /* "_" and the node's name behind dest */
    /* 0: all nodes have it. Else the status to exit with; all has been told. May free it. */
    void (*done)(void *ctx, int status);
    void *ctx;
};

struct bcast;
#define BCAST_LIBS "_libs" /* is added to dest for the directory of the libraries */

/* NULL after a message: the source cannot be read. What is given is borrowed until done(). */
struct bcast *bcast_start(const struct bcast_request *r);
void bcast_free(struct bcast *b); /* before its end: nobody gets what is under way */

bool bcast_has_libs(const struct bcast *b); /* there are some beside the program */
