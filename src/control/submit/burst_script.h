/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Burst buffer lines in job scripts: comments before the first command that begin with #DIRECTIVE.
 * In the script of a job set a line belongs to the component in whose part it is, see
 * job_set_text_separates().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct str;

/* Extracts these lines without their ends, joined by '\n'. */
void burst_script_lines(const char *script, size_t len, const char *directive, struct str *out);
/* Builds the script to be stored for a component. For component 0 it is the whole script, in which
 * the lines of other components are "#EXCLUDED DIRECTIVE ..."; for another component the
 * interpreter line, its own #SBATCH and burst buffer lines, and "exit 0". */
void burst_script_rebuild(const char *script, size_t len, const char *directive, uint32_t component,
                          struct str *out);
