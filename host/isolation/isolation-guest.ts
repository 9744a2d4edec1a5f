/** The program of a thread or process that a plugin has for itself: imports the plugin, and does what the gateway asks. */
import { getHeapStatistics } from "node:v8";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import type { Plugin, Requirement } from "@svc/sdk";
import { importPlugin } from "../kernel/load.ts";
import type { GuestSide, GuestTask, StaticPart, Token } from "./contract.ts";
import { type Recording, recordingGateway } from "./guest-gateway.ts";
import { Link } from "./link.ts";

const task = (isMainThread ? JSON.parse(process.argv[2] ?? "{}") : workerData) as GuestTask; // from carriers.ts
const stopped = new AbortController();
let plugin: Plugin | undefined;
let recording: Recording | undefined;
let charge: ((error: unknown, where: string) => void) | undefined;

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
const post = (message: unknown) => void (parentPort ? parentPort.postMessage(message) : process.send?.(message));
const link = new Link({ post });

const guest: GuestSide = {
  async describe() {
    plugin = await importPlugin(task.file, task.cacheDir);
    return staticPart(plugin);
  },

  async setup(parts) {
    if (!plugin) throw new Error("setup before describe");
    recording = recordingGateway(plugin, parts, stopped.signal);
    ({ charge } = parts.host);
    try {
      await plugin.setup(recording.gateway as never); // typed by definePlugin
      const { provides = [] } = plugin;
      const { recorded } = recording;
      const unmet = provides.find(({ id }) => !recorded.services.some(({ token }) => token.id === id));
      if (unmet) throw new Error(`it lists ${unmet.id} under "provides" and did not provide it`);
      return recorded;
    } finally {
      recording.seal();
    }
  },

  async beat(live) {
    recording?.renew(live);
    return { memoryBytes: memoryBytes(), busy: recording?.busyChecks.some((check) => isBusy(check)) ?? false };
  },
};

/** A throw counts as yes. */
function isBusy(check: () => boolean): boolean {
  try {
    return check();
  } catch (error) {
    charge?.(error, "busy()");
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

/** Errors nobody awaited cost a point, as they do in the gateway; before there is anybody to tell, they end it. */
function stray(error: unknown): void {
  if (charge) return charge(error, "code nobody awaited");
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
