/** What a connection may really do, determined by calls: one method per scope, in addition to the devices of `test/plugins/devices`. */
import assert from "node:assert/strict";
import { defineContract, definePlugin, type Plugin, type Scope, SCOPES, Type } from "@svc/sdk";
import type { RawFrame, RawSocket } from "../../raw-socket.ts";
import type { Outcome } from "../../plugins/devices/scene.ts";

export { until } from "../../until.ts";

const Any = Type.Unknown();
const Loose = Type.Object({});
const probe = defineContract("probe", {
  read: { summary: "-", scope: "operator.read", params: Loose, result: Any },
  write: { summary: "-", scope: "operator.write", params: Loose, result: Any },
  approvals: { summary: "-", scope: "operator.approvals", params: Loose, result: Any },
  pairing: { summary: "-", scope: "operator.pairing", params: Loose, result: Any },
  admin: { summary: "-", scope: "operator.admin", params: Loose, result: Any },
  node: { summary: "-", scope: "none", role: "node", params: Loose, result: Any },
});

const done = () => ({});

/** Responds to every caller with the scope. */
export const probePlugin: Plugin = definePlugin({
  id: "probe",
  api: "^1.0.0",
  setup: (gateway) =>
    gateway.serve(probe, { read: done, write: done, approvals: done, pairing: done, admin: done, node: done }),
});

let serial = 0;

/** Calls a method on a raw socket. @returns its response */
export async function ask(socket: RawSocket, method: string, params: object = {}): Promise<RawFrame> {
  const mine = `probe-${++serial}`;
  socket.send({ type: "req", id: mine, method, params });
  return socket.next(({ id }) => id === mine);
}

/** The scopes this connection really has. `node`: it may do what nodes may. */
export async function powers(socket: RawSocket): Promise<string[]> {
  const names = [
    ...SCOPES.map((scope) => [scope, scope.replace("operator", "probe")]),
    ["node", "probe.node"],
  ] as const;
  const held: string[] = [];
  for (const [scope, method] of names) if ((await ask(socket, method)).ok === true) held.push(scope);
  return held;
}

/** All that `scopes` allow: admin covers everything, write covers read, the others themselves. Spec: authorization.md §1. Implemented independently. */
export function closure(scopes: readonly string[]): Set<string> {
  const all = new Set(scopes.map((scope) => (scope === "admin" ? "operator.admin" : scope)));
  if (all.has("operator.write")) all.add("operator.read");
  if (all.has("operator.admin")) for (const scope of SCOPES) all.add(scope);
  return new Set([...all].filter((scope) => SCOPES.includes(scope as Scope)));
}

/** A connection may do no more than `allowed`; one that was refused may do nothing. */
export async function assertWithin(outcome: Outcome, allowed: readonly string[], what: string): Promise<void> {
  if (!outcome.ok) return;
  const most = closure(allowed);
  const beyond = (await powers(outcome.socket)).filter((power) => !most.has(power) && !allowed.includes(power));
  assert.deepEqual(beyond, [], `${what}: it got more than it may have`);
}

/** A refusal of a connect names the cause in one sentence, and the next step. */
export function assertExplained({ ok, code, message, details }: Outcome, what: string): void {
  assert.equal(ok, false, what);
  assert.match(String(code), /^[A-Z_]+$/, what);
  assert.match(String(message), /^[a-z][^\n]{5,300}$/, `${what}: one sentence`);
  assert.match(String(details["code"]), /^[A-Z_]+$/, `${what}: ${message}`);
  assert.match(String(details["nextStep"]), /^[a-z][^\n]{10,400}$/, `${what}: ${message}: what next?`);
}
