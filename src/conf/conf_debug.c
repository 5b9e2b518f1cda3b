/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_debug.h"

#include <string.h>
#include <strings.h>

enum { NONE, CTLD, NODE, BOTH };

static const struct {
    const char *name;
    bool effect;
} flags[CONF_DEBUG_COUNT] = {
#define DEBUG_FLAG(id, name, effect) {name, effect},
#include "conf/conf_debug.def"
#undef DEBUG_FLAG
};

_Static_assert(CONF_DEBUG_COUNT <= 64, "a flag is a bit");

int conf_debug_find(const char *word, size_t len)
{
    for (int i = 0; i < CONF_DEBUG_COUNT; i++)
        if (strlen(flags[i].name) == len && !strncasecmp(flags[i].name, word, len))
            return i;
    return -1;
}

bool conf_debug_has_effect(int flag)
{
    return flags[flag].effect;
}

int conf_debug_parse(const char *list, uint64_t *bits, struct err *err)
{
    uint64_t found = 0;

    for (const char *word = list ? list : ""; *word;) {
        size_t len = strcspn(word, ", ");
        int flag = len ? conf_debug_find(word, len) : 0;
        if (flag < 0)
            return err_set(err, -ERR_PARSE, "unknown debug flag '%.*s'", (int)len, word);
        found |= len ? UINT64_C(1) << flag : 0;
        word += len + (word[len] != '\0');
    }
    *bits = found;
    return 0;
}

int conf_debug_change(char *const *changes, size_t count, uint64_t *bits, struct err *err)
{
    uint64_t changed = *bits;
    for (size_t i = 0; i < count; i++) {
        const char *change = changes[i];
        int flag = *change ? conf_debug_find(change + 1, strlen(change + 1)) : -1;
        if (flag < 0 || !strchr("+-", *change))
            return err_set(err, -ERR_PARSE, "invalid debug flag: %s", change);
        uint64_t bit = UINT64_C(1) << flag;
        changed = *change == '+' ? changed | bit : changed & ~bit;
    }
    *bits = changed;
    return 0;
}

void conf_debug_format(uint64_t bits, struct str *out)
{
    for (int i = 0; i < CONF_DEBUG_COUNT; i++)
        if (bits >> i & 1)
            str_printf(out, "%s%s", out->len ? "," : "", flags[i].name);
}
