/** `svc gateway run`: the gateway in the foreground. */
import { messageOf } from "@svc/sdk/errors";
import type { PluginReport } from "@svc/sdk/plugins";
import type { Gateway, GatewayOptions } from "@svc/host";
import {
  AUTH_MODES,
  type AuthMode,
  type AuthOverrides,
  hideShapes,
  LOG_LEVELS,
  type LogLevel,
  systemClock,
  VERSION,
} from "@svc/host/local";
import { preparePaths, readKeptToken, resolvePaths } from "@svc/host/state";
import { EXIT, type Output, refuse } from "./output.ts";
import { installedCommands } from "./plugin-verbs.ts";
import { keepRenewing, takeRenewal, tellUp, toldToStop } from "./renewal.ts";
import { runWithRestarts } from "./restart-loop.ts";
import { lockStateDir, StateDirHeld } from "./state-lock.ts";

export interface RunFlags {
  readonly port?: string;
  readonly logLevel?: string;
  /** The mode. */
  readonly auth?: string;
  readonly token?: string;
  readonly password?: string;
}

/** What a command that runs a gateway adds. */
export interface RunExtras extends Pick<GatewayOptions, "developed"> {
  /** Told of each gateway once it is up. */
  up?(gateway: Gateway): void;
}

/**
 * Runs until SIGINT or SIGTERM; a second signal does not wait. SIGUSR1 restarts within the process; what needs a new process is
 * left to whoever supervises this one, or done here. @returns the exit code
 */
export async function runGateway(flags: RunFlags, output: Output, { up, developed }: RunExtras = {}): Promise<number> {
  const { port, logLevel } = flags;
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    const why = `--port ${port}: it must be a number, 0 to 65535`;
    return refuse(`${why}\nNext: svc gateway run --port 18789`, output, EXIT.usage);
  }
  if (logLevel !== undefined && !isLogLevel(logLevel)) {
    const why = `--log-level ${logLevel}: it must be one of ${LOG_LEVELS.join(", ")}`;
    return refuse(`${why}\nNext: svc gateway run --log-level info`, output, EXIT.usage);
  }
  const { auth: mode, token, password } = flags;
  if (mode !== undefined && !isAuthMode(mode)) {
    const why = `--auth ${mode}: it must be one of ${AUTH_MODES.join(", ")}`;
    return refuse(`${why}\nNext: svc gateway run --auth token`, output, EXIT.usage);
  }
  const auth: AuthOverrides = { mode, token, password };
  const paths = resolvePaths();
  preparePaths(paths);
  const lock = await lockStateDir(paths.stateDir).catch((error: unknown) => {
    if (error instanceof StateDirHeld) return error;
    throw error;
  });
  if (lock instanceof StateDirHeld) return refuse(lock.message, output, EXIT.held);
  if (lock.warning) output.note(lock.warning);
  const { createGateway, watchStrayErrors } = await import("@svc/host"); // no other command needs it
  let fatal: { readonly reason: string } | undefined;
  let current: Gateway | undefined;
  let die = () => {};
  const died = new Promise<void>((resolve) => (die = resolve));
  const unwatch = watchStrayErrors((reason) => {
    fatal ??= { reason: current?.crashed(reason) ?? stackOf(reason) };
    die();
  });
  const renewed = takeRenewal(process.env);
  const renewal = await runWithRestarts<Gateway>({
    clock: systemClock,
    ...(renewed ? { lastPerformedAt: renewed.at } : {}),
    ended: Promise.race([died, firstSignal(), toldToStop(process)]),
    onRequest: (ask) => void process.on("SIGUSR1", () => ask("SIGUSR1")),
    start(restart, former) {
      // A free port that was picked once is the one clients know.
      const wanted = port === undefined ? undefined : Number(port) || former?.port || renewed?.port || 0;
      const options: GatewayOptions = {
        auth,
        ...(logLevel === undefined ? {} : { logLevel }),
        ...(wanted === undefined ? {} : { port: wanted }),
        ...(developed ? { developed } : {}),
      };
      return createGateway({ ...options, restart });
    },
    async up(gateway, reason) {
      lock.reachableAt(gateway.url);
      current = gateway;
      tellUp(process);
      const why = reason ?? renewed?.reason;
      if (why === undefined) await announce(gateway, output);
      else output.note(`gateway restarted (${why}): ${gateway.url}, plugins ${pluginLine(gateway.plugins())}`);
      up?.(gateway);
    },
    failed: (error, retryMs) =>
      output.note(
        `the gateway does not start again: ${messageOf(error)}\nIt is tried again every ${retryMs / 1_000} s.`,
      ),
  });
  unwatch();
  lock.release();
  if (fatal) output.note(`fatal: ${fatal.reason}`);
  else if (renewal) {
    const { reason, at, former } = renewal;
    return keepRenewing({ reason, at, port: former.port }, output);
  }
  return fatal ? EXIT.refused : EXIT.ok;
}

function stackOf(error: unknown): string {
  return hideShapes(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

function isLogLevel(text: string): text is LogLevel {
  return LOG_LEVELS.some((level) => level === text);
}

function isAuthMode(text: string): text is AuthMode {
  return AUTH_MODES.some((mode) => mode === text);
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
    ...(tlsFingerprint === undefined ? [] : [`  TLS        SHA-256 ${tlsFingerprint}`]),
    ...(gateway.isOpen ? [`  open to    other machines, on port ${gateway.port}`] : []),
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
  const verbs = (await installedCommands()).filter(({ plugin, name }) => running.has(plugin) && !name.includes(" "));
  const rows = [
    ...verbs,
    { name: "gateway call <method>", summary: "Call any method" },
    { name: "plugins list", summary: "What runs here" },
    { name: "--help", summary: "Everything else" },
  ];
  return rows.map(({ name, summary }) => `  npx svc ${name.padEnd(24)} ${summary}`);
}
