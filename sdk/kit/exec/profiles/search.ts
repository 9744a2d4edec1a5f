/**
 * Profiles of programs that search text. Deliberately omitted: flags that run a program (`rg --pre`, `rg
 * --hostname-bin`, `rg -z`), follow links (`grep -R`, `rg -L`), or read a program from a file (`jq -f`, `jq -L`).
 */
import type { Profiles } from "./profile.ts";

const WHEN = /^(auto|always|never)$/;

export const SEARCH: Profiles = {
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
  // A filter that could read modules or the environment is a miss, even if the word only appears in it (`.env`).
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
