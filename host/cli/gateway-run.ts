/** `svc gateway run`: the gateway in the foreground. */
import type { PluginReport } from "@svc/sdk/services";
import { readKeptToken } from "../auth/secret.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../gateway.ts";
import { watchStrayErrors } from "../kernel/blame.ts";
import { LOG_LEVELS, type LogLevel } from "../log.ts";
import { VERSION } from "../version.ts";
import { EXIT, type Output } from "./output.ts";
import { installedCommands } from "./plugin-verbs.ts";

export interface RunFlags {
  readonly port?: string;
  readonly logLevel?: string;
}

/** Runs until SIGINT or SIGTERM; a second signal does not wait. @returns the exit code */
export async function runGateway({ port, logLevel }: RunFlags, output: Output): Promise<number> {
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    output.note(`--port ${port}: it must be a number, 0 to 65535`);
    return EXIT.usage;
  }
  if (logLevel !== undefined && !isLogLevel(logLevel)) {
    output.note(`--log-level ${logLevel}: it must be one of ${LOG_LEVELS.join(", ")}`);
    return EXIT.usage;
  }
  const options: GatewayOptions = {
    logLevel: logLevel ?? "warn",
    ...(port === undefined ? {} : { port: Number(port) }),
  };
  let fatal = (_error: unknown): void => {};
  const died = new Promise<unknown>((resolve) => (fatal = resolve));
  const unwatch = watchStrayErrors((error) => fatal(error));
  const asked = firstSignal();
  const gateway = await createGateway(options);
  await announce(gateway, output);
  const error = await Promise.race([died.then((reason) => ({ reason })), asked]);
  if (error)
    output.note(
      `fatal: ${error.reason instanceof Error ? (error.reason.stack ?? error.reason.message) : String(error.reason)}`,
    );
  await gateway.stop();
  unwatch();
  return error ? EXIT.refused : EXIT.ok;
}

function isLogLevel(text: string): text is LogLevel {
  return LOG_LEVELS.some((level) => level === text);
}

function firstSignal(): Promise<undefined> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        resolve(undefined);
        process.once(signal, () => process.exit(130));
      });
    }
  });
}

async function announce(gateway: Gateway, output: Output): Promise<void> {
  const { url, paths, auth } = gateway;
  const plugins = gateway.plugins();
  if (output.json) {
    return output.print({
      ready: true,
      url,
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
    `  auth       ${authLine(gateway)}`,
    `  state      ${paths.stateDir}`,
    `  plugins    ${pluginLine(plugins)}`,
    ...plugins
      .filter(({ state }) => state !== "active")
      .map(({ id, state, reason }) => `    ${id}: ${state}${reason ? `, ${reason}` : ""}`),
    ...gateway.warnings.map((warning) => `  warning    ${warning}`),
    "",
    "From another terminal:",
    ...(await tryLines(plugins)),
    "",
    "Stop with Ctrl-C.",
  ];
  output.print(lines.join("\n"));
}

function authLine({ auth, paths }: Gateway): string {
  if (auth.mode === "none") return "none: every program on this machine can use it";
  if (auth.mode === "password") return "password";
  const kept = readKeptToken(paths.credentialsDir) === auth.token;
  return kept ? `token, kept in ${paths.credentialsDir}/gateway-token` : "token, the configured one";
}

function pluginLine(plugins: readonly PluginReport[]): string {
  return `${plugins.filter(({ state }) => state === "active").length} of ${plugins.length} active`;
}

async function tryLines(plugins: readonly PluginReport[]): Promise<string[]> {
  const running = new Set(plugins.filter(({ state }) => state === "active").map(({ id }) => id));
  const verbs = (await installedCommands()).filter(({ plugin }) => running.has(plugin));
  const rows = [
    ...verbs,
    { name: "gateway call <method>", summary: "Call any method" },
    { name: "plugins list", summary: "What runs here" },
  ];
  return rows.map(({ name, summary }) => `  npx svc ${name.padEnd(24)} ${summary}`);
}
