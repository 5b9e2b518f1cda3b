/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of generic resources as requests have them: "gpu:2,gres/nic" is "gres:gpu:2,gres:nic". */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Whether such a list asks for nothing: it is empty, or "none". */
bool gres_list_is_empty(const char *list);
/* Appends the list; false: a part of it is no name, and what was appended is of no use. The
 * controller knows the names. */
bool gres_list_format(const char *list, struct str *out);
