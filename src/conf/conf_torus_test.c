/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Toruses: as rows, by topology.yaml, and as they are shown. */
#include "conf/conf_topo_test_util.h"

#define NET HEAD "NodeName=n[1-8]\nTopologyConf=net:torus3d\n"
#define T "TopologyConf=1 "
#define CUBE "TorusName=t Dims=2x2x2 Nodes=n[1-8]\n"

static void invalid_toruses_are_refused(void **state)
{
    static const struct test_refusal v[] = {
        {HEAD "TopologyPlugin=topology/torus3d\nNodeName=n1\n" T
              "TorusName=t Dims=1x1x1 Nodes=n1\n",
         "t.conf:2: ", "toruses cannot be in topology.conf: write them in topology.yaml"},
        {HEAD "TopologyPlugin=tree\nNodeName=n1\n" T CUBE,
         "t.conf:4: ", "takes lines of SwitchName="},
        {NET, "t.conf:3: ", "topology net has no toruses"},
        {NET T "Placement=1x1x1\n", "t.conf:4: ", "expected TorusName= before"},
        {NET T "RingName=r Nodes=n1\n", "t.conf:4: ", "takes lines of TorusName="},
        {NET T "TorusName=t Dims=2x2x2 Placement=1x1x1\n", "t.conf:4: ", "a line begins with"},
        {NET T "TorusName=t[1-2] Dims=2x2x2\n", "t.conf:4: ", "expected one name"},
        {NET T "TorusName=t\n", "t.conf:4: ", "expected Dims=XxYxZ"},
        {NET T "TorusName=t Dims=2x2\n", "t.conf:4: ", "Dims=2x2: expected XxYxZ"},
        {NET T "TorusName=t Dims=2x2x0\n", "t.conf:4: ", "each a number of at least 1"},
        {NET T "TorusName=t Dims=2x2x2x2\n", "t.conf:4: ", "expected XxYxZ"},
        {NET T "TorusName=t Dims=2x2x99999999999\n", "t.conf:4: ", "expected XxYxZ"},
        {NET T "TorusName=t Dims=100x100x21\n",
         "t.conf:4: ", "torus t: 100x100x21 cells, all toruses of a topology have at most 200000"},
        {NET T CUBE T "TorusName=u Dims=200000x1x1\n", "t.conf:5: ", "have at most 200000"},
        {NET T CUBE T CUBE, "t.conf:5: ", "t is defined twice"},
        {NET T "TorusName=t Dims=2x1x1 Nodes=n[1-3]\n",
         "t.conf:4: ", "torus t: 3 nodes for 2 cells: leave out nodes, or enlarge dims"},
        {NET T "TorusName=t Dims=2x1x1 Nodes=n[1\n", "t.conf:4: ", "nodes: n[1: "},
        {NET T "TorusName=t Dims=2x2x2\n" T "Region=0x0x1 Dims=2x2x2 Nodes=n1\n",
         "t.conf:5: ", "torus t: the region ends at z: 2, expected at most 1 (anchor and dims)"},
        {NET T "TorusName=t Dims=2x2x2\n" T "Region=0x0x0 Dims=2x1x1 Nodes=n[1-2]\n" T
               "Region=1x0x0 Dims=1x1x1 Nodes=n3\n",
         "t.conf:6: ", "torus t: n3 is in the cell of n2: regions may not overlap"},
        {NET T "TorusName=t Dims=2x2x2\n" T "Region=0x0x0 Nodes=n1\n",
         "t.conf:5: ", "expected Dims=XxYxZ"},
        {NET T "TorusName=t Dims=2x2x2\n" T "Region=0x0x0 Dims=1x1x1\n",
         "t.conf:5: ", "a region without nodes:"},
        {NET T CUBE T "Placement=2x3x1\n",
         "t.conf:5: ", "torus t: a placement of y: 3, expected at most 2"},
        {NET T CUBE T "Placement=2x1x1 AnchorSeed=0x0x2\n",
         "t.conf:5: ", "torus t: an anchor_seed of z: 2, expected at most 1"},
        {NET T CUBE T "Placement=2x1x1 AnchorSpacing=0x1x1\n",
         "t.conf:5: ", "AnchorSpacing=0x1x1: expected XxYxZ, each a number of at least 1"},
    };
    (void)state;
    test_refused(v, COUNT(v));
}

