/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/sattach/layout.h"

static void test_layout_names_nodes_and_tasks(void **state)
{
    static char n1[] = "n1", n2[] = "n2";
    uint32_t first[] = {0, 2}, second[] = {1};
    Pb__StepNode nodes[2] = {PB__STEP_NODE__INIT, PB__STEP_NODE__INIT};
    Pb__StepNode *list[] = {&nodes[0], &nodes[1]};
    Pb__StepRecord step = PB__STEP_RECORD__INIT;
    _cleanup_str_ struct str out = STR_INIT;

    nodes[0].node = n1;
    nodes[0].task_ids = first;
    nodes[0].n_task_ids = 2;
    nodes[1].node = n2;
    nodes[1].task_ids = second;
    nodes[1].n_task_ids = 1;
    step.num_tasks = 3;
    step.layout = list;
    step.n_layout = 2;
    layout_format(&step, &out);
    assert_string_equal(str_cstr(&out), "Job step layout:\n"
                                        "\t3 tasks, 2 nodes (n[1-2])\n\n"
                                        "\tNode 0 (n1), 2 task(s): 0 2 \n"
                                        "\tNode 1 (n2), 1 task(s): 1 \n");
    nodes[1].node = n1;
    nodes[1].part = 1; /* of another component */
    str_clear(&out);
    layout_format(&step, &out);
    assert_string_equal(str_cstr(&out), "Job step layout:\n"
                                        "\t3 tasks, 1 nodes (n1)\n\n"
                                        "\tNode 0 (n1), 3 task(s): 0 2 1 \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layout_names_nodes_and_tasks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
