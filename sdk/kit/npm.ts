/** How this gateway runs npm: the user's own settings, and nothing beyond the command itself. `@svc/kit/npm`. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** npm settings that control where packages come from and how they are reached; all others are set by the caller. */
const KEPT_SETTINGS =
  /^npm_config_(?:registry|_?auth|_authtoken|userconfig|globalconfig|cache|cafile|ca|cert|key|keyfile|certfile|proxy|https_proxy|http_proxy|noproxy|strict_ssl|local_address|fetch_\w+|maxsockets|prefer_offline|offline|@\S*|\/\/\S*|.*:registry)$/i;

/** Other variables a program needs to run, to reach the network and to find the user's settings. */
const KEPT_VARIABLES =
  /^(?:path|home|userprofile|appdata|localappdata|systemroot|comspec|pathext|temp|tmp|tmpdir|lang|lc_\w+|(?:https?|all|no)_proxy|ssl_cert_(?:file|dir)|node_extra_ca_certs|xdg_\w+)$/i;

/** Flags that turn off scripts, projects and git. */
export const NPM_FLAGS: readonly string[] = [
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--no-update-notifier",
  "--no-workspaces",
  "--no-global",
  "--no-color",
  "--no-progress",
  "--loglevel=error",
  "--logs-max=0",
  "--git=no-git-while-installing-plugins", // a dependency from a git repository would run its scripts
];

/**
 * The variables that npm, git and other installers get. Settings that `npm run` leaves in the environment are not
 * passed on.
 */
export function installerEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && (KEPT_VARIABLES.test(entry[0]) || KEPT_SETTINGS.test(entry[0])),
    ),
  );
}

/** The npm next to this Node, where all installers put it; otherwise the one on `PATH`. @param node path of Node */
export function npmCommand(node: string): readonly string[] {
  const bin = dirname(node);
  const script = [
    join(bin, "../lib/node_modules/npm/bin/npm-cli.js"),
    join(bin, "node_modules/npm/bin/npm-cli.js"),
  ].find(existsSync);
  return script === undefined ? ["npm"] : [node, script];
}
