/** The transforms in use, each with its live version and its problem. */
import { posix } from "node:path";
import { transformPathProblem } from "@svc/sdk/files";
import {
  type PlannedTransform,
  TRANSFORM_TIMEOUT_MS,
  type WebhookTransformInfo,
  type WebhookTransformRef,
} from "@svc/sdk/webhooks";
import type { Candidate } from "./messages.ts";
import { refusedBecause } from "./resolve.ts";
import type { Runner } from "./runner.ts";
import type { Tree } from "./tree.ts";

/** A live version. */
export interface Live {
  /** Hash of the directory it was loaded from. */
  readonly hash: string;
  readonly examples: number;
  readonly runner: Runner;
  /** Errors outside of awaited calls: from timers and abandoned promises. */
  readonly strays: { count: number; last?: string };
}

/** Why the newest version is not live. */
export interface Fault {
  /** `missing`: the file does not exist. */
  readonly kind: "missing" | "broken";
  readonly problem: string;
}

export interface Slot {
  readonly candidate: Candidate;
  readonly placement: "host" | "worker";
  live?: Live | undefined;
  fault?: Fault | undefined;
  /** The last good version before the restart was already searched for. */
  restored?: boolean;
}

/** References to the same transform with the same placement share a slot. */
export function keyOf(ref: WebhookTransformRef): string {
  return JSON.stringify([posix.normalize(ref.module), ref.export ?? null, ref.placement ?? "host"]);
}

export function createSlot(ref: PlannedTransform): Slot {
  const { path = "", timeoutMs = TRANSFORM_TIMEOUT_MS, placement = "host" } = ref;
  const module = posix.normalize(ref.module);
  return { placement, candidate: { key: keyOf(ref), module, export: ref.export, path, timeoutMs } };
}

/** Why a module of a directory cannot be used. Pure. */
export function faultIn({ directory, files, refused }: Tree, module: string): Fault | undefined {
  const reason = transformPathProblem(module) ?? refusedBecause(refused, module);
  if (reason !== undefined) return { kind: "broken", problem: `${module}: ${reason}` };
  if (!/\.[cm]?[jt]s$/.test(module) || /\.d\.[cm]?ts$/.test(module))
    return { kind: "broken", problem: `${module}: a transform ends in .ts, .mts, .cts, .js, .mjs or .cjs` };
  return files.has(module) ? undefined : { kind: "missing", problem: `${directory}/${module} does not exist` };
}

export function stateOf({ live, fault }: Slot): WebhookTransformInfo["state"] {
  if (live) return fault ? "stale" : "live";
  return fault?.kind ?? "missing";
}

export function infoOf(ref: WebhookTransformRef, slot: Slot | undefined): WebhookTransformInfo {
  const { live, fault } = slot ?? {};
  const untold = live ? undefined : "has not been checked yet";
  const { count = 0, last } = live?.strays ?? {};
  const problem = fault?.problem ?? last ?? untold;
  return {
    module: ref.module,
    ...(ref.export !== undefined && { export: ref.export }),
    placement: ref.placement ?? "host",
    timeoutMs: ref.timeoutMs ?? TRANSFORM_TIMEOUT_MS,
    state: slot ? stateOf(slot) : "missing",
    ...(live && { version: live.hash.slice(0, 12), examples: live.examples }),
    ...(count > 0 && { strayErrors: count }),
    ...(problem !== undefined && { problem }),
  };
}
