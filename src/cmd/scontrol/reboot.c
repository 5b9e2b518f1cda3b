/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol reboot and cancel_reboot: changes of the state of nodes. */
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "cli/cmd.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/node.pb-c.h"
#include "rpc/client.h"

static const char *value_of(const char *word, const char *key)
{
    size_t len = strlen(key);
    return strncasecmp(word, key, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

static int parse_next_state(const char *text, Pb__NodeUpdate *change)
{
    static const char *const states[] = {"DOWN", "RESUME"};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (str_case_eq(text, states[i]))
            change->next_state = (char *)states[i];
    if (!change->next_state)
        cmd_line("Invalid nextstate: %s: it is RESUME or DOWN", text);
    return change->next_state ? 0 : -1;
}

/* What stands before the nodes. */
static int parse_word(const char *word, Pb__NodeUpdate *change)
{
    const char *value;
    if (str_case_eq(word, "ASAP")) {
        change->has_reboot_asap = change->reboot_asap = true;
    } else if (str_case_eq(word, "FORCE")) {
        change->has_reboot_force = change->reboot_force = true;
    } else if ((value = value_of(word, "nextstate"))) {
        return parse_next_state(value, change);
    } else if ((value = value_of(word, "reason"))) {
        change->reason = (char *)value;
    } else if (value_of(word, "action")) {
        cmd_line("action is not supported: there are no PowerAction lines; RebootProgram is run");
        return -1;
    } else {
        cmd_line("Invalid option for reboot: %s", word);
        return -1;
    }
    return 0;
}

static int send_change(Pb__NodeUpdate *change, const char *nodes, const char *what)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    struct err err = {0};
    change->nodes = (char *)nodes;
    if (!str_case_eq(nodes, "ALL") && hostlist_parse(nodes, &hosts, &err) < 0) {
        cmd_line("%s: %s", nodes, err.text);
        return 1;
    }
    if (cmd_call(RPC_NODE_UPDATE, &change->base, NULL, &err) < 0) {
        cmd_line("%s error: %s", what, err.text);
        return 1;
    }
    return 0;
}

int run_reboot(int argc, char **argv)
{
    Pb__NodeUpdate change = PB__NODE_UPDATE__INIT;
    change.state = (char *)"REBOOT";
    for (int i = 0; i + 1 < argc; i++)
        if (parse_word(argv[i], &change) < 0)
            return 1;
    const char *nodes = argv[argc - 1];
    if (str_case_eq(nodes, "ASAP") || str_case_eq(nodes, "FORCE") || strchr(nodes, '=')) {
        cmd_line("Missing node list: name the nodes to reboot, or ALL");
        return 1;
    }
    return send_change(&change, nodes, "scontrol_reboot_nodes");
}

int run_cancel_reboot(int argc, char **argv)
{
    Pb__NodeUpdate change = PB__NODE_UPDATE__INIT;
    (void)argc;
    change.state = (char *)"CANCEL_REBOOT";
    return send_change(&change, argv[0], "scontrol_cancel_reboot");
}
