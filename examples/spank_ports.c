/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A SPANK plugin: each task finds a range of ports of its own in TASK_PORTS, which no other task of
 * the step on that node has. Arguments in plugstack.conf: first=N, and each=N ports for a task.
 *
 *     cc -shared -fPIC -I PREFIX/include -o ports.so spank_ports.c
 *     echo "required /usr/lib/slurm/ports.so first=20000 each=10" >>/etc/slurm/plugstack.conf
 */
#include <slurm/spank.h>
#include <stdio.h>

SPANK_PLUGIN(ports, 1)

int slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
    unsigned first = 20000, each = 10;
    char range[32];
    int task;

    for (int i = 0; i < argc; i++)
        if (sscanf(argv[i], "first=%u", &first) != 1 && sscanf(argv[i], "each=%u", &each) != 1) {
            slurm_error("ports: bad argument in plugstack.conf: %s", argv[i]);
            return -1;
        }
    if (spank_get_item(spank, S_TASK_ID, &task) != ESPANK_SUCCESS)
        return -1;
    first += (unsigned)task * each;
    if (each == 0 || first + each - 1 > 65535) {
        slurm_error("ports: there are none left for task %d of this node", task);
        return -1;
    }
    snprintf(range, sizeof(range), "%u-%u", first, first + each - 1);
    return spank_setenv(spank, "TASK_PORTS", range, 1);
}
