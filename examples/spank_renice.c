/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A SPANK plugin: srun, sbatch and salloc get an option --renice=PRIORITY, and tasks run at that
 * priority. The argument default=N of plugstack.conf is for those who do not ask.
 *
 *     cc -shared -fPIC -I PREFIX/include -o renice.so spank_renice.c
 *     echo "optional /usr/lib/slurm/renice.so default=5" >>/etc/slurm/plugstack.conf
 */
#include <errno.h>
#include <slurm/spank.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

SPANK_PLUGIN(renice, 1)

#define NOT_SAID 100

static int priority = NOT_SAID;

static int parse(const char *text, int *out)
{
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;

    if (!text || end == text || *end || n < -20 || n > 19)
        return -1;
    *out = (int)n;
    return 0;
}

/* Where the option is given, and once more where it is used. */
static int on_renice(int val, const char *arg, int remote)
{
    (void)val;
    (void)remote;
    if (parse(arg, &priority) == 0)
        return 0;
    slurm_error("renice: %s is no priority: -20 is the highest, 19 the lowest", arg ? arg : "");
    return -1;
}

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
    static struct spank_option option = {"renice", "priority", "run the tasks at this priority",
                                         1,        0,          on_renice};

    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "default=", 8) != 0 || parse(argv[i] + 8, &priority) != 0) {
            slurm_error("renice: bad argument in plugstack.conf: %s", argv[i]);
            return -1;
        }
    return spank_option_register(spank, &option);
}

/* In the shepherd, which is root and may raise a priority, too. */
int slurm_spank_task_post_fork(spank_t spank, int argc, char *argv[])
{
    pid_t pid;

    (void)argc;
    (void)argv;
    if (priority == NOT_SAID)
        return 0;
    if (spank_get_item(spank, S_TASK_PID, &pid) != ESPANK_SUCCESS)
        return -1;
    if (setpriority(PRIO_PROCESS, (id_t)pid, priority) == 0)
        return 0;
    slurm_error("renice: %d: %s", (int)pid, strerror(errno));
    return -1;
}
