/** Prints the addresses and the next commands once `svc gateway run` is up. */
import { existsSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { Gateway } from "@svc/host";
import { VERSION } from "@svc/host/local";
import { readKeptToken } from "@svc/host/state";
import { commandText } from "@svc/sdk/cli";
import type { PluginReport } from "@svc/sdk/plugins";
import { announcedLines } from "./announcements.ts";
import type { Output } from "./output.ts";
import { CLI_DIRECTORY } from "./package-json.ts";
import { wrap } from "./wrap.ts";
import { installedCommands } from "./plugin-verbs.ts";

/** @param failed is told why a command of a plugin adds no lines */
export async function announce(gateway: Gateway, output: Output, failed: (why: string) => void): Promise<void> {
  const { url, paths, auth, tlsFingerprint } = gateway;
  const plugins = gateway.plugins();
  if (output.json) {
    return output.print({
      ready: true,
      url,
      ...(tlsFingerprint === undefined ? {} : { tlsFingerprint }),
      version: VERSION,
      stateDir: paths.stateDir,
      authMode: auth.mode,
      plugins,
      warnings: gateway.warnings,
    });
  }
  const lines = [
    `svc gateway ${VERSION}`,
    `  WebSocket  ${url}`,
    `  HTTP       ${url.replace(/^ws/, "http")}`,
    ...(await announcedLines(gateway, failed)).map((line) => wrap(`  ${line}`)),
    ...(tlsFingerprint === undefined ? [] : [`  TLS        SHA-256 ${tlsFingerprint}`]),
    ...(gateway.isOpen ? [`  open to    other machines, on port ${gateway.port}`] : []),
    `  auth       ${authLine(gateway)}`,
    `  state      ${paths.stateDir}`,
    `  plugins    ${pluginLine(plugins)}`,
    ...plugins
      .filter(({ state }) => state !== "active")
      .map(({ id, state, reason }) => wrap(`    ${id}: ${state}${reason ? `, ${reason}` : ""}`)),
    ...gateway.warnings.map((warning) => wrap(`  warning    ${warning}`)),
    "",
    "In another terminal:",
    ...pathLines(process.env),
    ...stateLines(process.env),
    ...(await tryLines(plugins)),
    "",
    "Stop with Ctrl-C.",
  ];
  output.print(lines.join("\n"));
}

export function pluginLine(plugins: readonly PluginReport[]): string {
  return `${plugins.filter(({ state }) => state === "active").length} of ${plugins.length} active`;
}

function authLine({ auth, paths }: Gateway): string {
  if (auth.mode === "none") return "none: every program on this machine can use the gateway";
  if (auth.mode === "password") return "password";
  const kept = readKeptToken(paths.credentialsDir) === auth.token;
  return kept ? `token, stored in ${paths.credentialsDir}/gateway-token` : "token, from the configuration";
}

/** The command that puts `svc` on the PATH, unless it is there already. `npx` would download an unrelated package of that name. */
function pathLines(env: NodeJS.ProcessEnv): string[] {
  const isThere = (env["PATH"] ?? "").split(delimiter).some((place) => {
    const isOfNpm = place.endsWith(join("node_modules", ".bin")); // npm adds these for its scripts only; a new terminal lacks them
    return place !== "" && !isOfNpm && existsSync(join(place, "svc"));
  });
  return isThere
    ? []
    : [`  ${commandText(["npm", "install", "--global", CLI_DIRECTORY])}    # once: puts svc on the PATH`];
}

/** Exports SVC_STATE_DIR: without it, `svc` in another terminal connects to the gateway of the default state directory. */
function stateLines({ SVC_STATE_DIR }: NodeJS.ProcessEnv): string[] {
  return SVC_STATE_DIR ? [`  export ${commandText([`SVC_STATE_DIR=${resolve(SVC_STATE_DIR)}`])}`] : [];
}

/** Choice: up to three commands named after their active plugin, since people try these first; help lists the others. */
async function tryLines(plugins: readonly PluginReport[]): Promise<string[]> {
  const running = new Set(plugins.filter(({ state }) => state === "active").map(({ id }) => id));
  const verbs = await installedCommands();
  const rows = [
    ...verbs.filter(({ plugin, name, isGroup }) => name === plugin && !isGroup && running.has(plugin)).slice(0, 3),
    { name: "doctor", summary: "Find problems of this gateway and how to fix them" },
    { name: "--help", summary: "All commands" },
  ];
  return rows.map(({ name, summary }) => wrap(`  svc ${name.padEnd(8)}  ${summary}`));
}