static void toruses_that_waste_cells_or_nodes_are_reported(void **state)
{
    static const struct test_refusal v[] = {
        {NET T "TorusName=t Dims=3x3x1 Nodes=n[1-8]\n" T "Placement=1x1x1\n",
         "t.conf:4: ", "torus t: 8 nodes for 9 cells: the last ones are empty"},
        {NET T "TorusName=t Dims=3x3x1 Nodes=n[1-4],m1,n[5-8]\n" T "Placement=1x1x1\n",
         "t.conf:4: ",
         "torus t: 1 of its nodes are not in slurm.conf, the first is m1: their cells are empty"},
        {NET T "TorusName=t Dims=3x3x1 Nodes=n[1-8],n3\n" T "Placement=1x1x1\n", "t.conf:4: ",
         "torus t: 1 of its nodes are in a cell already, the first is n3: their further cells"},
        {NET T "TorusName=t Dims=7x1x1 Nodes=n[1-7]\n" T "Placement=1x1x1\n", "t.conf:4: ",
         "1 nodes are in no torus, the first is n8: jobs that this topology places get none"},
        {NET T CUBE, "t.conf:4: ", "torus t has no placements: no job gets nodes of it"},
    };
    (void)state;
    test_warned(v, COUNT(v));
}

/* The file with 'count' placements; where the text is refused, err says so. */
static int load_placements(unsigned count, struct conf **c, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    str_puts(&text, NET T CUBE);
    for (unsigned i = 0; i < count; i++)
        str_printf(&text, T "Placement=%ux%ux%u\n", i % 2 + 1, i / 2 % 2 + 1, i / 4 % 2 + 1);
    return conf_load_text(str_cstr(&text), text.len, "t.conf", CONF_FULL, NULL, c, NULL, err);
}

static void a_torus_has_64_placements_at_most(void **state)
{
    struct conf *c = NULL;
    struct err err = {0};
    (void)state;
    assert_int_equal(load_placements(64, &c, &err), 0);
    assert_int_equal(conf_default_network(c)->switches.data[0].placements.len, 64);
    conf_free(c);
    c = NULL;
    assert_int_equal(load_placements(65, &c, &err), -ERR_CONFIG);
    assert_null(c);
    assert_string_equal(err.text, "t.conf:69: torus t: more than 64 placements");
}

static void show_cells(const struct conf *c, struct str *out)
{
    str_clear(out);
    vec_foreach (&conf_default_network(c)->switches, s) {
        str_printf(out, "%s%s:", out->len ? "|" : "", s->name);
        vec_foreach (&s->cells, node) {
            const char *name = *node == CONF_NO_NODE ? "-" : c->nodes.data[*node].name;
            assert_true(*node == CONF_NO_NODE || bitset_test(s->node_set, *node));
            str_printf(out, " %s", name);
        }
    }
}

/* Always from the state of the file: nothing is left of an earlier call. */
static void nodes_are_placed_anew(void **state)
{
    static const char text[] = NET T "TorusName=a Dims=2x2x1 Nodes=n[1-2],m4,n3\n" T
                                     "Placement=2x1x1\n" T "TorusName=b Dims=2x1x1\n" T
                                     "Region=1x0x0 Dims=1x1x1 Nodes=n7\n" T "Placement=1x1x1\n";
    static const char as_written[] = "a: n1 n2 - n3|b: - n7";
    static const struct {
        const char *placed[8], *expected;
    } v[] = {
        {{NULL}, as_written},
        {{"net:a:0:1:0"}, "a: - n2 n1 n3|b: - n7"},
        {{"net:a:1:0:0", "net:a:0:0:0"}, "a: n2 n1 - n3|b: - n7"}, /* they change places */
        {{"net:b:0:0:0", NULL, "", NULL, "net:a:0:0:0"}, "a: n5 n2 - -|b: n1 n7"},
        {{NULL, NULL, NULL, "net:a:0:0:0"}, as_written}, /* n1 is there */
        {{NULL, NULL, NULL, "net:a:0:1:0", "net:a:0:1:0"}, "a: n1 n2 n4 n3|b: - n7"},
        {{"net:a:9:0:0"}, as_written},
        {{"", "", "", "", "", "", "", ""}, "a: - - - -|b: - -"},
        {{NULL}, as_written},
    };
    struct conf *c = test_load(text, NULL);
    _cleanup_str_ struct str out = STR_INIT;
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        assert_int_equal(conf_topo_place(c, v[i].placed, NULL), 0);
        show_cells(c, &out);
        assert_string_equal(str_cstr(&out), v[i].expected);
    }
    conf_free(c);
}

