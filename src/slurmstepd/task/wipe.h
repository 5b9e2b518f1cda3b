/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Removal of a directory that a user could write to, as root: no link is followed, no other file
 * system is entered, and there is an end to it.
 */
#pragma once

/* What cannot be removed stays. */
void wipe_tree(const char *path);
/* However deep it is and however much it holds; the directory and the one above it are root's. */
void wipe_tree_whole(const char *path);
