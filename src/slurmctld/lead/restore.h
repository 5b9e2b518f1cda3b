/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stored records become the controller's state. */
#pragma once

#include "slurmctld/core/ctld.h"

int restore_state(struct ctld *c, struct err *err); /* out of c->store, into c->control */
