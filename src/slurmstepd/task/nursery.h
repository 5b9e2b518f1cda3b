/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that shepherds are forked from (docs/adr/0025-step-daemons-are-forked.md). It
 * has no state of any step: it reads no configuration, opens no file, and receives from slurmd
 * only a connection and a title for each step.
 */
#pragma once

#include <stdbool.h>

/* Moves the calling process into the memory cgroup whose entry file slurmd has opened, and closes
 * the descriptor; -1: there is none. Returns false with errno on failure. */
bool nursery_enter_memory(int entry);

/* Serves slurmd on fd, and exits when slurmd closes fd. Reports with a one-byte message that it is
 * ready; exits without that message if this process may not fork in this way. If no process can be
 * created at the moment, it answers STEPD_START in the shepherd's place. Returns in each shepherd:
 * a child of slurmd in its own session, with fd as the connection of its step, and with the title
 * that slurmd has requested. argv is main()'s, whose memory the title overwrites. */
void nursery_serve(char **argv, int fd);
