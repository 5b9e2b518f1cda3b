/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that shepherds are forked from (docs/adr/0025-shepherds-come-from-a-nursery.md).
 * Nothing of any step is in it: it has read no configuration, opened nothing, and takes from slurmd
 * only a connection and a title for each step.
 */
#pragma once

#include <stdbool.h>

/* The calling process enters the memory cgroup that slurmd has opened for it, and closes the
 * descriptor; -1: there is none. False: it may not, see errno. */
bool nursery_enter_memory(int entry);

/* Serves slurmd on fd, and ends the process when slurmd has closed that. Says with a message of one
 * byte that it is ready; ends without when this process may not fork so. Where there can be no
 * other process just now, it answers STEPD_START in the shepherd's place. Returns in each shepherd:
 * a child of slurmd's in a session of its own, with the connection of its step as fd, and named as
 * slurmd wanted. argv: main()'s, whose place the name takes. */
void nursery_serve(char **argv, int fd);
