/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generic resources of nodes, by Gres= and gres.conf. */
#include "conf/conf_test_util.h"

/* "gpu:a100=2[/dev/nvidia0 0-3,/dev/nvidia1 0-3] shard=8{4,4}" */
static void format_gres(const struct conf *c, const char *node, struct str *out)
{
    const struct conf_gres_set *set = conf_gres_of(c, (uint32_t)conf_find_node(c, node));
    for (size_t i = 0; i < set->len; i++) {
        const struct conf_gres *g = &set->items[i];
        str_printf(out, "%s%s%s%s=%llu", i ? " " : "", g->name, g->type ? ":" : "",
                   g->type ? g->type : "", (unsigned long long)g->count);
        for (size_t k = 0; k < g->n_devices; k++)
            str_printf(
                out, "%s%s %s%s", k ? "," : "[", g->devices[k].file ? g->devices[k].file : "-",
                g->devices[k].cores ? g->devices[k].cores : "-", k + 1 == g->n_devices ? "]" : "");
        for (size_t k = 0; k < g->n_parts; k++)
            str_printf(out, "%s%llu%s", k ? "," : "{", (unsigned long long)g->parts[k],
                       k + 1 == g->n_parts ? "}" : "");
    }
}

#define TOP HEAD "GresTypes=gpu,nic,bandwidth\n"

static void assert_gres(const char *text, const char *node, const char *expected)
{
    struct str out = STR_INIT;
    struct conf *c = test_load(text, NULL);
    format_gres(c, node, &out);
    assert_string_equal(str_cstr(&out), expected);
    str_done(&out);
    conf_free(c);
}

static void gres_of_node_lines_are_counted(void **state)
{
    (void)state;
    assert_gres(TOP "NodeName=n[1-3]\n", "n2", "");
    assert_gres(TOP "NodeName=n1 Gres=gpu:2,nic,bandwidth:lustre:no_consume:4G\n", "n1",
                "gpu=2 nic=1 bandwidth:lustre=4294967296");
    assert_gres(TOP "NodeName=n1 Gres=gpu:a100:2,gpu:v100:1,gpu:a100:1(S:0-1)\n", "n1",
                "gpu:a100=3 gpu:v100=1");
    /* a name that is not in GresTypes is nothing */
    assert_gres(TOP "NodeName=n1 Gres=fpga:2,gpu\n", "n1", "gpu=1");
}

static void gres_files_and_cores_are_read(void **state)
{
    (void)state;
    assert_gres(TOP
                "NodeName=n[1-2] Gres=gpu:2\nGresConf=1 Name=gpu File=/dev/nvidia[0-1] Cores=0-3\n",
                "n2", "gpu=2[/dev/nvidia0 0-3,/dev/nvidia1 0-3]");
    assert_gres(
        TOP "NodeName=n[1-2] Gres=gpu:2\nGresConf=1 NodeName=n[2-9] Name=gpu File=/dev/nvidia0\n"
            "GresConf=1 NodeName=n2 Name=gpu File=/dev/nvidia7 CPUs=4,6-7\n",
        "n2", "gpu=2[/dev/nvidia0 -,/dev/nvidia7 4,6-7]");
    assert_gres(TOP
                "NodeName=n[1-2] Gres=gpu:2\nGresConf=1 NodeName=n2 Name=gpu File=/dev/nvidia0\n",
                "n1", "gpu=2");
    /* gres.conf tells the types of what slurm.conf has without, and may know more than there is */
    assert_gres(TOP "NodeName=n1 Gres=gpu:3\nGresConf=1 Name=gpu Type=a File=/dev/a[0-1]\n"
                    "GresConf=1 Name=gpu Type=b File=/dev/b[0-1]\n",
                "n1", "gpu:a=2[/dev/a0 -,/dev/a1 -] gpu:b=1[/dev/b0 -]");
    assert_gres(TOP "NodeName=n1 Gres=nic:2\nGresConf=1 AutoDetect=off\n", "n1", "nic=2");
    assert_gres(TOP "NodeName=n1 Gres=gpu:1\nGresConf=1 Name=gpu MultipleFiles=/dev/x[0-2]\n", "n1",
                "gpu=1[/dev/x0 -]");
}

