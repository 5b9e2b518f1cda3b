/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's side of its helper process (scriptd.h): passes on what control/ wants to run, a
 * limited number at a time, and reports the ends. A helper that dies is replaced, and its programs
 * for jobs are run again.
 */
#pragma once

#include "loop/loop.h"
#include "proto/script.pb-c.h"

#define SCRIPTS_AT_ONCE 64   /* prologs and epilogs; further ones are queued */
#define SCRIPTS_CALLS 256    /* functions for burst buffers */
#define SCRIPTS_QUESTIONS 32 /* functions for burst buffers that a caller waits for */
#define SCRIPTS_MAILS 8
#define SCRIPTS_RECORDS 8   /* programs of JobCompType=jobcomp/script */
#define SCRIPTS_TRIGGERS 32 /* control/ does not start more */
/* Limit of queued mails, and of queued completion records; further ones are dropped and logged. */
#define SCRIPTS_UNATTENDED_WAITING 10000
#define SCRIPTS_AGAIN_MS 1000 /* delay before a short-lived helper is replaced */
/* Programs may run for this time after the last proof of the lead. */
#define SCRIPTS_LEASE_MS 10000
/* Additional time until they have ended: SCRIPTD_GRACE_MS, and a second for a busy machine. */
#define SCRIPTS_LEASE_END_MS 3000

struct scripts_options {
    struct loop *loop;
    bool leased;     /* nothing runs without a lease, see scripts_renew() */
    const char *dir; /* directory of the lock between helpers; NULL: no lock */
    /* Not called for mail and completion records. */
    void (*on_ended)(void *ctx, const Pb__ScriptEnded *m);
    /* For scripts_hold(): the other controller's programs have ended. */
    void (*on_hold_over)(void *ctx);
    void *ctx;
};

struct scripts;
struct scripts *scripts_new(const struct scripts_options *options); /* starts the helper */
void scripts_free(struct scripts *s); /* ends the helper and its programs, and waits for that */

/* The lead was proved at this time. No effect without 'leased'. */
void scripts_renew(struct scripts *s, int64_t proven_ms);
/* Another controller may have led until now and its programs may still run: starts no program
 * before they have ended. No effect without 'leased'. */
void scripts_hold(struct scripts *s);

void scripts_run(struct scripts *s, const Pb__ScriptRun *m); /* copies m */
/* Kind, job and restarts identify the script. A queued one is reported as ended by SIGTERM. */
void scripts_stop(struct scripts *s, const Pb__ScriptRun *m);
