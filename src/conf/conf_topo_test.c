/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks, by lines of topology.conf and by topology.yaml. */
#include "conf/conf_topo_test_util.h"

#define TREE HEAD "TopologyPlugin=topology/tree\nNodeName=n[1-8]\n"
#define BLOCK HEAD "TopologyPlugin=block\nNodeName=n[1-8]\n"
#define RING HEAD "TopologyPlugin=topology/ring\nNodeName=n[1-8]\n"
#define T "TopologyConf=1 "
#define DIGITS "0123456789"

/* "s1:0:1<s3 = 0 1|..." name:level:speed<parent = nodes by index */
static void show_network(const struct conf *c, const struct conf_network *net, struct str *out)
{
    vec_foreach (&net->switches, s) {
        str_printf(out, "%s%s:%u:%u", out->len ? "|" : "", s->name, s->level, s->link_speed);
        if (s->parent != CONF_NO_SWITCH)
            str_printf(out, "<%s", net->switches.data[s->parent].name);
        if (net->kind == CONF_TOPO_RING) {
            vec_foreach (&s->cells, i)
                str_printf(out, " %s", c->nodes.data[*i].name);
            continue;
        }
        bitset_foreach (s->node_set, i)
            str_printf(out, " %s", c->nodes.data[i].name);
    }
    for (size_t i = 0; i < net->block_sizes.len; i++)
        str_printf(out, "%s%u", i ? "," : "|", net->block_sizes.data[i]);
}

static void format_network(const struct conf *c, struct str *out)
{
    show_network(c, conf_default_network(c), out);
}

static void assert_network(const char *text, const char *expected)
{
    struct str out = STR_INIT;
    struct conf *c = test_load(text, NULL);
    format_network(c, &out);
    assert_string_equal(str_cstr(&out), expected);
    str_done(&out);
    conf_free(c);
}

static void invalid_topologies_are_refused(void **state)
{
    static const struct test_refusal v[] = {
        {TREE, "t.conf:2: ", "no lines of SwitchName"},
        {BLOCK, "t.conf:2: ", "no lines of BlockName"},
        {TREE T "SwitchName=a\n", "t.conf:4: ", "Nodes= or Switches=, one of them"},
        {TREE T "SwitchName=a Nodes=n1 Switches=b\n", "t.conf:4: ", "not both"},
        {TREE T "SwitchName=a[1-2] Nodes=n1\n", "t.conf:4: ", "one name"},
        {TREE T "SwitchName=a Nodes=n[1\n", "t.conf:4: ", "Nodes=n[1: "},
        {TREE T "SwitchName=a Nodes=n1 LinkSpeed=fast\n", "t.conf:4: ", "LinkSpeed=fast"},
        {TREE T "SwitchName=a Nodes=n1\n" T "SwitchName=a Nodes=n2\n", "t.conf:5: ", "twice"},
        {TREE T "SwitchName=" DIGITS "_" DIGITS "_" DIGITS "_" DIGITS "_" DIGITS "_" DIGITS
                " Nodes=n1\n",
         "t.conf:4: ", "more than 64 characters"},
        {TREE T "SwitchName=a Switches=b\n", "t.conf:4: ", "there is no switch b"},
        {TREE T "SwitchName=a Switches=a\n", "t.conf:4: ", "circle"},
        {TREE T "SwitchName=a Switches=b\n" T "SwitchName=b Switches=a\n", "t.conf:", "circle"},
        {TREE T "BlockName=a Nodes=n1\n", "t.conf:4: ", "takes lines of SwitchName="},
        {TREE T "BlockSizes=4\n", "t.conf:4: ", "takes lines of SwitchName="},
        {TREE T "LinkSpeed=4\n", "t.conf:4: ", "a line begins with"},
        {BLOCK T "SwitchName=a Nodes=n1\n", "t.conf:4: ", "takes lines of BlockName="},
        {BLOCK T "BlockName=a Switches=b\n", "t.conf:4: ", "expected Nodes="},
        {RING T "RingName=a Nodes=n[1-8],m[1-9]\n" T "RingName=b\n",
         "t.conf:5: ", "RingName=b: expected Nodes="},
        {RING T "BlockName=a Nodes=n[1-8]\n", "t.conf:4: ", "takes lines of RingName="},
        {RING T "BlockSizes=4\n", "t.conf:4: ", "takes lines of RingName="},
        {BLOCK T "RingName=a Nodes=n[1-8]\n", "t.conf:4: ", "takes lines of BlockName="},
        {HEAD "TopologyPlugin=topology/ring\nNodeName=n[1-17]\n" T "RingName=a Nodes=ALL\n",
         "t.conf:4: ", "RingName=a: 17 nodes, a ring has at most 16"},
        {BLOCK T "BlockSizes=4,6\n", "t.conf:4: ", "a power of two"},
        {BLOCK T "BlockSizes=4,4\n", "t.conf:4: ", "a power of two"},
        {BLOCK T "BlockSizes=0\n", "t.conf:4: ", "numbers of nodes"},
        {BLOCK T "BlockSizes=4;8\n", "t.conf:4: ", "numbers of nodes"},
        {BLOCK "TopologyConf=a:flat\nTopologyConf=a:flat\n", "t.conf:5: ", "a is defined twice"},
        {BLOCK "TopologyConf=a:flat\nTopologyConf=b:tree\n", "t.conf:5: ", "b has no switches"},
        {BLOCK "TopologyConf=a:block\n", "t.conf:4: ", "topology a has no blocks"},
        {BLOCK "TopologyConf=a:flat\nPartitionName=p Nodes=ALL Topology=b\n",
         "t.conf:5: ", "partition p: unknown topology 'b': see topology.yaml"},
    };
    (void)state;
    test_refused(v, COUNT(v));
}

