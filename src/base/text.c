/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"

#include <stdint.h>
#include <string.h>

#define NO_CHARACTER UINT32_MAX

/* Returns the first character, or NO_CHARACTER with *len 1 if it is not UTF-8. */
static uint32_t decode_utf8(const char *text, size_t left, size_t *len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    uint32_t c = n == 1 ? *s : *s & (0x7fu >> n);

    *len = 1;
    if (n == 0 || n > left)
        return NO_CHARACTER;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return NO_CHARACTER;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return NO_CHARACTER;
    *len = n;
    return c;
}

static bool is_harmful(uint32_t c)
{
    return c == NO_CHARACTER || c < 0x20 || (c >= 0x7f && c <= 0x9f) || /* controls */
           c == 0x061c || c == 0x200e || c == 0x200f ||                 /* direction marks */
           /* Separators of lines and paragraphs, embeddings, overrides. */
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || /* isolates */
           c == 0xfeff;
}

size_t text_next(const char *s, size_t left, bool *harmful)
{
    size_t len;

    *harmful = is_harmful(decode_utf8(s, left, &len));
    return len;
}

static void put_escape(uint32_t c, unsigned char byte, struct str *out)
{
    if (c == '\n')
        str_puts(out, "\\n");
    else if (c == '\t')
        str_puts(out, "\\t");
    else if (c == '\r')
        str_puts(out, "\\r");
    else if (c == NO_CHARACTER)
        str_printf(out, "\\%03o", byte);
    else if (c < 0x100)
        str_printf(out, "\\%03o", (unsigned)c);
    else
        str_printf(out, "\\u%04x", (unsigned)c);
}

void text_escape_n(const char *s, size_t len, struct str *out)
{
    const char *end = s + len, *plain = s;

    for (size_t n; s < end; s += n) {
        uint32_t c = decode_utf8(s, (size_t)(end - s), &n);
        if (!is_harmful(c))
            continue;
        str_append(out, plain, (size_t)(s - plain));
        put_escape(c, (unsigned char)*s, out);
        plain = s + n;
    }
    str_append(out, plain, (size_t)(end - plain));
}

void text_escape(const char *s, struct str *out)
{
    if (s)
        text_escape_n(s, strlen(s), out);
}

void text_escape_lines(const char *s, struct str *out)
{
    for (size_t len; *s; s += len + (s[len] == '\n')) {
        len = strcspn(s, "\n");
        text_escape_n(s, len, out);
        if (s[len] == '\n')
            str_putc(out, '\n');
    }
}

void text_escape_json(const char *json, struct str *out)
{
    const char *end = json + strlen(json);

    for (size_t n; json < end; json += n) {
        uint32_t c = decode_utf8(json, (size_t)(end - json), &n);
        if (c == NO_CHARACTER)
            str_puts(out, "\xef\xbf\xbd");
        else if (is_harmful(c) && c != '\n' && c != '\t')
            str_printf(out, "\\u%04x", (unsigned)c);
        else
            str_append(out, json, n);
    }
}

void text_blank(char *s)
{
    char *to = s;
    size_t left = strlen(s);

    for (size_t n; left; s += n, left -= n) {
        uint32_t c = decode_utf8(s, left, &n);
        if (!is_harmful(c)) {
            memmove(to, s, n);
            to += n;
        } else {
            *to++ = c == '\n' || c == '\t' ? ' ' : '?';
        }
    }
    *to = '\0';
}
