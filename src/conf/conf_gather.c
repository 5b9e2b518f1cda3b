/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "30", or "task=30,energy=60": how often figures are taken. */
#include <string.h>
#include <strings.h>

#include "conf/conf_internal.h"

static bool is_known(const char *word, size_t len)
{
    static const char *const types[] = {"task", "energy", "network", "filesystem"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strlen(types[i]) == len && !strncasecmp(word, types[i], len))
            return true;
    return false;
}

int conf_gather_parse(const char *text, int64_t *sec, struct err *err)
{
    while (text && *text) {
        size_t len = strcspn(text, ",");
        _cleanup_free_ char *word = mem_strndup(text, len);
        const char *equals = strchr(word, '=');
        long long value;

        if ((equals && !is_known(word, (size_t)(equals - word))) ||
            str_parse_i64(equals ? equals + 1 : word, 0, CONF_GATHER_MAX_SEC, &value))
            return err_set(err, -ERR_PARSE,
                           "'%s' is not a number of seconds up to %d, or task=SECONDS; energy=, "
                           "network= and filesystem= are known, too",
                           word, CONF_GATHER_MAX_SEC);
        if (!equals || !strncasecmp(word, "task=", 5))
            *sec = value;
        text += len;
        text += *text == ',';
    }
    return 0;
}
