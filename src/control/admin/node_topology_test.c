/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update NodeName= Topology=. */
#include <string.h>

#include "control/fixture.h"

#define NODES "NodeName=n[1-4]\nPartitionName=a Nodes=ALL Default=YES\n"
#define TREE_TOP "TopologyPlugin=topology/tree\nTopologyConf=1 SwitchName=top Switches=s[1-2]\n"
#define TREE_OF(s1, s2)                                                                            \
    TREE_TOP "TopologyConf=1 SwitchName=s1 Nodes=" s1 "\n"                                         \
             "TopologyConf=1 SwitchName=s2 Nodes=" s2 "\n" NODES

static int move_nodes(struct fixture *f, const char *nodes, const char *topology)
{
    struct caller root = FIXTURE_ROOT;
    Pb__NodeUpdate r = PB__NODE_UPDATE__INIT;
    r.nodes = (char *)nodes;
    r.topology = (char *)topology;
    control_node_update(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void moved_nodes_keep_their_units_across_restarts(void **state)
{
    struct fixture *f = fixture_new_up(TREE_OF("n[1-2]", "n[3-4]"), 4);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(move_nodes(f, "n2", "default:s2"), 0);
    assert_int_equal(move_nodes(f, "n4", ""), 0);
    for (int round = 0; round < 3; round++) {
        fixture_expect_unit(f, "s1", "n1\n");
        fixture_expect_unit(f, "s2", "n[2-3]\n");
        fixture_expect_unit(f, "top", "n[1-3] Switches");
        assert_string_equal(fixture_node(f, &arena, "n2")->topology, "default:s2");
        assert_string_equal(fixture_node(f, &arena, "n4")->topology, "");
        assert_null(fixture_node(f, &arena, "n1")->topology);
        if (round == 0)
            fixture_restart(f);
        else
            fixture_reconfigure(f, TREE_OF("n[1-2]", "n[3-4]"));
    }
    fixture_reconfigure(f, TREE_OF("n3", "n[1-2]")); /* moves by scontrol are kept */
    fixture_expect_unit(f, "s1", "n3\n");
    fixture_expect_unit(f, "s2", "n[1-2]\n");
    fixture_free(f);
}

static void refused_moves_change_nothing(void **state)
{
    static const struct {
        const char *topology, *says;
    } v[] = {
        {"absent:s1", "Topology=absent:s1: unknown topology 'absent'"},
        {"s1", "Topology=s1: expected TOPOLOGY:UNIT"},
        {"default:top", "'top' is not a leaf switch of topology default"},
        {"default:s1:s2", "'s1' is not a switch above others of topology default"},
        {"default:a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q", "more than 16 levels"},
    };
    struct fixture *f = fixture_new_up(TREE_OF("n[1-2]", "n[3-4]"), 4);
    assert_int_equal(move_nodes(f, "n2", "default:new:s3"), 0);
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        assert_int_not_equal(move_nodes(f, "n[1-3]", v[i].topology), 0);
        assert_non_null(strstr(fixture_text(f, f->last_call), v[i].says));
        fixture_expect_unit(f, "s1", "n1\n");
        fixture_expect_unit(f, "s3", "n2\n");
        fixture_expect_unit(f, "s2", "n[3-4]\n");
    }
    /* The switch above it was added by the node that leaves it. */
    assert_int_equal(move_nodes(f, "n2", "default:newer:s3"), 0);
    fixture_expect_unit(f, "newer", "n2 Switches=s3\n");
    assert_int_not_equal(
        conf_topo_format(control_conf(f->control), NULL, "new", &(struct str){0}, NULL), 0);
    fixture_free(f);
}

#define PLUGIN(kind) "TopologyPlugin=topology/" kind "\n"
#define RING PLUGIN("ring") "TopologyConf=1 RingName=r1 Nodes=n[3-4]\n" NODES

static void nodes_that_stay_in_a_ring_keep_their_order(void **state)
{
    struct fixture *f = fixture_new_up(RING, 4);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(move_nodes(f, "n1", "default:r1:0"), 0);
    assert_int_equal(move_nodes(f, "n2", "default:r1:1"), 0);
    fixture_expect_unit(f, "r1", "n[1-4] RingSize=");
    assert_int_equal(move_nodes(f, "n1", "default:r2:0"), 0);
    for (int round = 0; round < 3; round++) {
        fixture_expect_unit(f, "r1", "n[2-4] RingSize=");
        fixture_expect_unit(f, "r2", "n1 RingSize=");
        assert_string_equal(fixture_node(f, &arena, "n2")->topology, "default:r1:0");
        assert_null(fixture_node(f, &arena, "n3")->topology);
        if (round == 0)
            fixture_restart(f);
        else
            fixture_reconfigure(f, RING);
    }
    fixture_free(f);
}

static void node_moves_to_an_occupied_position(void **state)
{
    struct fixture *f = fixture_new_up(RING, 4);
    assert_int_equal(move_nodes(f, "n1", "default:r1:0"), 0);
    assert_int_equal(move_nodes(f, "n2", "default:r1:0"), 0);
    fixture_expect_unit(f, "r1", "n[2,1,3-4] RingSize=");
    assert_int_equal(move_nodes(f, "n[1-2]", "default:r1:1"), 0);
    fixture_expect_unit(f, "r1", "n[3,1-2,4] RingSize=");
    assert_int_equal(move_nodes(f, "n4", "default:r1:1"), 0);
    fixture_expect_unit(f, "r1", "n[3-4,1-2] RingSize=");
    assert_int_not_equal(move_nodes(f, "n1", "default:r1:0,default:r2:0"), 0);
    assert_non_null(strstr(fixture_text(f, f->last_call), "a node has one place in topology"));
    fixture_expect_unit(f, "r1", "n[3-4,1-2] RingSize=");
    fixture_free(f);
}

static void positions_in_a_topology_of_another_kind_are_reported(void **state)
{
    struct fixture *f = fixture_new_up(RING, 4);
    assert_int_equal(move_nodes(f, "n1", "default:r1:0"), 0);
    assert_non_null(strstr(fixture_reread(f, TREE_OF("n[1-2]", "n[3-4]"), false),
                           "node n1: Topology=default:r1:0 was set before topology default changed "
                           "its kind"));
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moved_nodes_keep_their_units_across_restarts),
        cmocka_unit_test(refused_moves_change_nothing),
        cmocka_unit_test(nodes_that_stay_in_a_ring_keep_their_order),
        cmocka_unit_test(node_moves_to_an_occupied_position),
        cmocka_unit_test(positions_in_a_topology_of_another_kind_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
