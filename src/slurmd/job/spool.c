/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/attempt/events.h"
#include "slurmd/attempt/note.h"
#include "slurmd/attempt/revoked.h"
#include "slurmd/job/attempt_life.h"
#include "slurmd/node/script.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define ID_SIZE 8 /* random bytes in the id */
#define LOCK_TRIES 100
#define LOCK_PAUSE_USEC 10000
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static char *format_spool_path(const struct slurmd *d, const char *name)
{
    return mem_printf("%s/%s", d->spool, name);
}

/* Only our user may create files there. */
static int check_owner(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) || !S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "SlurmdSpoolDir %s is not a directory", path);
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, -EPERM,
                       "SlurmdSpoolDir %s must belong to user %u and be writable by nobody else",
                       path, (unsigned)geteuid());
    return 0;
}

static int make_directories(struct slurmd *d, struct err *err)
{
    static const char *const names[] = {"jobs", "steps", "spare"};
    int rc = path_mkdirs(d->spool, 0755, NULL);

    if (rc)
        return err_set(err, rc,
                       "cannot create SlurmdSpoolDir '%s' (%s): create the directory and run "
                       "'chown %s %s', or set another SlurmdSpoolDir",
                       d->spool, err_text(rc), d->conf->slurmd_user, d->spool);
    if (!rc)
        rc = check_owner(d->spool, err);
    if (!rc)
        rc = conf_trust_path(d->conf, "SlurmdSpoolDir", d->spool, err);
    for (int i = 0; i < 3 && !rc; i++) {
        _cleanup_free_ char *path = format_spool_path(d, names[i]);

        if (mkdir(path, 0700) && errno != EEXIST)
            rc = err_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
    }
    return rc;
}

/* Retries, because a child of a killed daemon holds the lock for a moment until it executes its
   program. */
static int lock_spool(struct slurmd *d, struct err *err)
{
    _cleanup_free_ char *path = format_spool_path(d, "lock");
    int rc;

    d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->lock_fd < 0)
        return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    for (int i = 0; (rc = flock(d->lock_fd, LOCK_EX | LOCK_NB)) && i < LOCK_TRIES; i++)
        usleep(LOCK_PAUSE_USEC);
    if (rc)
        return err_set(err, -EBUSY,
                       "SlurmdSpoolDir '%s' is in use by another slurmd: stop that one, or put %%n "
                       "into SlurmdSpoolDir where a host has several nodes",
                       d->spool);
    return 0;
}

/* Removes the files with this prefix from a directory, including directories of scripts. */
static void wipe_spool(const char *dir, const char *prefix)
{
    struct dirent *entry;
    DIR *list = opendir(dir);

    if (!list)
        return;
    while ((entry = readdir(list))) {
        _cleanup_free_ char *script = NULL;

        if (entry->d_name[0] == '.' || !str_starts(entry->d_name, prefix))
            continue;
        if (!unlinkat(dirfd(list), entry->d_name, 0))
            continue;
        script = mem_printf("%s/slurm_script", entry->d_name);
        unlinkat(dirfd(list), script, 0);
        unlinkat(dirfd(list), entry->d_name, AT_REMOVEDIR);
    }
    closedir(list);
}

static void wipe_all(struct slurmd *d)
{
    static const char *const files[] = {"events", "revoked"};
    _cleanup_free_ char *jobs = format_spool_path(d, "jobs"),
                        *steps = format_spool_path(d, "steps");

    wipe_spool(jobs, "");
    wipe_spool(steps, "");
    for (int i = 0; i < 2; i++) {
        _cleanup_free_ char *path = format_spool_path(d, files[i]);

        unlink(path);
    }
    for (char prefix[] = "job0"; prefix[3] <= '9'; prefix[3]++)
        wipe_spool(d->spool, prefix);
    wipe_spool(d->spool, "x11.");
}

static int read_first_line(const char *path, char *out, size_t size, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    int rc = path_read_file(path, 256, &text, err);

    if (rc)
        return rc;
    snprintf(out, size, "%.*s", (int)strcspn(str_cstr(&text), "\n"), str_cstr(&text));
    return 0;
}

static int spool_id(struct slurmd *d, char *out, size_t size, struct err *err)
{
    _cleanup_free_ char *path = format_spool_path(d, "id");
    uint8_t random[ID_SIZE];

    int rc = read_first_line(path, out, size, err);

    if (path_is_shortage(rc) || (rc == 0 && strlen(out) == 2 * ID_SIZE && !d->rebooted))
        return rc;
    auth_random(random, sizeof(random));
    for (size_t i = 0; i < ID_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    return path_write_file(path, out, strlen(out), 0600, err);
}

/* State written before the last boot describes nothing that still runs. */
static int check_boot(struct slurmd *d, struct err *err)
{
    _cleanup_free_ char *path = format_spool_path(d, "boot");
    char now[48] = "", then[48] = "", id[2 * ID_SIZE + 1];
    int rc = read_first_line(BOOT_ID, now, sizeof(now), err);

    if (!rc && path_is_shortage(read_first_line(path, then, sizeof(then), err)))
        rc = err->code;
    if (!rc && strcmp(now, then) != 0) {
        wipe_all(d);
        rc = path_write_file(path, now, strlen(now), 0600, err);
    }
    if (!rc)
        rc = spool_id(d, id, sizeof(id), err);
    if (!rc)
        snprintf(d->incarnation, sizeof(d->incarnation), "%s:%s", now, id);
    return rc;
}

int spool_open(struct slurmd *d, struct err *err)
{
    _cleanup_free_ char *events = format_spool_path(d, "events"),
                        *revoked = format_spool_path(d, "revoked");
    int rc = make_directories(d, err);

    if (!rc)
        rc = lock_spool(d, err);
    if (!rc)
        rc = check_boot(d, err);
    if (!rc)
        rc = events_open(events, (uint64_t)loop_wall_ms() * 1000, &d->events, err);
    if (!rc)
        rc = revoked_open(revoked, &d->revoked, err);
    return rc;
}

static int adopt_note(void *ctx, const char *path, struct err *err)
{
    struct slurmd *d = ctx;
    struct note note = {0};
    struct err why = {0};
    int rc = note_load(path, &note, &why);

    if (path_is_shortage(rc)) {
        rc = err_set(err, rc, "%s", why.text);
    } else if (rc) {
        _cleanup_free_ char *aside = mem_printf("%s/damaged.%s", d->spool, strrchr(path, '/') + 1);

        log_error("%s; set aside as %s", why.text, aside);
        rename(path, aside);
        rc = 0;
    } else {
        attempt_adopt(d, &note);
    }
    note_done(&note);
    return rc;
}

int spool_adopt(struct slurmd *d, bool clean, struct err *err)
{
    struct attempt *a, *next;
    int rc;

    d->old_scripts++; /* not all scripts of earlier daemons are known yet */
    rc = note_each(d->spool, adopt_note, d, err);
    if (rc)
        return rc;
    script_old_ended(d);
    if (d->attempts)
        log_info("found %u jobs of an earlier daemon%s", HASH_COUNT(d->attempts),
                 clean ? ", ending them" : "");
    HASH_ITER (hh, d->attempts, a, next) {
        if (clean)
            attempt_terminate(a, 0, "");
    }
    return 0;
}

void spool_close(struct slurmd *d)
{
    events_close(d->events);
    revoked_close(d->revoked);
    if (d->lock_fd >= 0)
        close(d->lock_fd);
}