static void doubtful_topologies_are_warned_about(void **state)
{
    static const struct test_refusal v[] = {
        {TREE T "SwitchName=a Nodes=n[1-8],m[1-3]\n",
         "t.conf:4: ", "a: 3 of its nodes are not in slurm.conf, the first is m1"},
        {TREE T "SwitchName=a Nodes=n[1-4]\n" T "SwitchName=b Nodes=n[4-8]\n",
         "t.conf:5: ", "b: 1 of its nodes are on another one before it, the first is n4"},
        {TREE T "SwitchName=a Nodes=n[1-6]\n",
         "t.conf:4: ", "2 nodes are in no switch, the first is n7: each is alone"},
        {TREE T "SwitchName=a Nodes=ALL\n" T "SwitchName=b Switches=a\n" T
                "SwitchName=c Switches=a\n",
         "t.conf:6: ", "a is below b already"},
        {TREE T "SwitchName=a Nodes=ALL Colour=red\n", "t.conf:4: ", "unknown key Colour"},
        {BLOCK T "BlockSizes=4\n" T "BlockName=a Nodes=n[1-5]\n" T "BlockName=b Nodes=n[6-8]\n",
         "t.conf:6: ", "BlockName=b: 3 nodes, fewer than the first of BlockSizes, 4"},
        {TREE "TopologyParam=TopoOptional,Dragonfly\n" T "SwitchName=a Nodes=ALL\n",
         "t.conf:4: ", "'Dragonfly' has no effect"},
        {HEAD "TopologyPlugin=topology/3d_torus\nNodeName=n1\n", "t.conf:2: ", "3d_torus"},
        {TREE "TopologyConf=a:tree:default\n" T "SwitchName=a Nodes=n[1-8]\n"
              "TopologyConf=b:flat:default\n",
         "t.conf:6: ", "topology b: cluster_default is true of a already"},
        {HEAD "NodeName=n1\nTopologyConf=a:flat\nTopologyConf=b:flat\n",
         "t.conf:3: ", "no topology has cluster_default: true: the first one, a, is used"},
        {TREE "TopologyConf=a:flat\n",
         "t.conf:2: ", "TopologyPlugin=topology/tree is ignored: topology.yaml is there"},
    };
    (void)state;
    test_warned(v, COUNT(v));
}

/* 'says': a part of the error; NULL: there is none. */
static void check_units(const struct conf *c, const char *units, size_t count, const char *says)
{
    struct err err = {0};
    int rc = conf_topo_check_units(c, units, count, &err);
    if (!says != (rc == 0) || (says && !strstr(err.text, says)))
        fail_msg("%s: %d, %s", units, rc, err.text);
}

static void switch_lines_build_the_network(void **state)
{
    (void)state;
    assert_network(HEAD "NodeName=n1\n" T "SwitchName=a Nodes=n1\n",
                   ""); /* the plugin is not configured */
    assert_network(HEAD "TopologyPlugin=topology/none\nNodeName=n1\n", "");
    assert_network(
        TREE T "SwitchName=s0 Nodes=n[1-4] LinkSpeed=900\n" T "SwitchName=s1 Nodes=n[5-7],n8\n" T
               "SwitchName=top Switches=s[0-1]\n",
        "s0:0:900<top n1 n2 n3 n4|s1:0:1<top n5 n6 n7 n8|top:1:1 n1 n2 n3 n4 n5 n6 n7 n8");
    assert_network(TREE T "SwitchName=top Switches=m,c\n" T "SwitchName=m Switches=a,b\n" T
                          "SwitchName=a Nodes=n1\n" T "SwitchName=b Nodes=n2\n" T
                          "SwitchName=c Nodes=n[3-8]\n",
                   "top:2:1 n1 n2 n3 n4 n5 n6 n7 n8|m:1:1<top n1 n2|a:0:1<m n1|b:0:1<m n2|"
                   "c:0:1<top n3 n4 n5 n6 n7 n8");
    assert_network(RING T "RingName=r1 Nodes=n[4,2]\n" T "RingName=r2 Nodes=n[8,7,6,5,3,1]\n",
                   "r1:0:1 n4 n2|r2:0:1 n8 n7 n6 n5 n3 n1");
    assert_network(BLOCK T "BlockName=b1 Nodes=n[1-4]\n" T "BlockName=b2 Nodes=n[5-8]\n" T
                           "BlockSizes=4,8\n",
                   "b1:0:1 n1 n2 n3 n4|b2:0:1 n5 n6 n7 n8|4,8");
}

