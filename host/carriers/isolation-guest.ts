/** Entry point of a plugin's own thread or process: imports the plugin and executes the gateway's requests. */
import { getHeapStatistics } from "node:v8";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { deepFreeze, type HookEmitter, type Plugin, type Requirement, strayErrorHandler } from "@svc/sdk";
import { messageOf } from "@svc/sdk/errors";
import { systemClock } from "../clock.ts";
import { Recorder } from "../kernel/declared.ts";
import { type AnyKind, type SetupContext } from "../kernel/kind.ts";
import { busy } from "../kernel/kinds/busy.ts";
import { loadKinds } from "../kernel/load-kinds.ts";
import { importPlugin } from "../kernel/load.ts";
import { gatewayOf } from "../kernel/setup.ts";
import type { GuestSide, GuestTask, HostSide, SetupParts, StaticPart, Token } from "./contract.ts";
import { Link } from "./link.ts";

const task = (isMainThread ? JSON.parse(process.argv[2] ?? "{}") : workerData) as GuestTask; // from carriers.ts
const stopped = new AbortController();
/** Current live services, by the plugin's names. */
const live = new Map<string, unknown>();
let imported: { readonly plugin: Plugin; readonly kinds: readonly AnyKind[] } | undefined;
let recorder: Recorder | undefined;
let host: HostSide | undefined;

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
const post = (message: unknown) => void (parentPort ? parentPort.postMessage(message) : process.send?.(message));
const link = new Link({ post, isGuest: true });

const guest: GuestSide = {
  async describe() {
    const [plugin, kinds] = await Promise.all([
      importPlugin(task.file, task.cacheDir),
      loadKinds(task.kinds, task.cacheDir),
    ]);
    imported = { plugin, kinds };
    return staticPart(plugin);
  },

  async setup(parts) {
    if (!imported) throw new Error("setup before describe");
    const { plugin, kinds } = imported;
    host = parts.host;
    const recording = (recorder = new Recorder(plugin, true));
    try {
      await plugin.setup(gatewayIn(parts, plugin, kinds, recording) as never); // typed by definePlugin
      return recording.entries();
    } finally {
      recording.seal();
    }
  },

  async beat(changed) {
    for (const [name, value] of Object.entries(changed)) live.set(name, value);
    return { memoryBytes: memoryBytes(), busy: recorder?.of(busy).some(({ check }) => isBusy(check)) ?? false };
  },
};

/** The `gateway` of the plugin: effects are forwarded to the host; the clock is local. */
function gatewayIn(
  { config, sections, services, stateDir, host: to }: SetupParts,
  plugin: Plugin,
  kinds: readonly AnyKind[],
  recording: Recorder,
) {
  const context: SetupContext = {
    plugin,
    clock: systemClock,
    signal: stopped.signal,
    isOpen: () => recording.isOpen,
    run: (work) => work(),
    failed: (error, where) => to.charge(error, where),
    restart: (reason) => to.restart(reason),
    publish: ({ name }, payload, audience) => emit(name, () => link.tell(to.publish, name, payload, audience)),
    forward: (event, payload, connections) =>
      emit(event.name, () => link.tell(to.forward, event, payload, connections)),
    // Unused: the kinds that need these refuse declarations in a guest.
    emitter: () => undefined as unknown as HookEmitter<never>,
    view: () => undefined as never,
  };
  const logTo = (level: "debug" | "info" | "warn" | "error") => (fields: object, message: unknown) => {
    try {
      if (!link.tell(to.log, level, fields, message as string)) leaveOut(LINES);
    } catch (error) {
      // `message` may not be a string if the plugin is plain JavaScript.
      const err = { message: `the fields of this line were dropped: ${messageOf(error)}` };
      link.tell(to.log, level, { err }, String(message).slice(0, MAX_MESSAGE_CHARS));
    }
  };
  for (const [name, value] of Object.entries(services)) live.set(name, value);
  const handles = Object.entries(plugin.requires ?? {}).map(([name, { kind }]) => {
    return [name, kind === "live" ? { get: () => live.get(name) } : services[name]] as const;
  });
  return gatewayOf({
    context,
    kinds,
    recorder: recording,
    config: { value: deepFreeze(config), sections: deepFreeze(sections) },
    services: Object.fromEntries(handles),
    log: { debug: logTo("debug"), info: logTo("info"), warn: logTo("warn"), error: logTo("error") },
    stateDir: () => stateDir,
    call: (method, params, principal) => to.call(method.name, params, principal),
  });
}

/** Sends an event; reports a failure to the host, not to the emitter. @param send returns whether it was accepted */
function emit(event: string, send: () => boolean): void {
  try {
    if (!send()) leaveOut(`event ${event}`);
  } catch (error) {
    host?.charge(error, `event ${event}`);
  }
}

const LINES = "log lines";
/** Characters kept of a message whose fields cannot be sent. */
const MAX_MESSAGE_CHARS = 65_536;
/** Interval of the reports about dropped messages. ms */
const REPORT_MS = 1_000;
/** Number of messages dropped since the last report because the gateway could not keep up, by type. */
const leftOut = new Map<string, number>();

function leaveOut(what: string): void {
  if (leftOut.size === 0) setTimeout(reportLeftOut, REPORT_MS);
  leftOut.set(what, (leftOut.get(what) ?? 0) + 1);
}

/** Choice: dropped log lines are a warning; dropped events are a failure of the plugin, as their subscribers missed some. */
function reportLeftOut(): void {
  for (const [what, count] of leftOut) {
    const message = `${count} dropped, sent faster than the gateway can receive`;
    if (what === LINES) host?.log("warn", { leftOut: count }, `${what}: ${message}`);
    else host?.charge(new Error(message), what);
  }
  leftOut.clear();
}

/** A check that throws counts as busy. */
function isBusy(check: () => boolean): boolean {
  try {
    return check();
  } catch (error) {
    host?.charge(error, "busy()");
    return true;
  }
}

function memoryBytes(): number {
  if (isMainThread) return process.memoryUsage.rss();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

function staticPart({ id, api, version, config, section, sections, requires, provides, after }: Plugin): StaticPart {
  return {
    id,
    api,
    ...(version === undefined ? {} : { version }),
    ...(config ? { config } : {}),
    ...(section === undefined ? {} : { section }),
    ...(sections ? { sections } : {}),
    requires: Object.fromEntries(Object.entries(requires ?? {}).map(([name, one]) => [name, requirementOf(one)])),
    provides: (provides ?? []).map((token) => plainToken(token)),
    after: after ?? [],
  };
}

function requirementOf(requirement: Requirement): StaticPart["requires"][string] {
  if (requirement.kind === "service") return { kind: "service", token: plainToken(requirement) };
  return { kind: requirement.kind, token: plainToken(requirement.token) };
}

function plainToken({ kind, id, version, remotable, deprecated }: Token): Token {
  return { kind, id, version, ...(remotable ? { remotable } : {}), ...(deprecated ? { deprecated } : {}) };
}

/** Attributes stray errors to the plugin, as in the gateway; before its setup they end the guest. */
function stray(error: unknown): void {
  const handle = strayErrorHandler();
  if (handle) return handle(error);
  if (host) return host.charge(error, "unawaited code");
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

process.on("uncaughtException", stray);
process.on("unhandledRejection", stray);
if (parentPort) parentPort.on("message", (message) => link.receive(message));
else {
  process.on("message", (message) => link.receive(message));
  process.on("disconnect", () => process.exit(0)); // the gateway is gone
}
link.offer(guest);
