/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON Web Tokens (AuthAltTypes=auth/jwt): who calls with one, and scontrol token. */
#pragma once

#include "slurmctld/core/ctld.h"

void jwt_accept(struct ctld *c); /* from now on, if there is a key */
void jwt_answer(struct ctld *c, const struct rpc_request *r, const struct caller *who);
