/**
 * Main loop of a node program: connects, waits for an approval, executes commands and reconnects, until it is stopped or
 * permanently refused. Spec: protocol/clients.md §4, frames-and-connect.md §10.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionEnd, waitMs } from "./connection-end.ts";
import { type NodeLife, Room } from "./node-room.ts";
import { approveCommand } from "./node-states.ts";

/** Milliseconds after which a connection counts as stable and resets the delay: two programs with one identity displace each other. */
const STEADY_MS = 10_000;

/** @returns the exit code: 0 stopped, 1 permanently refused */
export async function liveAsNode(life: NodeLife): Promise<0 | 1> {
  const room = new Room(life);
  try {
    const refusal = await comeBack(life, room);
    if (refusal === undefined) return 0;
    life.report({ state: "refused", why: refusal.why, next: refusal.next });
    return 1;
  } finally {
    await room.leave();
    if (life.signal.aborted) life.report({ state: "stopped" });
  }
}

/** @returns the permanent refusal; `undefined`: stopped */
async function comeBack(life: NodeLife, room: Room): Promise<Refusal | undefined> {
  const { report, signal, random = Math.random, now = Date.now, device, target } = life;
  let attempt = 0;
  let told: string | undefined;
  while (!signal.aborted) {
    const begun = now();
    const end = await room.stay();
    if (end === undefined) return undefined;
    if (end.kind === "refused") return end;
    if (end.kind === "token-refused") continue; // with the shared secret, or refused for good
    if (now() - begun >= STEADY_MS) attempt = 0;
    const inMs = Math.max(waitMs(end.kind, attempt++, random()), (end.kind === "lost" && end.retryAfterMs) || 0);
    if (end.kind === "lost") report({ state: "reconnecting", why: end.why, inMs });
    else if (told !== String(end.requestId)) {
      const { requestId, reason } = end;
      told = String(requestId);
      const next = approveCommand(requestId);
      report({ state: "waiting", url: target.url, nodeId: device.id, requestId, reason, next });
    }
    await sleep(inMs, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

type Refusal = Extract<ConnectionEnd, { kind: "refused" }>;
