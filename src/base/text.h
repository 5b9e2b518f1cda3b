/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text from outside (names, comments, reasons, messages of another host) for output to a terminal
 * or a log. Harmful are control characters, C1 controls (terminals interpret them, too), line
 * separators, characters that change the direction of text (U+202E), and bytes that are not UTF-8.
 * All output of user text uses one of these functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Returns the length in bytes of the first character, 1 for a byte that is not UTF-8. left: number
 * of bytes available, at least 1. */
size_t text_next(const char *s, size_t left, bool *harmful);

/* Appends the text with harmful characters written as \n, \t, \033, \u202e. NULL appends
   nothing. */
void text_escape(const char *s, struct str *out);
void text_escape_n(const char *s, size_t len, struct str *out);

/* The same for text with several lines: line breaks are kept. */
void text_escape_lines(const char *s, struct str *out);

/* The same for JSON that is valid except for bytes that are not UTF-8: \u202e inside strings, and
 * U+FFFD for such a byte. Line breaks between its parts are kept. */
void text_escape_json(const char *json, struct str *out);

/* Replaces harmful characters in place: a space for a line break or a tab, '?' for others. Does
 * not allocate. */
void text_blank(char *s);
