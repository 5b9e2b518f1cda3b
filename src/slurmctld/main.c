/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/service.h"
#include "conf/conf_plugin.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/files.h"
#include "slurmctld/lead/backup.h"
#include "slurmctld/lead/check.h"
#include "slurmctld/lead/lead.h"
#include "slurmctld/lead/reexec.h"
#include "slurmctld/process.h"
#include "slurmctld/script/scriptd.h"
#include "slurmctld/submit/submitd.h"

static const char help[] =
    "Usage: slurmctld [OPTIONS]\n"
    "The controller of a cluster.\n\n"
    "  -c            start clean: set the saved state aside and start with an empty state\n"
    "  -D            stay in the foreground, and also log to standard error\n"
    "  -f FILE       read this configuration file instead of SLURM_CONF or the default file\n"
    "  -h, --help    print this help and exit\n"
    "  -i            ignore errors in the saved state: continue with the readable records\n"
    "  -L FILE       log to this file instead of SlurmctldLogFile\n"
    "  -n VALUE      set the nice value of slurmctld\n"
    "  -r            same as -R\n"
    "  -R            recover the whole state of the last run (always in effect): damaged records\n"
    "                are set aside and reported, all others are used\n"
    "  -s            change to the directory of the log file, otherwise to StateSaveLocation\n"
    "  -v            log in more detail; may be repeated\n"
    "  -V, --version print the version and exit\n"
    "      --as NAME run as this SlurmctldHost of the configuration, regardless of the host name\n"
    "      --check   read the configuration, report its errors, and exit\n"
    "      --systemd stay in the foreground, and notify the service manager when slurmctld is "
    "ready\n";

enum { OPT_CHECK = 256, OPT_SYSTEMD, OPT_AS };

static const struct option long_options[] = {
    {"as", required_argument, NULL, OPT_AS}, {"check", no_argument, NULL, OPT_CHECK},
    {"help", no_argument, NULL, 'h'},        {"systemd", no_argument, NULL, OPT_SYSTEMD},
    {"version", no_argument, NULL, 'V'},     {0},
};

/* Returns true to continue; false: exit with *status (--help, -V, an invalid option). */
static bool parse_options(int argc, char **argv, struct ctld_options *o, int *status)
{
    int opt;
    *status = 0;
    while ((opt = getopt_long(argc, argv, "cDf:hiL:n:rRsvV", long_options, NULL)) != -1) {
        switch (opt) {
        case 'c':
            o->clean = true;
            break;
        case 'D':
            o->foreground = true;
            break;
        case 'f':
            o->conf_path = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return false;
        case 'i':
            o->ignore_damage = true;
            break;
        case 'L':
            o->log_file = optarg;
            break;
        case 'n':
            o->nice_value = optarg;
            break;
        case 'r': /* always done */
        case 'R':
            break;
        case 's':
            o->change_dir = true;
            break;
        case 'v':
            o->verbose++;
            break;
        case 'V':
            puts("slurm " SLURM_VERSION);
            return false;
        case OPT_AS:
            o->as = optarg;
            break;
        case OPT_CHECK:
            o->check = true;
            break;
        case OPT_SYSTEMD:
            o->systemd = o->foreground = true;
            break;
        default:
            fputs("Try 'slurmctld --help'.\n", stderr);
            *status = 1;
            return false;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "slurmctld: error: unexpected argument '%s'; try 'slurmctld --help'\n",
                argv[optind]);
        *status = 1;
        return false;
    }
    return true;
}

#define LEAD_WAIT_MS 5000
#define LEAD_LOOK_MS 50
#define DESCRIPTORS_MAX 65536 /* a higher limit only costs memory in the process table */

static int log_failure(const struct err *err)
{
    log_write(LOG_LVL_FATAL, LOG_ROOM, "%s", err->text);
    return dump_on_fatal(1);
}

static struct conf *conf_read(struct ctld *c, struct conf_report *report, struct err *err)
{
    const char *given = c->options->conf_path;
    _cleanup_free_ char *path = given ? mem_strdup(given) : conf_path_daemon("slurmctld");
    struct conf *conf = NULL;
    c->conf_path = path_absolute(path, NULL);
    conf_load(c->conf_path, CONF_FULL, NULL, &conf, report, err);
    return conf;
}

static void log_warnings(const struct ctld *c, const struct conf_report *report)
{
    vec_foreach (&report->warnings, w) {
        log_info("warning: %s: %s", w->place, w->text);
        if (!c->options->foreground)
            fprintf(stderr, "slurmctld: warning: %s: %s\n", w->place, w->text);
    }
}

static int starter = -1; /* for service_ready() */

/* Detaches from the terminal and from the starting process. */
static void on_settled(struct ctld *c)
{
    const struct ctld_options *o = c->options;
    const struct conf *conf = ctld_conf(c);
    if (o->change_dir) {
        const char *log_file = o->log_file ? o->log_file : conf->slurmctld_log_file;
        _cleanup_free_ char *dir = service_change_dir(log_file, conf->state_save_location);
        log_info("working directory: %s", dir ? dir : "unchanged");
    } else if (!o->foreground && chdir("/")) {
        log_error("chdir: /");
    }
    if (!o->foreground)
        log_set_stderr(LOG_LVL_QUIET);
    if (starter >= 0)
        service_ready(starter);
    starter = -1;
    int rc = o->systemd ? service_notify("READY=1") : 0;
    if (rc)
        log_error("cannot notify the service manager: %s", strerror(-rc));
    log_info("ready");
}

