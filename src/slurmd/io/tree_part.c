/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/io/tree_part.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* Index of the credential's nodes by name: open addressing. */
struct names {
    const Pb__Cred *cred;
    uint32_t *slots; /* index + 1; 0: free */
    bool *taken;     /* one per node: it was listed already */
    size_t mask;
};

static void names_init(struct names *n, const Pb__Cred *cred)
{
    size_t room = 16;

    while (room < 2 * cred->n_nodes)
        room *= 2;
    n->cred = cred;
    n->mask = room - 1;
    n->slots = mem_new_array(uint32_t, room);
    n->taken = mem_new_array(bool, cred->n_nodes + 1);
    for (size_t i = 0; i < cred->n_nodes; i++) {
        size_t at = str_hash(cred->nodes[i]->node) & n->mask;

        while (n->slots[at])
            at = (at + 1) & n->mask;
        n->slots[at] = (uint32_t)i + 1;
    }
}

static void names_done(struct names *n)
{
    free(n->slots);
    free(n->taken);
}

static const Pb__StepNode *names_take(struct names *n, const char *node, struct err *err)
{
    for (size_t at = str_hash(node) & n->mask; n->slots[at]; at = (at + 1) & n->mask) {
        uint32_t i = n->slots[at] - 1;

        if (strcmp(n->cred->nodes[i]->node, node) != 0)
            continue;
        if (!n->taken[i]) {
            n->taken[i] = true;
            return n->cred->nodes[i];
        }
        err_set(err, -ERR_RANGE, "node %.63s is in the list twice", node);
        return NULL;
    }
    err_set(err, -ERR_CREDENTIAL, "%s: it does not cover node %.63s", err_text(ERR_CREDENTIAL),
            node);
    return NULL;
}

static const Pb__StepNode *check_target(struct names *n, const Pb__TreeTarget *t, const char *self,
                                        struct err *err)
{
    const Pb__StepNode *node;

    if (strcmp(t->node, self) == 0) {
        err_set(err, -ERR_RANGE, "node %s is to pass a request on to itself", self);
        return NULL;
    }
    if (t->token.len != AUTH_TOKEN_SIZE) {
        err_set(err, -ERR_AUTH, "a token has %d bytes, not %zu", AUTH_TOKEN_SIZE, t->token.len);
        return NULL;
    }
    node = names_take(n, t->node, err);
    if (node && (node->port < 1 || node->port > UINT16_MAX)) {
        err_set(err, -ERR_CREDENTIAL, "%s: node %s has no port there", err_text(ERR_CREDENTIAL),
                node->node);
        return NULL;
    }
    return node;
}

void tree_part_read(const Pb__TreePart *m, const Pb__Cred *cred, const char *self,
                    tree_refuse_fn *refuse, void *ctx, struct tree_part *out)
{
    struct names names;

    names_init(&names, cred);
    out->targets = mem_new_array(struct rpc_relay_target, m->n_targets + 1);
    out->index = mem_new_array(uint32_t, m->n_targets + 1);
    out->count = 0;
    for (size_t i = 0; i < m->n_targets; i++) {
        struct err err = {0};
        const Pb__StepNode *node = check_target(&names, m->targets[i], self, &err);
        struct rpc_relay_target *to = &out->targets[out->count];

        if (!node) {
            refuse(ctx, (uint32_t)i + 1, &err);
            continue;
        }
        to->node = node->node;
        to->addr = node->addr;
        to->port = (uint16_t)node->port;
        memcpy(to->token, m->targets[i]->token.data, AUTH_TOKEN_SIZE);
        out->index[out->count++] = (uint32_t)i + 1;
    }
    names_done(&names);
}

void tree_part_done(struct tree_part *p)
{
    free(p->targets);
    free(p->index);
}
