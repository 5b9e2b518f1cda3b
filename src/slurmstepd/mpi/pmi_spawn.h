/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a task says when it asks for more processes, as PMI-1 and PMI-2 have it: words of a name and
 * a value, in the order in which the libraries send them. Pure. All of it is hostile input: the
 * first thing that is wrong is kept, the rest is swallowed, and the task gets an answer.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "proto/spawn.pb-c.h"

#define PMI_SPAWN_BYTES_MAX (1u << 20) /* of all words, with what it costs to keep them */
#define PMI_SPAWN_COMMANDS_MAX 1024    /* of one request */
#define PMI_SPAWN_TASKS_MAX (1u << 20) /* of all its commands together */

struct pmi_spawn;

struct pmi_spawn *pmi_spawn_new(void);
void pmi_spawn_free(struct pmi_spawn *s);

/* One word; "mcmd" and "subcmd" begin a command. Names that mean nothing here are passed over; a
 * value of NULL is not a word, and wrong. */
void pmi_spawn_word(struct pmi_spawn *s, const char *name, const char *value);
/* PMI-1 sends a block for each command: whether the last one has been here. */
bool pmi_spawn_is_whole(const struct pmi_spawn *s);

/* The request without its id and task, the object's. -ERR_PARSE: it is none; -ERR_LIMIT: it asks
 * for too much. */
int pmi_spawn_finish(struct pmi_spawn *s, Pb__Spawn **out, struct err *err);
