/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Removes, as root, a directory that a user could write to: follows no symbolic link, enters no
 * other file system, and is limited in effort.
 */
#pragma once

/* Entries that cannot be removed stay. */
void wipe_tree(const char *path);
/* Without a limit of depth or size; the directory and its parent belong to root. */
void wipe_tree_whole(const char *path);
