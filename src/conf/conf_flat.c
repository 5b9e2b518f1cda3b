/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that was read as one text: what configless nodes are sent, and what a configuration with
 * other nodes is made from. */
#include <string.h>

#include "conf/conf_internal.h"

/* Comments and continuations are gone; what is left is written so that it is read the same again.
 */
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
    /* A comment behind it keeps a backslash from joining the next line. */
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
