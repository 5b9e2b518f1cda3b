/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What nodes have of generic resources, by Gres= and gres.conf. */
#include "conf/conf_test_util.h"

/* "gpu:a100=2[/dev/nvidia0 0-3,/dev/nvidia1 0-3] nic=2" */
static void show(const struct conf *c, const char *node, struct str *out)
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
    }
}

#define TOP HEAD "GresTypes=gpu,nic,bandwidth\n"

static void says(const char *text, const char *node, const char *expected)
{
    struct str out = STR_INIT;
    struct conf *c = test_load(text, NULL);
    show(c, node, &out);
    assert_string_equal(str_cstr(&out), expected);
    str_done(&out);
    conf_free(c);
}

static void of_nodes(void **state)
{
    (void)state;
    says(TOP "NodeName=n[1-3]\n", "n2", "");
    says(TOP "NodeName=n1 Gres=gpu:2,nic,bandwidth:lustre:no_consume:4G\n", "n1",
         "gpu=2 nic=1 bandwidth:lustre=4294967296");
    says(TOP "NodeName=n1 Gres=gpu:a100:2,gpu:v100:1,gpu:a100:1(S:0-1)\n", "n1",
         "gpu:a100=3 gpu:v100=1");
    /* a name that is not in GresTypes is nothing */
    says(TOP "NodeName=n1 Gres=fpga:2,gpu\n", "n1", "gpu=1");
}

static void with_files(void **state)
{
    (void)state;
    says(TOP "NodeName=n[1-2] Gres=gpu:2\nGresConf=1 Name=gpu File=/dev/nvidia[0-1] Cores=0-3\n",
         "n2", "gpu=2[/dev/nvidia0 0-3,/dev/nvidia1 0-3]");
    says(TOP "NodeName=n[1-2] Gres=gpu:2\nGresConf=1 NodeName=n[2-9] Name=gpu File=/dev/nvidia0\n"
             "GresConf=1 NodeName=n2 Name=gpu File=/dev/nvidia7 CPUs=4,6-7\n",
         "n2", "gpu=2[/dev/nvidia0 -,/dev/nvidia7 4,6-7]");
    says(TOP "NodeName=n[1-2] Gres=gpu:2\nGresConf=1 NodeName=n2 Name=gpu File=/dev/nvidia0\n",
         "n1", "gpu=2");
    /* gres.conf tells the types of what slurm.conf has without, and may know more than there is */
    says(TOP "NodeName=n1 Gres=gpu:3\nGresConf=1 Name=gpu Type=a File=/dev/a[0-1]\n"
             "GresConf=1 Name=gpu Type=b File=/dev/b[0-1]\n",
         "n1", "gpu:a=2[/dev/a0 -,/dev/a1 -] gpu:b=1[/dev/b0 -]");
    says(TOP "NodeName=n1 Gres=nic:2\nGresConf=1 AutoDetect=off\n", "n1", "nic=2");
    says(TOP "NodeName=n1 Gres=gpu:1\nGresConf=1 Name=gpu MultipleFiles=/dev/x[0-2]\n", "n1",
         "gpu=1[/dev/x0 -]");
}

/* The first example of gres.conf(5): entries of mps and shard are more than the GPUs of their
 * files, and no devices. */
static void parts_of_gpus(void **state)
{
    (void)state;
    says(HEAD "GresTypes=gpu,mps,shard\nNodeName=n1 Gres=gpu:2,mps:300,shard:8\n"
              "GresConf=1 Name=gpu File=/dev/nvidia[0-1]\n"
              "GresConf=1 Name=mps Count=200 File=/dev/nvidia0\n"
              "GresConf=1 Name=mps Count=100 File=/dev/nvidia1\n"
              "GresConf=1 Name=shard Count=8 File=/dev/nvidia[0-1]\n",
         "n1", "gpu=2[/dev/nvidia0 -,/dev/nvidia1 -] mps=300 shard=8");
}

static void alike_share_a_set(void **state)
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

static void wrong(void **state)
{
    (void)state;
    static const struct test_refusal cases[] = {
        {TOP "GresConf=1 Type=a\n", "t.conf:3: ", "without Name="},
        {TOP "GresConf=1 Name=fpga\n", "t.conf:3: ", "Name=fpga is not in GresTypes"},
        {TOP "GresConf=1 Name=gpu File=nvidia0\n", "t.conf:3: ", "absolute path"},
        {TOP "GresConf=1 Name=gpu File=/dev/n[0-1] Count=3\n", "t.conf:3: ", "File names 2"},
        {TOP "GresConf=1 Name=gpu File=/dev/n[0-5000]\n", "t.conf:3: ", "at most 1024"},
        {TOP "GresConf=1 Name=gpu Count=many\n", "t.conf:3: ", "not a count"},
        {TOP "GresConf=1 Name=gpu Count=99999999999G\n", "t.conf:3: ", "more than"},
        {TOP "GresConf=1 Name=gpu Cores=3-1\n", "t.conf:3: ", "Cores=3-1"},
        {TOP "GresConf=1 Name=gpu Cores=a\n", "t.conf:3: ", "Cores=a"},
        {TOP "GresConf=1 Name=gpu Flags=fast\n", "t.conf:3: ", "Flags=fast"},
        {TOP "GresConf=1 NodeName=n[ Name=gpu\n", "t.conf:3: ", "NodeName=n["},
        {TOP "NodeName=n1 Gres=gpu:a:b:c:2\n", "t.conf:3: ", "expected name[:type][:count]"},
        {TOP "NodeName=n1 Gres=gpu:a:b\n", "t.conf:3: ", "expected name[:type][:count]"},
    };
    test_refused(cases, sizeof cases / sizeof cases[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_nodes),      cmocka_unit_test(with_files),
        cmocka_unit_test(parts_of_gpus), cmocka_unit_test(alike_share_a_set),
        cmocka_unit_test(wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
