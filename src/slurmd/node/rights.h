/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "base/err.h"

/* Gives up the capabilities of root that slurmd does not need itself (RELIABILITY G15). Programs
 * that it starts as root, slurmstepd and the site's scripts among them, have all of them again.
 * Does nothing where slurmd is not root. 0, or -errno. */
int rights_reduce(struct err *err);