static void partitions_choose_a_network(void **state)
{
    static const char text[] =
        TREE "TopologyConf=a:tree\n" T "SwitchName=s1 Nodes=n[1-4]\n" T
             "SwitchName=s2 Nodes=n[5-8]\nTopologyConf=b:block:default\n" T
             "BlockName=b1 Nodes=n[1-8]\n" T "BlockSizes=8\nTopologyConf=c:flat\n"
             "PartitionName=x Nodes=ALL Topology=a\nPartitionName=y Nodes=ALL\n"
             "PartitionName=z Nodes=ALL Topology=c\n";
    static const char *const expected[] = {"s1:0:1 n1 n2 n3 n4|s2:0:1 n5 n6 n7 n8",
                                           "b1:0:1 n1 n2 n3 n4 n5 n6 n7 n8|8", ""};
    struct conf *c = test_load(text, NULL);
    (void)state;
    for (size_t i = 0; i < COUNT(expected); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        uint32_t number = conf_network_index(c, c->parts.data[i].topology);
        show_network(c, &c->networks.data[number], &out);
        assert_string_equal(str_cstr(&out), expected[i]);
    }
    assert_int_equal(conf_network_index(c, "gone"), 1); /* the default */
    conf_free(c);
}

static void nodes_name_their_units(void **state)
{
    static const struct test_refusal v[] = {
        {HEAD "TopologyPlugin=topology/tree\nNodeName=n1 Topology=default:s1:s0\n" T
              "SwitchName=s0 Switches=s1\n" T "SwitchName=s1 Nodes=n1\n",
         "t.conf:3: ", "'s1' is not a switch above others of topology default"},
        {HEAD "TopologyPlugin=topology/tree\nNodeName=n1 Topology=default:s0\n" T
              "SwitchName=s0 Switches=s1\n" T "SwitchName=s1 Nodes=n1\n",
         "t.conf:3: ", "'s0' is not a leaf switch"},
        {HEAD "TopologyPlugin=block\nNodeName=n1 Topology=default:b0:b1\n" T
              "BlockName=b1 Nodes=n1\n",
         "t.conf:3: ", "'b0' is not a block of topology default"},
        {HEAD "TopologyPlugin=block\nNodeName=n[1-8] Topology=default:b0:b1\n" T
              "BlockName=b1 Nodes=ALL\n",
         "t.conf:3: ", "'b0' is not a block of topology default (8 nodes, the first is n1)"},
        {HEAD "NodeName=n1 Topology=b1\n", "t.conf:2: ", "expected TOPOLOGY:UNIT"},
        {HEAD "NodeName=n1 Topology=x:b1\n", "t.conf:2: ", "unknown topology 'x'"},
    };
    (void)state;
    test_warned(v, COUNT(v));
    assert_network(
        HEAD "TopologyPlugin=topology/tree\nNodeName=n[1-2]\nNodeName=n3 Topology=default:s2\n"
             "NodeName=n4 Topology=other:x,default:top:m:s3\nNodeName=n5 Topology=default:s4\n" T
             "SwitchName=top Switches=s[1-2]\n" T "SwitchName=s1 Nodes=n[1-4]\n" T
             "SwitchName=s2 Nodes=n2\n",
        "top:2:1 n1 n2 n3 n4|s1:0:1<top n1 n2|s2:0:1<top n3|m:1:1<top n4|s3:0:1<m n4|s4:0:1 n5");
    assert_network(HEAD "TopologyPlugin=block\nNodeName=n[1-2]\nNodeName=n3 Topology=default:b2\n" T
                        "BlockName=b1 Nodes=n[1-3]\n",
                   "b1:0:1 n1 n2|b2:0:1 n3");
    assert_network(HEAD "NodeName=n[1-2]\nNodeName=n3 Topology=b:b1\nTopologyConf=a:tree\n" T
                        "SwitchName=s1 Nodes=n[1-3]\nTopologyConf=b:block\n" T
                        "BlockName=b1 Nodes=n1\n",
                   "s1:0:1 n1 n2"); /* the list is all that n3 is on */
}

#define NODES HEAD "NodeName=n[1-8]\n"
#define PAIRS(nodes) "TopologyConf=pairs:block\n" T "BlockName=b1 Nodes=" nodes "\n"
#define LEAVES "TopologyConf=leaves:tree\n" T "SwitchName=s1 Nodes=ALL\n"

