/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plugin that stack_test loads. Its first argument names the callback that fails. */
#include <slurm/spank.h>
#include <string.h>

SPANK_PLUGIN(a_plugin, 1)

static int check_argument(int val, const char *arg, int remote)
{
    return arg && strcmp(arg, "no") == 0 ? val + remote : 0;
}

struct spank_option spank_options[] = {{"of-table", "x", "of the table", 1, 5, check_argument},
                                       SPANK_OPTIONS_TABLE_END};

static int fail_callback(const char *name, int argc, char *argv[])
{
    return argc > 0 && strcmp(argv[0], name) == 0 ? 7 : 0;
}

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
    static struct spank_option good = {"of-init", "y", "made by init", 2, 1, check_argument};
    struct spank_option bad[] = {{"", NULL, NULL, 0, 0, NULL},
                                 {"a b", NULL, NULL, 0, 0, NULL},
                                 {"of-init", NULL, NULL, 0, 0, NULL},
                                 {"three", NULL, NULL, 3, 0, NULL},
                                 {NULL, NULL, NULL, 0, 0, NULL}};

    if (spank_option_register(spank, &good) != ESPANK_SUCCESS)
        return 100;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (spank_option_register(spank, &bad[i]) != ESPANK_BAD_ARG)
            return 101;
    return fail_callback("init", argc, argv);
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char *argv[])
{
    struct spank_option late = {"late", NULL, NULL, 0, 0, NULL};

    if (spank_option_register(spank, &late) != ESPANK_BAD_ARG)
        return 102;
    return fail_callback("init_post_opt", argc, argv);
}
