/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An orderly end. */
#pragma once

#include "slurmctld/core/ctld.h"

/* Once what is queued has left; for good, also when it was to begin anew. */
void stop_begin(struct ctld *c);
/* The controllers, and with nodes_too all node daemons, by order of an administrator. */
void stop_daemons(struct ctld *c, bool nodes_too);
void stop_to_begin_anew(struct ctld *c, bool waits); /* unless it is stopping already */
void stop_now(struct ctld *c);                       /* everything before it has left */
void stop_session_closed(struct ctld *c);
