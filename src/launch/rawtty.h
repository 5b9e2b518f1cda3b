/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The terminal of standard input while a terminal somewhere else does what it usually does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rawtty;

struct rawtty *rawtty_begin(void);    /* NULL: there is no terminal */
void rawtty_end(struct rawtty *t);    /* as it was before; NULL is fine */
void rawtty_forget(struct rawtty *t); /* frees it and leaves the terminal alone */

bool rawtty_size(uint32_t *rows, uint32_t *columns); /* false: it has none */
