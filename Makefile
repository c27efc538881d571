# SPDX-License-Identifier: Apache-2.0
# gpusort - sorts numbers as fast as cp copies them.
#
#   make            build ./gpusort (with the GPU paths if nvcc is found; CUDA=0 leaves them out)
#   make check      build and run the tests; SIMT=0 leaves out those of the GPU's stand-in
#   make check-gpu  build and run the tests for a real GPU: 8 minutes or more on 16 cores
#   make simt       build build/simt/gpusort, whose "gpu" is a stand-in on the CPU (tests/simt)
#   make fuzz       build the fuzz targets (tests/fuzz; needs clang) and run them for FUZZ_SECONDS,
#                   or until one finds an error
#   make bench      build build/bench/bench_sort, which times the GPU paths and CUB, and
#                   bench_cpu, which times the CPU's sort and, if installed, VQSort and TBB
#   make completions  update the shell completions after a change of the options
#   make install    into $(DESTDIR)$(prefix); install-strip, without symbols
#   make dist       pack the sources as gpusort-VERSION.tar.gz
#   make deb        make a Debian package, gpusort_VERSION_ARCHITECTURE.deb
#   make uninstall clean distclean
#
# The user may set CC CXX NVCC MPICC CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS OPENMP NVCCFLAGS
# NVCC_GENCODE. MPI=0 leaves out the plugin for several ranks, which MPICC compiles. SANITIZE=address,undefined builds with
# these sanitizers. BUILD=DIR builds in DIR.

prefix ?= /usr/local
bindir ?= $(prefix)/bin
datadir ?= $(prefix)/share
mandir ?= $(datadir)/man
libexecdir ?= $(prefix)/libexec
BUILD ?= build
SIMT ?= 1
VERSION := $(shell sed -n 's/^\#define GPUSORT_VERSION "\(.*\)"/\1/p' cli/options.h)
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
# The GPU of this machine if there is one; otherwise the data centre GPUs since 2020 and the desktop
# GPUs since 2025 that nvcc knows, and PTX from which a driver compiles code for others. Queried once,
# as it may take a second.
comma := ,
ifeq ($(CUDA),1)
gpu_codes = $(filter sm_80 sm_90 sm_100 sm_120,$(shell $(NVCC) --list-gpu-code 2>/dev/null))
NVCC_GENCODE := $(or $(NVCC_GENCODE),$(if $(shell nvidia-smi -L 2>/dev/null),-arch=native,\
	$(foreach code,$(gpu_codes),-gencode=arch=$(code:sm_%=compute_%)$(comma)code=$(code)) \
	-gencode=arch=compute_90$(comma)code=compute_90))
nvcc_compress := $(if $(findstring --compress-mode,$(shell $(NVCC) --help 2>/dev/null)),\
	--compress-mode=size,-Xfatbin=-compress-all)
endif

# mpicc: for the plugin that lets several ranks share a job; MPI=0 leaves it out.
MPICC ?= $(shell command -v mpicc)
MPI ?= $(if $(MPICC),1,0)
plugin := $(if $(filter-out 0,$(MPI)),$(BUILD)/mpi.so)

ifneq ($(SANITIZE),)
SANITIZE_FLAGS = -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# Linked statically if the static library exists, which costs no start-up time (cli/openmp_waits.c
# has another reason). OPENMP=-fopenmp links the compiler's own choice.
OPENMP ?= $(if $(findstring clang,$(CXX)),-fopenmp,$(or \
	$(wildcard $(shell $(CXX) -print-file-name=libgomp.a)),-fopenmp))
common_flags = -I. -MMD -MP -fopenmp -pthread $(SANITIZE_FLAGS)
all_cppflags = -D_GNU_SOURCE $(CPPFLAGS)
compile_c = $(CC) -std=c11 $(all_cppflags) $(common_flags) $(C_WARNINGS) $(CFLAGS)
compile_cxx = $(CXX) -std=c++17 $(all_cppflags) $(common_flags) $(WARNINGS) $(CXXFLAGS)
compile_cuda = $(NVCC) -std=c++17 -I. $(NVCC_GENCODE) $(nvcc_compress) -MD -MP -Xcompiler -Wall,-Wextra,-fopenmp $(NVCCFLAGS)
# Only <charconv> of the C++ library is used: linked statically, it costs no start-up time.
link = $(CXX) $(CFLAGS) -pthread -static-libstdc++ -static-libgcc $(SANITIZE_FLAGS) \
	$(LDFLAGS)
