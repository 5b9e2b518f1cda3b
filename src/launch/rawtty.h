/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets the terminal of standard input to raw mode, while a remote terminal does the line handling.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rawtty;

struct rawtty *rawtty_begin(void);    /* NULL: not a terminal */
void rawtty_end(struct rawtty *t);    /* restores the modes; t may be NULL */
void rawtty_forget(struct rawtty *t); /* frees t and does not restore the modes */

bool rawtty_size(uint32_t *rows, uint32_t *columns); /* false: no size */
