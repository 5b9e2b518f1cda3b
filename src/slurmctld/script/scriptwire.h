/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The messages between slurmctld and its helpers over a socket pair: four bytes of length, then a
 * packed message. Both ends close a connection that exceeds the limits. A function of
 * burst_buffer.lua reports through a pipe of its own: records of a letter, a length, and a text.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "proto/script.pb-c.h"

#define SCRIPTWIRE_MAX (64u << 20) /* bytes per message, which may include the script of a job */
#define SCRIPTWIRE_READ 65536      /* bytes per read */

void scriptwire_put(struct str *out, const Pb__ScriptMessage *m);
/* Takes the next message, in the arena, and consumes its bytes. 1: there is one; 0: incomplete;
 * -1: malformed. */
int scriptwire_take(struct str *in, struct arena *arena, Pb__ScriptMessage **m);

/* The same for any message type, with other limits. */
void scriptwire_put_any(struct str *out, const ProtobufCMessage *m);
int scriptwire_take_any(struct str *in, struct arena *arena, const ProtobufCMessageDescriptor *type,
                        size_t most, ProtobufCMessage **m);

/* Reads available bytes without blocking. 1: bytes may have been read; 0: none are available; -1:
 * end of file. */
int scriptwire_read(int fd, struct str *in);
/* Writes as much as possible; 0, or -1: the peer has closed. */
int scriptwire_write(int fd, struct str *out);

const char *scriptwire_name(Pb__ScriptKind kind); /* "PrologSlurmctld" */

#define BURST_REPORT_LOG 'l'
#define BURST_REPORT_OUTPUT 'o'
#define BURST_REPORT_ERROR 'e'

void scriptwire_put_burst(int fd, char kind, const char *text);
