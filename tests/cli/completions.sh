#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The completions of bash, zsh and fish have exactly the options of the program that they were made from. Bash offers
# the words of each option, all of which are accepted; zsh and fish offer the types. The stored completions, which
# `make install` installs, are up to date with a program that has the paths of the GPU.
. "$(dirname "$0")/../lib.sh"
stored=$tests_dir/../completions
ok 'completions are made' bash "$stored/make_completions.sh" "$GPUSORT" made
if possible 'the completions that are stored' 'this build has no GPU backend' grep -q '^  gpu ' <(gpusort --list); then
    for file in gpusort.bash _gpusort gpusort.fish; do
        ok_same_bytes "completions/$file is what 'make completions' makes" made/$file "$stored/$file"
    done
fi

# The long options are taken from --usage; the completions are made from --help.
gpusort --usage | grep -oE -- '--[a-z0-9-]+' | sort -u >options
list_types >types
gpusort --list | awk '/^[^ ]/ { on = /^formats/ } on && /^  [^ ]/ { print $1 }' >formats
{ list_paths cpu; list_paths gpu; } | sort -u >paths

# ---- bash ----------------------------------------------------------------------------------------

# bash_offers WORD...: prints the completions of the last word, for a line split into words as bash
# splits it, and the options that are given to compopt.
bash_offers() {
    bash -c 'compopt() { echo "-- $2"; }
        . made/gpusort.bash
        COMP_WORDS=(gpusort "$@") COMP_CWORD=$#
        _gpusort
        [ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
ok_output 'bash: each long option, and no other' options -- \
    bash -c 'grep -v "^-- " | sed "s/=\$//" | sort' < <(bash_offers --)
gpusort --argsort=x 2>&1 | grep -oE '[ui](32|64)' >indices || true
for argument in 'argsort indices' 'type types' 'format formats' 'output-format formats' 'algorithm paths'; do
    read -r option expected <<<"$argument"
    ok_output "bash: each word of --$option" <(sort "$expected") -- \
        bash -c 'grep -vx "auto\|same" | sort' < <(bash_offers --"$option" = '')
done
ok_output 'bash: the same after a space, and begun' <(printf 'u8\nu16\nu32\nu64\n') -- bash_offers --type u
ok_output 'bash: after a letter' <(printf 'radix\n') -- bash_offers -a rad
ok_output 'bash: an option that has an argument ends with the sign' <(printf -- '-- nospace\n--endian=\n') -- \
    bash_offers --en
ok_output 'bash: files' <(echo '-- default') -- bash_offers ''
for option in -o --input --trace; do
    ok_output "bash: files after $option" <(echo '-- default') -- bash_offers $option ''
done
ok_output 'bash: directories after -T' <(echo '-- dirnames') -- bash_offers -T ''
ok_output 'bash: nothing after -S' /dev/null -- bash_offers -S ''
ok_output 'bash: files after an option whose argument may be left out' <(echo '-- default') -- bash_offers --zstd ''

# Every word that is offered for an option is accepted by it.
while read -r option; do
    words=$(bash_offers "$option" = '' | grep -v '^-- ' || true)
    for word in $words; do
        [ "$option=$word" != --device=gpu ] || continue # there may be none
        ok "$option takes $word" bash -c '! "$0" --explain "$1" </dev/null 2>&1 |
            grep "unknown\|invalid"' "$GPUSORT" "$option=$word"
    done
done <options

# ---- zsh and fish --------------------------------------------------------------------------------

ok_output 'zsh: each long option, and no other' options -- \
    bash -c "grep -oE \"'\\*?--[a-z0-9-]+\" made/_gpusort | tr -d \"'*\" | sort -u"
ok_output 'fish: each long option, and no other' options -- \
    bash -c "grep -oE -- ' -l [a-z0-9-]+' made/gpusort.fish | sed 's/ -l /--/' | sort -u"
types=$(paste -sd' ' types)
ok_says 'zsh: the types' "^    '--type=.*:TYPE:\\($types\\)' " -- cat made/_gpusort
ok_says 'fish: the types' "-l type -r -f -a '$types' -d " -- cat made/gpusort.fish
if possible 'zsh reads it' 'no zsh' command -v zsh; then
    ok 'zsh reads it' zsh -n made/_gpusort
fi
if possible 'fish offers them' 'no fish' command -v fish; then
    fish_offers() { HOME=$work fish --no-config -c 'source made/gpusort.fish; complete -C $argv' "$1" | cut -f1; }
    ok_output 'fish: long options' <(grep '^--t' options) -- bash -c sort < <(fish_offers 'gpusort --t')
    ok_output 'fish: words' <(printf -- '--type=u%s\n' 16 32 64 8) -- bash -c sort < <(fish_offers 'gpusort --type=u')
fi

done_testing
