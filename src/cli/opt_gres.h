/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of generic resources in the form of requests: "gpu:2,gres/nic" becomes
 * "gres:gpu:2,gres:nic".
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Whether the list requests nothing: it is empty, or "none". */
bool opt_gres_is_empty(const char *list);
/* Appends the list. False: a part has an invalid name, and the appended text is unusable. The
 * controller checks whether the names exist. */
bool opt_gres_format(const char *list, struct str *out);
