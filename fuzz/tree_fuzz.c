/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: the nodes to which a node forwards a request, as a caller lists them, against a credential
 * that the controller has signed: each node is forwarded to or rejected, once, and requests go only
 * to the signed address.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "rpc/rpc.h"
#include "rpc/wire.h"
#include "slurmd/io/tree_part.h"

#define SELF "n3"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_refused(void *ctx, uint32_t index, const struct err *err)
{
    unsigned *results = ctx;

    assert(err->code < 0 && err->text[0]);
    results[index - 1]++;
}

static void check_tree_part(const Pb__TreePart *m, const Pb__Cred *cred)
{
    _cleanup_free_ unsigned *results = mem_new_array(unsigned, m->n_targets + 1);
    struct tree_part part = {0};

    tree_part_read(m, cred, SELF, on_refused, results, &part);
    for (size_t i = 0; i < part.count; i++) {
        const struct rpc_relay_target *to = &part.targets[i];
        bool is_first = to->addr == cred->nodes[0]->addr;

        assert(is_first || to->addr == cred->nodes[1]->addr);
        assert(to->port == cred->nodes[is_first ? 0 : 1]->port);
        assert(strcmp(to->node, m->targets[part.index[i] - 1]->node) == 0);
        results[part.index[i] - 1]++;
    }
    for (size_t i = 0; i < m->n_targets; i++)
        assert(results[i] == 1);
    assert(part.count <= 2);
    tree_part_done(&part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"n1", "n2", SELF, "n4"};
    static const uint32_t ports[] = {7001, 7002, 7003, 70000};
    Pb__StepNode nodes[4], *list[4];
    Pb__Cred cred = PB__CRED__INIT;
    _cleanup_arena_ struct arena arena;
    const ProtobufCMessage *m =
        rpc_unpack(rpc_find(RPC_TREE_PART), data, size, RPC_ARENA_FACTOR, &arena, NULL);

    for (size_t i = 0; i < 4; i++) {
        pb__step_node__init(&nodes[i]);
        nodes[i].node = (char *)names[i];
        nodes[i].addr = (char *)names[i];
        nodes[i].port = ports[i];
        list[i] = &nodes[i];
    }
    cred.nodes = list;
    cred.n_nodes = 4;
    if (m)
        check_tree_part((const Pb__TreePart *)m, &cred);
    return 0;
}
