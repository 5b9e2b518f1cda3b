/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A configuration with the controllers of client tests: "here", and "there" for tests with two
 * controllers. */
#pragma once

#include "rpc/rpc_test_server.h"

#include "conf/conf.h"

static struct conf conf;
static struct conf_host hosts[2];
static const Pb__Empty nothing = PB__EMPTY__INIT;

static int hosts_setup(void **state)
{
    if (world_setup(state) < 0)
        return -1;
    conf = (struct conf){.message_timeout_sec = 10, .socket_dirs = {dir}, .socket_dir_count = 1};
    hosts[0] = (struct conf_host){.name = "here", .addr = "127.0.0.1"};
    hosts[1] = (struct conf_host){.name = "there", .addr = "127.0.0.2", .rank = 1};
    conf.controllers.data = hosts;
    conf.controllers.len = 1;
    conf.slurm_uid = conf.slurmd_uid = geteuid();
    setenv("SLUICE_NO_LOCAL_SOCKET", "0", 1);
    return 0;
}