static void a_new_configuration_names_the_topologies_that_change(void **state)
{
    test_differs(NODES, NODES PAIRS("n[1-2]"),
                 "topology pairs: added: block, 1 block\ncluster_default: default -> pairs\n");
    test_differs(NODES PAIRS("n[1-2]"), NODES,
                 "topology pairs: removed\ncluster_default: pairs -> default\n");
    test_differs(NODES PAIRS("n[1-2]"), NODES PAIRS("n[3-4]"),
                 "topology pairs: its blocks have changed\n");
    test_differs(NODES PAIRS("n[1-2]"), NODES PAIRS("n[1-2]") LEAVES,
                 "topology leaves: added: tree, 1 switch\n");
    test_differs(NODES LEAVES PAIRS("n[1-2]"), NODES PAIRS("n[1-2]") LEAVES,
                 "cluster_default: leaves -> pairs\n");
    test_differs(
        TREE T "SwitchName=a Nodes=ALL\n", BLOCK T "BlockName=a Nodes=ALL\n",
        "TopologyPlugin: topology/tree -> topology/block\ntopology default: tree -> block\n");
    test_differs(TREE T "SwitchName=a Nodes=ALL\n", TREE T "SwitchName=a Nodes=ALL LinkSpeed=2\n",
                 "topology default: its switches have changed\n");
    test_differs(RING T "RingName=a Nodes=n[1-3]\n", RING T "RingName=a Nodes=n3,n[1-2]\n",
                 "topology default: its rings have changed\n");
    test_differs(NODES "NodeName=n9 Topology=pairs:b1\n" PAIRS("n1"),
                 NODES "NodeName=n9 Topology=pairs:b2\n" PAIRS("n1"),
                 "node n9: Topology: pairs:b1 -> pairs:b2\n");
    test_differs(NODES PAIRS("n1"), "NodeName=n0\n" NODES PAIRS("n1"), "node n0: added\n");
}

/* RINGS: r1 of n1, n2 and n3, and n4 in no ring. */
#define RINGS(lines) HEAD "TopologyPlugin=topology/ring\n" lines T "RingName=r1 Nodes=n[1-3]\n"

static void nodes_name_positions_of_rings(void **state)
{
    static const struct test_refusal v[] = {
        {RINGS("NodeName=n[1-2]\nNodeName=n3 Topology=default:r1\n"),
         "t.conf:4: ", "Topology=default:r1: a position from 0 to 15 is expected behind ring 'r1'"},
        {RINGS("NodeName=n[1-2]\nNodeName=n3 Topology=default:r1:16\n"),
         "t.conf:4: ", "a position from 0 to 15"},
        {RINGS("NodeName=n[1-2]\nNodeName=n3 Topology=default:r1:x\n"),
         "t.conf:4: ", "a position from 0 to 15"},
        {RINGS("NodeName=n[1-2]\nNodeName=n3 Topology=default:r1:+1\n"),
         "t.conf:4: ", "a position from 0 to 15"},
        {RINGS("NodeName=n[1-2]\nNodeName=n3 Topology=default:r1:0,default:r2:0\n"),
         "t.conf:4: ", "Topology=default:r1:0,default:r2:0: a node has one place in topology"},
        {RINGS("NodeName=n[1-2]\nNodeName=n3 Topology=default::0\n"),
         "t.conf:4: ", "'' is not a name of a ring"},
    };
    (void)state;
    test_warned(v, COUNT(v));
    assert_network(RINGS("NodeName=n[1-3]\nNodeName=n4 Topology=default:r1:1\n"),
                   "r1:0:1 n1 n4 n2 n3");
    assert_network(RINGS("NodeName=n1 Topology=default:r1:2\nNodeName=n[2-3]\n"),
                   "r1:0:1 n2 n3 n1");
    assert_network(RINGS("NodeName=n[1-3]\nNodeName=n4 Topology=default:r1:4\n"
                         "NodeName=n5 Topology=default:r1:3\n"),
                   "r1:0:1 n1 n2 n3 n5 n4");
    assert_network(RINGS("NodeName=n[1-2]\nNodeName=n3 Topology=default:r2:1\n"
                         "NodeName=n[4-5] Topology=default:r2:0\n"),
                   "r1:0:1 n1 n2|r2:0:1 n4 n3 n5");
    assert_network(
        RINGS("NodeName=n[1-3]\nNodeName=m[1-14] Topology=default:r1:3\n"), /* m14 has no place */
        "r1:0:1 n1 n2 n3 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13");
    assert_network(RINGS("NodeName=n[1-2]\nNodeName=n3 Topology=other:x\n"), "r1:0:1 n1 n2");
}

