/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/become.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/service.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/io/configless.h"
#include "slurmd/io/serve.h"
#include "slurmd/io/uplink.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/job/ending.h"
#include "slurmd/job/health.h"
#include "slurmd/job/jobtmp.h"
#include "slurmd/job/spool.h"
#include "slurmd/node/logfile.h"
#include "slurmd/node/plugins.h"
#include "slurmd/node/script.h"
#include "slurmd/node/users.h"
#include "slurmd/step/contain.h"
#include "slurmd/step/freq.h"
#include "slurmd/step/shepherd.h"
#include "slurmd/usage/usage.h"

/* Threads: one for snapshots of processes; one for name lookups, which may hang. */
#define WORKERS 2
#define LOG_ROOM "slurmd"
#include "base/log.h"

/* No batch script can run if users cannot traverse the path. */
static void check_walkable(const struct slurmd *d)
{
    _cleanup_free_ char *path = mem_strdup(d->spool);
    struct stat st;

    if (geteuid() != 0)
        return;
    for (char *at = strchr(path + 1, '/');; at = strchr(at + 1, '/')) {
        if (at)
            *at = '\0';
        if (!stat(path, &st) && !(st.st_mode & S_IXOTH))
            log_error("users cannot enter %s: their batch scripts in SlurmdSpoolDir %s will not "
                      "run",
                      path, d->spool);
        if (!at)
            return;
        *at = '/';
    }
}

static void on_stop(void *ctx, int signo)
{
    struct slurmd *d = ctx;

    log_info("stopping by signal %d; steps go on", signo);
    loop_stop(d->loop);
}

static void on_hangup(void *ctx, int signo)
{
    uplink_reconfigure_any(ctx);
}

static void on_rotated(void *ctx, int signo)
{
    struct slurmd *d = ctx;
    struct conf_report report = {0};
    struct err err = {0};
    struct conf *fresh = NULL;

    if (conf_load_with(d->conf->path, d->own_line, CONF_NODE, d->name, &fresh, &report, &err))
        log_error("the log level stays as it is: %s", err.text);
    else
        logfile_set_level(d, fresh->slurmd_debug);
    conf_free(fresh);
    conf_report_done(&report);
    if (logfile_open(d, &err))
        log_error("%s", err.text);
}

/* The default action of these signals would end the daemon. */
static void on_ignored(void *ctx, int signo)
{
    log_debug("signal %d is ignored", signo);
}

static void on_unknown_child(void *ctx, pid_t pid, int wait_status)
{
    log_debug("process %d, a shepherd or an orphan, has ended", (int)pid);
}

static void on_turn(void *ctx)
{
    uplink_flush(ctx);
}

static void set_up_loop(struct slurmd *d)
{
    d->loop = loop_new(WORKERS);
    loop_signal(d->loop, SIGTERM, on_stop, d);
    loop_signal(d->loop, SIGINT, on_stop, d);
    loop_signal(d->loop, SIGQUIT, on_stop, d);
    loop_signal(d->loop, SIGHUP, on_hangup, d);
    loop_signal(d->loop, SIGUSR2, on_rotated, d);
    loop_signal(d->loop, SIGUSR1, on_ignored, d);
    loop_signal(d->loop, SIGALRM, on_ignored, d);
    loop_signal(d->loop, SIGPROF, on_ignored, d);
    loop_child_other(d->loop, on_unknown_child, d);
    loop_on_turn(d->loop, on_turn, d);
    d->cancelled = mem_new(struct cancelled);
    d->users = users_new(d->loop, "/proc/self/exe");
}

static int set_up(struct slurmd *d, const struct slurmd_options *o, struct err *err)
{
    int rc;

    umask(0022);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    d->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (d->null_fd < 0)
        return err_set(err, -errno, "cannot open /dev/null: %s", strerror(errno));
    rc = logfile_open(d, err);
    if (!rc)
        rc = spool_open(d, err);
    if (rc)
        return rc;
    check_walkable(d);
    rc = contain_open(d, err);
    if (!rc)
        rc = jobtmp_open(d, err);
    if (!rc)
        rc = plugins_begin(d, err);
    if (rc)
        return rc;
    set_up_loop(d);
    rc = serve_open(d, err);
    if (rc)
        return rc;
    rc = usage_open(d, err);
    if (!rc)
        rc = spool_adopt(d, o->clean, err);
    if (rc)
        return rc;
    contain_sweep(d);
    freq_sweep(d);
    jobtmp_sweep(d);
    ending_sweep(d);
    usage_begin(d);
    return 0;
}

