#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make installs and uninstalls the program that is tested, builds what changed flags concern, and makes an archive and a
# Debian package. Its messages about compilers and C libraries are tested, and the compiler that install_cuda.sh installs.
. "$(dirname "$0")/../lib.sh"
[ "$test_size" = full ] || skip_all 'tested with the full build'
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD SANITIZE # set by the make that runs the tests

# A copy of the tree, with the program and without the other files that were built in it: to build all of them again
# takes 20 s of processor time.
root=$(cd "$tests_dir/.." && pwd)
mkdir tree
tar -C "$root" -c --exclude=./{build,.git,gpusort,MANIFEST,COMMIT} . | tar -C tree -x
cd tree
mkdir build
cp "$GPUSORT" build

ok_says 'make CUDA=0 says that the GPU paths are left out' 'without the GPU paths' -- \
    make CUDA=0 CFLAGS=-O0 -o build/gpusort
ok 'make leaves ./gpusort' test -x gpusort
ok 'make starts nothing that it has built, which may be for another machine' \
    bash -c 'make -nB CUDA=0 >made && ! grep "build/gpusort " made | grep -v -e " -o build/gpusort " -e "^test "'
ok_prints 'it sorts' '1\n2\n' -- ./gpusort <<<$'2\n1'
ok_fails_with 'a test that there is not' 2 "^tests/run.sh: there is no test 'nosuch'" -- \
    env BUILD=build tests/run.sh style nosuch
build=(make CUDA=0 CFLAGS=-O0 CXXFLAGS=-O0 build/core/threads.c.o build/core/vector_units.c.o)
ok_says 'make builds an object' '^  CC   core/threads\.c$' -- "${build[@]}"
ok 'it prints a short line for each command' bash -c '! grep -E -- " -[co] " "$0"' "$work/log/said"
ok 'the second make has nothing to build' bash -c '"$@" V=1 >made && ! grep -- "-c -o" made' bash "${build[@]}"
# glibc before 2.33 has no sys/platform/x86.h.
if possible 'with the headers of an older glibc it builds' 'no sys/platform/x86.h to hide' \
    [ -f /usr/include/x86_64-linux-gnu/sys/platform/x86.h ]; then
    cp -rs /usr/include/x86_64-linux-gnu older
    rm -r older/sys/platform
    printf '#include "core/vector_units.h"\nint main(void) { return 2 * has_vector_units() + has_avx2(); }\n' >units.c
    gcc -I. -o units units.c build/core/vector_units.c.o
    units=$(./units && echo 0 || echo $?)
    ok 'with the headers of an older glibc core/vector_units.c compiles' \
        gcc -std=c11 -D_GNU_SOURCE -I. -Wall -Wextra -Werror -nostdinc -isystem older \
        -isystem "$(gcc -print-file-name=include)" -isystem /usr/include -o units units.c core/vector_units.c
    ok_prints 'and it finds the same units' "$units\n" -- bash -c './units && echo 0 || echo $?'
    rm -r older units*
fi
for object in core/threads.c.o tests/faults/flips.c.o core/backends.cpu.o; do
    ok "flags that change build $object anew" bash -c 'make CUDA=0 CFLAGS=-O0 CXXFLAGS=-O0 "$1" &&
        make V=1 CUDA=0 CFLAGS=-O2 CXXFLAGS=-O0 "$1" | grep -- "-O2 -c -o"' bash "build/$object"
done

ok_fails_with 'a compiler that is not for glibc' 2 \
    '^gcc -nostdinc does not compile for the GNU C library \(2\.28 or newer\), which gpusort needs$' -- \
    make CUDA=0 CC='gcc -nostdinc' BUILD=other
