/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modes of srun that are commands of their own today (CORE-201, CORE-210). */
#pragma once

#include "cli/opt.h"

/* srun --allocate is salloc by another name, and with names of its own for some options. */
_Noreturn void become_salloc(struct opt *o, int argc, char **argv);

/* srun --attach is sattach, with srun's way with signals. */
_Noreturn void become_sattach(const struct opt *o, int operands);
