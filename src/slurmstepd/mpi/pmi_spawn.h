/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses a task's request to spawn processes, from PMI-1 or PMI-2: words of a name and a value, in
 * the order in which the libraries send them. Pure. Input is not trusted: the first error is
 * recorded, the rest is skipped, and the task gets an answer.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "proto/spawn.pb-c.h"

#define PMI_SPAWN_BYTES_MAX (1u << 20) /* bytes of all words, with overhead */
#define PMI_SPAWN_COMMANDS_MAX 1024    /* commands per request */
#define PMI_SPAWN_TASKS_MAX (1u << 20) /* tasks of all commands of a request */

struct pmi_spawn;

struct pmi_spawn *pmi_spawn_new(void);
void pmi_spawn_free(struct pmi_spawn *s);

/* Handles one word; "mcmd" and "subcmd" begin a command. Unknown names are ignored. A NULL value
 * is an error. */
void pmi_spawn_word(struct pmi_spawn *s, const char *name, const char *value);
/* PMI-1 sends one block per command: whether the last block has been received. */
bool pmi_spawn_is_whole(const struct pmi_spawn *s);

/* Returns the request without its id and task; the object owns it. -ERR_PARSE: malformed;
 * -ERR_LIMIT: too large. */
int pmi_spawn_finish(struct pmi_spawn *s, Pb__Spawn **out, struct err *err);