ok_fails_with 'a compiler that there is not' 2 'nosuchcc: (command )?not found$' -- make CUDA=0 CC=nosuchcc BUILD=other
rm -r other
ok_prints 'a BUILD with a blank is one line' "Makefile:LINE: *** BUILD='a b' must be one word without colons, as a target of \
make is.  Stop.\n2\n" -- bash -c 'make BUILD="a b" 2>&1 | sed "s/:[0-9]*:/:LINE:/"; echo "${PIPESTATUS[0]}"'

# A cross compiler, and one for this machine. `false` stands for a wrapper that has no -dumpmachine.
printf '#!/bin/sh\necho mips64el-linux-gnuabi64\n' >cross-cc
printf '#!/bin/sh\necho x86_64-pc-linux-gnu\n' >native-cc
chmod +x ./*-cc
for row in './cross-cc ./native-cc 0' './cross-cc ./cross-cc 1' './native-cc false 1'; do
    read -r cc mpicc count <<<"$row"
    ok_says "how many plugins are built with CC=$cc MPICC=$mpicc: $count" "^$count\$" -- \
        bash -c 'make -nB CUDA=0 CC="$0" MPICC="$1" | grep -c -- "-shared -o" || true' "$cc" "$mpicc"
done
rm ./*-cc
plugin_anew=(make -n CUDA=0 MPI=1 MPICC=mpicc BUILD=other LDFLAGS='-static -Wl,-z,now')
ok_says 'LDFLAGS are for the plugin too, without -static' '^[[:blank:]]*-Wl,-z,now -fPIC -shared -o' -- \
    "${plugin_anew[@]}" other/mpi.so
ok_says 'make install without a make before it installs the plugin' 'install .*other/mpi\.so ' -- \
    "${plugin_anew[@]}" install

touch "$work/new" # would be removed by a command that cuts names at blanks
ok 'make install' make CUDA=0 CFLAGS=-O0 CXXFLAGS=-O0 MPICC= install DESTDIR="$work/new root" prefix=/usr
ok_prints 'what make install installs' \
    './usr/bin/gpusort
./usr/share/bash-completion/completions/gpusort
./usr/share/doc/gpusort/LICENSE
./usr/share/doc/gpusort/NOTICE
./usr/share/fish/vendor_completions.d/gpusort.fish
./usr/share/man/man1/gpusort.1
./usr/share/zsh/site-functions/_gpusort
' -- bash -c 'cd "$0" && find . -type f ! -name mpi.so | sort' "$work/new root"
if possible 'the plugin is installed where the program looks for it' 'no mpicc' [ -f build/mpi.so ]; then
    ok 'the plugin is installed where the program looks for it' \
        test -f "$work/new root/usr/bin/../libexec/gpusort/mpi.so"
    ok_fails_with 'and is not where it does not look' 2 '^libexecdir must be libexec or lib beside bindir' -- \
        make CUDA=0 install DESTDIR="$work/elsewhere" prefix=/usr libexecdir=/opt/libexec
fi
ok_prints 'make MPI=0 leaves the plugin out' '' -- bash -c 'make -nB CUDA=0 MPI=0 all install | grep "mpi\.so" || true'
ok_prints 'modes of what make install installs' '644\n755\n' -- \
    bash -c 'find "$0" -type f -printf "%m\n" | sort -u' "$work/new root"
ok_output 'completions are installed as they are stored' <(cat completions/{gpusort.bash,gpusort.fish,_gpusort}) -- \
    cat "$work/new root/usr/share/"{bash-completion/completions/gpusort,fish/*/*,zsh/*/*}
ok_says 'the program installed' '^gpusort [0-9]' -- "$work/new root/usr/bin/gpusort" --version
ok_prints 'a tilde in prefix or mandir is the home folder' '' -- \
    bash -c 'make -n CUDA=0 install uninstall "prefix=~/.local" "DESTDIR=~/root" "mandir=~/man" | grep -F "~" || true'
ok 'make uninstall' make CUDA=0 uninstall DESTDIR="$work/new root" prefix=/usr
ok_prints 'make uninstall leaves no file' '' -- find "$work/new root" -type f
ok 'make uninstall leaves the file of another program, and no folder of documents' \
    test -f "$work/new" -a ! -e "$work/new root/usr/share/doc/gpusort"
ok 'make install-strip' make CUDA=0 CFLAGS=-O0 CXXFLAGS=-O0 install-strip DESTDIR="$work/stripped" prefix=/usr
ok_prints 'what it installs has no symbols' '' -- \
    bash -c 'find "$0" -type f -perm 755 -exec nm {} \; 2>/dev/null' "$work/stripped"
ok 'make install into the build folder, and make works after that' \
    bash -c 'make CUDA=0 install DESTDIR="$PWD/build/stage" && make -n CUDA=0 clean && rm -r build/stage'

if possible 'make deb' 'no dpkg-deb' command -v dpkg-deb; then
    ok_fails_with 'make deb that fails' 2 'nosuchstrip' -- make CUDA=0 STRIP=nosuchstrip deb
    ok 'it leaves nothing' test ! -e build/deb
    # The program of a cross compiler for riscv64, as its header says, that is linked statically.
    mkdir bin
    printf '#!/bin/sh\n' >bin/dpkg-shlibdeps
    chmod +x bin/dpkg-shlibdeps
    cp build/gpusort native
    printf '\363\0' | dd of=build/gpusort bs=1 seek=18 conv=notrunc status=none
    cross=(env PATH="$PWD/bin:$PATH" make CUDA=0 MPI=0 STRIP=true deb)
    ok_fails_with 'make deb of a program for another processor' 2 'set DEB_HOST_ARCH' -- "${cross[@]}"
    ok 'make deb for that processor' env DEB_HOST_ARCH=riscv64 "${cross[@]}"
    ok_prints 'the package states it, and no libraries' 'Architecture: riscv64\n' -- \
        dpkg-deb -f gpusort_*_riscv64.deb Architecture Depends
    mv native build/gpusort
    rm -rf bin gpusort_*_riscv64.deb
    ok 'make deb' make CUDA=0 CFLAGS=-O0 CXXFLAGS=-O0 deb
    if possible 'lintian finds nothing in the package' 'no lintian' command -v lintian; then
        ok_prints 'lintian finds nothing in the package' '' -- bash -c 'lintian --allow-root gpusort_*.deb 2>/dev/null'
    fi
    if possible 'the package installs' 'only root has dpkg install' [ "$(id -u)" -eq 0 ]; then
        mkdir -p "$work"/dpkg/{info,updates} "$work/packaged"
        touch "$work"/dpkg/{status,available}
        database=(--admindir="$work/dpkg" --instdir="$work/packaged" --log=/dev/null)
        ok 'the package installs' dpkg "${database[@]}" --force-depends -i gpusort_*.deb
        plugin='' suggested=''
        if [ -f build/mpi.so ]; then plugin='./usr/libexec/gpusort/mpi.so\n'; fi
        if [ "$plugin" ] && command -v dpkg-shlibdeps >/dev/null; then suggested='.*mpi.*'; fi
        ok_says 'the libraries of MPI are suggested, not needed' "^$suggested$" -- \
            dpkg-query "--admindir=$work/dpkg" --show '--showformat=${Suggests}\n' gpusort
        ok_prints 'what it installs' \
            './usr/bin/gpusort\n'"$plugin"'./usr/share/bash-completion/completions/gpusort
./usr/share/doc/gpusort/NOTICE
./usr/share/doc/gpusort/changelog.gz
./usr/share/doc/gpusort/copyright
./usr/share/fish/vendor_completions.d/gpusort.fish
./usr/share/man/man1/gpusort.1.gz
./usr/share/zsh/vendor-completions/_gpusort
' -- bash -c 'cd "$0" && find . -type f | sort' "$work/packaged"
        ok_prints 'the packaged program sorts' '1\n2\n' -- "$work/packaged/usr/bin/gpusort" <<<$'2\n1'
        ok 'the package is removed' dpkg "${database[@]}" -r gpusort
        ok_prints 'and leaves no file' '' -- find "$work/packaged" ! -type d
    fi
fi

# A machine with a GPU, and a pip that records its arguments.
mkdir bin
printf '#!/bin/sh\necho "| CUDA Version: $CUDA_VERSION |"\n' >bin/nvidia-smi
printf '#!/bin/sh\ncase "$*" in *--version*) exit 0 ;; esac\necho "$*" >pip-words\nexit $PIP_STATUS\n' >bin/python3
chmod +x bin/*
install_cuda() { NVCC=$1 CUDA_VERSION=$2 PIP_STATUS=$3 PATH=$PWD/bin:$PATH scripts/install_cuda.sh; }
ok_prints 'where there is nvcc, none is installed' '' -- install_cuda /some/nvcc 13.0 0
ok_says 'for the driver of an older CUDA none is installed' 'driver is for CUDA 12' -- install_cuda '' 12.4 0
ok 'pip was not called' test ! -e pip-words
ok_says 'a GPU and no nvcc: its compiler is installed' 'from PyPI into build/cuda-toolkit$' -- install_cuda '' 13.0 0
ok_says 'by pip, in a folder of its own' '--target build/cuda-toolkit nvidia-cuda-nvcc==13' -- cat pip-words
ok_says 'where that fails the build goes on' 'cannot be installed: .* for the CPU alone$' -- install_cuda '' 13.0 1
rm pip-words
printf '#!/bin/sh\nexit 9\n' >bin/nvidia-smi
ok_prints 'where there is no GPU no compiler is installed' '' -- install_cuda '' '' 0
printf '#!/bin/sh\n' | tee bin/dpkg-query >bin/apt-get
chmod +x bin/*
ok_fails_with 'check.sh without --install names the packages that are missing, in one line' 1 \
    '^missing packages: gcc .* attr; --install installs them$' -- env -u CI PATH="$PWD/bin:$PATH" scripts/check.sh
mkdir mine
touch 'mine/a file of a user'
ok_fails_with 'mutation_check.sh refuses a folder that has other files' 2 'tree/mine is neither empty nor' -- \
    bash -c 'cd mine && ../scripts/mutation_check.sh --dir .'
ok_fails_with 'quickstart.sh refuses a count that is no number' 2 'not a number: abc$' -- scripts/quickstart.sh abc

ok 'make clean leaves no build' bash -c 'make CUDA=0 clean && [ ! -e build ]'
ok_fails_with 'make dist of neither a checkout nor an archive' 2 'neither a git checkout nor' -- make dist
ok 'make distclean' make CUDA=0 distclean
ok_prints 'make distclean leaves no program, and no package' '' -- find . -maxdepth 1 -name 'gpusort*'
cd ..

if possible 'make dist' 'not a git checkout with a commit' git -C "$root" rev-parse -q --verify HEAD; then
    git clone -q "$root" clone
    ok 'make dist' make -C clone dist
    tar -xzf clone/gpusort-*.tar.gz
    unpacked=(gpusort-*)
    ok_output 'the archive has the files of the commit, its name, and a list of its files' \
        <({ git -C clone ls-files; printf 'COMMIT\nMANIFEST\n'; } | sort) -- \
        bash -c 'cd "$0" && find . -type f -printf "%P\n" | sort' "${unpacked[0]}"
    ok 'the archive has all that make needs' make -n CUDA=0 -C "${unpacked[0]}"
    ok_output 'the name of the commit' <(git -C clone rev-parse HEAD) -- cat "${unpacked[0]}/COMMIT"
    touch "${unpacked[0]}/a file of a user"
    ok 'make dist in the unpacked archive' make -C "${unpacked[0]}" dist
    ok_same_bytes 'it makes the same archive' "${unpacked[0]}"/gpusort-*.tar.gz clone/gpusort-*.tar.gz
fi

done_testing
