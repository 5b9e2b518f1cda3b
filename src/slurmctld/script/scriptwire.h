/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What slurmctld and its helpers say to each other over a socket pair: four bytes of length, then a
 * packed message. Both ends give up a line that breaks the bounds.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "proto/script.pb-c.h"

#define SCRIPTWIRE_MAX (64u << 20) /* of one message, which may have the script of a job */
#define SCRIPTWIRE_READ 65536      /* at a time */

void scriptwire_put(struct str *out, const Pb__ScriptMessage *m);
/* The next message, in the arena, and its bytes are consumed. 1: there is one; 0: not yet all of
 * it; -1: what came is none. */
int scriptwire_take(struct str *in, struct arena *arena, Pb__ScriptMessage **m);

/* The same of any type, with bounds of its own. */
void scriptwire_put_any(struct str *out, const ProtobufCMessage *m);
int scriptwire_take_any(struct str *in, struct arena *arena, const ProtobufCMessageDescriptor *type,
                        size_t most, ProtobufCMessage **m);

/* What a descriptor has, without waiting. 1: something may have come; 0: nothing now; -1: it has
 * ended. */
int scriptwire_read(int fd, struct str *in);
int scriptwire_write(int fd, struct str *out); /* as much as goes. 0, or -1: it has ended */

const char *scriptwire_name(Pb__ScriptKind kind); /* "PrologSlurmctld" */
