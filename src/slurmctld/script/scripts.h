/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's side of its helper process (scriptd.h): what control/ asks to be run goes there,
 * a bounded number at a time, and how it ended comes back. A helper that ends is replaced, and what
 * it ran for jobs is run again.
 */
#pragma once

#include "loop/loop.h"
#include "proto/script.pb-c.h"

#define SCRIPTS_AT_ONCE 64   /* of prologs and epilogs; further ones wait for their turn */
#define SCRIPTS_CALLS 256    /* of functions for burst buffers, */
#define SCRIPTS_QUESTIONS 32 /* and of those that somebody waits for */
#define SCRIPTS_MAILS 8
#define SCRIPTS_RECORDS 8   /* programs of JobCompType=jobcomp/script */
#define SCRIPTS_TRIGGERS 32 /* control/ asks for no more */
/* Mails, and as many completion records; further ones are dropped, with a word in the log */
#define SCRIPTS_UNATTENDED_WAITING 10000
#define SCRIPTS_AGAIN_MS 1000 /* before a helper that did not live long is replaced */
/* What a controller runs may go on for so long after the last proof of its lead. */
#define SCRIPTS_LEASE_MS 10000
/* After that much more it has ended: with SCRIPTD_GRACE_MS, and a second for a busy machine. */
#define SCRIPTS_LEASE_END_MS 3000

struct scripts_options {
    struct loop *loop;
    bool leased;     /* nothing runs without a lease, see scripts_renew() */
    const char *dir; /* for the lock that keeps two helpers apart; NULL: it runs beside others */
    void (*on_ended)(void *ctx, const Pb__ScriptEnded *m); /* not of mail and completion records */
    void (*on_hold_over)(void *ctx); /* of scripts_hold(): those of the other one have ended */
    void *ctx;
};

struct scripts;
struct scripts *scripts_new(const struct scripts_options *options); /* starts the helper */
void scripts_free(struct scripts *s); /* ends it, and with it what it runs; waits for that */

/* The lead was proven at this moment. Without 'leased' nothing happens. */
void scripts_renew(struct scripts *s, int64_t proven_ms);
/* Another controller may have led until now, and what that one runs may go on: nothing runs here
 * before it has ended. Without 'leased' nothing happens. */
void scripts_hold(struct scripts *s);

void scripts_run(struct scripts *s, const Pb__ScriptRun *m); /* copied */
/* Kind, job and restarts say which. One that waits is reported as ended by SIGTERM. */
void scripts_stop(struct scripts *s, const Pb__ScriptRun *m);
