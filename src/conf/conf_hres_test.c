/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources, by resources.yaml and by lines. */
#include "conf/conf_test_util.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

#define H HEAD "NodeName=n[1-8]\n"
#define R "HresConf=r "

/* "n[1-4]:COUNT-BASE=INDEX,INDEX" of each layer, in their order. */
static void format_layers(const struct conf *c, struct str *out)
{
    vec_foreach (&c->hres.list, h) {
        str_printf(out, "%s%s/%d", out->len ? "|" : "", h->name, (int)h->mode);
        vec_foreach (&h->variables, v)
            str_printf(out, " %s=%llu", v->name, (unsigned long long)v->value);
        vec_foreach (&h->layers, layer) {
            str_printf(out, " %s:", layer->nodes);
            if (layer->count == CONF_HRES_UNLIMITED)
                str_puts(out, "inf");
            else
                str_printf(out, "%llu", (unsigned long long)layer->count);
            if (layer->base)
                str_printf(out, "-%llu", (unsigned long long)layer->base);
            str_printf(out, "=%zu", bitset_count(layer->node_set));
        }
    }
}

/* Four blocks of two nodes, and two of four. */
#define BLOCKS                                                                                     \
    H "TopologyPlugin=topology/block\nTopologyConf=1 BlockName=b1 Nodes=n[1-2]\n"                  \
      "TopologyConf=1 BlockName=b2 Nodes=n[3-4]\nTopologyConf=1 BlockName=b3 Nodes=n[5-6]\n"       \
      "TopologyConf=1 BlockName=b4 Nodes=n[7-8]\nTopologyConf=1 BlockSizes=2,4\n" R                \
      "Mode=MODE_3 Topology=t\n"
#define PAIRS                                                                                      \
    R "Nodes=n[1-2] Count=1\n" R "Nodes=n[3-4] Count=1\n" R "Nodes=n[5-6] Count=1\n" R             \
      "Nodes=n[7-8] Count=1\n"
/* As topology.yaml has them. */
#define YAML                                                                                       \
    H "TopologyConf=switches:tree:default\nTopologyConf=1 SwitchName=s Nodes=n[1-8]\n"             \
      "TopologyConf=blocks:block\nTopologyConf=1 BlockName=b1 Nodes=n[1-4]\n"                      \
      "TopologyConf=1 BlockName=b2 Nodes=n[5-8]\n"

