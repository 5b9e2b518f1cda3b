/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON and YAML as the commands print it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The version of Slurm's data parser that the output follows. */
#define JSON_OUT_PARSER "data_parser/v0.0.45"

struct json_out_source { /* the program for "meta"; borrowed */
    const char *command, *cluster;
};

/* Takes the array and appends {"jobs": [...], "meta": {...}, "errors": [], "warnings": []}. */
void json_out_print(const struct json_out_source *source, const char *what, json_t *array,
                    bool yaml, struct str *out);
/* Like json_out_print(), for several arrays: takes the object that has them. */
void json_out_print_all(const struct json_out_source *source, json_t *arrays, bool yaml,
                        struct str *out);
/* Call before printing: sets when the controller listed the records and, for jobs, when it last
 * backfilled (0: never; negative: not a list of jobs), in wall seconds. */
void json_out_stamp(int64_t last_update, int64_t last_backfill);

void json_out_yaml(const json_t *value, struct str *out); /* one document, block style */

/* Text of any bytes: invalid UTF-8 is replaced. NULL is "". */
json_t *json_out_text(const char *s);
/* A comma-separated list as an array of strings. */
json_t *json_out_list(const char *list);
/* {"set": true, "infinite": false, "number": n}: Slurm's form of numbers that may be missing. */
json_t *json_out_number(bool set, bool infinite, int64_t n);
