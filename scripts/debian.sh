# Sourced by scripts that fetch from Debian; $work is their folder.
# shellcheck shell=bash disable=SC2154
# debian ARCHITECTURE SUITE COMMAND...: apt-get with lists of its own, so that the system's stay as they are.
debian() {
  local folder=$work/apt/$1-$2
  if [[ ! -e $folder/updated ]]; then
    mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial"
    local mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | awk 'NR == 1')}
    local from="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:?no mirror of Debian in the sources of apt} $2 main"
    printf 'deb %s\ndeb-src %s\n' "$from" "$from" >"$folder/sources.list"
  fi
  local apt=(apt-get -q -o APT::Architecture="$1" -o APT::Architectures::="$1" -o APT::Sandbox::User=root
    -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$folder/state"
    -o Dir::State::status=/dev/null -o Dir::Cache="$folder/cache")
  [[ -e $folder/updated ]] || { "${apt[@]}" update >"$folder/log" 2>&1 && touch "$folder/updated"; } || return 1
  "${apt[@]}" "${@:3}" >>"$folder/log" 2>&1
}
