/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/node_names.h"

#include "base/hostlist.h"
#include "cli/cmd.h"
#include "proto/node.pb-c.h"

static int on_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    for (size_t i = 0; i < part->n_nodes; i++)
        hostlist_remove(ctx, part->nodes[i]->name);
    return 0;
}

int node_names_check(const char *list, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *unknown = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    if (hostlist_parse(list, &unknown, NULL) < 0)
        return err_set(err, -ERR_NO_NODE, "Invalid node name %s", list);
    hostlist_uniq(unknown);
    filter.nodes = (char *)list;
    uint64_t none = 0; /* the names are enough */
    filter.fields = &none;
    filter.n_fields = 1;
    int r = rpc_call_stream(cmd_client(), RPC_NODE_LIST, &filter.base, on_nodes, unknown, err);
    if (r == -ERR_ACCESS) /* PrivateData=nodes: the names are hidden from this user */
        return 0;
    if (r == 0 && hostlist_count(unknown))
        r = err_set(err, -ERR_NO_NODE, "Invalid node name %s", hostlist_nth(unknown, 0, name));
    return r;
}
