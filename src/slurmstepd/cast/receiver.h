/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One node's part in a broadcast of a file: it receives the file from its parent node, sends it to
 * the child nodes that the parent names, and reports the progress of all of them to the parent.
 *
 * When the parent goes, another one takes over and continues at the receiver's position. If none
 * comes within three times the silence limit, or if the node that started the broadcast goes, the
 * receiver ends and removes everything that is not committed.
 */
#pragma once

#include "auth/auth.h"
#include "cast/sink.h"
#include "loop/loop.h"
#include "proto/cast.pb-c.h"
#include "rpc/session.h"

#define RECEIVER_GUESTS_MAX 8 /* sessions without a request yet */

struct receiver;

/* Takes ownership of the sink and copies the rest. Stops the loop when it has finished. */
struct receiver *receiver_new(struct loop *l, const Pb__CastStart *m, const struct auth_key *key,
                              struct cast_sink *sink);
void receiver_free(struct receiver *r); /* the owner frees the sessions that it has passed first */

/* A peer that knows the key has connected; its first message tells its purpose. */
void receiver_session(struct receiver *r, struct rpc_session *s);

/* The node does not get the file. Other nodes send to its children from now on, so the parent must
   be told. */
void receiver_fail(struct receiver *r, const struct err *why);