#define PARTS HEAD "GresTypes=gpu,mps,shard\n"
#define GPU_PAIR "GresConf=1 Name=gpu File=/dev/g[0-1]\n"

/* The examples of gres.conf(5) and of the guide to generic resources. */
static void parts_of_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *gres, *lines, *parts;
    } cases[] = {
        {"mps:400", "", "mps=400{100,100,100,100}"},
        {"mps:400", "GresConf=1 Name=mps Count=400\n", "mps=400{100,100,100,100}"},
        {"mps:600",
         "GresConf=1 Name=mps Count=200 File=/dev/g0\nGresConf=1 Name=mps Count=200 File=/dev/g1\n"
         "GresConf=1 Name=mps Count=100 File=/dev/g2\nGresConf=1 Name=mps Count=100 File=/dev/g3\n",
         "mps=600{200,200,100,100}"},
        /* the type and the cores of such a line are those of its GPU */
        {"mps:200",
         "GresConf=1 Name=mps Type=x Count=100 File=/dev/g0 Cores=0,1\n"
         "GresConf=1 Name=mps Count=100 File=/dev/g1 COREs=2,3\n",
         "mps=200{100,100,0,0}"},
        {"shard:16", "", "shard=16{4,4,4,4}"},
        {"shard:32", "GresConf=1 Name=shard Count=32\n", "shard=32{8,8,8,8}"},
        {"shard:12", "GresConf=1 Name=shard Count=12 File=/dev/g[1-3]\n", "shard=12{0,4,4,4}"},
        {"shard:2", "GresConf=1 Name=shard File=/dev/g[2-3]\n", "shard=2{0,0,1,1}"},
        {"shard:8",
         "GresConf=1 Name=shard Count=8 File=/dev/g0\nGresConf=1 Name=shard Count=0 File=/dev/g1\n",
         "shard=8{8,0,0,0}"},
        {"shard:7", "", "shard=7{2,2,2,1}"},
        {"mps:400,shard:4", "GresConf=1 Name=shard Count=4 File=/dev/g3\n",
         "mps=400{100,100,100,100} shard=4{0,0,0,4}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str text = STR_INIT, expected = STR_INIT;
        /* lines of parts may stand before those of the GPUs */
        str_printf(&text,
                   PARTS "NodeName=n1 Gres=gpu:a:2,gpu:b:2,%s\n%s"
                         "GresConf=1 Name=gpu Type=a File=/dev/g[0-1] Cores=0-1\n"
                         "GresConf=1 Name=gpu Type=b File=/dev/g[2-3] Cores=2-3\n",
                   cases[i].gres, cases[i].lines);
        str_printf(&expected,
                   "gpu:a=2[/dev/g0 0-1,/dev/g1 0-1] gpu:b=2[/dev/g2 2-3,/dev/g3 2-3] %s",
                   cases[i].parts);
        assert_gres(str_cstr(&text), "n1", str_cstr(&expected));
        str_done(&text);
        str_done(&expected);
    }
}

