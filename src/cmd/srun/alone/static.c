/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program without shared libraries executes the one that uses them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cmd/srun/alone/alone.h"
#include "cmd/srun/alone/names.h"
#include "rpc/client.h"
#include "spank/plugstack.h"

#define DYNAMIC "srun-dynamic"
#define PRELOAD_FILE "/etc/ld.so.preload"

extern char **environ;

static char **first_argv, **first_environment; /* copies of the lists, not of the texts */

static char **copy_list(char **list)
{
    size_t count = 0;

    while (list[count] != NULL)
        count++;
    char **copy = mem_new_array(char *, count + 1);
    memcpy(copy, list, count * sizeof(*copy));
    return copy;
}

/* srun-dynamic is in SRUN_SBINDIR, relative to the running installation unless that path is
 * absolute, or beside this program in the build directory. */
_Noreturn void alone_leave(const char *what)
{
    _cleanup_free_ char *prefix = path_prefix();
    bool moves = *SRUN_SBINDIR != '/';
    _cleanup_free_ char *installed =
        mem_printf("%s%s" SRUN_SBINDIR "/" DYNAMIC, moves ? prefix : "", moves ? "/" : "");
    _cleanup_free_ char *built = mem_printf("%s/" DYNAMIC, prefix);

    execve(installed, first_argv, first_environment);
    int error = errno;
    execve(built, first_argv, first_environment);
    fprintf(stderr, "srun: error: cannot execute '%s', which %s needs: %s: install it again\n",
            installed, what, strerror(error));
    exit(1);
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0';
}

void alone_begin(char **argv)
{
    first_argv = copy_list(argv); /* getopt reorders the arguments */
    first_environment = copy_list(environ);
    if (is_set("LD_PRELOAD") || is_set("LD_AUDIT") || access(PRELOAD_FILE, R_OK) == 0)
        alone_leave("a preloaded library");
}

void alone_forbid_leaving(void)
{
    names_forbid_leaving();
}

/* Whether a controller's local socket exists; it is tried first. */
static bool has_socket(const struct conf *conf)
{
    vec_foreach (&conf->controllers, host) {
        _cleanup_free_ char *name = conf_socket_controller(host);

        for (size_t i = 0; i < conf->socket_dir_count; i++) {
            _cleanup_free_ char *path = conf_socket_path(conf, i, name);

            if (access(path, F_OK) == 0)
                return true;
        }
    }
    return false;
}

void alone_check(const struct conf *conf)
{
    struct plugstack rows = {0};
    struct err err = {0}; /* srun-dynamic will find the same error */
    bool has_plugins;

    if (conf == NULL)
        return;
    has_plugins = plugstack_load(conf, &rows, &err) < 0 || rows.plugins.len > 0;
    plugstack_done(&rows);
    if (has_plugins)
        alone_leave("a plugin of plugstack.conf");
    if (conf->cli_filter_plugins != NULL && *conf->cli_filter_plugins != '\0')
        alone_leave("CliFilterPlugins");
    if (rpc_local_socket_wanted() && has_socket(conf))
        return;
    vec_foreach (&conf->controllers, host)
        if (!names_know_host(host->addr))
            alone_leave("a host name");
}
