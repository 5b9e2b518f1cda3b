/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/gres_list.h"

#include <string.h>
#include <strings.h>

#include "base/words.h"

bool gres_list_is_empty(const char *list)
{
    return !*list || str_case_eq(list, "none");
}

static bool put_part(const char *part, size_t len, struct str *out)
{
    if ((!strncasecmp(part, "gres:", 5) || !strncasecmp(part, "gres/", 5)) && len > 5) {
        part += 5;
        len -= 5;
    }
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)part[i] <= ' ' || part[i] == '"' || part[i] == '\'')
            return false;
    str_printf(out, "%sgres:%.*s", out->len ? "," : "", (int)len, part);
    return len > 0 && *part != ':';
}

bool gres_list_format(const char *list, struct str *out)
{
    words_foreach (list, w)
        if (!put_part(w.at, w.len, out))
            return false;
    return true;
}
