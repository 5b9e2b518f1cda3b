/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/text.h"

#include <string.h>

static bool is_control(const unsigned char *s, size_t left)
{
    /* C1 controls in UTF-8 (0xc2 0x80..0x9f) drive terminals as well. */
    return *s < 0x20 || *s == 0x7f || (*s == 0xc2 && left > 1 && s[1] >= 0x80 && s[1] <= 0x9f);
}

static void put_control(unsigned char c, struct str *out)
{
    if (c == '\n')
        str_puts(out, "\\n");
    else if (c == '\t')
        str_puts(out, "\\t");
    else if (c == '\r')
        str_puts(out, "\\r");
    else
        str_printf(out, "\\%03o", c);
}

void text_escape_n(const char *s, size_t len, struct str *out)
{
    const unsigned char *at = (const unsigned char *)s, *end = at + len, *plain = at;
    while (at < end) {
        if (!is_control(at, (size_t)(end - at))) {
            at++;
            continue;
        }
        str_append(out, plain, (size_t)(at - plain));
        put_control(*at == 0xc2 ? at[1] : *at, out);
        at += *at == 0xc2 ? 2 : 1;
        plain = at;
    }
    str_append(out, plain, (size_t)(end - plain));
}

void text_escape(const char *s, struct str *out)
{
    if (s)
        text_escape_n(s, strlen(s), out);
}
