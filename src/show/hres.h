/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources from a listing of licences. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/str.h"
#include "proto/license.pb-c.h"

/* Prints the layers of the resource 'name' as a tree; NULL: of each resource in the list. Returns
 * false if there is no such resource. */
bool show_hres_text(const Pb__LicenseList *list, const char *name, struct str *out);
json_t *show_hres_json(const Pb__LicenseList *list, const char *name);
/* Prints the text of resources.yaml. */
void show_hres_file(const Pb__LicenseList *list, struct str *out);