void daemon_free_state(struct slurmd *d)
{
    configless_free(d->configless);
    auth_key_done(&d->key);
    conf_free(d->conf);
    free(d->name);
    free(d->host);
    free(d->spool);
    if (d->welcomed)
        pb__node_welcome__free_unpacked(d->welcomed, NULL);
    free(d->dynamic);
    free(d->extra);
    free(d->parameters);
    free(d->own_line);
    free(d->stepd_path);
    free(d->stepd_spank_path);
    free(d->log_file_given);
}

/* Releases everything, also after a partial set_up(). */
static void tear_down(struct slurmd *d)
{
    health_done(d);
    uplink_close(d);
    if (d->server)
        rpc_server_unlisten(d->server);
    script_forget_all(d);
    plugins_end(d);
    attempt_free_all(d);
    contain_close(d);
    jobtmp_close(d);
    usage_close(d);
    serve_close(d);
    users_free(d->users);
    shepherd_close(d);
    spool_close(d);
    if (d->cancelled)
        cancelled_done(d->cancelled);
    free(take_ptr(d->cancelled));
    configless_free(take_ptr(d->configless)); /* has a timer of the loop */
    loop_free(d->loop);
    usage_done(d);
    free(d->log_file);
    free(d->conf_refused);
    daemon_free_state(d);
    log_close();
}

/* Applies -n, -M and -s; slurmd continues without options that it cannot apply. */
static void apply_options(const struct slurmd *d, const struct slurmd_options *o)
{
    int rc = o->nice_value ? service_set_nice(o->nice_value) : 0;

    if (rc == -EINVAL)
        log_error("invalid nice value '%s' (-n): use -20 to 19", o->nice_value);
    else if (rc)
        log_error("cannot set the nice value to %s (-n): %s", o->nice_value, strerror(-rc));
    if (o->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE))
        log_error("cannot lock the memory of slurmd (-M): %s", strerror(errno));
    if (o->change_dir) {
        _cleanup_free_ char *dir = service_change_dir(d->log_file, d->spool);
        log_info("working directory: %s", dir ? dir : "unchanged");
    }
}

static int write_pid_file(const char *path, struct err *err)
{
    char text[16];
    struct err why = {0};

    snprintf(text, sizeof(text), "%d\n", (int)getpid());
    int rc = path_write_file(path, text, strlen(text), 0644, &why);
    if (rc)
        err_set(err, rc,
                "SlurmdPidFile '%s': %s: create its directory, writable for the user of slurmd, or "
                "set another file",
                path, why.text);
    return rc;
}

int daemon_run(struct slurmd *d, const struct slurmd_options *o)
{
    _cleanup_free_ char *pid_file = path_expand(d->conf->slurmd_pid_file, d->host, d->name);
    int terminal = o->foreground ? -1 : service_detach("slurmd");
    struct err err = {0};
    int rc = become_limited(&err);

    if (!rc)
        rc = set_up(d, o, &err);
    if (!rc)
        rc = write_pid_file(pid_file, &err);
    if (rc) {
        fprintf(stderr, "slurmd: error: %s\n", err.text);
        tear_down(d);
        return dump_on_fatal(1);
    }
    log_info("slurmd version " SLUICE_VERSION " is node %s, port %u", d->name, d->node->port);
    if (terminal >= 0) {
        logfile_detach(d);
        service_ready(terminal);
    }
    apply_options(d, o);
    rc = o->systemd ? service_notify("READY=1") : 0;
    if (rc)
        log_error("cannot notify the service manager: %s", strerror(-rc));
    malloc_trim(0); /* returns the memory used for reading the configuration */
    health_begin(d, uplink_open);
    loop_run(d->loop);
    uplink_flush(d);
    unlink(pid_file);
    tear_down(d);
    return 0;
}
