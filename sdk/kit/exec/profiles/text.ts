/**
 * Profiles of programs that read text. Left out on purpose: flags that write (`sort -o`), run a program (`sort --compress-program`, `rg --pre`,
 * `rg --hostname-bin`, `rg -z`, `diff -l`), take names of files from a file (`--files0-from`, `sha256sum -c`), or follow links (`grep -R`, `rg -L`).
 */
import type { Profile, Profiles } from "./profile.ts";

const WHEN = /^(auto|always|never)$/;
const LIST = /^[-\d,]+$/;

const hash: Profile = { flags: "-b -t -z --binary --text --zero --tag", operands: "path" };
const base: Profile = {
  flags: "-d -D -i --decode --ignore-garbage",
  values: { "-w": "number", "--wrap": "number" },
  operands: "path",
  most: 1,
};
const tabs: Profile = {
  flags: "-i -a --initial --all --first-only",
  values: { "-t": LIST, "--tabs": LIST },
  operands: "path",
};
const lines = { "-n": "number", "-c": "number", "--lines": "number", "--bytes": "number" } as const;

export const TEXT: Profiles = {
  cat: {
    flags:
      "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
    operands: "path",
  },
  head: {
    flags: "-q -v -z --quiet --silent --verbose --zero-terminated",
    values: lines,
    digits: true,
    operands: "path",
  },
  // No -F: the name could become a link to somewhere else while it is followed.
  tail: {
    flags: "-f -q -v -z --quiet --silent --verbose --zero-terminated",
    values: lines,
    digits: true,
    operands: "path",
  },
  wc: { flags: "-c -m -l -L -w --bytes --chars --lines --words --max-line-length", operands: "path" },
  grep: {
    flags: `-a -b -c -E -F -G -H -h -I -i -l -L -n -o -P -q -r -s -U -v -w -x -y -Z -z --text --byte-offset --count --extended-regexp
      --fixed-strings --basic-regexp --perl-regexp --with-filename --no-filename --ignore-case --no-ignore-case --files-with-matches
      --files-without-match --line-number --only-matching --quiet --silent --recursive --no-messages --invert-match --word-regexp
      --line-regexp --null --null-data --initial-tab --line-buffered`,
    values: {
      "-e": "text",
      "--regexp": "text",
      "-f": "path",
      "--file": "path",
      "-A": "number",
      "-B": "number",
      "-C": "number",
      "-m": "number",
      "--after-context": "number",
      "--before-context": "number",
      "--max-count": "number",
      "--include": "text",
      "--exclude": "text",
      "--exclude-dir": "text",
      "--binary-files": /^(binary|text|without-match)$/,
    },
    optional: { "--color": WHEN, "--colour": WHEN, "--context": "number" },
    digits: true,
    first: "text",
    firstUnless: "-e -f --regexp --file",
    operands: "path",
    walks: true,
  },
  rg: {
    flags: `-i -S -s -n -N -l -c -o -v -w -x -F -P -U -H -I -0 -a -q -p -u -. --hidden --no-ignore --files --json --stats --count
      --count-matches --files-with-matches --files-without-match --ignore-case --smart-case --case-sensitive --line-number --no-line-number
      --heading --no-heading --only-matching --invert-match --word-regexp --line-regexp --fixed-strings --pcre2 --multiline
      --multiline-dotall --type-list --vimgrep --trim --null --column --no-filename --with-filename --passthru --no-messages --no-config
      --no-ignore-vcs --text --quiet --pretty --unrestricted`,
    values: {
      "-e": "text",
      "--regexp": "text",
      "-f": "path",
      "--file": "path",
      "-g": "text",
      "--glob": "text",
      "--iglob": "text",
      "-t": "text",
      "--type": "text",
      "-T": "text",
      "--type-not": "text",
      "-r": "text",
      "--replace": "text",
      "-A": "number",
      "-B": "number",
      "-C": "number",
      "-m": "number",
      "-M": "number",
      "-j": "number",
      "-d": "number",
      "--after-context": "number",
      "--before-context": "number",
      "--context": "number",
      "--max-count": "number",
      "--max-columns": "number",
      "--max-depth": "number",
      "--max-filesize": "number",
      "--threads": "number",
      "--color": /^(auto|always|never|ansi)$/,
      "--sort": /^(none|path|modified|accessed|created)$/,
      "--sortr": /^(none|path|modified|accessed|created)$/,
    },
    first: "text",
    firstUnless: "-e -f --regexp --file --files --type-list",
    operands: "path",
    walks: true,
  },
  cut: {
    flags: "-n -s -w -z --complement --only-delimited --zero-terminated",
    values: {
      "-b": LIST,
      "--bytes": LIST,
      "-c": LIST,
      "--characters": LIST,
      "-f": LIST,
      "--fields": LIST,
      "-d": "text",
      "--delimiter": "text",
      "--output-delimiter": "text",
    },
    operands: "path",
  },
  sort: {
    flags: `-b -c -C -d -f -g -h -i -M -m -n -R -r -s -u -V -z --ignore-leading-blanks --dictionary-order --ignore-case
      --general-numeric-sort --human-numeric-sort --month-sort --merge --numeric-sort --random-sort --reverse --stable --unique
      --version-sort --zero-terminated`,
    values: {
      "-k": /^[\d.,a-zA-Z]+$/,
      "--key": /^[\d.,a-zA-Z]+$/,
      "-t": "text",
      "--field-separator": "text",
      "-S": "number",
      "--buffer-size": "number",
      "--parallel": "number",
      "--sort": /^(general-numeric|human-numeric|month|numeric|random|version)$/,
    },
    optional: { "--check": /^(quiet|silent|diagnose-first)$/ },
    operands: "path",
  },
  // A second operand is a file that it writes.
  uniq: {
    flags: "-c -d -D -i -u -z --count --repeated --unique --ignore-case --zero-terminated",
    values: {
      "-f": "number",
      "--skip-fields": "number",
      "-s": "number",
      "--skip-chars": "number",
      "-w": "number",
      "--check-chars": "number",
    },
    operands: "path",
    most: 1,
  },
  tr: {
    flags: "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1",
    operands: "text",
    most: 2,
  },
  nl: {
    flags: "-p --no-renumber",
    values: {
      "-b": "text",
      "-f": "text",
      "-h": "text",
      "-d": "text",
      "-s": "text",
      "-i": "number",
      "-l": "number",
      "-v": "number",
      "-w": "number",
      "-n": /^(ln|rn|rz)$/,
      "--body-numbering": "text",
      "--number-width": "number",
      "--number-separator": "text",
    },
    operands: "path",
  },
  tac: { flags: "-b -r --before --regex", values: { "-s": "text", "--separator": "text" }, operands: "path" },
  rev: { operands: "path" },
  paste: {
    flags: "-s -z --serial --zero-terminated",
    values: { "-d": "text", "--delimiters": "text" },
    operands: "path",
  },
  join: {
    flags: "-i -z --ignore-case --check-order --nocheck-order --header --zero-terminated",
    values: {
      "-1": "number",
      "-2": "number",
      "-j": "number",
      "-a": "number",
      "-v": "number",
      "-t": "text",
      "-e": "text",
      "-o": /^(auto|[\d.,]+)$/,
    },
    operands: "path",
    most: 2,
  },
  comm: {
    flags: "-1 -2 -3 -i -z --check-order --nocheck-order --total --zero-terminated",
    values: { "--output-delimiter": "text" },
    operands: "path",
    most: 2,
  },
  diff: {
    flags: `-a -b -B -c -d -E -e -i -n -N -p -q -r -s -t -T -u -w -y -Z --text --ignore-space-change --ignore-blank-lines --minimal
      --ignore-tab-expansion --ed --ignore-case --rcs --new-file --show-c-function --brief --recursive --report-identical-files
      --expand-tabs --initial-tab --ignore-all-space --side-by-side --ignore-trailing-space --suppress-common-lines --strip-trailing-cr
      --no-dereference --left-column`,
    values: {
      "-U": "number",
      "-C": "number",
      "-W": "number",
      "--width": "number",
      "-x": "text",
      "--exclude": "text",
      "-I": "text",
      "--ignore-matching-lines": "text",
      "-L": "text",
      "--label": "text",
    },
    optional: { "--unified": "number", "--context": "number", "--color": WHEN },
    operands: "path",
    most: 2,
    walks: true,
  },
  cmp: {
    flags: "-b -l -s --print-bytes --verbose --quiet --silent",
    values: { "-n": "number", "--bytes": "number" },
    operands: "path",
    most: 4,
  },
  fold: {
    flags: "-b -s --bytes --spaces",
    values: { "-w": "number", "--width": "number" },
    digits: true,
    operands: "path",
  },
  fmt: {
    flags: "-c -s -u --crown-margin --split-only --uniform-spacing",
    values: { "-w": "number", "--width": "number" },
    digits: true,
    operands: "path",
  },
  expand: tabs,
  unexpand: tabs,
  column: { flags: "-t -x", values: { "-s": "text", "-c": "number" }, operands: "path" },
  md5sum: hash,
  sha1sum: hash,
  sha224sum: hash,
  sha256sum: hash,
  sha384sum: hash,
  sha512sum: hash,
  b2sum: { ...hash, values: { "-l": "number", "--length": "number" } },
  cksum: {
    flags: "-z --zero --tag --untagged --raw --base64",
    values: { "-a": /^[a-z0-9]+$/, "--algorithm": /^[a-z0-9]+$/ },
    operands: "path",
  },
  sum: { flags: "-r -s --sysv", operands: "path" },
  base64: base,
  base32: base,
  od: {
    flags: "-b -c -d -o -v -x --output-duplicates",
    values: {
      "-A": /^[doxn]$/,
      "-j": "number",
      "-N": "number",
      "-t": /^[acdfoux0-9zCFDILS]+$/,
    },
    operands: "path",
  },
  hexdump: {
    flags: "-b -c -C -d -o -v -x",
    values: { "-n": "number", "-s": "number" },
    operands: "path",
  },
  // A second operand is a file that it writes.
  xxd: {
    flags: "-a -b -e -i -p -u",
    values: { "-c": "number", "-g": "number", "-l": "number", "-s": "number" },
    operands: "path",
    most: 1,
  },
  strings: {
    flags: "-a -f -w --all --print-file-name",
    values: { "-n": "number", "-t": /^[dox]$/, "-e": /^[sSblBL]$/ },
    digits: true,
    operands: "path",
  },
  // A filter that could read modules, or the environment, is a miss; so is one that only has such a word in it (`.env`).
  jq: {
    flags: `-r -c -n -s -S -e -a -j -M -C -R --raw-output --raw-output0 --compact-output --null-input --slurp --sort-keys --exit-status
      --ascii-output --join-output --monochrome-output --color-output --raw-input --tab --unbuffered --seq --stream`,
    values: {
      "--indent": "number",
      "--arg": ["text", "text"],
      "--argjson": ["text", "text"],
      "--slurpfile": ["text", "path"],
      "--rawfile": ["text", "path"],
    },
    first: /^(?![^]*\b(?:import|include|modulemeta|env|ENV)\b)[^]*$/,
    operands: "path",
  },
};
