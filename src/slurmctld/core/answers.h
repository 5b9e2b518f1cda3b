/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies to read-only requests, which a slow disk delays only for a limited time. */
#pragma once

#include "slurmctld/core/ctld.h"

struct answers *answers_new(struct ctld *c);
void answers_free(struct answers *a);
void answers_give(struct answers *a, uint64_t call, const struct str *bytes, bool more);
void answers_give_message(struct answers *a, uint64_t call, const ProtobufCMessage *reply);
void answers_send(struct answers *a, uint64_t number); /* called by the outbox in its order */
void answers_forget(struct answers *a, uint64_t call); /* the caller has gone */