static void invalid_lines_are_refused(void **state)
{
    static const struct test_refusal v[] = {
        {H R "Nodes=n1 Count=1\n", "t.conf:3: ", "expected after Mode="},
        {H R "Mode=MODE_4\n", "t.conf:3: ", "expected MODE_1, MODE_2 or MODE_3"},
        {H R "Mode=MODE_1\n", "t.conf:3: ", "has no layers"},
        {H R "Mode=MODE_1 Topology=b\n", "t.conf:3: ", "topology is for MODE_3"},
        {H R "Mode=MODE_1 Variables=a\n", "t.conf:3: ", "expected NAME:VALUE"},
        {H R "Mode=MODE_1 Variables=a:1,a:2\n", "t.conf:3: ", "defined twice"},
        {H R "Mode=MODE_1 Variables=a:1000000001\n", "t.conf:3: ", "expected at most 1000000000"},
        {H "HresConf=-r Mode=MODE_1\n", "t.conf:3: ", "does not begin with -"},
        {H R "Mode=MODE_1\n" R "Nodes=n1\n", "t.conf:4: ", "expected Nodes= and Count="},
        {H R "Mode=MODE_1\n" R "Nodes=n[1 Count=1\n", "t.conf:4: ", "Nodes=n[1: "},
        {H R "Mode=MODE_1\n" R "Nodes=n1 Count=-2\n", "t.conf:4: ", "Count=-2"},
        {H R "Mode=MODE_1\n" R "Nodes=n1 Count=1\n" R "Mode=MODE_2\n",
         "t.conf:5: ", "on line 3 already"},
        {H R "Mode=MODE_1\n" R "Nodes=n[1-2] Count=1\n" R "Nodes=n2,n1 Count=2\n",
         "t.conf:5: ", "has the nodes of the layer on line 4"},
        /* HRES-10 */
        {H "Licenses=q,r:5\n" R "Mode=MODE_1\n" R "Nodes=n1 Count=1\n",
         "t.conf:4: ", "t.conf:3 has Licenses=q,r:5"},
        /* HRES-33: two roots, uneven depth in two ways, overlap */
        {H R "Mode=MODE_3\n" R "Nodes=n[1-2] Count=1\n" R "Nodes=n[3-5] Count=1\n",
         "t.conf:4: ", "needs one layer that has all nodes"},
        {H R "Mode=MODE_3\n" R "Nodes=n[1-4] Count=1\n" R "Nodes=n[1-2] Count=1\n",
         "t.conf:4: ", "uniform depth"},
        {H R "Mode=MODE_3\n" R "Nodes=n[1-8] Count=1\n" R "Nodes=n[1-4] Count=1\n" R
             "Nodes=n[5-8] Count=1\n" R "Nodes=n[1-2] Count=1\n" R "Nodes=n[3-4] Count=1\n",
         "t.conf:4: ", "uniform depth"},
        {H R "Mode=MODE_3\n" R "Nodes=n[1-8] Count=1\n" R "Nodes=n[1-4] Count=1\n" R
             "Nodes=n[4-8] Count=1\n",
         "t.conf:6: ", "overlap"},
        /* HRES-14 */
        {H "TopologyPlugin=topology/block\nTopologyConf=1 BlockName=b1 Nodes=n[1-4]\n"
           "TopologyConf=1 BlockName=b2 Nodes=n[5-8]\n" R "Mode=MODE_3 Topology=t\n" R
           "Nodes=n[1-8] Count=1\n" R "Nodes=n[1-3] Count=1\n" R "Nodes=n[4-8] Count=1\n",
         "t.conf:8: ", "no block of topology t has the nodes n[1-3]"},
        {BLOCKS R "Nodes=n[1-8] Count=1\n" R "Nodes=n[1-4] Count=1\n" R "Nodes=n[5-8] Count=1\n",
         "t.conf:11: ", "no block of topology t has the nodes n[1-4]"},
        {BLOCKS R "Nodes=n[1-8] Count=1\n" R "Nodes=n[1,2,5,6] Count=1\n" R
                  "Nodes=n[3,4,7,8] Count=1\n" PAIRS,
         "t.conf:11: ",
         "topology t does not join blocks to the nodes n[1-2,5-6]: layers above the "
         "blocks must be those of BlockSizes=2,4"},
        {BLOCKS R "Nodes=n[1-6] Count=1\n" R "Nodes=n[1-2] Count=1\n" R "Nodes=n[3-4] Count=1\n" R
                  "Nodes=n[5-6] Count=1\n",
         "t.conf:9: ", "no layer has the nodes of block b4 of topology t"},
        {YAML R "Mode=MODE_3 Topology=gone\n" R "Nodes=n[1-8] Count=1\n",
         "t.conf:8: ", "unknown topology 'gone': see topology.yaml"},
        {H "TopologyConf=default:block:default\nTopologyConf=1 BlockName=b1 Nodes=n[1-8]\n" R
           "Mode=MODE_3 Topology=gone\n" R "Nodes=n[1-8] Count=1\n",
         "t.conf:5: ", "unknown topology 'gone': see topology.yaml"},
        {YAML R "Mode=MODE_3 Topology=switches\n" R "Nodes=n[1-8] Count=1\n",
         "t.conf:8: ", "topology switches of topology.yaml has no blocks"},
        {YAML R "Mode=MODE_3 Topology=blocks\n" R "Nodes=n[1-8] Count=1\n" R
                "Nodes=n[1-2] Count=1\n" R "Nodes=n[3-8] Count=1\n",
         "t.conf:10: ", "no block of topology blocks has the nodes n[1-2]"},
    };
    (void)state;
    test_refused(v, COUNT(v));
}

