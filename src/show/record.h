/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the renderers of records; only for the files behind show.h.
 */
#pragma once

#include "show/json_out.h"
#include "show/show.h"

/* Call between the lines of a record, and after the last one. */
void record_break(struct show_style style, struct str *out);
void record_end(struct show_style style, struct str *out);
/* Appends "KEY=value", with NULL as "(null)" and control characters escaped. */
void record_pair(struct str *out, const char *key, const char *value);
/* zero: the text for an unset time. */
void record_date(struct str *out, const char *key, int64_t at, const char *zero);

/* Values of MEMBER() rows. */
#define TEXT(s) json_out_text(s)
#define INT(n) json_integer(n)
#define BOOL(b) json_boolean(b)
#define NUM(n) json_out_number(true, false, n)
#define MAYBE(set, n) json_out_number(set, false, n)
#define UNSET() json_out_number(false, false, 0)

/* A time limit, in minutes as Slurm counts. */
json_t *record_limit(bool set, int64_t sec);

/* One number of --cpu-freq, in the encoding of slurm.h; text may be NULL. */
enum record_freq { RECORD_FREQ_MIN, RECORD_FREQ_MAX, RECORD_FREQ_GOVERNOR };
json_t *record_freq(const char *text, enum record_freq which);
