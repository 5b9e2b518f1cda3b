/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON Web Tokens (AuthAltTypes=auth/jwt): identifies callers with a token, and implements
   scontrol token. */
#pragma once

#include "slurmctld/core/ctld.h"

void jwt_accept(struct ctld *c); /* accepts tokens from now on, if there is a key */
void jwt_answer(struct ctld *c, const struct rpc_request *r, const struct caller *who);