static void invalid_positions_are_reported(void **state)
{
    static const struct {
        const char *units;
        size_t count;
        const char *says; /* NULL: none */
    } v[] = {
        {"net:t:1:1:0", 1, NULL},
        {"net:t:1:1:0", 2, "Topology=net:t:1:1:0: 2 nodes, a cell of a torus has one"},
        {"net:t:0:0:0", 1, "Topology=net:t:0:0:0: node n1 is in that cell"},
        {"net:t:2:0:0", 1, "Topology=net:t:2:0:0: X is 2, expected at most 1"},
        {"net:t:0:0:1", 1, "Z is 1, expected at most 0"},
        {"net:t", 1, "Topology=net:t: expected net:t:X:Y:Z"},
        {"net:t:1:1", 1, "expected net:t:X:Y:Z"},
        {"net:t:1:1:0:0", 1, "expected net:t:X:Y:Z"},
        {"net:t:1:x:0", 1, "expected net:t:X:Y:Z"},
        {"net:u:0:0:0", 1, "topology net has no torus 'u'"},
    };
    static const struct test_refusal in_file[] = {
        {HEAD "NodeName=n1 Topology=net:t:2:0:0\nNodeName=n2\nTopologyConf=net:torus3d\n" T
              "TorusName=t Dims=2x1x1 Nodes=n[1-2]\n" T "Placement=1x1x1\n",
         "t.conf:2: ", "X is 2, expected at most 1"},
    };
    struct conf *c = test_load(NET T "TorusName=t Dims=2x2x1 Nodes=n[1-3]\n", NULL);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct err err = {0};
        int rc = conf_topo_check_units(c, v[i].units, v[i].count, &err);
        if (!v[i].says != (rc == 0) || (v[i].says && !strstr(err.text, v[i].says)))
            fail_msg("%s: %d, %s", v[i].units, rc, err.text);
    }
    conf_free(c);
    test_warned(in_file, COUNT(in_file));
}

/* --- topology.yaml ---------------------------------------------------------------------------- */

#define YAML "- topology: net\n  torus3d:\n    toruses:\n"

