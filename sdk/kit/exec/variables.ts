/** Environment variables that a caller may add to a program, and those that need no approval. Pure. */

/**
 * Variables that make a program load or obey something other than itself. Choice: rejected by name, even with approval.
 * This list is not the only safeguard: see `isHarmless`.
 */
const STEERING: readonly RegExp[] = [
  /^PATH$/,
  /^(LD|DYLD|_RLD|LIBPATH|SHLIB_PATH)(_|$)/,
  /^(PYTHON|PERL|RUBY|RUST(C|DOC|FLAGS|UP)|GO(FLAGS|PATH|ROOT|BIN|ENV|PROXY|TOOLCHAIN|EXPERIMENT))/,
  /^(NPM|GEM|BUNDLE|LUA|GIT|SVC|JAVA|JDK|MAVEN|GRADLE|CARGO|DOTNET|COMPLUS|COR|CORECLR|XDG)_/,
  /^NODE_(?!ENV$)/,
  /^_JAVA_OPTIONS$/,
  /^CLASSPATH$/,
  /^(BASH_|ENV$|BASHOPTS$|SHELLOPTS$|SHELL$|IFS$|CDPATH$|GLOBIGNORE$|PS4$|PROMPT_COMMAND$|ZDOTDIR$|FPATH$)/,
  /^(HOME|USER|LOGNAME|USERPROFILE|APPDATA|LOCALAPPDATA|TMPDIR|TEMP|TMP|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS)$/,
  /^(EDITOR|VISUAL|PAGER|BROWSER|MANPAGER|LESSOPEN|LESSCLOSE|SSH_ASKPASS|SUDO_ASKPASS)$/,
  /^(GCONV_PATH|LOCPATH|NLSPATH|TERMINFO|TERMINFO_DIRS|TERMCAP|MAKEFLAGS|OPENSSL_CONF|OPENSSL_ENGINES|GLIBC_TUNABLES)$/,
  /^(COMSPEC|PATHEXT|SYSTEMROOT|WINDIR)$/,
];

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Why a caller may not set this variable, or `undefined`. Case-insensitive, because some machines ignore case. */
export function refusedVariable(name: string): string | undefined {
  if (!NAME.test(name)) return `${JSON.stringify(name).slice(0, 80)} is not a valid name of an environment variable`;
  return STEERING.some((pattern) => pattern.test(name.toUpperCase()))
    ? `${name.slice(0, 80)} may not be set by a caller`
    : undefined;
}

/**
 * Variables that only affect the output format; they need no approval. Any other variable does, for an allowlisted
 * program. `LANGUAGE` does, too: its value may be a path, and a message catalog in the workspace could contain `printf`
 * formats.
 */
const HARMLESS = /^(LANG|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR)$/;

/** Choice: a program is approved for its own behavior; a variable can change it. */
export function isHarmless(name: string): boolean {
  return HARMLESS.test(name);
}
