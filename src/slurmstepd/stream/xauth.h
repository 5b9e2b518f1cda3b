/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Entries of ~/.Xauthority, with the locks that xauth and the X libraries use. A child process does
 * it as the step's user: the file is the user's, and so are all directories above it.
 */
#pragma once

#include "slurmstepd/step/step.h"

struct xauth_entry {
    unsigned display;
    const void *cookie; /* NULL: the entry of the display is removed */
    size_t cookie_len;
};

/* In place of the entry that this host's display has, if any. The child is killed after that many
 * seconds: the home directory may hang, and the user may stop the child. -ERR_LAUNCH: it could not
 * be changed, which is no fault of the node, or the user could take it out of service. */
int xauth_change(const struct step *step, const char *path, const struct xauth_entry *entry,
                 unsigned limit_sec, struct err *err);
#define XAUTH_LIMIT_SEC 10
#define XAUTH_KILLED_MS 1000 /* then a process that hangs in the kernel is left to itself */

/* The same for callers that do not block: xauth_begin() returns the child's pid, or a negative
 * code; xauth_result() reads the child's wait status, and xauth_late() describes a child that was
 * killed at its limit. */
pid_t xauth_begin(const struct step *step, const char *path, const struct xauth_entry *entry,
                  unsigned limit_sec, struct err *err);
int xauth_result(const char *path, int status, struct err *err);
int xauth_late(const char *path, unsigned limit_sec, struct err *err);

/* The same on the bytes of a file; -ERR_PARSE: it is malformed. */
int xauth_edit(const void *old, size_t len, const char *host, const struct xauth_entry *entry,
               struct str *out);

/* Appends an entry of that family and address. */
void xauth_put(unsigned family, const char *address, const struct xauth_entry *entry,
               struct str *out);
#define XAUTH_FAMILY_LOCAL 256   /* of the host of that name, by whatever way it is reached */
#define XAUTH_FAMILY_WILD 0xffff /* of whatever host */
