#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job that an MPI launcher starts several times is refused if gpusort's mpi.so is not there: each
# process would do all of it. tests/job/mpi.sh has it there.
. "$(dirname "$0")/../lib.sh"

mkdir "$work/bin"
cp "$GPUSORT" "$work/bin/gpusort"
GPUSORT=$work/bin/gpusort

printf '2\n1\n' >two
printf '1\n2\n' >sorted

several='started as one of .*several MPI ranks.*without mpirun'
# Variables of mpirun, of mpiexec, and of srun --mpi=pmix, which may not say how many ranks there are.
for variables in OMPI_COMM_WORLD_SIZE=2\ OMPI_COMM_WORLD_RANK={0,1} PMI_SIZE=2\ PMI_RANK={0,1} \
    'PMIX_RANK=0 SLURM_STEP_NUM_TASKS=2' PMIX_RANK={0,1}; do
    refused "a rank of several is refused: $variables" "$several.*unset ${variables%%=*}\$" -- \
        env $variables "$GPUSORT" two -o "$target"
done

for rank in 'OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0' 'PMI_SIZE=1 PMI_RANK=0' \
    'PMIX_RANK=0 SLURM_STEP_NUM_TASKS=1' 'SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1' PMI_SIZE= PMIX_RANK=; do
    ok_output "one rank sorts: $rank" sorted -- env $rank "$GPUSORT" two
done

for place in libexec lib; do
    mkdir -p "$work/$place/gpusort"
    touch "$work/$place/gpusort/mpi.so"
    refused "the plugin is looked for in ../$place/gpusort" "/$place/gpusort/mpi\.so: file too short\$" -- \
        env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$GPUSORT" two -o "$target"
    rm -r "${work:?}/$place"
done

# A program that is linked statically. So seems one that the dynamic linker starts, whose folder is the program's then.
loader=$(ldd "$GPUSORT" | sed -n 's|^[^/]*\(/[^ ]*/ld-linux[^ ]*\).*|\1|p') || true
if possible 'a program that is linked statically does not load the plugin' 'a sanitizer, or no dynamic linker' \
    [ -n "$loader" -a "$is_sanitized" = no ]; then
    cp "$loader" "$work/bin/loader"
    touch "$work/bin/mpi.so"
    refused 'a program that is linked statically does not load the plugin' 'is linked statically' -- \
        env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$work/bin/loader" "$GPUSORT" two -o "$target"
    rm "$work/bin/mpi.so"
fi

done_testing
