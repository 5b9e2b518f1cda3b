/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One node's part in a cast: it takes a file from the one above, feeds those below whom that one
 * names, and says upwards how far all of them are.
 *
 * When the one above goes, another one comes, which goes on from where this is; when nobody comes
 * for three times the limit of silence, or the one goes who began it all, it ends, and nothing is
 * left of what was not committed.
 */
#pragma once

#include "auth/auth.h"
#include "cast/sink.h"
#include "loop/loop.h"
#include "proto/cast.pb-c.h"
#include "rpc/session.h"

#define RECEIVER_GUESTS_MAX 8 /* sessions that have not said what they want */

struct receiver;

/* Takes the sink; copies the rest. Stops the loop when it is over. */
struct receiver *receiver_new(struct loop *l, const Pb__CastStart *m, const struct auth_key *key,
                              struct cast_sink *sink);
void receiver_free(struct receiver *r); /* the sessions that it was given are freed by then */

/* Somebody who knows the key has connected, and will say what for. */
void receiver_session(struct receiver *r, struct rpc_session *s);

/* This node does not get it. Those below are fed by others now; the one above has to hear it. */
void receiver_fail(struct receiver *r, const struct err *why);
