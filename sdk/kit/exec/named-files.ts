/** Words of a command or script that may be file names. Prefers false positives. Pure. */
import { homedir } from "node:os";
import { basename, extname, join } from "node:path";

const MAX_NAME_CHARS = 4_096;

/** Word separators in shells and programming languages. */
const BOUNDARY = /[\s;&|<>()`$={},:@]+/;

/** `$DIR/x.sh`, `"${DIR}"/x.sh`, `$(pwd)/x.sh`: the part after the variable is tried without it. */
const BELOW_VARIABLE = /\$(?:\w+|\{[^}]{0,200}\}|\([^)]{0,200}\))"?\/([^\s;&|<>()`'"$]+)/g;

/** Files that programs run implicitly, in their working directory. Choice: the list. */
const UNTOLD: readonly (readonly [programs: RegExp, files: readonly string[]])[] = [
  [/^g?make$/, ["GNUmakefile", "makefile", "Makefile"]],
  [/^(?:npm|npx|pnpm|pnpx|yarn|bun|bunx)$/, ["package.json"]],
  [/^just$/, ["justfile", "Justfile", ".justfile"]],
  [/^task$/, ["Taskfile.yml", "Taskfile.yaml"]],
  [/^rake$/, ["Rakefile", "rakefile"]],
  [/^cmake$/, ["CMakeLists.txt"]],
  [/^ninja$/, ["build.ninja"]],
  [/^cargo$/, ["Cargo.toml", "build.rs", ".cargo/config.toml"]],
  [/^(?:pytest|py\.test)$/, ["conftest.py", "pytest.ini", "pyproject.toml"]],
  [/^(?:tox|nox)$/, ["tox.ini", "noxfile.py"]],
  [/^(?:docker|podman)(?:-compose)?$/, ["Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml"]],
  [/^(?:gradle|gradlew)$/, ["build.gradle", "build.gradle.kts", "settings.gradle"]],
  [/^(?:mvn|mvnw)$/, ["pom.xml"]],
  [/^vagrant$/, ["Vagrantfile"]],
];

/** Names of files that this program runs implicitly. @param program its name or path */
export function untoldFiles(program: string): readonly string[] {
  const name = basename(program);
  return UNTOLD.flatMap(([programs, files]) => (programs.test(name) ? files : []));
}

/**
 * A word with `*`, `?` or `[` as a pattern for `matchesPattern`; `undefined`: it has none. A character set counts as
 * any character.
 */
export function patternOf(name: string): string | undefined {
  return /[*?[]/.test(name) ? `/${basename(name).replaceAll(/\[[^\]]*\]/g, "?")}` : undefined;
}

/**
 * The argument itself, the value in `--flag=value` and `-fvalue`, and each word in it: `sh -c './x.sh; cat y'` names
 * two files. Quotes and backslashes are removed as in a shell.
 */
export function possibleNames(argument: string): readonly string[] {
  const quoted = [...argument.matchAll(/'([^']*)'|"([^"]*)"/g)].map(([, single, double]) => single ?? double ?? "");
  const escaped = argument.match(/(?:\\.|[^\s;&|<>()`'"$={},:@\\])+/g) ?? [];
  const names = [
    argument,
    argument.slice(argument.indexOf("=") + 1),
    argument.replace(/^-[A-Za-z]/, ""),
    ...quoted,
    ...[...argument.matchAll(BELOW_VARIABLE)].map(([, name]) => name ?? ""),
    ...escaped.map((word) => word.replaceAll(/\\(.)/g, "$1")),
    ...argument.split(/['"]/).flatMap((part) => part.split(BOUNDARY)),
    ...argument.replaceAll(/['"\\]/g, "").split(BOUNDARY),
  ];
  return [...new Set(names.map(atHome))].filter(isName);
}

/**
 * Possible file names for a name in a script: `./lib`, `helper` and `pkg.part` omit the extension, `"$DIR/lib.sh"` the
 * directory, and a directory stands for its index file.
 */
export function spellingsOf(name: string, script: string): readonly string[] {
  const ending = extname(script);
  const bases = [name, basename(name), name.replaceAll(".", "/")];
  return [
    ...new Set(
      bases.flatMap((base) => [base, base + ending, ...STANDS_FOR_ALL.map((name) => `${base}/${name}${ending}`)]),
    ),
  ].filter(isName);
}

const STANDS_FOR_ALL = ["index", "__init__"];

/** Program and words of a shebang line `#! ...`: a path, and the name that `env` looks up. */
export function shebangOf(
  text: string,
): { readonly interpreter: string; readonly words: readonly string[] } | undefined {
  const [, interpreter, rest = ""] = /^#![ \t]*(\S+)[ \t]*([^\n]*)/.exec(text) ?? [];
  return interpreter === undefined ? undefined : { interpreter, words: rest.split(/[ \t\r]+/).filter(Boolean) };
}

function atHome(name: string): string {
  return name.startsWith("~/") ? join(homedir(), name.slice(2)) : name;
}

function isName(name: string): boolean {
  return name !== "" && name.length <= MAX_NAME_CHARS && !name.includes("\0");
}
