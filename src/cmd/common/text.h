/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text from outside on its way to a terminal. */
#pragma once

#include <stddef.h>

#include "base/str.h"

/* Appends s with control characters written as \n, \t, \033 and so on: a job's name must not drive
 * the terminal of whoever lists it. Other bytes, UTF-8 included, stay. NULL appends nothing. */
void text_escape(const char *s, struct str *out);
void text_escape_n(const char *s, size_t len, struct str *out);