static void doubtful_lines_are_warned_about(void **state)
{
    static const struct test_refusal v[] = {
        {H R "Mode=MODE_1\n" R "Nodes=n[1-9] Count=1\n",
         "t.conf:4: ", "node n9 of this layer of r is not in slurm.conf"},
        {H R "Mode=MODE_2\n" R "Nodes=n1 Count=1 Base=a:2\n", "t.conf:4: ", "jobs get none"},
        {H R "Mode=MODE_3 Topology=t\n" R "Nodes=n1 Count=1\n",
         "t.conf:3: ", "topology t is ignored"},
    };
    static const char *const silent[] = {
        H R "Mode=MODE_1\n" R "Nodes=n1 Count=0\n" R "Nodes=n[1-2] Count=-1\n",
        H "MaxNodeCount=20\n" R "Mode=MODE_3\n" R "Nodes=n[1-12] Count=-1\n",
        H "TopologyPlugin=topology/block\nTopologyConf=1 BlockName=b1 Nodes=n[1-4]\n"
          "TopologyConf=1 BlockName=b2 Nodes=n[5-8]\n" R "Mode=MODE_3 Topology=t\n" R
          "Nodes=n[1-8] Count=1\n" R "Nodes=n[1-4] Count=1\n" R "Nodes=n[5-8] Count=1\n",
        BLOCKS R "Nodes=n[1-8] Count=1\n" R "Nodes=n[1-4] Count=1\n" R
                 "Nodes=n[5-8] Count=1\n" PAIRS,
        BLOCKS R "Nodes=n[1-8] Count=1\n" PAIRS,
        YAML R "Mode=MODE_3 Topology=blocks\n" R "Nodes=n[1-8] Count=1\n" R
               "Nodes=n[1-4] Count=1\n" R "Nodes=n[5-8] Count=1\n",
    };
    (void)state;
    test_warned(v, COUNT(v));
    test_silent(silent, COUNT(silent));
}

/* --- files beside slurm.conf --- */

struct place {
    struct conf *conf;
    struct conf_report report;
    struct str warnings;
    struct err err;
};

static void write_file(const char *dir, const char *name, const char *text, size_t len)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
}

static int load_bytes(struct place *p, const char *nodes, const char *text, size_t len)
{
    char dir[] = "/tmp/hres-test.XXXXXX";
    *p = (struct place){0};
    assert_non_null(mkdtemp(dir));
    _cleanup_free_ char *path = mem_printf("%s/slurm.conf", dir),
                        *other = mem_printf("%s/resources.yaml", dir),
                        *conf = mem_printf(HEAD "NodeName=%s\n", nodes);
    write_file(dir, "slurm.conf", conf, strlen(conf));
    write_file(dir, "resources.yaml", text, len);
    int rc = conf_load(path, CONF_FULL, NULL, &p->conf, &p->report, &p->err);
    conf_report_format(&p->report, &p->warnings);
    conf_report_done(&p->report);
    unlink(path);
    unlink(other);
    rmdir(dir);
    return rc;
}

static int load_hres(struct place *p, const char *nodes, const char *text)
{
    return load_bytes(p, nodes, text, strlen(text));
}

#define FLAT                                                                                       \
    "flat/2 node[01-08]:12=8 node[09-16]:12=8 node[17-24]:12=8 node[25-32]:12=8 "                  \
    "node[01-16]:16=16 node[17-32]:16=16 node[01-32]:24=32"
#define NATURAL "natural/1 node[01-16]:100=16 node[17-32]:100=16 node[01-32]:50=32"
#define POWER                                                                                      \
    "power/3 full_node=1000 full_gpu_node=2000 node[01-08]:40000-5000=8 node[09-16]:40000=8 "      \
    "node[17-24]:40000=8 node[25-32]:40000=8 node[01-16]:60000-8000=16 node[17-32]:80000-2000=16 " \
    "node[01-32]:130000-28000=32"

/* HRES-01, HRES-02, HRES-04: three resources with counts for layers of nodes, each with layers of
 * its own, from the sample with its comments, tabs, quotes and lists of lists. */