static void set_nice(const struct ctld_options *o)
{
    int rc = o->nice_value ? service_set_nice(o->nice_value) : 0;
    if (rc == -EINVAL)
        log_error("invalid nice value '%s' (-n): use -20 to 19", o->nice_value);
    else if (rc)
        log_error("cannot set the nice value to %s (-n): %s", o->nice_value, strerror(-rc));
}

/* A controller that was killed or stopped holds the state until it has died, which may be shortly
 * after the command that stopped it. */
static int lead_at_once(struct ctld *c, struct err *err)
{
    int64_t until = loop_mono_ms() + LEAD_WAIT_MS;
    bool is_logged = false, taken = false;
    for (;;) {
        int rc = lead_take(c, &taken, err);
        if (rc != -ERR_LEAD || taken || loop_mono_ms() > until)
            return rc;
        if (!is_logged)
            log_info("%s; waiting %d s for it to end", err->text, LEAD_WAIT_MS / 1000);
        is_logged = true;
        usleep(LEAD_LOOK_MS * 1000);
    }
}

/* A single controller leads from its start. */
static int open_controller(struct ctld *c, struct conf *conf, size_t me, struct err *err)
{
    int rc = process_open(c, conf, me, err);
    c->on_settled = on_settled;
    if (rc == 0 && ctld_is_alone(c))
        rc = lead_at_once(c, err);
    if (rc == 0)
        rc = process_listen(c, err);
    if (rc)
        return rc;
    if (c->control)
        on_settled(c);
    else
        backup_open(c);
    if (c->options->yielded && !c->control)
        lead_run_program(c, false);
    return 0;
}

/* Everything before the loop runs. */
static int start_controller(struct ctld *c, int *pid_fd, char **pid_path, struct err *err)
{
    struct conf_report report = {0};
    size_t me = 0;
    struct conf *conf = conf_read(c, &report, err);
    if (!conf) {
        conf_report_done(&report);
        return err->code;
    }
    int rc = check_host(conf, c->options->as, &me, err);
    if (rc == 0 && me > 0 && c->options->clean)
        rc = err_set(err, -ERR_CONFIG, "-c: a backup cannot clear the state; start %s with it",
                     conf->controllers.data[0].name);
    if (rc == 0)
        rc = conf_trust_files(conf, err);
    if (rc == 0)
        rc = conf_submit_check(conf, err);
    if (rc == 0)
        rc = files_prepare(conf, c->options->log_file, err);
    if (rc == 0) {
        files_open_log(c, conf, true);
        log_warnings(c, &report);
        log_info("slurmctld %s (slurm %s) of cluster %s starts with %s", SLUICE_VERSION,
                 SLURM_VERSION, conf->cluster_name, conf->path);
        files_log_resources(conf);
        *pid_path = files_pid_path(conf, &conf->controllers.data[me]);
        *pid_fd = files_pid_open(conf, *pid_path);
        rc = files_load_keys(c, conf, err);
    }
    c->warned = report;
    if (rc == 0)
        rc = files_become_user(conf, err);
    if (rc == 0 && conf->controllers.len > 1)
        rc = files_check_again(conf, err);
    if (rc) {
        conf_free(conf);
        return rc;
    }
    rc = open_controller(c, conf, me, err);
    if (rc == 0)
        files_pid_write(*pid_fd);
    return rc;
}

int main(int argc, char **argv)
{
    struct ctld_options options = {0};
    int status;
    if (scriptd_is_wanted(argv[0]))
        return scriptd_main();
    if (submitd_is_wanted(argv[0]))
        return submitd_main();
    if (fd_begin(STDERR_FILENO + 1)) {
        fputs("slurmctld: error: cannot set up the standard descriptors\n", stderr);
        return 1;
    }
    if (!parse_options(argc, argv, &options, &status))
        return status;
    if (options.check)
        return check_run(&options);
    dump_forbid(); /* protects the cluster's keys */
    reexec_begun(&options);
    signal(SIGPIPE, SIG_IGN);
    /* write() at the file size limit returns an error instead of ending the process */
    signal(SIGXFSZ, SIG_IGN);
    umask(022);
    /* Large batches and listings are temporary: their memory returns to the system. */
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 512 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
    log_open(&(struct log_options){.program = "slurmctld", .stderr_level = LOG_LVL_INFO});
    set_nice(&options);
    if (!options.foreground && !options.is_reexec)
        starter = service_detach("slurmctld");
    fd_raise_limit(DESCRIPTORS_MAX);

    struct ctld c = {.options = &options, .runs_scripts = true};
    struct err err = {0};
    int pid_fd = -1;
    _cleanup_free_ char *pid_path = NULL;
    if (start_controller(&c, &pid_fd, &pid_path, &err)) {
        status = log_failure(&err);
        if (c.loop) {
            process_close(&c);
        } else {
            conf_report_done(&c.warned);
            free(c.conf_path);
        }
        return status;
    }
    process_run(&c);
    bool begin_anew = c.begin_anew, bad = c.failed;
    enum reexec how = c.control ? REEXEC_YIELDED : c.waits ? REEXEC_WAITS : REEXEC_CLAIMS;
    _cleanup_free_ char *conf_path = mem_strdup(c.conf_path);
    process_close(&c);
    if (begin_anew)
        reexec_start(&options, conf_path, how);
    files_pid_remove(pid_fd, pid_path);
    if (bad || begin_anew)
        return 1;
    log_info("stopped");
    return 0;
}