static void invalid_files_are_refused(void **state)
{
    static const struct {
        const char *text, *place, *says;
    } v[] = {
        {"- topology: net\n  torus3d:\n    rings:\n",
         "topology.yaml:3:5: ", "unknown key rings of a torus3d topology"},
        {YAML, "topology.yaml:1:3: ", "topology net has no toruses"},
        {YAML "    - dims: {x: 1, y: 1, z: 1}\n", "topology.yaml:4:7: ", "a torus without name:"},
        {YAML "    - name: t\n", "topology.yaml:4:7: ", "torus t without dims:"},
        {YAML "    - name: t\n      size: 4\n",
         "topology.yaml:5:7: ", "unknown key size of a torus"},
        {YAML "    - name: t\n      dims: 4\n",
         "topology.yaml:5:13: ", "'4': expected 'key: value'"},
        {YAML "    - name: t\n      dims: {x: 2, y: 2}\n",
         "topology.yaml:5:13: ", "dims without z: expected x, y and z"},
        {YAML "    - name: t\n      dims: {x: 2, y: 2, w: 2}\n",
         "topology.yaml:5:26: ", "unknown key w of dims: expected x, y and z"},
        {YAML "    - name: t\n      dims: {x: 2, y: two, z: 1}\n",
         "topology.yaml:5:23: ", "y: 'two' of dims: expected a number from 1 to 200000"},
        {YAML "    - name: t\n      dims: {x: 2, y: 0, z: 1}\n",
         "topology.yaml:5:23: ", "y: '0' of dims: expected a number from 1 to 200000"},
        {YAML "    - name: t\n      dims: {x: 2, y: 1, z: 1}\n      nodes: n1\n      regions:\n",
         "topology.yaml:7:7: ", "torus t has nodes: and regions:, expected one of them"},
        {YAML "    - name: t\n      dims: {x: 2, y: 1, z: 1}\n      regions:\n"
              "      - dims: {x: 1, y: 1, z: 1}\n        nodes: n1\n",
         "topology.yaml:7:9: ", "torus t: a region without anchor:"},
        {YAML "    - name: t\n      dims: {x: 2, y: 1, z: 1}\n      regions:\n"
              "      - anchor: {x: -1, y: 0, z: 0}\n",
         "topology.yaml:7:21: ", "x: '-1' of anchor: expected a number from 0"},
        {YAML "    - name: t\n      dims: {x: 2, y: 1, z: 1}\n      regions:\n"
              "      - anchor: {x: 1, y: 0, z: 0}\n        dims: {x: 2, y: 1, z: 1}\n"
              "        nodes: \"n[1-2]\"\n",
         "topology.yaml:7:9: ", "torus t: the region ends at x: 2, expected at most 1"},
        {YAML "    - name: t\n      dims: {x: 2, y: 1, z: 1}\n      regions:\n      - size: 1\n",
         "topology.yaml:7:9: ", "unknown key size of a region"},
        {YAML "    - name: t\n      dims: {x: 2, y: 1, z: 1}\n      nodes: \"n[1-2]\"\n"
              "      placements:\n      - anchor_seed: {x: 0, y: 0, z: 0}\n",
         "topology.yaml:8:9: ", "torus t: a placement without dims:"},
        {YAML "    - name: t\n      dims: {x: 2, y: 1, z: 1}\n      nodes: \"n[1-2]\"\n"
              "      placements:\n      - dims: {x: 4, y: 1, z: 1}\n",
         "topology.yaml:8:9: ", "torus t: a placement of x: 4, expected at most 2"},
        {YAML "    - name: t\n      dims: {x: 2, y: 1, z: 1}\n      placements:\n"
              "      - anchor: {x: 0, y: 0, z: 0}\n",
         "topology.yaml:7:9: ", "unknown key anchor of a placement: expected dims, anchor_seed or"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct test_files p;
        if (test_load_files(&p, "topology/torus3d", "topology.yaml", v[i].text) == 0)
            fail_msg("case %zu is accepted", i);
        if (!strstr(p.err.text, v[i].place) || !strstr(p.err.text, v[i].says))
            fail_msg("case %zu: %s", i, p.err.text);
    }
}

/* The example of the manual page in small; regions and anchors as in the guide. */
static const char given[] =
    "- topology: net\n"
    "  cluster_default: true\n"
    "  torus3d:\n"
    "    toruses:\n"
    "      - name: pod1\n"
    "        dims:\n"
    "          x: 2\n"
    "          y: 2\n"
    "          z: 1\n"
    "        nodes: n[1-4]\n"
    "        placements:\n"
    "          - dims:\n"
    "              x: 2\n"
    "              y: 1\n"
    "              z: 1\n"
    "      - name: pod2\n"
    "        dims: {x: 3, y: 2, z: 1}\n"
    "        regions:\n"
    "          - anchor: {x: 1, y: 0, z: 0}\n"
    "            dims: {x: 2, y: 1, z: 1}\n"
    "            nodes: n[7,8]\n"
    "          - {anchor: {x: 0, y: 1, z: 0}, dims: {x: 1, y: 1, z: 1}, nodes: n5}\n"
    "        placements:\n"
    "          - dims: {x: 1, y: 2, z: 1}\n"
    "            anchor_spacing: {x: 2, y: 2, z: 1}\n"
    "          - dims: {x: 1, y: 2, z: 1}\n"
    "            anchor_seed: {x: 1, y: 0, z: 0}\n";

static void torus_files_are_shown_unchanged(void **state)
{
    static const char shown[] =
        "TorusName=pod1 TorusIndex=0 Nodes=n[1-4] TorusSize=4 Dims=2x2x1 Placements=2x1x1\n"
        "TorusName=pod2 TorusIndex=1 Nodes=n[7-8,5] TorusSize=3 Dims=3x2x1 "
        "Placements=1x2x1,1x2x1\n";
    static const char written[] = "---\n"
                                  "- topology: net\n"
                                  "  cluster_default: true\n"
                                  "  torus3d:\n"
                                  "    toruses:\n"
                                  "      - name: pod1\n"
                                  "        dims: {x: 2, y: 2, z: 1}\n"
                                  "        nodes: \"n[1-4]\"\n"
                                  "        placements:\n"
                                  "          - dims: {x: 2, y: 1, z: 1}\n"
                                  "      - name: pod2\n"
                                  "        dims: {x: 3, y: 2, z: 1}\n"
                                  "        regions:\n"
                                  "          - anchor: {x: 1, y: 0, z: 0}\n"
                                  "            dims: {x: 2, y: 1, z: 1}\n"
                                  "            nodes: \"n[7-8]\"\n"
                                  "          - anchor: {x: 0, y: 1, z: 0}\n"
                                  "            dims: {x: 1, y: 1, z: 1}\n"
                                  "            nodes: \"n5\"\n"
                                  "        placements:\n"
                                  "          - dims: {x: 1, y: 2, z: 1}\n"
                                  "            anchor_spacing: {x: 2, y: 2, z: 1}\n"
                                  "          - dims: {x: 1, y: 2, z: 1}\n"
                                  "            anchor_seed: {x: 1, y: 0, z: 0}\n";
    (void)state;
    for (int i = 0; i < 2; i++) { /* the output is read as the same configuration */
        struct test_files p;
        _cleanup_str_ struct str lines = STR_INIT, yaml = STR_INIT;
        if (test_load_files(&p, "topology/flat", "topology.yaml", i ? written : given) != 0)
            fail_msg("%s", p.err.text);
        assert_int_equal(conf_topo_format(p.conf, NULL, NULL, &lines, NULL), 0);
        assert_string_equal(str_cstr(&lines), shown);
        conf_topo_format_yaml(p.conf, &yaml);
        assert_string_equal(str_cstr(&yaml), written);
        conf_free(p.conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_toruses_are_refused),
        cmocka_unit_test(toruses_that_waste_cells_or_nodes_are_reported),
        cmocka_unit_test(a_torus_has_64_placements_at_most),
        cmocka_unit_test(nodes_are_placed_anew),
        cmocka_unit_test(invalid_positions_are_reported),
        cmocka_unit_test(invalid_files_are_refused),
        cmocka_unit_test(torus_files_are_shown_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
