/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts the stored records to the controller's state. */
#pragma once

#include "slurmctld/core/ctld.h"

int restore_state(struct ctld *c, struct err *err); /* reads c->store, fills c->control */
