/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The srun of a step that a task of another one has asked for (MPI_Comm_spawn): started by that
 * one's srun with its own options, it makes a further step of the same job, of what is in its order
 * (spawns.h). It says over its link when all tasks have begun MPI, or why they will not; names that
 * its tasks publish and look up go there; and it ends when the link does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "proto/spawn.pb-c.h"
#include "proto/step.pb-c.h"
#include "rpc/rpc.h"

#define SPAWNED_VARIABLE "SLUICE_SPAWNED" /* set: these two descriptors are there */
#define SPAWNED_LINK_FD 3
#define SPAWNED_ORDER_FD 4

struct run;
struct run_options;
struct spawned;

/* The order, in the arena, and nothing of it is seen by programs that are started from here. NULL:
 * a person has started this srun, code 0; or it cannot be read. */
const Pb__SpawnOrder *spawned_read(struct arena *arena, struct err *err);

/* What the order says, in the place of what the options say. -ERR_PARSE: it asks for what cannot
 * be had. */
int spawned_fill_step(const Pb__SpawnOrder *order, struct arena *arena, Pb__StepSpec *spec,
                      struct err *err);
int spawned_fill_run(const Pb__SpawnOrder *order, struct arena *arena, struct run_options *o,
                     struct err *err);
/* In the launch. */
Pb__SpawnOrigin *spawned_origin(const Pb__SpawnOrder *order, struct arena *arena);

/* NULL for a run that nobody has asked for; the others take NULL and do nothing. */
struct spawned *spawned_open(struct run *run);
void spawned_free(struct spawned *s);
void spawned_on_begun(struct spawned *s, uint32_t node);        /* all tasks there speak PMI */
bool spawned_has_begun(const struct spawned *s, uint32_t node); /* NULL: true */
/* The step is to end, for what was said last: who has asked for it would wait for ever. */
void spawned_broken(struct spawned *s, int exit_code);
void spawned_finish(struct spawned *s); /* the run is over: the answer, if there was none */
/* To the srun of who has asked; false: there is none. */
bool spawned_send(struct spawned *s, enum rpc_number rpc, const ProtobufCMessage *m);
/* To the name service of who has asked; answered by run_name_reply(). False: this run has its own.
 */
bool spawned_name(struct spawned *s, uint32_t node, const Pb__NameRequest *m);
