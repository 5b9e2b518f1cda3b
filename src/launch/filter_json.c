/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "launch/filter_plugin.h"

extern char **environ;

void filter_put_json(const char *text, size_t len, struct str *out)
{
    str_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            str_printf(out, "\\%c", c);
        else if (c < ' ' || c == 127)
            str_printf(out, "\\u%04x", c);
        else
            str_putc(out, (char)c);
    }
    str_putc(out, '"');
}

void filter_put_environment(struct str *out)
{
    bool is_first = true;

    str_putc(out, '{');
    for (char **v = environ; v && *v; v++) {
        size_t name = strcspn(*v, "=");
        if (!(*v)[name])
            continue;
        if (!is_first)
            str_putc(out, ',');
        is_first = false;
        filter_put_json(*v, name, out);
        str_putc(out, ':');
        filter_put_json(*v + name + 1, strlen(*v + name + 1), out);
    }
    str_putc(out, '}');
}
