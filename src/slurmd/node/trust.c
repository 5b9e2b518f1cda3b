/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/trust.h"

int trust_conf(const struct conf *c, struct err *err)
{
    const struct {
        const char *key, *path;
    } programs[] = {
        {"Prolog", c->prolog},
        {"Epilog", c->epilog},
        {"TaskProlog", c->task_prolog},
        {"TaskEpilog", c->task_epilog},
        {"UnkillableStepProgram", c->unkillable_step_program},
        {"HealthCheckProgram", c->health_check_program},
        {"RebootProgram", c->reboot_program},
    };
    int rc = conf_trust_files(c, err);

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]) && rc == 0; i++) {
        const char *rest = programs[i].path;
        char *path;
        while (rc == 0 && (path = conf_script_next(&rest)) != NULL) {
            rc = conf_trust_path(c, programs[i].key, path, err);
            if (rc < 0 && rc != -ERR_ACCESS)
                rc = 0;
            free(path);
        }
    }
    return rc;
}
