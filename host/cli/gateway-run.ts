/** `svc gateway run`: the gateway in the foreground. */
import { messageOf } from "@svc/sdk/errors";
import type { Gateway, GatewayOptions } from "@svc/host";
import {
  AUTH_MODES,
  type AuthMode,
  type AuthOverrides,
  hideShapes,
  LOG_LEVELS,
  type LogLevel,
  systemClock,
} from "@svc/host/local";
import { preparePaths, resolvePaths } from "@svc/host/state";
import { DEFAULT_DRAIN, drainOf, waitingLine } from "./drain.ts";
import { EXIT, type Output, refuse } from "./output.ts";
import { keepRenewing, takeRenewal, tellUp, toldToStop } from "./renewal.ts";
import { runWithRestarts } from "./restart-loop.ts";
import { announce, pluginLine } from "./start-text.ts";
import { lockStateDir, StateDirHeld } from "./state-lock.ts";

/** Drain time in milliseconds after an error that ends the process. Choice. */
const FATAL_DRAIN = 5_000;

export interface RunFlags {
  readonly port?: string;
  readonly logLevel?: string;
  /** The authentication mode. */
  readonly auth?: string;
  readonly token?: string;
  readonly password?: string;
  /** How long a stop and a restart wait for work in flight. Default `10m`. */
  readonly drain?: string;
  /** If the configuration file is refused, start with the last configuration that worked. */
  readonly lastGood?: boolean;
}

/** Additions of other commands that run a gateway. */
export interface RunExtras extends Pick<GatewayOptions, "developed" | "checkResults"> {
  /** Called with each gateway once it is up. */
  up?(gateway: Gateway): void;
}

/**
 * Runs until SIGINT or SIGTERM; a second signal skips the drain. SIGUSR1 restarts the gateway within the process. If a restart
 * needs a new process, the supervisor starts it; without a supervisor this process does. @returns the exit code
 */
export async function runGateway(flags: RunFlags, output: Output, { up, ...more }: RunExtras = {}): Promise<number> {
  const { port, logLevel, drain = DEFAULT_DRAIN } = flags;
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    const why = `--port ${port}: must be a number from 0 to 65535`;
    return refuse(`${why}\nNext: svc gateway run --port 18789`, output, EXIT.usage);
  }
  if (logLevel !== undefined && !isLogLevel(logLevel)) {
    const why = `--log-level ${logLevel}: must be one of ${LOG_LEVELS.join(", ")}`;
    return refuse(`${why}\nNext: svc gateway run --log-level info`, output, EXIT.usage);
  }
  const { auth: mode, token, password } = flags;
  if (mode !== undefined && !isAuthMode(mode)) {
    const why = `--auth ${mode}: must be one of ${AUTH_MODES.join(", ")}`;
    return refuse(`${why}\nNext: svc gateway run --auth token`, output, EXIT.usage);
  }
  const drainMs = drainOf(drain);
  if (drainMs === undefined) {
    const why = `--drain ${drain}: must be a duration in seconds, minutes or hours (90s, 10m, 1h), or 0`;
    return refuse(`${why}\nNext: svc gateway run --drain 10m`, output, EXIT.usage);
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
  const { createGateway, watchStrayErrors } = await import("@svc/host"); // imported here because no other command needs it
  let fatal: { readonly reason: string } | undefined;
  let current: Gateway | undefined;
  let die = () => {};
  const died = new Promise<void>((resolve) => (die = resolve));
  const unwatch = watchStrayErrors((reason) => {
    fatal ??= { reason: current?.crashed(reason) ?? stackOf(reason) };
    die();
  });
  const ended = Promise.race([died, nextSignal(), toldToStop(process), lock.toldToStop]);
  void ended.then((how) => {
    void nextSignal().then(() => process.exit(130));
    const busy = fatal ? [] : (current?.busy() ?? []);
    const atOnce =
      how === "SIGINT" ? "press Ctrl-C again to stop at once" : "a second signal stops the gateway at once";
    if (busy.length > 0 && drainMs > 0) output.note(waitingLine(busy, drainMs, atOnce));
  });
  const renewed = takeRenewal(process.env);
  const renewal = await runWithRestarts<Gateway>({
    clock: systemClock,
    ...(renewed ? { lastPerformedAt: renewed.at } : {}),
    ended: ended.then(() => (fatal ? { drainMs: FATAL_DRAIN } : {})),
    onRequest: (ask) => void process.on("SIGUSR1", () => ask("SIGUSR1")),
    start(restart, former) {
      // Clients know the free port picked at the first start: keep it over restarts.
      const wanted = port === undefined ? undefined : Number(port) || former?.port || renewed?.port || 0;
      const options: GatewayOptions = {
        auth,
        lastGood: flags.lastGood ?? false,
        drainMs,
        ...(logLevel === undefined ? {} : { logLevel }),
        ...(wanted === undefined ? {} : { port: wanted }),
        ...more,
      };
      return createGateway({ ...options, restart });
    },
    async up(gateway, reason) {
      lock.describe(() => ({
        url: gateway.url,
        drainMs,
        busy: gateway.busy(),
        clients: gateway.connections().length,
        others: gateway.others,
      }));
      current = gateway;
      tellUp(process);
      const why = reason ?? renewed?.reason;
      if (why === undefined) await announce(gateway, output, isVerbose(logLevel) ? output.note : () => undefined);
      else output.note(`gateway restarted (${why}): ${gateway.url}, plugins ${pluginLine(gateway.plugins())}`);
      up?.(gateway);
    },
    failed: (error, retryMs) =>
      output.note(`restart failed: ${messageOf(error)}\nRetrying every ${retryMs / 1_000} s.`),
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

function isVerbose(level: string | undefined = process.env["SVC_LOG_LEVEL"]): boolean {
  return level === "debug" || level === "trace";
}

function isAuthMode(text: string): text is AuthMode {
  return AUTH_MODES.some((mode) => mode === text);
}

function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, resolve);
  });
}
