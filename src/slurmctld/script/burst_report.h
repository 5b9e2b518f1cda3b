/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The format of the pipe from a burst_buffer.lua function: records of a letter, a length, and a
   text. */
#pragma once

#define BURST_REPORT_LOG 'l'
#define BURST_REPORT_OUTPUT 'o'
#define BURST_REPORT_ERROR 'e'

void burst_report_put(int fd, char kind, const char *text);
