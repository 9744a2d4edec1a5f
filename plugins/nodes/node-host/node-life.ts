/**
 * The life of a node program: connect, be approved, carry out what is asked, come back when the connection is lost, until it is told
 * to stop or is refused for good. Spec: protocol/clients.md §4, frames-and-connect.md §10.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionEnd, waitMs } from "./connection-end.ts";
import { type NodeLife, Room } from "./node-room.ts";
import { approveCommand } from "./node-states.ts";

/** Milliseconds a connection has to last to count as one: two programs with one identity push each other out. */
const STEADY_MS = 10_000;

/** @returns the exit code: 0 it was told to stop, 1 it was refused for good */
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

/** @returns why it cannot come back any more, or `undefined`: it was told to stop */
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
