/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks what a job credential allows on this node. The credential, signed by the controller, has
 * everything that decides about rights; the message around it is ignored.
 */
#pragma once

#include "auth/auth.h"
#include "base/arena.h"
#include "base/err.h"
#include "proto/step.pb-c.h"

struct cred_checker {
    const uint8_t *public_key; /* NULL: no controller has been contacted yet */
    const char *cluster, *node, *incarnation;
    int64_t now_ms;
};

#define CRED_PART_ANY (-1)

/* Checks signature, format, cluster, lifetime, and that this node belongs to this part of the
 * credential; an ordinary step has one part, number 0. On success *out is in the arena, its fields
 * are those of the part, and *node_index is this node's index in out->nodes, which has the nodes
 * of all parts. CRED_PART_ANY selects the first part that has the node. Returns -ERR_CREDENTIAL,
 * -ERR_CREDENTIAL_EXPIRED, or -ERR_CREDENTIAL_REVOKED: the job was here before the last boot. */
int cred_check(const struct cred_checker *c, const void *data, size_t len, const void *signature,
               size_t signature_len, int64_t part, struct arena *arena, Pb__Cred **out,
               uint32_t *node_index, struct err *err);
