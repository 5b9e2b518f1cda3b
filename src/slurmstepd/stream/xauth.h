/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Entries of ~/.Xauthority, with the locks that xauth and the X libraries use. A child process
 * changes the file as the step's user, who owns the file and may own all directories above it.
 */
#pragma once

#include "slurmstepd/step/step.h"

struct xauth_entry {
    unsigned display;
    const void *cookie; /* NULL: remove the entry of the display */
    size_t cookie_len;
};

/* Replaces the entry of this host's display, if any. The child is killed after limit seconds,
 * because the home directory may hang and the user may stop the child. -ERR_LAUNCH: the file could
 * not be changed. That is not a fault of the node, or users could drain it. */
int xauth_change(const struct step *step, const char *path, const struct xauth_entry *entry,
                 unsigned limit_sec, struct err *err);
#define XAUTH_LIMIT_SEC 10
/* Milliseconds; then a process that hangs in the kernel is left alone. */
#define XAUTH_KILLED_MS 1000

/* Non-blocking variant: xauth_begin() returns the child's pid, or a negative code; xauth_result()
 * reads the child's wait status, and xauth_late() describes a child that was killed at its time
 * limit. */
pid_t xauth_begin(const struct step *step, const char *path, const struct xauth_entry *entry,
                  unsigned limit_sec, struct err *err);
int xauth_result(const char *path, int status, struct err *err);
int xauth_late(const char *path, unsigned limit_sec, struct err *err);

/* The same on the content of a file; -ERR_PARSE: malformed. */
int xauth_edit(const void *old, size_t len, const char *host, const struct xauth_entry *entry,
               struct str *out);

/* Appends an entry of that family and address. */
void xauth_put(unsigned family, const char *address, const struct xauth_entry *entry,
               struct str *out);
#define XAUTH_FAMILY_LOCAL 256   /* the host with that name, however it is reached */
#define XAUTH_FAMILY_WILD 0xffff /* any host */