static void contradictory_parts_of_gpus_are_refused(void **state)
{
    (void)state;
    /* Gres= decides how many there are, and the last GPUs lose the rest */
    assert_gres(PARTS "NodeName=n1 Gres=gpu:2,shard:6\n" GPU_PAIR
                      "GresConf=1 Name=shard Count=8 File=/dev/g[0-1]\n",
                "n1", "gpu=2[/dev/g0 -,/dev/g1 -] shard=6{4,2}");
    assert_gres(PARTS "NodeName=n1 Gres=shard:4\n", "n1", "shard=4");
    static const struct test_refusal warned[] = {
        {PARTS "NodeName=n1 Gres=shard:4\n", "t.conf:3: ", "node n1 has no GPU"},
        {PARTS "NodeName=n1 Gres=gpu:17,shard:34\n",
         "t.conf:3: ", "node n1 has 17 GPUs, 16 are allowed: the node has no shard"},
        {TOP "GresConf=1 Name=gpu Flags=env_uuid,explicit\n",
         "t.conf:3: ", "Flags=env_uuid has no effect"},
        {PARTS "NodeName=n1 Gres=gpu:2,shard:4\nGresConf=1 Name=gpu Count=2 Flags=CountOnly\n",
         "t.conf:3: ", "the GPUs of node n1 have Flags=CountOnly: the node has no shard"},
        {PARTS "NodeName=n1 Gres=gpu:2,shard:6\nGresConf=1 Name=shard Count=8\n",
         "t.conf:4: ", "the GPUs of node n1 are given 8, and its Gres= has 6"},
        {PARTS "NodeName=n1 Gres=gpu:2,mps:300\nGresConf=1 Name=mps Count=100\n",
         "t.conf:4: ", "the GPUs of node n1 are given 100, and its Gres= has 300"},
        {PARTS "NodeName=n1 Gres=gpu:2\nGresConf=1 Name=mps Count=100\n",
         "t.conf:4: ", "no node of the line has it"},
    };
    test_warned(warned, COUNT(warned));
}

/* What the lines say of a node and the node cannot have. */
static void lines_that_do_not_agree(void **state)
{
    (void)state;
    static const struct test_refusal warned[] = {
        {TOP "NodeName=n1 Gres=gpu:2\nGresConf=1 Name=gpu File=/dev/g0\n",
         "t.conf:4: ", "Name=gpu: the lines of node n1 have 1, and its Gres= has 2"},
        {TOP "NodeName=n1 Gres=gpu:a:2,gpu:b:2\nGresConf=1 Name=gpu Type=a Count=2\n"
             "GresConf=1 Name=gpu Type=b Count=1\n",
         "t.conf:5: ", "Name=gpu: the lines of node n1 have 3, and its Gres= has 4"},
        {TOP "NodeName=n1 Gres=gpu:2\nGresConf=1 Name=gpu File=/dev/g0\n"
             "GresConf=1 Name=gpu File=/dev/g0\n",
         "t.conf:3: ", "devices 0 and 1 of node n1 have the same File=/dev/g0"},
        {TOP "NodeName=n1 CPUs=4 Gres=gpu\nGresConf=1 Name=gpu File=/dev/g0 Cores=0,2-4\n",
         "t.conf:4: ", "Name=gpu Cores=0,2-4: node n1 has the cores 0-3"},
        {TOP "NodeName=n1 Gres=gpu:2\nGresConf=1 Name=gpu File=/dev/g0 Flags=amd_gpu_env\n"
             "GresConf=1 Name=gpu File=/dev/g1 Flags=opencl_env\n",
         "t.conf:5: ", "another line of the same name and type has other variables"},
    };
    test_warned(warned, COUNT(warned));
    static const char *const silent[] = {
        "NodeName=n1 Gres=gpu:2\nGresConf=1 Name=gpu File=/dev/g[0-3]\n",
        "NodeName=n1 Gres=gpu:2\nGresConf=1 Name=gpu Flags=explicit\n",
        "NodeName=n1 Gres=gpu:3\nGresConf=1 Name=gpu Type=a File=/dev/g[0-1]\n"
        "GresConf=1 Name=gpu Type=b File=/dev/g2\n",
        "NodeName=n1 Gres=gpu:2\nGresConf=1 Name=gpu File=/dev/g0 Flags=amd_gpu_env\n"
        "GresConf=1 Name=gpu File=/dev/g1\n",
    };
    for (size_t i = 0; i < COUNT(silent); i++) {
        struct conf_report report = {0};
        _cleanup_free_ char *text = mem_printf(TOP "%s", silent[i]);
        struct conf *c = test_load(text, &report);
        assert_int_equal(report.warnings.len, 0);
        conf_free(c);
        conf_report_done(&report);
    }
}

