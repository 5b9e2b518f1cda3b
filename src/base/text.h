/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text from outside (names, comments, reasons, what another host says) on its way to a terminal or
 * a log. Harmful are control characters, C1 controls (a terminal obeys them, too), characters that
 * separate lines or turn the direction of the text behind them (U+202E), and bytes that are no
 * UTF-8. Whatever shows text of users shows it through one of these functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* The length in bytes of the character that the text begins with, 1 for a byte that is no UTF-8.
 * left: bytes that there are, at least 1. */
size_t text_next(const char *s, size_t left, bool *harmful);

/* Appends the text with what is harmful written as \n, \t, \033, \u202e. NULL appends nothing. */
void text_escape(const char *s, struct str *out);
void text_escape_n(const char *s, size_t len, struct str *out);

/* The same for text of several lines: line breaks stay. */
void text_escape_lines(const char *s, struct str *out);

/* The same for JSON that is valid but for bytes that are no UTF-8: \u202e in its strings, and
 * U+FFFD for such a byte. Line breaks between its parts stay. */
void text_escape_json(const char *json, struct str *out);

/* Replaces what is harmful in place: a space for a line break or a tab, '?' for all else. Allocates
 * nothing. */
void text_blank(char *s);
