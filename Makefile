# SPDX-License-Identifier: Apache-2.0
# gpusort - sorts files of numbers and lines.
#
#   make            build ./gpusort (with the GPU paths if nvcc is found; CUDA=0 leaves them out)
#   make check      build and run the tests; SIMT=0 leaves out those of the GPU's stand-in
#   make check-gpu  build and run the tests for a real GPU: 8 minutes or more on 16 cores
#   make simt       build build/simt/gpusort, whose "gpu" is a stand-in on the CPU (tests/simt)
#   make fuzz       build the fuzz targets (tests/fuzz; needs clang) and run them for FUZZ_SECONDS,
#                   or until one finds an error
#   make bench      build build/bench/bench_sort, which times the GPU paths and CUB, and
#                   bench_cpu, which times the CPU's sort and, if installed, VQSort and TBB
#   make completions  update the shell completions after a change of the options; makes simt first, which takes minutes
#   make install    into $(DESTDIR)$(prefix); install-strip, without symbols
#   make dist       pack the sources as gpusort-VERSION.tar.gz
#   make deb        make a Debian package, gpusort_VERSION_ARCHITECTURE.deb
#   make uninstall clean distclean
#
# The user may set CC CXX NVCC MPICC CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS OPENMP NVCCFLAGS
# NVCC_GENCODE. MPI=0 leaves out the plugin for several ranks, which MPICC compiles.
# SANITIZE=address,undefined builds with these sanitizers. BUILD=DIR builds in DIR. V=1 prints the
# commands. The rules of bench, and of check, simt and fuzz, are in bench/rules.mk and tests/rules.mk.

prefix ?= /usr/local
bindir ?= $(prefix)/bin
datadir ?= $(prefix)/share
mandir ?= $(datadir)/man
libexecdir ?= $(prefix)/libexec
# Expands the tilde of prefix=~/DIR: not every shell does, and none does between the quotes of install.
expand_home = $(if $(filter ~/%,$1),$(patsubst ~/%,$(HOME)/%,$1),$1)
$(foreach name,prefix DESTDIR bindir datadir mandir libexecdir,\
	$(eval override $(name) := $$(call expand_home,$$($(name)))))
BUILD ?= build
ifneq ($(words $(BUILD))$(findstring :,$(BUILD)),1)
$(error BUILD='$(BUILD)' must be one word without colons, as a target of make is)
endif
SIMT ?= 1
VERSION := $(shell sed -n 's/^\#define GPUSORT_VERSION "\(.*\)"/\1/p' cli/options/options.h)
# The commit that --version prints: the content of the file COMMIT of an unpacked archive; otherwise
# the output of git, with "-dirty" if files were changed.
COMMIT ?= $(or $(shell head -c 12 COMMIT 2>/dev/null),$(if $(wildcard .git),$(shell \
	GIT_OPTIONAL_LOCKS=0 git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null)))
commit := $(COMMIT)

CFLAGS ?= -O2 -g
CXXFLAGS ?= -O2 -g
# NVCCFLAGS='-O3 -lineinfo' shows profilers the lines of the sources, and is three times as large.
NVCCFLAGS ?= -O3
WARNINGS = -Wall -Wextra -Wshadow
C_WARNINGS = $(WARNINGS) -Wstrict-prototypes -Wmissing-prototypes

# nvcc from the PATH, or from the directories of the toolkit and of scripts/install_cuda.sh.
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc \
	build/cuda-toolkit/nvidia/cu13/bin/nvcc))
CUDA ?= $(if $(NVCC),1,0)
CUDA_HOME = $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
# The data centre GPUs since 2020 and the desktop GPUs since 2025 that nvcc knows, and PTX from which
# a driver compiles code for others. NVCC_GENCODE=-arch=native builds for this machine's GPU alone, in
# a quarter of the time. nvcc is queried once, as it may take a second.
comma := ,
ifeq ($(CUDA),1)
NVCC_GENCODE := $(or $(NVCC_GENCODE),--threads=4 $(foreach code,$(filter sm_80 sm_90 sm_100 sm_120,$(shell \
	$(NVCC) --list-gpu-code 2>/dev/null)),-gencode=arch=$(code:sm_%=compute_%)$(comma)code=$(code)) \
	-gencode=arch=compute_90$(comma)code=compute_90)
nvcc_compress := $(if $(findstring --compress-mode,$(shell $(NVCC) --help 2>/dev/null)),\
	--compress-mode=size,-Xfatbin=-compress-all)
endif

# mpicc compiles the plugin that lets several ranks share a job; MPI=0 leaves the plugin out. So does the
# default if there is no mpicc, or if CC is a cross compiler: mpicc compiles for another processor then.
MPICC ?= $(shell command -v mpicc)
processors = $(if $(filter default,$(origin CC)),,$(sort $(shell \
	{ $(CC) -dumpmachine; $(MPICC) -dumpmachine; } 2>/dev/null | sed -n 's/-.*linux.*//p')))
MPI ?= $(if $(MPICC),$(if $(word 2,$(processors)),0,1),0)
plugin := $(if $(filter-out 0,$(MPI)),$(BUILD)/mpi.so)