static void nodes_are_placed_anew_in_rings(void **state)
{
    static const struct {
        const char *placed[5], *expected;
    } v[] = {
        {{NULL}, "r1:0:1 n1 n2 n3"},
        {{NULL, NULL, NULL, "default:r1:0"}, "r1:0:1 n4 n1 n2 n3"},
        {{"default:r2:0", "", NULL, "default:r2:1", "default:r1:1"}, "r1:0:1 n3 n5|r2:0:1 n1 n4"},
        {{NULL}, "r1:0:1 n1 n2 n3"},
    };
    static const struct {
        const char *units;
        size_t count;
        const char *says; /* NULL: none */
    } checked[] = {
        {"default:r1:0", 1, NULL},
        {"default:r1:3", 13, NULL},
        {"default:r1:4", 1, "ring 'r1' has 3 nodes: use a position up to 3"},
        {"default:r1:3", 14, "ring 'r1' would have 17 nodes, a ring has at most 16"},
        {"default:r2:0", 2, NULL},
        {"default:r2:1", 1, "ring 'r2' is new: its first position is 0"},
        {"default:r1", 1, "a position from 0 to 15 is expected behind ring 'r1'"},
        {"default:r1:+1", 1, "a position from 0 to 15 is expected behind ring 'r1'"},
        {"default:r1:0,default:r2:0", 1, "a node has one place in topology 'default'"},
        {"default:a=b:0", 1, "'a=b' is not a name of a ring"},
    };
    struct conf *c = test_load(RINGS("NodeName=n[1-5]\n"), NULL);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        assert_int_equal(conf_topo_place(c, v[i].placed, NULL), 0);
        format_network(c, &out);
        assert_string_equal(str_cstr(&out), v[i].expected);
    }
    for (size_t i = 0; i < COUNT(checked); i++)
        check_units(c, checked[i].units, checked[i].count, checked[i].says);
    conf_free(c);
}

/* Always from the state of the file: nothing is left of an earlier call. */
static void nodes_are_placed_anew(void **state)
{
    static const char text[] =
        HEAD "TopologyPlugin=topology/tree\nNodeName=n[1-3]\nNodeName=n4 Topology=default:s3\n" T
             "SwitchName=top Switches=s[1-2]\n" T "SwitchName=s1 Nodes=n[1-2]\n" T
             "SwitchName=s2 Nodes=n3\n";
    static const char as_written[] = "top:1:1 n1 n2 n3|s1:0:1<top n1 n2|s2:0:1<top n3|s3:0:1 n4";
    static const struct {
        const char *placed[4], *expected;
    } v[] = {
        {{NULL}, as_written},
        {{"default:s2", NULL, NULL, "default:s1"},
         "top:1:1 n1 n2 n3 n4|s1:0:1<top n2 n4|s2:0:1<top n1 n3"},
        {{"default:top:m:s4", "", "", ""},
         "top:2:1 n1|s1:0:1<top|s2:0:1<top|m:1:1<top n1|s4:0:1<m n1"},
        {{"", NULL, "default:top", NULL}, "top:1:1 n2 n3|s1:0:1<top n2|s2:0:1<top n3|s3:0:1 n4"},
        {{NULL}, as_written},
    };
    struct conf *c = test_load(text, NULL);
    struct str out = STR_INIT;
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        assert_int_equal(conf_topo_place(c, v[i].placed, NULL), 0);
        str_clear(&out);
        format_network(c, &out);
        assert_string_equal(str_cstr(&out), v[i].expected);
    }
    const char *deep[] = {"default:a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q", NULL, NULL, NULL};
    struct err err = {0};
    assert_int_equal(conf_topo_place(c, deep, &err), -ERR_CONFIG);
    assert_non_null(strstr(err.text, "more than 16 levels"));
    assert_int_equal(conf_topo_place(c, NULL, NULL), 0);
    str_clear(&out);
    format_network(c, &out);
    assert_string_equal(str_cstr(&out), as_written);
    str_done(&out);
    conf_free(c);
}

static void invalid_units_of_nodes_are_reported(void **state)
{
    static const struct {
        const char *units, *says; /* NULL: none */
    } v[] = {
        {"", NULL},
        {"a:s1,b:b1", NULL},
        {"a:new", NULL},
        {"a:top:new:newer", NULL},
        {"a:top:s1", NULL},
        {"x:s1", "Topology=x:s1: unknown topology 'x'"},
        {"a", "Topology=a: expected TOPOLOGY:UNIT"},
        {"a:top", "'top' is not a leaf switch of topology a"},
        {"a:s1:s2", "'s1' is not a switch above others of topology a"},
        {"a:other:s1", "'s1' is not below the switch named before it"},
        {"a:new:s1", "'s1' is not below the switch named before it"},
        {"b:b1:b2", "'b1' is not a block of topology b"},
        {"c:x", "Topology=c:x: topology c is flat and has no units"},
    };
    struct conf *c = test_load(
        HEAD "NodeName=n[1-3]\nTopologyConf=a:tree:default\n" T "SwitchName=top Switches=s1\n" T
             "SwitchName=other Switches=s2\n" T "SwitchName=s1 Nodes=n[1-2]\n" T
             "SwitchName=s2 Nodes=n3\nTopologyConf=b:block\n" T
             "BlockName=b1 Nodes=n[1-3]\nTopologyConf=c:flat\n",
        NULL);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++)
        check_units(c, v[i].units, 1, v[i].says);
    conf_free(c);
}

