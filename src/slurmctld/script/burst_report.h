/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a function of burst_buffer.lua leaves in its pipe: a letter, a length, and a text each. */
#pragma once

#define BURST_REPORT_LOG 'l'
#define BURST_REPORT_OUTPUT 'o'
#define BURST_REPORT_ERROR 'e'

void burst_report_put(int fd, char kind, const char *text);
