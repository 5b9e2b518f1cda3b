# SPDX-License-Identifier: GPL-3.0-or-later
# After ./configure: make, make check, make install [DESTDIR=DIR]. A front for meson; ./run is the script with more verbs.
srcdir ?= .
build = build-make
-include $(build)/config.mk

.PHONY: all check install uninstall clean distclean
all: $(build)/build.ninja
	ninja -C $(build) $$('$(srcdir)/tools/installed' $(build))

$(build)/build.ninja:
	'$(srcdir)/configure'

# The system tests run the programs where they would be installed, under another root.
check: all
	ninja -C $(build)
	DESTDIR='$(CURDIR)/$(build)/stage' meson install -C $(build) --no-rebuild --quiet
	ln -sfn 'stage$(prefix)' $(build)/prefix
	'$(srcdir)/tools/test' quick '$(CURDIR)/$(build)'

install: all
	DESTDIR='$(DESTDIR)' meson install -C $(build) --no-rebuild

uninstall:
	ninja -C $(build) uninstall

clean:
	ninja -C $(build) -t clean

distclean:
	rm -rf $(build)
