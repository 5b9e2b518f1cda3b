/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/hosts.h"

#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define NODEFILE_MAX (1u << 20)

int hosts_read_file(const char *path, struct hostlist *hosts, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    int r = path_read_file(path, NODEFILE_MAX, &text, err);
    if (r < 0)
        return r;
    if (memchr(str_cstr(&text), 0, text.len))
        return err_set(err, -ERR_PARSE, "%s: not a text file", path);
    int line = 1;
    for (const char *s = str_cstr(&text); *s;) {
        size_t len = strcspn(s, " \t\r\n#");
        size_t commas = strspn(s, ",");
        if (len > commas) {
            _cleanup_free_ char *word = mem_strndup(s + commas, len - commas);
            for (size_t end = len - commas; word[end - 1] == ','; end--)
                word[end - 1] = 0;
            r = hostlist_push_expr(hosts, word, err);
            if (r < 0)
                return err_prefix(err, "%s, line %d", path, line);
        }
        s += len;
        if (*s == '#')
            s += strcspn(s, "\n");
        line += *s == '\n';
        s += *s != 0;
    }
    if (!hostlist_count(hosts))
        return err_set(err, -ERR_PARSE, "%s names no node", path);
    return 0;
}