static void sample_file_is_read(void **state)
{
    _cleanup_str_ struct str text = STR_INIT, out = STR_INIT;
    struct place p;
    (void)state;
    assert_int_equal(path_read_file(SOURCE_DIR "/tests/hres/sample.yaml", 1 << 20, &text, NULL), 0);
    assert_non_null(strstr(str_cstr(&text), "nodes:\t\t\t# highest level"));
    if (load_hres(&p, "node[01-32]", str_cstr(&text)) != 0)
        fail_msg("%s", p.err.text);
    format_layers(p.conf, &out);
    str_done(&p.warnings);
    assert_int_equal(p.conf->hres.list.len, 3);
    assert_string_equal(str_cstr(&out), FLAT "|" NATURAL "|" POWER);
    conf_free(p.conf);
}

/* HRES-03: layers may cut across switches, and MODE_3 needs no switch for a layer. */
static void layers_are_independent_of_the_network(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    (void)state;
    struct conf *c = test_load(
        H "TopologyPlugin=topology/tree\nTopologyConf=1 SwitchName=a Nodes=n[1-4]\n"
          "TopologyConf=1 SwitchName=b Nodes=n[5-8]\nTopologyConf=1 SwitchName=c Switches=a,b\n" R
          "Mode=MODE_3\n" R "Nodes=n[3-6] Count=2\n" R "Nodes=n[1-2,7-8] Count=3\n" R
          "Nodes=n[1-8] Count=4\n",
        NULL);
    format_layers(c, &out);
    assert_string_equal(str_cstr(&out), "r/3 n[1-2,7-8]:3=4 n[3-6]:2=4 n[1-8]:4=8");
    conf_free(c);
}

/* The file is read as expected, with that warning (NULL: with none). */
static void check_read(size_t i, const char *text, const char *expected, const char *warns)
{
    _cleanup_str_ struct str out = STR_INIT;
    struct place p;
    if (load_hres(&p, "n[1-8]", text) != 0)
        fail_msg("case %zu: %s", i, p.err.text);
    format_layers(p.conf, &out);
    assert_string_equal(str_cstr(&out), expected);
    if (warns ? !strstr(str_cstr(&p.warnings), warns) : p.warnings.len > 0)
        fail_msg("case %zu: warned '%s'", i, str_cstr(&p.warnings));
    str_done(&p.warnings);
    conf_free(p.conf);
}

/* HRES-13: one resource as releases 25.05 (nodes in a list), 25.11 (one text; variables and base
 * amounts) and 26.05 (these, with a topology) write it. */
