/**
 * Profiles of programs that print and compare text. Deliberately omitted: flags that write (`sort -o`), run a program
 * (`sort --compress-program`, `diff -l`), or read file names from a file (`--files0-from`).
 */
import type { Profile, Profiles } from "./profile.ts";

const WHEN = /^(auto|always|never)$/;
const LIST = /^[-\d,]+$/;

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
  // No -F: the name could become a link to another place while it is followed.
  tail: {
    flags: "-f -q -v -z --quiet --silent --verbose --zero-terminated",
    values: lines,
    digits: true,
    operands: "path",
  },
  wc: { flags: "-c -m -l -L -w --bytes --chars --lines --words --max-line-length", operands: "path" },
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
  // A second operand is an output file.
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
};
