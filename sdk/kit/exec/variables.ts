/** Environment variables a caller may add to a program, and those that need nobody's leave. Pure. */

/**
 * What makes a program load, or obey, something else than itself. Choice: refused by name, whoever approved it. This list is not
 * the only guard: see `isHarmless`.
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

/** Why a caller may not set this variable, or `undefined`. The case of letters does not count: on some machines it means nothing. */
export function refusedVariable(name: string): string | undefined {
  if (!NAME.test(name)) return `${JSON.stringify(name).slice(0, 80)} is no name of an environment variable`;
  return STEERING.some((pattern) => pattern.test(name.toUpperCase()))
    ? `${name.slice(0, 80)} may not be set by a caller`
    : undefined;
}

/**
 * Names that only say how output is written; they need no approval. Any other one does, where a program is on the allowlist. `LANGUAGE` does: its
 * value may be a path, and a catalogue of messages from the workspace holds formats for `printf`.
 */
const HARMLESS = /^(LANG|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR)$/;

/** Choice: a program is allowed for what it does by itself; a variable can make another one of it. */
export function isHarmless(name: string): boolean {
  return HARMLESS.test(name);
}
