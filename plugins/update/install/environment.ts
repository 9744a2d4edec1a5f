/** Selects the environment variables that this process passes to git and npm. Pure. */

/** Variables a program needs to start, to reach the network, and to find the user's settings and keys. */
const KEPT =
  /^(?:path|home|user|logname|userprofile|appdata|localappdata|systemroot|comspec|pathext|temp|tmp|tmpdir|lang|lc_\w+|(?:https?|all|no)_proxy|ssl_cert_(?:file|dir)|node_extra_ca_certs|xdg_\w+|ssh_auth_sock)$/i;

/** Settings of npm about the sources of packages and the way to reach them. */
const NPM =
  /^npm_config_(?:registry|_?auth|_authtoken|userconfig|globalconfig|cache|cafile|ca|cert|key|proxy|https_proxy|http_proxy|noproxy|strict_ssl|fetch_\w+|prefer_offline|offline|@\S*|\/\/\S*|.*:registry)$/i;

type Environment = Readonly<Record<string, string | undefined>>;

/** No user is present, so git must not prompt. */
export function programEnvironment(env: Environment): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && (KEPT.test(entry[0]) || NPM.test(entry[0])),
  );
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0" };
}

const SECRET_NAME = /token|secret|passw|_key$|apikey|api_key|auth(?!or)/i;

/**
 * Values of the environment to hide in the output of programs. Choice: short values are not hidden; they occur in
 * ordinary words.
 */
export function secretValues(env: Environment): string[] {
  const found = Object.entries(env).flatMap(([name, value]) =>
    value && value.length >= 8 && SECRET_NAME.test(name) ? [value] : [],
  );
  return found.sort((left, right) => right.length - left.length);
}

const HIDDEN = "***";

/** The text without credentials. */
export function withoutSecrets(text: string, values: readonly string[]): string {
  const plain = values.reduce((left, value) => left.replaceAll(value, HIDDEN), text);
  return plain
    .replace(/(:\/\/)[^\s/@]+@/g, `$1${HIDDEN}@`)
    .replace(/\b((?:_?auth(?:token)?|_?password|token|secret)\s*[=:]\s*)\S+/gi, `$1${HIDDEN}`)
    .replace(/\b(bearer|basic)\s+\S+/gi, `$1 ${HIDDEN}`)
    .replace(/\b(?:npm_|gh[oprsu]_|github_pat_|glpat-)[A-Za-z0-9_-]{10,}/g, HIDDEN);
}
