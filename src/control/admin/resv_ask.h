/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request to create or change a reservation makes of it. */
#pragma once

#include "control/internal.h"

/* Changes 'r', a draft; 'self' is the one it is to replace, NULL for a new one. All that the
 * request says is checked but for the nodes. */
int resv_ask(struct control *c, const Pb__ResvUpdate *m, const struct resv *self, struct resv *r,
             struct err *err);
/* USER_N: of the first user, account or group; the caller frees. */
char *resv_ask_name(const struct resv *r);