static void topologies_are_shown_by_name(void **state)
{
    static const char text[] = TREE "TopologyConf=a:tree\n" T "SwitchName=s1 Nodes=n[1-4]\n" T
                                    "SwitchName=s2 Nodes=n[5-8]\nTopologyConf=b:block:default\n" T
                                    "BlockName=b1 Nodes=n[1-8]\n";
    static const struct {
        const char *name, *of, *expected; /* NULL: refused */
    } v[] = {
        {NULL, NULL, "BlockName=b1 BlockIndex=0 Nodes=n[1-8] BlockSize=8\n"},
        {"b", "n1", "BlockName=b1 BlockIndex=0 Nodes=n[1-8] BlockSize=8\n"},
        {"b1", NULL, "BlockName=b1 BlockIndex=0 Nodes=n[1-8] BlockSize=8\n"},
        {"a", "s2", "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[5-8]\n"},
        {"a", "n1", "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-4]\n"},
        {"a", "b1", NULL},
        {"s1", NULL, NULL},
        {"c", "n1", NULL},
    };
    struct conf *c = test_load(text, NULL);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        struct err err = {0};
        int rc = conf_topo_format(c, v[i].name, v[i].of, &out, &err);
        if (rc != (v[i].expected ? 0 : -ERR_NO_NODE))
            fail_msg("case %zu: %d %s", i, rc, err.text);
        if (v[i].expected)
            assert_string_equal(str_cstr(&out), v[i].expected);
    }
    conf_free(c);
}

