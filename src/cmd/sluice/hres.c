/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice hres: the layers of hierarchical resources as trees. */
#include "show/hres.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "proto/license.pb-c.h"
#include "rpc/client.h"
#include "show/json_out.h"

int sluice_hres(const struct sluice_options *o, const char *const *operand)
{
    const char *name = operand[0];
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__LicenseList *reply = NULL;
    struct err err = {0};
    bool any = false;
    sluice_choose(o);
    int rc = cmd_call(RPC_LICENSE_LIST, &request.base, &reply, &err);
    json_t *all = rc == 0 && o->json ? show_hres_json(reply, name) : NULL;
    if (rc != 0)
        cmd_error("hres: %s", err.text);
    else
        any = all ? json_array_size(all) > 0 : show_hres_text(reply, name, cmd_out());
    if (rc == 0 && name && !any)
        cmd_error("hres: no hierarchical resource '%s'", name);
    else if (rc == 0 && !any && !all)
        str_puts(cmd_out(), "No hierarchical resources are configured: resources.yaml beside "
                            "slurm.conf defines them\n");
    else if (all)
        json_out_print(cmd_source(), "hres", json_incref(all), false, cmd_out());
    json_decref(all);
    int status = cmd_flush();
    return rc == 0 && (any || !name) ? status : 1;
}
