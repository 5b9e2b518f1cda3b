/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The srun of a step that a task of another step has requested (MPI_Comm_spawn). The srun of that
 * step starts it with its own options; it makes a further step of the same job from its order
 * (spawns.h). Over its link it reports when all tasks have initialised MPI, or why they will not.
 * Its tasks' name requests go over the link, and it ends when the link closes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "proto/spawn.pb-c.h"
#include "proto/step.pb-c.h"
#include "rpc/rpc.h"

#define SPAWNED_VARIABLE "SLUICE_SPAWNED" /* set if these two descriptors are open */
#define SPAWNED_LINK_FD 3
#define SPAWNED_ORDER_FD 4

struct run;
struct run_options;
struct spawned;

/* Reads the order into the arena and hides it from programs that are started from here. Returns
 * NULL with code 0 if this srun is not for a spawned step, or NULL with an error. */
const Pb__SpawnOrder *spawned_read(struct arena *arena, struct err *err);

/* Applies the order instead of the options. Returns -ERR_PARSE if it requests something
 * unsupported. */
int spawned_fill_step(const Pb__SpawnOrder *order, struct arena *arena, Pb__StepSpec *spec,
                      struct err *err);
int spawned_fill_run(const Pb__SpawnOrder *order, struct arena *arena, struct run_options *o,
                     struct err *err);
/* The origin, for the launch request. */
Pb__SpawnOrigin *spawned_origin(const Pb__SpawnOrder *order, struct arena *arena);

/* NULL for a run that is not a spawned step; the other functions accept NULL and do nothing. */
struct spawned *spawned_open(struct run *run);
void spawned_free(struct spawned *s);
void spawned_on_begun(struct spawned *s, uint32_t node);        /* all tasks on the node use PMI */
bool spawned_has_begun(const struct spawned *s, uint32_t node); /* NULL: true */
/* The step must end, for the reason reported last: the requesting task would wait for ever. */
void spawned_broken(struct spawned *s, int exit_code);
void spawned_finish(struct spawned *s); /* the run is over: sends the reply if there was none */
/* To the srun of the requesting task; false: it is gone. */
bool spawned_send(struct spawned *s, enum rpc_number rpc, const ProtobufCMessage *m);
/* To the name service of the requesting srun; run_name_reply() gets the reply. False: this run has
 * its own. */
bool spawned_name(struct spawned *s, uint32_t node, const Pb__NameRequest *m);