static void forms_of_three_releases(void **state)
{
    static const struct {
        const char *text, *expected, *warns;
    } v[] = {
        {"- resource: r\n  mode: MODE_2\n  layers:\n  - nodes:\n    - \"n[1-4]\"\n    count: 5\n"
         "  - nodes:\n    - n1\n    - n2\n    count: 3\n",
         "r/2 n[1-2]:3=2 n[1-4]:5=4", NULL},
        {"- resource: r\n  mode: MODE_3\n  variables:\n  - name: v\n    value: 2\n  layers:\n"
         "  - nodes: n[1-4]\n    count: 5\n    base:\n    - name: b\n      value: 1\n",
         "r/3 v=2 n[1-4]:5-1=4", NULL},
        {"- resource: r\n  mode: MODE_3\n  topology: net\n  variables:\n  - name: v\n"
         "    value: 2\n  layers:\n  - nodes: n[1-4]\n    count: 5\n",
         "r/3 v=2 n[1-4]:5=4", "topology net is ignored"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++)
        check_read(i, v[i].text, v[i].expected, v[i].warns);
}

static void forms_of_the_file(void **state)
{
    static const struct {
        const char *text, *expected, *warns;
    } v[] = {
        {"", "", "the file is empty"},
        {"---\n", "", "the file has no resources"},
        /* HRES-06: one string, a list, a flow list; HRES-07: any order; HRES-08, HRES-09 */
        {"- resource: r\n  mode: MODE_1\n  layers:\n  - nodes: n[1-4]\n    count: 0\n"
         "  - count: -1\n    nodes: [\"n1\", \"n[2-3]\"]\n",
         "r/1 n[1-3]:inf=3 n[1-4]:0=4"},
        {"- resource: r\n  mode: MODE_1\n  layers:\n  - count: -1\n    nodes: n[3,1-2]\n"
         "  - nodes: n[1-2,3-4]\n    count: 0\n",
         "r/1 n[1-3]:inf=3 n[1-4]:0=4"},
        /* a byte order mark is left out */
        {"\xef\xbb\xbf- resource: r\n  mode: MODE_1\n  layers:\n  - nodes: n1\n    count: 1\n",
         "r/1 n1:1=1"},
        /* base amounts of mode 1 are the layer's alone */
        {"- resource: r\n  mode: MODE_1\n  layers:\n  - nodes: n[1-4]\n    count: 9\n"
         "  - nodes: n1\n    count: 4\n    base:\n    - name: a\n      value: 3\n",
         "r/1 n1:4-3=1 n[1-4]:9=4"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++)
        check_read(i, v[i].text, v[i].expected, v[i].warns);
}

/* HRES-05: keys that are unknown, missing, or no such value, with their places. */
static void invalid_files_are_refused(void **state)
{
#define RM "- resource: r\n  mode: MODE_1\n"
    static const struct {
        const char *text, *place, *says;
    } v[] = {
        {"resource: r\n", "resources.yaml:1:1: ", "expected '- resource: NAME'"},
        {"- mode: MODE_1\n", "resources.yaml:1:3: ", "expected 'resource: NAME' first"},
        {"- resource:\n", "resources.yaml:1:12: ", "resource: expected a name"},
        {"- resource: [r]\n", "resources.yaml:1:13: ", "expected a name, not a list"},
        {"- resource: a b\n", "resources.yaml:1:13: ", "resource 'a b'"},
        {"- resource: r\n", "resources.yaml:1:3: ", "lacks its mode"},
        {"- resource: r\n  mode: 2\n", "resources.yaml:2:9: ", "mode '2': expected MODE_1"},
        {RM, "resources.yaml:1:3: ", "has no layers"},
        {RM "  layer: a\n", "resources.yaml:3:3: ", "unknown key 'layer' of resource r"},
        {RM "  layers: a\n", "resources.yaml:3:11: ", "expected a list"},
        {RM "  layers:\n  - nodes: n1\n", "resources.yaml:4:5: ", "lacks its count"},
        {RM "  layers:\n  - count: 1\n", "resources.yaml:4:5: ", "lacks its nodes"},
        {RM "  layers:\n  - nodes: n1\n    count: many\n", "resources.yaml:5:12: ",
         "count 'many': expected a whole number of 0 to 1000000000000000, or -1 for no limit"},
        {RM "  layers:\n  - nodes: n1\n    count: 1000000000000001\n",
         "resources.yaml:5:12: ", "count '1000000000000001': expected"},
        {RM "  variables:\n  - name: a\n    value: 1000000001\n",
         "resources.yaml:5:12: ", "value '1000000001': expected a whole number of 0 to 1000000000"},
        {RM "  variables:\n  - name: '12'\n    value: 1\n",
         "resources.yaml:4:11: ", "name '12': the name of a variable must not be a number"},
        {RM "  variables:\n  - name: ab\n    value: 1\n  - name: a\n    value: 1\n"
            "  - name: ab\n    value: 2\n",
         "resources.yaml:8:11: ", "variable ab is defined twice"},
        {"- resource: -r\n", "resources.yaml:1:13: ", "resource '-r': expected a name of letters"},
        {RM "  variables:\n  - name: -v\n", "resources.yaml:4:11: ", "does not begin with -"},
        {"- resource: \"r\\0x\"\n", "resources.yaml:1:13: ", "a NUL byte in the text"},
        {"- \"resource\\0\": r\n", "resources.yaml:1:3: ", "a NUL byte in the text"},
        {RM "  layers:\n  - nodes: \"n1\\0,n2\"\n", "resources.yaml:4:12: ", "a NUL byte"},
        {RM "  layers:\n  - nodes: n1\n    count: \"5\\0\"\n", "resources.yaml:5:12: ", "a NUL"},
        {"\xff\xfe-", "resources.yaml:1:1: ", "the file is in UTF-16: expected UTF-8"},
        {"- resource: \xc3\xa9\xff\n", "resources.yaml:1:14: ", "UTF-8"},
        {"\xef\xbb\xbf- resource: -r\n", "resources.yaml:1:13: ", "resource '-r'"},
        {RM "  layers:\n  - nodes: n1\n    count: -2\n", "resources.yaml:5:12: ", "count '-2'"},
        {RM "  layers:\n  - nodes: n1\n    count: 1.5\n", "resources.yaml:5:12: ", "count '1.5'"},
        {RM "  layers:\n  - nodes: n1\n    count: [1]\n", "resources.yaml:5:12: ", "not a list"},
        {RM "  layers:\n  - nodes: {a: b}\n", "resources.yaml:4:12: ", "expected a word"},
        {RM "  layers:\n  - nodes: \"n[1-\"\n", "resources.yaml:4:12: ", "nodes: "},
        {RM "  layers:\n  - nodes: ''\n", "resources.yaml:4:12: ", "expected names of nodes"},
        {RM "  layers:\n  - nodes: n1\n    sum: 1\n",
         "resources.yaml:5:5: ", "unknown key 'sum' of a layer"},
        {RM "  layers:\n  - nodes: n1\n    count: 1\n    base:\n    - name: a\n",
         "resources.yaml:7:7: ", "an item of base lacks its value"},
        {RM "  layers:\n  - nodes: n1\n    count: 1\n    base: 5\n",
         "resources.yaml:6:11: ", "base: expected a list"},
        {RM "  variables:\n  - name: a\n    value: -1\n", "resources.yaml:5:12: ", "value '-1'"},
        {RM "  variables:\n  - name: a\n    size: 1\n",
         "resources.yaml:5:5: ", "unknown key 'size' of variables"},
        {"- resource: r\n  mode: MODE_1\n  mode: MODE_2\n",
         "resources.yaml:3:3: ", "key 'mode' is given twice, first on line 2"},
        {RM "  layers:\n  - nodes: n1\n    count: 1\n    count: 2\n",
         "resources.yaml:6:5: ", "key 'count' is given twice, first on line 5"},
        {RM "  variables:\n  - name: a\n    name: b\n",
         "resources.yaml:5:5: ", "key 'name' is given twice, first on line 4"},
        {RM "  layers:\n\t- nodes: n1\n", "resources.yaml:4:", "a tab in the indentation"},
        {"- resource: r\n  mode: MODE_3\n  layers:\n  - nodes: n[1-2]\n    count: 1\n"
         "  - nodes: n[2-4]\n    count: 1\n",
         "resources.yaml:6:5: ", "overlap"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct place p;
        if (load_hres(&p, "n[1-8]", v[i].text) == 0)
            fail_msg("case %zu is accepted", i);
        if (!strstr(p.err.text, v[i].place) || !strstr(p.err.text, v[i].says))
            fail_msg("case %zu: %s", i, p.err.text);
        str_done(&p.warnings);
    }
}

static void nul_byte_is_found(void **state)
{
    static const char text[] = "- resource: r\n# \xc3\xa9\0x\n";
    struct place p;
    (void)state;
    assert_int_not_equal(load_bytes(&p, "n[1-8]", text, sizeof text - 1), 0);
    assert_non_null(strstr(p.err.text, "resources.yaml:2:4: a NUL byte; this is not a text file"));
    str_done(&p.warnings);
}

/* With as much of the word as helps to find it. */
static void long_words_are_refused(void **state)
{
    static const struct {
        const char *before, *place, *says;
    } v[] = {
        {"- resource: ", "resources.yaml:1:13: ",
         "resource 'xxxxxxxxxxxxxxxxxxxx...' has 20000 characters, 255 are allowed: expected a "
         "name"},
        {RM "  variables:\n  - name: ", "resources.yaml:4:11: ",
         "255 are allowed: expected a name"},
        {"- resource: r\n  mode: ", "resources.yaml:2:9: ", "expected MODE_1, MODE_2 or MODE_3"},
        {RM "  layers:\n  - nodes: n1\n    count: ", "resources.yaml:5:12: ", "a whole number"},
        {RM "  layers:\n  - nodes: ", "resources.yaml:4:12: ", "name too long"},
        {"- ? ", "resources.yaml:1:5: ", "a key of 20000 characters, expected 64 at most"},
    };
    _cleanup_free_ char *word = mem_new_array(char, 20001);
    (void)state;
    memset(word, 'x', 20000);
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_free_ char *text = mem_printf("%s%s\n", v[i].before, word);
        struct place p;
        if (load_hres(&p, "n[1-8]", text) == 0)
            fail_msg("case %zu is accepted", i);
        if (!strstr(p.err.text, v[i].place) || !strstr(p.err.text, v[i].says))
            fail_msg("case %zu: %s", i, p.err.text);
        str_done(&p.warnings);
    }
}

/* A file that would occupy the controller for minutes. */
static void excessive_files_are_refused(void **state)
{
    _cleanup_str_ struct str names = STR_INIT, resources = STR_INIT;
    struct place p;
    (void)state;
    str_puts(&names, RM "  layers:\n");
    for (int i = 1; i <= 21; i++)
        str_printf(&names, "  - nodes: m[%d-%d]\n    count: 1\n", i, 99999 + i);
    assert_int_not_equal(load_hres(&p, "n[1-8]", str_cstr(&names)), 0);
    assert_non_null(strstr(p.err.text, "resources.yaml:44:5: resource r: the layers up to this one "
                                       "name nodes more than 2000000 times"));
    str_done(&p.warnings);
    for (int i = 1; i <= 1001; i++)
        str_printf(&resources,
                   "- resource: r%d\n  mode: MODE_1\n  layers:\n  - nodes: n1\n    count: 1\n", i);
    assert_int_not_equal(load_hres(&p, "n[1-8]", str_cstr(&resources)), 0);
    assert_non_null(
        strstr(p.err.text, "resources.yaml:5001:3: resource r1001: more than 1000 resources"));
    str_done(&p.warnings);
}

/* A file that defines nothing is perhaps not meant. */
static void file_without_resources_is_warned_of(void **state)
{
    static const struct {
        const char *text, *says;
    } v[] = {{"", "resources.yaml:1: the file is empty"},
             {"# later\n", "resources.yaml:1: the file is empty"},
             {"---\n", "resources.yaml:1: the file has no resources"},
             {"[]\n", "resources.yaml:1: the file has no resources"}};
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct place p;
        assert_int_equal(load_hres(&p, "n[1-8]", v[i].text), 0);
        const char *found = strstr(str_cstr(&p.warnings), v[i].says);
        if (!found || strstr(found + 1, "resources.yaml"))
            fail_msg("case %zu: %s", i, str_cstr(&p.warnings));
        str_done(&p.warnings);
        conf_free(p.conf);
    }
}

/* A configuration that is built again with nodes that no file has. */
static void dynamic_node_joins_its_layers(void **state)
{
    static const char text[] = H "MaxNodeCount=20\n" R "Mode=MODE_3\n" R "Nodes=n[1-12] Count=9\n";
    struct conf *c = test_load(text, NULL), *next = NULL;
    size_t len;
    const char *flat = conf_flat_text(c, &len);
    (void)state;
    assert_int_equal(bitset_count(c->hres.list.data[0].layers.data[0].node_set), 8);
    assert_int_equal(
        conf_load_again(flat, len, "t.conf", "NodeName=n11\n", CONF_FULL, NULL, &next, NULL), 0);
    assert_int_equal(bitset_count(next->hres.list.data[0].layers.data[0].node_set), 9);
    assert_int_equal(next->hash, c->hash);
    conf_free(next);
    conf_free(c);
    next = test_load(H, NULL);
    c = test_load(H R "Mode=MODE_1\n" R "Nodes=n1 Count=1\n", NULL);
    assert_int_equal(next->hash, c->hash); /* nodes do not have the file */
    conf_free(next);
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_lines_are_refused),
        cmocka_unit_test(doubtful_lines_are_warned_about),
        cmocka_unit_test(sample_file_is_read),
        cmocka_unit_test(layers_are_independent_of_the_network),
        cmocka_unit_test(forms_of_three_releases),
        cmocka_unit_test(excessive_files_are_refused),
        cmocka_unit_test(file_without_resources_is_warned_of),
        cmocka_unit_test(forms_of_the_file),
        cmocka_unit_test(invalid_files_are_refused),
        cmocka_unit_test(nul_byte_is_found),
        cmocka_unit_test(long_words_are_refused),
        cmocka_unit_test(dynamic_node_joins_its_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