# dlopen(3) is in libdl before glibc 2.34, and in the C library since.
libraries = $(OPENMP) -lzstd -lm -ldl $(LDLIBS)

# The sources and objects of each program.
cli_sources := $(wildcard cli/*.c)
host_sources := $(wildcard core/*.c core/*.cc formats/*.c formats/*.cc cpu/*.c cpu/*/*.c cpu/*/*.cc \
	cuda/*.c)
cuda_sources := $(wildcard cuda/*.cu)
simt_selftest_sources := $(wildcard tests/simt/simt_selftest*.cc)
simt_sources := $(filter-out $(simt_selftest_sources),$(wildcard tests/simt/*.cc))
unit_sources := $(wildcard tests/unit_*.c)
matrices := $(patsubst tests/%.cu,%,$(wildcard tests/*_matrix.cu))
bench_sources := $(wildcard bench/*.c)
bench_cuda_sources := $(filter-out bench/%_peers.cu,$(wildcard bench/*.cu))

objects = $(addprefix $(1)/,$(addsuffix .o,$(2)))
host_objects := $(filter-out %/backends.c.o,$(call objects,$(BUILD),$(host_sources)))
cli_objects := $(call objects,$(BUILD),$(cli_sources))
bench_objects := $(call objects,$(BUILD),$(bench_sources))
unit_programs := $(unit_sources:tests/%.c=$(BUILD)/tests/%)

# gpusort with its main renamed, and a main that calls it many times.
many_objects := $(filter-out %/main.c.o,$(cli_objects)) \
	$(addprefix $(BUILD)/tests/,many_runs.c.o many_runs_gpusort.o)

# core/backends.c is compiled for each set of backends; all other files are the same in all
# programs.
ifeq ($(CUDA),1)
backend_objects := $(BUILD)/core/backends.cuda.o $(call objects,$(BUILD),$(cuda_sources))
backend_libraries = -L$(CUDA_HOME)/lib64 -L$(CUDA_HOME)/lib -lcudart_static -ldl -lrt
else
backend_objects := $(BUILD)/core/backends.cpu.o
endif
simt_objects := $(BUILD)/core/backends.cuda.o \
	$(call objects,$(BUILD)/simt,$(cuda_sources) $(simt_sources))

.PHONY: all check check-gpu simt fuzz bench completions install install-strip uninstall dist deb
.PHONY: clean distclean FORCE
all: gpusort $(plugin)
ifneq ($(CUDA),1)
	@echo "gpusort: built for the CPU alone (no nvcc, or CUDA=0); complete, without the GPU paths"
endif

# Loaded by gpusort if a launcher of MPI starts it (cli/launcher.c), not linked to it.
$(BUILD)/mpi.so: mpi/mpi_plugin.c $(BUILD)/flags
	$(MPICC) -std=c11 $(all_cppflags) -I. -MMD -MP $(C_WARNINGS) $(CFLAGS) -fPIC -shared -o $@ $<

# A build in another directory, or with sanitizers, does not change ./gpusort.
gpusort: $(BUILD)/gpusort
	@test "$(BUILD)" != build || cp -f $< $@

$(BUILD)/gpusort: $(cli_objects) $(host_objects) $(backend_objects)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)

# The completions are stored in the tree, as a gpusort that is built for another machine cannot
# print its options here. The program with the stand-in has all paths.
completions: $(BUILD)/simt/gpusort
	completions/make_completions.sh $< completions

simt: $(addprefix $(BUILD)/simt/,gpusort many_runs $(matrices) bench_sort simt_selftest)
$(BUILD)/simt/many_runs: $(many_objects) $(host_objects) $(simt_objects)
	$(link) -o $@ $^ $(libraries)
$(BUILD)/simt/gpusort: $(cli_objects) $(host_objects) $(simt_objects)
	$(link) -o $@ $^ $(libraries)
$(BUILD)/simt/%_matrix: $(BUILD)/simt/tests/%_matrix.cu.o $(host_objects) $(simt_objects)
	$(link) -o $@ $^ $(libraries)
$(BUILD)/simt/bench_sort: $(bench_objects) $(host_objects) $(simt_objects) \
		$(call objects,$(BUILD)/simt,$(bench_cuda_sources) bench/no_peers.cu)
	$(link) -o $@ $^ $(libraries)
$(BUILD)/simt/simt_selftest: $(call objects,$(BUILD)/simt,$(simt_selftest_sources) $(simt_sources))
	$(link) -o $@ $^ $(libraries)

$(BUILD)/tests/many_runs: $(many_objects) $(host_objects) $(backend_objects)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)
$(BUILD)/tests/%_matrix: $(BUILD)/tests/%_matrix.cu.o $(host_objects) $(backend_objects)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)

bench: $(addprefix $(BUILD)/bench/,bench_cpu gpusort_unproved)
ifeq ($(CUDA),1)
bench: $(BUILD)/bench/bench_sort
$(BUILD)/bench/bench_sort: $(bench_objects) $(host_objects) $(backend_objects) \
		$(call objects,$(BUILD),$(bench_cuda_sources) bench/cub_peers.cu)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)
else
bench:
	@echo "bench_sort needs nvcc; make simt builds build/simt/bench_sort, which shows that it works"
endif
# gpusort without the proof of output, to measure what the proof costs (scripts/measure_files.sh).
summing_items := formats/lines_key.c formats/lines_write.c
$(BUILD)/bench/gpusort_unproved: $(cli_objects) $(BUILD)/bench/unproved/without_proof.c.o \
		$(call objects,$(BUILD)/bench/unproved,$(summing_items)) \
		$(filter-out $(call objects,$(BUILD),core/check_kernels.cc core/check_vectors.cc \
		core/check_line.c $(summing_items)),$(host_objects)) $(backend_objects)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)
$(BUILD)/bench/unproved/%.c.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -include bench/unproved/no_items.h -c -o $@ $<
# Flags for the other sort libraries that this machine has.
peer_flags = $(foreach peer,HWY:libhwy-contrib TBB:tbb,$(shell \
	pkg-config --exists $(lastword $(subst :, ,$(peer))) 2>/dev/null && \
	echo -DHAVE_$(firstword $(subst :, ,$(peer))) $$(pkg-config $(1) $(lastword $(subst :, ,$(peer))))))
$(BUILD)/bench/bench_cpu: $(bench_objects) $(host_objects) $(BUILD)/core/backends.cpu.o \
		$(BUILD)/bench/bench_cpu.cc.o $(BUILD)/bench/cpu_peers.cc.o
	$(link) -o $@ $^ $(filter-out -D%,$(call peer_flags,--libs)) $(libraries)
$(BUILD)/bench/cpu_peers.cc.o: bench/cpu_peers.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_cxx) $(call peer_flags,--cflags) -c -o $@ $<

$(BUILD)/tests/unit_%: $(BUILD)/tests/unit_%.c.o $(filter-out %/main.c.o,$(cli_objects)) \
		$(host_objects) $(BUILD)/core/backends.cpu.o
	$(link) -o $@ $^ -lcmocka $(libraries)

# For tests/faults.sh, whose faults must hit only calls of gpusort: the OpenMP library is not linked
# into the program.
$(BUILD)/tests/gpusort_apart: OPENMP = -fopenmp
$(BUILD)/tests/gpusort_apart: $(cli_objects) $(host_objects) $(backend_objects)
	@mkdir -p $(@D)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)

# gpusort with functions that flip a bit, wrapped around its own; for tests/proof.sh.
flips := $(shell sed -En 's/^WRAP.[^,]*, ([a-z_]*),.*/-Wl,--wrap=\1/p' tests/faults/flips.c)
$(BUILD)/tests/gpusort_flips: $(call objects,$(BUILD),tests/faults/flips.c) $(cli_objects) \
		$(host_objects) $(BUILD)/core/backends.cpu.o
	$(link) $(flips) -o $@ $^ $(libraries)

# gpusort with functions that fail, wrapped around CUDA's; for tests/faults.sh on a real GPU.
cuda_faults := $(shell sed -En 's/^WRAP[A-Z_]*.(cuda[A-Za-z]*),.*/-Wl,--wrap=\1/p' \
	tests/faults/cuda_faults.cu) -Wl,--wrap=cudaLaunchKernelExC
$(BUILD)/tests/gpusort_cuda_faults: $(BUILD)/tests/faults/cuda_faults.cu.o $(cli_objects) \
		$(host_objects) $(backend_objects)
	$(link) $(cuda_faults) -o $@ $^ $(backend_libraries) $(libraries)

# The fuzz targets, built by clang with its libFuzzer, with their own sanitizers and without OpenMP.
# Only the C library is linked dynamically, so that they run on machines without clang.
FUZZ_CC ?= clang
FUZZ_CXX ?= clang++
has_fuzzer = $(wildcard $(addsuffix /lib/*/libclang_rt.fuzzer*.a,$(shell $(FUZZ_CC) \
	-print-resource-dir 2>/dev/null)))
fuzz_flags = -I. -Itests/fuzz -D_GNU_SOURCE -MMD -MP -O1 -g1 $(WARNINGS) -Wno-unknown-pragmas \
	-Wno-unused-parameter -Wno-unused-variable -fno-sanitize-recover=all
fuzz_sanitizers = address,undefined
fuzz_coverage = fuzzer-no-link$(comma)
$(BUILD)/fuzz/tests/fuzz/%.c.o: fuzz_coverage = # no coverage of the models
# The sources that the targets need, without the sort of lines in memory.
fuzz_sources := cli/key_definition.c cli/quote.c $(filter-out core/argsort.c core/auto_table.c \
	core/backends.c core/external% core/key_counts.c core/memory_limits.c core/pipeline% \
	core/text_feed.c formats/formats.c formats/indices.c formats/lines.c formats/lines_bytes.c \
	formats/lines_few.c formats/lines_header.c formats/lines_key.c formats/lines_load.c \
	formats/lines_number.c formats/lines_refine.c formats/lines_row.c formats/lines_words.c \
	formats/lines_write.c formats/text.c,$(filter core/% formats/%,$(host_sources)))
fuzz_objects := $(call objects,$(BUILD)/fuzz,$(fuzz_sources))
fuzz_programs := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
$(BUILD)/fuzz/fuzz_%: $(addprefix $(BUILD)/fuzz/,tests/fuzz/fuzz_%.c.o tests/fuzz/large_blocks.c.o \
		host.a)
	$(FUZZ_CXX) -fsanitize=fuzzer,$(fuzz_sanitizers) -static-libstdc++ -static-libgcc \
		-Wl,--wrap=malloc,--wrap=calloc,--wrap=free -o $@ $^ \
		$(or $(wildcard $(shell $(FUZZ_CXX) -print-file-name=libzstd.a)),-lzstd) -lm -pthread
$(BUILD)/fuzz/host.a: $(fuzz_objects)
	rm -f $@
	ar rcs $@ $^
$(BUILD)/fuzz/%.c.o: %.c
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=c11 $(fuzz_flags) -fsanitize=$(fuzz_coverage)$(fuzz_sanitizers) -c -o $@ $<
$(BUILD)/fuzz/%.cc.o: %.cc
	@mkdir -p $(@D)
	$(FUZZ_CXX) -std=c++17 $(fuzz_flags) -fsanitize=$(fuzz_coverage)$(fuzz_sanitizers) -c -o $@ $<

fuzz: $(fuzz_programs)
	tests/fuzz/run_targets.sh $(BUILD)/fuzz

# Loaded into gpusort by tests/faults.sh, not linked into it.
$(BUILD)/tests/fault_library.so: tests/faults/fault_library.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O1 -g -fPIC -shared -o $@ $< -ldl

# Loaded into the ranks of tests/mpi.sh.
$(BUILD)/tests/mpi_faults.so: tests/faults/mpi_faults.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(MPICC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O1 -g -fPIC -shared -o $@ $<

# Everything is rebuilt when the compilers or their flags change. First a check that they are for
# the GNU C library, which has argp and rawmemchr.
needs_glibc = { printf '\#include <features.h>\n\#ifndef __GLIBC__\n\#error\n\#endif\n' | \
	$(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || { \
	echo "$(CC) does not compile for the GNU C library (2.28 or newer), which gpusort needs" >&2; \
	false; }; }
flags := $(CC) $(CXX) $(CPPFLAGS) $(CFLAGS) $(CXXFLAGS) $(OPENMP) $(LDFLAGS) $(LDLIBS) \
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
$(BUILD)/cli/version.c.o: $(BUILD)/commit
$(BUILD)/cli/version.c.o: all_cppflags += -DGPUSORT_COMMIT='"$(commit)"'
$(BUILD)/core/backends.cpu.o: core/backends.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -c -o $@ $<
$(BUILD)/core/backends.cuda.o: core/backends.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -DHAVE_CUDA -c -o $@ $<
$(BUILD)/tests/many_runs_gpusort.o: cli/main.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -Wno-missing-prototypes -Dmain=gpusort_main -c -o $@ $<
$(BUILD)/simt/%.cu.o: %.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_cxx) -Itests/simt -Wno-unknown-pragmas -x c++ -c -o $@ $<
$(BUILD)/simt/%.cc.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_cxx) -Itests/simt -c -o $@ $<

# Code that runs at each barrier of the stand-in is not sanitized, as that takes half of the time.
# It informs the address sanitizer about the stacks.
simt_switching := $(patsubst %,$(BUILD)/simt/tests/simt/simt_%.cc.o,fiber launch death)
$(simt_switching): SANITIZE_FLAGS = $(if $(findstring address,$(SANITIZE)),-DSIMT_ADDRESS_SANITIZER)

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# The fuzz targets, if they can be built and TEST_EXCEPT does not leave them out.
checks_fuzz = $(and $(filter check,$(MAKECMDGOALS)),$(if \
	$(findstring fuzz_targets,$(TEST_EXCEPT)),,$(has_fuzzer)))
check: all $(if $(filter-out 0,$(SIMT)),simt) $(unit_programs) $(if $(checks_fuzz),$(fuzz_programs)) $(BUILD)/bench/bench_cpu \
		$(addprefix $(BUILD)/tests/,fault_library.so gpusort_apart gpusort_flips many_runs) \
		$(if $(plugin),$(BUILD)/tests/mpi_faults.so)
	BUILD=$(BUILD) tests/run.sh

ifeq ($(CUDA),1)
check-gpu:
	+$(MAKE) -j$$(nproc) all bench $(addprefix $(BUILD)/tests/,$(matrices) many_runs gpusort_cuda_faults)
	BUILD=$(BUILD) tests/run.sh --gpu
else
check-gpu:
	@echo "check-gpu needs nvcc; make check runs the GPU's paths on a stand-in" >&2
	@false
endif

# Installs the program that was built, as sudo may not find the nvcc that built it.
bash_dir = $(datadir)/bash-completion/completions
zsh_dir = $(datadir)/zsh/site-functions
fish_dir = $(datadir)/fish/vendor_completions.d
doc_dir = $(datadir)/doc/gpusort
# Where gpusort looks for its plugin, seen from bindir: ../libexec/gpusort.
plugin_dir = $(libexecdir)/gpusort
INSTALL_PROGRAM = install -m 755
STRIP ?= strip
install: $(if $(wildcard $(BUILD)/gpusort),,all)
	install -d $(addprefix $(DESTDIR),$(bindir) $(mandir)/man1 $(bash_dir) $(zsh_dir) $(fish_dir) \
		$(doc_dir))
	$(INSTALL_PROGRAM) $(BUILD)/gpusort $(DESTDIR)$(bindir)/gpusort
	install -m 644 man/gpusort.1 $(DESTDIR)$(mandir)/man1/gpusort.1
	install -m 644 completions/gpusort.bash $(DESTDIR)$(bash_dir)/gpusort
	install -m 644 completions/_gpusort $(DESTDIR)$(zsh_dir)/_gpusort
	install -m 644 completions/gpusort.fish $(DESTDIR)$(fish_dir)/gpusort.fish
	install -m 644 LICENSE NOTICE $(DESTDIR)$(doc_dir)
ifneq ($(wildcard $(plugin)),)
	install -d $(DESTDIR)$(plugin_dir)
	install -m 755 $(plugin) $(DESTDIR)$(plugin_dir)/mpi.so
endif

install-strip: INSTALL_PROGRAM += -s --strip-program=$(STRIP)
install-strip: install

uninstall:
	rm -f $(addprefix $(DESTDIR),$(bindir)/gpusort $(mandir)/man1/gpusort.1 \
		$(bash_dir)/gpusort $(zsh_dir)/_gpusort $(fish_dir)/gpusort.fish \
		$(doc_dir)/LICENSE $(doc_dir)/NOTICE $(plugin_dir)/mpi.so)
	-rmdir $(DESTDIR)$(doc_dir)
	[ ! -d $(DESTDIR)$(plugin_dir) ] || rmdir $(DESTDIR)$(plugin_dir)

dist:
	scripts/make_dist.sh $(VERSION) $(BUILD)

deb: $(if $(wildcard $(BUILD)/gpusort),,all)
	scripts/make_deb.sh $(VERSION) $(BUILD)

clean:
	rm -rf $(BUILD)

distclean: clean
	rm -rf build gpusort gpusort-*.tar.gz gpusort_*.deb