ifneq ($(SANITIZE),)
SANITIZE_FLAGS = -O1 -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# GCC's OpenMP library is linked statically if the static library exists, which costs no start-up time
# (cli/main.c has another reason). OPENMP=-fopenmp links the compiler's own choice.
OPENMP ?= $(if $(findstring clang,$(CXX)),-fopenmp,$(or \
	$(wildcard $(shell $(CXX) -print-file-name=libgomp.a)),-fopenmp))
# One short line for each command; V=1 prints the commands instead.
say = $(if $(filter-out 0,$(V))$(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-4s %s\n' $(1) $(2) &&)
common_flags = -I. -MMD -MP -fopenmp -pthread $(SANITIZE_FLAGS)
all_cppflags = -D_GNU_SOURCE $(CPPFLAGS)
compile_c = $(call say,CC,$<) $(CC) -std=c11 $(all_cppflags) $(common_flags) $(C_WARNINGS) $(CFLAGS)
compile_cxx = $(call say,CXX,$<) $(CXX) -std=c++17 $(all_cppflags) $(common_flags) $(WARNINGS) $(CXXFLAGS)
compile_cuda = $(call say,NVCC,$<) $(NVCC) -std=c++17 -I. $(NVCC_GENCODE) $(nvcc_compress) -MD -MP \
	-Xcompiler -Wall,-Wextra,-fopenmp $(NVCCFLAGS)
# The C++ library is linked statically if libstdc++.a exists, as loading the shared one takes start-up
# time. -static-pie links everything so, but not with -static-libstdc++, after which g++ links the rest dynamically.
static_libstdcxx := $(if $(filter -static-pie,$(LDFLAGS)),,$(if \
	$(wildcard $(shell $(CXX) -print-file-name=libstdc++.a)),-static-libstdc++))
link = $(call say,LD,$@) $(CXX) $(CFLAGS) -pthread $(static_libstdcxx) -static-libgcc \
	$(SANITIZE_FLAGS) $(LDFLAGS)
# dlopen(3) is in libdl before glibc 2.34, and in the C library since.
libraries = $(OPENMP) -lzstd -lm -ldl $(LDLIBS)

# The sources and objects of each program.
cli_sources := $(wildcard cli/*.c cli/*/*.c)
host_sources := $(wildcard $(foreach folder,job formats core cpu,$(addprefix $(folder)/,*.c *.cc */*.c \
	*/*.cc)) cuda/*.c cuda/*/*.c)
# Sources of cuda/ without kernels are .cc files, which CXX compiles: nvcc would take longer, as it
# compiles for each kind of GPU.
cuda_sources := $(wildcard cuda/*.cu cuda/*/*.cu cuda/*/*.cc)

objects = $(addprefix $(1)/,$(addsuffix .o,$(2)))
host_objects := $(filter-out %/backends.c.o,$(call objects,$(BUILD),$(host_sources)))
cli_objects := $(call objects,$(BUILD),$(cli_sources))
# core/backends.c is compiled for each set of backends; objects of the other sources do not depend on
# the set.
ifeq ($(CUDA),1)
backend_objects := $(BUILD)/core/backends.cuda.o $(call objects,$(BUILD),$(cuda_sources))
backend_libraries = -L$(CUDA_HOME)/lib64 -L$(CUDA_HOME)/lib -lcudart_static -ldl -lrt
else
backend_objects := $(BUILD)/core/backends.cpu.o
endif
.PHONY: all completions install install-strip uninstall dist deb
.PHONY: clean distclean FORCE
all: gpusort $(plugin)
ifneq ($(CUDA),1)
	@echo "gpusort: built for the CPU alone (no nvcc, or CUDA=0); complete, without the GPU paths"
endif

# Loaded by gpusort if a launcher of MPI starts it (cli/launcher.c), not linked to it.
$(BUILD)/mpi.so: mpi/mpi_plugin.c $(BUILD)/flags
	$(call say,CC,$<) $(MPICC) -std=c11 $(all_cppflags) -I. -MMD -MP $(C_WARNINGS) $(CFLAGS) \
		$(filter-out -static -static-pie,$(LDFLAGS)) -fPIC -shared -o $@ $<

# A build in another directory than build/ does not change ./gpusort.
gpusort: $(BUILD)/gpusort
	@test "$(BUILD)" != build || cp -f $< $@

$(BUILD)/gpusort: $(cli_objects) $(host_objects) $(backend_objects)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)

# The completions are stored in the tree, as a gpusort that is built for another machine cannot
# print its options here. The program with the stand-in has all paths.
completions: $(BUILD)/simt/gpusort
	completions/make_completions.sh $< completions

# Everything is rebuilt when the compilers or their flags change. First a check that there is a
# compiler, and that it is for the GNU C library, which has argp and rawmemchr.
needs_glibc = $(CC) $(CPPFLAGS) -E -x c /dev/null >/dev/null && { printf '\#include <features.h>\n\#ifndef __GLIBC__\n\#error\n\#endif\n' | \
	$(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || { \
	echo "$(CC) does not compile for the GNU C library (2.28 or newer), which gpusort needs" >&2; \
	false; }; }
flags := $(CC) $(CXX) $(static_libstdcxx) $(CPPFLAGS) $(CFLAGS) $(CXXFLAGS) $(OPENMP) $(LDFLAGS) $(LDLIBS) \
	$(SANITIZE) $(CUDA) $(MPICC)
nvcc_flags := $(NVCC) $(NVCCFLAGS) $(NVCC_GENCODE) $(nvcc_compress)
$(BUILD)/flags $(BUILD)/nvcc_flags $(BUILD)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$($(@F))' | cmp -s - $@ || { $(needs_glibc) && echo '$($(@F))' >$@; }

$(BUILD)/%.c.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -c -o $@ $<
$(BUILD)/%.cc.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_cxx) -c -o $@ $<
$(BUILD)/%.cu.o: %.cu $(BUILD)/nvcc_flags
	@mkdir -p $(@D)
	$(compile_cuda) -c -o $@ $<
$(BUILD)/cuda/%.cc.o: all_cppflags += -isystem $(CUDA_HOME)/include
$(filter %.cc.o,$(call objects,$(BUILD),$(cuda_sources))): $(BUILD)/nvcc_flags
$(BUILD)/cli/options/version.c.o: $(BUILD)/commit
$(BUILD)/cli/options/version.c.o: all_cppflags += -DGPUSORT_COMMIT='"$(commit)"'
$(BUILD)/core/backends.cpu.o: core/backends.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -c -o $@ $<
$(BUILD)/core/backends.cuda.o: core/backends.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -DHAVE_CUDA -c -o $@ $<
include bench/rules.mk tests/rules.mk

.SECONDARY:
-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)

# Installs the program that was built, without making it again: sudo may not find the nvcc that built it.
# Builds the program if there is none.
bash_dir = $(datadir)/bash-completion/completions
zsh_dir = $(datadir)/zsh/site-functions
fish_dir = $(datadir)/fish/vendor_completions.d
doc_dir = $(datadir)/doc/gpusort
# An installed gpusort looks for its plugin beside itself, and in ../libexec/gpusort and ../lib/gpusort.
plugin_dir = $(libexecdir)/gpusort
INSTALL_PROGRAM = install -m 755
STRIP ?= strip
# The quotes are for names with blanks: without them, uninstall could remove other files.
install: $(if $(wildcard $(BUILD)/gpusort),,all)
	install -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(mandir)/man1' '$(DESTDIR)$(bash_dir)' \
		'$(DESTDIR)$(zsh_dir)' '$(DESTDIR)$(fish_dir)' '$(DESTDIR)$(doc_dir)'
	$(INSTALL_PROGRAM) $(BUILD)/gpusort '$(DESTDIR)$(bindir)/gpusort'
	install -m 644 man/gpusort.1 '$(DESTDIR)$(mandir)/man1/gpusort.1'
	install -m 644 completions/gpusort.bash '$(DESTDIR)$(bash_dir)/gpusort'
	install -m 644 completions/_gpusort '$(DESTDIR)$(zsh_dir)/_gpusort'
	install -m 644 completions/gpusort.fish '$(DESTDIR)$(fish_dir)/gpusort.fish'
	install -m 644 LICENSE NOTICE '$(DESTDIR)$(doc_dir)'
# The plugin that was built, if any, unless the user says MPI=0: sudo may not find its mpicc either.
ifneq ($(plugin)$(filter file,$(origin MPI)),)
	[ ! -f $(BUILD)/mpi.so ] || case $$(realpath -ms --relative-to='$(bindir)' '$(libexecdir)') in \
		../libexec | ../lib) $(INSTALL_PROGRAM) -D $(BUILD)/mpi.so '$(DESTDIR)$(plugin_dir)/mpi.so' ;; \
		*) echo 'libexecdir must be libexec or lib beside bindir: gpusort finds mpi.so there' >&2; false ;; esac
endif

install-strip: INSTALL_PROGRAM += -s --strip-program=$(STRIP)
install-strip: install

uninstall:
	rm -f '$(DESTDIR)$(bindir)/gpusort' '$(DESTDIR)$(mandir)/man1/gpusort.1' \
		'$(DESTDIR)$(bash_dir)/gpusort' '$(DESTDIR)$(zsh_dir)/_gpusort' \
		'$(DESTDIR)$(fish_dir)/gpusort.fish' '$(DESTDIR)$(doc_dir)/LICENSE' \
		'$(DESTDIR)$(doc_dir)/NOTICE' '$(DESTDIR)$(plugin_dir)/mpi.so'
	-rmdir '$(DESTDIR)$(doc_dir)'
	[ ! -d '$(DESTDIR)$(plugin_dir)' ] || rmdir '$(DESTDIR)$(plugin_dir)'

dist:
	scripts/make_dist.sh $(VERSION) $(BUILD)

deb: $(if $(wildcard $(BUILD)/gpusort),,all)
	scripts/make_deb.sh $(VERSION) $(BUILD)

clean:
	rm -rf '$(BUILD)'

distclean: clean
	rm -rf build gpusort gpusort-*.tar.gz gpusort_*.deb
