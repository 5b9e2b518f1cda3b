/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DebugFlags: one bit per subsystem that logs in detail. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum conf_debug {
#define DEBUG_FLAG(id, name, effect) CONF_DEBUG_##id,
#include "conf/conf_debug.def"
#undef DEBUG_FLAG
    CONF_DEBUG_COUNT
};
#define CONF_DEBUG_BIT(id) (UINT64_C(1) << CONF_DEBUG_##id)

/* Returns the flag of a word with len bytes, case-insensitive; -1: unknown. */
int conf_debug_find(const char *word, size_t len);
bool conf_debug_has_effect(int flag);
/* Parses "NAME,NAME" to bits; -ERR_PARSE names the unknown word. */
int conf_debug_parse(const char *list, uint64_t *bits, struct err *err);
/* Applies "+steps" or "-steps" to *bits: all changes or none. -ERR_PARSE: an unknown word. */
int conf_debug_change(char *const *changes, size_t count, uint64_t *bits, struct err *err);
/* Formats "Backfill,Priority"; nothing for 0. */
void conf_debug_format(uint64_t bits, struct str *out);