/* A check of the file fails. */
static void file_of_parts_is_that_of_a_gpu(void **state)
{
    (void)state;
    struct conf_report report = {0};
    struct conf *c = test_load(PARTS "NodeName=n1 Gres=gpu:2,shard:8\n" GPU_PAIR
                                     "GresConf=1 Name=shard Count=8 File=/dev/g[1-2]\n",
                               &report);
    bool found = false;
    vec_foreach (&report.warnings, w)
        found |= w->fault && w->line == 5 &&
                 strstr(w->text, "Name=shard File=/dev/g2: no Name=gpu line of node n1 has");
    assert_true(found);
    assert_true(conf_report_fails(&report));
    conf_free(c);
    conf_report_done(&report);
    /* the file of a GPU that the node does not have is no mistake: lines are of many nodes */
    struct conf_report silent = {0};
    c = test_load(PARTS "NodeName=n1 Gres=gpu:1,shard:4\n" GPU_PAIR
                        "GresConf=1 Name=shard Count=4 File=/dev/g0\n"
                        "GresConf=1 Name=shard Count=4 File=/dev/g1\n",
                  &silent);
    assert_false(conf_report_fails(&silent));
    conf_free(c);
    conf_report_done(&silent);
}

/* A check of the file fails for what devices say of each other. */
static void contradictory_links_are_refused(void **state)
{
    static const struct {
        const char *links[3], *fault;
    } cases[] = {
        {{"-1,2,0", "2,-1,0", "0,0,-1"}, NULL},
        {{"0,0,-1", "-1,2,0", "2,-1,0"}, NULL},
        {{"-1,2,0", "", "0,0,-1"}, NULL},
        {{"-1,2,0,5", "2,-1,0,5", "0,0,-1,5"},
         "Links= has 4 numbers, and node n1 has 3 devices of this name: give a number"},
        {{"-1,2,0", "3,-1,0", "0,0,-1"},
         "Links= of devices 0 and 1 of node n1: the numbers of connections of the two differ"},
        {{"-1,2,0", "-1,2,0", "0,0,-1"},
         "Links= of devices 0 and 1 of node n1: -1 is in the same place"},
        {{"-1,2,0", "2,-1,0,0", "0,0,-1"},
         "Links= of devices 0 and 1 of node n1: they are not of the same length"},
        {{"-1,2", "2,-1", ""},
         "Links= has 2 numbers, and node n1 has 3 devices of this name: give a number"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct conf_report report = {0};
        _cleanup_free_ char *text =
            mem_printf(TOP "NodeName=n1 Gres=gpu:a:2,gpu:b:1\n"
                           "GresConf=1 Name=gpu Type=a File=/dev/g0 Links=%s\n"
                           "GresConf=1 Name=gpu Type=a File=/dev/g1 Links=%s\n"
                           "GresConf=1 Name=gpu Type=b File=/dev/g2 Links=%s\n",
                       cases[i].links[0], cases[i].links[1], cases[i].links[2]);
        struct conf *c = test_load(text, &report);
        bool found = false;
        vec_foreach (&report.warnings, w)
            found |= cases[i].fault && w->fault && strstr(w->text, cases[i].fault) &&
                     (!strstr(w->text, "Links= has ") || w->line == 4);
        if (found != (cases[i].fault != NULL) || conf_report_fails(&report) != found)
            fail_msg("case %zu", i);
        conf_free(c);
        conf_report_done(&report);
    }
}

static void equal_devices_share_a_core_set(void **state)
{
    (void)state;
    struct conf *c = test_load(TOP "NodeName=n[1-100] Gres=gpu:2\nNodeName=m[1-100] Gres=nic\n"
                                   "GresConf=1 NodeName=n[1-50] Name=gpu File=/dev/g[0-1]\n",
                               NULL);
    assert_int_equal(c->gres_sets.len, 4); /* none, n with files, n without, m */
    assert_ptr_equal(conf_gres_of(c, 0), conf_gres_of(c, 49));
    assert_ptr_equal(conf_gres_of(c, 50), conf_gres_of(c, 99));
    assert_ptr_not_equal(conf_gres_of(c, 49), conf_gres_of(c, 50));
    conf_free(c);
}

static void invalid_lines_are_refused(void **state)
{
    (void)state;
    static const struct test_refusal cases[] = {
        {TOP "GresConf=1 Type=a\n", "t.conf:3: ", "without Name="},
        {TOP "GresConf=1 Name=fpga\n", "t.conf:3: ", "Name=fpga is not in GresTypes"},
        {TOP "GresConf=1 Name=gpu File=nvidia0\n", "t.conf:3: ", "absolute path"},
        {TOP "GresConf=1 Name=gpu File=/dev/n[0-1] Count=3\n", "t.conf:3: ", "File names 2"},
        {TOP "GresConf=1 Name=gpu File=/dev/n[0-5000]\n", "t.conf:3: ", "at most 1024"},
        {TOP "GresConf=1 Name=gpu File=/dev/n0 MultipleFiles=/dev/n1\n",
         "t.conf:3: ", "Name=gpu: File= and MultipleFiles= exclude each other"},
        {TOP "GresConf=1 Name=gpu Flags=no_gpu_env,opencl_env\n",
         "t.conf:3: ", "no_gpu_env excludes"},
        {TOP "GresConf=1 AutoDetect=nmvl\n",
         "t.conf:3: ", "AutoDetect=nmvl: expected full, nrt, nvidia, nvml, off, oneapi or rsmi"},
        {TOP "GresConf=1 Name=gpu Count=many\n", "t.conf:3: ", "not a count"},
        {TOP "GresConf=1 Name=gpu Count=99999999999G\n", "t.conf:3: ", "more than"},
        {TOP "GresConf=1 Name=gpu Cores=3-1\n", "t.conf:3: ", "Cores=3-1"},
        {TOP "GresConf=1 Name=gpu Cores=a\n", "t.conf:3: ", "Cores=a"},
        {TOP "GresConf=1 Name=gpu Flags=fast\n", "t.conf:3: ", "Flags=fast"},
        {TOP "GresConf=1 Name=gpu Flags=one_sharing,all_sharing\n",
         "t.conf:3: ", "Name=gpu: Flags=one_sharing and Flags=all_sharing exclude each other"},
        {TOP "GresConf=1 NodeName=n1 Name=gpu Flags=all_sharing\n"
             "GresConf=1 NodeName=n2 Name=gpu Flags=one_sharing\n",
         "t.conf:3: ", "exclude each other"},
        {TOP "GresConf=1 Name=gpu File=/dev/g[0-1] Links=-1,0\n",
         "t.conf:3: ", "Links=-1,0: the line has several devices"},
        {TOP "GresConf=1 Name=gpu Count=2 Links=-1,0\n", "t.conf:3: ", "several devices"},
        {TOP "GresConf=1 Name=gpu Links=-1,two\n", "t.conf:3: ", "'two': expected -1"},
        {TOP "GresConf=1 Name=gpu Links=-1,-2\n", "t.conf:3: ", "'-2': expected -1"},
        {TOP "GresConf=1 Name=gpu Links=-1,1000001\n", "t.conf:3: ", "'1000001': expected -1"},
        {TOP "GresConf=1 Name=gpu Links=0,4\n", "t.conf:3: ", "expected one -1"},
        {TOP "GresConf=1 Name=gpu Links=-1,-1\n", "t.conf:3: ", "expected one -1"},
        {TOP "GresConf=1 NodeName=n[ Name=gpu\n", "t.conf:3: ", "NodeName=n["},
        {TOP "NodeName=n1 Gres=gpu:a:b:c:2\n", "t.conf:3: ", "expected name[:type][:count]"},
        {TOP "NodeName=n1 Gres=gpu:a:b\n", "t.conf:3: ", "expected name[:type][:count]"},
    };
    test_refused(cases, sizeof cases / sizeof cases[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gres_of_node_lines_are_counted),
        cmocka_unit_test(gres_files_and_cores_are_read),
        cmocka_unit_test(parts_of_gpus),
        cmocka_unit_test(contradictory_parts_of_gpus_are_refused),
        cmocka_unit_test(lines_that_do_not_agree),
        cmocka_unit_test(file_of_parts_is_that_of_a_gpu),
        cmocka_unit_test(contradictory_links_are_refused),
        cmocka_unit_test(equal_devices_share_a_core_set),
        cmocka_unit_test(invalid_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
