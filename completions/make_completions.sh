#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the completions of bash, zsh and fish from the output of --help, so that they have exactly
# the options, types, formats and paths of the program. `make completions` runs it; its output is
# stored beside this script.
#
#   completions/make_completions.sh GPUSORT DIR    DIR/gpusort.bash, DIR/_gpusort, DIR/gpusort.fish
#
#   gpusort --help -> a row for each option: letter, name, argument, text -> a file for each shell
#
# The name of an argument in --help decides what completes it: files, directories or words (`kind`).
# The words are in the text of the option, or listed here (`words`). An argument in brackets is optional.
set -euo pipefail
export LC_ALL=C
gpusort=$1 directory=$2

# Prints a row for each option: LETTER NAME ARGUMENT TEXT; "-" means none.
options() {
    "$gpusort" --help | awk -v OFS='\t' '
        /^                    / { # the text of an option goes on
            sub(/^ +/, "")
            text = text (text == "" ? "" : " ") $0
            next
        }
        name != "" {
            print letter, name, argument, text
            name = ""
        }
        match($0, /^ +(-[^ ]+, )*-[^ ]+/) {
            text = substr($0, RLENGTH + 1)
            sub(/^ +/, "", text)
            $0 = substr($0, 1, RLENGTH)
            letter = $1 ~ /^-[^-]/ ? substr($1, 2, 1) : "-"
            name = $NF ~ /^--/ ? substr($NF, 3) : "-"
            argument = "-"
            if (match(name, /\[?=.*/)) {
                argument = substr(name, RSTART)
                name = substr(name, 1, RSTART - 1)
                sub(/=/, "", argument)
            }
        }'
}

# words NAME TEXT: prints the words that the option takes, all of them or the common ones.
words() {
    case $1 in
    type | format | output-format) sed 's/.*: //; s/,//g' <<<"$2" ;;
    algorithm) echo "auto $(grep -o 'on the [^;]*' <<<"$2" | sed 's/.*: //' | xargs -n 1 | awk '!seen[$0]++' | xargs)" ;;
    argsort) echo u32 u64 i32 i64 ;;
    check) echo diagnose-first quiet silent ;;
    device) echo auto cpu gpu ;;
    endian) echo little big ;;
    nan) echo first last error ;;
    sort) echo general-numeric numeric human-numeric ;;
    stats) echo text json ;;
    esac
}

# kind NAME ARGUMENT: prints what completes the argument: files, directories, words, or any (nothing).
kind() {
    case ${2//[][]/} in
    FILE | F | PROG) echo files ;;
    DIR) echo directories ;;
    FORMAT* | TYPE | RULE | WORD | HOW | ORDER | DEVICE | FORM | PATH*) echo words ;;
    K | KEYDEF | LEVEL | WINDOWLOG | N | SEP | SIZE) echo any ;;
    *)
        echo "make_completions.sh: --$1 takes a $2, which has no kind" >&2
        return 1
        ;;
    esac
}

# each FUNCTION: FUNCTION LETTER NAME ARGUMENT TEXT for each option.
each() {
    local letter name argument text
    while IFS=$'\t' read -r letter name argument text; do
        "$1" "$letter" "$name" "$argument" "$text"
    done <<<"$rows"
}

# ---- bash ----------------------------------------------------------------------------------------

# Prints a long option as it is typed: with "=" if its argument is mandatory.
bash_name() {
    case $3 in
    - | \[*) [ "$2" = - ] || echo "--$2" ;;
    *) echo "--$2=" ;;
    esac
}

# Prints the branch of a case statement that completes the argument of an option. An optional
# argument follows only after "=".
bash_branch() {
    [ "$3" != - ] || return 0
    local pattern="--$2=" what
    [ "${3:0:1}" = '[' ] || pattern+=" | --$2"
    [ "$1" = - ] || pattern+=" | -$1"
    what=$(kind "$2" "$3")
    case $what in
    files) echo "    $pattern) compopt -o default ;;" ;;
    directories) echo "    $pattern) compopt -o dirnames ;;" ;;
    words) echo "    $pattern) mapfile -t COMPREPLY < <(compgen -W '$(words "$2" "$4")' -- \"\$word\") ;;" ;;
    any) echo "    $pattern) ;;" ;;
    esac
}

make_bash() {
    cat <<END
# bash completion of gpusort; made by completions/make_completions.sh.
_gpusort() {
    local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} option
    # Bash cuts --type=f64 in three.
    if [ "\$word" = = ]; then
        option=\$before= word=
    elif [ "\$before" = = ]; then
        option=\${COMP_WORDS[COMP_CWORD - 2]}=
    else
        option=\$before
    fi
    COMPREPLY=()
    case \$option in
$(each bash_branch)
    *)
        if [ "\${word:0:1}" = - ]; then
            mapfile -t COMPREPLY < <(compgen -W '$(each bash_name | xargs)' -- "\$word")
            [ "\${COMPREPLY[0]: -1}" != = ] || compopt -o nospace
        else
            compopt -o default
        fi
        ;;
    esac
} && complete -F _gpusort gpusort
END
}

# ---- zsh -----------------------------------------------------------------------------------------

# A line of _arguments.
zsh_argument() {
    local text=$4 action='' what sign='' name repeated=''
    [[ $text != *'may be repeated'* ]] || repeated='*'
    text=${text//\\/\\\\} text=${text//[/\\[} text=${text//]/\\]} text=${text//\'/\'\\\'\'}
    if [ "$3" != - ]; then
        what=$(kind "$2" "$3")
        case $what in
        files) action=_files ;;
        directories) action='_files -/' ;;
        words) action="($(words "$2" "$4"))" ;;
        any) action=' ' ;;
        esac
        name=${3//[][]/}
        action=":${name%:*}:$action"
        sign='='
        [ "${3:0:1}" != '[' ] || action=":$action" sign='=-'
    fi
    [ "$1" = - ] || echo "    '${repeated}-$1${sign:++}[${text}]$action' \\"
    [ "$2" = - ] || echo "    '${repeated}--$2${sign}[${text}]$action' \\"
}

make_zsh() {
    cat <<END
#compdef gpusort
# zsh completion of gpusort; made by completions/make_completions.sh.
_arguments -s -S \\
$(each zsh_argument)
    '*:FILE:_files'
END
}

# ---- fish ----------------------------------------------------------------------------------------

fish_command() {
    local line='complete -c gpusort' text=$4 what
    [ "$1" = - ] || line+=" -s '$1'"
    [ "$2" = - ] || line+=" -l $2"
    if [ "$3" != - ]; then
        [ "${3:0:1}" = '[' ] || line+=' -r'
        what=$(kind "$2" "$3")
        case $what in
        files) line+=' -F' ;;
        directories) line+=" -f -a '(__fish_complete_directories)'" ;;
        words) line+=" -f -a '$(words "$2" "$4")'" ;;
        any) line+=' -f' ;;
        esac
    fi
    text=${text//\\/\\\\}
    echo "$line -d '${text//\'/\\\'}'"
}

make_fish() {
    echo '# fish completion of gpusort; made by completions/make_completions.sh.'
    each fish_command
}

rows=$(options)
mkdir -p "$directory"
make_bash >"$directory/gpusort.bash"
make_zsh >"$directory/_gpusort"
make_fish >"$directory/gpusort.fish"
