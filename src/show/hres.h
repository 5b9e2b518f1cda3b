/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources of a listing of licences. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/str.h"
#include "proto/license.pb-c.h"

/* The layers of each resource of the list as a tree; name: of that resource; NULL: of all. False:
 * no resource has that name. */
bool show_hres_text(const Pb__LicenseList *list, const char *name, struct str *out);
json_t *show_hres_json(const Pb__LicenseList *list, const char *name);
/* As the text of resources.yaml. */
void show_hres_file(const Pb__LicenseList *list, struct str *out);
