# SPDX-License-Identifier: GPL-3.0-or-later
# What the completions of all commands have in common. Each has a table, in the variable _sluice_COMMAND: lines
#   --OPTION LETTER NO|REQ|MAY WORD|LIST WORDS...     (- for no name, - for no letter)
#   :PATH WORD|LIST WORDS...                          after these operands
# No word of a table, or of what a command prints, is ever expanded by the shell.

# Words of now. Where no controller answers there are none.
_sluice_live() {
    case $1 in
    @jobs) timeout 2 squeue -h -o %i | sed -n 'p;s/+0$//p' ;; # of a heterogeneous job the whole, too
    @steps) timeout 2 squeue -h -s -o %i ;;
    @partitions) timeout 2 sinfo -h -o %R ;;
    @nodes) timeout 2 sinfo -h -N -o %N ;;
    @reservations) timeout 2 sinfo -h -T | while read -r name _; do printf '%s\n' "$name"; done ;;
    @users) compgen -u ;;
    @commands) compgen -c -- "$2" ;;
    @files) compgen -f -- "$2" ;;
    esac 2>/dev/null
}

# MODE CURRENT WORDS...: fills COMPREPLY.
_sluice_offer() {
    local mode=$1 cur=$2 before= word live
    local -A seen=()
    shift 2
    if [[ $mode == LIST && $cur == *,* ]]; then
        before=${cur%,*},
        cur=${cur##*,}
    fi
    for word; do
        if [[ $word == @* ]]; then
            [[ $word == @files ]] && compopt -o filenames 2>/dev/null
            while IFS= read -r live; do
                [[ $live == "$cur"* && -z ${seen["x$live"]-} ]] || continue
                seen["x$live"]=1
                COMPREPLY+=("$before$live")
            done < <(_sluice_live "$word" "$cur")
        elif [[ $word == "$cur"* ]]; then
            COMPREPLY+=("$before$word")
        fi
    done
}

# The row of an option, by its name or its letter, in 'row'.
_sluice_option() {
    local -a fields
    while read -ra fields; do
        if [[ ${fields[0]} == "$1" || ($1 == -[!-] && ${fields[1]} == "${1#-}") ]]; then
            row=("${fields[@]}")
            return 0
        fi
    done <<<"$table"
    return 1
}

# What may follow the operands: of the longest path that is theirs.
_sluice_operand() {
    local path= word key= best=
    local -a fields row=()
    for word in "${operands[@]}"; do
        word=${word%%=*}
        path+=${path:+/}${word,,}
    done
    if [[ $cur == *=* ]]; then
        lead=${cur%%=*}=
        key==${cur%%=*}
        key=${key,,}
    fi
    while read -ra fields; do
        [[ ${fields[0]} == :* ]] || continue
        word=${fields[0]#:}
        if [[ -n $key ]]; then
            [[ $word == "$key" ]] && row=("${fields[@]}")
        elif [[ $word == "$path" ]] && row=("${fields[@]}"); then
            break
        elif [[ $word == *'*' && $path == "${word%'*'}"* && ${#word} -gt ${#best} ]]; then
            row=("${fields[@]}") best=$word
        fi
    done <<<"$table"
    [[ ${#row[@]} -gt 0 ]] && _sluice_offer "${row[1]}" "${cur#"$lead"}" "${row[@]:2}"
}

# Names of options; those with a value go on.
_sluice_names() {
    local -a fields
    while read -ra fields; do
        [[ ${fields[0]} == --* && ${fields[0]} == "$cur"* ]] || continue
        [[ ${fields[2]} == REQ ]] && COMPREPLY+=("${fields[0]}=") || COMPREPLY+=("${fields[0]}")
    done <<<"$table"
}

# Of the words before the current one: operands, and the option whose value is to come, in 'row'.
_sluice_read() {
    local word
    row=()
    for word in "${words[@]:1:${#words[@]}-2}"; do
        if [[ ${#row[@]} -gt 0 ]]; then
            row=()
        elif [[ $word == : ]]; then
            operands=() # another component of a heterogeneous job
        elif [[ $word == -* && $word != *=* ]]; then
            _sluice_option "$word" && [[ ${row[2]} == REQ ]] || row=()
        elif [[ $word != -* ]]; then
            operands+=("$word")
        fi
    done
}

_sluice_complete() {
    local line=${COMP_LINE:0:COMP_POINT} name=_sluice_${1##*/} cur table only lead=
    local -a words operands=() row=()
    COMPREPLY=()
    table=${!name}
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    cur=${words[${#words[@]} - 1]}
    _sluice_read
    if [[ ${#row[@]} -gt 0 ]]; then
        _sluice_offer "${row[3]}" "$cur" "${row[@]:4}"
    elif [[ $cur == --*=* ]]; then
        lead=${cur%%=*}=
        _sluice_option "${cur%%=*}" && _sluice_offer "${row[3]}" "${cur#*=}" "${row[@]:4}"
    elif [[ $cur == -* ]]; then
        _sluice_names
    elif [[ ${#operands[@]} -gt 0 && $table == *$'\n: WORD @commands'* ]]; then
        _sluice_offer WORD "$cur" @files # the rest of a command
    else
        _sluice_operand
    fi
    only=${COMPREPLY[0]-}
    [[ ${#COMPREPLY[@]} -eq 1 && $only == *[=:] ]] && compopt -o nospace 2>/dev/null
    _sluice_cut
}

# Readline replaces no more than what follows the last = or : of a word, if these end words there.
_sluice_cut() {
    local i before= value=${cur#"$lead"}
    [[ $value == *:* && $COMP_WORDBREAKS == *:* ]] && before=${value%"${value##*:}"}
    [[ $COMP_WORDBREAKS == *=* ]] && lead=
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=$lead${COMPREPLY[i]#"$before"}
    done
}
