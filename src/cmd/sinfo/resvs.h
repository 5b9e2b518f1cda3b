/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sinfo --reservation. */
#pragma once

#include "cmd/sinfo/options.h"

int resvs_list(const struct options *o); /* the status to exit with */
