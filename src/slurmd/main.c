/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slurmd, the node daemon. It starts and supervises each step through its own slurmstepd, runs the
 * site's scripts around a job, and reports to the controller. It can be stopped and restarted at
 * any time while steps continue to run.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/service.h"
#include "base/str.h"
#include "slurmd/daemon.h"
#include "slurmd/io/first_conf.h"
#include "slurmd/node/hw.h"
#include "slurmd/node/options.h"
#include "slurmd/node/slurmd.h"

#define DESCRIPTORS_MAX 65536

static char *host_name(void)
{
    char name[256] = "";

    gethostname(name, sizeof(name) - 1);
    name[strcspn(name, ".")] = '\0';
    return mem_strdup(*name ? name : "localhost");
}

static int print_hardware(const char *host, const char *parameters)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = {0};
    struct hw hw;

    if (hw_detect("/tmp", parameters, &hw, &err)) {
        fprintf(stderr, "slurmd: error: %s\n", err.text);
        return 1;
    }
    hw_format(&hw, host, hw_up_sec(), &text);
    fputs(str_cstr(&text), stdout);
    return 0;
}

static void put_links(const struct conf_gres_device *device, struct str *out)
{
    for (uint32_t i = 0; i < device->n_links; i++)
        str_printf(out, "%s%d", i ? "," : "", device->links[i]);
}

/* 'device' NULL: the resource has no device files. */
static void print_device(const struct conf_gres *g, const struct conf_gres_device *device, size_t k)
{
    _cleanup_str_ struct str links = STR_INIT;
    const char *file = device ? device->file : NULL, *cores = device ? device->cores : NULL;

    if (device && device->links)
        put_links(device, &links);
    printf("Gres Name=%s Type=%s Count=%llu Index=%zu File=%s Cores=%s Links=%s\n", g->name,
           g->type ? g->type : "(null)", device ? 1 : (unsigned long long)g->count, k,
           file ? file : "(null)", cores ? cores : "(null)",
           links.len ? str_cstr(&links) : "(null)");
}

/* A line for each device, or for a resource without device files. */
static void print_gres(const struct conf *c)
{
    const struct conf_gres_set *set = conf_gres_of(c, 0);

    for (size_t i = 0; i < set->len; i++) {
        const struct conf_gres *g = &set->items[i];
        for (size_t k = 0; k < (g->n_devices ? g->n_devices : 1); k++)
            print_device(g, g->n_devices ? &g->devices[k] : NULL, k);
    }
}

/* Option -d, otherwise beside this program. */
static int find_stepd(struct slurmd *d, const char *given, struct err *err)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    if (n < 0)
        return err_set(err, -errno, "cannot read /proc/self/exe: %s", strerror(errno));
    exe[n] = '\0';
    *strrchr(exe, '/') = '\0';
    d->stepd_path = given ? mem_strdup(given) : mem_printf("%s/slurmstepd", exe);
    d->stepd_spank_path = mem_printf("%s/slurmstepd-spank", exe);
    if (access(d->stepd_path, X_OK))
        return err_set(err, -errno, "cannot run %s: %s", d->stepd_path, strerror(errno));
    return 0;
}

int main(int argc, char **argv)
{
    struct slurmd d = {.lock_fd = -1, .null_fd = -1, .terminal = true, .timeout_sec = -1};
    struct slurmd_options o = {0};
    struct err err = {0};
    int rc = fd_begin(STDERR_FILENO + 1);

    if (rc) {
        fprintf(stderr, "slurmd: error: cannot set up the standard descriptors: %s\n",
                strerror(-rc));
        return 1;
    }
    rc = options_parse(argc, argv, &o);
    if (rc >= 0)
        return rc;
    d.descriptors = fd_raise_limit(DESCRIPTORS_MAX);
    d.core_limit = dump_forbid();
    d.host = host_name();
    if (o.print_hardware) {
        rc = print_hardware(d.host, o.parameters);
        free(d.host);
        return rc;
    }
    d.started_at = loop_wall_ms() / 1000;
    d.verbose = o.verbose;
    d.log_file_given = o.log_file ? path_absolute(o.log_file, NULL) : NULL;
    d.foreground = o.foreground;
    d.named = o.node != NULL;
    d.rebooted = o.rebooted;
    d.extra = mem_strdup(o.extra);
    d.parameters = mem_strdup(o.parameters);
    signal(SIGPIPE, SIG_IGN);
    if (o.dynamic)
        rc = first_conf_make_line(&d, o.node, o.keys, &err);
    else
        rc = 0;
    if (!rc)
        rc = first_conf_load(&d, &o, &err);
    if (!rc && o.print_gres) {
        print_gres(d.conf);
        daemon_free_state(&d);
        return 0;
    }
    if (!rc)
        rc = hw_detect_node(&d, &err);
    if (!rc)
        rc = find_stepd(&d, o.stepd_path, &err);
    if (rc) {
        fprintf(stderr, "slurmd: error: %s\n", err.text);
        daemon_free_state(&d);
        return dump_on_fatal(1);
    }
    return daemon_run(&d, &o);
}
