/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Host names: host lists, which need no controller, addresses of nodes, and the role of this host.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/path.h"
#include "cli/cmd.h"
#include "cli/node_names.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/node.pb-c.h"

#define HOST_FILE_MAX (16u << 20)

/* "n1: 10.0.0.1" */
static int put_address(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    int *status = ctx;
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    for (size_t i = 0; i < part->n_nodes; i++) {
        const Pb__NodeRecord *node = part->nodes[i];
        const char *name = node->addr ? node->addr : node->name;
        struct addrinfo *found = NULL;
        char text[NI_MAXHOST] = "";
        int r = getaddrinfo(name, NULL, &hints, &found);
        if (r == 0)
            r = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0,
                            NI_NUMERICHOST);
        if (r == 0) {
            str_printf(cmd_out(), "%s: %s\n", node->name, text);
        } else {
            cmd_error("NodeAddr '%s' of node %s: %s", name, node->name, gai_strerror(r));
            *status = 1;
        }
        if (found)
            freeaddrinfo(found);
    }
    return 0;
}

int run_getaddrs(int argc, char **argv)
{
    struct err err = {0};
    int status = 0;
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    filter.nodes = argv[0];
    if (node_names_check(argv[0], &err) < 0 ||
        rpc_call_stream(cmd_client(), RPC_NODE_LIST, &filter.base, put_address, &status, &err) <
            0) {
        cmd_line("slurm_get_node_addrs error: %s", err.text);
        return 1;
    }
    return status;
}

static int read_input(struct str *out, struct err *err)
{
    char part[4096];
    ssize_t n;
    while ((n = read(STDIN_FILENO, part, sizeof part)) > 0) {
        str_append(out, part, (size_t)n);
        if (out->len > HOST_FILE_MAX)
            return err_set(err, -ERR_LIMIT, "standard input has more than %u bytes", HOST_FILE_MAX);
    }
    return n < 0 ? err_set(err, -errno, "standard input: %s", strerror(errno)) : 0;
}

/* Reads hosts from an expression, from a file if the text is a path, or from standard input for
 * "-". */
static int read_hosts(const char *text, struct hostlist **hosts)
{
    struct err err = {0};
    _cleanup_str_ struct str file = STR_INIT;
    int r = 0;
    bool is_input = str_eq(text, "-");
    if (is_input || strchr(text, '/')) {
        r = is_input ? read_input(&file, &err) : path_read_file(text, HOST_FILE_MAX, &file, &err);
        for (size_t i = 0; r == 0 && i < file.len; i++)
            if (strchr(" \t\r\n", file.data[i]))
                file.data[i] = ',';
        text = str_cstr(&file);
        text += strspn(text, ",");
        while (r == 0 && file.len && file.data[file.len - 1] == ',')
            file.data[--file.len] = 0;
    }
    if (r == 0)
        r = hostlist_parse(text, hosts, &err);
    if (r < 0)
        cmd_error("%s", err.text);
    return r;
}

int show_hostnames(const char *text)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    text = text ? text : getenv("SLURM_JOB_NODELIST");
    if (!text || !*text) {
        cmd_error("host list is empty");
        return 1;
    }
    if (read_hosts(text, &hosts) < 0)
        return 1;
    for (size_t i = 0; i < hostlist_count(hosts); i++)
        str_printf(cmd_out(), "%s\n", hostlist_nth(hosts, i, name));
    return 0;
}

static int print_hostlist(const char *text, bool sorted)
{
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    if (!text) {
        cmd_line("invalid encode argument");
        return 1;
    }
    if (read_hosts(text, &hosts) < 0)
        return 1;
    if (sorted)
        hostlist_sort(hosts);
    hostlist_format(hosts, cmd_out());
    str_putc(cmd_out(), '\n');
    return 0;
}

int show_hostlist(const char *text)
{
    return print_hostlist(text, false);
}

int show_hostlistsorted(const char *text)
{
    return print_hostlist(text, true);
}

static bool is_this_host(const char *name)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    size_t len = strcspn(host, "."), name_len = strcspn(name, ".");
    return str_case_eq(name, "localhost") || str_case_eq(name, host) ||
           ((!host[len] || !name[name_len]) && len == name_len && !strncasecmp(name, host, len));
}

/* The daemons that should run on this host. */
int show_daemons(const char *id)
{
    struct conf *conf = NULL; /* the configuration of a command has no nodes */
    struct err err = {0};
    bool controller = false, node = false;
    if (conf_load(cmd_conf()->path, CONF_FULL, NULL, &conf, NULL, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    vec_foreach (&conf->controllers, h)
        controller = controller || is_this_host(h->name);
    for (size_t i = 0; i < conf->nodes.len && !node; i++)
        node = is_this_host(conf->nodes.data[i].hostname);
    conf_free(conf);
    str_printf(cmd_out(), "%s%s%s\n", controller ? "slurmctld" : "", controller && node ? " " : "",
               node ? "slurmd" : "");
    return 0;
}

/* The nodes with this NodeHostname; without an argument, those of this host. */
int show_aliases(const char *id)
{
    struct conf *conf = NULL;
    struct err err = {0};
    size_t count = 0;
    if (conf_load(cmd_conf()->path, CONF_FULL, NULL, &conf, NULL, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    for (size_t i = 0; i < conf->nodes.len; i++) {
        const struct conf_node *n = &conf->nodes.data[i];
        if (id && *id ? str_eq(n->hostname, id) : is_this_host(n->hostname))
            str_printf(cmd_out(), "%s%s", count++ ? " " : "", n->name);
    }
    conf_free(conf);
    if (count)
        str_putc(cmd_out(), '\n');
    else if (id && *id)
        cmd_error("no node has NodeHostname=%s", id);
    else
        cmd_error("no node has the name of this host as its NodeHostname");
    return count ? 0 : 1;
}
