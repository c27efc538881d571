# SPDX-License-Identifier: Apache-2.0
# tests/rules.mk - the programs that test, and the stand-in for a GPU; included by the Makefile.
.PHONY: check check-programs check-gpu simt fuzz
simt_sources := $(filter-out %/simt_selftest.cc,$(wildcard tests/simt/*.cc))
unit_sources := $(wildcard tests/unit_*.c tests/*/unit_*.c)
matrices := $(basename $(notdir $(wildcard tests/cuda/*_matrix.cu)))
unit_programs := $(addprefix $(BUILD)/tests/,$(basename $(notdir $(unit_sources))))

# gpusort with its main renamed, and a main that calls it many times.
many_objects := $(filter-out %/main.c.o,$(cli_objects)) \
	$(addprefix $(BUILD)/tests/,many_runs.c.o many_runs_gpusort.o)

simt_objects := $(BUILD)/core/backends.cuda.o \
	$(call objects,$(BUILD)/simt,$(cuda_sources) $(simt_sources))

simt: $(addprefix $(BUILD)/simt/,gpusort many_runs $(matrices) bench_sort simt_selftest)
$(BUILD)/simt/many_runs: $(many_objects) $(host_objects) $(simt_objects)
	$(link) -o $@ $^ $(libraries)
$(BUILD)/simt/gpusort: $(cli_objects) $(host_objects) $(simt_objects)
	$(link) -o $@ $^ $(libraries)
$(BUILD)/simt/%_matrix: $(BUILD)/simt/tests/cuda/%_matrix.cu.o $(host_objects) $(simt_objects)
	$(link) -o $@ $^ $(libraries)
$(BUILD)/simt/bench_sort: $(bench_objects) $(host_objects) $(simt_objects) \
		$(call objects,$(BUILD)/simt,$(bench_cuda_sources) bench/no_peers.cu)
	$(link) -o $@ $^ $(libraries)
$(BUILD)/simt/simt_selftest: $(call objects,$(BUILD)/simt,tests/simt/simt_selftest.cc $(simt_sources))
	$(link) -o $@ $^ $(libraries)

$(BUILD)/simt/%.cu.o: %.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_cxx) -Itests/simt -Wno-unknown-pragmas -x c++ -c -o $@ $<
$(BUILD)/simt/%.cc.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_cxx) -Itests/simt -c -o $@ $<

# With sanitizers, these files compile in half of the time if each access calls the address sanitizer, and if GCC
# optimizes less (-Og, unless CFLAGS or CXXFLAGS have another -O). The code then takes up to twice as long to run, so
# cpu/ and core/, whose tests have more data, are left out, except vector_sort.cc. In the stand-in the undefined
# behaviour sanitizer stops the program without a text of its own: the address sanitizer reports where. The address
# sanitizer also ends the program at a null pointer, and at an access beyond an object or through a pointer that has
# overflowed, so these checks are left out.
ifneq ($(findstring address,$(SANITIZE)),)
calls = $(if $(findstring clang,$(CXX)),,--param asan-instrumentation-with-call-threshold=0)
short_checks = $(calls) -fsanitize-undefined-trap-on-error \
	-fno-sanitize=null$(comma)object-size$(comma)vptr$(comma)pointer-overflow
$(addprefix $(BUILD)/,cli/%.c.o formats/%.c.o job/%.c.o): SANITIZE_FLAGS += $(calls) -Og
$(BUILD)/simt/%.o: SANITIZE_FLAGS += $(short_checks) -Og
# vector_sort.cc takes 3 s to compile; with -O1, and checks of the stack, 16. GCC 13 does not align the frames that the
# address sanitizer keeps outside of the stack as vectors require.
$(BUILD)/cpu/vector/vector_sort.cc.o: SANITIZE_FLAGS += $(short_checks) -Og \
	$(if $(findstring clang,$(CXX)),,--param asan-stack=0)
$(BUILD)/simt/bench/%.cu.o: SANITIZE_FLAGS = -O1 # tests/bench.sh skips sanitized builds
endif

# Code that runs at each barrier of the stand-in is not sanitized, as its checks would take half of the
# time. It informs the address sanitizer about the stacks.
simt_switching := $(patsubst %,$(BUILD)/simt/tests/simt/simt_%.cc.o,fiber launch)
$(simt_switching): SANITIZE_FLAGS = -O2 $(if $(findstring address,$(SANITIZE)),-DSIMT_ADDRESS_SANITIZER)

$(BUILD)/tests/many_runs: $(many_objects) $(host_objects) $(backend_objects)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)
$(BUILD)/tests/%_matrix: $(BUILD)/tests/cuda/%_matrix.cu.o $(host_objects) $(backend_objects)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)

$(BUILD)/tests/many_runs_gpusort.o: cli/main.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile_c) -Wno-missing-prototypes -Dmain=gpusort_main -c -o $@ $<
$(foreach unit,$(unit_sources),$(eval $(BUILD)/tests/$(basename $(notdir $(unit))): $(BUILD)/$(unit).o))
$(unit_programs): $(filter-out %/main.c.o,$(cli_objects)) \
		$(host_objects) $(BUILD)/core/backends.cpu.o
	$(link) -o $@ $^ -lcmocka $(libraries)

# For tests/faults/faults.sh, whose faults must hit only calls of gpusort: the OpenMP library is not linked
# into the program.
$(BUILD)/tests/gpusort_apart: OPENMP = -fopenmp
$(BUILD)/tests/gpusort_apart: $(cli_objects) $(host_objects) $(backend_objects)
	@mkdir -p $(@D)
	$(link) -o $@ $^ $(backend_libraries) $(libraries)

# gpusort with functions that flip a bit, wrapped around its own; for tests/job/proof.sh.
flips := $(shell sed -En 's/^WRAP.[^,]*, ([a-z_]*),.*/-Wl,--wrap=\1/p' tests/faults/flips.c)
$(BUILD)/tests/gpusort_flips: $(call objects,$(BUILD),tests/faults/flips.c) $(cli_objects) \
		$(host_objects) $(BUILD)/core/backends.cpu.o
	$(link) $(flips) -o $@ $^ $(libraries)

# gpusort with functions that fail, wrapped around CUDA's; for tests/faults/faults.sh on a real GPU.
cuda_faults := $(shell sed -En 's/^WRAP[A-Z_]*.(cuda[A-Za-z]*),.*/-Wl,--wrap=\1/p' \
	tests/faults/cuda_faults.cu) -Wl,--wrap=cudaLaunchKernelExC
$(BUILD)/tests/gpusort_cuda_faults: $(BUILD)/tests/faults/cuda_faults.cu.o $(cli_objects) \
		$(host_objects) $(backend_objects)
	$(link) $(cuda_faults) -o $@ $^ $(backend_libraries) $(libraries)

# Loaded into gpusort by tests/faults/faults.sh, not linked into it.
$(BUILD)/tests/fault_library.so: tests/faults/fault_library.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O1 -g -fPIC -shared -o $@ $< -ldl

# Loaded into the ranks of tests/job/mpi.sh.
$(BUILD)/tests/mpi_faults.so: tests/faults/mpi_faults.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(MPICC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O1 -g -fPIC -shared -o $@ $<

# For tests/fuzz/fuzz_targets.sh: the fuzz targets in one program, each under its own name.
fuzz_target_objects := $(call objects,$(BUILD),$(wildcard tests/fuzz/fuzz_*.c))
$(fuzz_target_objects): common_flags += -DLLVMFuzzerTestOneInput=$(basename $(notdir $<))
$(BUILD)/tests/mutate_seeds: $(BUILD)/tests/fuzz/mutate_seeds.c.o $(fuzz_target_objects) \
		$(filter-out %/main.c.o,$(cli_objects)) $(host_objects) $(BUILD)/core/backends.cpu.o
	$(link) -o $@ $^ $(libraries)

# The fuzz targets, built by clang with its libFuzzer, with their own sanitizers and without OpenMP.
# Only the C library, and libzstd if there is no static one, are linked dynamically, so that they run on
# machines without clang.
FUZZ_CC ?= clang
FUZZ_CXX ?= clang++
fuzz_flags = -I. -Itests/fuzz -D_GNU_SOURCE -MMD -MP -O1 -g1 $(WARNINGS) -Wno-unknown-pragmas \
	-Wno-unused-parameter -Wno-unused-variable -fno-sanitize-recover=all
fuzz_sanitizers = address,undefined
fuzz_coverage = fuzzer-no-link$(comma)
$(BUILD)/fuzz/tests/fuzz/%.c.o: fuzz_coverage = # none of the targets and their references
# The sources that the targets need: not arrays, checks of files, merges, or the sort of lines in memory.
fuzz_sources := $(filter-out core/argsort.c core/auto_model.c core/backends.c formats/array/% formats/check/% \
	formats/merge/% formats/lines/lines%,$(filter core/% formats/%,$(host_sources)))
fuzz_objects := $(call objects,$(BUILD)/fuzz,$(fuzz_sources))
fuzz_programs := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
$(BUILD)/fuzz/fuzz_%: $(addprefix $(BUILD)/fuzz/,tests/fuzz/fuzz_%.c.o host.a)
	$(call say,LD,$@) $(FUZZ_CXX) -fsanitize=fuzzer,$(fuzz_sanitizers) $(static_libstdcxx) -static-libgcc -o $@ $^ \
		$(or $(wildcard $(shell $(FUZZ_CXX) -print-file-name=libzstd.a)),-lzstd) -lm -pthread
$(BUILD)/fuzz/host.a: $(fuzz_objects)
	@rm -f $@
	$(call say,AR,$@) ar rcs $@ $^
$(BUILD)/fuzz/%.c.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<) $(FUZZ_CC) -std=c11 $(fuzz_flags) -fsanitize=$(fuzz_coverage)$(fuzz_sanitizers) -c -o $@ $<
$(BUILD)/fuzz/%.cc.o: %.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(FUZZ_CXX) -std=c++17 $(fuzz_flags) -fsanitize=$(fuzz_coverage)$(fuzz_sanitizers) -c -o $@ $<

fuzz: $(fuzz_programs)
	tests/fuzz/run_targets.sh $(BUILD)/fuzz

check-programs: all $(if $(filter-out 0,$(SIMT)),simt) $(unit_programs) \
		$(if $(SANITIZE),,$(BUILD)/bench/bench_cpu) \
		$(addprefix $(BUILD)/tests/,fault_library.so gpusort_apart gpusort_flips many_runs) \
		$(if $(findstring fuzz_targets,$(TEST_EXCEPT)),,$(BUILD)/tests/mutate_seeds) \
		$(if $(plugin),$(BUILD)/tests/mpi_faults.so)
check: check-programs
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
