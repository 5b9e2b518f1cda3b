/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The whole input as one text, which is sent to configless nodes, and from which a configuration
 * with other nodes is built. */
#include <string.h>

#include "conf/conf_internal.h"

/* The line has no comments and continuations; it is escaped so that it parses to the same line. */
void conf_flat_line(struct conf_loader *l, const char *line, size_t len)
{
    struct str *flat = &l->priv->flat;

    if (l->scope != CONF_FULL || l->made)
        return;
    for (size_t at = 0; at < len;) {
        const char *mark = memchr(line + at, '#', len - at);
        size_t end = mark ? (size_t)(mark - line) : len;
        str_append(flat, line + at, end - at);
        str_puts(flat, mark ? "\\#" : "");
        at = end + 1;
    }
    /* A comment at the end keeps a backslash from joining the next line. */
    str_puts(flat, len && line[len - 1] == '\\' ? " #\n" : "\n");
}

void conf_flat_finish(struct conf_loader *l)
{
    if (!l->conf->enable_configless && !l->conf->max_node_count && !l->made)
        str_done(&l->priv->flat);
}

const char *conf_flat_text(const struct conf *c, size_t *len)
{
    *len = c->priv->flat.len;
    return c->priv->flat.len ? str_cstr(&c->priv->flat) : NULL;
}