static void topology_files_are_read(void **state)
{
    static const struct {
        const char *plugin, *name, *text, *expected;
    } v[] = {
        {"topology/tree", "topology.conf",
         "# a comment\nSwitchName=a Nodes=n[1-8] # all\nswitchname=top switches=a\n",
         "a:0:1<top n1 n2 n3 n4 n5 n6 n7 n8|top:1:1 n1 n2 n3 n4 n5 n6 n7 n8"},
        {"topology/none", "topology.conf", "SwitchName=a Nodes=n[1-8]\n", ""},
        {"topology/tree", "topology.yaml",
         "---\n"
         "- topology: t1 # comment\n"
         "  cluster_default: true\n"
         "  tree:\n"
         "    switches:\n"
         "      - switch: top\n"
         "        children: s[1-2]\n"
         "      - switch: s1\n"
         "        nodes: \"n[1-4]\"\n"
         "      - nodes: [n5, n6,'n7', n8]\n"
         "        switch: s2\n",
         "top:1:1 n1 n2 n3 n4 n5 n6 n7 n8|s1:0:1<top n1 n2 n3 n4|s2:0:1<top n5 n6 n7 n8"},
        {"topology/tree", "topology.yaml",
         "%YAML 1.1\n"
         "---\n"
         "[{topology: t, tree: {switches: [\n"
         "  {switch: top, children: [s1, s2]}, {switch: s1, nodes: \"n[1-4]\"},\n"
         "  {switch: s2, nodes: 'n[5-8]'}]}}]\n"
         "...\n",
         "top:1:1 n1 n2 n3 n4 n5 n6 n7 n8|s1:0:1<top n1 n2 n3 n4|s2:0:1<top n5 n6 n7 n8"},
        {"topology/block", "topology.yaml",
         "- topology: other\n"
         "  tree:\n"
         "    switches:\n"
         "    - switch: s\n"
         "      nodes: n1\n"
         "- topology: mine\n"
         "  cluster_default: YES\n"
         "  block:\n"
         "    block_sizes:\n"
         "      - 4\n"
         "      - 8\n"
         "    blocks:\n"
         "    - block: b1\n"
         "      nodes: n[1-4]\n"
         "    - block: b2\n"
         "      nodes: n[5-8]\n"
         "- topology: more\n"
         "  cluster_default: No\n"
         "  block:\n"
         "    block_sizes: [2, 4]\n"
         "    blocks: \n"
         "    - block: b3\n"
         "      nodes: n[1-2]\n",
         "b1:0:1 n1 n2 n3 n4|b2:0:1 n5 n6 n7 n8|4,8"},
        {"topology/flat", "topology.yaml", /* the file decides */
         "- topology: x\n  tree:\n    switches:\n    - switch: s\n      nodes: n[1-8]\n",
         "s:0:1 n1 n2 n3 n4 n5 n6 n7 n8"},
        {"topology/tree", "topology.yaml", "- topology: x\n  flat: {alpha_step_rank: true}\n", ""},
        {"topology/tree", "topology.yaml",
         "- topology: x\n  flat: false\n  block:\n    blocks:\n    - block: a\n      nodes: n1\n",
         "a:0:1 n1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct test_files p;
        struct str out = STR_INIT;
        if (test_load_files(&p, v[i].plugin, v[i].name, v[i].text) != 0)
            fail_msg("case %zu: %s", i, p.err.text);
        format_network(p.conf, &out);
        assert_string_equal(str_cstr(&out), v[i].expected);
        str_done(&out);
        conf_free(p.conf);
    }
}

static void invalid_topology_files_are_refused(void **state)
{
    static const struct {
        const char *name, *text, *place, *says;
    } v[] = {
        {"topology.conf", "SwitchName=a Nodes=n1\nSwitchName=b Switches=c\n",
         "topology.conf:2: ", "there is no switch c"},
        {"topology.yaml", "", "slurm.conf:2: ", "no lines"},
        {"topology.yaml", "topology: x\n", "topology.yaml:1:", "expected '- topology"},
        {"topology.yaml", "- topology: x\n  tree:\n\tswitches:\n", "topology.yaml:3:", "a tab"},
        {"topology.yaml", "- topology: x\n  tree: {a: b}\n", "topology.yaml:2:", "unknown key a"},
        {"topology.yaml",
         "- topology: x\n  tree:\n    switches:\n    - &s\n      switch: a\n    - *s\n",
         "topology.yaml:6:", "aliases"},
        {"topology.yaml", "- topology: x\n---\n- topology: y\n", "topology.yaml:2:", "document"},
        {"topology.yaml", "- topology: x\n  tree: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[a\n",
         "topology.yaml:2:", "in one another"},
        {"topology.yaml", "- topology: x\n",
         "topology.yaml:1:3: ", "expected tree:, block:, ring:, torus3d: or"},
        {"topology.yaml", "- flat: true\n",
         "topology.yaml:1:3: ", "a topology without a name: add 'topology: NAME'"},
        {"topology.yaml", "- topology: a:b\n  flat: true\n", "topology.yaml:1:13: ", "one name"},
        {"topology.yaml", "- topology: x\n  flat: true\n  tree:\n",
         "topology.yaml:3:3: ", "the topology is a flat already"},
        {"topology.yaml", "- topology: x\n  flat: {rank: 1}\n",
         "topology.yaml:2:10: ", "unknown key rank of a flat topology"},
        {"topology.yaml", "- topology: x\n  flat: true\n- topology: x\n  flat: true\n",
         "topology.yaml:3:3: ", "topology x is defined twice"},
        {"topology.yaml", "- topology: x\n  tree:\n    switches:\n    - switch: a\n  block:\n",
         "topology.yaml:5:", "already"},
        {"topology.yaml", "- topology: x\n  flat: true\n- a\n",
         "topology.yaml:3:", "'a': expected"},
        {"topology.yaml", "- topology: x\n  tree:\n    switches: all\n",
         "topology.yaml:3:", "expected a list"},
        {"topology.yaml", "- topology: x\n  tree:\n    switches:\n    - switch: {a: b}\n",
         "topology.yaml:4:", "a word"},
        {"topology.yaml", "- topology: x\n  block:\n    switches:\n    - switch: a\n",
         "topology.yaml:3:", "unknown key switches of a block topology"},
        {"topology.yaml",
         "- topology: x\n  tree:\n    switches:\n    - switch: a\n      nodes: [n[1-2], n3]\n",
         "topology.yaml:5:", "a word with brackets lacks quotes"},
        {"topology.yaml", "- topology: x\n  [a]: b\n", "topology.yaml:2:", "a word as key"},
        {"topology.yaml", "- topology: x\n  cluster_default: maybe\n  flat: true\n",
         "topology.yaml:2:20: ", "cluster_default: expected true or false, not 'maybe'"},
        {"topology.yaml", "- topology: x\n  cluster_default: [true]\n  flat: true\n",
         "topology.yaml:2:20: ", "cluster_default: expected true or false"},
        {"topology.yaml", "- topology: x\n  flat: 1\n",
         "topology.yaml:2:9: ", "flat: expected true or false, not '1'"},
        {"topology.yaml", "- topology: x\n  flat: {alpha_step_rank: on}\n",
         "topology.yaml:2:27: ", "alpha_step_rank: expected true or false, not 'on'"},
        {"topology.yaml", "- topology: x\n  tree:\n    switches:\n    - switch: \"a\\0b\"\n",
         "topology.yaml:4:", "NUL"},
        {"topology.yaml", "- topology: x\n  tree: \"\xff\"\n", "topology.yaml:2:", "UTF-8"},
        {"topology.yaml", "- topology: x\n  tree:\n  block\n", "topology.yaml:", "':'"},
        {"topology.yaml", "- topology: x\n  ring:\n    rings:\n    - ring: a\n      children: b\n",
         "topology.yaml:5:", "unknown key children of a ring"},
        {"topology.yaml", "- topology: x\n  ring:\n    block_sizes: 4\n",
         "topology.yaml:3:", "unknown key block_sizes of a ring topology"},
        {"topology.yaml", "- topology: x\n  ring:\n    rings: []\n",
         "topology.yaml:1:", "topology x has no rings"},
        {"topology.yaml", "- topology: x\n  colour: red\n",
         "topology.yaml:2:", "unknown key colour"},
        {"topology.yaml", "- topology: x\n  tree:\n    switches:\n    - nodes: n1\n",
         "topology.yaml:4:", "without switch"},
        {"topology.yaml",
         "- topology: x\n  tree:\n    switches:\n    - switch: a\n      ports: 3\n",
         "topology.yaml:5:", "unknown key ports"},
        {"topology.yaml",
         "- topology: x\n  tree:\n    switches:\n    - switch: a\n      nodes: [n1\n",
         "topology.yaml:5:", "not closed"},
        {"topology.yaml", "- topology: x\n  tree:\n    switches:\n\n    - switch: a\n",
         "topology.yaml:5:", "one of them"},
        {"topology.yaml",
         "- topology: x\n  tree:\n    switches:\n    - switch: a\n      nodes: n1\n"
         "    - switch: a\n      nodes: n2\n",
         "topology.yaml:6:", "twice"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct test_files p;
        if (test_load_files(&p, "topology/tree", v[i].name, v[i].text) == 0)
            fail_msg("case %zu is accepted", i);
        if (!strstr(p.err.text, v[i].place) || !strstr(p.err.text, v[i].says))
            fail_msg("case %zu: %s", i, p.err.text);
    }
}

static void functions_name_nodes(void **state)
{
    static const struct {
        const char *word, *nodes; /* NULL: an error, with this text: */
        const char *says;
    } v[] = {
        {"switch{s1}", "n1 n2"},
        {"switch{top}", "n1 n2 n3 n4"},
        {"switchwith{n3}", "n3 n4"},
        {"block{b1}", "n1 n2 n3"},
        {"block{b2}", "n4"},
        {"blockwith{n4}", "n4"},
        {"feature{big}", "n1 n3"},
        {"feature{absent}", ""},
        {"block{s1}", NULL, "block{s1}: no topology has a block of this name"},
        {"switch{b1}", NULL, "no topology has a switch of this name"},
        {"switchwith{n5}", NULL, "switchwith{n5}: no switch has a node of this name"},
        {"blockwith{n9}", NULL, "no block has a node of this name"},
        {"ring{r1}", NULL, "no topology has a ring of this name"},
        {"ringwith{n1}", NULL, "no ring has a node of this name"},
        {"torus{t1}", "n1 n4"},
        {"toruswith{n4}", "n1 n4"},
        {"torus{t2}", NULL, "torus{t2}: no topology has a torus of this name"},
        {"toruswith{n5}", NULL, "no torus has a node of this name"},
    };
    static const char *const others[] = {"n1", "block{b1", "blocks{b1}", "{b1}", "block", ""};
    struct conf *c = test_load(
        HEAD "NodeName=n[1,3] Feature=big,fast\nNodeName=n[2,4-5]\nTopologyConf=a:block\n" T
             "BlockName=b1 Nodes=n[1-3]\n" T
             "BlockName=b2 Nodes=n4\nTopologyConf=b:tree:default\n" T
             "SwitchName=top Switches=s[1-2]\n" T "SwitchName=s1 Nodes=n[1-2]\n" T
             "SwitchName=s2 Nodes=n[3-4]\nTopologyConf=c:torus3d\n" T
             "TorusName=t1 Dims=2x1x1 Nodes=n[1,4]\n" T "Placement=1x1x1\n"
             "PartitionName=p Nodes=block{b2},feature{big},switch{s1}\n",
        NULL);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len);
        _cleanup_str_ struct str out = STR_INIT;
        struct err err = {0};
        int rc = conf_add_function(c, v[i].word, set, &err);
        assert_int_equal(rc, v[i].nodes ? 1 : -ERR_NO_NODE);
        char names[5][3] = {"", "", "", "", ""};
        size_t count = 0;
        bitset_foreach (set, node)
            snprintf(names[count++], 3, "%s", c->nodes.data[node].name);
        qsort(names, count, sizeof names[0], (int (*)(const void *, const void *))strcmp);
        for (size_t k = 0; k < count; k++)
            str_printf(&out, "%s%s", k ? " " : "", names[k]);
        assert_string_equal(str_cstr(&out), v[i].nodes ? v[i].nodes : "");
        if (v[i].says && !strstr(err.text, v[i].says))
            fail_msg("%s: %s", v[i].word, err.text);
    }
    for (size_t i = 0; i < COUNT(others); i++)
        assert_int_equal(conf_add_function(c, others[i], NULL, NULL), 0);
    assert_int_equal(bitset_count(c->parts.data[0].node_set), 4);
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_topologies_are_refused),
        cmocka_unit_test(doubtful_topologies_are_warned_about),
        cmocka_unit_test(switch_lines_build_the_network),
        cmocka_unit_test(topology_files_are_read),
        cmocka_unit_test(invalid_topology_files_are_refused),
        cmocka_unit_test(partitions_choose_a_network),
        cmocka_unit_test(topologies_are_shown_by_name),
        cmocka_unit_test(nodes_name_their_units),
        cmocka_unit_test(a_new_configuration_names_the_topologies_that_change),
        cmocka_unit_test(nodes_are_placed_anew),
        cmocka_unit_test(nodes_name_positions_of_rings),
        cmocka_unit_test(nodes_are_placed_anew_in_rings),
        cmocka_unit_test(invalid_units_of_nodes_are_reported),
        cmocka_unit_test(functions_name_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
