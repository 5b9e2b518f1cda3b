/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/node_names.h"

#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "proto/node.pb-c.h"

#define NODEFILE_MAX (1u << 20)

static int on_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    for (size_t i = 0; i < part->n_nodes; i++)
        hostlist_remove(ctx, part->nodes[i]->name);
    return 0;
}

bool node_names_have_function(const struct hostlist *names)
{
    char name[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < hostlist_count(names); i++)
        if (strchr(hostlist_nth(names, i, name), '{'))
            return true;
    return false;
}

int node_names_check(const char *list, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *unknown = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    if (hostlist_parse(list, &unknown, NULL) < 0)
        return err_set(err, -ERR_NO_NODE, "Invalid node name %s", list);
    if (node_names_have_function(unknown))
        return 0;
    hostlist_uniq(unknown);
    filter.nodes = (char *)list;
    uint64_t none = 0; /* only the names are needed */
    filter.fields = &none;
    filter.n_fields = 1;
    int r = rpc_call_stream(cmd_client(), RPC_NODE_LIST, &filter.base, on_nodes, unknown, err);
    if (r == -ERR_ACCESS) /* PrivateData=nodes hides the names from this user */
        return 0;
    if (r == 0 && hostlist_count(unknown))
        r = err_set(err, -ERR_NO_NODE, "Invalid node name %s", hostlist_nth(unknown, 0, name));
    return r;
}

int node_names_read_file(const char *path, struct hostlist *hosts, struct err *err)
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
