/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a job credential allows on this node. Everything that decides about rights is in it, signed
 * by the controller; nothing of the message around it counts.
 */
#pragma once

#include "auth/auth.h"
#include "base/arena.h"
#include "base/err.h"
#include "proto/step.pb-c.h"

struct cred_checker {
    const uint8_t *public_key; /* NULL: no controller has been met yet */
    const char *cluster, *node, *incarnation;
    int64_t now_ms;
};

#define CRED_PART_ANY (-1)

/* Signature, form, cluster, life, and that this node is in this part of it; an ordinary step is
 * part 0 of itself. On success *out is in the arena, its fields are those of the part, and
 * *node_index is this node's place in out->nodes, which has the nodes of all parts. CRED_PART_ANY:
 * the first part that has the node. -ERR_CREDENTIAL, -ERR_CREDENTIAL_EXPIRED,
 * -ERR_CREDENTIAL_REVOKED: of a job that was here before the machine was booted. */
int cred_check(const struct cred_checker *c, const void *data, size_t len, const void *signature,
               size_t signature_len, int64_t part, struct arena *arena, Pb__Cred **out,
               uint32_t *node_index, struct err *err);
